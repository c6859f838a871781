//! How much of a text has not been said before, judged as it streams: O(1) per character with bounded memory.
//!
//! A word is new unless a table of fingerprints remembers it after the same two words. Words are weighed in blocks; a
//! run of blocks with little that is new is a text that goes in circles without repeating itself exactly. Where even
//! the single words of so much prose are all known, that counts for much more: the same few things are said in ever
//! other orders. A few sentences that come by turns need no block. As for all streams, it makes no difference how the
//! text was cut into chunks.

use super::case::lower;
use super::rows::Rows;
use super::stream::Layout;
use crate::codec::codec;
use crate::state::Ring;
use crate::text::{Key, combine};
use alloc::vec::Vec;

/// Slots of the fingerprint table; a newer fingerprint replaces the older one in its slot.
const SLOTS: usize = 1280;
/// Words per block. Weights are in quarters of a word: a word in a list, a table or a code fence counts a quarter.
pub(crate) const BLOCK_WORDS: u32 = 64;
const BLOCK: u32 = BLOCK_WORDS * PLAIN;
const PLAIN: u32 = 4;
/// Percentages of new words below which a block says little, and below which it says so little that it counts twice.
const LITTLE: u32 = 40;
const LEAST: u32 = 25;

/// First occurrences of words, numbers aside, beyond which a block earns no points: it is about something else each
/// time, such as the next name on a list.
const NAMED: u32 = 1;

/// Points of a block of prose with at most one new word. The first such blocks in a row earn none, as many as there are
/// blocks of distinct words so far: in a long text they occur by chance. A narrow one always earns them.
const BARREN: u32 = 5;
/// Most bits of 64 that the words of a narrow block set, one each: some two dozen words, where prose has twice as many.
const NARROW: u32 = 20;

/// Consecutive blocks that say little.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drift {
    pub(crate) blocks: u32,
    /// Their score; blocks that say least count twice.
    pub(crate) points: u32,
    /// Characters of the stream before the first of them.
    pub(crate) offset: u64,
    /// Consecutive recurring rows, if those are what drifts.
    pub(crate) rows: u32,
}
codec!(struct Drift { blocks, points, offset, rows });

/// The position in the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cursor {
    layout: Layout,
    characters: u64,
    /// Hash of the current word; 0 between words.
    word: u32,
    /// The current word contains a digit.
    number: bool,
    /// The word before it did.
    follows: bool,
}
codec!(struct Cursor { layout, characters, word, number, follows });

impl Cursor {
    #[inline]
    fn letter(&mut self, letter: u32) {
        self.number = letter.wrapping_sub(u32::from(b'0')) < 10 || self.word != 0 && self.number;
        self.word = next(self.word, letter);
    }
}

/// The distinct words of a text's prose, as far as a table remembers them, and whether any was new recently.
#[derive(Clone, Debug, Default)]
struct Prose {
    heard: KnownWords,
    /// Words in this block, the new ones among them, and a bit for each word.
    words: u32,
    new: u32,
    spread: u64,
    /// New words since the last block of [`Novelty`] ended, numbers aside.
    named: u32,
    /// New words in total.
    distinct: u32,
    /// Characters before this block.
    block: u64,
    /// Consecutive blocks with at most one new word.
    barren: Drift,
}
codec!(struct Prose { heard, words, new, spread, named, distinct, block, barren });

/// Sets in the table of words, and words per set.
const PLACES: usize = 128;
const WAYS: usize = 4;

/// Words heard before, as a table with a fixed number of sets: one-byte fingerprints, the latest to be entered first; 0
/// is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownWords(Vec<[u8; WAYS]>);
codec!(struct KnownWords(_));

