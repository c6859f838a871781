// Adds quotes of the evidence to a report: the core only keeps digests, but the run itself is available here.

import type { Event, Finding, Level } from "../generated/types.ts";
import { rank } from "./levels.ts";
import { line, outcome, short } from "./summarise.ts";

/** A quote of an event. */
export interface Quoted {
  /** Its location besides its number: `line 104` or `step 5`; undefined if that is not useful. */
  place?: string | undefined;
  /** The time of day, in UTC. */
  time?: string | undefined;
  /** The call or the message. */
  asked?: string | undefined;
  /** The result. */
  answered?: string | undefined;
}

/** Maximum width of quoted arguments and outputs, in characters. */
const WIDTH = 100;

/** Quotes an event; `call` is the call that a result answers. */
export function quoted(event: Event, call: Event | undefined, place?: string): Quoted {
  const at = event.at;
  const time = at == null || Math.abs(at) > 8.64e15 ? undefined : `${new Date(at).toISOString().slice(11, 19)} UTC`;
  if (event.type !== "tool-result") return { place, time, asked: short(line(event), WIDTH) };
  return { place, time, asked: call && short(line(call), WIDTH), answered: short(outcome(event), WIDTH) };
}

/**
 * Sorts by level, strongest first and among equals newest first, as the core does to choose the subject of a report.
 * The input has to be sorted newest first.
 */
export const strongest = <T>(newestFirst: readonly T[], level: (one: T) => Level): T[] =>
  newestFirst.toSorted((a, b) => rank(level(b)) - rank(level(a)));

/** The finding that the report of a scope is about. */
export const leading = (findings: readonly Finding[]): Finding | undefined =>
  strongest(findings, ({ level }) => level)[0];

/** The core's mark of the latest event of a loop; a spent budget has none. */
const DETECTED = " ← Loop detected";

/**
 * Adds calls, results, times and locations to the core's Markdown. `reported` is the event at which the loop was first
 * reported: the mark "Loop detected" moves there from the latest event.
 */
export function readable(markdown: string, quote: (seq: number) => Quoted | undefined, reported?: number): string {
  const first = markdown.includes(DETECTED) ? reported : undefined;
  const isListed = first !== undefined && new RegExp(`^- [Ee]vent ${first}\\b`, "m").test(markdown);
  const marked = (seq: number, mark: string | undefined) => {
    if (first === undefined || first === seq) return first === seq ? DETECTED : (mark ?? "");
    if (mark === undefined) return "";
    return isListed ? " ← latest" : ` ← latest; loop detected at ${placed(String(first), `event ${first}`)}`;
  };
  const placed = (seq: string, text: string) => {
    const place = quote(Number(seq))?.place;
    return place === undefined ? text : `${text} (${place})`;
  };
  return markdown
    .split("\n")
    .map((text) => {
      const item = /^- [Ee]vent (\d+)\b.*?( ← Loop detected)?$/.exec(text);
      const found = item === null ? undefined : quote(Number(item[1]));
      if (item === null || found === undefined || (found.asked ?? found.answered) === undefined)
        return text.replaceAll(/\b([Ee]vent) (\d+)\b(?! \()/g, (all, _, seq: string) => placed(seq, all));
      const { time, asked, answered } = found;
      const when = time === undefined ? "" : `, ${time}`;
      const told = [asked, answered].flatMap((part) => (part === undefined ? [] : [code(part)])).join(" → ");
      return `- ${placed(item[1] ?? "", `Event ${item[1]}`)}${when}: ${told}${marked(Number(item[1]), item[2])}`;
    })
    .join("\n");
}

/** A text as a Markdown code span, whatever it contains, so that untrusted text is never interpreted. */
export function code(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const pad = text.startsWith("`") || text.endsWith("`") ? " " : "";
  return `${fence}${pad}${text}${pad}${fence}`;
}

/** A part of a text: code, or the text between. */
export interface Span {
  text: string;
  isCode: boolean;
}

/** Splits one of our own texts into code spans, whose fence may be several backticks, and the rest. */
export function spans(text: string): Span[] {
  const found: Span[] = [];
  const push = (part: string, isCode: boolean) => {
    if (part !== "") found.push({ text: part, isCode });
  };
  let at = 0;
  for (const { 0: whole, 2: inner, index } of text.matchAll(/(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)/gs)) {
    push(text.slice(at, index), false);
    push((inner ?? "").replace(/^ (.*`|`.*) $/s, "$1"), true);
    at = index + whole.length;
  }
  push(text.slice(at), false);
  return found;
}
