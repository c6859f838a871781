import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Config, AgentEvent as Event, Scenario } from "../dist/index.js";
import { type Result, run } from "./support/run.ts";

const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "loopwarden-tune-"));
});
after(() => rm(folder, { recursive: true }));

const loopwarden = (...args: string[]): Promise<Result> => run(process.execPath, [cli, ...args], { cwd: folder });

async function file(name: string, lines: (object | string)[]): Promise<string> {
  const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
  await writeFile(join(folder, name), `${text.join("\n")}\n`);
  return name;
}

/** A call and its result. */
function pair(tool: string, args: object, output: string, outcome: "ok" | "error" = "ok"): Event[] {
  return [
    { type: "tool-call", tool, args },
    { type: "tool-result", tool, outcome, output },
  ];
}

const times = (n: number, events: Event[]): Event[] => Array.from({ length: n }, () => events).flat();
const scenario = (id: string, expect: Scenario["expect"], events: Event[]): object => ({ id, expect, events });

const quiet = (id: string): object =>
  scenario(
    id,
    "no-loop",
    ["a", "b", "c"].flatMap((name) => pair("read", { path: `${id}/${name}.ts` }, `export const ${name} = "${id}";`)),
  );

/** Asks for a job's state, which takes its time to change. */
const polls = (id: string, n: number, expect: Scenario["expect"] = "no-loop"): object =>
  scenario(id, expect, times(n, pair("job_tail", { job: 7 }, "the job has not been picked up by anybody")));

/** Reads one file again and again. */
const rereads = (id: string, n: number, expect: Scenario["expect"]): object =>
  scenario(id, expect, times(n, pair("read", { path: "a.ts" }, "export const a = 1;")));

const quiets = Array.from({ length: 5 }, (_, index) => quiet(`quiet-${index}`));

interface Tuned {
  met: boolean;
  allowed: number;
  runs: { honest: number; loops: number; failed: number };
  rules: { rule: string; runs: number; false: number; loops: number; failed: number; tools: object }[];
  before: { falseAlarms: number; caught: number };
  after: { falseAlarms: number; caught: number };
  changes: { change: object; before: number; after: number }[];
  refused: { change: object; lost: string[] }[];
  left: { file: string; id?: string; rule: string; line: number; seq: number }[];
  config: object;
}

async function tuned(...args: string[]): Promise<Tuned & { code: number | null }> {
  const { code, stdout, stderr } = await loopwarden("tune", ...args, "--json");
  assert.notEqual(stdout, "", stderr);
  return { code, ...JSON.parse(stdout) };
}

test("a poll becomes a polling tool, and the loop is still caught", async () => {
  const name = await file("polls.jsonl", [
    ...quiets,
    polls("poll-1", 4),
    polls("poll-2", 5),
    rereads("stuck", 6, "loop"),
  ]);
  const result = await tuned(name);
  assert.deepEqual(result.runs, { honest: 7, loops: 1, failed: 0 });
  assert.deepEqual(
    [result.before, result.after],
    [
      { falseAlarms: 2, caught: 1 },
      { falseAlarms: 0, caught: 1 },
    ],
  );
  assert.deepEqual(result.changes, [{ change: { tools: { job_tail: { polling: true } } }, before: 2, after: 0 }]);
  assert.deepEqual(result.config, { tools: { job_tail: { polling: true } } });
  assert.deepEqual([result.code, result.met], [0, true]);
  const [first] = result.rules;
  assert.deepEqual(first, {
    rule: "repeated-call",
    runs: 3,
    false: 2,
    loops: 1,
    failed: 0,
    tools: { job_tail: 2 },
  });
});

test("what is suggested is what eval gives under it, and config check takes it", async () => {
  const name = await file("both.jsonl", [
    ...quiets,
    polls("poll", 5),
    rereads("reread", 4, "no-loop"),
    rereads("stuck", 9, "loop"),
  ]);
  const { code, stdout } = await loopwarden("tune", name, "-o", "tuned.json");
  assert.equal(code, 0);
  assert.match(stdout, /tools\.read\.rules\.repeated-call\.nudge = \d+ +false alarms \d → \d, loops lost 0/);
  assert.match(stdout, /Written to tuned\.json\./);
  assert.equal((await loopwarden("config", "check", "tuned.json")).code, 0);
  const written = JSON.parse(await readFile(join(folder, "tuned.json"), "utf8"));
  const printed = stdout.slice(stdout.indexOf("\n{"), stdout.lastIndexOf("}") + 1);
  assert.deepEqual(JSON.parse(printed), written);
  const scored = await loopwarden("eval", name, "--config", "tuned.json", "--json");
  const [score] = scored.stdout.split("\n").map((line) => line && JSON.parse(line));
  assert.deepEqual([score.falseAlarms, score.caught, score.loops], [0, 1, 1]);
  assert.deepEqual(
    await loopwarden("tune", name, "-o", "tuned.json"),
    await loopwarden("tune", name, "-o", "tuned.json"),
  );
});

