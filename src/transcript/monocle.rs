//! Monocle spans: `span.type` says what a span is, `entity.1.name` names the tool, and the events hold input and
//! output.

use super::content::text_at;
use super::otel::{attributes, lookup};
use crate::json;
use alloc::{borrow::ToOwned, string::String, vec::Vec};
use serde_json::{Map, Value, json};

/// What LangGraph passes to a tool besides its arguments: the whole conversation.
const INJECTED: &str = ", 'runtime': ToolRuntime(";

/// The kind of a span, in the words of the GenAI conventions.
pub(super) fn kind(attributes: &Map<String, Value>) -> Option<&'static str> {
    match lookup(attributes, "span.type")?.as_str()? {
        "agentic.tool.invocation" | "agentic.mcp.invocation" => Some("execute_tool"),
        // A framework's request to a model; the span below it is the same request at the model's API.
        "inference" | "inference.framework" => Some("chat"),
        "agentic.invocation" => Some("invoke_agent"),
        _ => None,
    }
}

/// Adds the contents of the events as GenAI attributes.
pub(super) fn complete(attributes_of: &mut Map<String, Value>, events: &[Value]) {
    let Some(kind) = kind(attributes_of) else { return };
    let told = |name: &str, key: &str| {
        let event = events.iter().find(|event| text_at(event, &["name"]) == Some(name))?;
        attributes(event.get("attributes")).get(key).cloned()
    };
    let (input, output) = (told("data.input", "input"), told("data.output", "response"));
    let mut note = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            attributes_of.entry(key).or_insert(value);
        }
    };
    if kind == "execute_tool" {
        note("gen_ai.tool.call.arguments", input.map(own));
        note("gen_ai.tool.call.result", output);
        let name = lookup(attributes_of, "entity.1.name").cloned();
        if let Some(name) = name {
            attributes_of.entry("gen_ai.tool.name").or_insert(name);
        }
        return;
    }
    if kind == "chat" {
        note("gen_ai.usage.total_tokens", told("metadata", "total_tokens"));
    }
    note("gen_ai.input.messages", input.map(|input| messages(&input, "user")));
    note("gen_ai.output.messages", output.map(|output| messages(&output, "assistant")));
}

/// Arguments without what the framework added.
fn own(input: Value) -> Value {
    match input {
        Value::String(text) => match text.split_once(INJECTED) {
            Some((own, _)) => Value::String([own, "}"].concat()),
            None => Value::String(text),
        },
        other => other,
    }
}

/// Messages, each the text of an object with its role as the only key.
fn messages(told: &Value, role: &str) -> Value {
    let one = |text: &str| -> Vec<Value> {
        match json::value(text) {
            Ok(Value::Object(said)) => {
                said.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
            }
            Ok(Value::Array(said)) => said.iter().filter_map(Value::as_str).map(|said| plain(role, said)).collect(),
            _ => alloc::vec![plain(role, text)],
        }
    };
    match told {
        Value::Array(all) => all.iter().filter_map(Value::as_str).flat_map(one).collect(),
        Value::String(text) => Value::Array(one(text)),
        _ => Value::Array(Vec::new()),
    }
}

fn plain(role: &str, said: &str) -> Value {
    json!({ "role": role.to_owned(), "content": String::from(said) })
}
