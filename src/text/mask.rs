//! Text with its volatile parts masked, in one pass over the bytes.
//!
//! Light masking is for outcomes: what a clock, a process table or a random source put into a text goes, what a program
//! counted stays. Plain integers, cursors, line numbers and `req 12`, `job 7`, `run 3` stay, because they are how an
//! honest log tail or a paged listing moves on. Heavy masking is for classes of errors: digits, quoted strings, paths
//! and case go as well, because the same mistake made with other arguments is the same mistake.
//!
//! The pass is linear: every byte is looked at a bounded number of times, whatever the text.

use alloc::string::String;

/// How much is masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strength {
    /// What changes by itself.
    Light,
    /// What changes with the arguments.
    Heavy,
}

/// What became of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Masked {
    /// Letters outside masked tokens, counted up to [`LETTERS_COUNTED`]. With fewer than four a lightly masked text says
    /// nothing: compare the text itself.
    pub(crate) letters: u32,
    /// Tokens masked.
    pub(crate) masked: u32,
    /// Whether there are digits in what was kept.
    pub(crate) digits: bool,
}

/// Nobody asks for more: counting on would cost as much as the pass itself.
pub(crate) const LETTERS_COUNTED: u32 = 64;

/// Longer texts are compared by their ends, and the digest of what lies between.
pub(crate) const CLIP_ABOVE: usize = 8 * 1024;

/// The first and the last 4 KB of a text above 8 KB, on character boundaries; else the text, and nothing.
pub(crate) fn clip(text: &str) -> (&str, &str) {
    clip_to(text, CLIP_ABOVE / 2)
}

/// The first and the last `half` bytes of a text longer than both, on character boundaries; else the text, and nothing.
pub(crate) fn clip_to(text: &str, half: usize) -> (&str, &str) {
    if text.len() <= half.saturating_mul(2) {
        return (text, "");
    }
    let head = text.get(..text.floor_char_boundary(half)).unwrap_or_default();
    let tail = text.get(text.ceil_char_boundary(text.len() - half)..).unwrap_or_default();
    (head, tail)
}

/// Where the first ASCII digit is; eight bytes at a time.
pub(crate) fn first_digit(bytes: &[u8]) -> Option<usize> {
    let plain =
        bytes.as_chunks::<8>().0.iter().take_while(|chunk| below(u64::from_le_bytes(**chunk) ^ (ONES * 0x30), 10) == 0);
    let start = plain.count() * 8;
    bytes.get(start..)?.iter().position(u8::is_ascii_digit).map(|at| start + at)
}

const ONES: u64 = 0x0101_0101_0101_0101;

/// The high bit of every byte below `limit`; bytes above such a byte may be marked wrongly.
const fn below(word: u64, limit: u64) -> u64 {
    word.wrapping_sub(ONES * limit) & !word & (ONES << 7)
}

/// The letters of `text`, counted up to [`LETTERS_COUNTED`].
pub(crate) fn letters(text: &str) -> u32 {
    let mut letters = 0;
    for byte in text.bytes() {
        letters += u32::from(is(byte, LETTER));
        if letters >= LETTERS_COUNTED {
            break;
        }
    }
    letters
}

/// Appends `text` to `out`, normalised: escape sequences and control characters gone, white space folded to single
/// blanks and trimmed, tokens masked.
pub(crate) fn normalise(text: &str, strength: Strength, out: &mut String) -> Masked {
    match strength {
        Strength::Light => Pass::<false>::new(text, out).run(),
        Strength::Heavy => Pass::<true>::new(text, out).run(),
    }
}

const PLAIN: u8 = 0;
const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const BLANK: u8 = 4;
const CONTROL: u8 = 8;
const QUOTE: u8 = 16;
/// Punctuation that stands inside paths and file names.
const PATH: u8 = 32;
const HEX: u8 = 64;
/// Letters, digits, `_` and everything that is not ASCII.
const WORD: u8 = 128;

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
            // A lead byte stands for its character; the bytes that continue it are no letters of their own.
            0xc0.. => LETTER | WORD,
            0x80..0xc0 => WORD,
            _ => PLAIN,
        };
        byte += 1;
    }
    table
};

#[inline]
fn is(byte: u8, class: u8) -> bool {
    CLASSES.get(usize::from(byte)).is_some_and(|classes| classes & class != 0)
}

