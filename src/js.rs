//! The wasm-bindgen exports behind the npm package.
//!
//! Operations on events go through a [`Door`]: JavaScript writes the event into a reused buffer and gets a number back.
//! For a verdict with nothing to report, that is its sequence number; every other answer is JSON text, which is fetched
//! separately. Rarer operations take and return JSON text. Errors are JSON text as well, which the TypeScript wrapper
//! turns into a `LoopwardenError`. An operation that fails leaves the detector unchanged.
//!
//! Two modules are built from this: one with the feature `js`, the detector; one with the feature `tools`, which reads
//! recorded runs and settings and is not loaded by hosts.

use crate::{json, model::Error};
use alloc::string::String;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

#[cfg(feature = "js")]
mod core;
#[cfg(feature = "tools")]
mod tools;

/// The error that JavaScript sees thrown, as JSON text.
fn thrown(error: Error) -> JsValue {
    JsValue::from_str(&json::to_string(&error))
}

/// The version of the package and of its rules.
#[wasm_bindgen]
#[must_use]
#[expect(unreachable_pub, reason = "wasm-bindgen exports only what is `pub`")]
pub fn version() -> String {
    crate::version()
}
