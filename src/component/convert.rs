//! Conversions from WIT to the model for inputs, and from the model to WIT for outputs.
//!
//! Records are destructured and rebuilt field by field, and variants matched case by case, without `..` or `_`: a field
//! or case that only one side has is a compile error.

use super::wit;
use crate::{json, model};
use alloc::{string::String, sync::Arc};
use serde_json::Value;

/// Parses free-form JSON, which travels as text. `field` is named in errors.
///
/// `null` means absent, as in JSON events.
fn json_value(text: Option<String>, field: &str) -> Result<Option<Value>, model::Error> {
    let Some(text) = text else { return Ok(None) };
    match json::value(&text) {
        Ok(Value::Null) => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(model::Error::new(model::ErrorCode::InvalidEvent, error.message).at(field).with(text)),
    }
}

// --------------------------------------------------------------------------------------------------------- events

impl TryFrom<wit::Event> for model::Event {
    type Error = model::Error;

    fn try_from(wit::Event { body, context }: wit::Event) -> Result<Self, Self::Error> {
        Ok(Self { body: body.try_into()?, context: context.into() })
    }
}

impl TryFrom<wit::EventBody> for model::Body {
    type Error = model::Error;

    fn try_from(body: wit::EventBody) -> Result<Self, Self::Error> {
        Ok(match body {
            wit::EventBody::ToolCall(body) => Self::ToolCall(body.try_into()?),
            wit::EventBody::ToolResult(body) => Self::ToolResult(body.try_into()?),
            wit::EventBody::Message(body) => Self::Message(body.into()),
            wit::EventBody::Delta(body) => Self::Delta(body.into()),
            wit::EventBody::Output(body) => Self::Output(body.into()),
            wit::EventBody::Failure(body) => Self::Failure(body.into()),
            wit::EventBody::Progress(body) => Self::Progress(body.into()),
            wit::EventBody::Evaluation(body) => Self::Evaluation(body.into()),
            wit::EventBody::Collaboration(body) => Self::Collaboration(body.into()),
            wit::EventBody::Attempt(body) => Self::Attempt(body.into()),
            wit::EventBody::Transition(body) => Self::Transition(body.into()),
            wit::EventBody::Turn(body) => Self::Turn(body.try_into()?),
            wit::EventBody::Delivery(body) => Self::Delivery(body.into()),
            wit::EventBody::Host(body) => Self::Host(body.into()),
            wit::EventBody::Custom(body) => Self::Custom(body.into()),
        })
    }
}

impl From<wit::Marker> for model::Marker {
    fn from(marker: wit::Marker) -> Self {
        match marker {
            wit::Marker::Flag(flag) => Self::Flag(flag),
            wit::Marker::Count(count) => Self::Count(count),
            wit::Marker::Names(names) => Self::Names(names),
        }
    }
}

// ------------------------------------------------------------------------------------------------------- verdicts

impl From<model::Error> for wit::DetectorError {
    fn from(model::Error { code, message, field, value }: model::Error) -> Self {
        let problem = wit::Problem { message, field, value };
        match code {
            model::ErrorCode::InvalidJson => Self::InvalidJson(problem),
            model::ErrorCode::InvalidEvent => Self::InvalidEvent(problem),
            model::ErrorCode::UnknownEvent => Self::UnknownEvent(problem),
            model::ErrorCode::InvalidConfig => Self::InvalidConfig(problem),
            model::ErrorCode::InvalidSnapshot => Self::InvalidSnapshot(problem),
            model::ErrorCode::SnapshotVersion => Self::SnapshotVersion(problem),
            model::ErrorCode::InvalidArgument => Self::InvalidArgument(problem),
        }
    }
}

// -------------------------------------------------------------------------------------------------------- records

/// Conversions of records whose fields have the same names on both sides. A field is moved, or converted by the given
/// expression. `try`: the conversion may fail.
macro_rules! records {
    ($($from:ident::$name:ident => $to:ident { $($field:ident $(: $made:expr)?),* $(,)? })*) => {
        $(impl From<$from::$name> for $to::$name {
            fn from($from::$name { $($field),* }: $from::$name) -> Self {
                Self { $($field $(: $made)?),* }
            }
        })*
    };
    (try $($from:ident::$name:ident => $to:ident { $($field:ident $(: $made:expr)?),* $(,)? })*) => {
        $(impl TryFrom<$from::$name> for $to::$name {
            type Error = model::Error;

            fn try_from($from::$name { $($field),* }: $from::$name) -> Result<Self, Self::Error> {
                Ok(Self { $($field $(: $made)?),* })
            }
        })*
    };
}

