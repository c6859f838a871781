// What a door answers to many events, as digests that are compared with the native library's: one over the verdicts of each
// 1,000 events, and one over the metrics and the snapshot after each 10,000, from which it goes on. `tests/support/blocks.rs`
// does the same. Pure: it runs wherever JavaScript does.
import type { Event } from "../src/generated/types.ts";
import type { Door } from "./run.ts";

/** Events of a digest of verdicts. */
const BLOCK = 1000;
/** Events of a digest of the state; what is told at once. */
export const CHUNK = 10_000;

/** What came of telling some events. */
export interface Told {
  digests: string[];
  /** From which the next events go on. */
  snapshot: Uint8Array;
  /** Milliseconds that the events alone took, from the call to the verdict's text. */
  spent: number;
}

/** Tells a door events, at most `CHUNK`; without a snapshot they are the first ones. */
export async function tell(door: Door, events: readonly string[], snapshot?: Uint8Array): Promise<Told> {
  const detector = snapshot ? door.restore(snapshot) : door.open("");
  const digests: string[] = [];
  let spent = 0;
  for (let from = 0; from < events.length; from += BLOCK) {
    const begun = performance.now();
    const verdicts = events.slice(from, from + BLOCK).map((event) => `${detector.record(event)}\n`);
    spent += performance.now() - begun;
    digests.push(await digest(new TextEncoder().encode(verdicts.join(""))));
  }
  const metrics = new TextEncoder().encode(detector.metrics());
  const state = detector.snapshot();
  const both = new Uint8Array(metrics.length + state.length);
  both.set(metrics);
  both.set(state, metrics.length);
  digests.push(await digest(both));
  detector.free();
  return { digests, snapshot: state, spent };
}

async function digest(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(sum, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What this file needs of the package's class. */
interface Package {
  new (): Detector;
  restore(snapshot: Uint8Array): Detector;
}

interface Detector {
  record(event: Event): unknown;
  metrics(): unknown;
  snapshot(): Uint8Array;
  free(): void;
}

/** The door that hosts use: events are objects, and so are verdicts. */
export function objectDoor(LoopDetector: Package): Door {
  const handle = (detector: Detector): ReturnType<Door["open"]> => {
    const none = (): never => {
      throw new Error("nobody asks for this here");
    };
    return {
      record: (event) => JSON.stringify(detector.record(JSON.parse(event))),
      check: none,
      status: none,
      report: none,
      metrics: () => JSON.stringify(detector.metrics()),
      snapshot: () => detector.snapshot(),
      free: () => detector.free(),
    };
  };
  return { open: () => handle(new LoopDetector()), restore: (snapshot) => handle(LoopDetector.restore(snapshot)) };
}
