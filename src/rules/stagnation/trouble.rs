//! One error that comes back whatever is called: an install with ever other flags, a cell written anew, a build after each edit; or a
//! few that come by turns.

use super::{Found, INSTEAD, TROUBLE, TROUBLE_CHANGED};
use crate::codec::codec;
use crate::model::{HaltReason, ToolResult};
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::{Call, Recent, Step};
use crate::text::{Edit, combine, first_mark, frame, mark, root_line, told};
use alloc::{boxed::Box, format};

/// Errors that may come by turns.
const TURNS: usize = 3;

/// The latest errors of an agent, and how often they came while that agent met no other.
#[derive(Clone, Debug, Default)]
pub(super) struct Trouble {
    /// The latest one: its root, and the first line that is marked as an error, for a build ends in one line whatever is wrong; 0 for none.
    sign: u32,
    known: Recent<TURNS>,
    round: u32,
    /// Something was written since. What is restarted, deleted or installed is no attempt of its own at what is wrong.
    edited: bool,
    /// Only where it came back, and where one came back after another.
    back: Option<Box<Back>>,
    turns: Option<Box<Back>>,
}
codec!(struct Trouble { sign, known, round, edited, back, turns });

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
        let other = core::mem::replace(&mut self.sign, sign) != sign;
        let known = self.known.met(sign);
        if other || step.fewer {
            self.back = None;
        }
        if !known || step.fewer {
            self.turns = None;
            return false;
        }
        if listed || copy || step.slept || call.polling {
            return false;
        }
        let back = if other { &mut self.turns } else { &mut self.back }.get_or_insert_default();
        back.points = back.points.saturating_add(if edited { TROUBLE_CHANGED } else { TROUBLE });
        back.seen.add(step.sighting, step.onset);
        true
    }

    /// The error is met no more.
    pub(super) fn forget(&mut self) {
        *self = Self { round: self.round, edited: self.edited, ..Self::default() };
    }

    pub(super) fn points(&self) -> u32 {
        let points = |back: &Option<Box<Back>>| back.as_ref().map_or(0, |back| back.points);
        points(&self.back).max(points(&self.turns))
    }

    pub(super) fn told(&self, cx: &Cx<'_>) -> Option<Signal> {
        let (back, what, which) = match (&self.back, &self.turns) {
            (back, Some(turns)) if back.as_ref().is_none_or(|back| back.points < turns.points) => {
                (turns, "errors that had come before came back by turns", 0)
            }
            (Some(back), _) => (back, "the same error came", self.sign),
            _ => return None,
        };
        let times = back.seen.times.saturating_add(u32::from(which != 0));
        let found = Found {
            kind: "same-trouble",
            name: "error",
            what: combine("stagnation/root", &[which.into()]),
            points: back.points,
            message: format!("{what} {times} times, whatever was called or changed in between"),
            instead: INSTEAD,
            halt_reason: HaltReason::RepeatedError,
        };
        Some(found.told(&back.seen, cx))
    }

    pub(super) fn fits(&self) -> bool {
        self.back.iter().chain(&self.turns).all(|back| back.seen.fits())
    }
}
