// Prints one JSON object per line: {"name", "unit", "median", "best", "samples"}. Compared variants run interleaved in
// the same process, so that a busy machine slows them down alike. With --long, also the cost of an event after 10^3 and
// 10^6.
import { performance } from "node:perf_hooks";
import { LoopDetector } from "../dist/index.node.js";
import { PlainDetector } from "./plain.mjs";
import { starts } from "./start.mjs";

const SAMPLES = 25;
const WORDS =
  "cart price total test expected received undefined at line module import file null state user order".split(" ");

/** The generator of `benches/support/workload.rs`: returns a function for the next number below a limit. */
function numbers(seed) {
  let state = (Math.imul(seed, 2654435761) + 1) >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
}

const padded = (number, width, radix = 10) => number.toString(radix).padStart(width, "0");

/** Generators of outputs, piece by piece. */
const KINDS = {
  prose(below) {
    const word = WORDS[below(16)];
    const number = below(7 * 997);
    return word + (number % 7 === 0 ? `:${number}\n` : " ");
  },
  JSON(below, made) {
    const [id, name, state, size, done] = [below(100_000), WORDS[below(16)], WORDS[below(16)], below(9000), !below(2)];
    const row = { id, name: `${name}-${id}`, state, size, done };
    return (made === "" ? "[" : ",") + JSON.stringify(row);
  },
  log(below) {
    const time = `12:${padded(below(60), 2)}:${padded(below(60), 2)}.${padded(below(1000), 3)}`;
    const [module, request, what, took] = [WORDS[below(16)], below(1 << 24), WORDS[below(16)], below(400)];
    return `2026-07-26T${time}Z INFO [${module}] request_id=${padded(request, 8, 16)} ${what} done in ${took}ms\n`;
  },
};

/** Text of at least a length, different for every seed and the same in every run. */
function text(kind, length, seed) {
  const below = numbers(seed);
  let made = "";
  while (made.length < length) made += KINDS[kind](below, made);
  return kind === "JSON" ? `${made}]` : made;
}

let calls = 0;

/** Calls with 200 bytes of arguments and their results: honest work without repetition, of which one in eight fails. */
function pairs(kind, count, output) {
  return Array.from({ length: count }, () => {
    const seed = ++calls;
    const callId = `call_${seed}`;
    const args = { path: `src/part-${seed}.ts`, mode: "replace", text: text("prose", 150, seed) };
    const outcome = seed % 8 === 7 ? "error" : "ok";
    return [
      { type: "tool-call", tool: "edit_file", callId, args },
      { type: "tool-result", tool: "edit_file", callId, outcome, output: text(kind, output, seed + 1) },
    ];
  });
}

const SYLLABLES = "ba con der est fi gor hal in jo ker lun mi nor op pra tis".split(" ");

/** Generators of streamed text without repetition, piece by piece. */
const STREAMS = {
  prose: (below, word) => word() + (below(12) === 0 ? ".\n" : " "),
  code: (below, word) => `    let ${word()} = ${word()}(&${word()}, ${below(900)});\n`,
  CJK: (below) => (below(15) === 0 ? "。" : String.fromCharCode(0x4e00 + below(3000))),
};

function streamed(kind, length) {
  const below = numbers(7);
  const word = () => Array.from({ length: 1 + below(3) }, () => SYLLABLES[below(16)]).join("");
  let made = kind === "code" ? "```rust\n" : "";
  while (made.length < length) made += STREAMS[kind](below, word);
  return made;
}

const feed = (detector, events) => {
  for (const [call, result] of events) {
    detector.record(call);
    detector.record(result);
  }
};

/** Nanoseconds per turn. */
function time(turns, run) {
  const start = performance.now();
  run();
  return ((performance.now() - start) * 1e6) / turns;
}

