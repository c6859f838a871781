//! One run with every kind of event, under ordinary names or under names that exhaust every memory a run has.

use loopwarden::json;
use loopwarden::model::Event;
use serde_json::{Value, json};
// Not in scope in the crate's own tests.
#[allow(unused_imports, reason = "there by themselves everywhere but in a crate without std")]
use std::{format, prelude::rust_2024::*, vec};

/// The configuration: the defaults, for which the memory bound is promised.
pub(crate) const CONFIG: &str = "{}";

/// Laps over every kind of event.
const LAPS: u64 = 200;

/// How a run is filled.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Run {
    /// With all that hosts report, about three each of agents, tasks, tools and nodes.
    Busy,
    /// With more names of everything than are kept, each long and made of four-byte characters.
    Full,
}

impl Run {
    /// One of at most `most` names.
    fn name(self, kind: &str, number: u64, most: u64) -> String {
        match self {
            Self::Busy => format!("{kind}-{}", number % most.min(3)),
            Self::Full => format!("{}-{kind}-{}", number % most, "𝔏".repeat(300)),
        }
    }

    /// A name that occurs once.
    fn new_name(self, kind: &str, number: u64) -> String {
        match self {
            Self::Busy => format!("{kind}-{number}"),
            Self::Full => self.name(kind, number, u64::MAX),
        }
    }
}

/// Words that differ for every number.
fn words(number: u64, count: u64) -> String {
    (0..count).map(|word| format!("w{:x} ", (number * 1000 + word).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
}

/// The events, in order.
pub(crate) fn events(run: Run) -> impl Iterator<Item = Event> {
    (0..LAPS).flat_map(move |lap| {
        let time = lap * 977;
        lap_of(run, lap).into_iter().enumerate().filter_map(move |(index, mut event)| {
            let fields = event.as_object_mut()?;
            let context = [
                ("at", json!(1_790_000_000_000_u64 + time * 1000 + index as u64)),
                ("step", json!(9_000_000_000_u64 + lap)),
                ("agent", json!(run.name("agent", lap + index as u64, 40))),
                ("task", json!(run.name("task", lap, 48))),
                ("round", json!(run.new_name("round", lap))),
            ];
            for (field, value) in context {
                fields.entry(field).or_insert(value);
            }
            json::event(&event.to_string()).ok()
        })
    })
}

/// Every kind of event at least once.
fn lap_of(run: Run, lap: u64) -> Vec<Value> {
    let mut made = Vec::new();
    let node = |number: u64| run.name("node", number, 70);
    for part in 0..4_u64 {
        let number = lap * 4 + part;
        let tool = run.name("tool", number, 48);
        let shell = if part == 3 { "web_search".to_owned() } else { tool };
        let text = words(number, 60);
        // Twice, so that something repeats.
        for time in 0..2 {
            let id = run.new_name("call", number * 2 + time);
            let args = json!({"path": run.name("path", number, 90), "query": words(number % 9, 30), "text": text});
            made.push(json!({"type": "tool-call", "tool": shell, "callId": id, "args": args}));
            // Every second lap leaves its calls unanswered.
            if lap.is_multiple_of(2) {
                let outcome = match number % 4 {
                    0 => "error",
                    1 => "denied",
                    2 => "invalid",
                    _ => "ok",
                };
                let output = format!("failed at {} {text}", run.name("error", number, 90));
                made.push(
                    json!({"type": "tool-result", "tool": shell, "callId": id, "outcome": outcome, "output": output}),
                );
            }
        }
    }
    for channel in ["text", "reasoning"] {
        made.push(json!({"type": "delta", "channel": channel, "text": words(lap, 400)}));
    }
    for time in 0..2_u64 {
        made.push(json!({"type": "message", "role": "assistant", "text": words(lap + time % 2, 300)}));
        made.push(json!({"type": "output", "text": format!("{}\n{}", run.new_name("line", lap), words(lap, 50))}));
        let message = format!("{} {}", run.name("failure", lap, 90), words(lap % 90, 40));
        made.push(json!({"type": "failure", "message": message, "location": run.new_name("place", lap)}));
        let ids: Vec<String> = (0..20).map(|id| run.new_name("test", id + time)).collect();
        made.push(json!({"type": "progress", "diff": words(lap / 2, 50), "docs": words(lap, 50),
            "tests": {"failing": 20 + (lap + time) % 7, "total": 1_000_000, "failingIds": ids}}));
        let request = words(lap % 30, 120);
        let asked = json!({"type": "collaboration", "from": run.name("agent", lap, 40), "to": run.name("agent", lap + 1, 37), "request": request});
        made.push(asked);
        let embedding: Vec<f64> = (0..1536).map(|n| f64::from((n * 31 + lap as i32 * 7) % 97 - 48)).collect();
        made.push(json!({"type": "collaboration", "from": "a", "to": "b", "request": request, "embedding": embedding}));
        let blockers: Vec<String> = (0..20).map(|id| run.new_name("blocker", id)).collect();
        made.push(
            json!({"type": "attempt", "status": "blocked", "blockers": blockers, "completedWork": [words(lap, 20)]}),
        );
        made.push(
            json!({"type": "transition", "from": run.name("phase", lap, 60), "to": run.name("phase", lap + 1 + time, 60)}),
        );
        made.push(json!({"type": "turn", "node": node(lap + time), "finalMessage": words(lap / 3, 40),
            "structuredOutput": {"a": words(lap, 5)}, "tokens": 30_000_000_000_u64, "costMicros": 40_000_000_000_u64,
            "durationMs": 500_000_000_u64}));
        made.push(json!({"type": "delivery", "from": node(lap + time), "to": node(lap + time + 1)}));
        made.push(json!({"type": "delivery", "from": node(lap + time + 1), "to": node(lap + time)}));
    }
    for verdict in ["stalled", "external"] {
        made.push(json!({"type": "evaluation", "verdict": verdict, "reasoning": words(lap, 60)}));
    }
    for kind in ["compaction", "hook-block", "continuation", "retry"] {
        made.push(json!({"type": "host", "kind": kind, "name": run.new_name("hook", lap), "detail": words(lap, 9)}));
    }
    made
}
