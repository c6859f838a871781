import { TranscriptReader as CoreReader, readTranscript as read } from "../glue/tools.js";
import { text } from "./arguments.ts";
import type { FORMATS } from "./generated/names.ts";
import type { ErrorRecord, TraceEvent } from "./generated/types.ts";
import { tools } from "./tools.ts";

/**
 * The format of a recorded run.
 *
 * | Format | Contents |
 * | --- | --- |
 * | `trace` | Loopwarden's own format: events, or one scenario |
 * | `claude-code` | a Claude Code session |
 * | `openai` | chat-completions messages or Responses items, or a Codex rollout |
 * | `anthropic` | messages of the Anthropic API |
 * | `ai-sdk` | UI or model messages of Vercel's AI SDK, or the file of its devtools |
 * | `langchain` | messages of LangChain, serialised or plain; the state or stream of LangGraph |
 * | `swe-agent` | a trajectory of SWE-agent or mini-swe-agent |
 * | `openhands` | an OpenHands event log |
 * | `gemini-cli` | a chat recording, checkpoint, prompt log or telemetry file of gemini-cli |
 * | `opentelemetry` | spans of agents: OpenTelemetry GenAI as OTLP/JSON or one span per line, exports of Phoenix, observations of Langfuse, runs of LangSmith |
 */
export type TranscriptFormat = (typeof FORMATS)[number];

/** A recorded run, read into events. */
export interface Transcript {
  /** The format that the text was read as. */
  format: TranscriptFormat;
  /**
   * The events in order; spans are sorted by time, with results after their calls. A `pending` event had not happened
   * yet: pass it to `check`, without that field. A result of a trace that could not be read is replaced by a
   * `synthetic` one, not executed and labelled `unread`, so that its call is answered.
   */
  events: TraceEvent[];
  /** The line of each event, from 1: for an entry of a document, the line it begins on. */
  lines: number[];
  /** The lines and entries that could not be read. The others were. */
  errors: { line: number; error: ErrorRecord }[];
}

/**
 * Reads a recorded run in an agent's own log format.
 *
 * @param log - The whole log: JSON lines, or documents that contain the entries in a list.
 * @param format - If omitted, detected from the first entries that identify it.
 * @throws {LoopwardenError} `invalid-argument` for an unknown format or a `log` that is not a string. An unreadable
 * line does not throw: it is listed in `errors`.
 */
export function readTranscript(log: string, format?: TranscriptFormat): Transcript {
  const [whole, how] = [text(log, "text"), format === undefined ? undefined : text(format, "format")];
  return JSON.parse(tools.call(() => read(whole, how)));
}

/** What has been read since the previous part. */
export interface TranscriptPart extends Omit<Transcript, "format"> {
  /** `null` while it is not known; never in the last part. */
  format: TranscriptFormat | null;
}

/**
 * Reads a recorded run piece by piece, for logs that do not fit in memory. However the text is cut, the parts together
 * equal what {@link readTranscript} returns for the whole; spans all come with the last part, because they have to be
 * sorted by time.
 */
export class TranscriptReader {
  readonly #core: CoreReader;
  /** A high surrogate whose low surrogate is still to come. */
  #half = "";

  /** @throws {LoopwardenError} `invalid-argument` for an unknown format. */
  constructor(format?: TranscriptFormat) {
    const how = format === undefined ? undefined : text(format, "format");
    this.#core = tools.call(() => new CoreReader(how));
  }

  /** Takes the next piece and returns what can be read so far. */
  feed(piece: string): TranscriptPart {
    const next = this.#half + text(piece, "piece");
    // A lone surrogate cannot be encoded as UTF-8, so it waits for the other half.
    const whole = /[\ud800-\udbff]$/.test(next) ? next.length - 1 : next.length;
    this.#half = next.slice(whole);
    return JSON.parse(tools.call(() => this.#core.feed(next.slice(0, whole))));
  }

  /** Ends the text and returns the rest. The reader cannot be used afterwards. */
  finish(): TranscriptPart {
    // A surrogate that stayed alone is read as it is.
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
