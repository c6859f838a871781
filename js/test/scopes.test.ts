// What is said belongs to the scope that earned it: the variations of the documents that a user meets first, through the
// package as it is shipped.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AgentEvent as Event, LoopDetector, LoopwardenError, type Verdict } from "../dist/index.js";

const FIX = "Fixed auth.ts - added null check";
const START = 1_762_000_000_000;

const failure = (task: string, message: string): Event => ({ type: "failure", task, agent: "agent1", message });
const output = (agent: string, text: string): Event => ({ type: "output", agent, text });

/** Records events a second apart; the last verdict. */
function play(detector: LoopDetector, events: readonly Event[]): Verdict {
  let last: Verdict | undefined;
  for (const [index, event] of events.entries()) last = detector.record({ ...event, at: START + index * 1000 });
  assert.ok(last !== undefined);
  return last;
}

test("a report and a status are of their task alone", () => {
  const detector = new LoopDetector();
  for (const word of ["hinge", "window", "roof", "cellar"]) {
    detector.record(failure("A", "the page is blank"));
    detector.record(failure("B", `the ${word} is loose`));
  }
  assert.deepEqual([detector.status({ task: "A" }).level, detector.status({ task: "B" }).level], ["gate", "continue"]);
  assert.match(detector.report({ task: "A" }, "markdown"), /Loop detected after 3 attempts/);
  assert.match(detector.report({ task: "B" }, "markdown"), /^## No Loop Detected/);
  assert.equal(detector.report({ task: "A" }, "json").history?.length, 4);
  detector.reset({ task: "B" }, "task-completed");
  assert.equal(detector.report({ task: "A" }, "json").level, "gate", "completing B clears B alone");
  const restored = LoopDetector.restore(detector.snapshot());
  assert.deepEqual(restored.report({ task: "A" }, "json"), detector.report({ task: "A" }, "json"));
  detector.reset({ task: "A" }, "task-completed");
  assert.deepEqual(detector.report({ task: "A" }, "json").findings, []);
});

test("an agent that is stuck is found beside others, and three that say it once are not", () => {
  const detector = new LoopDetector();
  const levels = ["hinge", "window", "roof"].map((word) => {
    const { level } = detector.record(output("stuck", FIX));
    assert.equal(detector.record(output("fine", `Wrote the chapter on the ${word}`)).level, "continue");
    return level;
  });
  assert.deepEqual(levels, ["continue", "continue", "gate"]);
  assert.match(detector.report({ agent: "stuck" }, "markdown"), /Iteration 3: Fixed auth\.ts/);
  assert.match(detector.report({ agent: "fine" }, "markdown"), /^## No Loop Detected/);
  const three = new LoopDetector();
  assert.equal(
    play(
      three,
      ["a", "b", "c"].map((agent) => output(agent, FIX)),
    ).level,
    "continue",
  );
});

test("external failures are backed off from, then somebody is asked, and nothing else is said", () => {
  for (const message of ["401 Unauthorized", "login failed for user ci", "429 Too Many Requests", "quota exceeded"]) {
    const detector = new LoopDetector();
    const said = Array.from({ length: 6 }, () => detector.record(failure("T", message)));
    const levels = said.map(({ level }) => level);
    assert.deepEqual(levels, ["continue", "continue", "continue", "continue", "gate", "gate"], message);
    const advice = said.map(({ recommendation }) => recommendation);
    assert.deepEqual(advice.slice(0, 5), [...Array.from({ length: 4 }, () => "retry-with-backoff"), "escalate"]);
    assert.ok(said.flatMap(({ findings }) => findings).every(({ rule }) => rule === "external-failure"));
  }
});

test("falling counts are progress although the signature stays", () => {
  const text = (count: number): string => `${count} failed: auth.test.ts - login test timeout, logout test assertion`;
  const of = (counts: readonly number[]): string =>
    play(
      new LoopDetector(),
      counts.map((count) => output("a", text(count))),
    ).level;
  assert.deepEqual([of([4, 3, 2, 1]), of([4, 4, 4])], ["continue", "gate"]);
});

test("a judge's reasoning is in finding, record and report", () => {
  const detector = new LoopDetector();
  detector.record(failure("T", "the page is red"));
  const reasoning = "The colour changed and nothing else.";
  const { findings, records } = detector.record({ type: "evaluation", task: "T", verdict: "stalled", reasoning });
  assert.ok(findings[0]?.reasoning?.endsWith(reasoning));
  const [record] = records ?? [];
  assert.ok(record?.event === "loop_detected" && record.orchestratorReasoning.endsWith(reasoning));
  assert.equal(record.agentId, "agent1");
  assert.ok(detector.status({ task: "T" }).loopReason?.endsWith(reasoning));
});

test("attempts are whole in the JSON report, and blockers count in any word", () => {
  const detector = new LoopDetector();
  const statuses = ["in-progress", "pending", "blocked"] as const;
  const attempts = statuses.map(
    (status, index): Event => ({ type: "attempt", task: "T7", status, blockers: ["no token"], session: `s${index}` }),
  );
  assert.equal(play(detector, attempts).recommendation, "unblock-authority");
  const { attempts: evidence, log } = detector.report({ task: "T7" }, "json");
  assert.deepEqual(evidence?.[2], {
    seq: 2,
    at: START + 2000,
    status: "blocked",
    blockers: ["no token"],
    session: "s2",
  });
  assert.deepEqual(log?.slice(1), ["Granting unblock authority for T7", "Loop recovery applied: unblock_authority"]);
  assert.deepEqual(detector.metrics().loops.detected, 0, "attempts are no failures");
});

test("names are shown in full, and longer ones than 512 characters are refused", () => {
  const detector = new LoopDetector({ phases: { maxVisitsDefault: 2 } });
  const phase = "p".repeat(200);
  const enter: Event = { type: "transition", task: "t", from: phase, to: phase };
  const [finding] = play(detector, [enter, enter, enter]).findings;
  assert.equal(finding?.message, `Phase '${phase}' exceeded max_visits (2) with 2 visits`);
  assert.throws(
    () => detector.record({ type: "transition", to: "p".repeat(513) }),
    (error: unknown) => error instanceof LoopwardenError && error.code === "invalid-event" && error.field === "to",
  );
});

test("calls are evidence of the task that they name", () => {
  const detector = new LoopDetector();
  const look = (task: string, page: string): Event => ({ type: "tool-call", tool: "look", task, args: { page } });
  const found = (task: string, output: string): Event => ({
    type: "tool-result",
    tool: "look",
    task,
    outcome: task === "A" ? "error" : "ok",
    output,
  });
  const levels = ["hinge", "window", "roof"].map((word) => {
    detector.record(look("A", "plan"));
    detector.record(look("B", word));
    assert.equal(detector.record(found("B", `the ${word} is there`)).level, "continue");
    return detector.record(found("A", "TypeError: the plan is not iterable")).level;
  });
  assert.deepEqual(levels, ["continue", "continue", "nudge"]);
  const counts = (task: string): Record<string, number> =>
    Object.fromEntries(detector.status({ task }).rules.map(({ rule, count }) => [rule, count]));
  assert.equal(counts("A")["repeated-error"], 3);
  assert.equal(counts("B")["repeated-error"], undefined);
  detector.reset({ task: "A" }, "task-completed");
  assert.deepEqual(counts("A"), {});
  assert.notDeepEqual(counts("B"), {});
});

test("the figures of failures are theirs alone, beside attempts of another task", () => {
  const detector = new LoopDetector();
  for (let index = 0; index < 4; index++) {
    detector.record(failure("A", "the page is blank"));
    detector.record({ type: "attempt", task: "B", status: "done", blockers: [], completedWork: ["laid tiles"] });
  }
  const { loops } = detector.metrics();
  assert.deepEqual([loops.detected, loops.gates, loops.tasks, loops.tasksWithLoops], [3, 1, 1, 1]);
});

test("similar requests, each artefact apart, the same tests among more", () => {
  const ask = (task: string, embedding: number[]): Event => ({
    type: "collaboration",
    task,
    from: "mason",
    to: "architect",
    request: `request ${embedding.length}`,
    embedding,
  });
  const detector = new LoopDetector();
  for (const [task, cosine] of [
    ["far", 0.84],
    ["near", 0.86],
  ] as const) {
    detector.record(ask(task, [1, 0]));
    detector.record(ask(task, [cosine, Math.sqrt(1 - cosine * cosine)]));
  }
  assert.deepEqual([detector.status({ task: "far" }).loopCount, detector.status({ task: "near" }).loopCount], [0, 1]);
  const rules = (events: readonly Event[]): string[] =>
    play(new LoopDetector(), events).findings.map(({ rule }) => rule);
  const swings = ["short", "long", "short", "long"].map(
    (mode, index): Event => ({
      type: "turn",
      task: "T",
      node: "writer",
      finalMessage: `draft ${index}`,
      structuredOutput: { mode },
    }),
  );
  assert.ok(rules(swings).includes("oscillation"));
  const grows = [10, 15, 20].flatMap((total, index): Event[] => [
    { type: "turn", task: "T", node: "writer", finalMessage: `draft ${index}` },
    { type: "progress", task: "T", tests: { failingIds: ["x", "y"], total } },
  ]);
  assert.ok(rules(grows).includes("unchanged-failures"));
});
