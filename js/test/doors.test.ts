// The quick door against the door of JSON text: an object is judged as its JSON text would be, whatever the object is.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { type AgentEvent as Event, LoopDetector, LoopwardenError } from "../dist/index.js";

/** What a detector makes of events: its verdicts or errors, and its state. */
function story(events: readonly unknown[], ask: (detector: LoopDetector, event: never) => unknown): unknown[] {
  const detector = new LoopDetector();
  const told = events.map((event) => {
    try {
      return ask(detector, event as never);
    } catch (error) {
      assert.ok(error instanceof LoopwardenError, String(error));
      return error.toJSON();
    }
  });
  const state = createHash("sha256").update(detector.snapshot()).digest("hex");
  detector.free();
  return [...told, state];
}

/** The JSON text of an event, or what the object door makes of an object that has none. */
function text(event: unknown): unknown {
  if (typeof event === "string") return event;
  // The output of a tool that returned nothing is `null`, and a regular expression its source.
  const written = function (this: unknown, field: string, value: unknown) {
    if (value instanceof RegExp) return String(value);
    return value === undefined && field === "output" && this === event ? null : value;
  };
  try {
    return JSON.stringify(event, written) ?? event;
  } catch {
    return event;
  }
}

/** Each event is made twice, because to read it may change it. */
function same(make: () => readonly unknown[]): void {
  const ask = (detector: LoopDetector, event: never) => [detector.check(event), detector.record(event)];
  const answers = story(make(), ask);
  assert.deepEqual(answers, story(make().map(text), ask));
  // Key by key in the same order: what is shown to a person or hashed is the same as well.
  assert.equal(JSON.stringify(answers), JSON.stringify(story(make().map(text), ask)));
}

const call = (args: unknown, more: object = {}) => ({ type: "tool-call", tool: "t", args, ...more });
const result = (output: unknown, more: object = {}) => ({
  type: "tool-result",
  tool: "t",
  outcome: "ok",
  output,
  ...more,
});

class Holder {
  a = 1;
  #b = 2;
  get b(): number {
    return this.#b;
  }
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = level % 2 ? [value] : { a: value };
  return value;
}

function cycle(): object {
  const value: { self?: unknown } = {};
  value.self = value;
  return value;
}

function sparse(): unknown[] {
  const items: unknown[] = [1];
  items[4] = 2;
  return items;
}

