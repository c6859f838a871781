// The overhead of the proxy: milliseconds until a request is sent on, by length of the conversation; microseconds per
// chunk of a streaming answer; memory by number of conversations. Prints one JSON object per line, like bench.mjs. Run
// it with --expose-gc, so that only live memory is counted.
import { performance } from "node:perf_hooks";
import { createLoopProxy, MemoryCache } from "../dist/proxy.js";

/** Number of turns of a conversation that are measured. */
const TURNS = 20;

const WORDS = "cart price total test expected received undefined line module import file null state user order".split(
  " ",
);

/** Text of at least a length, different for every seed. */
function text(length, seed) {
  let [made, state] = ["", (seed * 2654435761 + 1) >>> 0];
  while (made.length < length) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    made += `${WORDS[(state >>> 8) % 15]}${state % 7 === 0 ? `:${state % 997}\n` : " "}`;
  }
  return made.slice(0, length);
}

/** A conversation of Chat Completions: a call with 200 bytes of arguments and its result of 1 KB, turn after turn. */
function conversation(messages, seed = 0) {
  const all = [
    { role: "system", content: text(4000, seed) },
    { role: "user", content: `Fix it, please: ${seed}.` },
  ];
  for (let turn = 0; all.length < messages; turn++) {
    const id = `call_${turn}`;
    const args = JSON.stringify({ path: `src/part-${turn}.ts`, text: text(150, seed + turn) });
    const call = { id, type: "function", function: { name: "edit_file", arguments: args } };
    all.push({ role: "assistant", content: null, tool_calls: [call] });
    all.push({ role: "tool", tool_call_id: id, content: text(1024, seed + turn + 7) });
  }
  return all;
}

const body = (messages) => new TextEncoder().encode(JSON.stringify({ model: "bench", stream: true, messages }));
const request = (bytes) =>
  new Request("http://localhost/v1/chat/completions", { method: "POST", body: bytes, duplex: "half" });

function print(name, values, unit) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share) => Number(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(4));
  console.log(JSON.stringify({ name, unit, median: at(0.5), p99: at(0.99), samples: values.length }));
}

/** Milliseconds from a request to upstream: of a further request of a conversation, and of its first one. */
async function latency(length, enabled, samples) {
  let reached = 0;
  const proxy = createLoopProxy({
    upstream: "http://upstream.test",
    enabled,
    fetch: async () => {
      reached = performance.now();
      return new Response(null);
    },
  });
  const [times, first] = [[], []];
  // Conversations of a few turns around that length; the first request of each brings it to that length.
  for (let number = -5; number < samples / TURNS; number++) {
    const all = conversation(length + TURNS + 2, number + 5);
    for (let turn = 0; turn <= TURNS; turn++) {
      const bytes = body(all.slice(0, length - TURNS + 2 * turn));
      await new Promise((resolve) => setImmediate(resolve));
      const began = performance.now();
      await proxy(request(bytes));
      if (number >= 0) (turn > 0 ? times : first).push(reached - began);
    }
  }
  return { times, first };
}

/** Microseconds per chunk of a streaming answer. */
async function streaming(enabled, samples) {
  const chunks = Array.from({ length: 2000 }, (_, index) =>
    new TextEncoder().encode(
      `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: { content: text(12, index) }, finish_reason: null }] })}\n\n`,
    ),
  );
  const times = [];
  for (let sample = -2; sample < samples; sample++) {
    let next = 0;
    const proxy = createLoopProxy({
      upstream: "http://upstream.test",
      enabled,
      fetch: async () =>
        new Response(
          new ReadableStream(
            { pull: (to) => (next < chunks.length ? to.enqueue(chunks[next++]) : to.close()) },
            { highWaterMark: 0 },
          ),
          { headers: { "content-type": "text/event-stream" } },
        ),
    });
    const reader = (await proxy(request(body(conversation(4))))).body.getReader();
    for (;;) {
      const began = performance.now();
      const { done } = await reader.read();
      if (done) break;
      if (sample >= 0) times.push((performance.now() - began) * 1000);
    }
    if (next < chunks.length) throw new Error("the bench's own text is no runaway");
  }
  return times;
}

for (const [what, length, enabled, samples] of [
  ["a request of 500 messages, judged", 500, true, 400],
  ["a request of 500 messages, passed on unread", 500, false, 400],
  ["a request of 50 messages, judged", 50, true, 400],
]) {
  const { times, first } = await latency(length, enabled, samples);
  print(what, times, "ms");
  print(`${what}, of a conversation that is new to it`, first, "ms");
}
print("a chunk, judged", await streaming(true, 10), "us");
print("a chunk, passed on unread", await streaming(false, 10), "us");

const cache = new MemoryCache();
const proxy = createLoopProxy({ upstream: "http://upstream.test", cache, fetch: async () => new Response(null) });
for (let number = 1; number <= 10_000; number++) {
  const all = conversation(12, number);
  for (const length of [4, 8, 12]) await proxy(request(body(all.slice(0, length))));
  if (number % 2000 !== 0) continue;
  await new Promise((resolve) => setTimeout(resolve, 20));
  globalThis.gc?.();
  await new Promise((resolve) => setTimeout(resolve, 20));
  globalThis.gc?.();
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage();
  const megabytes = (bytes) => Math.round(bytes / 1e5) / 10;
  console.log(
    JSON.stringify({
      name: `memory after ${number} conversations`,
      unit: "MB",
      rss: megabytes(rss),
      heap: megabytes(heapUsed),
      buffers: megabytes(arrayBuffers),
      cache: megabytes(cache.bytes),
    }),
  );
}
