use super::out::Out;
use super::pieces::Piece;
use super::{Reads, Transcript};
use crate::{
    json,
    model::{Error, ErrorCode},
};

/// One event a line, or a list of events; or one scenario, in a line or several.
#[derive(Default)]
pub(super) struct Reader {
    /// Whether an object was read: only the first may be a scenario.
    begun: bool,
    /// Whether it was one. A second scenario is told of once, and nothing after it is read.
    scenario: Option<Second>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Second {
    Unseen,
    Seen,
}

impl Reads for Reader {
    fn document(&mut self, out: &mut Out, document: Piece<'_>) {
        let transcript = &mut out.transcript;
        match self.scenario {
            Some(Second::Seen) => return,
            Some(Second::Unseen) => {
                let message = "a second scenario: only a file with one scenario can be replayed, use `eval` for more";
                transcript.fail(document.line, Error::new(ErrorCode::InvalidEvent, message));
                self.scenario = Some(Second::Seen);
                return;
            }
            None => {}
        }
        if document.is_list() {
            let inside = document.inside();
            for (_, piece) in &inside.pieces {
                event(transcript, *piece);
            }
            if !inside.closed {
                let error = Error::new(ErrorCode::InvalidJson, "the text ends before the list does");
                transcript.fail(document.line, error);
            }
            return;
        }
        if !core::mem::replace(&mut self.begun, true) && document.object().is_ok_and(|map| map.contains_key("events")) {
            self.scenario = Some(Second::Unseen);
            match json::scenario(document.text) {
                Ok(scenario) => {
                    let events = document.inside().pieces.into_iter().rfind(|(key, _)| *key == "events");
                    let mut lines = events.map(|(_, list)| list.inside().pieces).unwrap_or_default().into_iter();
                    for event in scenario.events {
                        let line = lines.next().map_or(document.line, |(_, piece)| piece.line);
                        transcript.push(line, event);
                    }
                }
                Err(error) => transcript.fail(document.line, error),
            }
            return;
        }
        event(transcript, document);
    }
}

fn event(transcript: &mut Transcript, piece: Piece<'_>) {
    match json::trace_event(piece.text) {
        Ok(event) => transcript.push(piece.line, event),
        Err(error) => transcript.fail(piece.line, error),
    }
}
