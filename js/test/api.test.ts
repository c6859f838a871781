import assert from "node:assert/strict";
import { test } from "node:test";
import { type ErrorCode, type AgentEvent as Event, LoopDetector, LoopwardenError, version } from "../dist/index.js";
import {
  inForce,
  normalise,
  readTranscript,
  LoopwardenError as ToolsError,
  type TranscriptFormat,
} from "../dist/tools.js";

const call: Event = { type: "tool-call", tool: "read_file", args: { path: "src/a.ts" }, callId: "1", at: 1000 };

/** Asserts that an operation is refused with this code, field and value, and returns the error. */
function refused(operation: () => unknown, code: ErrorCode, field?: string, value?: string): LoopwardenError {
  try {
    operation();
  } catch (error) {
    assert.ok(error instanceof LoopwardenError, String(error));
    assert.ok(error instanceof Error);
    assert.equal(error.name, "LoopwardenError");
    assert.deepEqual([error.code, error.field, error.value], [code, field, value], error.message);
    return error;
  }
  assert.fail(`not refused, expected ${code}`);
}

/** How many events the detector has recorded. */
const recorded = (detector: LoopDetector): number => detector.metrics().events;

test("the version names the package and the rules", () => {
  assert.match(version(), /^\d+\.\d+\.\d+\+rules\.\d+$/);
});

test("an event gets a verdict, as an object and as text", () => {
  const detector = new LoopDetector();
  const first = detector.record(call);
  assert.equal(first.seq, 0);
  assert.equal(first.level, "continue");
  const second = detector.record('{"type":"tool-result","callId":"1","outcome":"ok","output":"export {}"}');
  assert.equal(second.seq, 1);
  assert.equal(recorded(detector), 2);
});

test("check judges without recording", () => {
  const detector = new LoopDetector();
  detector.record(call);
  const before = detector.snapshot();
  const verdict = detector.check({ ...call, callId: "2" });
  assert.equal(verdict.seq, 1);
  assert.deepEqual(detector.snapshot(), before);
  assert.deepEqual(detector.record({ ...call, callId: "2" }), verdict);
});

test("a tool that returned nothing has answered", () => {
  const result = { type: "tool-result", tool: "save", outcome: "ok" };
  for (const more of [{}, { details: { at: new Date(0) } }]) {
    using one = new LoopDetector();
    using other = new LoopDetector();
    assert.deepEqual(
      one.record({ ...result, ...more, output: undefined } as unknown as Event),
      other.record({ ...result, ...more, output: null } as unknown as Event),
    );
    assert.deepEqual(one.snapshot(), other.snapshot());
    assert.throws(() => one.record({ ...result, ...more } as unknown as Event), /`output`: missing field/);
  }
});

test("fields that are undefined are left out", () => {
  const detector = new LoopDetector();
  const event = { type: "output", text: "done", agent: undefined } as unknown as Event;
  assert.equal(detector.record(event).seq, 0);
});

test("a configuration may be an object or text", () => {
  new LoopDetector({ mode: "shadow", rules: { "repeated-call": { nudge: 2 } } }).free();
  new LoopDetector('{"mode":"shadow"}').free();
  new LoopDetector("").free();
});

