import { type ErrorCode, LoopwardenError } from "./errors.ts";
import { reason } from "./module.ts";

/** The longest accepted text, in UTF-16 code units; the core is sure to parse this much within its 4 GiB of memory. */
const MAX_TEXT = 32 * 1024 * 1024;

/** What an argument without a name is, in errors. */
const WHOLE: Partial<Record<ErrorCode, string>> = {
  "invalid-config": "the configuration: ",
  "invalid-event": "the event: ",
};

/**
 * An argument as JSON text. A string is taken as JSON text already.
 *
 * @throws {LoopwardenError} `code`, with the path of the part that JSON cannot represent, below `name` where given.
 */
export function json(
  value: unknown,
  code: "invalid-config" | "invalid-event" | "invalid-argument",
  name?: string,
): string {
  let text: string | undefined;
  try {
    text = typeof value === "string" ? value : JSON.stringify(value, written(code, name));
  } catch (cause) {
    if (cause instanceof LoopwardenError) throw cause;
    const circle = circular(value);
    if (circle !== undefined) {
      const inside = (path: string) => [name, path].filter((part) => part !== undefined && part !== "").join(".");
      const whole = inside(circle.of) === "" ? "itself" : `\`${inside(circle.of)}\` again`;
      const message = `cannot be written as JSON: it is circular, it contains ${whole}`;
      throw new LoopwardenError({ code, message, field: inside(circle.at) }, { cause });
    }
    const why = cause instanceof RangeError ? "it is nested too deeply, 120 levels are accepted" : reason(cause);
    const field = [name, culprit(value)].filter((part) => part !== undefined).join(".") || undefined;
    throw new LoopwardenError({ code, message: `cannot be written as JSON: ${why}`, field }, { cause });
  }
  const begins = typeof value === "string" ? value.trim() : "{";
  if (code === "invalid-config" && /\.jsonc?$/.test(begins)) {
    const message = "expected an object or its JSON: read the file first";
    throw new LoopwardenError({ code, message: `the configuration: ${message}`, value: begins });
  }
  const isText = name !== undefined && !begins.startsWith("{");
  if (text === undefined || isText) {
    const got = isText ? text : typeof value;
    const whole = name === undefined ? (WHOLE[code] ?? "") : "";
    throw new LoopwardenError({ code, message: `${whole}expected an object`, field: name, value: got });
  }
  return text.length > MAX_TEXT ? bounded(text, code, name ?? longest(value)) : text;
}

/** The first field of a value that cannot be written as JSON: a getter or a `toJSON` that throws, nested too deeply. */
function culprit(value: unknown): string | undefined {
  try {
    for (const field of Object.keys(Object(value))) {
      try {
        JSON.stringify(Object(value)[field]);
      } catch {
        return field;
      }
    }
  } catch {
    // A proxy of which not even the fields can be asked for.
  }
  return undefined;
}

/** The field of a value that holds the longest text, if any does. */
function longest(value: unknown): string | undefined {
  try {
    const texts = Object.entries(Object(value)).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    );
    return texts.sort(([, one], [, other]) => other.length - one.length)[0]?.[0];
  } catch {
    // A getter that was read by a `toJSON` alone.
    return undefined;
  }
}

/**
 * A replacer for what JSON.stringify would silently turn into `{}` or `null`: errors become `name: message`, regular
 * expressions their source; collections, promises, bigints and objects that hide what they hold are refused, and so is
 * a Date for a time in milliseconds; so are NaN and infinities, except below the top level of an event (a tool's
 * arguments and output). The output of a tool that returned nothing, `undefined`, is `null`.
 */
