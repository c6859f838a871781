//! Output that is JSON -> canonical JSON without its volatile fields.
//!
//! In structured output a field's name tells what it is: times, durations, request and process ids change with every
//! answer and mean nothing. Other values are kept whole — an id that is content (`id`, `orderId: 17`, a commit) tells
//! one page of a listing from the next —, except that texts lose what light masking takes from any text, and times go
//! whatever they are called. An answer that is nothing but volatile (when was this lease renewed?) is kept as it is.

use super::answer::{Says, WAITING_STATES};
use super::canonical::canonical_json;
use super::mask::{Strength, normalise};
use super::words::{listed, listed_name, name_words};
use alloc::{string::String, vec::Vec};
use serde_json::{Map, Number, Value};

/// Longer output is compared as text.
const LONGEST: usize = 64 * 1024;

/// Words that make a field volatile wherever they stand in its name.
const VOLATILE_WORDS: [&str; 12] = [
    "duration",
    "durations",
    "elapsed",
    "etag",
    "latencies",
    "latency",
    "nonce",
    "pid",
    "timestamp",
    "timestamps",
    "uptime",
    "uuid",
];

/// Last words that do, after another: `created_at`, `tookMs`.
const VOLATILE_ENDS: [&str; 3] = ["at", "ms", "ns"];

/// Whole names that do.
const VOLATILE_NAMES: [&str; 26] = [
    "calculatedid",
    "callid",
    "correlationid",
    "cwd",
    "eventid",
    "executioncount",
    "executionid",
    "invocationid",
    "logid",
    "messageid",
    "operationid",
    "processid",
    "ratelimit",
    "requestid",
    "responseid",
    "runid",
    "sessionid",
    "spanid",
    "systemfingerprint",
    "threadid",
    "timetaken",
    "took",
    "toolcallid",
    "traceid",
    "transactionid",
    "workingdirectory",
];

/// Names of lists whose emptiness is a negative answer.
const LISTS: [&str; 15] = [
    "data",
    "documents",
    "edges",
    "entries",
    "files",
    "hits",
    "issues",
    "items",
    "matches",
    "nodes",
    "records",
    "references",
    "results",
    "rows",
    "values",
];

/// Names of numbers whose being 0 is one.
const COUNTS: [&str; 12] = [
    "count",
    "found",
    "hits",
    "matches",
    "nummatches",
    "numresults",
    "resultcount",
    "results",
    "total",
    "totalcount",
    "totalhits",
    "totalresults",
];

/// Names under which an answer says how far it is, or what was wrong.
const STATES: [&str; 6] = ["jobstatus", "phase", "progress", "state", "status", "taskstatus"];
const MESSAGES: [&str; 7] = ["detail", "error", "info", "message", "msg", "reason", "result"];

/// A JSON answer without what is volatile in it.
pub(super) struct Answer {
    value: Value,
    /// What it says.
    pub(super) says: Says,
}

impl Answer {
    /// Reads `text` where it is an object or a list; `None` where it is to be compared as text.
    pub(super) fn read(text: &str, buffer: &mut String) -> Option<Self> {
        let text = text.trim();
        let looks = text.starts_with('{') && text.ends_with('}') || text.starts_with('[') && text.ends_with(']');
        if !looks || text.len() > LONGEST {
            return None;
        }
        // The parser refuses what is nested too deep for recursion.
        serde_json::from_str(text).ok().map(|value| Self::of(value, buffer)).filter(|answer| !answer.is_void())
    }

    /// The same for a value; `Null` where nothing is left of it.
    pub(super) fn of(mut value: Value, buffer: &mut String) -> Self {
        let mut says = Says::default();
        judge(&value, &mut says, buffer, 0);
        if prune(&mut value, buffer, &mut Names::default()) == 0 {
            value = Value::Null;
        }
        Self { value, says }
    }

    /// Whether nothing but volatile parts was there.
    pub(super) fn is_void(&self) -> bool {
        self.value == Value::Null
    }

    /// Appends the canonical form.
    pub(super) fn write(&self, out: &mut String) {
        canonical_json(&self.value, out);
    }

    /// Appends the same as text: quotes are for what the answer quotes, not for JSON's own strings.
    pub(super) fn write_text(&self, out: &mut String) {
        write_text(&self.value, out);
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        value => value.is_null(),
    }
}

