//! Calls, texts and streams of several tasks in one run: what an agent does at one neither hides a loop at another nor
//! creates one.

use crate::kit::detector;
use loopwarden::model::{Level, ResetReason, Scope, Verdict};
use loopwarden::{Detector, json};
use serde_json::{Value, json};

fn record(detector: &mut Detector, event: &Value) -> Verdict {
    let event = json::event(&event.to_string()).unwrap();
    let checked = detector.check(&event).unwrap();
    let verdict = detector.record(&event).unwrap();
    assert_eq!(checked, verdict);
    verdict
}

/// An event of a task; of none if its name is empty.
fn of(task: &str, mut event: Value) -> Value {
    if !task.is_empty() {
        event.as_object_mut().unwrap().insert("task".into(), task.into());
    }
    event
}

fn call(tool: &str, args: Value) -> Value {
    json!({"type": "tool-call", "tool": tool, "args": args, "agent": "one"})
}

fn result(tool: &str, outcome: &str, output: &str) -> Value {
    json!({"type": "tool-result", "tool": tool, "outcome": outcome, "output": output, "agent": "one"})
}

/// A call that fails as always.
fn stuck(detector: &mut Detector, task: &str) -> Verdict {
    record(detector, &of(task, call("fetch", json!({"url": "https://example.org/menu"}))));
    record(detector, &of(task, result("fetch", "error", "TypeError: menu is not iterable")))
}

/// A call that brings something new.
fn fresh(detector: &mut Detector, task: &str, number: usize) -> Verdict {
    let words = ["apples", "pears", "plums", "figs", "dates", "limes", "nuts", "grapes", "quinces", "melons", "olives"];
    record(detector, &of(task, call("fetch", json!({"url": format!("https://example.org/{number}")}))));
    let text = format!("{} of shelf {number} go with {}", words[number % 11], words[number * 7 / 11 % 11]);
    record(detector, &of(task, result("fetch", "ok", &text)))
}

/// A change not made before.
fn change(detector: &mut Detector, task: &str, number: usize) -> Verdict {
    let args = json!({"path": format!("shelf-{number}.md"), "content": format!("shelf {number}")});
    record(detector, &of(task, call("write_file", args)));
    record(detector, &of(task, result("write_file", "ok", "written")))
}

fn task(name: &str) -> Scope {
    Scope { task: Some(name.into()), ..Scope::default() }
}

fn rules(detector: &Detector, scope: &Scope) -> Vec<(String, u32)> {
    detector.status(scope).rules.into_iter().map(|rule| (rule.rule, rule.count)).collect()
}

fn complete(detector: &mut Detector, name: &str) {
    detector.reset(&task(name), ResetReason::TaskCompleted);
}

#[test]
fn each_task_has_its_own_evidence() {
    let mut alone = detector("{}");
    let expected: Vec<Level> = (0..8).map(|_| stuck(&mut alone, "A").level).collect();
    assert_eq!(expected[2], Level::Nudge);
    assert_eq!(expected.iter().max(), Some(&Level::Halt));
    // Beside a healthy task, beside calls without a task, beside a task stuck in the same way.
    for other in ["B", ""] {
        let mut beside = detector("{}");
        for (index, expected) in expected.iter().enumerate() {
            assert!(fresh(&mut beside, other, index).level <= Level::Observe);
            change(&mut beside, other, index);
            assert_eq!(stuck(&mut beside, "A").level, *expected, "{index} beside {other:?}");
        }
        assert_eq!(rules(&beside, &task("A")), rules(&alone, &task("A")));
        assert_eq!(beside.report(&task("B")).findings, []);
    }
    let mut both = detector("{}");
    for expected in &expected {
        assert_eq!((stuck(&mut both, "A").level, stuck(&mut both, "B").level), (*expected, *expected));
    }
}

#[test]
fn a_loop_under_changing_names_is_each_tasks_own() {
    // Six equal failures of two alternating tasks are three for each.
    let mut detector = detector("{}");
    let levels: Vec<Level> = (0..6).map(|n| stuck(&mut detector, ["A", "B"][n % 2]).level).collect();
    assert_eq!(levels[..4], [Level::Continue; 4]);
    assert_eq!(levels[4..], [Level::Nudge; 2]);
}

