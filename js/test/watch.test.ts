import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  appendFile,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { notifier } from "../src/cli/alarm.ts";
import { init } from "../src/core.ts";
import { complete, Live } from "../src/replay/live.ts";
import { tools } from "../src/tools.ts";
import { Background } from "./support/background.ts";
import { Log } from "./support/claude-log.ts";
import { run } from "./support/run.ts";

const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "loopwarden-watch-"));
  init(readFileSync(new URL("../dist/core.wasm", import.meta.url)));
  tools.init(readFileSync(new URL("../dist/tools.wasm", import.meta.url)));
});
after(() => rm(folder, { recursive: true }));

let homes = 0;
/** A machine without sessions. */
async function machine(): Promise<{ home: string; env: NodeJS.ProcessEnv }> {
  const home = join(folder, `home-${homes++}`);
  await mkdir(home);
  const names = ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "OPENHANDS_CONVERSATIONS_DIR"];
  const gone = [...names, "OPENHANDS_PERSISTENCE_DIR", "SWE_AGENT_TRAJECTORY_DIR"].map((name) => [name, undefined]);
  return { home, env: { HOME: home, USERPROFILE: home, ...Object.fromEntries(gone) } };
}

const watch = (args: string[], env?: NodeJS.ProcessEnv): Background =>
  new Background(process.execPath, [cli, "watch", ...args], { cwd: folder, ...(env && { env }) });

const failing = (log: Log): string => log.step("Bash", { command: "npm test" }, "Error: cannot find module 'cart'");
const honest = (log: Log, at: number): string => log.step("Read", { file_path: `part-${at}.ts` }, `part ${at}`, false);

test("the newest session is followed: a line for every step, findings as they happen, and the exit code", async () => {
  const { home, env } = await machine();
  const log = new Log();
  const session = join(home, ".claude/projects/-home-me-shop/one.jsonl");
  await mkdir(dirname(session), { recursive: true });
  await writeFile(session, log.prompt("mend the tests") + honest(log, 0));
  await using watching = watch([], env);
  await watching.until(/one\.jsonl · claude-code · 2 steps before: nothing found/);
  await watching.until(/following Claude Code, .*one\.jsonl/, "stderr");
  for (let step = 0; step < 2; step++) await appendFile(session, failing(log));
  await watching.until(/(Bash\(command: npm test\) → error: Error: cannot find module 'cart'[\s\S]*){2}/);
  assert.doesNotMatch(watching.stdout, /nudge/);
  await appendFile(session, failing(log));
  await watching.until(/nudge {2}repeated-call: .* 3 times/);
  await watching.until(/a guarded agent would be told:\n {4}│ Loopwarden/);
  assert.equal(await watching.stop(), 3);
  assert.match(watching.stdout, /one\.jsonl: 5 steps, \d findings, nudge at most\n$/);
});

test("a file of plain words is told of, with the formats that are read", async () => {
  const file = join(folder, "words.txt");
  await writeFile(file, "make: entering folder\nmake: nothing to be done\n");
  await using watching = watch([file]);
  await watching.until(
    /words\.txt: holds no event that can be read so far\. Supported formats: .*claude-code/,
    "stderr",
  );
  assert.equal(await watching.stop(), 1);
  // Half a document may still be written: that it was none is known at the end.
  await writeFile(file, "make [1]: {");
  await using idling = watch([file, "--idle", "1"]);
  assert.equal(await idling.ended, 1);
  assert.equal(idling.stderr.match(/holds no event that can be read so far/g)?.length, 1);
});

test("an honest session ends with 0, and idling ends the watch", async () => {
  const log = new Log();
  const file = join(folder, "honest.jsonl");
  await writeFile(file, log.prompt("look around"));
  await using watching = watch([file, "--idle", "1.5"]);
  await watching.until(/honest\.jsonl · /);
  for (let step = 0; step < 5; step++) await appendFile(file, honest(log, step));
  await watching.until(/part-4\.ts/);
  assert.equal(await watching.ended, 0);
});

test("a loop that was going on before is counted, and told again when it goes on", async () => {
  const log = new Log();
  const file = join(folder, "before.jsonl");
  await writeFile(file, log.prompt("mend it") + failing(log) + failing(log) + failing(log));
  await using watching = watch([file, "--first"]);
  await watching.until(/4 steps before: 2 findings\n {2}the latest, 0 events ago: nudge {2}repeated-call/);
  await appendFile(file, failing(log) + failing(log));
  assert.equal(await watching.ended, 3);
  assert.match(watching.stdout, /block {2}repeated-call: .* 5 times/);
});

