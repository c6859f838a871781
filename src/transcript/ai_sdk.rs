//! Messages of Vercel's AI SDK: UI messages, whose `parts` hold calls together with their results, and model messages,
//! with separate calls and results in `content`.

use super::content::{content_text, failed, flag, is_true, list, output_text, text, text_at, told};
use super::out::{Lists, Out, Part};
use super::pieces::Piece;
use super::usage::Usage;
use super::{FormatReader, ai_sdk_stream, devtools};
use crate::model::{Context, Outcome, Role, ToolResult};
use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use serde_json::{Map, Value};

/// Reads messages, and the parts that they are streamed in.
#[derive(Default)]
pub(super) struct Reader {
    stream: ai_sdk_stream::Stream,
}

impl FormatReader for Reader {
    fn document(&mut self, out: &mut Out, document: Piece<'_>) {
        if devtools::read(out, document) {
            return;
        }
        out.walk(document, Lists::All(&["messages"]), |out, part| match part {
            Part::Head(map) => {
                out.said(&out.context(), Role::System, "system", map.get("system"));
            }
            Part::Entry(map) if self.stream.piece(out, &map) => {}
            Part::Entry(map) => message(out, &map),
        });
    }

    fn end(&mut self, out: &mut Out) {
        self.stream.end(out);
    }
}

/// A message wrapped in a record by the program that stores it.
pub(super) fn kept(map: &Map<String, Value>) -> Option<&Map<String, Value>> {
    map.get("message")?.as_object().filter(|message| !map.contains_key("role") && message.contains_key("role"))
}

pub(super) fn message(out: &mut Out, map: &Map<String, Value>) {
    if let Some(inner) = kept(map) {
        return message(out, inner);
    }
    let mut context = out.context();
    context.at = out.time("createdAt", map.get("createdAt"));
    let role = match map.get("role") {
        Some(Value::String(role)) => role.as_str(),
        other => return out.fail("role", "the role of the message", other),
    };
    out.end_round();
    let (field, content) = match map.get("parts") {
        Some(parts) => ("parts", Some(parts)),
        None => ("content", map.get("content")),
    };
    match role {
        "user" => said(out, &context, Role::User, field, content),
        "system" => said(out, &context, Role::System, field, content),
        "assistant" | "tool" => {
            out.spends(&context, used(map));
            match content {
                Some(Value::Array(parts)) => assistant(out, context.clone(), field, parts),
                content => {
                    context.round = Some(out.round());
                    out.said(&context, Role::Assistant, field, content);
                }
            }
            // Before version 5, calls could be listed beside the text.
            if field == "content" {
                invocations(out, &mut context, map);
            }
        }
        _ => {}
    }
}

/// Usage of a message, which programs store in its metadata.
fn used(map: &Map<String, Value>) -> Usage {
    let metadata = map.get("metadata").unwrap_or(&Value::Null);
    let within = ["totalUsage", "usage", "tokens"].iter().map(|key| metadata.get(*key));
    Usage::first(core::iter::once(map.get("usage")).chain(within).chain([Some(metadata)]))
}

/// A text by a person or the host; of a list of parts, only texts and files.
fn said(out: &mut Out, context: &Context, role: Role, field: &str, content: Option<&Value>) {
    match content {
        Some(Value::Array(parts)) => {
            let shown = |part: &&Value| matches!(text_at(part, &["type"]), Some("text" | "file" | "image"));
            let parts: Vec<Value> = parts.iter().filter(shown).cloned().collect();
            if let Some(text) = content_text(&Value::Array(parts)).filter(|text| !text.is_empty()) {
                out.message(context, role, None, text);
            }
        }
        content => out.said(context, role, field, content),
    }
}

/// The parts of one message: for each step the calls first, then their results.
fn assistant(out: &mut Out, context: Context, field: &str, parts: &[Value]) {
    let mut results = Vec::new();
    let mut called = context.clone();
    called.round = Some(out.round());
    for (index, part) in parts.iter().enumerate() {
        let kind = match part.get("type") {
            Some(Value::String(kind)) => kind.as_str(),
            _ => {
                out.fail(&format!("{field}[{index}]"), "a part with a type", Some(part));
                continue;
            }
        };
        match kind {
            "step-start" => {
                answer(out, &context, &mut results);
                if index > 0 {
                    out.end_round();
                }
                called.round = Some(out.round());
            }
            "text" => out.said(&called, Role::Assistant, &format!("{field}[{index}].text"), part.get("text")),
            "reasoning" => out.reasoning(&called, text_at(part, &["text"]).or_else(|| text_at(part, &["reasoning"]))),
            "tool-call" => {
                let name = part.get("toolName");
                call(out, &called, &format!("{field}[{index}].toolName"), name, part);
            }
            "tool-result" => results.extend(result(part)),
            "tool-approval-request" | "tool-approval-response" => {}
            "tool-invocation" => {
                if let Some(Value::Object(invocation)) = part.get("toolInvocation") {
                    results.extend(invoked(out, &called, invocation));
                }
            }
            "dynamic-tool" => results.extend(ui_tool(out, &called, index, part.get("toolName"), part)),
            _ => {
                if let Some(tool) = kind.strip_prefix("tool-") {
                    results.extend(ui_tool(out, &called, index, Some(&Value::String(tool.to_owned())), part));
                }
            }
        }
    }
    answer(out, &context, &mut results);
}

