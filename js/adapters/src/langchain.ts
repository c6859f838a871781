// LangChain.js: one middleware around model calls and tool calls, which adds no step to the graph. What a guard knows of a
// conversation follows from its messages alone, which the framework keeps, checkpoints, forks and rewinds: here it is only
// remembered, and read again from the messages where somebody else, or another process, went on with them.
import type { AgentMiddleware, BaseMessage } from "langchain";
// As a whole, so that a version that lacks something is told of it in words, and not by the loader of modules.
import * as framework from "langchain";
import { Guard, type GuardOptions, LoopHalt, type LoopHaltRecord } from "../../src/adapters/guard.ts";
import { checked, supported } from "../../src/adapters/options.ts";

const { AIMessage, createMiddleware, HumanMessage, ToolInvocationError, ToolMessage } = framework;
type AIMessage = framework.AIMessage;
type HumanMessage = framework.HumanMessage;
type ToolMessage = framework.ToolMessage;

export { type Guard, type GuardOptions, LoopHalt, type LoopHaltRecord } from "../../src/adapters/guard.ts";

/**
 * What has to survive is in the messages, so there is no `state` here. With a `detector` of your own, that one is fed and
 * remembers, and messages from before this process are not read again.
 */
export interface LangChainOptions extends Omit<GuardOptions, "state"> {
  /**
   * Who writes the human messages: a `human`, whose message ends the window and lifts a halt, or the `host`, such as an
   * outer loop that invokes the agent again and again. Default `human`.
   */
  prompts?: "human" | "host";
}

/** Conversations that are remembered, at most; the others are read again when they go on. */
const CONVERSATIONS = 64;

/**
 * Watches agents, any number of them and of threads at once.
 *
 * @example
 * const guard = createLoopGuard();
 * const agent = createAgent({ model, tools, middleware: [guard.middleware], checkpointer });
 * const result = await agent.invoke({ messages }, config);
 * const halt = loopHalt(result);
 * if (halt) console.error(halt.report);
 *
 * @throws {LoopwardenError} `invalid-config`, for a configuration or an option that is wrong.
 */
export function createLoopGuard(options: LangChainOptions = {}): LangChainGuard {
  supported("langchain", "`langchain` from 1.0 on", framework, ["createMiddleware", "ToolInvocationError"]);
  return new LangChainGuard(checked(options, { state: "is not needed: the conversation's messages hold it" }));
}

/** Why Loopwarden ended a run, from its result, its state or its messages; nothing where it did not. */
export function loopHalt(
  result: { messages?: readonly BaseMessage[] | undefined } | readonly BaseMessage[],
): LoopHalt | undefined {
  const messages = "messages" in result ? result.messages : (result as readonly BaseMessage[]);
  const halt = ours(messages?.at?.(-1))?.halt;
  return halt && new LoopHalt(halt);
}

/** What of a message is ours; no provider is sent it. */
interface Mark {
  /** When it came to be, in milliseconds since the Unix epoch. */
  at?: number;
  /** Written by Loopwarden. */
  own?: boolean;
  halt?: LoopHaltRecord;
}

/** What a model call took, as messages tell it. */
interface Usage {
  input_tokens?: number;
  output_tokens?: number;
  total_tokens?: number;
}

export class LangChainGuard {
  /** Belongs among the `middleware` of the agent, before your own that handles errors of tools. */
  readonly middleware: AgentMiddleware;
  readonly #options: LangChainOptions;
  /** Conversations by the id of the message that was heard last, the one that went on last at the end. */
  readonly #conversations = new Map<string, Conversation>();
  #latest: Conversation | undefined;

  constructor(options: LangChainOptions = {}) {
    this.#options = options;
    // A wrong configuration is told at once, and not by the first request.
    new Guard(options).free();
    this.middleware = options.enabled === false ? createMiddleware({ name: "Loopwarden" }) : this.#watching();
  }

