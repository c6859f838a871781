//! Catches: a tool that is asked one thing after another and finds nothing nearly every time.
//! Must not catch: two or three empty searches along the way; one question asked of one document after another;
//! commands whose success is silent; a check after each change; a mailbox that is still empty.
//! Idea: an empty answer is a fact about the world, and agents read it as an invitation to try again. Three answers
//! that deny one and the same thing by name mean as much as five about anything.

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation, ToolResult};
use crate::rules::streak::{Streak, confidence};
use crate::rules::windows::{After, Row, Window, windows};
use crate::rules::{Cx, Facts, Limits, Signal, SignalParts, many};
use crate::state::{Call, Occurrence, Ring, Step};
use crate::text::{Asks, Key, combine, mark, named_things, printable};
use alloc::{boxed::Box, format, vec::Vec};

/// Maximum window, in calls of a tool.
const MAX_WINDOW: u32 = 32;
/// Maximum number of things recorded that a negative answer names.
const THINGS: usize = 8;
/// Number of negative answers naming the same thing from which they count for more, and how many more.
const ONE_THING: u32 = 3;
const MORE: u32 = 2;
/// Negative answers in a list, each about something else, that count as one.
const LIST: usize = 2;
/// One in this many calls of a list has to find something.
const PART: usize = 4;

windows!(NegativeAnswers = NEGATIVE_ANSWERS of Answer, ByName);

const NEGATIVE_ANSWERS: Row<Answer, ByName> = Row {
    id: "negative-answers",
    about: "One tool that finds nothing nearly every time.",
    unit: "negative answers",
    limits: Limits::ladder(5, 0, 0, 7),
    sees: Facts::STEP,
    tools: 8,
    kept: MAX_WINDOW,
    set: true,
    ahead: |_, _, _| None,
    called: |_, _, _| {},
    heeds: |_, _| true,
    see,
    holds: |window, denied, view| view.of(window.count(window.of_one_thing(denied.as_deref()))),
    fits: |state| {
        state.more.iter().all(|denied| {
            denied.len() <= MAX_WINDOW as usize && denied.iter().all(|known| known.things.len() <= THINGS)
        })
    },
};

/// Only present if something was denied by name.
type ByName = Option<Box<Ring<Denied>>>;

/// The things that a negative answer says it did not find.
#[derive(Clone, Debug)]
pub(crate) struct Denied {
    /// Sequence number of the answer.
    answer: u64,
    things: Vec<u32>,
}
codec!(struct Denied { answer, things });

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    no: NegativeAnswer,
    round: Option<Key>,
    /// New mutations that the call may have seen, including its own.
    mutations: u64,
    seen: Occurrence,
}
codec!(struct Answer { no, round, mutations, seen });

/// A negative answer in four bytes; 0 for any other answer. From the lowest bit: always 1; whether it was an error
/// rather than empty; whether the call differs from the previous one of its kind in numbers only; 14 bits of the call;
/// 15 bits of its target, 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NegativeAnswer(u32);
codec!(struct NegativeAnswer(_));

impl NegativeAnswer {
    const fn new(failed: bool, figures: bool, call: u32, target: u32) -> Self {
        Self(target >> 17 << 17 | call >> 18 << 3 | (figures as u32) << 2 | (failed as u32) << 1 | 1)
    }

    const fn is_no(self) -> bool {
        self.0 != 0
    }

    const fn failed(self) -> bool {
        self.0 & 2 != 0
    }

    const fn target(self) -> u32 {
        self.0 >> 17
    }

    /// The call and its target.
    const fn call(self) -> u32 {
        self.0 >> 3
    }

    /// The same if only numbers distinguish it from the previous call; otherwise the target alone.
    const fn figures(self) -> u32 {
        if self.0 & 4 != 0 { self.call() } else { self.target() }
    }
}

impl Window<Answer> {
    fn negative(&self) -> impl Iterator<Item = &Answer> {
        self.seen.iter().filter(|answer| answer.no.is_no())
    }

