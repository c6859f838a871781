use alloc::{collections::BTreeMap, string::String, vec::Vec};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

/// One thing that happened in a run.
///
/// In JSON an event is one flat object: `type` in kebab-case, the fields of that type, and the fields of
/// [`Context`]. [`crate::json::event`] reads that form and refuses unknown fields and types by name.
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

/// The optional fields common to every event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Context {
    /// Event time in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The run; absent means the one default run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The task being worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The task this task is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task: Option<String>,
    /// The agent that acted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The assistant turn; the calls of a parallel batch share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<String>,
    /// The host's own step number, echoed in evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// Made by the host or by this library's own advice: never evidence, never counted against the agent.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub synthetic: bool,
    /// Tokens of the model's answer that this event begins, or of the turn that it ends. Each is told once: of an answer
    /// that makes several events, the first one tells them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money spent on the same, in millionths of the host's currency unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Echoed by hosts, never judged.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// The kinds of event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Body {
    /// A tool is about to be called, or was called.
    ToolCall(ToolCall),
    /// What came of a tool call.
    ToolResult(ToolResult),
    /// A whole message.
    Message(Message),
    /// A streamed piece of an assistant message.
    Delta(Delta),
    /// The whole output of one iteration.
    Output(Output),
    /// A failed attempt at the scope's task.
    Failure(Failure),
    /// Measured progress.
    Progress(Progress),
    /// An outside judge's answer to a verdict that said `needsEvaluation`.
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
    /// Anything else that may repeat.
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

/// A tool call. `args` and `rawArgs` exclude each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolCall {
    /// The tool's name.
    pub tool: String,
    /// The arguments: any JSON, nested at most 120 deep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
    /// The arguments as text, where they are not valid JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_args: Option<String>,
    /// Pairs the call with its result; a call id seen before with the same call is a replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The resource acted upon; guessed from the arguments where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The host's own loop key: replaces the arguments in comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// MCP hint, a prior only: the tool changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// MCP hint, a prior only: calling again with the same arguments changes nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
}

/// What became of a tool call.
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
    /// The arguments were refused.
    Invalid,
    /// There is no such tool.
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
    /// Pairs the result with its call; without it the oldest unanswered call of the tool is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What became of the call.
    pub outcome: Outcome,
    /// What the tool said. In JSON it may be any value: what is not text is compared as its JSON text.
    #[cfg_attr(feature = "schema", schemars(with = "Value"))]
    pub output: String,
    /// Digest of the full output, where `output` is clipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The host's own class of this error; replaces the text in error comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_class: Option<String>,
    /// Host metadata; compared only where `output` is empty.
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

/// The part of a model's answer a text belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// The answer itself.
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
    /// Text by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channel>,
    /// The message.
    pub text: String,
    /// Digest of the full text, where `text` is clipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A streamed piece of an assistant message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delta {
    /// Text by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channel>,
    /// The piece.
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
    /// Its class; recognised from the text where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<ErrorType>,
    /// File, line or component; extracted from the text where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The stack trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_trace: Option<String>,
    /// What reported the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Test figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Tests {
    /// How many tests fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<u32>,
    /// How many tests there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    /// Which tests fail, in any order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing_ids: Option<Vec<String>>,
    /// Coverage in percent, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
}

impl Tests {
    /// The coverage in hundredths of a per cent, rounded to the nearest: what is compared of it, so that a figure that two
    /// programs wrote differently in its last digits is no progress.
    ///
    /// In whole numbers: the double is taken apart, so that the answer is the same on every platform.
    #[must_use]
    pub fn coverage_hundredths(&self) -> Option<u32> {
        let bits = self.coverage?.abs().to_bits();
        let (exponent, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
        // 1,075 is the exponent's bias and the 52 binary digits behind the point. What is below 2^-52 is nothing, and a
        // percentage never reaches 2^53.
        let shift = 1075_u64.saturating_sub(exponent);
        if !(1..=104).contains(&shift) {
            return Some(0);
        }
        let hundredths = (u128::from(fraction | 1 << 52) * 100 + (1 << (shift - 1))) >> shift;
        u32::try_from(hundredths).ok()
    }
}

/// Items done of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Checklist {
    /// Items done.
    pub done: u32,
    /// Items in all.
    pub total: u32,
}

/// A completion marker, as the host knows it: whether, how many, or which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Marker {
    /// Whether it happened.
    Flag(bool),
    /// How many.
    Count(u32),
    /// Which.
    Names(Vec<String>),
}

impl<'de> Deserialize<'de> for Marker {
    /// By hand: what the derive reads an untagged enum with is a second reader of JSON.
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
        marker.ok_or_else(|| D::Error::custom("data did not match any variant of untagged enum Marker"))
    }
}

/// Measured progress of the scope's task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Progress {
    /// Test figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
    /// Patch text, or a digest of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Documentation text, or a digest of it.
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
    /// What the task is to achieve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
}

/// An outside judge's opinion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EvaluationVerdict {
    /// Nearer to the goal.
    Progressing,
    /// No nearer to the goal.
    Stalled,
    /// Further from the goal.
    Regressing,
    /// Not the agent's doing.
    External,
}

/// An outside judge's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evaluation {
    /// The opinion.
    pub verdict: EvaluationVerdict,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Per mille, 0 to 1000.
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
    /// What for.
    pub request: String,
    /// The request's embedding: finite numbers, one length per pair of agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vec<f64>>,
}

/// Where a task stood after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AttemptStatus {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Cannot go on.
    Blocked,
    /// Finished.
    Done,
}

names!(AttemptStatus { Pending = "pending", InProgress = "in-progress", Blocked = "blocked", Done = "done" });

/// An orchestrator's attempt at a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attempt {
    /// Where the task stood.
    pub status: AttemptStatus,
    /// What kept it from going on; a set.
    #[serde(default)]
    pub blockers: Vec<String>,
    /// What was done; a set.
    #[serde(default)]
    pub completed_work: Vec<String>,
    /// The session that attempted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A workflow moved between phases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transition {
    /// The phase left; absent at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The phase entered.
    pub to: String,
}

/// One node invocation that ended.
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
    /// Time spent, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// An edge carried a payload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delivery {
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// The edge, where two nodes share several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<String>,
}

/// What the host did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HostKind {
    /// A run began: a fresh run scope.
    RunStart,
    /// A turn began.
    TurnStart,
    /// The run goes on after a pause: state is kept.
    Resume,
    /// The run starts over: state is cleared.
    Restart,
    /// The context was compacted.
    Compaction,
    /// A hook refused to let the agent stop or act. With the id of a rule about phases as `name`: a transition that a `check`
    /// refused for this rule was not made.
    HookBlock,
    /// The host told the agent to go on.
    Continuation,
    /// The host retried on its own.
    Retry,
    /// A human or program intervened.
    Intervention,
}

/// Something the host did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Host {
    /// What.
    pub kind: HostKind,
    /// Which hook, queue or trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Anything worth logging.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Anything else that may repeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Custom {
    /// The kind of thing.
    pub name: String,
    /// What makes two of them the same.
    pub key: String,
    /// What came of it.
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
        // Every figure that has two decimals is itself.
        for hundredths in 0..=10_000_u32 {
            let text = std::format!("{}.{:02}", hundredths / 100, hundredths % 100);
            let tests = Tests { coverage: text.parse().ok(), ..Tests::default() };
            assert_eq!(tests.coverage_hundredths(), Some(hundredths), "{text}");
        }
        assert_eq!(Tests::default().coverage_hundredths(), None);
    }
}
