use crate::model::{AttemptStatus, Finding, HaltReason, Level, Scope};
use alloc::{collections::BTreeMap, string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// Why a scope is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ResetReason {
    /// The task is done.
    TaskCompleted,
    /// A human changed the context.
    HumanIntervention,
    /// The host decided.
    Manual,
}

names!(ResetReason {
    TaskCompleted = "task-completed", HumanIntervention = "human-intervention", Manual = "manual",
});

/// A human's answer at a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "decision", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Decision {
    /// Go on; the rules start over once.
    Continue,
    /// End the run: every later verdict of it is `halt`.
    Stop,
    /// This repetition is meant: a false alarm.
    Exempt {
        /// The rule's id.
        rule: String,
        /// The finding's signature.
        signature: String,
        /// Event time in milliseconds until which it holds; absent, for the rest of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<i64>,
    },
}

/// What a rule sees and when it speaks up, under the balanced preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RuleInfo {
    /// The rule's id.
    pub id: &'static str,
    /// What it sees, in a sentence.
    pub about: &'static str,
    /// What its thresholds count.
    pub unit: &'static str,
    /// Threshold for `nudge`; 0 for never, here and below.
    pub nudge: u32,
    /// Threshold for `block`.
    pub block: u32,
    /// Threshold for `gate`.
    pub gate: u32,
    /// Threshold for `halt`.
    pub halt: u32,
    /// How far it looks back, in its own unit; 0 where it has no window.
    pub window: u32,
    /// The most evidence that adds up within it: a higher threshold is refused.
    pub most: u32,
}

/// Where one rule stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuleStanding {
    /// The rule's id.
    pub rule: String,
    /// The evidence the rule holds now of what is furthest up its ladder, in its own unit.
    pub count: u32,
    /// The next threshold above it, for one more of the same. A loop that comes back after it was told of may be refused
    /// before that, and calls that are made again after they were refused count as if they had run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_threshold: Option<u32>,
    /// What happens there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_level: Option<Level>,
    /// Why no next threshold is given, where there is one; absent as well where the strongest level has been reached, or the
    /// rule has no thresholds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_next: Option<NoNext>,
}

/// Why the next threshold of a rule is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NoNext {
    /// What there is is told and never refused, as long as it stays what it is: a search through ever new targets, a view
    /// that does not move, attempts that are not quite the same.
    OnlyTold,
    /// Tools have thresholds of their own, and which of them is meant is not kept.
    ByTool,
}

/// What is left of the configured budgets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BudgetsLeft {
    /// Iterations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// Milliseconds of event time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_ms: Option<u64>,
}

/// Where a node of the workflow stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeStanding {
    /// Turns it has ended.
    pub turns: u32,
    /// Turns that are left, where they are limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_left: Option<u32>,
    /// Milliseconds that its turns may still take together, where they are limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_ms_left: Option<u64>,
}

/// Where the attempts at one task stand.
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

/// Where one task stands in its workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PhaseStanding {
    /// The latest phases, oldest first, as `implement → test → fix`; at most 11.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk: Option<String>,
    /// Visits of each phase since the task's last reset.
    pub visits: BTreeMap<String, u32>,
}

/// Where a cycle of the workflow stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CycleStatus {
    /// Stable id: 16 hexadecimal digits, a hash of the sorted ids of the cycle's nodes and edges.
    pub cycle_id: String,
    /// Its nodes, in the order of the graph.
    pub nodes: Vec<String>,
    /// The node whose turn begins an iteration.
    pub driver: String,
    /// Iterations so far, for people: `Loop 3/8`, or `Loop 3` where they are not limited.
    pub badge: String,
    /// Iterations so far.
    pub iterations: u32,
    /// Iterations that are left, where they are limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations_left: Option<u32>,
    /// The latest numbers of failing tests while the cycle was active, oldest first, as `7 → 4 → 2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend: Option<String>,
    /// Why the cycle was last halted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_halt_reason: Option<HaltReason>,
    /// Digests of the last diffs, oldest first; like the other three only of the cycle that was last active.
    pub diff_hashes: Vec<String>,
    /// Digests of the last documents, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub docs_hashes: Vec<String>,
    /// Digests of the last sets of failing tests, oldest first.
    pub failing_test_signatures: Vec<String>,
    /// Digests of the last node outputs, oldest first.
    pub output_hashes: Vec<String>,
}

/// Where a scope stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Status {
    /// The scope asked about.
    pub scope: Scope,
    /// Whether any event was of the scope.
    pub known: bool,
    /// The level of the scope's latest verdict.
    pub level: Level,
    /// Events recorded in the scope.
    pub events: u64,
    /// Calls that got an outcome.
    pub steps: u64,
    /// Every enabled rule that holds evidence about the scope. Of a scope that names a task or an agent these are the rules
    /// that keep their evidence by task, and the ones about outputs; the others are the run's.
    pub rules: Vec<RuleStanding>,
    /// The scope's latest numbers of failing tests, oldest first, as `7 → 4 → 2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend: Option<String>,
    /// Attempts per task; the task without a name has the empty one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attempts: BTreeMap<String, AttemptStanding>,
    /// Phases per task; the task without a name has the empty one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phases: BTreeMap<String, PhaseStanding>,
    /// Every cycle of the workflow; of one that is learned, those that the scope's task went through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycles: Vec<CycleStatus>,
    /// Every node of the workflow by its name, and every other one that has had a turn: as the scope's task stands, or the
    /// whole run where the scope names none. What is left of a budget is what the whole run leaves.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<String, NodeStanding>,
    /// What is left of the budgets.
    pub budgets_left: BudgetsLeft,
    /// Loops counted for the scope's task, a subtask's with its parent's; the most of any task where the scope names
    /// none.
    pub loop_count: u32,
    /// What was said of that task's latest failure or request, such as `Exact error message match`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_reason: Option<String>,
}

