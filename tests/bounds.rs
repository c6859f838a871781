//! Bounds on the memory of a run, whatever its events.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "an allocator that counts")]

#[path = "support/adversary.rs"]
mod adversary;
#[path = "../benches/support/workload.rs"]
#[allow(dead_code, reason = "the rest of it is for benches")]
mod workload;

use loopwarden::model::{Event, Scope};
use loopwarden::{Detector, json};
use serde_json::json;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Bytes of a snapshot of healthy work, including the configuration, and of the detector's heap for it.
const TYPICAL: usize = 6 * 1024;
const TYPICAL_HEAP: usize = 12 * 1024;
/// Bytes of state of a run in which everything is reported, with names of ordinary length; includes the detector's
/// counters, which are not per run.
const BUSY: usize = 80 * 1024;
/// Bytes of state of a run in which everything is full.
const FULL: usize = 120 * 1024;

thread_local! {
    /// Bytes that this thread has allocated and not freed.
    static LIVE: Cell<usize> = const { Cell::new(0) };
    /// Number of allocations by this thread.
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is delegated to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get().wrapping_add(layout.size()));
        ASKED.set(ASKED.get() + 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get().wrapping_sub(layout.size()));
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes on the heap that a value takes.
fn heap<T>(make: impl FnOnce() -> T) -> usize {
    let before = LIVE.get();
    let made = make();
    let taken = LIVE.get().wrapping_sub(before);
    drop(made);
    taken
}

#[test]
fn healthy_work_takes_little() {
    for kind in workload::Kind::ALL {
        let mut detector = json::detector("").unwrap();
        let none = heap(|| detector.clone());
        for (call, result) in workload::healthy(kind, 0, 300, 1024) {
            json::record(&mut detector, &call).unwrap();
            json::record(&mut detector, &result).unwrap();
        }
        // Restored, so that the reused buffers of the latest event are not counted.
        let bytes = detector.snapshot();
        let restored = Detector::restore(&bytes).unwrap();
        let (bytes, heap) = (bytes.len(), heap(|| restored.clone()) - none);
        println!("{}: {bytes} bytes of snapshot, {heap} bytes on the heap", kind.name());
        assert!(bytes <= TYPICAL && heap <= TYPICAL_HEAP, "{}: {bytes} bytes, {heap} on the heap", kind.name());
    }
}

/// Allocations of a call and its result, including their verdicts: in ordinary work, and in a loop.
const ALLOCATIONS: usize = 4;
const ALLOCATIONS_IN_A_LOOP: usize = 64;

#[test]
fn a_pair_asks_for_little_memory() {
    let asked = |pairs: &[(String, String)]| {
        let mut detector = json::detector("").unwrap();
        let (warm, measured) = pairs.split_at(200);
        let mut record = |pairs: workload::Pairs| {
            let before = ASKED.get();
            for (call, result) in &pairs {
                drop(detector.record(call).unwrap());
                drop(detector.record(result).unwrap());
            }
            (ASKED.get() - before).div_ceil(pairs.len())
        };
        record(workload::typed(warm));
        record(workload::typed(measured))
    };
    let ordinary = asked(&workload::healthy(workload::Kind::Prose, 0, 300, 1024));
    let in_a_loop = asked(&workload::looping(0, 300, 1024));
    println!("{ordinary} allocations a pair, {in_a_loop} in a loop");
    assert!(ordinary <= ALLOCATIONS && in_a_loop <= ALLOCATIONS_IN_A_LOOP, "{ordinary}, in a loop {in_a_loop}");
}

/// Maximum ratio of the heap to what `memory.maxBytes` counts: spare capacity, and the allocator's overhead.
const FACTOR_IN_HALVES: u64 = 3;

const EVENTS: u64 = 3000;

/// Events of many runs in random order: some in which everything is reported, some full, and many with a single event.
fn crowd(seed: u64) -> impl Iterator<Item = Event> {
    let mut dice = seed | 1;
    let mut draw = move |most: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % most
    };
    let (mut busy, mut full) = (adversary::events(adversary::Run::Busy), adversary::events(adversary::Run::Full));
    (0..EVENTS).map(move |number| {
        let (mut event, run) = match draw(4) {
            0 => (busy.next(), format!("busy-{}", draw(9))),
            1 => (full.next(), format!("full-{}", draw(3))),
            2 => (None, format!("once-{number}-{}", "𝔏".repeat(400))),
            _ => (None, format!("few-{}", draw(400))),
        };
        let call = || json::event(r#"{"type": "tool-call", "tool": "read", "args": {"path": "src/main.rs"}}"#);
        let mut event = event.take().unwrap_or_else(|| call().unwrap());
        event.context.run = Some(run);
        event
    })
}

