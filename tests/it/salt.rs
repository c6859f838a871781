//! A salt makes digests of arguments and outputs useless to anyone who does not know it, and changes nothing else.

use crate::pins::{digests, found, published};
use loopwarden::model::Verdict;
use loopwarden::{Detector, json};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn run(config: &str, snapshots: bool) -> Vec<Verdict> {
    let mut detector = json::detector(config).unwrap();
    let mut verdicts = Vec::new();
    for turn in 0..12 {
        let round = turn.to_string();
        let call = json!({ "type": "tool-call", "tool": "login", "args": { "pin": "493027" }, "round": round });
        let answer = if turn % 4 == 3 { "locked for 5 minutes" } else { "wrong PIN" };
        let result =
            json!({ "type": "tool-result", "tool": "login", "outcome": "error", "output": answer, "round": round });
        let custom = json!({ "type": "custom", "name": "dialled", "key": "493027" });
        for event in [call, result, custom] {
            if snapshots {
                detector = Detector::restore(&detector.snapshot()).unwrap();
            }
            verdicts.push(detector.record(&json::event(&event.to_string()).unwrap()).unwrap());
        }
    }
    verdicts
}

/// Rules whose signature depends on a call's arguments or result, and not only on its tool.
const TELLING: [&str; 4] = ["repeated-call", "repeated-error", "blind-repeat", "cycle"];

/// What a salt has to change.
fn shown(verdicts: &[Verdict]) -> Vec<String> {
    let findings = verdicts.iter().flat_map(|verdict| &verdict.findings);
    findings
        .flat_map(|finding| {
            let digests = finding.evidence.iter().map(|seen| seen.digest.to_string());
            let signature = TELLING.contains(&finding.rule.as_str()).then(|| finding.signature.to_string());
            digests.chain(signature).collect::<Vec<_>>()
        })
        .collect()
}

/// Everything else.
fn said(verdicts: &[Verdict]) -> Vec<Verdict> {
    let mut verdicts = verdicts.to_vec();
    for finding in verdicts.iter_mut().flat_map(|verdict| &mut verdict.findings) {
        let finding = std::sync::Arc::make_mut(finding);
        finding.signature = "".into();
        finding.evidence.iter_mut().for_each(|seen| seen.digest = "".into());
    }
    verdicts
}

