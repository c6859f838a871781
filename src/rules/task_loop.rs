//! Catches: a task that fails in the same way again; one that moves away from its goal; one that an outside judge calls
//! stalled; agents that ask each other for the same thing again, in pairs and in rings.
//! Must not catch: different failures with measured progress between them, what is not the agent's doing, a judge's
//! answer that nobody asked for or that came twice, requests about different things.
//! Idea: the decision record on loops of failures and collaboration: one counter per task, whoever works on it; at
//! three loops, a human is asked.
//!
//! Its recommendations escalate in the document's order: another approach from the first loop on, a human at the gate;
//! and a rollback whenever the work moves away from its goal, from the first time on and at the gate as well.
//!
//! The counter is the task's, and a subtask uses its parent's. It counts repeats (`counting: "repeats"`: a first
//! failure is 0) or every failure of a loop (`"attempts"`: two equal failures are 2; a failure that is never repeated
//! does not count). Only a completed task and a human reset it.

mod requests;
mod tracker;

use self::requests::{Chain, Repetition};
use self::tracker::{Counter, Judged, Tracker};
use crate::codec::codec;
use crate::model::{Body, Counting, Evaluation, EvaluationVerdict, Event, HaltReason, Level, Recommendation, Record};
use crate::rules::{Advice, Cx, Extra, Fact, Facts, HostAdvice, Limits, Rule, Signal, SignalParts, TASKS};
use crate::state::{Flow, Onset, Ring, ScopeKeys, Sighting, is_idle};
use crate::text::{FailureFacts, Key, combine, printable};
use alloc::{format, string::String, string::ToString, vec, vec::Vec};

pub(crate) use self::requests::mismatch;
pub(crate) use self::tracker::{HISTORY, JudgeQuestion, Reading, WHICH, against, marked};

/// Failures kept at once over all tasks of a run.
const FAILURES: usize = 128;
const EVIDENCE: usize = 5;
/// Characters of a judge's reasoning that are passed on.
const REASONING: usize = 300;
/// Most levels of subtasks between a task and the one whose counter it uses.
const NESTING: usize = 8;

pub(crate) struct TaskLoop;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Least recently used first.
    tasks: Ring<Tracker>,
    /// One per task without a parent; least recently used first.
    counters: Ring<Counter>,
    chain: Chain,
    totals: Totals,
    /// Failures dropped at their cap since this was last read.
    lost: u64,
}
codec!(struct State { tasks, counters, chain, totals, lost });

/// Tasks so far, including forgotten ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) tasks: u64,
    /// Tasks in which a loop was counted.
    pub(crate) looped: u64,
}
codec!(struct Totals { tasks, looped });

/// A counter that was reset to zero.
#[derive(Clone, Debug)]
pub(crate) struct Cleared {
    pub(crate) task: Option<String>,
    pub(crate) previous: u32,
    /// Set if a human had been asked about it: the event time of that, if it carried one.
    pub(crate) gated: Option<Option<i64>>,
}

/// Why a failure or request counts.
enum Cause {
    Exact,
    /// The number of failing tests kept rising; `exact` if the message was equal as well.
    Regression {
        trend: String,
        exact: bool,
    },
    /// With the judge's own words.
    Stalled(Option<String>),
    Regressing(Option<String>),
    Request {
        ring: usize,
        sightings: Vec<Sighting>,
    },
}

/// One more loop of a task, with all that a record and a finding say about it.
struct Loop<'a> {
    /// The task whose counter is used.
    root: Key,
    add: u32,
    onset: Onset,
    cause: Cause,
    signature: &'a str,
    agent: Option<&'a str>,
    /// As in [`Extra`].
    counted: bool,
}

impl State {
    /// The task whose counter a task uses.
    fn root(&self, task: Key) -> Key {
        let parent = |task: Key| self.tasks.iter().find(|tracker| tracker.task == task)?.parent;
        let mut root = task;
        for _ in 0..NESTING {
            match parent(root) {
                Some(above) if above != task => root = above,
                _ => break,
            }
        }
        root
    }

