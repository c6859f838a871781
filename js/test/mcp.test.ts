import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { started } from "../src/cli/mcp/stdio.ts";
import { Background } from "./support/background.ts";
import { run } from "./support/run.ts";

const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const fixture = fileURLToPath(new URL("./support/mcp-server.mjs", import.meta.url));
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "loopwarden-mcp-"));
});
after(() => rm(folder, { recursive: true }));

type Message = {
  id?: unknown;
  method?: string;
  params?: Record<string, unknown>;
  result?: Result;
  error?: { code: number; message: string };
};
type Result = {
  content?: { type: string; text: string }[];
  isError?: boolean;
  _meta?: Record<string, unknown>;
  tools?: unknown[];
};

/** A client that speaks in lines. */
class Client extends Background {
  #next = 0;

  constructor(options: string[] = [], server: string[] = [process.execPath, fixture]) {
    super(process.execPath, [cli, "mcp", ...options, ...(server.length > 0 ? ["--", ...server] : [])], { cwd: folder });
    this.child.stdin?.on("error", () => {});
  }

  write(line: string | Buffer): void {
    this.child.stdin?.write(line);
  }

  /** The messages that came so far. */
  get messages(): Message[] {
    const lines = this.stdout.split("\n").slice(0, -1);
    return lines.flatMap((line) => (line.startsWith("{") || line.startsWith("[") ? [JSON.parse(line)].flat() : []));
  }

  send(method: string, params: object = {}): number {
    const id = this.#next++;
    this.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return id;
  }

  async answer(id: unknown): Promise<Message> {
    const find = () => this.messages.find((message) => message.id === id && message.method === undefined);
    await this.until(() => find() !== undefined);
    return find() as Message;
  }

  async call(name: string, args: object = {}): Promise<Result> {
    return (await this.answer(this.send("tools/call", { name, arguments: args }))).result ?? {};
  }

