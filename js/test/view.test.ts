import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import type { Config, AgentEvent as Event, TraceEvent } from "../dist/index.js";
import { init } from "../dist/slim.js";
import { init as initSource } from "../src/core.ts";
import { LoopDetector } from "../src/detector.ts";
import { RULES } from "../src/generated/rules.ts";
import { pieces as wordDiff } from "../src/replay/diff.ts";
import { code, leading, readable, spans } from "../src/replay/report.ts";
import { tools as toolsSource } from "../src/tools.ts";
import { readTranscript } from "../src/transcript.ts";
import { exemptions } from "../src/view/alarms.ts";
import { example, workflow } from "../src/view/example.ts";
import { listed } from "../src/view/find.ts";
import {
  type Analysis,
  analyse,
  analyseAll,
  family,
  layOut,
  stateAt,
  type Trace,
  unread as unreadOf,
} from "../src/view/model.ts";
import { merged, refusal, ruleInfo, thresholds, withRule } from "../src/view/settings.ts";
import { pack, scenario, unpack } from "../src/view/share.ts";
import { headline, short } from "../src/view/words.ts";
import { run } from "./support/run.ts";

const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const demo = fileURLToPath(new URL("../../tests/transcripts/debugging-session.jsonl", import.meta.url));
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "loopwarden-view-"));
  // The sources under test hold a core of their own, as the page does.
  const core = await readFile(new URL("../dist/core.wasm", import.meta.url));
  init(core);
  initSource(core);
  toolsSource.init(await readFile(new URL("../dist/tools.wasm", import.meta.url)));
});
after(() => rm(folder, { recursive: true }));

const loopwarden = (...args: string[]) => run(process.execPath, [cli, ...args], { cwd: folder });

/** The same failing call with another argument each time. */
function stuck(times: number, from = 0): Event[] {
  return Array.from({ length: times }, (_, index): Event[] => {
    const callId = `c${from + index}`;
    const at = 1_767_258_000_000 + (from + index) * 10_000;
    return [
      { type: "tool-call", tool: "edit", args: { path: "a.ts", old: `try ${index}` }, callId, at },
      { type: "tool-result", tool: "edit", callId, outcome: "error", output: "text not found in a.ts", at: at + 2000 },
    ];
  }).flat();
}

const trace = (events: TraceEvent[], config: Config = {}): Trace => ({
  name: "run.jsonl",
  format: "trace",
  events,
  lines: events.map((_, index) => index + 1),
  errors: [],
  config,
});

/** Runs a generator to its end. */
function whole<T>(work: Generator<unknown, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** What a page holds. */
async function pageOf(html: string): Promise<{ trace: Trace | null; core: Buffer }> {
  const [, text] = /<script type="application\/json" id="trace">(.*?)<\/script>/s.exec(html) ?? [];
  const [, core] = /<script type="application\/octet-stream" id="core">(.*?)<\/script>/s.exec(html) ?? [];
  return { trace: JSON.parse(text ?? ""), core: gunzipSync(Buffer.from(core ?? "", "base64")) };
}

test("a loop is one span, with its onset, its levels and what it has cost", () => {
  const analysis = analyseAll(stuck(9), {});
  assert.equal(analysis.peak, "halt");
  const [loop] = analysis.loops;
  assert.equal(loop?.rule, "repeated-error");
  assert.equal(loop?.onset, 0);
  assert.deepEqual(loop?.reached, { nudge: 5, observe: 6, block: 11, halt: 15 });
  assert.equal(loop?.last, 17);
  assert.equal(loop?.finding.wasted.milliseconds, 82_000);
  assert.deepEqual(
    loop?.occurrences.map(({ event }) => event),
    [1, 3, 5, 7, 9, 11, 13, 15, 17],
  );
  assert.equal(new Set(loop?.occurrences.map(({ digest }) => digest)).size, 1, "all count as equal");
});

test("a loop is told by what it came to, also where that was only noted", () => {
  const { loops } = analyseAll(stuck(9), { rules: { "repeated-error": { enabled: false } } });
  const noted = loops.find(({ rule }) => rule === "resubmission");
  assert.deepEqual([noted?.peak, noted?.finding.count, noted?.fullest.count], ["nudge", 3, 9]);
  assert.match(noted?.fullest.message ?? "", / 9 times in a row/);
});

test("a loop that comes back later is a loop of its own", () => {
  const pause: Event[] = [{ type: "message", role: "user", text: "Go on with something else." }];
  const { loops } = analyseAll([...stuck(4), ...pause, ...stuck(4, 50)], {});
  const spans = loops
    .filter(({ rule }) => rule === "repeated-error")
    .map(({ onset, last }) => [onset, last])
    .sort();
  assert.deepEqual(spans, [
    [0, 7],
    [9, 16],
  ]);
});

test("an event that is refused is told, and the rest goes on", () => {
  const broken = { type: "output" } as Event;
  const { judged, refused } = analyseAll([broken, ...stuck(3)], {});
  assert.equal(refused, 1);
  assert.match(judged[0]?.error ?? "", /text/);
  assert.equal(judged.at(-1)?.level, "nudge");
});

test("shadow mode is shown as what it would have said", () => {
  assert.equal(analyseAll(stuck(4), { mode: "shadow" }).peak, "nudge");
});

test("the verdicts are those of the CLI, event by event", async () => {
  const file = join(folder, "verdicts.jsonl");
  await writeFile(
    file,
    stuck(9)
      .map((event) => JSON.stringify(event))
      .join("\n"),
  );
  const config = { preset: "sensitive" } as const;
  await writeFile(join(folder, "sensitive.json"), JSON.stringify(config));
  const { stdout } = await loopwarden("replay", file, "--json", "--config", "sensitive.json");
  const expected = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    analyseAll(stuck(9), config).judged.map(({ verdict }) => verdict),
    expected,
  );
});