    fn all(&self) -> u32 {
        let all = self.negative().count();
        // An error and an empty answer are different things.
        let failed = self.negative().filter(|answer| answer.no.failed()).count();
        let alike = failed.max(all - failed);
        let alone = |one: u32, of: fn(NegativeAnswer) -> u32| {
            one != 0 && self.negative().filter(|other| of(other.no) == one).count() == 1
        };
        // A search through things that exist but do not contain what is asked for.
        let things = || self.negative().all(|answer| alone(answer.no.target(), NegativeAnswer::target));
        let others = |of: fn(NegativeAnswer) -> u32| self.negative().filter(|answer| !alone(of(answer.no), of)).count();
        // Calls that differ in numbers only may be paging past the end; a search through a list in words finds a part
        // of it.
        let list = failed == 0
            && (things()
                || self.finds_some(1) && others(NegativeAnswer::figures) <= 1
                || self.finds_some(self.seen.len().div_ceil(PART)) && others(NegativeAnswer::call) <= 1);
        many(if list { alike / LIST } else { alike })
    }

    /// Whether at least `least` calls found something, one of them between two negative answers.
    fn finds_some(&self, least: usize) -> bool {
        let mut found = self.seen.iter().skip_while(|answer| !answer.no.is_no()).skip_while(|answer| answer.no.is_no());
        found.any(|answer| answer.no.is_no()) && self.seen.len() - self.negative().count() >= least
    }

    /// The evidence, given that `one` negative answers name the same thing.
    fn count(&self, one: u32) -> u32 {
        let all = self.all();
        if one >= ONE_THING { all.max(one.saturating_add(MORE)) } else { all }
    }

    /// The largest number of negative answers that name the same thing.
    fn of_one_thing(&self, denied: Option<&Ring<Denied>>) -> u32 {
        let own = |known: &&Denied| self.negative().any(|answer| answer.seen.get().0.seq == known.answer);
        let denied = || denied.into_iter().flat_map(Ring::iter).filter(own);
        let with = |thing: &u32| denied().filter(|known| known.things.contains(thing)).count();
        let most = denied().flat_map(|known| known.things.iter()).map(with).max();
        many(most.unwrap_or(0))
    }
}

impl Window<Answer> {
    /// Takes in an answer; the further calls of a parallel batch are merged into its first.
    fn took(&mut self, step: &Step, result: &ToolResult, negative: bool, by_name: &mut ByName, cx: &Cx<'_>) {
        let round = step.round();
        if round.is_some()
            && let Some(last) = self.seen.nth_back_mut(0)
            && last.round == round
        {
            // A batch finds something as soon as one of its calls does.
            if !negative {
                last.no = NegativeAnswer::default();
            }
            return;
        }
        let target = step.target();
        let no = if negative {
            // If the call itself names a target, it searches several places for one thing.
            let things = if target == 0 { named_things(&result.output, THINGS) } else { Vec::new() };
            if !things.is_empty() {
                let denied = Denied { answer: step.sighting.seq, things };
                by_name.get_or_insert_default().push(denied, MAX_WINDOW as usize);
            }
            let failed = step.facts.class.is_some() || step.root(result, cx.salt).is_some();
            let next = step.kin.before.is_some_and(|_| !step.kin.is_same_call());
            NegativeAnswer::new(failed, next, step.call.as_ref().map_or(0, |call| mark(call.key)), target)
        } else {
            NegativeAnswer::default()
        };
        let answer = Answer { no, round, mutations: step.mutations_after(), seen: step.occurrence() };
        self.seen.push(answer, cx.limits.window as usize);
    }
}

