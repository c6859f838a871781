//! What tools ask that explain and tune: pure functions, no part of judging.

use super::thrown;
use crate::json;
use alloc::string::String;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

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

/// What requests are about, and what moved from one to the next.
///
/// # Errors
/// As [`json::goals`].
#[wasm_bindgen]
#[expect(unreachable_pub, reason = "wasm-bindgen exports only what is `pub`")]
pub fn goals(events: &str) -> Result<String, JsValue> {
    json::goals(events).map_err(thrown)
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
