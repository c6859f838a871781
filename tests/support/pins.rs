//! A brute-force attack: the only secret is a PIN of six digits, and all PINs are tried against what was published.

use loopwarden::model::{Finding, Verdict};
use loopwarden::{Detector, json};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Digests in a text: words of at least eight hexadecimal digits, not all of them decimal.
pub(crate) fn digests(text: &str) -> BTreeSet<String> {
    let words = text.split(|char: char| !char.is_ascii_alphanumeric());
    let hex = |word: &&str| word.len() >= 8 && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    words.filter(hex).filter(|word| word.bytes().any(|byte| byte.is_ascii_alphabetic())).map(Into::into).collect()
}

/// A user tries one PIN until a detector reports, in as few events as that takes.
fn tried(detector: &mut Detector, pin: u32) -> Vec<Verdict> {
    let call = json::event(&format!(r#"{{"type":"tool-call","tool":"login","args":{{"pin":"{pin:06}"}}}}"#)).unwrap();
    let wrong = r#"{"type":"tool-result","tool":"login","outcome":"error","output":"wrong PIN"}"#;
    let wrong = json::event(wrong).unwrap();
    let events = [&call, &wrong, &call, &wrong, &call, &wrong];
    events.into_iter().map(|event| detector.record(event).unwrap()).collect()
}

/// The digests in all that a user may show to others: verdicts, status, metrics and both reports, but neither state nor
/// configuration.
pub(crate) fn published(salt: Option<&str>, pin: u32) -> BTreeSet<String> {
    let mut detector = json::detector(&json!({ "privacy": { "salt": salt } }).to_string()).unwrap();
    let mut shown = json::to_string(&tried(&mut detector, pin));
    shown += &json::status(&detector, "").unwrap();
    shown += &json::metrics(&detector);
    for format in ["json", "markdown"] {
        shown += &json::report(&detector, "", format).unwrap();
    }
    assert!(!shown.contains(&format!("{pin:06}")), "in clear");
    assert!(shown.contains("repeated-"), "{shown}");
    digests(&shown)
}

/// An attacker who knows the program, the tool and its answers, but no secret, tries PINs until one yields what was
/// published.
pub(crate) fn found<'a>(
    salt: Option<&str>,
    pins: std::ops::Range<u32>,
    published: &[&'a BTreeSet<String>],
) -> Vec<Vec<(u32, &'a str)>> {
    let fresh = json::detector(&json!({ "privacy": { "salt": salt } }).to_string()).unwrap();
    let tell = |verdicts: &[Verdict]| {
        let findings = verdicts.iter().flat_map(|verdict| &verdict.findings);
        let told = |finding: &Arc<Finding>| {
            let digests = finding.evidence.iter().map(|seen| seen.digest.to_string());
            digests.chain([finding.signature.to_string()]).collect::<Vec<_>>().join(" ")
        };
        digests(&findings.map(told).collect::<Vec<_>>().join(" "))
    };
    // What does not depend on the PIN says nothing about it.
    let told = |pin| tell(&tried(&mut fresh.clone(), pin));
    let constant: BTreeSet<String> = told(999_998).intersection(&told(999_999)).cloned().collect();
    let mut found = vec![Vec::new(); published.len()];
    for pin in pins {
        let told = told(pin);
        for (texts, found) in published.iter().zip(&mut found) {
            let known = texts.iter().find(|digest| told.contains(*digest) && !constant.contains(*digest));
            found.extend(known.map(|digest| (pin, digest.as_str())));
        }
    }
    found
}
