import type { Finding, HaltReason, Scope } from "loopwarden";

/** A halt as a plain object. */
export interface LoopHaltRecord {
  status: "loop";
  /** `gate` waits for a human's decision ({@link Guard.acknowledge}); `halt` is final until a human writes. */
  level: "gate" | "halt";
  /** The id of the rule that ended the run; `user-stop` if a human did. */
  rule: string;
  /** Absent at a gate. */
  haltReason?: HaltReason | undefined;
  message: string;
  /** The escalation report, in Markdown. */
  report: string;
  scope: Scope;
  /** The leading finding; absent if a human ended the run. */
  finding?: Finding | undefined;
}

/** Why Loopwarden ended a run: thrown, or passed as the reason. */
export class LoopHalt extends Error {
  override readonly name = "LoopHalt";
  /** Never `completed`. */
  readonly status = "loop";
  readonly level: "gate" | "halt";
  /** The id of the rule that ended the run; `user-stop` if a human did. */
  readonly rule: string;
  /** Absent at a gate. */
  readonly haltReason: HaltReason | undefined;
  /** The escalation report, in Markdown. */
  readonly report: string;
  readonly scope: Scope;
  /** The leading finding; absent if a human ended the run. */
  readonly finding: Finding | undefined;

  constructor(record: Omit<LoopHaltRecord, "status">) {
    super(record.message);
    this.level = record.level;
    this.rule = record.rule;
    this.haltReason = record.haltReason;
    this.report = record.report;
    this.scope = record.scope;
    this.finding = record.finding;
  }

  toJSON(): LoopHaltRecord {
    const { status, level, rule, haltReason, message, report, scope, finding } = this;
    return { status, level, rule, haltReason, message, report, scope, finding };
  }
}
