//! Catches: attempts at one task that keep failing alike: in the same way, for want of capacity, for want of money or
//! rights.
//! Must not catch: a few retries of an overloaded service, failures that change.
//! Idea: how patient to be depends on what may end the failure. Waiting ends overload, so that is given more time;
//! nothing but a person ends an empty account, so two of those are enough. Failures half a minute apart are paced and
//! count half, except the last kind.

use crate::model::{Body, Event, HaltReason, Recommendation};
use crate::rules::streak::{Streak, Told, confidence, named};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, forgets};
use crate::state::Ring;
use crate::text::{Key, Nature, combine, mistake, nature};
use alloc::format;
use serde::{Deserialize, Serialize};

/// Tasks watched at once.
const TASKS: usize = 32;
/// Milliseconds between two failures from which they count as paced.
const PACED: i64 = 30_000;

pub(crate) struct RepeatedFailure;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    tasks: Ring<Task>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Task {
    task: Key,
    nature: Nature,
    class: Key,
    /// Evidence in tenths of an ordinary failure, for the two kinds that add up.
    tenths: u32,
    at: Option<i64>,
    failures: Streak,
}

impl Task {
    fn failed(&mut self, cx: &Cx<'_>) {
        // Five transient failures say what three ordinary ones do.
        let whole = if self.nature == Nature::Transient { 6 } else { 10 };
        let paced = self.at.zip(cx.run.now).is_some_and(|(last, now)| now.saturating_sub(last) >= PACED);
        self.tenths = self.tenths.saturating_add(if paced { whole / 2 } else { whole });
        self.at = cx.run.now;
        self.failures.add(cx.here, cx.onset);
    }

    /// The evidence in ordinary failures.
    fn count(&self) -> u32 {
        match (self.nature, self.failures.times) {
            (Nature::Ordinary | Nature::Transient, _) => self.tenths / 10,
            (Nature::Permanent, times @ 0..2) => times,
            // The second says what three ordinary ones do, and every further one says it twice as loud.
            (Nature::Permanent, times) => 3_u32.saturating_mul(2_u32.saturating_pow((times - 2).min(16))),
        }
    }

    fn signal(&self, cx: &Cx<'_>) -> Option<Signal> {
        let count = self.count();
        let times = self.failures.times;
        cx.limits.reached(count, 1).then(|| {
            let (kind, what, instead, recommendation) = match self.nature {
                Nature::Ordinary => (
                    "same-failure",
                    "in the same way",
                    "Name what all attempts had in common, and change that.",
                    Recommendation::ChangeApproach,
                ),
                Nature::Transient => (
                    "transient",
                    "because something was overloaded or out of reach",
                    "Wait longer between two attempts, or use another provider.",
                    Recommendation::RetryWithBackoff,
                ),
                Nature::Permanent => (
                    "permanent",
                    "for want of quota, money or rights, which waiting does not bring back",
                    "Ask a person to look at the account or the credentials.",
                    Recommendation::UnblockAuthority,
                ),
            };
            self.failures.signal(Told {
                kind,
                identity: combine("repeated-failure", &[self.task, self.class]),
                count,
                confidence: confidence(600, 40, count),
                signature: named("failure", '!', self.class),
                message: format!("the task failed {times} times {what}"),
                instead,
                recommendation,
                halt_reason: HaltReason::RepeatedError,
            })
        })
    }
}

impl Rule for RepeatedFailure {
    const ID: &'static str = "repeated-failure";
    const ABOUT: &'static str = "Attempts at one task failing alike.";
    const UNIT: &'static str = "failures";
    const LIMITS: Limits = Limits::ladder(3, 6, 12, 0);
    const OUTLIVES_EVIDENCE: bool = true;
    const SEES: Facts = Facts::REPORT.and(Facts::STEP);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Event(Event { body: Body::Failure(failure), .. }) => {
                let nature = nature(failure);
                let class = match nature {
                    Nature::Ordinary => mistake(&failure.message),
                    // One overload is like another, whatever it says.
                    Nature::Transient => 1,
                    Nature::Permanent => 2,
                };
                let mut task = state
                    .tasks
                    .take(|known| known.task == cx.task)
                    .filter(|known| known.class == class)
                    .unwrap_or_else(|| Task {
                        task: cx.task,
                        nature,
                        class,
                        tenths: 0,
                        at: None,
                        failures: Streak::default(),
                    });
                task.failed(cx);
                let signal = task.signal(cx);
                state.tasks.push(task, TASKS);
                signal
            }
            // Something was answered, so what was out of reach is back.
            Fact::Step(step, _) if !step.facts.failed => {
                state.tasks.retain(|known| known.task != cx.task || known.nature != Nature::Transient);
                None
            }
            _ => None,
        }
    }

    fn forget_task(state: &mut State, task: Key) {
        state.tasks.retain(|known| !forgets(task, known.task));
    }

    fn standing(state: &State) -> u32 {
        state.tasks.iter().map(Task::count).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.tasks.len() <= TASKS && state.tasks.iter().all(|task| task.failures.fits())
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::Script;

    const RULE: &str = "repeated-failure";

    #[test]
    fn ordinary() {
        Script::new("{}").play("%broken %broken").expect(RULE, &[]);
        Script::new("{}").play("%broken %broken %broken").expect(RULE, &[(2, Nudge)]);
        Script::new("{}").play(&"%broken ".repeat(6)).last(RULE, Block);
        Script::new("{}").play(&"%broken ".repeat(12)).last(RULE, Halt);
        Script::new("{}").play("%broken %broken %torn %broken %broken").expect(RULE, &[]);
        // Half a minute apart: six for three, less the first, which counts whole.
        Script::new("{}").play("%broken @31 %broken @31 %broken @31 %broken").expect(RULE, &[]);
        Script::new("{}").play("%broken @31 %broken @31 %broken @31 %broken @31 %broken").last(RULE, Nudge);
    }

    #[test]
    fn transient() {
        Script::new("{}").play(&"%503 ".repeat(4)).expect(RULE, &[]);
        Script::new("{}").play("%503 %timeout %429 %503 %overloaded").last(RULE, Nudge);
        Script::new("{}").play(&"%503 ".repeat(10)).last(RULE, Block);
        Script::new("{}").play(&"%503 ".repeat(20)).last(RULE, Halt);
        Script::new("{}").play("%503 %503 %503 a:x %503 %503 %503").expect(RULE, &[]);
        Script::new("{}").play(&"%503 @31 ".repeat(8)).expect(RULE, &[]);
    }

    #[test]
    fn permanent() {
        Script::new("{}").play("%quota").expect(RULE, &[]);
        Script::new("{}").play("%quota @600 %quota").last(RULE, Nudge);
        Script::new("{}").play("%quota %quota %quota").last(RULE, Block);
        Script::new("{}").play("%quota %quota %quota %quota").last(RULE, Halt);
    }

    #[test]
    fn a_human_is_no_repair() {
        Script::new("{}").play("%broken %broken | %broken").last(RULE, Nudge);
    }
}
