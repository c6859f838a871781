import assert from "node:assert/strict";
import { test } from "node:test";
import {
  generateText,
  isStepCount,
  jsonSchema,
  type ModelMessage,
  streamText,
  ToolLoopAgent,
  type ToolSet,
  tool,
} from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { type AiSdkGuard, createLoopGuard, LoopHalt, loopHalt } from "../src/ai-sdk.ts";
import {
  callId,
  conformance,
  type Harness,
  type Run,
  runTool,
  type Setup,
  SPENT,
  spied,
  TOOLS,
  type Turn,
} from "./kit.ts";

const usage = {
  inputTokens: { total: SPENT.input, noCache: SPENT.input, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: SPENT.output, text: SPENT.output, reasoning: 0 },
};

class Died extends Error {}

/** The model's answer for one turn. */
function answer({ text, calls = [] }: Turn, turn: number) {
  return {
    content: [
      ...(text === undefined ? [] : [{ type: "text" as const, text }]),
      ...calls.map(({ tool, args }, index) => {
        return {
          type: "tool-call" as const,
          toolCallId: callId(turn, index),
          toolName: tool,
          input: JSON.stringify(args),
        };
      }),
    ],
    finishReason: { unified: calls.length > 0 ? ("tool-calls" as const) : ("stop" as const), raw: undefined },
    usage,
    warnings: [],
  };
}

/** A model that follows the script, then says "done", and records its prompts. */
function scripted({ script, first, dieAfter }: Setup, prompts: unknown[]): MockLanguageModelV4 {
  let turn = 0;
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      if (turn === dieAfter) throw new Died();
      prompts.push(prompt);
      turn += 1;
      return answer(script[turn - 1] ?? { text: "done" }, first + turn - 1);
    },
  });
}

const inputSchema = jsonSchema<Record<string, unknown>>({ type: "object", properties: { q: { type: "string" } } });

function tools(executed: string[]): ToolSet {
  const made = TOOLS.map((name) => {
    const execute = async (args: Record<string, unknown>, { toolCallId }: { toolCallId: string }) => {
      executed.push(toolCallId);
      return runTool(name, args);
    };
    return [name, tool({ inputSchema, execute })];
  });
  return Object.fromEntries(made);
}

/** The results of calls in a conversation, as text, by call id. */
function answers(messages: ModelMessage[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const message of messages) {
    if (message.role !== "tool") continue;
    for (const part of message.content) {
      if (part.type !== "tool-result") continue;
      const { output } = part;
      found[part.toolCallId] = "value" in output ? String(output.value) : output.type;
    }
  }
  return found;
}

async function run(setup: Setup, watchModel = true): Promise<Run> {
  const { options, bare, from, script } = setup;
  const shared = setup.shared ?? {};
  shared.guard ??= createLoopGuard({ ...options, ...(from && { state: from.state }) });
  const guard = shared.guard as AiSdkGuard;
  const [prompts, executed]: [unknown[], string[]] = [[], []];
  const model = scripted(setup, prompts);
  const [limit, offered] = [isStepCount(script.length + 2), tools(executed)];
  const history = (from?.memory as ModelMessage[] | undefined) ?? [{ role: "user", content: "Find it" }];
  const done: ModelMessage[] = [];
  const common = { messages: history, maxRetries: 0 };
  let result: Awaited<ReturnType<typeof generateText>> | undefined;
  try {
    result = bare
      ? await generateText({ ...common, model, tools: offered, stopWhen: limit })
      : await generateText({
          ...common,
          model: watchModel ? guard.model(model) : model,
          tools: guard.tools(offered),
          prepareStep: guard.prepareStep(),
          stopWhen: [limit, guard.stopWhen],
          onStepEnd: ({ response }) => {
            done.push(...response.messages);
          },
        });
  } catch (error) {
    if (!(error instanceof Died)) throw error;
  }
  const finished = result?.finishReason === "stop";
  return {
    prompts,
    executed,
    answers: answers(result ? result.responseMessages : done),
    text: finished ? result?.text : undefined,
    ended: !result ? "died" : finished ? "completed" : "stopped",
    halt: result ? loopHalt(result) : guard.halted,
    state: guard.snapshot(),
    memory: [...history, ...done],
  };
}

