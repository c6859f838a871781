//! What changes by itself, in words with digits: times, durations, addresses, ids, names of temporary files.
//!
//! Every decision looks at a bounded number of bytes around one word.

use super::mask::{digits_of, end_of_digits};
use super::words::{Lexicon, Sieve, is_in, is_name_in};

const PLAIN: u8 = 0;
pub(super) const LETTER: u8 = 1;
pub(super) const DIGIT: u8 = 2;
pub(super) const BLANK: u8 = 4;
pub(super) const CONTROL: u8 = 8;
pub(super) const QUOTE: u8 = 16;
/// Punctuation that occurs in paths and file names.
pub(super) const PATH: u8 = 32;
pub(super) const HEX: u8 = 64;
/// Letters, digits, `_` and all non-ASCII bytes.
pub(super) const WORD: u8 = 128;

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
static CLASSES: [u8; 256] = {
    let mut table = [PLAIN; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'f' | b'A'..=b'F' => LETTER | HEX | WORD,
            b'g'..=b'z' | b'G'..=b'Z' => LETTER | WORD,
            b'0'..=b'9' => DIGIT | HEX | WORD,
            b'_' => WORD,
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => BLANK,
            0..0x20 | 0x7f => CONTROL,
            b'"' | b'\'' | b'`' => QUOTE,
            b'/' | b'\\' | b'.' | b'-' | b'~' | b'@' | b'+' | b'%' => PATH,
            // A lead byte counts as the letter; continuation bytes are not letters of their own.
            0xc0.. => LETTER | WORD,
            0x80..0xc0 => WORD,
            _ => PLAIN,
        };
        byte += 1;
    }
    table
};

#[inline]
pub(super) fn is(byte: u8, class: u8) -> bool {
    classes(byte) & class != 0
}

/// All classes of a byte.
#[inline]
pub(super) fn classes(byte: u8) -> u8 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(PLAIN)
}

/// Whether the name of a unit of time may begin with this byte.
#[inline]
pub(super) fn begins_unit(byte: u8) -> bool {
    matches!(byte.to_ascii_lowercase(), b'd' | b'h' | b'm' | b'n' | b's' | b'u' | 0xc2 | 0xce)
}

/// Maximum number of digits of a number that cannot be a Unix time, a hash or a group of a longer token.
const SHORT_NUMBER: usize = 6;

/// Labels of process ids, of other ids, and of what has an id only if the value looks random.
const PROCESS: &str = "pid ppid processid tid";
const IDS: &str = "connectionid correlationid invocationid reqid requestid requestuuid rid sessid sessionid sid \
    spanid threadid traceid xrequestid";
const NAMES: &str = "request session span thread trace";

/// A text, for looking around its words.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) bytes: &'a [u8],
    /// Everything before this has been masked.
    pub(super) floor: usize,
}

