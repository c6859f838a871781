// What a hook does when a host calls it. The command loads nothing else for it, neither of its own nor of Node's, since it is
// started for every call of a tool.
import { readdirSync, readSync, type Stats, statSync, writeSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import {
  answerHook,
  type HookInput,
  type HookOptions,
  type SyncHookJSONOutput,
  scoped,
} from "../../adapters/claude-hooks.ts";
import { Guard } from "../../adapters/guard.ts";
import type { Config } from "../../generated/types.ts";
import { nearest } from "../../replay/nearest.ts";
import { type Options, parse, UsageError } from "../args.ts";
import { InputError, reasonOf } from "../failure.ts";
import { inert, safe } from "../harmless.ts";
import { LARGEST, NAME } from "../name.ts";
import { type Dialect, understood } from "./dialect.ts";
import { type Entry, type Folded, forget, Journal } from "./journal.ts";

const OPTIONS = {
  config: { type: "string" },
  "no-config": { type: "boolean", default: false },
  state: { type: "string" },
  prompts: { type: "string", default: "human" },
  "no-batches": { type: "boolean", default: false },
  project: { type: "boolean", default: false },
  local: { type: "boolean", default: false },
  user: { type: "boolean", default: false },
  "dry-run": { type: "boolean", default: false },
} as const satisfies Options;

/** What the options say. */
export interface Values {
  config?: string | undefined;
  "no-config": boolean;
  state?: string | undefined;
  prompts: string;
  "no-batches": boolean;
  project: boolean;
  local: boolean;
  user: boolean;
  "dry-run": boolean;
}

/** Reads the arguments. */
export const read = (args: string[]): { values: Values; positionals: string[] } => parse(args, OPTIONS);

/** What is wrong with words that are no option. */
export function unexpected(words: readonly string[]): string {
  const near = words.length === 1 ? nearest(words[0] ?? "", ["install", "uninstall"]) : undefined;
  const meant = near === undefined ? "" : `; did you mean ${near}?`;
  return `hook ${words.join(" ")}: expected install, uninstall or nothing${meant}`;
}

/** Why the session's memory cannot be read: said by the hook that finds it so, and the next one begins afresh. */
const DAMAGED = "its memory of this session was damaged; it begins afresh";
const OUTDATED = "its memory of this session is another version's; it begins afresh";

/** A warning as a host shows it to whoever watches the agent. */
export function warn(problems: string[], answer: object = {}): void {
  const shown = problems.map((problem) => safe(problem.replace(/^\[Loopwarden\] /, "")));
  const systemMessage = shown
    .map((problem) =>
      [DAMAGED, OUTDATED].includes(problem)
        ? `Loopwarden: ${problem}`
        : `Loopwarden does not watch here: ${firstLine(problem)}`,
    )
    .join("\n");
  for (const problem of shown) say(2, `loopwarden: ${problem}`);
  say(1, inert(JSON.stringify({ ...answer, systemMessage })));
}

const firstLine = (text: string): string => text.split("\n", 1)[0] ?? "";

/**
 * Reads a hook from the standard input, judges it and answers it.
 *
 * @throws {UsageError} @throws {InputError} where it cannot.
 */
export async function judge(values: Values): Promise<void> {
  for (const name of ["project", "local", "user", "dry-run"] as const)
    if (values[name]) throw new UsageError(`--${name} is for install and uninstall`);
  const { prompts } = values;
  if (prompts !== "human" && prompts !== "host") throw new UsageError(`--prompts ${prompts}: expected human or host`);

  const { input, dialect } = received(standardInput());
  const folder = values.state ?? defaultState();
  if (input.hook_event_name === "SessionStart") sweep(folder);
  const journal = new Journal<Answer>(join(folder, `${await nameOf(input.session_id)}${SESSION}`));
  // What a session goes by is settled by its first hook.
  const file = journal.isNew ? configFile(values, input) : undefined;
  const config = file === undefined ? undefined : await configOf(file);
  const entry: Hook = {
    at: Date.now(),
    input,
    options: { prompts, batches: values["no-batches"] ? false : "unknown" },
    ...(config !== undefined && { config }),
  };
  const { output, warnings } = journal.add(entry, fold);
  const answer = dialect.answer(output);
  const problems = [...warnings, ...journal.warnings];
  if (problems.length > 0) warn(problems, answer);
  else say(1, inert(JSON.stringify(answer)));
}

/** 32 digits for a session: the host's own id may be any text, a file's name may not. */
async function nameOf(session: string): Promise<string> {
  // Most hosts take a UUID, which needs no cryptography to be one.
  if (/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(session)) return session.replaceAll("-", "");
  const { createHash } = await import("node:crypto");
  return createHash("sha256").update(session).digest("hex").slice(0, 32);
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

/**
 * Judges the hooks of a session one after the other, each at its own time. It throws nothing: what is in the journal is
 * judged by every later hook again, and one that cannot be judged must not take those along.
 */
function fold(state: string | undefined, entries: Entry[]): Folded<Answer> {
  const answers: Answer[] = [];
  let kept = state;
  let rest = entries as Hook[];
  while (rest.length > 0) {
    const taken = soundly(kept, rest);
    // Its configuration was in it as well: the next hook brings one, as the first one did.
    if (taken.isDamaged) return { state: "", answers: [...answers, ...taken.answers] };
    // A detector that broke has no state: what was known before it did stays, and that one hook is passed over.
    const good = taken.state !== "" ? taken : soundly(kept, rest.slice(0, 1));
    answers.push(...good.answers);
    kept = good.state !== "" ? good.state : kept;
    rest = rest.slice(good.answers.length);
  }
  return { state: kept ?? "", answers };
}

interface Judged extends Folded<Answer> {
  /** The state could not be read. */
  isDamaged?: boolean;
}

/** The same where something in a hook is so wrong that nobody foresaw it: there is no state, and the answer says why. */
function soundly(state: string | undefined, hooks: Hook[]): Judged {
  try {
    return judged(state, hooks);
  } catch (error) {
    const warnings = [`a hook could not be judged: ${reasonOf(error)}`];
    return { state: "", answers: hooks.map(() => ({ output: {}, warnings })) };
  }
}

function judged(state: string | undefined, hooks: Hook[]): Judged {
  let [at, warnings]: [number, string[]] = [0, []];
  const config = hooks[0]?.config;
  let unreadable: unknown;
  const guard = new Guard({
    ...(config !== undefined && { config }),
    onWarning: (message, cause) => {
      warnings.push(message);
      unreadable ??= cause;
    },
    now: () => at,
    ...(state !== undefined && state !== "" && { state }),
  });
  // The only thing that a guard warns of before it is asked anything.
  if (warnings.length > 0) {
    const why = (unreadable as { code?: unknown } | undefined)?.code === "snapshot-version" ? OUTDATED : DAMAGED;
    return { state: "", answers: hooks.map(() => ({ output: {}, warnings: [why] })), isDamaged: true };
  }
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

/** All of the standard input. Synchronous: the streams of Node take as long to load as a verdict. */
function standardInput(): string {
  const parts: Buffer[] = [];
  for (;;) {
    const part = Buffer.allocUnsafe(1 << 16);
    const length = patient(() => readSync(0, part));
    if (length === 0) return Buffer.concat(parts).toString("utf8");
    parts.push(part.subarray(0, length));
  }
}

/** Writes a line; whoever does not want to read it any more is no failure. */
function say(stream: 1 | 2, line: string): void {
  let bytes: Uint8Array = Buffer.from(`${line}\n`);
  try {
    while (bytes.length > 0) bytes = bytes.subarray(patient(() => writeSync(stream, bytes)));
  } catch (error) {
    const reason = `loopwarden: the standard output cannot be written: ${reasonOf(error)}`;
    if (stream === 1 && (error as NodeJS.ErrnoException).code !== "EPIPE") say(2, reason);
  }
}

/** Does what a host's pipe may not be ready for; that Windows ends one with an error is its end all the same. */
function patient(operation: () => number): number {
  for (;;) {
    try {
      return operation();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EOF") return 0;
      if (code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    }
  }
}

/**
 * The file that a new session goes by: the one that is named, or else that of the folder in which the agent works, as with
 * every other command.
 *
 * @throws {InputError} for what is no file: nobody may write to a pipe that a repository holds.
 */
function configFile(values: Values, { cwd }: HookInput): string | undefined {
  if (values.config !== undefined || values["no-config"]) return values.config;
  let file: string;
  let found: Stats;
  try {
    file = join(typeof cwd === "string" && cwd !== "" ? cwd : process.cwd(), NAME);
    found = statSync(file);
  } catch {
    return undefined;
  }
  if (!found.isFile()) throw new InputError(`${file}: is no file`);
  if (found.size > LARGEST) throw new InputError(`${file}: is too large for a configuration`);
  return file;
}

async function configOf(file: string): Promise<Config> {
  const { configText } = await import("./settings.ts");
  return JSON.parse(await configText(file));
}

function received(document: string): { input: HookInput; dialect: Dialect } {
  let input: unknown;
  try {
    // Shells of Windows begin a pipe with a mark of their own.
    input = JSON.parse(document.replace(/^\ufeff/, ""));
  } catch {
    throw new InputError("hook: the standard input is not JSON");
  }
  return understood(input);
}

export function defaultState(): string {
  const { XDG_STATE_HOME, LOCALAPPDATA } = process.env;
  const base = XDG_STATE_HOME || (process.platform === "win32" && LOCALAPPDATA) || join(homedir(), ".local", "state");
  return join(base, "loopwarden", "hooks");
}