function written(code: ErrorCode, name = ""): (field: string, value: unknown) => unknown {
  let root: unknown;
  return function (this: unknown, field, value) {
    if (field === "" && !Array.isArray(value)) root ??= value;
    if (typeof value === "number" && !Number.isFinite(value) && (code !== "invalid-event" || this === root)) {
      const message = "expected JSON, which has no such number";
      throw new LoopwardenError({ code, message, field: place(root, this, field, name), value: String(value) });
    }
    // A Date is a text by now, or null.
    const isTime = (field === "at" || field === "until") && this === root && typeof value !== "number";
    if (isTime && Object(this)[field] instanceof Date) {
      const message = "expected milliseconds since 1970: pass `date.getTime()`";
      throw new LoopwardenError({ code, message, field: place(root, this, field, name), value: "Date" });
    }
    if (value === undefined && field === "output" && code === "invalid-event" && this === root) return null;
    // JSON would leave it out, and the setting would be the default.
    if (typeof value === "function" && field !== "" && code === "invalid-config") {
      throw refused(code, place(root, this, field, name), "function");
    }
    if (typeof value === "bigint") throw refused(code, place(root, this, field, name), `${value}n`);
    if (typeof value !== "object" || value === null) return value;
    if (code === "invalid-config" && value instanceof RegExp) {
      const message = `expected a string: the expression's source, such as ${JSON.stringify(value.source)}`;
      throw new LoopwardenError({ code, message, field: place(root, this, field, name), value: String(value) });
    }
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    if (value instanceof RegExp) return String(value);
    const kind = [Map, Set, Promise, WeakMap, WeakSet].find((kind) => value instanceof kind);
    if (kind !== undefined) throw refused(code, place(root, this, field, name), kind.name);
    if (hidden(value)) throw refused(code, place(root, this, field, name), value.constructor.name);
    return value;
  };
}

/** Whether an object of a class keeps all it holds where JSON does not look: a `Response`, `Headers`, a `Blob`. */
function hidden(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (typeof prototype !== "object" || prototype === null || prototype === Object.prototype) return false;
  // Of another realm, or a list.
  if (value.constructor?.name === "Object" || Array.isArray(value)) return false;
  return Object.keys(value).length === 0 && Reflect.ownKeys(prototype).length > 1;
}

/** The path of `holder`'s field or item below the root and its name, such as `args.m` or `events[3].at`. */
function place(root: unknown, holder: unknown, field: string, name: string): string {
  const seen = new Set<unknown>();
  const below = (from: unknown, path: string): string | undefined => {
    if (from === holder) return path;
    if (typeof from !== "object" || from === null || seen.has(from)) return undefined;
    seen.add(from);
    for (const [name, value] of Object.entries(from)) {
      const found = below(value, joined(from, path, name));
      if (found !== undefined) return found;
    }
    return undefined;
  };
  // An object that a `toJSON` returned is not found below the root.
  return joined(holder, below(root, name) ?? name, field);
}

/** The first circular reference in a value: the path it is found at and the path of the ancestor it refers to. */
function circular(root: unknown): { at: string; of: string } | undefined {
  const above = new Map<unknown, string>();
  const done = new Set<unknown>();
  const below = (from: unknown, path: string): { at: string; of: string } | undefined => {
    if (typeof from !== "object" || from === null || done.has(from)) return undefined;
    const of = above.get(from);
    if (of !== undefined) return { at: path, of };
    above.set(from, path);
    for (const [name, value] of Object.entries(from)) {
      const found = below(value, joined(from, path, name));
      if (found !== undefined) return found;
    }
    above.delete(from);
    done.add(from);
    return undefined;
  };
  try {
    return below(root, "");
  } catch {
    // A getter threw or the stack overflowed: the failure is not (only) a circular reference.
    return undefined;
  }
}

function joined(holder: unknown, path: string, field: string): string {
  return Array.isArray(holder) ? `${path}[${field}]` : path === "" ? field : `${path}.${field}`;
}

function refused(code: ErrorCode, field: string, value: string): LoopwardenError {
  const hints: Record<string, string> = { Promise: ": await it first", Response: ": await its text() first" };
  const message = `expected JSON${hints[value] ?? ""}`;
  return new LoopwardenError({ code, message, value, ...(field === "" ? {} : { field }) });
}

/** Requires a string. Nothing is converted: a conversion could run the caller's code or throw anything. */
export function text(value: unknown, field: string): string {
  if (typeof value !== "string") {
    const got = value === null ? "null" : typeof value;
    throw new LoopwardenError({ code: "invalid-argument", message: "expected a text", field, value: got });
  }
  return value;
}

/** The text itself, if it is no longer than {@link MAX_TEXT}. */
export function bounded(text: string, code: ErrorCode, field?: string): string {
  if (text.length > MAX_TEXT) {
    const whole = field === undefined ? (WHOLE[code] ?? "") : "";
    const message = `${whole}longer than ${MAX_TEXT} characters`;
    throw new LoopwardenError({ code, message, field, value: `${text.length}` });
  }
  return text;
}
