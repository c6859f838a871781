//! Reports about a loop do not depend on who else is at work: every example of the documents, interleaved event by
//! event with another task's healthy run, with another agent's, with an equal example under other names, and with a
//! snapshot and restore between any two events.

use crate::kit::{record, scope};
use loopwarden::model::{Decision, Level, ResetReason, Verdict};
use loopwarden::{Detector, json};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const START: i64 = 1_762_000_000_000;

/// An example of a document: its configuration, its events and the rule expected to fire, if any.
struct Example {
    name: &'static str,
    config: &'static str,
    events: Vec<Value>,
    rule: Option<&'static str>,
}

fn outputs(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|text| json!({"type": "output", "text": text})).collect()
}

fn failures(messages: &[&str]) -> Vec<Value> {
    messages.iter().map(|message| json!({"type": "failure", "message": message})).collect()
}

fn attempts(count: usize, status: &str, blockers: &[&str], work: &[&str]) -> Vec<Value> {
    let attempt = |index: usize| {
        json!({"type": "attempt", "status": status, "blockers": blockers, "completedWork": work,
            "session": format!("session_{index}")})
    };
    (0..count).map(attempt).collect()
}

fn walk(transitions: &str) -> Vec<Value> {
    let transition = |text: &str| {
        let (from, to) = text.split_once('→').unwrap();
        if from.is_empty() {
            json!({"type": "transition", "to": to})
        } else {
            json!({"type": "transition", "from": from, "to": to})
        }
    };
    transitions.split_whitespace().map(transition).collect()
}

/// Turns of one node, each followed by a progress report.
fn turns(readings: &[Value]) -> Vec<Value> {
    let turn = |(index, reading): (usize, &Value)| {
        let mut progress = reading.clone();
        progress.as_object_mut().unwrap().insert("type".into(), "progress".into());
        [json!({"type": "turn", "node": "coder", "finalMessage": format!("step {index}"), "tokens": 100}), progress]
    };
    readings.iter().enumerate().flat_map(turn).collect()
}

fn said(messages: &[&str]) -> Vec<Value> {
    messages
        .iter()
        .map(|text| json!({"type": "turn", "node": "coder", "finalMessage": text, "costMicros": 5}))
        .collect()
}

fn asked(requests: &[&str]) -> Vec<Value> {
    let ask = |request: &&str| json!({"type": "collaboration", "from": "backend_dev", "to": "security_expert", "request": request});
    requests.iter().map(ask).collect()
}

/// Calls of one tool, each followed by its result.
fn calls(count: usize, call: impl Fn(usize) -> (&'static str, &'static str, String)) -> Vec<Value> {
    let one = |index: usize| {
        let (page, outcome, output) = call(index);
        [
            json!({"type": "tool-call", "tool": "look_up", "args": {"page": page}}),
            json!({"type": "tool-result", "tool": "look_up", "outcome": outcome, "output": output}),
        ]
    };
    (0..count).flat_map(one).collect()
}

fn with_ids(mut events: Vec<Value>) -> Vec<Value> {
    for (index, event) in events.iter_mut().enumerate() {
        event.as_object_mut().unwrap().insert("callId".into(), format!("call_{}", index / 2).into());
    }
    events
}

fn says(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|text| json!({"type": "message", "role": "assistant", "text": text})).collect()
}

fn streamed(piece: &str) -> Vec<Value> {
    vec![json!({"type": "delta", "text": piece.repeat(4)}); 12]
}

const FIX: &str = "Fixed auth.ts - added null check";

