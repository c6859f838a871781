//! Conversions from the model to WIT for inputs and from WIT to the model for outputs: the host's half of those in the
//! component.
//!
//! Matches are exhaustive here too, in the other direction: a case that the model has and the interface lacks fails to
//! compile.

use crate::wit;
use loopwarden::model;
use std::sync::Arc;

/// Free-form JSON is passed as text.
fn text(value: &serde_json::Value) -> String {
    value.to_string()
}

// --------------------------------------------------------------------------------------------------------- events

impl From<&model::Event> for wit::Event {
    fn from(model::Event { body, context }: &model::Event) -> Self {
        Self { body: body.into(), context: context.into() }
    }
}

impl From<&model::Body> for wit::EventBody {
    fn from(body: &model::Body) -> Self {
        match body {
            model::Body::ToolCall(body) => Self::ToolCall(body.into()),
            model::Body::ToolResult(body) => Self::ToolResult(body.into()),
            model::Body::Message(body) => Self::Message(body.into()),
            model::Body::Delta(body) => Self::Delta(body.into()),
            model::Body::Output(body) => Self::Output(body.into()),
            model::Body::Failure(body) => Self::Failure(body.into()),
            model::Body::Progress(body) => Self::Progress(body.into()),
            model::Body::Evaluation(body) => Self::Evaluation(body.into()),
            model::Body::Collaboration(body) => Self::Collaboration(body.into()),
            model::Body::Attempt(body) => Self::Attempt(body.into()),
            model::Body::Transition(body) => Self::Transition(body.into()),
            model::Body::Turn(body) => Self::Turn(body.into()),
            model::Body::Delivery(body) => Self::Delivery(body.into()),
            model::Body::Host(body) => Self::Host(body.into()),
            model::Body::Custom(body) => Self::Custom(body.into()),
        }
    }
}

impl From<&model::Marker> for wit::Marker {
    fn from(marker: &model::Marker) -> Self {
        match marker {
            model::Marker::Flag(flag) => Self::Flag(*flag),
            model::Marker::Count(count) => Self::Count(*count),
            model::Marker::Names(names) => Self::Names(names.clone()),
        }
    }
}

// ------------------------------------------------------------------------------------------------------- verdicts

impl From<wit::DetectorError> for model::Error {
    fn from(error: wit::DetectorError) -> Self {
        let (code, wit::Problem { message, field, value }) = match error {
            wit::DetectorError::InvalidJson(problem) => (model::ErrorCode::InvalidJson, problem),
            wit::DetectorError::InvalidEvent(problem) => (model::ErrorCode::InvalidEvent, problem),
            wit::DetectorError::UnknownEvent(problem) => (model::ErrorCode::UnknownEvent, problem),
            wit::DetectorError::InvalidConfig(problem) => (model::ErrorCode::InvalidConfig, problem),
            wit::DetectorError::InvalidSnapshot(problem) => (model::ErrorCode::InvalidSnapshot, problem),
            wit::DetectorError::SnapshotVersion(problem) => (model::ErrorCode::SnapshotVersion, problem),
            wit::DetectorError::InvalidArgument(problem) => (model::ErrorCode::InvalidArgument, problem),
        };
        Self { code, message, field, value }
    }
}

// -------------------------------------------------------------------------------------------------------- records

/// Records with the same field names on both sides; a field is moved or converted by an expression.
macro_rules! records {
    ($(&$from:ident::$name:ident => $to:ident { $($field:ident $(: $made:expr)?),* $(,)? })*) => {
        $(impl From<&$from::$name> for $to::$name {
            fn from(value: &$from::$name) -> Self {
                let $from::$name { $($field),* } = value.clone();
                Self { $($field $(: $made)?),* }
            }
        })*
    };
    ($($from:ident::$name:ident => $to:ident { $($field:ident $(: $made:expr)?),* $(,)? })*) => {
        $(impl From<$from::$name> for $to::$name {
            fn from($from::$name { $($field),* }: $from::$name) -> Self {
                Self { $($field $(: $made)?),* }
            }
        })*
    };
}