test("what silences a batch that failed raises no alarm in one that succeeds", async () => {
  const token = (n: number) =>
    `${(n * 7919 + 12_345).toString(16).padStart(8, "0")}-1111-4222-8333-00000000${n + 1000}`;
  const cases: [tool: string, field: string, value: (n: number) => unknown, failure: string][] = [
    ["delete_file", "path", (n) => `notes/page-${"abcdefghijklmnopqrstuvwxyz"[n]}.txt`, "permission denied"],
    [
      "remove",
      "query",
      (n) => `all about ${["tides", "ropes", "buoys", "cranes", "quays", "docks"][n % 6]} ${n}`,
      "no access to it",
    ],
    ["cleanup", "url", (n) => `https://shop.example/item/${n}`, "connection refused"],
    ["job_tail", "id", (n) => 1000 + n * 7, "no such job"],
    ["revoke", "token", token, "cannot revoke it: forbidden"],
  ];
  for (const [tool, field, value, failure] of cases) {
    for (const n of [4, 6, 14]) {
      const batch = (count: number, output: string, outcome: "ok" | "error") =>
        Array.from({ length: count }, (_, at) =>
          pair(tool, { [field]: value(at) }, output.replace("it", String(value(at))), outcome),
        ).flat();
      const failed = await file("failed.jsonl", [...quiets, scenario("batch", "no-loop", batch(n, failure, "error"))]);
      const { config } = (await tuned(failed)) as { config: Config };
      const settings = config.tools?.[tool];
      assert.equal(settings?.ignoreArgs, undefined, `${tool} ${n}`);
      if (tool !== "job_tail") assert.equal(settings?.polling, undefined, `${tool} ${n}`);
      await writeFile(join(folder, "batch.json"), JSON.stringify(config));
      const done = ["ok", "it is done"].map((output, at) => scenario(`done-${at}`, "no-loop", batch(24, output, "ok")));
      const scored = await loopwarden("eval", await file("done.jsonl", done), "--config", "batch.json", "--json");
      assert.equal(JSON.parse(scored.stdout.split("\n")[0] ?? "").falseAlarms, 0, `${tool} ${n}: ${scored.stdout}`);
    }
  }
});

test("what changes something is not said to poll, what asks for one thing again is", async () => {
  const retried = (tool: string, args: object) =>
    scenario("again", "no-loop", times(5, pair(tool, args, "the crane has not been greased", "error")));
  for (const [tool, args, polls] of [
    ["get_crane", { id: 7 }, true],
    ["Bash", { command: "crane look 7" }, true],
    ["delete_crane", { id: 7 }, false],
    ["Bash", { command: "rm crane-7.txt" }, false],
  ] as const) {
    const name = await file("again.jsonl", [...quiets, retried(tool, args)]);
    const { met, changes } = await tuned(name);
    assert.deepEqual(
      [met, JSON.stringify(changes).includes("polling")],
      [true, polls],
      `${tool} ${JSON.stringify(args)}`,
    );
  }
});

test("the rate is met already: nothing is changed", async () => {
  const name = await file("met.jsonl", [...quiets, polls("poll", 4)]);
  const result = await tuned(name, "--rate", "20%");
  assert.deepEqual([result.code, result.met, result.allowed, result.changes], [0, true, 1, []]);
  const { code, stdout } = await loopwarden("tune", name, "--rate", "0.2");
  assert.equal(code, 0);
  assert.match(stdout, /The rate is met as it is: there is nothing to change\./);
  assert.doesNotMatch(stdout, /Suggested/);
  assert.match(stdout, / explain met\.jsonl --scenario poll --at \d+/);
});

