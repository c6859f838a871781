//! Catches: attempts at one task that keep failing in the same way, or because a service they need answers with errors.
//! Must not catch: failures that change; tests that get better from failure to failure, or of which a different number
//! fails, however similar the messages; external failures, which belong to `external-failure` alone and neither count
//! here nor end a streak.
//! Idea: how patient to be depends on what may resolve the failure. Waiting resolves overload, so that is given more
//! time. Failures half a minute or more apart are paced and count half.

use crate::codec::codec;
use crate::model::{Body, Event, HaltReason, Recommendation};
use crate::rules::streak::{Streak, confidence};
use crate::rules::task_loop::Reading;
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, SignalParts};
use crate::state::{Flow, Ring, ScopeKeys};
use crate::text::{FailureFacts, Key, Nature, combine, mistake, nature};
use alloc::format;

/// Tasks watched at once.
const TASKS: usize = 32;
/// Milliseconds between two failures from which they count as paced.
const PACED: i64 = 30_000;

pub(crate) struct RepeatedFailure;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    tasks: Ring<Task>,
}
codec!(struct State { tasks });

impl State {
    fn of(&mut self, task: Key) -> Option<&mut Task> {
        self.tasks.renew(TASKS, |known| known.task == task, || Task { task, ..Task::default() })
    }
}

#[derive(Clone, Debug, Default)]
struct Task {
    task: Key,
    /// Waiting may resolve its latest failure.
    transient: bool,
    class: Key,
    /// Evidence in tenths of an ordinary failure.
    tenths: u32,
    at: Option<i64>,
    failures: Streak,
    /// The latest test figures.
    reading: Option<Reading>,
    /// They have improved since the last failure.
    improved: bool,
}
codec!(struct Task { task, transient, class, tenths, at, failures, reading, improved });

impl Task {
    fn read(&mut self, reading: Option<Reading>) {
        let Some(reading) = reading else { return };
        self.improved |= self.reading.is_some_and(|last| reading.is_better(&last));
        self.reading = Some(reading.after(&self.reading.unwrap_or_default()));
    }

    /// Drops the evidence.
    fn clear(&mut self) {
        (self.tenths, self.at) = (0, None);
        self.failures.clear();
    }

    fn failed(&mut self, transient: bool, class: Key, cx: &Cx<'_>) {
        if core::mem::take(&mut self.improved) || self.class != class {
            self.clear();
        }
        (self.transient, self.class) = (transient, class);
        // Five transient failures count as much as three ordinary ones.
        let whole = if transient { 6 } else { 10 };
        let paced = self.at.zip(cx.run.now).is_some_and(|(last, now)| now.saturating_sub(last) >= PACED);
        self.tenths = self.tenths.saturating_add(if paced { whole / 2 } else { whole });
        self.at = cx.run.now;
        self.failures.add(cx.here, cx.onset);
    }

    /// The evidence in ordinary failures.
    fn count(&self) -> u32 {
        self.tenths / 10
    }

