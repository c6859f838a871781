// Prints one JSON object a line: {"name", "unit", "median", "best", "samples"}. What is compared runs in the same process,
// turn by turn, so that a busy machine slows both down alike. With --long, also the cost of an event after 10^3 and 10^6.
import { performance } from "node:perf_hooks";
import { LoopDetector } from "../dist/index.js";
import { PlainDetector } from "./plain.mjs";

const SAMPLES = 25;
const WORDS =
  "cart price total test expected received undefined at line module import file null state user order".split(" ");

/** Text of a length, different for every seed; the same on every run. */
function text(length, seed) {
  let state = seed * 2654435761 + 1;
  let made = "";
  while (made.length < length) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    made += `${WORDS[state % WORDS.length]}${state % 7 === 0 ? `:${state % 997}\n` : " "}`;
  }
  return made.slice(0, length);
}

let calls = 0;

/** Calls with 200 bytes of arguments and their results: healthy work, no two alike, one in eight fails. */
function pairs(count, output) {
  return Array.from({ length: count }, () => {
    const seed = ++calls;
    const callId = `call_${seed}`;
    const args = { path: `src/part-${seed}.ts`, mode: "replace", text: text(150, seed) };
    const outcome = seed % 8 === 0 ? "error" : "ok";
    return [
      { type: "tool-call", tool: "edit_file", callId, args },
      { type: "tool-result", tool: "edit_file", callId, outcome, output: text(output, seed) },
    ];
  });
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
  console.log(JSON.stringify({ name, unit, median, best: Math.round(sorted[0]), samples: values.length }));
}

for (const [label, output, turns] of [
  ["1 KB", 1024, 400],
  ["20 KB", 20480, 60],
]) {
  const [npm, npmText, plain] = [new LoopDetector(), new LoopDetector(), new PlainDetector()];
  const times = { npm: [], npmText: [], plain: [] };
  for (let sample = -3; sample < SAMPLES; sample++) {
    const events = pairs(turns, output);
    const texts = events.map((pair) => pair.map((event) => JSON.stringify(event)));
    const taken = {
      npm: time(turns, () => feed(npm, events)),
      plain: time(turns, () => feed(plain, events)),
      npmText: time(turns, () => feed(npmText, texts)),
    };
    // The first rounds only warm up.
    if (sample >= 0) for (const [name, value] of Object.entries(taken)) times[name].push(value);
  }
  print(`npm: call and result, ${label}`, times.npm);
  print(`npm: call and result as text, ${label}`, times.npmText);
  print(`plain JavaScript: call and result, ${label}`, times.plain);
  if (label === "1 KB") {
    const sample = (turns, run) =>
      Array.from({ length: SAMPLES }, () =>
        time(turns, () => {
          for (let turn = 0; turn < turns; turn++) run();
        }),
      );
    const bytes = npm.snapshot();
    print(
      "npm: construction",
      sample(200, () => new LoopDetector().free()),
    );
    print(
      "npm: snapshot",
      sample(100, () => npm.snapshot()),
    );
    print(
      "npm: restore",
      sample(100, () => LoopDetector.restore(bytes).free()),
    );
    print("npm: snapshot size", [bytes.length], "bytes");
  }
}

if (process.argv.includes("--long")) {
  const detector = new LoopDetector();
  let fed = 0;
  for (const [label, after] of [
    ["10^3", 1e3],
    ["10^6", 1e6],
  ]) {
    for (; fed < after; fed += 1000) feed(detector, pairs(500, 1024));
    const times = Array.from({ length: SAMPLES }, () => {
      const events = pairs(400, 1024);
      return time(400, () => feed(detector, events));
    });
    print(`npm: call and result, 1 KB, after ${label} events`, times);
  }
}
