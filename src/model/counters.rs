use crate::model::is_default;
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// A counter of your own, evaluated by the rule `counter`: it reports what occurs again that often. It counts exactly
/// and knows nothing of progress, waiting or the meaning of an answer. At most the latest 64 calls and messages are
/// considered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Counter {
    /// What is counted.
    pub of: Counted,
    /// What has to be equal for two occurrences to be the same. By default `tool` and `args`; for `unknown-tools` only
    /// `tool`, for `messages` `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<Vec<Same>>,
    /// The sequence to count in. Events outside it neither count nor end a count.
    #[serde(skip_serializing_if = "is_default")]
    pub apart: Apart,
    /// Maximum steps of a lap, 2 to 10: counts repeated laps of two to that many steps that are not all the same; 0 to
    /// count single occurrences.
    #[serde(skip_serializing_if = "is_default")]
    pub lap: u32,
    /// Counts occurrences anywhere among this many of the latest, at most 64; 0 to count consecutive ones.
    #[serde(skip_serializing_if = "is_default")]
    pub window: u32,
    /// Considers only this many of the latest events, where each call, result and message is one event; 0 for no limit.
    #[serde(skip_serializing_if = "is_default")]
    pub events: u32,
    /// What else ends a count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub until: Vec<Ends>,
    /// Occurrences in the same round count once, and their order within the round does not matter.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub by_round: bool,
    /// A call that is about to be made counts as one more occurrence of its earlier results, so that it is judged
    /// before it runs.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub ahead: bool,
    /// Restarts after the highest threshold is reached.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub anew: bool,
    /// The tools to count, as name patterns in which `*` matches any characters and `?` exactly one; all tools if
    /// empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Tools to exclude, as patterns of the same kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Count at which it nudges; 0 for never.
    #[serde(skip_serializing_if = "is_default")]
    pub nudge: u32,
    /// Count at which it blocks; 0 for never.
    #[serde(skip_serializing_if = "is_default")]
    pub block: u32,
    /// Count at which it asks a human; 0 for never.
    #[serde(skip_serializing_if = "is_default")]
    pub gate: u32,
    /// Count at which it ends the run; 0 for never.
    #[serde(skip_serializing_if = "is_default")]
    pub halt: u32,
}

/// What a counter counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Calls, as soon as they are made, whatever their result.
    #[default]
    Calls,
    /// Calls together with their results, once these are known.
    Results,
    /// Successful calls with their results; a failure in the same sequence ends a count.
    Successes,
    /// Failed calls, by their outcome or exit code. Refused calls are skipped; a success in the same sequence ends a
    /// count.
    Failures,
    /// Calls whose outcome, as reported by the host, is a failure, whatever the exit code.
    Errors,
    /// Calls of tools that do not exist.
    UnknownTools,
    /// All calls of a round together, in any order; a call without a round is a round of its own.
    Rounds,
    /// Whole messages of the agent. If the text has to be equal, blank messages neither count nor end a count.
    Messages,
}

/// A property that has to be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Same {
    /// The tool.
    Tool,
    /// The arguments, ignoring the order of fields and the notation of numbers; the tool's `ignoreArgs` and
    /// `identityArgs` apply.
    Args,
    /// What the call acts on, a path or an address, whatever the tool.
    Target,
    /// The output, byte for byte, and the outcome.
    Output,
    /// The output without parts that change by themselves, such as timestamps, durations and ids.
    MaskedOutput,
    /// The exit code alone if the result has one, otherwise the output.
    ExitCode,
    /// The text of a message, ignoring white space.
    Text,
}

/// The sequence that a counter counts in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Apart {
    /// All of the agent's: any other occurrence of the same kind ends a count.
    #[default]
    Agent,
    /// Per tool: calls of other tools are skipped.
    Tool,
    /// Per call: calls of other tools or with other arguments are skipped.
    Call,
    /// Per target, whatever the tool: calls on other targets are skipped.
    Target,
}

/// An event that ends a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ends {
    /// A message with the role `user` that is not `synthetic`.
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
