//! Files of gemini-cli: chat recordings (`session-*.json`, and the same records as lines), its prompt log
//! (`logs.json`), checkpoints (lists of `contents`), and the log records of its telemetry file.
//!
//! A recording repeats a message whenever one of its calls has progressed, so only what is new in each copy counts.

use super::FormatReader;
use super::content::{
    self, begins, content_text, failed, flag, is_true, list, number_after, output_text, string, text, text_at,
};
use super::out::{Lists, Out, Part};
use super::pieces::Piece;
use super::usage::Usage;
use crate::model::{Body, Context, HostKind, Outcome, Role, ToolResult};
use alloc::{borrow::ToOwned, collections::BTreeSet, format, string::String};
use serde_json::{Map, Value, json};

/// Beginnings of user messages that no human wrote.
const SYNTHETIC: [&str; 2] = ["This is the Gemini CLI. We are setting up the context", "<session_context>"];

#[derive(Default)]
pub(super) struct Reader {
    /// The sub-agent that was recorded, if any.
    agent: Option<String>,
    /// Texts, calls, results and usage already reported: a letter for which it is, and the id of the message or call.
    told: BTreeSet<String>,
}

impl FormatReader for Reader {
    fn document(&mut self, out: &mut Out, document: Piece<'_>) {
        out.walk(
            document,
            Lists::First(&["messages", "history", "clientHistory", "contents"]),
            |out, part| match part {
                Part::Head(map) => *self = Reader::of(&map),
                Part::Entry(map) => self.entry(out, &map),
            },
        );
    }
}

impl Reader {
    fn of(head: &Map<String, Value>) -> Self {
        let agent =
            (text(head, "kind") == Some("subagent")).then(|| text(head, "sessionId").unwrap_or("subagent").to_owned());
        Self { agent, told: BTreeSet::new() }
    }

    fn entry(&mut self, out: &mut Out, map: &Map<String, Value>) {
        let mut context = out.context();
        context.agent.clone_from(&self.agent);
        if let Some(Value::Object(attributes)) = map.get("attributes") {
            return telemetry(out, context, attributes);
        }
        // A telemetry file also contains metrics and spans.
        const OTHERS: [&str; 7] = [
            "dataPoints",
            "descriptor",
            "scopeMetrics",
            "resourceMetrics",
            "resource",
            "traceId",
            "instrumentationScope",
        ];
        if OTHERS.iter().any(|key| map.contains_key(*key)) {
            return;
        }
        if map.contains_key("$set") || map.contains_key("$rewindTo") {
            return;
        }
        if map.contains_key("projectHash") && !map.contains_key("type") {
            out.run = string(map, "sessionId");
            *self = Self::of(map);
            return;
        }
        context.at = out.time("timestamp", map.get("timestamp"));
        if map.contains_key("role") {
            return contents(out, context, map);
        }
        match map.get("type") {
            Some(Value::String(kind)) => self.record(out, context, kind, map),
            other => out.fail("type", "the type of the message", other),
        }
    }

    /// Whether something is reported for the first time; without an id it always is.
    fn is_new(&mut self, id: Option<&str>, what: &str) -> bool {
        id.is_none_or(|id| self.told.insert(format!("{what}{id}")))
    }