fn answer(out: &mut Out, context: &Context, results: &mut Vec<ToolResult>) {
    for result in results.drain(..) {
        out.result(context, result);
    }
}

fn call(out: &mut Out, context: &Context, field: &str, name: Option<&Value>, part: &Value) -> bool {
    let Some(Value::String(tool)) = name else {
        out.fail(field, "the name of a tool", name);
        return false;
    };
    let args = ["input", "rawInput", "args"].iter().find_map(|key| part.get(*key).filter(|args| !args.is_null()));
    out.call(context, tool.clone(), args, call_id(part));
    true
}

fn call_id(part: &Value) -> Option<String> {
    text_at(part, &["toolCallId"]).map(str::to_owned)
}

/// A call in a UI message; returns its result, if there is one yet.
fn ui_tool(out: &mut Out, context: &Context, index: usize, name: Option<&Value>, part: &Value) -> Option<ToolResult> {
    let state = text_at(part, &["state"]).unwrap_or_default();
    // A call whose arguments are still being streamed is not complete.
    if state == "input-streaming" || !call(out, context, &format!("parts[{index}].toolName"), name, part) {
        return None;
    }
    let refused = part.get("approval").is_some_and(|approval| approval.get("approved") == Some(&Value::Bool(false)));
    let (outcome, output) = match state {
        "output-available" if is_true(part, "preliminary") => return None,
        "output-available" => (part.get("output").map_or(Outcome::Ok, told), output_text(part.get("output"))),
        "output-error" => {
            let text = text_at(part, &["errorText"]).unwrap_or_default();
            (failed(text), text.to_owned())
        }
        "output-denied" | "approval-responded" if refused || state == "output-denied" => {
            (Outcome::Denied, text_at(part, &["approval", "reason"]).unwrap_or_default().to_owned())
        }
        _ => return None,
    };
    Some(ToolResult { call_id: call_id(part), outcome, output, ..ToolResult::default() })
}

/// A result in a model message.
fn result(part: &Value) -> Option<ToolResult> {
    let output = part.get("output").or_else(|| part.get("result"))?;
    let value = output.get("value");
    let (outcome, output) = match (text_at(output, &["type"]), value) {
        (Some("error-text" | "error-json"), value) => {
            let text = output_text(value);
            (failed(&text), text)
        }
        (Some("execution-denied"), _) => (Outcome::Denied, text_at(output, &["reason"]).unwrap_or_default().to_owned()),
        (Some("text" | "json" | "content"), Some(value)) => (told(value), output_text(Some(value))),
        _ if is_true(part, "isError") => (Outcome::Error, output_text(Some(output))),
        _ => (told(output), output_text(Some(output))),
    };
    let tool = text_at(part, &["toolName"]).map(str::to_owned);
    Some(ToolResult { call_id: call_id(part), tool, outcome, output, ..ToolResult::default() })
}

/// Version 4 calls, listed beside the text of a message.
fn invocations(out: &mut Out, context: &mut Context, map: &Map<String, Value>) {
    let mut results = Vec::new();
    context.round = Some(out.round());
    for invocation in list(map, "toolInvocations") {
        match invocation {
            Value::Object(invocation) => results.extend(invoked(out, context, invocation)),
            other => out.fail("toolInvocations", "objects", Some(other)),
        }
    }
    context.round = None;
    answer(out, context, &mut results);
}

/// A version 4 call; returns its result, if there is one yet.
fn invoked(out: &mut Out, context: &Context, invocation: &Map<String, Value>) -> Option<ToolResult> {
    let state = text(invocation, "state");
    let part = Value::Object(invocation.clone());
    if state == Some("partial-call")
        || !call(out, context, "toolInvocation.toolName", invocation.get("toolName"), &part)
    {
        return None;
    }
    if state != Some("result") {
        return None;
    }
    let outcome =
        if flag(invocation, "isError") { Outcome::Error } else { invocation.get("result").map_or(Outcome::Ok, told) };
    let output = output_text(invocation.get("result"));
    Some(ToolResult { call_id: call_id(&part), outcome, output, ..ToolResult::default() })
}
