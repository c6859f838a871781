use super::{Transcript, object};
use crate::{
    json,
    model::{Error, ErrorCode},
};

/// One event a line; or one scenario, whose events all come from its line.
pub(super) fn read<'a>(mut lines: impl Iterator<Item = (u32, &'a str)>, mut transcript: Transcript) -> Transcript {
    let mut first = true;
    while let Some((number, line)) = lines.next() {
        if core::mem::take(&mut first) && object(line).is_ok_and(|map| map.contains_key("events")) {
            match json::scenario(line) {
                Ok(scenario) => {
                    for event in scenario.events {
                        transcript.push(number, event);
                    }
                }
                Err(error) => transcript.fail(number, error),
            }
            if let Some((number, _)) = lines.next() {
                let message = "a second scenario: only a file with one scenario can be replayed, use `eval` for more";
                transcript.fail(number, Error::new(ErrorCode::InvalidEvent, message));
            }
            break;
        }
        match json::trace_event(line) {
            Ok(event) => transcript.push(number, event),
            Err(error) => transcript.fail(number, error),
        }
    }
    transcript
}
