//! Two or three agents that keep answering each other and name nothing: thanks, farewells, one more confirmation.
//!
//! No message repeats another, and many hold a new word. What gives them away is that new words get fewer, and that
//! nobody names anything.

use crate::codec::codec;
use crate::rules::Cx;
use crate::rules::streak::Streak;
use crate::state::Ring;
use crate::text::Key;

/// Most bytes of a message that may say nothing.
pub(super) const LONGEST: usize = 160;
/// In text without letter case, a message names something if more than one in so many parts of its weight is new.
pub(super) const NAMES: u32 = 3;
/// Speakers kept: among more than three, each may simply have its turn.
const SPEAKERS: usize = 3;

/// Each message leaves this part less of the weights of those before.
const FADING: u32 = 4;

#[derive(Clone, Debug, Default)]
pub(super) struct Chat {
    speakers: Ring<Key>,
    /// Weight of the words of these messages, the latest counting most.
    weight: u32,
    /// Weight of the new ones among them.
    fresh: u32,
    messages: Streak,
    /// The latest speaker had spoken before, and so answers an answer.
    back: bool,
}
codec!(struct Chat { speakers, weight, fresh, messages, back });

impl Chat {
    /// Adds a message, with the weights of its words and of the new ones among them.
    pub(super) fn goes_on(&mut self, [weight, fresh]: [u32; 2], cx: &Cx<'_>) {
        if self.speakers.nth_back(0) == Some(&cx.agent) {
            *self = Self::default();
        }
        let full = self.speakers.len() == SPEAKERS;
        self.back = self.speakers.met(cx.agent, SPEAKERS);
        // Among more than three, each has its turn.
        if full && !self.back {
            self.messages.clear();
        }
        let fade = |sum: u32, more: u32| (sum - sum / FADING).saturating_add(more);
        (self.weight, self.fresh) = (fade(self.weight, weight), fade(self.fresh, fresh));
        self.messages.add(cx.here, cx.onset);
    }

    /// The messages, if the latest answers an answer and at least half of what they say of late was said before.
    pub(super) fn idle(&self) -> Option<&Streak> {
        (self.back && self.fresh.saturating_mul(2) <= self.weight).then_some(&self.messages)
    }

    pub(super) fn fits(&self) -> bool {
        self.speakers.len() <= SPEAKERS
    }
}
