//! Catches: agents that pass the same piece of work on, each to the next.
//! Must not catch: one agent's own repetition (other rules); different work for many agents.
//! Idea: when delegates delegate what they were given, every level of the tree does the same work again. Each uses its
//! own words, so the subject of the work is compared.

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, confidence};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, SignalParts, many};
use crate::state::Ring;
use crate::text::{Asks, Goal, Key, combine, delegated, salted};
use crate::tuned;
use alloc::format;

/// Maximum number of prompts kept.
const PROMPTS: usize = 16;
/// Minimum weight of a goal: lighter prompts say too little to be compared.
const LIGHTEST: u32 = 6;
/// Agents remembered per prompt, and so the maximum evidence.
const AGENTS: u32 = 8;

pub(crate) struct DuplicateDelegation;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    prompts: Ring<Prompt>,
}
codec!(struct State { prompts });

#[derive(Clone, Debug)]
struct Prompt {
    prompt: Key,
    /// The subject of the work.
    goal: Goal,
    agents: Ring<Key>,
    delegations: Streak,
}
codec!(struct Prompt { prompt, goal, agents, delegations });

impl Prompt {
    fn count(&self) -> u32 {
        many(self.agents.len())
    }
}

/// Whether two prompts are about the same work, whatever the words: neither names something that the other does not.
fn is_same(one: &Goal, other: &Goal) -> bool {
    if one.weight() < LIGHTEST {
        return false;
    }
    let kinship = one.kinship(other);
    kinship.alike >= tuned::DELEGATION_ALIKE.get() && !kinship.plus && !kinship.minus && !kinship.refilled
}

impl Rule for DuplicateDelegation {
    const ID: &'static str = "duplicate-delegation";
    const ABOUT: &'static str = "Several agents passing on the same piece of work.";
    const UNIT: &'static str = "agents";
    const LIMITS: Limits = Limits::ladder(3, 0, 0, 0);
    const SEES: Facts = Facts::CALL;
    type State = State;

    fn reach(_window: u32) -> u32 {
        AGENTS
    }

    #[inline]
    fn heeds(_: &State, fact: &Fact<'_>, _: &Cx<'_>) -> bool {
        matches!(fact, Fact::Call(call, _) if call.asks == Asks::Prose)
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Call(call, payload) = fact else { return None };
        // Delegated work is a request in prose.
        let asked = (call.asks == Asks::Prose).then(|| delegated(payload, &payload.named))?;
        let prompt = salted("delegation", cx.salt, asked?.as_bytes());
        // The recipient is not part of the subject.
        let goal = Goal::of(asked?);
        let exact = state.prompts.take(|known| known.prompt == prompt);
        let known = exact.or_else(|| state.prompts.take(|known| is_same(&goal, &known.goal)));
        let mut known =
            known.unwrap_or_else(|| Prompt { prompt, goal, agents: Ring::default(), delegations: Streak::default() });
        let new = !known.agents.iter().any(|agent| *agent == call.agent);
        if new {
            known.agents.push(call.agent, AGENTS as usize);
            known.delegations.add(cx.here, call.onset);
        }
        let count = known.count();
        let signal = (new && cx.limits.reached(count)).then(|| {
            known.delegations.signal(SignalParts {
                kind: "same-prompt",
                identity: combine("duplicate-delegation", &[known.prompt]),
                count,
                confidence: confidence(500, 60, count),
                signature: cx.named("delegation", '#', known.prompt),
                message: format!("{count} agents passed on the same piece of work"),
                instead: "Do the work yourself, or wait for the agent that was given it first.",
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::Stalled,
            })
        });
        state.prompts.push(known, PROMPTS);
        signal
    }

    fn standing(state: &State) -> u32 {
        state.prompts.iter().map(Prompt::count).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.prompts.len() <= PROMPTS
            && state.prompts.iter().all(|prompt| prompt.agents.len() <= AGENTS as usize && prompt.goal.fits())
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::Script;

    const RULE: &str = "duplicate-delegation";

    #[test]
    fn table() {
        Script::new("{}").play("^1 Task/find_it> ^2 Task/find_it>").expect(RULE, &[]);
        Script::new("{}").play("^1 Task/find_it> ^2 Task/find_it> ^3 Task/find_it>").last(RULE, Nudge);
        Script::new("{}").play("^1 Task/find_it> ^1 Task/find_it> ^1 Task/find_it>").expect(RULE, &[]);
        Script::new("{}").play("^1 Task/find_it> ^2 Task/find_them> ^3 Task/find_us>").expect(RULE, &[]);
        Script::new("{}").play("^1 look/find_it> ^2 look/find_it> ^3 look/find_it>").expect(RULE, &[]);
    }
}
