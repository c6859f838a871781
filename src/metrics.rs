//! Counters for dashboards. Each equals what a recount of verdicts and records would give.

use crate::model::{
    AgentLoops, Body, ByName, Config, Event, Host, HostKind, Level, LevelCounts, LoopMetrics, Metrics, Mode, Record,
    Verdict,
};
use crate::policy::Judgement;
use crate::rules::{Cleared, RULES, Totals, description, is_about_phases};
use crate::state::{Evicted, Forgotten, Store, Sum};
use crate::text::printable;
use alloc::{string::ToString, vec::Vec};

/// Agents counted by name.
const AGENTS: usize = 64;
/// Characters of an agent's name.
const NAME: usize = 64;

/// Whether restored counters are within their limits.
pub(crate) fn fits(metrics: &Metrics) -> bool {
    let agents = metrics.detections_by_agent.keys().chain(metrics.loops.agents.keys());
    let mut names = agents.chain(metrics.rules.keys());
    metrics.detections_by_agent.len() <= AGENTS
        && metrics.loops.agents.len() <= AGENTS
        && metrics.rules.len() <= RULES.len()
        && names.all(|name| name.chars().count() <= NAME)
}

/// The counters with the figures derived from them.
pub(crate) fn shown(metrics: &Metrics, store: &Store) -> Metrics {
    let mut metrics = Metrics { runs: store.len() as u64, bytes: store.bytes(), ..metrics.clone() };
    let loops = &mut metrics.loops;
    let thousandths = |part: u64, whole: u64| part.saturating_mul(1000).checked_div(whole).unwrap_or(0);
    loops.task_rate = thousandths(loops.tasks_with_loops, loops.tasks);
    loops.average_loops_per_task = thousandths(loops.detected, loops.tasks);
    loops.average_loops_before_gate = thousandths(loops.loops_before_gate, loops.gates);
    for agent in loops.agents.values_mut() {
        agent.rate = thousandths(agent.loops, agent.events);
    }
    metrics
}

pub(crate) fn forgot(metrics: &mut Metrics, forgotten: Forgotten) {
    metrics.runs_evicted = metrics.runs_evicted.saturating_add(forgotten.evicted);
    metrics.runs_collected = metrics.runs_collected.saturating_add(forgotten.collected);
}

/// Counts a resolved loop of a scope, and the event time it took.
pub(crate) fn resolve(metrics: &mut Metrics, sum: &Sum, now: Option<i64>) {
    if sum.peak < Level::Nudge {
        return;
    }
    metrics.resolved = metrics.resolved.saturating_add(1);
    if let (Some(now), Some(since)) = (now, sum.detected_at) {
        let took = u64::try_from(now.saturating_sub(since)).unwrap_or(0);
        metrics.resolution_ms = metrics.resolution_ms.saturating_add(took);
    }
}

/// Records the counters that were reset to zero, and counts the gates that a human resolved thereby. Completing a task
/// behind an open gate says nothing about how fast humans respond.
pub(crate) fn set_back(
    metrics: &mut Metrics,
    cleared: Vec<Cleared>,
    human: bool,
    reason: &str,
    now: Option<i64>,
) -> Vec<Record> {
    let loops = &mut metrics.loops;
    let record = |cleared: Cleared| {
        loops.resets = loops.resets.saturating_add(1);
        if let Some(gated) = cleared.gated.filter(|_| human) {
            loops.resolved = loops.resolved.saturating_add(1);
            let took = now.zip(gated).map_or(0, |(now, gated)| now.saturating_sub(gated));
            loops.resolution_ms = loops.resolution_ms.saturating_add(u64::try_from(took).unwrap_or(0));
        }
        Record::LoopCounterReset {
            task_id: cleared.task,
            reason: reason.to_string(),
            previous_count: cleared.previous,
            timestamp: now,
        }
    };
    cleared.into_iter().map(record).collect()
}

/// Counts the tasks that a run has forgotten and those it has got to know, since `before`.
pub(crate) fn remembered(metrics: &mut Metrics, before: (Totals, Evicted), after: (Totals, Evicted)) {
    let add = |sum: &mut u64, before: u64, after: u64| *sum = sum.saturating_add(after.saturating_sub(before));
    add(&mut metrics.tasks_evicted, before.1.tasks.into(), after.1.tasks.into());
    add(&mut metrics.task_parts_evicted, before.1.parts.into(), after.1.parts.into());
    add(&mut metrics.loops.tasks, before.0.tasks, after.0.tasks);
    add(&mut metrics.loops.tasks_with_loops, before.0.looped, after.0.looped);
}

