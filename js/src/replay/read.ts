// Reads recorded runs as streams: only the current line or document is held in memory.

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
  /** The event's original JSON text, if any, so that numbers reach the core as they were written. */
  text?: string;
  event: Event;
  /** Whether it had not happened yet: it is for `check`. */
  pending: boolean;
  /** The line of the file, from 1. */
  line: number;
  /** The tool of the event; for a result, the tool of its call. */
  tool: string | undefined;
  /** Set for a result whose call id no earlier call has. */
  stray?: true;
  /**
   * Set for a stand-in for a result that could not be read. It only answers the call and does not count as an event.
   */
  unread?: true;
  /** The index in a scenario's list; absent in a log. */
  index?: number;
}

/** A run without its events. */
export interface Head {
  file: string;
  /** The scenario's id. */
  id: string | undefined;
  /** The line of the file it begins on, from 1. */
  line: number;
  labels: Pick<Scenario, "expect" | "expectAt" | "firstAt" | "minLevel" | "success">;
  /** Errors in the labels, which are then not used. */
  wrong: string[];
  /** The run's own configuration, as JSON text. */
  config: string | undefined;
  format: "scenario" | TranscriptFormat;
  /** Whether it is a whole log rather than one of several runs listed in a file. */
  whole: boolean;
}

/** A recorded run whose events are streamed and can be read once. */
export interface Run extends Head {
  events: AsyncIterable<Recorded[]>;
}

/** A recorded run in memory. */
export interface Trace extends Head {
  events: Recorded[];
}

/** Receives a line that cannot be read and everything that is wrong with it. */
export type Complain = (line: number, ...messages: string[]) => void;

/** Maximum size of a piece fed to the reader, in characters. */
const PIECE = 1 << 15;
/** Number of characters at the beginning of a document in which its format is detected. */
const BEGINNING = 1 << 16;
/** Names of lists that contain a whole run on one line. */
const RUNS = ["messages", "trajectory", "history", "items", "input", "contents", "resourceSpans", "spans"];

/** The message for a rejected event, with its index in a scenario. */
export function refused({ index }: Pick<Recorded, "index">, error: LoopwardenError): string {
  return `${index === undefined ? "" : `events[${index}]: `}${error.code}: ${error.message}`;
}

/**
 * The runs of a text: one per line if the first line is a scenario, or if the lines are runs of a foreign format with
 * labels; otherwise the whole text is one run. Read the events of a run before requesting the next run.
 *
 * @throws {LoopwardenError} `invalid-argument` if the text is clearly of another format than `format`.
 */
export async function* runs(
  file: string,
  chunks: AsyncIterable<string>,
  complain: Complain,
  format?: TranscriptFormat,
): AsyncGenerator<Run> {
  const source = new Source(chunks);
  if (format !== undefined) await fits(file, source, format);
  // Scenarios count as traces, also if that format is given.
  const first = format === undefined || format === "trace" ? await source.firstLine() : "";
  const value = parsed(first);
  if (isScenario(value) || wrongScenario(value).length > 0) {
    yield* scenarios(file, source, complain);
    return;
  }
  let rows: string[] | undefined;
  if (format === undefined && holdsRun(value)) {
    // Any line may show whether these are labelled runs or the requests of one run.
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
  // The format is known with the first events.
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
 * Checks the beginning of a text against the given format: a text of another format would be read as a run with few
 * events and no loop.
 *
 * @throws {LoopwardenError} `invalid-argument` if it is clearly of another format.
 */
async function fits(file: string, source: Source, format: TranscriptFormat): Promise<void> {
  const beginning = await source.beginning(BEGINNING);
  const found = readTranscript(beginning);
  if (found.format === format) return;
  const isSure = found.format !== "openai" && found.format !== "trace";
  // These two formats are also the fallback for unidentified messages and lines: then the calls found decide.
  const calls = ({ events }: Transcript) =>
    events.some((event) => (event.type === "tool-call" || event.type === "tool-result") && !isStandIn(event));
  if (!isSure && (!calls(found) || calls(readTranscript(beginning, format)))) return;
  const message = `${file}: is of the format ${found.format} and not ${format}; without --format it is recognised`;
  throw new LoopwardenError({ code: "invalid-argument", message, field: "format" });
}

/** The runs of a text in memory; runs without a readable event are omitted. */
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

/** Splits a trace by the `run` of its events. */
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

/** A run's own configuration. */
export const ownConfig = ({ config }: Pick<Head, "config">): Config | undefined =>
  config === undefined ? undefined : JSON.parse(config);

/** Reads a text in a transcript format, in parts of at least one event. */
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
  /** The first line of each id. */
  const ids = new Map<unknown, number>();
  for await (const line of source.lines()) {
    number++;
    if (line.trim() === "") continue;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (error) {
      // Use the core's message, which is more readable.
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
    // Invalid events are left for the core to reject.
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

/** Runs of a foreign format, one per line, with the labels on their lines. */
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

/** Events in memory as the stream of a run. */
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

/** Whether a value is a scenario, rather than a telemetry span, which has other events. */
function isScenario(value: unknown): value is Labelled {
  return isObject(value) && Array.isArray(value["events"]) && !isSpan(value);
}

const isSpan = (value: object): boolean => ["spanId", "span_id", "attributes", "context"].some((name) => name in value);

/**
 * The errors of a value that looks like a scenario by its keys but is not valid; empty if it does not look like one.
 */
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

/** Whether a value contains a whole run in a list; with `wanted`, only if it also has a label. */
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

/** A text that arrives in chunks and can be peeked at before it is read. */
class Source {
  readonly #chunks: AsyncIterator<string>;
  /** Chunks that were peeked at but not read. */
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

  /** Whether a pattern matches within the first characters. */
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

  /** The whole text, in pieces of at most {@link PIECE} characters, or one more. */
  async *pieces(): AsyncGenerator<string> {
    for (;;) {
      const chunk = this.#ahead.shift() ?? (await this.#more());
      if (chunk === undefined) return;
      for (let at = 0; at < chunk.length; ) {
        let end = Math.min(chunk.length, at + PIECE);
        // Keeps surrogate pairs together.
        if (end < chunk.length && /[\ud800-\udbff]/.test(chunk[end - 1] ?? "")) end++;
        yield chunk.slice(at, end);
        at = end;
      }
    }
  }

  /** The whole text, line by line. Only `\n` ends a line. */
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
