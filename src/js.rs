//! The wasm-bindgen export behind the npm package.
//!
//! The operations of every event go through a [`Door`]: JavaScript writes the event into a buffer that stays, and a
//! number comes back. A verdict that says nothing but to continue is its sequence number; every other answer is JSON
//! text, which is fetched. What is asked rarely travels as JSON text both ways. Errors are JSON text as well: the
//! TypeScript wrapper turns it into a `LoopwardenError`. An operation that fails leaves the detector as it was.
//!
//! Two modules are built of this: the `js` feature gives the detector, the `tools` feature the readers of recorded runs
//! and of settings, which hosts do not load.

use crate::{json, model::Error};
use alloc::string::String;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

#[cfg(feature = "js")]
mod core;
#[cfg(feature = "tools")]
mod tools;

/// What JavaScript sees thrown: the error as JSON text.
fn thrown(error: Error) -> JsValue {
    JsValue::from_str(&json::to_string(&error))
}

/// The package's version and that of its rules.
#[wasm_bindgen]
#[must_use]
#[expect(unreachable_pub, reason = "wasm-bindgen exports only what is `pub`")]
pub fn version() -> String {
    crate::version()
}
