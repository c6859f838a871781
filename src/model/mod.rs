//! Inputs and outputs: plain serde data, no logic beyond (de)serialisation and lookups.

/// Names of an enum's variants in JSON, WIT and JavaScript.
macro_rules! names {
    ($enum:ident { $($case:ident = $name:literal),* $(,)? }) => {
        impl $enum {
            /// All variants, in the order of their discriminants.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$case),*];

            /// The name used in JSON, WIT and JavaScript.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$case => $name),*
                }
            }
        }
    };
}
pub(crate) use names;

/// Whether a field is left out of what is written.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

mod attempts;
mod by_name;
mod config;
mod conventions;
mod counters;
mod error;
mod event;
mod failures;
mod graph;
mod level;
mod phases;
mod profile;
mod record;
mod report;
mod scenario;
#[cfg(feature = "schema")]
mod schema;
mod verdict;

pub use attempts::{Attempts, AttemptsPreset};
pub use by_name::ByName;
pub use config::{
    Budgets, Config, Memory, Mode, Patterns, Payloads, Preset, Prices, Privacy, RuleConfig, SignaturePattern,
    ToolConfig,
};
pub use conventions::Conventions;
pub use counters::{Apart, Counted, Counter, Ends, Same};
pub use error::{Error, ErrorCode};
pub use event::{
    Attempt, AttemptStatus, Body, Channel, Checklist, Collaboration, Context, Custom, Delivery, Delta, ErrorType,
    Evaluation, EvaluationVerdict, Event, Failure, Host, HostKind, Marker, Message, Outcome, Output, Progress, Role,
    Tests, ToolCall, ToolResult, Transition, Turn,
};
pub use failures::{Counting, Failures, Requests};
pub use graph::{DrivingNode, Graph, GraphEdge, GraphNode, OnStall};
pub use level::Level;
pub use phases::{PhaseConfig, Phases};
pub use profile::{Extends, Profile};
pub use record::Record;
pub use report::{
    AgentLoops, AttemptEvidence, AttemptStanding, BudgetsLeft, CycleStatus, Decision, LevelCounts, LoopMetrics,
    Metrics, NoNext, NodeStanding, PhaseStanding, Report, ReportFormat, ReportOption, ResetReason, RuleInfo,
    RuleMetrics, RuleStanding, Status,
};
pub use scenario::{Checkpoint, Expectation, Scenario, TraceEvent};
#[cfg(feature = "schema")]
pub use schema::schemas;
pub use smol_str::SmolStr;
pub use verdict::{Evidence, Finding, HaltReason, Recommendation, Recovery, RecoveryTopic, Scope, Verdict, Wasted};