test("errors name code, field and value", async (t) => {
  const detector = new LoopDetector();
  const event = (text: string) => () => detector.record(text);
  const cases: [name: string, operation: () => unknown, code: ErrorCode, field?: string | undefined, value?: string][] =
    [
      ["text that is not JSON", event("{"), "invalid-json"],
      ["an event that is a list", event("[]"), "invalid-event", undefined, "[]"],
      ["no type", event("{}"), "invalid-event", "type"],
      ["an unknown type", event('{"type":"tool"}'), "unknown-event", "type", "tool"],
      ["an unknown field", event('{"type":"output","text":"","txt":1}'), "invalid-event", "txt"],
      ["a missing field", event('{"type":"output"}'), "invalid-event", "text"],
      ["a field of the wrong type", event('{"type":"output","text":"","step":"x"}'), "invalid-event", "step"],
      ["an unknown setting", () => new LoopDetector('{"moode":"shadow"}'), "invalid-config", "moode"],
      [
        "an unknown setting inside",
        () => new LoopDetector('{"rules":{"cycle":{"blok":1}}}'),
        "invalid-config",
        "rules.cycle.blok",
      ],
      ["an unknown scope field", () => detector.status({ rnu: "a" } as never), "invalid-argument", "scope.rnu"],
      ["an unknown reason", () => detector.reset({}, "boredom" as never), "invalid-argument", "reason", "boredom"],
      ["an unknown format", () => detector.report({}, "html" as never), "invalid-argument", "format", "html"],
      ["no event", () => detector.record(undefined as never), "invalid-event", undefined, "undefined"],
      [
        "a threshold that is no number",
        () => new LoopDetector({ budgets: { maxIterations: Number.NaN } }),
        "invalid-config",
        "budgets.maxIterations",
        "NaN",
      ],
      [
        "a pattern that is an expression",
        () => new LoopDetector({ patterns: { volatile: ["a", /build-\d+/i as never] } }),
        "invalid-config",
        "patterns.volatile[1]",
        "/build-\\d+/i",
      ],
      [
        "a map among the arguments",
        () => detector.record({ type: "tool-call", tool: "t", args: { list: [1, { m: new Map() }] } }),
        "invalid-event",
        "args.list[1].m",
        "Map",
      ],
      [
        "a large integer among the arguments",
        () => detector.record({ type: "tool-call", tool: "t", args: { n: 1n } } as never),
        "invalid-event",
        "args.n",
        "1n",
      ],
      ["a snapshot that is no bytes", () => LoopDetector.restore("x" as never), "invalid-snapshot", "snapshot"],
    ];
  for (const [name, operation, code, field, value] of cases) {
    await t.test(name, () => {
      refused(operation, code, field, value);
    });
  }
  assert.equal(recorded(detector), 0, "a refused event changes nothing");
});

test("a snapshot that was stored as text is refused with what to store", () => {
  for (const text of ["", "1,2,3", new LoopDetector().snapshot().toString()])
    assert.throws(() => LoopDetector.restore(text as never), {
      message: /not text: store the bytes, or base64 of them, and decode that/,
    });
});

test("a snapshot that is cut off or foreign is refused", () => {
  const detector = new LoopDetector();
  detector.record(call);
  const bytes = detector.snapshot();
  for (const broken of [new Uint8Array(), bytes.subarray(0, bytes.length - 1), new Uint8Array(64).fill(255)]) {
    refused(() => LoopDetector.restore(broken), "invalid-snapshot", "snapshot");
  }
});

test("a snapshot goes on where it was taken", () => {
  const first = new LoopDetector({ mode: "shadow" });
  first.record(call);
  const second = LoopDetector.restore(first.snapshot());
  assert.ok(second instanceof LoopDetector);
  const next: Event = { type: "tool-result", callId: "1", outcome: "error", output: "no such file" };
  assert.deepEqual(second.record(next), first.record(next));
  assert.deepEqual(second.snapshot(), first.snapshot());
});

test("what JSON cannot carry is refused and nothing is lost", () => {
  const detector = new LoopDetector();
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const error = refused(() => detector.record({ ...call, args: cycle }), "invalid-event", "args.self");
  assert.match(error.message, /it is circular, it contains `args` again/);
  assert.ok(error.cause instanceof TypeError);
  const list: unknown[] = [cycle];
  refused(() => detector.record({ ...call, args: { twice: [list, list] } }), "invalid-event", "args.twice[0][0].self");
  refused(() => detector.status(cycle as never), "invalid-argument", "scope.self");
  const config: { tools: Record<string, unknown> } = { tools: {} };
  config.tools["a"] = config;
  const whole = refused(() => new LoopDetector(config as never), "invalid-config", "tools.a");
  assert.match(whole.message, /it contains itself/);
  refused(() => detector.record({ ...call, args: { id: 1n } } as never), "invalid-event", "args.id", "1n");
  const failing = { toJSON: () => assert.fail("no") };
  refused(() => detector.record({ ...call, args: failing }), "invalid-event", "args");
  refused(() => new LoopDetector({ preset: () => "strict" } as never), "invalid-config", "preset", "function");
  refused(() => new LoopDetector("./loopwarden.json"), "invalid-config", undefined, "./loopwarden.json");
  const long: Event = { type: "output", text: "x".repeat(32 * 1024 * 1024) };
  refused(() => detector.record(long), "invalid-event", "text", String(JSON.stringify(long).length));
  refused(() => detector.record("x".repeat(32 * 1024 * 1024 + 1)), "invalid-event", undefined, "33554433");
  assert.equal(detector.record(call).seq, 0);
});

