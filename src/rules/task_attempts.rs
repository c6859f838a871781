//! Catches: an orchestrator that attempts a task over and over and gets nowhere: a task that is done already, a task
//! that stays blocked by the same things, a task of which every attempt ends with the same work done.
//! Must not catch: attempts that each did something else or met other blockers; another status in between; attempts
//! that are too old; other tasks. An attempt that names a blocker is a blocked one, whatever status the host reports.
//! Idea: the three patterns of the document about recovery from loops of attempts, with its context entries.
//!
//! Its integration checks before a task is executed, applies the recovery, skips the execution, and records the attempt
//! afterwards. So an attempt that needs a recovery is refused: `block` on the attempt that completes the loop and on
//! every further one, `gate` if a human is needed. Once a recovery has taken effect, the evidence no longer counts:
//! - the next task was forced, and the same agent begins one: the history of this one is cleared. A task that was under
//!   way all along is no next task;
//! - authority to unblock was given: the attempts so far are still counted, but only those made with the authority can
//!   show that it did not help. That it was given is remembered until the task is reset.

use crate::codec::codec;
use crate::model::{
    Attempt, AttemptEvidence, AttemptStanding, AttemptStatus, Attempts, AttemptsPreset, Body, ByName, Config, Error,
    Event, HaltReason, Level, Recommendation, Record, Recovery, RecoveryTopic,
};
use crate::rules::settings::{invalid, within};
use crate::rules::{Cx, Fact, Facts, HostAdvice, Limits, Rule, Signal, SignalParts, TASK_NAME, TASKS, many, task_name};
use crate::state::{Flow, KEY_BYTES, Occurrence, Onset, Ring, ScopeKeys, Sighting};
use crate::text::{Key, combine, key, printable, salted, sorted};
use alloc::{format, string::String, string::ToString, vec, vec::Vec};

/// Most attempts that a loop can be configured to take.
const MOST: u32 = 12;
/// Points in time kept per task to count its attempts; beyond that, the two closest to each other are merged.
const TIMES: usize = 64;
/// Attempts shown as evidence.
const SHOWN: usize = 3;
/// Blockers named in a recovery.
const BLOCKERS: usize = 16;
/// Characters of each of them.
const BLOCKER: usize = 80;
/// What the host can do about every loop, before anything else.
const ENTER: &str = "put the recovery entry into the context";
/// Characters of an attempt's blockers that are kept for a report.
const NAMED: usize = 240;
/// Characters of its session that are kept for a report.
const SESSION: usize = 64;

pub(crate) struct TaskAttempts;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Ordered by the latest attempt.
    tasks: Ring<Task>,
}
codec!(struct State { tasks });

#[derive(Clone, Debug, Default)]
struct Task {
    key: Key,
    name: String,
    times: Ring<Times>,
    latest: Option<i64>,
    recent: Ring<PastAttempt>,
    /// Attempts since the authority to remove blockers was given.
    authority: Option<u32>,
    /// The orchestrator was told to leave this task.
    forced: bool,
    /// Agent of the latest attempt.
    agent: Key,
    /// The loop that the latest attempt is part of, and its onset.
    going: Option<(Kind, Onset)>,
    /// The latest loop that was found: its kind, the attempts, and what was recommended.
    told: Option<(Kind, u32, Recommendation)>,
}
codec!(struct Task { key, name, times, latest, recent, authority, forced, agent, going, told });

/// How many attempts there were at one point in time.
#[derive(Clone, Copy, Debug)]
struct Times {
    at: Option<i64>,
    count: u32,
}
codec!(struct Times { at, count });

#[derive(Clone, Debug)]
struct PastAttempt {
    at: Option<i64>,
    status: AttemptStatus,
    blocked: bool,
    blockers: Key,
    worked: bool,
    work: Key,
    seen: Occurrence,
    session: Option<String>,
    /// As many of the blockers as there is room for; `more` is the number of the others.
    named: Vec<String>,
    more: u32,
}
codec!(struct PastAttempt { at, status, blocked, blockers, worked, work, seen, session, named, more });

