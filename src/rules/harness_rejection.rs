//! Catches: calls that the harness rejects again and again for the same reason, so that nothing runs; also such
//! rejections spread over the run, if the agent always reacts in the same words.
//! Must not catch: a single slip; slips far apart that the agent answers differently. Never more than a nudge, because
//! runs mostly recover by themselves.
//! Idea: the commands were not executed, so the agent's loop is not in what it repeats but in how it writes calls. A
//! stock apology does not change the habit, and if every second call is rejected it stands for each of those.

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, confidence};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, SignalParts};
use crate::state::{Onset, Ring, agent_of};
use crate::text::{Goal, Key, combine, head, mistake};
use crate::tuned;
use alloc::format;

/// Maximum number of agents followed at once.
const AGENTS: usize = 8;
/// Reactions kept to compare with.
const REACTIONS: usize = 4;
/// Bytes of a message that count as the reaction.
const REACTION: usize = 300;

pub(crate) struct HarnessRejection;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    agents: Ring<Agent>,
}
codec!(struct State { agents });

#[derive(Clone, Debug)]
struct Agent {
    agent: Key,
    reason: Key,
    rejections: Streak,
    /// Its reactions to rejections over the whole run.
    habit: Habit,
}
codec!(struct Agent { agent, reason, rejections, habit });

/// How an agent reacts to rejections; while `turned_away` is set, its next message is the reaction to the latest.
#[derive(Clone, Debug, Default)]
struct Habit {
    turned_away: bool,
    reactions: Ring<Goal>,
    /// Reactions in words that were used before.
    stock: Streak,
    /// The points of all stock reactions together.
    points: u32,
    /// A bit for each of the latest calls, the newest lowest: whether it was rejected.
    lately: u32,
}
codec!(struct Habit { turned_away, reactions, stock, points, lately });

impl Habit {
    /// Takes in the reaction; returns whether its words were used before.
    fn reacts(&mut self, text: &str, cx: &Cx<'_>) -> bool {
        if !core::mem::take(&mut self.turned_away) {
            return false;
        }
        let text = head(text, REACTION);
        let reaction = Goal::of(text);
        let stock = reaction.weight() > 0
            && self.reactions.iter().any(|before| reaction.kinship(before).within >= tuned::REACTION_ALIKE.get());
        self.reactions.push(reaction, REACTIONS);
        if stock {
            self.stock.add(cx.here, cx.onset);
            // If most calls are rejected, the words stand for all of those.
            let among = tuned::REJECTED_AMONG.get().min(u32::BITS - 1);
            let away = (self.lately & ((1 << among) - 1)).count_ones();
            self.points = self.points.saturating_add(if away * 2 >= among { away.max(1) } else { 1 });
        }
        stock
    }
}

impl Agent {
    fn is_turned_away(&mut self, reason: Key, onset: Onset, cx: &Cx<'_>) -> Option<Signal> {
        if core::mem::replace(&mut self.reason, reason) != reason {
            self.rejections.clear();
        }
        self.habit.turned_away = true;
        self.habit.lately = self.habit.lately << 1 | 1;
        self.rejections.add(cx.here, onset);
        let count = self.rejections.times;
        cx.limits.reached(count).then(|| {
            self.rejections.signal(SignalParts {
                kind: "same-reason",
                identity: combine("harness-rejection", &[self.agent, reason]),
                count,
                confidence: confidence(500, 50, count),
                signature: cx.named("harness", '!', reason),
                message: format!("{count} calls in a row were rejected before they ran, for the same reason"),
                instead: "Change the form as the rejection describes, before the content.",
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::RepeatedError,
            })
        })
    }

    fn reacts(&mut self, text: &str, cx: &Cx<'_>) -> Option<Signal> {
        if !self.habit.reacts(text, cx) {
            return None;
        }
        let (count, times) = (self.habit.points, self.habit.stock.times);
        cx.limits.reached(count).then(|| {
            self.habit.stock.signal(SignalParts {
                kind: "same-reaction",
                identity: combine("harness-rejection", &[self.agent, combine("habit", &[self.reason])]),
                count,
                confidence: confidence(450, 50, count),
                signature: cx.named("harness", '~', self.reason),
                message: format!("calls were rejected before they ran, and {times} times the reaction was one that had not helped before"),
                instead: "Write down the rule that the rejection states, and check the next call against it.",
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::RepeatedError,
            })
        })
    }
}

impl Rule for HarnessRejection {
    const ID: &'static str = "harness-rejection";
    const ABOUT: &'static str = "The harness rejecting calls before they run, for the same reason each time.";
    const UNIT: &'static str = "rejections";
    const LIMITS: Limits = Limits::ladder(4, 0, 0, 0);
    const SEES: Facts = Facts::STEP.and(Facts::NOT_RUN).and(Facts::MESSAGE);
    type State = State;

    #[inline]
    fn heeds(state: &State, fact: &Fact<'_>, _: &Cx<'_>) -> bool {
        state.agents.len() > 0 || !matches!(fact, Fact::Step(..))
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Step(step, _) => {
                // An executed call ends a row of rejections, but not a habit.
                for known in state.agents.iter_mut().filter(|known| known.agent == step.agent) {
                    known.rejections.clear();
                    known.habit.lately <<= 1;
                }
                None
            }
            Fact::Event(event) => {
                let (_, message) = fact.agent_message()?;
                let speaker = agent_of(&event.context);
                state.agents.iter_mut().find(|known| known.agent == speaker)?.reacts(&message.text, cx)
            }
            // What a verdict refused was not rejected for how it was written.
            Fact::NotRun(Some(call), _) if call.vetoed => None,
            Fact::NotRun(call, Some(result)) if !result.output.trim().is_empty() => {
                let reason = mistake(&result.output, cx.salt);
                let agent = call.map_or(0, |call| call.agent);
                let new = || Agent { agent, reason, rejections: Streak::default(), habit: Habit::default() };
                let known = state.agents.renew(AGENTS, |known| known.agent == agent, new)?;
                known.is_turned_away(reason, call.map_or(cx.onset, |call| call.onset), cx)
            }
            _ => None,
        }
    }

    fn standing(state: &State) -> u32 {
        let most = |agent: &Agent| agent.rejections.times.max(agent.habit.points);
        state.agents.iter().map(most).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.agents.len() <= AGENTS
            && state.agents.iter().all(|agent| {
                let Habit { reactions, .. } = &agent.habit;
                reactions.len() <= REACTIONS && reactions.iter().all(Goal::fits)
            })
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
        // Calls that a verdict refused are not rejected by the harness.
        let refused = ["a!x ".repeat(7), "a~ ".repeat(9)].concat();
        Script::new("{}").play(&refused).expect(RULE, &[]);
        let many = "a%not-executed ".repeat(20);
        Script::new("{}").play(&many).strongest(RULE, Nudge);
    }
}
