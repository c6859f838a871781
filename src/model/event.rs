use crate::model::ByName;
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

/// One thing that happened in a run.
///
/// In JSON, an event is one flat object: `type` in kebab-case, the fields of that type, and the fields of [`Context`].
/// [`crate::json::event`] parses this form and rejects unknown fields and types by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(description = "One thing that happened in a run: a flat object whose `type` says what.", transform = super::schema::flat_union))]
pub struct Event {
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
    /// Where and when it happened.
    #[serde(flatten)]
    pub context: Context,
}

/// The optional fields that every event has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Context {
    /// Event time in milliseconds since the Unix epoch, before the year 10000 and at most as long before the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The run; the default run if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The task being worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The task of which this task is a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task: Option<String>,
    /// The agent that acted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The assistant turn. Calls of a parallel batch share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<String>,
    /// The host's own step number, less than 18446744073709551615, repeated in evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// Produced by the host or by Loopwarden's own guidance: never evidence and never counted against the agent.
    #[serde(skip_serializing_if = "core::ops::Not::not", deserialize_with = "or_default")]
    pub synthetic: bool,
    /// Tokens of the model response that this event starts, or of the turn that it ends. Report them once: if a
    /// response produces several events, on the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Cost of the same response or turn, in millionths of the host's currency unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// The host's own names and values. The detector ignores them.
    #[serde(skip_serializing_if = "ByName::is_empty", deserialize_with = "or_default")]
    pub labels: ByName<String>,
}

/// Reads a field for which `null` stands for the default.
fn or_default<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// The kinds of event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Body {
    /// A tool is about to be called, or was called.
    ToolCall(ToolCall),
    /// The result of a tool call.
    ToolResult(ToolResult),
    /// A whole message.
    Message(Message),
    /// A streamed chunk of an assistant message.
    Delta(Delta),
    /// The whole output of one iteration.
    Output(Output),
    /// A failed attempt at the scope's task.
    Failure(Failure),
    /// Measured progress.
    Progress(Progress),
    /// An outside judge's answer to a verdict with `needsEvaluation`.
    Evaluation(Evaluation),
    /// One agent asked another for something.
    Collaboration(Collaboration),
    /// An orchestrator's attempt at a task.
    Attempt(Attempt),
    /// A workflow moved from one phase to another.
    Transition(Transition),
    /// One node invocation of a workflow graph ended.
    Turn(Turn),
    /// An edge of a workflow graph carried a payload.
    Delivery(Delivery),
    /// Something the host did.
    Host(Host),
    /// Any other action that may repeat.
    Custom(Custom),
}

impl Body {
    /// The kebab-case `type` of this event.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ToolCall(_) => "tool-call",
            Self::ToolResult(_) => "tool-result",
            Self::Message(_) => "message",
            Self::Delta(_) => "delta",
            Self::Output(_) => "output",
            Self::Failure(_) => "failure",
            Self::Progress(_) => "progress",
            Self::Evaluation(_) => "evaluation",
            Self::Collaboration(_) => "collaboration",
            Self::Attempt(_) => "attempt",
            Self::Transition(_) => "transition",
            Self::Turn(_) => "turn",
            Self::Delivery(_) => "delivery",
            Self::Host(_) => "host",
            Self::Custom(_) => "custom",
        }
    }
}

/// A tool call. `args` and `rawArgs` are mutually exclusive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolCall {
    /// The tool's name.
    pub tool: String,
    /// The arguments: any JSON value, nested at most 120 levels deep. The text of a JSON object, as model APIs send it,
    /// is read as that object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
    /// The arguments as text, if they are not valid JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_args: Option<String>,
    /// Links the call to its result. The same call with the same id again is a replay and counts once: unanswered, with
    /// the same `round`, `step` or past `at`, or as part of a conversation that is told again from the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The resource acted on; inferred from the arguments if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The host's own loop key, compared instead of the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// MCP hint: `true` if the tool changes nothing; `tools.NAME.mutates` takes precedence. `false` is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// MCP hint: whether repeating a call with the same arguments changes nothing more. No rule uses it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
}

/// The outcome of a tool call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The tool answered.
    #[default]
    Ok,
    /// The tool failed.
    Error,
    /// A user or policy refused the call.
    Denied,
    /// The arguments were rejected.
    Invalid,
    /// The tool does not exist.
    UnknownTool,
    /// The call never ran.
    NotExecuted,
    /// The tool did not answer in time.
    Timeout,
}

