//! Failures of tasks: every test and example of the decision record on failure loops, with a judge played by the test.

use crate::kit::scope;
use loopwarden::model::{Decision, Level, Metrics, Recommendation, Record, ResetReason, Scope, Verdict};
use loopwarden::{Detector, json};
use proptest::prelude::*;
use serde_json::{Value, json};

const ATTEMPTS: &str = r#"{"failures":{"counting":"attempts"}}"#;
const TYPE_ERROR: &str = "TypeError: cannot read property 'x' of undefined";

struct Orchestrator {
    detector: Detector,
    at: i64,
}

impl Orchestrator {
    fn new(config: &str) -> Self {
        Self { detector: json::detector(config).unwrap(), at: 1_762_000_000_000 }
    }

    fn record(&mut self, event: &Value) -> Verdict {
        self.at += 60_000;
        let mut event = event.clone();
        let map = event.as_object_mut().unwrap();
        if !map.contains_key("at") {
            map.insert("at".into(), self.at.into());
        }
        self.detector.record(&json::event(&event.to_string()).unwrap()).unwrap()
    }

    fn fail_as(&mut self, task: &str, agent: &str, message: &str) -> Verdict {
        self.record(&json!({"type": "failure", "task": task, "agent": agent, "message": message}))
    }

    fn fail(&mut self, task: &str, message: &str) -> Verdict {
        self.fail_as(task, "agent1", message)
    }

    fn progress(&mut self, task: &str, fields: Value) -> Verdict {
        let mut event = fields;
        event.as_object_mut().unwrap().insert("type".into(), "progress".into());
        event.as_object_mut().unwrap().insert("task".into(), task.into());
        self.record(&event)
    }

    fn judge(&mut self, task: &str, verdict: &str) -> Verdict {
        self.record(&json!({"type": "evaluation", "task": task, "verdict": verdict}))
    }

    fn count(&self, task: &str) -> u32 {
        self.detector.status(&scope(task)).loop_count
    }

    fn reason(&self, task: &str) -> Option<String> {
        self.detector.status(&scope(task)).loop_reason
    }

    fn reset(&mut self, task: &str, reason: ResetReason) -> Vec<Record> {
        self.detector.reset(&scope(task), reason)
    }

    fn metrics(&self) -> Metrics {
        self.detector.metrics()
    }
}

/// Whether the verdict on a failure counts it as a loop.
fn is_loop(verdict: &Verdict) -> bool {
    verdict.records.iter().any(|record| matches!(record, Record::LoopDetected { .. }))
}

fn gate(verdict: &Verdict) -> Option<&str> {
    verdict.records.iter().find_map(|record| match record {
        Record::GateTriggered { trigger_reason, .. } => Some(trigger_reason.as_str()),
        _ => None,
    })
}

// The document's unit tests.

#[test]
fn an_exact_match_counts() {
    let mut host = Orchestrator::new("{}");
    let first = host.fail("task1", TYPE_ERROR);
    assert!(!is_loop(&first) && host.count("task1") == 0);
    let second = host.fail("task1", TYPE_ERROR);
    assert!(is_loop(&second));
    assert_eq!(host.count("task1"), 1);
    assert_eq!(host.reason("task1").as_deref(), Some("Exact error message match"));
    assert_eq!((second.level, second.findings[0].count), (Level::Observe, 1));
}

#[test]
fn better_coverage_is_no_loop() {
    let mut host = Orchestrator::new("{}");
    host.progress("task1", json!({"tests": {"coverage": 60}}));
    host.progress("task1", json!({"tests": {"coverage": 75}}));
    let verdict = host.fail("task1", "Test failed: expected 5, got 3");
    assert!(!is_loop(&verdict) && !verdict.needs_evaluation);
    assert_eq!(host.reason("task1").as_deref(), Some("Test metrics show improvement"));
}

// Its integration tests, which count every failure.

#[test]
fn three_equal_failures_gate() {
    let mut host = Orchestrator::new(ATTEMPTS);
    assert_eq!(host.fail("task1", "Syntax error at line 42").level, Level::Continue);
    assert_eq!(host.fail("task1", "Syntax error at line 42").level, Level::Nudge);
    let third = host.fail("task1", "Syntax error at line 42");
    assert_eq!(third.level, Level::Gate);
    assert_eq!(gate(&third), Some("Loop detected after 3 attempts"));
    let message = &third.findings[0].message;
    assert!(
        message.starts_with("Loop detected after 3 attempts: Exact error message match, `syntax@line 42#"),
        "{message}"
    );
    assert!(third.guidance.unwrap().contains("very same message"));
}

