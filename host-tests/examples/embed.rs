//! Loopwarden embedded with wasmtime: a recorded run is judged step by step until a loop is caught.
//!
//! `cargo run -p loopwarden-host-tests --example embed -- COMPONENT TRANSCRIPT`

use loopwarden::model::{Error, Level, Verdict};
use loopwarden::transcript;
use loopwarden_host_tests::bindings::LoopwardenPre;
use loopwarden_host_tests::bindings::exports::loopwarden::detector::detection::{ReportFormat, Scope};
use loopwarden_host_tests::story::Story;
use wasmtime::component::{Component, Linker};
use wasmtime::{Config, Engine, Result, Store, StoreLimitsBuilder};

/// Fuel for one event: a few tenths of a second.
const FUEL: u64 = 1_000_000_000;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(component), Some(file)) = (args.next(), args.next()) else {
        return Err(wasmtime::Error::msg("usage: embed COMPONENT TRANSCRIPT"));
    };

    // Once per process: compile. The linker stays empty, since the component imports nothing.
    let engine = Engine::new(Config::new().consume_fuel(true))?;
    let component = Component::from_file(&engine, component)?;
    let loopwarden = LoopwardenPre::new(Linker::new(&engine).instantiate_pre(&component)?)?;

    // Once per run: an instance with its own memory, which no event can grow beyond this limit.
    let mut store = Store::new(&engine, StoreLimitsBuilder::new().memory_size(16 << 20).build());
    store.limiter(|limits| limits);
    store.set_fuel(FUEL)?;
    let instance = loopwarden.instantiate(&mut store)?;
    let detector = instance.loopwarden_detector_detection().detector();
    let handle = detector.call_constructor(&mut store, r#"{"preset":"balanced"}"#)?.map_err(Error::from)?;

    // Once per event: record it and act on the verdict.
    let mut story = Story::on_stdout();
    let mut caught = None;
    for step in transcript::read(&std::fs::read_to_string(file)?, None).events {
        store.set_fuel(FUEL)?;
        let verdict = detector.call_record(&mut store, handle, &(&step.event).into())?.map_err(Error::from)?;
        let verdict = Verdict::from(verdict);
        story.tell(&step.event, &verdict)?;
        if verdict.level >= Level::Nudge {
            caught = verdict.findings.first().map(|finding| Scope::from(&*finding.scope)).or(caught);
        }
        if verdict.level >= Level::Gate {
            break;
        }
    }

    // What a person needs in order to decide how to proceed.
    let report = caught.map(|scope| detector.call_report(&mut store, handle, &scope, ReportFormat::Markdown));
    story.end(report.transpose()?.as_deref())?;
    handle.resource_drop(&mut store)
}
