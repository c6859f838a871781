//! The sink that the readers write to.

use super::content::{arguments, content_text};
use super::pieces::Piece;
use super::usage::Usage;
use super::{Transcript, time, unexpected};
use crate::detector::is_blank;
use crate::json;
use crate::model::{
    Body, Channel, Context, Error, ErrorCode, Event, Host, HostKind, Message, Outcome, Role, ToolCall, ToolResult,
    TraceEvent,
};
use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, VecDeque},
    format,
    string::{String, ToString},
    vec::Vec,
};
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

/// Conversations of a file remembered, to recognise which one a request continues.
const CONVERSATIONS: usize = 64;

/// The transcript so far, and the position of its reader.
pub(super) struct Out {
    pub(super) transcript: Transcript,
    /// Line of the current entry.
    pub(super) line: u32,
    /// Path of the entry in its document, such as `messages[3].`; put before the fields named in errors.
    pub(super) path: String,
    /// The run that entries belong to.
    pub(super) run: Option<String>,
    /// Names of the called tools by call id, since a result often has only the id.
    tools: Tools,
    rounds: u64,
    in_round: bool,
    known: Conversations,
    /// Usage of answers whose first event is still to come, by run and agent.
    spent: BTreeMap<Place, Usage>,
    /// Whether there is more than one document.
    pub(super) several: bool,
    /// Events handed out already.
    pub(super) gone: usize,
}

/// Which tool was called under which id, stored compactly, as all calls of a long log are kept.
#[derive(Default)]
struct Tools {
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
    /// Index of the tool's name, by the digest of the call id.
    called: BTreeMap<u64, u32>,
}

impl Tools {
    fn called(&mut self, id: &str, tool: &str) {
        let number = match self.numbers.get(tool) {
            Some(number) => *number,
            None => {
                let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
                self.names.push(tool.to_owned());
                self.numbers.insert(tool.to_owned(), number);
                number
            }
        };
        self.called.insert(xxh3_64(id.as_bytes()), number);
    }

    fn of(&self, id: &str) -> Option<&String> {
        let number = self.called.get(&xxh3_64(id.as_bytes()))?;
        self.names.get(usize::try_from(*number).ok()?)
    }
}

/// Run and agent: the place in which answers, calls and results belong together.
pub(super) type Place = (Option<String>, Option<String>);

pub(super) fn place(context: &Context) -> Place {
    (context.run.clone(), context.agent.clone())
}

/// A part of a document.
pub(super) enum Part {
    /// The members of a document beside its lists of entries; comes before those.
    Head(Map<String, Value>),
    Entry(Map<String, Value>),
}

/// Which lists of a document hold entries.
#[derive(Clone, Copy)]
pub(super) enum Lists {
    /// All of these, one after the other.
    All(&'static [&'static str]),
    /// The first of these that is not empty.
    First(&'static [&'static str]),
}

impl Out {
    pub(super) fn new(transcript: Transcript) -> Self {
        Self {
            transcript,
            line: 0,
            path: String::new(),
            run: None,
            tools: Tools::default(),
            rounds: 0,
            in_round: false,
            known: Conversations::default(),
            spent: BTreeMap::new(),
            several: false,
            gone: 0,
        }
    }

    /// Number of events so far.
    pub(super) fn count(&self) -> usize {
        self.gone + self.transcript.events.len()
    }

    /// Visits the entries of a document. An object is an entry, or a document with lists of entries; a list holds
    /// entries, lists of entries, or documents. Broken parts are reported and skipped.
    pub(super) fn walk(&mut self, document: Piece<'_>, lists: Lists, mut read: impl FnMut(&mut Self, Part)) {
        self.walk_into(document, lists, &mut read);
    }

