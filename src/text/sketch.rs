//! The words and figures of a text in a few hundred bytes: enough to tell a text with a changing part from a different
//! text, and figures that fluctuate from those that count something.

use super::ends::{CLIP_ABOVE, clip_to, head};
use super::mask::{Strength, end_of_digits, first_digit, normalise};
use super::request::{has_digit, word_hashes};
use crate::codec::codec;
use crate::text::sorted;
use alloc::{string::String, vec::Vec};

/// Words kept: those with the lowest hashes, which are the same ones in texts that share most of their words.
const KEPT: usize = 24;
/// Words that are read, and the fewest for which a shared fraction is meaningful.
const WORDS: usize = 256;
const FEWEST: usize = 8;
/// Distinct words from which an answer says something in words, and bytes read at either end of it.
const TALKS: usize = 16;
const END: usize = 1000;

/// Figures that are followed individually.
const FIGURES: usize = 12;
/// Flags: a figure has been seen to rise, and to fall.
const ROSE: u8 = 1;
const FELL: u8 = 2;

/// Some of a text's words: the distinct ones without a digit that have the lowest hashes, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words(Vec<u32>);
codec!(struct Words(_));

impl Words {
    /// The words of a text whose volatile parts are masked.
    fn of(masked: &str) -> Self {
        Self::with_all(masked).0
    }

    /// The same, with a digest of all its distinct words.
    fn with_all(masked: &str) -> (Self, u32) {
        let words = word_hashes(masked).filter(|word| !has_digit(*word)).take(WORDS).collect::<Vec<u32>>();
        let mut words = sorted(words);
        words.dedup();
        let all = words.iter().fold(0_u32, |all, word| all.rotate_left(5) ^ word);
        words.truncate(KEPT);
        words.shrink_to_fit();
        (Self(words), all)
    }

    /// The words of the ends of an answer, if it says something in words: at least [`TALKS`] distinct ones, with at
    /// most one figure per three words. Empty otherwise.
    pub(crate) fn said(answer: &str) -> Self {
        let (own, words, figures, _) = Self::of_ends(answer);
        if own.0.len() < TALKS || figures * 3 > words { Self::default() } else { own }
    }

    /// The words of the ends of an answer that shows something, with a digest of all of them. Empty with fewer than
    /// [`FEWEST`].
    pub(crate) fn shown(answer: &str) -> (Self, u32) {
        let (own, _, _, all) = Self::of_ends(answer);
        (if own.0.len() < FEWEST { Self::default() } else { own }, all)
    }

    /// The words of the ends of a text, how many of its words have no digit, how many have one, and a digest of all.
    fn of_ends(answer: &str) -> (Self, usize, usize, u32) {
        let mut masked = String::new();
        let (first, last) = clip_to(answer, END);
        for end in [first, last] {
            normalise(end, Strength::Light, &mut masked);
        }
        let (mut words, mut figures) = (0_usize, 0_usize);
        for word in word_hashes(&masked).take(WORDS) {
            if has_digit(word) { figures += 1 } else { words += 1 }
        }
        let (own, all) = Self::with_all(&masked);
        (own, words, figures, all)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both texts share three quarters of their words.
    pub(crate) fn alike(&self, other: &Self) -> bool {
        let (shared, all) = self.shared(other);
        shared * 8 >= all * 3
    }

    /// The same for nine tenths.
    pub(crate) fn nearly(&self, other: &Self) -> bool {
        let (shared, all) = self.shared(other);
        shared * 20 >= all * 9
    }

    /// The same for six tenths.
    pub(crate) fn akin(&self, other: &Self) -> bool {
        let (shared, all) = self.shared(other);
        shared * 10 >= all * 3
    }

    /// Whether hardly any word is missing from all the others.
    pub(crate) fn are_in<'a>(&self, others: impl Iterator<Item = &'a Self> + Clone) -> bool {
        // Words of a longer text with higher hashes are not kept.
        let tells = |other: &Self, word: u32| other.0.len() < KEPT || other.0.last().is_some_and(|last| word <= *last);
        let (mut known, mut told) = (0, 0);
        for word in &self.0 {
            let is_in = others.clone().any(|other| other.0.binary_search(word).is_ok());
            if is_in || others.clone().all(|other| tells(other, *word)) {
                (known, told) = (known + usize::from(is_in), told + 1);
            }
        }
        told >= FEWEST && (told - known) * KEPT <= told
    }

    /// How many words they share, and how many both have in total.
    fn shared(&self, other: &Self) -> (usize, usize) {
        let (own, theirs) = (&self.0, &other.0);
        // Of longer texts only the range of hashes that both keep is comparable.
        let whole = own.len() < KEPT && theirs.len() < KEPT;
        let last = if whole { u32::MAX } else { own.last().min(theirs.last()).copied().unwrap_or(0) };
        let kept = |words: &[u32]| words.partition_point(|word| *word <= last);
        let (mine, others) = (kept(own), kept(theirs));
        let shared = own.iter().take(mine).filter(|word| theirs.binary_search(word).is_ok()).count();
        (shared, mine + others)
    }

    pub(crate) fn fits(&self) -> bool {
        self.0.len() <= KEPT && self.0.is_sorted()
    }
}

