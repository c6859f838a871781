import { randomUUID } from "node:crypto";
import { type BigIntStats, createReadStream, fstat as fstatOf, readFileSync, statSync } from "node:fs";
import { lstat, open, readdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { setFlagsFromString } from "node:v8";
import { createGunzip } from "node:zlib";
import { findNodeAtLocation, getNodeValue, type Node, parseTree } from "jsonc-parser";
import { LoopwardenError } from "../errors.ts";
import { FORMATS } from "../generated/names.ts";
import type { Event } from "../generated/types.ts";
import { isLargelyUnread } from "../replay/judge.ts";
import { type Complain, once, type Recorded, type Run, runs, type Trace, traces } from "../replay/read.ts";
import { short } from "../replay/summarise.ts";
import type { TranscriptFormat } from "../transcript.ts";
import { oneOf, UsageError } from "./args.ts";
import { InputError, reasonOf } from "./failure.ts";
import { MAX_CONFIG } from "./name.ts";
import { progress, tell } from "./print.ts";

const fstat = (descriptor: number): Promise<BigIntStats> => promisify(fstatOf)(descriptor, { bigint: true });

/** What a file is expected to contain. */
type Kind = "log" | "configuration";

/** The name of a file in messages. */
export const shown = (file: string): string => (file === "-" ? "standard input" : file);

/**
 * Reads a whole configuration, plain or gzip-compressed; `-` is the standard input.
 *
 * @throws {InputError} if it is not text, or too long.
 */
export async function text(file: string): Promise<string> {
  let whole = "";
  for await (const chunk of chunks(file, "configuration")) {
    whole += chunk;
    if (whole.length > MAX_CONFIG) throw new InputError(`${shown(file)}: is too large for a configuration`);
  }
  return whole;
}

/**
 * Streams the text of a file, plain or gzip-compressed; `-` is the standard input. On a terminal, a long file shows its
 * progress.
 *
 * @throws {InputError} if it is not text.
 */
async function* chunks(file: string, kind: Kind): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let read = 0;
  for await (const chunk of await source(file, kind)) {
    const wrong = read === 0 ? noText(chunk, kind) : undefined;
    if (wrong !== undefined) throw new InputError(`${shown(file)}: ${wrong}`);
    read += chunk.length;
    yield decoder.decode(chunk, { stream: true });
  }
  yield decoder.decode();
}

/**
 * Why a file is not text, from its beginning: UTF-16 and binary files contain zero bytes, logs do not. Else undefined.
 */
export function noText(bytes: Uint8Array, kind: Kind): string | undefined {
  const [first = 1, second = 1] = bytes;
  const isMarked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const isWide = Math.min(first, second) === 0 && Math.max(first, second) > 8;
  if (isMarked || isWide) return "is UTF-16; save it as UTF-8";
  if (!bytes.subarray(0, 4096).includes(0)) return undefined;
  return `is not readable text; a ${kind} is UTF-8 text, plain or gzip-compressed`;
}

async function source(file: string, kind: Kind): Promise<AsyncIterable<Uint8Array>> {
  if (file === "-") return named(shown(file), unpacked(process.stdin));
  let size: number;
  try {
    // Opened here, so that a missing file fails now rather than in the middle of the stream.
    const handle = await open(file);
    const info = await handle.stat();
    await handle.close();
    if (info.isDirectory()) {
      const files = kind === "log" ? await eventFiles(file) : undefined;
      const last = kind === "log" ? ", or take --last for the newest session on this machine" : "";
      if (files === undefined) throw new InputError(`${file}: is a folder; name a file in it${last}`);
      return joined(files);
    }
    size = info.size;
  } catch (error) {
    throw readable(file, error);
  }
  return named(file, unpacked(watched(file, size)));
}

/** The files of a session with one file per event, as OpenHands writes it, in order; undefined for other folders. */
export async function eventFiles(folder: string): Promise<string[] | undefined> {
  for (const events of [join(folder, "events"), folder]) {
    const names = await readdir(events).catch(() => []);
    const numbered = names.flatMap((name) => {
      const number = /^(?:event-)?(\d+)(?:-[\w-]+)?\.json$/.exec(name)?.[1];
      return number === undefined ? [] : [{ file: join(events, name), number: Number(number) }];
    });
    if (numbered.length > 0) return numbered.sort((a, b) => a.number - b.number).map(({ file }) => file);
  }
  return undefined;
}