impl KnownWords {
    /// Enters a word; whether it was new, as far as the table remembers.
    #[inline]
    pub(super) fn learn(&mut self, word: u32, places: usize) -> bool {
        if self.0.len() != places {
            self.0.resize(places, [0; WAYS]);
        }
        let hash = word.wrapping_mul(0x9e37_79b1);
        let fingerprint = (hash >> 16 & 0xff).max(1);
        let Some(place) = self.0.get_mut((hash >> 25) as usize % places) else { return false };
        let known = u32::from_le_bytes(*place);
        // SWAR: a byte equal to the fingerprint is zero here, which sets its high bit below.
        let other = known ^ fingerprint.wrapping_mul(0x0101_0101);
        let new = other.wrapping_sub(0x0101_0101) & !other & 0x8080_8080 == 0;
        if new {
            *place = (known << 8 | fingerprint).to_le_bytes();
        }
        new
    }

    pub(super) fn fits(&self, places: usize) -> bool {
        self.0.is_empty() || self.0.len() == places
    }
}

impl Prose {
    /// Takes a word; whether it ended a block. A number that was said before does not count as a word: tables repeat
    /// them.
    #[inline]
    fn take(&mut self, word: u32, cursor: &Cursor, names: bool) -> bool {
        if self.heard.learn(word, PLACES) {
            self.new += 1;
            self.named += u32::from(names);
        } else if cursor.number {
            return false;
        }
        self.spread |= 1 << (word.wrapping_mul(0x9e37_79b1) >> 26);
        self.words += 1;
        if self.words < BLOCK_WORDS {
            return false;
        }
        self.ends(cursor.characters);
        true
    }

    #[inline(never)]
    fn ends(&mut self, characters: u64) {
        self.distinct = self.distinct.saturating_add(self.new);
        if self.new > 1 {
            self.barren = Drift::default();
        } else {
            if self.barren.blocks == 0 {
                self.barren.offset = self.block;
            }
            self.barren.blocks = self.barren.blocks.saturating_add(1);
            if self.barren.blocks > self.distinct / BLOCK_WORDS || self.spread.count_ones() <= NARROW {
                self.barren.points = self.barren.points.saturating_add(BARREN);
            }
        }
        (self.words, self.new, self.spread, self.block) = (0, 0, 0, characters);
    }

    fn fits(&self) -> bool {
        self.heard.fits(PLACES) && self.words < BLOCK_WORDS && self.new <= self.words && self.named <= BLOCK_WORDS
    }
}

/// Words by which the end of a sentence is known, and its fewest.
const ENDING: usize = 8;
/// Sentences kept.
const SENTENCES: usize = 16;
/// Bits of a sentence's mark that count how often it came.
const TIMES: u32 = 3;
/// Words of repeated sentences per point.
const REPEATED: u32 = 6;

/// Sentences of prose that come again, whatever leads over to them: `Overall, the quay is safe.`, `Wait, the quay is
/// safe.` Those said for the third time count, once one was said for the fourth, until a sentence says something else.
#[derive(Clone, Debug, Default)]
struct Sentences {
    /// The latest words, in places that go round.
    latest: [u32; ENDING],
    /// Words of this sentence, and the text's distinct words before it.
    words: u32,
    distinct: u32,
    /// A full stop follows the latest word.
    stops: bool,
    /// Mark of the ending of each sentence; in its lowest bits, how often it came, at most three times.
    known: Ring<u32>,
    /// Words of the sentences that have come again, characters up to the end of the first, and whether one of them has
    /// come for the fourth time: pages have their description three times in their head.
    again: u32,
    offset: u64,
    often: bool,
}
codec!(struct Sentences { latest, words, distinct, stops, known, again, offset, often });

impl Sentences {
    /// Takes a word of prose.
    #[inline]
    fn take(&mut self, word: u32) {
        if let Some(latest) = self.latest.get_mut(self.words as usize % ENDING) {
            *latest = word;
        }
        self.words = self.words.saturating_add(1);
    }

