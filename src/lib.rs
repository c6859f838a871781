#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
#[cfg(any(test, feature = "js", feature = "schema"))]
extern crate std;
// What the tests of the crate share with those beside it names the crate from outside.
#[cfg(test)]
extern crate self as loopwarden;

mod detector;
pub mod json;
pub mod model;
mod policy;
mod report;
mod rules;
mod state;
mod text;
pub mod transcript;

pub use detector::{Detector, RULES_VERSION, version};
pub use rules::rules;

#[cfg(feature = "component")]
mod component;
#[cfg(feature = "js")]
mod js;
