// Sessions on the disk that are being written. They are looked at by polling: what tells of changes differs between
// systems, misses renames and is silent on network drives; asking for a file's size costs microseconds.

import type { BigIntStats } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { performance } from "node:perf_hooks";
import { gunzipSync } from "node:zlib";
import { complete } from "../replay/live.ts";
import { InputError, reasonOf } from "./failure.ts";
import { eventFiles, logsIn, noText, oneLine } from "./input.ts";
import { type Session, sessions } from "./sessions.ts";

/** Milliseconds after which a file whose time has not moved was not written: the coarsest clock of a file system. */
const COARSE = 2500;
/** Milliseconds after which half a document is no document that is just being written. */
const SETTLED = 5000;
/** Bytes of a compressed log once it is unpacked: what is longer cannot be a text here, and would take all memory first. */
const LONGEST = 256 << 20;
/** How many times as long as it took to look, nothing is looked at: following takes a tenth of a core at most. */
const REST = 9;

/** What is new of a file. */
export type Look =
  /** Nothing to say. */
  | undefined
  /** Its text, up to the last complete entry. */
  | { text: string }
  /** Why there is no text. */
  | { gone: string };

/** A file, or a folder with a file for each event, that is looked at again and again. */
export class Followed {
  readonly path: string;
  /** When it was written last, in milliseconds since the epoch. */
  written = 0;
  /** Whether it held anything but white space when it was last read. */
  isText = false;
  #key = "";
  #since = 0;
  #until = 0;
  #lost = "";
  /** What event files hold that do not change any more. */
  readonly #parts = new Map<string, string>();

  constructor(path: string) {
    this.path = path;
  }

  /** Looks whether it has changed. */
  async look(): Promise<Look> {
    const now = Date.now();
    const began = performance.now();
    if (began < this.#until) return undefined;
    try {
      const files = await this.#files();
      const infos = await Promise.all(files.slice(-1).map((file) => stat(file, { bigint: true })));
      const info = infos[0];
      if (info === undefined) return this.#missing("holds nothing yet");
      this.written = Number(info.mtimeMs);
      const key = `${files.length} ${keyOf(info)}`;
      // A clock may be too coarse to show a second change: what was written just now is looked at once more.
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
      return this.#missing(reasonOf(error));
    } finally {
      this.#until = performance.now() + (performance.now() - began) * REST;
    }
  }

  #missing(reason: string): Look {
    if (this.#lost === reason) return undefined;
    this.#lost = reason;
    this.#key = "";
    return { gone: reason };
  }

  async #files(): Promise<string[]> {
    const info = await stat(this.path);
    if (info.isDirectory()) return (await eventFiles(this.path)) ?? [];
    // Of a pipe there is no end to wait for, nor of a device.
    if (!info.isFile()) throw new InputError(`${this.path}: is no file and no folder, so it cannot be followed`);
    return [this.path];
  }

  /** The events of a folder, one a line. */
  async #joined(files: string[]): Promise<string> {
    let text = "";
    for (const file of files) {
      let part = this.#parts.get(file);
      if (part === undefined) {
        part = oneLine(decoded(file, await readFile(file)));
        // The last ones may be half written; the others are as they will be.
        if (complete(part) === part) this.#parts.set(file, part);
        else if (file === files.at(-1)) break;
      }
      text += `${part}\n`;
    }
    return text;
  }
}

/** Whether a text is whole lines without any bracket that a document could begin with. */
const isWords = (text: string): boolean => text.endsWith("\n") && text.trim() !== "" && !/[{[]/.test(text);

const keyOf = ({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string => `${ino} ${size} ${mtimeNs} ${ctimeNs}`;

/** The text of bytes that may end within a character. */
function decoded(file: string, bytes: Buffer): string {
  const plain = bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes, { maxOutputLength: LONGEST }) : bytes;
  // A log that was cut off under a writer that remembers its place begins with zeros.
  let start = 0;
  while (plain[start] === 0) start++;
  const text = new TextDecoder().decode(plain.subarray(start), { stream: true });
  const wrong = noText(plain.subarray(start), "log");
  if (wrong !== undefined) throw new InputError(`${file}: ${wrong}`);
  return text;
}

/** The sessions that may be followed, the one that was written last first. */
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

/** Whether a path is a folder of sessions, and neither a session nor a file that is still to come. */
export async function holdsSessions(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => undefined);
  return info?.isDirectory() === true && (await eventFiles(path)) === undefined;
}
