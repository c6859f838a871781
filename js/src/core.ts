import { version as coreVersion, initSync, type SyncInitInput } from "../glue/loopwarden.js";
import { LoopwardenError } from "./errors.ts";

let ready = false;

/**
 * Hands over the WebAssembly module `loopwarden/core.wasm`. The first call counts, further ones do nothing.
 *
 * @param module - A compiled `WebAssembly.Module`, or the bytes as an `ArrayBuffer` or a view of one.

 * @throws {LoopwardenError} `invalid-argument` when the bytes are not this package's module.
 */
export function init(module: object): void {
  if (ready) return;
  try {
    initSync({ module: module as SyncInitInput });
  } catch (cause) {
    const message = "not the WebAssembly module of this package";
    throw new LoopwardenError({ code: "invalid-argument", message, field: "module" }, { cause });
  }
  ready = true;
}

/** Runs an operation of the core and turns what it throws into a {@link LoopwardenError}. */
export function call<T>(operation: () => T): T {
  if (!ready) {
    const message = "the WebAssembly module is not loaded: call `init(module)` of `loopwarden/slim` first";
    throw new LoopwardenError({ code: "not-initialised", message });
  }
  try {
    return operation();
  } catch (thrown) {
    // The core throws its errors as JSON text; anything else is a trap, such as memory that ran out.
    if (typeof thrown === "string") throw new LoopwardenError(JSON.parse(thrown));
    const message = `the WebAssembly core failed: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
    throw new LoopwardenError({ code: "internal", message }, { cause: thrown });
  }
}

/** The package's version and that of its rules, as `0.1.0+rules.1`. The second rises whenever a verdict may change. */
export function version(): string {
  return call(coreVersion);
}
