// Cloudflare's Think: a mixin for the class of an agent. Its hooks judge calls and results, give guidance to the model
// and end the turn; the state is kept in the Durable Object's storage.
import type {
  ChunkContext,
  PrepareStepContext,
  StepConfig,
  StepContext,
  Think,
  ToolCallContext,
  ToolCallDecision,
  ToolCallResultContext,
  TurnConfig,
  TurnContext,
} from "@cloudflare/think";
import type { Decision } from "loopwarden";
import { Guard, type GuardOptions, type LoopHalt } from "../../src/adapters/guard.ts";
import { checked, supported } from "../../src/adapters/options.ts";

export { type Guard, type GuardOptions, LoopHalt, type LoopHaltRecord } from "../../src/adapters/guard.ts";

/**
 * The options of {@link createLoopGuard}. There is no `state`: it comes from the object's storage. With your own
 * `detector`, nothing is stored.
 */
export interface CloudflareOptions extends Omit<GuardOptions, "state"> {
  /**
   * Who writes the user messages: a `human`, whose message ends the window and lifts a halt, or the `host`, such as an
   * outer loop. Default `human`, except for turns started by a schedule or another agent.
   */
  prompts?: "human" | "host";
}

/** The key of the state in the object's storage. */
const KEY = "loopwarden";
/** Triggers of turns that resume the conversation without a new message. */
const RESUMED = ["auto-continuation", "recovery-continue", "recovery-retry"];
/** Triggers of turns that begin with a message not written by a human. */
const HOSTED = ["scheduled", "agent-tool"];

// biome-ignore lint/suspicious/noExplicitAny: what TypeScript wants of a class that a mixin extends.
type ThinkClass = new (...args: any[]) => Think<any, any, any>;

/** What the mixin adds to an agent. */
export interface Guarded {
  /** The underlying guard: gives access to the detector, takes a human's decisions, and says why a turn was ended. */
  readonly loopGuard: Guard;
}

/**
 * Why Loopwarden ended the latest turn of an agent; undefined if it did not.
 *
 * @param agent the agent, or the error that it threw.
 */
export function loopHalt(agent: unknown): LoopHalt | undefined {
  if (agent instanceof Error) return agent.name === "LoopHalt" ? (agent as LoopHalt) : loopHalt(agent.cause);
  return (agent as Partial<Guarded> | undefined)?.loopGuard?.halted;
}

/**
 * Watches agents of Think. Each agent has its own guard, `loopGuard`, whose state is in the agent's storage.
 *
 * @param options the options of every agent, or a function that returns those of one agent.
 * @example
 * const guard = createLoopGuard();
 * export class Assistant extends guard.agent(Think<Env>) {
 *   override getModel() { … }
 *   override onChatResponse() {
 *     if (this.loopGuard.halted) console.error(this.loopGuard.halted.report);
 *   }
 * }
 *
 * @throws {LoopwardenError} `invalid-config` for an invalid option. `agent` throws it for a class without the hooks of
 * Think, and the constructor of an agent for an invalid configuration.
 */
export function createLoopGuard(options: CloudflareOptions | OptionsOf = {}): CloudflareGuard {
  if (typeof options !== "function") checked(options, FOREIGN);
  return { agent: (base) => guarded(base, options) };
}

/** Returns the options of one agent. */
// biome-ignore lint/suspicious/noExplicitAny: agents of any class.
export type OptionsOf = (agent: any) => CloudflareOptions;

/** The result of {@link createLoopGuard}. */
export interface CloudflareGuard {
  /**
   * A subclass whose agents are watched. In `beforeStep`, `beforeToolCall` and `onChunk` the hook of the base class runs
   * first, in the others Loopwarden's. Hooks of a class that extends the result have to call `super`, as usual.
   */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  agent<BASE extends ThinkClass>(base: BASE): BASE & (new (...args: any[]) => Guarded);
}

/** The methods of an agent that are overridden or called. */
const HOOKS = ["beforeTurn", "beforeStep", "beforeToolCall", "afterToolCall", "onStepEnd", "onChunk", "cancelChat"];

const FOREIGN = { state: "is not needed: the object's own storage holds it" };

