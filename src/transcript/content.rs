//! What most formats share: content as text or blocks, arguments as JSON or as text, and the outcome of a call from its
//! output where the format has no field for it.

use crate::json;
use crate::model::Outcome;
use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

/// A call whose arguments are streamed.
#[derive(Default)]
pub(super) struct StreamedCall {
    /// Its index among the calls of its answer.
    pub(super) index: Option<i64>,
    pub(super) id: Option<String>,
    pub(super) tool: String,
    /// The text of its arguments so far.
    pub(super) args: String,
}

impl StreamedCall {
    /// Adds a piece of a call to the latest of these calls that it continues, or else as a new one.
    pub(super) fn join(self, calls: &mut Vec<Self>, continues: impl Fn(&Self, &Self) -> bool) {
        match calls.iter_mut().rev().find(|call| continues(&self, call)) {
            Some(call) => {
                if call.tool.is_empty() {
                    call.tool = self.tool;
                }
                call.args.push_str(&self.args);
            }
            None => calls.push(self),
        }
    }
}

/// Whether a text begins with one of these.
pub(super) fn begins(text: &str, with: &[&str]) -> bool {
    with.iter().any(|start| text.starts_with(start))
}

pub(super) fn text<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    map.get(key)?.as_str()
}

pub(super) fn flag(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// The text under a key, owned.
pub(super) fn string(map: &Map<String, Value>, key: &str) -> Option<String> {
    text(map, key).map(str::to_owned)
}

/// The value of the first of these keys that is not null.
pub(super) fn present<'a>(map: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| map.get(*key).filter(|value| !value.is_null()))
}

/// Whether a field is `true`.
pub(super) fn is_true(value: &Value, key: &str) -> bool {
    value.get(key) == Some(&Value::Bool(true))
}

/// The text at a path of keys.
pub(super) fn text_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(value, path)?.as_str()
}

pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(*key))
}

/// The list under a key; empty if there is none.
pub(super) fn list<'a>(map: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    map.get(key).and_then(Value::as_array).map_or(&[], |list| list.as_slice())
}

/// The text of a content that is a text or a list of blocks, one per line. Other blocks are replaced by their type and,
/// if they carry data, a digest, so that a new screenshot is a different answer. `None` for anything else.
pub(super) fn content_text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            let mut all = String::new();
            for (index, block) in blocks.iter().enumerate() {
                if index > 0 {
                    all.push('\n');
                }
                match block_text(block) {
                    Some(text) => all.push_str(text),
                    None => all.push_str(&picture(block)),
                }
            }
            Some(all)
        }
        _ => None,
    }
}

/// The text of a block such as `{"type": …, "text": …}`, or of a bare string.
pub(super) fn block_text(block: &Value) -> Option<&str> {
    match block {
        Value::String(text) => Some(text),
        _ => ["text", "refusal"].iter().find_map(|key| block.get(key)?.as_str()),
    }
}

pub(super) fn picture(block: &Value) -> String {
    let kind = block.get("type").and_then(Value::as_str).unwrap_or("block");
    let places: [&[&str]; 6] = [
        &["source", "data"],
        &["image_url", "url"],
        &["image_url"],
        &["data"],
        &["inlineData", "data"],
        &["input_audio", "data"],
    ];
    match places.iter().find_map(|path| text_at(block, path)) {
        Some(data) => format!("[{kind} {:016x}]", xxh3_64(data.as_bytes())),
        None => format!("[{kind}]"),
    }
}

/// The text of an output of any shape: the text that it is or contains, otherwise its JSON.
pub(super) fn output_text(output: Option<&Value>) -> String {
    match output {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) if !blocks.is_empty() && blocks.iter().all(is_block) => {
            content_text(&Value::Array(blocks.clone())).unwrap_or_default()
        }
        // A tool result of the Model Context Protocol.
        Some(Value::Object(map)) if list(map, "content").iter().any(is_block) => {
            map.get("content").and_then(content_text).unwrap_or_default()
        }
        Some(other) => other.to_string(),
    }
}

fn is_block(value: &Value) -> bool {
    value.get("type").is_some_and(Value::is_string)
}

