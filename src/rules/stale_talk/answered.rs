//! A user who says again what was said before, because it is asked for again.
//!
//! That an answer is not heard shows in the answers, whatever the language and the wording of the questions: the user
//! gives the same figures each time, and nothing else that is new.

use super::values::Values;
use crate::codec::codec;
use crate::rules::Cx;
use crate::rules::streak::Streak;

/// Characters of a value: shorter ones count something.
const SHORTEST: usize = 3;
/// Longer messages, in bytes, tell a story.
const LONGEST: usize = 120;

#[derive(Clone, Debug, Default)]
pub(super) struct Answered {
    values: Values,
    /// Somebody spoke to the user since the user's latest message, and named nothing that the user gave.
    asked: bool,
    again: Streak,
}
codec!(struct Answered { values, asked, again });

impl Answered {
    /// Somebody speaks to the user: who names what the user gave has heard it.
    pub(super) fn asks(&mut self, text: &str, salt: u64) {
        self.asked = !self.values.holds(text, SHORTEST, salt);
    }

    /// The user speaks; much of it may be `fresh`.
    pub(super) fn hears(&mut self, text: &str, fresh: bool, cx: &Cx<'_>) {
        let given = self.values.take(text, SHORTEST, fresh, cx.salt);
        // Who gives the same once more, and something besides, was asked for both.
        let again = given.last || given.old && !given.new;
        if again && core::mem::take(&mut self.asked) && text.len() <= LONGEST {
            self.again.add(cx.here, cx.onset);
        } else if given.new {
            self.ends();
        }
    }

    /// Something was done or found.
    pub(super) fn ends(&mut self) {
        self.again = Streak::default();
    }

    /// How often the user said what was said before.
    pub(super) const fn again(&self) -> &Streak {
        &self.again
    }

    pub(super) fn fits(&self) -> bool {
        self.values.fits() && self.again.fits()
    }
}
