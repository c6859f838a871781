//! Uncaught errors and panics: class, what the message says, the file of the innermost frame that is the user's own.

use super::words::{detail, file_key, headline, joined, location, shortened};
use alloc::{borrow::ToOwned, format, string::String};

/// An error that nobody caught.
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

pub(super) fn trace(lines: &[&str]) -> Option<String> {
    let mut python: Option<Thrown> = None; // the last one: it is what the others led to
    let mut script: Option<Thrown> = None; // the first one
    let mut cause: Option<Thrown> = None; // Java's last `Caused by`
    let mut source = ""; // of the latest Python frame
    let mut own = ""; // of the latest Python frame that is not a library's
    let mut open: Option<(Thrown, bool, usize)> = None; // an error waiting for its first frame
    for (index, raw) in lines.iter().enumerate() {
        let line = raw.trim();
        if let Some((_, rest)) = panicked(line) {
            let message = panic_message(rest, lines.get(index + 1).copied());
            let place = rest.rsplit(", ").find_map(location).map(|(path, _)| file_key(path)).unwrap_or_default();
            let thrown = Thrown { class: "panic".to_owned(), detail: detail(message), file: place };
            return Some(thrown.signature());
        }
        if let Some(message) = line.strip_prefix("panic: ")
            && lines.iter().skip(index).take(12).any(|line| line.starts_with("goroutine "))
        {
            let frame = |line: &&str| {
                let (path, _) = location(line.trim())?;
                (path.ends_with(".go") && !path.contains("/src/runtime/") && !path.contains("/src/testing/"))
                    .then(|| file_key(path))
            };
            let file = lines.iter().skip(index).take(60).find_map(frame).unwrap_or_default();
            let message = message.split(" [recovered]").next().unwrap_or(message);
            return Some(Thrown { class: "panic".to_owned(), detail: detail(message), file }.signature());
        }
        if let Some(path) = line.strip_prefix("File \"").and_then(|rest| rest.split('"').next()) {
            source = path;
            if !library(path) {
                own = path;
            }
        } else if let Some(frame) = line.strip_prefix("at ") {
            if let Some((thrown, caused, _)) = &mut open {
                let inside = frame.rsplit_once('(').map_or(frame, |(_, inside)| inside.trim_end_matches(')'));
                let inside = inside.trim_start_matches("async ").trim_start_matches("file://");
                if let Some((path, _)) = location(inside)
                    && !library(frame)
                {
                    thrown.file = file_key(path);
                }
                let caused = *caused;
                if !thrown.file.is_empty() || index + 1 == lines.len() {
                    let thrown = open.take().map(|(thrown, _, _)| thrown);
                    if caused {
                        cause = thrown;
                    } else if script.is_none() {
                        script = thrown;
                    }
                }
            }
        } else if let Some((class, message)) = headline(line) {
            if source.is_empty() {
                let caused = line.starts_with("Caused by: ");
                open = Some((
                    Thrown { class: class.to_owned(), detail: detail(message), file: String::new() },
                    caused,
                    index,
                ));
            } else {
                let file = file_key(if own.is_empty() { source } else { own });
                python = Some(Thrown { class: class.to_owned(), detail: detail(message), file });
                (source, own) = ("", "");
            }
        } else if open.as_ref().is_some_and(|(_, _, at)| index > at + 10) {
            open = None;
        }
    }
    cause.or(python).or(script).map(|thrown| thrown.signature())
}

/// `thread 'name' panicked at …` and, since Rust 1.91, `thread 'name' (1234) panicked at …`: the thread and the rest.
pub(super) fn panicked(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.strip_prefix("thread '")?.split_once('\'')?;
    let (_, rest) = rest.split_once("panicked at ").filter(|(id, _)| id.len() < 24)?;
    Some((name, rest))
}

/// The message is on the next line; before Rust 1.73 it stood in quotes before the place.
pub(super) fn panic_message<'a>(rest: &'a str, next: Option<&'a str>) -> &'a str {
    match rest.strip_prefix('\'') {
        Some(rest) => rest.rsplit_once("', ").map_or(rest, |(message, _)| message),
        None => next.unwrap_or_default().trim(),
    }
}

pub(super) fn panic_class(message: &str) -> String {
    if message.starts_with("assertion") { "assertion".to_owned() } else { shortened(&detail(message)) }
}

/// Frames of a runtime or a dependency: where an error surfaced, not where it was made.
fn library(frame: &str) -> bool {
    const INSIDE: [&str; 8] = [
        "node:",
        "node_modules",
        "internal/",
        "site-packages",
        "dist-packages",
        "/lib/python",
        "java.base/",
        "<frozen",
    ];
    const FIRST: [&str; 7] = ["java.", "javax.", "jdk.", "sun.", "org.junit.", "org.gradle.", "kotlin."];
    INSIDE.iter().any(|part| frame.contains(part)) || FIRST.iter().any(|part| frame.starts_with(part))
}
