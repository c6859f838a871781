//! Keys: what windows compare, and the form in which they may leave.
//!
//! Internally, a payload is represented by its XXH3-64: every event is digested several times, and XXH3 runs at memory
//! speed on every target. Windows hold a few hundred keys, so an accidental collision is expected once in 10^14 runs.
//! The price is collision resistance: someone who controls a payload could craft a collision, but would only hide or
//! fake their own repetition. Evidence shows a SHA-256 of the key, so that a reader of reports can neither test
//! candidate payloads against a fast digest of known construction nor mistake the evidence for a digest of the payload
//! itself.

use alloc::boxed::Box;
use core::cell::RefCell;
use sha2::{Digest, Sha256};
use smol_str::SmolStr;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The digest of a payload within one domain. 0 stands for no payload; no digest is 0.
pub(crate) type Key = u64;

/// To be changed whenever a payload's key changes, so that old snapshots are never compared with new keys.
const VERSION: &str = "loopwarden/key/2/";
/// 64-bit words of a sequence digested together, the first two of them a header.
const AT_ONCE: usize = 8;

/// The key of `bytes` in `domain`; equal bytes in different domains have different keys.
#[inline(always)]
pub(crate) fn key(domain: &str, bytes: &[u8]) -> Key {
    digest(seed(domain), bytes)
}

/// The key of `bytes` from an untrusted source, under a [`salt`]; with a salt of 0, the same as [`key`].
#[inline(always)]
pub(crate) fn salted(domain: &str, salt: u64, bytes: &[u8]) -> Key {
    digest(seed(domain) ^ salt, bytes)
}

/// The number that a detector's salt contributes to the seeds; 0 without a salt.
pub(crate) fn salt(text: Option<&str>) -> u64 {
    let Some(text) = text else { return 0 };
    let digest = Sha256::new().chain_update(b"loopwarden/salt/1\0").chain_update(text.as_bytes()).finalize();
    digest.iter().take(8).fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}

/// The seed of the veil over a salted detector's snapshot, derived in a domain of its own: learning it reveals nothing
/// about keys.
pub(crate) fn veil(salt: &str, number: [u8; 8]) -> u64 {
    let digest = Sha256::new().chain_update(b"loopwarden/veil/1\0").chain_update(number).chain_update(salt.as_bytes());
    digest.finalize().iter().take(8).fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}

/// The key of a sequence of keys, sensitive to their order and number.
#[inline]
pub(crate) fn combine(domain: &str, keys: &[Key]) -> Key {
    // The length is usually a constant at the call site, which removes this branch.
    if keys.len() <= AT_ONCE - 2 { few(seed(domain), keys) } else { sequence(seed(domain), keys) }
}

/// [`sequence`] for at most `AT_ONCE - 2` keys. Not inlined on Wasm, where code size matters.
#[cfg_attr(target_family = "wasm", inline(never))]
#[cfg_attr(not(target_family = "wasm"), inline(always))]
fn few(seed: u64, keys: &[Key]) -> Key {
    let mut bytes = [0; AT_ONCE * 8];
    let words = [0, keys.len() as u64];
    for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(words.iter().chain(keys)) {
        *to = word.to_le_bytes();
    }
    digest(seed, bytes.get(..(words.len() + keys.len()) * 8).unwrap_or_default())
}

#[inline(never)]
fn sequence(seed: u64, mut keys: &[Key]) -> Key {
    let mut bytes = [0; AT_ONCE * 8];
    // As u64: `usize` is narrower on 32-bit targets, and the digested bytes must not differ.
    let (mut sum, mut left) = (0, keys.len() as u64);
    loop {
        let (now, later) = keys.split_at_checked(AT_ONCE - 2).unwrap_or((keys, &[]));
        let mut length = 0;
        for (to, word) in bytes.chunks_exact_mut(8).zip([sum, left].iter().chain(now)) {
            to.copy_from_slice(&word.to_le_bytes());
            length += 8;
        }
        sum = digest(seed, bytes.get(..length).unwrap_or_default());
        if later.is_empty() {
            return sum;
        }
        left = left.saturating_sub(now.len() as u64);
        keys = later;
    }
}

