//! What the host tells an agent of its own accord: an order to go on, or news.

use crate::codec::codec;
use crate::model::{Body, Role};
use crate::rules::Fact;
use crate::state::{Ring, Time};
use crate::text::{Key, said};

/// Texts of the host remembered; a host has few fixed ones.
const HEARD: usize = 8;
/// Words from which a text can carry news: shorter ones are orders, in whatever words.
const WORDS: usize = 6;
/// What this library says itself begins with it.
const OWN: &str = "Loopwarden";

/// Milliseconds from one time to the next, on average, from which what comes again is a heartbeat.
const HEARTBEAT: i64 = 120_000;

/// Whether what came so many times since a first time came as seldom as a heartbeat does, as far as the clock tells.
pub(crate) fn rests(first: Time, now: Time, times: u32) -> bool {
    let intervals = i64::from(times.saturating_sub(1));
    let lasted = first.zip(now.get()).map(|(first, now)| now.saturating_sub(first));
    intervals > 0 && lasted.is_some_and(|lasted| lasted >= HEARTBEAT.saturating_mul(intervals))
}

/// What the host has said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    texts: Ring<Key>,
}
codec!(struct Heard { texts });

impl Heard {
    /// Whether the host tells content that was not heard before. The first text cannot be compared and is taken for an
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
