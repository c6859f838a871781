// The entry for bundlers and browsers. The module travels inside the JavaScript, so that no loader, asset path or copy step
// can lose it: a server that was bundled into one file has no `core.wasm` beside it.
import wasm from "../../glue/loopwarden_bg.wasm";
import { core } from "../core.ts";
import { bytes } from "./bytes.ts";

core.provide(() => bytes(wasm));

export * from "../api.ts";
