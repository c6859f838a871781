// What the page says, in plain words. Everything is text: what a trace holds is never markup.

import type { Event, Level, TraceEvent, Wasted } from "../generated/types.ts";
import type { Analysis, Loop, Trace } from "./model.ts";
import { rank } from "./model.ts";

/** What a level means to somebody who has never heard of it. */
export const MEANING: Readonly<Record<Level, string>> = {
  continue: "nothing to do",
  observe: "worth a line in the log",
  nudge: "tell the agent",
  block: "refuse the call",
  gate: "ask a person",
  halt: "end the run",
};

/** The sign of a level, for those who do not see its colour. */
export const SIGN: Readonly<Record<Level, string>> = {
  continue: "",
  observe: "·",
  nudge: "▲",
  block: "■",
  gate: "◆",
  halt: "✖",
};

/** What a person needs to know first. */
export interface Headline {
  level: Level;
  title: string;
  /** What went wrong, in one sentence; absent where nothing did. */
  what?: string;
  /** What the latest occurrence got for an answer, in its own words. */
  quote?: string;
  since?: { event: number; text: string; detail: string };
  cost?: { text: string; detail: string };
  action: { text: string; detail: string };
  /** How long the loop went on after the first warning. */
  warning?: { event: number; text: string };
}

const TITLES: Readonly<Record<Level, string>> = {
  continue: "No loop in this run",
  observe: "Something repeats, too little to act on",
  nudge: "The agent has begun to repeat itself",
  block: "The agent is going round in circles",
  gate: "The agent is stuck: a person has to decide",
  halt: "The agent is stuck: this run should be ended",
};

const ACTIONS: Readonly<Record<Level, string>> = {
  continue: "Nothing.",
  observe: "Nothing yet.",
  nudge: "Tell the agent what it repeats.",
  block: "Refuse the next such call, and say why.",
  gate: "Decide how it goes on.",
  halt: "End the run.",
};

/** The headline of a run, about the strongest loop or about the one that is looked at. */
export function headline(trace: Trace, { peak, loops, judged }: Analysis, loop: Loop | undefined = loops[0]): Headline {
  const { events } = trace;
  if (loop === undefined) {
    const count = number(events.length, "event");
    const detail = peak === "continue" ? `Nothing in its ${count} goes round in circles.` : "";
    return { level: peak, title: TITLES[peak], action: { text: ACTIONS[peak], detail } };
  }
  const { finding, onset, at } = loop;
  const level = loop.peak;
  const verdict = judged[at]?.verdict;
  const then = events[onset];
  const began = time(events, onset);
  const share = events.length === 0 ? 0 : Math.round(((loop.last - onset + 1) / events.length) * 100);
  const warned = loop.reached.nudge ?? loop.reached.block ?? loop.reached.gate ?? loop.reached.halt;
  const advice = verdict?.guidance?.split("One alternative: ")[1];
  const head: Headline = {
    level,
    title: TITLES[level],
    what: sentence(finding.message),
    since: {
      event: onset,
      text: `${place(trace, onset)}${began === undefined ? "" : `, ${began}`}`,
      detail: then === undefined ? "" : `${title(then)} ${short(summary(then), 90)}`.trim(),
    },
    cost: { text: cost(finding.wasted), detail: share > 0 ? `${share} % of everything that happened in the run` : "" },
    action: { text: ACTIONS[level], detail: advice === undefined ? "" : `For the next attempt: ${advice}` },
  };
  const last = events[loop.occurrences.at(-1)?.event ?? -1];
  if (last !== undefined && (last.type === "tool-result" || last.type === "failure")) {
    const said = short(summary(last).replaceAll(/<\/?[\w-]+>/g, " "), 140);
    if (said !== "") head.quote = said;
  }
  if (warned !== undefined && warned < loop.last) {
    const after = number(loop.last - warned, "further event");
    const spent = between(events, warned, loop.last);
    const spared = `${after}${spent === undefined ? "" : ` and ${duration(spent)}`}`;
    head.warning = {
      event: warned,
      text: `The first warning came at ${place(trace, warned)}; the loop then went on for ${spared}.`,
    };
  }
  return head;
}

/** Where an event stands, as it is called everywhere on the page: counted from 0, as in reports. */
export function place({ events, lines, format }: Pick<Trace, "events" | "lines" | "format">, index: number): string {
  const step = events[index]?.step;
  const line = format === "trace" || lines[index] === undefined ? "" : ` (line ${lines[index]})`;
  return `event ${index}${step == null ? line : ` (step ${step})`}`;
}

/** Clock time of an event, in UTC so that it reads the same everywhere. */
export function time(events: readonly TraceEvent[], index: number): string | undefined {
  const at = events[index]?.at;
  if (at == null || Math.abs(at) > 8.64e15) return undefined;
  return `${new Date(at).toISOString().slice(11, 19)} UTC`;
}

/** Milliseconds between two events, where both tell their time. */
export function between(events: readonly TraceEvent[], from: number, to: number): number | undefined {
  const [start, end] = [events[from]?.at, events[to]?.at];
  return start == null || end == null ? undefined : Math.max(0, end - start);
}

/** What a loop has cost since its onset. */
export function cost({ events, milliseconds, tokens, costMicros }: Wasted): string {
  const parts = [number(events, "event")];
  if (milliseconds !== undefined) parts.push(duration(milliseconds));
  if (tokens !== undefined) parts.push(number(tokens, "token"));
  if (costMicros !== undefined) parts.push(`${(costMicros / 1e6).toFixed(2)} of your currency`);
  return parts.join(", ");
}

export const number = (count: number, unit: string): string =>
  `${count.toLocaleString("en")} ${unit}${count === 1 ? "" : "s"}`;

export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** One line of at most so many characters, without anything that could act on a page or a terminal. */
export function short(text: string, width: number): string {
  const line = text
    .slice(0, width * 4)
    .replaceAll(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .trim();
  const chars = Array.from(line);
  return chars.length > width ? `${chars.slice(0, width - 1).join("")}…` : line;
}

const sentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);

/** What happened, as the name of its kind. */
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

/** What an event is about, on one line. */
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

/** Whether what happened is a failure. */
export const failed = (event: Event): boolean =>
  (event.type === "tool-result" && event.outcome !== "ok") || event.type === "failure";

/** Arguments of a call, one after the other. */
export function listed(args: unknown): string {
  if (args === undefined || args === null) return "";
  if (typeof args !== "object" || Array.isArray(args)) return plain(args);
  return Object.entries(args)
    .map(([name, value]) => `${name}: ${plain(value)}`)
    .join(", ");
}

/** A payload as text. */
export function plain(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function rest(event: Event): string {
  const { type: _, at: __, ...fields } = event;
  return Object.keys(fields).length === 0 ? "" : JSON.stringify(fields);
}

/** What a loop is called in a list. */
export const loopTitle = ({ rule, peak, finding }: Loop): string => `${rule} (${peak}): ${finding.message}`;

/** Whether a loop is something to act on. */
export const serious = (level: Level): boolean => rank(level) >= rank("nudge");
