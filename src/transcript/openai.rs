//! OpenAI's chat-completions messages and Responses items, one a line or in a document; and the rollout files of Codex,
//! whose lines wrap such items.
//!
//! Neither form tells whether a tool failed, so an output that begins as errors do counts as one.

use super::content::{self, code, list, number_after, output_text, text, text_at, told};
use super::out::{Lists, Out, Part};
use super::pieces::Piece;
use crate::json;
use crate::model::{Context, HostKind, Outcome, Role, ToolResult};
use alloc::{borrow::ToOwned, string::String};
use serde_json::{Map, Value};

/// What user messages of Codex that no human wrote begin with.
const SYNTHETIC: [&str; 4] =
    ["<user_instructions>", "<environment_context>", "<turn_aborted>", "# AGENTS.md instructions for "];

/// Fields of an item of a built-in tool that are not its arguments.
const NO_ARGUMENTS: [&str; 8] = ["type", "id", "call_id", "status", "results", "outputs", "result", "output"];

pub(super) fn read(out: &mut Out, document: Piece<'_>) {
    out.walk(document, Lists::All(&["messages", "items", "input", "output", "choices"]), |out, part| match part {
        Part::Head(map) => {
            let context = out.context();
            out.said(&context, Role::System, "instructions", map.get("instructions"));
            // The input of a request may be a plain text.
            out.said(&context, Role::User, "input", map.get("input"));
        }
        Part::Entry(map) => {
            let context = out.context();
            entry(out, context, &map);
        }
    });
}

fn entry(out: &mut Out, mut context: Context, map: &Map<String, Value>) {
    if let Some(Value::Object(message)) = map.get("message")
        && !map.contains_key("role")
    {
        return self::message(out, context, message);
    }
    if let Some(Value::Object(payload)) = map.get("payload") {
        context.at = out.time("timestamp", map.get("timestamp"));
        return rollout(out, context, text(map, "type").unwrap_or_default(), payload);
    }
    match (map.get("type"), map.get("role")) {
        (Some(Value::String(kind)), _) if kind != "message" && !map.contains_key("role") => {
            item(out, context, kind, map)
        }
        (_, Some(Value::String(_))) => message(out, context, map),
        (_, other) => out.fail("role", "the role of the message", other),
    }
}

/// A line of a Codex rollout.
fn rollout(out: &mut Out, context: Context, kind: &str, payload: &Map<String, Value>) {
    match kind {
        "session_meta" => out.run = content::id(payload.get("id")),
        "response_item" => entry(out, context, payload),
        "compacted" => out.host(&context, HostKind::Compaction, None),
        "event_msg" if text(payload, "type") == Some("turn_aborted") => {
            out.host(&context, HostKind::Intervention, Some("interrupt"));
        }
        _ => {}
    }
}

/// A message of either form.
fn message(out: &mut Out, mut context: Context, map: &Map<String, Value>) {
    let content = map.get("content");
    match text(map, "role").unwrap_or_default() {
        "user" => {
            out.end_round();
            let starts = |text: &str| SYNTHETIC.iter().any(|start| text.trim_start().starts_with(start));
            let first = content.and_then(|content| content::block_text(content.get(0).unwrap_or(content)));
            context.synthetic = first.is_some_and(starts);
            out.said(&context, Role::User, "content", content);
        }
        "system" | "developer" => out.said(&context, Role::System, "content", content),
        "assistant" => {
            // In a list of items a turn ends with its results; a message of the other form is a turn.
            if map.get("type").is_none() {
                out.end_round();
            }
            context.round = Some(out.round());
            context.agent = text(map, "name").map(str::to_owned);
            out.reasoning(&context, text(map, "reasoning_content").or_else(|| text(map, "reasoning")));
            out.said(&context, Role::Assistant, "content", content);
            out.said(&context, Role::Assistant, "refusal", map.get("refusal"));
            calls(out, &context, map);
        }
        "tool" | "function" => {
            out.end_round();
            let call_id = content::id(map.get("tool_call_id"));
            result(out, &context, call_id, text(map, "name"), content);
        }
        _ => {}
    }
}

