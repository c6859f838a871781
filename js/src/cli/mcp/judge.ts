// Judges the messages between an MCP client and a server. Messages are handled as text: they pass unchanged, byte for
// byte, unless something is to be changed, which is edited in place, so that unknown fields are kept.

import { Guard, type LoopHalt, type Ruling } from "../../adapters/guard.ts";
import type { Config, Event, Verdict } from "../../generated/types.ts";
import { member, parts } from "../../replay/raw.ts";

/** The messages to send instead of the received one. */
export interface Routed {
  toServer: string[];
  toClient: string[];
}

/** The options of an {@link McpJudge}. */
export interface JudgeOptions {
  config?: Config | undefined;
  /** Time without a call, in milliseconds, after which the next one begins a new conversation; 0 means never. */
  pause: number;
  now?: () => number;
  onVerdict?: (verdict: Verdict, event: Event) => void;
  onWarning?: (message: string) => void;
}

/** Counters of a connection. */
export interface Counts {
  calls: number;
  /** Results to which guidance was added. */
  advised: number;
  refused: number;
}

/** A request of the client whose answer is of interest. */
type Open = { kind: "list" } | Call;
interface Call {
  kind: "call";
  tool: string;
  callId: string;
}

type Json = { [key: string]: unknown };

/** Maximum number of pending requests, and of pending tasks. */
const WAITING = 10_000;
/** Maximum time between two calls of one round, in milliseconds, while a call is in progress. */
const TOGETHER = 1_000;
/** Maximum number of tools whose hints are remembered. */
const TOOLS = 10_000;
/** Maximum length of a tool name or task id from the server that is remembered, in UTF-16 code units. */
const NAME = 1_024;

/** Judges the calls of one client of one server. */
export class McpJudge {
  readonly counts: Counts = { calls: 0, advised: 0, refused: 0 };
  readonly #options: JudgeOptions;
  readonly #root: Guard;
  #guard: Guard;
  #runs = 0;
  readonly #waiting = new Map<string, Open>();
  /** Calls whose results are requested later, by task id. */
  readonly #tasks = new Map<string, Call>();
  readonly #hints = new Map<string, { readOnly?: boolean; idempotent?: boolean }>();
  /** Ids of elicitations that were sent to the client. */
  readonly #asked = new Set<string>();
  /** Elicitations that are still to be sent. */
  #asks: string[] = [];
  /** Whether the client supports form elicitation. */
  #canAsk = false;
  /** The number of calls in progress. */
  #open = 0;
  /** The time of the latest call. */
  #latest = Number.NEGATIVE_INFINITY;
  /** The time of the latest call or result. */
  #active = 0;
  #warned = false;

