//! Streams as a host sees them: deltas go in, a verdict and the place to cut come out.

use loopwarden::model::{
    Body, Channel, Context, Delta, Event, Finding, HaltReason, Level, Message, Role, Scope, Verdict,
};
use loopwarden::{Detector, json};
use proptest::prelude::*;

fn delta(text: &str) -> Event {
    Event { body: Body::Delta(Delta { channel: None, text: text.into() }), context: Context::default() }
}

fn says(text: &str) -> Event {
    let message = Message { role: Role::Assistant, channel: Some(Channel::Text), text: text.into(), digest: None };
    Event { body: Body::Message(message), context: Context::default() }
}

fn play(events: impl IntoIterator<Item = Event>) -> Vec<Verdict> {
    let mut detector = json::detector("{}").unwrap();
    events.into_iter().map(|event| detector.record(&event).unwrap()).collect()
}

/// The text in pieces, cycling through the given sizes in characters.
fn pieces(text: &str, sizes: &[usize]) -> Vec<Event> {
    let characters: Vec<char> = text.chars().collect();
    let mut rest = characters.as_slice();
    let mut pieces = Vec::new();
    for size in sizes.iter().cycle().take_while(|size| **size > 0) {
        if rest.is_empty() {
            break;
        }
        let (piece, others) = rest.split_at((*size).min(rest.len()));
        pieces.push(delta(&piece.iter().collect::<String>()));
        rest = others;
    }
    pieces
}

fn of<'a>(verdicts: &'a [Verdict], rule: &str) -> Vec<&'a Finding> {
    verdicts
        .iter()
        .flat_map(|verdict| &verdict.findings)
        .map(|finding| &**finding)
        .filter(|finding| finding.rule == rule)
        .collect()
}