impl PastAttempt {
    /// Its line in a report.
    fn line(&self) -> String {
        let mut line = format!("{}, ", self.status.name().replace('-', " "));
        if let Some(session) = &self.session {
            line += &format!("{session}, ");
        }
        if let Some(at) = self.at {
            line += &format!("at {at} ms, ");
        }
        match (self.named.is_empty(), self.more) {
            (true, _) => line += "no blockers",
            (false, 0) => line += &format!("blocked by {}", self.named.join(", ")),
            (false, more) => line += &format!("blocked by {} and {more} more", self.named.join(", ")),
        }
        line
    }

    fn fits(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.len() <= SESSION * 4)
            && self.named.len() <= BLOCKERS
            && self.named.iter().all(|blocker| blocker.len() <= BLOCKER * 4)
    }

    fn evidence(&self) -> AttemptEvidence {
        let Sighting { seq, step, .. } = self.seen.sighting();
        AttemptEvidence {
            seq,
            step: step.get(),
            at: self.at,
            status: self.status,
            blockers: self.named.clone(),
            more_blockers: self.more,
            session: self.session.clone(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    CompletedTaskRevisit,
    BlockedTaskSpin,
    NoProgressRepeat,
}
codec!(enum Kind { CompletedTaskRevisit: 0, BlockedTaskSpin: 1, NoProgressRepeat: 2 });

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::CompletedTaskRevisit => "completed-task-revisit",
            Self::BlockedTaskSpin => "blocked-task-spin",
            Self::NoProgressRepeat => "no-progress-repeat",
        }
    }
}

/// The `attempts` section with its preset filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Policy {
    max_attempts: u32,
    pub(super) window_ms: u64,
    auto_unblock: bool,
    force_next: u32,
}

impl Policy {
    pub(super) fn of(config: &Attempts) -> Self {
        let (max_attempts, force_next, auto_unblock) = match config.preset {
            AttemptsPreset::Balanced => (3, 5, true),
            AttemptsPreset::Conservative => (5, 8, false),
            AttemptsPreset::Aggressive => (2, 3, true),
        };
        Self {
            max_attempts: config.max_attempts.unwrap_or(max_attempts),
            window_ms: config.attempt_window_ms.unwrap_or(60 * 60 * 1000),
            auto_unblock: config.enable_auto_unblock.unwrap_or(auto_unblock),
            force_next: config.max_attempts_before_force_next.unwrap_or(force_next),
        }
    }

    pub(super) const fn max_attempts(self) -> usize {
        self.max_attempts as usize
    }

    /// Whether an attempt is recent enough; one without a timestamp always is.
    pub(super) fn recent(self, at: Option<i64>, now: Option<i64>) -> bool {
        at.zip(now).is_none_or(|(at, now)| u64::try_from(now.saturating_sub(at)).unwrap_or(0) <= self.window_ms)
    }
}

/// Checks the configuration's section `attempts`.
///
/// # Errors
/// `invalid-config`, naming the field.
pub(super) fn validate(config: &Attempts) -> Result<(), Error> {
    let policy = Policy::of(config);
    within("attempts.maxAttempts", policy.max_attempts.into(), 2..=MOST.into(), "")?;
    if policy.force_next < policy.max_attempts {
        let message = format!("must not be below maxAttempts ({}), which finds the loop", policy.max_attempts);
        return Err(invalid("attempts.maxAttemptsBeforeForceNext", &message).with(policy.force_next));
    }
    if policy.window_ms == 0 {
        return Err(invalid("attempts.attemptWindowMs", "expected at least 1 millisecond").with(0));
    }
    Ok(())
}

/// Key of a set of texts: their order and repetitions do not matter.
pub(super) fn set_key(domain: &str, salt: u64, texts: &[String]) -> Key {
    let mut keys: Vec<Key> = sorted(texts.iter().map(|text| salted(domain, salt, text.as_bytes())).collect());
    keys.dedup();
    combine(domain, &keys)
}

impl Times {
    fn add(times: &mut Ring<Self>, at: Option<i64>) {
        if let Some(last) = times.iter_mut().next_back()
            && last.at == at
        {
            last.count = last.count.saturating_add(1);
            return;
        }
        if times.len() >= TIMES {
            // Merging the two closest to each other keeps the count right to a small part of the window.
            let gap = |(index, (old, new)): (usize, (&Self, &Self))| {
                (new.at.zip(old.at).map_or(i64::MAX, |(new, old)| new.saturating_sub(old).saturating_abs()), index)
            };
            let closest = times.iter().zip(times.iter().skip(1)).enumerate().map(gap).min();
            if let Some((_, index)) = closest
                && let Some(old) = times.remove(index)
                && let Some(new) = times.iter_mut().nth(index)
            {
                new.count = new.count.saturating_add(old.count);
                new.at = new.at.max(old.at);
            }
        }
        times.push(Self { at, count: 1 }, TIMES);
    }
}

