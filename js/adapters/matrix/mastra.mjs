import assert from "node:assert/strict";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { createLoopGuard, LoopHalt, loopHalt } from "loopwarden/mastra";
import * as z from "zod";

const usage = { inputTokens: 9, outputTokens: 1, totalTokens: 10 };

/** A model of the AI SDK's second specification that makes the same call `times` times. */
function scripted(times) {
  const prompts = [];
  const parts = (prompt) => {
    prompts.push(prompt);
    const id = `call-${prompts.length}`;
    return prompts.length <= times
      ? {
          content: [{ type: "tool-call", toolCallId: id, toolName: "search", input: '{"q":"a"}' }],
          finishReason: "tool-calls",
        }
      : { content: [{ type: "text", text: "done" }], finishReason: "stop" };
  };
  const doGenerate = async ({ prompt }) => ({ ...parts(prompt), usage, warnings: [] });
  const doStream = async ({ prompt }) => {
    const { content, finishReason } = parts(prompt);
    const told = content.flatMap((part) =>
      part.type === "text"
        ? [
            { type: "text-start", id: "1" },
            { type: "text-delta", id: "1", delta: part.text },
            { type: "text-end", id: "1" },
          ]
        : [part],
    );
    return {
      stream: ReadableStream.from([
        { type: "stream-start", warnings: [] },
        ...told,
        { type: "finish", finishReason, usage },
      ]),
    };
  };
  return {
    prompts,
    model: {
      specificationVersion: "v2",
      provider: "none",
      modelId: "scripted",
      supportedUrls: {},
      doGenerate,
      doStream,
    },
  };
}

const search = createTool({
  id: "search",
  description: "Searches",
  inputSchema: z.object({ q: z.string() }),
  execute: async () => "no results",
});
const guard = createLoopGuard({ onWarning: (message) => assert.fail(message) });

async function ask(times) {
  const { prompts, model } = scripted(times);
  const agent = new Agent({
    id: "helper",
    name: "helper",
    instructions: "Help",
    model,
    tools: { search },
    inputProcessors: [guard.processor],
    outputProcessors: [guard.processor],
    hooks: guard.hooks(),
  });
  const result = await agent.generate("Find it", { maxSteps: 50 });
  return { halt: loopHalt(result), prompts, text: result.text };
}

const [loop, ...honest] = await Promise.all([ask(40), ask(2), ask(2), ask(2), ask(2)]);
assert.ok(loop.halt instanceof LoopHalt);
assert.deepEqual([loop.halt.rule, loop.halt.level, loop.prompts.length], ["repeated-call", "halt", 9]);
assert.ok(JSON.stringify(loop.prompts[5]).includes("Loopwarden (loop detector)"), "the guidance stays");
for (const { halt, text, prompts } of honest) {
  assert.deepEqual([halt, text], [undefined, "done"]);
  assert.ok(!JSON.stringify(prompts).includes("Loopwarden"));
}
