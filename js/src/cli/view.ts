import { execFile } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { LoopDetector } from "../detector.ts";
import type { Config, TraceEvent } from "../generated/types.ts";
import { isLargelyUnread, judge } from "../replay/judge.ts";
import { serious } from "../replay/levels.ts";
import { refused } from "../replay/read.ts";
import { isSource, type Source } from "../view/live.ts";
import type { Trace } from "../view/model.ts";
import { type Options, parse, UsageError } from "./args.ts";
import { InputError } from "./failure.ts";
import { candidates, holdsSessions } from "./follow.ts";
import {
  Complaints,
  chosenRun,
  FORCE,
  mayWrite,
  nothing,
  runsOf,
  STRICT,
  save,
  shown,
  transcriptFormat,
} from "./input.ts";
import { serve } from "./live.ts";
import { inert, print, printJson, printRaw, tell } from "./print.ts";
import { last } from "./sessions.ts";
import { OPTIONS, type Settings, settings } from "./settings.ts";

export const help: string = `Usage: loopwarden view [FILE | --last] [-o PAGE [--force]] [--config FILE] [--format FORMAT] [--open] [--json]
       loopwarden view [FILE] --live [--port PORT] [--open] [--json]

Writes one HTML file that shows a recorded run: what went wrong, since when, what it cost and what to do; the run event
by event; and what other thresholds would have said. Without FILE the page is empty: drop or paste a run into it. The page
needs no server and loads nothing. It contains the whole run, so share it as you would share the log. FILE may be
gzip-compressed, and "-" is the standard input.

  --last             the newest session of an agent on this machine; on a terminal you pick one of the latest
  -o, --output PAGE  where to write it; "-" is the standard output, and loopwarden-view.html the default. An earlier page
                     is overwritten, FILE and any other file only with --force
  --config FILE      the configuration to begin with; by default the scenario's own, else loopwarden.json in this
                     folder, if there is one; --no-config ignores that file
  --format FORMAT    how FILE was recorded; recognised by default
  --scenario ID      which scenario, in a file with several
  --open             open it in the browser
  --live             serve the page to this machine only, and update it as the session goes on; Ctrl-C ends it. Without
                     FILE it is the newest session, of a folder the newest log in it. The address has a random part that
                     nobody else can guess
  --port PORT        the port for --live; by default any free one
  --strict           exit with 1 if anything in FILE cannot be read
  --json             {"page", "events", "unread", "format"} instead of the path; {"url"} with --live

Exit codes: 0 written or served, 1 a file cannot be read or written, or a quarter of it or more could not be read and
nothing was found in the rest, or with --strict any part of it (the page is written all the same), 2 wrong usage.
`;

const OWN = {
  ...OPTIONS,
  last: { type: "boolean", default: false },
  ...FORCE,
  ...STRICT,
  output: { type: "string", short: "o" },
  format: { type: "string" },
  scenario: { type: "string" },
  open: { type: "boolean", default: false },
  live: { type: "boolean", default: false },
  port: { type: "string" },
  json: { type: "boolean", default: false },
} as const satisfies Options;
export const options: Options = OWN;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, OWN);
  const [name, ...more] = positionals;
  if (more.length > 0 || (values.last && name !== undefined)) throw new UsageError("view: expected one file, or none");
  const { output = "loopwarden-view.html" } = values;
  if (values.live) return live(name, values);
  if (values.port !== undefined) throw new UsageError("view: --port needs --live");
  const hasRun = name !== undefined || values.last;
  if (!hasRun && values.config !== undefined) throw new UsageError("view: --config needs a file to view");
  if (!hasRun && values.scenario !== undefined) throw new UsageError("view: --scenario needs a file to view");
  if (values.open && output === "-") throw new UsageError("view: --open needs a page that is a file");
  if (values.json && output === "-") throw new UsageError("view: --json needs a page that is a file");
  const format = transcriptFormat(values.format);
  const found = hasRun ? await settings(values) : undefined;
  const file = values.last ? await last() : name;
  if (output !== "-" && !values.force) await mayWrite(output, file === undefined ? [] : [file], noPage);
  const read =
    file === undefined ? undefined : await readRun(file, found, values.config !== undefined, format, values.scenario);
  const { judged: events = 0, unread = 0, isUnknown = false, run } = read ?? {};
  const code = (values.strict ? unread > 0 : isUnknown) ? 1 : 0;
  const html = await page(run);
  if (output === "-") {
    printRaw(html);
    return code;
  }
  await save(output, html);
  if (values.json) printJson({ page: output, events, unread, format: run?.format ?? null });
  else print(output);
  if (values.open) show(pathToFileURL(resolve(output)).href);
  return code;
}

/** Identifies the pages that this command writes. */
const OURS = '<meta name="generator" content="loopwarden view">';

async function noPage(file: string): Promise<string | undefined> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(4096) });
    return buffer.toString("utf8", 0, bytesRead).includes(OURS)
      ? undefined
      : "exists and is not a page that view has written";
  } finally {
    await handle.close();
  }
}

