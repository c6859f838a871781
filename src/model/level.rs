use serde::{Deserialize, Serialize};

/// How strongly the host should react. Ordered from weakest to strongest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Nothing to do.
    #[default]
    Continue,
    /// For logs only.
    Observe,
    /// Show the guidance to the agent.
    Nudge,
    /// Refuse this one call, attempt or transition.
    Block,
    /// Pause and ask a human.
    Gate,
    /// End the run.
    Halt,
}

names!(Level {
    Continue = "continue", Observe = "observe", Nudge = "nudge", Block = "block", Gate = "gate", Halt = "halt",
});

impl core::fmt::Display for Level {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}
