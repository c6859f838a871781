// Shows two occurrences of a loop side by side: what repeats, what differs, and what differs but counts as equal.

import type { TraceEvent } from "../generated/types.ts";
import { onlySpace, type Piece, pieces as wordDiff } from "../replay/diff.ts";
import { h } from "./dom.ts";
import type { Layout, Loop, Occurrence, Trace } from "./model.ts";
import { place, plain, short, time, title } from "./words.ts";

/** A field of a call: its name, which may be empty, and its value. */
type Field = [name: string, value: string];

/** One occurrence: the call or message, and the result. */
interface Told extends Occurrence {
  asked: Field[];
  answered: string | undefined;
  name: string;
}

/** Maximum number of characters of a payload that are compared. */
const LONGEST = 6000;

/** The occurrences of a loop, each with its call and result. */
export function occurrences(trace: Trace, layout: Layout, loop: Loop): Told[] {
  return loop.occurrences.flatMap(({ event: index, digest }) => {
    const event = trace.events[index];
    if (event === undefined) return [];
    const other = trace.events[layout.partner[index] ?? -1];
    const [call, result] = event.type === "tool-result" ? [other, event] : [event, other];
    const answered =
      result?.type === "tool-result"
        ? `${result.outcome === "ok" ? "" : `${result.outcome}: `}${plain(result.output)}`
        : undefined;
    return [{ event: index, digest, asked: asked(call), answered, name: title(call ?? event) }];
  });
}

/** The content of an event, field by field. */
function asked(event: TraceEvent | undefined): Field[] {
  if (event === undefined) return [];
  const listed = (fields: object): Field[] => Object.entries(fields).map(([name, value]) => [name, plain(value)]);
  if (event.type === "tool-call") {
    const { args, rawArgs } = event;
    if (rawArgs != null) return [["", rawArgs]];
    return typeof args === "object" && args !== null && !Array.isArray(args) ? listed(args) : [["", plain(args)]];
  }
  if ("text" in event) return [["", event.text]];
  const { type: _, at: __, pending: ___, ...fields } = event as TraceEvent & Record<string, unknown>;
  return listed(fields);
}

/** The fields that all occurrences share if they are not identical, such as the target that fails. */
export function common(list: readonly Told[]): HTMLElement[] {
  const [first, ...others] = list;
  if (first === undefined || others.length === 0) return [];
  const shared = first.asked.filter(
    ([name, value]) =>
      name !== "" &&
      value !== "" &&
      others.every(({ asked }) => asked.some(([other, same]) => other === name && same === value)),
  );
  if (shared.length === 0) return [];
  const told = shared
    .slice(0, 3)
    .flatMap(([name, value], index): (string | HTMLElement)[] => [
      index === 0 ? "" : ", ",
      h("code", {}, `${name}: ${short(value, 80)}`),
    ]);
  return [h("p", { class: "note" }, "The same in all of them: ", ...told)];
}

/**
 * The message of a loop with the name of its target filled in. The core keeps no payloads and cannot name it; it is the
 * value that all occurrences share, whatever each tool calls the field.
 */
export function worded(trace: Trace, layout: Layout, loop: Loop): string {
  const { message } = loop.fullest;
  const unnamed = TARGET.exec(message)?.[0];
  if (unnamed === undefined) return message;
  const [first, ...others] = occurrences(trace, layout, loop);
  const shared = (first?.asked ?? []).flatMap(([, value]) =>
    value !== "" && others.every(({ asked }) => asked.some(([, other]) => other === value)) ? [value] : [],
  );
  const target = shared.find((value) => /^[^\s`]*[\\/.:][^\s`]*$/.test(value));
  if (target === undefined) return message;
  const name = Array.from(target).length > 40 ? `…/${target.split(/[\\/]/).slice(-2).join("/")}` : target;
  return `\`${short(name, 60)}\`${message.slice(unnamed.length)}`;
}

