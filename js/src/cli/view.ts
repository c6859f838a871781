import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { LoopwardenError } from "../errors.ts";
import type { Config } from "../generated/types.ts";
import { readTranscript, type TranscriptFormat } from "../transcript.ts";
import type { Trace } from "../view/model.ts";
import { parse, UsageError } from "./args.ts";
import { configText, InputError, text } from "./input.ts";
import { member } from "./raw.ts";

export const help: string = `Usage: loopwarden view [FILE] [-o PAGE] [--config FILE] [--format FORMAT] [--open]

Writes one HTML file that shows a recorded run: what went wrong, since when, what it cost and what to do; the run event
by event; and what other thresholds would have said. Without FILE the page is empty: drop or paste a run into it. It
needs no server and loads nothing. It holds the whole run, so share it as you would share the log. FILE may be
gzip-compressed, and "-" is the standard input.

  -o, --output PAGE  where to write it; "-" is the standard output, and loopwarden-view.html the default
  --config FILE      the configuration (JSON) to begin with; a scenario's own or the recommended one where absent
  --format FORMAT    how FILE was recorded; recognised where absent
  --open             open it in the browser

Exit codes: 0 written, 1 a file cannot be read or written, 2 wrong usage.
`;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    output: { type: "string", short: "o", default: "loopwarden-view.html" },
    config: { type: "string" },
    format: { type: "string" },
    open: { type: "boolean", default: false },
  });
  const [file, ...more] = positionals;
  if (more.length > 0) throw new UsageError("view: expected one file, or none");
  if (file === undefined && values.config !== undefined) throw new UsageError("view: --config needs a file to view");
  if (values.open && values.output === "-") throw new UsageError("view: --open needs a page that is a file");
  const config = values.config === undefined ? undefined : await configText(values.config);
  const html = await page(file === undefined ? undefined : await trace(file, config, values.format));
  if (values.output === "-") {
    process.stdout.write(html);
    return 0;
  }
  try {
    await writeFile(values.output, html);
  } catch (error) {
    throw new InputError(`${values.output}: cannot be written: ${(error as Error).message}`);
  }
  console.log(values.output);
  if (values.open) show(values.output);
  return 0;
}

/** A recorded run, with its broken lines reported. */
async function trace(file: string, config: string | undefined, format: string | undefined): Promise<Trace> {
  const recorded = await text(file);
  let read: ReturnType<typeof readTranscript>;
  try {
    read = readTranscript(recorded, format as TranscriptFormat | undefined);
  } catch (error) {
    if (error instanceof LoopwardenError && error.field === "format") throw new UsageError(`--format ${error.message}`);
    throw error;
  }
  const { events, lines } = read;
  const errors = read.errors.map(({ line, error }) => ({ line, message: new LoopwardenError(error).message }));
  for (const { line, message } of errors) process.stderr.write(`${file}:${line}: ${message}\n`);
  if (events.length === 0) throw new InputError(`${file}: holds no event that can be read`);
  const name = file === "-" ? "standard input" : basename(file);
  return { name, format: read.format, events, lines, errors, config: JSON.parse(config?.trim() || own(recorded)) };
}

/** The configuration of a scenario, as JSON text. */
function own(recorded: string): string {
  try {
    const scenario: { events?: unknown; config?: Config | null } = JSON.parse(recorded);
    if (Array.isArray(scenario.events) && scenario.config) return member(recorded, "config") ?? "{}";
  } catch {
    // More than one line is no scenario of its own.
  }
  return "{}";
}

/** The page with a run in it, or empty. */
async function page(run: Trace | undefined): Promise<string> {
  const [template, core, tools] = await Promise.all(
    ["./view.html", "./core.wasm", "./tools.wasm"].map((name) => readFile(new URL(name, import.meta.url))),
  );
  const packed = (module: Buffer | undefined) => gzipSync(module ?? "", { level: 9 }).toString("base64");
  const parts: Record<string, string> = {
    // Inside a script element only `<` could begin something else.
    trace: JSON.stringify(run ?? null).replaceAll("<", "\\u003c"),
    core: packed(core),
    tools: packed(tools),
  };
  return String(template).replaceAll(
    /"\{\{(trace)\}\}"|\{\{(core|tools)\}\}/g,
    (all, run: string, module: string) => parts[run ?? module] ?? all,
  );
}

/** Opens a file as a person would; that there is no browser is no failure. */
function show(file: string): void {
  const url = pathToFileURL(resolve(file)).href;
  const opener: Partial<Record<NodeJS.Platform, [string, string[]]>> = {
    darwin: ["open", [url]],
    win32: ["rundll32", ["url.dll,FileProtocolHandler", url]],
  };
  const [command, args] = opener[process.platform] ?? ["xdg-open", [url]];
  execFile(command, args, (error) => {
    if (error) process.stderr.write(`no browser could be started: open ${file}\n`);
  });
}
