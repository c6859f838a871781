//! What `status` predicts is what happens: every scenario of the corpus is replayed event by event, and each verdict is
//! compared with the status before it.

use crate::corpus::corpus;
use crate::kit::{detector, record};
use crate::raw_scenario::RawScenario;
use loopwarden::model::{Body, Level, NoNext, RuleStanding, Scope, Verdict};
use loopwarden::{Detector, json, rules};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Rules without a threshold of their own: their section of the configuration, or a judge, decides what happens when.
const ELSEWHERE: [&str; 9] = [
    "counter",
    "cycle-budget",
    "empty-handed",
    "node-budget",
    "phase-cycle",
    "phase-transitions",
    "phase-visits",
    "task-attempts",
    "turn-budget",
];

/// Milliseconds without the outcome of a call after which a look is not refused.
const LATE: i64 = 300_000;

/// Each scenario is replayed with one of this many settings.
const EVERY: usize = 7;

type Standings = BTreeMap<String, RuleStanding>;

/// The standing of each rule in an event's run.
fn standings(detector: &Detector, run: Option<&str>) -> Standings {
    let status = detector.status(&Scope { run: run.map(Into::into), ..Scope::default() });
    status.rules.into_iter().map(|standing| (standing.rule.clone(), standing)).collect()
}

/// How a prediction about a rule turned out.
enum Came {
    AsSaid,
    Otherwise(String),
}

/// Compares the prediction about a rule before an event with the event's verdict. `told` is whether the rule has
/// already found something in the run, `late` whether the call came so long after anything else that it is not refused.
fn came(was: &RuleStanding, is: &RuleStanding, verdict: &Verdict, told: bool, late: bool) -> Option<Came> {
    let found = verdict.findings.iter().find(|finding| finding.rule == was.rule.as_str());
    let what = found.map_or_else(|| "nothing".into(), |found| format!("{} at {}", found.level, found.count));
    let otherwise = |why: &str| Some(Came::Otherwise(format!("{why} at {}: {what}, now {}", was.count, is.count)));
    // A finding about something of which the rule counts less says nothing about this prediction.
    let same = found.filter(|found| found.count == is.count);
    // A recurring loop is blocked where it would only be nudged, and a continuing one is reported once, by whichever
    // rule.
    let relapse = |level: Level| told && level == Level::Block;
    let beside = verdict.findings.len() > 1;
    let again = |level: Level| (told || beside) && level == Level::Observe;
    match (was.next_level, was.next_threshold, was.no_next) {
        (Some(next), Some(_), None) if late && next > Level::Nudge => None,
        // What was closest is over, and what is closest now has more time.
        (Some(next), Some(threshold), None) if is.next_level == Some(next) && is.next_threshold > Some(threshold) => {
            None
        }
        (Some(next), Some(threshold), None) => {
            let level = found.map_or(Level::Continue, |found| found.level);
            if is.count > was.count && is.count >= threshold {
                return if level >= next || next == Level::Nudge && again(level) {
                    Some(Came::AsSaid)
                } else {
                    otherwise(&format!("{next} at {threshold} was said"))
                };
            }
            let early = same.filter(|found| found.count < threshold && found.level >= next && !relapse(found.level));
            early.and_then(|_| otherwise(&format!("{next} not before {threshold} was said")))
        }
        (None, None, Some(NoNext::Advisory)) => {
            let refused = same.filter(|found| found.level > Level::Nudge && !relapse(found.level));
            refused.and_then(|_| otherwise("advisory was said"))
        }
        (None, None, _) => None,
        odd => otherwise(&format!("{odd:?} was said")),
    }
}

/// The predictions that failed, and the rules with a prediction that came true or that were predicted to only nudge.
#[derive(Default)]
struct Replayed {
    otherwise: Vec<String>,
    kept: BTreeSet<String>,
    advisory: BTreeSet<String>,
}