test("the rate cannot be met: the loop that would be lost is named, and the exit code says so", async () => {
  const name = await file("never.jsonl", [...quiets, rereads("honest", 5, "no-loop"), rereads("stuck", 5, "loop")]);
  const result = await tuned(name);
  assert.deepEqual([result.code, result.met, result.changes], [3, false, []]);
  assert.deepEqual(result.after, { falseAlarms: 1, caught: 1 });
  assert.ok(result.refused.length > 0 && result.refused.every(({ lost }) => lost.join() === "never.jsonl stuck"));
  const { code, stdout } = await loopwarden("tune", name);
  assert.equal(code, 3);
  assert.match(stdout, /cannot be met without losing a labelled loop/);
  assert.match(stdout, /would leave 0, but lose stuck/);
});

test("without a labelled loop the reason is not that one would be lost, and nothing is written", async () => {
  const asked = times(6, pair("graph_query", { query: "MATCH (s:Stop) RETURN s.name" }, "[]"));
  const name = await file("graph.jsonl", [scenario("graph", "no-loop", asked)]);
  for (const how of [[], ["--json"]]) {
    const { code, stdout, stderr } = await loopwarden("tune", name, "-o", "graph.json", ...how);
    assert.equal(code, 3);
    assert.equal(stderr, "loopwarden: nothing is written to graph.json: the rate is not met\n");
    if (how.length > 0) continue;
    assert.match(stdout, /^The rate of 1 % cannot be met: no setting that was tried makes it any better\.$/m);
    assert.doesNotMatch(stdout, /labelled loop|Written/);
  }
  await assert.rejects(readFile(join(folder, "graph.json")), /ENOENT/);
  const loops = await file("loops.jsonl", [rereads("stuck", 6, "loop")]);
  const { stderr } = await loopwarden("tune", loops, "-o", "graph.json");
  assert.equal(stderr, "loopwarden: nothing is written to graph.json: no rate can be computed\n");
  await assert.rejects(readFile(join(folder, "graph.json")), /ENOENT/);
});

test("tune overwrites a configuration that loses nothing, and what else is there only when it is told to", async () => {
  const own = await mkdtemp(join(folder, "own-"));
  const there = (...args: string[]) => run(process.execPath, [cli, "tune", ...args], { cwd: own });
  const write = (name: string, text: string) => writeFile(join(own, name), text);
  const read = (name: string) => readFile(join(own, name), "utf8");
  const lines = [...quiets, polls("poll", 5)].map((line) => JSON.stringify(line)).join("\n");
  await mkdir(join(own, "runs"));
  await write("runs/h2.jsonl", lines);
  await write("other.jsonl", lines);
  await write("mine.json", '{ // ours\n  "attended": false\n}\n');
  await write("settings.json", '{ "attended": false }');
  await write("wrong.json", '{ "attendet": false }');
  const refused: [output: string, why: RegExp][] = [
    ["runs/h2.jsonl", /runs\/h2\.jsonl: is the log that is being read; name another file, or .* --force$/m],
    ["other.jsonl", /other\.jsonl: exists and is not a configuration; /],
    ["wrong.json", /wrong\.json: exists and is not a configuration; /],
    ["mine.json", /mine\.json: holds comments, which would be lost; /],
    [
      "settings.json",
      /settings\.json: holds settings that would be lost \(attended\), since tune does not start from them; /,
    ],
  ];
  for (const [output, why] of refused) {
    const before = await read(output);
    const { code, stdout, stderr } = await there("runs", "-o", output);
    assert.deepEqual([code, stdout], [2, ""], output);
    assert.match(stderr, why);
    assert.equal(await read(output), before);
  }
  assert.equal((await there("runs", "-o", "mine.json", "--config", "mine.json")).code, 2);
  const tools = { job_tail: { polling: true } };
  // What the settings are added to stays, and so does the schema that an editor reads.
  await write("loopwarden.json", '{ "$schema": "./config.schema.json", "attended": false }');
  assert.equal((await there("runs", "-o", "loopwarden.json")).code, 0);
  const whole = { $schema: "./config.schema.json", attended: false, tools };
  assert.deepEqual(JSON.parse(await read("loopwarden.json")), whole);
  assert.equal((await there("runs", "-o", "loopwarden.json", "--no-config")).code, 2);
  assert.deepEqual(JSON.parse(await read("loopwarden.json")), whole);
  for (const output of ["mine.json", "new.json", "new.json"]) {
    assert.equal((await there("runs", "-o", output, "--no-config", "--force")).code, 0);
    assert.deepEqual(JSON.parse(await read(output)), { tools });
  }
});

