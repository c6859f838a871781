//! What an error repeats of the arguments that it was given.
//!
//! `no such text: <a line of the argument>` is one mistake whatever the line says, so runs of words that stand in
//! the arguments are taken out of an error before its class is made. A waiting call keeps short hashes of them, not the
//! words. An answer that holds hardly a word but the call's own has told its caller nothing.

use super::late::{Late, Reads, Said};
use super::words::{Runs, runs};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// Runs of words remembered of one call.
const RUNS: usize = 32;
/// Words of one run; a longer line is several runs.
const LONGEST: usize = 24;
/// Levels of nesting looked at.
const DEPTH: usize = 3;
/// Stands for what was repeated.
const MARK: &str = " § ";
/// Fewer characters may well be an error's own words.
const SHORTEST: usize = 8;
/// Words of the arguments whose presence is remembered, one bit each in so many.
const KNOWN: u32 = 1024;
const BITS: usize = 1024;
/// Arguments or answers of fewer words share them by chance; a longer answer is more than an echo.
const FEWEST: u32 = 8;
const LONGEST_ANSWER: usize = 4096;

/// Hashes of the runs of words in a call's arguments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Echo {
    /// Number of words and hash of each run.
    runs: Vec<(u8, u32)>,
    /// Bit `hash % 64` of every run's first two words, or of its only one: most words of an error are told apart by it.
    first: u64,
    /// One bit of [`BITS`] for every word; empty where the arguments are too few words to be told apart from an answer.
    known: Vec<u64>,
}

/// Words of a call as they are met.
struct Known {
    bits: [u64; BITS / 64],
    words: u32,
}

impl Known {
    fn add(&mut self, word: u32) {
        self.words += 1;
        if let Some(bits) = self.bits.get_mut(word as usize / 64 % (BITS / 64)) {
            *bits |= 1 << (word % 64);
        }
    }
}

impl Reads for Echo {
    fn read(said: &Said) -> Self {
        let mut echo = Self::default();
        let mut known = Known { bits: [0; BITS / 64], words: 0 };
        said.strings(DEPTH, |text| echo.text(text, &mut known));
        if known.words >= FEWEST {
            echo.known = known.bits.to_vec();
        }
        echo
    }
}

impl Late<Echo> {
    /// Whether an answer holds hardly a word that the arguments did not: four of five stand there.
    pub(crate) fn holds(&self, answer: &str) -> bool {
        let few = |text: &str| runs(text, b'_').nth(FEWEST as usize - 1).is_none();
        let hopeless = answer.len() > LONGEST_ANSWER
            || match self {
                Self::Unread(said) => few(said.text()),
                Self::Read(echo) => echo.known.is_empty(),
            }
            || few(answer);
        !hopeless && self.get().holds(answer)
    }
}

impl Echo {
    /// Whether a restored value is within its caps.
    pub(crate) fn fits(&self) -> bool {
        self.runs.len() <= RUNS && (self.known.is_empty() || self.known.len() == BITS / 64)
    }

    fn holds(&self, answer: &str) -> bool {
        if self.known.is_empty() || answer.len() > LONGEST_ANSWER {
            return false;
        }
        let (mut all, mut new) = (0_u32, 0_u32);
        let mut words = runs(answer, b'_');
        while let Some(Word { hash, .. }) = Word::next(&mut words) {
            let bits = self.known.get(hash as usize / 64 % (BITS / 64)).copied().unwrap_or(0);
            all += 1;
            new += u32::from(bits & (1 << (hash % 64)) == 0);
            // Most answers say so much of their own at once that there is no need to read on.
            if all >= 4 * FEWEST && new * 2 > all {
                return false;
            }
        }
        all >= FEWEST && new * 5 <= all
    }

    fn text(&mut self, text: &str, known: &mut Known) {
        for line in text.lines() {
            let mut words = runs(line, b'_');
            loop {
                if known.words >= KNOWN {
                    return;
                }
                let (mut count, mut chars, mut hash, mut first) = (0_u8, 0, 0, 0);
                let mut telling = false;
                while usize::from(count) < LONGEST
                    && let Some(word) = Word::next(&mut words)
                {
                    known.add(word.hash);
                    hash = chain(hash, word.hash);
                    first = if count < 2 { hash } else { first };
                    chars += word.end - word.start;
                    telling |= !word.plain;
                    count += 1;
                }
                if count == 0 {
                    break;
                }
                // A plain word or two may as well be the error's own.
                if chars >= SHORTEST && (count > 1 || telling) && self.runs.len() < RUNS {
                    self.runs.push((count, hash));
                    self.first |= 1 << (first % 64);
                }
            }
        }
    }

