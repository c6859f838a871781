use serde::{Deserialize, Serialize};

/// How the loops of a task are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// Repeats: a first failure counts 0, an identical second one 1.
    #[default]
    Repeats,
    /// Every failure of a loop including the first: two identical failures count 2, a failure that is never repeated 0.
    Attempts,
}

/// How failures of tasks are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Failures {
    /// What a task's counter counts.
    pub counting: Counting,
    /// Loops of a task at which a human is asked, at least 2; the same as `gate` of the rule `task-loop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate_threshold: Option<u32>,
    /// How many recent failures of a task a new one is compared with, 1 to 32.
    pub history: u32,
}

impl Default for Failures {
    fn default() -> Self {
        Self { counting: Counting::default(), gate_threshold: None, history: 10 }
    }
}

/// When two requests between agents count as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Requests {
    /// Whether repeated requests between agents count as loops of their task.
    pub enabled: bool,
    /// Cosine similarity, per mille, that two requests must exceed, 500 to 999.
    pub similarity: u32,
}

impl Default for Requests {
    fn default() -> Self {
        Self { enabled: true, similarity: 850 }
    }
}
