//! Catches: a task that goes back and forth between a few phases: the same two to five transitions made twice in full.
//! If a lap of four or more returns the way it came, one transition before the second lap is complete.
//! Must not catch: one rework (there, back, there and on), a walk through more phases than `cycleDetectionLength`,
//! retries of one phase, a workflow that is started over.
//! Idea: the cycle detection of the document about loop prevention. Its palindromes fit none of its examples and would
//! refuse the first honest rework; what its examples have in common is a lap that is walked twice.

use crate::codec::codec;
use crate::model::{ByName, HaltReason, Metrics, PhaseStanding, Recommendation};
use crate::rules::phases::{left, name_fits, phase_key, phase_name, refused, transition};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, SignalParts, TASK_NAME, TASKS, task_name};
use crate::state::{Flow, KEY_BYTES, Occurrence, Onset, Ring, ScopeKeys, Sighting};
use crate::text::{Key, combine, key, sorted};
use alloc::{format, string::String, vec::Vec};

/// Phases kept of a walk: those of its latest ten transitions, that is, two laps of [`LONGEST`].
const WALK: usize = 11;
/// Longest lap, in transitions.
const LONGEST: usize = 5;

pub(crate) struct PhaseCycle;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// One per task, ordered by the latest transition.
    walks: Ring<Walk>,
}
codec!(struct State { walks });

#[derive(Clone, Debug)]
struct Walk {
    task: Key,
    task_name: String,
    phases: Ring<PhaseEntry>,
    /// Onset of the cycle that the latest transition is part of.
    cycle: Option<Onset>,
}
codec!(struct Walk { task, task_name, phases, cycle });

#[derive(Clone, Debug)]
struct PhaseEntry {
    phase: Key,
    name: String,
    seen: Occurrence,
}
codec!(struct PhaseEntry { phase, name, seen });

impl Walk {
    fn enter(&mut self, phase: &str, cx: &Cx<'_>) {
        let key = phase_key(phase);
        let seen = Occurrence::new(Sighting { key, ..cx.here }, cx.onset);
        self.phases.push(PhaseEntry { phase: key, name: phase_name(phase), seen }, WALK);
    }

    /// Whether the phase entered `back` entries ago is the one entered `period` entries before it.
    fn repeats(&self, back: usize, period: usize) -> bool {
        let phase = |back| self.phases.nth_back(back).map(|entered| entered.phase);
        phase(back).is_some() && phase(back) == phase(back + period)
    }

    /// The shortest lap that the walk ends with twice, over at most `distinct` phases: its length in transitions and
    /// the number of entries of the walk that belong to both laps.
    fn lap(&self, distinct: usize) -> Option<(usize, usize)> {
        (2..=LONGEST).find_map(|period| {
            let same = (0..=period).take_while(|back| self.repeats(*back, period)).count();
            if same < period || (same == period && period < 4) {
                return None;
            }
            let lap: Vec<Key> = self.phases.iter().rev().take(period).map(|entered| entered.phase).collect();
            let mut phases = sorted(lap.clone());
            phases.dedup();
            let full = same > period || turns_round(&lap);
            (full && phases.len() <= distinct).then_some((period, period + same))
        })
    }

    fn found(&mut self, cx: &Cx<'_>) -> Option<Signal> {
        let lap = self.lap(cx.config.phases.cycle_detection_length as usize);
        let Some((period, entries)) = lap else {
            self.cycle = None;
            return None;
        };
        let walk = self.phases.iter().skip(self.phases.len().saturating_sub(entries));
        let names: Vec<&str> = walk.clone().take(2 * period).map(|entered| entered.name.as_str()).collect();
        // The cycle starts from the first phase; its first transition enters the second one.
        let onset = *self.cycle.get_or_insert(walk.clone().nth(1)?.seen.onset());
        let message = format!("Oscillating cycle detected: {}", names.join("→"));
        let signature = lap_name(names.get(..period)?);
        let told = SignalParts {
            kind: "oscillation",
            identity: combine("oscillation", &[cx.task, key("lap", signature.as_bytes())]),
            count: 2,
            confidence: 900,
            signature: signature.into(),
            message,
            instead: "Settle what each phase hands to the next, so that one of them can end differently.",
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::Oscillating,
        };
        let sightings = walk.skip(1).map(|entered| entered.seen.sighting()).collect();
        Some(Signal { period: u32::try_from(period).ok(), ..told.signal(onset, sightings) })
    }
}

/// Whether a lap, wherever it begins, returns the way it came.
fn turns_round(lap: &[Key]) -> bool {
    let at = |index: usize| lap.get(index % lap.len());
    (0..lap.len()).any(|turn| (1..lap.len()).all(|step| at(turn + step) == at(turn + lap.len() - step)))
}

/// A name for a lap's phases that does not depend on where the lap begins.
fn lap_name(lap: &[&str]) -> String {
    let rotations = (0..lap.len()).map(|start| lap.iter().cycle().skip(start).take(lap.len()).copied().collect());
    rotations.min().map(|lap: Vec<&str>| lap.join("→")).unwrap_or_default()
}

impl State {
    pub(crate) fn add_walks(&self, standings: &mut ByName<PhaseStanding>) {
        for walk in self.walks.iter() {
            let names: Vec<&str> = walk.phases.iter().map(|entered| entered.name.as_str()).collect();
            standings.or_default(&walk.task_name).walk = Some(names.join(" → "));
        }
    }
}

