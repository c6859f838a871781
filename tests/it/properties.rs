//! Properties of every sequence of events.

use loopwarden::model::{
    Body, Channel, Collaboration, Config, Context, Custom, Delta, Event, Failure, Host, HostKind, Level, Memory,
    Message, Outcome, Output, Progress, Role, Scope, Tests, ToolCall, ToolResult, Transition, Turn, Verdict,
};
use loopwarden::{Detector, json};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// Bytes of state that one run may take, whatever comes.
const RUN_LIMIT: usize = 64 * 1024;

/// Names of runs, agents and calls, each with another name of the same length that sorts differently.
const NAMES: [(&str, &str); 7] = [
    ("run-one", "run-zzz"),
    ("run-two", "run-aaa"),
    ("agent-one", "agent-qqq"),
    ("agent-two", "agent-bbb"),
    ("id-one", "id-yyy"),
    ("id-two", "id-ccc"),
    ("id-six", "id-aaa"),
];

/// Few different values, so that things repeat; some that never do.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(vec![
            "",
            "ok",
            "no such file: src/auth.rs",
            "Error: TypeError - Cannot read property 'id' of null at auth.ts:45",
            "2 tests failing - auth, login",
            "still running, 42 % done",
            "I will now try the same thing again and again and again, because it has to work this time.",
        ])
        .prop_map(str::to_owned),
        1 => ".{0,80}",
        1 => "(loop ){0,300}",
    ]
}

fn arguments() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => select(vec![
            json!({"path": "src/auth.rs"}),
            json!({"path": "./src//auth.rs", "brief": "look again"}),
            json!({"command": "cargo test"}),
            json!({"command": "sed -i s/a/b/ src/auth.rs"}),
            json!({}),
        ]),
        1 => (any::<i64>(), text()).prop_map(|(n, query)| json!({"n": n, "query": query})),
    ]
}

fn tool() -> impl Strategy<Value = String> {
    select(vec!["read_file", "edit", "bash", "web_search"]).prop_map(str::to_owned)
}

fn call_id() -> impl Strategy<Value = Option<String>> {
    option::of(select(vec!["id-one", "id-two", "id-six"]).prop_map(str::to_owned))
}

fn outcome() -> impl Strategy<Value = Outcome> {
    use Outcome::{Denied, Error, Invalid, NotExecuted, Ok, Timeout, UnknownTool};
    select(vec![Ok, Ok, Error, Error, Denied, Invalid, UnknownTool, NotExecuted, Timeout])
}

fn call() -> impl Strategy<Value = Body> {
    (tool(), arguments(), call_id()).prop_map(|(tool, args, call_id)| {
        Body::ToolCall(ToolCall { tool, args: Some(args), call_id, ..ToolCall::default() })
    })
}

fn result() -> impl Strategy<Value = Body> {
    (option::of(tool()), outcome(), text(), call_id()).prop_map(|(tool, outcome, output, call_id)| {
        Body::ToolResult(ToolResult { tool, outcome, output, call_id, ..ToolResult::default() })
    })
}

fn message() -> impl Strategy<Value = Body> {
    let role = prop_oneof![8 => Just(Role::Assistant), 1 => Just(Role::System), 1 => Just(Role::User)];
    (role, text()).prop_map(|(role, text)| Body::Message(Message { role, channel: None, text, digest: None }))
}

fn host() -> impl Strategy<Value = Body> {
    use HostKind::{Compaction, Continuation, HookBlock, Restart, Resume, Retry, RunStart, TurnStart};
    let kinds =
        select(vec![TurnStart, TurnStart, Resume, Compaction, HookBlock, Continuation, Retry, RunStart, Restart]);
    kinds.prop_map(|kind| Body::Host(Host { kind, name: None, detail: None }))
}

fn other() -> impl Strategy<Value = Body> {
    let failing = option::of(0..4_u32);
    prop_oneof![
        text().prop_map(|text| Body::Delta(Delta { channel: Some(Channel::Text), text })),
        text().prop_map(|message| Body::Failure(Failure { message, ..Failure::default() })),
        failing.prop_map(|failing| {
            let tests = Some(Tests { failing, ..Tests::default() });
            Body::Progress(Progress { tests, ..Progress::default() })
        }),
        text().prop_map(|request| {
            let (from, to) = ("agent-one".to_owned(), "agent-two".to_owned());
            Body::Collaboration(Collaboration { from, to, request, embedding: None })
        }),
        select(vec!["fix", "test"]).prop_map(|to| Body::Transition(Transition { from: None, to: to.to_owned() })),
        text().prop_map(|text| {
            Body::Turn(Turn { node: "n".to_owned(), final_message: Some(text), ..Turn::default() })
        }),
        text().prop_map(|key| Body::Custom(Custom { name: "c".to_owned(), key, outcome: None })),
    ]
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        6 => call(),
        6 => result(),
        2 => message(),
        3 => text().prop_map(|text| Body::Output(Output { text })),
        1 => host(),
        2 => other(),
    ]
}

