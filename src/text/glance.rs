//! A glance at a long output: enough to know that it equals no output seen before, however much of either is volatile.
//!
//! Masking an output is most of the cost of a healthy event, and hardly one output in a hundred equals another. So a
//! long one gets a *sketch* first: of the first and the last few words that no masking touches. Outputs that are equal
//! once masked, or once their digits are, have the same sketch; if a sketch is new, the output equals none before and
//! need not be read (for the other case see `unread.rs`).

use super::answer::AnswerMeaning;
use super::digest::{Key, combine, mark, salted};
use super::ends::head;
use super::fields::{FieldMeaning, named};
use super::scan::{BLOCK, Classes, block, block_before, each_string, word_classes};
use super::token::{CONTROL, DIGIT, LETTER, begins_unit, classes, is};
use super::volatile_json::{is_json, skim};

/// Bytes of either end of a text in which words are looked for; a text no longer than both is read at once.
const END: usize = 300;
/// Bytes of JSON in which values are looked for.
const START: usize = 600;
/// Words needed from either end.
const WORDS: usize = 6;
/// Letters needed from either end, twice as many from JSON. Both ends together reach
/// [`LETTERS_COUNTED`](super::mask::LETTERS_COUNTED), so letters need not be counted in an output with a sketch.
const LETTERS: usize = 32;
/// Values needed from JSON.
const VALUES: usize = 4;

/// Room in bytes for the words of both ends, or for names and values, each followed by a separator.
const ROOM: usize = 2 * (START + 1);

/// Bytes copied at once: few words are longer.
const BRIEF: usize = 16;

/// The words found so far, one after the other.
struct Words {
    bytes: [u8; ROOM],
    length: usize,
    count: usize,
    letters: usize,
}

impl Words {
    /// Appends the first `length` bytes of `rest` as a word.
    #[inline]
    fn push(&mut self, rest: &[u8], length: usize, letters: usize) {
        let end = self.length + length;
        let room = self.bytes.get_mut(self.length..).unwrap_or_default();
        match (room.first_chunk_mut::<BRIEF>(), rest.first_chunk()) {
            // Always sixteen bytes at once: the next word overwrites what is too much.
            (Some(room), Some(word)) if length <= BRIEF => *room = *word,
            _ => room.iter_mut().zip(rest.get(..length).unwrap_or_default()).for_each(|(to, from)| *to = *from),
        }
        // A separator that occurs in no word.
        if let Some(behind) = self.bytes.get_mut(end) {
            *behind = 0;
        }
        self.length = end + 1;
        self.letters += letters;
        self.count += 1;
    }

    /// Whether there are enough words and letters for `ends` ends.
    const fn are(&self, ends: usize) -> bool {
        self.count >= ends * WORDS && self.letters >= ends * LETTERS
    }
}

/// The sketch of an output, and what it says if it is JSON; `head` is the key of what accompanies the output. `None` if
/// it is short, has too few stable words at its ends, or needs a closer look to know what it says.
pub(super) fn sketch(text: &str, head: Key, failed: bool, salt: u64) -> Option<(u32, Option<AnswerMeaning>)> {
    if text.len() <= 2 * END {
        return None;
    }
    let mut words = Words { bytes: [0; ROOM], length: 0, count: 0, letters: 0 };
    let said = if is_json(text) {
        // The class of an error needs the whole text.
        (!failed).then_some(())?;
        values(text, &mut words)?;
        // A list says nothing.
        Some(if text.trim_start().starts_with('{') { skim(text)? } else { AnswerMeaning::default() })
    } else {
        ends(text.as_bytes(), &mut words)?;
        None
    };
    let told = words.bytes.get(..words.length)?;
    Some((mark(combine("output/sketch", &[head, salted("output/words", salt, told)])), said))
}

/// A word between blanks.
#[derive(Clone, Copy)]
struct Word<'a> {
    /// The text from the beginning of the word.
    rest: &'a [u8],
    /// Length of the word in bytes.
    length: usize,
    /// Without digits and control characters.
    plain: bool,
    letters: usize,
}

