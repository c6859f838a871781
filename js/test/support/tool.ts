import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { js } from "./packed.ts";
import { run } from "./run.ts";

/** The script behind a command of the development dependencies, run without a shell on every platform. */
function script(name: string, bin: string): string {
  const require = createRequire(join(js, "package.json"));
  const folders = [js, join(js, "test")].map((folder) => join(folder, "node_modules", name, "package.json"));
  const path = folders.find(existsSync) ?? assert.fail(`${name} is not installed`);
  const { bin: bins } = require(path);
  return join(dirname(path), typeof bins === "string" ? bins : bins[bin]);
}

/** Runs a development tool, which must succeed, and returns what it printed. */
export async function tool(name: string, bin: string, args: string[], cwd: string = js): Promise<string> {
  const { code, stdout, stderr } = await run(process.execPath, [script(name, bin), ...args], { cwd });
  assert.equal(code, 0, stdout + stderr);
  return stdout;
}