#[test]
fn a_status_tells_what_a_task_has_done() {
    let mut detector = detector("{}");
    for number in 0..2 {
        stuck(&mut detector, "A");
        fresh(&mut detector, "B", number);
    }
    let of_a = rules(&detector, &task("A"));
    assert!(of_a.contains(&("repeated-error".into(), 2)), "{of_a:?}");
    assert!(rules(&detector, &task("B")).iter().all(|(rule, _)| rule != "repeated-error"));
    // The run has what any of its tasks has; an agent, what it did alone.
    assert!(rules(&detector, &Scope::default()).contains(&("repeated-error".into(), 2)));
    let agent = |name: &str| Scope { agent: Some(name.into()), ..task("A") };
    assert!(rules(&detector, &agent("one")).contains(&("repeated-error".into(), 2)));
    assert_eq!(rules(&detector, &agent("two")), []);
    assert_eq!(detector.status(&Scope::default()).steps, 4);
    // A subtask's calls count for its parent.
    let mut part = of("part", call("fetch", json!({"url": "x"})));
    part["parentTask"] = "whole".into();
    for _ in 0..3 {
        record(&mut detector, &part);
    }
    assert_eq!(rules(&detector, &task("whole")), rules(&detector, &task("part")));
    assert!(rules(&detector, &task("whole")).contains(&("unanswered-call".into(), 3)));
}

#[test]
fn a_completed_task_takes_its_evidence_along_and_no_other() {
    for at_hand in ["A", "B", ""] {
        let mut detector = detector("{}");
        for name in ["A", "B", ""] {
            stuck(&mut detector, name);
            stuck(&mut detector, name);
        }
        let mut part = of("part", call("fetch", json!({"url": "x"})));
        part["parentTask"] = "A".into();
        record(&mut detector, &part);
        fresh(&mut detector, at_hand, 1);
        let before = (rules(&detector, &task("B")), detector.report(&task("B")));
        complete(&mut detector, "A");
        assert_eq!((rules(&detector, &task("A")), rules(&detector, &task("part"))), (vec![], vec![]), "{at_hand}");
        assert_eq!((rules(&detector, &task("B")), detector.report(&task("B"))), before, "{at_hand}");
        assert_eq!(stuck(&mut detector, "A").level, Level::Continue);
        assert_eq!(stuck(&mut detector, "B").level, Level::Nudge);
        assert_eq!(stuck(&mut detector, "").level, Level::Nudge);
    }
    // A pending call is dropped with its task.
    let mut waiting = detector("{}");
    record(&mut waiting, &of("A", call("fetch", json!({"url": "x"}))));
    complete(&mut waiting, "A");
    assert_eq!(rules(&waiting, &Scope::default()), []);
}

#[test]
fn a_humans_words_end_the_evidence_of_every_task() {
    let words = |named: &str| of(named, json!({"type": "message", "role": "user", "text": "Try the other menu."}));
    let mut alone = detector("{}");
    stuck(&mut alone, "");
    stuck(&mut alone, "");
    record(&mut alone, &words(""));
    let expected: Vec<Level> = (0..4).map(|_| stuck(&mut alone, "").level).collect();
    for named in ["", "A", "B"] {
        let mut detector = detector("{}");
        for _ in 0..2 {
            stuck(&mut detector, "A");
            stuck(&mut detector, "B");
        }
        record(&mut detector, &words(named));
        for name in ["A", "B"] {
            let after = detector.status(&task(name)).rules;
            assert!(after.iter().all(|rule| rule.rule == "resubmission"), "{name}, words at {named:?}: {after:?}");
        }
        // The task that the message was about (any, if it named none) continues like the run without tasks.
        let heard = if named == "B" { "B" } else { "A" };
        for expected in &expected {
            assert_eq!(stuck(&mut detector, heard).level, *expected, "words at {named:?}");
        }
    }
}

#[test]
fn what_a_person_says_is_heard_at_every_task() {
    let asks = [
        "I need the booking reference before I can change the booking of your flight.",
        "To change your flight booking I need the booking reference, please.",
        "Please give me the booking reference of your flight so that I can change the booking.",
        "Without the booking reference I cannot change the flight booking.",
        "The booking reference of the flight is what I need to change your booking.",
        "Could I have the flight booking reference? I need it to change the booking.",
    ];
    let nudged = |user: &str, answers: &[&str]| {
        let mut detector = detector("{}");
        let mut most = Level::Continue;
        for (ask, answer) in asks.iter().zip(answers.iter().cycle()) {
            let verdict = record(&mut detector, &of("A", json!({"type": "message", "role": "assistant", "text": ask})));
            most = most.max(verdict.level);
            record(&mut detector, &of(user, json!({"type": "message", "role": "user", "text": answer})));
        }
        most
    };
    for user in ["A", ""] {
        assert_eq!(nudged(user, &["I do not have it."]), Level::Nudge, "at {user:?}");
        let news =
            ["It is QX81PL.", "Maybe ZT44RR?", "The mail says 5520-K.", "Or LM09?", "My wife says AB12.", "RR-77?"];
        assert_eq!(nudged(user, &news), Level::Continue, "at {user:?}");
    }
}