#[test]
fn a_salt_changes_digests_and_nothing_else() {
    let salted = |salt: &str| format!(r#"{{"privacy":{{"salt":"{salt}"}}}}"#);
    let plain = run("{}", false);
    let (one, again, other) = (salted("first secret"), salted("first secret"), salted("other secret"));
    let (one, again, other) = (run(&one, false), run(&again, true), run(&other, false));
    assert!(shown(&plain).len() > 20);
    assert_eq!(one, again, "a snapshot keeps the salt");
    assert_eq!(said(&plain), said(&one));
    assert_eq!(said(&plain), said(&other));
    for (left, right) in [(&plain, &one), (&plain, &other), (&one, &other)] {
        for (left, right) in shown(left).iter().zip(&shown(right)) {
            assert_ne!(left, right, "shows the same under two salts");
        }
    }
}

#[test]
fn a_salt_is_a_secret_of_some_length_and_is_not_repeated() {
    for salt in ["", "short", &"long".repeat(65)] {
        let error = json::detector(&json!({ "privacy": { "salt": salt } }).to_string()).unwrap_err();
        assert_eq!(error.field.as_deref(), Some("privacy.salt"));
        assert_eq!(error.value, None);
    }
}

/// A run with everything that digests are made of, and no name that looks like one; the secret is the number.
fn everything(secret: u32) -> Vec<Value> {
    let mut events = Vec::new();
    for lap in 0..9 {
        let said = format!("I will try the number {secret} again and see what the bank answers to it");
        let delegated = json!({ "prompt": format!("Find out whose card has the number {secret} and report back") });
        events.extend([
            json!({ "type": "message", "role": "assistant", "text": said }),
            json!({ "type": "output", "text": format!("{said}, then the next one") }),
            json!({ "type": "failure", "message": format!("declined {secret}"), "stackTrace": format!("at pay ({secret})") }),
            json!({ "type": "progress", "diff": format!("+{secret}"), "docs": format!("# {secret}"),
                "tests": { "failing": 1, "total": 3, "failingIds": [format!("pays with {secret}")] } }),
            json!({ "type": "attempt", "task": "pay", "status": "blocked", "blockers": [format!("no answer to {secret}")] }),
            json!({ "type": "collaboration", "from": "a", "to": "b", "request": format!("Please try the card {secret} at once") }),
            json!({ "type": "turn", "node": "payer", "finalMessage": said, "structuredOutput": { "card": secret } }),
            json!({ "type": "tool-call", "tool": "task", "args": delegated }),
            json!({ "type": "tool-result", "tool": "task", "outcome": "error", "output": format!("Error: declined {secret}") }),
            json!({ "type": "tool-call", "tool": "pay", "args": { "card": secret } }),
            json!({ "type": "tool-result", "tool": "pay", "outcome": "not-executed", "output": format!("no such card as {secret}") }),
            json!({ "type": "tool-call", "tool": "handoff", "args": { "to": secret.to_string(), "note": said } }),
            json!({ "type": "tool-result", "tool": "handoff", "outcome": "ok", "output": format!("handed to {secret}") }),
            json!({ "type": "custom", "name": "dialled", "key": secret.to_string(), "outcome": format!("busy {secret}") }),
            json!({ "type": "delta", "text": format!("the number {secret} is what I try now, ").repeat(40) }),
            json!({ "type": "evaluation", "verdict": "stalled", "confidence": 100 * lap }),
        ]);
    }
    events
}

/// Every digest that leaves a detector: in verdicts, status and both reports.
fn leaving(salt: Option<&str>, secret: u32) -> BTreeSet<String> {
    let mut detector = json::detector(&json!({ "privacy": { "salt": salt } }).to_string()).unwrap();
    let mut told = String::new();
    for event in everything(secret) {
        told += &json::record(&mut detector, &event.to_string()).unwrap();
    }
    told += &json::status(&detector, "").unwrap();
    told += &json::report(&detector, "", "json").unwrap();
    told += &json::report(&detector, "", "markdown").unwrap();
    digests(&told)
}

#[test]
fn no_digest_of_a_text_leaves_without_the_salt() {
    let (plain, other_text) = (leaving(None, 493_027), leaving(None, 502_118));
    // Digests that a reader without the salt could check guesses against.
    let telling: BTreeSet<_> = plain.difference(&other_text).collect();
    assert!(telling.len() > 8, "{telling:?}");
    let (one, other) = (leaving(Some("first secret"), 493_027), leaving(Some("other secret"), 493_027));
    for digest in &telling {
        assert!(!one.contains(*digest) && !other.contains(*digest), "{digest} is the same with a salt");
    }
    let names: BTreeSet<_> = plain.intersection(&other_text).collect();
    for digest in one.intersection(&other) {
        assert!(names.contains(digest), "{digest} is the same under two salts");
    }
}

/// A detector that was fed everything, with a salt of 12 characters or none.
fn told(salt: Option<&str>, events: usize) -> Detector {
    let mut detector = json::detector(&json!({ "privacy": { "salt": salt } }).to_string()).unwrap();
    for event in everything(493_027).iter().take(events) {
        json::record(&mut detector, &event.to_string()).unwrap();
    }
    detector
}

/// Number of six-byte sequences that two snapshots share behind their configurations. A number that is a digest has no
/// more.
fn shared(one: &[u8], other: &[u8]) -> usize {
    let state = |bytes: &[u8]| {
        let end = bytes.windows(2).rposition(|pair| pair == b"}}").unwrap_or(bytes.len() / 4);
        bytes.get(end.min(600)..).unwrap().to_vec()
    };
    let known: BTreeSet<Vec<u8>> = state(one).windows(6).map(<[u8]>::to_vec).collect();
    state(other).windows(6).filter(|run| known.contains(*run)).count()
}

#[test]
fn a_salt_lies_over_all_that_a_snapshot_holds() {
    let all = everything(493_027).len();
    let plain = told(None, all).snapshot();
    let holds = |snapshot: &[u8], text: &str| snapshot.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds(&plain, "dialled") && holds(&plain, "no answer to"));
    // Without a salt, equal words are equal bytes.
    assert!(shared(&plain, &told(None, all - 20).snapshot()) > plain.len() / 4);
    let (one, other) = (told(Some("first secret"), all), told(Some("other secret"), all));
    let (earlier, one, other) = (told(Some("first secret"), all - 20).snapshot(), one.snapshot(), other.snapshot());
    for snapshot in [&one, &other, &earlier] {
        assert!(!holds(snapshot, "dialled") && !holds(snapshot, "no answer to"), "a name in clear");
        assert_eq!(Detector::restore(snapshot).unwrap().snapshot(), *snapshot);
    }
    // Two detectors; one at two times; and each beside one without a salt.
    for (left, right) in [(&one, &other), (&one, &earlier), (&one, &plain), (&other, &plain)] {
        assert_eq!(shared(left, right), 0);
    }
    // Nor do two snapshots use the same keystream.
    let pads = |left: &[u8], right: &[u8]| -> Vec<u8> {
        left.iter().rev().zip(right.iter().rev()).map(|(left, right)| left ^ right).take(2000).collect()
    };
    let (pads, zeros) = (pads(&one, &earlier), |pads: &[u8]| pads.iter().filter(|byte| **byte == 0).count());
    assert!(zeros(&pads) < 40, "{} of 2000 bytes are equal", zeros(&pads));
}

#[test]
fn what_lies_under_a_salt_is_checked_as_well() {
    let whole = told(Some("first secret"), 60).snapshot();
    for at in (0..whole.len()).step_by(7).chain(whole.len() - 9..whole.len()) {
        let mut torn = whole.clone();
        torn[at] ^= 0x10;
        assert!(Detector::restore(&torn).is_err(), "byte {at} of {}", whole.len());
        assert!(Detector::restore(&whole[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn nobody_finds_a_pin_in_what_is_published_under_a_salt() {
    const PIN: u32 = 493_027;
    let (plain, zeros) = (published(None, PIN), published(Some("00000000"), PIN));
    let (one, other) = (published(Some("first secret"), PIN), published(Some("other secret"), PIN));
    // The attack is effective: without a salt, or with a guessable one, it finds the PIN and nothing else.
    let pins = PIN - 1_500..PIN + 1_500;
    let [in_plain, in_one, in_other] = &found(None, pins, &[&plain, &one, &other])[..] else { panic!("three answers") };
    assert_eq!(in_plain.iter().map(|(pin, _)| *pin).collect::<Vec<_>>(), [PIN]);
    assert_eq!((in_one.as_slice(), in_other.as_slice()), (&[][..], &[][..]));
    let guessed = found(Some("00000000"), PIN - 100..PIN + 100, &[&zeros, &one, &other]);
    assert_eq!(guessed.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 0]);
    // And two users publish different digests of the same call.
    let telling: Vec<_> = plain.iter().filter(|digest| !published(None, PIN + 1).contains(*digest)).collect();
    assert!(!telling.is_empty(), "{telling:?}");
    let same: Vec<_> = one.intersection(&other).filter(|digest| !plain.contains(*digest)).collect();
    assert!(same.is_empty() && telling.iter().all(|digest| !one.contains(*digest)), "{same:?}");
}
