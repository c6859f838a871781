//! The state of verdicts in a run: the latest level of each task and agent, and the findings.
//!
//! A level belongs to the scope that earned it. A [`Standing`] is kept per task and agent; a scope that names only one
//! of the two, or neither, covers all standings that match. Findings are in one list, bounded for the run as a whole:
//! above the bound, the task with the most findings gives up its oldest.

use crate::codec::{Codec, Reader, Weighed, codec, length};
use crate::model::{Context, Finding, Level, Scope};
use crate::rules::{LONGEST_NAME, counts_for_parent};
use crate::state::Ring;
use crate::text::{Key, key, sort_few};
use alloc::{string::String, string::ToString, sync::Arc, vec::Vec};
use smol_str::SmolStr;

use super::{Iterations, KEY_BYTES};

/// Pairs of task and agent told apart in a run; the least recently active is dropped first.
const STANDINGS: usize = 64;
/// Findings kept per run, and the bytes that they may take together by the upper estimate of [`weight`].
const FINDINGS: usize = 40;
const FINDING_BYTES: usize = 24 * 1024;
/// Findings kept per task, as shown in a report.
pub(crate) const FINDINGS_OF_ONE: usize = 8;
/// Most bytes of a finding's text, and most evidence events, accepted from a snapshot that may be forged.
const LONGEST_TEXT: usize = 64 * 1024;
const MOST_EVIDENCE: usize = 128;
/// Readings of failing tests kept for the progress trend.
const TREND: usize = 8;

/// Key of a task's name.
pub(crate) fn task_key(name: &str) -> Key {
    key("task", name.as_bytes())
}

/// Key of an agent's name.
pub(crate) fn agent_key(name: &str) -> Key {
    key("agent", name.as_bytes())
}

/// Key of the task that an event names; 0 for none.
pub(crate) fn task_of(context: &Context) -> Key {
    context.task.as_deref().map_or(0, task_key)
}

/// Key of the parent task, if the event names one.
pub(crate) fn parent_of(context: &Context) -> Option<Key> {
    context.parent_task.as_deref().map(task_key)
}

/// Key of the task that workflows, requests and reports count for: the parent of a subtask; 0 for none.
pub(crate) fn owner_key(task: Option<&str>, parent: Option<&str>) -> Key {
    parent.or(task).map_or(0, task_key)
}

/// Key of the agent that acted; 0 for none.
pub(crate) fn agent_of(context: &Context) -> Key {
    context.agent.as_deref().map_or(0, agent_key)
}

/// Key of the round that an event names.
pub(crate) fn round_key(context: &Context) -> Option<Key> {
    context.round.as_deref().map(|round| key("round", round.as_bytes()))
}

/// A scope by its keys; `None` matches everything.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ScopeKeys {
    pub(crate) task: Option<Key>,
    pub(crate) agent: Option<Key>,
}

impl ScopeKeys {
    pub(crate) fn of(scope: &Scope) -> Self {
        let task = scope.task.as_deref().or(scope.parent_task.as_deref());
        Self { task: task.map(task_key), agent: scope.agent.as_deref().map(agent_key) }
    }

    /// Exactly the task and agent of a finding; one that names none matches key 0.
    pub(crate) fn exactly(scope: &Scope) -> Self {
        let all = Self::of(scope);
        Self { task: Some(all.task.unwrap_or(0)), agent: Some(all.agent.unwrap_or(0)) }
    }

    pub(crate) fn has_task(&self, task: Key) -> bool {
        self.task.is_none_or(|known| known == task)
    }

    pub(crate) fn has_agent(&self, agent: Key) -> bool {
        self.agent.is_none_or(|known| known == agent)
    }

    pub(crate) fn has(&self, task: Key, agent: Key) -> bool {
        self.has_task(task) && self.has_agent(agent)
    }
}

/// What was consumed, as far as events report it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub(crate) events: u64,
    pub(crate) tokens: Option<u64>,
    pub(crate) cost_micros: Option<u64>,
}
codec!(struct Spent { events, tokens, cost_micros });

impl Spent {
    fn add(&mut self, more: &Self) {
        self.events = self.events.saturating_add(more.events);
        add(&mut self.tokens, more.tokens);
        add(&mut self.cost_micros, more.cost_micros);
    }
}

