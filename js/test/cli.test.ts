import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { AgentEvent as Event, TraceEvent } from "../dist/index.js";
import { version } from "../dist/index.js";
import { type Result, run } from "./support/run.ts";

const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "loopwarden-cli-"));
});
after(() => rm(folder, { recursive: true }));

const loopwarden = (...args: string[]): Promise<Result> => run(process.execPath, [cli, ...args], { cwd: folder });

async function file(name: string, content: string | Uint8Array): Promise<string> {
  await writeFile(join(folder, name), content);
  return name;
}

const jsonLines = (values: unknown[]): string => `${values.map((value) => JSON.stringify(value)).join("\n")}\n`;

/** One call and its result. */
function pair(step: number, args: unknown, output: string, outcome: "ok" | "error" = "error"): Event[] {
  const callId = `call-${step}`;
  return [
    { type: "tool-call", tool: "edit_file", args, callId, step },
    { type: "tool-result", callId, tool: "edit_file", outcome, output, step },
  ];
}

/** The same failing call, n times. */
const stuck = (n: number): Event[] =>
  Array.from({ length: n }, (_, step) => pair(step, { path: "cart.ts" }, "text not found in cart.ts")).flat();

/** Different calls that succeed. */
const busy = (n: number): Event[] =>
  Array.from({ length: n }, (_, step) => pair(step, { path: `part-${step}.ts` }, `wrote part ${step}`, "ok")).flat();

test("help tells every command and every exit code", async () => {
  const { code, stdout } = await loopwarden("--help");
  assert.equal(code, 0);
  for (const word of ["replay", "eval", "config check", "schema", "Exit codes", "NO_COLOR"]) {
    assert.ok(stdout.includes(word), word);
  }
  for (const command of ["replay", "eval", "config", "schema"]) {
    const own = await loopwarden(command, "--help");
    assert.equal(own.code, 0);
    assert.match(own.stdout, new RegExp(`^Usage: loopwarden ${command}`));
    assert.match(own.stdout, /Exit codes:/);
    assert.deepEqual(await loopwarden("help", command), own);
  }
});

test("the version is the package's", async () => {
  assert.deepEqual(await loopwarden("--version"), { code: 0, stdout: `${version()}\n`, stderr: "" });
});

test("wrong usage is answered with what was meant, and 2", async (t) => {
  const cases: [args: string[], message: RegExp][] = [
    [[], /which command\?/],
    [["reply"], /no command reply, did you mean replay\?/],
    [["toString"], /no command toString/],
    [["replay"], /replay: expected one file/],
    [["replay", "a", "b"], /replay: expected one file/],
    [["replay", "a", "--levl", "halt"], /unknown option --levl, did you mean --level\?/],
    [["replay", "a", "--level", "stop"], /--level stop: expected one of observe, nudge, block, gate, halt/],
    [["replay", "a", "--format", "xml"], /--format xml: expected one of trace, claude-code, openai, .*opentelemetry/],
    [["replay", "a", "--format", "antropic"], /--format antropic, did you mean anthropic\?/],
    [["eval"], /which files or folders\?/],
    [["config", "chek", "a"], /expected `check FILE`/],
    [["schema", "evnt"], /did you mean event\?/],
  ];
  for (const [args, message] of cases) {
    await t.test(args.join(" ") || "nothing", async () => {
      const { code, stdout, stderr } = await loopwarden(...args);
      assert.equal(code, 2);
      assert.equal(stdout, "");
      assert.match(stderr, message);
      assert.match(stderr, /See loopwarden .*--help/);
    });
  }
});

test("replay: a run without a loop", async () => {
  const { code, stdout, stderr } = await loopwarden("replay", await file("busy.jsonl", jsonLines(busy(6))));
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /busy\.jsonl · trace · 12 events/);
  assert.match(stdout, /No loop found\./);
});

