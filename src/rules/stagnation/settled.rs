//! Waiting for what is over: a job that has failed is asked for again and again, each time after a pause, in one form or another.

use super::{FULL, Found};
use crate::codec::codec;
use crate::model::{HaltReason, ToolResult};
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::{Call, Step};
use crate::text::{Vocabulary, combine, has_digit, may_change, printable, progress};
use alloc::{boxed::Box, format};

/// Looks after the first one that are told of.
const LOOKS: u32 = 3;

/// Only where somebody waited and saw that it is over.
#[derive(Clone, Debug, Default)]
pub(super) struct Settled(Option<Box<Looks>>);
codec!(struct Settled(_));

#[derive(Clone, Debug, Default)]
struct Looks {
    changes: u32,
    words: Vocabulary,
    seen: Streak,
}
codec!(struct Looks { changes, words, seen });

impl Settled {
    /// Takes in a step with the number of changes made before it, and tells whether it waited for what had been over before.
    pub(super) fn took(&mut self, step: &Step, call: &Call, result: &ToolResult, changes: u32) -> bool {
        let facts = &step.facts;
        if !step.slept || call.idles {
            return false;
        }
        let over = may_change(&result.output) == Some(false) && progress(&result.output) == 0;
        if facts.transient || facts.waiting && !over {
            self.0 = None;
        }
        if facts.transient || !over {
            return false;
        }
        let known = self.0.take().filter(|looks| looks.changes == changes);
        let first = known.is_none();
        let looks = self.0.insert(known.unwrap_or_default());
        looks.changes = changes;
        let words = step.words(result).iter().copied().filter(|word| !has_digit(*word));
        let new = words.filter(|word| looks.words.learn(*word)).count();
        // What looks like the first in other words may tell why.
        if first || new > 0 {
            return false;
        }
        looks.seen.add(step.sighting, step.onset);
        true
    }

    pub(super) fn points(&self) -> u32 {
        self.0.as_ref().map_or(0, |looks| looks.seen.times.saturating_mul(FULL) / LOOKS)
    }

    pub(super) fn told(&self, call: &Call, cx: &Cx<'_>) -> Option<Signal> {
        let looks = self.0.as_ref()?;
        let (name, times) = (printable(&call.name, 48), looks.seen.times);
        let found = Found {
            kind: "waits-for-nothing",
            name: &name,
            what: combine("stagnation/settled", &[]),
            points: self.points(),
            message: format!("`{name}` was waited for {times} times more after it had told that it is over"),
            instead: "Take the state as it is: look for its cause, start it anew, or report it.",
            halt_reason: HaltReason::Stalled,
        };
        Some(found.told(&looks.seen, cx))
    }

    pub(super) fn fits(&self) -> bool {
        self.0.as_ref().is_none_or(|looks| looks.words.fits() && looks.seen.fits())
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::{Played, events, step};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "stagnation";

    /// Looks at a delivery, each after a pause and in one of three forms.
    fn looks<'a>(answers: impl IntoIterator<Item = &'a str>) -> Played {
        let look = |(at, answer): (usize, &str)| {
            let form = ["--short", "--json state", "| tail -5"][at % 3];
            let args = format!(r#"{{"command":"sleep {}; quayctl delivery 771 {form}"}}"#, 30 + 10 * at);
            step("ann", "bash", &args, answer)
        };
        let lines: Vec<String> = answers.into_iter().enumerate().flat_map(look).collect();
        events("{}", &lines)
    }

    #[test]
    fn what_is_over() {
        let over = ["delivery 771 is failed after 41s", "{\"state\":\"failed\"}", "771 failed, 41s"];
        looks(over.into_iter().cycle().take(8)).strongest(RULE, Nudge);
        // It goes on once more.
        let again =
            ["failed after 41s", "running", "failed after 38s", "pending", "failed after 40s", "queued", "failed"];
        looks(again).expect(RULE, &[]);
        // Each tells something else.
        let parts =
            ["crane failed", "hold failed, too", "pilot succeeded", "tug finished", "customs failed", "gate expired"];
        looks(parts).expect(RULE, &[]);
        // It tells how far it is.
        let far: Vec<String> = (1..9).map(|at| format!("completed {at}0 of 90")).collect();
        looks(far.iter().map(String::as_str)).expect(RULE, &[]);
    }
}
