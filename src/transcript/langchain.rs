//! LangChain messages: serialised by their constructors (`lc`, `id`, `kwargs`), stored (`type`, `data`) or plain;
//! alone, in lists, or in the state that LangGraph writes after each node.

use super::FormatReader;
use super::content::{self, failed, list, output_text, string, text, text_at, told};
use super::out::{Lists, Out, Part};
use super::pieces::Piece;
use super::usage::Usage;
use super::{langgraph, openai};
use crate::model::{Context, Outcome, Role, ToolResult};
use alloc::{borrow::ToOwned, format, string::String};
use serde_json::{Map, Value};

/// Keys of a state that are not nodes.
const NO_NODES: [&str; 6] = ["values", "channel_values", "data", "output", "input", "state"];

/// Reads messages, states and streams.
#[derive(Default)]
pub(super) struct Reader {
    stream: langgraph::Stream,
    states: langgraph::States,
}

impl FormatReader for Reader {
    fn document(&mut self, out: &mut Out, document: Piece<'_>) {
        if self.stream.document(out, document) || self.states.document(out, document) {
            return;
        }
        out.walk(document, Lists::All(&["messages"]), |out, part| {
            if let Part::Entry(map) = part {
                let context = out.context();
                entry(out, context, &map);
            }
        });
    }

    fn end(&mut self, out: &mut Out) {
        self.stream.end(out);
    }
}

pub(super) fn entry(out: &mut Out, context: Context, map: &Map<String, Value>) {
    if let (Some(Value::Object(fields)), Some(Value::Array(id))) = (map.get("kwargs"), map.get("id")) {
        let class = id.last().and_then(Value::as_str).unwrap_or_default();
        return message(out, context, class, fields);
    }
    match (map.get("type").or_else(|| map.get("role")), map.get("data")) {
        (Some(Value::String(kind)), Some(Value::Object(fields))) => message(out, context, kind, fields),
        (Some(Value::String(kind)), _) => message(out, context, kind, map),
        (None, _) if map.values().any(|node| node.get("messages").is_some()) => {
            for (name, node) in map {
                let Some(Value::Array(messages)) = node.get("messages") else { continue };
                let agent = (!NO_NODES.contains(&name.as_str())).then(|| name.clone());
                let context = Context { agent, ..context.clone() };
                let length = out.path.len();
                for (index, inner) in messages.iter().enumerate() {
                    out.path.push_str(&format!("{name}.messages[{index}]."));
                    match inner {
                        Value::Object(map) if !map.contains_key("messages") => entry_of_node(out, context.clone(), map),
                        other => out.fail("", "a message", Some(other)),
                    }
                    out.path.truncate(length);
                }
            }
        }
        (other, _) => out.fail("type", "the type of the message", other),
    }
}

/// A message in the state of a node, which cannot contain another state.
fn entry_of_node(out: &mut Out, context: Context, map: &Map<String, Value>) {
    if map.contains_key("type") || map.contains_key("role") || map.contains_key("kwargs") {
        entry(out, context, map);
    } else {
        out.fail("type", "the type of the message", None);
    }
}

fn message(out: &mut Out, mut context: Context, kind: &str, map: &Map<String, Value>) {
    let kind = match kind.trim_end_matches("Chunk").trim_end_matches("Message") {
        // These messages carry their role in a field.
        "Chat" | "chat" | "Generic" | "generic" => text(map, "role").unwrap_or_default(),
        kind => kind,
    };
    let content = map.get("content");
    match kind {
        "Human" | "human" | "user" => {
            out.end_round();
            out.said(&context, Role::User, "content", content);
        }
        "System" | "system" | "developer" => out.said(&context, Role::System, "content", content),
        "AI" | "ai" | "assistant" => {
            out.end_round();
            context.round = Some(out.round());
            if let Some(name) = text(map, "name") {
                context.agent = Some(name.to_owned());
            }
            out.spends(&context, used(map));
            let raw = map.get("additional_kwargs").unwrap_or(&Value::Null);
            out.reasoning(&context, text_at(raw, &["reasoning_content"]));
            said(out, &context, content);
            calls(out, &context, map);
        }
        "Tool" | "tool" | "Function" | "function" => {
            out.end_round();
            result(out, &context, map);
        }
        _ => {}
    }
}

/// Usage of an answer, in LangChain's form or the provider's.
pub(super) fn used(map: &Map<String, Value>) -> Usage {
    const OF_PROVIDER: [&str; 5] = ["token_usage", "tokenUsage", "usage", "usage_metadata", "estimatedTokenUsage"];
    let metadata = map.get("response_metadata").unwrap_or(&Value::Null);
    Usage::first(core::iter::once(map.get("usage_metadata")).chain(OF_PROVIDER.iter().map(|key| metadata.get(*key))))
}

/// Text and reasoning; calls are listed outside the content.
fn said(out: &mut Out, context: &Context, content: Option<&Value>) {
    let Some(Value::Array(blocks)) = content else {
        return out.said(context, Role::Assistant, "content", content);
    };
    for block in blocks {
        let thought = ["thinking", "reasoning"].iter().find_map(|key| block.get(*key)?.as_str());
        match content::block_text(block) {
            Some("") => {}
            Some(text) => out.message(context, Role::Assistant, None, text),
            None => out.reasoning(context, thought),
        }
    }
}

fn calls(out: &mut Out, context: &Context, map: &Map<String, Value>) {
    // The provider's raw calls are kept beside the parsed ones; they are used only if there are none of those.
    match map.get("additional_kwargs") {
        Some(Value::Object(raw))
            if list(map, "tool_calls").is_empty() && list(map, "invalid_tool_calls").is_empty() =>
        {
            openai::calls(out, context, raw);
        }
        _ => openai::calls(out, context, map),
    }
    for call in list(map, "invalid_tool_calls") {
        // A call without a name cannot be told from others.
        if let Some(name) = call.get("name").and_then(Value::as_str) {
            out.call(context, name.to_owned(), call.get("args"), content::id(call.get("id")));
        }
    }
}

fn result(out: &mut Out, context: &Context, map: &Map<String, Value>) {
    let output = output_text(map.get("content"));
    let outcome = match text(map, "status") {
        Some("error") => failed(&output),
        _ => map.get("content").map_or(Outcome::Ok, told),
    };
    let (call_id, tool) = (content::id(map.get("tool_call_id")), string(map, "name"));
    out.result(context, ToolResult { call_id, tool, outcome, output, ..ToolResult::default() });
}
