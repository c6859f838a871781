//! LangGraph streams: pairs of a mode and its data, one per line or in a list; triples that begin with the path of a
//! subgraph; and pairs without a mode for a single one. Of several modes, the most concise complete one is read. Also
//! thread states as returned by the API, alone or in a list.

use super::content::{StreamedCall, at, content_text, id, list, text, text_at};
use super::langchain;
use super::out::Out;
use super::pieces::Piece;
use super::usage::Usage;
use alloc::{borrow::ToOwned, collections::BTreeSet, format, string::String, vec::Vec};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

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

/// The mode of a pair or triple, and its data.
fn mode<'a>(piece: Piece<'a>) -> Option<(&'static str, Piece<'a>)> {
    if !piece.is_list() {
        return None;
    }
    let inside = piece.inside().pieces;
    let (name, told) = match inside.as_slice() {
        // A stream of messages only, and one with subgraphs.
        [(_, message), (_, about)] if is_about_message(*message, *about) => return Some(("messages", piece)),
        [(_, graph), (_, told)] if is_graph(*graph) => match told.inside().pieces.as_slice() {
            [(_, message), (_, about)] if is_about_message(*message, *about) => return Some(("messages", *told)),
            _ => return None,
        },
        [(_, name), (_, told)] => (name, told),
        [(_, graph), (_, name), (_, told)] if graph.is_list() => (name, told),
        _ => return None,
    };
    let known = MODES.iter().find(|mode| **mode == name.text)?;
    Some((known.trim_matches('"'), *told))
}

/// Whether a piece is the path of a subgraph.
fn is_graph(piece: Piece<'_>) -> bool {
    piece.is_list() && piece.inside().pieces.iter().all(|(_, name)| name.text.starts_with('"'))
}

/// Whether the second of two objects says where in a graph the first was written.
fn is_about_message(message: Piece<'_>, about: Piece<'_>) -> bool {
    message.is_object()
        && about.is_object()
        && about.inside().pieces.iter().any(|(key, _)| matches!(*key, "langgraph_node" | "langgraph_step"))
}

/// Where the messages of a thread's state are: in an API response, and in a checkpoint.
const STATES: [&[&str]; 4] =
    [&["values"], &["channel_values"], &["checkpoint", "channel_values"], &["state", "values"]];

/// The messages of a document that is a thread's state.
fn messages_of_state<'a>(document: Piece<'a>) -> Option<Piece<'a>> {
    let member = |piece: Piece<'a>, key: &str| {
        piece.inside().pieces.into_iter().find(|(name, _)| *name == key).map(|(_, member)| member)
    };
    if !document.is_object() || !document.text.contains("values\"") {
        return None;
    }
    let state = STATES.iter().find_map(|path| {
        path.iter().try_fold(document, |piece, key| member(piece, key).filter(|inner| inner.is_object()))
    })?;
    member(state, "messages").filter(|messages| messages.is_list())
}

/// Whether a document is a thread's state, or a list of them.
pub(super) fn is_state(document: Piece<'_>) -> bool {
    messages_of_state(document).is_some()
        || (document.is_list()
            && document.inside().pieces.first().is_some_and(|(_, first)| messages_of_state(*first).is_some()))
}

/// Thread states: each repeats all messages so far, and a history of them begins with the newest.
#[derive(Default)]
pub(super) struct States {
    /// Digests of the messages reported, with their thread.
    told: BTreeSet<u64>,
}

impl States {
    /// Takes a document; false if it is not a state.
    pub(super) fn document(&mut self, out: &mut Out, document: Piece<'_>) -> bool {
        if !is_state(document) {
            return false;
        }
        if !document.is_list() {
            self.state(out, document);
            return true;
        }
        let inside = document.inside();
        for (_, piece) in &inside.pieces {
            self.state(out, *piece);
        }
        if !inside.closed {
            out.cut_off(inside.last_line());
        }
        true
    }

