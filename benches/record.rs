//! The library, natively. One JSON object a line; `cargo xtask bench` makes a table of it.

#[path = "support/workload.rs"]
mod workload;

use loopwarden::model::{Body, Error, Event};
use loopwarden::{Detector, json};
use std::hint::black_box;
use workload::{measure, pairs, print};

/// Calls with their results, ready to be recorded.
type Pairs = Vec<(Event, Event)>;

fn main() -> Result<(), Error> {
    for (label, output, turns) in [("1 KB", 1024, 400), ("20 KB", 20_480, 60)] {
        let mut detector = json::detector("")?;
        let mut calls = 0;
        let mut next = || {
            calls += turns;
            pairs(calls, turns, output)
        };
        let name = format!("native: call and result, {label}");
        measure(&name, turns as u128, || typed(&next()), |events| feed(&mut detector, events));
        measure(&format!("native: call and result as text, {label}"), turns as u128, next, |events| {
            for (call, result) in events {
                let _ = black_box(json::record(&mut detector, call));
                let _ = black_box(json::record(&mut detector, result));
            }
        });
        if label == "1 KB" {
            let bytes = detector.snapshot();
            let nothing = || ();
            measure("native: construction", 200, nothing, |_| {
                (0..200).for_each(|_| drop(black_box(json::detector(""))))
            });
            measure("native: snapshot", 100, nothing, |_| (0..100).for_each(|_| drop(black_box(detector.snapshot()))));
            measure("native: restore", 100, nothing, |_| {
                (0..100).for_each(|_| drop(black_box(Detector::restore(&bytes))));
            });
            print("native: snapshot size", "bytes", vec![bytes.len() as u128]);
        }
    }

    // What an event costs must not depend on how many there were.
    let mut detector = json::detector("")?;
    let mut kinds = typed(&pairs(0, 400, 1024));
    let mut calls = 0_u64;
    for (label, events) in [("10^3", 1_000), ("10^6", 1_000_000)] {
        while calls * 2 < events {
            number(&mut kinds, &mut calls);
            feed(&mut detector, &kinds);
        }
        measure(
            &format!("native: call and result, 1 KB, after {label} events"),
            400,
            || {
                number(&mut kinds, &mut calls);
                kinds.clone()
            },
            |events| feed(&mut detector, events),
        );
    }
    Ok(())
}

fn typed(pairs: &[(String, String)]) -> Pairs {
    pairs.iter().filter_map(|(call, result)| Some((json::event(call).ok()?, json::event(result).ok()?))).collect()
}

/// Gives every call an id that was not there before: else it would be a replay, which costs next to nothing.
fn number(pairs: &mut Pairs, calls: &mut u64) {
    for (call, result) in pairs {
        *calls += 1;
        let id = Some(format!("call_{calls}"));
        if let (Body::ToolCall(call), Body::ToolResult(result)) = (&mut call.body, &mut result.body) {
            call.call_id.clone_from(&id);
            result.call_id = id;
        }
    }
}

fn feed(detector: &mut Detector, pairs: &Pairs) {
    for (call, result) in pairs {
        let _ = black_box(detector.record(call));
        let _ = black_box(detector.record(result));
    }
}
