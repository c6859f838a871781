// The shared state of the hooks of one session: every hook appends its input to a journal and folds the journal into
// the session's state. There are no locks and nobody waits, so there are no stale locks.
//
// A session is a folder of segments (`000001.log`) and states (`000001-000000004711.state`: everything before byte 4711
// of segment 1). A record is one line, written by a single append; it begins with a line feed, so that a record
// truncated by a kill or a full disk damages nothing but itself. A state depends only on the records before it, so it
// does not matter who writes it or whether two do: the one that covers most is used, and none is ever replaced by one
// covering less.
//
// A segment ends with a seal. A record after the seal does not count; the hook that wrote it appends it to the next
// segment. A hook's record is therefore final once it precedes any seal. Answers are stored with the state, for hooks
// whose records have been folded in by another hook.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { InputError } from "../failure.ts";

/** Size in bytes from which a segment is sealed while other hooks are writing to it. */
const SEGMENT = 64 * 1024;
/** Maximum number of answers kept with a state: more hooks of one session do not run at once. */
const ANSWERS = 512;
/** Maximum number of retries while other hooks make progress; each retry means that one of them did. */
const TURNS = 10_000;
/** The beginning of each of our files, after an optional line feed. */
const MARK = '{"loopwarden":';

/** The beginning of an empty state. */
const EMPTY = Buffer.from(`${MARK}"state","state":""`);

/** The input of a hook. */
export interface Entry {
  /** The time of the hook, in milliseconds since the Unix epoch. */
  at: number;
  [key: string]: unknown;
}

/** The result of folding entries into a state. */
export interface Folded<A> {
  state: string;
  /** The answer to each of these entries, in their order. */
  answers: A[];
}

interface Place {
  segment: number;
  offset: number;
}

interface Known<A> extends Place {
  state: string | undefined;
  answers: [id: string, answer: A][];
}

interface Record_ {
  id: string;
  entry: Entry;
}

