import { readFileSync } from "node:fs";
import { tools } from "../tools.ts";

tools.provide(() => readFileSync(new URL("./tools.wasm", import.meta.url)));

export * from "../tools-api.ts";