function guarded<BASE extends ThinkClass>(
  base: BASE,
  options: CloudflareOptions | ((agent: InstanceType<BASE>) => CloudflareOptions),
  // biome-ignore lint/suspicious/noExplicitAny: as above.
): BASE & (new (...args: any[]) => Guarded) {
  supported("cloudflare", "the class of an agent of `@cloudflare/think` 0.20 or later", base.prototype, HOOKS);
  return class extends base implements Guarded {
    readonly #hooks = new Hooks(
      this.ctx.storage,
      typeof options === "function" ? checked(options(this as InstanceType<BASE>), FOREIGN) : options,
    );

    get loopGuard(): Guard {
      return this.#hooks.guard;
    }

    override async beforeTurn(context: TurnContext): Promise<TurnConfig | undefined> {
      this.#hooks.opened(context);
      return (await super.beforeTurn(context)) ?? undefined;
    }

    override async beforeStep(context: PrepareStepContext): Promise<StepConfig | undefined> {
      const own = (await super.beforeStep(context)) ?? undefined;
      const text = this.#hooks.guidance();
      if (text === undefined) return own;
      const { messages = context.messages } = (own ?? {}) as Partial<Pick<PrepareStepContext, "messages">>;
      return { ...own, messages: [...messages, { role: "user", content: text }] } as StepConfig;
    }

    override async beforeToolCall(context: ToolCallContext): Promise<ToolCallDecision | undefined> {
      const own = (await super.beforeToolCall(context)) ?? undefined;
      if (own && own.action !== "allow") return own;
      const text = this.#hooks.refusal(context, own?.input ?? context.input);
      return text === undefined ? own : { action: "block", reason: text };
    }

    override async afterToolCall(context: ToolCallResultContext): Promise<void> {
      this.#hooks.answered(context);
      await super.afterToolCall(context);
    }

    override async onStepEnd(context: StepContext): Promise<void> {
      this.#hooks.stepped(context);
      await super.onStepEnd(context);
    }

    override async onChunk(context: ChunkContext): Promise<void> {
      await super.onChunk(context);
      const halt = this.#hooks.streamed(context);
      const requestId = this.activeTurn?.requestId;
      if (halt && requestId !== undefined) this.cancelChat(requestId, halt.message);
    }
  };
}

/** A part of a step's content. */
type Part = StepContext["content"][number];

/** A guard that saves its state after `acknowledge`: a human decides between turns, when no hook follows that saves. */
class Kept extends Guard {
  readonly #save: () => void;

  constructor(options: GuardOptions, save: () => void) {
    super(options);
    this.#save = save;
  }

  override acknowledge(decision: Decision): void {
    super.acknowledge(decision);
    this.#save();
  }
}

/** The implementation of the hooks of one agent. */
class Hooks {
  readonly guard: Guard;
  readonly #storage: DurableObjectStorage;
  readonly #options: CloudflareOptions;
  /** The state that was last written; undefined before that. */
  #stored: string | undefined;
  /** Ids of calls of the current step that have already been reported. */
  readonly #ran = new Set<string>();
  #warned = false;