async function delegate(setup: Setup): Promise<Run> {
  const main = createLoopGuard(setup.options);
  let inner: Run | undefined;
  const hand = tool({
    inputSchema,
    execute: async () => {
      const worker = main.scope({ agent: "worker" });
      const [prompts, executed]: [unknown[], string[]] = [[], []];
      const result = await generateText({
        model: worker.model(scripted(setup, prompts)),
        prompt: "Find it",
        tools: worker.tools(tools(executed)),
        prepareStep: worker.prepareStep(),
        stopWhen: [isStepCount(50), worker.stopWhen],
      });
      const { text } = result;
      inner = { prompts, executed, answers: {}, text, ended: "completed", halt: worker.halted, state: "" };
      return text;
    },
  });
  await generateText({
    model: scripted({ ...setup, script: [{ calls: [{ tool: "hand", args: { q: "it" } }] }] }, []),
    prompt: "Have it found",
    tools: main.tools({ hand }),
    prepareStep: main.prepareStep(),
    stopWhen: [isStepCount(50), main.stopWhen],
  });
  assert.ok(inner);
  return inner;
}

const harness: Harness = { run, delegate };
conformance("ai-sdk", harness);
conformance("ai-sdk without a watched model", { run: (setup) => run(setup, false), delegate, blind: true });

const search: Turn = { calls: [{ tool: "search", args: { q: "oauth" } }] };
const times = (count: number, turn: Turn = search): Turn[] => Array.from({ length: count }, () => turn);

/** A run as in an application; the prompt and the tools can be replaced. */
function ask(guard: AiSdkGuard, script: Turn[], own: { prompt?: string; tools?: ToolSet } = {}) {
  const model = scripted({ options: {}, script, first: 0, bare: false }, []);
  return generateText({
    model: guard.model(model),
    prompt: own.prompt ?? "Find it",
    tools: guard.tools(own.tools ?? tools([])),
    prepareStep: guard.prepareStep(),
    stopWhen: [isStepCount(50), guard.stopWhen],
  });
}

/** The recorded outcomes. */
const outcomes = (events: ReturnType<typeof spied>["events"]) =>
  events.flatMap((event) => (event.type === "tool-result" ? [event.outcome] : []));

test("ai-sdk: a message that repeats itself without end is cut off while it streams", async () => {
  const pieces = 2000;
  const model = new MockLanguageModelV4({
    doStream: async () => ({
      stream: convertArrayToReadableStream([
        { type: "stream-start" as const, warnings: [] },
        { type: "text-start" as const, id: "1" },
        ...Array.from({ length: pieces }, () => {
          return { type: "text-delta" as const, id: "1", delta: "Let me check the file again. " };
        }),
        { type: "text-end" as const, id: "1" },
        { type: "finish" as const, finishReason: { unified: "stop" as const, raw: undefined }, usage },
      ]),
    }),
  });
  const guard = createLoopGuard();
  const errors: unknown[] = [];
  const result = streamText({
    model: guard.model(model),
    prompt: "Find it",
    onError: ({ error }) => {
      errors.push(error);
    },
  });
  let seen = 0;
  for await (const part of result.stream) if (part.type === "text-delta") seen += 1;
  assert.ok(seen < pieces / 4, `${seen} of ${pieces} pieces`);
  assert.equal(guard.halted?.rule, "stream-period");
  assert.ok(errors[0] instanceof LoopHalt, String(errors[0]));
});

test("ai-sdk: calls that never reach a tool are seen: unknown, invalid, denied and the provider's own", async () => {
  const { detector, events } = spied();
  const guard = createLoopGuard({ detector });
  const strict = tool({
    inputSchema: jsonSchema<{ n: number }>(
      { type: "object", properties: { n: { type: "number" } } },
      { validate: () => ({ success: false, error: new Error("n must be a number") }) },
    ),
    execute: () => "never",
  });
  const script: Turn[] = [
    { calls: [{ tool: "missing", args: { q: "a" } }] },
    { calls: [{ tool: "strict", args: { n: "one" } }] },
  ];
  await ask(guard, script, { tools: { strict } });
  assert.deepEqual(outcomes(events), ["unknown-tool", "invalid"]);

  const denied = spied();
  const careful = createLoopGuard({ detector: denied.detector });
  await generateText({
    model: careful.model(scripted({ options: {}, script: times(1), first: 0, bare: false }, [])),
    prompt: "Find it",
    tools: careful.tools(tools([])),
    toolApproval: { search: { type: "denied", reason: "not allowed" } },
    prepareStep: careful.prepareStep(),
    stopWhen: [isStepCount(5), careful.stopWhen],
  });
  assert.deepEqual(outcomes(denied.events), ["denied"]);
});