impl Rule for PhaseCycle {
    const ID: &'static str = "phase-cycle";
    const ABOUT: &'static str = "A task that goes back and forth between a few phases of its workflow.";
    const UNIT: &'static str = "laps";
    const LIMITS: Limits = Limits::configured();
    const OUTLIVES_EVIDENCE: bool = true;
    const SEES: Facts = Facts::REPORT;
    const REFUSED: Option<fn(&mut Metrics) -> &mut u64> = Some(|metrics| &mut metrics.cycles_detected);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let transition = transition(fact, cx)?;
        let Fact::Event(event) = fact else { return None };
        let new = || Walk {
            task: cx.task,
            task_name: task_name(event.context.task.as_deref().unwrap_or_default()),
            phases: Ring::default(),
            cycle: None,
        };
        let walk = state.walks.renew(TASKS, |walk| walk.task == cx.task, new)?;
        let retried = transition.from.as_ref().is_some_and(|from| *from == transition.to);
        let last = walk.phases.last().map(|entered| entered.phase);
        // A retry goes nowhere: the walk stays as it is.
        if !retried || last != Some(phase_key(&transition.to)) {
            let from = left(transition);
            if from.map(phase_key) != last {
                walk.phases.clear();
                from.into_iter().for_each(|from| walk.enter(from, cx));
            }
            walk.enter(&transition.to, cx);
        }
        if !cx.config.phases.cycle_detection_enabled || retried {
            return None;
        }
        walk.found(cx).map(|found| refused(found, &cx.config.phases))
    }

    fn drop_tasks(state: &mut State, gone: &dyn Fn(Key) -> bool) {
        state.walks.retain(|walk| !gone(walk.task));
    }

    fn weight(state: &State) -> usize {
        let entered = |entered: &PhaseEntry| KEY_BYTES + entered.name.len() + 2 + entered.seen.weight();
        let walk = |walk: &Walk| {
            let phases: usize = walk.phases.iter().map(entered).sum();
            KEY_BYTES + walk.task_name.len() + walk.cycle.map_or(0, |onset| onset.weight()) + 6 + phases
        };
        state.walks.iter().map(walk).sum()
    }

    fn standing_of(state: &State, whose: &ScopeKeys, _flow: &Flow<'_>) -> u32 {
        let mut walks = state.walks.iter().filter(|walk| whose.has_task(walk.task));
        if walks.any(|walk| walk.cycle.is_some()) { 2 } else { 0 }
    }

    fn fits(state: &State) -> bool {
        let fits = |walk: &Walk| {
            walk.task_name.len() <= TASK_NAME * 4
                && walk.phases.len() <= WALK
                && walk.phases.iter().all(|entered| name_fits(&entered.name))
        };
        state.walks.len() <= TASKS && state.walks.iter().all(fits)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Gate};
    use crate::rules::testing::Script;

    const RULE: &str = "phase-cycle";

    #[test]
    fn table() {
        let on = r#"{"phases":{"maxVisitsDefault":0,"maxTransitionsDefault":0}}"#;
        let two = r#"{"phases":{"maxVisitsDefault":0,"maxTransitionsDefault":0,"cycleDetectionLength":2}}"#;
        let five = r#"{"phases":{"maxVisitsDefault":0,"maxTransitionsDefault":0,"cycleDetectionLength":5}}"#;
        let cases: [(&str, &str, &[usize]); 16] = [
            // Two phases, three of them in a ring, three there and back.
            (on, "f/t t/f f/t t/f", &[3]),
            (on, "p/i i/t t/f f/i i/t t/f f/i", &[6]),
            (on, "a/b b/c c/b b/a a/b b/c c/b", &[6]),
            (on, "b/c c/b b/a a/b b/c c/b b/a", &[6]),
            // Found for as long as it goes on.
            (on, "a/b b/a a/b b/a a/b b/c c/a", &[3, 4]),
            // One rework, two of different kinds, a rework that moves on.
            (on, "i/t t/i i/t t/d", &[]),
            (on, "i/t t/i i/t t/r r/i i/t t/d", &[]),
            (on, "a/b b/c c/a a/b b/c c/d", &[]),
            // A ring of three is walked in one direction: it does not return the way it came and needs both laps in
            // full.
            (on, "a/b b/c c/a a/b b/c", &[]),
            // More phases than the configured length.
            (two, "a/b b/c c/a a/b b/c c/a", &[]),
            (on, "a/b b/c c/d d/a a/b b/c c/d d/a", &[]),
            (five, "a/b b/c c/d d/a a/b b/c c/d d/a", &[7]),
            (five, "a/b b/c c/d d/e e/a a/b b/c c/d d/e e/a", &[9]),
            // Retries in between do not hide it; retries alone are no cycle.
            (on, "f/t t/t t/f f/t t/t t/t t/f", &[6]),
            (on, "a/a a/a a/a a/a a/a a/a", &[]),
            // A workflow that is started over begins a new walk.
            (on, "a/b /a a/b /a a/b /a a/b", &[]),
        ];
        for (config, script, found) in cases {
            let found: alloc::vec::Vec<_> = found.iter().map(|index| (*index, Gate)).collect();
            Script::workflow(config).play(script).expect(RULE, &found);
        }
    }

    #[test]
    fn tasks_apart_and_levels() {
        Script::workflow("{}").play("#t a/b b/a #u a/b b/a").expect(RULE, &[]);
        Script::workflow(r#"{"phases":{"triggerHitl":false}}"#).play("a/b b/a a/b b/a").expect(RULE, &[(3, Block)]);
        Script::workflow(r#"{"phases":{"cycleDetectionEnabled":false}}"#).play("a/b b/a a/b b/a").expect(RULE, &[]);
    }
}
