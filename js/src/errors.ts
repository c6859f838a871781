import type { ErrorCode as CoreErrorCode } from "./generated/types.ts";

/**
 * Why a call failed.
 *
 * The codes of the core, and three of this package: `disposed` (the detector was freed), `not-initialised` (there is no
 * WebAssembly module, such as with `loopwarden/slim` before `init`) and `internal` (the module trapped, such as when
 * out of memory: this detector is unusable, so restore its last snapshot into a new one; other detectors are
 * unaffected).
 */
export type ErrorCode = CoreErrorCode | "disposed" | "not-initialised" | "internal";

/** Thrown by every call that fails. Unless the code is `internal`, the detector is unchanged. */
export class LoopwardenError extends Error {
  override readonly name = "LoopwardenError";
  /** Stable error code, for programs. */
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

  /** The error as a plain object for logs; its `message` is the reason alone, without field and value. */
  toJSON(): { code: ErrorCode; message: string; field?: string; value?: string } {
    return {
      code: this.code,
      message: this.#reason,
      ...(this.field !== undefined && { field: this.field }),
      ...(this.value !== undefined && { value: this.value }),
    };
  }
}
