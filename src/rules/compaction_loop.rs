//! Catches: a context that is compacted again right after it was compacted.
//! Must not catch: a long run that is compacted every now and then.
//! Idea: a compaction after three steps or fewer has made no room, and the next will make none either.

use crate::model::{HaltReason, HostKind, Recommendation};
use crate::rules::{Advice, Cx, Extra, Fact, Facts, Limits, Rule, Signal};
use crate::state::{Onset, Ring, Sighting};
use crate::text::key;
use alloc::{format, string::ToString};
use serde::{Deserialize, Serialize};

/// Steps between two compactions up to which the first has done nothing.
const STEPS: u64 = 3;
const EVIDENCE: usize = 5;

pub(crate) struct CompactionLoop;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    compactions: u32,
    /// Steps of the run at the latest one.
    steps: u64,
    onset: Onset,
    sightings: Ring<Sighting>,
}

impl Rule for CompactionLoop {
    const ID: &'static str = "compaction-loop";
    const ABOUT: &'static str = "The context compacted again at most three steps after it was compacted.";
    const UNIT: &'static str = "compactions";
    const LIMITS: Limits = Limits::ladder(3, 5, 8, 0);
    const SEES: Facts = Facts::HOST.and(Facts::SYNTHETIC);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        fact.host().filter(|host| host.kind == HostKind::Compaction)?;
        if state.compactions == 0 || cx.run.steps.saturating_sub(state.steps) > STEPS {
            *state = State { onset: cx.onset, ..State::default() };
        }
        state.steps = cx.run.steps;
        state.compactions = state.compactions.saturating_add(1);
        let identity = key("rule", Self::ID.as_bytes());
        state.sightings.push(Sighting { key: identity, ..cx.here }, EVIDENCE);
        let count = state.compactions;
        if !cx.limits.reached(count, 1) {
            return None;
        }
        let message = format!("The context was compacted {count} times with at most {STEPS} steps between");
        Some(Signal {
            kind: "no-room-made",
            identity,
            count,
            scale: 1,
            period: None,
            onset: state.onset,
            sightings: state.sightings.iter().copied().collect(),
            confidence: u16::try_from(700 + count.min(8) * 30).unwrap_or(1000),
            signature: Self::ID.to_string(),
            advice: Advice {
                what: format!("{message}.").into(),
                instead: "Find what fills the context, and read or load less of it at once.",
                recommendation: Recommendation::Escalate,
                halt_reason: HaltReason::Stalled,
            },
            ask: None,
            extra: Extra::default(),
            message,
        })
    }

    fn standing(state: &State) -> u32 {
        state.compactions
    }

    fn fits(state: &State) -> bool {
        state.sightings.len() <= EVIDENCE
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::events;
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "compaction-loop";
    const COMPACTION: &str = r#"{"type":"host","kind":"compaction"}"#;

    fn with_steps(compactions: usize, steps: usize) -> Vec<String> {
        let step = |n: usize| {
            let call = format!(r#"{{"type":"tool-call","tool":"read","args":{{"path":"{n}"}}}}"#);
            let result = format!(r#"{{"type":"tool-result","tool":"read","outcome":"ok","output":"{n}"}}"#);
            [call, result]
        };
        (0..compactions)
            .flat_map(|n| [COMPACTION.into()].into_iter().chain((0..steps).flat_map(move |m| step(n * 100 + m))))
            .collect()
    }

    #[test]
    fn every_rung_is_reached() {
        for steps in [0, 1, 3] {
            for (times, level) in [(3, Nudge), (5, Block), (8, Halt)] {
                events("{}", with_steps(times, steps)).strongest(RULE, level);
            }
            events("{}", with_steps(2, steps)).expect(RULE, &[]);
        }
    }

    #[test]
    fn work_between_makes_it_ordinary() {
        events("{}", with_steps(20, 4)).expect(RULE, &[]);
        let mut late = with_steps(2, 3);
        late.extend(with_steps(1, 4));
        late.extend(with_steps(2, 3));
        events("{}", late).expect(RULE, &[(14, Nudge)]);
    }
}
