// An agent on Cloudflare's Think that asks the same question again and again: it is nudged, then refused, then ended. The
// counts are kept in its Durable Object.
import { Think } from "@cloudflare/think";
import { jsonSchema, type ToolSet, tool } from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { createLoopGuard, loopHalt } from "loopwarden/cloudflare";

export interface Env extends Cloudflare.Env {
  Assistant: DurableObjectNamespace<Assistant>;
}

const search = tool({
  description: "Searches the documentation",
  inputSchema: jsonSchema<{ query: string }>({ type: "object", properties: { query: { type: "string" } } }),
  execute: async () => "no results",
});

/** Your agent, with a stand-in for its model that ignores all guidance. */
class Stubborn extends Think<Env> {
  readonly told: string[] = [];
  #calls = 0;

  override getModel(): MockLanguageModelV4 {
    return new MockLanguageModelV4({
      doStream: async () => {
        this.#calls += 1;
        const usage = {
          inputTokens: { total: 9, noCache: 9, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 9, text: 9, reasoning: 0 },
        };
        return {
          stream: convertArrayToReadableStream([
            { type: "tool-call", toolCallId: `call-${this.#calls}`, toolName: "search", input: '{"query":"oauth2"}' },
            { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage },
          ]),
        };
      },
    });
  }

  override getTools(): ToolSet {
    return { search };
  }
}

const guard = createLoopGuard(({ told }: Stubborn) => ({
  onVerdict: ({ level, guidance }) => {
    if (guidance !== undefined) told.push(`${level}: ${guidance}`);
  },
}));

/** The same agent, guarded. */
export class Assistant extends guard.agent(Stubborn) {
  async story(): Promise<string> {
    const { status } = await this.runTurn({ input: "How do we log in with OAuth 2?" });
    this.told.push(`Think: the turn is "${status}"`);
    const halt = loopHalt(this);
    if (halt) this.told.push(`halt: ${halt.rule}, ${halt.haltReason}`, halt.report);
    return this.told.join("\n");
  }
}

export default {
  async fetch(_request: Request, env: Env): Promise<Response> {
    return new Response(await env.Assistant.getByName(crypto.randomUUID()).story());
  },
};
