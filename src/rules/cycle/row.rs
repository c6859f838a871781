//! Steps in a row that were all made shortly before and came to the same, whatever their order: four ways to list two
//! files, taken by turns; a short way that was gone twice and is begun once more. There are more of them than lie
//! between one and its like.
//!
//! Laps of two or three steps are told of by themselves ([`super::Walk`]) as early. What is made right after itself is
//! no further one (`repeated-call` counts it), nor is what found nothing or handed work over. A step that is new, a
//! change, also another agent's that the caller may see, and a rest begin it anew.

use crate::codec::codec;
use crate::state::{Onset, Step, Time};
use crate::text::Asks;
use crate::tuned;
use alloc::boxed::Box;

/// Laps that so many steps in a row as tell of a loop are worth; each further one is worth one more.
const LAPS: u32 = 3;
/// The longest lap that is none of these.
const LAP: u32 = 3;
/// Milliseconds from which another look at the same things is one at what they are by then.
const REST: i64 = 60_000;

/// Those of one agent, where there are any.
#[derive(Clone, Debug, Default)]
pub(super) struct Row(Option<Box<Steps>>);
codec!(struct Row(_));

#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    pub(super) many: u32,
    /// What they began with.
    pub(super) first: u32,
    pub(super) onset: Onset,
    /// Changes that the agent may have seen before the latest one, and when it was.
    changes: u32,
    at: Time,
    /// How long ago one of them was made, at most.
    far: u32,
}
codec!(struct Steps { many, first, onset, changes, at, far });

impl Row {
    /// Takes a step that came round, by its mark; it was made so many steps `ago`, if nothing was changed since.
    pub(super) fn took(&mut self, step: &Step, mark: u32, ago: Option<u32>) {
        if step.facts.negative || step.call.as_ref().is_none_or(|call| call.asks == Asks::Handover) {
            return;
        }
        let Some(ago) = ago.filter(|ago| *ago <= tuned::ROW_LATE.get()) else { return self.ends() };
        let changes = step.mutations_before() as u32;
        let goes_on = |steps: &Steps| {
            let rested = steps.at.zip(step.at).is_some_and(|(last, now)| now.saturating_sub(last) >= REST);
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

    /// A step is new.
    pub(super) fn ends(&mut self) {
        self.0 = None;
    }

    /// Those that tell of a loop, and what they are worth, in laps.
    pub(super) fn told(&self) -> Option<(&Steps, u32)> {
        let steps = self.0.as_deref().filter(|steps| steps.far > LAP)?;
        let enough = tuned::ROW_STEPS.get().max(steps.far.saturating_add(1));
        Some((steps, steps.many.checked_sub(enough)?.saturating_add(LAPS)))
    }

    /// What they are worth, in laps.
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
    /// Only the rule in question.
    const ALONE: &str = r#"{"rules":{"repeated-call":{"enabled":false},"same-answer":{"enabled":false}}}"#;

    fn play(steps: &str) -> crate::rules::testing::Played {
        Script::new(ALONE).play(steps)
    }

    #[test]
    fn known_steps_in_any_order() {
        // Four ways to list the same, taken as they come.
        let ways = "list/a:x look/b:y walk/c:z find/d:w ";
        let again = "look/b:y list/a:x find/d:w walk/c:z look/b:y ";
        play(&format!("{ways}{again}")).expect(RULE, &[]);
        let played = play(&format!("{ways}{again}find/d:w"));
        played.expect(RULE, &[(19, Nudge)]);
        let message = played.findings(RULE)[0].message.clone();
        assert!(message.starts_with("The latest 6 steps, `find` among them"), "{message}");
        // Nothing but told, however long it goes on.
        let on = format!("{ways}{again}find/d:w list/a:x find/d:w look/b:y list/a:x walk/c:z look/b:y");
        play(&on).strongest(RULE, Nudge);
    }

    #[test]
    fn what_begins_it_anew() {
        let ways = "list/a:x look/b:y walk/c:z find/d:w ";
        let again = "look/b:y list/a:x find/d:w walk/c:z look/b:y";
        // A new step, another outcome, a change, somebody's words.
        for between in ["look/e:v", "look/b:q", "*1", "|"] {
            play(&format!("{ways}{again} {between} find/d:w list/a:x")).expect(RULE, &[]);
        }
        // The same call again and again is another rule's.
        play(&"list/a:x ".repeat(12)).expect(RULE, &[]);
        // A way is walked twice: that is one more look. A third time is none.
        let way: String = (0..7).map(|at| format!("look/l{at}:found{at} ")).collect();
        play(&way.repeat(2)).expect(RULE, &[]);
        play(&format!("{}look/l0:found0", way.repeat(2))).expect(RULE, &[(29, Nudge)]);
        let way: String = (0..12).map(|at| format!("look/l{at}:found{at} ")).collect();
        play(&way.repeat(2)).expect(RULE, &[]);
    }
}
