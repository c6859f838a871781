//! Catches: a cycle of the workflow that has used up its iterations, time or cost.
//! Must not catch: workflows without a cycle; edges that do not close one; requests that agents make to each other.
//! Idea: the seed document on loop safety, its per-cycle budget: 8 iterations by default, time and cost if configured.
//! An iteration is a delivery over an edge of the cycle into its driver.

use crate::model::{Body, Budgets};
use crate::rules::node_budget::{Spending, spent};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal};
use crate::state::{Cycle, Flow, Graph, Onset, ScopeKeys, Task};
use crate::text::combine;
use alloc::{string::String, vec, vec::Vec};

/// Default number of iterations of a cycle.
const ITERATIONS: u32 = 8;

pub(crate) struct CycleBudget;

/// Maximum number of iterations of a cycle; 0 for no limit.
pub(crate) fn max_cycle_iterations(budgets: &Budgets) -> u32 {
    budgets.max_cycle_iterations.unwrap_or(ITERATIONS)
}

/// A readable name: `coder ↔ verifier`, `a → b → c`.
fn name(cycle: &Cycle, graph: &Graph) -> String {
    let members: Vec<&str> = cycle.members.iter().map(|member| graph.name(*member)).collect();
    members.join(if members.len() == 2 { " ↔ " } else { " → " })
}

impl Rule for CycleBudget {
    const ID: &'static str = "cycle-budget";
    const ABOUT: &'static str = "A cycle of the workflow has used up its iterations, its time or its money.";
    const UNIT: &'static str = "of the budget";
    const LIMITS: Limits = Limits::configured();
    const OUTLIVES_EVIDENCE: bool = true;
    const SEES: Facts = Facts::REPORT;
    type State = ();

    fn observe(_: &mut (), fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Event(event) = fact else { return None };
        if !matches!(event.body, Body::Turn(_) | Body::Delivery(_)) {
            return None;
        }
        let cycle = cx.flow.cycle(event)?;
        let task = cx.flow.task()?;
        let budgets = &cx.config.budgets;
        let laps = task.laps(cycle);
        let iterations = laps.map_or(0, |laps| laps.iterations);
        let turns = task.spent(cycle);
        let begun = laps.map(|laps| laps.onset).into_iter().chain((turns.latest.key != 0).then_some(turns.onset));
        let onset = begun.min_by_key(|onset| onset.seq).unwrap_or(cx.onset);
        let runtime = turns.runtime_ms.max(elapsed(&onset, cx));
        let limit = u64::from(max_cycle_iterations(budgets));
        let all = [
            Spending::new("cycle-iterations", "maxCycleIterations", "iterations", iterations.into(), limit),
            Spending::new("cycle-runtime", "maxCycleRuntimeMs", "ms", runtime, budgets.max_cycle_runtime_ms),
            Spending::new("cycle-cost", "maxCycleCost", "millionths", turns.cost_micros, budgets.max_cycle_cost),
        ];
        let signal =
            spent(&all, "The cycle", &name(cycle, cx.flow.graph), combine("cycle", &[cycle.key, cx.task]), cx)?;
        let latest = laps.filter(|laps| laps.iterations != 0).map_or(turns.latest, |laps| laps.latest);
        Some(Signal { onset, sightings: vec![latest], ..signal })
    }

    fn standing_of((): &(), whose: &ScopeKeys, flow: &Flow<'_>) -> u32 {
        flow.most(whose, Task::most_laps)
    }
}

/// Milliseconds of event time since an onset; 0 without timestamps.
fn elapsed(onset: &Onset, cx: &Cx<'_>) -> u64 {
    let elapsed = onset.at.until(cx.run.now).unwrap_or(0);
    u64::try_from(elapsed).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Halt;
    use crate::rules::testing::Script;
    use alloc::format;

    const RULE: &str = "cycle-budget";
    const GRAPH: &str = r#""graph":{"nodes":["c","v","w"],
        "edges":[{"from":"c","to":"v"},{"from":"v","to":"c"},{"from":"v","to":"w"}]}"#;

    #[test]
    fn the_eighth_delivery_into_the_driver_spends_a_budget_of_eight() {
        let graph = format!("{{{GRAPH}}}");
        let lap = "c>v v>c ";
        Script::workflow(&graph).play(&lap.repeat(7)).expect(RULE, &[]);
        Script::workflow(&graph).play(&lap.repeat(8)).expect(RULE, &[(15, Halt)]);
        // A learned cycle is found with the first lap, and counts the delivery that closed it.
        Script::workflow("{}").play(&lap.repeat(8)).expect(RULE, &[(15, Halt)]);
        // Deliveries within the cycle that do not close it, and those that leave it, are no iterations.
        Script::workflow(&graph).play(&"c>v v>w ".repeat(20)).expect(RULE, &[]);
        Script::workflow(&format!(r#"{{{GRAPH},"budgets":{{"maxCycleIterations":0}}}}"#))
            .play(&lap.repeat(20))
            .expect(RULE, &[]);
        Script::workflow(r#"{"budgets":{"maxCycleIterations":2}}"#).play(&lap.repeat(2)).expect(RULE, &[(3, Halt)]);
    }

    #[test]
    fn another_driver_another_anchor() {
        let driver = r#"{"budgets":{"maxCycleIterations":2},"graph":{"nodes":["c",{"id":"v","driver":true}],
            "edges":[{"from":"c","to":"v"},{"from":"v","to":"c"}]}}"#;
        Script::workflow(driver).play("c>v v>c c>v").expect(RULE, &[(2, Halt)]);
    }

    #[test]
    fn time_and_cost_of_the_turns_and_of_the_clock() {
        let cost = format!(r#"{{{GRAPH},"budgets":{{"maxCycleCost":1000}}}}"#);
        Script::workflow(&cost).play("c=1,usd600 w=1,usd900 v=1,usd399 c=2,usd1").expect(RULE, &[(3, Halt)]);
        let time = format!(r#"{{{GRAPH},"budgets":{{"maxCycleRuntimeMs":60000,"maxTurnsPerNode":0}}}}"#);
        Script::workflow(&time).play("c=1,ms30000 v=1,ms29999 c=2,ms1").expect(RULE, &[(2, Halt)]);
        Script::workflow(&time).play("c>v @50 v>c @8 c>v v>c").expect(RULE, &[(2, Halt), (3, Halt)]);
    }

    #[test]
    fn a_learned_cycle_that_turns_out_larger_keeps_its_count() {
        let lap = "c>v v>c ";
        let grown = format!("{}v>w w>c {}", lap.repeat(6), lap);
        Script::workflow("{}").play(&grown).expect(RULE, &[(15, Halt)]);
    }
}