/// Removes what is volatile; how many values that mean something are left.
fn prune(value: &mut Value, buffer: &mut String, names: &mut Names) -> usize {
    match value {
        // That there is nothing means something, unless pruning made it so.
        value if is_empty(value) => 1,
        Value::Null | Value::Bool(_) => 1,
        Value::Number(number) if is_epoch(number) => {
            *value = Value::String("<time>".into());
            0
        }
        Value::Number(_) => 1,
        // Nothing volatile is without digits.
        Value::String(text) if !text.bytes().any(|byte| byte.is_ascii_digit()) => 1,
        Value::String(text) => {
            buffer.clear();
            let masked = normalise(text, Strength::Light, buffer);
            let time = matches!(buffer.as_str(), "<time>" | "<duration>");
            if masked.masked > 0 && (masked.letters >= 4 || time) {
                text.clone_from(buffer);
            }
            usize::from(!time)
        }
        Value::Array(items) => items.iter_mut().map(|item| prune(item, buffer, names)).sum(),
        Value::Object(map) => {
            let envelope = is_envelope(map);
            map.retain(|name, value| !is_volatile(name, value, envelope, names));
            map.iter_mut().map(|(_, value)| prune(value, buffer, names)).sum()
        }
    }
}

/// Seconds, milli-, micro- or nanoseconds since 1970, of the years 2014 to 2039.
fn is_epoch(number: &Number) -> bool {
    const SECONDS: core::ops::Range<u64> = 1_400_000_000..2_200_000_000;
    // The cast saturates and cuts off the fraction.
    let whole = number.as_u64().or_else(|| number.as_f64().map(|double| double as u64)).unwrap_or(0);
    [1, 1_000, 1_000_000, 1_000_000_000].iter().any(|unit| SECONDS.contains(&(whole / unit)))
}

/// A message's wrapper: its `id` numbers the message, and tells nothing of what it carries.
fn is_envelope(map: &Map<String, Value>) -> bool {
    let has = |names: &[&str]| names.iter().all(|name| map.contains_key(*name));
    if !has(&["id"]) && !has(&["created"]) {
        // Nothing depends on it.
        return false;
    }
    has(&["jsonrpc"]) || has(&["object", "created"]) || has(&["role", "content"])
}

/// What a field's name tells of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Volatile,
    /// An id: it goes where it looks drawn, not counted, for a short or plain number is content.
    Id,
    Content,
}

/// Names that were looked at already: the objects of a list have the same fields, mostly in the same order.
#[derive(Debug, Default)]
struct Names {
    known: Vec<(String, Named)>,
    /// Where the next name is expected.
    next: usize,
}

impl Names {
    /// Beyond, names are looked at each time anew.
    const MOST: usize = 64;

    fn look(&mut self, name: &str) -> Named {
        let expected = self.known.get(self.next).filter(|(known, _)| known == name).map(|_| self.next);
        if let Some(at) = expected.or_else(|| self.known.iter().position(|(known, _)| known == name)) {
            self.next = (at + 1) % self.known.len().max(1);
            return self.known.get(at).map_or(Named::Content, |(_, named)| *named);
        }
        let named = named(name);
        if self.known.len() < Self::MOST {
            self.known.push((name.into(), named));
            self.next = 0;
        }
        named
    }
}

fn is_volatile(name: &str, value: &Value, envelope: bool, names: &mut Names) -> bool {
    envelope && matches!(name, "id" | "created")
        || match names.look(name) {
            Named::Volatile => true,
            Named::Id => value.as_str().is_some_and(is_drawn),
            Named::Content => false,
        }
}

fn named(name: &str) -> Named {
    if listed_name(&VOLATILE_NAMES, name) {
        return Named::Volatile;
    }
    let mut words = name_words(name);
    let first = words.next().unwrap_or_default();
    let (mut last, mut second) = ("", "");
    if listed(&VOLATILE_WORDS, first) {
        return Named::Volatile;
    }
    for word in words {
        if second.is_empty() {
            second = word;
        }
        if listed(&VOLATILE_WORDS, word) {
            return Named::Volatile;
        }
        last = word;
    }
    let limits_rate = first.eq_ignore_ascii_case("rate") && second.to_ascii_lowercase().starts_with("limit");
    if limits_rate || listed(&VOLATILE_ENDS, last) {
        Named::Volatile
    } else if last.eq_ignore_ascii_case("id") {
        Named::Id
    } else {
        Named::Content
    }
}

/// Whether an id looks like a random one.
fn is_drawn(id: &str) -> bool {
    id.len() >= 12
        && id.bytes().any(|byte| byte.is_ascii_digit())
        && id.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !id.contains(char::is_whitespace)
}

/// Reads what an answer says from its own fields and those of what it wraps.
fn judge(value: &Value, says: &mut Says, buffer: &mut String, depth: usize) {
    let Value::Object(map) = value else {
        says.negative |= depth == 0 && is_empty(value);
        return;
    };
    says.negative |= depth == 0 && map.is_empty();
    let full = map.values().any(|value| value.as_array().is_some_and(|items| !items.is_empty()));
    for (name, value) in map {
        match value {
            Value::Array(items) if items.is_empty() && !full => says.negative |= listed_name(&LISTS, name),
            Value::Number(number) if number.as_u64() == Some(0) && !full => says.negative |= listed_name(&COUNTS, name),
            Value::Bool(false) => says.negative |= matches!(name.as_str(), "found" | "exists"),
            Value::String(text) if listed_name(&STATES, name) => says.waiting |= listed_name(&WAITING_STATES, text),
            Value::String(text) if listed_name(&MESSAGES, name) => {
                buffer.clear();
                normalise(text, Strength::Light, buffer);
                let inner = super::answer::says(buffer);
                says.negative |= inner.negative;
                says.waiting |= inner.waiting;
                says.certainly_waiting |= inner.certainly_waiting;
            }
            Value::Object(_) if depth < 2 => judge(value, says, buffer, depth + 1),
            _ => {}
        }
    }
}