/** Serves the page of a live session. */
async function live(
  name: string | undefined,
  values: {
    config?: string;
    "no-config": boolean;
    output?: string;
    format?: string;
    scenario?: string;
    port?: string;
    strict: boolean;
    open: boolean;
    json: boolean;
  },
): Promise<number> {
  if (name === "-" || values.output !== undefined)
    throw new UsageError("view: --live serves a page and writes no file");
  if (values.scenario !== undefined) throw new UsageError("view: --live shows a session and takes no --scenario");
  if (values.strict) throw new UsageError("view: --live goes on whatever it reads and takes no --strict");
  const port = Number(values.port ?? 0);
  if (!Number.isInteger(port) || port < 0 || port > 65_535 || values.port?.trim() === "")
    throw new UsageError(`--port ${values.port}: expected a number up to 65535`);
  const format = transcriptFormat(values.format);
  const found = await settings(values);
  const file = name === undefined ? await last() : await sessionIn(name);
  const stop = new AbortController();
  const end = () => stop.abort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, end);
  await serve({
    file,
    format,
    port,
    config: found?.config ?? {},
    page: await page({ live: "events" }),
    signal: stop.signal,
    ready: (url) => {
      if (values.json) printJson({ url });
      else print(url);
      tell(`loopwarden: serves ${file} to this machine only; Ctrl-C ends it`);
      if (values.open) show(url);
    },
  });
  return 0;
}

/** The newest session in a folder, or the named file itself. */
async function sessionIn(name: string): Promise<string> {
  if (!(await holdsSessions(name))) return name;
  const [newest] = await candidates(name);
  if (newest === undefined) throw new InputError(`${shown(name)}: is a folder without a log`);
  return newest.file;
}

/** A recorded run, and how much of it could be read. */
interface Read {
  run: Trace;
  /** The number of events judged. */
  judged: number;
  /** The number of lines and events that could not be read. */
  unread: number;
  /** Whether nothing was found in a log of which most could not be read. */
  isUnknown: boolean;
}

/** Reads a recorded run. Unreadable lines and rejected events are reported as by `replay`. */
async function readRun(
  file: string,
  found: Settings | undefined,
  insists: boolean,
  wanted: ReturnType<typeof transcriptFormat>,
  scenario: string | undefined,
): Promise<Read> {
  const complaints = new Complaints(file);
  const errors: Trace["errors"] = [];
  const events: TraceEvent[] = [];
  const lines: number[] = [];
  let judged = 0;
  let isFound = false;
  const complain = (line: number, ...messages: string[]) => {
    for (const message of messages) errors.push({ line, message });
    complaints.add(line, ...messages);
  };
  const run = await chosenRun(file, runsOf(file, complain, wanted, complaints.cut), scenario, complaints);
  // In a file of scenarios, the other complaints belong to other scenarios.
  const before = run.whole ? 0 : complaints.count;
  if (!run.whole) errors.length = 0;
  const own: Config | undefined = run.config === undefined ? undefined : JSON.parse(run.config);
  const config = (insists ? found?.config : (own ?? found?.config)) ?? {};
  using detector = new LoopDetector(config);
  let known = 0;
  for await (const part of run.events) {
    for (const recorded of part) {
      const { event, pending, line, unread } = recorded;
      events.push(pending ? { ...event, pending } : event);
      lines.push(line);
      complaints.read(recorded);
      const { level, verdict, error } = judge(detector, recorded);
      if (unread) continue;
      known++;
      if (verdict !== undefined) judged++;
      else if (error !== undefined) complaints.add(line, refused(recorded, error));
      isFound ||= serious(level);
    }
  }
  const unread = complaints.count - before;
  complaints.end(judged, known === 0 ? 0 : unread);
  if (known === 0) nothing(file, complaints);
  const name = file === "-" ? shown(file) : basename(file);
  // The page treats a scenario as a trace.
  const format = run.format === "scenario" ? "trace" : run.format;
  return {
    run: { name, format, events, lines, errors, config },
    judged,
    unread,
    isUnknown: !isFound && isLargelyUnread(unread, judged),
  };
}

/** The HTML of the page: with a run embedded, with the source of a live run, or empty. */
async function page(run: Trace | Source | undefined): Promise<string> {
  const [template, core, tools] = await Promise.all(
    ["./view.html", "./core.wasm", "./tools.wasm"].map((name) => readFile(new URL(name, import.meta.url))),
  );
  const packed = (module: Buffer | undefined) => gzipSync(module ?? "", { level: 9 }).toString("base64");
  const parts: Record<string, string> = {
    // Inside a script element, only `<` could end it.
    trace: inert(JSON.stringify(run ?? null)).replaceAll("<", "\\u003c"),
    core: packed(core),
    tools: packed(tools),
  };
  // A standalone page may connect to nothing, a served one only to its own origin.
  const policy = run !== undefined && isSource(run) ? "default-src 'none'; connect-src 'self';" : "default-src 'none';";
  return String(template)
    .replace("default-src 'none';", policy)
    .replaceAll(
      /"\{\{(trace)\}\}"|\{\{(core|tools)\}\}/g,
      (all, run: string, module: string) => parts[run ?? module] ?? all,
    );
}

/** Opens an address in the browser. Having no browser is not an error. */
function show(url: string): void {
  const opener: Partial<Record<NodeJS.Platform, [string, string[]]>> = {
    darwin: ["open", [url]],
    win32: ["rundll32", ["url.dll,FileProtocolHandler", url]],
  };
  const [command, args] = opener[process.platform] ?? ["xdg-open", [url]];
  execFile(command, args, (error) => {
    if (error) tell(`no browser could be started: open ${url}`);
  });
}
