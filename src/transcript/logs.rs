//! OpenTelemetry log records: model messages that instrumentations emit as events, and the events of coding agents
//! (`claude_code.…`, `codex.…`) about calls, prompts and requests. A record belongs to the span it names, and becomes a
//! span of its own if that span is not in the file.

use super::content::{self, flag, text};
use super::otel::{Kind, Span, any_value, attributes, lookup, nanos, said_in_event};
use super::usage::count;
use alloc::{
    borrow::ToOwned,
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};
use serde_json::{Map, Value, json};

/// Whether a record is a log record.
pub(super) fn is_one(map: &Map<String, Value>) -> bool {
    let stamped = ["timeUnixNano", "observedTimeUnixNano", "observed_timestamp", "observedTimestamp"];
    (map.contains_key("body") || map.contains_key("eventName") || map.contains_key("event_name"))
        && !map.contains_key("startTimeUnixNano")
        && (stamped.iter().any(|key| map.contains_key(*key)) || map.contains_key("severityNumber"))
}

/// The records so far.
#[derive(Default)]
pub(super) struct Logs(Vec<Span>);

impl Logs {
    pub(super) fn take(&mut self, line: u32, map: &Map<String, Value>) {
        let told = attributes(map.get("attributes"));
        let body = map.get("body").map(|body| any_value(body, 0)).unwrap_or_default();
        let named = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let name = ["eventName", "event_name"].iter().find_map(|key| named(map.get(*key)));
        let name = name.or_else(|| named(lookup(&told, "event.name"))).or_else(|| named(Some(&body)));
        let Some(name) = name else { return };
        let time = ["timeUnixNano", "timestamp", "observedTimeUnixNano", "observed_timestamp", "observedTimestamp"];
        let at = time.iter().find_map(|key| nanos(map.get(*key)).filter(|at| *at != 0));
        let id = |keys: [&str; 2]| {
            keys.iter().find_map(|key| content::id(map.get(*key))).filter(|id| id.bytes().any(|byte| byte != b'0'))
        };
        let mut span = Span {
            line,
            id: id(["spanId", "span_id"]).unwrap_or_default(),
            name: String::new(),
            parent: String::new(),
            trace: id(["traceId", "trace_id"]).unwrap_or_default(),
            start: at,
            end: at,
            kind: Kind::Model,
            attributes: Map::new(),
            error: None,
        };
        // What it belongs to: standalone agents name their session.
        for key in ["gen_ai.conversation.id", "session.id", "conversation.id", "gen_ai.agent.name"] {
            if let Some(value) = lookup(&told, key) {
                let key = if key == "conversation.id" { "session.id" } else { key };
                span.attributes.insert(key.to_owned(), value.clone());
            }
        }
        if name.starts_with("gen_ai.") {
            let mut said = told;
            if let Value::Object(body) = body {
                said.extend(body);
            }
            said_in_event(&mut span.attributes, &json!({ "name": name, "attributes": said }));
        } else {
            let Some((_, event)) = name.rsplit_once('.').or(Some(("", &name))) else { return };
            // A span of its own, whichever span it was written in.
            let number = self.0.len();
            span.id = format!("log-{number}");
            agent_event(&mut span, event, &told);
        }
        if span.kind != Kind::Other {
            self.0.push(span);
        }
    }

    /// Adds the records to their spans, or as spans of their own.
    pub(super) fn join(self, spans: &mut Vec<Span>) {
        let mut known: BTreeMap<(String, String), usize> = BTreeMap::new();
        for (index, span) in spans.iter().enumerate() {
            known.insert((span.trace.clone(), span.id.clone()), index);
        }
        for (number, mut record) in self.0.into_iter().enumerate() {
            if record.id.is_empty() {
                record.id = format!("log-{number}");
            }
            let key = (record.trace.clone(), record.id.clone());
            match known.get(&key).and_then(|index| spans.get_mut(*index)) {
                Some(span) => {
                    if span.kind == Kind::Other {
                        span.kind = record.kind;
                    }
                    for (name, value) in record.attributes {
                        match (span.attributes.get_mut(&name), value) {
                            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
                            (Some(_), _) => {}
                            (None, value) => {
                                span.attributes.insert(name, value);
                            }
                        }
                    }
                    span.start = span.start.min(record.start).or(record.start);
                    span.end = span.end.max(record.end);
                }
                None => {
                    known.insert(key, spans.len());
                    spans.push(record);
                }
            }
        }
    }
}

/// An event of a coding agent, as a span.
fn agent_event(span: &mut Span, event: &str, told: &Map<String, Value>) {
    let value = |keys: &[&str]| keys.iter().find_map(|key| lookup(told, key)).cloned();
    let mut note = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            span.attributes.insert(key.to_owned(), value);
        }
    };
    match event {
        "tool_result" | "tool_call" if value(&["tool_name", "function_name", "name"]).is_some() => {
            note("gen_ai.tool.name", value(&["tool_name", "function_name", "name"]));
            note("gen_ai.tool.call.id", value(&["call_id", "tool_use_id"]));
            note("gen_ai.tool.call.arguments", value(&["tool_input", "arguments", "tool_parameters", "function_args"]));
            note("gen_ai.tool.call.result", value(&["output", "result"]));
            span.kind = Kind::Tool;
            let said = value(&["success"]);
            let failed = match &said {
                Some(Value::String(said)) => said == "false",
                Some(Value::Bool(said)) => !said,
                _ => false,
            };
            if failed || flag(told, "is_error") {
                let error = value(&["error", "error_message", "error_type"]);
                span.error =
                    Some(error.map_or_else(String::new, |error| {
                        error.as_str().map_or_else(|| error.to_string(), str::to_owned)
                    }));
            }
            let took = value(&["duration_ms"]).and_then(|took| match took {
                Value::String(text) => text.parse::<i64>().ok(),
                took => took.as_i64(),
            });
            span.start =
                span.end.zip(took).and_then(|(end, took)| end.checked_sub(took.checked_mul(1_000_000)?)).or(span.end);
        }
        "user_prompt" => match text(told, "prompt").filter(|prompt| !prompt.is_empty()) {
            Some(prompt) => {
                let message = json!({ "role": "user", "parts": [{ "type": "text", "content": prompt }] });
                note("gen_ai.input.messages", Some(json!([message])));
            }
            None => span.kind = Kind::Other,
        },
        "api_request" | "api_response" => {
            const PARTS: [&[&str]; 4] = [
                &["input_tokens", "input_token_count"],
                &["output_tokens", "output_token_count"],
                &["cache_read_tokens"],
                &["cache_creation_tokens"],
            ];
            let total = PARTS.iter().filter_map(|keys| count(value(keys).as_ref())).fold(0, u64::saturating_add);
            note("gen_ai.usage.total_tokens", (total > 0).then(|| total.into()));
            note("gen_ai.usage.cost", value(&["cost_usd"]));
        }
        _ => span.kind = Kind::Other,
    }
}
