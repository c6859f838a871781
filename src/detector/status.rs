//! The status of a scope.

use crate::model::{BudgetsLeft, ByName, NoNext, NodeStanding, RuleStanding, Scope, Status};
use crate::rules::{RULES, Settings, max_cycle_iterations, max_turns, ordered, task_name};
use crate::state::{Flow, NodeUsage, Run, ScopeKeys, owner_key, trend};
use crate::text::Key;
use alloc::{string::ToString, vec::Vec};

/// The status of a scope within a run; for an unknown run, its full budgets.
pub(super) fn status(settings: &Settings, run: Option<&Run>, scope: &Scope) -> Status {
    let none;
    let of_run = match run {
        Some(run) => run,
        None => {
            none = Run::default();
            &none
        }
    };
    let limit = max_cycle_iterations(&settings.config.budgets);
    let unknown = Status {
        scope: scope.clone(),
        cycles: of_run.workflow.cycles(settings.graph.as_ref(), named_task(scope), limit),
        nodes: nodes(settings, of_run, scope),
        budgets_left: budgets_left(settings, of_run),
        ..Status::default()
    };
    let Some(run) = run else { return unknown };
    let whose = ScopeKeys::of(scope);
    let sum = run.standings.sum(&whose);
    let flow = run.workflow.flow(settings.graph.as_ref());
    let (loop_count, loop_reason) = run.rules.task_loop.loops(whose.task);
    let whole = whose.task.is_none() && whose.agent.is_none();
    Status {
        known: whole || sum.known,
        level: sum.level,
        events: if whole { run.events } else { sum.spent.events },
        steps: if whole { run.steps() } else { sum.steps },
        rules: standings(settings, run, &whose, &flow),
        trend: trend(&sum.trend),
        attempts: of_task(run.rules.task_attempts.status(&settings.config, run.now), scope),
        phases: of_task(run.rules.phases(), scope),
        loop_count,
        loop_reason,
        ..unknown
    }
}

/// The key of the task by which the workflow counts, if the scope names one.
fn named_task(scope: &Scope) -> Option<Key> {
    let named = scope.task.is_some() || scope.parent_task.is_some();
    named.then(|| owner_key(scope.task.as_deref(), scope.parent_task.as_deref()))
}

fn budgets_left(settings: &Settings, run: &Run) -> BudgetsLeft {
    let budgets = &settings.config.budgets;
    let elapsed = run.now.zip(run.started).map_or(0, |(now, started)| now.saturating_sub(started));
    let elapsed = u64::try_from(elapsed).unwrap_or(0);
    BudgetsLeft {
        iterations: (budgets.max_iterations != 0)
            .then(|| budgets.max_iterations.saturating_sub(run.iterations.count())),
        runtime_ms: (budgets.max_runtime_ms != 0).then(|| budgets.max_runtime_ms.saturating_sub(elapsed)),
    }
}

/// Every enabled rule that holds evidence about a scope.
fn standings(settings: &Settings, run: &Run, whose: &ScopeKeys, flow: &Flow<'_>) -> Vec<RuleStanding> {
    let mut limits = *settings.limits();
    ordered(&mut limits, run.ordered);
    let of_all = run.outlooks(whose, flow, &limits, &settings.config);
    let mut next = of_all.map(|outlook| Some(outlook.next));
    let mut enabled = limits.map(|limits| limits.enabled);
    for orders in run.ordered.possible() {
        for mut table in core::iter::once(*settings.limits()).chain(settings.of_tools()) {
            ordered(&mut table, orders);
            // Only what is the same for every tool, and whatever the next call is answered, can be reported.
            let of_tool = run.outlooks(whose, flow, &table, &settings.config);
            next.iter_mut().zip(of_tool).for_each(|(next, own)| *next = next.filter(|next| *next == own.next));
            enabled.iter_mut().zip(table).for_each(|(enabled, own)| *enabled |= own.enabled);
        }
    }
    let all = RULES.iter().zip(of_all).zip(next).zip(enabled);
    let held = all.filter(|(((_, outlook), _), enabled)| *enabled && outlook.count != 0);
    held.map(|(((rule, outlook), next), _)| {
        let advisory = outlook.advisory.then_some(NoNext::Advisory);
        let (next, no_next) = next.map_or((None, Some(NoNext::ByTool)), |next| (next, advisory));
        RuleStanding {
            rule: rule.id.to_string(),
            count: outlook.count,
            next_threshold: next.map(|(_, threshold)| threshold),
            next_level: next.map(|(level, _)| level),
            no_next,
        }
    })
    .collect()
}

/// The entry of the scope's task only, or all entries if the scope names none.
fn of_task<T>(mut tasks: ByName<T>, scope: &Scope) -> ByName<T> {
    if let Some(task) = &scope.task {
        let shown = task_name(task);
        tasks.retain(|name, _| *name == shown);
    }
    tasks
}

/// The status of every node of the workflow, for a scope.
fn nodes(settings: &Settings, run: &Run, scope: &Scope) -> ByName<NodeStanding> {
    let budgets = &settings.config.budgets;
    let nodes = run.workflow.nodes(settings.graph.as_ref(), named_task(scope)).into_iter();
    let standing = |taken: NodeUsage| {
        let (most, time) = (max_turns(budgets, taken.bound), budgets.max_runtime_ms_per_node);
        let left = |most: u32, turns: u32| (most != 0).then(|| most.saturating_sub(turns));
        let (turns, runtime_ms) = taken.of_run;
        let of_task = named_task(scope).and_then(|_| left(budgets.max_turns_per_node_and_task, taken.turns));
        let standing = NodeStanding {
            turns: taken.turns,
            turns_left: left(most, turns).into_iter().chain(of_task).min(),
            runtime_ms_left: (time != 0).then(|| time.saturating_sub(runtime_ms)),
        };
        (taken.name, standing)
    };
    nodes.map(standing).collect()
}
