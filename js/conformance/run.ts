// Compares what a front door answers with what the native library answered to the same scenarios, byte for byte. Pure:
// it runs wherever JavaScript does.

/** One scenario and the native library's answers, as `cargo xtask test` writes them. */
export interface Expected {
  id: string;
  /** The configuration's text; blank for the recommended one. */
  config: string;
  events: { pending: boolean; text: string }[];
  /** The text of each event's verdict, or `{"error":{…}}` where it was refused. */
  verdicts: string[];
  /** After the last event, of the default scope. */
  status: string;
  metrics: string;
  report: string;
  markdown: string;
  /** Hexadecimal; taken before the event in the middle. */
  snapshot: string;
}

/** A front door, reduced to texts. */
export interface Door {
  open(config: string): Handle;
  restore(snapshot: Uint8Array): Handle;
}

/** A detector behind a front door. A refused event throws something whose JSON is the error's record. */
export interface Handle {
  record(event: string): string;
  check(event: string): string;
  status(): string;
  metrics(): string;
  report(format: "markdown" | "json"): string;
  snapshot(): Uint8Array;
  free(): void;
}

/** The answer to an event that a door has no way to ask about. */
export const UNASKED: unique symbol = Symbol("unasked");

/** What came of a comparison: how much was compared, how much could not be asked, and every difference. */
export interface Outcome {
  scenarios: number;
  answers: number;
  unasked: number;
  differences: string[];
}

/** Runs every scenario through a door. Half way the detector goes through a snapshot. */
export function compare(door: Door, lines: readonly Expected[]): Outcome {
  const outcome: Outcome = { scenarios: lines.length, answers: 0, unasked: 0, differences: [] };
  for (const line of lines) {
    const differ = (what: string, got: string, expected: string) => {
      outcome.answers++;
      if (got !== expected) outcome.differences.push(`${line.id}: ${what}\n  got      ${got}\n  expected ${expected}`);
    };
    let detector = door.open(line.config);
    let snapshot = detector.snapshot();
    for (const [index, event] of line.events.entries()) {
      if (index === Math.floor(line.events.length / 2)) {
        snapshot = detector.snapshot();
        detector.free();
        detector = door.restore(snapshot);
      }
      const verdict = answer(detector, event);
      if (verdict === UNASKED) outcome.unasked++;
      else differ(`event ${index}`, verdict, line.verdicts[index] ?? "");
    }
    differ("status", detector.status(), line.status);
    differ("metrics", detector.metrics(), line.metrics);
    differ("report", detector.report("json"), line.report);
    differ("markdown", detector.report("markdown"), line.markdown);
    differ("snapshot", hex(snapshot), line.snapshot);
    detector.free();
  }
  return outcome;
}

function answer(detector: Handle, event: { pending: boolean; text: string }): string | typeof UNASKED {
  try {
    return event.pending ? detector.check(event.text) : detector.record(event.text);
  } catch (error) {
    return error === UNASKED ? UNASKED : JSON.stringify({ error });
  }
}

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** What this file needs of the package's class. */
interface Package {
  new (
    config: string,
  ): {
    record(event: string): unknown;
    check(event: string): unknown;
    status(): unknown;
    metrics(): unknown;
    report(scope: undefined, format: "json"): unknown;
    report(scope: undefined, format: "markdown"): string;
    snapshot(): Uint8Array;
    free(): void;
  };
  restore(snapshot: Uint8Array): InstanceType<Package>;
}

/** The door of the npm package. Its answers are objects: they are compared as the text that they make. */
export function packageDoor(LoopDetector: Package): Door {
  const handle = (detector: InstanceType<Package>): Handle => ({
    record: (event) => JSON.stringify(detector.record(event)),
    check: (event) => JSON.stringify(detector.check(event)),
    status: () => JSON.stringify(detector.status()),
    metrics: () => JSON.stringify(detector.metrics()),
    report: (format) =>
      format === "json" ? JSON.stringify(detector.report(undefined, format)) : detector.report(undefined, format),
    snapshot: () => detector.snapshot(),
    free: () => detector.free(),
  });
  return {
    open: (config) => handle(new LoopDetector(config)),
    restore: (snapshot) => handle(LoopDetector.restore(snapshot)),
  };
}