  /** @throws {LoopwardenError} `invalid-config` for an invalid configuration. */
  constructor(options: JudgeOptions) {
    this.#options = options;
    this.#root = new Guard({
      ...(options.config && { config: options.config }),
      ...(options.now && { now: options.now }),
      ...(options.onVerdict && { onVerdict: options.onVerdict }),
      onWarning: (message) => options.onWarning?.(message),
      onHalt: (halt) => this.#ask(halt),
    });
    this.#guard = this.#root;
  }

  /** Handles a message or batch of the client; undefined if it is to be passed on unchanged. */
  fromClient(text: string): Routed | undefined {
    return this.#safely(text, (message) => this.#ofClient(message, text));
  }

  /** Handles a message or batch of the server; undefined if it is to be passed on unchanged. */
  fromServer(text: string): Routed | undefined {
    return this.#safely(text, (message) => {
      const changed = this.#ofServer(message, text);
      const asks = this.#asks.splice(0);
      return changed === undefined && asks.length === 0
        ? undefined
        : { toServer: [], toClient: [changed ?? text, ...asks] };
    });
  }

  /** The errors that answer requests which did not reach the server. */
  failed(text: string, reason: string): string[] {
    const answers: string[] = [];
    this.#safely(text, (message) => {
      for (const own of Array.isArray(message) ? [...parts(text)].map(({ value }) => value) : [text]) {
        const one: unknown = JSON.parse(own);
        if (!isObject(one) || typeof one["method"] !== "string" || one["id"] === undefined) continue;
        const error = JSON.stringify({ code: -32000, message: reason });
        const answer = `{"jsonrpc":"2.0","id":${member(own, "id") ?? "null"},"error":${error}}`;
        answers.push(this.fromServer(answer)?.toClient[0] ?? answer);
      }
      return undefined;
    });
    return answers;
  }

  free(): void {
    this.#root.free();
  }

  /** Fails open: whatever goes wrong here, the message is passed on. */
  #safely(text: string, work: (message: unknown) => Routed | undefined): Routed | undefined {
    // Invalid messages are left for the other side to reject.
    if (!/^\s*[[{]/.test(text)) return undefined;
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      return undefined;
    }
    try {
      return work(message);
    } catch (error) {
      if (!this.#warned) this.#options.onWarning?.(`a message is passed on unjudged: ${String(error)}`);
      this.#warned = true;
      return undefined;
    }
  }

  #ofClient(message: unknown, text: string): Routed | undefined {
    if (!Array.isArray(message)) return isObject(message) ? this.#request(message, text) : undefined;
    // A batch is passed on without the requests that are answered here.
    const kept: string[] = [];
    const toClient: string[] = [];
    for (const { value } of parts(text)) {
      const one: unknown = JSON.parse(value);
      const routed = isObject(one) ? this.#request(one, value) : undefined;
      kept.push(...(routed === undefined ? [value] : routed.toServer));
      toClient.push(...(routed?.toClient ?? []));
    }
    if (kept.length === message.length && toClient.length === 0) return undefined;
    return { toServer: kept.length === 0 ? [] : [`[${kept.join(",")}]`], toClient };
  }

  #request(message: Json, text: string): Routed | undefined {
    const { method, id, params } = message;
    if (typeof method !== "string") return this.#answered(message);
    const given = isObject(params) ? params : {};
    switch (method) {
      case "initialize":
        this.#begin(given);
        return undefined;
      case "tools/list":
        this.#wait(id, { kind: "list" });
        return undefined;
      case "tools/call":
        return id === undefined ? undefined : this.#call(id, given, text);
      case "tasks/result": {
        const task = this.#tasks.get(String(given["taskId"]));
        if (task) this.#wait(id, task);
        return undefined;
      }
      case "notifications/cancelled":
        this.#cancelled(given);
        return undefined;
      default:
        return undefined;
    }
  }

  /** A client that initializes again begins a new conversation. */
  #begin({ capabilities }: Json): void {
    const { elicitation } = isObject(capabilities) ? capabilities : {};
    this.#canAsk = isObject(elicitation) && ("form" in elicitation || Object.keys(elicitation).length === 0);
    if (this.#runs > 0 || this.counts.calls > 0) this.#fresh();
  }

  #fresh(): void {
    this.#runs++;
    this.#guard = this.#root.scope({ run: `run-${this.#runs}` });
  }

  #call(id: unknown, { name, arguments: args }: Json, text: string): Routed | undefined {
    if (typeof name !== "string") return undefined;
    const now = (this.#options.now ?? Date.now)();
    const since = now - this.#latest;
    // MCP does not report human messages or new conversations, so a pause marks them. Desktop programs keep one
    // connection for days.
    const { pause } = this.#options;
    if (pause > 0 && this.#open === 0 && this.counts.calls > 0 && now - this.#active >= pause) this.#fresh();
    if (this.#open === 0 || since > TOGETHER) this.#guard.turn();
    [this.#latest, this.#active] = [now, now];
    const callId = `call-${this.counts.calls++}`;
    const hints = this.#hints.get(name) ?? {};
    const ruling = this.#guard.beforeCall({ tool: name, ...(args !== undefined && { args }), callId, ...hints });
    const asks = this.#asks.splice(0);
    if (ruling.action === "block" || ruling.action === "halt") {
      this.counts.refused++;
      // The refusal contains the guidance, so it need not be given again.
      if (ruling.action === "block") this.#guard.guidance();
      return { toServer: [], toClient: [this.#refusal(member(text, "id"), ruling), ...asks] };
    }
    this.#open++;
    this.#wait(id, { kind: "call", tool: name, callId });
    return asks.length === 0 ? undefined : { toServer: [text], toClient: asks };
  }

  /** The answer to a refused call. The id is copied as text: it may be a number beyond the precision of a double. */
  #refusal(id: string | undefined, ruling: Ruling & { action: "block" | "halt" }): string {
    const minutes = Math.round(this.#options.pause / 60_000);
    const pause = this.#options.pause > 0 ? `, or nothing was called for ${minutes} minutes` : "";
    const asked = this.#asked.size > 0 ? " A person is being asked." : "";
    const until = `Calls to this server are refused until a person lets it go on${pause}.${asked}`;
    const halts = ruling.action === "halt";
    const text = halts
      ? `${ruling.text} ${until} Tell the person what you were trying to do and what is in the way.`
      : ruling.text;
    const finding = halts ? ruling.halt.finding : ruling.finding;
    const level = halts ? ruling.halt.level : "block";
    const result = { content: [{ type: "text", text }], isError: true, _meta: meta(level, finding?.rule) };
    return `{"jsonrpc":"2.0","id":${id ?? "null"},"result":${JSON.stringify(result)}}`;
  }

  #cancelled({ requestId, reason }: Json): void {
    const key = JSON.stringify(requestId);
    const open = this.#waiting.get(key);
    if (open?.kind !== "call") return;
    this.#waiting.delete(key);
    this.#open = Math.max(0, this.#open - 1);
    const why = typeof reason === "string" ? reason : "";
    const { tool, callId } = open;
    // A timeout of the client is evidence; a cancellation by a person is not.
    const isLate = /tim(?:ed|e)[ -]?out/i.test(why);
    this.#guard.afterCall({
      tool,
      callId,
      output: why === "" ? "cancelled" : why,
      outcome: isLate ? "timeout" : "not-executed",
      ...(!isLate && { synthetic: true }),
    });
  }

  #ofServer(message: unknown, text: string): string | undefined {
    if (!Array.isArray(message)) return isObject(message) ? this.#answer(message, text) : undefined;
    const answers: string[] = [];
    let isChanged = false;
    for (const { value } of parts(text)) {
      const one: unknown = JSON.parse(value);
      const changed = isObject(one) ? this.#answer(one, value) : undefined;
      isChanged ||= changed !== undefined;
      answers.push(changed ?? value);
    }
    return isChanged ? `[${answers.join(",")}]` : undefined;
  }

  /** Handles an answer of the server; returns its text if guidance was added. */
  #answer({ method, id, result, error }: Json, text: string): string | undefined {
    if (method !== undefined || id === undefined) return undefined;
    const key = JSON.stringify(id);
    const open = this.#waiting.get(key);
    if (open === undefined) return undefined;
    this.#waiting.delete(key);
    if (open.kind === "list") {
      this.#learn(result);
      return undefined;
    }
    const { tool, callId } = open;
    this.#active = (this.#options.now ?? Date.now)();
    if (isObject(result) && isObject(result["task"]) && !Array.isArray(result["content"])) {
      const task = String(result["task"]["taskId"]);
      if (task.length <= NAME) this.#tasks.set(task, open);
      if (this.#tasks.size > WAITING) this.#tasks.delete(this.#tasks.keys().next().value as string);
      this.#open = Math.max(0, this.#open - 1);
      return undefined;
    }
    this.#open = Math.max(0, this.#open - 1);
    const failure = !isObject(result) && isObject(error) ? String(error["message"] ?? "error") : undefined;
    // Neither a result nor an error: the server needs input first.
    const isAnswered =
      isObject(result) && (Array.isArray(result["content"]) || result["structuredContent"] !== undefined);
    if (failure === undefined && !isAnswered) return undefined;
    const ruling = this.#guard.afterCall({
      tool,
      callId,
      ...(isObject(result)
        ? { output: outputOf(result), outcome: result["isError"] === true ? "error" : "ok" }
        : { error: failure, outcome: "error" }),
    });
    // Guidance queued at the call or here is given once.
    const notes = this.#guard.guidance();
    const said = notes ?? (ruling.action === "halt" ? ruling.text : undefined);
    if (said === undefined) return undefined;
    this.counts.advised++;
    const finding =
      ruling.action === "halt" ? ruling.halt.finding : ruling.action === "nudge" ? ruling.finding : undefined;
    // This call has run, so a block is only a nudge here.
    const level = ruling.action === "halt" ? ruling.halt.level : "nudge";
    if (failure === undefined) return added(text, said, meta(level, finding?.rule));
    // An error of the protocol has no content; clients show its message to the model.
    return put(text, "error", put(member(text, "error") ?? "{}", "message", JSON.stringify(`${failure}\n\n${said}`)));
  }

  /** Remembers the hints of a tool list. They are claims of the server and used as priors only. */
  #learn(result: unknown): void {
    const tools = isObject(result) && Array.isArray(result["tools"]) ? result["tools"] : [];
    for (const tool of tools) {
      if (!isObject(tool) || typeof tool["name"] !== "string" || tool["name"].length > NAME) continue;
      if (this.#hints.size >= TOOLS) continue;
      const { readOnlyHint, idempotentHint } = isObject(tool["annotations"]) ? tool["annotations"] : {};
      this.#hints.set(tool["name"], {
        ...(typeof readOnlyHint === "boolean" && { readOnly: readOnlyHint }),
        ...(typeof idempotentHint === "boolean" && { idempotent: idempotentHint }),
      });
    }
  }

  /** Asks the user through the client, if it supports that, whether a halted run may go on. */
  #ask(halt: LoopHalt): void {
    if (!this.#canAsk) return;
    const id = `loopwarden-${crypto.randomUUID()}`;
    this.#asked.add(id);
    const why = halt.finding?.message ?? halt.message;
    const requestedSchema = {
      type: "object",
      properties: { continue: { type: "boolean", title: "Let it go on", default: false } },
      required: ["continue"],
    };
    const message = `Loopwarden stopped this agent's calls: ${why}. May it go on?`;
    this.#asks.push(
      JSON.stringify({ jsonrpc: "2.0", id, method: "elicitation/create", params: { message, requestedSchema } }),
    );
  }

  /** Handles an answer of the client. Answers to our own elicitations are not passed on to the server. */
  #answered({ id, result }: Json): Routed | undefined {
    if (typeof id !== "string" || !this.#asked.delete(id)) return undefined;
    const { action, content } = isObject(result) ? result : {};
    if (action === "accept" && isObject(content) && content["continue"] === true) {
      if (this.#guard.halted?.level === "gate") this.#guard.acknowledge({ decision: "continue" });
      else this.#guard.message("user", "Go on.");
    }
    return { toServer: [], toClient: [] };
  }

  #wait(id: unknown, open: Open): void {
    if (id === undefined) return;
    const key = JSON.stringify(id);
    // A call whose id was reused, or that is the oldest of too many, will not be answered.
    this.#forget(key);
    this.#waiting.set(key, open);
    if (this.#waiting.size > WAITING) this.#forget(this.#waiting.keys().next().value as string);
  }

  #forget(key: string): void {
    if (this.#waiting.get(key)?.kind === "call") this.#open = Math.max(0, this.#open - 1);
    this.#waiting.delete(key);
  }
}