fn examples() -> Vec<Example> {
    let example = |name, config, events, rule| Example { name, config, events, rule };
    let judged = |verdict: &str, messages: &[&str]| -> Vec<Value> {
        let judge =
            |failure: Value| [failure, json!({"type": "evaluation", "verdict": verdict, "reasoning": "nothing moves"})];
        failures(messages).into_iter().flat_map(judge).collect()
    };
    let laps = || -> Vec<Value> {
        let ends = [("coder", "verifier"), ("verifier", "coder")];
        (0..8).flat_map(|_| ends.map(|(from, to)| json!({"type": "delivery", "from": from, "to": to}))).collect()
    };
    vec![
        example("000 true loop", "{}", outputs(&[FIX, FIX, FIX, FIX]), Some("output-signature")),
        example("000 window", "{}", outputs(&["a", "b", "a", "a", "a"]), Some("output-signature")),
        example(
            "000 other actions",
            "{}",
            outputs(&[FIX, "Fixed auth.ts - updated validation", "Fixed auth.ts - refactored handler"]),
            None,
        ),
        example(
            "000 falling",
            "{}",
            outputs(&[
                "3 tests failing - auth, login, logout",
                "2 tests failing - auth, login",
                "1 test failing - auth",
            ]),
            None,
        ),
        example(
            "000 falling elsewhere",
            "{}",
            outputs(&[
                "4 failed: auth.test.ts - login, logout",
                "3 failed: auth.test.ts - login, logout",
                "2 failed: auth.test.ts - login, logout",
            ]),
            None,
        ),
        example("001 exact", "{}", failures(&["Syntax error at line 42"; 5]), Some("task-loop")),
        example(
            "001 attempts",
            r#"{"failures":{"counting":"attempts"}}"#,
            failures(&["Syntax error at line 42"; 3]),
            Some("task-loop"),
        ),
        example(
            "001 regression",
            "{}",
            failures(&["1 test failing", "3 tests failing", "5 tests failing", "8 tests failing"]),
            Some("task-loop"),
        ),
        example(
            "001 external",
            "{}",
            failures(&[
                "HTTP 503 Service Unavailable",
                "connect ETIMEDOUT 10.0.0.1:443",
                "401 Unauthorized",
                "429 Too Many Requests",
                "HTTP 503 Service Unavailable",
                "quota exceeded",
            ]),
            Some("external-failure"),
        ),
        example(
            "001 no tests",
            "{}",
            failures(&[
                "the page is red",
                "the page is blue",
                "the page is grey",
                "the page is tiny",
                "the page is gone",
            ]),
            Some("no-tests"),
        ),
        example("001 judge", "{}", judged("stalled", &["a is red", "b is blue", "c is grey"]), Some("task-loop")),
        example(
            "001 requests",
            "{}",
            asked(&[
                "Can you review this authentication code?",
                "Can you review this auth code again?",
                "please check the authentication code",
                "review the auth code",
            ]),
            Some("task-loop"),
        ),
        example("002 done", "{}", attempts(4, "done", &[], &["Implemented dashboard.tsx"]), Some("task-attempts")),
        example(
            "002 blocked",
            "{}",
            attempts(7, "blocked", &["critic:design_system unavailable"], &[]),
            Some("task-attempts"),
        ),
        example(
            "002 no progress",
            "{}",
            attempts(5, "in-progress", &[], &["Read file A", "Parse config"]),
            Some("task-attempts"),
        ),
        example(
            "003 issue 123",
            r#"{"phases":{"phases":{"test":{"maxVisits":5}}}}"#,
            walk("→implement implement→test test→test test→test test→test test→test test→test"),
            Some("phase-visits"),
        ),
        example(
            "003 issue 456",
            r#"{"phases":{"cycleDetectionEnabled":false}}"#,
            walk(
                "implement→test test→fix fix→test test→fix fix→test test→fix fix→test test→fix fix→test test→fix fix→test",
            ),
            Some("phase-transitions"),
        ),
        example(
            "003 issue 789",
            "{}",
            walk("plan→implement implement→test test→fix fix→implement implement→test test→fix fix→implement"),
            Some("phase-cycle"),
        ),
        example("004 same words", "{}", said(&["done", "done", "done"]), Some("identical-output")),
        example("004 back and forth", "{}", said(&["A", "B", "A", "B"]), Some("oscillation")),
        example("004 same patch", "{}", turns(&[json!({"diff": "d0"}), json!({"diff": "d0"})]), Some("unchanged-diff")),
        example(
            "004 same tests",
            "{}",
            turns(&[
                json!({"tests": {"failingIds": ["a", "b"], "total": 10}}),
                json!({"tests": {"failingIds": ["b", "a"], "total": 20}}),
                json!({"tests": {"failingIds": ["a", "b"], "total": 30}}),
            ]),
            Some("unchanged-failures"),
        ),
        example(
            "004 falling",
            "{}",
            turns(&[
                json!({"tests": {"failing": 7}}),
                json!({"tests": {"failing": 4}}),
                json!({"tests": {"failing": 2}}),
            ]),
            None,
        ),
        example("004 laps", "{}", laps(), Some("cycle-budget")),
        example(
            "the same error",
            "{}",
            calls(3, |_| ("menu", "error", "TypeError: menu is not iterable".into())),
            Some("repeated-error"),
        ),
        example(
            "the same call",
            "{}",
            calls(4, |_| ("menu", "ok", "3 dishes are on the menu".into())),
            Some("repeated-call"),
        ),
        example(
            "a lap of calls",
            "{}",
            calls(8, |n| (["menu", "table"][n % 2], "ok", format!("{} dishes are there", n % 2))),
            Some("cycle"),
        ),
        example(
            "calls with ids",
            "{}",
            with_ids(calls(3, |_| ("menu", "error", "TypeError: menu is broken".into()))),
            Some("repeated-error"),
        ),
        example("the same words", "{}", says(&["I will look at the menu now, please wait."; 3]), Some("monologue")),
        example("a stream", "{}", streamed("and the soup is on the menu "), Some("stream-period")),
    ]
}

