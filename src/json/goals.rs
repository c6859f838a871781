//! What requests are about, for people who wonder why two of them count as the same.

use crate::model::{Body, Error, Event};
use crate::text::{Goal, Kinship, ToolName, goal_words, request_words};
use alloc::{string::String, vec::Vec};
use serde::Serialize;
use serde_json::Value;

/// The maximum number of words to show per request, those with the most weight first.
const TOLD: usize = 12;

/// What a request is about, and how it differs from an earlier one.
#[derive(Serialize)]
struct RequestSummary<'a> {
    /// The words with the most weight.
    about: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<RequestChange<'a>>,
}

#[derive(Serialize)]
struct RequestChange<'a> {
    /// Index of the earlier request that it has most in common with.
    since: usize,
    /// Shared weight as a percentage of both requests together, and of the lighter one.
    alike: u32,
    within: u32,
    /// Words kept, added and dropped.
    kept: Vec<&'a str>,
    added: Vec<&'a str>,
    left: Vec<&'a str>,
    /// How the named objects differ: `none`, `more`, `less`, `other`; `refilled` if both requests fill one template
    /// with something different in one place.
    slot: &'static str,
    /// Whether both count as requests for the same thing.
    shared: bool,
}

struct Request {
    goal: Goal,
    words: Vec<(u32, String)>,
}

impl Request {
    fn of(event: &Event) -> Option<Self> {
        let (goal, words) = match &event.body {
            Body::ToolCall(call) => request_words(call, &ToolName::of(&call.tool))?,
            Body::Message(message) => (Goal::of(&message.text), goal_words(&message.text)),
            _ => return None,
        };
        (goal.weight() != 0).then_some(Self { goal, words })
    }

    /// The words of these hashes, those with the most weight first and otherwise in the order of the text.
    fn told(&self, mut parts: Vec<(u32, u32)>) -> Vec<&str> {
        parts.sort_by_key(|(_, weight)| core::cmp::Reverse(*weight));
        let word =
            |(hash, _): (u32, u32)| self.words.iter().find(|(known, _)| known & !3 == hash).map(|(_, text)| &**text);
        parts.into_iter().filter_map(word).take(TOLD).collect()
    }

    fn moved<'a>(&'a self, since: usize, before: &'a Self, kinship: &Kinship) -> RequestChange<'a> {
        let (kept, added) = (self.goal.parts_in(&before.goal, true), self.goal.parts_in(&before.goal, false));
        let left = before.goal.parts_in(&self.goal, false);
        let slot = match kinship {
            Kinship { refilled: true, .. } => "refilled",
            Kinship { plus: true, minus: true, .. } => "other",
            Kinship { plus: true, .. } => "more",
            Kinship { minus: true, .. } => "less",
            _ => "none",
        };
        RequestChange {
            since,
            alike: kinship.alike,
            within: kinship.within,
            kept: self.told(kept),
            added: self.told(added),
            left: before.told(left),
            slot,
            shared: Goal::shares(kinship) && slot != "refilled" && slot != "other",
        }
    }
}

/// Analyses the requests among `events` (JSON text: a list of calls and messages, oldest first): what each is about,
/// what it has kept, and what has changed since the earlier request that it has most in common with. Returns JSON text
/// with one entry per event; `null` for an event that makes no request in words.
///
/// # Errors
/// The same as [`event`](super::event), with the index in the list as prefix of the field.
pub fn goals(events: &str) -> Result<String, Error> {
    let Value::Array(events) = super::value(events)? else {
        return Err(super::no_list());
    };
    let mut requests: Vec<Option<Request>> = Vec::with_capacity(events.len());
    for (index, event) in events.into_iter().enumerate() {
        let event = super::trace_event_from(event, &alloc::format!("[{index}]."))?.event;
        requests.push(Request::of(&event));
    }
    let told = requests.iter().enumerate().map(|(index, request)| {
        let request = request.as_ref()?;
        let earlier = requests.iter().take(index).enumerate().filter_map(|(at, before)| {
            let before = before.as_ref()?;
            Some((at, before, request.goal.kinship(&before.goal)))
        });
        // Of equally close ones, the latest.
        let nearest = earlier.max_by_key(|(_, _, kinship)| kinship.alike);
        let moved = nearest.map(|(since, before, kinship)| request.moved(since, before, &kinship));
        Some(RequestSummary { about: request.told(request.goal.parts().collect()), moved })
    });
    Ok(super::to_string(&told.collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::goals;
    use alloc::{string::ToString, vec::Vec};
    use serde_json::{Value, from_str, json};

    fn told(texts: &[&str]) -> Vec<Value> {
        let events = texts
            .iter()
            .map(|text| json!({"type": "tool-call", "tool": "ask_expert", "args": {"question": text, "to": "ana"}}));
        from_str(&goals(&Value::from_iter(events).to_string()).unwrap()).unwrap()
    }

    #[test]
    fn a_fixed_object_in_other_words() {
        let told = told(&[
            "Find out on the official website of the Aldgate Observatory when it was founded.",
            "Please visit the Aldgate Observatory website and tell me its founding year, officially.",
        ]);
        assert!(told[0]["moved"].is_null());
        let moved = &told[1]["moved"];
        assert_eq!(
            (moved["since"].as_u64(), moved["slot"].as_str(), moved["shared"].as_bool()),
            (Some(0), Some("none"), Some(true))
        );
        let kept = moved["kept"].as_array().unwrap();
        for word in ["Aldgate", "Observatory", "website", "to=ana"] {
            assert!(kept.contains(&word.into()), "{word}: {moved}");
        }
        assert!(moved["added"].as_array().unwrap().contains(&"visit".into()), "{moved}");
    }

    #[test]
    fn a_slot_that_moves() {
        let told = told(&[
            "Who composed the music of the film Solaris in 1972?",
            "Who composed the music of the film Stalker in 1979?",
        ]);
        let moved = &told[1]["moved"];
        assert_eq!(moved["shared"], false);
        assert!(
            moved["added"].to_string().contains("Stalker") && moved["left"].to_string().contains("Solaris"),
            "{moved}"
        );
    }

    #[test]
    fn what_asks_nothing() {
        let events = json!([
            {"type": "tool-call", "tool": "read_file", "args": {"path": "a.rs"}},
            {"type": "tool-result", "outcome": "ok", "output": "x"},
            {"type": "message", "role": "assistant", "text": "I will look at the harbour plans now."},
        ]);
        let told: Vec<Value> = from_str(&goals(&events.to_string()).unwrap()).unwrap();
        assert!(told[0].is_null() && told[1].is_null());
        assert!(told[2]["about"].to_string().contains("harbour"));
        assert_eq!(goals("{}").unwrap_err().message, "expected a list of events");
        assert_eq!(goals(r#"[{"type":"tool-call"}]"#).unwrap_err().field.as_deref(), Some("[0].tool"));
    }
}
