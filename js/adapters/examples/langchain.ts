// A LangChain agent that asks the same question again and again: it is nudged, then refused, then ended. The
// counts follow from its messages, so another process that continues the thread continues counting.
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { ChatResult } from "@langchain/core/outputs";
import { MemorySaver } from "@langchain/langgraph";
import { AIMessage, createAgent, HumanMessage, tool } from "langchain";
import { createLoopGuard, loopHalt } from "loopwarden/langchain";
import * as z from "zod";

/** A stand-in for your model that ignores all guidance. */
class Stubborn extends BaseChatModel {
  #calls = 0;

  override _llmType(): string {
    return "stubborn";
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(): Promise<ChatResult> {
    this.#calls += 1;
    const call = { id: `call-${this.#calls}`, name: "search", args: { query: "oauth2" } };
    return { generations: [{ text: "", message: new AIMessage({ content: "", tool_calls: [call] }) }] };
  }
}

const search = tool(async () => "no results", {
  name: "search",
  description: "Searches the documentation",
  schema: z.object({ query: z.string() }),
});

export async function story(): Promise<string[]> {
  const told: string[] = [];
  const guard = createLoopGuard({
    onVerdict: ({ level, guidance }) => {
      if (guidance !== undefined) told.push(`${level}: ${guidance}`);
    },
  });
  const agent = createAgent({
    model: new Stubborn({}),
    tools: [search],
    middleware: [guard.middleware],
    checkpointer: new MemorySaver(),
  });
  const result = await agent.invoke(
    { messages: [new HumanMessage("How do we log in with OAuth 2?")] },
    { configurable: { thread_id: "1" }, recursionLimit: 100 },
  );
  told.push(`the thread: ${result.messages.length} messages, the last one: ${result.messages.at(-1)?.text}`);
  const halt = loopHalt(result);
  if (halt) told.push(`halt: ${halt.rule}, ${halt.haltReason}`, halt.report);
  return told;
}

if (process.argv[1] === import.meta.filename) for (const line of await story()) console.log(line);