/** Values that JSON.stringify does something about, or nothing. */
const VALUES: Record<string, () => unknown> = {
  "half a surrogate pair": () => "\ud800 a \udc00",
  "half a surrogate pair in a long text": () => `${"x".repeat(500)}\udfff${"y".repeat(500)}`,
  "half a surrogate pair as a key": () => ({ "\ud800": 1, "\udbff": 2, "\ufffd": 3 }),
  "a whole pair": () => "😀",
  NUL: () => ({ "\0": "\0a\0" }),
  "every control character": () => String.fromCharCode(...Array.from({ length: 128 }, (_, code) => code)),
  "a getter": () => ({
    get a() {
      return "got";
    },
  }),
  "a getter that throws": () => ({
    get a() {
      throw new Error("no");
    },
  }),
  "a getter that throws what cannot be told": () => ({
    get a() {
      throw { toString: () => assert.fail("told") };
    },
  }),
  toJSON: () => ({ toJSON: () => ({ a: [1] }) }),
  "toJSON that knows its key": () => ({ toJSON: (key: string) => key }),
  "toJSON of nothing": () => ({ toJSON: () => undefined }),
  "toJSON that is no function": () => ({ toJSON: 5 }),
  "toJSON of a list": () => Object.assign([1], { toJSON: () => "list" }),
  "a bigint": () => ({ id: 1n }),
  "a cycle": cycle,
  "1000 levels": () => nested(1000),
  "130 levels": () => nested(130),
  "121 levels": () => nested(121),
  "120 levels": () => nested(120),
  "101 levels": () => nested(101),
  "100 levels": () => nested(100),
  "99 levels": () => nested(99),
  "minus zero": () => [-0, { a: -0 }],
  "no numbers": () => [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  numbers: () => [
    1.0,
    0.1,
    81.13,
    1e21,
    1e-7,
    5e-324,
    2 ** 53,
    2 ** 53 - 1,
    -(2 ** 53),
    2 ** 63,
    2 ** 64,
    -(2 ** 63),
    1e308,
  ],
  undefined: () => undefined,
  "undefined inside": () => ({ a: undefined, b: [undefined, 1] }),
  functions: () => ({ a: () => 1, b: [() => 1], c: Symbol("c"), [Symbol("d")]: 1 }),
  "a function": () => () => 1,
  "a symbol": () => Symbol("s"),
  null: () => null,
  "a sparse list": sparse,
  "a list with a name": () => Object.assign([1], { name: "x" }),
  "a list of its own kind": () => new (class extends Array {})(3).fill(1),
  "a Date": () => new Date(0),
  "a broken Date": () => new Date(Number.NaN),
  "a RegExp": () => /a/g,
  "a typed array": () => new Uint8Array([1, 2]),
  "a Buffer": () => Buffer.from("ab"),
  "wrapped primitives": () => [new String("s"), new Number(5), new Boolean(false), Object(1n)],
  "a wrapped text": () => new String("s"),
  "an object without a prototype": () => Object.assign(Object.create(null), { a: 1 }),
  "an object of a class": () => new Holder(),
  "fields of a prototype": () => Object.create({ a: 1 }, { b: { value: 2, enumerable: true }, c: { value: 3 } }),
  "__proto__ as a key": () => JSON.parse('{"__proto__":{"a":1},"constructor":2}'),
  "keys that are numbers": () => ({ 10: "a", 2: "b", a: "c", "01": "d" }),
  "a proxy": () => new Proxy({ a: 1 }, {}),
  "a proxy of a list": () => new Proxy([1, 2], {}),
  "a proxy that has no keys": () => new Proxy({ a: 1 }, { ownKeys: () => assert.fail("no keys") }),
  "a revoked proxy": () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  "many keys": () => Object.fromEntries(Array.from({ length: 3000 }, (_, key) => [`key${key}`, key])),
  "an empty list": () => [],
  "an empty object": () => ({}),
  "an empty text": () => "",
  true: () => true,
  "a text of JSON": () => '{"a":1}',
};

for (const [name, value] of Object.entries(VALUES)) {
  test(`both doors say the same: ${name}`, () => {
    same(() => [
      call(value()),
      result(value()),
      call(value()),
      result("x", { details: value() }),
      call({ a: value() }),
    ]);
    for (const field of [
      "tool",
      "rawArgs",
      "callId",
      "run",
      "task",
      "agent",
      "round",
      "at",
      "step",
      "synthetic",
      "labels",
    ]) {
      // Its JSON is a text, which is refused in other words.
      if (field === "at" && name.endsWith(" Date")) continue;
      same(() => [call({}, { [field]: value() }), call({})]);
    }
    for (const field of ["exitCode", "errorClass", "digest", "state", "outcome", "callId", "tool", "unknown"]) {
      same(() => [call({}), result("x", { [field]: value() })]);
    }
    for (const type of ["delta", "message", "output"]) {
      same(() => [
        { type, text: value() },
        { type, role: "user", text: "x", channel: value() },
        { type, role: value(), text: "x" },
        { type, text: "x", tool: value() },
      ]);
    }
    same(() => [value(), { type: value() }]);
  });
}

test("both doors say the same: texts about as long as the buffer", () => {
  for (const length of [40, 41, 5_440, 5_470, 1_398_000, 1_398_100, 1_398_200]) {
    same(() => [result("x".repeat(length)), result(["ä".repeat(length)])]);
  }
});

test("both doors say the same: what an event is", () => {
  const plain = call({ a: 1 });
  same(() => [
    Object.assign(Object.create(null), plain),
    Object.assign(new Holder(), plain),
    Object.create(plain),
    { ...plain, toJSON: () => ({ type: "output", text: "x" }) },
    new Proxy(plain, {}),
    Object.defineProperty({ ...plain }, "tool", { enumerable: false }),
    Object.defineProperty({ tool: "t" }, "type", { value: "tool-call", enumerable: false }),
    { type: "tool-call" },
    { tool: "t" },
    { type: "delta", text: "a", run: null, at: null, labels: null },
    { type: "delta", text: "a", tool: null },
    { type: "delta", text: null },
    [plain],
    new Date(0),
  ]);
});

/** The same numbers on every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % below;
  };
}

test("both doors say the same: runs of any events", () => {
  const values = Object.values(VALUES).filter((value) => String(value).length < 60);
  for (let seed = 1; seed <= 60; seed++) {
    const make = () => {
      const below = numbers(seed);
      const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
      const word = () => pick(["a", "read_file", "src/ä.ts", "", "x".repeat(below(90)), "\ud800"]);
      const free = (depth: number): unknown => {
        if (depth > 3 || below(3) === 0) return below(6) === 0 ? pick(values)() : word();
        if (below(2) === 0) return Array.from({ length: below(4) }, () => free(depth + 1));
        return Object.fromEntries(Array.from({ length: below(4) }, () => [word(), free(depth + 1)]));
      };
      const maybe = (fields: Record<string, () => unknown>) =>
        Object.fromEntries(Object.entries(fields).flatMap(([key, value]) => (below(3) ? [] : [[key, value()]])));
      return Array.from({ length: 40 }, () => {
        const context = maybe({
          run: word,
          task: word,
          agent: word,
          round: word,
          at: () => below(1e9),
          step: () => below(99),
        });
        const channel = () => pick(["text", "reasoning"]);
        return pick([
          () => call(free(0), { ...context, ...maybe({ callId: () => `c${below(3)}`, target: word, identity: word }) }),
          () =>
            result(free(0), {
              ...context,
              ...maybe({
                callId: () => `c${below(3)}`,
                outcome: () => pick(["ok", "error", "denied", "invalid", "unknown-tool", "not-executed", "timeout"]),
                exitCode: () => below(3) - 1,
                details: () => free(0),
                state: word,
              }),
            }),
          () => ({ type: "delta", text: word(), ...context, ...maybe({ channel }) }),
          () => ({
            type: "message",
            role: pick(["assistant", "user", "system"]),
            text: word(),
            ...context,
            ...maybe({ channel }),
          }),
          () => ({ type: "output", text: word(), ...context }),
          () => ({ type: "host", kind: "turn-start", ...context }),
        ])();
      });
    };
    same(make);
  }
});

test("an ordinary event is not made into text", (t) => {
  const detector = new LoopDetector();
  const stringify = t.mock.method(JSON, "stringify");
  const parse = t.mock.method(JSON, "parse");
  const context = { run: "r", agent: "a", round: "1", at: Date.now(), step: 3 };
  const args = { path: "src/a.ts", options: [1, 2.5, true, null, { deep: "ä" }] };
  detector.record({ type: "tool-call", tool: "t", callId: "1", args, ...context });
  detector.record({ type: "tool-result", callId: "1", outcome: "ok", output: "x".repeat(20_000), ...context });
  detector.check({ type: "tool-call", tool: "t", callId: "2", args, ...context });
  detector.record({ type: "delta", text: "hello" });
  detector.record({ type: "message", role: "assistant", text: "hello" });
  detector.record({ type: "output", text: "done" });
  assert.equal(stringify.mock.callCount(), 0);
  assert.equal(parse.mock.callCount(), 0);
});

test("an event whose own code asks a detector is judged as it is", () => {
  const [outer, inner, plain] = [new LoopDetector(), new LoopDetector(), new LoopDetector()];
  const event = (ask: () => void) => ({
    type: "tool-call",
    tool: "t",
    args: {
      first: "1".repeat(60),
      get second() {
        ask();
        return "2";
      },
      third: "3",
    },
  });
  outer.record(event(() => inner.record({ type: "output", text: "x".repeat(100_000) })) as Event);
  plain.record(event(() => {}) as Event);
  assert.deepEqual(outer.snapshot(), plain.snapshot());
  const freed = new LoopDetector();
  assert.throws(() => freed.record(event(() => freed.free()) as Event), { code: "disposed" });
});

test("the module's memory may grow between two events, and within one", () => {
  const detectors = Array.from({ length: 40 }, () => new LoopDetector());
  const plain = new LoopDetector();
  for (const [round, detector] of detectors.entries()) {
    const output = `${round} `.repeat(200_000);
    for (const it of [detector, plain]) {
      it.record({ type: "tool-call", tool: "t", callId: `${round}`, args: { round } });
      it.record({ type: "tool-result", callId: `${round}`, outcome: "ok", output });
    }
    const alone = new LoopDetector();
    alone.record(JSON.stringify({ type: "tool-call", tool: "t", callId: `${round}`, args: { round } }));
    alone.record(JSON.stringify({ type: "tool-result", callId: `${round}`, outcome: "ok", output }));
    assert.deepEqual(detector.snapshot(), alone.snapshot());
  }
});

test("a stack that ends spoils no other detector", () => {
  const event: Event = { type: "tool-call", tool: "t", args: { path: "a".repeat(200) } };
  const [other, plain] = [new LoopDetector(), new LoopDetector()];
  for (let round = 0; round < 5; round++) {
    const victim = new LoopDetector();
    let failed = 0;
    const dive = (): void => {
      try {
        dive();
      } catch {
        failed++;
      }
      // On the way back there is a little more room in every frame.
      if (failed > 0 && failed < 60) {
        failed++;
        victim.record(event);
      }
    };
    try {
      dive();
    } catch {
      // Whether the last of them fits depends on the machine.
    }
    for (const it of [other, plain]) it.record(event);
    assert.deepEqual(other.snapshot(), plain.snapshot());
    try {
      victim.record(event);
    } catch (error) {
      assert.ok(error instanceof LoopwardenError && error.code === "internal", String(error));
      assert.throws(() => victim.record(event), { code: "internal", message: /restore its last snapshot/ });
    }
    victim.free();
    assert.throws(() => victim.record(event), LoopwardenError);
  }
});

test("a module that fails gives up one detector, and says what to do", () => {
  const event: Event = { type: "output", text: "hello" };
  const [victim, other] = [new LoopDetector(), new LoopDetector()];
  victim.record(event);
  const kept = victim.snapshot();
  const trap = () => {
    throw new Error("unreachable");
  };
  const encodeInto = TextEncoder.prototype.encodeInto;
  TextEncoder.prototype.encodeInto = trap as never;
  try {
    assert.throws(() => victim.record(JSON.stringify(event)), {
      code: "internal",
      message: /restore the detector's last/,
    });
  } finally {
    TextEncoder.prototype.encodeInto = encodeInto;
  }
  for (const method of [() => victim.record(event), () => victim.status(), () => victim.snapshot()]) {
    assert.throws(method, { code: "internal", message: /restore its last snapshot/ });
  }
  victim.free();
  assert.throws(() => victim.record(event), { code: "disposed" });
  assert.equal(other.record(event).seq, 0);
  assert.equal(LoopDetector.restore(kept).record(event).seq, 1);
});

test("what is no text, no bytes or no object is refused by name", () => {
  const detector = new LoopDetector();
  const hostile = { toString: () => assert.fail("asked") };
  const detached = detector.snapshot();
  structuredClone(detached, { transfer: [detached.buffer] });
  const cases: [operation: () => unknown, code: string, field: string | undefined][] = [
    [() => detector.reset({}, hostile as never), "invalid-argument", "reason"],
    [() => detector.report({}, hostile as never), "invalid-argument", "format"],
    [() => detector.report({}, 5 as never), "invalid-argument", "format"],
    [() => LoopDetector.restore(detached), "invalid-snapshot", "snapshot"],
    [() => LoopDetector.restore(new Proxy(new Uint8Array(4), {})), "invalid-snapshot", "snapshot"],
    [() => LoopDetector.restore(undefined as never), "invalid-snapshot", "snapshot"],
    [() => new LoopDetector(cycle()), "invalid-config", "self"],
    [() => detector.status(cycle()), "invalid-argument", "scope.self"],
    [() => detector.acknowledge({}, cycle() as never), "invalid-argument", "decision.self"],
    [() => detector.declareGraph({}, cycle() as never), "invalid-argument", "graph.self"],
    [() => detector.record(5 as never), "invalid-event", undefined],
    [() => detector.record(null as never), "invalid-event", undefined],
    [() => detector.record(Symbol("s") as never), "invalid-event", undefined],
  ];
  for (const [operation, code, field] of cases) {
    assert.throws(operation, (error) => {
      assert.ok(error instanceof LoopwardenError, String(error));
      assert.deepEqual([error.code, error.field], [code, field], error.message);
      return true;
    });
  }
});
