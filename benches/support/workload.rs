//! The workload, the same for every interface: `js/bench/bench.mjs` generates the same texts.

use loopwarden::json;
use loopwarden::model::{Body, Channel, Context, Delta, Event};
use std::{env, time::Instant};

/// Calls with their results, ready to be recorded.
pub(crate) type Pairs = Vec<(Event, Event)>;

/// Bytes of an output, and pairs measured at once.
pub(crate) const SIZES: [(&str, usize, usize); 2] = [("1 KB", 1024, 400), ("20 KB", 20_480, 60)];
/// Characters of a streamed text and of its chunks: small ones as sent by models, and large ones whose cost is
/// dominated by the text.
pub(crate) const STREAMED: usize = 200_000;
pub(crate) const PIECES: [(&str, usize); 2] = [("tokens", 5), ("large pieces", 4096)];

/// Measurements per row, of which the median is reported.
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

/// A pseudo-random generator that gives the same sequence on every run and in JavaScript.
struct Numbers(u32);

impl Numbers {
    fn new(seed: usize) -> Self {
        Self((seed as u32).wrapping_mul(2_654_435_761).wrapping_add(1))
    }

    /// A number below `limit`, from the upper bits: the lower ones of such a generator vary little.
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) % limit
    }

    fn word(&mut self) -> &'static str {
        WORDS.get(self.below(16) as usize).copied().unwrap_or_default()
    }
}

/// The kind of content of an output.
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

    /// A text of at least `length` bytes, different for every seed.
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

/// JSON texts of calls with about 200 bytes of arguments, each with its result: healthy work in which no two are the
/// same and one in eight fails.
pub(crate) fn healthy(kind: Kind, first: usize, count: usize, output: usize) -> Vec<(String, String)> {
    let pair = |id: usize| {
        let outcome = if id % 8 == 7 { "error" } else { "ok" };
        (call(id, id), result(id, outcome, &kind.text(output, id + 1)))
    };
    (first..first + count).map(pair).collect()
}

/// Calls of an agent that goes in circles: sixteen calls in turn, each of which fails as it did before.
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

/// Escapes the only characters of the generated texts that JSON requires to be escaped.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\\\"").replace('\n', "\\n"))
}

/// The kind of text that is streamed.
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

    /// A text of at least `characters` characters that never repeats itself.
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

/// The events of a text streamed in chunks of `characters` characters.
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

/// Gives every call and result a new id and new arguments, so that none is a replay or a repetition.
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

/// Whether the command line selects a measurement: all of them without an argument, otherwise those whose name contains
/// it.
pub(crate) fn wanted(name: &str) -> bool {
    // Cargo adds `--bench`.
    env::args().skip(1).filter(|argument| !argument.starts_with("--")).all(|part| name.contains(&part))
}

/// Measures `turns` turns and prints a row in nanoseconds per turn. Preparing the input and freeing it are not
/// measured.
pub(crate) fn measure<T>(name: &str, turns: u128, prepare: impl FnMut() -> T, run: impl FnMut(&T)) {
    if wanted(name) {
        print(name, "ns", times(prepare, run).into_iter().map(|nanoseconds| nanoseconds / turns).collect());
    }
}

/// Measures the processing of `amount` units and prints the rate per second: in thousands if `unit` begins with `k`,
/// otherwise in millions.
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
    // The first three rounds are for warming up.
    times.drain(..3);
    times
}

/// Prints a row as a JSON object, in the format of `js/bench/bench.mjs`. The best value of a rate is the highest, of a
/// time the lowest.
pub(crate) fn print(name: &str, unit: &str, mut values: Vec<u128>) {
    values.sort_unstable();
    let ends = [values.first(), values.last()].map(|value| value.copied().unwrap_or_default());
    let best = if unit.ends_with("/s") { ends[1] } else { ends[0] };
    let (median, samples) = (values.get(values.len() / 2).copied().unwrap_or_default(), values.len());
    println!(r#"{{"name":"{name}","unit":"{unit}","median":{median},"best":{best},"samples":{samples}}}"#);
}
