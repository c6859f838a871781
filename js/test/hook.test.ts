import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFile,
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Result, run } from "./support/run.ts";

const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "loopwarden-hook-"));
});
after(() => rm(folder, { recursive: true }));

const hardTimes = fileURLToPath(new URL("support/hard-times.mjs", import.meta.url));

function start(args: string[], input: string, cwd: string = folder, more: NodeJS.ProcessEnv = {}): Promise<Result> {
  const env = { HOME: folder, XDG_STATE_HOME: join(folder, "state"), HARD_TIMES_IN: folder, ...more };
  return run(process.execPath, ["--import", hardTimes, cli, "hook", ...args], { cwd, env, input });
}

/** What the hooks of the one session in a folder know: the ids of the calls that wait for their result. */
async function waiting(state: string): Promise<string[]> {
  const [session = "", ...others] = (await readdir(state)).filter((name) => name.endsWith(".session"));
  assert.deepEqual(others, []);
  const newest = (await readdir(join(state, session)))
    .filter((name) => name.endsWith(".state"))
    .sort()
    .at(-1);
  const kept = JSON.parse(await readFile(join(state, session, newest ?? ""), "utf8"));
  const stands = JSON.parse(Buffer.from(kept.state.split(".")[2], "base64").toString());
  return stands[0][1].open.map(([id]: [string]) => id);
}

/** The one session of a folder of states. */
async function onlySession(state: string): Promise<string> {
  const [name = ""] = await readdir(state);
  return join(state, name);
}

/** A hook, in its own process, as a host calls it. */
async function hook(input: object, ...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await start(args, JSON.stringify(input));
  assert.deepEqual([code, stderr], [0, ""]);
  return JSON.parse(stdout);
}

const base = (session: string) => ({ session_id: session, transcript_path: "/t.jsonl", cwd: "/p" });
const pre = (session: string, n: number, command = "npm test") => ({
  ...base(session),
  hook_event_name: "PreToolUse",
  tool_name: "Bash",
  tool_input: { command },
  tool_use_id: `toolu_${n}`,
});
const post = (session: string, n: number) => ({
  ...pre(session, n),
  hook_event_name: "PostToolUse",
  tool_response: { stdout: "12 passed", stderr: "", interrupted: false, isImage: false },
});
const batch = (session: string) => ({ ...base(session), hook_event_name: "PostToolBatch", tool_calls: [] });

async function turn(session: string, n: number): Promise<Record<string, unknown>> {
  await hook(pre(session, n));
  const answer = await hook(post(session, n));
  await hook(batch(session));
  return answer;
}