const WORDS: [&str; 11] =
    ["hinge", "window", "roof", "cellar", "fence", "garden", "chimney", "stair", "gutter", "attic", "porch"];

const TALK: [&str; 8] = [
    "The roof is done, and it holds.",
    "Next come both gables; timber arrives on Tuesday.",
    "I painted every window frame green, as was wished for.",
    "Two steps of the stair creak: new wedges are in.",
    "Rain water now runs off towards the orchard.",
    "Somebody should look at that old lock again.",
    "Plaster needs three days before wallpaper can follow.",
    "All keys hang in the kitchen cupboard.",
];

/// Honest work: everything is new each time and improves.
fn healthy(index: usize) -> Value {
    let events = [
        json!({"type": "output", "text": format!("Wrote chapter {index} about the weather")}),
        json!({"type": "attempt", "status": "in-progress", "completedWork": [format!("step {index}")]}),
        json!({"type": "progress", "tests": {"failing": 400 - index, "total": 500}, "diff": format!("patch {index}")}),
        json!({"type": "transition", "from": format!("stage-{index}"), "to": format!("stage-{}", index + 1)}),
        json!({"type": "failure", "message": format!("the {} does not {}", WORDS[index % 11], WORDS[index / 12 % 11])}),
        json!({"type": "turn", "node": format!("writer-{index}"), "finalMessage": format!("chapter {index}"), "tokens": 7}),
        json!({"type": "delivery", "from": format!("writer-{index}"), "to": format!("writer-{}", index + 1)}),
        json!({"type": "message", "role": "assistant", "text": TALK[index / 12 % TALK.len()]}),
        json!({"type": "collaboration", "from": format!("lead-{index}"), "to": "reader", "request": format!("read chapter {index}")}),
        json!({"type": "tool-call", "tool": "look_up", "args": {"page": format!("{}-{index}", WORDS[index % 11])}}),
        json!({"type": "tool-result", "tool": "look_up", "outcome": "ok",
            "output": format!("the {} of page {index} is {}", WORDS[index * 3 % 11], WORDS[index / 11 % 11])}),
        json!({"type": "delta", "text": format!("{} w{:x}", WORDS[index % 11], index * 2_654_435_761)}),
    ];
    events[index % events.len()].clone()
}

/// An event with its task, agent and time.
fn placed(event: &Value, task: Option<&str>, agent: &str, at: i64) -> Value {
    let mut event = event.clone();
    let map = event.as_object_mut().unwrap();
    if let Some(task) = task {
        map.insert("task".into(), task.into());
    }
    map.insert("agent".into(), agent.into());
    map.insert("at".into(), at.into());
    event
}

