import type { Event, Scenario } from "../generated/types.ts";
import { readTranscript, type TranscriptFormat } from "../transcript.ts";
import { InputError, lines } from "./input.ts";
import { member, parts, without } from "./raw.ts";

/** One event of a recorded run. */
export interface Recorded {
  /** The event's own JSON text, as the core is given it. */
  text: string;
  event: Event;
  /** It was about to happen: for `check`. */
  pending: boolean;
  /** The line of the file it came from, counted from 1. */
  line: number;
  /** The tool it is about: of a result the tool of its call. */
  tool: string | undefined;
}

/** A recorded run: a scenario of a file, or a file of events. */
export interface Trace {
  file: string;
  /** The scenario's id. */
  id: string | undefined;
  /** The line of the file it begins at. */
  line: number;
  labels: Pick<Scenario, "expect" | "expectAt" | "firstAt" | "success">;
  /** The configuration it brings along, as JSON text. */
  config: string | undefined;
  format: "scenario" | TranscriptFormat;
  events: Recorded[];
}

/** Tells of a line that cannot be read; the others can. */
export type Complain = (line: number, message: string) => void;

/**
 * The runs of a file: one a line where its first line is a scenario, else the file's own events.
 *
 * @throws {InputError} when the file cannot be read.
 */
export async function traces(file: string, complain: Complain, format?: TranscriptFormat): Promise<Trace[]> {
  const found: Trace[] = [];
  const rest: string[] = [];
  let scenarios: boolean | undefined = format === undefined ? undefined : false;
  let number = 0;
  for await (const line of lines(file)) {
    number++;
    if (scenarios === undefined && line.trim() !== "") scenarios = isScenario(line);
    if (!scenarios) rest.push(line);
    else if (line.trim() !== "") {
      const trace = scenario(file, line, number, complain);
      if (trace !== undefined) found.push(trace);
    }
  }
  if (!scenarios) {
    const read = readTranscript(rest.join("\n"), format);
    for (const { line, error } of read.errors) complain(line, `${error.code}: ${error.message}`);
    const events = read.events.map(({ pending, ...event }, index) => ({
      text: JSON.stringify(event),
      event: event as Event,
      pending: pending === true,
      line: read.lines[index] ?? 0,
      tool: undefined,
    }));
    if (events.length > 0)
      found.push({ file, id: undefined, line: 1, labels: {}, config: undefined, format: read.format, events });
  }
  for (const { events } of found) nameTools(events);
  return found;
}

/** The runs that the events of a file belong to, each as a trace of its own. */
export function apart(trace: Trace): Trace[] {
  const runs = new Map<string, Recorded[]>();
  for (const recorded of trace.events) {
    const run = recorded.event?.run ?? "";
    const events = runs.get(run) ?? [];
    if (events.length === 0) runs.set(run, events);
    events.push(recorded);
  }
  if (runs.size < 2) return [trace];
  return [...runs].map(([run, events]) => ({ ...trace, id: run === "" ? undefined : run, events }));
}

function isScenario(line: string): boolean {
  try {
    return holdsEvents(JSON.parse(line));
  } catch {
    return false;
  }
}

/** Whether a value is a scenario, and not a telemetry span, which has events of another kind. */
export function holdsEvents(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !("events" in value) || !Array.isArray(value.events)) return false;
  return !["spanId", "span_id", "attributes", "context"].some((name) => name in value);
}

function scenario(file: string, text: string, line: number, complain: Complain): Trace | undefined {
  let read: Trace["labels"] & { id?: unknown; events?: unknown };
  try {
    read = JSON.parse(text);
  } catch (error) {
    complain(line, `invalid-json: ${(error as Error).message}`);
    return undefined;
  }
  if (!holdsEvents(read)) {
    complain(line, "expected a scenario: an object with `id` and a list of `events`");
    return undefined;
  }
  const events: Recorded[] = [];
  for (const { value } of parts(member(text, "events") ?? "[]")) {
    const pending = member(value, "pending");
    const own = pending === undefined ? value : without(value, "pending");
    events.push({ text: own, event: JSON.parse(own), pending: pending === "true", line, tool: undefined });
  }
  const { expect, expectAt, firstAt, success } = read;
  const labels = {
    expect: expect ?? null,
    expectAt: expectAt ?? null,
    firstAt: firstAt === true,
    success: success ?? null,
  };
  const config = member(text, "config");
  return {
    file,
    id: String(read.id),
    line,
    labels,
    config: config === "null" ? undefined : config,
    format: "scenario",
    events,
  };
}

/** Finds out what each event is about. */
function nameTools(events: Recorded[]): void {
  const calls = new Map<string, string>();
  for (const recorded of events) {
    const { event } = recorded;
    if (event?.type === "tool-call") {
      recorded.tool = event.tool;
      if (event.callId != null) calls.set(event.callId, event.tool);
    } else if (event?.type === "tool-result") {
      recorded.tool = event.tool ?? (event.callId == null ? undefined : calls.get(event.callId));
    }
  }
}

/** A file's line in front of what is said about it. */
export function complainer(file: string): Complain {
  return (line, message) =>
    process.stderr.write(`${process.stderr.isTTY ? "\r\u001b[2K" : ""}${file}:${line}: ${message}\n`);
}

/** @throws {InputError} always. */
export function nothing(what: string): never {
  throw new InputError(`${what}: holds no run that can be read`);
}
