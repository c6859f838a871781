import { version as coreVersion, initSync, type SyncInitInput } from "../glue/loopwarden.js";
import { Module } from "./module.ts";

/** The module with the detector. */
export const core: Module<ReturnType<typeof initSync>> = new Module("core.wasm", ({ module }) =>
  initSync({ module: module as SyncInitInput }),
);

/**
 * Hands over the WebAssembly module `loopwarden/core.wasm`. The first call counts, further ones do nothing.
 *
 * @param module - A compiled `WebAssembly.Module`, or the bytes as an `ArrayBuffer` or a view of one.

 * @throws {LoopwardenError} `invalid-argument` when the bytes are not this package's module.
 */
export function init(module: object): void {
  core.init(module);
}

/** The package's version and that of its rules, as `0.1.0+rules.1`. The second rises whenever a verdict may change. */
export function version(): string {
  return core.call(() => coreVersion());
}
