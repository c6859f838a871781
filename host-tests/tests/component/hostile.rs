//! Any input yields a verdict or a typed error; a trap would cost the host its instance.

use crate::{COMPONENT, event, sandbox};
use loopwarden::json;
use loopwarden::model::{Event, Scope};
use loopwarden_host_tests::bindings::exports::loopwarden::detector::detection::{self as wit, EventBody};
use loopwarden_host_tests::{Limits, Sandbox};

/// The events with free-form JSON, with `text` in its place, and the field that an error should name.
pub(crate) fn with_json_text(text: &str) -> [(wit::Event, &'static str); 3] {
    let typed = |line: &str| wit::Event::from(&event(line));
    let mut call = typed(r#"{"type":"tool-call","tool":"t"}"#);
    let mut result = typed(r#"{"type":"tool-result","outcome":"ok","output":""}"#);
    let mut turn = typed(r#"{"type":"turn","node":"n"}"#);
    if let EventBody::ToolCall(call) = &mut call.body {
        call.args = Some(text.to_owned());
    }
    if let EventBody::ToolResult(result) = &mut result.body {
        result.details = Some(text.to_owned());
    }
    if let EventBody::Turn(turn) = &mut turn.body {
        turn.structured_output = Some(text.to_owned());
    }
    [(call, "args"), (result, "details"), (turn, "structuredOutput")]
}

/// Records an event: there must be no trap, and an error must name a field and leave the state unchanged.
fn survives(sandbox: &mut Sandbox, event: &wit::Event, what: &str) {
    let before = sandbox.snapshot().unwrap();
    match sandbox.record_typed(event) {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            assert!(error.field.is_some(), "{what}: {error}");
            assert_eq!(sandbox.snapshot().unwrap(), before, "{what}: a refused event changed the state");
        }
        Err(trap) => panic!("{what}: {trap:?}"),
    }
}

#[test]
fn deep_documents() {
    let mut sandbox = sandbox();
    for depth in [1, 2, 32, 64, 100, 119, 120, 121, 126, 127, 128, 129, 1_000, 100_000] {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}"), (r#"[{"b":"#, "}]"), (r#"{"x":0,"a":[1,"#, "]}")] {
            let text = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            for (event, field) in with_json_text(&text) {
                survives(&mut sandbox, &event, &format!("{field} of {depth} × {open}"));
            }
            for (event, field) in with_json_text(&open.repeat(depth)) {
                survives(&mut sandbox, &event, &format!("{field} of {depth} × {open} left open"));
            }
        }
    }
}

#[test]
fn json_text_of_every_kind() {
    let mut sandbox = sandbox();
    let texts = [
        "",
        " ",
        "\0",
        "null",
        "nul",
        "NaN",
        "-",
        "1e999",
        "-0",
        "1.0",
        "18446744073709551616",
        "1e-400",
        r#""\ud83d""#,
        r#""\ud83d\ude00""#,
        r#""\u0000""#,
        r#"{"a":1,"a":2}"#,
        "\u{feff}{}",
        "[1,]",
        "'x'",
        "{}{}",
        "\u{202e}\u{0}\u{1b}[31m",
        "// c\n1",
    ];
    let numbers = "9".repeat(100_000);
    let flat = format!("[{}0]", "0,".repeat(200_000));
    let keys: String = (0..50_000).map(|key| format!("\"{key}\":{key},")).collect();
    let keys = format!("{{{}}}", keys.trim_end_matches(','));
    for text in texts.into_iter().chain([numbers.as_str(), &flat, &keys]) {
        for (event, field) in with_json_text(text) {
            survives(&mut sandbox, &event, &format!("{field} {:?}", text.chars().take(40).collect::<String>()));
        }
    }
}

#[test]
fn strings_of_every_kind() {
    let mut sandbox = COMPONENT.sandbox("", Limits { memory_bytes: 512 << 20, ..Limits::default() }).unwrap().unwrap();
    let strings = [
        String::new(),
        "\0".repeat(1_000),
        "x".repeat(1 << 20),
        "\u{10ffff}".repeat(1 << 18),
        "a\u{301}".repeat(10_000),
        "\u{202e}\u{2066}\u{feff}\u{1b}[2J\r\n\u{85}\u{2028}".repeat(100),
        "(".repeat(5_000),
        "\n".repeat(100_000),
        "Error: ".repeat(50_000),
        "- item\n".repeat(50_000),
        "/".repeat(100_000),
        "../".repeat(50_000),
        "{\"a\":".repeat(20_000),
        "[".repeat(100_000),
        "\"".repeat(100_001),
        "🙂".repeat(4_095),
    ];
    for string in &strings {
        for mut event in every_type() {
            fill(&mut event, string);
            survives(&mut sandbox, &event, &format!("{:?}…", string.chars().take(12).collect::<String>()));
        }
    }
    sandbox.status(&Scope::default()).unwrap();
    sandbox.metrics().unwrap();
}

#[test]
fn numbers_at_their_limits() {
    let mut sandbox = sandbox();
    for at in [i64::MIN, -253_402_300_799_999, -1, 0, 1, 253_402_300_799_999, i64::MAX] {
        for mut event in every_type() {
            event.context.at = Some(at);
            event.context.step = Some(u64::MAX - 1);
            (event.context.tokens, event.context.cost_micros) = (Some(u64::MAX), Some(u64::MAX));
            match &mut event.body {
                EventBody::ToolResult(result) => result.exit_code = Some(i32::MIN),
                EventBody::Progress(progress) => {
                    let tests = wit::Tests {
                        failing: Some(u32::MAX),
                        total: Some(0),
                        failing_ids: Some(Vec::new()),
                        coverage: Some(f64::NAN),
                    };
                    progress.tests = Some(tests);
                    progress.checklist = Some(wit::Checklist { done: u32::MAX, total: 0 });
                    progress.code_written = Some(wit::Marker::Count(u32::MAX));
                }
                EventBody::Evaluation(evaluation) => evaluation.confidence = Some(u16::MAX),
                EventBody::Collaboration(collaboration) => {
                    collaboration.embedding = Some(vec![f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN, -0.0]);
                }
                EventBody::Turn(turn) => turn.duration_ms = Some(u64::MAX),
                _ => {}
            }
            for _ in 0..3 {
                survives(&mut sandbox, &event, &format!("{:?} at {at}", event.body));
            }
        }
    }
}

#[test]
fn snapshots_of_every_kind() {
    let mut sandbox = sandbox();
    for event in &crate::repeated_call() {
        sandbox.record(event).unwrap().unwrap();
    }
    let snapshot = sandbox.snapshot().unwrap();
    let mut random = Random(0x10_0f_a7_de);
    for length in (0..64).chain([1_000, 65_536]) {
        let bytes: Vec<u8> = (0..length).map(|_| random.byte()).collect();
        sandbox.restore(&bytes).unwrap().ok();
    }
    for length in 0..snapshot.len() {
        sandbox.restore(&snapshot[..length]).unwrap().ok();
    }
    for _ in 0..2_000 {
        let mut bytes = snapshot.clone();
        for _ in 0..=random.byte() % 4 {
            let place = usize::from(random.byte()) << 8 | usize::from(random.byte());
            if let Some(byte) = bytes.get_mut(place % snapshot.len().max(1)) {
                *byte = random.byte();
            }
        }
        sandbox.restore(&bytes).unwrap().ok();
    }
    sandbox.restore(&snapshot).unwrap().unwrap();
    assert_eq!(sandbox.snapshot().unwrap(), snapshot);
}

#[test]
fn configurations_and_decisions_of_every_kind() {
    let nested = |open: &str, close: &str, times: usize| format!("{}a{}", open.repeat(times), close.repeat(times));
    let patterns =
        [(80, "(", ")"), (240, "(", ")"), (120, "(ab|", ")"), (80, "(", "*b)"), (240, "[", "]"), (40, "(?:", "){1,2}")]
            .map(|(times, open, close)| nested(open, close, times))
            .map(|pattern| serde_json::json!({ "patterns": { "volatile": [pattern] } }).to_string());
    let texts = [
        "",
        "\0",
        "{",
        "[]",
        "null",
        "1",
        r#"{"rules":{"cycle":{"nudge":4294967296}}}"#,
        r#"{"patterns":{"volatile":["("]}}"#,
    ]
    .map(str::to_owned)
    .into_iter()
    .chain([nested("[", "]", 1_000), nested(r#"{"rules":"#, "}", 127), "9".repeat(100_000)])
    .chain(patterns);
    for text in texts {
        let shown: String = text.chars().take(60).collect();
        let native = json::detector(&text).err();
        let made = COMPONENT.sandbox(&text, Limits::default()).unwrap_or_else(|trap| panic!("{shown}: {trap:?}"));
        assert_eq!(made.err(), native, "{shown}");
        sandbox().acknowledge(&Scope::default(), &text).unwrap_or_else(|trap| panic!("{shown}: {trap:?}")).ok();
    }
}

/// An event of every type, as small as its type allows.
fn every_type() -> Vec<wit::Event> {
    let lines = [
        r#"{"type":"tool-call","tool":""}"#,
        r#"{"type":"tool-result","outcome":"error","output":""}"#,
        r#"{"type":"message","role":"assistant","text":""}"#,
        r#"{"type":"delta","text":""}"#,
        r#"{"type":"output","text":""}"#,
        r#"{"type":"failure","message":""}"#,
        r#"{"type":"progress"}"#,
        r#"{"type":"evaluation","verdict":"stalled"}"#,
        r#"{"type":"collaboration","from":"","to":"","request":""}"#,
        r#"{"type":"attempt","status":"blocked"}"#,
        r#"{"type":"transition","to":""}"#,
        r#"{"type":"turn","node":""}"#,
        r#"{"type":"delivery","from":"","to":""}"#,
        r#"{"type":"host","kind":"continuation"}"#,
        r#"{"type":"custom","name":"","key":""}"#,
    ];
    lines.iter().map(|line: &&str| -> Event { event(line) }).map(|event| (&event).into()).collect()
}

/// Puts a string into every string field of an event.
fn fill(event: &mut wit::Event, string: &str) {
    let some = || Some(string.to_owned());
    let text = || string.to_owned();
    let wit::Event { body, context } = event;
    (context.run, context.task, context.parent_task, context.agent, context.round) =
        (some(), some(), some(), some(), some());
    context.labels = vec![(text(), text()), (text(), String::new())];
    match body {
        EventBody::ToolCall(call) => {
            (call.tool, call.raw_args, call.call_id, call.target, call.identity) =
                (text(), some(), some(), some(), some());
        }
        EventBody::ToolResult(result) => {
            (result.output, result.call_id, result.tool) = (text(), some(), some());
            (result.digest, result.error_class, result.state) = (some(), some(), some());
        }
        EventBody::Message(message) => (message.text, message.digest) = (text(), some()),
        EventBody::Delta(delta) => delta.text = text(),
        EventBody::Output(output) => output.text = text(),
        EventBody::Failure(failure) => {
            (failure.message, failure.location, failure.stack_trace, failure.source) = (text(), some(), some(), some());
        }
        EventBody::Progress(progress) => {
            (progress.diff, progress.docs, progress.goal) = (some(), some(), some());
            progress.files_created = Some(wit::Marker::Names(vec![text(), text()]));
        }
        EventBody::Evaluation(evaluation) => evaluation.reasoning = some(),
        EventBody::Collaboration(collaboration) => {
            (collaboration.from, collaboration.to, collaboration.request) = (text(), text(), text());
        }
        EventBody::Attempt(attempt) => {
            (attempt.blockers, attempt.completed_work, attempt.session) = (vec![text()], vec![text(), text()], some());
        }
        EventBody::Transition(transition) => (transition.from, transition.to) = (some(), text()),
        EventBody::Turn(turn) => (turn.node, turn.final_message) = (text(), some()),
        EventBody::Delivery(delivery) => (delivery.from, delivery.to, delivery.edge) = (text(), text(), some()),
        EventBody::Host(host) => (host.name, host.detail) = (some(), some()),
        EventBody::Custom(custom) => (custom.name, custom.key, custom.outcome) = (text(), text(), some()),
    }
}

/// A small generator that yields the same bytes on every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next byte, by Steele and Vigna's SplitMix64.
    pub(crate) fn byte(&mut self) -> u8 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 56) as u8
    }

    /// One of at most 256.
    pub(crate) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        *of.get(usize::from(self.byte()) % of.len()).unwrap()
    }
}

