// Tests `loopwarden mcp` with the client of the official SDK and two published servers. Its line-by-line behaviour is
// tested in ../test/mcp.test.ts.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  type LoggingMessageNotification,
  LoggingMessageNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const cli = fileURLToPath(import.meta.resolve("loopwarden/package.json").replace("package.json", "dist/cli.js"));
const published = (name: string): string =>
  fileURLToPath(new URL(`../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, import.meta.url));
let folder: string;
before(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "loopwarden-mcp-")));
});
after(() => rm(folder, { recursive: true }));

interface Connected extends AsyncDisposable {
  client: Client;
  stderr: () => string;
  /** The methods of the server's requests and notifications. */
  heard: unknown[];
}

/** Connects a client to a server, through the guard or directly. */
async function connect(server: string[], guard: string[] | undefined = ["--"]): Promise<Connected> {
  const node = process.execPath;
  const args = guard === undefined ? server : [cli, "mcp", ...guard, ...(server.length > 0 ? [node, ...server] : [])];
  const transport = new StdioClientTransport({ command: node, args, stderr: "pipe" });
  let stderr = "";
  transport.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
  );
  const heard: unknown[] = [];
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    heard.push(params.messages);
    return { role: "assistant", model: "scripted", content: { type: "text", text: "sampled" } };
  });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    heard.push(params.message);
    return { action: "decline" };
  });
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file://${folder}`, name: "root" }] }));
  client.setNotificationHandler(LoggingMessageNotificationSchema, (message: LoggingMessageNotification) => {
    // The number and order of the server's log messages depend on its timers.
    if (!heard.includes(message.method)) heard.unshift(message.method);
  });
  await client.connect(transport);
  return { client, heard, stderr: () => stderr, [Symbol.asyncDispose]: () => client.close() };
}

const said = (result: Awaited<ReturnType<Client["callTool"]>>): string =>
  (result.content as { text?: string }[]).map(({ text }) => text ?? "").join("\n");

/** Uses every feature of the server once. */
async function tour({ client, heard }: Connected): Promise<unknown[]> {
  const progress: unknown[] = [];
  const call = (name: string, args: Record<string, unknown> = {}) => client.callTool({ name, arguments: args });
  const long = client.callTool(
    { name: "trigger-long-running-operation", arguments: { duration: 1.5, steps: 3 } },
    undefined,
    { onprogress: (told) => progress.push(told.progress) },
  );
  const { resources } = await client.listResources();
  const { prompts } = await client.listPrompts();
  return [
    client.getServerCapabilities(),
    client.getInstructions(),
    await client.listTools(),
    resources,
    prompts,
    await client.listResourceTemplates(),
    await client.readResource({ uri: resources[0]?.uri ?? "" }),
    await client.getPrompt({ name: "simple-prompt" }),
    await call("echo", { message: "grüße 🙂 \u2028" }),
    await call("get-sum", { a: 0.1, b: 2 }),
    await call("get-tiny-image"),
    await call("get-structured-content", { location: "Chicago" }),
    await call("get-annotated-message", { messageType: "error", includeImage: true }),
    await call("get-resource-links", { count: 3 }),
    await call("get-roots-list"),
    await call("trigger-sampling-request", { prompt: "hello", maxTokens: 5 }),
    await call("trigger-elicitation-request"),
    await call("get-sum", { a: "no number" }).catch(String),
    await call("no-such-tool").catch(String),
    await long,
    // The client drops the progress handler with the result, so the last notification may be lost.
    progress.slice(0, 2),
    heard,
  ];
}

test("server-everything: the client sees the same with the guard as without", async () => {
  await using bare = await connect([published("everything")], undefined);
  await using guarded = await connect([published("everything")]);
  const [wanted, got] = [await tour(bare), await tour(guarded)];
  // Masks times, which differ between runs.
  const steady = (value: unknown) =>
    JSON.stringify(value).replaceAll(/\d{1,2}:\d\d:\d\d( [AP]M)?|\d{4}-\d\d-\d\dT[\d:.]+Z/g, "time");
  for (const [index, one] of wanted.entries()) assert.equal(steady(got[index]), steady(one));
  assert.ok(JSON.stringify(got).includes("sampled"));
});

