//! Words of identifiers and texts: splitting, hashing and looking them up in lists.

use super::case;
use super::mask::ONES;
use super::scan::{BLOCK, block, parts};
use core::cmp::Ordering;

/// The words of an identifier, as written. It is split at humps (`camelCase`, `PascalCase`, `HTTPServer`) and
/// separators (`snake_case`, `kebab-case`, dots, slashes); digits stay with the word before them. Only ASCII letters
/// have humps.
pub(crate) fn name_words(name: &str) -> impl Iterator<Item = &str> {
    let in_word = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let mut rest = name;
    core::iter::from_fn(move || {
        let start = rest.bytes().position(in_word)?;
        let bytes = rest.as_bytes().get(start..)?;
        let ends = |pair: &[u8]| match pair {
            [before, byte, after @ ..] => {
                let next_is_lower = after.first().is_some_and(u8::is_ascii_lowercase);
                let hump = byte.is_ascii_uppercase() && (!before.is_ascii_uppercase() || next_is_lower);
                hump || !in_word(*byte)
            }
            _ => false,
        };
        let length = (1..bytes.len()).find(|at| bytes.get(at - 1..).is_some_and(ends)).unwrap_or(bytes.len());
        let (word, tail) = rest.get(start..)?.split_at_checked(length)?;
        rest = tail;
        Some(word)
    })
}

/// Whether one of the words of an identifier is among words separated by single spaces, ignoring ASCII case.
#[inline(never)]
pub(crate) fn any_in(words: &str, name: &str) -> bool {
    name_words(name).any(|word| is_in(words, word))
}

/// Whether a word contains a digit or another numeric character.
pub(super) fn has_figure(word: &str) -> bool {
    if word.is_ascii() { word.bytes().any(|byte| byte.is_ascii_digit()) } else { word.contains(char::is_numeric) }
}

/// An incremental hash of characters, the same on every platform: FNV-1a.
#[derive(Clone, Copy)]
pub(super) struct Sum(pub(super) u32);

impl Sum {
    pub(super) const EMPTY: Self = Self(0x811c_9dc5);

    #[inline(always)]
    pub(super) const fn and(self, char: u32) -> Self {
        Self((self.0 ^ char).wrapping_mul(0x0100_0193))
    }

    /// The finished hash; mixed, because the low bits of a short word's sum are poor.
    #[inline(always)]
    const fn hash(self) -> u32 {
        let sum = (self.0 ^ self.0 >> 15).wrapping_mul(0x2c1b_3c6d);
        sum ^ sum >> 12
    }
}

/// The hash of characters.
pub(super) fn hashed(chars: impl Iterator<Item = char>) -> u32 {
    chars.fold(Sum::EMPTY, |sum, char| sum.and(char.into())).hash()
}

/// The hash of the first `most` characters of a word in lower case.
pub(super) fn hashed_word(word: &str, most: usize) -> u32 {
    if word.is_ascii() {
        word.bytes().take(most).fold(Sum::EMPTY, |sum, byte| sum.and(byte.to_ascii_lowercase().into())).hash()
    } else {
        hashed(word.chars().map(case::lower).take(most))
    }
}

/// The hashes of words, which must be lower-case ASCII.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
pub(super) const fn hashes_of<const COUNT: usize>(words: [&str; COUNT]) -> [u32; COUNT] {
    let mut hashes = [0; COUNT];
    let mut at = 0;
    while at < COUNT {
        let word = words[at].as_bytes();
        let (mut sum, mut byte) = (Sum::EMPTY, 0);
        while byte < word.len() {
            sum = sum.and(word[byte] as u32);
            byte += 1;
        }
        hashes[at] = sum.hash();
        at += 1;
    }
    hashes
}

