//! A coder and a verifier hand work to each other, watched by Loopwarden in wasmtime until the tests pass, a budget is
//! exhausted or the loop stalls.
//!
//! `cargo run -p loopwarden-host-tests --example coder_verifier -- COMPONENT`

use loopwarden::model::{Body, Context, Delivery, Event, Level, Progress, Record, Scope, Tests, Turn, Verdict};
use loopwarden_host_tests::{Component, Limits};
use serde_json::Value;
use wasmtime::Result;

const CONFIG: &str = r#"{"onStall":"switch-to-interactive","budgets":{"maxCycleIterations":8,"maxTurnsPerNode":10}}"#;
const WORKFLOW: &str = r#"{"nodes":[{"id":"coder","driver":true},"verifier"],
    "edges":[{"from":"coder","to":"verifier"},{"from":"verifier","to":"coder"}]}"#;

/// Stands in for your agents: the coder's patch in one lap, and the tests that then fail.
pub(crate) struct Lap {
    /// The patch.
    pub(crate) patch: String,
    /// Ids of the failing tests.
    pub(crate) failing: Vec<String>,
}

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Badge and trend after each lap, as a user interface shows them.
    pub(crate) shown: Vec<String>,
    /// The verdict that stopped the loop, and the `loop.halted` record to log.
    pub(crate) halted: Option<(Verdict, Option<Record>)>,
}

/// The host's events for one lap, in order.
fn events(lap: &Lap) -> Vec<Event> {
    let turn =
        |node: &str, said: String| Body::Turn(Turn { node: node.into(), final_message: Some(said), ..Turn::default() });
    let delivery = |from: &str, to: &str| Body::Delivery(Delivery { from: from.into(), to: to.into(), edge: None });
    let failing = u32::try_from(lap.failing.len()).unwrap_or(u32::MAX);
    let tests = Tests { failing: Some(failing), failing_ids: Some(lap.failing.clone()), ..Tests::default() };
    let mut bodies = vec![
        turn("coder", lap.patch.clone()),
        delivery("coder", "verifier"),
        turn("verifier", format!("{failing} tests fail with {}", lap.patch)),
        Body::Progress(Progress { diff: Some(lap.patch.clone()), tests: Some(tests), ..Progress::default() }),
    ];
    if failing > 0 {
        bodies.push(delivery("verifier", "coder"));
    }
    bodies.into_iter().map(|body| Event { body, context: Context::default() }).collect()
}

/// Runs laps until none are left, the tests pass or a verdict stops the loop.
///
/// # Errors
/// A trap or a rejected input.
pub(crate) fn run(component: &Component, laps: &[Lap]) -> Result<Outcome> {
    let mut sandbox = component.sandbox(CONFIG, Limits::default())??;
    let run = Scope::default();
    sandbox.declare_graph(&run, WORKFLOW)??;
    let mut shown = Vec::new();
    for lap in laps {
        for event in events(lap) {
            let verdict = sandbox.record(&event)??;
            if verdict.level >= Level::Block {
                let halted = |record: &&Record| matches!(record, Record::LoopHalted { .. });
                let record = verdict.records.iter().find(halted).cloned();
                return Ok(Outcome { shown, halted: Some((verdict, record)) });
            }
        }
        let status: Value = serde_json::from_str(&sandbox.status(&run)?)?;
        let text = |field: &str| status.pointer(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        shown.push(format!("{}: {}", text("/cycles/0/badge"), text("/cycles/0/trend")));
        if lap.failing.is_empty() {
            break;
        }
    }
    Ok(Outcome { shown, halted: None })
}

/// Laps that leave these numbers of tests failing, each with a patch of its own.
pub(crate) fn laps_to(counts: &[usize]) -> Vec<Lap> {
    let failing = |count: usize| (0..count).map(|test| format!("test {test}")).collect();
    let laps = counts.iter().enumerate();
    laps.map(|(lap, count)| Lap { patch: format!("+ let attempt = {lap};"), failing: failing(*count) }).collect()
}

fn main() -> Result<()> {
    let Some(path) = std::env::args().nth(1) else {
        return Err(wasmtime::Error::msg("usage: coder_verifier COMPONENT"));
    };
    let component = Component::load(path.as_ref())?;
    for (title, counts) in [("gets there", &[7, 4, 2, 0][..]), ("gets stuck", &[7, 4, 2, 2, 2, 2])] {
        let Outcome { shown, halted } = run(&component, &laps_to(counts))?;
        println!("A pair that {title}: {shown:#?}");
        if let Some((verdict, record)) = halted {
            println!("{}\n{}", verdict.guidance.unwrap_or_default(), serde_json::to_string_pretty(&record)?);
        }
    }
    Ok(())
}
