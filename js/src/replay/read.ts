// Recorded runs, read as they come: nothing here holds more of a file than the line or document it is at, unless the
// file is one document.

import { LoopwardenError } from "../errors.ts";
import type { Config, Event, Scenario, TraceEvent } from "../generated/types.ts";
import {
  readTranscript,
  type Transcript,
  type TranscriptFormat,
  type TranscriptPart,
  TranscriptReader,
} from "../transcript.ts";
import { isStandIn } from "./judge.ts";
import { told, wrongExpectation, wrongLabels } from "./labels.ts";
import { Pairs } from "./pair.ts";
import { member, parts, without } from "./raw.ts";

/** One event of a recorded run. */
export interface Recorded {
  /** The event's own JSON text, where it has one: numbers reach the core as they were written. */
  text?: string;
  event: Event;
  /** It was about to happen: for `check`. */
  pending: boolean;
  /** The line of the file it came from, counted from 1. */
  line: number;
  /** The tool it is about: of a result the tool of its call. */
  tool: string | undefined;
  /** A result whose call id no call before it has. */
  stray?: true;
  /** What stands for a result that could not be read: its call was answered, and that is all. It is none of the events. */
  unread?: true;
  /** Its index in a scenario's list; absent in a log. */
  index?: number;
}

/** What a run says of itself. */
export interface Head {
  file: string;
  /** The scenario's id. */
  id: string | undefined;
  /** The line of the file it begins at. */
  line: number;
  labels: Pick<Scenario, "expect" | "expectAt" | "firstAt" | "minLevel" | "success">;
  /** What is wrong with its labels: then they say nothing. */
  wrong: string[];
  /** The configuration it brings along, as JSON text. */
  config: string | undefined;
  format: "scenario" | TranscriptFormat;
  /** Whether it is a whole log, and not one of the runs that a file lists. */
  whole: boolean;
}

/** A recorded run, whose events are read once, as they come. */
export interface Run extends Head {
  events: AsyncIterable<Recorded[]>;
}

/** A recorded run that is held. */
export interface Trace extends Head {
  events: Recorded[];
}

/** Tells of a line that cannot be read, and of all that is wrong with it; the others can. */
export type Complain = (line: number, ...messages: string[]) => void;

/** Characters that are read at once. */
const PIECE = 1 << 15;
/** Characters at the beginning of a document among which a scenario shows itself. */
const BEGINNING = 1 << 16;
/** Lists that hold a whole run in one line. */
const RUNS = ["messages", "trajectory", "history", "items", "input", "contents", "resourceSpans", "spans"];

/** How an event was refused, with its place in a scenario. */
export function refused({ index }: Pick<Recorded, "index">, error: LoopwardenError): string {
  return `${index === undefined ? "" : `events[${index}]: `}${error.code}: ${error.message}`;
}

/**
 * The runs of a text: one a line where the first line is a scenario, or a run of a foreign format with a label; else the
 * whole text is one. Read the events of a run before the next run is asked for.
 */
export async function* runs(
  file: string,
  chunks: AsyncIterable<string>,
  complain: Complain,
  format?: TranscriptFormat,
): AsyncGenerator<Run> {
  const source = new Source(chunks);
  if (format !== undefined) await fits(file, source, format);
  // Scenarios are traces, also where that is said.
  const first = format === undefined || format === "trace" ? await source.firstLine() : "";
  const value = parsed(first);
  if (isScenario(value) || wrongScenario(value).length > 0) {
    yield* scenarios(file, source, complain);
    return;
  }
  let rows: string[] | undefined;
  if (format === undefined && holdsRun(value)) {
    // Whether these are runs with labels or the requests of one run, any of the lines may tell.
    rows = [];
    for await (const line of source.lines()) rows.push(line);
    if (rows.some((row) => holdsRun(parsed(row), true))) {
      yield* labelled(file, rows, complain);
      return;
    }
  } else if (
    value === undefined &&
    first.trimStart().startsWith("{") &&
    (await source.begins(BEGINNING, /"events"\s*:/))
  ) {
    rows = [];
    for await (const line of source.lines()) rows.push(line);
    const text = rows.join("\n");
    const whole = parsed(text);
    if (isScenario(whole)) {
      yield scenario(file, text, whole, 1);
      return;
    }
  }
  const pieces = rows === undefined ? source.pieces() : cut(rows);
  const head: Head = {
    file,
    id: undefined,
    line: 1,
    labels: {},
    wrong: [],
    config: undefined,
    format: "trace",
    whole: true,
  };
  const read = transcript(pieces, complain, format);
  // The format is known when the first events are there.
  const begun = await read.next();
  if (begun.done) return;
  yield {
    ...head,
    format: begun.value.format,
    events: (async function* () {
      yield begun.value.events;
      for await (const { events } of read) yield events;
    })(),
  };
}

