//! What is done and checked again although nothing was changed since: a test suite that passes, run in ever new
//! spellings and with looks at the change in between; a job that is over, looked at in one form or another after each
//! pause.

use super::{FULL, Stuck};
use crate::codec::codec;
use crate::model::{HaltReason, ToolResult};
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::{Call, Recent, Step, Visibility};
use crate::text::{
    Vocabulary, all_pass, combine, has_digit, is_hopeless, mark, may_change, number, printable, progress,
};
use alloc::boxed::Box;

/// Parts of a test suite that are remembered as passing.
const PARTS: usize = 8;
/// Further looks, after the first, from which they are reported.
const LOOKS: u32 = 3;

/// Present once tests have passed, or a wait has come to something that is over.
#[derive(Clone, Debug, Default)]
pub(super) struct Done(Option<Box<Looks>>);
codec!(struct Done(_));

#[derive(Clone, Debug, Default)]
struct Looks {
    changes: u32,
    parts: Recent<PARTS>,
    /// The latest step was such a test run: a test that is run back to back is being measured.
    running: bool,
    passed: Streak,
    /// Words of the answers about what is over.
    words: Vocabulary,
    /// Mark of the latest such call with its answer.
    latest: u32,
    over: Streak,
}
codec!(struct Looks { changes, parts, running, passed, words, latest, over });

impl Done {
    /// Records a step, before which `changes` were made; true if it looked again at something that was already done.
    pub(super) fn took(&mut self, step: &Step, call: &Call, result: &ToolResult, changes: u32) -> bool {
        let (facts, output) = (&step.facts, result.output.as_str());
        let pass = match call.sees {
            _ if facts.failed => Some(false),
            Visibility::Own => None,
            _ => all_pass(output),
        };
        let watched = !facts.failed && (step.watches() || step.paused() && call.watches);
        let waited = (step.slept || watched) && !step.idles && step.looks();
        let hopeless = waited && is_hopeless(output);
        let over = hopeless || waited && may_change(output) == Some(false) && progress(output) == 0;
        let goes_on = waited && (facts.transient || facts.waiting && !over);
        if goes_on || self.0.as_ref().is_some_and(|looks| looks.changes != changes) {
            self.0 = None;
        }
        if let (false, Some(looks)) = (pass == Some(true), &mut self.0) {
            looks.running = false;
            if pass == Some(false) {
                looks.parts = Recent::default();
                looks.passed.clear();
            }
        }
        if pass != Some(true) && (!over || facts.transient) {
            return false;
        }
        let looks = self.0.get_or_insert_default();
        looks.changes = changes;
        if pass == Some(true) {
            // A command line spells one suite in many ways; a tool's other arguments name another one.
            let spelt = || if call.runs_a_program() { 0 } else { mark(call.key) };
            let known = looks.parts.met(call.target.map_or_else(spelt, mark));
            let measured = core::mem::replace(&mut looks.running, true);
            if known && !measured {
                looks.passed.add(step.sighting, step.onset);
            }
            return known && !measured;
        }
        // An answer with new words may tell why it is over.
        let new = looks.words.learn_all(step.words(result).iter().copied().filter(|word| !has_digit(*word)));
        let latest = mark(combine("stagnation/over", &[call.key, facts.light]));
        // Without an explicit sleep it counts only if nothing moves at all, or the state is hopeless.
        let moved = core::mem::replace(&mut looks.latest, latest) != latest;
        if new || moved && !step.slept && !hopeless {
            return false;
        }
        looks.over.add(step.sighting, step.onset);
        true
    }

    pub(super) fn points(&self) -> u32 {
        let times = |looks: &Looks| looks.passed.times.max(looks.over.times);
        self.0.as_ref().map_or(0, |looks| times(looks).saturating_mul(FULL) / LOOKS)
    }

    pub(super) fn signal(&self, call: &Call, cx: &Cx<'_>) -> Option<Signal> {
        let looks = self.0.as_ref()?;
        let (name, points) = (printable(&call.name, 48), self.points());
        let tests = looks.passed.times >= looks.over.times;
        let seen = if tests { &looks.passed } else { &looks.over };
        let times = number(seen.times);
        let (kind, message, instead) = if tests {
            (
                "verified-again",
                ["tests that had passed were run again ", &times, " times, and nothing had been changed since"]
                    .concat(),
                "Report that the work is done, or name what is still open and do it.",
            )
        } else {
            (
                "waits-for-nothing",
                ["`", &name, "` was called ", &times, " times more after a wait, although the state was final"]
                    .concat(),
                "Accept the state: look for its cause, start it again, or report it.",
            )
        };
        let (what, halt_reason) = (combine("stagnation/done", &[tests.into()]), HaltReason::Stalled);
        Some(Stuck { kind, name: &name, what, points, message, instead, halt_reason }.signal(seen, cx))
    }

    pub(super) fn fits(&self) -> bool {
        self.0.as_ref().is_none_or(|looks| looks.words.fits())
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
        // Something is changed in between, or a test fails.
        let edit = ("sed -i s/12/24/ tides.py", "");
        play(by_turns().flat_map(|step| [step, edit])).expect(RULE, &[]);
        let fails = ("pytest -q", "1 failed, 30 passed in 1.4s");
        play([runs[0], looks[0], runs[1], looks[1], fails, looks[2], runs[2], looks[3], runs[3]]).expect(RULE, &[]);
        // Each part of the suite once; one test over and over, to measure how often it passes.
        let parts = ["tests/test_tides.py", "tests/test_buoys.py", "tests/test_locks.py", "tests/test_ports.py"];
        let lines = parts.map(|part| format!("pytest -q {part}"));
        let each = lines.iter().zip(looks).flat_map(|(line, look)| [(line.as_str(), "9 passed in 0.3s"), look]);
        play(each).expect(RULE, &[]);
        let seeds: Vec<String> = (0..8).map(|at| format!("SEED={at}1 pytest -q tests/test_tides.py")).collect();
        play(seeds.iter().map(|line| (line.as_str(), "9 passed in 0.3s"))).expect(RULE, &[]);
    }

    /// Looks at a delivery, each after a pause and in one of three forms.
    fn looks<'a>(answers: impl IntoIterator<Item = &'a str>) -> Played {
        let look = |(at, answer): (usize, &str)| {
            let form = ["--short", "--json state", "| tail -5"][at % 3];
            let args = format!(r#"{{"command":"sleep {}; quayctl delivery 771 {form}"}}"#, 30 + 10 * at);
            step("ann", "bash", &args, answer)
        };
        let lines: Vec<String> = answers.into_iter().enumerate().flat_map(look).collect();
        events("{}", &lines)
    }

    #[test]
    fn what_is_over() {
        let over = ["delivery 771 is failed after 41s", "{\"state\":\"failed\"}", "771 failed, 41s"];
        looks(over.into_iter().cycle().take(8)).strongest(RULE, Nudge);
        // It is running again in between.
        let again =
            ["failed after 41s", "running", "failed after 38s", "pending", "failed after 40s", "queued", "failed"];
        looks(again).expect(RULE, &[]);
        // Each answer says something else.
        let parts =
            ["crane failed", "hold failed, too", "pilot succeeded", "tug finished", "customs failed", "gate expired"];
        looks(parts).expect(RULE, &[]);
        // The answers report progress.
        let far: Vec<String> = (1..9).map(|at| format!("completed {at}0 of 90")).collect();
        looks(far.iter().map(String::as_str)).expect(RULE, &[]);
    }
}
