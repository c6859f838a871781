use crate::model::{Level, Outcome, Record, is_default};
use alloc::{string::String, sync::Arc, vec::Vec};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// Where something happened. Absent parts mean the default scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Scope {
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The task of which this task is a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// Why a run should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HaltReason {
    /// A budget is exhausted.
    BudgetExceeded,
    /// No further progress.
    Stalled,
    /// It goes back and forth.
    Oscillating,
    /// It keeps failing.
    RepeatedError,
    /// A human ended the run.
    UserStop,
}

/// What the host should do next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Recommendation {
    /// Carry on.
    #[default]
    Continue,
    /// Wait, then try again.
    RetryWithBackoff,
    /// Try a different approach.
    ChangeApproach,
    /// Leave this task and take the next one.
    ForceNext,
    /// Allow the agent to remove the blockers.
    UnblockAuthority,
    /// Ask a human.
    Escalate,
    /// Let a human take over interactively.
    SwitchToInteractive,
    /// Let another agent review.
    SpawnReviewer,
    /// Use another model.
    RetryWithNewProvider,
    /// Undo the latest changes.
    Rollback,
    /// Ask for tests.
    RequestTests,
}

/// One event that supports a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evidence {
    /// The event's sequence number.
    pub seq: u64,
    /// The host's step number, where the event carried one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// The first 16 hexadecimal digits of a domain-separated SHA-256 of what was compared.
    pub digest: SmolStr,
    /// Event time in milliseconds since the Unix epoch. For events before the loop was first reported, only sequence
    /// number, step and digest are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The tool called, in printable form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<SmolStr>,
    /// The first 120 characters of the call's arguments; only if `privacy.payloads` is `excerpt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<SmolStr>,
    /// The outcome of the call, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The first 120 characters of the output or message; only if `privacy.payloads` is `excerpt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<SmolStr>,
}

/// What was spent since the onset of a loop, as far as the events report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wasted {
    /// Events of the scope since the onset.
    pub events: u64,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Cost in millionths of the host's currency unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Elapsed event time in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
}

/// A rule that fired.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Finding {
    /// The rule's id.
    pub rule: SmolStr,
    /// The rule's case, such as `unchanged-outcome`.
    pub kind: SmolStr,
    /// The level that this finding alone asks for.
    pub level: Level,
    /// Where it happened; shared by all findings of a verdict.
    pub scope: Arc<Scope>,
    /// The amount of evidence, in the rule's own unit.
    pub count: u32,
    /// The threshold of the strongest level that `count` reached, in the same unit.
    pub threshold: u32,
    /// Steps per lap, for cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<u32>,
    /// Sequence number of the loop's first event, to which a host may rewind.
    pub onset_seq: u64,
    /// For text that repeats itself: characters (Unicode scalar values) from the start of the message or stream that
    /// began at `onsetSeq` to the point after which nothing new is said. A host may cut the text there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onset_offset: Option<u64>,
    /// Sequence number of the loop's latest event.
    pub last_seq: u64,
    /// The rule's confidence per mille, 0 to 1000.
    pub confidence: u16,
    /// A printable name of what repeats, without raw arguments. Used to exempt it.
    pub signature: SmolStr,
    /// The latest events of the loop, oldest first.
    pub evidence: Vec<Evidence>,
    /// What the loop has cost.
    pub wasted: Wasted,
    /// One sentence for a log or a person.
    pub message: SmolStr,
    /// Why it counts, if that was a decision: the reason in brief, and what a judge gave as the reason, at most 300
    /// characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// What this finding alone recommends.
    #[serde(default, skip_serializing_if = "is_default")]
    pub recommendation: Recommendation,
    /// One concrete alternative to the loop, in a sentence.
    #[serde(default, skip_serializing_if = "SmolStr::is_empty")]
    pub instead: SmolStr,
}

/// An entry for an orchestrator to put into its context after a loop of attempts at one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Recovery {
    /// The kind of entry.
    pub topic: RecoveryTopic,
    /// The text of the entry.
    pub text: String,
    /// The task it applies to, and no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The blockers it applies to, and no others.
    pub blockers: Vec<String>,
}

/// The kinds of recovery entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecoveryTopic {
    /// Leave the task and take the next one.
    LoopRecovery,
    /// The blockers may be removed.
    UnblockAuthority,
    /// A human is needed.
    LoopEscalation,
}

/// The answer to one event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Verdict {
    /// The event's sequence number in this detector, counted from 0 over recorded events only.
    pub seq: u64,
    /// What the host should do.
    pub level: Level,
    /// In shadow mode only: the level that `enforce` mode would have given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_be: Option<Level>,
    /// Every rule that fired, strongest first.
    pub findings: Vec<Arc<Finding>>,
    /// Why the run should end, if `level` is `halt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halt_reason: Option<HaltReason>,
    /// What to do next.
    pub recommendation: Recommendation,
    /// Guidance to show to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// Whether an outside judge should answer with an `evaluation` event.
    pub needs_evaluation: bool,
    /// The question for that judge: compact, without payloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Further suggestions for the host or a human.
    pub suggested_actions: Vec<String>,
    /// The label that a gate asks the host to set, such as `hitl:loop-prevention`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// An entry for an orchestrator to put into its context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Telemetry records, for the host to log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<Record>,
}
