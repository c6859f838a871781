//! The parts in which the AI SDK streams a message: to its user interface (`tool-input-available`,
//! `tool-output-available`), and within a program (`tool-call`, `tool-result`).

use super::content::{StreamedCall, failed, flag, id, output_text, string, text, told};
use super::out::Out;
use super::usage::Usage;
use crate::model::{Channel, Outcome, Role, ToolResult};
use alloc::{borrow::ToOwned, string::String, vec::Vec};
use serde_json::{Map, Value};

/// Types of parts that no other format has.
const KINDS: &str = "start-step finish-step text-start text-delta text-end reasoning-start reasoning-delta \
    reasoning-end tool-input-start tool-input-delta tool-input-end tool-input-available tool-input-error \
    tool-output-available tool-output-error tool-output-denied tool-approval-request tool-error";

/// Whether an entry is such a part.
pub(super) fn is_one(map: &Map<String, Value>) -> bool {
    text(map, "type").is_some_and(|kind| KINDS.split(' ').any(|known| known == kind)) && !map.contains_key("role")
}

/// What was streamed and is not complete yet.
#[derive(Default)]
pub(super) struct Stream {
    begun: bool,
    said: Vec<StreamedText>,
    /// Calls whose arguments were streamed; not every writer repeats them afterwards.
    calls: Vec<StreamedCall>,
}

/// A text or reasoning.
struct StreamedText {
    id: Option<String>,
    channel: Option<Channel>,
    text: String,
}

impl Stream {
    /// Takes a part; false if it is not one.
    pub(super) fn piece(&mut self, out: &mut Out, map: &Map<String, Value>) -> bool {
        // `start` begins each message, but is too generic to identify the format.
        self.begun |= is_one(map) || (text(map, "type") == Some("start") && !map.contains_key("role"));
        let Some(kind) = text(map, "type").filter(|_| self.begun && !map.contains_key("role")) else { return false };
        match kind {
            "start" | "start-step" => {
                self.whole(out);
                out.end_round();
            }
            "finish-step" | "finish" | "abort" => {
                self.whole(out);
                if kind == "abort" {
                    // Calls that were being written are not made.
                    self.calls.clear();
                }
                // The end of a message reports the sum over its steps.
                if kind == "finish-step" {
                    let record = map.get("usage").or_else(|| map.get("messageMetadata")?.get("usage"));
                    out.spent(&out.context(), Usage::of(record));
                }
            }
            "text-start" | "text-delta" => self.say(None, kind == "text-start", map),
            "reasoning-start" | "reasoning-delta" => {
                self.say(Some(Channel::Reasoning), kind == "reasoning-start", map);
            }
            "tool-input-start" | "tool-input-delta" => self.input(kind == "tool-input-start", map),
            "tool-input-available" | "tool-call" | "tool-input-error" => self.call(out, kind, map),
            "tool-output-available" | "tool-result" if !flag(map, "preliminary") => {
                let output = map.get("output").or_else(|| map.get("result"));
                self.answer(out, map, output.map_or(Outcome::Ok, told), output_text(output));
                out.end_round();
            }
            "tool-output-error" | "tool-error" => {
                let error = string(map, "errorText").unwrap_or_else(|| output_text(map.get("error")));
                self.answer(out, map, failed(&error), error);
                out.end_round();
            }
            "tool-output-denied" => self.answer(out, map, Outcome::Denied, String::new()),
            _ => {}
        }
        true
    }

    /// A text or reasoning begins or continues.
    fn say(&mut self, channel: Option<Channel>, begins: bool, map: &Map<String, Value>) {
        let id = id(map.get("id"));
        if begins {
            self.said.push(StreamedText { id, channel, text: String::new() });
            return;
        }
        let piece = ["delta", "text", "textDelta"].iter().find_map(|key| text(map, key)).unwrap_or_default();
        match self.said.iter_mut().rev().find(|said| said.id == id && said.channel == channel) {
            Some(said) => said.text.push_str(piece),
            None => self.said.push(StreamedText { id, channel, text: piece.to_owned() }),
        }
    }

    /// The arguments of a call begin or continue. What continues a call that is already whole says nothing.
    fn input(&mut self, begins: bool, map: &Map<String, Value>) {
        let id = call_id(map).or_else(|| id(map.get("id")));
        let args = ["inputTextDelta", "delta"].iter().find_map(|key| string(map, key)).unwrap_or_default();
        if begins || map.contains_key("toolName") || self.calls.iter().any(|call| call.id == id) {
            let piece = StreamedCall { id, tool: tool(map), args, ..StreamedCall::default() };
            piece.join(&mut self.calls, |piece, call| !begins && call.id == piece.id);
        }
    }

    /// A call with its arguments, which the tool may reject as invalid.
    fn call(&mut self, out: &mut Out, kind: &str, map: &Map<String, Value>) {
        self.whole(out);
        let call_id = call_id(map);
        self.calls.retain(|call| call.id != call_id);
        let context = out.context();
        let called = out.in_round(&context);
        out.call(&called, tool(map), map.get("input").or_else(|| map.get("args")), call_id);
        if kind == "tool-input-error" {
            out.result(&context, result(map, Outcome::Invalid, string(map, "errorText").unwrap_or_default()));
        }
    }

    /// The result of a call, preceded by calls known only from their streamed arguments.
    fn answer(&mut self, out: &mut Out, map: &Map<String, Value>, outcome: Outcome, output: String) {
        self.end(out);
        out.result(&out.context(), result(map, outcome, output));
    }

    /// Writes the texts so far, and the calls known only from their streamed arguments.
    pub(super) fn end(&mut self, out: &mut Out) {
        self.whole(out);
        for StreamedCall { id, tool, args, .. } in core::mem::take(&mut self.calls) {
            let called = out.in_round(&out.context());
            out.call(&called, tool, Some(&Value::String(args)), id);
        }
    }

    /// Writes the texts so far, which are complete.
    fn whole(&mut self, out: &mut Out) {
        for StreamedText { channel, text, .. } in core::mem::take(&mut self.said) {
            if !text.is_empty() {
                let context = out.in_round(&out.context());
                out.message(&context, Role::Assistant, channel, text);
            }
        }
    }
}

fn call_id(map: &Map<String, Value>) -> Option<String> {
    id(map.get("toolCallId"))
}

fn tool(map: &Map<String, Value>) -> String {
    string(map, "toolName").unwrap_or_default()
}

fn result(map: &Map<String, Value>, outcome: Outcome, output: String) -> ToolResult {
    ToolResult { call_id: call_id(map), tool: string(map, "toolName"), outcome, output, ..ToolResult::default() }
}
