// Describes events as text. Nothing is escaped here: the place of display decides how.

import type { Event, Wasted } from "../generated/types.ts";

/** A short title of an event: its tool, outcome or kind. */
export function title(event: Event): string {
  switch (event.type) {
    case "tool-call":
      return event.tool;
    case "tool-result":
      return event.outcome === "ok" ? "result" : event.outcome;
    case "message":
      return event.channel === "reasoning" ? "thinks" : event.role;
    case "host":
      return event.kind;
    case "custom":
      return event.name;
    case "turn":
      return `turn of ${event.node}`;
    default:
      return event.type;
  }
}

/** The content of an event. */
export function summary(event: Event): string {
  switch (event.type) {
    case "tool-call":
      return event.rawArgs ?? listed(event.args);
    case "tool-result":
      return plain(event.output) || "(no output)";
    case "message":
    case "delta":
    case "output":
      return event.text;
    case "failure":
      return event.message;
    case "collaboration":
      return `${event.from} → ${event.to}: ${event.request}`;
    case "delivery":
      return `${event.from} → ${event.to}`;
    case "transition":
      return `${event.from ?? "start"} → ${event.to}`;
    case "turn":
      return event.finalMessage ?? plain(event.structuredOutput);
    case "attempt":
      return [event.task ?? "", event.status, ...(event.blockers ?? [])].filter((part) => part !== "").join(" · ");
    case "progress": {
      const { failing, total } = event.tests ?? {};
      const tests = failing == null ? "" : `${failing}${total == null ? "" : ` of ${total}`} tests fail`;
      const list = event.checklist == null ? "" : `${event.checklist.done} of ${event.checklist.total} items done`;
      return [tests, list].filter((part) => part !== "").join(", ") || rest(event);
    }
    case "evaluation":
      return `${event.verdict}${event.reasoning ? `: ${event.reasoning}` : ""}`;
    case "host":
      return [event.name, event.detail].filter((part) => part != null).join(": ");
    case "custom":
      return `${event.key}${event.outcome == null ? "" : ` → ${event.outcome}`}`;
    default:
      return rest(event);
  }
}

/** An event on one line: a call with its arguments, a result with its outcome, otherwise title and content. */
export function line(event: Event): string {
  if (event.type === "tool-call") return `${event.tool}(${event.rawArgs ?? listed(event.args, 32)})`;
  if (event.type === "tool-result") return outcome(event);
  const said = summary(event);
  return said === "" ? title(event) : `${title(event)}: ${said}`;
}

/** The outcome and output of a result. */
export function outcome(event: Event & { type: "tool-result" }): string {
  const output = plain(event.output);
  // A command that ran and failed is only recognisable by its exit code.
  const came = event.outcome === "ok" && event.exitCode ? `exit ${event.exitCode}` : event.outcome;
  return output === "" ? came : `${came}: ${output}`;
}

/** The content of an event in the form for comparisons. */
export function said(event: Event): string {
  return event.type === "tool-result" ? plain(event.output) : summary(event);
}

/** Whether an event is a failure. */
export const failed = (event: Event): boolean =>
  (event.type === "tool-result" && (event.outcome !== "ok" || Boolean(event.exitCode))) || event.type === "failure";

/** The arguments of a call as a list, each of at most `width` characters; long paths are shortened at the beginning. */
export function listed(args: unknown, width: number = Number.POSITIVE_INFINITY): string {
  if (args === undefined || args === null) return "";
  if (typeof args !== "object" || Array.isArray(args)) return short(plain(args), width * 3);
  return Object.entries(args)
    .map(([name, value]) => {
      const text = plain(value);
      const isPath = text.length > width && /^[^\s"']*[/\\][^\s"']*$/.test(text);
      return `${name}: ${isPath ? `…${text.slice(1 - width)}` : width === Number.POSITIVE_INFINITY ? text : short(text, width)}`;
    })
    .join(", ");
}

/** A payload as text. */
export function plain(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** A text on one line of at most `width` characters, with white space and control characters collapsed to spaces. */
export function short(text: string, width: number): string {
  const line = (Number.isFinite(width) ? text.slice(0, width * 4) : text)
    .replaceAll(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .trim();
  const chars = Array.from(line);
  return chars.length > width ? `${chars.slice(0, width - 1).join("")}…` : chars.join("");
}

function rest(event: Event): string {
  const { type: _, at: __, ...fields } = event;
  return Object.keys(fields).length === 0 ? "" : JSON.stringify(fields);
}

/** A number with its unit: `1 event`, `12,000 events`. */
export const number = (count: number, unit: string): string =>
  `${count.toLocaleString("en")} ${unit}${count === 1 ? "" : "s"}`;

/** A duration as text, truncated rather than rounded, as in reports. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.floor(milliseconds)} ms`;
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/**
 * Millionths of a currency unit as text, truncated rather than rounded, as in reports, so that figures always agree.
 */
export function money(micros: number): string {
  const units = Math.floor(micros / 1e6).toLocaleString("en");
  const rest = String(micros % 1e6).padStart(6, "0");
  return `${units}.${micros < 10_000 ? rest : rest.slice(0, 2)} of your currency`;
}

/** The cost of a loop since its onset, as text. */
export function cost({ events, milliseconds, tokens, costMicros }: Wasted): string {
  const parts = [number(events, "event")];
  if (milliseconds !== undefined) parts.push(duration(milliseconds));
  if (tokens !== undefined) parts.push(number(tokens, "token"));
  if (costMicros !== undefined) parts.push(money(costMicros));
  return parts.join(", ");
}