/// A byte of a non-ASCII character, in [`LOWER`].
const WIDE: u8 = 0xff;
/// ASCII letters and digits in lower case, [`WIDE`] for non-ASCII bytes, 0 for everything else.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
const LOWER: [u8; 256] = {
    let mut lower = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        lower[byte] = match byte as u8 {
            letter if letter.is_ascii_alphanumeric() => letter.to_ascii_lowercase(),
            other if other.is_ascii() => 0,
            _ => WIDE,
        };
        byte += 1;
    }
    lower
};

#[inline(always)]
fn lower(byte: u8) -> u8 {
    LOWER.get(usize::from(byte)).copied().unwrap_or_default()
}

/// A word: its hash in lower case, whether it contains a digit, and its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) hash: u32,
    pub(super) figure: bool,
    pub(super) length: usize,
    /// Only a point separates it from the word before.
    pub(super) dotted: bool,
}

/// An iterator over the words of a text; in scripts without spaces every character is a word.
pub(super) struct Words<'a>(&'a str);

pub(super) const fn words(text: &str) -> Words<'_> {
    Words(text)
}

impl Iterator for Words<'_> {
    type Item = Word;

    /// Not inlined, because it is called in many places.
    #[inline(never)]
    fn next(&mut self) -> Option<Word> {
        let bytes = self.0.as_bytes();
        let start = bytes.iter().position(|byte| lower(*byte) != 0)?;
        let dotted = start == 1 && bytes.first() == Some(&b'.');
        let (mut at, mut sum, mut figure, mut byte) = (start, Sum::EMPTY, false, 0);
        while let Some(next) = bytes.get(at) {
            byte = lower(*next);
            if byte == 0 || byte == WIDE {
                break;
            }
            sum = sum.and(byte.into());
            figure |= byte < b'a';
            at += 1;
        }
        if byte == WIDE {
            let rest = self.0.get(start..)?;
            let (word, tail) = first_word(rest)?;
            let dotted = dotted && rest.starts_with(char::is_alphanumeric);
            self.0 = tail;
            return Some(Word {
                hash: hashed_word(word, usize::MAX),
                figure: has_figure(word),
                length: word.len(),
                dotted,
            });
        }
        self.0 = self.0.get(at..)?;
        Some(Word { hash: sum.hash(), figure, length: at - start, dotted })
    }
}

/// The first word of a text in any script, and the text after it.
fn first_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(|char: char| !char.is_alphanumeric());
    let first = text.chars().next()?;
    let ends = |char: char| !char.is_alphanumeric() || dense(char);
    text.split_at_checked(if dense(first) { first.len_utf8() } else { text.find(ends).unwrap_or(text.len()) })
}

/// Whether a text begins with an HTTP or file URL.
pub(super) fn begins_address(text: &str) -> bool {
    text.starts_with(['h', 'f']) && ["https://", "http://", "file://"].iter().any(|scheme| text.starts_with(scheme))
}

/// Characters of scripts without spaces between words.
pub(crate) const fn dense(char: char) -> bool {
    matches!(char, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// As `str::find`, with a fast path for ASCII.
#[inline]
pub(super) fn find(text: &str, wanted: impl Fn(char) -> bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let char = if byte.is_ascii() { char::from(*byte) } else { text.get(at..)?.chars().next()? };
        if wanted(char) {
            return Some(at);
        }
        at += char.len_utf8();
    }
    None
}

/// Whether two words are equal, ignoring ASCII case. Not inlined where code size counts.
#[cfg_attr(target_family = "wasm", inline(never))]
pub(crate) fn same(word: &str, other: &str) -> bool {
    word.eq_ignore_ascii_case(other)
}

/// Whether a text begins with another one, ignoring ASCII case.
pub(super) fn same_start(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|own| same(own, start))
}

/// Whether a text ends with another one, ignoring ASCII case.
pub(super) fn same_end(text: &str, end: &str) -> bool {
    text.len().checked_sub(end.len()).and_then(|at| text.get(at..)).is_some_and(|own| same(own, end))
}

