// The entry for everything that may compile bytes at run time: Node, Deno, Bun, browsers and every bundler. The module
// travels inside the JavaScript, so that no loader, asset path or copy step can lose it: a server that was bundled into
// one file has no `core.wasm` beside it.
import wasm from "../../glue/loopwarden_bg.wasm";
import { init } from "../core.ts";

const binary = atob(wasm);
const bytes = new Uint8Array(binary.length);
// A loop, because `Uint8Array.from` walks a string by code points and takes twenty times as long.
for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
init(bytes);

export * from "../api.ts";