const TARGET = /^the target of this `[^`]*` call/;

/** The comparison of two occurrences, with the differences marked. */
export function compare(
  trace: Trace,
  list: readonly Told[],
  [left, right]: [number, number],
  choose: (pair: [number, number]) => void,
  select: (event: number) => void,
): HTMLElement {
  const [a, b] = [list[left], list[right]];
  if (a === undefined || b === undefined) {
    return h(
      "p",
      { class: "note" },
      "This finding is about a budget or a whole run: there are no occurrences to compare.",
    );
  }
  const alone = a === b;
  const equal = a.digest === b.digest;
  const [answeredA, answeredB] = wordDiff((a.answered ?? "").slice(0, LONGEST), (b.answered ?? "").slice(0, LONGEST));
  const [askedA, askedB] = [askedOf(a, b), askedOf(b, a)];
  const side = (at: Told, which: 0 | 1, asks: Piece[], answers: Piece[]) => {
    const picker = h("select", {
      "aria-label": which === 0 ? "Earlier occurrence" : "Later occurrence",
      change: (event: Event) => {
        const chosen = Number((event.target as HTMLSelectElement).value);
        choose(which === 0 ? [chosen, right] : [left, chosen]);
      },
    });
    for (const [index, { event }] of list.entries()) {
      const when = time(trace.events, event);
      const label = `${index + 1} of ${list.length}: ${place(trace, event)}${when === undefined ? "" : `, ${when}`}`;
      picker.append(h("option", { value: index, selected: index === (which === 0 ? left : right) }, label));
    }
    return h(
      "section",
      { class: "side", "aria-label": alone ? "Occurrence" : `${which === 0 ? "Earlier" : "Later"} occurrence` },
      h(
        "div",
        { class: "side-head" },
        picker,
        h("button", { type: "button", class: "small", click: () => select(at.event) }, "Go to event"),
      ),
      h("h3", { class: "part" }, at.name),
      payload(asks, equal, "what was asked"),
      ...(at.answered === undefined
        ? []
        : [h("h3", { class: "part" }, "result"), payload(answers, equal, "the result")]),
      h(
        "p",
        { class: "digest", title: "Two events with the same fingerprint count as equal" },
        "fingerprint ",
        h("code", {}, at.digest),
      ),
    );
  };
  const isMarked = [...askedA, ...askedB, ...answeredA, ...answeredB].some(differs);
  const told = equal
    ? `The detector treats these two as equal${isMarked ? ": the marked words do not count" : ""}.`
    : "These two are not equal: the loop lies in their order or in what they have in common.";
  const spaced = a.asked.flatMap(([name, value]) =>
    b.asked.some(([other, theirs]) => other === name && onlySpace(value, theirs)) ? [name || "what was asked"] : [],
  );
  const space = spaced.length > 0 && ` Only whitespace differs in ${spaced.join(" and ")}.`;
  if (alone) return h("div", { class: "compare" }, h("div", { class: "sides one" }, side(a, 0, askedA, answeredA)));
  return h(
    "div",
    { class: "compare" },
    h("p", { class: "note" }, told, space),
    h("div", { class: "sides" }, side(a, 0, askedA, answeredA), side(b, 1, askedB, answeredB)),
    h(
      "p",
      { class: "legend" },
      h("span", { class: "same" }, "repeats"),
      isMarked &&
        (equal
          ? h("span", { class: "masked" }, "differs, but is masked or not compared, so it counts as equal")
          : h("span", { class: "differs" }, "differs")),
    ),
  );
}

/** The fields of an occurrence, each compared with the field of the same name in the other one. */
function askedOf(at: Told, other: Told): Piece[] {
  const theirs = new Map(other.asked);
  return at.asked.flatMap(([name, value], index): Piece[] => [
    { text: `${index > 0 ? "\n" : ""}${name === "" ? "" : `${name}: `}`, same: true },
    ...wordDiff(value.slice(0, LONGEST), (theirs.get(name) ?? "").slice(0, LONGEST))[0],
  ]);
}

/** Characters that are invisible or change the direction of text; shown as their code point. */
const ODD = /([\u00a0\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff])/u;

/** A text with its invisible characters made visible. */
export function visible(text: string): (string | HTMLElement)[] {
  return text.split(ODD).map((part) => {
    if (part.length !== 1 || !ODD.test(part)) return part;
    const number = (part.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    return h(
      "span",
      { class: "odd", title: part === "\u00a0" ? "non-breaking space" : "invisible character" },
      `U+${number}`,
    );
  });
}

/** Whether a part of a text is to be marked as a difference. */
const differs = ({ text, same }: Piece): boolean => !same && text.trim() !== "";

function payload(pieces: readonly Piece[], equal: boolean, label: string): HTMLElement {
  const pre = h("pre", { tabindex: 0, role: "group", "aria-label": label });
  for (const piece of pieces) {
    const text = visible(piece.text);
    if (!differs(piece)) pre.append(...text);
    else pre.append(h(equal ? "span" : "mark", { class: equal ? "masked" : "differs" }, ...text));
  }
  if (pieces.length === 0) pre.append(h("span", { class: "nothing" }, "nothing"));
  return pre;
}