    /// Ends a sentence, with so many distinct words in the text; whether it is one that comes again.
    #[inline(never)]
    fn ends(&mut self, distinct: u32, characters: u64) -> bool {
        let words = core::mem::take(&mut self.words);
        let new = core::mem::replace(&mut self.distinct, distinct) != distinct;
        if (words as usize) < ENDING {
            return false;
        }
        let ending = (0..ENDING).map(|at| self.latest.get((words as usize + at) % ENDING).copied().unwrap_or(0));
        let mark = (ending.fold(0, mix) >> 32) as u32 & !TIMES;
        // One sentence in a row is another rule's.
        if self.known.last().is_some_and(|known| known & !TIMES == mark) {
            return false;
        }
        let times = self.known.take(|known| known & !TIMES == mark).map_or(0, |known| known & TIMES);
        self.known.push(mark | (times + 1).min(TIMES), SENTENCES);
        if new || times == 0 {
            (self.again, self.often) = (0, false);
        }
        if new || times < 2 {
            return false;
        }
        self.often |= times > 2;
        if self.again == 0 {
            self.offset = characters;
        }
        self.again = self.again.saturating_add(words);
        true
    }

    fn drift(&self) -> Drift {
        let words = if self.often { self.again } else { 0 };
        Drift { blocks: words.div_ceil(BLOCK_WORDS), points: words / REPEATED, offset: self.offset, rows: 0 }
    }

    fn fits(&self) -> bool {
        self.known.len() <= SENTENCES
    }
}

