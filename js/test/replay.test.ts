import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, test } from "node:test";
import { init } from "../src/core.ts";
import { LoopDetector } from "../src/detector.ts";
import type { Event, TraceEvent } from "../src/generated/types.ts";
import { hunks, pieces } from "../src/replay/diff.ts";
import { judge, judgeable, replay } from "../src/replay/judge.ts";
import { Pairs, pair } from "../src/replay/pair.ts";
import { apart, type Complain, runs, traces } from "../src/replay/read.ts";
import { duration, line, listed, short, summary } from "../src/replay/summarise.ts";
import { tools } from "../src/tools.ts";
import { readTranscript } from "../src/transcript.ts";

before(async () => {
  init(await readFile(new URL("../dist/core.wasm", import.meta.url)));
  tools.init(await readFile(new URL("../dist/tools.wasm", import.meta.url)));
});

async function* cut(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

const jsonLines = (values: unknown[]): string => `${values.map((value) => JSON.stringify(value)).join("\n")}\n`;
const call = (tool: string, callId?: string, run?: string): TraceEvent => ({
  type: "tool-call",
  tool,
  args: {},
  ...(callId !== undefined && { callId }),
  ...(run !== undefined && { run }),
});
const result = (tool: string | undefined, callId?: string, run?: string): TraceEvent => ({
  type: "tool-result",
  outcome: "ok",
  output: "done",
  ...(tool !== undefined && { tool }),
  ...(callId !== undefined && { callId }),
  ...(run !== undefined && { run }),
});

test("a span of time is cut off as the core's reports cut it", () => {
  assert.deepEqual([0, 999.6, 59_999, 61_500, 3_659_999, 7_260_000].map(duration), [
    "0 ms",
    "999 ms",
    "59 s",
    "1 min 1 s",
    "1 h 0 min",
    "2 h 1 min",
  ]);
});

test("a result belongs to the call of its id, else to the oldest unanswered call of its tool", () => {
  const cases: [what: string, events: TraceEvent[], partner: (number | undefined)[]][] = [
    ["in order", [call("a"), result("a")], [1, 0]],
    ["parallel, without ids", [call("a"), call("a"), result("a"), result("a")], [2, 3, 0, 1]],
    ["by id, out of order", [call("a", "1"), call("a", "2"), result("a", "2"), result("a", "1")], [3, 2, 1, 0]],
    [
      "an id takes its call from those that wait",
      [call("a", "1"), call("a"), result("a", "1"), result("a")],
      [2, 3, 0, 1],
    ],
    ["an id alone names the tool", [call("a", "1"), call("a"), result(undefined, "1"), result("a")], [2, 3, 0, 1]],
    [
      "two runs with the same ids",
      [call("a", "1", "x"), call("a", "1", "y"), result("a", "1", "x"), result("a", "1", "y")],
      [2, 3, 0, 1],
    ],
    ["an id comes again", [call("a", "1"), result("a", "1"), call("a", "1"), result("a", "1")], [1, 0, 3, 2]],
    ["an empty id is none", [call("a", ""), result("a", ""), call("a", ""), result("a", "")], [1, 0, 3, 2]],
    ["an id that nobody called", [call("a", "1"), result("a", "2")], [undefined, undefined]],
    ["what was only asked is no call", [{ ...call("a"), pending: true }, call("a"), result("a")], [undefined, 2, 1]],
    ["another tool", [call("a"), result("b")], [undefined, undefined]],
  ];
  for (const [what, events, partner] of cases) assert.deepEqual(pair(events), partner, what);
});

test("a result whose id no call before it has is a stray, unless a call without an id may be its own", () => {
  const strays = (events: TraceEvent[]) => {
    const pairs = new Pairs();
    return events.flatMap((event, index) => {
      pairs.add(event, index);
      return pairs.isStray ? [index] : [];
    });
  };
  assert.deepEqual(strays([call("a", "1"), result("a", "2"), result("a", "1"), result("a", "1")]), [1]);
  assert.deepEqual(strays([call("a"), result("a", "2"), result("a", "3")]), [2]);
  assert.deepEqual(strays([call("a", "1", "x"), result("a", "1", "y"), result("a")]), [1]);
  assert.deepEqual(strays([result("a", "1"), { ...result("a", "2"), synthetic: true }, call("a", "1")]), [0]);
});

test("an event that is refused leaves the run as it was, and a pending one is not recorded", () => {
  const events = [
    ...Array.from({ length: 5 }, () => [call("edit"), { ...result("edit"), outcome: "error", output: "no" }]).flat(),
    { type: "output" },
    { ...call("edit"), pending: true },
  ] as TraceEvent[];
  const said = [...replay(events.map(judgeable), {})];
  assert.deepEqual(
    said.map(({ verdict }) => verdict?.seq),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, undefined, 10],
  );
  assert.equal(said[10]?.error?.code, "invalid-event");
  assert.notEqual(said[11]?.level, "continue", "what is asked about is judged");
  using detector = new LoopDetector();
  const level = events.map((event) => judge(detector, judgeable(event)).level);
  assert.deepEqual(
    level,
    said.map(({ level }) => level),
  );
});

const TEXTS: [name: string, text: string][] = [
  ["events", jsonLines(Array.from({ length: 300 }, (_, at) => ({ type: "output", text: `line ${at} ä😀` })))],
  [
    "chat in a document",
    JSON.stringify(
      {
        messages: [
          { role: "user", content: "hi" },
          { role: "tool", content: "x" },
        ],
      },
      null,
      2,
    ),
  ],
  [
    "a log of requests",
    jsonLines([
      { messages: [{ role: "user", content: "a" }] },
      {
        messages: [
          { role: "user", content: "a" },
          { role: "assistant", content: "b" },
        ],
      },
    ]),
  ],
  ["broken lines", '{"type":"output","text":"a"}\n{no\n\n{"type":"output","text":"b"}'],
  ["nothing", ""],
];

