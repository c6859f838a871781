//! One corpus, two doors: the component must give the library's answers byte for byte.

use crate::COMPONENT;
use loopwarden::model::{ErrorCode, ReportFormat, Scope};
use loopwarden::{Detector, json};
use loopwarden_host_tests::{Limits, Sandbox};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::path::Path;

/// A line of a scenario file. The events stay text, so that no JSON library changes anything in them.
#[derive(Deserialize)]
struct Scenario<'a> {
    id: &'a str,
    #[serde(borrow)]
    config: Option<&'a RawValue>,
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
}

/// Every event type, with a different value in every field, so that a lost or swapped field shows.
const EVERY_FIELD: &str = include_str!("every-field.jsonl");

/// Plays a scenario through both doors and compares all answers. Halfway and at the end, each side is restored from the
/// other's snapshot.
fn play(scenario: &Scenario<'_>, place: &str) {
    let config = scenario.config.map_or("", RawValue::get);
    let (mut native, mut sandbox) =
        match (json::detector(config), COMPONENT.sandbox(config, Limits::default()).unwrap()) {
            (Ok(native), Ok(sandbox)) => (native, sandbox),
            (native, sandbox) => {
                assert_eq!(native.err(), sandbox.err(), "{place}: the constructors disagree");
                return;
            }
        };
    for (index, text) in scenario.events.iter().enumerate() {
        let place = format!("{place}, event {index}: {text}");
        if index == scenario.events.len() / 2 {
            swap(&mut native, &mut sandbox, &place);
        }
        // What the JSON door rejects has no typed form.
        let Ok(step) = json::trace_event(text.get()) else { continue };
        let (expected, answer) = if step.pending {
            (native.check(&step.event), sandbox.check(&step.event).unwrap())
        } else {
            (native.record(&step.event), sandbox.record(&step.event).unwrap())
        };
        let [expected, answer] = [expected, answer].map(|answer| match answer {
            Ok(verdict) => json::to_string(&verdict),
            Err(error) => json::to_string(&error),
        });
        assert_eq!(answer, expected, "{place}");
    }
    let mut scopes = vec![Scope::default(), Scope { run: Some("r1".into()), ..Scope::default() }];
    // Every task and agent in the events, up to a limit.
    for step in scenario.events.iter().filter_map(|text| json::trace_event(text.get()).ok()) {
        let context = step.event.context;
        for (task, agent) in [(context.task, None), (None, context.agent)] {
            let scope = Scope { run: context.run.clone(), task, agent, ..Scope::default() };
            if !scopes.contains(&scope) && scopes.len() < 12 {
                scopes.push(scope);
            }
        }
    }
    for scope in scopes {
        same_view(&native, &mut sandbox, &scope, place);
    }
    swap(&mut native, &mut sandbox, place);
}

pub(crate) fn same_view(native: &Detector, sandbox: &mut Sandbox, scope: &Scope, place: &str) {
    assert_eq!(sandbox.status(scope).unwrap(), json::to_string(&native.status(scope)), "{place}: status");
    assert_eq!(sandbox.metrics().unwrap(), json::metrics(native), "{place}: metrics");
    let markdown = sandbox.report(scope, ReportFormat::Markdown).unwrap();
    assert_eq!(markdown, native.report_markdown(scope), "{place}: Markdown report");
    let report = sandbox.report(scope, ReportFormat::Json).unwrap();
    assert_eq!(report, json::to_string(&native.report(scope)), "{place}: JSON report");
}

/// Restores each side from the other's snapshot.
pub(crate) fn swap(native: &mut Detector, sandbox: &mut Sandbox, place: &str) {
    let (from_native, from_sandbox) = (native.snapshot(), sandbox.snapshot().unwrap());
    assert_eq!(from_sandbox, from_native, "{place}: snapshots");
    *native = Detector::restore(&from_sandbox).unwrap();
    sandbox.restore(&from_native).unwrap().unwrap();
    assert_eq!(sandbox.snapshot().unwrap(), native.snapshot(), "{place}: snapshots after restoring");
}

fn play_file(name: &str, text: &str) -> usize {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let scenarios = lines.map(|(index, line)| {
        let scenario: Scenario<'_> = serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}"));
        play(&scenario, &format!("{name}:{}: {}", index + 1, scenario.id));
    });
    scenarios.count()
}

