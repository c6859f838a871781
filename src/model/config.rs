use crate::model::{
    Attempts, ByName, Conventions, Extends, Failures, Graph, Level, OnStall, Phases, Requests, is_default,
};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// The complete configuration. An empty object is the recommended one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// Detectors whose settings this configuration starts from, by name; of several, later ones take precedence. Fields
    /// set here override them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extends: Option<Extends>,
    /// The set of thresholds that the other fields override.
    pub preset: Preset,
    /// `false` turns detection off: events are accepted and every verdict is `continue`.
    pub enabled: bool,
    /// Whether verdicts ask for action (`enforce`) or only report (`shadow`).
    pub mode: Mode,
    /// Whether a human can answer a gate.
    pub attended: bool,
    /// The level used instead of `gate` when `attended` is false: `nudge`, `block` or `halt`.
    pub unattended_level: Level,
    /// Settings per rule, keyed by rule id.
    pub rules: ByName<RuleConfig>,
    /// Settings per tool, keyed by a name pattern in which `*` matches any characters and `?` exactly one. All matching
    /// entries apply; those with more literal characters come later and override the others.
    pub tools: ByName<ToolConfig>,
    /// Limits per run, turn, node and cycle.
    pub budgets: Budgets,
    /// Detection of repeated attempts at one task.
    pub attempts: Attempts,
    /// Limits on phases of a workflow and on transitions between them.
    pub phases: Phases,
    /// The workflow graph of runs that declare none themselves. Without either, it is learned from `delivery` events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<Graph>,
    /// What to do about a stalled or oscillating loop.
    pub on_stall: OnStall,
    /// How failures of a task are counted.
    pub failures: Failures,
    /// When two requests between agents count as the same.
    pub collaboration: Requests,
    /// Counting conventions of other detectors.
    #[serde(skip_serializing_if = "is_default")]
    pub conventions: Conventions,
    /// Limits on the detector's own memory.
    pub memory: Memory,
    /// Your own regular expressions.
    pub patterns: Patterns,
    /// What verdicts may reveal.
    pub privacy: Privacy,
    /// Token prices, for events that report tokens but no cost.
    #[serde(skip_serializing_if = "is_default")]
    pub prices: Prices,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            extends: None,
            preset: Preset::default(),
            enabled: true,
            mode: Mode::default(),
            attended: true,
            unattended_level: Level::Halt,
            rules: ByName::new(),
            tools: ByName::new(),
            budgets: Budgets::default(),
            attempts: Attempts::default(),
            phases: Phases::default(),
            graph: None,
            on_stall: OnStall::default(),
            failures: Failures::default(),
            collaboration: Requests::default(),
            conventions: Conventions::default(),
            memory: Memory::default(),
            patterns: Patterns::default(),
            privacy: Privacy::default(),
            prices: Prices::default(),
        }
    }
}

/// A named set of thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Tuned on real runs. Recommended.
    #[default]
    Balanced,
    /// About two thirds of the `balanced` thresholds.
    Sensitive,
    /// About one and a half times the `balanced` thresholds.
    Conservative,
}

/// Whether verdicts ask for action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Verdicts ask for action.
    #[default]
    Enforce,
    /// Verdicts never exceed `observe`; `wouldBe` holds the level that `enforce` would have given.
    Shadow,
}

/// Settings of one rule. Absent fields keep the preset's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RuleConfig {
    /// Whether the rule runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Evidence at which the rule nudges; 0 for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nudge: Option<u32>,
    /// Evidence at which the rule blocks; 0 for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
    /// Evidence at which the rule asks a human; 0 for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<u32>,
    /// Evidence at which the rule ends the run; 0 for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halt: Option<u32>,
    /// How far back the rule looks, in its own unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
}

impl RuleConfig {
    /// The threshold set for a level, if any.
    pub(crate) fn rung(&self, level: Level) -> Option<u32> {
        match level {
            Level::Nudge => self.nudge,
            Level::Block => self.block,
            Level::Gate => self.gate,
            Level::Halt => self.halt,
            Level::Continue | Level::Observe => None,
        }
    }
}

/// Settings of the tools whose names match a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ToolConfig {
    /// Whether calls of the tool are judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Rule settings for this tool, keyed by rule id.
    #[serde(skip_serializing_if = "ByName::is_empty")]
    pub rules: ByName<RuleConfig>,
    /// Top-level argument fields to ignore when calls are compared. Mutually exclusive with `identityArgs`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore_args: Vec<String>,
    /// The only top-level argument fields to compare. Mutually exclusive with `ignoreArgs`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub identity_args: Vec<String>,
    /// Whether the tool is meant to be polled. If so, `repeated-call`, `blind-repeat`, `unanswered-call` and `cycle`
    /// triple their thresholds for its calls, and rules about the results of calls (`same-answer`, `no-effect`,
    /// `empty-handed`, `resubmission`, `reworded-request`) ignore them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polling: Option<bool>,
    /// Whether any equal answers to different calls of the tool are evidence for `same-answer`, however short. By
    /// default, only long answers and those of searches and views are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare_answers: Option<bool>,
    /// Whether a successful call changes something. Inferred from the tool's name and arguments if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutates: Option<bool>,
}

