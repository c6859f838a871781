//! The envelope of a snapshot: magic, format, rule version and checksum around a `postcard` payload.

use crate::model::{Error, ErrorCode};
use alloc::{format, vec::Vec};
use serde::{Serialize, de::DeserializeOwned};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const MAGIC: &[u8; 4] = b"LWSN";
/// Raised when the payload's layout changes.
const FORMAT: u8 = 2;
const CHECKSUM: usize = 8;
const HEADER: usize = MAGIC.len() + 1 + 4 + CHECKSUM;

/// Wraps a payload.
pub(crate) fn seal(payload: &impl Serialize, rules_version: u32) -> Vec<u8> {
    // INVARIANT: the state holds no type that postcard cannot encode, so this cannot be an error.
    let payload = postcard::to_allocvec(payload).unwrap_or_default();
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.extend_from_slice(MAGIC);
    bytes.push(FORMAT);
    bytes.extend_from_slice(&rules_version.to_le_bytes());
    bytes.extend_from_slice(&checksum(&payload));
    bytes.extend_from_slice(&payload);
    bytes
}

/// Unwraps a payload.
pub(crate) fn open<T: DeserializeOwned>(bytes: &[u8], rules_version: u32) -> Result<T, Error> {
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
    match postcard::take_from_bytes(payload) {
        Ok((value, [])) => Ok(value),
        Ok(_) => Err(invalid("corrupt: bytes after the end")),
        Err(_) => Err(invalid("corrupt: the payload cannot be read")),
    }
}

/// A checksum finds accidents. Who means harm can write any snapshot with the right one, so that everything is checked
/// that is read.
fn checksum(payload: &[u8]) -> [u8; CHECKSUM] {
    xxh3_64_with_seed(payload, u64::from(FORMAT)).to_le_bytes()
}

/// Carries a value of the public model as JSON text: its optional fields are skipped when absent, which a format
/// without field names cannot read back.
pub(crate) mod json_text {
    use alloc::string::String;
    use serde::{
        Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned, de::Error as _, ser::Error as _,
    };

    pub(crate) fn serialize<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&serde_json::to_string(value).map_err(S::Error::custom)?)
    }

    pub(crate) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        serde_json::from_str(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
