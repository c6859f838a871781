//! The phases for which instructions and allocations are counted.

use crate::Failure;
use crate::workload::{Kind, Stream, deltas, healthy, looping, typed};
use loopwarden::model::{Body, Event, Outcome};
use loopwarden::{Detector, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts the requests to the system's allocator.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[expect(unsafe_code, reason = "allocations can be counted in no other way; all of it is handed on as it comes")]
// SAFETY: every method passes its arguments on to the system's allocator and returns its result.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: guaranteed by this method's own contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: guaranteed by this method's own contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: guaranteed by this method's own contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn note(size: usize) {
    ALLOCATIONS.fetch_add(1, Relaxed);
    BYTES.fetch_add(size as u64, Relaxed);
}

/// The function that callgrind collects, found by its name.
#[inline(never)]
fn measured(run: &mut dyn FnMut()) {
    run();
}

/// A phase: measures its items one by one.
type Phase = fn(&mut Tally) -> Result<(), Failure>;

/// Totals over the measured items of a phase.
#[derive(Default)]
struct Tally {
    items: u64,
    allocations: u64,
    bytes: u64,
}

impl Tally {
    fn item(&mut self, mut run: impl FnMut()) {
        let (allocations, bytes) = (ALLOCATIONS.load(Relaxed), BYTES.load(Relaxed));
        measured(&mut run);
        self.items += 1;
        self.allocations += ALLOCATIONS.load(Relaxed) - allocations;
        self.bytes += BYTES.load(Relaxed) - bytes;
    }
}

const KB: usize = 1024;
/// Pairs recorded before measuring starts, and pairs measured.
const WARM: usize = 300;
const MEASURED: usize = 104;

const PHASES: [(&str, Phase); 26] = [
    ("pair, ok, prose, 1 KB", |tally| pairs(tally, Kind::Prose, KB, Which::Ok)),
    ("pair, ok, log, 1 KB", |tally| pairs(tally, Kind::Log, KB, Which::Ok)),
    ("pair, ok, JSON, 1 KB", |tally| pairs(tally, Kind::Json, KB, Which::Ok)),
    ("call, prose, 1 KB", |tally| pairs(tally, Kind::Prose, KB, Which::Call)),
    ("pair, failing, prose, 1 KB", |tally| pairs(tally, Kind::Prose, KB, Which::Failing)),
    ("pair, failing, log, 1 KB", |tally| pairs(tally, Kind::Log, KB, Which::Failing)),
    ("pair, failing, JSON, 1 KB", |tally| pairs(tally, Kind::Json, KB, Which::Failing)),
    ("pair, ok, prose, 20 KB", |tally| pairs(tally, Kind::Prose, 20 * KB, Which::Ok)),
    ("pair, ok, log, 20 KB", |tally| pairs(tally, Kind::Log, 20 * KB, Which::Ok)),
    ("pair, ok, JSON, 20 KB", |tally| pairs(tally, Kind::Json, 20 * KB, Which::Ok)),
    ("pair, healthy mix, prose, 1 KB", |tally| pairs(tally, Kind::Prose, KB, Which::All)),
    ("pair asked in words, prose, 1 KB", |tally| one_by_one(tally, &asking(WARM + MEASURED, KB))),
    ("pair in a loop, prose, 1 KB", |tally| one_by_one(tally, &looping(0, WARM + MEASURED, KB))),
    ("pair as JSON text, prose, 1 KB", texts),
    ("check of a call", |tally| checks(tally, &[])),
    ("check of a call in one of three tasks", |tally| checks(tally, &["a", "b", "c"])),
    ("delta of 5 characters, prose", |tally| streamed(tally, Stream::Prose, 20_000, 5)),
    ("delta of 5 characters, code", |tally| streamed(tally, Stream::Code, 20_000, 5)),
    ("delta of 5 characters, CJK", |tally| streamed(tally, Stream::Cjk, 20_000, 5)),
    ("delta of 4096 characters, prose", |tally| streamed(tally, Stream::Prose, 200_000, 4096)),
    ("delta of 4096 characters, code", |tally| streamed(tally, Stream::Code, 200_000, 4096)),
    ("delta of 4096 characters, CJK", |tally| streamed(tally, Stream::Cjk, 200_000, 4096)),
    ("snapshot, typical run", |tally| {
        let (detector, _) = warm(Kind::Prose, KB)?;
        (0..20).for_each(|_| tally.item(|| drop(black_box(detector.snapshot()))));
        Ok(())
    }),
    ("restore, typical run", |tally| {
        let bytes = warm(Kind::Prose, KB)?.0.snapshot();
        (0..20).for_each(|_| tally.item(|| drop(black_box(Detector::restore(&bytes)))));
        Ok(())
    }),
    ("a detector is made", |tally| {
        (0..20).for_each(|_| tally.item(|| drop(black_box(json::detector("")))));
        Ok(())
    }),
    ("report, typical run", |tally| {
        let (detector, _) = warm(Kind::Prose, KB)?;
        let scope = loopwarden::model::Scope::default();
        (0..20).for_each(|_| tally.item(|| drop(black_box(detector.report_markdown(&scope)))));
        Ok(())
    }),
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    PHASES.iter().map(|(name, _)| *name)
}

