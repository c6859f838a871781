//! What the user and the system have ordered of the run, which it goes round in circles for on purpose.

use crate::codec::codec;
use crate::text::{ordered_times, orders_sweep, orders_wait};

/// How often something is to be done, as the latest message of the user and the latest order of the system have it, 0
/// for nothing of the kind; and whether the user has ordered to wait for something, or to go through many things.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ordered {
    by_user: u16,
    by_system: u16,
    pub(crate) waits: bool,
    pub(crate) sweeps: bool,
    /// The low half of the number of the user's latest message among the events.
    said: u32,
}
codec!(struct Ordered { by_user, by_system, waits, sweeps, said });

impl Ordered {
    /// The user says something, in that event. What is said right after an order takes nothing of it back, and no
    /// question does.
    pub(crate) fn heard(&mut self, text: &str, event: u64) {
        let goes_on = (event as u32).wrapping_sub(self.said) == 1 || text.trim_end().ends_with(['?', '？', '؟']);
        let before = if goes_on { *self } else { Self::default() };
        self.by_user = before.by_user.max(ordered_times(text) as u16);
        self.waits = before.waits || orders_wait(text);
        self.sweeps = before.sweeps || orders_sweep(text);
        self.said = event as u32;
    }

    /// What else the system tells takes no order back.
    pub(crate) fn told(&mut self, times: u32) {
        if times > 0 {
            self.by_system = times as u16;
        }
    }

    pub(crate) fn times(self) -> u32 {
        self.by_user.max(self.by_system).into()
    }
}