test("lines that are cut anywhere, also inside a character, are read once they are whole", async () => {
  const log = new Log();
  const file = join(folder, "cut.jsonl");
  await writeFile(file, log.prompt("los geht's"));
  await using watching = watch([file, "--json"]);
  await watching.until(/following/, "stderr");
  await new Promise((resolve) => setTimeout(resolve, 600));
  const bytes = Buffer.from(log.step("Bash", { command: "grüße 🙂" }, "Fehler: ungültig 🙂🙂"));
  const cuts = [...bytes.keys()].filter((at) => (bytes[at] ?? 0) >= 0xf0).map((at) => at + 2);
  for (const [index, cut] of [...cuts, bytes.length].entries()) {
    await appendFile(file, bytes.subarray(cuts[index - 1] ?? 0, cut));
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  await watching.until(/"event":"tool-result"/);
  assert.equal(await watching.stop("SIGTERM"), 0);
  const records = watching.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    records.map(({ event, tool, line, level }) => [event, tool, line, level]),
    [
      ["tool-call", "Bash", 2, "continue"],
      ["tool-result", "Bash", 3, "continue"],
    ],
  );
  assert.equal(records[1].verdict.seq, 2);
  assert.doesNotMatch(watching.stderr, /invalid|cannot/);
});

test("truncation, rotation and a file that goes and comes back", async () => {
  const file = join(folder, "rotated.jsonl");
  let log = new Log();
  await writeFile(file, log.prompt("one") + failing(log) + failing(log));
  await using watching = watch([file, "--from-start"]);
  await watching.until(/(npm test[\s\S]*){2}/);
  // Cut off and begun anew: the two failures before are another session's.
  log = new Log("99999999-2222-4333-8444-555555555555");
  await truncate(file, 0);
  await appendFile(file, log.prompt("two") + failing(log) + failing(log));
  await watching.until(/started again/, "stderr");
  await watching.until(/user: two[\s\S]*(npm test[\s\S]*){2}/);
  assert.doesNotMatch(watching.stdout, /nudge/);
  // Moved away: what takes its place goes on with nothing.
  await rename(file, `${file}.1`);
  await watching.until(/no such file; waiting for it/, "stderr");
  log = new Log("77777777-2222-4333-8444-555555555555");
  await writeFile(file, log.prompt("three"));
  await watching.until(/user: three/);
  for (let step = 0; step < 3; step++) await appendFile(file, failing(log));
  await watching.until(/nudge {2}repeated-call: .* 3 times/);
  assert.equal(await watching.stop(), 3);
});

test("a document that is rewritten whole is read when it is whole, and only what is new is told", async () => {
  const { home, env } = await machine();
  const file = join(home, ".gemini/tmp/abc/chats/session-2026-11-22T09-00-abc.json");
  await mkdir(dirname(file), { recursive: true });
  const messages: object[] = [{ id: "0", timestamp: "2026-11-22T09:00:00.000Z", type: "user", content: "mend it" }];
  const chat = () => JSON.stringify({ sessionId: "abc", projectHash: "abc", messages }, undefined, 2);
  const step = (number: number) => {
    const response = {
      functionResponse: { id: `c${number}`, name: "run_shell_command", response: { error: "exit 1" } },
    };
    messages.push({
      id: `m${number}`,
      timestamp: new Date(Date.UTC(2026, 10, 22, 9, 1, number)).toISOString(),
      type: "gemini",
      content: "",
      toolCalls: [
        { id: `c${number}`, name: "run_shell_command", args: { command: "make" }, status: "error", result: [response] },
      ],
    });
  };
  await writeFile(file, chat());
  await using watching = watch([], env);
  await watching.until(/gemini-cli · 1 step before/);
  for (let number = 0; number < 3; number++) {
    step(number);
    const text = chat();
    await writeFile(file, text.slice(0, Math.floor(text.length * 0.7)));
    await new Promise((resolve) => setTimeout(resolve, 400));
    await writeFile(file, text);
    await watching.until(new RegExp(`(run_shell_command\\(command: make\\)[\\s\\S]*){${number + 1}}`));
  }
  await watching.until(/nudge/);
  assert.equal(watching.stdout.match(/run_shell_command\(command: make\) →/g)?.length, 3);
  assert.doesNotMatch(watching.stderr, /started again|invalid/);
  assert.equal(await watching.stop(), 3);
});

