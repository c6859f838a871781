//! Catches: a dependency, network or account that blocks a task and does not recover.
//! Must not catch: the agent's own failures; a service that answered in between.
//! Idea: the decision record on failure loops: what is not the agent's doing never counts against it; it is retried
//! after a wait, and a human is told if that does not help.

use crate::codec::codec;
use crate::model::{Body, EvaluationVerdict, Event, HaltReason, Level, Outcome, Recommendation, Role};
use crate::rules::task_loop::reasoning;
use crate::rules::{Cx, Extra, Fact, Facts, Limits, Rule, Signal, SignalParts, TASKS};
use crate::state::{Flow, KEY_BYTES, Onset, Ring, ScopeKeys, Sighting};
use crate::text::{FAILURE_SIGNATURE, FailureFacts, Key, combine};
use alloc::{format, string::String};

const EVIDENCE: usize = 5;

pub(crate) struct ExternalFailure;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Least recently used first.
    tasks: Ring<Outage>,
}
codec!(struct State { tasks });

#[derive(Clone, Debug, Default)]
struct Outage {
    task: Key,
    /// The agent of the latest failure.
    agent: Key,
    /// External failures without a sign of life in between.
    count: u32,
    /// The count before a failure of the agent's own, in case a judge calls that one external.
    before: u32,
    onset: Onset,
    sightings: Ring<Sighting>,
    signature: String,
}
codec!(struct Outage { task, agent, count, before, onset, sightings, signature });

impl State {
    fn failed(&mut self, task: Key, signature: &str, external: bool, key: Key, cx: &Cx<'_>) -> Option<Signal> {
        let new = || Outage { task, agent: cx.agent, onset: cx.onset, ..Outage::default() };
        let streak = self.tasks.renew(TASKS, |streak| streak.task == task, new)?;
        streak.signature = signature.into();
        if !external {
            streak.before = streak.count;
            streak.count = 0;
            return None;
        }
        if streak.count == 0 {
            streak.onset = cx.onset;
            streak.sightings.clear();
        }
        streak.count = streak.count.saturating_add(1);
        streak.before = 0;
        streak.sightings.push(Sighting { key, ..cx.here }, EVIDENCE);
        Some(streak.signal(cx))
    }
}

impl Outage {
    fn signal(&self, cx: &Cx<'_>) -> Signal {
        let count = self.count;
        let escalate = cx.limits.reached(count);
        let message = format!("External failure {count} in a row, not counted against the agent");
        Signal {
            // Not a finding: the agent is not looping.
            ask: (!escalate).then_some(Level::Continue),
            extra: Extra { recommend: true, ..Extra::default() },
            ..SignalParts {
                kind: "external",
                identity: combine("external-failure", &[self.task]),
                count,
                confidence: 900,
                signature: self.signature.clone().into(),
                message,
                instead: "Pause this task until its dependency is back, and work on something that does not need it.",
                recommendation: if escalate { Recommendation::Escalate } else { Recommendation::RetryWithBackoff },
                halt_reason: HaltReason::RepeatedError,
            }
            .signal(self.onset, self.sightings.iter().copied().collect())
            .what(format!("Something outside the agent's work failed {count} times in a row: `{}`.", self.signature))
        }
    }
}

impl Rule for ExternalFailure {
    const ID: &'static str = "external-failure";
    const ABOUT: &'static str = "A dependency, network or account that keeps failing; never counted against the agent.";
    const UNIT: &'static str = "external failures in a row";
    const LIMITS: Limits = Limits::gate(5);
    const OUTLIVES_EVIDENCE: bool = true;
    const SEES: Facts = Facts::REPORT.and(Facts::MESSAGE).and(Facts::OUTPUT).and(Facts::STEP);
    type State = State;