impl Task {
    /// Attempts in the window.
    fn attempts(&self, policy: Policy, now: Option<i64>) -> u32 {
        let recent = self.times.iter().filter(|times| policy.recent(times.at, now));
        recent.fold(0, |sum, times| sum.saturating_add(times.count))
    }

    fn clear(&mut self) {
        self.times.clear();
        self.recent.clear();
        self.forced = false;
        self.going = None;
    }

    fn add(&mut self, attempt: &Attempt, policy: Policy, cx: &Cx<'_>, at: Option<i64>) {
        self.times.retain(|times| policy.recent(times.at, cx.run.now));
        Times::add(&mut self.times, at);
        self.latest = at.or(self.latest).max(self.latest);
        let (blockers, work) =
            (set_key("blockers", cx.salt, &attempt.blockers), set_key("work", cx.salt, &attempt.completed_work));
        let (named, more) = listed(&attempt.blockers, NAMED);
        let sighting = Sighting { key: combine("attempt", &[self.key, blockers, work]), ..cx.here };
        let attempt = PastAttempt {
            at,
            status: attempt.status,
            blocked: !attempt.blockers.is_empty(),
            blockers,
            worked: !attempt.completed_work.is_empty(),
            work,
            seen: Occurrence::new(sighting, cx.onset),
            session: attempt.session.as_deref().map(|session| printable(session, SESSION).into_owned()),
            named,
            more: many(more),
        };
        self.authority = self.authority.map(|attempts| attempts.saturating_add(1));
        self.recent.push(attempt, policy.max_attempts.max(SHOWN as u32) as usize);
    }

    /// The kind of loop that the latest attempts form.
    fn kind(&self, policy: Policy, now: Option<i64>) -> Option<Kind> {
        let last = self.recent.last()?;
        let size = policy.max_attempts as usize;
        let latest = || self.recent.iter().rev().take(size);
        // An attempt with a blocker is blocked, whatever its status. Other blockers are a change, whatever was done.
        let alike = |seen: &PastAttempt| seen.blockers == last.blockers && (last.blocked || seen.status == last.status);
        if self.recent.len() < size || !latest().all(|seen| alike(seen) && policy.recent(seen.at, now)) {
            return None;
        }
        if last.blocked {
            let new = |(index, seen): (usize, &PastAttempt)| {
                seen.worked && latest().skip(index + 1).all(|old| old.work != seen.work)
            };
            // If each attempt did something else, the task is being worked on. And attempts from before the authority
            // was given do not show that it is no help.
            let tried = self.authority.is_none_or(|attempts| attempts >= policy.max_attempts);
            return (tried && !latest().enumerate().all(new)).then_some(Kind::BlockedTaskSpin);
        }
        if last.status == AttemptStatus::Done {
            return Some(Kind::CompletedTaskRevisit);
        }
        latest().all(|seen| seen.work == last.work).then_some(Kind::NoProgressRepeat)
    }

    /// What to do about a loop; notes on the task what was recommended, where that matters later.
    fn recover(&mut self, kind: Kind, policy: Policy, attempts: u32, blockers: &[String]) -> Recovered {
        let recommendation = match kind {
            Kind::CompletedTaskRevisit => Recommendation::ForceNext,
            Kind::NoProgressRepeat if attempts >= policy.force_next => Recommendation::ForceNext,
            Kind::NoProgressRepeat => Recommendation::ChangeApproach,
            Kind::BlockedTaskSpin if policy.auto_unblock && self.authority.is_none() => {
                Recommendation::UnblockAuthority
            }
            Kind::BlockedTaskSpin => Recommendation::Escalate,
        };
        let text = self.recovery(kind, recommendation, attempts, blockers);
        match recommendation {
            Recommendation::ForceNext => self.forced = true,
            Recommendation::UnblockAuthority => self.authority = Some(0),
            _ => {}
        }
        let name = self.shown_name();
        let what = match kind {
            Kind::CompletedTaskRevisit => {
                format!("The task {name} was attempted {attempts} times although it is done.")
            }
            Kind::NoProgressRepeat => format!("{attempts} attempts at the task {name} ended with the same work done."),
            Kind::BlockedTaskSpin => format!("{attempts} attempts at the task {name} ended at the same blockers."),
        };
        let (instead, actions): (_, &[_]) = match (kind, recommendation) {
            (Kind::CompletedTaskRevisit, _) => {
                ("Select the next task of the plan.", &["mark the task as done", "select the next task"])
            }
            (Kind::NoProgressRepeat, Recommendation::ForceNext) => (
                "Set this task aside and select the next one of the plan.",
                &["set the task aside", "select the next task"],
            ),
            (Kind::NoProgressRepeat, _) => {
                ("Name the step at which every attempt ended, and approach it in another way.", &["replan the task"])
            }
            (Kind::BlockedTaskSpin, Recommendation::UnblockAuthority) => (
                "Work around the blockers of this task, and document what was left out.",
                &["allow the agent to remove these blockers"],
            ),
            (Kind::BlockedTaskSpin, _) => (
                "Work on another task until a human has removed the blockers.",
                &["mark the task as blocked", "let a human remove the blockers"],
            ),
        };
        Recovered { recommendation, text, what, instead, actions }
    }