/** Concatenates files of one event each, one event per line. */
async function* joined(files: string[]): AsyncGenerator<Uint8Array> {
  for (const file of files) {
    const text = await readFile(file, "utf8").catch((error: unknown) => Promise.reject(readable(file, error)));
    yield Buffer.from(`${oneLine(text)}\n`);
  }
}

/** A JSON document on one line; JSON strings contain no line breaks. */
export const oneLine = (json: string): string => json.replaceAll(/\s*[\r\n]\s*/g, " ").trim();

/** Size in bytes from which progress is shown and memory use is tuned. */
const LONG = 8 << 20;
/** Interval between progress updates, in milliseconds. */
const EVERY = 200;

/** A stream of a file's bytes that shows progress if the file is long. */
function watched(file: string, size: number): Readable {
  const stream = createReadStream(file, { highWaterMark: 1 << 16 });
  if (size >= LONG) {
    // Reading a long file produces short-lived garbage: a large young generation would only use more memory.
    setFlagsFromString("--max-semi-space-size=2");
    setFlagsFromString("--semi-space-growth-factor=1");
    // So would a heap that may grow to several times the live memory before a collection.
    setFlagsFromString("--heap-growing-percent=20");
    // WebAssembly functions compiled in parallel need their compilers' memory at the same time.
    setFlagsFromString("--wasm-num-compilation-tasks=1");
  }
  if (size < LONG || process.stderr.isTTY !== true) return stream;
  const began = performance.now();
  let told = began;
  stream.on("data", () => {
    const now = performance.now();
    if (now - told < EVERY) return;
    told = now;
    const share = stream.bytesRead / size;
    const left = Math.ceil(((now - began) * (1 - share)) / share / 1000);
    progress(`${file}: ${Math.floor(share * 100)} %, ${left} s to go`);
  });
  // The `data` listener must not start the stream: the iterating reader does.
  stream.pause();
  stream.on("close", () => progress(undefined));
  return stream;
}

async function* named(file: string, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes;
  } catch (error) {
    throw readable(file, error);
  }
}

