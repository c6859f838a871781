import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, type AgentConfig } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { createTool } from "@mastra/core/tools";
import type { ModelMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import * as z from "zod";
import { createLoopGuard, LoopHalt, loopHalt, type MastraGuard } from "../src/mastra.ts";
import { callId, conformance, type Run, runTool, type Setup, SPENT, spied, TOOLS, type Turn } from "./kit.ts";

class Died extends Error {}

type Prompt = Awaited<MockLanguageModelV4["doGenerateCalls"]>[number]["prompt"];

const usage = {
  inputTokens: { total: SPENT.input, noCache: SPENT.input, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: SPENT.output, text: SPENT.output, reasoning: 0 },
};

/** The model's answer for one turn. */
function answer({ text, calls = [] }: Turn, turn: number) {
  return {
    content: [
      ...(text === undefined ? [] : [{ type: "text" as const, text }]),
      ...calls.map(({ tool, args }, index) => {
        const input = JSON.stringify(args);
        return { type: "tool-call" as const, toolCallId: callId(turn, index), toolName: tool, input };
      }),
    ],
    finishReason: { unified: calls.length > 0 ? ("tool-calls" as const) : ("stop" as const), raw: undefined },
    usage,
    warnings: [],
  };
}

type Model = AgentConfig["model"];

/** A model that follows the script, then says "done", and records its prompts, also when it dies. */
function scripted({ script, first, dieAfter }: Pick<Setup, "script" | "first" | "dieAfter">, prompts: Prompt[] = []) {
  let turn = 0;
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      prompts.push(prompt);
      if (turn === dieAfter) throw new Died();
      turn += 1;
      return answer(script[turn - 1] ?? { text: "done" }, first + turn - 1);
    },
  });
  return model as unknown as Model;
}

type StreamPart =
  Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"] extends ReadableStream<infer PART> ? PART : never;

const finish = (unified: "stop" | "tool-calls"): StreamPart => {
  return { type: "finish", finishReason: { unified, raw: undefined }, usage };
};

/** As {@link scripted}, for streams. */
function streamed(script: Turn[]): Model {
  let turn = 0;
  const model = new MockLanguageModelV4({
    doStream: async () => {
      const { content, finishReason } = answer(script[turn] ?? { text: "done" }, turn);
      turn += 1;
      const parts = content.flatMap((part): StreamPart[] => {
        if (part.type === "tool-call") return [part];
        const id = "1";
        return [
          { type: "text-start", id },
          { type: "text-delta", id, delta: part.text },
          { type: "text-end", id },
        ];
      });
      const all: StreamPart[] = [{ type: "stream-start", warnings: [] }, ...parts, finish(finishReason.unified)];
      return { stream: ReadableStream.from(all) };
    },
  });
  return model as unknown as Model;
}

const inputSchema = z.object({ q: z.string() });

function tools(executed: string[]) {
  const made = TOOLS.map((name) => {
    const execute = async (args: { q: string }, context: { agent?: { toolCallId?: string } }) => {
      executed.push(context.agent?.toolCallId ?? "none");
      return runTool(name, args);
    };
    return [name, createTool({ id: name, description: name, inputSchema, execute })] as const;
  });
  return Object.fromEntries(made);
}

/** The results of calls in a conversation, as text, by call id. */
function answers(prompt: Prompt): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { content } of prompt) {
    if (typeof content === "string") continue;
    for (const part of content) {
      if (part.type !== "tool-result") continue;
      const { output } = part;
      const value = "value" in output ? output.value : output;
      found[part.toolCallId] = typeof value === "string" ? value : JSON.stringify(value);
    }
  }
  return found;
}

function watched(guard: MastraGuard | undefined) {
  if (!guard) return { hooks: {} };
  return { inputProcessors: [guard.processor], outputProcessors: [guard.processor], hooks: guard.hooks() };
}

/** A prompt without creation times, so that equal runs compare equal. */
function plain(prompt: Prompt): unknown {
  return JSON.parse(JSON.stringify(prompt, (key, value) => (key === "createdAt" ? undefined : value)));
}

