// Measures the start: importing the package, a first verdict, one hook of the command. Each sample is a separate
// process, interleaved with Node alone, whose time is subtracted.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";

const SAMPLES = 15;
const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const entry = JSON.stringify(new URL("../dist/index.node.js", import.meta.url).href);
const script = (text) => ["--input-type=module", "--eval", text];

const hook = {
  // Hosts use UUIDs as session ids.
  session_id: "0190f6a2-7b1c-7d3e-9f00-1234567890ab",
  hook_event_name: "PreToolUse",
  tool_name: "Read",
  tool_input: { file_path: "src/a.ts" },
  tool_use_id: "toolu_1",
  cwd: "/",
  transcript_path: "",
};

/** The duration of a process in milliseconds. */
function started(args, input = "") {
  const begin = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { input });
  if (status !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
  return performance.now() - begin;
}

/** The times of each start in nanoseconds, over Node's own. */
export function starts() {
  const state = mkdtempSync(join(tmpdir(), "loopwarden-bench-"));
  const first = 'new LoopDetector().record({ type: "output", text: "hello" })';
  const commands = {
    "npm: import of the package, over Node's own start": () => started(script(`import ${entry};`)),
    "npm: import and first verdict, over Node's own start": () =>
      started(script(`import { LoopDetector } from ${entry}; ${first};`)),
    "npm: one hook of the command, over Node's own start": () =>
      started([cli, "hook", "--state", state], JSON.stringify(hook)),
  };
  const times = Object.fromEntries(Object.keys(commands).map((name) => [name, []]));
  try {
    for (let round = -1; round < SAMPLES; round++) {
      const node = started(script(""));
      for (const [name, run] of Object.entries(commands)) {
        const taken = run() - node;
        // The first round brings the files into memory.
        if (round >= 0) times[name].push(Math.max(0, taken) * 1e6);
      }
    }
  } finally {
    rmSync(state, { recursive: true });
  }
  return times;
}
