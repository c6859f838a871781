//! Streaks of failures.

use super::{One, Row, Words};
use crate::model::{Body, Event, HaltReason, Outcome, Recommendation};
use crate::rules::{Budget, Fact, Facts, Limits};
use crate::state::{Sighting, Visibility};
use crate::text::{combine, key, mark, number, printable, salted};
use alloc::format;

/// Catches: a tool that has stopped working for this agent: nothing but failures, whatever they say.
/// Must not catch: a tool that works now and then; failing checks with new edits in between; searches that find
/// nothing; checks on something still in progress. Failures of one class belong to `repeated-error`, which says more
/// about them.
/// Idea: errors that differ each time escape every comparison; the fact that none of the calls worked does not.
pub(super) const FAILURE_STREAK: Row = Row {
    id: "failure-streak",
    about: "One tool failing many times in a row, in whatever way.",
    unit: "failures in a row",
    limits: Limits::ladder(5, 10, 16, 0),
    budget: None,
    sees: Facts::STEP,
    kept: 8,
    mixed: true,
    kind: "nothing-works",
    confidence: (460, 40, 20),
    instead: "Try the smallest call of this tool that must work, or reach the goal with another tool.",
    recommendation: Recommendation::ChangeApproach,
    halt_reason: HaltReason::RepeatedError,
    heeds: |streaks, fact| streaks.len() > 0 || matches!(fact, Fact::Step(step, _) if step.facts.failed),
    see: |streaks, fact, cx| {
        let Fact::Step(step, result) = fact else { return None };
        if !step.facts.failed || step.fewer {
            streaks.retain(|entry| entry.key != step.tool);
            return None;
        }
        let known = streaks.iter().find(|entry| entry.key == step.tool);
        let anew = known.is_some_and(|known| known.mark != step.mutations_before());
        let call = step.call.as_ref();
        // Silence is a negative answer, and a batch that fails together is one attempt.
        let round = call.and_then(|call| call.round);
        let at_once = !anew && round.is_some() && known.is_some_and(|known| Some(known.round) == round.map(mark));
        let (part, counts) = match step.facts.class {
            Some(_) if at_once => (0, true),
            // What is being waited for is still in progress.
            Some(class) => (
                mark(class),
                !(step.facts.waiting
                    || step.slept && step.facts.transient
                    || step.is_waited_out() && step.kin.is_same_call()),
            ),
            None => (0, false),
        };
        let (sighting, onset) = (step.sighting, step.onset);
        let name = step.name(result);
        let target = call.map_or(0, |call| call.target.map_or(call.thing, mark));
        // Code gets longer anyway.
        let fields = call.filter(|call| !call.runs_a_program() && call.sees == Visibility::Own);
        let size = fields.map_or(0, |call| call.echo.length());
        let (key, mark) = (step.tool, step.mutations_after());
        Some(One { key, part, anew, mark, size, target, round, sighting, onset, name, counts, ..One::here(cx) })
    },
    tell: |entry, one, count, cx| {
        let name = printable(one.name, 48);
        let message = ["`", &name, "` failed ", &number(count), " times in a row"].concat();
        Words::new(combine("failure-streak", &[entry.key]), cx.named(&name, '!', entry.key), message)
    },
};

