import { copyFile, mkdir, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { createTwoFilesPatch } from "diff";
import { applyEdits, modify, type ParseError, parse, printParseErrorCode } from "jsonc-parser";
import { HOOKS } from "../../adapters/claude-hooks.ts";
import { UsageError } from "../args.ts";
import { InputError } from "../input.ts";
import { configText } from "../settings.ts";
import { contents } from "./sessions.ts";

/** Seconds that the host waits for one hook; it takes tenths of one. */
const TIMEOUT = 10;
/** How our own entries are told from others'. */
const OURS = /(?:^|[\s"\\/])(?:loopwarden|dist[\\/]cli\.js)"? hook(?:\s|$)/;

interface Options {
  project: boolean;
  local: boolean;
  user: boolean;
  "dry-run": boolean;
  config?: string | undefined;
}

interface Entry {
  matcher?: string;
  hooks: { type: string; command?: string; timeout?: number }[];
}

/** Writes the hooks into the settings, or takes them out. */
export async function run(action: "install" | "uninstall", options: Options): Promise<number> {
  const scopes = (["project", "local", "user"] as const).filter((name) => options[name]);
  if (scopes.length > 1) throw new UsageError(`hook ${action}: only one of --project, --local and --user`);
  const scope = scopes[0] ?? "project";
  const name = scope === "local" ? "settings.local.json" : "settings.json";
  const file = join(scope === "user" ? homedir() : process.cwd(), ".claude", name);
  const before = await contents(file);
  const entry = action === "install" ? ours(await command(scope, options.config)) : undefined;
  const after = edited(file, before ?? "{}\n", entry);
  if (after === (before ?? "{}\n")) {
    console.log(`${file}: nothing to change`);
    return 0;
  }
  console.log(
    createTwoFilesPatch(file, file, before ?? "", after, before === undefined ? "new file" : "", "").trimEnd(),
  );
  if (options["dry-run"]) return 0;
  await mkdir(dirname(file), { recursive: true });
  if (before !== undefined) {
    const backup = `${file}.${new Date().toISOString().replaceAll(/[:.]/g, "-")}.bak`;
    await copyFile(file, backup);
    console.log(`\nAs it was: ${backup}`);
  }
  const whole = `${file}.${process.pid}.tmp`;
  await writeFile(whole, after);
  await rename(whole, file);
  console.log(`${action === "install" ? "Installed in" : "Removed from"} ${file}; new sessions use it.`);
  return 0;
}

/** The command line of the hook. What a team shares must not name a place on one person's machine. */
async function command(scope: "project" | "local" | "user", config: string | undefined): Promise<string> {
  if (config !== undefined) await configText(config);
  const shared = scope === "project";
  const program = shared
    ? '"$CLAUDE_PROJECT_DIR"/node_modules/.bin/loopwarden'
    : `${quoted(process.execPath)} ${quoted(fileURLToPath(import.meta.url))}`;
  if (config === undefined) return `${program} hook`;
  if (!shared) return `${program} hook --config ${quoted(resolve(config))}`;
  const within = relative(process.cwd(), resolve(config));
  if (within.startsWith("..") || isAbsolute(within))
    throw new UsageError(`--config ${config}: for --project it must be a file of the project`);
  return `${program} hook --config "$CLAUDE_PROJECT_DIR"/${quoted(within)}`;
}

function quoted(path: string): string {
  return /^[\w./\\:@-]+$/.test(path) ? path : `"${path.replaceAll(/(["$\\`])/g, "\\$1")}"`;
}

const ours = (line: string): Entry => ({ matcher: "*", hooks: [{ type: "command", command: line, timeout: TIMEOUT }] });

/** An entry without our hooks; nothing is left of one that held no other. */
function without(entry: Entry): Entry[] {
  if (!Array.isArray(entry?.hooks)) return [entry];
  const hooks = entry.hooks.filter((hook) => !OURS.test(hook?.command ?? ""));
  if (hooks.length === entry.hooks.length) return [entry];
  return hooks.length === 0 ? [] : [{ ...entry, hooks }];
}

/** The settings with our entry in place of any older one, and everything else as it was written. */
function edited(file: string, text: string, entry: Entry | undefined): string {
  const errors: ParseError[] = [];
  const document: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined) {
    const line = text.slice(0, first.offset).split("\n").length;
    throw new InputError(`${file}:${line}: not valid JSON: ${printParseErrorCode(first.error)}`);
  }
  if (typeof document !== "object" || document === null || Array.isArray(document))
    throw new InputError(`${file}: expected a JSON object`);
  const hooks = "hooks" in document ? document.hooks : {};
  if (typeof hooks !== "object" || hooks === null || Array.isArray(hooks))
    throw new InputError(`${file}: hooks: expected an object`);
  const formattingOptions = { tabSize: 2, insertSpaces: true, eol: "\n" };
  let result = text;
  for (const event of HOOKS) {
    const given: unknown = (hooks as Record<string, unknown>)[event] ?? [];
    if (!Array.isArray(given)) throw new InputError(`${file}: hooks.${event}: expected a list`);
    const others = given.flatMap((each: Entry) => without(each));
    const wanted = entry === undefined ? others : [...others, entry];
    if (JSON.stringify(wanted) === JSON.stringify(given)) continue;
    const value = wanted.length === 0 ? undefined : wanted;
    result = applyEdits(result, modify(result, ["hooks", event], value, { formattingOptions }));
  }
  const left: unknown = parse(result);
  const empty = entry === undefined && JSON.stringify((left as { hooks?: object }).hooks) === "{}";
  return empty ? applyEdits(result, modify(result, ["hooks"], undefined, { formattingOptions })) : result;
}
