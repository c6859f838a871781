import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Result, run } from "./support/run.ts";

const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "loopwarden-hook-"));
});
after(() => rm(folder, { recursive: true }));

function start(args: string[], input: string, cwd: string = folder): Promise<Result> {
  const env = { HOME: folder, XDG_STATE_HOME: join(folder, "state") };
  return run(process.execPath, [cli, "hook", ...args], { cwd, env, input });
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

test("a sub-agent is an agent of its own", async () => {
  const worker = { agent_id: "a1", agent_type: "reviewer" };
  for (const n of [0, 1]) await turn("agents", n);
  await hook({ ...pre("agents", 2), ...worker });
  assert.deepEqual(await hook({ ...post("agents", 2), ...worker }), {}, "its first call of that kind");
});

test("hooks of one session that run at once are all counted", async () => {
  const session = "parallel";
  const count = 16;
  await Promise.all(Array.from({ length: count }, (_, n) => hook(pre(session, n, `cat part-${n}`), "--state", "par")));
  await Promise.all(
    Array.from({ length: count }, (_, n) => hook({ ...post(session, n), tool_input: {} }, "--state", "par")),
  );
  const [file, ...more] = await readdir(join(folder, "par"));
  assert.deepEqual(more, [], "neither lock nor half a file stays");
  const stands = JSON.parse(
    Buffer.from((await readFile(join(folder, "par", file ?? ""), "utf8")).split(".")[2] ?? "", "base64").toString(),
  );
  assert.deepEqual(stands[0][1].open, [], "every result found its call");
});

test("a hook that is killed leaves a sound state and does not stop the next one", async () => {
  const state = ["--state", "killed"];
  await hook(pre("killed", 0), ...state);
  for (let delay = 20; delay < 420; delay += 40) {
    const child = spawn(process.execPath, [cli, "hook", ...state], {
      cwd: folder,
      stdio: ["pipe", "ignore", "ignore"],
    });
    const closed = once(child, "close");
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(post("killed", 0)));
    await new Promise((resolve) => setTimeout(resolve, delay));
    child.kill("SIGKILL");
    await closed;
    const { code, stderr } = await start(state, JSON.stringify(batch("killed")));
    assert.deepEqual([code, stderr], [0, ""], `killed after ${delay} ms`);
  }
});

test("a state that cannot be read is said so, and the session starts over", async () => {
  await hook(pre("spoilt", 0), "--state", "spoilt");
  const [file = ""] = await readdir(join(folder, "spoilt"));
  await writeFile(join(folder, "spoilt", file), "1.AAAA.e30");
  const { code, stdout, stderr } = await start(["--state", "spoilt"], JSON.stringify(post("spoilt", 0)));
  assert.deepEqual([code, stdout], [0, "{}\n"]);
  assert.match(stderr, /^\[Loopwarden\] could not judge and lets the agent go on/);
  assert.deepEqual(await hook(pre("spoilt", 1), "--state", "spoilt"), {});
});

