//! Spans and messages of tracing tools, converted to plain GenAI spans: Langfuse observations, LangSmith runs, Phoenix
//! exports; and messages of any model API.

use super::content::{at, content_text, flag, id, list, present, text, text_at};
use super::usage::{Usage, micros};
use crate::json;
use alloc::{
    borrow::ToOwned,
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};
use serde_json::{Map, Value, json};

/// Depth to which messages may be nested in messages.
const DEPTH: u32 = 8;

/// Whether a record is a span of one of these tools.
pub(super) fn is_one(map: &Map<String, Value>) -> bool {
    is_run(map) || is_observation(map)
}

/// Whether a record is a LangSmith run.
pub(super) fn is_run(map: &Map<String, Value>) -> bool {
    text(map, "run_type").is_some()
        && ["trace_id", "dotted_order", "parent_run_id", "start_time", "child_runs", "inputs"]
            .iter()
            .any(|key| map.contains_key(*key))
}

/// Whether a record is a Langfuse observation.
fn is_observation(map: &Map<String, Value>) -> bool {
    const TYPES: [&str; 10] =
        ["SPAN", "GENERATION", "EVENT", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EVALUATOR", "GUARDRAIL", "EMBEDDING"];
    text(map, "type").is_some_and(|kind| TYPES.contains(&kind))
        && ["traceId", "trace_id"].iter().any(|key| map.contains_key(*key))
        && ["parentObservationId", "parent_observation_id", "startTime", "start_time"]
            .iter()
            .any(|key| map.contains_key(*key))
}

/// A record as a plain span, if it is an observation.
pub(super) fn plain(map: &Map<String, Value>) -> Option<Map<String, Value>> {
    is_observation(map).then(|| observation(map))
}

fn observation(map: &Map<String, Value>) -> Map<String, Value> {
    let either = |keys: &[&str]| present(map, keys).cloned();
    let metadata = unpacked(map.get("metadata"));
    let mut attributes = match unpacked(metadata.get("attributes")) {
        Value::Object(attributes) => attributes,
        _ => Map::new(),
    };
    let [input, output] = ["input", "output"].map(|key| unpacked(map.get(key)));
    let name = text(map, "name").unwrap_or_default();
    let mut failed = text(map, "level") == Some("ERROR");
    match text(map, "type") {
        Some("TOOL" | "RETRIEVER") => failed |= tool(&mut attributes, name, input, output),
        Some("GENERATION") => {
            model(&mut attributes, input, output);
            let records = ["usageDetails", "usage_details", "usage"].map(|key| map.get(key));
            let usage = Usage::first(records.into_iter().chain([flat_usage(map).as_ref()]));
            let costs = ["costDetails", "cost_details"].iter().find_map(|key| map.get(*key)?.get("total"));
            let costs = costs
                .or_else(|| present(map, &["calculatedTotalCost", "calculated_total_cost", "totalCost", "total_cost"]));
            spent(&mut attributes, usage, costs);
        }
        Some("AGENT") => {
            attributes.entry("gen_ai.operation.name").or_insert_with(|| "invoke_agent".into());
        }
        // Older exports show what a span is only in its attributes, or by its output.
        _ if super::otel::is_tool(name, &attributes) || is_of_tool(&output) => {
            failed |= tool(&mut attributes, name, input, output);
        }
        _ => {}
    }
    let mut span = plain_span(
        either(&["id"]),
        either(&["parentObservationId", "parent_observation_id"]),
        either(&["traceId", "trace_id"]),
        either(&["startTime", "start_time"]),
        either(&["endTime", "end_time"]),
    );
    span.insert("name".to_owned(), name.into());
    if failed {
        let message = either(&["statusMessage", "status_message"]).unwrap_or_default();
        span.insert("status".to_owned(), json!({ "code": "ERROR", "message": message }));
    }
    span.insert("attributes".to_owned(), Value::Object(attributes));
    span
}

/// The id of a run, or of the run that a patch is for, which is the last part of its `dotted_order`.
pub(super) fn run_id(map: &Map<String, Value>) -> Option<String> {
    let placed = || Some(text(map, "dotted_order")?.rsplit('.').next()?.rsplit_once('Z')?.1.to_owned());
    id(map.get("id")).or_else(placed).or_else(|| id(map.get("trace_id")).filter(|_| map.contains_key("outputs")))
}

/// A time of a run: a date-time, or a number of milliseconds, which is converted to nanoseconds.
fn moment(stamp: Option<Value>) -> Option<Value> {
    stamp.map(|stamp| match stamp.as_i64().and_then(|millis| millis.checked_mul(1_000_000)) {
        Some(nanos) => nanos.into(),
        None => stamp,
    })
}

pub(super) fn run(map: &Map<String, Value>) -> Map<String, Value> {
    let given = |key: &str| present(map, &[key]).cloned();
    let name = text(map, "name").unwrap_or_default();
    let [inputs, outputs] = ["inputs", "outputs"].map(|key| unpacked(map.get(key)));
    let mut attributes = Map::new();
    let mut failed = given("error").map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned));
    match text(map, "run_type") {
        Some("tool" | "retriever") => {
            let answer = alone(outputs, &["output", "outputs"]);
            if tool(&mut attributes, name, alone(inputs, &["input"]), answer) && failed.is_none() {
                failed = Some(String::new());
            }
        }
        Some("llm" | "chat_model") => {
            let usage = Usage::first([flat_usage(map).as_ref(), at(&outputs, &["llm_output", "token_usage"])]);
            let usage = if usage.is_nothing() { generated(&outputs) } else { usage };
            let extra = map.get("extra").and_then(|extra| extra.get("metadata"));
            let usage = if usage.is_nothing() {
                Usage::first([outputs.get("usage_metadata"), extra.and_then(|extra| extra.get("usage_metadata"))])
            } else {
                usage
            };
            spent(&mut attributes, usage, map.get("total_cost"));
            model(&mut attributes, inputs, outputs);
        }
        Some("agent") => {
            attributes.insert("gen_ai.operation.name".to_owned(), "invoke_agent".into());
        }
        _ => {}
    }
    let mut span = plain_span(
        run_id(map).map(Value::String),
        given("parent_run_id"),
        given("trace_id"),
        moment(given("start_time")),
        moment(given("end_time")),
    );
    span.insert("name".to_owned(), name.into());
    if failed.is_some() || text(map, "status") == Some("error") {
        span.insert("status".to_owned(), json!({ "code": "ERROR", "message": failed.unwrap_or_default() }));
    }
    span.insert("attributes".to_owned(), Value::Object(attributes));
    span
}

