//! Catches: one turn of a node that took more time or tokens than a turn may.
//! Must not catch: turns of nodes outside the workflow, unless the budget is set; turns that report neither time nor
//! tokens.
//! Idea: the seed document on loop safety, its per-turn budget: 10 minutes by default, tokens if set.

use crate::model::Body;
use crate::rules::node_budget::{Spending, spent};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal};
use crate::state::{Sighting, node_key};
use alloc::vec;

/// Milliseconds that a turn of a node in the workflow may take, unless the host sets a budget.
const TIMEOUT: u64 = 600_000;

pub(crate) struct TurnBudget;

impl Rule for TurnBudget {
    const ID: &'static str = "turn-budget";
    const ABOUT: &'static str = "One turn of a node took more time or more tokens than a turn may.";
    const UNIT: &'static str = "of the budget";
    const LIMITS: Limits = Limits::configured();
    const OUTLIVES_EVIDENCE: bool = true;
    const SEES: Facts = Facts::REPORT;
    type State = ();

    fn observe(_: &mut (), fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Event(event) = fact else { return None };
        let Body::Turn(turn) = &event.body else { return None };
        let node = node_key(&turn.node);
        let budgets = &cx.config.budgets;
        let timeout = budgets.turn_timeout_ms.unwrap_or(if cx.flow.graph.binds(node) { TIMEOUT } else { 0 });
        let all = [
            Spending::new("turn-timeout", "turnTimeoutMs", "ms", turn.duration_ms.unwrap_or(0), timeout),
            Spending::new("turn-tokens", "maxTokens", "tokens", event.context.tokens.unwrap_or(0), budgets.max_tokens),
        ];
        let signal = spent(&all, "A turn of", &turn.node, node, cx)?;
        Some(Signal { onset: cx.onset, sightings: vec![Sighting { key: node, ..cx.here }], ..signal })
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Halt;
    use crate::rules::testing::Script;

    const RULE: &str = "turn-budget";
    const GRAPH: &str = r#""graph":{"nodes":["c","v"],"edges":[{"from":"c","to":"v"},{"from":"v","to":"c"}]}"#;

    #[test]
    fn table() {
        let graph = alloc::format!("{{{GRAPH}}}");
        Script::workflow(&graph).play("c=1,ms599999 c=2,ms600000").expect(RULE, &[(1, Halt)]);
        // A node outside the workflow has no default, and a turn that reports nothing has spent nothing.
        Script::workflow(&graph).play("x=1,ms900000 c=2").expect(RULE, &[]);
        Script::workflow("{}").play("c=1,ms900000").expect(RULE, &[]);
        let set = r#"{"budgets":{"turnTimeoutMs":1000,"maxTokens":500}}"#;
        Script::workflow(set).play("c=1,ms999 c=2,ms1000 c=3,tok499 c=4,tok500").expect(RULE, &[(1, Halt), (3, Halt)]);
        let off = alloc::format!(r#"{{{GRAPH},"budgets":{{"turnTimeoutMs":0}}}}"#);
        Script::workflow(&off).play("c=1,ms900000").expect(RULE, &[]);
    }
}
