//! What no single entry can tell, once a whole log is read: which call a result belongs to that was written before it or
//! names none, which argument only says why a call is made, and that nothing was found.

use super::Transcript;
use super::rationale;
use crate::model::{Body, Error, ErrorCode, Outcome};
use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    format,
    string::String,
    vec::Vec,
};
use xxhash_rust::xxh3::xxh3_64;

/// Where calls and results meet: a run and an agent.
type Place = (Option<String>, Option<String>);

/// A call's id in its run, in short.
type Key = u64;

fn key(run: Option<&String>, id: &str) -> Key {
    xxh3_64(id.as_bytes()) ^ run.map_or(0, |run| xxh3_64(run.as_bytes()).rotate_left(17))
}

/// What is known of a log across the windows that it is read in.
#[derive(Default)]
pub(super) struct Finish {
    pub(super) documents: usize,
    /// Whether anything was told so far, and whether anything was wrong.
    pub(super) told: bool,
    /// How the calls of each id stand; of a long log all are kept.
    called: BTreeMap<Key, Waiting>,
    pairs: usize,
    rationales: rationale::Found,
}

impl Finish {
    /// How many events of a window, from its beginning, can be put in order without what follows: up to the first call
    /// without an id that may still be answered, or the first result whose call may still come. All of them where less
    /// than half would be.
    pub(super) fn whole(&self, transcript: &Transcript) -> usize {
        let mut open: BTreeMap<Place, VecDeque<(usize, String, Option<String>)>> = BTreeMap::new();
        let mut early: BTreeMap<Key, usize> = BTreeMap::new();
        let mut called: BTreeSet<Key> = BTreeSet::new();
        for (index, traced) in transcript.events.iter().enumerate() {
            let context = &traced.event.context;
            let place = || (context.run.clone(), context.agent.clone());
            match &traced.event.body {
                Body::ToolCall(call) => match &call.call_id {
                    Some(id) => {
                        let key = key(context.run.as_ref(), id);
                        early.remove(&key);
                        called.insert(key);
                    }
                    None => {
                        let waiting = open.entry(place()).or_default();
                        waiting.retain(|(_, _, round)| round.is_none() || *round == context.round);
                        waiting.push_back((index, call.tool.clone(), context.round.clone()));
                    }
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
                        let Some(waiting) = open.get_mut(&place()) else { continue };
                        let fits = |(_, tool, _): &(usize, String, Option<String>)| {
                            result.tool.as_ref().is_none_or(|named| named == tool)
                        };
                        if let Some(found) = waiting.iter().position(fits) {
                            waiting.remove(found);
                        }
                    }
                },
                _ => {}
            }
        }
        let calls = open.values().flatten().map(|(index, ..)| *index);
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

/// How the calls of one id stand: some providers count ids anew in every answer, or give all calls the same.
#[derive(Clone, Copy, Default)]
struct Waiting {
    calls: u32,
    results: u32,
    /// A result came before its call: what is too many may do so again. Else it is the same one once more.
    early: bool,
}

/// Puts a result that was written before its call behind it: hosts that run calls at once write what ends first.
fn calls_before_results(transcript: &mut Transcript, called: &mut BTreeMap<Key, Waiting>) {
    // Results that came too early, by what they wait for.
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
    // A result that came first may not have known its tool.
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

/// Gives calls and results without ids the same one, where the log tells by their order which belong together.
fn name_pairs(transcript: &mut Transcript, named: &mut usize) {
    // Calls that wait: where they stand, their tool and round.
    let mut open: BTreeMap<Place, VecDeque<(usize, String, Option<String>)>> = BTreeMap::new();
    let mut pairs = Vec::new();
    for (index, traced) in transcript.events.iter().enumerate() {
        let context = &traced.event.context;
        let place = || (context.run.clone(), context.agent.clone());
        match &traced.event.body {
            Body::ToolCall(call) if call.call_id.is_none() => {
                let waiting = open.entry(place()).or_default();
                // What the turn before left open is not answered any more.
                waiting.retain(|(_, _, round)| round.is_none() || *round == context.round);
                waiting.push_back((index, call.tool.clone(), context.round.clone()));
            }
            Body::ToolResult(result) if result.call_id.is_none() => {
                // What was turned away was no call of these.
                if result.tool.is_none() && result.outcome == Outcome::NotExecuted {
                    continue;
                }
                let Some(waiting) = open.get_mut(&place()) else { continue };
                let fits = |(_, tool, _): &(usize, String, Option<String>)| {
                    result.tool.as_ref().is_none_or(|named| named == tool)
                };
                if let Some((call, ..)) = waiting.iter().position(fits).and_then(|found| waiting.remove(found)) {
                    pairs.push((call, index));
                }
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
