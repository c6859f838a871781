//! Operations in orders that no host intends: a reset or an older snapshot between a call and its result, ends without
//! beginnings, colliding ids, extreme clocks. The component must answer what the library answers.

use crate::COMPONENT;
use crate::conformance::{list, same_view, swap};
use crate::hostile::Random;
use loopwarden::model::{Event, Level, ReportFormat, ResetReason, Scope};
use loopwarden::{Detector, json};
use loopwarden_host_tests::{Limits, Sandbox};
use std::collections::BTreeMap;

const CONFIGS: [&str; 4] = [
    "",
    r#"{"preset":"sensitive","attended":false,"memory":{"maxRuns":2,"idleMs":60000}}"#,
    r#"{"mode":"shadow","budgets":{"maxIterations":40,"maxRuntimeMs":90000},"privacy":{"payloads":"none","salt":"eleven letters"}}"#,
    r#"{"preset":"conservative","memory":{"maxRuns":3,"maxBytes":1048576},"rules":{"output-similarity":{"enabled":true}}}"#,
];

/// Each may come at any place; most lack what should precede them.
const EVENTS: [&str; 27] = [
    r#""type":"tool-call","tool":"edit","args":{"path":"a.rs","old":"x","new":"y"}"#,
    r#""type":"tool-call","tool":"edit","args":{"path":"a.rs","old":"x","new":"y"},"callId":"c1""#,
    r#""type":"tool-call","tool":"search","args":{"q":"rust"},"callId":"""#,
    r#""type":"tool-call","tool":"search","args":{"q":"rust"},"callId":"c1","readOnly":true"#,
    r#""type":"tool-call","tool":"bash","rawArgs":"{oops","callId":"c2""#,
    r#""type":"tool-call","tool":"edit","args":{"path":"a.rs"},"rawArgs":"{oops""#,
    r#""type":"tool-result","tool":"edit","outcome":"error","output":"the text to replace was not found""#,
    r#""type":"tool-result","outcome":"error","output":"the text to replace was not found","callId":"c1""#,
    r#""type":"tool-result","tool":"search","outcome":"ok","output":"no results""#,
    r#""type":"tool-result","tool":"search","outcome":"ok","output":"no results","callId":"c1","synthetic":true"#,
    r#""type":"tool-result","outcome":"denied","output":"refused","callId":"never-made""#,
    r#""type":"tool-result","tool":"never-called","outcome":"timeout","output":"","callId":"""#,
    r#""type":"delta","channel":"reasoning","text":"wait, wait, wait, wait, ""#,
    r#""type":"delta","text":"the the the ""#,
    r#""type":"output","text":"I will look at it again.""#,
    r#""type":"message","role":"assistant","text":"Let me try that once more, as before.""#,
    r#""type":"message","role":"user","text":"go on""#,
    r#""type":"failure","message":"out of memory in worker 7","errorType":"resource""#,
    r#""type":"progress","tests":{"failing":3,"total":9,"coverage":61.25},"diff":"+ one line""#,
    r#""type":"evaluation","verdict":"regressing","reasoning":"no better","confidence":650"#,
    r#""type":"attempt","status":"blocked","blockers":["no key"],"session":"s1""#,
    r#""type":"transition","from":"review","to":"fix""#,
    r#""type":"turn","node":"coder","finalMessage":"done","tokens":11"#,
    r#""type":"delivery","from":"coder","to":"verifier""#,
    r#""type":"collaboration","from":"b1","to":"b2","request":"please look at it""#,
    r#""type":"host","kind":"compaction""#,
    r#""type":"host","kind":"run-start""#,
];

/// Times in milliseconds from a broken clock.
const CLOCKS: [i64; 10] = [i64::MIN, -1, 0, 1, 999, 60_001, 1_790_000_000_000, 1 << 46, 253_402_300_799_999, i64::MAX];

const DECISIONS: [&str; 5] = [
    r#"{"decision":"continue"}"#,
    r#"{"decision":"stop"}"#,
    r#"{"decision":"exempt","rule":"repeated-call","signature":"edit"}"#,
    r#"{"decision":"exempt","rule":"no-such-rule","signature":"edit"}"#,
    r#"{"decision":"exempt","rule":"repeated-error","signature":"edit","until":-9223372036854775808}"#,
];

const GRAPHS: [&str; 3] = [
    r#"{"nodes":["coder","verifier"],"edges":[{"from":"coder","to":"verifier"},{"from":"verifier","to":"coder"}]}"#,
    r#"{"nodes":["coder"],"edges":[{"from":"coder","to":"nobody"}]}"#,
    r#"{"nodes":[],"edges":[]}"#,
];

/// One detector behind each door, and snapshots of earlier states.
struct Pair {
    native: Detector,
    sandbox: Sandbox,
    earlier: Vec<Vec<u8>>,
}

impl Pair {
    fn new(config: &str) -> Self {
        let sandbox = COMPONENT.sandbox(config, Limits::default()).unwrap().unwrap();
        Self { native: json::detector(config).unwrap(), sandbox, earlier: Vec::new() }
    }