/// Adds a reported amount to a sum; the sum stays `None` while nothing is reported.
pub(crate) fn add(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

/// Figures in chronological order, joined by arrows; `None` if there are none.
pub(crate) fn trend(figures: &[u32]) -> Option<String> {
    let figures: Vec<String> = figures.iter().map(ToString::to_string).collect();
    (!figures.is_empty()).then(|| figures.join(" → "))
}

/// The state of one agent's work on one task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    pub(crate) task: Key,
    agent: Key,
    /// The parent task.
    parent: Option<Key>,
    /// Sequence number and event time of the latest event.
    touched: u64,
    at: Option<i64>,
    spent: Spent,
    steps: u64,
    iterations: Iterations,
    /// Level of the latest verdict.
    level: Level,
    /// Strongest level since the last reset.
    peak: Level,
    /// Event time of the first finding at `nudge` or above since the last reset.
    detected_at: Option<i64>,
    /// It has given evidence about calls, texts or streams since that was last dropped.
    heard: bool,
    /// The latest counts of failing tests, each with the sequence number of its event.
    trend: Ring<(u64, u32)>,
}
codec!(struct Standing {
    task, agent, parent, touched, at, spent, steps, iterations, level, peak, detected_at, heard, trend,
});

impl Standing {
    /// Counts an event.
    fn touch(&mut self, now: Option<i64>, seq: u64) {
        self.spent.events = self.spent.events.saturating_add(1);
        self.touched = seq;
        self.at = now.or(self.at);
    }

    fn fits(&self, whose: &ScopeKeys) -> bool {
        whose.has_agent(self.agent) && (whose.has_task(self.task) || whose.task == self.parent)
    }

    fn weight(&self) -> usize {
        let time = |at: Option<i64>| 1 + at.map_or(0, |at| length(at.unsigned_abs().saturating_mul(2)));
        let told = |number: Option<u64>| 1 + number.map_or(0, length);
        let spent = length(self.spent.events) + told(self.spent.tokens) + told(self.spent.cost_micros);
        let keys = KEY_BYTES * (2 + usize::from(self.parent.is_some())) + 4;
        let trend: usize = self.trend.iter().map(|(seq, failing)| length(*seq) + length((*failing).into())).sum();
        keys + length(self.touched)
            + time(self.at)
            + spent
            + length(self.steps)
            + self.iterations.weight()
            + trend
            + time(self.detected_at)
    }
}

/// The standings of a scope, combined.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    /// Whether any event belongs to the scope.
    pub(crate) known: bool,
    pub(crate) spent: Spent,
    pub(crate) steps: u64,
    pub(crate) level: Level,
    pub(crate) peak: Level,
    pub(crate) detected_at: Option<i64>,
    pub(crate) trend: Vec<u32>,
}

/// All standings, and all findings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standings {
    /// The most recently active is last.
    all: Ring<Standing>,
    /// The latest finding of every loop, newest last.
    findings: Vec<KeptFinding>,
}
codec!(struct Standings { all, findings });

/// A finding as in the verdict on its event, with its sizes, which are summed over all findings whenever one changes.
#[derive(Clone, Debug)]
struct KeptFinding {
    finding: Weighed<Arc<Finding>>,
    /// The most bytes that it takes in a snapshot ([`weight`]).
    weight: usize,
}

impl KeptFinding {
    fn new(finding: Arc<Finding>) -> Self {
        Self { weight: weight(&finding), finding: Weighed::new(finding) }
    }

    fn is_of(&self, task: Option<&str>) -> bool {
        self.finding.scope.task.as_deref() == task
    }
}

impl Codec for KeptFinding {
    const SIZE: usize = Weighed::<Arc<Finding>>::SIZE + 8;

    fn heap(&self) -> usize {
        self.finding.heap()
    }

    fn put(&self, to: &mut Vec<u8>) {
        self.finding.put(to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        Self::new(Arc::take(from))
    }
}

impl Standings {
    /// The strongest level of any standing since the last reset.
    pub(crate) fn peak(&self) -> Level {
        self.all.iter().map(|standing| standing.peak).max().unwrap_or_default()
    }

    /// Counts an event.
    pub(crate) fn enter(&mut self, context: &Context, task: Key, now: Option<i64>, seq: u64) {
        let agent = agent_of(context);
        let current = self.all.last().is_some_and(|last| last.task == task && last.agent == agent);
        if !current {
            let known = self.all.take(|known| known.task == task && known.agent == agent);
            let fresh = || Standing { task, agent, ..Standing::default() };
            self.all.push(known.unwrap_or_else(fresh), STANDINGS);
        }
        if let Some(standing) = self.current() {
            standing.touch(now, seq);
            if let Some(parent) = &context.parent_task {
                standing.parent = Some(task_key(parent)).filter(|parent| *parent != task);
            }
        }
    }

