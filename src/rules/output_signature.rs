//! Catches: iterations of one agent whose whole outputs say the same thing three times in a row.
//! Must not catch: different actions on the same file, falling numbers of failing tests, one retry, several agents that
//! say the same thing once each.
//! Idea: the seed document on loop detection by output signatures: window 5, threshold 3, consecutive at the end of the
//! window, then a gate with three options. Each agent has a window for each task that its outputs name.
//!
//! A signature may stay the same while fewer tests fail each time, since it names two of them at most. A number of
//! failing tests lower than any before in the streak is progress and starts a new streak; a return to a number that was
//! already reached is not.

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::capped_confidence;
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, SignalParts, many};
use crate::state::{Flow, KEY_BYTES, Occurrence, Ring, ScopeKeys, Sighting};
use crate::text::{Key, combine, salted};
use alloc::{format, string::String, string::ToString, vec::Vec};

const MAX_WINDOW: u32 = 32;
/// Windows kept, one per agent and task; the one whose latest output is the oldest is dropped first.
const WINDOWS: usize = 64;
/// Characters of an output's first line that are kept for the report.
pub(crate) const LINE: usize = 80;

pub(crate) struct OutputSignature;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    windows: Ring<Window>,
    /// Windows dropped at their cap since this was last read.
    lost: u64,
}
codec!(struct State { windows, lost });

#[derive(Clone, Debug, Default)]
struct Window {
    task: Key,
    agent: Key,
    latest: Ring<Iteration>,
    /// Iterations so far, for their numbers in the report.
    iterations: u64,
}
codec!(struct Window { task, agent, latest, iterations });

#[derive(Clone, Debug)]
struct Iteration {
    number: u64,
    signature: Key,
    /// How many tests fail, if it says so.
    failing: Option<u32>,
    line: String,
    seen: Occurrence,
}
codec!(struct Iteration { number, signature, failing, line, seen });

impl Window {
    /// The latest iterations in a row with the same signature and no progress between them, oldest first.
    fn streak(&self) -> impl Iterator<Item = &Iteration> {
        let (mut start, mut fewest, mut before) = (0, None::<u32>, None);
        for (index, iteration) in self.latest.iter().enumerate() {
            let fell = iteration.failing.zip(fewest).is_some_and(|(failing, fewest)| failing < fewest);
            if before != Some(iteration.signature) || fell {
                (start, fewest) = (index, None);
            }
            before = Some(iteration.signature);
            fewest = fewest.into_iter().chain(iteration.failing).min();
        }
        self.latest.iter().skip(start)
    }

    fn count(&self) -> u32 {
        many(self.streak().count())
    }
}

