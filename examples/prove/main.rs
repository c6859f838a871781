//! Measures and verifies what has to hold however long a detector lives and however many runs it has. Built and run by
//! `cargo xtask prove`; `docs/reliability.md` has the figures.
//!
//! - `prove run N`: a single run of N events.
//! - `prove runs N`: N runs at once in one detector.
//! - `prove doors N SEED`: N events as values and as JSON text, the latter with regular snapshots and restores.
//! - `prove events N SEED`: those events, one per line.
//! - `prove digest`: the results on the events of standard input, as digests, one per line.
//! - `prove pins N`: N PINs tried against what three detectors published about one.

#![allow(unsafe_code, reason = "an allocator that counts")]
#![allow(clippy::float_arithmetic, reason = "figures for people")]

#[path = "../../tests/support/blocks.rs"]
mod blocks;
#[path = "../../tests/support/made.rs"]
mod made;
#[path = "../../tests/support/pins.rs"]
#[expect(clippy::unwrap_used, reason = "shared with the tests, where a panic is a failure")]
mod pins;

use blocks::{CHUNK, Door, Failure, digests};
use loopwarden::model::Error;
use loopwarden::{Detector, json};
use made::Maker;
use sha2::{Digest, Sha256};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

static LIVE: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["run", most] => run(most.parse()?),
        ["runs", most] => runs(most.parse()?),
        ["doors", events, seed] => doors(events.parse()?, seed.parse()?),
        ["events", events, seed] => events_out(events.parse()?, seed.parse()?),
        ["digest"] => digest_of_input(),
        ["pins", most] => pins_tried(most.parse()?),
        _ => Err("usage: prove run N | runs N | doors N SEED | events N SEED | digest | pins N".into()),
    }
}

/// The powers of ten from 1,000 up to and including `most`.
fn decades(most: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(1000_u64), |decade| decade.checked_mul(10)).take_while(move |decade| *decade <= most)
}

/// A single run of any length: memory, and time per event, at each power of ten.
fn run(events: u64) -> Result<(), Failure> {
    let mut maker = Maker::one_run(1);
    println!("{:>12} {:>14} {:>12} {:>12} {:>12}", "events", "ns an event", "counted B", "heap B", "snapshot B");
    let (mut done, before) = (0, LIVE.load(Ordering::Relaxed));
    let mut detector = json::detector("")?;
    for decade in decades(events) {
        let (from, mut spent) = (done, 0_u128);
        while done < decade {
            let event = json::event(&maker.next_event())?;
            let begun = Instant::now();
            detector.record(&event)?;
            spent += begun.elapsed().as_nanos();
            done += 1;
        }
        let heap = LIVE.load(Ordering::Relaxed).saturating_sub(before);
        let (counted, snapshot) = (detector.metrics().bytes, detector.snapshot().len());
        println!("{done:>12} {:>14} {counted:>12} {heap:>12} {snapshot:>12}", spent / u128::from(done - from));
    }
    Ok(())
}

