// Saves the state of the page as a link, and a run as a test case.

import type { Config, Scenario, TraceEvent } from "../generated/types.ts";
import { type Analysis, loopKey, rank, type Trace } from "./model.ts";
import { serious } from "./words.ts";

/** The state stored in a link. */
export interface State {
  /** The index of the selected event. */
  event?: number;
  /** The {@link loopKey} of the selected loop. */
  loop?: string;
  config?: Config;
  /** The {@link loopKey}s of loops marked as false alarms. */
  falseAlarms?: string[];
  /** The run itself, if the page does not contain it. */
  trace?: Pick<Trace, "name" | "events">;
}

/** Maximum length of a link that contains a run, in characters; some programs truncate longer ones. */
export const LONGEST_LINK = 60_000;
/** Maximum size of an unpacked state in bytes, because links are untrusted. */
const LONGEST_STATE = 32 * 1024 * 1024;

/** Encodes a state as the part of a link after `#`. */
export async function pack(state: State): Promise<string> {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return `s=${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** Decodes the state of a link; undefined if it contains none that is valid. */
export async function unpack(hash: string): Promise<State | undefined> {
  const packed = /^#?s=([\w-]+)$/.exec(hash)?.[1];
  if (packed === undefined) return undefined;
  try {
    const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    const text = new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
    const state: unknown = JSON.parse(text);
    return isState(state) ? state : undefined;
  } catch {
    return undefined;
  }
}

/** Validates the shape of a state, because links are untrusted. */
function isState(state: unknown): state is State {
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isObject(state)) return false;
  const { event, loop, config, falseAlarms, trace } = state;
  return (
    (event === undefined || (Number.isSafeInteger(event) && Number(event) >= 0)) &&
    (loop === undefined || typeof loop === "string") &&
    (config === undefined || isObject(config)) &&
    (falseAlarms === undefined ||
      (Array.isArray(falseAlarms) && falseAlarms.every((key) => typeof key === "string"))) &&
    (trace === undefined || (isObject(trace) && typeof trace["name"] === "string" && Array.isArray(trace["events"])))
  );
}

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
): Promise<Uint8Array<ArrayBuffer>> {
  const writer = stream.writable.getWriter();
  // Errors surface in the reader below.
  writer.write(bytes).catch(() => {});
  writer.close().catch(() => {});
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = stream.readable.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    length += value.length;
    if (length > LONGEST_STATE) {
      await reader.cancel();
      throw new RangeError("the unpacked link is too large for a page");
    }
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * A run as one line of a scenario file for `loopwarden eval`. The current findings become the expectation, except for
 * loops marked as false alarms.
 */
export function scenario(
  trace: Trace,
  config: Config,
  analysis: Analysis,
  falseAlarms: readonly string[],
  events: readonly TraceEvent[] = trace.events,
): Scenario {
  const loops = analysis.loops.filter((loop) => serious(loop.peak) && !falseAlarms.includes(loopKey(loop)));
  const firsts = loops.flatMap(({ reached }) =>
    Object.entries(reached).flatMap(([level, at]) => (rank(level as never) >= rank("nudge") ? [at] : [])),
  );
  const rules = [...new Set(loops.map(({ rule }) => rule))].join(", ");
  const id = trace.name
    .replace(/\.[a-z.]+$/i, "")
    .replaceAll(/[^a-zA-Z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .toLowerCase();
  // The expectation is about the levels outside shadow mode, so the scenario must not use it.
  const { mode: _, ...own } = config;
  return {
    id: id === "" ? "run" : id,
    description: loops[0]?.finding.message ?? "A run without a loop.",
    why: loops.length === 0 ? "Checked by a person: no loop." : `Found by ${rules}.`,
    expect: loops.length === 0 ? "no-loop" : "loop",
    ...(firsts.length > 0 && { expectAt: Math.min(...firsts) }),
    minLevel: "nudge",
    ...(Object.keys(own).length > 0 && { config: own }),
    events: [...events],
  };
}
