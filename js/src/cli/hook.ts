import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import {
  answerHook,
  type HookInput,
  type HookOptions,
  type SyncHookJSONOutput,
  scoped,
} from "../adapters/claude-hooks.ts";
import { Guard } from "../adapters/guard.ts";
import type { Config } from "../generated/types.ts";
import { parse, UsageError } from "./args.ts";
import { InputError } from "./failure.ts";
import { type Dialect, understood } from "./hook/dialect.ts";
import { type Entry, type Folded, forget, Journal } from "./hook/journal.ts";

export const help: string = `Usage: loopwarden hook [--config FILE] [--state DIR] [--prompts WHO] [--no-batches]
       loopwarden hook install [--project | --local | --user] [--config FILE] [--dry-run]
       loopwarden hook uninstall [--project | --local | --user] [--dry-run]

Judges one hook of a coding agent: reads the hook's JSON from the standard input and answers on the standard output.
Guidance reaches the model as additional context, a refused call is denied, and a run that goes round in circles is
stopped. Speaks the hooks of Claude Code, and of hosts that use the same shape with snake_case or camelCase names.
What is wrong with the hook itself is a warning in the answer and on the standard error, and the agent goes on.

  --config FILE    the configuration (JSON) of new sessions; the recommended one where absent
  --state DIR      where sessions are remembered, one folder each; ${shown(defaultState())} where absent
  --prompts WHO    human (default), or host: prompts of an outer loop, which are no new task
  --no-batches     for hosts without PostToolBatch: every answered call ends its round

install writes the hooks into the settings of Claude Code, uninstall takes them out: both show what changes and keep the
file as it was beside it.

  --project        .claude/settings.json, shared with everybody (default); uses the project's own node_modules
  --local          .claude/settings.local.json, only yours
  --user           ~/.claude/settings.json, in all of your projects
  --dry-run        only show what would change

Exit codes: a hook always ends with 0, so that nothing that is wrong with it refuses a call. install and uninstall: 0
done, 1 a file is wrong or the command would not run, 2 wrong usage.
`;

/**
 * Answers a hook, whatever is wrong: hosts take an exit code of 2, and some any but 0, for a refusal of the call, so that
 * one mistyped option in shared settings would refuse every call of everybody.
 */
export async function run(args: string[]): Promise<number> {
  const byHand = process.stdin.isTTY === true || args.some((arg) => arg === "install" || arg === "uninstall");
  if (byHand) return command(args);
  try {
    return await command(args);
  } catch (error) {
    warn([error instanceof Error ? error.message : String(error)]);
    return 0;
  }
}

/** A warning as a host shows it to whoever watches the agent. */
function warn(problems: string[], answer: object = {}): void {
  const systemMessage = problems.map((problem) => `Loopwarden does not watch here: ${firstLine(problem)}`).join("\n");
  for (const problem of problems) process.stderr.write(`loopwarden: ${problem}\n`);
  process.stdout.write(`${JSON.stringify({ ...answer, systemMessage })}\n`);
}

const firstLine = (text: string): string => text.split("\n", 1)[0] ?? "";