    /// The entry for the context, in the document's exact words wherever it gives them.
    fn recovery(&self, kind: Kind, recommendation: Recommendation, attempts: u32, blockers: &[String]) -> String {
        let name = self.shown_name();
        match recommendation {
            Recommendation::UnblockAuthority => format!(
                "UNBLOCK AUTHORITY GRANTED: Task {name} blocked by [{}] after {attempts} attempts.\n\n\
                 You have FULL AUTHORITY to:\n\
                 1. Remove or work around these blockers\n\
                 2. Make necessary architectural changes\n\
                 3. Skip unavailable dependencies temporarily\n\
                 4. Create stub implementations if needed\n\
                 5. Document blockers as technical debt for later\n\n\
                 COMPLETE the task by any means necessary, then mark it done and move on.",
                named(blockers),
            ),
            Recommendation::Escalate => {
                let reason = if self.authority.is_some() {
                    "No progress despite unblock authority."
                } else {
                    "Blocked and not allowed to unblock itself."
                };
                format!(
                    "ESCALATION: Loop detected on task {name} after {attempts} attempts.\n\
                     Human intervention required.\nReason: {reason}"
                )
            }
            _ => {
                let came = if kind == Kind::CompletedTaskRevisit { "completed after" } else { "made no progress in" };
                let next = if recommendation == Recommendation::ForceNext {
                    "DO NOT revisit this task. SELECT NEXT TASK from roadmap using plan_next()."
                } else {
                    "CHANGE APPROACH before the next attempt: each one ended with the same work done."
                };
                format!("LOOP DETECTED: Task {name} {came} {attempts} attempts.\n{next}")
            }
        }
    }

    fn shown_name(&self) -> &str {
        if self.name.is_empty() { "(unnamed)" } else { &self.name }
    }
}

/// A recommendation's name in the document's log lines.
const fn logged(recommendation: Recommendation) -> &'static str {
    match recommendation {
        Recommendation::ForceNext => "force_next",
        Recommendation::UnblockAuthority => "unblock_authority",
        Recommendation::Escalate => "escalate",
        _ => "change_approach",
    }
}

struct Recovered {
    recommendation: Recommendation,
    text: String,
    what: String,
    instead: &'static str,
    /// In addition to [`ENTER`].
    actions: &'static [&'static str],
}

impl Recovered {
    const fn topic(&self) -> RecoveryTopic {
        match self.recommendation {
            Recommendation::UnblockAuthority => RecoveryTopic::UnblockAuthority,
            Recommendation::Escalate => RecoveryTopic::LoopEscalation,
            _ => RecoveryTopic::LoopRecovery,
        }
    }

    const fn level(&self) -> Level {
        if matches!(self.recommendation, Recommendation::Escalate) { Level::Gate } else { Level::Block }
    }
}

/// Blockers as they may be shown: each once, on one line, and without the brackets that enclose their list in a text;
/// and how many more there are.
fn shown(blockers: &[String]) -> (Vec<String>, usize) {
    let mut shown: Vec<String> = Vec::new();
    let mut more = 0;
    for blocker in blockers {
        let blocker = printable(blocker, BLOCKER).replace('[', "(").replace(']', ")");
        if shown.contains(&blocker) {
            continue;
        }
        if shown.len() < BLOCKERS {
            shown.push(blocker);
        } else {
            more += 1;
        }
    }
    (shown, more)
}

