//! An error that the host tells of in answer to one message after another, or again and again on its own.

use super::circles::{Circle, REFUSED, REFUSED_ALONE};
use super::{ABOUT_IT, error_line};
use crate::codec::codec;
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::text::{Left, asked_wait, combine, frame, head, mark, passes, told};

/// Bytes of the host's answer within which an error begins.
const BEGINNING: usize = 600;

#[derive(Clone, Debug, Default)]
pub(super) struct Refused {
    error: u32,
    /// Messages since the latest action, when the error was last told.
    talked: u32,
    /// The host has said something else since.
    clear: bool,
    /// How often it was told: once after each message, or, if `alone`, with nothing but the host's own words in between.
    times: Streak,
    alone: bool,
}
codec!(struct Refused { error, talked, clear, times, alone });

impl Refused {
    /// The mark of the error that the host tells of, and does not try again itself.
    pub(super) fn told(text: &str, exact: bool, salt: u64) -> Option<u32> {
        // Deeper in a text, as in a prompt, errors are only mentioned.
        let beginning = head(text, BEGINNING);
        let line = error_line(beginning).filter(|_| !passes(beginning) && asked_wait(beginning).is_none())?;
        if exact {
            // What the user has changed, such as the model that is asked, may be told by a figure alone.
            return Some(told(line, salt).max(1));
        }
        // Fewer of what is wrong, or the same of something else, is progress; another place need not be.
        let error =
            combine("talk/error", &[frame(line).into(), Left::wrong(text).map_or(0, |left| left.count().into())]);
        Some(mark(error ^ salt).max(1))
    }

    /// The host tells of an error after so many messages since the latest action. The first one after a message stands
    /// for the answer to it.
    pub(super) fn again(&mut self, error: u32, talked: u32, cx: &Cx<'_>) -> Option<Signal> {
        let after = talked.saturating_sub(self.talked);
        let alone = after == 0 && self.error != 0;
        if alone && !(self.clear && self.error == error) {
            return None;
        }
        let goes_on = self.error == error && after <= ABOUT_IT;
        if !goes_on || self.alone && !alone {
            self.times.clear();
        }
        (self.error, self.talked, self.clear, self.alone) = (error, talked, false, alone);
        self.times.add(cx.here, cx.onset);
        self.circle().signal(&self.times, cx)
    }

    fn circle(&self) -> &'static Circle {
        if self.alone { &REFUSED_ALONE } else { &REFUSED }
    }

    /// Points of the evidence so far.
    pub(super) fn worth(&self) -> u32 {
        self.circle().worth(&self.times)
    }

    /// The host says something else.
    pub(super) const fn clears(&mut self) {
        self.clear = true;
    }

    /// The agent speaks: whether the host neither was content with its answer before, nor had none of it at all.
    pub(super) const fn stands(&self, talked: u32) -> bool {
        talked.saturating_sub(self.talked) < if self.clear { 1 } else { ABOUT_IT }
    }
}
