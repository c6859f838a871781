//! Catches: a tool asked one thing after another that finds nothing nearly every time.
//! Must not catch: two or three empty searches on the way, commands whose success is silent.
//! Idea: an empty answer is a fact about the world, and agents read it as an invitation to try again. Three that deny one
//! and the same thing, by its name, say as much as five about anything.

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, Told, confidence};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal};
use crate::state::{Occurrence, Ring};
use crate::text::{Key, combine, named_things, printable};
use alloc::{boxed::Box, format, vec::Vec};

/// Tools watched at once.
const TOOLS: usize = 8;
/// Calls of a tool looked back at, at most.
const MAX_WINDOW: u32 = 32;
/// Things that a negative answer names, at most.
const THINGS: usize = 8;
/// Negative answers that name one thing and then count for more, and for how many more.
const ONE_THING: u32 = 3;
const MORE: u32 = 2;

pub(crate) struct NegativeAnswers;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    tools: Ring<Tool>,
    /// Only where something was denied by name.
    denied: Option<Box<Ring<Denied>>>,
}
codec!(struct State { tools, denied });

/// What a negative answer says it did not find.
#[derive(Clone, Debug)]
struct Denied {
    /// Sequence number of the answer.
    answer: u64,
    things: Vec<u32>,
}
codec!(struct Denied { answer, things });

#[derive(Clone, Debug)]
struct Tool {
    tool: Key,
    answers: Ring<Answer>,
}
codec!(struct Tool { tool, answers });

#[derive(Clone, Debug)]
struct Answer {
    negative: bool,
    round: Option<Key>,
    seen: Occurrence,
}
codec!(struct Answer { negative, round, seen });

impl Tool {
    fn negative(&self) -> impl Iterator<Item = &Answer> {
        self.answers.iter().filter(|answer| answer.negative)
    }

    fn all(&self) -> u32 {
        u32::try_from(self.negative().count()).unwrap_or(u32::MAX)
    }

    /// The evidence, where so many negative answers name one thing.
    fn count(&self, one: u32) -> u32 {
        let all = self.all();
        if one >= ONE_THING { all.max(one.saturating_add(MORE)) } else { all }
    }

    /// Most negative answers that name one thing.
    fn of_one_thing(&self, denied: Option<&Ring<Denied>>) -> u32 {
        let own = |known: &&Denied| self.negative().any(|answer| answer.seen.get().0.seq == known.answer);
        let denied = || denied.into_iter().flat_map(Ring::iter).filter(own);
        let with = |thing: &u32| denied().filter(|known| known.things.contains(thing)).count();
        let most = denied().flat_map(|known| known.things.iter()).map(with).max();
        u32::try_from(most.unwrap_or(0)).unwrap_or(u32::MAX)
    }
}

impl Rule for NegativeAnswers {
    const ID: &'static str = "negative-answers";
    const ABOUT: &'static str = "One tool that finds nothing nearly every time.";
    const UNIT: &'static str = "negative answers";
    const LIMITS: Limits = Limits::ladder(5, 0, 0, 7);
    const MAX_WINDOW: u32 = MAX_WINDOW;
    const SEES: Facts = Facts::STEP;
    type State = State;

