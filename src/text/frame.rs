//! What stays of a call when its figures and the names with figures in them go: `kubectl delete pod shop-6c9d-wq2` and the same of
//! `shop-6c9d-x7k` are one frame.

use super::lines::trimmed;

/// Bytes of the arguments that are looked at.
const LONGEST: usize = 2048;

/// What a byte is of a word, whatever its case, with [`DIGIT`]; 0 for what is of none.
const FOLDED: [u16; 256] = {
    let mut folded = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let own = byte as u8;
        if let Some(of) = folded.split_at_mut(byte).1.first_mut() {
            *of = match own {
                b'0'..=b'9' => DIGIT,
                b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'_' | b'.' | 0x80.. => own.to_ascii_lowercase() as u16,
                _ => 0,
            };
        }
        byte += 1;
    }
    folded
};
const DIGIT: u16 = 0x100;
const SEED: u32 = 0x811c_9dc5;

/// Digest of the words in a text, in their order and whatever their case, without those that hold a digit.
pub(crate) fn frame(arguments: &str) -> u32 {
    let bytes = arguments.as_bytes();
    of_words::<false>(bytes.get(..LONGEST).unwrap_or(bytes)).0
}

/// The same of a call's arguments. Where these are one number, it is what the call is about.
pub(crate) fn call_frame(arguments: &str) -> u32 {
    let one = arguments.strip_prefix("{\"").and_then(|rest| rest.split_once("\":"));
    let number = one.and_then(|(_, value)| value.strip_suffix('}')?.parse::<u32>().ok());
    frame(arguments) ^ number.map_or(0, |number| number.wrapping_add(1).wrapping_mul(0x9e37_79b1))
}

/// The same of the first lines of an answer that are not blank, one by one.
pub(crate) fn heading(answer: &str, lines: usize) -> u32 {
    let mut rest = answer;
    let (mut sum, mut told) = (0_u32, 0);
    while told < lines && !rest.is_empty() {
        let (mut own, end) = of_words::<true>(rest.as_bytes());
        let (line, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        rest = after.get(1..).unwrap_or_default();
        if !line.is_ascii() {
            // Blanks beyond ASCII are of no word.
            own = frame(trimmed(line));
        }
        if own != SEED || !trimmed(line).is_empty() {
            (sum, told) = (sum.rotate_left(7) ^ own, told + 1);
        }
    }
    sum
}

/// The digest, and where the text ends, or its first line.
#[inline]
fn of_words<const LINE: bool>(bytes: &[u8]) -> (u32, usize) {
    let (mut sum, mut word, mut all) = (SEED, SEED, 0);
    for (at, byte) in bytes.iter().enumerate() {
        let folded = FOLDED.get(usize::from(*byte)).copied().unwrap_or(0);
        if folded != 0 {
            all |= folded;
            word = (word ^ u32::from(folded)).wrapping_mul(0x0100_0193);
            continue;
        }
        sum = with_word(sum, word, all);
        (word, all) = (SEED, 0);
        if LINE && *byte == b'\n' {
            return (sum, at);
        }
    }
    (with_word(sum, word, all), bytes.len())
}

/// A digest with one word more, which counts where there is one, and no digit in it.
#[inline]
const fn with_word(sum: u32, word: u32, all: u16) -> u32 {
    if word == SEED || all & DIGIT != 0 { sum } else { (sum.rotate_left(5) ^ word).wrapping_mul(0x2c1b_3c6d) }
}

#[cfg(test)]
mod tests {
    use super::{frame, heading};

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

    #[test]
    fn headings_are_their_lines() {
        for text in ["", "one", "Page 2\n\n  of\u{a0}nine \r\n---\nmore", "\u{a0}\n \n\n\u{2003}a b\u{a0}\nc\n1\nd"] {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(3);
            assert_eq!(heading(text, 3), lines.fold(0, |sum: u32, line| sum.rotate_left(7) ^ frame(line)), "{text}");
        }
    }
}