impl Word<'_> {
    /// Whether no part of it is ever masked: without a digit, only a control character or the unit behind a number
    /// (`0.3 seconds`) is. `before` is whether the word before it is plain.
    fn stays(&self, before: bool) -> bool {
        self.plain && (before || !self.rest.first().is_some_and(|first| begins_unit(*first)))
    }
}

/// Shows the words of a text from its beginning or from its end until `take` returns true; `None` if the text ends
/// before that. The last word before the text ends is not shown, as it may be cut.
#[inline]
fn each_word<'a, const BACKWARDS: bool>(text: &'a [u8], mut take: impl FnMut(Word<'a>) -> bool) -> Option<()> {
    // The bits of a block from a place on, in the direction of reading.
    let behind = |at: u32| if BACKWARDS { u64::MAX >> (at & 63) } else { u64::MAX << (at & 63) };
    let first = |bits: u64| if BACKWARDS { bits.leading_zeros() } else { bits.trailing_zeros() };
    let (mut seen, mut start, mut inside, mut plain, mut letters) = (0, 0, false, true, 0);
    loop {
        let block = if BACKWARDS { block_before(text, text.len().checked_sub(seen)?) } else { block(text, seen) }?;
        let Classes { blanks, unsteady, letters: all } = word_classes(&block);
        let mut at = 0;
        loop {
            if !inside {
                let words = !blanks & behind(at);
                if words == 0 {
                    break;
                }
                at = first(words);
                (start, inside, plain, letters) = (seen + at as usize, true, true, 0);
            }
            let ends = blanks & behind(at);
            let end = first(ends);
            let own = if ends == 0 { behind(at) } else { behind(at) ^ behind(end) };
            plain &= unsteady & own == 0;
            // Most words consist of letters only.
            letters += if !all & own == 0 { end - at } else { (all & own).count_ones() };
            if ends == 0 {
                break;
            }
            (at, inside) = (end, false);
            let end = seen + end as usize;
            let rest = text.get(if BACKWARDS { text.len() - end } else { start }..)?;
            if take(Word { rest, length: end - start, plain, letters: letters as usize }) {
                return Some(());
            }
        }
        seen += BLOCK;
    }
}

/// Takes words from both ends; `None` if there are too few.
fn ends(text: &[u8], words: &mut Words) -> Option<()> {
    let mut before = true;
    each_word::<false>(text.get(..END)?, |word| {
        if word.stays(before) {
            words.push(word.rest, word.length, word.letters);
        }
        before = word.plain;
        words.are(1)
    })?;
    words.count = words.count.min(WORDS);
    words.letters = words.letters.min(LETTERS);
    let mut behind: Option<Word<'_>> = None;
    each_word::<true>(text.get(text.len() - END..)?, |word| {
        if let Some(behind) = behind.filter(|behind| behind.stays(word.plain)) {
            words.push(behind.rest, behind.length, behind.letters);
        }
        behind = Some(word);
        words.are(2)
    })
}

/// Takes stable string values of JSON, with their field names. Not inlined: inside its caller it slows down every other
/// text.
#[inline(never)]
fn values(text: &str, words: &mut Words) -> Option<()> {
    let text = head(text, START);
    let bytes = text.as_bytes();
    // The name that the next value belongs to; the latest name used, its kind and its number of letters; the values
    // taken.
    let (mut name, mut known, mut count) = ((0, 0), ("", FieldMeaning::Content, 0), 0);
    let enough = each_string(bytes, |start, end, escapes| {
        let behind = bytes.get(end + 1..).unwrap_or_default();
        if behind.first() == Some(&b':') || behind.trim_ascii_start().first() == Some(&b':') {
            name = (start, end);
            return false;
        }
        let (own, value) = (core::mem::take(&mut name), bytes.get(start..end).unwrap_or_default());
        // Most values with digits end with one.
        if escapes || value.last().is_none_or(u8::is_ascii_digit) {
            return false;
        }
        let told = value.iter().map(|byte| classes(*byte));
        let (all, letters) = told.fold((0, 0), |(all, letters), own| (all | own, letters + usize::from(own & LETTER)));
        if all & (DIGIT | CONTROL) != 0 {
            return false;
        }
        let own = text.get(own.0..own.1).unwrap_or_default();
        if known.0 != own {
            known = (own, named(own), own.bytes().filter(|byte| is(*byte, LETTER)).count());
        }
        if known.1 == FieldMeaning::Content {
            words.push(own.as_bytes(), own.len(), known.2);
            words.push(value, value.len(), letters);
            count += 1;
        }
        count >= VALUES && words.letters >= 2 * LETTERS
    });
    enough.then_some(())
}

