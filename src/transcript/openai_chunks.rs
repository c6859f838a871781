//! The chunks in which a chat model streams its answer.

use super::content::{StreamedCall, id, list, text, text_at};
use super::usage::Usage;
use alloc::{borrow::ToOwned, string::String, vec::Vec};
use serde_json::{Map, Value, json};

/// Whether an entry is such a chunk.
pub(super) fn is_one(map: &Map<String, Value>) -> bool {
    text(map, "object") == Some("chat.completion.chunk")
        || (!map.contains_key("role") && list(map, "choices").iter().any(|choice| choice.get("delta").is_some()))
}

/// Answers that are not complete yet; there may be several, as requests can run in parallel.
#[derive(Default)]
pub(super) struct Chunks(Vec<Answer>);

#[derive(Default)]
struct Answer {
    id: Option<String>,
    text: String,
    reasoning: String,
    calls: Vec<StreamedCall>,
    ended: bool,
    usage: Usage,
}

impl Chunks {
    /// Takes a chunk and returns the answers complete by now, each as a message.
    pub(super) fn take(&mut self, map: &Map<String, Value>) -> Vec<(Map<String, Value>, Usage)> {
        let name = id(map.get("id"));
        // After it has ended, an answer may still report its usage.
        let mut whole = self.whole(|answer| answer.ended && answer.id != name);
        let found = self.0.iter().position(|answer| answer.id == name || name.is_none());
        let index = found.unwrap_or_else(|| {
            self.0.push(Answer { id: name, ..Answer::default() });
            self.0.len() - 1
        });
        let Some(answer) = self.0.get_mut(index) else { return whole };
        let usage = Usage::of(map.get("usage"));
        if !usage.is_nothing() {
            answer.usage = usage;
        }
        // Of several choices, the first is the one used.
        let first = |choice: &&Value| choice.get("index").and_then(Value::as_i64).unwrap_or(0) == 0;
        for choice in list(map, "choices").iter().filter(first) {
            let delta = choice.get("delta").unwrap_or(&Value::Null);
            answer.text.push_str(text_at(delta, &["content"]).unwrap_or_default());
            let thought = text_at(delta, &["reasoning_content"]).or_else(|| text_at(delta, &["reasoning"]));
            answer.reasoning.push_str(thought.unwrap_or_default());
            for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
                let [tool, args] = ["name", "arguments"].map(|key| text_at(call, &["function", key]));
                let [tool, args] = [tool, args].map(|text| text.unwrap_or_default().to_owned());
                let index = call.get("index").and_then(Value::as_i64);
                StreamedCall { index, id: id(call.get("id")), tool, args }.join(&mut answer.calls, |piece, call| {
                    call.index == piece.index && (piece.id.is_none() || call.id == piece.id)
                });
            }
            answer.ended |= choice.get("finish_reason").is_some_and(Value::is_string);
        }
        whole.extend(self.whole(|answer| answer.ended && !answer.usage.is_nothing()));
        whole
    }

    /// Removes and returns the complete answers.
    fn whole(&mut self, is_whole: impl Fn(&Answer) -> bool) -> Vec<(Map<String, Value>, Usage)> {
        let (whole, rest) = core::mem::take(&mut self.0).into_iter().partition(|answer| is_whole(answer));
        self.0 = rest;
        let whole: Vec<Answer> = whole;
        whole.into_iter().map(Answer::message).collect()
    }

    /// There are no more chunks.
    pub(super) fn end(&mut self) -> Vec<(Map<String, Value>, Usage)> {
        self.whole(|_| true)
    }
}

impl Answer {
    fn message(self) -> (Map<String, Value>, Usage) {
        let calls = self.calls.into_iter().map(|StreamedCall { id, tool, args, .. }| {
            json!({ "id": id, "type": "function", "function": { "name": tool, "arguments": args } })
        });
        let mut message = Map::new();
        message.insert("role".to_owned(), "assistant".into());
        message.insert("content".to_owned(), self.text.into());
        message.insert("reasoning_content".to_owned(), self.reasoning.into());
        message.insert("tool_calls".to_owned(), calls.collect());
        (message, self.usage)
    }
}
