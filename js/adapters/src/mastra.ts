// Mastra: hooks judge calls and results; a processor carries the guidance, watches texts while they stream and aborts
// the run. One guard serves an agent's concurrent requests: each thread is a separate run.
import type { MastraDBMessage, MessageList } from "@mastra/core/agent";
import type { ProcessInputStepArgs, Processor } from "@mastra/core/processors";
import type { ToolHooks } from "@mastra/core/tools";
import { LoopGuard } from "../../src/adapters/adapter.ts";
import { Guard, type GuardOptions, LoopHalt, type LoopHaltRecord } from "../../src/adapters/guard.ts";
import { checked } from "../../src/adapters/options.ts";

export { type Guard, type GuardOptions, LoopHalt, type LoopHaltRecord } from "../../src/adapters/guard.ts";

/**
 * The options of {@link createLoopGuard}. Without `run`, each thread is a run, and so is each request without a thread.
 */
export interface MastraOptions extends GuardOptions {
  /**
   * Who writes the prompts: a `human`, whose message ends the window and lifts a halt, or the `host`, such as an outer
   * loop or an agent that calls this one. Default `human`.
   */
  prompts?: "human" | "host";
}

/** A processor that is both an input and an output processor. */
export type LoopProcessor = { readonly id: "loopwarden" } & Required<
  Pick<Processor, "processInputStep" | "processOutputStream" | "processOutputStep">
>;
/** The object by which a request is identified: all its hooks and processors get the same one. */
interface Request {
  requestContext?: object | undefined;
}

/** Fields that a step has in newer versions. */
interface Told {
  usage?: { inputTokens?: number; outputTokens?: number; totalTokens?: number };
}

/** The processor of a disabled guard, which changes nothing. */
const IDLE: LoopProcessor = {
  id: "loopwarden",
  processInputStep: () => undefined,
  processOutputStream: async ({ part }) => part,
  processOutputStep: ({ messages }) => messages,
};
const UNASKED =
  "loopwarden/mastra sees calls, but its processor was not asked before a step: put `guard.processor` among the agent's " +
  "`inputProcessors`, and use `@mastra/core` 1.0 or later";
/** Maximum number of calls remembered between the model's answer and their result. */
const CALLS = 1024;

/**
 * Watches an agent.
 *
 * @example
 * const guard = createLoopGuard();
 * const agent = new Agent({
 *   id, name, instructions, model, tools,
 *   inputProcessors: [guard.processor],
 *   outputProcessors: [guard.processor],
 *   hooks: guard.hooks(),
 * });
 * const halt = loopHalt(await agent.generate(prompt, { maxSteps: 50 }));
 * if (halt) console.error(halt.report);
 *
 * @throws {LoopwardenError} `invalid-config` for an invalid configuration or option.
 */
export function createLoopGuard(options: MastraOptions = {}): MastraGuard {
  return new MastraGuard(new Guard(checked(options)), options.prompts ?? "human");
}

/** A guard for Mastra; see {@link createLoopGuard}. */
export class MastraGuard extends LoopGuard {
  /** Add this to both the input and the output processors of the agent. */
  readonly processor: LoopProcessor;
  readonly #prompts: "human" | "host";
  /** The guard of each active request. */
  readonly #requests = new WeakMap<object, Guard>();
  /** The guard of the request that began last. */
  #latest: Guard | undefined;
  /** Whether the processor has ever been called before a step; versions without `processInputStep` never call it. */
  #asked = false;
  /** Calls of the model's answers by run and id: their guard, and whether a hook saw them run. */
  readonly #calls = new Map<string, Call>();

  constructor(guard: Guard, prompts: "human" | "host" = "human") {
    super(guard);
    this.#prompts = prompts;
    this.processor = guard.enabled ? this.#processor() : IDLE;
  }

  protected override current(): Guard {
    return this.#latest ?? this.guard;
  }

  /**
   * A guard for a sub-agent: it shares the detector, has its own rounds, guidance and halt, and its prompts are not a
   * human's.
   */
  scope(scope: { run?: string; agent?: string; task?: string }): MastraGuard {
    return new MastraGuard(this.guard.scope(scope), "host");
  }