test("replay: a loop is told with its evidence, the advice and the report", async () => {
  const name = await file("stuck.jsonl", jsonLines([...busy(2), ...stuck(12)]));
  const { code, stdout } = await loopwarden("replay", name);
  assert.equal(code, 3);
  assert.match(stdout, /^step \d+ {2}(nudge|block|gate|halt) {2}repeated-\w+: /m);
  assert.match(stdout, /edit_file\(path: cart\.ts\)/);
  assert.match(stdout, /→ error: text not found in cart\.ts/);
  assert.match(stdout, /│ .*Loopwarden/);
  assert.match(stdout, /^#/m, "the report is Markdown");
  assert.ok(!stdout.includes("\u001b"), "no colours when it is not a terminal");
});

test("replay --level decides the exit code", async () => {
  const name = await file("short.jsonl", jsonLines(stuck(4)));
  assert.equal((await loopwarden("replay", name, "--level", "nudge")).code, 3);
  assert.equal((await loopwarden("replay", name, "--level", "halt")).code, 0);
  const quiet = await file("quiet.json", '{"enabled":false}');
  assert.equal((await loopwarden("replay", name, "--config", quiet)).code, 0);
  const shadow = await file("shadow.json", '{"mode":"shadow"}');
  assert.equal((await loopwarden("replay", name, "--config", shadow)).code, 3, "what it would have been counts");
});

test("replay --json: one verdict a line, gzip and standard input alike", async () => {
  const text = jsonLines(stuck(4));
  const plain = await loopwarden("replay", await file("plain.jsonl", text), "--json");
  const verdicts = plain.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    verdicts.map(({ seq }) => seq),
    [0, 1, 2, 3, 4, 5, 6, 7],
  );
  const packed = await loopwarden("replay", await file("packed.jsonl.gz", gzipSync(text)), "--json");
  assert.deepEqual(packed, plain);
  for (const input of [text, gzipSync(text)]) {
    const piped = await run(process.execPath, [cli, "replay", "-", "--json"], { input });
    assert.deepEqual(piped, plain);
  }
});

/** A conversation in which one edit fails again and again, as the messages of an API. */
const chat = (times: number) => [
  { role: "user", content: "Fix the cart." },
  ...Array.from({ length: times }, (_, index) => [
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: `c${index}`, type: "function", function: { name: "edit", arguments: `{"old":"a${index}"}` } }],
    },
    { role: "tool", tool_call_id: `c${index}`, content: "Error: the text is not in cart.ts" },
  ]).flat(),
];

test("replay: runs of other programs, recognised or named", async () => {
  const transcripts = new URL("../../tests/transcripts/", import.meta.url);
  const cases: [name: string, format: string][] = [
    ["openai-chat.json", "openai"],
    ["ai-sdk-ui.json", "ai-sdk"],
    ["swe-agent.traj", "swe-agent"],
    ["openhands.json", "openhands"],
    ["gemini-cli-session.json", "gemini-cli"],
    ["opentelemetry-otlp.json", "opentelemetry"],
  ];
  for (const [name, format] of cases) {
    const path = fileURLToPath(new URL(name, transcripts));
    const found = await loopwarden("replay", path);
    assert.deepEqual([found.code, found.stderr], [3, ""], name);
    assert.match(found.stdout, new RegExp(` · ${format} · \\d+ events`));
    assert.deepEqual(await loopwarden("replay", path, "--format", format), found);
  }
});

test("replay: a broken entry of a document is reported with its line", async () => {
  const [first, ...rest] = chat(8).map((message) => JSON.stringify(message));
  const name = await file(
    "chat.json",
    `{"messages": [\n${[first, '{"role": "user", "content": ', ...rest].join(",\n")}\n]}\n`,
  );
  const { code, stdout, stderr } = await loopwarden("replay", name, "--level", "block");
  assert.equal(code, 3);
  assert.match(stderr, /^chat\.json:3: invalid-json: /);
  assert.equal(stderr.trimEnd().split("\n").length, 1);
  assert.match(stdout, /openai · 17 events/);
  assert.match(stdout, /^line \d+ {2}block {2}repeated-error/m);
});

