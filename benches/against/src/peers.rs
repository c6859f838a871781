//! The alternatives a Rust user has, on the same calls and results: crates that compare arguments and count failures.

use crate::Failure;
use crate::workload::{Kind, Pairs, SIZES, healthy, measure, typed};
use loop_guardrail::{ToolCallGuardrailConfig, ToolCallGuardrailController};
use loopwarden::json;
use loopwarden::model::{Body, Outcome, ToolCall, ToolResult};
use serde_json::Value;
use std::hint::black_box;
use tool_loop_guard::LoopGuard;

/// Measures each crate on the same pairs, this one first.
pub(crate) fn run() -> Result<(), Failure> {
    for (label, output, turns) in SIZES {
        for kind in Kind::ALL {
            let rest = format!("call and result, {}, {label}", kind.name());
            let mut pairs = 0;
            let mut next = || {
                pairs += turns;
                typed(&healthy(kind, pairs, turns, output))
            };
            let turns = turns as u128;
            let mut own = json::detector("")?;
            measure(&format!("native: {rest}"), turns, &mut next, |pairs| {
                for (call, result) in pairs {
                    let _ = black_box(own.record(call));
                    let _ = black_box(own.record(result));
                }
            });
            let mut guard = LoopGuard::with_capacity(20, 3);
            measure(&format!("tool-loop-guard: {rest}"), turns, &mut next, |pairs| {
                each(pairs, |call, _| {
                    let _ = black_box(guard.record(&call.tool, call.args.as_ref().unwrap_or(&Value::Null)));
                });
            });
            let config = ToolCallGuardrailConfig { hard_stop_enabled: true, ..ToolCallGuardrailConfig::default() };
            let mut controller = ToolCallGuardrailController::new(Some(config));
            measure(&format!("loop-guardrail: {rest}"), turns, &mut next, |pairs| {
                each(pairs, |call, result| {
                    let args = call.args.as_ref();
                    black_box(controller.before_call(&call.tool, args));
                    let failed = result.outcome != Outcome::Ok;
                    black_box(controller.after_call(&call.tool, args, Some(&result.output), Some(failed)));
                });
            });
        }
    }
    Ok(())
}

fn each(pairs: &Pairs, mut take: impl FnMut(&ToolCall, &ToolResult)) {
    for (call, result) in pairs {
        if let (Body::ToolCall(call), Body::ToolResult(result)) = (&call.body, &result.body) {
            take(call, result);
        }
    }
}
