import type { Finding, HaltReason, Scope } from "loopwarden";

/** A halt as data. */
export interface LoopHaltRecord {
  status: "loop";
  /** `gate` asks a human, who answers with {@link Guard.acknowledge}; `halt` is final until a human writes. */
  level: "gate" | "halt";
  /** The rule that ended the run; `user-stop` where a human did. */
  rule: string;
  /** Absent at a gate. */
  haltReason?: HaltReason | undefined;
  message: string;
  /** The escalation report, in Markdown. */
  report: string;
  scope: Scope;
  /** The finding that led; absent where a human ended the run. */
  finding?: Finding | undefined;
}

/** Why a run ended: thrown, or handed over as a reason, and never "completed". */
export class LoopHalt extends Error {
  override readonly name = "LoopHalt";
  /** Never `completed`. */
  readonly status = "loop";
  readonly level: "gate" | "halt";
  /** The rule that ended the run; `user-stop` where a human did. */
  readonly rule: string;
  /** Absent at a gate. */
  readonly haltReason: HaltReason | undefined;
  /** The escalation report, in Markdown. */
  readonly report: string;
  readonly scope: Scope;
  /** The finding that led; absent where a human ended the run. */
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
