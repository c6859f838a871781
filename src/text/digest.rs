//! Keys: what windows compare, and what of them may leave.
//!
//! Inside, a payload is its XXH3-128: every event is digested several times, and XXH3 runs at memory speed on every
//! target. Speed costs resistance: whoever controls a payload could craft a collision, and would only hide or fake his
//! own repetition. What leaves in evidence is a SHA-256 of the key, so that a reader of reports cannot try payloads out
//! against a fast digest of known construction, nor mistake the evidence for a digest of the payload itself.

use alloc::string::String;
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// The digest of a payload within one domain.
pub(crate) type Key = u128;

/// Changes whenever a payload gets another key, so that old snapshots do not compare unlike with like.
const VERSION: &str = "loopwarden/key/1/";

/// The key of `bytes` in `domain`; equal bytes in different domains have different keys.
#[inline]
pub(crate) fn key(domain: &str, bytes: &[u8]) -> Key {
    xxh3_128_with_seed(bytes, seed(domain))
}

/// The key of a sequence of keys; order and number count.
pub(crate) fn combine(domain: &str, keys: &[Key]) -> Key {
    let seed = seed(domain);
    let mut pair = [0; 32];
    // As u64: `usize` is narrower on 32-bit targets, and what is digested must not be.
    keys.iter().fold(xxh3_128_with_seed(&(keys.len() as u64).to_le_bytes(), seed), |sum, key| {
        let (left, right) = pair.split_at_mut(16);
        left.copy_from_slice(&sum.to_le_bytes());
        right.copy_from_slice(&key.to_le_bytes());
        xxh3_128_with_seed(&pair, seed)
    })
}

/// What a verdict shows of a key: the first 16 hexadecimal digits of its domain-tagged SHA-256.
pub(crate) fn evidence(key: Key) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digest = Sha256::new().chain_update(b"loopwarden/evidence/1\0").chain_update(key.to_be_bytes()).finalize();
    let mut text = String::with_capacity(16);
    for byte in digest.iter().take(8) {
        for nibble in [byte >> 4, byte & 15] {
            text.extend(DIGITS.get(usize::from(nibble)));
        }
    }
    text
}

/// The seed of a domain: FNV-1a of the version and the name. With a constant name it is computed at compile time, so
/// that tagging costs nothing and never copies the payload.
#[inline]
const fn seed(domain: &str) -> u64 {
    fnv(fnv(0xcbf2_9ce4_8422_2325, VERSION.as_bytes()), domain.as_bytes())
}

#[inline]
const fn fnv(mut sum: u64, mut bytes: &[u8]) -> u64 {
    while let Some((first, rest)) = bytes.split_first() {
        sum = (sum ^ *first as u64).wrapping_mul(0x0000_0100_0000_01b3);
        bytes = rest;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_same_for_ever() {
        // Golden: a change here is a change of every snapshot and verdict, and needs a new VERSION.
        let long = [b'x'; 1000];
        let keys = [key("call", b""), key("call", b"a"), key("outcome", b"a"), key("call", &long)];
        let shown: alloc::vec::Vec<String> = keys.iter().map(|key| evidence(*key)).collect();
        assert_eq!(shown, GOLDEN);
    }

    const GOLDEN: [&str; 4] = ["b0941dc05f6127dc", "a18a35cce9b43c59", "3b6e13939b92ebfb", "ea63595229a54adf"];

    #[test]
    fn domains_and_order_separate() {
        assert_ne!(key("a", b"x"), key("b", b"x"));
        assert_ne!(combine("a", &[1, 2]), combine("a", &[2, 1]));
        assert_ne!(combine("a", &[1]), combine("a", &[1, 0]));
        assert_ne!(combine("a", &[]), combine("a", &[0]));
        assert_ne!(combine("a", &[1, 2]), combine("b", &[1, 2]));
        assert_eq!(combine("a", &[1, 2]), combine("a", &[1, 2]));
    }

    #[test]
    fn evidence_is_sixteen_hex_digits() {
        for key in [0, 1, Key::MAX] {
            let shown = evidence(key);
            assert_eq!(shown.len(), 16);
            assert!(shown.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)));
        }
        assert_ne!(evidence(1), evidence(2));
    }
}
