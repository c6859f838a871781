// A state of the page as a link, and a run as a test case.

import type { Config, Scenario, TraceEvent } from "../generated/types.ts";
import { type Analysis, loopKey, rank, type Trace } from "./model.ts";
import { serious } from "./words.ts";

/** What a link brings back. */
export interface State {
  /** The selected event. */
  event?: number;
  /** The loop that is looked at, as {@link loopKey} names it. */
  loop?: string;
  config?: Config;
  /** Loops marked as false alarms. */
  falseAlarms?: string[];
  /** The run itself, where the page does not hold it. */
  trace?: Pick<Trace, "name" | "events">;
}

/** The longest link with a run inside, in characters; some programs cut off longer ones. */
export const LONGEST_LINK = 60_000;
/** The most that the run of a link may unpack to, in characters: a link comes from anybody. */
const LONGEST_STATE = 32 * 1024 * 1024;

/** A state as the part of a link after `#`. */
export async function pack(state: State): Promise<string> {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return `s=${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** The state of a link; nothing where it holds none, or none that can be read. */
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

/** A link is somebody else's text: only what has the right shape is taken. */
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
  // An error reaches the reader below.
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
      throw new RangeError("the link unpacks to more than a page should hold");
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
 * A run as one line of a scenario file for `loopwarden eval`: what the detector says now is what is expected, but for
 * the loops that a person called false alarms.
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
  // What is expected is what would be said: in a scenario, shadow mode would be about what is not.
  const { mode: _, ...own } = config;
  return {
    id: id === "" ? "run" : id,
    description: loops[0]?.finding.message ?? "A run without a loop.",
    why: loops.length === 0 ? "Checked by a person: nothing here goes round in circles." : `Found by ${rules}.`,
    expect: loops.length === 0 ? "no-loop" : "loop",
    ...(firsts.length > 0 && { expectAt: Math.min(...firsts) }),
    minLevel: "nudge",
    ...(Object.keys(own).length > 0 && { config: own }),
    events: [...events],
  };
}
