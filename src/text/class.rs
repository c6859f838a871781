//! The class of an error: what kind of mistake it is, whatever the arguments were.

use super::digest::{Key, combine, key, salted};
use super::echo::{Echo, Places};
use super::ends::clip_to;
use super::late::Late;
use super::lines::trimmed;
use super::mask::{LETTERS_COUNTED, Strength, letters, normalise};
use super::volatile::Volatile;
use super::volatile_json::Answer;
use crate::model::{Outcome, ToolResult};
use alloc::string::String;
use serde_json::{Map, Value};

/// An error of fewer letters says nothing: `grep` found nothing.
pub(super) const LETTERS_OF_ERROR: u32 = 2;

/// How much of either end of an error makes its class.
pub(super) const CLASS_END: usize = 800;
/// Bytes of a line that holds a status of HTTP, and the fields in which a body tells what went wrong.
const STATUS_LINE: usize = 48;
const MESSAGES: [&str; 5] = ["message", "error", "detail", "title", "reason"];

/// Buffers for the class of an error.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    text: String,
    normal: String,
    stripped: String,
    echo: Echo,
    places: Places,
}

/// The class of an error with its tool and without, or that it is a silent one: a negative answer.
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
    {
        // A refusal, a time-out and an unknown tool say what they are without words.
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
    // At once: otherwise every error that is a little longer than those before makes the buffers anew.
    stripped.clear();
    stripped.reserve(4 * CLASS_END);
    normal.reserve(4 * CLASS_END);
    let (first, last) = clip_to(text, CLASS_END);
    for end in [first, last] {
        stripped.clear();
        let repeats = echo.is_some_and(|echo| echo.strip(end, places, stripped));
        let own = if repeats { stripped.as_str() } else { end };
        normalise(&volatile.apply(own, cut_short), Strength::Heavy, normal);
    }
    // What is quoted is masked, and a status says little without its message.
    if let Some(message) = body_of_status(text).and_then(message_in) {
        normalise(&message, Strength::Heavy, normal);
    }
    (classes("class", normal), false)
}

/// The object of JSON behind what a client says of it, such as a status of HTTP: `HTTP/1.1 400 Bad Request`, `404`,
/// `API error:`.
fn body_of_status(text: &str) -> Option<&str> {
    let text = trimmed(text);
    let at = text.bytes().take(STATUS_LINE + 1).position(|byte| byte == b'{').filter(|at| *at > 0)?;
    text.get(at..).filter(|body| body.len() <= CLASS_END && body.ends_with('}'))
}

/// What an object of JSON tells that went wrong, itself or in the object that it wraps.
fn message_in(object: &str) -> Option<String> {
    let Ok(Value::Object(fields)) = serde_json::from_str(object) else { return None };
    let told = |fields: &Map<String, Value>| MESSAGES.iter().find_map(|name| Some(fields.get(*name)?.as_str()?.into()));
    told(&fields).or_else(|| MESSAGES.iter().find_map(|name| told(fields.get(*name)?.as_object()?)))
}

/// Letters of a text that are not the names of tags around it: `<code>1</code><output></output>` says nothing.
pub(super) fn letters_outside_tags(text: &str) -> u32 {
    let (mut rest, mut found) = (text, 0);
    while let Some((before, after)) = rest.split_once('<') {
        found += letters(before);
        // Without an end it is no tag.
        let Some((tag, after)) = after.split_once('>') else { return found + letters(after) };
        if tag.contains(char::is_whitespace) {
            found += letters(tag);
        }
        rest = after;
    }
    found + letters(rest)
}
