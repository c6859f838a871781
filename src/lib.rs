#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
#[cfg(any(test, feature = "schema"))]
extern crate std;
// Test code shared with the integration tests refers to the crate by its external name.
#[cfg(test)]
extern crate self as loopwarden;

mod codec;
mod detector;
pub mod json;
mod metrics;
pub mod model;
mod policy;
mod profiles;
mod report;
mod rules;
mod state;
mod text;
pub mod transcript;
#[cfg(feature = "tuning")]
pub mod tuned;
#[cfg(not(feature = "tuning"))]
mod tuned;
mod write;

pub use detector::{Detector, RULES_VERSION, version};
pub use rules::rules;

#[cfg(all(feature = "component", not(fuzzing)))]
mod component;
#[cfg(any(feature = "js", feature = "tools"))]
mod js;
#[cfg(all(target_arch = "wasm32", any(feature = "component", feature = "js", feature = "tools")))]
mod shim;
#[cfg(all(any(test, feature = "js"), not(fuzzing)))]
#[allow(unreachable_pub, reason = "the fuzzer is outside of the crate")]
mod wire;
// The fuzz targets live outside the crate and exercise these entry points too.
#[cfg(all(feature = "component", fuzzing))]
#[doc(hidden)]
#[allow(missing_docs, unreachable_pub, reason = "nobody else sees it")]
pub mod component;
#[cfg(fuzzing)]
#[doc(hidden)]
#[allow(missing_docs, reason = "nobody else sees it")]
pub mod wire;
