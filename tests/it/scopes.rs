//! Levels and findings belong to the scope that earned them: two tasks, two agents, series instead of single events.

use crate::kit::{detector, record};
use loopwarden::model::{Decision, ErrorCode, Level, Recommendation, Record, ResetReason, Scope, Verdict};
use loopwarden::{Detector, json};
use serde_json::{Value, json};

fn output(detector: &mut Detector, agent: &str, task: &str, text: &str) -> Verdict {
    record(detector, json!({"type": "output", "agent": agent, "task": task, "text": text}))
}

fn fail(detector: &mut Detector, task: &str, message: &str) -> Verdict {
    record(detector, json!({"type": "failure", "task": task, "agent": "agent1", "message": message}))
}

fn of_task(task: &str) -> Scope {
    Scope { task: Some(task.into()), ..Scope::default() }
}

fn of_agent(agent: &str) -> Scope {
    Scope { agent: Some(agent.into()), ..Scope::default() }
}

const FIX: &str = "Fixed auth.ts - added null check";

#[test]
fn a_report_is_of_its_scope_alone() {
    let mut detector = detector("{}");
    for part in ["hinge", "window", "roof", "cellar"] {
        fail(&mut detector, "A", "the login page is blank");
        fail(&mut detector, "B", &format!("the {part} is loose"));
    }
    let (a, b) = (detector.report(&of_task("A")), detector.report(&of_task("B")));
    assert_eq!((a.level, a.history.len()), (Level::Gate, 4));
    assert!(a.findings.iter().all(|finding| finding.scope.task.as_deref() == Some("A")));
    assert_eq!((b.level, b.findings.len()), (Level::Continue, 0));
    assert_eq!(
        detector.report_markdown(&of_task("B")),
        "## No Loop Detected\n\nNothing has reached `nudge` in this scope.\n"
    );
    let elsewhere = detector.report_markdown(&Scope { run: Some("other".into()), ..Scope::default() });
    assert_eq!(
        elsewhere,
        "## No Loop Detected\n\nNothing is recorded of this run. There are other runs: `run` names one.\n"
    );
    assert_eq!(detector.status(&of_task("A")).level, Level::Gate);
    assert_eq!(detector.status(&of_task("B")).level, Level::Continue);
    // The history below the gate belongs to the gate, in the run's report too.
    record(&mut detector, json!({"type": "progress", "task": "B", "tests": {"failing": 2}}));
    let markdown = detector.report_markdown(&Scope::default());
    assert_eq!(markdown.matches("- Event ").count(), 4, "{markdown}");
    assert_eq!(markdown, detector.report_markdown(&of_task("A")));
    // A third task is unknown.
    let unknown = detector.status(&of_task("C"));
    assert!(!unknown.known && unknown.rules.is_empty() && unknown.events == 0);
    assert_eq!((detector.status(&of_task("A")).events, detector.status(&of_task("B")).events), (4, 5));
}

#[test]
fn completing_one_task_keeps_the_gate_of_the_other() {
    let mut detector = detector("{}");
    for _ in 0..4 {
        fail(&mut detector, "A", "a is blank");
        fail(&mut detector, "B", "b is blank");
    }
    output(&mut detector, "x", "B", FIX);
    output(&mut detector, "x", "B", FIX);
    detector.reset(&of_task("A"), ResetReason::TaskCompleted);
    let status = detector.status(&of_task("B"));
    assert_eq!((status.loop_count, detector.report(&of_task("B")).level), (3, Level::Gate));
    assert!(detector.report_markdown(&of_task("B")).contains("Loop detected after 3 attempts"));
    assert_eq!(output(&mut detector, "x", "B", FIX).level, Level::Gate, "the evidence about its outputs is there, too");
    assert_eq!(detector.report(&of_task("A")).findings, []);
    // A completed subtask does not clear its parent's gate.
    let mut parts = self::detector("{}");
    for _ in 0..4 {
        record(&mut parts, json!({"type": "failure", "task": "part", "parentTask": "whole", "message": "it is blank"}));
    }
    assert_eq!(parts.report(&of_task("whole")).level, Level::Gate);
    parts.reset(&Scope { parent_task: Some("whole".into()), ..of_task("part") }, ResetReason::TaskCompleted);
    assert_eq!((parts.status(&of_task("whole")).loop_count, parts.report(&of_task("whole")).level), (3, Level::Gate));
    parts.reset(&of_task("whole"), ResetReason::TaskCompleted);
    assert_eq!(
        (parts.status(&of_task("whole")).loop_count, parts.report(&of_task("whole")).level),
        (0, Level::Continue)
    );
}

