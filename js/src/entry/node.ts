// The entry for Node, Deno and Bun, which read the module from its file when it is first needed.
import { readFileSync } from "node:fs";
import { core } from "../core.ts";

core.provide(() => readFileSync(new URL("./core.wasm", import.meta.url)));

export * from "../api.ts";
