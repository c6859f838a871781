import type { ErrorCode as CoreErrorCode } from "./generated/types.ts";

/**
 * Why a call was refused.
 *
 * The codes of the core, and three of this package: `disposed` (the detector was freed), `not-initialised` (there is no
 * WebAssembly module: with `loopwarden/slim`, `init` was not called) and `internal` (the module failed, such as for lack of
 * memory: this detector is of no use any more, so restore its last snapshot into a new one; the others are as they were).
 */
export type ErrorCode = CoreErrorCode | "disposed" | "not-initialised" | "internal";

/** What every refused call throws. The detector is as it was before the call. */
export class LoopwardenError extends Error {
  override readonly name = "LoopwardenError";
  /** Stable class of the error, for programs. */
  readonly code: ErrorCode;
  /** Path of the offending field, such as `rules.cycle.block`. */
  readonly field: string | undefined;
  /** The offending value, shortened to 80 characters. */
  readonly value: string | undefined;
  readonly #reason: string;

  constructor(
    error: { code: ErrorCode; message: string; field?: string | undefined; value?: string | undefined },
    options?: { cause?: unknown },
  ) {
    const where = error.field === undefined ? "" : `\`${error.field}\`: `;
    const join = error.message.endsWith("?") ? " Got" : ", got";
    const got = error.value === undefined ? "" : `${join} \`${error.value}\``;
    super(`${where}${error.message}${got}`, options);
    this.code = error.code;
    this.field = error.field;
    this.value = error.value;
    this.#reason = error.message;
  }

  /** The error as a record for logs; its `message` is the bare reason, without field and value. */
  toJSON(): { code: ErrorCode; message: string; field?: string; value?: string } {
    return {
      code: this.code,
      message: this.#reason,
      ...(this.field !== undefined && { field: this.field }),
      ...(this.value !== undefined && { value: this.value }),
    };
  }
}
