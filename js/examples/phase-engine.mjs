// A workflow engine that checks before an issue enters a phase. At a gate the issue gets a label and waits; once a
// human has removed the label, it goes on. Run it: node examples/phase-engine.mjs
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

  /** Moves an issue to a phase; returns whether it moved. */
  move(id, to) {
    const issue = this.issue(id);
    if (issue.labels.size > 0) return false; // It waits for a human.
    const transition = { type: "transition", task: id, from: issue.phase, to };
    const verdict = this.detector.check(transition);
    if (verdict.level === "block" || verdict.level === "gate" || verdict.level === "halt") {
      const [reason] = verdict.findings;
      issue.comments.push(reason?.message ?? verdict.level);
      if (verdict.label !== undefined) issue.labels.add(verdict.label);
      // A check records nothing, so record that it was obeyed: the metrics count this.
      if (reason) this.detector.record({ type: "host", kind: "hook-block", task: id, name: reason.rule });
      return false;
    }
    // Only actual transitions are recorded, so that a refused one does not count as a visit.
    this.detector.record(transition);
    issue.phase = to;
    return true;
  }

  /** Called when a human has fixed the problem and removes the label. */
  clear(id) {
    this.issue(id).labels.clear();
    this.detector.acknowledge({ task: id }, { decision: "continue" });
  }
}

/** An issue whose tests fail repeatedly until a human fixes the runner. */
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
