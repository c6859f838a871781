//! OpenAI's chat-completions messages and Responses items, one per line or in a document, and the rollout files of
//! Codex, whose lines wrap such items.
//!
//! Neither form says whether a tool failed, so an output that begins like an error counts as one.

use super::content::{self, begins, code, list, number_after, output_text, present, string, text, text_at, told};
use super::out::{Lists, Out, Part};
use super::pieces::Piece;
use super::usage::Usage;
use super::{FormatReader, codex_exec, openai_chunks};
use crate::json;
use crate::model::{Context, HostKind, Outcome, Role, ToolResult};
use alloc::{borrow::ToOwned, collections::BTreeSet, format, string::String};
use serde_json::{Map, Value, json};

/// Beginnings of Codex user messages that no human wrote.
const SYNTHETIC: [&str; 4] =
    ["<user_instructions>", "<environment_context>", "<turn_aborted>", "# AGENTS.md instructions for "];

/// Fields of a built-in tool's item that are not its arguments.
const NO_ARGUMENTS: [&str; 8] = ["type", "id", "call_id", "status", "results", "outputs", "result", "output"];

/// Lists of messages and items in requests, responses and records of runs.
const LISTS: [&str; 6] = ["messages", "items", "input", "output", "choices", "traj"];

/// Reads messages and items.
#[derive(Default)]
pub(super) struct Reader {
    /// Ids of items already streamed; the end of a stream repeats all of them.
    told: BTreeSet<String>,
    /// Usage of the answer in a document.
    answer: Usage,
    /// Usage of a Codex session so far, by its own count.
    session: Option<Usage>,
    /// Items printed by `codex exec --json`.
    exec: codex_exec::Items,
    chunks: openai_chunks::Chunks,
}

impl FormatReader for Reader {
    fn document(&mut self, out: &mut Out, document: Piece<'_>) {
        if document.is_object()
            && let Some(map) = chunk(document)
        {
            for (message, usage) in self.chunks.take(&map) {
                out.line = document.line;
                whole(out, &message, usage);
            }
            return;
        }
        out.walk(document, Lists::All(&LISTS), |out, part| match part {
            Part::Head(map) => {
                let context = out.context();
                out.said(&context, Role::System, "instructions", map.get("instructions"));
                // The input of a request may be plain text.
                out.said(&context, Role::User, "input", map.get("input"));
                self.answer = Usage::of(map.get("usage"));
                if text(&map, "object") == Some("response") {
                    out.spends(&context, core::mem::take(&mut self.answer));
                }
            }
            Part::Entry(map) => match text(&map, "type").and_then(|kind| kind.strip_prefix("response.")) {
                Some(kind) => self.streamed(out, kind, &map),
                None if self.exec.takes(&map) => {
                    if let Some(item) = self.exec.line(out, &map) {
                        let context = out.context();
                        entry(out, context, item);
                    }
                }
                None if openai_chunks::is_one(&map) => {
                    for (message, usage) in self.chunks.take(&map) {
                        whole(out, &message, usage);
                    }
                }
                None => {
                    let context = out.context();
                    if is_choice(&map) {
                        out.spends(&context, core::mem::take(&mut self.answer));
                    }
                    self.counted(out, &context, &map);
                    entry(out, context, &map);
                }
            },
        });
        // Usage beside a conversation is that of all of it.
        out.spent_in_all(out.run.clone(), core::mem::take(&mut self.answer));
    }

    fn end(&mut self, out: &mut Out) {
        for (message, usage) in self.chunks.end() {
            whole(out, &message, usage);
        }
    }
}

/// A document that is a streamed chunk; its choices are not entries.
fn chunk(document: Piece<'_>) -> Option<Map<String, Value>> {
    let choices = || document.inside().pieces.into_iter().find(|(key, piece)| *key == "choices" && piece.is_list());
    (document.text.contains("\"delta\"") || document.text.contains("chat.completion.chunk"))
        .then(choices)?
        .and_then(|_| document.object().ok())
        .filter(openai_chunks::is_one)
}

/// A streamed answer, now complete.
fn whole(out: &mut Out, answer: &Map<String, Value>, usage: Usage) {
    out.path.clear();
    let context = out.context();
    out.spends(&context, usage);
    message(out, context, answer);
}

