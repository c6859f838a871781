//! Payload -> something comparable.
//!
//! Nothing above this layer looks at a payload: calls, results and messages become fixed-size keys, flags and short
//! printable names here, in single passes over the bytes. Digests are what windows hold, so that no payload is kept.

mod answer;
mod canonical;
mod digest;
mod echo;
mod mask;
mod mutation;
mod novelty;
mod outcome;
mod safe;
mod said;
mod shell;
mod signature;
mod stream;
mod target;
mod volatile_json;
mod words;

pub(crate) use canonical::{CallKey, call_key, depth_within};
pub(crate) use digest::{Key, combine, evidence, key};
pub(crate) use echo::Echo;
pub(crate) use mutation::{is_shell, mutates};
pub(crate) use novelty::Novelty;
pub(crate) use outcome::{OutcomeFacts, Scratch, Volatile, outcome};
pub(crate) use safe::printable;
pub(crate) use said::said;
pub(crate) use signature::Signatures;
pub(crate) use stream::{Periods, Repetition};
pub(crate) use target::target;
