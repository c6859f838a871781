import { readTranscript as read } from "../glue/loopwarden.js";
import { call } from "./core.ts";
import type { ErrorRecord, TraceEvent } from "./generated/types.ts";

/**
 * How a run was recorded.
 *
 * | Format | What it is |
 * | --- | --- |
 * | `trace` | Loopwarden's own: events, or one scenario |
 * | `claude-code` | a Claude Code session |
 * | `openai` | chat-completions messages or Responses items, or a Codex rollout |
 * | `anthropic` | messages of the Anthropic API |
 * | `ai-sdk` | messages of Vercel's AI SDK: those of its user interface, or those for models; what its devtools keep |
 * | `langchain` | messages of LangChain, serialised or plain; the state of LangGraph, or what it streams |
 * | `swe-agent` | a trajectory of SWE-agent or mini-swe-agent |
 * | `openhands` | an OpenHands event log |
 * | `gemini-cli` | a chat recording, checkpoint, prompt log or telemetry file of gemini-cli |
 * | `opentelemetry` | spans of agents: OpenTelemetry GenAI as OTLP/JSON or a span a line, exports of Phoenix, observations of Langfuse, runs of LangSmith |
 */
export type TranscriptFormat = (typeof FORMATS)[number];

/** @internal */
export const FORMATS = [
  "trace",
  "claude-code",
  "openai",
  "anthropic",
  "ai-sdk",
  "langchain",
  "swe-agent",
  "openhands",
  "gemini-cli",
  "opentelemetry",
] as const;

/** A recorded run, read into events. */
export interface Transcript {
  /** What the text was read as. */
  format: TranscriptFormat;
  /** What happened, in order; spans in the order of time, results behind their calls. A `pending` event was about to happen: it is for `check`, without that field. */
  events: TraceEvent[];
  /** The line each event came from, counted from 1: of an entry of a document, the line where it begins. */
  lines: number[];
  /** The lines and entries that could not be read; the others could. */
  errors: { line: number; error: ErrorRecord }[];
}

/**
 * Reads a recorded run in an agent's own log format.
 *
 * @param text - The whole log: JSON lines, or documents that hold its entries in a list.
 * @param format - Recognised from the first entries that tell, where absent.
 * @throws {LoopwardenError} `invalid-argument` for a format that does not exist. A broken line is no error of the call:
 * it is listed in `errors`.
 */
export function readTranscript(text: string, format?: TranscriptFormat): Transcript {
  return JSON.parse(call(() => read(text, format)));
}
