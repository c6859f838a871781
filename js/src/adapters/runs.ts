// Assigns requests to runs. One guard may serve many requests at once, such as the guard of an agent at the top level
// of a web server's module, and requests must not affect each other. Every adapter identifies the request from what its
// framework passes to each hook; here the request is assigned the run that its events belong to.
import type { Guard } from "./guard.ts";

/** A request of a guard: one invocation of the framework, from its first model call to its end. */
export interface Request {
  readonly guard: Guard;
  /** Whether it has ended, as far as can be known. */
  over: boolean;
}

/** The number of requests remembered per guard. */
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

  /** The request that began last. */
  get latest(): REQUEST | undefined {
    return this.#requests.at(-1);
  }

  /**
   * Begins a request. Without a new prompt by a human it continues the run that made the calls in its messages, if
   * known. Otherwise it uses the guard's own run, unless a human wrote the prompt (which ends the window anyway) and
   * another request is using that run, which has no name: it then gets a run that no request is using.
   *
   * @param callIds the ids of the calls in its messages, oldest first.
   * @param human whether a human wrote its latest message.
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

  /** Continues a request. Warns once if a younger request has begun in the same run, so that the two share evidence. */
  goesOn(request: REQUEST): REQUEST {
    const last = this.#requests.findLast(({ guard }) => guard === request.guard);
    if (last !== undefined && last !== request && !request.over) {
      this.#guard.warn(
        "two requests share one run at once, so that what one does counts against the other: make a guard for each, or name their runs with `scope({ run })`",
      );
    }
    return request;
  }

  /** Records that a request made a call, so that the call's id identifies the request. */
  called(request: REQUEST, callId: string): void {
    const known = this.#calls.get(callId);
    this.#calls.delete(callId);
    // An id that two active requests use identifies neither.
    this.#calls.set(callId, known === request || !known || known.over ? request : undefined);
    if (this.#calls.size > REQUESTS * 8) this.#calls.delete(this.#calls.keys().next().value as string);
  }

  /** The request that made the latest of these calls whose request is certain. Ids in the order of the conversation. */
  caller(callIds: readonly string[]): REQUEST | undefined {
    for (const callId of callIds.toReversed()) {
      const request = this.#calls.get(callId);
      if (request) return request;
    }
    return undefined;
  }

  /**
   * The request of a hook that does not identify one: the only active request, or else the latest. Warns once if active
   * requests of several runs exist, because events may then be counted in the wrong run.
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

/** The part of Node's `AsyncLocalStorage` that is used. */
export interface AsyncLocal<T> {
  getStore(): T | undefined;
  enterWith(store: T | undefined): void;
}

/** An `AsyncLocalStorage` if the runtime has one: Node, Deno, Bun, and workers with Node compatibility. */
export function asyncLocal<T>(): AsyncLocal<T> | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  const hooks = process?.getBuiltinModule?.("node:async_hooks") as
    | { AsyncLocalStorage?: new () => AsyncLocal<T> }
    | undefined;
  if (!hooks?.AsyncLocalStorage) return undefined;
  try {
    const storage = new hooks.AsyncLocalStorage();
    // In workers `enterWith` throws.
    storage.enterWith(undefined);
    return storage;
  } catch {
    return undefined;
  }
}
