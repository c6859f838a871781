// The hooks of Claude Code, which the Claude Agent SDK calls in-process and other hosts call as a command: hook inputs
// become events, and rulings become hook outputs.
import type { Guard, Ruling } from "./guard.ts";

/** The fields of every hook's input; other hosts omit some of them. */
interface Told {
  session_id: string;
  agent_id?: string | undefined;
  agent_type?: string | undefined;
  cwd?: string | undefined;
}

interface ToolTold extends Told {
  tool_name: string;
  tool_input: unknown;
  tool_use_id: string;
}

/** The input of a hook, limited to the fields that are read; the SDK's own types have all of them. */
export type HookInput =
  | (Told & { hook_event_name: "SessionStart"; source: string })
  | (Told & { hook_event_name: "UserPromptSubmit"; prompt: string; source?: string | undefined })
  | (ToolTold & { hook_event_name: "PreToolUse" })
  | (ToolTold & { hook_event_name: "PostToolUse"; tool_response: unknown })
  | (ToolTold & { hook_event_name: "PostToolUseFailure"; error: string; is_interrupt?: boolean | undefined })
  | (ToolTold & { hook_event_name: "PermissionDenied"; reason: string })
  | (Told & { hook_event_name: "PostToolBatch" })
  | (Told & { hook_event_name: "PostCompact" })
  | (Told & { hook_event_name: "Stop" | "SubagentStop"; last_assistant_message?: string | undefined });

/** The output of a hook. */
export interface SyncHookJSONOutput {
  continue?: boolean;
  stopReason?: string;
  hookSpecificOutput?:
    | { hookEventName: "PreToolUse"; permissionDecision: "deny"; permissionDecisionReason: string }
    | { hookEventName: Context; additionalContext: string };
}

/** The hooks whose output may add context for the model. */
type Context = "UserPromptSubmit" | "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PostToolBatch";

export interface HookOptions {
  /**
   * Who writes the prompts: a `human`, whose message ends the window and lifts a halt, or the `host`, such as an outer
   * loop that calls the agent repeatedly. A prompt that the host marks as its own never counts as a human's. Default
   * `human`.
   */
  prompts?: "human" | "host";
  /**
   * Whether the host reports when all calls of one answer are done (`PostToolBatch`), which makes them one round.
   * If false, every answered call ends its round. `unknown` is for a host that may be too old: once a call has been
   * answered without that report, sequential calls are rounds of their own. Default true.
   */
  batches?: boolean | "unknown";
}

/** The hooks that are handled, in the order in which they occur in a session. */
export const HOOKS: readonly HookInput["hook_event_name"][] = [
  "SessionStart",
  "UserPromptSubmit",
  "PreToolUse",
  "PostToolUse",
  "PostToolUseFailure",
  "PermissionDenied",
  "PostToolBatch",
  "PostCompact",
  "Stop",
  "SubagentStop",
];

/** The guard of the scope that a hook was called in: the session is the run, and each sub-agent is a separate agent. */
export function scoped(guard: Guard, input: HookInput): Guard {
  const { session_id, agent_id, agent_type } = input;
  const agent = agent_id === undefined ? undefined : named(`${agent_type ?? "agent"}:${agent_id}`);
  return guard.scope({ run: guard.run ?? named(session_id), ...(agent !== undefined && { agent }) });
}

/** Shortens a name of over 400 characters to its beginning, length and end, because the core rejects long names. */
const named = (name: string): string =>
  name.length <= 400 ? name : `${name.slice(0, 128)}…${name.length}…${name.slice(-128)}`;

