//! A user who repeats what was said before because it is asked for again.
//!
//! That an answer was not heard shows in the answers, whatever the language and the wording of the questions: the user
//! gives the same figures each time, and nothing else that is new.

use super::values::Values;
use crate::codec::codec;
use crate::rules::Cx;
use crate::rules::streak::Streak;

/// Fewest characters of a value: shorter figures count something.
const SHORTEST: usize = 3;
/// Most bytes of a message that gives a value: longer ones tell a story.
const LONGEST: usize = 120;

#[derive(Clone, Debug, Default)]
pub(super) struct Answered {
    values: Values,
    /// An agent has spoken since the user's latest message, and named no value that the user gave.
    asked: bool,
    again: Streak,
}
codec!(struct Answered { values, asked, again });

impl Answered {
    /// An agent speaks to the user: naming a value that the user gave shows that it was heard.
    pub(super) fn asks(&mut self, text: &str, salt: u64) {
        self.asked = !self.values.holds(text, SHORTEST, salt);
    }

    /// The user speaks; `fresh` if much of the message is new.
    pub(super) fn hears(&mut self, text: &str, fresh: bool, cx: &Cx<'_>) {
        let given = self.values.take(text, SHORTEST, fresh, cx.salt);
        // A user who repeats the latest value and adds something was asked for both.
        let again = given.last || given.old && !given.new;
        if again && core::mem::take(&mut self.asked) && text.len() <= LONGEST {
            self.again.add(cx.here, cx.onset);
        } else if given.new {
            self.ends();
        }
    }

    /// Drops the evidence: something was done or found.
    pub(super) fn ends(&mut self) {
        self.again.clear();
    }

    /// How often the user repeated a value.
    pub(super) const fn again(&self) -> &Streak {
        &self.again
    }

    pub(super) fn fits(&self) -> bool {
        self.values.fits()
    }
}
