use serde::{Deserialize, Serialize};

/// How strongly a host should react. Ordered: a later variant is a stronger reaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Nothing to do.
    #[default]
    Continue,
    /// For logs only.
    Observe,
    /// Put the guidance before the agent.
    Nudge,
    /// Refuse this one call, attempt or transition.
    Block,
    /// Pause for a human.
    Gate,
    /// End the run.
    Halt,
}

impl Level {
    /// Every level, weakest first.
    pub const ALL: [Self; 6] = [Self::Continue, Self::Observe, Self::Nudge, Self::Block, Self::Gate, Self::Halt];

    /// The kebab-case name used in JSON and WIT.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Observe => "observe",
            Self::Nudge => "nudge",
            Self::Block => "block",
            Self::Gate => "gate",
            Self::Halt => "halt",
        }
    }
}

impl core::fmt::Display for Level {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}