test("a call that comes to nothing again is nudged, refused and in the end stops the session", async () => {
  for (const n of [0, 1]) assert.deepEqual(await turn("whole", n), {});
  const nudged = JSON.stringify(await turn("whole", 2));
  assert.match(nudged, /"hookEventName":"PostToolUse","additionalContext":"Loopwarden \(loop detector\): `Bash` was/);
  for (const n of [3, 4]) await turn("whole", n);
  for (const n of [5, 6, 7]) {
    const { hookSpecificOutput, ...rest } = await hook(pre("whole", n));
    const { permissionDecision, permissionDecisionReason } = hookSpecificOutput as Record<string, string>;
    assert.equal(permissionDecision, "deny");
    assert.match(permissionDecisionReason ?? "", /refused/);
    assert.deepEqual(rest, {});
    await hook(batch("whole"));
  }
  const last = await hook(pre("whole", 8));
  assert.equal(last["continue"], false);
  assert.match(String(last["stopReason"]), /^Loopwarden ended the run: `Bash` was called 5 times/);
  assert.deepEqual(await hook(pre("another", 0)), {}, "other sessions know nothing of it");

  await hook({
    ...base("whole"),
    hook_event_name: "UserPromptSubmit",
    prompt: "Run the tests once more",
    source: "user",
  });
  assert.deepEqual(await hook(pre("whole", 9)), {}, "a human may ask for it");
});

test("a host that does not tell when the calls of an answer are done is guarded all the same", async () => {
  const failing = (session: string, n: number) => pre(session, n, `sed -i s/a${n}/b/ x.ts`);
  const failed = (session: string, n: number) =>
    hook({
      ...failing(session, n),
      hook_event_name: "PostToolUseFailure",
      error: "sed: can't read x.ts: No such file",
    });
  for (let n = 0; n < 6; n++) {
    assert.doesNotMatch(JSON.stringify(await hook(failing("unbatched", n))), /deny/);
    await failed("unbatched", n);
  }
  assert.match(JSON.stringify(await hook(failing("unbatched", 6))), /"permissionDecision":"deny".*failed 6 times/);
  assert.equal((await hook(failing("unbatched", 7)))["continue"], false, "and ended where nothing else helps");

  for (let n = 0; n < 5; n++) {
    await hook(pre("counted", n));
    const told = JSON.stringify(await hook(post("counted", n)));
    const times = /called (\d+) times/.exec(told)?.[1];
    if (times !== undefined) assert.equal(Number(times), n + 1, "no call before it is missing from the count");
    assert.equal(times !== undefined, [2, 4].includes(n), told);
  }

  // Calls of one answer that run one after the other are one round, where the host has told of another.
  await hook(pre("batched", 0, "git status"));
  await hook(post("batched", 0));
  await hook(batch("batched"));
  for (let n = 1; n < 10; n++) {
    assert.doesNotMatch(JSON.stringify(await hook(failing("batched", n))), /deny/);
    await failed("batched", n);
  }
});

test("a sub-agent is an agent of its own", async () => {
  const worker = { agent_id: "a1", agent_type: "reviewer" };
  for (const n of [0, 1]) await turn("agents", n);
  await hook({ ...pre("agents", 2), ...worker });
  assert.deepEqual(await hook({ ...post("agents", 2), ...worker }), {}, "its first call of that kind");
});

/** So many hooks at once, each stopping for up to so many milliseconds before every call of the file system. */
async function atOnce(name: string, count: number, longest: number): Promise<void> {
  const state = join(folder, name);
  const all = (input: (n: number) => object) =>
    Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const env = { HARD_TIMES: `${n},${longest},-1` };
        const { code, stdout, stderr } = await start(["--state", state], JSON.stringify(input(n)), folder, env);
        assert.deepEqual([code, stderr, stdout], [0, "", "{}\n"]);
      }),
    );
  await all((n) => pre(name, n, `cat part-${n}`));
  await hook(batch(name), "--state", state);
  const ids = Array.from({ length: count }, (_, n) => `toolu_${n}`);
  assert.deepEqual((await waiting(state)).sort(), ids.sort(), "every call is known");
  await all((n) => post(name, n));
  await hook(batch(name), "--state", state);
  assert.deepEqual(await waiting(state), [], "every result found its call");
  const left = await readdir(await onlySession(state));
  assert.deepEqual(
    left.filter((file) => !/^\d+(?:-\d+\.state|\.log)$/.test(file)),
    [],
    "no half a file stays",
  );
}

test("hooks of one session that run at once are all counted", () => atOnce("parallel", 16, 0));

test("hooks that run at once are all counted, however slow each of them is", () => atOnce("slow", 64, 400));

test("a hook that is killed, wherever it is, leaves a sound state and loses nothing of others", async () => {
  const state = join(folder, "killed");
  const options = ["--state", state];
  let kill = 0;
  for (let ended = false; !ended; kill++) {
    const env = { HARD_TIMES: `${kill},0,${kill}` };
    const { code } = await start(options, JSON.stringify(pre("killed", 1000 + kill)), folder, env);
    assert.ok(code === null || code === 0, `${code}`);
    ended = code === 0;
    await hook(pre("killed", kill, `cat part-${kill}`), ...options);
    await hook(post("killed", kill), ...options);
    const open = await waiting(state);
    assert.ok(
      open.every((id) => Number(id.replace("toolu_", "")) >= 999),
      `killed before call ${kill}: ${open}`,
    );
  }
  assert.ok(kill > 15, `only ${kill} calls of the file system`);
  // And whatever it left is known for ours when the session is forgotten.
  const session = await onlySession(state);
  const left = await readdir(session);
  assert.ok(
    left.some((name) => name.endsWith(".tmp")),
    `${left}`,
  );
  const long = Date.now() / 1000 - 31 * 24 * 3600;
  for (const path of [...left.map((name) => join(session, name)), session]) await utimes(path, long, long);
  await hook({ ...base("next"), hook_event_name: "SessionStart", source: "startup" }, ...options);
  await assert.rejects(lstat(session), { code: "ENOENT" });
});

test("hooks that are killed while others run take nothing along", async () => {
  const state = join(folder, "among");
  const count = 24;
  const run = (input: (n: number) => object, kills: boolean) =>
    Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const dies = kills && n % 3 === 0;
        // Every hook makes more calls of the file system than this, whatever the others have left to do.
        const env = { HARD_TIMES: `${n},60,${dies ? n / 3 : -1}` };
        const { code } = await start(["--state", state], JSON.stringify(input(n)), folder, env);
        assert.equal(code, dies ? null : 0);
      }),
    );
  await run((n) => pre("among", n, `cat part-${n}`), true);
  await run((n) => post("among", n), true);
  await hook(batch("among"), "--state", state);
  const left = (await waiting(state)).map((id) => Number(id.replace("toolu_", "")));
  assert.deepEqual(
    left.filter((n) => n % 3 !== 0),
    [],
  );
});

