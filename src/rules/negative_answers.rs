//! Catches: a tool asked one thing after another that finds nothing nearly every time.
//! Must not catch: two or three empty searches on the way, commands whose success is silent.
//! Idea: an empty answer is a fact about the world, and agents read it as an invitation to try again.

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, Told, confidence};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal};
use crate::state::{Occurrence, Ring};
use crate::text::{Key, combine, printable};
use alloc::format;

/// Tools watched at once.
const TOOLS: usize = 8;
/// Calls of a tool looked back at, at most.
const MAX_WINDOW: u32 = 32;

pub(crate) struct NegativeAnswers;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    tools: Ring<Tool>,
}
codec!(struct State { tools });

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

    fn count(&self) -> u32 {
        u32::try_from(self.negative().count()).unwrap_or(u32::MAX)
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
        let Fact::Step(step, _) = fact else { return None };
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
            let answer = Answer { negative, round, seen: Occurrence::new(step.sighting, step.onset) };
            tool.answers.push(answer, cx.limits.window as usize);
        }
        let count = tool.count();
        let signal = (negative && cx.limits.reached(count, 1)).then(|| {
            let name = printable(step.call.as_ref().map_or("a tool", |call| &call.name), 48);
            Streak::of(tool.negative().map(|answer| answer.seen.get())).signal(Told {
                kind: "empty-handed",
                identity: combine("negative-answers", &[tool.tool]),
                count,
                confidence: confidence(400, 40, count),
                signature: cx.named(&name, '?', tool.tool),
                message: format!("`{name}` found nothing in {count} of its last {} calls", tool.answers.len()),
                instead: "Check one thing that must be there; if that is found, take the empty answers as the result.",
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::Stalled,
            })
        });
        state.tools.push(tool, TOOLS);
        signal
    }

    fn standing(state: &State) -> u32 {
        state.tools.iter().map(Tool::count).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.tools.len() <= TOOLS && state.tools.iter().all(|tool| tool.answers.len() <= MAX_WINDOW as usize)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::Script;

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
}