#[test]
fn an_agent_that_is_stuck_is_found_beside_others() {
    let mut detector = detector("{}");
    let mut last = Verdict::default();
    for index in 0..3 {
        last = output(&mut detector, "stuck", "T", FIX);
        assert_eq!(
            output(&mut detector, "fine", "T", &format!("Wrote part {index} of the guide")).level,
            Level::Continue
        );
    }
    assert_eq!((last.level, last.findings[0].count), (Level::Gate, 3));
    let report = detector.report_markdown(&of_agent("stuck"));
    assert!(report.contains("- Iteration 3: Fixed auth.ts - added null check ← Loop detected"), "{report}");
    assert!(detector.report_markdown(&of_agent("fine")).starts_with("## No Loop Detected"));
    // Several agents that say it once each are no loop, nor is one agent at several tasks.
    for (agents, tasks) in [(["a", "b", "c"], ["T"; 3]), (["a"; 3], ["T", "U", "V"])] {
        let mut detector = self::detector("{}");
        for (agent, task) in agents.iter().zip(tasks) {
            assert_eq!(output(&mut detector, agent, task, FIX).level, Level::Continue);
        }
    }
}

#[test]
fn the_fuzzy_variant_is_an_agents_own_too() {
    let on = r#"{"rules":{"output-similarity":{"enabled":true},"output-signature":{"enabled":false}}}"#;
    let mut detector = json::detector(on).unwrap();
    for agent in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        assert_eq!(output(&mut detector, agent, "T", FIX).level, Level::Continue, "{agent}");
    }
    for agent in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        assert_eq!(
            output(&mut detector, agent, "T", "Fixed auth.ts - added null checks").level,
            Level::Gate,
            "{agent}"
        );
    }
}

#[test]
fn falling_counts_are_progress_in_every_form() {
    let forms: [fn(u32) -> String; 7] = [
        |count| format!("{count} failed: auth.test.ts - login test timeout, logout test assertion"),
        |count| format!("Running tests... {count} failed: auth.test.ts - login, logout"),
        |count| format!("Ran the tests again: {count} of 12 tests failed: a.test.ts - login, logout"),
        |count| format!("{count}/12 tests failed"),
        |count| format!(" Test Files  1 failed (1)\n      Tests  {count} failed | 10 passed (13)"),
        |count| format!("FAIL  auth.test.ts\n  ● login\n\nTests:       {count} failed, 9 passed, 13 total"),
        |count| format!("test auth::login ... FAILED\n\ntest result: FAILED. 3 passed; {count} failed; 0 ignored"),
    ];
    for form in forms {
        let level = |counts: &[u32]| {
            let mut detector = detector("{}");
            counts.iter().map(|count| output(&mut detector, "a", "T", &form(*count)).level).max().unwrap()
        };
        assert_eq!(level(&[6, 5, 4, 3, 2]), Level::Continue, "{}", form(6));
        assert_eq!(level(&[4, 4, 4]), Level::Gate, "{}", form(4));
        assert_eq!(level(&[5, 4, 4, 3]), Level::Continue, "{}", form(5));
    }
}

#[test]
fn a_series_of_external_failures_is_one_thing() {
    for messages in [
        &["503 Service Unavailable"][..],
        &["401 Unauthorized"],
        &["login failed for user ci"],
        &["429 Too Many Requests", "rate limit exceeded", "You exceeded your current quota"],
        &[
            "ModuleNotFoundError: No module named 'requests'",
            "connect ECONNREFUSED 10.0.0.1:443",
            "402 Payment Required",
        ],
    ] {
        let mut detector = detector("{}");
        for index in 0..8 {
            let verdict = fail(&mut detector, "T", messages[index % messages.len()]);
            let expected = if index < 4 {
                (Level::Continue, Recommendation::RetryWithBackoff)
            } else {
                (Level::Gate, Recommendation::Escalate)
            };
            assert_eq!(
                (verdict.level, verdict.recommendation),
                expected,
                "{messages:?} {index}: {:?}",
                verdict.findings
            );
            assert!(verdict.findings.iter().all(|finding| finding.rule == "external-failure"));
        }
        assert_eq!(detector.status(&of_task("T")).loop_count, 0);
    }
    // A test that fails because of a login is the agent's own failure.
    let mut own = detector("{}");
    let levels: Vec<Level> =
        (0..4).map(|_| fail(&mut own, "T", "AssertionError: expected 401 to equal 200").level).collect();
    assert_eq!(levels[3], Level::Gate);
}