test("a state that cannot be read is said so, and the session starts over", async () => {
  const state = join(folder, "spoilt");
  await hook(pre("spoilt", 0), "--state", state);
  const session = await onlySession(state);
  const [file = ""] = (await readdir(session)).filter((name) => name.endsWith(".state"));
  for (const text of ["", "1.AAAA.e30", '{"loopwarden":"state","state":"1.AAAA.e30","answers":[]}']) {
    const [file = ""] = (await readdir(session)).filter((name) => name.endsWith(".state"));
    await writeFile(join(session, file), text);
    const { code, stdout } = await start(["--state", state], JSON.stringify(post("spoilt", 0)));
    assert.equal(code, 0);
    if (text !== "")
      assert.equal(
        JSON.parse(stdout).systemMessage,
        "Loopwarden: its memory of this session was damaged; it starts again",
      );
    assert.deepEqual(await hook(pre("spoilt", 1), "--state", state), {});
  }
  // And goes by the configuration of its folder again.
  const at = join(folder, "spoilt-project");
  await mkdir(at);
  await writeFile(join(at, "loopwarden.json"), '{ "mode": "shadow" }');
  const call = (n: number) => hook({ ...pre("spoilt", n), cwd: at }, "--state", state, "--no-batches");
  const newest =
    (await readdir(session))
      .filter((name) => name.endsWith(".state"))
      .sort()
      .at(-1) ?? "";
  await writeFile(join(session, newest), "nonsense");
  await start(["--state", state], JSON.stringify({ ...pre("spoilt", 10), cwd: at }));
  for (let n = 11; n < 18; n++) {
    assert.deepEqual(await call(n), {});
    await hook({ ...post("spoilt", n), cwd: at }, "--state", state, "--no-batches");
  }
  assert.ok(!(await readdir(session)).includes(file));
});

test("sessions of long ago are forgotten, and nothing else is removed", async () => {
  const state = join(folder, "old");
  await hook(pre("old", 0), "--state", state);
  const session = await onlySession(state);
  const long = Date.now() / 1000 - 31 * 24 * 3600;
  const others = ["notes.txt", "000001.log", "photo.tmp", "a/b/c.txt", "b.session/000001.log"];
  const foreign = join(state, `${"0123456789abcdef".repeat(2)}.session`);
  await mkdir(join(state, "a", "b"), { recursive: true });
  await mkdir(join(state, "b.session"));
  await mkdir(foreign);
  await writeFile(join(foreign, "000001.log"), "my own log\n");
  await writeFile(join(foreign, "thesis.txt"), "mine");
  for (const name of others) await writeFile(join(state, name), "mine");
  const age = async (at: string) => {
    for (const name of await readdir(at)) {
      const path = join(at, name);
      if ((await stat(path)).isDirectory()) await age(path);
      await utimes(path, long, long);
    }
  };
  await age(state);
  await hook({ ...base("new"), hook_event_name: "SessionStart", source: "startup" }, "--state", state);
  await assert.rejects(lstat(session), "what is ours is gone");
  for (const name of others) assert.equal(await readFile(join(state, name), "utf8"), "mine");
  assert.deepEqual((await readdir(foreign)).sort(), ["000001.log", "thesis.txt"]);
});

test("what tools said does not stay", async () => {
  const state = join(folder, "private");
  await hook(pre("private", 0, "echo a-very-special-word"), "--state", state);
  const session = await onlySession(state);
  for (const name of await readdir(session))
    assert.ok(!(await readFile(join(session, name), "utf8")).includes("a-very-special-word"), name);
  assert.equal((await stat(session)).mode & 0o777, 0o700);
});

test("a full disk is one sentence, and no refusal", async () => {
  const state = join(folder, "full");
  const { code, stdout, stderr } = await start(["--state", state], JSON.stringify(pre("full", 0)), folder, {
    DISK_FULL: "1",
  });
  assert.equal(code, 0);
  assert.match(stderr, /^loopwarden: .*: the disk is full\n$/);
  assert.match(JSON.parse(stdout).systemMessage, /the disk is full$/);
  assert.deepEqual(await hook(pre("full", 0), "--state", state), {}, "and then it goes on");
});

test("the news of a task is nobody's prompt", async () => {
  const news = (n: number) => ({
    ...base("news"),
    hook_event_name: "UserPromptSubmit",
    prompt: `<task-notification>\n<task-id>b${n}</task-id>\n<status>completed</status>\n<summary>Done</summary>\n</task-notification>`,
  });
  const stop = { ...base("news"), hook_event_name: "Stop", last_assistant_message: "Waiting." };
  for (let n = 0; n < 12; n++) {
    assert.deepEqual(await hook(news(n)), {});
    assert.deepEqual(await hook(stop), {});
  }
});