    fn state(&mut self, out: &mut Out, document: Piece<'_>) {
        out.line = document.line;
        out.path.clear();
        let Some(messages) = messages_of_state(document) else {
            if let Err(error) = document.object() {
                out.transcript.fail(document.line, error);
            }
            return;
        };
        let members = document.inside();
        let small = |key: &str| {
            let (_, piece) = members.pieces.iter().find(|(name, _)| *name == key)?;
            piece.value().ok()
        };
        let thread = ["thread_id"].iter().find_map(|key| id(small(key).as_ref())).or_else(|| {
            let within = |key: &str, path: &[&str]| id(at(&small(key)?, path));
            within("checkpoint", &["thread_id"])
                .or_else(|| within("config", &["configurable", "thread_id"]))
                .or_else(|| within("metadata", &["thread_id"]))
        });
        if out.run != thread {
            out.end_round();
            out.run = thread;
        }
        let inside = messages.inside();
        for (index, (_, piece)) in inside.pieces.iter().enumerate() {
            out.line = piece.line;
            out.path = format!("messages[{index}].");
            match piece.object() {
                Ok(map) => {
                    let message = Value::Object(map);
                    // A message without an id is identified by its index.
                    let name = own_id(&message).unwrap_or_else(|| format!("{index}:{message}"));
                    let thread = out.run.clone().unwrap_or_default();
                    if self.told.insert(xxh3_64(format!("{thread}\n{name}").as_bytes())) {
                        entry(out, &message);
                    }
                }
                Err(error) => out.transcript.fail(piece.line, error),
            }
        }
        if !inside.closed || !members.closed {
            out.cut_off(inside.last_line());
        }
    }
}