test("arguments nested too deep are refused, not a crash", () => {
  const detector = new LoopDetector();
  const deep = `{"type":"tool-call","tool":"t","args":${"[".repeat(5000)}${"]".repeat(5000)}}`;
  const error = refused(() => detector.record(deep), "invalid-json", "args");
  assert.match(error.message, /nested deeper than 120 levels at line 1 column \d+/);
  assert.equal(detector.record(call).seq, 0);
});

test("a tool without a name is refused, and the run goes on", () => {
  const detector = new LoopDetector();
  for (const tool of ["", " \t"]) {
    const event: Event = { type: "tool-call", tool, args: {} };
    for (const own of [event, JSON.stringify(event)]) {
      refused(() => detector.record(own), "invalid-event", "tool");
      refused(() => detector.check(own), "invalid-event", "tool");
    }
    refused(() => detector.record({ type: "tool-result", tool, outcome: "ok", output: "" }), "invalid-event", "tool");
  }
  assert.equal(detector.record(call).seq, 0);
});

/** Whether two arguments make the same snapshot, and so the same call to the rules. */
function alike(a: string, b: string): boolean {
  const [left, right] = [a, b].map((args) => {
    const detector = new LoopDetector();
    detector.record(`{"type":"tool-call","tool":"t","args":${args}}`);
    return Buffer.from(detector.snapshot()).toString("hex");
  });
  return left === right;
}

test("odd arguments: what this door takes for equal", () => {
  assert.ok(alike('{"n":1}', '{"n":1.0}'), "1 and 1.0");
  assert.ok(alike('{"a":1,"b":2}', '{"b":2,"a":1}'), "key order");
  assert.ok(alike('{"a":1,"a":2}', '{"a":2}'), "of duplicate keys the last counts");
  assert.ok(alike('{"s":"\\ud800"}', '{"s":"\\ufffd"}'), "half a surrogate pair, escaped");
  assert.ok(alike('{"s":"\ud800"}', '{"s":"\ufffd"}'), "half a surrogate pair, as it is");
  assert.ok(alike('{"s":"\\ud83d\\ude00"}', '{"s":"😀"}'), "a whole surrogate pair");
  assert.ok(!alike('{"s":"a"}', '{"s":"b"}'), "another string");
  assert.ok(!alike('{"s":"a\\u0000"}', '{"s":"a"}'), "a NUL counts");
  assert.ok(!alike('{"n":9007199254740991}', '{"n":9007199254740990}'), "integers within 2^53 are exact");
  assert.ok(alike('{"n":9007199254740993}', '{"n":9007199254740992}'), "beyond, they are the nearest double");
});

test("the same event as an object and as text", () => {
  const args = { s: "\ud800 \u0000 😀", n: 1.0, nested: { b: [1, null, true], a: {} } };
  const event: Event = { ...call, args };
  const [left, right] = [new LoopDetector(), new LoopDetector()];
  assert.deepEqual(left.record(event), right.record(JSON.stringify(event)));
  assert.deepEqual(left.snapshot(), right.snapshot());
});

test("status, reset, acknowledge, report and metrics", () => {
  const detector = new LoopDetector();
  const scope = { run: "a" };
  detector.record({ ...call, run: "a" });
  const status = detector.status(scope);
  assert.deepEqual(status.scope, scope);
  assert.equal(detector.status({ run: "b" }).events, 0);
  detector.acknowledge(scope, { decision: "continue" });
  refused(
    () => detector.acknowledge(scope, { decision: "maybe" } as never),
    "invalid-argument",
    "decision.decision",
    "maybe",
  );
  assert.equal(typeof detector.report(scope), "string");
  assert.equal(detector.report(scope), detector.report(scope, "markdown"));
  assert.deepEqual(detector.report(scope, "json").scope, scope);
  detector.reset(scope, "task-completed");
  assert.equal(detector.metrics().resets, 1);
});

