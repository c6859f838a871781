// False alarms: marking loops, and proposals for silencing them.

import { exemptions } from "./alarms.ts";
import { copied, h, the, ticked } from "./dom.ts";
import { type Loop, loopKey, type Trace } from "./model.ts";
import { showHeadline, showLoops } from "./overview.ts";
import { merged } from "./settings.ts";
import { inSlices } from "./slices.ts";
import type { Actions, View } from "./view.ts";
import { short } from "./words.ts";

/** The number of proposals being tried. */
let trying = 0;

/** Whether proposals are being tried, which a new replay would abort. */
export const isTrying = (): boolean => trying > 0;

export function showAlarm(view: View, run: Trace, actions: Actions): void {
  const root = the("alarm");
  if (view.chosen === undefined || view.analysis === undefined) {
    const undo = view.falseAlarms.length > 0 && view.analysis !== undefined;
    root.replaceChildren(...(undo ? [marks(view, actions)] : []));
    return;
  }
  const loop = view.chosen;
  const key = loopKey(loop);
  if (!view.falseAlarms.includes(key)) {
    root.replaceChildren(
      h(
        "p",
        {},
        h(
          "button",
          { type: "button", id: "false-alarm", click: () => void mark(view, run, loop, actions) },
          "This is a false alarm",
        ),
      ),
      ...(view.falseAlarms.length > 0 ? [marks(view, actions)] : []),
    );
  } else if (root.querySelector("[data-proposals]")?.getAttribute("data-proposals") !== key) {
    void mark(view, run, loop, actions);
  }
}

/** The list of marked loops, with buttons to undo. */
function marks(view: View, actions: Actions): HTMLElement {
  const items = view.falseAlarms.map((key) => {
    const [rule, signature] = namesOf(key);
    return h(
      "li",
      {},
      h("code", {}, rule),
      ` ${short(signature, 60)} `,
      h("button", { type: "button", class: "small", click: () => unmark(view, key, actions) }, "Not a false alarm"),
    );
  });
  return h("div", { class: "marks" }, h("h3", {}, "Marked as false alarms"), h("ul", {}, ...items));
}

/** The rule and signature of a key. Keys may come from a link: an invalid one is shown as it is. */
function namesOf(key: string): [string, string] {
  try {
    const parsed: unknown = JSON.parse(key);
    if (Array.isArray(parsed)) return [String(parsed[0] ?? ""), String(parsed[1] ?? "")];
  } catch {}
  return [key, ""];
}

function unmark(view: View, key: string, { show }: Actions): void {
  view.falseAlarms = view.falseAlarms.filter((other) => other !== key);
  the("alarm").replaceChildren();
  show();
}

/** Marks a loop as a false alarm and tries proposals that would silence it. */
async function mark(view: View, run: Trace, loop: Loop, actions: Actions): Promise<void> {
  const root = the("alarm");
  const key = loopKey(loop);
  if (!view.falseAlarms.includes(key)) view.falseAlarms = [...view.falseAlarms, key];
  const box = h(
    "div",
    { "data-proposals": key, class: "proposals", role: "status" },
    h("p", {}, "Trying changes that would silence it …"),
  );
  root.replaceChildren(box, marks(view, actions));
  showLoops(view, run, actions);
  showHeadline(view, run, actions);
  if (view.analysis === undefined) return;
  const { replays } = view;
  trying++;
  const found = await inSlices(
    exemptions(run.events, view.config, view.analysis, loop, view.layout.partner),
    () => replays !== view.replays,
    () => {},
  ).finally(() => {
    trying--;
  });
  if (found === undefined || !box.isConnected) return;
  const exempt = `detector.acknowledge(${JSON.stringify(loop.scope)}, ${JSON.stringify({ decision: "exempt", rule: loop.rule, signature: loop.signature })});`;
  box.replaceChildren(
    h("h3", {}, "Changes to your configuration"),
    h("p", { class: "note" }, "Each was tried on this run: with it, the finding does not appear."),
    ...found.map(({ title, change, alsoSilent }, index) =>
      h(
        "div",
        { class: "proposal" },
        h(
          "p",
          {},
          ...ticked(title),
          alsoSilent.length > 0 && h("em", {}, ` (also silences: ${alsoSilent.join(", ")})`),
        ),
        h("pre", { tabindex: 0, role: "group", "aria-label": `Proposal ${index + 1}` }, JSON.stringify(change)),
        h(
          "p",
          {},
          h(
            "button",
            {
              type: "button",
              class: "small",
              click: (event: globalThis.Event) => void copied(event, () => JSON.stringify(change)),
            },
            "Copy",
          ),
          " ",
          h(
            "button",
            { type: "button", class: "small", click: () => actions.configure(merged(view.config, change)) },
            "Try it here",
          ),
        ),
      ),
    ),
    ...(found.length === 0 ? [h("p", {}, "No single change silences it; try the settings below.")] : []),
    h("p", { class: "note" }, "Or, in a host, for the current run only:"),
    h("pre", { tabindex: 0, role: "group", "aria-label": "Exemption for one run" }, exempt),
  );
}
