//! Catches: a node that has used up the turns or the time that one node may take.
//! Must not catch: nodes outside any workflow, unless the budget is set; another task's turns.
//! Idea: the seed document on loop safety, its per-node budget "across all turns in a run": 6 turns by default, time if
//! configured; per task as well, if that is configured.
//!
//! A budget of 6 allows 6 turns. An event reports a turn that has ended, so the sixth one uses up the budget, and the
//! seventh is the one that is refused.

use crate::model::{Body, Budgets, HaltReason, Level, Recommendation};
use crate::rules::{Cx, Extra, Fact, Facts, HostAdvice, Limits, Rule, Signal, SignalParts, stall};
use crate::state::{Flow, ScopeKeys, Task, node_key};
use crate::text::{Key, combine, key, printable};
use alloc::{format, string::String, vec, vec::Vec};

/// Default number of turns of a node that belongs to a workflow.
const TURNS: u32 = 6;

pub(crate) struct NodeBudget;

/// How much of a budget is used.
pub(super) struct Spending {
    kind: &'static str,
    /// Its field under `budgets`.
    field: &'static str,
    unit: &'static str,
    used: u64,
    limit: u64,
}

impl Spending {
    /// A limit of 0 means no limit.
    pub(super) fn new(kind: &'static str, field: &'static str, unit: &'static str, used: u64, limit: u64) -> Self {
        Self { kind, field, unit, used, limit }
    }
}

/// A signal about the first exhausted budget; its message names all that are. `what` and `name` say whose they are; the
/// caller sets onset and sightings.
pub(super) fn spent(all: &[Spending], what: &str, name: &str, identity: Key, cx: &Cx<'_>) -> Option<Signal> {
    let spent = all.iter().filter(|budget| budget.limit != 0 && budget.used >= budget.limit);
    let first = spent.clone().next()?;
    let figures: Vec<String> =
        spent.map(|budget| format!("{} of {} {} ({})", budget.used, budget.limit, budget.unit, budget.field)).collect();
    let name = printable(name, 48);
    let message = format!("{what} `{name}` has used {}", figures.join(", "));
    let said = format!("{message}, its whole budget.");
    let mut actions = vec![format!("raise budgets.{}", first.field)];
    actions.extend(stall::actions());
    let reason = HaltReason::BudgetExceeded;
    let records = cx.flow.task().map(|task| task.record(reason, &actions, cx.run.now)).into_iter().collect();
    Some(Signal {
        ask: Some(Level::Halt),
        extra: Extra {
            threshold: Some(u32::try_from(first.limit).unwrap_or(u32::MAX)),
            ..HostAdvice { actions, records, ..HostAdvice::default() }.into()
        },
        ..SignalParts {
            kind: first.kind,
            identity: combine("budget", &[identity, key("kind", first.kind.as_bytes())]),
            count: u32::try_from(first.used).unwrap_or(u32::MAX),
            confidence: 1000,
            signature: format!("{}:{name}", first.kind).into(),
            message,
            instead: "Report what is finished and what is not.",
            recommendation: Recommendation::Escalate,
            halt_reason: reason,
        }
        .signal(cx.onset, Vec::new())
        .what(said)
    })
}

/// Maximum number of turns of a node; 0 for no limit. The default applies to nodes that belong to a workflow (`bound`).
pub(crate) fn max_turns(budgets: &Budgets, bound: bool) -> u32 {
    budgets.max_turns_per_node.unwrap_or(if bound { TURNS } else { 0 })
}

impl Rule for NodeBudget {
    const ID: &'static str = "node-budget";
    const ABOUT: &'static str = "A node has used up its turns or its time.";
    const UNIT: &'static str = "of the budget";
    const LIMITS: Limits = Limits::configured();
    const OUTLIVES_EVIDENCE: bool = true;
    const SEES: Facts = Facts::REPORT;
    /// The most turns seen of any node, for the run as a whole.
    type State = u32;