    fn walk_into(&mut self, document: Piece<'_>, lists: Lists, read: &mut dyn FnMut(&mut Self, Part)) {
        let keys = match lists {
            Lists::All(keys) | Lists::First(keys) => keys,
        };
        if document.is_list() {
            let inside = document.inside();
            if !inside.pieces.first().is_some_and(|(_, first)| holds_list(*first, keys)) {
                return self.list(document, "", 0, read);
            }
            self.several |= inside.pieces.len() > 1;
            for (_, piece) in &inside.pieces {
                self.walk_into(*piece, lists, read);
            }
            if !inside.closed {
                self.cut_off(inside.last_line());
            }
            return;
        }
        let inside = document.is_object().then(|| document.inside());
        let found = |key: &str| {
            inside.iter().flat_map(|inside| &inside.pieces).find(|(name, piece)| *name == key && piece.is_list())
        };
        // An item of a conversation may have lists with such names of its own.
        let item = inside.iter().flat_map(|inside| &inside.pieces).any(|(name, _)| matches!(*name, "type" | "role"));
        let wanted = keys.iter().filter(|key| !item || **key == "messages");
        let mut entries: Vec<_> = wanted.filter_map(|key| found(key).copied()).collect();
        if matches!(lists, Lists::First(_)) {
            let full = entries.iter().position(|(_, list)| !list.inside().pieces.is_empty()).unwrap_or(0);
            entries = entries.into_iter().skip(full).take(1).collect();
        }
        self.line = document.line;
        self.path.clear();
        let (Some(inside), false) = (&inside, entries.is_empty()) else {
            match document.object() {
                Ok(map) => read(self, Part::Entry(map)),
                Err(error) => self.transcript.fail(document.line, error),
            }
            return;
        };
        let failures = self.transcript.errors.len();
        let mut head = Map::new();
        for (key, piece) in &inside.pieces {
            if entries.iter().any(|(list, _)| list == key) {
                continue;
            }
            match piece.value() {
                Ok(value) => {
                    head.insert((*key).to_owned(), value);
                }
                Err(error) => self.transcript.fail(piece.line, error),
            }
        }
        let skip = self.enter(&head, entries.first().map(|(_, piece)| *piece));
        if skip == 0 {
            read(self, Part::Head(head));
        }
        for (index, (key, piece)) in entries.iter().enumerate() {
            self.list(*piece, key, if index == 0 { skip } else { 0 }, read);
        }
        if !inside.closed && self.transcript.errors.len() == failures {
            self.cut_off(document.line);
        }
    }

    /// Enters a document; returns how many of its entries are known from an earlier one.
    fn enter(&mut self, head: &Map<String, Value>, entries: Option<Piece<'_>>) -> usize {
        const NAMES: [&str; 8] =
            ["sessionId", "session_id", "conversation_id", "thread_id", "chat_id", "instance_id", "task_id", "id"];
        let entries: Vec<u64> = if self.several {
            entries.iter().flat_map(|list| list.inside().pieces).map(|(_, piece)| digest(piece)).collect()
        } else {
            Vec::new()
        };
        // Requests of several agents may alternate. A system prompt alone does not identify a conversation.
        let known = &mut self.known.known;
        let goes_on = known.iter().enumerate().filter(|(_, known)| known.entries.len() > 1);
        let goes_on = goes_on.filter(|(_, known)| entries.starts_with(&known.entries));
        if let Some((index, _)) = goes_on.max_by_key(|(_, known)| known.entries.len())
            && let Some(Conversation { entries: before, run }) = known.remove(index)
        {
            known.push_back(Conversation { entries, run: run.clone() });
            if self.run != run {
                self.end_round();
                self.run = run;
            }
            return before.len();
        }
        // An API response belongs to whatever conversation is in the file.
        if head.get("object").is_some_and(Value::is_string) {
            return 0;
        }
        self.known.count += 1;
        let id = NAMES.iter().find_map(|name| super::content::id(head.get(*name)));
        self.run = id.or_else(|| self.several.then(|| self.known.count.to_string()));
        self.end_round();
        if entries.len() > 1 {
            self.known.known.push_back(Conversation { entries, run: self.run.clone() });
            if self.known.known.len() > CONVERSATIONS {
                self.known.known.pop_front();
            }
        }
        0
    }

    fn list(&mut self, list: Piece<'_>, name: &str, skip: usize, read: &mut dyn FnMut(&mut Self, Part)) {
        let inside = list.inside();
        let failures = self.transcript.errors.len();
        for (index, (_, piece)) in inside.pieces.iter().enumerate().skip(skip) {
            self.line = piece.line;
            self.path = format!("{name}[{index}].");
            // Some tools write lists of pairs, each a call and its result.
            let pieces = if piece.is_list() { piece.inside().pieces } else { alloc::vec![("", *piece)] };
            for (_, piece) in pieces {
                self.line = piece.line;
                match piece.object() {
                    Ok(map) => read(self, Part::Entry(map)),
                    Err(error) => self.transcript.fail(piece.line, error),
                }
            }
        }
        if !inside.closed && self.transcript.errors.len() == failures {
            self.cut_off(inside.last_line());
        }
    }

    pub(super) fn cut_off(&mut self, line: u32) {
        self.transcript.fail(line, Error::new(ErrorCode::InvalidJson, "the text ends before the document does"));
    }