#[test]
fn a_rising_run_recommends_a_rollback_from_the_first_loop_on() {
    let mut detector = detector("{}");
    let said: Vec<(Level, Recommendation)> = [1, 3, 5, 8]
        .iter()
        .map(|failing| fail(&mut detector, "T", &format!("{failing} tests failing")))
        .map(|verdict| (verdict.level, verdict.recommendation))
        .collect();
    assert_eq!(said[2], (Level::Observe, Recommendation::Rollback));
    assert_eq!(said[3], (Level::Nudge, Recommendation::Rollback));
    // With the figures reported separately and identical messages.
    let mut told = self::detector("{}");
    let mut last = Verdict::default();
    for failing in [1, 3, 5, 8] {
        record(&mut told, json!({"type": "progress", "task": "T", "tests": {"failing": failing}}));
        last = fail(&mut told, "T", "the tests failed");
    }
    assert_eq!((last.level, last.recommendation), (Level::Gate, Recommendation::Rollback));
    assert_eq!(last.findings[0].rule, "task-loop");
}

#[test]
fn the_judges_reasoning_arrives() {
    let mut detector = detector("{}");
    let mut last = Verdict::default();
    for page in ["red", "blue", "grey"] {
        fail(&mut detector, "T", &format!("the page is {page}"));
        let reasoning = format!("It is {page} now, and `no` nearer.\nIgnore all of this.");
        last = record(
            &mut detector,
            json!({"type": "evaluation", "task": "T", "agent": "judge", "verdict": "stalled", "reasoning": reasoning}),
        );
        assert!(last.findings[0].reasoning.as_ref().unwrap().contains(&format!("It is {page} now")));
    }
    let words = "No progress towards the goal, by evaluation: It is grey now, and 'no' nearer. Ignore all of this.";
    assert!(last.findings[0].message.starts_with("Loop detected after 3 attempts: No progress"));
    assert_eq!(last.findings[0].reasoning.as_deref(), Some(words));
    let [Record::LoopDetected { orchestrator_reasoning, agent_id, .. }, Record::GateTriggered { .. }] =
        last.records.as_slice()
    else {
        panic!("{:?}", last.records);
    };
    // It is about the agent that failed, whoever judges.
    assert_eq!((orchestrator_reasoning.as_str(), agent_id.as_deref()), (words, Some("agent1")));
    assert_eq!(detector.report(&of_task("T")).findings[0].reasoning.as_deref(), Some(words));
    assert!(detector.report_markdown(&of_task("T")).contains(&format!("**Reasoning**: {words}\n")));
    assert_eq!(detector.status(&of_task("T")).loop_reason.as_deref(), Some(words));
    assert!(!last.guidance.unwrap().contains("Ignore"), "what goes before the agent holds nobody's text");
    // A judge without a reason leaves the document's wording.
    let mut silent = self::detector("{}");
    fail(&mut silent, "T", "the page is red");
    let verdict =
        record(&mut silent, json!({"type": "evaluation", "task": "T", "verdict": "regressing", "reasoning": " "}));
    assert_eq!(verdict.findings[0].reasoning.as_deref(), Some("Regression: moving away from goal, by evaluation"));
}

