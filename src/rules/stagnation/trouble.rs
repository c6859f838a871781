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
    /// Only where it came after another one.
    turns: Option<Box<Turns>>,
}
codec!(struct Trouble { sign, round, edited, back, turns });

/// What came back, and what that is worth.
#[derive(Clone, Debug, Default)]
struct Back {
    points: u32,
    seen: Streak,
}
codec!(struct Back { points, seen });

/// Errors that came one after the other, and those of them that came back.
#[derive(Clone, Debug, Default)]
struct Turns {
    known: Recent<TURNS>,
    back: Back,
}
codec!(struct Turns { known, back });

impl Back {
    fn again(&mut self, step: &Step, edited: bool) {
        self.points = self.points.saturating_add(if edited { TROUBLE_CHANGED } else { TROUBLE });
        self.seen.add(step.sighting, step.onset);
    }
}

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
        let before = core::mem::replace(&mut self.sign, sign);
        if step.fewer {
            (self.back, self.turns) = (None, None);
            return false;
        }
        let counts = !(listed || copy || step.slept || call.polling);
        if before == sign {
            if counts {
                self.back.get_or_insert_default().again(step, edited);
            }
            return counts;
        }
        self.back = None;
        if before == 0 {
            return false;
        }
        let turns = self.turns.get_or_insert_default();
        turns.known.met(before);
        let known = turns.known.met(sign);
        if !known {
            turns.back = Back::default();
        } else if counts {
            turns.back.again(step, edited);
        }
        known && counts
    }

    /// The error is met no more.
    pub(super) fn forget(&mut self) {
        *self = Self { round: self.round, edited: self.edited, ..Self::default() };
    }

    pub(super) fn points(&self) -> u32 {
        let back = self.back.as_ref().map_or(0, |back| back.points);
        back.max(self.turns.as_ref().map_or(0, |turns| turns.back.points))
    }

    pub(super) fn told(&self, cx: &Cx<'_>) -> Option<Signal> {
        let (back, what, which) = match (&self.back, &self.turns) {
            (back, Some(turns)) if back.as_ref().is_none_or(|back| back.points < turns.back.points) => {
                (&turns.back, "errors that had come before came back by turns", 0)
            }
            (Some(back), _) => (&**back, "the same error came", self.sign),
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
        let turns = self.turns.as_deref().map(|turns| &turns.back);
        self.back.as_deref().into_iter().chain(turns).all(|back| back.seen.fits())
    }
}
