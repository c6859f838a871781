// Attacks on the proxy: malformed requests, clients that never finish, pages of other origins, tenants that try to
// reach each other's conversations.
import assert from "node:assert/strict";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { test } from "node:test";
import { createLoopProxy, type LoopProxyOptions, MemoryCache, type ProxyCache } from "loopwarden/proxy";
import { type Grants, served } from "../../src/cli/proxy/bridge.ts";
import { upstream } from "../../src/cli/proxy/upstream.ts";
import { Prefixes } from "../../src/proxy/prefix.ts";

/** A listening proxy. */
interface Front extends AsyncDisposable {
  port: number;
  /** The errors reported by the server. */
  failed: string[];
}

interface Stand extends Front {
  /** Writes to the proxy, and returns the response once the connection is closed. */
  raw(text: string): Promise<string>;
  /** The data sent to upstream, one text per connection. */
  sent: string[];
}

/** A proxy in front of any server; disposing it closes both, including open connections. */
async function before(model: Server, grants: Partial<Grants> = {}): Promise<Front> {
  const sockets = new Set<Socket>();
  model.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
  const client = upstream();
  const proxy = createLoopProxy({
    upstream: `http://127.0.0.1:${(model.address() as AddressInfo).port}`,
    fetch: client.fetch,
    packed: true,
    onWarning: () => {},
  });
  const failed: string[] = [];
  const server = served(proxy, (error) => failed.push(String(error)), grants);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    failed,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      client.close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => model.close(resolve));
    },
  };
}

/** A proxy in front of a server that gives every request the same answer. */
async function stand(
  grants: Partial<Grants> = {},
  answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
): Promise<Stand> {
  const sent: string[] = [];
  const model = createServer((socket) => {
    const place = sent.push("") - 1;
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      sent[place] += chunk.toString("latin1");
      if (/\r\n\r\n/.test(chunk.toString("latin1"))) socket.write(answer);
    });
  });
  const front = await before(model, grants);
  return {
    ...front,
    sent,
    raw: (text) =>
      new Promise((resolve) => {
        let got = "";
        const socket = connect(front.port, "127.0.0.1", () => socket.write(text));
        socket.on("data", (chunk) => {
          got += chunk;
        });
        socket.on("error", () => {});
        socket.on("close", () => resolve(got));
      }),
  };
}

const head = (line: string, ...headers: string[]): string =>
  `${[`${line} HTTP/1.1`, "host: localhost", ...headers].join("\r\n")}\r\n\r\n`;
const status = (answer: string): string =>
  /^HTTP\/1\.1 (\d+)/.exec(answer.replace(/^HTTP\/1\.1 100.*?\r\n\r\n/s, ""))?.[1] ?? "";

test("no request is taken for the body of another", async () => {
  await using at = await stand();
  // The length of a body that is not passed on would swallow the beginning of the next request on the connection.
  const before = `${head("GET /v1/models", "content-length: 20")}GET /stolen HTTP/1.1`;
  await at.raw(before + head("GET /v1/next", "connection: close"));
  const all = at.sent.join("");
  assert.deepEqual(
    [...all.matchAll(/^(\w+) (\S+) HTTP/gm)].map(([, ...line]) => line.join(" ")),
    ["GET /v1/models", "GET /v1/next"],
  );
  assert.doesNotMatch(all, /content-length|stolen/i);
  for (const [line, ...headers] of [
    ["POST /v1/e", "content-length: 5", "content-length: 6"],
    ["POST /v1/e", "content-length: 5", "transfer-encoding: chunked"],
    ["POST /v1/e", "transfer-encoding: chunked, identity"],
    ["POST /v1/e", "content-length: +5"],
    ["POST /v1/e", "x: a\rb: c"],
  ] as const)
    assert.equal(status(await at.raw(`${head(line, ...headers)}0\r\n\r\nX`)), "400", headers.join(" "));
  assert.equal(at.sent.join(""), all, "none of them reaches upstream");
});

test("what belongs to one connection stays there, whoever names it", async () => {
  await using at = await stand();
  const own = [
    "te: trailers",
    "upgrade: h2c",
    "http2-settings: AAA",
    "keep-alive: 5",
    "x-own: 1",
    "expect: 100-continue",
  ];
  await at.raw(
    `${head("POST /v1/e", "connection: close, x-own, http2-settings, content-length", ...own, "content-length: 5")}hello`,
  );
  const all = at.sent.join("").toLowerCase();
  assert.doesNotMatch(all, /^(?:te|upgrade|http2-settings|keep-alive|x-own|expect):/m);
  assert.match(all, /\r\n5\r\nhello\r\n0\r\n\r\n$/);
});

