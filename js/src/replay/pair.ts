// Pairs results with calls, for everything that shows or replays a run.

import type { TraceEvent } from "../generated/types.ts";

/** Maximum number of call ids remembered: a result comes at most this many calls later. */
const REMEMBERED = 10_000;

/** Finds the call of each result incrementally: by call id, else the oldest unanswered call of the tool. */
export class Pairs {
  /** Calls by run and id; for a repeated id the latest one. */
  #byId = new Map<string, { index: number; tool: string }>();
  /** Indices of unanswered calls by run and tool, oldest first. */
  #waiting = new Map<string, number[]>();
  /** The number of unanswered calls without an id, by run: a result with an unknown id may belong to one of them. */
  #nameless = new Map<string, number>();
  /** Whether the latest event is a result with a call id that no call has, which is paired with none. */
  isStray = false;

  /** Takes the next event. Returns the index of its call if it is a result that has one. */
  add(event: TraceEvent, index: number): number | undefined {
    this.isStray = false;
    if (event.pending) return undefined;
    const run = event.run ?? "";
    const key = (name: string) => JSON.stringify([run, name]);
    if (event.type === "tool-call") {
      if (event.callId) {
        this.#byId.set(key(event.callId), { index, tool: event.tool });
        if (this.#byId.size > REMEMBERED) this.#byId.delete(this.#byId.keys().next().value as string);
      } else this.#nameless.set(run, (this.#nameless.get(run) ?? 0) + 1);
      const list = this.#waiting.get(key(event.tool));
      if (list === undefined) this.#waiting.set(key(event.tool), [index]);
      else list.push(index);
      return undefined;
    }
    if (event.type !== "tool-result") return undefined;
    // An empty id counts as none.
    const known = event.callId ? this.#byId.get(key(event.callId)) : undefined;
    if (event.callId && known === undefined) {
      const nameless = this.#nameless.get(run) ?? 0;
      this.isStray = nameless === 0 && event.synthetic !== true;
      if (nameless > 0) this.#nameless.set(run, nameless - 1);
      return undefined;
    }
    const tool = known?.tool ?? event.tool;
    const list = tool == null ? undefined : this.#waiting.get(key(tool));
    if (known === undefined) return list?.shift();
    const at = list?.indexOf(known.index) ?? -1;
    if (at >= 0) list?.splice(at, 1);
    return known.index;
  }

  /** The tool of an event: its own, or that of its call. */
  toolOf(event: TraceEvent): string | undefined {
    if (event.type === "tool-call") return event.tool;
    if (event.type !== "tool-result") return undefined;
    if (event.tool != null) return event.tool;
    return event.callId ? this.#byId.get(JSON.stringify([event.run ?? "", event.callId]))?.tool : undefined;
  }
}

/** For each event of a run, the index of its partner: a result's call, or a call's result. */
export function pair(events: readonly TraceEvent[]): (number | undefined)[] {
  const pairs = new Pairs();
  const partner: (number | undefined)[] = [];
  for (const [index, event] of events.entries()) {
    const call = pairs.add(event, index);
    partner.push(call);
    if (call !== undefined) partner[call] = index;
  }
  return partner;
}
