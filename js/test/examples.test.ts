import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { story as pair, run } from "../examples/coder-verifier.mjs";
import { story as failures } from "../examples/failure-handler.mjs";
import { story as attempts } from "../examples/orchestrator-loop.mjs";
import { story as phases } from "../examples/phase-engine.mjs";
import { machineNode } from "./support/packed.ts";

test("the orchestrator executes no task that goes round, and says what it did instead", () => {
  const { orchestrator, executed } = attempts();
  const times = (task: string) => executed.filter((name) => name === task).length;
  // Seven ticks were planned for the first and the last.
  assert.deepEqual([times("T3.4.2"), times("T7.1.2"), times("T6.2.3")], [2, 3, 5]);
  const recoveries = orchestrator.recoveries.map(({ task, topic }) => [task, topic]);
  assert.deepEqual(recoveries, [
    ["T3.4.2", "loop_recovery"],
    ["T7.1.2", "unblock_authority"],
    ["T6.2.3", "unblock_authority"],
    ["T6.2.3", "loop_escalation"],
  ]);
  const [revisit, authority, , escalation] = orchestrator.recoveries.map(({ text }) => text);
  assert.match(revisit ?? "", /^LOOP DETECTED: Task T3\.4\.2 completed after 3 attempts\.\nDO NOT revisit this task\./);
  assert.match(authority ?? "", /^UNBLOCK AUTHORITY GRANTED: Task T7\.1\.2 blocked by \[critic:leakage unavailable\]/);
  assert.match(escalation ?? "", /\nReason: No progress despite unblock authority\.$/);
  // What was refused before it ran is no attempt.
  assert.deepEqual(orchestrator.detector.status().attempts?.["T6.2.3"]?.attemptCount, 5);
  const logged = orchestrator.log.map((record) => "taskId" in record && [record.event, record.taskId]);
  assert.deepEqual(logged, [["loop_detected", "T6.2.3"]]);
});

test("the failure handler counts, asks the judge, stops at the gate and starts over after the human", async () => {
  const { handler, told, questions } = await failures();
  const short = told.map((line) => line.replace(/^.*: (\w+, loops \d).*$/s, "$1"));
  assert.deepEqual(short, ["retry, loops 0", "retry, loops 1", "retry, loops 2", "retry, loops 0", "wait, loops 0"]);
  assert.match(told[3] ?? "", /Sessions live in src\/store/, "the human's guidance reaches the agent");
  assert.equal(questions.length, 2, "an exact repeat needs no judge");
  assert.ok(questions.every((question) => !question.includes("token is undefined")));
  const events = handler.log.map((record) => record.event);
  const [gate, reset] = handler.log.slice(3);
  assert.deepEqual(events.slice(0, 3), ["loop_detected", "loop_detected", "loop_detected"]);
  assert.ok(gate?.event === "gate_triggered" && gate.loopCount === 3 && gate.taskId === "login");
  assert.ok(reset?.event === "loop_counter_reset" && reset.previousCount === 3);
  assert.deepEqual([reset.reason, events.length], ["Human intervention", 5]);
});

test("the phase engine refuses the sixth test run, waits for a human and goes on", () => {
  const { engine, told } = phases();
  const waiting = told.flatMap((line, index) => (line.endsWith("waits, hitl:loop-prevention") ? [index] : []));
  assert.deepEqual([waiting, told.length], [[6, 7], 11], told.join("\n"));
  const issue = engine.issue("Issue-123");
  assert.deepEqual(issue.comments, ["Phase 'test' exceeded max_visits (5) with 5 visits"]);
  assert.deepEqual([issue.phase, issue.labels.size], ["deploy", 0]);
  assert.deepEqual(engine.detector.status().phases?.["Issue-123"]?.visits, { deploy: 1, test: 1 });
  const { phaseVisitsBlocked, transitionsBlocked, cyclesDetected, hitlTriggered } = engine.detector.metrics();
  assert.deepEqual([phaseVisitsBlocked, transitionsBlocked, cyclesDetected, hitlTriggered], [1, 0, 0, 1]);
});

test("the pair ends when the tests pass, and is halted when it gets no further", () => {
  const { converging, stalled } = pair();
  assert.deepEqual([converging.end, converging.halted], ["tests pass", undefined]);
  assert.equal(converging.shown.at(-1), "Loop 3/8: 7 → 4 → 2 → 0");
  assert.equal(stalled.end, "switch-to-interactive");
  assert.deepEqual(stalled.shown.at(-1), "Loop 4/8: 7 → 4 → 2 → 2");
  const [halted, cycle] = [stalled.halted, stalled.cycle];
  assert.deepEqual([halted?.haltReason, cycle?.lastHaltReason], ["stalled", "stalled"]);
  assert.match(halted?.cycleId ?? "", /^[0-9a-f]{16}$/);
  assert.equal(halted?.cycleId, cycle?.cycleId);
  assert.equal(new Set(halted?.failingTestSignatures.slice(-3)).size, 1, "the same tests fail three times");
  assert.equal(new Set(halted?.diffHashes).size, 5, "although each patch is another");
  assert.equal(halted?.suggestedActions[0], "switch to interactive");
});

test("a pair that goes on getting better is stopped by its budget alone", () => {
  const names = Array.from({ length: 20 }, (_, index) => `test ${index}`);
  const laps = names.map((_, lap) => ({ patch: `+ ${lap}`, failing: names.slice(lap) }));
  const { end, halted, shown, cycle } = run(laps);
  assert.deepEqual([end, halted?.haltReason, cycle?.badge], ["escalate", "budget-exceeded", "Loop 8/8"]);
  assert.equal(shown.at(-1), "Loop 7/8: 20 → 19 → 18 → 17 → 16 → 15 → 14");
});

test("every example runs when it is called", async () => {
  const folder = new URL("../examples/", import.meta.url);
  const files = (await readdir(folder)).filter((name) => name.endsWith(".mjs"));
  assert.ok(files.length >= 4, `only ${files.join()}`);
  for (const file of files) {
    // On the Node that the machine has, which may be as old as the package takes.
    const { stdout } = await promisify(execFile)(await machineNode(), [fileURLToPath(new URL(file, folder))]);
    assert.ok(stdout.length > 200, `${file} tells nothing: ${stdout}`);
  }
});
