// A workflow engine that asks before an issue enters a phase. At a gate the issue gets a label and waits; when a human has
// taken the label off, it goes on. Run it: node examples/phase-engine.mjs
import { fileURLToPath } from "node:url";
import { LoopDetector } from "loopwarden";

export class PhaseEngine {
  detector = new LoopDetector({
    phases: { phases: { test: { maxVisits: 5 } }, hitlLabel: "hitl:loop-prevention" },
  });
  #issues = new Map();

  issue(id) {
    const issue = this.#issues.get(id) ?? { phase: null, labels: new Set(), comments: [] };
    this.#issues.set(id, issue);
    return issue;
  }

  /** Moves an issue to a phase. Says whether it is there now. */
  move(id, to) {
    const issue = this.issue(id);
    if (issue.labels.size > 0) return false; // It waits for a human.
    const transition = { type: "transition", task: id, from: issue.phase, to };
    const verdict = this.detector.check(transition);
    if (verdict.level === "block" || verdict.level === "gate" || verdict.level === "halt") {
      const [reason] = verdict.findings;
      issue.comments.push(reason?.message ?? verdict.level);
      if (verdict.label !== undefined) issue.labels.add(verdict.label);
      // A check changes nothing: that it was obeyed is told, and the metrics count it.
      if (reason) this.detector.record({ type: "host", kind: "hook-block", task: id, name: reason.rule });
      return false;
    }
    // Only what happens is recorded, so that a refused transition is no visit.
    this.detector.record(transition);
    issue.phase = to;
    return true;
  }

  /** A human has looked at the issue, mended what was wrong, and takes the label off. */
  clear(id) {
    this.issue(id).labels.clear();
    this.detector.acknowledge({ task: id }, { decision: "continue" });
  }
}

/** An issue whose tests fail again and again, until a human mends the runner. */
export function story() {
  const engine = new PhaseEngine();
  const told = [];
  const move = (id, to) => {
    const [moved, { labels }] = [engine.move(id, to), engine.issue(id)];
    told.push(`${id} → ${to}: ${moved ? "ok" : `waits, ${[...labels].join(", ")}`}`);
  };
  for (const phase of ["implement", "test", "test", "test", "test", "test", "test", "deploy"]) move("Issue-123", phase);
  move("Issue-124", "test"); // Other issues are not held up.
  engine.clear("Issue-123");
  for (const phase of ["test", "deploy"]) move("Issue-123", phase);
  return { engine, told };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { engine, told } = story();
  for (const line of told) console.log(line);
  console.log(engine.issue("Issue-123").comments, engine.detector.status().phases);
  console.log("refused:", engine.detector.metrics().phaseVisitsBlocked);
}