/// The entry of an agent; `None` for agents beyond the limit on names.
fn of_agent<'a, T: Default>(agents: &'a mut ByName<T>, name: Option<&str>) -> Option<&'a mut T> {
    let name = printable(name.unwrap_or_default(), NAME);
    if agents.len() < AGENTS { Some(agents.or_default(&name)) } else { agents.get_mut(&name) }
}

/// Counts loops of failures and requests. Loops of attempts are counted only by their rule.
fn tally_loops(loops: &mut LoopMetrics, judgement: &Judgement) {
    for record in &judgement.loops {
        match record {
            Record::LoopDetected { agent_id, .. } => {
                loops.detected = loops.detected.saturating_add(1);
                if let Some(agent) = of_agent(&mut loops.agents, agent_id.as_deref()) {
                    agent.loops = agent.loops.saturating_add(1);
                }
            }
            Record::GateTriggered { loop_count, .. } => {
                loops.gates = loops.gates.saturating_add(1);
                loops.loops_before_gate = loops.loops_before_gate.saturating_add(u64::from(*loop_count));
            }
            Record::LoopHalted { .. } | Record::LoopCounterReset { .. } => {}
        }
    }
}

/// The rule in a `hook-block` by which a host reports that it obeyed a `check` of a transition: the transition was
/// refused and never recorded.
fn obeyed<'a>(event: &'a Event, config: &Config) -> Option<&'a str> {
    match &event.body {
        Body::Host(Host { kind: HostKind::HookBlock, name: Some(name), .. })
            if config.phases.enabled && config.mode == Mode::Enforce =>
        {
            Some(name)
        }
        _ => None,
    }
}

/// Counts an event and its verdict.
pub(crate) fn tally(metrics: &mut Metrics, judgement: Option<&Judgement>, event: &Event, config: &Config) {
    if matches!(event.body, Body::Failure(_) | Body::Collaboration(_)) && !event.context.synthetic {
        let agent: Option<&mut AgentLoops> = of_agent(&mut metrics.loops.agents, event.context.agent.as_deref());
        if let Some(agent) = agent {
            agent.events = agent.events.saturating_add(1);
        }
    }
    let announced = obeyed(event, config).map(|rule| (rule, config.phases.trigger_hitl));
    let Some(judgement) = judgement else { return refused(metrics, announced) };
    let verdict: &Verdict = &judgement.verdict;
    tally_loops(&mut metrics.loops, judgement);
    count_level(&mut metrics.verdicts, verdict.level);
    for finding in &verdict.findings {
        count_level(&mut metrics.rules.or_default(&finding.rule).levels, finding.level);
    }
    // A refusal counts for one rule, even if several refuse.
    let refusing = verdict.findings.iter().filter(|_| verdict.level >= Level::Block);
    let mut reasons = refusing.filter(|finding| finding.level >= Level::Block).map(|finding| finding.rule.as_str());
    let recorded = reasons.find(|rule| is_about_phases(rule)).map(|rule| (rule, verdict.label.is_some()));
    refused(metrics, recorded.or(announced));
    for rule in &judgement.fresh {
        let counters = metrics.rules.or_default(rule);
        counters.detections = counters.detections.saturating_add(1);
        metrics.detections = metrics.detections.saturating_add(1);
        if let Some(detections) = of_agent(&mut metrics.detections_by_agent, event.context.agent.as_deref()) {
            *detections = detections.saturating_add(1);
        }
    }
}

/// Counts a refused transition, and whether a human was asked.
fn refused(metrics: &mut Metrics, reason: Option<(&str, bool)>) {
    if let Some((rule, escalated)) = reason
        && let Some(counter) = description(rule).and_then(|rule| rule.refused)
    {
        let blocked = counter(metrics);
        *blocked = blocked.saturating_add(1);
        metrics.hitl_triggered = metrics.hitl_triggered.saturating_add(u64::from(escalated));
    }
}

fn count_level(counts: &mut LevelCounts, level: Level) {
    let count = match level {
        Level::Continue => return,
        Level::Observe => &mut counts.observe,
        Level::Nudge => &mut counts.nudge,
        Level::Block => &mut counts.block,
        Level::Gate => &mut counts.gate,
        Level::Halt => &mut counts.halt,
    };
    *count = count.saturating_add(1);
}
