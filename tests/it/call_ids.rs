//! Call ids show which result belongs to which call, and what is a replay. They must not hide a loop: providers leave
//! them empty, restart them in every answer, or give all calls the same.

use loopwarden::model::{Event, Level, Scope, Verdict};
use loopwarden::{Detector, json};
use serde_json::{Value, json};

/// A call or a result before it gets its id.
#[derive(Clone)]
struct Told(Value);

fn call(tool: &str, args: &Value) -> Told {
    Told(json!({ "type": "tool-call", "tool": tool, "args": args }))
}

fn result(tool: &str, outcome: &str, output: &str) -> Told {
    Told(json!({ "type": "tool-result", "tool": tool, "outcome": outcome, "output": output }))
}

impl Told {
    fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.0[field] = value.into();
        self
    }

    fn id(self, id: Option<&str>) -> Self {
        match id {
            Some(id) => self.with("callId", id),
            None => self,
        }
    }

    fn event(&self) -> Event {
        json::event(&self.0.to_string()).unwrap()
    }
}

fn steps(detector: &Detector) -> u64 {
    detector.status(&Scope::default()).steps
}

/// The verdicts, with a snapshot and restore before each event for which `snapshot` is true.
fn verdicts(told: &[Told], snapshot: impl Fn(usize) -> bool) -> (Vec<Verdict>, Detector) {
    let mut detector = json::detector("{}").unwrap();
    let mut all = Vec::new();
    for (index, told) in told.iter().enumerate() {
        if snapshot(index) {
            detector = Detector::restore(&detector.snapshot()).unwrap();
        }
        all.push(detector.record(&told.event()).unwrap());
    }
    (all, detector)
}

fn levels(told: &[Told]) -> Vec<Level> {
    let plain: Vec<_> = verdicts(told, |_| false).0.iter().map(|verdict| verdict.level).collect();
    let restored: Vec<_> = verdicts(told, |index| index % 7 == 3).0.iter().map(|verdict| verdict.level).collect();
    assert_eq!(plain, restored, "a snapshot changes what is said");
    plain
}

/// Rounds of parallel calls, reported in one of several ways.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// Calls per round.
    parallel: usize,
    rounds: bool,
    steps: bool,
    times: bool,
    /// Each call is answered before the next one is made.
    one_by_one: bool,
    agents: usize,
}

/// Two dozen equal failing calls, and what the others of their round find.
fn stuck(way: Way, id: impl Fn(usize, usize, usize) -> Option<String>) -> Vec<Told> {
    let mut all = Vec::new();
    for round in 0..24 {
        for agent in 0..way.agents {
            let (mut calls, mut results) = (Vec::new(), Vec::new());
            for lane in 0..way.parallel {
                let id = id(round, lane, agent);
                let place = |mut told: Told, later: i64| {
                    if way.rounds {
                        told = told.with("round", format!("r{round}"));
                    }
                    if way.steps {
                        told = told.with("step", round);
                    }
                    if way.times {
                        told = told.with("at", 1_700_000_000_000 + i64::try_from(round).unwrap() * 9_000 + later);
                    }
                    if way.agents > 1 {
                        told = told.with("agent", format!("agent-{agent}"));
                    }
                    told.id(id.as_deref())
                };
                let (args, output) = if lane == 0 {
                    (json!({ "path": "conf/site.toml" }), "cannot parse line 7".to_owned())
                } else {
                    (json!({ "path": format!("data/{round}-{lane}.csv") }), format!("{} rows", 17 + round * 31 + lane))
                };
                let outcome = if lane == 0 { "error" } else { "ok" };
                calls.push(place(call("load", &args), 0));
                results.push(place(result("load", outcome, &output), 500));
            }
            if way.one_by_one {
                for pair in calls.into_iter().zip(results) {
                    all.extend([pair.0, pair.1]);
                }
            } else {
                all.extend(calls.into_iter().chain(results));
            }
        }
    }
    all
}

fn ways() -> Vec<Way> {
    let mut ways = Vec::new();
    for parallel in [1, 2] {
        for one_by_one in [false, true] {
            for bits in [0, 1, 2, 4, 5_u8] {
                let (rounds, steps, times) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
                for agents in [1, 2] {
                    ways.push(Way { parallel, rounds, steps, times, one_by_one, agents });
                }
            }
        }
    }
    ways
}