impl Replayed {
    fn replay(&mut self, scenario: &RawScenario, config: &str) {
        let mut detector = detector(config);
        let mut told = BTreeSet::new();
        let mut answered = None;
        for (at, raw) in scenario.events.iter().enumerate().filter(|(_, raw)| !raw.pending) {
            let Ok(event) = json::event(&raw.text) else { continue };
            let run = event.context.run.as_deref();
            let before = standings(&detector, run);
            let Ok(verdict) = detector.record(&event) else { continue };
            let after = standings(&detector, run);
            let late = answered.zip(event.context.at).is_some_and(|(before, now)| now - before >= LATE);
            if matches!(event.body, Body::ToolResult(_)) {
                answered = event.context.at;
            }
            for (rule, was) in &before {
                self.advisory.extend(was.no_next.map(|_| rule.clone()));
                let Some(is) = after.get(rule) else { continue };
                match came(was, is, &verdict, told.contains(rule), late) {
                    Some(Came::AsSaid) => drop(self.kept.insert(rule.clone())),
                    Some(Came::Otherwise(why)) => {
                        self.otherwise.push(format!("{rule}: {} event {at}, {config}: {why}", scenario.id));
                    }
                    None => {}
                }
            }
            told.extend(verdict.findings.iter().map(|finding| finding.rule.to_string()));
        }
    }
}

#[test]
fn what_status_says_comes_next_comes_next() {
    let mut replayed = Replayed::default();
    for scenario in corpus() {
        replayed.replay(&scenario, scenario.config.as_deref().unwrap_or("{}"));
    }
    let Replayed { otherwise, kept, advisory } = replayed;
    assert!(otherwise.is_empty(), "{}", otherwise.join("\n"));
    let all = rules().into_iter().map(|rule| rule.id).filter(|rule| !ELSEWHERE.contains(rule));
    let never: Vec<&str> = all.filter(|rule| !kept.contains(*rule)).collect();
    assert!(never.is_empty(), "no scenario shows that what is said comes: {never:?}");
    let shown = ["cycle", "no-effect", "repeated-call", "repeated-error", "resubmission", "same-answer"];
    assert!(shown.iter().all(|rule| advisory.contains(*rule)), "advisory: {advisory:?}");
}

/// Under any settings: presets, polling tools, unattended runs, missing thresholds.
#[test]
fn what_is_said_comes_under_other_settings() {
    let settings = [
        r#"{"preset":"sensitive"}"#,
        r#"{"preset":"conservative","attended":false}"#,
        r#"{"tools":{"*":{"polling":true}}}"#,
        r#"{"tools":{"*":{"mutates":false,"compareAnswers":true}}}"#,
        r#"{"rules":{"same-answer":{"nudge":0},"resubmission":{"nudge":0},"no-effect":{"nudge":0},"repeated-call":{"nudge":0},"repeated-error":{"nudge":0},"denied-call":{"nudge":0},"stream-period":{"nudge":0}}}"#,
        r#"{"rules":{"same-answer":{"nudge":5,"block":7},"resubmission":{"nudge":2,"block":0},"no-effect":{"block":0},"repeated-call":{"block":0},"stream-period":{"nudge":300,"block":310}}}"#,
        r#"{"tools":{"*":{"rules":{"repeated-call":{"nudge":9,"block":15},"repeated-error":{"nudge":4}}}}}"#,
    ];
    let mut replayed = Replayed::default();
    for (at, scenario) in corpus().iter().filter(|scenario| scenario.config.is_none()).enumerate() {
        for config in settings.iter().skip(at % EVERY).step_by(EVERY) {
            replayed.replay(scenario, config);
        }
    }
    assert!(replayed.otherwise.is_empty(), "{}", replayed.otherwise.join("\n"));
}

/// The JSON door's prediction for a rule.
fn said(detector: &Detector, rule: &str) -> serde_json::Value {
    let status: serde_json::Value = serde_json::from_str(&json::status(detector, "{}").unwrap()).unwrap();
    let rules = status["rules"].as_array().unwrap();
    rules.iter().find(|standing| standing["rule"] == rule).cloned().unwrap_or_default()
}

