// The selected finding: its evidence and the report.

import type { Level } from "../generated/types.ts";
import { leading, quoted, readable } from "../replay/report.ts";
import { unitOf, WORTH } from "../replay/worth.ts";
import { copied, h, the } from "./dom.ts";
import { common, compare, occurrences } from "./evidence.ts";
import { type Loop, stateAt, type Trace } from "./model.ts";
import { markdown } from "./report.ts";
import type { Actions, View } from "./view.ts";
import { number, serious } from "./words.ts";

export function showEvidence(view: View, run: Trace, actions: Actions): void {
  const card = the("evidence-card");
  card.hidden = view.chosen === undefined;
  if (view.chosen === undefined || view.analysis === undefined) return;
  const found = occurrences(run, view.layout, view.chosen);
  // Compare the first occurrence with the latest one that is not worded identically, which shows the most.
  const words = (index: number) => JSON.stringify(found[index]?.asked).replaceAll(/\s|\\[nt]/g, "");
  const other = found.findLastIndex((_, index) => words(index) !== words(0));
  const differ = other > 0;
  view.sides ??= [0, differ ? other : found.length - 1];
  the("evidence").replaceChildren(
    ...evidenceWords(view.chosen, found.length, differ),
    ...common(found),
    compare(
      run,
      found,
      view.sides,
      (pair) => {
        view.sides = pair;
        showEvidence(view, run, actions);
      },
      actions.choose,
    ),
  );
}

/** Explains what was counted and which occurrences are shown. */
function evidenceWords({ rule, finding, fullest }: Loop, events: number, differ: boolean): HTMLElement[] {
  const unit = unitOf(rule) || "sightings";
  const worth = unit === "points" && WORTH[rule] !== undefined ? ` (one more is worth ${WORTH[rule]})` : "";
  const counted = `${fullest.count} ${unit}${worth}`;
  const sure = `${Math.round(finding.confidence / 10)} % sure`;
  const told = `: ${counted}; its threshold for ${finding.level} is ${finding.threshold}. The rule is ${sure} that this is a loop, which does not affect the level.`;
  const why =
    events < 2
      ? ""
      : `${number(events, "event")} of the run belong to it. The first is compared with the latest${differ ? " one that is worded differently" : ""}; choose others in the lists above the texts.`;
  return [
    h("p", { class: "what-rule" }, h("code", {}, rule), told),
    ...(why === "" ? [] : [h("p", { class: "note" }, why)]),
  ];
}

export function showReport(view: View): void {
  const card = the("report-card");
  card.hidden = view.chosen === undefined || view.trace === undefined;
  if (view.chosen === undefined || view.trace === undefined || view.states.length === 0) return;
  const text = reported(view, view.trace, view.chosen);
  the("report").replaceChildren(
    markdown(text),
    h(
      "p",
      {},
      h(
        "button",
        {
          type: "button",
          class: "small",
          click: (event: globalThis.Event) => void copied(event, () => text),
        },
        "Copy as Markdown",
      ),
    ),
  );
}

/** The report of the scope at the time of the loop's strongest finding. */
function reported(view: View, { events, lines, format }: Trace, { at, scope, rule, signature, reached }: Loop): string {
  using detector = stateAt(events, view.states, at);
  const lead = leading(detector.report(scope, "json").findings);
  const alarms = Object.entries(reached).flatMap(([level, index]) => (serious(level as Level) ? [index] : []));
  const isIt = lead?.rule === rule && lead.signature === signature;
  const first = isIt ? view.analysis?.judged[Math.min(...alarms)]?.verdict?.seq : undefined;
  const places = indices(view);
  const quote = (seq: number) => {
    const index = places[seq];
    const event = index === undefined ? undefined : events[index];
    if (index === undefined || event === undefined) return undefined;
    const place = format === "trace" || lines[index] === undefined ? undefined : `line ${lines[index]}`;
    return quoted(event, events[view.layout.partner[index] ?? -1], place);
  };
  return readable(detector.report(scope), quote, first);
}

/** The index of each event by sequence number. */
function indices(view: View): number[] {
  const found: number[] = [];
  for (const [index, { verdict }] of (view.analysis?.judged ?? []).entries())
    if (verdict !== undefined && view.trace?.events[index]?.pending !== true) found[verdict.seq] = index;
  return found;
}
