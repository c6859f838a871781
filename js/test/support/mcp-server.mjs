// A server that answers what tests need, line by line, without any library: what it gets and says is seen byte for byte.
import { createInterface } from "node:readline";

const say = (line) => process.stdout.write(`${line}\n`);
const reply = (id, result) => say(JSON.stringify({ jsonrpc: "2.0", id, result }));
const text = (value, more = {}) => ({ content: [{ type: "text", text: value }], ...more });
const asked = new Map();
let count = 0;

process.stderr.write("server: up\n");
if (process.argv.includes("--stubborn")) process.on("SIGTERM", () => process.stderr.write("server: no\n"));
else if (process.argv.includes("--tidy"))
  process.on("SIGTERM", () => {
    process.stderr.write("server: tidied\n");
    process.exit(0);
  });

const tools = {
  count: (id) => reply(id, text(`${++count}`)),
  fail: (id) => reply(id, text("Error: no such table", { isError: true })),
  broken: (id) => say(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32602, message: "no such tool" } })),
  exact: (id) =>
    say(
      `{"jsonrpc": "2.0","id":${id},  "result":{"big":12345678901234567890, "content":[ {"type":"text","text":"\\u00fc"} ],"one":1.0}}`,
    ),
  structured: (id) => reply(id, { content: [], structuredContent: { rows: 0 } }),
  marked: (id) => reply(id, text("same", { _meta: { "server/own": 1 } })),
  task: (id) => reply(id, { task: { taskId: "t-1", status: "working" } }),
  slow: (id, { arguments: args, _meta }) => {
    const params = { progressToken: _meta?.progressToken, progress: 1 };
    say(JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params }));
    setTimeout(() => reply(id, text("done at last")), args?.ms ?? 100);
  },
  never: () => {},
  crash: () => process.exit(7),
  killed: () => process.kill(process.pid, "SIGKILL"),
  noisy: (id) => {
    say("not JSON at all {");
    process.stdout.write(Buffer.from([0xff, 0xfe, 0x0a]));
    say("");
    reply(id, text("after noise"));
  },
  ask: (id) => {
    // The same id that the client uses: the two directions have nothing to do with each other.
    asked.set(id, (answer) => reply(id, text(`the client said ${JSON.stringify(answer)}`)));
    say(JSON.stringify({ jsonrpc: "2.0", id, method: "sampling/createMessage", params: { maxTokens: 1 } }));
  },
};

createInterface({ input: process.stdin })
  .on("line", (line) => {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      say(JSON.stringify({ jsonrpc: "2.0", method: "test/got", params: { line } }));
      return;
    }
    const { id, method, params } = message;
    if (Array.isArray(message))
      say(JSON.stringify(message.map((one) => ({ jsonrpc: "2.0", id: one.id, result: text("same") }))));
    else if (method === undefined) asked.get(id)?.(message.result);
    else if (method === "initialize")
      reply(id, {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "t", version: "1" },
      });
    else if (method === "tools/list") {
      const hints = { write_view: { readOnlyHint: true, idempotentHint: true }, fail: { readOnlyHint: false } };
      reply(id, {
        tools: Object.entries(hints).map(([name, annotations]) => ({ name, inputSchema: {}, annotations })),
      });
    } else if (method === "tools/call") (tools[params.name] ?? ((own) => reply(own, text("same"))))(id, params);
    else if (method === "tasks/result") reply(id, text("Error: the task failed", { isError: true }));
    else
      say(
        JSON.stringify({
          jsonrpc: "2.0",
          ...(id !== undefined && { id, result: {} }),
          method: id === undefined ? "test/got" : undefined,
          params: id === undefined ? { line } : undefined,
        }),
      );
  })
  .on("close", () => process.stderr.write("server: end of input\n"));
