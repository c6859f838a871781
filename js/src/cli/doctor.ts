import { access, constants, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { version } from "../core.ts";
import { LoopDetector } from "../detector.ts";
import { type Options, parse, UsageError } from "./args.ts";
import { InputError, reasonOf } from "./failure.ts";
import { NAME } from "./name.ts";
import { paint, print, printJson } from "./print.ts";
import { foldersOf, sessions } from "./sessions.ts";
import { exists, read } from "./settings.ts";

export const help: string = `Usage: loopwarden doctor [--json]

Checks this machine and this folder: whether the detector runs, whether the configuration is valid, whether hooks are
installed, whether what they call exists and which configuration they use, and which agents have left sessions to replay.

Exit codes: 0 nothing is wrong, 1 something is, 2 wrong usage.
`;

const OWN = { json: { type: "boolean", default: false } } as const satisfies Options;
export const options: Options = OWN;

interface Finding {
  what: string;
  state: "good" | "wrong" | "none";
  detail: string;
}

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, OWN);
  if (positionals.length > 0) throw new UsageError("doctor: expected no file");
  const found = [detector(), await configuration(), ...(await hooks()), ...(await logs())];
  if (values.json) printJson(found);
  else {
    const width = Math.max(...found.map(({ what }) => what.length));
    for (const { what, state, detail } of found) {
      const sign = { good: paint("green", "✓"), wrong: paint("red", "✗"), none: paint("dim", "–") }[state];
      print(`${sign} ${what.padEnd(width)}  ${detail}`);
    }
  }
  return found.some(({ state }) => state === "wrong") ? 1 : 0;
}

/** Checks that the detector finds a loop. */
function detector(): Finding {
  const what = "detector";
  using probe = new LoopDetector();
  let level = "continue";
  for (let lap = 0; lap < 3; lap++) {
    probe.record({ type: "tool-call", tool: "probe", args: { same: true } });
    level = probe.record({ type: "tool-result", tool: "probe", outcome: "error", output: "the same error" }).level;
  }
  const detail = `${version()} on Node ${process.versions.node}`;
  return level === "continue"
    ? { what, state: "wrong", detail: `${detail}: it did not notice a loop` }
    : { what, state: "good", detail };
}

async function configuration(): Promise<Finding> {
  const what = "configuration";
  if (!(await exists(NAME))) return { what, state: "none", detail: `no ${NAME} here: the recommended one is used` };
  try {
    await read(NAME);
    return { what, state: "good", detail: `${NAME} is valid` };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return { what, state: "wrong", detail: error.message };
  }
}

/** Checks the settings files of Claude Code that may contain hooks. */
async function hooks(): Promise<Finding[]> {
  const user = join(process.env["CLAUDE_CONFIG_DIR"] ?? join(homedir(), ".claude"), "settings.json");
  const files = [".claude/settings.json", ".claude/settings.local.json", user];
  const found: Finding[] = [];
  for (const file of files) {
    const what = "hooks";
    let text: string;
    try {
      text = await readFile(file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT")
        found.push({ what, state: "wrong", detail: `${file}: ${reasonOf(error)}` });
      continue;
    }
    let settings: unknown;
    try {
      settings = JSON.parse(text);
    } catch {
      found.push({ what, state: "wrong", detail: `${file}: is not JSON, so the agent ignores it` });
      continue;
    }
    const commands = [...new Set(commandsOf(settings))];
    for (const command of commands) found.push(await called(file, command));
  }
  return found.length > 0
    ? found
    : [{ what: "hooks", state: "none", detail: "none: `npx loopwarden hook install` guards Claude Code" }];
}

/** Our hook commands in settings, at any depth. */
function* commandsOf(value: unknown): Generator<string> {
  if (typeof value === "string") {
    // In a checkout under another name, only the file of the command line tells.
    if (/loopwarden|[\\/]dist[\\/]cli\.js/.test(value) && /\bhook\b/.test(value)) yield value;
  } else if (typeof value === "object" && value !== null)
    for (const inner of Object.values(value)) yield* commandsOf(inner);
}

/** Checks that the files a hook command refers to exist and that its configuration is valid. */
async function called(file: string, command: string): Promise<Finding> {
  const what = "hooks";
  // A word may be partly quoted, such as "$CLAUDE_PROJECT_DIR"/node_modules.
  const words = (command.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [])
    .map((word) => word.replaceAll(/["']/g, ""))
    .map((word) => word.replaceAll(/\$\{?CLAUDE_PROJECT_DIR\}?/g, process.cwd()));
  const paths = words.filter((word) => /[\\/]/.test(word) && !word.startsWith("-") && /loopwarden|\.js$/.test(word));
  for (const path of paths) {
    const isThere = await access(path, constants.R_OK).then(
      () => true,
      () => false,
    );
    if (!isThere) return { what, state: "wrong", detail: `${file} calls ${path}, which does not exist` };
  }
  const given = words.flatMap((word, at) =>
    word === "--config" ? (words[at + 1] ?? []) : word.startsWith("--config=") ? word.slice("--config=".length) : [],
  );
  const named = given.at(-1);
  if (named !== undefined) {
    try {
      await read(named);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      return { what, state: "wrong", detail: `${file} calls ${command}, which does not watch: ${error.message}` };
    }
  }
  return { what, state: "good", detail: `${file}: ${command}; it uses ${await used(named, words)}` };
}

/** Describes the configuration that new sessions in this folder use. */
async function used(named: string | undefined, words: readonly string[]): Promise<string> {
  if (named !== undefined) return named;
  if (words.includes("--no-config")) return `the recommended configuration and no ${NAME}, by --no-config`;
  return (await exists(NAME)) ? `${NAME} in this folder` : "the recommended configuration";
}

async function logs(): Promise<Finding[]> {
  const found = await sessions();
  return [...foldersOf()].map(([agent, folders]) => {
    const own = found.filter((session) => session.agent === agent);
    if (own.length === 0) return { what: agent, state: "none", detail: `no session in ${folders.join(" or ")}` };
    const count = `${own.length} session${own.length === 1 ? "" : "s"}`;
    const there = folders.filter((folder) => own.some(({ file }) => file.startsWith(folder)));
    return {
      what: agent,
      state: "good",
      detail: `${count} in ${there.join(" and ")}; npx loopwarden replay --last looks at the newest`,
    };
  });
}
