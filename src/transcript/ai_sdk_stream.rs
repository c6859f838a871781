//! The pieces in which the AI SDK streams a message: to its user interface (`tool-input-available`, `tool-output-available`),
//! and within a program (`tool-call`, `tool-result`).

use super::content::{failed, flag, id, output_text, text, told};
use super::out::Out;
use super::usage::Usage;
use crate::model::{Channel, Context, Outcome, Role, ToolResult};
use alloc::{borrow::ToOwned, string::String, vec::Vec};
use serde_json::{Map, Value};

/// Kinds of pieces that no other format has.
const KINDS: [&str; 18] = [
    "start-step",
    "finish-step",
    "text-start",
    "text-delta",
    "text-end",
    "reasoning-start",
    "reasoning-delta",
    "reasoning-end",
    "tool-input-start",
    "tool-input-delta",
    "tool-input-end",
    "tool-input-available",
    "tool-input-error",
    "tool-output-available",
    "tool-output-error",
    "tool-output-denied",
    "tool-approval-request",
    "tool-error",
];

/// Whether an entry is such a piece.
pub(super) fn is_one(map: &Map<String, Value>) -> bool {
    text(map, "type").is_some_and(|kind| KINDS.contains(&kind)) && !map.contains_key("role")
}

/// What was streamed and is not whole yet: the texts by id.
#[derive(Default)]
pub(super) struct Stream {
    begun: bool,
    texts: Vec<(Option<String>, Option<Channel>, String)>,
    /// Calls whose arguments are streamed: id, name and the text of them. Not every writer tells them once more.
    inputs: Vec<(Option<String>, String, String)>,
}

impl Stream {
    /// Takes a piece; false for what is none.
    pub(super) fn piece(&mut self, out: &mut Out, map: &Map<String, Value>) -> bool {
        // Each message begins so, and its name alone would tell of nothing.
        self.begun |= is_one(map) || (text(map, "type") == Some("start") && !map.contains_key("role"));
        let Some(kind) = text(map, "type").filter(|_| self.begun && !map.contains_key("role")) else { return false };
        let mut context = out.context();
        let call_id = || id(map.get("toolCallId"));
        let name = || text(map, "toolName").unwrap_or_default().to_owned();
        let answer = |outcome: Outcome, output: String| ToolResult {
            call_id: call_id(),
            tool: text(map, "toolName").map(str::to_owned),
            outcome,
            output,
            ..ToolResult::default()
        };
        let given = || map.get("input").or_else(|| map.get("args"));
        match kind {
            "start" | "start-step" => {
                self.whole(out);
                out.end_round();
            }
            "text-start" | "reasoning-start" => {
                let channel = (kind == "reasoning-start").then_some(Channel::Reasoning);
                self.texts.push((id(map.get("id")), channel, String::new()));
            }
            "text-delta" | "reasoning-delta" => {
                let channel = (kind == "reasoning-delta").then_some(Channel::Reasoning);
                let said = ["delta", "text", "textDelta"].iter().find_map(|key| text(map, key)).unwrap_or_default();
                let name = id(map.get("id"));
                match self.texts.iter_mut().rev().find(|(known, of, _)| *known == name && *of == channel) {
                    Some((.., before)) => before.push_str(said),
                    None => self.texts.push((name, channel, said.to_owned())),
                }
            }
            "tool-input-start" => {
                let begun = (call_id().or_else(|| id(map.get("id"))), name(), String::new());
                self.inputs.push(begun);
            }
            "tool-input-delta" => {
                let name = call_id().or_else(|| id(map.get("id")));
                let piece = ["inputTextDelta", "delta"].iter().find_map(|key| text(map, key)).unwrap_or_default();
                if let Some((.., before)) = self.inputs.iter_mut().rev().find(|(known, ..)| *known == name) {
                    before.push_str(piece);
                }
            }
            "tool-input-available" | "tool-call" | "tool-input-error" => {
                self.whole(out);
                let called = call_id();
                self.inputs.retain(|(known, ..)| *known != called);
                context.round = Some(out.round());
                out.call(&context, name(), given(), call_id());
                if kind == "tool-input-error" {
                    context.round = None;
                    let error = text(map, "errorText").unwrap_or_default();
                    out.result(&context, answer(Outcome::Invalid, error.to_owned()));
                }
            }
            "tool-output-available" | "tool-result" if !flag(map, "preliminary") => {
                self.called(out);
                let output = map.get("output").or_else(|| map.get("result"));
                out.result(&context, answer(output.map_or(Outcome::Ok, told), output_text(output)));
                out.end_round();
            }
            "tool-output-error" | "tool-error" => {
                self.called(out);
                let error = text(map, "errorText").map(str::to_owned);
                let error = error.unwrap_or_else(|| output_text(map.get("error")));
                out.result(&context, answer(failed(&error), error.clone()));
                out.end_round();
            }
            "tool-output-denied" => {
                self.called(out);
                out.result(&context, answer(Outcome::Denied, String::new()));
            }
            "finish-step" | "finish" | "abort" => {
                self.whole(out);
                // The end of a message tells the sum of its steps.
                if kind == "finish-step" {
                    let record = map.get("usage").or_else(|| map.get("messageMetadata")?.get("usage"));
                    out.spent(&context, Usage::of(record));
                }
            }
            _ => {}
        }
        true
    }

    /// What was said until now is whole.
    fn whole(&mut self, out: &mut Out) {
        for (_, channel, said) in core::mem::take(&mut self.texts) {
            if !said.is_empty() {
                let mut context = out.context();
                context.round = Some(out.round());
                out.message(&context, Role::Assistant, channel, said);
            }
        }
    }

    /// What is answered was called, with the arguments that were streamed.
    fn called(&mut self, out: &mut Out) {
        self.whole(out);
        for (call_id, name, args) in core::mem::take(&mut self.inputs) {
            let context = Context { round: Some(out.round()), ..out.context() };
            out.call(&context, name, Some(&Value::String(args)), call_id);
        }
    }

    /// There are no more pieces.
    pub(super) fn end(&mut self, out: &mut Out) {
        self.whole(out);
    }
}
