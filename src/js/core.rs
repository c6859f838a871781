//! The detector and the fast path into it.

use super::thrown;
use crate::model::{Error, Event, Verdict};
use crate::wire::Scratch;
use crate::{Detector, json};
use alloc::{string::String, vec::Vec};
use js_sys::Uint8Array;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// The answer is a verdict as JSON text, to be fetched with [`Door::answer`].
const VERDICT: f64 = -1.0;
/// The answer is an error as JSON text, to be fetched with [`Door::answer`].
const ERROR: f64 = -2.0;
/// The binary encoding does not cover this event: it has to be passed as JSON text.
const UNSAID: f64 = -3.0;

/// Bytes of a message above which the memory it was decoded into is freed.
const KEPT: usize = 64 * 1024;

/// A detector, held by JavaScript.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Core(Detector);

#[wasm_bindgen]
impl Core {
    /// Creates a detector from a configuration document; blank text means the recommended configuration.
    ///
    /// # Errors
    /// The same as [`json::detector`].
    #[wasm_bindgen(constructor)]
    pub fn new(config: &str) -> Result<Core, JsValue> {
        json::detector(config).map(Self).map_err(thrown)
    }

    /// Restores a detector from a snapshot.
    ///
    /// # Errors
    /// The same as [`Detector::restore`].
    pub fn restore(bytes: &[u8]) -> Result<Core, JsValue> {
        Detector::restore(bytes).map(Self).map_err(thrown)
    }

    /// Appends an event that is too long for the door's buffer, and judges it.
    ///
    /// # Errors
    /// The same as [`json::record`].
    pub fn record(&mut self, event: &str) -> Result<String, JsValue> {
        json::record(&mut self.0, event).map_err(thrown)
    }

    /// Judges an event that has not happened yet and is too long for the door's buffer.
    ///
    /// # Errors
    /// The same as [`json::check`].
    pub fn check(&self, event: &str) -> Result<String, JsValue> {
        json::check(&self.0, event).map_err(thrown)
    }

    /// The current status of a scope.
    ///
    /// # Errors
    /// The same as [`json::status`].
    pub fn status(&self, scope: &str) -> Result<String, JsValue> {
        json::status(&self.0, scope).map_err(thrown)
    }

    /// Resets a scope.
    ///
    /// # Errors
    /// The same as [`json::reset`].
    pub fn reset(&mut self, scope: &str, reason: &str) -> Result<String, JsValue> {
        json::reset(&mut self.0, scope, reason).map_err(thrown)
    }

    /// Takes a human's answer at a gate.
    ///
    /// # Errors
    /// The same as [`json::acknowledge`].
    pub fn acknowledge(&mut self, scope: &str, decision: &str) -> Result<String, JsValue> {
        json::acknowledge(&mut self.0, scope, decision).map_err(thrown)
    }

    /// Declares the workflow of a run.
    ///
    /// # Errors
    /// The same as [`json::declare_graph`].
    #[wasm_bindgen(js_name = declareGraph)]
    pub fn declare_graph(&mut self, scope: &str, graph: &str) -> Result<(), JsValue> {
        json::declare_graph(&mut self.0, scope, graph).map_err(thrown)
    }

    /// The complete state.
    #[must_use]
    pub fn snapshot(&self) -> Uint8Array {
        Uint8Array::from(self.0.snapshot().as_slice())
    }

    /// The escalation report as `markdown` or `json`.
    ///
    /// # Errors
    /// The same as [`json::report`].
    pub fn report(&self, scope: &str, format: &str) -> Result<String, JsValue> {
        json::report(&self.0, scope, format).map_err(thrown)
    }

    /// Counters for dashboards.
    #[must_use]
    pub fn metrics(&self) -> String {
        json::metrics(&self.0)
    }
}

/// The fast path for events: JavaScript writes into its buffer and gets a number back. One door serves all detectors of
/// a module.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Door {
    buffer: Vec<u8>,
    scratch: Scratch,
    answer: String,
}

#[wasm_bindgen]
impl Door {
    /// Creates a door with an empty buffer.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Door {
        Self::default()
    }

    /// Resizes the buffer to `size` bytes, keeping its content, and returns its address.
    pub fn buffer(&mut self, size: usize) -> *mut u8 {
        self.buffer.resize(size, 0);
        self.buffer.as_mut_ptr()
    }

    /// Appends the event encoded in the first `length` bytes of the buffer, and judges it.
    pub fn record(&mut self, core: &mut Core, length: usize) -> f64 {
        let Some(event) = self.scratch.read(self.buffer.get(..length).unwrap_or_default()) else { return UNSAID };
        let judged = core.0.record(event);
        self.tell(judged, length)
    }

    /// Judges the event encoded in the first `length` bytes of the buffer, and changes nothing.
    pub fn check(&mut self, core: &Core, length: usize) -> f64 {
        let Some(event) = self.scratch.read(self.buffer.get(..length).unwrap_or_default()) else { return UNSAID };
        let judged = core.0.check(event);
        self.tell(judged, length)
    }

    /// Appends the event whose JSON text is the first `length` bytes of the buffer, and judges it.
    #[wasm_bindgen(js_name = recordText)]
    pub fn record_text(&mut self, core: &mut Core, length: usize) -> f64 {
        let judged = self.event(length).and_then(|event| core.0.record(&event));
        self.tell(judged, 0)
    }

    /// Judges the event whose JSON text is the first `length` bytes of the buffer, and changes nothing.
    #[wasm_bindgen(js_name = checkText)]
    pub fn check_text(&mut self, core: &Core, length: usize) -> f64 {
        let judged = self.event(length).and_then(|event| core.0.check(&event));
        self.tell(judged, 0)
    }

    /// The JSON text of the latest answer, if it was not a sequence number.
    pub fn answer(&mut self) -> String {
        ::core::mem::take(&mut self.answer)
    }

    fn event(&self, length: usize) -> Result<Event, Error> {
        // INVARIANT: JavaScript's encoder writes only valid UTF-8.
        json::event(::core::str::from_utf8(self.buffer.get(..length).unwrap_or_default()).unwrap_or_default())
    }

    fn tell(&mut self, judged: Result<Verdict, Error>, length: usize) -> f64 {
        if length > KEPT {
            self.scratch = Scratch::default();
        }
        match judged {
            Ok(verdict) if is_quiet(&verdict) => verdict.seq as f64,
            Ok(verdict) => {
                self.answer = json::to_string(&verdict);
                VERDICT
            }
            Err(error) => {
                self.answer = json::to_string(&error);
                ERROR
            }
        }
    }
}

/// Whether a verdict has nothing to report.
fn is_quiet(verdict: &Verdict) -> bool {
    *verdict == Verdict { seq: verdict.seq, ..Verdict::default() }
}
