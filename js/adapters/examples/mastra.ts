// A Mastra agent that asks the same question again and again: it is nudged, then refused, then ended.
import { Agent, type AgentConfig } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { MockLanguageModelV4 } from "ai/test";
import { createLoopGuard, loopHalt } from "loopwarden/mastra";
import * as z from "zod";

/** A stand-in for your model that ignores all guidance. */
function stubborn(): AgentConfig["model"] {
  let calls = 0;
  const model = new MockLanguageModelV4({
    doGenerate: async () => {
      calls += 1;
      return {
        content: [{ type: "tool-call", toolCallId: `call-${calls}`, toolName: "search", input: '{"query":"oauth2"}' }],
        finishReason: { unified: "tool-calls", raw: undefined },
        usage: {
          inputTokens: { total: 9, noCache: 9, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 9, text: 9, reasoning: 0 },
        },
        warnings: [],
      };
    },
  });
  return model as unknown as AgentConfig["model"];
}

const search = createTool({
  id: "search",
  description: "Searches the documentation",
  inputSchema: z.object({ query: z.string() }),
  execute: async () => "no results",
});

export async function story(): Promise<string[]> {
  const told: string[] = [];
  const guard = createLoopGuard({
    onVerdict: ({ level, guidance }) => {
      if (guidance !== undefined) told.push(`${level}: ${guidance}`);
    },
  });
  const agent = new Agent({
    id: "helper",
    name: "helper",
    instructions: "Help",
    model: stubborn(),
    tools: { search },
    inputProcessors: [guard.processor],
    outputProcessors: [guard.processor],
    hooks: guard.hooks(),
  });
  const result = await agent.generate("How do we log in with OAuth 2?", { maxSteps: 50 });
  told.push(`Mastra: ${result.steps.length} steps of 50, tripwire of ${result.tripwire?.processorId}`);
  const halt = loopHalt(result);
  if (halt) told.push(`halt: ${halt.rule}, ${halt.haltReason}`, halt.report);
  return told;
}

if (process.argv[1] === import.meta.filename) for (const line of await story()) console.log(line);
