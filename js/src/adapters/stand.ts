// The state that a guard keeps per scope, and its serialisation.
import { LoopDetector } from "loopwarden";
import { LoopHalt } from "./halt.ts";

/** Maximum number of calls of a scope that wait for their result; the core pairs as many. */
export const OPEN = 64;
/** Maximum number of scopes (sub-agents, tasks) remembered; the oldest is dropped first. */
export const SCOPES = 256;
/** Longest name remembered, in UTF-16 code units: the core accepts at most 512 characters, of up to two units each. */
export const NAME = 1_024;
/** Control characters and other invisible ones, except line feeds. */
export const ACTS: RegExp = /[^\P{C}\n]/gu;
/** Longest note accepted from a snapshot, in UTF-16 code units; the core's own are shorter. */
const NOTE = 8_192;

/** What a guard remembers of a scope in addition to the detector's state. */
export interface Stand {
  /** The number of the current round. */
  round: number;
  /** Guidance waiting for the next model call. */
  notes: string[];
  /** Calls waiting for their result: the host's id and the round, made unique by a number if the id was reused. */
  open: [id: string, round: string, nth?: number][];
  /** The call ids of the current round, and how often an id was reused after its call had been answered. */
  made?: { round: string; ids: string[]; again: number };
  /** The host's ids of the latest calls, by which a conversation that continues elsewhere is recognised. */
  recent?: string[];
  /** Whether work was handed off since a human last wrote. */
  handed: boolean;
  /** The number of consecutive refused rounds, and the last of them (-1 for none). */
  refused: [rounds: number, last: number];
  /** The usage of an answer whose first event is still to come. */
  spent?: { tokens?: number; costMicros?: number };
  /** Calls answered without a report that the calls of one answer are done; counted up to a limit. */
  answered?: number;
  /** Whether the host has ever made that report. */
  batched?: boolean;
  halt?: LoopHalt;
}

/** Serialises a guard as a JSON-safe string. */
export function packed(detector: LoopDetector, stands: ReadonlyMap<string, Stand>): string {
  const rest = new TextEncoder().encode(JSON.stringify([...stands]));
  return `1.${toBase64(detector.snapshot())}.${toBase64(rest)}`;
}

/**
 * Reads a string made by {@link packed}.
 *
 * @throws {Error} if the text is not one; {@link LoopwardenError} if its detector cannot be restored.
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

/** Validates a scope of a snapshot. Notes go to the model, so they must look like the guard's own and be no longer. */
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

/** `Uint8Array.prototype.toBase64` is not available everywhere yet. */
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
