import assert from "node:assert/strict";
import { test } from "node:test";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { ChatResult } from "@langchain/core/outputs";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import {
  AIMessage,
  type BaseMessage,
  createAgent,
  HumanMessage,
  ToolMessage,
  tool,
  toolErrorMiddleware,
} from "langchain";
import * as z from "zod";
import type { GuardOptions } from "../../src/adapters/guard.ts";
import { createLoopGuard, type LangChainOptions, loopHalt } from "../src/langchain.ts";
import { callId, conformance, type Run, runTool, type Setup, SPENT, TOOLS, type Turn } from "./kit.ts";

class Died extends Error {}

/** With a middleware around model calls, the framework wraps the error of a model as `cause`. */
function isDeath(error: unknown): boolean {
  return error instanceof Died || (error instanceof Error && error.cause !== undefined && isDeath(error.cause));
}

/** A model that follows the script, then says "done", and records its prompts. */
class Scripted extends BaseChatModel {
  readonly prompts: unknown[] = [];
  readonly #setup: Pick<Setup, "script" | "first" | "dieAfter">;
  #turn = 0;

  constructor(setup: Pick<Setup, "script" | "first" | "dieAfter">) {
    super({ maxRetries: 0 });
    this.#setup = setup;
  }

  override _llmType(): string {
    return "scripted";
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const { script, first, dieAfter } = this.#setup;
    if (this.#turn === dieAfter) throw new Died();
    this.prompts.push(messages.map(plain));
    const { text = "", calls = [] }: Turn = script[this.#turn] ?? { text: "done" };
    const turn = first + this.#turn;
    this.#turn += 1;
    const tool_calls = calls.map(({ tool, args }, index) => ({ id: callId(turn, index), name: tool, args }));
    const { input: input_tokens, output: output_tokens } = SPENT;
    const usage_metadata = { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
    const message = Object.assign(new AIMessage({ content: text, tool_calls }), { usage_metadata });
    return { generations: [{ text, message }] };
  }
}

function plain(message: BaseMessage): unknown {
  const { tool_calls } = message as AIMessage;
  const { tool_call_id } = message as ToolMessage;
  return { type: message.type, text: message.text, tool_calls, tool_call_id };
}

const schema = z.object({ q: z.string() });

function tools(executed: string[]) {
  return TOOLS.map((name) => {
    const run = async (args: { q: string }, config: { toolCall?: { id?: string } }) => {
      executed.push(config.toolCall?.id ?? "none");
      return runTool(name, args);
    };
    return tool(run, { name, description: name, schema });
  });
}

/** The middleware of an application that shows tool errors to the model. */
const errors = () => toolErrorMiddleware({ onError: (error) => (error instanceof Error ? error.message : "failed") });

/** Omits the kit's state, which is in the messages here. */
const watching = ({ state: _, ...options }: GuardOptions) => createLoopGuard(options).middleware;

function agent(setup: Setup, executed: string[], model: Scripted, checkpointer: BaseCheckpointSaver) {
  const common = { model, tools: tools(executed), checkpointer };
  if (setup.bare) return createAgent({ ...common, middleware: [errors()] });
  const shared = setup.shared ?? {};
  shared.guard ??= watching(setup.options);
  return createAgent({ ...common, middleware: [shared.guard as ReturnType<typeof watching>, errors()] });
}

const config = { configurable: { thread_id: "thread" }, recursionLimit: 500 };

interface Values {
  messages: BaseMessage[];
}

async function run(setup: Setup): Promise<Run> {
  const executed: string[] = [];
  const model = new Scripted(setup);
  const checkpointer = (setup.from?.memory as MemorySaver | undefined) ?? new MemorySaver();
  const made = agent(setup, executed, model, checkpointer);
  let [died, values]: [boolean, Partial<Values>] = [false, {}];
  try {
    values = await made.invoke(setup.from ? null : { messages: [new HumanMessage("Find it")] }, config);
  } catch (error) {
    if (!isDeath(error)) throw error;
    died = true;
    values = (await made.graph.getState(config)).values;
  }
  const { messages = [] } = values;
  const last = messages.at(-1);
  const halt = loopHalt(values);
  const finished = AIMessage.isInstance(last) && last.tool_calls?.length === 0 && !halt;
  const answers = messages.flatMap((message) =>
    ToolMessage.isInstance(message) ? [[message.tool_call_id, message.text]] : [],
  );
  return {
    prompts: model.prompts,
    executed,
    answers: Object.fromEntries(answers),
    text: finished ? last.text : undefined,
    ended: died ? "died" : finished ? "completed" : "stopped",
    halt,
    state: JSON.stringify(messages),
    memory: checkpointer,
  };
}

async function delegate(setup: Setup): Promise<Run> {
  let inner: Run | undefined;
  const hand = tool(
    async () => {
      inner = await run({ ...setup, options: { ...setup.options, agent: "worker" } });
      return inner.text ?? "nothing";
    },
    { name: "hand", description: "hands the work on", schema },
  );
  const main = createAgent({
    model: new Scripted({ script: [{ calls: [{ tool: "hand", args: { q: "it" } }] }], first: 0 }),
    tools: [hand],
    middleware: [watching(setup.options)],
  });
  await main.invoke({ messages: [new HumanMessage("Have it found")] });
  assert.ok(inner);
  return inner;
}

// An answer is seen at the next model call, the last one when its thread continues.
conformance("langchain", { run, delegate, blind: true });

const search: Turn = { calls: [{ tool: "search", args: { q: "oauth" } }] };
const times = (count: number): Turn[] => Array.from({ length: count }, () => search);

/** An agent whose thread persists between invocations, and the texts of its last model input. */
function chat(script: Turn[], options: LangChainOptions) {
  const model = new Scripted({ script, first: 0 });
  const made = createAgent({
    model,
    tools: tools([]),
    middleware: [createLoopGuard(options).middleware],
    checkpointer: new MemorySaver(),
  });
  return { model, say: (text: string) => made.invoke({ messages: [new HumanMessage(text)] }, config) };
}

test("langchain: a halted thread ends with an attributed answer, and a human's message lifts the halt", async () => {
  const { say } = chat([...times(9), { text: "Found it" }], {});
  const halted = await say("Find it");
  assert.equal(loopHalt(halted)?.rule, "repeated-call");
  assert.match(halted.messages.at(-1)?.text ?? "", /^Loopwarden ended the run: `search` was called 5 times/);
  const calls = halted.messages.flatMap((message) => (AIMessage.isInstance(message) ? (message.tool_calls ?? []) : []));
  const answers = halted.messages.filter((message) => ToolMessage.isInstance(message));
  assert.equal(answers.length, calls.length, "every call id is answered");
  const lifted = await say("Look in the other folder");
  assert.deepEqual([lifted.messages.at(-1)?.text, loopHalt(lifted)], ["Found it", undefined]);
});

test("langchain: an outer loop that invokes the agent again is no human", async () => {
  const { say, model } = chat([...times(9), { text: "Found it" }], { prompts: "host" });
  await say("Find it");
  const again = await say("Find it");
  assert.equal(loopHalt(again)?.level, "halt");
  assert.equal(model.prompts.length, 9, "the model is not even asked");
});

test("langchain: threads, and invocations without one, share a middleware and nothing else", async () => {
  const { middleware } = createLoopGuard();
  const run = async (thread: string | undefined, count: number) => {
    const model = new Scripted({ script: times(count), first: 0 });
    const agent = createAgent({ model, tools: tools([]), middleware: [middleware] });
    await agent.invoke(
      { messages: [new HumanMessage("Find it")] },
      { configurable: { ...(thread !== undefined && { thread_id: thread }) } },
    );
    return JSON.stringify(model.prompts.at(-1)).split("Loopwarden").length - 1;
  };
  const told = await Promise.all([run("a", 2), run("b", 2), run("c", 3), run(undefined, 2), run(undefined, 3)]);
  assert.deepEqual(told, [0, 0, 1, 0, 1]);
});

test("langchain: honest work takes no more of the recursion limit than without it", async () => {
  const script = Array.from({ length: 6 }, (_, index) => ({ calls: [{ tool: "read", args: { q: `${index}` } }] }));
  const ask = async (middleware: ReturnType<typeof watching>[], recursionLimit: number) => {
    const agent = createAgent({ model: new Scripted({ script, first: 0 }), tools: tools([]), middleware });
    return (await agent.invoke({ messages: [new HumanMessage("Read them")] }, { recursionLimit })).messages.at(-1)
      ?.text;
  };
  // Six rounds of two steps, the answer, and one more.
  assert.equal(await ask([], 14), "done");
  assert.equal(await ask([createLoopGuard().middleware], 14), "done");
  await assert.rejects(ask([], 13));
});

test("langchain: a stream of updates holds the agent's own messages and nothing of ours", async () => {
  const { middleware } = createLoopGuard();
  const agent = createAgent({
    model: new Scripted({ script: times(12), first: 0 }),
    tools: tools([]),
    middleware: [middleware],
  });
  const nodes = new Set<string>();
  let last: readonly BaseMessage[] = [];
  for await (const update of await agent.stream(
    { messages: [new HumanMessage("Find it")] },
    { streamMode: "updates", recursionLimit: 100 },
  )) {
    for (const [node, values] of Object.entries(update as Record<string, { messages: BaseMessage[] }>)) {
      nodes.add(node);
      assert.deepEqual(Object.keys(values), ["messages"]);
      last = values.messages;
    }
  }
  assert.deepEqual([...nodes].sort(), ["model_request", "tools"]);
  assert.equal(loopHalt(last)?.rule, "repeated-call");
});

test("langchain: a thread that another process goes on with is judged as if it had never stopped", async () => {
  const levels = async (processes: number) => {
    const told: string[] = [];
    const checkpointer = new MemorySaver();
    for (let made = 0; made < processes; made += 1) {
      const rounds = 12 / processes;
      const script = Array.from({ length: rounds }, () => search);
      const model = new Scripted({ script, first: made * rounds, ...(made < processes - 1 && { dieAfter: rounds }) });
      const watch = createLoopGuard({ onVerdict: ({ level, seq }) => told.push(`${level} ${seq}`) });
      const agent = createAgent({ model, tools: tools([]), middleware: [watch.middleware], checkpointer });
      const input = made === 0 ? { messages: [new HumanMessage("Find it")] } : null;
      try {
        await agent.invoke(input, { ...config, recursionLimit: 100 });
      } catch (error) {
        assert.ok(isDeath(error), String(error));
      }
    }
    return told;
  };
  const whole = await levels(1);
  const parts = await levels(3);
  // The later processes repeat the verdicts of the first ones while they read the earlier messages.
  assert.deepEqual(parts.slice(-whole.length), whole);
  assert.ok(whole.some((level) => level.startsWith("halt") || level.startsWith("block")));
});

test("langchain: a tool that throws is told to the model as it is without a middleware", async () => {
  const ask = async (middleware: ReturnType<typeof watching>[]) => {
    const script = [{ calls: [{ tool: "boom", args: { q: "a" } }] }, { calls: [{ tool: "search", args: {} }] }];
    const model = new Scripted({ script, first: 0 });
    const agent = createAgent({ model, tools: tools([]), middleware });
    await agent.invoke({ messages: [new HumanMessage("Read it")] });
    return JSON.stringify(model.prompts).replaceAll(/(\\n +at [^\\]*)+/g, "");
  };
  assert.equal(await ask([createLoopGuard().middleware]), await ask([]));
});
