import assert from "node:assert/strict";
import { link, lstat, mkdir, mkdtemp, open, readdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
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

test("results that fit no call are told of in one line, and by the name of their tool", async () => {
  const lost = stuck(4).map((event) =>
    event.type === "tool-result" ? { ...event, callId: `r-${event.step}` } : event,
  );
  const name = await file("lost.jsonl", jsonLines(lost));
  const line = "lost.jsonl: 4 results match no call; no earlier call has the callId: r-0 in line 2, …\n";
  for (const command of ["replay", "explain", "eval"]) {
    const { stdout, stderr } = await loopwarden(command, name);
    assert.ok(stderr.startsWith(line), `${command}: ${stderr}`);
    assert.doesNotMatch(stdout, /a tool`/);
    if (command === "replay") assert.match(stdout, /repeated-error: `edit_file` failed 3 times/);
  }
  const one = await file("one.jsonl", jsonLines([...lost.slice(0, 2), ...stuck(4)]));
  const { stderr } = await loopwarden("replay", one);
  assert.equal(stderr, "one.jsonl: 1 result matches no call; no earlier call has the callId: r-0 in line 2\n");
  assert.equal((await loopwarden("replay", await file("found.jsonl", jsonLines(stuck(4))))).stderr, "");
});

test("help tells every command and every exit code", async () => {
  const { code, stdout } = await loopwarden("--help");
  assert.equal(code, 0);
  for (const word of ["replay", "eval", "config check", "schema", "Exit codes", "NO_COLOR"]) {
    assert.ok(stdout.includes(word), word);
  }
  for (const command of [
    "replay",
    "watch",
    "explain",
    "view",
    "eval",
    "tune",
    "hook",
    "mcp",
    "config",
    "doctor",
    "schema",
    "completion",
  ]) {
    assert.ok(stdout.includes(`\n  ${command} `), command);
    const own = await loopwarden(command, "--help");
    assert.equal(own.code, 0);
    assert.match(own.stdout, new RegExp(`^Usage: loopwarden ${command}`));
    assert.match(own.stdout, /Exit codes:/);
    assert.deepEqual(await loopwarden("help", command), own);
  }
});

test("the version is the package's", async () => {
  for (const flag of ["--version", "-v"])
    assert.deepEqual(await loopwarden(flag), { code: 0, stdout: `${version()}\n`, stderr: "" });
  const told = JSON.parse((await loopwarden("-v", "--json")).stdout);
  assert.equal(`${told.version}+rules.${told.rules}`, version());
});

test("wrong usage is answered with what was meant, and 2", async (t) => {
  const cases: [args: string[], message: RegExp][] = [
    [[], /which command\?\n\nUsage: loopwarden COMMAND/],
    [["reply"], /no command reply, did you mean replay\?/],
    [["toString"], /no command toString: expected one of replay, watch, .*, completion$/m],
    [["comp", "bash"], /no command comp, did you mean completion\?/],
    [["check"], /no command check, did you mean config check\?/],
    [["uninstall"], /no command uninstall, did you mean hook uninstall\?/],
    [["replay"], /replay: expected one file/],
    [["replay", "a", "b"], /replay: expected one file/],
    [["replay", "a", "--levl", "halt"], /unknown option --levl, did you mean --level\?/],
    [["explain", "a", "--lvl", "halt"], /unknown option --lvl$/m],
    [["explain", "a", "--scen", "b"], /unknown option --scen, did you mean --scenario\?/],
    [["watch", "a", "--last"], /expected one file or folder, or none/],
    [["replay", "a", "--level", "stop"], /--level stop: expected one of observe, nudge, block, gate, halt/],
    [["replay", "a", "--format", "xml"], /--format xml: expected one of trace, claude-code, openai, .*opentelemetry/],
    [
      ["replay", "a", "--format", "antropic"],
      /--format antropic: expected one of trace, .*, opentelemetry; did you mean anthropic\?/,
    ],
    [["replay", "a", "--format", "claude"], /--format claude: expected one of .*; did you mean claude-code\?/],
    [["watch", "a", "--format", "Gemini"], /--format Gemini: expected one of .*; did you mean gemini-cli\?/],
    [["replay", "a", "--level", "HALT"], /--level HALT: expected one of .*; did you mean halt\?/],
    [["replay", "a", "--reporter", "xml"], /--reporter xml: expected one of junit, sarif, github/],
    [["eval"], /which files or folders\?/],
    [["config", "chek", "a"], /config chek: expected one of check, show; did you mean check\?/],
    [["schema", "evnt"], /none for evnt: expected one of event, verdict, .*, error; did you mean event\?/],
    [["replay", "a", "--level", "hallt"], /--level hallt: expected one of observe, .*, halt; did you mean halt\?/],
    [["tune", "a", "--unlabelled", "foo"], /--unlabelled foo: expected one of honest, loop, skip/],
    [["schema", "foo"], /there is none for foo: expected one of event, verdict, config, .*, error/],
    [["completion", "tcsh"], /completion tcsh: expected one of bash, zsh, fish$/m],
  ];
  for (const [args, message] of cases) {
    await t.test(args.join(" ") || "nothing", async () => {
      const { code, stdout, stderr } = await loopwarden(...args);
      assert.equal(code, 2);
      assert.equal(stdout, "");
      assert.match(stderr, message);
      assert.match(stderr, /See node \S+ .*--help|^Usage: loopwarden COMMAND/m);
    });
  }
});

test("replay: a run without a loop", async () => {
  const { code, stdout, stderr } = await loopwarden("replay", await file("busy.jsonl", jsonLines(busy(6))));
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /busy\.jsonl · trace$/m);
  assert.match(stdout, /No loop found in 12 events\./);
});

test("replay: what is judged alike after a halt is told in one line", async () => {
  const edits = Array.from({ length: 16 }, (_, n) =>
    pair(n, { path: "cart.ts", old: `a${n}` }, "text not found"),
  ).flat();
  const halts = async (events: Event[], ...args: string[]) => {
    const plain = events.map((event) => ({ ...event, step: undefined, callId: undefined }));
    const { stdout } = await loopwarden("replay", await file("on.jsonl", jsonLines(plain)), ...args);
    return stdout.split("\n").filter((text) => /^line .* {2}halt/.test(text));
  };
  const told = [
    "line 16  halt  repeated-error: `edit_file` failed at least 8 times in the same way with different arguments",
    "line 17 to line 32  halt  16 times more: the run was not ended",
  ];
  assert.deepEqual(await halts(edits), told);
  assert.deepEqual((await halts(edits.slice(0, 17))).at(-1), "line 17  halt  once more: the run was not ended");
  const shadow = await halts(edits, "--config", await file("shadow.json", '{ "mode": "shadow" }'));
  assert.equal(shadow[1], "line 17 to line 32  halt (shadow mode)  16 times more: the run was not ended");
  // A new task is another story.
  const both = await halts([...edits, { type: "message", role: "user", text: "Try again" }, ...edits]);
  assert.deepEqual(both.slice(0, 2), told);
  assert.match(both[2] ?? "", /^line 49 {2}halt {2}repeated-error: /);
  assert.equal(both[3], "line 50 to line 65  halt  16 times more: the run was not ended");
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
  // The command that says why, as it is printed: of the first event at the highest level.
  const why = /^why {2}node \S+ (explain \S+ --at line:\d+)$/m.exec(stdout)?.[1] ?? "";
  const explained = await loopwarden(...why.split(" "));
  assert.equal(explained.code, 0, stdout);
  assert.match(explained.stdout, /^halt$/m);
  assert.ok(!stdout.includes("\u001b"), "no colours when it is not a terminal");
});

test("replay quotes a call once for all that is told at one event", async () => {
  const { stdout } = await loopwarden("replay", await file("several.jsonl", jsonLines(stuck(4))));
  const [, first = ""] = stdout.split("\n\n");
  // More than one rule, the same three calls.
  assert.ok((first.match(/ nudge {2}/g) ?? []).length > 1, first);
  const quoted = first.match(/^ {4}step \d+ /gm) ?? [];
  assert.ok(quoted.length >= 3, first);
  assert.equal(new Set(quoted).size, quoted.length, first);
});

test("replay says what tells calls apart that read the same", async () => {
  const tries = ["total > limit", "total  > limit", "total >\tlimit"].flatMap((text, step) =>
    pair(step, { path: "cart.ts", old: text }, "text not found in cart.ts"),
  );
  const { stdout } = await loopwarden("replay", await file("blanks.jsonl", jsonLines(tries)));
  const [first, ...others] = stdout.split("\n").filter((line) => line.startsWith("    step"));
  assert.doesNotMatch(first ?? "", /white space/);
  assert.equal(others.length, 2, stdout);
  for (const line of others) assert.match(line, /old: total > limit, path: cart\.ts\) {2}\(other white space\)$/);
});

test("replay names all events of one line in one way", async () => {
  const events = stuck(6).map(({ step: _, ...event }) => event as Event);
  const { stdout } = await loopwarden("replay", await file("whole.jsonl", jsonLines([{ id: "a", events }])));
  assert.match(stdout, /^event 5 {2}nudge/m);
  assert.match(stdout, /^ {4}event [01] /m);
  assert.doesNotMatch(stdout, /\bline 1\b/);
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

test("names that JavaScript gives a meaning are names like others", async () => {
  // Written by hand: of an object with `__proto__` nothing is printed.
  const steps = (name: string): string => {
    const args = `{ "${name}": { "polluted": 1 }, "path": "${name}" }`;
    const whose = `"run": "${name}", "agent": "${name}", "task": "${name}"`;
    const calls = Array.from({ length: 6 }, (_, step) => [
      `{ "type": "tool-call", "tool": "${name}", "args": ${args}, "callId": "${name}-${step}", ${whose} }`,
      `{ "type": "tool-result", "tool": "${name}", "outcome": "error", "output": "no such row", "callId": "${name}-${step}", ${whose} }`,
    ]);
    return `${calls.flat().join("\n")}\n`;
  };
  const levels = async (name: string): Promise<string[]> => {
    const path = await file(`names-${name}.jsonl`, steps(name));
    for (const command of [["explain"], ["tune"], ["view", "-o", `names-${name}.html`]]) {
      const told = await loopwarden(...command, path);
      assert.ok(told.code === 0 || told.code === 3, `${command[0]} ${name}: ${told.code} ${told.stderr}`);
      assert.doesNotMatch(told.stderr, /internal|TypeError| {4}at /);
    }
    const { stdout } = await loopwarden("replay", path, "--json");
    return stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).level);
  };
  const usual = await levels("fetch_rows");
  assert.ok(usual.includes("block"));
  for (const name of ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"]) {
    assert.deepEqual(await levels(name), usual, name);
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
    assert.match(found.stdout, new RegExp(` · ${format}$`, "m"));
    const named = await loopwarden("replay", path, "--format", format);
    assert.deepEqual({ ...named, stdout: named.stdout.replace(` --format ${format} --at`, " --at") }, found);
  }
  // What is of another format is no run without a loop.
  for (const [name, format] of cases) {
    const path = fileURLToPath(new URL(name, transcripts));
    for (const wrong of ["gemini-cli", "opentelemetry", "ai-sdk"].filter((wrong) => wrong !== format)) {
      const { code, stdout, stderr } = await loopwarden("replay", path, "--format", wrong);
      assert.deepEqual([code, stdout], [1, ""], `${name} as ${wrong}`);
      assert.ok(stderr.includes(`is of the format ${format} and not ${wrong}`), `${name} as ${wrong}: ${stderr}`);
    }
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
  assert.match(
    stderr,
    /^chat\.json:3: invalid-json: [^\n]*\nchat\.json: cannot be read: 1 of \d+ lines or events: the results are about the rest\n$/,
  );
  assert.match(stdout, /openai$/m);
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
  // Half of it says nothing about the run.
  assert.equal(code, 1);
  assert.equal(stdout.trimEnd().split("\n").length, 2);
  assert.match(stderr, /broken\.jsonl:2: invalid-json: .* at column 2/);
  assert.match(stderr, /broken\.jsonl:3: invalid-event: `txt`: unknown field/);
});

test("files that cannot be read: 1 and why", async () => {
  const cases: [name: string, message: RegExp][] = [
    ["missing.jsonl", /missing\.jsonl: no such file/],
    [".", /is a folder; .*--last/],
    [await file("empty.jsonl", ""), /empty\.jsonl: is empty/],
    [await file("blank.jsonl", " \n\n"), /blank\.jsonl: is empty/],
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
  assert.match((await loopwarden("config", "check", text)).stderr, /text\.json:2: invalid-json: /);
});

test("config check: what is no configuration is told as that, and the defaults count where there is none", async () => {
  const deep = (levels: number) => `{\n"tools":${'{"a":'.repeat(levels)}`;
  const cases: [name: string, message: RegExp][] = [
    [await file("deep.json", deep(20_000)), /deep\.json:2: invalid-json: nested deeper than 120 levels/],
    [await file("signs.json", `{ // ${"[".repeat(200)}\n"${"{".repeat(200)}": 1 }`), /signs\.json:2: invalid-config: /],
    [await file("large.json", deep(100_000)), /large\.json: is too large for a configuration/],
    [
      await file("marked.json", Buffer.from('\ufeff{"mode":"shadow"}', "utf16le")),
      /marked\.json: is UTF-16; save it as UTF-8/,
    ],
    [await file("bare.json", Buffer.from("{}", "utf16le")), /bare\.json: is UTF-16; save it as UTF-8/],
    [await file("picture.json", Buffer.from([1, 2, 0, 0])), /a configuration is UTF-8 text/],
    [".", /^loopwarden: \.: is a folder; name a file in it$/m],
  ];
  for (const [name, message] of cases) {
    const { code, stderr } = await loopwarden("config", "check", name);
    assert.equal(code, 1, stderr);
    assert.match(stderr, message);
  }
  const absent = "no loopwarden.json in this folder: the defaults are in force";
  assert.deepEqual(await loopwarden("config", "check"), { code: 0, stdout: `${absent}\n`, stderr: "" });
  const { code, stdout, stderr } = await loopwarden("config", "show");
  assert.deepEqual([code, stderr], [0, `loopwarden: ${absent}\n`]);
  assert.match(stdout, /^\{\}\n\nrules in force/);
  const named = await loopwarden("config", "show", "loopwarden.json");
  assert.match(named.stderr, /loopwarden\.json: no such file/);
});

test("a compressed log that is cut off is read as far as it goes, and standard input is called that", async () => {
  const packed = gzipSync(
    jsonLines(Array.from({ length: 300 }, (_, at) => pair(at, { at: Math.sin(at) }, "", "ok")).flat()),
  );
  const name = await file("short.jsonl.gz", packed.subarray(0, packed.length - 200));
  const there = await loopwarden("replay", name);
  assert.match(there.stderr, /short\.jsonl\.gz: the gzip file is cut off; what stands before that is read/);
  assert.match(there.stdout, /No loop found in 5\d\d events/);
  assert.equal(there.code, 0);
  const input = packed.subarray(0, packed.length - 200);
  const given = await run(process.execPath, [cli, "replay", "-"], { cwd: folder, input });
  assert.match(given.stderr, /^loopwarden: standard input: the gzip file is cut off/m);
  assert.match(given.stderr, /^standard input:\d+: invalid-json/m);
  const twice = await file(
    "twice.jsonl.gz",
    Buffer.concat([gzipSync(jsonLines(busy(3))), gzipSync(jsonLines(busy(3)))]),
  );
  assert.match((await loopwarden("replay", twice)).stdout, /No loop found in 12 events/);
});

test("config check notes keys that stand twice and zeros that switch off", async () => {
  const name = await file(
    "noted.json",
    `{
  // both modes
  "mode": "shadow", "mode": "enforce",
  "rules": { "cycle": { "halt": 0 } },
  "tools": { "a.b": { "rules": { "cycle": { "block": 0 } }, "ignoreArgs": [] } },
  "budgets": { "maxIterations": 0, "consecutiveErrors": 12, "maxTokens": 9000 },
  "unattendedLevel": "nudge",
  "tools": { "b": { "rules": { "cycle": { "enabled": false, "block": 4 } } } }
}`,
  );
  const { code, stdout } = await loopwarden("config", "check", name);
  assert.deepEqual(
    [code, stdout.trimEnd().split("\n")],
    [
      0,
      [
        "noted.json: ok",
        "noted.json:3: note: `mode`: is there twice, the last one counts",
        "noted.json:4: note: `rules.cycle.halt`: 0 switches it off",
        "noted.json:5: note: `tools.a.b.rules.cycle.block`: 0 switches it off",
        "noted.json:6: note: `budgets.maxIterations`: 0 means no limit",
        "noted.json:6: note: `budgets.maxTokens`: counts `turn` events only, not a run of calls",
        "noted.json:7: note: `unattendedLevel`: has no effect unless `attended` is false",
        "noted.json:8: note: `tools`: is there twice, the last one counts",
        "noted.json:8: note: `tools.b.rules.cycle.block`: has no effect: the rule is off",
      ],
    ],
  );
  const { notes } = JSON.parse((await loopwarden("config", "check", name, "--json")).stdout);
  assert.deepEqual(notes[0], { line: 3, field: "mode", message: "is there twice, the last one counts" });
});

test("config show: what is in force, with all that it extends", async () => {
  const own = await file(
    "extends.json",
    `{ "extends": "roo-code", "budgets": { "maxIterations": 90 }, "privacy": { "salt": "a-secret-of-mine" } }`,
  );
  const { stdout, code } = await loopwarden("config", "show", own);
  assert.equal(code, 0);
  assert.match(stdout, /"onlyNamed": true/);
  assert.match(stdout, /counter same-call .* 4 /);
  assert.match(stdout, /max-iterations .* 90/);
  assert.doesNotMatch(stdout, /repeated-call|a-secret/);
  const { config, rules } = JSON.parse((await loopwarden("config", "show", own, "--json")).stdout);
  assert.deepEqual(config.conventions.counters["same-call"], { of: "calls", anew: true, block: 4 });
  assert.deepEqual(rules.map(({ id }: { id: string }) => id).sort(), ["counter", "max-iterations"]);
  const polls = await file(
    "polls.json",
    '{ "tools": { "job_*": { "polling": true, "ignoreArgs": ["at", "nonce"] } } }',
  );
  const shown = (await loopwarden("config", "show", polls, "--tool", "job_tail")).stdout;
  assert.match(shown, /^job_tail: is declared to poll: repeated-call, blind-repeat, .* need three times as much$/m);
  assert.match(shown, /^job_tail: calls are compared without at, nonce$/m);
  assert.doesNotMatch((await loopwarden("config", "show", polls, "--tool", "read")).stdout, /^read: /m);
  const wrong = await file("wrong.json", `{\n  "extends": ["goose", "openhand"]\n}`);
  const refused = await loopwarden("config", "check", wrong);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /extends\[1\].*did you mean `openhands`/);
  assert.equal((await loopwarden("config", "check", own, "--tool", "x")).code, 2);
});

test("config check: comments, a schema for the editor, mistakes with one suggestion", async () => {
  const commented = `\ufeff{
  // for the editor
  "$schema": "./node_modules/loopwarden/schema/config.schema.json", /* and
  more */ "rules": { "cycle": { "halt": 0, }, },
  "tools": { "a//b": { "ignoreArgs": ["x,]", ], } }
}
`;
  const name = await file("commented.json", commented);
  assert.deepEqual(await loopwarden("config", "check", name, "--json"), {
    code: 0,
    stdout:
      '{"file":"commented.json","ok":true,"notes":[{"line":4,"field":"rules.cycle.halt","message":"0 switches it off"}]}\n',
    stderr: "",
  });
  const cases: [config: string, message: RegExp][] = [
    ["", /empty\.json: is empty; \{\} is the recommended configuration/],
    [" \n", /empty\.json: is empty/],
    ['{\n"rules": {\n"repeated-cal": {} } }', /:3: invalid-config: .*unknown rule, did you mean repeated-call\?$/m],
    ['{\n"rules": { "cycle": { "nugde": 3 } } }', /:2: invalid-config: .*did you mean `nudge`\?/],
    ['{"rules":{"cycle":{"nudge":5}}}', /`rules\.cycle\.nudge`: must be below block/],
    ['{"rules":{"phase-visits":{"nudge":5}}}', /has no effect: the rule phase-visits has no thresholds/],
    ['{"tools":{"a":{"rules":{"max-runtime":{"enabled":false}}}}}', /has no effect/],
    ["[]", /expected an object/],
    ['{"a" 1}', /:1: invalid-json: colon expected at column 6/],
  ];
  for (const [config, message] of cases) {
    const { code, stdout, stderr } = await loopwarden("config", "check", await file("empty.json", config));
    assert.deepEqual([code, stdout], [1, ""], config);
    assert.match(stderr, message, config);
    assert.ok(stderr.length < 250, `a screen full of words: ${stderr}`);
    const json = await loopwarden("config", "check", "empty.json", "--json");
    assert.equal(JSON.parse(json.stdout).ok, false);
  }
});

test("config check reports every error, each on its own line", async () => {
  const wrong = `{ // five
  "presett": "sensitive",
  "rules": { "cycle": { "blok": 3 }, "repeated-call": { "nudge": 13 } },
  "tools": {
    "a": { "pollin": true },
    "a.b*": { "polling": 1 }
  }
}
`;
  const name = await file("wrong.json", wrong);
  const { code, stdout, stderr } = await loopwarden("config", "check", name);
  assert.deepEqual([code, stdout], [1, ""]);
  const expected = [
    /^2: invalid-config: `presett`: unknown field, did you mean `preset`\?$/,
    /^3: invalid-config: `rules\.cycle\.blok`: unknown field, did you mean `block`\?$/,
    /^5: invalid-config: `tools\.a\.pollin`: unknown field, did you mean `polling`\?$/,
    /^6: invalid-config: `tools\.a\.b\*\.polling`: invalid type: /,
    /^3: invalid-config: `rules\.repeated-call\.nudge`: must be below block \(12\), got `13`$/,
  ];
  const lines = stderr.trimEnd().split("\n");
  assert.equal(lines.length, expected.length, stderr);
  for (const [at, line] of lines.entries()) {
    assert.ok(line.startsWith("loopwarden: wrong.json:"), line);
    assert.match(line.slice("loopwarden: wrong.json:".length), expected[at] ?? /nothing/);
  }
  const json = JSON.parse((await loopwarden("config", "check", name, "--json")).stdout);
  assert.deepEqual(
    [json.ok, `loopwarden: ${json.error}`, json.errors.map((text: string) => `loopwarden: ${text}`)],
    [false, lines[0], lines],
  );
  // What lists hold is taken out with the list, and what is wrong without end is cut off.
  const list = await file("list.json", '{"patterns":{"volatile":["(","["]},"mode":"none"}');
  assert.equal((await loopwarden("config", "check", list)).stderr.match(/invalid-config/g)?.length, 2);
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`wrong${n}`, n]));
  const cut = await loopwarden("config", "check", await file("many.json", JSON.stringify(many)));
  assert.equal(cut.stderr.match(/unknown field/g)?.length, 20);
});

