//! Functions for tools that explain and tune. They are pure and not part of judging.

use super::thrown;
use crate::json;
use alloc::string::String;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// Converts a recorded run to events.
///
/// # Errors
/// The same as [`crate::transcript::read_json`].
#[wasm_bindgen(js_name = readTranscript)]
#[expect(unreachable_pub, reason = "wasm-bindgen exports only what is `pub`")]
pub fn read_transcript(text: &str, format: Option<String>) -> Result<String, JsValue> {
    crate::transcript::read_json(text, format.as_deref()).map_err(thrown)
}

/// Converts a recorded run chunk by chunk, with [`crate::transcript::Reader`].
#[wasm_bindgen]
#[derive(Debug)]
pub struct TranscriptReader(crate::transcript::Reader);

#[wasm_bindgen]
impl TranscriptReader {
    /// Creates a reader for a format, or one that detects the format.
    ///
    /// # Errors
    /// The same as [`crate::transcript::named`].
    #[wasm_bindgen(constructor)]
    pub fn new(format: Option<String>) -> Result<TranscriptReader, JsValue> {
        let format = crate::transcript::named(format.as_deref()).map_err(thrown)?;
        Ok(Self(crate::transcript::Reader::new(format)))
    }

    /// Takes the next chunk, split anywhere between two characters, and returns what can be read so far.
    pub fn feed(&mut self, text: &str) -> String {
        json::to_string(&self.0.feed(text))
    }

    /// Returns the rest once the text has ended.
    pub fn finish(&mut self) -> String {
        json::to_string(&self.0.finish())
    }
}

/// Normalises a tool's output as it is for comparison.
///
/// # Errors
/// The same as [`json::normalise`].
#[wasm_bindgen]
#[expect(unreachable_pub, reason = "wasm-bindgen exports only what is `pub`")]
pub fn normalise(text: &str, config: &str) -> Result<String, JsValue> {
    json::normalise(text, config).map_err(thrown)
}

/// What requests are about, and what changed from one to the next.
///
/// # Errors
/// The same as [`json::goals`].
#[wasm_bindgen]
#[expect(unreachable_pub, reason = "wasm-bindgen exports only what is `pub`")]
pub fn goals(events: &str) -> Result<String, JsValue> {
    json::goals(events).map_err(thrown)
}

/// The effective settings of a tool.
///
/// # Errors
/// The same as [`json::in_force`].
#[wasm_bindgen(js_name = inForce)]
#[expect(unreachable_pub, reason = "wasm-bindgen exports only what is `pub`")]
pub fn in_force(config: &str, tool: Option<String>) -> Result<String, JsValue> {
    json::in_force(config, tool.as_deref()).map_err(thrown)
}
