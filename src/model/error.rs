use alloc::string::{String, ToString};
use core::fmt;
use serde::{Deserialize, Serialize};

/// The stable, machine-readable code of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ErrorCode {
    /// The text is not JSON.
    InvalidJson,
    /// A field of an event is unknown, missing, of the wrong type or out of range.
    InvalidEvent,
    /// The event's `type` is unknown to this version.
    UnknownEvent,
    /// The configuration has an unknown field, a contradiction or an unreachable threshold.
    InvalidConfig,
    /// The snapshot is truncated or corrupt, or not a snapshot at all.
    InvalidSnapshot,
    /// The snapshot was written with another snapshot format or rules version.
    SnapshotVersion,
    /// An operation's argument (scope, reason, decision, format) is malformed.
    InvalidArgument,
}

names!(ErrorCode {
    InvalidJson = "invalid-json", InvalidEvent = "invalid-event", UnknownEvent = "unknown-event",
    InvalidConfig = "invalid-config", InvalidSnapshot = "invalid-snapshot", SnapshotVersion = "snapshot-version",
    InvalidArgument = "invalid-argument",
});

/// Why an input was rejected. The state is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ErrorRecord"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Error {
    /// Stable error code, for programs.
    pub code: ErrorCode,
    /// Lower-case sentence, for people; not meant to be parsed.
    pub message: String,
    /// Path of the offending field, such as `rules.cycle.block`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The offending value, truncated to 80 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

impl Error {
    /// An error about the input as a whole.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), field: None, value: None }
    }

    /// Sets the offending field.
    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Sets the offending value, truncated.
    #[must_use]
    pub fn with(self, value: impl ToString) -> Self {
        self.got(&value.to_string())
    }

    fn got(mut self, value: &str) -> Self {
        let mut shown: String = value.chars().take(81).collect();
        if shown.chars().count() > 80 {
            shown.pop();
            shown.push('…');
        }
        self.value = Some(shown);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.code.name())?;
        if let Some(field) = &self.field {
            write!(f, "`{field}`: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(value) = &self.value {
            let join = if self.message.ends_with('?') { " Got" } else { ", got" };
            write!(f, "{join} `{value}`")?;
        }
        Ok(())
    }
}

impl core::error::Error for Error {}