/// Whether an entry is a chat model's answer in the wrapper of its API.
fn is_choice(map: &Map<String, Value>) -> bool {
    map.get("message").is_some_and(Value::is_object) && !map.contains_key("role")
}

impl Reader {
    /// Codex reports usage after each answer, both of the answer and of the session so far, and repeats it whenever
    /// anything else about it changes.
    fn counted(&mut self, out: &mut Out, context: &Context, map: &Map<String, Value>) {
        let Some(Value::Object(count)) = map.get("payload") else { return };
        if text(count, "type") != Some("token_count") {
            return;
        }
        let of_info = |key: &str| Usage::of(count.get("info").and_then(|info| info.get(key)));
        let session = of_info("total_token_usage");
        let mut last = of_info("last_token_usage");
        if last.is_nothing() && session.is_nothing() {
            last = Usage::of(map.get("payload"));
        }
        let usage = match &mut self.session {
            _ if session.is_nothing() => last,
            // A session that continues another begins with that one's count.
            None if !last.is_nothing() => {
                self.session = Some(session);
                last
            }
            told => session.beyond(told.get_or_insert_default()),
        };
        out.spent(context, usage);
    }

    /// An event of a Responses stream.
    fn streamed(&mut self, out: &mut Out, kind: &str, map: &Map<String, Value>) {
        let items = match kind {
            "completed" | "incomplete" | "failed" => map.get("response").and_then(|response| response.get("output")),
            "output_item.done" => map.get("item"),
            _ => None,
        };
        let items = match items {
            Some(Value::Array(items)) => items.as_slice(),
            Some(item) => core::slice::from_ref(item),
            None => return,
        };
        let response = map.get("response").filter(|_| kind != "output_item.done");
        out.spent(&out.context(), Usage::of(response.and_then(|response| response.get("usage"))));
        for item in items {
            let context = out.context();
            match item {
                Value::Object(item) => {
                    if content::id(item.get("id")).is_none_or(|id| self.told.insert(id)) {
                        entry(out, context, item);
                    }
                }
                other => out.fail("item", "an item", Some(other)),
            }
        }
    }
}

fn entry(out: &mut Out, mut context: Context, map: &Map<String, Value>) {
    if let Some(Value::Object(message)) = map.get("message")
        && is_choice(map)
    {
        out.spends(&context, Usage::of(map.get("usage")));
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
            let first = content.and_then(|content| content::block_text(content.get(0).unwrap_or(content)));
            context.synthetic = first.is_some_and(|text| begins(text.trim_start(), &SYNTHETIC));
            out.said(&context, Role::User, "content", content);
        }
        "system" | "developer" => out.said(&context, Role::System, "content", content),
        "assistant" => {
            // In a list of items a turn ends with its results; in the other form each message is a turn.
            if map.get("type").is_none() {
                out.end_round();
            }
            context.round = Some(out.round());
            context.agent = string(map, "name");
            out.spends(&context, Usage::of(map.get("usage")));
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
    if let Some(other) = present(map, &["tool_calls"]).filter(|calls| !calls.is_array()) {
        out.fail("tool_calls", "a list of calls", Some(other));
    }
    for (index, call) in list(map, "tool_calls").iter().enumerate() {
        let [function, custom] = ["function", "custom"].map(|key| call.get(key));
        match function.or(custom).and_then(|of| of.get("name")).or_else(|| call.get("name")) {
            Some(Value::String(name)) => {
                let args = function.and_then(|function| function.get("arguments"));
                let args = args.or_else(|| custom?.get("input")).or_else(|| call.get("args"));
                let args = args.or_else(|| call.get("arguments"));
                out.call(context, name.clone(), args, content::id(call.get("id")));
            }
            other => out.fail(&format!("tool_calls[{index}].function.name"), "the name of a function", other),
        }
    }
    if let Some(call) = present(map, &["function_call"]) {
        match text_at(call, &["name"]) {
            Some(name) => out.call(context, name.to_owned(), call.get("arguments"), None),
            None => out.fail("function_call.name", "the name of a function", call.get("name")),
        }
    }
}

/// An item that is not a message.
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
            // If there is an action, only that: what is beside it is the host's.
            let args = args.remove("action").unwrap_or(Value::Object(args));
            // Rollouts omit the ids of such items; the answer is in the item itself.
            let answered_here = call_id.is_none() && text(map, "status") == Some("completed");
            let call_id = call_id.or_else(|| answered_here.then(|| format!("{kind}:{}", out.count())));
            out.call(&context, tool.to_owned(), Some(&args), call_id.clone());
            if !answered(out, &context, call_id.clone(), map)
                && text(map, "status") == Some("completed")
                && kind != "local_shell_call"
                && kind != "computer_call"
            {
                // What it found was not recorded, so the result must differ from all others.
                let details = Some(json!({ "item": out.count() }));
                let context = Context { round: None, ..context };
                out.result(&context, ToolResult { call_id, details, ..ToolResult::default() });
                // The vendor ran it before the model continued.
                out.end_round();
            }
        }
    }
}