#[test]
fn every_field_of_every_event_type() {
    let types: usize = EVERY_FIELD.lines().map(|line| line.matches(r#"{"type":""#).count()).sum();
    assert!(types >= 15, "{types}");
    for line in EVERY_FIELD.lines() {
        let scenario: Scenario<'_> = serde_json::from_str(line).unwrap();
        for text in &scenario.events {
            json::trace_event(text.get()).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }
    assert!(play_file("every-field", EVERY_FIELD) > 0);
}

#[test]
fn the_corpus() {
    let folder = Path::new("../tests/corpus");
    let mut scenarios = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            scenarios += play_file(&path.display().to_string(), &std::fs::read_to_string(&path).unwrap());
        }
    }
    assert!(scenarios >= 60, "only {scenarios} scenarios");
}

/// Records as listed by the JSON door.
pub(crate) fn list(records: &[String]) -> String {
    format!("[{}]", records.join(","))
}

#[test]
fn workflows_are_declared() {
    let (mut native, mut sandbox) = (json::detector("").unwrap(), crate::sandbox());
    let scope = Scope::default();
    let graph =
        r#"{"nodes":["coder","verifier"],"edges":[{"from":"coder","to":"verifier"},{"from":"verifier","to":"coder"}]}"#;
    for graph in [graph, r#"{"nodes":["a"],"edges":[{"from":"a","to":"b"}]}"#, "{", "[]"] {
        let expected = json::declare_graph(&mut native, "", graph);
        assert_eq!(sandbox.declare_graph(&scope, graph).unwrap(), expected, "{graph}");
        same_view(&native, &mut sandbox, &scope, graph);
    }
}

#[test]
fn resets_and_answers_of_humans() {
    let (mut native, mut sandbox) = (json::detector("").unwrap(), crate::sandbox());
    let scope = Scope::default();
    let decisions = [
        r#"{"decision":"continue"}"#,
        r#"{"decision":"exempt","rule":"repeated-call","signature":"read"}"#,
        r#"{"decision":"exempt","rule":"no-such-rule","signature":"read"}"#,
        r#"{"decision":"perhaps"}"#,
        "{",
        r#"{"decision":"stop"}"#,
    ];
    for decision in decisions {
        for event in crate::repeated_call().iter().cycle().take(12) {
            let expected = json::to_string(&native.record(event).unwrap());
            assert_eq!(json::to_string(&sandbox.record(event).unwrap().unwrap()), expected, "before {decision}");
        }
        let expected = json::acknowledge(&mut native, "", decision);
        let answered = sandbox.acknowledge(&scope, decision).unwrap();
        assert_eq!(answered.map(|records| list(&records)), expected, "{decision}");
        same_view(&native, &mut sandbox, &scope, decision);
    }
    for reason in ["task-completed", "human-intervention", "manual"] {
        let expected = json::reset(&mut native, "", reason).unwrap();
        let typed = serde_json::from_value(reason.into()).unwrap();
        assert_eq!(list(&sandbox.reset(&scope, typed).unwrap()), expected, "{reason}");
        same_view(&native, &mut sandbox, &scope, reason);
    }
}

#[test]
fn errors_name_the_same_code_and_field() {
    for config in [r#"{"presett":1}"#, r#"{"budgets":{"maxIterations":-1}}"#, "nonsense", "1"] {
        let expected = json::detector(config).unwrap_err();
        assert_eq!(COMPONENT.sandbox(config, Limits::default()).unwrap().err(), Some(expected), "{config}");
    }
}

#[test]
fn tells_the_version_of_the_library() {
    assert_eq!(crate::sandbox().version().unwrap(), loopwarden::version());
}

#[test]
fn arguments_that_are_not_json_are_refused_by_name() {
    let mut sandbox = crate::sandbox();
    let before = sandbox.snapshot().unwrap();
    for (event, field) in crate::hostile::with_json_text("{\"a\":") {
        let error = sandbox.record_typed(&event).unwrap().unwrap_err();
        assert_eq!((error.code, error.field.as_deref()), (ErrorCode::InvalidEvent, Some(field)), "{error}");
    }
    assert_eq!(sandbox.snapshot().unwrap(), before, "a refused event changed the state");
}