/// Limits of a run, a turn, a node or a cycle; 0 means no limit. The event that reaches a limit has exhausted it.
///
/// Node limits apply to all turns of a run whatever their tasks; cycle limits apply per task. The three limits with a
/// default apply it to nodes of a declared graph or, if none is declared, to nodes on a cycle; if set explicitly, they
/// apply to every node that takes turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Budgets {
    /// Iterations of the agent loop: the number of `output` events, `turn` events, `turn-start` events or distinct
    /// rounds, whichever is highest.
    pub max_iterations: u32,
    /// Milliseconds of event time since the run's first event.
    pub max_runtime_ms: u64,
    /// Consecutive failing results or `failure` events.
    pub consecutive_errors: u32,
    /// Duration of one turn in milliseconds; 600,000 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_timeout_ms: Option<u64>,
    /// Tokens of one turn of a node.
    pub max_tokens: u64,
    /// Turns of one node, 0 or at least 2; 6 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns_per_node: Option<u32>,
    /// Turns of one node for one task, 0 or at least 2; applies in addition to `maxTurnsPerNode`, which may be 0.
    pub max_turns_per_node_and_task: u32,
    /// Total duration of one node's turns in milliseconds.
    pub max_runtime_ms_per_node: u64,
    /// Iterations of one cycle, 0 or at least 2; 8 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cycle_iterations: Option<u32>,
    /// Total duration of one cycle's turns in milliseconds, or event time since the first of them, whichever is
    /// greater.
    pub max_cycle_runtime_ms: u64,
    /// Total cost of one cycle's turns, in millionths of the host's currency unit.
    pub max_cycle_cost: u64,
}

/// Limits on the detector's own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Memory {
    /// Runs kept at once, 1 to 1000000. Beyond that, the least recently used run is forgotten, runs without a loop
    /// before runs with one. The cost of an event does not depend on the number of runs.
    pub max_runs: u32,
    /// Bytes that all runs together may use, 1048576 (1 MiB) to 1099511627776 (1 TiB). The default is 256 MiB, or 16
    /// KiB for each of `maxRuns` if that is more. Computed from the stored data, identically on every platform; actual
    /// heap use is about the same and never more than 50 % higher. Runs are forgotten in the same order as for
    /// `maxRuns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Milliseconds of event time after which an idle run is forgotten: when its own next event arrives or, while new
    /// runs are being created, once the event times of two other runs show that it has expired.
    pub idle_ms: u64,
}

impl Default for Memory {
    fn default() -> Self {
        Self { max_runs: 256, max_bytes: None, idle_ms: 24 * 60 * 60 * 1000 }
    }
}

/// Your own regular expressions, in the syntax of the `regex` crate, at most 1,024 characters each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Patterns {
    /// Parts of an output to mask when outputs are compared; at most 32 patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volatile: Vec<String>,
    /// Output signatures in addition to the built-in ones, tried before them; at most 32.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<SignaturePattern>,
}

/// A user-defined output signature.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignaturePattern {
    /// The pattern that the output must contain.
    pub pattern: String,
    /// The resulting signature. `$1` and `${name}` insert the text matched by a group.
    pub signature: String,
}

/// Token prices. A cost given by the event itself (`costMicros`) takes precedence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Prices {
    /// Average price of a million tokens, over input, cached and output tokens, as on your bill: a decimal such as
    /// `"2.50"`, in your own currency. Precise to a millionth of the currency unit; the cost of each event is rounded
    /// down to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub million_tokens: Option<String>,
}

/// Whether verdicts may contain payloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Payloads {
    /// Digests and short signatures only.
    #[default]
    None,
    /// The newest evidence includes the first 120 characters of the event's payload.
    Excerpt,
}

/// What verdicts may reveal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Privacy {
    /// Whether verdicts may contain payloads.
    pub payloads: Payloads,
    /// A secret of 8 to 256 bytes that keys all signatures and evidence digests, so that without it nobody can guess
    /// arguments, outputs or other texts from them, or construct two that collide. It changes the signatures but
    /// otherwise not the verdicts. Snapshots contain it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
}
