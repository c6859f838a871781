use crate::model::{Attempts, Conventions, Extends, Failures, Graph, Level, OnStall, Phases, Requests};
use alloc::{collections::BTreeMap, string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// Everything a host can set. An empty object is the recommended configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// Begins with the settings of another detector, or of several, one after the other; what else stands here counts more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extends: Option<Extends>,
    /// The thresholds that the rest of this document changes.
    pub preset: Preset,
    /// The one switch that silences everything.
    pub enabled: bool,
    /// Whether verdicts ask for action.
    pub mode: Mode,
    /// Whether a human can answer a gate.
    pub attended: bool,
    /// What a gate becomes when nobody attends: `nudge`, `block` or `halt`.
    pub unattended_level: Level,
    /// Settings per rule, by rule id.
    pub rules: BTreeMap<String, RuleConfig>,
    /// Settings per tool, by a name in which `*` stands for any characters and `?` for one. Every matching entry
    /// applies, the ones with more literal characters last.
    pub tools: BTreeMap<String, ToolConfig>,
    /// Limits of a run, its turns, its nodes and its cycles.
    pub budgets: Budgets,
    /// Loops of attempts at one task.
    pub attempts: Attempts,
    /// Loops between the phases of a workflow.
    pub phases: Phases,
    /// The workflow of every run that declares none itself; without either it is learned from deliveries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<Graph>,
    /// What a stalled or oscillating loop leads to.
    pub on_stall: OnStall,
    /// How failures of tasks are counted.
    pub failures: Failures,
    /// When two requests between agents are the same.
    pub collaboration: Requests,
    /// Ways of counting that other detectors have.
    #[serde(skip_serializing_if = "Conventions::is_default")]
    pub conventions: Conventions,
    /// Limits of the detector's own memory.
    pub memory: Memory,
    /// The user's regular expressions.
    pub patterns: Patterns,
    /// What may leave in a verdict.
    pub privacy: Privacy,
    /// What tokens cost, for events that tell tokens and no money.
    #[serde(skip_serializing_if = "Prices::is_default")]
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
            rules: BTreeMap::new(),
            tools: BTreeMap::new(),
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

/// A set of thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Measured on real runs: the recommended one.
    #[default]
    Balanced,
    /// About two thirds of the balanced thresholds.
    Sensitive,
    /// About one and a half times the balanced thresholds.
    Conservative,
}

/// Whether verdicts ask for action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// They do.
    #[default]
    Enforce,
    /// Never above `observe`; `wouldBe` tells what it would have been.
    Shadow,
}

/// Settings of one rule. What is absent keeps the preset's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RuleConfig {
    /// Whether the rule runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Evidence from which the rule nudges; 0 never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nudge: Option<u32>,
    /// Evidence from which the rule blocks; 0 never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
    /// Evidence from which the rule asks a human; 0 never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<u32>,
    /// Evidence from which the rule ends the run; 0 never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halt: Option<u32>,
    /// How far the rule looks back, in the rule's own unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
}

impl RuleConfig {
    /// The threshold that is given for a level.
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

/// Settings of the tools whose name matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ToolConfig {
    /// Whether calls of the tool are judged at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Rule settings for this tool.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rules: BTreeMap<String, RuleConfig>,
    /// Top-level argument fields that do not make two calls differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore_args: Vec<String>,
    /// The only top-level argument fields that make two calls differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub identity_args: Vec<String>,
    /// The tool is meant to be asked again and again: `repeated-call`, `blind-repeat`, `unanswered-call` and `cycle` have
    /// their thresholds trebled for its calls, and rules about what calls bring (`same-answer`, `no-effect`, `empty-handed`,
    /// `resubmission`, `reworded-request`) leave them out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polling: Option<bool>,
    /// Whether equal answers to different calls of the tool are evidence for `same-answer`, however short; by default
    /// only what searches and views answer is, and long answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare_answers: Option<bool>,
    /// Whether a successful call changes something; guessed from name and arguments where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutates: Option<bool>,
}

