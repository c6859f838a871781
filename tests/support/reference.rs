//! Reference rules: small reimplementations of what agents ship with, for comparison. Not part of the library.

use loopwarden::model::{Body, Channel, Event, HostKind, Message, Outcome, Role, ToolCall};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Reference {
    /// The same tool with the same arguments, three times in a row.
    IdenticalThrice,
    /// Four equal calls with equal outcomes; three equal calls that fail; three equal messages without an outcome in
    /// between; six alternating steps.
    OpenHandsLike,
    /// Five equal calls in a row, or fifty characters repeated ten times at close intervals in streamed text.
    GeminiLike,
}

impl Reference {
    pub(crate) const ALL: [Self; 3] = [Self::IdenticalThrice, Self::OpenHandsLike, Self::GeminiLike];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::IdenticalThrice => "identical x3",
            Self::OpenHandsLike => "OpenHands-like",
            Self::GeminiLike => "gemini-like",
        }
    }
}

/// The first event at which a reference rule fires. Like the originals, it treats the run as a single stream of events.
pub(crate) fn alarm(rule: Reference, events: &[(Event, bool)]) -> Option<usize> {
    let mut identical = Streak::default();
    let mut history = History::default();
    let mut chunks = Chunks::default();
    events.iter().position(|(event, _)| match rule {
        Reference::IdenticalThrice => identical.see(event, 3),
        Reference::OpenHandsLike => history.see(event),
        Reference::GeminiLike => identical.see(event, 5) | chunks.see(event),
    })
}

fn key(call: &ToolCall) -> String {
    let args = call.args.as_ref().map(ToString::to_string).unwrap_or_default();
    format!("{}\n{args}\n{}", call.tool, call.raw_args.as_deref().unwrap_or_default())
}

/// A human wrote, or the host started afresh.
fn begins_anew(event: &Event) -> bool {
    match &event.body {
        Body::Message(message) => message.role == Role::User && !event.context.synthetic,
        Body::Host(host) => matches!(host.kind, HostKind::RunStart | HostKind::Restart),
        _ => false,
    }
}

/// Equal calls in a row; other events in between are ignored.
#[derive(Default)]
struct Streak {
    last: String,
    length: usize,
}

impl Streak {
    fn see(&mut self, event: &Event, threshold: usize) -> bool {
        if begins_anew(event) {
            *self = Self::default();
        }
        let Body::ToolCall(call) = &event.body else { return false };
        let key = key(call);
        self.length = if self.last == key { self.length + 1 } else { 1 };
        self.last = key;
        self.length >= threshold
    }
}

#[derive(Default)]
struct History {
    /// Calls without a result, oldest first: id and key.
    open: Vec<(Option<String>, String)>,
    /// Calls with their results: key, outcome as text, whether it is a failure.
    steps: Vec<(String, String, bool)>,
    /// The agent's messages since the last result.
    said: Vec<String>,
}

impl History {
    fn see(&mut self, event: &Event) -> bool {
        if begins_anew(event) {
            *self = Self::default();
        }
        match &event.body {
            Body::ToolCall(call) => self.open.push((call.call_id.clone(), key(call))),
            Body::ToolResult(result) => {
                let by_id = self.open.iter().position(|(id, _)| id.is_some() && *id == result.call_id);
                if self.open.is_empty() {
                    return false;
                }
                let (_, key) = self.open.remove(by_id.unwrap_or(0));
                let failed = !matches!(result.outcome, Outcome::Ok);
                self.steps.push((
                    key,
                    format!("{:?} {:?} {}", result.outcome, result.exit_code, result.output),
                    failed,
                ));
                self.said.clear();
                return self.stuck();
            }
            Body::Message(Message { role: Role::Assistant, channel, text, .. })
                if *channel != Some(Channel::Reasoning) =>
            {
                self.said.push(text.clone());
                return matches!(self.said.as_slice(), [.., a, b, c] if a == b && b == c);
            }
            _ => {}
        }
        false
    }

    fn stuck(&self) -> bool {
        let repeated = |last: &[(String, String, bool)]| last.windows(2).all(|pair| matches!(pair, [a, b] if a == b));
        let failing = |last: &[(String, String, bool)]| {
            last.iter().all(|(_, _, failed)| *failed)
                && last.windows(2).all(|pair| matches!(pair, [a, b] if a.0 == b.0))
        };
        let alternating =
            |last: &[(String, String, bool)]| last.windows(3).all(|three| matches!(three, [a, _, b] if a == b));
        let last = |count: usize| self.steps.len().checked_sub(count).and_then(|from| self.steps.get(from..));
        last(4).is_some_and(repeated) || last(3).is_some_and(failing) || last(6).is_some_and(alternating)
    }
}

/// Streamed text in chunks of fifty characters.
#[derive(Default)]
struct Chunks {
    text: Vec<char>,
    at: BTreeMap<Vec<char>, Vec<usize>>,
    fenced: bool,
}

impl Chunks {
    const LENGTH: usize = 50;
    const REPEATS: usize = 10;
    const CLOSE: usize = 5 * Self::LENGTH;
    const HISTORY: usize = 5_000;

    fn see(&mut self, event: &Event) -> bool {
        if begins_anew(event) {
            *self = Self::default();
        }
        match &event.body {
            Body::ToolCall(_) => *self = Self::default(),
            Body::Delta(delta) => return self.feed(&delta.text),
            Body::Message(Message { role: Role::Assistant, text, .. }) => return self.feed(text),
            _ => {}
        }
        false
    }

    fn feed(&mut self, piece: &str) -> bool {
        let fences = piece.matches("```").count();
        let markdown = piece.lines().map(str::trim_start).any(|line| {
            line.starts_with(['#', '>', '|'])
                || line.starts_with("- ")
                || line.starts_with("* ")
                || line.starts_with("---")
        });
        let fenced = self.fenced;
        if fences > 0 || markdown {
            *self = Self { fenced: fenced ^ (fences % 2 == 1), ..Self::default() };
        }
        if fenced || self.fenced {
            return false;
        }
        let mut found = false;
        for character in piece.chars() {
            self.text.push(character);
            found |= self.chunk();
            if self.text.len() >= 2 * Self::HISTORY {
                *self = Self { fenced: self.fenced, ..Self::default() };
            }
        }
        found
    }

    /// Notes the chunk that ends here; whether it was repeated often at close intervals.
    fn chunk(&mut self) -> bool {
        let Some(start) = self.text.len().checked_sub(Self::LENGTH) else { return false };
        let chunk: Vec<char> = self.text.iter().skip(start).copied().collect();
        let at = self.at.entry(chunk).or_default();
        at.push(start);
        let Some(from) = at.len().checked_sub(Self::REPEATS) else { return false };
        let last: Vec<usize> = at.iter().skip(from).copied().collect();
        let first = last.first().copied().unwrap_or_default();
        let near = start - first <= Self::CLOSE * (Self::REPEATS - 1);
        let between: BTreeSet<String> = last
            .windows(2)
            .filter_map(|pair| Some(self.text.get(*pair.first()?..*pair.last()?)?.iter().collect()))
            .collect();
        near && between.len() <= 5
    }
}
