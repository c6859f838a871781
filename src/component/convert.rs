//! WIT to model for what comes in, model to WIT for what goes out.
//!
//! Records are taken apart and put together field by field and variants are matched case by case, without `..` and
//! `_`: a field or case that only one side knows does not compile.

use super::wit;
use crate::{json, model};
use alloc::{string::String, sync::Arc};
use serde_json::Value;

/// Free-form JSON travels as text; `field` is what an error names.
///
/// `null` is what JSON events write for an absent value, so it is one here too.
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

impl From<wit::Context> for model::Context {
    fn from(context: wit::Context) -> Self {
        let wit::Context { at, run, task, parent_task, agent, round, step, synthetic, tokens, cost_micros, labels } =
            context;
        let labels = labels.into_iter().collect();
        Self { at, run, task, parent_task, agent, round, step, synthetic, tokens, cost_micros, labels }
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

impl TryFrom<wit::ToolCall> for model::ToolCall {
    type Error = model::Error;

    fn try_from(call: wit::ToolCall) -> Result<Self, Self::Error> {
        let wit::ToolCall { tool, args, raw_args, call_id, target, identity, read_only, idempotent } = call;
        let args = json_value(args, "args")?;
        Ok(Self { tool, args, raw_args, call_id, target, identity, read_only, idempotent })
    }
}

impl TryFrom<wit::ToolResult> for model::ToolResult {
    type Error = model::Error;

    fn try_from(result: wit::ToolResult) -> Result<Self, Self::Error> {
        let wit::ToolResult { call_id, tool, outcome, output, digest, exit_code, error_class, details, state } = result;
        let details = json_value(details, "details")?;
        let outcome = outcome.into();
        Ok(Self { call_id, tool, outcome, output, digest, exit_code, error_class, details, state })
    }
}

impl From<wit::Message> for model::Message {
    fn from(wit::Message { role, channel, text, digest }: wit::Message) -> Self {
        Self { role: role.into(), channel: channel.map(Into::into), text, digest }
    }
}

impl From<wit::Delta> for model::Delta {
    fn from(wit::Delta { channel, text }: wit::Delta) -> Self {
        Self { channel: channel.map(Into::into), text }
    }
}

impl From<wit::Output> for model::Output {
    fn from(wit::Output { text }: wit::Output) -> Self {
        Self { text }
    }
}

impl From<wit::Failure> for model::Failure {
    fn from(wit::Failure { message, error_type, location, stack_trace, source }: wit::Failure) -> Self {
        Self { message, error_type: error_type.map(Into::into), location, stack_trace, source }
    }
}

impl From<wit::Tests> for model::Tests {
    fn from(wit::Tests { failing, total, failing_ids, coverage }: wit::Tests) -> Self {
        Self { failing, total, failing_ids, coverage }
    }
}

impl From<wit::Checklist> for model::Checklist {
    fn from(wit::Checklist { done, total }: wit::Checklist) -> Self {
        Self { done, total }
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

impl From<wit::Progress> for model::Progress {
    fn from(progress: wit::Progress) -> Self {
        let wit::Progress { tests, diff, docs, checklist, files_created, dependencies_added, code_written, goal } =
            progress;
        Self {
            tests: tests.map(Into::into),
            diff,
            docs,
            checklist: checklist.map(Into::into),
            files_created: files_created.map(Into::into),
            dependencies_added: dependencies_added.map(Into::into),
            code_written: code_written.map(Into::into),
            goal,
        }
    }
}

impl From<wit::Evaluation> for model::Evaluation {
    fn from(wit::Evaluation { verdict, reasoning, confidence }: wit::Evaluation) -> Self {
        Self { verdict: verdict.into(), reasoning, confidence }
    }
}

impl From<wit::Collaboration> for model::Collaboration {
    fn from(wit::Collaboration { from, to, request, embedding }: wit::Collaboration) -> Self {
        Self { from, to, request, embedding }
    }
}

impl From<wit::Attempt> for model::Attempt {
    fn from(wit::Attempt { status, blockers, completed_work, session }: wit::Attempt) -> Self {
        Self { status: status.into(), blockers, completed_work, session }
    }
}

impl From<wit::Transition> for model::Transition {
    fn from(wit::Transition { from, to }: wit::Transition) -> Self {
        Self { from, to }
    }
}

impl TryFrom<wit::Turn> for model::Turn {
    type Error = model::Error;

    fn try_from(turn: wit::Turn) -> Result<Self, Self::Error> {
        let wit::Turn { node, final_message, structured_output, duration_ms } = turn;
        let structured_output = json_value(structured_output, "structuredOutput")?;
        Ok(Self { node, final_message, structured_output, duration_ms })
    }
}

impl From<wit::Delivery> for model::Delivery {
    fn from(wit::Delivery { from, to, edge }: wit::Delivery) -> Self {
        Self { from, to, edge }
    }
}

impl From<wit::Host> for model::Host {
    fn from(wit::Host { kind, name, detail }: wit::Host) -> Self {
        Self { kind: kind.into(), name, detail }
    }
}

impl From<wit::Custom> for model::Custom {
    fn from(wit::Custom { name, key, outcome }: wit::Custom) -> Self {
        Self { name, key, outcome }
    }
}

impl From<wit::Scope> for model::Scope {
    fn from(wit::Scope { run, task, parent_task, agent }: wit::Scope) -> Self {
        Self { run, task, parent_task, agent }
    }
}

// ------------------------------------------------------------------------------------------------------- verdicts

impl From<model::Verdict> for wit::Verdict {
    fn from(verdict: model::Verdict) -> Self {
        let model::Verdict {
            seq,
            level,
            would_be,
            findings,
            halt_reason,
            recommendation,
            guidance,
            needs_evaluation,
            question,
            suggested_actions,
            label,
            recovery,
            records,
        } = verdict;
        Self {
            seq,
            level: level.into(),
            would_be: would_be.map(Into::into),
            findings: findings.into_iter().map(Into::into).collect(),
            halt_reason: halt_reason.map(Into::into),
            recommendation: recommendation.into(),
            guidance,
            needs_evaluation,
            question,
            suggested_actions,
            label,
            recovery: recovery.map(Into::into),
            records: records.iter().map(json::to_string).collect(),
        }
    }
}

impl From<model::Recovery> for wit::Recovery {
    fn from(model::Recovery { topic, text, task, blockers }: model::Recovery) -> Self {
        let topic = match topic {
            model::RecoveryTopic::LoopRecovery => wit::RecoveryTopic::LoopRecovery,
            model::RecoveryTopic::UnblockAuthority => wit::RecoveryTopic::UnblockAuthority,
            model::RecoveryTopic::LoopEscalation => wit::RecoveryTopic::LoopEscalation,
        };
        Self { topic, text, task, blockers }
    }
}

impl From<model::Finding> for wit::Finding {
    fn from(finding: model::Finding) -> Self {
        let model::Finding {
            rule,
            kind,
            level,
            scope,
            count,
            threshold,
            period,
            onset_seq,
            onset_offset,
            last_seq,
            confidence,
            signature,
            evidence,
            wasted,
            message,
            reasoning,
            recommendation,
            instead,
        } = finding;
        Self {
            rule: rule.into(),
            kind: kind.into(),
            level: level.into(),
            scope: Arc::unwrap_or_clone(scope).into(),
            count,
            threshold,
            period,
            onset_seq,
            onset_offset,
            last_seq,
            confidence,
            signature: signature.into(),
            evidence: evidence.into_iter().map(Into::into).collect(),
            wasted: wasted.into(),
            message: message.into(),
            reasoning,
            recommendation: recommendation.into(),
            instead: instead.into(),
        }
    }
}

impl From<model::Scope> for wit::Scope {
    fn from(model::Scope { run, task, parent_task, agent }: model::Scope) -> Self {
        Self { run, task, parent_task, agent }
    }
}

impl From<model::Evidence> for wit::Evidence {
    fn from(seen: model::Evidence) -> Self {
        let model::Evidence { seq, step, digest, at, tool, args, outcome, excerpt } = seen;
        let text = |text: model::SmolStr| String::from(text);
        let (tool, args, excerpt) = (tool.map(text), args.map(text), excerpt.map(text));
        Self { seq, step, digest: digest.into(), at, tool, args, outcome: outcome.map(Into::into), excerpt }
    }
}

impl From<model::Wasted> for wit::Wasted {
    fn from(model::Wasted { events, tokens, cost_micros, milliseconds }: model::Wasted) -> Self {
        Self { events, tokens, cost_micros, milliseconds }
    }
}

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

// ---------------------------------------------------------------------------------------------------------- enums

/// Enums whose cases have the same names on both sides.
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
    model::HaltReason => wit { BudgetExceeded, Stalled, Oscillating, RepeatedError, UserStop }
    model::Recommendation => wit {
        Continue, RetryWithBackoff, ChangeApproach, ForceNext, UnblockAuthority, Escalate, SwitchToInteractive,
        SpawnReviewer, RetryWithNewProvider, Rollback, RequestTests,
    }
}
