//! The component in wasmtime, metered as in the embedding example. One JSON object a line; `cargo xtask bench` makes a
//! table of it.

#[path = "../../benches/support/workload.rs"]
mod workload;

use loopwarden::{json, model::Event};
use loopwarden_host_tests::{Component, Limits, Sandbox, component_path};
use std::hint::black_box;
use wasmtime::Result;
use workload::{measure, pairs, print};

fn main() -> Result<()> {
    let component = Component::load(&component_path()?)?;
    for (label, output, turns) in [("1 KB", 1024, 400), ("20 KB", 20_480, 60)] {
        let mut sandbox = sandbox(&component)?;
        let mut calls = 0;
        measure(
            &format!("wasmtime: call and result, {label}"),
            turns as u128,
            || {
                calls += turns;
                typed(&pairs(calls, turns, output))
            },
            |events| {
                for event in events {
                    let _ = black_box(sandbox.record(event));
                }
            },
        );
        if label == "1 KB" {
            let snapshot = sandbox.snapshot()?;
            // An instance is part of it: that is what a host pays for a detector of its own.
            measure(
                "wasmtime: construction",
                50,
                || (),
                |_| {
                    (0..50).for_each(|_| drop(black_box(self::sandbox(&component))));
                },
            );
            measure("wasmtime: snapshot", 50, || (), |_| (0..50).for_each(|_| drop(black_box(sandbox.snapshot()))));
            measure(
                "wasmtime: restore",
                50,
                || (),
                |_| {
                    (0..50).for_each(|_| drop(black_box(sandbox.restore(&snapshot))));
                },
            );
            print("wasmtime: snapshot size", "bytes", vec![snapshot.len() as u128]);
        }
    }
    Ok(())
}

fn sandbox(component: &Component) -> Result<Sandbox> {
    Ok(component.sandbox("", Limits::default())??)
}

fn typed(pairs: &[(String, String)]) -> Vec<Event> {
    pairs.iter().flat_map(|(call, result)| [json::event(call), json::event(result)]).flatten().collect()
}
