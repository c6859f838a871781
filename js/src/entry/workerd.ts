// Cloudflare Workers refuse to compile bytes at run time; they compile imported `.wasm` files at deployment.

import { init } from "../core.ts";
import module from "./core.wasm";

init(module);

export * from "../api.ts";