/** The machine-readable part of a verdict, for `_meta`. */
const meta = (level: string, rule: string | undefined): Json => ({
  "loopwarden/level": level,
  ...(rule !== undefined && { "loopwarden/finding": rule }),
});

/** The output of a call in the form that is compared. */
function outputOf({ content, structuredContent }: Json): unknown {
  if (!Array.isArray(content) || content.length === 0) return structuredContent ?? "";
  const texts = content.map((block) => (isObject(block) && block["type"] === "text" ? block["text"] : undefined));
  return texts.every((text) => typeof text === "string") ? texts.join("\n") : content;
}

/** An answer with a text and metadata added to its result. Everything else keeps its spelling. */
function added(answer: string, text: string, meta: Json): string {
  const result = member(answer, "result") ?? "{}";
  const block = JSON.stringify({ type: "text", text });
  const content = member(result, "content")?.trim() ?? "[]";
  const blocks = content.slice(1, -1).trim();
  const own = member(result, "_meta");
  const inner = own?.trim().startsWith("{") ? own.trim().slice(1, -1).trim() : "";
  const marks = JSON.stringify(meta).slice(1, -1);
  return put(
    answer,
    "result",
    put(
      put(result, "content", `[${blocks === "" ? "" : `${blocks},`}${block}]`),
      "_meta",
      `{${inner === "" ? "" : `${inner},`}${marks}}`,
    ),
  );
}

/** The text of an object with a member set, as the last one. */
function put(text: string, name: string, value: string): string {
  const entry = `${JSON.stringify(name)}:${value}`;
  const kept = [...parts(text)].filter(({ key }) => key !== name).map(({ start, end }) => text.slice(start, end));
  return `{${[...kept, entry].join(",")}}`;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
