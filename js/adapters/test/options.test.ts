import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { LoopDetector, LoopwardenError } from "loopwarden";
import { Guard, type LoopHalt } from "../../src/adapters/guard.ts";
import { checked } from "../../src/adapters/options.ts";

const refused = (options: unknown, message: RegExp, foreign?: Record<string, string>) =>
  assert.throws(
    () => checked(options as object, foreign),
    (error) => error instanceof LoopwardenError && error.code === "invalid-config" && message.test(error.message),
  );

test("an option that does not exist is an error that names the one that was meant", async () => {
  refused({ onVerdikt: () => {} }, /`onVerdikt`: is no option; did you mean `onVerdict`\?/);
  refused({ enable: false }, /did you mean `enabled`\?/);
  refused({ maxrefusals: 3 }, /did you mean `maxRefusals`\?/);
  refused({ ruels: {} }, /did you mean `config: \{ rules: … \}`\?/);
  refused({ somethingElse: 1 }, /is no option$/);
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"])
    refused(JSON.parse(`{"${name}":1}`), new RegExp(`^\`${name}\`: is no option`));
  refused("shadow", /`options`: must be an object, got `shadow`/);
  refused({ config: "shadow" }, /`config`: must be an object, got `shadow`/);
  refused({ config: {}, detector: new LoopDetector() }, /`config`: is not for a guard with a `detector`/);
  // Every field of the configuration belongs in `config`.
  const schema = JSON.parse(await readFile(new URL("../../schema/config.schema.json", import.meta.url), "utf8"));
  for (const name of Object.keys(schema.properties).filter((key) => key !== "enabled" && key !== "$schema"))
    refused(
      { [name]: undefined },
      new RegExp(`^\`${name}\`: belongs into \`config\`: \\{ config: \\{ ${name}: … \\} \\}$`),
    );
});

test("values that mean nothing are errors, and so is what an adapter does not take", () => {
  refused({ prompts: "user" }, /`prompts`: must be "human" or "host", got `user`/);
  refused({ maxRefusals: -1 }, /`maxRefusals`: must be a whole number/);
  refused({ now: 1764460800000 }, /`now`: must be a function, got `1764460800000`/);
  refused({ onHalt: "stop" }, /`onHalt`: must be a function, got `stop`/);
  refused({ enabled: "false" }, /`enabled`: must be a boolean, got `false`/);
  refused({ run: 7 }, /`run`: must be a string, got `7`/);
  refused({ detector: {} }, /`detector`: must be a LoopDetector/);
  refused({ state: "1" }, /`state`: is kept elsewhere/, { state: "is kept elsewhere" });
  const options = { enabled: true, run: "a", state: undefined };
  assert.equal(checked(options, { state: "is kept elsewhere" }), options);
});

test("an error in the configuration names the field below `config`, where it was written", () => {
  const state = new Guard().snapshot();
  for (const more of [{}, { state }]) {
    const guarded = (config: object, field: string, message: RegExp) =>
      assert.throws(() => new Guard({ ...more, config }), {
        name: "LoopwardenError",
        code: "invalid-config",
        field,
        message,
      });
    guarded({ presett: "sensitive" }, "config.presett", /^`config\.presett`: unknown field, did you mean `preset`\?/);
    guarded({ rules: { cycle: { blok: 3 } } }, "config.rules.cycle.blok", /did you mean `block`\?/);
    guarded({ budgets: { maxIterations: new Map() } }, "config.budgets.maxIterations", /expected JSON, got `Map`$/);
  }
});

test("a scope is checked as options are", () => {
  const guard = new Guard();
  const scoped = (scope: unknown, message: RegExp) =>
    assert.throws(
      () => guard.scope(scope as object),
      (error) => error instanceof LoopwardenError && error.code === "invalid-config" && message.test(error.message),
    );
  scoped({ agnet: "writer" }, /`agnet`: is no part of a scope, which has run, agent, task$/);
  scoped({ run: 7 }, /`run`: must be a string/);
  scoped("run", /`scope`: must be an object/);
  assert.equal(guard.scope({ run: "r" }).run, "r");
});

test("a clock that fails is told once and replaced by the system's", () => {
  const clocks = [() => "soon", () => Number.NaN, () => assert.fail("no clock")] as unknown as (() => number)[];
  for (const now of clocks) {
    const warnings: string[] = [];
    const guard = new Guard({ now, onWarning: (message) => warnings.push(message) });
    const levels = new Set<string>();
    for (let round = 0; round < 6; round += 1) {
      guard.turn();
      levels.add(guard.beforeCall({ tool: "search", args: { q: "a" }, callId: `call ${round}` }).action);
      guard.afterCall({ tool: "search", callId: `call ${round}`, output: "nothing" });
    }
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", /^\[Loopwarden\] your `now` failed, so the system's clock counts: /);
    // The guard goes on judging.
    assert.ok(levels.has("block"), [...levels].join());
  }
  const warnings: string[] = [];
  const guard = new Guard({ now: () => performance.now(), onWarning: (message) => warnings.push(message) });
  guard.beforeCall({ tool: "search", args: { q: "a" } });
  assert.deepEqual(warnings, []);
});

test("a halt is told once, with the scope that it ended, and tokens are what the loop has cost", () => {
  const halts: LoopHalt[] = [];
  const guard = new Guard({ run: "r", onHalt: (halt) => halts.push(halt) });
  for (let round = 0; round < 12; round += 1) {
    guard.turn();
    guard.usage({ input: 90, output: 10 });
    const ruling = guard.beforeCall({ tool: "search", args: { q: "a" }, callId: "call" });
    if (ruling.action === "continue" || ruling.action === "nudge")
      guard.afterCall({ tool: "search", callId: "call", output: "nothing" });
  }
  assert.deepEqual(
    halts.map(({ scope, rule }) => [scope.run, rule]),
    [["r", "repeated-call"]],
  );
  // Counted from the first repeated call: those that ran and those that were refused.
  assert.equal(Number(halts[0]?.finding?.wasted.tokens) % 100, 0);
  assert.ok(Number(halts[0]?.finding?.wasted.tokens) >= 700, String(halts[0]?.finding?.wasted.tokens));
});