/// The calls of an assistant message.
pub(super) fn calls(out: &mut Out, context: &Context, map: &Map<String, Value>) {
    for call in list(map, "tool_calls") {
        let [function, custom] = ["function", "custom"].map(|key| call.get(key));
        match function.or(custom).and_then(|of| of.get("name")).or_else(|| call.get("name")) {
            Some(Value::String(name)) => {
                let args = function.and_then(|function| function.get("arguments"));
                let args = args.or_else(|| custom?.get("input")).or_else(|| call.get("args"));
                let args = args.or_else(|| call.get("arguments"));
                out.call(context, name.clone(), args, content::id(call.get("id")));
            }
            other => out.fail("tool_calls", "calls with the name of a function", other),
        }
    }
    if let Some(call) = map.get("function_call").filter(|call| !call.is_null()) {
        match text_at(call, &["name"]) {
            Some(name) => out.call(context, name.to_owned(), call.get("arguments"), None),
            None => out.fail("function_call.name", "the name of a function", call.get("name")),
        }
    }
}

/// An item that is no message.
fn item(out: &mut Out, mut context: Context, kind: &str, map: &Map<String, Value>) {
    let call_id = content::id(map.get("call_id")).or_else(|| content::id(map.get("id")));
    if kind.ends_with("_call_output") {
        out.end_round();
        return result(out, &context, call_id, None, map.get("output"));
    }
    match kind {
        "reasoning" => {
            context.round = Some(out.round());
            for part in list(map, "summary").iter().chain(list(map, "content")) {
                out.reasoning(&context, content::block_text(part));
            }
        }
        "function_call" | "custom_tool_call" | "mcp_call" => match map.get("name") {
            Some(Value::String(name)) => {
                context.round = Some(out.round());
                let args = map.get("arguments").or_else(|| map.get("input"));
                out.call(&context, name.clone(), args, call_id.clone());
                if kind == "mcp_call" {
                    answered(out, &context, call_id, map);
                }
            }
            other => out.fail("name", "the name of a function", other),
        },
        "compaction" => out.host(&context, HostKind::Compaction, None),
        _ => {
            let Some(tool) = kind.strip_suffix("_call") else { return };
            context.round = Some(out.round());
            let mut args = map.clone();
            args.retain(|key, _| !NO_ARGUMENTS.contains(&key.as_str()));
            // Only the action, where there is one: what stands beside it is the host's.
            let args = args.remove("action").unwrap_or(Value::Object(args));
            out.call(&context, tool.to_owned(), Some(&args), call_id.clone());
            answered(out, &context, call_id, map);
        }
    }
}

/// The result that some calls carry themselves.
fn answered(out: &mut Out, context: &Context, call_id: Option<String>, map: &Map<String, Value>) {
    let error = map.get("error").filter(|error| !error.is_null());
    let output = ["output", "results", "outputs", "result"].iter().find_map(|key| map.get(*key));
    let status = text(map, "status");
    if error.is_none() && output.is_none_or(Value::is_null) && status != Some("failed") {
        return;
    }
    let outcome = if error.is_some() || status == Some("failed") { Outcome::Error } else { Outcome::Ok };
    let output = output_text(error.or(output));
    out.result(
        &Context { round: None, ..context.clone() },
        ToolResult { call_id, outcome, output, ..ToolResult::default() },
    );
}

/// What a tool answered. Shells answer in two forms that tell the exit code.
fn result(out: &mut Out, context: &Context, call_id: Option<String>, tool: Option<&str>, output: Option<&Value>) {
    let shell =
        output.and_then(Value::as_str).filter(|text| text.starts_with('{')).and_then(|text| json::value(text).ok());
    let shell_code = shell.as_ref().and_then(|shell| code(content::at(shell, &["metadata", "exit_code"])));
    let result = match (shell.as_ref().and_then(|shell| text_at(shell, &["output"])), shell_code) {
        (Some(output), Some(_)) => {
            ToolResult { output: output.to_owned(), exit_code: shell_code, ..ToolResult::default() }
        }
        _ => {
            let text = output_text(output);
            let exit_code =
                ["Exit code", "Process exited with code"].iter().find_map(|label| number_after(&text, label));
            ToolResult { outcome: output.map_or(Outcome::Ok, told), exit_code, output: text, ..ToolResult::default() }
        }
    };
    out.result(context, ToolResult { call_id, tool: tool.map(str::to_owned), ..result });
}