fn see(
    window: &mut Window<Answer>,
    by_name: &mut ByName,
    step: &Step,
    result: &ToolResult,
    cx: &Cx<'_>,
    after: &mut After,
) -> Option<Signal> {
    // Look-ups of dates and places by fields mostly find nothing, and letting time pass always does.
    let else_asked = |call: &Call| call.asks == Asks::Record || call.idles;
    let negative = step.facts.negative && !step.facts.waiting && !step.call.as_ref().is_some_and(else_asked);
    // Something that may still arrive is waited for.
    let looks_again = step.kin.is_same_call() && step.call.as_ref().is_some_and(|call| call.watches || step.watches());
    if negative && looks_again {
        return None;
    }
    // A look after a change checks its effect.
    if window.seen.last().is_some_and(|last| step.mutations_before() > last.mutations) {
        window.seen.clear();
    }
    window.took(step, result, negative, by_name, cx);
    *after = After::Newest;
    if !negative {
        return None;
    }
    let one = window.of_one_thing(by_name.as_deref());
    let (count, all) = (window.count(one), window.all());
    cx.limits.reached(count).then(|| {
        let name = printable(step.name(result), 48);
        let calls = window.seen.len();
        Streak::of(window.negative().map(|answer| answer.seen.get())).signal(SignalParts {
            kind: "nothing-found",
            identity: combine("negative-answers", &[window.tool]),
            count,
            confidence: confidence(400, 40, count),
            signature: cx.named(&name, '?', step.tool),
            message: if count > all {
                format!("`{name}` reported the same thing as missing in {one} of its last {calls} calls")
            } else {
                format!("`{name}` found nothing in {all} of its last {calls} calls")
            },
            instead: "Look for one thing that must be there; if it is found, accept the empty answers as the result.",
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::Stalled,
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::{Script, events, pair};
    use alloc::format;

    const RULE: &str = "negative-answers";

    #[test]
    fn table() {
        Script::new("{}").play("a- b- c- d-").expect(RULE, &[]);
        Script::new("{}").play("a- b- c- d- e-").expect(RULE, &[(9, Nudge)]);
        Script::new("{}").play("a- b:1 c- d- e- f-").expect(RULE, &[(11, Nudge)]);
        // One thing after another, some of which exist.
        Script::new("{}").play("a- b:1 c- d- e:2 f- g-").expect(RULE, &[]);
        Script::new("{}").play("a- b:1 c- d:2 e- f:3 g- h:4 i- j:5 k-").expect(RULE, &[]);
        Script::new("{}").play("a- b- | c- d- e-").expect(RULE, &[]);
        // Something new is changed in between.
        Script::new("{}").play("a- *1 b- *2 c- *3 d- *4 e- *5 f- *6 g-").expect(RULE, &[]);
        Script::new("{}").play("a- b- *1 c- d- e- f- g-").expect(RULE, &[(15, Nudge)]);
        // A silent shell command has done what it was told.
        Script::new("{}").play("bash/a. bash/b. bash/c. bash/d. bash/e.").expect(RULE, &[]);
        Script::new("{}").play("look/a. look/b. look/c. look/d. look/e.").expect(RULE, &[(9, Nudge)]);
    }

    #[test]
    fn one_thing_denied_by_name() {
        let asked = |answers: &[&str]| {
            let look =
                |(at, answer): (usize, &&str)| pair("python", &format!(r#"{{"code":"look(way={at})"}}"#), "ok", answer);
            events("{}", answers.iter().enumerate().flat_map(look))
        };
        let one = ["Could not find data/quay_plan.csv", "Paths with quay_plan.csv: []", "no quay_plan.csv found"];
        asked(&one).expect(RULE, &[(5, Nudge)]);
        asked(&one[..2]).expect(RULE, &[]);
        // Something is found in between; a different thing each time; things without a name of their own.
        asked(&[one[0], "a_list.csv, 12 rows", one[1], one[2]]).expect(RULE, &[(7, Nudge)]);
        asked(&["Could not find tide_a.csv", "Could not find tide_b.csv", "Could not find tide_c.csv"])
            .expect(RULE, &[]);
        asked(&["Could not find any plan", "No plan found", "Plans: []"]).expect(RULE, &[]);
    }
}
