use crate::model::{AttemptStatus, ByName, Finding, HaltReason, Level, Scope, is_default};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// Why a scope is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ResetReason {
    /// The task is done.
    TaskCompleted,
    /// A human intervened.
    HumanIntervention,
    /// The host's own decision.
    Manual,
}

names!(ResetReason {
    TaskCompleted = "task-completed", HumanIntervention = "human-intervention", Manual = "manual",
});

/// A human's answer at a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "decision", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Decision {
    /// Go on; the rules start counting again.
    Continue,
    /// End the run: every later verdict on it is `halt`.
    Stop,
    /// The repetition is intended: a false alarm.
    Exempt {
        /// The rule's id.
        rule: String,
        /// The finding's signature.
        signature: String,
        /// Event time in milliseconds until which the exemption holds; if absent, it holds for the rest of the run.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<i64>,
    },
}

/// What a rule detects and its thresholds under the `balanced` preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RuleInfo {
    /// The rule's id.
    pub id: &'static str,
    /// What it detects, in one sentence.
    pub about: &'static str,
    /// The unit of its thresholds.
    pub unit: &'static str,
    /// Threshold for `nudge`; 0 means never, here and below.
    pub nudge: u32,
    /// Threshold for `block`.
    pub block: u32,
    /// Threshold for `gate`.
    pub gate: u32,
    /// Threshold for `halt`.
    pub halt: u32,
    /// How far it looks back, in its own unit; 0 if it has no window.
    pub window: u32,
    /// The most evidence that can add up; higher thresholds are rejected.
    pub most: u32,
}

/// The current state of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuleStanding {
    /// The rule's id.
    pub rule: String,
    /// Current evidence, in the rule's own unit, of whatever has come furthest towards a threshold.
    pub count: u32,
    /// The next threshold that more of the same would reach. A loop that returns after it was reported may be blocked
    /// earlier, and refused calls that are made again count as if they had run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_threshold: Option<u32>,
    /// The level at that threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_level: Option<Level>,
    /// Why `nextThreshold` is absent. Not given if the strongest level has been reached or the rule has no thresholds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_next: Option<NoNext>,
}

/// Why the next threshold of a rule is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NoNext {
    /// The evidence is advisory as long as it stays as it is, and reported without ever being blocked: for example, a
    /// search through ever new targets, a view that does not move, or attempts that are not quite the same.
    Advisory,
    /// Tools have different thresholds, and which tool the evidence is about is not recorded.
    ByTool,
}

/// The remaining part of the configured budgets; absent where no budget is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BudgetsLeft {
    /// Iterations left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// Milliseconds of event time left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_ms: Option<u64>,
}

/// The current state of a node of the workflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeStanding {
    /// Turns it has completed.
    pub turns: u32,
    /// Turns left, if limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_left: Option<u32>,
    /// Milliseconds left for its turns in total, if limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_ms_left: Option<u64>,
}

/// The attempts at one task so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttemptStanding {
    /// Attempts within `attempts.attemptWindowMs` of the run's newest event time.
    pub attempt_count: u32,
    /// Event time of the latest attempt that carried one, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_attempt: Option<i64>,
}

/// The phases of one task so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PhaseStanding {
    /// The latest phases, oldest first, at most 11; for example `implement → test → fix`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk: Option<String>,
    /// Visits of each phase since the task's last reset.
    pub visits: ByName<u32>,
}

/// The current state of a cycle of the workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CycleStatus {
    /// Stable id: 16 hexadecimal digits, a hash of the sorted ids of the cycle's nodes and edges.
    pub cycle_id: String,
    /// Its nodes, in the order of the graph.
    pub nodes: Vec<String>,
    /// The node whose incoming deliveries complete iterations.
    pub driver: String,
    /// Iterations so far in readable form: `Loop 3/8`, or `Loop 3` without a limit.
    pub badge: String,
    /// Iterations so far.
    pub iterations: u32,
    /// Iterations left, if limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations_left: Option<u32>,
    /// Recent numbers of failing tests while the cycle was active, oldest first; for example `7 → 4 → 2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend: Option<String>,
    /// Why the cycle was last halted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_halt_reason: Option<HaltReason>,
    /// Digests of the latest diffs, oldest first. This and the next three fields are filled only for the cycle that was
    /// last active.
    pub diff_hashes: Vec<String>,
    /// Digests of the latest documents, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub docs_hashes: Vec<String>,
    /// Digests of the latest sets of failing tests, oldest first.
    pub failing_test_signatures: Vec<String>,
    /// Digests of the latest node outputs, oldest first.
    pub output_hashes: Vec<String>,
}

