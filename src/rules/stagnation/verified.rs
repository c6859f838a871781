//! Tests that pass, and are run again although nothing was changed since: the whole suite, in ever other spellings, with looks at
//! the change in between.

use super::{FULL, Found};
use crate::codec::codec;
use crate::model::{HaltReason, ToolResult};
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::{Call, Recent, Sees, Step};
use crate::text::{all_pass, combine, mark};
use alloc::{boxed::Box, format};

/// Parts of the suite that are known to pass.
const PARTS: usize = 8;
/// Runs of what had passed before that are told of.
const RUNS: u32 = 3;

/// Only where tests passed.
#[derive(Clone, Debug, Default)]
pub(super) struct Verified(Option<Box<Passed>>);
codec!(struct Verified(_));

/// What passed since the latest change.
#[derive(Clone, Debug, Default)]
struct Passed {
    changes: u32,
    parts: Recent<PARTS>,
    /// The latest step was such a run: a test that is run over and over is measured.
    running: bool,
    runs: Streak,
}
codec!(struct Passed { changes, parts, running, runs });

impl Verified {
    /// Takes in a step with the number of changes made before it, and tells whether tests passed that had passed before.
    pub(super) fn took(&mut self, step: &Step, call: &Call, result: &ToolResult, changes: u32) -> bool {
        let pass = match call.sees {
            _ if step.facts.failed => Some(false),
            Sees::Own => None,
            _ => all_pass(&result.output),
        };
        if pass == Some(false) || self.0.as_ref().is_some_and(|passed| passed.changes != changes) {
            self.0 = None;
        }
        if pass != Some(true) {
            if let Some(passed) = &mut self.0 {
                passed.running = false;
            }
            return false;
        }
        let passed = self.0.get_or_insert_default();
        passed.changes = changes;
        let known = passed.parts.met(call.target.map_or(0, mark));
        let measured = core::mem::replace(&mut passed.running, true);
        if !known || measured {
            return false;
        }
        passed.runs.add(step.sighting, step.onset);
        true
    }

    pub(super) fn points(&self) -> u32 {
        self.0.as_ref().map_or(0, |passed| passed.runs.times.saturating_mul(FULL) / RUNS)
    }

    pub(super) fn told(&self, cx: &Cx<'_>) -> Option<Signal> {
        let passed = self.0.as_ref()?;
        let times = passed.runs.times;
        let found = Found {
            kind: "verified-again",
            name: "tests",
            what: combine("stagnation/verified", &[]),
            points: self.points(),
            message: format!("tests that had passed were run {times} times again, and nothing was changed since"),
            instead: "Report that the work is done, or name what is still open and do it.",
            halt_reason: HaltReason::Stalled,
        };
        Some(found.told(&passed.runs, cx))
    }

    pub(super) fn fits(&self) -> bool {
        self.0.as_ref().is_none_or(|passed| passed.runs.fits())
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::{Played, events, step};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "stagnation";

    /// Command lines with their answers.
    fn play<'a>(steps: impl IntoIterator<Item = (&'a str, &'a str)>) -> Played {
        let run = |(line, answer): (&str, &str)| step("ann", "bash", &format!(r#"{{"command":"{line}"}}"#), answer);
        let lines: Vec<String> = steps.into_iter().flat_map(run).collect();
        events("{}", &lines)
    }

    #[test]
    fn tests_that_passed() {
        let looks = [
            ("git diff --stat", "tides.py | 2 +-"),
            ("git status --short", " M tides.py, and nothing else"),
            ("cat tides.py", "def tide(hour):\n    return hour % 12"),
            ("git log -1 --oneline", "4f1c Tides by the hour"),
        ];
        let runs = [
            ("pytest -q", "31 passed in 1.20s"),
            ("pytest", "tests/test_tides.py ....\n31 passed in 1.31s"),
            ("python -m pytest -q", "31 passed in 1.18s"),
            ("pytest -q 2>&1 | tail -3", "31 passed in 1.22s"),
        ];
        let by_turns = || runs.into_iter().zip(looks).flat_map(|(run, look)| [run, look]);
        play(by_turns()).strongest(RULE, Nudge);
        // Something is changed in between, or fails.
        let edit = ("sed -i s/12/24/ tides.py", "");
        play(by_turns().flat_map(|step| [step, edit])).expect(RULE, &[]);
        let fails = ("pytest -q", "1 failed, 30 passed in 1.4s");
        play([runs[0], looks[0], runs[1], looks[1], fails, looks[2], runs[2], looks[3], runs[3]]).expect(RULE, &[]);
        // Each part of the suite once; one test over and over, whose rate is asked for.
        let parts = ["tests/test_tides.py", "tests/test_buoys.py", "tests/test_locks.py", "tests/test_ports.py"];
        let lines = parts.map(|part| format!("pytest -q {part}"));
        let each = lines.iter().zip(looks).flat_map(|(line, look)| [(line.as_str(), "9 passed in 0.3s"), look]);
        play(each).expect(RULE, &[]);
        let seeds: Vec<String> = (0..8).map(|at| format!("SEED={at}1 pytest -q tests/test_tides.py")).collect();
        play(seeds.iter().map(|line| (line.as_str(), "9 passed in 0.3s"))).expect(RULE, &[]);
    }
}
