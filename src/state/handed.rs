//! Whether anything new came since control was handed over.
//!
//! A supervisor hands work to the same agent again and again, in the same words and with the same acknowledgement; such
//! frameworks work that way, and it is no loop while something new is said or found in between. So a handover counts as
//! a repeat of the one before only if nothing new came.

use super::Ring;
use crate::codec::codec;
use crate::text::Key;

/// Messages and outcomes remembered.
const SEEN: usize = 16;

/// What came since the first handover; stays empty in a run without one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handed {
    /// Number of new items so far; 0 before the first handover.
    news: u32,
    seen: Ring<Key>,
}
codec!(struct Handed { news, seen });

impl Handed {
    /// Control is handed over. Returns a number that distinguishes this handover from earlier ones.
    pub(crate) fn over(&mut self) -> u32 {
        self.news = self.news.max(1);
        self.news
    }

    /// Something was said, or a call got an outcome.
    pub(crate) fn came(&mut self, what: Key) {
        if self.news == 0 {
            return;
        }
        let known = self.seen.take(|known| *known == what).is_some();
        self.seen.push(what, SEEN);
        if !known {
            self.news = self.news.saturating_add(1);
        }
    }

    pub(crate) fn fits(&self) -> bool {
        self.seen.len() <= SEEN
    }
}
