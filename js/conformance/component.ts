// The door of the component, transpiled to JavaScript: events travel as typed values instead of JSON text.
//
// The interface spells its names as the JSON does (`call-id` is `callId` in both JavaScript and JSON), so that only what
// JSON cannot say needs a conversion: 64-bit integers, free-form JSON, markers and labels.
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { member } from "../src/replay/raw.ts";
import { type Door, type Handle, UNASKED } from "./run.ts";

/** The exports of the transpiled interface `loopwarden:detector/detection`. */
export interface Detection {
  Detector: {
    new (config: string): Detector;
    restore(snapshot: Uint8Array): Detector;
  };
}

interface Detector {
  record(event: unknown): unknown;
  check(event: unknown): unknown;
  status(scope: object): string;
  metrics(): string;
  report(scope: object, format: "markdown" | "json"): string;
  snapshot(): Uint8Array;
  [Symbol.dispose]?(): void;
}

const INTEGERS_64 = new Set(["at", "step", "tokens", "costMicros", "durationMs"]);
const JSON_TEXT = new Set(["args", "details", "structuredOutput"]);
const MARKERS = new Set(["filesCreated", "dependenciesAdded", "codeWritten"]);
const CONTEXT = [
  "at",
  "run",
  "task",
  "parentTask",
  "agent",
  "round",
  "step",
  "synthetic",
  "tokens",
  "costMicros",
  "labels",
];

/** An event's JSON text as a value of the interface. */
export function typedEvent(text: string): { body: { tag: string; val: object }; context: object } {
  const { type, ...fields } = JSON.parse(text);
  const body: Record<string, unknown> = type === "attempt" ? { blockers: [], completedWork: [] } : {};
  const context: Record<string, unknown> = { synthetic: false, labels: [] };
  for (const [name, value] of Object.entries(fields)) {
    if (value === null && name !== "args") continue;
    (CONTEXT.includes(name) ? context : body)[name] = typedField(name, value, text);
  }
  return { body: { tag: type, val: body }, context };
}

function typedField(name: string, value: unknown, text: string): unknown {
  if (INTEGERS_64.has(name)) return integer64(member(text, name) ?? "", name === "at");
  if (JSON_TEXT.has(name)) return member(text, name);
  // Structured output is compared as its JSON text, its keys sorted: what the JSON door makes of it.
  if (name === "output" && typeof value !== "string") return JSON.stringify(sorted(value));
  if (name === "labels") return Object.entries(value as object);
  if (MARKERS.has(name)) {
    const tag = typeof value === "boolean" ? "flag" : typeof value === "number" ? "count" : "names";
    return { tag, val: value };
  }
  return value;
}

/** How deep a value is nested; a list or object without content counts one. */
function depth(value: unknown): number {
  if (value === null || typeof value !== "object") return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depth));
}

/** A 64-bit integer as it is written; what is out of range or no integer cannot be said in types. */
function integer64(text: string, signed: boolean): bigint {
  const value = /^-?\d+$/.test(text) ? BigInt(text) : undefined;
  if (value === undefined || value !== (signed ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value))) throw UNASKED;
  return value;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, part]) => [key, sorted(part)]),
  );
}

/** A verdict as JSON text: records keep the order of their fields, which is the model's own. */
const json = (value: unknown): string =>
  JSON.stringify(value, (name, part) => {
    if (typeof part === "bigint") return Number(part);
    // JSON spells the topic as the context entries do, and leaves out an empty list of records.
    if (name === "topic") return (part as string).replaceAll("-", "_");
    if (name === "records") return part.length === 0 ? undefined : part.map((record: string) => JSON.parse(record));
    return part;
  });

/** What the component refused, as the record that the JSON door would throw. */
function refused(error: unknown): unknown {
  const payload = (error as { payload?: { tag: string; val: { message: string; field?: string; value?: string } } })
    .payload;
  if (payload === undefined) throw error;
  return { code: payload.tag, ...payload.val };
}

/** `schema` is the event's JSON Schema: what it refuses cannot be said in types, and is not asked. */
export function componentDoor({ Detector }: Detection, schema: object): Door {
  const ajv = new Ajv2020({ strict: false });
  // The widths of the smaller integers; those of 64 bits are read from the text, because JavaScript rounds them.
  for (const [name, least, most] of [
    ["int32", -(2 ** 31), 2 ** 31 - 1],
    ["uint32", 0, 2 ** 32 - 1],
    ["uint16", 0, 2 ** 16 - 1],
  ] as const) {
    ajv.addFormat(name, { type: "number", validate: (value: number) => value >= least && value <= most });
  }
  for (const name of ["int64", "uint64", "double"]) ajv.addFormat(name, true);
  const isEvent: ValidateFunction = ajv.compile(schema);
  const ask = (event: string, operation: (typed: unknown) => unknown): string => {
    let value: unknown;
    try {
      value = JSON.parse(event);
    } catch {
      throw UNASKED;
    }
    // The JSON door reads no text that is nested deeper: it is not the event, but its text that it refuses.
    if (depth(value) > 127 || !isEvent(value)) throw UNASKED;
    const typed = typedEvent(event);
    try {
      return json(operation(typed));
    } catch (error) {
      throw refused(error);
    }
  };
  const handle = (detector: Detector): Handle => ({
    record: (event) => ask(event, (typed) => detector.record(typed)),
    check: (event) => ask(event, (typed) => detector.check(typed)),
    status: () => detector.status({}),
    metrics: () => detector.metrics(),
    report: (format) => detector.report({}, format),
    snapshot: () => detector.snapshot(),
    free: () => detector[Symbol.dispose]?.(),
  });
  return {
    open: (config) => handle(new Detector(config)),
    restore: (snapshot) => handle(Detector.restore(snapshot)),
  };
}
