//! Edits that are taken back and made again while errors go on coming: a type made nullable and non-null in turn, an
//! annotation put on and off.
//!
//! No two edits need be the same, nor the errors between them. What comes back is a text that an earlier edit replaced in
//! that file. Taking back one attempt after another is ordinary work; the same text coming back again is not.

use super::Stuck;
use crate::codec::codec;
use crate::model::HaltReason;
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::{Call, Onset, Ring};
use crate::text::{Key, Replaced, combine};
use alloc::format;

/// Replaced texts remembered, and those of them that came back.
const REPLACED: usize = 16;
const RETURNED: usize = 8;
/// Points for a text that comes back for the first time, most points for those together, and points for later times.
const FIRST: u32 = 4;
const MOST_FIRST: u32 = 8;
const AGAIN: u32 = 5;

#[derive(Clone, Debug, Default)]
pub(super) struct Undone {
    /// Each with its file.
    replaced: Ring<u32>,
    returned: Ring<u32>,
    /// Something has failed since the latest return.
    failed: bool,
    first: u32,
    pub(super) points: u32,
    seen: Streak,
}
codec!(struct Undone { replaced, returned, failed, first, points, seen });

impl Undone {
    pub(super) fn fails(&mut self) {
        self.failed = true;
    }

    /// Takes an edit of a file; true if it puts back what was replaced there, after a failure.
    pub(super) fn takes(&mut self, edit: Replaced, file: u32, onset: Onset, cx: &Cx<'_>) -> bool {
        let in_file = |text: u32| text ^ file.rotate_left(7);
        let (old, new) = (in_file(edit.old), in_file(edit.new));
        let back =
            edit.old != edit.new && self.replaced.holds(|text| *text == new) && core::mem::take(&mut self.failed);
        if back {
            let points = if self.returned.met(new, RETURNED) {
                AGAIN
            } else {
                let points = FIRST.min(MOST_FIRST - self.first);
                self.first += points;
                points
            };
            self.points = self.points.saturating_add(points);
            self.seen.add(cx.here, onset);
        }
        self.replaced.met(old, REPLACED);
        back
    }

    pub(super) fn signal(&self, call: &Call, cx: &Cx<'_>) -> Signal {
        let file: Key = call.target.unwrap_or(0);
        let found = Stuck {
            kind: "undone-change",
            name: "change",
            what: combine("stagnation/undone", &[file]),
            points: self.points,
            message: format!(
                "an edit put back what an earlier one had replaced, {} times, and errors went on coming",
                self.seen.times
            ),
            instead: "Write down what each version breaks, and change what stands against both of them instead.",
            halt_reason: HaltReason::Stalled,
        };
        found.signal(&self.seen, cx)
    }

    pub(super) fn fits(&self) -> bool {
        let kept = self.replaced.len() <= REPLACED && self.returned.len() <= RETURNED;
        kept && self.first <= MOST_FIRST && self.seen.fits()
    }
}
