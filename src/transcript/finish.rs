//! What no single entry shows and only a whole log does: the call of a result that precedes it or names none, arguments
//! that merely say why a call is made, and that nothing was found.

use super::Transcript;
use super::out::{Place, place};
use super::rationale;
use crate::model::{Body, Context, Error, ErrorCode, Outcome, ToolCall, ToolResult};
use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    format,
    string::String,
    vec::Vec,
};
use xxhash_rust::xxh3::xxh3_64;

/// Calls without ids that wait for their results.
#[derive(Default)]
struct OpenCalls(BTreeMap<Place, VecDeque<Call>>);

/// A call and its index among the events.
struct Call {
    index: usize,
    tool: String,
    round: Option<String>,
}

impl OpenCalls {
    fn call(&mut self, index: usize, call: &ToolCall, context: &Context) {
        let waiting = self.0.entry(place(context)).or_default();
        // Calls left open by an earlier turn are not answered any more.
        waiting.retain(|call| call.round.is_none() || call.round == context.round);
        waiting.push_back(Call { index, tool: call.tool.clone(), round: context.round.clone() });
    }

    /// Index of the call that a result without an id belongs to: the oldest of that tool.
    fn result(&mut self, result: &ToolResult, context: &Context) -> Option<usize> {
        let waiting = self.0.get_mut(&place(context))?;
        let fits = |call: &Call| result.tool.as_ref().is_none_or(|named| *named == call.tool);
        let found = waiting.iter().position(fits)?;
        waiting.remove(found).map(|call| call.index)
    }
}

/// Digest of a call id within its run.
type Key = u64;

fn key(run: Option<&String>, id: &str) -> Key {
    xxh3_64(id.as_bytes()) ^ run.map_or(0, |run| xxh3_64(run.as_bytes()).rotate_left(17))
}

/// What is known of a log across its windows.
#[derive(Default)]
pub(super) struct Finish {
    pub(super) documents: usize,
    /// Whether any event or error was reported so far.
    pub(super) told: bool,
    /// The calls of each id; all of them are kept, even of a long log.
    called: BTreeMap<Key, Waiting>,
    pairs: usize,
    rationales: rationale::Found,
}

impl Finish {
    /// How many events from the beginning of a window can be put in order without what follows: those before the first
    /// call without an id that may still be answered, or before the first result whose call may still come. The whole
    /// window if that would be less than half of it.
    pub(super) fn whole(&self, transcript: &Transcript) -> usize {
        let mut open = OpenCalls::default();
        let mut early: BTreeMap<Key, usize> = BTreeMap::new();
        let mut called: BTreeSet<Key> = BTreeSet::new();
        for (index, traced) in transcript.events.iter().enumerate() {
            let context = &traced.event.context;
            match &traced.event.body {
                Body::ToolCall(call) => match &call.call_id {
                    Some(id) => {
                        let key = key(context.run.as_ref(), id);
                        early.remove(&key);
                        called.insert(key);
                    }
                    None => open.call(index, call, context),
                },
                Body::ToolResult(result) => match &result.call_id {
                    Some(id) => {
                        let key = key(context.run.as_ref(), id);
                        let before = self.called.get(&key).is_some_and(|waiting| waiting.calls > 0);
                        if !before && !called.contains(&key) {
                            early.entry(key).or_insert(index);
                        }
                    }
                    None => {
                        open.result(result, context);
                    }
                },
                _ => {}
            }
        }
        let calls = open.0.values().flatten().map(|call| call.index);
        let all = transcript.events.len();
        match calls.chain(early.into_values()).min() {
            Some(first) if first >= all / 2 => first,
            _ => all,
        }
    }

    /// Puts the events of a window in order.
    pub(super) fn window(&mut self, transcript: &mut Transcript, last: bool) {
        calls_before_results(transcript, &mut self.called);
        name_pairs(transcript, &mut self.pairs);
        rationale::leave_out(transcript, &mut self.rationales);
        self.told |= !transcript.events.is_empty() || !transcript.errors.is_empty();
        if last && !self.told && self.documents > 0 {
            let (name, s) = (transcript.format.name(), if self.documents == 1 { "" } else { "s" });
            let message = format!(
                "read as {name}, and nothing in {} document{s} tells of a message, a call or a result; another format can be named",
                self.documents
            );
            transcript.fail(1, Error::new(ErrorCode::InvalidEvent, message));
        }
    }
}