test("server-filesystem: a file that is not there is asked for until it is refused, and other work goes on", async () => {
  await writeFile(join(folder, "cart.ts"), "export const cart = [];\n");
  await using connected = await connect([published("filesystem"), folder]);
  const { client } = connected;
  await client.listTools();
  const levels: unknown[] = [];
  for (let step = 0; step < 7; step++) {
    const result = await client.callTool({ name: "read_text_file", arguments: { path: join(folder, "basket.ts") } });
    levels.push(result._meta?.["loopwarden/level"]);
    assert.equal(result.isError, true);
    if (levels.at(-1) === "nudge") assert.match(said(result), /ENOENT[\s\S]*Loopwarden \(loop detector\)/);
    // A tool with an output schema, and a result that matches it.
    const good = await client.callTool({
      name: "read_text_file",
      arguments: { path: join(folder, "cart.ts"), head: step + 1 },
    });
    assert.match(said(good), /^export const cart/);
  }
  assert.ok(levels.includes("nudge"), String(levels));
  assert.match(connected.stderr(), /read_text_file: nudge/);
  for (let step = 0; step < 12 && !levels.includes("block"); step++) {
    const result = await client.callTool({ name: "read_text_file", arguments: { path: join(folder, "basket.ts") } });
    levels.push(result._meta?.["loopwarden/level"]);
  }
  assert.ok(levels.includes("block"), String(levels));
});

test("an edit that never fits is refused, and so is everything once the run is ended", async () => {
  await writeFile(join(folder, "sum.ts"), "const sum = 1 + 1;\n");
  await using connected = await connect([published("filesystem"), folder]);
  const { client } = connected;
  await client.listTools();
  let ended = 0;
  for (let step = 0; step < 30 && ended < 2; step++) {
    // One more byte each time.
    const edits = [{ oldText: `const sum${" ".repeat(step)} = 2;`, newText: "const sum = 3;" }];
    const result = await client.callTool({ name: "edit_file", arguments: { path: join(folder, "sum.ts"), edits } });
    if (result._meta?.["loopwarden/level"] === "halt") ended++;
  }
  assert.equal(ended, 2);
  const other = await client.callTool({ name: "list_allowed_directories", arguments: {} });
  assert.equal(other.isError, true);
  assert.match(said(other), /refused until a person lets it go on/);
  assert.ok((await client.listTools()).tools.length > 5, "what is no call goes on");
});

test("a call that the client gives up on, and a server that goes away", async () => {
  await using connected = await connect([published("everything")]);
  const { client } = connected;
  const late = client.callTool(
    { name: "trigger-long-running-operation", arguments: { duration: 20, steps: 2 } },
    undefined,
    {
      timeout: 200,
    },
  );
  await assert.rejects(late, /timed out/i);
  assert.match(said(await client.callTool({ name: "echo", arguments: { message: "still here" } })), /still here/);
  const stop = new AbortController();
  const aborted = client.callTool(
    { name: "trigger-long-running-operation", arguments: { duration: 20, steps: 2 } },
    undefined,
    {
      signal: stop.signal,
    },
  );
  stop.abort("enough");
  await assert.rejects(aborted);
  const closed = new Promise<void>((resolve) => {
    client.onclose = resolve;
  });
  const { pid } = client.transport as StdioClientTransport;
  process.kill(pid ?? assert.fail(), "SIGTERM");
  await closed;
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("--url: server-everything behind streamable HTTP", async () => {
  const port = await freePort();
  const server: ChildProcess = spawn(process.execPath, [published("everything"), "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  try {
    await new Promise<void>((resolve) => {
      server.stderr?.on("data", (text) => String(text).includes("listening") && resolve());
    });
    await using connected = await connect([], ["--url", `http://127.0.0.1:${port}/mcp`]);
    const told = await tour(connected);
    assert.ok(JSON.stringify(told).includes("grüße 🙂"));
    assert.ok(JSON.stringify(told).includes("sampled"), "requests of the server reach the client over HTTP");
    assert.deepEqual(told.at(-2), [1, 2]);
    const { client } = connected;
    let refused = "";
    for (let step = 0; step < 20 && refused === ""; step++) {
      const result = await client.callTool({ name: "get-sum", arguments: { a: "x" } });
      if (String(result._meta?.["loopwarden/level"]) === "block") refused = said(result);
    }
    assert.match(refused, /^Loopwarden .*refused/);
  } finally {
    server.kill("SIGKILL");
  }
});
