#!/usr/bin/env node
import { version } from "../entry/inline.ts";
import { LoopwardenError } from "../errors.ts";
import { nearest, UsageError } from "./args.ts";
import * as config from "./config.ts";
import * as evaluation from "./eval.ts";
import * as explain from "./explain.ts";
import * as hook from "./hook.ts";
import { InputError } from "./input.ts";
import * as replay from "./replay.ts";
import * as schema from "./schema.ts";
import * as tune from "./tune.ts";

import * as view from "./view.ts";

const COMMANDS: Record<string, { help: string; run: (args: string[]) => Promise<number> }> = {
  replay,
  explain,
  view,
  eval: evaluation,
  tune,
  hook,
  config,
  schema,
};

const HELP = `Usage: loopwarden COMMAND …

Tells when an AI agent is stuck in a loop.

  replay FILE         the story of a recorded run: what repeated, the advice, and the report at the end
  explain TRACE       why a verdict of a recorded run was given, and what would have changed it
  view [FILE]         a page to look at a recorded run, or an empty one to drop runs into
  eval PATH…          scores scenario files: loops caught, false alarms
  tune PATH…          which settings keep false alarms in your own runs under a rate
  hook                judges the hooks of Claude Code and its kin; hook install writes them into the settings
  config check FILE   whether a configuration is sound
  schema [NAME]       the JSON Schemas of events, verdicts, configuration and the rest

  --help              this text, or that of a command: loopwarden replay --help
  --version           the versions of the package and of its rules

Exit codes: 0 done, 1 an input cannot be read or is wrong, 2 wrong usage, 3 the level asked for was reached (replay) or
the rate asked for cannot be met (tune).
NO_COLOR=1 turns colours off; they are only used on a terminal.
`;

async function main([name, ...args]: string[]): Promise<number> {
  if (name === undefined) throw new UsageError("which command?");
  if (name === "--version" || name === "-V") {
    console.log(version());
    return 0;
  }
  if (name === "--help" || name === "-h" || name === "help") {
    process.stdout.write(COMMANDS[args[0] ?? ""]?.help ?? HELP);
    return 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    const near = nearest(name, Object.keys(COMMANDS));
    throw new UsageError(`there is no command ${name}${near ? `, did you mean ${near}?` : ""}`);
  }
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(command.help);
    return 0;
  }
  return command.run(args);
}

// A reader that closes early, such as `head`, is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof UsageError) {
    const command = process.argv[2] ?? "";
    const more = Object.hasOwn(COMMANDS, command) ? `loopwarden ${command} --help` : "loopwarden --help";
    process.stderr.write(`loopwarden: ${error.message}\nSee ${more}\n`);
    // Claude Code takes a hook's 2 for a refusal of the call; 1 it shows, and goes on.
    process.exitCode = process.env["CLAUDE_PROJECT_DIR"] === undefined ? 2 : 1;
  } else if (error instanceof InputError || error instanceof LoopwardenError) {
    process.stderr.write(`loopwarden: ${error.message}\n`);
    process.exitCode = 1;
  } else {
    throw error;
  }
}
