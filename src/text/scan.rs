//! Where a text has to be looked at, sixty-four bytes at a time.
//!
//! Plain compares of whole blocks, which compilers turn into vector instructions where there are any. Everything between
//! two stops is copied, hashed or stepped over as it is.

/// Bytes looked at together.
pub(super) const BLOCK: usize = 64;

/// A byte that is no stop, and after which a blank is none.
const FILLER: u8 = b'x';

/// One bit for every byte of the block that begins at `at`: digits, control characters, line ends and tabs, and blanks
/// after blanks; with `HEAVY` quotation marks and the punctuation of paths too.
#[inline]
pub(super) fn stops<const HEAVY: bool>(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    let ahead = at.checked_sub(1).and_then(|before| bytes.get(before..)).unwrap_or_default();
    if let (Some(block), Some(before)) = (rest.first_chunk::<BLOCK>(), ahead.first_chunk::<BLOCK>()) {
        return marks::<HEAVY>(block, before);
    }
    let (mut block, mut before) = ([FILLER; BLOCK], [FILLER; BLOCK]);
    block.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let skipped = usize::from(at == 0);
    before.iter_mut().skip(skipped).zip(if at == 0 { rest } else { ahead }).for_each(|(to, from)| *to = *from);
    marks::<HEAVY>(&block, &before)
}

#[inline]
fn marks<const HEAVY: bool>(block: &[u8; BLOCK], before: &[u8; BLOCK]) -> u64 {
    let mut marked = [0_u8; BLOCK];
    for ((mark, byte), before) in marked.iter_mut().zip(block).zip(before) {
        let digit = byte.wrapping_sub(b'0') < 10;
        let pair = (*byte == b' ') & (*before == b' ');
        let mut stop = digit | (*byte < 0x20) | (*byte == 0x7f) | pair;
        if HEAVY {
            stop |= (*byte == b'/') | (*byte == b'\\') | (*byte == b'.');
            stop |= (*byte == b'"') | (*byte == b'\'') | (*byte == b'`');
        }
        *mark = u8::from(stop);
    }
    gather(&marked)
}

/// One bit for every byte of a block that is an ASCII letter, a digit or `JOINT`, and one for every byte beyond ASCII.
#[inline]
pub(super) fn parts<const JOINT: u8>(block: &[u8; BLOCK]) -> (u64, u64) {
    let mut marked = [0_u8; BLOCK];
    let mut seen = 0;
    for (mark, byte) in marked.iter_mut().zip(block) {
        let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
        let digit = byte.wrapping_sub(b'0') < 10;
        *mark = u8::from(letter | digit | (*byte == JOINT));
        seen |= byte;
    }
    let parts = gather(&marked);
    if seen < 0x80 {
        return (parts, 0);
    }
    marked.iter_mut().zip(block).for_each(|(mark, byte)| *mark = byte >> 7);
    (parts, gather(&marked))
}

/// The block that begins at a place, filled up with zeros where the text ends; nothing behind its end.
#[inline]
pub(super) fn block(bytes: &[u8], at: usize) -> Option<[u8; BLOCK]> {
    let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
    Some(rest.first_chunk().copied().unwrap_or_else(|| {
        let mut padded = [0; BLOCK];
        padded.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        padded
    }))
}

/// The lowest bit of every byte, in one word.
#[inline]
fn gather(marked: &[u8; BLOCK]) -> u64 {
    // The product's top byte collects the eight bits: byte `i` comes 56 - 7 i places up.
    const UP: u64 = 0x0102_0408_1020_4080;
    let bytes = marked.as_chunks::<8>().0.iter().rev();
    bytes.fold(0, |bits, chunk| bits << 8 | u64::from_le_bytes(*chunk).wrapping_mul(UP) >> 56)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    /// The same, byte by byte.
    fn expected(bytes: &[u8], at: usize, heavy: bool) -> u64 {
        let mut bits = 0;
        for (index, byte) in bytes.iter().enumerate().skip(at).take(BLOCK) {
            let pair = *byte == b' ' && index > 0 && bytes[index - 1] == b' ';
            let punctuation = heavy && b"/\\.\"'`".contains(byte);
            if byte.is_ascii_digit() || byte.is_ascii_control() || pair || punctuation {
                bits |= 1 << (index - at);
            }
        }
        bits
    }

    #[test]
    fn every_byte_at_every_place() {
        for byte in 0..=255_u8 {
            for (place, length) in [(0, 1), (5, 70), (63, 64), (64, 65), (64, 200), (127, 200), (128, 200)] {
                let mut bytes = [b' '; 200];
                bytes.iter_mut().step_by(2).for_each(|byte| *byte = b'a');
                bytes[place] = byte;
                let bytes = &bytes[..length];
                for at in [0, 64, 128] {
                    if at < length {
                        assert_eq!(
                            stops::<false>(bytes, at),
                            expected(bytes, at, false),
                            "{byte} at {place} of {length}"
                        );
                        assert_eq!(
                            stops::<true>(bytes, at),
                            expected(bytes, at, true),
                            "{byte} at {place} of {length}"
                        );
                    }
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text(text in "[ \\x00-\\x7fé]{0,200}", at in 0..3_usize) {
            let text: String = text;
            let at = at * BLOCK;
            if at < text.len() {
                proptest::prop_assert_eq!(stops::<false>(text.as_bytes(), at), expected(text.as_bytes(), at, false));
                proptest::prop_assert_eq!(stops::<true>(text.as_bytes(), at), expected(text.as_bytes(), at, true));
            }
        }
    }
}
