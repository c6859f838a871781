//! Catches: an action that is repeated although the place and the numbers in its result stay the same: a click that
//! opens nothing, an item that does not get into the cart.
//! Must not catch: paging; growing counts; results that report no state; looks at one thing in between; a page that is
//! checked again after a pause.
//! Idea: whether an action had an effect shows in the state after it, not in the surrounding text, which other people
//! keep rewriting. The numbers that belong to the state are those that come back with every result of the tool.

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation, ToolResult};
use crate::rules::streak::{Streak, confidence};
use crate::rules::windows::{After, Row, Window, windows};
use crate::rules::{Cx, Facts, Limits, Outlook, Signal, SignalParts, advisory, many};
use crate::state::{Call, Occurrence, Onset, Sighting, Step};
use crate::text::{Asks, Effect, Key, Moved, combine, enters, mark, printable, progress, searches};
use alloc::{format, vec::Vec};

windows!(NoEffect = NO_EFFECT of Seen);

const NO_EFFECT: Row<Seen> = Row {
    id: "no-effect",
    about: "One action again and again although the place and the figures that it reports do not change.",
    unit: "times",
    limits: Limits::ladder(3, 4, 0, 0),
    sees: Facts::STEP,
    tools: 4,
    kept: 8,
    set: false,
    ahead: |_, _, _| None,
    called: |_, _, _| {},
    heeds: |_, step| step.call.as_ref().is_some_and(acts),
    see,
    holds: |window, (), view| {
        let Some(newest) = window.seen.last() else { return Outlook::default() };
        let before = window.seen.iter().take(window.seen.len().saturating_sub(1));
        if newest.arrives(before.clone().next_back()) {
            return Outlook::default();
        }
        let same = before.filter(|seen| newest.repeats(seen));
        let count = many(same.clone().count()).saturating_add(1);
        if newest.is_told(same) { view.advisory(view.limits, count) } else { view.of(count) }
    },
    fits: |state| state.tools.iter().all(|window| window.seen.iter().all(|seen| seen.state.fits())),
};

#[derive(Clone, Debug)]
pub(crate) struct Seen {
    state: Effect,
    /// The call's target, if known.
    target: Option<Key>,
    /// It searches: what it shows may be all that there is to find.
    searches: bool,
    round: Option<Key>,
    /// New mutations that the call may have seen, including its own.
    mutations: u64,
    /// The progress that the result reports.
    progress: u32,
    seen: Occurrence,
}
codec!(struct Seen { state, target, searches, round, mutations, progress, seen });

impl Seen {
    /// Whether the same was done as at an earlier time, without effect.
    fn repeats(&self, before: &Self) -> bool {
        // Without a place, the numbers must be about the same target.
        let somewhere = self.state.place != 0 || self.target.is_some() && self.target == before.target;
        somewhere
            && self.mutations == before.mutations
            && self.progress == before.progress
            && (self.round.is_none() || self.round != before.round)
            && self.state.act == before.state.act
            && self.state.moved(&before.state) == Moved::No
    }

    /// Whether it arrived here from another place, which is an effect.
    fn arrives(&self, last: Option<&Self>) -> bool {
        let elsewhere = |last: &Self| last.state.place != 0 && last.state.place != self.state.place;
        self.state.place != 0 && last.is_some_and(elsewhere)
    }

    /// Whether findings are advice only: they are blocked only at one place and for one target, since one answer for
    /// different targets or questions may simply be the answer.
    fn is_told<'a>(&self, mut same: impl Iterator<Item = &'a Self>) -> bool {
        self.searches || self.state.place == 0 || same.any(|seen| seen.target != self.target)
    }
}

/// Whether a call may change what a page or an agent shows.
fn acts(call: &Call) -> bool {
    matches!(call.asks, Asks::Prose | Asks::View | Asks::Gesture) && !call.polling
}