#[test]
fn ids_that_come_again_hide_nothing() {
    type Ids = fn(usize, usize, usize) -> Option<String>;
    let ids: [(&str, Ids); 6] = [
        ("all the same", |_, lane, _| Some(format!("{}", lane * 100))),
        ("counted anew in every round", |_, lane, _| Some(format!("call_{lane}"))),
        ("counted anew, from another number each time", |round, lane, _| Some(format!("call_{}", (round + lane) % 4))),
        ("drawn by lot, and copied by the model", |_, lane, _| Some(format!("call_9fK2xQ7bL{lane}mZ4tR"))),
        ("empty", |_, _, _| Some(String::new())),
        ("none", |_, _, _| None),
    ];
    for way in ways() {
        let fresh = levels(&stuck(way, |round, lane, agent| Some(format!("{agent}-{round}-{lane}"))));
        let first = fresh.iter().position(|level| *level >= Level::Nudge).expect("a loop");
        assert!(fresh.contains(&Level::Halt) || fresh.contains(&Level::Block), "{way:?}");
        for (name, id) in ids {
            // If turns are not reported, ids that count up over them, or random ids, look like a replayed conversation.
            // A few replays are accepted.
            let exact = way.rounds || way.steps || (way.parallel == 1 && way.agents == 1);
            let exact = exact || !name.contains("by lot") && !way.one_by_one;
            let late = if exact { 0 } else { 12 * 2 * way.parallel * way.agents };
            let found = levels(&stuck(way, id));
            let then = found.iter().position(|level| *level >= Level::Nudge);
            let then = then.unwrap_or_else(|| panic!("{name}: {way:?} is not found"));
            assert!(then <= first + late, "{name}: {way:?} is found at {then}, not at {first}");
            if exact && !name.contains("none") && !name.contains("empty") {
                assert_eq!(found, fresh, "{name}: {way:?}");
            }
        }
    }
}

/// A conversation in which every call is different, so that the number of steps shows what was counted twice.
fn conversation(turns: usize, parallel: usize, id: impl Fn(usize, usize) -> String, rounds: bool) -> Vec<Told> {
    let mut all = Vec::new();
    for turn in 0..turns {
        let ids: Vec<String> = (0..parallel).map(|lane| id(turn, lane)).collect();
        let place = |told: Told| if rounds { told.with("round", format!("{turn}")) } else { told };
        for (lane, id) in ids.iter().enumerate() {
            all.push(place(call("fetch", &json!({ "page": turn * 10 + lane })).id(Some(id))));
        }
        for (lane, id) in ids.iter().enumerate() {
            let output = format!("entry {} of the ledger", turn * 77 + lane);
            all.push(place(result("fetch", "ok", &output).id(Some(id))));
        }
    }
    all
}

#[test]
fn a_conversation_that_is_told_again_counts_once() {
    let resume = Told(json!({ "type": "host", "kind": "resume" }));
    let lot = |turn: usize, lane: usize| format!("toolu_01{:X}zK{}q9{lane}Fb", turn * 7919 + 12, turn % 7);
    let counted = |turn: usize, lane: usize| format!("call_{}", turn * 3 + lane);
    let anew = |_: usize, lane: usize| format!("{lane}");
    let tell = |told: &[Told], from: i64| -> Vec<Told> {
        let at = |(index, told): (usize, &Told)| told.clone().with("at", from + i64::try_from(index).unwrap() * 100);
        told.iter().enumerate().map(at).collect()
    };
    // Announced by the host: any ids, with and without rounds, longer than what is remembered, with new times.
    for turns in [1, 2, 5, 40, 150] {
        for parallel in [1, 2] {
            for rounds in [false, true] {
                let all = [
                    conversation(turns, parallel, lot, rounds),
                    conversation(turns, parallel, counted, rounds),
                    conversation(turns, parallel, anew, rounds),
                ];
                for (kind, told) in all.into_iter().enumerate() {
                    let mut story = tell(&told, 1_000);
                    for time in 1..4 {
                        story.push(resume.clone());
                        story.extend(tell(&told, time * 10_000_000));
                    }
                    let expected = u64::try_from(turns * parallel).unwrap();
                    let (all, detector) = verdicts(&story, |index| index % 11 == 5);
                    let what = format!("{turns} turns of {parallel}, rounds {rounds}, kind {kind}");
                    assert_eq!(steps(&detector), expected, "{what}");
                    assert!(all.iter().all(|verdict| verdict.level == Level::Continue), "{what}");
                    // What comes afterwards counts.
                    let news = [call("list", &json!({})).id(Some("0")), result("list", "ok", "a b c").id(Some("0"))];
                    let mut detector = detector;
                    for told in news {
                        detector.record(&told.event()).unwrap();
                    }
                    assert_eq!(steps(&detector), expected + 1, "{what}");
                }
            }
        }
    }
    // Unannounced: in the same rounds, with random ids, or with ids that count up from turn to turn.
    for (name, told) in [
        ("by lot", conversation(6, 2, lot, false)),
        ("by lot, in rounds", conversation(6, 2, lot, true)),
        ("anew, in rounds", conversation(6, 1, anew, true)),
        ("counted", conversation(6, 1, counted, false)),
        ("counted, two at once", conversation(6, 2, counted, false)),
        ("counted, in rounds", conversation(6, 2, counted, true)),
        ("anew, in rounds", conversation(6, 2, anew, true)),
    ] {
        let story: Vec<Told> = (0..4).flat_map(|time| tell(&told, time * 1_000_000)).collect();
        let expected = u64::try_from(told.len() / 2).unwrap();
        assert_eq!(steps(&verdicts(&story, |index| index % 5 == 2).1), expected, "{name}");
        // A host that resends everything with each turn.
        let growing: Vec<Told> = (1..=told.len() / 4).flat_map(|turns| tell(&told[..turns * 4], 0)).collect();
        let counted = steps(&verdicts(&growing, |_| false).1);
        assert!((expected..=expected + 2).contains(&counted), "{name}: {counted} for {expected}");
    }
}

