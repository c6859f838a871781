use super::*;
use crate::model::*;
use std::{println, time::Instant, string::String, hint::black_box};
use alloc::format;
fn time(name: &str, bytes: usize, mut f: impl FnMut()) {
    let mut best = u128::MAX;
    for _ in 0..30 { let t = Instant::now(); for _ in 0..2000 { f(); } best = best.min(t.elapsed().as_nanos()); }
    println!("{name}: {} ns, {} MB/s", best / 2000, bytes as u128 * 1000 * 2000 / best.max(1));
}
#[test]
fn bench() {
    let prose = "The quick brown fox jumps over the lazy dog, and then it rests for a while under a tree. ".repeat(12).chars().take(1024).collect::<String>();
    let log: String = (0..40).map(|i| format!("src/module_{i}.rs:{}: warning: unused variable `x{i}`\n", i * 7)).collect::<String>().chars().take(1024).collect();
    let times: String = (0..40).map(|i| format!("2026-07-26T12:01:{i:02}Z INFO worker pid=41{i} done in 1.{i}s\n")).collect::<String>().chars().take(1024).collect();
    let json = format!("{{\"items\":[{}],\"total\":3,\"took\":5}}", (0..12).map(|i| format!("{{\"id\":{i},\"name\":\"item number {i}\",\"createdAt\":\"2026-07-26T12:01:01Z\"}}")).collect::<alloc::vec::Vec<_>>().join(","));
    let big = prose.repeat(20);
    let call = ToolCall { tool: "read_file".into(), args: Some(serde_json::json!({"path": "/repo/src/components/app/main.rs", "start_line": 10, "end_line": 200, "pattern": "fn main with a longer text to fill it up a bit", "options": {"case": true, "whole": false, "include": ["*.rs", "*.toml"]}})), ..ToolCall::default() };
    let shell = ToolCall { tool: "bash".into(), args: Some(serde_json::json!({"command": "cd /repo && cargo test --lib -- --nocapture 2>&1 | tail -n 50"})), ..ToolCall::default() };
    println!("args {} B json {} B", serde_json::to_string(call.args.as_ref().unwrap()).unwrap().len(), json.len());
    let mut buffer = String::new();
    let mut scratch = Scratch::default();
    let volatile = Volatile::default();
    time("call_key", 200, || { black_box(call_key(black_box(&call), &[], &[], &mut buffer)); });
    time("mutates", 0, || { black_box(mutates(black_box(&call), None)); });
    time("target", 0, || { black_box(target(black_box(&call))); });
    time("mutates shell", 0, || { black_box(mutates(black_box(&shell), None)); });
    time("target shell", 0, || { black_box(target(black_box(&shell))); });
    time("evidence", 0, || { black_box(evidence(black_box(5))); });
    for (name, text) in [("prose", &prose), ("log", &log), ("times", &times), ("json", &json), ("big", &big)] {
        let mut out = String::new();
        time(&format!("light {name}"), text.len(), || { out.clear(); black_box(normalise(black_box(text), Strength::Light, &mut out)); });
        time(&format!("heavy {name}"), text.len(), || { out.clear(); black_box(normalise(black_box(text), Strength::Heavy, &mut out)); });
        time(&format!("says {name}"), text.len(), || { black_box(super::answer::says(black_box(text))); });
        let result = ToolResult { output: text.clone(), ..ToolResult::default() };
        time(&format!("outcome {name}"), text.len(), || { black_box(outcome("read_file", black_box(&result), false, &volatile, &mut scratch)); });
        let result = ToolResult { output: text.clone(), outcome: Outcome::Error, ..ToolResult::default() };
        time(&format!("outcome error {name}"), text.len(), || { black_box(outcome("read_file", black_box(&result), false, &volatile, &mut scratch)); });
    }
}