async function go(setup: Setup, make: (model: Model, executed: string[], guard?: MastraGuard) => Agent): Promise<Run> {
  const [executed, prompts]: [string[], Prompt[]] = [[], []];
  const state = setup.from && { state: setup.from.state };
  const shared = setup.shared ?? {};
  // Concurrent requests have no thread here, so each is a separate run.
  const named = setup.shared ? {} : { run: "conversation" };
  if (!setup.bare) shared.guard ??= createLoopGuard({ ...named, ...setup.options, ...state });
  const guard = shared.guard as MastraGuard | undefined;
  const agent = make(scripted(setup, prompts), executed, guard);
  const input = (setup.from?.memory as ModelMessage[] | undefined) ?? "Find it";
  let result: Awaited<ReturnType<Agent["generate"]>> | undefined;
  try {
    result = await agent.generate(input as string, { maxSteps: 100 });
  } catch (error) {
    if (!(error instanceof Died)) throw error;
  }
  const halt = result && loopHalt(result);
  const last = prompts.at(-1) ?? [];
  return {
    prompts: prompts.map(plain),
    executed,
    answers: answers(last),
    text: halt ? undefined : result?.text,
    ended: halt ? "stopped" : result ? "completed" : "died",
    halt,
    state: guard?.snapshot() ?? "",
    memory: last.filter(({ role }) => role !== "system"),
  };
}

function run(setup: Setup): Promise<Run> {
  return go(
    setup,
    (model, executed, guard) => new Agent({ ...base("main"), model, tools: tools(executed), ...watched(guard) }),
  );
}

function delegate(setup: Setup): Promise<Run> {
  return go(setup, (model, executed, guard) => {
    const worker = new Agent({
      ...base("worker"),
      model,
      tools: tools(executed),
      ...watched(guard?.scope({ agent: "worker" })),
    });
    const script = [{ calls: [{ tool: "agent-worker", args: { prompt: "Find it" } }] }];
    return new Agent({
      ...base("main"),
      model: scripted({ script, first: 100 }),
      agents: { worker },
      ...watched(guard),
    });
  });
}

const base = (name: string) => ({ id: name, name, description: name, instructions: "Help", maxRetries: 0 });

conformance("mastra", { run, delegate });

const search: Turn = { calls: [{ tool: "search", args: { q: "oauth" } }] };
const times = (count: number): Turn[] => Array.from({ length: count }, () => search);

function agentOf(guard: MastraGuard, model: Model, made: Partial<AgentConfig> = {}): Agent {
  return new Agent({ ...base("main"), model, tools: tools([]), ...watched(guard), ...made } as AgentConfig);
}

test("mastra: a human's message lifts a halt, and an outer loop's does not", async () => {
  for (const prompts of ["human", "host"] as const) {
    const asked: Prompt[] = [];
    const guard = createLoopGuard({ prompts, run: "conversation" });
    const agent = agentOf(guard, scripted({ script: [...times(9), { text: "Found it" }], first: 0 }, asked));
    const halted = await agent.generate("Find it", { maxSteps: 50 });
    const halt = loopHalt(halted);
    assert.ok(halt instanceof LoopHalt);
    assert.deepEqual([halt.rule, halted.finishReason], ["repeated-call", "other"]);
    const again = await agent.generate("Look in the other folder", { maxSteps: 50 });
    if (prompts === "human") assert.deepEqual([again.text, loopHalt(again)], ["Found it", undefined]);
    else assert.deepEqual([loopHalt(again)?.rule, asked.length], ["repeated-call", 9], "the model is not even asked");
  }
});

test("mastra: requests share an agent and nothing else, unless they are of one thread", async () => {
  const { detector, events } = spied();
  const guard = createLoopGuard({ detector });
  const ask = (count: number) => agentOf(guard, scripted({ script: times(count), first: 0 })).generate("Find it");
  await Promise.all([ask(2), ask(2), ask(2)]);
  assert.equal(new Set(events.map(({ run }) => run)).size, 3);
  assert.ok(
    events.every((event) => event.type === "turn" || !event.synthetic),
    "nobody was told anything",
  );
  const memory = new MockMemory();
  for (const count of [1, 1]) {
    const agent = agentOf(guard, scripted({ script: times(count), first: 0 }), { memory });
    await agent.generate("Find it", { memory: { thread: "a-thread", resource: "a-user" } });
  }
  assert.equal(events.filter(({ type, run }) => type === "tool-call" && run === "a-thread").length, 2);
});

test("mastra: guidance is part of its request and is not kept in the memory", async () => {
  const memory = new MockMemory();
  const prompts: Prompt[] = [];
  const agent = agentOf(createLoopGuard(), scripted({ script: times(3), first: 0 }, prompts), { memory });
  await agent.generate("Find it", { maxSteps: 50, memory: { thread: "a-thread", resource: "a-user" } });
  assert.match(JSON.stringify(prompts.at(-1)), /Loopwarden/);
  const { messages } = await memory.recall({ threadId: "a-thread", resourceId: "a-user" });
  assert.match(JSON.stringify(messages), /no results/);
  assert.doesNotMatch(JSON.stringify(messages), /Loopwarden/);
});

