// A coder and a verifier that hand work to each other: the host records what they do and shows their progress, until
// the tests pass, a budget is spent or the loop stalls. Run it: node examples/coder-verifier.mjs
import { fileURLToPath } from "node:url";
import { LoopDetector } from "loopwarden";

/**
 * @param {Iterable<{ patch: string, failing: string[] }>} laps stands for your agents: the patch of each lap, and the
 * tests
 *   that the verifier saw fail.
 * @returns why the loop ended, what a user interface shows after every lap, and the record to log if it was halted.
 */
export function run(laps) {
  const detector = new LoopDetector({
    onStall: "switch-to-interactive",
    budgets: { maxCycleIterations: 8, maxTurnsPerNode: 10 },
  });
  detector.declareGraph(
    {},
    {
      nodes: [{ id: "coder", driver: true }, "verifier"],
      edges: [
        { from: "coder", to: "verifier" },
        { from: "verifier", to: "coder" },
      ],
    },
  );
  const cycle = () => detector.status().cycles?.[0];
  const shown = [];
  for (const { patch, failing } of laps) {
    const found = failing.length === 0 ? "All tests pass" : `Still failing: ${failing.join(", ")}`;
    const events = [
      { type: "turn", node: "coder", finalMessage: patch },
      { type: "delivery", from: "coder", to: "verifier" },
      { type: "turn", node: "verifier", structuredOutput: { found, patch } },
      { type: "progress", diff: patch, tests: { failing: failing.length, failingIds: failing } },
      ...(failing.length === 0 ? [] : [{ type: "delivery", from: "verifier", to: "coder" }]),
    ];
    for (const event of events) {
      const verdict = detector.record(event);
      if (verdict.level === "block" || verdict.level === "gate" || verdict.level === "halt") {
        const halted = verdict.records?.find((record) => record.event === "loop.halted");
        return { end: verdict.recommendation, shown, halted, cycle: cycle() };
      }
    }
    const { badge = "", trend = "" } = cycle() ?? {};
    shown.push(`${badge}: ${trend}`);
    if (failing.length === 0) return { end: "tests pass", shown, halted: undefined, cycle: cycle() };
  }
  return { end: "given up", shown, halted: undefined, cycle: cycle() };
}

const tests = ["login", "logout", "refresh", "expiry", "roles", "audit", "lockout"];
/** Laps after which these numbers of tests fail, each with a different patch. */
const lapsTo = (counts) =>
  counts.map((count, lap) => ({ patch: `+ const attempt = ${lap};`, failing: tests.slice(0, count) }));

/** One pair that succeeds, and one that gets stuck at two failing tests. */
export const story = () => ({
  converging: run(lapsTo([7, 4, 2, 0])),
  stalled: run(lapsTo([7, 4, 2, 2, 2, 2, 2])),
});

if (process.argv[1] === fileURLToPath(import.meta.url)) console.dir(story(), { depth: null });
