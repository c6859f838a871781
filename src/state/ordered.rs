//! What the user and the system have asked the run to repeat on purpose.

use crate::codec::codec;
use crate::text::{Sweep, mark, ordered_things, ordered_times, orders_sweep, orders_wait, salted, trimmed};

/// Bytes from which a message that is given again to the letter comes from a program: people rephrase, or are brief.
const PROMPT: usize = 120;

/// How often something is to be done, by the user's latest message and the system's latest order, 0 for no such order;
/// and whether the user asked to wait for something or to go through many things.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ordered {
    by_user: u8,
    by_system: u8,
    /// How many things the user ordered to be made or done; 0 for none. They repeat what is merely acknowledged.
    things: u8,
    /// The latest call was merely acknowledged.
    pub(crate) acknowledged: bool,
    pub(crate) waits: bool,
    pub(crate) sweeps: Sweep,
    /// The low half of the sequence number of the user's latest message.
    said: u32,
    /// Mark of the user's latest message if it is a [`PROMPT`], or 0.
    prompt: u32,
}
codec!(struct Ordered { by_user, by_system, things, acknowledged, waits, sweeps, said, prompt });

impl Ordered {
    /// The user says something, in event number `event`. A message directly after an order does not revoke it, nor does
    /// a question.
    pub(crate) fn heard(&mut self, text: &str, event: u64) {
        let goes_on = (event as u32).wrapping_sub(self.said) == 1 || text.trim_end().ends_with(['?', '？', '؟']);
        let before = if goes_on { *self } else { Self::default() };
        self.by_user = before.by_user.max(ordered_times(text) as u8);
        self.things = before.things.max(ordered_things(text) as u8);
        self.waits = before.waits || orders_wait(text);
        self.sweeps = before.sweeps.max(orders_sweep(text));
        self.said = event as u32;
    }

    /// Whether the user's message is the previous one again, given by a program that starts the agent anew.
    pub(crate) fn prompted(&mut self, text: &str, salt: u64) -> bool {
        let prompt = mark(salted("ordered/prompt", salt, trimmed(text).as_bytes())).max(1);
        let prompt = if text.len() < PROMPT { 0 } else { prompt };
        core::mem::replace(&mut self.prompt, prompt) == prompt && prompt != 0
    }

    /// The system asks for `times` repetitions; other system messages (0) revoke nothing.
    pub(crate) fn told(&mut self, times: u32) {
        if times > 0 {
            self.by_system = times.min(u8::MAX.into()) as u8;
        }
    }

    /// The orders as they stand if the next call is merely acknowledged, and if it is not.
    pub(crate) fn possible(self) -> [Self; 2] {
        [true, false].map(|acknowledged| Self { acknowledged, ..self })
    }

    pub(crate) fn times(self) -> u32 {
        let things = if self.acknowledged { self.things } else { 0 };
        self.by_user.max(self.by_system).max(things).into()
    }
}
