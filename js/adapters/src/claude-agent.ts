// The Claude Agent SDK: hooks judge calls and results and carry the guidance; the messages of a query can be watched
// while they stream. Each session is a run.
import type { HookCallback, HookCallbackMatcher, HookEvent, Query, SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { LoopGuard } from "../../src/adapters/adapter.ts";
import { answerHook, HOOKS, type HookInput, type HookOptions, scoped } from "../../src/adapters/claude-hooks.ts";
import { Guard, type GuardOptions, type LoopHalt } from "../../src/adapters/guard.ts";
import { checked, supported } from "../../src/adapters/options.ts";

export { type Guard, type GuardOptions, LoopHalt, type LoopHaltRecord, type Ruling } from "../../src/adapters/guard.ts";

/** The options of {@link createLoopGuard}. */
export interface ClaudeAgentOptions extends GuardOptions, Pick<HookOptions, "prompts"> {}

type Hooks = Partial<Record<HookEvent, HookCallbackMatcher[]>>;

/** Maximum number of sessions whose halt is remembered. */
const SESSIONS = 1024;
/** The halts of sessions by session id: nothing can be attached to the SDK's messages. */
const halts = new Map<string, LoopHalt>();

/**
 * Why Loopwarden ended a session; undefined if it did not.
 *
 * @param message any message of the session, such as its `result`, or the result of {@link ClaudeAgentGuard.watch}.
 */
export function loopHalt(message: { session_id?: string | undefined } | Watched): LoopHalt | undefined {
  if (message instanceof Watched) return message.halted;
  return message.session_id === undefined ? undefined : halts.get(message.session_id);
}

/**
 * Watches the sessions of the Claude Agent SDK: each session is a run, and each sub-agent a separate agent.
 *
 * @example
 * const guard = createLoopGuard();
 * const session = guard.watch(query({ prompt, options: { hooks: guard.hooks() } }));
 * for await (const message of session) show(message);
 * const halt = loopHalt(session);
 * if (halt) console.error(halt.report);
 *
 * @throws {LoopwardenError} `invalid-config` for an invalid configuration or option.
 */
export function createLoopGuard(options: ClaudeAgentOptions = {}): ClaudeAgentGuard {
  return new ClaudeAgentGuard(new Guard(checked(options)), options);
}

/** The messages of one watched session. */
export class Watched implements AsyncIterable<SDKMessage> {
  readonly #messages: AsyncGenerator<SDKMessage, void>;
  readonly #halt: () => LoopHalt | undefined;

  constructor(messages: AsyncGenerator<SDKMessage, void>, halt: () => LoopHalt | undefined) {
    this.#messages = messages;
    this.#halt = halt;
  }

  [Symbol.asyncIterator](): AsyncGenerator<SDKMessage, void> {
    return this.#messages;
  }

  /** Why this session ended, if Loopwarden ended it. */
  get halted(): LoopHalt | undefined {
    return this.#halt();
  }
}

/** Ends the messages normally if the SDK throws because a hook ended the session; the halt gives the reason. */
async function* ended(
  messages: AsyncIterable<SDKMessage>,
  halt: () => LoopHalt | undefined,
): AsyncGenerator<SDKMessage, void> {
  try {
    yield* messages;
  } catch (error) {
    if (!halt()) throw error;
  }
}

/** A guard for the Claude Agent SDK; see {@link createLoopGuard}. */
export class ClaudeAgentGuard extends LoopGuard {
  readonly #options: ClaudeAgentOptions;
  /** The guard of the session in which a hook was last called. */
  #latest: Guard | undefined;

  constructor(guard: Guard, options: ClaudeAgentOptions = {}) {
    super(guard);
    this.#options = options;
  }

  protected override current(): Guard {
    return this.#latest ?? this.guard;
  }

  /** A guard whose sessions belong to the given run, agent or task. It shares the detector. */
  scope(scope: { run?: string; agent?: string; task?: string }): ClaudeAgentGuard {
    return new ClaudeAgentGuard(this.guard.scope(scope), this.#options);
  }

  /** The `hooks` of a query: your own, if any, plus Loopwarden's. */
  hooks(own: Hooks = {}): Hooks {
    if (!this.guard.enabled) return own;
    const judge: HookCallback = async (told) => {
      // Only the hooks in `HOOKS` are registered.
      const input = told as HookInput;
      this.#latest = this.#session(input.session_id);
      const guard = scoped(this.guard, input);
      const answer = answerHook(guard, input, this.#options);
      // The halt of this call's agent, or else that of the session.
      this.#note(input.session_id, guard.halted ?? this.#latest.halted);
      return answer;
    };
    const hooks: Hooks = { ...own };
    for (const event of HOOKS) hooks[event] = [...(own[event] ?? []), { hooks: [judge] }];
    return hooks;
  }

  /**
   * Watches the messages of a query and passes them on. With `includePartialMessages`, a text that repeats itself is
   * interrupted while it streams; the tokens of each answer are counted. Optional: without it, the hooks still see
   * calls, results and final texts.
   *
   * @throws {LoopwardenError} `invalid-config` if `query` is not a query of the SDK.
   */
  watch(query: Query): Watched {
    supported("claude-agent", "a query of `@anthropic-ai/claude-agent-sdk`", Object(query), [
      Symbol.asyncIterator,
      "interrupt",
    ]);
    let session: string | undefined;
    const halt = () => (session === undefined ? undefined : halts.get(session));
    const messages = this.#watched(query, (id) => {
      session = id;
    });
    return new Watched(ended(messages, halt), halt);
  }

  async *#watched(query: Query, began: (session: string) => void): AsyncGenerator<SDKMessage, void> {
    let interrupted = false;
    /** Ids of answers whose usage was reported: each block is a separate message that carries the full usage. */
    const counted = new Set<string>();
    for await (const message of query) {
      if (typeof message.session_id === "string") began(message.session_id);
      yield message;
      if (!this.guard.enabled) continue;
      if (message.type === "assistant") {
        const { id, usage } = message.message;
        if (!counted.has(id) && usage) {
          const {
            input_tokens,
            output_tokens,
            cache_read_input_tokens: read,
            cache_creation_input_tokens: made,
          } = usage;
          this.#session(message.session_id).usage({
            input: input_tokens + (read ?? 0) + (made ?? 0),
            output: output_tokens,
          });
        }
        counted.add(id);
      }
      // Hooks run immediately, but messages wait until they are read: the usage of the last answer may be reported
      // after the answer itself.
      if (message.type === "result") this.#session(message.session_id).settle();
      if (message.type !== "stream_event") continue;
      const { event, session_id, parent_tool_use_id } = message;
      if (event.type !== "content_block_delta" || parent_tool_use_id !== null) continue;
      const guard = this.#session(session_id);
      const { delta } = event;
      if (delta.type === "text_delta") guard.delta(delta.text);
      else if (delta.type === "thinking_delta") guard.delta(delta.thinking, "reasoning");
      if (!guard.halted || interrupted) continue;
      interrupted = true;
      this.#note(session_id, guard.halted);
      await query.interrupt();
    }
  }

  #session(id: string): Guard {
    return this.guard.scope({ run: this.guard.run ?? id });
  }

  #note(session: string, halt: LoopHalt | undefined): void {
    halts.delete(session);
    if (halt) halts.set(session, halt);
    if (halts.size > SESSIONS) halts.delete(halts.keys().next().value as string);
  }
}
