//! Catches: nothing but failures, of whatever kind, for as many times as the host allows.
//! Must not catch: anything, unless `budgets.consecutiveErrors` is set; negative answers (a search that found
//! nothing has not failed).
//! Idea: the last safety check of every agent loop.
//!
//! External failures count, too. The document on failures keeps them from the counter of a *task's* loops, which asks
//! whether the agent works badly; this is the *run's* budget, which asks how much may fail before someone looks, and its
//! document says nothing about whose fault an error is. Who wants to wait for a service out sets a larger budget and follows
//! `external-failure`.

use crate::model::{Body, Event, HaltReason, Outcome, Recommendation};
use crate::rules::{Advice, Cx, Extra, Fact, Facts, Limits, Rule, Signal};
use crate::state::{Onset, Ring, Sighting};
use crate::text::{Key, key};
use alloc::{format, string::ToString};
use serde::{Deserialize, Serialize};

const EVIDENCE: usize = 5;

pub(crate) struct ConsecutiveErrors;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    count: u32,
    onset: Onset,
    sightings: Ring<Sighting>,
}

impl ConsecutiveErrors {
    fn failed(state: &mut State, key: Key, cx: &Cx<'_>) {
        if state.count == 0 {
            state.onset = cx.onset;
        }
        state.count = state.count.saturating_add(1);
        state.sightings.push(Sighting { key, ..cx.here }, EVIDENCE);
    }
}

impl Rule for ConsecutiveErrors {
    const ID: &'static str = "consecutive-errors";
    const ABOUT: &'static str = "Failures in a row, of whatever kind.";
    const UNIT: &'static str = "failures in a row";
    const LIMITS: Limits = Limits::ladder(0, 0, 0, 0);
    const SEES: Facts = Facts::REPORT.and(Facts::STEP).and(Facts::OUTPUT);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Step(step, _) if step.facts.class.is_some() => Self::failed(state, step.facts.light, cx),
            Fact::Event(Event { body: Body::Failure(failure), .. }) => {
                Self::failed(state, key("failure", failure.message.as_bytes()), cx);
            }
            Fact::Step(step, _) if step.outcome == Outcome::Ok && !step.facts.failed => *state = State::default(),
            Fact::Output { .. } => *state = State::default(),
            _ => return None,
        }
        if !cx.limits.reached(state.count, 1) {
            return None;
        }
        let message = format!("{} failures in a row", state.count);
        Some(Signal {
            kind: "budget",
            identity: key("rule", Self::ID.as_bytes()),
            count: state.count,
            scale: 1,
            period: None,
            onset: state.onset,
            sightings: state.sightings.iter().copied().collect(),
            confidence: 1000,
            signature: Self::ID.to_string(),
            advice: Advice {
                what: format!("The last {} results were all failures.", state.count).into(),
                instead: "Report what was tried and what each attempt answered.",
                recommendation: Recommendation::Escalate,
                halt_reason: HaltReason::RepeatedError,
            },
            ask: None,
            extra: Extra::default(),
            message,
        })
    }

    fn standing(state: &State) -> u32 {
        state.count
    }

    fn fits(state: &State) -> bool {
        state.sightings.len() <= EVIDENCE
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level;
    use crate::rules::testing::Script;

    #[test]
    fn table() {
        let limited = r#"{"budgets":{"consecutiveErrors":3},"rules":{"repeated-error":{"enabled":false}}}"#;
        Script::new(limited).play("a!x b!y c!z").expect("consecutive-errors", &[(5, Level::Halt)]);
        Script::new(limited).play("a!x b!y c:z d!x e!y").expect("consecutive-errors", &[]);
        Script::new(limited).play("a!x b!y | c!z").expect("consecutive-errors", &[]);
        Script::new("{}").play("a!x b!y c!z").expect("consecutive-errors", &[]);
        // Whoever is to blame: the agent, the service.
        Script::new(limited).play("+f:a +x:503 +f:b").expect("consecutive-errors", &[(2, Level::Halt)]);
        Script::new(limited).play("+x:503 +x:503 +x:429").expect("consecutive-errors", &[(2, Level::Halt)]);
        Script::new(limited).play("+x:503 +x:503 a:1 +x:503 +x:503").expect("consecutive-errors", &[]);
    }
}
