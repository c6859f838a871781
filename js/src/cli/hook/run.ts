// `loopwarden hook` as called by a host: a separate bundle with only what it needs. hook.ts is the command for humans.
import { readFileSync } from "node:fs";
import { core } from "../../core.ts";
import { UsageError } from "../args.ts";
import { judge, read, unexpected, warn } from "./judge.ts";

core.provide(() => readFileSync(new URL("./core.wasm", import.meta.url)));

// The exit code is always 0: a host would treat any other as a refusal of the call.
try {
  const { values, positionals } = read(process.argv.slice(3));
  if (positionals.length > 0) throw new UsageError(unexpected(positionals));
  await judge(values);
} catch (error) {
  warn([error instanceof Error ? error.message : String(error)]);
}