    fn reach(window: u32) -> u32 {
        window
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Step(step, result) = fact else { return None };
        let mut tool = state
            .tools
            .take(|tool| tool.tool == step.tool)
            .unwrap_or_else(|| Tool { tool: step.tool, answers: Ring::default() });
        let round = step.call.as_ref().and_then(|call| call.round);
        let negative = step.facts.negative && !step.facts.waiting;
        let at_once = round.is_some() && tool.answers.last().is_some_and(|last| last.round == round);
        if at_once {
            // A batch finds something as soon as one of its calls does.
            tool.answers.iter_mut().next_back().into_iter().for_each(|last| last.negative &= negative);
        } else {
            // One thing in several places that the call itself names is a search of the places.
            let somewhere = step.call.as_ref().is_some_and(|call| call.target.is_some());
            let things = if negative && !somewhere { named_things(&result.output, THINGS) } else { Vec::new() };
            if !things.is_empty() {
                let denied = Denied { answer: step.sighting.seq, things };
                state.denied.get_or_insert_default().push(denied, MAX_WINDOW as usize);
            }
            let answer = Answer { negative, round, seen: Occurrence::new(step.sighting, step.onset) };
            tool.answers.push(answer, cx.limits.window as usize);
        }
        let one = tool.of_one_thing(state.denied.as_deref());
        let (count, all) = (tool.count(one), tool.all());
        let signal = (negative && cx.limits.reached(count, 1)).then(|| {
            let name = printable(step.call.as_ref().map_or("a tool", |call| &call.name), 48);
            Streak::of(tool.negative().map(|answer| answer.seen.get())).signal(Told {
                kind: "empty-handed",
                identity: combine("negative-answers", &[tool.tool]),
                count,
                confidence: confidence(400, 40, count),
                signature: cx.named(&name, '?', tool.tool),
                message: if count > all {
                    format!(
                        "`{name}` denied one and the same thing in {} of its last {} calls",
                        one,
                        tool.answers.len()
                    )
                } else {
                    format!("`{name}` found nothing in {all} of its last {} calls", tool.answers.len())
                },
                instead: "Check one thing that must be there; if that is found, take the empty answers as the result.",
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::Stalled,
            })
        });
        state.tools.push(tool, TOOLS);
        signal
    }

    fn standing(state: &State) -> u32 {
        let count = |tool: &Tool| tool.count(tool.of_one_thing(state.denied.as_deref()));
        state.tools.iter().map(count).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.tools.len() <= TOOLS
            && state.tools.iter().all(|tool| tool.answers.len() <= MAX_WINDOW as usize)
            && state.denied.iter().all(|denied| {
                denied.len() <= MAX_WINDOW as usize && denied.iter().all(|known| known.things.len() <= THINGS)
            })
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::{Script, events};
    use alloc::{format, vec::Vec};

    const RULE: &str = "negative-answers";

    #[test]
    fn table() {
        Script::new("{}").play("a- b- c- d-").expect(RULE, &[]);
        Script::new("{}").play("a- b- c- d- e-").expect(RULE, &[(9, Nudge)]);
        Script::new("{}").play("a- b:1 c- d- e:2 f- g-").expect(RULE, &[(13, Nudge)]);
        Script::new("{}").play("a- b:1 c- d:2 e- f:3 g- h:4 i- j:5 k-").expect(RULE, &[]);
        Script::new("{}").play("a- b- | c- d- e-").expect(RULE, &[]);
        // A shell that says nothing has done what it was told.
        Script::new("{}").play("bash/a. bash/b. bash/c. bash/d. bash/e.").expect(RULE, &[]);
        Script::new("{}").play("look/a. look/b. look/c. look/d. look/e.").expect(RULE, &[(9, Nudge)]);
    }

    #[test]
    fn one_thing_denied_by_name() {
        let asked = |answers: &[&str]| {
            let lines: Vec<_> = answers
                .iter()
                .enumerate()
                .flat_map(|(at, answer)| {
                    [
                        format!(r#"{{"type":"tool-call","tool":"python","args":{{"code":"look(way={at})"}}}}"#),
                        format!(r#"{{"type":"tool-result","tool":"python","outcome":"ok","output":"{answer}"}}"#),
                    ]
                })
                .collect();
            events("{}", &lines)
        };
        let one = ["Could not find data/quay_plan.csv", "Paths with quay_plan.csv: []", "no quay_plan.csv found"];
        asked(&one).expect(RULE, &[(5, Nudge)]);
        asked(&one[..2]).expect(RULE, &[]);
        // Something is found in between, another thing each time, and what has no name of its own.
        asked(&[one[0], "a_list.csv, 12 rows", one[1], one[2]]).expect(RULE, &[(7, Nudge)]);
        asked(&["Could not find tide_a.csv", "Could not find tide_b.csv", "Could not find tide_c.csv"])
            .expect(RULE, &[]);
        asked(&["Could not find any plan", "No plan found", "Plans: []"]).expect(RULE, &[]);
    }
}
