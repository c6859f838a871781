//! Whether anything new came since control was handed over.
//!
//! A supervisor hands work to the same agent time and again, in the same words and with the same answer: that is how
//! such frameworks work, and no loop as long as something new is said or found in between. So a handover is the same
//! call as the one before only where nothing was.

use super::Ring;
use crate::codec::codec;
use crate::text::Key;

/// Messages and outcomes that are remembered.
const SEEN: usize = 16;

/// What came since the first handover; nothing is kept of a run without one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handed {
    /// How often something new came; 0 before the first handover.
    news: u32,
    seen: Ring<Key>,
}
codec!(struct Handed { news, seen });

impl Handed {
    /// Control is handed over: what tells this handover from those before.
    pub(crate) fn over(&mut self) -> u32 {
        self.news = self.news.max(1);
        self.news
    }

    /// Something was said, or a call came to something.
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
