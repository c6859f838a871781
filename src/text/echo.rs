//! What an error repeats of its call's arguments.
//!
//! `no such text: <a line of the argument>` is the same mistake whatever the line says, so runs of words that occur in
//! the arguments are removed from an error before its class is computed. A pending call keeps short hashes of the runs,
//! not the words. An answer that consists almost entirely of the call's own words has told its caller nothing.

use super::late::{CallArguments, CallFeature, Late};
use super::words::{each_run, eight, runs};
use crate::codec::codec;
use alloc::{string::String, vec::Vec};

/// Runs remembered per call.
const RUNS: usize = 32;
/// Words per run; a longer line is split into several runs.
const LONGEST: usize = 24;
/// Levels of nesting searched for strings.
const DEPTH: usize = 3;
/// Replaces what was repeated.
const MARK: &str = " § ";
/// Bytes of a run's words, below which it may well be the error's own.
const SHORTEST: usize = 8;
/// Words read from the arguments before no further run is begun.
const KNOWN: u32 = 1024;
/// Bits of the filter in which the words of the arguments are marked.
const BITS: usize = 1024;
/// Words of the arguments, and of an answer, below which they may coincide by chance.
const FEWEST: u32 = 8;
/// Length in bytes above which an answer is more than an echo.
const LONGEST_ANSWER: usize = 4096;

/// Hashes of the runs of words in a call's arguments.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Echo {
    /// Word count and hash of each run.
    runs: Vec<(u8, u32)>,
    /// A 256-bit filter of the hashes of each run's first two words (or its only one); it rules out most words of an
    /// error.
    first: [u64; 4],
    /// A filter of [`BITS`] bits with all words of the arguments; empty if these have fewer than [`FEWEST`] words.
    known: Vec<u64>,
}
codec!(struct Echo { runs, first, known });

/// What is collected while a call's words are read.
struct CallWords {
    bits: Bits,
    words: u32,
    /// A filter of how the runs begin: see [`begins_like`].
    begins: Bits,
    /// One bit for the first byte of each run, modulo 32.
    initials: u32,
}

type Bits = [u64; BITS / 64];

fn has(bits: &[u64], at: u32) -> bool {
    bits.get(at as usize / 64 % (BITS / 64)).is_some_and(|bits| bits >> (at % 64) & 1 == 1)
}

fn add(bits: &mut Bits, at: u32) {
    if let Some(bits) = bits.get_mut(at as usize / 64 % (BITS / 64)) {
        *bits |= 1 << (at % 64);
    }
}

impl CallFeature for Echo {
    fn read(said: &CallArguments) -> Self {
        let mut echo = Self::default();
        let known = echo.take(said);
        if known.words >= FEWEST {
            echo.known = known.bits.to_vec();
        }
        echo
    }
}

impl Late<Echo> {
    /// The runs that an error may repeat; `buffer` receives them if the arguments have not been read yet.
    pub(super) fn runs<'a>(&'a self, buffer: &'a mut Echo) -> Repeatable<'a> {
        match self {
            Self::Unread(said) => {
                buffer.runs.clear();
                buffer.first = [0; 4];
                let CallWords { begins, initials, .. } = buffer.take(said);
                Repeatable { echo: buffer, begins, initials }
            }
            Self::Read(echo, _) => Repeatable { echo, begins: [u64::MAX; BITS / 64], initials: u32::MAX },
        }
    }