/** The journal of one session. */
export class Journal<A> {
  readonly #folder: string;
  /** Failures that did not prevent the entry from being recorded. */
  readonly warnings: string[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Whether nothing is known about the session: there is no state, or an empty one. */
  get isNew(): boolean {
    const newest = this.#list().states.sort(compare).at(-1);
    if (newest === undefined) return true;
    const text = readFrom(join(this.#folder, stateName(newest)), 0);
    return text !== undefined && (text.length === 0 || text.subarray(0, EMPTY.length).equals(EMPTY));
  }

  /**
   * Adds an entry to the session and returns its answer. `fold` must be a pure function.
   *
   * @throws {InputError} if the entry could not be written; no hook will see it then.
   */
  add(entry: Entry, fold: (state: string | undefined, entries: Entry[]) => Folded<A>): A {
    makeFolder(this.#folder);
    const id = unique();
    const record = `\n${MARK}"hook","id":${JSON.stringify(id)},"entry":${JSON.stringify(entry)}}\n`;
    for (let turn = 0; turn < TURNS; turn++) {
      const open = this.#open();
      if (open === undefined || !append(join(this.#folder, segmentName(open)), record)) continue;
      const answer = this.#settle(id, open, fold);
      if (answer !== undefined) return answer.answer;
    }
    throw new InputError(`${this.#folder}: other hooks move on faster than this one can write`);
  }

  /** The segment to append to, created if necessary; undefined if another hook is replacing it at this moment. */
  #open(): number | undefined {
    const { segments, states } = this.#list();
    const newest = Math.max(1, ...segments, ...states.map(({ segment }) => segment));
    if (segments.includes(newest)) {
      const found = readFrom(join(this.#folder, segmentName(newest)), 0);
      if (found === undefined) return undefined;
      if (records(found).sealed === undefined) return newest;
      create(join(this.#folder, segmentName(newest + 1)));
      return newest + 1;
    }
    create(join(this.#folder, segmentName(newest)));
    return newest;
  }

  /** Folds in the journal and returns the answer to the record; undefined if the record is after a seal. */
  #settle(
    id: string,
    segment: number,
    fold: (state: string | undefined, entries: Entry[]) => Folded<A>,
  ): { answer: A } | undefined {
    for (let turn = 0; turn < TURNS; turn++) {
      const known = this.#known();
      const told = known.answers.find(([other]) => other === id);
      if (told !== undefined) return { answer: told[1] };
      // The state covers the whole segment but not this record, which is therefore after the seal.
      if (known.segment > segment) return undefined;
      const found: Record_[] = [];
      let place: Place = known;
      let sealed = false;
      let moved = false;
      for (;;) {
        const text = readFrom(join(this.#folder, segmentName(place.segment)), place.offset);
        if (text === undefined) {
          // The next segment may not exist yet; one that did is gone because a newer state covers it.
          moved = place.segment === known.segment && known.offset > 0;
          break;
        }
        const read = records(text);
        found.push(...read.records);
        sealed = read.sealed !== undefined;
        place = sealed
          ? { segment: place.segment + 1, offset: 0 }
          : { segment: place.segment, offset: place.offset + read.length };
        if (!sealed) break;
      }
      if (moved) continue;
      const mine = found.findIndex((record) => record.id === id);
      if (mine < 0) {
        // After a seal, or in a segment that was recreated after being folded in.
        const newer = this.#known();
        if (newer.segment > known.segment || newer.offset > known.offset) continue;
        return undefined;
      }
      const folded = fold(
        known.state,
        found.map(({ entry }) => entry),
      );
      const answers = [
        ...known.answers,
        ...found.map(({ id }, index): [string, A] => [id, folded.answers[index] as A]),
      ].slice(-ANSWERS);
      const alone = found.length === 1 && place.segment === segment;
      try {
        if (!sealed && (alone || place.offset >= SEGMENT)) this.#seal(id, place, folded.state, answers);
        else this.#keep({ ...place, state: folded.state, answers });
      } catch (error) {
        // The record is in the journal: the next hook folds it in.
        if (!(error instanceof InputError)) throw error;
        this.warnings.push(error.message);
      }
      return { answer: folded.answers[mine] as A };
    }
    return undefined;
  }

  /**
   * Seals a segment whose records are folded in, so that tool outputs do not stay; others may have appended meanwhile.
   */
  #seal(id: string, place: Place, state: string, answers: [string, A][]): void {
    const file = join(this.#folder, segmentName(place.segment));
    const sealed = append(file, `\n${MARK}"seal","id":${JSON.stringify(id)}}\n`);
    const rest = sealed ? readFrom(file, place.offset) : undefined;
    const read = rest === undefined ? undefined : records(rest);
    if (read === undefined || read.records.length > 0 || read.sealed === undefined) {
      this.#keep({ ...place, state, answers });
      return;
    }
    create(join(this.#folder, segmentName(place.segment + 1)));
    this.#keep({ segment: place.segment + 1, offset: 0, state, answers });
  }

  /** Writes a state, unless one covering as much exists, and removes what it supersedes. */
  #keep(known: Known<A>): void {
    const before = this.#list();
    if (before.states.some((state) => compare(state, known) >= 0)) return;
    const whole = join(this.#folder, `${unique()}.tmp`);
    const text = `${MARK}"state","state":${JSON.stringify(known.state)},"answers":${JSON.stringify(known.answers)}}\n`;
    try {
      // Not synced to disk: the next hook reports a state lost in a power failure, and the sync would take longer than
      // everything else in a hook.
      const file = openSync(whole, "wx", 0o600);
      try {
        writeWhole(file, Buffer.from(text));
      } finally {
        closeSync(file);
      }
      renameSync(whole, join(this.#folder, stateName(known)));
    } catch (error) {
      quietly(() => unlinkSync(whole));
      throw failure(this.#folder, error, "the state of the session will be saved by the next hook that can");
    }
    for (const segment of before.segments)
      if (segment < known.segment) quietly(() => unlinkSync(join(this.#folder, segmentName(segment))));
    for (const state of before.states)
      if (compare(state, known) < 0) quietly(() => unlinkSync(join(this.#folder, stateName(state))));
  }

  /** Reads the state that covers most. */
  #known(): Known<A> {
    for (let turn = 0; turn < TURNS; turn++) {
      const newest = this.#list().states.sort(compare).at(-1);
      if (newest === undefined) return { segment: 1, offset: 0, state: undefined, answers: [] };
      const text = readFrom(join(this.#folder, stateName(newest)), 0);
      // It is gone because a newer one exists.
      if (text === undefined) continue;
      return { ...newest, ...stateOf(text.toString("utf8")) };
    }
    throw new InputError(`${this.#folder}: other hooks move on faster than this one can read`);
  }

  #list(): { segments: number[]; states: Place[] } {
    const segments: number[] = [];
    const states: Place[] = [];
    let names: string[];
    try {
      names = readdirSync(this.#folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return { segments, states };
      throw failure(this.#folder, error);
    }
    for (const name of names) {
      const segment = SEGMENT_NAME.exec(name)?.[1];
      if (segment !== undefined) segments.push(Number(segment));
      const [, of, offset] = STATE_NAME.exec(name) ?? [];
      if (of !== undefined && offset !== undefined) states.push({ segment: Number(of), offset: Number(offset) });
    }
    return { segments, states };
  }
}

const SEGMENT_NAME = /^(\d{6,12})\.log$/;
const STATE_NAME = /^(\d{6,12})-(\d{12})\.state$/;
/** The names of temporary files, made by {@link unique}. */
const TEMPORARY_NAME = /^[0-9a-z]{1,13}(?:-[0-9a-z]{1,13}){2}\.tmp$/;

const segmentName = (segment: number): string => `${String(segment).padStart(6, "0")}.log`;
const stateName = ({ segment, offset }: Place): string =>
  `${String(segment).padStart(6, "0")}-${String(offset).padStart(12, "0")}.state`;

const compare = (a: Place, b: Place): number => a.segment - b.segment || a.offset - b.offset;

/**
 * The records of a piece of a segment up to its seal. Ignores an incomplete last line and anything that is no record.
 */
function records(text: Buffer): { records: Record_[]; sealed: true | undefined; length: number } {
  const length = text.lastIndexOf(10) + 1;
  const found: Record_[] = [];
  for (const line of text.toString("utf8", 0, length).split("\n")) {
    if (!line.startsWith(MARK)) continue;
    let read: { loopwarden?: unknown; id?: unknown; entry?: unknown };
    try {
      read = JSON.parse(line);
    } catch {
      continue;
    }
    if (read.loopwarden === "seal") return { records: found, sealed: true, length };
    if (read.loopwarden === "hook" && typeof read.id === "string" && typeof read.entry === "object" && read.entry)
      found.push({ id: read.id, entry: read.entry as Entry });
  }
  return { records: found, sealed: undefined, length };
}

/** Parses a state file. A damaged one is returned as its raw text, which `fold` will report as unreadable. */
function stateOf<A>(text: string): Pick<Known<A>, "state" | "answers"> {
  try {
    const read = JSON.parse(text);
    if (read.loopwarden === "state" && typeof read.state === "string" && Array.isArray(read.answers))
      return { state: read.state, answers: read.answers };
  } catch {
    // Damaged.
  }
  return { state: text, answers: [] };
}

/** Flags that refuse links and do not block on pipes. Windows has neither. */
const AS_IT_IS = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Appends in a single write; false if the file is gone. */
function append(path: string, text: string): boolean {
  let file: number;
  try {
    file = openSync(path, constants.O_WRONLY | constants.O_APPEND | AS_IT_IS);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw failure(path, error);
  }
  try {
    const bytes = Buffer.from(text);
    // A partial write is not a record.
    if (writeSync(file, bytes) !== bytes.length)
      throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
    return true;
  } catch (error) {
    throw failure(path, error);
  } finally {
    closeSync(file);
  }
}

/** Creates an empty file unless it exists. */
function create(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw failure(path, error);
  }
}

/** The contents of a file from an offset on; undefined if the file is gone. */
function readFrom(path: string, offset: number): Buffer | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | AS_IT_IS);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw failure(path, error);
  }
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.max(0, size - offset));
    let read = 0;
    while (read < bytes.length) {
      const more = readSync(file, bytes, read, bytes.length - read, offset + read);
      if (more === 0) break;
      read += more;
    }
    return bytes.subarray(0, read);
  } catch (error) {
    throw failure(path, error);
  } finally {
    closeSync(file);
  }
}

function writeWhole(file: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) {
    const more = writeSync(file, bytes, written);
    if (more === 0) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
    written += more;
  }
}

/** Creates a folder and its parents, one by one: on some file systems `recursive` retries forever when refused. */
function makeFolder(path: string): void {
  const made = () => mkdirSync(path, { mode: 0o700 });
  try {
    try {
      made();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || dirname(path) === path) throw error;
      makeFolder(dirname(path));
      made();
    }
  } catch (error) {
    if (error instanceof InputError) throw error;
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw failure(path, error);
  }
}

/** An error with a readable reason for a file system failure. */
export function failure(path: string, error: unknown, more?: string): InputError {
  const { code, message } = error as NodeJS.ErrnoException;
  const reasons: Record<string, string> = {
    ENOSPC: "the disk is full",
    EDQUOT: "the disk quota is used up",
    EROFS: "the file system is read-only",
    EACCES: "may not be written",
    EPERM: "may not be written",
    ENOTDIR: "a part of the path is not a folder",
    ELOOP: "a link is not one of our files",
    ENXIO: "is not a file",
  };
  return new InputError(`${path}: ${reasons[code ?? ""] ?? message}${more === undefined ? "" : `; ${more}`}`);
}

function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // Another hook has already done it, or a later one will.
  }
}

/**
 * Removes a session's folder if nothing was written to it since `before` (epoch milliseconds). Only deletes our files.
 */
export function forget(folder: string, before: number): void {
  quietly(() => {
    const names = readdirSync(folder);
    const files = names.map((name) => ({ name, path: join(folder, name) }));
    const newest = Math.max(...[folder, ...files.map(({ path }) => path)].map((path) => lstatSync(path).mtimeMs));
    if (newest >= before) return;
    for (const { name, path } of files) if (isOurs(name, path)) quietly(() => unlinkSync(path));
    // Fails if the folder contains anything else.
    rmdirSync(folder);
  });
}

/** Whether a file is ours, by its name and its beginning; one that was created and not yet written is empty. */
function isOurs(name: string, path: string): boolean {
  if (![SEGMENT_NAME, STATE_NAME, TEMPORARY_NAME].some((known) => known.test(name))) return false;
  const file = openSync(path, constants.O_RDONLY | AS_IT_IS);
  try {
    if (!fstatSync(file).isFile()) return false;
    const bytes = Buffer.alloc(MARK.length + 1);
    const head = bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, 0)).replace(/^\n/, "");
    return MARK.startsWith(head.slice(0, MARK.length));
  } catch {
    return false;
  } finally {
    closeSync(file);
  }
}

/** A unique name. It need not be unguessable, so it is not worth loading cryptography. */
function unique(): string {
  const parts = [process.pid, Date.now(), Math.floor(Math.random() * 2 ** 52)];
  return parts.map((part) => part.toString(36)).join("-");
}