    /// Counts a text delta of the current standing that carries no time or cost.
    pub(crate) fn goes_on(&mut self, now: Option<i64>, seq: u64) {
        let Some(standing) = self.current() else { return };
        standing.touch(now, seq);
        standing.heard = true;
    }

    /// Whether an event without a task belongs to the latest standing: the same agent, also without a task.
    pub(crate) fn is_latest(&self, context: &Context) -> bool {
        let agent = agent_of(context);
        self.all.last().is_some_and(|last| last.task == 0 && last.agent == agent)
    }

    /// The standing of the current event.
    pub(crate) fn current(&mut self) -> Option<&mut Standing> {
        self.all.iter_mut().next_back()
    }

    /// Key of the current agent; 0 for none.
    pub(crate) fn agent(&self) -> Key {
        self.all.last().map_or(0, |standing| standing.agent)
    }

    /// Key of the agent of that name, if it is known and is not the current one.
    pub(crate) fn another(&self, name: &str) -> Option<Key> {
        let mut others =
            self.all.iter().map(|standing| standing.agent).filter(|agent| *agent != self.agent()).peekable();
        others.peek().filter(|_| name.len() <= LONGEST_NAME)?;
        let named = agent_key(name);
        others.find(|agent| *agent == named)
    }

    /// Adds the cost of the current event.
    pub(crate) fn cost(&mut self, tokens: Option<u64>, cost_micros: Option<u64>) {
        if let Some(standing) = self.current() {
            standing.spent.add(&Spent { events: 0, tokens, cost_micros });
        }
    }

    /// What the current task has consumed, and how much of that the current agent.
    pub(crate) fn spent(&self) -> (Spent, Spent) {
        let Some(own) = self.all.last() else { return <(Spent, Spent)>::default() };
        if self.all.len() == 1 {
            return (own.spent, own.spent);
        }
        let mut spent = Spent::default();
        self.all.iter().filter(|standing| standing.task == own.task).for_each(|standing| spent.add(&standing.spent));
        (spent, own.spent)
    }

    /// The iteration counts of the current agent.
    pub(crate) fn iterations(&mut self) -> Option<&mut Iterations> {
        self.current().map(|standing| &mut standing.iterations)
    }

    /// Iterations of the current task; if it reports none, those reported without a task.
    pub(crate) fn iteration(&self) -> u32 {
        let of = |task: Key| {
            let all = self.all.iter().filter(|standing| standing.task == task);
            all.fold(0_u32, |sum, standing| sum.saturating_add(standing.iterations.count()))
        };
        match of(self.all.last().map_or(0, |standing| standing.task)) {
            0 => of(0),
            own => own,
        }
    }

    /// Counts a call with its outcome.
    pub(crate) fn step(&mut self) {
        if let Some(standing) = self.current() {
            standing.steps = standing.steps.saturating_add(1);
        }
    }

    /// Notes the number of failing tests.
    pub(crate) fn reading(&mut self, failing: u32) {
        if let Some(standing) = self.current() {
            standing.trend.push((standing.touched, failing), TREND);
        }
    }

    /// Notes the level of the current event's verdict.
    pub(crate) fn judged(&mut self, level: Level, now: Option<i64>) {
        let Some(standing) = self.current() else { return };
        standing.level = level;
        standing.peak = standing.peak.max(level);
        if level >= Level::Nudge && standing.detected_at.is_none() {
            standing.detected_at = now;
        }
    }

    fn all_found(&self) -> impl DoubleEndedIterator<Item = &Finding> {
        self.findings.iter().map(|found| &**found.finding)
    }

    /// The latest finding of a loop, identified as in [`Self::keep`] but for the agent.
    pub(crate) fn known(&self, rule: &str, signature: &str, scope: &Scope) -> Option<&Finding> {
        let same =
            |known: &&Finding| known.signature == signature && known.rule == rule && known.scope.task == scope.task;
        self.all_found().rev().find(same)
    }

