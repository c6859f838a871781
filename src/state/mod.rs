//! Bounded memory: the state kept for each run, and the store of runs.
//!
//! No payload is kept, only keys (hashes) and short signatures. Every collection here has a cap; [`Run::fits`] rejects
//! a restored snapshot that exceeds one.

mod graph;
mod handed;
mod lane;
mod latest;
mod margins;
mod marks;
mod news;
mod ordered;
mod outputs;
mod packed;
mod pairing;
mod recent;
mod retold;
mod ring;
mod snapshot;
mod standing;
mod store;
mod tight;
mod workflow;

pub(crate) use graph::{Cycle, Graph, node_key};
pub(crate) use lane::{Counted, LONG_PAUSE, LONGEST_PAUSE, PAUSE, Turn, Visibility, WAITED, short_mark};
use lane::{CurrentLane, Tasks};
pub(crate) use latest::Latest;
use marks::Marks;
pub(crate) use news::{Kin, beginning, is_short};
pub(crate) use ordered::Ordered;
pub(crate) use packed::{Marked, Packed};
pub(crate) use pairing::{ArgumentStart, Call, Changes, Matched, Pairing, Step};
pub(crate) use recent::Recent;
pub(crate) use retold::Telling;
pub(crate) use ring::Ring;
pub(crate) use snapshot::{open, seal};
pub(crate) use standing::{
    FINDINGS_OF_ONE, ScopeKeys, Spent, Standings, Sum, add, agent_key, agent_of, owner_key, parent_of, round_key,
    task_key, task_of, trend,
};
pub(crate) use store::{Forgotten, Store};
pub(crate) use tight::{Occurrence, Occurrences};
pub(crate) use workflow::{Flow, Moment, NodeUsage, Task, Unchanged, Workflow, is_of_a_workflow};

use crate::codec::{Codec, Reader, codec, fold, length, unfold};
use crate::model::{Config, Context};
use crate::policy::Ladder;
use crate::rules::{Limits, Outlook, Outlooks, RULES, States, View};
use crate::text::Key;
use alloc::vec::Vec;

/// Tasks remembered per run; the least recently worked on is forgotten first.
pub(crate) const TASKS: usize = 32;
/// Bytes that all task state of a run may take, by the upper estimate of [`Run::weight`]. Above it, fewer tasks are
/// remembered.
const TASK_BYTES: usize = 32 * 1024;

/// Upper bound on the encoded bytes of a key, for estimates: the key itself and one byte that says it is present.
pub(crate) const KEY_BYTES: usize = 10;

/// An optional number in eight bytes: 0 is none, anything else is the number plus one. The largest is lost; no event has
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Maybe(u64);
codec!(struct Maybe(_));

impl Maybe {
    pub(crate) fn get(self) -> Option<u64> {
        self.0.checked_sub(1)
    }

    fn weight(self) -> usize {
        length(self.0)
    }
}

impl From<Option<u64>> for Maybe {
    fn from(number: Option<u64>) -> Self {
        Self(number.map_or(0, |number| number.saturating_add(1)))
    }
}

/// An optional time in eight bytes, zigzag-encoded so that times shortly before or after 0 stay small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Time(Maybe);
codec!(struct Time(_));

impl Time {
    pub(crate) fn get(self) -> Option<i64> {
        self.0.get().map(unfold)
    }

    /// Milliseconds from this time to another; `None` unless both are known.
    pub(crate) fn until(self, now: Option<i64>) -> Option<i64> {
        Some(now?.saturating_sub(self.get()?))
    }

    /// Whether at least so many milliseconds lie between this time and another.
    pub(crate) fn is_past(self, pause: i64, now: Option<i64>) -> bool {
        self.until(now).is_some_and(|since| since >= pause)
    }
}

impl From<Option<i64>> for Time {
    fn from(at: Option<i64>) -> Self {
        Self(at.map(fold).into())
    }
}

/// What a run had consumed at some event; the difference from now is what has been spent since.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Onset {
    /// Sequence number of the event.
    pub(crate) seq: u64,
    /// Earlier events of the task, and how many of those (`own`) belong to the acting agent.
    pub(crate) events: u64,
    pub(crate) own: u64,
    /// What the task had consumed so far.
    pub(crate) tokens: u64,
    pub(crate) cost_micros: u64,
    pub(crate) at: Time,
}
codec!(struct Onset { seq, events, own, tokens, cost_micros, at });

