// The command, as somebody runs it.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createServer, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { cases, upstream } from "./support/proxy-cases.ts";
import { run } from "./support/run.ts";

const cli = join(fileURLToPath(new URL("..", import.meta.url)), "dist/cli.js");

/** Starts the command and tells what it prints. */
async function started(...args: string[]): Promise<{ child: ChildProcess; out: () => string; base: string }> {
  const child = spawn(process.execPath, [cli, "proxy", "--port", "0", "--no-config", ...args], {
    env: { ...process.env, NO_COLOR: "1" },
  });
  let out = "";
  const began = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      const base = /http:\/\/127\.0\.0\.1:\d+/.exec(out)?.[0];
      if (base !== undefined) resolve(base);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.on("close", () => reject(new Error(out)));
  });
  return { child, out: () => out, base: await began };
}

const ended = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => child.on("close", (code) => resolve(code)));

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
}

let model: Awaited<ReturnType<typeof upstream>>;
let command: Awaited<ReturnType<typeof started>>;
before(async () => {
  model = await upstream();
  command = await started("--upstream", model.url);
});
after(async () => {
  command.child.kill();
  await model[Symbol.asyncDispose]();
});

cases("the command", () => ({ base: command.base, asked: model.asked }));

test("it tells what it found, and at the end what it did", async () => {
  const done = ended(command.child);
  command.child.kill("SIGINT");
  assert.equal(await done, 0);
  const out = command.out();
  assert.match(out, /^nudge [a-z-]+: .*\(openai-chat m, 7 messages, told to the model\)$/m);
  assert.match(out, /^halt [a-z-]+: .*answered in the model's stead, about \d+ tokens saved\)$/m);
  assert.match(out, /^halt stream-period: .*cut while it streamed, about \d+ tokens saved\)$/m);
  assert.match(out, /^\d+ requests, \d+ judged: \d+ with guidance, 1 answered here, 1 cut; about \d+ tokens saved$/m);
  assert.doesNotMatch(out, /sk-test/);
});

test("with --json it tells programs, and with --observe it changes nothing", async () => {
  const own = await started("--upstream", model.url, "--json", "--observe");
  const call = { id: "c", type: "function", function: { name: "read_file", arguments: "{}" } };
  const turn = [
    { role: "assistant", tool_calls: [call] },
    { role: "tool", tool_call_id: "c", content: "Error: none" },
  ];
  const body = JSON.stringify({
    messages: [{ role: "user", content: "Go." }, ...Array.from({ length: 12 }, () => turn).flat()],
  });
  const answer = await fetch(`${own.base}/v1/chat/completions`, { method: "POST", body });
  assert.equal(answer.headers.get("loopwarden-level"), "halt");
  assert.equal(model.asked.at(-1)?.body.toString(), body);
  const done = ended(own.child);
  own.child.kill("SIGTERM");
  assert.equal(await done, 0);
  const [first, second, last] = own
    .out()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(first.upstream, model.url);
  assert.deepEqual([second.action, second.verdict.level, second.messages], ["none", "halt", 25]);
  assert.deepEqual([last.judged, last.answered], [1, 0]);
});

test("a request that has begun is answered after the signal to stop, and new ones are refused", async () => {
  const begun: ServerResponse[] = [];
  const slow = createServer((_, response) => {
    response.write("begun, ");
    begun.push(response);
  });
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
  const own = await started("--upstream", `http://127.0.0.1:${(slow.address() as AddressInfo).port}`);
  const answer = await fetch(`${own.base}/v1/models`);
  const done = ended(own.child);
  own.child.kill("SIGTERM");
  await until(() =>
    fetch(`${own.base}/v1/models`).then(
      () => false,
      () => true,
    ),
  );
  for (const response of begun) response.end("ended");
  assert.equal(await answer.text(), "begun, ended");
  assert.equal(await done, 0);
  slow.close();
});

test("what it does not pass on is answered with a reason", async () => {
  const own = await started("--upstream", model.url);
  const asked = (headers: Record<string, string>) =>
    new Promise<[number | undefined, string]>((resolve, reject) => {
      request(`${own.base}/v1/realtime`, { headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
        });
        response.on("end", () => resolve([response.statusCode, text]));
      })
        .on("error", reject)
        .end();
    });
  const [socket, why] = await asked({ connection: "upgrade", upgrade: "websocket" });
  assert.deepEqual([socket, /WebSockets are not passed on: use HTTP/.test(why)], [501, true]);
  const [foreign, who] = await asked({ host: "evil.example" });
  assert.equal(foreign, 421);
  assert.equal(
    who,
    "evil.example is no name of this machine: use 127.0.0.1, localhost or *.internal, or another --host\n",
  );
  own.child.kill();
});

test("an upstream that cannot be reached is told as that: nothing was passed on", async () => {
  const own = await started("--upstream", "http://127.0.0.1:9");
  const body = JSON.stringify({ messages: [{ role: "user", content: "Go." }] });
  assert.equal((await fetch(`${own.base}/v1/chat/completions`, { method: "POST", body })).status, 502);
  const done = ended(own.child);
  own.child.kill("SIGINT");
  await done;
  assert.match(own.out(), /cannot reach 127\.0\.0\.1:9: /);
  assert.doesNotMatch(own.out(), /passes on/);
});

test("wrong usage is 2, a port that is taken 1", async () => {
  const told = (...args: string[]) => run(process.execPath, [cli, "proxy", "--no-config", ...args]);
  for (const [args, words] of [
    [[], /where to\? For example --upstream https:\/\/api\.openai\.com/],
    [["--upstream", "api.openai.com"], /expected an address that begins with https/],
    [["--upstream", "https://a.test", "--port", "99999"], /expected 0 to 65535/],
    [["--upstream", "https://a.test", "--obsrve"], /unknown option --obsrve, did you mean --observe/],
    [["--upstream", "https://a.test", "--prompts", "robot"], /--prompts robot: expected one of human, host$/m],
    [["--upstream", "https://a.test", "--prompts", "hots"], /--prompts hots: .*, host; did you mean host\?/],
    [["--upstream", "https://a.test", "--max-body", "x"], /expected 0 to 512/],
    [["--upstream", "https://a.test", "more"], /expected options only/],
  ] as const) {
    const { code, stderr } = await told(...args);
    assert.deepEqual([code, words.test(stderr)], [2, true], stderr);
  }
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const taken = await told("--upstream", "https://a.test", "--port", `${port}`);
  server.close();
  assert.equal(taken.code, 1);
  assert.match(taken.stderr, /cannot listen on 127\.0\.0\.1:\d+: something is already listening there; --port 0 takes/);
  const key = await told("--upstream", "https://user:sk-key@a.test");
  assert.equal(key.code, 1);
  assert.doesNotMatch(key.stderr, /sk-key/);
});