#[test]
fn a_result_belongs_to_its_call() {
    // It names its call or its tool, but no task.
    for id in [true, false] {
        let mut detector = detector("{}");
        let mut last = Verdict::default();
        for number in 0..3 {
            for name in ["A", "B"] {
                let mut made = of(name, call("fetch", json!({"url": format!("https://example.org/{name}")})));
                let mut came = result("fetch", "error", "TypeError: menu is not iterable");
                if id {
                    for event in [&mut made, &mut came] {
                        event["callId"] = format!("{name}-{number}").into();
                    }
                }
                record(&mut detector, &made);
                fresh(&mut detector, "C", number * 2 + usize::from(name == "B"));
                last = record(&mut detector, &came);
            }
        }
        assert_eq!((last.level, last.findings[0].scope.task.as_deref()), (Level::Nudge, Some("B")));
        assert!(!detector.report(&task("A")).findings.is_empty());
        assert!(detector.status(&task("A")).rules.iter().any(|rule| rule.rule == "repeated-error" && rule.count == 3));
    }
    // Two tasks of one agent use the same tool at the same time, without ids: neither takes the other's result.
    let mut detector = detector("{}");
    let mut most = [Level::Continue; 2];
    for number in 0..4 {
        for name in ["A", "B"] {
            let url = if name == "A" {
                "https://example.org/menu".to_owned()
            } else {
                format!("https://example.org/{number}")
            };
            record(&mut detector, &of(name, call("fetch", json!({"url": url}))));
        }
        let honest =
            record(&mut detector, &of("B", result("fetch", "ok", &format!("shelf {number} has {number} plums"))));
        let looping = record(&mut detector, &of("A", result("fetch", "error", "TypeError: menu is not iterable")));
        most = [most[0].max(looping.level), most[1].max(honest.level)];
    }
    assert_eq!(most[0], Level::Nudge);
    assert!(most[1] <= Level::Observe);
}

#[test]
fn call_ids_are_a_tasks_own() {
    let mut detector = detector("{}");
    let mut levels = Vec::new();
    for number in 0..3 {
        for name in ["A", "B"] {
            let id = format!("call_{number}");
            let (mut made, mut came) = (
                of(name, call("fetch", json!({"url": "x"}))),
                of(name, result("fetch", "error", "TypeError: no menu")),
            );
            (made["callId"], came["callId"]) = (id.clone().into(), id.into());
            record(&mut detector, &made);
            levels.push(record(&mut detector, &came).level);
        }
    }
    assert_eq!(
        levels,
        [Level::Continue, Level::Continue, Level::Continue, Level::Continue, Level::Nudge, Level::Nudge]
    );
}

#[test]
fn another_agent_at_the_same_task() {
    // A task's evidence stays when another agent continues it; an agent's evidence stays that agent's.
    let mut detector = detector("{}");
    for agent in ["one", "two", "one", "two"] {
        for mut event in
            [call("read", json!({"path": "menu.txt"})), result("read", "error", "PermissionError: menu.txt is locked")]
        {
            event["agent"] = agent.into();
            record(&mut detector, &of("A", event));
        }
    }
    let held = rules(&detector, &task("A"));
    assert!(held.contains(&("repeated-error".into(), 4)) && held.contains(&("repeated-call".into(), 3)), "{held:?}");
}

#[test]
fn a_change_of_a_part_is_one_of_the_whole() {
    // The parent runs the same failing test after each change by its subtask: that is work, however often.
    let test = |detector: &mut Detector| {
        record(detector, &of("whole", call("bash", json!({"command": "make test"}))));
        record(detector, &of("whole", result("bash", "error", "FAILED: test_menu - expected 3, got 2"))).level
    };
    let edit = |detector: &mut Detector, number: usize, parent: &str| {
        for mut event in [
            call("write_file", json!({"path": "menu.py", "content": format!("menu = {number}")})),
            result("write_file", "ok", "written"),
        ] {
            event["parentTask"] = parent.into();
            record(detector, &of("part", event));
        }
    };
    let (mut own, mut other) = (detector("{}"), detector("{}"));
    let mut levels = Vec::new();
    for number in 0..4 {
        edit(&mut own, number, "whole");
        edit(&mut other, number, "another");
        levels.push((test(&mut own), test(&mut other)));
    }
    assert_eq!(levels[3].0, Level::Continue, "{levels:?}");
    assert!(levels[3].1 >= Level::Observe && levels.iter().any(|level| level.1 >= Level::Nudge), "{levels:?}");
}

