// A request is a trace: its messages are read into events turn by turn, and judged. What is judged is the conversation
// alone, without times and without a memory of what was sent, so that the same messages get the same verdict wherever and
// however often they come. The cache only spares reading again what it has seen.
import { type AgentEvent, LoopDetector, LoopwardenError, type Verdict } from "loopwarden";
import { readTranscript } from "loopwarden/tools";
import { rank } from "../replay/levels.ts";
import { type Api, at, isObject } from "./api.ts";
import type { ProxyCache } from "./cache.ts";
import { Digest } from "./digest.ts";
import { isOurs } from "./words.ts";

/** Earlier places of a conversation that the cache is asked for, at most. */
const TRIED = 8;
/** Turns whose calls are read along, so that an argument shows that only says why a call is made; see the readers. */
const ALONG = 12;
/** Characters of a message up to which it is read along. */
const SHORT = 4096;
/** Calls without an answer that are remembered, at most; as many as the core pairs. */
const OPEN = 64;
/** Turns that are read before others get their turn. */
const AT_ONCE = 32;

/** The strongest thing that was said of the last turn. */
export interface Said {
  verdict: Verdict;
  /** The tool it is about, where it is about one. */
  tool: string | undefined;
}

/** A conversation, judged up to its end. */
export interface Judged {
  /** Knows the conversation. */
  detector: LoopDetector;
  /** Gives the memory back; nothing may be asked afterwards. */
  free(): void;
  /** Nothing where nothing was said, or a human wrote after it. */
  said: Said | undefined;
  /** What could not be read, in words. */
  problems: string[];
  /** Goes on with what the model answered, and keeps it under these names. */
  keep(output: readonly unknown[], names: readonly string[]): void;
  /** The latest places between two turns, from which a later request can go on. */
  places: Between[];
}

/** A place between two turns. */
export interface Between {
  /** Messages before it. */
  messages: number;
  digest: readonly [number, number];
  /** The key of the turn before. */
  before: string | undefined;
}

/** What is known of the messages that a conversation begins with, of which only the last ones are at hand. */
export interface Known extends Between {
  /** How many of those are at hand. */
  recent: number;
}

/** Places that are told. */
const PLACES = 4;
/** Messages before a place that have to be at hand. */
export const RECENT: number = 2 * ALONG;

/** What is kept of a conversation beside the detector. */
interface Place {
  /** Messages so far. */
  length: number;
  /** Calls without an answer: the vendor's id and ours. Vendors give the same id again, or none. */
  open: [theirs: string, ours: string, tool: string][];
  said: Said | undefined;
}

/** How conversations are judged. */
export interface How {
  /** The configuration of new detectors, as JSON. */
  config: string;
  /** Whether messages of the role `user` are the host's own, but for the first. */
  hostPrompts: boolean;
  cache: ProxyCache;
  /** What has to be the same for a snapshot to be of use. */
  seed: string;
  warn(kind: string, cause: unknown): void;
  /** Hears of what goes on after the answer. */
  pending(work: Promise<unknown>): void;
}

/**
 * Judges a conversation.
 *
 * @param before names under which a part of it was kept that is not among the messages, newest first.
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
 * Judges a conversation of which only the last messages are at hand; nothing where the cache has forgotten the others.
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
  /** Messages that are known and at hand, and those that are not at hand. */
  const recent = beginning?.recent ?? 0;
  const absent = (beginning?.messages ?? 0) - recent;
  /** Where turns begin, and the digests of what comes before them. */
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
  // A conversation whose beginning the vendor keeps has no digest of its own.
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
    // A request may be made once more, so what it went on from stays; what that one went on from is of no more use.
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

/** Goes through a conversation turn by turn. */
class Walk {
  readonly detector: LoopDetector;
  readonly problems: string[] = [];
  readonly #how: How;
  readonly #api: Api;
  readonly #place: Place;
  /** Messages that came before those that are at hand. */
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

  /** Reads and judges the messages of a turn: what the model wrote, and what came of it. */
  turn(messages: readonly unknown[], start: number, end: number): void {
    if (start >= end) return;
    const [along, lines] = this.#along(messages, start);
    const own = messages.slice(start, end).map((message) => JSON.stringify(message));
    const read = readTranscript([...along, ...own].join("\n"), this.#api.format);
    for (const { line, error } of read.errors) if (line > lines) this.problems.push(error.message);
    const place = this.#place;
    const first = this.#offset + start;
    // A turn of the model's is judged for itself.
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

  /** What the core refuses is left out, like what the reader could not read. */
  #record(event: AgentEvent): Verdict | undefined {
    try {
      return this.detector.record(event);
    } catch (error) {
      if (!(error instanceof LoopwardenError) || error.code === "internal") throw error;
      this.problems.push(error.message);
      return undefined;
    }
  }

  /** The call that an answer with this id belongs to: of the latest turn that gave the id, the first that waits. */
  #answered(id: string): Place["open"][number] | undefined {
    const { open } = this.#place;
    const turnOf = (ours: string) => ours.slice(0, ours.indexOf("."));
    const last = open.findLast(([theirs]) => theirs === id);
    if (last === undefined) return undefined;
    const found = open.findIndex(([theirs, ours]) => theirs === id && turnOf(ours) === turnOf(last[1]));
    return open.splice(found, 1)[0];
  }

  /** The model's latest short messages before a turn, and how many lines they are. */
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

  /** All of it as bytes: the length of the JSON that follows, the JSON, the snapshot. */
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

/** What is kept under a name. What cannot be read is passed over: the conversation tells it again. */
async function restored(how: How, name: string): Promise<Kept | undefined> {
  try {
    const found = how.cache.get(name);
    // What stubs of Durable Objects answer can be waited for and is no `Promise`.
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

/** A cache that fails is one that has forgotten. */
function safely(how: How, work: () => void | Promise<void>): void {
  try {
    const done = work();
    if (done) how.pending(Promise.resolve(done).catch((error) => how.warn("cache", error)));
  } catch (error) {
    how.warn("cache", error);
  }
}
