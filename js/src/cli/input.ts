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
import { isMostlyUnread } from "../replay/judge.ts";
import { type Complain, once, type Recorded, type Run, runs, type Trace, traces } from "../replay/read.ts";
import { short } from "../replay/summarise.ts";
import type { TranscriptFormat } from "../transcript.ts";
import { oneOf, UsageError } from "./args.ts";
import { InputError, reasonOf } from "./failure.ts";
import { LARGEST } from "./name.ts";
import { progress, tell } from "./print.ts";

const fstat = (descriptor: number): Promise<BigIntStats> => promisify(fstatOf)(descriptor, { bigint: true });

/** What a file is to be. */
type Kind = "log" | "configuration";

/** The name of a file in a message. */
export const shown = (file: string): string => (file === "-" ? "standard input" : file);

/**
 * A whole configuration, plain or gzip-compressed; `-` is the standard input.
 *
 * @throws {InputError} for what is no text, or too long.
 */
export async function text(file: string): Promise<string> {
  let whole = "";
  for await (const chunk of chunks(file, "configuration")) {
    whole += chunk;
    if (whole.length > LARGEST) throw new InputError(`${shown(file)}: is too large for a configuration`);
  }
  return whole;
}

/**
 * The text of a file as it comes, plain or gzip-compressed; `-` is the standard input. A long file shows on a terminal
 * how far it is.
 *
 * @throws {InputError} for what is no text.
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

/** Why a beginning is none of a text that is read: nobody's log holds a zero byte there; UTF-16 does, and pictures do. */
export function noText(bytes: Uint8Array, kind: Kind): string | undefined {
  const [first = 1, second = 1] = bytes;
  const isMarked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const isWide = Math.min(first, second) === 0 && Math.max(first, second) > 8;
  if (isMarked || isWide) return "is UTF-16; save it as UTF-8";
  if (!bytes.subarray(0, 4096).includes(0)) return undefined;
  return `is no text that can be read; a ${kind} is UTF-8 text, plain or gzip-compressed`;
}

