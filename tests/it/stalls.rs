//! Stalls: the four signals, what counts as progress, what is normalised, and the contents of the halt record.

use crate::kit::{detector, record};
use loopwarden::json;
use loopwarden::model::{Decision, HaltReason, Level, Recommendation, Record, Scope, Verdict};

const SUGGESTED: [&str; 4] =
    ["switch to interactive", "spawn reconciliation node", "tighten context pack", "update docs contract"];

fn play(config: &str, events: &[String]) -> Vec<Verdict> {
    let mut detector = detector(config);
    events.iter().map(|event| record(&mut detector, event)).collect()
}

fn said(node: &str, message: &str) -> String {
    format!(r#"{{"type":"turn","node":"{node}","finalMessage":"{message}"}}"#)
}

fn progress(fields: &str) -> String {
    format!(r#"{{"type":"progress",{fields}}}"#)
}

/// Turns of one node with different messages, each followed by a progress report.
fn iterations(readings: &[&str]) -> Vec<String> {
    let turns = readings.iter().enumerate();
    turns.flat_map(|(index, reading)| [said("coder", &format!("turn {index}")), progress(reading)]).collect()
}

/// The rule and the index of the first verdict above `observe`.
fn first(config: &str, events: &[String]) -> Option<(String, usize)> {
    let verdicts = play(config, events);
    let index = verdicts.iter().position(|verdict| verdict.level >= Level::Nudge)?;
    Some((verdicts[index].findings[0].rule.to_string(), index))
}

#[track_caller]
fn stalls(events: &[String], rule: &str, at: usize) {
    assert_eq!(first("{}", events), Some((rule.into(), at)), "{events:#?}");
}

#[track_caller]
fn goes_on(events: &[String]) {
    assert_eq!(first("{}", events), None, "{events:#?}");
}

fn halted(verdict: &Verdict) -> (&str, HaltReason, [&[String]; 4]) {
    match verdict.records.as_slice() {
        [
            Record::LoopHalted {
                cycle_id,
                halt_reason,
                diff_hashes,
                failing_test_signatures,
                output_hashes,
                suggested_actions,
                ..
            },
        ] => (cycle_id, *halt_reason, [diff_hashes, failing_test_signatures, output_hashes, suggested_actions]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_same_final_message_three_times() {
    let turns = |messages: &[&str]| messages.iter().map(|message| said("coder", message)).collect::<Vec<_>>();
    stalls(&turns(&["done", "done", "done"]), "identical-output", 2);
    stalls(&turns(&["done", " done\\n", "done"]), "identical-output", 2);
    goes_on(&turns(&["done", "done", "nearly done", "done", "done"]));
    // Each node is compared with itself.
    let two: Vec<String> = (0..2).flat_map(|_| [said("coder", "done"), said("verifier", "done")]).collect();
    goes_on(&two);
    let pair: Vec<String> = (0..3).flat_map(|_| [said("coder", "done"), said("verifier", "rejected")]).collect();
    stalls(&pair, "identical-output", 4);
}

#[test]
fn the_same_structured_output_three_times() {
    let turns = |outputs: [&str; 3]| {
        let turns = outputs.iter().enumerate().map(|(index, output)| {
            format!(r#"{{"type":"turn","node":"v","finalMessage":"{index}","structuredOutput":{output}}}"#)
        });
        turns.collect::<Vec<_>>()
    };
    stalls(
        &turns([r#"{"ok":false,"n":1}"#, r#"{"n":1.0,"ok":false}"#, r#"{ "ok": false, "n": 1 }"#]),
        "identical-output",
        2,
    );
    goes_on(&turns([r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#]));
}

#[test]
fn the_same_diff_twice() {
    stalls(&iterations(&[r#""diff":"d0""#, r#""diff":"d0""#]), "unchanged-diff", 3);
    goes_on(&iterations(&[r#""diff":"d0""#, r#""diff":"d1""#, r#""diff":"d2""#]));
    let patch = |time: &str, blob: &str, line: &str| {
        let text = format!(
            "diff --git a/a.ts b/a.ts\\nindex {blob}..ffff111 100644\\n--- a/a.ts\\t{time}\\n+++ b/a.ts\\t{time}\\n@@ -1 +1 @@\\n-x\\n+{line}\\n"
        );
        format!(r#""diff":"{text}""#)
    };
    let one = patch("2026-03-01 09:00:00 +0000", "abc1234", "y");
    stalls(&iterations(&[&one, &patch("2026-03-01 09:07:31 +0000", "def5678", "y")]), "unchanged-diff", 3);
    goes_on(&iterations(&[&one, &patch("2026-03-01 09:00:00 +0000", "abc1234", "z")]));
}

#[test]
fn the_same_documents_twice() {
    stalls(&iterations(&[r##""docs":"# Guide\n\n- one\n""##, r##""docs":"# Guide\n- one""##]), "unchanged-diff", 3);
    goes_on(&iterations(&[r##""docs":"# Guide""##, r##""docs":"# Guide, part 1""##]));
    // The code has not changed but the documents have: progress.
    goes_on(&iterations(&[r#""diff":"d0","docs":"a""#, r#""diff":"d0","docs":"b""#, r#""diff":"d0","docs":"c""#]));
}

#[test]
fn the_same_failing_tests_three_times() {
    let set = |diff: u32, ids: &str| format!(r#""diff":"d{diff}","tests":{{"failingIds":[{ids}]}}"#);
    let (a, b, c) = (set(0, r#""t1","t2""#), set(1, r#""t2","t1""#), set(2, r#""t1","t2","t1""#));
    stalls(&iterations(&[&a, &b, &c]), "unchanged-failures", 5);
    goes_on(&iterations(&[&a, &b]));
    let fewer = set(2, r#""t1""#);
    goes_on(&iterations(&[&a, &b, &fewer, &fewer.replace("d2", "d3")]));
}

#[test]
fn a_number_of_failing_tests_that_does_not_fall() {
    let count = |diff: usize, failing: u32| format!(r#""diff":"d{diff}","tests":{{"failing":{failing}}}"#);
    let run = |numbers: &[u32]| {
        let readings: Vec<String> = numbers.iter().enumerate().map(|(index, failing)| count(index, *failing)).collect();
        iterations(&readings.iter().map(String::as_str).collect::<Vec<_>>())
    };
    goes_on(&run(&[7, 4, 2]));
    stalls(&run(&[7, 7, 7]), "unchanged-failures", 5);
    stalls(&run(&[7, 8, 9]), "unchanged-failures", 5);
    stalls(&run(&[7, 4, 5, 4]), "unchanged-failures", 7);
    goes_on(&run(&[7, 7, 4, 4, 2, 2, 0, 0, 0, 0]));
}

#[test]
fn back_and_forth() {
    let turns = |messages: &[&str]| messages.iter().map(|message| said("coder", message)).collect::<Vec<_>>();
    stalls(&turns(&["A", "B", "A", "B"]), "oscillation", 3);
    goes_on(&turns(&["A", "B", "A", "C"]));
    let diffs = iterations(&[r#""diff":"a""#, r#""diff":"b""#, r#""diff":"a""#, r#""diff":"b""#]);
    stalls(&diffs, "oscillation", 7);
    let verdicts = play("{}", &diffs);
    assert_eq!(halted(verdicts.last().unwrap()).1, HaltReason::Oscillating);
}

#[test]
fn a_checklist_and_documents_are_progress() {
    let both = |done: u32| format!(r#""diff":"d","checklist":{{"done":{done},"total":9}},"tests":{{"failing":3}}"#);
    goes_on(&iterations(&[&both(1), &both(2), &both(3), &both(4)]));
    stalls(&iterations(&[&both(1), &both(2), &both(2)]), "unchanged-diff", 5);
}

#[test]
fn a_lap_of_several_nodes_is_one_iteration() {
    // Every node reports the state of the tree after its turn; only the coder changes it.
    let mut events = Vec::new();
    for index in 0..3 {
        for node in ["planner", "coder", "verifier"] {
            events.push(said(node, &format!("{node} {index}")));
            events.push(progress(&format!(r#""diff":"d{index}","tests":{{"failing":{}}}"#, 9 - index)));
        }
    }
    goes_on(&events);
}

#[test]
fn the_record_holds_the_three_lists_and_the_suggestions() {
    let reading = |index: u32| format!(r#""diff":"d{index}","tests":{{"failing":2,"failingIds":["t1","t2"]}}"#);
    let readings: Vec<String> = (0..3).map(reading).collect();
    let events = iterations(&readings.iter().map(String::as_str).collect::<Vec<_>>());
    let verdicts = play("{}", &events);
    assert!(verdicts.iter().rev().skip(1).all(|verdict| verdict.records.is_empty()));
    let last = verdicts.last().unwrap();
    assert_eq!((last.level, last.recommendation), (Level::Gate, Recommendation::SwitchToInteractive));
    assert_eq!(last.suggested_actions, SUGGESTED);
    let (id, reason, [diffs, tests, outputs, actions]) = halted(last);
    assert_eq!((id.len(), reason), (16, HaltReason::Stalled));
    assert_eq!((diffs.len(), tests.len(), outputs.len()), (3, 3, 3));
    assert!(diffs[0] != diffs[1] && tests[0] == tests[1] && tests[1] == tests[2] && outputs[0] != outputs[1]);
    assert_eq!(actions, SUGGESTED);
    let finding = &last.findings[0];
    assert_eq!((finding.kind.as_str(), finding.count, finding.threshold), ("same-failures", 3, 3));
    assert_eq!((finding.onset_seq, finding.last_seq), (1, 5));
    assert_eq!(finding.message, "The last 3 iterations left the same tests failing: 2");
    let record = json::to_string(&last.records[0]);
    assert!(record.contains(r#""event":"loop.halted""#) && record.contains(r#""haltReason":"stalled""#), "{record}");
}

#[test]
fn the_record_names_the_cycle() {
    let graph =
        r#"{"nodes":["coder","verifier"],"edges":[{"from":"coder","to":"verifier"},{"from":"verifier","to":"coder"}]}"#;
    let mut detector = detector(&format!(r#"{{"graph":{graph}}}"#));
    (0..2).for_each(|_| drop(record(&mut detector, said("coder", "same"))));
    let verdict = record(&mut detector, said("coder", "same"));
    let cycle = &detector.status(&Scope::default()).cycles[0];
    assert_eq!(halted(&verdict).0, cycle.cycle_id);
    assert_eq!((cycle.last_halt_reason, cycle.output_hashes.len()), (Some(HaltReason::Stalled), 3));
    let report = detector.report_markdown(&Scope::default());
    assert!(report.contains("**Loop Evidence**") && report.contains(&cycle.cycle_id), "{report}");
    assert!(report.contains(&format!("- Outputs: `{0}`, `{0}`, `{0}`", cycle.output_hashes[0])), "{report}");
}

#[test]
fn the_policy_decides_level_and_recommendation() {
    let turns: Vec<String> = (0..3).map(|_| said("coder", "same")).collect();
    for (policy, level, recommendation) in [
        ("pause", Level::Gate, Recommendation::Escalate),
        ("switch-to-interactive", Level::Gate, Recommendation::SwitchToInteractive),
        ("spawn-reviewer", Level::Block, Recommendation::SpawnReviewer),
        ("retry-with-new-provider", Level::Block, Recommendation::RetryWithNewProvider),
    ] {
        for attended in [true, false] {
            let config = format!(r#"{{"onStall":"{policy}","attended":{attended}}}"#);
            let verdict = play(&config, &turns).pop().unwrap();
            // Nobody can be asked: a gate ends the run, a block continues as before.
            let halts = level == Level::Gate && !attended;
            assert_eq!(verdict.level, if halts { Level::Halt } else { level }, "{config}");
            assert_eq!(verdict.halt_reason, halts.then_some(HaltReason::Stalled));
            assert_eq!((verdict.recommendation, verdict.findings[0].threshold), (recommendation, 3));
            assert_eq!(halted(&verdict).1, HaltReason::Stalled);
        }
    }
}

#[test]
fn thresholds_are_those_of_the_rules() {
    let turns: Vec<String> = (0..5).map(|_| said("coder", "same")).collect();
    for (rules, at) in [
        (r#"{"gate":2}"#, Some(1)),
        (r#"{"gate":5}"#, Some(4)),
        (r#"{"nudge":2}"#, Some(1)),
        (r#"{"enabled":false}"#, None),
        (r#"{"gate":0}"#, None),
    ] {
        let config = format!(r#"{{"rules":{{"identical-output":{rules}}}}}"#);
        assert_eq!(first(&config, &turns).map(|(_, at)| at), at, "{rules}");
    }
    // A nudge does not halt.
    let verdicts = play(r#"{"rules":{"identical-output":{"nudge":2}}}"#, &turns);
    assert!(verdicts[1].level == Level::Nudge && verdicts[1].records.is_empty());
    assert!(verdicts[2].level == Level::Gate && !verdicts[2].records.is_empty());
}

#[test]
fn a_human_s_answer_starts_the_evidence_over() {
    let mut detector = detector("{}");
    (0..2).for_each(|_| drop(record(&mut detector, said("coder", "same"))));
    assert_eq!(record(&mut detector, said("coder", "same")).level, Level::Gate);
    assert_eq!(record(&mut detector, said("coder", "same")).level, Level::Gate);
    detector.acknowledge(&Scope::default(), &Decision::Continue).unwrap();
    assert_eq!(record(&mut detector, said("coder", "same")).level, Level::Continue);
    assert_eq!(record(&mut detector, said("coder", "same")).level, Level::Continue);
    assert_eq!(record(&mut detector, said("coder", "same")).level, Level::Gate);
}

#[test]
fn tasks_are_apart_and_agents_are_not() {
    let turn = |fields: &str| format!(r#"{{"type":"turn","node":"coder","finalMessage":"same",{fields}}}"#);
    goes_on(&[turn(r#""task":"a""#), turn(r#""task":"b""#), turn(r#""task":"c""#), turn(r#""task":"d""#)]);
    stalls(&[turn(r#""agent":"x""#), turn(r#""agent":"y""#), turn(r#""agent":"z""#)], "identical-output", 2);
    let parent = r#""parentTask":"a""#;
    let sub = |name: &str| turn(&format!(r#""task":"{name}",{parent}"#));
    stalls(&[turn(r#""task":"a""#), sub("a1"), sub("a2")], "identical-output", 2);
}

#[test]
fn failures_end_iterations_where_nothing_else_does() {
    let mut events = Vec::new();
    for index in 0..4 {
        events.push(format!(r#"{{"type":"failure","message":"a new error, number {index}"}}"#));
        events.push(progress(r#""diff":"d","tests":{"failing":3}"#));
    }
    stalls(&events, "unchanged-diff", 3);
    let apart = r#"{"rules":{"unchanged-diff":{"enabled":false},"repeated-failure":{"enabled":false}}}"#;
    assert_eq!(first(apart, &events), Some(("unchanged-failures".into(), 5)));
}

#[test]
fn patch_and_documents_are_evidence_each() {
    let reading = progress(r#""diff":"d","docs":"m""#);
    let verdicts = play("{}", &[said("coder", "one"), reading.clone(), said("coder", "two"), reading]);
    let Some(Record::LoopHalted { diff_hashes, docs_hashes, .. }) = verdicts[3].records.first() else {
        panic!("{:?}", verdicts[3])
    };
    assert_eq!((diff_hashes.len(), docs_hashes.len()), (2, 2));
    assert!(diff_hashes[0] == diff_hashes[1] && docs_hashes[0] == docs_hashes[1] && diff_hashes[0] != docs_hashes[0]);
}

#[test]
fn nothing_that_a_node_says_leaves() {
    let secret = "hunter2-the-password";
    let mut detector = detector("{}");
    let mut told = String::new();
    for _ in 0..3 {
        let turn = format!(r#"{{"type":"turn","node":"c","finalMessage":"{secret}","structuredOutput":"{secret}"}}"#);
        told += &json::record(&mut detector, &turn).unwrap();
        let reading =
            progress(&format!(r#""diff":"{secret}","docs":"{secret}","tests":{{"failingIds":["{secret}"]}}"#));
        told += &json::record(&mut detector, &reading).unwrap();
    }
    told += &json::status(&detector, "").unwrap();
    told += &json::report(&detector, "", "markdown").unwrap();
    assert!(told.contains("loop.halted") && !told.contains(secret));
    let snapshot = detector.snapshot();
    assert!(!snapshot.windows(secret.len()).any(|window| window == secret.as_bytes()));
}
