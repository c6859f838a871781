// `loopwarden hook` as a host calls it: a file of its own, with all that it needs and nothing else. hook.ts is the command by
// hand.
import { readFileSync } from "node:fs";
import { core } from "../../core.ts";
import { UsageError } from "../args.ts";
import { judge, read, unexpected, warn } from "./judge.ts";

core.provide(() => readFileSync(new URL("./core.wasm", import.meta.url)));

// Whatever is wrong, the exit code is 0: a host would take another one for a refusal of the call.
try {
  const { values, positionals } = read(process.argv.slice(3));
  if (positionals.length > 0) throw new UsageError(unexpected(positionals));
  await judge(values);
} catch (error) {
  warn([error instanceof Error ? error.message : String(error)]);
}
