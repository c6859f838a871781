//! The fuzz target of the typed door, compared with the native one: what a host passes through `wit/`. The conversions
//! belong to the component, so the fuzzer compiles them natively; `host-tests` runs the kept inputs through the
//! component itself.

use loopwarden::component::wit;
use loopwarden::{Detector, json, model};
use serde_json::Value;

/// Two detectors with one configuration, the first line. Each later line that is an event goes to one as a value and to
/// the other as a record of the interface, with the verdict converted back; `!restore` restores the latter from its own
/// snapshot. Any other line is used as the JSON text of arguments, details and outputs.
pub(crate) fn wit_door(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let Ok(mut typed) = json::detector(lines.next().unwrap_or_default()) else { return };
    let mut told = typed.clone();
    for line in lines.take(256) {
        if line == "!restore" {
            told = Detector::restore(&told.snapshot()).unwrap_or_else(|error| broken(&error));
            continue;
        }
        let Ok(event) = json::event(line) else {
            free_text(line);
            continue;
        };
        let handed: wit::Event = event.clone().tell();
        let taken = model::Event::try_from(handed).unwrap_or_else(|error| broken(&error));
        assert_eq!(taken, event, "{line}");
        let verdict = typed.record(&event);
        let answer = told.record(&taken).map(|verdict| {
            let returned: model::Verdict = wit::Verdict::from(verdict).tell();
            returned
        });
        assert_eq!(answer, verdict, "{line}");
        if let Err(error) = verdict {
            let returned: model::Error = wit::DetectorError::from(error.clone()).tell();
            assert_eq!(returned, error);
        }
    }
    assert!(typed.snapshot() == told.snapshot(), "what they know differs");
    assert_eq!(typed.metrics(), told.metrics());
}

/// JSON text is parsed as serde_json does, or the error names the field.
fn free_text(text: &str) {
    let context = || wit::Context { synthetic: false, labels: vec![], ..model::Context::default().tell() };
    let call = model::ToolCall { tool: "t".into(), ..model::ToolCall::default() }.tell();
    let result = model::ToolResult::default().tell();
    let turn = model::Turn::default().tell();
    let events = [
        ("args", wit::EventBody::ToolCall(wit::ToolCall { args: Some(text.into()), ..call })),
        ("details", wit::EventBody::ToolResult(wit::ToolResult { details: Some(text.into()), ..result })),
        ("structuredOutput", wit::EventBody::Turn(wit::Turn { structured_output: Some(text.into()), ..turn })),
    ];
    let read = serde_json::from_str::<Value>(text);
    for (field, body) in events {
        match model::Event::try_from(wit::Event { body, context: context() }) {
            Ok(event) => {
                let value = match event.body {
                    model::Body::ToolCall(call) => call.args,
                    model::Body::ToolResult(result) => result.details,
                    model::Body::Turn(turn) => turn.structured_output,
                    _ => None,
                };
                // Lone surrogates are repaired here and rejected there.
                if let Ok(read) = &read {
                    assert_eq!(value.as_ref(), Some(read).filter(|value| !value.is_null()), "{field}");
                }
            }
            Err(error) => assert!(read.is_err() && error.field.as_deref() == Some(field), "{field}: {error:?}"),
        }
    }
}

/// Something built from valid parts was rejected.
#[allow(clippy::panic, reason = "how a fuzz target says that something broke")]
fn broken(error: &model::Error) -> ! {
    panic!("{error}")
}

/// The host's half of the conversions.
trait Tell<T> {
    fn tell(self) -> T;
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl Tell<$type> for $type {
            fn tell(self) -> $type {
                self
            }
        }
    )*};
}
plain!(String, bool, u16, u32, u64, i32, i64, f64);

impl<A: Tell<B>, B> Tell<Option<B>> for Option<A> {
    fn tell(self) -> Option<B> {
        self.map(Tell::tell)
    }
}

impl<A: Tell<B>, B> Tell<Vec<B>> for Vec<A> {
    fn tell(self) -> Vec<B> {
        self.into_iter().map(Tell::tell).collect()
    }
}

impl Tell<String> for Value {
    fn tell(self) -> String {
        self.to_string()
    }
}

impl Tell<Vec<(String, String)>> for model::ByName<String> {
    fn tell(self) -> Vec<(String, String)> {
        self.into_iter().collect()
    }
}

impl Tell<model::SmolStr> for String {
    fn tell(self) -> model::SmolStr {
        self.into()
    }
}

impl Tell<std::sync::Arc<model::Scope>> for wit::Scope {
    fn tell(self) -> std::sync::Arc<model::Scope> {
        let scope: model::Scope = self.tell();
        scope.into()
    }
}

impl Tell<std::sync::Arc<model::Finding>> for wit::Finding {
    fn tell(self) -> std::sync::Arc<model::Finding> {
        let finding: model::Finding = self.tell();
        finding.into()
    }
}

impl Tell<model::Record> for String {
    #[allow(clippy::expect_used, reason = "how a fuzz target says that something broke")]
    fn tell(self) -> model::Record {
        serde_json::from_str(&self).expect("a record")
    }
}