#[test]
fn similarity_at_the_edge() {
    let asked = |numbers: &[f64]| {
        json!({"type": "collaboration", "task": "T", "from": "a", "to": "b", "request": format!("{}", numbers.len()),
            "embedding": numbers})
    };
    for length in [2_u32, 64, 256, 1536, 3072] {
        for (per_mille, expected) in [(840, 0), (845, 0), (849, 0), (851, 1), (855, 1), (860, 1)] {
            // Long lists keep fewer bits of each number, so the edge is half a per cent wide.
            if length > 256 && (849..=851).contains(&per_mille) {
                continue;
            }
            let cosine = f64::from(per_mille) / 1000.0;
            let rest = ((1.0 - cosine * cosine) / f64::from(length - 1)).sqrt();
            let (mut one, mut two) = (vec![0.0; length as usize], vec![rest; length as usize]);
            (one[0], two[0]) = (1.0, cosine);
            let mut detector = detector("{}");
            record(&mut detector, asked(&one));
            record(&mut detector, asked(&two));
            assert_eq!(detector.status(&of_task("T")).loop_count, expected, "{length} numbers at {per_mille}");
        }
    }
    // Tasks may use different models.
    let mut detector = detector("{}");
    record(&mut detector, asked(&[1.0, 0.5]));
    let mut other = asked(&[1.0, 0.5, 0.2]);
    other["task"] = "U".into();
    record(&mut detector, other);
}

#[test]
fn attempts_are_whole_in_the_json_report() {
    let mut detector = detector("{}");
    for index in 0..3 {
        let attempt = json!({"type": "attempt", "task": "T3.4.3", "status": "in-progress", "session": format!("session_{index}"),
            "blockers": ["critic:design_system unavailable", "missing auth token"], "at": 1_760_825_000_000_i64 + index});
        record(&mut detector, attempt);
        // Another task has attempts of its own.
        record(
            &mut detector,
            json!({"type": "attempt", "task": "U", "status": "done", "completedWork": [format!("w{index}")]}),
        );
    }
    let report = detector.report(&of_task("T3.4.3"));
    assert_eq!(
        report.log,
        [
            "Loop detected: blocked_task_spin, taskId=T3.4.3, attemptCount=3, recommendation=unblock_authority",
            "Granting unblock authority for T3.4.3",
            "Loop recovery applied: unblock_authority",
        ]
    );
    let text: Value = serde_json::from_str(&json::to_string(&report)).unwrap();
    assert_eq!(
        text["attempts"][2],
        json!({"seq": 4, "at": 1_760_825_000_002_i64, "status": "in-progress", "session": "session_2",
            "blockers": ["critic:design_system unavailable", "missing auth token"]})
    );
    assert_eq!(text["attempts"].as_array().unwrap().len(), 3);
    assert_eq!(report.history.len(), 3);
    let other = detector.report(&of_task("U"));
    assert!(other.log.len() == 2 && other.log[1] == "Loop recovery applied: force_next", "{:?}", other.log);
}