test("results that stand before their calls are told of as that, apart from those without a call", async () => {
  const turned = (n: number) => Array.from({ length: n }, (_, step) => pair(step, { step }, "none").reverse()).flat();
  const name = await file("turned.jsonl", jsonLines([...turned(3), ...pair(7, {}, "none").slice(1)]));
  const early = "turned.jsonl: 3 results come before their calls; write each after its call: call-0 in line 1, …\n";
  const lost = "turned.jsonl: 1 result matches no call; no earlier call has the callId: call-7 in line 7\n";
  for (const command of ["replay", "eval"])
    assert.ok((await loopwarden(command, name)).stderr.startsWith(early + lost), command);
  const one = await file("turned-one.jsonl", jsonLines(turned(1)));
  const { stderr } = await loopwarden("replay", one);
  assert.equal(
    stderr,
    "turned-one.jsonl: 1 result comes before its call; write each after its call: call-0 in line 1\n",
  );
  // The same id in another run or scenario is another call.
  const [result, call] = turned(1);
  const runs = [
    { ...result, run: "a" },
    { ...call, run: "b" },
  ];
  assert.match(
    (await loopwarden("replay", await file("runs.jsonl", jsonLines(runs)))).stderr,
    /1 result matches no call/,
  );
  const [first, second] = [
    { id: "a", events: [result] },
    { id: "b", events: [call] },
  ];
  assert.match(
    (await loopwarden("eval", await file("two.jsonl", jsonLines([first, second])))).stderr,
    /1 result matches no/,
  );
});