impl Rule for OutputSignature {
    const ID: &'static str = "output-signature";
    const ABOUT: &'static str = "Iterations whose whole outputs boil down to the same action or error.";
    const ANSWERS: &'static [(&'static str, &'static str)] = &[
        ("Continue with different approach", "Agent will be instructed to try new strategy"),
        ("Review and debug", "Examine why same fix keeps failing"),
        ("Cancel", "Stop task"),
    ];
    const UNIT: &'static str = "outputs in a row";
    const LIMITS: Limits = Limits { window: 5, ..Limits::gate(3) };
    const MAX_WINDOW: u32 = MAX_WINDOW;
    const IN_LANE: bool = false;
    const SEES: Facts = Facts::OUTPUT;
    type State = State;

    fn reach(window: u32) -> u32 {
        window
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Output { signature, failing, line, .. } = fact else { return None };
        let known = state.windows.take(|window| window.task == cx.task && window.agent == cx.agent);
        let mut window = known.unwrap_or_else(|| Window { task: cx.task, agent: cx.agent, ..Window::default() });
        window.iterations = window.iterations.saturating_add(1);
        let identity = salted("signature", cx.salt, signature.as_bytes());
        let iteration = Iteration {
            number: window.iterations,
            signature: identity,
            failing: *failing,
            line: line.chars().take(LINE).collect(),
            seen: Occurrence::new(Sighting { key: identity, ..cx.here }, cx.onset),
        };
        window.latest.push(iteration, cx.limits.window as usize);
        let count = window.count();
        let signal = cx.limits.reached(count).then(|| window.signal(count, signature));
        state.lost = state.lost.saturating_add(state.windows.push_counted(window, WINDOWS));
        signal
    }

    fn drop_tasks(state: &mut State, gone: &dyn Fn(Key) -> bool) {
        state.windows.retain(|window| !gone(window.task));
    }

    fn weight(state: &State) -> usize {
        let iteration = |iteration: &Iteration| KEY_BYTES + 16 + iteration.line.len() + iteration.seen.weight();
        let window = |window: &Window| 2 * KEY_BYTES + 12 + window.latest.iter().map(iteration).sum::<usize>();
        state.windows.iter().map(window).sum()
    }

    fn shed(state: &mut State) -> u64 {
        state.windows.iter_mut().map(|window| window.latest.halve()).sum()
    }

    fn take_lost(state: &mut State) -> u64 {
        core::mem::take(&mut state.lost)
    }

    fn standing_of(state: &State, whose: &ScopeKeys, _flow: &Flow<'_>) -> u32 {
        let windows = state.windows.iter().filter(|window| whose.has(window.task, window.agent));
        windows.map(Window::count).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        let fits = |window: &Window| {
            window.latest.len() <= MAX_WINDOW as usize
                && window.latest.iter().all(|iteration| iteration.line.len() <= LINE * 4)
        };
        state.windows.len() <= WINDOWS && state.windows.iter().all(fits)
    }

    fn story(state: &State, whose: &ScopeKeys) -> Vec<String> {
        let window = state.windows.iter().rev().find(|window| whose.has(window.task, window.agent));
        let streak = window.into_iter().flat_map(Window::streak);
        streak.map(|iteration| format!("Iteration {}: {}", iteration.number, iteration.line)).collect()
    }
}

impl Window {
    fn signal(&self, count: u32, signature: &str) -> Signal {
        let message = format!("Same output signature repeated {count} times");
        let what = self.latest.last().map_or(0, |iteration| iteration.signature);
        SignalParts {
            kind: "unchanged-signature",
            identity: combine("output-signature", &[self.task, self.agent, what]),
            count,
            confidence: capped_confidence((750, 40, 5), count),
            signature: signature.to_string().into(),
            message,
            instead: "Name the assumption that all of them share, and test that assumption first.",
            recommendation: Recommendation::Escalate,
            halt_reason: HaltReason::Stalled,
        }
        .signal(
            self.streak().next().map(|iteration| iteration.seen.onset()).unwrap_or_default(),
            self.streak().map(|iteration| iteration.seen.sighting()).collect(),
        )
        .what(format!("The last {count} outputs all came down to the same action or error."))
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Gate;
    use crate::rules::testing::Script;

    const RULE: &str = "output-signature";

    #[test]
    fn table() {
        // The window table of the document: three equal outputs in a window are not enough, they have to be in a row.
        Script::new("{}").play("o:a o:b o:a o:a").expect(RULE, &[]);
        Script::new("{}").play("o:a o:b o:a o:a o:a").expect(RULE, &[(4, Gate)]);
        Script::new("{}").play("o:a o:b o:a o:b o:a o:b").expect(RULE, &[]);
        Script::new("{}").play("o:a o:a | o:a").expect(RULE, &[]);
        let five = r#"{"rules":{"output-signature":{"gate":5}}}"#;
        Script::new(five).play("o:a o:a o:a o:a").expect(RULE, &[]);
        Script::new(five).play("o:a o:a o:a o:a o:a").expect(RULE, &[(4, Gate)]);
    }

    #[test]
    fn nobody_attends() {
        let unattended = r#"{"attended":false}"#;
        Script::new(unattended).play("o:a o:a o:a").last(RULE, crate::model::Level::Halt);
    }
}
