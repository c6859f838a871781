// Edge cases that the proxy must not make worse: bodies that cannot be read or are not meant for it, servers that
// understand less, caches that evict, many concurrent requests.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { createLoopProxy, type LoopProxyOptions, MemoryCache, type ProxyCache } from "loopwarden/proxy";
import { VENDORS } from "./proxy/agents.ts";
import type { Script } from "./proxy/model.ts";
import { levels, nothing, stand, stuck } from "./proxy/stand.ts";

type Json = Record<string, unknown>;
const responses = VENDORS.find(({ name }) => name === "openai-responses") ?? assert.fail();

/** A conversation of Chat Completions in which one call fails `times` times. */
function conversation(
  times: number,
  more: { id?: (n: number) => string; answer?: string; args?: string } = {},
): Json[] {
  const { id = (n) => `call_${n}`, answer = nothing(), args = '{"path":"cart.ts"}' } = more;
  const messages: Json[] = [{ role: "user", content: "Fix it." }];
  for (let n = 0; n < times; n++) {
    const call = { id: id(n), type: "function", function: { name: "read_file", arguments: args } };
    messages.push({ role: "assistant", content: null, tool_calls: [call] });
    messages.push({ role: "tool", tool_call_id: id(n), content: answer });
  }
  return messages;
}

/** The handler alone, with a function as upstream. */
function handler(answer: (request: Request) => Response | Promise<Response>, options: Partial<LoopProxyOptions> = {}) {
  const asked: { url: string; headers: Headers; body: Uint8Array }[] = [];
  const warnings: string[] = [];
  const proxy = createLoopProxy({
    upstream: "http://upstream.test",
    packed: true,
    fetch: async (request) => {
      const copy = request.clone();
      asked.push({ url: request.url, headers: request.headers, body: new Uint8Array(await copy.arrayBuffer()) });
      return answer(request);
    },
    onWarning: (message) => warnings.push(message),
    ...options,
  });
  const post = (body: unknown, path = "/v1/chat/completions", headers: Record<string, string> = {}) =>
    proxy(
      new Request(`http://localhost${path}`, {
        method: "POST",
        headers: { authorization: "Bearer sk-test-secret", "content-type": "application/json", ...headers },
        body: (typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body)) as string,
      }),
    );
  return { proxy, post, asked, warnings };
}

const ok = () => Response.json({ choices: [] });
const level = (response: Response) => response.headers.get("loopwarden-level");

test("what cannot be read is passed on as it came", async () => {
  const deep = `{"messages":${"[".repeat(5000)}${"]".repeat(5000)}}`;
  const bodies: (string | Uint8Array)[] = [
    "",
    "{",
    "null",
    "[]",
    '"text"',
    "{}",
    '{"messages":null}',
    '{"messages":{"role":"user"}}',
    '{"messages":"hello"}',
    '{"messages":[1,null,"x",[],{"role":7},{"role":"assistant","tool_calls":"none"},{"role":"tool"}]}',
    '{"messages":[{"role":"assistant","tool_calls":[{"function":{}}]},{"role":"tool","content":{"a":1}}]}',
    '{"messages":[{"role":"user","content":"a\\ud800b"}]}',
    deep,
    new Uint8Array([0x7b, 0xff, 0xfe, 0x00, 0x7d]),
    randomBytes(4096),
  ];
  const paths = [
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1beta/models/gemini-test:generateContent",
    "/v1beta/models/gemini-test:streamGenerateContent?alt=sse",
  ];
  const at = handler(ok);
  for (const path of paths) {
    for (const body of bodies) {
      for (const key of ["messages", "input", "contents"]) {
        const own = typeof body === "string" ? body.replace("messages", key) : body;
        at.asked.length = 0;
        const response = await at.post(own, path);
        assert.equal(response.status, 200);
        assert.deepEqual(Buffer.from(at.asked[0]?.body ?? []), Buffer.from(own), `${path} ${own.slice(0, 60)}`);
      }
    }
  }
  assert.ok(at.warnings.length < 8, at.warnings.join("\n"));
});

