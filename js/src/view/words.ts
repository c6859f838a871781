// The texts of the page, in plain words. Everything is text: nothing in a trace is ever markup.

import type { Level, TraceEvent } from "../generated/types.ts";
import { rank, serious } from "../replay/levels.ts";
import { cost, duration, number, short, summary, title } from "../replay/summarise.ts";
import { type Analysis, type Loop, readShare, type Trace } from "./model.ts";

export { cost, duration, failed, listed, money, number, plain, short, summary, title } from "../replay/summarise.ts";
export { serious };

/** A plain description of each level. */
export const MEANING: Readonly<Record<Level, string>> = {
  continue: "nothing to do",
  observe: "log it",
  nudge: "tell the agent",
  block: "refuse the call",
  gate: "ask a person",
  halt: "end the run",
};

/** A symbol for each level, for users who cannot see its colour. */
export const SIGN: Readonly<Record<Level, string>> = {
  continue: "",
  observe: "·",
  nudge: "▲",
  block: "■",
  gate: "◆",
  halt: "✖",
};

/** The most important information about a run. */
export interface Headline {
  level: Level;
  title: string;
  /** Set if most of the log could not be read and nothing was found in the rest. */
  isUnread?: true;
  /** What went wrong, in one sentence; absent if nothing did. */
  what?: string;
  /** A quote of the latest occurrence's result. */
  quote?: string;
  since?: { event: number; text: string; detail: string };
  cost?: { text: string; detail: string };
  action: { text: string; detail: string };
  /** How long the loop went on after the first warning. */
  warning?: { event: number; text: string };
}

const TITLES: Readonly<Record<Level, string>> = {
  continue: "No loop in this run",
  observe: "Something repeats, but not enough to act on",
  nudge: "The agent is starting to repeat itself",
  block: "The agent is going round in circles",
  gate: "The agent is stuck: a person has to decide",
  halt: "The agent is stuck: this run should be ended",
};

const ACTIONS: Readonly<Record<Level, string>> = {
  continue: "Nothing.",
  observe: "Nothing yet.",
  nudge: "Tell the agent what it repeats.",
  block: "Refuse the next such call and say why.",
  gate: "Decide how the run should continue.",
  halt: "End the run.",
};

/** The headline of a run, about the strongest loop or the selected one. */
export function headline(
  trace: Trace,
  { loops, judged, refused }: Analysis,
  loop: Loop | undefined = loops[0],
  marked = 0,
): Headline {
  const { events } = trace;
  const share = readShare(trace, { refused });
  const missing = `${share.unread} of ${share.unread + share.judged} lines or events could not be read`;
  if (share.isLargelyUnread && (loop === undefined || !serious(loop.peak))) {
    const detail = `${missing}; the list below says why. Nothing was found in the ${number(share.judged, "event")} that could be read, but that says little about the run.`;
    return {
      level: "continue",
      title: "Much of this log could not be read",
      isUnread: true,
      action: { text: "Look at the log.", detail },
    };
  }
  if (loop === undefined) {
    const count = number(share.judged, "event");
    if (marked > 0) {
      const detail = `${number(marked, "finding")} of this run ${marked === 1 ? "is marked as a false alarm" : "are marked as false alarms"}; nothing else was found in its ${count}.`;
      return {
        level: "continue",
        title: "No loop in this run, according to you",
        action: { text: ACTIONS.continue, detail },
      };
    }
    const peak = judged.reduce<Level>((most, { level }) => (rank(level) > rank(most) ? level : most), "continue");
    const detail =
      peak === "continue"
        ? `Nothing in its ${count} repeats as a loop${share.unread === 0 ? "" : `; ${missing}`}.`
        : "";
    return { level: peak, title: TITLES[peak], action: { text: ACTIONS[peak], detail } };
  }
  const { fullest, onset, at } = loop;
  const level = loop.peak;
  const verdict = judged[at]?.verdict;
  const then = events[onset];
  const began = time(events, onset);
  const part = events.length === 0 ? 0 : Math.round((loop.wasted.events / events.length) * 100);
  const warned = loop.reached.nudge ?? loop.reached.block ?? loop.reached.gate ?? loop.reached.halt;
  const advice = verdict?.guidance?.split("One alternative: ")[1];
  const head: Headline = {
    level,
    title: TITLES[level],
    what: sentence(fullest.message),
    since: {
      event: onset,
      text: `${place(trace, onset)}${began === undefined ? "" : `, ${began}`}`,
      detail: then === undefined ? "" : `${title(then)} ${short(summary(then), 90)}`.trim(),
    },
    cost: { text: cost(loop.wasted), detail: part > 0 ? `${part} % of the events of the run` : "" },
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

/** How the page refers to an event: by index from 0, as in reports, plus its step or line. */
export function place({ events, lines, format }: Pick<Trace, "events" | "lines" | "format">, index: number): string {
  const step = events[index]?.step;
  const line = format === "trace" || lines[index] === undefined ? "" : ` (line ${lines[index]})`;
  return `event ${index}${step == null ? line : ` (step ${step})`}`;
}

/** The time of day of an event in UTC, so that it is the same everywhere; undefined if unknown. */
export function time(events: readonly TraceEvent[], index: number): string | undefined {
  const at = events[index]?.at;
  if (at == null || Math.abs(at) > 8.64e15) return undefined;
  return `${new Date(at).toISOString().slice(11, 19)} UTC`;
}

/** The time since the beginning in clock format: `1:04`, `2:10:00`. */
export function clock(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** Milliseconds between two events; undefined unless both have a time. */
export function between(events: readonly TraceEvent[], from: number, to: number): number | undefined {
  const [start, end] = [events[from]?.at, events[to]?.at];
  return start == null || end == null ? undefined : Math.max(0, end - start);
}

const sentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);
