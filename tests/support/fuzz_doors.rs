//! The differential fuzz target of the doors, run over its kept inputs by the crate's own tests, as JavaScript's fast
//! door is not public.

use loopwarden::wire::{Scratch, write::message};
use loopwarden::{Detector, json};
use serde_json::Value;
// Not in scope in the crate's own tests.
#[allow(unused_imports, reason = "there by themselves everywhere but in a crate without std")]
use std::string::String;

/// Three detectors with one configuration, the first line. Each later line that is an event goes to one as a value, to
/// one as text and to one as fields in a buffer, as JavaScript writes them; `!restore` restores each from its own
/// snapshot. All three must agree. Any other line is used as the bytes of the buffer.
pub(crate) fn doors(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let config = String::from_utf8_lossy(lines.next().unwrap_or_default());
    let Ok(mut typed) = json::detector(&config) else { return };
    let (mut told, mut fast) = (typed.clone(), typed.clone());
    let mut scratch = Scratch::default();
    for line in lines.take(256) {
        if line == b"!restore" {
            for detector in [&mut typed, &mut told, &mut fast] {
                *detector = Detector::restore(&detector.snapshot()).unwrap_or_else(|error| broken(&error));
            }
            continue;
        }
        let text = String::from_utf8_lossy(line);
        let Ok(event) = json::event(&text) else {
            bytes(&mut scratch, line, [&mut typed, &mut told, &mut fast]);
            continue;
        };
        // A duplicate field is rejected by the text reader, but merged by this one.
        let written = serde_json::from_str::<Value>(&text).ok().and_then(|value| message(&value));
        let verdict = typed.record(&event).map(|verdict| json::to_string(&verdict));
        assert_eq!(json::record(&mut told, &text), verdict, "{text}");
        let read = written.as_deref().and_then(|written| scratch.read(written));
        if let Some(read) = read {
            assert_eq!(json::to_string(read), json::to_string(&event), "{text}");
        }
        assert_eq!(fast.record(read.unwrap_or(&event)).map(|verdict| json::to_string(&verdict)), verdict, "{text}");
    }
    let snapshot = typed.snapshot();
    assert!(told.snapshot() == snapshot && fast.snapshot() == snapshot, "what they know differs");
    assert!(told.metrics() == typed.metrics() && fast.metrics() == typed.metrics(), "what they counted differs");
}

/// Whatever the bytes of a message are, an event read from them is one that the other doors accept too.
fn bytes(scratch: &mut Scratch, line: &[u8], [typed, told, fast]: [&mut Detector; 3]) {
    let Some(event) = scratch.read(line) else { return };
    assert_eq!(Scratch::default().read(line), Some(event), "the event before it shows");
    let text = json::to_string(event);
    let verdict = fast.record(event).map(|verdict| json::to_string(&verdict));
    assert_eq!(json::record(told, &text), verdict, "{text}");
    assert_eq!(typed.record(event).map(|verdict| json::to_string(&verdict)), verdict, "{text}");
}

/// Something built from valid parts was rejected.
#[allow(clippy::panic, reason = "how a fuzz target says that something broke")]
fn broken(error: &loopwarden::model::Error) -> ! {
    panic!("{error}")
}