impl Onset {
    /// Upper bound on its encoded bytes.
    pub(crate) fn weight(&self) -> usize {
        let Self { seq, events, own, tokens, cost_micros, at } = *self;
        [seq, events, own, tokens, cost_micros].into_iter().map(length).sum::<usize>() + at.0.weight()
    }
}

/// One event as evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sighting {
    pub(crate) seq: u64,
    pub(crate) step: Maybe,
    /// Key of what was compared; only a digest of it is ever reported.
    pub(crate) key: Key,
}

impl Codec for Sighting {
    const SIZE: usize = 24;

    fn put(&self, to: &mut Vec<u8>) {
        self.seq.put(to);
        self.step.put(to);
        to.extend(self.key.to_le_bytes());
    }

    fn take(from: &mut Reader<'_>) -> Self {
        Self { seq: Codec::take(from), step: Codec::take(from), key: Key::from_le_bytes(from.array()) }
    }
}

impl Sighting {
    /// Upper bound on its encoded bytes.
    pub(crate) fn weight(&self) -> usize {
        length(self.seq) + self.step.weight() + KEY_BYTES
    }
}

/// Whether what was last used at a time is so old now that it is forgotten.
pub(crate) fn is_idle(at: Option<i64>, now: Option<i64>, idle_ms: u64) -> bool {
    let since = now.zip(at).map(|(now, at)| now.saturating_sub(at));
    since.is_some_and(|since| u64::try_from(since).is_ok_and(|since| since > idle_ms))
}

/// Everything kept for one run.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Events recorded.
    pub(crate) events: u64,
    /// Counters of the current task.
    pub(crate) counted: Counted,
    /// Sequence number of the latest event, for eviction.
    pub(crate) touched: u64,
    /// Newest event time seen, in milliseconds since the Unix epoch.
    pub(crate) now: Option<i64>,
    /// Event time of the first event that carried one.
    pub(crate) started: Option<i64>,
    /// Tokens and cost reported so far; `None` until an event reports any.
    pub(crate) tokens: Option<u64>,
    pub(crate) cost_micros: Option<u64>,
    pub(crate) pairing: Pairing,
    /// Whether anything new has come since control was handed over.
    pub(crate) handed: handed::Handed,
    /// Lines that the harness writes around every answer.
    pub(crate) margins: margins::Margins,
    /// Iterations, counted in each way a host may report them.
    pub(crate) iterations: Iterations,
    /// Turns, deliveries and progress, as a workflow.
    pub(crate) workflow: Workflow,
    /// State of every rule; for rules about calls, texts and streams, that of the current task.
    pub(crate) rules: States,
    /// The same state for the other tasks.
    pub(crate) lanes: Tasks,
    /// Tasks by last activity, the most recent last, each with its time.
    tasks: Ring<(Key, Option<i64>)>,
    pub(crate) evicted: Evicted,
    pub(crate) ladder: Ladder,
    /// Latest level per task and agent, and the findings.
    pub(crate) standings: Standings,
    /// A human said to stop.
    pub(crate) stopped: bool,
    pub(crate) ordered: Ordered,
}
codec!(struct Run {
    events, counted, touched, now, started, tokens, cost_micros, pairing, handed, margins, iterations, workflow, rules, lanes, tasks, evicted, ladder, standings, stopped, ordered,
});

/// What a run forgot about its tasks to make room.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evicted {
    /// Tasks forgotten with all their counters.
    pub(crate) tasks: u32,
    /// Parts of tasks dropped one by one: phases, transitions, nodes, failures and the like.
    pub(crate) parts: u32,
}
codec!(struct Evicted { tasks, parts });

/// Iterations of the agent loop, counted in each way a host may report them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Iterations {
    pub(crate) outputs: u32,
    pub(crate) turns: u32,
    pub(crate) turn_starts: u32,
    pub(crate) rounds: u32,
    last_round: Option<Key>,
}
codec!(struct Iterations { outputs, turns, turn_starts, rounds, last_round });

impl Iterations {
    /// The largest of the counts, so that a host that reports iterations in two ways does not count them twice.
    pub(crate) fn count(&self) -> u32 {
        self.outputs.max(self.turns).max(self.turn_starts).max(self.rounds)
    }

    /// The iterations that are over: an output and a turn's end report one that is, a round and a turn's start one that
    /// begins.
    pub(crate) fn over(&self) -> u32 {
        let begun = self.turn_starts.max(self.rounds);
        self.outputs.max(self.turns).max(begun.saturating_sub(1))
    }