test("times that look like seconds are told of", async () => {
  const timed = (start: number) => pair(0, { step: 0 }, "none").map((event, n) => ({ ...event, at: start + n }));
  const name = await file("seconds.jsonl", jsonLines(timed(1_797_000_000)));
  const said =
    'seconds.jsonl:1: "at": 1797000000 looks like seconds, but milliseconds are expected: pauses would be a thousandth of what they were\n';
  for (const command of ["replay", "explain", "eval", "tune"])
    assert.ok((await loopwarden(command, name)).stderr.startsWith(said), command);
  // Who watches hears of it at once, and once.
  const watched = (await loopwarden("watch", name, "--idle", "0.1")).stderr;
  assert.equal(watched.split(said).length, 2, watched);
  const micros = await loopwarden("replay", await file("micros.jsonl", jsonLines(timed(1_797_000_000_000_000))));
  assert.match(micros.stderr, /looks like microseconds, .*: pauses would be a thousand times as long\n/);
  for (const start of [0, 86_400_000, 1_797_000_000_000])
    assert.doesNotMatch((await loopwarden("replay", await file("times.jsonl", jsonLines(timed(start))))).stderr, /at/);
});

test("loopwarden.json of the folder is used and said, --no-config does without", async () => {
  const own = await mkdtemp(join(folder, "own-"));
  await writeFile(join(own, "loopwarden.json"), '{ "enabled": false } // quiet');
  await writeFile(join(own, "run.jsonl"), jsonLines(stuck(9)));
  const there = (...args: string[]) => run(process.execPath, [cli, ...args], { cwd: own });
  const found = await there("replay", "run.jsonl");
  assert.equal(found.code, 0);
  assert.match(found.stderr, /using loopwarden\.json in this folder/);
  const without = await there("replay", "run.jsonl", "--no-config");
  assert.deepEqual([without.code, without.stderr], [3, ""]);
  const [score] = (await there("eval", ".", "--json")).stdout.split("\n");
  assert.deepEqual(JSON.parse(score ?? "").unlabelled, { runs: 1, alarms: 0 });
  await writeFile(join(own, "loopwarden.json"), '{ "enable": false }');
  const broken = await there("replay", "run.jsonl");
  assert.equal(broken.code, 1);
  assert.match(broken.stderr, /loopwarden\.json:1: invalid-config: `enable`: unknown field, did you mean `enabled`\?/);
});

test("replay --last: the newest session that an agent left on this machine", async () => {
  const home = await mkdtemp(join(folder, "home-"));
  const there = (...args: string[]) =>
    run(process.execPath, [cli, ...args], {
      cwd: folder,
      env: {
        HOME: home,
        USERPROFILE: home,
        CLAUDE_CONFIG_DIR: undefined,
        CODEX_HOME: undefined,
        XDG_CONFIG_HOME: undefined,
      },
    });
  const none = await there("replay", "--last");
  assert.equal(none.code, 1);
  assert.match(
    none.stderr,
    /no session of an agent was found on this machine; looked for Claude Code .*Codex .*Gemini/,
  );
  const folderOf = join(home, ".claude/projects/-home-me-shop");
  await mkdir(folderOf, { recursive: true });
  const session = await readFile(new URL("../../tests/transcripts/debugging-session.jsonl", import.meta.url));
  await writeFile(join(folderOf, "old.jsonl"), "{}");
  await utimes(join(folderOf, "old.jsonl"), 1, 1);
  await writeFile(join(folderOf, "new.jsonl"), session);
  const { code, stdout, stderr } = await there("replay", "--last");
  assert.equal(code, 3);
  assert.match(stderr, /the newest session, of Claude Code: .*new\.jsonl/);
  assert.match(stdout, / · claude-code$/m);
  assert.equal((await there("replay", "--last", "x")).code, 2);
  const doctor = JSON.parse((await there("doctor", "--json")).stdout);
  const agent = doctor.find(({ what }: { what: string }) => what === "Claude Code");
  assert.match(agent.detail, /^2 sessions in /);
});

test("colours: none into a file, none with NO_COLOR, always with FORCE_COLOR", async () => {
  const name = await file("colours.jsonl", jsonLines(stuck(4)));
  const coloured = async (env: NodeJS.ProcessEnv) =>
    (await run(process.execPath, [cli, "replay", name], { cwd: folder, env })).stdout.includes("\u001b[");
  assert.equal(await coloured({ NO_COLOR: undefined }), false);
  assert.equal(await coloured({ FORCE_COLOR: "1" }), true);
  assert.equal(await coloured({ FORCE_COLOR: "0" }), false);
});

/** What a terminal, an editor or the runner of a workflow obeys. */
const HOSTILE =
  "[fix](http://x)<b>\u001b[2J\u001b]8;;http://x\u0007link\u009b31m\u202eback\u200b\r\n::error::owned\n##[error]owned ##vso[task.setvariable variable=a]b ##teamcity[x]\u{e0041}\u3164\u2028";

