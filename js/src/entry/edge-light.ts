// Vercel's edge runtime refuses to compile bytes at run time; it compiles `.wasm?module` imports at deployment.

import { core } from "../core.ts";
import module from "./core.wasm?module";

core.provide(() => module);

export * from "../api.ts";
