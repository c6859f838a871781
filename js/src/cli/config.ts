import { type Options, parse, UsageError } from "./args.ts";
import { InputError } from "./failure.ts";
import { print, printJson } from "./print.ts";
import { NAME, read } from "./settings.ts";

export const help: string = `Usage: loopwarden config check [FILE] [--json]

Says whether a configuration is sound: no unknown field, no contradiction, no threshold that can never be reached or that
has no effect. An error names the field and, where it can be found, the line. FILE is ${NAME} of this folder where
absent, and may be "-" for the standard input. Comments, commas behind the last element and "$schema" may stand in it.

  --json  {"file", "ok", "error"?} instead of a sentence

Exit codes: 0 sound, 1 not sound or not readable, 2 wrong usage.
`;

const OWN = { json: { type: "boolean", default: false } } as const satisfies Options;
export const options: Options = OWN;

/** What completion offers. */
export const words: readonly string[] = ["check"];

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, OWN);
  const [action, file = NAME, ...more] = positionals;
  if (action !== "check" || more.length > 0) throw new UsageError("config: expected `check FILE`");
  try {
    await read(file);
  } catch (error) {
    if (!values.json || !(error instanceof InputError)) throw error;
    printJson({ file, ok: false, error: error.message });
    return 1;
  }
  if (values.json) printJson({ file, ok: true });
  else print(`${file}: ok`);
  return 0;
}
