//! Catches: a run that has used up the iterations it was given.
//! Must not catch: anything, unless `budgets.maxIterations` is set.
//! Idea: the first safety check of every agent loop.

use crate::model::{HaltReason, Recommendation};
use crate::rules::{Advice, Cx, Extra, Fact, Facts, Limits, Rule, Signal};
use crate::text::key;
use alloc::{format, string::ToString, vec};

pub(crate) struct MaxIterations;

impl Rule for MaxIterations {
    const ID: &'static str = "max-iterations";
    const ABOUT: &'static str = "The run has used up its iterations.";
    const UNIT: &'static str = "iterations";
    const LIMITS: Limits = Limits::ladder(0, 0, 0, 0);
    const OUTLIVES_EVIDENCE: bool = true;
    /// Iterations seen, for `standing`.
    const SEES: Facts = Facts::TICK;
    type State = u32;

    fn observe(state: &mut u32, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Tick = fact else { return None };
        *state = cx.run.iterations;
        let count = *state;
        if !cx.limits.reached(count, 1) {
            return None;
        }
        let message = format!("The run has used {count} iterations");
        Some(Signal {
            kind: "budget",
            identity: key("rule", Self::ID.as_bytes()),
            count,
            scale: 1,
            period: None,
            onset: crate::state::Onset { at: cx.run.started.into(), ..Default::default() },
            sightings: vec![cx.here],
            confidence: 1000,
            signature: Self::ID.to_string(),
            advice: Advice {
                what: format!("{message}, which is all it was given.").into(),
                instead: "Report what is finished and what is not.",
                recommendation: Recommendation::Escalate,
                halt_reason: HaltReason::BudgetExceeded,
            },
            ask: None,
            extra: Extra::default(),
            message,
        })
    }

    fn standing(state: &u32) -> u32 {
        *state
    }

    fn fits(_: &u32) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level;
    use crate::rules::testing::Script;

    #[test]
    fn table() {
        let limited = r#"{"budgets":{"maxIterations":3}}"#;
        Script::new(limited).play("o:a o:b o:c o:d").expect("max-iterations", &[(2, Level::Halt), (3, Level::Halt)]);
        // Calls alone are no iterations, rounds are; a user's message does not give a fresh budget.
        Script::new(limited).play("a:x b:y c:z d:w").expect("max-iterations", &[]);
        Script::new(limited).play("o:a o:b | o:c").expect("max-iterations", &[(3, Level::Halt)]);
        Script::new("{}").play("o:a o:b o:c o:d o:e").expect("max-iterations", &[]);
    }
}
