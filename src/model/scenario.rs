use crate::model::{Config, Event, Level};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// What a scenario expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// Some verdict reaches `minLevel`.
    Loop,
    /// No verdict reaches it.
    NoLoop,
}

/// One line of a trace: an event that has happened or is about to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = super::schema::flat_union))]
#[serde(rename_all = "camelCase")]
pub struct TraceEvent {
    /// The event.
    #[serde(flatten)]
    pub event: Event,
    /// The event has not happened yet: replay calls `check` instead of `record`.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub pending: bool,
}

/// An additional assertion within a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    /// Index of the event after which the expectation holds.
    pub after_event: u32,
    /// The expectation at that point.
    pub expect: Expectation,
}

/// One line of a scenario file. Unknown keys are preserved by tools and otherwise ignored.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Scenario {
    /// The scenario's name, unique in its file.
    pub id: String,
    /// The events, in order.
    pub events: Vec<TraceEvent>,
    /// The configuration; the default one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Config>,
    /// The expected result; absent for unlabelled runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expectation>,
    /// Index of the event by which the loop must be detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_at: Option<u32>,
    /// The loop must not be detected before `expectAt`.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub first_at: bool,
    /// The lowest level that counts as detection; by default `nudge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_level: Option<Level>,
    /// Additional assertions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub checkpoints: Vec<Checkpoint>,
    /// Whether the recorded run reached its goal, for runs without loop labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
}
