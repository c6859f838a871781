//! One error that comes back whatever is called: an install with ever other flags, a cell written anew, a build after each edit.

use super::{Found, INSTEAD, TROUBLE, TROUBLE_CHANGED};
use crate::codec::codec;
use crate::model::{HaltReason, ToolResult};
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::{Call, Step};
use crate::text::{Edit, combine, first_mark, frame, mark, root_line, told};
use alloc::{boxed::Box, format};

/// The latest error of an agent, and how often it came while that agent met no other.
#[derive(Clone, Debug, Default)]
pub(super) struct Trouble {
    /// Its root, and the first line that is marked as an error, for a build ends in one line whatever is wrong; 0 for none.
    sign: u32,
    round: u32,
    /// Something was written since. What is restarted, deleted or installed is no attempt of its own at what is wrong.
    edited: bool,
    /// Only where it came back.
    back: Option<Box<Back>>,
}
codec!(struct Trouble { sign, round, edited, back });

/// What came back, and what that is worth.
#[derive(Clone, Debug, Default)]
struct Back {
    points: u32,
    seen: Streak,
}
codec!(struct Back { points, seen });

impl Trouble {
    /// Takes a step in, and tells whether it ended in an error that came back. `listed` tells that the call before was of its kind.
    pub(super) fn took(&mut self, step: &Step, call: &Call, result: &ToolResult, listed: bool, salt: u64) -> bool {
        self.edited |= call.edit != Edit::No && !step.facts.failed;
        let (Some(root), output) = (step.root(result, salt), result.output.as_str()) else { return false };
        let first = first_mark(output).map_or(0, frame);
        let line = root_line(output).map_or(0, |line| told(line, salt));
        let sign = mark(combine("stagnation/root", &[root, first.into(), line.into()])).max(1);
        let round = call.round.map_or(0, mark);
        let copy = round != 0 && round == self.round;
        self.round = round;
        let edited = core::mem::take(&mut self.edited);
        if sign != self.sign || step.fewer {
            (self.sign, self.back) = (sign, None);
            return false;
        }
        if listed || copy || step.slept || call.polling {
            return false;
        }
        let back = self.back.get_or_insert_default();
        back.points = back.points.saturating_add(if edited { TROUBLE_CHANGED } else { TROUBLE });
        back.seen.add(step.sighting, step.onset);
        true
    }

    /// The error is met no more.
    pub(super) fn forget(&mut self) {
        (self.sign, self.back) = (0, None);
    }

    pub(super) fn points(&self) -> u32 {
        self.back.as_ref().map_or(0, |back| back.points)
    }

    pub(super) fn told(&self, cx: &Cx<'_>) -> Option<Signal> {
        let back = self.back.as_ref()?;
        let times = back.seen.times.saturating_add(1);
        let found = Found {
            kind: "same-trouble",
            name: "error",
            what: combine("stagnation/root", &[self.sign.into()]),
            points: back.points,
            message: format!("the same error came {times} times, whatever was called or changed in between"),
            instead: INSTEAD,
            halt_reason: HaltReason::RepeatedError,
        };
        Some(found.told(&back.seen, cx))
    }

    pub(super) fn fits(&self) -> bool {
        self.back.as_ref().is_none_or(|back| back.seen.fits())
    }
}