/// Runs a phase and prints its number of items and their allocations.
pub(crate) fn run(name: &str) -> Result<(), Failure> {
    let (_, phase) = PHASES.iter().find(|(known, _)| *known == name).ok_or_else(|| format!("no phase `{name}`"))?;
    let mut tally = Tally::default();
    phase(&mut tally)?;
    let Tally { items, allocations, bytes } = tally;
    println!(r#"{{"phase":"{name}","items":{items},"allocations":{allocations},"bytes":{bytes}}}"#);
    Ok(())
}

/// The part of healthy work that is measured; the rest is still run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    Ok,
    Failing,
    Call,
}

/// A detector in ordinary use, and the number of its next pair.
fn warm(kind: Kind, size: usize) -> Result<(Detector, usize), Failure> {
    let mut detector = json::detector("")?;
    for (call, result) in typed(&healthy(kind, 0, WARM, size.min(2 * KB))) {
        detector.record(&call)?;
        detector.record(&result)?;
    }
    Ok((detector, WARM))
}

fn failed(event: &Event) -> bool {
    matches!(&event.body, Body::ToolResult(result) if result.outcome != Outcome::Ok)
}

fn pairs(tally: &mut Tally, kind: Kind, size: usize, which: Which) -> Result<(), Failure> {
    let (mut detector, first) = warm(kind, size)?;
    let count = if which == Which::Failing { 4 * MEASURED } else { MEASURED };
    for (call, result) in typed(&healthy(kind, first, count, size)) {
        let both = |detector: &mut Detector| {
            let _ = black_box(detector.record(&call));
            let _ = black_box(detector.record(&result));
        };
        match which {
            Which::Call => {
                tally.item(|| drop(black_box(detector.record(&call))));
                detector.record(&result)?;
            }
            Which::All => tally.item(|| both(&mut detector)),
            Which::Ok | Which::Failing if failed(&result) == (which == Which::Failing) => {
                tally.item(|| both(&mut detector));
            }
            Which::Ok | Which::Failing => both(&mut detector),
        }
    }
    Ok(())
}

/// An agent that asks one question in words after another, each about something different.
fn asking(count: usize, output: usize) -> Vec<(String, String)> {
    let pair = |id: usize| {
        // For these texts, Rust's escaping is the same as JSON's.
        let [question, answer] =
            [(150, id), (output, id + 1)].map(|(size, seed)| format!("{:?}", Kind::Prose.text(size, seed)));
        let of_call = format!(r#""tool":"web_search","callId":"call_{id}""#);
        (
            format!(r#"{{"type":"tool-call",{of_call},"args":{{"query":{question}}}}}"#),
            format!(r#"{{"type":"tool-result",{of_call},"outcome":"ok","output":{answer}}}"#),
        )
    };
    (0..count).map(pair).collect()
}

fn one_by_one(tally: &mut Tally, events: &[(String, String)]) -> Result<(), Failure> {
    let mut detector = json::detector("")?;
    for (number, (call, result)) in typed(events).iter().enumerate() {
        let mut both = || {
            let _ = black_box(detector.record(call));
            let _ = black_box(detector.record(result));
        };
        if number < WARM { both() } else { tally.item(both) }
    }
    Ok(())
}

fn texts(tally: &mut Tally) -> Result<(), Failure> {
    let (mut detector, first) = warm(Kind::Prose, KB)?;
    for (call, result) in healthy(Kind::Prose, first, MEASURED, KB) {
        tally.item(|| {
            let _ = black_box(json::record(&mut detector, &call));
            let _ = black_box(json::record(&mut detector, &result));
        });
    }
    Ok(())
}

/// Checks of calls after pairs of which two at a time belong to one of the tasks, if any.
fn checks(tally: &mut Tally, tasks: &[&str]) -> Result<(), Failure> {
    let task = |index: usize| tasks.get(index / 2 % tasks.len().max(1)).map(ToString::to_string);
    let mut detector = json::detector("")?;
    let mut pairs = typed(&healthy(Kind::Prose, 0, WARM + MEASURED, KB));
    for (index, (call, result)) in pairs.iter_mut().enumerate() {
        (call.context.task, result.context.task) = (task(index), task(index));
    }
    let (before, measured) = pairs.split_at(WARM);
    for (call, result) in before {
        let _ = (detector.record(call)?, detector.record(result)?);
    }
    for (call, _) in measured {
        tally.item(|| drop(black_box(detector.check(call))));
    }
    Ok(())
}

fn streamed(tally: &mut Tally, stream: Stream, characters: usize, piece: usize) -> Result<(), Failure> {
    let mut detector = json::detector("")?;
    for delta in deltas(&stream.text(characters), piece) {
        tally.item(|| drop(black_box(detector.record(&delta))));
    }
    Ok(())
}