test("guidance leaves every other byte as it was written", async () => {
  const at = handler(ok);
  const tail = JSON.stringify(conversation(3)).slice(1, -1);
  const body = `{ "seed" : 12345678901234567890, "temperature": 1.0,\n "messages" : [ ${tail} ] , "user":"\\u00e9", "messages2":[] }`;
  const response = await at.post(body);
  assert.equal(level(response), "nudge");
  const sent = Buffer.from(at.asked[0]?.body ?? []).toString();
  assert.ok(sent.startsWith('{ "seed" : 12345678901234567890, "temperature": 1.0,\n "messages" : [ '));
  assert.ok(sent.endsWith(' ] , "user":"\\u00e9", "messages2":[] }'));
  const { messages } = JSON.parse(sent);
  const { content, ...rest } = messages.at(-1);
  assert.deepEqual(rest, { role: "tool", tool_call_id: "call_2" });
  assert.ok(content.startsWith(`${nothing()}\n\n<harness-note>`), content);
  assert.deepEqual(messages.slice(0, -1), conversation(3).slice(0, -1));
});

test("requests longer than may be read are passed on as they come", async () => {
  const long = JSON.stringify({ messages: [...conversation(9), { role: "user", content: "x".repeat(50 << 20) }] });
  for (const maxBody of [1 << 20, 64 << 20]) {
    const at = handler(ok, { maxBody });
    const whole = await at.post(long);
    assert.equal(level(whole), maxBody > long.length ? "continue" : null);
    // Without a length, as it is sent in chunks.
    const bytes = new TextEncoder().encode(long);
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        if (sent >= bytes.length) return controller.close();
        controller.enqueue(bytes.subarray(sent, sent + 65_536));
        sent += 65_536;
      },
    });
    const init = { method: "POST", body, duplex: "half" } as RequestInit;
    await at.proxy(new Request("http://localhost/v1/chat/completions", init));
    for (const { body } of at.asked) assert.ok(Buffer.from(body).equals(Buffer.from(bytes)));
    assert.equal(at.asked.length, 2);
  }
});

test("packed requests are read, and packed answers pass as they are", async () => {
  const answer = gzipSync(JSON.stringify({ choices: [], note: "x".repeat(1000) }));
  const at = handler(
    () => new Response(answer, { headers: { "content-encoding": "gzip", "content-type": "application/json" } }),
  );
  const plain = JSON.stringify({ messages: conversation(3) });
  const packings: [string, Uint8Array][] = [
    ["gzip", gzipSync(plain)],
    ["deflate", deflateSync(plain)],
    ["br", brotliCompressSync(plain)],
  ];
  const zlib = process.getBuiltinModule("node:zlib") as { zstdCompressSync?: (text: string) => Uint8Array };
  if (zlib.zstdCompressSync) packings.push(["zstd", zlib.zstdCompressSync(plain)]);
  for (const [coding, body] of packings) {
    const response = await at.post(body, "/v1/chat/completions", { "content-encoding": coding });
    assert.equal(level(response), "nudge", coding);
    assert.equal(response.headers.get("content-encoding"), "gzip");
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), answer);
    const sent = at.asked.at(-1);
    assert.equal(sent?.headers.get("content-encoding"), null);
    assert.match(Buffer.from(sent?.body ?? []).toString(), /harness-note/);
  }
  // A request without a finding passes unchanged, and so does one that cannot be decompressed or is a bomb.
  const bomb = gzipSync(`{"messages":[{"role":"user","content":"${" ".repeat(40 << 20)}"}]}`);
  for (const [coding, body] of [
    ["gzip", gzipSync(JSON.stringify({ messages: conversation(1) }))],
    ["gzip", Buffer.from(plain)],
    ["gzip", gzipSync(plain).subarray(0, 60)],
    ["snappy", randomBytes(99)],
    ["gzip, br", randomBytes(99)],
    ["gzip", bomb],
  ] as const) {
    await at.post(body, "/v1/chat/completions", { "content-encoding": coding });
    assert.deepEqual(Buffer.from(at.asked.at(-1)?.body ?? []), Buffer.from(body));
    assert.equal(at.asked.at(-1)?.headers.get("content-encoding"), coding);
  }
});