/// The outcome of a call from its output alone: an error if the output begins like one or is an object that says so. An
/// error further down in a text does not count, since tools quote errors.
pub(super) fn told(output: &Value) -> Outcome {
    let fails = |map: &Map<String, Value>| {
        flag(map, "isError")
            || flag(map, "is_error")
            || map.get("success") == Some(&Value::Bool(false))
            || match map.get("error") {
                None | Some(Value::Null | Value::Bool(false)) => false,
                Some(Value::String(text)) => !text.is_empty(),
                Some(_) => true,
            }
    };
    match output {
        Value::Object(map) if fails(map) => Outcome::Error,
        Value::String(text) => told_by_text(text, fails),
        Value::Array(blocks) => {
            blocks.iter().find_map(block_text).map_or(Outcome::Ok, |text| told_by_text(text, fails))
        }
        _ => Outcome::Ok,
    }
}

fn told_by_text(text: &str, fails: impl Fn(&Map<String, Value>) -> bool) -> Outcome {
    const ERRORS: [&str; 7] = [
        "Error:",
        "error:",
        "ERROR:",
        "Error executing tool",
        "Error invoking tool",
        "An error occurred",
        "Traceback (most recent call last)",
    ];
    let text = text.trim_start();
    if text.starts_with('{')
        && let Ok(Value::Object(map)) = json::value(text)
    {
        return if fails(&map) { Outcome::Error } else { Outcome::Ok };
    }
    if begins(text, &ERRORS) { failed(text) } else { Outcome::Ok }
}

/// The kind of a failure, if its text says more than that it failed.
pub(super) fn failed(text: &str) -> Outcome {
    let text = text.trim_start();
    let text = text.strip_prefix("Error: ").unwrap_or(text);
    let starts = |with: &[&str]| begins(text, with);
    let holds = |with: &[&str]| {
        let first = text.lines().next().unwrap_or_default();
        with.iter().any(|part| first.contains(part))
    };
    if starts(&["No such tool", "Unknown tool", "Model tried to call unavailable tool"])
        || (starts(&["Tool "]) && holds(&["not found", "is not a valid tool", "does not exist", "not registered"]))
    {
        Outcome::UnknownTool
    } else if starts(&[
        "Invalid input for tool",
        "Invalid arguments",
        "Invalid parameters",
        "InputValidationError",
        "Error validating",
        "Received tool input did not match expected schema",
        "params must ",
        "params/",
    ]) {
        Outcome::Invalid
    } else if starts(&[
        "Command timed out",
        "Request timed out",
        "Timed out",
        "Timeout",
        "timeout",
        "The command timed out",
    ]) {
        Outcome::Timeout
    } else {
        Outcome::Error
    }
}

/// Arguments as given: JSON, or JSON as text; text that is not JSON is kept as text.
pub(super) fn arguments(given: Option<&Value>) -> (Option<Value>, Option<String>) {
    match given {
        None | Some(Value::Null) => (None, None),
        Some(Value::String(text)) if text.trim().is_empty() => (None, None),
        Some(Value::String(text)) => match json::value(text) {
            Ok(args @ (Value::Object(_) | Value::Array(_))) => (Some(args), None),
            _ => (None, Some(text.to_owned())),
        },
        Some(args) => (Some(args.clone()), None),
    }
}

/// The number after a label at the start of one of the first lines, such as `Exit code: 2`.
pub(super) fn number_after(text: &str, label: &str) -> Option<i32> {
    text.lines().take(8).find_map(|line| {
        let rest = line.trim_start().strip_prefix(label)?;
        let rest = rest.trim_start_matches([':', ' ']);
        rest.split(|c: char| c.is_whitespace() || c == '<').next()?.parse().ok()
    })
}

/// An id, given as text or as a number.
pub(super) fn id(value: Option<&Value>) -> Option<String> {
    match value? {
        // Some providers leave ids empty; those identify nothing.
        Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

pub(super) fn code(value: Option<&Value>) -> Option<i32> {
    i32::try_from(value?.as_i64()?).ok()
}
