// An agent on the AI SDK that asks the same question again and again: it is nudged, then refused, then ended.
import { generateText, isStepCount, jsonSchema, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createLoopGuard, loopHalt } from "loopwarden/ai-sdk";

/** A stand-in for your model that ignores all guidance. */
function stubborn(): MockLanguageModelV4 {
  let calls = 0;
  return new MockLanguageModelV4({
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
}

const search = tool({
  description: "Searches the documentation",
  inputSchema: jsonSchema<{ query: string }>({ type: "object", properties: { query: { type: "string" } } }),
  execute: async () => "no results",
});

export async function story(): Promise<string[]> {
  const told: string[] = [];
  const guard = createLoopGuard({
    onVerdict: ({ level, guidance }) => {
      if (guidance !== undefined) told.push(`${level}: ${guidance}`);
    },
  });
  const result = await generateText({
    model: guard.model(stubborn()),
    prompt: "How do we log in with OAuth 2?",
    tools: guard.tools({ search }),
    prepareStep: guard.prepareStep(),
    stopWhen: [isStepCount(50), guard.stopWhen],
  });
  told.push(`the SDK: ${result.steps.length} steps of 50, ${result.finishReason}`);
  const halt = loopHalt(result);
  if (halt) told.push(`halt: ${halt.rule}, ${halt.haltReason}`, halt.report);
  return told;
}

if (process.argv[1] === import.meta.filename) for (const line of await story()) console.log(line);