test("two rules that are wrong about one run are both changed", async () => {
  const events = times(3, pair("deploy_state", { job: 1 }, "cannot reach the cluster, it is not there", "error"));
  const result = await tuned(await file("two.jsonl", [...quiets, scenario("twice", "no-loop", times(2, events))]));
  assert.ok(result.rules.length >= 2, "the case is about more than one rule");
  assert.deepEqual([result.met, result.after.falseAlarms], [true, 0]);
});

test("the base configuration is kept, and an alarm it prevents is none", async () => {
  await writeFile(join(folder, "base.json"), '{"attended":false,"tools":{"job_*":{"polling":true}}}');
  const name = await file("base.jsonl", [...quiets, polls("poll", 4), rereads("reread", 4, "no-loop")]);
  const result = await tuned(name, "--config", "base.json");
  assert.equal(result.before.falseAlarms, 1);
  const { tools, ...rest } = result.config as { tools: Record<string, object> };
  assert.deepEqual(rest, { attended: false });
  assert.deepEqual(Object.keys(tools), ["job_*", "read"]);
});

test("runs without a label are honest, failed ones are counted apart", async () => {
  const { events } = polls("x", 4) as { events: Event[] };
  const name = await file("mixed.jsonl", [
    ...quiets,
    { id: "unlabelled", events },
    { id: "worked", success: true, events },
    { id: "failed", success: false, events },
  ]);
  const result = await tuned(name);
  assert.deepEqual(result.runs, { honest: 7, loops: 0, failed: 1 });
  assert.deepEqual([result.before.falseAlarms, result.rules[0]?.failed], [2, 1]);
});

test("where half of the runs without a label have an alarm, it is asked what they are before anything is suggested", async () => {
  const bare = (id: string, n: number) => ({ ...(polls(id, n) as object), expect: undefined });
  const most = [bare("a", 4), bare("b", 5), bare("c", 1), bare("d", 1)];
  const asked = await file("asked.jsonl", most);
  const { code, stdout, stderr } = await loopwarden("tune", asked);
  assert.deepEqual([code, stdout], [3, ""]);
  assert.match(stderr, /4 runs without a label, and 2 of them with an alarm at nudge or above: these may be loops/);
  assert.match(stderr, /label them \("expect": "loop" or "no-loop" in a scenario/);
  assert.ok((await tuned(asked, "--unlabelled", "honest")).changes.length > 0);
  assert.deepEqual((await tuned(await file("fewer.jsonl", [...most, bare("e", 2)]))).runs.honest, 5);
  assert.doesNotMatch((await loopwarden("tune", "fewer.jsonl")).stderr, /without a label/);
});

test("a change that does nothing alone is suggested with what it does something with", async () => {
  const { events: polled } = polls("x", 4) as { events: Event[] };
  const { events: read } = rereads("x", 4, "no-loop") as { events: Event[] };
  const name = await file("joined.jsonl", [...quiets, scenario("both", "no-loop", [...polled, ...read])]);
  const { changes } = await tuned(name, "--unlabelled", "honest");
  assert.deepEqual(
    changes.map(({ before, after }) => [before, after]),
    [[1, 0]],
  );
  const { tools } = (changes[0]?.change ?? {}) as Config;
  assert.deepEqual(Object.keys(tools ?? {}).sort(), ["job_tail", "read"]);
});

test("a scenario with a wrong label is told of and left out", async () => {
  const name = await file("mislabelled.jsonl", [...quiets, { ...(polls("x", 4) as object), expect: "Loop" }]);
  const { code, stderr } = await loopwarden("tune", name, "--json");
  assert.equal(code, 0);
  assert.match(stderr, /^mislabelled\.jsonl:6: `expect`: expected one of loop, no-loop; did you mean `loop`\?/);
});

test("a file of events counts every run in it", async () => {
  const events = ["one", "two"].flatMap((run) =>
    times(run === "two" ? 4 : 1, pair("job_tail", { job: 7 }, "the job has not been picked up by anybody")).map(
      (event) => ({ ...event, run }),
    ),
  );
  const result = await tuned(await file("events.jsonl", events));
  assert.deepEqual([result.runs.honest, result.before.falseAlarms], [2, 1]);
  const text = await loopwarden("tune", await file("events.jsonl", events), "--rate", "0.5");
  const [, at] = / explain events\.jsonl --at (line:\d+)/.exec(text.stdout) ?? [];
  assert.ok(at !== undefined, text.stdout);
  const explained = await loopwarden("explain", "events.jsonl", "--at", at, "--json");
  assert.equal(JSON.parse(explained.stdout).verdict.level, "nudge");
});

test("--level block looks at blocks alone", async () => {
  const name = await file("levels.jsonl", [...quiets, rereads("short", 3, "no-loop"), rereads("long", 8, "no-loop")]);
  assert.equal((await tuned(name)).before.falseAlarms, 2);
  const result = await tuned(name, "--level", "block");
  assert.deepEqual([result.before.falseAlarms, result.met, result.after.falseAlarms], [1, true, 0]);
});

test("broken lines are told and the rest is judged", async () => {
  const name = await file("broken.jsonl", [
    polls("poll", 4),
    "{no",
    '{"id":"no events"}',
    { id: "odd", events: [{ type: "what" }] },
  ]);
  const { code, stdout, stderr } = await loopwarden("tune", name, "--json");
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(stdout).runs.honest, 1);
  assert.match(
    stderr,
    /^broken\.jsonl:2: invalid-json: scenario is not JSON: expected a name in double quotes at column 2, got `no`$/m,
  );
  assert.match(stderr, /^broken\.jsonl:3: expected a scenario/m);
  assert.equal(stderr.match(/^broken\.jsonl:4: events\[0\]: unknown-event/gm)?.length, 1, "each is told once");
});

