use crate::model::Counter;
use crate::model::counters::is_zero;
use alloc::{collections::BTreeMap, string::String};
use serde::{Deserialize, Serialize};

/// Ways of counting that other detectors have, for hosts that depend on their alarms. None is on by default: each either
/// overlooks loops or takes honest work for one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Conventions {
    /// Only what is named runs: the rules under `rules`, unless they are switched off there, counters, and the budgets
    /// that are set.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub only_named: bool,
    /// Counts of your own, by their names; at most 16.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, Counter>,
    /// A message of the role `user` ends no evidence: for runs into which machines put such messages.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub keep_on_user_message: bool,
    /// Copies of a passage from which every rung of `stream-period` is reached, 0 or 2 to 64; 0 for as many as the rung
    /// and the passage ask for.
    #[serde(skip_serializing_if = "is_zero")]
    pub stream_copies: u32,
    /// Characters of the longest passage that `stream-period` finds, at most 3,072; 0 for as long as it can.
    #[serde(skip_serializing_if = "is_zero")]
    pub stream_passage: u32,
    /// `stream-period` finds only what a text or a piece of it still repeats where it ends: what it came out of is over.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub stream_tail: bool,
}

impl Conventions {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