function print(name, values, unit = "ns") {
  const sorted = values.toSorted((a, b) => a - b);
  const median = Math.round(sorted[sorted.length >> 1]);
  const best = unit.endsWith("/s") ? sorted.at(-1) : sorted[0];
  console.log(JSON.stringify({ name, unit, median, best: Math.round(best), samples: values.length }));
}

const sample = (turns, run) =>
  Array.from({ length: SAMPLES }, () =>
    time(turns, () => {
      for (let turn = 0; turn < turns; turn++) run();
    }),
  );

for (const [label, output, turns] of [
  ["1 KB", 1024, 400],
  ["20 KB", 20480, 60],
]) {
  for (const kind of Object.keys(KINDS)) {
    const [npm, npmText, plain] = [new LoopDetector(), new LoopDetector(), new PlainDetector()];
    const times = { npm: [], npmText: [], check: [], plain: [] };
    for (let round = -3; round < SAMPLES; round++) {
      const events = pairs(kind, turns, output);
      const texts = events.map((pair) => pair.map((event) => JSON.stringify(event)));
      const taken = {
        check: time(turns, () => {
          for (const [call] of events) npm.check(call);
        }),
        npm: time(turns, () => feed(npm, events)),
        plain: time(turns, () => feed(plain, events)),
        npmText: time(turns, () => feed(npmText, texts)),
      };
      // The first rounds only warm up.
      if (round >= 0) for (const [name, value] of Object.entries(taken)) times[name].push(value);
    }
    print(`npm: call and result, ${kind}, ${label}`, times.npm);
    print(`npm: call and result as text, ${kind}, ${label}`, times.npmText);
    print(`npm: check of a call, ${kind}, ${label}`, times.check);
    print(`plain JavaScript: call and result, ${kind}, ${label}`, times.plain);
    if (kind === "prose" && label === "1 KB") {
      const bytes = npm.snapshot();
      print(
        "npm: construction",
        sample(200, () => new LoopDetector().free()),
      );
      print(
        "npm: snapshot, a typical run",
        sample(100, () => npm.snapshot()),
      );
      print(
        "npm: restore, a typical run",
        sample(100, () => LoopDetector.restore(bytes).free()),
      );
    }
  }
}

for (const kind of Object.keys(STREAMS)) {
  const whole = streamed(kind, 200_000);
  const bytes = new TextEncoder().encode(whole).length;
  for (const [label, size] of [
    ["tokens", 5],
    ["large pieces", 4096],
  ]) {
    const deltas = Array.from({ length: Math.ceil(whole.length / size) }, (_, at) => ({
      type: "delta",
      channel: "text",
      text: whole.slice(at * size, (at + 1) * size),
    }));
    const times = Array.from({ length: SAMPLES }, () => {
      const detector = new LoopDetector();
      const taken = time(1, () => {
        for (const delta of deltas) detector.record(delta);
      });
      detector.free();
      return taken;
    });
    const rates = (amount) => times.map((nanoseconds) => (amount * 1000) / nanoseconds);
    print(`npm: characters streamed, ${kind} in ${label}`, rates(whole.length * 1000), "k/s");
    print(`npm: bytes streamed, ${kind} in ${label}`, rates(bytes), "MB/s");
    if (label === "tokens") {
      print(
        `npm: delta, ${kind} in ${label}`,
        times.map((nanoseconds) => nanoseconds / deltas.length),
      );
    }
  }
}

for (const [name, times] of Object.entries(starts())) print(name, times);

if (process.argv.includes("--long")) {
  const detector = new LoopDetector();
  let fed = 0;
  for (const [label, after] of [
    ["10^3", 1e3],
    ["10^6", 1e6],
  ]) {
    for (; fed < after; fed += 1000) feed(detector, pairs("prose", 500, 1024));
    const times = Array.from({ length: SAMPLES }, () => {
      const events = pairs("prose", 400, 1024);
      return time(400, () => feed(detector, events));
    });
    print(`npm: call and result, prose, 1 KB, after ${label} events`, times);
  }
}