fn see(
    window: &mut Window<Seen>,
    (): &mut (),
    step: &Step,
    result: &ToolResult,
    cx: &Cx<'_>,
    after: &mut After,
) -> Option<Signal> {
    let waits = step.facts.waiting || step.watches() && step.kin.is_same_call();
    let call = step.call.as_ref().filter(|call| acts(call)).filter(|_| !step.facts.failed && !waits)?;
    let mut state = step.effect(result).clone();
    // Input into different fields is different, however alike the answers are.
    if let Some(target) = call.target.filter(|_| enters(&call.name)) {
        state.act ^= mark(target);
    }
    let newest = Seen {
        state,
        target: call.target,
        searches: searches(&call.name),
        round: call.round,
        mutations: step.mutations_after(),
        progress: progress(&result.output),
        seen: step.occurrence(),
    };
    let arrives = newest.arrives(window.seen.last());
    let same: Vec<(Sighting, Onset)> =
        window.seen.iter().filter(|seen| !arrives && newest.repeats(seen)).map(|known| known.seen.get()).collect();
    let count = many(same.len()).saturating_add(u32::from(!same.is_empty()));
    let signal = cx.limits.reached(count).then(|| {
        let signal = signal(step, &newest, same, count, cx);
        let told = newest.is_told(window.seen.iter().filter(|seen| newest.repeats(seen)));
        if told { advisory(signal, cx) } else { signal }
    });
    window.seen.push(newest, NO_EFFECT.kept as usize);
    *after = After::Newest;
    signal
}

fn signal(step: &Step, newest: &Seen, mut same: Vec<(Sighting, Onset)>, count: u32, cx: &Cx<'_>) -> Signal {
    same.push(newest.seen.get());
    let name = printable(step.call.as_ref().map_or("a tool", |call| &call.name), 48);
    let identity = combine("no-effect", &[step.tool, newest.state.place.into(), newest.state.act.into()]);
    let what =
        if newest.state.place == 0 { "the figures in its results" } else { "the place and the figures in its results" };
    Streak::of(same.into_iter()).signal(SignalParts {
        kind: "unmoved-state",
        identity,
        count,
        confidence: confidence(450, 50, count),
        signature: cx.named(&name, '.', identity),
        message: format!("`{name}` had the same effect {count} times: {what} did not change"),
        instead: "Look at what this action should have changed, or take another way.",
        recommendation: Recommendation::ChangeApproach,
        halt_reason: HaltReason::Stalled,
    })
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Nudge, Observe};
    use crate::rules::testing::{Played, events, pair};
    use alloc::{format, string::String};

    const RULE: &str = "no-effect";

    fn clicks(results: impl IntoIterator<Item = String>) -> Played {
        let click = |(at, result): (usize, String)| {
            pair("click", &format!(r##"{{"selector":"#add","try":{at}}}"##), "ok", &result)
        };
        events("{}", results.into_iter().enumerate().flat_map(click))
    }

    #[test]
    fn figures_that_stay() {
        let cart = |items: usize, text: &str| format!("Clicked. Cart: {items} items. Today: {text}");
        let texts = ["kayaks", "Malta from 39", "bees", "a new city card"];
        clicks(texts.map(|text| cart(0, text))).expect(RULE, &[(5, Nudge), (7, Observe)]);
        clicks((0..6).map(|items| cart(items, "kayaks"))).expect(RULE, &[]);
        clicks(texts.map(|text| format!("Clicked. {text}"))).expect(RULE, &[]);
    }

    #[test]
    fn a_place_that_stays() {
        let page = |place: &str, position: usize, text: &str| {
            format!("Pressed the button.\\nAddress: https://a.example/{place}\\nAt {position} % of the page\\n{text}")
        };
        let same = |times: usize| (0..times).map(|at| page("b", 10, &"x".repeat(at)));
        clicks(same(2)).expect(RULE, &[]);
        clicks(same(3)).expect(RULE, &[(5, Nudge)]);
        clicks((0..6).map(|at| page("b", at * 10, "x"))).expect(RULE, &[]);
        clicks((0..6).map(|at| page(&format!("b{at}"), 10, "x"))).expect(RULE, &[]);
    }
}