test("replay: a pending event is judged and not recorded", async () => {
  const pending: TraceEvent = { type: "tool-call", tool: "t", args: {}, pending: true };
  const name = await file("pending.jsonl", jsonLines([{ type: "output", text: "a" }, pending, pending]));
  const { stdout } = await loopwarden("replay", name, "--json");
  const seqs = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).seq);
  assert.deepEqual(seqs, [0, 1, 1]);
});

test("replay: broken lines are reported, the rest goes on", async () => {
  const lines = ['{"type":"output","text":"a"}', "{no", '{"type":"output","txt":"a"}', '{"type":"output","text":"b"}'];
  const { code, stdout, stderr } = await loopwarden("replay", await file("broken.jsonl", lines.join("\n")), "--json");
  assert.equal(code, 0);
  assert.equal(stdout.trimEnd().split("\n").length, 2);
  assert.match(stderr, /broken\.jsonl:2: invalid-json: .* at column 2/);
  assert.match(stderr, /broken\.jsonl:3: invalid-event: `txt`: unknown field/);
});

test("files that cannot be read: 1 and why", async () => {
  const cases: [name: string, message: RegExp][] = [
    ["missing.jsonl", /missing\.jsonl: no such file/],
    [".", /is a folder/],
    [await file("cut.jsonl.gz", gzipSync(jsonLines(busy(50))).subarray(0, 60)), /cut\.jsonl\.gz: .*cut off/],
  ];
  for (const [name, message] of cases) {
    const { code, stderr } = await loopwarden("replay", name);
    assert.equal(code, 1);
    assert.match(stderr, message);
  }
});

test("config check", async () => {
  const good = await file("good.json", '{"mode":"shadow"}');
  assert.deepEqual(await loopwarden("config", "check", good), { code: 0, stdout: "good.json: ok\n", stderr: "" });
  const bad = await file("bad.json", '{\n  "rules": {\n    "cycle": {\n      "blok": 3\n    }\n  }\n}\n');
  const { code, stderr } = await loopwarden("config", "check", bad);
  assert.equal(code, 1);
  assert.match(stderr, /bad\.json:4: invalid-config: `rules\.cycle\.blok`: unknown field/);
  const dotted = await file("dotted.json", '{\n  "tools": {\n    "a.b.*": {\n      "polling": 1\n    }\n  }\n}\n');
  assert.match((await loopwarden("config", "check", dotted)).stderr, /dotted\.json:4: invalid-config/);
  const text = await file("text.json", '{\n  "mode": shadow\n}\n');
  assert.match((await loopwarden("config", "check", text)).stderr, /text\.json: invalid-json: .*line 2/);
});

test("schema prints what is published", async () => {
  const names = (await loopwarden("schema")).stdout.trimEnd().split("\n");
  assert.ok(["event", "verdict", "config", "scenario"].every((name) => names.includes(name)));
  for (const name of names) {
    const { code, stdout } = await loopwarden("schema", name);
    assert.equal(code, 0);
    assert.match(JSON.parse(stdout).$schema, /2020-12/);
  }
});

