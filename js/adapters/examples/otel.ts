// What a loop looks like in OpenTelemetry: an event of the tool's span, and two counters.
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { LoopDetector } from "loopwarden";
import { loopTelemetry } from "loopwarden/otel";

// Your own setup of OpenTelemetry; here everything stays in memory.
const spans = new InMemorySpanExporter();
const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
const numbers = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter: numbers });
const meterProvider = new MeterProvider({ readers: [reader] });

export async function story(): Promise<string[]> {
  const report = loopTelemetry({ meterProvider });
  const detector = new LoopDetector();
  const tracer = tracers.getTracer("agent");
  for (let turn = 1; turn <= 4; turn += 1) {
    const span = tracer.startSpan("execute_tool search");
    const call = { run: "chat-7", agent: "researcher", tool: "search", callId: `call-${turn}`, round: `${turn}` };
    const events = [
      { ...call, type: "tool-call", args: { query: "oauth2" } },
      { ...call, type: "tool-result", outcome: "ok", output: "no results" },
    ] as const;
    // Without a span, the active one is used; with an adapter, pass `onVerdict: loopTelemetry()`.
    for (const event of events) report(detector.record(event), event, span);
    span.end();
  }
  await meterProvider.forceFlush();
  const told = spans
    .getFinishedSpans()
    .flatMap(({ name, events }) =>
      events.map((event) => `${name}: ${event.name} ${JSON.stringify(event.attributes, null, 2)}`),
    );
  const [exported] = numbers.getMetrics().slice(-1);
  for (const { descriptor, dataPoints } of exported?.scopeMetrics[0]?.metrics ?? []) {
    for (const { attributes, value } of dataPoints) {
      told.push(`${descriptor.name} ${JSON.stringify(attributes)} = ${String(value)}`);
    }
  }
  await meterProvider.shutdown();
  return told;
}

if (process.argv[1] === import.meta.filename) for (const line of await story()) console.log(line);