macro_rules! records {
    ($($from:ident => $to:ident: $name:ident { $($field:ident),* $(,)? })*) => {$(
        impl Tell<$to::$name> for $from::$name {
            fn tell(self) -> $to::$name {
                let $from::$name { $($field),* } = self;
                $to::$name { $($field: $field.tell()),* }
            }
        }
    )*};
}

records! {
    model => wit: Event { body, context }
    model => wit: Context { at, run, task, parent_task, agent, round, step, synthetic, tokens, cost_micros, labels }
    model => wit: ToolCall { tool, args, raw_args, call_id, target, identity, read_only, idempotent }
    model => wit: ToolResult { call_id, tool, outcome, output, digest, exit_code, error_class, details, state }
    model => wit: Message { role, channel, text, digest }
    model => wit: Delta { channel, text }
    model => wit: Output { text }
    model => wit: Failure { message, error_type, location, stack_trace, source }
    model => wit: Tests { failing, total, failing_ids, coverage }
    model => wit: Checklist { done, total }
    model => wit: Progress { tests, diff, docs, checklist, files_created, dependencies_added, code_written, goal }
    model => wit: Evaluation { verdict, reasoning, confidence }
    model => wit: Collaboration { from, to, request, embedding }
    model => wit: Attempt { status, blockers, completed_work, session }
    model => wit: Transition { from, to }
    model => wit: Turn { node, final_message, structured_output, duration_ms }
    model => wit: Delivery { from, to, edge }
    model => wit: Host { kind, name, detail }
    model => wit: Custom { name, key, outcome }
    wit => model: Verdict {
        seq, level, would_be, findings, halt_reason, recommendation, guidance, needs_evaluation, question,
        suggested_actions, label, recovery, records,
    }
    wit => model: Recovery { topic, text, task, blockers }
    wit => model: Finding {
        rule, kind, level, scope, count, threshold, period, onset_seq, onset_offset, last_seq, confidence, signature,
        evidence, wasted, message, reasoning, recommendation, instead,
    }
    wit => model: Scope { run, task, parent_task, agent }
    wit => model: Evidence { seq, step, digest, at, tool, args, outcome, excerpt }
    wit => model: Wasted { events, tokens, cost_micros, milliseconds }
}

/// Enums, with or without a payload in each case.
macro_rules! cases {
    ($($from:ident => $to:ident: $name:ident { $($case:ident),* $(,)? })*) => {$(
        impl Tell<$to::$name> for $from::$name {
            fn tell(self) -> $to::$name {
                match self { $($from::$name::$case => $to::$name::$case),* }
            }
        }
    )*};
    (of $from:ident::$name:ident => $to:ident::$other:ident { $($case:ident),* $(,)? }) => {
        impl Tell<$to::$other> for $from::$name {
            fn tell(self) -> $to::$other {
                match self { $($from::$name::$case(inner) => $to::$other::$case(inner.tell())),* }
            }
        }
    };
}

cases! {
    model => wit: Outcome { Ok, Error, Denied, Invalid, UnknownTool, NotExecuted, Timeout }
    model => wit: Role { Assistant, User, System }
    model => wit: Channel { Text, Reasoning }
    model => wit: ErrorType {
        Syntax, Runtime, Logic, Dependency, Network, Authentication, Timeout, Resource, Unknown,
    }
    model => wit: EvaluationVerdict { Progressing, Stalled, Regressing, External }
    model => wit: AttemptStatus { Pending, InProgress, Blocked, Done }
    model => wit: HostKind {
        RunStart, TurnStart, Resume, Restart, Compaction, HookBlock, Continuation, Retry, Intervention,
    }
    wit => model: Outcome { Ok, Error, Denied, Invalid, UnknownTool, NotExecuted, Timeout }
    wit => model: Level { Continue, Observe, Nudge, Block, Gate, Halt }
    wit => model: HaltReason { BudgetExceeded, Stalled, Oscillating, RepeatedError, UserStop }
    wit => model: RecoveryTopic { LoopRecovery, UnblockAuthority, LoopEscalation }
    wit => model: Recommendation {
        Continue, RetryWithBackoff, ChangeApproach, ForceNext, UnblockAuthority, Escalate, SwitchToInteractive,
        SpawnReviewer, RetryWithNewProvider, Rollback, RequestTests,
    }
}
cases! { of model::Marker => wit::Marker { Flag, Count, Names } }
cases! {
    of model::Body => wit::EventBody {
        ToolCall, ToolResult, Message, Delta, Output, Failure, Progress, Evaluation, Collaboration, Attempt,
        Transition, Turn, Delivery, Host, Custom,
    }
}

macro_rules! errors {
    ($($case:ident),* $(,)?) => {
        impl Tell<model::Error> for wit::DetectorError {
            fn tell(self) -> model::Error {
                let (code, wit::Problem { message, field, value }) = match self {
                    $(wit::DetectorError::$case(problem) => (model::ErrorCode::$case, problem)),*
                };
                model::Error { code, message, field, value }
            }
        }
    };
}
errors!(InvalidJson, InvalidEvent, UnknownEvent, InvalidConfig, InvalidSnapshot, SnapshotVersion, InvalidArgument);
