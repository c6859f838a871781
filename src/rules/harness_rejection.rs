//! Catches: answers that the harness turns away for the same reason again and again, so that nothing runs.
//! Must not catch: one such slip; and never more than a nudge, because runs mostly recover by themselves.
//! Idea: the commands were not executed, so repeating them is not the agent's loop; how it writes them is.

use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, Told, confidence, named};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal};
use crate::state::Ring;
use crate::text::{Key, combine, mistake};
use alloc::format;
use serde::{Deserialize, Serialize};

/// Agents watched at once.
const AGENTS: usize = 8;

pub(crate) struct HarnessRejection;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    agents: Ring<Agent>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Agent {
    agent: Key,
    reason: Key,
    rejections: Streak,
}

impl Rule for HarnessRejection {
    const ID: &'static str = "harness-rejection";
    const ABOUT: &'static str = "The harness turning calls away unrun, for the same reason each time.";
    const UNIT: &'static str = "rejections in a row";
    const LIMITS: Limits = Limits::ladder(4, 0, 0, 0);
    const SEES: Facts = Facts::STEP.and(Facts::NOT_RUN);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Step(step, _) => {
                state.agents.retain(|known| known.agent != step.agent);
                None
            }
            Fact::NotRun(call, Some(result)) if !result.output.trim().is_empty() => {
                let reason = mistake(&result.output);
                let agent = call.map_or(0, |call| call.agent);
                let mut known = state
                    .agents
                    .take(|known| known.agent == agent)
                    .filter(|known| known.reason == reason)
                    .unwrap_or_else(|| Agent { agent, reason, rejections: Streak::default() });
                known.rejections.add(cx.here, call.map_or(cx.onset, |call| call.onset));
                let count = known.rejections.times;
                let signal = cx.limits.reached(count, 1).then(|| {
                    known.rejections.signal(Told {
                        kind: "same-reason",
                        identity: combine("harness-rejection", &[agent, reason]),
                        count,
                        confidence: confidence(500, 50, count),
                        signature: named("harness", '!', reason),
                        message: format!("{count} calls in a row were turned away before they ran, for the same reason"),
                        instead: "Compare the last answer with the format that the rejection describes, and change the form before the content.",
                        recommendation: Recommendation::ChangeApproach,
                        halt_reason: HaltReason::RepeatedError,
                    })
                });
                state.agents.push(known, AGENTS);
                signal
            }
            _ => None,
        }
    }

    fn standing(state: &State) -> u32 {
        state.agents.iter().map(|agent| agent.rejections.times).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.agents.len() <= AGENTS && state.agents.iter().all(|agent| agent.rejections.fits())
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::Script;

    const RULE: &str = "harness-rejection";

    #[test]
    fn table() {
        Script::new("{}").play("a%not-executed b%not-executed c%not-executed").expect(RULE, &[]);
        Script::new("{}")
            .play("a%not-executed b%not-executed c%not-executed d%not-executed")
            .expect(RULE, &[(7, Nudge)]);
        Script::new("{}").play("a%not-executed b%not-executed c:x c%not-executed d%not-executed").expect(RULE, &[]);
        Script::new("{}").play("a%not-executed b%not-executed | c%not-executed d%not-executed").expect(RULE, &[]);
        let many = "a%not-executed ".repeat(20);
        Script::new("{}").play(&many).strongest(RULE, Nudge);
    }
}