/// Catches: one file, page or other target at which everything fails in the same way, through whatever tool or agent.
/// Must not catch: different things wrong with one file; errors that end with a new change or a successful look at the
/// target. Repeats of one call belong to `repeated-call`.
/// Idea: one agent after another and one tool after another tries a dead resource; each sees only its own share.
pub(super) const FAILING_TARGET: Row = Row {
    id: "failing-target",
    about: "One target failing in the same way through any tool or agent.",
    unit: "failures",
    limits: Limits::ladder(4, 0, 0, 0),
    budget: None,
    sees: Facts::STEP,
    kept: 16,
    mixed: true,
    kind: "same-failure",
    confidence: (450, 50, 11),
    instead: "Find out whether the target is there as the calls expect it, or go on without it.",
    recommendation: Recommendation::ChangeApproach,
    halt_reason: HaltReason::RepeatedError,
    heeds: |streaks, fact| streaks.len() > 0 || matches!(fact, Fact::Step(step, _) if step.facts.mistake.is_some()),
    see: |streaks, fact, cx| {
        let Fact::Step(step, result) = fact else { return None };
        let call = step.call.as_ref()?;
        let owner = call.target?;
        let Some(key) = step.facts.mistake else {
            // The target works: what failed before was not its fault, or is over. A look does not end the failures of a
            // change.
            if !step.facts.failed && !step.facts.negative {
                streaks.retain(|entry| entry.owner != owner || (entry.mark & 1 == 1 && !call.mutates));
            }
            return None;
        };
        let known = streaks.iter().find(|entry| entry.owner == owner && entry.key == key);
        let anew = known.is_some_and(|known| known.mark >> 1 != step.mutations_before());
        // The lowest bit of the mark: one of the failed calls was to change something.
        let mutates = call.mutates || known.is_some_and(|known| !anew && known.mark & 1 == 1);
        // Numbered retries of a transient failure count as one call.
        let again = known.filter(|known| known.part != mark(call.key) && step.transient(result));
        let part = again.map_or_else(|| mark(call.key), |known| known.part);
        let (mark, round) = (step.mutations_after() << 1 | u64::from(mutates), call.round);
        let (name, sighting, onset) = (call.name.as_str(), step.sighting, step.onset);
        Some(One { owner, key, part, anew, mark, name, round, sighting, onset, ..One::here(cx) })
    },
    tell: |entry, one, count, cx| {
        let target = [entry.owner, entry.key];
        let tool = printable(one.name, 48);
        let message = format!("the target of this `{tool}` call failed {count} times in the same way");
        Words::new(combine("failing-target", &target), cx.named("target", '!', combine("target", &target)), message)
    },
};

/// Catches: nothing but failures, of whatever kind, as often as the host allows.
/// Must not catch: anything, unless `budgets.consecutiveErrors` is set; negative answers (a search that found nothing
/// has not failed).
/// Idea: the last safety check of every agent loop.
///
/// External failures count as well. The document on failures excludes them from the counter of a *task's* loops, which
/// asks whether the agent works badly; this is the *run's* budget, which asks how much may fail before someone looks,
/// and its document makes no difference between causes. To wait out an outage, set a larger budget and follow
/// `external-failure`.
pub(super) const CONSECUTIVE_ERRORS: Row = Row {
    id: "consecutive-errors",
    about: "Failures in a row, of whatever kind.",
    unit: "failures in a row",
    limits: Limits::configured(),
    budget: Some(Budget { field: "consecutiveErrors", of: |budgets| budgets.consecutive_errors.into() }),
    sees: Facts::REPORT.and(Facts::STEP).and(Facts::OUTPUT),
    kept: 1,
    mixed: false,
    kind: "budget",
    confidence: (1000, 0, 0),
    instead: "Report what was tried and what each attempt returned.",
    recommendation: Recommendation::Escalate,
    halt_reason: HaltReason::RepeatedError,
    heeds: |streaks, fact| streaks.len() > 0 || !matches!(fact, Fact::Step(step, _) if step.facts.class.is_none()),
    see: |streaks, fact, cx| {
        let key = match fact {
            Fact::Step(step, _) if step.facts.class.is_some() => step.facts.light,
            Fact::Event(Event { body: Body::Failure(failure), .. }) => {
                salted("failure", cx.salt, failure.message.as_bytes())
            }
            Fact::Step(step, _) if step.outcome == Outcome::Ok && !step.facts.failed => {
                streaks.clear();
                return None;
            }
            Fact::Output { .. } => {
                streaks.clear();
                return None;
            }
            _ => return None,
        };
        Some(One { sighting: Sighting { key, ..cx.here }, ..One::here(cx) })
    },
    tell: |_, _, count, _| {
        let what = Some(format!("The last {count} results were all failures."));
        let message = format!("{count} failures in a row");
        Words { what, ..Words::new(key("rule", b"consecutive-errors"), "consecutive-errors".into(), message) }
    },
};

#[cfg(test)]
mod tests {
    mod failure_streak {
        use crate::model::Level::{Block, Halt, Nudge};
        use crate::rules::testing::{Script, events, pair};
        use alloc::{format, string::String};

        const RULE: &str = "failure-streak";