/**
 * Looks at a beginning before it is read as it was said to be: what is plainly of another format would be read as a run in
 * which little happens, and no loop.
 *
 * @throws {LoopwardenError} `invalid-argument` where it is.
 */
async function fits(file: string, source: Source, format: TranscriptFormat): Promise<void> {
  const beginning = await source.beginning(BEGINNING);
  const found = readTranscript(beginning);
  if (found.format === format) return;
  const isSure = found.format !== "openai" && found.format !== "trace";
  // These two are also what is taken for messages and for lines that nothing tells apart: then what is seen so decides.
  const calls = ({ events }: Transcript) =>
    events.some((event) => (event.type === "tool-call" || event.type === "tool-result") && !isStandIn(event));
  if (!isSure && (!calls(found) || calls(readTranscript(beginning, format)))) return;
  const message = `${file}: is of the format ${found.format} and not ${format}; without --format it is recognised`;
  throw new LoopwardenError({ code: "invalid-argument", message, field: "format" });
}

/** The runs of a text, held. */
export async function traces(
  file: string,
  chunks: AsyncIterable<string>,
  complain: Complain,
  format?: TranscriptFormat,
): Promise<Trace[]> {
  const found: Trace[] = [];
  for await (const { events, ...head } of runs(file, chunks, complain, format)) {
    const all: Recorded[] = [];
    for await (const some of events) for (const one of some) all.push(one);
    if (all.some(({ unread }) => !unread)) found.push({ ...head, events: all });
  }
  return found;
}

/** The runs that the events of a file belong to, each as a trace of its own. */
export function apart(trace: Trace): Trace[] {
  const found = new Map<string, Recorded[]>();
  for (const recorded of trace.events) {
    const run = recorded.event?.run ?? "";
    const events = found.get(run) ?? [];
    if (events.length === 0) found.set(run, events);
    events.push(recorded);
  }
  if (found.size < 2) return [trace];
  return [...found].map(([run, events]) => ({ ...trace, id: run === "" ? undefined : run, events }));
}

/** The configuration that a run brings along. */
export const ownConfig = ({ config }: Pick<Head, "config">): Config | undefined =>
  config === undefined ? undefined : JSON.parse(config);

/** Reads a text in a format of its own, in parts of at least one event. */
async function* transcript(
  pieces: AsyncIterable<string>,
  complain: Complain,
  format: TranscriptFormat | undefined,
): AsyncGenerator<{ format: TranscriptFormat; events: Recorded[] }> {
  const reader = new TranscriptReader(format);
  const pairs = new Pairs();
  let count = 0;
  const taken = (part: TranscriptPart): Recorded[] => {
    for (const { line, error } of part.errors) {
      const { code, message } = new LoopwardenError(error);
      complain(line, `${code}: ${message}`);
    }
    return part.events.map((traced, at) => {
      pairs.add(traced, count++);
      const { pending, ...event } = traced;
      const own = event as Event;
      return {
        event: own,
        pending: pending === true,
        line: part.lines[at] ?? 0,
        tool: pairs.toolOf(traced),
        ...(pairs.isStray && { stray: true }),
        ...(isStandIn(traced) && { unread: true }),
      };
    });
  };
  for await (const piece of pieces) {
    const part = reader.feed(piece);
    const events = taken(part);
    if (events.length > 0) yield { format: part.format ?? "trace", events };
  }
  const part = reader.finish();
  const events = taken(part);
  if (events.length > 0) yield { format: part.format ?? "trace", events };
}