#[test]
fn progress_is_the_tasks_that_it_names() {
    for (named, expected) in
        [("", [Level::Continue; 2]), ("A", [Level::Continue, Level::Nudge]), ("C", [Level::Nudge; 2])]
    {
        let mut detector = detector("{}");
        let step = |failing: u32| of(named, json!({"type": "progress", "tests": {"failing": failing, "total": 10}}));
        record(&mut detector, &step(9));
        for _ in 0..2 {
            stuck(&mut detector, "A");
            stuck(&mut detector, "B");
        }
        record(&mut detector, &step(3));
        assert_eq!([stuck(&mut detector, "A").level, stuck(&mut detector, "B").level], expected, "at {named:?}");
    }
}

#[test]
fn texts_and_streams_are_a_tasks_own() {
    let says = |detector: &mut Detector, name: &str, text: &str| {
        record(detector, &of(name, json!({"type": "message", "role": "assistant", "text": text}))).level
    };
    let mut detector = detector("{}");
    let mut last = Level::Continue;
    for number in 0..3 {
        last = says(&mut detector, "A", "I will now open the menu and look.");
        // Another task's progress does not answer what this one says.
        fresh(&mut detector, "B", number);
    }
    assert_eq!(last, Level::Nudge);
    let mut streams = self::detector("{}");
    let mut most = [Level::Continue; 2];
    for number in 0..200 {
        let piece = |name: &str, text: String| of(name, json!({"type": "delta", "text": text}));
        let looping = record(&mut streams, &piece("A", "and the menu is on the table ".into())).level;
        let words: String =
            (0..6).map(|word| format!("w{:x} ", (number * 7 + word) * 2_654_435_761_u64 % 65_521)).collect();
        let honest = record(&mut streams, &piece("B", words)).level;
        most = [most[0].max(looping), most[1].max(honest)];
    }
    assert!(most[0] >= Level::Block && most[1] == Level::Continue, "{most:?}");
}

#[test]
fn snapshots_hold_every_task() {
    let mut detector = detector("{}");
    let mut levels = Vec::new();
    for number in 0..3 {
        for name in ["A", "B", "C"] {
            levels.push(stuck(&mut detector, name).level);
            fresh(&mut detector, "D", number);
            detector = Detector::restore(&detector.snapshot()).unwrap();
        }
    }
    assert_eq!(levels[..6], [Level::Continue; 6]);
    assert_eq!(levels[6..], [Level::Nudge; 3]);
}

#[test]
fn thirty_two_tasks_in_turns_are_all_found() {
    let mut detector = detector("{}");
    for round in 0..3 {
        for name in 0..32 {
            let expected = if round == 2 { Level::Nudge } else { Level::Continue };
            assert_eq!(stuck(&mut detector, &format!("task-{name}")).level, expected, "{name} in round {round}");
        }
    }
    assert_eq!(detector.status(&Scope::default()).steps, 96);
}

#[test]
fn what_is_kept_of_tasks_is_bounded() {
    // Long healthy work of many tasks gets evicted; the loops among them are found.
    let mut detector = detector("{}");
    let mut largest = 0;
    let mut found = 0;
    for number in 0..60 {
        for name in 0..30 {
            if name % 10 == 0 {
                let verdict = stuck(&mut detector, &format!("stuck-{name}"));
                found += usize::from(verdict.level == Level::Nudge);
            } else {
                fresh(&mut detector, &format!("fine-{name}"), number * 30 + name);
                change(&mut detector, &format!("fine-{name}"), number * 30 + name);
            }
        }
        largest = largest.max(detector.snapshot().len());
    }
    let evicted = detector.metrics().task_parts_evicted;
    assert!(largest < 64 * 1024 && evicted > 0, "{largest} bytes, {evicted} made room");
    assert_eq!(Detector::restore(&detector.snapshot()).unwrap().snapshot(), detector.snapshot());
    assert!(found >= 3, "{found} of three were told of");
}

#[test]
fn an_idle_task_is_forgotten_with_its_calls() {
    let mut detector = json::detector(r#"{"memory":{"idleMs":60000}}"#).unwrap();
    let at = |mut event: Value, at: i64| {
        event["at"] = at.into();
        event
    };
    let mut stuck = |name: &str, time: i64| {
        record(&mut detector, &at(of(name, call("fetch", json!({"url": "x"}))), time));
        record(&mut detector, &at(of(name, result("fetch", "error", "TypeError: no menu")), time)).level
    };
    stuck("A", 0);
    stuck("A", 1000);
    for minute in 1..4 {
        stuck(&format!("other-{minute}"), minute * 30_000);
    }
    assert_eq!(stuck("A", 121_000), Level::Continue);
}