test("after free every method throws, and free does nothing", () => {
  const detector = new LoopDetector();
  detector.free();
  detector.free();
  const methods: (() => unknown)[] = [
    () => detector.record(call),
    () => detector.check(call),
    () => detector.status(),
    () => detector.reset({}, "manual"),
    () => detector.acknowledge({}, { decision: "stop" }),
    () => detector.snapshot(),
    () => detector.report(),
    () => detector.metrics(),
  ];
  for (const method of methods) refused(method, "disposed");
});

test("a using block frees", () => {
  let kept: LoopDetector;
  {
    using detector = new LoopDetector();
    detector.record(call);
    kept = detector;
  }
  refused(() => kept.record(call), "disposed");
});

test("detectors share nothing and give their memory back", () => {
  const [a, b] = [new LoopDetector(), new LoopDetector()];
  a.record(call);
  assert.equal(recorded(b), 0);
  for (let round = 0; round < 5000; round++) {
    const detector = new LoopDetector();
    detector.record(call);
    detector.free();
  }
  assert.equal(recorded(a), 1);
});

test("a time that is no number, and a number that is too large, are told with what is to be there", () => {
  const detector = new LoopDetector();
  const expected = "expected milliseconds since 1970 as a whole number";
  const parse = "; convert it with `Date.parse`";
  const at = (value: unknown) => ({ type: "output", text: "", at: value }) as never;
  for (const [event, message] of [
    [at(new Date(0)), "`at`: expected milliseconds since 1970: pass `date.getTime()`, got `Date`"],
    [at(new Date(Number.NaN)), "`at`: expected milliseconds since 1970: pass `date.getTime()`, got `Date`"],
    [at("2026-11-27"), `\`at\`: invalid type: string "2026-11-27", ${expected}${parse}`],
    [at("1797000000000"), `\`at\`: invalid type: string "1797000000000", ${expected}, without quotes`],
    [at("now"), `\`at\`: invalid type: string "now", ${expected}`],
    [at(1.5), `\`at\`: invalid type: number \`1.5\`, ${expected}; round it, or multiply seconds by 1000`],
    ['{"type":"output","text":"","at":1e400}', "`at`: number out of range at line 1 column 37"],
    ['{"type":"tool-call","tool":"t","args":{"at":[1e400]}}', "`args`: number out of range at line 1 column 50"],
    ['{"type":"tool-call","tool":"t",\n"args":{"at":[1e400]}}', "number out of range at line 2 column 19"],
  ] as const)
    assert.throws(() => detector.record(event), { name: "LoopwardenError", message });
  const until = (value: unknown) => ({ decision: "exempt", rule: "cycle", signature: "s", until: value }) as never;
  refused(() => detector.acknowledge({}, until(new Date(0))), "invalid-argument", "decision.until", "Date");
  refused(() => detector.acknowledge({}, until(Number.NaN)), "invalid-argument", "decision.until", "NaN");
  refused(() => detector.status({ run: new Map() } as never), "invalid-argument", "scope.run", "Map");
  // What a tool is given is the tool's.
  detector.record({ type: "tool-call", tool: "t", args: { at: new Date(0), until: new Date(0) } });
});

test("a result that cannot be read stands where it was as one that was not executed", () => {
  const call = '{"type":"tool-call","tool":"t","args":{},"callId":"c"}';
  const lines = [call, '{"type":"tool-result","tool":"t","callId":"c","outcome":"ok","result":"a"}', call];
  const { events, lines: numbers, errors } = readTranscript(lines.join("\n"));
  assert.deepEqual([numbers, errors.map(({ line }) => line)], [[1, 2, 3], [2]]);
  assert.deepEqual(events[1], {
    type: "tool-result",
    callId: "c",
    tool: "t",
    outcome: "not-executed",
    output: "cannot be read",
    synthetic: true,
    labels: { unread: "result" },
  });
});

test("a transcript is read into events, broken lines are listed", () => {
  const lines = ['{"type":"output","text":"a"}', "{", '{"type":"output"}', "", '{"type":"output","text":"b"}'];
  const { format, events, lines: numbers, errors } = readTranscript(lines.join("\n"));
  assert.equal(format, "trace");
  assert.deepEqual(
    events.map(({ type }) => type),
    ["output", "output"],
  );
  assert.deepEqual(numbers, [1, 5]);
  assert.deepEqual(
    errors.map(({ line, error }) => [line, error.code, error.field]),
    [
      [2, "invalid-json", undefined],
      [3, "invalid-event", "text"],
    ],
  );
  refused(() => readTranscript("", "xml" as never), "invalid-argument", "format", "xml");
});

