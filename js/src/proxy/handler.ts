// The request handler: requests for an answer are judged first, everything else passes through. Whatever goes wrong in
// here, the request is passed on unchanged.
import { LoopDetector, LoopwardenError, type Verdict, version } from "loopwarden";
import { anthropic } from "./anthropic.ts";
import {
  type Answer,
  type Api,
  type Asked,
  isObject,
  type Json,
  type Kept,
  parsed as parsedObject,
  text as textOf,
} from "./api.ts";
import { joined, read, text, unpacked, whole } from "./body.ts";
import { Digest } from "./digest.ts";
import { gemini } from "./gemini.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";
import {
  deed,
  type LoopProxyOptions,
  type ProxyAction,
  type ProxyExchange,
  type Settings,
  settled,
} from "./options.ts";
import { elements, type Mark, opening, Prefixes } from "./prefix.ts";
import { type Edit, edited } from "./splice.ts";
import { type Between, type How, type Judged, judge, judgeOn, RECENT } from "./trace.ts";
import { Collector, passing, Watch } from "./watch.ts";
import { ending, note } from "./words.ts";

const APIS: readonly Api[] = [openaiChat, openaiResponses, anthropic, gemini];

/** Hop-by-hop headers, which are not passed on. */
const HOP_BY_HOP = [
  "connection",
  // The server has already sent `100 Continue`.
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
/** Status codes by which servers reject a request that they do not understand. */
const NOT_UNDERSTOOD = [400, 404, 422];
/** Maximum number of warnings given. */
const WARNINGS = 32;
/** Bodies held in memory at once, as a multiple of `maxBody`; requests beyond that are passed on unread. */
const HELD = 8;
/** The headers in which clients send their keys. */
const KEYS = ["authorization", "api-key", "x-api-key", "x-goog-api-key"];
/** Approximate number of characters per token. */
const TOKEN = 4;

/** Counters since the proxy was created. */
export interface ProxyMetrics {
  /** All requests. */
  requests: number;
  /** Requests for an answer that were judged. */
  judged: number;
  /** Requests for an answer that could not be read completely. */
  unread: number;
  /** Requests to which guidance was added. */
  guided: number;
  /** Those of them in which the looping tool was excluded. */
  steered: number;
  /** Requests answered in place of the model. */
  answered: number;
  /** Answers that were cut while they streamed. */
  cut: number;
  /** Requests that upstream rejected with guidance and that were sent again without it. */
  undone: number;
  /** Estimated tokens saved; see {@link ProxyExchange.saved}. */
  saved: { input: number; output: number };
}

/** The context that edge runtimes pass with a request, for work that continues after the answer. */
interface ProxyContext {
  waitUntil(work: Promise<unknown>): void;
}

const isContext = (value: unknown): value is ProxyContext =>
  typeof value === "object" && value !== null && "waitUntil" in value && typeof value.waitUntil === "function";

/** A Fetch handler, for `export default { fetch }`, `Deno.serve`, `Bun.serve` or a `serve` for Node. */
export interface LoopProxy {
  (request: Request, ...rest: unknown[]): Promise<Response>;
  metrics(): ProxyMetrics;
}

/**
 * Creates a proxy between a program and the API of its model that detects when the agent loops: it reads the
 * conversation that every request contains, passes the request on, and reports findings to the model (as guidance), to
 * the program (headers `loopwarden-level` and `loopwarden-finding`) and finally by answering in place of the model.
 *
 * @throws {LoopwardenError} `invalid-config`, naming the invalid option or field of the configuration.
 */
export function createLoopProxy(options: LoopProxyOptions): LoopProxy {
  const proxy = new Handler(options);
  return Object.assign((request: Request, ...rest: unknown[]) => proxy.handle(request, rest), {
    metrics: () => structuredClone(proxy.metrics),
  });
}

/** A request that was read and judged. */
interface Conversation {
  /** The request's body, with at least the last of its messages. */
  body: Json;
  /** The number of messages of the conversation. */
  messages: number;
  judged: Judged;
  /** Remembers the prefix of the request. */
  remember(): void;
}

/** A request to upstream. */
interface Outgoing {
  url: URL;
  headers: Headers;
  abort: AbortController;
}

class Handler {
  readonly metrics: ProxyMetrics = {
    requests: 0,
    judged: 0,
    unread: 0,
    guided: 0,
    steered: 0,
    answered: 0,
    cut: 0,
    undone: 0,
    saved: { input: 0, output: 0 },
  };
  readonly #options: LoopProxyOptions;
  readonly #settings: Settings;
  /** The seed of cache keys; see {@link Handler.#seed}. */
  #seeded: string | undefined;
  /** The size of requests being handled, in bytes. */
  #held = 0;
  readonly #warned = new Set<string>();
  /** The prefixes of recent requests. */
  readonly #prefixes = new Map<Api, Prefixes>();
  /** Whether upstream has rejected a restricted choice of tools. */
  #unsteered = false;

  constructor(options: LoopProxyOptions) {
    this.#options = options;
    this.#settings = settled(options);
  }

  /**
   * The seed of cache keys, created with the first request: edge runtimes have no random numbers before. A cache that
   * is not shared gets unpredictable keys.
   */
  get #seed(): string {
    const { config, prompts } = this.#settings;
    this.#seeded ??= `${version()} ${prompts} ${config}${this.#options.cache ? "" : ` ${crypto.randomUUID()}`}`;
    return this.#seeded;
  }

  async handle(request: Request, rest: readonly unknown[]): Promise<Response> {
    this.metrics.requests++;
    const { upstream, enabled, maxBody } = this.#settings;
    const url = target(upstream, new URL(request.url));
    const abort = new AbortController();
    const gone = () => abort.abort(request.signal.reason);
    if (request.signal.aborted) gone();
    request.signal.addEventListener("abort", gone, { once: true });
    const outgoing: Outgoing = { url, headers: passed(request.headers), abort };
    const api = request.method === "POST" && enabled ? APIS.find((one) => one.matches(url.pathname)) : undefined;
    if (!api || !request.body) return this.#passed(outgoing, request.method, request.body);
    if (Number(request.headers.get("content-length") ?? 0) > maxBody) {
      this.#unread("a request is longer than `maxBody`");
      return this.#passed(outgoing, request.method, request.body);
    }
    let held = 0;
    const grant = (bytes: number) => {
      if (this.#held + bytes > HELD * maxBody) return false;
      this.#held += bytes;
      held += bytes;
      return true;
    };
    try {
      const body = await read(request.body, maxBody, grant);
      if (!body.rest) return await this.#answered(api, outgoing, body.bytes, request.headers, rest);
      this.#unread("a request, or all of those at hand together, is longer than `maxBody` allows");
      return await this.#passed(outgoing, request.method, whole(body));
    } finally {
      this.#held -= held;
    }
  }

  /** Answers a request that was read completely. */
  async #answered(
    api: Api,
    outgoing: Outgoing,
    bytes: Uint8Array<ArrayBuffer>,
    headers: Headers,
    rest: readonly unknown[],
  ): Promise<Response> {
    let answer: Response | undefined;
    try {
      const context = rest.find(isContext);
      answer = await this.#judged(api, outgoing, bytes, headers.get("content-encoding"), context);
    } catch (error) {
      if (error instanceof Unreachable) return this.#unreachable(error);
      this.#warn("judge", error);
    }
    if (answer === undefined) {
      this.metrics.unread++;
      return this.#passed(outgoing, "POST", bytes);
    }
    return answer;
  }

  /** Judges a request and answers it; undefined if it cannot be read. */
  async #judged(
    api: Api,
    outgoing: Outgoing,
    bytes: Uint8Array<ArrayBuffer>,
    coding: string | null,
    context: ProxyContext | undefined,
  ): Promise<Response | undefined> {
    const { policy, config, prompts, cache, maxBody } = this.#settings;
    const plain = await unpacked(bytes, coding, maxBody);
    if (plain === undefined) return undefined;
    const whose = tenant(outgoing);
    const how: How = {
      config,
      hostPrompts: prompts === "host",
      cache,
      seed: `${this.#seed} ${whose}`,
      warn: (kind: string, cause: unknown) => this.#warn(kind, cause),
      pending: (work: Promise<unknown>) => context?.waitUntil(work),
    };
    const named = (ids: readonly string[]) => names(this.#seed, api, outgoing.headers, ids);
    const conversation =
      (await this.#goesOn(how, api, plain, whose)) ?? (await this.#read(how, api, plain, whose, named));
    if (conversation === undefined) return undefined;
    const { body, judged, messages, remember } = conversation;
    const asked: Asked = { url: outgoing.url, body };
    let mine = true;
    try {
      this.metrics.judged++;
      if (judged.problems.length > 0) {
        this.metrics.unread++;
        this.#warn("message", new Error(judged.problems[0]));
      }
      const { verdict, tool } = judged.said ?? {};
      const level = verdict?.level ?? "continue";
      const exchange: ProxyExchange = {
        api: api.name,
        model: textOf(body["model"]) ?? modelOf(outgoing.url),
        messages,
        action: "none",
        saved: { input: 0, output: 0 },
      };
      const what = deed(policy, level);
      if (verdict && what === "answer") {
        const { type, text } = api.answer(asked, ending(verdict));
        exchange.action = "answered";
        exchange.saved.input = Math.ceil(plain.length / TOKEN);
        this.#tell(verdict, exchange);
        return new Response(text, { headers: { "content-type": type, "cache-control": "no-store", ...told(verdict) } });
      }
      const tries: { edits: Edit[]; action: ProxyAction }[] = [];
      const guidance =
        verdict && (what === "guide" || what === "steer") ? api.guide(body, note(verdict, level)) : undefined;
      if (guidance !== undefined) {
        const steering = what === "steer" && tool !== undefined && !this.#unsteered ? api.steer(body, tool) : undefined;
        if (steering) tries.push({ edits: [...guidance, ...steering], action: "steered" });
        tries.push({ edits: guidance, action: "guided" });
      }
      const kept = api.keeps?.(body) ? api.kept?.bind(api) : undefined;
      if (api.streams(asked) || kept) outgoing.headers.set("accept-encoding", "identity");
      let response: Response | undefined;
      let refused = false;
      for (const { edits, action } of tries) {
        const changed = edited(text(plain) ?? "", edits);
        if (changed === undefined) continue;
        const headers = new Headers(outgoing.headers);
        headers.delete("content-encoding");
        const asking = this.#ask({ ...outgoing, headers }, "POST", new TextEncoder().encode(changed));
        remember();
        response = await asking;
        if (!NOT_UNDERSTOOD.includes(response.status)) {
          exchange.action = response.ok ? action : "none";
          if (refused) this.#unsteered = true;
          break;
        }
        // Upstream may have rejected the note: try again with less, and finally with the original request.
        refused = true;
        await response.body?.cancel().catch(() => {});
        response = undefined;
      }
      if (response === undefined && refused) {
        this.metrics.undone++;
        this.#warn("undone", new Error("upstream did not take a request with guidance, so it was sent without"));
      }
      if (response === undefined) {
        const asking = this.#ask(outgoing, "POST", bytes);
        // While upstream is working.
        remember();
        response = await asking;
      }
      const answered = response;
      if (verdict) this.#tell(verdict, exchange);
      const headers = this.#headers(answered);
      for (const [name, value] of Object.entries(verdict ? told(verdict) : { "loopwarden-level": "continue" }))
        headers.set(name, value);
      const init = { status: answered.status, statusText: answered.statusText, headers };
      if (!answered.body || !answered.ok) return new Response(answered.body, init);
      const isStream = answered.headers.get("content-type")?.startsWith("text/event-stream") === true;
      const isPlain = !this.#settings.packed || !isPacked(answered.headers);
      const keep =
        kept &&
        (({ ids, output }: Kept) => {
          if (ids.length > 0) return named(ids).then((keys) => judged.keep(output, keys));
          return undefined;
        });
      if (isStream && isPlain) {
        mine = false;
        return new Response(
          passing(answered.body, this.#watch(api, asked, judged, exchange, kept && keep), outgoing.abort),
          init,
        );
      }
      if (!isStream && keep && kept) {
        mine = false;
        const collector = new Collector(maxBody, async (answer) => {
          try {
            const whole = await unpacked(answer, answered.headers.get("content-encoding"), maxBody);
            const value: unknown = whole && JSON.parse(new TextDecoder().decode(whole));
            const left = isObject(value) ? kept(asked, value) : undefined;
            if (left) await keep(left);
          } catch (error) {
            this.#warn("answer", error);
          } finally {
            judged.free();
          }
        });
        return new Response(passing(answered.body, collector, outgoing.abort), init);
      }
      return new Response(answered.body, init);
    } finally {
      if (mine) judged.free();
    }
  }

  /** Makes work run at most once; a failure is only a warning. */
  #once(work: () => void): () => void {
    let done = false;
    return () => {
      if (done) return;
      done = true;
      try {
        work();
      } catch (error) {
        this.#warn("remember", error);
      }
    };
  }

  /** Parses a complete request. */
  async #read(
    how: How,
    api: Api,
    plain: Uint8Array<ArrayBuffer>,
    whose: string,
    named: (ids: readonly string[]) => Promise<string[]>,
  ): Promise<Conversation | undefined> {
    const body = parsed(text(plain));
    const messages = body && api.messages(body);
    if (body === undefined || messages === undefined) return undefined;
    const before = api.goesOn ? await named(api.goesOn(body)) : [];
    const judged = await judge(how, api, messages, before);
    const remember = this.#once(() => {
      const first = opening(plain, api.list);
      const all = first === undefined || judged.places.length === 0 ? undefined : elements(plain, first);
      if (all?.length === messages.length) this.#remember(api, plain, whose, judged.places, all, 0, all[0]?.start ?? 0);
    });
    return { body, judged, messages: messages.length, remember };
  }

  /** Parses only the part of a request after its known prefix; undefined if there is none. */
  async #goesOn(how: How, api: Api, plain: Uint8Array<ArrayBuffer>, whose: string): Promise<Conversation | undefined> {
    const mark = this.#prefixes.get(api)?.find(plain, whose);
    const from = mark?.recent[0];
    if (mark === undefined || from === undefined) return undefined;
    // The same request without its known messages, except the last ones.
    const short = text(joined([plain.subarray(0, mark.first), plain.subarray(from)]));
    const body = parsed(short);
    const messages = body && api.messages(body);
    const recent = mark.recent.length;
    if (body === undefined || messages === undefined || messages.length <= recent) return undefined;
    if (api.goesOn && api.goesOn(body).length > 0) return undefined;
    const judged = await judgeOn(how, api, messages, { ...mark, recent });
    if (judged === undefined) return undefined;
    const absent = mark.messages - recent;
    const remember = this.#once(() => {
      const more = elements(plain, mark.end);
      // Of the known messages, only the end of the last one is used.
      const known = mark.recent.map((start) => ({ start, end: mark.end }));
      if (more && known.length + more.length === messages.length)
        this.#remember(api, plain, whose, judged.places, [...known, ...more], absent, mark.first);
    });
    return { body, judged, messages: absent + messages.length, remember };
  }

  #remember(
    api: Api,
    plain: Uint8Array,
    whose: string,
    places: readonly Between[],
    at: readonly { start: number; end: number }[],
    absent: number,
    first: number,
  ): void {
    const prefixes = this.#prefixes.get(api) ?? new Prefixes();
    this.#prefixes.set(api, prefixes);
    const marks = places.flatMap(({ messages, digest, before }): Mark[] => {
      const last = at[messages - absent - 1];
      if (!last) return [];
      const recent = at.slice(Math.max(0, messages - absent - RECENT), messages - absent).map(({ start }) => start);
      return [{ first, end: last.end, messages, recent, digest, before }];
    });
    prefixes.keep(plain, whose, marks);
  }

  /** Watches a streaming answer. */
  #watch(
    api: Api,
    asked: Asked,
    judged: Judged,
    exchange: ProxyExchange,
    keep: ((kept: Kept) => Promise<void> | undefined) | undefined,
  ): Watch {
    const answer: Answer = api.follow(asked);
    // The stored state must not include the deltas, so these go to a copy of the detector.
    const detector = keep ? LoopDetector.restore(judged.detector.snapshot()) : judged.detector;
    return new Watch({
      answer,
      detector,
      cuts: this.#settings.policy.stream === "cut",
      onVerdict: (verdict, characters, cut) => {
        const limit = api.limit(asked.body);
        const output = cut && limit !== undefined ? Math.max(0, limit - Math.ceil(characters / TOKEN)) : 0;
        this.#tell(verdict, { ...exchange, action: cut ? "cut" : "none", saved: { input: 0, output } });
      },
      onWarning: (cause) => this.#warn("stream", cause),
      onEnd: async (last) => {
        try {
          const left = last && api.kept?.(asked, last);
          if (left) await keep?.(left);
        } catch (error) {
          this.#warn("answer", error);
        } finally {
          detector.free();
          judged.free();
        }
      },
    });
  }

  /** Passes on a request unread, and its answer. */
  async #passed(
    outgoing: Outgoing,
    method: string,
    body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | null,
  ): Promise<Response> {
    let response: Response;
    try {
      response = await this.#ask(outgoing, method, body);
    } catch (error) {
      if (error instanceof Unreachable) return this.#unreachable(error);
      throw error;
    }
    const { status, statusText } = response;
    return new Response(response.body, { status, statusText, headers: this.#headers(response) });
  }

  async #ask(
    { url, headers, abort }: Outgoing,
    method: string,
    body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | null,
  ): Promise<Response> {
    const own = new Headers(headers);
    // The `fetch` of runtimes sets the length itself. A length without a body would make upstream read the next request
    // on the connection as the body.
    if (!this.#settings.packed || body === null) own.delete("content-length");
    else if (body instanceof Uint8Array) own.set("content-length", `${body.byteLength}`);
    const init: RequestInit & { duplex: "half" } = {
      method,
      headers: own,
      body,
      redirect: "manual",
      signal: abort.signal,
      duplex: "half",
    };
    const request = new Request(url, init);
    // Keeps the request alive, because its signal only works as long as the request is referenced.
    abort.signal.addEventListener("abort", () => void request, { once: true });
    try {
      return await this.#settings.fetch(request, body instanceof ReadableStream ? undefined : body);
    } catch (error) {
      throw new Unreachable(error);
    }
  }

  /** The headers of an answer, without hop-by-hop ones and those of a content coding that the runtime has decoded. */
  #headers(response: Response): Headers {
    const headers = passed(response.headers);
    if (!this.#settings.packed && isPacked(headers)) {
      headers.delete("content-encoding");
      headers.delete("content-length");
    }
    return headers;
  }

  #unreachable({ cause, aborted }: Unreachable): Response {
    if (!aborted) this.#warn("upstream", cause);
    const message = `Loopwarden could not reach ${this.#settings.upstream.host}: ${reason(cause)}`;
    const error = { type: "upstream_unreachable", code: "upstream_unreachable", message };
    // A status that clients retry.
    return Response.json({ type: "error", error }, { status: 502 });
  }

  #tell(verdict: Verdict, exchange: ProxyExchange): void {
    const { metrics } = this;
    if (exchange.action === "guided" || exchange.action === "steered") metrics.guided++;
    if (exchange.action === "steered") metrics.steered++;
    if (exchange.action === "answered") metrics.answered++;
    if (exchange.action === "cut") metrics.cut++;
    metrics.saved.input += exchange.saved.input;
    metrics.saved.output += exchange.saved.output;
    try {
      this.#options.onVerdict?.(verdict, exchange);
    } catch (error) {
      this.#warn("onVerdict", error);
    }
  }

  #unread(why: string): void {
    this.metrics.unread++;
    this.#warn("long", new Error(why));
  }

  #warn(kind: string, cause: unknown): void {
    const known = cause instanceof LoopwardenError ? `${kind} ${cause.code}` : kind;
    if (this.#warned.has(known) || this.#warned.size >= WARNINGS) return;
    this.#warned.add(known);
    const what =
      kind === "upstream"
        ? `cannot reach ${this.#settings.upstream.host}`
        : `passes on what it could not judge (${kind})`;
    const message = `[Loopwarden] ${what}: ${reason(cause)}`;
    try {
      if (this.#options.onWarning) this.#options.onWarning(message, cause);
      else console.warn(message.replaceAll(/[^\P{C}\n]/gu, "\ufffd"));
    } catch {
      // A warning that cannot be delivered must not stop a request either.
    }
  }
}

