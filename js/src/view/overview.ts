// Shows information about the run, the main finding and the list of loops.

import type { Event } from "../generated/types.ts";
import { costOf } from "../replay/prices.ts";
import { h, the, ticked } from "./dom.ts";
import { worded } from "./evidence.ts";
import { loopKey, readShare, type Trace, unread } from "./model.ts";
import type { Actions, View } from "./view.ts";
import { between, cost, duration, headline, MEANING, money, number, place, SIGN, short } from "./words.ts";

/** Maximum number of unreadable lines and events listed. */
const LISTED = 20;

export function showAbout(view: View, run: Trace): void {
  const { name, format, events } = run;
  const { judged } = readShare(run, view.analysis ?? { refused: 0 });
  const broken = unread(run, view.analysis ?? { judged: [] });
  const going = { live: "● live", lost: "○ connection lost", ended: "○ no longer followed" };
  const state = view.live === undefined ? [] : [going[view.live]];
  const parts = [
    ...state,
    name,
    format,
    number(judged, "event"),
    ...(broken.length > 0 ? [`${broken.length} unreadable`] : []),
  ];
  const total = between(events, 0, events.length - 1);
  if (total !== undefined) parts.push(duration(total));
  const tokens = events.reduce((sum, event) => sum + (event.tokens ?? 0), 0);
  const spent = events.reduce((sum, event) => sum + (costOf(event as Event, view.config) ?? 0), 0);
  if (tokens > 0) parts.push(number(tokens, "token"));
  if (spent > 0) parts.push(money(spent));
  the("about").textContent = parts.join(" · ");
  const unreadable = the("unread");
  unreadable.hidden = broken.length === 0;
  const what = broken.length === 1 ? "1 line or event" : `${broken.length.toLocaleString("en")} lines or events`;
  unreadable.querySelector("summary")?.replaceChildren(`What could not be read: ${what}`);
  const told = broken.slice(0, LISTED).map(({ where, message }) => `${where}: ${message}`);
  if (broken.length > LISTED) told.push(`and ${broken.length - LISTED} more`);
  unreadable.querySelector("ul")?.replaceChildren(...told.map((text) => h("li", {}, text)));
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-needs-run]"))
    button.disabled = view.analysis === undefined;
}

export function showHeadline(view: View, run: Trace, { choose }: Actions): void {
  const card = the("headline");
  card.hidden = view.analysis === undefined;
  if (view.analysis === undefined) return;
  // Loops marked as false alarms are not the headline; if all are marked, there is none.
  const open = view.analysis.loops.filter((loop) => !view.falseAlarms.includes(loopKey(loop)));
  const marked = view.analysis.loops.length - open.length;
  const head = headline(run, marked > 0 ? { ...view.analysis, loops: open } : view.analysis, open[0], marked);
  const [first] = open;
  const what = first && head.what?.replace(first.fullest.message, () => worded(run, view.layout, first));
  const sign = head.isUnread ? "? unread" : `${SIGN[head.level]} ${head.level}`.trim();
  card.className = `card headline ${head.isUnread ? "mostly-unread" : head.level}`;
  const fact = (name: string, text: string, detail: string, event?: number) =>
    h(
      "div",
      { class: "fact" },
      h("dt", {}, name),
      h(
        "dd",
        {},
        event === undefined
          ? h("strong", {}, text)
          : h("button", { type: "button", class: "link", click: () => choose(event) }, text),
        detail !== "" && h("span", { class: "detail" }, detail),
      ),
    );
  card.replaceChildren(
    h(
      "p",
      { class: "verdict" },
      h("span", { class: `chip big ${head.level}` }, sign),
      h("span", { class: "meaning" }, head.isUnread ? "the rest is unknown" : MEANING[head.level]),
    ),
    h("h1", { id: "headline-title" }, head.title),
    h("p", { class: "what" }, ...(what === undefined ? [head.action.detail] : ticked(what))),
    ...(head.quote === undefined ? [] : [h("p", { class: "quote" }, "Latest result: ", h("q", {}, head.quote))]),
    ...(head.since === undefined
      ? []
      : [
          h(
            "dl",
            { class: "facts" },
            fact("Since", head.since.text, head.since.detail, head.since.event),
            ...(head.cost === undefined ? [] : [fact("Cost since then", head.cost.text, head.cost.detail)]),
            fact("What to do", head.action.text, head.action.detail),
          ),
        ]),
    ...(head.warning === undefined
      ? []
      : [
          h(
            "p",
            { class: "warning" },
            head.warning.text,
            " ",
            h("button", { type: "button", class: "link", click: () => choose(head.warning?.event ?? 0) }, "Show it"),
          ),
        ]),
  );
}

export function showLoops(view: View, run: Trace, { focus }: Actions): void {
  const loops = view.analysis?.loops ?? [];
  the("loops").replaceChildren(
    ...loops.slice(0, 50).map((loop) => {
      const marked = view.falseAlarms.includes(loopKey(loop));
      return h(
        "li",
        {},
        h(
          "button",
          {
            type: "button",
            class: `loop${marked ? " marked" : ""}`,
            "aria-current": String(loop === view.chosen),
            click: () => focus(loop),
          },
          h("span", { class: `chip ${loop.peak}` }, `${SIGN[loop.peak]} ${loop.peak}`),
          h("span", { class: "loop-text" }, ...ticked(worded(run, view.layout, loop))),
          h(
            "span",
            { class: "loop-more" },
            `${[loop.rule, loop.scope.agent, loop.scope.task].flatMap((part) => (part === undefined ? [] : [short(part, 30)])).join(", ")}, ${place(run, loop.onset)} to ${place(run, loop.last)}; ${cost(loop.wasted)}${marked ? "; marked as a false alarm" : ""}`,
          ),
        ),
      );
    }),
    ...(loops.length === 0 && view.analysis !== undefined ? [h("li", { class: "note" }, "None.")] : []),
    ...(loops.length > 50 ? [h("li", { class: "note" }, `and ${loops.length - 50} more, in the timeline`)] : []),
  );
}