  async begin(capabilities: object = {}): Promise<void> {
    const clientInfo = { name: "test", version: "1" };
    await this.answer(this.send("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo }));
    this.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  }
}

const said = ({ content = [] }: Result): string => content.map(({ text }) => text).join("\n");

test("a call that fails again and again: guidance with the result, then an error that says why, then the end", async () => {
  await using client = new Client();
  await client.begin();
  const results: Result[] = [];
  for (let step = 0; step < 14; step++) results.push(await client.call("fail", { table: "orders" }));
  const first = results.findIndex((result) => (result.content?.length ?? 0) > 1);
  assert.equal(first, 2, "the third result has the guidance");
  const [own, added] = results[2]?.content ?? [];
  assert.equal(own?.text, "Error: no such table");
  assert.match(added?.text ?? "", /^Loopwarden \(loop detector\): `fail` was called 3 times/);
  assert.equal(results[2]?._meta?.["loopwarden/level"], "nudge");
  const refused = results.findIndex((result) => result._meta?.["loopwarden/level"] === "block");
  assert.ok(refused > 2 && refused < 8, `refused at ${refused}`);
  assert.equal(results[refused]?.isError, true);
  assert.match(said(results[refused] ?? {}), /^Loopwarden .*refused/);
  const halted = results.findIndex((result) => result._meta?.["loopwarden/level"] === "halt");
  assert.ok(halted > refused, `ended at ${halted}`);
  assert.match(
    said(results[halted] ?? {}),
    /refused until a person lets it go on, or nothing was called for 5 minutes/,
  );
  assert.match(said(results.at(-1) ?? {}), /was not run/);
  // What is not this loop is refused as well: the run is over.
  assert.equal((await client.call("count")).isError, true);
  // A client that begins anew is another conversation.
  await client.begin();
  assert.equal(said(await client.call("count")), "1");
  client.child.stdin?.end();
  assert.equal(await client.ended, 0);
  assert.match(client.stderr, /server: end of input/);
  assert.match(client.stderr, /fail: nudge repeated-call: /);
  assert.doesNotMatch(client.stderr, /the server (?:ended|was)/, "the client ended it");
  const lines = client.stderr.split("\n").filter((line) => line.startsWith("loopwarden: fail: "));
  assert.equal(new Set(lines).size, lines.length, "no line stands there twice");
  const blocks = lines.filter((line) => line.includes(": block"));
  assert.match(blocks[0] ?? "", /fail: block \(of the next such call\) repeated-call: /);
  assert.match(blocks[1] ?? "", /fail: block repeated-call: /);
  assert.match(client.stderr, /16 calls, guidance with \d+, \d+ refused\n$/);
});

test("honest work is not touched, whatever it looks like, and reaches the client as the server wrote it", async () => {
  await using client = new Client();
  await client.begin();
  for (let step = 0; step < 30; step++) assert.equal(said(await client.call("count", { step: 1 })), `${step + 1}`);
  const id = client.send("tools/call", { name: "exact" });
  await client.answer(id);
  const wanted = `{"jsonrpc": "2.0","id":${id},  "result":{"big":12345678901234567890, "content":[ {"type":"text","text":"\\u00fc"} ],"one":1.0}}\n`;
  assert.ok(client.stdout.endsWith(wanted), client.stdout.slice(-300));
});

test("a result that guidance is added to keeps everything else as it was written", async () => {
  await using client = new Client();
  await client.begin();
  let line = "";
  for (let step = 0; step < 9 && !line.includes("Loopwarden"); step++) {
    await client.answer(client.send("tools/call", { name: "exact", arguments: { a: 1 } }));
    line = client.stdout.trim().split("\n").at(-1) ?? "";
  }
  assert.match(
    line,
    /^\{"jsonrpc": "2\.0","id":\d+,"result":\{"big":12345678901234567890,"one":1\.0,"content":\[\{"type":"text","text":"\\u00fc"\},\{"type":"text","text":"Loopwarden .*"\}\],"_meta":\{/,
  );
  for (const [name, wanted] of [
    ["marked", /"_meta":\{"server\/own":1,"loopwarden\/level"/],
    [
      "structured",
      /"content":\[\{"type":"text","text":"Loopwarden [^\]]*\],?.*"structuredContent":\{"rows":0\}|"structuredContent":\{"rows":0\}.*"content":\[\{"type":"text","text":"Loopwarden/,
    ],
  ] as const) {
    let last = "";
    for (let step = 0; step < 9 && !last.includes("Loopwarden"); step++) {
      await client.answer(client.send("tools/call", { name, arguments: { a: 1 } }));
      last = client.stdout.trim().split("\n").at(-1) ?? "";
    }
    assert.match(last, wanted, name);
  }
});

test("everything else passes, both ways: unknown methods, notifications, malformed lines, requests of the server", async () => {
  await using client = new Client();
  await client.begin({ sampling: {} });
  const odd = `{"jsonrpc":"2.0","method":"x/unknown", "params":{"n":12345678901234567890}}`;
  client.write(`${odd}\n`);
  client.write("half {a line\r\n");
  await client.until(/half \{a line/);
  const got = client.messages.filter(({ method }) => method === "test/got").map(({ params }) => params?.["line"]);
  assert.deepEqual(got.slice(1), [odd, "half {a line"]);
  assert.deepEqual((await client.answer(client.send("x/request"))).result, {});
  assert.equal(said(await client.call("noisy")), "after noise");
  assert.match(client.stdout, /\nnot JSON at all \{\n..?\n\n\{"jsonrpc"/);
  // The server asks the client, under the very id of the call.
  const id = client.send("tools/call", { name: "ask" });
  await client.until(/sampling\/createMessage/);
  client.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: { role: "assistant", content: "yes" } })}\n`);
  assert.match(said((await client.answer(id)).result ?? {}), /the client said \{"role":"assistant","content":"yes"\}/);
});

test("ids of every kind: what is answered here has the id as it was written", async () => {
  for (const id of ["9007199254740993", "-12345678901234567890", "1.5e3", '"__proto__"', '"\\u0061"', "0", "null"]) {
    await using client = new Client();
    await client.begin();
    const params = JSON.stringify({ name: "fail", arguments: { same: 1 } });
    let seen = 0;
    const answered = () => client.stdout.split("\n").length > seen + 1;
    for (let step = 0; step < 12 && !client.stdout.includes(`"loopwarden/level":"block"`); step++) {
      seen = client.stdout.split("\n").length - 1;
      client.write(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}\n`);
      await client.until(answered);
    }
    const refusals = client.stdout.split("\n").filter((line) => line.includes('"loopwarden/level":"block"'));
    assert.ok(
      refusals.length > 0 && refusals.every((line) => line.startsWith(`{"jsonrpc":"2.0","id":${id},`)),
      client.stdout,
    );
  }
});

test("progress, cancellation and calls at once", async () => {
  await using client = new Client();
  await client.begin();
  const slow = client.send("tools/call", { name: "slow", arguments: { ms: 300 }, _meta: { progressToken: "p" } });
  await client.until(/"progressToken":"p"/);
  const quick = await Promise.all(Array.from({ length: 40 }, (_, n) => client.call("count", { n })));
  assert.equal(new Set(quick.map(said)).size, 40);
  assert.equal((await client.answer(slow)).result?.content?.[0]?.text, "done at last");
  // A batch of equal calls at once is one try.
  const batch = await Promise.all(Array.from({ length: 3 }, () => client.call("fail", { same: 1 })));
  assert.ok(
    batch.every((result) => said(result) === "Error: no such table"),
    JSON.stringify(batch),
  );
  // What the client gives up on, time after time, is a loop too.
  let refused = false;
  for (let step = 0; step < 12 && !refused; step++) {
    const id = client.send("tools/call", { name: "never", arguments: {} });
    client.write(
      `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason: "Request timed out" } })}\n`,
    );
    await client.until(
      () =>
        client.stdout.split("notifications/cancelled").length > step + 1 ||
        client.messages.some((one) => one.id === id),
    );
    refused = client.messages.some((one) => one.id === id);
  }
  assert.ok(refused);
});

test("lists of messages: what is refused is answered, and the rest goes on", async () => {
  await using client = new Client();
  await client.begin();
  let id = 1000;
  let answers: Message[] = [];
  for (let step = 0; step < 12; step++) {
    const calls = [
      { name: "same", arguments: { a: 1 } },
      { name: `other-${step}`, arguments: { step } },
    ];
    const ids = calls.map(() => id++);
    client.write(
      `${JSON.stringify(calls.map((params, at) => ({ jsonrpc: "2.0", id: ids[at], method: "tools/call", params })))}\n`,
    );
    answers = await Promise.all(ids.map((one) => client.answer(one)));
    if (answers.some(({ result }) => result?.isError)) break;
  }
  assert.deepEqual(
    answers.map(({ result }) => result?.isError === true),
    [true, false],
  );
  assert.match(client.stdout, /^\[\{/m);
});

test("hints of the server are priors: what it says only reads has mended nothing", async () => {
  const advised = async (isListed: boolean): Promise<number> => {
    await using client = new Client();
    await client.begin();
    if (isListed) assert.equal((await client.answer(client.send("tools/list"))).result?.tools?.length, 2);
    for (let step = 1; step < 12; step++) {
      if (said(await client.call("fail", { table: "orders" })).includes("Loopwarden")) return step;
      await client.call("write_view", { path: `view-${step}`, content: `${step}` });
    }
    return 12;
  };
  const [told, untold] = [await advised(true), await advised(false)];
  assert.equal(told, 3);
  assert.ok(untold > told, `${untold} without the hint`);
});

test("a task's result is judged when it is asked for", async () => {
  await using client = new Client();
  await client.begin();
  let last: Result = {};
  for (let step = 0; step < 8 && !said(last).includes("Loopwarden"); step++) {
    const begun = await client.call("task", { same: true });
    if (begun.isError) assert.fail("refused before it was advised");
    last = (await client.answer(client.send("tasks/result", { taskId: "t-1" }))).result ?? {};
  }
  assert.match(said(last), /^Error: the task failed\nLoopwarden/);
});

test("errors of the protocol are evidence too", async () => {
  await using client = new Client();
  await client.begin();
  let refusal: Result = {};
  let guided = 0;
  for (let step = 0; step < 12 && !refusal.isError; step++) {
    const answer = await client.answer(client.send("tools/call", { name: "broken", arguments: {} }));
    refusal = answer.result ?? {};
    const [message, guidance] = answer.error?.message.split("\n\n") ?? ["no such tool"];
    assert.equal(message, "no such tool");
    if (guidance?.startsWith("Loopwarden")) guided++;
  }
  assert.ok(guided > 0, "an error has no content, so its message has the guidance");
  assert.match(said(refusal), /Loopwarden/);
});

test("a person is asked whether it may go on, where the client can", async () => {
  await using client = new Client();
  await client.begin({ elicitation: {} });
  const halted = async () => {
    for (let step = 0; step < 30; step++) {
      const result = await client.call("fail", { x: 1 });
      if (result._meta?.["loopwarden/level"] === "halt") return result;
    }
    return assert.fail("it was never ended");
  };
  await halted();
  const asks = () => client.messages.filter(({ method }) => method === "elicitation/create");
  await client.until(() => asks().length === 1);
  assert.match(
    String(asks()[0]?.params?.["message"]),
    /^Loopwarden stopped this agent's calls: `fail` .* May it go on\?$/,
  );
  const decide = (answer: object) =>
    client.write(`${JSON.stringify({ jsonrpc: "2.0", id: asks().at(-1)?.id, result: answer })}\n`);
  decide({ action: "decline" });
  assert.equal((await client.call("count")).isError, true);
  // Its answer is no business of the server's, and the next end asks again.
  assert.doesNotMatch(client.stdout, /test\/got.*loopwarden-/);
  await client.begin({ elicitation: { form: {} } });
  await halted();
  await client.until(() => asks().length === 2);
  decide({ action: "accept", content: { continue: true } });
  assert.equal(said(await client.call("count")), "1");
});

test("at a gate the person decides, and what was allowed goes on", async () => {
  const config = {
    rules: { "repeated-call": { nudge: 2, block: 0, gate: 3, halt: 0 }, "repeated-error": { enabled: false } },
  };
  await writeFile(join(folder, "gate.json"), JSON.stringify(config));
  await using client = new Client(["--config", "gate.json"]);
  await client.begin({ elicitation: {} });
  let result: Result = {};
  for (let step = 0; step < 8 && result._meta?.["loopwarden/level"] !== "gate"; step++)
    result = await client.call("fail");
  assert.equal(result._meta?.["loopwarden/level"], "gate");
  const asks = () => client.messages.filter(({ method }) => method === "elicitation/create");
  await client.until(() => asks().length === 1);
  assert.equal((await client.call("count")).isError, true);
  const answer = { action: "accept", content: { continue: true } };
  client.write(`${JSON.stringify({ jsonrpc: "2.0", id: asks()[0]?.id, result: answer })}\n`);
  assert.equal(said(await client.call("count")), "1");
  assert.match(said(await client.call("fail")), /^Error: no such table/);
});

test("a pause ends the end", async () => {
  await using client = new Client(["--pause", "0.01"]);
  await client.begin();
  let level: unknown;
  for (let step = 0; step < 30 && level !== "halt"; step++)
    level = (await client.call("fail"))._meta?.["loopwarden/level"];
  assert.equal(level, "halt");
  assert.equal((await client.call("count")).isError, true);
  await new Promise((resolve) => setTimeout(resolve, 900));
  assert.equal(said(await client.call("count")), "1");
});

test("what was asked in another conversation is no evidence", async () => {
  await using client = new Client(["--pause", "0.005"]);
  await client.begin();
  for (let conversation = 0; conversation < 6; conversation++) {
    for (let step = 0; step < 2; step++) assert.equal(said(await client.call("fail")), "Error: no such table");
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
});

test("a server that crashes, is killed, or is not there: its exit code, and no client that waits for ever", async () => {
  for (const [name, code, told] of [
    ["crash", 7, "ended with exit code 7"],
    ["killed", 137, "was ended by SIGKILL"],
  ] as const) {
    await using client = new Client();
    await client.begin();
    client.send("tools/call", { name });
    assert.equal(await client.ended, code);
    assert.ok(client.stderr.includes(`\nloopwarden: the server ${told}\n`), client.stderr);
    assert.doesNotMatch(client.stderr, /the client/);
  }
  await using missing = new Client([], ["loopwarden-no-such-command"]);
  assert.equal(await missing.ended, 127);
  assert.equal(missing.stderr, "loopwarden: loopwarden-no-such-command: no such command\n");
});

test("signals reach the server; one that does not end is ended", async () => {
  await using tidy = new Client([], [process.execPath, fixture, "--tidy"]);
  await tidy.begin();
  assert.equal(await tidy.stop("SIGTERM"), 0);
  assert.match(tidy.stderr, /server: tidied/);
  await using plain = new Client();
  await plain.begin();
  assert.equal(await plain.stop("SIGTERM"), 143);
  await using stubborn = new Client([], [process.execPath, fixture, "--stubborn"]);
  await stubborn.begin();
  assert.equal(await stubborn.stop("SIGTERM"), 137);
  assert.match(stubborn.stderr, /server: no/);
});

test("large messages and slow readers", async () => {
  const echo = `process.stdin.pipe(process.stdout)`;
  await using client = new Client([], [process.execPath, "-e", echo]);
  const large = JSON.stringify({ jsonrpc: "2.0", method: "x", params: { text: "ü".repeat(8 << 20) } });
  client.write(`${large}\n`);
  for (let n = 0; n < 2000; n++) client.write(`{"n":${n}}\n`);
  client.child.stdin?.end();
  assert.equal(await client.ended, 0);
  const lines = client.stdout.split("\n");
  assert.equal(lines[0], large);
  assert.deepEqual(
    lines.slice(1, -1),
    Array.from({ length: 2000 }, (_, n) => `{"n":${n}}`),
  );
});

test("a line without an end is no message: one error, and the end, on either side", async () => {
  const endless = `process.stdin.resume(); for (let n = 0; n < 70; n++) process.stdout.write("x".repeat(1 << 20));`;
  await using babbling = new Client([], [process.execPath, "-e", endless]);
  assert.notEqual(await babbling.ended, 0);
  assert.match(babbling.stderr, /the server cannot be read: a line is longer than 64 MiB/);
  assert.equal(babbling.stdout, "");
  await using client = new Client();
  await client.begin();
  for (let n = 0; n < 70; n++) client.write("y".repeat(1 << 20));
  assert.equal(await client.ended, 0);
  assert.match(client.stderr, /the client cannot be read: a line is longer than 64 MiB/);
});

test("shadow mode says nothing to anybody but the person", async () => {
  await writeFile(join(folder, "shadow.json"), '{ "mode": "shadow" }');
  await using client = new Client(["--config", "shadow.json"]);
  await client.begin();
  for (let step = 0; step < 14; step++) assert.equal(said(await client.call("fail")), "Error: no such table");
  assert.match(client.stderr, /fail: halt \(shadow mode\) /);
});

test("wrong usage", async () => {
  for (const args of [
    [],
    ["--"],
    ["node", "server.js"],
    ["--url", "ftp://x"],
    ["--url", "https://x", "--", "node"],
    ["--header", "a: b", "--", "node"],
    ["--url", "https://x", "--header", "nothing"],
    ["--url", "https://x", "--header", "a: \u0024{LOOPWARDEN_NOT_THERE}"],
    ["--pause", "soon", "--", "node"],
  ]) {
    const { code, stderr } = await run(process.execPath, [cli, "mcp", ...args], { cwd: folder });
    assert.equal(code, 2, `${args.join(" ")}: ${stderr}`);
  }
  const help = await run(process.execPath, [cli, "mcp", "--", process.execPath, "--help"], { cwd: folder });
  assert.match(help.stdout, /^Usage: node /, "what stands behind -- is the server's");
});

test("Windows starts scripts by its shell, with every argument quoted", () => {
  assert.deepEqual(started("node.exe", ["a b"], "win32"), ["node.exe", ["a b"], {}]);
  const [, args, options] = started("npx", ["-y", "a b", 'say "x" & del', "end\\"], "win32");
  assert.deepEqual(options, { windowsVerbatimArguments: true });
  assert.deepEqual(args.slice(0, 3), ["/d", "/s", "/c"]);
  assert.match(args[3] ?? "", /^"npx \^\^\^"-y/);
  assert.ok(!/[^^]&/.test(args[3] ?? ""), args[3]);
});

/** A server behind HTTP: JSON answers, a stream for calls named `streamed`, and what it was sent. */
async function http(seen: { headers: IncomingMessage["headers"]; method: string | undefined; body: Message }[]) {
  const answer = (message: Message, response: ServerResponse) => {
    if (message.id === undefined) return response.writeHead(202).end();
    if (message.method === "initialize") {
      const result = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "h", version: "1" } };
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s-1" });
      return response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
    }
    const name = message.params?.["name"];
    if (name === "gone") return response.writeHead(404).end("session not found");
    const result = { content: [{ type: "text", text: "Error: nothing" }], isError: true };
    const line = JSON.stringify({ jsonrpc: "2.0", id: message.id, result });
    if (name !== "streamed") return response.writeHead(200, { "content-type": "application/json" }).end(line);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const note = JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params: { progress: 1 } });
    return response.end(`event: message\ndata: ${note}\n\nevent: message\ndata: ${line}\n\n`);
  };
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text) => {
      body += text;
    });
    request.on("end", () => {
      const message: Message = body === "" ? {} : JSON.parse(body);
      seen.push({ headers: request.headers, method: request.method, body: message });
      if (request.method === "POST") answer(message, response);
      else response.writeHead(request.method === "DELETE" ? 200 : 405).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

test("--url: a server behind streamable HTTP, its session, headers, streams, errors and goodbye", async () => {
  const seen: Parameters<typeof http>[0] = [];
  await using server = await http(seen);
  await using client = new Client(
    ["--url", server.url, "--header", "Authorization: Bearer \u0024{LOOPWARDEN_TOKEN}"],
    [],
  );
  assert.equal(await client.ended, 2, "the environment has no such variable");
  process.env["LOOPWARDEN_TOKEN"] = "s3cret";
  await using known = new Client(
    ["--url", server.url, "--header", "Authorization: Bearer \u0024{LOOPWARDEN_TOKEN}"],
    [],
  );
  delete process.env["LOOPWARDEN_TOKEN"];
  await known.begin();
  const results: Result[] = [];
  for (let step = 0; step < 6; step++) results.push(await known.call(step % 2 ? "streamed" : "plain", { q: 1 }));
  assert.match(known.stdout, /notifications\/progress/);
  for (let step = 0; step < 8; step++) results.push(await known.call("streamed", { q: 1 }));
  assert.ok(results.some((result) => result._meta?.["loopwarden/level"] === "nudge" && result.content?.length === 2));
  const calls = seen.filter(({ body }) => body.method === "tools/call").length;
  assert.ok(calls < results.length, "what is refused does not reach the server");
  known.write("no JSON\n");
  await known.until(/"code":-32700/);
  const { headers } = seen.at(-1) ?? assert.fail();
  assert.equal(headers.authorization, "Bearer s3cret");
  assert.equal(headers["mcp-session-id"], "s-1");
  assert.equal(headers["mcp-protocol-version"], "2025-06-18");
  assert.doesNotMatch(known.stderr + known.stdout, /s3cret/);
  await known.begin();
  const gone = await known.answer(known.send("tools/call", { name: "gone" }));
  assert.match(gone.error?.message ?? "", /could not be reached: .*session not found/);
  known.child.stdin?.end();
  assert.equal(await known.ended, 0);
  assert.equal(seen.at(-1)?.method, "DELETE");
});

test("--url: a server that is not there is an error of each request", async () => {
  await using client = new Client(["--url", "http://127.0.0.1:9/mcp"], []);
  const answer = await client.answer(client.send("initialize", {}));
  assert.equal(answer.error?.code, -32000);
  assert.equal(await client.stop("SIGTERM"), 0);
});
