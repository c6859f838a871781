use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// A count of the configuration's own, for the rule `counter`: what is the same so often is reported. It is exact and
/// knows nothing of progress, waiting or the meaning of an answer; at most 64 of the latest events are looked back at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Counter {
    /// What is counted.
    pub of: Counted,
    /// What has to be the same. Where nothing is named: tool and arguments of calls, results and failures, the text of
    /// messages, and of the others nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<Vec<Same>>,
    /// Whose sequence it is: what is apart from it neither counts nor ends a count.
    #[serde(skip_serializing_if = "Apart::is_default")]
    pub apart: Apart,
    /// Steps of the longest lap, 2 to 10: laps are counted, from two steps on, that are not all alike; 0 for no laps.
    #[serde(skip_serializing_if = "is_zero")]
    pub lap: u32,
    /// Counts wherever they are among so many of the latest, at most 64; 0 for in a row.
    #[serde(skip_serializing_if = "is_zero")]
    pub window: u32,
    /// Only so many of the latest events are looked at, calls, results and messages being one each; 0 for all.
    #[serde(skip_serializing_if = "is_zero")]
    pub events: u32,
    /// What else ends a count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub until: Vec<Ends>,
    /// What is made in one round is one: copies count once, and the order within a round does not matter.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub by_round: bool,
    /// A call that is about to be made counts as one more of what came of it before: it is judged before it runs.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub ahead: bool,
    /// Begins anew after its highest threshold.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub anew: bool,
    /// The tools it is about, by names in which `*` stands for any characters and `?` for one; all where none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Tools it is not about, in the same way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Count from which it nudges; 0 never.
    #[serde(skip_serializing_if = "is_zero")]
    pub nudge: u32,
    /// Count from which it blocks; 0 never.
    #[serde(skip_serializing_if = "is_zero")]
    pub block: u32,
    /// Count from which it asks a human; 0 never.
    #[serde(skip_serializing_if = "is_zero")]
    pub gate: u32,
    /// Count from which it ends the run; 0 never.
    #[serde(skip_serializing_if = "is_zero")]
    pub halt: u32,
}

/// What a counter counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Calls, when they are made, whatever comes of them.
    #[default]
    Calls,
    /// Calls with what came of them, once that is known.
    Results,
    /// Calls that worked, with what came of them; a failure of the same sequence ends a count.
    Successes,
    /// Calls that failed: by their outcome or their exit code. A refusal is none, and a success of the same sequence ends
    /// a count.
    Failures,
    /// Calls that failed by what the host says of their outcome, whatever the exit code.
    Errors,
    /// Calls of tools that there are not.
    UnknownTools,
    /// All calls of a round together, in any order; a call that names no round is a round of its own.
    Rounds,
    /// The agent's own whole messages. Blank ones neither count nor end a count where the text has to be the same.
    Messages,
}

/// What has to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Same {
    /// The tool.
    Tool,
    /// The arguments, but for the order of fields and the way numbers are written; `ignoreArgs` and `identityArgs` of the
    /// tool hold.
    Args,
    /// What the call acts upon: a path or an address, whatever the tool.
    Target,
    /// The output, to the byte, and the outcome.
    Output,
    /// The output but for what changes by itself, such as clocks, durations and ids.
    MaskedOutput,
    /// The exit code alone where a result has one, and else the output.
    ExitCode,
    /// The text of a message, but for blanks.
    Text,
}

/// Whose sequence a counter counts in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Apart {
    /// The agent's: anything else of the kind ends a count.
    #[default]
    Agent,
    /// The tool's: calls of other tools are passed over.
    Tool,
    /// The call's: calls of other tools and with other arguments are passed over.
    Call,
    /// What the call acts upon, whatever the tool: calls upon anything else are passed over.
    Target,
}

/// What ends a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ends {
    /// A message of the role `user` that the host did not make itself.
    UserMessage,
    /// A message of the agent.
    Message,
    /// A call.
    Call,
    /// A result.
    Result,
    /// A call that changed something and succeeded.
    Change,
}

impl Apart {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
pub(super) const fn is_zero(number: &u32) -> bool {
    *number == 0
}