impl Around<'_> {
    /// The byte at `at`; 0 beyond the end, where every token ends.
    #[inline]
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn classed(&self, at: usize, class: u8) -> bool {
        is(self.byte(at), class)
    }

    /// The end of the run of bytes of `class` that begins at `at`.
    #[inline]
    pub(super) fn end_of(&self, at: usize, class: u8) -> usize {
        let mut end = at;
        while self.bytes.get(end).is_some_and(|byte| is(*byte, class)) {
            end += 1;
        }
        end.max(at)
    }

    /// The byte range of the word around the digit at `digit`.
    #[inline]
    pub(super) fn word(&self, digit: usize) -> (usize, usize) {
        let mut start = digit;
        while start > self.floor && self.classed(start - 1, WORD) {
            start -= 1;
        }
        (start, self.end_of(digit, WORD))
    }

    /// The end of the number whose first digit is at `digit`, if the bytes around it show that it is a word of its own
    /// and not volatile, as nearly every number is. `None` if [`Self::volatile`] has to decide.
    #[inline]
    pub(super) fn plain_number(&self, digit: usize) -> Option<usize> {
        if digit.checked_sub(1).is_some_and(|before| self.classed(before, WORD)) {
            return None;
        }
        let end = end_of_digits(self.bytes, digit);
        let is_word = end - digit <= SHORT_NUMBER && !self.classed(end, WORD);
        (is_word && self.is_plain(digit, end)).then_some(end)
    }

    /// The same for a word that consists of a few digits.
    #[inline]
    fn is_plain(&self, start: usize, end: usize) -> bool {
        let length = end - start;
        let may_go_on = match self.byte(end) {
            // A clock, a date, a fraction, a duration.
            b':' => length <= 2 && self.classed(end + 1, DIGIT),
            b'-' | b'/' => length == 4 && self.classed(end + 1, DIGIT),
            b'.' => self.classed(end + 1, DIGIT),
            b' ' => begins_unit(self.byte(end + 1)),
            _ => false,
        };
        let before = start.checked_sub(1).map_or(0, |at| self.byte(at));
        if may_go_on || is(before, WORD) {
            return false;
        }
        if is(before, PATH) {
            return self.directory(start).is_none();
        }
        let label = self.label_end(start);
        let letter = |back: usize| label.checked_sub(back).map_or(0, |at| self.byte(at)).to_ascii_lowercase();
        let may_be_labelled = match letter(1) {
            b'_' | b'-' => true,
            // All labels of short numbers end in `id`, and a bare `id` says nothing.
            b'd' if letter(2) == b'i' => {
                let name = if letter(3) == b' ' { 4 } else { 3 };
                is(letter(name), LETTER) || matches!(letter(3), b'_' | b'-')
            }
            b'd' => length > 4 || matches!(letter(2), b'_' | b'-'),
            b't' | b'e' | b'n' => length > 4,
            _ => false,
        };
        label == start || !may_be_labelled
    }

    /// The end of the label before a value that begins at `start`, with at most three separators between them.
    #[inline]
    fn label_end(&self, start: usize) -> usize {
        let mut end = start;
        while end > 0
            && start - end < 3
            && matches!(self.byte(end - 1), b' ' | b':' | b'=' | b'#' | b'\'' | b'"' | b'[' | b'(')
        {
            end -= 1;
        }
        end
    }

    /// The start of the file name around `start`, if a directory precedes it.
    fn directory(&self, start: usize) -> Option<usize> {
        let floor = self.floor.max(start.saturating_sub(64));
        let before = self.bytes.get(floor..start).unwrap_or_default();
        let in_name = |byte: &u8| is(*byte, WORD) || matches!(byte, b'.' | b'-');
        let name = start - before.iter().rev().take_while(|byte| in_name(byte)).count();
        (name > 0 && matches!(self.byte(name - 1), b'/' | b'\\')).then_some(name)
    }

    /// What to mask of the word from `start` to `end`, whose first digit is at `digit`, and the placeholder. `asked`
    /// says that it is known not to be a [plain number](Self::plain_number).
    pub(super) fn volatile(
        &self,
        start: usize,
        end: usize,
        digit: usize,
        asked: bool,
    ) -> Option<(usize, usize, &'static str)> {
        let word = self.bytes.get(start..end).unwrap_or_default();
        let is_short = word.len() <= SHORT_NUMBER && word.iter().all(|byte| is(*byte, DIGIT));
        if is_short && !asked && self.is_plain(start, end) { None } else { self.closely(word, start, digit, is_short) }
    }

    /// The same with all checks; `is_short` says that the word consists of a few digits.
    fn closely(&self, word: &[u8], start: usize, digit: usize, is_short: bool) -> Option<(usize, usize, &'static str)> {
        let end = start + word.len();
        let before = if start > 0 { self.byte(start - 1) } else { 0 };
        // The byte after a short number excludes most possibilities.
        if is_short {
            let found = match self.byte(end) {
                _ if before == b'.' => None,
                b':' if before != b':' => self.clock(start).map(|to| (start, to, "<time>")),
                b'-' | b'/' => self.date_time(start).map(|to| (start, to, "<time>")),
                b'.' | b' ' => self.duration(start).map(|to| (start, to, "<duration>")),
                _ => None,
            };
            return found
                .or_else(|| self.labelled(start, word).map(|to| (start, to, "<id>")))
                .or_else(|| self.temporary(start, word).map(|(from, to)| (from, to, "<tmp>")));
        }
        let all_hex = |digits: &[u8]| digits.iter().all(|byte| is(*byte, HEX));
        let is_hex = || word.len() >= 7 && all_hex(word);
        // Days are the only unit spelled with hexadecimal letters.
        if is_hex() && word.iter().any(|byte| is(*byte, LETTER) && *byte != b'd') && self.byte(start + 8) != b'-' {
            return Some((start, end, "<hex>"));
        }
        if digit == start && before != b'.' {
            let time = match end_of_digits(self.bytes, start) - start {
                1 | 2 if before != b':' => self.clock(start),
                4 | 8 | 14 => self.date_time(start),
                _ => None,
            };
            if let Some(to) = time {
                return Some((start, to, "<time>"));
            }
            if let Some(to) = self.duration(start) {
                return Some((start, to, "<duration>"));
            }
            if let Some(to) = self.epoch(start, end) {
                return Some((start, to, "<time>"));
            }
        }
        if before == b'('
            && word.first() == Some(&b'x')
            && let Some(to) = self.tally(start)
        {
            return Some((start, to, "<duration>"));
        }
        if let Some(to) = self.uuid(start) {
            return Some((start, to, "<uuid>"));
        }
        if let Some(digits) = word.strip_prefix(b"0x").or_else(|| word.strip_prefix(b"0X"))
            && !digits.is_empty()
            && all_hex(digits)
        {
            return Some((start, end, "<hex>"));
        }
        if is_hex() && word.iter().any(|byte| is(*byte, LETTER)) {
            return Some((start, end, "<hex>"));
        }
        // At the end of a name that a program gives to what it writes: `scan_a97d71.txt`; but no number, neither with a
        // letter before it nor with a unit.
        let counts = |part: &[u8]| part.iter().all(|byte| is(*byte, DIGIT));
        if let Some(suffix) = word.rsplit(|byte| *byte == b'_').next()
            && (6..word.len()).contains(&suffix.len())
            && all_hex(suffix)
            && suffix
                .iter()
                .position(|byte| is(*byte, DIGIT))
                .and_then(|first| suffix.get(first..))
                .is_some_and(|from| !counts(from))
            && !suffix.split_last().is_some_and(|(_, before)| counts(before))
        {
            return Some((end - suffix.len(), end, "<hex>"));
        }
        if let Some(to) = self.labelled(start, word) {
            return Some((start, to, "<id>"));
        }
        self.temporary(start, word).map(|(from, to)| (from, to, "<tmp>"))
    }

    /// The end of the digits that begin at `at`, if there are exactly `count`.
    fn digits(&self, at: usize, count: usize) -> Option<usize> {
        (end_of_digits(self.bytes, at) == at + count).then_some(at + count)
    }

    fn literal(&self, at: usize, any_of: &[u8]) -> Option<usize> {
        any_of.contains(&self.byte(at)).then_some(at + 1)
    }

    /// The end of the time that begins with the digit at `at`, if it has the most common form: `2026-07-26T12:01:01`,
    /// with or without a fraction and a zone. It is not in a path: one that began before it would have been masked.
    #[inline]
    pub(super) fn stamp(&self, at: usize) -> Option<usize> {
        let may_be = self.byte(at + 4) == b'-' && self.byte(at + 7) == b'-';
        if may_be { self.stamped(at) } else { None }
    }

    #[inline(never)]
    fn stamped(&self, at: usize) -> Option<usize> {
        // Where the digits are in eight bytes.
        const DATE: u64 = u64::from_le_bytes([0x80, 0x80, 0x80, 0x80, 0, 0x80, 0x80, 0]);
        const TIME: u64 = u64::from_le_bytes([0x80, 0x80, 0, 0x80, 0x80, 0, 0x80, 0x80]);
        let eight = |at: usize| self.bytes.get(at..)?.first_chunk::<8>();
        let (date, time) = (eight(at)?, eight(at + 8)?);
        let [_, _, b'T' | b' ', _, _, b':', b'0'..=b'5', _] = time else { return None };
        let (b':', b'0'..=b'6') = (self.byte(at + 16), self.byte(at + 17)) else { return None };
        let all = |eight: &[u8; 8], digits: u64| digits_of(u64::from_le_bytes(*eight)) & digits == digits;
        let before = if at > 0 { self.byte(at - 1) } else { 0 };
        let is_time = !is(before, WORD) && before != b'.' && all(date, DATE) && all(time, TIME);
        let end = self.digits(at + 17, 2).filter(|end| is_time && self.byte(*end) != b':')?;
        self.clock_end(end)
    }

    /// `2026-07-26T12:01`, with or without seconds, fraction and zone; `20260726T120101Z`, `20260726120101`;
    /// `2026-07-26_12-01-01`. A date alone is content.
    fn date_time(&self, at: usize) -> Option<usize> {
        let end = end_of_digits(self.bytes, at);
        match end - at {
            4 => {}
            8 => {
                let end = self.digits(self.literal(end, b"T")?, 6)?;
                return self.word_ends(self.zone(end));
            }
            14 => return self.word_ends(end).filter(|_| self.is_compact(at)),
            _ => return None,
        }
        let end = self.digits(self.literal(end, b"-/")?, 2)?;
        let end = self.digits(self.literal(end, b"-/")?, 2)?;
        let time = self.literal(end, b"Tt _-")?;
        let in_name = || self.time_in_name(time);
        self.clock(time).or_else(in_name).or_else(|| {
            let end = self.digits(self.literal(self.digits(time, 2)?, b":")?, 2)?;
            self.word_ends(self.zone(end))
        })
    }

    /// Whether fourteen digits are a date of the years 2000 to 2099 and a time, to the second.
    fn is_compact(&self, at: usize) -> bool {
        let two = |place: usize| (self.byte(at + place) - b'0') * 10 + (self.byte(at + place + 1) - b'0');
        two(0) == 20
            && (1..=12).contains(&two(4))
            && (1..=31).contains(&two(6))
            && two(8) < 24
            && two(10) < 60
            && two(12) <= 60
    }

    /// `12_01_01`, `12-01-01_485Z`: as in file names.
    fn time_in_name(&self, at: usize) -> Option<usize> {
        let mut end = self.digits(at, 2)?;
        for _ in 0..2 {
            end = self.digits(self.literal(end, b"_-.")?, 2)?;
        }
        if self.classed(end + 1, DIGIT) && self.literal(end, b"_-.").is_some() {
            end = self.end_of(end + 1, DIGIT);
        }
        let end = self.zone(end);
        (!self.classed(end, LETTER | DIGIT)).then_some(end)
    }

    /// `12:01:01`, with or without a fraction and a zone.
    fn clock(&self, at: usize) -> Option<usize> {
        let end = end_of_digits(self.bytes, at);
        let minutes = if matches!(end - at, 1 | 2) { self.literal(end, b":")? } else { return None };
        let end = self.digits(minutes, 2)?;
        let seconds = self.literal(end, b":")?;
        let end = self.digits(seconds, 2)?;
        if self.byte(minutes) > b'5' || self.byte(seconds) > b'6' || self.byte(end) == b':' {
            return None;
        }
        self.clock_end(end)
    }

    /// The end of a clock whose seconds end at `at`, with or without a fraction and a zone.
    fn clock_end(&self, at: usize) -> Option<usize> {
        let mut end = at;
        if matches!(self.byte(end), b'.' | b',') && self.classed(end + 1, DIGIT) {
            end = self.end_of(end + 1, DIGIT);
        }
        self.word_ends(self.zone(end))
    }

    /// Skips `Z`, `+02:00` or `+0200`.
    fn zone(&self, at: usize) -> usize {
        if matches!(self.byte(at), b'Z' | b'z') {
            return at + 1;
        }
        let signed = || {
            let hours = self.literal(at, b"+-")?;
            self.digits(hours, 4).or_else(|| self.digits(self.literal(self.digits(hours, 2)?, b":")?, 2))
        };
        signed().unwrap_or(at)
    }

    fn word_ends(&self, at: usize) -> Option<usize> {
        (!self.classed(at, WORD)).then_some(at)
    }

    /// `1.2s`, `350ms`, `1m30s`, `0.03 seconds`. A single `5m` or `2h` may be anything.
    fn duration(&self, at: usize) -> Option<usize> {
        const SPACED: &str = "hour hours hrs microseconds milliseconds min mins minute minutes ms msec nanoseconds \
            ns sec second seconds secs";
        let mut at = at;
        let mut parts = 0;
        let mut certain = false;
        loop {
            let whole = end_of_digits(self.bytes, at);
            let fraction = self.byte(whole) == b'.' && self.classed(whole + 1, DIGIT);
            let number = if fraction { end_of_digits(self.bytes, whole + 1) } else { whole };
            let spaced = self.byte(number) == b' ';
            let unit = number + usize::from(spaced);
            let units = self.bytes.get(unit..).unwrap_or_default();
            // Fast path: the byte after nearly every number rules a duration out.
            if !units.first().is_some_and(|first| begins_unit(*first)) {
                return None;
            }
            let length = units.iter().take(16).take_while(|byte| is(**byte, WORD) && !is(**byte, DIGIT)).count();
            parts += 1;
            match units.get(..length).unwrap_or_default() {
                b"s" if !spaced || fraction => certain = true,
                // The most common ones of the list, and a micro sign or a mu before `s`.
                b"ms" | b"us" | b"\xc2\xb5s" | b"\xce\xbcs" => certain = true,
                b"m" | b"h" | b"d" if !spaced => {}
                unit if core::str::from_utf8(unit).is_ok_and(|unit| is_in(SPACED, unit)) => certain = true,
                _ => return None,
            }
            at = unit + length;
            if !(self.classed(at, DIGIT) && parts < 4) {
                break;
            }
        }
        if certain || parts > 1 { self.word_ends(at) } else { None }
    }

    /// `x3 over 33s`: how often a cluster has seen an event.
    fn tally(&self, at: usize) -> Option<usize> {
        const OVER: &[u8] = b" over ";
        let end = end_of_digits(self.bytes, at + 1);
        let over = self.bytes.get(end..)?.starts_with(OVER);
        over.then(|| self.duration(end + OVER.len()))?
    }

    /// Seconds, milli-, micro- or nanoseconds since 1970, for the years 2014 to 2039.
    fn epoch(&self, start: usize, end: usize) -> Option<usize> {
        let length = end - start;
        if !matches!(length, 10 | 13 | 16 | 19) || self.digits(start, length).is_none() {
            return None;
        }
        let plausible = matches!((self.byte(start), self.byte(start + 1)), (b'1', b'4'..=b'9') | (b'2', b'0' | b'1'));
        let fraction = length == 10 && self.byte(end) == b'.' && self.classed(end + 1, DIGIT);
        plausible.then(|| if fraction { self.end_of(end + 1, DIGIT) } else { end })
    }

    fn uuid(&self, start: usize) -> Option<usize> {
        // Fast path: most words have another length.
        if self.byte(start + 8) != b'-' {
            return None;
        }
        let mut at = start;
        for (index, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
            if index > 0 {
                at = self.literal(at, b"-")?;
            }
            if !(at..at + length).all(|at| self.classed(at, HEX)) {
                return None;
            }
            at += length;
        }
        self.word_ends(at)
    }

    /// The end of a value that the word before it names as the id of a process, thread, session, request or trace.
    /// `req 12`, `job 7`, `run 3` and `thread 2` are counters.
    fn labelled(&self, start: usize, word: &[u8]) -> Option<usize> {
        const LABELS: Sieve = Sieve::of(&[PROCESS, IDS, NAMES]);
        static WORDS: Lexicon = Lexicon::of(&[PROCESS, IDS, NAMES]);
        let random = word.len() >= 8 || word.len() >= 5 && word.iter().all(|byte| is(*byte, DIGIT));
        let (from, to) = self.label(start, random)?;
        let label = self.bytes.get(from..to)?;
        // Fast path for words without separators.
        if from < to
            && label.iter().all(u8::is_ascii_alphabetic)
            && !WORDS.may_hold(self.bytes.get(from..).unwrap_or_default(), label.len())
        {
            return None;
        }
        let label = core::str::from_utf8(label).ok()?;
        if !LABELS.passes_name(label) {
            return None;
        }
        let named = |list: &str| is_name_in(list, label);
        (named(PROCESS) || named(IDS) || random && named(NAMES)).then(|| {
            let mut end = start + word.len();
            while self.byte(end) == b'-' && self.classed(end + 1, WORD) {
                end = self.end_of(end + 1, WORD);
            }
            end
        })
    }

    /// The byte range of the label before a value that begins at `start`, if its last letter is that of a known label;
    /// a `random` value may have more labels.
    #[inline]
    fn label(&self, start: usize, random: bool) -> Option<(usize, usize)> {
        let end = self.label_end(start);
        if end == start {
            return None;
        }
        // Fast path: the last letter of most words before a number rules them out, since all labels of ids end in `d`.
        let ends_label = |byte: u8| byte == b'd' || random && matches!(byte, b't' | b'e' | b'n');
        let last = if end == 0 { 0 } else { self.byte(end - 1) };
        if !ends_label(last.to_ascii_lowercase()) && !matches!(last, b'_' | b'-') {
            return None;
        }
        let before = self.bytes.get(start.saturating_sub(40)..end).unwrap_or_default();
        let mut length =
            before.iter().rev().take_while(|byte| is(**byte, LETTER) || matches!(byte, b'_' | b'-')).count();
        let spelled = |length: usize| before.get(before.len().saturating_sub(length)..).unwrap_or_default();
        // `request id: …` is one label.
        if spelled(length).eq_ignore_ascii_case(b"id") {
            let rest = before.get(..before.len() - length).and_then(|rest| rest.strip_suffix(b" ")).unwrap_or_default();
            let named = rest.iter().rev().take_while(|byte| is(**byte, LETTER)).count();
            // A bare `id` says nothing.
            if named == 0 {
                return None;
            }
            length += 1 + named;
            length = length.min(before.len());
        }
        let last = spelled(length).iter().rev().find(|byte| byte.is_ascii_alphanumeric())?.to_ascii_lowercase();
        ends_label(last).then_some((end - length, end))
    }

    /// `tmpab12cd`, or a name directly in a directory for temporary files; for a directory also one level deeper, as
    /// `pytest-12` in `/tmp/pytest-of-me`.
    fn temporary(&self, start: usize, word: &[u8]) -> Option<(usize, usize)> {
        if word.starts_with(b"tmp") && word.len() >= 7 {
            return Some((start, start + word.len()));
        }
        // Fast path: nearly every name is outside any directory.
        let name = self.directory(start)?;
        let in_name = |byte: &u8| is(*byte, WORD) || matches!(byte, b'.' | b'-');
        let rest = self.bytes.get(start..).unwrap_or_default();
        let mut end = start + rest.iter().take_while(|byte| in_name(byte)).count();
        let is_directory = matches!(self.byte(end), b'/' | b'\\');
        let within = |name: usize| {
            let directory = self.bytes.get(name.saturating_sub(6)..name).unwrap_or_default();
            [&b"/tmp/"[..], b"/temp/", b"\\tmp\\", b"\\temp\\"].iter().any(|known| {
                directory.len() >= known.len()
                    && directory.get(directory.len() - known.len()..).is_some_and(|end| end.eq_ignore_ascii_case(known))
            })
        };
        if !(within(name) || is_directory && self.directory(name - 1).is_some_and(within)) {
            return None;
        }
        while end > start && matches!(self.byte(end - 1), b'.' | b'-') {
            end -= 1;
        }
        Some((name, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    /// Checks that every number called plain is one of which nothing is masked; how many there are.
    fn agrees(text: &str) -> u32 {
        let bytes = text.as_bytes();
        let mut plain = 0;
        for floor in [0, text.len() / 2] {
            let around = Around { bytes, floor };
            let mut at = floor;
            while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(u8::is_ascii_digit)) {
                let digit = at + found;
                let (start, end) = around.word(digit);
                if let Some(to) = around.stamp(digit) {
                    let told = around.closely(&bytes[start..end], start, digit, end - start <= SHORT_NUMBER);
                    assert_eq!(told, Some((start, to, "<time>")), "{text:?} at {digit}");
                }
                if let Some(told) = around.plain_number(digit) {
                    assert_eq!((digit, told), (start, end), "{text:?} at {digit}");
                    let word = &bytes[start..end];
                    assert_eq!(around.closely(word, start, digit, true), None, "{text:?} at {digit}");
                    plain += 1;
                }
                at = end;
            }
        }
        plain
    }

    #[test]
    fn what_is_called_plain_is() {
        let mut plain = 0;
        for before in [
            "",
            "a",
            "cart:",
            "pid ",
            "pid: ",
            "pid=",
            "thread #",
            "Session (",
            "req ",
            "request id: ",
            "x-",
            "x.",
            "/",
            "/tmp/",
            "/tmp/a-",
            "\\temp\\",
            "src/",
            "_",
            "id_",
            "id-",
            "id ",
            "; id: ",
            "user id: ",
            "é id: ",
            " ",
            "\n",
            "é",
            "'",
            "v",
            "1:",
            "12:",
            "2026-07-",
            "tid  ",
            "=\"",
        ] {
            for number in ["7", "12", "123", "2026", "12345", "123456", "1234567", "0x1f", "12ab"] {
                for after in [
                    "",
                    " ",
                    "\n",
                    ":",
                    ":01",
                    ":01:02",
                    "-07",
                    "-07-26T12:01",
                    "/07/26 12:01:02",
                    ".",
                    ".5",
                    ".5s",
                    "s",
                    " s",
                    " ms",
                    " seconds",
                    " rows",
                    " h",
                    " µs",
                    "µs",
                    "%",
                    ",",
                    "_a",
                    "é",
                    ")",
                    "T12",
                    "-a",
                    "Z",
                ] {
                    plain += agrees(&format!("{before}{number}{after}"));
                    agrees(&format!("some words {before}{number}{after} and 4 more"));
                }
            }
        }
        // Most are recognised at once.
        assert!(plain > 2_000, "{plain}");
    }

    proptest::proptest! {
        #[test]
        fn any_number(text in "[a-f0-9 :./=#T_-]{0,24}|(pid|tid|session|request id|/tmp/|s|ms|[0-9]{1,7}|[ :=./#-]){0,10}|[ -~é]{0,40}|[a-z./ ]{0,3}2026-07-26[T ]1[0-9]:[0-9]{2}:[0-9]{2}[.:Zz+0-9 a-b]{0,9}") {
            agrees(&text);
        }
    }
}
