// Cloudflare Workers refuse to compile bytes at run time; they compile imported `.wasm` files at deployment.
// @ts-expect-error: resolved by the runtime; the build leaves this import as it is
import module from "./core.wasm";
import { init } from "../core.ts";

init(module);

export * from "../api.ts";
