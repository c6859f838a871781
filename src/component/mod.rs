//! The typed interface of `wit/`, exported as a component that imports nothing.
//!
//! It makes no decisions: `convert` translates values between the interface and the model.

mod convert;

use crate::json;
use crate::model;
use alloc::{string::String, vec::Vec};
#[cfg(not(fuzzing))]
use bindings::exports::loopwarden::detector::detection as wit;
#[cfg(fuzzing)]
pub use bindings::exports::loopwarden::detector::detection as wit;
use core::cell::RefCell;

#[expect(unsafe_code, clippy::all, clippy::restriction, reason = "generated: the canonical ABI is raw memory")]
mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "loopwarden" });
    use super::Component;
    export!(Component);
}

/// The component's exports.
struct Component;

/// The detector behind a `detector` handle.
///
/// Handles give out shared references only. The canonical ABI never re-enters a component, so the cell is never
/// borrowed twice; if it were, the call would fail and leave the detector unchanged.
struct Handle(RefCell<crate::Detector>);

impl wit::Guest for Component {
    type Detector = Handle;

    fn version() -> String {
        crate::version()
    }
}

impl Handle {
    fn new(detector: crate::Detector) -> Self {
        Self(RefCell::new(detector))
    }

    fn read<T>(&self, run: impl FnOnce(&crate::Detector) -> T) -> Result<T, model::Error> {
        self.0.try_borrow().map(|detector| run(&detector)).map_err(|_| busy())
    }

    fn write<T>(&self, run: impl FnOnce(&mut crate::Detector) -> T) -> Result<T, model::Error> {
        self.0.try_borrow_mut().map(|mut detector| run(&mut detector)).map_err(|_| busy())
    }
}

fn busy() -> model::Error {
    model::Error::new(model::ErrorCode::InvalidArgument, "the detector is already in a call")
}

impl wit::GuestDetector for Handle {
    fn new(config: String) -> Result<Self, wit::DetectorError> {
        Ok(Self::new(json::detector(&config)?))
    }

    fn record(&self, event: wit::Event) -> Result<wit::Verdict, wit::DetectorError> {
        let event = event.try_into()?;
        Ok(self.write(|detector| detector.record(&event))??.into())
    }

    fn check(&self, event: wit::Event) -> Result<wit::Verdict, wit::DetectorError> {
        let event = event.try_into()?;
        Ok(self.read(|detector| detector.check(&event))??.into())
    }

    fn status(&self, scope: wit::Scope) -> String {
        let scope = scope.into();
        self.read(|detector| json::to_string(&detector.status(&scope))).unwrap_or_default()
    }

    fn reset(&self, scope: wit::Scope, reason: wit::ResetReason) -> Vec<String> {
        let (scope, reason) = (scope.into(), reason.into());
        let records = self.write(|detector| detector.reset(&scope, reason)).unwrap_or_default();
        records.iter().map(json::to_string).collect()
    }

    fn declare_graph(&self, scope: wit::Scope, graph: String) -> Result<(), wit::DetectorError> {
        let graph = json::graph(&graph)?;
        let scope = scope.into();
        Ok(self.write(|detector| detector.declare_graph(&scope, &graph))??)
    }

    fn acknowledge(&self, scope: wit::Scope, decision: String) -> Result<Vec<String>, wit::DetectorError> {
        let scope = scope.into();
        let decision = json::decision(&decision)?;
        let records = self.write(|detector| detector.acknowledge(&scope, &decision))??;
        Ok(records.iter().map(json::to_string).collect())
    }

    fn snapshot(&self) -> Vec<u8> {
        self.read(crate::Detector::snapshot).unwrap_or_default()
    }

    fn restore(bytes: Vec<u8>) -> Result<wit::Detector, wit::DetectorError> {
        Ok(wit::Detector::new(Self::new(crate::Detector::restore(&bytes)?)))
    }

    fn report(&self, scope: wit::Scope, format: wit::ReportFormat) -> String {
        let scope = scope.into();
        let write = |detector: &crate::Detector| match format {
            wit::ReportFormat::Markdown => detector.report_markdown(&scope),
            wit::ReportFormat::Json => json::to_string(&detector.report(&scope)),
        };
        self.read(write).unwrap_or_default()
    }

    fn metrics(&self) -> String {
        self.read(json::metrics).unwrap_or_default()
    }
}
