//! Catches: iterations whose whole outputs say the same thing three times on end.
//! Must not catch: different actions on the same file, falling numbers of failing tests, one retry.
//! Idea: the seed document on loop detection by output signatures: window 5, threshold 3, consecutive at the end of
//! the window, then a gate with three options.

use crate::model::{HaltReason, Recommendation};
use crate::rules::{Advice, Cx, Extra, Fact, Facts, Limits, Rule, Signal};
use crate::state::{Onset, Ring, Sighting};
use crate::text::{Key, key};
use alloc::{format, string::String, string::ToString, vec::Vec};
use serde::{Deserialize, Serialize};

const MAX_WINDOW: u32 = 32;
/// Characters of an output's first line kept for the report.
pub(crate) const LINE: usize = 80;

pub(crate) struct OutputSignature;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    window: Ring<Iteration>,
    /// Iterations so far, for their numbers in the report.
    iterations: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Iteration {
    number: u64,
    signature: Key,
    line: String,
    sighting: Sighting,
    onset: Onset,
}

impl State {
    /// The newest iterations with the same signature, newest first.
    fn streak(&self) -> impl Iterator<Item = &Iteration> {
        let newest = self.window.last().map(|iteration| iteration.signature);
        self.window.iter().rev().take_while(move |iteration| Some(iteration.signature) == newest)
    }
}

impl Rule for OutputSignature {
    const ID: &'static str = "output-signature";
    const ABOUT: &'static str = "Iterations whose whole outputs boil down to the same action or error.";
    const UNIT: &'static str = "outputs in a row";
    const LIMITS: Limits = Limits { enabled: true, nudge: 0, block: 0, gate: 3, halt: 0, window: 5 };
    const MAX_WINDOW: u32 = MAX_WINDOW;
    const SEES: Facts = Facts::OUTPUT;
    type State = State;

    fn reach(window: u32) -> u32 {
        window
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Output { signature, line, .. } = fact else { return None };
        state.iterations = state.iterations.saturating_add(1);
        let identity = key("signature", signature.as_bytes());
        let iteration = Iteration {
            number: state.iterations,
            signature: identity,
            line: line.chars().take(LINE).collect(),
            sighting: Sighting { key: identity, ..cx.here },
            onset: cx.onset,
        };
        state.window.push(iteration, cx.limits.window as usize);
        let count = Self::standing(state);
        if !cx.limits.reached(count, 1) {
            return None;
        }
        let mut sightings: Vec<Sighting> = state.streak().map(|iteration| iteration.sighting).collect();
        sightings.reverse();
        let message = format!("Same output signature repeated {count} times");
        Some(Signal {
            kind: "unchanged-signature",
            identity,
            count,
            scale: 1,
            period: None,
            onset: state.streak().last().map(|iteration| iteration.onset)?,
            sightings,
            confidence: u16::try_from(750 + count.min(5) * 40).unwrap_or(1000),
            signature: (*signature).to_string(),
            advice: Advice {
                what: format!("The last {count} outputs all came down to the same action or error.").into(),
                instead: "Name the assumption that all of them share, and test that assumption first.",
                recommendation: Recommendation::Escalate,
                halt_reason: HaltReason::Stalled,
            },
            ask: None,
            extra: Extra::default(),
            message,
        })
    }

    fn standing(state: &State) -> u32 {
        u32::try_from(state.streak().count()).unwrap_or(u32::MAX)
    }

    fn fits(state: &State) -> bool {
        state.window.len() <= MAX_WINDOW as usize
            && state.window.iter().all(|iteration| iteration.line.len() <= LINE * 4)
    }

    fn story(state: &State) -> Vec<String> {
        let mut lines: Vec<String> =
            state.streak().map(|iteration| format!("Iteration {}: {}", iteration.number, iteration.line)).collect();
        lines.reverse();
        lines
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Gate;
    use crate::rules::testing::Script;

    const RULE: &str = "output-signature";

    #[test]
    fn table() {
        // The window table of the document: two in a row of three do not do.
        Script::new("{}").play("o:a o:b o:a o:a").expect(RULE, &[]);
        Script::new("{}").play("o:a o:b o:a o:a o:a").expect(RULE, &[(4, Gate)]);
        Script::new("{}").play("o:a o:b o:a o:b o:a o:b").expect(RULE, &[]);
        Script::new("{}").play("o:a o:a | o:a").expect(RULE, &[]);
        let five = r#"{"rules":{"output-signature":{"gate":5}}}"#;
        Script::new(five).play("o:a o:a o:a o:a").expect(RULE, &[]);
        Script::new(five).play("o:a o:a o:a o:a o:a").expect(RULE, &[(4, Gate)]);
    }

    #[test]
    fn nobody_attends() {
        let unattended = r#"{"attended":false}"#;
        Script::new(unattended).play("o:a o:a o:a").last(RULE, crate::model::Level::Halt);
    }
}