test("a saved state is the detector as it was", () => {
  const events = stuck(300);
  const states: Uint8Array[] = [];
  whole(analyse(events, {}, states));
  assert.equal(states.length, 3);
  for (const index of [0, 249, 250, 431, 599]) {
    using then = stateAt(events, states, index);
    assert.equal(then.metrics().events, index + 1);
  }
});

test("lanes are agents, columns are rounds", () => {
  const call = (agent: string, round: string, callId: string): Event[] => [
    { type: "tool-call", tool: "t", args: {}, agent, round, callId },
    { type: "tool-result", tool: "t", outcome: "ok", output: "", agent, callId },
  ];
  const layout = layOut([...call("a", "1", "x"), ...call("a", "1", "y"), ...call("b", "2", "z")]);
  assert.deepEqual(layout.lanes, ["a", "b"]);
  assert.deepEqual(layout.lane, [0, 0, 0, 0, 1, 1]);
  assert.deepEqual(layout.column, [0, 0, 0, 0, 1, 1]);
  assert.deepEqual(layout.partner, [1, 0, 3, 2, 5, 4]);
  const many = layOut(
    Array.from({ length: 30 }, (_, index): Event => ({ type: "output", text: "", agent: `a${index}` })),
  );
  assert.equal(many.lanes.length, 12);
  assert.equal(many.lanes.at(-1), "other agents");
});

test("results without an id belong to the oldest unanswered call", () => {
  const events: Event[] = [
    { type: "tool-call", tool: "t", args: { n: 1 } },
    { type: "tool-call", tool: "t", args: { n: 2 } },
    { type: "tool-result", tool: "t", outcome: "ok", output: "1" },
    { type: "tool-result", tool: "t", outcome: "ok", output: "2" },
  ];
  assert.deepEqual(layOut(events).partner, [2, 3, 0, 1]);
});

test("the headline says what, since when, at what cost and what to do", () => {
  const run = trace([{ type: "message", role: "user", text: "hello" }, ...stuck(9)]);
  const head = headline(run, analyseAll(run.events, {}));
  assert.match(head.title, /stuck/);
  assert.match(head.what ?? "", /edit.*failed at least 8 times/);
  assert.equal(head.since?.event, 1);
  assert.match(head.since?.text ?? "", /^event 1, \d\d:\d\d:\d\d UTC$/);
  assert.equal(head.cost?.text, "18 events, 1 min 22 s");
  assert.match(head.action.text, /End the run/);
  assert.match(head.quote ?? "", /text not found/);
  assert.equal(head.warning?.event, 6);
  const quiet = headline(trace(run.events.slice(0, 3)), analyseAll(run.events.slice(0, 3), {}));
  assert.equal(quiet.title, "No loop in this run");
  assert.equal(quiet.since, undefined);
});