test("eval scores as the specification says", async () => {
  const late = 2 * 3 - 1;
  const scenarios = [
    { id: "caught", expect: "loop", events: stuck(8) },
    { id: "in-time", expect: "loop", expectAt: 15, events: stuck(8) },
    { id: "too-late", expect: "loop", expectAt: 1, events: stuck(8) },
    { id: "not-at-all", expect: "loop", events: busy(8) },
    { id: "too-early", expect: "loop", expectAt: 15, firstAt: true, events: stuck(8) },
    { id: "to-the-event", expect: "loop", expectAt: late, firstAt: true, events: stuck(8) },
    { id: "honest", expect: "no-loop", events: busy(8) },
    { id: "alarmed", expect: "no-loop", events: stuck(8) },
    { id: "silenced", expect: "no-loop", events: stuck(8), config: { enabled: false } },
    { id: "shadow", expect: "loop", events: stuck(8), config: { mode: "shadow" } },
    { id: "pending", expect: "no-loop", events: stuck(1).concat({ ...stuck(1)[0], pending: true } as TraceEvent) },
    { id: "passed", success: true, events: busy(8) },
    { id: "failed", success: false, events: stuck(8) },
    { id: "unknown", events: stuck(8), whatever: [1] },
    { id: "refused", expect: "no-loop", events: [{ type: "output" }, ...busy(1)] },
  ];
  await mkdir(join(folder, "set/deeper"), { recursive: true });
  await file("set/a.jsonl", `${jsonLines(scenarios)}{broken\n`);
  await file("set/deeper/b.jsonl.gz", gzipSync(jsonLines(scenarios.slice(0, 1))));
  await file("set/notes.txt", "not a scenario");
  const { code, stdout, stderr } = await loopwarden("eval", "set", "--json");
  assert.equal(code, 0);
  const [a, b, total, ...more] = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(more.length, 0);
  const { seconds, ...score } = a;
  assert.equal(typeof seconds, "number");
  assert.deepEqual(score, {
    file: join("set", "a.jsonl"),
    scenarios: 15,
    loops: 7,
    caught: 4,
    noLoops: 5,
    falseAlarms: 1,
    missed: ["too-late", "not-at-all", "too-early"],
    false: ["alarmed"],
    success: { runs: 1, alarms: 0 },
    failure: { runs: 1, alarms: 1 },
    events: scenarios.reduce((sum, { events }) => sum + events.length, 0),
    refused: 2,
  });
  assert.deepEqual([b.loops, b.caught], [1, 1]);
  assert.deepEqual([total.file, total.loops, total.caught, total.refused], ["total", 8, 5, 2]);
  assert.match(stderr, /a\.jsonl:15: events\[0\]: invalid-event: `text`: missing field/);
  assert.match(stderr, /a\.jsonl:16: invalid-json/);
  assert.match(stderr, /\[1\/2\] set.a\.jsonl: 15 scenarios/);
});

test("eval --level, --config and the table", async () => {
  const name = await file("level.jsonl", jsonLines([{ id: "short", expect: "loop", events: stuck(4) }]));
  const caught = async (...args: string[]) =>
    JSON.parse((await loopwarden("eval", name, "--json", ...args)).stdout.split("\n")[0] ?? "").caught;
  assert.equal(await caught(), 1);
  assert.equal(await caught("--level", "halt"), 0);
  assert.equal(await caught("--config", await file("off.json", '{"enabled":false}')), 0);
  const { stdout } = await loopwarden("eval", name, "--level", "halt");
  assert.match(stdout, /Verdicts at halt or above/);
  assert.match(stdout, /missed +short/);
});

test("eval takes runs of other programs: a file without labels, or a line each with them", async () => {
  await mkdir(join(folder, "foreign"), { recursive: true });
  const labelled = [
    { id: "looped", expect: "loop", messages: chat(8) },
    { id: "short", expect: "no-loop", messages: chat(1) },
    { id: "passed", success: true, messages: chat(1) },
    { id: "unknown", messages: chat(8) },
  ];
  await file("foreign/labelled.jsonl", `${jsonLines(labelled)}{"messages": [\n`);
  const step = { action: "make", observation: "make: *** No rule to make target", thought: "Build.", response: "" };
  await file("foreign/run.traj", JSON.stringify({ trajectory: Array.from({ length: 12 }, () => step), info: {} }));
  const { code, stdout, stderr } = await loopwarden("eval", "foreign", "--json");
  assert.equal(code, 0);
  const [lines, trajectory, total] = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual([lines.scenarios, lines.loops, lines.caught, lines.noLoops, lines.falseAlarms], [5, 1, 1, 1, 0]);
  assert.deepEqual(lines.success, { runs: 1, alarms: 0 });
  assert.deepEqual(lines.unlabelled, { runs: 2, alarms: 1 });
  assert.match(stderr, /labelled\.jsonl:5: invalid-json/);
  assert.deepEqual([trajectory.unlabelled, trajectory.events], [{ runs: 1, alarms: 1 }, 36]);
  assert.deepEqual(total.unlabelled, { runs: 3, alarms: 2 });
  assert.match((await loopwarden("eval", "foreign")).stdout, /unlabelled/);
});
