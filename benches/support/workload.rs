//! What is measured, the same through every door: `js/bench/bench.mjs` makes the same texts.

use std::time::Instant;

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

/// Text of a length in bytes, different for every seed; the same on every run.
fn text(length: usize, seed: u32) -> String {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut made = String::new();
    while made.len() < length {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        made.push_str(WORDS.iter().cycle().nth((state % 16) as usize).copied().unwrap_or_default());
        if state.is_multiple_of(7) {
            made.push_str(&format!(":{}\n", state % 997));
        } else {
            made.push(' ');
        }
    }
    made.truncate(length);
    made
}

/// JSON text of calls with about 200 bytes of arguments, each with its result; sixteen kinds take turns.
pub(crate) fn pairs(first: usize, count: usize, output: usize) -> Vec<(String, String)> {
    let kinds: Vec<_> = (0..16).map(|seed| (quoted(&text(150, seed)), quoted(&text(output, seed + 16)))).collect();
    let pair = |(index, (args, output)): (usize, &(String, String))| {
        let (id, path) = (first + index, format!("src/part-{}.ts", index % 16));
        (
            format!(
                r#"{{"type":"tool-call","tool":"edit_file","callId":"call_{id}","args":{{"path":"{path}","mode":"replace","text":{args}}}}}"#
            ),
            format!(
                r#"{{"type":"tool-result","tool":"edit_file","callId":"call_{id}","outcome":"error","exitCode":1,"output":{output}}}"#
            ),
        )
    };
    kinds.iter().cycle().take(count).enumerate().map(pair).collect()
}

/// The generated texts hold nothing that JSON escapes but line ends.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\n', "\\n"))
}

/// Measures a run of `turns` turns and prints its row. Neither making its input is measured nor freeing it.
pub(crate) fn measure<T>(name: &str, turns: u128, mut prepare: impl FnMut() -> T, mut run: impl FnMut(&T)) {
    let mut times = Vec::new();
    for _ in 0..SAMPLES + 3 {
        let input = prepare();
        let begin = Instant::now();
        run(&input);
        times.push(begin.elapsed().as_nanos() / turns);
    }
    // The first rounds only warm up.
    times.drain(..3);
    print(name, "ns", times);
}

/// Prints one row as a JSON object, in the form of `js/bench/bench.mjs`.
pub(crate) fn print(name: &str, unit: &str, mut values: Vec<u128>) {
    values.sort_unstable();
    let (best, median) = (values.first().copied().unwrap_or_default(), values.get(values.len() / 2).copied());
    let (median, samples) = (median.unwrap_or_default(), values.len());
    println!(r#"{{"name":"{name}","unit":"{unit}","median":{median},"best":{best},"samples":{samples}}}"#);
}