/// What form a report takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReportFormat {
    /// For a person.
    #[default]
    Markdown,
    /// For a program.
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
    /// What the attempt was blocked by, at most 16 and together about 240 characters.
    pub blockers: Vec<String>,
    /// How many more blockers there were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_blockers: u32,
    /// The session, where the event named one; at most 64 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(number: &u32) -> bool {
    *number == 0
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
    /// The latest finding of every loop seen in the scope, newest first, at most 8.
    pub findings: Vec<Finding>,
    /// The latest occurrences of the strongest of them in words, oldest first, where its rule keeps them: its iterations,
    /// failures or attempts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<String>,
    /// Of a loop of attempts, the latest ones, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptEvidence>,
    /// Of a loop of attempts, what an orchestrator logs about it: that it was found, and what was done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// What a person can answer.
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
    /// Loops found: the first finding of each.
    pub detections: u64,
    /// Findings by the level they asked for.
    pub levels: LevelCounts,
    /// Loops that a human called a false alarm.
    pub acknowledged: u64,
}

/// Failures and requests of one agent, and how many of them were loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AgentLoops {
    /// `failure` and `collaboration` events.
    pub events: u64,
    /// Those that were loops, by themselves or as a judge saw them.
    pub loops: u64,
    /// `loops` per mille of `events`.
    pub rate: u64,
}

/// Counters of loops of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LoopMetrics {
    /// Failures and requests that were loops, each once.
    pub detected: u64,
    /// Tasks that failures, progress or requests were about, their parts not counted.
    pub tasks: u64,
    /// Those in which a loop was counted.
    pub tasks_with_loops: u64,
    /// `tasksWithLoops` per mille of `tasks`.
    pub task_rate: u64,
    /// Thousandths of `detected / tasks`.
    pub average_loops_per_task: u64,
    /// Per agent; at most 64 agents are counted by name.
    pub agents: BTreeMap<String, AgentLoops>,
    /// Times a human was asked about a task; a gate that stands open is not counted again.
    pub gates: u64,
    /// Loops counted when a human was asked, summed over `gates`.
    pub loops_before_gate: u64,
    /// Thousandths of `loopsBeforeGate / gates`.
    pub average_loops_before_gate: u64,
    /// Counters set back.
    pub resets: u64,
    /// Gates that a human answered, with `human-intervention` or `continue`; a task that is completed behind its gate is none.
    pub resolved: u64,
    /// Milliseconds of event time from gate to resolution, summed over `resolved`.
    pub resolution_ms: u64,
}

/// Counters for dashboards, since the detector was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Metrics {
    /// Events recorded.
    pub events: u64,
    /// Verdicts by level.
    pub verdicts: LevelCounts,
    /// Loops found, over all rules.
    pub detections: u64,
    /// Counters per rule, for every rule that ever fired.
    pub rules: BTreeMap<String, RuleMetrics>,
    /// Loops found per agent; at most 64 agents are counted by name.
    pub detections_by_agent: BTreeMap<String, u64>,
    /// Loops of tasks: failures and requests.
    pub loops: LoopMetrics,
    /// Runs held now.
    pub runs: u64,
    /// Bytes that they take now, as `memory.maxBytes` counts them.
    pub bytes: u64,
    /// Runs forgotten because `memory.maxRuns` or `memory.maxBytes` was reached (`scope-evicted`).
    pub runs_evicted: u64,
    /// Tasks that a run forgot with all that it had counted about them, because more than 32 were worked on or what is
    /// kept about them took too much: the one worked on the longest ago goes first.
    pub tasks_evicted: u64,
    /// Phases, transitions, nodes, cycles, failures and requests that were forgotten one by one, because a run had more of
    /// them than it keeps.
    pub task_parts_evicted: u64,
    /// How often a pattern of `patterns.volatile` or `patterns.signatures` would have taken too many steps on one text, so that
    /// it did not see the rest of it.
    pub patterns_cut_short: u64,
    /// Runs forgotten because they were idle.
    pub runs_collected: u64,
    /// Resets asked for.
    pub resets: u64,
    /// Loops that were over when a reset or `continue` came, and the event time between both.
    pub resolved: u64,
    /// Milliseconds of event time from detection to resolution, summed over `resolved`.
    pub resolution_ms: u64,
    /// Transitions that were refused because a phase had all of its visits: recorded ones, and those of which the host told
    /// with a `hook-block` and the rule's name that it obeyed a `check`.
    pub phase_visits_blocked: u64,
    /// The same because they had been made too often.
    pub transitions_blocked: u64,
    /// The same because the walk oscillates.
    pub cycles_detected: u64,
    /// Refused transitions that were put before a human.
    pub hitl_triggered: u64,
}
