import { LoopDetector } from "../detector.ts";
import { parse, UsageError } from "./args.ts";
import { InputError, located, text } from "./input.ts";

export const help: string = `Usage: loopwarden config check FILE

Says whether a configuration is sound: no unknown field, no contradiction, no threshold that can never be reached.
An error names the field and, where it can be found, the line. FILE may be "-" for the standard input.

Exit codes: 0 sound, 1 not sound or not readable, 2 wrong usage.
`;

export async function run(args: string[]): Promise<number> {
  const { positionals } = parse(args, {});
  const [action, file, ...more] = positionals;
  if (action !== "check" || file === undefined || more.length > 0)
    throw new UsageError("config: expected `check FILE`");
  const document = await text(file);
  try {
    new LoopDetector(document).free();
  } catch (error) {
    throw new InputError(located(file, document, error));
  }
  console.log(`${file}: ok`);
  return 0;
}
