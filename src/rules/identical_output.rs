//! Catches: a node whose final message, or whose structured output, is the same in three turns in a row.
//! Must not catch: different nodes saying the same; turns between which failing tests became fewer or a checklist
//! became longer; turns without output.
//! Idea: the seed document on loop safety, the first signal of a stall. It does not depend on whether there is a new
//! patch, which is the second signal.

use crate::model::Body;
use crate::rules::stall::{Row, Stall};
use crate::state::Task;
use crate::text::printable;
use alloc::format;

pub(super) const IDENTICAL_OUTPUT: Row = Row {
    id: "identical-output",
    about: "A node of the workflow that ends turn after turn with the same message or structured output.",
    unit: "turns in a row",
    gate: 3,
    most: Task::most_identical,
    see: |body, task, _| {
        let Body::Turn(turn) = body else { return None };
        let voice = task.voice(&turn.node)?;
        let spoke = turn.final_message.as_deref().is_some_and(|text| !text.trim().is_empty());
        let message = (&voice.message, "final message", spoke);
        let structured = (&voice.structured, "structured output", turn.structured_output.is_some());
        let now = [message, structured].into_iter().filter(|(_, _, here)| *here);
        let (streak, what, _) = now.max_by_key(|(streak, _, _)| streak.count)?;
        let node = printable(&turn.node, 48);
        Some(Stall {
            signature: format!("{node}:{}", what.replace(' ', "-")).into(),
            message: format!("The last {} turns of `{node}` ended with the same {what}", streak.count),
            instead: "Say what the last turn changed that others can see, or what prevents a change.",
            ..Stall::of("identical-output", streak)
        })
    },
};

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Gate};
    use crate::rules::testing::Script;

    const RULE: &str = "identical-output";

    #[test]
    fn three_in_a_row_of_one_node() {
        Script::workflow("{}").play("c=x c=x c=x c=x").expect(RULE, &[(2, Gate), (3, Gate)]);
        Script::workflow("{}").play("c=x v=y c=x v=y c=x").expect(RULE, &[(4, Gate)]);
        Script::workflow("{}").play("c=x v=x w=x c=x v=x w=x").expect(RULE, &[]);
        Script::workflow("{}").play("c=x c=y c=x c=x c=z c=x").expect(RULE, &[]);
        // A turn without output is no evidence either way.
        Script::workflow("{}").play("c=x c= c=x c= c=x").expect(RULE, &[(4, Gate)]);
        Script::workflow("{}").play("c= c= c= c=").expect(RULE, &[]);
    }

    #[test]
    fn structured_output_counts_for_itself() {
        Script::workflow("{}").play("c=1,js5 c=2,js5 c=3,js5").expect(RULE, &[(2, Gate)]);
        Script::workflow("{}").play("c=1,js5 c=2,js6 c=3,js5").expect(RULE, &[]);
    }

    #[test]
    fn progress_between_ends_it() {
        Script::workflow("{}").play("c=x %f:7 c=x %f:4 c=x %f:2 c=x %f:1").expect(RULE, &[]);
        Script::workflow("{}").play("c=x %k:1 c=x %k:2 c=x %k:3 c=x").expect(RULE, &[]);
        // A state that was there before is no progress.
        Script::workflow("{}").play("c=x %f:7 c=x %f:7 c=x").expect(RULE, &[(4, Gate)]);
        Script::workflow("{}").play("%d:1 %d:2 c=x %d:1 c=x %d:2 c=x").expect(RULE, &[(6, Gate)]);
    }

    #[test]
    fn a_new_patch_is_no_new_word() {
        Script::workflow("{}").play("c=x %d:1 c=x %d:2 c=x %d:3 c=x").expect(RULE, &[(4, Gate), (6, Gate)]);
        Script::workflow("{}").play("c=x %m:1 c=x %m:2 c=x %m:3 c=x").expect(RULE, &[(4, Gate), (6, Gate)]);
    }

    #[test]
    fn tasks_are_apart() {
        Script::workflow("{}").play("c=x c=x #two c=x c=x").expect(RULE, &[]);
    }

    #[test]
    fn the_policy_decides_what_a_gate_becomes() {
        for (policy, level) in [
            ("pause", Gate),
            ("switch-to-interactive", Gate),
            ("spawn-reviewer", Block),
            ("retry-with-new-provider", Block),
        ] {
            Script::workflow(&alloc::format!(r#"{{"onStall":"{policy}"}}"#))
                .play("c=x c=x c=x")
                .expect(RULE, &[(2, level)]);
        }
    }
}