#[test]
fn three_repeats_gate_by_default() {
    let mut host = Orchestrator::new("{}");
    let levels: Vec<Level> = (0..5).map(|_| host.fail("task1", "Syntax error at line 42").level).collect();
    assert_eq!(levels, [Level::Continue, Level::Observe, Level::Nudge, Level::Gate, Level::Gate]);
}

#[test]
fn a_completed_task_starts_over() {
    let mut host = Orchestrator::new(ATTEMPTS);
    host.fail("task1", "Error");
    host.fail("task1", "Error");
    assert_eq!(host.count("task1"), 2);
    host.reset("task1", ResetReason::TaskCompleted);
    assert_eq!(host.count("task1"), 0);
    host.fail("task2", "Error");
    assert_eq!(host.count("task2"), 0);
}

// Its evaluation test, with the figures in the messages and with figures reported by the host.

#[test]
fn more_and_more_failing_tests_are_a_regression() {
    for told in [false, true] {
        let mut host = Orchestrator::new("{}");
        let mut last = Verdict::default();
        for failing in [1, 3, 5, 8] {
            if told {
                host.progress("task1", json!({"tests": {"failing": failing}, "goal": "Implement user authentication"}));
            }
            let tests = if failing == 1 { "test" } else { "tests" };
            last = host.fail("task1", &format!("{failing} {tests} failing"));
        }
        assert_eq!(host.count("task1"), 2, "told {told}");
        let finding = &last.findings[0];
        assert_eq!((finding.kind.as_str(), last.recommendation), ("regression", Recommendation::Rollback));
        assert!(finding.message.to_lowercase().contains("moving away from goal"), "{}", finding.message);
        assert!(finding.message.contains("3 → 5 → 8"), "{}", finding.message);
        assert!(last.guidance.unwrap().contains("moving away from the goal"));
    }
}

#[test]
fn a_judge_may_call_it_a_regression() {
    let mut host = Orchestrator::new("{}");
    for message in ["module a does not load", "module b does not load"] {
        assert!(host.fail("task1", message).needs_evaluation);
        host.judge("task1", "regressing");
    }
    assert_eq!(host.count("task1"), 2);
    assert!(host.reason("task1").unwrap().to_lowercase().contains("moving away from goal"));
    let third = host.fail("task1", "module c does not load");
    let answered = host.judge("task1", "regressing");
    assert!(third.needs_evaluation && !is_loop(&third));
    assert_eq!((answered.level, answered.recommendation), (Level::Gate, Recommendation::Rollback));
}

// Its edge cases.

#[test]
fn external_failures_do_not_count() {
    let mut host = Orchestrator::new("{}");
    let failure = json!({"type": "failure", "task": "task1", "errorType": "dependency",
        "message": "API timeout: external service unavailable"});
    for _ in 0..4 {
        let verdict = host.record(&failure);
        assert!(!is_loop(&verdict) && verdict.findings.is_empty());
        assert_eq!((verdict.level, verdict.recommendation), (Level::Continue, Recommendation::RetryWithBackoff));
    }
    let fifth = host.record(&failure);
    assert_eq!((fifth.level, fifth.recommendation), (Level::Gate, Recommendation::Escalate));
    assert_eq!(fifth.findings[0].rule, "external-failure");
    assert_eq!(host.count("task1"), 0);
}

#[test]
fn an_interface_that_is_down_now_and_then() {
    let mut host = Orchestrator::new("{}");
    for message in ["HTTP 503 Service Unavailable", "connect ETIMEDOUT 10.0.0.1:443", "429 Too Many Requests"] {
        let verdict = host.fail("task1", message);
        assert_eq!((verdict.recommendation, is_loop(&verdict)), (Recommendation::RetryWithBackoff, false), "{message}");
    }
    // The service answered: a later failure is another outage.
    host.record(&json!({"type": "output", "task": "task1", "text": "deployed the service"}));
    for _ in 0..4 {
        assert_eq!(host.fail("task1", "HTTP 503 Service Unavailable").level, Level::Continue);
    }
}

