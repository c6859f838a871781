//! Long outputs are left unread until a similar one comes: loops with volatile outputs are still found as early as if
//! everything were read at once, as it is when the user configures volatile patterns.

use loopwarden::model::{Level, Verdict};
use loopwarden::{Detector, json};
use serde_json::{Map, Value, json};

/// Words that differ for every seed.
fn words(count: usize, seed: usize) -> String {
    const WORDS: [&str; 23] = [
        "apples", "barley", "cloves", "dates", "elder", "figs", "grapes", "hazel", "iris", "juniper", "kale", "limes",
        "melons", "nuts", "olives", "pears", "quinces", "rye", "sage", "thyme", "umbels", "violets", "walnuts",
    ];
    let mut number = seed * 7919 + 17;
    let word = |_| {
        number = (number * 48_271) % 2_147_483_647;
        WORDS[number / 8 % 23]
    };
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

/// Forms of an output. Each is about `size` words long and, for equal seeds, equal but for volatile parts that depend
/// on `turn`.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Prose,
    Log,
    List,
    Object,
}

const KINDS: [Kind; 4] = [Kind::Prose, Kind::Log, Kind::List, Kind::Object];

fn output(kind: Kind, size: usize, seed: usize, turn: usize) -> String {
    // In the middle of a long text every byte counts, and so does its position.
    let width = if size < 1000 { 1 } else { 5 };
    let (second, ms) = (turn % 60, format!("{:0width$}", 3 + turn * 997 % 20_000));
    match kind {
        Kind::Prose => format!(
            "{} found on 2026-07-26T12:00:{second:02}Z, {}, took {ms}ms for {}",
            words(15, seed),
            words(size - 30, seed + 1),
            words(15, seed + 2)
        ),
        Kind::Log => {
            let lines = size / 7;
            let line = |at: usize| {
                let (second, ms) = if (20..lines - 20.min(lines)).contains(&at) { (0, "1") } else { (second, &*ms) };
                format!("12:01:{second:02}.{turn:03} INFO [shop] {} in {ms}ms\n", words(7, seed * 31 + at))
            };
            (0..lines).map(line).collect()
        }
        Kind::List => {
            let entry =
                |at: usize| json!({"name": words(2, seed * 31 + at), "seen": words(3, seed * 37 + at), "tookMs": ms});
            json!((0..size / 5).map(entry).collect::<Vec<_>>()).to_string()
        }
        Kind::Object => {
            let entry = |at: usize| json!({"name": words(2, seed * 31 + at), "took": format!("{ms}ms"), "at": at});
            let items: Vec<_> = (0..size / 3).map(entry).collect();
            json!({"about": words(4, seed), "items": items, "requestId": format!("req-{turn}"), "shop": words(5, seed)})
                .to_string()
        }
    }
}

/// One call of a loop and its result, at a turn.
type Pair = (Value, Value);

fn pair(at: usize, output: String, context: &Map<String, Value>) -> Pair {
    let mut call = json!({"type": "tool-call", "tool": "fetch", "args": {"url": format!("https://example.org/{at}")}});
    let mut result = json!({"type": "tool-result", "tool": "fetch", "outcome": "ok", "output": output});
    for event in [&mut call, &mut result] {
        event.as_object_mut().unwrap().extend(context.clone());
    }
    (call, result)
}

/// A loop of `period` calls.
fn turns(kind: Kind, size: usize, period: usize, count: usize) -> Vec<Pair> {
    (0..count).map(|turn| pair(turn % period, output(kind, size, turn % period * 101, turn), &Map::new())).collect()
}

fn record(detector: &mut Detector, event: &Value) -> Verdict {
    let event = json::event(&event.to_string()).unwrap();
    let checked = detector.check(&event).unwrap();
    let verdict = detector.record(&event).unwrap();
    assert_eq!(checked, verdict);
    verdict
}

fn both(detector: &mut Detector, (call, result): &Pair) -> Level {
    record(detector, call).level.max(record(detector, result).level)
}

const LEAVES: &str = "{}";
const READS_ALL: &str = r#"{"patterns": {"volatile": ["in no output"]}}"#;

/// The level of every turn.
fn levels(config: &str, pairs: &[Pair]) -> Vec<Level> {
    let mut detector = json::detector(config).unwrap();
    pairs.iter().map(|pair| both(&mut detector, pair)).collect()
}

const SIZES: [usize; 4] = [110, 300, 1000, 3000];

#[test]
fn what_changes_by_itself_hides_no_loop() {
    for kind in KINDS {
        for period in 1..=3 {
            for size in SIZES {
                let pairs = turns(kind, size, period, 14 * period);
                let (read, left) = (levels(READS_ALL, &pairs), levels(LEAVES, &pairs));
                assert!(read.iter().any(|level| *level >= Level::Nudge), "{kind:?}, {size}, {period}");
                // JSON above 8 KB is not kept, so it counts from its second turn.
                if size <= 300 || matches!(kind, Kind::Prose | Kind::Log) {
                    assert_eq!(left, read, "{kind:?}, {size} words, period {period}");
                } else {
                    assert!(left[period..] == read[..13 * period], "{kind:?}, {size}, {period}: {left:?}, {read:?}");
                }
            }
        }
    }
}

