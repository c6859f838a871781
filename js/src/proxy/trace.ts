// Treats a request as a trace: its messages are read into events turn by turn and judged. The verdict depends only on
// the conversation, not on times or earlier requests, so the same messages always get the same verdict. The cache only
// avoids reading messages again.
import { type AgentEvent, LoopDetector, LoopwardenError, type Verdict } from "loopwarden";
import { readTranscript } from "loopwarden/tools";
import { rank } from "../replay/levels.ts";
import { type Api, at, isObject } from "./api.ts";
import type { ProxyCache } from "./cache.ts";
import { Digest } from "./digest.ts";
import { isOurs } from "./words.ts";

/** Maximum number of earlier turns looked up in the cache. */
const TRIED = 8;
/**
 * Maximum number of earlier model messages read with a turn as context: they show which arguments only give reasons.
 */
const ALONG = 12;
/** Maximum length of a message read as context, in UTF-16 code units of JSON. */
const SHORT = 4096;
/** Maximum number of unanswered calls remembered; the core pairs as many. */
const OPEN = 64;
/** Number of turns processed before yielding to other tasks. */
const AT_ONCE = 32;

/** The strongest verdict of the last turn. */
export interface Said {
  verdict: Verdict;
  /** The tool that the verdict is about, if any. */
  tool: string | undefined;
}

/** A conversation, judged up to its end. */
export interface Judged {
  /** The detector after the conversation. */
  detector: LoopDetector;
  /** Frees the detector; nothing may be used afterwards. */
  free(): void;
  /** Undefined if there was no verdict above `continue`, or if a human wrote after it. */
  said: Said | undefined;
  /** Messages about what could not be read. */
  problems: string[];
  /** Adds the model's output and stores the state under these names. */
  keep(output: readonly unknown[], names: readonly string[]): void;
  /** The latest boundaries between turns, from which a later request can continue. */
  places: Between[];
}

/** A boundary between two turns. */
export interface Between {
  /** The number of messages before it. */
  messages: number;
  /** The state of the digest of these messages. */
  digest: readonly [number, number];
  /** The key of the previous turn. */
  before: string | undefined;
}

/** The known beginning of a conversation, of which only the last messages are available. */
export interface Known extends Between {
  /** The number of its messages that are available. */
  recent: number;
}

/** Maximum number of boundaries returned. */
const PLACES = 4;
/** Number of messages before a boundary that have to be available. */
export const RECENT: number = 2 * ALONG;

/** The state of a conversation besides the detector. */
interface Place {
  /** The number of messages so far. */
  length: number;
  /** Unanswered calls: the vendor's id, ours and the tool. Vendors may reuse ids or leave them empty. */
  open: [theirs: string, ours: string, tool: string][];
  said: Said | undefined;
}

/** The settings for judging conversations. */
export interface How {
  /** The configuration of new detectors, as JSON. */
  config: string;
  /** Whether `user` messages after the first are the host's. */
  hostPrompts: boolean;
  cache: ProxyCache;
  /** Everything that must be equal for a snapshot to be usable. */
  seed: string;
  warn(kind: string, cause: unknown): void;
  /** Called with work that continues after the answer. */
  pending(work: Promise<unknown>): void;
}

/**
 * Judges a conversation.
 *
 * @param before names under which an earlier part, not among the messages, was stored; newest first.
 */
export async function judge(
  how: How,
  api: Api,
  messages: readonly unknown[],
  before: readonly string[] = [],
): Promise<Judged> {
  return (await walked(how, api, messages, before, undefined)) as Judged;
}

/**
 * Judges a conversation of which only the last messages are available; undefined if the cache has lost the others.
 */
export function judgeOn(
  how: How,
  api: Api,
  messages: readonly unknown[],
  beginning: Known,
): Promise<Judged | undefined> {
  return walked(how, api, messages, [], beginning);
}

