// The examples are JavaScript, so that they run on every Node that the package takes; here is what the tests use of them.

declare module "*/coder-verifier.mjs" {
  import type { CycleStatus, LoopRecord, Verdict } from "loopwarden";

  export interface Outcome {
    end: "tests pass" | "given up" | Verdict["recommendation"];
    shown: string[];
    halted: Extract<LoopRecord, { event: "loop.halted" }> | undefined;
    cycle: CycleStatus | undefined;
  }
  export function run(laps: Iterable<{ patch: string; failing: string[] }>): Outcome;
  export function story(): { converging: Outcome; stalled: Outcome };
}

declare module "*/failure-handler.mjs" {
  import type { LoopDetector, LoopRecord } from "loopwarden";

  export function story(): Promise<{
    handler: { detector: LoopDetector; log: LoopRecord[] };
    told: string[];
    questions: string[];
  }>;
}

declare module "*/orchestrator-loop.mjs" {
  import type { LoopDetector, LoopRecord } from "loopwarden";

  export function story(): {
    orchestrator: {
      detector: LoopDetector;
      recoveries: { task: string; topic: string; text: string }[];
      log: LoopRecord[];
    };
    executed: string[];
  };
}

declare module "*/phase-engine.mjs" {
  import type { LoopDetector } from "loopwarden";

  export function story(): {
    engine: {
      detector: LoopDetector;
      issue(id: string): { phase: string | null; labels: Set<string>; comments: string[] };
    };
    told: string[];
  };
}
