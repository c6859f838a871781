//! Catches: a tool that has stopped working for this agent: nothing but failures, whatever they say.
//! Must not catch: a tool that works now and then, failing checks with new edits between, searches that find nothing.
//! Failures of one class are `repeated-error`'s, which says more about them.
//! Idea: errors that differ each time escape every comparison; that none of the calls worked does not.

use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, Told, confidence, named};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal};
use crate::state::Ring;
use crate::text::{Key, combine, printable};
use alloc::format;
use serde::{Deserialize, Serialize};

/// Tools watched at once.
const TOOLS: usize = 8;

pub(crate) struct FailureStreak;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    tools: Ring<Tool>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tool {
    tool: Key,
    /// New mutations of the run when it last failed.
    mutations: u64,
    round: Option<Key>,
    /// Class of the first failure.
    class: Option<Key>,
    /// A later one was of another class.
    mixed: bool,
    failures: Streak,
}

impl Tool {
    fn new(tool: Key) -> Self {
        Self { tool, mutations: 0, round: None, class: None, mixed: false, failures: Streak::default() }
    }

    /// The evidence; none while all failures are of one class.
    fn count(&self) -> u32 {
        if self.mixed { self.failures.times } else { 0 }
    }
}

impl Rule for FailureStreak {
    const ID: &'static str = "failure-streak";
    const ABOUT: &'static str = "One tool failing on end, in whatever way.";
    const UNIT: &'static str = "failures in a row";
    const LIMITS: Limits = Limits::ladder(5, 10, 16, 0);
    const SEES: Facts = Facts::STEP;
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Step(step, _) = fact else { return None };
        let known = state.tools.take(|tool| tool.tool == step.tool);
        if !step.facts.failed {
            return None;
        }
        let mut tool =
            known.filter(|known| known.mutations == step.mutations_before).unwrap_or_else(|| Tool::new(step.tool));
        tool.mutations = step.mutations_after;
        let round = step.call.as_ref().and_then(|call| call.round);
        // Silence is a negative answer, and a batch that fails together is one attempt.
        if step.facts.class.is_some() && (round.is_none() || tool.round != round) {
            tool.failures.add(step.sighting, step.onset);
            tool.round = round;
            tool.mixed |= tool.class.is_some() && tool.class != step.facts.class;
            tool.class = tool.class.or(step.facts.class);
        }
        let count = tool.count();
        let signal = (step.facts.class.is_some() && cx.limits.reached(count, 1)).then(|| {
            let name = printable(step.call.as_ref().map_or("a tool", |call| &call.name), 48);
            tool.failures.signal(Told {
                kind: "nothing-works",
                identity: combine("failure-streak", &[tool.tool]),
                count,
                confidence: confidence(500, 40, count),
                signature: named(&name, '!', tool.tool),
                message: format!("`{name}` failed {count} times in a row"),
                instead: "Try the smallest call of this tool that must work, or reach the goal with another tool.",
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::RepeatedError,
            })
        });
        state.tools.push(tool, TOOLS);
        signal
    }

    fn standing(state: &State) -> u32 {
        state.tools.iter().map(Tool::count).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.tools.len() <= TOOLS && state.tools.iter().all(|tool| tool.failures.fits())
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::Script;
    use alloc::{format, string::String};

    const RULE: &str = "failure-streak";

    #[test]
    fn table() {
        let letters = "uvwxyzabcdefghij";
        let failures =
            |count: usize| -> String { letters.chars().take(count).map(|at| format!("{at}!{at} ")).collect() };
        Script::new("{}").play(&failures(4)).expect(RULE, &[]);
        Script::new("{}").play(&failures(5)).expect(RULE, &[(9, Nudge)]);
        Script::new("{}").play(&failures(10)).last(RULE, Block);
        Script::new("{}").play(&failures(16)).last(RULE, Halt);
        Script::new("{}").play(&(failures(4) + "k:1 " + &failures(4))).expect(RULE, &[]);
        Script::new("{}").play(&(failures(4) + "*1 " + &failures(4))).expect(RULE, &[]);
        Script::new("{}").play("a!x b!x c!x d!x e!x f!x").expect(RULE, &[]);
        Script::new("{}").play("a!x b!x c!x d!x e!y").last(RULE, Nudge);
        // Another tool's success proves nothing for this one.
        Script::new("{}").play(&(failures(4) + "other/k:1 l!l")).last(RULE, Nudge);
    }
}
