import type { HookInput, SyncHookJSONOutput } from "../../adapters/claude-hooks.ts";
import { InputError } from "../failure.ts";

/** How a host spells the hooks. */
export interface Dialect {
  /** The answer as the host reads it. */
  answer(output: SyncHookJSONOutput): object;
}

/** Names that are another word, and not only another case. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ["tool_args", "tool_input"],
  ["tool_result", "tool_response"],
  ["tool_call_id", "tool_use_id"],
  ["event", "hook_event_name"],
  ["event_name", "hook_event_name"],
]);

/** What a hook cannot be judged without. */
const REQUIRED: ReadonlyMap<string, readonly string[]> = new Map([
  ["PreToolUse", ["tool_name"]],
  ["PostToolUse", ["tool_name"]],
  ["PostToolUseFailure", ["tool_name"]],
  ["PermissionDenied", ["tool_name"]],
  ["UserPromptSubmit", ["prompt"]],
]);

/** What is text where it is there at all: names are put together of it. An empty one is none. */
const TEXTS = ["tool_use_id", "agent_id", "agent_type"];

/**
 * A hook's input in the names of Claude Code, from that or from a host that writes them in camelCase.
 *
 * @throws {InputError} naming the field that is missing or wrong.
 */
export function understood(input: unknown): { input: HookInput; dialect: Dialect } {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    throw new InputError("hook: the standard input is not a JSON object");
  // Without a prototype: whatever a name is, it is a field's and nothing else.
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
  // A host that has no ids runs one call after the other.
  for (const field of TEXTS) {
    if (["", null, undefined].includes(fields[field] as string)) delete fields[field];
    else string(fields, field);
  }
  for (const field of ["tool_input", "tool_response"]) fields[field] = unpacked(fields[field]);
  return { input: fields as unknown as HookInput, dialect: camel ? CAMEL : CLAUDE };
}

const CLAUDE: Dialect = { answer: (output) => output };

/** Hosts that write camelCase read the decision at the top as well as under `hookSpecificOutput`. */
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

/** Some hosts write arguments as the text of a JSON object. */
function unpacked(value: unknown): unknown {
  if (typeof value !== "string" || !value.startsWith("{")) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