    fn record(&mut self, out: &mut Out, mut context: Context, kind: &str, map: &Map<String, Value>) {
        let id = text(map, "id");
        // The prompt log has `message`; recordings have parts under `content`.
        let (field, content) = match map.get("message") {
            Some(message) => ("message", Some(message)),
            None => ("content", map.get("content")),
        };
        // The first versions identified sessions by their time.
        if let Some(session) = content::id(map.get("sessionId")) {
            context.run = Some(session);
        }
        let said = match content {
            None | Some(Value::Null) => String::new(),
            Some(content) => match parts_text(content) {
                Some(text) => text,
                None => return out.fail(field, "text or a list of parts", Some(content)),
            },
        };
        match kind {
            "user" => {
                out.end_round();
                if !said.is_empty() && self.is_new(id, "m") {
                    out.message(&context, Role::User, None, said);
                }
            }
            "info" if said.starts_with("Request cancelled") => {
                out.host(&context, HostKind::Intervention, Some("interrupt"))
            }
            "info" if said.starts_with("Chat history compressed") => out.host(&context, HostKind::Compaction, None),
            "gemini" => {
                let called = Context { round: id.map(str::to_owned).or_else(|| Some(out.round())), ..context.clone() };
                out.end_round();
                if let Some(tokens @ Value::Object(_)) = map.get("tokens")
                    && self.is_new(id, "t")
                {
                    out.spends(&called, Usage::of(Some(tokens)));
                }
                if self.is_new(id, "m") {
                    for thought in list(map, "thoughts") {
                        let [subject, more] =
                            ["subject", "description"].map(|key| text_at(thought, &[key]).unwrap_or_default());
                        out.reasoning(&called, Some(format!("{subject}\n{more}").trim()));
                    }
                    if !said.is_empty() {
                        out.message(&called, Role::Assistant, None, said);
                    }
                }
                for call in list(map, "toolCalls") {
                    self.call(out, &called, call);
                }
                for call in list(map, "toolCalls") {
                    self.result(out, &context, call);
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, out: &mut Out, context: &Context, call: &Value) {
        let Some(Value::String(tool)) = call.get("name") else {
            return out.fail("toolCalls", "calls with the name of a tool", call.get("name"));
        };
        let id = text_at(call, &["id"]);
        if self.is_new(id, "c") {
            out.call(context, tool.clone(), call.get("args"), id.map(str::to_owned));
        }
    }

    fn result(&mut self, out: &mut Out, context: &Context, call: &Value) {
        let status = text_at(call, &["status"]).unwrap_or_default();
        let id = text_at(call, &["id"]);
        if !matches!(status, "success" | "error" | "cancelled") || !self.is_new(id, "r") {
            return;
        }
        let at = out.time("toolCalls.timestamp", call.get("timestamp"));
        let answer = call.get("result").unwrap_or(&Value::Null);
        let output = response_text(answer.get(0).unwrap_or(answer));
        let outcome = match status {
            "success" => Outcome::Ok,
            // Somebody refused it, or stopped everything.
            "cancelled"
                if ["did not allow", "rejected", "denied execution", "User denied"]
                    .iter()
                    .any(|no| output.contains(no)) =>
            {
                Outcome::Denied
            }
            "cancelled" => Outcome::NotExecuted,
            _ => failed(&output),
        };
        let exit_code = exit_code(&output);
        let tool = text_at(call, &["name"]).map(str::to_owned);
        let result =
            ToolResult { call_id: id.map(str::to_owned), tool, outcome, output, exit_code, ..ToolResult::default() };
        out.result(&Context { at: at.or(context.at), ..context.clone() }, result);
    }
}

/// The exit code, which the shell tool writes on a line of its answer.
fn exit_code(output: &str) -> Option<i32> {
    output.lines().rev().take(8).find_map(|line| number_after(line, "Exit Code"))
}

/// The text of a part or of a list of parts, without function calls and responses.
fn parts_text(content: &Value) -> Option<String> {
    match content {
        Value::Array(parts) => {
            let texts = parts
                .iter()
                .filter(|part| part.get("functionResponse").is_none() && part.get("functionCall").is_none());
            content_text(&Value::Array(texts.cloned().collect()))
        }
        Value::Object(_) => parts_text(&json!([content])),
        other => content_text(other),
    }
}

/// The text of a function response: its `output` or `error`, or else all of it.
fn response_text(part: &Value) -> String {
    let response = part.get("functionResponse").and_then(|answer| answer.get("response")).unwrap_or(part);
    let text = ["output", "error", "content", "result"].iter().find_map(|key| response.get(*key));
    output_text(text.or(Some(response)))
}

/// A message in the form of the API.
fn contents(out: &mut Out, mut context: Context, map: &Map<String, Value>) {
    let parts = match map.get("parts") {
        Some(Value::Array(parts)) => parts,
        other => return out.fail("parts", "a list of parts", other),
    };
    let role = match text(map, "role") {
        Some("model") => {
            out.end_round();
            context.round = Some(out.round());
            out.spends(&context, Usage::of(map.get("usageMetadata")));
            Role::Assistant
        }
        Some("user" | "function" | "tool") => {
            out.end_round();
            Role::User
        }
        _ => return out.fail("role", "`user` or `model`", map.get("role")),
    };
    for (index, part) in parts.iter().enumerate() {
        if let Some(call) = part.get("functionCall") {
            match text_at(call, &["name"]) {
                Some(tool) => out.call(&context, tool.to_owned(), call.get("args"), content::id(call.get("id"))),
                None => {
                    out.fail(&format!("parts[{index}].functionCall.name"), "the name of a function", call.get("name"))
                }
            }
        } else if let Some(answer) = part.get("functionResponse") {
            let output = response_text(part);
            let error =
                answer.get("response").and_then(|response| response.get("error")).is_some_and(|error| !error.is_null());
            let outcome = if error { failed(&output) } else { Outcome::Ok };
            let (call_id, tool) = (content::id(answer.get("id")), text_at(answer, &["name"]).map(str::to_owned));
            let exit_code = exit_code(&output);
            out.result(&context, ToolResult { call_id, tool, outcome, output, exit_code, ..ToolResult::default() });
        } else if is_true(part, "thought") {
            out.reasoning(&context, text_at(part, &["text"]));
        } else if let Some(said) = text_at(part, &["text"]) {
            let synthetic = role == Role::User && begins(said, &SYNTHETIC);
            out.message(&Context { synthetic, ..context.clone() }, role, None, said);
        }
    }
}

/// A log record of the telemetry file, which says what was called and whether it succeeded, but has no output.
fn telemetry(out: &mut Out, mut context: Context, attributes: &Map<String, Value>) {
    context.at = out.time("attributes.event.timestamp", attributes.get("event.timestamp"));
    context.run = string(attributes, "session.id");
    match text(attributes, "event.name").unwrap_or_default() {
        "gemini_cli.user_prompt" => {
            if let Some(prompt) = text(attributes, "prompt") {
                out.message(&context, Role::User, None, prompt);
            }
        }
        "gemini_cli.api_response" => {
            let usage = Usage::of(Some(&Value::Object(attributes.clone())));
            out.spends(&context, usage);
        }
        "gemini_cli.chat_compression" => out.host(&context, HostKind::Compaction, None),
        "gemini_cli.tool_call" => {
            let Some(Value::String(tool)) = attributes.get("function_name") else {
                return out.fail("attributes.function_name", "the name of a tool", attributes.get("function_name"));
            };
            out.call(&context, tool.clone(), attributes.get("function_args"), None);
            let output = text(attributes, "error").unwrap_or_default().to_owned();
            let outcome = match text(attributes, "error_type") {
                _ if text(attributes, "decision") == Some("reject") => Outcome::Denied,
                _ if flag(attributes, "success") => Outcome::Ok,
                Some("invalid_tool_params") => Outcome::Invalid,
                Some("tool_not_registered") => Outcome::UnknownTool,
                _ => failed(&output),
            };
            // Without the output, only its length can differ.
            let details = Some(json!({ "contentLength": attributes.get("content_length") }));
            let tool = Some(tool.clone());
            out.push(
                &context,
                Body::ToolResult(ToolResult { tool, outcome, output, details, ..ToolResult::default() }),
            );
        }
        _ => {}
    }
}
