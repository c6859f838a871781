// What passes between an MCP client and a server, judged. Messages are text and stay text: what is not judged goes on byte
// for byte, and what is changed is changed in place, so that nothing is lost that this program does not know.

import { Guard, type LoopHalt, type Ruling } from "../../adapters/guard.ts";
import type { Config, Event, Verdict } from "../../generated/types.ts";
import { member, parts } from "../../replay/raw.ts";

/** Where messages go instead; nothing where the one that came goes on as it is. */
export interface Routed {
  toServer: string[];
  toClient: string[];
}

/** How a connection is judged. */
export interface JudgeOptions {
  config?: Config | undefined;
  /** Milliseconds without a call after which the next one is another conversation's; 0 for never. */
  pause: number;
  now?: () => number;
  onVerdict?: (verdict: Verdict, event: Event) => void;
  onWarning?: (message: string) => void;
}

/** What was counted. */
export interface Counts {
  calls: number;
  /** Results that guidance was added to. */
  advised: number;
  refused: number;
}

/** A request of the client whose answer is looked at. */
type Open = { kind: "list" } | Call;
interface Call {
  kind: "call";
  tool: string;
  callId: string;
}

type Json = { [key: string]: unknown };

/** Requests and tasks that wait for their answer, at most. */
const WAITING = 10_000;
/** Milliseconds between two calls of one answer of the model. */
const TOGETHER = 1_000;
/** Tools whose hints are remembered, at most. */
const TOOLS = 10_000;
/** Units of a name of the server's that is remembered: no tool with a longer one is judged, and no such task waited for. */
const NAME = 1_024;

/** Judges the calls of one client of one server. */
export class McpJudge {
  readonly counts: Counts = { calls: 0, advised: 0, refused: 0 };
  readonly #options: JudgeOptions;
  readonly #root: Guard;
  #guard: Guard;
  #runs = 0;
  readonly #waiting = new Map<string, Open>();
  /** Calls whose results are asked for later, by task. */
  readonly #tasks = new Map<string, Call>();
  readonly #hints = new Map<string, { readOnly?: boolean; idempotent?: boolean }>();
  /** Questions to the human that were sent to the client, by id. */
  readonly #asked = new Set<string>();
  #asks: string[] = [];
  #canAsk = false;
  /** Calls under way, and when the latest came. */
  #open = 0;
  #latest = Number.NEGATIVE_INFINITY;
  /** When a call or a result last passed. */
  #active = 0;
  #warned = false;

  /** @throws {LoopwardenError} `invalid-config`. */
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

  /** A message of the client, or a list of them. */
  fromClient(text: string): Routed | undefined {
    return this.#safely(text, (message) => this.#ofClient(message, text));
  }

  /** A message of the server, or a list of them. */
  fromServer(text: string): Routed | undefined {
    return this.#safely(text, (message) => {
      const changed = this.#ofServer(message, text);
      const asks = this.#asks.splice(0);
      return changed === undefined && asks.length === 0
        ? undefined
        : { toServer: [], toClient: [changed ?? text, ...asks] };
    });
  }

  /** A request that never reached the server: the error that answers it. */
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

  /** Whatever is wrong in here, the message goes on. */
  #safely(text: string, work: (message: unknown) => Routed | undefined): Routed | undefined {
    // What is no message is for the other side to refuse.
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
    // A list goes on without those of its requests that are answered here.
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

  /** A client that begins anew is somebody else's conversation. */
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
    // Nobody tells when a human was there, or that the conversation is another one: a pause does. Desktop programs keep
    // one connection for days.
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
      // What is said here need not be said again.
      if (ruling.action === "block") this.#guard.guidance();
      return { toServer: [], toClient: [this.#refusal(member(text, "id"), ruling), ...asks] };
    }
    this.#open++;
    this.#wait(id, { kind: "call", tool: name, callId });
    return asks.length === 0 ? undefined : { toServer: [text], toClient: asks };
  }

  /** What answers a call that is not to run. Its id stays as it was written: a number may be longer than ours are exact. */
  #refusal(id: string | undefined, ruling: Ruling & { action: "block" | "halt" }): string {
    const minutes = Math.round(this.#options.pause / 60_000);
    const pause = this.#options.pause > 0 ? `, or nothing was called for ${minutes} minutes` : "";
    const asked = this.#asked.size > 0 ? " A person is being asked." : "";
    const until = `Calls of this server are refused until a person lets it go on${pause}.${asked}`;
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
    // A client gives up on what takes too long; what a person stopped says nothing of the agent.
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

  /** An answer of the server, changed where there is something to say. */
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
    if (!isObject(result)) {
      if (!isObject(error)) return undefined;
      this.#guard.afterCall({ tool, callId, error: String(error["message"] ?? "error"), outcome: "error" });
      // There is no result to add to: what is to be said comes with the next one.
      return undefined;
    }
    // Neither a result nor an error: the server asks for something first.
    if (!Array.isArray(result["content"]) && result["structuredContent"] === undefined) return undefined;
    const outcome = result["isError"] === true ? "error" : "ok";
    const ruling = this.#guard.afterCall({ tool, callId, output: outputOf(result), outcome });
    // What was queued, at the call or here, is said once.
    const notes = this.#guard.guidance();
    const said = notes ?? (ruling.action === "halt" ? ruling.text : undefined);
    if (said === undefined) return undefined;
    this.counts.advised++;
    const finding =
      ruling.action === "halt" ? ruling.halt.finding : ruling.action === "nudge" ? ruling.finding : undefined;
    // This call has run: advice it is, whatever level the next one will meet.
    const level = ruling.action === "halt" ? ruling.halt.level : "nudge";
    return added(text, said, meta(level, finding?.rule));
  }

  /** The hints of a list of tools: they are the server's word, and priors. */
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

  /** Asks the person in front of the client, where the client can: whether a run that was ended may go on. */
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

  /** An answer of the client. Those to questions of ours are no business of the server's. */
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
    // Nobody answers a call whose id was given again, or that has waited for so long.
    this.#forget(key);
    this.#waiting.set(key, open);
    if (this.#waiting.size > WAITING) this.#forget(this.#waiting.keys().next().value as string);
  }

  #forget(key: string): void {
    if (this.#waiting.get(key)?.kind === "call") this.#open = Math.max(0, this.#open - 1);
    this.#waiting.delete(key);
  }
}

/** What a program reads of a verdict. */
const meta = (level: string, rule: string | undefined): Json => ({
  "loopwarden/level": level,
  ...(rule !== undefined && { "loopwarden/finding": rule }),
});

/** What came of a call, as it is compared. */
function outputOf({ content, structuredContent }: Json): unknown {
  if (!Array.isArray(content) || content.length === 0) return structuredContent ?? "";
  const texts = content.map((block) => (isObject(block) && block["type"] === "text" ? block["text"] : undefined));
  return texts.every((text) => typeof text === "string") ? texts.join("\n") : content;
}

/** An answer with one more text in its result. Everything else stays as it was written. */
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

/** The text of an object with a member replaced, or added at its end. */
function put(text: string, name: string, value: string): string {
  const entry = `${JSON.stringify(name)}:${value}`;
  const kept = [...parts(text)].filter(({ key }) => key !== name).map(({ start, end }) => text.slice(start, end));
  return `{${[...kept, entry].join(",")}}`;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