test("a file that is cut off is read as far as it goes, and the others are tuned to", async () => {
  await mkdir(join(folder, "some"), { recursive: true });
  await writeFile(join(folder, "some/a.jsonl.gz"), gzipSync(JSON.stringify(quiet("cut"))).subarray(0, 40));
  await file("some/b.jsonl", [quiet("one"), quiet("two")]);
  const { code, stdout, stderr } = await loopwarden("tune", "some", "--json");
  assert.deepEqual([code, JSON.parse(stdout).runs.honest], [0, 2]);
  assert.match(stderr, /^loopwarden: some\/a\.jsonl\.gz: the gzip file is cut off; what stands before that is read$/m);
  const alone = await loopwarden("tune", "some/a.jsonl.gz");
  assert.equal(alone.code, 1);
  assert.match(
    alone.stderr,
    /a\.jsonl\.gz: the gzip file is cut off; .*\n.*a\.jsonl\.gz: holds no event that can be read/s,
  );
});

test("a configuration of a scenario's own is set aside", async () => {
  const name = await file("own.jsonl", [{ ...polls("poll", 4), config: { enabled: false } }]);
  const { stdout, stderr } = await loopwarden("tune", name, "--json");
  assert.match(stderr, /1 run with a configuration of their own/);
  assert.equal(JSON.parse(stdout).before.falseAlarms, 1);
});

test("a path that is missing is reported, and the others count", async () => {
  const name = await file("beside.jsonl", [quiet("one")]);
  for (const command of ["tune", "eval"]) {
    const { code, stdout, stderr } = await run(process.execPath, [cli, command, "missing.jsonl", name], {
      cwd: folder,
    });
    assert.match(stderr, /missing\.jsonl: no such file or folder/);
    assert.match(stdout, command === "eval" ? /beside\.jsonl/ : /1 honest/);
    assert.equal(code, command === "eval" ? 1 : 0);
  }
});

test("wrong usage is 2, what cannot be read is 1", async (t) => {
  await mkdir(join(folder, "empty"), { recursive: true });
  const blank = await file("blank.jsonl", [""]);
  const name = await file("one.jsonl", [quiet("one")]);
  const cases: [code: number, args: string[], message: RegExp][] = [
    [2, [], /tune: which files or folders\?/],
    [2, [name, "--rate", "two"], /--rate two: expected a share/],
    [2, [name, "--rate", "1"], /expected a share/],
    [2, [name, "--level", "continue"], /--level continue: expected one of/],
    [2, [name, "--rat", "0"], /unknown option --rat, did you mean --rate\?/],
    [1, ["missing.jsonl"], /missing\.jsonl: no such file or folder/],
    [1, ["empty"], /empty: holds no \*\.jsonl/],
    [1, [blank], /blank\.jsonl: is empty/],
    [1, [name, "--config", "missing.json"], /missing\.json: no such file/],
    [1, [name, "-o", "no/such/folder.json"], /no\/such\/folder\.json: cannot be written/],
  ];
  for (const [code, args, message] of cases) {
    await t.test(args.join(" ") || "nothing", async () => {
      const result = await loopwarden("tune", ...args);
      assert.equal(result.code, code);
      assert.match(result.stderr, message);
    });
  }
});
