//! Catches: a node whose output, or a task whose patch or documents, alternate between two states: A, B, A, B.
//! Must not catch: one change of mind, two nodes that speak in turn, states that are new each time.
//! Idea: the seed document on loop safety, the fourth signal of a stall.

use crate::model::{Body, HaltReason};
use crate::rules::stall::{Row, Stall};
use crate::state::Task;
use crate::text::printable;
use alloc::format;

pub(super) const OSCILLATION: Row = Row {
    id: "oscillation",
    about: "A node's output or a task's patch that goes back and forth between two states.",
    unit: "laps of both states",
    gate: 2,
    most: Task::most_flips,
    see: |body, task, _| {
        let (flips, what) = match body {
            Body::Turn(turn) => {
                let voice = task.voice(&turn.node)?;
                let spoke = turn.final_message.as_deref().is_some_and(|text| !text.trim().is_empty());
                let message = spoke.then_some((&voice.message_flips, "final message"));
                let structured =
                    turn.structured_output.is_some().then_some((&voice.structured_flips, "structured output"));
                let both = structured.into_iter().chain(message);
                let (flips, what) = both.max_by_key(|(flips, _)| flips.laps())?;
                (flips, format!("The {what} of `{}`", printable(&turn.node, 48)))
            }
            Body::Progress(progress) => {
                let diff = progress.diff.is_some().then_some((&task.diff.flips, "The patch"));
                let docs = progress.docs.is_some().then_some((&task.docs.flips, "The text of the documents"));
                let (flips, what) = diff.into_iter().chain(docs).max_by_key(|(flips, _)| flips.laps())?;
                (flips, format!("{what} of the iterations"))
            }
            _ => return None,
        };
        Some(Stall {
            kind: "oscillating",
            key: flips.pair(),
            count: flips.laps(),
            period: Some(2),
            onset: flips.onset,
            sightings: &flips.sightings,
            signature: what.replace(' ', "-").to_ascii_lowercase().into(),
            message: format!("{what} has gone back and forth between two states {} times", flips.laps()),
            instead: "Say what speaks for each of the two states, choose one, and keep it.",
            reason: HaltReason::Oscillating,
        })
    },
};

#[cfg(test)]
mod tests {
    use crate::model::Level::Gate;
    use crate::rules::testing::Script;

    const RULE: &str = "oscillation";

    #[test]
    fn outputs_of_a_node() {
        Script::workflow("{}").play("c=a c=b c=a c=b").expect(RULE, &[(3, Gate)]);
        Script::workflow("{}").play("c=a c=b c=a c=c c=a c=b").expect(RULE, &[]);
        Script::workflow("{}").play("c=a c=a c=b c=b c=a c=b").expect(RULE, &[]);
        Script::workflow("{}").play("c=z c=a c=b c=a c=b c=a").expect(RULE, &[(4, Gate), (5, Gate)]);
        // Two nodes that speak in turn; then one of them alternates.
        Script::workflow("{}").play("c=a v=b c=a v=b").expect(RULE, &[]);
        Script::workflow("{}").play("c=a v=1 c=b v=2 c=a v=3 c=b").expect(RULE, &[(6, Gate)]);
    }

    #[test]
    fn each_artefact_for_itself() {
        // The structured output alternates while the prose changes, and vice versa.
        Script::workflow("{}").play("c=1,js7 c=2,js8 c=3,js7 c=4,js8").expect(RULE, &[(3, Gate)]);
        Script::workflow("{}").play("c=a,js1 c=b,js2 c=a,js3 c=b,js4").expect(RULE, &[(3, Gate)]);
        Script::workflow("{}").play("c=1,js7 c=2,js8 c=3,js7 c=4,js9").expect(RULE, &[]);
        // A turn without structured output is no evidence either way.
        Script::workflow("{}").play("c=1,js7 c=2 c=3,js8 c=4 c=5,js7 c=6 c=7,js8").expect(RULE, &[(6, Gate)]);
    }

    #[test]
    fn patches_of_a_task() {
        Script::workflow("{}").play("c=1 %d:a c=2 %d:b c=3 %d:a c=4 %d:b").expect(RULE, &[(7, Gate)]);
        Script::workflow("{}").play("c=1 %d:a c=2 %d:b c=3 %d:a c=4 %d:c").expect(RULE, &[]);
        // The documents alone, whatever the patch.
        Script::workflow("{}").play("c=1 %m:a,d:1 c=2 %m:b,d:2 c=3 %m:a,d:3 c=4 %m:b,d:4").expect(RULE, &[(7, Gate)]);
    }

    #[test]
    fn progress_between_ends_it() {
        Script::workflow("{}").play("c=a %f:4 c=b %f:3 c=a %f:2 c=b %f:1").expect(RULE, &[]);
        Script::workflow("{}").play("c=a %k:1 c=b %k:2 c=a %k:3 c=b").expect(RULE, &[]);
        // A new patch does not make the message new.
        Script::workflow("{}").play("c=a %d:1 c=b %d:2 c=a %d:3 c=b").expect(RULE, &[(6, Gate)]);
    }
}
