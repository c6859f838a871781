//! Measures the library natively, with the default configuration. Prints one JSON object per line, from which `cargo
//! xtask bench` makes a table. An argument selects the rows whose names contain it.

#[path = "../tests/support/adversary.rs"]
mod adversary;
#[path = "support/workload.rs"]
mod workload;

use loopwarden::model::{Body, Context, Error, Event, Level, Message, Role};
use loopwarden::{Detector, json};
use std::cell::RefCell;
use std::hint::black_box;
use workload::{
    Kind, PIECES, Pairs, SIZES, STREAMED, Stream, deltas, healthy, looping, measure, number, print, rate, typed, wanted,
};

fn main() -> Result<(), Error> {
    for (label, output, turns) in SIZES {
        for kind in Kind::ALL {
            pairs(kind, label, output, turns)?;
        }
        let name = format!("native: call and result in a loop, {label}");
        let mut detector = json::detector("")?;
        let mut calls = 0;
        let next = || {
            calls += turns;
            typed(&looping(calls, turns, output))
        };
        measure(&name, turns as u128, next, |events| {
            feed(&mut detector, events);
        });
    }
    long_runs()?;
    streams()?;
    reports("a busy run", adversary::Run::Busy)?;
    reports("a full run", adversary::Run::Full)
}

/// One turn of healthy work, and a `check` of its call.
fn pairs(kind: Kind, label: &str, output: usize, turns: usize) -> Result<(), Error> {
    let rest = format!("{}, {label}", kind.name());
    let name = |what: &str| format!("native: {what}, {rest}");
    let mut detector = json::detector("")?;
    let mut calls = 0;
    let mut next = || {
        calls += turns;
        healthy(kind, calls, turns, output)
    };
    let mut noise = 0;
    measure(&name("call and result"), turns as u128, || typed(&next()), |events| noise += feed(&mut detector, events));
    assert_eq!(noise, 0, "what is called healthy work must raise nothing");
    measure(&name("call and result as text"), turns as u128, &mut next, |events| {
        for (call, result) in events {
            let _ = black_box(json::record(&mut detector, call));
            let _ = black_box(json::record(&mut detector, result));
        }
    });
    measure(
        &name("check of a call"),
        turns as u128,
        || typed(&next()),
        |events| {
            for (call, _) in events {
                let _ = black_box(detector.check(call));
            }
        },
    );
    Ok(())
}

/// The cost of an event must not depend on how many came before.
fn long_runs() -> Result<(), Error> {
    let mut detector = json::detector("")?;
    let mut kinds = typed(&healthy(Kind::Prose, 0, 400, 1024));
    let mut calls = 0_u64;
    for (label, events) in [("10^3", 1_000), ("10^6", 1_000_000)] {
        let name = format!("native: call and result, prose, 1 KB, after {label} events");
        while wanted(&name) && calls * 2 < events {
            number(&mut kinds, &mut calls);
            feed(&mut detector, &kinds);
        }
        let next = || {
            number(&mut kinds, &mut calls);
            kinds.clone()
        };
        measure(&name, 400, next, |events| {
            feed(&mut detector, events);
        });
    }
    keeping("a typical run", &detector)
}

/// Streamed text, and the same text as one message.
fn streams() -> Result<(), Error> {
    for stream in Stream::ALL {
        let text = stream.text(STREAMED);
        for (label, size) in PIECES {
            let deltas = deltas(&text, size);
            let name = |what: &str| format!("native: {what}, {} in {label}", stream.name());
            let fresh = || json::detector("").map(RefCell::new);
            let run = |detector: &Result<RefCell<Detector>, Error>| {
                let Ok(detector) = detector else { return };
                let mut detector = detector.borrow_mut();
                let levels = deltas.iter().filter_map(|delta| detector.record(black_box(delta)).ok());
                let most = levels.fold(Level::Continue, |most, verdict| most.max(verdict.level));
                assert_eq!(most, Level::Continue, "what is called honest text must raise nothing");
            };
            rate(&name("characters streamed"), "k/s", text.chars().count() as u128, fresh, run);
            rate(&name("bytes streamed"), "MB/s", text.len() as u128, fresh, run);
            if label == "tokens" {
                measure(&name("delta"), deltas.len() as u128, fresh, run);
            }
        }
        let body = Body::Message(Message { role: Role::Assistant, channel: None, text, digest: None });
        let whole = Event { body, context: Context::default() };
        let mut detector = json::detector("")?;
        let name = format!("native: message of 200,000 characters, {}", stream.name());
        measure(&name, 1, || (), |()| drop(black_box(detector.record(&whole))));
    }
    Ok(())
}

/// A run with every kind of event.
fn reports(label: &str, run: adversary::Run) -> Result<(), Error> {
    let rows = ["state", "snapshot", "restore", "check of a call"];
    if !rows.iter().any(|what| wanted(&format!("native: {what}, {label}"))) {
        return Ok(());
    }
    let mut detector = json::detector(adversary::CONFIG)?;
    for event in adversary::events(run) {
        detector.record(&event)?;
    }
    keeping(label, &detector)?;
    let mut calls = 0;
    let next = || {
        calls += 100;
        typed(&healthy(Kind::Prose, calls, 100, 1024))
    };
    measure(&format!("native: check of a call, {label}"), 100, next, |events| {
        for (call, _) in events {
            let _ = black_box(detector.check(call));
        }
    });
    Ok(())
}

/// Creating, snapshotting and restoring a detector.
fn keeping(label: &str, detector: &Detector) -> Result<(), Error> {
    let nothing = || ();
    let bytes = detector.snapshot();
    if label == "a typical run" {
        measure("native: construction", 200, nothing, |()| (0..200).for_each(|_| drop(black_box(json::detector("")))));
    }
    measure(&format!("native: snapshot, {label}"), 100, nothing, |()| {
        (0..100).for_each(|_| drop(black_box(detector.snapshot())));
    });
    measure(&format!("native: restore, {label}"), 100, nothing, |()| {
        (0..100).for_each(|_| drop(black_box(Detector::restore(&bytes))));
    });
    let name = format!("native: state, {label}");
    if wanted(&name) {
        let config = serde_json::to_string(detector.config()).map(|text| text.len()).unwrap_or_default();
        print(&name, "bytes", vec![bytes.len().saturating_sub(config) as u128]);
    }
    Ok(())
}

/// Records pairs and returns the number of events whose verdict was above `continue`.
fn feed(detector: &mut Detector, pairs: &Pairs) -> usize {
    let events = pairs.iter().flat_map(|(call, result)| [call, result]);
    let noise =
        events.filter(|event| black_box(detector.record(event)).is_ok_and(|verdict| verdict.level > Level::Continue));
    noise.count()
}
