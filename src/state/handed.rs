//! Whether anything new came since control was handed over.
//!
//! A supervisor hands work to the same agent again and again, in the same words and with the same acknowledgement; such
//! frameworks work that way, and it is no loop while something new is said or found in between. So a handover counts as
//! a repeat of the one before only if nothing new came.

use super::Ring;
use crate::codec::codec;
use crate::text::{Key, mark};

/// Messages and outcomes remembered.
const SEEN: usize = 16;

/// What came since the first handover; stays empty in a run without one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handed {
    /// Number of new items so far; 0 before the first handover.
    news: u32,
    seen: Ring<Key>,
    /// Low half of the mark of the latest handover's task, and how many of the new items are outcomes of other tasks.
    task: u16,
    elsewhere: u16,
}
codec!(struct Handed { news, seen, task, elsewhere });

impl Handed {
    /// Control is handed over. Returns a number that distinguishes this handover from earlier ones.
    pub(crate) fn over(&mut self) -> u32 {
        self.news = self.news.max(1);
        self.news
    }

    /// Something was said, or a call got an outcome; true if it is new.
    pub(crate) fn came(&mut self, what: Key) -> bool {
        if self.news == 0 {
            return false;
        }
        let known = self.seen.met(what, SEEN);
        if !known {
            self.news = self.news.saturating_add(1);
        }
        !known
    }

    /// Work is handed over in a task: what is found in others from now on may be what became of it.
    pub(crate) fn within(&mut self, task: Key) {
        self.over();
        self.task = mark(task) as u16;
    }

    /// A call of a task got an outcome; `words` is a key of the call and of the outcome without its figures. Looking
    /// again at what differs only in figures is no work on what was handed over.
    pub(crate) fn found(&mut self, what: Key, words: impl FnOnce() -> Key, task: Key) {
        let elsewhere = self.came(what) && mark(task) as u16 != self.task && !self.seen.met(words(), SEEN);
        self.elsewhere = self.elsewhere.wrapping_add(elsewhere.into());
    }

    /// Number of outcomes of other tasks than those in which work was handed over, modulo 65,536.
    pub(crate) const fn elsewhere(&self) -> u16 {
        self.elsewhere
    }

    pub(crate) fn fits(&self) -> bool {
        self.seen.len() <= SEEN
    }
}
