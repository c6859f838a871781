// The fast path of an event into the core: its fields are written once into a buffer in the module's memory, and a
// number comes back. `src/wire.rs` reads what is written here.
//
// What the binary message cannot express travels as JSON text: other kinds of event, labels, values out of range, and
// any object that JSON.stringify would not simply walk (with a `toJSON`, of a class, wrapping a primitive). Both paths
// give the same verdict and leave the same state.
import { type Core, Door } from "../glue/loopwarden.js";
import { json as jsonText } from "./arguments.ts";
import { core as module } from "./core.ts";
import { LoopwardenError } from "./errors.ts";
import type { Event, Verdict } from "./generated/types.ts";

/**
 * What the door returns besides a sequence number (a verdict with nothing to report): a verdict to fetch, and a message
 * that cannot express the event. Anything else is an error to fetch.
 */
const [VERDICT, UNSAID] = [-1, -3];
/** Initial and maximum size of the buffer, in bytes. */
const [SMALLEST, LARGEST] = [16 * 1024, 4 * 1024 * 1024];
/**
 * Length up to which a text is written character by character, in UTF-16 code units: faster than calling the encoder.
 */
const SHORT = 40;
/** Nesting levels of a binary message; deeper events go as text, of which the core rejects more than 120 levels. */
const DEEPEST = 100;

const KINDS: ReadonlyMap<unknown, number> = numbered(["tool-call", "tool-result", "delta", "message", "output"]);
const OUTCOMES: ReadonlyMap<unknown, number> = numbered([
  "ok",
  "error",
  "denied",
  "invalid",
  "unknown-tool",
  "not-executed",
  "timeout",
]);
const ROLES: ReadonlyMap<unknown, number> = numbered(["assistant", "user", "system"]);
const CHANNELS: ReadonlyMap<unknown, number> = numbered(["text", "reasoning"]);

function numbered(names: readonly string[]): ReadonlyMap<unknown, number> {
  return new Map(names.map((name, index) => [name, index]));
}

const encoder = new TextEncoder();

let door: Door | undefined;
/** The buffer. Its length is 0 before it is allocated and after the module's memory has grown and moved. */
let bytes = new Uint8Array(0);
let at = 0;
/** Counts messages, to notice that a getter or proxy of the event has begun another one. */
let turn = 0;
/** Whether a call is in progress. If so before a call, the previous one never returned. */
let inside = false;

/**
 * Judges an event, and records it if `recording`. `live` returns the detector's core or throws; it is called again
 * after the event's own code (getters, `toJSON`) has run.
 */
export function judge(live: () => Core, event: Event | string, recording: boolean): Verdict {
  live();
  if (inside) renew();
  door ??= new Door();
  const length = typeof event === "object" && event !== null ? written(event) : 0;
  if (length > 0) {
    const core = live();
    inside = true;
    const seq = recording ? door.record(core, length) : door.check(core, length);
    inside = false;
    if (seq >= 0) return quiet(seq);
    if (seq !== UNSAID) return answer(door, seq);
  }
  const text = jsonText(event, "invalid-event");
  if (text.length * 3 > LARGEST) {
    const long = recording ? live().record(text) : live().check(text);
    return JSON.parse(long);
  }
  // The event's own code may have called another detector and left the door in any state.
  door ??= new Door();
  at = 0;
  turn++;
  room(text.length * 3);
  const { written: size } = encoder.encodeInto(text, bytes);
  const core = live();
  inside = true;
  const seq = recording ? door.recordText(core, size) : door.checkText(core, size);
  inside = false;
  return seq >= 0 ? quiet(seq) : answer(door, seq);
}

/** Drops the door after a trap; the next event creates a new one. */
export function renew(): void {
  (door as unknown as { __destroy_into_raw(): void } | undefined)?.__destroy_into_raw();
  door = undefined;
  bytes = new Uint8Array(0);
  inside = false;
  module.rewind();
}

/** The plain `continue` verdict, as the core would write it. */
function quiet(seq: number): Verdict {
  return {
    seq,
    level: "continue",
    findings: [],
    recommendation: "continue",
    needsEvaluation: false,
    suggestedActions: [],
  };
}

function answer(door: Door, seq: number): Verdict {
  const text = JSON.parse(door.answer());
  if (seq === VERDICT) return text;
  throw new LoopwardenError(text);
}

/**
 * Writes an event into the buffer. Returns the length of the message in bytes, or 0 if the event must go as JSON text.
 */
function written(event: object): number {
  const mine = ++turn;
  at = 0;
  try {
    if (!fields(event)) return 0;
  } catch {
    // A getter threw, the stack overflowed or the message is too long: the JSON path reports what is wrong.
    return 0;
  }
  return turn === mine ? at : 0;
}

function fields(event: object): boolean {
  if (!isPlain(event)) return false;
  const { type } = event as { type?: unknown };
  const kind = KINDS.get(type);
  if (kind === undefined) return false;
  room(1);
  bytes[at++] = kind;
  const keys = Object.keys(event);
  let typed = false;
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    if (key === "type") {
      typed = true;
      continue;
    }
    const value = (event as Record<string, unknown>)[key];
    // A tool that returns nothing has answered.
    const given = value === undefined && key === "output" ? null : value;
    if (given !== undefined && !field(key, given)) return false;
  }
  return typed;
}