test("a folder with a file for each event is one session", async () => {
  const { home, env } = await machine();
  const events = join(home, ".openhands/conversations/0f/events");
  await mkdir(events, { recursive: true });
  let number = 0;
  const write = (event: object) =>
    writeFile(
      join(events, `event-${String(number).padStart(5, "0")}-id${number++}.json`),
      JSON.stringify({ id: `e${number}`, timestamp: "2026-11-22T09:00:00", ...event }, undefined, 1),
    );
  const message = { role: "user", content: [{ type: "text", text: "mend it" }] };
  await write({ kind: "MessageEvent", source: "user", llm_message: message });
  const step = async (at: number) => {
    const call = { tool_name: "terminal", tool_call_id: `t${at}` };
    const action = { kind: "ExecuteBashAction", command: "make all" };
    await write({ kind: "ActionEvent", source: "agent", ...call, action, thought: [] });
    const content = [{ type: "text", text: "make: *** no rule for all" }];
    const observation = { kind: "ExecuteBashObservation", content, exit_code: 2, error: true };
    await write({ kind: "ObservationEvent", source: "environment", ...call, observation });
  };
  await using watching = watch([], env);
  await watching.until(/0f · openhands · 1 step before/);
  await watching.until(/following OpenHands/, "stderr");
  for (let at = 0; at < 3; at++) await step(at);
  await watching.until(/nudge {2}repeated-call/);
  assert.match(watching.stdout, /terminal\(command: make all\) → exit 2: make: \*\*\* no rule/);
  assert.equal(await watching.stop(), 3);
  // The same folder is a session for every command.
  const replayed = await run(process.execPath, [cli, "replay", "--last"], { cwd: folder, env });
  assert.equal(replayed.code, 3, replayed.stderr);
  assert.match(replayed.stdout, / · openhands$/m);
});

test("the next session is followed when it begins; with --all every one that is written to", async () => {
  const sessions = join(folder, "sessions");
  await mkdir(sessions);
  const [a, b] = [new Log("aaaaaaaa-2222-4333-8444-555555555555"), new Log("bbbbbbbb-2222-4333-8444-555555555555")];
  await writeFile(join(sessions, "a.jsonl"), a.prompt("one"));
  await utimes(join(sessions, "a.jsonl"), new Date(), new Date(Date.now() - 5_000));
  await using watching = watch([sessions]);
  await using all = watch([sessions, "--all"]);
  await watching.until(/a\.jsonl · /);
  await all.until(/following .*a\.jsonl/, "stderr");
  await writeFile(join(sessions, "b.jsonl"), b.prompt("two"));
  await watching.until(/following .*b\.jsonl/, "stderr");
  await watching.until(/user: two/);
  await all.until(/user: two/);
  // What is no log ends nothing.
  await writeFile(join(sessions, "c.json"), Buffer.from([0x50, 0x4b, 3, 4, 0, 0, 7, 0, 9]));
  await all.until(/c\.json: is not readable text/, "stderr");
  for (let step = 0; step < 3; step++) {
    await appendFile(join(sessions, "a.jsonl"), failing(a));
    await appendFile(join(sessions, "b.jsonl"), failing(b));
  }
  // Two sessions that take turns do not add up.
  await watching.until(/3 times/);
  assert.doesNotMatch(watching.stdout, /[45678] times/);
  await all.until(/(repeated-call: .* 3 times[\s\S]*){2}/);
  assert.doesNotMatch(all.stdout, /[45678] times/);
  assert.deepEqual([await watching.stop(), await all.stop()], [3, 3]);
});

