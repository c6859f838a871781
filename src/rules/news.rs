//! Messages that the host sends an agent on its own initiative: an order to continue, or new content.

use crate::codec::codec;
use crate::model::{Body, Role};
use crate::rules::Fact;
use crate::state::{Ring, Time};
use crate::text::{Key, said};

/// Host texts remembered; a host has few fixed ones.
const HEARD: usize = 8;
/// Minimum number of words in a text that can carry news; shorter texts are treated as orders.
pub(crate) const WORDS: usize = 6;
/// Prefix of this library's own guidance.
const OWN: &str = "Loopwarden";

/// Average interval in milliseconds from which repetition counts as a heartbeat.
pub(crate) const HEARTBEAT: i64 = 120_000;
/// Interval in milliseconds after which talk begins anew, and from which on average not even work in between makes a
/// loop of a repetition: a reminder every half hour is none.
pub(crate) const SILENCE: i64 = 900_000;

/// Whether something that occurred `times` times between `first` and `now` came on average at most every `interval`
/// milliseconds. False without timestamps.
pub(crate) fn rests(interval: i64, first: Time, now: Time, times: u32) -> bool {
    let intervals = i64::from(times.saturating_sub(1));
    let lasted = first.until(now.get());
    intervals > 0 && lasted.is_some_and(|lasted| lasted >= interval.saturating_mul(intervals))
}

/// Digests of what the host has said.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostWords {
    texts: Ring<Key>,
}
codec!(struct HostWords { texts });

impl HostWords {
    /// Whether the host's text is new content. The first text has nothing to be compared with and is taken for an
    /// order.
    pub(crate) fn is_news(&mut self, fact: &Fact<'_>, salt: u64) -> bool {
        let (Fact::Event(event) | Fact::Synthetic(event)) = fact else { return false };
        let text = match &event.body {
            Body::Message(message) if event.context.synthetic && message.role != Role::Assistant => &message.text,
            Body::Host(host) => match &host.detail {
                Some(detail) => detail,
                None => return false,
            },
            _ => return false,
        };
        if text.trim_start().starts_with(OWN) || text.split_whitespace().nth(WORDS - 1).is_none() {
            return false;
        }
        let Some(said) = said(text, salt) else { return false };
        let first = self.texts.len() == 0;
        !self.texts.met(said.key, HEARD) && !first
    }

    pub(crate) fn fits(&self) -> bool {
        self.texts.len() <= HEARD
    }
}
