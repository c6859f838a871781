//! The promises of the five documents, tested again with other names, counts and orders, with two tasks and two agents
//! at work and a snapshot in the middle, through the JSON door alone.

use loopwarden::model::{Decision, ResetReason, Scope};
use loopwarden::{Detector, json};
use serde_json::{Value, json};

const START: i64 = 1_770_000_000_000;
const MINUTE: i64 = 60_000;

struct Door {
    detector: Detector,
    at: i64,
}

impl Door {
    fn new(config: Value) -> Self {
        Self { detector: json::detector(&config.to_string()).unwrap(), at: START }
    }

    /// Records an event one second after the last; every answer comes from a freshly restored detector.
    fn say(&mut self, task: &str, agent: &str, mut event: Value) -> Value {
        self.at += 1000;
        let fields = event.as_object_mut().unwrap();
        for (name, value) in [("task", task), ("agent", agent)] {
            if !value.is_empty() {
                fields.insert(name.into(), value.into());
            }
        }
        fields.entry("at").or_insert(self.at.into());
        let verdict = json::record(&mut self.detector, &event.to_string()).unwrap();
        self.detector = Detector::restore(&self.detector.snapshot()).unwrap();
        serde_json::from_str(&verdict).unwrap()
    }

    fn status(&self, task: &str) -> Value {
        serde_json::from_str(&json::to_string(&self.detector.status(&scope(task)))).unwrap()
    }

    fn report(&self, task: &str) -> String {
        self.detector.report_markdown(&scope(task))
    }

    fn metrics(&self) -> Value {
        serde_json::from_str(&json::metrics(&self.detector)).unwrap()
    }

    /// The level of each event of a task, with a healthy event of another task and agent between any two.
    fn levels(&mut self, task: &str, events: &[Value]) -> Vec<String> {
        let of = |door: &mut Self, (index, event): (usize, &Value)| {
            let beside = door.say("elsewhere", "gardener", healthy(index));
            assert!(["continue", "observe"].contains(&level(&beside)), "{beside}");
            level(&door.say(task, "mason", event.clone())).to_owned()
        };
        events.iter().enumerate().map(|event| of(self, event)).collect()
    }
}

fn scope(task: &str) -> Scope {
    Scope { task: (!task.is_empty()).then(|| task.into()), ..Scope::default() }
}

fn healthy(index: usize) -> Value {
    let thing = ["bench", "hedge", "pond", "path", "shed", "bower", "trellis"][index % 7];
    match index % 4 {
        0 => json!({"type": "output", "text": format!("Planted bed {index} beside the {thing}")}),
        1 => json!({"type": "attempt", "status": "in-progress", "completedWork": [format!("bed {index}")]}),
        2 => json!({"type": "progress", "tests": {"failing": 300 - index, "total": 400}}),
        _ => json!({"type": "tool-call", "tool": "plant", "args": {"bed": index}}),
    }
}

fn level(verdict: &Value) -> &str {
    verdict["level"].as_str().unwrap()
}

fn output(text: &str) -> Value {
    json!({"type": "output", "text": text})
}

fn failure(message: &str) -> Value {
    json!({"type": "failure", "message": message})
}

fn attempt(status: &str, blockers: &[&str], work: &[&str]) -> Value {
    json!({"type": "attempt", "status": status, "blockers": blockers, "completedWork": work})
}

fn moves(path: &str) -> Vec<Value> {
    let phases: Vec<&str> = path.split_whitespace().collect();
    phases.windows(2).map(|pair| json!({"type": "transition", "from": pair[0], "to": pair[1]})).collect()
}

fn turn(node: &str, said: &str) -> Value {
    json!({"type": "turn", "node": node, "finalMessage": said})
}

fn last(levels: &[String]) -> &str {
    levels.last().unwrap()
}

