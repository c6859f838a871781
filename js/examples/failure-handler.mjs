// A handler of failed attempts: it counts the loops of each task, asks a judge if counting is not enough, stops at the
// gate and starts over once a human has answered. Run it: node examples/failure-handler.mjs
import { fileURLToPath } from "node:url";
import { LoopDetector } from "loopwarden";

export class FailureHandler {
  detector = new LoopDetector({ failures: { gateThreshold: 3 } });
  log = [];
  #evaluate;
  #ask;

  /**
   * @param {(question: string) => Promise<object>} evaluate stands for your judge, often a small model: it answers the
   *   question, which contains signatures and no payloads, with the fields of an `evaluation`.
   * @param {(report: object) => Promise<string | undefined>} ask stands for your human, who reads the report and
   * returns
   *   guidance, or nothing to abandon the task.
   */
  constructor(evaluate, ask) {
    this.#evaluate = evaluate;
    this.#ask = ask;
  }

  /** Decides what to do after a failure: retry, with guidance if there is some, wait first, or stop. */
  async handle(failure) {
    const { task, at } = failure;
    let verdict = this.detector.record({ type: "failure", ...failure });
    this.log.push(...(verdict.records ?? []));
    if (verdict.needsEvaluation) {
      const answer = await this.#evaluate(verdict.question ?? "");
      verdict = this.detector.record({ type: "evaluation", task, at, ...answer });
      this.log.push(...(verdict.records ?? []));
    }
    if (verdict.level === "gate") {
      const guidance = await this.#ask(this.detector.report({ task }));
      if (guidance === undefined) return { action: "stop" };
      // The human has changed the context, so the old count no longer means anything.
      this.log.push(...this.detector.reset({ task }, "human-intervention"));
      return { action: "retry", guidance };
    }
    if (verdict.level === "halt") return { action: "stop" };
    // Not the agent's fault and not counted: a dependency is down.
    if (verdict.recommendation === "retry-with-backoff") return { action: "wait" };
    return { action: "retry", ...(verdict.guidance !== undefined && { guidance: verdict.guidance }) };
  }
}

/**
 * A login that does not improve: the same error twice, a new one that the judge recognises as a loop, and that again.
 */
export async function story() {
  const [questions, told] = [[], []];
  const handler = new FailureHandler(
    async (question) => {
      const verdict = questions.push(question) === 2 ? "stalled" : "progressing";
      return { verdict, confidence: 900, reasoning: verdict === "stalled" ? "Another way to the same dead end" : null };
    },
    async () => "Sessions live in src/store, not in src/auth",
  );
  const [missing, undefinedToken] = ["Cannot find module './session'", "TypeError: token is undefined"];
  const failures = [missing, missing, undefinedToken, undefinedToken, "HTTP 503 Service Unavailable"];
  for (const [index, message] of failures.entries()) {
    const agent = index < 4 ? "backend_dev_1" : "backend_dev_2";
    const at = 1_762_000_000_000 + index * 60_000;
    const { action, guidance } = await handler.handle({ task: "login", agent, message, location: "src/auth.ts:4", at });
    const { loopCount } = handler.detector.status({ task: "login" });
    told.push(`${message}: ${action}, loops ${loopCount}${guidance === undefined ? "" : ` (${guidance})`}`);
  }
  return { handler, told, questions };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { handler, told } = await story();
  for (const line of told) console.log(line);
  for (const record of handler.log) console.log(JSON.stringify(record));
}