/// The blockers by name, as far as `room` characters hold them, at least one; and how many more there are.
fn listed(blockers: &[String], room: usize) -> (Vec<String>, usize) {
    let (shown, more) = shown(blockers);
    let (mut kept, mut taken): (Vec<String>, usize) = (Vec::new(), 0);
    let all = shown.len();
    for blocker in shown {
        let length = blocker.chars().count() + 2;
        if !kept.is_empty() && taken + length > room + 2 {
            break;
        }
        taken += length;
        kept.push(blocker);
    }
    let more = more + all - kept.len();
    (kept, more)
}

/// All of them in one text.
fn named(blockers: &[String]) -> String {
    match listed(blockers, usize::MAX / 2) {
        (named, 0) => named.join(", "),
        (named, more) => format!("{} and {more} more", named.join(", ")),
    }
}

impl State {
    /// The latest attempts at a task, oldest first, and what the document logs about their loop.
    pub(crate) fn evidence(&self, task: Key) -> (Vec<AttemptEvidence>, Vec<String>) {
        let Some(task) = self.tasks.iter().find(|known| known.key == task) else { return Default::default() };
        let (name, mut log) = (&task.name, Vec::new());
        if let Some((kind, attempts, recommendation)) = task.told {
            log.push(detected(kind, name, attempts, recommendation));
            if recommendation == Recommendation::UnblockAuthority {
                log.push(format!("Granting unblock authority for {name}"));
            }
            log.push(format!("Loop recovery applied: {}", logged(recommendation)));
        }
        (task.recent.iter().map(PastAttempt::evidence).collect(), log)
    }

    pub(crate) fn status(&self, config: &Config, now: Option<i64>) -> ByName<AttemptStanding> {
        let policy = Policy::of(&config.attempts);
        let standing = |task: &Task| {
            let attempt_count = task.attempts(policy, now);
            (task.name.clone(), AttemptStanding { attempt_count, last_attempt: task.latest })
        };
        self.tasks.iter().map(standing).filter(|(_, standing)| standing.attempt_count != 0).collect()
    }
}

impl Rule for TaskAttempts {
    const ID: &'static str = "task-attempts";
    const ABOUT: &'static str = "Attempts at a task that is done, that stays blocked, or that makes no progress.";
    const UNIT: &'static str = "attempts";
    const LIMITS: Limits = Limits::configured();
    const OUTLIVES_EVIDENCE: bool = true;
    const SEES: Facts = Facts::REPORT;
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Event(event) = fact else { return None };
        let Body::Attempt(attempt) = &event.body else { return None };
        let policy = Policy::of(&cx.config.attempts);
        let is_it = |task: &Task| task.key == cx.task;
        if !state.tasks.iter().any(is_it) {
            state.tasks.iter_mut().filter(|task| task.forced && task.agent == cx.agent).for_each(Task::clear);
        }
        let name = || task_name(event.context.task.as_deref().unwrap_or_default());
        let task = state.tasks.renew(TASKS, is_it, || Task { key: cx.task, name: name(), ..Task::default() })?;
        task.agent = cx.agent;
        task.add(attempt, policy, cx, event.context.at);
        signal(task, attempt, policy, cx, event)
    }

    fn drop_tasks(state: &mut State, gone: &dyn Fn(Key) -> bool) {
        state.tasks.retain(|known| !gone(known.key));
    }

    fn weight(state: &State) -> usize {
        let seen = |seen: &PastAttempt| {
            let texts = seen.named.iter().chain(&seen.session).map(|text| text.len() + 2).sum::<usize>();
            3 * KEY_BYTES + seen.seen.weight() + texts + 20
        };
        let task = |task: &Task| {
            let recent: usize = task.recent.iter().map(seen).sum();
            let going = task.going.map_or(0, |(_, onset)| onset.weight());
            3 * KEY_BYTES + task.name.len() + 16 * task.times.len() + going + 24 + recent
        };
        state.tasks.iter().map(task).sum()
    }

    fn standing_of(state: &State, whose: &ScopeKeys, _flow: &Flow<'_>) -> u32 {
        let attempts = |task: &Task| task.times.iter().fold(0, |sum: u32, times| sum.saturating_add(times.count));
        state.tasks.iter().filter(|task| whose.has_task(task.key)).map(attempts).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        let fits = |task: &Task| {
            task.name.len() <= TASK_NAME * 4
                && task.times.len() <= TIMES
                && task.recent.len() <= MOST as usize
                && task.recent.iter().all(PastAttempt::fits)
        };
        state.tasks.len() <= TASKS && state.tasks.iter().all(fits)
    }

    fn story(state: &State, whose: &ScopeKeys) -> Vec<String> {
        let Some(task) = state.tasks.iter().rev().find(|task| whose.has_task(task.key)) else { return Vec::new() };
        let attempts = task.recent.iter().skip(task.recent.len().saturating_sub(SHOWN));
        attempts.map(|seen| format!("Attempt at event {}: {}", seen.seen.sighting().seq, seen.line())).collect()
    }
}

