use super::Transcript;
use super::pieces::Piece;
use crate::{
    json,
    model::{Error, ErrorCode},
};

/// One event a line, or a list of events; or one scenario, in a line or several.
pub(super) fn read(documents: &[Piece<'_>], mut transcript: Transcript) -> Transcript {
    let mut documents = documents.iter();
    let mut first = true;
    while let Some(document) = documents.next() {
        if document.is_list() {
            let inside = document.inside();
            for (_, piece) in &inside.pieces {
                event(&mut transcript, *piece);
            }
            if !inside.closed {
                transcript
                    .fail(document.line, Error::new(ErrorCode::InvalidJson, "the text ends before the list does"));
            }
            continue;
        }
        if core::mem::take(&mut first) && document.object().is_ok_and(|map| map.contains_key("events")) {
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
            if let Some(second) = documents.next() {
                let message = "a second scenario: only a file with one scenario can be replayed, use `eval` for more";
                transcript.fail(second.line, Error::new(ErrorCode::InvalidEvent, message));
            }
            break;
        }
        event(&mut transcript, *document);
    }
    transcript
}

fn event(transcript: &mut Transcript, piece: Piece<'_>) {
    match json::trace_event(piece.text) {
        Ok(event) => transcript.push(piece.line, event),
        Err(error) => transcript.fail(piece.line, error),
    }
}
