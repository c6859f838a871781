//! Helpers shared by the tests.

use loopwarden::model::{Config, Level, Scope, Verdict};
use loopwarden::transcript::Transcript;
use loopwarden::{Detector, json};

/// A detector with a configuration as JSON text; `{}` is the default.
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

/// The strongest level that a transcript reaches, and every rule with a finding.
pub(crate) fn verdict(transcript: &Transcript) -> (Level, Vec<String>) {
    let mut detector = Detector::new(Config::default()).unwrap();
    let (mut level, mut rules) = (Level::Continue, Vec::new());
    for event in &transcript.events {
        let verdict = detector.record(&event.event).unwrap();
        level = level.max(verdict.level);
        rules.extend(verdict.findings.iter().map(|finding| finding.rule.to_string()));
    }
    rules.sort();
    rules.dedup();
    (level, rules)
}
