import assert from "node:assert/strict";
import * as ai from "ai";
import { createLoopGuard, LoopHalt, loopHalt } from "loopwarden/ai-sdk";

// The model has the specification of the SDK's version.
const [version] = process.argv.slice(2);
const major = Number.parseInt(version, 10);
const finish = (reason) => (major === 5 ? reason : { unified: reason, raw: undefined });
const tokens = (total) =>
  major === 5 ? total : { total, noCache: total, cacheRead: 0, cacheWrite: 0, text: total, reasoning: 0 };
const usage = { inputTokens: tokens(9), outputTokens: tokens(1), totalTokens: 10 };

/** A model that makes the same call `times` times, and records its prompts. */
function scripted(times) {
  const prompts = [];
  const doGenerate = async ({ prompt }) => {
    prompts.push(prompt);
    const call = { type: "tool-call", toolCallId: `call-${prompts.length}`, toolName: "search", input: '{"q":"a"}' };
    return prompts.length <= times
      ? { content: [call], finishReason: finish("tool-calls"), usage, warnings: [] }
      : { content: [{ type: "text", text: "done" }], finishReason: finish("stop"), usage, warnings: [] };
  };
  const doStream = async (options) => {
    const { content, finishReason } = await doGenerate(options);
    const text = content.flatMap((part) =>
      part.type === "text"
        ? [
            { type: "text-start", id: "1" },
            { type: "text-delta", id: "1", delta: part.text },
            { type: "text-end", id: "1" },
          ]
        : [part],
    );
    const parts = [{ type: "stream-start", warnings: [] }, ...text, { type: "finish", finishReason, usage }];
    return { stream: ReadableStream.from(parts) };
  };
  const specificationVersion = `v${major - 3}`;
  const model = {
    specificationVersion,
    provider: "none",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate,
    doStream,
  };
  return { prompts, model };
}

const search = ai.tool({
  inputSchema: ai.jsonSchema({ type: "object", properties: { q: { type: "string" } } }),
  execute: async () => "no results",
});
const guard = createLoopGuard({ onWarning: (message) => assert.fail(message) });
const limit = (ai.isStepCount ?? ai.stepCountIs)(50);

async function ask(times, call = ai.generateText) {
  const { model, prompts } = scripted(times);
  const result = await call({
    model: guard.model(model),
    prompt: "Find it",
    tools: guard.tools({ search }),
    prepareStep: guard.prepareStep(),
    stopWhen: [limit, guard.stopWhen],
  });
  // In older versions, streams only run while they are read.
  await result.consumeStream?.();
  const steps = await result.steps;
  return {
    halt: loopHalt(call === ai.generateText ? result : steps),
    steps: steps.length,
    prompts,
    text: await result.text,
  };
}

const streamed = (options) => ai.streamText(options);
const [loop, stream, ...honest] = await Promise.all([
  ask(40),
  ask(40, streamed),
  ask(2),
  ask(2),
  ask(2),
  ask(2, streamed),
]);
for (const { halt, steps, prompts } of [loop, stream]) {
  assert.ok(halt instanceof LoopHalt);
  assert.deepEqual([halt.rule, halt.level, steps], ["repeated-call", "halt", 9]);
  assert.ok(JSON.stringify(prompts[5]).includes("Loopwarden (loop detector)"), "the guidance stays");
  assert.ok((halt.finding?.wasted.tokens ?? 0) >= 40, `${halt.finding?.wasted.tokens} tokens`);
}
for (const { halt, text, prompts } of honest) {
  assert.deepEqual([halt, text], [undefined, "done"]);
  assert.ok(!JSON.stringify(prompts).includes("Loopwarden"));
}