async function walked(
  how: How,
  api: Api,
  messages: readonly unknown[],
  before: readonly string[],
  beginning: Known | undefined,
): Promise<Judged | undefined> {
  const { cache } = how;
  const digest = beginning ? Digest.from(beginning.digest) : new Digest(`${how.seed} ${api.name}`);
  /** The numbers of known messages that are available and that are not. */
  const recent = beginning?.recent ?? 0;
  const absent = (beginning?.messages ?? 0) - recent;
  /** The index at which each turn begins, and the digest of everything before. */
  const turns: { start: number; key: string }[] = [];
  if (beginning?.before !== undefined) turns.push({ start: 0, key: beginning.before });
  const places: Between[] = [];
  for (let index = recent; index < messages.length; index++) {
    const message = messages[index];
    if (index > 0 && api.isModel(message) && !api.isModel(messages[index - 1])) {
      places.push({ messages: absent + index, digest: digest.state, before: turns.at(-1)?.key });
      turns.push({ start: index, key: digest.value });
    }
    digest.add(message);
  }
  if (!api.isModel(messages.at(-1)))
    places.push({ messages: absent + messages.length, digest: digest.state, before: turns.at(-1)?.key });
  // If the vendor keeps the beginning of a conversation, there is no digest of the whole.
  let known: Kept | undefined;
  for (const name of before) known ??= await restored(how, name);
  const isPart = before.length > 0;
  if (!isPart) {
    for (const { key } of turns.slice(-TRIED).reverse()) {
      known = await restored(how, key);
      if (known !== undefined) break;
    }
  }
  const from = isPart ? 0 : (known?.place.length ?? 0) - absent;
  if (from < recent) {
    known?.detector.free();
    return undefined;
  }
  const walk = new Walk(how, api, known, isPart ? (known?.place.length ?? 0) : absent);
  try {
    const starts = [from, ...turns.map(({ start }) => start).filter((start) => start > from), messages.length];
    for (let turn = 0; turn + 1 < starts.length; turn++) {
      if (turn % AT_ONCE === AT_ONCE - 1) await new Promise((resolve) => setTimeout(resolve));
      walk.turn(messages, starts[turn] ?? 0, starts[turn + 1] ?? 0);
    }
  } catch (error) {
    walk.detector.free();
    throw error;
  }
  if (!isPart) {
    put(how, digest.value, walk.kept());
    // A request may be repeated, so the state it continued from is kept; the one before that is no longer needed.
    const gone = turns.at(-2);
    if (gone && cache.delete) safely(how, () => cache.delete?.(gone.key));
  }
  return {
    detector: walk.detector,
    said: walk.said,
    problems: walk.problems,
    free: () => walk.detector.free(),
    places: isPart ? [] : places.slice(-PLACES),
    keep: (output, names) => {
      if (names.length === 0) return;
      walk.turn(output, 0, output.length);
      const value = walk.kept();
      for (const name of names) put(how, name, value);
    },
  };
}

/** Processes a conversation turn by turn. */
class Walk {
  readonly detector: LoopDetector;
  readonly problems: string[] = [];
  readonly #how: How;
  readonly #api: Api;
  readonly #place: Place;
  /** The number of messages before the available ones. */
  readonly #offset: number;

  constructor(how: How, api: Api, known: Kept | undefined, offset: number) {
    this.#how = how;
    this.#api = api;
    this.#offset = offset;
    this.detector = known?.detector ?? new LoopDetector(how.config);
    this.#place = known?.place ?? { length: 0, open: [], said: undefined };
  }

  get said(): Said | undefined {
    return this.#place.said;
  }

