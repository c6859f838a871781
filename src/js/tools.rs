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
