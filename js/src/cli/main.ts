import "./modules.ts";
import { version } from "../core.ts";
import { LoopwardenError } from "../errors.ts";
import { meant } from "../replay/nearest.ts";
import { type Command, UsageError } from "./args.ts";
import { called } from "./called.ts";
import { InputError, reasonOf } from "./failure.ts";
import { print, printJson, printRaw, progress, tell } from "./print.ts";

/** The subcommands, each loaded on demand to keep the start fast. */
const COMMANDS: Record<string, () => Promise<Command>> = {
  replay: () => import("./replay.ts"),
  watch: () => import("./watch.ts"),
  explain: () => import("./explain.ts"),
  view: () => import("./view.ts"),
  eval: () => import("./eval.ts"),
  tune: () => import("./tune.ts"),
  hook: () => import("./hook.ts"),
  mcp: () => import("./mcp.ts"),
  proxy: () => import("./proxy/serve.ts"),
  config: () => import("./config.ts"),
  doctor: () => import("./doctor.ts"),
  schema: () => import("./schema.ts"),
  completion: async () => {
    const completion = await import("./completion.ts");
    return { ...completion, run: async (args) => completion.complete(args, await everyCommand()) };
  },
};

async function everyCommand(): Promise<Record<string, Command>> {
  const all = Object.entries(COMMANDS).map(async ([name, read]) => [name, await read()] as const);
  return Object.fromEntries(await Promise.all(all));
}

/** The command line that a word belongs to, such as `config check` for `check`. */
async function whose(word: string): Promise<string | undefined> {
  const commands = Object.entries(await everyCommand());
  const found = commands.find(([, { words = [] }]) => words.includes(word));
  return found && `${found[0]} ${word}`;
}

/** Loads a command by name. */
async function commandOf(name: string): Promise<Command | undefined> {
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name]?.() : undefined;
}

const HELP = `Usage: loopwarden COMMAND …

Detects when an AI agent is stuck in a loop.

  replay FILE         the story of a recorded run: what repeated, the advice, and the report at the end
  watch [FILE]        follows a session while it is being written, and reports findings as they happen
  explain TRACE       why a verdict of a recorded run was given, and what would have changed it
  view [FILE]         a page to look at a recorded run, or an empty one to drop runs into
  eval PATH…          scores scenario files: loops caught, false alarms
  tune PATH…          which settings keep false alarms in your own runs below a rate
  hook                judges the hooks of Claude Code and similar agents; hook install writes them into the settings
  mcp -- COMMAND…     runs between an MCP client and a server, and judges tool calls
  proxy               runs between a program and its model's API, and ends what goes round in circles
  config check FILE   whether a configuration is valid
  doctor              whether everything on this machine is set up correctly
  schema [NAME]       the JSON Schemas of events, verdicts, configuration and the rest
  completion SHELL    a completion script for bash, zsh or fish

  -h, --help          this text, or the help of a command: npx loopwarden replay --help
  -v, --version       the versions of the package and of its rules; with --json as an object

replay, watch, explain and view accept --last instead of a file: the newest session of an agent on this machine.

Exit codes: 0 done, 1 an input is wrong or cannot be read (also if nothing was found in a log of which a quarter or more
could not be read; with --strict, anything), 2 wrong usage, 3 the given level was reached (replay, watch), the given
rate cannot be met (tune) or a scenario was judged wrongly (eval --strict).
NO_COLOR=1 turns colours off, FORCE_COLOR=1 on; without either they are only used on a terminal.
`;

async function main([name, ...args]: string[]): Promise<number> {
  if (name === undefined) {
    tell(`loopwarden: which command?\n\n${HELP.trimEnd()}`);
    return 2;
  }
  if (name === "--version" || name === "-v" || name === "-V") {
    const [own, rules] = version().split("+rules.");
    if (args.includes("--json")) printJson({ version: own, rules: Number(rules) });
    else print(version());
    return 0;
  }
  if (name === "--help" || name === "-h" || name === "help") {
    printRaw((await commandOf(args[0] ?? ""))?.help ?? HELP);
    return 0;
  }
  const command = await commandOf(name);
  if (command === undefined) {
    const near = (await whose(name)) ?? meant(name, Object.keys(COMMANDS));
    const known = near ? `, did you mean ${near}?` : `: expected one of ${Object.keys(COMMANDS).join(", ")}`;
    throw new UsageError(`there is no command ${name}${known}`);
  }
  // Arguments after -- belong to another program.
  const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  if (own.includes("--help") || own.includes("-h")) {
    printRaw(command.help);
    return 0;
  }
  return command.run(args);
}

// A reader that closes early, such as `head`, is not a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit();
  failed(`the standard output cannot be written: ${reasonOf(error)}`);
  process.exit(1);
});

// A closed standard error must not stop the command.
process.stderr.on("error", () => {});

function failed(message: string): void {
  progress(undefined);
  tell(`loopwarden: ${message}`);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof UsageError) {
    const command = process.argv[2] ?? "";
    const more = [...called(), ...(Object.hasOwn(COMMANDS, command) ? [command] : []), "--help"];
    failed(`${error.message}\nSee ${more.join(" ")}`);
    // Claude Code treats a hook's exit code 2 as a refusal of the call; with 1 it shows the error and goes on.
    process.exitCode = process.env["CLAUDE_PROJECT_DIR"] === undefined ? 2 : 1;
  } else if (error instanceof InputError || error instanceof LoopwardenError) {
    for (const message of error instanceof InputError ? error.messages : [error.message]) failed(message);
    process.exitCode = 1;
  } else if (typeof code === "string" && error instanceof Error) {
    // A system error that no command handled.
    failed(`${reasonOf(error)} (${code})`);
    process.exitCode = 1;
  } else {
    failed(`this should not happen, please report it: ${error instanceof Error ? error.stack : String(error)}`);
    process.exitCode = 1;
  }
}
