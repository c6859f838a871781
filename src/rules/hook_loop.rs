//! Catches: a hook that will not let the agent stop, and an agent that can do nothing about it.
//! Must not catch: a hook that refuses, and an agent that then works on.
//! Idea: between two refusals something has to come back from a tool, or the third will be like the first.

use crate::model::{HaltReason, HostKind, Outcome, Recommendation};
use crate::rules::phases::is_about_phases;
use crate::rules::{Advice, Cx, Extra, Fact, Facts, Limits, Rule, Signal};
use crate::state::{Onset, Ring, Sighting};
use crate::text::{key, printable};
use alloc::format;
use serde::{Deserialize, Serialize};

const EVIDENCE: usize = 5;

pub(crate) struct HookLoop;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    blocks: u32,
    onset: Onset,
    sightings: Ring<Sighting>,
}

impl Rule for HookLoop {
    const ID: &'static str = "hook-loop";
    const ABOUT: &'static str = "Hooks refusing again and again without a result between.";
    const UNIT: &'static str = "refusals";
    const LIMITS: Limits = Limits::ladder(3, 6, 12, 0);
    const SEES: Facts = Facts::STEP.and(Facts::HOST).and(Facts::SYNTHETIC);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        // What a hook refused has not been done.
        if let Fact::Step(step, _) = fact
            && step.outcome != Outcome::Denied
        {
            *state = State::default();
        }
        let host = fact.host().filter(|host| host.kind == HostKind::HookBlock)?;
        // That a refusal of a transition was obeyed is told in the same way, and is no hook's.
        if host.name.as_deref().is_some_and(is_about_phases) {
            return None;
        }
        if state.blocks == 0 {
            state.onset = cx.onset;
        }
        state.blocks = state.blocks.saturating_add(1);
        let identity = key("rule", Self::ID.as_bytes());
        state.sightings.push(Sighting { key: identity, ..cx.here }, EVIDENCE);
        let count = state.blocks;
        if !cx.limits.reached(count, 1) {
            return None;
        }
        let hook = printable(host.name.as_deref().unwrap_or_default(), 48);
        let named = if hook.is_empty() { "Hooks".into() } else { format!("The hook `{hook}`") };
        let message = format!("{named} refused {count} times without anything being done in between");
        Some(Signal {
            kind: "refused-again",
            identity,
            count,
            scale: 1,
            period: None,
            onset: state.onset,
            sightings: state.sightings.iter().copied().collect(),
            confidence: u16::try_from(700 + count.min(12) * 20).unwrap_or(1000),
            signature: format!("hook:{hook}"),
            advice: Advice {
                what: format!("{message}.").into(),
                instead: "Say what the hook asks for and what keeps it from being done, and ask for help with that.",
                recommendation: Recommendation::Escalate,
                halt_reason: HaltReason::Stalled,
            },
            ask: None,
            extra: Extra::default(),
            message,
        })
    }

    fn standing(state: &State) -> u32 {
        state.blocks
    }

    fn fits(state: &State) -> bool {
        state.sightings.len() <= EVIDENCE
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::{events, says};
    use core::iter::repeat_n;

    const RULE: &str = "hook-loop";
    const REFUSAL: &str = r#"{"type":"host","kind":"hook-block","name":"Stop"}"#;

    #[test]
    fn every_rung_is_reached() {
        for (times, level) in [(3, Nudge), (6, Block), (12, Halt)] {
            events("{}", repeat_n(REFUSAL, times)).last(RULE, level);
        }
        events("{}", repeat_n(REFUSAL, 2)).expect(RULE, &[]);
    }

    #[test]
    fn only_work_ends_it() {
        let call = r#"{"type":"tool-call","tool":"read"}"#;
        let denied = r#"{"type":"tool-result","tool":"read","outcome":"denied","output":""}"#;
        let done = r#"{"type":"tool-result","tool":"read","outcome":"ok","output":"x"}"#;
        events("{}", [REFUSAL, &says("All is done."), REFUSAL, call, denied, REFUSAL]).last(RULE, Nudge);
        events("{}", [REFUSAL, REFUSAL, call, done, REFUSAL, REFUSAL]).expect(RULE, &[]);
        events("{}", repeat_n([REFUSAL, call, done], 20).flatten()).expect(RULE, &[]);
    }
}
