import { expected, type Options, parse, UsageError } from "./args.ts";
import { schemaText } from "./input.ts";
import { print, printJson, printRaw } from "./print.ts";

const NAMES = [
  "event",
  "verdict",
  "config",
  "scenario",
  "scope",
  "decision",
  "graph",
  "reset-reason",
  "status",
  "metrics",
  "report",
  "record",
  "error",
];

export const help: string = `Usage: loopwarden schema [NAME] [--json]

Prints a JSON Schema (2020-12), or the names of all: ${NAMES.slice(0, 7).join(", ")},
${NAMES.slice(7).join(", ")}. --json lists the names as JSON.

For an editor, write this into loopwarden.json:
  "$schema": "./node_modules/loopwarden/schema/config.schema.json"

Exit codes: 0 printed, 2 wrong usage.
`;

const OWN = { json: { type: "boolean", default: false } } as const satisfies Options;
export const options: Options = OWN;

/** Words for completion. */
export const words: readonly string[] = NAMES;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, OWN);
  const [name, ...more] = positionals;
  if (more.length > 0) throw new UsageError("schema: expected one name");
  if (name === undefined) {
    if (values.json) printJson(NAMES);
    else print(NAMES.join("\n"));
    return 0;
  }
  if (!NAMES.includes(name)) throw new UsageError(`schema: there is none for ${name}: ${expected(name, NAMES)}`);
  printRaw(await schemaText(name));
  return 0;
}
