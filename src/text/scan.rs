//! Finds the places in a text that need attention, sixty-four bytes at a time.
//!
//! Everything between two stops is copied, hashed or skipped as it is. The operations on a block exist twice: with
//! WebAssembly's SIMD instructions, and for every other target. Both give the same answers; `cargo xtask test` compares
//! their verdicts.

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
#[path = "scan/plain.rs"]
mod blocks;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[path = "scan/vectors.rs"]
mod blocks;

/// Bytes of a block.
pub(super) const BLOCK: usize = 64;

/// Padding: a byte that is not a stop, and after which a blank is not one.
const FILLER: u8 = b'x';

/// One bit for every byte of the block at `at` that is a stop: digits, control characters (line ends and tabs among
/// them), and blanks after blanks; with `HEAVY` also quotation marks and the punctuation of paths.
#[inline]
pub(super) fn stops<const HEAVY: bool>(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    let ahead = at.checked_sub(1).and_then(|before| bytes.get(before..)).unwrap_or_default();
    if let (Some(block), Some(before)) = (rest.first_chunk::<BLOCK>(), ahead.first_chunk::<BLOCK>()) {
        return blocks::marks::<HEAVY>(block, before);
    }
    let (mut block, mut before) = ([FILLER; BLOCK], [FILLER; BLOCK]);
    block.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let skipped = usize::from(at == 0);
    before.iter_mut().skip(skipped).zip(if at == 0 { rest } else { ahead }).for_each(|(to, from)| *to = *from);
    blocks::marks::<HEAVY>(&block, &before)
}

/// Two bit masks of a block: ASCII letters, digits and `JOINT`; and non-ASCII bytes.
#[inline]
pub(super) fn parts<const JOINT: u8>(block: &[u8; BLOCK]) -> (u64, u64) {
    blocks::parts::<JOINT>(block)
}

/// Four bit masks of a block: double quotes, backslashes, opening brackets and closing brackets of lists and objects.
#[inline]
pub(super) fn brackets(block: &[u8; BLOCK]) -> [u64; 4] {
    blocks::brackets(block)
}

/// Calls `take` for each JSON string with the byte range between its quotes and whether it contains an escape, until
/// `take` returns true; whether it did.
#[inline]
pub(super) fn each_string(json: &[u8], mut take: impl FnMut(usize, usize, bool) -> bool) -> bool {
    // Where the current string begins, whether it contains an escape, and whether the next byte is escaped.
    let (mut open, mut escapes, mut escaped) = (None, false, false);
    let mut at = 0;
    any(json, |block| {
        let (quotes, slashes) = blocks::quotes(block);
        let mut marks = (quotes | slashes) & !u64::from(escaped);
        escaped = false;
        while marks != 0 {
            let mark = marks & marks.wrapping_neg();
            marks ^= mark;
            let here = at + mark.trailing_zeros() as usize;
            match (open, quotes & mark != 0) {
                (None, true) => (open, escapes) = (Some(here + 1), false),
                (None, false) => {}
                (Some(start), true) => {
                    open = None;
                    if take(start, here, escapes) {
                        return true;
                    }
                }
                (Some(_), false) => {
                    escapes = true;
                    marks &= !(mark << 1);
                    escaped = mark >> (BLOCK - 1) != 0;
                }
            }
        }
        at += BLOCK;
        false
    })
}

/// Letters of a text, counted up to a limit: ASCII letters, and every non-ASCII character by its first byte.
pub(super) fn letters(text: &[u8], limit: u32) -> u32 {
    let mut letters = 0;
    any(text, |block| {
        letters += blocks::letters(block);
        letters >= limit
    });
    letters.min(limit)
}