#[test]
fn all_runs_stay_within_the_bound() {
    for (seed, bound) in [(1, 1 << 20), (2, 3 << 20)] {
        let config = format!(r#"{{"memory": {{"maxRuns": 1000000, "maxBytes": {bound}}}}}"#);
        let mut detector = json::detector(&config).unwrap();
        // The detector's counters and the buffers shared by all events belong to no run.
        crowd(seed).take(100).for_each(|event| drop(detector.record(&event).unwrap()));
        let mut restored = Detector::restore(&detector.snapshot()).unwrap();
        let (mut counted, mut taken, mut most) = (0, 0_isize, 0_isize);
        for event in crowd(seed + 7) {
            let before = LIVE.get();
            drop(detector.record(&event).unwrap());
            taken += LIVE.get().wrapping_sub(before).cast_signed();
            let bytes = detector.metrics().bytes;
            assert!(bytes <= bound, "{bytes} bytes of {bound}");
            (counted, most) = (counted.max(bytes), most.max(taken));
        }
        let allowed = (bound / 2 * FACTOR_IN_HALVES).cast_signed() as isize;
        assert!(most <= allowed, "{most} bytes on the heap for a bound of {bound}");
        // It was full, and evictions were reported.
        let metrics = detector.metrics();
        assert!(counted > bound / 10 * 9 && metrics.runs_evicted > 200, "{counted} of {bound}: {metrics:?}");
        // A snapshot in the middle changes nothing.
        crowd(seed + 7).for_each(|event| drop(restored.record(&event).unwrap()));
        assert!(restored.metrics() == detector.metrics() && restored.snapshot() == detector.snapshot());
        assert_eq!(Detector::restore(&detector.snapshot()).unwrap().metrics(), detector.metrics());
    }
}

/// A configuration with the largest windows allowed, in which findings may quote payloads.
fn widest() -> String {
    let with = |rules: &serde_json::Value| json!({ "rules": rules, "privacy": { "payloads": "excerpt" } }).to_string();
    let mut rules = serde_json::Map::new();
    for rule in loopwarden::rules() {
        let wide = |window: u32| json!({ rule.id: { "window": window } });
        let accepts = |window: u32| json::detector(&with(&wide(window))).is_ok();
        // The largest window that is accepted.
        let (mut low, mut high) = (0_u32, 1_u32 << 20);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if accepts(middle) { low = middle } else { high = middle - 1 }
        }
        if low > 0 && accepts(low) {
            rules.insert(rule.id.into(), json!({ "window": low }));
        }
    }
    assert!(rules.len() > 5, "{rules:?}");
    let config = with(&rules.into());
    assert!(json::detector(&config).is_ok(), "{config}");
    config
}

#[test]
fn what_is_counted_is_what_is_taken() {
    let windows = widest();
    for (kind, config) in [
        (adversary::Run::Busy, adversary::CONFIG),
        (adversary::Run::Full, adversary::CONFIG),
        (adversary::Run::Full, &windows),
    ] {
        let mut detector = json::detector(config).unwrap();
        let mut shares = Vec::new();
        for (number, event) in adversary::events(kind).enumerate() {
            detector.record(&event).unwrap();
            if number % 499 == 0 {
                let bytes = detector.snapshot();
                let restored = Detector::restore(&bytes).unwrap();
                assert_eq!(restored.metrics().bytes, detector.metrics().bytes);
                shares.push((detector.metrics().bytes, heap(|| Detector::restore(&bytes).unwrap())));
            }
        }
        let (counted, taken) = shares.iter().fold((0, 0), |sum, share| (sum.0 + share.0, sum.1 + share.1 as u64));
        assert!(counted / 2 * FACTOR_IN_HALVES >= taken && counted <= 2 * taken, "{kind:?}: {shares:?}");
        assert!(shares.iter().all(|share| share.0 < 1 << 20), "the fullest run is less than the least that is allowed");
    }
}

#[test]
fn a_loop_outlives_a_crowd_that_takes_all() {
    let mut detector = json::detector(r#"{"memory": {"maxRuns": 1000000, "maxBytes": 1048576}}"#).unwrap();
    let result =
        r#"{"type": "tool-result", "tool": "read", "outcome": "error", "output": "no such file", "run": "loop"}"#;
    let call = r#"{"type": "tool-call", "tool": "read", "args": {"path": "a.rs"}, "run": "loop"}"#;
    for _ in 0..4 {
        json::record(&mut detector, call).unwrap();
        json::record(&mut detector, result).unwrap();
    }
    crowd(3).for_each(|event| drop(detector.record(&event).unwrap()));
    assert!(detector.metrics().runs_evicted > 200);
    let scope = Scope { run: Some("loop".into()), ..Scope::default() };
    assert!(detector.status(&scope).known && detector.status(&scope).events == 8);
}

/// The maximum number of bytes of state of a run.
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
    // The restored state equals the saved one: snapshots are checked against the same caps.
    let bytes = detector.snapshot();
    assert_eq!(Detector::restore(&bytes).unwrap().snapshot(), bytes);
    let taken = heap(|| Detector::restore(&bytes).unwrap());
    println!("{run:?}: {most} bytes of snapshot, at last {taken} on the heap");
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