#[test]
fn what_is_delivered_twice_counts_once() {
    let times = [None, Some(1_000)];
    for id in ["0", "c7", "call_9fK2xQ7bL1mZ4tR"] {
        for round in [None, Some("r1")] {
            for at in times {
                let place = |told: Told, later: i64| {
                    let told = round.map_or(told.clone(), |round| told.with("round", round));
                    at.map_or(told.clone(), |at| told.with("at", at + later)).id(Some(id))
                };
                let call = place(call("load", &json!({ "path": "a" })), 0);
                let result = place(result("load", "ok", "seven rows"), 50);
                let one = |told: &[&Told]| {
                    let told: Vec<Told> = told.iter().map(|told| (*told).clone()).collect();
                    steps(&verdicts(&told, |index| index == 2).1)
                };
                assert_eq!(one(&[&call, &call, &result, &result]), 1, "{id} {round:?} {at:?}");
                assert_eq!(one(&[&call, &call, &result]), 1);
                assert_eq!(one(&[&call, &result, &result]), 1);
                if round.is_some() || at.is_some() {
                    // A pair repeated in its place.
                    assert_eq!(one(&[&call, &result, &call, &result]), 1, "{id} {round:?} {at:?}");
                    assert_eq!(one(&[&call, &result, &call, &result, &call, &result]), 1);
                }
            }
        }
    }
}

#[test]
fn a_refused_call_that_comes_again_is_judged_again() {
    let mut detector = json::detector("{}").unwrap();
    let call = call("load", &json!({ "path": "a" })).id(Some("0"));
    let failed = result("load", "error", "no such file").id(Some("0"));
    let mut last = Level::Continue;
    for _ in 0..30 {
        last = detector.record(&call.event()).unwrap().level;
        if last >= Level::Block {
            break;
        }
        detector.record(&failed.event()).unwrap();
    }
    assert_eq!(last, Level::Block);
    // The host refused it and reports no result.
    for _ in 0..3 {
        assert!(detector.record(&call.event()).unwrap().level >= Level::Block);
    }
}

#[test]
fn a_host_that_resumes_before_every_call_hides_nothing_for_ever() {
    let resume = Told(json!({ "type": "host", "kind": "resume" }));
    for ids in [1, 2, 3] {
        let mut story = Vec::new();
        for turn in 0..80 {
            let id = format!("{}", turn % ids);
            story.push(resume.clone());
            story.push(call("load", &json!({ "path": "a" })).id(Some(&id)));
            story.push(result("load", "error", "no such file").id(Some(&id)));
        }
        let levels = levels(&story);
        let first = levels.iter().position(|level| *level >= Level::Nudge).expect("a loop");
        assert!(first < 120, "{ids} ids: {first}");
    }
}

