// What a scenario says of itself, checked: a label that is misspelt would be none, and the scenario would be scored as
// something that nobody said.

import { LoopwardenError } from "../errors.ts";
import { LEVELS } from "./levels.ts";
import { distance, nearest } from "./nearest.ts";
import { short } from "./summarise.ts";

/** The keys of a scenario; what else stands in one belongs to other tools. */
const KEYS = ["id", "config", "events", "expect", "expectAt", "firstAt", "minLevel", "success"];
const EXPECTATIONS = ["loop", "no-loop"];

/** What may be said of a label, or nothing where it is right. */
type Wrong = string | undefined;

/** What is wrong with what a scenario says of itself, one sentence for each field; an absent label and `null` are none. */
export function wrongLabels(scenario: Readonly<Record<string, unknown>> & { events: readonly unknown[] }): string[] {
  const { id, events, expect, expectAt, firstAt, minLevel, success } = scenario;
  const checks: [string, unknown, Wrong][] = [
    ["id", id, typeof id === "string" ? undefined : "expected a text"],
    ["expect", expect, wordOf(expect, EXPECTATIONS)],
    ["expectAt", expectAt, wrongIndex(expectAt, events.length, expect)],
    ["firstAt", firstAt, truthOf(firstAt)],
    ["minLevel", minLevel, wordOf(minLevel, LEVELS.slice(1))],
    ["success", success, truthOf(success)],
  ];
  const wrong = checks.flatMap(([field, value, message]) =>
    value == null || message === undefined ? [] : [told(field, message, value)],
  );
  const none = events.length === 0 ? [told("events", "holds no event")] : [];
  return [...wrong, ...none, ...misspelt(scenario)];
}

/** The same for a run of a foreign format, of which the expectation alone is known for a label. */
export function wrongExpectation({ expect }: { expect?: unknown }): string[] {
  const message = wordOf(expect, EXPECTATIONS);
  return expect == null || message === undefined ? [] : [told("expect", message, expect)];
}

/** A complaint about a field, worded as the core words its own. */
export function told(field: string, message: string, value?: unknown): string {
  const got = value === undefined ? undefined : short(JSON.stringify(value), 80);
  return new LoopwardenError({ code: "invalid-argument", field, message, value: got }).message;
}

function wordOf(value: unknown, known: readonly string[]): Wrong {
  if (known.includes(value as string)) return undefined;
  const near = typeof value === "string" ? nearest(value, known) : undefined;
  return `expected one of ${known.join(", ")}${near === undefined ? "" : `; did you mean \`${near}\`?`}`;
}

function wrongIndex(value: unknown, events: number, expect: unknown): Wrong {
  if (expect == null || expect === "no-loop") return 'is for scenarios with `"expect": "loop"` alone';
  if (Number.isInteger(value) && Number(value) >= 0 && Number(value) < events) return undefined;
  return events === 0 ? "there is no event" : `expected the index of an event, 0 to ${events - 1}`;
}

const truthOf = (value: unknown): Wrong => (typeof value === "boolean" ? undefined : "expected true or false");

/** Keys of which a third of the letters at most differs from one that the scenario lacks. */
function misspelt(scenario: Readonly<Record<string, unknown>>): string[] {
  const plain = (key: string) => key.toLowerCase().replaceAll(/[-_ ]/g, "");
  const known = KEYS.map(plain);
  return Object.keys(scenario).flatMap((key) => {
    const near = nearest(plain(key), known);
    const meant = KEYS[known.indexOf(near ?? "")];
    if (near === undefined || meant === undefined || Object.hasOwn(scenario, meant)) return [];
    return distance(plain(key), near) * 3 > plain(key).length
      ? []
      : [told(key, `unknown field, did you mean \`${meant}\`?`)];
  });
}
