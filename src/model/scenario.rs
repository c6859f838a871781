use crate::model::{Config, Event, Level};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// What a scenario expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// Some verdict reaches the level.
    Loop,
    /// No verdict does.
    NoLoop,
}

/// One line of a trace: an event that happened, or one that is about to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = super::schema::flat_union))]
#[serde(rename_all = "camelCase")]
pub struct TraceEvent {
    /// The event.
    #[serde(flatten)]
    pub event: Event,
    /// Replay calls `check`, not `record`.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub pending: bool,
}

/// A further assertion point of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    /// Index of the event after which it holds.
    pub after_event: u32,
    /// What holds there.
    pub expect: Expectation,
}

/// One line of a scenario file. Keys that are not listed here are kept by tools and ignored.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Scenario {
    /// The scenario's name, unique in its file.
    pub id: String,
    /// What happens.
    pub events: Vec<TraceEvent>,
    /// The configuration, where it is not the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Config>,
    /// What is expected; absent for unlabelled runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expectation>,
    /// Index of the event by which a loop must be found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_at: Option<u32>,
    /// The loop must not be found before `expectAt`.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub first_at: bool,
    /// The least level that counts as found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_level: Option<Level>,
    /// Further assertion points.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub checkpoints: Vec<Checkpoint>,
    /// Whether the recorded run reached its goal, for runs without loop labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
}
