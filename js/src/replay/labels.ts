// Validates the labels of a scenario: a misspelt label would be ignored, and the scenario scored incorrectly.

import { LoopwardenError } from "../errors.ts";
import { LEVELS } from "./levels.ts";
import { distance, nearest } from "./nearest.ts";
import { short } from "./summarise.ts";

/** The keys of a scenario; other keys belong to other tools. */
const KEYS = ["id", "config", "events", "expect", "expectAt", "firstAt", "minLevel", "success"];
const EXPECTATIONS = ["loop", "no-loop"];

/** What is wrong with a label; undefined if it is valid. */
type Wrong = string | undefined;

/** The errors in a scenario's labels, one sentence per field; `null` counts as absent. */
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

/** As {@link wrongLabels}, for a run of a foreign format, of which only `expect` is checked. */
export function wrongExpectation({ expect }: { expect?: unknown }): string[] {
  const message = wordOf(expect, EXPECTATIONS);
  return expect == null || message === undefined ? [] : [told("expect", message, expect)];
}

/** An error message about a field, in the same form as the core's. */
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

/** Errors for keys that differ in at most a third of their letters from a key that the scenario lacks. */
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