#[inline]
fn mix(sum: u64, word: u32) -> u64 {
    (sum ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// The hash of a word extended by a letter; never 0.
#[inline]
fn next(word: u32, letter: u32) -> u32 {
    word.wrapping_mul(31).wrapping_add(letter).max(1)
}

/// The state of one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Novelty {
    /// Fingerprints of three words in a row, one byte each; 0 is empty.
    seen: Vec<u8>,
    cursor: Cursor,
    /// The two words before the current one.
    before: [u32; 2],
    /// Hash of all words so far, for comparing streams.
    sum: u64,
    /// Weight of the words in this block, and of the new ones among them.
    weight: u32,
    new: u32,
    /// Characters before this block.
    block: u64,
    drift: Drift,
    prose: Prose,
    sentences: Sentences,
    pub(super) rows: Rows,
}
codec!(struct Novelty { seen, cursor, before, sum, weight, new, block, drift, prose, sentences, rows });

impl Novelty {
    /// Reads the next chunk of text and returns the drift with the most points at any time in it.
    pub(crate) fn feed(&mut self, text: &str) -> Drift {
        if self.seen.len() != SLOTS {
            self.seen.resize(SLOTS, 0);
        }
        let mut heaviest = self.drift();
        // A local copy, so that it stays in registers.
        let mut cursor = self.cursor;
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at).copied() {
            let letter = letter(byte);
            if letter != 0 && cursor.layout.is_settled() {
                // Fast path: within a word only letters and digits matter.
                let (before, mut word) = (at, cursor.word);
                let mut letters = if word == 0 || !cursor.number { LETTER } else { 0 };
                while let Some(letter) = bytes.get(at).map(|byte| self::letter(*byte)).filter(|letter| *letter != 0) {
                    word = next(word, u32::from(letter));
                    letters &= letter;
                    at += 1;
                }
                (cursor.word, cursor.number) = (word, letters & LETTER == 0);
                cursor.characters = cursor.characters.saturating_add((at - before) as u64);
                continue;
            }
            if letter != 0 {
                cursor.letter(u32::from(letter));
            } else if !byte.is_ascii() {
                let Some(rest) = text.get(at..) else { break };
                for character in rest.chars().take_while(|character| !character.is_ascii()) {
                    self.wide(character, &mut cursor, &mut heaviest);
                    // To the layout every non-ASCII character is plain text.
                    cursor.layout.byte(byte);
                    cursor.characters = cursor.characters.saturating_add(1);
                    at += character.len_utf8();
                }
                continue;
            } else if cursor.word != 0 {
                self.take_word(&mut cursor, &mut heaviest, false);
                if byte == b'.' {
                    self.rows.stops();
                }
                self.sentences.stops = matches!(byte, b'.' | b'!' | b'?');
            }
            cursor.layout.byte(byte);
            cursor.characters = cursor.characters.saturating_add(1);
            at += 1;
            if byte == b'\n' {
                let round = self.rows.ends(cursor.characters);
                heaviest = round.filter(|round| round.points > heaviest.points).unwrap_or(heaviest);
            }
        }
        self.cursor = cursor;
        heaviest
    }

    fn wide(&mut self, character: char, cursor: &mut Cursor, heaviest: &mut Drift) {
        let is_word = is_word(character);
        // Fast path: recognises common CJK punctuation without the Unicode tables.
        let punctuation =
            matches!(character, '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3020}' | '\u{ff01}'..='\u{ff0f}');
        if !is_word && !punctuation && character.is_alphanumeric() {
            cursor.letter(u32::from(lower(character)));
            return;
        }
        if cursor.word != 0 {
            self.take_word(cursor, heaviest, false);
        }
        if is_word {
            cursor.letter(u32::from(character));
            self.take_word(cursor, heaviest, true);
        } else if character == '\u{3002}' {
            self.rows.stops();
            self.sentences.stops = true;
        }
    }

    /// Takes the word that has ended; `alone` if it is a single character that is a word of its own.
    fn take_word(&mut self, cursor: &mut Cursor, heaviest: &mut Drift, alone: bool) {
        let word = core::mem::take(&mut cursor.word);
        let [first, second] = self.before;
        // In a script without spaces a pair of characters corresponds to a word, and counting half of the pairs is
        // enough.
        if !(alone && word & 1 == 0) && cursor.layout.is_prose() {
            if core::mem::take(&mut self.sentences.stops) {
                let distinct = self.prose.distinct.wrapping_add(self.prose.new);
                if self.sentences.ends(distinct, cursor.characters) {
                    let again = self.sentences.drift();
                    *heaviest = if again.points > heaviest.points { again } else { *heaviest };
                }
            }
            self.sentences.take(word);
            let said = if alone { word ^ second.rotate_left(13) } else { word };
            let names = !(cursor.number || alone && cursor.follows);
            if self.prose.take(said, cursor, names) && self.prose.barren.points > heaviest.points {
                *heaviest = self.prose.barren;
            }
        }
        self.rows.word(word, cursor.number, alone && word & 1 == 0);
        cursor.follows = cursor.number;
        let hash = mix(mix(mix(0, first), second), word).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.sum = mix(self.sum, word);
        self.before = [second, word];
        let fingerprint = ((hash >> 32) as u8).max(1);
        let weight = if cursor.layout.is_values() {
            0
        } else if cursor.layout.is_structured() {
            1
        } else {
            PLAIN
        };
        if let Some(known) = self.seen.get_mut(((hash >> 48) as usize * SLOTS) >> 16) {
            self.new += if *known == fingerprint { 0 } else { weight };
            *known = fingerprint;
        }
        self.weight += weight;
        if self.weight >= BLOCK {
            self.ends(cursor.characters);
            if self.drift.points > heaviest.points {
                *heaviest = self.drift;
            }
        }
    }

    /// Judges the block that has ended.
    #[inline(never)]
    fn ends(&mut self, characters: u64) {
        let named = core::mem::take(&mut self.prose.named);
        if self.new * 100 < self.weight * LITTLE {
            if self.drift.blocks == 0 {
                self.drift.offset = self.block;
            }
            let least = self.new * 100 < self.weight * LEAST;
            self.drift.blocks = self.drift.blocks.saturating_add(1);
            let points = 1 + u32::from(least);
            self.drift.points = self.drift.points.saturating_add(if named > NAMED { 0 } else { points });
        } else {
            self.drift = Drift::default();
        }
        (self.weight, self.new, self.block) = (0, 0, characters);
    }

    /// The current drift with the most points.
    pub(crate) fn drift(&self) -> Drift {
        let drift = if self.prose.barren.points > self.drift.points { self.prose.barren } else { self.drift };
        let heavier = |one: Drift, other: Drift| if other.points > one.points { other } else { one };
        heavier(heavier(drift, self.rows.drift()), self.sentences.drift())
    }

    /// A digest of the words, whatever chunks they came in.
    pub(crate) fn digest(&self) -> Key {
        combine("stream", &[self.cursor.characters, self.cursor.word.into(), self.sum])
    }

    /// Whether a restored state respects its bounds.
    pub(crate) fn fits(&self) -> bool {
        let table = self.seen.is_empty() || self.seen.len() == SLOTS;
        table
            && self.weight < BLOCK
            && self.new <= self.weight
            && self.prose.fits()
            && self.sentences.fits()
            && self.rows.fits()
    }
}

