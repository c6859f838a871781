import { spawnSync } from "node:child_process";
import { existsSync, lstatSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { createTwoFilesPatch } from "diff";
import { applyEdits, modify, type ParseError, parse } from "jsonc-parser";
import { HOOKS } from "../../adapters/claude-hooks.ts";
import { UsageError } from "../args.ts";
import { InputError } from "../failure.ts";
import { NAME } from "../name.ts";
import { print } from "../print.ts";
import { configText, inWords } from "../settings.ts";
import { backups, readSettings, removeSettings, writeSettings } from "./settings-file.ts";

/** Time that the host waits for one hook, in seconds; a hook takes tenths of a second. */
const TIMEOUT = 10;
/** Recognises our own hook commands. */
const OURS = /(?:^|[\s"\\/])(?:loopwarden|dist[\\/]cli\.js)"? hook(?:\s|$)/;

interface Options {
  project: boolean;
  local: boolean;
  user: boolean;
  "dry-run": boolean;
  config?: string | undefined;
  "no-config": boolean;
}

interface Entry {
  matcher?: string;
  hooks: { type: string; command?: string; timeout?: number }[];
}

/** Adds the hooks to the settings or removes them. */
export async function run(action: "install" | "uninstall", options: Options): Promise<number> {
  const scopes = (["project", "local", "user"] as const).filter((name) => options[name]);
  if (scopes.length > 1) throw new UsageError(`hook ${action}: only one of --project, --local and --user`);
  const scope = scopes[0] ?? "project";
  const name = scope === "local" ? "settings.local.json" : "settings.json";
  const path = join(scope === "user" ? homedir() : process.cwd(), ".claude", name);
  const file = readSettings(path);
  const before = file.text ?? "{}\n";
  const entry = action === "install" ? ours(await command(scope, options)) : undefined;
  const after = edited(path, before, entry);
  if (after === before) {
    print(`${path}: nothing to change`);
    return 0;
  }
  // An empty file without backups was created by an installation.
  const isOurs = action === "uninstall" && /^\s*\{\s*\}\s*$/.test(after) && !isLink(path) && backups(file).length === 0;
  // Written before anything is printed: the reader may close the pipe after the first line.
  let backup: string | undefined;
  if (!options["dry-run"]) {
    if (isOurs) removeSettings(file);
    else backup = writeSettings(file, after);
  }
  const title = file.text === undefined ? "new file" : "";
  const text = isOurs ? "" : after;
  print(createTwoFilesPatch(path, path, file.text ?? "", text, title, isOurs ? "no file" : "").trimEnd());
  if (options["dry-run"]) {
    print("\nNothing was written (--dry-run).");
    return 0;
  }
  if (backup !== undefined) print(`\nPrevious version: ${backup}`);
  if (isOurs) print(`Removed ${path}, which held nothing else; new sessions run without the hooks.`);
  else
    print(
      action === "install"
        ? `Installed in ${path}; ${begins(options)}.`
        : `Removed from ${path}; new sessions run without the hooks.`,
    );
  return 0;
}

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

/** Describes the configuration of sessions that begin from now on. */
function begins(options: Options): string {
  if (options.config !== undefined) return `new sessions use it, with ${options.config}`;
  if (options["no-config"]) return `new sessions use it, with the recommended configuration and no ${NAME}`;
  return `new sessions use it, with ${NAME} in the folder they start in, if there is one`;
}

/**
 * The command line of the hook. In settings shared by a team it must not contain a path of one person's machine.
 *
 * @throws {InputError} if the command would not run. {@link UsageError} for a configuration outside the project.
 */
async function command(scope: "project" | "local" | "user", options: Options): Promise<string> {
  const { config } = options;
  // A session with an invalid configuration is not watched: better to fail now than at each of its hooks.
  const begun = scope !== "user" && !options["no-config"] && existsSync(NAME) ? NAME : undefined;
  const used = config ?? begun;
  if (used !== undefined) await configText(used);
  const shared = scope === "project";
  const program = shared ? ofProject() : ofPerson();
  runs(program);
  if (config === undefined) return `${program} hook${options["no-config"] ? " --no-config" : ""}`;
  if (!shared) return `${program} hook --config ${quoted(resolve(config))}`;
  const within = relative(process.cwd(), resolve(config));
  if (within.startsWith("..") || isAbsolute(within))
    throw new UsageError(`--config ${config}: for --project it must be a file of the project`);
  return `${program} hook --config "$CLAUDE_PROJECT_DIR"/${quoted(within)}`;
}

/** The program in the node_modules of the project or of a workspace above it. */
function ofProject(): string {
  const folder = process.cwd();
  let up = "";
  for (let at = folder; ; at = dirname(at), up += "../") {
    const bin = "node_modules/.bin/loopwarden";
    if (existsSync(join(at, bin))) return `"$CLAUDE_PROJECT_DIR"/${up}${bin}`;
    if (existsSync(join(at, ".git")) || dirname(at) === at || at === homedir()) break;
  }
  throw new InputError(
    `${folder}: has no node_modules/.bin/loopwarden, so the hook would not run; install the package there (npm install --save-dev loopwarden, or the path of its tarball), or use --local or --user`,
  );
}

/** This program by its absolute path. */
function ofPerson(): string {
  // In the build, this file is beside the program.
  const program = fileURLToPath(new URL("./cli.js", import.meta.url));
  // Copies made by npx and similar tools are temporary.
  if (/[\\/](?:_npx|dlx-[^\\/]*|bunx-[^\\/]*)[\\/]/.test(program))
    throw new InputError(
      `${program}: is a temporary copy for one run, so the hook would stop working; install the package (npm install --global loopwarden, or the path of its tarball) and install the hooks with it`,
    );
  return `${quoted(process.execPath)} ${quoted(program)}`;
}

/** Runs the program as the host would, to check that it works. */
function runs(program: string): void {
  const env = { ...process.env, CLAUDE_PROJECT_DIR: process.cwd() };
  const tried = spawnSync(`${program} --version`, { shell: true, env, encoding: "utf8", timeout: 120_000 });
  if (tried.status === 0) return;
  const why = (tried.stderr ?? "").trim().split("\n").at(-1) || tried.error?.message || `exit code ${tried.status}`;
  throw new InputError(`${program}: does not run here, so it would not run as a hook: ${why}`);
}

function quoted(path: string): string {
  return /^[\w./\\:@-]+$/.test(path) ? path : `"${path.replaceAll(/(["$\\`])/g, "\\$1")}"`;
}

const ours = (line: string): Entry => ({ matcher: "*", hooks: [{ type: "command", command: line, timeout: TIMEOUT }] });

/** An entry without our hooks; none at all if it had no others. */
function without(entry: Entry): Entry[] {
  if (!Array.isArray(entry?.hooks)) return [entry];
  const hooks = entry.hooks.filter((hook) => !OURS.test(hook?.command ?? ""));
  if (hooks.length === entry.hooks.length) return [entry];
  return hooks.length === 0 ? [] : [{ ...entry, hooks }];
}

/** The settings with our entry in place of older ones, or without it; everything else keeps its formatting. */
function edited(file: string, text: string, entry: Entry | undefined): string {
  const errors: ParseError[] = [];
  const document: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined) {
    const { line, what } = inWords(text, first);
    throw new InputError(`${file}:${line}: not valid JSON: ${what}`);
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