async function* scenarios(file: string, source: Source, complain: Complain): AsyncGenerator<Run> {
  let number = 0;
  /** The line that each id was on first. */
  const ids = new Map<unknown, number>();
  for await (const line of source.lines()) {
    number++;
    if (line.trim() === "") continue;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (error) {
      // In the core's words, which are for people.
      const broken = readTranscript(line, "trace").errors[0]?.error;
      const message = broken?.code === "invalid-json" ? new LoopwardenError(broken).message : (error as Error).message;
      complain(number, `invalid-json: ${message.replace(/^event /, "scenario ")}`);
      continue;
    }
    if (!isScenario(value)) {
      const wrong = wrongScenario(value);
      complain(
        number,
        ...(wrong.length > 0 ? wrong : ["expected a scenario: an object with `id` and a list of `events`"]),
      );
      continue;
    }
    const run = scenario(file, line, value, number);
    const before = ids.get(value.id);
    if (before === undefined) ids.set(value.id, number);
    else if (typeof value.id === "string") run.wrong.push(told("id", `is that of line ${before} already`, value.id));
    yield run;
  }
}

function scenario(file: string, text: string, value: Labelled, line: number): Run {
  const events: Recorded[] = [];
  const pairs = new Pairs();
  const list = member(text, "events") ?? "[]";
  for (const [index, { value: one }] of [...parts(list)].entries()) {
    // What is no event is for the core to refuse.
    const traced: TraceEvent = JSON.parse(one);
    const isObject = typeof traced === "object" && traced !== null && !Array.isArray(traced);
    const pending = isObject && traced.pending === true;
    const own = isObject && traced.pending !== undefined ? without(one, "pending") : one;
    if (isObject) pairs.add(traced, index);
    events.push({
      text: own,
      event: (pending ? JSON.parse(own) : traced) as Event,
      pending,
      line,
      tool: isObject ? pairs.toolOf(traced) : undefined,
      ...(isObject && pairs.isStray && { stray: true }),
      index,
    });
  }
  const config = member(text, "config");
  return {
    file,
    id: value.id === undefined ? undefined : String(value.id),
    line,
    labels: labelsOf(value),
    wrong: wrongLabels(value),
    config: config === "null" ? undefined : config,
    format: "scenario",
    whole: false,
    events: once(events),
  };
}

/** Runs of a foreign format, one a line, with what the line says of them. */
async function* labelled(file: string, rows: string[], complain: Complain): AsyncGenerator<Run> {
  for (const [at, row] of rows.entries()) {
    if (row.trim() === "") continue;
    const line = at + 1;
    const value = parsed(row) as Labels | undefined;
    const events: Recorded[] = [];
    let format: TranscriptFormat = "trace";
    for await (const part of transcript(
      cut([row]),
      (inner, message) => complain(line + inner - 1, message),
      undefined,
    )) {
      format = part.format;
      for (const recorded of part.events) events.push({ ...recorded, line: recorded.line + line - 1 });
    }
    yield {
      file,
      id: value?.id === undefined ? undefined : String(value.id),
      line,
      labels: labelsOf(value ?? {}),
      wrong: wrongExpectation(value ?? {}),
      config: value === undefined ? undefined : member(row, "config"),
      format,
      whole: false,
      events: once(events),
    };
  }
}

/** Events that are held, as a run has them. */
export async function* once(events: Recorded[]): AsyncGenerator<Recorded[]> {
  yield events;
}

type Labels = Trace["labels"] & { id?: unknown };
type Labelled = Labels & { events: unknown[] };

function labelsOf({ expect, expectAt, firstAt, minLevel, success }: Labels): Trace["labels"] {
  return {
    expect: expect ?? null,
    expectAt: expectAt ?? null,
    firstAt: firstAt === true,
    minLevel: minLevel ?? null,
    success: typeof success === "boolean" ? success : null,
  };
}

/** Whether a value is a scenario, and not a telemetry span, which has events of another kind. */
function isScenario(value: unknown): value is Labelled {
  return isObject(value) && Array.isArray(value["events"]) && !isSpan(value);
}