test("hosts that write camelCase are understood and answered", async () => {
  const input = {
    sessionId: "camel",
    hookEventName: "preToolUse",
    toolName: "shell",
    toolArgs: '{"command":"npm test"}',
  };
  for (let n = 0; n < 5; n++) {
    await hook(input, "--no-batches");
    await hook({ ...input, hookEventName: "postToolUse", toolResult: "12 passed" }, "--no-batches");
  }
  const answer = await hook(input, "--no-batches");
  assert.equal(answer["permissionDecision"], "deny");
  assert.match(String(answer["permissionDecisionReason"]), /called 5 times/);
});

test("what is wrong with the hook itself is a warning and refuses nothing", async () => {
  const cases: [string[], string, RegExp][] = [
    [[], "", /the standard input is not JSON/],
    [[], "[]", /not a JSON object/],
    [[], "{}", /hook_event_name: is missing/],
    [[], '{"hook_event_name":"PreToolUse"}', /session_id: is missing/],
    [[], '{"hook_event_name":"PreToolUse","session_id":"s","tool_name":7}', /tool_name: expected text/],
    [["--prompts", "nobody"], "{}", /--prompts nobody: expected human or host/],
    [["--user"], "{}", /--user is for install/],
    [["--staet", "x"], "{}", /unknown option --staet, did you mean --state\?/],
    [["instal"], "{}", /hook instal: expected install, uninstall or nothing; did you mean install\?/],
    [["something"], "{}", /expected install, uninstall or nothing/],
    [["--config", "nowhere.json"], JSON.stringify(pre("s", 0)), /nowhere.json: no such file/],
  ];
  await writeFile(join(folder, "file"), "");
  for (const nowhere of [join(folder, "file", "state"), ...(process.platform === "linux" ? ["/proc/nowhere"] : [])])
    cases.push([["--state", nowhere], JSON.stringify(pre("s", 0)), new RegExp(`${nowhere}`)]);
  await writeFile(join(folder, "bad.json"), '{"preset":"loud"}');
  cases.push([["--config", "bad.json"], JSON.stringify(pre("s", 0)), /bad.json:1: invalid-config: `preset`/]);
  for (const [args, input, complaint] of cases) {
    const { code, stdout, stderr } = await start(args, input);
    assert.equal(code, 0, stderr);
    assert.deepEqual(Object.keys(JSON.parse(stdout)), ["systemMessage"]);
    assert.match(JSON.parse(stdout).systemMessage, complaint);
    assert.match(stderr, complaint);
  }
  assert.deepEqual(await hook({ ...base("s"), hook_event_name: "SomethingNew" }), {});
  // A command that does not exist, as a hook.
  const env = { CLAUDE_PROJECT_DIR: folder };
  assert.equal((await run(process.execPath, [cli, "hok"], { env, input: "{}" })).code, 1);
  assert.equal((await run(process.execPath, [cli, "hok"], { input: "{}" })).code, 2);
});

test("a word that is none is wrong usage for who types it, and never for a hook", () => {
  const typed = (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const { CLAUDE_PROJECT_DIR: _, ...rest } = process.env;
    const stdio = ["ignore", "pipe", "pipe"] as const;
    return spawnSync(process.execPath, [cli, "hook", ...args], {
      stdio: [...stdio],
      env: { ...rest, ...env },
      encoding: "utf8",
    });
  };
  for (const [word, told] of [
    ["instal", /hook instal: expected install, uninstall or nothing; did you mean install\?/],
    ["uninstal", /hook uninstal: expected install, uninstall or nothing; did you mean uninstall\?/],
    ["something", /hook something: expected install, uninstall or nothing/],
  ] as const) {
    const { status, stdout, stderr } = typed([word]);
    assert.deepEqual([status, stdout], [2, ""]);
    assert.match(stderr, told);
    assert.equal(typed([word], { CLAUDE_PROJECT_DIR: folder }).status, 0);
  }
  assert.equal(typed(["--staet", "x"]).status, 0, "an option may be the hook's own");
});

test("names that every object has are names like others, wherever they stand", async () => {
  for (const name of ["__proto__", "constructor", "toString", "__defineGetter__", "hasOwnProperty"]) {
    const unknown = `{"hook_event_name":"${name}","session_id":"${name}","${name}":{"a":1},"toString":0}`;
    const { code, stdout, stderr } = await start([], unknown);
    assert.deepEqual([code, JSON.parse(stdout), stderr], [0, {}, ""], name);
    // A loop of such a tool, session and agent is a loop, and what the fields inherit is nothing.
    const input = JSON.parse(`{"command":"x","${name}":{"command":1}}`);
    const call = { session_id: `s${name}`, tool_name: name, tool_use_id: name, agent_id: name, tool_input: input };
    const text = (event: string) =>
      JSON.stringify({ ...call, hook_event_name: event, tool_response: "12 passed" }).replace(
        /}$/,
        ',"__proto__":{"session_id":"other"}}',
      );
    let answer = {};
    for (let n = 0; n < 6; n++) {
      answer = JSON.parse((await start(["--no-batches"], text("PreToolUse"))).stdout);
      await start(["--no-batches"], text("PostToolUse"));
    }
    assert.match(JSON.stringify(answer), /"permissionDecision":"deny"/, name);
  }
});

