//! The project's own corpus of scenarios, run natively through the JSON door.
//!
//! `tests/corpus/README.md` describes the files. Every scenario's expectation is checked, and every verdict above
//! `observe` is pinned in `tests/golden/verdicts.txt`, so that a change to a rule shows everything that it changes.
//! `LOOPWARDEN_BLESS=1 cargo test --test it corpus` rewrites that file.

use crate::raw_scenario::{RawScenario, raw_scenarios};
use loopwarden::model::{
    Attempt, AttemptStatus, Body, Channel, Checklist, Collaboration, Context, Custom, Delivery, Delta, Error,
    ErrorType, Evaluation, EvaluationVerdict, Event, Expectation, Failure, Host, HostKind, Level, Marker, Message,
    Outcome, Output, Progress, Role, Tests, ToolCall, ToolResult, Transition, Turn, Verdict,
};
use loopwarden::{Detector, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

/// The answer to one event of a scenario.
struct Step {
    pending: bool,
    answer: Result<Verdict, Error>,
}

fn tests_dir() -> PathBuf {
    PathBuf::from("tests")
}

/// Every scenario of the corpus, in order of file names and lines.
pub(crate) fn corpus() -> Vec<RawScenario> {
    let entries = fs::read_dir(tests_dir().join("corpus")).expect("the corpus is a directory");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let mut all = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).expect("a readable file");
        all.extend(raw_scenarios(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display())));
    }
    all
}

fn run(scenario: &RawScenario) -> Vec<Step> {
    let config = scenario.config.as_deref().unwrap_or_default();
    let mut detector = json::detector(config).unwrap_or_else(|error| panic!("{}: {error}", scenario.id));
    let judge = |event: &crate::raw_scenario::RawEvent| {
        let answer = json::event(&event.text)
            .and_then(|parsed| if event.pending { detector.check(&parsed) } else { detector.record(&parsed) });
        Step { pending: event.pending, answer }
    };
    scenario.events.iter().map(judge).collect()
}

fn least_level(scenario: &RawScenario) -> Level {
    let Some(name) = scenario.min_level.as_deref() else { return Level::Nudge };
    let known = Level::ALL.into_iter().find(|level| level.name() == name);
    known.unwrap_or_else(|| panic!("{}: minLevel is {name}", scenario.id))
}

/// What is wrong with the answers to a scenario, by the rules for scenario files.
fn complaint(scenario: &RawScenario, steps: &[Step]) -> Option<String> {
    for (index, step) in steps.iter().enumerate() {
        match (&step.answer, scenario.refused.contains(&index)) {
            (Err(error), false) => return Some(format!("event {index} was refused: {error}")),
            (Ok(_), true) => return Some(format!("event {index} was not refused")),
            (Ok(_), false) | (Err(_), true) => {}
        }
    }
    match (wrong_verdict(scenario, steps), &scenario.known_miss) {
        (Some(_), Some(_)) | (None, None) => None,
        (None, Some(_)) => Some("no longer missed: the mark is to go".to_owned()),
        (wrong, None) => wrong,
    }
}

fn wrong_verdict(scenario: &RawScenario, steps: &[Step]) -> Option<String> {
    let least = least_level(scenario);
    let reached = |step: &Step| step.answer.as_ref().is_ok_and(|verdict| verdict.level >= least);
    let first = steps.iter().position(reached);
    let wanted = scenario.expect_at;
    match (scenario.expect_loop?, first) {
        (true, None) => Some(format!("nothing reached {least}")),
        (true, Some(at)) if wanted.is_some_and(|wanted| at > wanted) => {
            Some(format!("{least} only at event {at}, expected by {}", wanted.unwrap_or_default()))
        }
        (true, Some(at)) if scenario.first_at && wanted.is_some_and(|wanted| at < wanted) => {
            Some(format!("{least} at event {at} already, expected at {}", wanted.unwrap_or_default()))
        }
        (false, Some(at)) => Some(format!("false alarm: {least} at event {at}")),
        (true, Some(_)) | (false, None) => None,
    }
}