/// Runs the inputs of the fuzz target `wit_door` on the component itself: lines that are events are compared with the
/// native library, and all others are used as JSON text in typed events.
#[test]
fn what_the_fuzzer_kept_of_the_typed_door() {
    let folder = "../tests/crashers/wit_door";
    let mut told = 0;
    for input in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(input.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.split('\n');
        let config = lines.next().unwrap_or_default();
        let Ok(mut native) = json::detector(config) else { continue };
        let mut sandbox = COMPONENT.sandbox(config, Limits::default()).unwrap().unwrap();
        for line in lines {
            if line == "!restore" {
                let snapshot = sandbox.snapshot().unwrap();
                sandbox.restore(&snapshot).unwrap().unwrap();
            } else if let Ok(event) = json::event(line) {
                let answer = sandbox.record(&event).unwrap_or_else(|trap| panic!("{line}: {trap:?}"));
                assert_eq!(answer, native.record(&event), "{line}");
                told += 1;
            } else {
                for (event, field) in with_json_text(line) {
                    let mut aside = crate::sandbox();
                    survives(&mut aside, &event, &format!("{field}: {line}"));
                }
            }
        }
        assert_eq!(sandbox.snapshot().unwrap(), native.snapshot());
    }
    assert!(told > 5, "{folder} holds {told} events to tell");
}