#[test]
fn longer_laps_are_told_one_lap_later_at_most() {
    for kind in KINDS {
        for (size, period) in SIZES.into_iter().flat_map(|size| [(size, 5), (size, 8)]) {
            let pairs = turns(kind, size, period, 14 * period);
            let (read, left) = (levels(READS_ALL, &pairs), levels(LEAVES, &pairs));
            for least in [Level::Nudge, Level::Block] {
                let first = |levels: &[Level]| levels.iter().position(|level| *level >= least);
                let late = first(&left).zip(first(&read)).map(|(left, read)| left.saturating_sub(read));
                assert!(
                    first(&read).is_none() || late.is_some_and(|late| late <= period),
                    "{kind:?}, {size}, {period}: {left:?}, {read:?}"
                );
            }
        }
    }
}

#[test]
fn what_differs_is_no_repetition() {
    for kind in KINDS {
        for size in SIZES {
            // The same call with a different answer each time: the ends are equal, but a word in the middle is not.
            let pairs: Vec<Pair> = (0..16)
                .map(|turn| {
                    let text = output(kind, size, 7, turn);
                    let middle = text.floor_char_boundary(text.len() / 2);
                    let at = middle + text[middle..].find(|char: char| char.is_ascii_lowercase()).unwrap();
                    let other = format!("{}{}{}", &text[..at], words(12, turn), &text[at..]);
                    pair(0, other, &Map::new())
                })
                .collect();
            let levels = levels(LEAVES, &pairs);
            assert!(levels.iter().all(|level| *level <= Level::Nudge), "{kind:?}, {size}: {levels:?}");
        }
    }
}

#[test]
fn a_snapshot_anywhere_changes_nothing() {
    for kind in KINDS {
        for (size, period) in [(110, 1), (300, 2), (1000, 3), (300, 5), (110, 30)] {
            let mut whole = json::detector("{}").unwrap();
            let mut stored = json::detector("{}").unwrap();
            for (turn, pair) in turns(kind, size, period, 40).iter().enumerate() {
                for event in [&pair.0, &pair.1] {
                    assert_eq!(record(&mut whole, event), record(&mut stored, event), "{kind:?}, {size}, {turn}");
                    if turn % 3 != 1 {
                        stored = Detector::restore(&stored.snapshot()).unwrap();
                    }
                    let (one, other) = (whole.metrics(), stored.metrics());
                    assert_eq!((one.bytes, one.events), (other.bytes, other.events), "{kind:?}, {size}, {turn}");
                    // Repeatable: the next snapshot reads the same.
                    assert!(whole.snapshot() == stored.snapshot(), "{kind:?}, {size}, {turn}");
                }
            }
        }
    }
}

#[test]
fn others_at_work_hide_no_loop() {
    let of = |name: &str, value: &str| Map::from_iter([(name.to_string(), Value::from(value))]);
    for kind in KINDS {
        for size in [110, 300] {
            let looping = |context: &Map<String, Value>| -> Vec<Pair> {
                (0..14).map(|turn| pair(0, output(kind, size, 5, turn), context)).collect()
            };
            // Another task, or another run: each knows only its own outputs.
            for name in ["task", "run"] {
                let alone = levels(READS_ALL, &looping(&of(name, "a")));
                let mut detector = json::detector("{}").unwrap();
                for (turn, one) in looping(&of(name, "a")).iter().enumerate() {
                    for other in 0..4 {
                        let seed = 1000 + turn * 4 + other;
                        let healthy = pair(seed, output(kind, size, seed, turn), &of(name, "b"));
                        assert_eq!(both(&mut detector, &healthy), Level::Continue, "{kind:?}, {size}, {name}");
                    }
                    assert_eq!(both(&mut detector, one), alone[turn], "{kind:?}, {size}, {name}, turn {turn}");
                }
            }
        }
    }
}

#[test]
fn results_in_any_order() {
    for kind in KINDS {
        let told = |config: &str| {
            let mut detector = json::detector(config).unwrap();
            let one = |turn: usize| {
                let pairs: Vec<Pair> = (0..2)
                    .map(|at| {
                        let id = Map::from_iter([("callId".to_string(), Value::from(format!("call_{turn}_{at}")))]);
                        pair(at, output(kind, 200, at * 13, turn), &id)
                    })
                    .collect();
                let mut level = Level::Continue;
                pairs.iter().for_each(|(call, _)| level = level.max(record(&mut detector, call).level));
                let mut results: Vec<&Value> = pairs.iter().map(|(_, result)| result).collect();
                if turn % 3 == 1 {
                    results.reverse();
                }
                results.iter().for_each(|result| level = level.max(record(&mut detector, result).level));
                level
            };
            (0..14).map(one).collect::<Vec<_>>()
        };
        let (read, left) = (told(READS_ALL), told(LEAVES));
        assert!(read.iter().max() >= Some(&Level::Nudge), "{kind:?}: {read:?}");
        assert_eq!(left, read, "{kind:?}");
    }
}

#[test]
fn what_an_object_says_counts_however_long_it_is() {
    // Waiting triples the thresholds.
    let answer = |state: &str, turn: usize| {
        let lines: Vec<String> = (0..40).map(|line| format!("{} {line}", words(5, line))).collect();
        json!({"job": "nightly", "name": words(4, 3), "who": words(4, 9), "lines": lines, "status": state, "tookMs": turn})
    };
    let polled = |state: &str| {
        let pairs: Vec<Pair> = (0..8).map(|turn| pair(0, answer(state, turn).to_string(), &Map::new())).collect();
        levels(LEAVES, &pairs).iter().position(|level| *level >= Level::Nudge)
    };
    let (running, done) = (polled("running"), polled("done"));
    assert!(done.is_some() && running.is_none_or(|running| running > done.unwrap()), "{running:?}, {done:?}");
}
