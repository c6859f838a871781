//! Catches: calls that a tool turns away for their arguments, or that name a tool which does not exist, again and again.
//! Must not catch: one slip and its correction, errors of the program that a tool runs, refusals by a person.
//! Idea: a call that never got as far as doing something teaches nothing about the task, only how to call; whoever
//! misses that twice is guessing. Measured on recorded runs: of the loops people mark, the largest family.

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, Told, confidence};
use crate::rules::{Cx, Extra, Fact, Facts, Limits, Rule, Signal, elsewhere, only_told};
use crate::state::{Call, Occurrence, Ring, Step};
use crate::text::{Key, Refusal, combine, mark, printable};
use alloc::format;

/// Tools watched at once.
const TOOLS: usize = 8;
/// Calls of a tool looked back at, at most.
const MAX_WINDOW: u32 = 32;
/// Steps of the run looked back at for rejections by several tools.
const STEPS: u64 = 12;

pub(crate) struct RejectedArguments;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    tools: Ring<Tool>,
    /// The rejections of the latest [`STEPS`] steps, by whatever tool.
    latest: Ring<Rejection>,
}
codec!(struct State { tools, latest });

#[derive(Clone, Debug)]
struct Tool {
    tool: Key,
    calls: Ring<Outing>,
}
codec!(struct Tool { tool, calls });

/// One call of a tool.
#[derive(Clone, Debug)]
struct Outing {
    /// Set where the call was turned away and that still counts.
    rejected: Option<Kind>,
    round: Option<Key>,
    /// Marks of the call and of what it acts upon; 0 for none.
    call: u32,
    target: u32,
    by_host: bool,
    seen: Occurrence,
}
codec!(struct Outing { rejected, round, call, target, by_host, seen });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Arguments,
    UnknownTool,
}
codec!(enum Kind { Arguments: 0, UnknownTool: 1 });

#[derive(Clone, Debug)]
struct Rejection {
    step: u64,
    tool: Key,
    target: u32,
    by_host: bool,
    seen: Occurrence,
}
codec!(struct Rejection { step, tool, target, by_host, seen });

impl Kind {
    fn of(step: &Step) -> Option<Self> {
        match step.facts.refusal? {
            Refusal::Arguments => Some(Self::Arguments),
            Refusal::UnknownTool => Some(Self::UnknownTool),
            Refusal::Denied => None,
        }
    }
}

impl Tool {
    /// Takes a call in; false where it tells nothing that was not told.
    fn took(&mut self, step: &Step, rejected: Option<Kind>, window: usize) -> bool {
        let call = step.call.as_ref();
        let target = call.and_then(|call| call.target).map_or(0, mark);
        if rejected.is_none() && !step.facts.failed && target != 0 {
            // The tool is understood now, as far as this target goes.
            self.calls.iter_mut().filter(|call| call.target == target).for_each(|call| call.rejected = None);
        }
        let round = call.and_then(|call| call.round);
        // The calls of a round were made before any of them was answered: one mistake.
        let told = |call: &Outing| call.round == round && call.rejected == rejected;
        if round.is_some() && rejected.is_some() && self.calls.iter().any(told) {
            return false;
        }
        let call = call.map_or(0, |call| mark(call.key));
        let (by_host, seen) = (step.facts.by_host, Occurrence::new(step.sighting, step.onset));
        self.calls.push(Outing { rejected, round, call, target, by_host, seen }, window);
        true
    }

