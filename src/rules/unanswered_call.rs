//! Catches: a call made again and again that nothing answers.
//! Must not catch: copies within one parallel round, a call that was answered or turned away in the meantime.
//! Idea: an agent whose results are dropped on the way asks again for ever; the fault is the harness's, and only the
//! host can mend it.

use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, Told, confidence, named};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal};
use crate::state::{Call, Ring};
use crate::text::{Key, combine, printable};
use alloc::format;
use serde::{Deserialize, Serialize};

/// Calls watched at once.
const CALLS: usize = 16;

pub(crate) struct UnansweredCall;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    waiting: Ring<Waiting>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Waiting {
    call: Key,
    agent: Key,
    round: Option<Key>,
    made: Streak,
}

impl State {
    fn answered(&mut self, call: Option<&Call>) {
        match call {
            Some(call) => self.waiting.retain(|known| known.call != call.key || known.agent != call.agent),
            // An answer to an unknown call may be anyone's.
            None => self.waiting.clear(),
        }
    }
}

impl Rule for UnansweredCall {
    const ID: &'static str = "unanswered-call";
    const ABOUT: &'static str = "The same call again although none of it was answered.";
    const UNIT: &'static str = "calls";
    const LIMITS: Limits = Limits::ladder(3, 5, 9, 0);
    const SEES: Facts = Facts::CALL.and(Facts::STEP).and(Facts::NOT_RUN);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Call(call, _) => {
                let mut waiting =
                    state.waiting.take(|known| known.call == call.key && known.agent == call.agent).unwrap_or_else(
                        || Waiting { call: call.key, agent: call.agent, round: None, made: Streak::default() },
                    );
                if call.round.is_none() || waiting.round != call.round {
                    waiting.made.add(cx.here, call.onset);
                    waiting.round = call.round;
                }
                let count = waiting.made.times;
                let signal = cx.limits.reached(count, if call.polling { 3 } else { 1 }).then(|| {
                    let tool = printable(&call.name, 48);
                    let told = Told {
                        kind: "no-result",
                        identity: combine("unanswered-call", &[call.key, call.agent]),
                        count,
                        confidence: confidence(550, 50, count),
                        signature: named(&tool, '#', call.key),
                        message: format!(
                            "`{tool}` was called {count} times with the same arguments and never answered"
                        ),
                        instead: "Go on without this result, and say that the tool does not answer.",
                        recommendation: Recommendation::Escalate,
                        halt_reason: HaltReason::Stalled,
                    };
                    Signal { scale: if call.polling { 3 } else { 1 }, ..waiting.made.signal(told) }
                });
                state.waiting.push(waiting, CALLS);
                return signal;
            }
            Fact::Step(step, _) => state.answered(step.call.as_ref()),
            Fact::NotRun(call, _) => state.answered(*call),
            _ => {}
        }
        None
    }

    fn standing(state: &State) -> u32 {
        state.waiting.iter().map(|waiting| waiting.made.times).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.waiting.len() <= CALLS && state.waiting.iter().all(|waiting| waiting.made.fits())
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::Script;

    const RULE: &str = "unanswered-call";

    #[test]
    fn table() {
        Script::new("{}").play("a> a>").expect(RULE, &[]);
        Script::new("{}").play("a> a> a>").expect(RULE, &[(2, Nudge)]);
        Script::new("{}").play("a> a> a> a> a>").last(RULE, Block);
        Script::new("{}").play("a> a> a> a> a> a> a> a> a>").last(RULE, Halt);
        // Another call between changes nothing; an answer does, and so does a human's message.
        Script::new("{}").play("a> look/b:x a> look/c:x a>").last(RULE, Nudge);
        Script::new("{}").play("a> a:x a> a:x a>").expect(RULE, &[]);
        Script::new("{}").play("a> a%not-executed a> a>").expect(RULE, &[]);
        Script::new("{}").play("a> a> | a>").expect(RULE, &[]);
        Script::new("{}").play("a> b> c> d>").expect(RULE, &[]);
        Script::new(r#"{"tools":{"read":{"polling":true}}}"#).play("a> a> a> a>").expect(RULE, &[]);
    }
}
