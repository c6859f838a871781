//! What LangGraph streams: pairs of a mode and what it tells, one a line or in a list; triples where the graph of a node
//! is named first. Of several modes the one that tells most at least length is read.

use super::content::{content_text, id, list, text};
use super::langchain;
use super::out::Out;
use super::pieces::Piece;
use super::usage::Usage;
use alloc::{borrow::ToOwned, collections::BTreeSet, string::String, vec::Vec};
use serde_json::{Map, Value, json};

const MODES: [&str; 9] = [
    "\"updates\"",
    "\"values\"",
    "\"messages\"",
    "\"custom\"",
    "\"debug\"",
    "\"tasks\"",
    "\"checkpoints\"",
    "\"events\"",
    "\"messages-tuple\"",
];

/// Whether a document is such a pair, or a list of them.
pub(super) fn is_tuple(document: Piece<'_>) -> bool {
    mode(document).is_some()
        || (document.is_list() && document.inside().pieces.first().is_some_and(|(_, first)| mode(*first).is_some()))
}

/// The mode of a pair or triple, and what it tells.
fn mode<'a>(piece: Piece<'a>) -> Option<(&'static str, Piece<'a>)> {
    if !piece.is_list() {
        return None;
    }
    let inside = piece.inside().pieces;
    let (name, told) = match inside.as_slice() {
        [(_, name), (_, told)] => (name, told),
        [(_, graph), (_, name), (_, told)] if graph.is_list() => (name, told),
        _ => return None,
    };
    let known = MODES.iter().find(|mode| **mode == name.text)?;
    Some((known.trim_matches('"'), *told))
}

/// What a stream told so far: of its modes one is read, so it is known whole only at its end.
#[derive(Default)]
pub(super) struct Stream {
    begun: bool,
    told: Vec<(&'static str, u32, String)>,
}

impl Stream {
    /// Takes a document; false where no stream is read.
    pub(super) fn document(&mut self, out: &mut Out, document: Piece<'_>) -> bool {
        self.begun |= is_tuple(document);
        if !self.begun {
            return false;
        }
        if let Some((mode, piece)) = mode(document) {
            self.take(mode, piece);
        } else if document.is_list() {
            let inside = document.inside();
            for (_, piece) in inside.pieces {
                match mode(piece) {
                    Some((mode, piece)) => self.take(mode, piece),
                    None => broken(out, piece),
                }
            }
            if !inside.closed {
                out.cut_off(document.line);
            }
        } else {
            broken(out, document);
        }
        true
    }

    fn take(&mut self, mode: &'static str, piece: Piece<'_>) {
        // A mode that tells more makes the others needless.
        const READ: [&str; 3] = ["updates", "values", "messages"];
        let rank = |mode: &str| READ.iter().position(|read| *read == mode);
        let Some(new) = rank(mode) else { return };
        match self.told.first().and_then(|(known, ..)| rank(known)) {
            Some(known) if known < new => return,
            Some(known) if known > new => self.told.clear(),
            _ => {}
        }
        self.told.push((mode, piece.line, piece.text.to_owned()));
    }

    /// Reads what was told.
    pub(super) fn end(&mut self, out: &mut Out) {
        let mut seen = BTreeSet::new();
        let mut stream = Streamed::default();
        for (mode, line, text) in core::mem::take(&mut self.told) {
            let value = match (Piece { line, text: &text }).value() {
                Ok(value) => value,
                Err(error) => {
                    out.transcript.fail(line, error);
                    continue;
                }
            };
            out.line = line;
            out.path.clear();
            match (mode, value) {
                ("updates", Value::Object(nodes)) => update(out, &nodes),
                ("values", Value::Object(state)) => {
                    for message in list(&state, "messages") {
                        if seen.insert(identity(message)) {
                            entry(out, message);
                        }
                    }
                }
                ("messages", Value::Array(pair)) => {
                    if let Some(Value::Object(chunk)) = pair.first() {
                        stream.chunk(out, chunk);
                    }
                }
                (_, other) => out.fail(mode, "what a graph tells", Some(&other)),
            }
        }
        stream.end(out);
    }
}

fn broken(out: &mut Out, piece: Piece<'_>) {
    if let Err(error) = piece.value() {
        out.transcript.fail(piece.line, error);
    } else {
        out.line = piece.line;
        out.path.clear();
        out.fail("mode", "a pair of a mode and what it tells", None);
    }
}

/// What the nodes of a step changed; one may have changed its messages, more than once.
fn update(out: &mut Out, nodes: &Map<String, Value>) {
    for (name, node) in nodes {
        let states = match node {
            Value::Array(states) => states.iter().collect(),
            state => alloc::vec![state],
        };
        for state in states {
            let messages = match state.get("messages") {
                Some(Value::Array(messages)) => messages.clone(),
                Some(message @ Value::Object(_)) => alloc::vec![message.clone()],
                _ => continue,
            };
            let context = out.context();
            let mut map = Map::new();
            map.insert(name.clone(), json!({ "messages": messages }));
            langchain::entry(out, context, &map);
        }
    }
}

fn entry(out: &mut Out, message: &Value) {
    if let Value::Object(map) = message {
        let context = out.context();
        langchain::entry(out, context, map);
    }
}

/// A message's id, or all of it.
fn identity(message: &Value) -> String {
    let fields = message.get("kwargs").or_else(|| message.get("data")).unwrap_or(message);
    id(fields.get("id")).unwrap_or_else(|| crate::json::to_string(message))
}

/// A message that comes in pieces.
#[derive(Default)]
struct Streamed {
    id: Option<String>,
    text: String,
    /// Id, name and the text of the arguments.
    calls: Vec<(Option<String>, String, String)>,
    /// Each piece tells what it adds.
    usage: Usage,
}

impl Streamed {
    fn chunk(&mut self, out: &mut Out, chunk: &Map<String, Value>) {
        let fields = chunk.get("kwargs").and_then(Value::as_object).unwrap_or(chunk);
        let class = chunk.get("id").and_then(|id| id.as_array()?.last()?.as_str());
        let kind = class.or_else(|| text(fields, "type")).unwrap_or_default();
        let message = id(fields.get("id"));
        if !kind.ends_with("Chunk") || message != self.id {
            self.end(out);
        }
        if !kind.ends_with("Chunk") {
            return entry(out, &Value::Object(chunk.clone()));
        }
        self.id = message;
        self.usage.add(langchain::used(fields));
        self.text.push_str(&fields.get("content").and_then(content_text).unwrap_or_default());
        for part in list(fields, "tool_call_chunks") {
            let name = part.get("name").and_then(Value::as_str).unwrap_or_default();
            let args = part.get("args").and_then(Value::as_str).unwrap_or_default();
            if !name.is_empty() || self.calls.is_empty() {
                self.calls.push((id(part.get("id")), name.to_owned(), args.to_owned()));
            } else if let Some((.., before)) = self.calls.last_mut() {
                before.push_str(args);
            }
        }
    }

    /// The message is whole.
    fn end(&mut self, out: &mut Out) {
        let Self { text, calls, usage, .. } = core::mem::take(self);
        out.spends(&out.context(), usage);
        if text.is_empty() && calls.is_empty() {
            return;
        }
        let calls: Vec<Value> =
            calls.into_iter().map(|(id, name, args)| json!({ "id": id, "name": name, "args": args })).collect();
        entry(out, &json!({ "type": "ai", "content": text, "tool_calls": calls }));
    }
}
