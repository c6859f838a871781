#!/usr/bin/env node
// The entry point of the command. A host starts a hook for every tool call, so that case has its own small bundle;
// everything else, including hooks typed by hand and `hook install`, loads the whole command.
import { fstatSync } from "node:fs";

const [name, ...args] = process.argv.slice(2);
const OTHERS = ["install", "uninstall", "--help", "-h"];

function isCalled(): boolean {
  if (name !== "hook" || args.some((arg) => OTHERS.includes(arg))) return false;
  try {
    return !fstatSync(0).isCharacterDevice();
  } catch {
    return true;
  }
}

await (isCalled() ? import("./hook/run.ts") : import("./main.ts"));
