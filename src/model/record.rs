use crate::model::HaltReason;
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// A telemetry record for the host to log.
///
/// `event` has the name used by the systems that the records come from. Their fields are in snake case and these in
/// camel case, as everywhere in this model: `task_id` is `taskId`, `orchestrator_reasoning` is `orchestratorReasoning`,
/// and so on. `timestamp` is a number of milliseconds, not a string.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "LoopRecord"))]
#[serde(tag = "event", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Record {
    /// A failure or request was counted as a loop.
    #[serde(rename = "loop_detected")]
    LoopDetected {
        /// The task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task_id: Option<String>,
        /// The agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
        /// Loops counted so far.
        loop_count: u32,
        /// A printable name of what repeats.
        error_signature: String,
        /// Whether the messages were identical, byte for byte.
        is_exact_match: bool,
        /// Why it counts; `orchestrator_reasoning` in the original format.
        orchestrator_reasoning: String,
        /// Event time in milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timestamp: Option<i64>,
    },
    /// A human is being asked.
    #[serde(rename = "gate_triggered")]
    GateTriggered {
        /// The task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task_id: Option<String>,
        /// The agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
        /// Loops counted so far.
        loop_count: u32,
        /// Why.
        trigger_reason: String,
        /// Signatures of the task's recent failures, oldest first.
        failure_history: Vec<String>,
        /// Event time in milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timestamp: Option<i64>,
    },
    /// A cycle of the workflow graph was stopped.
    #[serde(rename = "loop.halted")]
    LoopHalted {
        /// Stable id of the cycle: 16 hexadecimal digits.
        cycle_id: String,
        /// Why.
        halt_reason: HaltReason,
        /// Digests of the last diffs, oldest first.
        diff_hashes: Vec<String>,
        /// Digests of the last documents, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        docs_hashes: Vec<String>,
        /// Digests of the last sets of failing tests, oldest first.
        failing_test_signatures: Vec<String>,
        /// Digests of the last node outputs, oldest first.
        output_hashes: Vec<String>,
        /// Suggestions for the host or a human.
        suggested_actions: Vec<String>,
        /// Event time in milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timestamp: Option<i64>,
    },
    /// A task's counter was reset to zero.
    #[serde(rename = "loop_counter_reset")]
    LoopCounterReset {
        /// The task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task_id: Option<String>,
        /// Why.
        reason: String,
        /// The count before the reset.
        previous_count: u32,
        /// Newest event time of the run, in milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timestamp: Option<i64>,
    },
}