const isSpan = (value: object): boolean => ["spanId", "span_id", "attributes", "context"].some((name) => name in value);

/** What is wrong with what was to be a scenario, by its keys, and is none; nothing where it was to be something else. */
function wrongScenario(value: unknown): string[] {
  if (!isObject(value) || "type" in value || isSpan(value) || holdsRun(value) || isScenario(value)) return [];
  const { expectAt: _, ...labels } = value;
  const { id, events, expect, success } = labels;
  const isLabelled = expect !== undefined || success !== undefined;
  if (events === undefined ? id === undefined || !isLabelled : id === undefined && !isLabelled) return [];
  const message = events === undefined ? "missing field, expected a list of events" : "expected a list of events";
  return [told("events", message, events), ...wrongLabels({ ...labels, events: [undefined] })];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether a value holds a whole run in a list; with `wanted` only where a label stands beside it. */
function holdsRun(value: unknown, wanted = false): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { expect, success } = value as Labels;
  const isLabelled = expect !== undefined || typeof success === "boolean";
  return (isLabelled || !wanted) && RUNS.some((key) => Array.isArray((value as Record<string, unknown>)[key]));
}

function parsed(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function* cut(rows: string[]): AsyncGenerator<string> {
  for (const [at, row] of rows.entries()) yield at < rows.length - 1 ? `${row}\n` : row;
}

/** A text that comes in chunks and can be looked at before it is read. */
class Source {
  readonly #chunks: AsyncIterator<string>;
  /** What was looked at, and not read. */
  #ahead: string[] = [];
  #ended = false;

  constructor(chunks: AsyncIterable<string>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async #more(): Promise<string | undefined> {
    if (this.#ended) return undefined;
    const next = await this.#chunks.next();
    if (next.done) this.#ended = true;
    return next.done ? undefined : next.value;
  }

  /** The first line that is not blank. */
  async firstLine(): Promise<string> {
    let line = this.#ahead.join("");
    for (;;) {
      const rest = line.replace(/^\ufeff?\s+/, "");
      const end = rest.indexOf("\n");
      if (end >= 0 && rest.trim() !== "") return rest.slice(0, end).replace(/^\ufeff/, "");
      const chunk = await this.#more();
      if (chunk === undefined) return rest.replace(/^\ufeff/, "");
      this.#ahead.push(chunk);
      line += chunk;
    }
  }

  /** Whether something stands among the first characters. */
  async begins(characters: number, pattern: RegExp): Promise<boolean> {
    return pattern.test(await this.beginning(characters));
  }

  /** The first characters, as many as there are. */
  async beginning(characters: number): Promise<string> {
    let text = this.#ahead.join("");
    while (text.length < characters) {
      const chunk = await this.#more();
      if (chunk === undefined) break;
      this.#ahead.push(chunk);
      text += chunk;
    }
    return text.slice(0, characters);
  }

  /** Everything, in pieces that are no larger than need be. */
  async *pieces(): AsyncGenerator<string> {
    for (;;) {
      const chunk = this.#ahead.shift() ?? (await this.#more());
      if (chunk === undefined) return;
      for (let at = 0; at < chunk.length; ) {
        let end = Math.min(chunk.length, at + PIECE);
        // Half a surrogate pair is no text.
        if (end < chunk.length && /[\ud800-\udbff]/.test(chunk[end - 1] ?? "")) end++;
        yield chunk.slice(at, end);
        at = end;
      }
    }
  }

  /** Everything, line by line. Only `\n` ends a line. */
  async *lines(): AsyncGenerator<string> {
    let rest: string[] = [];
    for await (const piece of this.pieces()) {
      const ends = piece.split("\n");
      const last = ends.pop() ?? "";
      if (ends.length === 0) {
        rest.push(last);
        continue;
      }
      rest.push(ends[0] ?? "");
      yield rest.join("");
      for (const line of ends.slice(1)) yield line;
      rest = [last];
    }
    const line = rest.join("");
    if (line !== "") yield line;
  }
}