names!(Outcome {
    Ok = "ok", Error = "error", Denied = "denied", Invalid = "invalid", UnknownTool = "unknown-tool",
    NotExecuted = "not-executed", Timeout = "timeout",
});

/// The result of a tool call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolResult {
    /// Links the result to its call. If absent, it answers the oldest unanswered call of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The outcome of the call.
    pub outcome: Outcome,
    /// The output. In JSON it may be any value; a value other than a string is compared as JSON text.
    #[cfg_attr(feature = "schema", schemars(with = "Value"))]
    pub output: String,
    /// Digest of the full output, if `output` is truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The host's own class of this error, compared instead of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_class: Option<String>,
    /// Host metadata; compared only if `output` is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The host's hash of the resource after the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The model.
    Assistant,
    /// A human, unless the event is `synthetic`.
    User,
    /// The host's instructions.
    System,
}

/// The part of a model response that a text belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// The response itself.
    #[default]
    Text,
    /// The model's reasoning.
    Reasoning,
}

/// A whole message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Message {
    /// Who wrote it.
    pub role: Role,
    /// `text` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channel>,
    /// The message.
    pub text: String,
    /// Digest of the full text, if `text` is truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A streamed chunk of an assistant message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delta {
    /// `text` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channel>,
    /// The chunk.
    pub text: String,
}

/// The whole output of one iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Output {
    /// The output.
    pub text: String,
}

/// The class of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ErrorType {
    /// Code that does not parse.
    Syntax,
    /// Code that failed while running.
    Runtime,
    /// Code that ran and gave a wrong result.
    Logic,
    /// Something the work depends on is missing or broken.
    Dependency,
    /// The network failed.
    Network,
    /// Credentials were refused.
    Authentication,
    /// Something took too long.
    Timeout,
    /// Memory, disk or quota ran out.
    Resource,
    /// None of the others.
    Unknown,
}

/// A failed attempt at the scope's task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Failure {
    /// The error message.
    pub message: String,
    /// Its class; recognised from the message if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<ErrorType>,
    /// File, line or component; extracted from the text if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The stack trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_trace: Option<String>,
    /// What reported the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Test results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Tests {
    /// Number of failing tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<u32>,
    /// Total number of tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    /// Names of the failing tests, in any order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing_ids: Option<Vec<String>>,
    /// Coverage in percent, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
}

impl Tests {
    /// The coverage in hundredths of a percent, rounded to the nearest: the precision at which it is compared, so that
    /// different last digits from two programs are not progress.
    ///
    /// Computed with integer arithmetic on the bits of the double, so that the result is the same on every platform.
    #[must_use]
    pub fn coverage_hundredths(&self) -> Option<u32> {
        let bits = self.coverage?.abs().to_bits();
        let (exponent, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
        // 1,075 is the exponent bias plus the 52 fraction bits. Values below 2^-52 round to 0, and a percentage never
        // reaches 2^53.
        let shift = 1075_u64.saturating_sub(exponent);
        if !(1..=104).contains(&shift) {
            return Some(0);
        }
        let hundredths = (u128::from(fraction | 1 << 52) * 100 + (1 << (shift - 1))) >> shift;
        u32::try_from(hundredths).ok()
    }
}

/// Progress through a list of items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Checklist {
    /// Items done; at most `total`.
    pub done: u32,
    /// Items in total.
    pub total: u32,
}

/// A completion marker in whichever form the host has it: a flag, a count or names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Marker {
    /// Whether it happened.
    Flag(bool),
    /// How many.
    Count(u32),
    /// Which, in any order.
    Names(Vec<String>),
}

impl<'de> Deserialize<'de> for Marker {
    /// Written by hand: the derive for untagged enums would pull in a second JSON reader.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let marker = match Value::deserialize(deserializer)? {
            Value::Bool(flag) => Some(Self::Flag(flag)),
            Value::Number(count) => count.as_u64().and_then(|count| u32::try_from(count).ok()).map(Self::Count),
            Value::Array(names) => {
                let name = |name| if let Value::String(name) = name { Some(name) } else { None };
                names.into_iter().map(name).collect::<Option<_>>().map(Self::Names)
            }
            _ => None,
        };
        marker.ok_or_else(|| D::Error::custom("expected a boolean, a count from 0 to 4294967295 or a list of strings"))
    }
}

/// Measured progress of the scope's task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Progress {
    /// Test results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
    /// The patch, or a digest of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The documentation, or a digest of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docs: Option<String>,
    /// An acceptance checklist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checklist: Option<Checklist>,
    /// Files created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_created: Option<Marker>,
    /// Dependencies added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependencies_added: Option<Marker>,
    /// Code written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_written: Option<Marker>,
    /// What the task is meant to achieve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
}

