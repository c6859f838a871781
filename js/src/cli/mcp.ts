import { version } from "../core.ts";
import type { Event, Level, Verdict } from "../generated/types.ts";
import { given, reaches } from "../replay/levels.ts";
import { number } from "../replay/summarise.ts";
import { type Options, parse, UsageError } from "./args.ts";
import { McpJudge } from "./mcp/judge.ts";
import { relay, type Server } from "./mcp/relay.ts";
import { start } from "./mcp/stdio.ts";
import { tell } from "./print.ts";
import { OPTIONS, settings } from "./settings.ts";

export const help: string = `Usage: loopwarden mcp [--config FILE] [--pause MINUTES] -- COMMAND [ARGUMENT…]
       loopwarden mcp [--config FILE] [--pause MINUTES] --url URL [--header "NAME: VALUE"]…

Runs between an MCP client and a server: starts COMMAND and passes everything on, both ways. Tool calls are judged by
earlier calls and their outcomes: guidance is added to results, and a call that goes round in circles is answered with an
error that says why and does not reach the server. In the configuration of a client it is placed before the command:
docs/mcp.md shows this for Claude Desktop, Cursor, VS Code and Claude Code.

  --url URL        a server behind streamable HTTP instead of a command
  --header TEXT    a header for it, such as "Authorization: Bearer \${TOKEN}"; \${NAME} is taken from the environment
  --pause MINUTES  if nothing was called for that long, the next call begins a new conversation, even after a run was
                   ended: 5 by default, 0 for never
  --config FILE    the configuration; by default loopwarden.json in this folder, if there is one; --no-config ignores it
  --quiet          say nothing on the standard error

Exit codes: those of COMMAND, 127 if it does not exist, 126 if it cannot be run; 1 a configuration is wrong, 2 wrong
usage. With --url 0.
`;

const OWN = {
  ...OPTIONS,
  url: { type: "string" },
  header: { type: "string", multiple: true },
  pause: { type: "string", default: "5" },
  quiet: { type: "boolean", default: false },
} as const satisfies Options;
export const options: Options = OWN;

export async function run(args: string[]): Promise<number> {
  const split = args.indexOf("--");
  const { values, positionals } = parse(split < 0 ? args : args.slice(0, split), OWN);
  const [command, ...rest] = split < 0 ? [] : args.slice(split + 1);
  const [stray] = positionals;
  if (stray !== undefined)
    throw new UsageError(`mcp: expected -- before the command: npx loopwarden mcp -- ${stray} …`);
  if ((command === undefined) === (values.url === undefined))
    throw new UsageError("mcp: expected either -- and a command, or --url");
  if (values.header !== undefined && values.url === undefined) throw new UsageError("mcp: --header needs --url");
  const url = values.url === undefined ? undefined : address(values.url);
  const headers = Object.fromEntries((values.header ?? []).map(header));
  const pause = minutes(values.pause);
  const found = await settings(values);
  const say = values.quiet ? () => {} : tell;
  const judge = new McpJudge({
    config: found?.config,
    pause,
    onVerdict: (verdict, event) => told(verdict, event, say),
    onWarning: (message) => tell(`loopwarden: ${message}`),
  });
  const server = await served(command, rest, url, headers, judge);
  if (server.hasBegun) say(`loopwarden ${version()} guards ${url?.host ?? command}`);
  const code = await relay(server, judge);
  const { calls, advised, refused } = judge.counts;
  if (server.hasBegun) say(`loopwarden: ${number(calls, "call")}, guidance with ${advised}, ${refused} refused`);
  judge.free();
  return code;
}

async function served(
  command: string | undefined,
  args: string[],
  url: URL | undefined,
  headers: Record<string, string>,
  judge: McpJudge,
): Promise<Server> {
  if (url === undefined) return start(command ?? "", args);
  const { connect } = await import("./mcp/http.ts");
  return connect(url, headers, (line, reason) => judge.failed(line, reason));
}

function told(verdict: Verdict, event: Event, say: (text: string) => void): void {
  const would = verdict.wouldBe === undefined ? "" : " (shadow mode)";
  const tool = "tool" in event && event.tool != null ? `${event.tool}: ` : "";
  // A call that has returned was not refused.
  const next = (level: Level) => (level === "block" && event.type === "tool-result" ? " (of the next such call)" : "");
  for (const { level, rule, message } of verdict.findings) {
    if (reaches(given(verdict), "nudge") && reaches(level, "nudge"))
      say(`loopwarden: ${tool}${level}${next(level)}${would} ${rule}: ${message}`);
  }
}

function address(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol))
    throw new UsageError(`--url ${text}: expected an address that begins with https:// or http://`);
  return url;
}

/** Parses a header and substitutes environment variables, so that secrets need not be on the command line. */
function header(text: string): [name: string, value: string] {
  const match = /^([\w!#$%&'*+.^`|~-]+):\s*(.*)$/s.exec(text);
  if (match === null) throw new UsageError(`--header ${text.slice(0, 20)}…: expected NAME: VALUE`);
  const value = (match[2] ?? "").replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
    const found = process.env[name];
    if (found === undefined) throw new UsageError(`--header ${match[1]}: the environment has no ${name}`);
    return found;
  });
  return [match[1] ?? "", value];
}

function minutes(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0)
    throw new UsageError(`--pause ${text}: expected a number of minutes`);
  return value * 60_000;
}