#[test]
fn results_find_the_call_that_is_meant() {
    // A call that was never answered does not take the results of later calls with the same id.
    let mut story = vec![call("load", &json!({ "path": "slow" })).id(Some("0"))];
    for _ in 0..3 {
        story.push(call("load", &json!({ "path": "a" })).id(Some("0")));
        story.push(result("load", "error", "no such file").id(Some("0")));
    }
    let (all, _) = verdicts(&story, |index| index == 4);
    assert_eq!(all.last().unwrap().level, Level::Nudge);
    // Two agents with the same ids, answering in reverse order.
    let of = |told: Told, agent: &str| told.with("agent", agent).id(Some("call_0"));
    let mut story = Vec::new();
    for turn in 0..3 {
        story.push(of(call("load", &json!({ "path": "a" })), "ann"));
        story.push(of(call("list", &json!({ "page": turn })), "bob"));
        story.push(of(result("list", "ok", &format!("page {} of nine", ["one", "two", "six"][turn])), "bob"));
        story.push(of(result("load", "error", "no such file"), "ann"));
    }
    let (all, detector) = verdicts(&story, |index| index == 5);
    assert_eq!(steps(&detector), 6);
    assert_eq!(all.last().unwrap().level, Level::Nudge);
}

#[test]
fn recorded_sessions_with_such_ids_are_judged_alike() {
    use loopwarden::transcript;
    let openai = |id: &dyn Fn(usize) -> Option<String>, early: bool| {
        let mut messages = vec![json!({ "role": "user", "content": "mend the parser" })];
        for turn in 0..12 {
            let id = id(turn);
            let mut call =
                json!({ "type": "function", "function": { "name": "load", "arguments": "{\"path\": \"a\"}" } });
            let mut result = json!({ "role": "tool", "content": "Error: cannot parse line 7" });
            if let Some(id) = id {
                call["id"] = id.clone().into();
                result["tool_call_id"] = id.into();
            }
            let call = json!({ "role": "assistant", "tool_calls": [call] });
            messages.extend(if early { [result, call] } else { [call, result] });
        }
        json!({ "messages": messages }).to_string()
    };
    let anthropic = |id: &dyn Fn(usize) -> Option<String>| {
        let mut messages = vec![json!({ "role": "user", "content": "mend the parser" })];
        for turn in 0..12 {
            let id = id(turn).unwrap_or_default();
            messages.push(json!({ "role": "assistant", "content": [
                { "type": "tool_use", "id": id, "name": "load", "input": { "path": "a" } }] }));
            messages.push(json!({ "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": id, "is_error": true, "content": "cannot parse line 7" }] }));
        }
        json!({ "messages": messages }).to_string()
    };
    let langchain = |id: &dyn Fn(usize) -> Option<String>| {
        let mut messages = vec![json!({ "type": "human", "content": "mend the parser" })];
        for turn in 0..12 {
            let id = id(turn).unwrap_or_default();
            messages.push(json!({ "type": "ai", "content": "", "tool_calls": [
                { "id": id, "name": "load", "args": { "path": "a" } }] }));
            messages.push(
                json!({ "type": "tool", "tool_call_id": id, "status": "error", "content": "cannot parse line 7" }),
            );
        }
        json!({ "messages": messages }).to_string()
    };
    let found = |text: &str| {
        let transcript = transcript::read(text, None);
        assert!(transcript.errors.is_empty(), "{:?}", transcript.errors);
        let mut detector = json::detector("{}").unwrap();
        let verdicts = transcript.events.iter().map(|traced| detector.record(&traced.event).unwrap());
        verdicts.map(|verdict| verdict.level).collect::<Vec<_>>()
    };
    type Write<'a> = &'a dyn Fn(&dyn Fn(usize) -> Option<String>) -> String;
    let ordered = |id: &dyn Fn(usize) -> Option<String>| openai(id, false);
    let early = |id: &dyn Fn(usize) -> Option<String>| openai(id, true);
    let formats: [(&str, Write<'_>); 4] =
        [("openai", &ordered), ("openai, results first", &early), ("anthropic", &anthropic), ("langchain", &langchain)];
    for (name, write) in formats {
        let fresh = found(&write(&|turn| Some(format!("call_{turn}"))));
        assert!(fresh.iter().any(|level| *level >= Level::Block), "{name}: {fresh:?}");
        assert_eq!(found(&write(&|_| Some("0".into()))), fresh, "{name}");
        // A result without an id before its call belongs to no call, so one is lost.
        let empty = found(&write(&|_| Some(String::new())));
        let first = |levels: &[Level]| levels.iter().position(|level| *level >= Level::Nudge);
        if name.contains("first") {
            assert_eq!(first(&empty), first(&fresh).map(|first| first + 1), "{name}");
        } else {
            assert_eq!(empty, fresh, "{name}");
        }
    }
}
