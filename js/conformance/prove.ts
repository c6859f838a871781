// node conformance/prove.ts node|chromium|workerd|jco < events.jsonl
//
// What a door in JavaScript comes to that is told the events on standard input: the digests that `cargo xtask prove`
// compares with those of the native library, and on standard error what it took.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { openTab } from "../test/support/browser.ts";
import { run } from "../test/support/run.ts";
import { serve } from "../test/support/worker.ts";
import { CHUNK, objectDoor, type Told, tell } from "./blocks.ts";
import { componentDoor, type Detection } from "./component.ts";

/** Tells a door events, going on from where it was; what it tells of itself at the end. */
interface Leg extends AsyncDisposable {
  tell(events: string[]): Promise<Pick<Told, "digests" | "spent">>;
  about(): Promise<string>;
}

const js: string = fileURLToPath(new URL("..", import.meta.url));

/** A leg in this process. */
function here(door: Parameters<typeof tell>[0], end: () => Promise<void> = async () => {}): Leg {
  let snapshot: Uint8Array | undefined;
  return {
    tell: async (events) => {
      const told = await tell(door, events, snapshot);
      snapshot = told.snapshot;
      return told;
    },
    about: async () => `${Math.round(process.memoryUsage.rss() / 1024)} KB of the process`,
    [Symbol.asyncDispose]: end,
  };
}

async function node(): Promise<Leg> {
  const { LoopDetector } = await import("../dist/index.js");
  return here(objectDoor(LoopDetector));
}

async function jco(): Promise<Leg> {
  const component = process.env["LOOPWARDEN_COMPONENT"];
  if (!component) throw new Error("LOOPWARDEN_COMPONENT is not set: `cargo xtask prove` sets it");
  const folder = await mkdtemp(join(tmpdir(), "loopwarden-prove-"));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  const args = ["transpile", component, "-o", folder, "--name", "detector", "--no-wasi-shim"];
  const { code, stdout, stderr } = await run(process.execPath, [join(js, "scripts/tool.mjs"), "jco", ...args]);
  if (code !== 0) throw new Error(stdout + stderr);
  const module: { detection: Detection } = await import(pathToFileURL(join(folder, "detector.js")).href);
  const schema = JSON.parse(await readFile(join(js, "schema/event.schema.json"), "utf8"));
  return here(componentDoor(module.detection, schema), () => rm(folder, { recursive: true }));
}

async function chromium(): Promise<Leg> {
  const tab = await openTab(js);
  await tab.page.evaluate(async () => {
    // The page resolves these, not Node: they are the URLs of its own server.
    const [loopwarden, blocks] = ["/dist/index.js", "/conformance/blocks.ts"];
    const { LoopDetector } = await import(loopwarden as string);
    const { objectDoor, tell } = await import(blocks as string);
    let snapshot: Uint8Array | undefined;
    Object.assign(globalThis, {
      told: async (events: string[]) => {
        const told: Told = await tell(objectDoor(LoopDetector), events, snapshot);
        snapshot = told.snapshot;
        return { digests: told.digests, spent: told.spent };
      },
    });
  });
  return {
    tell: (events) =>
      tab.page.evaluate((events) => (globalThis as unknown as { told: Leg["tell"] }).told(events), events),
    about: async () => {
      const { usedSize } = await (await tab.page.context().newCDPSession(tab.page)).send("Runtime.getHeapUsage");
      return `${Math.round(usedSize / 1024)} KB of the page's heap, Chromium ${tab.page.context().browser()?.version()}`;
    },
    [Symbol.asyncDispose]: () => tab[Symbol.asyncDispose](),
  };
}

/** Every 10,000 events are a request of their own, which brings the snapshot: what a worker without memory would do. */
async function workerd(): Promise<Leg> {
  const worker = await serve(`
    import { LoopDetector } from "loopwarden";
    import { objectDoor, tell } from ${JSON.stringify(join(js, "conformance/blocks.ts"))};
    export default {
      async fetch(request) {
        const { events, snapshot } = await request.json();
        const told = await tell(objectDoor(LoopDetector), events, snapshot && Uint8Array.fromBase64(snapshot));
        return Response.json({ ...told, snapshot: told.snapshot.toBase64() });
      },
    };
  `);
  let snapshot: string | undefined;
  return {
    tell: async (events) => {
      const begun = performance.now();
      const response = await worker.fetch({ method: "POST", body: JSON.stringify({ events, snapshot }) });
      const text = await response.text();
      if (response.status !== 200) throw new Error(text);
      const told = JSON.parse(text);
      snapshot = told.snapshot;
      // Its clock stands still between two answers: what is told is the whole request.
      return { digests: told.digests, spent: performance.now() - begun };
    },
    about: async () => "requests and all",
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  };
}

const LEGS: Record<string, () => Promise<Leg>> = { node, chromium, workerd, jco };

const make = LEGS[process.argv[2] ?? ""];
if (!make) {
  console.error(`usage: prove ${Object.keys(LEGS).join("|")} < EVENTS`);
  process.exit(2);
}
await using leg = await make();
let [events, spent]: [number, number] = [0, 0];
const told = async (lines: string[]) => {
  const { digests, spent: milliseconds } = await leg.tell(lines);
  console.log(digests.join("\n"));
  events += lines.length;
  spent += milliseconds;
};
let lines: string[] = [];
for await (const line of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
  lines.push(line);
  if (lines.length === CHUNK) {
    await told(lines);
    lines = [];
  }
}
if (lines.length > 0) await told(lines);
console.error(`${Math.round((spent * 1e6) / Math.max(events, 1))} ns an event, ${await leg.about()}`);
