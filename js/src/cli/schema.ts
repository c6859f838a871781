import { nearest, parse, UsageError } from "./args.ts";
import { schemaText } from "./input.ts";

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

export const help: string = `Usage: loopwarden schema [NAME]

Prints a JSON Schema (2020-12), or the names there are: ${NAMES.slice(0, 7).join(", ")},
${NAMES.slice(7).join(", ")}.

Exit codes: 0 printed, 2 wrong usage.
`;

export async function run(args: string[]): Promise<number> {
  const { positionals } = parse(args, {});
  const [name, ...more] = positionals;
  if (more.length > 0) throw new UsageError("schema: expected one name");
  if (name === undefined) {
    console.log(NAMES.join("\n"));
    return 0;
  }
  if (!NAMES.includes(name)) {
    const near = nearest(name, NAMES);
    throw new UsageError(`schema: there is none for ${name}${near ? `, did you mean ${near}?` : ""}`);
  }
  process.stdout.write(await schemaText(name));
  return 0;
}