#[test]
fn every_expectation_holds() {
    let scenarios = corpus();
    let complaints: Vec<String> = scenarios
        .iter()
        .filter_map(|scenario| {
            let steps = run(scenario);
            let why = complaint(scenario, &steps)?;
            Some(format!("{}: {why}\n    {}", scenario.id, story(&steps)))
        })
        .collect();
    assert!(complaints.is_empty(), "{} of {}:\n{}", complaints.len(), scenarios.len(), complaints.join("\n"));
}

#[test]
fn ids_are_unique_and_kebab_case() {
    let mut seen = BTreeSet::new();
    for scenario in corpus() {
        let kebab = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        assert!(scenario.id.split('-').all(kebab), "{} is not kebab-case", scenario.id);
        assert!(seen.insert(scenario.id.clone()), "{} twice", scenario.id);
    }
    assert!(seen.len() >= 60, "only {} scenarios", seen.len());
}

#[test]
fn labels_make_sense() {
    for scenario in corpus() {
        let expects = scenario.expect_loop.unwrap_or_else(|| panic!("{} expects nothing", scenario.id));
        assert!(scenario.expect_at.is_none_or(|at| expects && at < scenario.events.len()), "{}", scenario.id);
        assert!(!scenario.first_at || scenario.expect_at.is_some(), "{}", scenario.id);
        assert!(scenario.refused.iter().all(|at| *at < scenario.events.len()), "{}", scenario.id);
        least_level(&scenario);
        for key in ["\"description\":\"", "\"why\":\""] {
            assert!(scenario.text.contains(key), "{} has no {key}", scenario.id);
        }
    }
}

/// The library's scenario reader and the tests' splitter agree.
#[test]
fn the_scenario_reader_agrees() {
    for scenario in corpus().into_iter().filter(|scenario| scenario.refused.is_empty()) {
        let parsed = json::scenario(&scenario.text).unwrap_or_else(|error| panic!("{}: {error}", scenario.id));
        assert_eq!(parsed.id, scenario.id);
        assert_eq!(parsed.expect.map(|expect| expect == Expectation::Loop), scenario.expect_loop, "{}", scenario.id);
        assert_eq!(parsed.expect_at.map(|at| at as usize), scenario.expect_at, "{}", scenario.id);
        assert_eq!(parsed.first_at, scenario.first_at, "{}", scenario.id);
        assert_eq!(parsed.min_level.map(Level::name), scenario.min_level.as_deref(), "{}", scenario.id);
        let config = scenario.config.as_deref().map(|text| json::config(text).expect("a configuration"));
        assert_eq!(parsed.config, config, "{}", scenario.id);
        assert_eq!(parsed.events.len(), scenario.events.len(), "{}", scenario.id);
        for (event, raw) in parsed.events.iter().zip(&scenario.events) {
            assert_eq!(event.pending, raw.pending, "{}: {}", scenario.id, raw.text);
            assert_eq!(Ok(&event.event), json::event(&raw.text).as_ref(), "{}: {}", scenario.id, raw.text);
        }
    }
}

#[test]
fn a_check_and_a_refused_event_change_nothing() {
    for scenario in corpus() {
        let mut detector = json::detector(scenario.config.as_deref().unwrap_or_default()).expect("a configuration");
        for event in &scenario.events {
            let before = detector.snapshot();
            let parsed = json::event(&event.text);
            let kept = match &parsed {
                Ok(parsed) if event.pending => detector.check(parsed).map(|_| true),
                Ok(parsed) => detector.record(parsed).map(|_| false),
                Err(error) => Err(error.clone()),
            };
            if kept.unwrap_or(true) {
                assert!(before == detector.snapshot(), "{}: {} changed the state", scenario.id, event.text);
            }
        }
    }
}