/// The upper half of a key, for compact memories whose values are never shown.
#[inline]
pub(crate) fn mark(key: Key) -> u32 {
    u32::try_from(key >> 32).unwrap_or_default()
}

/// The one place where keys are made.
#[inline]
fn digest(seed: u64, bytes: &[u8]) -> Key {
    xxh3_64_with_seed(bytes, seed).max(1)
}

/// How a verdict shows a key: the first 16 hexadecimal digits of its domain-tagged SHA-256.
pub(crate) fn evidence(key: Key) -> SmolStr {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::new().chain_update(b"loopwarden/evidence/2\0").chain_update(key.to_be_bytes()).finalize();
    let mut text = [0; 16];
    for (digits, byte) in text.as_chunks_mut().0.iter_mut().zip(digest.iter()) {
        *digits = [byte >> 4, byte & 15].map(|nibble| DIGITS.get(usize::from(nibble)).copied().unwrap_or_default());
    }
    SmolStr::new(core::str::from_utf8(&text).unwrap_or_default())
}

/// A cache of recently shown digests: what repeats is shown event after event, and a digest is the most expensive part
/// of a finding. Not part of a snapshot, and it never changes a verdict.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digests(Option<Box<[[CachedDigest; 2]; Digests::PAIRS]>>);

/// A key and its digest; the digest is empty if the slot is unused.
type CachedDigest = (Key, SmolStr);

impl Digests {
    /// Number of slots; each holds two entries and is selected by the key's top five bits.
    const PAIRS: usize = 32;

    fn of(&mut self, key: Key) -> SmolStr {
        let kept = self.0.get_or_insert_with(|| Box::new(core::array::from_fn(|_| Default::default())));
        let Some([latest, other]) = kept.get_mut((key >> 59) as usize) else { return evidence(key) };
        let is_kept = |(known, digest): &CachedDigest| *known == key && !digest.is_empty();
        if !is_kept(latest) {
            core::mem::swap(latest, other);
            if !is_kept(latest) {
                *latest = (key, evidence(key));
            }
        }
        latest.1.clone()
    }
}

/// [`evidence`] of a key, cached.
pub(crate) fn shown(digests: &RefCell<Digests>, key: Key) -> SmolStr {
    digests.try_borrow_mut().map_or_else(|_| evidence(key), |mut digests| digests.of(key))
}

/// The seed of a domain: FNV-1a of the version and the name. For a constant name it is computed at compile time, so
/// tagging costs nothing and never copies the payload.
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
        // Golden values: a change here changes every snapshot and verdict, and needs a new VERSION.
        let long = [b'x'; 1000];
        let keys = [key("call", b""), key("call", b"a"), key("outcome", b"a"), key("call", &long)];
        let shown: alloc::vec::Vec<SmolStr> = keys.iter().map(|key| evidence(*key)).collect();
        assert_eq!(shown, GOLDEN);
    }

    const GOLDEN: [&str; 4] = ["7bae0cccc9683b2c", "b47e9c0a52098969", "6457c8f5075403ed", "2ba9757bcb0d251b"];

    #[test]
    fn long_sequences_are_digested_whole() {
        let keys: alloc::vec::Vec<Key> = (1..=20).collect();
        let whole = combine("a", &keys);
        for at in 0..keys.len() {
            let mut other = keys.clone();
            other[at] += 1;
            assert_ne!(combine("a", &other), whole, "key {at} of 20");
            assert_ne!(combine("a", &keys[..at]), whole);
        }
    }

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

    #[test]
    fn what_was_shown_before_is_shown_again() {
        let digests = RefCell::default();
        // More keys than the cache holds, several of them per slot, twice.
        let keys = || (0..300).map(|number| key("test", &[number as u8])).chain([0, 1, Key::MAX]);
        for key in keys().chain(keys()) {
            assert_eq!(shown(&digests, key), evidence(key));
            assert_eq!(shown(&digests, key), evidence(key));
        }
    }
}