#[test]
fn signatures_in_a_row() {
    // Other lines of the same file, the same action.
    let edits: Vec<Value> = ["10-12", "99", "7"]
        .iter()
        .map(|line| output(&format!("Modified parser.go line {line}, added bounds check for index")))
        .collect();
    let mut door = Door::new(json!({}));
    assert_eq!(door.levels("walls", &edits), ["continue", "continue", "gate"]);
    assert!(door.report("walls").contains("**Signature**: `parser.go:bounds-check`"), "{}", door.report("walls"));
    assert!(door.report("elsewhere").starts_with("## No Loop Detected"));
    // Two, a different one, two: no loop; a third after those: a loop.
    let (a, b) = (output("Fixed cart.py - added rounding"), output("Fixed cart.py - renamed total"));
    let mixed = [&a, &a, &b, &a, &a, &a].map(Clone::clone);
    assert_eq!(
        Door::new(json!({})).levels("walls", &mixed),
        ["continue", "continue", "continue", "continue", "continue", "gate"]
    );
    let search = output("Searched PyPI for 'async cache ttl', found 7 packages...");
    let mut door = Door::new(json!({"rules": {"output-signature": {"gate": 4}}}));
    assert_eq!(door.levels("walls", &vec![search; 4]), ["continue", "continue", "continue", "gate"]);
    assert!(door.report("walls").contains("`search:async-cache-ttl`"));
}

#[test]
fn failing_counts_of_outputs() {
    let tests = |count: u32| output(&format!("{count} tests failing - cart, pay, ship"));
    let of =
        |counts: &[u32]| Door::new(json!({})).levels("walls", &counts.iter().map(|n| tests(*n)).collect::<Vec<_>>());
    assert_eq!(of(&[5, 4, 3]), ["continue"; 3]);
    assert_eq!(last(&of(&[5, 4, 3, 3, 3])), "gate");
    // One agent at two tasks, and two agents at one: each has its own window.
    let mut door = Door::new(json!({}));
    for (task, agent) in [("a", "x"), ("b", "x"), ("a", "y"), ("b", "y"), ("a", "x"), ("b", "x")] {
        assert_eq!(level(&door.say(task, agent, tests(4))), "continue");
    }
    assert_eq!(level(&door.say("a", "x", tests(4))), "gate");
}

#[test]
fn budgets_come_before_loops() {
    let mut door = Door::new(json!({"budgets": {"maxIterations": 3}}));
    let said: Vec<Value> =
        (0..3).map(|_| door.say("walls", "mason", output("Fixed cart.py - added rounding"))).collect();
    assert_eq!((level(&said[2]), &said[2]["findings"][0]["rule"]), ("halt", &json!("max-iterations")));
    assert_eq!(said[2]["haltReason"], "budget-exceeded");
    // Consecutive errors count whoever makes them; a success ends the streak.
    let mut errors = Door::new(json!({"budgets": {"consecutiveErrors": 4}}));
    let words = ["oak", "elm", "ash", "fir"];
    let levels: Vec<String> = words
        .iter()
        .zip(["a", "b", "a", "b"])
        .map(|(word, task)| level(&errors.say(task, "mason", failure(&format!("the {word} beam is short")))).to_owned())
        .collect();
    assert_eq!(levels[3], "halt", "{levels:?}");
}

#[test]
fn equal_failures() {
    let bug = failure("KeyError: 'total' in cart.py line 8");
    let mut door = Door::new(json!({}));
    let levels = door.levels("walls", &vec![bug.clone(); 4]);
    assert_eq!(
        (levels[0].as_str(), levels.iter().position(|level| level == "gate")),
        ("continue", Some(3)),
        "{levels:?}"
    );
    assert_eq!(
        (door.status("walls")["loopCount"].clone(), door.status("elsewhere")["loopCount"].clone()),
        (json!(3), json!(0))
    );
    let mut attempts = Door::new(json!({"failures": {"counting": "attempts"}}));
    assert_eq!(last(&attempts.levels("walls", &vec![bug.clone(); 3])), "gate");
    // Alternating agents: the counter is the task's.
    let mut turns = Door::new(json!({}));
    let said: Vec<Value> = ["p", "q", "r", "s"].iter().map(|agent| turns.say("walls", agent, bug.clone())).collect();
    assert_eq!((level(&said[3]), turns.status("walls")["loopCount"].clone()), ("gate", json!(3)));
    // A subtask counts for its parent.
    let mut parts = Door::new(json!({}));
    let mut of_part = bug.clone();
    of_part["parentTask"] = "walls".into();
    parts.say("walls", "mason", bug.clone());
    parts.say("walls", "mason", bug.clone());
    parts.say("bricks", "mason", of_part.clone());
    assert_eq!(level(&parts.say("bricks", "mason", of_part)), "gate");
}