    /// Whether an answer is an echo: at least four of five of its words occur in the arguments.
    pub(crate) fn holds(&self, answer: &str) -> bool {
        let few = |text: &str| runs::<b'_'>(text).nth(FEWEST as usize - 1).is_none();
        let hopeless = answer.len() > LONGEST_ANSWER
            || match self {
                Self::Unread(said) => few(said.text()),
                Self::Read(echo, _) => echo.known.is_empty(),
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
        let (bytes, mut all, mut new, mut hopeless) = (answer.as_bytes(), 0_u32, 0_u32, false);
        each_run::<b'_'>(answer, |from, to| {
            let hash = hash(bytes.get(from..).unwrap_or_default(), to - from);
            all += 1;
            new += u32::from(!has(&self.known, hash));
            // Most answers have so many words of their own at once that there is no need to read on.
            hopeless = all >= 4 * FEWEST && new * 2 > all;
            !hopeless
        });
        !hopeless && all >= FEWEST && new * 5 <= all
    }

    /// Takes in the runs, and returns what was learned of the words.
    fn take(&mut self, said: &CallArguments) -> CallWords {
        let mut known = CallWords { bits: [0; BITS / 64], words: 0, begins: [0; BITS / 64], initials: 0 };
        said.strings(DEPTH, |text| self.text(text, &mut known));
        known
    }

    fn text(&mut self, text: &str, known: &mut CallWords) {
        let bytes = text.as_bytes();
        let (mut run, mut longer) = (Run::default(), Run::default());
        each_run::<b'_'>(text, |from, to| {
            // A run ends with its line, or when it is full.
            let ends = run.count > 0
                && (usize::from(run.count) == LONGEST || bytes.get(run.end..from).unwrap_or_default().contains(&b'\n'));
            if ends {
                self.end(bytes, &mut run, &mut longer, known);
            }
            if run.count == 0 && known.words >= KNOWN {
                return false;
            }
            let word = hash(bytes.get(from..).unwrap_or_default(), to - from);
            known.words += 1;
            add(&mut known.bits, word);
            let glimpse = glimpse(bytes, from, to);
            run.add(from, to, word, glimpse);
            if longer.count > 0 {
                longer.add(from, to, word, glimpse);
            }
            true
        });
        self.end(bytes, &mut run, &mut longer, known);
    }

    /// Remembers a run. One that is too short to be told from the error's own words is remembered with the lines before.
    fn end(&mut self, bytes: &[u8], run: &mut Run, longer: &mut Run, known: &mut CallWords) {
        let run = core::mem::take(run);
        if run.chars >= SHORTEST {
            self.keep(bytes, &run, known);
            *longer = run;
        } else if usize::from(longer.count) <= LONGEST {
            self.keep(bytes, longer, known);
        } else {
            *longer = Run::default();
        }
    }

    /// Remembers a run if it is specific enough to be told from the error's own words.
    fn keep(&mut self, bytes: &[u8], run: &Run, known: &mut CallWords) {
        // A single plain word may as well be the error's own.
        let telling = || {
            let word = bytes.get(run.start..run.end);
            !word.unwrap_or_default().iter().all(u8::is_ascii_alphabetic)
        };
        if run.chars >= SHORTEST && self.runs.len() < RUNS && (run.count > 1 || telling()) {
            self.runs.push((run.count, run.hash));
            if let Some(bits) = self.first.get_mut(run.first as usize / 64 % 4) {
                *bits |= 1 << (run.first % 64);
            }
            add(&mut known.begins, begins_like(run.begins.0, run.begins.1));
            known.initials |= 1 << (run.begins.0 % 32);
        }
    }

    /// Whether a run may begin with two words, or be a single one, of this hash.
    #[inline]
    fn may_begin(&self, first: u32) -> bool {
        self.first.get(first as usize / 64 % 4).is_some_and(|bits| bits >> (first % 64) & 1 == 1)
    }
}

/// What an error may repeat of a call's arguments.
#[derive(Clone, Copy)]
pub(super) struct Repeatable<'a> {
    echo: &'a Echo,
    begins: Bits,
    initials: u32,
}

impl Repeatable<'_> {
    /// Appends `text` to `out` without the runs it repeats; false if there are none, and then nothing is appended.
    /// `places` is a buffer.
    pub(super) fn strip(&self, text: &str, places: &mut RunStarts, out: &mut String) -> bool {
        // One bit per run length, so that no other length is tried.
        let lengths = self.echo.runs.iter().fold(0_u32, |lengths, (count, _)| lengths | 1 << (count % 32));
        if lengths == 0 {
            return false;
        }
        self.read(text, lengths & 2 != 0, places);
        // Bytes of `text` already in `out`.
        let mut copied = 0;
        for first in places.iter().map(|first| *first as usize) {
            let Some(own) = text.get(copied..first) else { continue };
            let rest = text.get(first..).unwrap_or_default();
            let Some(behind) = self.longest(rest, lengths) else { continue };
            // Punctuation on either side belongs to the argument as often as not.
            out.push_str(own.trim_end_matches(|char: char| char != '_' && !char.is_alphanumeric()));
            // One mark, however many lines are repeated.
            if !out.ends_with(MARK) {
                out.push_str(MARK);
            }
            copied = first + behind;
        }
        if copied > 0 {
            out.push_str(text.get(copied..).unwrap_or_default());
        }
        copied > 0
    }

    /// Sets `places` to where runs may begin in `text`; `alone` is whether a run may be a single word. Kept out of line
    /// so that its loop has all registers.
    #[inline(never)]
    fn read(&self, text: &str, alone: bool, places: &mut RunStarts) {
        let bytes = text.as_bytes();
        places.clear();
        let initials = self.initials;
        // The latest word's place, with an end of 0 if no run begins like it.
        let mut one = (0, 0);
        // Words end at all punctuation: an error may put a bracket or a tag right behind what it repeats.
        each_run::<b'_'>(text, |from, to| {
            if one.1 != 0 {
                let (seen, next) = (glimpse(bytes, one.0, one.1), glimpse(bytes, from, to));
                let begins =
                    has(&self.begins, begins_like(seen, next)) || alone && has(&self.begins, begins_like(seen, 0));
                if begins && self.may_begin(bytes, one, (from, to), alone) {
                    places.push(one.0 as u32);
                }
            }
            let first = bytes.get(from).copied().unwrap_or(0);
            one = (from, if initials >> (first % 32) & 1 == 1 { to } else { 0 });
            true
        });
        if alone && one.1 != 0 && self.may_begin(bytes, one, (0, 0), alone) {
            places.push(one.0 as u32);
        }
    }

    /// Whether a run may begin with the words at `one` and `next`, or be the first alone.
    #[inline(never)]
    fn may_begin(&self, bytes: &[u8], one: (usize, usize), next: (usize, usize), alone: bool) -> bool {
        let hash = |(from, to): (usize, usize)| hash(bytes.get(from..).unwrap_or_default(), to - from);
        let first = chain(0, hash(one));
        self.echo.may_begin(chain(first, hash(next))) || alone && self.echo.may_begin(first)
    }

    /// The offset of the word behind the longest remembered run at the start of `text`, or the text's length.
    fn longest(&self, text: &str, lengths: u32) -> Option<usize> {
        let (mut hashed, mut found, mut ended) = (0, None, false);
        for ((from, to), count) in runs::<b'_'>(text).zip(1_u8..) {
            if ended {
                found = Some(from);
            }
            if usize::from(count) > LONGEST || lengths >> count == 0 {
                return found;
            }
            hashed = chain(hashed, hash(text.as_bytes().get(from..).unwrap_or_default(), to - from));
            ended = lengths >> count & 1 == 1 && self.echo.runs.contains(&(count, hashed));
        }
        if ended { Some(text.len()) } else { found }
    }
}

