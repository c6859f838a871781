// Which result answers which call: written once, for everything that shows or replays a run.

import type { TraceEvent } from "../generated/types.ts";

/** Ids of calls that are remembered: an answer does not come later than so many other calls. */
const REMEMBERED = 10_000;

/** Finds the call of each result as events come: by call id, else the oldest unanswered call of the tool. */
export class Pairs {
  /** Calls by run and id; of a repeated id the latest one. */
  #byId = new Map<string, { index: number; tool: string }>();
  /** Calls without an answer so far, by run and tool, oldest first. */
  #waiting = new Map<string, number[]>();
  /** Those of them that have no id, by run: a result with an id that no call has may be one's. */
  #nameless = new Map<string, number>();
  /** Whether the latest event is a result whose call id no call has: it is paired with none. */
  isStray = false;

  /** Takes the next event and tells the index of its call, where it is a result that has one. */
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
    // An empty id names no call.
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

/** For each event of a run the index of its partner: of a result its call, of a call its result. */
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
