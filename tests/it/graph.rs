//! Cycles of a workflow and the budgets of turns, nodes and cycles, as a host sees them.

use crate::kit::{detector, record};
use loopwarden::model::{
    CycleStatus, Decision, ErrorCode, HaltReason, Level, Recommendation, Record, ResetReason, Scope, Verdict,
};
use loopwarden::{Detector, json};
use proptest::prelude::*;

const PAIR: &str = r#"{"nodes":["coder","verifier"],
    "edges":[{"id":"to-verifier","from":"coder","to":"verifier"},{"id":"to-coder","from":"verifier","to":"coder"}]}"#;

fn with_graph(graph: &str) -> Detector {
    detector(&format!(r#"{{"graph":{graph}}}"#))
}

fn deliver(detector: &mut Detector, from: &str, to: &str) -> Verdict {
    record(detector, format!(r#"{{"type":"delivery","from":"{from}","to":"{to}"}}"#))
}

fn turn(detector: &mut Detector, node: &str, fields: &str) -> Verdict {
    record(detector, format!(r#"{{"type":"turn","node":"{node}"{fields}}}"#))
}

/// One lap of coder and verifier; returns the verdict on the delivery that closes it.
fn lap(detector: &mut Detector) -> Verdict {
    deliver(detector, "coder", "verifier");
    deliver(detector, "verifier", "coder")
}

fn cycles(detector: &Detector) -> Vec<CycleStatus> {
    detector.status(&Scope::default()).cycles
}

fn badge(detector: &Detector) -> String {
    let cycles = cycles(detector);
    assert_eq!(cycles.len(), 1, "{cycles:?}");
    cycles[0].badge.clone()
}

/// The kind of the leading finding of a run halted for its budget.
fn spent(verdict: &Verdict) -> &str {
    assert_eq!((verdict.level, verdict.halt_reason), (Level::Halt, Some(HaltReason::BudgetExceeded)));
    &verdict.findings[0].kind
}

#[test]
fn the_badge_counts_the_deliveries_that_close_the_cycle() {
    let mut detector = with_graph(PAIR);
    assert_eq!(badge(&detector), "Loop 0/8");
    for iteration in 1..8 {
        assert_eq!(deliver(&mut detector, "coder", "verifier").level, Level::Continue);
        assert_eq!(deliver(&mut detector, "verifier", "coder").level, Level::Continue);
        assert_eq!(badge(&detector), format!("Loop {iteration}/8"));
    }
    let verdict = lap(&mut detector);
    assert_eq!(spent(&verdict), "cycle-iterations");
    let finding = &verdict.findings[0];
    assert_eq!((finding.rule.as_str(), finding.count, finding.threshold), ("cycle-budget", 8, 8));
    assert_eq!(finding.message, "The cycle `coder ↔ verifier` has used 8 of 8 iterations (maxCycleIterations)");
    assert_eq!(verdict.recommendation, Recommendation::Escalate);
    let status = &cycles(&detector)[0];
    assert_eq!((status.badge.as_str(), status.last_halt_reason), ("Loop 8/8", Some(HaltReason::BudgetExceeded)));
    assert_eq!((status.driver.as_str(), status.nodes.as_slice()), ("coder", &["coder".into(), "verifier".into()][..]));
    let [Record::LoopHalted { cycle_id, halt_reason, suggested_actions, .. }] = verdict.records.as_slice() else {
        panic!("{:?}", verdict.records)
    };
    assert_eq!((cycle_id, *halt_reason), (&status.cycle_id, HaltReason::BudgetExceeded));
    assert_eq!(suggested_actions[0], "raise budgets.maxCycleIterations");
    assert_eq!(suggested_actions, &verdict.suggested_actions);
    let id = &status.cycle_id;
    assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
}

#[test]
fn the_workflows_of_the_document_are_cycles_and_a_pipeline_is_none() {
    for (nodes, edges, expected) in [
        (&["coder", "verifier"][..], &[("coder", "verifier"), ("verifier", "coder")][..], 1),
        (&["planner", "reviewer"], &[("planner", "reviewer"), ("reviewer", "planner")], 1),
        (&["writer", "reviewer"], &[("writer", "reviewer"), ("reviewer", "writer")], 1),
        (&["refiner"], &[("refiner", "refiner")], 1),
        (&["a", "b", "c"], &[("a", "b"), ("b", "c"), ("a", "c")], 0),
        (&["a", "b", "c", "d"], &[("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "c")], 2),
    ] {
        let edges: Vec<String> = edges.iter().map(|(from, to)| format!(r#"{{"from":"{from}","to":"{to}"}}"#)).collect();
        let detector = with_graph(&format!(r#"{{"nodes":{},"edges":[{}]}}"#, json::to_string(&nodes), edges.join(",")));
        assert_eq!(cycles(&detector).len(), expected, "{nodes:?}");
    }
}

#[test]
fn the_host_names_the_driver_in_two_ways() {
    for graph in [
        PAIR.replace(r#""verifier"],"#, r#"{"id":"verifier","driver":true}],"#),
        PAIR.replace(r#"{"nodes""#, r#"{"drivers":["verifier"],"nodes""#),
    ] {
        let mut detector = with_graph(&graph);
        deliver(&mut detector, "coder", "verifier");
        assert_eq!((badge(&detector).as_str(), cycles(&detector)[0].driver.as_str()), ("Loop 1/8", "verifier"));
        deliver(&mut detector, "verifier", "coder");
        assert_eq!(badge(&detector), "Loop 1/8");
    }
}

#[test]
fn a_delivery_names_its_edge_or_its_ends() {
    let mut detector = with_graph(PAIR);
    record(&mut detector, r#"{"type":"delivery","from":"verifier","to":"coder","edge":"to-coder"}"#);
    record(&mut detector, r#"{"type":"delivery","from":"verifier","to":"coder"}"#);
    assert_eq!(badge(&detector), "Loop 2/8");
    // A delivery that is not an edge of the workflow closes nothing.
    record(&mut detector, r#"{"type":"delivery","from":"coder","to":"coder"}"#);
    record(&mut detector, r#"{"type":"delivery","from":"somebody","to":"coder"}"#);
    assert_eq!(badge(&detector), "Loop 2/8");
}

#[test]
fn every_budget_says_which_one_was_spent() {
    for (budgets, events, kind, said) in [
        ("{}", &[r#","durationMs":600000"#][..], "turn-timeout", "600000 of 600000 ms (turnTimeoutMs)"),
        (r#"{"turnTimeoutMs":50}"#, &[r#","durationMs":61"#], "turn-timeout", "61 of 50 ms"),
        (r#"{"maxTokens":900}"#, &[r#","tokens":899"#, r#","tokens":901"#], "turn-tokens", "901 of 900 tokens"),
        ("{}", &[""; 6], "node-turns", "6 of 6 turns (maxTurnsPerNode)"),
        (r#"{"maxTurnsPerNode":2}"#, &["", ""], "node-turns", "2 of 2 turns"),
        (
            r#"{"maxRuntimeMsPerNode":100}"#,
            &[r#","durationMs":60"#, r#","durationMs":40"#],
            "node-runtime",
            "100 of 100 ms (maxRuntimeMsPerNode)",
        ),
        (
            r#"{"maxCycleRuntimeMs":5000}"#,
            &[r#","at":1000"#, r#","at":5999"#, r#","at":6000"#],
            "cycle-runtime",
            "5000 of 5000 ms (maxCycleRuntimeMs)",
        ),
        (
            r#"{"maxCycleCost":1000}"#,
            &[r#","costMicros":999"#, r#","costMicros":2"#],
            "cycle-cost",
            "1001 of 1000 millionths (maxCycleCost)",
        ),
    ] {
        let mut detector = detector(&format!(r#"{{"graph":{PAIR},"budgets":{budgets}}}"#));
        for (index, fields) in events.iter().enumerate() {
            let verdict = turn(&mut detector, "coder", fields);
            if index + 1 < events.len() {
                assert_eq!(verdict.level, Level::Continue, "{kind} at {index}");
            } else {
                assert_eq!(spent(&verdict), kind);
                assert!(verdict.findings[0].message.contains(said), "{}", verdict.findings[0].message);
                assert!(verdict.guidance.unwrap().contains(said));
            }
        }
    }
}

#[test]
fn two_budgets_spent_at_once_are_both_named() {
    let budgets = r#"{"maxCycleIterations":2,"maxCycleCost":10}"#;
    let mut detector = detector(&format!(r#"{{"graph":{PAIR},"budgets":{budgets}}}"#));
    lap(&mut detector);
    assert_eq!(turn(&mut detector, "verifier", r#","costMicros":9"#).level, Level::Continue);
    assert_eq!(spent(&turn(&mut detector, "coder", r#","costMicros":1"#)), "cycle-cost");
    let verdict = lap(&mut detector);
    assert_eq!(spent(&verdict), "cycle-iterations");
    assert!(
        verdict.findings[0]
            .message
            .ends_with("has used 2 of 2 iterations (maxCycleIterations), 10 of 10 millionths (maxCycleCost)")
    );
}

#[test]
fn the_defaults_are_for_workflows_alone() {
    // A host that reports turns but no workflow may have long runs; a budget that it sets applies.
    let mut detector = detector("{}");
    for index in 0..50 {
        let said = format!(r#","finalMessage":"turn {index}","durationMs":900000"#);
        assert_eq!(turn(&mut detector, "agent", &said).level, Level::Continue);
    }
    let mut detector = self::detector(r#"{"budgets":{"maxTurnsPerNode":3}}"#);
    let levels: Vec<Level> = (0..3).map(|_| turn(&mut detector, "agent", "").level).collect();
    assert_eq!(levels, [Level::Continue, Level::Continue, Level::Halt]);
    let off = r#"{"maxTurnsPerNode":0,"maxCycleIterations":0,"turnTimeoutMs":0}"#;
    let mut detector = self::detector(&format!(r#"{{"graph":{PAIR},"budgets":{off}}}"#));
    for _ in 0..50 {
        assert_eq!(turn(&mut detector, "coder", r#","durationMs":900000"#).level, Level::Continue);
        assert_eq!(lap(&mut detector).level, Level::Continue);
    }
    assert_eq!(badge(&detector), "Loop 50");
}

#[test]
fn a_workflow_is_learned_from_deliveries_and_requests() {
    let mut learning = detector("{}");
    for iteration in 1..8 {
        assert_eq!(lap(&mut learning).level, Level::Continue);
        assert_eq!(badge(&learning), format!("Loop {iteration}/8"));
    }
    assert_eq!(spent(&lap(&mut learning)), "cycle-iterations");
    // Requests teach edges, but are not deliveries and count no iterations.
    let mut learning = detector("{}");
    for (from, to) in [("lead", "dev"), ("dev", "tester"), ("tester", "lead")].into_iter().cycle().take(30) {
        let about = format!("{from} wants something of {to}");
        record(&mut learning, format!(r#"{{"type":"collaboration","from":"{from}","to":"{to}","request":"{about}"}}"#));
    }
    let cycle = &cycles(&learning)[0];
    assert_eq!((cycle.nodes.len(), cycle.badge.as_str()), (3, "Loop 0/8"));
    assert_eq!(deliver(&mut learning, "tester", "lead").level, Level::Continue);
    assert_eq!(badge(&learning), "Loop 1/8");
}

#[test]
fn a_learned_cycle_has_the_id_that_it_would_have_if_declared() {
    let mut learning = detector("{}");
    lap(&mut learning);
    let unnamed = PAIR.replace(r#""id":"to-verifier","#, "").replace(r#""id":"to-coder","#, "");
    assert_eq!(cycles(&learning)[0].cycle_id, cycles(&with_graph(&unnamed))[0].cycle_id);
    assert_ne!(cycles(&learning)[0].cycle_id, cycles(&with_graph(PAIR))[0].cycle_id);
}

#[test]
fn a_learned_workflow_is_bounded() {
    let mut learning = detector("{}");
    let mut largest = 0;
    for index in 0..2000_u32 {
        // Stars, chains and rings over ever new names.
        let (from, to) = (index * 7919 % 500, index * 104_729 % 500);
        deliver(&mut learning, &format!("node-{from}-{}", index / 300), &format!("node-{to}"));
        largest = largest.max(learning.snapshot().len());
    }
    assert!(largest < 64 * 1024, "{largest} bytes");
    let bytes = learning.snapshot();
    assert_eq!(Detector::restore(&bytes).unwrap().snapshot(), bytes);
}

#[test]
fn a_workflow_that_changes_keeps_the_counters_of_cycles_that_stay() {
    let mut detector = detector("{}");
    let declare = |detector: &mut Detector, graph: &str| json::declare_graph(detector, "", graph).unwrap();
    declare(&mut detector, PAIR);
    for _ in 0..5 {
        lap(&mut detector);
    }
    let id = cycles(&detector)[0].cycle_id.clone();
    // Adds a reviewer who is on no cycle with them, and declares the nodes in another order.
    let larger = PAIR
        .replace(r#"["coder","verifier"]"#, r#"["reviewer","coder","verifier"]"#)
        .replace(r#""edges":["#, r#""edges":[{"from":"verifier","to":"reviewer"},"#);
    declare(&mut detector, &larger);
    assert_eq!((badge(&detector).as_str(), &cycles(&detector)[0].cycle_id), ("Loop 5/8", &id));
    // Now the reviewer sends work back: a different cycle, without iterations so far.
    let closed = larger.replace(r#""edges":["#, r#""edges":[{"from":"reviewer","to":"coder"},"#);
    declare(&mut detector, &closed);
    assert_ne!(cycles(&detector)[0].cycle_id, id);
    assert_eq!(badge(&detector), "Loop 0/8");
    declare(&mut detector, PAIR);
    assert_eq!(badge(&detector), "Loop 0/8");
}

#[test]
fn a_learned_cycle_that_grows_does_not_start_over() {
    let mut learning = detector("{}");
    for _ in 0..6 {
        lap(&mut learning);
    }
    deliver(&mut learning, "verifier", "reviewer");
    deliver(&mut learning, "reviewer", "coder");
    assert_eq!((cycles(&learning)[0].nodes.len(), badge(&learning).as_str()), (3, "Loop 7/8"));
}

#[test]
fn a_declared_workflow_goes_before_the_configured_one_and_is_no_evidence() {
    let mut detector = with_graph(r#"{"nodes":["a"],"edges":[{"from":"a","to":"a"}]}"#);
    let other = r#"{"run":"other"}"#;
    json::declare_graph(&mut detector, other, PAIR).unwrap();
    let other: Scope = json::scope(other).unwrap();
    assert_eq!(detector.status(&Scope::default()).cycles[0].nodes, ["a"]);
    assert_eq!(detector.status(&other).cycles[0].nodes, ["coder", "verifier"]);
    for (reason, event) in [
        (None, r#"{"type":"host","kind":"run-start","run":"other"}"#),
        (None, r#"{"type":"host","kind":"restart","run":"other"}"#),
        (Some(ResetReason::Manual), ""),
        (Some(ResetReason::HumanIntervention), ""),
    ] {
        let delivery = r#"{"type":"delivery","from":"verifier","to":"coder","run":"other"}"#;
        record(&mut detector, delivery);
        assert_eq!(detector.status(&other).cycles[0].badge, "Loop 1/8");
        match reason {
            Some(reason) => drop(detector.reset(&other, reason)),
            None => drop(record(&mut detector, event)),
        }
        assert_eq!(detector.status(&other).cycles[0].badge, "Loop 0/8");
        assert_eq!(detector.status(&other).cycles[0].nodes, ["coder", "verifier"]);
    }
}

#[test]
fn a_wrong_workflow_is_refused_and_changes_nothing() {
    let mut detector = with_graph(PAIR);
    json::declare_graph(&mut detector, "", PAIR).unwrap();
    let before = detector.snapshot();
    for (graph, field) in [
        ("{}", "graph.nodes"),
        (r#"{"nodes":["a"],"edge":[]}"#, "graph.edge"),
        (r#"{"nodes":["a"],"edges":[{"from":"a"}]}"#, "graph.edges[0].to"),
        (r#"{"nodes":["a"],"edges":[{"from":"b","to":"a"}]}"#, "graph.edges[0].from"),
        (r#"{"nodes":["a","b","a"]}"#, "graph.nodes[2]"),
        (r#"{"nodes":[{"id":"a","drives":true}]}"#, "graph.nodes[0].drives"),
    ] {
        let error = json::declare_graph(&mut detector, "", graph).unwrap_err();
        assert_eq!((error.code, error.field.as_deref()), (ErrorCode::InvalidArgument, Some(field)), "{graph}");
        let error = json::detector(&format!(r#"{{"graph":{graph}}}"#)).map(drop).unwrap_err();
        assert_eq!((error.code, error.field.as_deref()), (ErrorCode::InvalidConfig, Some(field)), "{graph}");
    }
    let many: Vec<String> = (0..257).map(|index| format!("n{index}")).collect();
    let error = json::declare_graph(&mut detector, "", &format!(r#"{{"nodes":{}}}"#, json::to_string(&many)));
    assert_eq!(error.unwrap_err().field.as_deref(), Some("graph.nodes"));
    assert_eq!(detector.snapshot(), before);
}

#[test]
fn tasks_count_for_themselves_and_subtasks_for_their_parent() {
    let mut detector = with_graph(PAIR);
    let at = |task: &str| format!(r#"{{"type":"delivery","from":"verifier","to":"coder",{task}}}"#);
    let badge =
        |detector: &Detector, scope: &str| detector.status(&json::scope(scope).unwrap()).cycles[0].badge.clone();
    for _ in 0..3 {
        record(&mut detector, at(r#""task":"one""#));
        record(&mut detector, at(r#""task":"two""#));
        record(&mut detector, at(r#""task":"half","parentTask":"two""#));
    }
    assert_eq!(badge(&detector, r#"{"task":"one"}"#), "Loop 3/8");
    assert_eq!(badge(&detector, r#"{"task":"two"}"#), "Loop 6/8");
    assert_eq!(badge(&detector, r#"{"task":"half","parentTask":"two"}"#), "Loop 6/8");
    // A human's message resets nothing; a completed task does.
    record(&mut detector, r#"{"type":"message","role":"user","text":"go on"}"#);
    assert_eq!(badge(&detector, r#"{"task":"two"}"#), "Loop 6/8");
    detector.reset(&json::scope(r#"{"task":"two"}"#).unwrap(), ResetReason::TaskCompleted);
    assert_eq!(badge(&detector, r#"{"task":"two"}"#), "Loop 0/8");
    assert_eq!(badge(&detector, r#"{"task":"one"}"#), "Loop 3/8");
}

#[test]
fn a_human_can_go_on_after_a_halt_or_stop() {
    let mut detector = with_graph(PAIR);
    (0..7).for_each(|_| drop(lap(&mut detector)));
    assert_eq!(lap(&mut detector).level, Level::Halt);
    assert_eq!(lap(&mut detector).level, Level::Halt);
    detector.acknowledge(&Scope::default(), &Decision::Continue).unwrap();
    assert_eq!(lap(&mut detector).level, Level::Continue);
    detector.acknowledge(&Scope::default(), &Decision::Stop).unwrap();
    let verdict = deliver(&mut detector, "coder", "verifier");
    assert_eq!(verdict.halt_reason, Some(HaltReason::UserStop));
    assert!(matches!(verdict.records.as_slice(), [Record::LoopHalted { halt_reason: HaltReason::UserStop, .. }]));
    assert_eq!(cycles(&detector)[0].last_halt_reason, Some(HaltReason::UserStop));
}

#[test]
fn any_halt_of_a_cycle_leaves_a_record() {
    let mut detector = detector(&format!(r#"{{"graph":{PAIR},"budgets":{{"consecutiveErrors":2}}}}"#));
    lap(&mut detector);
    record(&mut detector, r#"{"type":"failure","message":"the build broke"}"#);
    let verdict = record(&mut detector, r#"{"type":"failure","message":"the linker broke"}"#);
    assert_eq!(verdict.halt_reason, Some(HaltReason::RepeatedError));
    assert!(matches!(verdict.records.as_slice(), [Record::LoopHalted { halt_reason: HaltReason::RepeatedError, .. }]));
    assert_eq!(cycles(&detector)[0].last_halt_reason, Some(HaltReason::RepeatedError));
}

#[test]
fn status_shows_the_trend_of_the_cycle() {
    let mut detector = with_graph(PAIR);
    for failing in [7, 4, 2] {
        lap(&mut detector);
        record(&mut detector, format!(r#"{{"type":"progress","diff":"d{failing}","tests":{{"failing":{failing}}}}}"#));
    }
    let cycle = &cycles(&detector)[0];
    assert_eq!((cycle.badge.as_str(), cycle.trend.as_deref()), ("Loop 3/8", Some("7 → 4 → 2")));
    assert_eq!((cycle.iterations, cycle.iterations_left), (3, Some(5)));
    assert_eq!((cycle.diff_hashes.len(), cycle.last_halt_reason), (3, None));
}

#[test]
fn a_snapshot_keeps_the_workflow() {
    let mut detector = detector("{}");
    json::declare_graph(&mut detector, "", PAIR).unwrap();
    for index in 0..4 {
        turn(&mut detector, "coder", &format!(r#","finalMessage":"step {index}","costMicros":5,"at":{index}"#));
        record(&mut detector, format!(r#"{{"type":"progress","diff":"{index}","tests":{{"failingIds":["a"]}}}}"#));
        lap(&mut detector);
        let bytes = detector.snapshot();
        let mut restored = Detector::restore(&bytes).unwrap();
        assert_eq!(restored.snapshot(), bytes);
        assert_eq!(restored.status(&Scope::default()), detector.status(&Scope::default()));
        assert_eq!(lap(&mut restored), lap(&mut detector.clone()));
    }
}

#[test]
fn what_the_host_makes_itself_and_what_is_only_checked_is_not_counted() {
    let mut detector = with_graph(PAIR);
    let delivery = r#"{"type":"delivery","from":"verifier","to":"coder"}"#;
    record(&mut detector, delivery.replace('{', r#"{"synthetic":true,"#));
    let verdict = detector.check(&json::event(delivery).unwrap()).unwrap();
    assert_eq!((verdict.level, badge(&detector).as_str()), (Level::Continue, "Loop 0/8"));
    (0..7).for_each(|_| drop(lap(&mut detector)));
    assert_eq!(detector.check(&json::event(delivery).unwrap()).unwrap().level, Level::Halt);
    assert_eq!(badge(&detector), "Loop 7/8");
}

/// Any event of a workflow, over few names, so that they collide.
fn any_event() -> impl Strategy<Value = String> {
    let node = || prop::sample::select(vec!["a", "b", "c", "d"]);
    let task = prop::sample::select(vec!["", r#","task":"t""#, r#","task":"s","parentTask":"t""#, r#","run":"r""#]);
    let body = prop_oneof![
        (node(), node()).prop_map(|(from, to)| format!(r#""type":"delivery","from":"{from}","to":"{to}""#)),
        (node(), node(), 0..3_u8).prop_map(|(from, to, edge)| {
            format!(r#""type":"delivery","from":"{from}","to":"{to}","edge":"e{edge}""#)
        }),
        (node(), node())
            .prop_map(|(from, to)| format!(r#""type":"collaboration","from":"{from}","to":"{to}","request":"help""#)),
        (node(), 0..3_u8, 0..700_000_u32).prop_map(|(node, said, ms)| {
            format!(
                r#""type":"turn","node":"{node}","finalMessage":"{said}","structuredOutput":{said},"durationMs":{ms}"#
            )
        }),
        (0..3_u8, 0..4_u8, 0..5_u32).prop_map(|(diff, done, failing)| {
            format!(
                r#""type":"progress","diff":"{diff}","docs":"{done}","checklist":{{"done":{done},"total":4}},
                "tests":{{"failing":{failing},"failingIds":["{failing}"],"total":{}}}"#,
                failing + 3
            )
        }),
        Just(r#""type":"failure","message":"it broke""#.to_string()),
        Just(r#""type":"message","role":"user","text":"go on""#.to_string()),
    ];
    (body, task, any::<u32>()).prop_map(|(body, task, at)| format!(r#"{{{body}{task},"at":{at}}}"#))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_happens_check_equals_record_and_a_snapshot_is_whole(
        events in prop::collection::vec(any_event(), 1..80),
        declared in any::<bool>(),
    ) {
        let mut detector = detector("{}");
        if declared {
            let graph = r#"{"nodes":["a",{"id":"b","driver":true},"c"],
                "edges":[{"from":"a","to":"b"},{"from":"b","to":"a"},{"from":"b","to":"c"},{"from":"c","to":"c"}]}"#;
            json::declare_graph(&mut detector, "", graph).unwrap();
        }
        for event in &events {
            let checked = detector.check(&json::event(event).unwrap()).unwrap();
            prop_assert_eq!(record(&mut detector, event), checked);
        }
        let bytes = detector.snapshot();
        let restored = Detector::restore(&bytes).unwrap();
        prop_assert_eq!(restored.snapshot(), bytes);
        prop_assert_eq!(restored.status(&Scope::default()), detector.status(&Scope::default()));
    }
}

#[test]
fn a_status_tells_the_turns_that_a_node_has_left() {
    let mut pair = with_graph(PAIR);
    let left = |detector: &Detector| {
        let status = detector.status(&Scope::default());
        status.nodes.into_iter().map(|(name, node)| (name, node.turns, node.turns_left)).collect::<Vec<_>>()
    };
    assert_eq!(left(&pair), [("coder".into(), 0, Some(6)), ("verifier".into(), 0, Some(6))]);
    for index in 0..3 {
        record(&mut pair, format!(r#"{{"type":"turn","node":"coder","finalMessage":"{index}"}}"#));
    }
    record(&mut pair, r#"{"type":"turn","node":"reader","finalMessage":"x"}"#);
    assert_eq!(
        left(&pair),
        [("coder".into(), 3, Some(3)), ("reader".into(), 1, None), ("verifier".into(), 0, Some(6))]
    );
    // A configured budget applies to every node, as does one for time.
    let mut limited = detector(r#"{"budgets":{"maxTurnsPerNode":4,"maxRuntimeMsPerNode":5000}}"#);
    record(&mut limited, r#"{"type":"turn","node":"solo","durationMs":1200}"#);
    let node = limited.status(&Scope::default()).nodes["solo"];
    assert_eq!((node.turns, node.turns_left, node.runtime_ms_left), (1, Some(3), Some(3800)));
}
