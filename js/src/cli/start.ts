#!/usr/bin/env node
// Where the command begins. A hook is started for every call of a tool, so that it has a file of its own; whoever types it, or
// has something to install, gets the whole command.
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