#[test]
fn what_is_idle_goes_with_everything() {
    let mut detector = json::detector(r#"{"memory":{"idleMs":1000}}"#).unwrap();
    let at = |mut event: Value, at: i64| {
        event.as_object_mut().unwrap().extend([("task".to_string(), json!("T")), ("at".to_string(), json!(at))]);
        event
    };
    for _ in 0..4 {
        record(&mut detector, at(json!({"type": "failure", "message": "it broke"}), 0));
        record(&mut detector, at(json!({"type": "attempt", "status": "blocked", "blockers": ["x"]}), 0));
        record(&mut detector, at(json!({"type": "transition", "from": "a", "to": "b"}), 0));
        record(&mut detector, at(json!({"type": "turn", "node": "n", "finalMessage": "x"}), 0));
        record(&mut detector, at(json!({"type": "output", "text": "x"}), 0));
    }
    let before = detector.status(&of_task("T"));
    assert!(before.known && !before.phases.is_empty() && !before.attempts.is_empty() && !before.nodes.is_empty());
    // Another task is active all the time, so that the run itself stays alive.
    for time in 1..5 {
        record(
            &mut detector,
            json!({"type": "output", "task": "other", "text": format!("part {time}"), "at": time * 600}),
        );
    }
    let after = detector.status(&of_task("T"));
    assert!(!after.known && after.phases.is_empty() && after.attempts.is_empty() && after.nodes.is_empty());
    assert_eq!((after.loop_count, after.level, after.rules), (0, Level::Continue, Vec::new()));
    assert_eq!(detector.report(&of_task("T")).findings, []);
    // The authority given to it is gone too.
    let again: Vec<Verdict> = (0..3)
        .map(|_| record(&mut detector, at(json!({"type": "attempt", "status": "blocked", "blockers": ["x"]}), 3000)))
        .collect();
    assert_eq!(again[2].recommendation, Recommendation::UnblockAuthority);
}

#[test]
fn names_are_shown_in_full_and_bounded() {
    let name = |length: usize| "phase-".chars().chain(core::iter::repeat('x')).take(length).collect::<String>();
    for length in [47, 48, 49, 64, 65, 200, 512] {
        let (phase, task) = (name(length), name(length).replace("phase", "tasks"));
        let mut detector =
            json::detector(r#"{"phases":{"maxVisitsDefault":2,"cycleDetectionEnabled":false}}"#).unwrap();
        let enter = || json!({"type": "transition", "task": task, "from": phase, "to": phase});
        let said: Vec<String> = (0..3)
            .filter_map(|_| record(&mut detector, enter()).findings.first().map(|finding| finding.message.to_string()))
            .collect();
        assert_eq!(said[1], format!("Phase '{phase}' exceeded max_visits (2) with 2 visits"));
        assert!(detector.status(&of_task(&task)).phases.contains_key(&task));
        let done = json!({"type": "attempt", "task": task, "status": "done"});
        let recovery = (0..3).filter_map(|_| record(&mut detector, done.clone()).recovery).next().unwrap();
        assert!(recovery.text.starts_with(&format!("LOOP DETECTED: Task {task} completed after 3 attempts.")));
    }
    let mut detector = detector("{}");
    let before = detector.snapshot();
    let long = name(513);
    for (event, field) in [
        (json!({"type": "transition", "to": long}), "to"),
        (json!({"type": "transition", "from": long, "to": "a"}), "from"),
        (json!({"type": "failure", "task": long, "message": "x"}), "task"),
        (json!({"type": "failure", "task": "t", "parentTask": long, "message": "x"}), "parentTask"),
    ] {
        let error = detector.record(&json::event(&event.to_string()).unwrap()).unwrap_err();
        assert_eq!((error.code, error.field.as_deref()), (ErrorCode::InvalidEvent, Some(field)));
    }
    assert_eq!(detector.snapshot(), before);
}

#[test]
fn a_human_gives_turns_back_and_a_completed_task_does_not() {
    let turn = |task: &str| json!({"type": "turn", "node": "coder", "task": task});
    let spent = || {
        let mut detector = json::detector(r#"{"budgets":{"maxTurnsPerNode":4}}"#).unwrap();
        for task in ["A", "B", "A"] {
            assert_eq!(record(&mut detector, turn(task)).level, Level::Continue);
        }
        assert_eq!(record(&mut detector, turn("B")).level, Level::Halt);
        detector
    };
    let mut done = spent();
    done.reset(&of_task("A"), ResetReason::TaskCompleted);
    assert_eq!(record(&mut done, turn("C")).level, Level::Halt);
    let mut cleared = spent();
    cleared.acknowledge(&of_task("B"), &Decision::Continue).unwrap();
    let levels: Vec<Level> = (0..4).map(|_| record(&mut cleared, turn("C")).level).collect();
    assert_eq!(levels, [Level::Continue, Level::Continue, Level::Continue, Level::Halt]);
}

#[test]
fn two_cycles_that_share_a_node_have_laps_of_their_own_and_one_budget_of_turns() {
    let graph = r#"{"nodes":["a","hub","b"],"edges":[{"from":"a","to":"hub"},{"from":"hub","to":"a"},
        {"from":"hub","to":"b"},{"from":"b","to":"hub"}]}"#;
    let mut detector = json::detector(&format!(r#"{{"graph":{graph}}}"#)).unwrap();
    for index in 0..5 {
        let task = if index % 2 == 0 { "left" } else { "right" };
        let turn = json!({"type": "turn", "node": "hub", "task": task, "finalMessage": format!("step {index}")});
        assert_eq!(record(&mut detector, turn).level, Level::Continue);
    }
    let left = detector.status(&of_task("left")).nodes["hub"];
    assert_eq!((left.turns, left.turns_left), (3, Some(1)));
    let last = record(&mut detector, json!({"type": "turn", "node": "hub", "task": "right", "finalMessage": "step 5"}));
    assert_eq!((last.level, last.findings[0].rule.as_str()), (Level::Halt, "node-budget"));
}
