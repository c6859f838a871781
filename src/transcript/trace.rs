use super::out::Out;
use super::pieces::Piece;
use super::{FormatReader, Transcript};
use crate::{
    json,
    model::{Error, ErrorCode, TraceEvent},
};
use alloc::{format, string::String};
use serde_json::{Map, Value};

/// One event per line, or a list of events; or one scenario on one or several lines.
#[derive(Default)]
pub(super) struct Reader {
    /// Whether an object was read; only the first may be a scenario.
    begun: bool,
    /// Set once a scenario was read. A second one is reported once, and nothing after it is read.
    scenario: Option<Second>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Second {
    Unseen,
    Seen,
}

impl FormatReader for Reader {
    fn document(&mut self, out: &mut Out, document: Piece<'_>) {
        let transcript = &mut out.transcript;
        match self.scenario {
            Some(Second::Seen) => return,
            Some(Second::Unseen) => {
                let message = "a second scenario: only a file with one scenario can be replayed, use `eval` for more";
                transcript.fail(document.line, Error::new(ErrorCode::InvalidEvent, message));
                self.scenario = Some(Second::Seen);
                return;
            }
            None => {}
        }
        if document.is_list() {
            let inside = document.inside();
            for (_, piece) in &inside.pieces {
                event(transcript, *piece);
            }
            if !inside.closed {
                let error = Error::new(ErrorCode::InvalidJson, "the text ends before the list does");
                transcript.fail(document.line, error);
            }
            return;
        }
        if !core::mem::replace(&mut self.begun, true) && document.object().is_ok_and(|map| map.contains_key("events")) {
            self.scenario = Some(Second::Unseen);
            match json::scenario(document.text) {
                Ok(scenario) => {
                    let events = document.inside().pieces.into_iter().rfind(|(key, _)| *key == "events");
                    let mut lines = events.map(|(_, list)| list.inside().pieces).unwrap_or_default().into_iter();
                    for event in scenario.events {
                        let line = lines.next().map_or(document.line, |(_, piece)| piece.line);
                        transcript.push(line, event);
                    }
                }
                Err(error) => transcript.fail(document.line, error),
            }
            return;
        }
        event(transcript, document);
    }
}

fn event(transcript: &mut Transcript, piece: Piece<'_>) {
    match json::trace_event(piece.text) {
        Ok(event) => transcript.push(piece.line, event),
        Err(error) => {
            transcript.fail(piece.line, error);
            if let Some(event) = stand_in(piece.text) {
                transcript.push(piece.line, event);
            }
        }
    }
}

/// Fields of a result that say which call it answers, with their names here and elsewhere.
const TELLING: [(&str, &[&str]); 7] = [
    ("callId", &["callId", "toolCallId", "tool_call_id", "call_id"]),
    ("tool", &["tool", "toolName", "tool_name"]),
    ("run", &["run"]),
    ("task", &["task"]),
    ("parentTask", &["parentTask"]),
    ("agent", &["agent"]),
    ("round", &["round"]),
];

/// A stand-in for a result that cannot be read: its call was answered after all. It is marked as made by the host, so
/// that it is no evidence.
fn stand_in(text: &str) -> Option<TraceEvent> {
    let whole = json::value(text).ok();
    let said = |field: &str| match &whole {
        Some(value) => Some(String::from(value.get(field)?.as_str()?)),
        None => written(text, field),
    };
    let kind = said("type")?;
    let letters = kind.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase());
    if !letters.eq(*b"toolresult") {
        return None;
    }
    let mut event = Map::new();
    for (field, names) in TELLING {
        if let Some(value) = names.iter().find_map(|name| said(name)).filter(|value| !value.trim().is_empty()) {
            event.insert(field.into(), value.into());
        }
    }
    for (field, value) in [("type", "tool-result"), ("outcome", "not-executed"), ("output", "cannot be read")] {
        event.insert(field.into(), value.into());
    }
    event.insert("synthetic".into(), true.into());
    event.insert("labels".into(), Value::Object(Map::from_iter([("unread".into(), "result".into())])));
    json::trace_event(&json::to_string(&event)).ok()
}

/// The text of a string field in text that is not valid JSON.
fn written(text: &str, field: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("\"{field}\""))?;
    let (value, _) = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?.split_once('"')?;
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use crate::transcript::{Format, read};
    use alloc::{format, string::String};

    #[test]
    fn a_result_that_cannot_be_read_answers_its_call() {
        let call = r#"{"type":"tool-call","tool":"get_job","args":{},"callId":"c1"}"#;
        let stands = r#"{"type":"tool-result","callId":"c1","tool":"get_job","outcome":"not-executed","output":"cannot be read","run":"r","synthetic":true,"labels":{"unread":"result"}}"#;
        let bare = stands.replace(r#""run":"r","#, "");
        for (line, told) in [
            (r#"{"type":"tool-result","tool":"get_job","callId":"c1","run":"r","outcome":"ok","result":1}"#, stands),
            (r#"{"type":"tool_result","toolName":"get_job","toolCallId":"c1","outcome":"ok","output":""}"#, &bare),
            (r#"{"type":"ToolResult","tool_name":"get_job","callId":"c1","at":"now","run":7}"#, &bare),
            // Not JSON: the output contains unescaped quotes.
            (r#"{"type" : "tool-result","tool":"get_job","callId": "c1","outcome":"ok","output":"a "b" c"}"#, &bare),
            (r#"{"type":"tool-call","tool":"get_job","callId":"c1","arg":{}}"#, ""),
            (r#"{"type":"message","role":"user","txt":"a"}"#, ""),
            (r#"{"type":"tool-resul"#, ""),
            ("tool-result", ""),
        ] {
            let read = read(&format!("{call}\n{line}\n{call}"), Some(Format::Trace));
            let between: String = read.events.iter().skip(1).rev().skip(1).map(crate::json::to_string).collect();
            assert_eq!(between, told, "{line}");
            assert!(read.errors.iter().map(|error| error.line).eq([2]), "{:?}", read.errors);
            assert!(told.is_empty() || read.lines == [1, 2, 3], "{:?}", read.lines);
        }
    }
}