async function source(file: string, kind: Kind): Promise<AsyncIterable<Uint8Array>> {
  if (file === "-") return named(shown(file), unpacked(process.stdin));
  let size: number;
  try {
    // Opened first, so that a missing file is an error here and not in the middle of the stream.
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

/** The files of a session that has one for each event, such as OpenHands writes them, in order; nothing for other folders. */
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

/** Files of one event each as one text, an event a line. */
async function* joined(files: string[]): AsyncGenerator<Uint8Array> {
  for (const file of files) {
    const text = await readFile(file, "utf8").catch((error: unknown) => Promise.reject(readable(file, error)));
    yield Buffer.from(`${oneLine(text)}\n`);
  }
}

/** A JSON document on one line: in its strings no line ends. */
export const oneLine = (json: string): string => json.replaceAll(/\s*[\r\n]\s*/g, " ").trim();

/** Files that take long enough to ask how long. */
const LONG = 8 << 20;
/** Milliseconds between two looks at the clock face. */
const EVERY = 200;

/** A file's bytes, whose way is shown where it is long. */
function watched(file: string, size: number): Readable {
  const stream = createReadStream(file, { highWaterMark: 1 << 16 });
  if (size >= LONG) {
    // What a long file leaves behind is garbage at once: room for much of it at a time would only be memory in use.
    setFlagsFromString("--max-semi-space-size=2");
    setFlagsFromString("--semi-space-growth-factor=1");
    // So would be a heap that may grow to many times what is in use before it is looked through.
    setFlagsFromString("--heap-growing-percent=20");
    // Functions of the modules that are compiled at the same time need their memory at the same time.
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
  // The listener must not start the stream: it is read by whoever iterates.
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

/** Unpacks gzip, known by its first two bytes. */
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

/** Unpacks gzip. An error comes behind all that stands before it, which a stream that ends with one would lose. */
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

/** A compressed file that ends too early: what it held before that was read. */
class CutOff extends InputError {}

function readable(file: string, error: unknown): InputError {
  if (error instanceof InputError) return error;
  const isCut = (error as NodeJS.ErrnoException).code === "Z_BUF_ERROR";
  return new (isCut ? CutOff : InputError)(`${file}: ${reasonOf(error)}`);
}

/** The option of commands that write a file. */
export const FORCE = { force: { type: "boolean", default: false } } as const;

/**
 * Looks whether a command may write to a file, before it reads anything: what is there may be what it reads, or somebody
 * else's. `wrong` says what is wrong with losing what stands there.
 *
 * @throws {UsageError} where it may not.
 */
export async function mayWrite(
  output: string,
  inputs: readonly string[],
  wrong: (output: string) => Promise<string | undefined>,
): Promise<void> {
  const there = await identity(output);
  // What is new is nobody's, and a device or a pipe holds nothing.
  if (there === undefined) return;
  for (const input of inputs) {
    const files = (await eventFiles(input)) ?? [input];
    for (const file of files) {
      if ((await identity(file)) === there) throw overwrites(output, "is the log that is read");
    }
  }
  // A link is refused as such.
  if ((await lstat(output)).isSymbolicLink()) return;
  const why = (await isEmpty(output)) ? undefined : await wrong(output);
  if (why !== undefined) throw overwrites(output, why);
}

const overwrites = (output: string, why: string): UsageError =>
  new UsageError(`${output}: ${why}; name another file, or have it overwritten with --force`);

/** What tells a file that is there from every other one, by whatever name it is called; nothing for what is no file. */
async function identity(file: string): Promise<string | undefined> {
  const info = await (file === "-" ? fstat(0) : stat(file, { bigint: true })).catch(() => undefined);
  if (!info?.isFile()) return undefined;
  return info.ino === 0n ? await realpath(file) : `${info.dev} ${info.ino}`;
}

const isEmpty = async (file: string): Promise<boolean> => (await stat(file)).size === 0;

/**
 * Writes a file, whole or not at all: where the disk is full, what was there before stays.
 *
 * @throws {InputError} where that is not possible, and for a link: whoever put it there may mean another's file.
 */
export async function save(file: string, content: string): Promise<void> {
  const before = await lstat(file).catch(() => undefined);
  if (before?.isSymbolicLink() && !/^\/(?:dev|proc)\//.test(file))
    throw new InputError(`${file}: is a link; name the file itself, or another one`);
  try {
    // A device or a pipe is written to as it is.
    if (before === undefined || before.isFile()) await replace(file, content, before?.mode);
    else await writeFile(file, content);
  } catch (error) {
    // What is missing is not the file, which is new.
    const isHomeless = (error as NodeJS.ErrnoException).code === "ENOENT";
    throw new InputError(`${file}: cannot be written: ${isHomeless ? "its folder does not exist" : reasonOf(error)}`);
  }
}

async function replace(file: string, content: string, mode: number | undefined): Promise<void> {
  const whole = `${file}.${randomUUID()}.tmp`;
  try {
    const made = await open(whole, "wx", 0o666);
    try {
      // Whatever the umask says.
      if (mode !== undefined) await made.chmod(mode & 0o7777);
      await made.writeFile(content);
    } finally {
      await made.close();
    }
    await rename(whole, file);
  } catch (error) {
    await rm(whole, { force: true });
    // A file that is mounted by itself, or in a folder that is somebody else's, cannot be replaced, only written.
    const { code } = error as NodeJS.ErrnoException;
    if (mode === undefined || !["EACCES", "EBUSY", "EPERM", "EROFS"].includes(code ?? "")) throw error;
    await writeFile(file, content);
  }
}

// --- Runs ---

/** Reads the name of a transcript's format; absent, it is recognised. */
export const transcriptFormat = (name: string | undefined): TranscriptFormat | undefined =>
  oneOf("--format", name, FORMATS);

/** How many complaints about one file are printed, and how many of those that say the same; the rest is counted. */
const COMPLAINTS = 20;
const ALIKE = 3;
/** How many that say something else are told apart. */
const KINDS = 1000;

/** Times that are of this century as seconds since 1970, and of the early seventies as milliseconds. */
const SECONDS = { from: 1e9, to: 1e11 } as const;

/** What is said about the lines of a file. */
export class Complaints {
  /** How many lines or events could not be read. */
  count = 0;
  /** Takes note of a line or event, with all that is wrong with it. */
  readonly add: Complain;
  readonly #file: string;
  /** What was said, as {@link kindOf} has it: the first of each, how often it was said, and how often printed. */
  readonly #kinds = new Map<string, { message: string; said: number; printed: number }>();
  #printed = 0;
  /** Results whose call was not there, by scenario, run and id of the call, and those of them whose call came later. */
  readonly #strays = new Map<string, string[]>();
  readonly #early: string[] = [];
  /** The first event whose time looks like seconds, and its line; `told` once that was said. */
  #seconds: { line: number; at: number } | "told" | undefined;
  /** Whether something is wrong with a field of an event: then its format is known. */
  isKnown = false;

  constructor(file: string) {
    this.#file = file;
    this.add = (line, ...messages) => {
      this.count++;
      this.note(line, ...messages);
    };
  }

  /** Tells of a line that is counted already, or was read. */
  note(line: number, ...messages: string[]): void {
    for (const message of messages) {
      this.isKnown ||= /(?:^|: )invalid-event: (?!`type`)/.test(message);
      if (this.#isPrinted(message)) tell(`${shown(this.#file)}:${line}: ${message}`);
    }
  }

  /** Whether a complaint is printed; one that is not is counted. */
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

  /** Takes note of an event that was read: of results whose call nobody has seen little can be said. */
  read({ stray, event, line, index }: Recorded): void {
    this.time(event, line);
    // What is no event is refused elsewhere.
    if (event?.type !== "tool-result" && event?.type !== "tool-call") return;
    // The events of a scenario are those of one line.
    const key = JSON.stringify([index === undefined ? "" : line, event.run ?? "", event.callId]);
    const before = this.#strays.get(key) ?? [];
    if (event.type === "tool-call") {
      this.#early.push(...before);
      this.#strays.delete(key);
    } else if (stray) this.#strays.set(key, [...before, `${event.callId} in line ${line}`]);
  }

  /** Takes note of a time that looks like seconds. */
  time(event: Event | undefined, line: number): void {
    const { at } = event ?? {};
    if (typeof at === "number" && at >= SECONDS.from && at < SECONDS.to) this.#seconds ??= { line, at };
  }

  /** Tells once of a time that looks like seconds. */
  tellTime(): void {
    if (this.#seconds === undefined || this.#seconds === "told") return;
    const { line, at } = this.#seconds;
    this.#seconds = "told";
    tell(
      `${shown(this.#file)}:${line}: "at": ${at} looks like seconds and counts milliseconds: pauses would be a thousandth of what they were`,
    );
  }

  /**
   * Tells of what was not printed, of results without a call, and that it is most of the file of which nothing is known, in
   * a line each. How many events were judged is asked for, and how many lines and events could not be read where that is
   * less than all that was told of.
   */
  end(judged: number, unread: number = this.count): void {
    let others = 0;
    for (const { message, said, printed } of this.#kinds.values()) {
      if (printed === 0) others += said;
      else if (said > printed) tell(`${shown(this.#file)}: ${said - printed} more like that: ${short(message, 80)}`);
    }
    if (others > 0) tell(`${shown(this.#file)}: ${others} more that say something else`);
    this.tellTime();
    this.#tell(this.#early, ["stands before its call", "stand before their calls"], "write each behind its call");
    this.#tell([...this.#strays.values()].flat(), ["fits no call", "fit no call"], "no call before has the callId");
    if (isMostlyUnread(unread, judged))
      tell(
        `${shown(this.#file)}: most of it cannot be read, ${countOf(unread, judged)}: what is said is about the rest`,
      );
  }

  #tell({ length, 0: first }: string[], [one, several]: [string, string], why: string): void {
    if (first === undefined) return;
    const results = length === 1 ? `1 result ${one}` : `${length} results ${several}`;
    tell(`${shown(this.#file)}: ${results}; ${why}: ${short(first, 80)}${length > 1 ? ", …" : ""}`);
  }
}

/** How many of a file's lines and events could not be read. */
export const countOf = (unread: number, judged: number): string => `${unread} of ${unread + judged} lines or events`;

/** What a complaint says; of an event without the values that are quoted and the numbers. */
const kindOf = (message: string): string =>
  !/^(?:events\[\d+\]: )?[a-z]+-[a-z]+: /.test(message)
    ? message
    : message
        .replaceAll(/"(?:\\.|[^"\\])*"/g, '""')
        .replace(/\bgot `.*/is, "got")
        .replaceAll(/\d+/g, "0");

/** What a log says that ends too early in its compressed form, to whoever reads it. */
type Cut = (message: string) => void;
const tellCut: Cut = (message) => tell(`loopwarden: ${message}; what stands before that is read`);

/** The text of a log, as far as it goes. */
async function* log(file: string, cut: Cut): AsyncGenerator<string> {
  try {
    yield* chunks(file, "log");
  } catch (error) {
    if (!(error instanceof CutOff)) throw error;
    cut(error.message);
  }
}

/** The runs of a file, as they come. */
export const runsOf = (
  file: string,
  complain: Complain,
  format?: TranscriptFormat,
  cut: Cut = tellCut,
): AsyncGenerator<Run> => runs(file, log(file, cut), complain, format);

/** The runs of a file, held. */
export const tracesOf = (file: string, complain: Complain, format?: TranscriptFormat): Promise<Trace[]> =>
  traces(file, log(file, tellCut), complain, format);

/**
 * The run of a file that is meant: the one that is named, or the only one.
 *
 * @throws {InputError} where there is none, or several of which none is named; what was told of the file is at its end then.
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
    // A log is one run, and read as it comes.
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

/** What is said where one run of a file is asked for, and it holds several. */
export const several = (file: string, count: number, { id }: Pick<Trace, "id">): string =>
  `${shown(file)}: holds ${count} scenarios, name one with --scenario${id === undefined ? "" : `, such as ${id}`}`;

/** What to do about a log of which nothing is recognised. */
export const UNKNOWN: string = `Formats that are read: ${FORMATS.join(", ")}; --format names one. Convert a log of another format to one event a line, {"type":"tool-call","tool":…}: \`npx loopwarden schema event\`, docs/transcripts.md`;

/** Why a file holds no run. What its format is need not be told where it is known. */
export const absence = (file: string, { isKnown }: Complaints): string =>
  isBlank(file)
    ? `${file}: is empty`
    : `${shown(file)}: holds no event that can be read${isKnown ? "" : `. ${UNKNOWN}`}`;

/** @throws {InputError} always. */
export function nothing(file: string, complaints: Complaints): never {
  throw new InputError(absence(file, complaints));
}

/** Whether a file holds nothing but white space: there is no format to speak of. */
function isBlank(file: string): boolean {
  try {
    const { size } = statSync(file);
    return size === 0 || (size < 4096 && readFileSync(file, "utf8").trim() === "");
  } catch {
    // The standard input, or a file that is gone: what else is wrong is told.
    return false;
  }
}

/** Files of a project that hold settings and no run. */
const SETTINGS =
  /(?:^|[\\/])(?:loopwarden|package|package-lock|settings(?:\.local)?|tsconfig[\w.]*|deno|biome|\.\w+)\.jsonc?$/;

/** The files that paths stand for: a folder for the logs in it, at any depth. */
export async function filesOf(paths: readonly string[]): Promise<{ file: string; named: boolean }[]> {
  const found = new Map<string, boolean>();
  for (const path of paths) {
    if (path === "-") {
      found.set(path, true);
      continue;
    }
    const info = await stat(path).catch(() => {
      throw new InputError(`${path}: no such file or folder`);
    });
    if (!info.isDirectory()) {
      found.set(path, true);
      continue;
    }
    const logs = await logsIn(path);
    if (logs.length === 0)
      throw new InputError(`${path}: holds no *.jsonl, *.json or *.traj file, plain or with .gz behind it`);
    for (const file of logs) if (!found.has(file)) found.set(file, false);
  }
  return [...found].map(([file, named]) => ({ file, named }));
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

/** An error in a JSON document, with the line it is on where that can be told. */
export function located(file: string, document: string, error: unknown): string {
  if (!(error instanceof LoopwardenError)) throw error;
  const line = error.field === undefined ? undefined : lineOf(document, error.field);
  return `${shown(file)}${line === undefined ? "" : `:${line}`}: ${error.code}: ${error.message}`;
}

/** The line, counted from 1, of a field such as `rules.cycle.block` or `events[3].tool`. */
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

/** The part of a node that the beginning of a path names. A key may itself contain dots. */
function child(node: Node, path: string): { node: Node; offset: number; rest: string } | undefined {
  const index = /^\[(\d+)\]\.?/.exec(path);
  if (index !== null) {
    const found = findNodeAtLocation(node, [Number(index[1])]);
    return found && { node: found, offset: found.offset, rest: path.slice(index[0].length) };
  }
  for (const property of node.type === "object" ? (node.children ?? []) : []) {
    const [key, value] = property.children ?? [];
    const name = key === undefined ? undefined : String(getNodeValue(key));
    if (name === undefined || value === undefined || !path.startsWith(name)) continue;
    const rest = path.slice(name.length);
    if (rest === "" || rest[0] === "." || rest[0] === "[") {
      return { node: value, offset: property.offset, rest: rest.replace(/^\./, "") };
    }
  }
  return undefined;
}

/** A schema that travels with the package. */
export function schemaText(name: string): Promise<string> {
  return readFile(new URL(`../schema/${name}.schema.json`, import.meta.url), "utf8");
}