test("nothing in a file reaches the terminal as more than text: every command, both streams", async () => {
  const events = Array.from({ length: 9 }, (_, index): Event[] => [
    {
      type: "tool-call",
      tool: `edit${HOSTILE}`,
      args: { [HOSTILE]: HOSTILE, n: index },
      task: HOSTILE,
      agent: HOSTILE,
    },
    { type: "tool-result", tool: `edit${HOSTILE}`, outcome: "error", output: HOSTILE, task: HOSTILE, agent: HOSTILE },
  ]).flat();
  const broken = { type: HOSTILE, [HOSTILE]: 1 };
  const log = await file(
    "hostile.jsonl",
    `${jsonLines([...events, broken])}{"type":"${HOSTILE.replaceAll("\r\n", "").replaceAll("\n", "")}\n`,
  );
  const scenarios = await file(
    "hostile-set.jsonl",
    jsonLines([
      { id: HOSTILE, expect: "no-loop", events },
      { id: `${HOSTILE}2`, expect: "loop", config: { [HOSTILE]: 1 }, events: [broken] },
      ...Array.from({ length: 4 }, (_, index) => ({ id: `quiet${index}`, expect: "no-loop", events: busy(3) })),
    ]),
  );
  const config = await file("hostile-config.json", JSON.stringify({ [HOSTILE]: HOSTILE, rules: { [HOSTILE]: {} } }));
  const cases = [
    ["replay", log],
    ["replay", log, "--json"],
    ["replay", log, "--reporter", "junit"],
    ["replay", log, "--reporter", "sarif"],
    ["replay", scenarios, "--scenario", HOSTILE],
    ["explain", log],
    ["explain", log, "--at", "5", "--json"],
    ["explain", scenarios],
    ["eval", log],
    ["eval", scenarios],
    ["eval", scenarios, "--json"],
    ["eval", scenarios, "--reporter", "junit"],
    ["tune", scenarios],
    ["tune", scenarios, "--json"],
    ["view", log, "-o", "hostile-page.html"],
    ["config", "check", config],
    ["replay", HOSTILE.replaceAll("\u0000", "")],
    ["replay", log, `--${HOSTILE}`],
    ["replay", log, "--format", HOSTILE],
    [HOSTILE],
    ["schema", HOSTILE],
  ];
  const acts = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]/u;
  const codes = /\p{Cc}\[\d+m/gu;
  const said = (line: string) => JSON.stringify(JSON.parse(line)).includes(JSON.stringify(HOSTILE).slice(1, -1));
  for (const [index, args] of cases.entries()) {
    const env = index % 2 === 0 ? { FORCE_COLOR: "1" } : {};
    const { stdout, stderr } = await run(process.execPath, [cli, ...args], { cwd: folder, env });
    const told = (stdout + stderr).replaceAll(codes, "");
    assert.ok(told.length > 0, args.join(" "));
    assert.doesNotMatch(told, acts, JSON.stringify(args));
    assert.doesNotMatch(told, /^\s*::|##\w*\[/m, JSON.stringify(args));
    // What is JSON says the same all the same.
    if (args.includes("--json") && args[0] === "replay")
      assert.ok(stdout.split("\n").some((line) => line !== "" && said(line)));
  }
  // Formats that know links and markup get neither.
  const junit = await loopwarden("eval", scenarios, "--reporter", "junit");
  const sarif = await loopwarden("replay", log, "--reporter", "sarif");
  const messages: string[] = JSON.parse(sarif.stdout).runs[0].results.map(
    ({ message }: { message: { text: string } }) => message.text,
  );
  assert.ok(messages.some((text) => text.includes("fix")));
  for (const text of messages) assert.doesNotMatch(text, /(?<!\\)[[\]]/);
  assert.ok(junit.stdout.includes("&lt;b&gt;") && !junit.stdout.includes("<b>"));
  // The one command that speaks to the runner says what it says on one line each.
  const { stdout } = await loopwarden("replay", log, "--reporter", "github");
  for (const line of stdout.trimEnd().split("\n"))
    assert.match(line, /^::(error|warning) file=hostile\.jsonl,line=\d+,title=[^\n]*$/);
  assert.doesNotMatch(stdout, /##\w*\[/);
});

test("reporters: JUnit, SARIF and annotations of eval and replay", async () => {
  const name = await file(
    "report.jsonl",
    jsonLines([
      { id: "found", expect: "loop", events: stuck(8) },
      { id: "not <found>", expect: "loop", events: busy(8) },
      { id: "false", expect: "no-loop", events: stuck(8) },
    ]),
  );
  const junit = await loopwarden("eval", name, "--reporter", "junit", "--strict");
  assert.equal(junit.code, 3);
  assert.match(junit.stdout, /<testsuite name="report\.jsonl" tests="3" failures="2"/);
  assert.match(junit.stdout, /name="not &lt;found&gt;" file="report\.jsonl" line="2"[^>]*>\s*<failure type="missed"/);
  const sarif = JSON.parse((await loopwarden("eval", name, "--reporter", "sarif")).stdout);
  const [own] = sarif.runs;
  const ids = new Set(own.tool.driver.rules.map(({ id }: { id: string }) => id));
  assert.ok(own.results.length >= 3 && own.results.every(({ ruleId }: { ruleId: string }) => ids.has(ruleId)));
  assert.deepEqual(own.results[0].locations[0].physicalLocation, {
    artifactLocation: { uri: "report.jsonl" },
    region: { startLine: 1 },
  });
  const github = await loopwarden("eval", name, "--reporter", "github");
  assert.match(github.stdout, /^::error file=report\.jsonl,line=3,title=loopwarden%3A false-alarm::false: an alarm/m);
  const one = await loopwarden("replay", await file("one.jsonl", jsonLines(stuck(8))), "--reporter", "sarif");
  assert.equal(one.code, 3);
  const line = JSON.parse(one.stdout).runs[0].results[0].locations[0].physicalLocation.region.startLine;
  assert.ok(line > 1 && line <= 16);
  // The run fails by its worst finding: its level, its line and its words belong together.
  const worst = (await loopwarden("replay", await file("long.jsonl", jsonLines(stuck(30))), "--json")).stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
    .find(({ level }) => level === "halt");
  const [finding] = worst.findings;
  const annotated = (await loopwarden("replay", "long.jsonl", "--reporter", "github")).stdout;
  assert.match(annotated, new RegExp(`line=${worst.seq + 1},title=loopwarden%3A halt::`));
  assert.ok(annotated.includes(finding.message), annotated);
  assert.equal((await loopwarden("eval", name, "--reporter", "junit", "--json")).code, 2);
  assert.match(
    (await loopwarden("eval", name, "--reporter", "junt")).stderr,
    /: expected one of junit, sarif, github; did you mean junit\?/,
  );
});

test("eval reads native traces and folders with .json", async () => {
  await mkdir(join(folder, "native"), { recursive: true });
  await file("native/trace.jsonl", jsonLines(stuck(8)));
  await file("native/session.json", JSON.stringify({ messages: chat(8) }));
  await file("native/package.json", '{"name":"x"}');
  await file("native/other.json", '{"a":1}');
  const { code, stdout } = await loopwarden("eval", "native", "--json");
  assert.equal(code, 0);
  const scores = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    scores.map(({ file, unlabelled }) => [file, unlabelled]),
    [
      [join("native", "session.json"), { runs: 1, alarms: 1 }],
      [join("native", "trace.jsonl"), { runs: 1, alarms: 1 }],
      ["total", { runs: 2, alarms: 2 }],
    ],
  );
});

test("replay and explain leave out the line of a run that stands in one line", async () => {
  const cases: [boolean, string][] = [
    [false, await file("one-line.json", JSON.stringify({ messages: chat(8) }))],
    [
      false,
      await file("one-scenario.jsonl", jsonLines([{ id: "one", events: stuck(8).map(({ step: _, ...e }) => e) }])),
    ],
    [true, await file("lines.jsonl", jsonLines(stuck(8).map(({ step: _, ...event }) => event)))],
  ];
  for (const [isTold, name] of cases) {
    const replayed = (await loopwarden("replay", name)).stdout;
    const report = replayed.slice(replayed.indexOf("## Loop Detected"));
    assert.match(report, /^- Event \d+/m);
    assert.equal(/\(line \d+\)/.test(report), isTold, report);
    // A line names its last event, so that of many in one the number does.
    const [, why = "", at = ""] = /^why {2}node \S+ (explain \S+ --at (\S+))$/m.exec(replayed) ?? [];
    assert.match(at, isTold ? /^line:\d+$/ : /^\d+$/);
    const levels = [...replayed.matchAll(/^(?:line|event) \d+ {2}(\w+)/gm)].map(([, level]) => level);
    assert.ok(levels.includes("halt"), replayed);
    assert.match((await loopwarden(...why.split(" "))).stdout, /^halt$/m);
    const [head] = (await loopwarden("explain", name)).stdout.split("\n");
    assert.match(head ?? "", /· event \d+/);
    assert.equal(/· line \d+/.test(head ?? ""), isTold, head);
  }
});

test("a scenario's own configuration counts for replay, and one of several is named", async () => {
  const name = await file(
    "several.jsonl",
    jsonLines([
      { id: "quiet", config: { enabled: false }, events: stuck(8) },
      { id: "loud", events: stuck(8) },
    ]),
  );
  const both = "loopwarden: several.jsonl: holds 2 scenarios, name one with --scenario, such as quiet\n";
  for (const args of [["replay"], ["replay", "--format", "trace"], ["explain"], ["view", "-o", "several.html"]]) {
    const { code, stdout, stderr } = await loopwarden(...args, name);
    assert.deepEqual([code, stdout, stderr], [1, "", both], args.join(" "));
    const none = await loopwarden(...args, name, "--scenario", "other");
    assert.deepEqual([none.code, none.stderr], [1, "loopwarden: several.jsonl: holds no scenario other\n"]);
  }
  assert.ok(!(await readdir(folder)).includes("several.html"));
  assert.equal((await loopwarden("replay", name, "--scenario", "quiet")).code, 0);
  assert.equal((await loopwarden("replay", name, "--scenario", "loud")).code, 3);
  const page = await loopwarden("view", name, "--scenario", "loud", "-o", "several.html", "--json");
  assert.deepEqual(JSON.parse(page.stdout), { page: "several.html", events: 16, unread: 0, format: "trace" });
  assert.equal((await loopwarden("view", "--scenario", "loud")).code, 2);
});

test("what is no log is told in a line", async () => {
  const picture = await file("picture.png", Buffer.from([137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13]));
  for (const command of ["replay", "explain", "view", "eval"]) {
    const { code, stderr } = await loopwarden(command, picture);
    assert.equal(code, 1);
    assert.match(stderr, /^loopwarden: picture\.png: is not readable text.*\n$/);
  }
  const prose = await file("prose.txt", "Dear reader,\n".repeat(500));
  const { code, stderr } = await loopwarden("replay", prose);
  assert.equal(code, 1);
  assert.ok(stderr.split("\n").length < 30, "500 lines of complaints");
  assert.match(stderr, /^prose\.txt: 497 more like that: invalid-json: event is not JSON/m);
  assert.match(stderr, /holds no event that can be read\. Supported formats: trace, claude-code, .*opentelemetry/);
  // Where a field is wrong the format is known.
  const dated = await file("dated.jsonl", jsonLines(stuck(4).map((event) => ({ ...event, at: "2026-01-01" }))));
  for (const command of ["replay", "explain", "view", "eval"])
    assert.match(
      (await loopwarden(command, dated)).stderr,
      /^loopwarden: dated\.jsonl: holds no event that can be read$/m,
    );
});

test("replay: a poll that stands still and is no loop yet is told as what came closest", async () => {
  const poll = (n: number): Event[] => [
    { type: "tool-call", tool: "get_status", args: { id: 7 }, callId: `p${n}`, at: n * 60_000 },
    {
      type: "tool-result",
      tool: "get_status",
      callId: `p${n}`,
      outcome: "ok",
      output: "pending",
      at: n * 60_000 + 500,
    },
  ];
  const polls = Array.from({ length: 15 }, (_, n) => poll(n)).flat();
  const config = await file("polling.json", '{ "tools": { "get_status": { "polling": true } } }');
  for (const [name, events] of [
    ["polls.jsonl", polls],
    ["polls-of-a-run.jsonl", polls.map((event) => ({ ...event, run: "nightly" }))],
  ] as const) {
    const told = await loopwarden("replay", await file(name, jsonLines([...events])), "--config", config);
    assert.equal(told.code, 0);
    assert.match(
      told.stdout,
      /No loop found in 30 events\.\nclosest {2}repeated-call, \d+ of \d+ points to nudge$/m,
      name,
    );
  }
  const { stdout } = await loopwarden("replay", await file("busy.jsonl", jsonLines(busy(6))));
  assert.doesNotMatch(stdout, /closest/);
});

test("replay: a loop that was over long before the end is told with its last sighting", async () => {
  const events = [...stuck(4), ...busy(30).map((event) => ({ ...event, tool: "write_file" }))];
  const { stdout } = await loopwarden("replay", await file("over.jsonl", jsonLines(events)));
  assert.match(stdout, /^\*\*Since\*\*: event 0 .*; last seen at event 7 \(step 3\), 60 events before the end$/m);
  const still = await loopwarden("replay", await file("still.jsonl", jsonLines(stuck(4))));
  assert.match(still.stdout, /^\*\*Since\*\*: event 0 \(step 0\): 8 events$/m, "nothing to add");
  const told = await loopwarden("replay", await file("told.jsonl", jsonLines(stuck(3))));
  assert.match(told.stdout, /^\*\*Since\*\*: event 0 \(step 0\): 6 events$/m, "nothing to add");
});

test("replay: the report marks where a loop was told of first, also one that came back", async () => {
  const failing = (n: number, from = 0) =>
    Array.from({ length: n }, (_, index) =>
      pair(from + index, { path: "cart.ts" }, "text not found in cart.ts"),
    ).flat();
  const marks = async (name: string, events: Event[]) => {
    const { stdout } = await loopwarden("replay", await file(name, jsonLines(events)));
    return stdout.split("\n").flatMap((line) => {
      const [, seq, mark] = /^- Event (\d+) .* ← (.*)$/.exec(line) ?? [];
      return seq === undefined ? [] : [`${seq}: ${mark}`];
    });
  };
  assert.deepEqual(await marks("first.jsonl", failing(3)), ["5: Loop detected"]);
  assert.deepEqual(await marks("later.jsonl", failing(5)), ["5: Loop detected", "9: latest"]);
  const user: Event = { type: "message", role: "user", text: "Go on with something else." };
  const again = [...failing(4), user, ...failing(5, 20)];
  assert.deepEqual(await marks("again.jsonl", again), ["10: Loop detected", "18: latest"]);
});

test("replay: what was only noted of an agent is no report of its own", async () => {
  const said: [agent: string, text: string][] = [
    ["writer", "Editor, please decide on the headline of the pricing page; that is your part."],
    ["editor", "Writer, the headline is your job, please decide."],
    ["writer", "I think the headline is for you to decide, editor, please go ahead."],
    ["editor", "No, headlines belong to the writer; please pick one."],
    ["writer", "Over to you, editor: the headline is yours to decide."],
    ["editor", "Back to you, writer: pick the headline."],
    ["writer", "Editor, I wait for your headline."],
    ["editor", "Writer, I wait for you to pick the headline."],
    ["writer", "As said, the headline is up to you, editor."],
    ["editor", "As I said, writer, headlines are yours."],
    ["writer", "Please, editor, decide on the headline."],
    ["editor", "Please, writer, pick a headline."],
  ];
  const talk = said.map(([agent, text]) => ({ type: "message", role: "assistant", agent, text }));
  const { stdout } = await loopwarden("replay", await file("talk.jsonl", jsonLines(talk)));
  assert.match(stdout, /^## Loop Detected/m);
  assert.match(stdout, /\*\*Where\*\*: agent `\w+`/);
  assert.doesNotMatch(stdout, /No Loop Detected/);
});

test("a log of which most cannot be read is no good news", async () => {
  const broken = busy(8).map((event, at) => (at < 3 ? JSON.stringify(event) : `{"type":"tool-${at}"}`));
  const name = await file("broken.jsonl", `${broken.join("\n")}\n{"type":\n`);
  const told = await loopwarden("replay", name);
  assert.equal(told.code, 1);
  assert.match(told.stdout, /No loop found in 3 events in what could be read; 14 of 17 lines or events could not\./);
  for (const how of [["--json"], ["--reporter", "junit"]])
    assert.equal((await loopwarden("replay", name, ...how)).code, 1, how[0]);
  const scored = await loopwarden("eval", name);
  assert.equal(scored.code, 1);
  assert.match(scored.stdout, / 14 of 17 /);
  // What was found was found, and what was read as a whole is fine.
  const found = await file("broken-loop.jsonl", `${jsonLines(stuck(12))}{"type":\n`);
  assert.deepEqual([(await loopwarden("replay", found)).code, (await loopwarden("eval", found)).code], [3, 0]);
  const fine = await file("fine.jsonl", jsonLines(busy(8)));
  assert.deepEqual([(await loopwarden("replay", fine)).code, (await loopwarden("eval", fine)).code], [0, 0]);
  assert.equal((await loopwarden("eval", fine, found, name)).code, 1, "each file for itself");
  const scenarios = [
    { id: "one", events: busy(2) },
    { id: "other", events: busy(2) },
  ].map((one) => JSON.stringify(one));
  const set = await file("broken-set.jsonl", [scenarios[0], '{"events":', scenarios[1]].join("\n"));
  assert.equal((await loopwarden("replay", set, "--scenario", "other")).code, 0, "the broken line is none of it");
});

test("explain, tune, view and watch say as replay and eval do where most of a log cannot be read", async () => {
  const said = "alien.jsonl: much of it cannot be read, 84 of 85 lines or events: the results are about the rest";
  const alien = Array.from({ length: 84 }, () => ({ type: "tool-call", toolName: "get_job" }));
  const name = await file("alien.jsonl", jsonLines([{ type: "output", text: "a" }, ...alien]));
  for (const args of [
    ["replay"],
    ["explain"],
    ["eval"],
    ["tune"],
    ["tune", "--json"],
    ["view", "-o", "alien.html"],
    ["watch", "--idle", "0.3"],
  ]) {
    const { code, stderr } = await loopwarden(...args, name);
    assert.equal(code, 1, args.join(" "));
    assert.equal(stderr.split("\n").filter((line) => line === said).length, 1, stderr);
  }
  // What was found was found.
  const loop = await file("found.jsonl", jsonLines([...stuck(8), ...alien]));
  for (const args of [["explain"], ["view", "-o", "alien.html"], ["tune", "--unlabelled", "loop"]])
    assert.equal((await loopwarden(...args, loop)).code, 0, args.join(" "));
});

test("how much of a log cannot be read is counted by every command, and is an error with --strict", async () => {
  const few = await file("few.jsonl", `${jsonLines(busy(10))}{no\n{"type":"tool-call"}\n`);
  const fine = await file("fine.jsonl", jsonLines(busy(10)));
  const packed = gzipSync(jsonLines(busy(200)));
  const cut = await file("rest.jsonl.gz", packed.subarray(0, packed.length - 20));
  for (const args of [["replay"], ["replay", "--json"], ["explain"], ["eval"], ["view", "-o", "few.html"]]) {
    const what = args.join(" ");
    const { code, stderr } = await loopwarden(...args, few);
    assert.equal(code, 0, what);
    assert.ok(
      stderr.includes("\nfew.jsonl: cannot be read: 2 of 22 lines or events: the results are about the rest\n"),
      `${what}: ${stderr}`,
    );
    for (const [name, strict] of [
      [few, 1],
      [cut, 1],
      [fine, 0],
    ] as const)
      assert.equal((await loopwarden(...args, name, "--strict")).code, strict, `${what} ${name}`);
  }
  // What was reached is told of all the same.
  const loop = await file("few-loop.jsonl", `${jsonLines(stuck(8))}{no\n`);
  assert.equal((await loopwarden("replay", loop, "--strict")).code, 3);
  assert.equal((await loopwarden("explain", loop, "--strict")).code, 1);
  const missed = { id: "missed", expect: "loop", events: busy(3) };
  assert.equal((await loopwarden("eval", await file("m.jsonl", `${jsonLines([missed])}{no\n`), "--strict")).code, 3);
});

test("a call whose result cannot be read was answered, and replay says above its report what could not be read", async () => {
  const job = (n: number, result: object) => [
    { type: "tool-call", tool: "get_job", args: { id: 7 }, callId: `c${n}`, step: n },
    { type: "tool-result", tool: "get_job", callId: `c${n}`, outcome: "ok", ...result },
  ];
  const jobs = Array.from({ length: 42 }, (_, n) => job(n, { result: `row ${n}` })).flat();
  const bare = jobs.map(({ callId: _, ...event }: Record<string, unknown>) => event);
  const none =
    "No loop found in 42 events in what could be read; 42 of 84 lines or events could not, including 42 results, whose calls count as answered.";
  const scenario = { id: "jobs", expect: "no-loop", events: jobs };
  // By its id, by the order, in a scenario; and where it is no JSON at all.
  const broken = bare.map((event) =>
    JSON.stringify(event).replace('"row ', '"row "').replaceAll('"result"', '"output"'),
  );
  for (const [name, text] of [
    ["ids.jsonl", jsonLines(jobs)],
    ["order.jsonl", jsonLines(bare)],
    ["scenario.jsonl", jsonLines([scenario])],
    ["quotes.jsonl", `${broken.join("\n")}\n`],
  ] as const) {
    const { code, stdout } = await loopwarden("replay", await file(name, text));
    assert.deepEqual([code, stdout.trimEnd().split("\n").at(-1)], [1, none], name);
  }
  const [score] = (await loopwarden("eval", "scenario.jsonl", "--json")).stdout.split("\n");
  assert.equal(JSON.parse(score ?? "").falseAlarms, 0);
  for (const name of ["ids.jsonl", "scenario.jsonl"])
    assert.equal((await loopwarden("explain", name, "--json")).code, 1, name);
  const unread = await loopwarden("explain", "ids.jsonl", "--at", "line:2");
  assert.equal(unread.code, 1);
  assert.match(unread.stderr, /^loopwarden: ids\.jsonl: line 2 could not be read$/m);
  assert.equal((await loopwarden("watch", "ids.jsonl", "--idle", "0.3", "--from-start")).code, 1);
  const page = await loopwarden("view", "ids.jsonl", "-o", "ids.html", "--json");
  assert.deepEqual(JSON.parse(page.stdout), { page: "ids.html", events: 42, unread: 42, format: "trace" });
  // What nobody has answered at all is told of as before.
  const calls = await file("calls.jsonl", jsonLines(bare.filter(({ type }) => type === "tool-call")));
  assert.match((await loopwarden("replay", calls)).stdout, /unanswered-call: .* never answered/);
  // A loop that is there, beside what cannot be read.
  const both = await loopwarden("replay", await file("both.jsonl", jsonLines([...jobs.slice(0, 8), ...stuck(8)])));
  assert.equal(both.code, 3);
  const said = "\n4 of 24 lines or events could not be read, including 4 results, whose calls count as answered.\n";
  assert.ok(both.stdout.includes(said) && both.stdout.indexOf(said) < both.stdout.indexOf("## Loop Detected"));
  assert.doesNotMatch(both.stdout, /never answered/);
});

test("complaints that say the same are told three times and counted, others all", async () => {
  const line = (field: string) => ({ type: "tool-call", tool: "t", [field]: "2026-11-27" });
  const dated = Array.from({ length: 30 }, (_, n) => ({ ...line("at"), at: `2026-11-${n + 1}` }));
  const name = await file("same.jsonl", jsonLines([...busy(40), ...dated, line("nme"), line("nme"), ...dated]));
  const { stderr } = await loopwarden("replay", name);
  const told = stderr.trimEnd().split("\n");
  assert.deepEqual(
    told.map((text) => text.replace(/: invalid-event.*/, "")),
    [
      ...[81, 82, 83, 111, 112].map((line) => `same.jsonl:${line}`),
      "same.jsonl: 57 more like that",
      "same.jsonl: much of it cannot be read, 62 of 142 lines or events: the results are about the rest",
    ],
  );
  assert.match(told[0] ?? "", /`at`: invalid type: string "2026-11-1", expected milliseconds since 1970 as a whole/);
  assert.match(told.at(-2) ?? "", /like that: invalid-event: `at`: invalid type/);
  const all = Array.from({ length: 30 }, (_, n) => line(`x${"y".repeat(n)}`));
  const many = (await loopwarden("replay", await file("many.jsonl", jsonLines([...busy(40), ...all])))).stderr;
  assert.equal(many.match(/^many\.jsonl:\d+: /gm)?.length, 20);
  assert.match(many, /^many\.jsonl: 10 more with other messages, shown once those above are mended$/m);
});

test("eval names what is wrong with what was to be a scenario, and counts none of which nothing can be read", async () => {
  const wrong = { id: "d", events: "x", expect: "noloop" };
  const right = { id: "right", expect: "no-loop", events: busy(2) };
  const said = [
    '`events`: expected a list of events, got `"x"`',
    '`expect`: expected one of loop, no-loop; did you mean `no-loop`? Got `"noloop"`',
  ];
  for (const lines of [[wrong], [wrong, right], [right, wrong]]) {
    const { code, stdout, stderr } = await loopwarden("eval", await file("wrong.jsonl", jsonLines(lines)), "--json");
    const at = lines.indexOf(wrong) + 1;
    for (const complaint of said) assert.ok(stderr.includes(`wrong.jsonl:${at}: ${complaint}\n`), stderr);
    assert.equal(code, lines.length === 1 ? 1 : 0);
    if (lines.length > 1) assert.equal(JSON.parse(stdout.split("\n")[0] ?? "").noLoops, 1);
  }
  const absent = await loopwarden("eval", await file("wrong.jsonl", jsonLines([{ id: "a", expect: "loop" }])));
  assert.match(absent.stderr, /^wrong\.jsonl:1: `events`: missing field, expected a list of events$/m);
  const refused = { id: "refused", expect: "no-loop", events: [{ type: "tool-call", name: "t" }] };
  const name = await file("refused.jsonl", jsonLines([refused, right]));
  const { code, stdout, stderr } = await loopwarden("eval", name, "--json");
  const [score] = stdout.split("\n").map((line) => line && JSON.parse(line));
  assert.deepEqual([code, score.scenarios, score.noLoops, score.unread], [1, 1, 1, 1]);
  assert.match(stderr, /^refused\.jsonl:1: none of its events can be read, so it is not scored$/m);
  const tuned = await loopwarden("tune", name, "--json");
  assert.deepEqual([tuned.code, JSON.parse(tuned.stdout).runs.honest], [0, 1]);
  assert.match(tuned.stderr, /^refused\.jsonl:1: none of its events can be read, so it is left out$/m);
});

test("eval and tune say of an empty file that it is empty", async () => {
  const empty = await file("nothing.jsonl", "");
  const full = await file("honest.jsonl", jsonLines([{ id: "a", expect: "no-loop", events: busy(2) }]));
  for (const command of ["eval", "tune"]) {
    const alone = await loopwarden(command, empty);
    assert.deepEqual([alone.code, alone.stdout], [1, ""], command);
    assert.match(alone.stderr, /^loopwarden: nothing\.jsonl: is empty$/m);
    const beside = await loopwarden(command, empty, full);
    assert.equal(beside.code, 0, command);
    assert.match(beside.stderr, /^loopwarden: (left out: )?nothing\.jsonl: is empty$/m);
  }
});

test("view overwrites a page of its own, and nothing else unless it is told to", async () => {
  const log = await file("kept.jsonl", jsonLines(stuck(4)));
  const before = await readFile(join(folder, log), "utf8");
  await link(join(folder, log), join(folder, "hard.jsonl"));
  await symlink(log, join(folder, "soft.jsonl"));
  await file("notes.html", "<!doctype html><title>Loopwarden</title>mine");
  for (const [output, why] of [
    [log, "is the log that is being read"],
    ["hard.jsonl", "is the log that is being read"],
    ["soft.jsonl", "is the log that is being read"],
    [join("..", basename(folder), log), "is the log that is being read"],
    ["notes.html", "exists and is not a page that view has written"],
  ] as const) {
    const { code, stdout, stderr } = await loopwarden("view", log, "-o", output);
    assert.deepEqual([code, stdout], [2, ""], output);
    const [said] = stderr.split("\n");
    assert.equal(said, `loopwarden: ${output}: ${why}; name another file, or overwrite it with --force`);
  }
  const piped = await run(process.execPath, [cli, "view", "-", "-o", "notes.html"], { cwd: folder, input: before });
  assert.equal(piped.code, 2);
  assert.equal(await readFile(join(folder, log), "utf8"), before);
  for (const args of [
    ["-o", "new.html"],
    ["-o", "new.html"],
    ["-o", "notes.html", "--force"],
    ["-o", "-"],
  ])
    assert.equal((await loopwarden("view", log, ...args)).code, 0, args.join(" "));
  assert.match(await readFile(join(folder, "notes.html"), "utf8"), /<meta name="generator" content="loopwarden view">/);
});

test("a value that is missing or too much is told of by the option's name", async () => {
  for (const [args, words] of [
    [["replay", "--config"], "--config: its value is missing"],
    [["replay", "--config", "--json"], "--config: its value is missing, or begins with a dash: --config=-VALUE"],
    [["replay", "--json=yes"], "--json: takes no value"],
  ] as const) {
    const { code, stderr } = await loopwarden(...args);
    assert.deepEqual([code, stderr.split("\n")[0]], [2, `loopwarden: ${words}`]);
  }
});

test("completion knows every command and option", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout } = await loopwarden("completion", shell);
    assert.equal(code, 0);
    for (const word of ["replay", "doctor", "reporter", "junit", "claude-code", "no-config"])
      assert.ok(stdout.includes(word), `${shell}: ${word}`);
  }
  const script = (await loopwarden("completion", "bash")).stdout;
  const asked = `${script}\nCOMP_WORDS=(loopwarden replay --rep); COMP_CWORD=2; _loopwarden; echo "\${COMPREPLY[@]}"`;
  assert.equal((await run("bash", ["-c", asked])).stdout.trim(), "--reporter");
  const csh = await loopwarden("completion", "csh");
  assert.deepEqual([csh.code, /loopwarden: completion csh/.test(csh.stderr)], [2, true], csh.stderr);
});