fn signal(task: &mut Task, attempt: &Attempt, policy: Policy, cx: &Cx<'_>, event: &Event) -> Option<Signal> {
    let Some(kind) = task.kind(policy, cx.run.now) else {
        task.going = None;
        return None;
    };
    let attempts = task.attempts(policy, cx.run.now);
    let first =
        task.recent.nth_back(policy.max_attempts.saturating_sub(1) as usize).map(|attempt| attempt.seen.onset())?;
    let onset = task.going.filter(|(known, _)| *known == kind).map_or(first, |(_, onset)| onset);
    task.going = Some((kind, onset));
    let shown_attempts = task.recent.iter().skip(task.recent.len().saturating_sub(SHOWN));
    let sightings = shown_attempts.map(|attempt| attempt.seen.sighting()).collect();
    let (blockers, _) = shown(&attempt.blockers);
    let recovered = task.recover(kind, policy, attempts, &attempt.blockers);
    task.told = Some((kind, attempts, recovered.recommendation));
    let name = &task.name;
    let message = detected(kind, name, attempts, recovered.recommendation);
    let records = records(task, event, kind, attempts, &recovered, &message);
    Some(Signal {
        ask: Some(recovered.level()),
        extra: HostAdvice {
            records,
            recovery: Some(Recovery {
                topic: recovered.topic(),
                text: recovered.text,
                task: event.context.task.clone(),
                blockers,
            }),
            actions: [ENTER].iter().chain(recovered.actions).map(ToString::to_string).collect(),
            ..HostAdvice::default()
        }
        .into(),
        ..SignalParts {
            kind: kind.name(),
            identity: combine("task-attempts", &[cx.task, key("kind", kind.name().as_bytes())]),
            count: attempts,
            confidence: 900,
            signature: format!("{}:{name}", kind.name()).into(),
            message,
            instead: recovered.instead,
            recommendation: recovered.recommendation,
            halt_reason: HaltReason::Stalled,
        }
        .signal(onset, sightings)
        .what(recovered.what)
    })
}

/// The document's first log line.
fn detected(kind: Kind, task: &str, attempts: u32, recommendation: Recommendation) -> String {
    format!(
        "Loop detected: {}, taskId={task}, attemptCount={attempts}, recommendation={}",
        kind.name().replace('-', "_"),
        logged(recommendation)
    )
}

/// What the host logs: the loop, and that a human is notified.
fn records(task: &Task, event: &Event, kind: Kind, attempts: u32, recovered: &Recovered, message: &str) -> Vec<Record> {
    let context = &event.context;
    let (task_id, agent_id, timestamp) = (context.task.clone(), context.agent.clone(), context.at);
    let mut records = vec![Record::LoopDetected {
        task_id: task_id.clone(),
        agent_id: agent_id.clone(),
        loop_count: attempts,
        error_signature: format!("{}:{}", kind.name(), task.name),
        is_exact_match: true,
        orchestrator_reasoning: message.to_string(),
        timestamp,
    }];
    if recovered.level() == Level::Gate {
        records.push(Record::GateTriggered {
            task_id,
            agent_id,
            loop_count: attempts,
            trigger_reason: recovered.what.clone(),
            failure_history: task.recent.iter().map(|seen| seen.line()).collect(),
            timestamp,
        });
    }
    records
}

#[cfg(test)]
mod tests {
    use super::Policy;
    use crate::json;
    use crate::model::Level::{Block, Gate, Halt};
    use crate::rules::testing::Script;

