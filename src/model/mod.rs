//! What comes in and what goes out: plain serde data, no logic beyond (de)serialisation and lookups.

mod config;
mod error;
mod event;
mod failures;
mod level;
mod record;
mod report;
mod scenario;
mod verdict;

pub use config::{
    Budgets, Config, Memory, Mode, Patterns, Payloads, Preset, Privacy, RuleConfig, SignaturePattern, ToolConfig,
};
pub use error::{Error, ErrorCode};
pub use event::{
    Attempt, AttemptStatus, Body, Channel, Checklist, Collaboration, Context, Custom, Delivery, Delta, ErrorType,
    Evaluation, EvaluationVerdict, Event, Failure, Host, HostKind, Marker, Message, Outcome, Output, Progress, Role,
    Tests, ToolCall, ToolResult, Transition, Turn,
};
pub use failures::{Counting, Failures, Requests};
pub use level::Level;
pub use record::Record;
pub use report::{
    AgentLoops, BudgetsLeft, Decision, LevelCounts, LoopMetrics, Metrics, Report, ReportFormat, ReportOption,
    ResetReason, RuleInfo, RuleMetrics, RuleStanding, Status,
};
pub use scenario::{Checkpoint, Expectation, Scenario, TraceEvent};
pub use verdict::{Evidence, Finding, HaltReason, Recommendation, Recovery, RecoveryTopic, Scope, Verdict, Wasted};
