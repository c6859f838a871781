use serde::{Deserialize, Serialize};

/// When attempts at one task are a loop, and what is done about it. What is absent keeps the preset's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Attempts {
    /// The values that the other fields change.
    pub preset: AttemptsPreset,
    /// Like attempts in a row that make a loop, 2 to 12.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Milliseconds of event time that attempts are remembered for, at least 1; an hour in every preset. Attempts
    /// without an event time are never too old.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_window_ms: Option<u64>,
    /// Whether a task that spins on its blockers is given the authority to remove them, once, before a human is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_auto_unblock: Option<bool>,
    /// Attempts in the window from which a task without progress is left for the next one; at least `maxAttempts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts_before_force_next: Option<u32>,
}

/// How patient the handling of attempts is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AttemptsPreset {
    /// 3 attempts, the next task from 5 on, authority to unblock: the recommended one.
    #[default]
    Balanced,
    /// 5 attempts, the next task from 8 on, and a human instead of authority to unblock.
    Conservative,
    /// 2 attempts, the next task from 3 on, authority to unblock.
    Aggressive,
}
