// The entry for bundlers and browsers. The module is inlined into the JavaScript, so that no loader, asset path or copy
// step can lose it: a server bundled into one file has no `core.wasm` beside it.
import wasm from "../../glue/loopwarden_bg.wasm";
import { core } from "../core.ts";
import { bytes } from "./bytes.ts";

core.provide(() => bytes(wasm));

export * from "../api.ts";
