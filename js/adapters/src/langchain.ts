// LangChain.js: one middleware around model calls and tool calls, which adds no step to the graph. The state of a
// conversation's guard derives from its messages alone, which the framework stores, checkpoints, forks and rewinds. It
// is cached here, and rebuilt from the messages when they were continued elsewhere, such as in another process.
import type { AgentMiddleware, BaseMessage } from "langchain";
// A namespace import, so that an export missing in some version gives our error and not the module loader's.
import * as framework from "langchain";
import { Guard, type GuardOptions, LoopHalt, type LoopHaltRecord } from "../../src/adapters/guard.ts";
import { checked, supported } from "../../src/adapters/options.ts";

const { AIMessage, createMiddleware, HumanMessage, ToolInvocationError, ToolMessage } = framework;
type AIMessage = framework.AIMessage;
type HumanMessage = framework.HumanMessage;
type ToolMessage = framework.ToolMessage;

export { type Guard, type GuardOptions, LoopHalt, type LoopHaltRecord } from "../../src/adapters/guard.ts";

/**
 * The options of {@link createLoopGuard}. There is no `state`: it derives from the messages. With your own `detector`,
 * messages from before this process are not read again.
 */
export interface LangChainOptions extends Omit<GuardOptions, "state"> {
  /**
   * Who writes the human messages: a `human`, whose message ends the window and lifts a halt, or the `host`, such as an
   * outer loop that invokes the agent repeatedly. Default `human`.
   */
  prompts?: "human" | "host";
}

/** Maximum number of cached conversations; others are rebuilt from their messages when they continue. */
const CONVERSATIONS = 64;

/**
 * Watches any number of agents and threads at once.
 *
 * @example
 * const guard = createLoopGuard();
 * const agent = createAgent({ model, tools, middleware: [guard.middleware], checkpointer });
 * const result = await agent.invoke({ messages }, config);
 * const halt = loopHalt(result);
 * if (halt) console.error(halt.report);
 *
 * @throws {LoopwardenError} `invalid-config` for an invalid configuration or option, or an unsupported version.
 */
export function createLoopGuard(options: LangChainOptions = {}): LangChainGuard {
  supported("langchain", "`langchain` from 1.0 on", framework, ["createMiddleware", "ToolInvocationError"]);
  return new LangChainGuard(checked(options, { state: "is not needed: the conversation's messages hold it" }));
}

/** Why Loopwarden ended a run, from its result, its state or its messages; undefined if it did not. */
export function loopHalt(
  result: { messages?: readonly BaseMessage[] | undefined } | readonly BaseMessage[],
): LoopHalt | undefined {
  const messages = "messages" in result ? result.messages : (result as readonly BaseMessage[]);
  const halt = ours(messages?.at?.(-1))?.halt;
  return halt && new LoopHalt(halt);
}

/** Our metadata of a message. It is not sent to providers. */
interface Mark {
  /** When the message was created, in milliseconds since the Unix epoch. */
  at?: number;
  /** Written by Loopwarden. */
  own?: boolean;
  halt?: LoopHaltRecord;
}

/** The usage of a model call, as in the metadata of messages. */
interface Usage {
  input_tokens?: number;
  output_tokens?: number;
  total_tokens?: number;
}

/** A guard for LangChain.js; see {@link createLoopGuard}. */
export class LangChainGuard {
  /** Add this to the agent's `middleware`, before any of your own that handles errors of tools. */
  readonly middleware: AgentMiddleware;
  readonly #options: LangChainOptions;
  /** Conversations by the id of the last message read; the most recently used is last. */
  readonly #conversations = new Map<string, Conversation>();
  #latest: Conversation | undefined;

  constructor(options: LangChainOptions = {}) {
    this.#options = options;
    // Reports an invalid configuration now rather than at the first request.
    new Guard(options).free();
    this.middleware = options.enabled === false ? createMiddleware({ name: "Loopwarden" }) : this.#watching();
  }

  /**
   * Why the run of the most recently active conversation ended, if Loopwarden ended it. With concurrent conversations,
   * call {@link loopHalt} with the result, or use `onHalt`.
   */
  get halted(): LoopHalt | undefined {
    return this.#latest?.guard.halted;
  }

