// The command's WebAssembly modules, which are beside it. Each is read when it is first needed.
import { readFileSync } from "node:fs";
import { core } from "../core.ts";
import { tools } from "../tools.ts";

core.provide(() => readFileSync(new URL("./core.wasm", import.meta.url)));
tools.provide(() => readFileSync(new URL("./tools.wasm", import.meta.url)));