/// Sequence numbers as if nobody else had recorded any events.
fn renumbered(value: &Value, own: &[u64]) -> Value {
    let place = |seq: u64| own.iter().position(|known| *known == seq).map_or(u64::MAX, |place| place as u64);
    match value {
        Value::Object(map) => {
            let field = |(name, value): (&String, &Value)| match (name.as_str(), value.as_u64()) {
                ("seq" | "onsetSeq" | "lastSeq", Some(seq)) => (name.clone(), place(seq).into()),
                _ => (name.clone(), renumbered(value, own)),
            };
            Value::Object(map.iter().map(field).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(|item| renumbered(item, own)).collect(),
        Value::String(text) => {
            let mut parts = text.split("vent ");
            let mut out = parts.next().unwrap_or_default().to_string();
            for part in parts {
                let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
                let seq = digits.parse().ok().map_or_else(String::new, |seq| place(seq).to_string());
                out += &format!("vent {seq}{}", part.trim_start_matches(|digit: char| digit.is_ascii_digit()));
            }
            Value::String(out)
        }
        other => other.clone(),
    }
}

/// Everything reported about a task after one of its events.
fn everything(detector: &Detector, verdict: &Verdict, task: &str, own: &[u64]) -> Value {
    let scope = scope(task);
    let all = json!({
        "verdict": verdict,
        "status": detector.status(&scope),
        "report": detector.report(&scope),
        "markdown": detector.report_markdown(&scope),
    });
    renumbered(&all, own)
}

/// What is reported about an example, event by event. `between` may use the detector in any way before each of them.
fn play(example: &Example, task: &str, agent: &str, mut between: impl FnMut(&mut Detector, usize)) -> Vec<Value> {
    let mut detector = json::detector(example.config).unwrap();
    let mut own = Vec::new();
    let mut said = Vec::new();
    for (index, event) in example.events.iter().enumerate() {
        between(&mut detector, index);
        let verdict = record(&mut detector, placed(event, Some(task), agent, START + index as i64 * 1000));
        own.push(verdict.seq);
        said.push(everything(&detector, &verdict, task, &own));
    }
    said
}

#[track_caller]
fn assert_same(example: &Example, alone: &[Value], other: &[Value], how: &str) {
    for (index, (alone, other)) in alone.iter().zip(other).enumerate() {
        for part in ["verdict", "status", "report", "markdown"] {
            assert_eq!(alone[part], other[part], "{}: {part} of event {index}, {how}", example.name);
        }
    }
}

#[test]
fn the_examples_are_what_they_claim() {
    for example in examples() {
        let said = play(&example, "T", "main", |_, _| {});
        let last = said.last().unwrap();
        let found = last["report"]["findings"].as_array().unwrap();
        let rules: Vec<&str> = found.iter().map(|found| found["rule"].as_str().unwrap()).collect();
        match example.rule {
            Some(rule) => assert!(rules.contains(&rule), "{}: {rules:?}", example.name),
            None => assert!(rules.is_empty(), "{}: {rules:?}", example.name),
        }
    }
}

#[test]
fn another_tasks_healthy_run_changes_nothing() {
    for example in examples() {
        let alone = play(&example, "T", "main", |_, _| {});
        for (task, agent) in [(Some("other"), "main"), (Some("other"), "second"), (None, "second")] {
            let mut count = 0;
            let others = play(&example, "T", "main", |detector, index| {
                for _ in 0..3 {
                    let event = placed(&healthy(count), task, agent, START + index as i64 * 1000 - 500);
                    count += 1;
                    // A step forward without a task applies to all tasks.
                    if task.is_none() && event["type"] == "progress" {
                        continue;
                    }
                    assert!(record(detector, &event).level <= Level::Observe, "{}: {event}", example.name);
                }
            });
            assert_same(&example, &alone, &others, &format!("beside {agent} at {task:?}"));
        }
    }
}

#[test]
fn a_snapshot_between_any_two_events_changes_nothing() {
    for example in examples() {
        let alone = play(&example, "T", "main", |_, _| {});
        let restored =
            play(&example, "T", "main", |detector, _| *detector = Detector::restore(&detector.snapshot()).unwrap());
        assert_same(&example, &alone, &restored, "with snapshots");
    }
}

#[test]
fn an_equal_example_under_other_names_is_told_alike() {
    for example in examples() {
        let alone = play(&example, "T", "main", |_, _| {});
        // Other nodes, which would otherwise share the run's budget.
        let rename = |event: &Value| -> Value {
            let text = event.to_string().replace("\"coder\"", "\"maker\"").replace("\"verifier\"", "\"judge\"");
            serde_json::from_str(&text).unwrap()
        };
        for (task, agent) in [("U", "second"), ("U", "main")] {
            let (mut own, mut seconds) = (Vec::new(), Vec::new());
            let events = example.events.clone();
            let firsts = play(&example, "T", "main", |detector, index| {
                let event = placed(&rename(&events[index]), Some(task), agent, START + index as i64 * 1000);
                let verdict = record(detector, &event);
                own.push(verdict.seq);
                seconds.push(everything(detector, &verdict, task, &own));
            });
            assert_same(&example, &alone, &firsts, "the first of two");
            let kinds = |said: &[Value]| -> Vec<Value> {
                let of = |said: &Value| {
                    let found = said["verdict"]["findings"].as_array().unwrap();
                    let found: Vec<Value> = found
                        .iter()
                        .map(|found| json!([found["rule"], found["kind"], found["level"], found["count"]]))
                        .collect();
                    json!([
                        said["verdict"]["level"],
                        said["verdict"]["recommendation"],
                        found,
                        said["status"]["loopCount"]
                    ])
                };
                said.iter().map(of).collect()
            };
            assert_eq!(kinds(&alone), kinds(&seconds), "{}: the second of two", example.name);
        }
    }
}

#[test]
fn completing_or_clearing_one_task_leaves_the_other_as_it_was() {
    for example in examples() {
        for operation in 0..3 {
            let mut detector = json::detector(example.config).unwrap();
            for (index, event) in example.events.iter().enumerate() {
                for (task, agent) in [("A", "one"), ("B", "two")] {
                    let text = event.to_string().replace("\"coder\"", &format!("\"coder-{task}\""));
                    let event: Value = serde_json::from_str(&text).unwrap();
                    record(&mut detector, placed(&event, Some(task), agent, START + index as i64 * 1000));
                }
            }
            let of = |detector: &Detector, task: &str| {
                (detector.report(&scope(task)), detector.report_markdown(&scope(task)), detector.status(&scope(task)))
            };
            let before = of(&detector, "B");
            match operation {
                0 => drop(detector.reset(&scope("A"), ResetReason::TaskCompleted)),
                1 => drop(detector.reset(&scope("A"), ResetReason::HumanIntervention)),
                _ => drop(detector.acknowledge(&scope("A"), &Decision::Continue).unwrap()),
            }
            assert_eq!(before, of(&detector, "B"), "{}, operation {operation}", example.name);
            let cleared = of(&detector, "A");
            assert!(cleared.0.findings.is_empty() && cleared.1.starts_with("## No Loop Detected"), "{}", example.name);
            assert_eq!((cleared.2.level, cleared.2.loop_count), (Level::Continue, 0), "{}", example.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any two examples, in any interleaving, are reported as if each were alone.
    #[test]
    fn any_interleaving_of_two_examples(first in 0..30_usize, order in prop::collection::vec(any::<(bool, bool)>(), 40)) {
        let examples = examples();
        let example = &examples[first % examples.len()];
        let alone = play(example, "T", "main", |_, _| {});
        let mut order = order.into_iter();
        let mut count = 0;
        let other = play(example, "T", "main", |detector, index| {
            if index == 0 {
                // It was in progress all along.
                record(detector, placed(&json!({"type": "attempt", "status": "in-progress"}), Some("other"), "main", START));
            }
            while let Some((more, restored)) = order.next() && more {
                record(detector, placed(&healthy(count), Some("other"), "main", START + index as i64 * 1000));
                count += 1;
                if restored {
                    *detector = Detector::restore(&detector.snapshot()).unwrap();
                }
            }
        });
        for (alone, other) in alone.iter().zip(&other) {
            prop_assert_eq!(alone, other, "{}", example.name);
        }
    }
}