test("doctor: a hook that calls what is not there is wrong", async () => {
  const own = await mkdtemp(join(folder, "doctor-"));
  const there = () => run(process.execPath, [cli, "doctor"], { cwd: own, env: { HOME: own, USERPROFILE: own } });
  const fine = await there();
  assert.equal(fine.code, 0, fine.stdout);
  assert.match(fine.stdout, /✓ detector .*\+rules\.\d+ on Node/);
  assert.match(fine.stdout, /– hooks .*none/);
  await mkdir(join(own, ".claude"));
  const command = '"$CLAUDE_PROJECT_DIR"/node_modules/.bin/loopwarden hook';
  const hooks = { PreToolUse: [{ hooks: [{ type: "command", command }] }] };
  await writeFile(join(own, ".claude/settings.json"), JSON.stringify({ hooks }));
  const wrong = await there();
  assert.equal(wrong.code, 1);
  const missing = `calls ${own}/node_modules/.bin/loopwarden, which does not exist`;
  assert.ok(wrong.stdout.includes(missing) || process.platform === "win32", wrong.stdout);
  assert.match(wrong.stdout, /✗ hooks .*calls .*node_modules.*loopwarden, which does not exist/);
  await mkdir(join(own, "node_modules/.bin"), { recursive: true });
  await writeFile(join(own, "node_modules/.bin/loopwarden"), "");
  const right = await there();
  assert.match(right.stdout, /✓ hooks .*settings\.json: .*; it uses the recommended configuration$/m);
  assert.equal(right.code, 0, right.stdout);
  // A checkout may have any name.
  await mkdir(join(own, "elsewhere/dist"), { recursive: true });
  await writeFile(join(own, "elsewhere/dist/cli.js"), "");
  const checkout = { Stop: [{ hooks: [{ type: "command", command: `node "${own}/elsewhere/dist/cli.js" hook` }] }] };
  await writeFile(join(own, ".claude/settings.local.json"), JSON.stringify({ hooks: checkout }));
  assert.match((await there()).stdout, /✓ hooks .*settings\.local\.json: /);
  await rm(join(own, ".claude/settings.local.json"));
  // Which configuration a session here goes by.
  await writeFile(join(own, "loopwarden.json"), '{ "mode": "shadow" }');
  assert.match((await there()).stdout, /✓ hooks .*; it uses loopwarden\.json in this folder$/m);
  const uses = async (options: string) => {
    const hooks = { PreToolUse: [{ hooks: [{ type: "command", command: `${command} ${options}` }] }] };
    await writeFile(join(own, ".claude/settings.json"), JSON.stringify({ hooks }));
    return (await there()).stdout;
  };
  assert.match(await uses("--no-config"), /✓ hooks .*; it uses the recommended configuration and no loopwarden\.json/);
  await writeFile(join(own, "team.json"), "{}");
  assert.match(await uses('--config "$CLAUDE_PROJECT_DIR"/team.json'), /✓ hooks .*; it uses \S*team\.json$/m);
  await writeFile(join(own, "team.json"), '{ "mode": "loud" }');
  assert.match(await uses("--config=team.json"), /✗ hooks .*which does not watch: team\.json:1: invalid-config/);
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
    { id: "shadow", expect: "no-loop", events: stuck(8), config: { mode: "shadow" } },
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
    loops: 6,
    caught: 3,
    noLoops: 6,
    falseAlarms: 1,
    missed: ["too-late", "not-at-all", "too-early"],
    false: ["alarmed"],
    success: { runs: 1, alarms: 0 },
    failure: { runs: 1, alarms: 1 },
    unlabelled: { runs: 1, alarms: 1 },
    events: scenarios.reduce((sum, { events }) => sum + events.length, 0),
    unread: 2,
    of: scenarios.reduce((sum, { events }) => sum + events.length, 1),
  });
  assert.deepEqual([b.loops, b.caught], [1, 1]);
  assert.deepEqual([total.file, total.loops, total.caught, total.unread], ["total", 7, 4, 2]);
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
  assert.match(stdout, /missed +short: a loop was not found: no verdict reached halt/);
  const timed = [9, 1].map((expectAt) => ({ id: `at-${expectAt}`, expect: "loop", expectAt, events: stuck(6) }));
  const late = await file("late.jsonl", jsonLines(timed.map((one) => ({ ...one, firstAt: one.expectAt === 9 }))));
  const told = (await loopwarden("eval", late)).stdout;
  assert.match(told, /at-9: a loop was found too early: at event 5, not before 9\n/);
  assert.match(told, /at-1: a loop was found too late: at event 5, expected by 1\n/);
});

