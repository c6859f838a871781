// Follows sessions while they are written to disk. Uses polling: file watchers differ between systems, miss renames and
// do not report changes on network drives; a `stat` costs microseconds.

import type { BigIntStats } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { gunzipSync } from "node:zlib";
import { complete } from "../replay/live.ts";
import { nearest } from "../replay/nearest.ts";
import { InputError, reasonOf } from "./failure.ts";
import { eventFiles, logsIn, noText, oneLine } from "./input.ts";
import { type Session, sessions } from "./sessions.ts";

/** Age in milliseconds from which an unchanged modification time is reliable: above the coarsest file system clock. */
const COARSE = 2500;
/** Time in milliseconds after which an incomplete document no longer counts as being written. */
const SETTLED = 5000;
/**
 * Maximum size of an unpacked log in bytes: a longer one does not fit in a string and would exhaust the memory first.
 */
const LONGEST = 256 << 20;
/** Pause after each look as a multiple of its duration: following takes at most a tenth of a core. */
const REST = 9;

/** The result of looking at a file. */
export type Look =
  /** Nothing new. */
  | undefined
  /** The text, up to the last complete entry. */
  | { text: string }
  /** The reason why there is no text; reported once. */
  | { gone: string };

/** A file, or a folder with one file per event, that is polled. */
export class Followed {
  readonly path: string;
  /** When it was last written, in milliseconds since the Unix epoch. */
  written = 0;
  /** Whether it contained anything but white space when last read. */
  isText = false;
  #key = "";
  #since = 0;
  #until = 0;
  #lost = "";
  /** The contents of event files that are complete, by file. */
  readonly #parts = new Map<string, string>();

  constructor(path: string) {
    this.path = path;
  }

  /** Checks whether it has changed and reads it if so. */
  async look(): Promise<Look> {
    const now = Date.now();
    const began = performance.now();
    if (began < this.#until) return undefined;
    try {
      const files = await this.#files();
      const infos = await Promise.all(files.slice(-1).map((file) => stat(file, { bigint: true })));
      const info = infos[0];
      if (info === undefined) return this.#missing("is still empty");
      this.written = Number(info.mtimeMs);
      const key = `${files.length} ${keyOf(info)}`;
      // The file system's clock may be too coarse to show a second change: a recent write is checked once more.
      const mark = `${key} ${now - this.written > COARSE}`;
      const isLate = this.#key === `${mark} half` && now - this.#since > SETTLED;
      if (this.#key === mark || (this.#key === `${mark} half` && !isLate)) return undefined;
      const isFolder = files.length !== 1 || files[0] !== this.path;
      const whole = isFolder ? await this.#joined(files) : decoded(this.path, await readFile(this.path));
      this.isText = whole.trim() !== "";
      const isSettled = isLate || isWords(whole);
      const text = isSettled ? whole : complete(whole);
      const next = text === undefined && whole.trim() !== "" ? `${mark} half` : mark;
      if (next !== this.#key) [this.#key, this.#since] = [next, now];
      if (isSettled) this.#key = mark;
      this.#lost = "";
      return text === undefined ? undefined : { text };
    } catch (error) {
      if (error instanceof InputError) throw error;
      const isFirst = this.written === 0 && this.#lost === "";
      return this.#missing(reasonOf(error), isFirst ? await this.#near() : "");
    } finally {
      this.#until = performance.now() + (performance.now() - began) * REST;
    }
  }

  #missing(reason: string, near = ""): Look {
    if (this.#lost === reason) return undefined;
    this.#lost = reason;
    this.#key = "";
    return { gone: `${reason}${near}` };
  }

  /** Which file beside one that does not exist may have been meant. @throws {InputError} if there is no such folder. */
  async #near(): Promise<string> {
    const folder = dirname(this.path);
    const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") throw new InputError(`${this.path}: its folder does not exist`);
      if (error.code === "ENOTDIR") throw new InputError(`${this.path}: ${reasonOf(error)}`);
      return [];
    });
    const near = nearest(basename(this.path), names);
    return near === undefined ? "" : ` (did you mean ${join(folder, near)}?)`;
  }

  async #files(): Promise<string[]> {
    const info = await stat(this.path);
    if (info.isDirectory()) return (await eventFiles(this.path)) ?? [];
    // A pipe or a device cannot be reread.
    if (!info.isFile()) throw new InputError(`${this.path}: is neither a file nor a folder, so it cannot be followed`);
    return [this.path];
  }

  /** The events of a folder, one per line. */
  async #joined(files: string[]): Promise<string> {
    let text = "";
    for (const file of files) {
      let part = this.#parts.get(file);
      if (part === undefined) {
        part = oneLine(decoded(file, await readFile(file)));
        // An incomplete file is not cached; if it is the last one, it may still be being written.
        if (complete(part) === part) this.#parts.set(file, part);
        else if (file === files.at(-1)) break;
      }
      text += `${part}\n`;
    }
    return text;
  }
}

/** Whether a text consists of complete lines without any bracket that could begin a document. */
const isWords = (text: string): boolean => text.endsWith("\n") && text.trim() !== "" && !/[{[]/.test(text);

const keyOf = ({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string => `${ino} ${size} ${mtimeNs} ${ctimeNs}`;

/** Decodes bytes, unpacked if compressed; they may end within a character. */
function decoded(file: string, bytes: Buffer): string {
  const plain = bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes, { maxOutputLength: LONGEST }) : bytes;
  // A log that was truncated while its writer kept its offset begins with zeros.
  let start = 0;
  while (plain[start] === 0) start++;
  const text = new TextDecoder().decode(plain.subarray(start), { stream: true });
  const wrong = noText(plain.subarray(start), "log");
  if (wrong !== undefined) throw new InputError(`${file}: ${wrong}`);
  return text;
}

/** The sessions that can be followed, in a folder or on this machine, most recently written first. */
export async function candidates(path: string | undefined): Promise<Session[]> {
  if (path === undefined) return sessions();
  const names = await logsIn(path).catch(() => []);
  const found = await Promise.all(
    names.map(async (file): Promise<Session[]> => {
      const info = await stat(file).catch(() => undefined);
      return info?.isFile() && info.size > 0 ? [{ agent: "session", file, at: info.mtimeMs, bytes: info.size }] : [];
    }),
  );
  return found.flat().sort((a, b) => b.at - a.at);
}

/** Whether a path is a folder of sessions, rather than a session or a file that does not exist yet. */
export async function holdsSessions(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => undefined);
  return info?.isDirectory() === true && (await eventFiles(path)) === undefined;
}
