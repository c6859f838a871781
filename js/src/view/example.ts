// A run to play with, for people who have none at hand: two agents hand a fix to and fro and get no further.

import type { Config, Event } from "../generated/types.ts";
import type { Trace } from "./model.ts";

const START = Date.UTC(2026, 2, 12, 9, 30);

/** The example of the playground. */
export function example(): Trace {
  const events: Event[] = [];
  let clock = START;
  const tell = (event: Event, seconds = 4) => {
    clock += seconds * 1000;
    events.push({ task: "fix the rounding", ...event, at: clock });
  };
  const work = (agent: string, step: number, tool: string, args: unknown, output: string, ok = true) => {
    const callId = `${agent}-${events.length}`;
    tell({ type: "tool-call", agent, tool, args, callId, round: `${agent}-${step}` });
    tell(
      { type: "tool-result", agent, tool, callId, outcome: ok ? "ok" : "error", output, round: `${agent}-${step}` },
      6,
    );
  };
  const failing = [7, 4, 2, 2, 2];
  for (const [lap, count] of failing.entries()) {
    const [from, phase] = lap === 0 ? [undefined, "implement"] : ["verify", "implement"];
    tell({ type: "transition", agent: "coder", ...(from !== undefined && { from }), to: phase });
    const patch = lap < 2 ? `patch ${lap + 1}` : "round half up";
    work("coder", lap, "edit_file", { path: "src/money.ts", change: patch }, `src/money.ts: ${patch}`);
    tell({
      type: "turn",
      agent: "coder",
      node: "coder",
      finalMessage: `Done: ${patch}.`,
      tokens: 1800,
      durationMs: 9000,
    });
    tell({ type: "delivery", agent: "coder", from: "coder", to: "verifier" });
    tell({ type: "transition", agent: "verifier", from: "implement", to: "verify" });
    const names = Array.from({ length: count }, (_, index) => `rounds case ${index + 1}`);
    work(
      "verifier",
      lap,
      "run_tests",
      { suite: "money" },
      `${count} failed: ${names.join(", ")} in ${41 + lap * 3} ms`,
      false,
    );
    tell({
      type: "progress",
      agent: "verifier",
      tests: { failing: count, total: 40, failingIds: names },
      diff: patch,
    });
    tell({
      type: "turn",
      agent: "verifier",
      node: "verifier",
      finalMessage: `${count} tests fail.`,
      tokens: 900,
      durationMs: 7000,
    });
    tell({ type: "delivery", agent: "verifier", from: "verifier", to: "coder" });
  }
  const config: Config = {
    graph: {
      nodes: ["coder", "verifier"],
      edges: [
        { from: "coder", to: "verifier" },
        { from: "verifier", to: "coder" },
      ],
    },
    // Implementing and verifying in turns is how this workflow works.
    phases: { cycleDetectionEnabled: false },
  };
  return { name: "example: coder and verifier", format: "trace", events, lines: [], errors: [], config };
}
