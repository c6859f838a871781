//! Catches: an orchestrator that cycles through two or three tasks while no attempt at any of them brings anything new,
//! whatever its status says.
//! Must not catch: tasks that are worked on in turns while each attempt does or meets something new; one task that is
//! attempted over and over, even alongside others (`task-attempts`); agents that each have a task; four tasks or more.
//! Idea: the cross-task detection that the document about recovery from loops of attempts names for the future.

use crate::codec::codec;
use crate::model::{AttemptStatus, Body, HaltReason, Recommendation};
use crate::rules::task_attempts::{Policy, set_key};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, SignalParts};
use crate::state::{Occurrence, Onset, Ring, Sighting};
use crate::text::{Key, combine, sorted};
use alloc::{format, vec::Vec};

/// Attempts kept: eight laps of two tasks, five of three.
const ATTEMPTS: usize = 16;

const INSTEAD: &str =
    "Find out what these tasks need from each other and do that first, or take a task outside the round.";

pub(crate) struct TaskCycle;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    attempts: Ring<PastAttempt>,
}
codec!(struct State { attempts });

#[derive(Clone, Debug)]
struct PastAttempt {
    at: Option<i64>,
    task: Key,
    agent: Key,
    /// Digest of its blockers and completed work.
    came: Key,
    status: AttemptStatus,
    blocked: bool,
    /// No earlier attempt at the task that is still kept came to the same.
    new: bool,
    seen: Occurrence,
}
codec!(struct PastAttempt { at, task, agent, came, status, blocked, new, seen });

impl State {
    /// Whether the latest `size` attempts at a task are a loop of their own.
    fn loops_alone(&self, task: Key, size: usize) -> bool {
        let latest = || self.attempts.iter().rev().filter(|seen| seen.task == task).take(size);
        let alike = |seen: &PastAttempt, last: &PastAttempt| {
            seen.came == last.came && (last.blocked || seen.status == last.status)
        };
        latest().count() == size && latest().next().is_some_and(|last| latest().all(|seen| alike(seen, last)))
    }

    /// The number of tasks in the agent's current round, how many laps of it were made, and its onset.
    fn round(&self, agent: Key) -> Option<(usize, u32, Onset)> {
        [2, 3].into_iter().find_map(|period: usize| {
            let attempts = || self.attempts.iter().filter(move |seen| seen.agent == agent).rev();
            let lap = || attempts().take(period);
            let apart =
                lap().enumerate().all(|(index, seen)| lap().skip(index + 1).all(|other| other.task != seen.task));
            let before = attempts().skip(period);
            let again = |(seen, before): &(&PastAttempt, &PastAttempt)| seen.task == before.task && !seen.new;
            let same = attempts().zip(before).take_while(again).count();
            let onset = attempts().nth(same + period - 1)?.seen.onset();
            (apart && same >= period).then_some((period, u32::try_from(same / period + 1).ok()?, onset))
        })
    }
}

impl Rule for TaskCycle {
    const ID: &'static str = "task-cycle";
    const ABOUT: &'static str = "Two or three tasks that are attempted in turn, lap after lap, with nothing new.";
    const UNIT: &'static str = "laps";
    const LIMITS: Limits = Limits::ladder(3, 5, 0, 0);
    const OUTLIVES_EVIDENCE: bool = true;
    const SEES: Facts = Facts::REPORT;
    type State = State;

