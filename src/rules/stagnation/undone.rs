//! Edits that are taken back and made again while errors go on coming: a type made nullable and non-null in turn, an
//! annotation put on and off.
//!
//! No two edits need be the same, nor the errors between them. Taking back one attempt after another is ordinary work:
//! the original text comes back each time. What tells is an attempt that was taken back and is made again.

use super::{INSTEAD, Stuck};
use crate::codec::codec;
use crate::model::HaltReason;
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::{Call, Onset, Ring};
use crate::text::{Key, Replaced, combine};
use alloc::format;

/// Texts remembered that were replaced, and that edits put in.
const TEXTS: usize = 16;
/// Points for an attempt that was taken back and is made again, and for taking back what has been made again.
const AGAIN: u32 = 6;
const BACK_AGAIN: u32 = 4;
/// Points for an original text that comes back before, and the most for all of those.
const BACK: u32 = 2;
const MOST_BACK: u32 = 4;

#[derive(Clone, Debug, Default)]
pub(super) struct Undone {
    /// Marks of texts with their files.
    replaced: Ring<u32>,
    tried: Ring<u32>,
    /// Something has failed since a text came back.
    failed: bool,
    /// An attempt has been made again.
    again: bool,
    pub(super) points: u32,
    seen: Streak,
}
codec!(struct Undone { replaced, tried, failed, again, points, seen });

impl Undone {
    pub(super) fn fails(&mut self) {
        self.failed = true;
    }

    /// Takes an edit of a file; true if it puts back what was replaced there, after a failure.
    pub(super) fn takes(&mut self, edit: Replaced, file: u32, onset: Onset, cx: &Cx<'_>) -> bool {
        let in_file = |text: u32| text ^ file.rotate_left(7);
        let (old, new) = (in_file(edit.old), in_file(edit.new));
        if old == new {
            return false;
        }
        let known = self.replaced.holds(|text| *text == new);
        let back = known && core::mem::take(&mut self.failed);
        if back {
            let attempt = self.tried.holds(|text| *text == new);
            self.again |= attempt;
            self.points = match (attempt, self.again) {
                (true, _) => self.points.saturating_add(AGAIN),
                (false, true) => self.points.saturating_add(BACK_AGAIN),
                (false, false) => self.points.saturating_add(BACK).min(MOST_BACK),
            };
            self.seen.add(cx.here, onset);
        } else if !known && !edit.removes {
            self.tried.met(new, TEXTS);
        }
        self.replaced.met(old, TEXTS);
        back
    }

    pub(super) fn signal(&self, call: &Call, cx: &Cx<'_>) -> Signal {
        let file: Key = call.target.unwrap_or(0);
        let found = Stuck {
            kind: "undone-change",
            name: "change",
            what: combine("stagnation/undone", &[file]),
            points: self.points,
            message: format!("an edit put back a replaced text {} times while errors went on coming", self.seen.times),
            instead: INSTEAD,
            halt_reason: HaltReason::Stalled,
        };
        found.signal(&self.seen, cx)
    }

    pub(super) fn fits(&self) -> bool {
        self.replaced.len() <= TEXTS && self.tried.len() <= TEXTS && self.seen.fits()
    }
}
