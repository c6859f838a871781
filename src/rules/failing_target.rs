//! Catches: one file, page or thing at which everything fails in the same way, through whatever tool or agent.
//! Must not catch: different things wrong with one file, errors that a new change or a good look at the target ends.
//! One call made again and again is `repeated-call`'s.
//! Idea: a dead resource is tried by one agent after another and by one tool after another; each sees only its own share.

use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, Told, confidence, named};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal};
use crate::state::Ring;
use crate::text::{Key, combine};
use alloc::format;
use serde::{Deserialize, Serialize};

/// Targets watched at once.
const TARGETS: usize = 16;

pub(crate) struct FailingTarget;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    targets: Ring<Target>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Target {
    target: Key,
    mistake: Key,
    /// New mutations of the run when it last failed.
    mutations: u64,
    round: Option<Key>,
    /// The call that failed first.
    call: Key,
    /// One of those that failed was to change something.
    mutates: bool,
    /// Another one failed too.
    mixed: bool,
    failures: Streak,
}

impl Target {
    /// The evidence; none while it is one call that fails.
    fn count(&self) -> u32 {
        if self.mixed { self.failures.times } else { 0 }
    }

    fn signal(&self, count: u32, cx: &Cx<'_>) -> Option<Signal> {
        cx.limits.reached(count, 1).then(|| {
            self.failures.signal(Told {
                kind: "same-failure",
                identity: combine("failing-target", &[self.target, self.mistake]),
                count,
                confidence: confidence(500, 50, count),
                signature: named("target", '!', combine("target", &[self.target, self.mistake])),
                message: format!("one target failed {count} times in the same way"),
                instead: "Find out whether the target is there and in the state the calls expect, or go on without it.",
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::RepeatedError,
            })
        })
    }
}

impl Rule for FailingTarget {
    const ID: &'static str = "failing-target";
    const ABOUT: &'static str = "One target failing in the same way through any tool or agent.";
    const UNIT: &'static str = "failures";
    const LIMITS: Limits = Limits::ladder(4, 0, 0, 0);
    const SEES: Facts = Facts::CALL.and(Facts::STEP);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let step = match fact {
            Fact::Call(call, _) if cx.config.conventions.expect_failure => {
                let same = |known: &&Target| call.target == Some(known.target);
                let known = state.targets.iter().rev().find(same)?;
                let again = known.failures.times.saturating_add(1);
                let mixed = known.mixed || known.call != call.key;
                return mixed.then(|| known.signal(again, cx)).flatten();
            }
            Fact::Step(step, _) => step,
            _ => return None,
        };
        let call = step.call.as_ref()?;
        let target = call.target?;
        let Some(mistake) = step.facts.mistake else {
            // It answers: what failed before was not the target's fault, or is over. A look ends no change that failed.
            if !step.facts.failed && !step.facts.negative {
                state.targets.retain(|known| known.target != target || (known.mutates && !call.mutates));
            }
            return None;
        };
        let same = |known: &Target| known.target == target && known.mistake == mistake;
        let mut known =
            state.targets.take(same).filter(|known| known.mutations == step.mutations_before).unwrap_or_else(|| {
                Target {
                    target,
                    mistake,
                    mutations: 0,
                    round: None,
                    call: call.key,
                    mutates: false,
                    mixed: false,
                    failures: Streak::default(),
                }
            });
        known.mixed |= known.call != call.key;
        known.mutates |= call.mutates;
        known.mutations = step.mutations_after;
        if call.round.is_none() || known.round != call.round {
            known.failures.add(step.sighting, step.onset);
            known.round = call.round;
        }
        let count = known.count();
        let signal = known.signal(count, cx);
        state.targets.push(known, TARGETS);
        signal
    }

    fn standing(state: &State) -> u32 {
        state.targets.iter().map(Target::count).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.targets.len() <= TARGETS && state.targets.iter().all(|target| target.failures.fits())
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Nudge, Observe};
    use crate::rules::testing::Script;

    const RULE: &str = "failing-target";

    #[test]
    fn table() {
        // `path` arguments are targets: three tools, one dead file.
        Script::new("{}").play("one/=a!x two/=a!x three/=a!x").expect(RULE, &[]);
        Script::new("{}").play("one/=a!x two/=a!x three/=a!x four/=a!x").expect(RULE, &[(7, Nudge)]);
        Script::new("{}").play("one/=a!x one/=a!x one/=a!x one/=a!x").expect(RULE, &[]);
        // Other targets, other failures, a look that works, a new change.
        Script::new("{}").play("one/=a!x two/=b!x three/=c!x four/=d!x").expect(RULE, &[]);
        Script::new("{}").play("one/=a!x two/=a!y three/=a!z four/=a!w").expect(RULE, &[]);
        Script::new("{}").play("one/=a!x two/=a!x five/=a:1 three/=a!x four/=a!x").expect(RULE, &[]);
        // A look ends no change that failed; a change does.
        Script::new("{}").play("edit/=a!x write/=a!x read/=a:1 patch/=a!x save/=a!x").last(RULE, Nudge);
        Script::new("{}").play("edit/=a!x write/=a!x edit/=a:1 patch/=a!x save/=a!x").expect(RULE, &[]);
        let expected = r#"{"conventions":{"expectFailure":true},"rules":{"failing-target":{"nudge":3}}}"#;
        Script::new(expected).play("one/=a!x two/=a!x three/=a!x").expect(RULE, &[(4, Nudge), (5, Observe)]);
        Script::new(expected).play("one/=a!x two/=a!x three/=b!x").expect(RULE, &[]);
        Script::new("{}").play("one/=a!x two/=a!x *1 three/=a!x four/=a!x").expect(RULE, &[]);
    }
}