/// An iterator over the parts of a text between blanks.
#[derive(Clone, Debug)]
pub(crate) struct Spaced<'a>(core::str::SplitWhitespace<'a>);

/// As `str::split_whitespace`; not inlined where code size counts.
pub(crate) fn spaced(text: &str) -> Spaced<'_> {
    Spaced(text.split_whitespace())
}

impl<'a> Iterator for Spaced<'a> {
    type Item = &'a str;

    #[cfg_attr(target_family = "wasm", inline(never))]
    fn next(&mut self) -> Option<&'a str> {
        self.0.next()
    }
}

impl DoubleEndedIterator for Spaced<'_> {
    #[cfg_attr(target_family = "wasm", inline(never))]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back()
    }
}

/// The index of a word, ignoring ASCII case, among words separated by single spaces: a table of strings would take
/// twice the space.
pub(super) fn place_in(words: &str, word: &str) -> Option<usize> {
    place(words.as_bytes(), word.as_bytes())
}

/// A third of what splitting the list costs.
#[inline(never)]
fn place(mut words: &[u8], word: &[u8]) -> Option<usize> {
    let first = word.first()?.to_ascii_lowercase();
    let mut index = 0;
    loop {
        if words.first()?.to_ascii_lowercase() == first
            && let Some((known, behind)) = words.split_at_checked(word.len())
            && behind.first().is_none_or(|next| *next == b' ')
            && known.eq_ignore_ascii_case(word)
            && !word.contains(&b' ')
        {
            return Some(index);
        }
        let end = words.iter().position(|byte| *byte == b' ')?;
        words = words.get(end + 1..).unwrap_or_default();
        index += 1;
    }
}

/// Whether a word is among words separated by single spaces, ignoring ASCII case.
pub(super) fn is_in(words: &str, word: &str) -> bool {
    place_in(words, word).is_some()
}

/// The words behind `word` in the entry that it begins, ignoring ASCII case. Entries are separated by `|`, their words by
/// single blanks; the first words must be in order and in lower case.
#[inline(never)]
pub(super) fn entry<'a>(entries: &'a str, word: &str) -> Option<&'a str> {
    let (mut low, mut high) = (0, entries.len());
    while low < high {
        let middle = low.midpoint(high);
        let (before, after) = entries.as_bytes().get(..high)?.split_at_checked(middle)?;
        let ends = |byte: &u8| *byte == b'|';
        let start = before.get(low..)?.iter().rposition(ends).map_or(low, |at| low + at + 1);
        let end = after.iter().position(ends).map_or(high, |at| middle + at);
        let entry = entries.get(start..end)?;
        let (first, behind) = entry.split_once(' ').unwrap_or((entry, ""));
        match first.bytes().cmp(word.bytes().map(|byte| byte.to_ascii_lowercase())) {
            Ordering::Less => low = end + 1,
            Ordering::Equal => return Some(behind),
            Ordering::Greater => high = start,
        }
    }
    None
}

/// Bytes of the longest name in a list.
const LONGEST: usize = 32;

/// Whether `name` is among names separated by single spaces once case and everything except ASCII letters and digits are
/// ignored: `requestId`, `request_id` and `Request-ID` are one name. The list must be lower-case and without separators.
pub(super) fn is_name_in(names: &str, name: &str) -> bool {
    let mut folded = [0; LONGEST];
    place(names.as_bytes(), folded_name(name, &mut folded)).is_some()
}

/// A name's ASCII letters and digits in lower case; nothing if they are too many for a list.
fn folded_name<'a>(name: &str, to: &'a mut [u8; LONGEST]) -> &'a [u8] {
    let mut length = 0;
    for byte in name.bytes().filter(u8::is_ascii_alphanumeric) {
        let Some(place) = to.get_mut(length) else { return &[] };
        *place = byte.to_ascii_lowercase();
        length += 1;
    }
    to.get(..length).unwrap_or_default()
}