/// Byte offsets in an error at which runs may begin: mostly none.
pub(super) type RunStarts = Vec<u32>;

/// A word's first byte and its length.
#[inline]
fn glimpse(bytes: &[u8], from: usize, to: usize) -> u32 {
    u32::from(bytes.get(from).copied().unwrap_or(0)) | ((to - from) as u32) << 8
}

/// Ten bits of the glimpses of a run's first two words, or of its only one and 0. They reject nearly every pair of
/// words in an error without hashing it.
#[inline]
const fn begins_like(one: u32, next: u32) -> u32 {
    (one.rotate_left(15) ^ next).wrapping_mul(0x9E37_79B1) >> 22
}

/// Consecutive words of a call.
#[derive(Default)]
struct Run {
    count: u8,
    chars: usize,
    hash: u32,
    /// Hash of the first two words, or of the only one.
    first: u32,
    /// Glimpses of those words.
    begins: (u32, u32),
    /// Where the last word is.
    start: usize,
    end: usize,
}

impl Run {
    fn add(&mut self, start: usize, end: usize, word: u32, glimpse: u32) {
        self.hash = chain(self.hash, word);
        if self.count < 2 {
            self.first = self.hash;
            if self.count == 0 { self.begins.0 = glimpse } else { self.begins.1 = glimpse }
        }
        self.chars += end - start;
        self.count += 1;
        (self.start, self.end) = (start, end);
    }
}

/// A hash of the first `length` bytes, eight at a time.
#[inline]
fn hash(bytes: &[u8], length: usize) -> u32 {
    let mixed = |sum: u64, word: u64| {
        let sum = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum ^ sum >> 32
    };
    let (mut rest, mut left, mut sum) = (bytes, length, length as u64);
    while left > 8 {
        sum = mixed(sum, eight(rest));
        left -= 8;
        rest = rest.get(8..).unwrap_or_default();
    }
    // Of the last eight bytes, only those of the word.
    let kept = u64::MAX.wrapping_shr((64 - 8 * left) as u32);
    (mixed(sum, eight(rest) & kept) & 0xffff_ffff) as u32
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
        let mut text = String::new();
        canonical_json(&args, &mut text);
        let late = Late::<Echo>::of(&text, true);
        if late.runs(&mut Echo::default()).strip(error, &mut RunStarts::new(), &mut out) { out } else { error.into() }
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
            ("tide_offset: 5,\n  top: 20,\n", "no such text: tide_offset: 5,\n top: 20,</e>", "no such text § e>"),
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

    proptest::proptest! {
        #[test]
        fn what_a_glance_spares_is_repeated_nowhere(
            words in proptest::collection::vec("(text|b|cc|a_name|é|ddd77|not found)[ .,\n—]{1,2}", 1..30),
            own in "[a-cé \n]{0,6}",
            (from, to) in (0..30_usize, 0..30_usize),
        ) {
            let repeated = words.get(from.min(to)..from.max(to)).unwrap_or(&words).concat();
            let error = alloc::format!("{own}{repeated}{own}{}", words.iter().rev().cloned().collect::<String>());
            let unread = Late::<Echo>::of(&words.concat(), false);
            let read = Late::read(unread.get().into_owned());
            // With the text gone, the filters of beginnings are all ones and every word is hashed.
            let [(spared, one), (all, other)] = [unread, read].map(|echo| {
                let mut out = String::new();
                (echo.runs(&mut Echo::default()).strip(&error, &mut RunStarts::new(), &mut out), out)
            });
            proptest::prop_assert_eq!((spared, one), (all, other), "{}", error);
        }
    }

    #[test]
    fn long_lines_are_several_runs_and_all_is_bounded() {
        let line: String = (0..60).map(|n| alloc::format!("word{n} ")).collect();
        assert_eq!(stripped(json!(line), &alloc::format!("bad input: {line}end")), "bad input § end");
        assert!(of(json!("many words in a line\n".repeat(10_000))).fits());
    }
}