/// Token counts at the top level of a record.
fn flat_usage(map: &Map<String, Value>) -> Option<Value> {
    const COUNTS: [&str; 6] =
        ["prompt_tokens", "completion_tokens", "total_tokens", "promptTokens", "completionTokens", "totalTokens"];
    let counts = COUNTS.iter().filter_map(|key| Some(((*key).to_owned(), map.get(*key)?.clone())));
    Some(Value::Object(counts.collect()))
}

/// Usage from the messages that a model generated.
fn generated(outputs: &Value) -> Usage {
    let mut sum = Usage::default();
    let lists = outputs.get("generations").and_then(Value::as_array);
    for generation in lists.into_iter().flatten().flat_map(|inner| match inner {
        Value::Array(inner) => inner.as_slice(),
        one => core::slice::from_ref(one),
    }) {
        if let Some(Value::Object(message)) = generation.get("message") {
            sum.add(super::langchain::used(fields(message).1));
        }
    }
    sum
}

/// Records the usage of an answer under the names of the conventions.
fn spent(attributes: &mut Map<String, Value>, usage: Usage, cost: Option<&Value>) {
    if let Some(tokens) = usage.tokens {
        attributes.insert("gen_ai.usage.total_tokens".to_owned(), tokens.into());
    }
    if let Some(cost) = cost.filter(|cost| micros(Some(cost)).is_some()) {
        attributes.insert("gen_ai.usage.cost".to_owned(), cost.clone());
    }
}

