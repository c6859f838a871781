// Searches for events.

import type { TraceEvent } from "../generated/types.ts";
import type { Judged } from "./model.ts";
import { failed, plain } from "./words.ts";

/** The kinds of events that can be selected, with their labels. */
export const QUICK: readonly (readonly [kind: string, label: string])[] = [
  ["", "everything"],
  ["verdict", "with a verdict"],
  ["loop", "of this finding"],
  ["failed", "failures"],
  ["call", "calls and results"],
  ["said", "what was said"],
  ["other", "all else"],
];

/**
 * The indices of events of a kind that contain all of the words; undefined if there is no search. A word such as
 * `tool:edit` or `agent:coder` only searches that field.
 */
export function listed(
  events: readonly TraceEvent[],
  text: string,
  kind: string,
  judged: readonly Judged[],
  loop: ReadonlySet<number>,
): number[] | undefined {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0 && kind === "") return undefined;
  return events.flatMap((event, index) =>
    isOf(event, index, kind, judged, loop) && holds(event, words) ? [index] : [],
  );
}

function isOf(
  event: TraceEvent,
  index: number,
  kind: string,
  judged: readonly Judged[],
  loop: ReadonlySet<number>,
): boolean {
  const isCall = event.type === "tool-call" || event.type === "tool-result";
  const isSaid = event.type === "message" || event.type === "output" || event.type === "delta";
  switch (kind) {
    case "verdict":
      return (judged[index]?.level ?? "continue") !== "continue";
    case "loop":
      return loop.has(index);
    case "failed":
      return failed(event);
    case "call":
      return isCall;
    case "said":
      return isSaid;
    case "other":
      return !isCall && !isSaid;
    default:
      return true;
  }
}

function holds(event: TraceEvent, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const fields = event as unknown as Record<string, unknown>;
  let whole: string | undefined;
  return words.every((word) => {
    const [name, ...rest] = word.split(":");
    const field = rest.length === 0 ? undefined : Object.keys(fields).find((key) => key.toLowerCase() === name);
    if (field !== undefined) return plain(fields[field]).toLowerCase().includes(rest.join(":"));
    whole ??= Object.values(fields).map(plain).join("\n").toLowerCase();
    return whole.includes(word);
  });
}