struct Pass<'a, const HEAVY: bool> {
    text: &'a str,
    bytes: &'a [u8],
    out: &'a mut String,
    /// Where the normalised text begins in `out`.
    base: usize,
    /// Everything before is in `out`, everything from here to `at` will be as it is.
    copied: usize,
    at: usize,
    /// Heavy: tokens that begin before this have been found to be no paths.
    looked: usize,
    masked: u32,
    letters: u32,
    digits: bool,
}

impl<'a, const HEAVY: bool> Pass<'a, HEAVY> {
    fn new(text: &'a str, out: &'a mut String) -> Self {
        let base = out.len();
        out.reserve(text.len());
        let bytes = text.as_bytes();
        Self { text, bytes, out, base, copied: 0, at: 0, looked: 0, masked: 0, letters: 0, digits: false }
    }

    fn run(mut self) -> Masked {
        self.skip_to(self.end_of(0, BLANK));
        while self.at < self.bytes.len() {
            if !HEAVY {
                self.skip_ordinary();
            }
            let byte = self.byte(self.at);
            if HEAVY && byte == b' ' && !self.classed(self.at + 1, BLANK | CONTROL) {
                self.at += 1;
            } else if is(byte, BLANK) {
                self.blanks();
            } else if is(byte, CONTROL) {
                self.control(byte);
            } else if HEAVY && is(byte, WORD | PATH) && self.at >= self.looked && self.path() {
                // Masked, or nothing to mask.
            } else if is(byte, DIGIT) {
                self.number();
            } else if HEAVY && is(byte, QUOTE) {
                self.quoted(byte);
            } else {
                self.at += 1;
            }
        }
        self.at = self.bytes.len();
        self.flush();
        while self.out.len() > self.base && self.out.ends_with(' ') {
            self.out.pop();
        }
        Masked { letters: self.letters, masked: self.masked, digits: self.digits }
    }

    /// The byte at `at`; 0 beyond the end, where every token ends.
    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    #[inline]
    fn classed(&self, at: usize, class: u8) -> bool {
        is(self.byte(at), class)
    }

    /// Steps over text without digits, control characters and adjacent blanks, eight bytes at a time.
    #[inline]
    fn skip_ordinary(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        // The high bit of the first byte, where the byte before it is a blank.
        let mut after_blank = 0;
        for chunk in rest.as_chunks::<8>().0 {
            let word = u64::from_le_bytes(*chunk);
            let blanks = below(word ^ (ONES * 0x20), 1);
            let pairs = blanks & (blanks << 8 | after_blank);
            if below(word, 0x20) | below(word ^ (ONES * 0x30), 10) | pairs != 0 {
                break;
            }
            after_blank = blanks >> 56;
            self.at += 8;
        }
        // A blank at the end is looked at again, together with what follows it.
        self.at -= usize::from(after_blank != 0);
        while self.at < self.bytes.len() {
            let byte = self.byte(self.at);
            let pair = byte == b' ' && self.classed(self.at + 1, BLANK);
            if pair || byte != b' ' && is(byte, DIGIT | BLANK | CONTROL) {
                break;
            }
            self.at += 1;
        }
    }

    /// Copies what lies between `copied` and `at`.
    fn flush(&mut self) {
        let run = self.text.get(self.copied..self.at).unwrap_or_default();
        self.copied = self.at;
        if self.letters < LETTERS_COUNTED {
            self.letters = LETTERS_COUNTED.min(self.letters + letters(run));
        }
        if !HEAVY {
            self.out.push_str(run);
        } else if run.is_ascii() {
            let start = self.out.len();
            self.out.push_str(run);
            if let Some(pushed) = self.out.get_mut(start..) {
                pushed.make_ascii_lowercase();
            }
        } else {
            self.out.extend(run.chars().flat_map(char::to_lowercase));
        }
    }

    /// Puts `mask` in place of the bytes from `start` to `end`.
    fn mask(&mut self, start: usize, end: usize, mask: &str) {
        self.at = start;
        self.flush();
        self.out.push_str(mask);
        self.masked = self.masked.saturating_add(1);
        self.skip_to(end);
    }

    fn skip_to(&mut self, end: usize) {
        self.at = end;
        self.copied = end;
    }

    fn blanks(&mut self) {
        self.flush();
        if self.out.len() > self.base && !self.out.ends_with(' ') {
            self.out.push(' ');
        }
        let end = self.end_of(self.at, BLANK);
        self.skip_to(end);
    }

