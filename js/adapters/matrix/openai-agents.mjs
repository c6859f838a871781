import assert from "node:assert/strict";
import { Agent, Runner, setTracingDisabled, tool, Usage } from "@openai/agents";
import { createLoopGuard, LoopHalt, loopHalt } from "loopwarden/openai-agents";
import * as z from "zod";

setTracingDisabled(true);

/** A model that makes the same call `times` times, and records its prompts. */
function scripted(times) {
  const prompts = [];
  const getResponse = async ({ input }) => {
    prompts.push(input);
    const call = {
      type: "function_call",
      callId: `call-${prompts.length}`,
      name: "search",
      arguments: '{"q":"a"}',
      status: "completed",
    };
    const text = {
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "done" }],
    };
    const usage = new Usage({ requests: 1, inputTokens: 9, outputTokens: 1, totalTokens: 10 });
    return { usage, output: [prompts.length <= times ? call : text] };
  };
  return { prompts, model: { getResponse, getStreamedResponse: () => assert.fail("no streams here") } };
}

const search = tool({
  name: "search",
  description: "Searches",
  parameters: z.object({ q: z.string() }),
  execute: async () => "no results",
});
const guard = createLoopGuard({ onWarning: (message) => assert.fail(message) });

async function ask(times) {
  const { prompts, model } = scripted(times);
  const agent = guard.agent(new Agent({ name: "helper", model, tools: [search] }));
  const runner = new Runner({ tracingDisabled: true });
  try {
    const result = await runner.run(agent, "Find it", guard.options({ maxTurns: 50 }));
    return { halt: loopHalt(result), prompts, text: result.finalOutput };
  } catch (error) {
    const halt = loopHalt(error);
    if (!halt) throw error;
    return { halt, prompts };
  }
}

const [loop, ...honest] = await Promise.all([ask(40), ask(2), ask(2), ask(2), ask(2)]);
assert.ok(loop.halt instanceof LoopHalt);
assert.deepEqual([loop.halt.rule, loop.halt.level, loop.prompts.length], ["repeated-call", "halt", 9]);
assert.ok(JSON.stringify(loop.prompts[5]).includes("Loopwarden (loop detector)"), "the guidance stays");
assert.ok((loop.halt.finding?.wasted.tokens ?? 0) >= 40, `${loop.halt.finding?.wasted.tokens} tokens`);
for (const { halt, text, prompts } of honest) {
  assert.deepEqual([halt, text], [undefined, "done"]);
  assert.ok(!JSON.stringify(prompts).includes("Loopwarden"));
}
