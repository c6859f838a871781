//! Catches: a task that fails again and again with nothing that could tell whether it gets any nearer: no tests, no
//! measured progress.
//! Must not catch: failures that tests reported, tasks whose files, dependencies or checklist grow, external failures.
//! Idea: the decision record on loops of failures: no tests is a red flag of its own.

use crate::model::{Body, Event, HaltReason, Recommendation};
use crate::rules::task_loop::marked;
use crate::rules::{Advice, Cx, Extra, Fact, Facts, Limits, Rule, Signal};
use crate::state::{Onset, Ring, Sighting};
use crate::text::{FailureFacts, Key, combine};
use alloc::{format, string::ToString};
use serde::{Deserialize, Serialize};

/// Tasks watched at once.
const TASKS: usize = 16;
const EVIDENCE: usize = 5;

pub(crate) struct NoTests;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    /// Least recently used first.
    tasks: Ring<Blind>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Blind {
    task: Key,
    failures: u32,
    /// Tests exist.
    tests: bool,
    checklist: u32,
    onset: Onset,
    sightings: Ring<Sighting>,
}

impl State {
    fn take(&mut self, task: Key) -> Option<Blind> {
        let at = self.tasks.iter().position(|blind| blind.task == task)?;
        self.tasks.remove(at)
    }
}

impl Rule for NoTests {
    const ID: &'static str = "no-tests";
    const ABOUT: &'static str = "One task failing again and again without tests or measured progress.";
    const UNIT: &'static str = "failures of the task";
    const LIMITS: Limits = Limits::ladder(5, 0, 0, 0);
    const OUTLIVES_EVIDENCE: bool = true;
    const SEES: Facts = Facts::REPORT;
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Event(Event { body, .. }) = fact else { return None };
        if !matches!(body, Body::Failure(_) | Body::Progress(_)) {
            return None;
        }
        let mut blind = state.take(cx.task).unwrap_or_else(|| Blind { task: cx.task, ..Blind::default() });
        let mut signal = None;
        match body {
            Body::Progress(progress) => {
                let tests = progress.tests.as_ref();
                blind.tests |= tests.is_some_and(|tests| {
                    let figures = tests.failing.is_some() || tests.failing_ids.is_some() || tests.coverage.is_some();
                    figures || tests.total.is_some_and(|total| total > 0)
                });
                let done = progress.checklist.map_or(blind.checklist, |checklist| checklist.done);
                let markers = [&progress.files_created, &progress.dependencies_added, &progress.code_written];
                if done > blind.checklist || markers.into_iter().any(|marker| marked(marker.as_ref())) {
                    blind.failures = 0;
                }
                blind.checklist = done;
            }
            Body::Failure(failure) => {
                let facts = FailureFacts::of(failure);
                blind.tests |= facts.tests;
                if let Some(message) = facts.message.filter(|_| !facts.external && !blind.tests) {
                    if blind.failures == 0 {
                        blind.onset = cx.onset;
                        blind.sightings.clear();
                    }
                    blind.failures = blind.failures.saturating_add(1);
                    blind.sightings.push(Sighting { key: message, ..cx.here }, EVIDENCE);
                    signal = cx.limits.reached(blind.failures, 1).then(|| blind.signal());
                }
            }
            _ => {}
        }
        state.tasks.push(blind, TASKS);
        signal
    }

    fn forget_task(state: &mut State, task: Key) {
        state.take(task);
    }

    fn standing(state: &State) -> u32 {
        state.tasks.iter().filter(|blind| !blind.tests).map(|blind| blind.failures).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.tasks.len() <= TASKS && state.tasks.iter().all(|blind| blind.sightings.len() <= EVIDENCE)
    }
}

impl Blind {
    fn signal(&self) -> Signal {
        let message = format!("{} failures without tests or measured progress", self.failures);
        Signal {
            kind: "unmeasured",
            identity: combine("no-tests", &[self.task]),
            count: self.failures,
            scale: 1,
            period: None,
            onset: self.onset,
            sightings: self.sightings.iter().copied().collect(),
            confidence: 700,
            signature: NoTests::ID.to_string(),
            advice: Advice {
                what: format!("{message}: nothing tells whether the task gets any nearer to its goal.").into(),
                instead: "Write a small test that fails for the reason at hand, and work until it passes.",
                recommendation: Recommendation::RequestTests,
                halt_reason: HaltReason::Stalled,
            },
            message,
            ask: None,
            extra: Extra::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Nudge, Observe};
    use crate::rules::testing::Script;

    const RULE: &str = "no-tests";

    #[test]
    fn five_failures_that_nothing_measures() {
        Script::new("{}").play("+f:a +f:b +f:c +f:d").expect(RULE, &[]);
        Script::new("{}").play("+f:a +f:b +f:c +f:d +f:e +f:f").expect(RULE, &[(4, Nudge), (5, Observe)]);
    }

    #[test]
    fn tests_or_markers_measure() {
        Script::new("{}").play("+t:3 +f:a +f:b +f:c +f:d +f:e +f:f").expect(RULE, &[]);
        Script::new("{}").play("+f:a +f:b +m +f:c +f:d +f:e +f:f").expect(RULE, &[]);
        Script::new("{}").play("+f:a +f:b +f:c +f:d +f:assertion +f:e +f:f").expect(RULE, &[]);
    }

    #[test]
    fn external_failures_are_none_of_it() {
        Script::new("{}").play("+f:a +f:b +f:c +f:d +x:503 +x:503").expect(RULE, &[]);
    }
}
