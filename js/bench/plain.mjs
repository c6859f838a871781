// The baseline of the benchmark, a typical first implementation: canonical JSON, SHA-256, three identical in a row.
import { createHash } from "node:crypto";

const THRESHOLD = 3;

export class PlainDetector {
  #pending = new Map();
  #last = "";
  #count = 0;

  record(event) {
    if (event.type === "tool-call") {
      this.#pending.set(event.callId, `${event.tool}\0${canonical(event.args)}`);
      return { loop: false, count: 0 };
    }
    const call = this.#pending.get(event.callId);
    this.#pending.delete(event.callId);
    const key = createHash("sha256").update(call).update("\0").update(event.output).digest("hex");
    this.#count = key === this.#last ? this.#count + 1 : 1;
    this.#last = key;
    return { loop: this.#count >= THRESHOLD, count: this.#count };
  }
}

/** JSON with sorted keys. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
}
