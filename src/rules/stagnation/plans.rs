//! A plan that is written anew and anew, and nothing of it is done.

use super::{WELL_ELSE, confidence};
use crate::codec::codec;
use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal, Told};
use crate::state::{Call, Step};
use crate::text::{Asks, combine, keeps_notes, mark};
use alloc::{boxed::Box, format};

/// Only where the latest act was to write a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Plans(Option<Box<Plan>>);
codec!(struct Plans(_));

/// Plans in a row by one agent, none of which is the one before.
#[derive(Clone, Debug, Default)]
struct Plan {
    agent: u32,
    latest: u32,
    seen: Streak,
}
codec!(struct Plan { agent, latest, seen });

impl Plans {
    /// Takes a step in, and tells whether it wrote one more plan. What is thought or read in one's own notes is no act, and another
    /// agent's act is none of this one's.
    pub(super) fn took(&mut self, step: &Step, call: &Call, thought: bool) -> bool {
        let agent = mark(step.agent);
        if call.asks != Asks::Plan || step.facts.failed {
            let acted = !thought && !keeps_notes(&call.name);
            self.0 = self.0.take().filter(|plan| plan.agent != agent || !acted);
            return false;
        }
        let mut plan = self.0.take().filter(|plan| plan.agent == agent).unwrap_or_default();
        let latest = mark(call.key);
        let other = latest != plan.latest;
        (plan.agent, plan.latest) = (agent, latest);
        if other {
            plan.seen.add(step.sighting, step.onset);
        }
        self.0 = Some(plan);
        other
    }

    pub(super) fn points(&self) -> u32 {
        self.0.as_ref().map_or(0, |plan| plan.seen.times.saturating_mul(WELL_ELSE))
    }

    pub(super) fn told(&self, cx: &Cx<'_>) -> Option<Signal> {
        let plan = self.0.as_ref()?;
        let identity = combine("stagnation/plan", &[cx.agent]);
        Some(plan.seen.signal(Told {
            kind: "plan-again",
            identity,
            count: self.points(),
            confidence: confidence(400, 14, self.points()),
            signature: cx.named("plan", '=', identity),
            message: format!("a plan was written {} times in a row, and nothing of it was done", plan.seen.times),
            instead: "Do the first step of the plan as it stands.",
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::Stalled,
        }))
    }

    pub(super) fn fits(&self) -> bool {
        self.0.as_ref().is_none_or(|plan| plan.seen.fits())
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Nudge, Observe};
    use crate::rules::testing::events;
    use alloc::{format, string::String, vec::Vec};

    fn step(agent: &str, tool: &str, args: &str, answer: &str) -> [String; 2] {
        [
            format!(r#"{{"type":"tool-call","agent":"{agent}","tool":"{tool}","args":{args}}}"#),
            format!(r#"{{"type":"tool-result","agent":"{agent}","tool":"{tool}","outcome":"ok","output":"{answer}"}}"#),
        ]
    }

    fn plan(agent: &str, first: &str) -> [String; 2] {
        let args = format!(r#"{{"todos":[{{"do":"{first}","done":false}},{{"do":"sweep the loft","done":false}}]}}"#);
        step(agent, "TodoWrite", &args, "noted")
    }

    const FIRST: [&str; 5] =
        ["feed the doves", "doves: feed", "give the doves grain", "fill the trough", "doves first"];

    #[test]
    fn plans_in_a_row() {
        let expect = |lines: Vec<String>, expected: &[_]| events("{}", &lines).expect("stagnation", expected);
        expect(FIRST.iter().flat_map(|first| plan("ann", first)).collect(), &[(7, Nudge), (9, Observe)]);
        // Its own notes are read in between, and thoughts written down.
        let notes = || step("ann", "todo_read", "{}", "two things to do");
        let thought = || step("ann", "think", r#"{"thought":"doves"}"#, "logged");
        let around = FIRST.iter().flat_map(|first| [plan("ann", first), notes(), thought()].concat());
        expect(around.collect(), &[(19, Nudge), (25, Observe)]);
        // Another agent's acts are none of its own.
        let act = |agent| step(agent, "open_hatch", r#"{"side":"south"}"#, "open");
        let beside = FIRST.iter().flat_map(|first| [plan("ann", first), act("bob")].concat());
        expect(beside.take(16).collect(), &[(13, Nudge)]);
    }

    #[test]
    fn plans_that_are_kept() {
        let quiet = |lines: Vec<String>| events("{}", &lines).expect("stagnation", &[]);
        let sides = ["north", "east", "south", "west", "top"];
        let act = |side: &str| step("ann", "open_hatch", &format!(r#"{{"side":"{side}"}}"#), "open");
        quiet(FIRST.iter().zip(sides).flat_map(|(first, side)| [plan("ann", first), act(side)].concat()).collect());
        // Things that are noted one by one, and one plan that is sent again.
        let one = |what: &str| step("ann", "todo_add", &format!(r#"{{"text":"{what}"}}"#), "added");
        quiet(FIRST.iter().flat_map(|what| one(what)).collect());
        // Each turn's plan is the user's.
        let asks = [String::from(r#"{"type":"message","role":"user","text":"No, begin with the loft."}"#)];
        let said = [String::from(r#"{"type":"message","role":"assistant","text":"Is that the plan?"}"#)];
        quiet(FIRST.iter().flat_map(|first| [&plan("ann", first)[..], &said[..], &asks[..]].concat()).collect());
    }
}