    fn signal(&self, cx: &Cx<'_>) -> Option<Signal> {
        let count = self.count();
        let times = self.failures.times;
        cx.limits.reached(count).then(|| {
            let (kind, what, instead, recommendation) = if self.transient {
                (
                    "transient",
                    "because something was overloaded or unreachable",
                    "Wait longer between attempts, or use another provider.",
                    Recommendation::RetryWithBackoff,
                )
            } else {
                (
                    "same-failure",
                    "in the same way",
                    "Name what all attempts had in common, and change that.",
                    Recommendation::ChangeApproach,
                )
            };
            self.failures.signal(SignalParts {
                kind,
                identity: combine("repeated-failure", &[self.task, self.class]),
                count,
                confidence: confidence(600, 40, count),
                signature: cx.named("failure", '!', self.class),
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
    const ABOUT: &'static str = "Attempts at one task failing in the same way.";
    const UNIT: &'static str = "failures";
    const LIMITS: Limits = Limits::ladder(3, 6, 12, 0);
    const OUTLIVES_EVIDENCE: bool = true;
    const SEES: Facts = Facts::REPORT.and(Facts::STEP);
    type State = State;

    #[inline]
    fn heeds(state: &State, fact: &Fact<'_>, _: &Cx<'_>) -> bool {
        state.tasks.len() > 0 || !matches!(fact, Fact::Step(..))
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Event(Event { body: Body::Failure(failure), .. }) => {
                let facts = FailureFacts::of(failure, cx.salt);
                if facts.external {
                    return None;
                }
                let transient = facts.is_unnamed() && nature(failure) == Nature::Transient;
                let class = if transient {
                    // Transient failures are all of one class, whatever they say.
                    1
                } else {
                    // A different number of failing tests is a different failure.
                    let failing = facts.failing.map_or(0, |failing| Key::from(failing) + 1);
                    combine("failure/class", &[mistake(&failure.message, cx.salt), failing])
                };
                let task = state.of(cx.task)?;
                task.read(Reading::told(&facts));
                task.failed(transient, class, cx);
                task.signal(cx)
            }
            Fact::Event(Event { body: Body::Progress(progress), .. }) => {
                let reading = progress.tests.as_ref().and_then(Reading::of)?;
                state.of(cx.task)?.read(Some(reading));
                None
            }
            // A call succeeded, so what was unavailable is back.
            Fact::Step(step, _) if !step.facts.failed => {
                state.tasks.iter_mut().filter(|known| known.task == cx.task && known.transient).for_each(Task::clear);
                None
            }
            _ => None,
        }
    }

    fn drop_tasks(state: &mut State, gone: &dyn Fn(Key) -> bool) {
        state.tasks.retain(|known| !gone(known.task));
    }

    fn standing_of(state: &State, whose: &ScopeKeys, _flow: &Flow<'_>) -> u32 {
        state.tasks.iter().filter(|known| whose.has_task(known.task)).map(Task::count).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.tasks.len() <= TASKS
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::{Script, events};
    use alloc::format;

    const RULE: &str = "repeated-failure";

    #[test]
    fn ordinary() {
        Script::new("{}").play("%broken %broken").expect(RULE, &[]);
        Script::new("{}").play("%broken %broken %broken").expect(RULE, &[(2, Nudge)]);
        Script::new("{}").play(&"%broken ".repeat(6)).last(RULE, Block);
        Script::new("{}").play(&"%broken ".repeat(12)).last(RULE, Halt);
        Script::new("{}").play("%broken %broken %torn %broken %broken").expect(RULE, &[]);
        // Half a minute apart: the first counts in full, every other one half.
        Script::new("{}").play("%broken @31 %broken @31 %broken @31 %broken").expect(RULE, &[]);
        Script::new("{}").play("%broken @31 %broken @31 %broken @31 %broken @31 %broken").last(RULE, Nudge);
    }

    #[test]
    fn transient() {
        // External failures do not count, and do not end a streak.
        for external in ["%503 ", "%timeout ", "%429 ", "%quota ", "%unauthorized "] {
            Script::new("{}").play(&external.repeat(20)).expect(RULE, &[]);
            Script::new("{}").play(&["%broken %broken ", external, "%broken"].concat()).last(RULE, Nudge);
        }
        // A failure that may be the agent's own, and may pass.
        Script::new("{}").play(&"%500 ".repeat(4)).expect(RULE, &[]);
        Script::new("{}").play(&"%500 ".repeat(5)).last(RULE, Nudge);
        Script::new("{}").play("%500 %500 %500 a:x %500 %500 %500").expect(RULE, &[]);
    }

    #[test]
    fn tests_that_move() {
        let failing = |numbers: &[u32]| {
            let failure = |number| format!(r#"{{"type":"failure","message":"{number} tests failing in the parser"}}"#);
            events("{}", numbers.iter().map(failure))
        };
        failing(&[9, 8, 7, 6, 5]).expect(RULE, &[]);
        // Rising numbers are for the rule that compares them.
        failing(&[1, 3, 5, 8]).expect(RULE, &[]);
        failing(&[4, 4, 4]).last(RULE, Nudge);
        Script::workflow("{}").play("!same %c:60 !same %c:61 !same %c:62 !same").expect(RULE, &[]);
        Script::workflow("{}").play("%f:5,n:9 !same %f:5,n:10 !same %f:5,n:11 !same %f:5,n:12 !same").expect(RULE, &[]);
        Script::workflow("{}").play("!same %f:5 !same %f:5 !same").last(RULE, Nudge);
    }

    #[test]
    fn a_human_is_no_repair() {
        Script::new("{}").play("%broken %broken | %broken").last(RULE, Nudge);
    }
}
