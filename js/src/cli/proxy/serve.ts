import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { LoopProxyOptions, ProxyExchange, ProxyMetrics } from "loopwarden/proxy";
import type { Verdict } from "../../generated/types.ts";
import { type Options, oneOf, parse, UsageError } from "../args.ts";
import { InputError, reasonOf } from "../failure.ts";
import { LEVEL_STYLE, paint, print, printJson, tell } from "../print.ts";
import { OPTIONS, settings } from "../settings.ts";

export const help: string = `Usage: loopwarden proxy --upstream URL [--port N] [--config FILE] [--observe] [--json]

Runs between a program and the API of its model, and detects when the agent goes round in circles: give the program
http://127.0.0.1:8787 instead of the API's own address. It reads OpenAI's Chat Completions and Responses, Anthropic's
Messages and Gemini's generateContent, whoever serves them; everything else passes through unchanged, and so does what
it cannot read. Keys pass through as well: none is kept or logged.

The model is told of a loop after the last answer of its tools; if that does not help, the proxy answers in the model's
stead and says why, so that the run ends. An answer that repeats itself is cut while it streams. Each answer has the
headers loopwarden-level and, if something was found, loopwarden-finding.

  --upstream URL   where requests go: https://api.openai.com, https://api.anthropic.com,
                   https://generativelanguage.googleapis.com, or any server compatible with one of them
  --port N         the port to listen on, 8787 by default; 0 takes a free one
  --host ADDRESS   the address to listen on, 127.0.0.1 by default: only requests for an address, localhost, *.localhost or
                   *.internal are answered there; on other addresses anyone who can reach it can use it
  --config FILE    the configuration; by default loopwarden.json in this folder, if there is one; --no-config ignores
                   that file
  --observe        change nothing: only headers and this log show what was found
  --prompts WHO    human (default), or host: messages with the role user come from an outer loop and end no loop
  --max-body MB    longer requests are passed on unread, 32 by default
  --json           a JSON object per line, instead of words

Ctrl-C or SIGTERM ends it: requests that have begun have five seconds to end, or until the second signal.

Exit codes: 0 stopped, 1 the port or the configuration cannot be used, 2 wrong usage.
`;

const OWN = {
  ...OPTIONS,
  upstream: { type: "string" },
  port: { type: "string", default: "8787" },
  host: { type: "string", default: "127.0.0.1" },
  observe: { type: "boolean", default: false },
  prompts: { type: "string" },
  "max-body": { type: "string", default: "32" },
  json: { type: "boolean", default: false },
} as const satisfies Options;
export const options: Options = OWN;

/** Time for requests that have begun to end after the first signal, in milliseconds. */
const GRACE = 5_000;
const LOOPBACK = ["127.0.0.1", "::1", "localhost"];

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, OWN);
  if (positionals.length > 0) throw new UsageError(`proxy ${positionals.join(" ")}: expected options only`);
  if (values.upstream === undefined)
    throw new UsageError("proxy: where to? For example --upstream https://api.openai.com");
  const [port, megabytes] = [Number(values.port), Number(values["max-body"])];
  if (!/^\d+$/.test(values.port) || port > 65_535) throw new UsageError(`--port ${values.port}: expected 0 to 65535`);
  if (!/^\d+$/.test(values["max-body"]) || megabytes > 512)
    throw new UsageError(`--max-body ${values["max-body"]}: expected 0 to 512`);
  if (!URL.canParse(values.upstream) || !/^https?:/.test(values.upstream))
    throw new UsageError(`--upstream ${values.upstream}: expected an address that begins with https:// or http://`);
  const prompts = oneOf("--prompts", values.prompts, ["human", "host"]);
  const found = await settings(values);
  // Loaded only here, so that other commands do not load the server.
  const [{ createLoopProxy }, { served }, { upstream }] = await Promise.all([
    import("loopwarden/proxy"),
    import("./bridge.ts"),
    import("./upstream.ts"),
  ]);
  const client = upstream();
  const proxyOptions: LoopProxyOptions = {
    upstream: values.upstream,
    ...(found && { config: found.config }),
    ...(values.observe && { policy: "observe" }),
    ...(prompts && { prompts }),
    maxBody: megabytes << 20,
    fetch: client.fetch,
    packed: true,
    onVerdict: values.json ? logged : told,
    onWarning: (message) => tell(message),
  };
  const proxy = createLoopProxy(proxyOptions);
  const isLocal = LOOPBACK.includes(values.host);
  // Checks the Host header, which prevents DNS rebinding: a page whose name resolves to this machine is same-origin.
  const server = served(proxy, (error) => tell(`loopwarden: ${reasonOf(error)}`), isLocal ? { host: values.host } : {});
  const address = await listening(server, port, values.host);
  if (values.json) printJson({ listening: address, upstream: values.upstream });
  else {
    print(`${address} → ${values.upstream}`);
    if (!isLocal) tell(`anyone who can reach ${values.host} can use this proxy with their own key`);
  }
  await stopped();
  await ended(server);
  client.close();
  if (values.json) printJson(proxy.metrics());
  else print(summary(proxy.metrics()));
  return 0;
}

function listening(server: Server, port: number, host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const other = error.code === "EADDRINUSE" ? "; --port 0 takes a free port" : "";
      reject(new InputError(`cannot listen on ${host}:${port}: ${reasonOf(error)}${other}`));
    });
    server.listen(port, host, () => {
      const { port: own } = server.address() as AddressInfo;
      resolve(`http://${host.includes(":") ? `[${host}]` : host}:${own}`);
    });
  });
}

const stopped = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });

/** Answers the requests that have begun and accepts no new ones; a second signal, or the time, ends those too. */
async function ended(server: Server): Promise<void> {
  const closing = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const late = new AbortController();
  await Promise.race([closing, stopped(), sleep(GRACE, undefined, { signal: late.signal }).catch(() => {})]);
  late.abort();
  server.closeAllConnections();
  await closing;
}

const DONE = {
  none: "",
  guided: ", told to the model",
  steered: ", told to the model, which has its other tools left",
  answered: ", answered in the model's stead",
  cut: ", cut while it streamed",
} as const;

function told(verdict: Verdict, { api, model, messages, action, saved }: ProxyExchange): void {
  const level = verdict.wouldBe ?? verdict.level;
  const [finding] = verdict.findings;
  const tokens = saved.input + saved.output;
  const worth = tokens > 0 ? `, about ${tokens} tokens saved` : "";
  const where = `${api} ${model ?? ""}, ${messages} messages`;
  const would = verdict.wouldBe === undefined ? "" : " (shadow mode)";
  print(
    `${paint(LEVEL_STYLE[level], level)}${would} ${finding?.rule ?? ""}: ${finding?.message ?? ""} (${where}${DONE[action]}${worth})`,
  );
}

function logged(verdict: Verdict, exchange: ProxyExchange): void {
  printJson({ ...exchange, verdict });
}

function summary({ requests, judged, guided, answered, cut, saved }: ProxyMetrics): string {
  const tokens = saved.input + saved.output;
  const worth = tokens > 0 ? `; about ${tokens} tokens saved` : "";
  return `${requests} requests, ${judged} judged: ${guided} with guidance, ${answered} answered here, ${cut} cut${worth}`;
}
