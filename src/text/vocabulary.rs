//! The words said recently, in less than half a kilobyte.

use crate::codec::codec;
use alloc::{vec, vec::Vec};

/// Slots for words, in pairs.
const PLACES: usize = 384;

/// Words that were said. When a pair of slots is full the older word is forgotten and seems new if it comes again: the
/// rules using it err towards silence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vocabulary(Vec<u8>);
codec!(struct Vocabulary(_));

impl Vocabulary {
    /// Remembers a word by its hash; true if it was not known.
    pub(crate) fn learn(&mut self, word: u32) -> bool {
        if self.0.is_empty() {
            self.0 = vec![0; PLACES];
        }
        let mixed = word.wrapping_mul(0x9e37_79b1);
        let pair = (mixed >> 8) as usize % (PLACES / 2) * 2;
        let mark = u8::try_from(mixed & 0xff).unwrap_or(1).max(1);
        let Some([newer, older]) = self.0.get_mut(pair..pair + 2) else { return true };
        if *newer == mark || *older == mark {
            return false;
        }
        *older = *newer;
        *newer = mark;
        true
    }

    /// Remembers words; true if any of them was not known.
    pub(crate) fn learn_all(&mut self, words: impl Iterator<Item = u32>) -> bool {
        words.fold(false, |new, word| self.learn(word) | new)
    }

    pub(crate) const fn fits(&self) -> bool {
        self.0.is_empty() || self.0.len() == PLACES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_until_others_take_their_places() {
        let mut known = Vocabulary::default();
        let new = |known: &mut Vocabulary, range: core::ops::Range<u32>| {
            range.filter(|word| known.learn(word.wrapping_mul(0x0100_0193))).count()
        };
        assert!(new(&mut known, 0..100) >= 95);
        assert!(new(&mut known, 0..100) <= 20);
        new(&mut known, 1_000..9_000);
        assert!(new(&mut known, 0..100) >= 90);
        assert!(known.fits());
    }
}
