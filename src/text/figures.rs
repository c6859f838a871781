//! Numbers in results: masked, summed up, and recognised as marks of progress.

use super::ends::clip;
use super::mask::{Span, byte_before, end_of_digits, first_digit};
use super::scan::each_number;
use alloc::string::String;

/// Words between a number and the total it is a part of.
const OF: &str = "of";
const OF_ANYWHERE: &str = "of von van de di do sur su av af z";
/// Bytes up to which a text is searched for all of these.
const SHORT: usize = 64;

/// Appends `text` to `out` with every number as `#`, and returns whether one of them marks progress. `numbers` holds
/// the spans that contain digits; if there are none, nothing is appended.
pub(super) fn digits_masked(text: &str, numbers: &[Span], out: &mut String) -> bool {
    let bytes = text.as_bytes();
    let of = if bytes.len() > SHORT { OF } else { OF_ANYWHERE };
    if numbers.is_empty() {
        return false;
    }
    out.reserve(text.len());
    let mut progress_mark = false;
    let mut copied = 0;
    for (from, to) in numbers {
        let mut at = *from.max(&copied);
        while at < *to {
            let start = at;
            let mut end = end_of_digits(bytes, start);
            if end == start {
                at += 1;
                continue;
            }
            while matches!(bytes.get(end), Some(b'.' | b',')) {
                let more = end_of_digits(bytes, end + 1);
                if more == end + 1 {
                    break;
                }
                end = more;
            }
            let before = byte_before(bytes, start);
            progress_mark |= is_progress_mark(before, bytes.get(end..).unwrap_or_default(), of);
            out.push_str(text.get(copied..start).unwrap_or_default());
            out.push('#');
            copied = end;
            at = end;
        }
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    progress_mark
}

/// A digest of the numbers in an answer that mark progress; 0 if there are none. Of an answer above 8 KB only the first
/// 4 KB are read.
// Out of line, for the size of the module.
#[inline(never)]
pub(crate) fn progress(answer: &str) -> u32 {
    let (bytes, _) = clip(answer);
    let (bytes, mut sum, mut at) = (bytes.as_bytes(), 0_u32, 0);
    while let Some(start) = bytes.get(at..).and_then(first_digit).map(|digit| at + digit) {
        let end = end_of_digits(bytes, start);
        let before = byte_before(bytes, start);
        let after = bytes.get(end..).unwrap_or_default();
        if is_progress_mark(before, after, OF_ANYWHERE) {
            // With some of what follows, such as the total.
            let mark = bytes.get(start..end).unwrap_or_default().iter().chain(after.iter().take(6));
            sum = mark.fold(sum.rotate_left(7), |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
        }
        at = end.max(start + 1);
    }
    sum
}

/// Bytes that join a number to a time, an id or a name.
const JOINS: [bool; 256] = {
    let mut joins = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let own = byte as u8;
        if let Some(of) = joins.split_at_mut(byte).1.first_mut() {
            *of = own.is_ascii_alphanumeric() || matches!(own, b'_' | b':' | b'-' | b'/');
        }
        byte += 1;
    }
    joins
};

fn joins(byte: u8) -> bool {
    JOINS.get(usize::from(byte)).copied().unwrap_or(false)
}

/// The free-standing numbers of a text, of up to nine digits; those in times, ids and names do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    /// The sum of their integer parts, saturating.
    pub(crate) sum: u32,
    /// A digest of all of them, decimals included.
    pub(crate) digest: u32,
}

impl Figures {
    pub(crate) fn of(text: &str) -> Self {
        let (bytes, mut figures) = (text.as_bytes(), Self { sum: 0, digest: 0x811c_9dc5 });
        each_number(bytes, |start, end| {
            let (before, after) = (byte_before(bytes, start), bytes.get(end).copied().unwrap_or(b' '));
            let number = bytes.get(start..end).unwrap_or_default();
            if !joins(before) && !joins(after) && number.len() < 10 {
                // Digits behind a decimal point are not summed.
                let whole = before != b'.';
                let number = number.iter().fold(0_u32, |number, digit| number * 10 + u32::from(digit - b'0'));
                figures.sum = figures.sum.saturating_add(if whole { number } else { 0 });
                figures.digest = (figures.digest.rotate_left(5) ^ number).wrapping_mul(0x0100_0193);
            }
        });
        figures
    }
}

/// Whether a number between `before` and `after` marks progress: `42 %`, `3/10`, `3 of 10`, `3 out of 10`.
fn is_progress_mark(before: u8, after: &[u8], of: &str) -> bool {
    let joins = |byte: u8| joins(byte) || byte == b'.';
    // Most numbers are ruled out by the byte that follows.
    let next = match after {
        [b' ', next, ..] | [next, ..] => *next,
        [] => b' ',
    };
    if !matches!(next, b'%' | b'o' | b'/' | b'a' | b'd' | b's' | b'v' | b'z') || joins(before) {
        return false;
    }
    let after_blank = after.strip_prefix(b" ").unwrap_or(after);
    if after_blank.first() == Some(&b'%') {
        // `5 % 3` and `10 %d` are not percentages.
        return !after_blank.get(1).is_some_and(u8::is_ascii_alphanumeric);
    }
    let part = after_blank.strip_prefix(b"out ").unwrap_or(after_blank);
    let behind = |word: &str| part.strip_prefix(word.as_bytes())?.strip_prefix(b" ");
    let total = of.split(' ').find_map(behind).or_else(|| {
        let total = after_blank.strip_prefix(b"/")?;
        Some(total.strip_prefix(b" ").unwrap_or(total))
    });
    total.is_some_and(|total| {
        let digits = total.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let next = total.get(digits).copied().unwrap_or(b' ');
        let ends =
            !joins(next) || matches!(next, b'.' | b':') && !total.get(digits + 1).is_some_and(u8::is_ascii_digit);
        digits > 0 && ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_progress() {
        for (text, expected) in [
            ("42 %", true),
            ("[10%] Building", true),
            ("3/10 done", true),
            ("(3 / 10)", true),
            ("step 3 of 10.", true),
            ("99.5%", true),
            ("Seite 3 von 10", true),
            ("página 3 de 10", true),
            ("3 d 10 h", false),
            ("on 2026/07/26", false),
            ("src/3/10", false),
            ("5 %d", false),
            ("one of 10", false),
            ("v1/2", false),
            ("page 3", false),
        ] {
            let mut out = String::new();
            assert_eq!(digits_masked(text, &[(0, text.len())], &mut out), expected, "{text}");
            assert!(!out.bytes().any(|byte| byte.is_ascii_digit()), "{out}");
        }
    }
}