    /// Makes the event's task and its counter the most recently used ones and forgets what was idle for too long.
    fn enter(&mut self, event: &Event, cx: &Cx<'_>) -> Key {
        let idle = |at: Option<i64>| is_idle(at.or(cx.run.started), cx.run.now, cx.config.memory.idle_ms);
        while self.tasks.iter().next().is_some_and(|oldest| idle(oldest.at)) {
            self.tasks.remove(0);
        }
        while self.counters.iter().next().is_some_and(|oldest| idle(oldest.at)) {
            self.counters.remove(0);
        }
        // The failures of a subtask are compared with its parent's, so that is in use as well.
        if let Some(parent) = cx.parent_task
            && let Some(whole) = self.tasks.take(|tracker| tracker.task == parent)
        {
            self.tasks.push(whole, TASKS);
        }
        let new = || Tracker::new(cx.task);
        if let Some(tracker) = self.tasks.renew(TASKS, |tracker| tracker.task == cx.task, new) {
            tracker.at = cx.run.now;
            tracker.parent = cx.parent_task.filter(|parent| *parent != cx.task).or(tracker.parent);
        }
        let root = self.root(cx.task);
        let new = || {
            self.totals.tasks = self.totals.tasks.saturating_add(1);
            Counter::new(root)
        };
        if let Some(counter) = self.counters.renew(TASKS, |counter| counter.task == root, new) {
            counter.at = cx.run.now;
            if counter.name.is_none() {
                let name = if root == cx.task { &event.context.task } else { &event.context.parent_task };
                let own = root == cx.task || Some(root) == cx.parent_task;
                counter.name = name.as_ref().filter(|_| own).map(|name| name.chars().take(tracker::NAME).collect());
            }
        }
        root
    }

    fn tracker(&mut self, task: Key) -> Option<&mut Tracker> {
        self.tasks.iter_mut().rev().find(|tracker| tracker.task == task)
    }

    fn counter(&mut self, root: Key) -> Option<&mut Counter> {
        self.counters.iter_mut().rev().find(|counter| counter.task == root)
    }

    /// Drops the oldest failures of the least recently used tasks beyond the cap on all of them.
    fn trim(&mut self) {
        let mut held: usize = self.tasks.iter().map(|tracker| tracker.failures.len()).sum();
        for tracker in self.tasks.iter_mut() {
            while held > FAILURES && tracker.failures.remove(0).is_some() {
                held -= 1;
                self.lost = self.lost.saturating_add(1);
            }
        }
    }

    fn failure(&mut self, facts: &FailureFacts, event: &Event, cx: &Cx<'_>) -> Option<Signal> {
        let root = self.enter(event, cx);
        // A blank failure says nothing, and an external one never counts.
        let message = facts.message.filter(|_| !facts.external)?;
        let attempts = cx.config.failures.counting == Counting::Attempts;
        let mut add = 0;
        let mut onset = cx.onset;
        // The task's own failures first, then those of the tasks it is a part of.
        let (mut at, mut exact) = (Some(cx.task), false);
        for _ in 0..NESTING {
            let Some(tracker) = at.and_then(|task| self.tracker(task)) else { break };
            if let Some(prior) = tracker.failures.iter_mut().find(|past| past.message == message && !past.external) {
                onset = prior.seen.onset();
                add = 1 + u32::from(attempts && !core::mem::replace(&mut prior.counted, true));
                exact = true;
                break;
            }
            at = tracker.parent;
        }
        let tracker = self.tracker(cx.task)?;
        let told = tracker.told(facts);
        let judged = if exact && told != Judged::Regression { Judged::Loop } else { told };
        let mut cause = Cause::Exact;
        let mut question = None;
        match (&judged, exact) {
            (Judged::Regression, _) => {
                cause = Cause::Regression { trend: tracker.trend(), exact };
                if !exact && let Some(prior) = tracker.failures.iter_mut().next_back() {
                    onset = prior.seen.onset();
                    add = u32::from(attempts && !core::mem::replace(&mut prior.counted, true));
                }
                add += u32::from(!exact);
            }
            (Judged::Unclear, _) => question = Some(tracker.question(event, facts)),
            _ => {}
        }
        tracker.took(facts, message, add > 0, question.is_some(), event, cx);
        self.trim();
        if add > 0 {
            let agent = event.context.agent.as_deref();
            let found = Loop { root, add, onset, cause, signature: &facts.signature, agent, counted: false };
            return self.count(found, event, cx);
        }
        if let Some(counter) = self.counter(root) {
            counter.reason = judged.reason();
        }
        let ask = question.is_some();
        ask.then(|| Signal {
            ask: Some(Level::Continue),
            extra: HostAdvice { question, ..HostAdvice::default() }.into(),
            ..SignalParts {
                kind: "unclear",
                identity: combine("task-loop", &[root]),
                count: 0,
                confidence: 0,
                signature: facts.signature.clone().into(),
                message: String::new(),
                instead: "",
                recommendation: Recommendation::Continue,
                halt_reason: HaltReason::Stalled,
            }
            .signal(cx.onset, Vec::new())
        })
    }