    /// `expected`: calls that are about to be turned away.
    fn signal(&self, name: &str, kind: Kind, expected: u32, cx: &Cx<'_>) -> Option<Signal> {
        let same = || self.calls.iter().filter(|call| call.rejected == Some(kind));
        let count = u32::try_from(same().count()).unwrap_or(u32::MAX).saturating_add(expected);
        if !cx.limits.reached(count, 1) {
            return None;
        }
        let tool = printable(name, 48);
        let (case, message, instead) = match kind {
            Kind::Arguments => (
                "same-tool",
                format!("`{tool}` turned {count} calls away because their arguments do not fit it"),
                "Read the tool's description again and pass only the fields it names, or use another tool.",
            ),
            Kind::UnknownTool => (
                "unknown-tool",
                format!("`{tool}` was called {count} times and does not exist here"),
                "Choose from the tools that are offered in this run.",
            ),
        };
        // What servers answer for ever new targets in the words of a host is a search: it is told, and nothing refused.
        let said = elsewhere(same().map(|call| (!call.by_host).then_some(call.target)));
        let signal = Streak::of(same().map(|call| call.seen.get())).signal(Told {
            kind: case,
            identity: combine("rejected-arguments", &[self.tool]),
            count,
            confidence: confidence(700, 60, count),
            signature: cx.named(&tool, '!', self.tool),
            message,
            instead,
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::RepeatedError,
        });
        let extra = Extra { each: Some(1), ..Extra::default() };
        Some(if said { only_told(signal, cx) } else { Signal { extra, ..signal } })
    }
}

impl State {
    /// Rejections by several tools in turn: two of them weigh as one of a single tool, from the ninth on each weighs whole.
    fn across(&self, cx: &Cx<'_>) -> Option<Signal> {
        let times = u32::try_from(self.latest.len()).unwrap_or(u32::MAX);
        let first = self.latest.iter().next()?;
        if self.latest.iter().all(|seen| seen.tool == first.tool) {
            return None;
        }
        let count = if times <= 8 { times / 2 } else { times.saturating_sub(4) };
        let said = elsewhere(self.latest.iter().map(|seen| (!seen.by_host).then_some(seen.target)));
        cx.limits.reached(count, 1).then(|| {
            let signal = Streak::of(self.latest.iter().map(|rejection| rejection.seen.get())).signal(Told {
                kind: "several-tools",
                identity: combine("rejected-arguments", &[0]),
                count,
                confidence: confidence(700, 60, count),
                signature: "several tools".into(),
                message: format!(
                    "several tools turned {times} of the last {STEPS} calls away because of how they were called"
                ),
                instead: "Read one tool's description, make one complete call of it, and go on from its answer.",
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::RepeatedError,
            });
            if said { only_told(signal, cx) } else { signal }
        })
    }
}

impl Rule for RejectedArguments {
    const ID: &'static str = "rejected-arguments";
    const ABOUT: &'static str = "Calls turned away for their arguments, or of tools that do not exist.";
    const UNIT: &'static str = "rejections";
    const LIMITS: Limits = Limits::ladder(2, 4, 8, 8);
    const MAX_WINDOW: u32 = MAX_WINDOW;
    const SEES: Facts = Facts::CALL.and(Facts::STEP);
    const LOOKS_AHEAD: bool = true;
    type State = State;

    fn reach(window: u32) -> u32 {
        window
    }

