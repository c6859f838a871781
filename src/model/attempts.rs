use serde::{Deserialize, Serialize};

/// When repeated attempts at one task count as a loop, and what to do about it. Absent fields keep the preset's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Attempts {
    /// The preset that the other fields override.
    pub preset: AttemptsPreset,
    /// Consecutive similar attempts that make a loop, 2 to 12.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// How long an attempt counts, in milliseconds of event time; at least 1, one hour in every preset. Attempts
    /// without an event time never expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_window_ms: Option<u64>,
    /// Whether an agent whose task keeps failing on the same blockers is authorised, once, to remove them before a
    /// human is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_auto_unblock: Option<bool>,
    /// Attempts within the window after which a task without progress is set aside for the next one; at least
    /// `maxAttempts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts_before_force_next: Option<u32>,
}

/// How patiently repeated attempts are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AttemptsPreset {
    /// A loop after 3 attempts, next task after 5, authority to unblock. Recommended.
    #[default]
    Balanced,
    /// A loop after 5 attempts, next task after 8; a human is asked instead of granting authority to unblock.
    Conservative,
    /// A loop after 2 attempts, next task after 3, authority to unblock.
    Aggressive,
}
