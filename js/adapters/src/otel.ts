// OpenTelemetry: a verdict becomes an event of the active span and is counted. The model's texts, the inputs and
// outputs of tools and anything derived from them (digests, signatures, messages, guidance) are never exported.
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

/** The options of {@link loopTelemetry}. */
export interface TelemetryOptions {
  /** The provider of the counters. Default: the global one, even if it is registered later. */
  meterProvider?: MeterProvider;
  /** The span to add events to when none is passed with the verdict. Default: the active one. */
  span?: (verdict: Verdict, event: AgentEvent | undefined) => Span | undefined;
  /** Attributes to add to every span event, such as your `gen_ai.agent.id` or `gen_ai.provider.name`. */
  attributes?: Attributes;
}

/** Reports a verdict: pass it as `onVerdict` to any adapter, or call it with a detector's verdict. */
export type Telemetry = (verdict: Verdict, event?: AgentEvent, span?: Span) => void;

/**
 * Returns a function that reports verdicts as span events and counts them. It never throws: failures go to
 * OpenTelemetry's `diag` logger. Verdicts at `continue` are ignored unless they would be higher outside shadow mode.
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
      // The global provider is a no-op until the program registers one, possibly later.
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

/** Counts a verdict. Runs, agents, tools and tasks are not attributes here: their cardinality is unbounded. */
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

/** The attributes of a verdict: its first finding in full, and the rules of all findings. */
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

/** The `gen_ai.operation.name` of each event type, according to the GenAI semantic conventions. */
const OPERATIONS: Partial<Record<AgentEvent["type"], string>> = {
  "tool-call": "execute_tool",
  "tool-result": "execute_tool",
  message: "chat",
  delta: "chat",
  turn: "invoke_agent",
  delivery: "invoke_agent",
};

/** The scope of an event without fields that are null. */
function present(event: AgentEvent | undefined): { run?: string; agent?: string; task?: string } {
  const { run, agent, task } = event ?? {};
  return { ...(run != null && { run }), ...(agent != null && { agent }), ...(task != null && { task }) };
}

/** The host's call id, as used in traces: guards prefix it with the round to make it unique. */
function hostsId(callId: string | null | undefined, round: string | null | undefined): string | undefined {
  const prefix = `${round}/`;
  return callId?.startsWith(prefix) ? callId.slice(prefix.length) : (callId ?? undefined);
}

function errorType(event: AgentEvent): string | undefined {
  if (event.type === "failure") return event.errorType ?? "_OTHER";
  if (event.type !== "tool-result" || event.outcome === "ok" || event.outcome === "not-executed") return undefined;
  return event.outcome === "error" ? "_OTHER" : event.outcome;
}

/** Maximum length of a string attribute, in UTF-16 code units: call ids can have any length. */
const LONGEST = 512;

/** Drops absent attributes and strips control characters from strings, since names are untrusted. */
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