test("everything else passes through, headers included", async () => {
  const seen: { method: string; url: string; headers: string[]; body: Buffer }[] = [];
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    seen.push({
      method: request.method ?? "",
      url: request.url ?? "",
      headers: request.rawHeaders,
      body: Buffer.concat(chunks),
    });
    if (request.url === "/v1/redirect") response.writeHead(302, { location: "https://elsewhere.test/" }).end();
    else if (request.url === "/v1/same") response.writeHead(304, { etag: '"x"' }).end();
    else if (request.url === "/v1/packed")
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("a packed answer"));
    else
      response
        .writeHead(201, [
          ["set-cookie", "a=1"],
          ["set-cookie", "b=2"],
          ["x-own", "yes"],
        ] as never)
        .end(Buffer.concat(chunks));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  await using at = await stand(stuck, { upstream: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  try {
    const upload = randomBytes(3 << 20);
    const answer = await fetch(`${at.base}/v1/files?purpose=a%20b`, {
      method: "POST",
      body: upload,
      headers: { authorization: "Bearer sk-test-secret", "x-custom": "1" },
    });
    assert.equal(answer.status, 201);
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), upload);
    assert.deepEqual(answer.headers.getSetCookie(), ["a=1", "b=2"]);
    assert.equal(answer.headers.get("x-own"), "yes");
    assert.equal(answer.headers.get("loopwarden-level"), null);
    const [first] = seen;
    assert.deepEqual([first?.method, first?.url], ["POST", "/v1/files?purpose=a%20b"]);
    assert.deepEqual(first?.body, upload);
    const named = (name: string) =>
      first?.headers[(first.headers.findIndex((own) => own.toLowerCase() === name) ?? 0) + 1];
    assert.equal(named("authorization"), "Bearer sk-test-secret");
    assert.equal(named("x-custom"), "1");
    assert.equal(named("content-length"), `${upload.length}`);
    const redirect = await fetch(`${at.base}/v1/redirect`, { redirect: "manual" });
    assert.deepEqual([redirect.status, redirect.headers.get("location")], [302, "https://elsewhere.test/"]);
    assert.equal((await fetch(`${at.base}/v1/same`)).status, 304);
    assert.equal(await (await fetch(`${at.base}/v1/packed`)).text(), "a packed answer");
    assert.equal((await fetch(`${at.base}/v1/models`, { method: "HEAD" })).status, 201);
    assert.equal((await fetch(`${at.base}/v1/messages/count_tokens`, { method: "POST", body: "{}" })).status, 201);
    assert.equal(at.proxy.metrics().judged, 0);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("a packed answer that the runtime's own fetch unpacks is no longer called packed", async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-encoding": "gzip", "content-type": "application/json" });
    response.end(gzipSync('{"choices":[]}'));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy = createLoopProxy({ upstream: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  const init = { method: "POST", body: JSON.stringify({ messages: conversation(3) }) };
  const answer = await proxy(new Request("http://localhost/v1/chat/completions", init));
  assert.equal(answer.headers.get("content-encoding"), null);
  assert.equal(answer.headers.get("loopwarden-level"), "nudge");
  assert.equal(await answer.text(), '{"choices":[]}');
  server.closeAllConnections();
  server.close();
});

test("an upstream that is not there is a 502 in words, without the key", async () => {
  const warnings: string[] = [];
  const proxy = createLoopProxy({ upstream: "http://127.0.0.1:9", onWarning: (message) => warnings.push(message) });
  for (const path of ["/v1/chat/completions", "/v1/models"]) {
    const init = { method: "POST", headers: { authorization: "Bearer sk-test-secret" }, body: '{"messages":[]}' };
    const answer = await proxy(new Request(`http://localhost${path}`, init));
    assert.equal(answer.status, 502);
    assert.match(((await answer.json()) as { error: { message: string } }).error.message, /127\.0\.0\.1:9/);
  }
  assert.equal(warnings.length, 1);
  assert.doesNotMatch(warnings.join(), /secret/);
});

test("a server that understands less is asked in its own words", async () => {
  const tools = ["read_file", "search"].map((name) => ({ type: "function", function: { name, parameters: {} } }));
  for (const [what, refuses, after] of [
    ["a choice of tools", (body: Json) => body["tool_choice"] !== undefined, "guided"],
    ["any note", (body: Json) => JSON.stringify(body).includes("harness-note"), "none"],
  ] as const) {
    const actions: string[] = [];
    const bodies: Json[] = [];
    const proxy = createLoopProxy({
      upstream: "http://upstream.test",
      fetch: async (request) => {
        const body = (await request.json()) as Json;
        bodies.push(body);
        return refuses(body) ? Response.json({ error: { message: "unknown parameter" } }, { status: 400 }) : ok();
      },
      onVerdict: (_, { action }) => actions.push(action),
      onWarning: () => {},
    });
    const post = () =>
      proxy(
        new Request("http://localhost/v1/chat/completions", {
          method: "POST",
          body: JSON.stringify({ tools, messages: conversation(6) }),
        }),
      );
    const answer = await post();
    assert.deepEqual([answer.status, level(answer)], [200, "block"], what);
    assert.equal(actions.at(-1), after, what);
    assert.equal(bodies.length, after === "guided" ? 2 : 3);
    // What upstream has rejected once is not tried again.
    bodies.length = 0;
    await post();
    if (after === "guided") assert.equal(bodies.length, 1);
    else assert.equal(proxy.metrics().undone, 2);
  }
});

for (const stream of [false, true]) {
  test(`a conversation that the vendor keeps is known by its id, ${stream ? "streamed" : "whole"}`, async () => {
    await using at = await stand(stuck);
    const run = await at.run(responses, { stream, kept: true, tool: nothing });
    assert.ok(at.model.received.slice(1).every(({ json }) => (json()["input"] as unknown[]).length <= 2));
    assert.ok(levels(run).includes("nudge"), `${levels(run)}`);
    assert.equal(levels(run).at(-1), "halt");
    assert.match(run.text, /^Loopwarden/);
    assert.deepEqual(at.warnings, []);
    // Another tenant's id must not match.
    const id = /"id":"(resp_\d+)"/.exec(at.model.received.at(-1)?.sent ?? "")?.[1] ?? assert.fail();
    const item = { type: "function_call_output", call_id: "call_x", output: nothing() };
    const ask = (key: string) =>
      fetch(`${at.base}/v1/responses`, {
        method: "POST",
        headers: { authorization: key },
        body: JSON.stringify({ model: "m", previous_response_id: id, input: [item] }),
      });
    at.model.script = () => ({ text: "ok" });
    assert.equal(level(await ask("Bearer another")), "continue");
  });
}

test("the same conversation gets the same verdict, whatever the cache has kept", async () => {
  let seed = 7;
  const below = (limit: number) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return (seed >>> 8) % limit;
  };
  for (let round = 0; round < 6; round++) {
    const messages: Json[] = [
      { role: "system", content: "You help." },
      { role: "user", content: "Fix it." },
    ];
    const forgetful: ProxyCache = {
      get: (key) => (below(3) === 0 ? undefined : kept.get(key)),
      set: async (key, value) => kept.set(key, value),
    };
    const kept = new MemoryCache();
    const warm = handler(ok, { policy: "observe" });
    const lossy = handler(ok, { policy: "observe", cache: forgetful });
    let said = 0;
    for (let turn = 0; turn < 30; turn++) {
      const calls = Array.from({ length: 1 + below(2) }, (_, index) => ({
        // Ids that repeat, or are empty.
        id: ["", `call_${index}`, `call_${turn}_${index}`][round % 3],
        type: "function",
        function: {
          name: ["read", "search"][below(2)],
          arguments: JSON.stringify({ path: `${below(2)}`, beweggrund: `Let me see what step ${turn} brings` }),
        },
      }));
      messages.push({ role: "assistant", content: below(2) ? "Let me look." : null, tool_calls: calls });
      for (const { id, function: called } of calls)
        messages.push({
          role: "tool",
          tool_call_id: id,
          content: `Error: nothing for ${called.arguments.slice(0, 12)}`,
        });
      if (below(12) === 0) messages.push({ role: "user", content: `Go on, number ${turn}.` });
      const body = { messages };
      const cold = handler(ok, { policy: "observe" });
      const [first, second, third] = await Promise.all([warm.post(body), lossy.post(body), cold.post(body)]);
      const finding = (response: Response) => [level(response), response.headers.get("loopwarden-finding")];
      assert.deepEqual(finding(first), finding(third), `warm, round ${round}, turn ${turn}`);
      assert.deepEqual(finding(second), finding(third), `lossy, round ${round}, turn ${turn}`);
      if (level(third) !== "continue") said++;
      // A repeated request gets the same answer.
      if (below(4) === 0) assert.deepEqual(finding(await warm.post(body)), finding(third));
    }
    assert.ok(said > 3, `${said} in round ${round}`);
    assert.deepEqual([...warm.warnings, ...lossy.warnings], []);
  }
});

test("what was read before is not read again, and a beginning that changed is", async () => {
  const [original, read] = [JSON.parse, [] as number[]];
  JSON.parse = ((text: string, ...more: []) => {
    read.push(text.length);
    return original(text, ...more);
  }) as typeof JSON.parse;
  try {
    const at = handler(ok, { policy: "observe" });
    const long = (times: number, first = "Fix it.") => {
      const [, ...rest] = conversation(times, { answer: `Error: ${"x".repeat(2000)} at line 7` });
      return { model: "m", messages: [{ role: "user", content: first }, ...rest], stream: false };
    };
    const ask = async (body: object) => {
      read.length = 0;
      const response = await at.post(body);
      return [level(response), Math.max(...read) < JSON.stringify(body).length * 0.6] as const;
    };
    const seen = [];
    for (let times = 60; times < 64; times++) seen.push(await ask(long(times)));
    assert.deepEqual(
      seen.map(([, quick]) => quick),
      [false, true, true, true],
    );
    assert.ok(seen.every(([level]) => level === "halt"));
    // With a different beginning, order of members or white space, everything is read and judged alike.
    assert.deepEqual(await ask(long(64, "Mend it.")), ["halt", false]);
    const { messages, ...rest } = long(65);
    assert.deepEqual(await ask({ ...rest, messages }), ["halt", false]);
    // What the cache has lost is read again.
    const lost = handler(ok, { policy: "observe", cache: { get: () => undefined, set: () => {} } });
    for (const times of [60, 61]) {
      read.length = 0;
      const body = long(times);
      assert.equal(level(await lost.post(body)), "halt");
      assert.ok(Math.max(...read) >= JSON.stringify(body).length);
    }
  } finally {
    JSON.parse = original;
  }
});

test("ids that come again, are empty or are not there pair calls with their own answers", async () => {
  for (const id of [() => "", () => "call_0", (n: number) => `call_${n % 2}`]) {
    const at = handler(ok, { policy: "observe" });
    const seen: (string | null)[] = [];
    for (let times = 1; times <= 9; times++) seen.push(level(await at.post({ messages: conversation(times, { id }) })));
    assert.deepEqual(seen.slice(0, 3), ["continue", "continue", "nudge"]);
    assert.equal(seen.at(-1), "halt");
  }
});

test("a cache that fails, or keeps what is no snapshot, is a cache that forgets", async () => {
  const broken: ProxyCache[] = [
    {
      get: () => Promise.reject(new Error("no connection")),
      set: () => Promise.reject(new Error("no connection")),
    },
    {
      get: () => {
        throw new Error("no connection");
      },
      set: () => {
        throw new Error("no connection");
      },
    },
    { get: () => new Uint8Array(3), set: () => {} },
    { get: async () => randomBytes(900), set: () => {} },
  ];
  for (const cache of broken) {
    const at = handler(ok, { cache });
    for (const times of [2, 3])
      assert.equal(level(await at.post({ messages: conversation(times) })), times === 3 ? "nudge" : "continue");
    assert.equal(at.warnings.length, 1, at.warnings.join("\n"));
    assert.equal(at.proxy.metrics().judged, 2);
  }
});

test("nothing that is kept, logged or told holds a key or a text of the conversation", async () => {
  const kept: string[] = [];
  const cache: ProxyCache = {
    get: () => undefined,
    set: (key, value) => {
      kept.push(key, Buffer.from(value).toString("latin1"));
    },
  };
  const told: string[] = [];
  const at = handler(ok, { cache, onVerdict: (...all) => told.push(JSON.stringify(all)) });
  const answer = "Error: the password is hunter2 in cart.ts";
  for (const times of [1, 3, 6, 9])
    await at.post({ messages: conversation(times, { answer, args: '{"secret":"swordfish"}' }) });
  assert.ok(told.length >= 3 && kept.length >= 6);
  for (const text of [...kept, ...told, ...at.warnings]) assert.doesNotMatch(text, /sk-test-secret|hunter2|swordfish/);
});

test("a gate asks the human, whose answer lifts it; so it is with a halt", async () => {
  for (const config of [{ rules: { "repeated-call": { gate: 15, halt: 0 } } }, {}]) {
    const at = handler(ok, { config });
    const asked = config.rules ? "gate" : "halt";
    const messages = conversation(12, { answer: "The file is empty." });
    const stopped = await at.post({ messages });
    assert.equal(level(stopped), asked);
    assert.equal(at.asked.length, 0);
    const { choices } = (await stopped.json()) as { choices: { message: Json; finish_reason: string }[] };
    const said = String(choices[0]?.message["content"]);
    assert.match(said, asked === "gate" ? /stopped here for a human.*Say how to go on/s : /ended this run/);
    messages.push({ role: "assistant", content: said }, { role: "user", content: "Look in src/ instead." });
    assert.equal(level(await at.post({ messages })), "continue");
    assert.equal(at.asked.length, 1);
    // Prompts of an outer loop do not lift a halt.
    const host = handler(ok, { config, prompts: "host" });
    messages.push(...conversation(2, { answer: "The file is empty." }).slice(1));
    assert.notEqual(level(await host.post({ messages })), "continue");
  }
});

test("shadow mode tells what would have been, and does nothing", async () => {
  const at = handler(ok, { config: { mode: "shadow" } });
  const response = await at.post({ messages: conversation(9) });
  assert.equal(response.headers.get("loopwarden-would-be"), "halt");
  assert.ok(["continue", "observe"].includes(level(response) ?? ""));
  assert.equal(Buffer.from(at.asked[0]?.body ?? []).toString(), JSON.stringify({ messages: conversation(9) }));
});

test("a policy can only tell at any level", async () => {
  const at = handler(ok, { policy: { nudge: "observe", block: "guide", halt: "guide" } });
  const sent = () => Buffer.from(at.asked.at(-1)?.body ?? []).toString();
  assert.equal(level(await at.post({ messages: conversation(3) })), "nudge");
  assert.doesNotMatch(sent(), /harness-note/);
  assert.equal(level(await at.post({ messages: conversation(12) })), "halt");
  assert.match(sent(), /harness-note/);
});

const make = (options: object) => () =>
  createLoopProxy({ upstream: "http://upstream.test", ...options } as LoopProxyOptions);

test("options that do not exist or cannot be are errors that name them", () => {
  for (const [options, field] of [
    [{ upstraem: 1 }, "upstraem"],
    [{ upstream: "ftp://x" }, "upstream"],
    [{ upstream: "https://user:sk-key@api.test" }, "upstream"],
    [{ policy: { nugde: "guide" } }, "policy.nugde"],
    [{ policy: { nudge: "steer" } }, "policy.nudge"],
    [{ policy: "quiet" }, "policy"],
    [{ prompts: "machine" }, "prompts"],
    [{ maxBody: -1 }, "maxBody"],
    [{ config: { preset: "wild" } }, "config.preset"],
  ] as const) {
    assert.throws(make(options), (error: { code: string; field: string; message: string }) => {
      assert.equal(error.code, "invalid-config");
      assert.equal(error.field, field);
      assert.doesNotMatch(error.message, /sk-key/);
      return true;
    });
  }
});

test("what was meant is named, and the path is the one that was written", () => {
  for (const [options, message] of [
    [{ upstraem: 1 }, "`upstraem`: is no option; did you mean `upstream`?"],
    [{ preset: "sensitive" }, "`preset`: belongs into `config`: { config: { preset: … } }"],
    [{ policy: { nugde: "guide" } }, "`policy.nugde`: is no level; did you mean `nudge`?"],
    [{ config: { presett: "wild" } }, "`config.presett`: unknown field, did you mean `preset`?"],
  ] as const)
    assert.throws(make(options), { message });
});

test("upstream's own path comes first, unless the client has it", async () => {
  for (const [upstream, path, wanted] of [
    ["https://api.test", "/v1/x", "https://api.test/v1/x"],
    ["https://api.test/", "/v1/x?a=1", "https://api.test/v1/x?a=1"],
    ["https://api.test/v1", "/v1/x", "https://api.test/v1/x"],
    ["https://api.test/api/", "/v1/x", "https://api.test/api/v1/x"],
    ["https://api.test/api", "/apis/x", "https://api.test/api/apis/x"],
  ] as const) {
    const at = handler(ok, { upstream });
    await at.post("{}", path);
    assert.equal(at.asked[0]?.url, wanted);
  }
});

test("answers in the model's stead keep to what was asked for", async () => {
  const at = handler(ok);
  const messages = conversation(12);
  const whole = async (body: Json) => (await (await at.post({ messages, ...body })).json()) as Json;
  const several = (await whole({ n: 3 }))["choices"] as Json[];
  assert.deepEqual(
    several.map(({ index }) => index),
    [0, 1, 2],
  );
  const [structured] = (await whole({ response_format: { type: "json_object" } }))["choices"] as { message: Json }[];
  assert.equal(structured?.message["content"], null);
  assert.match(String(structured?.message["refusal"]), /^Loopwarden/);
  const streamed = await (await at.post({ messages, stream: true, stream_options: { include_usage: true } })).text();
  assert.match(streamed, /"choices":\[\],"usage"/);
  assert.ok(streamed.endsWith("data: [DONE]\n\n"));
  assert.equal(at.asked.length, 0);
  // Gemini without server-sent events streams a list.
  const contents = conversation(12).flatMap(({ role }): Json[] =>
    role === "assistant"
      ? [{ role: "model", parts: [{ functionCall: { name: "f", args: { a: 1 } } }] }]
      : role === "tool"
        ? [{ role: "user", parts: [{ functionResponse: { name: "f", response: { output: "none" } } }] }]
        : [{ parts: [{ text: "Go." }] }],
  );
  const list = await at.post({ contents }, "/v1beta/models/g:streamGenerateContent");
  assert.equal(level(list), "halt");
  const [only, ...more] = (await list.json()) as Json[];
  assert.deepEqual([more, (only?.["candidates"] as Json[] | undefined)?.[0]?.["finishReason"]], [[], "STOP"]);
});

test("a stream is read however its bytes are cut, and passes byte for byte", async () => {
  const runaway = "Ich prüfe die Datei noch einmal – 再確認します。 ".repeat(120);
  const pieces = runaway.match(/.{1,7}/gsu) ?? [];
  const chunk = (delta: object, end: string) =>
    `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta }] })}${end}${end}`;
  const honest = `: comment\r\n\r\n${chunk({ content: "Hallo, Wörld \u2028 再" }, "\r\n")}event: x\r\ndata: {\r\n\r\ndata: [DONE]\r\n\r\n`;
  for (const size of [1, 2, 3, 7, 64, 100_000]) {
    for (const [text, cuts] of [
      [honest, false],
      [pieces.map((content) => chunk({ content }, "\n")).join(""), true],
    ] as const) {
      const bytes = new TextEncoder().encode(text);
      const at = handler(() => {
        let sent = 0;
        const body = new ReadableStream({
          pull(controller) {
            if (sent >= bytes.length) return controller.close();
            controller.enqueue(bytes.slice(sent, sent + size));
            sent += size;
          },
        });
        return new Response(body, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
      });
      const answer = await at.post({ messages: [{ role: "user", content: "Hi" }], stream: true, max_tokens: 99_999 });
      const got = await answer.text();
      if (cuts) {
        const end = got.indexOf("Loopwarden");
        assert.ok(end > 0, `${size}`);
        assert.ok(text.startsWith(got.slice(0, got.lastIndexOf("data: ", end))));
        assert.ok(got.endsWith("data: [DONE]\n\n"));
        for (const line of got.split("\n\n")) if (/^data: \{/.test(line)) JSON.parse(line.slice(6));
      } else {
        assert.equal(got, text);
      }
      assert.deepEqual(at.warnings, []);
    }
  }
});

test("an answer is cut in whatever part it runs away", async () => {
  const event = (one: { type: string } & Json) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`;
  const streams: [string, string, string, (piece: string) => string, RegExp][] = [
    [
      "/v1/messages",
      "thinking",
      event({ type: "message_start", message: { id: "m", content: [], usage: {} } }) +
        event({ type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } }),
      (thinking) => event({ type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking } }),
      /"content_block_stop","index":0\}.*"content_block_start","index":1.*"max_tokens".*"message_stop"/s,
    ],
    [
      "/v1/responses",
      "reasoning",
      event({ type: "response.created", response: { id: "r", output: [] }, sequence_number: 0 }) +
        event({
          type: "response.output_item.added",
          output_index: 0,
          item: { type: "reasoning", id: "rs", summary: [] },
          sequence_number: 1,
        }),
      (delta) =>
        event({
          type: "response.reasoning_summary_text.delta",
          item_id: "rs",
          output_index: 0,
          delta,
          sequence_number: 2,
        }),
      /output_item\.done.*"reasoning".*output_item\.added","output_index":1.*response\.incomplete.*max_output_tokens/s,
    ],
    [
      "/v1/chat/completions",
      "reasoning_content",
      "",
      (reasoning_content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { reasoning_content } }] })}\n\n`,
      /"finish_reason":"length".*\[DONE\]/s,
    ],
    [
      "/v1beta/models/g:streamGenerateContent?alt=sse",
      "thought",
      "",
      (text) =>
        `data: ${JSON.stringify({ candidates: [{ content: { role: "model", parts: [{ text, thought: true }] } }] })}\n\n`,
      /"finishReason":"MAX_TOKENS"/,
    ],
  ];
  for (const [path, what, begin, piece, wanted] of streams) {
    const text = begin + piece("Wait, let me check that once more. ").repeat(300);
    const at = handler(() => new Response(text, { headers: { "content-type": "text/event-stream" } }));
    const body = {
      stream: true,
      messages: [{ role: "user", content: "Hi" }],
      input: "Hi",
      contents: [{ parts: [{ text: "Hi" }] }],
    };
    const got = await (await at.post(body, path)).text();
    assert.match(got, wanted, what);
    assert.match(got, /cut this answer here/, what);
    assert.ok(got.length < text.length / 2);
    assert.deepEqual(at.warnings, []);
  }
});

test("who reads slowly is not sent more than fits", async () => {
  let sent = 0;
  const piece = new TextEncoder().encode(`data: ${JSON.stringify({ x: "y".repeat(60_000) })}\n\n`);
  const at = handler(() => {
    const body = new ReadableStream({
      pull(controller) {
        sent++;
        controller.enqueue(piece);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  const answer = await at.post({ messages: [], stream: true });
  const reader = answer.body?.getReader();
  await reader?.read();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(sent <= 4, `${sent} pieces`);
  await reader?.cancel();
});

test("a thousand conversations at once, each with its own verdict", async () => {
  const script: Script = async (request) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return { text: `${request.json()["user"]}` };
  };
  await using at = await stand(script);
  const ask = async (number: number, times: number) => {
    const messages = conversation(times, { answer: `Error: nothing in ${number}` });
    const response = await fetch(`${at.base}/v1/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ user: `${number}`, messages, stream: number % 2 === 0 }),
    });
    return { level: level(response), text: await response.text() };
  };
  for (const [times, odd] of [
    [2, "continue"],
    [3, "nudge"],
    [12, "halt"],
  ] as const) {
    const answers = await Promise.all(
      Array.from({ length: 1000 }, (_, number) => ask(number, number % 3 === 0 ? 1 : times)),
    );
    assert.deepEqual(at.warnings, []);
    for (const [number, { level, text }] of answers.entries()) {
      assert.equal(level, number % 3 === 0 ? "continue" : odd);
      if (level !== "halt") assert.ok(text.includes(`"${number}"`) || text.replaceAll(/\D/g, "").includes(`${number}`));
    }
  }
  assert.deepEqual(at.warnings, []);
  assert.equal(at.proxy.metrics().judged, 3000);
});

test("a connection outlives the pauses in which an agent's tools run", async () => {
  await using at = await stand(stuck);
  const body = JSON.stringify({ messages: conversation(1) });
  const answer = await fetch(`${at.base}/v1/chat/completions`, { method: "POST", body });
  await answer.text();
  // Clients keep idle connections for up to 90 seconds; the one that closes first must not be the server.
  assert.equal(answer.headers.get("keep-alive"), "timeout=120");
});

test("a cache in memory keeps to its bytes", () => {
  const cache = new MemoryCache(100_000);
  for (let key = 0; key < 10_000; key++) {
    cache.set(`${key}`, new Uint8Array(1000));
    assert.ok(cache.bytes <= 100_000);
    cache.get("9");
  }
  assert.ok(cache.get("9"), "what is used stays");
  assert.equal(cache.get("500"), undefined);
  cache.set("9", new Uint8Array(10));
  cache.delete("9");
  assert.equal(cache.get("9"), undefined);
  assert.ok(cache.bytes > 50_000);
});
