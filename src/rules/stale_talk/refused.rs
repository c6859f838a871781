//! An error that the host tells of in answer to one message of an agent after another.

use super::{ABOUT_IT, error_line};
use crate::codec::codec;
use crate::rules::Cx;
use crate::rules::streak::Streak;
use crate::text::{Left, asked_wait, combine, frame, head, mark, passes, told};

/// Bytes of the host's answer within which an error begins.
const BEGINNING: usize = 400;

#[derive(Clone, Debug, Default)]
pub(super) struct Refused {
    error: u32,
    /// Messages since the latest action, when the error was last told.
    talked: u32,
    /// The host has said something else since.
    clear: bool,
    times: Streak,
}
codec!(struct Refused { error, talked, clear, times });

impl Refused {
    /// The mark of the error that the host tells of, and does not try again itself.
    pub(super) fn told(text: &str, to_user: bool, salt: u64) -> Option<u32> {
        // Deeper in a text, as in a prompt, errors are only mentioned.
        let beginning = head(text, BEGINNING);
        let line = error_line(text)
            .filter(|_| error_line(beginning).is_some() && !passes(beginning) && asked_wait(beginning).is_none())?;
        if to_user {
            // What the user has changed, such as the model that is asked, may be told by a figure alone.
            return Some(told(line, salt).max(1));
        }
        // Fewer of what is wrong, or the same of something else, is progress; another place need not be.
        let error =
            combine("talk/error", &[frame(line).into(), Left::wrong(text).map_or(0, |left| left.count().into())]);
        Some(mark(error ^ salt).max(1))
    }

    /// The host tells of an error: whether it is the first one after the agent's latest message, which stands for the
    /// answer.
    pub(super) fn again(&mut self, error: u32, talked: u32, cx: &Cx<'_>) -> bool {
        match talked.saturating_sub(self.talked) {
            0 if self.error != 0 => return false,
            1..=ABOUT_IT if self.error == error => {}
            _ => self.times.clear(),
        }
        (self.error, self.talked, self.clear) = (error, talked, false);
        self.times.add(cx.here, cx.onset);
        true
    }

    /// The host says something else.
    pub(super) const fn clears(&mut self) {
        self.clear = true;
    }

    /// The agent speaks: whether the host neither was content with its answer before, nor had none of it at all.
    pub(super) const fn stands(&self, talked: u32) -> bool {
        talked.saturating_sub(self.talked) < if self.clear { 1 } else { ABOUT_IT }
    }

    pub(super) const fn times(&self) -> &Streak {
        &self.times
    }
}
