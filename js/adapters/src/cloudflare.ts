// Cloudflare's Think: a mixin over the class of an agent. Its hooks judge calls and results, put guidance before the model
// and end the turn; what has to survive is in the Durable Object's own storage.
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
 * The state comes from the object's storage, so it is no option here. With a `detector` of your own, that one is fed and
 * remembers, instead of the storage.
 */
export interface CloudflareOptions extends Omit<GuardOptions, "state"> {
  /**
   * Who writes the user messages: a `human`, whose message ends the window and lifts a halt, or the `host`, such as an
   * outer loop. Default `human`, but for turns that a schedule or another agent began.
   */
  prompts?: "human" | "host";
}

/** Where the state is kept in the storage of the object. */
const KEY = "loopwarden";
/** Turns that nobody wrote a message for: the conversation goes on from where it was. */
const RESUMED = ["auto-continuation", "recovery-continue", "recovery-retry"];
/** Turns that begin with a message which no human wrote. */
const HOSTED = ["scheduled", "agent-tool"];

// biome-ignore lint/suspicious/noExplicitAny: what TypeScript wants of a class that a mixin extends.
type ThinkClass = new (...args: any[]) => Think<any, any, any>;

/** What the mixin adds to an agent. */
export interface Guarded {
  /** What is behind it: the detector, a human's answers, and why a turn was ended. */
  readonly loopGuard: Guard;
}

/**
 * Why Loopwarden ended the latest turn of an agent; nothing where it did not.
 *
 * @param agent the agent, or what it threw.
 */
export function loopHalt(agent: unknown): LoopHalt | undefined {
  if (agent instanceof Error) return agent.name === "LoopHalt" ? (agent as LoopHalt) : loopHalt(agent.cause);
  return (agent as Partial<Guarded> | undefined)?.loopGuard?.halted;
}

/**
 * Watches agents of Think. Each agent has a guard of its own, `loopGuard`, whose state is in its storage.
 *
 * @param options for every agent, or a function that gives those of one.
 * @example
 * const guard = createLoopGuard();
 * export class Assistant extends guard.agent(Think<Env>) {
 *   override getModel() { … }
 *   override onChatResponse() {
 *     if (this.loopGuard.halted) console.error(this.loopGuard.halted.report);
 *   }
 * }
 *
 * @throws {LoopwardenError} `invalid-config`, for an option that is wrong, and for a class that has not the hooks of
 * Think; for a configuration, when an agent is made.
 */
export function createLoopGuard(options: CloudflareOptions | OptionsOf = {}): CloudflareGuard {
  if (typeof options !== "function") checked(options, FOREIGN);
  return { agent: (base) => guarded(base, options) };
}

/** Makes the options of one agent. */
// biome-ignore lint/suspicious/noExplicitAny: agents of any class.
export type OptionsOf = (agent: any) => CloudflareOptions;

/** What {@link createLoopGuard} gives. */
export interface CloudflareGuard {
  /**
   * The same class, whose agents are watched. Hooks that the class has are asked first; hooks of a class that extends the
   * result call `super`, as they would without it.
   */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  agent<BASE extends ThinkClass>(base: BASE): BASE & (new (...args: any[]) => Guarded);
}

/** What of an agent is overridden or asked. */
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

/** What of a step's content becomes of a call. */
type Part = StepContext["content"][number];

/** A human answers between two turns, when no hook follows that would store it. */
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

/** What the hooks of one agent have to do. */
class Hooks {
  readonly guard: Guard;
  readonly #storage: DurableObjectStorage;
  readonly #options: CloudflareOptions;
  /** What the storage holds; absent where it is not ours to keep anything. */
  #stored: string | undefined;
  /** Calls of the step that runs, reported when they ran. */
  readonly #ran = new Set<string>();
  #warned = false;

  constructor(storage: DurableObjectStorage, options: CloudflareOptions) {
    this.#storage = storage;
    this.#options = options;
    const state = options.enabled === false || options.detector ? undefined : this.#safely(() => storage.kv.get(KEY));
    this.guard = new Kept({ ...options, ...(typeof state === "string" && { state }) }, () => this.#save());
  }

  /** A turn begins: what a human wrote, and results that a client brought. */
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
   * Not stored yet: where the object dies before the model answers, the guidance was not seen, and is given again.
   *
   * @throws {LoopHalt} where the turn was ended: for Think the turn has failed, and is not finished.
   */
  guidance(): string | undefined {
    if (this.guard.halted) throw this.guard.halted;
    this.guard.turn();
    this.#ran.clear();
    return this.guard.guidance();
  }

  /** What answers a call that is not to run. Not stored yet: Think reports the answer too, and that is. */
  refusal({ toolName: tool, toolCallId: callId }: ToolCallContext, args: unknown): string | undefined {
    this.#ran.add(callId);
    const ruling = this.guard.beforeCall({ tool, callId, args });
    return ruling.action === "block" || ruling.action === "halt" ? ruling.text : undefined;
  }

  /** What came of a call. The guard passes over the answers that it gave itself, which Think reports as successes. */
  answered({ toolName: tool, toolCallId: callId, toolOutput }: ToolCallResultContext): void {
    const result = toolOutput.type === "tool-error" ? { error: toolOutput.error } : { output: toolOutput.output };
    this.guard.afterCall({ tool, callId, ...result });
    this.#save();
  }

  /** What the hooks of calls did not say: texts, and calls that never reached a tool, or another hook's answer. */
  stepped({ text, reasoningText, toolCalls, content, usage }: StepContext): void {
    this.guard.usage({ input: usage?.inputTokens, output: usage?.outputTokens, total: usage?.totalTokens });
    for (const call of toolCalls) {
      const { toolCallId: callId, toolName: tool, input: args } = call;
      // A call that waits for somebody's approval has not been made yet.
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
    // A blank text says something only where it is the whole answer.
    if (text !== "" || toolCalls.length === 0) this.guard.message("assistant", text);
    this.#save();
  }

  /** A piece of an answer; not stored, since the whole one follows. Why to cut it off, if it repeats itself without end. */
  streamed({ chunk }: ChunkContext): LoopHalt | undefined {
    if (chunk.type !== "text-delta" && chunk.type !== "reasoning-delta") return undefined;
    const ruling = this.guard.delta(chunk.text, chunk.type === "text-delta" ? "text" : "reasoning");
    if (ruling.action !== "halt") return undefined;
    this.#save();
    return ruling.halt;
  }

  /** The runtime holds back what leaves the object until it is stored, so nobody sees a verdict that may be lost. */
  #save(): void {
    if (this.#options.detector) return;
    const state = this.guard.snapshot();
    if (state === "" || state === this.#stored) return;
    this.#stored = state;
    this.#safely(() => this.#storage.kv.put(KEY, state));
  }

  /** Storage that fails must not stop the agent: it is watched all the same, and starts over when it is evicted. */
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
