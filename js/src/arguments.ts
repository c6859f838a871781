import { type ErrorCode, LoopwardenError } from "./errors.ts";
import { reason } from "./module.ts";

/** The longest accepted text, in UTF-16 code units: what the core can surely parse within its 4 GiB of memory. */
const MAX_TEXT = 32 * 1024 * 1024;

/** The JSON text of an argument, or an error that says why there is none and names it. */
export function json(
  value: unknown,
  code: "invalid-config" | "invalid-event" | "invalid-argument",
  name?: string,
): string {
  let text: string | undefined;
  try {
    text = typeof value === "string" ? value : JSON.stringify(value, written(code));
  } catch (cause) {
    if (cause instanceof LoopwardenError) throw cause;
    const message = `cannot be written as JSON: ${reason(cause)}`;
    throw new LoopwardenError({ code, message, field: name }, { cause });
  }
  const isText = name !== undefined && typeof value === "string" && !value.trimStart().startsWith("{");
  if (text === undefined || isText) {
    const got = isText ? text : typeof value;
    throw new LoopwardenError({ code, message: "expected an object", field: name, value: got });
  }
  return bounded(text, code);
}

/**
 * What JSON.stringify would make `{}` or `null` of without a word: an error is what it says; what holds its content
 * elsewhere is refused, and so is a number that is none, but in what a tool was given and has answered.
 */
function written(code: ErrorCode): (field: string, value: unknown) => unknown {
  let root: unknown;
  return function (this: unknown, field, value) {
    if (field === "" && !Array.isArray(value)) root ??= value;
    if (typeof value === "number" && !Number.isFinite(value) && (code !== "invalid-event" || this === root)) {
      throw new LoopwardenError({ code, message: "expected a number", field, value: String(value) });
    }
    if (typeof value !== "object" || value === null) return value;
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    const kind = [Map, Set, Promise, WeakMap, WeakSet].find((kind) => value instanceof kind);
    if (kind !== undefined) throw refused(code, field, kind.name);
    return value;
  };
}

function refused(code: ErrorCode, field: string, value: string): LoopwardenError {
  const message = value === "Promise" ? "expected JSON: await it first" : "expected JSON";
  return new LoopwardenError({ code, message, value, ...(field === "" ? {} : { field }) });
}

/** A text that must be one already: nothing is asked to become text, which could run code or throw anything. */
export function text(value: unknown, field: string): string {
  if (typeof value !== "string") {
    const got = value === null ? "null" : typeof value;
    throw new LoopwardenError({ code: "invalid-argument", message: "expected a text", field, value: got });
  }
  return value;
}

/** A text that the core can read. */
export function bounded(text: string, code: ErrorCode): string {
  if (text.length > MAX_TEXT) {
    throw new LoopwardenError({ code, message: `longer than ${MAX_TEXT} characters`, value: `${text.length}` });
  }
  return text;
}