test("events and percentage of the headline are of one span, which ends with the last sighting", () => {
  const search = (n: number): Event[] => [
    { type: "tool-call", tool: "search", args: { q: `monitor ${n}` }, callId: `s${n}` },
    { type: "tool-result", tool: "search", callId: `s${n}`, outcome: "ok", output: "nothing found" },
  ];
  const before: Event[] = [{ type: "message", role: "user", text: "hello" }];
  const after: Event[] = Array.from({ length: 7 }, () => ({ type: "host", kind: "turn-start" }));
  const run = trace([...before, ...Array.from({ length: 16 }, (_, n) => search(n)).flat(), ...after]);
  const analysis = analyseAll(run.events, {});
  assert.equal(analysis.refused, 0);
  const [loop] = analysis.loops;
  assert.ok(loop !== undefined && loop.at < loop.last, "it was only noted after it had been told of once");
  const { cost } = headline(run, analysis);
  assert.deepEqual(cost, { text: "32 events", detail: "80 % of the events of the run" });
});

test("thresholds in force are the core's own, for every rule and preset", () => {
  for (const preset of ["balanced", "sensitive", "conservative"] as const) {
    for (const rule of RULES) {
      for (const { rung, value, least, most } of thresholds({ preset }, rule)) {
        const at = `${rule.id}.${rung} under ${preset}: ${least}..${value}..${most}`;
        if (preset === "balanced") assert.equal(value, rule[rung], at);
        assert.ok(least <= value && value <= most, at);
        for (const edge of [least, value, most]) {
          assert.equal(refusal(withRule({ preset }, rule.id, { [rung]: edge })), undefined, `${at}, at ${edge}`);
        }
      }
    }
  }
  const rule = ruleInfo("repeated-error");
  assert.ok(rule);
  const values = (preset: Config["preset"] & string) => thresholds({ preset }, rule).map(({ value }) => value);
  assert.deepEqual(values("sensitive"), [2, 4, 6]);
  // A window of eight errors cannot hold a halt above a block at eight.
  assert.deepEqual(values("conservative"), [5, 8]);
  // What a preset says is what happens: the verdicts change at these counts.
  const { loops } = analyseAll(stuck(9), { preset: "sensitive" });
  const { nudge, block, halt } = loops.find(({ rule }) => rule === "repeated-error")?.reached ?? {};
  assert.deepEqual([nudge, block, halt], [3, 7, 11]);
});

test("a setting that is taken back leaves no trace in the configuration", () => {
  const config = withRule({}, "cycle", { nudge: 4 });
  assert.deepEqual(config, { rules: { cycle: { nudge: 4 } } });
  assert.deepEqual(withRule(config, "cycle", { nudge: undefined }), {});
});

test("merging takes any key as a name", () => {
  const change = JSON.parse('{"tools":{"__proto__":{"polling":true}}}');
  const both = merged({ tools: { a: { polling: true } } }, change) as { tools: object };
  assert.deepEqual(Object.keys(both.tools), ["a", "__proto__"]);
  assert.equal(({} as { polling?: boolean }).polling, undefined);
});

test("a false alarm: every proposed line keeps quiet about it, and is valid", () => {
  const events = stuck(9);
  const analysis = analyseAll(events, {});
  const [loop] = analysis.loops;
  assert.ok(loop);
  const found = whole(exemptions(events, {}, analysis, loop, layOut(events).partner));
  assert.ok(found.length >= 2);
  for (const { change } of found) {
    const { loops } = analyseAll(events, change);
    assert.ok(!loops.some(({ rule, peak }) => rule === loop.rule && peak !== "observe"), JSON.stringify(change));
  }
  assert.deepEqual(found.at(-1)?.change, { rules: { "repeated-error": { enabled: false } } });
  assert.ok(
    found.some(({ change }) => change.tools?.["edit"] !== undefined),
    "the narrow one names the tool",
  );
});