test("--exec: once for each finding at the level, with nothing of the log on its command line", async () => {
  const log = new Log();
  const file = join(folder, "exec.jsonl");
  const told = join(folder, "told.txt");
  const script = join(folder, "told.mjs");
  await writeFile(
    script,
    `import { appendFileSync, readFileSync } from "node:fs";
     const { LOOPWARDEN_LEVEL: level, LOOPWARDEN_RULE: rule, LOOPWARDEN_LINE: line, LOOPWARDEN_MESSAGE: message } = process.env;
     appendFileSync(process.argv[2], JSON.stringify({ level, rule, line, message, record: JSON.parse(readFileSync(0, "utf8")) }) + "\\n");
     console.log("out"); process.exit(7);`,
  );
  const tool = `$(touch owned)\`touch owned\`"; touch owned; "`;
  await writeFile(file, log.prompt("go"));
  const command = `"${process.execPath}" "${script}" "${told}"`;
  await using watching = watch([file, "--level", "block", "--json", "--exec", command]);
  await watching.until(/following/, "stderr");
  await new Promise((resolve) => setTimeout(resolve, 600));
  for (let step = 0; step < 5; step++) await appendFile(file, log.step(tool, { a: 1 }, "Error: no"));
  await watching.until(/ended with 7/, "stderr");
  assert.equal(await watching.stop(), 3);
  const lines = (await readFile(told, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(lines.length, 1);
  const [{ level, rule, line, message, record }] = lines;
  assert.deepEqual(
    [level, rule, line, record.level, record.verdict.level],
    ["block", "repeated-call", "11", "block", "block"],
  );
  assert.match(message, /5 times/);
  await assert.rejects(readFile(join(folder, "owned")), { code: "ENOENT" });
  for (const text of watching.stdout.trim().split("\n")) assert.ok(JSON.parse(text).verdict, "stdout is for records");
});

test("--level: what does not reach it is told and does not count", async () => {
  const log = new Log();
  const file = join(folder, "level.jsonl");
  await writeFile(file, log.prompt("go") + failing(log) + failing(log) + failing(log));
  const watched = await run(process.execPath, [cli, "watch", file, "--from-start", "--level", "halt", "--idle", "1"]);
  assert.equal(watched.code, 0);
  assert.match(watched.stdout, /nudge {2}repeated-call/);
});

test("--first ends at the first finding, also of what is read at once", async () => {
  const log = new Log();
  const file = join(folder, "first.jsonl");
  await writeFile(file, log.prompt("go") + Array.from({ length: 6 }, () => failing(log)).join(""));
  const { code, stdout } = await run(process.execPath, [cli, "watch", file, "--from-start", "--first"]);
  assert.equal(code, 3);
  assert.equal(stdout.split("cannot find module 'cart'").length - 1, 3, stdout);
  assert.match(stdout, /nudge/);
  assert.doesNotMatch(stdout, /block/);
});

test("nothing of a log acts on the terminal", async () => {
  const log = new Log();
  const file = join(folder, "hostile.jsonl");
  const hostile = "\u001b[2J\u001b]8;;http://x\u0007link\u009b31m\u202eback\u200b\r\n::error::owned";
  const steps = Array.from({ length: 5 }, () => log.step(hostile, { command: hostile }, hostile)).join("");
  await writeFile(file, log.prompt(hostile) + steps);
  for (const how of [["--from-start"], ["--from-start", "--json"], []]) {
    const { stdout, stderr } = await run(process.execPath, [cli, "watch", file, ...how, "--idle", "0.5", "--bell"]);
    assert.doesNotMatch(stdout + stderr, /(?!\n)[\p{Cc}\p{Cf}]/u);
    assert.doesNotMatch(stdout, /^::error/m);
  }
});

test("wrong usage, and what is no text", async () => {
  for (const args of [
    ["a", "b"],
    ["--idle", "soon"],
    ["--idle", "1e99"],
    ["--idle", "31536001"],
    ["--level", "loud"],
    ["a.jsonl", "--all"],
    ["--forma", "x"],
    ["-"],
  ]) {
    assert.equal((await run(process.execPath, [cli, "watch", ...args], { cwd: folder })).code, 2, args.join(" "));
  }
  await writeFile(join(folder, "picture.jsonl"), Buffer.from([0x89, 0x50, 0, 1, 2, 3, 0]));
  const { code, stderr } = await run(process.execPath, [cli, "watch", "picture.jsonl"], { cwd: folder });
  assert.equal(code, 1);
  assert.match(stderr, /picture\.jsonl: is not readable text/);
});

test("a file of which nothing is recognised is told of once", async () => {
  for (const [index, text] of ['{"a":1}\n{"b":2}\n', '{"log":"started","n":1}\n'].entries()) {
    const name = `alien-${index}.jsonl`;
    await writeFile(join(folder, name), text);
    const args = ["watch", name, "--idle", "1"];
    const { code, stderr } = await run(process.execPath, [cli, ...args], { cwd: folder });
    assert.equal(code, 1, stderr);
    assert.equal(stderr.split("holds no event that can be read so far").length, 2, stderr);
    assert.match(
      stderr,
      /Supported formats: trace, claude-code, .*--format names one\. Convert a log of another format/,
    );
  }
  await writeFile(join(folder, "none.jsonl"), "");
  const empty = await run(process.execPath, [cli, "watch", "none.jsonl", "--idle", "1"], { cwd: folder });
  assert.equal(empty.code, 0);
  assert.doesNotMatch(empty.stderr, /holds no event/);
});

test("what was written before and is refused is told of with its line", async () => {
  await writeFile(join(folder, "refused.jsonl"), '{"type":"tool-call","tool":" "}\n');
  const { code, stdout, stderr } = await run(process.execPath, [cli, "watch", "refused.jsonl", "--idle", "1"], {
    cwd: folder,
  });
  assert.match(stderr, /refused\.jsonl:1: invalid-event/);
  assert.doesNotMatch(stdout, /nothing found/);
  assert.equal(code, 1, stderr);
});

test("what has no end is not followed, and a link in a circle is no file", async (t) => {
  if (process.platform === "win32") return t.skip("Windows has no pipes and devices among its files");
  assert.equal((await run("mkfifo", ["pipe.jsonl"], { cwd: folder })).code, 0);
  for (const path of ["pipe.jsonl", "/dev/zero"]) {
    const { code, stderr } = await run(process.execPath, [cli, "watch", path], { cwd: folder });
    assert.equal(code, 1, stderr);
    assert.match(stderr, /: is neither a file nor a folder/);
  }
  await symlink("ring.jsonl", join(folder, "ring.jsonl"));
  const { code, stderr } = await run(process.execPath, [cli, "watch", "ring.jsonl", "--idle", "1"], { cwd: folder });
  assert.equal(code, 1, stderr);
  assert.match(stderr, /ring\.jsonl: .*; waiting for it/);
  const absent = await run(process.execPath, [cli, "watch", "absent.jsonl", "--idle", "1"], { cwd: folder });
  assert.equal(absent.code, 1, absent.stderr);
});

test("a compressed log that would unpack to more than fits is none", async () => {
  // Members of a file, one behind the other, are unpacked as one text.
  const member = gzipSync(Buffer.alloc(32 << 20, " "));
  await writeFile(join(folder, "bomb.jsonl.gz"), Buffer.concat(Array.from({ length: 12 }, () => member)));
  const args = [cli, "watch", "bomb.jsonl.gz", "--idle", "1"];
  const { code, stderr } = await run(process.execPath, args, { cwd: folder });
  assert.equal(code, 1);
  assert.match(stderr, /bomb\.jsonl\.gz: .*larger than 268435456 bytes.*; waiting for it/);
});

test("a session of long ago is taken up when nothing newer is there, and a missing one is waited for", async () => {
  const { home, env } = await machine();
  await using watching = watch([], env);
  await watching.until(/no session yet; waiting for one in Claude Code .*Codex .*OpenHands .*SWE-agent/, "stderr");
  const session = join(home, ".codex/sessions/2026/11/22/rollout-2026-11-22-x.jsonl");
  await mkdir(dirname(session), { recursive: true });
  const call = (id: number) => [
    {
      type: "response_item",
      payload: { type: "function_call", name: "shell", arguments: '{"command":["ls"]}', call_id: `c${id}` },
    },
    { type: "response_item", payload: { type: "function_call_output", call_id: `c${id}`, output: "nothing" } },
  ];
  const lines = [0, 1, 2].flatMap(call).map((line) => JSON.stringify({ timestamp: "2026-11-22T09:00:00Z", ...line }));
  await writeFile(session, `${lines.join("\n")}\n`);
  await watching.until(/shell\(command: .*→ ok: nothing/);
  assert.equal(await watching.stop(), 3);
  await utimes(session, 1, 1);
  await using later = watch([], env);
  await later.until(/rollout-2026-11-22-x\.jsonl · openai · 3 steps before: 1 finding/);
  assert.equal(await later.stop(), 0);
});

test("a file that does not exist is waited for with a word about it, without its folder there is nothing to wait for", async () => {
  const own = await mkdtemp(join(folder, "absent-"));
  await writeFile(join(own, "session.jsonl"), "");
  const told = async (...args: string[]) => {
    const { code, stderr } = await run(process.execPath, [cli, ...args], { cwd: own });
    return [code, stderr.split("\n").filter((line) => /no such|folder/.test(line))];
  };
  const waits = (name: string, near: string) => [1, [`loopwarden: ${name}: no such file${near}; waiting for it`]];
  const near = " (did you mean session.jsonl?)";
  assert.deepEqual(await told("watch", "sesion.jsonl", "--idle", "1"), waits("sesion.jsonl", near));
  assert.deepEqual(await told("watch", "other.jsonl", "--idle", "1", "--json"), waits("other.jsonl", ""));
  for (const args of [["watch"], ["view", "--live"]])
    assert.deepEqual(await told(...args, "none/at/all.jsonl"), [
      1,
      ["loopwarden: none/at/all.jsonl: its folder does not exist"],
    ]);
  const [code, lines] = await told("watch", "session.jsonl/x.jsonl");
  assert.deepEqual([code, lines], [1, ["loopwarden: session.jsonl/x.jsonl: a part of its path is not a folder"]]);
});

test("notifications: texts are arguments or variables, never parts of a script", () => {
  const text = `halt: "; rm -rf / $(x) <b>`;
  for (const platform of ["darwin", "linux", "win32"] as const) {
    const [, args, env] = notifier(text, "Codex", platform);
    const scripts = args.filter((arg) => /display notification|NotifyIcon/.test(arg));
    for (const script of scripts) assert.ok(!script.includes("rm -rf"), platform);
    assert.ok(platform === "win32" ? env["LOOPWARDEN_TEXT"] === text : args.some((arg) => arg.includes("rm -rf")));
  }
  assert.deepEqual(notifier(text, "Codex", "linux")[1].at(-1), `halt: "; rm -rf / $(x) &lt;b&gt;`);
});

test("what is complete of a text", () => {
  const cases: [text: string, wanted: string | undefined][] = [
    ['{"a":1}\n{"b":2}\n{"c', '{"a":1}\n{"b":2}\n'],
    ['{"a":1}\n{"b":2}', '{"a":1}\n{"b":2}'],
    ['{"a":1}', '{"a":1}'],
    ['{"a":', undefined],
    ["", undefined],
    ['{\n "a": [1,\n 2', undefined],
    ['{\n "a": "}"\n}\n{\n "b"', '{\n "a": "}"\n}'],
    ['[\n{"a":1},\n{"b":2}\n]', '[\n{"a":1},\n{"b":2}\n]'],
    ['[\n{"a":1},\n{"b":2}', undefined],
    ['half a line"}\n{"a":1}\n{"b', 'half a line"}\n{"a":1}\n'],
    ['\ufeff{"a":1}\n{"b', '\ufeff{"a":1}\n'],
    ['{"a":"\\"}"', undefined],
  ];
  for (const [text, wanted] of cases) assert.equal(complete(text), wanted, text);
});

test("however a log is cut, the verdicts are those of the whole", () => {
  const log = new Log();
  let text = log.prompt("mend it");
  for (let step = 0; step < 90; step++) text += step % 3 === 0 ? honest(log, step) : failing(log);
  const whole = new Live("");
  const wanted = whole.update(text).seen.map(({ verdict }) => JSON.stringify(verdict));
  const live = new Live("");
  const got: string[] = [];
  for (let at = 1000; at < text.length + 1000; at += 1000) {
    const part = complete(text.slice(0, at));
    if (part !== undefined) for (const { verdict, at } of live.update(part).seen) got[at] = JSON.stringify(verdict);
  }
  assert.deepEqual(got, wanted);
  // The end is rewritten, further back than one state is kept for and less far than that: judged as if it were new.
  for (const kept of [300, 40, 120]) {
    const lines = text.split("\n").slice(0, kept);
    const rewritten = `${lines.join("\n")}\n${log.step("Bash", { command: "npm test" }, "Error: cannot find module 'cart'")}`;
    const again = live.update(rewritten);
    const fresh = new Live("").update(rewritten);
    assert.deepEqual(again.seen.at(-1)?.verdict, fresh.seen.at(-1)?.verdict);
    assert.equal(again.from + again.seen.length, fresh.seen.length);
  }
});