/// A stream so far. Only one of its modes is read, so what to read is known only at its end.
#[derive(Default)]
pub(super) struct Stream {
    begun: bool,
    updated: bool,
    told: Vec<(&'static str, u32, String)>,
}

impl Stream {
    /// Takes a document; false if this is not a stream.
    pub(super) fn document(&mut self, out: &mut Out, document: Piece<'_>) -> bool {
        self.begun |= is_tuple(document);
        if !self.begun {
            return false;
        }
        if let Some((mode, piece)) = mode(document) {
            self.take(out, mode, piece);
        } else if document.is_list() {
            let inside = document.inside();
            for (_, piece) in inside.pieces {
                match mode(piece) {
                    Some((mode, piece)) => self.take(out, mode, piece),
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

    fn take(&mut self, out: &mut Out, mode: &'static str, piece: Piece<'_>) {
        // In order of preference; a preferred mode makes the others redundant.
        const READ: [&str; 2] = ["values", "messages"];
        if mode == "updates" {
            // Preferred to all others, so it is read immediately.
            self.updated = true;
            self.told.clear();
            out.line = piece.line;
            out.path.clear();
            match piece.value() {
                Ok(Value::Object(nodes)) => update(out, &nodes),
                Ok(other) => out.fail(mode, "what a graph tells", Some(&other)),
                Err(error) => out.transcript.fail(piece.line, error),
            }
        }
        if self.updated {
            return;
        }
        let rank = |mode: &str| READ.iter().position(|read| *read == mode);
        let Some(new) = rank(mode) else { return };
        match self.told.first().and_then(|(known, ..)| rank(known)) {
            Some(known) if known < new => return,
            Some(known) if known > new => self.told.clear(),
            _ => {}
        }
        self.told.push((mode, piece.line, piece.text.to_owned()));
    }

    /// Reads the mode that was kept.
    pub(super) fn end(&mut self, out: &mut Out) {
        let mut seen = BTreeSet::new();
        let mut stream = Streams::default();
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
                ("values", Value::Object(state)) => {
                    for message in list(&state, "messages") {
                        if seen.insert(identity(message)) {
                            entry(out, message);
                        }
                    }
                }
                ("messages", Value::Array(pair)) => {
                    if let Some(Value::Object(chunk)) = pair.first() {
                        let about = pair.get(1).unwrap_or(&Value::Null);
                        let graph = ["langgraph_checkpoint_ns", "checkpoint_ns", "langgraph_node"];
                        let graph = graph.iter().find_map(|key| id(about.get(*key))).unwrap_or_default();
                        stream.chunk(out, &graph, chunk);
                    }
                }
                (_, other) => out.fail(mode, "what a graph tells", Some(&other)),
            }
        }
        stream.end(out, |_| true);
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

/// The updates of a step's nodes; a node may have updated its messages several times.
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

/// A message's id, or else its JSON text.
fn identity(message: &Value) -> String {
    own_id(message).unwrap_or_else(|| crate::json::to_string(message))
}

fn own_id(message: &Value) -> Option<String> {
    id(message.get("kwargs").or_else(|| message.get("data")).unwrap_or(message).get("id"))
}

/// Messages that arrive in chunks; those of several graphs alternate.
#[derive(Default)]
struct Streams(Vec<Streamed>);

/// A message that arrives in chunks.
#[derive(Default)]
struct Streamed {
    /// The graph it is written in.
    graph: String,
    id: Option<String>,
    line: u32,
    text: String,
    calls: Vec<StreamedCall>,
    /// Each chunk reports what it adds.
    usage: Usage,
}

impl Streams {
    fn chunk(&mut self, out: &mut Out, graph: &str, chunk: &Map<String, Value>) {
        let fields = chunk.get("kwargs").and_then(Value::as_object).unwrap_or(chunk);
        let class = chunk.get("id").and_then(|id| id.as_array()?.last()?.as_str());
        let kind = class.or_else(|| text(fields, "type")).unwrap_or_default();
        let message = id(fields.get("id"));
        if !kind.ends_with("Chunk") {
            // A complete message ends what its graph streamed before, and also the message with the call it answers.
            let answered = text(fields, "tool_call_id");
            self.end(out, |open| {
                open.graph == graph || open.calls.iter().any(|call| call.id.is_some() && call.id.as_deref() == answered)
            });
            return entry(out, &Value::Object(chunk.clone()));
        }
        let same = |open: &Streamed| open.graph == graph && (message.is_none() || open.id == message);
        let found = match self.0.iter().position(same) {
            Some(found) => found,
            None => {
                self.end(out, |open| open.graph == graph);
                let (graph, line) = (graph.to_owned(), out.line);
                self.0.push(Streamed { graph, id: message, line, ..Streamed::default() });
                self.0.len() - 1
            }
        };
        let Some(open) = self.0.get_mut(found) else { return };
        open.usage.add(langchain::used(fields));
        open.text.push_str(&fields.get("content").and_then(content_text).unwrap_or_default());
        for part in list(fields, "tool_call_chunks") {
            let [tool, args] = ["name", "args"].map(|key| text_at(part, &[key]).unwrap_or_default().to_owned());
            let index = part.get("index").and_then(Value::as_i64);
            StreamedCall { index, id: id(part.get("id")), tool, args }.join(&mut open.calls, |piece, call| {
                piece.tool.is_empty() && (piece.index.is_none() || call.index == piece.index)
            });
        }
    }

    /// Ends and writes the messages for which `whole` holds.
    fn end(&mut self, out: &mut Out, whole: impl Fn(&Streamed) -> bool) {
        let line = out.line;
        for open in core::mem::take(&mut self.0) {
            if !whole(&open) {
                self.0.push(open);
                continue;
            }
            out.line = open.line;
            out.spends(&out.context(), open.usage);
            if open.text.is_empty() && open.calls.is_empty() {
                continue;
            }
            let calls: Vec<Value> = (open.calls.into_iter())
                .map(|StreamedCall { id, tool, args, .. }| json!({ "id": id, "name": tool, "args": args }))
                .collect();
            entry(out, &json!({ "type": "ai", "content": open.text, "tool_calls": calls }));
        }
        out.line = line;
    }
}
