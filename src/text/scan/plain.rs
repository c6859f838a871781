//! Operations on whole blocks, byte by byte; compilers vectorise them when they optimise for speed.

use super::BLOCK;

pub(super) fn marks<const HEAVY: bool>(block: &[u8; BLOCK], before: &[u8; BLOCK]) -> u64 {
    let mut marked = [0_u8; BLOCK];
    for ((mark, byte), before) in marked.iter_mut().zip(block).zip(before) {
        // `.` and `/` directly precede the digits in ASCII.
        let digit = if HEAVY { byte.wrapping_sub(b'.') < 12 } else { byte.wrapping_sub(b'0') < 10 };
        let pair = (*byte == b' ') & (*before == b' ');
        let mut stop = digit | (*byte < 0x20) | (*byte == 0x7f) | pair;
        if HEAVY {
            stop |= (*byte == b'\\') | (*byte == b'"') | (*byte == b'\'') | (*byte == b'`');
        }
        *mark = u8::from(stop);
    }
    gather(&marked)
}

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

pub(super) fn classes(block: &[u8; BLOCK]) -> [u64; 3] {
    let of = |is: fn(u8) -> bool| {
        let mut marked = [0_u8; BLOCK];
        marked.iter_mut().zip(block).for_each(|(mark, byte)| *mark = u8::from(is(*byte)));
        gather(&marked)
    };
    [
        of(|byte| (byte == b' ') | (byte.wrapping_sub(b'\t') < 5)),
        of(|byte| (byte.wrapping_sub(b'0') < 10) | (byte < 0x20) | (byte == 0x7f)),
        of(|byte| ((byte | 0x20).wrapping_sub(b'a') < 26) | (byte >= 0xc0)),
    ]
}

/// One bit for every byte that is this one. Most blocks have none, and then nothing is gathered.
#[inline]
pub(super) fn equal(block: &[u8; BLOCK], byte: u8) -> u64 {
    let mut marked = [0_u8; BLOCK];
    marked.iter_mut().zip(block).for_each(|(mark, own)| *mark = u8::from(*own == byte));
    if marked.iter().fold(0, |all, mark| all | mark) == 0 { 0 } else { gather(&marked) }
}

/// One bit for every digit; without one nothing is gathered.
#[inline]
pub(super) fn digits(block: &[u8; BLOCK]) -> u64 {
    let mut marked = [0_u8; BLOCK];
    marked.iter_mut().zip(block).for_each(|(mark, byte)| *mark = u8::from(byte.wrapping_sub(b'0') < 10));
    if marked.iter().fold(0, |all, mark| all | mark) == 0 { 0 } else { gather(&marked) }
}

#[inline]
pub(super) fn holds(block: &[u8; BLOCK], byte: u8) -> bool {
    block.iter().fold(0, |found, own| found | u8::from(*own == byte)) != 0
}

pub(super) fn letters(block: &[u8; BLOCK]) -> u32 {
    let is_letter = |byte: u8| ((byte | 0x20).wrapping_sub(b'a') < 26) | (byte >= 0xc0);
    block.iter().fold(0_u8, |letters, byte| letters + u8::from(is_letter(*byte))).into()
}

#[inline]
pub(super) fn triples(block: &[u8; BLOCK + 2], triples: &[[u8; 3]; 4]) -> bool {
    let at = |skip: usize| block.get(skip..).and_then(<[u8]>::first_chunk::<BLOCK>);
    let (Some(firsts), Some(seconds), Some(thirds)) = (at(0), at(1), at(2)) else { return false };
    // Hardly any block contains the first two letters of one.
    let begins = firsts.iter().zip(seconds).fold(false, |found, (first, second)| {
        let (first, second) = (*first | 0x20, *second | 0x20);
        triples.iter().fold(found, |found, [one, two, _]| found | (first == *one) & (second == *two))
    });
    if !begins {
        return false;
    }
    let mut found = [0_u8; BLOCK];
    for (((found, first), second), third) in found.iter_mut().zip(firsts).zip(seconds).zip(thirds) {
        let (first, second, third) = (*first | 0x20, *second | 0x20, *third | 0x20);
        for [one, two, three] in triples {
            *found |= u8::from((first == *one) & (second == *two) & (third == *three));
        }
    }
    found.iter().fold(0, |all, found| all | found) != 0
}

/// One bit for every double quote, and one for every backslash, of which most blocks have none.
#[inline]
pub(super) fn quotes(block: &[u8; BLOCK]) -> (u64, u64) {
    let of = |is: u8| {
        let mut marked = [0_u8; BLOCK];
        marked.iter_mut().zip(block).for_each(|(mark, byte)| *mark = u8::from(*byte == is));
        gather(&marked)
    };
    (of(b'"'), if holds(block, b'\\') { of(b'\\') } else { 0 })
}

pub(super) fn brackets(block: &[u8; BLOCK]) -> [u64; 4] {
    let of = |is: fn(u8) -> bool| {
        let mut marked = [0_u8; BLOCK];
        marked.iter_mut().zip(block).for_each(|(mark, byte)| *mark = u8::from(is(*byte)));
        gather(&marked)
    };
    let escapes = block.iter().fold(false, |found, byte| found | (*byte == b'\\'));
    let escapes = if escapes { of(|byte| byte == b'\\') } else { 0 };
    [of(|byte| byte == b'"'), escapes, of(|byte| byte | 0x20 == b'{'), of(|byte| byte | 0x20 == b'}')]
}

/// The lowest bit of every byte, as one word.
#[inline]
fn gather(marked: &[u8; BLOCK]) -> u64 {
    // The top byte of the product collects the eight bits: byte `i` is shifted up by 56 - 7 i.
    const UP: u64 = 0x0102_0408_1020_4080;
    let bytes = marked.as_chunks::<8>().0.iter().rev();
    bytes.fold(0, |bits, chunk| bits << 8 | u64::from_le_bytes(*chunk).wrapping_mul(UP) >> 56)
}