/// The result that some call items carry themselves; false if there is none.
fn answered(out: &mut Out, context: &Context, call_id: Option<String>, map: &Map<String, Value>) -> bool {
    let error = present(map, &["error"]);
    let output = ["output", "results", "outputs", "result"].iter().find_map(|key| map.get(*key));
    let status = text(map, "status");
    if error.is_none() && output.is_none_or(Value::is_null) && status != Some("failed") {
        return false;
    }
    let outcome = if error.is_some() || status == Some("failed") { Outcome::Error } else { Outcome::Ok };
    let output = output_text(error.or(output));
    out.result(
        &Context { round: None, ..context.clone() },
        ToolResult { call_id, outcome, output, ..ToolResult::default() },
    );
    true
}

/// The outcome of a call that Codex did not carry out, from its wording.
fn not_carried_out(output: &str) -> Option<Outcome> {
    let text = output.trim_start();
    let starts = |with: &[&str]| begins(text, with);
    if starts(&["aborted by user", "aborted", "interrupted by user", "turn aborted"]) {
        Some(Outcome::NotExecuted)
    } else if starts(&[
        "patch rejected",
        "exec command rejected",
        "command rejected",
        "rejected by user",
        "user rejected",
        "user cancelled MCP tool call",
        "approval denied",
        "denied by user",
    ]) {
        Some(Outcome::Denied)
    } else if starts(&["unsupported call:", "unsupported custom tool call:"]) {
        Some(Outcome::UnknownTool)
    } else if starts(&["failed to parse function arguments", "failed to parse exec", "invalid arguments"]) {
        Some(Outcome::Invalid)
    } else if starts(&[
        "apply_patch verification failed",
        "execution error:",
        "failed to ",
        "exec_command failed",
        "write_stdin failed",
    ]) {
        Some(Outcome::Error)
    } else {
        None
    }
}

/// The output of a tool. Shell outputs carry the exit code in one of two forms.
fn result(out: &mut Out, context: &Context, call_id: Option<String>, tool: Option<&str>, output: Option<&Value>) {
    let shell =
        output.and_then(Value::as_str).filter(|text| text.starts_with('{')).and_then(|text| json::value(text).ok());
    let shell_code = shell.as_ref().and_then(|shell| code(content::at(shell, &["metadata", "exit_code"])));
    let result = match (shell.as_ref().and_then(|shell| text_at(shell, &["output"])), shell_code) {
        (Some(output), Some(_)) => {
            let outcome = not_carried_out(output).filter(|outcome| *outcome != Outcome::Error).unwrap_or_default();
            ToolResult { outcome, output: output.to_owned(), exit_code: shell_code, ..ToolResult::default() }
        }
        _ => {
            let text = output_text(output);
            let exit_code =
                ["Exit code", "Process exited with code"].iter().find_map(|label| number_after(&text, label));
            let outcome = not_carried_out(&text).unwrap_or_else(|| output.map_or(Outcome::Ok, told));
            ToolResult { outcome, exit_code, output: text, ..ToolResult::default() }
        }
    };
    out.result(context, ToolResult { call_id, tool: tool.map(str::to_owned), ..result });
}