/// The calls of one id: some providers restart ids in every answer, or give all calls the same.
#[derive(Clone, Copy, Default)]
struct Waiting {
    calls: u32,
    results: u32,
    /// A result came before its call, so that surplus results may belong to later calls. Otherwise they are duplicates.
    early: bool,
}

/// Moves a result that precedes its call behind it: hosts that run calls in parallel write whichever ends first.
fn calls_before_results(transcript: &mut Transcript, called: &mut BTreeMap<Key, Waiting>) {
    // Indexes of early results, by the call they wait for.
    let mut early: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    let mut moved: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, traced) in transcript.events.iter().enumerate() {
        let run = traced.event.context.run.as_ref();
        match &traced.event.body {
            Body::ToolCall(call) => {
                let Some(id) = &call.call_id else { continue };
                let key = key(run, id);
                let waiting = called.entry(key).or_default();
                waiting.calls = waiting.calls.saturating_add(1);
                if let Some(results) = early.remove(&key) {
                    waiting.early = true;
                    moved.insert(index, results);
                }
            }
            Body::ToolResult(result) => {
                let Some(id) = &result.call_id else { continue };
                let key = key(run, id);
                let waiting = called.entry(key).or_default();
                if waiting.calls == 0 || waiting.early && waiting.results >= waiting.calls {
                    early.entry(key).or_default().push(index);
                }
                waiting.results = waiting.results.saturating_add(1);
            }
            _ => {}
        }
    }
    if moved.is_empty() {
        return;
    }
    let late: BTreeSet<usize> = moved.values().flatten().copied().collect();
    let in_order = (0..transcript.events.len()).filter(|index| !late.contains(index));
    let order: Vec<usize> = in_order
        .flat_map(|index| core::iter::once(index).chain(moved.get(&index).into_iter().flatten().copied()))
        .collect();
    let mut events: Vec<_> = core::mem::take(&mut transcript.events).into_iter().map(Some).collect();
    for index in &order {
        transcript.events.extend(events.get_mut(*index).and_then(Option::take));
    }
    transcript.lines = order.iter().filter_map(|index| transcript.lines.get(*index)).copied().collect();
    // A result that came first may lack its tool.
    let mut tools = BTreeMap::new();
    for traced in &mut transcript.events {
        let run = traced.event.context.run.clone();
        match &mut traced.event.body {
            Body::ToolCall(call) => {
                if let Some(id) = &call.call_id {
                    tools.insert((run, id.clone()), call.tool.clone());
                }
            }
            Body::ToolResult(result) if result.tool.is_none() => {
                result.tool = result.call_id.clone().and_then(|id| tools.get(&(run, id)).cloned());
            }
            _ => {}
        }
    }
}

/// Gives a call and a result without ids the same id if their order in the log shows that they belong together.
fn name_pairs(transcript: &mut Transcript, named: &mut usize) {
    let mut open = OpenCalls::default();
    let mut pairs = Vec::new();
    for (index, traced) in transcript.events.iter().enumerate() {
        let context = &traced.event.context;
        match &traced.event.body {
            Body::ToolCall(call) if call.call_id.is_none() => open.call(index, call, context),
            // A rejected output was not one of these calls.
            Body::ToolResult(ToolResult { call_id: None, tool: None, outcome: Outcome::NotExecuted, .. }) => {}
            Body::ToolResult(result) if result.call_id.is_none() => {
                pairs.extend(open.result(result, context).map(|call| (call, index)));
            }
            _ => {}
        }
    }
    for (call, result) in pairs {
        *named = named.saturating_add(1);
        let id = format!("#{named}");
        let tool = match transcript.events.get_mut(call).map(|traced| &mut traced.event.body) {
            Some(Body::ToolCall(call)) => {
                call.call_id = Some(id.clone());
                Some(call.tool.clone())
            }
            _ => None,
        };
        if let Some(Body::ToolResult(result)) = transcript.events.get_mut(result).map(|traced| &mut traced.event.body) {
            result.call_id = Some(id);
            result.tool = result.tool.take().or(tool);
        }
    }
}