/// The bit set in every non-zero entry of [`LETTERS`] except the digits.
const LETTER: u8 = 0x40;

/// ASCII letters and digits in lower case, and a non-zero value for `_`; 0 for every other byte.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
static LETTERS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_' {
            table[byte] = byte as u8 | 0x20;
        }
        byte += 1;
    }
    table
};

#[inline]
fn letter(byte: u8) -> u8 {
    LETTERS.get(usize::from(byte)).copied().unwrap_or(0)
}

/// Characters that are words of their own: Han, Hiragana and Katakana.
fn is_word(character: char) -> bool {
    matches!(u32::from(character), 0x3040..=0x30ff | 0x31f0..=0x31ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xf900..=0xfaff | 0xff66..=0xff9f | 0x2_0000..=0x3_ffff)
}

#[cfg(test)]
mod tests {
    use super::{Drift, Novelty};
    use alloc::{format, string::String, vec::Vec};
    use proptest::prelude::*;

    fn drift(text: &str) -> Drift {
        Novelty::default().feed(text)
    }

    #[test]
    fn words_of_every_script() {
        let blocks = |text: &str| {
            let mut novelty = Novelty::default();
            novelty.feed(text);
            novelty.drift.blocks
        };
        // 64 words per block: the 640 words after the first lap make ten blocks.
        let lap: String = (0..40).map(|n| format!("word{n} ")).collect();
        assert_eq!(blocks(&lap.repeat(19)), 10);
        assert_eq!(blocks(&lap.to_uppercase().repeat(19)), 10);
        let lap: String = (0..40).filter_map(|n| char::from_u32(0x4e00 + n * 97)).collect();
        assert_eq!(blocks(&lap.repeat(19)), 10);
        let lap: String = (0..40).map(|n| format!("слово{n} ")).collect();
        assert_eq!(blocks(&lap.repeat(19)), 10);
    }

    #[test]
    fn sentences_that_come_again() {
        const QUAY: &str = "the harbour is ready for the coming winter and looks forward to its ships";
        const MOLE: &str = "the mole has been mended over its whole length and stands as firm as ever";
        let points = |text: &str| {
            let mut novelty = Novelty::default();
            novelty.feed(text);
            novelty.sentences.drift().points
        };
        let leads = ["In short,", "Wait,", "Overall,", "So", "But no,", "Well,"];
        let say = |n: usize| format!("{} {}. ", leads[n % 6], [QUAY, MOLE][n % 2]);
        let text = |times: usize| (0..times).map(say).collect::<String>();
        assert_eq!(points(&text(6)), 0);
        assert!(points(&text(12)) >= 10, "{}", points(&text(12)));
        // Short remarks in between change nothing, something new ends it, and one sentence in a row is another rule's.
        let remarks = (0..12).map(|n| say(n) + ["Hold on. ", "Hm! ", "Really? "][n % 3]).collect::<String>();
        assert!(points(&remarks) >= 10, "{}", points(&remarks));
        assert_eq!(points(&format!("{}The ice came in the night and took the eastern beacon away. So. ", text(12))), 0);
        assert_eq!(points(&format!("{QUAY}. ").repeat(12)), 0);
        // Said of somebody else each time; three times in a head, as by pages.
        let names = ["Ada", "Bo", "Cem", "Dov", "Eli", "Fay", "Gus", "Hal", "Ida", "Jon", "Kim", "Lea"];
        assert_eq!(
            points(&names.map(|name| format!("{name} says that {QUAY}. {name} knows that {MOLE}. ")).concat()),
            0
        );
        assert_eq!(
            points(&format!("{QUAY}. {MOLE}. Both have been paid for by the old fund of the town. ").repeat(3)),
            0
        );
        let dense = [
            "今年冬天港口已经为所有到来的船只做好了充分的准备工作。",
            "防波堤全线已经修好并且像从前一样坚固地立在海中间。",
        ];
        assert!(points(&dense.concat().repeat(7)) >= 10, "{}", points(&dense.concat().repeat(7)));
    }

