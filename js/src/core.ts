import { version as coreVersion, initSync, type SyncInitInput } from "../glue/loopwarden.js";
import { Module } from "./module.ts";

/** The WebAssembly module that contains the detector. */
export const core: Module<ReturnType<typeof initSync>> = new Module("core.wasm", ({ module }) =>
  initSync({ module: module as SyncInitInput }),
);

/**
 * Provides the WebAssembly module `loopwarden/core.wasm`. Calls after the first successful one do nothing.
 *
 * @param module - A compiled `WebAssembly.Module`, or its bytes as an `ArrayBuffer` or a view of one.
 * @throws {LoopwardenError} `invalid-argument` if this is not the package's module or the engine lacks SIMD.
 */
export function init(module: object): void {
  core.init(module);
}

/**
 * The version of the package and of its rules, such as `0.1.0+rules.1`. The latter rises whenever a verdict may change.
 */
export function version(): string {
  return core.call(() => coreVersion());
}
