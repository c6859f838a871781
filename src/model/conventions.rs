use crate::model::is_default;
use crate::model::{ByName, Counter};
use serde::{Deserialize, Serialize};

/// Counting conventions of other detectors, for hosts that depend on their alarms. All are off by default, because each
/// either misses loops or flags honest work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Conventions {
    /// Only what is named runs: rules listed under `rules` (unless disabled there), counters, and budgets that are set.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub only_named: bool,
    /// Your own counters by name, 1 to 64 bytes each; at most 16.
    #[serde(skip_serializing_if = "ByName::is_empty")]
    pub counters: ByName<Counter>,
    /// A message with the role `user` does not end evidence. For runs in which programs insert such messages. Without
    /// it, one of 120 bytes or more that is the previous one again, to the letter, ends only the evidence about texts.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub keep_on_user_message: bool,
    /// Copies of a passage required for every level of `stream-period`, 0 or 2 to 64; 0 for the built-in number, which
    /// depends on the level and the length of the passage.
    #[serde(skip_serializing_if = "is_default")]
    pub stream_copies: u32,
    /// Longest passage in characters that `stream-period` reports, at most 3,072; 0 for its own limit.
    #[serde(skip_serializing_if = "is_default")]
    pub stream_passage: u32,
    /// `stream-period` reports only a repetition that is still going on at the end of a text or chunk, not one that has
    /// ended.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub stream_tail: bool,
}
