// A session of the Claude Agent SDK that asks the same question again and again: it is nudged, then refused, then ended.
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { createLoopGuard, loopHalt } from "loopwarden/claude-agent";
import { z } from "zod";

// A stand-in for the model: an API that answers every request with the same call.
let calls = 0;
const usage = { input_tokens: 9, output_tokens: 9 };
const api = createServer((request, response) => {
  const id = `call-${++calls}`;
  const message = { id: `msg-${calls}`, type: "message", role: "assistant", model: "scripted", content: [], usage };
  const call = { type: "tool_use", id, name: "mcp__docs__search", input: {} };
  const delta = { type: "input_json_delta", partial_json: '{"query":"oauth2"}' };
  const events = [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: call },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage },
    { type: "message_stop" },
  ];
  const known = request.method === "POST" && request.url?.startsWith("/v1/messages?");
  response.writeHead(known ? 200 : 404, { "content-type": "text/event-stream" });
  response.end(known ? events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("") : "");
});
api.listen(0, "127.0.0.1");
await once(api, "listening");
const address = api.address();
const port = typeof address === "object" ? address?.port : undefined;
const home = await mkdtemp(join(tmpdir(), "loopwarden-claude-"));

const nothing = { content: [{ type: "text" as const, text: "no results" }] };
const search = tool("search", "Searches the documentation", { query: z.string() }, async () => nothing);
const docs = createSdkMcpServer({ name: "docs", tools: [search] });

const guard = createLoopGuard({
  onVerdict: ({ level, guidance }) => {
    if (guidance) console.log(`${level}: ${guidance}`);
  },
});
const session = guard.watch(
  query({
    prompt: "Find out how oauth2 is set up",
    options: {
      hooks: guard.hooks(),
      mcpServers: { docs },
      allowedTools: ["mcp__docs__search"],
      tools: [],
      settingSources: [],
      cwd: home,
      env: {
        ...process.env,
        ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
        ANTHROPIC_API_KEY: "none",
        CLAUDE_CONFIG_DIR: home,
      },
    },
  }),
);
for await (const message of session) {
  if (message.type === "result") console.log(`ended: ${message.terminal_reason}`);
}
const halt = loopHalt(session);
if (halt) console.log(`halt: ${halt.message}\n\n${halt.report}`);
api.closeAllConnections();
api.close();
