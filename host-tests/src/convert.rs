//! Model to WIT for what goes in, WIT to model for what comes back: the host's half of the component's conversions.
//!
//! Matches are exhaustive here too, on the other side: a case that the model gains and the interface lacks does not
//! compile.

use crate::wit;
use loopwarden::model;
use std::sync::Arc;

/// Free-form JSON travels as text.
fn text(value: &serde_json::Value) -> String {
    value.to_string()
}

// --------------------------------------------------------------------------------------------------------- events

impl From<&model::Event> for wit::Event {
    fn from(model::Event { body, context }: &model::Event) -> Self {
        Self { body: body.into(), context: context.into() }
    }
}

impl From<&model::Context> for wit::Context {
    fn from(context: &model::Context) -> Self {
        let model::Context { at, run, task, parent_task, agent, round, step, synthetic, tokens, cost_micros, labels } =
            context;
        Self {
            at: *at,
            run: run.clone(),
            task: task.clone(),
            parent_task: parent_task.clone(),
            agent: agent.clone(),
            round: round.clone(),
            step: *step,
            synthetic: *synthetic,
            tokens: *tokens,
            cost_micros: *cost_micros,
            labels: labels.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        }
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

impl From<&model::ToolCall> for wit::ToolCall {
    fn from(call: &model::ToolCall) -> Self {
        let model::ToolCall { tool, args, raw_args, call_id, target, identity, read_only, idempotent } = call.clone();
        Self { tool, args: args.as_ref().map(text), raw_args, call_id, target, identity, read_only, idempotent }
    }
}

impl From<&model::ToolResult> for wit::ToolResult {
    fn from(result: &model::ToolResult) -> Self {
        let model::ToolResult { call_id, tool, outcome, output, digest, exit_code, error_class, details, state } =
            result.clone();
        let (outcome, details) = (outcome.into(), details.as_ref().map(text));
        Self { call_id, tool, outcome, output, digest, exit_code, error_class, details, state }
    }
}

impl From<&model::Message> for wit::Message {
    fn from(message: &model::Message) -> Self {
        let model::Message { role, channel, text, digest } = message.clone();
        Self { role: role.into(), channel: channel.map(Into::into), text, digest }
    }
}

impl From<&model::Delta> for wit::Delta {
    fn from(delta: &model::Delta) -> Self {
        let model::Delta { channel, text } = delta.clone();
        Self { channel: channel.map(Into::into), text }
    }
}

impl From<&model::Output> for wit::Output {
    fn from(output: &model::Output) -> Self {
        let model::Output { text } = output.clone();
        Self { text }
    }
}

impl From<&model::Failure> for wit::Failure {
    fn from(failure: &model::Failure) -> Self {
        let model::Failure { message, error_type, location, stack_trace, source } = failure.clone();
        Self { message, error_type: error_type.map(Into::into), location, stack_trace, source }
    }
}

impl From<&model::Tests> for wit::Tests {
    fn from(tests: &model::Tests) -> Self {
        let model::Tests { failing, total, failing_ids, coverage } = tests.clone();
        Self { failing, total, failing_ids, coverage }
    }
}

impl From<&model::Checklist> for wit::Checklist {
    fn from(&model::Checklist { done, total }: &model::Checklist) -> Self {
        Self { done, total }
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

impl From<&model::Progress> for wit::Progress {
    fn from(progress: &model::Progress) -> Self {
        let model::Progress { tests, diff, docs, checklist, files_created, dependencies_added, code_written, goal } =
            progress;
        Self {
            tests: tests.as_ref().map(Into::into),
            diff: diff.clone(),
            docs: docs.clone(),
            checklist: checklist.as_ref().map(Into::into),
            files_created: files_created.as_ref().map(Into::into),
            dependencies_added: dependencies_added.as_ref().map(Into::into),
            code_written: code_written.as_ref().map(Into::into),
            goal: goal.clone(),
        }
    }
}

impl From<&model::Evaluation> for wit::Evaluation {
    fn from(evaluation: &model::Evaluation) -> Self {
        let model::Evaluation { verdict, reasoning, confidence } = evaluation.clone();
        Self { verdict: verdict.into(), reasoning, confidence }
    }
}

impl From<&model::Collaboration> for wit::Collaboration {
    fn from(collaboration: &model::Collaboration) -> Self {
        let model::Collaboration { from, to, request, embedding } = collaboration.clone();
        Self { from, to, request, embedding }
    }
}

impl From<&model::Attempt> for wit::Attempt {
    fn from(attempt: &model::Attempt) -> Self {
        let model::Attempt { status, blockers, completed_work, session } = attempt.clone();
        Self { status: status.into(), blockers, completed_work, session }
    }
}

impl From<&model::Transition> for wit::Transition {
    fn from(transition: &model::Transition) -> Self {
        let model::Transition { from, to } = transition.clone();
        Self { from, to }
    }
}

impl From<&model::Turn> for wit::Turn {
    fn from(turn: &model::Turn) -> Self {
        let model::Turn { node, final_message, structured_output, duration_ms } = turn.clone();
        let structured_output = structured_output.as_ref().map(text);
        Self { node, final_message, structured_output, duration_ms }
    }
}

impl From<&model::Delivery> for wit::Delivery {
    fn from(delivery: &model::Delivery) -> Self {
        let model::Delivery { from, to, edge } = delivery.clone();
        Self { from, to, edge }
    }
}

impl From<&model::Host> for wit::Host {
    fn from(host: &model::Host) -> Self {
        let model::Host { kind, name, detail } = host.clone();
        Self { kind: kind.into(), name, detail }
    }
}

impl From<&model::Custom> for wit::Custom {
    fn from(custom: &model::Custom) -> Self {
        let model::Custom { name, key, outcome } = custom.clone();
        Self { name, key, outcome }
    }
}

impl From<&model::Scope> for wit::Scope {
    fn from(scope: &model::Scope) -> Self {
        let model::Scope { run, task, parent_task, agent } = scope.clone();
        Self { run, task, parent_task, agent }
    }
}

// ------------------------------------------------------------------------------------------------------- verdicts

impl From<wit::Verdict> for model::Verdict {
    fn from(verdict: wit::Verdict) -> Self {
        let wit::Verdict {
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
            records: records.iter().filter_map(|record| serde_json::from_str(record).ok()).collect(),
        }
    }
}

impl From<wit::Recovery> for model::Recovery {
    fn from(wit::Recovery { topic, text, task, blockers }: wit::Recovery) -> Self {
        let topic = match topic {
            wit::RecoveryTopic::LoopRecovery => model::RecoveryTopic::LoopRecovery,
            wit::RecoveryTopic::UnblockAuthority => model::RecoveryTopic::UnblockAuthority,
            wit::RecoveryTopic::LoopEscalation => model::RecoveryTopic::LoopEscalation,
        };
        Self { topic, text, task, blockers }
    }
}

impl From<wit::Finding> for model::Finding {
    fn from(finding: wit::Finding) -> Self {
        let wit::Finding {
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
            scope: Arc::new(scope.into()),
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

impl From<wit::Scope> for model::Scope {
    fn from(wit::Scope { run, task, parent_task, agent }: wit::Scope) -> Self {
        Self { run, task, parent_task, agent }
    }
}

impl From<wit::Evidence> for model::Evidence {
    fn from(seen: wit::Evidence) -> Self {
        let wit::Evidence { seq, step, digest, at, tool, args, outcome, excerpt } = seen;
        let (tool, args, excerpt) = (tool.map(Into::into), args.map(Into::into), excerpt.map(Into::into));
        Self { seq, step, digest: digest.into(), at, tool, args, outcome: outcome.map(Into::into), excerpt }
    }
}

impl From<wit::Wasted> for model::Wasted {
    fn from(wit::Wasted { events, tokens, cost_micros, milliseconds }: wit::Wasted) -> Self {
        Self { events, tokens, cost_micros, milliseconds }
    }
}

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
    wit::HaltReason => model { BudgetExceeded, Stalled, Oscillating, RepeatedError, UserStop }
    wit::Recommendation => model {
        Continue, RetryWithBackoff, ChangeApproach, ForceNext, UnblockAuthority, Escalate, SwitchToInteractive,
        SpawnReviewer, RetryWithNewProvider, Rollback, RequestTests,
    }
}
