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

/** Whether this is a core passed by `restore`. `instanceof` may throw on a proxy. */
function isCore(value: unknown): value is Core {
  try {
    return value instanceof Core;
  } catch {
    return false;
  }
}

/**
 * Detects when an agent is stuck in a loop: record its events and act on the verdicts.
 *
 * Deterministic: no clock, no randomness, no I/O; time comes from the events. Equal events give byte-for-byte equal
 * verdicts on every platform. One detector can watch many runs, kept apart by the events' `run`.
 *
 * @example
 * const detector = new LoopDetector();
 * const verdict = detector.check({ type: "tool-call", tool: "read_file", args: { path: "a.ts" } });
 * if (verdict.level !== "continue") console.log(verdict.guidance);
 */
export class LoopDetector {
  #core: Core | undefined;
  /** The error message and code of calls once there is no core. */
  #gone = "this detector was freed";
  #code: "disposed" | "internal" = "disposed";
  readonly #alive = (): Core => this.#live();

  /**
   * Creates a detector with no history.
   *
   * @param config - The configuration, as an object or as JSON text. The default is the recommended configuration.
   * @throws {LoopwardenError} `invalid-config` or `invalid-json`, naming the field that is unknown, contradicts
   * another one or can never take effect; `not-initialised` if there is no WebAssembly module.
   */
  constructor(config: Config | string = {}) {
    // `restore` passes an existing core.
    if (isCore(config)) {
      this.#core = config;
      return;
    }
    module.exports();
    const text = json(config, "invalid-config");
    this.#core = module.call(() => new Core(text));
  }

  /**
   * Records an event and judges it.
   *
   * An object is read as `JSON.stringify` would write it: `undefined` fields are left out, and `NaN` and infinities
   * inside a tool's arguments or output become `null`. Text is taken as the JSON of an event.
   *
   * @throws {LoopwardenError} `invalid-event`, `unknown-event` or `invalid-json`, naming the field; the state is then
   * unchanged. `invalid-event` also for values that JSON cannot represent (cycles, `bigint`, collections, promises,
   * `NaN` in a field of the event itself) and for more than 33,554,432 UTF-16 code units of JSON.
   */
  record(event: Event | string): Verdict {
    try {
      return judge(this.#alive, event, true);
    } catch (thrown) {
      throw this.#thrown(thrown);
    }
  }

  /**
   * Judges an event that has not happened yet (a tool call about to run, a phase about to be entered): the verdict that
   * `record` would give, without changing the state.
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
   * The status of a scope: its level, the evidence per rule and the remaining budgets.
   *
   * @param scope - The default scope if omitted.
   * @throws {LoopwardenError} `invalid-argument`, naming the field.
   */
  status(scope: Scope = {}): Status {
    const where = this.#scope(scope);
    return JSON.parse(this.#ask((core) => core.status(where)));
  }

  /**
   * Discards the evidence of a scope, because its task is done or its context has changed.
   *
   * @returns The telemetry records of the counters that were reset to zero.
   * @throws {LoopwardenError} `invalid-argument`, naming the field.
   */
  reset(scope: Scope, reason: ResetReason): LoopRecord[] {
    const where = this.#scope(scope);
    const why = text(reason, "reason");
    return JSON.parse(this.#ask((core) => core.reset(where, why)));
  }

  /**
   * Applies a human's decision at a gate.
   *
   * @returns The telemetry records of the counters that were reset to zero.
   * @throws {LoopwardenError} `invalid-argument`, naming the field.
   */
  acknowledge(scope: Scope, decision: Decision): LoopRecord[] {
    const [where, what] = [this.#scope(scope), json(decision, "invalid-argument", "decision")];
    return JSON.parse(this.#ask((core) => core.acknowledge(where, what)));
  }

  /**
   * Declares the workflow of a run, replacing the configured or learned one.
   *
   * @throws {LoopwardenError} `invalid-argument`, naming the invalid node or edge; the workflow is then unchanged.
   */
  declareGraph(scope: Scope, graph: Graph): void {
    const [where, what] = [this.#scope(scope), json(graph, "invalid-argument", "graph")];
    this.#ask((core) => core.declareGraph(where, what));
  }

  /**
   * The whole state including the configuration, versioned and compact, for hosts that keep no memory between calls. It
   * contains no payloads except up to the last 3 KB of a text that is still streaming (`delta`).
   */
  snapshot(): ReturnType<Uint8ArrayConstructor["of"]> {
    // The glue has copied the bytes out of the core's memory into their own buffer.
    return this.#ask((core) => core.snapshot()) as Uint8Array<ArrayBuffer>;
  }

  /**
   * Creates a detector from a snapshot. It continues exactly as the detector that was saved.
   *
   * @throws {LoopwardenError} `invalid-snapshot` if the bytes are truncated, foreign or corrupt, `snapshot-version` if
   * another version wrote them.
   */
  static restore(snapshot: Uint8Array): LoopDetector {
    let bytes: Uint8Array;
    try {
      // Throws for a view whose buffer is detached and for anything that only looks like a view.
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

  /** The escalation report of a scope: Markdown by default, or an object for programs. */
  report(scope?: Scope, format?: "markdown"): string;
  report(scope: Scope | undefined, format: "json"): Report;
  report(scope: Scope = {}, format: "markdown" | "json" = "markdown"): string | Report {
    const where = this.#scope(scope);
    const how = text(format, "format");
    const report = this.#ask((core) => core.report(where, how));
    return how === "json" ? JSON.parse(report) : report;
  }

  /** Counters for dashboards, since the detector was created. */
  metrics(): Metrics {
    return JSON.parse(this.#ask((core) => core.metrics()));
  }

  /**
   * Frees the detector's memory; without this, the garbage collector eventually does. Afterwards every method throws
   * `disposed`, except this one, which does nothing.
   */
  free(): void {
    const core = this.#core;
    this.#core = undefined;
    this.#code = "disposed";
    this.#gone = "this detector was freed";
    try {
      core?.free();
    } catch {
      // An earlier call never returned, so the core is still borrowed: its memory is leaked.
    }
  }

  /** Calls {@link LoopDetector.free} at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.free();
  }

  /** A scope as JSON text. Callers fetch the core only afterwards: the caller's `toJSON` may run here and free it. */
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

  /** After a trap the state of the core is undefined: it is abandoned and must never be touched again. */
  #thrown(thrown: unknown): LoopwardenError {
    const error = module.thrown(thrown);
    if (error === thrown || error.code !== "internal") return error;
    // Drops the core without freeing it and unregisters it, so that the garbage collector does not free it either.
    (this.#core as unknown as { __destroy_into_raw(): void } | undefined)?.__destroy_into_raw();
    this.#core = undefined;
    renew();
    this.#code = "internal";
    this.#gone = "this detector failed in an earlier call: restore its last snapshot into a new one";
    const message = `${error.message}: restore the detector's last snapshot into a new one`;
    return new LoopwardenError({ code: "internal", message }, { cause: thrown });
  }
}
