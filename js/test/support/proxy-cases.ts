// What a proxy has to do wherever it runs: tried over HTTP, so that the runtime takes part. Cases of single APIs are tried
// with the vendors' own SDKs, in `adapters/test`.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

type Json = Record<string, unknown>;

interface Asked {
  path: string;
  headers: NodeJS.Dict<string | string[]>;
  body: Buffer;
  aborted: boolean;
}

/** A server in place of a model's API: it repeats itself where it is asked to stream, and keeps what it was asked. */
export async function upstream(): Promise<AsyncDisposable & { url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  let ids = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const own: Asked = {
      path: request.url ?? "",
      headers: request.headers,
      body: Buffer.concat(chunks),
      aborted: false,
    };
    asked.push(own);
    response.on("close", () => {
      own.aborted = !response.writableFinished;
    });
    if (own.path === "/v1/echo") {
      response.writeHead(200, { "content-type": "application/octet-stream", "x-own": "1" }).end(own.body);
      return;
    }
    let asks: { stream?: boolean; user?: string } = {};
    try {
      asks = JSON.parse(own.body.toString());
    } catch {
      // A broken body is answered like any other.
    }
    const { stream, user } = asks;
    if (stream !== true) {
      const id = `resp_${++ids}`;
      const call = {
        type: "function_call",
        call_id: `c${ids}`,
        name: "read_file",
        arguments: '{"path":"cart.ts"}',
      };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ id, object: "response", output: [call], choices: [] }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (let piece = 0; piece < 200_000 && !response.destroyed; piece++) {
      const content = user === "honest" ? `Line ${piece * 7919} of ${piece}. ` : "I will check it again. ";
      const more = response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
      if (!more) await new Promise((resolve) => response.once("drain", resolve).once("close", resolve));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function conversation(times: number, name = "read_file"): Json[] {
  const messages: Json[] = [{ role: "user", content: "Fix it." }];
  for (let n = 0; n < times; n++) {
    const call = { id: `c${n}`, type: "function", function: { name, arguments: '{"path":"cart.ts"}' } };
    messages.push({ role: "assistant", content: null, tool_calls: [call] });
    messages.push({ role: "tool", tool_call_id: `c${n}`, content: "Error: no such file" });
  }
  return messages;
}

/** Tries a proxy at an address. */
export function cases(where: string, proxy: () => { base: string; asked: Asked[] }): void {
  const post = (path: string, body: string | Uint8Array, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    fetch(`${proxy().base}${path}`, {
      method: "POST",
      headers: { authorization: "Bearer sk-test", "content-type": "application/json", ...headers },
      body: body as string,
      ...(signal && { signal }),
    });
  const chat = (body: Json, signal?: AbortSignal) => post("/v1/chat/completions", JSON.stringify(body), {}, signal);
  const last = () => proxy().asked.at(-1) ?? assert.fail();

  test(`${where}: a loop is told to the model, and then ended`, async () => {
    for (const [times, level] of [
      [2, "continue"],
      [3, "nudge"],
      [6, "block"],
      [12, "halt"],
    ] as const) {
      const before = proxy().asked.length;
      const answer = await chat({ model: "m", messages: conversation(times) });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("loopwarden-level"), level);
      assert.equal(proxy().asked.length - before, level === "halt" ? 0 : 1);
      if (level === "halt") assert.match(await answer.text(), /Loopwarden \(loop detector\) ended this run/);
      else assert.equal(/harness-note/.test(last().body.toString()), level !== "continue");
      assert.equal(last().headers["authorization"], "Bearer sk-test");
    }
  });

  test(`${where}: headers hold nothing that a stranger wrote`, async () => {
    for (const name of [
      "x\r\nset-cookie: zqxv=1",
      "zqxv\u001b]8;;http://x\u0007\u202e",
      "zqxv;level=halt, y",
      "__proto__",
    ]) {
      const answer = await chat({ model: "m", messages: conversation(6, name) });
      const headers = [...answer.headers].filter(([header]) => header.startsWith("loopwarden-"));
      assert.deepEqual(headers.map(([header]) => header).sort(), ["loopwarden-finding", "loopwarden-level"], name);
      const finding =
        /^(?:(?:^|, )[a-z-]+;kind=[a-z-]+;level=[a-z]+;count=\d+;threshold=\d+;since=\d+;confidence=\d+)+$/;
      assert.match(answer.headers.get("loopwarden-finding") ?? "", finding);
      assert.equal(answer.headers.get("set-cookie"), null);
    }
  });

  test(`${where}: an answer that runs away is cut, and upstream hears of it`, async () => {
    const answer = await chat({ model: "m", stream: true, messages: conversation(1), max_tokens: 90_000 });
    const text = await answer.text();
    assert.match(text, /cut this answer here.*"finish_reason":"length".*\[DONE\]\n\n$/s);
    for (let wait = 0; wait < 300 && !last().aborted; wait++) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.ok(last().aborted);
  });

  test(`${where}: an honest answer goes on, until its reader goes away`, async () => {
    const gone = new AbortController();
    const answer = await chat({ model: "m", stream: true, user: "honest", messages: conversation(1) }, gone.signal);
    const reader = answer.body?.getReader();
    for (let chunk = 0; chunk < 20; chunk++) assert.equal((await reader?.read())?.done, false);
    gone.abort();
    for (let wait = 0; wait < 300 && !last().aborted; wait++) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.ok(last().aborted);
  });

  test(`${where}: what is not for a model passes byte for byte`, async () => {
    const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => (at * 7919) % 251);
    const answer = await post("/v1/echo", bytes);
    assert.deepEqual(new Uint8Array(await answer.arrayBuffer()), bytes);
    assert.deepEqual([answer.headers.get("x-own"), answer.headers.get("loopwarden-level")], ["1", null]);
    for (const body of ["{", '{"messages":7}']) {
      const broken = await post("/v1/chat/completions", body).catch(() => undefined);
      assert.equal(broken?.headers.get("loopwarden-level") ?? null, null);
      assert.equal(last().body.toString(), body);
    }
  });

  test(`${where}: packed requests are read`, async () => {
    const body = gzipSync(JSON.stringify({ model: "m", messages: conversation(3) }));
    const answer = await post("/v1/chat/completions", body, { "content-encoding": "gzip" });
    assert.equal(answer.headers.get("loopwarden-level"), "nudge");
    assert.equal(last().headers["content-encoding"], undefined);
  });

  test(`${where}: a conversation that the vendor keeps is known by its id`, async () => {
    let before: Json = {};
    const seen: (string | null)[] = [];
    for (let turn = 0; turn < 5; turn++) {
      const output = { type: "function_call_output", call_id: before["call"], output: "Error: no such file" };
      const input = turn === 0 ? "Fix it." : [output];
      const answer = await post("/v1/responses", JSON.stringify({ model: "m", ...(before["goesOn"] as Json), input }));
      seen.push(answer.headers.get("loopwarden-level"));
      const { id, output: said } = (await answer.json()) as { id: string; output: { call_id: string }[] };
      before = { call: said[0]?.call_id, goesOn: { previous_response_id: id } };
      // What comes of an answer is kept when it has passed.
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.deepEqual(seen.slice(0, 4), ["continue", "continue", "continue", "nudge"]);
  });
}