    /// Where the run of bytes of `class` that begins at `at` ends.
    fn end_of(&self, at: usize, class: u8) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        at + rest.iter().position(|byte| !is(*byte, class)).unwrap_or(rest.len())
    }

    /// Drops a control character, or the terminal sequence that an escape begins.
    fn control(&mut self, byte: u8) {
        self.flush();
        let mut end = self.at + 1;
        if byte == 0x1b {
            match self.byte(end) {
                b'[' => {
                    end += 1;
                    while matches!(self.byte(end), 0x20..=0x3f) {
                        end += 1;
                    }
                    end += usize::from(matches!(self.byte(end), 0x40..=0x7e));
                }
                // A title or a link: up to its terminator, or to the end of the line where that is missing.
                b']' | b'P' | b'^' | b'_' => {
                    while !matches!(self.byte(end), 0 | 0x07 | 0x1b | b'\n') {
                        end += 1;
                    }
                    end += usize::from(self.byte(end) == 0x07);
                    end += 2 * usize::from(self.byte(end) == 0x1b && self.byte(end + 1) == b'\\');
                }
                b'(' | b')' | b'#' => end += 1 + usize::from(matches!(self.byte(end + 1), 0x30..=0x7e)),
                0x30..=0x7e => end += 1,
                _ => {}
            }
        }
        end = end.min(self.bytes.len());
        // What was dropped stood between blanks: they are one run.
        if self.out.len() == self.base || self.out.ends_with(' ') {
            end = self.end_of(end, BLANK);
        }
        self.skip_to(end);
    }

    /// A word with a digit in it: the only words that can be volatile.
    fn number(&mut self) {
        let digit = self.at;
        let before = self.bytes.get(self.copied..digit).unwrap_or_default();
        let start = digit - before.iter().rev().take_while(|byte| is(**byte, WORD)).count();
        let end = self.end_of(digit, WORD);
        if let Some((from, to, mask)) = self.volatile(start, end, digit) {
            self.mask(from, to, mask);
            return;
        }
        self.digits = true;
        if HEAVY {
            // Grouped and decimal digits are one number.
            let mut to = self.end_of(digit, DIGIT);
            while matches!(self.byte(to), b'.' | b',') && self.classed(to + 1, DIGIT) {
                to = self.end_of(to + 1, DIGIT);
            }
            self.at = digit;
            self.flush();
            self.out.push('#');
            self.skip_to(to);
        } else {
            self.at = end;
        }
    }

    /// What to mask of the word from `start` to `end`, whose first digit is at `digit`, and with what.
    fn volatile(&self, start: usize, end: usize, digit: usize) -> Option<(usize, usize, &'static str)> {
        let before = if start > 0 { self.byte(start - 1) } else { 0 };
        if digit == start && before != b'.' {
            if let Some(to) = self.date_time(start).or_else(|| self.clock(start).filter(|_| before != b':')) {
                return Some((start, to, "<time>"));
            }
            if let Some(to) = self.duration(start) {
                return Some((start, to, "<duration>"));
            }
            if let Some(to) = self.epoch(start, end) {
                return Some((start, to, "<time>"));
            }
        }
        if let Some(to) = self.uuid(start) {
            return Some((start, to, "<uuid>"));
        }
        let word = self.bytes.get(start..end).unwrap_or_default();
        let all_hex = |digits: &[u8]| digits.iter().all(|byte| is(*byte, HEX));
        if let Some(digits) = word.strip_prefix(b"0x").or_else(|| word.strip_prefix(b"0X"))
            && !digits.is_empty()
            && all_hex(digits)
        {
            return Some((start, end, "<hex>"));
        }
        if word.len() >= 7 && all_hex(word) && word.iter().any(|byte| is(*byte, LETTER)) {
            return Some((start, end, "<hex>"));
        }
        if let Some(to) = self.labelled(start, word) {
            return Some((start, to, "<id>"));
        }
        self.temporary(start, word).map(|(from, to)| (from, to, "<tmp>"))
    }

    /// Where `count` digits that begin at `at` end, if there are that many and no more.
    fn digits(&self, at: usize, count: usize) -> Option<usize> {
        let end = at + count;
        ((at..end).all(|at| self.classed(at, DIGIT)) && !self.classed(end, DIGIT)).then_some(end)
    }

    fn literal(&self, at: usize, any_of: &[u8]) -> Option<usize> {
        any_of.contains(&self.byte(at)).then_some(at + 1)
    }

    /// `2026-07-26T12:01`, with seconds, fraction and zone or without; `20260726T120101Z`. A date alone is content.
    fn date_time(&self, at: usize) -> Option<usize> {
        if let Some(end) = self.digits(at, 8) {
            let end = self.digits(self.literal(end, b"T")?, 6)?;
            return self.word_ends(self.zone(end));
        }
        let end = self.digits(at, 4)?;
        let end = self.digits(self.literal(end, b"-/")?, 2)?;
        let end = self.digits(self.literal(end, b"-/")?, 2)?;
        let time = self.literal(end, b"Tt ")?;
        self.clock(time).or_else(|| {
            let end = self.digits(self.literal(self.digits(time, 2)?, b":")?, 2)?;
            self.word_ends(self.zone(end))
        })
    }

    /// `12:01:01`, with fraction and zone or without.
    fn clock(&self, at: usize) -> Option<usize> {
        let end = self.digits(at, 2).or_else(|| self.digits(at, 1))?;
        let minutes = self.literal(end, b":")?;
        let end = self.digits(minutes, 2)?;
        let seconds = self.literal(end, b":")?;
        let mut end = self.digits(seconds, 2)?;
        if self.byte(minutes) > b'5' || self.byte(seconds) > b'6' || self.byte(end) == b':' {
            return None;
        }
        if matches!(self.byte(end), b'.' | b',') && self.classed(end + 1, DIGIT) {
            end = self.end_of(end + 1, DIGIT);
        }
        self.word_ends(self.zone(end))
    }

    /// Steps over `Z`, `+02:00` or `+0200`.
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

    /// `1.2s`, `350ms`, `1m30s`, `0.03 seconds`. A lone `5m` or `2h` may be anything.
    fn duration(&self, at: usize) -> Option<usize> {
        const SPACED: [&str; 17] = [
            "hour",
            "hours",
            "hrs",
            "microseconds",
            "milliseconds",
            "min",
            "mins",
            "minute",
            "minutes",
            "ms",
            "msec",
            "nanoseconds",
            "ns",
            "sec",
            "second",
            "seconds",
            "secs",
        ];
        let mut at = at;
        let mut parts = 0;
        let mut certain = false;
        loop {
            let whole = self.end_of(at, DIGIT);
            let fraction = self.byte(whole) == b'.' && self.classed(whole + 1, DIGIT);
            let number = if fraction { self.end_of(whole + 1, DIGIT) } else { whole };
            let spaced = self.byte(number) == b' ';
            let unit = number + usize::from(spaced);
            let units = self.bytes.get(unit..).unwrap_or_default();
            // Nearly every number is told by the byte behind it.
            if !units.first().is_some_and(|first| {
                matches!(first.to_ascii_lowercase(), b'd' | b'h' | b'm' | b'n' | b's' | b'u' | 0xc2 | 0xce)
            }) {
                return None;
            }
            let length = units.iter().take(16).take_while(|byte| is(**byte, WORD) && !is(**byte, DIGIT)).count();
            let unit_text = units.get(..length).and_then(|unit| core::str::from_utf8(unit).ok()).unwrap_or_default();
            parts += 1;
            match unit_text {
                "s" if !spaced || fraction => certain = true,
                "us" | "µs" | "μs" => certain = true,
                "m" | "h" | "d" if !spaced => {}
                _ if super::words::listed(&SPACED, unit_text) => certain = true,
                _ => return None,
            }
            at = unit + length;
            if !(self.classed(at, DIGIT) && parts < 4) {
                break;
            }
        }
        if certain || parts > 1 { self.word_ends(at) } else { None }
    }

    /// Seconds, milli-, micro- or nanoseconds since 1970, of the years 2014 to 2039.
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

    /// A value that the word before it names as the id of a process, thread, session, request or trace. `req 12`,
    /// `job 7`, `run 3` and `thread 2` are counters.
    fn labelled(&self, start: usize, word: &[u8]) -> Option<usize> {
        const PROCESS: [&str; 4] = ["pid", "ppid", "processid", "tid"];
        const IDS: [&str; 14] = [
            "connectionid",
            "correlationid",
            "invocationid",
            "reqid",
            "requestid",
            "requestuuid",
            "rid",
            "sessid",
            "sessionid",
            "sid",
            "spanid",
            "threadid",
            "traceid",
            "xrequestid",
        ];
        const NAMES: [&str; 5] = ["request", "session", "span", "thread", "trace"];
        let before = self.bytes.get(start.saturating_sub(40)..start).unwrap_or_default();
        let gap = before.iter().rev().take(3).take_while(|byte| b" :=#'\"[(".contains(byte)).count();
        let before = before.get(..before.len() - gap)?;
        if gap == 0 {
            return None;
        }
        let mut length =
            before.iter().rev().take_while(|byte| is(**byte, LETTER) || matches!(byte, b'_' | b'-')).count();
        let spelled = |length: usize| before.get(before.len().saturating_sub(length)..).unwrap_or_default();
        // `request id: …` is one label.
        if spelled(length).eq_ignore_ascii_case(b"id") {
            let rest = before.get(..before.len() - length).and_then(|rest| rest.strip_suffix(b" ")).unwrap_or_default();
            length += 1 + rest.iter().rev().take_while(|byte| is(**byte, LETTER)).count();
            length = length.min(before.len());
        }
        let random = word.len() >= 8 || word.len() >= 5 && word.iter().all(|byte| is(*byte, DIGIT));
        // Most words before a number are told by their last letter: all ids end in one.
        let last = spelled(length).iter().rev().find(|byte| byte.is_ascii_alphanumeric())?.to_ascii_lowercase();
        if last != b'd' && !(random && b"ten".contains(&last)) {
            return None;
        }
        let label = core::str::from_utf8(spelled(length)).ok()?;
        let named = |list: &[&str]| super::words::listed_name(list, label);
        (named(&PROCESS) || named(&IDS) || random && named(&NAMES)).then(|| {
            let mut end = start + word.len();
            while self.byte(end) == b'-' && self.classed(end + 1, WORD) {
                end = self.end_of(end + 1, WORD);
            }
            end
        })
    }

    /// `tmpab12cd`, or a name directly in a directory for temporary files.
    fn temporary(&self, start: usize, word: &[u8]) -> Option<(usize, usize)> {
        if word.starts_with(b"tmp") && word.len() >= 7 {
            return Some((start, start + word.len()));
        }
        let in_name = |byte: &u8| is(*byte, WORD) || matches!(byte, b'.' | b'-');
        let before = self.bytes.get(self.copied.max(start.saturating_sub(64))..start).unwrap_or_default();
        let name = start - before.iter().rev().take_while(|byte| in_name(byte)).count();
        let directory = self.bytes.get(name.saturating_sub(6)..name).unwrap_or_default();
        let temporary = [&b"/tmp/"[..], b"/temp/", b"\\tmp\\", b"\\temp\\"].iter().any(|known| {
            directory.len() >= known.len()
                && directory.get(directory.len() - known.len()..).is_some_and(|end| end.eq_ignore_ascii_case(known))
        });
        if !temporary {
            return None;
        }
        let rest = self.bytes.get(start..).unwrap_or_default();
        let mut end = start + rest.iter().take_while(|byte| in_name(byte)).count();
        while end > start && matches!(self.byte(end - 1), b'.' | b'-') {
            end -= 1;
        }
        Some((name, end))
    }

    /// Heavy: masks a quoted string; an apostrophe inside or after a word opens none.
    fn quoted(&mut self, quote: u8) {
        const FARTHEST: usize = 200;
        let opens = self.at == 0 || !self.classed(self.at - 1, WORD);
        let inside = self.bytes.get(self.at + 1..).unwrap_or_default();
        let length = inside.iter().take(FARTHEST).take_while(|byte| **byte != b'\n').position(|byte| *byte == quote);
        match length {
            Some(length) if opens && length > 0 && !self.classed(self.at + length + 2, WORD) => {
                let end = self.at + length + 2;
                self.mask(self.at, end, "<quoted>");
            }
            _ => self.at += 1,
        }
    }

    /// Heavy: masks a path, a URL or a file name that begins here, or steps over a token without digits.
    fn path(&mut self) -> bool {
        let start = self.at;
        let mut end = start;
        let (mut slash, mut dot, mut word, mut digit) = (false, false, false, false);
        loop {
            let byte = self.byte(end);
            digit |= is(byte, DIGIT);
            dot |= byte == b'.';
            slash |= matches!(byte, b'/' | b'\\');
            word |= is(byte, WORD);
            let scheme = byte == b':' && matches!(self.byte(end + 1), b'/' | b'\\') && word;
            if !(is(byte, WORD | PATH) || scheme) {
                break;
            }
            end += 1;
        }
        self.looked = end;
        while end > start && self.byte(end - 1) == b'.' {
            end -= 1;
        }
        let token = self.text.get(start..end).unwrap_or_default();
        let found = word && (slash || dot && has_extension(token));
        if found {
            self.mask(start, end, "<path>");
        } else if !digit {
            self.at = self.looked;
        }
        found || !digit
    }
}