    /// Records or checks an event on both sides and returns the level. A check or a rejected event changes nothing.
    fn event(&mut self, event: &Event, asked: bool, place: &str) -> Option<Level> {
        let before = self.native.snapshot();
        let (expected, answer) = if asked {
            (self.native.check(event), self.sandbox.check(event).unwrap_or_else(|trap| panic!("{place}: {trap:?}")))
        } else {
            (self.native.record(event), self.sandbox.record(event).unwrap_or_else(|trap| panic!("{place}: {trap:?}")))
        };
        let text = |answer: &Result<_, _>| match answer {
            Ok(verdict) => json::to_string(verdict),
            Err(error) => json::to_string(error),
        };
        assert_eq!(text(&answer), text(&expected), "{place}");
        if asked || expected.is_err() {
            assert_eq!(self.native.snapshot(), before, "{place}: changed the library's state");
            assert_eq!(self.sandbox.snapshot().unwrap(), before, "{place}: changed the component's state");
        }
        expected.ok().map(|verdict| verdict.level)
    }

    /// Restores both from an earlier state, as after a crash: everything since then is undone.
    fn rewind(&mut self, draw: usize, place: &str) {
        let Some(bytes) = self.earlier.get(draw % self.earlier.len().max(1)) else { return };
        self.native = Detector::restore(bytes).unwrap();
        self.sandbox.restore(bytes).unwrap().unwrap_or_else(|error| panic!("{place}: {error}"));
    }
}

fn event(random: &mut Random) -> Event {
    let mut event = crate::event(&format!("{{{}}}", random.one_of(&EVENTS)));
    let context = &mut event.context;
    let mut named = |names: &[&str]| Some(random.one_of(names)).filter(|name| !name.is_empty()).map(Into::into);
    context.run = named(&["", "", "", "r1", "r2", "r3"]);
    context.task = named(&["", "", "t1", "t2"]);
    context.agent = named(&["", "", "a1", "a2"]);
    context.round = named(&["", "", "", "o1", "o2"]);
    if random.byte() < 64 {
        context.at = Some(random.one_of(&CLOCKS));
    }
    if random.byte() < 16 {
        context.step = Some(random.one_of(&[0, 1, u64::from(u32::MAX), u64::MAX - 1]));
        (context.tokens, context.cost_micros) = (Some(u64::MAX), Some(u64::MAX));
    }
    event
}

fn scope(random: &mut Random) -> Scope {
    let mut named = |names: &[&str]| Some(random.one_of(names)).filter(|name| !name.is_empty()).map(Into::into);
    Scope {
        run: named(&["", "", "r1", "r2", "r9"]),
        task: named(&["", "", "t1"]),
        agent: named(&["", "", "a1"]),
        ..Scope::default()
    }
}

fn play(seed: u64, operations: usize, reached: &mut BTreeMap<String, usize>) {
    let mut random = Random(seed);
    let mut pair = Pair::new(random.one_of(&CONFIGS));
    // A loop only shows if something repeats.
    let mut stuck = event(&mut random);
    for number in 0..operations {
        let place = format!("seed {seed}, operation {number}");
        let kind = random.byte();
        let reached_now = match kind {
            0..=127 => {
                let event = if kind < 64 { stuck.clone() } else { event(&mut random) };
                let level = pair.event(&event, false, &format!("{place}: {event:?}"));
                level.map_or_else(|| "refused".to_owned(), |level| format!("{level:?}"))
            }
            128..=175 => {
                let event = if kind < 152 { stuck.clone() } else { event(&mut random) };
                let level = pair.event(&event, true, &format!("{place}: {event:?}"));
                format!("asked, {level:?}")
            }
            176..=187 => {
                let scope = scope(&mut random);
                let reason =
                    random.one_of(&[ResetReason::TaskCompleted, ResetReason::HumanIntervention, ResetReason::Manual]);
                let expected = json::to_string(&pair.native.reset(&scope, reason));
                assert_eq!(list(&pair.sandbox.reset(&scope, reason).unwrap()), expected, "{place}: reset of {scope:?}");
                "reset".to_owned()
            }
            188..=199 => {
                let (scope, decision) = (scope(&mut random), random.one_of(&DECISIONS));
                let expected = json::acknowledge(&mut pair.native, &json::to_string(&scope), decision);
                let answer = pair.sandbox.acknowledge(&scope, decision).unwrap().map(|records| list(&records));
                assert_eq!(answer, expected, "{place}: {decision} for {scope:?}");
                if expected.is_ok() { "acknowledged" } else { "not acknowledged" }.to_owned()
            }
            200..=205 => {
                let (scope, graph) = (scope(&mut random), random.one_of(&GRAPHS));
                let expected = json::declare_graph(&mut pair.native, &json::to_string(&scope), graph);
                assert_eq!(pair.sandbox.declare_graph(&scope, graph).unwrap(), expected, "{place}: {graph}");
                if expected.is_ok() { "declared" } else { "not declared" }.to_owned()
            }
            206..=217 => {
                pair.earlier.push(pair.native.snapshot());
                "kept".to_owned()
            }
            218..=226 => {
                pair.rewind(usize::from(random.byte()), &place);
                "rewound".to_owned()
            }
            227..=232 => {
                swap(&mut pair.native, &mut pair.sandbox, &place);
                "swapped".to_owned()
            }
            233..=236 => {
                let bytes = pair.sandbox.snapshot().unwrap();
                let cut = usize::from(random.byte()) * bytes.len() / 256;
                let refused = pair.sandbox.restore(bytes.get(..cut).unwrap()).unwrap();
                assert!(refused.is_err(), "{place}: half a snapshot was taken");
                assert_eq!(pair.sandbox.snapshot().unwrap(), bytes, "{place}: and the detector is another");
                "half restored".to_owned()
            }
            237..=244 => {
                same_view(&pair.native, &mut pair.sandbox, &scope(&mut random), &place);
                "looked at".to_owned()
            }
            _ => {
                stuck = event(&mut random);
                "something else".to_owned()
            }
        };
        *reached.entry(reached_now).or_default() += 1;
    }
    let last = format!("seed {seed}, at the end");
    same_view(&pair.native, &mut pair.sandbox, &Scope::default(), &last);
    swap(&mut pair.native, &mut pair.sandbox, &last);
    assert!(!pair.sandbox.report(&Scope::default(), ReportFormat::Markdown).unwrap().is_empty());
}

