// The Claude Agent SDK: hooks judge calls and results and carry the guidance, and the messages of a query may be watched
// while they stream.
import type { HookCallback, HookCallbackMatcher, HookEvent, Query, SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { answerHook, HOOKS, type HookOptions, scoped } from "./claude-hooks.ts";
import { Guard, type GuardOptions, type LoopHalt } from "./guard.ts";

export { type GuardOptions, LoopHalt, type LoopHaltRecord, type Ruling } from "./guard.ts";

export interface ClaudeAgentOptions extends GuardOptions, Pick<HookOptions, "prompts"> {}

type Hooks = Partial<Record<HookEvent, HookCallbackMatcher[]>>;

/**
 * Watches the sessions of the Claude Agent SDK: each session is a run, each sub-agent an agent of its own.
 *
 * @example
 * const guard = createLoopGuard();
 * for await (const message of guard.watch(query({ prompt, options: { hooks: guard.hooks() } }))) show(message);
 * if (guard.halted) console.error(guard.halted.report);
 *
 * @throws {LoopwardenError} `invalid-config`, for a configuration that is wrong.
 */
export function createLoopGuard(options: ClaudeAgentOptions = {}): ClaudeAgentGuard {
  return new ClaudeAgentGuard(options);
}

export class ClaudeAgentGuard {
  /** What is behind it: the detector, state, a human's answers. */
  readonly guard: Guard;
  readonly #options: ClaudeAgentOptions;
  #halted: LoopHalt | undefined;

  constructor(options: ClaudeAgentOptions = {}) {
    this.guard = new Guard(options);
    this.#options = options;
  }

  /** Why the latest session ended, if Loopwarden ended it. */
  get halted(): LoopHalt | undefined {
    return this.#halted;
  }

  /** State as text that is safe in JSON: give it back as `state`, or to {@link ClaudeAgentGuard.restore}. */
  snapshot(): string {
    return this.guard.snapshot();
  }

  restore(state: string): boolean {
    return this.guard.restore(state);
  }

  /** The `hooks` of a query: your own, if there are any, and Loopwarden's beside them. */
  hooks(own: Hooks = {}): Hooks {
    if (!this.guard.enabled) return own;
    const judge: HookCallback = async (input) => {
      const guard = scoped(this.guard, input);
      const answer = answerHook(guard, input, this.#options);
      this.#halted = guard.halted;
      return answer;
    };
    const hooks: Hooks = { ...own };
    for (const event of HOOKS) hooks[event] = [...(own[event] ?? []), { hooks: [judge] }];
    return hooks;
  }

  /**
   * The same messages, watched: a text that repeats itself without end is interrupted while it streams, where the query
   * has `includePartialMessages`. Optional; the hooks see calls, results and final texts without it.
   */
  async *watch(query: Query): AsyncGenerator<SDKMessage, void> {
    for await (const message of query) {
      yield message;
      if (!this.guard.enabled || message.type !== "stream_event") continue;
      const { event, session_id, parent_tool_use_id } = message;
      if (event.type !== "content_block_delta" || parent_tool_use_id !== null) continue;
      const guard = this.guard.scope({ run: this.guard.run ?? session_id });
      const { delta } = event;
      if (delta.type === "text_delta") guard.delta(delta.text);
      else if (delta.type === "thinking_delta") guard.delta(delta.thinking, "reasoning");
      if (!guard.halted || this.#halted) continue;
      this.#halted = guard.halted;
      await query.interrupt();
    }
  }
}
