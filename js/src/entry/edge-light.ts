// Vercel's edge runtime refuses to compile bytes at run time; it compiles `.wasm?module` imports at deployment.
// @ts-expect-error: resolved by the runtime; the build leaves this import as it is
import module from "./core.wasm?module";
import { init } from "../core.ts";

init(module);

export * from "../api.ts";