    /// Upper bound on its encoded bytes.
    fn weight(&self) -> usize {
        let counts = [self.outputs, self.turns, self.turn_starts, self.rounds];
        let round = self.last_round.map_or(1, |_| 1 + KEY_BYTES);
        counts.iter().map(|count| length((*count).into())).sum::<usize>() + round
    }

    pub(crate) fn round(&mut self, round: Option<Key>) {
        if round.is_some() && round != self.last_round {
            self.rounds = self.rounds.saturating_add(1);
            self.last_round = round;
        }
    }
}

impl Clone for Run {
    fn clone(&self) -> Self {
        self.copied(self.counted.clone(), self.rules.clone(), self.lanes.clone())
    }
}

impl Run {
    /// A copy on which a call can be judged as on the run itself, without the state that calls are not compared with and
    /// without the evidence of other tasks. It omits look-ahead state, which is returned by reference instead. The copy
    /// is complete if the call's time ends idle tasks.
    pub(crate) fn before_call(&self, context: &Context, idle_ms: u64) -> (Self, Option<&States>) {
        let now = context.at.map(|at| self.now.map_or(at, |now| now.max(at)));
        let idle = |at: Option<i64>| is_idle(at.or(self.started), now, idle_ms);
        if self.tasks.iter().next().is_some_and(|(_, at)| idle(*at)) || self.lanes.any_idle(idle) {
            return (self.clone(), None);
        }
        let (lanes, counted, evidence) = self.lanes.before_call(&self.counted, &self.rules, task_of(context));
        (self.copied(counted, self.rules.before_call(evidence), lanes), evidence)
    }

    /// A copy with the given counters, rule state and lanes.
    #[inline(never)]
    fn copied(&self, counted: Counted, rules: States, lanes: Tasks) -> Self {
        Self {
            counted,
            pairing: self.pairing.clone(),
            handed: self.handed.clone(),
            workflow: self.workflow.clone(),
            rules,
            lanes,
            tasks: self.tasks.clone(),
            ladder: self.ladder.clone(),
            standings: self.standings.clone(),
            ..*self
        }
    }

    /// Counts an event and moves the clock forward, never backward. Tasks idle for longer than `idle_ms` are dropped
    /// with all their state.
    pub(crate) fn enter(&mut self, seq: u64, context: &Context, idle_ms: u64) {
        self.events = self.events.saturating_add(1);
        self.touched = seq;
        if let Some(at) = context.at {
            self.started.get_or_insert(at);
            self.now = Some(self.now.map_or(at, |now| now.max(at)));
            self.collect(idle_ms);
        }
        let (task, parent) = (task_of(context), parent_of(context));
        // A task that an event names is not idle. Most runs name no task.
        let works = !self.is_at_no_task();
        for heard in parent.into_iter().chain([task]).filter(|_| works) {
            if self.tasks.last().is_none_or(|(last, at)| *last != heard || *at != self.now)
                && self.tasks.take(|(known, _)| *known == heard).is_some()
            {
                self.tasks.push((heard, self.now), usize::MAX);
            }
        }
        self.standings.enter(context, task, self.now, seq);
    }

    /// Whether no task has been worked on.
    pub(crate) fn is_at_no_task(&self) -> bool {
        self.tasks.len() == 0
    }

    /// [`Self::enter`] for a text delta that [continues the current stream](Self::goes_on) and carries no time, round
    /// or cost.
    pub(crate) fn enter_plainly(&mut self, seq: u64) {
        self.events = self.events.saturating_add(1);
        self.touched = seq;
        self.standings.goes_on(self.now, seq);
    }

    /// Whether a text delta in this context, which names no task, changes nothing in the run but its streams: it comes
    /// from the agent heard last.
    pub(crate) fn goes_on(&self, context: &Context) -> bool {
        !self.lanes.are_several()
            && (context.at.is_none() || self.tasks.len() == 0)
            && self.standings.is_latest(context)
    }

    fn collect(&mut self, idle_ms: u64) {
        let (now, started) = (self.now, self.started);
        // What was last used before any time was known was so before the first one.
        let idle = |at: Option<i64>| is_idle(at.or(started), now, idle_ms);
        loop {
            let oldest = self.tasks.iter().next().filter(|(_, at)| idle(*at)).map(|(task, _)| *task);
            let Some(task) = oldest else { break };
            self.tasks.remove(0);
            self.drop_task(task);
        }
        self.lanes.drop_idle(CurrentLane { counted: &mut self.counted, rules: &mut self.rules }, idle);
        self.standings.drop_idle(idle);
    }

