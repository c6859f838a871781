//! The properties that the fuzz targets check on arbitrary bytes. `tests/it/crashers.rs` runs the same functions over
//! every input that ever failed, so that fixed crashes stay fixed.

use loopwarden::model::{Config, Scope, Verdict};
use loopwarden::transcript::{Format, read};
use loopwarden::{Detector, json};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes of magic, format and rules version in a snapshot; the checksum and the payload follow.
const PREFIX: usize = 4 + 1 + 4;
const CHECKSUM: usize = 8;

/// The JSON door. The first line is a configuration and every other line an event, or an operation if it begins with
/// `!`: `!reset manual`, `!acknowledge {…}`, `!status {…}`, `!report {…}`, `!restore`.
pub(crate) fn json_door(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let Ok(mut detector) = json::detector(lines.next().unwrap_or_default()) else { return };
    for line in lines.take(256) {
        if let Some(operation) = line.strip_prefix('!') {
            operate(&mut detector, operation);
            continue;
        }
        let before = detector.snapshot();
        let checked = json::check(&detector, line);
        let recorded = json::record(&mut detector, line);
        assert_eq!(checked, recorded, "check and record differ about {line}");
        match json::event(line) {
            // A well-formed event can still be rejected.
            Ok(event) => assert_eq!(json::to_string(&event), json::to_string(&reread(&json::to_string(&event)))),
            Err(_) => assert!(recorded.is_err(), "recorded what is no event: {line}"),
        }
        if recorded.is_err() {
            assert_eq!(detector.snapshot(), before, "a refused event changed the state: {line}");
        }
    }
    keeps_working(detector);
}

/// Snapshots: the bytes as they are, and the payload again with a valid header and checksum.
pub(crate) fn snapshot(data: &[u8]) {
    let payload = data.get(PREFIX + CHECKSUM..).unwrap_or_default();
    for bytes in [data, &sealed(payload)] {
        if let Ok(detector) = Detector::restore(bytes) {
            keeps_working(detector);
        }
    }
}

