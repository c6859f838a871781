//! The class of an error: the kind of mistake, independent of the arguments.

use super::digest::{Key, combine, key, salted};
use super::echo::{Echo, RunStarts};
use super::ends::clip_to;
use super::late::Late;
use super::lines::trimmed;
use super::mask::{LETTERS_COUNTED, Strength, letters, normalise};
use super::scan::each;
use super::volatile::Volatile;
use super::volatile_json::Answer;
use super::words::is_in;
use crate::model::{Outcome, ToolResult};
use alloc::string::String;
use serde_json::{Map, Value};

/// An error with fewer letters has no message: `grep` that found nothing.
pub(super) const LETTERS_OF_ERROR: u32 = 2;

/// Bytes of either end of an error that determine its class.
pub(super) const CLASS_END: usize = 800;
/// How a database begins the line in which it shows a part of the query: `LINE 1: select renewed_on from ...`.
const EXCERPT: &[u8] = b"\nLINE ";
/// Bytes that may precede the JSON body of an error, such as an HTTP status.
const STATUS_LINE: usize = 48;
/// Letters of the longest text that tells nothing but an exit status, and its words.
const STATUS_ALONE: u32 = 40;
const STATUS_WORDS: &str = "code command exit exited failed process status the with";
/// Fields in which such a body tells what went wrong, in order of preference.
const MESSAGES: [&str; 5] = ["message", "error", "detail", "title", "reason"];

/// Reusable buffers for the class of an error.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    text: String,
    normal: String,
    stripped: String,
    echo: Echo,
    places: RunStarts,
}

/// The keys of an error's class, with its tool and without, and whether the error is silent: a negative answer.
pub(super) fn class(
    tool: &str,
    result: &ToolResult,
    answer: Option<&mut Answer<'_>>,
    letters: u32,
    echo: Option<&Late<Echo>>,
    (volatile, salt, cut_short): (&Volatile, u64, &mut u32),
    Class { text: buffer, normal, stripped, echo: unread, places }: &mut Class,
) -> (Option<(Key, Key)>, bool) {
    let classes = |domain: &str, normal: &str| {
        let shared = salted(domain, salt, normal.as_bytes());
        Some((combine("class/tool", &[shared, key("tool", tool.as_bytes())]), shared))
    };
    normal.clear();
    if let Some(own) = result.error_class.as_deref().map(str::trim).filter(|own| !own.is_empty()) {
        normal.push_str(own);
        return (classes("class/host", normal), false);
    }
    if letters < LETTERS_OF_ERROR
        || letters < LETTERS_COUNTED && letters_outside_tags(&result.output) < LETTERS_OF_ERROR
        || letters < STATUS_ALONE && tells_only_status(&result.output)
    {
        // A refusal, a timeout and an unknown tool need no message: the outcome tells.
        return match result.outcome {
            Outcome::Ok | Outcome::Error | Outcome::NotExecuted => (None, true),
            spoken => {
                normal.push_str(spoken.name());
                (classes("class/silent", normal), false)
            }
        };
    }
    let text = match answer {
        Some(answer) => {
            buffer.clear();
            answer.write_text(buffer);
            buffer.as_str()
        }
        None => result.output.as_str(),
    };
    let echo = echo.map(|echo| echo.runs(unread));
    // Reserved up front: otherwise every error slightly longer than the ones before would reallocate the buffers.
    stripped.clear();
    stripped.reserve(4 * CLASS_END);
    normal.reserve(4 * CLASS_END);
    let (first, last) = clip_to(text, CLASS_END);
    for end in [first, last] {
        let end = before_excerpt(end);
        stripped.clear();
        let repeats = echo.is_some_and(|echo| echo.strip(end, places, stripped));
        let own = if repeats { stripped.as_str() } else { end };
        normalise(&volatile.apply(own, cut_short), Strength::Heavy, normal);
    }
    // Quoted text is masked, and a status says little without its message.
    if let Some(message) = body_of_status(text).and_then(message_in) {
        normalise(&message, Strength::Heavy, normal);
    }
    (classes("class", normal), false)
}

/// Whether a text tells nothing but an exit status: `exit 1`, `Command failed with exit code 1`.
fn tells_only_status(text: &str) -> bool {
    let words = || text.split(|char: char| !char.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    words().any(|word| is_in("exit exited", word)) && words().all(|word| is_in(STATUS_WORDS, word))
}

/// An error without the part of the query that it shows, and what follows.
fn before_excerpt(text: &str) -> &str {
    let mut told = text;
    each(text.as_bytes(), b'\n', &mut |at| {
        if text.as_bytes().get(at..).is_some_and(|rest| rest.starts_with(EXCERPT)) {
            told = told.get(..at).unwrap_or(told);
        }
    });
    told
}

/// The JSON object with which a text ends, after a prefix such as an HTTP status (`HTTP/1.1 400 Bad Request`, `404`) or
/// `API error:`; at most [`CLASS_END`] bytes long.
fn body_of_status(text: &str) -> Option<&str> {
    let text = trimmed(text);
    let at = text.bytes().take(STATUS_LINE + 1).position(|byte| byte == b'{').filter(|at| *at > 0)?;
    text.get(at..).filter(|body| body.len() <= CLASS_END && body.ends_with('}'))
}

/// The error message in a JSON object, or in an object nested directly in it.
fn message_in(object: &str) -> Option<String> {
    let Ok(Value::Object(fields)) = serde_json::from_str(object) else { return None };
    let told = |fields: &Map<String, Value>| MESSAGES.iter().find_map(|name| Some(fields.get(*name)?.as_str()?.into()));
    told(&fields).or_else(|| MESSAGES.iter().find_map(|name| told(fields.get(*name)?.as_object()?)))
}

/// Letters of a text, ignoring tag names: `<code>1</code><output></output>` has none.
pub(super) fn letters_outside_tags(text: &str) -> u32 {
    let (mut rest, mut found) = (text, 0);
    while let Some((before, after)) = rest.split_once('<') {
        found += letters(before);
        // An unclosed `<` begins no tag.
        let Some((tag, after)) = after.split_once('>') else { return found + letters(after) };
        if tag.contains(char::is_whitespace) {
            found += letters(tag);
        }
        rest = after;
    }
    found + letters(rest)
}

#[cfg(test)]
mod tests {
    use super::tells_only_status;

    #[test]
    fn an_exit_status_alone() {
        for status in ["exit 1", "Exit code: 2", "Command exited with code 127", "(exit status 1)"] {
            assert!(tells_only_status(status), "{status}");
        }
        for error in ["exit 1: no such berth", "failed with status code 500", "HTTP 404", "code 7", ""] {
            assert!(!tells_only_status(error), "{error}");
        }
    }
}