records! {
    try
    wit::ToolCall => model {
        tool, args: json_value(args, "args")?, raw_args, call_id, target, identity, read_only, idempotent,
    }
    wit::ToolResult => model {
        call_id, tool, outcome: outcome.into(), output, digest, exit_code, error_class,
        details: json_value(details, "details")?, state,
    }
    wit::Turn => model {
        node, final_message, structured_output: json_value(structured_output, "structuredOutput")?, duration_ms,
    }
}

records! {
    wit::Context => model {
        at, run, task, parent_task, agent, round, step, synthetic, tokens, cost_micros,
        labels: labels.into_iter().collect(),
    }
    wit::Message => model { role: role.into(), channel: channel.map(Into::into), text, digest }
    wit::Delta => model { channel: channel.map(Into::into), text }
    wit::Output => model { text }
    wit::Failure => model { message, error_type: error_type.map(Into::into), location, stack_trace, source }
    wit::Tests => model { failing, total, failing_ids, coverage }
    wit::Checklist => model { done, total }
    wit::Progress => model {
        tests: tests.map(Into::into), diff, docs, checklist: checklist.map(Into::into),
        files_created: files_created.map(Into::into), dependencies_added: dependencies_added.map(Into::into),
        code_written: code_written.map(Into::into), goal,
    }
    wit::Evaluation => model { verdict: verdict.into(), reasoning, confidence }
    wit::Collaboration => model { from, to, request, embedding }
    wit::Attempt => model { status: status.into(), blockers, completed_work, session }
    wit::Transition => model { from, to }
    wit::Delivery => model { from, to, edge }
    wit::Host => model { kind: kind.into(), name, detail }
    wit::Custom => model { name, key, outcome }
    wit::Scope => model { run, task, parent_task, agent }
    model::Scope => wit { run, task, parent_task, agent }
    model::Verdict => wit {
        seq, level: level.into(), would_be: would_be.map(Into::into),
        findings: findings.into_iter().map(|finding| Arc::unwrap_or_clone(finding).into()).collect(), halt_reason: halt_reason.map(Into::into),
        recommendation: recommendation.into(), guidance, needs_evaluation, question, suggested_actions, label,
        recovery: recovery.map(Into::into), records: records.iter().map(json::to_string).collect(),
    }
    model::Recovery => wit { topic: topic.into(), text, task, blockers }
    model::Finding => wit {
        rule: rule.into(), kind: kind.into(), level: level.into(), scope: Arc::unwrap_or_clone(scope).into(), count,
        threshold, period, onset_seq, onset_offset, last_seq, confidence, signature: signature.into(),
        evidence: evidence.into_iter().map(Into::into).collect(), wasted: wasted.into(), message: message.into(), reasoning,
        recommendation: recommendation.into(), instead: instead.into(),
    }
    model::Evidence => wit {
        seq, step, digest: digest.into(), at, tool: tool.map(String::from), args: args.map(String::from),
        outcome: outcome.map(Into::into), excerpt: excerpt.map(String::from),
    }
    model::Wasted => wit { events, tokens, cost_micros, milliseconds }
}

// ---------------------------------------------------------------------------------------------------------- enums

/// Conversions of enums whose cases have the same names on both sides.
macro_rules! enums {
    ($($from:ident::$name:ident => $to:ident { $($case:ident),* $(,)? })*) => {
        $(impl From<$from::$name> for $to::$name {
            fn from(value: $from::$name) -> Self {
                match value { $($from::$name::$case => Self::$case),* }
            }
        })*
    };
}

enums! {
    wit::Outcome => model { Ok, Error, Denied, Invalid, UnknownTool, NotExecuted, Timeout }
    wit::Role => model { Assistant, User, System }
    wit::Channel => model { Text, Reasoning }
    wit::ErrorType => model {
        Syntax, Runtime, Logic, Dependency, Network, Authentication, Timeout, Resource, Unknown,
    }
    wit::EvaluationVerdict => model { Progressing, Stalled, Regressing, External }
    wit::AttemptStatus => model { Pending, InProgress, Blocked, Done }
    wit::HostKind => model {
        RunStart, TurnStart, Resume, Restart, Compaction, HookBlock, Continuation, Retry, Intervention,
    }
    model::Outcome => wit { Ok, Error, Denied, Invalid, UnknownTool, NotExecuted, Timeout }
    wit::ResetReason => model { TaskCompleted, HumanIntervention, Manual }
    model::Level => wit { Continue, Observe, Nudge, Block, Gate, Halt }
    model::RecoveryTopic => wit { LoopRecovery, UnblockAuthority, LoopEscalation }
    model::HaltReason => wit { BudgetExceeded, Stalled, Oscillating, RepeatedError, UserStop }
    model::Recommendation => wit {
        Continue, RetryWithBackoff, ChangeApproach, ForceNext, UnblockAuthority, Escalate, SwitchToInteractive,
        SpawnReviewer, RetryWithNewProvider, Rollback, RequestTests,
    }
}