test("a lock of a process that is gone is taken over, and sessions of long ago are forgotten", async () => {
  const state = join(folder, "old");
  await hook(pre("old", 0), "--state", state);
  const [file = ""] = await readdir(state);
  await writeFile(join(state, `${file}.lock`), "999999999 gone");
  await hook(post("old", 0), "--state", state);
  const long = Date.now() / 1000 - 31 * 24 * 3600;
  await utimes(join(state, file), long, long);
  await hook({ ...base("new"), hook_event_name: "SessionStart", source: "startup" }, "--state", state);
  assert.ok(!(await readdir(state)).includes(file));
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

test("bad input is named, and is no verdict", async () => {
  const cases: [string, RegExp][] = [
    ["", /the standard input is not JSON/],
    ["[]", /not a JSON object/],
    ["{}", /hook_event_name: is missing/],
    ['{"hook_event_name":"PreToolUse"}', /session_id: is missing/],
    ['{"hook_event_name":"PreToolUse","session_id":"s","tool_name":7}', /tool_name: expected text/],
  ];
  for (const [input, complaint] of cases) {
    const { code, stdout, stderr } = await start([], input);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, complaint);
  }
  assert.deepEqual(await hook({ ...base("s"), hook_event_name: "SomethingNew" }), {});
  await writeFile(join(folder, "file"), "");
  for (const nowhere of [join(folder, "file", "state"), ...(process.platform === "linux" ? ["/proc/nowhere"] : [])]) {
    const { code, stderr } = await start(["--state", nowhere], JSON.stringify(pre("s", 0)));
    assert.equal(code, 1);
    assert.ok(stderr.startsWith(`loopwarden: ${nowhere}: `), stderr);
  }
  assert.equal((await start(["--prompts", "nobody"], "{}")).code, 2);
  assert.equal((await start(["--user"], "{}")).code, 2);
});

test("install writes the hooks beside what is there, once, and uninstall leaves nothing of it", async () => {
  const project = join(folder, "project");
  const file = join(project, ".claude", "settings.json");
  await mkdir(join(project, ".claude"), { recursive: true });
  const before = `{
    "model": "opus",
    "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "./audit.sh" }] }] }
}
`;
  await writeFile(file, before);
  const dry = await start(["install", "--dry-run"], "", project);
  assert.match(dry.stdout, /^\+.*node_modules\/\.bin\/loopwarden hook/m);
  assert.equal(await readFile(file, "utf8"), before);

  const installed = await start(["install"], "", project);
  assert.deepEqual([installed.code, installed.stderr], [0, ""]);
  const settings = JSON.parse(await readFile(file, "utf8"));
  assert.equal(settings.model, "opus");
  assert.equal(settings.hooks.PreToolUse.length, 2);
  assert.equal(settings.hooks.PreToolUse[0].hooks[0].command, "./audit.sh");
  assert.match(settings.hooks.Stop[0].hooks[0].command, /loopwarden hook$/);
  const backup = /As it was: (.*)/.exec(installed.stdout)?.[1] ?? "";
  assert.equal(await readFile(backup, "utf8"), before);

  assert.match((await start(["install"], "", project)).stdout, /nothing to change/);
  assert.equal((await start(["uninstall"], "", project)).code, 0);
  assert.deepEqual(JSON.parse(await readFile(file, "utf8")), JSON.parse(before));
});

test("uninstall takes out ours and nothing else, however it was installed", async () => {
  const project = join(folder, "careful");
  const file = join(project, ".claude", "settings.local.json");
  await mkdir(join(project, ".claude"), { recursive: true });
  const hooks = (...commands: string[]) => commands.map((command) => ({ type: "command", command }));
  const others = [
    { matcher: "*", hooks: hooks("./audit.sh") },
    { matcher: "Bash", hooks: hooks("/home/me/loopwarden/scripts/check.sh pre-tool hook") },
  ];
  const mixed = { matcher: "*", hooks: hooks("./audit.sh", "npx loopwarden hook") };
  await writeFile(file, JSON.stringify({ hooks: { PreToolUse: [mixed, others[1]] } }));
  await writeFile(join(project, "loopwarden.json"), "{}");
  for (const more of [[], ["--config", "loopwarden.json"]]) {
    const { code, stderr } = await start(["install", "--local", ...more], "", project);
    assert.deepEqual([code, stderr], [0, ""]);
    const { PreToolUse, Stop } = JSON.parse(await readFile(file, "utf8")).hooks;
    assert.deepEqual([PreToolUse.length, Stop.length], [3, 1], "installed once");
  }
  assert.equal((await start(["uninstall", "--local"], "", project)).code, 0);
  assert.deepEqual(JSON.parse(await readFile(file, "utf8")), { hooks: { PreToolUse: others } });
  const outside = await start(["install", "--config", join(folder, "elsewhere.json")], "", project);
  assert.notEqual(outside.code, 0);
  await writeFile(join(folder, "elsewhere.json"), "{}");
  const refused = await start(["install", "--config", join(folder, "elsewhere.json")], "", project);
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