/** Judges the input of a hook and returns its output. `guard` must be the one returned by {@link scoped}. */
export function answerHook(guard: Guard, input: HookInput, options: HookOptions = {}): SyncHookJSONOutput {
  const { prompts = "human", batches = true } = options;
  switch (input.hook_event_name) {
    case "SessionStart":
      if (input.source === "clear") guard.record({ type: "host", kind: "restart" });
      if (input.source === "resume") guard.record({ type: "host", kind: "resume" });
      return {};
    case "UserPromptSubmit": {
      const news = notification(input.prompt);
      if (news !== undefined) {
        guard.record({ type: "tool-result", ...news });
        guard.turn();
        return context(guard, "UserPromptSubmit");
      }
      const human = prompts === "human" && ["user", "sdk", undefined].includes(input.source);
      guard.message("user", input.prompt, { synthetic: !human });
      guard.turn();
      return context(guard, "UserPromptSubmit");
    }
    case "PreToolUse": {
      const { tool_name: tool, tool_input: args, tool_use_id: callId } = input;
      if (batches === "unknown") guard.hears("call");
      const ruling = guard.beforeCall({ tool, args, callId });
      if (ruling.action !== "block" && ruling.action !== "halt") return context(guard, "PreToolUse");
      answered(guard, batches);
      return {
        ...stop(ruling),
        hookSpecificOutput: {
          hookEventName: "PreToolUse",
          permissionDecision: "deny",
          permissionDecisionReason: ruling.text,
        },
      };
    }
    case "PostToolUse": {
      const { tool_name: tool, tool_use_id: callId, tool_response } = input;
      return after(guard, guard.afterCall({ tool, callId, output: said(tool_response) }), "PostToolUse", batches);
    }
    case "PostToolUseFailure": {
      const { tool_name: tool, tool_use_id: callId, error, is_interrupt } = input;
      const interrupted = is_interrupt === true && ({ outcome: "not-executed" } as const);
      return after(guard, guard.afterCall({ tool, callId, error, ...interrupted }), "PostToolUseFailure", batches);
    }
    case "PermissionDenied": {
      const { tool_name: tool, tool_use_id: callId, reason } = input;
      return stop(guard.afterCall({ tool, callId, error: reason, outcome: "denied" }));
    }
    case "PostToolBatch":
      if (batches === "unknown") guard.hears("batch");
      guard.turn();
      return context(guard, "PostToolBatch");
    case "PostCompact":
      return stop(guard.record({ type: "host", kind: "compaction" }));
    case "Stop":
    case "SubagentStop": {
      guard.turn();
      if (!input.last_assistant_message) return {};
      return stop(guard.message("assistant", input.last_assistant_message));
    }
    default:
      return {};
  }
}

/**
 * Parses the notification of a background task that progresses or ends. It arrives as a prompt, but nobody wrote it,
 * and the task's call was already answered when the task started; hence a separate result.
 */
function notification(prompt: string): { tool: string; outcome: "ok" | "error"; output: string } | undefined {
  const tool = "task-notification";
  const text = prompt.trim();
  if (!text.startsWith(`<${tool}>`) || !text.endsWith(`</${tool}>`)) return undefined;
  const element = (name: string) => text.split(`<${name}>`)[1]?.split(`</${name}>`)[0]?.trim() ?? "";
  const told = ["status", "summary", "result", "event"].map(element).filter((part) => part !== "");
  const output = told.length > 0 ? told.join("\n") : text.slice(tool.length + 2, -tool.length - 3).trim();
  return { tool, outcome: /^(?:fail|error)/i.test(element("status")) ? "error" : "ok", output };
}

function after(
  guard: Guard,
  ruling: Ruling,
  hookEventName: "PostToolUse" | "PostToolUseFailure",
  batches: HookOptions["batches"],
): SyncHookJSONOutput {
  answered(guard, batches);
  return { ...stop(ruling), ...context(guard, hookEventName) };
}

function answered(guard: Guard, batches: HookOptions["batches"]): void {
  if (batches === "unknown") guard.hears("answer");
  else if (!batches) guard.turn();
}

/** The output that ends the session if the ruling is a halt; its text is shown to the user. */
function stop(ruling: Ruling): SyncHookJSONOutput {
  if (ruling.action !== "halt") return {};
  return { continue: false, stopReason: ruling.halt.message };
}

/** The output that gives pending guidance to the model. */
function context(guard: Guard, hookEventName: Context): SyncHookJSONOutput {
  const additionalContext = guard.guidance();
  return additionalContext === undefined ? {} : { hookSpecificOutput: { hookEventName, additionalContext } };
}

/** A tool's response, as plain text if it consists of text: the text blocks of an MCP server, the output of a shell. */
function said(response: unknown): unknown {
  if (Array.isArray(response)) {
    const texts = response.map((block) =>
      block?.type === "text" && typeof block.text === "string" ? block.text : null,
    );
    return texts.includes(null) ? response : texts.join("\n");
  }
  if (typeof response !== "object" || response === null) return response;
  if ("content" in response && Array.isArray(response.content)) {
    const content = said(response.content);
    return typeof content !== "string" ? response : "isError" in response ? { ...response, content } : content;
  }
  if ("stdout" in response && typeof response.stdout === "string") {
    const stderr = "stderr" in response && typeof response.stderr === "string" ? response.stderr : "";
    return [response.stdout, stderr].filter((text) => text !== "").join("\n");
  }
  return response;
}
