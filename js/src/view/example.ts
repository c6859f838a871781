// Example runs for users who have none: an agent whose edit fails repeatedly, and two agents that pass a fix back and
// forth without progress.

import type { Config, Event } from "../generated/types.ts";
import type { Trace } from "./model.ts";

const START = Date.UTC(2026, 2, 12, 9, 30);

/** The most common loop: an edit that cannot work, retried with slight variations. */
export function example(): Trace {
  const events: Event[] = [];
  let clock = START;
  const tell = (event: Event, seconds: number) => {
    clock += seconds * 1000;
    events.push({ ...event, at: clock });
  };
  let calls = 0;
  const call = (tool: string, args: unknown, output: string, ok = true) => {
    const callId = `call-${++calls}`;
    tell({ type: "tool-call", tool, args, callId, round: `${calls}` }, 3);
    tell({ type: "tool-result", tool, callId, outcome: ok ? "ok" : "error", output, round: `${calls}` }, 2);
  };
  const says = (text: string) => tell({ type: "message", role: "assistant", text, round: `${calls + 1}` }, 2);
  tell(
    { type: "message", role: "user", text: "Totals over 999 lose their thousands separator on invoices. Fix it." },
    0,
  );
  says("I will look at how the total is written.");
  call("grep", { pattern: "total", path: "src/invoice" }, "src/invoice/print.py:41: return f'{total:.2f}'");
  call(
    "read_file",
    { path: "src/invoice/print.py" },
    "38 def amount(total):\n39     if total is None:\n40         return ''\n41     return f'{total:.2f}'",
  );
  says("The format needs a comma.");
  const tries = [
    ["return f'{total:.2f}'", "return f'{total:,.2f}'"],
    ["    return f'{total:.2f}'\n", "    return f'{total:,.2f}'\n"],
    ['return f"{total:.2f}"', 'return f"{total:,.2f}"'],
    ["return f'{ total:.2f }'", "return f'{ total:,.2f }'"],
    ["return f'{total:.2f}' ", "return f'{total:,.2f}' "],
    ["return '{:.2f}'.format(total)", "return '{:,.2f}'.format(total)"],
    ["\treturn f'{total:.2f}'", "\treturn f'{total:,.2f}'"],
    ["return f'{total:.2f}';", "return f'{total:,.2f}';"],
    ["return  f'{total:.2f}'", "return  f'{total:,.2f}'"],
  ];
  for (const [index, [before, after]] of tries.entries()) {
    if (index > 0)
      says(
        ["Let me match the line exactly.", "Perhaps the quotes differ.", "Perhaps it is the white space."][index % 3] ??
          "",
      );
    call(
      "edit_file",
      { path: "src/invoice/print.py", old: before, new: after },
      "The text to replace was not found in src/invoice/print.py.",
      false,
    );
  }
  return { name: "example: an edit that cannot work", format: "trace", events, lines: [], errors: [], config: {} };
}

/** Two agents that pass a fix back and forth: shows everything that the page can display of a workflow. */
export function workflow(): Trace {
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
    // In this workflow, alternating between implementing and verifying is normal.
    phases: { cycleDetectionEnabled: false },
  };
  return { name: "example: coder and verifier", format: "trace", events, lines: [], errors: [], config };
}
