// Shows the selected event and the status of the run after it.

import type { Config, Scope, TraceEvent } from "../generated/types.ts";
import { h, the, ticked } from "./dom.ts";
import { visible } from "./evidence.ts";
import { graph, trend, walk } from "./graph.ts";
import { agent, collaboration, family, phaseFlow, spent, stateAt, type Trace } from "./model.ts";
import type { Actions, View } from "./view.ts";
import { between, clock, duration, MEANING, money, number, place, plain, SIGN, short, time, title } from "./words.ts";

/** Number of characters of a payload shown initially. */
const SHOWN = 4000;

export function showEvent(view: View, run: Trace, { choose }: Actions): void {
  const event = run.events[view.selected];
  if (event === undefined) return;
  const judged = view.analysis?.judged[view.selected];
  const verdict = judged?.verdict;
  const level = judged?.level ?? "continue";
  const partner = view.layout.partner[view.selected];
  const fields = Object.entries(event).filter(([name, value]) => !["type", "at"].includes(name) && value != null);
  const when = time(run.events, view.selected);
  const body: (HTMLElement | false)[] = [
    h(
      "h3",
      {},
      `${title(event)} `,
      h(
        "span",
        { class: "detail" },
        `${place(run, view.selected)}${when === undefined ? "" : `, ${when}`}, ${agent(event)}`,
      ),
    ),
    ...took(view, run, partner),
    h(
      "p",
      { class: "verdict" },
      h("span", { class: `chip ${level}` }, `${SIGN[level]} ${level}`.trim()),
      h("span", { class: "meaning" }, judged?.error ?? MEANING[level]),
    ),
    verdict?.guidance !== undefined &&
      h("blockquote", {}, h("strong", {}, "Guidance for the agent: "), verdict.guidance),
    ...(verdict?.findings ?? []).map((finding) =>
      h("p", { class: "finding" }, h("code", {}, finding.rule), ` ${finding.level}: `, ...ticked(finding.message)),
    ),
    (verdict?.suggestedActions.length ?? 0) > 0 &&
      h("p", {}, h("strong", {}, "Suggested actions: "), verdict?.suggestedActions.join("; ") ?? ""),
    partner !== undefined &&
      h(
        "p",
        {},
        h(
          "button",
          { type: "button", class: "small", click: () => choose(partner) },
          event.type === "tool-result" ? `Go to its call (${partner})` : `Go to its result (${partner})`,
        ),
      ),
    ...fields.map(([name, value]) => field(name, plain(value))),
  ];
  the("event").replaceChildren(...body.filter((part) => part !== false));
}

/** The duration and cost of the selected event, if known. */
function took(view: View, run: Trace, partner: number | undefined): HTMLElement[] {
  const index = view.selected;
  const event = run.events[index];
  const since = between(run.events, 0, index);
  const span =
    partner === undefined ? undefined : between(run.events, Math.min(index, partner), Math.max(index, partner));
  const { tokens, costMicros } = event === undefined ? { tokens: 0, costMicros: 0 } : spent(event, view.config);
  const parts = [
    ...(since === undefined ? [] : [`${clock(since)} into the run`]),
    ...(span === undefined ? [] : [`answered in ${duration(span)}`]),
    ...(tokens > 0 ? [number(tokens, "token")] : []),
    ...(costMicros > 0 ? [money(costMicros)] : []),
  ];
  return parts.length === 0 ? [] : [h("p", { class: "detail" }, parts.join(" · "))];
}

function field(name: string, value: string): HTMLElement {
  if (value.length < 60 && !value.includes("\n"))
    return h("p", { class: "field" }, h("span", { class: "name" }, name), h("code", {}, value));
  const pre = h("pre", { tabindex: 0, role: "group", "aria-label": name }, ...visible(value.slice(0, SHOWN)));
  const more = value.length > SHOWN;
  return h(
    "div",
    { class: "field long" },
    h("span", { class: "name" }, name),
    pre,
    more &&
      h(
        "button",
        {
          type: "button",
          class: "small",
          click: (event: globalThis.Event) => {
            pre.replaceChildren(...visible(value));
            (event.target as HTMLElement).remove();
          },
        },
        `Show all ${value.length.toLocaleString("en")} characters`,
      ),
  );
}

/** Shows the trend, badges, phases and graph after the selected event. */
export function showFlow(view: View, actions: Actions): void {
  const card = the("flow-card");
  if (view.trace === undefined || view.states.length === 0) {
    card.hidden = true;
    return;
  }
  const { events } = view.trace;
  const event = events[view.selected];
  const scope: Scope = {
    ...(event?.run != null && { run: event.run }),
    ...(event?.task != null && { task: event.task }),
  };
  using detector = stateAt(events, view.states, view.selected);
  const status = detector.status(scope);
  const parts: HTMLElement[] = agents(events, view.config, actions);
  if (status.trend !== undefined) parts.push(h("h3", {}, "Progress"), trend(status.trend));
  if (status.cycles !== undefined && status.cycles.length > 0) {
    const badges = status.cycles.map(({ badge, nodes }) =>
      h("li", {}, h("span", { class: "badge" }, badge), ` ${short(nodes.join(" → "), 60)}`),
    );
    parts.push(h("h3", {}, "Cycles of the workflow"), h("ul", { class: "badges" }, ...badges));
  }
  for (const [task, { walk: steps }] of Object.entries(status.phases ?? {})) {
    if (steps === undefined) continue;
    parts.push(h("h3", {}, task === "" ? "Phases" : `Phases of ${short(task, 40)}`), walk(steps));
  }
  const phases = phaseFlow(events, view.selected);
  if (phases.length > 0)
    parts.push(graph(phases, "Transitions between phases", event?.type === "transition" ? event.to : undefined));
  const work = collaboration(events, view.selected);
  if (work.length > 0)
    parts.push(graph(work, "Hand-overs between agents", event === undefined ? undefined : agent(event)));
  card.hidden = parts.length === 0;
  if (parts.length > 0) parts.unshift(h("p", { class: "note" }, `State after event ${view.selected}.`));
  the("flow").replaceChildren(...parts);
}

/** The agents of the run as a tree, with the events and cost of each. */
function agents(events: readonly TraceEvent[], config: Config, { choose }: Actions): HTMLElement[] {
  const members = family(events, config);
  if (members.length < 2) return [];
  const names = new Set(members.map(({ id }) => id));
  const below = (parent: string | undefined, rest = 6): HTMLElement =>
    h(
      "ul",
      { class: "family" },
      ...members
        .filter(
          (member) => (member.parent !== undefined && names.has(member.parent) ? member.parent : undefined) === parent,
        )
        .map(({ id, name, events, tokens, costMicros, first }) => {
          const told = [number(events, "event"), ...(tokens > 0 ? [number(tokens, "token")] : [])];
          if (costMicros > 0) told.push(money(costMicros));
          return h(
            "li",
            {},
            h("button", { type: "button", class: "link", click: () => choose(first) }, short(name, 48)),
            h("span", { class: "detail" }, ` ${told.join(", ")}`),
            rest > 0 && members.some(({ parent }) => parent === id) && below(id, rest - 1),
          );
        }),
    );
  return [h("h3", {}, "Agents"), below(undefined)];
}
