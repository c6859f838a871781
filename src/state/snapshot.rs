//! The envelope of a snapshot: magic, format, rule version and checksum around the state's bytes.

use crate::codec::{Codec, decode};
use crate::model::{Error, ErrorCode};
use alloc::{format, string::String, vec::Vec};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const MAGIC: &[u8; 4] = b"LWSN";
/// Raised when the payload's layout changes.
const FORMAT: u8 = 5;
/// Bytes that most snapshots do not exceed.
const TYPICAL: usize = 8 * 1024;
const CHECKSUM: usize = 8;
const HEADER: usize = MAGIC.len() + 1 + 4 + CHECKSUM;

/// Wraps a configuration's JSON text and the state that it led to.
pub(crate) fn seal(config: &String, state: &impl Codec, rules_version: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(TYPICAL);
    bytes.extend_from_slice(MAGIC);
    bytes.push(FORMAT);
    bytes.extend_from_slice(&rules_version.to_le_bytes());
    bytes.extend_from_slice(&[0; CHECKSUM]);
    config.put(&mut bytes);
    state.put(&mut bytes);
    if let Some((header, payload)) = bytes.split_first_chunk_mut::<HEADER>()
        && let Some(sum) = header.last_chunk_mut()
    {
        *sum = checksum(payload);
    }
    bytes
}

/// Unwraps what [`seal`] has wrapped.
pub(crate) fn open<T: Codec>(bytes: &[u8], rules_version: u32) -> Result<(String, T), Error> {
    let invalid = |reason: &str| Error::new(ErrorCode::InvalidSnapshot, reason).at("snapshot");
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| invalid("not a loopwarden snapshot"))?;
    let (format, rest) = rest.split_first().ok_or_else(|| invalid("truncated header"))?;
    let (version, rest) = rest.split_first_chunk::<4>().ok_or_else(|| invalid("truncated header"))?;
    let (sum, payload) = rest.split_first_chunk::<CHECKSUM>().ok_or_else(|| invalid("truncated header"))?;
    let version = u32::from_le_bytes(*version);
    if *format != FORMAT || version != rules_version {
        let message = format!(
            "written by format {format} with rules {version}, this is format {FORMAT} with rules {rules_version}"
        );
        return Err(Error::new(ErrorCode::SnapshotVersion, message).at("snapshot"));
    }
    if checksum(payload) != *sum {
        return Err(invalid("truncated or corrupt: the checksum does not match"));
    }
    decode(payload).ok_or_else(|| invalid("corrupt: the payload cannot be read"))
}

/// A checksum finds accidents. Who means harm can write any snapshot with the right one, so that everything is checked
/// that is read.
fn checksum(payload: &[u8]) -> [u8; CHECKSUM] {
    xxh3_64_with_seed(payload, u64::from(FORMAT)).to_le_bytes()
}