    #[test]
    fn structured_lines_count_a_quarter() {
        for (prefix, row) in [("", "- "), ("", "| "), ("```\n", ""), ("", "7. ")] {
            let line = |n: usize| format!("{row}one two three four five six seven {}\n", n % 5);
            let named = |n: usize| format!("{row}one two three four five six seven {}\n", n * 7);
            let text = |count: usize, line: &dyn Fn(usize) -> String| {
                format!("{prefix}{}", (0..count).map(line).collect::<String>())
            };
            assert!(drift(&text(50, &named)).blocks <= 1, "{row}");
            assert!(drift(&text(400, &named)).blocks >= 10, "{row}");
            assert!(drift(&text(400, &line)).blocks >= 10, "{row}");
        }
        let plain: String = (0..90).map(|n| format!("one two three four five six seven {}\n", n % 5)).collect();
        assert!(drift(&plain).blocks >= 8);
    }

    #[test]
    fn prose_without_a_new_word() {
        let barren = |text: &str| {
            let mut novelty = Novelty::default();
            novelty.feed(text);
            novelty.prose.barren.points
        };
        // Eleven words in ever other orders: every triple may be new, but no word is.
        let words = ["sun", "water", "soil", "pot", "shoot", "feed", "morning", "week", "leaf", "room", "root"];
        let said = |n: usize| words[n * n / 3 % 11];
        let text = |count: usize| (0..count).map(|n| format!("{} ", said(n * 7 + n / 11))).collect::<String>();
        // The first block introduces them, and each of the following earns five points.
        assert_eq!(barren(&text(64 * 2)), 5);
        assert_eq!(barren(&text(64 * 4)), 15);
        // The more words there were before, the longer it takes, unless the blocks hold few.
        let before: String = (0..192).map(|n| format!("other{n} ")).collect();
        let letter = |n: usize| char::from(b'a' + (n % 60 / 8) as u8);
        let wide = |count: usize| -> String {
            (0..count)
                .map(|n| format!("{}o{} ", letter(n), ["st", "re", "li", "ma", "ku", "vo", "ne", "ty"][n % 60 % 8]))
                .collect()
        };
        assert_eq!(barren(&format!("{before}{}", wide(64 * 4))), 0);
        assert_eq!(barren(&format!("{before}{}", wide(64 * 6))), 10);
        assert_eq!(barren(&format!("{before}{}", text(64 * 4))), 15);
        // The words of list items count, their numbers do not; neither do tables, code fences and repeated figures.
        let list: String =
            (0..64).map(|n| format!("{n}. {} {} {} {}\n", said(n), said(n + 1), said(n + 5), said(n + 9))).collect();
        assert_eq!(barren(&list), 15);
        let fence = format!("```\n{}\n```\n", text(64 * 8));
        assert_eq!(barren(&fence), 0);
        let grid: String = (0..400).map(|n| format!("{}\n", n * n % 97)).collect();
        assert_eq!(barren(&grid), 0);
        // Neither do values separated by commas without blanks; an enumeration is prose.
        let values = |comma: &str, last: &dyn Fn(usize) -> usize| -> String {
            let row = |n: usize| [said(n), said(n * n), said(n * n / 7), said(n / 3)].join(comma);
            (0..400).map(|n| format!("{}{comma}w{}\n", row(n), last(n))).collect()
        };
        assert!(barren(&values(", ", &|n| n % 7)) >= 20);
        let all = values(",", &|n| n);
        assert_eq!((barren(&all), drift(&all).points), (0, 0));
        let dated: String =
            (0..400).map(|n| format!("2031-{:02}-{:02},{},{}\n", n / 28 % 12, n % 28, said(n), said(n * n))).collect();
        assert_eq!((barren(&dated), drift(&dated).points), (0, 0));
        let statements: String = (0..400).map(|n| format!("({n}, '{}', '{}'),\n", said(n), said(n * 3))).collect();
        assert_eq!(barren(&statements), 0);
        // In a script without spaces a pair of characters corresponds to a word.
        let signs = |count: u32| (0..count).filter_map(|n| char::from_u32(0x4e00 + n * n % 60));
        assert!(barren(&signs(600).collect::<String>()) >= 10);
        let pairs = (0..30).flat_map(|one| (0..30).flat_map(move |other| [one, other]));
        let pairs: String = pairs.filter_map(|n| char::from_u32(0x4e00 + n)).take(700).collect();
        assert_eq!(barren(&pairs), 0);
    }

