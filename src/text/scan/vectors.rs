//! The operations of `plain.rs` with WebAssembly's SIMD instructions, sixteen bytes at a time: modules are built for
//! size, and then the compiler does not vectorise plain comparisons.

use super::BLOCK;
use core::arch::wasm32::{
    u8x16_bitmask, u8x16_eq, u8x16_ge, u8x16_lt, u8x16_splat, u8x16_sub, u64x2, v128, v128_and, v128_or,
};

/// Bytes of a vector.
const WIDTH: usize = 16;

/// The bytes of a block from `at` on; all zero if fewer than [`WIDTH`] are left.
#[inline(always)]
fn bytes(block: &[u8], at: usize) -> v128 {
    let bytes: Option<&[u8; WIDTH]> = block.get(at..).and_then(<[u8]>::first_chunk);
    let bytes = bytes.map_or(0, |bytes| u128::from_le_bytes(*bytes));
    u64x2(bytes as u64, (bytes >> 64) as u64)
}

#[inline(always)]
fn are(bytes: v128, byte: u8) -> v128 {
    u8x16_eq(bytes, u8x16_splat(byte))
}

/// Lanes that are one of the `many` byte values from `first` on.
#[inline(always)]
fn are_from(bytes: v128, first: u8, many: u8) -> v128 {
    u8x16_lt(u8x16_sub(bytes, u8x16_splat(first)), u8x16_splat(many))
}

/// Letters in lower case; some other bytes change as well.
#[inline(always)]
fn lower(bytes: v128) -> v128 {
    v128_or(bytes, u8x16_splat(0x20))
}

/// One bit for each byte of a block: the top bits of what `meant` returns for each vector.
#[inline(always)]
fn bits(meant: impl Fn(usize) -> v128) -> u64 {
    let mut bits = 0;
    for at in (0..BLOCK).step_by(WIDTH) {
        bits |= u64::from(u8x16_bitmask(meant(at))) << at;
    }
    bits
}

pub(super) fn marks<const HEAVY: bool>(block: &[u8; BLOCK], before: &[u8; BLOCK]) -> u64 {
    bits(|at| {
        let here = bytes(block, at);
        let pair = v128_and(are(here, b' '), are(bytes(before, at), b' '));
        let stop = v128_or(v128_or(are_from(here, b'0', 10), are_from(here, 0, 0x20)), v128_or(are(here, 0x7f), pair));
        if !HEAVY {
            return stop;
        }
        let path = v128_or(v128_or(are(here, b'/'), are(here, b'\\')), are(here, b'.'));
        let quote = v128_or(v128_or(are(here, b'"'), are(here, b'\'')), are(here, b'`'));
        v128_or(stop, v128_or(path, quote))
    })
}

pub(super) fn parts<const JOINT: u8>(block: &[u8; BLOCK]) -> (u64, u64) {
    let parts = bits(|at| {
        let here = bytes(block, at);
        v128_or(v128_or(are_from(lower(here), b'a', 26), are_from(here, b'0', 10)), are(here, JOINT))
    });
    (parts, bits(|at| bytes(block, at)))
}

pub(super) fn classes(block: &[u8; BLOCK]) -> [u64; 3] {
    [
        bits(|at| v128_or(are(bytes(block, at), b' '), are_from(bytes(block, at), b'\t', 5))),
        bits(|at| {
            let here = bytes(block, at);
            v128_or(v128_or(are_from(here, b'0', 10), are_from(here, 0, 0x20)), are(here, 0x7f))
        }),
        bits(|at| letters_of(bytes(block, at))),
    ]
}

pub(super) fn equal(block: &[u8; BLOCK], byte: u8) -> u64 {
    bits(|at| are(bytes(block, at), byte))
}

pub(super) fn digits(block: &[u8; BLOCK]) -> u64 {
    bits(|at| are_from(bytes(block, at), b'0', 10))
}

pub(super) fn holds(block: &[u8; BLOCK], byte: u8) -> bool {
    bits(|at| are(bytes(block, at), byte)) != 0
}

pub(super) fn letters(block: &[u8; BLOCK]) -> u32 {
    bits(|at| letters_of(bytes(block, at))).count_ones()
}

/// Lanes that are ASCII letters or the first byte of a non-ASCII character.
#[inline(always)]
fn letters_of(bytes: v128) -> v128 {
    v128_or(are_from(lower(bytes), b'a', 26), u8x16_ge(bytes, u8x16_splat(0xc0)))
}

pub(super) fn triples(block: &[u8; BLOCK + 2], triples: &[[u8; 3]; 4]) -> bool {
    let found = bits(|at| {
        let (first, second, third) =
            (lower(bytes(block, at)), lower(bytes(block, at + 1)), lower(bytes(block, at + 2)));
        triples.iter().fold(u8x16_splat(0), |found, [one, two, three]| {
            v128_or(found, v128_and(v128_and(are(first, *one), are(second, *two)), are(third, *three)))
        })
    });
    found != 0
}

pub(super) fn quotes(block: &[u8; BLOCK]) -> (u64, u64) {
    (bits(|at| are(bytes(block, at), b'"')), bits(|at| are(bytes(block, at), b'\\')))
}

pub(super) fn brackets(block: &[u8; BLOCK]) -> [u64; 4] {
    [
        bits(|at| are(bytes(block, at), b'"')),
        bits(|at| are(bytes(block, at), b'\\')),
        bits(|at| are(lower(bytes(block, at)), b'{')),
        bits(|at| are(lower(bytes(block, at)), b'}')),
    ]
}
