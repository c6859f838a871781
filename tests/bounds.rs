//! What a run may take, whatever comes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

#[path = "support/adversary.rs"]
mod adversary;

use loopwarden::{Detector, json};

/// Bytes of state that a run takes in which everything happens under ordinary names: as measured, and a little more.
const BUSY: usize = 116 * 1024;
/// Bytes of state that a run takes in which everything is full: as measured, and a little more.
const FULL: usize = 210 * 1024;

/// The most bytes of state that a run took, without the configuration that every snapshot begins with.
fn most(run: adversary::Run) -> usize {
    let mut detector = json::detector(adversary::CONFIG).unwrap();
    let config = serde_json::to_string(detector.config()).unwrap().len();
    let (mut most, mut events) = (0, 0);
    for event in adversary::events(run) {
        detector.record(&event).unwrap();
        events += 1;
        if events % 997 == 0 {
            most = most.max(detector.snapshot().len() - config);
        }
    }
    assert_eq!(detector.metrics().runs, 1);
    assert!(events > 5000, "only {events} events were accepted");
    // What is restored is what was kept: every cap is one that a snapshot is held to.
    let bytes = detector.snapshot();
    assert_eq!(Detector::restore(&bytes).unwrap().snapshot(), bytes);
    println!("{run:?}: {most} bytes");
    most
}

#[test]
fn a_busy_run_stays_small() {
    assert!(most(adversary::Run::Busy) <= BUSY);
}

#[test]
fn a_full_run_stays_within_its_bound() {
    assert!(most(adversary::Run::Full) <= FULL);
}