  #watching(): AgentMiddleware {
    return createMiddleware({
      name: "Loopwarden",
      wrapModelCall: async (request, handler) => {
        const conversation = this.#heard(request.state.messages, threadOf(request.runtime));
        const { guard } = conversation;
        if (guard.halted) return said(guard.halted);
        conversation.ask(request.state.messages.at(-1));
        const messages = conversation.woven(request.messages);
        const answer = await handler(messages === request.messages ? request : { ...request, messages });
        // An answer can also be a command or include a structured response.
        if (AIMessage.isInstance(answer)) mark(answer, { at: conversation.now() });
        return answer;
      },
      wrapToolCall: async (request, handler) => {
        const { id: callId = "", name: tool, args } = request.toolCall;
        const messages = (request.state as { messages?: BaseMessage[] }).messages ?? [];
        const conversation = this.#heard(messages, threadOf(request.runtime));
        const ruling = conversation.judge(tool, args, callId);
        if (ruling.action === "block" || ruling.action === "halt") return refused(callId, tool, ruling.text);
        try {
          const answer = await handler(request);
          if (ToolMessage.isInstance(answer)) mark(answer, { at: conversation.now() });
          return answer;
        } catch (error) {
          // With any tool middleware the framework treats a tool's error as one of the middleware and ends the run. The
          // model gets the message here that it would get without the middleware.
          if (!isOfTool(error) || request.runtime.signal?.aborted) throw error;
          const content = error instanceof ToolInvocationError ? error.message : `${error}\n Please fix your mistakes.`;
          const answer = new ToolMessage({ content, tool_call_id: callId, name: tool, status: "error" });
          mark(answer, { at: conversation.now() });
          return answer;
        }
      },
    }) as AgentMiddleware;
  }

  /** The conversation of these messages, after reading the new ones. */
  #heard(messages: readonly BaseMessage[], thread: string | undefined): Conversation {
    const known = messages.findLast(({ id }) => id !== undefined && this.#conversations.has(id))?.id;
    let conversation = known === undefined ? undefined : this.#conversations.get(known);
    if (known !== undefined && conversation) this.#conversations.delete(known);
    else {
      conversation = new Conversation(this.#options, thread ?? messages[0]?.id);
      if (this.#options.detector) conversation.skip(messages);
    }
    const last = conversation.hear(messages);
    this.#conversations.set(last, conversation);
    if (this.#conversations.size > CONVERSATIONS) {
      const [oldest] = this.#conversations;
      if (oldest) {
        this.#conversations.delete(oldest[0]);
        oldest[1].guard.free();
      }
    }
    this.#latest = conversation;
    return conversation;
  }
}

/** The cached state of one conversation, all of which derives from its messages. */
class Conversation {
  readonly guard: Guard;
  readonly #synthetic: boolean;
  readonly #clock: () => number;
  /** The time of the message being read; undefined for what happens now. */
  #at: number | undefined;
  /** The id of the last message read. */
  #last: string | undefined;
  /** The number of judged calls without a result per call id: some providers leave ids empty. */
  readonly #judged = new Map<string, number>();
  /** Guidance, and the id of the message that it follows. */
  readonly #notes: { after: string | undefined; message: HumanMessage }[] = [];

  constructor(options: LangChainOptions, run: string | undefined) {
    const { now = Date.now, prompts } = options;
    this.#clock = now;
    this.#synthetic = prompts === "host";
    this.guard = new Guard({ ...(run !== undefined && { run }), ...options, now: () => this.#at ?? now() });
  }

  now(): number {
    return this.#clock();
  }

  /** Skips the messages up to the model's last answer, which another process has already recorded. */
  skip(messages: readonly BaseMessage[]): void {
    const answer = messages.findLastIndex((message) => AIMessage.isInstance(message));
    this.#last = messages[answer]?.id;
    const { tool_calls: calls = [] } = (messages[answer] ?? {}) as { tool_calls?: { id?: string }[] };
    for (const { id } of calls) if (id !== undefined) this.#judged.set(id, (this.#judged.get(id) ?? 0) + 1);
  }

  /** Reads the new messages and returns the id of the last message. */
  hear(messages: readonly BaseMessage[]): string {
    const heard = this.#last === undefined ? -1 : messages.findLastIndex(({ id }) => id === this.#last);
    for (const [index, message] of messages.entries()) {
      if (index <= heard) continue;
      const { at, own } = ours(message) ?? {};
      this.#at = at ?? this.#at;
      if (own && !ToolMessage.isInstance(message)) continue;
      if (AIMessage.isInstance(message)) {
        // Regenerates the guidance that another process gave at this point.
        if (index > heard + 1 || heard < 0) this.ask(messages[index - 1]);
        this.#answer(message, messages.slice(index + 1));
      } else if (ToolMessage.isInstance(message)) this.#result(message);
      else if (HumanMessage.isInstance(message)) {
        this.guard.message("user", message.text, { synthetic: this.#synthetic });
      }
    }
    this.#at = undefined;
    this.#last = messages.at(-1)?.id ?? this.#last;
    return this.#last ?? "";
  }

  /** Takes pending guidance before a model call; it follows this message. */
  ask(after: BaseMessage | undefined): void {
    const known = this.#notes.at(-1);
    if (known && known.after === after?.id) return;
    const text = this.guard.guidance();
    if (text === undefined) return;
    this.#notes.push({ after: after?.id, message: mark(new HumanMessage(text), { own: true }) });
  }

  /** The messages for the model with all guidance inserted where it was given, so that the model still sees it. */
  woven(messages: BaseMessage[]): BaseMessage[] {
    if (this.#notes.length === 0) return messages;
    const woven = messages.flatMap((message) => [
      message,
      ...this.#notes.filter(({ after }) => after !== undefined && after === message.id).map(({ message }) => message),
    ]);
    const latest = this.#notes.at(-1);
    // If the conversation was shortened, new guidance goes to the end.
    if (latest && latest.after === this.#last && !woven.includes(latest.message)) woven.push(latest.message);
    return woven;
  }

  judge(tool: string, args: unknown, callId: string, settled: boolean = false): ReturnType<Guard["beforeCall"]> {
    this.#judged.set(callId, (this.#judged.get(callId) ?? 0) + 1);
    return this.guard.beforeCall({ tool, args, callId, settled });
  }

  #answer(answer: AIMessage, later: readonly BaseMessage[]): void {
    this.guard.turn();
    const { tool_calls: calls = [], invalid_tool_calls: invalid = [], text } = answer;
    const usage = answer.usage_metadata as Usage | undefined;
    if (usage) this.guard.usage({ input: usage.input_tokens, output: usage.output_tokens, total: usage.total_tokens });
    if (text !== "" || calls.length + invalid.length === 0) this.guard.message("assistant", text);
    for (const { id, name, args, error } of invalid) {
      const call = { tool: name ?? "", ...(id !== undefined && { callId: id }) };
      this.guard.beforeCall({ ...call, rawArgs: args ?? "", settled: true });
      this.guard.afterCall({ ...call, outcome: "invalid", output: error ?? "" });
    }
    // Calls that were answered unseen, in another process or by the framework itself. Later turns may reuse the ids, so
    // only results before the next answer count.
    const next = later.findIndex((one) => AIMessage.isInstance(one));
    const answers = later.slice(0, next < 0 ? later.length : next).filter((one) => ToolMessage.isInstance(one));
    for (const { id = "", name, args } of calls) {
      const at = answers.findIndex(({ tool_call_id }) => tool_call_id === id);
      const [own] = at < 0 ? [] : answers.splice(at, 1);
      if (own) this.judge(name, args, id, ours(own)?.own !== true);
    }
  }

  /** Reports the result of a judged call. Refusals of the guard are ignored. */
  #result(message: ToolMessage): void {
    const { name: tool = "", tool_call_id: callId, status, text } = message;
    if (ours(message)?.own) return;
    const judged = this.#judged.get(callId) ?? 0;
    if (judged <= 1) this.#judged.delete(callId);
    else this.#judged.set(callId, judged - 1);
    if (judged === 0) return;
    this.guard.afterCall({ tool, callId, output: text, outcome: status === "error" ? "error" : "ok" });
  }
}

/** The key of the {@link Mark} in a message's `response_metadata`. */
const OURS = "loopwarden";

function ours(message: BaseMessage | undefined): Mark | undefined {
  return message?.response_metadata?.[OURS] as Mark | undefined;
}

function mark<MESSAGE extends BaseMessage>(message: MESSAGE, mark: Mark): MESSAGE {
  message.response_metadata = { ...message.response_metadata, [OURS]: mark };
  return message;
}

function refused(id: string, name: string, content: string): ToolMessage {
  return mark(new ToolMessage({ tool_call_id: id, name, content, status: "error" }), { own: true });
}

/** The answer that ends a halted conversation, marked as Loopwarden's. */
function said(halt: LoopHalt): AIMessage {
  return mark(new AIMessage({ content: halt.message }), { own: true, halt: halt.toJSON() });
}

/** Whether the error was thrown by a tool, rather than by the framework (an interrupt) or another middleware. */
function isOfTool(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return (
    !("is_bubble_up" in error && error.is_bubble_up === true) &&
    !["MiddlewareError", "GraphInterrupt"].includes(error.name)
  );
}

/** The thread id, if the framework's version provides it. */
function threadOf(runtime: unknown): string | undefined {
  const { configurable } = (runtime ?? {}) as { configurable?: { thread_id?: unknown } };
  return typeof configurable?.thread_id === "string" ? configurable.thread_id : undefined;
}
