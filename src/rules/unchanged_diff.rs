//! Catches: two iterations that leave the same patch, timestamps aside, or the same documents behind: the second one
//! achieved nothing.
//! Must not catch: readings within one iteration, iterations after which fewer tests fail or a checklist is longer.
//! Idea: the seed document on loop safety, the second signal of a stall.

use crate::model::Body;
use crate::rules::stall::{Row, Stall};
use alloc::format;

pub(super) const UNCHANGED_DIFF: Row = Row {
    id: "unchanged-diff",
    about: "Iterations that leave the same patch or documents behind.",
    unit: "iterations in a row",
    gate: 2,
    most: |task| task.diff.streak.count.max(task.docs.streak.count),
    see: |body, task, cx| {
        let Body::Progress(progress) = body else { return None };
        // If an event carries both, the iteration achieved something unless both are unchanged.
        let diff = progress.diff.is_some().then_some((&task.diff.streak, "patch"));
        let docs = progress.docs.is_some().then_some((&task.docs.streak, "documents"));
        let (streak, what) = diff.into_iter().chain(docs).min_by_key(|(streak, _)| streak.count)?;
        Some(Stall {
            signature: cx.named(what, '#', streak.key),
            message: format!("The last {} iterations left the same {what} behind", streak.count),
            instead: "Name the change that was meant to be made, and the step at which it was lost.",
            ..Stall::of("unchanged-diff", streak)
        })
    },
};

#[cfg(test)]
mod tests {
    use crate::model::Level::Gate;
    use crate::rules::testing::Script;

    const RULE: &str = "unchanged-diff";

    #[test]
    fn two_iterations() {
        Script::workflow("{}").play("c=1 %d:x c=2 %d:x").expect(RULE, &[(3, Gate)]);
        Script::workflow("{}").play("c=1 %d:x c=2 %d:y c=3 %d:x").expect(RULE, &[]);
        // If nothing else marks iterations, every reading is one.
        Script::workflow("{}").play("%d:x %d:x").expect(RULE, &[(1, Gate)]);
        Script::workflow("{}").play("o:a %d:x o:b %d:x").expect(RULE, &[(3, Gate)]);
        Script::workflow("{}").play("c=1 %m:x c=2 %m:x").expect(RULE, &[(3, Gate)]);
        // An empty patch is no artifact before there was another one; after that it is.
        Script::workflow("{}").play("c=1 %d: c=2 %d: c=3 %d:").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 %d: c=2 %d:x c=3 %d: c=4 %d:").expect(RULE, &[(7, Gate)]);
    }

    #[test]
    fn one_iteration_has_one_reading() {
        // The coder's patch is still there when the verifier has had its turn.
        Script::workflow("{}").play("c=1 %d:x v=1 %d:x c=2 %d:y v=2 %d:y").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 %d:x v=1 %d:x c=2 %d:x").expect(RULE, &[(5, Gate)]);
        Script::workflow("{}").play("c=1 %d:x %d:x %d:x").expect(RULE, &[]);
        Script::workflow("{}").play("c>v %d:x v>c %d:x c>v %d:x").expect(RULE, &[(3, Gate), (5, Gate)]);
    }

    #[test]
    fn other_progress_counts() {
        Script::workflow("{}").play("c=1 %d:x,f:7 c=2 %d:x,f:4 c=3 %d:x,f:2").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 %d:x,k:1 c=2 %d:x,k:2").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 %d:x,m:1 c=2 %d:x,m:2").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 %d:x,f:7 c=2 %d:x,f:7").expect(RULE, &[(3, Gate)]);
    }

    #[test]
    fn patch_and_documents_are_an_artifact_each() {
        // The iteration achieved something: the other artifact is new.
        Script::workflow("{}").play("c=1 %d:x,m:1 c=2 %d:x,m:2 c=3 %d:x,m:3").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 %d:1,m:x c=2 %d:2,m:x c=3 %d:3,m:x").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 %d:x,m:y c=2 %d:x,m:y").expect(RULE, &[(3, Gate)]);
        // In separate events.
        Script::workflow("{}").play("c=1 %d:x %m:y c=2 %d:x").expect(RULE, &[(4, Gate)]);
        Script::workflow("{}").play("c=1 %d:x c=2 %m:1 %d:x c=3 %m:2 %d:x").expect(RULE, &[]);
        Script::workflow("{}").play("%d:x,m:1 %d:x,m:2 %d:x,m:2").expect(RULE, &[(2, Gate)]);
        Script::workflow("{}").play("c=1 %m:y %d:x c=2 %d:x").expect(RULE, &[(4, Gate)]);
        // Documents that only go back and forth do not excuse the patch.
        Script::workflow("{}")
            .play("c=1 %d:x,m:1 c=2 %d:x,m:2 c=3 %d:x c=4 %d:x")
            .expect(RULE, &[(5, Gate), (7, Gate)]);
        Script::workflow("{}").play("c=1 %m:1 c=2 %m:2 %d:x c=3 %m:1 %d:x").expect(RULE, &[(7, Gate)]);
    }

    #[test]
    fn failures_end_iterations_where_nothing_else_does() {
        Script::workflow("{}").play("!a %d:x !b %d:x !c %d:x").expect(RULE, &[(3, Gate), (5, Gate)]);
        Script::workflow("{}").play("!a %d:x %d:x !b %d:y %d:y").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 !a %d:x c=2 !b %d:x").expect(RULE, &[(5, Gate)]);
    }

    #[test]
    fn an_outside_judge_sees_what_no_patch_shows() {
        Script::workflow("{}").play("!a %d:x ?progressing !b %d:x ?stalled !c %d:x").expect(RULE, &[(7, Gate)]);
    }
}
