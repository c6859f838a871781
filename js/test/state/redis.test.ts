import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createClient } from "redis";
import { type AgentEvent as Event, LoopDetector, type Verdict } from "../../dist/index.js";
import { RedisSessions, story } from "../../examples/state/redis.ts";

const example = fileURLToPath(new URL("../../examples/state/redis.ts", import.meta.url));
let server: ChildProcess;
let folder: string;
let url: string;

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  await new Promise((resolve) => listener.close(resolve));
  assert.ok(address !== null && typeof address === "object");
  return address.port;
}

before(async () => {
  const port = await freePort();
  folder = await mkdtemp(join(tmpdir(), "loopwarden-redis-"));
  url = `redis://127.0.0.1:${port}`;
  const program = process.env["REDIS_SERVER"] || "redis-server";
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
  server = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  assert.ok(server.stdout);
  for await (const line of createInterface(server.stdout)) if (line.includes("Ready to accept connections")) break;
});

after(async () => {
  server.kill();
  await rm(folder, { recursive: true });
});

const pair = (n: number): [Event, Event] => [
  { type: "tool-call", tool: "tide_table", args: { port: "Bergen" }, callId: `c${n}` },
  { type: "tool-result", callId: `c${n}`, outcome: "ok", output: "high water 04:10 and 16:32" },
];

const use = async <T>(then: (sessions: RedisSessions) => Promise<T>): Promise<T> => {
  const sessions = await new RedisSessions(url).connect();
  try {
    return await then(sessions);
  } finally {
    sessions.close();
  }
};

test("verdicts are those of one detector that never left its process", async () => {
  const alone = new LoopDetector();
  await use(async (sessions) => {
    for (const event of [0, 1, 2, 3].flatMap(pair)) {
      assert.deepEqual(await sessions.record("same", event), alone.record(event));
    }
  });
});

test("sessions do not see one another, and a process that dies takes nothing with it", async () => {
  for (const event of [0, 1].flatMap(pair)) await use((sessions) => sessions.record("left", event));
  for (const event of pair(2)) {
    const [left, right] = await use((s) => Promise.all([s.record("left", event), s.record("right", event)]));
    assert.equal(right.level, "continue");
    if (event.type === "tool-result") assert.equal(left.level, "nudge");
  }
});

test("events that arrive at once in several processes are all counted, one after the other", async () => {
  const count = 12;
  const script = `
    import { RedisSessions } from ${JSON.stringify(example)};
    const sessions = await new RedisSessions(${JSON.stringify(url)}).connect();
    const seqs = [];
    for (let n = 0; n < ${count}; n++) {
      seqs.push((await sessions.record("busy", { type: "custom", name: "tick", key: process.pid + "-" + n })).seq);
    }
    sessions.close();
    console.log(JSON.stringify(seqs));
  `;
  const processes = Array.from({ length: 3 }, async () => {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    const [code] = await once(child, "close");
    assert.equal(code, 0);
    return JSON.parse(output) as number[];
  });
  const seqs = (await Promise.all(processes)).flat().sort((a, b) => a - b);
  assert.deepEqual(
    seqs,
    Array.from({ length: 3 * count }, (_, n) => n),
  );
});

test("a snapshot of another version, or a damaged one, starts the session over", async (t) => {
  const complaints: string[] = [];
  t.mock.method(console, "error", (line: string) => complaints.push(line));
  const client = await createClient({ url }).connect();
  try {
    await client.hSet("loopwarden:old", { version: "7", snapshot: "not a snapshot" });
    const verdict: Verdict = await use((sessions) => sessions.record("old", pair(0)[0]));
    assert.equal(verdict.seq, 0);
    assert.equal(await client.hGet("loopwarden:old", "version"), "8");
    assert.match(complaints.join(), /session old starts over/);
    assert.ok((await client.ttl("loopwarden:old")) > 0);
  } finally {
    client.destroy();
  }
});

test("a refused event changes nothing", async () => {
  await use(async (sessions) => {
    await sessions.record("strict", pair(0)[0]);
    await assert.rejects(sessions.record("strict", { type: "tool-call" } as unknown as Event), /tool/);
    assert.equal((await sessions.record("strict", pair(0)[1])).seq, 1);
  });
});

test("the story of the example", async () => {
  assert.match((await story(url))[0] ?? "", /^process 2: nudge: `read_file` was called 3 times/);
});
