//! Other detectors mimicked by configurations of this one: `tests/profiles/NAME.json` says how, and `facts.jsonl` next
//! to them has facts to check them with. `LOOPWARDEN_PEERS=FILE` measures a file of facts from outside the project.
//!
//! A fact is a scenario with the name of the peer, the settings it was observed under (`peerConfig`) and, besides
//! `expect`, what holds after single events (`checkpoints`). `knownPeerMiss` marks an answer that is deliberately not
//! copied.

use crate::peers_by_the_book;
use crate::raw_scenario::{self, RawScenario, raw_scenarios};
use loopwarden::json;
use loopwarden::model::Level;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Per mille of the facts that a profile must reproduce.
const AGREEMENT: usize = 980;
/// Random runs for each detector.
const RUNS: usize = 150;

fn profiles_dir() -> PathBuf {
    PathBuf::from("tests/profiles")
}

/// One way to configure the detector like a peer.
struct Profile {
    /// Settings of the peer to which this applies; all of them must match.
    when: Map<String, Value>,
    /// The configuration. `{"setting": NAME, "plus": N}` stands for the peer's setting of that name plus N, and at
    /// least `least`. If that is null or below 1, the value is 0 (never); so is it if the setting is absent, unless
    /// `else` has a default, or if a switch named by `if` is off.
    config: Value,
}

fn profiles() -> BTreeMap<String, Vec<Profile>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(profiles_dir()).expect("a directory of profiles") {
        let path = entry.expect("a readable entry").path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a readable profile");
        let document: Value = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let field = |profile: &Value, name: &str| profile.get(name).cloned().unwrap_or(Value::Null);
        let profile = |profile: &Value| Profile {
            when: field(profile, "when").as_object().cloned().unwrap_or_default(),
            config: field(profile, "config"),
        };
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let list =
            document.get("profiles").and_then(Value::as_array).unwrap_or_else(|| panic!("{name} has no profiles"));
        all.insert(name, list.iter().map(profile).collect());
    }
    all
}

/// Fills the peer's settings into a profile's configuration.
fn filled(value: &Value, peer: &Value) -> Value {
    match value {
        Value::Object(map) if map.contains_key("setting") => {
            let name = map.get("setting").and_then(Value::as_str).expect("the name of a setting");
            let number = |key: &str, default: i64| map.get(key).and_then(Value::as_i64).unwrap_or(default);
            let off =
                map.get("if").and_then(Value::as_str).is_some_and(|switch| peer.get(switch) == Some(&json!(false)));
            match peer.get(name) {
                _ if off => json!(0),
                None => json!(number("else", 0)),
                Some(setting) => {
                    let setting = setting.as_i64().filter(|setting| *setting >= 1);
                    json!(setting.map_or(0, |setting| (setting + number("plus", 0)).max(number("least", 0))))
                }
            }
        }
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), filled(value, peer))).collect(),
        Value::Array(list) => list.iter().map(|value| filled(value, peer)).collect(),
        other => other.clone(),
    }
}

/// The configuration document of a profile under a peer's settings.
fn document(profile: &Profile, peer: &Value) -> String {
    filled(&profile.config, peer).to_string()
}

/// A text with its placeholders expanded: `<randomN>` stands for N letters that never recur, `<randomN-fixed>` for N
/// letters that are always the same.
fn spelled_out(text: &str, index: usize) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<random") {
        let Some((length, behind)) = after.split_once('>') else { break };
        let (length, fixed) = length.strip_suffix("-fixed").map_or((length, false), |length| (length, true));
        let Ok(length) = length.parse::<usize>() else { break };
        out.push_str(before);
        let mut state = if fixed { 1 } else { index as u64 + 2 }.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for _ in 0..length {
            // xorshift
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            out.push(char::from(b'a' + u8::try_from(state % 26).unwrap_or_default()));
        }
        rest = behind;
    }
    out + rest
}

