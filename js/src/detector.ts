import { Core } from "../glue/loopwarden.js";
import { json, text } from "./arguments.ts";
import { core as module } from "./core.ts";
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
import { judge, renew } from "./wire.ts";

/** Whether `restore` hands this over. A proxy may throw when it is asked what it is. */
function isCore(value: unknown): value is Core {
  try {
    return value instanceof Core;
  } catch {
    return false;
  }
}

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
  /** Why there is no core. */
  #gone = "this detector was freed";
  #code: "disposed" | "internal" = "disposed";
  readonly #alive = (): Core => this.#live();

  /**
   * A detector with no history.
   *
   * @param config - An empty object, or nothing, is the recommended configuration. Text is taken as JSON.
   * @throws {LoopwardenError} `invalid-config` or `invalid-json`, naming the field that is unknown, contradicts
   * another one or can never be reached.
   */
  constructor(config: Config | string = {}) {
    // `restore` comes through here as well, with a core that is already made.
    if (isCore(config)) {
      this.#core = config;
      return;
    }
    module.exports();
    const text = json(config, "invalid-config");
    this.#core = module.call(() => new Core(text));
  }

  /**
   * Appends an event and judges it.
   *
   * Of an object counts what `JSON.stringify` would write of it, so that fields that are `undefined` are left out and
   * `NaN` and infinities are `null`; text is taken as the JSON of an event and passed through as it is.
   *
   * @throws {LoopwardenError} `invalid-event`, `unknown-event` or `invalid-json`, naming the field; the state is then
   * exactly as it was. `invalid-event` also for what JSON cannot carry (a cycle, a `bigint`) and for more than
   * 33,554,432 UTF-16 code units.
   */
  record(event: Event | string): Verdict {
    try {
      return judge(this.#alive, event, true);
    } catch (thrown) {
      throw this.#thrown(thrown);
    }
  }

  /**
   * Judges an event that has not happened yet (a tool call about to run, a phase about to be entered) and changes
   * nothing: the same answer as `record`, but for the state.
   *
   * @throws {LoopwardenError} As {@link LoopDetector.record}.
   */
  check(event: Event | string): Verdict {
    try {
      return judge(this.#alive, event, false);
    } catch (thrown) {
      throw this.#thrown(thrown);
    }
  }

  /**
   * Where a scope stands: level, evidence per rule, budgets left.
   *
   * @param scope - The default scope where absent.
   * @throws {LoopwardenError} `invalid-argument`, naming the field.
   */
  status(scope: Scope = {}): Status {
    const where = this.#scope(scope);
    return JSON.parse(this.#ask((core) => core.status(where)));
  }

  /**
   * Forgets the evidence of a scope, because its task is done or its context has changed.
   *
   * @returns The telemetry records of the counters that went back to zero.
   * @throws {LoopwardenError} `invalid-argument`, naming the field.
   */
  reset(scope: Scope, reason: ResetReason): LoopRecord[] {
    const where = this.#scope(scope);
    const why = text(reason, "reason");
    return JSON.parse(this.#ask((core) => core.reset(where, why)));
  }

  /**
   * Takes a human's answer at a gate.
   *
   * @returns The telemetry records of the counters that went back to zero.
   * @throws {LoopwardenError} `invalid-argument`, naming the field.
   */
  acknowledge(scope: Scope, decision: Decision): LoopRecord[] {
    const [where, what] = [this.#scope(scope), json(decision, "invalid-argument", "decision")];
    return JSON.parse(this.#ask((core) => core.acknowledge(where, what)));
  }

  /**
   * Gives a run its workflow, in place of the configured or learned one.
   *
   * @throws {LoopwardenError} `invalid-argument`, naming the node or edge that is wrong; the workflow is then as it was.
   */
  declareGraph(scope: Scope, graph: Graph): void {
    const [where, what] = [this.#scope(scope), json(graph, "invalid-argument", "graph")];
    this.#ask((core) => core.declareGraph(where, what));
  }

  /**
   * The whole state, configuration included: versioned, compact and free of payloads, but for the last 3 KB at most of a
   * text that is streaming (`delta`) when it is taken. For hosts that keep no memory between calls.
   */
  snapshot(): ReturnType<Uint8ArrayConstructor["of"]> {
    // The glue copies the bytes out of the core's memory into a buffer of their own.
    return this.#ask((core) => core.snapshot()) as Uint8Array<ArrayBuffer>;
  }

  /**
   * A detector from a snapshot: it goes on exactly as the one that made it would have.
   *
   * @throws {LoopwardenError} `invalid-snapshot` when the bytes are truncated, foreign or corrupt, `snapshot-version`
   * when another version wrote them.
   */
  static restore(snapshot: Uint8Array): LoopDetector {
    let bytes: Uint8Array;
    try {
      // Of a view whose memory went elsewhere, and of what only looks like a view, there is no copy.
      bytes = Uint8Array.prototype.slice.call(snapshot);
    } catch (cause) {
      const message =
        typeof snapshot === "string"
          ? "expected a Uint8Array, not text: store the bytes, or base64 of them, and decode that"
          : ArrayBuffer.isView(snapshot)
            ? "expected a Uint8Array whose memory is its own"
            : "expected a Uint8Array";
      throw new LoopwardenError({ code: "invalid-snapshot", message, field: "snapshot" }, { cause });
    }
    return new LoopDetector(module.call(() => Core.restore(bytes)) as unknown as Config);
  }

  /** The escalation report of a scope: Markdown for a person, by default, or an object for a program. */
  report(scope?: Scope, format?: "markdown"): string;
  report(scope: Scope | undefined, format: "json"): Report;
  report(scope: Scope = {}, format: "markdown" | "json" = "markdown"): string | Report {
    const where = this.#scope(scope);
    const how = text(format, "format");
    const report = this.#ask((core) => core.report(where, how));
    return how === "json" ? JSON.parse(report) : report;
  }

  /** Counters for dashboards, since the detector was made. */
  metrics(): Metrics {
    return JSON.parse(this.#ask((core) => core.metrics()));
  }

  /**
   * Gives the detector's memory back; the garbage collector does so in the end for detectors that nobody freed.
   * Afterwards every method throws `disposed`, except this one, which does nothing.
   */
  free(): void {
    const core = this.#core;
    this.#core = undefined;
    this.#code = "disposed";
    this.#gone = "this detector was freed";
    try {
      core?.free();
    } catch {
      // A call never came back: what the core holds stays where it is.
    }
  }

  /** Does what {@link LoopDetector.free} does, at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.free();
  }

  /** The JSON text of a scope. The core is asked for after that: it may be code of the caller's own that makes the text. */
  #scope(scope: Scope): string {
    this.#live();
    return json(scope, "invalid-argument", "scope");
  }

  #ask<T>(operation: (core: Core) => T): T {
    const core = this.#live();
    try {
      return operation(core);
    } catch (thrown) {
      throw this.#thrown(thrown);
    }
  }

  #live(): Core {
    if (this.#core) return this.#core;
    throw new LoopwardenError({ code: this.#code, message: this.#gone });
  }

  /** After a trap nobody knows what state the core is in: it is given up, and nothing may ever touch it again. */
  #thrown(thrown: unknown): LoopwardenError {
    const error = module.thrown(thrown);
    if (error === thrown || error.code !== "internal") return error;
    // Forgets the core without freeing it, so that the garbage collector does not try either.
    (this.#core as unknown as { __destroy_into_raw(): void } | undefined)?.__destroy_into_raw();
    this.#core = undefined;
    renew();
    this.#code = "internal";
    this.#gone = "this detector failed in an earlier call: restore its last snapshot into a new one";
    const message = `${error.message}: restore the detector's last snapshot into a new one`;
    return new LoopwardenError({ code: "internal", message }, { cause: thrown });
  }
}