    /// Drops all state of one task.
    fn drop_task(&mut self, task: Key) {
        self.rules.drop_task(task);
        self.workflow.drop_task(task);
        // Key 0 means no task: levels and findings without a task belong to the run and stay.
        if task != 0 {
            self.drop_lanes(Some(task));
            self.standings.drop_task(task);
            self.ladder.rearm(Some(task));
        }
    }

    fn drop_lanes(&mut self, task: Option<Key>) {
        self.lanes.drop_task(CurrentLane { counted: &mut self.counted, rules: &mut self.rules }, task);
        self.pairing.forget_task(task);
    }

    /// Makes the lane of a task current; 0 for events that name none. `text` is the length in bytes of the event's
    /// text.
    pub(crate) fn turn_to(&mut self, task: Key, parent: Option<Key>, text: usize) {
        let here = CurrentLane { counted: &mut self.counted, rules: &mut self.rules };
        self.lanes.enter(here, task, parent, self.now, text);
    }

    /// The task whose calls a judge's answer is about: the named one if it waits for a judgement, else task 0 if that
    /// waits, else, for an answer that names no task, the last one that waits.
    pub(crate) fn asked(&self, task: Key) -> Key {
        let lanes = self.lanes.evidence(&self.rules, &self.counted);
        let waiting: Vec<Key> =
            lanes.filter(|(.., rules, _)| rules.empty_handed.asks()).map(|(task, ..)| task).collect();
        let which = if waiting.contains(&task) { Some(&task) } else { waiting.iter().find(|task| **task == 0) };
        which.or(waiting.last().filter(|_| task == 0)).copied().unwrap_or(task)
    }

    /// How close each rule is to its thresholds within a scope. A lane counts for an agent only if no other agent was
    /// active in it.
    pub(crate) fn outlooks(
        &self,
        whose: &ScopeKeys,
        flow: &Flow<'_>,
        limits: &[Limits; RULES.len()],
        config: &Config,
    ) -> Outlooks {
        let none = Limits::default();
        let view = |counted: &Counted| View { limits: &none, config, steps: counted.steps };
        let mut all = [Outlook::default(); RULES.len()];
        self.rules.add_outlooks(Some((whose, flow)), limits, view(&self.counted), &mut all);
        for (task, parent, rules, counted) in self.lanes.evidence(&self.rules, &self.counted) {
            let fits = whose.has_task(task) || (parent != 0 && whose.task == Some(parent));
            if fits && whose.agent.is_none_or(|agent| self.standings.is_alone(task, agent)) {
                rules.add_outlooks(None, limits, view(counted), &mut all);
            }
        }
        all
    }

    /// Calls with an outcome, over all lanes.
    pub(crate) fn steps(&self) -> u64 {
        self.counted.steps.saturating_add(self.lanes.steps())
    }

    /// The current task's counters as the possible onset of a loop at the current event.
    pub(crate) fn onset(&self) -> Onset {
        let (spent, own) = self.standings.spent();
        Onset {
            seq: self.touched,
            events: spent.events.saturating_sub(1),
            own: own.events.saturating_sub(1),
            tokens: spent.tokens.unwrap_or(0),
            cost_micros: spent.cost_micros.unwrap_or(0),
            at: self.now.into(),
        }
    }

    /// Records a successful change; `apart` distinguishes it from others with the same arguments.
    pub(crate) fn mutation(&mut self, call: &Call, apart: Key) {
        if self.counted.mutation(call.key ^ apart, call.agent, call.writes) {
            self.lanes.changed();
        }
    }

    /// Ends the evidence from before a step forward, for one task or, with task 0, for the whole run.
    pub(crate) fn advance(&mut self, task: Key, parent: Option<Key>) {
        self.lanes.advance(&mut self.rules, task, parent);
    }

    /// Drops the evidence of the tool, text and stream rules, as a human's message does. Budgets, the state of the
    /// escalation ladder and exemptions stay.
    pub(crate) fn forget_evidence(&mut self, prompted: bool) {
        self.rules.forget(prompted);
        self.lanes.forget_evidence(prompted);
        self.pairing.forget();
        self.standings.forget_evidence();
    }

