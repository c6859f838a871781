//! A call without its numbers and the names that contain digits: `kubectl delete pod shop-6c9d-wq2` and the same for
//! `shop-6c9d-x7k` have one frame.

use super::lines::{Lines, trimmed};
use super::words::Sum;

/// Bytes read of the arguments.
const LONGEST: usize = 2048;

/// The lower-case form of each byte that belongs to a word; 0 for digits and separators.
const FOLDED: [u8; 256] = {
    let mut folded = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let own = byte as u8;
        if let (Some(of), b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'_' | b'.' | 0x80..) =
            (folded.split_at_mut(byte).1.first_mut(), own)
        {
            *of = own.to_ascii_lowercase();
        }
        byte += 1;
    }
    folded
};
/// Initial value of a digest and of a word's hash.
const SEED: u32 = Sum::EMPTY.0;

/// Digest of a text's words, in order and ignoring case, without those that contain a digit.
pub(crate) fn frame(arguments: &str) -> u32 {
    let bytes = arguments.as_bytes();
    of_words::<false>(bytes.get(..LONGEST).unwrap_or(bytes)).0
}

/// The frame of a call's arguments. If they are a single number, it is what the call is about and counts.
pub(crate) fn call_frame(arguments: &str) -> u32 {
    let number = match arguments.as_bytes() {
        // Few calls have arguments that end with a number.
        [b'{', b'"', .., b'0'..=b'9', b'}'] => one_number(arguments),
        _ => None,
    };
    frame(arguments) ^ number.map_or(0, |number| number.wrapping_add(1).wrapping_mul(0x9e37_79b1))
}

/// The value of an object with a single field, if it is a number.
fn one_number(object: &str) -> Option<u32> {
    let (_, value) = object.strip_prefix("{\"")?.split_once("\":")?;
    value.strip_suffix('}')?.parse().ok()
}

