//! Reads recorded agent sessions into events, so that a session that ran without this library can be replayed.
//!
//! A line that cannot be read is reported with its number; reading goes on behind it.

mod ai_sdk;
mod ai_sdk_stream;
mod anthropic;
mod claude_code;
mod codex_exec;
mod content;
mod detect;
mod devtools;
mod finish;
mod gemini_cli;
mod langchain;
mod langgraph;
mod logs;
mod monocle;
mod openai;
mod openai_chunks;
mod openhands;
mod otel;
mod out;
mod pieces;
mod rationale;
mod spans;
mod stream;
mod swe_agent;
mod swe_command;
mod time;
mod trace;
mod usage;

use crate::model::{Error, ErrorCode, TraceEvent, names};
use alloc::{format, string::String, vec::Vec};
use serde::Serialize;
use serde_json::Value;

pub use stream::{Part, Reader};

/// The format a session was recorded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// JSON lines of events, a list of events, or one scenario.
    Trace,
    /// A Claude Code session file (`.jsonl`), or the JSON lines that its SDK streams.
    ClaudeCode,
    /// OpenAI chat-completions messages or chunks, Responses items or stream events, a Codex rollout or the output of
    /// `codex exec --json`.
    OpenAi,
    /// Messages of the Anthropic API.
    Anthropic,
    /// Messages of Vercel's AI SDK (UI or model messages), its message streams, and the files of its devtools.
    AiSdk,
    /// LangChain messages, serialised or plain; LangGraph states and streams.
    LangChain,
    /// A trajectory of SWE-agent or mini-swe-agent.
    SweAgent,
    /// An OpenHands event log.
    OpenHands,
    /// A gemini-cli chat recording, checkpoint, prompt log or telemetry file.
    GeminiCli,
    /// Agent spans and log records: OpenTelemetry GenAI as OTLP/JSON or one per line, Phoenix exports, Langfuse
    /// observations, LangSmith runs.
    OpenTelemetry,
}

names!(Format {
    Trace = "trace", ClaudeCode = "claude-code", OpenAi = "openai", Anthropic = "anthropic", AiSdk = "ai-sdk",
    LangChain = "langchain", SweAgent = "swe-agent", OpenHands = "openhands", GeminiCli = "gemini-cli",
    OpenTelemetry = "opentelemetry",
});

impl Format {
    /// The format with this name; `None` for an unknown one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

impl Serialize for Format {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Why a line, or a part of it, was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineError {
    /// Line number, from 1.
    pub line: u32,
    /// What is wrong with it.
    pub error: Error,
}

/// A recorded session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transcript {
    /// The format that the session was read as.
    pub format: Format,
    /// The events in file order, except that spans are ordered by time and results follow their calls.
    pub events: Vec<TraceEvent>,
    /// For each event, the line it came from, from 1.
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
        // Each piece is parsed on its own, and the error carries the line number beside the message.
        error.message = error.message.replace(" at line 1 column ", " at column ");
        self.errors.push(LineError { line, error });
    }
}

/// Reads a session: JSON lines, a document with its entries in a list, or several such documents. Without a `format`,
/// it is detected from the first distinctive entries; ambiguous messages are read as OpenAI's, anything else as a
/// trace. Blank lines, a byte order mark and CRLF are accepted. [`Reader`] does the same incrementally.
#[must_use]
pub fn read(text: &str, format: Option<Format>) -> Transcript {
    Reader::new(format).read_all(text)
}

/// [`read`] as JSON text: `{"format", "events": […], "lines": […], "errors": [{"line", "error"}]}`.
///
/// # Errors
/// `invalid-argument` at `format` if no format has this name.
pub fn read_json(text: &str, format: Option<&str>) -> Result<String, Error> {
    Ok(crate::json::to_string(&read(text, named(format)?)))
}

/// The format with this name, if one is given.
///
/// # Errors
/// `invalid-argument` at `format` if no format has this name.
pub fn named(format: Option<&str>) -> Result<Option<Format>, Error> {
    format.map(|name| Format::named(name).ok_or(name)).transpose().map_err(|name| {
        let names = Format::ALL.map(|format| format!("`{}`", format.name())).join(", ");
        let message = format!("unknown format, expected one of {names}");
        Error::new(ErrorCode::InvalidArgument, message).at("format").with(name)
    })
}

/// Reads the documents of one format one after the other.
trait FormatReader {
    fn document(&mut self, out: &mut out::Out, document: pieces::Piece<'_>);

    /// There are no more documents.
    fn end(&mut self, _out: &mut out::Out) {}
}

impl<F: FnMut(&mut out::Out, pieces::Piece<'_>)> FormatReader for F {
    fn document(&mut self, out: &mut out::Out, document: pieces::Piece<'_>) {
        self(out, document);
    }
}

/// The error for a missing or mistyped field of a foreign format.
fn unexpected(field: impl Into<String>, expected: &str, found: Option<&Value>) -> Error {
    match found {
        None => Error::new(ErrorCode::InvalidEvent, "missing field").at(field),
        Some(found) => Error::new(ErrorCode::InvalidEvent, format!("expected {expected}")).at(field).with(found),
    }
}

#[cfg(test)]
mod tests;