/// Whether `token` is named like a file.
pub(crate) fn has_extension(token: &str) -> bool {
    token.rsplit_once('.').is_some_and(|(stem, extension)| {
        stem.bytes().any(|byte| is(byte, LETTER | DIGIT)) && super::words::listed(&EXTENSIONS, extension)
    })
}

/// Endings of file names; `obj.attr` is none.
const EXTENSIONS: [&str; 77] = [
    "bash", "bat", "bin", "bmp", "c", "cc", "cfg", "cjs", "class", "conf", "cpp", "cs", "css", "csv", "cxx", "db",
    "dll", "doc", "docx", "dylib", "env", "exe", "gif", "go", "gz", "h", "hpp", "htm", "html", "ini", "ipynb", "jar",
    "java", "jpeg", "jpg", "js", "json", "jsonl", "jsx", "kt", "lock", "log", "lua", "md", "mjs", "o", "pdf", "php",
    "pl", "png", "py", "pyc", "pyi", "rb", "rs", "rst", "scss", "sh", "so", "sql", "sqlite", "svelte", "svg", "swift",
    "tar", "tf", "toml", "ts", "tsx", "txt", "vue", "wasm", "xlsx", "xml", "yaml", "yml", "zip",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str, strength: Strength) -> (String, Masked) {
        let mut out = String::from("kept ");
        let facts = normalise(text, strength, &mut out);
        (out.strip_prefix("kept ").expect("what was there stays").into(), facts)
    }

    fn light(text: &str) -> String {
        masked(text, Strength::Light).0
    }

    fn heavy(text: &str) -> String {
        masked(text, Strength::Heavy).0
    }

    #[test]
    fn lists_are_sorted() {
        super::super::words::assert_sorted(&EXTENSIONS);
    }

    #[test]
    fn light_masks_what_changes_by_itself() {
        for (text, expected) in [
            ("at 2026-07-26T12:01:01Z ok", "at <time> ok"),
            ("at 2026-07-26 12:01:01.123+02:00 ok", "at <time> ok"),
            ("[2026/07/26 12:01] ok", "[<time>] ok"),
            ("20260726T120101Z ok", "<time> ok"),
            ("12:01:01,250 INFO ok", "<time> INFO ok"),
            ("epoch 1760000002 and 1760000002000.", "epoch <time> and <time>."),
            ("1760000002.25 ok", "<time> ok"),
            ("id 123e4567-e89b-12d3-a456-426614174000 ok", "id <uuid> ok"),
            ("1bcdefab-cdef-abcd-efab-1234567890ab ok", "<uuid> ok"),
            ("at 0x7ffd3a and commit 59e5e04f ok", "at <hex> and commit <hex> ok"),
            ("took 1.2s, 350ms, 12µs and 1m30s", "took <duration>, <duration>, <duration> and <duration>"),
            ("3 passed in 0.03 seconds", "3 passed in <duration>"),
            ("5 passed in 2.5 s.", "5 passed in <duration>."),
            ("pid 4121 done", "pid <id> done"),
            ("[pid=4121] done", "[pid=<id>] done"),
            ("session_id: a1-b2-c3 done", "session_id: <id> done"),
            ("Request ID: k9ZZp done", "Request ID: <id> done"),
            ("{\"traceId\":\"zz9\"}", "{\"traceId\":\"<id>\"}"),
            ("thread 140234567 done", "thread <id> done"),
            ("in /tmp/xyz123/a.txt and tmpab12cd", "in /tmp/<tmp>/a.txt and <tmp>"),
            ("wrote /tmp/build-x8.log.", "wrote /tmp/<tmp>."),
        ] {
            assert_eq!(light(text), expected, "{text}");
        }
    }

    #[test]
    fn light_keeps_what_was_counted() {
        for text in [
            "req 12 ok",
            "job 7 of run 3",
            "issue #7, line 45-52",
            "cursor c2, page 3",
            "thread 2 and request 14 done",
            "ticket number 1000000001",
            "ratio 1.25 and 42 %",
            "version 1.2.3",
            "src/a.rs:12:30: error",
            "on 2026-07-26 we met at 12:01",
            "order R1234567",
            "deadbeef feed cafe",
            "5m and 2h away",
            "Don't QUOTE 'This' or \"that\" in path/to/file2.py",
            "bytes 1*8192: lib1.dll",
            "/home/me/file1 and pids 12",
            "größe 12 日本語 7",
        ] {
            assert_eq!(light(text), text);
            assert_eq!(masked(text, Strength::Light).1.masked, 0, "{text}");
        }
    }

    #[test]
    fn white_space_and_terminal_sequences() {
        for (text, expected) in [
            ("", ""),
            (" \n\t ", ""),
            ("  a \r\n\t b\n", "a b"),
            ("a b  c d e f g h i  j", "a b c d e f g h i j"),
            ("1234567  8", "1234567 8"),
            ("abcdefg \u{1b}[1;31m red\u{1b}[0m", "abcdefg red"),
            ("\u{1b}]0;title\u{7}x\u{1b}]8;;http://a\u{1b}\\y", "xy"),
            ("\u{1b}]open ended\nx", "x"),
            ("\u{1b}(Bx\u{1b}=y\u{1b}", "xy"),
            ("\u{1b}[31日本", "日本"),
            ("a\0b\u{8}c\u{7f}", "abc"),
            ("é\u{1b}é", "éé"),
        ] {
            assert_eq!(light(text), expected, "{text:?}");
        }
    }

    #[test]
    fn heavy_masks_what_the_arguments_change() {
        for (left, right) in [
            ("Error: no such file 'a.txt'", "error: no such file 'other name.txt'"),
            ("cannot open src/a.rs:12:3", "Cannot open ./lib/b/c.py:140:22"),
            ("GET https://x.test/a?b=1 gave 404", "GET http://y.test/zz gave 500"),
            ("foo.py: 3 errors, 1,234 lines", "bar_baz.ts: 12 errors, 9 lines"),
            ("C:\\Users\\x\\f.txt is locked", "D:\\tmp\\g.txt is locked"),
            ("took 12s at 0x1f", "took 1m30s at 0xfff1"),
        ] {
            let same = |text: &str| heavy(text).replace("?b=#", "");
            assert_eq!(same(left), same(right));
        }
        for (text, expected) in [
            ("don't mix 'a b' with it's", "don't mix <quoted> with it's"),
            ("x86_64 at line 12", "x#_# at line #"),
            ("ÄRGER Über 12", "ärger über #"),
            ("obj.attr is none. e.g. this", "obj.attr is none. e.g. this"),
            ("a - b ... c", "a - b ... c"),
            ("unclosed \"quote", "unclosed \"quote"),
        ] {
            assert_eq!(heavy(text), expected, "{text}");
        }
    }

    #[test]
    fn letters_are_those_of_the_unmasked_rest() {
        for (text, letters, masks) in [
            ("2026-07-26T12:01:01Z", 0, 1),
            ("at 12:01:01", 2, 1),
            ("12 %", 0, 0),
            ("日本", 2, 0),
            ("ab 0xff cd", 4, 1),
        ] {
            let (_, facts) = masked(text, Strength::Light);
            assert_eq!((facts.letters, facts.masked), (letters, masks), "{text}");
        }
        assert_eq!(masked(&"a".repeat(1000), Strength::Light).1.letters, LETTERS_COUNTED);
    }

    #[test]
    fn clips_on_character_boundaries() {
        assert_eq!(clip("short"), ("short", ""));
        let long = "é".repeat(5000);
        let (head, tail) = clip(&long);
        assert_eq!((head.len(), tail.len()), (4096, 4096));
        let odd = alloc::format!("x{long}");
        let (head, tail) = clip(&odd);
        assert!(head.len() <= 4096 && tail.len() <= 4096 && head.len() > 4090 && tail.len() > 4090);
        assert_eq!(clip_to("abcdef", 2), ("ab", "ef"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived_and_settled(text in "[ \\x00-\\x7fé日]{0,80}") {
            for strength in [Strength::Light, Strength::Heavy] {
                let (once, _) = masked(&text, strength);
                proptest::prop_assert!(!once.contains("  ") && once.trim_matches(' ') == once);
                proptest::prop_assert!(!once.bytes().any(|byte| byte < 0x20));
            }
        }
    }
}