/** Unpacks gzip, recognised by its first two bytes; passes anything else on. */
async function* unpacked(stream: Readable): AsyncGenerator<Uint8Array> {
  const chunks: AsyncIterator<Buffer> = stream[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  let next = await chunks.next();
  while (!next.done) {
    head = Buffer.concat([head, next.value]);
    if (head.length >= 2) break;
    next = await chunks.next();
  }
  const all = async function* (): AsyncGenerator<Buffer> {
    yield head;
    for (let more = await chunks.next(); !more.done; more = await chunks.next()) yield more.value;
  };
  if (head[0] === 0x1f && head[1] === 0x8b) yield* gunzipped(all());
  else yield* all();
}

/** Unpacks gzip. An error is thrown only after the data before it, which piping to the stream would lose. */
async function* gunzipped(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  let parts: Buffer[] = [];
  let failure: unknown;
  gunzip.on("data", (part: Buffer) => parts.push(part));
  gunzip.on("error", (error) => {
    failure ??= error;
  });
  const taken = () => {
    const all = parts;
    parts = [];
    return all;
  };
  for await (const chunk of packed) {
    await new Promise((done) => gunzip.write(chunk, done));
    yield* taken();
    if (failure !== undefined) throw failure;
  }
  await new Promise((done) => gunzip.once("close", done).end());
  yield* taken();
  if (failure !== undefined) throw failure;
}

/** Thrown for a truncated compressed file, after the data before that point. */
class CutOff extends InputError {}

function readable(file: string, error: unknown): InputError {
  if (error instanceof InputError) return error;
  const isCut = (error as NodeJS.ErrnoException).code === "Z_BUF_ERROR";
  return new (isCut ? CutOff : InputError)(`${file}: ${reasonOf(error)}`);
}

/** The option of commands that read a log. `--strict` makes anything in it that cannot be read an error. */
export const STRICT = { strict: { type: "boolean", default: false } } as const;

/** The option of commands that write a file. `--force` allows overwriting. */
export const FORCE = { force: { type: "boolean", default: false } } as const;

/**
 * Checks, before anything is read, whether a command may write to a file: it could be one of the inputs or contain
 * something else. `wrong` returns the reason why the existing contents must not be lost, or undefined.
 *
 * @throws {UsageError} if it may not.
 */
export async function mayWrite(
  output: string,
  inputs: readonly string[],
  wrong: (output: string) => Promise<string | undefined>,
): Promise<void> {
  const there = await identity(output);
  // A new file may be written, and so may a device or a pipe.
  if (there === undefined) return;
  for (const input of inputs) {
    const files = (await eventFiles(input)) ?? [input];
    for (const file of files) {
      if ((await identity(file)) === there) throw overwrites(output, "is the log that is being read");
    }
  }
  // A link is refused by `save`.
  if ((await lstat(output)).isSymbolicLink()) return;
  const why = (await isEmpty(output)) ? undefined : await wrong(output);
  if (why !== undefined) throw overwrites(output, why);
}

const overwrites = (output: string, why: string): UsageError =>
  new UsageError(`${output}: ${why}; name another file, or overwrite it with --force`);

/** Identifies an existing regular file, whatever path it is accessed by; undefined for anything else. */
async function identity(file: string): Promise<string | undefined> {
  const info = await (file === "-" ? fstat(0) : stat(file, { bigint: true })).catch(() => undefined);
  if (!info?.isFile()) return undefined;
  return info.ino === 0n ? await realpath(file) : `${info.dev} ${info.ino}`;
}

const isEmpty = async (file: string): Promise<boolean> => (await stat(file)).size === 0;

/**
 * Writes a file atomically: if the disk is full, the previous contents stay.
 *
 * @throws {InputError} if it cannot be written, or for a link, which may point to somebody else's file.
 */
export async function save(file: string, content: string): Promise<void> {
  const before = await lstat(file).catch(() => undefined);
  if (before?.isSymbolicLink() && !/^\/(?:dev|proc)\//.test(file))
    throw new InputError(`${file}: is a link; name the file itself, or another one`);
  try {
    // A device or a pipe is written directly.
    if (before === undefined || before.isFile()) await replace(file, content, before?.mode);
    else await writeFile(file, content);
  } catch (error) {
    // ENOENT here means that the folder is missing.
    const isHomeless = (error as NodeJS.ErrnoException).code === "ENOENT";
    throw new InputError(`${file}: cannot be written: ${isHomeless ? "its folder does not exist" : reasonOf(error)}`);
  }
}

async function replace(file: string, content: string, mode: number | undefined): Promise<void> {
  const whole = `${file}.${randomUUID()}.tmp`;
  try {
    const made = await open(whole, "wx", 0o666);
    try {
      // Independent of the umask.
      if (mode !== undefined) await made.chmod(mode & 0o7777);
      await made.writeFile(content);
    } finally {
      await made.close();
    }
    await rename(whole, file);
  } catch (error) {
    await rm(whole, { force: true });
    // A file that is a mount point or in a folder of another user cannot be replaced, only written in place.
    const { code } = error as NodeJS.ErrnoException;
    if (mode === undefined || !["EACCES", "EBUSY", "EPERM", "EROFS"].includes(code ?? "")) throw error;
    await writeFile(file, content);
  }
}

// --- Runs ---

/** Reads the value of `--format`; undefined means that the format is detected. */
export const transcriptFormat = (name: string | undefined): TranscriptFormat | undefined =>
  oneOf("--format", name, FORMATS);

/** Maximum number of complaints printed per file; the rest are counted. */
const COMPLAINTS = 20;
/** Maximum number of complaints of the same kind printed per file. */
const ALIKE = 3;
/** Maximum number of kinds of complaints that are distinguished. */
const KINDS = 1000;

/** Timestamps that are plausible in other units, and in milliseconds would be before 1974 or after 5100. */
const UNITS = [
  { from: 1e9, to: 1e11, unit: "seconds", pauses: "a thousandth of what they were" },
  { from: 1e14, to: 1e17, unit: "microseconds", pauses: "a thousand times as long" },
  { from: 1e17, to: 1e20, unit: "nanoseconds", pauses: "a million times as long" },
] as const;

/** Collects and prints complaints about the lines of a file. */
export class Complaints {
  /** The number of lines or events that could not be read. */
  count = 0;
  /** Adds an unreadable line or event with everything that is wrong with it. */
  readonly add: Complain;
  /** Reports a truncated log, whose missing rest counts as one unreadable line. */
  readonly cut: Cut;
  readonly #file: string;
  /** By {@link kindOf}: the first message, how often the kind occurred, and how often it was printed. */
  readonly #kinds = new Map<string, { message: string; said: number; printed: number }>();
  #printed = 0;
  /** Results without an earlier call, by scenario, run and call id. */
  readonly #strays = new Map<string, string[]>();
  /** Results whose call came later. */
  readonly #early: string[] = [];
  /** The first event whose time looks like seconds, and its line; `told` once it has been reported. */
  #strangeTime: { line: number; at: number } | "told" | undefined;
  /** Whether an error concerned a field of an event, which means that the format was recognised. */
  isKnown = false;

  constructor(file: string) {
    this.#file = file;
    this.add = (line, ...messages) => {
      this.count++;
      this.note(line, ...messages);
    };
    this.cut = (message) => {
      this.count++;
      tell(`loopwarden: ${message}; what stands before that is read`);
    };
  }

  /** Prints messages about a line without counting it as unreadable. */
  note(line: number, ...messages: string[]): void {
    for (const message of messages) {
      this.isKnown ||= /(?:^|: )invalid-event: (?!`type`)/.test(message);
      if (this.#isPrinted(message)) tell(`${shown(this.#file)}:${line}: ${message}`);
    }
  }

  /** Counts a complaint and decides whether to print it. */
  #isPrinted(message: string): boolean {
    const key = this.#kinds.size < KINDS ? kindOf(message) : "";
    const kind = this.#kinds.get(key) ?? { message, said: 0, printed: 0 };
    this.#kinds.set(key, kind);
    kind.said++;
    if (kind.printed === ALIKE || this.#printed === COMPLAINTS) return false;
    kind.printed++;
    this.#printed++;
    return true;
  }

  /** Checks an event that was read: its time, and whether a result has a call, without which little can be judged. */
  read({ stray, event, line, index }: Recorded): void {
    this.time(event, line);
    // Invalid events are rejected elsewhere.
    if (event?.type !== "tool-result" && event?.type !== "tool-call") return;
    // The events of a scenario are all on one line.
    const key = JSON.stringify([index === undefined ? "" : line, event.run ?? "", event.callId]);
    const before = this.#strays.get(key) ?? [];
    if (event.type === "tool-call") {
      this.#early.push(...before);
      this.#strays.delete(key);
    } else if (stray) this.#strays.set(key, [...before, `${event.callId} in line ${line}`]);
  }

  /** Notes a timestamp that is unlikely to be in milliseconds. */
  time(event: Event | undefined, line: number): void {
    const { at } = event ?? {};
    if (typeof at === "number" && unitOf(at) !== undefined) this.#strangeTime ??= { line, at };
  }

  /** Reports once that timestamps look like another unit than milliseconds. */
  tellTime(): void {
    if (this.#strangeTime === undefined || this.#strangeTime === "told") return;
    const { line, at } = this.#strangeTime;
    this.#strangeTime = "told";
    const { unit = "", pauses = "" } = unitOf(at) ?? {};
    tell(
      `${shown(this.#file)}:${line}: "at": ${at} looks like ${unit}, but milliseconds are expected: pauses would be ${pauses}`,
    );
  }

  /**
   * Prints the summary: complaints that were not printed, results without a call, and how much of the file could not
   * be read, each in one line.
   *
   * @param judged the number of events judged.
   * @param unread the number of lines and events that could not be read, if less than {@link Complaints.count}.
   */
  end(judged: number, unread: number = this.count): void {
    let others = 0;
    for (const { message, said, printed } of this.#kinds.values()) {
      if (printed === 0) others += said;
      else if (said > printed) tell(`${shown(this.#file)}: ${said - printed} more like that: ${short(message, 80)}`);
    }
    if (others > 0) tell(`${shown(this.#file)}: ${others} more with other messages, shown once those above are mended`);
    this.tellTime();
    this.#tell(this.#early, ["comes before its call", "come before their calls"], "write each after its call");
    this.#tell(
      [...this.#strays.values()].flat(),
      ["matches no call", "match no call"],
      "no earlier call has the callId",
    );
    if (unread === 0) return;
    const much = isLargelyUnread(unread, judged) ? "much of it cannot be read, " : "cannot be read: ";
    tell(`${shown(this.#file)}: ${much}${countOf(unread, judged)}: the results are about the rest`);
  }

  #tell({ length, 0: first }: string[], [one, several]: [string, string], why: string): void {
    if (first === undefined) return;
    const results = length === 1 ? `1 result ${one}` : `${length} results ${several}`;
    tell(`${shown(this.#file)}: ${results}; ${why}: ${short(first, 80)}${length > 1 ? ", …" : ""}`);
  }
}

/** The unit that a timestamp seems to be in, if that is not milliseconds. */
const unitOf = (at: number) => UNITS.find(({ from, to }) => at >= from && at < to);

/** The share of a file's lines and events that could not be read, as text. */
export const countOf = (unread: number, judged: number): string => `${unread} of ${unread + judged} lines or events`;

/** The kind of a complaint: its message, for an event without quoted values and numbers. */
const kindOf = (message: string): string =>
  !/^(?:events\[\d+\]: )?[a-z]+-[a-z]+: /.test(message)
    ? message
    : message
        .replaceAll(/"(?:\\.|[^"\\])*"/g, '""')
        .replace(/\bgot `.*/is, "got")
        .replaceAll(/\d+/g, "0");

/** Receives the message about a truncated compressed log. */
type Cut = (message: string) => void;

/** Streams the text of a log; a truncated compressed log ends early and is reported through `cut`. */
async function* log(file: string, cut: Cut): AsyncGenerator<string> {
  try {
    yield* chunks(file, "log");
  } catch (error) {
    if (!(error instanceof CutOff)) throw error;
    cut(error.message);
  }
}

/** The runs of a file, streamed. */
export const runsOf = (
  file: string,
  complain: Complain,
  format: TranscriptFormat | undefined,
  cut: Cut,
): AsyncGenerator<Run> => runs(file, log(file, cut), complain, format);

/** The runs of a file, all in memory. */
export const tracesOf = (file: string, { add, cut }: Complaints, format?: TranscriptFormat): Promise<Trace[]> =>
  traces(file, log(file, cut), add, format);

/**
 * Selects the run of a file with the given id, or the only one.
 *
 * @throws {InputError} if there is none, or several and no id; the summary of complaints has then been printed.
 */
export async function chosenRun(
  file: string,
  found: AsyncIterable<Run>,
  id: string | undefined,
  complaints: Complaints,
): Promise<Run> {
  let first: Trace | undefined;
  let count = 0;
  for await (const run of found) {
    // A log is one run and is streamed.
    if (run.whole && id === undefined) return run;
    if (id !== undefined && run.id !== id) continue;
    const events: Recorded[] = [];
    for await (const part of run.events) events.push(...part);
    if (events.length > 0 && ++count === 1) first = { ...run, events };
  }
  if (first !== undefined && (id !== undefined || count === 1)) {
    const { events, ...head } = first;
    return { ...head, events: once(events) };
  }
  complaints.end(0, 0);
  if (first !== undefined) throw new InputError(several(file, count, first));
  if (id !== undefined) throw new InputError(`${shown(file)}: holds no scenario ${id}`);
  nothing(file, complaints);
}

/** The error message if a file contains several runs and one is required. */
export const several = (file: string, count: number, { id }: Pick<Trace, "id">): string =>
  `${shown(file)}: holds ${count} scenarios, name one with --scenario${id === undefined ? "" : `, such as ${id}`}`;

/** Advice for a log in an unknown format. */
export const UNKNOWN: string = `Supported formats: ${FORMATS.join(", ")}; --format names one. Convert a log of another format to one event a line, {"type":"tool-call","tool":…}: \`npx loopwarden schema event\`, docs/transcripts.md`;

/** Why a file contains no run; with advice about formats unless the format was recognised. */
export const absence = (file: string, { isKnown }: Complaints): string =>
  isBlank(file)
    ? `${file}: is empty`
    : `${shown(file)}: holds no event that can be read${isKnown ? "" : `. ${UNKNOWN}`}`;

/** Reports that a file contains no run. @throws {InputError} always. */
export function nothing(file: string, complaints: Complaints): never {
  throw new InputError(absence(file, complaints));
}

/** Whether a file contains nothing but white space. */
function isBlank(file: string): boolean {
  try {
    const { size } = statSync(file);
    return size === 0 || (size < 4096 && readFileSync(file, "utf8").trim() === "");
  } catch {
    // The standard input, or a file that is gone.
    return false;
  }
}

/** Settings files of a project, which contain no run. */
const SETTINGS =
  /(?:^|[\\/])(?:loopwarden|package|package-lock|settings(?:\.local)?|tsconfig[\w.]*|deno|biome|\.\w+)\.jsonc?$/;

/**
 * Expands paths to files: a folder stands for the logs in it, at any depth. `named` says whether the file itself was
 * given. `missing` says of each path that is missing, cannot be read or is a folder without logs what is wrong with it.
 *
 * @throws {InputError} if nothing is left.
 */
export async function filesOf(
  paths: readonly string[],
): Promise<{ files: { file: string; named: boolean }[]; missing: string[] }> {
  const found = new Map<string, boolean>();
  const missing: string[] = [];
  for (const path of paths) {
    if (path === "-") {
      found.set(path, true);
      continue;
    }
    const info = await stat(path).catch(() => undefined);
    if (info === undefined) {
      missing.push(`${path}: no such file or folder`);
      continue;
    }
    if (!info.isDirectory()) {
      found.set(path, true);
      continue;
    }
    const logs = await logsIn(path).catch((error: unknown) => reasonOf(error));
    if (typeof logs === "string") missing.push(`${path}: ${logs}`);
    else if (logs.length === 0)
      missing.push(`${path}: holds no *.jsonl, *.json or *.traj file, plain or with .gz behind it`);
    else for (const file of logs) if (!found.has(file)) found.set(file, false);
  }
  if (found.size === 0 && missing.length > 0) throw new InputError(...missing);
  return { files: [...found].map(([file, named]) => ({ file, named })), missing };
}

/** The logs in a folder, at any depth. */
export async function logsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names
    .filter(
      (name) =>
        /\.(jsonl?(\.gz)?|traj)$/.test(name) && !SETTINGS.test(name) && !/(^|[\\/])node_modules[\\/]/.test(name),
    )
    .sort()
    .map((name) => join(folder, name));
}

/** The message of an error in a JSON document, with its line if known. Other errors are rethrown. */
export function located(file: string, document: string, error: unknown): string {
  if (!(error instanceof LoopwardenError)) throw error;
  const line = error.field === undefined ? undefined : lineOf(document, error.field);
  return `${shown(file)}${line === undefined ? "" : `:${line}`}: ${error.code}: ${error.message}`;
}

/**
 * The line, from 1, of a field such as `rules.cycle.block` or `events[3].tool`, or of its nearest existing ancestor.
 */
export function lineOf(document: string, field: string): number | undefined {
  let node = parseTree(document, [], { allowTrailingComma: true });
  let rest = field;
  let offset: number | undefined;
  while (node !== undefined && rest !== "") {
    const step = child(node, rest);
    if (step === undefined) break;
    offset = step.offset;
    node = step.node;
    rest = step.rest;
  }
  return offset === undefined ? undefined : document.slice(0, offset).split("\n").length;
}

/** The child of a node that the beginning of a path names. */
function child(node: Node, path: string): { node: Node; offset: number; rest: string } | undefined {
  const index = /^\[(\d+)\]\.?/.exec(path);
  if (index !== null) {
    const found = findNodeAtLocation(node, [Number(index[1])]);
    return found && { node: found, offset: found.offset, rest: path.slice(index[0].length) };
  }
  const properties = node.type === "object" ? (node.children ?? []) : [];
  const names = properties.map(({ children: [key] = [] }) => (key === undefined ? "" : String(getNodeValue(key))));
  const name = keyOf(path, names);
  const property = name === undefined ? undefined : properties[names.lastIndexOf(name)];
  const value = property?.children?.[1];
  if (name === undefined || property === undefined || value === undefined) return undefined;
  return { node: value, offset: property.offset, rest: path.slice(name.length).replace(/^\./, "") };
}

/** The key that a path such as `rules.cycle.block` begins with: the longest, since a key may itself contain dots. */
export function keyOf(path: string, keys: readonly string[]): string | undefined {
  const found = keys.filter((key) => path.startsWith(key) && /^(?:$|[.[])/.test(path.slice(key.length)));
  return found.sort((one, other) => other.length - one.length)[0];
}

/** Reads a JSON Schema of the package. */
export function schemaText(name: string): Promise<string> {
  return readFile(new URL(`../schema/${name}.schema.json`, import.meta.url), "utf8");
}
