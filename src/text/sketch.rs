//! Which words a text is made of, in a hundred bytes: enough to tell one text with a moving part from another text.

use super::request::{has_digit, word_hashes};
use crate::codec::codec;
use alloc::vec::Vec;

/// Words kept: those with the lowest hashes, which are the same ones in texts that share most of their words.
const KEPT: usize = 24;
/// Words that are looked at, and the fewest of which a share says something.
const WORDS: usize = 256;
const FEWEST: usize = 8;

/// The words of a text, each once, the lowest hashes first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sketch(Vec<u32>);
codec!(struct Sketch(_));

impl Sketch {
    pub(crate) fn of(text: &str) -> Self {
        let mut words: Vec<u32> = word_hashes(text).take(WORDS).collect();
        words.sort_unstable();
        words.dedup();
        words.truncate(KEPT);
        words.shrink_to_fit();
        Self(words)
    }

    /// Whether all but a small part of both is the same, and no figure moves in that part: figures count something.
    pub(crate) fn differs_little(&self, other: &Self) -> bool {
        if self.0.len() < FEWEST || other.0.len() < FEWEST {
            return false;
        }
        // Of longer texts only what is kept of both together can be compared.
        let whole = self.0.len() < KEPT && other.0.len() < KEPT;
        let last = if whole { u32::MAX } else { self.0.last().min(other.0.last()).copied().unwrap_or(0) };
        let (mut all, mut shared, mut moves) = (0_usize, 0_usize, false);
        for (own, theirs) in [(self, other), (other, self)] {
            for word in own.0.iter().filter(|word| **word <= last) {
                let both = theirs.0.binary_search(word).is_ok();
                all += 1;
                shared += usize::from(both);
                moves |= !both && has_digit(*word);
            }
        }
        // What both have was counted twice, and so were all words.
        let shared = shared / 2;
        // Three quarters of each of them.
        !moves && shared * 8 >= all * 3
    }

    pub(crate) fn fits(&self) -> bool {
        self.0.len() <= KEPT && self.0.is_sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{
        format,
        string::{String, ToString as _},
    };

    fn differs_little(one: &str, other: &str) -> bool {
        Sketch::of(one).differs_little(&Sketch::of(other))
    }

    #[test]
    fn a_moving_part() {
        let tip =
            |word: &str| format!("Two parcels wait at the harbour office; collect both before Friday. Word: {word}");
        assert!(differs_little(&tip("kestrel"), &tip("gravel")));
        assert!(!differs_little(&tip("kestrel"), &tip("gravel path beside seven lakes below northern hills")));
        // A figure counts something, and a few words are an answer of their own.
        assert!(!differs_little(&tip("12 parcels"), &tip("13 parcels")));
        assert!(!differs_little("stage: building", "stage: testing"));
        let page =
            |word: &str| (0..90).map(|n| format!("word{} ", char::from(b'a' + n % 26))).collect::<String>() + word;
        assert!(differs_little(&page("kestrel"), &page("gravel")));
        let long = |from: u32, word: &str| -> String {
            let name = |n: u32| n.to_string().bytes().map(|digit| char::from(digit + b'A' - b'0')).collect::<String>();
            (from..from + 120).map(|n| name(n) + "x ").collect::<String>() + word
        };
        assert!(differs_little(&long(100, "kestrel"), &long(100, "gravel")));
        assert!(!differs_little(&long(100, ""), &long(180, "")));
    }

    proptest::proptest! {
        #[test]
        fn both_ways(one in "[a-f ]{0,200}", other in "[a-f 0-9]{0,200}") {
            let (one, other) = (Sketch::of(&one), Sketch::of(&other));
            proptest::prop_assert!(one.fits() && other.fits());
            proptest::prop_assert_eq!(one.differs_little(&other), other.differs_little(&one));
        }
    }
}
