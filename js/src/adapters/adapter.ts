// What the guards of all adapters have in common: one family of names, whatever the framework.
import type { Decision, Scope } from "loopwarden";
import type { Guard, LoopHalt } from "./guard.ts";

/** What every adapter's `createLoopGuard` gives, beside what its framework needs. */
export abstract class LoopGuard {
  /** What is behind it: the detector, events of your own, the scope of a run. */
  readonly guard: Guard;

  constructor(guard: Guard) {
    this.guard = guard;
  }

  /**
   * Why the run ended, if Loopwarden ended it: that of the request that began last. Where requests run side by side, ask
   * `loopHalt` with what the framework gave you, or listen with `onHalt`.
   */
  get halted(): LoopHalt | undefined {
    return this.current().halted;
  }

  /** State as text that is safe in JSON: give it back as `state`, or to {@link LoopGuard.restore}. */
  snapshot(): string {
    return this.guard.snapshot();
  }

  /** Goes on from a {@link LoopGuard.snapshot}; false, with a warning, where it is no such text. */
  restore(state: string): boolean {
    return this.guard.restore(state);
  }

  /**
   * Takes a human's answer at a gate; `continue` lets the run go on.
   *
   * @param scope the run that waits, as the {@link LoopHalt} names it; without it the one that began last.
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