    /// Starts one task over, or all of them: drops its state, levels and findings. Those of other tasks stay, as do
    /// budgets, known call ids and exemptions. Evidence that the run keeps for all tasks together goes only if no other
    /// task contributed to it. The turns its nodes have used are given back only if a `human` asked.
    pub(crate) fn start_over(&mut self, task: Option<Key>, human: bool) {
        if task.is_none_or(|task| !self.standings.others_heard(task)) {
            self.forget_evidence(false);
        }
        let which = task.unwrap_or(0);
        self.drop_lanes(task);
        self.rules.forget_task(which);
        self.workflow.forget_task(which, human);
        self.ladder.rearm(task);
        self.standings.start_over(which);
    }

    /// Starts the run over; only a declared workflow, which is not evidence, stays.
    pub(crate) fn restart(&mut self) {
        let workflow = self.workflow.fresh();
        *self = Self { workflow, now: self.now, touched: self.touched, ..Self::default() };
    }

    /// Marks a task and its owner as worked on and makes room: the least recently active tasks are dropped, and if the
    /// current one alone takes too much, the oldest of its parts.
    pub(crate) fn work_on(&mut self, task: Key, owner: Key) {
        for task in [owner, task] {
            self.tasks.retain(|(known, _)| *known != task);
            self.tasks.push((task, self.now), usize::MAX);
        }
        let current = if task == owner { 1 } else { 2 };
        let mut weight = self.weight();
        while self.tasks.len() > TASKS || (self.tasks.len() > current && weight > TASK_BYTES) {
            let Some((oldest, _)) = self.tasks.remove(0) else { break };
            self.drop_task(oldest);
            let left = self.weight();
            // The dropped task may have had no counters, or none left.
            self.evicted.tasks = self.evicted.tasks.saturating_add(u32::from(left < weight));
            weight = left;
        }
        while weight > TASK_BYTES {
            let shed = self.rules.shed().saturating_add(self.workflow.shed());
            if shed == 0 {
                break;
            }
            self.evicted.parts = self.evicted.parts.saturating_add(u32::try_from(shed).unwrap_or(u32::MAX));
            weight = self.weight();
        }
    }

    /// Counts the parts of tasks that the current event displaced.
    pub(crate) fn note_lost(&mut self) {
        let lost = self.rules.take_lost().saturating_add(self.workflow.take_lost());
        let lost = lost.saturating_add(self.lanes.take_lost());
        self.evicted.parts = self.evicted.parts.saturating_add(u32::try_from(lost).unwrap_or(u32::MAX));
    }

    /// Upper bound on the bytes of all task state; the declared and the learned graph have caps of their own.
    fn weight(&self) -> usize {
        self.rules.weight().saturating_add(self.workflow.weight()).saturating_add(self.standings.weight())
    }

    /// Whether every collection is within its cap, which a restored snapshot must satisfy.
    pub(crate) fn fits(&self) -> bool {
        self.counted.fits()
            && self.lanes.fits()
            && self.tasks.len() <= TASKS
            && self.standings.fits()
            && self.pairing.fits()
            && self.handed.fits()
            && self.workflow.fits()
            && self.rules.fit()
            && self.ladder.fits()
    }
}

#[cfg(test)]
#[path = "../../tests/support/adversary.rs"]
mod adversary;

#[cfg(test)]
mod tests {
    use super::TASK_BYTES;
    use super::adversary::{self, Run};
    use crate::json;
    use crate::model::Scope;

    #[test]
    fn tasks_weigh_no_less_than_they_take() {
        for kind in [Run::Busy, Run::Full] {
            let mut detector = json::detector(adversary::CONFIG).unwrap();
            for (number, event) in adversary::events(kind).take(600).enumerate() {
                let task = event.context.task.is_some();
                detector.record(&event).unwrap();
                if number % 37 != 0 || !task {
                    continue;
                }
                let run = detector.run(&Scope::default()).unwrap();
                // The encoded state also contains the empty rules and the graphs.
                let kept =
                    run.rules.task_bytes() + crate::codec::encode(&run.workflow).len() - run.workflow.graph_bytes();
                let (weight, graphless) = (run.weight(), kept.saturating_sub(64));
                assert!(graphless <= weight, "{kind:?}, event {number}: {kept} bytes weigh {weight}");
                assert!(weight <= TASK_BYTES * 9 / 8, "{kind:?}, event {number}: {weight}");
            }
        }
    }
}
