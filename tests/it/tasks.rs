//! A run with many tasks: how many are remembered, which are dropped first, and that this is counted.

use crate::kit::{detector, record};
use loopwarden::model::{Decision, Level, Metrics, ResetReason, Scope, Verdict};
use loopwarden::{Detector, json};

/// Tasks that a run remembers at once.
const REMEMBERED: usize = 32;

/// Records the event of every task in turn, `times` times; returns the verdicts of the last round.
fn rounds(detector: &mut Detector, tasks: usize, times: usize, event: impl Fn(&str, usize) -> String) -> Vec<Verdict> {
    let mut last = Vec::new();
    for time in 0..times {
        last = (0..tasks).map(|task| record(detector, event(&format!("task-{task}"), time))).collect();
    }
    last
}

fn failure(task: &str, _time: usize) -> String {
    format!(r#"{{"type":"failure","task":"{task}","message":"TypeError: x is undefined","at":1760000000000}}"#)
}

fn attempt(task: &str, _time: usize) -> String {
    format!(r#"{{"type":"attempt","task":"{task}","status":"blocked","blockers":["no token"],"at":1760000000000}}"#)
}

fn external(task: &str, _time: usize) -> String {
    format!(r#"{{"type":"failure","task":"{task}","message":"HTTP 503 from the registry","at":1760000000000}}"#)
}

fn transition(task: &str, time: usize) -> String {
    let (from, to) = if time.is_multiple_of(2) { ("fix", "test") } else { ("test", "fix") };
    format!(r#"{{"type":"transition","task":"{task}","from":"{from}","to":"{to}","at":1760000000000}}"#)
}

fn turn(task: &str, _time: usize) -> String {
    format!(r#"{{"type":"turn","task":"{task}","node":"coder","finalMessage":"done","at":1760000000000}}"#)
}

fn named(task: &str) -> Scope {
    Scope { task: Some(task.into()), ..Scope::default() }
}

fn evicted(metrics: &Metrics) -> (u64, u64) {
    (metrics.tasks_evicted, metrics.task_parts_evicted)
}

/// For each mechanism: the event, how often it must come, and the rule that then fires.
type System = (fn(&str, usize) -> String, usize, &'static str);
const SYSTEMS: [System; 5] = [
    (failure, 4, "task-loop"),
    (attempt, 3, "task-attempts"),
    (external, 5, "external-failure"),
    (transition, 4, "phase-cycle"),
    (turn, 3, "identical-output"),
];

#[test]
fn thirty_two_tasks_in_turns_are_all_found() {
    for (event, times, rule) in SYSTEMS {
        let mut detector = detector("{}");
        let verdicts = rounds(&mut detector, REMEMBERED, times, event);
        for (task, verdict) in verdicts.iter().enumerate() {
            assert!(verdict.level >= Level::Block, "{rule} of task {task}: {:?}", verdict.level);
            assert!(verdict.findings.iter().any(|finding| finding.rule == rule), "{rule} of task {task}");
        }
        assert_eq!(evicted(&detector.metrics()), (0, 0), "{rule}");
    }
}

#[test]
fn one_task_more_and_the_oldest_goes_and_is_counted() {
    for (event, times, rule) in SYSTEMS {
        let mut detector = detector("{}");
        // Each task is forgotten before its turn comes again.
        for verdict in rounds(&mut detector, REMEMBERED + 1, times, event) {
            assert!(verdict.level < Level::Nudge, "{rule}: {:?}", verdict.findings);
        }
        let expected = (REMEMBERED + 1) * times - REMEMBERED;
        assert_eq!(evicted(&detector.metrics()), (expected as u64, 0), "{rule}");
        // Evictions are counted once, and the count survives a snapshot.
        let restored = Detector::restore(&detector.snapshot()).unwrap();
        assert_eq!(restored.metrics(), detector.metrics());
    }
}

#[test]
fn what_is_worked_on_stays() {
    let mut detector = detector("{}");
    for index in 0..200 {
        record(&mut detector, failure(&format!("other-{index}"), 0));
        if index % 20 == 0 {
            record(&mut detector, failure("mine", 0));
        }
    }
    let status = detector.status(&named("mine"));
    assert_eq!(status.loop_count, 9, "ten failures, although 200 other tasks failed between");
    assert_eq!(detector.status(&named("other-1")).loop_count, 0);
    assert_eq!(detector.metrics().tasks_evicted, 201 - REMEMBERED as u64);
}

#[test]
fn a_subtask_keeps_the_counter_of_its_task() {
    let mut detector = detector("{}");
    record(&mut detector, failure("whole", 0));
    for index in 0..100 {
        let part = format!(
            r#"{{"type":"failure","task":"part-{index}","parentTask":"whole","message":"TypeError: x is undefined"}}"#
        );
        record(&mut detector, &part);
    }
    assert_eq!(detector.status(&named("whole")).loop_count, 100);
}

#[test]
fn parts_of_tasks_that_go_are_counted() {
    let transition = |index: usize| format!(r#"{{"type":"transition","task":"t","to":"phase-{index}"}}"#);
    let failure = |index: usize| format!(r#"{{"type":"failure","task":"t{}","message":"error {index}"}}"#, index % 13);
    let turn = |index: usize| format!(r#"{{"type":"turn","node":"node-{index}","finalMessage":"done"}}"#);
    let request = |index: usize| {
        format!(r#"{{"type":"collaboration","from":"a{index}","to":"b","request":"look at the crane number {index}"}}"#)
    };
    let count = |events: usize, event: &dyn Fn(usize) -> String| {
        let mut detector = detector("{}");
        for index in 0..events {
            record(&mut detector, event(index));
        }
        evicted(&detector.metrics())
    };
    assert_eq!(count(128, &transition), (0, 0));
    assert_eq!(count(130, &transition), (0, 2));
    // Ten failures per task are configured; beyond 128 in total, some are dropped.
    assert_eq!(count(128, &failure), (0, 0));
    assert_eq!(count(130, &failure), (0, 2));
    assert_eq!(count(24, &request), (0, 0));
    assert_eq!(count(26, &request), (0, 2));
    // The outputs of sixteen nodes per task are compared.
    assert_eq!(count(16, &turn), (0, 0));
    assert_eq!(count(18, &turn), (0, 2));
}

/// Everything a host can make a run keep about its tasks, with the longest names, numbers and texts.
#[test]
fn the_worst_case_is_bounded() {
    let long = "ü".repeat(300);
    let mut detector =
        json::detector(r#"{"attempts":{"maxAttempts":12,"maxAttemptsBeforeForceNext":12},"failures":{"history":32}}"#)
            .unwrap();
    let empty = detector.snapshot().len();
    let mut largest = 0;
    for index in 0..600_u64 {
        // First many tasks in turn, then one that alone takes all the room.
        let (task, other) = (if index < 300 { index % 40 } else { 99 }, index * 7919 % 397);
        let context = format!(
            r#""task":"{long}{task}","agent":"{long}{}","step":{},"at":{}"#,
            index % 5,
            u64::MAX - 5000 + index,
            253_402_300_799_999 - 5000 + i64::try_from(index).unwrap()
        );
        let numbers: Vec<String> = (0..64).map(|number| ((number * 31 + index) % 97 + 1).to_string()).collect();
        let words: String = (0..60).map(|word| format!("w{index}n{word} ")).collect();
        let bodies = [
            format!(
                r#""type":"failure","message":"LongNamedError: {index} {long}","location":"{long}","stackTrace":"at {index}""#
            ),
            format!(r#""type":"failure","message":"HTTP 503 {index} {long}""#),
            format!(
                r#""type":"attempt","status":"blocked","blockers":["{long}","b{long}","c{long}{index}"],"session":"{long}""#
            ),
            format!(r#""type":"transition","from":"{other}{long}","to":"{index}{long}""#),
            format!(
                r#""type":"turn","node":"{other}{long}","finalMessage":"{index}","structuredOutput":{index},"tokens":{},"costMicros":{},"durationMs":{}"#,
                u64::MAX / 2,
                u64::MAX / 2,
                u64::MAX / 2
            ),
            format!(r#""type":"delivery","from":"{other}","to":"{}""#, index * 31 % 53),
            format!(
                r#""type":"progress","diff":"{index}","docs":"{index}","tests":{{"failing":{},"failingIds":["{index}"],"coverage":0.5}},"checklist":{{"done":1,"total":2}}"#,
                4_000_000_000 + index
            ),
            format!(
                r#""type":"collaboration","from":"{other}{long}","to":"{long}","request":"{words}","embedding":[{}]"#,
                numbers.join(",")
            ),
        ];
        for body in bodies {
            let event = json::event(&format!("{{{body},{context}}}")).unwrap();
            detector.record(&event).unwrap();
        }
        if index % 25 == 24 {
            largest = largest.max(detector.snapshot().len() - empty);
        }
    }
    let bytes = detector.snapshot();
    assert_eq!(Detector::restore(&bytes).unwrap().snapshot(), bytes);
    let metrics = detector.metrics();
    assert!(metrics.tasks_evicted > 0 && metrics.task_parts_evicted > 0, "{:?}", evicted(&metrics));
    assert!(largest < 64 * 1024, "{largest} bytes");
}

#[test]
fn a_scope_without_a_task_is_the_run() {
    let stalled = |detector: &mut Detector, task: &str| {
        for _ in 0..3 {
            record(detector, turn(task, 0));
            record(detector, failure(task, 0));
            record(detector, attempt(task, 0));
        }
    };
    let standing = |detector: &Detector, task: &str| {
        let status = detector.status(&named(task));
        (status.loop_count, status.attempts.len(), status.nodes.len())
    };
    // A decision for the run applies to each of its tasks; so do a completed run and a human's intervention.
    let human = |detector: &mut Detector, scope: &Scope| {
        let _ = detector.reset(scope, ResetReason::HumanIntervention);
    };
    let done = |detector: &mut Detector, scope: &Scope| {
        let _ = detector.reset(scope, ResetReason::TaskCompleted);
    };
    let answer = |detector: &mut Detector, scope: &Scope| {
        let _ = detector.acknowledge(scope, &Decision::Continue).unwrap();
    };
    let manual = |detector: &mut Detector, scope: &Scope| {
        let _ = detector.reset(scope, ResetReason::Manual);
    };
    type Operation<'a> = &'a dyn Fn(&mut Detector, &Scope);
    let operations: [(&str, Operation<'_>); 3] = [("human", &human), ("done", &done), ("answer", &answer)];
    for (name, operation) in operations {
        let mut whole = detector("{}");
        let mut one = detector("{}");
        for task in ["a", "b"] {
            stalled(&mut whole, task);
            stalled(&mut one, task);
        }
        assert_eq!(standing(&whole, "a"), (2, 1, 1));
        operation(&mut whole, &Scope::default());
        operation(&mut one, &named("a"));
        assert_eq!(standing(&whole, "a"), (0, 0, 0), "{name}");
        assert_eq!(standing(&whole, "b"), (0, 0, 0), "{name}");
        assert_eq!(standing(&one, "a"), (0, 0, 0), "{name}");
        assert_eq!(standing(&one, "b"), (2, 1, 1), "{name}");
        // What was cleared does not fire again at once.
        for event in [turn("a", 0), failure("a", 0), attempt("a", 0)] {
            let verdict = record(&mut whole, &event);
            assert!(verdict.level < Level::Nudge, "{name}: {event}: {:?}", verdict.findings);
        }
    }
    // A manual reset clears everything, whatever the scope names.
    let mut detector = detector("{}");
    stalled(&mut detector, "a");
    stalled(&mut detector, "b");
    manual(&mut detector, &named("a"));
    assert_eq!((standing(&detector, "a"), standing(&detector, "b")), ((0, 0, 0), (0, 0, 0)));
}