/// The current status of a scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Status {
    /// The scope asked about.
    pub scope: Scope,
    /// Whether any event of the scope has been recorded.
    pub known: bool,
    /// The level of the scope's latest verdict.
    pub level: Level,
    /// Events recorded in the scope.
    pub events: u64,
    /// Calls with a result.
    pub steps: u64,
    /// Every enabled rule that holds evidence about the scope. For a scope with a task or an agent, only rules that
    /// keep evidence per task and rules about outputs; the others belong to the run.
    pub rules: Vec<RuleStanding>,
    /// Recent numbers of failing tests of the scope, oldest first; for example `7 → 4 → 2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend: Option<String>,
    /// Attempts per task, of the scope's task only if it names one. The key of the unnamed task is the empty string.
    #[serde(default, skip_serializing_if = "ByName::is_empty")]
    pub attempts: ByName<AttemptStanding>,
    /// Phases per task, of the scope's task only if it names one. The key of the unnamed task is the empty string.
    #[serde(default, skip_serializing_if = "ByName::is_empty")]
    pub phases: ByName<PhaseStanding>,
    /// Every cycle of the workflow; if the workflow is learned, those that the scope's task went through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycles: Vec<CycleStatus>,
    /// Every node of the workflow and every other node that has had a turn, by name: for the scope's task, or for the
    /// whole run if the scope names none. Remaining budgets are those of the whole run.
    #[serde(default, skip_serializing_if = "ByName::is_empty")]
    pub nodes: ByName<NodeStanding>,
    /// The remaining budgets of the run.
    pub budgets_left: BudgetsLeft,
    /// Loops counted for the scope's task, where a subtask counts with its parent; without a task, the highest count of
    /// any task.
    pub loop_count: u32,
    /// The reason given for that task's latest failure or request, such as `Exact error message match`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_reason: Option<String>,
}

/// The format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReportFormat {
    /// Markdown, for people.
    #[default]
    Markdown,
    /// JSON, for programs.
    Json,
}

/// One answer a person can give to a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportOption {
    /// The answer.
    pub title: String,
    /// What it leads to.
    pub effect: String,
}

/// One attempt at a task, as evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttemptEvidence {
    /// The event's sequence number.
    pub seq: u64,
    /// The host's step number, where the event carried one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// Event time in milliseconds since the Unix epoch, where the event carried one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The status that the host gave.
    pub status: AttemptStatus,
    /// What blocked the attempt: at most 16 entries, about 240 characters in total.
    pub blockers: Vec<String>,
    /// Number of further blockers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more_blockers: u32,
    /// The session if the event named one, truncated to 64 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// The machine-readable escalation report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Report {
    /// The scope asked about.
    pub scope: Scope,
    /// The strongest level reached in the scope since its last reset.
    pub level: Level,
    /// The latest finding of every loop detected in the scope, newest first, at most 8.
    pub findings: Vec<Finding>,
    /// Recent occurrences of the strongest finding in words, oldest first, if its rule keeps them: iterations, failures
    /// or attempts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<String>,
    /// For a loop of attempts: the latest ones, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptEvidence>,
    /// For a loop of attempts: log lines for the orchestrator, saying that it was detected and what was done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// The answers that a person can give.
    pub options: Vec<ReportOption>,
}

/// How often each level was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LevelCounts {
    /// `observe`.
    pub observe: u64,
    /// `nudge`.
    pub nudge: u64,
    /// `block`.
    pub block: u64,
    /// `gate`.
    pub gate: u64,
    /// `halt`.
    pub halt: u64,
}

