//! Steps in a row that were all made shortly before with the same results, in any order: four ways to list two files,
//! used in turn; a short route that was walked twice and is begun a third time. The row is longer than the distance
//! between any of its steps and the previous occurrence.
//!
//! Laps of two or three steps are reported just as early by [`super::Walk`]. A step repeated immediately adds nothing
//! (`repeated-call` counts it), nor does one that found nothing or handed work over. A new step, a change (including
//! another agent's that the caller may see) and a rest start the row over.

use crate::codec::codec;
use crate::state::{Onset, Step, Time};
use crate::text::Asks;
use crate::tuned;
use alloc::boxed::Box;

/// Laps that the shortest reported row is worth; each further step is worth one more.
const LAPS: u32 = 3;
/// Longest lap that is left to [`super::Walk`], in steps.
const LAP: u32 = 3;
/// Milliseconds after which a second look at the same things may show something new.
const REST: i64 = 60_000;

/// The current row of one agent, if any.
#[derive(Clone, Debug, Default)]
pub(super) struct Row(Option<Box<Steps>>);
codec!(struct Row(_));

#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    pub(super) many: u32,
    /// Mark of the first step.
    pub(super) first: u32,
    pub(super) onset: Onset,
    /// Changes that the agent may have seen before the latest step, and the time of that step.
    changes: u32,
    at: Time,
    /// The largest distance of a step to its previous occurrence, in steps.
    far: u32,
}
codec!(struct Steps { many, first, onset, changes, at, far });

impl Row {
    /// Takes in a recurring step by its mark; it was last made `ago` steps earlier, `None` if something changed since.
    pub(super) fn took(&mut self, step: &Step, mark: u32, ago: Option<u32>) {
        if step.facts.negative || step.call.as_ref().is_none_or(|call| call.asks == Asks::Handover) {
            return;
        }
        let Some(ago) = ago.filter(|ago| *ago <= tuned::ROW_LATE.get()) else { return self.ends() };
        let changes = step.mutations_before() as u32;
        let goes_on = |steps: &Steps| {
            let rested = steps.at.is_past(REST, step.at);
            changes == steps.changes && !rested
        };
        if self.0.as_ref().is_some_and(|steps| !goes_on(steps)) {
            self.ends();
        }
        if self.0.is_none() && ago == 1 {
            return;
        }
        let steps =
            self.0.get_or_insert_with(|| Box::new(Steps { first: mark, onset: step.onset, ..Steps::default() }));
        if ago > 1 {
            steps.many = steps.many.saturating_add(1);
            steps.far = steps.far.max(ago);
        }
        (steps.at, steps.changes) = (step.at.into(), changes);
    }

    /// A new step ends the row.
    pub(super) fn ends(&mut self) {
        self.0 = None;
    }

    /// The row if it is long enough to report, and what it is worth, in laps.
    pub(super) fn told(&self) -> Option<(&Steps, u32)> {
        let steps = self.0.as_deref().filter(|steps| steps.far > LAP)?;
        let enough = tuned::ROW_STEPS.get().max(steps.far.saturating_add(1));
        Some((steps, (steps.many.checked_sub(enough)? / steps.far).saturating_add(LAPS)))
    }

    /// What the row is worth, in laps.
    pub(super) fn laps(&self) -> u32 {
        self.told().map_or(0, |(_, laps)| laps)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::Script;
    use alloc::{format, string::String};

    const RULE: &str = "cycle";
    /// Only the rule under test.
    const ALONE: &str = r#"{"rules":{"repeated-call":{"enabled":false},"same-answer":{"enabled":false}}}"#;

    fn play(steps: &str) -> crate::rules::testing::Played {
        Script::new(ALONE).play(steps)
    }

    #[test]
    fn known_steps_in_any_order() {
        // Four ways to list the same things, in varying order.
        let ways = "list/a:x look/b:y walk/c:z find/d:w ";
        let again = "look/b:y list/a:x find/d:w walk/c:z look/b:y ";
        play(&format!("{ways}{again}")).expect(RULE, &[]);
        let played = play(&format!("{ways}{again}find/d:w"));
        played.expect(RULE, &[(19, Nudge)]);
        let message = played.findings(RULE)[0].message.clone();
        assert!(message.starts_with("The latest 6 steps, including `find`"), "{message}");
        // Advice only, however long it continues.
        let on = format!("{ways}{again}find/d:w list/a:x find/d:w look/b:y list/a:x walk/c:z look/b:y");
        play(&on).strongest(RULE, Nudge);
    }

    #[test]
    fn what_begins_it_anew() {
        let ways = "list/a:x look/b:y walk/c:z find/d:w ";
        let again = "look/b:y list/a:x find/d:w walk/c:z look/b:y";
        // A new step, a different outcome, a change, a user's message.
        for between in ["look/e:v", "look/b:q", "*1", "|"] {
            play(&format!("{ways}{again} {between} find/d:w list/a:x")).expect(RULE, &[]);
        }
        // Immediate repetition of one call is another rule's.
        play(&"list/a:x ".repeat(12)).expect(RULE, &[]);
        // Walking a route twice is one more look; a third time is not.
        let way: String = (0..7).map(|at| format!("look/l{at}:found{at} ")).collect();
        play(&way.repeat(2)).expect(RULE, &[]);
        play(&format!("{}look/l0:found0", way.repeat(2))).expect(RULE, &[(29, Nudge)]);
        let way: String = (0..12).map(|at| format!("look/l{at}:found{at} ")).collect();
        play(&way.repeat(2)).expect(RULE, &[]);
    }
}
