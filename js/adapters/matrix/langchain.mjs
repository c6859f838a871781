import assert from "node:assert/strict";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { MemorySaver } from "@langchain/langgraph";
import { AIMessage, createAgent, HumanMessage, tool } from "langchain";
import { createLoopGuard, LoopHalt, loopHalt } from "loopwarden/langchain";
import * as z from "zod";

/** A model that makes the same call `times` times, and records its prompts. */
class Scripted extends BaseChatModel {
  prompts = [];

  constructor(times) {
    super({});
    this.times = times;
  }

  _llmType() {
    return "scripted";
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    this.prompts.push(messages);
    const usage_metadata = { input_tokens: 9, output_tokens: 1, total_tokens: 10 };
    const calls =
      this.prompts.length <= this.times
        ? [{ id: `call-${this.prompts.length}`, name: "search", args: { q: "a" } }]
        : [];
    const content = calls.length === 0 ? "done" : "";
    return { generations: [{ text: content, message: new AIMessage({ content, tool_calls: calls, usage_metadata }) }] };
  }
}

const search = tool(async () => "no results", {
  name: "search",
  description: "Searches",
  schema: z.object({ q: z.string() }),
});
const guard = createLoopGuard({ onWarning: (message) => assert.fail(message) });

async function ask(times, thread) {
  const model = new Scripted(times);
  const checkpointer = thread === undefined ? undefined : new MemorySaver();
  const agent = createAgent({ model, tools: [search], middleware: [guard.middleware], checkpointer });
  const result = await agent.invoke(
    { messages: [new HumanMessage("Find it")] },
    { configurable: { thread_id: thread }, recursionLimit: 60 },
  );
  return { halt: loopHalt(result), prompts: model.prompts, text: result.messages.at(-1)?.text };
}

const [loop, other, ...honest] = await Promise.all([ask(40, "a"), ask(40), ask(2, "b"), ask(2), ask(2), ask(2)]);
for (const { halt, prompts } of [loop, other]) {
  assert.ok(halt instanceof LoopHalt);
  assert.deepEqual([halt.rule, halt.level, prompts.length], ["repeated-call", "halt", 9]);
  assert.ok(JSON.stringify(prompts[5]).includes("Loopwarden (loop detector)"), "the guidance stays");
  assert.ok((halt.finding?.wasted.tokens ?? 0) >= 40, `${halt.finding?.wasted.tokens} tokens`);
}
for (const { halt, text, prompts } of honest) {
  assert.deepEqual([halt, text], [undefined, "done"]);
  assert.ok(!JSON.stringify(prompts).includes("Loopwarden"));
}
