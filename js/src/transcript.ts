import { TranscriptReader as CoreReader, readTranscript as read } from "../glue/tools.js";
import { text } from "./arguments.ts";
import type { FORMATS } from "./generated/names.ts";
import type { ErrorRecord, TraceEvent } from "./generated/types.ts";
import { tools } from "./tools.ts";

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

/** A recorded run, read into events. */
export interface Transcript {
  /** What the text was read as. */
  format: TranscriptFormat;
  /** What happened, in order; spans in the order of time, results behind their calls. A `pending` event was about to happen: it is for `check`, without that field. A result of a trace that could not be read stands in its place as not executed, `synthetic` and labelled `unread`, so that its call was answered. */
  events: TraceEvent[];
  /** The line each event came from, counted from 1: of an entry of a document, the line where it begins. */
  lines: number[];
  /** The lines and entries that could not be read; the others could. */
  errors: { line: number; error: ErrorRecord }[];
}

/**
 * Reads a recorded run in an agent's own log format.
 *
 * @param log - The whole of it: JSON lines, or documents that hold its entries in a list.
 * @param format - Recognised from the first entries that tell, where absent.
 * @throws {LoopwardenError} `invalid-argument` for a format that does not exist, and for what is no text. A broken line is
 * no error of the call: it is listed in `errors`.
 */
export function readTranscript(log: string, format?: TranscriptFormat): Transcript {
  const [whole, how] = [text(log, "text"), format === undefined ? undefined : text(format, "format")];
  return JSON.parse(tools.call(() => read(whole, how)));
}

/** What was read of a run since the part before. */
export interface TranscriptPart extends Omit<Transcript, "format"> {
  /** Once it is known; with the last part it always is. */
  format: TranscriptFormat | null;
}

/**
 * Reads a recorded run piece by piece, for logs that are larger than the memory. However the text is cut, the parts
 * together are what {@link readTranscript} says of the whole; only spans come all with the last part, since they are put
 * in the order of time.
 */
export class TranscriptReader {
  readonly #core: CoreReader;
  /** The first half of a character whose second half is still to come. */
  #half = "";

  /** @throws {LoopwardenError} `invalid-argument` for a format that does not exist. */
  constructor(format?: TranscriptFormat) {
    const how = format === undefined ? undefined : text(format, "format");
    this.#core = tools.call(() => new CoreReader(how));
  }

  /** Takes the next piece and tells what can be read by now. */
  feed(piece: string): TranscriptPart {
    const next = this.#half + text(piece, "piece");
    // Half a surrogate pair has no place in UTF-8: it waits for the other half.
    const whole = /[\ud800-\udbff]$/.test(next) ? next.length - 1 : next.length;
    this.#half = next.slice(whole);
    return JSON.parse(tools.call(() => this.#core.feed(next.slice(0, whole))));
  }

  /** Tells what is left when the text has ended. The reader is of no use after it. */
  finish(): TranscriptPart {
    // What never got its other half is read as it stands.
    const half: TranscriptPart | undefined =
      this.#half === "" ? undefined : JSON.parse(tools.call(() => this.#core.feed(this.#half)));
    const rest: TranscriptPart = JSON.parse(tools.call(() => this.#core.finish()));
    this.#core.free();
    if (half === undefined) return rest;
    return {
      ...rest,
      events: [...half.events, ...rest.events],
      lines: [...half.lines, ...rest.lines],
      errors: [...half.errors, ...rest.errors],
    };
  }
}