/// A word of eight copies of a byte.
const fn all(byte: u8) -> u64 {
    ONES * byte as u64
}

/// An iterator over the byte ranges of the words of a text: runs of letters, digits and one more ASCII character.
#[derive(Clone)]
pub(super) struct Runs<'a, const JOINT: u8> {
    text: &'a str,
    /// Where the block after the current one begins.
    next: usize,
    /// A bit for every byte of the current block at which a word begins or after which one has ended.
    edges: u64,
    /// The last byte of the current block belongs to a word.
    inside: bool,
}

/// The words of a text, in which `JOINT` counts as a letter.
pub(super) fn runs<const JOINT: u8>(text: &str) -> Runs<'_, JOINT> {
    Runs { text, next: 0, edges: 0, inside: false }
}

/// No extra character: digits belong to words anyway.
pub(super) const NO_JOINT: u8 = b'0';

impl<const JOINT: u8> Runs<'_, JOINT> {
    /// Advances to the next block in which a word begins or ends; false if there is none.
    #[inline(never)]
    fn advance(&mut self) -> bool {
        while self.edges == 0 {
            let Some(block) = block(self.text.as_bytes(), self.next) else { return false };
            let (mut words, wide) = parts::<JOINT>(&block);
            if wide != 0 {
                words |= letters(self.text, self.next, self.inside);
            }
            // The bits that differ from the bit of the byte before.
            self.edges = words ^ (words << 1 | u64::from(self.inside));
            self.inside = words >> (BLOCK - 1) != 0;
            self.next += BLOCK;
        }
        true
    }

    /// The next edge in the current block, which must have one.
    #[inline]
    fn edge(&mut self) -> usize {
        let at = self.edges.trailing_zeros() as usize;
        self.edges &= self.edges.wrapping_sub(1);
        self.next.wrapping_sub(BLOCK - at)
    }
}

impl<const JOINT: u8> Iterator for Runs<'_, JOINT> {
    type Item = (usize, usize);

    #[inline]
    fn next(&mut self) -> Option<(usize, usize)> {
        if self.edges == 0 && !self.advance() {
            return None;
        }
        let start = self.edge();
        // The last word may end with the text, without an edge.
        let ends = self.edges != 0 || self.advance();
        Some((start, if ends { self.edge() } else { self.text.len() }))
    }
}

/// A bit for every byte of a non-ASCII letter or digit in the block at `start`; `inside` says whether a word continues
/// into it.
#[cold]
fn letters(text: &str, start: usize, inside: bool) -> u64 {
    let (mut at, mut found) = (start, 0);
    let mut set = |at: usize| found |= 1_u64.checked_shl(u32::try_from(at - start).unwrap_or(u32::MAX)).unwrap_or(0);
    // A character that began in the previous block is what it was there.
    while !text.is_char_boundary(at) {
        if inside {
            set(at);
        }
        at += 1;
    }
    for (offset, character) in text.get(at..).unwrap_or_default().char_indices() {
        let from = at + offset;
        if from >= start + BLOCK {
            break;
        }
        if !character.is_ascii() && character.is_alphanumeric() {
            (from..from + character.len_utf8()).for_each(&mut set);
        }
    }
    found
}

/// Calls `take` with the byte range of every word of a text in order, as [`runs`] yields them, until `take` returns
/// false. Cheaper than [`runs`] if most words are looked at. `take` has a single call site, so that it is inlined into
/// the loop.
#[inline]
pub(super) fn each_run<const JOINT: u8>(text: &str, mut take: impl FnMut(usize, usize) -> bool) {
    let bytes = text.as_bytes();
    // Where the current word began, if the latest edge was a beginning.
    let (mut at, mut start, mut inside) = (0, 0, false);
    loop {
        let mut edges = match block(bytes, at) {
            Some(block) => {
                let (mut words, wide) = parts::<JOINT>(&block);
                if wide != 0 {
                    words |= letters(text, at, inside);
                }
                // The bits that differ from the bit of the byte before.
                words ^ (words << 1 | u64::from(inside))
            }
            // The last word may end with the text, without an edge.
            None if inside => {
                at = bytes.len();
                1
            }
            None => return,
        };
        while edges != 0 {
            if !inside {
                start = at + edges.trailing_zeros() as usize;
                edges &= edges - 1;
                inside = true;
                if edges == 0 {
                    break;
                }
            }
            let end = at + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            inside = false;
            if !take(start, end) {
                return;
            }
        }
        at += BLOCK;
    }
}

