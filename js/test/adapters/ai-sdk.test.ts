import assert from "node:assert/strict";
import { generateText, isStepCount, jsonSchema, type ModelMessage, type ToolSet, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createLoopGuard } from "../../src/adapters/ai-sdk.ts";
import { callId, conformance, type Harness, type Run, runTool, type Setup, TOOLS, type Turn } from "./kit.ts";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

class Died extends Error {}

/** What a model answers in one turn. */
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

/** A model that follows the script, says "done" afterwards, and notes what it was asked. */
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

/** The answers of calls in a conversation, as text. */
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
  const guard = createLoopGuard({ ...options, ...(from && { state: from.state }) });
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
    halt: guard.halted,
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
conformance("ai-sdk without a watched model", { run: (setup) => run(setup, false), delegate });