test("names and ids of any length are watched, and do not swell what is kept", async () => {
  const state = join(folder, "long");
  const long = (text: string) => text.repeat(400_000);
  const call = (n: number, event: string) => ({
    ...pre(long("session"), n),
    hook_event_name: event,
    agent_type: long("kind"),
    agent_id: `${long("agent")}1`,
    tool_use_id: `${long("id")}${n}`,
    tool_response: "12 passed",
  });
  let answer = {};
  for (let n = 0; n < 6; n++) {
    answer = await hook(call(n, "PreToolUse"), "--state", state, "--no-batches");
    await hook(call(n, "PostToolUse"), "--state", state, "--no-batches");
  }
  assert.match(JSON.stringify(answer), /"permissionDecision":"deny"/);
  const session = await onlySession(state);
  for (const name of await readdir(session)) {
    const { size } = await stat(join(session, name));
    assert.ok(size < 50_000, `${name}: ${size} bytes`);
  }
});

test("nothing of a stranger's file acts in what a hook or its installation says", async () => {
  const hostile = "\u001b[31mx\u001b]8;;http://x\u0007\u009b1m\u202ey\u{e0041}\u2028\n::error::z ##vso[task.x]";
  const acts = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]|^\s*::|##\w*\[/mu;
  await writeFile(join(folder, "hostile.json"), JSON.stringify({ [hostile]: 1 }));
  for (const config of ["hostile.json", hostile]) {
    const { code, stdout, stderr } = await start(["--config", config], JSON.stringify(pre("hostile", 0)));
    assert.equal(code, 0);
    assert.match(stdout, /does not watch here/);
    assert.doesNotMatch(stdout, acts);
    assert.doesNotMatch(stderr, acts);
  }
  const project = join(folder, "hostile-project");
  await mkdir(join(project, ".claude"), { recursive: true });
  const text = `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x loopwarden hook \u009b1m\u202ey##vso[task.x]\u2028"}]}]}}`;
  await writeFile(join(project, ".claude", "settings.json"), text);
  const { code, stdout, stderr } = await start(["uninstall"], "", project);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /^Removed /m);
  assert.doesNotMatch(stdout, acts);
});

test("a link in the place of what a hook keeps is not written through", async (t) => {
  if (process.platform === "win32") return t.skip("opens what a link means");
  const state = join(folder, "planted-state");
  const id = "01234567-89ab-cdef-0123-456789abcdef";
  const session = join(state, `${id.replaceAll("-", "")}.session`);
  await mkdir(session, { recursive: true });
  const secret = join(folder, "precious.txt");
  await writeFile(secret, "precious");
  await symlink(secret, join(session, "000001.log"));
  const { code, stdout } = await start(["--state", state], JSON.stringify(pre(id, 0)));
  assert.equal(code, 0);
  assert.match(JSON.parse(stdout).systemMessage, /a link is not one of our files/);
  assert.equal(await readFile(secret, "utf8"), "precious");
});

test("a mark before the first byte, as shells of Windows write one, is none of the input", async () => {
  const { code, stdout, stderr } = await start([], `\ufeff${JSON.stringify(pre("marked", 0))}`);
  assert.deepEqual([code, stdout, stderr], [0, "{}\n", ""]);
});

test("a hook that nobody can judge takes no other along", async () => {
  const evil = { toString: 1, valueOf: 1 };
  for (const wrong of [{ agent_id: evil }, { agent_id: "a", agent_type: [evil] }, { tool_use_id: evil }]) {
    const { code, stdout } = await start([], JSON.stringify({ ...pre("evil", 0), ...wrong }));
    assert.equal(code, 0);
    assert.match(JSON.parse(stdout).systemMessage, /(agent_id|agent_type|tool_use_id): expected text/);
  }
  // One that another version has written down.
  const state = join(folder, "poisoned");
  await hook(pre("poisoned", 0), "--state", state);
  const session = await onlySession(state);
  const segment = (await readdir(session)).filter((name) => name.endsWith(".log")).sort();
  const entry = { at: Date.now(), input: { ...pre("poisoned", 1), agent_id: evil }, options: {} };
  const record = `\n${JSON.stringify({ loopwarden: "hook", id: "1-2-3", entry })}\n`;
  await appendFile(join(session, segment.at(-1) ?? ""), record);
  const levels: boolean[] = [];
  for (let n = 2; n < 9; n++) {
    const input = JSON.stringify(pre("poisoned", n, "cargo test"));
    const { code, stdout, stderr } = await start(["--state", state], input);
    assert.deepEqual([code, stderr], [0, ""]);
    levels.push(stdout.includes("deny"));
    await hook({ ...post("poisoned", n), tool_input: { command: "cargo test" } }, "--state", state);
    await hook(batch("poisoned"), "--state", state);
  }
  assert.equal(levels.at(-1), true, "what comes after it is judged");
});