/** Writes a field; false if it cannot be expressed. The numbers are those of the fields in `src/wire.rs`. */
function field(key: string, value: unknown): boolean {
  switch (key) {
    case "run":
      return value === null || string(0, value);
    case "task":
      return value === null || string(1, value);
    case "parentTask":
      return value === null || string(2, value);
    case "agent":
      return value === null || string(3, value);
    case "round":
      return value === null || string(4, value);
    case "at":
      return value === null || integer(5, value);
    case "step":
      return value === null || integer(6, value);
    case "synthetic":
      return value === null || flag(7, value);
    case "tool":
      return string(8, value);
    case "args":
      return json(9, value);
    case "rawArgs":
      return string(10, value);
    case "callId":
      return string(11, value);
    case "target":
      return string(12, value);
    case "identity":
      return string(13, value);
    case "readOnly":
      return flag(14, value);
    case "idempotent":
      return flag(15, value);
    case "outcome":
      return oneOf(16, OUTCOMES, value);
    case "output":
      return json(17, value);
    case "digest":
      return string(18, value);
    case "exitCode":
      return integer(19, value);
    case "errorClass":
      return string(20, value);
    case "details":
      return json(21, value);
    case "state":
      return string(22, value);
    case "role":
      return oneOf(23, ROLES, value);
    case "channel":
      return oneOf(24, CHANNELS, value);
    case "text":
      return string(25, value);
    case "tokens":
      return value === null || integer(26, value);
    case "costMicros":
      return value === null || integer(27, value);
    default:
      return false;
  }
}

function string(id: number, value: unknown): boolean {
  if (typeof value !== "string") return false;
  room(1);
  bytes[at++] = id;
  return text(value);
}

function flag(id: number, value: unknown): boolean {
  if (typeof value !== "boolean") return false;
  room(2);
  bytes[at++] = id;
  bytes[at++] = value ? 1 : 0;
  return true;
}

function oneOf(id: number, cases: ReadonlyMap<unknown, number>, value: unknown): boolean {
  const index = cases.get(value);
  if (index === undefined) return false;
  room(2);
  bytes[at++] = id;
  bytes[at++] = index;
  return true;
}

function integer(id: number, value: unknown): boolean {
  if (!Number.isSafeInteger(value)) return false;
  room(9);
  bytes[at++] = id;
  long(value as number);
  return true;
}

function json(id: number, value: unknown): boolean {
  room(1);
  bytes[at++] = id;
  return free(value, 0);
}

/** Writes a value as JSON.stringify would; false if that takes more than walking it. */
function free(value: unknown, depth: number): boolean {
  room(9);
  switch (typeof value) {
    case "string":
      bytes[at++] = 5;
      return text(value);
    case "number":
      if (Number.isSafeInteger(value)) {
        bytes[at++] = 3;
        long(value);
        return true;
      }
      if (!Number.isFinite(value)) {
        bytes[at++] = 0;
        return true;
      }
      bytes[at++] = 4;
      return text(String(value));
    case "boolean":
      bytes[at++] = value ? 2 : 1;
      return true;
    case "object":
      if (value === null) {
        bytes[at++] = 0;
        return true;
      }
      if (depth === DEEPEST) return false;
      return Array.isArray(value) ? list(value, depth) : object(value, depth);
    default:
      return false;
  }
}

function list(items: unknown[], depth: number): boolean {
  if (Object.getPrototypeOf(items) !== Array.prototype || "toJSON" in items) return false;
  bytes[at++] = 6;
  // Read once, as JSON.stringify does: a getter of an item may change it.
  const { length } = items;
  word(length);
  for (let index = 0; index < length; index++) {
    const item = items[index];
    // Values that JSON cannot represent are `null` in a list.
    const missing = item === undefined || typeof item === "function" || typeof item === "symbol";
    if (!free(missing ? null : item, depth + 1)) return false;
  }
  return true;
}

function object(value: object, depth: number): boolean {
  if (!isPlain(value)) return false;
  bytes[at++] = 7;
  const counted = at;
  at += 4;
  let count = 0;
  const keys = Object.keys(value);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    const part = (value as Record<string, unknown>)[key];
    if (part === undefined || typeof part === "function" || typeof part === "symbol") continue;
    text(key);
    if (!free(part, depth + 1)) return false;
    count++;
  }
  const end = at;
  at = counted;
  word(count);
  at = end;
  return true;
}

/** Whether JSON.stringify would only walk the object's own fields. */
function isPlain(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype && !("toJSON" in value);
}

/**
 * Writes the length of a text in bytes, then the text as UTF-8. A lone surrogate becomes U+FFFD, as on the JSON path.
 */
function text(value: string): boolean {
  const { length } = value;
  room(length * 3 + 4);
  const begin = at + 4;
  let end = begin;
  if (length <= SHORT) {
    for (let index = 0; index < length; index++) {
      const unit = value.charCodeAt(index);
      if (unit > 127) {
        end = begin + encoder.encodeInto(value, bytes.subarray(begin)).written;
        break;
      }
      bytes[end++] = unit;
    }
  } else {
    end += encoder.encodeInto(value, bytes.subarray(begin)).written;
  }
  word(end - begin);
  at = end;
  return true;
}

/** Writes 32 bits, little-endian. */
function word(value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
  at += 4;
}

/** Writes a safe integer as 64 bits, little-endian. */
function long(value: number): void {
  word(value >>> 0);
  word(Math.floor(value / 2 ** 32) >>> 0);
}

/** Ensures room for this many more bytes; throws a RangeError above {@link LARGEST}. */
function room(more: number): void {
  const needed = at + more;
  if (needed <= bytes.length) return;
  if (needed > LARGEST) throw new RangeError("a message that is too long");
  let size = Math.max(bytes.length, SMALLEST);
  while (size < needed) size *= 2;
  const pointer = (door as Door).buffer(size);
  bytes = new Uint8Array(module.exports().memory.buffer, pointer, size);
}