test("an exported run is a scenario that eval agrees with", async () => {
  const run = trace(stuck(9));
  const analysis = analyseAll(run.events, {});
  const keys = analysis.loops.map(({ rule, signature }) => JSON.stringify([rule, signature]));
  const cases: [string, ReturnType<typeof scenario>][] = [
    ["loop", scenario(run, {}, analysis, [])],
    ["quiet", scenario(trace(stuck(1)), {}, analyseAll(stuck(1), {}), [])],
    ["watched", scenario(run, { mode: "shadow" }, analyseAll(run.events, { mode: "shadow" }), [])],
  ];
  for (const [name, line] of cases) {
    const file = join(folder, `${name}.scenario.jsonl`);
    await writeFile(file, `${JSON.stringify(line)}\n`);
    const [score] = (await loopwarden("eval", file, "--json")).stdout
      .split("\n")
      .map((text) => text && JSON.parse(text));
    assert.equal(score.missed.length + score.false.length + score.unread, 0, name);
    assert.equal(score.caught, line.expect === "loop" ? 1 : 0);
  }
  assert.equal(cases[0]?.[1].expectAt, 5);
  const silenced = scenario(run, {}, analysis, keys);
  assert.equal(silenced.expect, "no-loop");
  assert.equal(silenced.expectAt, undefined);
});

test("a link brings a state back, and nonsense brings nothing", async () => {
  const state = { event: 7, loop: '["a","b"]', config: { preset: "sensitive" as const }, falseAlarms: ["x"] };
  assert.deepEqual(await unpack(`#${await pack(state)}`), state);
  for (const hash of ["", "#", "#s=", "#s=!!", "#s=AAAA", "#event=3"])
    assert.equal(await unpack(hash), undefined, hash);
  for (const odd of [null, [], 5, { event: -1 }, { event: "1" }, { config: [] }, { falseAlarms: [1] }, { trace: {} }]) {
    assert.equal(await unpack(`#${await pack(odd as never)}`), undefined, JSON.stringify(odd));
  }
});

test("a link that unpacks to more than a page should hold is refused", async () => {
  const bomb = await pack({ loop: "a".repeat(40 * 1024 * 1024) });
  assert.ok(bomb.length < 100_000);
  assert.equal(await unpack(bomb), undefined);
});

test("the difference of two texts is made of their own words", () => {
  const [left, right] = wordDiff("took 41 ms: 2 failed", "took 1 ms: 2 failed");
  assert.equal(left.map(({ text }) => text).join(""), "took 41 ms: 2 failed");
  assert.deepEqual(
    left.filter(({ same }) => !same),
    [{ text: "41", same: false }],
  );
  assert.deepEqual(
    right.filter(({ same }) => !same),
    [{ text: "1", same: false }],
  );
  const long = `${"word ".repeat(5000)}end`;
  const [piece] = wordDiff(long, long);
  assert.equal(piece.map(({ text }) => text).join(""), long);
  assert.ok(piece.every(({ same }) => same));
});

test("one line has nothing in it that acts", () => {
  assert.equal(short("a\u001b[31m\n\u202eb\u0000c", 40), "a [31m b c");
  assert.equal(short("😀".repeat(50), 10), `${"😀".repeat(9)}…`);
});

test("the first example is a loop that everybody knows", () => {
  const { events, config } = example();
  const { refused, loops } = analyseAll(events, config);
  assert.equal(refused, 0);
  assert.deepEqual([loops[0]?.rule, loops[0]?.peak], ["repeated-error", "halt"]);
});

test("the first loop of the page is the one that the report of the run is about", async () => {
  const folder = new URL("../../tests/transcripts/", import.meta.url);
  const names = (await readdir(folder)).filter((name) => name !== "README.md");
  const logs = await Promise.all(names.map((name) => readFile(new URL(name, folder), "utf8")));
  const runs = [example().events, ...logs.map((text) => readTranscript(text).events)];
  const call = (tool: string): TraceEvent[] => [
    { type: "tool-call", tool, args: { path: tool } },
    { type: "tool-result", tool, outcome: "error", output: `${tool}: no such thing` },
  ];
  // Two loops that are equally strong, one after the other.
  runs.push(["first", "second"].flatMap((tool) => Array.from({ length: 4 }, () => call(tool)).flat()));
  for (const [index, events] of runs.entries()) {
    using detector = new LoopDetector();
    for (const event of events) if (!event.pending) detector.record(event as Event);
    const [{ run } = {}] = events;
    const lead = leading(detector.report(run == null ? {} : { run }, "json").findings);
    const [first] = analyseAll(events, {}).loops;
    assert.deepEqual([first?.rule, first?.signature], [lead?.rule, lead?.signature], `${["example", ...names][index]}`);
  }
});