async function command(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    config: { type: "string" },
    state: { type: "string" },
    prompts: { type: "string", default: "human" },
    "no-batches": { type: "boolean", default: false },
    project: { type: "boolean", default: false },
    local: { type: "boolean", default: false },
    user: { type: "boolean", default: false },
    "dry-run": { type: "boolean", default: false },
  });
  const [action, ...more] = positionals;
  if (more.length > 0 || (action !== undefined && action !== "install" && action !== "uninstall"))
    throw new UsageError(`hook ${positionals.join(" ")}: expected install, uninstall or nothing`);
  if (action !== undefined) return (await import("./hook/install.ts")).run(action, values);
  for (const name of ["project", "local", "user", "dry-run"] as const)
    if (values[name]) throw new UsageError(`--${name} is for install and uninstall`);
  const { prompts } = values;
  if (prompts !== "human" && prompts !== "host") throw new UsageError(`--prompts ${prompts}: expected human or host`);

  const { input, dialect } = received(await standardInput());
  const config = values.config === undefined ? undefined : await configOf(values.config);
  const folder = values.state ?? defaultState();
  if (input.hook_event_name === "SessionStart") sweep(folder);
  // The host's own id may be any text; a file's name may not.
  const name = createHash("sha256").update(input.session_id).digest("hex").slice(0, 32);
  const journal = new Journal<Answer>(join(folder, `${name}${SESSION}`));
  const entry: Hook = {
    at: Date.now(),
    input,
    options: { prompts, batches: !values["no-batches"] },
    // What a session goes by is settled by its first hook.
    ...(config !== undefined && journal.isNew && { config }),
  };
  const { output, warnings } = journal.add(entry, fold);
  const answer = dialect.answer(output);
  const problems = [...warnings, ...journal.warnings];
  if (problems.length > 0) warn(problems, answer);
  else process.stdout.write(`${JSON.stringify(answer)}\n`);
  return 0;
}

/** What a hook is called with, and when. */
interface Hook extends Entry {
  input: HookInput;
  options: HookOptions;
  config?: Config;
}

interface Answer {
  output: SyncHookJSONOutput;
  warnings: string[];
}

/** Judges the hooks of a session one after the other, each at its own time. */
function fold(state: string | undefined, entries: Entry[]): Folded<Answer> {
  const answers: Answer[] = [];
  let kept = state;
  let rest = entries as Hook[];
  while (rest.length > 0) {
    const taken = judged(kept, rest);
    // A detector that broke has no state: what was known before it did stays, and that one hook is passed over.
    const good = taken.state !== "" ? taken : judged(kept, rest.slice(0, 1));
    answers.push(...good.answers);
    kept = good.state !== "" ? good.state : kept;
    rest = rest.slice(good.answers.length);
  }
  return { state: kept ?? "", answers };
}

function judged(state: string | undefined, hooks: Hook[]): Folded<Answer> {
  let [at, warnings]: [number, string[]] = [0, []];
  const config = hooks[0]?.config;
  const guard = new Guard({
    ...(config !== undefined && { config }),
    onWarning: (message) => warnings.push(message),
    now: () => at,
    ...(state !== undefined && state !== "" && { state }),
  });
  const answers = hooks.map((hook): Answer => {
    at = hook.at;
    const output = answerHook(scoped(guard, hook.input), hook.input, hook.options);
    const answer = { output, warnings };
    warnings = [];
    return answer;
  });
  return { state: guard.snapshot(), answers };
}

/** How the folder of a session ends. */
const SESSION = ".session";
/** Sessions without a hook for this long are forgotten, in milliseconds. */
const FORGOTTEN = 30 * 24 * 60 * 60 * 1000;

/** Forgets sessions that ended long ago. */
function sweep(folder: string): void {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    // There is none yet, or the hook will say what is wrong with it.
    return;
  }
  for (const name of names)
    if (/^[0-9a-f]{32}\.session$/.test(name)) forget(join(folder, name), Date.now() - FORGOTTEN);
}

async function standardInput(): Promise<string> {
  process.stdin.setEncoding("utf8");
  let whole = "";
  for await (const chunk of process.stdin) whole += chunk;
  return whole;
}

async function configOf(file: string): Promise<Config> {
  const { configText } = await import("./settings.ts");
  return JSON.parse(await configText(file));
}

function received(document: string): { input: HookInput; dialect: Dialect } {
  let input: unknown;
  try {
    input = JSON.parse(document);
  } catch {
    throw new InputError("hook: the standard input is not JSON");
  }
  return understood(input);
}

function defaultState(): string {
  const { XDG_STATE_HOME, LOCALAPPDATA } = process.env;
  const base = XDG_STATE_HOME || (process.platform === "win32" && LOCALAPPDATA) || join(homedir(), ".local", "state");
  return join(base, "loopwarden", "hooks");
}

function shown(path: string): string {
  return path.startsWith(homedir()) ? `~${path.slice(homedir().length)}` : path;
}
