//! The fast path for streaming chunks gives the same results as the general one.

use super::Detector;
use crate::json;
use crate::model::{Body, Decision, Event, Level, Scope};
use alloc::format;

/// A deterministic pseudo-random generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A simulated streaming host: its current run, agent and time.
struct Host {
    numbers: Numbers,
    run: &'static str,
    agent: &'static str,
    now: u64,
}

impl Host {
    /// The next event: mostly a chunk that continues the previous one.
    fn event(&mut self) -> Event {
        let Self { numbers, run, agent, now } = self;
        if numbers.below(30) == 0 {
            *run = numbers.of(&["", r#","run":"a""#, r#","run":"b""#, r#","run":"c""#, r#","run":"d""#]);
        }
        if numbers.below(30) == 0 {
            *agent = numbers.of(&["", r#","agent":"x""#, r#","agent":"y""#]);
        }
        let mut fields = format!("{run}{agent}");
        if numbers.below(2) == 0 {
            *now += if numbers.below(200) == 0 { 70_000 } else { numbers.below(50) };
            fields += &format!(r#","at":{now}"#);
        }
        fields += numbers.of(&[
            "",
            "",
            "",
            "",
            "",
            r#","round":"1""#,
            r#","round":"2""#,
            r#","tokens":7"#,
            r#","step":3"#,
            r#","costMicros":5"#,
        ]);
        // A run with tasks has lanes.
        if run.ends_with("d\"") && numbers.below(20) == 0 {
            fields += numbers.of(&[r#","task":"t""#, r#","task":"u","parentTask":"t""#, r#","synthetic":true"#]);
        }
        let body = match numbers.below(40) {
            0 => r#""type":"tool-call","tool":"read","callId":"1","args":{"path":"x"}"#,
            1 => r#""type":"tool-result","tool":"read","callId":"1","outcome":"ok","output":"y""#,
            2 => numbers
                .of(&[r#""type":"host","kind":"turn-start""#, r#""type":"message","role":"user","text":"go on""#]),
            3 => r#""type":"message","role":"assistant","text":"so be it""#,
            _ => numbers.of(&[
                r#""type":"delta","text":"again and again ""#,
                r#""type":"delta","text":"again and again ""#,
                r#""type":"delta","text":"again and again ""#,
                r#""type":"delta","text":"日本語。""#,
                r#""type":"delta","text":"| a | row |\n""#,
                r#""type":"delta","channel":"reasoning","text":"hm ""#,
                r#""type":"delta","text":"""#,
            ]),
        };
        json::event(&format!("{{{body}{fields}}}")).unwrap()
    }
}

#[test]
fn the_short_way_is_the_long_one() {
    for (seed, config) in [
        (1, "{}"),
        (2, r#"{"memory":{"maxRuns":3,"idleMs":60000}}"#),
        (3, r#"{"memory":{"maxBytes":1048576}}"#),
        (4, r#"{"budgets":{"maxRuntimeMs":30000,"maxIterations":40},"mode":"shadow"}"#),
        (5, r#"{"rules":{"stream-period":{"nudge":40,"block":80,"halt":160}},"prices":{"millionTokens":"3"}}"#),
    ] {
        let mut short = json::detector(config).unwrap();
        // Below the configurable minimum, so that chunks cause other runs to be forgotten.
        let tight = config.contains("maxBytes");
        if tight {
            short.settings.config.memory.max_bytes = Some(60_000);
        }
        let mut long = short.clone();
        let mut host = Host { numbers: Numbers(seed), run: "", agent: "", now: 1_700_000_000_000 };
        let mut quick = 0;
        for count in 0..1_500 {
            let event = host.event();
            let checked = short.check(&event);
            let is_delta = matches!(event.body, Body::Delta(_));
            let known = is_delta.then(|| short.goes_on(&event)).flatten();
            quick += u32::from(known.is_some());
            let one = known.map_or_else(|| short.take_in(&event), Ok);
            assert_eq!(one, long.take_in(&event), "{config}, event {count}: {event:?}");
            assert_eq!(one, checked, "{config}, event {count}: {event:?}");
            assert!(short.state.store.is_weighed(), "{config}, event {count}: {event:?}");
            if count % 149 == 0 {
                assert_eq!(short.snapshot(), long.snapshot(), "{config}, event {count}");
                assert_eq!(short.metrics(), long.metrics(), "{config}, event {count}");
            }
            if count % 401 == 0 && !tight {
                short = Detector::restore(&short.snapshot()).unwrap();
            }
            if count == 1_200 {
                let scope = Scope { run: Some("b".into()), ..Scope::default() };
                assert_eq!(
                    short.acknowledge(&scope, &Decision::Stop).is_ok(),
                    long.acknowledge(&scope, &Decision::Stop).is_ok()
                );
            }
        }
        assert!(quick > 500, "{config}: {quick}");
        assert!(!tight || short.metrics().runs_evicted > 0, "nobody had to go");
    }
}

#[test]
fn a_refused_call_leaves_the_level_as_it_is() {
    let mut detector = json::detector("{}").unwrap();
    let call = r#"{"type":"tool-call","tool":"moor","args":{"berth":4}}"#;
    let mut record = |text: &str| {
        let _ = detector.record(&json::event(text).unwrap()).unwrap();
        detector.status(&Scope::default()).level
    };
    let result =
        |outcome: &str| format!(r#"{{"type":"tool-result","tool":"moor","outcome":"{outcome}","output":"taken"}}"#);
    for _ in 0..5 {
        record(call);
        record(&result("error"));
    }
    assert_eq!(record(call), Level::Block);
    assert_eq!(record(&result("not-executed")), Level::Block);
    // Anything else that happens is judged by itself.
    assert_eq!(record(r#"{"type":"message","role":"user","text":"another berth, please"}"#), Level::Continue);
    record(r#"{"type":"tool-call","tool":"anchor"}"#);
    assert_eq!(
        record(r#"{"type":"tool-result","tool":"anchor","outcome":"not-executed","output":"x"}"#),
        Level::Continue
    );
}

fn ev(text: &str) -> Event {
    json::event(text).unwrap()
}

#[test]
fn a_refused_chunk_changes_nothing() {
    let mut detector = json::detector("{}").unwrap();
    let _ = detector.record(&ev(r#"{"type":"delta","text":"so it goes","at":1000}"#)).unwrap();
    let before = detector.snapshot();
    for field in ["task", "parentTask", "agent", "run"] {
        let long = "t".repeat(600);
        let bad = ev(&format!(r#"{{"type":"delta","text":"x","at":5000,"{field}":"{long}"}}"#));
        assert_eq!(detector.record(&bad).unwrap_err().field.as_deref(), Some(field));
        assert!(before == detector.snapshot(), "{field}");
    }
}

#[test]
fn numbers_that_the_state_cannot_hold_are_refused() {
    let mut detector = json::detector("{}").unwrap();
    for (field, most, beyond) in [
        ("at", "253402300799999", "253402300800000"),
        ("at", "-253402300799999", "-253402300800000"),
        ("at", "0", "-9223372036854775808"),
        ("step", "18446744073709551614", "18446744073709551615"),
    ] {
        let event = |number: &str| ev(&format!(r#"{{"type":"output","text":"x","{field}":{number}}}"#));
        assert!(detector.record(&event(most)).is_ok(), "{field} {most}");
        assert_eq!(detector.record(&event(beyond)).unwrap_err().field.as_deref(), Some(field), "{beyond}");
    }
}

#[test]
fn a_forged_snapshot_keeps_to_the_caps_of_the_counters() {
    let forged = |forge: &dyn Fn(&mut Detector)| {
        let mut detector = json::detector("{}").unwrap();
        forge(&mut detector);
        Detector::restore(&detector.snapshot()).is_err()
    };
    let rules = |count: usize| {
        move |detector: &mut Detector| {
            let names = (0..count).map(|number| (format!("rule-{number}"), crate::model::RuleMetrics::default()));
            detector.state.metrics.rules.extend(names);
        }
    };
    assert!(!forged(&rules(20)));
    assert!(forged(&rules(1_000)));
    let agent = |length: usize| {
        move |detector: &mut Detector| {
            detector.state.metrics.detections_by_agent.insert("ä".repeat(length), 1);
        }
    };
    assert!(!forged(&agent(64)));
    assert!(forged(&agent(65)));
}

#[test]
fn what_was_used_before_any_time_was_known_grows_idle_as_well() {
    for untimed in ["", r#"{"type":"failure","message":"zero","task":"z"}"#] {
        let mut detector = json::detector(r#"{"memory":{"idleMs":60000}}"#).unwrap();
        let failure = |what: &str, task: &str, at: u32| {
            ev(&format!(r#"{{"type":"failure","message":"{what}","task":"{task}","at":{at}}}"#))
        };
        if !untimed.is_empty() {
            let _ = detector.record(&ev(untimed)).unwrap();
        }
        let _ = detector.record(&failure("one", "a", 1000)).unwrap();
        for at in [50_000, 100_000, 150_000] {
            let _ = detector.record(&failure("two", "b", at)).unwrap();
        }
        let known = |task: &str| detector.status(&Scope { task: Some(task.into()), ..Scope::default() }).known;
        assert_eq!(["z", "a", "b"].map(known), [false, false, true], "{untimed}");
    }
}

#[test]
fn exempting_one_thing_again_and_again_takes_one_place() {
    let mut detector = json::detector("{}").unwrap();
    let pair = [
        r#"{"type":"tool-call","tool":"read","args":{"path":"a.rs"}}"#,
        r#"{"type":"tool-result","tool":"read","outcome":"ok","output":"of a"}"#,
    ];
    let mut record = |decisions: &[(&str, &str)]| {
        for (rule, signature) in decisions {
            let (rule, signature) = ((*rule).into(), (*signature).into());
            detector.acknowledge(&Scope::default(), &Decision::Exempt { rule, signature, until: None }).unwrap();
        }
        pair.map(|text| detector.record(&ev(text)).unwrap())
            .into_iter()
            .flat_map(|verdict| verdict.findings)
            .map(|found| (found.rule.clone(), found.signature.clone()))
            .last()
    };
    let found = (0..6).filter_map(|_| record(&[])).last().unwrap();
    assert_eq!(record(&[(&found.0, &found.1)]), None);
    assert_eq!(record(&[("cycle", "x"); 40]), None);
}

#[test]
fn replays_do_not_depend_on_the_names_of_agents() {
    use crate::state::agent_key;
    // Names that agree with `a` in the low or the high byte of their keys, and others.
    let of = |byte: usize, same: bool| {
        let byte_of = |name: &str| agent_key(name).to_le_bytes()[byte];
        (0..10_000).map(|n| format!("b{n}")).find(|name| (byte_of(name) == byte_of("a")) == same).unwrap()
    };
    let levels = [of(0, false), of(0, true), of(4, true), of(7, true)].map(|other| {
        let mut detector = json::detector("{}").unwrap();
        let mut most = Level::Continue;
        for n in 0..8 {
            let own = ("a", "call_aB3dE5gH7".into(), "x".into());
            for (agent, id, args) in [own, (&*other, format!("call_Zb{n}Kd9fQ{n}w"), format!("y{n}"))] {
                let who = format!(r#""tool":"read","callId":"{id}","agent":"{agent}""#);
                let call = format!(r#"{{"type":"tool-call",{who},"args":{{"p":"{args}"}}}}"#);
                let result = format!(r#"{{"type":"tool-result",{who},"outcome":"ok","output":"of {args}"}}"#);
                for text in [call, result] {
                    most = most.max(detector.record(&ev(&text)).unwrap().level);
                }
            }
        }
        most
    });
    assert_eq!(levels, [Level::Block; 4]);
}

#[test]
fn a_chunk_that_goes_on_is_refused_like_any_event() {
    let chunk = |place: &str| format!(r#"{{"type":"delta","text":"and so on, ","run":"a"{place}}}"#);
    for (field, place) in [
        ("at", r#","at":253402300800000"#),
        ("at", r#","at":-253402300800000"#),
        ("at", r#","at":-9223372036854775808"#),
        ("step", r#","step":18446744073709551615"#),
    ] {
        let mut detector = json::detector("{}").unwrap();
        for _ in 0..2 {
            detector.record(&json::event(&chunk("")).unwrap()).unwrap();
        }
        let before = detector.snapshot();
        let error = detector.record(&json::event(&chunk(place)).unwrap()).unwrap_err();
        assert_eq!((error.field.as_deref(), detector.snapshot() == before), (Some(field), true), "{place}");
    }
}