test("eval goes by the higher of --level and a scenario's own minLevel, and by the level given in its own shadow mode", async () => {
  const scenarios = [
    { id: "plain", expect: "loop", events: stuck(4) },
    { id: "watched", expect: "loop", minLevel: "observe", config: { mode: "shadow" }, events: stuck(8) },
    { id: "silent", expect: "no-loop", config: { mode: "shadow" }, events: stuck(8) },
    { id: "patient", expect: "no-loop", minLevel: "gate", events: stuck(4) },
    { id: "strict", expect: "no-loop", minLevel: "observe", events: stuck(4) },
    { id: "halted", expect: "loop", minLevel: "halt", events: stuck(6) },
  ];
  const name = await file("levels.jsonl", jsonLines(scenarios));
  const wrong = async (...args: string[]) => {
    const { missed, false: alarmed } = JSON.parse(
      (await loopwarden("eval", name, "--json", ...args)).stdout.split("\n")[0] ?? "",
    );
    return [...missed, ...alarmed];
  };
  assert.deepEqual(await wrong(), ["halted", "strict"]);
  assert.deepEqual(await wrong("--level", "nudge"), ["watched", "halted", "strict"]);
  assert.deepEqual(await wrong("--level", "gate"), ["plain", "watched", "halted"]);
  const shadow = await file("shadow.json", '{"mode":"shadow"}');
  assert.deepEqual(await wrong("--config", shadow), ["halted", "strict"], "what would have been said counts");
  const sarif = JSON.parse((await loopwarden("eval", name, "--reporter", "sarif")).stdout);
  const said: string[] = sarif.runs[0].results.map(({ message }: { message: { text: string } }) => message.text);
  assert.ok(said.some((text) => /^observe: .* \(watched\)$/.test(text)));
  assert.ok(!said.some((text) => text.endsWith("(silent)")));
});

