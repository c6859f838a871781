// The entry for everything that may compile bytes at run time: Node, Deno, Bun, browsers and every bundler. The module
// travels inside the JavaScript, so that no loader, asset path or copy step can lose it: a server that was bundled into
// one file has no `core.wasm` beside it.
import wasm from "../../glue/loopwarden_bg.wasm";
import { init } from "../core.ts";

init(Uint8Array.from(atob(wasm), (char) => char.charCodeAt(0)));

export * from "../api.ts";
