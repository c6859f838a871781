//! Reads recorded agent sessions into events, so that a session that ran without this library can be replayed.
//!
//! A line that cannot be read is reported with its number, and the rest goes on.

mod claude_code;
mod time;
mod trace;

use crate::json;
use crate::model::{Error, ErrorCode, TraceEvent};
use alloc::{format, string::String, vec::Vec};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a session was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// JSON lines of events, or one scenario.
    Trace,
    /// A Claude Code session file (`.jsonl`), or what its SDK streams as JSON lines.
    ClaudeCode,
}

/// Why a line, or a part of it, was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineError {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong with it.
    pub error: Error,
}

/// A recorded session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transcript {
    /// The format it was read as.
    pub format: Format,
    /// What happened, in file order.
    pub events: Vec<TraceEvent>,
    /// The line each event came from, from 1.
    pub lines: Vec<u32>,
    /// The lines that could not be read.
    pub errors: Vec<LineError>,
}

impl Transcript {
    fn push(&mut self, line: u32, event: TraceEvent) {
        self.events.push(event);
        self.lines.push(line);
    }

    fn fail(&mut self, line: u32, mut error: Error) {
        // Each line is parsed on its own, so the parser's line number is always 1.
        error.message = error.message.replace(" at line 1 column ", " at column ");
        self.errors.push(LineError { line, error });
    }
}

/// Reads a session. Without a format the first lines that can be parsed decide; a file that none of them decides is
/// read as a trace. Blank lines, a byte order mark and CRLF are no errors.
#[must_use]
pub fn read(text: &str, format: Option<Format>) -> Transcript {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = || (1u32..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty());
    let format = format.or_else(|| lines().take(100).find_map(|(_, line)| detect(line))).unwrap_or(Format::Trace);
    let transcript = Transcript { format, events: Vec::new(), lines: Vec::new(), errors: Vec::new() };
    match format {
        Format::Trace => trace::read(lines(), transcript),
        Format::ClaudeCode => claude_code::read(lines(), transcript),
    }
}

/// [`read`] as JSON text: `{"format", "events": […], "lines": […], "errors": [{"line", "error"}]}`.
///
/// # Errors
/// `invalid-argument` at `format`.
pub fn read_json(text: &str, format: Option<&str>) -> Result<String, Error> {
    let format = match format {
        None => None,
        Some("trace") => Some(Format::Trace),
        Some("claude-code") => Some(Format::ClaudeCode),
        Some(other) => {
            let error = Error::new(ErrorCode::InvalidArgument, "unknown format, expected `trace` or `claude-code`");
            return Err(error.at("format").with(other));
        }
    };
    Ok(crate::json::to_string(&read(text, format)))
}

/// What a line says about the format of its file, if anything.
fn detect(line: &str) -> Option<Format> {
    let map = object(line).ok()?;
    if map.contains_key("events") {
        return Some(Format::Trace);
    }
    // `progress` and `system` lines exist in more than one format; the threading keys only in one.
    if ["sessionId", "session_id", "parentUuid", "leafUuid", "isSidechain"].iter().any(|key| map.contains_key(*key)) {
        return Some(Format::ClaudeCode);
    }
    let kind = map.get("type")?.as_str()?;
    if matches!(kind, "user" | "assistant") && map.get("message").is_some_and(Value::is_object) {
        return Some(Format::ClaudeCode);
    }
    let known = match crate::json::trace_event(line) {
        Ok(_) => true,
        Err(error) => error.code != ErrorCode::UnknownEvent,
    };
    known.then_some(Format::Trace)
}

/// Parses a line that must hold an object.
fn object(line: &str) -> Result<Map<String, Value>, Error> {
    match json::value(line)? {
        Value::Object(map) => Ok(map),
        other => Err(Error::new(ErrorCode::InvalidEvent, "expected an object").with(other)),
    }
}

/// An error about a field of a foreign format.
fn unexpected(field: impl Into<String>, expected: &str, found: Option<&Value>) -> Error {
    match found {
        None => Error::new(ErrorCode::InvalidEvent, "missing field").at(field),
        Some(found) => Error::new(ErrorCode::InvalidEvent, format!("expected {expected}")).at(field).with(found),
    }
}

#[cfg(test)]
mod tests;
