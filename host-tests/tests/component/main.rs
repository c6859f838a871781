//! Tests that the built component keeps the promises of its interface.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests: a panic is a failed test")]

#[path = "../../examples/coder_verifier.rs"]
#[expect(dead_code, reason = "its `main` is not called here")]
mod coder_verifier;
mod conformance;
mod examples;
mod hostile;
mod limits;
mod orders;

use loopwarden::{json, model::Event};
use loopwarden_host_tests::{Component, Limits, Sandbox, component_path};
use std::sync::LazyLock;

/// Compiled once for all tests of this program.
static COMPONENT: LazyLock<Component> = LazyLock::new(|| Component::load(&component_path().unwrap()).unwrap());

/// An instance with the default configuration and limits.
fn sandbox() -> Sandbox {
    COMPONENT.sandbox("", Limits::default()).unwrap().unwrap()
}

fn event(text: &str) -> Event {
    json::event(text).unwrap()
}

/// A call and its unchanging result: three such pairs are a loop.
fn repeated_call() -> [Event; 2] {
    [
        event(r#"{"type":"tool-call","tool":"read","args":{"path":"a.rs"}}"#),
        event(r#"{"type":"tool-result","tool":"read","outcome":"ok","output":"fn main() {}"}"#),
    ]
}
