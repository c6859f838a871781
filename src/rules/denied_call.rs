//! Catches: calls that a person or a policy refused, made again.
//! Must not catch: a tool's own errors, a call that was allowed in the end, two different requests both refused.
//! Idea: a refusal is an answer. Asking for the same thing again wears the person out who answers; asking for another
//! thing of the same tool may be what was wished, so that needs one more.

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, Told, confidence};
use crate::rules::{Cx, Extra, Fact, Facts, Limits, Rule, Signal, elsewhere, only_told};
use crate::state::{Call, Occurrence, Ring};
use crate::text::{Key, Refusal, combine, mark, printable};
use alloc::format;

/// Tools watched at once.
const TOOLS: usize = 8;
/// Refusals remembered of one tool, and so the most evidence there can be.
const REFUSALS: u32 = 8;

pub(crate) struct DeniedCall;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    tools: Ring<Tool>,
}
codec!(struct State { tools });

#[derive(Clone, Debug)]
struct Tool {
    tool: Key,
    /// Refusals since the tool last succeeded.
    refusals: Ring<Denial>,
}
codec!(struct Tool { tool, refusals });

#[derive(Clone, Debug)]
struct Denial {
    call: Option<Key>,
    round: Option<Key>,
    /// Mark of what was asked for; 0 for none.
    target: u32,
    by_host: bool,
    seen: Occurrence,
}
codec!(struct Denial { call, round, target, by_host, seen });

impl Tool {
    /// The evidence about one call: its own refusals, or those of the whole tool less one.
    fn count(&self, call: Option<Key>) -> u32 {
        let own = self.refusals.iter().filter(|denial| call.is_some() && denial.call == call).count();
        u32::try_from(own.max(self.refusals.len().saturating_sub(1))).unwrap_or(u32::MAX)
    }

    fn signal(&self, name: &str, call: Option<Key>, cx: &Cx<'_>) -> Option<Signal> {
        let count = self.count(call);
        cx.limits.reached(count, 1).then(|| {
            let tool = printable(name, 48);
            let refused = Streak::of(self.refusals.iter().map(|denial| denial.seen.get())).signal(Told {
                kind: "refused-again",
                identity: combine("denied-call", &[self.tool]),
                count,
                confidence: confidence(750, 70, count),
                signature: cx.named(&tool, '!', self.tool),
                message: format!("`{tool}` was refused {} times by a person or a policy", self.refusals.len()),
                instead: "Take the refusal as an answer: ask what would be allowed, or reach the goal without this tool.",
                recommendation: Recommendation::UnblockAuthority,
                halt_reason: HaltReason::RepeatedError,
            });
            // What servers answer for ever new targets in the words of a host is a search: it is told, and nothing refused.
            if elsewhere(self.refusals.iter().map(|denial| (!denial.by_host).then_some(denial.target))) {
                return only_told(refused, cx);
            }
            Signal { extra: Extra { each: Some(1), ..Extra::default() }, ..refused }
        })
    }
}

impl Rule for DeniedCall {
    const ID: &'static str = "denied-call";
    const ABOUT: &'static str = "Calls that a person or a policy refused, made again.";
    const UNIT: &'static str = "refusals";
    const LIMITS: Limits = Limits::ladder(2, 3, 5, 0);
    const SEES: Facts = Facts::CALL.and(Facts::STEP);
    const LOOKS_AHEAD: bool = true;
    type State = State;

    fn reach(_window: u32) -> u32 {
        REFUSALS
    }

    /// Only the very call that was refused is known to be refused again.
    fn ahead(state: &State, call: &Call, cx: &Cx<'_>) -> Option<Signal> {
        let tool = state.tools.iter().find(|tool| tool.tool == call.tool)?;
        let refused = tool.refusals.iter().any(|denial| denial.call == Some(call.key));
        refused.then(|| tool.signal(&call.name, Some(call.key), cx))?
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Step(step, _) => {
                let known = state.tools.take(|tool| tool.tool == step.tool);
                if step.facts.refusal != Some(Refusal::Denied) {
                    // Anything but a success leaves the refusals standing.
                    if step.facts.failed
                        && let Some(known) = known
                    {
                        state.tools.push(known, TOOLS);
                    }
                    return None;
                }
                let mut tool = known.unwrap_or_else(|| Tool { tool: step.tool, refusals: Ring::default() });
                let call = step.call.as_ref();
                let (key, round) = (call.map(|call| call.key), call.and_then(|call| call.round));
                // What was asked for at once was refused at once.
                let at_once = round.is_some() && tool.refusals.last().is_some_and(|denial| denial.round == round);
                if !at_once {
                    let (seen, by_host) = (Occurrence::new(step.sighting, step.onset), step.facts.by_host);
                    let target = call.and_then(|call| call.target).map_or(0, mark);
                    let denial = Denial { call: key, round, target, by_host, seen };
                    tool.refusals.push(denial, REFUSALS as usize);
                }
                let signal = tool.signal(call.map_or("a tool", |call| &call.name), key, cx);
                state.tools.push(tool, TOOLS);
                signal
            }
            _ => None,
        }
    }

    fn standing(state: &State) -> u32 {
        state
            .tools
            .iter()
            .map(|tool| tool.count(tool.refusals.last().and_then(|denial| denial.call)))
            .max()
            .unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.tools.len() <= TOOLS && state.tools.iter().all(|tool| tool.refusals.len() <= REFUSALS as usize)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::Script;

    const RULE: &str = "denied-call";

    #[test]
    fn refused_and_made_again() {
        // As many refused calls as runs halt.
        Script::new("{}").play("a%denied a%denied a%denied a~").strongest(RULE, Block);
        Script::new("{}").play("a%denied a%denied a%denied a~ a~").last_but_one(RULE, Halt);
    }

    #[test]
    fn table() {
        Script::new("{}").play("a%denied b%denied").expect(RULE, &[]);
        Script::new("{}").play("a%denied a%denied").expect(RULE, &[(3, Nudge)]);
        Script::new("{}").play("a%denied b%denied c%denied").expect(RULE, &[(5, Nudge)]);
        Script::new("{}").play("a%denied a%denied a%denied").last(RULE, Block);
        Script::new("{}").play("a%denied a%denied a%denied a%denied a%denied").last(RULE, Halt);
        // Allowed in the end; a failure of the tool itself settles nothing.
        Script::new("{}").play("a%denied a:x a%denied").expect(RULE, &[]);
        Script::new("{}").play("a%denied b!x a%denied").last(RULE, Nudge);
        Script::new("{}").play("a%denied | a%denied").expect(RULE, &[]);
    }

    #[test]
    fn judged_before_the_call_runs() {
        Script::new("{}").play("a%denied a%denied a%denied ?a").last(RULE, Block);
        Script::new("{}").play("a%denied a%denied a%denied ?b").last_silent(RULE);
    }
}
