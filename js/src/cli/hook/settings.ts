// The configuration that a session begins with, for `loopwarden hook` as a host calls it: another file beside run.ts, because
// only the first hook of a session reads one. It has a detector of its own to check it with.
import { readFileSync } from "node:fs";
import { core } from "../../core.ts";

core.provide(() => readFileSync(new URL("./core.wasm", import.meta.url)));

export { configText } from "../settings.ts";