  /**
   * Why the run ended, if Loopwarden ended it: that of the conversation that went on last. Where several go on side by
   * side, ask {@link loopHalt} with the result, or listen with `onHalt`.
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
        // Some answers are commands, or hold a structured answer as well.
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
          // With any middleware around it the framework takes an error of a tool for one of the middleware, and ends the
          // run. What the model would be told without it, it is told here.
          if (!isOfTool(error) || request.runtime.signal?.aborted) throw error;
          const content = error instanceof ToolInvocationError ? error.message : `${error}\n Please fix your mistakes.`;
          const answer = new ToolMessage({ content, tool_call_id: callId, name: tool, status: "error" });
          mark(answer, { at: conversation.now() });
          return answer;
        }
      },
    }) as AgentMiddleware;
  }

  /** The conversation of these messages, after all of them were heard. */
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

/** What is remembered of one conversation: nothing that its messages do not tell. */
class Conversation {
  readonly guard: Guard;
  readonly #synthetic: boolean;
  readonly #clock: () => number;
  /** When the message that is being read came to be; absent for what happens now. */
  #at: number | undefined;
  /** The id of the message that was heard last. */
  #last: string | undefined;
  /** Ids of calls that were judged before they ran, and how many have each: some providers leave ids empty. */
  readonly #judged = new Map<string, number>();
  /** Guidance, and the message that it follows. */
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

  /** Passes over what was heard by somebody else: all before what is new since the model's last answer. */
  skip(messages: readonly BaseMessage[]): void {
    const answer = messages.findLastIndex((message) => AIMessage.isInstance(message));
    this.#last = messages[answer]?.id;
    const { tool_calls: calls = [] } = (messages[answer] ?? {}) as { tool_calls?: { id?: string }[] };
    for (const { id } of calls) if (id !== undefined) this.#judged.set(id, (this.#judged.get(id) ?? 0) + 1);
  }

  /** Reads what is new, and tells the id of the last message. */
  hear(messages: readonly BaseMessage[]): string {
    const heard = this.#last === undefined ? -1 : messages.findLastIndex(({ id }) => id === this.#last);
    for (const [index, message] of messages.entries()) {
      if (index <= heard) continue;
      const { at, own } = ours(message) ?? {};
      this.#at = at ?? this.#at;
      if (own && !ToolMessage.isInstance(message)) continue;
      if (AIMessage.isInstance(message)) {
        // The guidance of then, where that was given by somebody else.
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

  /** The model is about to be asked: what it should be told comes after this message. */
  ask(after: BaseMessage | undefined): void {
    const known = this.#notes.at(-1);
    if (known && known.after === after?.id) return;
    const text = this.guard.guidance();
    if (text === undefined) return;
    this.#notes.push({ after: after?.id, message: mark(new HumanMessage(text), { own: true }) });
  }

  /** The messages for the model, with the guidance in its places, so that what it was told it still knows. */
  woven(messages: BaseMessage[]): BaseMessage[] {
    if (this.#notes.length === 0) return messages;
    const woven = messages.flatMap((message) => [
      message,
      ...this.#notes.filter(({ after }) => after !== undefined && after === message.id).map(({ message }) => message),
    ]);
    const latest = this.#notes.at(-1);
    // Somebody shortened the conversation: what is new is said all the same.
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
    // Calls that were answered before anybody here saw them: in another process, or by the framework itself. Later turns
    // may have calls with the same ids.
    const next = later.findIndex((one) => AIMessage.isInstance(one));
    const answers = later.slice(0, next < 0 ? later.length : next).filter((one) => ToolMessage.isInstance(one));
    for (const { id = "", name, args } of calls) {
      const at = answers.findIndex(({ tool_call_id }) => tool_call_id === id);
      const [own] = at < 0 ? [] : answers.splice(at, 1);
      if (own) this.judge(name, args, id, ours(own)?.own !== true);
    }
  }

  /** The guard passes over the answer of a call that it refused. */
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

/** The key of our own part in a message's `response_metadata`. */
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

/** A conversation ends with an answer; this one says whose it is. */
function said(halt: LoopHalt): AIMessage {
  return mark(new AIMessage({ content: halt.message }), { own: true, halt: halt.toJSON() });
}

/** Whether a tool threw it, and not the framework: an interrupt, or another middleware. */
function isOfTool(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return (
    !("is_bubble_up" in error && error.is_bubble_up === true) &&
    !["MiddlewareError", "GraphInterrupt"].includes(error.name)
  );
}

/** The thread, where the framework's version tells it. */
function threadOf(runtime: unknown): string | undefined {
  const { configurable } = (runtime ?? {}) as { configurable?: { thread_id?: unknown } };
  return typeof configurable?.thread_id === "string" ? configurable.thread_id : undefined;
}
