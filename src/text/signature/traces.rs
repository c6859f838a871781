//! Uncaught errors and panics: class, what the message says, and the file of the innermost frame in the user's own
//! code.

use super::words::{detail, file_key, headline, joined, location, shortened};
use crate::text::ends::split_last;
use alloc::{borrow::ToOwned, format, string::String};

/// An uncaught error.
pub(super) struct Thrown {
    pub(super) class: String,
    pub(super) detail: String,
    pub(super) file: String,
}

impl Thrown {
    pub(super) fn signature(&self) -> String {
        format!("error:{}", joined(&[&self.class, &self.detail, &self.file]))
    }
}

/// The uncaught error of an output: a panic, else Java's last cause, Python's last error, or a script's first.
pub(super) fn trace(lines: &[&str]) -> Option<String> {
    let mut traces = Traces::default();
    for (index, raw) in lines.iter().enumerate() {
        let line = raw.trim();
        let below = lines.get(index + 1..).unwrap_or_default();
        if let Some(thrown) = rust_panic(line, below).or_else(|| go_panic(line, below)) {
            return Some(thrown.signature());
        }
        traces.read(index, line, below.is_empty());
    }
    traces.cause.or(traces.python).or(traces.script).map(|thrown| thrown.signature())
}

/// What the lines of an output have said so far about uncaught errors.
#[derive(Default)]
struct Traces<'a> {
    /// Python's last one: the outcome of the others.
    python: Option<Thrown>,
    /// The first one of a script.
    script: Option<Thrown>,
    /// Java's last `Caused by`.
    cause: Option<Thrown>,
    /// The file of the latest Python frame, and of the latest one outside libraries.
    source: &'a str,
    own: &'a str,
    open: Option<OpenError>,
}

/// An error whose first frame has not come yet.
struct OpenError {
    thrown: Thrown,
    caused: bool,
    /// Index of its line.
    at: usize,
}

impl<'a> Traces<'a> {
    fn read(&mut self, index: usize, line: &'a str, is_last: bool) {
        if let Some(path) = line.strip_prefix("File \"").and_then(|rest| rest.split('"').next()) {
            self.source = path;
            if !library(path) {
                self.own = path;
            }
        } else if let Some(frame) = line.strip_prefix("at ") {
            self.frame(frame, is_last);
        } else if let Some((class, message)) = headline(line) {
            let mut thrown = Thrown { class: class.to_owned(), detail: detail(message), file: String::new() };
            if self.source.is_empty() {
                self.open = Some(OpenError { thrown, caused: line.starts_with("Caused by: "), at: index });
            } else {
                thrown.file = file_key(if self.own.is_empty() { self.source } else { self.own });
                self.python = Some(thrown);
                (self.source, self.own) = ("", "");
            }
        } else if self.open.as_ref().is_some_and(|open| index > open.at + 10) {
            self.open = None;
        }
    }

    /// A frame below the open error; the first one outside libraries closes it.
    fn frame(&mut self, frame: &str, is_last: bool) {
        let Some(open) = &mut self.open else { return };
        let inside = frame.rsplit_once('(').map_or(frame, |(_, inside)| inside.trim_end_matches(')'));
        let inside = inside.trim_start_matches("async ").trim_start_matches("file://");
        if let Some((path, _)) = location(inside)
            && !library(frame)
        {
            open.thrown.file = file_key(path);
        }
        if open.thrown.file.is_empty() && !is_last {
            return;
        }
        let Some(OpenError { thrown, caused, .. }) = self.open.take() else { return };
        if caused {
            self.cause = Some(thrown);
        } else if self.script.is_none() {
            self.script = Some(thrown);
        }
    }
}

fn rust_panic(line: &str, below: &[&str]) -> Option<Thrown> {
    let (_, rest) = panicked(line)?;
    let message = panic_message(rest, below.first().copied());
    let file = rest.split(", ").filter_map(location).last().map(|(path, _)| file_key(path)).unwrap_or_default();
    Some(Thrown { class: "panic".to_owned(), detail: detail(message), file })
}

/// `panic: …` followed by its goroutines.
fn go_panic(line: &str, below: &[&str]) -> Option<Thrown> {
    let message = line.strip_prefix("panic: ")?;
    below.iter().take(11).any(|line| line.starts_with("goroutine ")).then_some(())?;
    let frame = |line: &&str| {
        let (path, _) = location(line.trim())?;
        (path.ends_with(".go") && !path.contains("/src/runtime/") && !path.contains("/src/testing/"))
            .then(|| file_key(path))
    };
    let file = below.iter().take(59).find_map(frame).unwrap_or_default();
    let message = message.split(" [recovered]").next().unwrap_or(message);
    Some(Thrown { class: "panic".to_owned(), detail: detail(message), file })
}

/// The thread's name and the rest of `thread 'name' panicked at …` or, since Rust 1.91,
/// `thread 'name' (1234) panicked at …`.
pub(super) fn panicked(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.strip_prefix("thread '")?.split_once('\'')?;
    let (_, rest) = rest.split_once("panicked at ").filter(|(id, _)| id.len() < 24)?;
    Some((name, rest))
}

/// The panic message: on the next line or, before Rust 1.73, in quotes before the position.
pub(super) fn panic_message<'a>(rest: &'a str, next: Option<&'a str>) -> &'a str {
    match rest.strip_prefix('\'') {
        Some(rest) => split_last(rest, "', ").map_or(rest, |(message, _)| message),
        None => next.unwrap_or_default().trim(),
    }
}

pub(super) fn panic_class(message: &str) -> String {
    if message.starts_with("assertion") { "assertion".to_owned() } else { shortened(&detail(message)) }
}

/// Frames of a runtime or a dependency: where an error surfaced, not where it was caused.
fn library(frame: &str) -> bool {
    const INSIDE: &str = "node: node_modules internal/ site-packages dist-packages /lib/python java.base/ <frozen";
    const FIRST: &str = "java. javax. jdk. sun. org.junit. org.gradle. kotlin.";
    INSIDE.split(' ').any(|part| frame.contains(part)) || FIRST.split(' ').any(|part| frame.starts_with(part))
}
