//! What is measured, the same through every door: `js/bench/bench.mjs` makes the same texts.

use loopwarden::json;
use loopwarden::model::{Body, Channel, Context, Delta, Event};
use std::{env, time::Instant};

/// Calls with their results, ready to be recorded.
pub(crate) type Pairs = Vec<(Event, Event)>;

/// Bytes of an output and how many pairs are measured at once.
pub(crate) const SIZES: [(&str, usize, usize); 2] = [("1 KB", 1024, 400), ("20 KB", 20_480, 60)];
/// Characters of a streamed text, and of its pieces: as models send them, and large ones, where only the text counts.
pub(crate) const STREAMED: usize = 200_000;
pub(crate) const PIECES: [(&str, usize); 2] = [("tokens", 5), ("large pieces", 4096)];

/// Measurements of each thing; the median counts.
const SAMPLES: u128 = 25;
const WORDS: [&str; 16] = [
    "cart",
    "price",
    "total",
    "test",
    "expected",
    "received",
    "undefined",
    "at",
    "line",
    "module",
    "import",
    "file",
    "null",
    "state",
    "user",
    "order",
];

/// Numbers that look random, the same on every run and in JavaScript.
struct Numbers(u32);

impl Numbers {
    fn new(seed: usize) -> Self {
        Self((seed as u32).wrapping_mul(2_654_435_761).wrapping_add(1))
    }

    /// Below `limit`. From the upper bits: the lower ones of such a generator hardly change.
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) % limit
    }

    fn word(&mut self) -> &'static str {
        WORDS.get(self.below(16) as usize).copied().unwrap_or_default()
    }
}

/// What an output looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Prose,
    Json,
    Log,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Prose, Self::Json, Self::Log];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Json => "JSON",
            Self::Log => "log",
        }
    }

    /// Text of at least a length in bytes, different for every seed.
    pub(crate) fn text(self, length: usize, seed: usize) -> String {
        let mut numbers = Numbers::new(seed);
        let mut made = String::new();
        while made.len() < length {
            match self {
                Self::Prose => {
                    made.push_str(numbers.word());
                    let number = numbers.below(7 * 997);
                    if number.is_multiple_of(7) { made.push_str(&format!(":{number}\n")) } else { made.push(' ') }
                }
                Self::Json => {
                    let open = if made.is_empty() { '[' } else { ',' };
                    let (id, name, state) = (numbers.below(100_000), numbers.word(), numbers.word());
                    let (size, done) = (numbers.below(9000), numbers.below(2) == 0);
                    made.push_str(&format!(
                        r#"{open}{{"id":{id},"name":"{name}-{id}","state":"{state}","size":{size},"done":{done}}}"#
                    ));
                }
                Self::Log => {
                    let (minute, second, ms) = (numbers.below(60), numbers.below(60), numbers.below(1000));
                    let (module, request) = (numbers.word(), numbers.below(1 << 24));
                    let (what, took) = (numbers.word(), numbers.below(400));
                    made.push_str(&format!(
                        "2026-07-26T12:{minute:02}:{second:02}.{ms:03}Z INFO [{module}] request_id={request:08x} \
                         {what} done in {took}ms\n"
                    ));
                }
            }
        }
        if matches!(self, Self::Json) {
            made.push(']');
        }
        made
    }
}

/// JSON text of calls with about 200 bytes of arguments, each with its result: healthy work, no two alike, one in eight
/// fails.
pub(crate) fn healthy(kind: Kind, first: usize, count: usize, output: usize) -> Vec<(String, String)> {
    let pair = |id: usize| {
        let outcome = if id % 8 == 7 { "error" } else { "ok" };
        (call(id, id), result(id, outcome, &kind.text(output, id + 1)))
    };
    (first..first + count).map(pair).collect()
}

/// The same of an agent that turns in circles: sixteen calls take turns, and every one fails as it did before.
pub(crate) fn looping(first: usize, count: usize, output: usize) -> Vec<(String, String)> {
    let outputs: Vec<_> = (0..16).map(|seed| Kind::Prose.text(output, seed + 1)).collect();
    let pair = |(id, output): (usize, &String)| (call(id, id % 16), result(id, "error", output));
    (first..first + count).zip(outputs.iter().cycle()).map(pair).collect()
}

fn call(id: usize, seed: usize) -> String {
    let args = quoted(&Kind::Prose.text(150, seed));
    format!(
        r#"{{"type":"tool-call","tool":"edit_file","callId":"call_{id}","args":{{"path":"src/part-{seed}.ts","mode":"replace","text":{args}}}}}"#
    )
}

fn result(id: usize, outcome: &str, output: &str) -> String {
    let output = quoted(output);
    format!(
        r#"{{"type":"tool-result","tool":"edit_file","callId":"call_{id}","outcome":"{outcome}","output":{output}}}"#
    )
}

/// The generated texts hold nothing else that JSON escapes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\\\"").replace('\n', "\\n"))
}

/// What is streamed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    Prose,
    Code,
    Cjk,
}

