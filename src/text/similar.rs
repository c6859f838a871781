//! How similar two texts are: the share of characters in their longest common subsequence, as fuzzy string matching
//! measures it.

use crate::text::ends::clip_to;
use crate::text::mask::{Strength, normalise};
use alloc::{string::String, vec::Vec};

/// Characters of a text that are compared at its beginning and, of a longer one, at its end.
const HALF: usize = 500;
/// Blocks of 64 characters that hold a gist.
const BLOCKS: usize = HALF * 2 / 64 + 1;

/// What is kept of a text for comparison: lightly masked, at most 1,000 characters.
pub(crate) fn gist(text: &str) -> String {
    // Masking shortens, so more is read than is kept, within a bound.
    let (head, tail) = clip_to(text, HALF * 8);
    let mut masked = String::new();
    normalise(head, Strength::Light, &mut masked);
    if !tail.is_empty() {
        masked.push(' ');
        normalise(tail, Strength::Light, &mut masked);
    }
    let count = masked.chars().count();
    if count <= HALF * 2 {
        return masked;
    }
    masked.chars().take(HALF).chain(masked.chars().skip(count - HALF)).collect()
}

/// Whether a gist is within its bound.
pub(crate) fn is_gist(text: &str) -> bool {
    text.len() <= HALF * 2 * 4
}

/// A text that others are compared with.
pub(crate) struct Pattern {
    length: usize,
    /// For every character, a bit mask of its positions; sorted by character.
    places: Vec<(char, [u64; BLOCKS])>,
}

impl Pattern {
    pub(crate) fn new(gist: &str) -> Self {
        let mut places: Vec<(char, [u64; BLOCKS])> = Vec::new();
        let mut length = 0;
        for char in gist.chars().take(BLOCKS * 64) {
            let index = match places.binary_search_by_key(&char, |(known, _)| *known) {
                Ok(index) => index,
                Err(index) => {
                    places.insert(index, (char, [0; BLOCKS]));
                    index
                }
            };
            if let Some(block) = places.get_mut(index).and_then(|(_, blocks)| blocks.get_mut(length / 64)) {
                *block |= 1 << (length % 64);
            }
            length += 1;
        }
        Self { length, places }
    }

    /// Similarity in percent, rounded down: twice the longest common subsequence divided by the length of both texts.
    pub(crate) fn percent(&self, gist: &str) -> u32 {
        let (common, length) = self.common(gist);
        let both = self.length + length;
        // Two empty texts are equal.
        (common * 2 * 100).checked_div(both).and_then(|percent| u32::try_from(percent).ok()).unwrap_or(100)
    }

    /// Lengths of the longest common subsequence and of the other text. Bit-parallel: a zero in `rows` is a character
    /// of the pattern that is part of the subsequence.
    fn common(&self, gist: &str) -> (usize, usize) {
        let mut rows = [u64::MAX; BLOCKS];
        let mut length = 0;
        for char in gist.chars() {
            length += 1;
            let Ok(index) = self.places.binary_search_by_key(&char, |(known, _)| *known) else { continue };
            let Some((_, places)) = self.places.get(index) else { continue };
            let mut carry = false;
            for (row, places) in rows.iter_mut().zip(places) {
                let here = *row & places;
                let (sum, over) = row.overflowing_add(here);
                let (sum, again) = sum.overflowing_add(u64::from(carry));
                carry = over || again;
                *row = sum | (*row & !here);
            }
        }
        let common: u32 = rows.iter().map(|row| row.count_zeros()).sum();
        (common as usize, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, vec};

    /// Reference implementation by dynamic programming.
    fn slow(one: &str, other: &str) -> u32 {
        let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
        let mut row = vec![0_usize; other.len() + 1];
        for a in &one {
            let mut diagonal = 0;
            for (index, b) in other.iter().enumerate() {
                let above = row[index + 1];
                row[index + 1] = if a == b { diagonal + 1 } else { above.max(row[index]) };
                diagonal = above;
            }
        }
        let both = one.len() + other.len();
        (row[other.len()] * 200).checked_div(both).map_or(100, |percent| u32::try_from(percent).unwrap())
    }

    #[test]
    fn known_similarities() {
        for (one, other, percent) in [
            ("", "", 100),
            ("abc", "", 0),
            ("abc", "abc", 100),
            ("abc", "xyz", 0),
            ("this is a test", "this is a test!", 96),
            ("Fixed auth.ts - added null check", "Fixed auth.ts - added null checks", 98),
            ("größe", "grösse", 72),
        ] {
            assert_eq!(Pattern::new(one).percent(other), percent, "{one} / {other}");
        }
    }

    proptest::proptest! {
        #[test]
        fn as_by_the_book(one in "[abc \u{e9}]{0,200}", other in "[abc \u{e9}]{0,200}") {
            proptest::prop_assert_eq!(Pattern::new(&one).percent(&other), slow(&one, &other));
        }
    }

    #[test]
    fn long_texts_are_compared_by_both_ends() {
        let text =
            |middle: &str, end: &str| gist(&format!("{}{}{}{end}", "start ".repeat(100), middle, "x ".repeat(900)));
        assert!(is_gist(&text("a", "b")));
        assert_eq!(Pattern::new(&text("one", "end")).percent(&text("two", "end")), 100);
        let other = gist(&"entirely different words ".repeat(80));
        assert!(Pattern::new(&text("one", "end")).percent(&other) < 60);
        let wide = gist(&"漢字".repeat(5000));
        assert!(is_gist(&wide) && wide.chars().count() <= 1000);
    }

    #[test]
    fn what_a_clock_puts_in_does_not_count() {
        assert_eq!(gist("Built the site at 10:31:07 in full"), gist("Built the site at 11:02:55 in full"));
    }
}