        #[test]
        fn table() {
            let letters = "uvwxyzabcdefghij";
            let failures =
                |count: usize| -> String { letters.chars().take(count).map(|at| format!("{at}!{at} ")).collect() };
            Script::new("{}").play(&failures(4)).expect(RULE, &[]);
            Script::new("{}").play(&failures(5)).expect(RULE, &[(9, Nudge)]);
            Script::new("{}").play(&failures(10)).last(RULE, Block);
            Script::new("{}").play(&failures(16)).last(RULE, Halt);
            Script::new("{}").play(&(failures(4) + "k:1 " + &failures(4))).expect(RULE, &[]);
            Script::new("{}").play(&(failures(4) + "*1 " + &failures(4))).expect(RULE, &[]);
            // What is in progress has not failed yet.
            let look = || pair("bash", r#"{"command":"sleep 60; gh pr checks 7"}"#, "error", "lint pass, unit pending");
            let fails = |error| pair("bash", &format!(r#"{{"command":"make {error}"}}"#), "error", error);
            events("{}", [fails("no rule"), look(), fails("out of date"), look(), fails("stop here")].concat())
                .expect(RULE, &[]);
            Script::new("{}").play("a!x b!x c!x d!x e!x f!x").expect(RULE, &[]);
            Script::new("{}").play("a!x b!x c!x d!x e!y").last(RULE, Nudge);
            // Adding what each error asks for is progress; code gets longer anyway.
            let asked = ["berth", "draught", "flag", "crew", "cargo", "pilot"];
            let errors = ["no berth", "how deep", "which nation", "nobody aboard", "an empty hold", "who steers"];
            let grows = |tool: &str, field: bool| -> String {
                let args = |at: usize| {
                    let fields = |name: &&str| format!(r#""{name}":1"#);
                    let fields: alloc::vec::Vec<String> = asked.iter().take(at).map(fields).collect();
                    if field { fields.join(",") } else { format!(r#""command":"moor {}""#, asked[..at].join(" ")) }
                };
                let step = |at: usize| pair(tool, &format!("{{{}}}", args(at)), "error", errors[at]);
                let played = events("{}", (0..6).flat_map(step));
                format!("{:?}", played.findings(RULE).first().map(|finding| finding.level))
            };
            assert_eq!(grows("moor", true), "None");
            assert_eq!(grows("bash", false), "Some(Nudge)");
            // Another tool's success proves nothing about this one.
            Script::new("{}").play(&(failures(4) + "other/k:1 l!l")).last(RULE, Nudge);
        }
    }

    mod failing_target {
        use crate::model::Level::Nudge;
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
            // A successful look does not end the failures of a change; a successful change does.
            Script::new("{}").play("edit/=a!x write/=a!x read/=a:1 patch/=a!x save/=a!x").last(RULE, Nudge);
            Script::new("{}").play("edit/=a!x write/=a!x edit/=a:1 patch/=a!x save/=a!x").expect(RULE, &[]);
            Script::new("{}").play("one/=a!x two/=a!x *1 three/=a!x four/=a!x").expect(RULE, &[]);
        }
    }

    mod consecutive_errors {
        use crate::model::Level;
        use crate::rules::testing::Script;

        #[test]
        fn table() {
            let limited = r#"{"budgets":{"consecutiveErrors":3},"rules":{"repeated-error":{"enabled":false}}}"#;
            Script::new(limited).play("a!x b!y c!z").expect("consecutive-errors", &[(5, Level::Halt)]);
            Script::new(limited).play("a!x b!y c:z d!x e!y").expect("consecutive-errors", &[]);
            Script::new(limited).play("a!x b!y | c!z").expect("consecutive-errors", &[]);
            Script::new("{}").play("a!x b!y c!z").expect("consecutive-errors", &[]);
            // Whoever is to blame: the agent or the service.
            Script::new(limited).play("+f:a +x:503 +f:b").expect("consecutive-errors", &[(2, Level::Halt)]);
            Script::new(limited).play("+x:503 +x:503 +x:429").expect("consecutive-errors", &[(2, Level::Halt)]);
            Script::new(limited).play("+x:503 +x:503 a:1 +x:503 +x:503").expect("consecutive-errors", &[]);
        }
    }
}
