// Judges a hook when a host calls it. Loads as little code as possible, of ours and of Node's, because a process is
// started for every tool call.
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
import { MAX_CONFIG, NAME } from "../name.ts";
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

/** The parsed options. */
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

/** Parses the arguments; throws a {@link UsageError}. */
export const read = (args: string[]): { values: Values; positionals: string[] } => parse(args, OPTIONS);

/** The error message for unexpected positional arguments. */
export function unexpected(words: readonly string[]): string {
  const near = words.length === 1 ? nearest(words[0] ?? "", ["install", "uninstall"]) : undefined;
  const meant = near === undefined ? "" : `; did you mean ${near}?`;
  return `hook ${words.join(" ")}: expected install, uninstall or nothing${meant}`;
}

/** Why the session's state cannot be read: reported by the hook that notices it; the next one starts afresh. */
const DAMAGED = "its memory of this session was damaged; it starts again";
const OUTDATED = "its memory of this session is from another version; it starts again";

/** Writes an answer with warnings, which the host shows to the user, and the warnings to standard error. */
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
 * Reads a hook from the standard input, judges it and writes the answer.
 *
 * @throws {UsageError} for invalid options.
 * @throws {InputError} if the hook, its configuration or the journal cannot be read or written.
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
  // The first hook of a session determines its configuration.
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

/** A session's name as 32 hex digits: the host's id may be any text, but a file name may not. */
async function nameOf(session: string): Promise<string> {
  // Most hosts use a UUID, which needs no hash.
  if (/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(session)) return session.replaceAll("-", "");
  const { createHash } = await import("node:crypto");
  return createHash("sha256").update(session).digest("hex").slice(0, 32);
}

/** The input of a hook, its options, and the configuration if it begins the session. */
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
 * Judges the hooks of a session in order, each at its own time. Never throws: later hooks judge the entries of the
 * journal again, and a single entry that cannot be judged must not break them all.
 */
function fold(state: string | undefined, entries: Entry[]): Folded<Answer> {
  const answers: Answer[] = [];
  let kept = state;
  let rest = entries as Hook[];
  while (rest.length > 0) {
    const taken = soundly(kept, rest);
    // The configuration is lost with the state: the next hook provides one, as the first did.
    if (taken.isDamaged) return { state: "", answers: [...answers, ...taken.answers] };
    // If the detector failed there is no state: the last good one is kept, and the failing hook is skipped.
    const good = taken.state !== "" ? taken : soundly(kept, rest.slice(0, 1));
    answers.push(...good.answers);
    kept = good.state !== "" ? good.state : kept;
    rest = rest.slice(good.answers.length);
  }
  return { state: kept ?? "", answers };
}

interface Judged extends Folded<Answer> {
  /** Whether the state could not be read. */
  isDamaged?: boolean;
}

/** As {@link judged}, but an unexpected error yields an empty state and a warning. */
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
  // The constructor of a guard only warns if it cannot read the state.
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

/** The suffix of a session's folder. */
const SESSION = ".session";
/** Time without a hook after which a session is deleted, in milliseconds. */
const FORGOTTEN = 30 * 24 * 60 * 60 * 1000;

/** Deletes sessions that have not been used for {@link FORGOTTEN} milliseconds. */
function sweep(folder: string): void {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    // The folder does not exist yet, or the journal will report what is wrong with it.
    return;
  }
  for (const name of names)
    if (/^[0-9a-f]{32}\.session$/.test(name)) forget(join(folder, name), Date.now() - FORGOTTEN);
}

/** Reads all of the standard input. Synchronously, because loading Node's streams takes as long as a verdict. */
function standardInput(): string {
  const parts: Buffer[] = [];
  for (;;) {
    const part = Buffer.allocUnsafe(1 << 16);
    const length = patient(() => readSync(0, part));
    if (length === 0) return Buffer.concat(parts).toString("utf8");
    parts.push(part.subarray(0, length));
  }
}

/** Writes a line to a file descriptor. A closed pipe is not an error. */
function say(stream: 1 | 2, line: string): void {
  let bytes: Uint8Array = Buffer.from(`${line}\n`);
  try {
    while (bytes.length > 0) bytes = bytes.subarray(patient(() => writeSync(stream, bytes)));
  } catch (error) {
    const reason = `loopwarden: the standard output cannot be written: ${reasonOf(error)}`;
    if (stream === 1 && (error as NodeJS.ErrnoException).code !== "EPIPE") say(2, reason);
  }
}

/**
 * Retries an operation on a pipe until it is ready (EAGAIN). On Windows, a closed pipe is reported as EOF: returns 0.
 */
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
 * The configuration file of a new session: the one named by an option, or else the one in the agent's working folder,
 * as with every other command.
 *
 * @throws {InputError} if it is not a regular file (reading a pipe would block) or is too large.
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
  if (!found.isFile()) throw new InputError(`${file}: is not a file`);
  if (found.size > MAX_CONFIG) throw new InputError(`${file}: is too large for a configuration`);
  return file;
}

async function configOf(file: string): Promise<Config> {
  const { configText } = await import("./settings.ts");
  return JSON.parse(await configText(file));
}

function received(document: string): { input: HookInput; dialect: Dialect } {
  let input: unknown;
  try {
    // Windows shells may write a byte order mark into a pipe.
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