#[test]
fn counters_of_two_tasks() {
    let bug = failure("KeyError: 'total' in cart.py line 8");
    let mut door = Door::new(json!({}));
    for _ in 0..3 {
        door.say("a", "mason", bug.clone());
        door.say("b", "mason", bug.clone());
    }
    let records = door.detector.reset(&scope("a"), ResetReason::TaskCompleted);
    assert!(json::to_string(&records[0]).contains(r#""previousCount":2"#), "{records:?}");
    assert_eq!((door.status("a")["loopCount"].clone(), door.status("b")["loopCount"].clone()), (json!(0), json!(2)));
    assert_eq!(level(&door.say("a", "mason", bug.clone())), "continue");
    assert_eq!(level(&door.say("b", "mason", bug.clone())), "gate");
    door.detector.acknowledge(&scope("b"), &Decision::Continue).unwrap();
    assert_eq!(
        (level(&door.say("b", "mason", bug.clone())), door.status("a")["loopCount"].clone()),
        ("continue", json!(0))
    );
    // The last ten failures are remembered, and no more.
    let mut far = Door::new(json!({}));
    let parts = ["hinge", "latch", "sill", "frame", "pane", "bolt", "lock", "knob", "rail", "slat"];
    let mut events = vec![bug.clone()];
    events.extend(parts.iter().map(|part| failure(&format!("the {part} is missing"))));
    events.push(bug);
    far.levels("walls", &events);
    assert_eq!(far.status("walls")["loopCount"], 0);
}

#[test]
fn progress_and_regression() {
    // Fewer fail each time, in messages that differ only in that figure.
    let falling: Vec<Value> =
        [9, 6, 4, 2].iter().map(|n| failure(&format!("{n} of 20 tests failed in cart"))).collect();
    assert_eq!(Door::new(json!({})).levels("walls", &falling), ["continue"; 4]);
    // The same figures, rising.
    let mut door = Door::new(json!({}));
    let mut said = Value::Null;
    for failing in [2, 4, 7, 9] {
        said = door.say("walls", "mason", failure(&format!("{failing} tests failing")));
    }
    assert_eq!(said["recommendation"], "rollback");
    assert!(json!(said["findings"]).to_string().to_lowercase().contains("moving away from goal"), "{said}");
    // The same number is the same failure.
    let equal: Vec<Value> = (0..4).map(|_| failure("4 tests failing")).collect();
    assert_eq!(last(&Door::new(json!({})).levels("walls", &equal)), "gate");
    // Better coverage between two different failures is progress.
    let mut covered = Door::new(json!({}));
    for (coverage, part) in [(60, "hinge"), (75, "latch"), (80, "sill")] {
        covered.say("walls", "mason", json!({"type": "progress", "tests": {"coverage": coverage}}));
        let said = covered.say("walls", "mason", failure(&format!("the {part} is missing")));
        assert_eq!(level(&said), "continue");
        assert!(part == "hinge" || said["needsEvaluation"] == false, "{said}");
    }
}

#[test]
fn what_is_not_the_agents_fault() {
    let down: Vec<Value> = [
        "connect ECONNREFUSED 10.1.2.3:5432",
        "503 from the registry",
        "getaddrinfo ENOTFOUND db",
        "timed out after 30 s talking to the registry",
    ]
    .iter()
    .map(|text| failure(text))
    .collect();
    let mut door = Door::new(json!({}));
    for event in &down {
        door.say("b", "mason", failure("KeyError: 'total'"));
        let said = door.say("a", "mason", event.clone());
        assert_eq!((level(&said), &said["recommendation"]), ("continue", &json!("retry-with-backoff")), "{event}");
    }
    let said = door.say("a", "mason", failure("429 Too Many Requests"));
    assert_eq!((level(&said), &said["recommendation"]), ("gate", &json!("escalate")));
    assert_eq!((door.status("a")["loopCount"].clone(), door.status("b")["loopCount"].clone()), (json!(0), json!(3)));
}

#[test]
fn a_judge_answers() {
    let mut door = Door::new(json!({}));
    let mut said = Value::Null;
    for part in ["hinge", "latch", "sill"] {
        let asked = door.say("walls", "mason", failure(&format!("the {part} is missing")));
        assert_eq!(asked["needsEvaluation"], true);
        let answer =
            json!({"type": "evaluation", "verdict": "stalled", "reasoning": format!("No nearer, the {part} apart.")});
        said = door.say("walls", "", answer);
        door.say("other", "mason", failure("the roof leaks"));
    }
    assert_eq!((level(&said), door.status("walls")["loopCount"].clone()), ("gate", json!(3)));
    assert!(door.report("walls").contains("No nearer, the sill apart."));
    let better = json!({"type": "evaluation", "verdict": "progressing"});
    let mut fine = Door::new(json!({}));
    for part in ["hinge", "latch", "sill"] {
        fine.say("walls", "mason", failure(&format!("the {part} is missing")));
        assert_eq!(level(&fine.say("walls", "", better.clone())), "continue");
    }
    assert_eq!(fine.status("walls")["loopCount"], 0);
}

#[test]
fn requests_between_agents() {
    let ask = |from: &str, to: &str, request: &str| json!({"type": "collaboration", "from": from, "to": to, "request": request});
    let mut door = Door::new(json!({}));
    let asked = [
        "Could you check the masonry drawings?",
        "Please check the masonry drawings again",
        "check the drawings of the masonry",
        "Can you check our masonry drawings once more?",
    ];
    let mut said = Value::Null;
    for (index, request) in asked.iter().enumerate() {
        door.say(
            "other",
            "",
            ask("cook", "waiter", ["Lay table four", "Bring the bill", "Fetch salt", "Call the guests"][index]),
        );
        said = door.say("walls", "", ask("mason", "architect", request));
    }
    assert_eq!((level(&said), door.status("walls")["loopCount"].clone()), ("gate", json!(3)));
    assert_eq!(door.status("other")["loopCount"], 0);
    // Round a ring of four, lap after lap.
    let (mut ring, mut gated) = (Door::new(json!({})), None);
    let ring_of = ["mason", "joiner", "glazier", "painter"];
    for lap in 0..4 {
        for (index, from) in ring_of.iter().enumerate() {
            let said = ring.say("walls", "", ask(from, ring_of[(index + 1) % 4], "please hold the long ladder"));
            if level(&said) == "gate" {
                gated.get_or_insert(lap);
            }
        }
    }
    assert_eq!(gated, Some(2), "the request came back to the first of them three times");
    // At 0.84 and 0.86, in two tasks at once.
    let vector = |cosine: f64| json!([cosine, (1.0 - cosine * cosine).sqrt(), 0.0]);
    let mut edge = Door::new(json!({}));
    for (index, cosine) in [1.0, 0.84, 0.86].iter().enumerate() {
        let task = if index == 2 { "near" } else { "far" };
        let mut event = ask("a", "b", &format!("request {index}"));
        event["embedding"] = vector(*cosine);
        if index == 2 {
            let mut first = ask("a", "b", "request 0");
            first["embedding"] = vector(1.0);
            edge.say("near", "", first);
        }
        edge.say(task, "", event);
    }
    assert_eq!(
        (edge.status("far")["loopCount"].clone(), edge.status("near")["loopCount"].clone()),
        (json!(0), json!(1))
    );
}

#[test]
fn attempts_at_a_task() {
    let mut door = Door::new(json!({}));
    let done = door.levels("T9.1", &vec![attempt("done", &[], &["Laid tiles"]); 3]);
    assert_eq!(done, ["continue", "continue", "block"]);
    let mut again = Door::new(json!({}));
    for _ in 0..3 {
        again.say("T9.1", "mason", attempt("done", &[], &["Laid tiles"]));
    }
    let said = again.detector.check(
        &json::event(r#"{"type":"attempt","task":"T9.1","status":"done","completedWork":["Laid tiles"]}"#).unwrap(),
    );
    assert!(json::to_string(&said.unwrap()).contains("LOOP DETECTED: Task T9.1"));
    // The same blockers in another order.
    let mut blocked = Door::new(json!({}));
    let mut said = Value::Null;
    for blockers in [["no permit", "rain"], ["rain", "no permit"], ["no permit", "rain"]] {
        blocked.say("elsewhere", "gardener", attempt("blocked", &["frost"], &[]));
        said = blocked.say("T2", "mason", attempt("blocked", &blockers, &[]));
    }
    assert_eq!(said["recommendation"], "unblock-authority");
    let entry = said["recovery"].to_string();
    assert!(
        entry.contains("unblock_authority")
            && entry.contains("no permit")
            && entry.contains("rain")
            && !entry.contains("frost"),
        "{entry}"
    );
    // Authority was given: the next three go to a person.
    for _ in 0..3 {
        said = blocked.say("T2", "mason", attempt("blocked", &["no permit", "rain"], &[]));
    }
    assert_eq!((level(&said), &said["recommendation"]), ("gate", &json!("escalate")));
    // Other work each time, other blockers each time, three in more than an hour: no loop.
    let honest: Vec<Value> = (0..6)
        .map(|n| attempt("in-progress", &[], &[["walls", "floor", "roof", "door", "sill", "porch"][n]]))
        .collect();
    assert_eq!(Door::new(json!({})).levels("T3", &honest), ["continue"; 6]);
    let mut slow = Door::new(json!({}));
    for time in 0..3 {
        let mut event = attempt("done", &[], &["Laid tiles"]);
        event["at"] = (START + time * 31 * MINUTE).into();
        assert_eq!(level(&slow.say("T4", "mason", event)), "continue");
    }
}

#[test]
fn presets_of_attempts() {
    let same = |config: Value, count: usize| {
        let mut door = Door::new(config);
        let said: Vec<Value> =
            (0..count).map(|_| door.say("T5", "mason", attempt("in-progress", &[], &["Read plan"]))).collect();
        said.iter().map(|said| said["recommendation"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(same(json!({}), 5), ["continue", "continue", "change-approach", "change-approach", "force-next"]);
    assert_eq!(same(json!({"attempts": {"preset": "aggressive"}}), 3), ["continue", "change-approach", "force-next"]);
    let slow = same(json!({"attempts": {"preset": "conservative"}}), 8);
    assert_eq!((slow[3].as_str(), slow[4].as_str(), slow[7].as_str()), ("continue", "change-approach", "force-next"));
    let mut blocked = Door::new(json!({"attempts": {"preset": "conservative"}}));
    let said: Vec<Value> = (0..5).map(|_| blocked.say("T5", "mason", attempt("blocked", &["rain"], &[]))).collect();
    assert_eq!((level(&said[3]), &said[4]["recommendation"]), ("continue", &json!("escalate")));
}

#[test]
fn phases_of_two_issues() {
    let config = json!({"phases": {"phases": {"lint": {"maxVisits": 3}}, "hitlLabel": "ask:foreman"}});
    let mut door = Door::new(config);
    let mut said = Value::Null;
    for visit in 0..4 {
        said = door.say(
            "issue-1",
            "",
            json!({"type": "transition", "from": if visit == 0 { "plan" } else { "lint" }, "to": "lint"}),
        );
        door.say("issue-2", "", json!({"type": "transition", "from": "lint", "to": format!("stage {visit}")}));
    }
    assert_eq!(said["findings"][0]["message"], "Phase 'lint' exceeded max_visits (3) with 3 visits");
    assert_eq!((level(&said), &said["label"]), ("gate", &json!("ask:foreman")));
    // The same pair in two issues is counted separately.
    let mut pairs = Door::new(json!({"phases": {"maxTransitionsDefault": 2, "cycleDetectionEnabled": false}}));
    let mut levels = Vec::new();
    for event in moves("draft review draft review draft review") {
        pairs.say("issue-2", "", event.clone());
        levels.push(level(&pairs.say("issue-1", "", event)).to_owned());
    }
    assert_eq!(levels[0], "continue");
    assert!(levels.contains(&"gate".into()), "{levels:?}");
    assert!(
        pairs.report("issue-1").contains("Transition draft→review exceeded max_transitions (2) with 2 occurrences")
    );
}

#[test]
fn walks_that_go_round() {
    let walk = |path: &str| Door::new(json!({})).levels("issue", &moves(path));
    assert_eq!(walk("draft review draft review draft"), ["continue", "continue", "continue", "gate"]);
    assert_eq!(
        walk("plan build check plan build check plan"),
        ["continue", "continue", "continue", "continue", "continue", "gate"]
    );
    assert_eq!(last(&walk("build check build check ship")), "continue");
    assert_eq!(last(&walk("w x y x w x y x")), "gate");
    let mut off = Door::new(json!({"phases": {"cycleDetectionEnabled": false}}));
    assert_eq!(last(&off.levels("issue", &moves("draft review draft review draft"))), "continue");
    // Five phases exceed a cycle length of three.
    assert_eq!(last(&walk("a b c d e a b c d e a")), "continue");
    let mut wide = Door::new(json!({"phases": {"cycleDetectionLength": 5}}));
    assert_eq!(last(&wide.levels("issue", &moves("a b c d e a b c d e a"))), "gate");
    let mut told = Door::new(json!({}));
    let said: Vec<Value> =
        moves("draft review draft review draft").into_iter().map(|event| told.say("issue", "", event)).collect();
    assert_eq!(said[3]["findings"][0]["message"], "Oscillating cycle detected: draft→review→draft→review");
}

fn workshop() -> Value {
    json!({"graph": {"nodes": [{"id": "writer"}, {"id": "editor"}],
        "edges": [{"id": "give", "from": "writer", "to": "editor"}, {"id": "back", "from": "editor", "to": "writer"}]}})
}

#[test]
fn budgets_of_nodes_and_cycles() {
    // Six turns of a node in all, whatever their tasks.
    let mut door = Door::new(workshop());
    let said: Vec<Value> =
        (0..6).map(|n| door.say(["a", "b"][n % 2], "", turn("writer", &format!("draft {n}")))).collect();
    assert!(said[..5].iter().all(|said| level(said) == "continue"), "{said:?}");
    assert_eq!((level(&said[5]), &said[5]["haltReason"]), ("halt", &json!("budget-exceeded")));
    // Laps belong to a task and are shown in the badge; the eighth halts.
    let mut laps = Door::new(workshop());
    let mut said = Value::Null;
    for lap in 0..8 {
        laps.say("a", "", json!({"type": "delivery", "from": "writer", "to": "editor"}));
        said = laps.say("a", "", json!({"type": "delivery", "from": "editor", "to": "writer"}));
        if lap == 2 {
            assert_eq!(laps.status("a")["cycles"][0]["badge"], "Loop 3/8");
            assert_eq!(laps.status("b")["cycles"][0]["badge"], "Loop 0/8");
        }
    }
    assert_eq!((level(&said), &said["haltReason"]), ("halt", &json!("budget-exceeded")));
    let halted =
        said["records"].as_array().unwrap().iter().find(|record| record["event"] == "loop.halted").unwrap().clone();
    assert_eq!(halted["cycleId"], laps.status("a")["cycles"][0]["cycleId"]);
    // The id does not depend on the order in which nodes and edges are declared.
    let turned = json!({"graph": {"nodes": [{"id": "editor"}, {"id": "writer"}],
        "edges": [{"id": "back", "from": "editor", "to": "writer"}, {"id": "give", "from": "writer", "to": "editor"}]}});
    assert_eq!(Door::new(turned).status("")["cycles"][0]["cycleId"], halted["cycleId"]);
}

#[test]
fn stalls_of_two_tasks() {
    let rules = |said: &Value| {
        said["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| found["rule"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    // The same words three times, with another node's in between.
    let mut same = Door::new(json!({}));
    let mut said = Value::Null;
    for n in 0..3 {
        same.say("b", "", turn("editor", &format!("page {n} is read")));
        said = same.say("a", "", turn("writer", "It is written."));
    }
    assert!(rules(&said).contains(&"identical-output".into()), "{said}");
    assert_eq!(said["recommendation"], "switch-to-interactive");
    // Structured output alternates while the prose changes.
    let mut swings = Door::new(json!({}));
    for n in 0..4 {
        swings.say("b", "", turn("editor", &format!("page {n} is read")));
        said = swings.say(
            "a",
            "",
            json!({"type": "turn", "node": "writer", "finalMessage": format!("draft {n}"),
            "structuredOutput": {"mode": (["short", "long"][n % 2])}}),
        );
    }
    assert!(
        rules(&said).contains(&"oscillation".into())
            && said["haltReason"].is_null() | (said["haltReason"] == "oscillating"),
        "{said}"
    );
    // The same patch at another time of day, twice.
    let mut patched = Door::new(json!({}));
    for n in 0..2 {
        patched.say("a", "", turn("writer", &format!("draft {n}")));
        let diff = format!(
            "--- a/plan.md\t2026-01-0{} 10:00:00\n+++ b/plan.md\t2026-01-0{} 10:00:00\n@@ -1 +1 @@\n-old\n+new\n",
            n + 1,
            n + 2
        );
        said = patched.say("a", "", json!({"type": "progress", "diff": diff}));
        patched.say("b", "", json!({"type": "progress", "diff": format!("other {n}")}));
    }
    assert!(rules(&said).contains(&"unchanged-diff".into()), "{said}");
    // The same tests fail while the suite grows.
    let mut grows = Door::new(json!({}));
    for n in 0..3 {
        grows.say("a", "", turn("writer", &format!("draft {n}")));
        said =
            grows.say("a", "", json!({"type": "progress", "tests": {"failingIds": ["x", "y"], "total": 10 + n * 5}}));
        grows.say("b", "", json!({"type": "progress", "tests": {"failing": 9 - n}}));
    }
    assert!(rules(&said).contains(&"unchanged-failures".into()), "{said}");
    assert_eq!(grows.status("b")["trend"], "9 → 8 → 7");
}

#[test]
fn metrics_beside_other_systems() {
    let mut door = Door::new(json!({}));
    for index in 0..4 {
        door.say("a", "mason", failure("KeyError: 'total'"));
        door.say("b", "mason", attempt("done", &[], &["Laid tiles"]));
        door.say("c", "", moves("draft review draft review draft")[index].clone());
        door.say("d", "mason", output("Fixed cart.py - added rounding"));
    }
    let metrics = door.metrics();
    assert_eq!((&metrics["loops"]["detected"], &metrics["loops"]["gates"]), (&json!(3), &json!(1)));
    assert_eq!((&metrics["loops"]["tasks"], &metrics["loops"]["tasksWithLoops"]), (&json!(1), &json!(1)));
    assert_eq!(metrics["cyclesDetected"], 1);
    let mason = &metrics["loops"]["agents"]["mason"];
    assert_eq!((&mason["events"], &mason["loops"]), (&json!(4), &json!(3)));
    assert!(mason["rate"].as_u64().unwrap() <= 1000);
}
