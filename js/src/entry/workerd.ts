// Cloudflare Workers refuse to compile bytes at run time; they compile imported `.wasm` files at deployment.

import { core } from "../core.ts";
import module from "./core.wasm";

core.provide(() => module);

export * from "../api.ts";