test("ai-sdk: what a client runs is counted across requests and processes", async () => {
  const client: ToolSet = { click: tool({ inputSchema, outputSchema: inputSchema }) };
  let messages: ModelMessage[] = [{ role: "user", content: "Find it" }];
  let state = createLoopGuard().snapshot();
  const levels: string[] = [];
  for (let request = 0; request < 3; request += 1) {
    const guard = createLoopGuard({ state, onVerdict: ({ level }) => levels.push(level) });
    const setup = {
      options: {},
      script: [{ calls: [{ tool: "click", args: { q: "a" } }] }],
      first: request,
      bare: false,
    };
    const { responseMessages } = await generateText({
      model: guard.model(scripted(setup, [])),
      messages,
      tools: guard.tools(client),
      prepareStep: guard.prepareStep(),
      stopWhen: [isStepCount(50), guard.stopWhen],
    });
    const output = { type: "text" as const, value: "nothing happened" };
    const part = { type: "tool-result" as const, toolCallId: callId(request), toolName: "click", output };
    messages = [...messages, ...responseMessages, { role: "tool", content: [part] }];
    state = guard.snapshot();
  }
  const guard = createLoopGuard({ state, onVerdict: ({ level }) => levels.push(level) });
  const prompts: unknown[] = [];
  await generateText({
    model: guard.model(scripted({ options: {}, script: [], first: 3, bare: false }, prompts)),
    messages,
    tools: guard.tools(client),
    prepareStep: guard.prepareStep(),
  });
  assert.deepEqual(levels, ["nudge"]);
  assert.match(JSON.stringify(prompts), /`click` was called 3 times/);
});

test("ai-sdk: a tool's own ways go on: its conversion for the model, and outputs that come in pieces", async () => {
  const { detector, events } = spied();
  const guard = createLoopGuard({ detector });
  const rich = tool({
    inputSchema,
    execute: async function* () {
      yield { rows: 0 };
      yield { rows: 7 };
    },
    toModelOutput: ({ output }) => ({ type: "text", value: `${output.rows} rows` }),
  });
  const script = times(7, { calls: [{ tool: "rich", args: { q: "a" } }] });
  const { responseMessages } = await ask(guard, script, { tools: { rich } });
  const told = answers(responseMessages);
  assert.equal(told[callId(0)], "7 rows");
  assert.match(told[callId(5)] ?? "", /^Loopwarden .* refused/);
  const [first] = events.flatMap((event) => (event.type === "tool-result" ? [event.output] : []));
  assert.deepEqual(first, { rows: 7 }, "the last piece is the output");
});

test("ai-sdk: your own prepareStep stays in force", async () => {
  const guard = createLoopGuard();
  const prompts: unknown[] = [];
  await generateText({
    model: guard.model(scripted({ options: {}, script: times(4), first: 0, bare: false }, prompts)),
    prompt: "Find it",
    tools: guard.tools(tools([])),
    runtimeContext: { user: "u1" },
    prepareStep: guard.prepareStep(({ messages, stepNumber, runtimeContext }) =>
      stepNumber === 3 && runtimeContext["user"] === "u1"
        ? { messages: [...messages, { role: "user", content: "Own words" }] }
        : undefined,
    ),
    stopWhen: [isStepCount(50), guard.stopWhen],
  });
  assert.match(JSON.stringify(prompts.at(-1)), /Own words.*Loopwarden/);
});

test("ai-sdk: a human's prompt lifts a halt, an outer loop's does not", async () => {
  const human = createLoopGuard();
  await ask(human, times(20));
  assert.equal(human.halted?.level, "halt");
  const { text } = await ask(human, [], { prompt: "Look in the other folder" });
  assert.deepEqual([text, human.halted], ["done", undefined]);

  const host = createLoopGuard({ prompts: "host" });
  await ask(host, times(20));
  await assert.rejects(ask(host, []), LoopHalt);
});

test("ai-sdk: without stopWhen the halt is thrown", async () => {
  const guard = createLoopGuard();
  const agent = new ToolLoopAgent({
    model: scripted({ options: {}, script: times(20), first: 0, bare: false }, []),
    tools: guard.tools(tools([])),
    prepareStep: guard.prepareStep(),
  });
  await assert.rejects(
    agent.generate({ prompt: "Find it" }),
    (error) => error instanceof LoopHalt && error.level === "halt",
  );
});

test("a request without tools has none to judge", () => {
  const tools: Record<string, never> | undefined = undefined;
  assert.equal(createLoopGuard().tools(tools), undefined);
});
