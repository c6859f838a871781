// What a detector in JavaScript comes to that is told the events on standard input, a line each: a digest over all
// snapshots, one each 10,000 events, from which it goes on. `cargo xtask prove` compares it with the native one.

import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { LoopDetector } from "../dist/index.node.js";

const all = createHash("sha256");
let detector = new LoopDetector();
let events = 0;
for await (const line of createInterface({ input: process.stdin })) {
  detector.record(JSON.parse(line));
  events++;
  if (events % 10_000 === 0) {
    const snapshot = detector.snapshot();
    all.update(snapshot);
    detector.free();
    detector = LoopDetector.restore(snapshot);
  }
}
all.update(detector.snapshot());
console.log(`${events} events: ${all.digest("hex")}`);