    /// An outside judge's answer to the task's latest question. An answer to no question (late, or never asked) changes
    /// nothing, nor does the same answer again; a contradicting one replaces the first if it is more confident.
    fn evaluation(&mut self, evaluation: &Evaluation, event: &Event, cx: &Cx<'_>) -> Option<Signal> {
        let tracker = self.tracker(cx.task)?;
        let withdrawn = tracker.asked?.takes(evaluation)?.map_or(0, |replaced| replaced.added);
        let root = self.enter(event, cx);
        if let Some(counter) = self.counter(root) {
            counter.count = counter.count.saturating_sub(withdrawn);
        }
        let counting = cx.config.failures.counting;
        let tracker = self.tracker(cx.task)?;
        if withdrawn > 0 {
            tracker.failures.iter_mut().rev().take(withdrawn as usize).for_each(|past| past.counted = false);
        }
        let mut add = 0;
        let mut latest = tracker.failures.iter_mut().rev().take(2);
        let mut known = false;
        if against(evaluation.verdict)
            && let Some(failed) = latest.next()
        {
            failed.counted = true;
            known = core::mem::replace(&mut failed.found, true);
            add = 1;
            if counting == Counting::Attempts
                && let Some(prior) = latest.next()
                && !core::mem::replace(&mut prior.counted, true)
            {
                add = 2;
            }
        }
        drop(latest);
        tracker.asked.as_mut()?.answered(evaluation, add);
        let past = tracker.failures.last().map(|past| (past.seen.onset(), past.signature.clone()));
        // The judge speaks of the agent that failed.
        let agent = tracker.failed.clone();
        let words = reasoning(evaluation);
        if let Some(past) = tracker.failures.iter_mut().next_back() {
            past.external = evaluation.verdict == EvaluationVerdict::External;
        }
        let (onset, signature) = past?;
        if add == 0 {
            let reason = if evaluation.verdict == EvaluationVerdict::External {
                tracker::Reason::External
            } else {
                tracker::Reason::Progress
            };
            let told = words.zip(reason.text()).map(|(words, text)| tracker::Reason::Said(format!("{text}: {words}")));
            self.counter(root)?.reason = told.unwrap_or(reason);
            return None;
        }
        let cause = if evaluation.verdict == EvaluationVerdict::Regressing {
            Cause::Regressing(words)
        } else {
            Cause::Stalled(words)
        };
        let found = Loop { root, add, onset, cause, signature: &signature, agent: agent.as_deref(), counted: known };
        self.count(found, event, cx)
    }

    fn collaboration(&mut self, event: &Event, cx: &Cx<'_>) -> Option<Signal> {
        let Body::Collaboration(asking) = &event.body else { return None };
        if !cx.config.collaboration.enabled {
            return None;
        }
        let root = self.enter(event, cx);
        let marks = self.tracker(cx.task)?.marks;
        let again = self.chain.take(asking, root, marks, cx)?;
        let signature = format!("request:{}→{}", printable(&asking.from, 32), printable(&asking.to, 32));
        let Repetition::Loop { ring, onset, first, sightings } = again else {
            self.counter(root)?.reason = tracker::Reason::Progress;
            return None;
        };
        let attempts = cx.config.failures.counting == Counting::Attempts;
        let found = Loop {
            root,
            add: 1 + u32::from(attempts && first),
            onset,
            cause: Cause::Request { ring, sightings },
            signature: &signature,
            agent: event.context.agent.as_deref(),
            counted: false,
        };
        self.count(found, event, cx)
    }