test("events are found by words, by a word in a field, and by kind", () => {
  const events: TraceEvent[] = [
    { type: "message", role: "user", text: "Fix the Cart" },
    { type: "tool-call", tool: "edit", args: { path: "cart.ts" }, agent: "coder" },
    { type: "tool-result", tool: "edit", outcome: "error", output: "no such text", agent: "coder" },
    { type: "host", kind: "compaction" },
  ];
  const { judged } = analyseAll(events, {});
  const found = (text: string, kind = "") => listed(events, text, kind, judged, new Set([2]));
  assert.equal(found(" "), undefined, "nothing is looked for");
  assert.deepEqual(found("cart"), [0, 1]);
  assert.deepEqual(found("fix cart"), [0]);
  assert.deepEqual(found("agent:code tool:EDIT"), [1, 2]);
  assert.deepEqual(found("output:cart"), []);
  assert.deepEqual(
    ["call", "said", "failed", "loop", "other", "verdict"].map((kind) => found("", kind)),
    [[1, 2], [0], [2], [2], [3], []],
  );
});

test("a sub-agent stands below the agent whose call started it", () => {
  const sub = { agent: "toolu_1" };
  const events: TraceEvent[] = [
    { type: "tool-call", tool: "Task", callId: "toolu_1", args: { description: "look for callers" } },
    { type: "tool-call", tool: "grep", args: {}, ...sub },
    { type: "tool-call", tool: "Task", callId: "toolu_2", args: {}, ...sub },
    { type: "turn", node: "n", tokens: 40, costMicros: 7, agent: "toolu_2" },
    { type: "delivery", from: "boss", to: "worker", agent: "boss" },
    { type: "message", role: "assistant", text: "on it", agent: "worker" },
  ];
  assert.deepEqual(
    family(events).map(({ name, parent, events, tokens }) => [name, parent, events, tokens]),
    [
      ["agent", undefined, 1, 0],
      ["look for callers", "agent", 2, 0],
      ["Task", "toolu_1", 1, 40],
      ["boss", undefined, 1, 0],
      ["worker", "boss", 1, 0],
    ],
  );
  assert.deepEqual(layOut(events).depth, [0, 1, 2, 0, 1]);
});

test("what is marked as a false alarm does not lead", () => {
  const trace = { ...example(), lines: [] };
  const analysis = analyseAll(trace.events, {});
  const head = headline(trace, { ...analysis, loops: [] }, undefined, analysis.loops.length);
  assert.deepEqual([head.level, head.title], ["continue", "No loop in this run, according to you"]);
  assert.match(head.action.detail, /marked as (a )?false alarm/);
});

test("the report quotes what was called and the result, as code whatever it is", () => {
  const report =
    "**Since**: event 4, 9 events\n\n**Evidence**:\n\n- Event 4: `ab`\n- Event 6, step 2: `ab` ← Loop detected\n";
  const told = readable(report, (seq) => ({
    place: `line ${seq + 1}`,
    asked: "edit(a: `b``c`)",
    ...(seq === 6 && { answered: "error: ![x](http://y)" }),
  }));
  assert.match(told, /event 4 \(line 5\), 9 events/);
  assert.match(told, /^- Event 4 \(line 5\): ```edit\(a: `b``c`\)```$/m);
  assert.match(told, /^- Event 6 \(line 7\): .* → `error: !\[x\]\(http:\/\/y\)` ← Loop detected$/m);
  assert.equal(
    readable(report, () => undefined),
    report,
  );
});

test("where a loop was detected is where it was told of first, and the latest event is only that", () => {
  const list = (...events: number[]) =>
    events
      .map((seq, index) => `- Event ${seq}: \`t\`${index === events.length - 1 ? " ← Loop detected" : ""}`)
      .join("\n");
  const quote = (seq: number) => ({ place: `line ${seq + 1}`, asked: `t(${seq})` });
  const marks = (text: string, first?: number) =>
    readable(text, quote, first)
      .split("\n")
      .map((line) => line.split(" ← ")[1]);
  assert.deepEqual(marks(list(4, 6, 18), 6), [undefined, "Loop detected", "latest"]);
  assert.deepEqual(marks(list(10, 18), 1), [undefined, "latest; loop detected at event 1 (line 2)"]);
  assert.deepEqual(marks(list(4, 6), 6), [undefined, "Loop detected"]);
  assert.deepEqual(marks(list(4, 6)), [undefined, "Loop detected"]);
});

