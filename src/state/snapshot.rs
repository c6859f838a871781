//! The envelope of a snapshot: magic, format, rule version and checksum around the configuration and the state.
//!
//! With a salt, the state is masked by a keystream derived from it: hashes of words, names and texts come out
//! differently for every detector and in every snapshot, so that nobody can look them up in a table or tell from them
//! that two users did the same. Whoever has the whole snapshot also has the salt, in its configuration.

use crate::codec::{Codec, decode, first};
use crate::detector::RULES_VERSION;
use crate::model::{Error, ErrorCode};
use crate::text::veil;
use alloc::{borrow::Cow, format, string::String, vec::Vec};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const MAGIC: &[u8; 4] = b"LWSN";
/// Incremented when the layout of the payload changes.
const FORMAT: u8 = 53;
/// Bytes reserved; most snapshots take fewer.
const TYPICAL: usize = 8 * 1024;
const CHECKSUM: usize = 8;
const HEADER: usize = MAGIC.len() + 1 + 4 + CHECKSUM;

/// Wraps a configuration's JSON text and the state that it led to; `salt` is the configuration's.
pub(crate) fn seal(config: &String, state: &impl Codec, salt: Option<&str>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(TYPICAL);
    bytes.extend_from_slice(MAGIC);
    bytes.push(FORMAT);
    bytes.extend_from_slice(&RULES_VERSION.to_le_bytes());
    bytes.extend_from_slice(&[0; CHECKSUM]);
    config.put(&mut bytes);
    let begin = bytes.len();
    state.put(&mut bytes);
    if let Some((header, payload)) = bytes.split_first_chunk_mut::<HEADER>()
        && let Some(sum) = header.last_chunk_mut()
    {
        *sum = checksum(payload);
    }
    if let Some((head, state)) = bytes.split_at_mut_checked(begin)
        && let Some(header) = head.first_chunk::<HEADER>()
        && let Some(sum) = header.last_chunk()
    {
        cover(state, salt, *sum);
    }
    bytes
}

/// Unwraps what [`seal`] has wrapped. `read` parses the configuration's text and also returns its salt.
pub(crate) fn open<C, T: Codec>(bytes: &[u8], read: impl FnOnce(&str) -> (C, Option<String>)) -> Result<(C, T), Error> {
    let invalid = |reason: &str| Error::new(ErrorCode::InvalidSnapshot, reason).at("snapshot");
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| invalid("not a loopwarden snapshot"))?;
    let (format, rest) = rest.split_first().ok_or_else(|| invalid("truncated header"))?;
    let (version, rest) = rest.split_first_chunk::<4>().ok_or_else(|| invalid("truncated header"))?;
    let (sum, payload) = rest.split_first_chunk::<CHECKSUM>().ok_or_else(|| invalid("truncated header"))?;
    let version = u32::from_le_bytes(*version);
    if *format != FORMAT || version != RULES_VERSION {
        let message = format!(
            "written by format {format} with rules {version}, this is format {FORMAT} with rules {RULES_VERSION}: replay the run's events, or begin afresh"
        );
        return Err(Error::new(ErrorCode::SnapshotVersion, message).at("snapshot"));
    }
    let unreadable = || invalid("corrupt: the payload cannot be read");
    let Some((config, state)) = first::<String>(payload) else {
        return Err(if checksum(payload) == *sum { unreadable() } else { torn() });
    };
    let begin = payload.len() - state.len();
    let (config, salt) = read(&config);
    let mut payload = Cow::Borrowed(payload);
    if salt.is_some() {
        let (_, state) = payload.to_mut().split_at_mut_checked(begin).unwrap_or_default();
        cover(state, salt.as_deref(), *sum);
    }
    if checksum(&payload) != *sum {
        return Err(torn());
    }
    let state = payload.get(begin..).and_then(decode).ok_or_else(unreadable)?;
    Ok((config, state))
}

fn torn() -> Error {
    let reason = "truncated or corrupt: the checksum does not match";
    Error::new(ErrorCode::InvalidSnapshot, reason).at("snapshot")
}

/// Masks a state with the keystream of a salt, or unmasks it. `sum` is the checksum of the unmasked payload, so that
/// two states of one detector are masked differently.
fn cover(state: &mut [u8], salt: Option<&str>, sum: [u8; CHECKSUM]) {
    let Some(salt) = salt else { return };
    let seed = veil(salt, sum);
    for (number, bytes) in (0_u64..).zip(state.chunks_mut(8)) {
        let pad = xxh3_64_with_seed(&number.to_le_bytes(), seed).to_le_bytes();
        bytes.iter_mut().zip(pad).for_each(|(byte, pad)| *byte ^= pad);
    }
}

/// Detects accidental damage only. An attacker can compute the checksum of any snapshot, so everything decoded is
/// validated.
fn checksum(payload: &[u8]) -> [u8; CHECKSUM] {
    xxh3_64_with_seed(payload, u64::from(FORMAT)).to_le_bytes()
}