    /// Adds to a counter and reports it.
    fn count(&mut self, found: Loop<'_>, event: &Event, cx: &Cx<'_>) -> Option<Signal> {
        let Loop { root, add, onset, cause, signature, agent, counted } = found;
        let failures = &self.tasks.iter().find(|tracker| tracker.task == cx.task)?.failures;
        let history: Vec<String> = failures.iter().map(|past| past.signature.clone()).collect();
        let mut sightings = self.sightings(&cause);
        if sightings.is_empty() {
            sightings.push(Sighting { key: combine("task-loop", &[root]), ..cx.here });
        }
        if !core::mem::replace(&mut self.counter(root)?.looped, true) {
            self.totals.looped = self.totals.looped.saturating_add(1);
        }
        let counter = self.counter(root)?;
        counter.count = counter.count.saturating_add(add);
        let count = counter.count;
        let onset = *counter.onset.get_or_insert(onset);
        let reasoning = cause.reason();
        counter.reason = tracker::Reason::Said(reasoning.clone());
        let gate = cx.limits.level(count, 1).is_some_and(|(level, _)| level >= Level::Gate);
        let (task_id, agent_id) = (event.context.task.clone(), agent.map(ToString::to_string));
        let mut records = vec![Record::LoopDetected {
            task_id: task_id.clone(),
            agent_id: agent_id.clone(),
            loop_count: count,
            error_signature: signature.to_string(),
            is_exact_match: cause.is_exact(),
            orchestrator_reasoning: reasoning.clone(),
            timestamp: event.context.at,
        }];
        let mut message = format!("{reasoning}, `{}`", signature.trim_start_matches("request:"));
        if gate {
            let trigger_reason = format!("Loop detected after {count} attempts");
            message = format!("{trigger_reason}: {message}");
            // A gate that was triggered already is not triggered again.
            if counter.gated.is_none() {
                counter.gated = Some(cx.run.now);
                records.push(Record::GateTriggered {
                    task_id,
                    agent_id,
                    loop_count: count,
                    trigger_reason,
                    failure_history: history,
                    timestamp: event.context.at,
                });
            }
        }
        Some(Signal {
            kind: cause.kind(),
            identity: combine("task-loop", &[root]),
            count,
            scale: 1,
            period: cause.period(),
            onset,
            sightings,
            confidence: cause.confidence(),
            signature: signature.to_string().into(),
            advice: cause.advice(count, signature, gate),
            message,
            // One loop is for logs; the ladder begins above it. The recommendation holds from the first one on.
            ask: (!cx.limits.reached(count)).then_some(Level::Observe),
            extra: Extra {
                recommend: true,
                counted,
                ..HostAdvice { records, reasoning: Some(reasoning), ..HostAdvice::default() }.into()
            },
        })
    }

    /// The evidence: the requests, or the latest failures of the most recently used task that are like its latest one.
    fn sightings(&self, cause: &Cause) -> Vec<Sighting> {
        if let Cause::Request { sightings, .. } = cause {
            return sightings.clone();
        }
        let Some(tracker) = self.tasks.last() else { return Vec::new() };
        let Some(last) = tracker.failures.last().map(|past| past.message) else { return Vec::new() };
        let exact = matches!(cause, Cause::Exact);
        let alike = tracker.failures.iter().filter(|past| !exact || past.message == last);
        let skip = alike.clone().count().saturating_sub(EVIDENCE);
        alike.skip(skip).map(|past| Sighting { key: past.message, ..past.seen.sighting() }).collect()
    }

    /// The loops counted for a task, and the latest reason given; without a task, those of the highest counter.
    pub(crate) fn loops(&self, task: Option<Key>) -> (u32, Option<String>) {
        let counter = match task {
            Some(task) => {
                let root = self.root(task);
                self.counters.iter().find(|counter| counter.task == root)
            }
            None => self.counters.iter().max_by_key(|counter| counter.count),
        };
        counter.map_or((0, None), |counter| (counter.count, counter.reason.text()))
    }

