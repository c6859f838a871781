// LangChain.js: one middleware. `afterModel` judges the calls of an answer together, before any of them runs, and answers
// the refused ones itself; `beforeModel` reads what came of the others, puts guidance before the model and ends the run.
// Between the hooks nothing is remembered but what the agent's own state holds, so a checkpointer keeps all of it.
import {
  type AgentMiddleware,
  AIMessage,
  type BaseMessage,
  createMiddleware,
  HumanMessage,
  ToolMessage,
} from "langchain";
import * as z from "zod/v4";
import { Guard, type GuardOptions, LoopHalt, type LoopHaltRecord } from "./guard.ts";

export { type GuardOptions, LoopHalt, type LoopHaltRecord } from "./guard.ts";

/**
 * The state comes from the agent's own, so it is no option here. With a `detector` of your own, that one is fed and
 * remembers, instead of the agent's state.
 */
export interface LangChainOptions extends Omit<GuardOptions, "state"> {
  /**
   * Who writes the human messages: a `human`, whose message ends the window and lifts a halt, or the `host`, such as an
   * outer loop that invokes the agent again and again. Default `human`.
   */
  prompts?: "human" | "host";
}

type State = z.ZodObject<{
  _loopwarden: z.ZodOptional<z.ZodString>;
  loopHalt: z.ZodOptional<z.ZodNullable<z.ZodCustom<LoopHaltRecord, LoopHaltRecord>>>;
}>;

/** `_loopwarden` is private: it is checkpointed and not handed out. `loopHalt` says why the run ended. */
const stateSchema: State = z.object({
  _loopwarden: z.string().optional(),
  loopHalt: z.custom<LoopHaltRecord>().nullable().optional(),
});

/** What a hook changes in the agent's state. */
interface Update {
  messages: BaseMessage[];
  jumpTo?: "model" | "end";
}

/**
 * Watches an agent.
 *
 * @example
 * const agent = createAgent({ model, tools, middleware: [loopwardenMiddleware()], checkpointer });
 * const result = await agent.invoke({ messages }, config);
 * const halt = loopHalt(result);
 * if (halt) console.error(halt.report);
 *
 * @throws {LoopwardenError} `invalid-config`, for a configuration that is wrong.
 */
export function loopwardenMiddleware(options: LangChainOptions = {}): AgentMiddleware<State> {
  const guard = new Guard(options);
  if (!guard.enabled) return createMiddleware({ name: "Loopwarden", stateSchema });
  const fresh = guard.snapshot();
  /** What the guard holds right now: a thread that nobody came between needs nothing read. */
  let held = fresh;
  const synthetic = options.prompts === "host";

  /** Hooks of many threads share the guard: each one is synchronous, and begins and ends with its thread's state. */
  const hook =
    (work: (messages: BaseMessage[]) => Update) =>
    (state: { messages: BaseMessage[]; _loopwarden?: string | undefined }) => {
      const stored = state._loopwarden || fresh;
      if (!options.detector && stored !== held && !guard.restore(stored)) guard.restore(fresh);
      const update = work(state.messages);
      held = guard.snapshot();
      return { ...update, _loopwarden: held, loopHalt: guard.halted?.toJSON() ?? null };
    };

  return createMiddleware({
    name: "Loopwarden",
    stateSchema,
    beforeModel: {
      canJumpTo: ["end"],
      hook: hook((messages) => {
        const last = messages.findLastIndex((message) => AIMessage.isInstance(message));
        for (const message of messages.slice(last + 1)) {
          if (ToolMessage.isInstance(message)) {
            const { name: tool = "", tool_call_id: callId, status, text } = message;
            guard.afterCall({ tool, callId, output: text, outcome: status === "error" ? "error" : "ok" });
          } else if (HumanMessage.isInstance(message) && !isOurs(message)) {
            guard.message("user", message.text, { synthetic });
          }
        }
        if (guard.halted) return { messages: [said(guard.halted)], jumpTo: "end" };
        const text = guard.guidance();
        if (text === undefined) return { messages: [] };
        return { messages: [new HumanMessage({ content: text, response_metadata: OURS })] };
      }),
    },
    afterModel: {
      canJumpTo: ["end", "model"],
      hook: hook((messages) => {
        const at = messages.findLastIndex((message) => AIMessage.isInstance(message));
        const answer = messages[at];
        if (!AIMessage.isInstance(answer)) return { messages: [] };
        guard.turn();
        const { tool_calls: calls = [], invalid_tool_calls: invalid = [], text } = answer;
        if (text !== "" || calls.length + invalid.length === 0) guard.message("assistant", text);
        for (const { id, name, args, error } of invalid) {
          const call = { tool: name ?? "", ...(id !== undefined && { callId: id }) };
          guard.beforeCall({ ...call, rawArgs: args ?? "", settled: true });
          guard.afterCall({ ...call, outcome: "invalid", output: error ?? "" });
        }
        const after = messages.slice(at + 1);
        const settled = new Set(after.map((message) => (ToolMessage.isInstance(message) ? message.tool_call_id : "")));
        const refused: ToolMessage[] = [];
        const open: string[] = [];
        for (const { id = "", name, args } of calls) {
          // LangChain takes these for its structured answers and runs no tool.
          const own = settled.has(id) || name.startsWith("extract-");
          const ruling = guard.beforeCall({ tool: name, args, callId: id, settled: own });
          if (own) continue;
          if (ruling.action === "block" || ruling.action === "halt") refused.push(answered(id, name, ruling.text));
          else open.push(id);
        }
        if (guard.halted) {
          // Calls that were judged before the one that ended the run have no answer yet.
          const rest = calls.filter(({ id = "" }) => open.includes(id));
          const unrun = rest.map(({ id = "", name }) => {
            const text = "Loopwarden (loop detector): this call was not run, because the run is being ended.";
            guard.afterCall({ tool: name, callId: id, outcome: "not-executed", output: text, synthetic: true });
            return answered(id, name, text);
          });
          return { messages: [...refused, ...unrun, said(guard.halted)], jumpTo: "end" };
        }
        // Without a call to run the agent would end here, although the model has not seen the answers.
        const retry = refused.length > 0 && open.length === 0;
        return { messages: refused, ...(retry && { jumpTo: "model" }) };
      }),
    },
  });
}

/** Why Loopwarden ended a run, from its result or its state; nothing where it did not. */
export function loopHalt(state: { loopHalt?: LoopHaltRecord | null | undefined }): LoopHalt | undefined {
  return state.loopHalt ? new LoopHalt(state.loopHalt) : undefined;
}

/** Marks our own messages; no provider is sent it. */
const OURS = { loopwarden: true };

function isOurs(message: BaseMessage): boolean {
  return message.response_metadata["loopwarden"] === true;
}

function answered(id: string, name: string, content: string): ToolMessage {
  return new ToolMessage({ tool_call_id: id, name, content, status: "error", response_metadata: OURS });
}

/** A conversation ends with an answer; this one says whose it is. */
function said(halt: LoopHalt): AIMessage {
  return new AIMessage({ content: halt.message, response_metadata: OURS });
}
