// What the guards of all adapters have in common: the same names, whatever the framework.
import type { Decision, Scope } from "loopwarden";
import type { Guard, LoopHalt } from "./guard.ts";

/** The base of what every adapter's `createLoopGuard` returns; each adapter adds what its framework needs. */
export abstract class LoopGuard {
  /** The underlying guard: gives access to the detector, to recording custom events and to the scopes of runs. */
  readonly guard: Guard;

  constructor(guard: Guard) {
    this.guard = guard;
  }

  /**
   * Why the run of the request that began last ended, if Loopwarden ended it. With concurrent requests, call `loopHalt`
   * with what the framework returned, or use `onHalt`.
   */
  get halted(): LoopHalt | undefined {
    return this.current().halted;
  }

  /** The state as a JSON-safe string: pass it back as `state` or to {@link LoopGuard.restore}. Empty while disabled. */
  snapshot(): string {
    return this.guard.snapshot();
  }

  /** Restores a {@link LoopGuard.snapshot}. Returns false, with a warning, if the text is not one. */
  restore(state: string): boolean {
    return this.guard.restore(state);
  }

  /**
   * Applies a human's decision at a gate; every decision but `stop` lets the run go on.
   *
   * @param scope the `scope` of the run's {@link LoopHalt}. Default: the run of the request that began last.
   */
  acknowledge(decision: Decision, scope?: Scope): void {
    const guard = scope ? this.guard.scope(known(scope)) : this.current();
    guard.acknowledge(decision);
  }

  /** The guard of the request that began last. */
  protected current(): Guard {
    return this.guard;
  }
}

function known({ run, agent, task }: Scope): Scope {
  return { ...(run != null && { run }), ...(agent != null && { agent }), ...(task != null && { task }) };
}
