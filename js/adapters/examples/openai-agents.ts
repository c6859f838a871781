// An OpenAI agent that asks the same question again and again: it is nudged, then refused, then ended.
import { Agent, run, setTracingDisabled, tool } from "@openai/agents";
import { functionCall, modelResponder, ScriptedModel } from "@openai/agents/testing";
import { createLoopGuard, loopHalt } from "loopwarden/openai-agents";
import * as z from "zod";

setTracingDisabled(true);

/** A stand-in for your model that ignores all guidance. */
function stubborn(): ScriptedModel {
  const again = modelResponder(({ index }) => [
    functionCall("search", { query: "oauth2" }, { callId: `call-${index + 1}` }),
  ]);
  return new ScriptedModel(Array.from({ length: 50 }, () => again));
}

const search = tool({
  name: "search",
  description: "Searches the documentation",
  parameters: z.object({ query: z.string() }),
  execute: async () => "no results",
});

export async function story(): Promise<string[]> {
  const told: string[] = [];
  const guard = createLoopGuard({
    onVerdict: ({ level, guidance }) => {
      if (guidance !== undefined) told.push(`${level}: ${guidance}`);
    },
  });
  const model = stubborn();
  const agent = new Agent({ name: "helper", model, tools: [search] });
  try {
    await run(guard.agent(agent), "How do we log in with OAuth 2?", guard.options({ maxTurns: 50 }));
  } catch (error) {
    const halt = loopHalt(error);
    if (!halt) throw error;
    told.push(`the SDK: ${model.calls.length} turns of 50, then ${halt.name}`);
    told.push(`halt: ${halt.rule}, ${halt.haltReason}`, halt.report);
  }
  return told;
}

if (process.argv[1] === import.meta.filename) for (const line of await story()) console.log(line);
