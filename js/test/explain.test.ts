import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Config, type AgentEvent as Event, LoopDetector } from "../dist/index.js";
import { goals, normalise } from "../dist/tools.js";
import { type Result, run } from "./support/run.ts";

const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "loopwarden-explain-"));
});
after(() => rm(folder, { recursive: true }));

const loopwarden = (...args: string[]): Promise<Result> => run(process.execPath, [cli, ...args], { cwd: folder });

async function file(name: string, lines: object[]): Promise<string> {
  await writeFile(join(folder, name), `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
  return name;
}

function pair(tool: string, args: object, output: string, outcome: "ok" | "error" = "ok"): Event[] {
  return [
    { type: "tool-call", tool, args },
    { type: "tool-result", tool, outcome, output },
  ];
}

interface Explanation {
  at: { seq: number; event: number; line: number };
  verdict: { level: string };
  findings: {
    finding: { rule: string; count: number };
    unit: string;
    times: number;
    rungs: { level: string; threshold: number; missing: number }[];
    advisory?: true;
    sightings: { seq: number; points?: number; total?: number; outcome?: string; since?: number }[];
    compared?: {
      first: number;
      second: number;
      arguments: { field: string }[];
      outcomes: { first: string; second: string; masked?: string }[];
    };
  }[];
  others: { rule: string; count: number; missing?: number; nextThreshold?: number; nextLevel?: string }[];
  tried: number;
  changes: { what: string; level: string; rule?: string; earlier?: { seq: number; level: string } }[];
}

async function explained(...args: string[]): Promise<Explanation> {
  const { code, stdout, stderr } = await loopwarden("explain", ...args, "--json");
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

const changed = (explanation: Explanation): Record<string, string> =>
  Object.fromEntries(explanation.changes.map(({ what, level }) => [what, level]));

/** One answer whose clock goes on. */
const rereads = (n: number): Event[] =>
  Array.from({ length: n }, (_, index) =>
    pair("read", { path: "a.ts" }, `file a.ts, read at 12:01:0${index}, is empty`),
  ).flat();

test("an event with several findings quotes a call once", async () => {
  const calls = Array.from({ length: 3 }, () => pair("deploy", { host: "eu-4" }, "connection refused", "error")).flat();
  const { stdout } = await loopwarden("explain", await file("several.jsonl", calls));
  assert.match(stdout, /repeated-call: [\s\S]*repeated-error: /);
  assert.equal(stdout.match(/^ {2}#\d+ .*deploy\(/gm)?.length, 3);
  assert.equal(stdout.match(/^ {2}#\d+ .* as above$/gm)?.length, 4, "three calls, and the comparison of two");
});

test("points are told as they came together, and what is missing to the next rung", async () => {
  const name = await file("rereads.jsonl", rereads(5));
  const { at, verdict, findings } = await explained(name);
  assert.equal(verdict.level, "nudge");
  const [lead] = findings;
  assert.ok(lead !== undefined);
  assert.equal(lead.finding.rule, "repeated-call");
  assert.equal(lead.unit, "points");
  // Equal but for the clock: two points for a repeat right after the last one.
  assert.deepEqual(
    lead.sightings.map(({ seq, points, total }) => [seq, points, total]),
    [
      [1, undefined, undefined],
      [3, undefined, 2],
      [5, 2, 4],
      [7, 2, 6],
    ],
  );
  assert.equal(at.seq, 7);
  assert.deepEqual(lead.rungs, [
    { level: "nudge", threshold: 6, missing: 0 },
    { level: "block", threshold: 12, missing: 6 },
    { level: "halt", threshold: 24, missing: 18 },
  ]);
  assert.deepEqual(lead.compared?.outcomes, [{ first: "12:01:02,", second: "12:01:03,", masked: "always" }]);
  assert.deepEqual(lead.compared?.arguments, []);
});

test("how much later each occurrence was is told where it was a while", async () => {
  const start = 1_797_000_000_000;
  const pauses = [0, 400, 3_000, 4_000];
  let now = start;
  const calls = pauses.flatMap((pause) => {
    now += pause;
    return pair("ls", { path: "quay" }, "crane.md").map((event) => ({ ...event, at: now }));
  });
  const name = await file("clock.jsonl", calls);
  const [{ sightings }] = (await explained(name, "--at", "7")).findings as [Explanation["findings"][number]];
  assert.deepEqual(
    sightings.map(({ since }) => since),
    [undefined, ...pauses.slice(1)],
  );
  const { stdout } = await loopwarden("explain", name, "--at", "7");
  assert.match(stdout, /crane\.md\n.*#5 .* {2}3 s later\n.*#7 .* {2}4 s later\n/);
});

test("every change that is told is what a replay gives", async () => {
  const events = rereads(4);
  const name = await file("replayed.jsonl", events);
  const explanation = await explained(name, "--at", "7");
  const changes = changed(explanation);
  const level = (config: Config, run: Event[] = events) => {
    const detector = new LoopDetector(config);
    const levels = run.map((event) => detector.record(event).level);
    detector.free();
    return levels.at(-1);
  };
  assert.equal(level({}), "nudge");
  assert.equal(changes["rules.repeated-call.nudge = 7"], level({ rules: { "repeated-call": { nudge: 7 } } }));
  assert.equal(changes["tools.read.polling = true"], level({ tools: { read: { polling: true } } }));
  assert.equal(changes["rules.repeated-call.enabled = false"], "continue");
  const human: Event = { type: "message", role: "user", text: "Go on with the next part." };
  assert.equal(changes["a message from the user before #6"], level({}, events.toSpliced(6, 0, human)));
  assert.equal(changes["another outcome of #7"], "continue");
  // The same level is no change.
  assert.equal(level({ preset: "sensitive" }), "observe");
  assert.deepEqual(
    explanation.changes.find(({ what }) => what === 'preset = "sensitive"'),
    { what: 'preset = "sensitive"', level: "observe", rule: "repeated-call", earlier: { seq: 5, level: "nudge" } },
  );
  assert.ok(!("rules.cycle.enabled = false" in changes), "a change that changes nothing is not told");
});

test("errors: what repeats the arguments, what the class masks, what an acknowledgement does", async () => {
  const wrong = ["total > limit", "total>limit", "limit < total", "limit<total"];
  const events = wrong.flatMap((text) => pair("edit", { path: "a.ts", old: text }, `text not found: ${text}`, "error"));
  const { findings, changes } = await explained(await file("errors.jsonl", events), "--at", "5");
  const [lead] = findings;
  assert.equal(lead?.finding.rule, "repeated-error");
  assert.deepEqual(
    lead?.compared?.arguments.map(({ field }) => field),
    ["old"],
  );
  assert.ok(lead?.compared?.outcomes.every(({ masked }) => masked !== undefined));
  assert.ok(
    changes.some(
      ({ what, level }) => what.startsWith("acknowledged before: exempt repeated-error") && level === "continue",
    ),
  );
  const later = await explained("errors.jsonl", "--at", "line:8");
  assert.equal(later.at.seq, 7);
});

test("a verdict without a finding: what is closest, and what would have been one", async () => {
  const events = [
    ...pair("read", { path: "a.ts", token: 1 }, "the same old text"),
    ...pair("read", { path: "a.ts", token: 2 }, "the same old text"),
    ...pair("read", { path: "a.ts", token: 3 }, "the same old text"),
  ];
  const explanation = await explained(await file("near.jsonl", events), "--at", "5");
  assert.deepEqual([explanation.verdict.level, explanation.findings], ["continue", []]);
  assert.equal(changed(explanation)['tools.read.ignoreArgs = ["token"]'], "nudge");
  const { stdout } = await loopwarden("explain", "near.jsonl", "--at", "5");
  assert.match(stdout, /^continue: no rule has enough evidence$/m);
  assert.match(stdout, /^Closest$/m);
});

test("an argument that is ignored is considered again", async () => {
  const events = [1, 2, 3].flatMap((page) => pair("list", { page }, "nothing on this page of the list"));
  const name = await file("pages.jsonl", events);
  await writeFile(
    join(folder, "ignore.json"),
    '{"tools":{"li*":{"ignoreArgs":["page"]}},"rules":{"same-answer":{"enabled":false}}}',
  );
  const explanation = await explained(name, "--config", "ignore.json", "--at", "5");
  assert.equal(explanation.verdict.level, "nudge");
  assert.equal(changed(explanation)["page of list not in ignoreArgs"], "continue");
});

test("a polling tool's thresholds are trebled in what is told", async () => {
  await writeFile(join(folder, "polling.json"), '{"tools":{"read":{"polling":true}}}');
  const { findings } = await explained(await file("polling.jsonl", rereads(12)), "--config", "polling.json");
  const [lead] = findings;
  assert.deepEqual([lead?.times, lead?.rungs[0]?.threshold], [3, 18]);
  const { stdout } = await loopwarden("explain", "polling.jsonl", "--config", "polling.json");
  assert.match(stdout, /nudge 18 reached .*\(thresholds × 3: waiting is expected here\)/);
});

test("a scenario is chosen by its id, with its own configuration", async () => {
  const name = await file("two.jsonl", [
    { id: "quiet", events: rereads(5), config: { enabled: false } },
    { id: "loud", events: rereads(5) },
  ]);
  assert.equal((await explained(name, "--scenario", "loud")).verdict.level, "nudge");
  assert.equal((await explained(name, "--scenario", "quiet", "--at", "9")).verdict.level, "continue");
  const { code, stderr } = await loopwarden("explain", name);
  assert.equal(code, 1);
  assert.match(stderr, /holds 2 scenarios, name one with --scenario, such as quiet/);
});

test("a check is explained as well, and shadow mode tells what would have been", async () => {
  const events = [...rereads(6), { type: "tool-call", tool: "read", args: { path: "a.ts" }, pending: true }];
  const { verdict, at } = await explained(await file("pending.jsonl", events), "--at", "line:13");
  assert.deepEqual([verdict.level, at.event], ["observe", 12]);
  await writeFile(join(folder, "shadow.json"), '{"mode":"shadow"}');
  const shadow = await explained("pending.jsonl", "--config", "shadow.json");
  assert.deepEqual([shadow.verdict.level, shadow.at.seq], ["observe", 7]);
  assert.equal(changed(shadow)["rules.repeated-call.enabled = false"], "continue");
});

test("arguments are compared in place: what both have stays between the differences", async () => {
  const long = "alpha bravo charlie delta echo foxtrot golf hotel india juliett";
  const cases: [first: string, second: string, told: string][] = [
    ["customer refund policy", "refund rules policy", "[-customer-] refund {+rules+} policy"],
    ["refund rules policy", "customer refund policy", "{+customer+} refund [-rules-] policy"],
    ["old price", "old cost today", "old [-price-]{+cost today+}"],
    [`one ${long} two`, `1 ${long} 2`, "[-one-]{+1+} alpha bravo charlie … hotel india juliett [-two-]{+2+}"],
    [`${long} two ${long}`, `${long} 2 ${long}`, "… hotel india juliett [-two-]{+2+} alpha bravo charlie …"],
    [`${"y".repeat(60)}1z`, `${"y".repeat(60)}2z`, `[-…${"y".repeat(12)}1z-]{+…${"y".repeat(12)}2z+}`],
    [`x ${"y".repeat(60)} z`, `${"y".repeat(60)} z`, "[-x-] …"],
  ];
  for (const [index, [first, second, told]] of cases.entries()) {
    const words = [...Array.from({ length: 6 }, () => first), second];
    const events = words.flatMap((query) => pair("find", { query }, '{"hits":[]}'));
    const { code, stdout, stderr } = await loopwarden(
      "explain",
      await file(`words-${index}.jsonl`, events),
      "--at",
      "13",
    );
    assert.equal(code, 0, stderr);
    assert.ok(stdout.includes(`    arguments  query: ${told}\n`), `${told}\n${stdout}`);
  }
});

test("text and standard output: the page as a person sees it", async () => {
  const { code, stdout } = await loopwarden("explain", await file("page.jsonl", rereads(5)));
  assert.equal(code, 0);
  for (const part of [
    "page.jsonl · event 7 · line 8",
    "read(path: a.ts)",
    "6 points: nudge 6 reached · block 12, 6 missing · halt 24, 18 missing",
    "+2 = 6",
    "arguments  equal",
    "[-12:01:02,-]{+12:01:03,+}  masked: it changes by itself",
    "What would have changed it",
    "each by a replay",
  ])
    assert.ok(stdout.includes(part), `${part}\n${stdout}`);
  assert.ok(!stdout.includes("\u001b"));
});

test("wrong usage is 2, what is not there is 1", async (t) => {
  const name = await file("short.jsonl", rereads(2));
  const refused = await file("refused.jsonl", [{ id: "refused", events: [{ type: "output" }] }]);
  await writeFile(join(folder, "empty.jsonl"), "");
  const cases: [code: number, args: string[], message: RegExp][] = [
    [2, [], /explain: expected one file/],
    [2, [name, "--at", "last"], /--at last: expected line:N, step:N or the number of an event/],
    [2, [name, "--at=-1"], /expected line:N, step:N or the number of an event/],
    [2, [name, "--format", "xml"], /expected one of trace, claude-code/],
    [1, [name, "--at", "4"], /short\.jsonl: there is no event 4, the events are numbered from 0 to 3/],
    [1, [name, "--at", "step:4"], /no event has step 4/],
    [1, [refused], /refused\.jsonl refused: none of its events has a verdict/],
    [1, [name, "--scenario", "x"], /holds no scenario x/],
    [1, ["missing.jsonl"], /missing\.jsonl: no such file/],
    [1, ["empty.jsonl"], /empty\.jsonl: is empty/],
  ];
  for (const [code, args, message] of cases) {
    await t.test(args.join(" ") || "nothing", async () => {
      const result = await loopwarden("explain", ...args);
      assert.deepEqual([result.code, result.stdout], [code, ""]);
      assert.match(result.stderr, message);
    });
  }
});

test("equal answers that are too short to be compared are told to be by what would compare them", async () => {
  const seats = Array.from({ length: 40 }, (_, seat) => pair("check_seat", { seat }, "Seat is taken by Ada.")).flat();
  // No rule came near, so it is the last event that is explained.
  const explanation = await explained(await file("seats.jsonl", seats));
  assert.deepEqual([explanation.at.line, explanation.verdict.level], [80, "continue"]);
  assert.equal(changed(explanation)["tools.check_seat.compareAnswers = true"], "halt");
  assert.equal(changed(explanation)['tools.check_seat.ignoreArgs = ["seat"]'], "halt");
});

test("where nothing was found, the event that came closest is explained", async () => {
  const name = await file("near.jsonl", [
    ...rereads(2),
    { type: "message", role: "assistant", text: "It is all there." },
  ]);
  const { code, stdout, stderr } = await loopwarden("explain", name);
  assert.equal(code, 0);
  assert.equal(
    stderr,
    "loopwarden: no verdict is at nudge or above; this event came closest, and --at chooses another one\n",
  );
  assert.match(stdout, /· event 3 · line 4\n/);
  assert.match(stdout, /^Closest\n {2}repeated-call +\d of \d points, \d missing to nudge$/m);
});

test("normalise: what two outputs have in common", () => {
  const [first, second] = ["took 12 ms", "took 15 ms"].map((text) => normalise(`done, ${text}`));
  assert.equal(first?.light, second?.light);
  assert.notEqual(normalise("build a1").light, normalise("build b2").light);
  const config: Config = { patterns: { volatile: ["build [a-z0-9]+"] } };
  assert.equal(normalise("made build a1", config).light, normalise("made build b2", config).light);
  assert.equal(normalise("No file 'a.ts'").heavy, normalise("no file 'b.ts'").heavy);
  assert.throws(() => normalise("x", { preset: "none" } as unknown as Config), { code: "invalid-config" });
});

test("requests in words: what they are about, what stayed and what moved", async () => {
  const ask = (question: string) => pair("ask_expert", { question }, "I do not have that.");
  const trace = await file("goals.jsonl", [
    ...ask("Please find the founding year of the Aldgate Observatory on its official website."),
    ...ask("Could you look up on the Aldgate Observatory's official website in which year it was founded?"),
    ...ask("On the official website of the Aldgate Observatory, what is given as its founding year?"),
    ...ask("Which year does the official Aldgate Observatory website give for its founding?"),
  ]);
  const { stdout } = await loopwarden("explain", trace, "--json");
  const { findings } = JSON.parse(stdout);
  const found = findings.find(({ goals }: { goals?: object }) => goals !== undefined);
  assert.ok(found, stdout);
  const [first, ...later] = found.goals;
  assert.equal(first.moved, undefined);
  assert.ok(first.about.includes("Aldgate"), JSON.stringify(first));
  for (const { seq, moved } of later) {
    assert.ok(moved.since < seq && moved.shared && moved.kept.includes("Aldgate"), JSON.stringify(moved));
  }
  const page = (await loopwarden("explain", trace)).stdout;
  assert.match(page, /what the requests are about/);
  assert.match(page, /stayed .*Aldgate/);
});

test("what is said of a text agrees with what its rule found", async () => {
  const say = (text: string, agent?: string): Event => ({
    type: "message",
    role: "assistant",
    text,
    ...(agent && { agent }),
  });
  const waits = await file(
    "waits.jsonl",
    [1, 2, 3].map((n) => say(`Still waiting for build ${n} to end.`)),
  );
  const { stdout } = await loopwarden("explain", waits);
  assert.match(stdout, /monologue: The agent said the same thing 3 times;.*\n {2}3 points: nudge 3 reached/);
  assert.match(stdout, /^ {4}text {7}\[-2-\]\{\+3\+\} {2}ignored: the rest is the same text$/m);
  assert.doesNotMatch(stdout, /requests|something else| {2}counts$|arguments/m);
  // The fourth of five points: what counts is not how often it was said.
  const long =
    "I will look at the harbour ledger again and compare each entry with the crane book, as promised. ".repeat(3);
  const work = [say(long), ...pair("read", { path: "a" }, "x")];
  const around = await file("around.jsonl", Array.from({ length: 6 }, () => work).flat());
  const told = (await loopwarden("explain", around, "--at", "15")).stdout;
  assert.match(told, /said the same thing 6 times;.*\n {2}5 points: nudge 3 reached · block 5 reached/);
  assert.match(told, /one more is worth 1 if no result came in between; around work only a long text counts/);
  assert.match(told, /^ {2}#12 {2}\+0 = 5 .*\n {18}adds nothing: with work in between, only some of them do$/m);
  // Talk in which something else is named each time, and nothing that was not named before.
  const words = ["Understood", "let us go on", "fine with me", "all right", "good", "we go on then", "yes"];
  const talk = Array.from({ length: 16 }, (_, n) =>
    say(`${words[n % 7]}, ${words[(n * 3 + 1) % 7]}, ${words[(n * 2 + 3) % 7]}.`, n % 2 === 0 ? "Ida" : "Max"),
  );
  const chat = (await loopwarden("explain", await file("chat.jsonl", talk))).stdout;
  assert.match(chat, /stale-talk: /);
  assert.doesNotMatch(chat, /something else is named|another request| {2}counts$/m);
  const quiet = (await loopwarden("explain", await file("quiet.jsonl", [say("Item one is done.")]))).stdout;
  assert.match(quiet, /^Closest\n {2}monologue {2}1 of 3 points, 2 missing to nudge$/m);
});

test("goals: another object, and what asks nothing", () => {
  const ask = (question: string): Event => ({ type: "tool-call", tool: "ask_expert", args: { question } });
  const [one, other, none] = goals([
    ask("Who composed the music of the film Solaris?"),
    ask("Who composed the music of the film Stalker?"),
    { type: "tool-call", tool: "read_file", args: { path: "a.ts" } },
  ]);
  assert.ok(one?.about.includes("Solaris") && one.moved === undefined);
  assert.ok(other?.moved !== undefined && !other.moved.shared);
  assert.deepEqual([other.moved.added, other.moved.left], [["Stalker"], ["Solaris"]]);
  assert.equal(none, null);
});

test("what comes next is what comes next for what there is", async () => {
  const list = "Tram 4 leaves from the town hall every ten minutes.";
  const ask = (tool: string, q: string) => pair(tool, { q }, list);
  const towns = ["Ulm", "Bern", "Linz", "Graz", "Kiel"].map((town) => `trams in ${town}`);
  // What is asked in words is told of later, but before it is blocked.
  const { others } = await explained(
    await file(
      "words.jsonl",
      towns.flatMap((q) => ask("web_search", q)),
    ),
    "--at",
    "9",
  );
  const words = { rule: "same-answer", count: 5, nextThreshold: 7, nextLevel: "nudge", missing: 2 };
  assert.deepEqual(
    others.find(({ rule }) => rule === "same-answer"),
    words,
  );
  // A view that does not move is told, and no refusal is announced.
  const clicks = await file(
    "clicks.jsonl",
    ["a1", "b2", "c3", "d4", "e5"].flatMap((at) => ask("click", at)),
  );
  const { findings } = await explained(clicks, "--at", "9");
  const view = findings.find(({ finding }) => finding.rule === "same-answer");
  assert.deepEqual([view?.rungs, view?.advisory], [[{ level: "nudge", threshold: 4, missing: 0 }], true]);
  const { stdout } = await loopwarden("explain", clicks, "--at", "9");
  assert.match(
    stdout,
    /^ {2}5 different calls: nudge 4 reached; advisory: block and halt do not apply to this kind of finding$/m,
  );
  // Tools with thresholds of their own.
  await writeFile(join(folder, "own.json"), '{"tools":{"deploy_*":{"rules":{"same-answer":{"block":7}}}}}');
  const own = await loopwarden("explain", "words.jsonl", "--at", "9", "--config", "own.json");
  assert.match(own.stdout, /^ {2}same-answer {2,}5, and tools have thresholds of their own$/m);
});

test("what one more is worth, and why it adds nothing", async () => {
  const again = pair("read", { path: "a.ts" }, "the same text");
  const other = pair("look", { path: "b.ts" }, "another text");
  const mixed = await file("mixed.jsonl", [...again, ...again, ...other, ...again, ...again]);
  const { stdout } = await loopwarden("explain", mixed, "--at", "9");
  assert.match(stdout, /^ {2}one more is worth 3 right after the last one, 2 with other steps in between/m);
  assert.doesNotMatch(stdout, /counts nothing/);
  // What is asked for at once is one decision.
  const round = (round: string, n: number) =>
    pair("read", { path: "a.ts", n }, "no such file", "error").map((event) => ({ ...event, round }));
  const batch = await file("batch.jsonl", [
    ...round("1", 1),
    ...round("2", 2),
    ...round("3", 3),
    ...round("3", 4),
    ...round("4", 5),
  ]);
  const told = await loopwarden("explain", batch, "--at", "9");
  assert.match(told.stdout, /`read` failed 5 times in the same way[^\n]*\n {2}4 errors: nudge 3 reached/);
  assert.match(told.stdout, /^ {2}one more is worth 1; half if it came again unchanged/m);
  assert.match(told.stdout, /^ {2}#7 {2}\+0 = 3 .*\n {17}counts nothing: it is in the same round as #5/m);
  // What stands in a full window makes room for what comes.
  const long = await file(
    "long.jsonl",
    Array.from({ length: 12 }, (_, n) => pair("read", { path: "a.ts", n }, "no such file", "error")).flat(),
  );
  const full = await loopwarden("explain", long, "--at", "23");
  // Of several one after the other it is said once.
  assert.match(
    full.stdout,
    /^ {2}#17 {2}\+0 = 8 .*\n {18}adds nothing: 8 is the most that the rule counts\n {2}#19 .*\n {2}#21 /m,
  );
  const worked = await file(
    "worked.jsonl",
    Array.from({ length: 24 }, (_, n) =>
      n % 8 === 3 ? pair("look", { id: n }, `found ${n}`) : pair("look", { id: n }, "backend refused", "error"),
    ).flat(),
  );
  const moving = await loopwarden("explain", worked, "--at", "37");
  assert.match(moving.stdout, /^ {2}#\d+ {2}\+0 = 6 .*\n {18}adds nothing: .* or an older one no longer counts$/m);
});
