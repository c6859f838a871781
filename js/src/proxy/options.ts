// The options of a proxy. All are checked, because a misspelt option would be silently ignored, and an agent that was
// only to be observed would be stopped.
import type { Config, Level, Verdict } from "loopwarden";
import { detecting } from "../adapters/detecting.ts";
import { unknown, wrong } from "../adapters/options.ts";
import { meant } from "../replay/nearest.ts";
import type { ApiName } from "./api.ts";
import { MemoryCache, type ProxyCache } from "./cache.ts";

/** The action at each level. `"observe"` always means to set the headers of the answer and nothing else. */
export interface ProxyPolicy {
  /** `"guide"` (default) adds the guidance to the request, after the last tool result. */
  nudge?: "guide" | "observe";
  /**
   * `"steer"` (default) adds stronger guidance and excludes the looping tool if the API allows that; `"guide"` does not
   * change the choice of tools.
   */
  block?: "steer" | "guide" | "observe";
  /** `"answer"` (default) answers in place of the model and asks the human; `"guide"` goes on with guidance. */
  gate?: "answer" | "guide" | "observe";
  /** `"answer"` (default) answers in place of the model and ends the run; `"guide"` goes on with guidance. */
  halt?: "answer" | "guide" | "observe";
  /** `"cut"` (default) ends a streaming answer at `gate` or `halt`. */
  stream?: "cut" | "observe";
}

/** The action taken on a verdict: `cut` while the answer streamed, the others before the model was called. */
export type ProxyAction = "none" | "guided" | "steered" | "answered" | "cut";

/** The request that a verdict is about, without its contents and headers. */
export interface ProxyExchange {
  api: ApiName;
  /** The model as named in the request. */
  model: string | undefined;
  /** The number of messages of the conversation. */
  messages: number;
  action: ProxyAction;
  /**
   * Estimated tokens saved: `input` of a request answered in place of the model, and `output` of an answer that was
   * cut, relative to the limit that the request sets (0 without one).
   */
  saved: { input: number; output: number };
}

/** The options of {@link createLoopProxy}. */
export interface LoopProxyOptions {
  /** The address to send requests to, such as `https://api.openai.com`, optionally with a base path. */
  upstream: string | URL;
  /** The detector's configuration. Default: the recommended one. */
  config?: Config;
  /** The actions at each level; `"observe"` takes none at any level. Default: the default of each level. */
  policy?: ProxyPolicy | "observe";
  /** Whether `user` messages after the first are a `human`'s (default), which end a loop, or the `host`'s. */
  prompts?: "human" | "host";
  /** Stores the state of conversations. Default: 32 MiB in this process. */
  cache?: ProxyCache;
  /** Maximum size of a request that is read, in bytes. Longer ones are passed on unread. Default 32 MiB. */
  maxBody?: number;
  /**
   * Sends a request upstream. Default: the runtime's `fetch`. `body` is the body of the request unless it streams; it
   * may be sent again.
   */
  fetch?: (request: Request, body?: Uint8Array | null) => Promise<Response>;
  /** Whether that `fetch` leaves compressed bodies compressed; those of the runtimes do not. Default `false`. */
  packed?: boolean;
  /** `false` passes everything on. Default `true`. */
  enabled?: boolean;
  /** Called with verdicts above `continue`, and in shadow mode with those that would have been. */
  onVerdict?: (verdict: Verdict, exchange: ProxyExchange) => void;
  /** Called once per kind of internal error; the request went on. Default `console.warn`. */
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

/** Validated options with defaults filled in. */
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

/** Validates options and fills in defaults. @throws {LoopwardenError} `invalid-config`, naming the option. */
export function settled(options: LoopProxyOptions): Settings {
  for (const name of Object.keys(options)) if (!OPTIONS.includes(name)) throw unknown(name, OPTIONS);
  const { upstream, config = {}, policy = {}, prompts = "human", maxBody = 32 << 20, enabled = true } = options;
  const url = URL.canParse(`${upstream}`) ? new URL(`${upstream}`) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw wrong("upstream", "must be an address with http or https", upstream);
  if (url.username !== "" || url.password !== "") throw wrong("upstream", "must hold no key: clients bring their own");
  if (url.search !== "" || url.hash !== "") throw wrong("upstream", "must end with its path");
  if (prompts !== "human" && prompts !== "host") throw wrong("prompts", 'must be "human" or "host"', prompts);
  if (!Number.isSafeInteger(maxBody) || maxBody < 0) throw wrong("maxBody", "must be a number of bytes", maxBody);
  detecting(config).free();
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
    if (known === undefined) {
      const near = meant(name, Object.keys(POLICY));
      throw wrong(`policy.${name}`, `is no level${near === undefined ? "" : `; did you mean \`${near}\`?`}`);
    }
    if (value !== undefined && !known.includes(value))
      throw wrong(`policy.${name}`, `must be one of ${known.join(", ")}`, value);
  }
  const { nudge = "guide", block = "steer", gate = "answer", halt = "answer", stream = "cut" } = policy;
  return { nudge, block, gate, halt, stream };
}

/** The action at a level. */
export function deed(policy: Required<ProxyPolicy>, level: Level): "guide" | "steer" | "answer" | "observe" {
  return level === "continue" || level === "observe" ? "observe" : policy[level];
}