  /** Reads and judges the messages of a turn: the model's message and the results. */
  turn(messages: readonly unknown[], start: number, end: number): void {
    if (start >= end) return;
    const [along, lines] = this.#along(messages, start);
    const own = messages.slice(start, end).map((message) => JSON.stringify(message));
    const read = readTranscript([...along, ...own].join("\n"), this.#api.format);
    for (const { line, error } of read.errors) if (line > lines) this.problems.push(error.message);
    const place = this.#place;
    const first = this.#offset + start;
    // Each turn of the model is judged on its own.
    if (this.#api.isModel(messages[start])) place.said = undefined;
    for (const [index, { pending, ...event }] of read.events.entries()) {
      const line = read.lines[index] ?? 0;
      if (line <= lines || pending === true) continue;
      this.#event(event as AgentEvent, first, first + line - lines - 1, index);
    }
    place.length = this.#offset + end;
  }

  #event(event: AgentEvent, turn: number, message: number, index: number): void {
    const place = this.#place;
    delete event.run;
    delete event.at;
    if (event.round != null) event.round = `${turn}`;
    let tool: string | undefined;
    if (event.type === "tool-call") {
      tool = event.tool;
      if (event.callId != null) {
        const ours = `${turn}.${index}`;
        place.open.push([event.callId, ours, tool]);
        if (place.open.length > OPEN) place.open.shift();
        event.callId = ours;
      }
    } else if (event.type === "tool-result" && event.callId != null) {
      const call = this.#answered(event.callId);
      event.callId = call?.[1] ?? `${message}?${index}`;
      tool = event.tool ?? call?.[2];
      if (tool !== undefined) event.tool = tool;
    } else if (event.type === "tool-result") {
      tool = event.tool ?? undefined;
    } else if (event.type === "message") {
      if (event.role === "assistant" && isOurs(event.text)) event.synthetic = true;
      if (event.role === "user" && this.#how.hostPrompts && place.length > 0) event.synthetic = true;
      if (event.role === "user" && event.synthetic !== true) place.said = undefined;
    }
    const verdict = this.#record(event);
    if (verdict === undefined || (verdict.level === "continue" && verdict.wouldBe === undefined)) return;
    const strength = (said: Verdict) => rank(said.wouldBe ?? said.level);
    if (place.said === undefined || strength(verdict) >= strength(place.said.verdict)) place.said = { verdict, tool };
  }

  /** Records an event. Events that the core rejects are skipped, like unreadable messages. */
  #record(event: AgentEvent): Verdict | undefined {
    try {
      return this.detector.record(event);
    } catch (error) {
      if (!(error instanceof LoopwardenError) || error.code === "internal") throw error;
      this.problems.push(error.message);
      return undefined;
    }
  }

  /** Takes the call that a result with this id answers: the first open one of the latest turn that used the id. */
  #answered(id: string): Place["open"][number] | undefined {
    const { open } = this.#place;
    const turnOf = (ours: string) => ours.slice(0, ours.indexOf("."));
    const last = open.findLast(([theirs]) => theirs === id);
    if (last === undefined) return undefined;
    const found = open.findIndex(([theirs, ours]) => theirs === id && turnOf(ours) === turnOf(last[1]));
    return open.splice(found, 1)[0];
  }

  /** The model's latest short messages before a turn, and their number of lines. */
  #along(messages: readonly unknown[], start: number): [texts: string[], lines: number] {
    const texts: string[] = [];
    for (let at = start - 1; at >= 0 && start - at <= RECENT && texts.length < ALONG; at--) {
      const message = messages[at];
      if (!this.#api.isModel(message)) continue;
      const text = JSON.stringify(message);
      if (text.length <= SHORT) texts.push(text);
    }
    return [texts.reverse(), texts.length];
  }

  /** Serialises the state: the length of the JSON (32 bits, big-endian), the JSON, the snapshot. */
  kept(): Uint8Array {
    const beside = encoder.encode(JSON.stringify(this.#place));
    const snapshot = this.detector.snapshot();
    const bytes = new Uint8Array(4 + beside.length + snapshot.length);
    new DataView(bytes.buffer).setUint32(0, beside.length);
    bytes.set(beside, 4);
    bytes.set(snapshot, 4 + beside.length);
    return bytes;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

interface Kept {
  detector: LoopDetector;
  place: Place;
}

/** Loads the state stored under a name; undefined, with a warning, if it cannot be read: it can be rebuilt. */
async function restored(how: How, name: string): Promise<Kept | undefined> {
  try {
    const found = how.cache.get(name);
    // The stubs of Durable Objects return thenables that are not instances of `Promise`.
    const bytes = found instanceof Uint8Array ? found : await found;
    if (bytes == null) return undefined;
    const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0);
    const place: Place = JSON.parse(decoder.decode(bytes.subarray(4, 4 + length)));
    if (!Number.isSafeInteger(at(place, "length")) || !Array.isArray(at(place, "open"))) return undefined;
    if (place.said !== undefined && !isObject(place.said.verdict)) return undefined;
    return { place, detector: LoopDetector.restore(bytes.subarray(4 + length)) };
  } catch (error) {
    how.warn("cache", error);
    return undefined;
  }
}

function put(how: How, name: string, value: Uint8Array): void {
  safely(how, () => how.cache.set(name, value));
}

/** A failing cache is treated as one that has evicted the entry. */
function safely(how: How, work: () => void | Promise<void>): void {
  try {
    const done = work();
    if (done) how.pending(Promise.resolve(done).catch((error) => how.warn("cache", error)));
  } catch (error) {
    how.warn("cache", error);
  }
}