#[cfg(test)]
mod tests {
    use super::super::outcome::{Empty, OutcomeFacts, Scratch, glance, outcome};
    use super::super::token::{BLANK, CONTROL, DIGIT, LETTER, is};
    use super::super::volatile::Volatile;
    use super::{Word, each_word};
    use crate::model::{Outcome, ToolResult};
    use alloc::{format, string::String, vec::Vec};
    use proptest::prelude::*;

    fn read(output: &str, failed: bool) -> (Option<u32>, OutcomeFacts) {
        let outcome_is = if failed { Outcome::Error } else { Outcome::Ok };
        let result = ToolResult { output: output.into(), outcome: outcome_is, ..ToolResult::default() };
        let (mut scratch, volatile) = (Scratch::default(), Volatile::default());
        let glance = glance(&result, &volatile, &mut scratch);
        let facts = |left, scratch: &mut Scratch| {
            outcome("t", &result, Empty::Nothing, None, &volatile, (&glance, left), scratch)
        };
        let read = facts(false, &mut scratch);
        if glance.sketch.is_some() {
            // Whatever is claimed about an output left unread is true.
            let left = facts(true, &mut scratch);
            let told = |facts: &OutcomeFacts| {
                (facts.exact, facts.class, facts.refusal, facts.failed, facts.negative, facts.wordless, facts.letters)
            };
            assert_eq!(told(&left), told(&read), "{output}");
        }
        (glance.sketch, read)
    }

    /// Parts of a text in two forms each: words, and things that are volatile or differ in digits.
    fn part() -> impl Strategy<Value = (String, String)> {
        let same = |text: String| (text.clone(), text);
        prop_oneof![
            6 => "[a-zA-Zé]{1,9}[,.:;)]?".prop_map(same),
            1 => "(seconds|ms|min|h|s|hours|state|done|\\[x\\]|--|\x1b\\[K)".prop_map(same),
            1 => (0..200_u32, 0..200_u32).prop_map(|(one, other)| (format!("{one}"), format!("{other}"))),
            1 => (0..200_u32, 0..20_000_u32).prop_map(|(one, other)| (format!("{one}ms"), format!("{other}ms"))),
            1 => (0..20_u32, 0..200_u32).prop_map(|(one, other)| (format!("{one}.5 seconds"), format!("{other}.25 seconds"))),
            1 => (10..60_u32, 10..60_u32).prop_map(|(one, other)| {
                (format!("2026-07-26 12:01:{one}Z"), format!("2026-07-26 12:02:{other}.125Z"))
            }),
            1 => "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
                .prop_map(|uuid| (uuid, String::from("0a0a0a0a-0b0b-0c0c-0d0d-0e0e0e0e0e0e"))),
            1 => "/tmp/tmp[a-z0-9]{6,8}/[a-z]{3}".prop_map(|path| (path, String::from("/tmp/tmpa1b2c3d4/log"))),
        ]
    }

    fn texts() -> impl Strategy<Value = (String, String)> {
        let separator = "( |\n|  |\t| - )";
        prop::collection::vec((part(), separator), 60..260).prop_map(|parts| {
            let of = |which: fn(&(String, String)) -> &String| -> String {
                parts.iter().map(|(part, separator)| format!("{}{separator}", which(part))).collect()
            };
            (of(|both| &both.0), of(|both| &both.1))
        })
    }