test("an address that names a server is asked of upstream, with what follows its path", async () => {
  await using at = await stand();
  await at.raw(head("GET http://elsewhere.test/v1/models?alt=sse", "connection: close"));
  await at.raw(head("GET //elsewhere.test/v1?x=1", "connection: close"));
  assert.deepEqual(
    [...at.sent.join("").matchAll(/^GET (\S+)/gm)].map(([, path]) => path),
    ["/v1/models?alt=sse", "//elsewhere.test/v1?x=1"],
  );
  assert.doesNotMatch(at.sent.join(""), /host: elsewhere/i);
  for (const [line, expected] of [
    ["GET http://[", "400"],
    ["GET file:///etc/passwd", "400"],
    ["OPTIONS *", "400"],
    ["TRACE /", "501"],
    ["CONNECT elsewhere.test:443", ""],
  ] as const)
    assert.equal(status(await at.raw(head(line, "connection: close"))), expected, line);
  assert.deepEqual(at.failed, [], "a request that is none is no news");
});

test("a page whose name leads to this machine is not let in", async () => {
  await using at = await stand({ host: "127.0.0.1" });
  const asked = async (host: string) =>
    status(await at.raw(`POST /v1/e HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}`));
  for (const host of ["evil.test", "evil.test:8787", "127.0.0.1.evil.test", "localhost.evil.test", "notlocalhost", ""])
    assert.equal(await asked(host), "421", host);
  assert.deepEqual(at.sent, []);
  for (const host of [
    "localhost",
    "LOCALHOST:1",
    "127.0.0.1:8787",
    "[::1]:8787",
    "a.localhost",
    "host.docker.internal:1",
  ])
    assert.equal(await asked(host), "200", host);
});

test("who never finishes a request is not waited for, and others are served meanwhile", async () => {
  await using at = await stand({ head: 40, pause: 40 });
  const late = await Promise.all([
    at.raw("POST /v1/e HTTP/1.1\r\nhost: localhost\r\n"),
    at.raw(`${head("POST /v1/chat/completions", "content-length: 100")}{`),
    at.raw(`${head("POST /v1/chat/completions", "transfer-encoding: chunked")}5\r\n{`),
    at.raw(`${head("POST /v1/embeddings", "content-length: 100", "connection: close")}{`),
    ...Array.from({ length: 50 }, () => at.raw(`${head("POST /v1/messages", "content-length: 9")}{`)),
  ]);
  assert.deepEqual(late.slice(0, 3).map(status), ["408", "408", "408"]);
  const answer = await at.raw(head("GET /v1/models", "connection: close"));
  assert.equal(status(answer), "200");
  assert.deepEqual(at.failed, []);
});

test("only so many are connected at once", async () => {
  await using at = await stand({ connections: 2 });
  const holding = [1, 2].map(() => connect(at.port, "127.0.0.1"));
  await Promise.all(holding.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
  // A connection that was answered is counted.
  for (const socket of holding) {
    socket.write(head("GET /v1/models"));
    await new Promise((resolve) => socket.once("data", resolve));
  }
  assert.equal(await at.raw(head("GET /v1/models", "connection: close")), "");
  for (const socket of holding) socket.destroy();
});

test("a server that speaks no HTTP of ours is unreachable, in words", async () => {
  for (const line of [
    "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x",
    "HTTP/1.1 999 No\r\ncontent-length: 0",
    "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2",
    "hello",
  ]) {
    await using at = await stand({}, `${line}\r\n\r\n`);
    for (const ask of [
      head("GET /v1/models", "connection: close"),
      `${head("POST /v1/messages", "connection: close", "content-length: 15")}{"messages":[]}\n`,
    ])
      assert.equal(status(await at.raw(ask)), "502", `${line} ${ask}`);
  }
});

const conversation = (times: number, content = "Error: no such file"): object[] => [
  { role: "user", content: "Fix it." },
  ...Array.from({ length: times }, (_, n) => [
    { role: "assistant", tool_calls: [{ id: `c${n}`, type: "function", function: { name: "read", arguments: "{}" } }] },
    { role: "tool", tool_call_id: `c${n}`, content },
  ]).flat(),
];

function handler(options: Partial<LoopProxyOptions> = {}) {
  const bodies: string[] = [];
  const proxy = createLoopProxy({
    upstream: "http://upstream.test",
    packed: true,
    fetch: async (request) => {
      bodies.push(await request.text());
      return Response.json({ choices: [] });
    },
    onWarning: () => {},
    ...options,
  });
  const post = (body: unknown, key = "one", init: RequestInit = {}) =>
    proxy(
      new Request("http://localhost/v1/chat/completions", {
        method: "POST",
        headers: { authorization: `Bearer ${key}` },
        body: typeof body === "string" || body instanceof ReadableStream ? body : JSON.stringify(body),
        duplex: "half",
        ...init,
      } as RequestInit),
    );
  return { proxy, post, bodies };
}

const level = (answer: Response): string | null => answer.headers.get("loopwarden-level");

test("requests that are held back take so much together, and are given back when their clients have gone", async () => {
  const text = JSON.stringify({ messages: conversation(3) });
  const at = handler({ maxBody: text.length });
  const started = () => {
    let end: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        end = controller;
        controller.enqueue(new TextEncoder().encode(text));
      },
    });
    return { answer: at.post(body), end: () => end?.close(), fail: () => end?.error(new Error("gone")) };
  };
  const held = Array.from({ length: 8 }, started);
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(level(await at.post(text)), null, "no room: passed on unread");
  assert.equal(at.bodies.at(-1), text);
  for (const one of held.slice(0, 4)) one.fail();
  for (const one of held.slice(4)) one.end();
  const ended = await Promise.allSettled(held.map(({ answer }) => answer));
  assert.deepEqual(ended.map(({ status }) => status).sort(), [
    ...Array(4).fill("fulfilled"),
    ...Array(4).fill("rejected"),
  ]);
  assert.equal(level(await at.post(text)), "nudge");
});

