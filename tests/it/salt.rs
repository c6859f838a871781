//! A salt makes what leaves of arguments and outputs worthless to whoever does not know it, and changes nothing else.

use loopwarden::model::Verdict;
use loopwarden::{Detector, json};
use serde_json::json;

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

/// Rules whose signature tells of what a call was given or answered, and not of its tool alone.
const TELLING: [&str; 4] = ["repeated-call", "repeated-error", "blind-repeat", "cycle"];

/// What a salt has to change.
fn shown(verdicts: &[Verdict]) -> Vec<String> {
    let findings = verdicts.iter().flat_map(|verdict| &verdict.findings);
    findings
        .flat_map(|finding| {
            let digests = finding.evidence.iter().map(|seen| seen.digest.clone());
            let signature = TELLING.contains(&finding.rule.as_str()).then(|| finding.signature.clone());
            digests.chain(signature).collect::<Vec<_>>()
        })
        .collect()
}

/// Everything else.
fn said(verdicts: &[Verdict]) -> Vec<Verdict> {
    let mut verdicts = verdicts.to_vec();
    for finding in verdicts.iter_mut().flat_map(|verdict| &mut verdict.findings) {
        finding.signature.clear();
        finding.evidence.iter_mut().for_each(|seen| seen.digest.clear());
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
