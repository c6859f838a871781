//! Two or three agents that keep answering each other and name nothing: thanks, farewells, one more confirmation.
//!
//! No message repeats another, and many hold a word that was not said before. What tells it is that there are ever
//! fewer of them, and that nobody names anything.

use crate::codec::codec;
use crate::rules::Cx;
use crate::rules::streak::Streak;
use crate::state::Ring;
use crate::text::Key;

/// Bytes of a message that may say nothing.
pub(super) const LONGEST: usize = 160;
/// One part in so many of a message has to be new where nothing else tells that it names something.
pub(super) const NAMES: u32 = 3;
/// Who spoke lately: of more than three, each may have its own turn.
const SPEAKERS: usize = 3;

#[derive(Clone, Debug, Default)]
pub(super) struct Chat {
    speakers: Ring<Key>,
    /// Weight of the words of these messages, and of those that were not said before.
    weight: u32,
    fresh: u32,
    messages: Streak,
}
codec!(struct Chat { speakers, weight, fresh, messages });

impl Chat {
    /// One more message, with the weights of its words and of the new ones among them: whether its speaker answers an
    /// answer.
    pub(super) fn goes_on(&mut self, [weight, fresh]: [u32; 2], cx: &Cx<'_>) -> bool {
        if self.speakers.nth_back(0) == Some(&cx.agent) {
            *self = Self::default();
        }
        let back = self.speakers.met(cx.agent, SPEAKERS);
        (self.weight, self.fresh) = (self.weight.saturating_add(weight), self.fresh.saturating_add(fresh));
        self.messages.add(cx.here, cx.onset);
        back
    }

    /// The messages, where most of what they say was said before.
    pub(super) fn idle(&self) -> Option<&Streak> {
        (self.fresh.saturating_mul(2) <= self.weight).then_some(&self.messages)
    }

    pub(super) fn fits(&self) -> bool {
        self.speakers.len() <= SPEAKERS && self.messages.fits()
    }
}