test("code in a sentence is found whatever backticks are in it", () => {
  const texts = ["edit(a: 1)", "ok: … `cat -n` …", "`x`", "a ``b`` c", " blank ", "```", "x`"];
  for (const text of texts)
    assert.deepEqual(spans(`was ${code(text)}, or ${code("b")}`), [
      { text: "was ", isCode: false },
      { text, isCode: true },
      { text: ", or ", isCode: false },
      { text: "b", isCode: true },
    ]);
  assert.deepEqual(spans("a ` alone"), [{ text: "a ` alone", isCode: false }]);
});

test("the workflow of the examples is a loop with everything the page can show", () => {
  const { events, config } = workflow();
  const states: Uint8Array[] = [];
  const analysis = whole(analyse(events, config, states)) as Analysis;
  assert.equal(analysis.refused, 0);
  assert.equal(analysis.peak, "gate");
  using end = stateAt(events, states, events.length - 1);
  const status = end.status({ task: "fix the rounding" });
  assert.equal(status.trend, "7 → 4 → 2 → 2 → 2");
  assert.equal(status.cycles?.[0]?.badge, "Loop 5/8");
  assert.match(status.phases?.["fix the rounding"]?.walk ?? "", /implement → verify/);
});

test("view: the page holds the run, and nothing from elsewhere", async () => {
  const { code, stdout, stderr } = await loopwarden("view", demo, "-o", "demo.html");
  assert.deepEqual([code, stdout, stderr], [0, "demo.html\n", ""]);
  const html = await readFile(join(folder, "demo.html"), "utf8");
  const { trace: held, core } = await pageOf(html);
  assert.equal(held?.format, "claude-code");
  assert.equal(held?.name, "debugging-session.jsonl");
  assert.equal(held?.events.length, held?.lines.length);
  assert.deepEqual(core, await readFile(new URL("../dist/core.wasm", import.meta.url)));
  assert.match(html, /default-src 'none'/);
  assert.doesNotMatch(html.replaceAll("http://www.w3.org/2000/svg", ""), /(?:src|href)=["']?https?:|@import|[ :]url\(/);
});

test("view: without a run it is empty, and takes gzip and standard input", async () => {
  await loopwarden("view", "-o", "empty.html");
  assert.equal((await pageOf(await readFile(join(folder, "empty.html"), "utf8"))).trace, null);
  const text = stuck(3)
    .map((event) => JSON.stringify(event))
    .join("\n");
  for (const input of [text, gzipSync(text)]) {
    const { code, stdout } = await run(process.execPath, [cli, "view", "-", "-o", "-"], { input });
    assert.equal(code, 0);
    const { trace: held } = await pageOf(stdout);
    assert.deepEqual([held?.name, held?.events], ["standard input", stuck(3)]);
  }
});

test("view: hostile text stays text in the file", async () => {
  const text = "</script><script>alert(1)</script><!--<script>{{core}}$&";
  const file = join(folder, "hostile.jsonl");
  await writeFile(file, JSON.stringify({ type: "output", text }));
  const { stdout } = await loopwarden("view", file, "-o", "-");
  assert.equal(stdout.match(/<script/g)?.length, 4, "the page's own and no other");
  assert.deepEqual((await pageOf(stdout)).trace?.events, [{ type: "output", text }]);
});

test("view: a scenario brings its configuration, --config is stronger, errors are told", async () => {
  const one = { id: "s", events: stuck(2), config: { preset: "sensitive" } };
  await writeFile(join(folder, "one.jsonl"), JSON.stringify(one));
  await writeFile(join(folder, "calm.json"), '{"preset":"conservative"}');
  const config = async (...args: string[]) =>
    (await pageOf((await loopwarden("view", "one.jsonl", "-o", "-", ...args)).stdout)).trace?.config;
  assert.deepEqual(await config(), { preset: "sensitive" });
  assert.deepEqual(await config("--config", "calm.json"), { preset: "conservative" });
  await writeFile(join(folder, "half.jsonl"), `${JSON.stringify(stuck(1)[0])}\n{no\n`);
  const half = await loopwarden("view", "half.jsonl", "-o", "-");
  assert.match(half.stderr, /^half\.jsonl:2: /);
  assert.equal((await pageOf(half.stdout)).trace?.errors[0]?.line, 2);
});

test("view: a log of which much cannot be read is not called sound, and counts as replay counts", async () => {
  for (const [good, broken, refused] of [
    [2, 5, 1],
    [4, 0, 5],
    [4, 0, 2],
    [3, 1, 0],
  ] as const) {
    const lines = [
      ...stuck(2)
        .slice(0, good)
        .map((event) => JSON.stringify(event)),
      ...Array.from({ length: broken }, (_, index) => `{"type":"tool-call-${index}"}`),
      ...Array.from({ length: refused }, () => '{"type":"tool-call","tool":"","args":{}}'),
    ];
    await writeFile(join(folder, "torn.jsonl"), `${lines.join("\n")}\n`);
    const view = await loopwarden("view", "torn.jsonl", "-o", "torn.html", "--json");
    const replay = await loopwarden("replay", "torn.jsonl");
    assert.deepEqual([view.code, replay.code], [1, 1], lines.join("\n"));
    assert.equal(view.stderr, replay.stderr);
    const unread = broken + refused;
    const { events, unread: told } = JSON.parse(view.stdout);
    assert.deepEqual([events, told], [good, unread]);
    const { trace: run } = await pageOf(await readFile(join(folder, "torn.html"), "utf8"));
    assert.ok(run !== null);
    const analysis = analyseAll(run.events, {});
    const head = headline(run, analysis);
    assert.equal(head.title, "Much of this log could not be read");
    assert.match(
      head.action.detail,
      new RegExp(`^${unread} of ${good + unread} lines or events .* in the ${good} events `),
    );
    assert.equal(unreadOf(run, analysis).length, unread);
  }
});

test("view: little that cannot be read is said, and so is what was found beside it", async () => {
  const whole = trace([{ type: "output" } as Event, ...stuck(2)]);
  const analysis = analyseAll(whole.events, {});
  const head = headline(whole, analysis);
  assert.deepEqual([head.title, head.isUnread], ["No loop in this run", undefined]);
  assert.match(head.action.detail, /^Nothing in its 4 events .*; 1 of 5 lines or events could not be read\.$/);
  const errors = [{ line: 9, message: "no JSON" }];
  assert.deepEqual(
    unreadOf({ lines: [12], errors }, analysis).map(({ where }) => where),
    ["Line 9", "Line 12"],
  );
  assert.deepEqual(
    unreadOf({ lines: [], errors }, analysis).map(({ where }) => where),
    ["Event 0", "Line 9"],
  );
  await writeFile(
    join(folder, "found.jsonl"),
    `${stuck(4)
      .map((event) => JSON.stringify(event))
      .join("\n")}\n${"{no\n".repeat(20)}`,
  );
  assert.equal((await loopwarden("view", "found.jsonl", "-o", "found.html")).code, 0);
  const { trace: found } = await pageOf(await readFile(join(folder, "found.html"), "utf8"));
  assert.match(headline(found as Trace, analyseAll((found as Trace).events, {})).title, /starting to repeat/);
});

test("view: the help tells every option and exit code", async () => {
  const { code, stdout } = await loopwarden("view", "--help");
  assert.equal(code, 0);
  assert.match(stdout, /^Usage: loopwarden view/);
  for (const word of ["--output", "--config", "--format", "--open", "Exit codes:"])
    assert.ok(stdout.includes(word), word);
  assert.match((await loopwarden("--help")).stdout, /^ {2}view \[FILE\]/m);
});

test("view: what cannot be is refused", async () => {
  const cases: [string[], number, RegExp][] = [
    [["a", "b"], 2, /expected one file, or none/],
    [["nowhere.jsonl"], 1, /no such file/],
    [[demo, "--format", "xml"], 2, /--format xml: expected one of trace/],
    [[demo, "-o", "no/such/folder.html"], 1, /cannot be written/],
    [["--config", "calm.json"], 2, /--config needs a file/],
    [["-o", "-", "--open"], 2, /--open needs/],
  ];
  for (const [args, code, message] of cases) {
    const result = await loopwarden("view", ...args);
    assert.equal(result.code, code, args.join(" "));
    assert.match(result.stderr, message);
  }
});
