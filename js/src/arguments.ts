import { type ErrorCode, LoopwardenError } from "./errors.ts";
import { reason } from "./module.ts";

/** The longest accepted text, in UTF-16 code units: what the core can surely parse within its 4 GiB of memory. */
const MAX_TEXT = 32 * 1024 * 1024;

/** The JSON text of an argument, or an error that says why there is none. */
export function json(value: unknown, code: "invalid-config" | "invalid-event" | "invalid-argument"): string {
  let text: string | undefined;
  try {
    text = typeof value === "string" ? value : JSON.stringify(value);
  } catch (cause) {
    throw new LoopwardenError({ code, message: `cannot be written as JSON: ${reason(cause)}` }, { cause });
  }
  if (text === undefined) {
    throw new LoopwardenError({ code, message: "expected an object", value: typeof value });
  }
  return bounded(text, code);
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
