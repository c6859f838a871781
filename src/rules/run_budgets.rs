//! The budgets of a run as a whole: iterations and event time. A rule is a row; nothing is found unless its budget is
//! set.

use crate::model::{HaltReason, Recommendation};
use crate::rules::{Budget, Cx, Fact, Facts, Limits, Rule, RunView, Signal, SignalParts};
use crate::state::Onset;
use crate::text::key;
use alloc::{format, string::String, vec};
use smol_str::SmolStr;

struct Row {
    id: &'static str,
    about: &'static str,
    unit: &'static str,
    budget: Budget,
    used: fn(&RunView) -> Option<u32>,
    says: fn(u32) -> String,
}

/// Catches: a run that has used up its iterations.
/// Must not catch: anything, unless `budgets.maxIterations` is set.
/// Idea: the first safety check of every agent loop.
const ITERATIONS: Row = Row {
    id: "max-iterations",
    about: "The run has used up its iterations.",
    unit: "iterations",
    budget: Budget { field: "maxIterations", of: |budgets| budgets.max_iterations.into() },
    used: |run| Some(run.iterations),
    says: |used| format!("The run has used {used} iterations"),
};

/// Catches: a run that has taken longer than allowed, in event time.
/// Must not catch: anything, unless `budgets.maxRuntimeMs` is set; events without a timestamp.
/// Idea: the second safety check of every agent loop.
const RUNTIME: Row = Row {
    id: "max-runtime",
    about: "The run has lasted longer than its budget allows.",
    unit: "milliseconds",
    budget: Budget { field: "maxRuntimeMs", of: |budgets| budgets.max_runtime_ms },
    used: |run| {
        let elapsed = run.now?.saturating_sub(run.started?).max(0);
        Some(u32::try_from(elapsed).unwrap_or(u32::MAX))
    },
    says: |used| format!("The run has lasted {} s", used / 1000),
};

impl Row {
    /// Records how much has been used, and returns whether that reaches a threshold.
    fn counts(&self, state: &mut u32, run: &RunView, limits: &Limits) -> bool {
        (self.used)(run).is_some_and(|used| {
            *state = used;
            limits.reached(used)
        })
    }

    fn observe(&self, state: &mut u32, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Tick = fact else { return None };
        if !self.counts(state, &cx.run, cx.limits) {
            return None;
        }
        let message = (self.says)(*state);
        let is_last = cx.limits.halt != 0 && *state >= cx.limits.halt;
        let what = format!("{message}{}.", if is_last { ", its whole budget" } else { "" });
        let told = SignalParts {
            kind: "budget",
            identity: key("rule", self.id.as_bytes()),
            count: *state,
            confidence: 1000,
            signature: SmolStr::new_static(self.id),
            message,
            instead: "Report what is finished and what is not.",
            recommendation: Recommendation::Escalate,
            halt_reason: HaltReason::BudgetExceeded,
        };
        let onset = Onset { at: cx.run.started.into(), ..Onset::default() };
        Some(told.signal(onset, vec![cx.here]).what(what))
    }
}

macro_rules! rows {
    ($($name:ident = $row:ident),*) => {$(
        pub(crate) struct $name;

        impl Rule for $name {
            const ID: &'static str = $row.id;
            const ABOUT: &'static str = $row.about;
            const UNIT: &'static str = $row.unit;
            const LIMITS: Limits = Limits::configured();
            const OUTLIVES_EVIDENCE: bool = true;
            const SEES: Facts = Facts::TICK;
            const BUDGET: Option<Budget> = Some($row.budget);
            const OF_RUN: bool = true;
            /// How much has been used, for `standing`.
            type State = u32;

            fn observe(state: &mut u32, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
                $row.observe(state, fact, cx)
            }

            fn tick(state: &mut u32, run: &RunView, limits: &Limits) -> bool {
                $row.counts(state, run, limits)
            }

            fn standing(state: &u32) -> u32 {
                *state
            }
        }
    )*};
}

rows! { MaxIterations = ITERATIONS, MaxRuntime = RUNTIME }

#[cfg(test)]
mod tests {
    mod max_iterations {
        use crate::model::Level;
        use crate::rules::testing::Script;

        #[test]
        fn table() {
            let limited = r#"{"budgets":{"maxIterations":3}}"#;
            Script::new(limited)
                .play("o:a o:b o:c o:d")
                .expect("max-iterations", &[(2, Level::Halt), (3, Level::Halt)]);
            // Calls alone are no iterations, rounds are; a user's message does not give a fresh budget.
            Script::new(limited).play("a:x b:y c:z d:w").expect("max-iterations", &[]);
            Script::new(limited).play("o:a o:b | o:c").expect("max-iterations", &[(3, Level::Halt)]);
            Script::new("{}").play("o:a o:b o:c o:d o:e").expect("max-iterations", &[]);
        }
    }

    mod max_runtime {
        use crate::model::Level;
        use crate::rules::testing::Script;

        #[test]
        fn table() {
            let limited = r#"{"budgets":{"maxRuntimeMs":60000}}"#;
            // Every call and result takes a second of event time.
            Script::new(limited)
                .play("a:x @50 b:y @6 c:z")
                .expect("max-runtime", &[(4, Level::Halt), (5, Level::Halt)]);
            Script::new(limited).play("a:x @50 b:y c:z").expect("max-runtime", &[]);
            // A clock that jumps back neither ends the run nor gives time back.
            Script::new(limited).play("a:x @-500 b:y @30 c:z").expect("max-runtime", &[]);
            Script::new(limited)
                .play("a:x @70 b:y @-70 c:z")
                .expect("max-runtime", &[(2, Level::Halt), (3, Level::Halt), (4, Level::Halt), (5, Level::Halt)]);
        }
    }
}
