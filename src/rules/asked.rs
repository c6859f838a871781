//! What a question newly asks about, to tell an answer about that from one that repeats what was known.

use crate::codec::codec;
use crate::state::Ring;
use alloc::boxed::Box;

/// Words kept.
const WORDS: usize = 8;

/// Words of the latest question that nobody had said before.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewlyAsked {
    words: Option<Box<Ring<u32>>>,
}
codec!(struct NewlyAsked { words });

impl NewlyAsked {
    /// Takes a question's words; `learn` remembers a word and returns true if it was not known.
    pub(crate) fn asks(&mut self, words: &[u32], mut learn: impl FnMut(u32) -> bool) {
        self.words = None;
        for word in words.iter().copied().filter(|word| learn(*word)) {
            self.words.get_or_insert_default().push(word, WORDS);
        }
    }

    /// Whether an answer is about what was newly asked: it says those words twice each, on average. Once, an answer may
    /// merely repeat its question.
    pub(crate) fn is_answered(&self, answer: &[u32]) -> bool {
        let Some(words) = &self.words else { return false };
        let said = answer.iter().filter(|word| words.holds(|asked| asked == *word)).count();
        said >= 2 * words.len()
    }

    pub(crate) fn fits(&self) -> bool {
        self.words.iter().all(|words| (1..=WORDS).contains(&words.len()))
    }
}