test("a session goes by the loopwarden.json of the folder in which the agent works", async () => {
  const at = join(folder, "configured");
  await mkdir(join(at, "elsewhere"), { recursive: true });
  const file = join(at, "loopwarden.json");
  await writeFile(file, '// only look\n{ "mode": "shadow" }');
  const loop = async (session: string, cwd: string | undefined, args: string[], own: string): Promise<string> => {
    const told = (input: object) => JSON.stringify({ ...input, cwd });
    const options = ["--no-batches", ...args];
    for (let n = 0; n < 5; n++) {
      await start(options, told(pre(session, n)), own);
      await start(options, told(post(session, n)), own);
    }
    const { code, stdout, stderr } = await start(options, told(pre(session, 5)), own);
    assert.deepEqual([code, stderr], [0, ""]);
    return stdout;
  };
  assert.equal(await loop("configured-1", at, [], folder), "{}\n", "the folder of the agent");
  assert.equal(await loop("configured-2", undefined, [], at), "{}\n", "the folder of the hook");
  assert.match(await loop("configured-3", join(at, "elsewhere"), [], at), /deny/, "and no other");
  assert.match(await loop("configured-4", at, ["--no-config"], folder), /deny/);
  await writeFile(join(folder, "other.json"), '{ "rules": { "repeated-call": { "nudge": 2, "block": 3 } } }');
  assert.match(await loop("configured-5", at, ["--config", "other.json"], folder), /deny/);

  // What is wrong with it refuses nothing and is said, until somebody mends it.
  const call = JSON.stringify({ ...pre("configured-6", 0), cwd: at });
  for (const wrong of ["", "{", '{ "mode": "loud" }', '{ "tools": [] }']) {
    await writeFile(file, wrong);
    const { code, stdout, stderr } = await start([], call);
    assert.equal(code, 0);
    assert.match(stderr, /^loopwarden: .*loopwarden\.json: ?/);
    assert.deepEqual(Object.keys(JSON.parse(stdout)), ["systemMessage"], wrong);
    assert.match(JSON.parse(stdout).systemMessage, /does not watch here: .*configured.loopwarden\.json:/);
  }
  await writeFile(file, `{}${" ".repeat(300_000)}`);
  assert.match((await start([], call)).stdout, /loopwarden\.json: is too large for a configuration"/);
  await rm(file);
  await mkdir(file);
  assert.match((await start([], call)).stdout, /loopwarden\.json: is not a file"/);
  await rm(file, { recursive: true });
  if (process.platform !== "win32") {
    await run("mkfifo", [file]);
    assert.match((await start([], call)).stdout, /loopwarden\.json: is not a file"/);
    await rm(file);
  }
  assert.deepEqual((await start([], call)).stdout, "{}\n");
});

/** A project that has the package. */
async function project(name: string): Promise<{ folder: string; file: string }> {
  const at = join(folder, name);
  await mkdir(join(at, ".claude"), { recursive: true });
  await mkdir(join(at, "node_modules", ".bin"), { recursive: true });
  await writeFile(
    join(at, "node_modules", ".bin", "loopwarden"),
    `#!/bin/sh\nexec "${process.execPath}" "${cli}" "$@"\n`,
  );
  await chmod(join(at, "node_modules", ".bin", "loopwarden"), 0o755);
  return { folder: at, file: join(at, ".claude", "settings.json") };
}

test("install refuses what would not run, and writes what does", async () => {
  const bare = join(folder, "bare", "packages", "one");
  await mkdir(bare, { recursive: true });
  await mkdir(join(folder, "bare", ".git"));
  const none = await start(["install"], "", bare);
  assert.equal(none.code, 1);
  assert.match(none.stderr, /has no node_modules\/.bin\/loopwarden/);
  assert.match(none.stderr, /--save-dev loopwarden, or the path of its tarball/, "as long as nothing is published");
  await assert.rejects(lstat(join(bare, ".claude")));

  const { folder: broken, file } = await project("broken");
  await writeFile(join(broken, "node_modules", ".bin", "loopwarden"), "#!/bin/sh\necho no such thing >&2\nexit 3\n");
  const refused = await start(["install"], "", broken);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /does not run here, so it would not run as a hook: no such thing/);
  await assert.rejects(lstat(file));

  // A session that begins with such a configuration would watch nothing.
  const { folder: wrong, file: unwritten } = await project("wrong-config");
  await writeFile(join(wrong, "loopwarden.json"), '{ "mode": ');
  const told = await start(["install"], "", wrong);
  assert.equal(told.code, 1);
  assert.match(told.stderr, /loopwarden\.json/);
  await assert.rejects(lstat(unwritten));
  assert.equal((await start(["install", "--no-config"], "", wrong)).code, 0);

  // In a workspace the package lies above.
  const { folder: workspace } = await project("workspace");
  const member = join(workspace, "packages", "one");
  await mkdir(member, { recursive: true });
  assert.equal((await start(["install"], "", member)).code, 0);
  const settings = JSON.parse(await readFile(join(member, ".claude", "settings.json"), "utf8"));
  const line: string = settings.hooks.PreToolUse[0].hooks[0].command;
  const ran = await run("/bin/sh", ["-c", line], {
    env: { CLAUDE_PROJECT_DIR: member, HOME: folder, XDG_STATE_HOME: join(folder, "state") },
    input: JSON.stringify(pre("installed", 0)),
  });
  assert.deepEqual([ran.code, ran.stdout], [0, "{}\n"]);
});

test("settings keep their mode, their link and their owner", async () => {
  const { folder: at, file } = await project("modes");
  const dotfiles = join(folder, "dotfiles.json");
  await writeFile(dotfiles, '{ "model": "opus" }\n');
  await chmod(dotfiles, 0o600);
  await symlink(dotfiles, file);
  // Whatever a repository planted beside it.
  const outside = join(folder, "outside.txt");
  await writeFile(outside, "untouched");
  for (const pid of Array.from({ length: 50 }, (_, n) => process.pid + n))
    await symlink(outside, join(at, ".claude", `settings.json.${pid}.tmp`));
  const { code, stdout, stderr } = await start(["install"], "", at);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.ok((await lstat(file)).isSymbolicLink());
  assert.equal((await stat(dotfiles)).mode & 0o777, 0o600);
  assert.equal(JSON.parse(await readFile(dotfiles, "utf8")).hooks.PreToolUse.length, 1);
  assert.equal((await stat(/Previous version: (.*)/.exec(stdout)?.[1] ?? "")).mode & 0o777, 0o600);
  assert.equal(await readFile(outside, "utf8"), "untouched");

  const { folder: theirs, file: foreign } = await project("theirs");
  if (process.getuid?.() === 0) {
    await writeFile(foreign, "{}");
    await chown(foreign, 12345, 12345);
  } else {
    await symlink("/etc/hosts", foreign);
  }
  const refused = await start(["install"], "", theirs);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /belongs to another user/);

  const { folder: dangling, file: link } = await project("dangling");
  await symlink(join(folder, "not-there.json"), link);
  assert.match((await start(["install"], "", dangling)).stderr, /is a link to a file that does not exist/);
});

test("uninstall takes the hooks out, whoever stops reading", async () => {
  const { folder: at, file } = await project("piped");
  assert.equal((await start(["install"], "", at)).code, 0);
  const line = `"${process.execPath}" "${cli}" hook uninstall | head -1`;
  assert.equal((await run("/bin/sh", ["-c", line], { cwd: at })).code, 0);
  await assert.rejects(readFile(file), { code: "ENOENT" });
});

test("install writes the hooks beside what is there, once, and uninstall leaves nothing of it", async () => {
  const { folder: at, file } = await project("project");
  const before = `{
    "model": "opus",
    "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "./audit.sh" }] }] }
}
`;
  await writeFile(file, before);
  const dry = await start(["install", "--dry-run"], "", at);
  assert.match(dry.stdout, /^\+.*node_modules\/\.bin\/loopwarden hook/m);
  assert.equal(await readFile(file, "utf8"), before);

  const installed = await start(["install"], "", at);
  assert.deepEqual([installed.code, installed.stderr], [0, ""]);
  const settings = JSON.parse(await readFile(file, "utf8"));
  assert.equal(settings.model, "opus");
  assert.equal(settings.hooks.PreToolUse.length, 2);
  assert.equal(settings.hooks.PreToolUse[0].hooks[0].command, "./audit.sh");
  assert.match(settings.hooks.Stop[0].hooks[0].command, /loopwarden hook$/);
  assert.match(installed.stdout, /new sessions use it, with loopwarden\.json in the folder they start in/);
  const backup = /Previous version: (.*)/.exec(installed.stdout)?.[1] ?? "";
  assert.equal(await readFile(backup, "utf8"), before);

  assert.match((await start(["install"], "", at)).stdout, /nothing to change/);
  assert.equal((await start(["uninstall"], "", at)).code, 0);
  assert.deepEqual(JSON.parse(await readFile(file, "utf8")), JSON.parse(before));
});

test("what install made is removed by uninstall, and what was there is kept once, however often", async () => {
  const beside = async (file: string) => (await readdir(dirname(file))).sort();
  const { folder: at, file } = await project("made");
  for (let round = 0; round < 3; round++) {
    assert.equal((await start(["install"], "", at)).code, 0);
    assert.deepEqual(await beside(file), ["settings.json"]);
    assert.match((await start(["uninstall", "--dry-run"], "", at)).stdout, /no file/);
    assert.match((await start(["uninstall"], "", at)).stdout, /which held nothing else/);
    assert.deepEqual(await beside(file), []);
  }
  const { folder: there, file: kept } = await project("kept");
  const copies = async () => {
    const names = (await beside(kept)).filter((name) => name !== "settings.json");
    return await Promise.all(names.map((name) => readFile(join(dirname(kept), name), "utf8")));
  };
  const texts = ["{}\n", '{ "model": "opus" }\n'];
  for (const before of [...texts, ...texts]) {
    await writeFile(kept, before);
    for (const action of ["install", "uninstall"]) assert.equal((await start([action], "", there)).code, 0);
    assert.deepEqual(JSON.parse(await readFile(kept, "utf8")), JSON.parse(before));
    assert.ok((await copies()).includes(before));
  }
  // Each of them as it was, and with the hooks in it.
  assert.equal((await copies()).length, 2 * texts.length);
  // What somebody added in the meantime stays.
  const { folder: shared, file: both } = await project("both");
  await start(["install"], "", shared);
  await writeFile(both, JSON.stringify({ ...JSON.parse(await readFile(both, "utf8")), model: "opus" }));
  await start(["uninstall"], "", shared);
  assert.deepEqual(JSON.parse(await readFile(both, "utf8")), { model: "opus" });
});

test("uninstall takes out ours and nothing else, however it was installed", async () => {
  const { folder: at } = await project("careful");
  const file = join(at, ".claude", "settings.local.json");
  const hooks = (...commands: string[]) => commands.map((command) => ({ type: "command", command }));
  const others = [
    { matcher: "*", hooks: hooks("./audit.sh") },
    { matcher: "Bash", hooks: hooks("/home/me/loopwarden/scripts/check.sh pre-tool hook") },
  ];
  const mixed = { matcher: "*", hooks: hooks("./audit.sh", "npx loopwarden hook") };
  await writeFile(file, JSON.stringify({ hooks: { PreToolUse: [mixed, others[1]] } }));
  await writeFile(join(at, "loopwarden.json"), "{}");
  for (const more of [[], ["--config", "loopwarden.json"]]) {
    const { code, stderr } = await start(["install", "--local", ...more], "", at);
    assert.deepEqual([code, stderr], [0, ""]);
    const { PreToolUse, Stop } = JSON.parse(await readFile(file, "utf8")).hooks;
    assert.deepEqual([PreToolUse.length, Stop.length], [3, 1], "installed once");
  }
  assert.equal((await start(["install", "--local", "--no-config"], "", at)).code, 0);
  assert.match(JSON.parse(await readFile(file, "utf8")).hooks.Stop[0].hooks[0].command, / hook --no-config$/);
  assert.equal((await start(["uninstall", "--local"], "", at)).code, 0);
  assert.deepEqual(JSON.parse(await readFile(file, "utf8")), { hooks: { PreToolUse: others } });
  const outside = await start(["install", "--config", join(folder, "elsewhere.json")], "", at);
  assert.notEqual(outside.code, 0);
  await writeFile(join(folder, "elsewhere.json"), "{}");
  const refused = await start(["install", "--config", join(folder, "elsewhere.json")], "", at);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /must be a file of the project/);
});

test("install for a person names the program, and refuses settings that it does not understand", async () => {
  const home = join(folder, ".claude", "settings.json");
  assert.equal((await start(["install", "--user"], "")).code, 0);
  const { hooks } = JSON.parse(await readFile(home, "utf8"));
  assert.ok(hooks.PreToolUse[0].hooks[0].command.includes(cli));
  for (const [bad, complaint] of [
    ['{"a":}', /:1: not valid JSON/],
    ['{\n"a":\n no}', /:3: not valid JSON: an unknown word without quotes at column 2$/m],
    ["[]", /expected a JSON object/],
    ['{"hooks":{"Stop":{}}}', /hooks\.Stop: expected a list/],
  ] as const) {
    await writeFile(home, bad);
    const { code, stderr } = await start(["install", "--user"], "");
    assert.equal(code, 1);
    assert.match(stderr, complaint);
    assert.equal(await readFile(home, "utf8"), bad);
  }
});