test("what is no text is refused by name, whatever would become of it as text", () => {
  assert.equal(ToolsError, LoopwardenError);
  const hostile = { toString: () => assert.fail("asked") };
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  refused(() => readTranscript(5 as never), "invalid-argument", "text", "number");
  refused(() => readTranscript(hostile as never), "invalid-argument", "text", "object");
  refused(() => readTranscript("", null as never), "invalid-argument", "format", "null");
  refused(() => normalise(undefined as never), "invalid-argument", "output", "undefined");
  refused(() => normalise("", cycle as never), "invalid-config", "self");
  refused(() => inForce(cycle as never), "invalid-config", "self");
  refused(() => inForce({}, hostile as never), "invalid-argument", "tool", "object");
  assert.equal(inForce({ tools: { job_status: { polling: true } } }, "job_status").polling, true);
});

test("whatever is handed over is refused by name, and the detector goes on", () => {
  const throws = (): never => {
    throw { toString: throws };
  };
  const deep = (levels: number): unknown[] => {
    let list: unknown[] = [];
    for (let level = 0; level < levels; level++) list = [list];
    return list;
  };
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const buffer = new ArrayBuffer(64);
  const detached = new Uint8Array(buffer);
  structuredClone(buffer, { transfer: [buffer] });
  const hostile: unknown[] = [
    ...[undefined, null, Number.NaN, 1n, Symbol("s"), () => 1, cycle, deep(100_000), detached, new Date(Number.NaN)],
    {
      toString: throws,
      toJSON: throws,
      get type() {
        return throws();
      },
    },
    new Proxy({}, { get: throws, ownKeys: throws, has: throws, getPrototypeOf: throws }),
    revoked.proxy,
    new Uint8Array(new SharedArrayBuffer(32)),
  ];
  for (const value of hostile as never[]) {
    const detector = new LoopDetector();
    const calls: (() => unknown)[] = [
      () => detector.record(value),
      () => detector.check({ type: "tool-call", tool: value }),
      () => detector.record({ type: "output", text: "x", run: value, labels: value }),
      () => new LoopDetector(value),
      () => new LoopDetector({ rules: value, privacy: { salt: value } }),
      () => LoopDetector.restore(value),
      () => detector.status(value),
      () => detector.reset(value, value),
      () => detector.acknowledge(value, value),
      () => detector.declareGraph(value, value),
      () => detector.report(value, value),
      () => readTranscript(value, value),
      () => normalise(value, value),
      () => inForce(value, value),
    ];
    for (const [index, call] of calls.entries()) {
      try {
        call();
      } catch (error) {
        assert.ok(error instanceof LoopwardenError, `call ${index}`);
        assert.notEqual(error.code, "internal", error.message);
      }
    }
    assert.equal(detector.record({ type: "output", text: "still here" }).level, "continue");
    detector.free();
  }
});

test("transcripts of other programs are recognised, an entry of a document has its line", () => {
  const cases: [format: TranscriptFormat, text: string][] = [
    [
      "anthropic",
      '{"messages":[\n{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]}]}',
    ],
    [
      "ai-sdk",
      '[{"role":"assistant","parts":[\n{"type":"tool-t","toolCallId":"a","state":"input-available","input":{}}]}]',
    ],
    ["langchain", '[{"type":"ai","content":"","tool_calls":[{"id":"a","name":"t","args":{}}]}]'],
    ["openai", '{"type":"function_call","call_id":"a","name":"t","arguments":"{}"}'],
    ["openhands", '{"id":"a","source":"agent","action":"t","args":{}}'],
  ];
  for (const [format, text] of cases) {
    const transcript = readTranscript(text);
    assert.deepEqual([transcript.format, transcript.errors], [format, []]);
    const [event] = transcript.events;
    assert.ok(event?.type === "tool-call", format);
    assert.deepEqual([event.tool, event.args, event.callId], ["t", {}, "a"]);
    assert.deepEqual(transcript.lines, [format === "anthropic" ? 2 : 1]);
    assert.deepEqual(readTranscript(text, format), transcript);
    new LoopDetector().record(event as Event);
  }
});

