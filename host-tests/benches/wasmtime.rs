//! Benchmarks of the component in wasmtime with the default rules, metered by fuel as in the embedding example; pairs
//! also by epochs. Prints one JSON object per line, from which `cargo xtask bench` makes a table. An argument selects
//! the rows whose names contain it.

#[path = "../../benches/support/workload.rs"]
mod workload;

use loopwarden::model::Event;
use loopwarden_host_tests::{Component, Limits, Metering, Sandbox, component_path};
use std::cell::RefCell;
use std::hint::black_box;
use wasmtime::Result;
use workload::{
    Kind, PIECES, Pairs, SIZES, STREAMED, Stream, deltas, healthy, looping, measure, number, print, rate, typed, wanted,
};

fn main() -> Result<()> {
    let component = Component::load(&component_path()?)?;
    let by_epochs = Component::metered(&component_path()?, Metering::Epochs)?;
    for (label, output, turns) in SIZES {
        for kind in Kind::ALL {
            pairs("wasmtime", &component, kind, label, output, turns)?;
            pairs("wasmtime, epochs", &by_epochs, kind, label, output, turns)?;
        }
        let mut sandbox = sandbox(&component)?;
        let mut calls = 0;
        let next = || {
            calls += turns;
            typed(&looping(calls, turns, output))
        };
        let name = format!("wasmtime: call and result in a loop, {label}");
        measure(&name, turns as u128, next, |events| feed(&mut sandbox, events));
    }
    long_runs(&component)?;
    streams(&component);
    Ok(())
}

fn pairs(door: &str, component: &Component, kind: Kind, label: &str, output: usize, turns: usize) -> Result<()> {
    let rest = format!("{}, {label}", kind.name());
    let mut sandbox = sandbox(component)?;
    let mut calls = 0;
    let mut next = || {
        calls += turns;
        typed(&healthy(kind, calls, turns, output))
    };
    let name = format!("{door}: call and result, {rest}");
    measure(&name, turns as u128, &mut next, |events| feed(&mut sandbox, events));
    measure(&format!("{door}: check of a call, {rest}"), turns as u128, next, |events| {
        for (call, _) in events {
            let _ = black_box(sandbox.check(call));
        }
    });
    Ok(())
}

/// The cost of an event must not depend on how many came before.
fn long_runs(component: &Component) -> Result<()> {
    let mut sandbox = sandbox(component)?;
    let mut kinds = typed(&healthy(Kind::Prose, 0, 400, 1024));
    let mut calls = 0_u64;
    for (label, events) in [("10^3", 1_000), ("10^6", 1_000_000)] {
        let name = format!("wasmtime: call and result, prose, 1 KB, after {label} events");
        while wanted(&name) && calls * 2 < events {
            number(&mut kinds, &mut calls);
            feed(&mut sandbox, &kinds);
        }
        let next = || {
            number(&mut kinds, &mut calls);
            kinds.clone()
        };
        measure(&name, 400, next, |events| feed(&mut sandbox, events));
    }
    let snapshot = sandbox.snapshot()?;
    // Includes an instance, as a host pays for it with each detector.
    measure(
        "wasmtime: construction",
        50,
        || (),
        |()| {
            (0..50).for_each(|_| drop(black_box(self::sandbox(component))));
        },
    );
    measure(
        "wasmtime: snapshot, a typical run",
        50,
        || (),
        |()| {
            (0..50).for_each(|_| drop(black_box(sandbox.snapshot())));
        },
    );
    measure(
        "wasmtime: restore, a typical run",
        50,
        || (),
        |()| {
            (0..50).for_each(|_| drop(black_box(sandbox.restore(&snapshot))));
        },
    );
    print("wasmtime: linear memory, a typical run", "bytes", vec![sandbox.memory() as u128]);
    Ok(())
}

fn streams(component: &Component) {
    for stream in Stream::ALL {
        let text = stream.text(STREAMED);
        for (label, size) in PIECES {
            let deltas = deltas(&text, size);
            let name = |what: &str| format!("wasmtime: {what}, {} in {label}", stream.name());
            let fresh = || sandbox(component).map(RefCell::new);
            let run = |sandbox: &Result<RefCell<Sandbox>>| {
                let Ok(sandbox) = sandbox else { return };
                let mut sandbox = sandbox.borrow_mut();
                deltas.iter().for_each(|delta| drop(black_box(sandbox.record(delta))));
            };
            rate(&name("characters streamed"), "k/s", text.chars().count() as u128, fresh, run);
            rate(&name("bytes streamed"), "MB/s", text.len() as u128, fresh, run);
            if label == "tokens" {
                measure(&name("delta"), deltas.len() as u128, fresh, run);
            }
        }
    }
}

fn sandbox(component: &Component) -> Result<Sandbox> {
    Ok(component.sandbox("", Limits::default())??)
}

fn feed(sandbox: &mut Sandbox, pairs: &Pairs) {
    let events = pairs.iter().flat_map(|(call, result)| [call, result]);
    events.for_each(|event: &Event| drop(black_box(sandbox.record(event))));
}