fn context() -> impl Strategy<Value = Context> {
    let name = |names: Vec<&'static str>| option::of(select(names).prop_map(str::to_owned));
    let (run, agent) = (name(vec!["run-one", "run-two"]), name(vec!["agent-one", "agent-two"]));
    let at =
        option::weighted(0.3, prop_oneof![9 => 0..10_000_000_i64, 1 => -253_402_300_799_999..=253_402_300_799_999_i64]);
    let tokens = option::weighted(0.2, any::<u64>());
    (run, agent, at, option::of(any::<u64>()), proptest::bool::weighted(0.1), tokens).prop_map(
        |(run, agent, at, step, synthetic, tokens)| Context {
            run,
            agent,
            at,
            step,
            synthetic,
            tokens,
            ..Context::default()
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    (body(), context()).prop_map(|(body, context)| Event { body, context })
}

/// Part of a run: something repeated several times, with other events before and after.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let lap = vec(event(), 1..5);
    (vec(event(), 0..20), lap, 0..12_usize, vec(event(), 0..10)).prop_map(|(mut events, lap, laps, after)| {
        (0..laps).for_each(|_| events.extend(lap.iter().cloned()));
        events.extend(after);
        events
    })
}

/// Configurations that exercise every part of the policy.
fn config() -> impl Strategy<Value = Config> {
    let documents = select(vec![
        "",
        r#"{"mode":"shadow"}"#,
        r#"{"attended":false}"#,
        r#"{"preset":"sensitive","privacy":{"payloads":"excerpt"}}"#,
        r#"{"budgets":{"maxIterations":10,"maxRuntimeMs":5000000,"consecutiveErrors":4}}"#,
        r#"{"memory":{"maxRuns":1,"idleMs":1000}}"#,
        r#"{"tools":{"bash":{"polling":true},"edit":{"ignoreArgs":["brief"]}}}"#,
    ]);
    documents.prop_map(|text| json::config(text).unwrap())
}

/// Events that the types allow but the detector rejects.
fn refused() -> impl Strategy<Value = Event> {
    let bodies = select(vec![
        r#"{"type":"tool-call","tool":"t","args":1,"rawArgs":"1"}"#,
        r#"{"type":"progress","tests":{"coverage":100.5}}"#,
        r#"{"type":"progress","checklist":{"done":2,"total":1}}"#,
        r#"{"type":"evaluation","verdict":"stalled","confidence":1001}"#,
    ]);
    (bodies, context()).prop_map(|(text, context)| Event { context, ..json::event(text).unwrap() })
}

fn detector(config: Config, events: &[Event]) -> Detector {
    let mut detector = Detector::new(config).unwrap();
    for event in events {
        detector.record(event).unwrap();
    }
    detector
}

fn verdicts(detector: &mut Detector, events: &[Event]) -> Vec<Verdict> {
    events.iter().map(|event| detector.record(event).unwrap()).collect()
}

/// An event with other names of run, agent and call.
fn renamed(event: &Event) -> Event {
    json::event(&under_other_names(&json::to_string(event))).unwrap()
}

fn under_other_names(text: &str) -> String {
    NAMES.iter().fold(text.to_owned(), |text, (name, other)| text.replace(name, other))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn check_answers_as_record_would_and_changes_nothing(config in config(), events in events()) {
        let mut detector = detector(config, &[]);
        for event in &events {
            let before = detector.snapshot();
            let checked = detector.check(event);
            prop_assert!(detector.snapshot() == before, "check changed the state");
            prop_assert_eq!(&checked, &detector.clone().record(event));
            prop_assert_eq!(checked, detector.record(event));
        }
    }

    #[test]
    fn a_refused_event_changes_nothing(config in config(), events in events(), refused in refused()) {
        let mut detector = detector(config, &events);
        let before = detector.snapshot();
        let error = detector.record(&refused).unwrap_err();
        prop_assert_eq!(detector.check(&refused).unwrap_err(), error.clone());
        prop_assert!(error.field.is_some(), "{} names no field", error);
        prop_assert!(detector.snapshot() == before, "a refused event changed the state");
    }

    #[test]
    fn a_restored_detector_has_the_same_future(config in config(), events in events(), at in any::<prop::sample::Index>()) {
        let (past, future) = events.split_at(at.index(events.len() + 1));
        let mut detector = detector(config, past);
        let snapshot = detector.snapshot();
        let mut restored = Detector::restore(&snapshot).unwrap();
        prop_assert!(restored.snapshot() == snapshot, "a snapshot is not what it restores");
        prop_assert_eq!(verdicts(&mut detector, future), verdicts(&mut restored, future));
        prop_assert_eq!(detector.metrics(), restored.metrics());
        prop_assert!(detector.snapshot() == restored.snapshot(), "the states differ afterwards");
    }

    #[test]
    fn a_damaged_snapshot_is_refused(events in events(), at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let snapshot = detector(Config::default(), &events).snapshot();
        let at = at.index(snapshot.len());
        let mut damaged = snapshot.clone();
        damaged[at] ^= 1 << bit;
        prop_assert!(Detector::restore(&damaged).is_err(), "bit {bit} of byte {at} does not matter");
        prop_assert!(Detector::restore(&snapshot[..at]).is_err(), "{at} bytes are enough");
    }

    #[test]
    fn the_json_door_says_the_same(config in config(), events in events()) {
        let mut typed = detector(config.clone(), &[]);
        let mut text = json::detector(&json::to_string(&config)).unwrap();
        for event in &events {
            let door = json::record(&mut text, &json::to_string(event)).unwrap();
            prop_assert_eq!(door, json::to_string(&typed.record(event).unwrap()));
        }
        prop_assert!(typed.snapshot() == text.snapshot(), "the states differ");
    }

    #[test]
    fn names_of_runs_agents_and_calls_are_only_echoed(config in config(), events in events()) {
        let mut one = detector(config.clone(), &[]);
        let mut other = detector(config, &[]);
        for event in &events {
            let verdict = json::to_string(&one.record(event).unwrap());
            let same = json::to_string(&other.record(&renamed(event)).unwrap());
            prop_assert_eq!(under_other_names(&verdict), same);
        }
    }

    #[test]
    fn synthetic_events_never_raise_a_level(
        events in events(),
        inserted in vec((any::<prop::sample::Index>(), synthetic()), 1..12),
    ) {
        // Only the agent's actions are judged here, so the reference run has no synthetic events.
        let genuine: Vec<Event> = events.into_iter().filter(|event| !event.context.synthetic).collect();
        // Runs never become idle: what another run would lose by its clock is not tested here.
        let config = Config { memory: Memory { idle_ms: u64::MAX, ..Memory::default() }, ..Config::default() };
        let plain = verdicts(&mut detector(config.clone(), &[]), &genuine);
        let mut mixed = detector(config, &[]);
        for (index, event) in genuine.iter().enumerate() {
            for (_, synthetic) in inserted.iter().filter(|(at, _)| at.index(genuine.len()) == index) {
                for event in synthetic {
                    let scope = Scope { run: event.context.run.clone(), ..Scope::default() };
                    let before = mixed.status(&scope).level;
                    let level = mixed.record(event).unwrap().level;
                    prop_assert!(level <= before, "{event:?} raised {before} to {level}");
                }
            }
            // A nudge is given once: it may come later if synthetic events end a turn, but must not be stronger.
            let peak = plain[..=index].iter().map(|verdict| verdict.level).max().unwrap();
            let level = mixed.record(event).unwrap().level;
            prop_assert!(level <= peak, "event {index}: {level}, without synthetic ones at most {peak} so far");
        }
    }
}

/// A pause from which on calls count as having waited.
const PAUSE_MS: i64 = 10_000;

/// What a verdict says, without its times.
fn untimed(verdict: &Verdict) -> Vec<String> {
    let findings = verdict.findings.iter();
    findings.map(|is| format!("{} {} {} {}", is.rule, is.level, is.count, is.signature)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// However a host batches its events, whatever it checks in between, and however often it is stored and restored.
    #[test]
    fn neither_batches_nor_questions_matter(
        config in config(),
        events in events(),
        questions in vec((any::<prop::sample::Index>(), event()), 0..20),
        cuts in vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let plain = verdicts(&mut detector(config.clone(), &[]), &events);
        let mut asked = detector(config, &[]);
        for (index, event) in events.iter().enumerate() {
            for (_, question) in questions.iter().filter(|(at, _)| at.index(events.len()) == index) {
                asked.check(question).unwrap();
                let _ = asked.status(&Scope { run: question.context.run.clone(), ..Scope::default() });
                let _ = asked.metrics();
            }
            if cuts.iter().any(|at| at.index(events.len()) == index) {
                asked = Detector::restore(&asked.snapshot()).unwrap();
            }
            prop_assert_eq!(&asked.record(event).unwrap(), &plain[index], "event {}", index);
        }
    }

    /// A run that takes twice or a thousand times as long is the same run, unless something in it waits.
    #[test]
    fn scaled_times_change_nothing_unless_something_waits(events in events(), factor in select(vec![2_i64, 7, 1000])) {
        let at_scale = |event: &Event, scale: i64| {
            let at = event.context.at.map(|at| at.rem_euclid(PAUSE_MS / factor) * scale);
            Event { context: Context { at, ..event.context.clone() }, ..event.clone() }
        };
        let (mut one, mut other) = (detector(Config::default(), &[]), detector(Config::default(), &[]));
        for event in &events {
            let (soon, later) = (at_scale(event, 1), at_scale(event, factor));
            prop_assert_eq!(untimed(&one.record(&soon).unwrap()), untimed(&other.record(&later).unwrap()));
        }
    }
}

/// What hosts, and this library's own guidance, put into a run: a message, or a whole call with its result.
fn synthetic() -> impl Strategy<Value = Vec<Event>> {
    let own_call = (tool(), arguments(), outcome(), text()).prop_map(|(tool, args, outcome, output)| {
        let call_id = Some("made-up".to_owned());
        let call = ToolCall { tool, args: Some(args), call_id: call_id.clone(), ..ToolCall::default() };
        vec![Body::ToolCall(call), Body::ToolResult(ToolResult { outcome, output, call_id, ..ToolResult::default() })]
    });
    let alone = prop_oneof![message(), text().prop_map(|text| Body::Output(Output { text }))];
    (prop_oneof![own_call, alone.prop_map(|body| vec![body])], context()).prop_map(|(bodies, context)| {
        // Without a time, since jumps of the clock are not the subject here.
        let context = Context { synthetic: true, at: None, ..context };
        bodies.into_iter().map(|body| Event { body, context: context.clone() }).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn the_memory_of_a_run_is_bounded(seed in vec(event(), 40..60), salt in any::<u64>()) {
        let memory = Memory { max_runs: 2, ..Memory::default() };
        let mut detector = detector(Config { memory, ..Config::default() }, &[]);
        let empty = detector.snapshot().len();
        let mut largest = 0;
        for index in 0..6_000_u64 {
            let mut event = seed[(index % seed.len() as u64) as usize].clone();
            let unique = format!("{salt:x}-{index}");
            // Everything that can be a key is new every other time.
            if index % 2 == 0 {
                match &mut event.body {
                    Body::ToolCall(call) => {
                        call.call_id = Some(unique.clone());
                        call.tool = format!("tool-{unique}");
                        call.args = Some(json!({ "path": format!("src/{unique}.rs"), "query": unique.repeat(20) }));
                    }
                    Body::ToolResult(result) => result.output = unique.repeat(100),
                    Body::Message(message) => message.text = unique.repeat(100),
                    Body::Output(output) => output.text = unique.repeat(100),
                    _ => {}
                }
                event.context.agent = Some(format!("agent-{unique}"));
                event.context.round = Some(unique.clone());
                event.context.task = Some(unique);
            }
            event.context.run = Some(format!("run-{}", index % 5));
            detector.record(&event).unwrap();
            if index % 500 == 499 {
                largest = largest.max(detector.snapshot().len());
            }
        }
        // A jump of the clock may have evicted one of the two as idle.
        prop_assert!((1..=2).contains(&detector.metrics().runs));
        prop_assert!(largest <= empty + 2 * RUN_LIMIT, "two runs take {largest} bytes");
        prop_assert!(largest > empty, "nothing was remembered");
    }
}

#[test]
fn the_strategies_reach_every_level() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..600 {
        let events = events().new_tree(&mut runner).unwrap().current();
        let config = config().new_tree(&mut runner).unwrap().current();
        seen.extend(verdicts(&mut detector(config, &[]), &events).iter().map(|verdict| verdict.level));
    }
    // A property that only ever saw `continue` would prove nothing.
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), Level::ALL);
}