test("eval tells of every wrong label with file, line and field, and scores the others", async () => {
  const events = busy(2);
  const wrong: [object, ...RegExp[]][] = [
    [{ id: "a", expect: "Loop" }, /`expect`: expected one of loop, no-loop; did you mean `loop`\? Got `"Loop"`/],
    [{ id: "b", expect: "yes" }, /`expect`: expected one of loop, no-loop, got `"yes"`/],
    [{ id: "c", expect: "loop", expectAt: 4 }, /`expectAt`: expected the index of an event, 0 to 3, got `4`/],
    [{ id: "d", expect: "loop", expectAt: "2" }, /`expectAt`: expected the index .*, got `"2"`/],
    [{ id: "e", expect: "loop", expectAt: 1.5 }, /`expectAt`: expected the index .*, got `1.5`/],
    [{ id: "f", expect: "no-loop", expectAt: 1 }, /`expectAt`: is for scenarios with `"expect": "loop"` alone/],
    [{ id: "g", success: true, expectAt: 0 }, /`expectAt`: is for scenarios with/],
    [
      { id: "h", expect: "loop", expectAt: -1, firstAt: 1 },
      /`expectAt`: expected the index .*`-1`/,
      /`firstAt`: expected true or false, got `1`/,
    ],
    [
      { id: "i", expect: "loop", minLevel: "haltt" },
      /`minLevel`: expected one of observe, .*, halt; did you mean `halt`\?/,
    ],
    [{ id: "j", minLevel: "continue" }, /`minLevel`: expected one of observe, nudge, block, gate, halt/],
    [{ id: "k", success: "false" }, /`success`: expected true or false, got `"false"`/],
    [{ id: 12, expect: "loop" }, /`id`: expected a text, got `12`/],
    [{ id: "fine", expect: "no-loop" }, /`id`: is that of line 2 already, got `"fine"`/],
    [{ id: "l", expect: "loop", events: [] }, /`events`: holds no event/],
    [{ id: "m", expct: "loop" }, /`expct`: unknown field, did you mean `expect`\?/],
    [{ id: "n", Expect: "loop" }, /`Expect`: unknown field, did you mean `expect`\?/],
    [{ id: "o", expect: "loop", expected_at: 1 }, /`expected_at`: unknown field, did you mean `expectAt`\?/],
    [{ id: "p", expect: "loop", MINLEVEL: "halt" }, /`MINLEVEL`: unknown field, did you mean `minLevel`\?/],
    [{ id: "q", expect: "loop", config: { presett: "x" } }, /config: invalid-config: `presett`: unknown field/],
  ];
  const own = { kind: "own", expected: [1], source: "x", first: 3, why: "", index: 7 };
  const right = [
    { expect: "no-loop", expectAt: null, firstAt: null, minLevel: null, success: null, config: null },
    { id: "fine", expect: "no-loop", ...own },
    { expect: "loop", firstAt: true, expectAt: 3 },
  ];
  const lines = [...right, ...wrong.map(([one]) => one)].map((one) => ({ events, ...one }));
  const name = await file("mislabelled.jsonl", jsonLines(lines));
  const { code, stdout, stderr } = await loopwarden("eval", name, "--json", "--strict");
  assert.equal(code, 1);
  for (const [index, [, ...complaints]] of wrong.entries())
    for (const complaint of complaints)
      assert.match(stderr, new RegExp(`^mislabelled\\.jsonl:${index + 4}: ${complaint.source}`, "m"));
  const [score] = stdout.split("\n").map((line) => line && JSON.parse(line));
  assert.deepEqual(
    [score.scenarios, score.missed, score.falseAlarms, score.noLoops, score.unread],
    [3, ["line 3"], 0, 2, wrong.length],
  );
  assert.equal((await loopwarden("eval", await file("labelled.jsonl", jsonLines(lines.slice(0, 3))))).code, 0);
  // Of a run of another program the expectation alone is known for a label.
  const foreign = [
    { id: 7, expect: "no-loop", Expect: 1, expectAt: "?", messages: chat(1) },
    { id: 7, expect: "none", messages: chat(1) },
  ];
  const there = await loopwarden("eval", await file("rows.jsonl", jsonLines(foreign)), "--json");
  assert.equal(there.code, 1);
  assert.match(there.stderr, /^rows\.jsonl:2: `expect`: expected one of loop, no-loop, got `"none"`$/m);
  assert.doesNotMatch(there.stderr, /rows\.jsonl:1:/);
  assert.deepEqual(JSON.parse(there.stdout.split("\n")[0] ?? "").noLoops, 1);
});