test("however a file is cut, its events are those of the whole", async () => {
  for (const [name, text] of TEXTS) {
    const whole = readTranscript(text);
    for (const size of [1, 13, 4096]) {
      const errors: number[] = [];
      const complain: Complain = (line) => void errors.push(line);
      const found = await traces("f", cut(text, size), complain);
      assert.deepEqual(
        found.flatMap(({ events }) => events.map(({ event }) => event)),
        whole.events,
        `${name}, ${size} at a time`,
      );
      assert.deepEqual(
        found.flatMap(({ events }) => events.map(({ line }) => line)),
        whole.lines,
      );
      assert.deepEqual(
        errors,
        whole.errors.map(({ line }) => line),
      );
      if (found[0] !== undefined) assert.equal(found[0].format, whole.format);
    }
  }
});

test("a file of scenarios is its runs, with labels, numbers as they were written and places", async () => {
  const rows = [
    '{"id":"one","expect":"loop","expectAt":1,"config":{"mode":"shadow"},"events":[{"type":"custom","name":"n","key":"k","at":1},{"type":"tool-call","tool":"t","args":{"id":12345678901234567890},"pending":true}]}',
    "{broken",
    '{"id":"two","success":false,"events":[]}',
    '{"messages":[]}',
  ];
  const errors: [number, string][] = [];
  const found: { id: string | undefined; line: number; config: string | undefined; texts: string[]; labels: object }[] =
    [];
  for await (const run of runs("f", cut(rows.join("\n"), 10), (line, message) => void errors.push([line, message]))) {
    const texts: string[] = [];
    for await (const part of run.events) texts.push(...part.map(({ text }) => text ?? "none"));
    found.push({ id: run.id, line: run.line, config: run.config, texts, labels: run.labels });
  }
  assert.deepEqual(
    found.map(({ id, line }) => [id, line]),
    [
      ["one", 1],
      ["two", 3],
    ],
  );
  assert.equal(found[0]?.config, '{"mode":"shadow"}');
  assert.match(found[0]?.texts[1] ?? "", /"id":12345678901234567890/);
  assert.doesNotMatch(found[0]?.texts[1] ?? "", /pending/);
  assert.deepEqual(found[1]?.labels, { expect: null, expectAt: null, firstAt: false, minLevel: null, success: false });
  assert.deepEqual(
    errors.map(([line]) => line),
    [2, 4],
  );
});

test("a scenario over several lines is one with its configuration", async () => {
  const text = JSON.stringify(
    { id: "s", config: { enabled: false }, events: [{ type: "output", text: "a" }] },
    null,
    2,
  );
  const [trace] = await traces("f", cut(text, 7), () => assert.fail());
  assert.deepEqual(
    [trace?.format, trace?.id, JSON.parse(trace?.config ?? "null")],
    ["scenario", "s", { enabled: false }],
  );
});

test("runs in one file are taken apart, and results find their calls", async () => {
  const events = [call("a", "1", "x"), call("b", "1", "y"), result(undefined, "1", "x"), result(undefined, "1", "y")];
  const [trace] = await traces("f", cut(jsonLines(events), 50), () => assert.fail());
  assert.ok(trace !== undefined);
  const apartly = apart(trace).map(({ id, events }) => [id, events.map(({ tool }) => tool)]);
  assert.deepEqual(apartly, [
    ["x", ["a", "a"]],
    ["y", ["b", "b"]],
  ]);
});

test("differences put together again are both texts", () => {
  const cases: [string, string][] = [
    ["", ""],
    ["a b c", "a c"],
    ["a c", "a b c"],
    ["the same", "the same"],
    ["all  else", "is new here"],
    ["x\n y z", "x\n\ty z!"],
  ];
  for (const [first, second] of cases) {
    let [at, text] = [0, ""];
    for (const hunk of hunks(first, second, /\S+|\s+/gu)) {
      assert.equal(first.slice(hunk.start, hunk.end), hunk.first);
      assert.equal(second.slice(hunk.secondStart, hunk.secondEnd), hunk.second);
      text += first.slice(at, hunk.start) + hunk.second;
      at = hunk.end;
    }
    assert.equal(text + first.slice(at), second, `${first} → ${second}`);
    const [left, right] = pieces(first, second);
    assert.deepEqual(
      [left, right].map((side) => side.map(({ text }) => text).join("")),
      [first, second],
    );
  }
});

test("an event on one line", () => {
  const path = "/home/somebody/a/very/long/way/down/to/the/file.ts";
  const cases: [Event, string][] = [
    [{ type: "tool-call", tool: "edit", args: { path: "a.ts", n: 3 } }, "edit(path: a.ts, n: 3)"],
    [{ type: "tool-call", tool: "edit", rawArgs: "{oops" }, "edit({oops)"],
    [{ type: "tool-result", tool: "edit", outcome: "error", output: "no" }, "error: no"],
    [{ type: "message", role: "user", text: "hi" }, "user: hi"],
    [{ type: "transition", to: "test" }, "transition: start → test"],
  ];
  for (const [event, wanted] of cases) assert.equal(line(event), wanted);
  assert.match(listed({ path }, 32), /^path: ….*\/file\.ts$/);
  assert.equal(summary({ type: "tool-result", outcome: "ok", output: "" }), "(no output)");
  assert.equal(short("a\u001b[31m\u202eb\n c", 20), "a [31m b c");
});
