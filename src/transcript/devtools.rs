//! The AI SDK's devtools file (`.devtools/generations.json`): runs, and their steps with the model's input and output,
//! both as JSON text.

use super::ai_sdk;
use super::content::{flag, id, list, text, text_at};
use super::out::Out;
use super::pieces::Piece;
use crate::json;
use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};
use serde_json::{Map, Value, json};

/// Whether a document is such a file.
pub(super) fn is_one(map: &Map<String, Value>) -> bool {
    ["runs", "steps"].iter().all(|key| map.get(*key).is_some_and(Value::is_array))
        || (map.contains_key("step_number") && map.contains_key("run_id") && text(map, "input").is_some())
}

/// Reads a document if it is such a file; false otherwise.
pub(super) fn read(out: &mut Out, document: Piece<'_>) -> bool {
    if !document.is_object() {
        return false;
    }
    let inside = document.inside();
    let steps = inside.pieces.iter().find(|(key, piece)| *key == "steps" && piece.is_list());
    let runs = inside.pieces.iter().any(|(key, piece)| *key == "runs" && piece.is_list());
    let Some((_, steps)) = steps.filter(|_| runs) else { return false };
    let mut read = Vec::new();
    let steps = steps.inside();
    for (_, piece) in &steps.pieces {
        match piece.object() {
            Ok(map) => read.push((piece.line, map)),
            Err(error) => out.transcript.fail(piece.line, error),
        }
    }
    if !steps.closed || !inside.closed {
        out.cut_off(steps.pieces.last().map_or(document.line, |(_, last)| last.line));
    }
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    for (line, map) in read {
        out.line = line;
        step(out, &map, known.entry(id(map.get("run_id")).unwrap_or_default()).or_default());
    }
    true
}

/// What was reported of a run.
#[derive(Default)]
struct Known {
    /// Messages as JSON text, since each step repeats all of them.
    messages: BTreeSet<String>,
    answered: BTreeSet<String>,
    begun: bool,
}

fn step(out: &mut Out, map: &Map<String, Value>, known: &mut Known) {
    out.run = id(map.get("run_id"));
    out.end_round();
    let parsed = |key: &str| match map.get(key) {
        Some(Value::String(text)) => json::value(text).unwrap_or(Value::Null),
        other => other.cloned().unwrap_or_default(),
    };
    let input = parsed("input");
    let given = ["prompt", "messages"].iter().find_map(|key| input.get(*key)?.as_array());
    for message in given.into_iter().flatten() {
        let Value::Object(message) = message else { continue };
        // The model's own messages are taken from the outputs of earlier steps.
        let own = text(message, "role") == Some("assistant") && known.begun;
        if own || !known.messages.insert(json::to_string(message)) {
            continue;
        }
        let Some(message) = unanswered(message, known) else { continue };
        ai_sdk::message(out, &message);
    }
    known.begun = true;
    let output = parsed("output");
    let mut parts = output.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
    if parts.is_empty() {
        let streamed = |key: &str| output.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        for (key, kind) in [("reasoningParts", "reasoning"), ("textParts", "text")] {
            parts.extend(streamed(key).iter().map(|part| json!({ "type": kind, "text": part.get("text") })));
        }
        parts.extend(streamed("toolCalls").into_iter().map(|mut call| {
            if let Some(call) = call.as_object_mut() {
                call.insert("type".to_owned(), "tool-call".into());
            }
            call
        }));
    }
    // The host's additions to an answer are not part of it.
    parts.retain(|part| text_at(part, &["type"]).is_some_and(|kind| kind != "source" && kind != "file"));
    for part in parts.iter().filter(|part| text_at(part, &["type"]) == Some("tool-result")) {
        known.answered.extend(id(part.get("toolCallId")));
    }
    if !parts.is_empty() {
        let mut answer = Map::new();
        answer.insert("role".to_owned(), "assistant".into());
        answer.insert("content".to_owned(), Value::Array(parts));
        answer.insert("usage".to_owned(), parsed("usage"));
        answer.extend(map.get("started_at").map(|at| ("createdAt".to_owned(), at.clone())));
        ai_sdk::message(out, &answer);
    }
}

/// A message without results that were reported before; `None` if nothing is left.
fn unanswered(message: &Map<String, Value>, known: &mut Known) -> Option<Map<String, Value>> {
    if text(message, "role") != Some("tool") || flag(message, "isError") {
        return Some(message.clone());
    }
    let new = list(message, "content")
        .iter()
        .filter(|part| id(part.get("toolCallId")).is_none_or(|id| known.answered.insert(id)));
    let new: Vec<Value> = new.cloned().collect();
    let mut message = message.clone();
    if new.is_empty() {
        return None;
    }
    message.insert("content".to_owned(), Value::Array(new));
    Some(message)
}
