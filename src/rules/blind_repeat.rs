//! Catches: one call, byte for byte, a hundred times on end although its outcome keeps changing.
//! Must not catch: polling and stepping of any ordinary length.
//! Idea: a changed outcome is progress, but not without end.

use crate::model::{HaltReason, Recommendation};
use crate::rules::{Advice, Cx, Extra, Fact, Facts, Limits, Rule, Signal, repeated_call::signature};
use crate::state::{Onset, Ring, Sighting};
use crate::text::{Key, combine, printable};
use alloc::format;
use serde::{Deserialize, Serialize};

/// Agents watched at once, or tools of theirs.
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
    const SEES: Facts = Facts::CALL.and(Facts::STEP).and(Facts::CUSTOM);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let conventions = &cx.config.conventions;
        let (call, agent, here, onset) = match fact {
            Fact::Call(call, _) if conventions.blind_at_call => (*call, call.agent, cx.here, call.onset),
            Fact::Step(step, _) if !conventions.blind_at_call => {
                (step.call.as_ref()?, step.agent, step.sighting, step.onset)
            }
            // A lane of its own: what the host reports between two calls of the agent does not part them.
            Fact::Custom(step) => (step.call.as_ref()?, combine("custom", &[step.agent]), step.sighting, step.onset),
            _ => return None,
        };
        let agent = if conventions.blind_per_tool { combine("tool", &[agent, call.tool]) } else { agent };
        // What the host said does not make two calls differ does not.
        let same = if conventions.blind_at_call { call.key } else { call.raw };
        let known = state.agents.iter().position(|streak| streak.agent == agent);
        let mut streak = known
            .and_then(|index| state.agents.remove(index))
            .filter(|streak| streak.call == same)
            .unwrap_or_else(|| Streak { agent, call: same, times: 0, round: None, onset, sightings: Ring::default() });
        if streak.round.is_none() || streak.round != call.round {
            streak.times = streak.times.saturating_add(1);
            streak.round = call.round;
            streak.sightings.push(here, EVIDENCE);
        }
        let scale = if call.polling { 3 } else { 1 };
        let signal = cx.limits.reached(streak.times, scale).then(|| {
            let tool = printable(&call.name, 48);
            let custom = matches!(fact, Fact::Custom(_));
            let came = if conventions.blind_at_call { "" } else { "; its outcome keeps changing" };
            let times = streak.times;
            let message = if custom {
                format!("`{tool}` came {times} times in a row with the same key; its outcome keeps changing")
            } else {
                format!("`{tool}` was called {times} times in a row with the same arguments{came}")
            };
            Signal {
                kind: if conventions.blind_at_call { "same-call" } else { "changing-outcome" },
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
        // Calls that nothing answers, and streaks between other tools.
        let made = r#"{"conventions":{"blindAtCall":true},"rules":{"blind-repeat":{"nudge":3}}}"#;
        Script::new(made).play("?a ?a").expect("blind-repeat", &[]);
        Script::new(made).play("a:1 a:2 a:3").expect("blind-repeat", &[(4, Nudge)]);
        Script::new(made).play("a:1 a:2 b:1 a:3").expect("blind-repeat", &[]);
        let apart = r#"{"conventions":{"blindPerTool":true},"rules":{"blind-repeat":{"nudge":3}}}"#;
        Script::new(apart).play("a:1 a:2 b:1 a:3").expect("blind-repeat", &[]);
        Script::new(apart).play("a:1 a:2 other/q=1:1 a:3").expect("blind-repeat", &[(7, Nudge)]);
        let early = r#"{"rules":{"blind-repeat":{"nudge":3,"block":5}}}"#;
        Script::new(early).play("a:1 a:2 a:3").strongest("blind-repeat", Nudge);
    }
}