  constructor(storage: DurableObjectStorage, options: CloudflareOptions) {
    this.#storage = storage;
    this.#options = options;
    const state = options.enabled === false || options.detector ? undefined : this.#safely(() => storage.kv.get(KEY));
    this.guard = new Kept({ ...options, ...(typeof state === "string" && { state }) }, () => this.#save());
  }

  /** Begins a turn: reports the user's message, or the results of client-side tools. */
  opened({ messages, trigger, continuation }: TurnContext): void {
    const last = messages.at(-1);
    if (last?.role === "tool") {
      for (const part of last.content) {
        if (part.type !== "tool-result") continue;
        const { toolCallId: callId, toolName: tool, output } = part;
        const failed = output.type === "error-text" || output.type === "error-json";
        const outcome = output.type === "execution-denied" ? "denied" : failed ? "error" : "ok";
        this.guard.afterCall({ tool, callId, outcome, output: "value" in output ? output.value : output });
      }
    } else if (last?.role === "user" && !continuation && !RESUMED.includes(trigger ?? "")) {
      const { content } = last;
      const parts = typeof content === "string" ? [content] : content.map((part) => ("text" in part ? part.text : ""));
      const prompts = this.#options.prompts ?? (HOSTED.includes(trigger ?? "") ? "host" : "human");
      this.guard.message("user", parts.join(""), { synthetic: prompts === "host" });
    }
    this.#save();
  }

  /**
   * Takes the guidance for the next model call. This is not saved yet: if the object dies before the model answers, the
   * guidance is given again.
   *
   * @throws {LoopHalt} if the run was halted: for Think the turn has then failed rather than finished.
   */
  guidance(): string | undefined {
    if (this.guard.halted) throw this.guard.halted;
    this.guard.turn();
    this.#ran.clear();
    return this.guard.guidance();
  }

  /** Judges a call; returns the answer to one that must not run. Not saved yet: `answered` follows, which saves. */
  refusal({ toolName: tool, toolCallId: callId }: ToolCallContext, args: unknown): string | undefined {
    this.#ran.add(callId);
    const ruling = this.guard.beforeCall({ tool, callId, args });
    return ruling.action === "block" || ruling.action === "halt" ? ruling.text : undefined;
  }

  /** Reports the result of a call. The guard ignores its own refusals, which Think reports as successes. */
  answered({ toolName: tool, toolCallId: callId, toolOutput }: ToolCallResultContext): void {
    const result = toolOutput.type === "tool-error" ? { error: toolOutput.error } : { output: toolOutput.output };
    this.guard.afterCall({ tool, callId, ...result });
    this.#save();
  }

  /** Reports what the call hooks did not see: texts, and calls that never reached a tool or were answered elsewhere. */
  stepped({ text, reasoningText, toolCalls, content, usage }: StepContext): void {
    this.guard.usage({ input: usage?.inputTokens, output: usage?.outputTokens, total: usage?.totalTokens });
    for (const call of toolCalls) {
      const { toolCallId: callId, toolName: tool, input: args } = call;
      // A call that waits for approval has not been made yet.
      if (this.#ran.has(callId) || content.some((part) => awaits(part, callId))) continue;
      this.guard.beforeCall({ tool, callId, args, settled: true });
      if ("invalid" in call && call.invalid) {
        const unknown = call.error instanceof Error && call.error.name === "AI_NoSuchToolError";
        this.guard.afterCall({ tool, callId, outcome: unknown ? "unknown-tool" : "invalid", error: call.error });
        continue;
      }
      const part = content.find((part) => isAnswer(part) && part.toolCallId === callId);
      if (part?.type === "tool-error") this.guard.afterCall({ tool, callId, error: part.error });
      else if (part?.type === "tool-result") this.guard.afterCall({ tool, callId, output: part.output });
    }
    if (reasoningText) this.guard.message("assistant", reasoningText, { channel: "reasoning" });
    // An empty text is only reported if it is the whole answer.
    if (text !== "" || toolCalls.length === 0) this.guard.message("assistant", text);
    this.#save();
  }

  /**
   * Judges a chunk of an answer; returns the halt if it must be cut off. Only a halt is saved: the full text follows.
   */
  streamed({ chunk }: ChunkContext): LoopHalt | undefined {
    if (chunk.type !== "text-delta" && chunk.type !== "reasoning-delta") return undefined;
    const ruling = this.guard.delta(chunk.text, chunk.type === "text-delta" ? "text" : "reasoning");
    if (ruling.action !== "halt") return undefined;
    this.#save();
    return ruling.halt;
  }

  /** Saves the state. The runtime holds back outgoing messages until the write is durable, so no verdict is lost. */
  #save(): void {
    if (this.#options.detector) return;
    const state = this.guard.snapshot();
    if (state === "" || state === this.#stored) return;
    this.#stored = state;
    this.#safely(() => this.#storage.kv.put(KEY, state));
  }

  /** Failing storage must not stop the agent: it is still watched, but starts over after an eviction. Warns once. */
  #safely<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (cause) {
      if (this.#warned) return undefined;
      this.#warned = true;
      const reason = cause instanceof Error ? cause.message : String(cause);
      const message = `[Loopwarden] could not keep its state in the object: ${reason}`;
      if (this.#options.onWarning) this.#options.onWarning(message, cause);
      else console.warn(message);
      return undefined;
    }
  }
}

function awaits(part: Part, callId: string): boolean {
  return part.type === "tool-approval-request" && part.toolCall.toolCallId === callId;
}

function isAnswer(part: Part): part is Extract<Part, { type: "tool-result" | "tool-error" }> {
  return part.type === "tool-result" || part.type === "tool-error";
}