/// What a text consists of, without what changes by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sketch {
    words: Words,
    /// The first figures in order, in thousandths, each with flags for how it has moved from text to text.
    figures: Vec<(u64, u8)>,
    /// Digest of the figures that are not followed.
    others: u32,
}
codec!(struct Sketch { words, figures, others });

impl Sketch {
    pub(crate) fn of(text: &str) -> Self {
        let mut masked = String::new();
        normalise(head(text, CLIP_ABOVE), Strength::Light, &mut masked);
        let mut sketch = Self { words: Words::of(&masked), ..Self::default() };
        let mut rest = masked.as_str();
        while let Some((figure, after)) = figure(rest) {
            if sketch.figures.len() < FIGURES {
                sketch.figures.push((figure, 0));
            } else {
                sketch.others = sketch.others.rotate_left(5).wrapping_add(figure as u32).wrapping_mul(0x9e37_79b1);
            }
            rest = after;
        }
        sketch
    }

    /// Whether a later text differs from this one only in a small part, and all figures that changed fluctuate: one
    /// that has only risen or only fallen is a counter. Updates the flags of the later one.
    pub(crate) fn differs_little(&self, later: &mut Self) -> bool {
        let aligned = self.figures.len() == later.figures.len() && self.others == later.others;
        let mut counts = !aligned;
        if aligned {
            for ((before, moved), (now, moves)) in self.figures.iter().zip(&mut later.figures) {
                let now = &*now;
                let step = if now > before { ROSE } else { FELL };
                *moves = if now == before { *moved } else { moved | step };
                counts |= now != before && *moves != ROSE | FELL;
            }
        }
        !counts && self.shares_words(later)
    }

    fn shares_words(&self, other: &Self) -> bool {
        let few = |sketch: &Self| sketch.words.0.len() + sketch.figures.len() < FEWEST;
        !few(self) && !few(other) && self.words.alike(&other.words)
    }

    pub(crate) fn fits(&self) -> bool {
        self.words.fits() && self.figures.len() <= FIGURES
    }
}

/// The first figure of a text in thousandths, saturating, and the text after it.
fn figure(text: &str) -> Option<(u64, &str)> {
    let bytes = text.as_bytes();
    let whole = first_digit(bytes)?;
    let point = end_of_digits(bytes, whole);
    let has_part = bytes.get(point) == Some(&b'.') && bytes.get(point + 1).is_some_and(u8::is_ascii_digit);
    let end = if has_part { end_of_digits(bytes, point + 1) } else { point };
    let digits = |digits: &[u8]| {
        digits
            .iter()
            .fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit.wrapping_sub(b'0'))))
    };
    let part = bytes.get(point + 1..end).unwrap_or_default();
    let thousandths = part.iter().chain(b"000").take(3).copied().collect::<Vec<u8>>();
    let value = digits(bytes.get(whole..point)?).saturating_mul(1000).saturating_add(digits(&thousandths));
    Some((value, text.get(end..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{
        format,
        string::{String, ToString as _},
    };

    fn differs_little(one: &str, other: &str) -> bool {
        Sketch::of(one).differs_little(&mut Sketch::of(other))
    }

    /// For each text after the first, whether it differs little from the one before.
    fn follow(texts: &[String]) -> Vec<bool> {
        let mut sketches = texts.iter().map(|text| Sketch::of(text));
        let mut last = sketches.next().unwrap();
        let follow = |mut next: Sketch| {
            let little = last.differs_little(&mut next);
            last = next;
            little
        };
        sketches.map(follow).collect()
    }

    #[test]
    fn figures_that_swing_count_nothing() {
        let state = |signal: u32, left: u32| {
            format!(
                r#"{{"state":"paused","reason":"door open","left":{left},"signal":-{signal},"ready":false,"on":true}}"#
            )
        };
        let swings = [58, 62, 61, 65, 58, 60].map(|signal| state(signal, 185));
        assert_eq!(follow(&swings), [false, true, true, true, true]);
        // A figure that falls steadily counts down, whatever fluctuates beside it.
        let counts: Vec<String> = (0..6_u32).map(|at| state([58, 62][at as usize % 2], 185 - at)).collect();
        assert_eq!(follow(&counts), [false; 5]);
        let parts = [0.8, 0.85, 0.9, 0.95].map(|part| format!("the share of all rows that were read so far is {part}"));
        assert_eq!(follow(&parts), [false; 3]);
        assert_eq!(figure("1.5 of 2"), Some((1500, " of 2")));
        assert_eq!(figure("v2.x"), Some((2000, ".x")));
        assert_eq!(figure(&"9".repeat(30)), Some((u64::MAX, "")));
        assert_eq!(figure("none"), None);
    }

    #[test]
    fn a_moving_part() {
        let tip =
            |word: &str| format!("Two parcels wait at the harbour office; collect both before Friday. Word: {word}");
        assert!(differs_little(&tip("kestrel"), &tip("gravel")));
        assert!(!differs_little(&tip("kestrel"), &tip("gravel path beside seven lakes below northern hills")));
        // A figure is a counter, and a few words are an answer of their own.
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
            let (one, mut other) = (Sketch::of(&one), Sketch::of(&other));
            proptest::prop_assert!(one.fits() && other.fits());
            let back = other.clone().differs_little(&mut one.clone());
            proptest::prop_assert_eq!(one.differs_little(&mut other), back);
            proptest::prop_assert!(other.fits());

        }
    }
}