    #[inline]
    fn heeds(state: &State, fact: &Fact<'_>, _: &Cx<'_>) -> bool {
        state.tasks.len() > 0 || !matches!(fact, Fact::Step(..))
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let alive = match fact {
            Fact::Event(Event { body: Body::Failure(failure), .. }) => {
                let facts = FailureFacts::of(failure, cx.salt);
                let message = facts.message.unwrap_or(0);
                let signal = state.failed(cx.task, &facts.signature, facts.external, message, cx);
                state.tasks.iter_mut().next_back()?.agent = cx.agent;
                return signal;
            }
            Fact::Event(Event { body: Body::Evaluation(evaluation), .. })
                if evaluation.verdict == EvaluationVerdict::External =>
            {
                // Only for a failure that was attributed to the agent, and only once.
                let streak = state.tasks.iter_mut().find(|streak| streak.task == cx.task && streak.count == 0)?;
                streak.count = streak.before;
                let signature = streak.signature.clone();
                let mut signal =
                    state.failed(cx.task, &signature, true, combine("external-failure", &[cx.task]), cx)?;
                signal.extra.more.get_or_insert_default().reasoning = reasoning(evaluation);
                return Some(signal);
            }
            Fact::Event(Event { body: Body::Message(message), .. }) => {
                message.role == Role::Assistant && !message.text.trim().is_empty()
            }
            Fact::Event(Event { body: Body::Turn(_) | Body::Progress(_), .. }) | Fact::Output { .. } => true,
            Fact::Step(step, _) => step.outcome == Outcome::Ok && !step.facts.failed,
            _ => false,
        };
        // A sign of life ends the outage of the agent's task, also if it names the task and no agent. If it names no
        // task, it ends the outages of all of the agent's tasks.
        if alive {
            let ended = |streak: &Outage| match cx.task {
                0 => streak.agent == cx.agent,
                task => streak.task == task && (streak.agent == cx.agent || cx.agent == 0 || streak.agent == 0),
            };
            state.tasks.retain(|streak| !ended(streak));
        }
        None
    }

    fn drop_tasks(state: &mut State, gone: &dyn Fn(Key) -> bool) {
        state.tasks.retain(|streak| !gone(streak.task));
    }

    fn weight(state: &State) -> usize {
        let task = |streak: &Outage| {
            let sightings: usize = streak.sightings.iter().map(Sighting::weight).sum();
            2 * KEY_BYTES + streak.onset.weight() + sightings + streak.signature.len() + 4
        };
        state.tasks.iter().map(task).sum()
    }

    fn standing_of(state: &State, whose: &ScopeKeys, _flow: &Flow<'_>) -> u32 {
        let streaks = state.tasks.iter().filter(|streak| whose.has_task(streak.task));
        streaks.map(|streak| streak.count).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.tasks.len() <= TASKS
            && state
                .tasks
                .iter()
                .all(|streak| streak.sightings.len() <= EVIDENCE && streak.signature.len() <= FAILURE_SIGNATURE * 4)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Gate;
    use crate::rules::testing::Script;

    const RULE: &str = "external-failure";

    #[test]
    fn the_fifth_in_a_row_asks_a_human() {
        Script::new("{}").play("+x:503 +x:503 +x:429 +x:503").expect(RULE, &[]);
        Script::new("{}").play("+x:503 +x:503 +x:429 +x:503 +x:503").expect(RULE, &[(4, Gate)]);
        let sooner = r#"{"rules":{"external-failure":{"gate":2}}}"#;
        Script::new(sooner).play("+x:503 +x:503").expect(RULE, &[(1, Gate)]);
    }

    #[test]
    fn a_sign_of_life_ends_it() {
        Script::new("{}").play("+x:503 +x:503 +x:503 a:1 +x:503 +x:503").expect(RULE, &[]);
        Script::new("{}").play("+x:503 +x:503 +x:503 o:1 +x:503 +x:503").expect(RULE, &[]);
        Script::new("{}").play("+x:503 +x:503 +x:503 a!e +x:503 +x:503").last(RULE, Gate);
    }

    #[test]
    fn a_failure_of_the_agents_own_ends_it() {
        Script::new("{}").play("+x:503 +x:503 +x:503 +f:TypeError +x:503 +x:503").expect(RULE, &[]);
        // Unless a judge says that it was external.
        Script::new("{}").play("+x:503 +x:503 +x:503 +f:TypeError +e:external +x:503").last(RULE, Gate);
        Script::new("{}").play("+x:503 +x:503 +x:503 +f:TypeError +e:external +e:external").expect(RULE, &[]);
    }
}