/// The first letters of the word of `length` bytes at the beginning of `rest`, ignoring ASCII case, and its length, in
/// one number: equal for equal words, and for few others.
#[inline]
const fn folded(rest: &[u8], length: usize) -> u64 {
    let first = eight(rest);
    let kept = if length < 8 { (1 << (8 * length)) - 1 } else { u64::MAX };
    (first | all(0x20)) & kept ^ (length as u64) << 59
}

/// The first eight bytes of a text as one little-endian number, padded with zeros.
#[inline]
pub(super) const fn eight(rest: &[u8]) -> u64 {
    match rest.first_chunk() {
        Some(first) => u64::from_le_bytes(*first),
        None => last(rest),
    }
}

/// The same for fewer than eight bytes.
#[cold]
const fn last(mut rest: &[u8]) -> u64 {
    let mut word = 0;
    while let Some((last, before)) = rest.split_last() {
        word = word << 8 | *last as u64;
        rest = before;
    }
    word
}

/// Bytes before the first of some separators, or all.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
const fn until(text: &[u8], separators: &[u8]) -> usize {
    let mut length = 0;
    while length < text.len() {
        let mut separator = 0;
        while separator < separators.len() {
            if text[length] == separators[separator] {
                return length;
            }
            separator += 1;
        }
        length += 1;
    }
    length
}

/// What follows a word of `length` bytes and one separator.
const fn behind(text: &[u8], length: usize) -> &[u8] {
    if length < text.len() { text.split_at(length + 1).1 } else { &[] }
}

/// A Bloom filter over lists of words: it rejects most words of a text with one look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexicon {
    bits: [u64; Self::WORDS],
    /// For every first letter of a word in the lists, modulo 32, a bit for every length modulo 32.
    lengths: [u32; 32],
}

impl Lexicon {
    /// 2,048 bits, two for each word in the lists: with only one bit per word, every third of our lists let some common
    /// word through.
    const WORDS: usize = 32;

    /// A filter for lists of words separated by single blanks.
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
    pub(super) const fn of(lists: &[&str]) -> Self {
        let mut lexicon = Self { bits: [0; Self::WORDS], lengths: [0; 32] };
        let mut list = 0;
        while list < lists.len() {
            let mut words = lists[list].as_bytes();
            while !words.is_empty() {
                let length = until(words, b" ");
                lexicon = lexicon.with(words, length);
                words = behind(words, length);
            }
            list += 1;
        }
        lexicon
    }

    /// With the first words of phrases that are separated by `|`, each after as many `signs`.
    pub(super) const fn with_beginnings(mut self, phrases: &str, signs: usize) -> Self {
        let mut phrases = phrases.as_bytes();
        while !phrases.is_empty() {
            let phrase = phrases.split_at(signs).1;
            self = self.with(phrase, until(phrase, b" |"));
            phrases = behind(phrases, until(phrases, b"|"));
        }
        self
    }

    /// With the word of `length` bytes at the beginning of `rest`.
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
    const fn with(mut self, rest: &[u8], length: usize) -> Self {
        let (place, mark) = Self::place(rest, length);
        self.bits[place] |= mark;
        self.lengths[(rest[0] & 31) as usize] |= 1 << (length & 31);
        self
    }