    #[test]
    fn whose_turn_it_is() {
        let turn = |who: &str| {
            format!("{who} rows well this week and helps the others where it can, and is to oil the locks. ")
        };
        let name = |n: u8| format!("{}o{}a", char::from(b'b' + n / 9), char::from(b'b' + n % 9));
        let turns = |who: &dyn Fn(u8) -> String| drift(&(0..60).map(|n| turn(&who(n))).collect::<String>()).points;
        assert!(turns(&name) <= 1);
        // Numbers, and a few names over and over, are not somebody else's turn each time.
        for who in [&(|n: u8| format!("{n}")) as &dyn Fn(u8) -> String, &|n| format!("crew{n}"), &|n| name(n % 5)] {
            assert!(turns(who) >= 15);
        }
        // A number next to a character of a script without spaces does not make a new word.
        let lap = |n: u8| format!("所以阀门必须先打开再关闭，然后第{n}号苗床必须浇水，");
        assert!(drift(&(0..90).map(lap).collect::<String>()).points >= 30);
    }

    #[test]
    fn a_common_phrase_is_no_drift() {
        let text: String = (0..900).map(|n| format!("in the end {n} was {} of them, ", n * 31)).collect();
        assert_eq!(drift(&text).blocks, 0);
    }

    #[test]
    fn what_is_new_ends_the_drift() {
        let lap: String = (0..40).map(|n| format!("word{n} ")).collect();
        let new: String = (0..300).map(|n| format!("new{n} ")).collect();
        let mut novelty = Novelty::default();
        assert_eq!(novelty.feed(&lap.repeat(16)).blocks, 9);
        assert_eq!((novelty.feed(&new).blocks, novelty.drift().blocks), (9, 0));
    }

    #[test]
    fn what_says_least_counts_twice() {
        // In one a third of the triples are new, in the other none are.
        let some: String = (0..900).map(|n| format!("{} ", if n % 9 == 0 { n } else { n % 9 })).collect();
        let (some, none) = (drift(&some), drift(&"one and the same thing over and over again ".repeat(100)));
        assert!(some.blocks >= 10 && some.points == some.blocks, "{some:?}");
        assert!(none.blocks >= 10 && none.points >= none.blocks * 2 - 2, "{none:?}");
        // One text with both: the drift with the most points is reported, not the longest.
        let lap = |from: usize, every: usize, words: usize| -> String {
            (0..words).map(|n| format!("w{} ", from + if n % every == 0 { n } else { n % every })).collect()
        };
        let (long, new, short) = (lap(0, 9, 900), lap(5_000, 1, 200), lap(9_000, 40, 600));
        assert!(drift(&long).blocks > drift(&short).blocks && drift(&long).points < drift(&short).points);
        assert_eq!(drift(&format!("{long}{new}{short}")).points, drift(&short).points);
    }

    proptest! {
        #[test]
        fn any_cut_tells_the_same(
            units in prop::collection::vec(("[a-f \n|`-]{1,60}|[请稍等我正在处理 é🙂]{1,60}", 1..60usize), 1..6),
            size in 1..300usize,
        ) {
            let text: String = units.iter().map(|(unit, times)| unit.repeat(*times)).collect();
            let characters: Vec<char> = text.chars().collect();
            let mut pieces = Novelty::default();
            let heaviest = characters.chunks(size).map(|piece| pieces.feed(&piece.iter().collect::<String>()).points).max();
            let mut whole = Novelty::default();
            prop_assert_eq!(whole.feed(&text).points, heaviest.unwrap_or(0));
            prop_assert_eq!(whole.drift(), pieces.drift());
            prop_assert!(whole.digest() == pieces.digest() && whole.fits());
        }
    }
}
