// The life of a guard is the run's: one guard may serve many requests at once, such as that of an agent at the top of a
// web server's module, and none of them may feel what another one does. Every adapter finds the request from what its
// framework gives each hook; here the request is given the run that its events belong to.
import type { Guard } from "./guard.ts";

/** A request of a guard: one call of the framework's, from its first model call to its end. */
export interface Request {
  readonly guard: Guard;
  /** Nothing more will come of it, as far as anybody can know. */
  over: boolean;
}

/** Requests that are looked at to find one that is over, at most. */
const REQUESTS = 256;

/** The requests of one guard, oldest first. */
export class Requests<REQUEST extends Request> {
  readonly #guard: Guard;
  readonly #make: (guard: Guard) => REQUEST;
  readonly #requests: REQUEST[] = [];
  readonly #calls = new Map<string, REQUEST | undefined>();

  constructor(guard: Guard, make: (guard: Guard) => REQUEST) {
    this.#guard = guard;
    this.#make = make;
  }

  /** The one that began last. */
  get latest(): REQUEST | undefined {
    return this.#requests.at(-1);
  }

  /**
   * A request begins. What it goes on from is the run that made the calls in its messages, wherever that was. Else it
   * goes on with the guard's own run, where that is named, or where the host writes the prompts. And where a human wrote
   * one, which ends the window anyway, it gets a run that no other request is using.
   */
  begin(callIds: readonly string[], human: boolean): REQUEST {
    const guard = (!human && this.#guard.knowing(callIds)) || this.#run(human);
    const request = this.#make(guard);
    const before = this.#requests.findIndex((one) => one.guard === guard && one.over);
    if (before >= 0) this.#requests.splice(before, 1);
    this.#requests.push(request);
    if (this.#requests.length > REQUESTS) this.#requests.shift();
    return request;
  }

  /** A request goes on. Where a younger one began in the same run meanwhile, the two share their evidence: said once. */
  goesOn(request: REQUEST): REQUEST {
    const last = this.#requests.findLast(({ guard }) => guard === request.guard);
    if (last !== undefined && last !== request && !request.over) {
      this.#guard.warn(
        "two requests share one run at once, so that what one does counts against the other: make a guard for each, or name their runs with `scope({ run })`",
      );
    }
    return request;
  }

  /** Notes that a request made a call, so that what names the call names the request. */
  called(request: REQUEST, callId: string): void {
    const known = this.#calls.get(callId);
    this.#calls.delete(callId);
    // An id that two requests use at once names neither.
    this.#calls.set(callId, known === request || !known || known.over ? request : undefined);
    if (this.#calls.size > REQUESTS * 8) this.#calls.delete(this.#calls.keys().next().value as string);
  }

  /** The request that made the latest of these calls, where that is certain. Ids in the order of the conversation. */
  caller(callIds: readonly string[]): REQUEST | undefined {
    for (const callId of callIds.toReversed()) {
      const request = this.#calls.get(callId);
      if (request) return request;
    }
    return undefined;
  }

  /**
   * Whose a hook is that names no request: the only one there is, else the latest, which is said once, since what one of
   * them does may then be counted against another.
   */
  only(): REQUEST | undefined {
    const going = this.#requests.filter(({ over }) => !over);
    if (going.length > 1 && new Set(going.map(({ guard }) => guard)).size > 1) {
      this.#guard.warn(
        "several requests use one guard at once, and a hook did not tell which of them it belongs to: make a guard for each request, or name its run with `run` or `scope`",
      );
    }
    return going.at(-1) ?? this.latest;
  }

  #run(human: boolean): Guard {
    if (this.#guard.run !== undefined) return this.#guard;
    const own = this.#requests.filter(({ guard }) => guard === this.#guard);
    if (!human || own.every(({ over }) => over)) return this.#guard;
    const idle = this.#requests.find(
      ({ over, guard }) => over && !this.#requests.some((other) => other.guard === guard && !other.over),
    );
    return idle?.guard ?? this.#guard.scope({ run: crypto.randomUUID() });
  }
}

/** As much of Node's `AsyncLocalStorage` as is used. */
export interface AsyncLocal<T> {
  getStore(): T | undefined;
  enterWith(store: T | undefined): void;
}

/** What follows the flow of a request, where the runtime has such a thing: Node, Deno, Bun, and workers with Node's parts. */
export function asyncLocal<T>(): AsyncLocal<T> | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  const hooks = process?.getBuiltinModule?.("node:async_hooks") as
    | { AsyncLocalStorage?: new () => AsyncLocal<T> }
    | undefined;
  if (!hooks?.AsyncLocalStorage) return undefined;
  try {
    const storage = new hooks.AsyncLocalStorage();
    // Workers have it without a way to enter it for what follows.
    storage.enterWith(undefined);
    return storage;
  } catch {
    return undefined;
  }
}
