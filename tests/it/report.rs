//! The report as a person reads it: the calls, their results and times, as far as they may be shown; counts that
//! explain themselves; fitting options; and no active content.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use loopwarden::json;
use loopwarden::model::{Level, Scope};
use serde_json::{Value, json};

/// A run of calls that fail alike, ten seconds apart, until the detector asks for something; with its report.
fn reported(
    config: &str,
    calls: usize,
    call: impl Fn(usize) -> Value,
    result: impl Fn(usize) -> Value,
) -> (Level, String) {
    let mut detector = json::detector(config).unwrap();
    let mut level = Level::Continue;
    for n in 0..calls {
        for (seconds, mut event) in [(0, call(n)), (4, result(n))] {
            event["at"] = json!(1_772_442_000_000_i64 + (n as i64 * 10 + seconds) * 1000);
            level = level.max(detector.record(&json::event(&event.to_string()).unwrap()).unwrap().level);
        }
    }
    (level, detector.report_markdown(&Scope::default()))
}

fn deploy(n: usize) -> Value {
    json!({"type": "tool-call", "tool": "deploy", "args": {"host": "eu-4", "token": "hunter2"}, "callId": n.to_string(), "tokens": 1500, "costMicros": 20_000})
}

fn refused(n: usize) -> Value {
    json!({"type": "tool-result", "callId": n.to_string(), "outcome": "error", "output": "connection refused by eu-4"})
}

#[test]
fn evidence_says_what_was_called_what_came_of_it_and_when() {
    let (level, report) = reported("{}", 9, deploy, refused);
    assert_eq!(level, Level::Halt);
    for part in [
        "**Pattern**: `deploy` ",
        "**Since**: event 0, 09:00:00 UTC: 18 events, 1 min 24 s, 12,000 tokens, a cost of 0.16; the run should end",
        "\n- Event 17, 09:01:24 UTC: `deploy` → error ← Loop detected\n",
        "\n- Event 15, 09:01:14 UTC: `deploy` → error\n",
        "\n3. **This is not a loop** - `acknowledge` with `exempt`",
        "` or `tools.deploy.rules.",
        "**Rewind** - Go back to event 0,",
    ] {
        assert!(report.contains(part), "{part:?} is not in:\n{report}");
    }
    // Every count says what it counts and what it leads to.
    let why = report.lines().find(|line| line.starts_with("**Why now**: ")).unwrap();
    assert!(why.contains(" and halt starts at ") && why.contains("(rule "), "{why}");
    assert!(!report.contains("hunter2") && !report.contains("connection refused"), "{report}");
}

#[test]
fn points_are_said_to_be_no_times() {
    let found = |n: usize| json!({"type": "tool-result", "callId": n.to_string(), "outcome": "ok", "output": "version 4 stands"});
    let (_, report) = reported("{}", 4, deploy, found);
    let why = report.lines().find(|line| line.starts_with("**Why now**: ")).unwrap();
    assert!(why.contains(" points of evidence (one occurrence may count several times), and "), "{why}");
}