    /// A filter for the lists of both.
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
    pub(super) const fn or(mut self, other: &Self) -> Self {
        let mut at = 0;
        while at < Self::WORDS {
            self.bits[at] |= other.bits[at];
            self.lengths[at] |= other.lengths[at];
            at += 1;
        }
        self
    }

    /// The index of the number that holds a word's bits, and the bits.
    #[inline]
    const fn place(rest: &[u8], length: usize) -> (usize, u64) {
        let word = folded(rest, length);
        let hash = (word ^ word >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((hash >> 59) as usize, 1 << (hash >> 53 & 63) | 1 << (hash >> 47 & 63))
    }

    /// Whether the word of `length` bytes at the beginning of `rest` may be in a list, ignoring ASCII case; false if it
    /// is in none. Reading is cheaper if more text follows the word.
    #[inline(always)]
    pub(super) fn may_hold(&self, rest: &[u8], length: usize) -> bool {
        // For most words, no word in the lists has the same first letter and length.
        let Some(lengths) = rest.first().and_then(|first| self.lengths.get(usize::from(first & 31))) else {
            return false;
        };
        if lengths >> (length & 31) & 1 == 0 {
            return false;
        }
        let (place, mark) = Self::place(rest, length);
        self.bits.get(place).is_some_and(|bits| bits & mark == mark)
    }
}

/// For every first letter of the names in some lists, modulo 32, bit sets of their lengths and of their last letters:
/// it rejects most names with one look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sieve([(u32, u32); 32]);

impl Sieve {
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
    pub(super) const fn of(lists: &[&str]) -> Self {
        let mut sieve = Self([(0, 0); 32]);
        let mut list = 0;
        while list < lists.len() {
            let mut words = lists[list].as_bytes();
            while !words.is_empty() {
                let length = until(words, b" ");
                sieve = sieve.with(words, length);
                words = behind(words, length);
            }
            list += 1;
        }
        sieve
    }

    /// With the name of `length` bytes at the beginning of `rest`.
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
    const fn with(mut self, rest: &[u8], length: usize) -> Self {
        let (lengths, lasts) = &mut self.0[(rest[0] & 31) as usize];
        *lengths |= 1 << (length & 31);
        *lasts |= 1 << (rest[length - 1] & 31);
        self
    }