/// Many runs at once, each with a few calls and results, all of which are kept.
fn runs(runs: u64) -> Result<(), Failure> {
    let mut detector = json::detector(r#"{"memory":{"maxRuns":1000000,"maxBytes":68719476736}}"#)?;
    let before = LIVE.load(Ordering::Relaxed);
    println!("{:>12} {:>14} {:>16} {:>16} {:>10}", "runs", "ns an event", "heap B a run", "counted B a run", "evicted");
    let mut made = 0;
    for decade in decades(runs) {
        let (mut events, mut spent) = (0_u128, 0_u128);
        while made < decade {
            let mut maker = Maker::of_run(&format!("run-{made}"), made);
            for _ in 0..4 {
                let event = json::event(&maker.next_event())?;
                let begun = Instant::now();
                detector.record(&event)?;
                spent += begun.elapsed().as_nanos();
                events += 1;
            }
            made += 1;
        }
        let metrics = detector.metrics();
        let heap = (LIVE.load(Ordering::Relaxed) - before) as u64 / metrics.runs;
        let (each, gone) = (metrics.bytes / metrics.runs, metrics.runs_evicted + metrics.runs_collected);
        println!("{:>12} {:>14} {heap:>16} {each:>16} {gone:>10}", metrics.runs, spent / events);
    }
    // An event of an old run costs the same as one of a new run.
    let (mut spent, count) = (0_u128, 10_000);
    for number in 0..count {
        let run = format!("run-{}", number * 7919 % made);
        let event = json::event(&Maker::of_run(&run, number).next_event())?;
        let begun = Instant::now();
        detector.record(&event)?;
        spent += begun.elapsed().as_nanos();
    }
    println!("{:>12} {:>14}", "any again", spent / u128::from(count));
    Ok(())
}

/// Asserts that the same events as values and as JSON text give the same verdicts and final state.
fn doors(events: u64, seed: u64) -> Result<(), Failure> {
    let (mut typed, mut told) = (json::detector("")?, json::detector("")?);
    let mut maker = Maker::new(seed);
    let mut all = Sha256::new();
    for number in 0..events {
        let text = maker.next_event();
        let verdict = json::to_string(&typed.record(&json::event(&text)?)?);
        let other = json::record(&mut told, &text)?;
        if verdict != other {
            return Err(format!("event {number} of seed {seed}, {text}: {verdict} as a value, {other} as text").into());
        }
        all.update(&verdict);
        if (number + 1) % CHUNK as u64 == 0 {
            told = next(&told)?;
        }
    }
    if typed.snapshot() != told.snapshot() || typed.metrics() != told.metrics() {
        return Err(format!("seed {seed}: what they know differs").into());
    }
    println!("{events} events of seed {seed}: equal; verdicts {}", hex(&all.finalize()));
    println!("levels {:?}, {} runs evicted", typed.metrics().verdicts, typed.metrics().runs_evicted);
    Ok(())
}

fn next(detector: &Detector) -> Result<Detector, Error> {
    Detector::restore(&detector.snapshot())
}

fn events_out(events: u64, seed: u64) -> Result<(), Failure> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut maker = Maker::new(seed);
    for _ in 0..events {
        writeln!(out, "{}", maker.next_event())?;
    }
    Ok(out.flush()?)
}

/// The library itself, as the interface that others are compared with.
struct Native(Detector);

impl Door for Native {
    fn record(&mut self, event: &str) -> Result<String, Failure> {
        Ok(json::record(&mut self.0, event)?)
    }

    fn metrics(&mut self) -> Result<String, Failure> {
        Ok(json::metrics(&self.0))
    }

    fn next(&mut self) -> Result<Vec<u8>, Failure> {
        let snapshot = self.0.snapshot();
        self.0 = Detector::restore(&snapshot)?;
        Ok(snapshot)
    }
}

fn digest_of_input() -> Result<(), Failure> {
    let before = LIVE.load(Ordering::Relaxed);
    let mut native = Native(json::detector("")?);
    let (events, spent) = digests(&mut native, std::io::stdin().lock(), std::io::stdout().lock())?;
    let heap = LIVE.load(Ordering::Relaxed).saturating_sub(before);
    eprintln!("{} ns an event, {} KB on the heap", spent.as_nanos() / u128::from(events.max(1)), heap / 1024);
    Ok(())
}

/// Tries every PIN below `most` against what a detector published about one of them. Without a salt the PIN is found;
/// with an unknown salt it is not.
fn pins_tried(most: u32) -> Result<(), Failure> {
    let pin = most / 2;
    let [plain, one, other] = [None, Some("first secret"), Some("other secret")].map(|salt| pins::published(salt, pin));
    let begun = Instant::now();
    let found = pins::found(None, 0..most, &[&plain, &one, &other]);
    let spent = begun.elapsed().as_nanos() / u128::from(most.max(1));
    let found: Vec<Vec<u32>> = found.iter().map(|pins| pins.iter().map(|(pin, _)| *pin).collect()).collect();
    println!("{most} PINs tried against what was published of one, {spent} ns each; found:");
    for (salt, pins) in ["without a salt", "under a salt", "under another"].iter().zip(&found) {
        println!("{salt:>16} {pins:?}");
    }
    if found != [vec![pin], Vec::new(), Vec::new()] {
        return Err(format!("expected {pin} without a salt, and nothing under one").into());
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
