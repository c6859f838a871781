//! Catches: a task that fails again and again with nothing that could show whether it gets closer to its goal: no
//! tests, no measured progress.
//! Must not catch: failures that tests reported; tasks whose files, dependencies or checklist grow; work that shows in
//! a new patch or in new documents; tasks that an outside judge calls progressing; external failures.
//! Idea: the decision record on failure loops: a lack of tests is a red flag in itself, but documentation,
//! configuration and refactoring have no tests to improve, and there the judge decides.

use crate::codec::codec;
use crate::model::{Body, EvaluationVerdict, Event, HaltReason, Progress, Recommendation};
use crate::rules::task_loop::marked;
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, SignalParts, TASKS};
use crate::state::{Flow, KEY_BYTES, Onset, Ring, ScopeKeys, Sighting};
use crate::text::{FailureFacts, Key, combine, document, patch};
use alloc::format;
use smol_str::SmolStr;

const EVIDENCE: usize = 3;
/// Patches and documents remembered: one that returns is no new work.
const ARTIFACTS: usize = 4;

pub(crate) struct NoTests;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Least recently used first.
    tasks: Ring<Blind>,
}
codec!(struct State { tasks });

#[derive(Clone, Debug, Default)]
struct Blind {
    task: Key,
    failures: u32,
    /// Whether tests exist.
    tests: bool,
    checklist: u32,
    artifacts: Ring<Key>,
    onset: Onset,
    sightings: Ring<Sighting>,
}
codec!(struct Blind { task, failures, tests, checklist, artifacts, onset, sightings });

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
        match body {
            Body::Failure(_) | Body::Progress(_) => {}
            Body::Evaluation(evaluation) if evaluation.verdict == EvaluationVerdict::Progressing => {}
            _ => return None,
        }
        let new = || Blind { task: cx.task, ..Blind::default() };
        let blind = state.tasks.renew(TASKS, |blind| blind.task == cx.task, new)?;
        match body {
            Body::Failure(failure) => return blind.failed(&FailureFacts::of(failure, cx.salt), cx),
            Body::Progress(progress) => blind.progressed(progress, cx.salt),
            _ => blind.failures = 0,
        }
        None
    }

    fn drop_tasks(state: &mut State, gone: &dyn Fn(Key) -> bool) {
        state.tasks.retain(|blind| !gone(blind.task));
    }

    fn weight(state: &State) -> usize {
        let task = |blind: &Blind| {
            let sightings: usize = blind.sightings.iter().map(Sighting::weight).sum();
            KEY_BYTES * (2 + blind.artifacts.len()) + blind.onset.weight() + sightings + 4
        };
        state.tasks.iter().map(task).sum()
    }

    fn standing_of(state: &State, whose: &ScopeKeys, _flow: &Flow<'_>) -> u32 {
        let tasks = state.tasks.iter().filter(|blind| !blind.tests && whose.has_task(blind.task));
        tasks.map(|blind| blind.failures).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        let fits = |blind: &Blind| blind.sightings.len() <= EVIDENCE && blind.artifacts.len() <= ARTIFACTS;
        state.tasks.len() <= TASKS && state.tasks.iter().all(fits)
    }
}

impl Blind {
    fn progressed(&mut self, progress: &Progress, salt: u64) {
        let tests = progress.tests.as_ref();
        self.tests |= tests.is_some_and(|tests| {
            let figures = tests.failing.is_some() || tests.failing_ids.is_some() || tests.coverage.is_some();
            figures || tests.total.is_some_and(|total| total > 0)
        });
        let done = progress.checklist.map_or(self.checklist, |checklist| checklist.done);
        let before = core::mem::replace(&mut self.checklist, done);
        let diff = progress.diff.as_deref().map(|text| patch(text, salt));
        let artifacts = [diff, progress.docs.as_deref().map(|text| document(text, salt))];
        let mut new = false;
        for artifact in artifacts.into_iter().flatten().filter(|artifact| *artifact != 0) {
            if !self.artifacts.iter().any(|known| *known == artifact) {
                self.artifacts.push(artifact, ARTIFACTS);
                new = true;
            }
        }
        if new || done > before || marked(progress) {
            self.failures = 0;
        }
    }

    fn failed(&mut self, facts: &FailureFacts, cx: &Cx<'_>) -> Option<Signal> {
        self.tests |= facts.tests;
        let message = facts.message.filter(|_| !facts.external && !self.tests)?;
        if self.failures == 0 {
            self.onset = cx.onset;
            self.sightings.clear();
        }
        self.failures = self.failures.saturating_add(1);
        self.sightings.push(Sighting { key: message, ..cx.here }, EVIDENCE);
        cx.limits.reached(self.failures).then(|| self.signal())
    }

    fn signal(&self) -> Signal {
        let message = format!("{} failures without tests or measured progress", self.failures);
        let what = format!("{message}: nothing shows whether the task is getting nearer to its goal.");
        SignalParts {
            kind: "unmeasured",
            identity: combine("no-tests", &[self.task]),
            count: self.failures,
            confidence: 700,
            signature: SmolStr::new_static(NoTests::ID),
            message,
            instead: "Write a small test that fails for the same reason, and work until it passes.",
            recommendation: Recommendation::RequestTests,
            halt_reason: HaltReason::Stalled,
        }
        .signal(self.onset, self.sightings.iter().copied().collect())
        .what(what)
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
    fn work_that_no_test_measures() {
        Script::workflow("{}").play("!a !b %d:1 !c !d %m:1 !e !f %d:2 !g !h").expect(RULE, &[]);
        // A repeated or returning patch is no new work; nor is an empty one.
        Script::workflow("{}").play("%d:1 !a !b %d:1 !c !d %d:1 !e").expect(RULE, &[(7, Nudge)]);
        Script::workflow("{}").play("%d:1 %d:2 !a !b %d:1 !c !d %d:2 !e").expect(RULE, &[(8, Nudge)]);
        Script::workflow("{}").play("!a !b %d: !c %m: !d !e").expect(RULE, &[(6, Nudge)]);
    }

    #[test]
    fn a_judge_that_sees_progress() {
        Script::new("{}").play("+f:a +f:b +f:c +f:d +e:progressing +f:e +f:f +f:g +f:h").expect(RULE, &[]);
        Script::new("{}").play("+f:a +f:b +f:c +f:d +e:stalled +f:e").expect(RULE, &[(5, Nudge)]);
    }

    #[test]
    fn external_failures_are_none_of_it() {
        Script::new("{}").play("+f:a +f:b +f:c +f:d +x:503 +x:503").expect(RULE, &[]);
    }
}
