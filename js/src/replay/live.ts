// Judges a session that is still being written: its text is read as a whole each time it has changed, and what is new
// is judged. This handles rotation, truncation and rewritten documents without special cases, and what a reader learns
// later about earlier entries (a result's call, an argument that is only prose) is taken into account as well.

import { LoopDetector } from "../detector.ts";
import { LoopwardenError } from "../errors.ts";
import type { Event } from "../generated/types.ts";
import { readTranscript, type TranscriptFormat } from "../transcript.ts";
import { isStandIn, type Judged, judge } from "./judge.ts";
import { Pairs } from "./pair.ts";
import type { Recorded } from "./read.ts";

/** Number of events between two saved states. */
const SAVE_EVERY = 32;
/** Maximum number of states kept; a change further back is judged from the start. */
const SAVED = 64;

/** An event that was judged in this update. */
export interface Seen extends Recorded, Judged {
  /** The index of the event, from 0. */
  at: number;
  /** The index of the call that it answers. */
  call: number | undefined;
  /** Whether an event at this index was reported before: the log was rewritten, or is now read differently. */
  again: boolean;
}

/** The result of an update. */
export interface Update {
  format: TranscriptFormat;
  /** The index before which events are unchanged. */
  from: number;
  /** The events from there on. */
  seen: Seen[];
  /** Whether nothing is unchanged: another session, or the same one started over. */
  anew: boolean;
  /** Errors that were not reported before. */
  errors: { line: number; message: string }[];
}

/** Follows one session. */
export class Live {
  readonly #config: string;
  readonly #format: TranscriptFormat | undefined;
  #detector: LoopDetector;
  /** The events as JSON text, in order. */
  #events: string[] = [];
  /** The detector's state before the event at an index. */
  #states = new Map<number, Uint8Array>();
  #complained = new Set<string>();
  /** The highest number of events reported since the session began. */
  #told = 0;

  /** @throws {LoopwardenError} `invalid-config` for an invalid configuration. */
  constructor(config: string, format?: TranscriptFormat) {
    this.#config = config;
    this.#format = format;
    this.#detector = new LoopDetector(config);
  }

  /** The detector after the latest event. A rewind replaces it. */
  get detector(): LoopDetector {
    return this.#detector;
  }

  /** Takes the current text, from the beginning to the last complete entry, and judges what is new. */
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

  /** Frees the detector. */
  free(): void {
    this.#detector.free();
  }

  #save(at: number): void {
    if (at % SAVE_EVERY !== 0 || at === 0) return;
    this.#states.set(at, this.#detector.snapshot());
    const [oldest] = this.#states.keys();
    if (this.#states.size > SAVED && oldest !== undefined) this.#states.delete(oldest);
  }

  /** Restores the state before the event at an index. */
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
 * The readable part of a text that is being written: complete lines, or complete documents. Undefined if none is
 * complete.
 */
export function complete(text: string): string | undefined {
  // For a log of lines, parsing fails at the second line, so this is cheap.
  if (isObject(text)) return text;
  if (isLines(text.split("\n", 3))) {
    const end = text.lastIndexOf("\n") + 1;
    // A last line without a line feed may still be complete.
    return isObject(text.slice(end)) ? text : text.slice(0, end);
  }
  const end = lastEnd(text);
  return end === 0 ? undefined : text.slice(0, end);
}

/** Whether a text with these first lines has one entry per line; the first may be malformed. */
function isLines([first = "", second = "", third = ""]: string[]): boolean {
  if (isObject(first)) return true;
  // A document formatted over several lines begins with a bracket and rarely has complete objects on lines 2 and 3.
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

/** The offset after the last complete top-level document; 0 if there is none. */
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
