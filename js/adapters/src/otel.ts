// OpenTelemetry: a verdict becomes an event of the span that is active, and is counted. What the model wrote, what tools
// were given and said, and anything made of it (digests, signatures, messages, guidance) never leaves here.
import {
  type Attributes,
  type AttributeValue,
  type Counter,
  diag,
  type MeterProvider,
  metrics,
  type Span,
  trace,
} from "@opentelemetry/api";
import type { AgentEvent, Verdict } from "loopwarden";
import { bare } from "../../src/cli/harmless.ts";

export interface TelemetryOptions {
  /** Who counts. Default the global provider, whenever it was registered. */
  meterProvider?: MeterProvider;
  /** The span that events go to, where the verdict comes without one. Default the active one. */
  span?: (verdict: Verdict, event: AgentEvent | undefined) => Span | undefined;
  /** Attributes of every span event, such as a `gen_ai.agent.id` or `gen_ai.provider.name` of your own. */
  attributes?: Attributes;
}

/** Reports a verdict; as `onVerdict` of any adapter, or called with what a detector said. */
export type Telemetry = (verdict: Verdict, event?: AgentEvent, span?: Span) => void;

/**
 * Makes a function that reports verdicts as span events and counts them. It never throws: what fails goes to the `diag`
 * logger of OpenTelemetry, and a verdict that asks for nothing, in shadow mode neither, is passed over.
 *
 * @example
 * const guard = createLoopGuard({ onVerdict: loopTelemetry() });
 */
export function loopTelemetry(options: TelemetryOptions = {}): Telemetry {
  let counted: Counters | undefined;
  return (verdict, event, span) => {
    try {
      const wouldBe = verdict.wouldBe ?? "continue";
      if (verdict.level === "continue" && wouldBe === "continue") return;
      const provider = options.meterProvider ?? metrics.getMeterProvider();
      // The global provider stays a silent one until the program registers its own, which may be later.
      if (counted?.provider !== provider) counted = counters(provider);
      count(counted, verdict);
      const target = span ?? (options.span ? options.span(verdict, event) : trace.getActiveSpan());
      if (!target?.isRecording()) return;
      target.addEvent("loopwarden.verdict", { ...options.attributes, ...described(verdict, event) });
    } catch (cause) {
      complain(cause);
    }
  };
}

interface Counters {
  provider: MeterProvider;
  verdicts: Counter;
  findings: Counter;
}

function counters(provider: MeterProvider): Counters {
  const meter = provider.getMeter("loopwarden");
  return {
    provider,
    verdicts: meter.createCounter("loopwarden.verdicts", {
      description: "Verdicts that asked for something, or would have",
      unit: "{verdict}",
    }),
    findings: meter.createCounter("loopwarden.findings", {
      description: "Loops that rules found in a verdict",
      unit: "{finding}",
    }),
  };
}

/** Runs, agents, tools and tasks are no dimensions of a counter: there is no end to them. */
function count({ verdicts, findings }: Counters, verdict: Verdict): void {
  const shared = { "loopwarden.level": verdict.level, "loopwarden.would_be_level": verdict.wouldBe };
  verdicts.add(1, {
    ...told({
      ...shared,
      "loopwarden.rule": verdict.findings[0]?.rule,
      "loopwarden.halt_reason": verdict.haltReason,
    }),
  });
  for (const { rule, kind } of verdict.findings) {
    findings.add(1, told({ ...shared, "loopwarden.rule": rule, "loopwarden.kind": kind }));
  }
}

/** What is said of a verdict: its strongest finding in full, the others by their rules. */
function described(verdict: Verdict, event: AgentEvent | undefined): Attributes {
  const { findings, level, wouldBe, haltReason, recommendation, seq } = verdict;
  const [finding] = findings;
  const scope = { ...present(event), ...finding?.scope };
  return told({
    "gen_ai.operation.name": event && OPERATIONS[event.type],
    "gen_ai.conversation.id": scope.run,
    "gen_ai.agent.name": scope.agent,
    "gen_ai.tool.name": event && "tool" in event ? event.tool : undefined,
    "gen_ai.tool.call.id": event && "callId" in event ? hostsId(event.callId, event.round) : undefined,
    "error.type": event && errorType(event),
    "loopwarden.level": level,
    "loopwarden.would_be_level": wouldBe,
    "loopwarden.halt_reason": haltReason,
    "loopwarden.recommendation": recommendation,
    "loopwarden.seq": seq,
    "loopwarden.task": scope.task,
    "loopwarden.rule": finding?.rule,
    "loopwarden.rules": findings.length > 1 ? findings.map(({ rule }) => rule) : undefined,
    "loopwarden.kind": finding?.kind,
    "loopwarden.count": finding?.count,
    "loopwarden.threshold": finding?.threshold,
    "loopwarden.period": finding?.period,
    "loopwarden.confidence": finding?.confidence,
    "loopwarden.onset_seq": finding?.onsetSeq,
    "loopwarden.wasted.events": finding?.wasted.events,
    "loopwarden.wasted.tokens": finding?.wasted.tokens,
    "loopwarden.wasted.milliseconds": finding?.wasted.milliseconds,
    "loopwarden.wasted.cost_micros": finding?.wasted.costMicros,
  });
}

/** The operation an event is a part of, in the words of the GenAI conventions. */
const OPERATIONS: Partial<Record<AgentEvent["type"], string>> = {
  "tool-call": "execute_tool",
  "tool-result": "execute_tool",
  message: "chat",
  delta: "chat",
  turn: "invoke_agent",
  delivery: "invoke_agent",
};

/** The scope of an event; a scope that JSON spelled as null is none. */
function present(event: AgentEvent | undefined): { run?: string; agent?: string; task?: string } {
  const { run, agent, task } = event ?? {};
  return { ...(run != null && { run }), ...(agent != null && { agent }), ...(task != null && { task }) };
}

/** Guards put the round before a call's id, which is not unique otherwise; a trace knows the host's own id. */
function hostsId(callId: string | null | undefined, round: string | null | undefined): string | undefined {
  const prefix = `${round}/`;
  return callId?.startsWith(prefix) ? callId.slice(prefix.length) : (callId ?? undefined);
}

function errorType(event: AgentEvent): string | undefined {
  if (event.type === "failure") return event.errorType ?? "_OTHER";
  if (event.type !== "tool-result" || event.outcome === "ok" || event.outcome === "not-executed") return undefined;
  return event.outcome === "error" ? "_OTHER" : event.outcome;
}

/** Units of a text, at most: names that are kept have no more, ids of calls may be of any length. */
const LONGEST = 512;

/** Without what is absent, and with nothing in a text that whoever prints it would obey: names are strangers' words. */
function told(attributes: Record<string, AttributeValue | null | undefined>): Attributes {
  const entries = Object.entries(attributes).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === "string" ? harmless(value) : value]),
  ) as Attributes;
}

const harmless = (text: string): string => bare(text.slice(0, LONGEST)).replaceAll("\n", " ");

function complain(cause: unknown): void {
  try {
    diag.warn("[Loopwarden] could not report a verdict", cause);
  } catch {
    // A logger that throws must not stop the agent either.
  }
}
