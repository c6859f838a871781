import assert from "node:assert/strict";
import { test } from "node:test";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { ChatResult } from "@langchain/core/outputs";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import {
  AIMessage,
  type BaseMessage,
  createAgent,
  createMiddleware,
  HumanMessage,
  ToolMessage,
  tool,
  toolErrorMiddleware,
} from "langchain";
import * as z from "zod";
import {
  type LangChainOptions,
  type LoopHaltRecord,
  loopHalt,
  loopwardenMiddleware,
} from "../../src/adapters/langchain.ts";
import { callId, conformance, type Run, runTool, type Setup, TOOLS, type Turn } from "./kit.ts";

class Died extends Error {}

/** A model that follows the script, says "done" afterwards, and notes what it was asked. */
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
    return { generations: [{ text, message: new AIMessage({ content: text, tool_calls }) }] };
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

/** As an application does that wants the model to see its tools' errors. */
const errors = () => toolErrorMiddleware({ onError: (error) => (error instanceof Error ? error.message : "failed") });

function agent(setup: Setup, executed: string[], model: Scripted, checkpointer: BaseCheckpointSaver) {
  const common = { model, tools: tools(executed), checkpointer };
  if (setup.bare) return createAgent({ ...common, middleware: [errors()] });
  return createAgent({ ...common, middleware: [loopwardenMiddleware(setup.options), errors()] });
}

const config = { configurable: { thread_id: "thread" }, recursionLimit: 500 };

interface Values {
  messages: BaseMessage[];
  loopHalt?: LoopHaltRecord | null | undefined;
  _loopwarden?: string;
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
    if (!(error instanceof Died)) throw error;
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
    state: values._loopwarden ?? "",
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
    middleware: [loopwardenMiddleware(setup.options)],
  });
  await main.invoke({ messages: [new HumanMessage("Have it found")] });
  assert.ok(inner);
  return inner;
}

conformance("langchain", { run, delegate });

const search: Turn = { calls: [{ tool: "search", args: { q: "oauth" } }] };
const times = (count: number): Turn[] => Array.from({ length: count }, () => search);

/** An agent whose thread lives on between invocations, and the texts of what it was told in the last one. */
function chat(script: Turn[], options: LangChainOptions) {
  const model = new Scripted({ script, first: 0 });
  const made = createAgent({
    model,
    tools: tools([]),
    middleware: [loopwardenMiddleware(options)],
    checkpointer: new MemorySaver(),
  });
  return { model, say: (text: string) => made.invoke({ messages: [new HumanMessage(text)] }, config) };
}

test("langchain: a halted thread ends with an attributed answer, and a human's message lifts the halt", async () => {
  const { say } = chat([...times(9), { text: "Found it" }], {});
  const halted = await say("Find it");
  assert.equal(loopHalt(halted)?.rule, "repeated-call");
  assert.match(halted.messages.at(-1)?.text ?? "", /^Loopwarden ended the run: `search` was called 5 times/);
  assert.equal("_loopwarden" in halted, false, "the detector's state is checkpointed and not handed out");
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

test("langchain: threads share a middleware and nothing else", async () => {
  const middleware = loopwardenMiddleware();
  const run = async (thread: string, count: number) => {
    const agent = createAgent({
      model: new Scripted({ script: times(count), first: 0 }),
      tools: tools([]),
      middleware: [middleware],
      checkpointer: new MemorySaver(),
    });
    const result = await agent.invoke(
      { messages: [new HumanMessage("Find it")] },
      { configurable: { thread_id: thread } },
    );
    return result.messages.filter((message) => message.text.includes("Loopwarden")).length;
  };
  assert.deepEqual(await Promise.all([run("a", 2), run("b", 2), run("c", 3)]), [0, 0, 1]);
});

test("langchain: a state that cannot be read is a warning and a new start", async () => {
  const warnings: string[] = [];
  const spoiled = createMiddleware({
    name: "Spoiled",
    stateSchema: z.object({ _loopwarden: z.string().optional() }),
    beforeAgent: () => ({ _loopwarden: "1.AAAA.W10=" }),
  });
  const agent = createAgent({
    model: new Scripted({ script: times(3), first: 0 }),
    tools: tools([]),
    middleware: [spoiled, loopwardenMiddleware({ onWarning: (message) => warnings.push(message) })],
  });
  const { messages } = await agent.invoke({ messages: [new HumanMessage("Find it")] });
  assert.equal(warnings.length, 1, warnings.join("\n"));
  assert.equal(messages.filter((message) => message.text.includes("Loopwarden")).length, 1, "watched all the same");
});