#[test]
fn a_host_may_cut_where_the_finding_says() {
    let (said, again) = ("The first three beds are done:\n", "Now the fourth bed is being watered. ");
    let text = format!("{said}{}", again.repeat(80));
    let verdicts = play([says("Earlier, something else.")].into_iter().chain(pieces(&text, &[13])));
    let (at, blocked) = verdicts.iter().enumerate().find(|(_, verdict)| verdict.level == Level::Block).unwrap();
    let finding = of(std::slice::from_ref(blocked), "stream-period")[0];
    assert_eq!(finding.onset_seq, 1, "the stream began with the first delta");
    let cut: String = text.chars().take(usize::try_from(finding.onset_offset.unwrap()).unwrap()).collect();
    assert_eq!(cut, format!("{said}{again}"));
    assert!(at * 13 < said.len() + 960 + 26, "not a moment too late: {at}");
    let halted = verdicts.last().unwrap();
    assert_eq!((halted.level, halted.halt_reason), (Level::Halt, Some(HaltReason::Stalled)));
    let text = json::to_string(finding);
    assert!(text.contains(r#""onsetOffset":"#) && !text.contains("watered"), "no payload: {text}");
    assert!(blocked.guidance.as_deref().unwrap().contains("37 characters"), "{:?}", blocked.guidance);
}

#[test]
fn only_text_has_an_offset() {
    let call = json::event(r#"{"type":"tool-call","tool":"read","args":{"path":"a"}}"#).unwrap();
    let result = json::event(r#"{"type":"tool-result","tool":"read","outcome":"ok","output":"x"}"#).unwrap();
    let verdicts = play([&call, &result, &call, &result, &call, &result].into_iter().cloned());
    assert!(!json::to_string(verdicts.last().unwrap()).contains("onsetOffset"));
}

#[test]
fn a_snapshot_in_the_middle_of_a_stream_changes_nothing() {
    let text = format!("{}{}", "one ".repeat(100), "温室の苗床に水をやる。".repeat(90));
    let events = pieces(&text, &[7, 3, 19]);
    let expected = play(events.clone());
    let mut detector = json::detector("{}").unwrap();
    for (index, event) in events.iter().enumerate() {
        if index % 17 == 0 {
            detector = Detector::restore(&detector.snapshot()).unwrap();
        }
        assert_eq!(detector.check(event).unwrap(), expected[index]);
        assert_eq!(detector.record(event).unwrap(), expected[index]);
    }
}

#[test]
fn a_text_whose_turn_is_over_is_kept_as_a_digest() {
    let call = json::event(r#"{"type": "tool-call", "tool": "water", "args": {"bed": 4}}"#).unwrap();
    let text = format!("The beds are done: {}", "now the fourth bed is being watered. ".repeat(80));
    for sizes in [&[7_usize][..], &[900], &[1, 4000]] {
        let mut detector = json::detector("{}").unwrap();
        for event in pieces(&text, sizes) {
            detector.record(&event).unwrap();
        }
        let holds = |bytes: &[u8]| bytes.windows(22).any(|part| part == b"bed is being watered. ");
        let open = detector.snapshot();
        detector.record(&call).unwrap();
        let over = detector.snapshot();
        assert!(holds(&open) && !holds(&over) && over.len() + 3000 < open.len(), "{} and {}", open.len(), over.len());
        // The complete message is the text that was streamed, and not another one that goes round in circles.
        for mut detector in [Detector::restore(&over).unwrap(), detector] {
            let verdict = detector.record(&says(&text)).unwrap();
            let finding = of(std::slice::from_ref(&verdict), "stream-period")[0].clone();
            assert_eq!(finding.onset_seq, 0, "{sizes:?}");
            let verdict = detector.record(&says(&format!("{text}!"))).unwrap();
            assert!(of(std::slice::from_ref(&verdict), "stream-period")[0].onset_seq > 0, "{sizes:?}");
        }
    }
}

#[test]
fn the_state_is_small_and_the_status_tells_where_it_stands() {
    let mut detector = json::detector("{}").unwrap();
    let empty = detector.snapshot().len();
    let mut number = 1_u64;
    for index in 0..4000_u32 {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let word: String =
            (0..6).filter_map(|place| char::from_u32(0x4e00 + (number >> (place * 9)) as u32 % 5000)).collect();
        let agent = ["a", "b", "c"][index as usize % 3];
        let mut event = delta(&format!("{word} x{number} "));
        event.context.agent = Some(agent.into());
        detector.record(&event).unwrap();
        let mut message = says(&format!("{word} is what I say as number {number} of all"));
        message.context.agent = Some("talker".into());
        detector.record(&message).unwrap();
    }
    let size = detector.snapshot().len() - empty;
    assert!((12 * 1024..=20 * 1024).contains(&size), "{size} bytes");
    let mut detector = json::detector("{}").unwrap();
    pieces(&"I am done. ".repeat(30), &[11]).iter().for_each(|event| drop(detector.record(event).unwrap()));
    assert!(detector.status(&Scope::default()).rules.iter().all(|rule| rule.rule != "stream-period"), "not yet");
    pieces(&"I am done. ".repeat(30), &[11]).iter().for_each(|event| drop(detector.record(event).unwrap()));
    let status = detector.status(&Scope::default());
    let standing = status.rules.iter().find(|rule| rule.rule == "stream-period").unwrap();
    assert_eq!((standing.count, standing.next_level), (660, Some(Level::Block)));
}

#[test]
fn a_hostile_snapshot_is_refused_or_harmless() {
    let mut detector = json::detector("{}").unwrap();
    pieces(&"I am done. ".repeat(60), &[11]).iter().for_each(|event| drop(detector.record(event).unwrap()));
    let bytes = detector.snapshot();
    let more = pieces(&"I am done. ".repeat(20), &[5]);
    for index in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[index] ^= flip;
            if let Ok(mut restored) = Detector::restore(&damaged) {
                more.iter().for_each(|event| drop(restored.record(event).unwrap()));
            }
        }
        if index > 4000 {
            break;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_comes_to_the_same(
        parts in prop::collection::vec(("[a-f .,\n]{1,90}|[温室の苗床に水をやる。🌱]{1,60}|```\n|\\| a \\|\n", 1..70usize), 1..5),
        sizes in prop::collection::vec(1..400usize, 1..12),
    ) {
        let text: String = parts.iter().map(|(unit, times)| unit.repeat(*times)).collect();
        let whole = play([delta(&text)]);
        let split = play(pieces(&text, &sizes));
        for rule in ["stream-period", "stream-novelty"] {
            let peak = |verdicts: &[Verdict]| {
                let found = of(verdicts, rule);
                (found.iter().map(|finding| finding.level).max(), found.iter().map(|finding| finding.count).max())
            };
            prop_assert_eq!(peak(&whole), peak(&split), "{}", rule);
        }
        let level = |verdicts: &[Verdict]| verdicts.iter().map(|verdict| verdict.level).max();
        prop_assert_eq!(level(&whole), level(&split));
    }
}
