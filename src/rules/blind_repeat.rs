//! Catches: one call, byte for byte, a hundred times on end although its outcome keeps changing.
//! Must not catch: polling and stepping of any ordinary length.
//! Idea: a changed outcome is progress, but not without end.

use crate::model::{HaltReason, Recommendation};
use crate::rules::{Advice, Cx, Extra, Fact, Facts, Limits, Rule, Signal, repeated_call::signature};
use crate::state::{Onset, Ring, Sighting};
use crate::text::{Key, combine, printable};
use alloc::format;
use serde::{Deserialize, Serialize};

/// Agents watched at once.
const AGENTS: usize = 8;
const EVIDENCE: usize = 5;

pub(crate) struct BlindRepeat;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    agents: Ring<Streak>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Streak {
    agent: Key,
    call: Key,
    times: u32,
    round: Option<Key>,
    onset: Onset,
    sightings: Ring<Sighting>,
}

impl Rule for BlindRepeat {
    const ID: &'static str = "blind-repeat";
    const ABOUT: &'static str = "One call, byte for byte, on end, whatever its outcome.";
    const UNIT: &'static str = "calls in a row";
    const LIMITS: Limits = Limits::ladder(100, 0, 0, 0);
    const SEES: Facts = Facts::STEP;
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Step(step, _) = fact else { return None };
        let call = step.call.as_ref()?;
        let known = state.agents.iter().position(|streak| streak.agent == step.agent);
        let mut streak = known
            .and_then(|index| state.agents.remove(index))
            .filter(|streak| streak.call == call.raw)
            .unwrap_or_else(|| Streak {
                agent: step.agent,
                call: call.raw,
                times: 0,
                round: None,
                onset: step.onset,
                sightings: Ring::default(),
            });
        if streak.round.is_none() || streak.round != call.round {
            streak.times = streak.times.saturating_add(1);
            streak.round = call.round;
            streak.sightings.push(step.sighting, EVIDENCE);
        }
        let scale = if call.polling { 3 } else { 1 };
        let signal = cx.limits.reached(streak.times, scale).then(|| {
            let tool = printable(&call.name, 48);
            let message = format!(
                "`{tool}` was called {} times in a row with the same arguments; its outcome keeps changing",
                streak.times
            );
            Signal {
                kind: "changing-outcome",
                identity: combine("blind-repeat", &[streak.call, streak.agent]),
                count: streak.times,
                scale,
                period: None,
                onset: streak.onset,
                sightings: streak.sightings.iter().copied().collect(),
                confidence: 600,
                signature: signature(&tool, call.key),
                advice: Advice {
                    what: format!("{message}.").into(),
                    instead: "Say what outcome is being waited for, and wait longer between two calls or stop waiting.",
                    recommendation: Recommendation::ChangeApproach,
                    halt_reason: HaltReason::Stalled,
                },
                ask: None,
                extra: Extra::default(),
                message,
            }
        });
        state.agents.push(streak, AGENTS);
        signal
    }

    fn standing(state: &State) -> u32 {
        state.agents.iter().map(|streak| streak.times).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.agents.len() <= AGENTS && state.agents.iter().all(|streak| streak.sightings.len() <= EVIDENCE)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::Script;
    use alloc::{format, string::String};

    #[test]
    fn table() {
        let changing: String = (0..100).map(|n| format!("a:v{n}v ")).collect();
        Script::new("{}").play(&changing).expect("blind-repeat", &[(199, Nudge)]);
        let interrupted = changing.replacen("a:v50v", "b:v50v", 1);
        Script::new("{}").play(&interrupted).expect("blind-repeat", &[]);
        let polled = r#"{"tools":{"read":{"polling":true}}}"#;
        Script::new(polled).play(&changing).expect("blind-repeat", &[]);
        let early = r#"{"rules":{"blind-repeat":{"nudge":3,"block":5}}}"#;
        Script::new(early).play("a:1 a:2 a:3").strongest("blind-repeat", Nudge);
    }
}
