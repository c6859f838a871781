import type { HookInput, SyncHookJSONOutput } from "../../adapters/claude-hooks.ts";
import { InputError } from "../failure.ts";

/** A host's spelling of hooks. */
export interface Dialect {
  /** Converts an answer to the form that the host reads. */
  answer(output: SyncHookJSONOutput): object;
}

/** Field names that differ by more than case, mapped to those of Claude Code. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ["tool_args", "tool_input"],
  ["tool_result", "tool_response"],
  ["tool_call_id", "tool_use_id"],
  ["event", "hook_event_name"],
  ["event_name", "hook_event_name"],
]);

/** The required fields of each hook. */
const REQUIRED: ReadonlyMap<string, readonly string[]> = new Map([
  ["PreToolUse", ["tool_name"]],
  ["PostToolUse", ["tool_name"]],
  ["PostToolUseFailure", ["tool_name"]],
  ["PermissionDenied", ["tool_name"]],
  ["UserPromptSubmit", ["prompt"]],
]);

/** Optional fields that must be strings, because names are built from them. An empty string counts as absent. */
const TEXTS = ["tool_use_id", "agent_id", "agent_type"];

/**
 * Converts a hook's input to the field names of Claude Code; hosts may also write them in camelCase.
 *
 * @throws {InputError} naming the field that is missing or invalid.
 */
export function understood(input: unknown): { input: HookInput; dialect: Dialect } {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    throw new InputError("hook: the standard input is not a JSON object");
  // Without a prototype, so that a field may have any name.
  const fields: Record<string, unknown> = Object.create(null);
  let camel = false;
  for (const [name, value] of Object.entries(input)) {
    const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    camel ||= snake !== name;
    fields[WORDS.get(snake) ?? snake] = value;
  }
  const event = string(fields, "hook_event_name");
  const name = event.charAt(0).toUpperCase() + event.slice(1);
  fields["hook_event_name"] = name;
  string(fields, "session_id");
  for (const field of REQUIRED.get(name) ?? []) string(fields, field);
  // A host without call ids runs one call at a time.
  for (const field of TEXTS) {
    if (["", null, undefined].includes(fields[field] as string)) delete fields[field];
    else string(fields, field);
  }
  for (const field of ["tool_input", "tool_response"]) fields[field] = unpacked(fields[field]);
  return { input: fields as unknown as HookInput, dialect: camel ? CAMEL : CLAUDE };
}

const CLAUDE: Dialect = { answer: (output) => output };

/** Hosts that write camelCase read the decision at the top level as well as under `hookSpecificOutput`. */
const CAMEL: Dialect = {
  answer: (output) => {
    const { hookEventName, ...decision } = output.hookSpecificOutput ?? {};
    return { ...output, ...decision };
  },
};

function string(fields: Record<string, unknown>, name: string): string {
  const value = fields[name];
  if (typeof value === "string" && value !== "") return value;
  throw new InputError(`hook: ${name}: ${value === undefined ? "is missing" : "expected text"}`);
}

/** Parses a value that some hosts encode as the JSON text of an object. */
function unpacked(value: unknown): unknown {
  if (typeof value !== "string" || !value.startsWith("{")) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