/** Thrown if upstream does not answer. */
class Unreachable extends Error {
  readonly aborted: boolean;

  constructor(cause: unknown) {
    super("upstream cannot be reached", { cause });
    this.aborted = cause instanceof Error && cause.name === "AbortError";
  }
}

const parsed = (text: string | undefined): Json | undefined => (text === undefined ? undefined : parsedObject(text));

/** The upstream address of a request. The base path of `upstream` is prepended unless the client's path has it. */
function target(upstream: URL, asked: URL): URL {
  const url = new URL(upstream);
  const base = upstream.pathname.replace(/\/+$/, "");
  const has = base !== "" && (asked.pathname === base || asked.pathname.startsWith(`${base}/`));
  url.pathname = has ? asked.pathname : base + asked.pathname;
  url.search = asked.search;
  return url;
}

function passed(headers: Headers): Headers {
  const own = new Headers(headers);
  const named = (headers.get("connection") ?? "").split(",").map((name) => name.trim());
  for (const name of [...HOP_BY_HOP, ...named]) if (/^[\w!#$%&'*+.^`|~-]+$/.test(name)) own.delete(name);
  return own;
}

const isPacked = (headers: Headers): boolean => !["", "identity"].includes(headers.get("content-encoding") ?? "");

/** The headers of a verdict as structured fields (RFC 9651): the level, and the rules with their figures. */
function told(verdict: Verdict): Record<string, string> {
  const findings = verdict.findings.map(
    ({ rule, kind, level, count, threshold, onsetSeq, confidence }) =>
      `${rule};kind=${kind};level=${level};count=${count};threshold=${threshold};since=${onsetSeq};confidence=${confidence}`,
  );
  return {
    "loopwarden-level": verdict.level,
    ...(verdict.wouldBe !== undefined && { "loopwarden-would-be": verdict.wouldBe }),
    ...(findings.length > 0 && { "loopwarden-finding": findings.slice(0, 8).join(", ") }),
  };
}

/**
 * Identifies the owner of a conversation by the API key. The digests of conversations are not collision-resistant, so
 * one tenant's requests must never match the state of another.
 */
function tenant({ url, headers }: Outgoing): string {
  const keys = KEYS.map((name) => headers.get(name) ?? "");
  return new Digest([...keys, url.searchParams.get("key") ?? ""].join("\n")).value;
}

/**
 * Cache keys for vendor-side state, derived with SHA-256 from the ids and the API key, so they are specific to its
 * owner.
 */
async function names(seed: string, api: Api, headers: Headers, ids: readonly string[]): Promise<string[]> {
  const key = KEYS.map((name) => headers.get(name) ?? "").join("\n");
  const digest = new Digest(`${seed} ${api.name}`).value;
  return Promise.all(
    ids.map(async (id) => {
      const bytes = new TextEncoder().encode(`${digest}\n${key}\n${id}`);
      const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
      return `kept-${Array.from(hash.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
    }),
  );
}

const modelOf = ({ pathname }: URL): string | undefined => /\/models\/([^/:]+):/.exec(pathname)?.[1];

function reason(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const inner = cause.cause instanceof Error ? `: ${cause.cause.message}` : "";
  return `${cause.message}${inner}`;
}