/// Calls of one tool that get the same answer, with the given arguments.
fn ask<'a>(config: &str, tool: &str, asked: impl IntoIterator<Item = &'a str>) -> Detector {
    let mut detector = detector(config);
    for q in asked {
        record(&mut detector, json!({"type": "tool-call", "tool": tool, "args": {"q": q}}));
        let output = "No timetable names a stop of that kind in the region asked for.";
        record(&mut detector, json!({"type": "tool-result", "tool": tool, "outcome": "ok", "output": output}));
    }
    detector
}

#[test]
fn a_question_in_words_is_told_of_where_status_says() {
    let towns = ["trams in Ulm", "trams in Bern", "trams in Linz", "trams in Graz", "trams in Kiel"];
    let asked = ask("{}", "web_search", towns);
    let standing = json!({"rule": "same-answer", "count": 5, "nextThreshold": 7, "nextLevel": "nudge"});
    assert_eq!(said(&asked, "same-answer"), standing);
    let codes = ["a1", "b2", "c3"];
    let standing = json!({"rule": "same-answer", "count": 3, "nextThreshold": 4, "nextLevel": "nudge"});
    assert_eq!(said(&ask("{}", "web_search", codes), "same-answer"), standing);
    // A view that does not change is only nudged, never blocked.
    let standing = json!({"rule": "same-answer", "count": 5, "noNext": "advisory"});
    assert_eq!(said(&ask("{}", "click", ["a1", "b2", "c3", "d4", "e5"]), "same-answer"), standing);
}

#[test]
fn waiting_and_thresholds_of_tools_are_told() {
    let again = ["7"; 3];
    let of = |config: &str, rule: &str| said(&ask(config, "job", again), rule);
    let standing = json!({"rule": "repeated-call", "count": 6, "nextThreshold": 12, "nextLevel": "block"});
    assert_eq!(of("{}", "repeated-call"), standing);
    let standing = json!({"rule": "repeated-call", "count": 6, "nextThreshold": 18, "nextLevel": "nudge"});
    assert_eq!(of(r#"{"tools":{"job":{"polling":true}}}"#, "repeated-call"), standing);
    // If a tool has thresholds of its own, none is given unless they agree on what comes next.
    let own = r#"{"tools":{"deploy_*":{"rules":{"repeated-call":{"block":10}}}}}"#;
    assert_eq!(of(own, "repeated-call"), json!({"rule": "repeated-call", "count": 6, "noNext": "by-tool"}));
    let same = r#"{"tools":{"deploy_*":{"rules":{"repeated-call":{"halt":30}}}}}"#;
    let standing = json!({"rule": "repeated-call", "count": 6, "nextThreshold": 12, "nextLevel": "block"});
    assert_eq!(of(same, "repeated-call"), standing);
    // What does not recur within the window is no longer evidence.
    let mut old = ask("{}", "job", again);
    for n in 0..40 {
        record(&mut old, json!({"type": "tool-call", "tool": "read", "args": {"path": format!("f{n}")}}));
        let output = format!("line {n} of its own, and nothing else");
        record(&mut old, json!({"type": "tool-result", "tool": "read", "outcome": "ok", "output": output}));
    }
    assert_eq!(said(&old, "repeated-call"), serde_json::Value::Null);
}

#[test]
fn calls_without_an_answer_wait_longer_where_waiting_is_expected() {
    let calls = |config: &str| {
        let mut detector = detector(config);
        for n in 0..2 {
            record(&mut detector, json!({"type": "tool-call", "tool": "job", "callId": format!("c{n}"), "args": {}}));
        }
        said(&detector, "unanswered-call")
    };
    assert_eq!(calls("{}")["nextThreshold"], 3);
    assert_eq!(calls(r#"{"tools":{"job":{"polling":true}}}"#)["nextThreshold"], 9);
}