    fn observe(state: &mut u32, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Event(event) = fact else { return None };
        let Body::Turn(turn) = &event.body else { return None };
        let node = node_key(&turn.node);
        let (of_run, of_task) = (cx.flow.node_of_run(node)?, cx.flow.task()?.node(&turn.node)?);
        *state = (*state).max(of_run.turns);
        let budgets = &cx.config.budgets;
        let (turns, per_task) = (max_turns(budgets, cx.flow.graph.binds(node)), budgets.max_turns_per_node_and_task);
        let all = [
            Spending::new("node-turns", "maxTurnsPerNode", "turns", of_run.turns.into(), turns.into()),
            Spending::new(
                "node-runtime",
                "maxRuntimeMsPerNode",
                "ms",
                of_run.runtime_ms,
                budgets.max_runtime_ms_per_node,
            ),
            Spending::new("task-turns", "maxTurnsPerNodeAndTask", "turns", of_task.turns.into(), per_task.into()),
        ];
        let signal = spent(&all, "The node", &turn.node, combine("node", &[node, cx.task]), cx)?;
        let tally = if signal.kind == "task-turns" { of_task } else { of_run };
        Some(Signal { onset: tally.onset, sightings: vec![tally.latest], ..signal })
    }

    fn forget_task(state: &mut u32, _task: Key) {
        *state = 0;
    }

    fn standing(state: &u32) -> u32 {
        *state
    }

    fn standing_of(state: &u32, whose: &ScopeKeys, flow: &Flow<'_>) -> u32 {
        if whose.task.is_some() { flow.most(whose, Task::most_turns) } else { *state }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Halt;
    use crate::rules::testing::Script;
    use alloc::format;

    const RULE: &str = "node-budget";
    const GRAPH: &str = r#""graph":{"nodes":["c","v"],"edges":[{"from":"c","to":"v"},{"from":"v","to":"c"}]}"#;

    #[test]
    fn the_sixth_turn_spends_a_budget_of_six() {
        let graph = format!("{{{GRAPH}}}");
        Script::workflow(&graph).play("c=1 v=1 c=2 v=2 c=3 v=3 c=4 v=4 c=5 v=5").expect(RULE, &[]);
        let all = "c=1 c=2 c=3 c=4 c=5 c=6 c=7";
        Script::workflow(&graph).play(all).expect(RULE, &[(5, Halt), (6, Halt)]);
        // Without a workflow there is no default; a configured budget applies to every node.
        Script::workflow("{}").play(all).expect(RULE, &[]);
        Script::workflow(r#"{"budgets":{"maxTurnsPerNode":3}}"#).play("c=1 v=1 c=2 v=2 c=3").expect(RULE, &[(4, Halt)]);
        Script::workflow(&format!(r#"{{{GRAPH},"budgets":{{"maxTurnsPerNode":0}}}}"#)).play(all).expect(RULE, &[]);
    }

    #[test]
    fn a_learned_workflow_binds_the_nodes_of_its_cycles() {
        Script::workflow("{}").play("c>v v>c c=1 c=2 c=3 c=4 c=5 c=6").expect(RULE, &[(7, Halt)]);
        Script::workflow("{}").play("c>v c=1 c=2 c=3 c=4 c=5 c=6").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 c=2 c=3 c=4 c=5 c=6 c>v v>c c=7").expect(RULE, &[(8, Halt)]);
    }

    #[test]
    fn time_adds_up_over_the_turns_of_a_node() {
        let timed = r#"{"budgets":{"maxRuntimeMsPerNode":1000}}"#;
        Script::workflow(timed).play("c=1,ms400 v=1,ms900 c=2,ms599 c=3,ms1").expect(RULE, &[(3, Halt)]);
    }

    #[test]
    fn the_turns_are_the_run_s_and_a_human_s_message_gives_none_back() {
        let graph = format!("{{{GRAPH}}}");
        Script::workflow(&graph).play("#one c=1 c=2 c=3 #two c=4 c=5 c=6").expect(RULE, &[(5, Halt)]);
        let both = format!(r#"{{{GRAPH},"budgets":{{"maxTurnsPerNode":5,"maxTurnsPerNodeAndTask":3}}}}"#);
        Script::workflow(&both).play("#one c=1 c=2 #two c=3 c=4 #one c=5").expect(RULE, &[(4, Halt)]);
        Script::workflow(&both).play("#one c=1 c=2 #two c=3 #one c=4").expect(RULE, &[(3, Halt)]);
        let per_task = format!(r#"{{{GRAPH},"budgets":{{"maxTurnsPerNode":0,"maxTurnsPerNodeAndTask":6}}}}"#);
        Script::workflow(&per_task).play("#one c=1 c=2 c=3 #two c=4 c=5 c=6 c=7 c=8").expect(RULE, &[]);
        Script::workflow(&graph).play("c=1 c=2 c=3 | c=4 c=5 c=6").expect(RULE, &[(6, Halt)]);
    }
}