    /// As many laps of three tasks as [`ATTEMPTS`] holds.
    fn reach(_window: u32) -> u32 {
        5
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Event(event) = fact else { return None };
        let Body::Attempt(attempt) = &event.body else { return None };
        let policy = Policy::of(&cx.config.attempts);
        state.attempts.retain(|seen| policy.recent(seen.at, cx.run.now));
        let parts =
            [set_key("blockers", cx.salt, &attempt.blockers), set_key("work", cx.salt, &attempt.completed_work)];
        let came = combine("came", &parts);
        let new = !state.attempts.iter().any(|seen| seen.task == cx.task && seen.came == came);
        let sighting = Sighting { key: combine("attempt", &[cx.task, came]), ..cx.here };
        state.attempts.push(
            PastAttempt {
                at: event.context.at,
                task: cx.task,
                agent: cx.agent,
                came,
                status: attempt.status,
                blocked: !attempt.blockers.is_empty(),
                new,
                seen: Occurrence::new(sighting, cx.onset),
            },
            ATTEMPTS,
        );
        let (period, laps, onset) = state.round(cx.agent)?;
        if !cx.limits.reached(laps) {
            return None;
        }
        let mut round: Vec<&PastAttempt> =
            state.attempts.iter().rev().filter(|seen| seen.agent == cx.agent).take(period).collect();
        round.reverse();
        // Tasks that each loop on their own form no round: `task-attempts` reports each of them.
        let rule = cx.config.rules.get("task-attempts");
        let named = rule.is_some() || !cx.config.conventions.only_named;
        let told = named && rule.and_then(|rule| rule.enabled) != Some(false);
        if told && round.iter().all(|seen| state.loops_alone(seen.task, policy.max_attempts())) {
            return None;
        }
        // Independent of where in the round it was found.
        let tasks: Vec<Key> = sorted(round.iter().map(|seen| seen.task).collect());
        let identity = combine("task-cycle", &tasks);
        let message = format!("The same {period} tasks were attempted in turn {laps} times, with nothing new");
        let parts = SignalParts {
            kind: "task-round",
            identity,
            count: laps,
            confidence: 800,
            signature: cx.named(&format!("task-cycle:{period}"), '#', identity),
            message,
            instead: INSTEAD,
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::Oscillating,
        };
        let seen = round.iter().map(|attempt| attempt.seen.sighting()).collect();
        Some(Signal { period: u32::try_from(period).ok(), ..parts.signal(onset, seen) })
    }

    fn drop_tasks(state: &mut State, gone: &dyn Fn(Key) -> bool) {
        state.attempts.retain(|seen| !gone(seen.task));
    }

    fn standing(state: &State) -> u32 {
        let agents = state.attempts.iter().map(|seen| seen.agent);
        agents.filter_map(|agent| state.round(agent)).map(|(_, laps, _)| laps).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.attempts.len() <= ATTEMPTS
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Nudge};
    use crate::rules::testing::Script;

    const RULE: &str = "task-cycle";
    /// Only the rule in question.
    const ALONE: &str = r#"{"rules":{"task-attempts":{"enabled":false}}}"#;

    #[test]
    fn table() {
        let cases: [(&str, &[_]); 9] = [
            ("#t =i #u =b:x #t =i #u =b:x", &[]),
            ("#t =i #u =b:x #t =p #u =b:x #t =i #u =p:x", &[(5, Nudge)]),
            ("#t =i #u =i #v =i #t =i #u =i #v =i #t =i #u =i #v =i", &[(8, Nudge)]),
            // Five laps.
            ("#t =i #u =i #t =i #u =i #t =i #u =i #t =i #u =i #t =i #u =i", &[(5, Nudge), (9, Block)]),
            // Something new in each lap: work, or a blocker.
            ("#t =i::1 #u =i::1 #t =i::2 #u =i::2 #t =i::3 #u =i::3 #t =i::4 #u =i::4", &[]),
            ("#t =b:1 #u =i #t =b:2 #u =i #t =b:3 #u =i #t =b:4 #u =i", &[]),
            // One task, four tasks, no order.
            ("#t =i =i =i =i =i =i =i =i", &[]),
            ("#a =i #b =i #c =i #d =i #a =i #b =i #c =i #d =i #a =i #b =i #c =i #d =i", &[]),
            ("#a =i #b =i #a =i #a =i #b =i #b =i #a =i #b =i", &[]),
        ];
        for (script, expected) in cases {
            let found = Script::workflow(ALONE).play(script).found(RULE);
            let found: alloc::vec::Vec<_> = found.into_iter().filter(|(_, level)| *level >= Nudge).collect();
            assert_eq!(found, expected, "{script}");
        }
    }

    #[test]
    fn tasks_that_loop_alone_are_left_to_a_rule_that_is_on() {
        let script = "#t =b:x #u =b:y".repeat(5).replace("y#", "y #");
        let round = |config: &str| Script::workflow(config).play(&script).found(RULE).len();
        assert_eq!(round("{}"), 0);
        assert!(round(ALONE) > 0);
        assert!(round(r#"{"conventions":{"onlyNamed":true},"rules":{"task-cycle":{"nudge":3}}}"#) > 0);
        assert_eq!(round(r#"{"conventions":{"onlyNamed":true},"rules":{"task-cycle":{},"task-attempts":{}}}"#), 0);
    }
}
