// Reads files and texts that the user provides.

import { LoopwardenError } from "../errors.ts";
import type { Config } from "../generated/types.ts";
import { isStandIn } from "../replay/judge.ts";
import { readTranscript } from "../transcript.ts";
import type { Trace } from "./model.ts";
import { refusal } from "./settings.ts";

/** Thrown for an input that is not a run; the message is for the user. */
export class Unreadable extends Error {
  /** Whether to show which formats can be read. */
  readonly isOfNoFormat: boolean;

  constructor(message: string, isOfNoFormat = false) {
    super(message);
    this.isOfNoFormat = isOfNoFormat;
  }
}

/**
 * Reads a run.
 *
 * @throws {Unreadable} if it contains no readable event.
 */
export function readRun(name: string, text: string): Trace {
  if (text.includes("\u0000"))
    throw new Unreadable(`${name} is not a text file: a log is UTF-8 text, plain or gzip-compressed.`);
  let read: ReturnType<typeof readTranscript>;
  try {
    read = readTranscript(text);
  } catch (error) {
    if (!(error instanceof LoopwardenError)) throw error;
    throw new Unreadable(error.message);
  }
  const { format, events, lines } = read;
  const errors = read.errors.map(({ line, error }) => {
    const { code, message } = new LoopwardenError(error);
    return { line, message: code === "invalid-json" ? `not JSON: ${message}` : message };
  });
  if (!events.every(isStandIn)) return { name, format, events, lines, errors, config: configOf(text) };
  const [first] = errors;
  throw new Unreadable(
    first === undefined
      ? `There is no event in ${name}. It was read as ${format}; the list below shows what can be read.`
      : `It contains no readable event${format === "trace" ? "" : ` (the closest format is ${format})`}. Line ${first.line}: ${first.message}`,
    true,
  );
}

/** A scenario's own configuration; empty if it has none that is valid. */
function configOf(text: string): Config {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && "events" in value && "config" in value) {
      const { config } = value as { config: Config | null };
      return config !== null && refusal(config) === undefined ? config : {};
    }
  } catch {}
  return {};
}

/**
 * Reads the text of a file, which may be gzip-compressed.
 *
 * @throws {Unreadable} if the browser cannot read it.
 */
export async function textOf(file: File): Promise<string> {
  const packed = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isGzip = packed[0] === 0x1f && packed[1] === 0x8b;
  try {
    const body = isGzip ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
    return await new Response(body).text();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new Unreadable(`${file.name} cannot be read: ${error.message}`);
  }
}
