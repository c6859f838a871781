import { homedir } from "node:os";
import { UsageError } from "./args.ts";
import { defaultState, judge, read, unexpected, warn } from "./hook/judge.ts";

export const help: string = `Usage: loopwarden hook [--config FILE | --no-config] [--state DIR] [--prompts WHO] [--no-batches]
       loopwarden hook install [--project | --local | --user] [--config FILE | --no-config] [--dry-run]
       loopwarden hook uninstall [--project | --local | --user] [--dry-run]

Judges one hook of a coding agent: reads the hook's JSON from the standard input and answers on the standard output.
Guidance reaches the model as additional context, a refused call is denied, and a run that goes round in circles is
stopped. Supports the hooks of Claude Code, and of hosts that use the same format with snake_case or camelCase names.
A problem with the hook itself is a warning in the answer and on the standard error, and the agent goes on.

  --config FILE    the configuration of new sessions; by default loopwarden.json in the folder in which the agent works
                   (cwd of the hook, or the hook's own), if there is one; --no-config ignores that file
  --state DIR      where sessions are remembered, one folder each; by default ${shown(defaultState())}
  --prompts WHO    human (default), or host: prompts come from an outer loop and do not start a new task
  --no-batches     for hosts without PostToolBatch: every answered call ends its round; without this option such a host
                   is recognised once a call was answered, and from then on consecutive calls are rounds

install writes the hooks into the settings of Claude Code, uninstall removes them: both show what changes and keep a
copy of the old file beside it, unless the same copy exists already. A file that install created is removed again.

  --project        .claude/settings.json, shared with everybody (default); uses the project's own node_modules
  --local          .claude/settings.local.json, only for you
  --user           ~/.claude/settings.json, for all of your projects
  --dry-run        only show what would change

Exit codes: a hook always ends with 0, so that a problem with it never refuses a call. install and uninstall: 0
done, 1 a file is wrong or the command would not run, 2 wrong usage.
`;

export const words: readonly string[] = ["install", "uninstall"];

/**
 * Runs `loopwarden hook`. Called by a host, it always returns 0: hosts treat exit code 2, and some any code but 0, as a
 * refusal of the call, so one mistyped option in shared settings would refuse everybody's calls.
 */
export async function run(args: string[]): Promise<number> {
  // Hosts get here only if standard input is a character device, such as a terminal or /dev/null (start.ts). With
  // positional arguments the caller is not a host, unless the environment says so.
  const isNamed = process.env["CLAUDE_PROJECT_DIR"] === undefined && named(args).length > 0;
  const byHand =
    isNamed || process.stdin.isTTY === true || args.some((arg) => arg === "install" || arg === "uninstall");
  if (byHand) return command(args);
  try {
    return await command(args);
  } catch (error) {
    warn([error instanceof Error ? error.message : String(error)]);
    return 0;
  }
}

async function command(args: string[]): Promise<number> {
  const { values, positionals } = read(args);
  const [action, ...more] = positionals;
  if (more.length > 0 || (action !== undefined && action !== "install" && action !== "uninstall"))
    throw new UsageError(unexpected(positionals));
  if (action !== undefined) return (await import("./hook/install.ts")).run(action, values);
  await judge(values);
  return 0;
}

/** The positional arguments; empty if an option is invalid, which may happen in a hook's own command line. */
function named(args: string[]): string[] {
  try {
    return read(args).positionals;
  } catch {
    return [];
  }
}

function shown(path: string): string {
  return path.startsWith(homedir()) ? `~${path.slice(homedir().length)}` : path;
}
