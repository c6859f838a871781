import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Miniflare } from "miniflare";
import { type AgentEvent as Event, LoopDetector, type Verdict } from "../../dist/index.js";
import { bundleWorker, miniflare } from "../support/worker.ts";

const example = fileURLToPath(new URL("../../examples/state/worker.ts", import.meta.url));

// The example as it is, and beside it two doors for the test: into the stored state, and out of memory.
const harness = `
  import worker, { AgentSession as Example } from ${JSON.stringify(example)};
  export class AgentSession extends Example {
    store(bytes) { return this.ctx.storage.put("snapshot", bytes); }
    stored() { return this.ctx.storage.get("snapshot"); }
    evict() { this.ctx.abort("evicted by the test"); }
  }
  export default {
    async fetch(request, env) {
      const [, name, door] = new URL(request.url).pathname.split("/");
      const session = env.SESSIONS.getByName(name);
      if (door === "store") await session.store(new Uint8Array(await request.arrayBuffer()));
      else if (door === "stored") return new Response(await session.stored());
      else if (door === "evict") await session.evict().catch(() => {});
      else return worker.fetch(request, env);
      return new Response();
    },
  };
`;

let folder: string;
let code: string;
let runtime: Miniflare;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "loopwarden-objects-"));
  code = await bundleWorker(harness);
  runtime = await start();
});

after(async () => {
  await runtime.dispose();
  await rm(folder, { recursive: true });
});

const start = (): Promise<Miniflare> =>
  miniflare(code, {
    durableObjects: { SESSIONS: { className: "AgentSession", useSQLite: true } },
    durableObjectsPersist: folder,
  });

const ask = (path: string, init?: { method: string; body: string | Uint8Array }) =>
  runtime.dispatchFetch(`http://localhost/${path}`, init as Parameters<Miniflare["dispatchFetch"]>[1]);

async function record(session: string, event: Event): Promise<Verdict> {
  const response = await ask(session, { method: "POST", body: JSON.stringify(event) });
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()) as Verdict;
}

const pair = (n: number): [Event, Event] => [
  { type: "tool-call", tool: "tide_table", args: { port: "Bergen" }, callId: `c${n}` },
  { type: "tool-result", callId: `c${n}`, outcome: "ok", output: "high water 04:10 and 16:32" },
];

test("an object that is evicted between any two events says what one that stayed would have said", async () => {
  const alone = new LoopDetector();
  for (const event of [0, 1, 2, 3, 4].flatMap(pair)) {
    assert.deepEqual(await record("evicted", event), alone.record(event));
    await ask("evicted/evict");
  }
});

test("two sessions at once do not see one another", async () => {
  const sessions = ["left", "right"].map(async (session, index) => {
    const levels: string[] = [];
    for (const event of [0, 1, 2].flatMap((n) => pair(index === 0 ? n : 0))) {
      const own = index === 0 ? event : { ...event, callId: undefined };
      levels.push((await record(session, own as Event)).level);
    }
    return levels;
  });
  const [left, right] = await Promise.all(sessions);
  assert.equal(left?.at(-1), "nudge");
  assert.equal(right?.at(-1), "nudge");
  assert.equal((await record("third", pair(3)[1])).level, "continue");
});

test("events of one session that arrive at once are all counted", async () => {
  const events = Array.from({ length: 20 }, (_, n): Event => ({ type: "custom", name: "tick", key: String(n) }));
  const verdicts = await Promise.all(events.map((event) => record("busy", event)));
  assert.deepEqual(
    verdicts.map(({ seq }) => seq).sort((a, b) => a - b),
    events.map((_, n) => n),
  );
});

test("the state outlives the runtime", async () => {
  for (const event of [0, 1].flatMap(pair)) await record("kept", event);
  await runtime.dispose();
  runtime = await start();
  const [call, result] = pair(2);
  assert.equal((await record("kept", call)).level, "continue");
  assert.equal((await record("kept", result)).level, "nudge");
  assert.match(await (await ask("kept")).text(), /## Loop Detected/);
});

test("a snapshot of another version, or a damaged one, starts the session over", async () => {
  await record("old", pair(0)[0]);
  const snapshot = new Uint8Array(await (await ask("old/stored")).arrayBuffer());
  assert.deepEqual(LoopDetector.restore(snapshot).metrics().events, 1);
  for (const bytes of [otherVersion(snapshot), snapshot.slice(0, 40)]) {
    await ask("old/store", { method: "PUT", body: bytes });
    await ask("old/evict");
    assert.equal((await record("old", pair(0)[0])).seq, 0);
  }
});

test("a refused event is answered and changes nothing", async () => {
  await record("strict", pair(0)[0]);
  const response = await ask("strict", { method: "POST", body: '{"type":"tool-call"}' });
  assert.equal(response.status, 400);
  assert.match(await response.text(), /tool/);
  assert.equal((await record("strict", pair(0)[1])).seq, 1);
});

/** The snapshot as another version of the rules would have written it. */
function otherVersion(snapshot: Uint8Array): Uint8Array {
  const bytes = snapshot.slice();
  for (let at = 0; at < bytes.length; at++) {
    bytes[at] = (snapshot[at] as number) ^ 1;
    try {
      LoopDetector.restore(bytes);
    } catch (error) {
      if ((error as { code?: string }).code === "snapshot-version") return bytes;
    }
    bytes[at] = snapshot[at] as number;
  }
  return assert.fail("no byte of the snapshot tells its version");
}

test("the bundle leaves the module to the runtime", async () => {
  assert.ok((await readFile(new URL("../../dist/core.wasm", import.meta.url))).length > 0);
  assert.match(code, /from "\.\/core\.wasm"/);
});