    /// Keeps the latest finding of each loop, at the last level above `observe`: an observed finding updates a kept one
    /// but is not kept by itself. A rule that counts for a task finds one loop there, whichever agent is at work; for
    /// other rules there is one `per_agent`.
    pub(crate) fn keep(&mut self, finding: &Arc<Finding>, per_agent: bool) {
        let same = |known: &Finding| {
            known.signature == finding.signature
                && known.rule == finding.rule
                && known.scope.task == finding.scope.task
                && (!per_agent || known.scope.agent == finding.scope.agent)
        };
        let mut finding = Arc::clone(finding);
        // There is at most one, usually among the latest.
        if let Some(known) = self.findings.iter().rposition(|known| same(&known.finding)) {
            let known = self.findings.remove(known).finding;
            if finding.level == Level::Observe {
                let finding = Arc::make_mut(&mut finding);
                (finding.level, finding.threshold) = (known.level, known.threshold);
            }
        } else if finding.level == Level::Observe {
            return;
        } else {
            let task = finding.scope.task.as_deref();
            if self.findings.iter().filter(|known| known.is_of(task)).count() >= FINDINGS_OF_ONE {
                self.drop_oldest(task);
            }
        }
        let found = KeptFinding::new(finding);
        let room = FINDING_BYTES.saturating_sub(found.weight);
        let mut held: usize = self.findings.iter().map(|known| known.weight).sum();
        while !self.findings.is_empty() && (self.findings.len() >= FINDINGS || held > room) {
            let of = |task: Option<&str>| self.findings.iter().filter(|known| known.is_of(task)).count();
            // Of the tasks with the most findings, the one whose oldest finding is the oldest.
            let most = self.all_found().rev().max_by_key(|known| of(known.scope.task.as_deref()));
            let scope = most.map(|known| Arc::clone(&known.scope));
            self.drop_oldest(scope.as_ref().and_then(|scope| scope.task.as_deref()));
            held = self.findings.iter().map(|known| known.weight).sum();
        }
        self.findings.push(found);
    }

    fn drop_oldest(&mut self, task: Option<&str>) {
        if let Some(oldest) = self.findings.iter().position(|known| known.is_of(task)) {
            self.findings.remove(oldest);
        }
    }

    /// The findings of a scope, newest first.
    pub(crate) fn findings(&self, scope: &Scope) -> impl Iterator<Item = &Finding> {
        let (task, agent) = (scope.task.clone().or_else(|| scope.parent_task.clone()), scope.agent.clone());
        let fits = move |finding: &&Finding| {
            let has_task = task.is_none() || finding.scope.task == task || finding.scope.parent_task == task;
            has_task && (agent.is_none() || finding.scope.agent == agent)
        };
        self.all_found().rev().filter(fits)
    }

    /// The combined standing of a scope.
    pub(crate) fn sum(&self, whose: &ScopeKeys) -> Sum {
        let mut sum = Sum::default();
        let mut readings: Vec<(u64, u32)> = Vec::new();
        let mut touched = None;
        for standing in self.all.iter().filter(|standing| standing.fits(whose)) {
            sum.known = true;
            sum.spent.add(&standing.spent);
            sum.steps = sum.steps.saturating_add(standing.steps);
            sum.peak = sum.peak.max(standing.peak);
            if touched.is_none_or(|touched| touched <= standing.touched) {
                (touched, sum.level) = (Some(standing.touched), standing.level);
            }
            if let Some(at) = standing.detected_at {
                sum.detected_at = Some(sum.detected_at.map_or(at, |first| first.min(at)));
            }
            readings.extend(standing.trend.iter().copied());
        }
        sort_few(&mut readings, |one, other| one > other);
        let skip = readings.len().saturating_sub(TREND);
        sum.trend = readings.into_iter().skip(skip).map(|(_, failing)| failing).collect();
        sum
    }

    /// Starts a task over, or every task for 0: levels and findings of it and its subtasks are dropped; what it
    /// consumed stays.
    pub(crate) fn start_over(&mut self, task: Key) {
        for standing in self.all.iter_mut() {
            if task == 0 || standing.task == task || standing.parent == Some(task) {
                standing.level = Level::Continue;
                standing.peak = Level::Continue;
                standing.detected_at = None;
                standing.trend.clear();
            }
        }
        let of = |name: &Option<String>| name.as_deref().is_some_and(|name| task_key(name) == task);
        // What a subtask has counted for its parent does not start over with the subtask.
        let is_own = |known: &Finding| {
            of(&known.scope.task) && (known.scope.parent_task.is_none() || !counts_for_parent(&known.rule))
        };
        self.findings
            .retain(|KeptFinding { finding: known, .. }| task != 0 && !is_own(known) && !of(&known.scope.parent_task));
    }

    /// Drops everything kept for one task.
    pub(crate) fn drop_task(&mut self, task: Key) {
        self.all.retain(|standing| standing.task != task);
        self.findings.retain(|known| known.finding.scope.task.as_deref().map_or(0, task_key) != task);
    }