/// Lazy reading, cached lookups and partial copies for checks change no verdict: a check gives the same verdict as
/// recording, and so does a detector that is stored and restored between any two events.
#[test]
fn asked_before_or_restored_in_between_the_verdicts_are_the_same() {
    for scenario in corpus() {
        let mut detector = json::detector(scenario.config.as_deref().unwrap_or_default()).expect("a configuration");
        let mut stored = detector.clone();
        let events = scenario.events.iter().filter(|event| !event.pending);
        for (index, event) in events.filter_map(|event| json::event(&event.text).ok()).enumerate() {
            let checked = detector.check(&event);
            let recorded = detector.record(&event);
            assert_eq!(checked, recorded, "{}, event {index}: checked and recorded", scenario.id);
            stored = Detector::restore(&stored.snapshot()).expect("a snapshot");
            assert_eq!(recorded, stored.record(&event), "{}, event {index}: restored", scenario.id);
        }
        assert!(detector.snapshot() == stored.snapshot(), "{}", scenario.id);
    }
}

/// What a call is judged on is a copy of its own task's evidence only: also if tasks take turns, are parked, end idle and
/// begin anew, a check gives the same verdict as recording.
#[test]
fn asked_before_in_one_of_many_tasks_the_verdicts_are_the_same() {
    const TASKS: [&str; 4] = ["north", "south", "east", "west"];
    let (mut checked_calls, mut alarms) = (0, 0);
    for scenario in corpus().iter().filter(|scenario| scenario.config.is_none()) {
        let mut detector = json::detector(r#"{"memory":{"idleMs":600000}}"#).expect("a configuration");
        let mut now = 1_790_000_000_000;
        let events = scenario.events.iter().filter(|event| !event.pending);
        for (index, mut event) in events.filter_map(|event| json::event(&event.text).ok()).enumerate() {
            // Four events for each of three tasks, now and then one without; every 50 events a task is left idle.
            let turn = index / 4 % 3;
            event.context.task = (index % 13 != 12).then(|| TASKS[turn + usize::from(index > 40)].into());
            event.context.parent_task = (turn == 2).then(|| TASKS[0].into());
            now += if index % 50 == 49 { 700_000 } else { 3_000 };
            event.context.at = (index % 7 != 6).then_some(now);
            let is_call = matches!(event.body, Body::ToolCall(_));
            let checked = is_call.then(|| detector.check(&event));
            let recorded = detector.record(&event);
            if let Some(checked) = checked {
                assert_eq!(checked, recorded, "{}, event {index}: checked and recorded", scenario.id);
                checked_calls += 1;
                alarms += usize::from(recorded.is_ok_and(|verdict| !verdict.findings.is_empty()));
            }
        }
    }
    assert!(checked_calls > 10_000 && alarms > 100, "{checked_calls} calls, {alarms} with findings");
}

/// Agent names only distinguish agents: under other names the verdicts are the same, and so are signatures.
#[test]
fn agents_go_by_any_name() {
    let others = ["ann/", "zed/"];
    let named = |event: &Event, before: &str| {
        let mut event = event.clone();
        event.context.agent = Some(format!("{before}{}", event.context.agent.unwrap_or_default()));
        if let Body::Collaboration(asked) = &mut event.body {
            asked.from.insert_str(0, before);
            asked.to.insert_str(0, before);
        }
        event
    };
    for scenario in corpus() {
        let detector = json::detector(scenario.config.as_deref().unwrap_or_default()).expect("a configuration");
        let mut detectors = [detector.clone(), detector];
        for (index, event) in scenario.events.iter().enumerate().filter(|(_, event)| !event.pending) {
            let Ok(event) = json::event(&event.text) else { continue };
            let mut says = [0, 1].map(|which| {
                let verdict = detectors[which].record(&named(&event, others[which]));
                verdict.map_or_else(|error| error.to_string(), |verdict| json::to_string(&verdict))
            });
            says[1] = says[1].replace(others[1], others[0]);
            assert_eq!(says[0], says[1], "{}, event {index}", scenario.id);
        }
    }
}

/// Whether a run of one agent, with the default configuration, is nudged or more.
fn is_nudged(events: &[Event]) -> bool {
    let mut detector = json::detector("{}").expect("a configuration");
    events.iter().any(|event| detector.record(event).is_ok_and(|verdict| verdict.level >= Level::Nudge))
}

/// An agent is judged alike whatever another agent writes at the same time, except for what that may have changed.
#[test]
fn agents_beside_a_writer() {
    let page = |number: usize| {
        let call = format!(
            r#"{{"type":"tool-call","agent":"clerk","tool":"write_page","callId":"w{number}","args":{{"path":"book/{number}.md","content":"The {number}. page of the book of the harbour, of which there are many."}}}}"#
        );
        let result = format!(
            r#"{{"type":"tool-result","agent":"clerk","tool":"write_page","callId":"w{number}","outcome":"ok","output":"book/{number}.md is written"}}"#
        );
        [call, result].map(|text| json::event(&text).expect("an event"))
    };
    // For loops and for honest runs: how many were reported alone, how many beside the writer, and how many there are.
    let mut told = [[0_usize; 3]; 2];
    for scenario in corpus() {
        let events: Option<Vec<Event>> = scenario.events.iter().map(|event| json::event(&event.text).ok()).collect();
        let alone = |event: &Event| {
            let Context { agent, task, run, .. } = &event.context;
            let acts = matches!(event.body, Body::ToolCall(_) | Body::ToolResult(_));
            acts && agent.is_none() && task.is_none() && run.is_none() && event.context.step.is_none()
        };
        let Some(mut events) = events.filter(|events| scenario.config.is_none() && events.iter().all(alone)) else {
            continue;
        };
        let of = &mut told[usize::from(scenario.expect_loop != Some(true))];
        of[0] += usize::from(is_nudged(&events));
        events.iter_mut().for_each(|event| event.context.agent = Some("rigger".into()));
        let mut beside = Vec::new();
        for (number, event) in events.into_iter().enumerate() {
            let at = event.context.at;
            let settled = matches!(event.body, Body::ToolResult(_));
            beside.push(event);
            if settled {
                beside.extend(page(number).map(|event| Event { context: Context { at, ..event.context }, ..event }));
            }
        }
        of[1] += usize::from(is_nudged(&beside));
        of[2] += 1;
    }
    let [loops, honest] = told;
    println!("loops: {loops:?}, honest runs: {honest:?}");
    assert!(loops[1] * 20 >= loops[0] * 19 && honest[1] <= honest[0] + 3, "loops {loops:?}, honest runs {honest:?}");
}

/// The answers worth a line: above `observe`, also in shadow mode, or rejected.
fn story(steps: &[Step]) -> String {
    let mut line = String::new();
    for (index, step) in steps.iter().enumerate() {
        let told = match &step.answer {
            Ok(verdict) => {
                let would_be = verdict.would_be.unwrap_or_default();
                if verdict.level.max(would_be) <= Level::Observe {
                    continue;
                }
                let shadow = if verdict.would_be.is_some() { format!("({would_be})") } else { String::new() };
                let leading = verdict.findings.first();
                let leading = leading
                    .map_or_else(|| "no finding".to_owned(), |finding| format!("{}@{}", finding.rule, finding.count));
                format!("{}{shadow}:{leading}", verdict.level)
            }
            Err(error) => {
                let field = error.field.as_deref().map(|field| format!("({field})")).unwrap_or_default();
                format!("refused:{}{field}", error.code.name())
            }
        };
        let pending = if step.pending { "?" } else { "" };
        write!(line, " {index}{pending}:{told}").expect("writing to a string");
    }
    if line.is_empty() { " -".to_owned() } else { line }
}

#[test]
fn verdicts_are_the_committed_ones() {
    let path = tests_dir().join("golden").join("verdicts.txt");
    let scenarios = corpus();
    let now: Vec<String> = scenarios.iter().map(|s| format!("{}:{}", s.id, story(&run(s)))).collect();
    if env::var_os("LOOPWARDEN_BLESS").is_some() {
        fs::create_dir_all(tests_dir().join("golden")).expect("a directory for the golden file");
        fs::write(&path, now.join("\n") + "\n").expect("a writable golden file");
        return;
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    let by_id = |line: &str| line.split_once(':').map_or(line.to_owned(), |(id, _)| id.to_owned());
    let before: BTreeMap<String, &str> = golden.lines().map(|line| (by_id(line), line)).collect();
    let after: BTreeMap<String, &str> = now.iter().map(|line| (by_id(line), line.as_str())).collect();
    let mut diff = String::new();
    for id in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
        let (old, new) = (before.get(id), after.get(id));
        if old != new {
            writeln!(diff, "- {}", old.unwrap_or(&"(new scenario)")).expect("writing to a string");
            writeln!(diff, "+ {}", new.unwrap_or(&"(gone)")).expect("writing to a string");
        }
    }
    assert!(diff.is_empty(), "verdicts changed; LOOPWARDEN_BLESS=1 accepts them:\n{diff}");
    assert_eq!(golden, now.join("\n") + "\n", "the golden file has other lines or another order");
}

/// The kebab-case names of an enum's cases. The generated match has no wildcard: a new case fails to compile until it
/// is listed, and then the corpus must contain it.
macro_rules! cases {
    ($name:ident: $($case:ident $(($inner:pat))?),* $(,)?) => {{
        let exhaustive = |value: &$name| match value { $($name::$case $(($inner))? => {})* };
        let _ = exhaustive;
        vec![$((stringify!($name), kebab(stringify!($case)))),*]
    }};
}

/// The camelCase names of a struct's fields, kept complete in the same way.
macro_rules! fields {
    ($name:ident: $($field:ident),* $(,)?) => {{
        let exhaustive = |value: $name| { let $name { $($field: _),* } = value; };
        let _ = exhaustive;
        vec![$((stringify!($name), camel(stringify!($field)))),*]
    }};
}

fn kebab(case: &str) -> String {
    let mut name = String::new();
    for (index, letter) in case.char_indices() {
        if letter.is_ascii_uppercase() && index > 0 {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

fn camel(field: &str) -> String {
    let mut words = field.split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        name.extend(letters);
    }
    name
}

/// Everything that an event may contain, as (type, name).
fn whole_model() -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    all.extend(cases!(Body: ToolCall(_), ToolResult(_), Message(_), Delta(_), Output(_), Failure(_), Progress(_),
        Evaluation(_), Collaboration(_), Attempt(_), Transition(_), Turn(_), Delivery(_), Host(_), Custom(_)));
    all.extend(cases!(Outcome: Ok, Error, Denied, Invalid, UnknownTool, NotExecuted, Timeout));
    all.extend(cases!(Role: Assistant, User, System));
    all.extend(cases!(Channel: Text, Reasoning));
    all.extend(cases!(ErrorType: Syntax, Runtime, Logic, Dependency, Network, Authentication, Timeout, Resource,
        Unknown));
    all.extend(cases!(Marker: Flag(_), Count(_), Names(_)));
    all.extend(cases!(EvaluationVerdict: Progressing, Stalled, Regressing, External));
    all.extend(cases!(AttemptStatus: Pending, InProgress, Blocked, Done));
    all.extend(cases!(HostKind: RunStart, TurnStart, Resume, Restart, Compaction, HookBlock, Continuation, Retry,
        Intervention));
    all.extend(
        fields!(Context: at, run, task, parent_task, agent, round, step, synthetic, tokens, cost_micros, labels),
    );
    all.extend(fields!(ToolCall: tool, args, raw_args, call_id, target, identity, read_only, idempotent));
    all.extend(fields!(ToolResult: call_id, tool, outcome, output, digest, exit_code, error_class, details, state));
    all.extend(fields!(Message: role, channel, text, digest));
    all.extend(fields!(Delta: channel, text));
    all.extend(fields!(Output: text));
    all.extend(fields!(Failure: message, error_type, location, stack_trace, source));
    all.extend(fields!(Progress: tests, diff, docs, checklist, files_created, dependencies_added, code_written, goal));
    all.extend(fields!(Tests: failing, total, failing_ids, coverage));
    all.extend(fields!(Checklist: done, total));
    all.extend(fields!(Evaluation: verdict, reasoning, confidence));
    all.extend(fields!(Collaboration: from, to, request, embedding));
    all.extend(fields!(Attempt: status, blockers, completed_work, session));
    all.extend(fields!(Transition: from, to));
    all.extend(fields!(Turn: node, final_message, structured_output, duration_ms));
    all.extend(fields!(Delivery: from, to, edge));
    all.extend(fields!(Host: kind, name, detail));
    all.extend(fields!(Custom: name, key, outcome));
    all
}

#[test]
fn every_case_and_field_of_the_model_appears() {
    let mut seen: BTreeSet<(&str, String)> = BTreeSet::new();
    for scenario in corpus() {
        for event in &scenario.events {
            if let Ok(event) = json::event(&event.text) {
                note(&event, &mut seen);
            }
        }
    }
    let missing: Vec<_> = whole_model().into_iter().filter(|part| !seen.contains(part)).collect();
    assert!(missing.is_empty(), "no scenario has {missing:?}");
}

/// Notes the cases and fields that an event uses.
fn note(event: &Event, seen: &mut BTreeSet<(&'static str, String)>) {
    let mut fields = |name: &'static str, value: serde_json::Value| {
        let serde_json::Value::Object(map) = value else { panic!("{name} is an object") };
        let used = map.into_iter().filter(|(_, value)| !value.as_array().is_some_and(Vec::is_empty));
        seen.extend(used.map(|(key, _)| (name, key)));
    };
    fields("Context", serde_json::to_value(&event.context).expect("serializable"));
    let body = match &event.body {
        Body::ToolCall(body) => ("ToolCall", serde_json::to_value(body)),
        Body::ToolResult(body) => ("ToolResult", serde_json::to_value(body)),
        Body::Message(body) => ("Message", serde_json::to_value(body)),
        Body::Delta(body) => ("Delta", serde_json::to_value(body)),
        Body::Output(body) => ("Output", serde_json::to_value(body)),
        Body::Failure(body) => ("Failure", serde_json::to_value(body)),
        Body::Progress(body) => ("Progress", serde_json::to_value(body)),
        Body::Evaluation(body) => ("Evaluation", serde_json::to_value(body)),
        Body::Collaboration(body) => ("Collaboration", serde_json::to_value(body)),
        Body::Attempt(body) => ("Attempt", serde_json::to_value(body)),
        Body::Transition(body) => ("Transition", serde_json::to_value(body)),
        Body::Turn(body) => ("Turn", serde_json::to_value(body)),
        Body::Delivery(body) => ("Delivery", serde_json::to_value(body)),
        Body::Host(body) => ("Host", serde_json::to_value(body)),
        Body::Custom(body) => ("Custom", serde_json::to_value(body)),
    };
    fields(body.0, body.1.expect("serializable"));
    if let Body::Progress(progress) = &event.body {
        if let Some(tests) = &progress.tests {
            fields("Tests", serde_json::to_value(tests).expect("serializable"));
        }
        if let Some(checklist) = &progress.checklist {
            fields("Checklist", serde_json::to_value(checklist).expect("serializable"));
        }
    }
    let mut case = |name: &'static str, case: String| seen.insert((name, case));
    case("Body", event.body.name().to_owned());
    match &event.body {
        Body::ToolResult(body) => _ = case("Outcome", kebab(&format!("{:?}", body.outcome))),
        Body::Message(body) => {
            case("Role", kebab(&format!("{:?}", body.role)));
            body.channel.map(|channel| case("Channel", kebab(&format!("{channel:?}"))));
        }
        Body::Failure(body) => {
            body.error_type.map(|class| case("ErrorType", kebab(&format!("{class:?}"))));
        }
        Body::Progress(body) => {
            for marker in [&body.files_created, &body.dependencies_added, &body.code_written].into_iter().flatten() {
                let name = match marker {
                    Marker::Flag(_) => "flag",
                    Marker::Count(_) => "count",
                    Marker::Names(_) => "names",
                };
                case("Marker", name.to_owned());
            }
        }
        Body::Evaluation(body) => _ = case("EvaluationVerdict", kebab(&format!("{:?}", body.verdict))),
        Body::Attempt(body) => _ = case("AttemptStatus", kebab(&format!("{:?}", body.status))),
        Body::Host(body) => _ = case("HostKind", kebab(&format!("{:?}", body.kind))),
        Body::ToolCall(_)
        | Body::Delta(_)
        | Body::Output(_)
        | Body::Collaboration(_)
        | Body::Transition(_)
        | Body::Turn(_)
        | Body::Delivery(_)
        | Body::Custom(_) => {}
    }
}
