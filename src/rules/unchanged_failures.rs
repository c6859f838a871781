//! Catches: three iterations in which the same tests fail, or no fewer than before.
//! Must not catch: falling numbers, rarer failures among more tests, rising coverage, tests that all pass, readings
//! within one iteration.
//! Idea: the seed document on loop safety, the third signal of a stall. A return to a number that was reached before is
//! no progress: 4, 5, 4 has gained nothing.

use crate::model::Body;
use crate::rules::stall::{Row, Stall};
use alloc::format;

pub(super) const UNCHANGED_FAILURES: Row = Row {
    id: "unchanged-failures",
    about: "Iterations in which the same tests fail, or no fewer of them.",
    unit: "iterations in a row",
    gate: 3,
    most: |task| task.failing.streak.count,
    see: |body, task, _| {
        let Body::Progress(progress) = body else { return None };
        progress.tests.as_ref().filter(|tests| tests.failing.is_some() || tests.failing_ids.is_some())?;
        let failing = &task.failing;
        let (kind, key, what) = if failing.same {
            ("same-failures", failing.streak.key, "the same tests failing")
        } else {
            ("failures-not-falling", 0, "no fewer tests failing")
        };
        Some(Stall {
            key,
            signature: format!("failing-tests:{}", failing.latest).into(),
            message: format!("The last {} iterations left {what}: {}", failing.streak.count, failing.latest),
            instead: "Take one failing test and find out why its failure does not change.",
            ..Stall::of(kind, &failing.streak)
        })
    },
};

#[cfg(test)]
mod tests {
    use crate::model::Level::Gate;
    use crate::rules::testing::Script;

    const RULE: &str = "unchanged-failures";

    #[test]
    fn the_same_set_whatever_the_patch() {
        Script::workflow("{}").play("c=1 %t:a+b c=2 %t:b+a c=3 %t:a+b").expect(RULE, &[(5, Gate)]);
        Script::workflow("{}").play("c=1 %d:1,t:a+b c=2 %d:2,t:a+b c=3 %d:3,t:a+b").expect(RULE, &[(5, Gate)]);
        Script::workflow("{}").play("c=1 %t:a+b c=2 %t:a c=3 %t:a").expect(RULE, &[]);
    }

    #[test]
    fn a_number_that_does_not_fall() {
        Script::workflow("{}").play("c=1 %f:7 c=2 %f:4 c=3 %f:2").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 %f:3 c=2 %f:3 c=3 %f:3").expect(RULE, &[(5, Gate)]);
        Script::workflow("{}").play("c=1 %f:3 c=2 %f:4 c=3 %f:5").expect(RULE, &[(5, Gate)]);
        Script::workflow("{}").play("c=1 %f:4 c=2 %f:5 c=3 %f:4").expect(RULE, &[(5, Gate)]);
        Script::workflow("{}").play("c=1 %f:2 c=2 %f:5 c=3 %f:4 c=4 %f:3").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 %t:a+b c=2 %t:b+c c=3 %t:c+d").expect(RULE, &[(5, Gate)]);
        Script::workflow("{}").play("%f:3 %f:3 %f:3").expect(RULE, &[(2, Gate)]);
    }

    #[test]
    fn honest_work() {
        // All tests pass, more tests, a longer checklist, several test runs in one iteration.
        Script::workflow("{}").play("c=1 %f:0 c=2 %f:0 c=3 %f:0 c=4 %f:0").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 %f:2,n:10 c=2 %f:2,n:15 c=3 %f:2,n:20").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 %f:3,k:1 c=2 %f:3,k:2 c=3 %f:3,k:3").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 %f:3 %f:3 %f:3 %f:3").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 %f:3 v=1 %f:3 c=2 %f:3 v=2 %f:3").expect(RULE, &[]);
        // Rising coverage, with the same tests failing, and with the same number of them.
        Script::workflow("{}").play("c=1 %t:a,c:60 c=2 %t:a,c:61.5 c=3 %t:a,c:75 c=4 %t:a,c:76").expect(RULE, &[]);
        Script::workflow("{}").play("c=1 %f:3,c:60 c=2 %f:3,c:60.5 c=3 %f:3,c:61").expect(RULE, &[]);
    }

    #[test]
    fn the_same_set_while_the_total_grows() {
        Script::workflow("{}").play("c=1 %t:a+b,n:10 c=2 %t:a+b,n:20 c=3 %t:b+a,n:30").expect(RULE, &[(5, Gate)]);
        // Other tests than before, as a smaller share of the total.
        Script::workflow("{}").play("c=1 %t:a+b,n:10 c=2 %t:c+d,n:20 c=3 %t:e+f,n:30").expect(RULE, &[]);
    }

    #[test]
    fn what_is_external_ends_no_iteration() {
        let external = "!ECONNREFUSED";
        Script::workflow("{}").play(&["!a %f:3", external, "%f:3", external, "%f:3"].join(" ")).expect(RULE, &[]);
    }

    #[test]
    fn coverage_that_does_not_rise() {
        Script::workflow("{}").play("c=1 %f:3,c:60 c=2 %f:3,c:60 c=3 %f:3,c:60").expect(RULE, &[(5, Gate)]);
        Script::workflow("{}").play("c=1 %f:3,c:60 c=2 %f:3,c:59 c=3 %f:3,c:58").expect(RULE, &[(5, Gate)]);
        // A rise starts the count over: three more readings without one are needed.
        Script::workflow("{}")
            .play("c=1 %f:3,c:60 c=2 %f:3,c:61 c=3 %f:3,c:61 c=4 %f:3,c:61")
            .expect(RULE, &[(7, Gate)]);
        // Coverage that is not reported does not rise.
        Script::workflow("{}").play("c=1 %f:3 c=2 %f:3,c:60 c=3 %f:3").expect(RULE, &[(5, Gate)]);
    }

    #[test]
    fn failures_end_iterations_where_nothing_else_does() {
        Script::workflow("{}").play("!a %f:3 !b %f:3 !c %f:3").expect(RULE, &[(5, Gate)]);
        Script::workflow("{}").play("!a %f:3 %f:3 %f:3 !b %f:3").expect(RULE, &[]);
        Script::workflow("{}").play("!a %f:3 !b %f:3 ?progressing !c %f:3 !d %f:3").expect(RULE, &[(8, Gate)]);
    }
}
