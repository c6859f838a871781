//! A plan that is rewritten over and over while nothing of it is done.

use super::{SUCCESS_VARIED, Stuck};
use crate::codec::codec;
use crate::model::HaltReason;
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::{Call, Step};
use crate::text::{Asks, combine, keeps_notes, mark};
use alloc::{boxed::Box, format};

/// Points that a look takes off: a plan is made of what was seen.
const LOOKED: u32 = 1;

/// Present while the latest act was to write a plan of which nothing has begun, or a look since at what to do.
#[derive(Clone, Debug, Default)]
pub(super) struct Plans(Option<Box<Plan>>);
codec!(struct Plans(_));

/// Plans in a row, each different from the previous one.
#[derive(Clone, Debug, Default)]
struct Plan {
    latest: u32,
    points: u32,
    seen: Streak,
}
codec!(struct Plan { latest, points, seen });

impl Plans {
    /// Records a step; true if it wrote a plan other than the latest. Thinking and reading one's own notes are no acts.
    pub(super) fn took(&mut self, step: &Step, call: &Call, thought: bool) -> bool {
        if call.asks == Asks::Plan {
            // Something in it has begun.
            self.0 = None;
            return false;
        }
        if call.asks != Asks::Draft || step.facts.failed {
            let Some(plan) = self.0.as_mut().filter(|_| !thought && !keeps_notes(&call.name)) else { return false };
            if step.looks() {
                plan.points = plan.points.saturating_sub(LOOKED);
            } else {
                self.0 = None;
            }
            return false;
        }
        let plan = self.0.get_or_insert_default();
        let latest = mark(call.key);
        let other = core::mem::replace(&mut plan.latest, latest) != latest;
        if other {
            plan.points = plan.points.saturating_add(SUCCESS_VARIED);
            plan.seen.add(step.sighting, step.onset);
        }
        other
    }

    pub(super) fn points(&self) -> u32 {
        self.0.as_ref().map_or(0, |plan| plan.points)
    }

    pub(super) fn signal(&self, cx: &Cx<'_>) -> Option<Signal> {
        let plan = self.0.as_ref()?;
        let found = Stuck {
            kind: "plan-again",
            name: "plan",
            what: combine("stagnation/plan", &[]),
            points: self.points(),
            message: format!("a plan was written {} times, and none of it was carried out", plan.seen.times),
            instead: "Do the first step of the plan as it stands.",
            halt_reason: HaltReason::Stalled,
        };
        Some(found.signal(&plan.seen, cx))
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Nudge, Observe};
    use crate::rules::testing::{events, step};
    use alloc::{format, string::String, vec::Vec};

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
        // In between, the agent reads its own notes and notes thoughts.
        let notes = || step("ann", "todo_read", "{}", "two things to do");
        let thought = || step("ann", "think", r#"{"thought":"doves"}"#, "logged");
        let around = FIRST.iter().flat_map(|first| [plan("ann", first), notes(), thought()].concat());
        expect(around.collect(), &[(19, Nudge), (25, Observe)]);
        // Another agent's acts are not its own.
        let act = |agent| step(agent, "open_hatch", r#"{"side":"south"}"#, "open");
        let beside = FIRST.iter().flat_map(|first| [plan("ann", first), act("bob")].concat());
        expect(beside.take(16).collect(), &[(13, Nudge)]);
        // Two agents plan in turns.
        let both = FIRST.iter().flat_map(|first| [plan("ann", first), plan("bob", first)].concat());
        expect(both.take(16).collect(), &[(13, Nudge), (15, Nudge)]);
        // It never blocks by itself, and does where the configuration says so.
        let blocks = r#"{"rules":{"stagnation":{"block":13}}}"#;
        let lines: Vec<String> = FIRST.iter().flat_map(|first| plan("ann", first)).collect();
        events(blocks, &lines).strongest("stagnation", Block);
    }

    #[test]
    fn plans_that_are_kept() {
        let quiet = |lines: Vec<String>| events("{}", &lines).expect("stagnation", &[]);
        let sides = ["north", "east", "south", "west", "top"];
        let act = |side: &str| step("ann", "open_hatch", &format!(r#"{{"side":"{side}"}}"#), "open");
        quiet(FIRST.iter().zip(sides).flat_map(|(first, side)| [plan("ann", first), act(side)].concat()).collect());
        // Things that are noted one by one.
        let one = |what: &str| step("ann", "todo_add", &format!(r#"{{"text":"{what}"}}"#), "added");
        quiet(FIRST.iter().flat_map(|what| one(what)).collect());
        // Each plan answers a message of the user.
        let asks = [String::from(r#"{"type":"message","role":"user","text":"No, begin with the loft."}"#)];
        let said = [String::from(r#"{"type":"message","role":"assistant","text":"Is that the plan?"}"#)];
        quiet(FIRST.iter().flat_map(|first| [&plan("ann", first)[..], &said[..], &asks[..]].concat()).collect());
    }
}
