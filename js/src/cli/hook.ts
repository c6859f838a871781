import { homedir } from "node:os";
import { join } from "node:path";
import { answerHook, type HookInput, scoped } from "../adapters/claude-hooks.ts";
import { Guard } from "../adapters/guard.ts";
import { parse, UsageError } from "./args.ts";
import { type Dialect, understood } from "./hook/dialect.ts";
import * as install from "./hook/install.ts";
import { SessionFiles } from "./hook/sessions.ts";
import { InputError, text } from "./input.ts";
import { configText } from "./settings.ts";

export const help: string = `Usage: loopwarden hook [--config FILE] [--state DIR] [--prompts WHO] [--no-batches]
       loopwarden hook install [--project | --local | --user] [--config FILE] [--dry-run]
       loopwarden hook uninstall [--project | --local | --user] [--dry-run]

Judges one hook of a coding agent: reads the hook's JSON from the standard input and answers on the standard output.
Guidance reaches the model as additional context, a refused call is denied, and a run that goes round in circles is
stopped. Speaks the hooks of Claude Code, and of hosts that use the same shape with snake_case or camelCase names.
What went wrong inside is said on the standard error, and the agent goes on.

  --config FILE    the configuration (JSON) of new sessions; the recommended one where absent
  --state DIR      where sessions are remembered, one file each; ${shown(defaultState())} where absent
  --prompts WHO    human (default), or host: prompts of an outer loop, which are no new task
  --no-batches     for hosts without PostToolBatch: every answered call ends its round

install writes the hooks into the settings of Claude Code, uninstall takes them out: both show what changes and keep the
file as it was beside it.

  --project        .claude/settings.json, shared with everybody (default); uses the project's own node_modules
  --local          .claude/settings.local.json, only yours
  --user           ~/.claude/settings.json, in all of your projects
  --dry-run        only show what would change

Exit codes: 0 answered, 1 the input or a file is wrong, 2 wrong usage.
`;

export async function run(args: string[]): Promise<number> {
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
    throw new UsageError("hook: expected nothing, install or uninstall");
  if (action !== undefined) return install.run(action, values);
  for (const name of ["project", "local", "user", "dry-run"] as const)
    if (values[name]) throw new UsageError(`--${name} is for install and uninstall`);
  const { prompts } = values;
  if (prompts !== "human" && prompts !== "host") throw new UsageError(`--prompts ${prompts}: expected human or host`);

  const { input, dialect } = received(await text("-"));
  const config = values.config === undefined ? undefined : JSON.parse(await configText(values.config));
  const sessions = new SessionFiles(values.state ?? defaultState());
  if (input.hook_event_name === "SessionStart") await sessions.sweep();
  const answer = await sessions.update(input.session_id, (state) => {
    const warnings: string[] = [];
    const onWarning = (message: string) => warnings.push(message);
    const guard = new Guard({ config, onWarning, ...(state !== undefined && { state }) });
    const output = answerHook(scoped(guard, input), input, { prompts, batches: !values["no-batches"] });
    for (const warning of warnings) process.stderr.write(`${warning}\n`);
    return { state: guard.snapshot(), output };
  });
  process.stdout.write(`${JSON.stringify(dialect.answer(answer))}\n`);
  return 0;
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
