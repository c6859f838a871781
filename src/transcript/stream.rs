//! Reads a session incrementally, so that a log larger than memory can be read.

use super::out::Out;
use super::pieces::{Documents, Piece};
use super::{
    Format, FormatReader, LineError, Transcript, ai_sdk, anthropic, claude_code, detect, finish, gemini_cli, langchain,
    openai, openhands, otel, swe_agent, trace,
};
use crate::model::TraceEvent;
use alloc::{boxed::Box, string::String, vec::Vec};
use serde::Serialize;

/// Events looked at together for what no single entry shows.
const WINDOW: usize = 4096;
/// Bytes of documents after which a window ends early, if it has at least so many events; keeps windows of large
/// outputs small.
const HEAVY: usize = 2 << 20;
const FEWEST: usize = 512;

/// Bytes of the beginning that are buffered until the format is detected.
const BEGINNING: usize = 4 << 20;

/// What was read since the last part.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Part {
    /// The format, once known; the last part always has it.
    pub format: Option<Format>,
    /// The events, in order.
    pub events: Vec<TraceEvent>,
    /// For each event, the line it came from, from 1.
    pub lines: Vec<u32>,
    /// The lines that could not be read.
    pub errors: Vec<LineError>,
}

/// Reads a session as it arrives. However the text is split, the parts add up to what [`read`](super::read) returns for
/// the whole. OpenTelemetry spans come with the last part, since they have to be ordered by time.
pub struct Reader {
    /// Text not read yet: the last document, which may be incomplete.
    rest: String,
    /// The line it begins on.
    line: u32,
    /// Length of `rest` in bytes from which it is worth parsing again.
    enough: usize,
    begun: bool,
    format: Option<Format>,
    reads: Option<Box<dyn FormatReader>>,
    out: Out,
    finish: finish::Finish,
    /// Bytes of documents read since the last window.
    held: usize,
    /// Events read and put in order, with their lines.
    ready: Vec<(TraceEvent, u32)>,
}

impl core::fmt::Debug for Reader {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reader").field("format", &self.format).field("line", &self.line).finish_non_exhaustive()
    }
}

impl Reader {
    /// A reader for a format; with `None`, it is detected from the first distinctive entries.
    #[must_use]
    pub fn new(format: Option<Format>) -> Self {
        let transcript = Transcript {
            format: format.unwrap_or(Format::Trace),
            events: Vec::new(),
            lines: Vec::new(),
            errors: Vec::new(),
        };
        Self {
            rest: String::new(),
            line: 1,
            enough: 0,
            begun: false,
            format,
            reads: None,
            out: Out::new(transcript),
            finish: finish::Finish::default(),
            held: 0,
            ready: Vec::new(),
        }
    }

    /// Takes the next piece of the text, split anywhere, and returns what can be read so far.
    pub fn feed(&mut self, text: &str) -> Part {
        let text = self.unmarked(text);
        self.rest.push_str(text);
        if self.rest.len() >= self.enough {
            let rest = core::mem::take(&mut self.rest);
            // A line that may be incomplete is left for later.
            let whole = rest.rfind('\n').map_or(0, |at| at + 1);
            let read = self.documents(rest.get(..whole).unwrap_or_default(), false);
            self.rest.push_str(rest.get(read..).unwrap_or_default());
            // Wait for twice as much, so that a long document is not scanned again for every piece.
            self.enough = self.rest.len().saturating_mul(2);
        }
        self.part()
    }

    /// Returns what is left at the end of the text.
    pub fn finish(&mut self) -> Part {
        let rest = core::mem::take(&mut self.rest);
        self.documents(&rest, true);
        self.end();
        self.part()
    }

    /// Reads a whole text.
    pub(super) fn read_all(mut self, text: &str) -> Transcript {
        let text = self.unmarked(text);
        self.documents(text, true);
        self.end();
        let mut transcript = self.out.transcript;
        (transcript.events, transcript.lines) = self.ready.into_iter().unzip();
        transcript
    }