fn plain_span(
    id: Option<Value>,
    parent: Option<Value>,
    trace: Option<Value>,
    start: Option<Value>,
    end: Option<Value>,
) -> Map<String, Value> {
    let fields =
        [("span_id", id), ("parent_id", parent), ("trace_id", trace), ("start_time", start), ("end_time", end)];
    fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// Records a tool call; whether its output is a tool message that says it failed.
fn tool(attributes: &mut Map<String, Value>, name: &str, input: Value, output: Value) -> bool {
    attributes.insert("gen_ai.operation.name".to_owned(), "execute_tool".into());
    attributes.entry("gen_ai.tool.name").or_insert_with(|| name.into());
    let (mut output, mut failed) = (output, false);
    if let Some((_, message)) = output.as_object().map(fields) {
        if let Some(call) = id(message.get("tool_call_id")) {
            attributes.insert("gen_ai.tool.call.id".to_owned(), call.into());
        }
        failed = text(message, "status") == Some("error");
        if let Some(content) = message.get("content").cloned() {
            output = content;
        }
    }
    for (key, value) in [("gen_ai.tool.call.arguments", input), ("gen_ai.tool.call.result", output)] {
        if !value.is_null() {
            attributes.entry(key).or_insert(value);
        }
    }
    failed
}

/// Whether a value is a tool message, so that its span is a tool's.
fn is_of_tool(value: &Value) -> bool {
    value.as_object().is_some_and(|map| {
        let (kind, message) = fields(map);
        kind.is_some_and(|kind| matches!(kind, "tool" | "ToolMessage")) && message.contains_key("tool_call_id")
    })
}

fn model(attributes: &mut Map<String, Value>, input: Value, output: Value) {
    attributes.insert("gen_ai.operation.name".to_owned(), "chat".into());
    for (key, role, value) in
        [("gen_ai.input.messages", "user", input), ("gen_ai.output.messages", "assistant", output)]
    {
        let messages = conversation(&value, role, 0);
        if !messages.is_empty() {
            attributes.entry(key).or_insert(Value::Array(messages));
        }
    }
}

/// Unpacks JSON that was encoded as text, once or twice.
fn unpacked(value: Option<&Value>) -> Value {
    let mut value = value.cloned().unwrap_or_default();
    for _ in 0..2 {
        match value.as_str().filter(|text| text.trim_start().starts_with(['{', '[', '"'])).map(json::value) {
            Some(Ok(inner)) => value = inner,
            _ => break,
        }
    }
    value
}

/// The value of an object's only key, if it has one of these names; otherwise the value itself.
fn alone(value: Value, names: &[&str]) -> Value {
    match &value {
        Value::Object(map) if map.len() == 1 => {
            names.iter().find_map(|name| map.get(*name)).map_or(value.clone(), |inner| unpacked(Some(inner)))
        }
        _ => value,
    }
}

/// The messages that a model was given or produced: in a list, or in the wrappers of APIs.
pub(super) fn conversation(value: &Value, role: &str, depth: u32) -> Vec<Value> {
    const WRAPPERS: [&str; 9] =
        ["messages", "input", "output", "choices", "generations", "message", "candidates", "content", "prompt"];
    if depth > DEPTH {
        return Vec::new();
    }
    match value {
        Value::String(said) if !said.trim().is_empty() => {
            alloc::vec![json!({ "role": role, "parts": [{ "type": "text", "content": said }] })]
        }
        Value::Array(items) => {
            // Parts of one message rather than messages.
            if !items.is_empty() && items.iter().all(is_part) {
                return message(&json!({ "role": role, "content": items }), role).into_iter().collect();
            }
            items.iter().flat_map(|item| conversation(item, role, depth + 1)).collect()
        }
        Value::Object(map) => {
            if let Some(message) = message(value, role) {
                return alloc::vec![message];
            }
            let Some(inner) = present(map, &WRAPPERS) else {
                return Vec::new();
            };
            let mut messages = Vec::new();
            if let Some(system) = map.get("system").filter(|_| role == "user") {
                messages.extend(conversation(system, "system", depth + 1));
            }
            messages.extend(conversation(inner, role, depth + 1));
            messages
        }
        _ => Vec::new(),
    }
}

fn is_part(value: &Value) -> bool {
    let Some(map) = value.as_object() else { return false };
    let role = map.contains_key("role") || map.contains_key("kwargs") || map.contains_key("data");
    let call = map.contains_key("toolCallId") && map.contains_key("toolName");
    let part = matches!(
        text(map, "type"),
        Some(
            "text"
                | "tool_use"
                | "tool_result"
                | "tool-call"
                | "tool-result"
                | "thinking"
                | "reasoning"
                | "image"
                | "function_call"
        )
    );
    !role && (call || part)
}

/// A message of any API in the shape of the conventions; `None` if it is not a message.
pub(super) fn message(value: &Value, role: &str) -> Option<Value> {
    let (kind, fields) = fields(value.as_object()?);
    let kind = kind.unwrap_or(role);
    let kind = kind.trim_end_matches("Chunk").trim_end_matches("Message").to_ascii_lowercase();
    let role = match kind.as_str() {
        "human" | "user" => "user",
        "system" | "developer" => "system",
        "tool" | "function" => "tool",
        "ai" | "assistant" | "model" | "agent" => "assistant",
        // LangChain messages that name the tool in place of the role.
        _ if fields.contains_key("additional_kwargs") && text(fields, "role").is_some() => "tool",
        _ => return None,
    };
    let own = fields.get("parts").or_else(|| fields.get("content"));
    // Some list the available tools among the messages.
    if role == "tool" && own.is_some_and(|own| text_at(own, &["type"]) == Some("function")) {
        return None;
    }
    let raw = fields.get("additional_kwargs").and_then(Value::as_object);
    let calls =
        [Some(fields), raw].into_iter().flatten().flat_map(|of| ["tool_calls", "toolCalls"].map(|key| list(of, key)));
    let calls = calls.into_iter().find(|calls| !calls.is_empty()).unwrap_or_default();
    if own.is_none() && calls.is_empty() && !fields.contains_key("function_call") {
        return None;
    }
    let mut parts: Vec<Value> = Vec::new();
    if role == "tool" {
        let answer = match own {
            Some(Value::Array(blocks)) => blocks.iter().filter_map(part).next().map_or(Value::Null, |part| {
                part.get("response").or_else(|| part.get("content")).cloned().unwrap_or(part)
            }),
            other => other.cloned().unwrap_or_default(),
        };
        let call = id(fields.get("tool_call_id")).or_else(|| id(fields.get("toolCallId"))).or_else(|| {
            let Some(Value::Array(blocks)) = own else { return None };
            blocks.iter().find_map(|block| id(part(block)?.get("id")))
        });
        let named = || own?.as_array()?.iter().find_map(|block| text_at(block, &["name"]));
        let of_role = || text(fields, "role").filter(|role| !matches!(*role, "tool" | "function"));
        let name = text(fields, "name").or_else(of_role).or_else(named);
        parts.push(json!({ "type": "tool_call_response", "id": call, "name": name, "response": answer }));
        return Some(json!({ "role": "tool", "parts": parts }));
    }
    match own {
        Some(Value::String(said)) if !said.is_empty() => parts.push(json!({ "type": "text", "content": said })),
        Some(Value::Array(blocks)) => parts.extend(blocks.iter().filter_map(part)),
        _ => {}
    }
    let called = parts.iter().any(|part| text_at(part, &["type"]) == Some("tool_call"));
    if !called {
        parts.extend(calls.iter().filter_map(call));
        parts.extend(present(fields, &["function_call"]).and_then(call));
    }
    (!parts.is_empty()).then(|| json!({ "role": role, "parts": parts }))
}

/// The role and the fields of a message, however it is wrapped.
fn fields(map: &Map<String, Value>) -> (Option<&str>, &Map<String, Value>) {
    if let (Some(Value::Object(fields)), Some(Value::Array(class))) = (map.get("kwargs"), map.get("id")) {
        return (class.last().and_then(Value::as_str), fields);
    }
    if let (Some(Value::Object(fields)), Some(kind)) = (map.get("data"), text(map, "type")) {
        return (Some(kind), fields);
    }
    if let Some(Value::Object(inner)) = map.get("message")
        && !map.contains_key("role")
        && !map.contains_key("content")
    {
        return fields(inner);
    }
    (text(map, "role").or_else(|| text(map, "type").filter(|kind| *kind != "message")), map)
}

/// A part of a message, in the shape of the conventions.
fn part(block: &Value) -> Option<Value> {
    if let Some(said) = block.as_str() {
        return Some(json!({ "type": "text", "content": said }));
    }
    let map = block.as_object()?;
    if let Some(Value::Object(inner)) = map.get("message_content") {
        return part(&Value::Object(inner.clone()));
    }
    let kind = text(map, "type").unwrap_or_default();
    let first = |keys: &[&str]| keys.iter().find_map(|key| map.get(*key)).cloned();
    match kind {
        "tool_call" | "tool_call_response" => Some(block.clone()),
        "tool_use" | "tool-call" | "function_call" => call(block),
        "tool_result" | "tool-result" | "function_call_output" => {
            let answer = first(&["content", "output", "result"]);
            let answer = match answer {
                Some(Value::Object(wrapped)) if wrapped.contains_key("value") => wrapped.get("value").cloned(),
                other => other,
            };
            let failed = flag(map, "is_error") || flag(map, "isError");
            let call = first(&["tool_use_id", "toolCallId", "call_id"]);
            Some(json!({ "type": "tool_call_response", "id": call, "response": answer, "is_error": failed }))
        }
        "thinking" | "reasoning" => {
            let thought =
                first(&["thinking", "reasoning", "content", "text"]).and_then(|thought| content_text(&thought))?;
            Some(json!({ "type": "reasoning", "content": thought }))
        }
        _ if map.contains_key("functionCall") || map.contains_key("function_call") => {
            call(map.get("functionCall").or_else(|| map.get("function_call"))?)
        }
        _ if map.contains_key("functionResponse") || map.contains_key("function_response") => {
            let answer = map.get("functionResponse").or_else(|| map.get("function_response"))?;
            let (call, response) = (answer.get("id"), answer.get("response"));
            Some(json!({ "type": "tool_call_response", "id": call, "response": response }))
        }
        _ => {
            let said = first(&["text", "content", "refusal"]).and_then(|said| content_text(&said))?;
            Some(json!({ "type": "text", "content": said }))
        }
    }
}

/// A tool call of any API, in the shape of the conventions.
fn call(value: &Value) -> Option<Value> {
    let value = value.get("tool_call").unwrap_or(value);
    let function = value.get("function").unwrap_or(value);
    let name = ["name", "toolName"].iter().find_map(|key| function.get(*key).or_else(|| value.get(*key)))?;
    let args = ["arguments", "args", "input"].iter().find_map(|key| function.get(*key).or_else(|| value.get(*key)));
    let id = ["call_id", "id", "toolCallId"].iter().find_map(|key| value.get(*key));
    Some(json!({ "type": "tool_call", "id": id, "name": name, "arguments": args }))
}

/// Attributes under a prefix with numbered names, such as `llm.input_messages.0.message.role`, as a list; or the list
/// at that path.
pub(super) fn listed(attributes: &Map<String, Value>, prefix: &str) -> Vec<Value> {
    let path: Vec<&str> = prefix.split('.').collect();
    if let Some((first, rest)) = path.split_first()
        && let Some(Value::Array(items)) = attributes.get(*first).and_then(|value| at(value, rest))
    {
        return items.clone();
    }
    let mut tree = Tree::default();
    for (key, value) in attributes {
        if let Some(rest) = key.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.')) {
            tree.put(rest, value, 0);
        }
    }
    match tree.value() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

/// Values by the components of their names.
#[derive(Default)]
struct Tree {
    value: Option<Value>,
    inside: BTreeMap<String, Tree>,
}

impl Tree {
    fn put(&mut self, path: &str, value: &Value, depth: u32) {
        match path.split_once('.') {
            Some((first, rest)) if depth < 16 => {
                self.inside.entry(first.to_owned()).or_default().put(rest, value, depth + 1);
            }
            _ => self.inside.entry(path.to_owned()).or_default().value = Some(value.clone()),
        }
    }

    fn value(self) -> Value {
        if let Some(value) = self.value {
            return value;
        }
        if self.inside.keys().all(|key| key.parse::<u32>().is_ok()) {
            let mut items: Vec<(u32, Tree)> =
                self.inside.into_iter().filter_map(|(key, tree)| Some((key.parse().ok()?, tree))).collect();
            items.sort_by_key(|(index, _)| *index);
            return items.into_iter().map(|(_, tree)| tree.value()).collect();
        }
        Value::Object(self.inside.into_iter().map(|(key, tree)| (key, tree.value())).collect())
    }
}