impl Stream {
    pub(crate) const ALL: [Self; 3] = [Self::Prose, Self::Code, Self::Cjk];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Code => "code",
            Self::Cjk => "CJK",
        }
    }

    /// Text of at least a number of characters that says something new all the time.
    pub(crate) fn text(self, characters: usize) -> String {
        const SYLLABLES: [&str; 16] =
            ["ba", "con", "der", "est", "fi", "gor", "hal", "in", "jo", "ker", "lun", "mi", "nor", "op", "pra", "tis"];
        let mut numbers = Numbers::new(7);
        let mut made = String::new();
        let mut count = 0;
        let word = |numbers: &mut Numbers| {
            let syllables = 1 + numbers.below(3);
            (0..syllables).filter_map(|_| SYLLABLES.get(numbers.below(16) as usize).copied()).collect::<String>()
        };
        while count < characters {
            let part = match self {
                Self::Prose => {
                    let end = match numbers.below(12) {
                        0 => ".\n",
                        1 => ", ",
                        _ => " ",
                    };
                    word(&mut numbers) + end
                }
                Self::Code => {
                    let (name, function, argument) = (word(&mut numbers), word(&mut numbers), word(&mut numbers));
                    format!("    let {name} = {function}(&{argument}, {});\n", numbers.below(900))
                }
                Self::Cjk => match numbers.below(15) {
                    0 => "。".to_owned(),
                    _ => char::from_u32(0x4e00 + numbers.below(3000)).map(String::from).unwrap_or_default(),
                },
            };
            count += part.chars().count();
            made.push_str(&part);
        }
        if matches!(self, Self::Code) { format!("```rust\n{made}") } else { made }
    }
}

/// The events of a text that is streamed in pieces of a number of characters.
pub(crate) fn deltas(text: &str, characters: usize) -> Vec<Event> {
    let all: Vec<char> = text.chars().collect();
    let delta = |piece: &[char]| {
        let body = Body::Delta(Delta { channel: Some(Channel::Text), text: piece.iter().collect() });
        Event { body, context: Context::default() }
    };
    all.chunks(characters).map(delta).collect()
}

pub(crate) fn typed(pairs: &[(String, String)]) -> Pairs {
    pairs.iter().filter_map(|(call, result)| Some((json::event(call).ok()?, json::event(result).ok()?))).collect()
}

/// Makes every call and result one that was not there before: else they would be replays or repetitions.
pub(crate) fn number(pairs: &mut Pairs, calls: &mut u64) {
    for (call, result) in pairs {
        *calls += 1;
        let id = Some(format!("call_{calls}"));
        if let (Body::ToolCall(call), Body::ToolResult(result)) = (&mut call.body, &mut result.body) {
            call.call_id.clone_from(&id);
            call.args = Some(serde_json::json!({"path": format!("src/part-{calls}.ts"), "mode": "replace"}));
            result.call_id = id;
        }
    }
}

/// Whether the command line asks for a measurement: for those whose name holds its argument, or for all.
pub(crate) fn wanted(name: &str) -> bool {
    // Cargo adds `--bench`.
    env::args().skip(1).filter(|argument| !argument.starts_with("--")).all(|part| name.contains(&part))
}

/// Measures a run of `turns` turns and prints its row. Neither making its input is measured nor freeing it.
pub(crate) fn measure<T>(name: &str, turns: u128, prepare: impl FnMut() -> T, run: impl FnMut(&T)) {
    if wanted(name) {
        print(name, "ns", times(prepare, run).into_iter().map(|nanoseconds| nanoseconds / turns).collect());
    }
}

/// The same where `amount` of something is taken in: how much in a second, in thousands for a unit that begins with `k`,
/// else in millions.
pub(crate) fn rate<T>(name: &str, unit: &str, amount: u128, prepare: impl FnMut() -> T, run: impl FnMut(&T)) {
    if wanted(name) {
        let scale = if unit.starts_with('k') { 1_000_000 } else { 1000 };
        let rates = times(prepare, run).into_iter().map(|nanoseconds| amount * scale / nanoseconds.max(1));
        print(name, unit, rates.collect());
    }
}

fn times<T>(mut prepare: impl FnMut() -> T, mut run: impl FnMut(&T)) -> Vec<u128> {
    let mut times = Vec::new();
    for _ in 0..SAMPLES + 3 {
        let input = prepare();
        let begin = Instant::now();
        run(&input);
        times.push(begin.elapsed().as_nanos());
    }
    // The first rounds only warm up.
    times.drain(..3);
    times
}

/// Prints one row as a JSON object, in the form of `js/bench/bench.mjs`. The best of a rate is the highest.
pub(crate) fn print(name: &str, unit: &str, mut values: Vec<u128>) {
    values.sort_unstable();
    let ends = [values.first(), values.last()].map(|value| value.copied().unwrap_or_default());
    let best = if unit.ends_with("/s") { ends[1] } else { ends[0] };
    let (median, samples) = (values.get(values.len() / 2).copied().unwrap_or_default(), values.len());
    println!(r#"{{"name":"{name}","unit":"{unit}","median":{median},"best":{best},"samples":{samples}}}"#);
}
