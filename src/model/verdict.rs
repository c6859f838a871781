use crate::model::{Level, Outcome, Record};
use alloc::{string::String, sync::Arc, vec::Vec};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// Where something happened. Absent parts stand for the one default scope.
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
    /// The task this task is a part of.
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
    /// A budget is spent.
    BudgetExceeded,
    /// Nothing new came of it.
    Stalled,
    /// It goes back and forth.
    Oscillating,
    /// It keeps failing.
    RepeatedError,
    /// A human said stop.
    UserStop,
}

/// What the host might do next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Recommendation {
    /// Carry on.
    #[default]
    Continue,
    /// Wait, then try again.
    RetryWithBackoff,
    /// Try something else.
    ChangeApproach,
    /// Leave this task and take the next.
    ForceNext,
    /// Allow the agent to remove the blockers.
    UnblockAuthority,
    /// Ask a human.
    Escalate,
    /// Let a human steer.
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

/// One event that a finding rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evidence {
    /// The event's sequence number.
    pub seq: u64,
    /// The host's step number, where the event carried one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// The first 16 hexadecimal digits of a domain-tagged SHA-256 of what was compared.
    pub digest: SmolStr,
    /// When it happened, in milliseconds since the Unix epoch; of events from before the loop was first reported, nothing
    /// but their number and digest is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The tool that was called, printable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<SmolStr>,
    /// The beginning of the call's arguments, at most 120 characters, only where `privacy.payloads` is `excerpt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<SmolStr>,
    /// What became of the call, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The beginning of what came back or was said, at most 120 characters, only where `privacy.payloads` is `excerpt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<SmolStr>,
}

/// What was spent since the onset of a loop, as far as the events told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wasted {
    /// Events of the scope.
    pub events: u64,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Millionths of the host's currency unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Milliseconds of event time.
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
    /// The level this finding alone asks for.
    pub level: Level,
    /// Where; the findings of one verdict share it.
    pub scope: Arc<Scope>,
    /// How much evidence there is, in the rule's own unit.
    pub count: u32,
    /// The threshold of the strongest rung that `count` reached.
    pub threshold: u32,
    /// Steps of one lap, for cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<u32>,
    /// First event of the loop: where a host may rewind to.
    pub onset_seq: u64,
    /// Where text repeats itself: characters (Unicode scalar values) of the message or stream that began at
    /// `onsetSeq`, up to the point from which on it says nothing new. A host may cut there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onset_offset: Option<u64>,
    /// Last event of the loop so far.
    pub last_seq: u64,
    /// How sure the rule is, per mille.
    pub confidence: u16,
    /// What repeats, printable, without raw arguments.
    pub signature: SmolStr,
    /// The latest events of the loop, oldest first.
    pub evidence: Vec<Evidence>,
    /// What the loop has cost.
    pub wasted: Wasted,
    /// One sentence for a log or a person.
    pub message: SmolStr,
    /// Why it counts, where that was decided: the reason in a word, and what a judge gave as his, at most 300 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// What this finding alone recommends.
    #[serde(default, skip_serializing_if = "is_to_continue")]
    pub recommendation: Recommendation,
    /// One concrete alternative to the loop, in a sentence.
    #[serde(default, skip_serializing_if = "SmolStr::is_empty")]
    pub instead: SmolStr,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_to_continue(recommendation: &Recommendation) -> bool {
    *recommendation == Recommendation::Continue
}

/// What an orchestrator should put into its context after a loop of attempts at one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Recovery {
    /// What kind of entry it is.
    pub topic: RecoveryTopic,
    /// The entry.
    pub text: String,
    /// The task it is about, and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The blockers it is about, and no others.
    pub blockers: Vec<String>,
}

/// The kinds of recovery entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecoveryTopic {
    /// Leave the task and take the next.
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
    /// The event's number in this detector, counted from 0 and only for recorded events.
    pub seq: u64,
    /// What the host should do.
    pub level: Level,
    /// What it would have been told in enforce mode; only in shadow mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_be: Option<Level>,
    /// Every rule that fired, strongest first.
    pub findings: Vec<Arc<Finding>>,
    /// Why the run should end, when `level` is `halt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halt_reason: Option<HaltReason>,
    /// What to do next.
    pub recommendation: Recommendation,
    /// Text to put before the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// Whether an outside judge should answer with an `evaluation` event.
    pub needs_evaluation: bool,
    /// What the judge should be asked: compact, without payloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Further ideas for the host or a human.
    pub suggested_actions: Vec<String>,
    /// The label that a gate asks the host to set, such as `hitl:loop-prevention`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What an orchestrator should put into its context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Telemetry records, for the host to log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<Record>,
}