    #[test]
    fn short_and_dull_outputs_are_read_at_once() {
        let long = "apples and pears go with plums, figs and dates ".repeat(20);
        assert!(read(&long, false).0.is_some() && read(&long, true).0.is_some());
        assert_ne!(read(&long, false).0, read(&long, true).0);
        let list = format!("[{}]", "{\"name\":\"apples and pears\",\"n\":7},".repeat(40).trim_end_matches(','));
        assert!(read(&list, false).0.is_some());
        let short: String = long.chars().take(600).collect();
        for text in [&short, &"17 4711 ".repeat(200), &"-- ".repeat(400), &"x".repeat(2000), &"1,".repeat(900)] {
            assert_eq!(read(text, false).0, None, "{text}");
        }
        assert_eq!(read(&list, true).0, None);
    }

    /// The words of a text that blanks delimit, byte by byte: each with whether it is plain, and its number of letters.
    fn slowly(text: &[u8]) -> Vec<(Vec<u8>, bool, usize)> {
        let ended = text.iter().rposition(|byte| is(*byte, BLANK)).unwrap_or(0);
        let words = text[..ended].split(|byte| is(*byte, BLANK)).filter(|word| !word.is_empty());
        let letters = |word: &[u8]| word.iter().filter(|byte| is(**byte, LETTER)).count();
        words.map(|word| (word.to_vec(), !word.iter().any(|byte| is(*byte, DIGIT | CONTROL)), letters(word))).collect()
    }

    proptest! {
        #[test]
        fn words_of_both_ends(text in prop::collection::vec(prop_oneof![4 => Just(b' '), 20 => b'a'..=b'z', 4 => 0..=255_u8], 0..300)) {
            let found = |words: &mut Vec<(Vec<u8>, bool, usize)>, word: Word<'_>| {
                words.push((word.rest[..word.length].to_vec(), word.plain, word.letters));
                false
            };
            let (mut ahead, mut back) = (Vec::new(), Vec::new());
            prop_assert_eq!(each_word::<false>(&text, |word| found(&mut ahead, word)), None);
            prop_assert_eq!(each_word::<true>(&text, |word| found(&mut back, word)), None);
            prop_assert_eq!(ahead, slowly(&text));
            let mirrored: Vec<u8> = text.iter().rev().copied().collect();
            let expected = slowly(&mirrored).into_iter().map(|(word, plain, letters)| (word.into_iter().rev().collect(), plain, letters));
            prop_assert_eq!(back, expected.collect::<Vec<(Vec<u8>, bool, usize)>>());
        }

        #[test]
        fn equal_outputs_have_one_sketch((one, other) in texts(), failed: bool) {
            let ((sketch, facts), (second, others)) = (read(&one, failed), read(&other, failed));
            let alike = facts.light == others.light || facts.shape.is_some() && facts.shape == others.shape;
            if let (true, Some(sketch), Some(second)) = (alike, sketch, second) {
                prop_assert_eq!(sketch, second, "{}\n{}", one, other);
            }
        }

        #[test]
        fn equal_json_has_one_sketch(names in prop::collection::vec(("[a-z]{2,9}", "[a-zA-Z ]{3,12}", 0..100_u32, 0..100_u32), 20..60), wrapped: bool) {
            let of = |second: bool| {
                let entry = |(name, text, one, other): &(String, String, u32, u32)| {
                    let number = if second { other } else { one };
                    format!(r#"{{"{name}":"{text}","tookMs":{number},"requestId":"r{number}","at":"2026-07-26T12:01:{:02}Z"}}"#, number % 60)
                };
                let all: Vec<String> = names.iter().map(entry).collect();
                if wrapped { format!(r#"{{"items":[{}]}}"#, all.join(",")) } else { format!("[{}]", all.join(", ")) }
            };
            let ((sketch, facts), (second, others)) = (read(&of(false), false), read(&of(true), false));
            prop_assert_eq!(facts.light, others.light);
            if let (Some(sketch), Some(second)) = (sketch, second) {
                prop_assert_eq!(sketch, second);
            }
        }
    }
}
