// What a proxy is made with. A misspelt option would be ignored silently, and an agent that was meant to be watched only
// would be stopped, so all of them are checked.
import { type Config, type Level, LoopDetector, LoopwardenError, type Verdict } from "loopwarden";
import type { ApiName } from "./api.ts";
import { MemoryCache, type ProxyCache } from "./cache.ts";

/** What is done at each level; `"observe"` is always nothing but the headers of the answer. */
export interface ProxyPolicy {
  /** `"guide"` (default) puts the guidance before the model, behind the last answer of a tool. */
  nudge?: "guide" | "observe";
  /**
   * `"steer"` (default) says it in stronger words, and leaves the model every tool but the one that goes round where the
   * API can do that; `"guide"` leaves the tools alone.
   */
  block?: "steer" | "guide" | "observe";
  /** `"answer"` (default) answers in the model's stead and asks the human; `"guide"` goes on with the guidance. */
  gate?: "answer" | "guide" | "observe";
  /** `"answer"` (default) answers in the model's stead and ends the run; `"guide"` goes on with the guidance. */
  halt?: "answer" | "guide" | "observe";
  /** `"cut"` (default) ends an answer at `halt` while it streams. */
  stream?: "cut" | "observe";
}

/** What was done about a verdict: `cut` while the answer streamed, the others before the model was asked. */
export type ProxyAction = "none" | "guided" | "steered" | "answered" | "cut";

/** The request that a verdict is about. Nothing of what it says, and no header. */
export interface ProxyExchange {
  api: ApiName;
  /** The model as the request names it. */
  model: string | undefined;
  /** Messages of the conversation. */
  messages: number;
  action: ProxyAction;
  /** Tokens that need not be paid for: known where the request limits its answer, estimated of its text. */
  saved: { input: number; output: number };
}

/** What {@link createLoopProxy} takes. */
export interface LoopProxyOptions {
  /** Where requests go: `https://api.openai.com`, say. A path in front of all others may follow. */
  upstream: string | URL;
  /** The detector's configuration; nothing is the recommended one. */
  config?: Config;
  /** What verdicts do. `"observe"` is nothing at any level. Default: all of it. */
  policy?: ProxyPolicy | "observe";
  /** Whether messages of the role `user` but for the first are a human's, which end a loop, or the host's own. */
  prompts?: "human" | "host";
  /** Keeps what is known of conversations. Default: 32 MiB in this process. */
  cache?: ProxyCache;
  /** Bytes of a request that are read, 32 MiB by default. Longer ones are passed on as they come, unread. */
  maxBody?: number;
  /**
   * Asks upstream. Default: the runtime's own `fetch`. `body` is that of the request, where it does not stream: it may be
   * sent once more.
   */
  fetch?: (request: Request, body?: Uint8Array | null) => Promise<Response>;
  /** Whether that `fetch` leaves packed bodies as they are; the runtimes' own unpack them. Default `false`. */
  packed?: boolean;
  /** `false` passes everything on. Default `true`. */
  enabled?: boolean;
  /** Sees verdicts above `continue`, and in shadow mode those that would have been. */
  onVerdict?: (verdict: Verdict, exchange: ProxyExchange) => void;
  /** Hears once of each kind of internal error; the request went on. Default `console.warn`. */
  onWarning?: (message: string, cause: unknown) => void;
}

const OPTIONS: readonly string[] = [
  "upstream",
  "config",
  "policy",
  "prompts",
  "cache",
  "maxBody",
  "fetch",
  "packed",
  "enabled",
  "onVerdict",
  "onWarning",
] satisfies (keyof LoopProxyOptions)[];

const POLICY = {
  nudge: ["guide", "observe"],
  block: ["steer", "guide", "observe"],
  gate: ["answer", "guide", "observe"],
  halt: ["answer", "guide", "observe"],
  stream: ["cut", "observe"],
} as const satisfies { [name in keyof Required<ProxyPolicy>]: readonly Required<ProxyPolicy>[name][] };

/** Options, checked and complete. */
export interface Settings {
  upstream: URL;
  config: string;
  policy: Required<ProxyPolicy>;
  prompts: "human" | "host";
  cache: ProxyCache;
  maxBody: number;
  fetch: NonNullable<LoopProxyOptions["fetch"]>;
  packed: boolean;
  enabled: boolean;
}

/** @throws {LoopwardenError} `invalid-config`, naming the option. */
export function settled(options: LoopProxyOptions): Settings {
  for (const name of Object.keys(options)) if (!OPTIONS.includes(name)) throw wrong(name, "is no option");
  const { upstream, config = {}, policy = {}, prompts = "human", maxBody = 32 << 20, enabled = true } = options;
  const url = URL.canParse(`${upstream}`) ? new URL(`${upstream}`) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw wrong("upstream", "must be an address with http or https", upstream);
  if (url.username !== "" || url.password !== "") throw wrong("upstream", "must hold no key: clients bring their own");
  if (url.search !== "" || url.hash !== "") throw wrong("upstream", "must end with its path");
  if (prompts !== "human" && prompts !== "host") throw wrong("prompts", 'must be "human" or "host"', prompts);
  if (!Number.isSafeInteger(maxBody) || maxBody < 0) throw wrong("maxBody", "must be a number of bytes", maxBody);
  new LoopDetector(config).free();
  return {
    upstream: url,
    config: JSON.stringify(config),
    policy: policed(policy),
    prompts,
    cache: options.cache ?? new MemoryCache(),
    maxBody,
    fetch: options.fetch ?? ((request) => fetch(request)),
    packed: options.packed ?? false,
    enabled,
  };
}

function policed(policy: ProxyPolicy | "observe"): Required<ProxyPolicy> {
  const observe = { nudge: "observe", block: "observe", gate: "observe", halt: "observe", stream: "observe" } as const;
  if (policy === "observe") return observe;
  if (typeof policy !== "object" || policy === null) throw wrong("policy", 'must be "observe" or an object', policy);
  for (const [name, value] of Object.entries(policy)) {
    const known: readonly unknown[] | undefined = Object.hasOwn(POLICY, name)
      ? POLICY[name as keyof typeof POLICY]
      : undefined;
    if (known === undefined) throw wrong(`policy.${name}`, "is no level");
    if (value !== undefined && !known.includes(value))
      throw wrong(`policy.${name}`, `must be one of ${known.join(", ")}`, value);
  }
  const { nudge = "guide", block = "steer", gate = "answer", halt = "answer", stream = "cut" } = policy;
  return { nudge, block, gate, halt, stream };
}

/** What is done at a level. */
export function deed(policy: Required<ProxyPolicy>, level: Level): "guide" | "steer" | "answer" | "observe" {
  return level === "continue" || level === "observe" ? "observe" : policy[level];
}

function wrong(field: string, message: string, value?: unknown): LoopwardenError {
  const told = value === undefined ? undefined : String(value).slice(0, 80);
  return new LoopwardenError({ code: "invalid-config", message, field, value: told });
}