  /** The agent's `hooks`. A blocked call is answered with the guidance and not run, and your own hook is not called. */
  hooks(own: ToolHooks = {}): ToolHooks {
    if (!this.guard.enabled) return own;
    return {
      beforeToolCall: async (hook) => {
        const { toolName: tool, input: args } = hook;
        const { guard, callId } = this.#call(hook.context);
        if (!this.#asked) guard.warn(UNASKED);
        if (callId !== undefined) this.#calls.set(keyOf(guard, callId), { guard, callId, tool, args, ran: true });
        const ruling = guard.beforeCall({ tool, args, ...(callId !== undefined && { callId }) });
        if (ruling.action === "block" || ruling.action === "halt") return { proceed: false, output: ruling.text };
        const before = await own.beforeToolCall?.(hook);
        if (before?.proceed === false) this.#after(hook, { output: before.output });
        return before;
      },
      afterToolCall: async (hook) => {
        this.#after(hook, hook.error === undefined ? { output: hook.output } : { error: hook.error });
        await own.afterToolCall?.(hook);
      },
    };
  }

  #processor(): LoopProcessor {
    return {
      id: "loopwarden",
      processInputStep: (step) => {
        this.#asked = true;
        const guard = this.#begin(step);
        const { messages, messageList, state, abort } = step;
        this.#unrun(guard, messages);
        const last = messages.at(-1);
        if (!state["loopwarden"] && last?.role === "user" && !isOurs(last)) {
          guard.message("user", textOf(last), { synthetic: this.#prompts === "host" });
        }
        state["loopwarden"] = true;
        if (guard.halted) abort(guard.halted.message, { metadata: guard.halted.toJSON() });
        guard.turn();
        const text = guard.guidance();
        if (text === undefined) return undefined;
        // Otherwise the model's next text joins its previous message and the guidance comes last again.
        step.rotateResponseMessageId?.();
        return said(messageList, text);
      },
      processOutputStream: async (chunk) => {
        const { part, abort } = chunk;
        if (part.type !== "text-delta" && part.type !== "reasoning-delta") return part;
        const guard = this.#of(chunk);
        const ruling = guard.delta(part.payload.text, part.type === "text-delta" ? "text" : "reasoning");
        if (ruling.action === "halt") abort(ruling.halt.message, { metadata: ruling.halt.toJSON() });
        return part;
      },
      processOutputStep: (step) => {
        const guard = this.#of(step);
        const { text = "", toolCalls = [], messages } = step;
        const { inputTokens: input, outputTokens: output, totalTokens: total } = (step as Told).usage ?? {};
        guard.usage({ input, output, total });
        if (text !== "" || toolCalls.length === 0) guard.message("assistant", text);
        for (const { toolCallId, toolName: tool, args } of toolCalls) {
          const key = keyOf(guard, toolCallId);
          const ran = this.#calls.get(key)?.ran === true;
          this.#calls.delete(key);
          this.#calls.set(key, { guard, callId: toolCallId, tool, args, ran });
        }
        while (this.#calls.size > CALLS) this.#calls.delete(this.#calls.keys().next().value as string);
        return messages;
      },
    };
  }

  /** The guard of the request's thread. */
  #begin({ requestContext, messages }: ProcessInputStepArgs): Guard {
    if (this.guard.run !== undefined) return this.guard;
    const request = requestContext ?? this;
    const known = this.#requests.get(request);
    const thread = messages.findLast(({ threadId }) => threadId !== undefined)?.threadId;
    if (known && (thread === undefined || known.run === thread)) return known;
    const guard = this.guard.scope({ run: thread ?? crypto.randomUUID() });
    this.#requests.set(request, guard);
    this.#latest = guard;
    return guard;
  }

  #of({ requestContext }: Request): Guard {
    return this.#requests.get(requestContext ?? this) ?? this.guard;
  }

  #call(context: unknown): { guard: Guard; callId: string | undefined } {
    const { toolCallId: callId, ...request } = (context ?? {}) as Request & { toolCallId?: string };
    const own = this.#requests.get(request.requestContext ?? this);
    if (own || callId === undefined) return { guard: own ?? this.#of(request), callId };
    // A hook without a request context is attributed to the request that last made a call with this id.
    const known = [...this.#calls.values()].findLast((call) => call.callId === callId);
    return { guard: known?.guard ?? this.#of(request), callId };
  }

  #after(
    { toolName: tool, context }: { toolName: string; context: unknown },
    result: { output: unknown } | { error: unknown },
  ): void {
    const { guard, callId } = this.#call(context);
    const invalid = "output" in result && isInvalid(result.output);
    guard.afterCall({
      tool,
      ...(callId !== undefined && { callId }),
      ...("error" in result ? { error: result.error ?? "" } : result),
      ...(invalid && { outcome: "invalid" }),
    });
  }

  /** Reports calls that no hook saw: of unknown tools, or run by the provider or the client. */
  #unrun(guard: Guard, messages: MastraDBMessage[]): void {
    for (const [key, { guard: by, callId, tool, args, ran }] of this.#calls) {
      if (by !== guard) continue;
      this.#calls.delete(key);
      if (ran) continue;
      by.beforeCall({ tool, args, callId, settled: true });
      const result = resultOf(messages, callId);
      if (result === undefined) continue;
      const missing = typeof result === "string" && /^(Error: )?Tool ".*" not found/s.test(result);
      by.afterCall({ tool, callId, output: result, ...(missing && { outcome: "unknown-tool" }) });
    }
  }
}

/** A call in a model's answer. */
interface Call {
  guard: Guard;
  callId: string;
  tool: string;
  args: unknown;
  ran: boolean;
}

function keyOf({ run = "" }: Guard, callId: string): string {
  return `${run}\n${callId}`;
}

/** Why Loopwarden ended a run, from its result; undefined if it did not. For a stream, call it after the end. */
export function loopHalt(result: { tripwire?: { metadata?: unknown } | undefined }): LoopHalt | undefined {
  const metadata = result.tripwire?.metadata;
  const ours = typeof metadata === "object" && metadata !== null && "status" in metadata && metadata.status === "loop";
  return ours ? new LoopHalt(metadata as LoopHaltRecord) : undefined;
}

/** Adds a message by Loopwarden, marked as such. It is part of this request only and not kept in memory. */
function said(messages: MessageList, text: string): MessageList {
  const content = { format: 2 as const, parts: [{ type: "text" as const, text }], metadata: { loopwarden: true } };
  return messages.add({ id: crypto.randomUUID(), role: "user", createdAt: new Date(), content }, "context");
}

function isOurs({ content }: MastraDBMessage): boolean {
  return content.metadata?.["loopwarden"] === true;
}

function textOf({ content }: MastraDBMessage): string {
  return content.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The result of a call in the conversation. */
function resultOf(messages: MastraDBMessage[], callId: string): unknown {
  for (const { content } of messages.toReversed()) {
    for (const part of content.parts) {
      if (part.type !== "tool-invocation" || part.toolInvocation.toolCallId !== callId) continue;
      const { result, errorText } = part.toolInvocation;
      return errorText ?? result;
    }
  }
  return undefined;
}

/** Whether this is Mastra's answer to arguments that do not match the tool's schema. */
function isInvalid(output: unknown): boolean {
  return typeof output === "object" && output !== null && "validationErrors" in output;
}
