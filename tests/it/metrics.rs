//! Every figure in the metrics equals a plain recount of events, verdicts and records.

use crate::kit::record;
use loopwarden::model::{Decision, Level, LevelCounts, Record, ResetReason, Scope, Verdict};
use loopwarden::{Detector, json};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const CONFIGS: [&str; 4] = [
    "{}",
    r#"{"failures":{"counting":"attempts"}}"#,
    r#"{"mode":"shadow"}"#,
    r#"{"phases":{"maxVisitsDefault":2,"triggerHitl":false}}"#,
];

fn add(counts: &mut LevelCounts, level: Level) {
    match level {
        Level::Continue => {}
        Level::Observe => counts.observe += 1,
        Level::Nudge => counts.nudge += 1,
        Level::Block => counts.block += 1,
        Level::Gate => counts.gate += 1,
        Level::Halt => counts.halt += 1,
    }
}

/// An event of every kind that affects a figure, over few names, so that things repeat.
fn any_event() -> impl Strategy<Value = String> {
    let word = || prop::sample::select(vec!["oak", "elm", "503 Service Unavailable", "4 tests failing"]);
    let phase = || prop::sample::select(vec!["plan", "test", "fix"]);
    let body = prop_oneof![
        4 => word().prop_map(|word| format!(r#""type":"failure","message":"it failed: {word}""#)),
        2 => word().prop_map(|word| format!(r#""type":"collaboration","from":"a","to":"b","request":"review the {word}""#)),
        1 => prop::sample::select(vec!["stalled", "progressing", "regressing"])
            .prop_map(|verdict| format!(r#""type":"evaluation","verdict":"{verdict}""#)),
        2 => Just(r#""type":"attempt","status":"blocked","blockers":["no token"]"#.to_string()),
        2 => (phase(), phase()).prop_map(|(from, to)| format!(r#""type":"transition","from":"{from}","to":"{to}""#)),
        1 => prop::sample::select(vec!["phase-visits", "phase-cycle", "lint"])
            .prop_map(|name| format!(r#""type":"host","kind":"hook-block","name":"{name}""#)),
        1 => (0..9_u32).prop_map(|failing| format!(r#""type":"progress","tests":{{"failing":{failing}}}"#)),
        1 => word().prop_map(|word| format!(r#""type":"output","text":"made of {word}""#)),
    ];
    (body, 0..3_u8, 0..3_u8, any::<bool>()).prop_map(|(body, task, agent, synthetic)| {
        let synthetic = if synthetic && agent == 2 { r#","synthetic":true"# } else { "" };
        format!(r#"{{{body},"task":"task-{task}","agent":"agent-{agent}"{synthetic}}}"#)
    })
}

/// The recounted figures.
#[derive(Default)]
struct Recount {
    verdicts: LevelCounts,
    rules: BTreeMap<String, LevelCounts>,
    detected: u64,
    gates: u64,
    before_gate: u64,
    agents: BTreeMap<String, (u64, u64)>,
    tasks: BTreeSet<String>,
    looped: BTreeSet<String>,
    refused: BTreeMap<String, u64>,
    labelled: u64,
}

impl Recount {
    fn take(&mut self, config: &str, event: &str, verdict: &Verdict) {
        let event: serde_json::Value = serde_json::from_str(event).unwrap();
        let text = |field: &str| event[field].as_str().unwrap_or_default().to_string();
        let (kind, agent, synthetic) = (text("type"), text("agent"), event["synthetic"] == true);
        add(&mut self.verdicts, verdict.level);
        for finding in &verdict.findings {
            add(self.rules.entry(finding.rule.to_string()).or_default(), finding.level);
        }
        if matches!(kind.as_str(), "failure" | "collaboration" | "progress") && !synthetic {
            self.tasks.insert(text("task"));
        }
        if matches!(kind.as_str(), "failure" | "collaboration") && !synthetic {
            self.agents.entry(agent).or_default().0 += 1;
        }
        if kind != "attempt" {
            for record in &verdict.records {
                match record {
                    Record::LoopDetected { task_id, agent_id, .. } => {
                        self.detected += 1;
                        self.looped.insert(task_id.clone().unwrap());
                        self.agents.entry(agent_id.clone().unwrap()).or_default().1 += 1;
                    }
                    Record::GateTriggered { loop_count, .. } => {
                        self.gates += 1;
                        self.before_gate += u64::from(*loop_count);
                    }
                    _ => {}
                }
            }
        }
        let enforced = !config.contains("shadow");
        let refused = verdict.findings.iter().filter(|finding| finding.level >= Level::Block && enforced);
        let refused = refused.map(|finding| finding.rule.to_string()).find(|rule| rule.starts_with("phase-"));
        let obeyed = (kind == "host" && text("name").starts_with("phase-") && enforced).then(|| text("name"));
        if let Some(rule) = refused.or(obeyed) {
            *self.refused.entry(rule).or_default() += 1;
            self.labelled += u64::from(!config.contains("triggerHitl"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_figures_are_those_of_a_recount(
        events in prop::collection::vec(any_event(), 1..90),
        config in 0..CONFIGS.len(),
        restored in any::<bool>(),
    ) {
        let config = CONFIGS.get(config).unwrap();
        let mut detector = json::detector(config).unwrap();
        let mut recount = Recount::default();
        for event in &events {
            if restored {
                detector = Detector::restore(&detector.snapshot()).unwrap();
            }
            // Checks are not counted.
            detector.check(&json::event(event).unwrap()).unwrap();
            recount.take(config, event, &detector.record(&json::event(event).unwrap()).unwrap());
        }
        let metrics = detector.metrics();
        prop_assert_eq!(metrics.events, events.len() as u64);
        prop_assert_eq!(metrics.verdicts, recount.verdicts);
        let rules: BTreeMap<String, LevelCounts> =
            metrics.rules.iter().map(|(rule, counted)| (rule.clone(), counted.levels)).collect();
        prop_assert_eq!(rules, recount.rules);
        prop_assert_eq!(metrics.detections, metrics.rules.values().map(|rule| rule.detections).sum::<u64>());
        prop_assert_eq!(metrics.detections, metrics.detections_by_agent.values().sum::<u64>());
        let loops = &metrics.loops;
        prop_assert_eq!(loops.detected, recount.detected);
        prop_assert_eq!((loops.gates, loops.loops_before_gate), (recount.gates, recount.before_gate));
        prop_assert_eq!((loops.tasks, loops.tasks_with_loops), (recount.tasks.len() as u64, recount.looped.len() as u64));
        let agents: BTreeMap<String, (u64, u64)> =
            loops.agents.iter().map(|(agent, of)| (agent.clone(), (of.events, of.loops))).collect();
        prop_assert_eq!(agents, recount.agents);
        prop_assert!(loops.agents.values().all(|of| of.rate <= 1000 && of.loops <= of.events));
        prop_assert!(loops.task_rate <= 1000);
        prop_assert_eq!(loops.task_rate, (loops.tasks_with_loops * 1000).checked_div(loops.tasks).unwrap_or(0));
        prop_assert_eq!(loops.average_loops_per_task, (loops.detected * 1000).checked_div(loops.tasks).unwrap_or(0));
        prop_assert_eq!(
            loops.average_loops_before_gate,
            (loops.loops_before_gate * 1000).checked_div(loops.gates).unwrap_or(0)
        );
        let of = |rule: &str| recount.refused.get(rule).copied().unwrap_or(0);
        prop_assert_eq!(
            (metrics.phase_visits_blocked, metrics.transitions_blocked, metrics.cycles_detected),
            (of("phase-visits"), of("phase-transitions"), of("phase-cycle"))
        );
        prop_assert_eq!(metrics.hitl_triggered, recount.labelled);
    }
}

#[test]
fn loops_of_attempts_are_no_loops_of_failures() {
    let mut detector = json::detector("{}").unwrap();
    for _ in 0..7 {
        record(&mut detector, r#"{"type":"attempt","task":"t","agent":"a","status":"blocked","blockers":["x"]}"#);
    }
    let metrics = detector.metrics();
    assert_eq!(metrics.loops, Default::default());
    assert!(metrics.detections > 0 && metrics.rules.contains_key("task-attempts"));
}

#[test]
fn a_judge_who_changes_his_mind_does_not_count_one_failure_twice() {
    let mut detector = json::detector("{}").unwrap();
    record(&mut detector, r#"{"type":"failure","task":"t","agent":"a","message":"the page is red"}"#);
    for (verdict, confidence) in [("stalled", 500), ("progressing", 600), ("stalled", 700)] {
        let answer = format!(
            r#"{{"type":"evaluation","task":"t","agent":"judge","verdict":"{verdict}","confidence":{confidence}}}"#
        );
        record(&mut detector, &answer);
    }
    let loops = detector.metrics().loops;
    assert_eq!((loops.detected, loops.tasks, loops.tasks_with_loops, loops.task_rate), (1, 1, 1, 1000));
    assert_eq!((loops.agents.len(), loops.agents["a"].rate), (1, 1000));
}

#[test]
fn resolution_is_a_scopes_own() {
    let mut detector = json::detector("{}").unwrap();
    for (index, task) in ["a", "b", "a", "b", "a", "b", "a", "b"].iter().enumerate() {
        let at = index * 1000;
        record(&mut detector, format!(r#"{{"type":"failure","task":"{task}","message":"it broke","at":{at}}}"#));
    }
    let scope = |task: &str| Scope { task: Some(task.into()), ..Scope::default() };
    drop(detector.reset(&scope("c"), ResetReason::HumanIntervention));
    assert_eq!((detector.metrics().resolved, detector.metrics().loops.resolved), (0, 0));
    drop(detector.acknowledge(&scope("a"), &Decision::Continue).unwrap());
    let metrics = detector.metrics();
    assert_eq!((metrics.resolved, metrics.loops.resolved), (1, 1));
    // Found at 4 s, gated at 6 s and over at 7 s.
    assert_eq!((metrics.resolution_ms, metrics.loops.resolution_ms), (3000, 1000));
    drop(detector.reset(&scope("b"), ResetReason::TaskCompleted));
    let metrics = detector.metrics();
    assert_eq!((metrics.resolved, metrics.loops.resolved), (2, 1));
}

#[test]
fn results_that_belong_to_no_call_are_counted() {
    let mut detector = json::detector("{}").unwrap();
    let call = |id: &str| format!(r#"{{"type":"tool-call","tool":"moor","args":{{}},"callId":"{id}"}}"#);
    let result = |id: &str| format!(r#"{{"type":"tool-result","callId":"{id}","outcome":"ok","output":"moored"}}"#);
    let given_up = r#"{"type":"tool-result","callId":"e","outcome":"ok","output":"given up","synthetic":true}"#;
    for event in [call("a"), result("a"), result("a"), call("b"), result("B"), result("c"), given_up.into()] {
        detector.check(&json::event(&result("d")).unwrap()).unwrap();
        record(&mut detector, event);
    }
    assert_eq!(detector.metrics().results_without_call, 2);
    let restored = Detector::restore(&detector.snapshot()).unwrap();
    assert_eq!(restored.metrics().results_without_call, 2);
}

#[test]
fn a_refusal_that_was_obeyed_is_counted() {
    let mut detector = json::detector(r#"{"phases":{"phases":{"test":{"maxVisits":2}}}}"#).unwrap();
    let enter = r#"{"type":"transition","task":"t","from":"test","to":"test"}"#;
    record(&mut detector, enter);
    record(&mut detector, enter);
    let refused = detector.check(&json::event(enter).unwrap()).unwrap();
    let finding = refused.findings.first().unwrap();
    assert_eq!((refused.level, finding.rule.as_str()), (Level::Gate, "phase-visits"));
    assert_eq!((detector.metrics().phase_visits_blocked, detector.metrics().hitl_triggered), (0, 0));
    for times in 1..9 {
        let told = format!(r#"{{"type":"host","kind":"hook-block","task":"t","name":"{}"}}"#, finding.rule);
        assert!(record(&mut detector, &told).findings.is_empty(), "it is no hook's");
        assert_eq!((detector.metrics().phase_visits_blocked, detector.metrics().hitl_triggered), (times, times));
    }
    // A host's hook blocks count too.
    let hook = r#"{"type":"host","kind":"hook-block","name":"lint"}"#;
    let found: Vec<Level> = (0..3).map(|_| record(&mut detector, hook).level).collect();
    assert_eq!(found, [Level::Continue, Level::Continue, Level::Nudge]);
}
