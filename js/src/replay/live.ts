// A session that is still being written: its text is read as a whole each time it has changed, and what is new is judged.
// Reading it whole is what makes rotation, truncation and documents that are rewritten no special cases; what a reader
// learns later about earlier entries (a result behind its call, an argument that is only prose) is right as well.

import { LoopDetector } from "../detector.ts";
import { LoopwardenError } from "../errors.ts";
import type { Event } from "../generated/types.ts";
import { readTranscript, type TranscriptFormat } from "../transcript.ts";
import { isStandIn, type Judged, judge } from "./judge.ts";
import { Pairs } from "./pair.ts";
import type { Recorded } from "./read.ts";

/** Events between two saved states. */
const SAVE_EVERY = 32;
/** States that are kept: what is rewritten further back is judged from the start. */
const SAVED = 64;

/** An event that was judged now. */
export interface Seen extends Recorded, Judged {
  /** Its place among the events, from 0. */
  at: number;
  /** The place of the call that it answers. */
  call: number | undefined;
  /** An event was told at this place before: the log was rewritten, or is understood better now. */
  again: boolean;
}

/** What came of a look at the text. */
export interface Update {
  format: TranscriptFormat;
  /** Events before this place are as they were. */
  from: number;
  /** The events from there on. */
  seen: Seen[];
  /** Nothing of it is as it was: another session, or the same one begun again. */
  anew: boolean;
  /** What cannot be read and was not said before. */
  errors: { line: number; message: string }[];
}

/** Follows one session. */
export class Live {
  readonly #config: string;
  readonly #format: TranscriptFormat | undefined;
  #detector: LoopDetector;
  /** Events as text, in order. */
  #events: string[] = [];
  /** The detector's state before the event at a place. */
  #states = new Map<number, Uint8Array>();
  #complained = new Set<string>();
  /** How many events were told at most since the session began. */
  #told = 0;

  /** @throws {LoopwardenError} `invalid-config`. */
  constructor(config: string, format?: TranscriptFormat) {
    this.#config = config;
    this.#format = format;
    this.#detector = new LoopDetector(config);
  }

  /** The detector as it stands after the latest event. */
  get detector(): LoopDetector {
    return this.#detector;
  }

  /** Takes the text as it is by now, from its beginning to its last complete entry. */
  update(text: string): Update {
    const { format, events, lines, errors } = readTranscript(text, this.#format);
    const own = events.map((event) => JSON.stringify(event));
    let from = 0;
    while (from < own.length && own[from] === this.#events[from]) from++;
    const anew = from === 0 && this.#events.length > 0;
    if (from < this.#events.length) this.#rewind(from);
    if (anew) [this.#told, this.#complained] = [0, new Set()];
    const pairs = new Pairs();
    const seen: Seen[] = [];
    for (const [at, traced] of events.entries()) {
      const call = pairs.add(traced, at);
      if (at < from) continue;
      const { pending, ...rest } = traced;
      const event = rest as Event;
      const recorded: Recorded = {
        text: JSON.stringify(event),
        event,
        pending: pending === true,
        line: lines[at] ?? 0,
        tool: pairs.toolOf(traced),
        ...(isStandIn(traced) && { unread: true }),
      };
      this.#save(at);
      seen.push({ ...recorded, ...judge(this.#detector, recorded), at, call, again: at < this.#told });
    }
    this.#events = own;
    this.#told = Math.max(this.#told, own.length);
    return { format, from, seen, anew, errors: this.#news(errors) };
  }

  /** Gives the detector's memory back. */
  free(): void {
    this.#detector.free();
  }

  #save(at: number): void {
    if (at % SAVE_EVERY !== 0 || at === 0) return;
    this.#states.set(at, this.#detector.snapshot());
    const [oldest] = this.#states.keys();
    if (this.#states.size > SAVED && oldest !== undefined) this.#states.delete(oldest);
  }

  /** Goes back to before the event at a place. */
  #rewind(to: number): void {
    let start = 0;
    for (const at of [...this.#states.keys()]) {
      if (at > to) this.#states.delete(at);
      else start = Math.max(start, at);
    }
    const state = this.#states.get(start);
    this.#detector.free();
    this.#detector = state === undefined ? new LoopDetector(this.#config) : LoopDetector.restore(state);
    for (const text of this.#events.slice(state === undefined ? 0 : start, to)) {
      const { pending, ...event } = JSON.parse(text);
      judge(this.#detector, { event, pending: pending === true });
    }
  }

  #news(errors: ReturnType<typeof readTranscript>["errors"]): Update["errors"] {
    const news: Update["errors"] = [];
    for (const { line, error } of errors) {
      const { code, message } = new LoopwardenError(error);
      const told = `${line} ${code}: ${message}`;
      if (this.#complained.has(told)) continue;
      this.#complained.add(told);
      news.push({ line, message: `${code}: ${message}` });
    }
    return news;
  }
}

/**
 * The part of a text that is being written which can be read by now: whole lines, or whole documents. Nothing where none
 * is complete.
 */
export function complete(text: string): string | undefined {
  // A log of lines is refused at its second line, so that this costs nothing.
  if (isObject(text)) return text;
  if (isLines(text.split("\n", 3))) {
    const end = text.lastIndexOf("\n") + 1;
    // A last line without an end may be whole all the same.
    return isObject(text.slice(end)) ? text : text.slice(0, end);
  }
  const end = lastEnd(text);
  return end === 0 ? undefined : text.slice(0, end);
}

/** Whether a text with these first lines has an entry a line; the first may be broken. */
function isLines([first = "", second = "", third = ""]: string[]): boolean {
  if (isObject(first)) return true;
  // A document that is broken into lines begins with a bracket, and seldom has three entries of one line each.
  return isObject(second) && (isObject(third) || !/^\s*[[{]/.test(first));
}

function isObject(line: string): boolean {
  const text = line.replace(/^\ufeff/, "").trim();
  if (!text.startsWith("{") && !text.startsWith("[")) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Where the last document ends that is not inside another one; 0 where none does. */
function lastEnd(text: string): number {
  let depth = 0;
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"':
        for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === "\\") at++;
        break;
      case "{":
      case "[":
        depth++;
        break;
      case "}":
      case "]":
        depth = Math.max(0, depth - 1);
        if (depth === 0) end = Math.min(at + 1, text.length);
        break;
    }
  }
  return end;
}
