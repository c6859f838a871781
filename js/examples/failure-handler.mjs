// A handler of failed attempts: it counts the loops of each task, asks a judge where counting is not enough, stops at the
// gate and starts over when a human has answered. Run it: node examples/failure-handler.mjs
import { fileURLToPath } from "node:url";
import { LoopDetector } from "loopwarden";

export class FailureHandler {
  detector = new LoopDetector({ failures: { gateThreshold: 3 } });
  log = [];
  #evaluate;
  #ask;

  /**
   * @param {(question: string) => Promise<object>} evaluate what stands for your judge, often a small model: it answers
   *   the question, which holds signatures and no payloads, with the fields of an `evaluation`.
   * @param {(report: object) => Promise<string | undefined>} ask what stands for your human: reads the report and gives
   *   guidance, or nothing to leave the task alone.
   */
  constructor(evaluate, ask) {
    this.#evaluate = evaluate;
    this.#ask = ask;
  }

  /** What to do after a failure: try again, with guidance where there is some, wait before that, or stop. */
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
      // The human has changed the context, so that the old count says nothing any more.
      this.log.push(...this.detector.reset({ task }, "human-intervention"));
      return { action: "retry", guidance };
    }
    if (verdict.level === "halt") return { action: "stop" };
    // Not the agent's fault, and not counted: something it depends on is down.
    if (verdict.recommendation === "retry-with-backoff") return { action: "wait" };
    return { action: "retry", ...(verdict.guidance !== undefined && { guidance: verdict.guidance }) };
  }
}

/** A login that does not get better: twice the same error, a new one that the judge sees through, and that one again. */
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
