// Streams of server-sent events as an enemy may send them: cut anywhere, in chunks as small as they get.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SseReader } from "../src/proxy/sse.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function read(stream: Uint8Array, size: number) {
  const reader = new SseReader();
  const events = [];
  for (let at = 0; at < stream.length; at += size)
    for (const { event, end } of reader.read(stream.subarray(at, at + size))) events.push({ event, end: end + at });
  return events;
}

test("events are the same however a stream is cut", () => {
  const stream = bytes("event: a\ndata: 1\n\n: c\n\ndata: é日\r\ndata: 2\r\n\r\nx\n\n\ndata:3\n\ndata: open");
  const whole = read(stream, stream.length);
  assert.deepEqual(
    whole.map(({ event }) => event),
    [
      { event: "a", data: "1" },
      { event: undefined, data: "é日\n2" },
      { event: undefined, data: "3" },
    ],
  );
  for (let size = 1; size < stream.length; size += 1) assert.deepEqual(read(stream, size), whole, `${size} bytes`);
});

test("a long event in small chunks costs what its bytes cost", () => {
  const line = `data: ${"x".repeat(57)}\n`;
  const stream = bytes(`${line.repeat(100_000)}\n`);
  const begin = performance.now();
  assert.equal(read(stream, 64)[0]?.event.data.length, 100_000 * 58 - 1);
  // With all that is held copied for each chunk it is minutes.
  const took = performance.now() - begin;
  assert.ok(took < 10_000, `${took} ms`);
});

test("an event has its limit", () => {
  const piece = bytes("x".repeat(65_536));
  const reader = new SseReader();
  assert.throws(() => {
    for (let at = 0; at < 9 << 20; at += piece.length) assert.deepEqual([...reader.read(piece)], []);
  }, /longer than 8388608 bytes/);
});
