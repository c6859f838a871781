//! Catches: a run that has gone on for longer than it was given, in event time.
//! Must not catch: anything, unless `budgets.maxRuntimeMs` is set; events without a time.
//! Idea: the second safety check of every agent loop.

use crate::model::{HaltReason, Recommendation};
use crate::rules::{Advice, Cx, Extra, Fact, Facts, Limits, Rule, Signal};
use crate::text::key;
use alloc::{format, string::ToString, vec};

pub(crate) struct MaxRuntime;

impl Rule for MaxRuntime {
    const ID: &'static str = "max-runtime";
    const ABOUT: &'static str = "The run has gone on for longer than it was given.";
    const UNIT: &'static str = "milliseconds";
    const LIMITS: Limits = Limits::ladder(0, 0, 0, 0);
    const OUTLIVES_EVIDENCE: bool = true;
    /// Milliseconds seen, for `standing`.
    const SEES: Facts = Facts::TICK;
    type State = u32;

    fn observe(state: &mut u32, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Tick = fact else { return None };
        let elapsed = cx.run.now?.saturating_sub(cx.run.started?).max(0);
        *state = u32::try_from(elapsed).unwrap_or(u32::MAX);
        let count = *state;
        if !cx.limits.reached(count, 1) {
            return None;
        }
        let message = format!("The run has gone on for {} s", count / 1000);
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
        let limited = r#"{"budgets":{"maxRuntimeMs":60000}}"#;
        // Every call and result takes a second of event time.
        Script::new(limited).play("a:x @50 b:y @6 c:z").expect("max-runtime", &[(4, Level::Halt), (5, Level::Halt)]);
        Script::new(limited).play("a:x @50 b:y c:z").expect("max-runtime", &[]);
        // A clock that jumps back does not end the run, and does not give time back either.
        Script::new(limited).play("a:x @-500 b:y @30 c:z").expect("max-runtime", &[]);
        Script::new(limited)
            .play("a:x @70 b:y @-70 c:z")
            .expect("max-runtime", &[(2, Level::Halt), (3, Level::Halt), (4, Level::Halt), (5, Level::Halt)]);
    }
}