    /// Whether a name may be in a list, counting only letters and digits; other characters may make it longer.
    #[inline(always)]
    pub(super) fn passes_name(&self, name: &str) -> bool {
        let Some(first) = name.bytes().find(u8::is_ascii_alphanumeric) else { return false };
        let (lengths, lasts) = self.0.get(usize::from(first & 31)).copied().unwrap_or_default();
        let length = name.len().min(30);
        lengths & ((2 << length) - 1) != 0
            && name.bytes().rfind(u8::is_ascii_alphanumeric).is_some_and(|last| lasts >> (last & 31) & 1 == 1)
            && (lengths >> length & 1 == 1 || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    }
}

/// For tests of lists that [`entry`] searches.
#[cfg(test)]
pub(super) fn assert_sorted(entries: &str) {
    let firsts = entries.split('|').map(|entry| entry.split(' ').next());
    assert!(firsts.is_sorted_by(|one, next| one < next), "{entries}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    proptest::proptest! {
        #[test]
        fn lower_case_and_figures(text in "\\PC{0,12}|[a-zA-Z0-9]{0,12}", most in 0_usize..14) {
            let lower: alloc::string::String = text.chars().filter_map(|char| char.to_lowercase().next()).collect();
            proptest::prop_assert_eq!(hashed_word(&text, most), hashed(lower.chars().take(most)));
            proptest::prop_assert_eq!(has_figure(&text), text.contains(char::is_numeric));
        }
    }

    #[test]
    fn names_come_apart() {
        for (name, expected) in [
            ("", &[][..]),
            ("__", &[]),
            ("bash", &["bash"]),
            ("read_file", &["read", "file"]),
            ("TodoWrite", &["Todo", "Write"]),
            ("editFile2", &["edit", "File2"]),
            ("HTTPServerGet", &["HTTP", "Server", "Get"]),
            ("mcp__git-hub__create_issue", &["mcp", "git", "hub", "create", "issue"]),
            ("fs.writeFile", &["fs", "write", "File"]),
            ("größeÄndern_x", &["größeÄndern", "x"]),
        ] {
            assert_eq!(name_words(name).collect::<Vec<_>>(), expected, "{name}");
        }
    }

    #[test]
    fn runs_of_letters_and_digits() {
        for (text, expected) in [
            ("", &[][..]),
            (" -", &[]),
            ("snake_case don't x1", &["snake_case", "don", "t", "x1"]),
            ("größe—日本 ¿é?", &["größe", "日本", "é"]),
            ("✅a✅", &["a"]),
        ] {
            let words = runs::<b'_'>(text).filter_map(|(from, to)| text.get(from..to));
            assert_eq!(words.collect::<Vec<_>>(), expected, "{text}");
        }
        assert_eq!(runs::<b'\''>("don't").count(), 1);
    }

    /// Reference implementation of [`words`], character by character.
    fn read_slowly(text: &str) -> Vec<Word> {
        let mut words: Vec<&str> = Vec::new();
        let (mut from, mut open) = (0, false);
        for (at, char) in text.char_indices() {
            let end = at + char.len_utf8();
            if !char.is_alphanumeric() {
                open = false;
            } else if open && !dense(char) {
                *words.last_mut().unwrap() = text.get(from..end).unwrap();
            } else {
                (from, open) = (at, !dense(char));
                words.push(text.get(from..end).unwrap());
            }
        }
        let word = |word: &str| Word {
            hash: hashed_word(word, usize::MAX),
            figure: word.contains(char::is_numeric),
            length: word.len(),
            dotted: {
                let before = text.get(..word.as_ptr() as usize - text.as_ptr() as usize).unwrap();
                let gap = before.strip_suffix('.');
                gap.is_some_and(|before| before.chars().next_back().is_none_or(char::is_alphanumeric))
            },
        };
        words.into_iter().map(word).collect()
    }

    #[test]
    fn words_of_all_scripts() {
        let hashes = |text: &str| words(text).map(|word| word.hash).collect::<Vec<_>>();
        let expected = |words: [&str; 4]| words.map(|word| hashed_word(word, usize::MAX));
        assert_eq!(hashes(" It's 3, größe!"), expected(["it", "s", "3", "größe"]));
        assert_eq!(hashes("天气a B"), expected(["天", "气", "a", "b"]));
        assert_eq!(hashes_of(["it", "3"]), [hashed_word("It", 9), hashed_word("3", 9)]);
    }

    proptest::proptest! {
        #[test]
        fn words_as_they_are_read(text in "\\PC{0,80}|([a-zA-Z0-9ßé水٣ .,-]{0,4} ?){0,20}") {
            proptest::prop_assert_eq!(words(&text).collect::<Vec<_>>(), read_slowly(&text));
            for wanted in [char::is_alphanumeric, char::is_whitespace] {
                proptest::prop_assert_eq!(find(&text, wanted), text.find(wanted));
            }
        }
    }

    /// The same for [`runs`], with a character that joins.
    fn slowly(text: &str, joint: char) -> Vec<(usize, usize)> {
        let part = |char: char| char == joint || char.is_alphanumeric();
        let mut words: Vec<(usize, usize)> = Vec::new();
        for (at, char) in text.char_indices().filter(|(_, char)| part(*char)) {
            match words.last_mut().filter(|(_, end)| *end == at) {
                Some((_, end)) => *end += char.len_utf8(),
                None => words.push((at, at + char.len_utf8())),
            }
        }
        words
    }

    proptest::proptest! {
        #[test]
        fn words_of_any_text(text in "[ -~é日—\\n]{0,200}|[a-z ]{60,70}|[é日—a]{20,70}") {
            proptest::prop_assert_eq!(runs::<b'_'>(&text).collect::<Vec<_>>(), slowly(&text, '_'));
            proptest::prop_assert_eq!(runs::<NO_JOINT>(&text).collect::<Vec<_>>(), slowly(&text, '0'));
            proptest::prop_assert_eq!(runs::<b'\''>(&text).collect::<Vec<_>>(), slowly(&text, '\''));
        }

        #[test]
        fn each_word_of_any_text(text in "[ -~é日—\\n]{0,200}|[a-z ]{60,70}|[é日—a]{20,70}|a{120,130}", enough in 0..9_usize) {
            let mut words = Vec::new();
            each_run::<b'_'>(&text, |from, to| {
                words.push((from, to));
                true
            });
            proptest::prop_assert_eq!(&words, &slowly(&text, '_'));
            let mut first = Vec::new();
            each_run::<b'_'>(&text, |from, to| {
                first.push((from, to));
                first.len() <= enough
            });
            words.truncate(enough + 1);
            proptest::prop_assert_eq!(first, words);
        }
    }

    #[test]
    fn every_byte_of_a_word() {
        for byte in 0..0x80_u8 {
            let text = alloc::format!("{}{}{}", "-".repeat(63), char::from(byte), "a".repeat(64));
            let expected = if byte.is_ascii_alphanumeric() || byte == b'_' { (63, 128) } else { (64, 128) };
            assert_eq!(runs::<b'_'>(&text).collect::<Vec<_>>(), [expected], "{byte}");
        }
    }

    #[test]
    fn nothing_that_is_listed_is_held_back() {
        const LISTS: [&str; 2] = ["requestid timeout", "a no not void unexpected größe"];
        let (sieve, lexicon) = (Sieve::of(&LISTS), Lexicon::of(&LISTS));
        for word in ["requestid", "TimeOut", "A", "No", "NOT", "Void", "Unexpected", "GRößE"] {
            assert!(lexicon.may_hold(word.as_bytes(), word.len()), "{word}");
            let more = alloc::format!("{word}, and more");
            assert!(lexicon.may_hold(more.as_bytes(), word.len()), "{word}");
            assert!(sieve.passes_name(word), "{word}");
        }
        assert!(sieve.passes_name("request_id") && sieve.passes_name("-Request-ID"));
        assert!(!sieve.passes_name("path") && !sieve.passes_name("_"));
        let held = ["", "time", "timeouts", "b", "nor", "voids", "expected"];
        assert!(held.iter().all(|word| !lexicon.may_hold(word.as_bytes(), word.len())));
        let more = Lexicon::of(&["overload"]).with_beginnings("-no such|!in progress|%ready", 1);
        for (word, holds) in [("no", true), ("in", true), ("ready", true), ("overload", true), ("such", false)] {
            assert_eq!(more.may_hold(word.as_bytes(), word.len()), holds, "{word}");
        }
    }

    #[test]
    fn lists_ignore_case_and_separators() {
        let list = "requestid timeout";
        assert!(is_in(list, "TimeOut") && !is_in(list, "time-out") && !is_in(list, "time"));
        assert!(!is_in("no none", "no none") && !is_in("no none", ""));
        for name in ["requestId", "request_id", "Request-ID", "timeout"] {
            assert!(is_name_in(list, name), "{name}");
        }
        let entries = "lock acquire get|out timed|timeout";
        assert_eq!(
            ["Lock", "out", "TIMEOUT"].map(|word| entry(entries, word)),
            [Some("acquire get"), Some("timed"), Some("")]
        );
        assert!(["", "get", "loc", "locks", "timed", "zoo"].iter().all(|word| entry(entries, word).is_none()));
        assert!(!is_name_in(list, "requestIds") && !is_name_in(list, "id") && !is_name_in(list, ""));
    }
}