    /// Resets counters: a task's own, when it is done; its root's, on behalf of a human; all of them, without a task.
    /// Returns those that were reset.
    pub(crate) fn clear(&mut self, task: Option<Key>, human: bool) -> Vec<Cleared> {
        let cleared: Vec<Counter> = match task {
            Some(task) => {
                let root = self.root(task);
                if root != task && !human {
                    // The parent's loops are not over when a part of its work is done.
                    if let Some(tracker) = self.tracker(task) {
                        tracker.start_over();
                    }
                    return Vec::new();
                }
                let kept = self.tasks.iter().filter(|tracker| self.root(tracker.task) != root);
                let mut tasks = Ring::default();
                kept.cloned().for_each(|tracker| tasks.push(tracker, TASKS));
                self.tasks = tasks;
                self.chain.forget(root);
                self.counters.take(|counter| counter.task == root).into_iter().collect()
            }
            None => {
                let State { counters, .. } = core::mem::take(self);
                counters.iter().filter(|counter| counter.count > 0).cloned().collect()
            }
        };
        let cleared = cleared.into_iter();
        cleared.map(|counter| Cleared { task: counter.name, previous: counter.count, gated: counter.gated }).collect()
    }

    /// Whether a task has failed or was asked about.
    pub(crate) fn is_used(&self) -> bool {
        self.tasks.len() != 0
    }

    /// A call of a task (0 for none in particular) failed with fewer errors left than before: progress of what it belongs
    /// to.
    pub(crate) fn steps_forward(&mut self, task: Key) {
        let root = self.root(task);
        let roots: Vec<Key> = self.tasks.iter().map(|tracker| self.root(tracker.task)).collect();
        for (tracker, of) in self.tasks.iter_mut().zip(roots) {
            if task == 0 || of == root {
                tracker.marks = tracker.marks.saturating_add(1);
            }
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        self.totals
    }

    /// The requests so far, with which the length of a new embedding has to agree.
    pub(crate) fn chain(&self) -> &Chain {
        &self.chain
    }
}

/// A judge's own words, printable.
pub(crate) fn reasoning(evaluation: &Evaluation) -> Option<String> {
    let words = evaluation.reasoning.as_deref().map(|words| printable(words.trim(), REASONING).into_owned());
    words.filter(|words| !words.is_empty())
}

/// Why it counts, with the judge's words if there are any.
fn judged(reason: &str, words: Option<&str>) -> String {
    words.map_or_else(|| reason.into(), |words| format!("{reason}: {words}"))
}

impl Cause {
    fn kind(&self) -> &'static str {
        match self {
            Self::Exact => "exact-failure",
            Self::Regression { .. } | Self::Regressing(_) => "regression",
            Self::Stalled(_) => "no-progress",
            Self::Request { ring: 0, .. } => "repeated-request",
            Self::Request { .. } => "request-ring",
        }
    }

    /// Whether an equal message came again.
    const fn is_exact(&self) -> bool {
        matches!(self, Self::Exact | Self::Regression { exact: true, .. })
    }

    fn period(&self) -> Option<u32> {
        match self {
            Self::Request { ring, .. } if *ring > 0 => u32::try_from(*ring).ok(),
            _ => None,
        }
    }

    /// Why it counts, in the document's words where it has any.
    fn reason(&self) -> String {
        match self {
            Self::Exact => "Exact error message match".into(),
            Self::Regression { trend, .. } => format!("Regression: moving away from goal, failing tests {trend}"),
            Self::Stalled(words) => judged("No progress towards the goal, by evaluation", words.as_deref()),
            Self::Regressing(words) => judged("Regression: moving away from goal, by evaluation", words.as_deref()),
            Self::Request { ring: 0, .. } => "Repeated collaboration request".into(),
            Self::Request { ring, .. } => format!("Repeated collaboration request in a ring of {ring} agents"),
        }
    }

    fn confidence(&self) -> u16 {
        match self {
            Self::Exact => 950,
            Self::Regression { .. } => 850,
            Self::Stalled(_) | Self::Regressing(_) => 750,
            Self::Request { .. } => 800,
        }
    }