#[test]
fn a_judge_may_call_it_external() {
    let mut host = Orchestrator::new("{}");
    assert!(host.fail("task1", "the mirror sent an empty index").needs_evaluation);
    let answered = host.judge("task1", "external");
    assert_eq!((answered.level, answered.recommendation), (Level::Continue, Recommendation::RetryWithBackoff));
    // Another occurrence is not the agent's repetition.
    assert!(!is_loop(&host.fail("task1", "the mirror sent an empty index")));
    assert_eq!(host.count("task1"), 0);
}

#[test]
fn where_to_escalate_is_configured() {
    let mut host = Orchestrator::new(r#"{"rules":{"external-failure":{"gate":2}}}"#);
    assert_eq!(host.fail("task1", "401 Unauthorized").level, Level::Continue);
    assert_eq!(host.fail("task1", "401 Unauthorized").recommendation, Recommendation::Escalate);
}

// The kinds of progress, in order of precedence.

#[test]
fn progress_is_looked_for_in_order() {
    // For each case, the events since the last failure, and the reason given for a new one.
    let cases = [
        (
            json!([{"tests": {"failing": 4, "total": 10}}, {"tests": {"failing": 3, "total": 10}}]),
            Some("Test metrics show improvement"),
        ),
        (
            json!([{"tests": {"failing": 4, "total": 10}}, {"tests": {"failing": 5, "total": 20}}]),
            Some("Test metrics show improvement"),
        ),
        (json!([{"tests": {"failing": 4}}, {"tests": {"failing": 4}}]), None),
        (json!([{"tests": {"coverage": 60.5}}, {"tests": {"coverage": 60.5}}]), None),
        (json!([{"filesCreated": ["a.rs"]}]), Some("Task completion indicators present")),
        (json!([{"dependenciesAdded": 2}]), Some("Task completion indicators present")),
        (json!([{"codeWritten": true}]), Some("Task completion indicators present")),
        (json!([{"checklist": {"done": 1, "total": 4}}]), Some("Task completion indicators present")),
        (json!([{"codeWritten": false, "filesCreated": [], "dependenciesAdded": 0}]), None),
        // Tests were compared and did not improve; markers do not compensate.
        (json!([{"tests": {"failing": 4}}, {"tests": {"failing": 4}, "codeWritten": true}]), None),
        (json!([]), None),
    ];
    for (events, expected) in cases {
        let mut host = Orchestrator::new("{}");
        for event in events.as_array().unwrap() {
            host.progress("task1", event.clone());
        }
        let verdict = host.fail("task1", "the page is still blank");
        assert_eq!(verdict.needs_evaluation, expected.is_none(), "{events}");
        assert_eq!(host.reason("task1").as_deref(), Some(expected.unwrap_or("Evaluation needed")), "{events}");
        assert_eq!((verdict.level, host.count("task1")), (Level::Continue, 0), "{events}");
    }
}

#[test]
fn progress_counts_once() {
    let mut host = Orchestrator::new("{}");
    host.progress("task1", json!({"codeWritten": true}));
    assert!(!host.fail("task1", "the page is blank").needs_evaluation);
    assert!(host.fail("task1", "the page is red").needs_evaluation);
}

#[test]
fn an_exact_match_is_a_loop_whatever_was_measured() {
    let mut host = Orchestrator::new("{}");
    host.fail("task1", "the page is blank");
    host.progress("task1", json!({"codeWritten": true}));
    assert!(is_loop(&host.fail("task1", "the page is blank")));
}

#[test]
fn work_without_tests_is_a_finding_of_its_own() {
    let mut host = Orchestrator::new("{}");
    let page = ["red", "blue", "grey", "tiny", "upside down"];
    let verdicts: Vec<Verdict> = page.iter().map(|page| host.fail("task1", &format!("the page is {page}"))).collect();
    assert!(verdicts[..4].iter().all(|verdict| verdict.level == Level::Continue));
    assert_eq!((verdicts[4].level, verdicts[4].recommendation), (Level::Nudge, Recommendation::RequestTests));
    assert_eq!(verdicts[4].findings[0].rule, "no-tests");
}

// The judge.

#[test]
fn the_question_carries_no_payload() {
    let mut host = Orchestrator::new("{}");
    host.progress("login", json!({"tests": {"failing": 2}}));
    host.fail("login", "TypeError: secret-one is undefined at src/auth.ts:45");
    let failure = json!({"type": "failure", "task": "login", "message": "RangeError: secret-two in src/auth.ts:46",
        "stackTrace": "at secretThree (src/auth.ts:46:3)"});
    let question = host.record(&failure).question.unwrap();
    for part in ["`login`", "runtime:RangeError@src/auth.ts:46", "runtime:TypeError@src/auth.ts:45", "Failing tests: 2"]
    {
        assert!(question.contains(part), "{part}: {question}");
    }
    assert!(!question.contains("secret") && question.len() < 600, "{question}");
}

#[test]
fn without_an_answer_nothing_counts() {
    let mut host = Orchestrator::new("{}");
    for page in 0..9 {
        assert!(host.fail("task1", &format!("page {page} is blank")).needs_evaluation);
    }
    assert_eq!(host.count("task1"), 0);
}

#[test]
fn stalled_counts_and_progressing_does_not() {
    let mut host = Orchestrator::new("{}");
    for (verdict, count) in [("stalled", 1), ("progressing", 1), ("stalled", 2), ("external", 2), ("stalled", 3)] {
        host.fail("task1", &format!("failure number {} of the page", host.at));
        host.judge("task1", verdict);
        assert_eq!(host.count("task1"), count, "{verdict}");
    }
}

#[test]
fn a_late_answer_changes_nothing() {
    let mut host = Orchestrator::new("{}");
    // The failure that was asked about is no longer the latest, which needs no judge.
    host.fail("task1", "the page is blank");
    host.fail("task1", "the page is blank");
    host.judge("task1", "stalled");
    assert_eq!(host.count("task1"), 1);
    // The task is over.
    host.fail("task1", "the page is red");
    host.reset("task1", ResetReason::TaskCompleted);
    host.judge("task1", "stalled");
    assert_eq!(host.count("task1"), 0);
    // Nobody asked, or about another task.
    host.judge("task2", "regressing");
    assert_eq!(host.count("task2"), 0);
}

#[test]
fn a_repeated_answer_counts_once() {
    let mut host = Orchestrator::new("{}");
    host.fail("task1", "the page is blank");
    assert!(is_loop(&host.judge("task1", "stalled")));
    let again = host.judge("task1", "stalled");
    assert!(!is_loop(&again) && again.findings.is_empty());
    assert_eq!(host.count("task1"), 1);
}

#[test]
fn of_contradicting_answers_the_surer_one_counts() {
    let answer = |verdict: &str, confidence: Option<u16>| {
        let mut event = json!({"type": "evaluation", "task": "task1", "verdict": verdict});
        if let Some(confidence) = confidence {
            event.as_object_mut().unwrap().insert("confidence".into(), confidence.into());
        }
        event
    };
    for config in ["{}", ATTEMPTS] {
        let mut host = Orchestrator::new(config);
        host.fail("task1", "the page is blank");
        host.record(&answer("stalled", Some(600)));
        assert_eq!(host.count("task1"), 1);
        // Neither an equally confident answer nor one without a confidence.
        host.record(&answer("progressing", Some(600)));
        host.record(&answer("progressing", None));
        assert_eq!(host.count("task1"), 1);
        host.record(&answer("progressing", Some(900)));
        assert_eq!(host.count("task1"), 0);
        host.record(&answer("external", Some(950)));
        assert_eq!(host.count("task1"), 0);
        host.record(&answer("regressing", Some(990)));
        assert_eq!(host.count("task1"), 1);
    }
}

#[test]
fn attempts_count_the_first_failure_of_a_loop_too() {
    let mut host = Orchestrator::new(ATTEMPTS);
    host.fail("task1", "a is blank");
    host.judge("task1", "progressing");
    host.fail("task1", "b is blank");
    host.judge("task1", "stalled");
    assert_eq!(host.count("task1"), 2);
    host.fail("task1", "b is blank");
    assert_eq!(host.count("task1"), 3);
}

// Whose counter it is, and what resets it.

#[test]
fn another_agent_does_not_reset() {
    let mut host = Orchestrator::new(ATTEMPTS);
    host.fail_as("task1", "agent_a", TYPE_ERROR);
    host.fail_as("task1", "agent_a", TYPE_ERROR);
    assert_eq!(host.count("task1"), 2);
    assert_eq!(host.fail_as("task1", "agent_b", TYPE_ERROR).level, Level::Gate);
}

#[test]
fn a_human_who_lets_another_agent_go_on_does() {
    let mut host = Orchestrator::new(ATTEMPTS);
    for _ in 0..3 {
        host.fail_as("task1", "agent_a", TYPE_ERROR);
    }
    let records = host.detector.acknowledge(&scope("task1"), &Decision::Continue).unwrap();
    assert_eq!(host.count("task1"), 0);
    let at = Some(host.at);
    let expected = Record::LoopCounterReset {
        task_id: Some("task1".into()),
        reason: "Human intervention".into(),
        previous_count: 3,
        timestamp: at,
    };
    assert_eq!(records, [expected]);
    assert_eq!(host.fail_as("task1", "agent_b", TYPE_ERROR).level, Level::Continue);
}

#[test]
fn only_completion_and_a_human_reset() {
    // A completed task, or one taken over by a human, alone; a manual reset, the run with all its tasks.
    for (reason, left, cleared) in
        [(ResetReason::TaskCompleted, 2, 1), (ResetReason::HumanIntervention, 2, 1), (ResetReason::Manual, 0, 2)]
    {
        let mut host = Orchestrator::new("{}");
        for _ in 0..3 {
            host.fail("task1", TYPE_ERROR);
            host.fail("task2", TYPE_ERROR);
        }
        // Neither a user's message nor a program's intervention is a human's decision about the task.
        host.record(&json!({"type": "message", "role": "user", "text": "please go on", "task": "task1"}));
        host.record(&json!({"type": "host", "kind": "intervention", "task": "task1"}));
        assert_eq!(host.count("task1"), 2);
        let records = host.reset("task1", reason);
        assert_eq!((host.count("task1"), host.count("task2")), (0, left), "{reason:?}");
        assert_eq!(records.len(), cleared, "{reason:?}");
    }
}

#[test]
fn a_human_may_reset_every_task() {
    let mut host = Orchestrator::new("{}");
    for task in ["task1", "task2", "task3"] {
        host.fail(task, TYPE_ERROR);
    }
    host.fail("task1", TYPE_ERROR);
    host.fail("task2", TYPE_ERROR);
    let records = host.detector.reset(&Scope::default(), ResetReason::HumanIntervention);
    assert_eq!(records.len(), 2, "{records:?}");
    assert_eq!((host.count("task1"), host.count("task2")), (0, 0));
}

#[test]
fn a_subtask_adds_to_its_parent_and_inherits() {
    let mut host = Orchestrator::new("{}");
    let subtask =
        |task: &str, message: &str| json!({"type": "failure", "task": task, "parentTask": "big", "message": message});
    host.fail("big", TYPE_ERROR);
    host.fail("big", TYPE_ERROR);
    host.record(&subtask("part1", "the button is gone"));
    assert_eq!(host.count("part1"), 1);
    host.record(&subtask("part1", "the button is gone"));
    assert_eq!((host.count("part1"), host.count("big")), (2, 2));
    // A completed subtask does not complete its parent.
    assert!(host.reset("part1", ResetReason::TaskCompleted).is_empty());
    assert_eq!(host.count("big"), 2);
    host.record(&subtask("part2", "the menu is gone"));
    assert_eq!(host.record(&subtask("part2", "the menu is gone")).level, Level::Gate);
    // A human's decision about a subtask applies to its parent.
    assert_eq!(host.reset("part2", ResetReason::HumanIntervention).len(), 1);
    assert_eq!((host.count("part2"), host.count("big")), (0, 0));
}

#[test]
fn a_part_of_a_part() {
    let mut host = Orchestrator::new("{}");
    host.record(&json!({"type": "failure", "task": "b", "parentTask": "a", "message": "b broke"}));
    for _ in 0..2 {
        host.record(&json!({"type": "failure", "task": "c", "parentTask": "b", "message": "c broke"}));
    }
    assert_eq!((host.count("a"), host.count("b"), host.count("c")), (1, 1, 1));
    // Tasks that are each other's parents cause no endless loop.
    host.record(&json!({"type": "failure", "task": "a", "parentTask": "c", "message": "a broke"}));
}

// State, records, metrics.

#[test]
fn the_last_ten_failures_are_kept() {
    for (config, others, found) in [("{}", 9, true), ("{}", 10, false), (r#"{"failures":{"history":20}}"#, 10, true)] {
        let mut host = Orchestrator::new(config);
        host.fail("task1", TYPE_ERROR);
        for other in 0..others {
            host.fail("task1", &format!("page {other} is blank"));
        }
        assert_eq!(is_loop(&host.fail("task1", TYPE_ERROR)), found, "{config} {others}");
    }
}

#[test]
fn a_task_is_forgotten_after_a_day() {
    let mut host = Orchestrator::new("{}");
    let (minute, day) = (60_000, 24 * 60 * 60_000);
    for (task, count) in [("idle", 2), ("busy", 2)] {
        (0..count).for_each(|_| _ = host.fail(task, TYPE_ERROR));
    }
    let start = host.at;
    // The run continues with one of the two.
    host.record(&json!({"type": "failure", "task": "busy", "message": "x is blank", "at": start + day / 2}));
    host.record(&json!({"type": "failure", "task": "busy", "message": "y is blank", "at": start + day + minute}));
    assert_eq!((host.count("idle"), host.count("busy")), (0, 1));
}

#[test]
fn the_records_have_the_documents_fields() {
    let mut host = Orchestrator::new("{}");
    let mut last = Verdict::default();
    for _ in 0..4 {
        last = host.fail_as("task_123", "backend_dev_1", "TypeError: x is undefined at src/a.ts:3");
    }
    let records = serde_json::to_value(&last.records).unwrap();
    let signature = last.findings[0].signature.clone();
    assert!(signature.starts_with("runtime:TypeError@src/a.ts:3#"), "{signature}");
    let expected = json!([
        {"event": "loop_detected", "taskId": "task_123", "agentId": "backend_dev_1", "loopCount": 3,
            "errorSignature": signature, "isExactMatch": true, "orchestratorReasoning": "Exact error message match",
            "timestamp": host.at},
        {"event": "gate_triggered", "taskId": "task_123", "agentId": "backend_dev_1", "loopCount": 3,
            "triggerReason": "Loop detected after 3 attempts",
            "failureHistory": [signature, signature, signature, signature], "timestamp": host.at},
    ]);
    assert_eq!(records, expected);
    let answer = json::reset(&mut host.detector, r#"{"task":"task_123"}"#, "task-completed").unwrap();
    let reset = json!([{"event": "loop_counter_reset", "taskId": "task_123",
        "reason": "Task completed successfully", "previousCount": 3, "timestamp": host.at}]);
    assert_eq!(serde_json::from_str::<Value>(&answer).unwrap(), reset);
    let nothing = json::reset(&mut host.detector, r#"{"task":"unknown"}"#, "task-completed").unwrap();
    assert_eq!(nothing, "[]");
}

#[test]
fn metrics_per_agent_and_gate() {
    let mut host = Orchestrator::new("{}");
    for _ in 0..5 {
        host.fail_as("task1", "coder", TYPE_ERROR);
    }
    host.fail_as("task2", "tester", TYPE_ERROR);
    host.at += 4 * 60_000;
    host.record(&json!({"type": "output", "text": "a human reads the report"}));
    host.reset("task1", ResetReason::HumanIntervention);
    let loops = host.metrics().loops;
    assert_eq!((loops.detected, loops.gates, loops.loops_before_gate), (4, 1, 3));
    assert_eq!(loops.average_loops_before_gate, 3000);
    assert_eq!((loops.agents["coder"].events, loops.agents["coder"].loops, loops.agents["coder"].rate), (5, 4, 800));
    assert_eq!((loops.agents["tester"].events, loops.agents["tester"].rate), (1, 0));
    assert_eq!((loops.tasks, loops.tasks_with_loops), (2, 1));
    assert_eq!((loops.task_rate, loops.average_loops_per_task), (500, 2000));
    assert_eq!((loops.resets, loops.resolved, loops.resolution_ms), (1, 1, 7 * 60_000));
}

#[test]
fn only_a_humans_answer_resolves_a_gate() {
    let mut host = Orchestrator::new("{}");
    for task in ["task1", "task2"] {
        for _ in 0..4 {
            host.fail(task, TYPE_ERROR);
        }
    }
    // A task completed despite its gate resolved the loop by itself.
    assert_eq!(host.reset("task1", ResetReason::TaskCompleted).len(), 1);
    let loops = host.metrics().loops;
    assert_eq!((loops.gates, loops.resets, loops.resolved, loops.resolution_ms), (2, 1, 0, 0));
    host.detector.acknowledge(&scope("task2"), &Decision::Continue).unwrap();
    let loops = host.metrics().loops;
    assert_eq!((loops.gates, loops.resets, loops.resolved), (2, 2, 1));
}

#[test]
fn the_report_tells_the_history() {
    let mut host = Orchestrator::new("{}");
    for _ in 0..4 {
        host.fail("task1", "TypeError: hunter2 is undefined at src/a.ts:3");
    }
    let report = host.detector.report_markdown(&scope("task1"));
    assert!(report.contains("Loop detected after 3 attempts"), "{report}");
    assert_eq!(report.matches("runtime:TypeError@src/a.ts:3").count(), 6, "{report}");
    assert!(!report.contains("hunter2"), "{report}");
}

#[test]
fn a_snapshot_goes_on() {
    let mut host = Orchestrator::new("{}");
    for message in [TYPE_ERROR, "page a is blank", TYPE_ERROR, "page b is blank"] {
        host.fail("task1", message);
    }
    let mut restored = Orchestrator { detector: Detector::restore(&host.detector.snapshot()).unwrap(), at: host.at };
    for message in ["page a is blank", TYPE_ERROR] {
        assert_eq!(host.fail("task1", message), restored.fail("task1", message));
        assert_eq!(host.judge("task1", "stalled"), restored.judge("task1", "stalled"));
    }
    assert_eq!(host.detector.snapshot(), restored.detector.snapshot());
}

#[test]
fn nobody_attends() {
    let mut host = Orchestrator::new(r#"{"attended":false}"#);
    let levels: Vec<Level> = (0..4).map(|_| host.fail("task1", TYPE_ERROR).level).collect();
    assert_eq!(levels.last(), Some(&Level::Halt));
}

#[test]
fn blank_failures_are_nothing_to_compare() {
    let mut host = Orchestrator::new(r#"{"rules":{"repeated-failure":{"enabled":false}}}"#);
    for _ in 0..5 {
        assert_eq!(host.fail("task1", " \n").level, Level::Continue);
    }
}

/// One event about tasks, from a small set of values, so that much repeats.
fn any_event() -> impl Strategy<Value = Value> {
    let task = (0..4_u8, 0..4_u8);
    let body = prop_oneof![
        (0..5_u8).prop_map(|n| json!({"type": "failure", "message": format!("{n} tests failing")})),
        (0..4_u8).prop_map(|n| json!({"type": "failure", "message": format!("HTTP 50{n} Service Unavailable")})),
        (0..9_u8).prop_map(|n| json!({"type": "progress", "tests": {"failing": n}})),
        (proptest::sample::select(&["progressing", "stalled", "regressing", "external"][..]), 0..1000_u16).prop_map(
            |(verdict, confidence)| json!({"type": "evaluation", "verdict": verdict, "confidence": confidence})
        ),
        (0..4_u8, 0..4_u8, 0..3_u8, proptest::option::of(proptest::array::uniform3(-2_i8..3))).prop_map(
            |(from, to, request, embedding)| {
                let mut event = json!({"type": "collaboration", "from": format!("a{from}"), "to": format!("a{to}"),
                    "request": format!("review part p{request}")});
                if let Some(numbers) = embedding {
                    event.as_object_mut().unwrap().insert("embedding".into(), json!(numbers));
                }
                event
            }
        ),
    ];
    (task, body, proptest::option::of(0..200_i64)).prop_map(|((task, parent), mut event, hours)| {
        let map = event.as_object_mut().unwrap();
        map.insert("task".into(), format!("t{task}").into());
        if parent != 0 {
            map.insert("parentTask".into(), format!("t{parent}").into());
        }
        if let Some(hours) = hours {
            map.insert("at".into(), (hours * 3_600_000).into());
        }
        event
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_told_of_tasks(events in proptest::collection::vec(any_event(), 1..60), attempts: bool, reset in 0..60_usize) {
        let mut detector = json::detector(if attempts { ATTEMPTS } else { "{}" }).unwrap();
        for (index, event) in events.iter().enumerate() {
            let event = json::event(&event.to_string()).unwrap();
            let before = detector.snapshot();
            let checked = detector.check(&event);
            prop_assert_eq!(&detector.snapshot(), &before);
            let mut restored = Detector::restore(&before).unwrap();
            let recorded = detector.record(&event);
            prop_assert_eq!(&checked, &recorded);
            prop_assert_eq!(&restored.record(&event), &recorded);
            prop_assert_eq!(restored.snapshot(), detector.snapshot());
            if recorded.is_err() {
                prop_assert_eq!(&detector.snapshot(), &before);
            }
            if index == reset {
                detector.reset(&scope("t1"), ResetReason::HumanIntervention);
                prop_assert_eq!(detector.status(&scope("t1")).loop_count, 0);
            }
        }
    }
}