    const RULE: &str = "task-attempts";

    #[test]
    fn table() {
        let cases: [(&str, &str, &[_]); 21] = [
            // Done already.
            ("{}", "=d =d", &[]),
            ("{}", "=d =d =d =d", &[(2, Block), (3, Block)]),
            ("{}", "=d::w1 =d::w2 =d::w3", &[(2, Block)]),
            // Another status in between, and done for the first time.
            ("{}", "=d =d =i =d =d", &[]),
            ("{}", "=i::w =b:x =d::w", &[]),
            // Blocked by the same set: authority first, then, when three more attempts did not help, a human.
            ("{}", "=b:x,y =b:y,x =b:x,y,x", &[(2, Block)]),
            ("{}", "=b:x =b:x =b:x =b:x =b:x =b:x =b:x", &[(2, Block), (5, Gate), (6, Gate)]),
            ("{}", "=b:x =b:y =b:z", &[]),
            ("{}", "=b:x =b:x =b:x,y", &[]),
            // Whatever status the host reports.
            ("{}", "=i:x =p:x =b:x =i:x", &[(2, Block)]),
            ("{}", "=i:x =i =i:x", &[]),
            ("{}", "=d:x =d:x =d:x", &[(2, Block)]),
            // Blocked, but each attempt did something else.
            ("{}", "=b:x:w1 =b:x:w2 =b:x:w3", &[]),
            ("{}", "=b:x:w1 =b:x:w2 =b:x:w1", &[(2, Block)]),
            // No progress: a set, in any order; none at all counts.
            ("{}", "=i::w,v =i::v,w =i::w,v =i::w,v =i::w,v", &[(2, Block), (3, Block), (4, Block)]),
            ("{}", "=p =p =p", &[(2, Block)]),
            ("{}", "=i::w1 =i::w2 =i::w3 =i::w4", &[]),
            // Each task has its own history.
            ("{}", "#t =i #u =i #t =i #u =i", &[]),
            // The next task was forced and taken: the history of the first one is gone.
            ("{}", "#t =d =d =d #u =i #t =d =d =d", &[(2, Block), (6, Block)]),
            // One that was under way all along is no next task.
            ("{}", "#t =d #u =i::1 #t =d #u =i::2 #t =d #u =i::3 #t =d", &[(4, Block), (6, Block)]),
            // The authority is remembered even then.
            ("{}", "#t =b:x =b:x =b:x =d =d =d #u =i #t =b:x =b:x =b:x", &[(2, Block), (5, Block), (9, Gate)]),
        ];
        for (config, script, expected) in cases {
            Script::workflow(config).play(script).expect(RULE, expected);
        }
    }

    #[test]
    fn time() {
        Script::workflow("{}").play("=i @3597 =i =i").expect(RULE, &[(2, Block)]);
        Script::workflow("{}").play("=i @3599 =i =i").expect(RULE, &[]);
        Script::workflow(r#"{"attempts":{"attemptWindowMs":10000}}"#).play("=i @9 =i @9 =i").expect(RULE, &[]);
    }

    #[test]
    fn presets() {
        let of = |text: &str| {
            let policy = Policy::of(&json::config(text).unwrap().attempts);
            (policy.max_attempts, policy.force_next, policy.auto_unblock, policy.window_ms)
        };
        assert_eq!(of("{}"), (3, 5, true, 3_600_000));
        assert_eq!(of(r#"{"attempts":{"preset":"conservative"}}"#), (5, 8, false, 3_600_000));
        assert_eq!(of(r#"{"attempts":{"preset":"aggressive"}}"#), (2, 3, true, 3_600_000));
        let mixed =
            r#"{"attempts":{"preset":"aggressive","maxAttempts":3,"enableAutoUnblock":false,"attemptWindowMs":1000}}"#;
        assert_eq!(of(mixed), (3, 3, false, 1000));
    }

    #[test]
    fn nobody_attends_or_unblocks() {
        let alone = r#"{"attempts":{"enableAutoUnblock":false}}"#;
        Script::workflow(alone).play("=b:x =b:x =b:x =b:x").expect(RULE, &[(2, Gate), (3, Gate)]);
        let unattended = r#"{"attended":false,"attempts":{"enableAutoUnblock":false}}"#;
        Script::workflow(unattended).play("=b:x =b:x =b:x").expect(RULE, &[(2, Halt)]);
    }
}