/// What is wrong with the answers to a fact.
fn disagreement(fact: &RawScenario, whole: &Value, profiles: &BTreeMap<String, Vec<Profile>>) -> Option<String> {
    let peer = whole.get("peer").and_then(Value::as_str).expect("a fact names its peer");
    let settings = whole.get("peerConfig").cloned().unwrap_or(Value::Null);
    let list = profiles.get(peer).unwrap_or_else(|| panic!("no profile for {peer}"));
    let fits = |profile: &&Profile| profile.when.iter().all(|(key, value)| settings.get(key) == Some(value));
    let profile = list.iter().find(fits).unwrap_or_else(|| panic!("{}: no profile of {peer} fits {settings}", fact.id));
    let config = document(profile, &settings);
    let mut detector = match json::detector(&config) {
        Ok(detector) => detector,
        Err(error) => return Some(error.to_string()),
    };
    let mut alarms = Vec::new();
    for (index, event) in fact.events.iter().enumerate() {
        let parsed =
            json::event(&spelled_out(&event.text, index)).unwrap_or_else(|error| panic!("{}: {error}", fact.id));
        let answer = if event.pending { detector.check(&parsed) } else { detector.record(&parsed) };
        if answer.unwrap_or_else(|error| panic!("{}: {error}", fact.id)).level >= Level::Nudge {
            alarms.push(index);
        }
    }
    for checkpoint in whole.get("checkpoints").and_then(Value::as_array).into_iter().flatten() {
        let at = checkpoint.get("afterEvent").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
        let at = at.expect("a checkpoint has an event");
        let expected = checkpoint.get("expect").and_then(Value::as_str) == Some("loop");
        if alarms.contains(&at) != expected {
            return Some(format!("after event {at} {}", if expected { "no alarm" } else { "an alarm" }));
        }
    }
    if whole.get("checkpoints").is_some() && fact.expect_loop == Some(false) {
        return None;
    }
    let wanted = fact.expect_at.unwrap_or(usize::MAX);
    // If no loop is expected, only alarms after the user's last message count.
    let users = |event: &raw_scenario::RawEvent| {
        let event: Value = serde_json::from_str(&event.text).unwrap_or_default();
        event.get("role").and_then(Value::as_str) == Some("user") && event.get("synthetic") != Some(&json!(true))
    };
    let since = fact.events.iter().rposition(users).filter(|_| fact.expect_loop == Some(false)).unwrap_or(0);
    match (fact.expect_loop?, alarms.iter().find(|at| **at >= since)) {
        (true, None) => Some("no alarm".to_owned()),
        (true, Some(at)) if *at > wanted => Some(format!("alarm at {at}, expected by {wanted}")),
        (true, Some(at)) if fact.first_at && *at < wanted => {
            Some(format!("alarm at {at} already, expected at {wanted}"))
        }
        (false, Some(at)) => Some(format!("alarm at {at}, expected none")),
        (true, Some(_)) | (false, None) => None,
    }
}

/// The number of facts, and the disagreements among them.
fn measure(path: &Path) -> (usize, Vec<String>) {
    let text = fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let facts = raw_scenarios(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let profiles = profiles();
    let (mut count, mut wrong, mut by_peer) = (0, Vec::new(), BTreeMap::<String, (usize, usize)>::new());
    for fact in &facts {
        let whole: Value = serde_json::from_str(&fact.text).expect("a fact is JSON");
        if whole.get("knownPeerMiss").is_some() {
            continue;
        }
        let why = disagreement(fact, &whole, &profiles);
        let (all, agreed) =
            by_peer.entry(whole.get("peer").and_then(Value::as_str).unwrap_or_default().into()).or_default();
        *all += 1;
        *agreed += usize::from(why.is_none());
        count += 1;
        wrong.extend(why.map(|why| format!("{}: {why}", fact.id)));
    }
    println!("{}: {} of {count} facts agree", path.display(), count - wrong.len());
    for (peer, (all, agreed)) in by_peer {
        println!("  {peer:<10} {agreed:>3} of {all}");
    }
    for line in &wrong {
        println!("  {line}");
    }
    (count, wrong)
}

#[test]
fn the_profiles_say_what_their_peers_say() {
    let (count, wrong) = measure(&profiles_dir().join("facts.jsonl"));
    assert!((count - wrong.len()) * 1000 >= count * AGREEMENT, "{} of {count}: {wrong:?}", wrong.len());
    if let Some(path) = env::var_os("LOOPWARDEN_PEERS") {
        measure(Path::new(&path));
    }
}

#[test]
fn the_profiles_count_as_their_peers_do_by_the_book() {
    let mut wrong = Vec::new();
    for peer in peers_by_the_book::PEERS {
        let config = format!(r#"{{"extends":"{}"}}"#, peer.profile);
        let (mut agreed, mut loops, mut first) = (0, 0, None);
        for seed in 0..RUNS {
            let run = peer.run(seed);
            let expected = (peer.alarm)(&run);
            let found = peers_by_the_book::alarm_of(&config, peer, &run);
            loops += usize::from(expected.is_some());
            agreed += usize::from(expected == found);
            if expected != found && first.is_none() {
                first = Some(format!("{run:?}: expected {expected:?}, found {found:?}"));
            }
        }
        println!("{:<22} {agreed} of {RUNS} runs, {loops} with an alarm", peer.profile);
        if let Some(first) = &first {
            println!("  {first}");
        }
        // Runs without alarms, or all with alarms, would show nothing.
        if loops * 5 < RUNS || loops * 50 > RUNS * 49 {
            wrong.push(format!("{}: {loops} of {RUNS} have an alarm", peer.profile));
        }
        if agreed * 1000 < RUNS * peer.agreement {
            wrong.push(format!("{} {agreed} of {RUNS}", peer.profile));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