/// An outside judge's assessment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EvaluationVerdict {
    /// Closer to the goal.
    Progressing,
    /// No closer to the goal.
    Stalled,
    /// Further away from the goal.
    Regressing,
    /// Held up by something outside the agent's control.
    External,
}

/// An outside judge's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evaluation {
    /// The assessment.
    pub verdict: EvaluationVerdict,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The judge's confidence per mille, 0 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<u16>,
}

/// One agent asked another for something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Collaboration {
    /// Who asked.
    pub from: String,
    /// Who was asked.
    pub to: String,
    /// What was asked for.
    pub request: String,
    /// The request's embedding: 1 to 4,096 finite numbers, not all zero; the same length for every request of a pair of
    /// agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vec<f64>>,
}

/// The state of a task after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AttemptStatus {
    /// Not started.
    Pending,
    /// Started.
    InProgress,
    /// Unable to continue.
    Blocked,
    /// Finished.
    Done,
}

names!(AttemptStatus { Pending = "pending", InProgress = "in-progress", Blocked = "blocked", Done = "done" });

/// An orchestrator's attempt at a task, recorded after it has been made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attempt {
    /// The state of the task after the attempt.
    pub status: AttemptStatus,
    /// What blocked it. Order and duplicates do not matter.
    #[serde(default)]
    pub blockers: Vec<String>,
    /// What was done. Order and duplicates do not matter.
    #[serde(default)]
    pub completed_work: Vec<String>,
    /// The session that made the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A workflow moved between phases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transition {
    /// The phase left; absent for the first transition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The phase entered.
    pub to: String,
}

/// One node invocation of a workflow graph ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Turn {
    /// The node.
    pub node: String,
    /// Its final message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_message: Option<String>,
    /// Its structured output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<Value>,
    /// Duration in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// An edge of a workflow graph carried a payload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delivery {
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// The edge, if several connect the two nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<String>,
}

/// What the host did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HostKind {
    /// A run started, with fresh state.
    RunStart,
    /// A turn started.
    TurnStart,
    /// The run continues after a pause; state is kept.
    Resume,
    /// The run starts over; state is cleared.
    Restart,
    /// The context was compacted.
    Compaction,
    /// A hook refused to let the agent stop or act. With the id of a phase rule as `name`: a transition was not made
    /// because a `check` refused it under this rule.
    HookBlock,
    /// The host told the agent to continue.
    Continuation,
    /// The host retried on its own.
    Retry,
    /// A human or a program intervened.
    Intervention,
}

/// Something the host did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Host {
    /// What it did.
    pub kind: HostKind,
    /// Which hook, queue or trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Details worth logging.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Any other action that may repeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Custom {
    /// The kind of action.
    pub name: String,
    /// Identifies the action: two with the same `name` and `key` are the same.
    pub key: String,
    /// The result of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Tests};

    #[test]
    fn outcomes_stand_at_their_numbers() {
        assert!(Outcome::ALL.iter().enumerate().all(|(number, outcome)| *outcome as usize == number));
    }

    #[test]
    fn coverage_is_compared_in_hundredths() {
        for (coverage, hundredths) in [
            (0.0, 0),
            (-0.0, 0),
            (5e-324, 0),
            (0.004_999, 0),
            (0.005, 1),
            (0.01, 1),
            (0.1, 10),
            (33.333_333, 3333),
            (66.666_666_666_666_67, 6667),
            (81.13, 8113),
            (f64::from_bits(81.13_f64.to_bits() + 1), 8113),
            (f64::from_bits(81.13_f64.to_bits() - 1), 8113),
            (99.994_9, 9999),
            (99.995_1, 10_000),
            (100.0, 10_000),
        ] {
            let tests = Tests { coverage: Some(coverage), ..Tests::default() };
            assert_eq!(tests.coverage_hundredths(), Some(hundredths), "{coverage}");
        }
        // Every value with two decimals is exact.
        for hundredths in 0..=10_000_u32 {
            let text = std::format!("{}.{:02}", hundredths / 100, hundredths % 100);
            let tests = Tests { coverage: text.parse().ok(), ..Tests::default() };
            assert_eq!(tests.coverage_hundredths(), Some(hundredths), "{text}");
        }
        assert_eq!(Tests::default().coverage_hundredths(), None);
    }
}