test("what one tenant sends is not taken for what another's conversation has come to", async () => {
  const keys = new Map<string, Set<string>>();
  const store = new MemoryCache();
  let now = "";
  const note = (key: string) => keys.set(now, (keys.get(now) ?? new Set()).add(key));
  const cache: ProxyCache = {
    get: (key) => {
      note(key);
      return store.get(key);
    },
    set: (key, value) => {
      note(key);
      store.set(key, value);
    },
  };
  const at = handler({ cache });
  for (const key of ["one", "two"]) {
    now = key;
    for (const times of [6, 7, 8]) await at.post({ messages: conversation(times) }, key);
  }
  const [one, two] = [keys.get("one") ?? new Set(), keys.get("two") ?? new Set()];
  assert.ok(one.size >= 4 && two.size === one.size);
  assert.deepEqual(
    [...one].filter((key) => two.has(key)),
    [],
  );
  const bytes = new TextEncoder().encode("x".repeat(5000));
  const prefixes = new Prefixes();
  const mark = { first: 1, end: 4096, messages: 3, recent: [1], digest: [1, 2], before: undefined } as const;
  prefixes.keep(bytes, "one", [{ ...mark, recent: [1] }]);
  assert.equal(prefixes.find(bytes, "one")?.messages, 3);
  assert.equal(prefixes.find(bytes, "two"), undefined);
});

test("no body reaches what objects have in common", async () => {
  const at = handler();
  const poison = '"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}';
  const turn = (n: number) =>
    `{"role":"assistant",${poison},"tool_calls":[{"id":"__proto__","type":"function",${poison},"function":{"name":"__proto__","arguments":"{\\"__proto__\\":{\\"polluted\\":${n}}}"}}]},` +
    `{"role":"tool","tool_call_id":"__proto__",${poison},"content":"Error: none"}`;
  const levels = [];
  for (const times of [1, 3, 6]) {
    const turns = Array.from({ length: times }, () => turn(1)).join(",");
    levels.push(
      level(await at.post(`{${poison},"model":"m","messages":[{"role":"user","content":"x",${poison}},${turns}]}`)),
    );
  }
  assert.deepEqual(levels, ["continue", "nudge", "block"]);
  assert.equal((at.bodies.at(-1)?.match(/"polluted":1/g) ?? []).length, 2 + 2 + 6 * 6);
  const plain: Record<string, unknown> = {};
  assert.equal(plain["polluted"], undefined);
  assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
});

test("an upstream that dies in the middle, or never begins, leaves nothing behind", async () => {
  const model = createHttpServer((request, response) => {
    request.resume();
    if (request.url === "/v1/never") return;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"choices":[]}\n\n', () => response.destroy());
  });
  await using at = await before(model);
  const base = `http://127.0.0.1:${at.port}`;
  const body = JSON.stringify({ stream: true, messages: conversation(1) });
  const answer = await fetch(`${base}/v1/chat/completions`, { method: "POST", body });
  await assert.rejects(answer.text());
  const gone = new AbortController();
  const asking = fetch(`${base}/v1/never`, { method: "POST", body, signal: gone.signal });
  await new Promise<void>((resolve) => model.once("request", (request) => request.once("end", resolve)));
  gone.abort();
  await assert.rejects(asking);
  // It still serves requests.
  await assert.rejects(fetch(`${base}/v1/chat/completions`, { method: "POST", body }).then((again) => again.text()));
  assert.deepEqual(at.failed, []);
});
