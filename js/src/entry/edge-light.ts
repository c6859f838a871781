// Vercel's edge runtime refuses to compile bytes at run time; it compiles `.wasm?module` imports at deployment.

import { init } from "../core.ts";
import module from "./core.wasm?module";

init(module);

export * from "../api.ts";
