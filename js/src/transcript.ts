import { readTranscript as read } from "../glue/loopwarden.js";
import { call } from "./core.ts";
import type { ErrorRecord, TraceEvent } from "./generated/types.ts";

/** How a run was recorded: as a Loopwarden trace (events, or one scenario), or as a Claude Code session. */
export type TranscriptFormat = "trace" | "claude-code";

/** A recorded run, read into events. */
export interface Transcript {
  /** What the text was read as. */
  format: TranscriptFormat;
  /** What happened, in order. A `pending` event was about to happen: it is for `check`, without that field. */
  events: TraceEvent[];
  /** The line each event came from, counted from 1. */
  lines: number[];
  /** The lines that could not be read; the others could. */
  errors: { line: number; error: ErrorRecord }[];
}

/**
 * Reads a recorded run in an agent's own log format.
 *
 * @param text - The whole log, one JSON object a line.
 * @param format - Recognised from the text where absent.
 * @throws {LoopwardenError} `invalid-argument` for a format that does not exist. A broken line is no error of the call:
 * it is listed in `errors`.
 */
export function readTranscript(text: string, format?: TranscriptFormat): Transcript {
  return JSON.parse(call(() => read(text, format)));
}