fn write_text(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            for item in items {
                write_text(item, out);
                out.push_str(", ");
            }
        }
        Value::Object(map) => {
            let mut names: Vec<_> = map.iter().collect();
            names.sort_unstable_by_key(|(name, _)| *name);
            for (name, value) in names {
                out.push_str(name);
                out.push_str(": ");
                write_text(value, out);
                out.push_str("; ");
            }
        }
        scalar => canonical_json(scalar, out),
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::assert_sorted;
    use super::*;

    fn canonical(text: &str) -> Option<String> {
        let answer = Answer::read(text, &mut String::new())?;
        let mut out = String::new();
        answer.write(&mut out);
        Some(out)
    }

    #[test]
    fn lists_are_sorted() {
        for list in [&VOLATILE_WORDS[..], &VOLATILE_ENDS, &VOLATILE_NAMES, &LISTS, &COUNTS, &STATES, &MESSAGES] {
            assert_sorted(list);
        }
    }

    #[test]
    fn volatile_fields_go() {
        for (text, expected) in [
            (r#"{"b":1, "a":[1.0]}"#, r#"{"a":[1],"b":1}"#),
            (
                r#"{"ok":true,"timestamp":5,"created_at":"x","updatedAt":"y","tookMs":3,"durationSeconds":1}"#,
                r#"{"ok":true}"#,
            ),
            (
                r#"{"ok":true,"total_latency":1,"elapsed":2,"requestId":"a","rate_limit_remaining":3,"cwd":"/x","etag":"e"}"#,
                r#"{"ok":true}"#,
            ),
            (r#"[{"a":1,"in":{"pid":4,"execution_count":7,"b":2}}]"#, r#"[{"a":1,"in":{"b":2}}]"#),
            (
                r#"{"format":"x","at":"y","stat":"z","items":3,"terms":4}"#,
                r#"{"at":"y","format":"x","items":3,"stat":"z","terms":4}"#,
            ),
            (r#"{"id":7,"orderId":17,"userId":"u1","name":"n"}"#, r#"{"id":7,"name":"n","orderId":17,"userId":"u1"}"#),
            (r#"{"taskId":"f81d4fae7dec","name":"n"}"#, r#"{"name":"n"}"#),
            (r#"{"jsonrpc":"2.0","id":9,"result":"r"}"#, r#"{"jsonrpc":"2.0","result":"r"}"#),
            (
                r#"{"id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","n":1}"#,
                r#"{"id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","n":1}"#,
            ),
            (
                r#"{"msg":"done in 1.2s at 12:01:01","n":"12:01:01"}"#,
                r#"{"msg":"done in <duration> at <time>","n":"<time>"}"#,
            ),
            (
                r#"{"mtime":1760000002,"c":1760000002.5,"n":1000000001}"#,
                r#"{"c":"<time>","mtime":"<time>","n":1000000001}"#,
            ),
            ("[]", "[]"),
            ("{}", "{}"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn text_stays_text() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        let long = alloc::format!("[{}1]", "1,".repeat(40_000));
        for text in [
            "",
            "x",
            "12",
            "[1] 4121",
            "{oops}",
            "[2026-07-26] started",
            r#"{"renewedAt":"x"}"#,
            r#"{"renewTime":"2026-07-26T12:01:01Z"}"#,
            &deep,
            &long,
        ] {
            assert_eq!(canonical(text), None, "{text:.40}");
        }
    }

    #[test]
    fn answers_say() {
        for (text, negative, waiting) in [
            ("[]", true, false),
            ("{}", true, false),
            (r#"{"results":[],"query":"x"}"#, true, false),
            (r#"{"total":0}"#, true, false),
            (r#"{"total":0,"items":[1]}"#, false, false),
            (r#"{"errors":[],"ok":true}"#, false, false),
            (r#"{"errorCount":0}"#, false, false),
            (r#"{"message":"User not found"}"#, true, false),
            (r#"{"data":{"items":[]}}"#, true, false),
            (r#"{"status":"IN_PROGRESS"}"#, false, true),
            (r#"{"job":{"state":"queued"}}"#, false, true),
            (r#"{"status":"done","title":"pending"}"#, false, false),
        ] {
            let answer = Answer::read(text, &mut String::new()).expect("an answer");
            assert_eq!((answer.says.negative, answer.says.waiting), (negative, waiting), "{text}");
        }
    }
}
