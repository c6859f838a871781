//! The library, natively. One JSON object a line; `cargo xtask bench` makes a table of it.

#[path = "support/workload.rs"]
mod workload;

use loopwarden::{Detector, json, model::Error, model::Event};
use std::hint::black_box;
use workload::{measure, pairs, print};

fn main() -> Result<(), Error> {
    for (label, output, turns) in [("1 KB", 1024, 400), ("20 KB", 20_480, 60)] {
        let mut detector = json::detector("")?;
        let mut calls = 0;
        let mut next = || {
            calls += turns;
            pairs(calls, turns, output)
        };
        measure(
            &format!("native: call and result, {label}"),
            turns as u128,
            || next().iter().map(|(call, result)| Ok((json::event(call)?, json::event(result)?))).collect(),
            |events| feed(&mut detector, events),
        );
        measure(&format!("native: call and result as text, {label}"), turns as u128, &mut next, |events| {
            for (call, result) in events {
                let _ = black_box(json::record(&mut detector, &call));
                let _ = black_box(json::record(&mut detector, &result));
            }
        });
        if label == "1 KB" {
            let bytes = detector.snapshot();
            measure(
                "native: construction",
                200,
                || (),
                |()| (0..200).for_each(|_| drop(black_box(json::detector("")))),
            );
            measure("native: snapshot", 100, || (), |()| (0..100).for_each(|_| drop(black_box(detector.snapshot()))));
            measure(
                "native: restore",
                100,
                || (),
                |()| {
                    (0..100).for_each(|_| drop(black_box(Detector::restore(&bytes))));
                },
            );
            print("native: snapshot size", "bytes", vec![bytes.len() as u128]);
        }
    }

    // What an event costs must not depend on how many there were.
    let mut detector = json::detector("")?;
    let mut pair = 0;
    for (label, events) in [("10^3", 1_000), ("10^6", 1_000_000)] {
        while pair * 2 < events {
            feed(&mut detector, typed(&pairs(pair, 500, 1024)));
            pair += 500;
        }
        measure(
            &format!("native: call and result, 1 KB, after {label} events"),
            400,
            || {
                pair += 400;
                typed(&pairs(pair, 400, 1024))
            },
            |events| feed(&mut detector, events),
        );
    }
    Ok(())
}

fn typed(pairs: &[(String, String)]) -> Result<Vec<(Event, Event)>, Error> {
    pairs.iter().map(|(call, result)| Ok((json::event(call)?, json::event(result)?))).collect()
}

fn feed(detector: &mut Detector, events: Result<Vec<(Event, Event)>, Error>) {
    for (call, result) in events.into_iter().flatten() {
        let _ = black_box(detector.record(&call));
        let _ = black_box(detector.record(&result));
    }
}
