//! Catches: one parallel round full of copies of the same call.
//! Must not catch: batches over different targets, and a copy or two, which models make by mistake.
//! Idea: a cap on turns does not see a loop that happens within one; the unit of all other rules is the round.

use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, Told, confidence, named};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal};
use crate::state::Ring;
use crate::text::{Key, combine, printable};
use alloc::format;
use serde::{Deserialize, Serialize};

/// Different calls watched at once.
const CALLS: usize = 16;

pub(crate) struct CallFlood;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    calls: Ring<Copies>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Copies {
    call: Key,
    agent: Key,
    round: Key,
    made: Streak,
}

impl Rule for CallFlood {
    const ID: &'static str = "call-flood";
    const ABOUT: &'static str = "Copies of one call within one round.";
    const UNIT: &'static str = "copies";
    const LIMITS: Limits = Limits::ladder(4, 8, 16, 0);
    const SEES: Facts = Facts::CALL;
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Call(call, _) = fact else { return None };
        let round = call.round?;
        // The next round of an agent ends its last one.
        if state.calls.last().is_some_and(|last| last.agent == call.agent && last.round != round) {
            state.calls.retain(|known| known.agent != call.agent);
        }
        let same = |known: &Copies| known.call == call.key && known.agent == call.agent && known.round == round;
        let mut copies = state.calls.take(same).unwrap_or_else(|| Copies {
            call: call.key,
            agent: call.agent,
            round,
            made: Streak::default(),
        });
        copies.made.add(cx.here, call.onset);
        let count = copies.made.times;
        let signal = cx.limits.reached(count, 1).then(|| {
            let tool = printable(&call.name, 48);
            copies.made.signal(Told {
                kind: "one-round",
                identity: combine("call-flood", &[call.key, call.agent]),
                count,
                confidence: confidence(600, 40, count),
                signature: named(&tool, '#', call.key),
                message: format!("`{tool}` was called {count} times with the same arguments in one round"),
                instead: "Make the call once and use its answer.",
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::Stalled,
            })
        });
        state.calls.push(copies, CALLS);
        signal
    }

    fn standing(state: &State) -> u32 {
        state.calls.iter().map(|copies| copies.made.times).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.calls.len() <= CALLS && state.calls.iter().all(|copies| copies.made.fits())
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::Script;

    const RULE: &str = "call-flood";

    #[test]
    fn table() {
        Script::new("{}").play("#1 a> a> a>").expect(RULE, &[]);
        Script::new("{}").play("#1 a> b> a> a> a>").expect(RULE, &[(4, Nudge)]);
        Script::new("{}").play("#1 a> a> a> a> a> a> a> a>").last(RULE, Block);
        Script::new("{}").play("#1 a> a> a> a> a> a> a> a> a> a> a> a> a> a> a> a>").last(RULE, Halt);
        // Another round, no rounds at all, different calls.
        Script::new("{}").play("#1 a> a> a> #2 a>").expect(RULE, &[]);
        Script::new("{}").play("a> a> a> a>").expect(RULE, &[]);
        Script::new("{}").play("#1 a> b> c> d> e> f>").expect(RULE, &[]);
    }
}