    /// A context without an agent.
    pub(super) fn context(&self) -> Context {
        Context { run: self.run.clone(), ..Context::default() }
    }

    /// The context of the assistant's current turn.
    pub(super) fn in_round(&mut self, context: &Context) -> Context {
        Context { round: Some(self.round()), ..context.clone() }
    }

    /// The time in a field, in milliseconds: a date-time, or a number of seconds or milliseconds. Reports an invalid
    /// one.
    pub(super) fn time(&mut self, field: &str, stamp: Option<&Value>) -> Option<i64> {
        let stamp = stamp.filter(|stamp| !stamp.is_null())?;
        let at = match stamp {
            Value::String(text) => time::millis(text).or_else(|| time::millis(&format!("{text}Z"))),
            Value::Number(number) => time_of_number(&number.to_string()),
            _ => None,
        };
        if at.is_none() {
            self.fail(field, "a date and time", Some(stamp));
        }
        at
    }

    pub(super) fn push(&mut self, context: &Context, mut body: Body) {
        let mut context = context.clone();
        name(&mut body);
        if !self.spent.is_empty() && is_of_model(&body) {
            let usage = self.spent.remove(&place(&context)).unwrap_or_default();
            usage.tell(&mut context);
        }
        self.transcript.push(self.line, TraceEvent { event: Event { body, context }, pending: false });
    }

    /// Usage of an answer whose events follow; attached to the first of them.
    pub(super) fn spends(&mut self, context: &Context, usage: Usage) {
        if !usage.is_nothing() {
            self.spent.entry(place(context)).or_default().add(usage);
        }
    }

    /// Usage of the answer whose events came last; attached to the first of them.
    pub(super) fn spent(&mut self, context: &Context, usage: Usage) {
        let here = |event: &Event| event.context.run == context.run && event.context.agent == context.agent;
        let events = &mut self.transcript.events;
        let last = events.iter().rev().find(|traced| is_of_model(&traced.event.body) && here(&traced.event));
        let round = last.map(|traced| traced.event.context.round.clone());
        let first = events.iter_mut().filter(|traced| is_of_model(&traced.event.body) && here(&traced.event));
        // Bounded by the current window of a long log.
        match (round, usage.is_nothing()) {
            (_, true) => {}
            (Some(round), _) => {
                if let Some(traced) = first.rev().take_while(|traced| traced.event.context.round == round).last() {
                    usage.tell(&mut traced.event.context);
                }
            }
            (None, _) => self.spends(context, usage),
        }
    }

    /// Usage of a whole run, if the log has no finer figures; attached to its last event, with a label.
    pub(super) fn spent_in_all(&mut self, run: Option<String>, usage: Usage) {
        if let Some(traced) = self.transcript.events.iter_mut().rev().find(|traced| traced.event.context.run == run)
            && !usage.is_nothing()
        {
            usage.tell(&mut traced.event.context);
            traced.event.context.labels.insert("spent".to_owned(), "whole run".to_owned());
        }
    }

    /// Usage of answers without an event goes to the last event of their agent.
    pub(super) fn settle(&mut self) {
        for ((run, agent), usage) in core::mem::take(&mut self.spent) {
            let mut events = self.transcript.events.iter_mut().rev();
            if let Some(traced) =
                events.find(|traced| traced.event.context.run == run && traced.event.context.agent == agent)
            {
                usage.tell(&mut traced.event.context);
            }
        }
    }

    pub(super) fn fail(&mut self, field: &str, expected: &str, found: Option<&Value>) {
        let field = format!("{}{field}", self.path);
        self.transcript.fail(self.line, unexpected(field, expected, found));
    }

    pub(super) fn message(&mut self, context: &Context, role: Role, channel: Option<Channel>, text: impl Into<String>) {
        self.push(context, Body::Message(Message { role, channel, text: text.into(), digest: None }));
    }

    /// A message whose content is a text or a list of blocks; nothing if there is none.
    pub(super) fn said(&mut self, context: &Context, role: Role, field: &str, content: Option<&Value>) {
        match content {
            None | Some(Value::Null) => {}
            Some(content) => match content_text(content) {
                Some(text) if text.is_empty() && role == Role::Assistant => {}
                Some(text) => self.message(context, role, None, text),
                None => self.fail(field, "text or a list of blocks", Some(content)),
            },
        }
    }