/// Digest of the first `lines` non-blank lines of an answer, made of the frame of each.
pub(crate) fn heading(answer: &str, lines: usize) -> u32 {
    let mut rest = answer;
    let (mut sum, mut told) = (0_u32, 0);
    while told < lines && !rest.is_empty() {
        let (mut own, end) = of_words::<true>(rest.as_bytes());
        let (line, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        rest = after.get(1..).unwrap_or_default();
        if !line.is_ascii() {
            // Non-ASCII white space would count as a word.
            own = frame(trimmed(line));
        }
        if own != SEED || !trimmed(line).is_empty() {
            (sum, told) = (sum.rotate_left(7) ^ own, told + 1);
        }
    }
    sum
}

/// Digits that the number in a row's name has at least.
const NUMBER: usize = 3;
/// Lines of which two in a row may be rows of a list.
const ROWS: usize = 5;

/// Digest of the number of the first row in a list of names that differ in their numbers, such as of `HS-3010 …` above
/// `HS-3011 …`; 0 if the first lines are no such list. Another page of the list differs in nothing but figures.
pub(crate) fn first_row(answer: &str) -> u32 {
    let mut last: Option<(&[u8], &[u8])> = None;
    for row in Lines(answer).take(ROWS) {
        let named = name_and_number(row.as_bytes());
        if let (Some(before), Some(row)) = (last, named)
            && before.0 == row.0
            && before.1 != row.1
        {
            return before.1.iter().fold(SEED, |sum, byte| Sum(sum).and(u32::from(*byte)).0);
        }
        last = named;
    }
    0
}

/// The letters and the digits with which a row begins: `HS-3010 | screw` tells `HS` and `3010`.
#[inline]
fn name_and_number(row: &[u8]) -> Option<(&[u8], &[u8])> {
    let count = |bytes: &[u8], of: fn(&u8) -> bool| bytes.iter().take_while(|byte| of(byte)).count();
    let row = row.get(count(row, |byte| matches!(byte, b'|' | b' ' | b'-' | b'*' | b'"'))..)?;
    let (name, number) = row.split_at_checked(count(row, u8::is_ascii_alphabetic))?;
    let number = match number {
        [b'-' | b'_' | b'#', number @ ..] => number,
        number => number,
    };
    // Hardly any row begins so.
    number.first().filter(|first| first.is_ascii_digit() && !name.is_empty())?;
    let (number, after) = number.split_at_checked(count(number, u8::is_ascii_digit))?;
    let ends = !after.first().is_some_and(|next| next.is_ascii_alphanumeric() || matches!(next, b':' | b'.'));
    (number.len() >= NUMBER && ends).then_some((name, number))
}

/// The digest, and the offset at which the text, or with `LINE` its first line, ends.
#[inline]
fn of_words<const LINE: bool>(bytes: &[u8]) -> (u32, usize) {
    let (eights, rest) = bytes.as_chunks::<8>();
    let mut words = Words { sum: SEED, word: SEED, numbered: false };
    for (at, eight) in eights.iter().enumerate() {
        // An inner loop of constant length is unrolled.
        for (place, byte) in eight.iter().enumerate() {
            if words.take(*byte) && LINE && *byte == b'\n' {
                return (words.sum, at * 8 + place);
            }
        }
    }
    for (place, byte) in rest.iter().enumerate() {
        if words.take(*byte) && LINE && *byte == b'\n' {
            return (words.sum, eights.len() * 8 + place);
        }
    }
    words.end();
    (words.sum, bytes.len())
}

/// A digest in progress.
struct Words {
    sum: u32,
    /// Hash of the current word, which does not count if it contains a digit.
    word: u32,
    numbered: bool,
}

impl Words {
    /// Takes a byte, and returns whether it is a separator.
    #[inline(always)]
    fn take(&mut self, byte: u8) -> bool {
        let folded = FOLDED.get(usize::from(byte)).copied().unwrap_or(0);
        if folded != 0 {
            self.word = Sum(self.word).and(folded.into()).0;
            return false;
        }
        if byte.is_ascii_digit() {
            self.numbered = true;
            return false;
        }
        self.end();
        true
    }

    #[inline(always)]
    fn end(&mut self) {
        if !self.numbered {
            self.sum = with_word(self.sum, self.word);
        }
        (self.word, self.numbered) = (SEED, false);
    }
}

/// The digest with one more word, unless the word is empty.
#[inline]
const fn with_word(sum: u32, word: u32) -> u32 {
    if word == SEED { sum } else { (sum.rotate_left(5) ^ word).wrapping_mul(0x2c1b_3c6d) }
}

#[cfg(test)]
mod tests {
    use super::{first_row, frame, heading};

    #[test]
    fn rows_named_by_numbers() {
        let page = |from: u32, kind: &str| {
            let rows = (0..4).map(|row| alloc::format!("| {kind}{} | 6 mm | {row}.50 |", from + row));
            alloc::format!("Ropes\n{}", rows.collect::<alloc::vec::Vec<_>>().join("\n"))
        };
        for kind in ["RP-", "rp_", "#RP", "No"] {
            let named = first_row(&page(2010, kind));
            assert_eq!(named != 0, kind != "#RP", "{kind}");
            assert_eq!(named == first_row(&page(2040, kind)), named == 0, "{kind}");
        }
        assert_eq!(first_row("- RP-2010 rope\n- RP-2011 rope"), first_row("RP-2010\nRP-2011"));
        for other in [
            "",
            "RP-2010",
            "RP-2010 rope\nRP-2010 rope",
            "RP-2010 rope\nAB-2011 rope",
            "RP-10 rope\nRP-11 rope",
            "T12:00:01 up\nT12:00:02 up",
            "v201.4 out\nv202.1 out",
            "2010 rope\n2011 rope",
        ] {
            assert_eq!(first_row(other), 0, "{other}");
        }
    }

    #[test]
    fn figures_and_names_go() {
        let one = r#"{"command":"kubectl -n shop delete pod shop-6c9d-wq2 --now"}"#;
        for other in [
            r#"{"command":"kubectl -n shop delete pod shop-7f1a-x7k --now"}"#,
            r#"{"command":"kubectl -n Shop delete pod 12 --now"}"#,
        ] {
            assert_eq!(frame(one), frame(other), "{other}");
        }
        for other in [
            r#"{"command":"kubectl -n shop delete pod shop-web --now"}"#,
            r#"{"command":"kubectl -n shop get pod shop-6c9d-wq2 --now"}"#,
            r#"{"command":"kubectl delete pod -n shop shop-6c9d-wq2 --now"}"#,
            "",
        ] {
            assert_ne!(frame(one), frame(other), "{other}");
        }
        assert_eq!(frame(r#"{"pose":[0.412,-0.188]}"#), frame(r#"{"pose":[0.4131,-0.1871]}"#));
    }

    /// The same, word by word.
    fn slowly(text: &str) -> u32 {
        let of_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) || byte >= 0x80;
        let words = text.as_bytes().split(|byte| !of_word(*byte)).filter(|word| !word.is_empty());
        words.filter(|word| !word.iter().any(u8::is_ascii_digit)).fold(0x811c_9dc5_u32, |sum, word| {
            let word = word.iter().fold(0x811c_9dc5_u32, |word, byte| {
                (word ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
            });
            (sum.rotate_left(5) ^ word).wrapping_mul(0x2c1b_3c6d)
        })
    }

    proptest::proptest! {
        #[test]
        fn words_without_digits(text in "[ -~é\n]{0,60}|([a-zA-Z0-9_.é-]{0,6}[ /:\n]{0,2}){0,12}") {
            proptest::prop_assert_eq!(frame(&text), slowly(&text), "{}", text);
        }
    }

    #[test]
    fn headings_are_their_lines() {
        for text in ["", "one", "Page 2\n\n  of\u{a0}nine \r\n---\nmore", "\u{a0}\n \n\n\u{2003}a b\u{a0}\nc\n1\nd"] {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(3);
            assert_eq!(heading(text, 3), lines.fold(0, |sum: u32, line| sum.rotate_left(7) ^ frame(line)), "{text}");
        }
    }
}