test("mastra: a streamed run is nudged, refused and ended as any other", async () => {
  const { detector, verdicts } = spied();
  const agent = agentOf(createLoopGuard({ detector }), streamed(times(40)));
  const stream = await agent.stream("Find it", { maxSteps: 50 });
  const types = new Set<string>();
  for await (const chunk of stream.fullStream) types.add(chunk.type);
  assert.ok(types.has("tripwire"));
  const levels = new Set(verdicts.map(({ level }) => level));
  assert.ok(levels.has("nudge") && levels.has("block"));
  assert.equal(loopHalt(stream)?.haltReason, "stalled");
});

test("mastra: a message that repeats itself without end is cut off while it streams", async () => {
  const guard = createLoopGuard();
  let produced = 0;
  async function* babble(): AsyncGenerator<StreamPart> {
    yield { type: "stream-start", warnings: [] };
    yield { type: "text-start", id: "1" };
    for (; produced < 5000; produced++) {
      yield { type: "text-delta", id: "1", delta: "Let me check the file again. " };
    }
    yield { type: "text-end", id: "1" };
    yield finish("stop");
  }
  const model = new MockLanguageModelV4({ doStream: async () => ({ stream: ReadableStream.from(babble()) }) });
  const stream = await agentOf(guard, model as unknown as Model).stream("Find it");
  let seen = 0;
  for await (const chunk of stream.fullStream) if (chunk.type === "text-delta") seen += 1;
  assert.ok(seen < 1000, `${seen} pieces`);
  assert.ok(loopHalt(stream) instanceof LoopHalt);
});

test("mastra: what no tool of ours ran is seen as well: unknown tools, and arguments that do not fit", async () => {
  const { detector, events } = spied();
  const script = [{ calls: [{ tool: "nothing", args: {} }] }, { calls: [{ tool: "search", args: { p: 1 } }] }];
  const guard = createLoopGuard({ detector });
  const result = await agentOf(guard, scripted({ script, first: 0 })).generate("Find it");
  assert.equal(result.text, "done");
  const outcomes = events.flatMap((event) => (event.type === "tool-result" ? [[event.tool, event.outcome]] : []));
  assert.deepEqual(outcomes, [
    ["nothing", "unknown-tool"],
    ["search", "invalid"],
  ]);
  assert.equal(events.filter(({ type }) => type === "tool-call").length, 2);
});

test("mastra: a sub-agent that is ended is the main agent's to answer for", async () => {
  const guard = createLoopGuard({ run: "conversation", agent: "main" });
  const inner = guard.scope({ agent: "worker" });
  const asked: Prompt[] = [];
  const workers = scripted({ script: times(40), first: 0 }, asked);
  const worker = agentOf(inner, workers, { ...base("worker"), defaultOptions: { maxSteps: 50 } });
  const script = [{ calls: [{ tool: "agent-worker", args: { prompt: "Find it" } }] }];
  const agents = { worker };
  const main = new Agent({ ...base("main"), model: scripted({ script, first: 100 }), agents, ...watched(guard) });
  const result = await main.generate("Have it found", { maxSteps: 50 });
  assert.deepEqual([result.text, loopHalt(result)], ["done", undefined]);
  assert.equal(asked.length, 9);
  assert.deepEqual([inner.guard.halted?.rule, guard.guard.halted], ["repeated-call", undefined]);
});

test("mastra: a version, or an agent, that asks no processor is told so once", async () => {
  const warnings: string[] = [];
  const guard = createLoopGuard({ run: "r", onWarning: (message) => warnings.push(message) });
  const hooks = guard.hooks();
  for (let call = 0; call < 3; call += 1)
    await hooks.beforeToolCall?.({
      toolName: "search",
      input: { q: `${call}` },
      context: { toolCallId: `${call}` },
    } as never);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /loopwarden\/mastra .* `guard\.processor` among .* `@mastra\/core` 1\.0 or later/);
});

test("mastra: hooks of yours are asked for what Loopwarden lets through", async () => {
  const guard = createLoopGuard({ config: { rules: { "repeated-call": { halt: 0 } } }, maxRefusals: 0 });
  const heard: string[] = [];
  const hooks = guard.hooks({
    beforeToolCall: () => void heard.push("before"),
    afterToolCall: ({ output }) => void heard.push(String(output)),
  });
  const agent = agentOf(guard, scripted({ script: times(7), first: 0 }), { hooks });
  assert.equal((await agent.generate("Find it", { maxSteps: 50 })).text, "done");
  assert.equal(heard.filter((what) => what === "before").length, 5);
  assert.equal(heard.filter((what) => what === "no results").length, 5);
});
