use crate::model::Level::{Gate, Nudge, Observe};
use crate::rules::testing::Script;

const RULE: &str = "task-loop";
const ATTEMPTS: &str = r#"{"failures":{"counting":"attempts"}}"#;

#[test]
fn equal_failures() {
    Script::new("{}").play("+f:a +f:a +f:a +f:a").expect(RULE, &[(1, Observe), (2, Nudge), (3, Gate)]);
    Script::new("{}").play("+f:a +f:b +f:a +f:c +f:a").expect(RULE, &[(2, Observe), (4, Nudge)]);
    Script::new("{}").play("+f:a +f:b +f:c +f:d +f:e").expect(RULE, &[]);
    Script::new(ATTEMPTS).play("+f:a +f:a +f:a").expect(RULE, &[(1, Nudge), (2, Gate)]);
    Script::new(ATTEMPTS).play("+f:a +f:b +f:c").expect(RULE, &[]);
}

#[test]
fn what_it_recommends_goes_up() {
    use crate::model::Recommendation::{ChangeApproach, Continue, Escalate, Rollback};
    let said = |script: &str| Script::new("{}").play(script).recommended();
    assert_eq!(said("+f:a +f:a +f:a +f:a"), [Continue, ChangeApproach, ChangeApproach, Escalate]);
    assert_eq!(said("+c:a>b:x1 +c:a>b:x1 +c:a>b:x1 +c:a>b:x1"), [Continue, ChangeApproach, ChangeApproach, Escalate]);
    assert_eq!(said("+f:a +e:stalled"), [Continue, ChangeApproach]);
    // Back to a better state, from the first regression on and at the gate.
    assert_eq!(said("+f:a +e:regressing"), [Continue, Rollback]);
    let alone = r#"{"rules":{"unchanged-failures":{"enabled":false}}}"#;
    assert_eq!(
        Script::new(alone).play("+t:1 +f:a +t:3 +f:b +t:5 +f:c +t:8 +f:d +t:9 +f:e").recommended(),
        [Continue, Continue, Continue, Continue, Continue, Rollback, Continue, Rollback, Continue, Rollback]
    );
    // In shadow mode, nothing is recommended.
    let shadow = Script::new(r#"{"mode":"shadow"}"#).play("+f:a +f:a +f:a").recommended();
    assert_eq!(shadow, [Continue; 3]);
}

#[test]
fn a_threshold_by_its_two_names() {
    for config in [r#"{"failures":{"gateThreshold":2}}"#, r#"{"rules":{"task-loop":{"nudge":0,"gate":2}}}"#] {
        Script::new(config).play("+f:a +f:a +f:a").expect(RULE, &[(1, Observe), (2, Gate)]);
    }
}

#[test]
fn only_the_latest_failures_are_compared() {
    Script::new("{}").play("+f:a +f:1 +f:2 +f:3 +f:4 +f:5 +f:6 +f:7 +f:8 +f:9 +f:a").expect(RULE, &[(10, Observe)]);
    Script::new("{}").play("+f:a +f:0 +f:1 +f:2 +f:3 +f:4 +f:5 +f:6 +f:7 +f:8 +f:9 +f:a").expect(RULE, &[]);
    Script::new(r#"{"failures":{"history":2}}"#).play("+f:a +f:b +f:c +f:a").expect(RULE, &[]);
}

#[test]
fn more_and_more_failing_tests() {
    Script::new("{}").play("+t:1 +f:a +t:3 +f:b +t:5 +f:c").expect(RULE, &[(5, Observe)]);
    Script::new("{}").play("+t:1 +f:a +t:3 +f:b +t:5 +f:c +t:8 +f:d +t:9 +f:e").last(RULE, Gate);
    Script::new("{}").play("+t:1 +f:a +t:3 +f:b +t:3 +f:c").expect(RULE, &[]);
    Script::new("{}").play("+t:5 +f:a +t:3 +f:b +t:1 +f:c").expect(RULE, &[]);
    // No failure, no loop: writing tests first makes more of them fail.
    Script::new("{}").play("+t:1 +t:2 +t:3 +t:4").expect(RULE, &[]);
}

#[test]
fn a_judge_decides_what_is_unclear() {
    Script::new("{}")
        .play("+f:a +f:b +e:stalled +f:c +e:regressing +f:d +e:stalled")
        .expect(RULE, &[(2, Observe), (4, Nudge), (6, Gate)]);
    Script::new("{}").play("+f:a +e:progressing +f:b +e:external").expect(RULE, &[]);
    // Nobody asked: progress was measured, or an equal failure was counted already.
    Script::new("{}").play("+t:3 +t:1 +f:a +e:stalled +m +f:b").expect(RULE, &[]);
    Script::new("{}").play("+f:a +f:a +e:stalled").expect(RULE, &[(1, Observe)]);
    // The same answer again.
    Script::new("{}").play("+f:a +e:stalled +e:stalled").expect(RULE, &[(1, Observe)]);
}

#[test]
fn external_failures_never_count() {
    Script::new("{}").play("+x:503 +x:503 +x:503 +x:503").expect(RULE, &[]);
}

#[test]
fn subtasks_share_the_counter_of_their_task() {
    Script::new("{}")
        .play("+f:a +f:a +s:one +f:b +f:b +s:two +f:c +f:c")
        .expect(RULE, &[(1, Observe), (3, Nudge), (5, Gate)]);
    // It failed before the task was split.
    Script::new("{}").play("+f:a +s:one +f:a").expect(RULE, &[(1, Observe)]);
    // Equal failures of two parts that know nothing of each other.
    Script::new("{}").play("+s:one +f:a +s:two +f:a").expect(RULE, &[]);
}

#[test]
fn requests_between_two() {
    Script::new("{}")
        .play("+c:a>b:review_auth +c:a>b:review_auth +c:a>b:review_auth +c:a>b:review_auth")
        .expect(RULE, &[(1, Observe), (2, Nudge), (3, Gate)]);
    Script::new("{}")
        .play("+c:a>b:review_auth +c:a>b:review_payment +c:a>c:review_auth +c:b>a:review_auth")
        .expect(RULE, &[]);
    // Measured progress in between.
    Script::new("{}").play("+c:a>b:review_auth +m +c:a>b:review_auth").expect(RULE, &[]);
    Script::new(r#"{"collaboration":{"enabled":false}}"#).play("+c:a>b:x +c:a>b:x").expect(RULE, &[]);
}

#[test]
fn requests_in_a_ring() {
    let lap = "+c:a>b:review_auth +c:b>c:review_auth +c:c>a:review_auth ";
    let played = Script::new("{}").play(&lap.repeat(3));
    played.expect(RULE, &[(2, Observe), (5, Nudge), (8, Gate)]);
    Script::new("{}").play("+c:a>b:review_auth +c:b>c:review_payment +c:c>a:review_auth").expect(RULE, &[]);
    Script::new("{}").play("+c:a>b:review_auth +c:b>c:review_auth +c:c>d:review_auth").expect(RULE, &[]);
    Script::new("{}").play("+c:a>b:x1 +c:b>c:x1 +c:c>d:x1 +c:d>a:x1").expect(RULE, &[(3, Observe)]);
}

#[test]
fn failures_and_requests_add_up() {
    Script::new("{}").play("+f:a +f:a +c:a>b:review_auth +c:a>b:review_auth +f:a").last(RULE, Gate);
}