    pub(super) fn reasoning(&mut self, context: &Context, text: Option<&str>) {
        // Redacted reasoning is written as an empty text.
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.message(context, Role::Assistant, Some(Channel::Reasoning), text);
        }
    }

    pub(super) fn host(&mut self, context: &Context, kind: HostKind, name: Option<&str>) {
        self.push(context, Body::Host(Host { kind, name: name.map(str::to_owned), detail: None }));
    }

    /// A call; its arguments are JSON, or JSON as text.
    pub(super) fn call(&mut self, context: &Context, tool: String, args: Option<&Value>, call_id: Option<String>) {
        // Some providers leave ids empty; those identify nothing.
        let call_id = call_id.filter(|id| !id.is_empty());
        if let Some(id) = &call_id {
            self.tools.called(id, &tool);
        }
        let (args, raw_args) = arguments(args);
        self.push(context, Body::ToolCall(ToolCall { tool, args, raw_args, call_id, ..ToolCall::default() }));
    }

    /// A result; if it names no tool, that of its call is filled in.
    pub(super) fn result(&mut self, context: &Context, mut result: ToolResult) {
        result.call_id = result.call_id.filter(|id| !id.is_empty());
        if result.tool.as_deref().is_none_or(is_blank) {
            result.tool = result.call_id.as_ref().and_then(|id| self.tools.of(id)).cloned();
        }
        self.push(context, Body::ToolResult(result));
    }

    /// The rejection of an output that was no call.
    pub(super) fn not_executed(&mut self, context: &Context, output: impl Into<String>) {
        let output = output.into();
        self.result(context, ToolResult { outcome: Outcome::NotExecuted, output, ..ToolResult::default() });
    }

    /// The round of the assistant's turn: the current one, or else a new one.
    pub(super) fn round(&mut self) -> String {
        if !core::mem::replace(&mut self.in_round, true) {
            self.rounds += 1;
        }
        self.rounds.to_string()
    }

    /// Ends the turn: the assistant's next event begins a new one.
    pub(super) fn end_round(&mut self) {
        self.in_round = false;
    }
}

/// Names a call without a tool `unknown`, so that it and its result are kept; drops a blank tool from a result.
pub(super) fn name(body: &mut Body) {
    match body {
        Body::ToolCall(call) if is_blank(&call.tool) => call.tool = "unknown".into(),
        Body::ToolResult(result) => result.tool = result.tool.take().filter(|tool| !is_blank(tool)),
        _ => {}
    }
}

/// Whether an event is part of a model's answer.
pub(super) fn is_of_model(body: &Body) -> bool {
    match body {
        Body::ToolCall(_) => true,
        Body::Message(message) => message.role == Role::Assistant,
        _ => false,
    }
}

/// Whether an element is a document with one of these lists rather than an entry.
fn holds_list(element: Piece<'_>, keys: &[&str]) -> bool {
    if !element.is_object() || element.text.len() < 2 {
        return false;
    }
    let members = element.inside().pieces;
    !members.iter().any(|(key, _)| matches!(*key, "type" | "role"))
        && members.iter().any(|(key, piece)| keys.contains(key) && piece.is_list())
}

/// A number of seconds, up to the year 5138, or of milliseconds, from 1973 on: `1767323045.678` in milliseconds, without
/// floating point.
fn time_of_number(number: &str) -> Option<i64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: i64 = whole.parse().ok()?;
    if whole.unsigned_abs() >= 100_000_000_000 {
        return Some(whole);
    }
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).chain(*b"000").take(3);
    let thousandths = digits.fold(0, |sum, digit| sum * 10 + i64::from(digit.saturating_sub(b'0')));
    Some(whole * 1000 + if number.starts_with('-') { -thousandths } else { thousandths })
}

/// The digest of an entry, without cache markers, which move on with every request.
fn digest(piece: Piece<'_>) -> u64 {
    match piece.value() {
        Ok(mut value) => {
            unmark(&mut value);
            xxh3_64(json::to_string(&value).as_bytes())
        }
        Err(_) => xxh3_64(piece.text.as_bytes()),
    }
}

/// Recursion is bounded by the depth at which JSON is accepted.
fn unmark(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("cache_control");
            map.values_mut().for_each(unmark);
        }
        Value::Array(items) => items.iter_mut().for_each(unmark),
        _ => {}
    }
}

/// Tells the conversations of a file apart.
#[derive(Default)]
struct Conversations {
    count: u64,
    /// Those that may continue, the oldest first.
    known: VecDeque<Conversation>,
}

struct Conversation {
    /// Digests of the entries so far: logs of requests repeat all of them each time.
    entries: Vec<u64>,
    run: Option<String>,
}