    fn ahead(state: &State, call: &Call, cx: &Cx<'_>) -> Option<Signal> {
        let tool = state.tools.iter().find(|tool| tool.tool == call.tool)?;
        // Other arguments deserve their chance; another call of a tool that does not exist does not.
        let alike = tool.calls.iter().rev().find(|seen| match seen.rejected {
            Some(Kind::Arguments) => seen.call == mark(call.key),
            Some(Kind::UnknownTool) => true,
            None => false,
        })?;
        tool.signal(&call.name, alike.rejected?, u32::from(cx.config.conventions.expect_failure), cx)
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Step(step, _) => {
                let rejected = Kind::of(step);
                let mut tool = state
                    .tools
                    .take(|tool| tool.tool == step.tool)
                    .unwrap_or_else(|| Tool { tool: step.tool, calls: Ring::default() });
                let rejected = if tool.took(step, rejected, cx.limits.window as usize) { rejected } else { None };
                state.latest.retain(|seen| seen.step + STEPS > step.index);
                let signal = rejected.and_then(|kind| {
                    let (seen, by_host) = (Occurrence::new(step.sighting, step.onset), step.facts.by_host);
                    let target = step.call.as_ref().and_then(|call| call.target).map_or(0, mark);
                    let rejection = Rejection { step: step.index, tool: step.tool, target, by_host, seen };
                    state.latest.push(rejection, STEPS as usize);
                    let name = step.call.as_ref().map_or("a tool", |call| &call.name);
                    let own = tool.signal(name, kind, 0, cx);
                    let across = state.across(cx);
                    match (own, across) {
                        (Some(own), Some(across)) => Some(if across.count > own.count { across } else { own }),
                        (own, across) => own.or(across),
                    }
                });
                state.tools.push(tool, TOOLS);
                signal
            }
            _ => None,
        }
    }

    fn standing(state: &State) -> u32 {
        let counts = state.tools.iter().map(|tool| tool.calls.iter().filter(|call| call.rejected.is_some()).count());
        counts.max().map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX))
    }

    fn fits(state: &State) -> bool {
        state.tools.len() <= TOOLS
            && state.latest.len() <= STEPS as usize
            && state.tools.iter().all(|tool| tool.calls.len() <= MAX_WINDOW as usize)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::Script;

    const RULE: &str = "rejected-arguments";

    #[test]
    fn refused_and_made_again() {
        // As many refused calls as runs halt.
        Script::new("{}").play("a%invalid a%invalid a%invalid a%invalid a~ a~ a~").strongest(RULE, Block);
        Script::new("{}").play("a%invalid a%invalid a%invalid a%invalid a~ a~ a~ a~").last_but_one(RULE, Halt);
    }

    #[test]
    fn table() {
        // One slip is none; arguments do not matter, nor does work between.
        Script::new("{}").play("a%invalid a:x").expect(RULE, &[]);
        Script::new("{}").play("a%invalid b%invalid").expect(RULE, &[(3, Nudge)]);
        Script::new("{}").play("a%invalid b:x c:y d%invalid").last(RULE, Nudge);
        Script::new("{}").play("a%invalid b%invalid c%invalid d%invalid").last(RULE, Block);
        Script::new("{}")
            .play("a%invalid b%invalid c%invalid d%invalid e%invalid f%invalid g%invalid h%invalid")
            .last(RULE, Halt);
        // One round is one mistake.
        Script::new("{}").play("#1 a%invalid b%invalid c%invalid d%invalid").expect(RULE, &[]);
        Script::new("{}").play("#1 a%invalid b%invalid #2 c%invalid").last(RULE, Nudge);
        // Long ago.
        Script::new("{}").play("a%invalid b:1 c:2 d:3 e:4 f:5 g:6 h:7 i%invalid").expect(RULE, &[]);
    }

    #[test]
    fn other_failures_are_none() {
        Script::new("{}").play("a!x b!x c!x d!x").expect(RULE, &[]);
        Script::new("{}").play("a%denied a%denied a%timeout a%timeout").expect(RULE, &[]);
        Script::new("{}").play("a%invalid | b%invalid").expect(RULE, &[]);
    }

    #[test]
    fn unknown_tools() {
        Script::new("{}").play("a%unknown-tool b%unknown-tool").last(RULE, Nudge);
        Script::new("{}").play("a%unknown-tool b%unknown-tool c%unknown-tool d%unknown-tool ?z").last(RULE, Block);
        Script::new("{}").play("a%invalid b%invalid c%invalid d%invalid ?z").last_silent(RULE);
        Script::new("{}").play("a%invalid b%invalid c%invalid d%invalid ?d").last(RULE, Block);
    }

    #[test]
    fn several_tools() {
        Script::new("{}").play("one/a%invalid two/a%invalid three/a%invalid").expect(RULE, &[]);
        Script::new("{}").play("one/a%invalid two/a%invalid three/a%invalid four/a%invalid").last(RULE, Nudge);
        let rotating = "one/a%invalid two/a%invalid three/a%invalid four/a%invalid five/a%invalid six/a%invalid ";
        Script::new("{}").play(&rotating.repeat(2)).strongest(RULE, Halt);
    }
}