test("an error is what it says, and what JSON would lose without a word is refused by name", () => {
  const failed = (output: unknown): ReturnType<LoopDetector["record"]> => {
    detector.record({ type: "tool-call", tool: "resolve", args: { host: "mole.example" } });
    return detector.record({ type: "tool-result", tool: "resolve", outcome: "error", output } as Event);
  };
  let detector = new LoopDetector();
  for (const message of ["dns failure", "tls handshake", "404 not found"]) {
    assert.equal(failed(new Error(message)).level, "continue", message);
  }
  detector = new LoopDetector();
  const levels = [1, 2, 3].map(() => failed(new TypeError("dns failure")).level);
  assert.deepEqual(levels, ["continue", "continue", "nudge"]);
  for (const [value, name] of [
    [new Map([["a", 1]]), "Map"],
    [new Set([1]), "Set"],
    [Promise.resolve(1), "Promise"],
    [new Response("page"), "Response"],
    [new URLSearchParams("a=1"), "URLSearchParams"],
    [new Headers({ a: "1" }), "Headers"],
  ] as const) {
    assert.throws(
      () => failed(value),
      (error: LoopwardenError) => error.code === "invalid-event" && error.field === "output" && error.value === name,
      name,
    );
    assert.throws(
      () => detector.record({ type: "tool-call", tool: "t", args: { inner: value } } as unknown as Event),
      (error: LoopwardenError) => error.field === "args.inner" && error.value === name,
      name,
    );
  }
});

test("an object of a class is written as its fields", () => {
  class Berth {
    name?: string;
    constructor(name?: string) {
      if (name !== undefined) this.name = name;
    }
  }
  const detector = new LoopDetector();
  const call = { type: "tool-call", tool: "moor" } as const;
  for (const args of [new Berth("7"), new Berth(), Object.create(null), new Date(0), new Uint8Array(2)]) {
    assert.equal(detector.record({ ...call, args } as unknown as Event).level, "continue");
  }
});

test("arguments as text, as model APIs send them, are those of the object", () => {
  const levels = (write: (args: object) => unknown): string[] => {
    const detector = new LoopDetector();
    return [1, 2, 3, 4].map((round) => {
      const args = write({ command: "ls quay", description: `look ${round}` });
      detector.record({ type: "tool-call", tool: "bash", args } as Event);
      return detector.record({ type: "tool-result", tool: "bash", outcome: "ok", output: "crane" }).level;
    });
  };
  const expected = levels((args) => args);
  assert.ok(expected.includes("nudge"), `${expected}`);
  assert.deepEqual(
    levels((args) => JSON.stringify(args)),
    expected,
  );
});

test("a number that is none is refused by name, but in what a tool was given and has answered", () => {
  const detector = new LoopDetector();
  const call = { type: "tool-call", tool: "seek", args: { from: Number.NaN } } as const;
  for (const number of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    for (const field of ["at", "step", "tokens"]) {
      assert.throws(
        () => detector.record({ ...call, [field]: number }),
        (error: LoopwardenError) => error.field === field && error.value === String(number),
        field,
      );
    }
    assert.throws(
      () => new LoopDetector({ budgets: { maxIterations: number } }),
      (error: LoopwardenError) => error.code === "invalid-config" && error.field === "budgets.maxIterations",
    );
  }
  assert.equal(detector.record(call).seq, 0);
});

test("what is no object is answered with the argument's name", () => {
  const detector = new LoopDetector();
  const wrong = "run-1" as unknown as Record<string, never>;
  const cases: [field: string, call: () => unknown][] = [
    ["scope", () => detector.status(wrong)],
    ["scope", () => detector.report(wrong)],
    ["scope", () => detector.reset(wrong, "manual")],
    ["decision", () => detector.acknowledge({}, wrong as never)],
    ["decision", () => detector.acknowledge({}, undefined as never)],
    ["graph", () => detector.declareGraph({}, wrong as never)],
  ];
  for (const [field, call] of cases) {
    assert.throws(
      call,
      (error: LoopwardenError) =>
        error.code === "invalid-argument" && error.field === field && /expected an object/.test(error.message),
      field,
    );
  }
});
