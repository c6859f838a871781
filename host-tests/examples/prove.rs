//! Feeds the events on standard input to the component in wasmtime. Writes the digests that `cargo xtask prove`
//! compares with the native library's, and time and memory to standard error.
//!
//! `cargo run -p loopwarden-host-tests --example prove -- COMPONENT < events.jsonl`

#[path = "../../tests/support/blocks.rs"]
mod blocks;

use blocks::{Door, Failure, digests};
use loopwarden::json;
use loopwarden_host_tests::{Component, Limits, Sandbox};
use std::path::Path;

/// The detector of one instance.
struct Told(Sandbox);

impl Door for Told {
    fn record(&mut self, event: &str) -> Result<String, Failure> {
        Ok(json::to_string(&self.0.record(&json::event(event)?)??))
    }

    fn metrics(&mut self) -> Result<String, Failure> {
        Ok(self.0.metrics()?)
    }

    fn next(&mut self) -> Result<Vec<u8>, Failure> {
        let snapshot = self.0.snapshot()?;
        self.0.restore(&snapshot)??;
        Ok(snapshot)
    }
}

fn main() -> Result<(), Failure> {
    let component = std::env::args().nth(1).ok_or("usage: prove COMPONENT < EVENTS")?;
    let sandbox = Component::load(Path::new(&component))?.sandbox("", Limits::default())??;
    let mut told = Told(sandbox);
    let (events, spent) = digests(&mut told, std::io::stdin().lock(), std::io::stdout().lock())?;
    let each = spent.as_nanos() / u128::from(events.max(1));
    eprintln!("{each} ns an event, {} KB of linear memory", told.0.memory() / 1024);
    Ok(())
}