#[test]
fn operations_in_any_order() {
    let mut reached = BTreeMap::new();
    for seed in 1..=32 {
        play(seed, 400, &mut reached);
    }
    // The random choices are good ones: each outcome occurred several times.
    for what in [
        "Continue",
        "Observe",
        "Nudge",
        "Block",
        "Gate",
        "Halt",
        "refused",
        "asked, Some(Block)",
        "asked, None",
        "reset",
        "acknowledged",
        "not acknowledged",
        "declared",
        "not declared",
        "rewound",
        "swapped",
        "half restored",
    ] {
        assert!(reached.get(what).is_some_and(|times| *times >= 3), "{what}: {reached:?}");
    }
}

/// A call, two operations in between, and its result: every ordered pair of operations once.
#[test]
fn anything_between_a_call_and_its_result() {
    let call = crate::event(r#"{"type":"tool-call","tool":"edit","args":{"path":"a.rs"},"callId":"c1","at":1000}"#);
    let result = crate::event(
        r#"{"type":"tool-result","outcome":"error","output":"the text to replace was not found","callId":"c1","at":1001}"#,
    );
    type Between = fn(&mut Pair, &str);
    let betweens: [(&str, Between); 9] = [
        ("nothing", |_, _| {}),
        ("reset", |pair, place| {
            let expected = json::to_string(&pair.native.reset(&Scope::default(), ResetReason::Manual));
            assert_eq!(list(&pair.sandbox.reset(&Scope::default(), ResetReason::Manual).unwrap()), expected, "{place}");
        }),
        ("swap", |pair, place| swap(&mut pair.native, &mut pair.sandbox, place)),
        ("rewind", |pair, place| pair.rewind(0, place)),
        ("the call again", |pair, place| {
            let call =
                crate::event(r#"{"type":"tool-call","tool":"edit","args":{"path":"a.rs"},"callId":"c1","at":1000}"#);
            pair.event(&call, false, place);
        }),
        ("run-start", |pair, place| {
            pair.event(&crate::event(r#"{"type":"host","kind":"run-start","at":1000}"#), false, place);
        }),
        ("the end of time", |pair, place| {
            let mut event = crate::event(r#"{"type":"output","text":"done"}"#);
            event.context.at = Some(253_402_300_799_999);
            pair.event(&event, false, place);
        }),
        ("another call of that id", |pair, place| {
            pair.event(&crate::event(r#"{"type":"tool-call","tool":"read","args":{},"callId":"c1"}"#), false, place);
        }),
        ("eight that wait", |pair, place| {
            for number in 0..8 {
                let call =
                    format!(r#"{{"type":"tool-call","tool":"read","args":{{"n":{number}}},"callId":"w{number}"}}"#);
                pair.event(&crate::event(&call), false, place);
            }
        }),
    ];
    for (one, first) in betweens {
        for (two, second) in betweens {
            let mut pair = Pair::new("");
            pair.earlier.push(pair.native.snapshot());
            for round in 0..12 {
                let place = format!("{one}, then {two}, round {round}");
                pair.event(&call, false, &place);
                first(&mut pair, &place);
                second(&mut pair, &place);
                pair.event(&result, false, &place);
                // And again: a result of a call that was answered already.
                pair.event(&result, false, &place);
            }
            same_view(&pair.native, &mut pair.sandbox, &Scope::default(), one);
            swap(&mut pair.native, &mut pair.sandbox, one);
        }
    }
}