test("eval tells of a file that cannot be read, and scores the others", async () => {
  await mkdir(join(folder, "damaged"), { recursive: true });
  const scenarios = Array.from({ length: 400 }, (_, index) => ({
    id: `run-${index}`,
    expect: "no-loop",
    events: pair(index, { path: `${Math.sin(index)}.ts` }, `wrote ${Math.cos(index)}`, "ok"),
  }));
  const packed = gzipSync(jsonLines(scenarios));
  await file("damaged/a.json", Buffer.from([0, 1, 2, 3]));
  await file("damaged/b.jsonl", jsonLines(scenarios.slice(0, 3)));
  await file("damaged/c.jsonl.gz", packed.subarray(0, packed.length - 800));
  await file("damaged/d.jsonl", jsonLines([{ id: "last", expect: "loop", events: stuck(6) }]));
  const { code, stdout, stderr } = await loopwarden("eval", "damaged", "--json", "--strict");
  assert.equal(code, 1);
  assert.match(stderr, /^loopwarden: damaged.a\.json: is not readable text/m);
  assert.match(stderr, /^loopwarden: damaged.c\.jsonl\.gz: /m);
  const scores = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    scores.map(({ file }) => file),
    [...["b.jsonl", "c.jsonl.gz", "d.jsonl"].map((name) => join("damaged", name)), "total"],
  );
  const [whole, cut, last, total] = scores.map(({ scenarios }) => scenarios);
  assert.deepEqual([whole, last, total], [3, 1, whole + cut + last]);
  assert.ok(cut > 100 && cut < 400, `${cut} were read before the end`);
});

test("eval shows scenarios without a label in a column of their own", async () => {
  const name = await file("bare.jsonl", jsonLines([{ id: "bare", events: stuck(6) }]));
  const other = await file("told.jsonl", jsonLines([{ id: "told", expect: "no-loop", events: busy(2) }]));
  const { stdout } = await loopwarden("eval", name, other);
  assert.match(stdout, /^file +false alarms +unlabelled +events/m);
  assert.match(stdout, /^bare\.jsonl +– +1\/1 /m);
  assert.match(stdout, /^told\.jsonl +0\/1 +– /m);
});

test("eval agrees with what is known of the corpus", async () => {
  const corpus = fileURLToPath(new URL("../../tests/corpus", import.meta.url));
  const lines: string[] = [];
  for (const name of (await readdir(corpus)).filter((name) => name.endsWith(".jsonl")))
    lines.push(...(await readFile(join(corpus, name), "utf8")).split("\n").filter((line) => line !== ""));
  const scenarios = lines.map((line) => JSON.parse(line));
  const ids = (some: typeof scenarios) => some.map(({ id }) => id).sort();
  const { code, stdout } = await loopwarden("eval", corpus, "--json");
  assert.equal(code, 0);
  const total = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
  assert.equal(total.scenarios, scenarios.length);
  assert.equal(total.loops + total.noLoops, scenarios.length, "each is labelled, and none is refused");
  const known = scenarios.filter(({ knownMiss }) => knownMiss !== undefined);
  assert.ok(known.length > 0 && known.length * 20 < scenarios.length);
  assert.deepEqual(total.missed.sort(), ids(known.filter(({ expect }) => expect === "loop")));
  assert.deepEqual(total.false.sort(), ids(known.filter(({ expect }) => expect === "no-loop")));
  const refused = scenarios.reduce((sum, { refused }) => sum + (refused?.length ?? 0), 0);
  assert.equal(total.unread, refused);
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
  assert.deepEqual([lines.scenarios, lines.loops, lines.caught, lines.noLoops, lines.falseAlarms], [4, 1, 1, 1, 0]);
  assert.deepEqual(lines.success, { runs: 1, alarms: 0 });
  assert.deepEqual(lines.unlabelled, { runs: 1, alarms: 1 });
  assert.match(stderr, /labelled\.jsonl:5: invalid-json/);
  assert.deepEqual([trajectory.unlabelled, trajectory.events], [{ runs: 1, alarms: 1 }, 36]);
  assert.deepEqual(total.unlabelled, { runs: 2, alarms: 2 });
  assert.match((await loopwarden("eval", "foreign")).stdout, /caught +false alarms +in successes +unlabelled/);
  const shown = (await loopwarden("eval", "foreign/run.traj")).stdout;
  assert.match(shown, /file +unlabelled +events[\s\S]*No run says what is expected/);
  assert.doesNotMatch(shown, /caught|–/);
});

test("a long log is read as a stream: its length is not in the memory", async () => {
  const path = join(folder, "long.jsonl");
  const long = 40 << 20;
  const output = Array.from({ length: 60 }, (_, index) => `line ${index} of the answer to`).join("\n");
  const handle = await open(path, "w");
  let written = 0;
  for (let step = 0; written < long; step += 100) {
    const events = Array.from({ length: 100 }, (_, index) =>
      pair(step + index, { path: `src/part-${step + index}.ts` }, `${output} ${step + index}`, "ok"),
    );
    written += (await handle.write(jsonLines(events.flat()))).bytesWritten;
  }
  await handle.close();
  const peak =
    'data:text/javascript,process.on("exit",()=>process.stderr.write("peak "+process.resourceUsage().maxRSS))';
  for (const args of [
    ["replay", path],
    ["eval", path, "--json"],
  ]) {
    const { code, stderr } = await run(process.execPath, ["--import", peak, cli, ...args]);
    assert.equal(code, 0, stderr);
    const kilobytes = Number(/peak (\d+)/.exec(stderr)?.[1]);
    assert.ok(kilobytes < 150_000, `${args[0]} took ${kilobytes} KB for ${written} bytes`);
  }
});

test("replay names the run and the event where a line holds a whole run, and says what the run has cost", async () => {
  const run = (id: string) => {
    const history = Array.from({ length: 5 }, (_, index) => [
      {
        id: index * 2,
        source: "agent",
        action: "run",
        args: { command: `make ${id}` },
        llm_metrics: {
          accumulated_cost: (index + 1) / 100,
          accumulated_token_usage: { prompt_tokens: 90 * (index + 1), completion_tokens: 10 * (index + 1) },
        },
      },
      {
        id: index * 2 + 1,
        cause: index * 2,
        observation: "run",
        content: "No rule to make target",
        extras: { metadata: { exit_code: 2 } },
      },
    ]).flat();
    return JSON.stringify({ instance_id: id, history });
  };
  const name = await file("runs.jsonl", `${run("first-one")}\n${run("second-one")}\n`);
  const { stdout } = await loopwarden("replay", name);
  assert.match(stdout, /^run second-one$/m);
  assert.match(stdout, /^event \d+ {2}(nudge|block) {2}/m);
  assert.match(stdout, /→ exit 2: No rule to make target/);
  assert.match(stdout, /so far .*\d+ tokens, 0\.0\d of your currency/);
  assert.match(stdout, /^the whole run {2}20 events, 1,000 tokens, 0\.10 of your currency$/m);
});

test("a file is written whole or not at all, and no link is followed", async (t) => {
  const log = await file("whole.jsonl", jsonLines(stuck(4)));
  const secret = await file("secret.txt", "precious");
  await mkdir(join(folder, "planted"), { recursive: true });
  const planted = join(folder, "planted", "loopwarden-view.html");
  await symlink(join(folder, secret), planted);
  const { code, stderr } = await run(process.execPath, [cli, "view", join(folder, log)], {
    cwd: join(folder, "planted"),
  });
  assert.deepEqual(
    [code, stderr],
    [1, "loopwarden: loopwarden-view.html: is a link; name the file itself, or another one\n"],
  );
  assert.equal(await readFile(join(folder, secret), "utf8"), "precious");
  assert.ok((await lstat(planted)).isSymbolicLink());
  if (process.platform === "win32") return t.skip("has no limit for the size of a file");
  const sound = '<meta name="generator" content="loopwarden view"><p>sound</p>';
  const page = await file("sound.html", sound);
  const limited = ["-c", 'ulimit -f 100 && exec "$0" "$@"', process.execPath, cli, "view", log, "-o", page];
  const full = await run("/bin/sh", limited, { cwd: folder });
  assert.equal(full.code, 1);
  assert.match(full.stderr, /^loopwarden: sound\.html: cannot be written: [^\n]+\n$/);
  assert.equal(await readFile(join(folder, page), "utf8"), sound);
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.endsWith(".tmp")),
    [],
  );
  assert.equal((await loopwarden("view", log, "-o", page)).code, 0);
  assert.match(await readFile(join(folder, page), "utf8"), /^<!doctype html>/);
  // Whoever cannot be warned is still served.
  const deaf = ["-c", 'exec "$0" "$@" 2>/dev/full', process.execPath, cli, "eval", "--reporter", "cobol"];
  if (process.platform === "linux") assert.equal((await run("/bin/sh", deaf, { cwd: folder })).code, 2);
});

test("a printed command begins as this one was called", async () => {
  const folder = await mkdtemp(join(tmpdir(), "called-"));
  for (const [path, called] of [
    [["node_modules", ".bin", "loopwarden"], "npx loopwarden"],
    [["bin", "loopwarden"], "loopwarden"],
    [["checkout", "cli.js"], `node ${join("checkout", "cli.js")}`],
  ] as const) {
    const link = join(folder, ...path);
    await mkdir(dirname(link), { recursive: true });
    await symlink(cli, link);
    const { stderr } = await run(process.execPath, [link, "replay", "--levl", "nudge"], { cwd: folder });
    assert.match(stderr, new RegExp(`^See ${called.replaceAll(/[\\.]/g, "\\$&")} replay --help$`, "m"));
  }
  await rm(folder, { recursive: true });
});
