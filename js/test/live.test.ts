import assert from "node:assert/strict";
import { appendFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Background } from "./support/background.ts";
import { Log } from "./support/claude-log.ts";
import { run } from "./support/run.ts";

const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "loopwarden-live-"));
});
after(() => rm(folder, { recursive: true }));

async function serving(file: string, ...more: string[]): Promise<{ server: Background; url: URL }> {
  const server = new Background(process.execPath, [cli, "view", file, "--live", "--json", ...more], { cwd: folder });
  await server.until(/\n/);
  return { server, url: new URL(JSON.parse(server.stdout).url) };
}

interface Answer {
  status: number | undefined;
  headers: IncomingMessage["headers"];
  body: string;
}

/** Asks, and hears no longer than until `enough` is in the answer. */
function ask(url: URL, headers: Record<string, string> = {}, method = "GET", enough?: RegExp): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers, method, timeout: 20_000 }, (response) => {
      let body = "";
      const done = () => resolve({ status: response.statusCode, headers: response.headers, body });
      response.setEncoding("utf8").on("data", (text) => {
        body += text;
        if (!enough?.test(body)) return;
        done();
        asked.destroy();
      });
      response.on("end", done);
      response.on("error", () => {});
    });
    asked.on("error", reject);
    asked.on("timeout", () => reject(new Error(`${enough} never came`)));
    asked.end();
  });
}

/** The news in a stream. */
const news = (body: string) => [...body.matchAll(/^data: (\{"name".*)$/gm)].map(([, json]) => JSON.parse(json ?? ""));

test("the page is for who knows the address, on this machine, under its own name", async () => {
  const log = new Log();
  await writeFile(join(folder, "a.jsonl"), log.prompt("go"));
  const { server, url } = await serving("a.jsonl");
  await using _ = server;
  assert.equal(url.hostname, "127.0.0.1");
  assert.match(url.pathname, /^\/[\w-]{32}\/$/);
  const page = await ask(url);
  assert.equal(page.status, 200);
  assert.match(page.body, /default-src 'none'; connect-src 'self';/);
  assert.match(page.body, /<script type="application\/json" id="trace">\{"live":"events"\}</);
  assert.equal(page.headers["cache-control"], "no-store");
  assert.equal(page.headers["content-security-policy"], "frame-ancestors 'none'");
  assert.equal((await ask(url, {}, "HEAD")).body, "");
  assert.equal((await ask(url, {}, "POST")).status, 405);
  const token = url.pathname.slice(1, -1);
  for (const path of [
    "/",
    "/events",
    `/${token}`,
    `/${token}x/`,
    `/${token.slice(1)}/`,
    `/${token}/x`,
    `/${token}/events/x`,
  ]) {
    const { status, body } = await ask(new URL(path, url));
    assert.equal(status, 404, path);
    assert.ok(!body.includes(token));
  }
  for (const host of ["evil.example", `evil.example:${url.port}`, "127.0.0.1.evil.example", "0.0.0.0"])
    assert.equal((await ask(url, { host })).status, 421, host);
  for (const host of ["localhost", `localhost:${url.port}`, "127.0.0.1:9"])
    assert.equal((await ask(url, { host })).status, 200, host);
  const events = new URL("events", url);
  assert.equal((await ask(events, { "sec-fetch-site": "cross-site" })).status, 404);
  assert.equal((await ask(events, { "sec-fetch-site": "same-origin" }, "GET", /data:/)).status, 200);
  for (const { address, internal, family } of Object.values(networkInterfaces()).flatMap((one) => one ?? [])) {
    if (internal || family !== "IPv4") continue;
    await assert.rejects(ask(new URL(url.href.replace("127.0.0.1", address))), { code: "ECONNREFUSED" }, address);
  }
  assert.equal(await server.stop(), 0);
  await assert.rejects(ask(url), { code: "ECONNREFUSED" });
});

test("what is new comes as it is written, and what was rewritten from where it differs", async () => {
  const log = new Log();
  const file = join(folder, "b.jsonl");
  const begin = log.prompt("go");
  await writeFile(file, begin);
  const { server, url } = await serving("b.jsonl");
  await using _ = server;
  const first = log.step("Read", { path: "a" }, "a", false);
  const heard = ask(new URL("events", url), {}, "GET", /event: end/);
  const until = async (enough: RegExp) => ask(new URL("events", url), {}, "GET", enough);
  await until(/"from":0/);
  await appendFile(file, first);
  await until(/"path":"a"/);
  await appendFile(file, log.step("Read", { path: "b\u2028" }, "b", false).slice(0, -1));
  await until(/b\\u2028/);
  await writeFile(file, begin + first + new Log(log.session, 50).step("Read", { path: "c" }, "c", false));
  await until(/"path":"c"/);
  await server.stop();
  const told = news((await heard).body);
  const froms = told.map(({ from }) => from);
  assert.deepEqual([froms[0], froms.at(-1)], [0, 3]);
  let events: { type: string; args?: { path: string } }[] = [];
  for (const { from, events: more } of told) events = [...events.slice(0, from), ...more];
  assert.deepEqual(
    events.flatMap(({ args }) => (args ? [args.path] : [])),
    ["a", "c"],
  );
});

test("wrong usage", async () => {
  for (const args of [
    ["a.jsonl", "--live", "-o", "x.html"],
    ["a.jsonl", "--live", "--strict"],
    ["-", "--live"],
    ["a.jsonl", "--port", "80"],
    ["a.jsonl", "--live", "--port", "many"],
    ["a.jsonl", "--live", "--port", "70000"],
  ]) {
    const { code, stderr } = await run(process.execPath, [cli, "view", ...args], { cwd: folder });
    assert.equal(code, 2, `${args.join(" ")}: ${stderr}`);
  }
});

test("a port that is taken is an error in words", async () => {
  const { server, url } = await serving("a.jsonl");
  await using _ = server;
  const { code, stderr } = await run(process.execPath, [cli, "view", "a.jsonl", "--live", "--port", url.port], {
    cwd: folder,
  });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /cannot listen on 127\.0\.0\.1:\d+: .*already listening there.*; without --port it takes a free one/,
  );
  // Of a folder, the newest log.
  const { server: own, url: there } = await serving(".");
  await using _own = own;
  assert.equal((await ask(new URL("events", there), {}, "GET", /"name":/)).status, 200);
  await own.until(/serves .*\.jsonl to this machine only/, "stderr");
  await mkdir(join(folder, "bare"));
  const bare = await run(process.execPath, [cli, "view", "bare", "--live"], { cwd: folder });
  assert.equal(bare.code, 1);
  assert.match(bare.stderr, /bare: is a folder without a log/);
  assert.doesNotMatch(stderr, /should not happen/);
});
