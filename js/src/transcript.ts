import { readTranscript as read } from "../glue/loopwarden.js";
import { call } from "./core.ts";
import type { ErrorRecord, Event } from "./generated/types.ts";

/** A recorded run, read into events. */
export interface Transcript {
  /** What the text was: `claude-code` (a Claude Code session) or `native` (a Loopwarden trace). */
  format: string;
  /** The events in order, each with the line it came from, counted from 1. */
  events: TranscriptEvent[];
  /** The lines that could not be read; the others could. */
  errors: (ErrorRecord & { line: number })[];
}

/** One event of a transcript. */
export interface TranscriptEvent {
  line: number;
  event: Event;
  /** The event was about to happen: give it to `check`, not to `record`. */
  pending?: boolean;
}

/**
 * Reads a recorded run in an agent's own log format.
 *
 * @param text - The whole log, one JSON object a line.
 * @param format - `claude-code` or `native`; recognised from the text where absent.
 * @throws {LoopwardenError} `invalid-argument` for a format that does not exist or is not recognised. A broken line is
 * no error of the call: it is listed in `errors`.
 */
export function readTranscript(text: string, format?: string): Transcript {
  return JSON.parse(call(() => read(text, format)));
}
