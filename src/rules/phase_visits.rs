//! Catches: a phase of a workflow that one task enters more often than allowed. The last allowed visit gets a nudge,
//! the next one is refused.
//! Must not catch: other phases, other tasks, a phase without a limit (`maxVisits` 0), counts that a human has cleared.
//! Idea: the visit limits of the document about loop prevention, with its per-phase overrides and its message.

use crate::codec::codec;
use crate::model::{ByName, HaltReason, Metrics, PhaseStanding, Recommendation};
use crate::rules::phases::{Tally, name_fits, phase_key, phase_name, refused, transition, warned};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, SignalParts, TASK_NAME, task_name};
use crate::state::{Flow, KEY_BYTES, Ring, ScopeKeys, Sighting};
use crate::text::{Key, combine};
use alloc::{format, string::String};

/// Phases kept per run, over all of its tasks; the one entered the longest ago is dropped first.
const PHASES: usize = 128;

pub(crate) struct PhaseVisits;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Ordered by the latest visit.
    phases: Ring<Phase>,
    /// Phases dropped at their cap since this was last read.
    lost: u64,
}
codec!(struct State { phases, lost });

#[derive(Clone, Debug)]
struct Phase {
    task: Key,
    phase: Key,
    task_name: String,
    name: String,
    visits: Tally,
}
codec!(struct Phase { task, phase, task_name, name, visits });

impl State {
    pub(crate) fn status(&self) -> ByName<PhaseStanding> {
        let mut standings: ByName<PhaseStanding> = ByName::new();
        for phase in self.phases.iter() {
            let standing = standings.or_default(&phase.task_name);
            standing.visits.insert(phase.name.clone(), phase.visits.count);
        }
        standings
    }
}

impl Rule for PhaseVisits {
    const ID: &'static str = "phase-visits";
    const ABOUT: &'static str = "A phase of a workflow that one task enters more often than `phases` allows.";
    const UNIT: &'static str = "visits";
    const LIMITS: Limits = Limits::configured();
    const OUTLIVES_EVIDENCE: bool = true;
    const SEES: Facts = Facts::REPORT;
    const REFUSED: Option<fn(&mut Metrics) -> &mut u64> = Some(|metrics| &mut metrics.phase_visits_blocked);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let transition = transition(fact, cx)?;
        let Fact::Event(event) = fact else { return None };
        let key = phase_key(&transition.to);
        let known = state.phases.take(|known| known.task == cx.task && known.phase == key);
        let mut phase = known.unwrap_or_else(|| Phase {
            task: cx.task,
            phase: key,
            task_name: task_name(event.context.task.as_deref().unwrap_or_default()),
            name: phase_name(&transition.to),
            visits: Tally::default(),
        });
        phase.visits.add(Sighting { key, ..cx.here }, cx.onset);
        let (visits, name) = (phase.visits, phase.name.clone());
        state.lost = state.lost.saturating_add(state.phases.push_counted(phase, PHASES));

        let phases = &cx.config.phases;
        let own = phases.phases.get(&transition.to).and_then(|phase| phase.max_visits);
        let max = own.unwrap_or(phases.max_visits_default);
        // A phase that may be visited once gets no nudge on that one visit.
        if max == 0 || visits.count < max.max(2) {
            return None;
        }
        let before = visits.count.saturating_sub(1);
        let over = visits.count > max;
        let message = if over {
            format!("Phase '{name}' exceeded max_visits ({max}) with {before} visits")
        } else {
            format!("Phase '{name}' has used up its max_visits ({max}): the next entry will be refused")
        };
        let told = SignalParts {
            kind: "visit-limit",
            identity: combine("visits", &[cx.task, key]),
            count: visits.count,
            confidence: 1000,
            signature: name.into(),
            message,
            instead: "Find out what every visit to this phase left undone, and change that before entering it again.",
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::BudgetExceeded,
        };
        let signal = told.signal(visits.onset, visits.sightings());
        Some(if over { refused(signal, phases) } else { warned(signal) })
    }

    fn drop_tasks(state: &mut State, gone: &dyn Fn(Key) -> bool) {
        state.phases.retain(|phase| !gone(phase.task));
    }

    fn weight(state: &State) -> usize {
        let phase =
            |phase: &Phase| 2 * KEY_BYTES + phase.task_name.len() + phase.name.len() + 4 + phase.visits.weight();
        state.phases.iter().map(phase).sum()
    }

    fn shed(state: &mut State) -> u64 {
        state.phases.halve()
    }

    fn take_lost(state: &mut State) -> u64 {
        core::mem::take(&mut state.lost)
    }

    fn standing_of(state: &State, whose: &ScopeKeys, _flow: &Flow<'_>) -> u32 {
        let phases = state.phases.iter().filter(|phase| whose.has_task(phase.task));
        phases.map(|phase| phase.visits.count).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.phases.len() <= PHASES
            && state.phases.iter().all(|phase| name_fits(&phase.name) && phase.task_name.len() <= TASK_NAME * 4)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Gate, Halt, Nudge};
    use crate::rules::testing::Script;

    const RULE: &str = "phase-visits";

    #[test]
    fn table() {
        let three = r#"{"phases":{"maxVisitsDefault":3,"maxTransitionsDefault":0,"cycleDetectionEnabled":false}}"#;
        let cases: [(&str, &str, &[_]); 9] = [
            (three, "/a /a", &[]),
            (three, "/a /a /a", &[(2, Nudge)]),
            (three, "/a /a /a /a /a", &[(2, Nudge), (3, Gate), (4, Gate)]),
            // Other phases and other tasks are counted separately.
            (three, "/a /b /a /c /b /c", &[]),
            (three, "#t /a /a #u /a /a #t /b", &[]),
            (three, "#t /a /a #u /a #t /a /a", &[(3, Nudge), (4, Gate)]),
            // A human's message is no reset: the workflow goes on.
            (three, "/a /a | /a /a", &[(3, Nudge), (4, Gate)]),
            (r#"{"phases":{"enabled":false,"maxVisitsDefault":2}}"#, "/a /a /a", &[]),
            (r#"{"phases":{"maxVisitsDefault":0}}"#, "/a /a /a /a /a /a /a /a /a /a /a /a", &[]),
        ];
        for (config, script, expected) in cases {
            Script::workflow(config).play(script).expect(RULE, expected);
        }
    }

    #[test]
    fn a_retry_is_a_visit() {
        // As in the document's first example; nothing else about the same phases fires.
        let five = r#"{"phases":{"phases":{"test":{"maxVisits":5}}}}"#;
        let played = Script::workflow(five).play("implement/test test/test test/test test/test test/test test/test");
        played.expect(RULE, &[(4, Nudge), (5, Gate)]);
        played.expect("phase-transitions", &[]);
        played.expect("phase-cycle", &[]);
    }

    #[test]
    fn overrides_and_levels() {
        let one = r#"{"phases":{"phases":{"a":{"maxVisits":1},"b":{"maxVisits":0}},"maxVisitsDefault":2,"triggerHitl":false}}"#;
        Script::workflow(one).play("/a /a").expect(RULE, &[(1, Block)]);
        Script::workflow(one).play("/b /b /b").expect(RULE, &[]);
        Script::workflow(one).play("/c /c /c").expect(RULE, &[(1, Nudge), (2, Block)]);
        let unattended = r#"{"attended":false,"phases":{"maxVisitsDefault":2}}"#;
        Script::workflow(unattended).play("/a /a /a").last(RULE, Halt);
    }
}