/// Limits of a run, of one turn, of a node and of a cycle; 0 means none. A limit is spent by the event that reaches it.
///
/// Node limits count over all turns of a run, whatever their tasks, cycle limits per task. The three that have a default have it for the nodes of a declared graph and for
/// nodes on a cycle; set here, they hold for every node that takes turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Budgets {
    /// Iterations of the agent loop: `output`, `turn`, `turn-start` events or distinct rounds, whichever are most.
    pub max_iterations: u32,
    /// Milliseconds of event time since the run's first event.
    pub max_runtime_ms: u64,
    /// Failing results or failures in a row.
    pub consecutive_errors: u32,
    /// Milliseconds of one turn; by default 600,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_timeout_ms: Option<u64>,
    /// Tokens of one turn.
    pub max_tokens: u64,
    /// Turns of one node, 0 or at least 2; by default 6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns_per_node: Option<u32>,
    /// Turns of one node for one task, 0 or at least 2: beside the limit of the run, which may be 0.
    pub max_turns_per_node_and_task: u32,
    /// Milliseconds that the turns of one node took together.
    pub max_runtime_ms_per_node: u64,
    /// Iterations of one cycle, 0 or at least 2; by default 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cycle_iterations: Option<u32>,
    /// Milliseconds that the turns of one cycle took together, or of event time since its first one, whichever is more.
    pub max_cycle_runtime_ms: u64,
    /// Cost of the turns of one cycle, in millionths of the host's currency unit.
    pub max_cycle_cost: u64,
}

/// Limits of the detector's own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Memory {
    /// Runs kept at once, 1 to 1000000. Where more come, the least recently used goes first: one in which no loop was
    /// found before one with a loop. An event costs the same however many there are.
    pub max_runs: u32,
    /// Bytes that all runs may take together, 1048576 (1 MiB) to 1099511627776 (1 TiB); by default 256 MiB, or 16 KiB for each
    /// of `maxRuns` where that is more. Counted from what is kept, equally on every platform: the heap takes about as much, and never more
    /// than half as much again. Where a run grows beyond it, others go in the order of `maxRuns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Milliseconds of event time after which an idle run is forgotten: at its own next event, or while new runs come as
    /// soon as the clocks of two other runs say so.
    pub idle_ms: u64,
}

impl Default for Memory {
    fn default() -> Self {
        Self { max_runs: 256, max_bytes: None, idle_ms: 24 * 60 * 60 * 1000 }
    }
}

/// The user's regular expressions, in the syntax of the `regex` crate; each at most 1,024 characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Patterns {
    /// Parts of an output that do not make two outputs differ; at most 32.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volatile: Vec<String>,
    /// Signatures of outputs that the built-in ones do not know, tried first; at most 32.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<SignaturePattern>,
}

/// A user's output signature.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignaturePattern {
    /// What an output must contain.
    pub pattern: String,
    /// The signature; `$1` or `${name}` insert what a group matched.
    pub signature: String,
}

/// What tokens cost. Money that an event tells itself (`costMicros`) always counts more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Prices {
    /// What a million tokens cost on average, given, cached and answered taken together as your bill has them: a decimal
    /// such as `"2.50"`, in the currency that you think in. Read to the millionth; each event's cost is rounded down to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub million_tokens: Option<String>,
}

impl Prices {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether payloads may leave in a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Payloads {
    /// Digests and short signatures only.
    #[default]
    None,
    /// The newest evidence carries the first 120 characters of the event's payload.
    Excerpt,
}

/// What may leave in a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Privacy {
    /// Whether payloads may leave.
    pub payloads: Payloads,
    /// A secret of 8 to 256 bytes under which signatures and evidence are made, so that nobody without it can try arguments,
    /// outputs and other texts out against them, or make two that seem equal. Detectors with another one give other
    /// signatures and the same verdicts otherwise. A snapshot holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
}