/// Counters of one rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RuleMetrics {
    /// Loops detected, each counted once.
    pub detections: u64,
    /// Findings by their own level.
    pub levels: LevelCounts,
    /// Loops that a human marked as false alarms.
    pub acknowledged: u64,
}

/// Failures and requests of one agent, and how many of them counted as loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AgentLoops {
    /// `failure` and `collaboration` events.
    pub events: u64,
    /// Those that counted as loops, by themselves or by a judge's evaluation.
    pub loops: u64,
    /// `loops` per mille of `events`.
    pub rate: u64,
}

/// Counters about loops of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LoopMetrics {
    /// Failures and requests that counted as loops.
    pub detected: u64,
    /// Tasks with a failure, progress or request. Subtasks are not counted.
    pub tasks: u64,
    /// Tasks in which a loop was counted.
    pub tasks_with_loops: u64,
    /// `tasksWithLoops` per mille of `tasks`.
    pub task_rate: u64,
    /// Thousandths of `detected / tasks`.
    pub average_loops_per_task: u64,
    /// Per agent; at most 64 agents are counted by name.
    pub agents: ByName<AgentLoops>,
    /// Times a human was asked about a task; an open gate is not counted again.
    pub gates: u64,
    /// Loops counted at those gates, in total.
    pub loops_before_gate: u64,
    /// Thousandths of `loopsBeforeGate / gates`.
    pub average_loops_before_gate: u64,
    /// Counters reset to zero.
    pub resets: u64,
    /// Gates that a human resolved, with `human-intervention` or `continue`. Completing the task does not count.
    pub resolved: u64,
    /// Milliseconds of event time from gate to resolution, summed over `resolved`.
    pub resolution_ms: u64,
}

/// Counters for dashboards, since the detector was created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Metrics {
    /// Events recorded.
    pub events: u64,
    /// Verdicts by level; `continue` is not counted.
    pub verdicts: LevelCounts,
    /// Loops detected by all rules together.
    pub detections: u64,
    /// Counters per rule, for every rule that has fired.
    pub rules: ByName<RuleMetrics>,
    /// Loops detected per agent; at most 64 agents are counted by name.
    pub detections_by_agent: ByName<u64>,
    /// Loops of tasks, from failures and requests.
    pub loops: LoopMetrics,
    /// Runs currently held.
    pub runs: u64,
    /// Bytes currently used by these runs, computed as for `memory.maxBytes`.
    pub bytes: u64,
    /// Runs forgotten because of `memory.maxRuns` or `memory.maxBytes` (`scope-evicted`).
    pub runs_evicted: u64,
    /// Tasks that a run forgot, with all their counters, because there were more than 32 of them or they took too much
    /// memory; the least recently used task is forgotten first.
    pub tasks_evicted: u64,
    /// Phases, transitions, nodes, cycles, failures and requests that were forgotten one by one, because a run had more
    /// of them than it keeps.
    pub task_parts_evicted: u64,
    /// How often matching a pattern of `patterns.volatile` or `patterns.signatures` was aborted because it would have
    /// taken too many steps on one text, so that the rest of the text was not matched.
    pub patterns_cut_short: u64,
    /// Results that belong to no recorded call: their ids are not those of the calls, or the calls were not recorded.
    /// What such a result repeats is found only in part.
    pub results_without_call: u64,
    /// Runs forgotten because they were idle.
    pub runs_collected: u64,
    /// Resets requested.
    pub resets: u64,
    /// Scopes with a detected loop that a reset or `continue` resolved.
    pub resolved: u64,
    /// Milliseconds of event time from detection to resolution, summed over `resolved`.
    pub resolution_ms: u64,
    /// Transitions refused because a phase had used up its visits: recorded ones, and those that the host reported with
    /// a `hook-block` naming the rule, after a `check`.
    pub phase_visits_blocked: u64,
    /// Likewise, because the transition had been made too often.
    pub transitions_blocked: u64,
    /// Likewise, because the task goes back and forth between phases.
    pub cycles_detected: u64,
    /// Refused transitions that were referred to a human.
    pub hitl_triggered: u64,
}