records! {
    &model::Context => wit {
        at, run, task, parent_task, agent, round, step, synthetic, tokens, cost_micros,
        labels: labels.into_iter().collect(),
    }
    &model::ToolCall => wit {
        tool, args: args.as_ref().map(text), raw_args, call_id, target, identity, read_only, idempotent,
    }
    &model::ToolResult => wit {
        call_id, tool, outcome: outcome.into(), output, digest, exit_code, error_class,
        details: details.as_ref().map(text), state,
    }
    &model::Message => wit { role: role.into(), channel: channel.map(Into::into), text, digest }
    &model::Delta => wit { channel: channel.map(Into::into), text }
    &model::Output => wit { text }
    &model::Failure => wit { message, error_type: error_type.map(Into::into), location, stack_trace, source }
    &model::Tests => wit { failing, total, failing_ids, coverage }
    &model::Checklist => wit { done, total }
    &model::Progress => wit {
        tests: tests.as_ref().map(Into::into), diff, docs, checklist: checklist.as_ref().map(Into::into),
        files_created: files_created.as_ref().map(Into::into),
        dependencies_added: dependencies_added.as_ref().map(Into::into),
        code_written: code_written.as_ref().map(Into::into), goal,
    }
    &model::Evaluation => wit { verdict: verdict.into(), reasoning, confidence }
    &model::Collaboration => wit { from, to, request, embedding }
    &model::Attempt => wit { status: status.into(), blockers, completed_work, session }
    &model::Transition => wit { from, to }
    &model::Turn => wit {
        node, final_message, structured_output: structured_output.as_ref().map(text), duration_ms,
    }
    &model::Delivery => wit { from, to, edge }
    &model::Host => wit { kind: kind.into(), name, detail }
    &model::Custom => wit { name, key, outcome }
    &model::Scope => wit { run, task, parent_task, agent }
}

records! {
    wit::Scope => model { run, task, parent_task, agent }
    wit::Verdict => model {
        seq, level: level.into(), would_be: would_be.map(Into::into),
        findings: findings.into_iter().map(|finding| Arc::new(finding.into())).collect(), halt_reason: halt_reason.map(Into::into),
        recommendation: recommendation.into(), guidance, needs_evaluation, question, suggested_actions, label,
        recovery: recovery.map(Into::into),
        records: records.iter().filter_map(|record| serde_json::from_str(record).ok()).collect(),
    }
    wit::Recovery => model { topic: topic.into(), text, task, blockers }
    wit::Finding => model {
        rule: rule.into(), kind: kind.into(), level: level.into(), scope: Arc::new(scope.into()), count, threshold, period,
        onset_seq, onset_offset, last_seq, confidence, signature: signature.into(),
        evidence: evidence.into_iter().map(Into::into).collect(), wasted: wasted.into(), message: message.into(), reasoning,
        recommendation: recommendation.into(), instead: instead.into(),
    }
    wit::Evidence => model {
        seq, step, digest: digest.into(), at, tool: tool.map(Into::into), args: args.map(Into::into),
        outcome: outcome.map(Into::into), excerpt: excerpt.map(Into::into),
    }
    wit::Wasted => model { events, tokens, cost_micros, milliseconds }
}

// ---------------------------------------------------------------------------------------------------------- enums

/// Enums with the same cases on both sides.
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
    model::Outcome => wit { Ok, Error, Denied, Invalid, UnknownTool, NotExecuted, Timeout }
    model::Role => wit { Assistant, User, System }
    model::Channel => wit { Text, Reasoning }
    model::ErrorType => wit {
        Syntax, Runtime, Logic, Dependency, Network, Authentication, Timeout, Resource, Unknown,
    }
    model::EvaluationVerdict => wit { Progressing, Stalled, Regressing, External }
    model::AttemptStatus => wit { Pending, InProgress, Blocked, Done }
    model::HostKind => wit {
        RunStart, TurnStart, Resume, Restart, Compaction, HookBlock, Continuation, Retry, Intervention,
    }
    model::ResetReason => wit { TaskCompleted, HumanIntervention, Manual }
    model::ReportFormat => wit { Markdown, Json }
    wit::Outcome => model { Ok, Error, Denied, Invalid, UnknownTool, NotExecuted, Timeout }
    wit::Level => model { Continue, Observe, Nudge, Block, Gate, Halt }
    wit::RecoveryTopic => model { LoopRecovery, UnblockAuthority, LoopEscalation }
    wit::HaltReason => model { BudgetExceeded, Stalled, Oscillating, RepeatedError, UserStop }
    wit::Recommendation => model {
        Continue, RetryWithBackoff, ChangeApproach, ForceNext, UnblockAuthority, Escalate, SwitchToInteractive,
        SpawnReviewer, RetryWithNewProvider, Rollback, RequestTests,
    }
}
