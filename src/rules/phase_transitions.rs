//! Catches: a phase of a workflow that one task leaves for the same other phase more often than allowed. The last
//! allowed transition gets a nudge, the next one is refused.
//! Must not catch: other transitions, other tasks, retries (a phase entered from itself is a visit, see `phases`),
//! counts that a human has cleared.
//! Idea: the transition limits of the document about loop prevention. Its rule refuses a transition that has been made
//! as often as allowed; its worked example refuses `fix→test` on its last allowed time, right after `test→fix` had its
//! last. Both hold here: if the task's previous transition was the way back and used up its limit, the last allowed
//! transition is refused already, since it would complete a round trip into a phase that cannot be left the same way.

use crate::codec::codec;
use crate::model::{HaltReason, Metrics, Recommendation};
use crate::rules::phases::{Tally, left, phase_key, phase_name, refused, transition, warned};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, SignalParts};
use crate::state::{Flow, KEY_BYTES, Ring, ScopeKeys, Sighting};
use crate::text::{Key, combine};
use alloc::format;

/// Transitions kept per run, over all of its tasks; the one made the longest ago is dropped first.
const TRANSITIONS: usize = 128;

pub(crate) struct PhaseTransitions;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Ordered by when each was last made.
    made: Ring<TransitionCount>,
    /// Transitions dropped at their cap since this was last read.
    lost: u64,
}
codec!(struct State { made, lost });

#[derive(Clone, Copy, Debug)]
struct TransitionCount {
    task: Key,
    from: Key,
    to: Key,
    times: Tally,
}
codec!(struct TransitionCount { task, from, to, times });

impl Rule for PhaseTransitions {
    const ID: &'static str = "phase-transitions";
    const ABOUT: &'static str = "A transition between two phases that one task makes more often than `phases` allows.";
    const UNIT: &'static str = "transitions";
    const LIMITS: Limits = Limits::configured();
    const OUTLIVES_EVIDENCE: bool = true;
    const SEES: Facts = Facts::REPORT;
    const REFUSED: Option<fn(&mut Metrics) -> &mut u64> = Some(|metrics| &mut metrics.transitions_blocked);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let transition = transition(fact, cx)?;
        let name = left(transition)?;
        let (from, to) = (phase_key(name), phase_key(&transition.to));
        let before = state.made.iter().rev().find(|made| made.task == cx.task).copied();
        let known = state.made.take(|made| made.task == cx.task && made.from == from && made.to == to);
        let fresh = TransitionCount { task: cx.task, from, to, times: Tally::default() };
        let mut made = known.unwrap_or(fresh);
        made.times.add(Sighting { key: combine("transition", &[from, to]), ..cx.here }, cx.onset);
        state.lost = state.lost.saturating_add(state.made.push_counted(made, TRANSITIONS));

        let phases = &cx.config.phases;
        let max = phases.max_transitions_default;
        let count = made.times.count;
        if max == 0 || count < max.max(2) {
            return None;
        }
        let used_up = |made: &TransitionCount| made.from == to && made.to == from && made.times.count >= max;
        let over = count > max || before.as_ref().is_some_and(used_up);
        let occurrences = count.saturating_sub(1).max(max);
        let pair = format!("{}→{}", phase_name(name), phase_name(&transition.to));
        let message = if over {
            format!("Transition {pair} exceeded max_transitions ({max}) with {occurrences} occurrences")
        } else {
            format!("Transition {pair} has used up its max_transitions ({max}): the next one will be refused")
        };
        let told = SignalParts {
            kind: "transition-limit",
            identity: combine("transitions", &[cx.task, from, to]),
            count,
            confidence: 1000,
            signature: pair.into(),
            message,
            instead: "Take another way out of this phase, or change what makes it end like this every time.",
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::BudgetExceeded,
        };
        let signal = told.signal(made.times.onset, made.times.sightings());
        Some(if over { refused(signal, phases) } else { warned(signal) })
    }

    fn drop_tasks(state: &mut State, gone: &dyn Fn(Key) -> bool) {
        state.made.retain(|made| !gone(made.task));
    }

    fn weight(state: &State) -> usize {
        state.made.iter().map(|made| 3 * KEY_BYTES + made.times.weight()).sum()
    }

    fn shed(state: &mut State) -> u64 {
        state.made.halve()
    }

    fn take_lost(state: &mut State) -> u64 {
        core::mem::take(&mut state.lost)
    }

    fn standing_of(state: &State, whose: &ScopeKeys, _flow: &Flow<'_>) -> u32 {
        let made = state.made.iter().filter(|made| whose.has_task(made.task));
        made.map(|made| made.times.count).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.made.len() <= TRANSITIONS
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Gate, Nudge};
    use crate::rules::testing::Script;

    const RULE: &str = "phase-transitions";

    #[test]
    fn table() {
        let two = r#"{"phases":{"maxVisitsDefault":0,"maxTransitionsDefault":2,"cycleDetectionEnabled":false}}"#;
        let cases: [(&str, &str, &[_]); 8] = [
            (two, "a/b a/c a/d", &[]),
            (two, "a/b b/c a/b", &[(2, Nudge)]),
            (two, "a/b b/c a/b b/c a/b", &[(2, Nudge), (3, Nudge), (4, Gate)]),
            // The way back was used up by the previous transition.
            (two, "a/b b/a a/b b/a", &[(2, Nudge), (3, Gate)]),
            // The way back was used up, but another transition came since.
            (two, "a/b b/a a/b b/c c/b b/a", &[(2, Nudge), (5, Nudge)]),
            // Neither a retry nor an entry from nowhere leaves a phase.
            (two, "a/a a/a a/a a/a /a /a /a", &[]),
            (two, "#t a/b #u a/b #v a/b", &[]),
            (
                r#"{"phases":{"maxVisitsDefault":0,"maxTransitionsDefault":0,"cycleDetectionEnabled":false}}"#,
                "a/b b/a a/b b/a a/b b/a a/b b/a a/b b/a a/b",
                &[],
            ),
        ];
        for (config, script, expected) in cases {
            Script::workflow(config).play(script).expect(RULE, expected);
        }
        let once = r#"{"phases":{"maxTransitionsDefault":1,"triggerHitl":false}}"#;
        Script::workflow(once).play("a/b b/a a/b").expect(RULE, &[(2, Block)]);
    }
}