    /// Drops the least recently active standings as long as `idle` says so, with their findings.
    pub(crate) fn drop_idle(&mut self, idle: impl Fn(Option<i64>) -> bool) {
        loop {
            let oldest = self.all.iter().next().filter(|oldest| idle(oldest.at));
            let Some((task, agent)) = oldest.map(|oldest| (oldest.task, oldest.agent)) else { break };
            self.all.remove(0);
            let whose = |scope: &Scope| ScopeKeys::exactly(scope).has(task, agent);
            self.findings.retain(|known| !whose(&known.finding.scope));
        }
    }

    /// Whether tasks other than this one and its subtasks have evidence about calls, texts or streams.
    pub(crate) fn others_heard(&self, task: Key) -> bool {
        self.all.iter().any(|standing| standing.heard && standing.task != task && standing.parent != Some(task))
    }

    /// Whether at most one agent was active at a task.
    pub(crate) fn one_agent(&self, task: Key) -> bool {
        self.all.len() <= 1 || self.all.iter().filter(|standing| standing.task == task).count() <= 1
    }

    /// The agent that made all calls of a task before the current one; `None` if there are several, or none.
    pub(crate) fn first(&self, task: Key) -> Option<Key> {
        let at_hand = self.all.len().saturating_sub(1);
        let others = self.all.iter().enumerate().filter(|(_, standing)| standing.task == task);
        let mut all = others.filter(|(index, standing)| standing.steps > u64::from(*index == at_hand));
        all.next().filter(|_| all.next().is_none()).map(|(_, standing)| standing.agent)
    }

    /// Whether an agent has evidence about calls, texts or streams at a task, and no other agent has.
    pub(crate) fn is_alone(&self, task: Key, agent: Key) -> bool {
        let mut heard = self.all.iter().filter(|standing| standing.heard && standing.task == task).peekable();
        heard.peek().is_some() && heard.all(|standing| standing.agent == agent)
    }

    /// The current event may be evidence about calls, texts or streams.
    pub(crate) fn hears(&mut self) {
        if let Some(standing) = self.current() {
            standing.heard = true;
        }
    }

    /// The evidence about calls, texts and streams was dropped.
    pub(crate) fn forget_evidence(&mut self) {
        self.all.iter_mut().for_each(|standing| standing.heard = false);
    }

    /// Upper bound on the encoded bytes of the standings; findings have a bound of their own.
    pub(crate) fn weight(&self) -> usize {
        self.all.iter().map(Standing::weight).sum()
    }

    pub(crate) fn fits(&self) -> bool {
        self.all.len() <= STANDINGS
            && self.all.iter().all(|standing| standing.trend.len() <= TREND)
            && self.findings.len() <= FINDINGS
            && self.all_found().all(is_sound)
    }
}

/// Whether a finding could be genuine: what a snapshot contains is shown to people as it is.
fn is_sound(finding: &Finding) -> bool {
    let named = |name: &Option<String>| name.as_ref().is_none_or(|name| name.chars().count() <= LONGEST_NAME);
    let scope = &finding.scope;
    let excerpts = finding.evidence.iter().filter_map(|seen| seen.excerpt.as_ref());
    let digests = finding.evidence.iter().map(|seen| &seen.digest);
    let texts = [&finding.rule, &finding.kind, &finding.message, &finding.signature];
    let texts = texts.into_iter().chain(excerpts).chain(digests).map(SmolStr::as_str);
    let mut all = texts.chain(finding.reasoning.as_deref());
    [&scope.run, &scope.task, &scope.parent_task, &scope.agent].into_iter().all(named)
        && finding.evidence.len() <= MOST_EVIDENCE
        && all.all(|text| text.len() <= LONGEST_TEXT && !text.chars().any(char::is_control))
}

/// Upper bound on the encoded bytes of a finding.
fn weight(finding: &Finding) -> usize {
    let name = |name: &Option<String>| name.as_ref().map_or(0, String::len);
    let scope = &finding.scope;
    let names = name(&scope.run) + name(&scope.task) + name(&scope.parent_task) + name(&scope.agent);
    let texts = finding.signature.len() + finding.message.len() + finding.rule.len() + finding.kind.len();
    let shown = |text: &Option<SmolStr>| text.as_ref().map_or(1, |text| text.len() + 2);
    let evidence =
        finding.evidence.iter().map(|seen| 62 + shown(&seen.tool) + shown(&seen.args) + shown(&seen.excerpt));
    302 + names + texts + finding.instead.len() + evidence.sum::<usize>()
}