    fn advice(&self, count: u32, signature: &str, gate: bool) -> Advice {
        let loops = format!("This is loop {count}");
        let (what, instead, recommendation, halt_reason) = match self {
            Self::Exact => (
                format!("The task failed with the very same message as before, `{signature}`. {loops} of this task."),
                "Find out why the latest change left this failure as it was before changing anything else.",
                Recommendation::ChangeApproach,
                HaltReason::RepeatedError,
            ),
            Self::Regression { trend, .. } => (
                format!(
                    "More tests fail each time ({trend}): the work is moving away from the goal. {loops} of this task."
                ),
                "Go back to the last state in which fewer tests failed and take a smaller step from there.",
                Recommendation::Rollback,
                HaltReason::Stalled,
            ),
            Self::Regressing(_) => (
                format!(
                    "The latest failure, `{signature}`, was judged to be a step back: the work is moving away from the goal. {loops} of this task."
                ),
                "Go back to the last state that was nearer to the goal and take another way from there.",
                Recommendation::Rollback,
                HaltReason::Stalled,
            ),
            Self::Stalled(_) => (
                format!(
                    "The latest failure, `{signature}`, was judged to bring the task no nearer to its goal. {loops} of this task."
                ),
                "Write down what each attempt ruled out, then choose another approach.",
                Recommendation::ChangeApproach,
                HaltReason::Stalled,
            ),
            Self::Request { .. } => (
                format!(
                    "The same thing was asked for again, `{}`, with no measured progress since. {loops} of this task.",
                    signature.trim_start_matches("request:")
                ),
                "Act on the answer that was given, or say what it lacked.",
                Recommendation::ChangeApproach,
                HaltReason::Stalled,
            ),
        };
        let recommendation = if gate && recommendation == Recommendation::ChangeApproach {
            Recommendation::Escalate
        } else {
            recommendation
        };
        Advice { what: Some(what.into()), instead, recommendation, halt_reason }
    }
}

impl Rule for TaskLoop {
    const ID: &'static str = "task-loop";
    const ABOUT: &'static str =
        "One task failing in the same way, moving away from its goal, or asked about again and again.";
    const UNIT: &'static str = "loops of the task";
    const LIMITS: Limits = Limits { enabled: true, nudge: 2, block: 0, gate: 3, halt: 0, window: 0 };
    const OUTLIVES_EVIDENCE: bool = true;
    const SEES: Facts = Facts::REPORT;
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Event(event) = fact else { return None };
        match &event.body {
            Body::Failure(failure) => state.failure(&FailureFacts::of(failure, cx.salt), event, cx),
            Body::Progress(progress) => {
                state.enter(event, cx);
                state.tracker(cx.task)?.progress(progress);
                None
            }
            Body::Evaluation(evaluation) => state.evaluation(evaluation, event, cx),
            Body::Collaboration(_) => state.collaboration(event, cx),
            _ => None,
        }
    }

    fn forget_task(state: &mut State, task: Key) {
        // The detector clears the counter itself and reports that; what is left may be a part of another task.
        state.clear(Some(task), false);
    }

    fn weight(state: &State) -> usize {
        let trackers: usize = state.tasks.iter().map(Tracker::weight).sum();
        let counters: usize = state.counters.iter().map(Counter::weight).sum();
        trackers + counters + state.chain.weight()
    }

    /// Drops a task, and its counter and requests if no other task uses them.
    fn drop_task(state: &mut State, task: Key) {
        state.tasks.retain(|tracker| tracker.task != task);
        if !state.tasks.iter().any(|tracker| state.root(tracker.task) == task) {
            state.counters.retain(|counter| counter.task != task);
            state.chain.forget(task);
        }
    }

    fn shed(state: &mut State) -> u64 {
        let failures: u64 = state.tasks.iter_mut().map(|tracker| tracker.failures.halve()).sum();
        failures + state.chain.shed()
    }

    fn take_lost(state: &mut State) -> u64 {
        core::mem::take(&mut state.lost).saturating_add(state.chain.take_lost())
    }

    fn standing_of(state: &State, whose: &ScopeKeys, _flow: &Flow<'_>) -> u32 {
        state.loops(whose.task).0
    }

    /// The failures of the task, by the signatures that records show.
    fn story(state: &State, whose: &ScopeKeys) -> Vec<String> {
        let tracker = state.tasks.iter().rev().find(|tracker| whose.has_task(tracker.task));
        let failures = tracker.map(|tracker| tracker.failures.iter()).into_iter().flatten();
        failures.map(|past| format!("Event {}: `{}`", past.seen.sighting().seq, past.signature)).collect()
    }

    fn fits(state: &State) -> bool {
        state.tasks.len() <= TASKS
            && state.counters.len() <= TASKS
            && state.tasks.iter().map(|tracker| tracker.failures.len()).sum::<usize>() <= FAILURES
            && state.tasks.iter().all(Tracker::fits)
            && state.counters.iter().all(Counter::fits)
            && state.chain.fits()
    }
}

#[cfg(test)]
mod tests;