/// The text scanners, through every kind of event with text. The first byte chooses the kind, the second how often the
/// text is repeated within the event: anything superlinear in the length would time out.
pub(crate) fn text(data: &[u8]) {
    let [kind, times, rest @ ..] = data else { return };
    let text = String::from_utf8_lossy(rest).repeat(usize::from(times % 64) + 1);
    let quoted = json::to_string(&text);
    let events: &[String] = &match kind % 8 {
        0 => vec![format!(r#"{{"type":"output","text":{quoted}}}"#)],
        1 => vec![format!(r#"{{"type":"message","role":"assistant","text":{quoted}}}"#)],
        2 => vec![format!(r#"{{"type":"delta","text":{quoted}}}"#)],
        3 => vec![format!(r#"{{"type":"failure","message":{quoted},"stackTrace":{quoted}}}"#)],
        4 => vec![format!(r#"{{"type":"progress","diff":{quoted},"docs":{quoted}}}"#)],
        5 => call_and_result(&format!(r#""rawArgs":{quoted}"#), "error", &quoted),
        6 => call_and_result(&format!(r#""args":{{"command":{quoted}}}"#), "ok", &quoted),
        _ => call_and_result(&format!(r#""args":{{"path":{quoted},"query":{quoted}}}"#), "invalid", &quoted),
    };
    let mut detector = json::detector("").unwrap_or_else(|error| broken(&error));
    for _ in 0..4 {
        for event in events {
            let event = json::event(event).unwrap_or_else(|error| broken(&error));
            let verdict = detector.record(&event).unwrap_or_else(|error| broken(&error));
            safe_to_show(&verdict);
        }
    }
}

/// Recorded runs: the text read as every format. Every event and error has a line, and the detector accepts each event
/// or says why not.
pub(crate) fn transcript(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let last = text.split('\n').count();
    for format in Format::ALL.map(Some).into_iter().chain([None]) {
        let transcript = read(&text, format);
        assert_eq!(transcript.events.len(), transcript.lines.len());
        let lines = transcript.lines.iter().copied().chain(transcript.errors.iter().map(|found| found.line));
        assert!(lines.into_iter().all(|line| (1..=last).contains(&(line as usize))), "a line that is none: {format:?}");
        let mut detector = json::detector("").unwrap_or_else(|error| broken(&error));
        for event in &transcript.events {
            // The JSON door reads what it wrote; the detector may still reject it, for example for its depth.
            reread(&json::to_string(&event.event));
            let _ = detector.record(&event.event);
        }
    }
}

/// Sequences of events, four bytes each, over few names, ids, rounds and times, so that they collide. One detector,
/// which keeps two runs, gets typed events; another gets the same as text through the JSON door, restored from its own
/// snapshot wherever the bytes say so. Both must agree. With a byte left over, there are many runs instead, which get
/// evicted for lack of memory. Returns the number of runs evicted.
pub(crate) fn sequence(data: &[u8]) -> u64 {
    let crowd = data.len() % 4 == 1;
    let config = if crowd {
        r#"{"memory":{"maxRuns":4096,"maxBytes":1048576}}"#
    } else {
        r#"{"memory":{"maxRuns":2,"idleMs":60000},"patterns":{"volatile":["(?s)v.*w|v"]}}"#
    };
    let new = || json::detector(config).unwrap_or_else(|error| broken(&error));
    let (mut typed, mut told) = (new(), new());
    for bytes in data.chunks_exact(4).take(512) {
        let &[kind, what, place, id] = bytes else { continue };
        if kind % 16 == 15 {
            let snapshot = told.snapshot();
            assert_eq!(typed.snapshot(), snapshot);
            told = Detector::restore(&snapshot).unwrap_or_else(|error| broken(&error));
            continue;
        }
        let run = if crowd { format!("run-{}-{id}", place >> 6) } else { format!("run-{}", place >> 6) };
        let text = moment(&run, kind, what, place, id);
        let event = reread(&text);
        let recorded = typed.record(&event).map(|verdict| json::to_string(&verdict));
        assert_eq!(recorded, json::record(&mut told, &text), "{text}");
    }
    assert_eq!(typed.snapshot(), told.snapshot());
    assert_eq!(typed.metrics(), told.metrics());
    let given_up = told.metrics().runs_evicted;
    keeps_working(told);
    given_up
}

/// One event of a sequence.
fn moment(run: &str, kind: u8, what: u8, place: u8, id: u8) -> String {
    let mut fields = String::new();
    for (bit, field, value) in [
        (1, "run", format!("\"{run}\"")),
        (2, "agent", format!("\"agent-{}\"", place >> 7)),
        (4, "round", format!("\"{}\"", what >> 5)),
        (8, "step", format!("{}", what >> 4)),
        (16, "at", format!("{}", u32::from(id) * 977)),
        (32, "task", format!("\"task-{}\"", what & 3)),
    ] {
        if place & bit != 0 {
            fields += &format!(r#","{field}":{value}"#);
        }
    }
    let id = match id % 4 {
        0 => String::new(),
        1 => r#","callId":"""#.to_owned(),
        2 => format!(r#","callId":"{}""#, id >> 5),
        _ => format!(r#","callId":"call_7Kq2x{}Zt9Lm4""#, id >> 5),
    };
    let (thing, outcome) = (what & 7, ["ok", "error", "denied", "invalid", "not-executed", "timeout"]);
    match kind % 16 {
        0..=3 => {
            format!(r#"{{"type":"tool-call","tool":"tool-{}","args":{{"path":"p{thing}"}}{id}{fields}}}"#, thing & 1)
        }
        4..=8 => {
            let outcome = outcome.get(usize::from(what >> 3) % 6).unwrap_or(&"ok");
            let output = format!("answer {thing} vvvv");
            format!(r#"{{"type":"tool-result","outcome":"{outcome}","output":"{output}"{id}{fields}}}"#)
        }
        9 => format!(r#"{{"type":"message","role":"assistant","text":"thought {thing} of many more"{fields}}}"#),
        10 => format!(r#"{{"type":"message","role":"user","text":"wish {thing}"{fields}}}"#),
        11 => format!(r#"{{"type":"output","text":"said {thing} again"{fields}}}"#),
        12 => format!(r#"{{"type":"failure","message":"failed {thing}"{fields}}}"#),
        13 => {
            let kind =
                ["resume", "restart", "run-start", "compaction"].get(usize::from(what >> 6)).unwrap_or(&"resume");
            format!(r#"{{"type":"host","kind":"{kind}"{fields}}}"#)
        }
        _ => format!(r#"{{"type":"progress","tests":{{"failing":{thing},"total":9}}{fields}}}"#),
    }
}

/// A payload with a valid header and checksum.
fn sealed(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Detector::new(Config::default()).map(|detector| detector.snapshot()).unwrap_or_default();
    bytes.truncate(PREFIX);
    let format = bytes.get(4).copied().unwrap_or_default();
    bytes.extend(xxh3_64_with_seed(payload, u64::from(format)).to_le_bytes());
    bytes.extend(payload);
    bytes
}

/// Whatever its state, a detector gives answers, and its snapshot round-trips.
fn keeps_working(mut detector: Detector) {
    let scope = Scope::default();
    for event in call_and_result(r#""args":{"path":"a.rs"}"#, "error", r#""no such file""#) {
        let event = json::event(&event).unwrap_or_else(|error| broken(&error));
        let checked = detector.check(&event);
        let recorded = detector.record(&event);
        assert_eq!(checked, recorded);
        safe_to_show(&recorded.unwrap_or_else(|error| broken(&error)));
    }
    let snapshot = detector.snapshot();
    let restored = Detector::restore(&snapshot).unwrap_or_else(|error| broken(&error));
    assert_eq!(restored.snapshot(), snapshot);
    assert_eq!(restored.status(&scope), detector.status(&scope));
    assert_eq!(restored.report(&scope), detector.report(&scope));
    assert_eq!(restored.report_markdown(&scope), detector.report_markdown(&scope));
    assert_eq!(restored.metrics(), detector.metrics());
}

fn operate(detector: &mut Detector, operation: &str) {
    let (name, rest) = operation.split_once(' ').unwrap_or((operation, ""));
    let before = detector.snapshot();
    let refused = match name {
        "reset" => json::reset(detector, "", rest).is_err(),
        "acknowledge" => json::acknowledge(detector, "", rest).is_err(),
        "status" => json::status(detector, rest).map(|_| true).unwrap_or(true),
        "report" => {
            let reports = ["json", "markdown"].map(|format| json::report(detector, rest, format));
            assert!(reports.iter().all(Result::is_ok) || reports.iter().all(Result::is_err));
            true
        }
        "restore" => {
            *detector = Detector::restore(&before).unwrap_or_else(|error| broken(&error));
            true
        }
        _ => true,
    };
    if refused {
        assert_eq!(detector.snapshot(), before, "`{name}` changed the state");
    }
}

fn call_and_result(args: &str, outcome: &str, output: &str) -> Vec<String> {
    vec![
        format!(r#"{{"type":"tool-call","tool":"run",{args}}}"#),
        format!(r#"{{"type":"tool-result","tool":"run","outcome":"{outcome}","output":{output}}}"#),
    ]
}

fn reread(text: &str) -> loopwarden::model::Event {
    json::event(text).unwrap_or_else(|error| broken(&error))
}

/// Text that a host may show to an agent or write to a log has no control characters.
fn safe_to_show(verdict: &Verdict) {
    let lines = verdict.guidance.iter();
    assert!(lines.flat_map(|text| text.chars()).all(|c| c == '\n' || !c.is_control()), "{verdict:?}");
    for finding in &verdict.findings {
        assert!(finding.signature.chars().chain(finding.message.chars()).all(|c| !c.is_control()), "{finding:?}");
    }
}

/// Something built from valid parts was rejected.
#[allow(clippy::panic, reason = "how a fuzz target says that something broke")]
fn broken(error: &loopwarden::model::Error) -> ! {
    panic!("{error}")
}
