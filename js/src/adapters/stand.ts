// What a guard remembers of its scopes, and a guard as text.
import { LoopDetector } from "loopwarden";
import { LoopHalt } from "./halt.ts";

/** Calls of a scope that wait for their result, at most; as many as the core pairs. */
export const OPEN = 64;
/** Scopes (sub-agents, tasks) remembered, at most; the oldest goes first. */
export const SCOPES = 256;
/** Units of a name that the core may accept: 512 characters. */
export const NAME = 1_024;
/** What a terminal obeys, and what hides. */
export const ACTS: RegExp = /[^\P{C}\n]/gu;
/** Units of a text that a snapshot's note may have; the core's own are shorter. */
const NOTE = 8_192;

/** What is remembered of a scope beside the detector's own memory. */
export interface Stand {
  round: number;
  notes: string[];
  /** Calls that wait for their result: the host's id and the round, which together with a number are unique. */
  open: [id: string, round: string, nth?: number][];
  /** The ids of the round so far, and how often one of them was given to a call after the call before was answered. */
  made?: { round: string; ids: string[]; again: number };
  /** The host's ids of the latest calls: a conversation that goes on somewhere else shows them again. */
  recent?: string[];
  /** Whether work was handed on since a human last wrote. */
  handed: boolean;
  /** Rounds in a row that were refused, and the last of them. */
  refused: [rounds: number, last: number];
  /** What an answer took whose first event is still to come. */
  spent?: { tokens?: number; costMicros?: number };
  /** Calls that were answered; counted until the host tells that those of one answer of the model are done. */
  answered?: number;
  /** Whether it ever did. */
  batched?: boolean;
  halt?: LoopHalt;
}

/** A guard as text that is safe in JSON. */
export function packed(detector: LoopDetector, stands: ReadonlyMap<string, Stand>): string {
  const rest = new TextEncoder().encode(JSON.stringify([...stands]));
  return `1.${toBase64(detector.snapshot())}.${toBase64(rest)}`;
}

/**
 * What {@link packed} made a text of.
 *
 * @throws {Error} where it is no such text. {@link LoopwardenError} where the detector in it cannot be restored.
 */
export function unpacked(text: string): { detector: LoopDetector; stands: Map<string, Stand> } {
  const [version, detector, rest] = text.split(".");
  if (version !== "1" || detector === undefined || rest === undefined) throw new Error("not a guard's snapshot");
  const entries: [string, Stand][] = JSON.parse(new TextDecoder().decode(fromBase64(rest)));
  if (!Array.isArray(entries) || entries.length > SCOPES || !entries.every(isEntry))
    throw new Error("not a guard's snapshot");
  const stands = entries.map(([key, { halt, ...stand }]): [string, Stand] => [
    key,
    { ...stand, ...(halt && { halt: new LoopHalt(halt) }) },
  ]);
  return { detector: LoopDetector.restore(fromBase64(detector)), stands: new Map(stands) };
}

/** Whether this is a scope as a guard remembers it. What it says to the model is the guard's own word, and no longer. */
function isEntry([key, stand]: [string, Stand]): boolean {
  const scope: unknown = JSON.parse(key);
  if (!Array.isArray(scope) || scope.length !== 3 || key.length > 8 * NAME) return false;
  const { round, notes, open, refused, recent = [], made = { ids: [] } } = stand;
  const lists = [notes, open, refused, recent, made.ids];
  if (!Number.isSafeInteger(round) || !lists.every((list) => Array.isArray(list) && list.length <= OPEN)) return false;
  return notes.every(
    (note) => typeof note === "string" && note.length <= NOTE && note.startsWith("Loopwarden") && !note.match(ACTS),
  );
}

/** `Uint8Array.prototype.toBase64` is not everywhere yet. */
function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
