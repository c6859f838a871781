//! What the tests share.

use loopwarden::model::{Scope, Verdict};
use loopwarden::{Detector, json};

/// A detector with a configuration as JSON text; `{}` is the default one.
pub(crate) fn detector(config: &str) -> Detector {
    json::detector(config).unwrap()
}

/// Records an event given as JSON text or value.
pub(crate) fn record(detector: &mut Detector, event: impl ToString) -> Verdict {
    detector.record(&json::event(&event.to_string()).unwrap()).unwrap()
}

/// The scope of a task.
pub(crate) fn scope(task: &str) -> Scope {
    Scope { task: Some(task.into()), ..Scope::default() }
}