    /// Appends `text` to `out` without the runs it repeats; false when there are none, and then nothing is appended.
    pub(crate) fn strip(&self, text: &str, out: &mut String) -> bool {
        if self.runs.is_empty() {
            return false;
        }
        // Words end at all punctuation: an error may put a bracket or a tag right behind what it repeats.
        let mut words: Vec<(usize, usize, u32)> = Vec::with_capacity(text.len() / 4 + 1);
        let mut runs = runs(text, b'_');
        while let Some(Word { start, end, hash, .. }) = Word::next(&mut runs) {
            words.push((start, end, hash));
        }
        // One bit for each length that a run has: no other needs to be looked for.
        let lengths = self.runs.iter().fold(0_u32, |lengths, (count, _)| lengths | 1 << (count % 32));
        let mut found = false;
        let (mut at, mut copied, mut word_end) = (0, 0, 0);
        while let Some((_, end, _)) = words.get(at).copied() {
            match self.longest(words.get(at..).unwrap_or_default(), lengths) {
                Some(count) => {
                    // The punctuation on either side belongs to the argument as often as not.
                    out.push_str(text.get(copied..word_end.max(copied)).unwrap_or_default());
                    // However many lines it repeats.
                    if !out.ends_with(MARK) {
                        out.push_str(MARK);
                    }
                    at += count;
                    copied = words.get(at).map_or(text.len(), |(start, _, _)| *start);
                    word_end = copied;
                    found = true;
                }
                None => {
                    word_end = end;
                    at += 1;
                }
            }
        }
        if found {
            out.push_str(text.get(copied..).unwrap_or_default());
        }
        found
    }

    /// The number of words of the longest remembered run that the words begin with.
    fn longest(&self, words: &[(usize, usize, u32)], lengths: u32) -> Option<usize> {
        let (_, _, first) = words.first()?;
        let one = chain(0, *first);
        let two = words.get(1).map_or(one, |(_, _, second)| chain(one, *second));
        if self.first & (1 << (one % 64) | 1 << (two % 64)) == 0 {
            return None;
        }
        let mut hash = 0;
        let mut found = None;
        for (count, (_, _, word)) in (1_u8..).zip(words.iter().take(LONGEST)) {
            hash = chain(hash, *word);
            if lengths >> count == 0 {
                break;
            }
            if lengths >> count & 1 == 1 && self.runs.contains(&(count, hash)) {
                found = Some(usize::from(count));
            }
        }
        found
    }
}

/// A word, where it stands.
struct Word {
    start: usize,
    end: usize,
    /// A short hash of its own: a call has dozens of words, and nothing but the words of its own result is compared with
    /// them.
    hash: u32,
    /// ASCII letters alone.
    plain: bool,
}

impl Word {
    #[inline]
    fn next(words: &mut Runs<'_>) -> Option<Self> {
        let (mut hash, mut plain) = (0x811c_9dc5_u32, true);
        let (start, end) = words.word(|byte| {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
            plain &= byte.is_ascii_alphabetic();
        })?;
        // The low bits of a short word's sum are poor.
        hash = (hash ^ hash >> 15).wrapping_mul(0x2c1b_3c6d);
        Some(Self { start, end, hash: hash ^ hash >> 12, plain })
    }
}

fn chain(hash: u32, word: u32) -> u32 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B1)
}

#[cfg(test)]
mod tests {
    use super::super::canonical_json;
    use super::*;
    use serde_json::{Value, json};

    fn of(args: Value) -> Echo {
        let mut text = String::new();
        canonical_json(&args, &mut text);
        Late::<Echo>::of(&text, true).get().into_owned()
    }

    fn stripped(args: Value, error: &str) -> String {
        let mut out = String::new();
        if of(args).strip(error, &mut out) { out } else { error.into() }
    }

    #[test]
    fn what_the_arguments_said_goes() {
        for (argument, error, expected) in [
            (
                "let total = rows.sum();",
                "String to replace not found in file.\nString: let total = rows.sum();",
                "String to replace not found in file.\nString § ",
            ),
            ("a b\nfirst_line here\nsecond line here", "not found: first_line here\nsecond line here", "not found § "),
            ("snake_case_name", "no module named snake_case_name", "no module named § "),
            ("return f\"{total}\"", "<error>not found: return f\"{total}\"</error>", "<error>not found § error>"),
            ("weather in Paris", "nothing about 'weather in Paris' today", "nothing about § today"),
        ] {
            assert_eq!(stripped(json!({"nested": [argument]}), error), expected);
        }
    }

    #[test]
    fn the_errors_own_words_stay() {
        for (argument, error) in [
            ("string", "String to replace string not found"),
            ("not", "not found"),
            ("replacement", "the replacement was refused"),
            ("something else", "String to replace not found"),
            ("", "anything"),
        ] {
            assert_eq!(stripped(json!({"text": argument}), error), error);
        }
    }

    #[test]
    fn an_answer_of_the_calls_own_words() {
        let ask = "Please find the opening hours of the town library on public holidays";
        let print = alloc::format!("task = (\n    \"{ask}\"\n)\nprint(task)");
        let holds = |args: &str, answer: &str| of(json!({ "code": args })).holds(answer);
        assert!(holds(&print, ask));
        assert!(holds(&print, &alloc::format!("Logs: {ask} None")));
        for answer in [
            "",
            "Please find the library",
            "The town library is open from ten to four on public holidays, closed on the first of January",
            &alloc::format!("{ask} {}", "it is closed then ".repeat(3)),
        ] {
            assert!(!holds(&print, answer), "{answer}");
        }
        assert!(!holds("town library hours", "town library hours town library hours town library hours"));
        assert!(!holds(&print, &alloc::format!("{ask} ").repeat(80)), "too long for an echo");
    }

    #[test]
    fn long_lines_are_several_runs_and_all_is_bounded() {
        let line: String = (0..60).map(|n| alloc::format!("word{n} ")).collect();
        assert_eq!(stripped(json!(line), &alloc::format!("bad input: {line}end")), "bad input § end");
        assert!(of(json!("many words in a line\n".repeat(10_000))).fits());
    }
}
