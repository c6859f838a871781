use super::write::{OUTCOMES, TYPES, message};
use super::{KINDS, Scratch, field, tag};
use crate::json;
use alloc::{format, string::String, vec, vec::Vec};
use proptest::prelude::*;
use serde_json::{Value, json as value};

/// Asserts that the binary encoding and JSON text give the same event.
fn same(scratch: &mut Scratch, event: &Value) {
    let written = format!("{event}");
    assert_eq!(scratch.read(&message(event).unwrap()), Some(&json::event(&written).unwrap()), "{written}");
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z]{1,6}", "\\PC{0,20}", Just("\u{0}\u{fffd}\u{1f600}\n\"\\".into())]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1000..1000_i64).prop_map(Value::from),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[abc]{1,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_event() -> impl Strategy<Value = Value> {
    let mandatory = (0..KINDS, any_text(), any_text(), 0..7_usize, any_json());
    let optional = (
        prop::collection::vec(any_text(), 16),
        any::<u32>(),
        any_json(),
        -(1_i64 << 52)..1_i64 << 52,
        any::<bool>(),
        any::<i32>(),
    );
    (mandatory, optional).prop_map(|((kind, name, words, case, free), (texts, some, more, number, flag, code))| {
        let role = ["assistant", "user", "system"][case % 3];
        let mut event = match kind {
            0 => value!({"tool": name}),
            1 => value!({"outcome": (OUTCOMES[case]), "output": free}),
            3 => value!({"role": role, "text": words}),
            _ => value!({"text": words}),
        };
        event["type"] = TYPES[kind].into();
        let channel = Value::from(["text", "reasoning"][case % 2]);
        let optional: Vec<(&str, Value)> = match kind {
            0 => vec![
                ("args", more),
                ("rawArgs", texts[5].clone().into()),
                ("callId", texts[6].clone().into()),
                ("target", texts[7].clone().into()),
                ("identity", texts[8].clone().into()),
                ("readOnly", flag.into()),
                ("idempotent", (!flag).into()),
            ],
            1 => vec![
                ("callId", texts[5].clone().into()),
                ("tool", texts[6].clone().into()),
                ("digest", texts[7].clone().into()),
                ("exitCode", code.into()),
                ("errorClass", texts[8].clone().into()),
                ("details", more),
                ("state", texts[9].clone().into()),
            ],
            2 => vec![("channel", channel)],
            3 => vec![("channel", channel), ("digest", texts[5].clone().into())],
            _ => vec![],
        };
        let common = [
            ("run", texts[0].clone().into()),
            ("task", texts[1].clone().into()),
            ("parentTask", texts[2].clone().into()),
            ("agent", texts[3].clone().into()),
            ("round", texts[4].clone().into()),
            ("at", number.into()),
            ("step", number.abs().into()),
            ("synthetic", flag.into()),
            ("tokens", (number.abs() / 7).into()),
            ("costMicros", (number.abs() / 3).into()),
        ];
        for (bit, (key, value)) in optional.into_iter().chain(common).enumerate() {
            if some & (1 << bit) != 0 {
                event[key] = value;
            }
        }
        event
    })
}

proptest! {
    /// Decoded one after the other into the same memory: nothing of one event is left in the next.
    #[test]
    fn both_ways_give_the_same_events(events in prop::collection::vec(any_event(), 1..12)) {
        let mut scratch = Scratch::default();
        for event in &events {
            same(&mut scratch, event);
        }
    }

    #[test]
    fn any_bytes_are_an_event_or_none(bytes in prop::collection::vec(prop_oneof![0..30_u8, any::<u8>()], 0..80)) {
        let mut scratch = Scratch::default();
        let _ = scratch.read(&bytes);
    }

    #[test]
    fn a_message_cut_off_is_no_other_event(event in any_event(), at in any::<prop::sample::Index>()) {
        let whole = message(&event).unwrap();
        let cut = at.index(whole.len());
        let mut scratch = Scratch::default();
        if let Some(read) = scratch.read(&whole[..cut]) {
            // Only optional fields may be missing.
            prop_assert_eq!(read.body.name(), event["type"].as_str().unwrap());
        }
    }
}

#[test]
fn what_is_left_of_the_last_event_goes() {
    let mut scratch = Scratch::default();
    for args in [
        value!({"a": {"b": 1, "c": [1, 2, {"d": "x"}]}, "e": "y"}),
        value!({"a": {"b": 2, "c": [3]}, "e": "z"}),
        value!({"a": {"c": [{"f": 1}, 2, 3, 4]}, "g": null}),
        value!([]),
        value!("text"),
        value!({}),
    ] {
        same(&mut scratch, &value!({"type": "tool-call", "tool": "t", "args": args, "run": "r"}));
        same(&mut scratch, &value!({"type": "tool-call", "tool": "t"}));
    }
}

#[test]
fn what_must_be_there_is_asked_for() {
    let mut scratch = Scratch::default();
    let full = value!({"type": "tool-result", "outcome": "ok", "output": "x"});
    same(&mut scratch, &full);
    for name in ["outcome", "output"] {
        let mut event = full.clone();
        event.as_object_mut().unwrap().remove(name);
        assert_eq!(scratch.read(&message(&event).unwrap()), None, "{name}");
    }
    // A field of another event type.
    assert_eq!(scratch.read(&message(&value!({"type": "delta", "text": "x", "tool": "t"})).unwrap()), None);
    // Numbers out of the fields' ranges.
    let with = |key: &str, number: i64| {
        let mut event = full.clone();
        event[key] = number.into();
        message(&event).unwrap()
    };
    assert_eq!(scratch.read(&with("step", -1)), None);
    assert_eq!(scratch.read(&with("tokens", -1)), None);
    assert_eq!(scratch.read(&with("costMicros", -1)), None);
    assert_eq!(scratch.read(&with("exitCode", 1 << 32)), None);
    assert!(scratch.read(&with("exitCode", 0xc000_0005)).is_some());
    assert!(scratch.read(&with("exitCode", -(1 << 31))).is_some());
}

#[test]
fn nesting_without_end_is_refused() {
    let mut nested = vec![0, field::ARGS];
    for _ in 0..1_000_000 {
        nested.push(tag::LIST);
        nested.extend(1_u32.to_le_bytes());
    }
    assert_eq!(Scratch::default().read(&nested), None);
    // A count larger than any message.
    assert_eq!(Scratch::default().read(&[0, field::ARGS, tag::LIST, 255, 255, 255, 255]), None);
    assert_eq!(Scratch::default().read(&[0, field::ARGS, tag::OBJECT, 255, 255, 255, 255]), None);
}

#[path = "../../tests/support/fuzz_doors.rs"]
mod fuzz_doors;

#[test]
fn the_doors_agree_on_what_once_broke_them() {
    let folder = "tests/crashers/doors";
    let inputs: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!inputs.is_empty(), "{folder} is empty");
    inputs.iter().for_each(|input| fuzz_doors::doors(&std::fs::read(input).unwrap()));
}