/// Where the first line of a text ends.
pub(super) fn line_end(text: &[u8]) -> usize {
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    for (at, block) in blocks.iter().enumerate() {
        let ends = blocks::equal(block, b'\n');
        if ends != 0 {
            return at * BLOCK + ends.trailing_zeros() as usize;
        }
    }
    blocks.len() * BLOCK + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

/// Where the last line of a text begins.
pub(super) fn line_start(text: &[u8]) -> usize {
    let (rest, blocks) = text.as_rchunks::<BLOCK>();
    for (at, block) in blocks.iter().enumerate().rev() {
        let ends = blocks::equal(block, b'\n');
        if ends != 0 {
            return rest.len() + (at + 1) * BLOCK - ends.leading_zeros() as usize;
        }
    }
    rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

/// Whether a text contains a byte, which must not be 0.
pub(super) fn holds(text: &[u8], byte: u8) -> bool {
    any(text, |block| blocks::holds(block, byte))
}

/// Trigrams, one of which is in every word that marks an error: `error`, `exception`, `fatal`, `failed`.
const MARKS: [[u8; 3]; 4] = [*b"rro", *b"xce", *b"fat", *b"fai"];

/// Whether a text contains one of [`MARKS`], ignoring case.
pub(super) fn holds_mark(text: &[u8]) -> bool {
    any(text, |block| blocks::triples(block, &MARKS))
}

/// Bytes that are searched for one of [`MARKS`] that begins in a block.
pub(super) const MARKED: usize = BLOCK + 2;

/// One bit for every line end in a block; `None` if one of [`MARKS`] begins in it.
#[inline]
pub(super) fn unmarked_line_ends(block: &[u8; MARKED]) -> Option<u64> {
    if blocks::triples(block, &MARKS) {
        return None;
    }
    block.first_chunk().map(|block| blocks::equal(block, b'\n'))
}

/// Calls `take` with every position of a byte in a text, which must not be 0.
#[inline(never)]
pub(super) fn each(text: &[u8], byte: u8, take: &mut dyn FnMut(usize)) {
    let mut start = 0;
    any(text, |block| {
        let mut found = blocks::equal(block, byte);
        while found != 0 {
            take(start + found.trailing_zeros() as usize);
            found &= found - 1;
        }
        start += BLOCK;
        false
    });
}

/// Calls `take` with the byte range of every run of digits in a text. There is a single call site, so that `take` is
/// inlined into the loop.
#[inline]
pub(super) fn each_number(text: &[u8], mut take: impl FnMut(usize, usize)) {
    // Where the current run began.
    let (mut at, mut open) = (0, None);
    loop {
        let digits = match block(text, at) {
            Some(block) => blocks::digits(&block),
            // The last run may end with the text.
            None if open.is_some() => 0,
            None => return,
        };
        // The bits that differ from the bit of the byte before.
        let mut edges = digits ^ (digits << 1 | u64::from(open.is_some()));
        while edges != 0 {
            let edge = at + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            match open.take() {
                Some(start) => take(start, edge),
                None => open = Some(edge),
            }
        }
        at += BLOCK;
    }
}

/// Whether `said` is true of one of a text's blocks. A block has `SEEN` bytes, so with more than [`BLOCK`] they
/// overlap; at the end of the text it is padded with zeros.
#[inline]
pub(super) fn any<const SEEN: usize>(text: &[u8], mut said: impl FnMut(&[u8; SEEN]) -> bool) -> bool {
    let (mut rest, mut last) = (text, [0; SEEN]);
    while !rest.is_empty() {
        let block = rest.first_chunk().unwrap_or_else(|| {
            last = padded(rest);
            &last
        });
        if said(block) {
            return true;
        }
        rest = rest.get(BLOCK..).unwrap_or_default();
    }
    false
}

/// The rest of a text, padded with zeros.
#[inline]
pub(super) fn padded<const SEEN: usize>(rest: &[u8]) -> [u8; SEEN] {
    let mut block = [0; SEEN];
    block.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    block
}

/// Bit masks of a block that say what its bytes are to the words between blanks.
pub(super) struct Classes {
    pub(super) blanks: u64,
    /// Digits and control characters, including white space other than the blank.
    pub(super) unsteady: u64,
    /// As [`letters`] counts them.
    pub(super) letters: u64,
}

#[inline]
pub(super) fn word_classes(block: &[u8; BLOCK]) -> Classes {
    let [blanks, unsteady, letters] = blocks::classes(block);
    Classes { blanks, unsteady, letters }
}

/// The block that ends at `end`, padded with zeros before the beginning of the text; `None` at the beginning.
#[inline]
pub(super) fn block_before(bytes: &[u8], end: usize) -> Option<[u8; BLOCK]> {
    let rest = bytes.get(..end).filter(|rest| !rest.is_empty())?;
    Some(rest.last_chunk().copied().unwrap_or_else(|| {
        let mut block = [0; BLOCK];
        block.iter_mut().rev().zip(rest.iter().rev()).for_each(|(to, from)| *to = *from);
        block
    }))
}

/// The block that begins at `at`, padded with zeros behind the end of the text; `None` at the end.
#[inline(always)]
pub(super) fn block(bytes: &[u8], at: usize) -> Option<[u8; BLOCK]> {
    let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
    Some(rest.first_chunk().copied().unwrap_or_else(|| padded(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    /// Reference implementation, byte by byte.
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

    #[test]
    fn numbers_of_any_text() {
        for length in [0, 1, 3, 63, 64, 65, 128, 130] {
            for (from, to) in [(0, 0), (0, 1), (0, length), (1, 3), (60, 64), (60, 65), (64, 66), (127, 130)] {
                let digit = |at: usize| if (from..to).contains(&at) || at % 31 == 30 { b'7' } else { b'x' };
                let text: alloc::vec::Vec<u8> = (0..length).map(digit).collect();
                let (mut found, mut expected) = (alloc::vec::Vec::new(), alloc::vec::Vec::new());
                each_number(&text, |start, end| found.push((start, end)));
                let starts = (0..length).filter(|at| text[*at] == b'7' && (*at == 0 || text[at - 1] != b'7'));
                expected
                    .extend(starts.map(|at| (at, at + text[at..].iter().take_while(|byte| **byte == b'7').count())));
                assert_eq!(found, expected, "{length} {from} {to}");
            }
        }
    }

    /// The functions on whole texts, with the match anywhere in them.
    #[test]
    fn whole_texts() {
        for length in [0, 1, 2, 63, 64, 65, 66, 67, 127, 128, 129, 130, 200] {
            let blank = alloc::vec![b'.'; length];
            assert!(!holds_mark(&blank), "{length}");
            assert_eq!(letters(&blank, 500), 0, "{length}");
            for place in 0..length {
                let with = |part: &[u8]| {
                    let mut text = blank.clone();
                    text.splice(place..length.min(place + part.len()), part.iter().copied());
                    text
                };
                for part in ["rro", "XCE", "Fat", "faI"] {
                    assert!(holds_mark(&with(part.as_bytes())), "{part} at {place} of {length}");
                }
                assert!(!holds_mark(&with(b"rr.o")), "{place} of {length}");
                assert_eq!(letters(&with("aZ{`é@[".as_bytes()), 500), 3, "{place} of {length}");
                assert_eq!(letters(&with(b"abcdef"), 4), 4, "{place} of {length}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn strings_of_json(text in r#"([a-z]{0,9}|"|\\|\\\\|\\"|[:,]){0,60}"#) {
            let (mut found, mut expected) = (alloc::vec::Vec::new(), alloc::vec::Vec::new());
            each_string(text.as_bytes(), |start, end, escapes| {
                found.push((start, end, escapes));
                false
            });
            let (mut open, mut escapes, mut escaped) = (None, false, false);
            for (at, byte) in text.bytes().enumerate() {
                match open {
                    None if byte == b'"' => (open, escapes, escaped) = (Some(at + 1), false, false),
                    None => {}
                    Some(start) if byte == b'"' && !escaped => {
                        expected.push((start, at, escapes));
                        open = None;
                    }
                    Some(_) => {
                        escaped = byte == b'\\' && !escaped;
                        escapes |= escaped;
                    }
                }
            }
            proptest::prop_assert_eq!(found, expected, "{}", text);
        }
    }

    #[test]
    fn brackets_of_json() {
        for byte in 0..=255_u8 {
            for place in [0, 1, 15, 16, 63] {
                let mut block = [b'x'; BLOCK];
                block[place] = byte;
                let wanted = ["\"", "\\", "[{", "]}"].map(|of| u64::from(of.as_bytes().contains(&byte)) << place);
                assert_eq!(brackets(&block), wanted, "{byte} at {place}");
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
