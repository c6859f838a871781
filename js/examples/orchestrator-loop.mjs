// An orchestrator that works through a plan. It checks before a task is executed, recovers if the task has been
// looping, and records the outcome of every attempt. Run it: node examples/orchestrator-loop.mjs
import { fileURLToPath } from "node:url";
import { LoopDetector } from "loopwarden";

export class Orchestrator {
  detector = new LoopDetector({ attempts: { preset: "balanced" } });
  recoveries = [];
  log = [];
  #execute;
  #latest = new Map();
  #context = new Map();
  #left = new Set();

  /**
   * @param {(task: string, context: string | undefined) => { status: string }} execute stands for your agent: it works
   * on a
   *   task, with the text of the recovery as context, and returns the outcome as the fields of an `attempt`.
   */
  constructor(execute) {
    this.#execute = execute;
  }

  /** Processes a task; returns whether it was executed. */
  tick(task, at) {
    if (this.#left.has(task)) return false;
    // Nothing has changed since the last attempt, so this one is expected to end the same way.
    const expected = this.#latest.get(task) ?? { status: "pending" };
    const before = this.detector.check({ type: "attempt", task, at, ...expected });
    if (before.recovery) {
      const { topic, text } = before.recovery;
      this.recoveries.push({ task, topic, text });
      // Permission to unblock, or advice to try something else: the agent gets it for the rest of the task.
      this.#context.set(task, text);
      if (before.recommendation === "force-next" || before.recommendation === "escalate") {
        this.#left.add(task); // Done, set aside, or a human's from here on: go and notify one.
        return false;
      }
    }
    const outcome = this.#execute(task, this.#context.get(task));
    this.#latest.set(task, outcome);
    const after = this.detector.record({ type: "attempt", task, at, session: `session_${at}`, ...outcome });
    this.log.push(...(after.records ?? []));
    return true;
  }
}

/**
 * Three tasks: one that the planner proposes although it is done, one that recovers with permission, one that nothing
 * helps.
 */
export function story() {
  const orchestrator = new Orchestrator((task, context) => {
    if (task === "T3.4.2") return { status: "done", completedWork: ["Implemented dashboard.tsx"] };
    if (task === "T6.2.3") return { status: "blocked", blockers: ["missing auth token"] };
    return context?.startsWith("UNBLOCK AUTHORITY GRANTED")
      ? { status: "done", completedWork: ["Worked around the critic, noted as technical debt"] }
      : { status: "blocked", blockers: ["critic:leakage unavailable"] };
  });
  const plan = ["T3.4.2", "T7.1.2", "T6.2.3"].flatMap((task) => Array(task === "T7.1.2" ? 3 : 7).fill(task));
  const executed = plan.filter((task, minute) => orchestrator.tick(task, 1_760_825_000_000 + minute * 60_000));
  return { orchestrator, executed };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { orchestrator, executed } = story();
  console.log(`Executed: ${executed.join(", ")}\n`);
  for (const { text } of orchestrator.recoveries) console.log(`${text}\n`);
  console.log(orchestrator.detector.status().attempts);
}
