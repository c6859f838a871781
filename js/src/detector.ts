import { Core } from "../glue/loopwarden.js";
import { call } from "./core.ts";
import { LoopwardenError } from "./errors.ts";
import type {
  Config,
  Decision,
  Event,
  Graph,
  LoopRecord,
  Metrics,
  Report,
  ResetReason,
  Scope,
  Status,
  Verdict,
} from "./generated/types.ts";

/** The longest accepted text, in UTF-16 code units: what the core can surely parse within its 4 GiB of memory. */
const MAX_TEXT = 32 * 1024 * 1024;

/**
 * Tells when an agent is stuck in a loop: feed it what happens, act on the verdicts.
 *
 * Deterministic: no clock, no randomness, no input or output; time comes from the events. Equal events give equal
 * verdicts, byte for byte, on every platform. One detector may watch many runs, kept apart by the events' `run`.
 *
 * @example
 * const detector = new LoopDetector();
 * const verdict = detector.check({ type: "tool-call", tool: "read_file", args: { path: "a.ts" } });
 * if (verdict.level !== "continue") console.log(verdict.guidance);
 */
export class LoopDetector {
  #core: Core | undefined;

  /**
   * A detector with no history.
   *
   * @param config - An empty object, or nothing, is the recommended configuration. Text is taken as JSON.
   * @throws {LoopwardenError} `invalid-config` or `invalid-json`, naming the field that is unknown, contradicts
   * another one or can never be reached.
   */
  constructor(config: Config | string = {}) {
    // `restore` comes through here as well, with a core that is already made.
    if (config instanceof Core) {
      this.#core = config;
      return;
    }
    const text = json(config, "invalid-config");
    this.#core = call(() => new Core(text));
  }

  /**
   * Appends an event and judges it.
   *
   * An object is serialised with `JSON.stringify`, so that fields that are `undefined` are left out; text is taken as
   * the JSON of an event and passed through as it is.
   *
   * @throws {LoopwardenError} `invalid-event`, `unknown-event` or `invalid-json`, naming the field; the state is then
   * exactly as it was. `invalid-event` also for what JSON cannot carry (a cycle, a `bigint`) and for more than
   * 33,554,432 UTF-16 code units.
   */
  record(event: Event | string): Verdict {
    const core = this.#live();
    const text = json(event, "invalid-event");
    return JSON.parse(call(() => core.record(text)));
  }

  /**
   * Judges an event that has not happened yet (a tool call about to run, a phase about to be entered) and changes
   * nothing: the same answer as `record`, but for the state.
   *
   * @throws {LoopwardenError} As {@link LoopDetector.record}.
   */
  check(event: Event | string): Verdict {
    const core = this.#live();
    const text = json(event, "invalid-event");
    return JSON.parse(call(() => core.check(text)));
  }

  /**
   * Where a scope stands: level, evidence per rule, budgets left.
   *
   * @param scope - The default scope where absent.
   * @throws {LoopwardenError} `invalid-argument`, naming the field.
   */
  status(scope: Scope = {}): Status {
    const core = this.#live();
    const text = json(scope, "invalid-argument");
    return JSON.parse(call(() => core.status(text)));
  }

  /**
   * Forgets the evidence of a scope, because its task is done or its context has changed.
   *
   * @returns The telemetry records of the counters that went back to zero.
   * @throws {LoopwardenError} `invalid-argument`, naming the field.
   */
  reset(scope: Scope, reason: ResetReason): LoopRecord[] {
    const core = this.#live();
    const text = json(scope, "invalid-argument");
    return JSON.parse(call(() => core.reset(text, String(reason))));
  }

  /**
   * Takes a human's answer at a gate.
   *
   * @returns The telemetry records of the counters that went back to zero.
   * @throws {LoopwardenError} `invalid-argument`, naming the field.
   */
  acknowledge(scope: Scope, decision: Decision): LoopRecord[] {
    const core = this.#live();
    const [where, what] = [json(scope, "invalid-argument"), json(decision, "invalid-argument")];
    return JSON.parse(call(() => core.acknowledge(where, what)));
  }

  /**
   * Gives a run its workflow, in place of the configured or learned one.
   *
   * @throws {LoopwardenError} `invalid-argument`, naming the node or edge that is wrong; the workflow is then as it was.
   */
  declareGraph(scope: Scope, graph: Graph): void {
    const core = this.#live();
    const [where, what] = [json(scope, "invalid-argument"), json(graph, "invalid-argument")];
    call(() => core.declareGraph(where, what));
  }

  /**
   * The whole state, configuration included: versioned, compact and free of payloads, but for the last 3 KB at most of a
   * text that is streaming (`delta`) when it is taken. For hosts that keep no memory between calls.
   */
  snapshot(): Uint8Array<ArrayBuffer> {
    const core = this.#live();
    // The glue copies the bytes out of the core's memory into a buffer of their own.
    return call(() => core.snapshot()) as Uint8Array<ArrayBuffer>;
  }

  /**
   * A detector from a snapshot: it goes on exactly as the one that made it would have.
   *
   * @throws {LoopwardenError} `invalid-snapshot` when the bytes are truncated, foreign or corrupt, `snapshot-version`
   * when another version wrote them.
   */
  static restore(snapshot: Uint8Array): LoopDetector {
    if (!(snapshot instanceof Uint8Array)) {
      throw new LoopwardenError({ code: "invalid-snapshot", message: "expected a Uint8Array", field: "snapshot" });
    }
    return new LoopDetector(call(() => Core.restore(snapshot)) as unknown as Config);
  }

  /** The escalation report of a scope: Markdown for a person, by default, or an object for a program. */
  report(scope?: Scope, format?: "markdown"): string;
  report(scope: Scope | undefined, format: "json"): Report;
  report(scope: Scope = {}, format: "markdown" | "json" = "markdown"): string | Report {
    const core = this.#live();
    const where = json(scope, "invalid-argument");
    const text = call(() => core.report(where, String(format)));
    return format === "json" ? JSON.parse(text) : text;
  }

  /** Counters for dashboards, since the detector was made. */
  metrics(): Metrics {
    const core = this.#live();
    return JSON.parse(call(() => core.metrics()));
  }

  /**
   * Gives the detector's memory back; the garbage collector does so in the end for detectors that nobody freed.
   * Afterwards every method throws `disposed`, except this one, which does nothing.
   */
  free(): void {
    this.#core?.free();
    this.#core = undefined;
  }

  /** Does what {@link LoopDetector.free} does, at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.free();
  }

  #live(): Core {
    if (this.#core) return this.#core;
    throw new LoopwardenError({ code: "disposed", message: "this detector was freed" });
  }
}

/** The JSON text of an argument, or an error that says why there is none. */
function json(value: unknown, code: "invalid-config" | "invalid-event" | "invalid-argument"): string {
  let text: string | undefined;
  try {
    text = typeof value === "string" ? value : JSON.stringify(value);
  } catch (cause) {
    const message = `cannot be written as JSON: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new LoopwardenError({ code, message }, { cause });
  }
  if (text === undefined) {
    throw new LoopwardenError({ code, message: "expected an object", value: typeof value });
  }
  if (text.length > MAX_TEXT) {
    throw new LoopwardenError({ code, message: `longer than ${MAX_TEXT} characters`, value: `${text.length}` });
  }
  return text;
}
