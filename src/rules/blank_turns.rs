//! Catches: a model that answers with nothing, again and again.
//! Must not catch: the blank text that comes with a call; a single empty answer that a retry mends.
//! Idea: hosts retry an empty answer, and nobody counts the retries.

use crate::model::{Body, Channel, HaltReason, Recommendation};
use crate::rules::{Advice, Cx, Extra, Fact, Facts, Limits, Rule, Signal};
use crate::state::{Onset, Ring, Sighting, agent};
use crate::text::{Key, combine, key};
use alloc::{format, string::ToString};
use serde::{Deserialize, Serialize};

/// Agents watched at once.
const AGENTS: usize = 8;
const EVIDENCE: usize = 5;

pub(crate) struct BlankTurns;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    agents: Ring<Silence>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Silence {
    agent: Key,
    turns: u32,
    onset: Onset,
    sightings: Ring<Sighting>,
}

impl State {
    fn take(&mut self, agent: Key) -> Option<Silence> {
        let known = self.agents.iter().position(|silence| silence.agent == agent);
        known.and_then(|index| self.agents.remove(index))
    }
}

impl Rule for BlankTurns {
    const ID: &'static str = "blank-turns";
    const ABOUT: &'static str = "Answers without text and without a call, in a row.";
    const UNIT: &'static str = "turns in a row";
    const LIMITS: Limits = Limits::ladder(3, 5, 9, 0);
    const SEES: Facts = Facts::CALL.and(Facts::STEP).and(Facts::MESSAGE).and(Facts::DELTA);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let (agent, channel, text) = match fact {
            Fact::Call(call, _) => {
                state.take(call.agent);
                return None;
            }
            Fact::Step(step, _) => {
                state.take(step.agent);
                return None;
            }
            Fact::Event(event) => match &event.body {
                Body::Delta(delta) => (agent(&event.context), delta.channel, &delta.text),
                _ => {
                    let (event, message) = fact.spoken()?;
                    (agent(&event.context), message.channel, &message.text)
                }
            },
            _ => return None,
        };
        // Thoughts are no answer.
        if channel.unwrap_or_default() == Channel::Reasoning {
            return None;
        }
        if !text.trim().is_empty() {
            state.take(agent);
            return None;
        }
        fact.spoken()?;
        let mut silence = state.take(agent).unwrap_or_else(|| Silence {
            agent,
            turns: 0,
            onset: cx.onset,
            sightings: Ring::default(),
        });
        silence.turns = silence.turns.saturating_add(1);
        let identity = combine("blank-turns", &[agent, key("onset", &silence.onset.seq.to_le_bytes())]);
        silence.sightings.push(Sighting { key: key("rule", Self::ID.as_bytes()), ..cx.here }, EVIDENCE);
        let count = silence.turns;
        let signal = cx.limits.reached(count, 1).then(|| {
            let message = format!("{count} answers in a row were blank and called nothing");
            Signal {
                kind: "blank",
                identity,
                count,
                scale: 1,
                period: None,
                onset: silence.onset,
                sightings: silence.sightings.iter().copied().collect(),
                confidence: u16::try_from(750 + count.min(9) * 25).unwrap_or(1000),
                signature: Self::ID.to_string(),
                advice: Advice {
                    what: format!("{message}.").into(),
                    instead: "Shorten the context or ask again in other words; another model may answer.",
                    recommendation: Recommendation::RetryWithNewProvider,
                    halt_reason: HaltReason::Stalled,
                },
                ask: None,
                extra: Extra::default(),
                message,
            }
        });
        state.agents.push(silence, AGENTS);
        signal
    }

    fn standing(state: &State) -> u32 {
        state.agents.iter().map(|silence| silence.turns).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.agents.len() <= AGENTS && state.agents.iter().all(|silence| silence.sightings.len() <= EVIDENCE)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::{delta, events, says};
    use core::iter::repeat_n;

    const RULE: &str = "blank-turns";

    #[test]
    fn every_rung_is_reached() {
        for (times, level) in [(3, Nudge), (5, Block), (9, Halt)] {
            events("{}", repeat_n(says(" \n"), times)).last(RULE, level);
        }
        events("{}", repeat_n(says(""), 2)).expect(RULE, &[]);
    }

    #[test]
    fn an_answer_or_a_call_ends_it() {
        let blank = says("");
        let call = r#"{"type":"tool-call","tool":"read"}"#;
        for end in [call, &says("Here it is."), &delta("Here"), r#"{"type":"message","role":"user","text":"hello?"}"#] {
            events("{}", [&blank, &blank, end, &blank, &blank]).expect(RULE, &[]);
        }
        let retry = r#"{"type":"failure","source":"host","message":"empty answer, retrying"}"#;
        let thought = r#"{"type":"message","role":"assistant","channel":"reasoning","text":"hm"}"#;
        for other in [retry, thought, &delta(""), &blank.replacen('{', r#"{"agent":"b","#, 1)] {
            events("{}", [&blank, other, &blank, &blank]).last(RULE, Nudge);
        }
        events("{}", repeat_n([blank.as_str(), call], 20).flatten()).expect(RULE, &[]);
    }
}
