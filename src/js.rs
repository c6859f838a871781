//! The wasm-bindgen export behind the npm package: a thin shell around the string door of [`crate::json`].
//!
//! Everything travels as JSON text, errors included: the TypeScript wrapper turns the thrown text into a
//! `LoopwardenError`. An operation that fails leaves the detector as it was.

use crate::{Detector, json, model::Error};
use alloc::{string::String, vec::Vec};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// A detector, held by JavaScript.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Core(Detector);

#[wasm_bindgen]
impl Core {
    /// A detector from a configuration document; blank text means the recommended configuration.
    ///
    /// # Errors
    /// As [`json::detector`].
    #[wasm_bindgen(constructor)]
    pub fn new(config: &str) -> Result<Core, JsValue> {
        json::detector(config).map(Self).map_err(thrown)
    }

    /// A detector from a snapshot.
    ///
    /// # Errors
    /// As [`Detector::restore`].
    pub fn restore(bytes: &[u8]) -> Result<Core, JsValue> {
        Detector::restore(bytes).map(Self).map_err(thrown)
    }

    /// Appends an event and judges it.
    ///
    /// # Errors
    /// As [`json::record`].
    pub fn record(&mut self, event: &str) -> Result<String, JsValue> {
        json::record(&mut self.0, event).map_err(thrown)
    }

    /// Judges an event that has not happened yet.
    ///
    /// # Errors
    /// As [`json::check`].
    pub fn check(&self, event: &str) -> Result<String, JsValue> {
        json::check(&self.0, event).map_err(thrown)
    }

    /// Where a scope stands.
    ///
    /// # Errors
    /// As [`json::status`].
    pub fn status(&self, scope: &str) -> Result<String, JsValue> {
        json::status(&self.0, scope).map_err(thrown)
    }

    /// Forgets a scope's evidence.
    ///
    /// # Errors
    /// As [`json::reset`].
    pub fn reset(&mut self, scope: &str, reason: &str) -> Result<String, JsValue> {
        json::reset(&mut self.0, scope, reason).map_err(thrown)
    }

    /// Takes a human's answer.
    ///
    /// # Errors
    /// As [`json::acknowledge`].
    pub fn acknowledge(&mut self, scope: &str, decision: &str) -> Result<String, JsValue> {
        json::acknowledge(&mut self.0, scope, decision).map_err(thrown)
    }

    /// Gives a run its workflow.
    ///
    /// # Errors
    /// As [`json::declare_graph`].
    #[wasm_bindgen(js_name = declareGraph)]
    pub fn declare_graph(&mut self, scope: &str, graph: &str) -> Result<(), JsValue> {
        json::declare_graph(&mut self.0, scope, graph).map_err(thrown)
    }

    /// The whole state.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        self.0.snapshot()
    }

    /// The escalation report, `markdown` or `json`.
    ///
    /// # Errors
    /// As [`json::report`].
    pub fn report(&self, scope: &str, format: &str) -> Result<String, JsValue> {
        json::report(&self.0, scope, format).map_err(thrown)
    }

    /// Counters for dashboards.
    #[must_use]
    pub fn metrics(&self) -> String {
        json::metrics(&self.0)
    }
}

/// The package's version and that of its rules.
#[wasm_bindgen]
#[must_use]
#[expect(unreachable_pub, reason = "wasm-bindgen exports only what is `pub`")]
pub fn version() -> String {
    crate::version()
}

/// Reads a recorded run into events.
///
/// # Errors
/// As [`crate::transcript::read_json`].
#[wasm_bindgen(js_name = readTranscript)]
#[expect(unreachable_pub, reason = "wasm-bindgen exports only what is `pub`")]
pub fn read_transcript(text: &str, format: Option<String>) -> Result<String, JsValue> {
    crate::transcript::read_json(text, format.as_deref()).map_err(thrown)
}

/// Reads a recorded run piece by piece: [`crate::transcript::Reader`].
#[wasm_bindgen]
#[derive(Debug)]
#[expect(unreachable_pub, reason = "wasm-bindgen exports only what is `pub`")]
pub struct TranscriptReader(crate::transcript::Reader);

#[wasm_bindgen]
impl TranscriptReader {
    /// A reader of a format, or of whatever comes.
    ///
    /// # Errors
    /// As [`crate::transcript::named`].
    #[wasm_bindgen(constructor)]
    pub fn new(format: Option<String>) -> Result<TranscriptReader, JsValue> {
        let format = crate::transcript::named(format.as_deref()).map_err(thrown)?;
        Ok(Self(crate::transcript::Reader::new(format)))
    }

    /// Takes the next piece, cut anywhere between two characters, and tells what can be read by now.
    pub fn feed(&mut self, text: &str) -> String {
        json::to_string(&self.0.feed(text))
    }

    /// Tells what is left when the text has ended.
    pub fn finish(&mut self) -> String {
        json::to_string(&self.0.finish())
    }
}

/// What is compared of a tool's output.
///
/// # Errors
/// As [`json::normalise`].
#[wasm_bindgen]
#[expect(unreachable_pub, reason = "wasm-bindgen exports only what is `pub`")]
pub fn normalise(text: &str, config: &str) -> Result<String, JsValue> {
    json::normalise(text, config).map_err(thrown)
}

/// The settings in force for a tool.
///
/// # Errors
/// As [`json::in_force`].
#[wasm_bindgen(js_name = inForce)]
#[expect(unreachable_pub, reason = "wasm-bindgen exports only what is `pub`")]
pub fn in_force(config: &str, tool: Option<String>) -> Result<String, JsValue> {
    json::in_force(config, tool.as_deref()).map_err(thrown)
}

/// What JavaScript sees thrown: the error as JSON text.
fn thrown(error: Error) -> JsValue {
    JsValue::from_str(&json::to_string(&error))
}
