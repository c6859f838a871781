//! What a run may take, whatever comes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "an allocator that counts")]

#[path = "support/adversary.rs"]
mod adversary;
#[path = "../benches/support/workload.rs"]
#[allow(dead_code, reason = "the rest of it is for benches")]
mod workload;

use loopwarden::{Detector, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Bytes of a snapshot of healthy work, configuration and all, and of what a detector takes for it on the heap: more than
/// the 12 KB that are aimed at.
const TYPICAL: usize = 6 * 1024;
const TYPICAL_HEAP: usize = 18 * 1024;
/// Bytes of state that a run takes in which everything happens under ordinary names; the counters of the detector, which
/// are not per run, are in it.
const BUSY: usize = 100 * 1024;
/// Bytes of state that a run takes in which everything is full.
const FULL: usize = 184 * 1024;

thread_local! {
    /// Bytes that this thread has allocated and not freed.
    static LIVE: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get().wrapping_add(layout.size()));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get().wrapping_sub(layout.size()));
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes on the heap that a copy of a detector takes.
fn heap(detector: &Detector) -> usize {
    let before = LIVE.get();
    let copy = detector.clone();
    let taken = LIVE.get().wrapping_sub(before);
    drop(copy);
    taken
}

#[test]
fn healthy_work_takes_little() {
    for kind in workload::Kind::ALL {
        let mut detector = json::detector("").unwrap();
        let none = heap(&detector);
        for (call, result) in workload::healthy(kind, 0, 300, 1024) {
            json::record(&mut detector, &call).unwrap();
            json::record(&mut detector, &result).unwrap();
        }
        // Restored, so that the buffers of the latest event, which are reused, are not in it.
        let bytes = detector.snapshot();
        let (bytes, heap) = (bytes.len(), heap(&Detector::restore(&bytes).unwrap()) - none);
        println!("{}: {bytes} bytes of snapshot, {heap} bytes on the heap", kind.name());
        assert!(bytes <= TYPICAL && heap <= TYPICAL_HEAP, "{}: {bytes} bytes, {heap} on the heap", kind.name());
    }
}

/// The most bytes of state that a run took.
fn most(run: adversary::Run) -> usize {
    let mut detector = json::detector(adversary::CONFIG).unwrap();
    let (mut most, mut events) = (0, 0);
    for event in adversary::events(run) {
        detector.record(&event).unwrap();
        events += 1;
        if events % 997 == 0 {
            most = most.max(detector.snapshot().len());
        }
    }
    assert_eq!(detector.metrics().runs, 1);
    assert!(events > 5000, "only {events} events were accepted");
    // What is restored is what was kept: every cap is one that a snapshot is held to.
    let bytes = detector.snapshot();
    assert_eq!(Detector::restore(&bytes).unwrap().snapshot(), bytes);
    println!("{run:?}: {most} bytes of snapshot, at last {} on the heap", heap(&detector));
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