#[test]
fn what_may_be_shown_is_shown_shortened() {
    let long = |n: usize| json!({"type": "tool-result", "callId": n.to_string(), "outcome": "error", "output": format!("connection refused by eu-4 {}", "and again ".repeat(50))});
    let (_, report) = reported(r#"{"privacy":{"payloads":"excerpt"}}"#, 9, deploy, long);
    let line = report.lines().find(|line| line.starts_with("- Event 17")).unwrap();
    assert!(
        line.contains(r#"`deploy {"host":"eu-4","token":"hunter2"}` → error: `connection refused by eu-4 and again"#),
        "{line}"
    );
    assert!(line.ends_with("…` ← Loop detected") && line.chars().count() < 330, "{line}");
}

#[test]
fn nothing_in_it_acts() {
    let name = "x](http://evil.example/a) ![p](http://evil.example/b.png) `@everyone` <img src=y> **z**";
    let call = |n: usize| json!({"type": "tool-call", "tool": name, "args": {"q": "`` ![x](http://evil.example) ``"}, "callId": n.to_string(), "task": "a](http://evil.example) #1"});
    let result = |n: usize| json!({"type": "tool-result", "callId": n.to_string(), "outcome": "error", "output": "[x]: http://evil.example\n# heading\n@everyone", "task": "a](http://evil.example) #1"});
    for config in ["{}", r#"{"privacy":{"payloads":"excerpt"}}"#] {
        let (level, report) = reported(config, 9, call, result);
        assert_eq!(level, Level::Halt);
        for line in report.lines() {
            // Outside code, none of the injected markup may be active.
            let mut outside = String::new();
            let mut rest = line;
            while let Some(at) = rest.find('`') {
                outside.push_str(&rest[..at]);
                let fence = rest[at..].chars().take_while(|char| *char == '`').count();
                let body = &rest[at + fence..];
                let close = (0..body.len()).filter(|from| body.is_char_boundary(*from)).find(|from| {
                    let run = body[*from..].chars().take_while(|char| *char == '`').count();
                    run == fence && !body[..*from].ends_with('`')
                });
                rest = &body[close.unwrap_or_else(|| panic!("code without an end: {line}")) + fence..];
            }
            outside.push_str(rest);
            for sign in ["](", "![", "<img", "http://", "@everyone", "[x]:"] {
                assert!(!outside.contains(sign), "{sign} in {line}");
            }
        }
    }
}

#[test]
fn options_fit_what_was_found() {
    // A budget can be raised; changing the approach does not help.
    let (_, report) = reported(
        r#"{"attended":false,"budgets":{"maxIterations":3}}"#,
        4,
        |n| json!({"type": "output", "text": format!("room {n}")}),
        |n| json!({"type": "output", "text": format!("hall {n}")}),
    );
    assert!(report.contains("1. **Raise the budget** - `budgets.maxIterations` in the configuration"), "{report}");
    assert!(!report.contains("Rewind"), "{report}");
    // A spent budget is no loop.
    assert!(report.starts_with("## Budget Exceeded\n") && !report.to_lowercase().contains("loop detected"), "{report}");
    // An external failure is waited out.
    let mut detector = json::detector("{}").unwrap();
    for at in 0..6 {
        let failure =
            json!({"type": "failure", "task": "t", "message": "HTTP 503 Service Unavailable", "at": at * 60_000});
        detector.record(&json::event(&failure.to_string()).unwrap()).unwrap();
    }
    let scope = Scope { task: Some("t".to_owned()), ..Scope::default() };
    let report = detector.report_markdown(&scope);
    assert!(report.contains("**Options**") && !report.contains("same fix"), "{report}");
    let machine = detector.report(&scope);
    assert!(machine.options.iter().all(|option| !option.title.is_empty() && !option.effect.is_empty()));
    assert_eq!(machine.options.last().unwrap().title, "Cancel");
}

#[test]
fn the_machine_reads_the_same() {
    let mut detector = json::detector("{}").unwrap();
    for n in 0..9 {
        for (seconds, mut event) in [(0, deploy(n)), (4, refused(n))] {
            event["at"] = json!((n as i64 * 10 + seconds) * 1000);
            detector.record(&json::event(&event.to_string()).unwrap()).unwrap();
        }
    }
    let restored = loopwarden::Detector::restore(&detector.snapshot()).unwrap();
    let report = restored.report(&Scope::default());
    assert_eq!(report, detector.report(&Scope::default()));
    let lead = report.findings.iter().max_by_key(|finding| finding.level).unwrap();
    assert!(!lead.instead.is_empty());
    let last = lead.evidence.last().unwrap();
    assert_eq!(
        (last.tool.as_deref(), last.outcome, last.at),
        (Some("deploy"), Some(loopwarden::model::Outcome::Error), Some(84_000))
    );
    assert!(lead.evidence.iter().all(|seen| seen.excerpt.is_none() && seen.args.is_none()));
}