    /// The text without a byte order mark at the very beginning.
    fn unmarked<'a>(&mut self, text: &'a str) -> &'a str {
        if text.is_empty() || core::mem::replace(&mut self.begun, true) {
            return text;
        }
        text.strip_prefix('\u{feff}').unwrap_or(text)
    }

    /// Reads the documents of a text and returns the offset up to which it was read. Unless this is the `last` text,
    /// the last document is left, as more of it may follow.
    fn documents(&mut self, text: &str, last: bool) -> usize {
        let mut documents = Documents::new(text, self.line);
        let mut ready = Vec::new();
        let at = loop {
            let before = documents.place();
            let Some(piece) = documents.next() else { break documents.place() };
            if !last && !documents.more() {
                break before;
            }
            ready.push(piece);
            // Once the format is known, pieces are read as they come.
            if self.reads.is_some() || self.begin(&ready, documents.more(), documents.place().0, last) {
                for piece in ready.drain(..) {
                    self.read(piece);
                }
            }
        };
        if ready.is_empty() {
            self.line = at.1;
            return at.0;
        }
        if last {
            self.start(&ready);
            for piece in ready.drain(..) {
                self.read(piece);
            }
            return text.len();
        }
        0
    }

    /// Starts reading if enough is known of the beginning to detect the format; whether it did.
    fn begin(&mut self, ready: &[Piece<'_>], more: bool, read: usize, last: bool) -> bool {
        let known = self.format.is_some() || ready.len() >= detect::LOOKED_AT || read >= BEGINNING;
        if !known || (last && !more) {
            return false;
        }
        self.out.several = more || ready.len() > 1;
        self.start(ready);
        true
    }

    fn start(&mut self, ready: &[Piece<'_>]) {
        if self.reads.is_some() {
            return;
        }
        self.out.several |= ready.len() > 1;
        let format = self.format.unwrap_or_else(|| detect::detect(ready));
        self.format = Some(format);
        self.out.transcript.format = format;
        self.reads = Some(match format {
            Format::Trace => Box::new(trace::Reader::default()),
            Format::ClaudeCode => Box::new(claude_code::Reader::default()),
            Format::OpenAi => Box::new(openai::Reader::default()),
            Format::Anthropic => Box::new(anthropic::read),
            Format::AiSdk => Box::new(ai_sdk::Reader::default()),
            Format::LangChain => Box::new(langchain::Reader::default()),
            Format::SweAgent => Box::new(swe_agent::Reader::default()),
            Format::OpenHands => Box::new(openhands::Reader::default()),
            Format::GeminiCli => Box::new(gemini_cli::Reader::default()),
            Format::OpenTelemetry => Box::new(otel::Spans::default()),
        });
    }

    fn read(&mut self, piece: Piece<'_>) {
        if let Some(reads) = &mut self.reads {
            reads.document(&mut self.out, piece);
        }
        self.finish.documents = self.finish.documents.saturating_add(1);
        self.held = self.held.saturating_add(piece.text.len());
        let events = self.out.transcript.events.len();
        let is_full = events >= WINDOW || events >= FEWEST && self.held >= HEAVY;
        if is_full || self.format == Some(Format::Trace) {
            self.held = 0;
            self.put_in_order(false);
        }
    }

    fn end(&mut self) {
        self.start(&[]);
        if let Some(reads) = &mut self.reads {
            reads.end(&mut self.out);
        }
        self.out.settle();
        self.put_in_order(true);
    }

    /// Puts the events read since the last time in order. Where windows end does not depend on how the text was split.
    fn put_in_order(&mut self, last: bool) {
        let transcript = &mut self.out.transcript;
        let mut kept = (Vec::new(), Vec::new());
        if self.format != Some(Format::Trace) {
            if !last {
                // Events that wait for their counterpart stay, so that no pair is separated.
                let whole = self.finish.whole(transcript);
                kept = (transcript.events.split_off(whole), transcript.lines.split_off(whole));
            }
            self.finish.window(transcript, last);
        }
        self.out.gone += transcript.events.len();
        let lines = core::mem::replace(&mut transcript.lines, kept.1);
        self.ready.extend(core::mem::replace(&mut transcript.events, kept.0).into_iter().zip(lines));
    }

    fn part(&mut self) -> Part {
        self.finish.told |= !self.out.transcript.errors.is_empty();
        let (events, lines) = core::mem::take(&mut self.ready).into_iter().unzip();
        Part { format: self.format, events, lines, errors: core::mem::take(&mut self.out.transcript.errors) }
    }
}
