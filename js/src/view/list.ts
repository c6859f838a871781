// The list of events. Only the visible rows exist, so that ten thousand events scroll as smoothly as ten.

import type { TraceEvent } from "../generated/types.ts";
import { h } from "./dom.ts";
import { type Judged, spent } from "./model.ts";
import { between, clock, failed, SIGN, short, summary, title } from "./words.ts";

const ROW = 30;
/** Number of rows drawn beyond each edge. */
const SPARE = 12;

/** The list of events. */
export class EventList {
  readonly element: HTMLElement;
  #events: readonly TraceEvent[] = [];
  #judged: readonly Judged[] = [];
  #selected = 0;
  #marked = new Set<number>();
  /** The indices of the listed events; undefined for all. */
  #listed: readonly number[] | undefined;
  /** The position of each listed event in the list. */
  #place = new Map<number, number>();
  /** The rows that exist, by event. */
  #rows = new Map<number, HTMLElement>();
  #inner = h("div", { class: "rows", role: "presentation" });

  constructor(select: (event: number) => void) {
    this.element = h("div", {
      class: "events",
      role: "listbox",
      tabindex: 0,
      "aria-label": "Events",
      scroll: () => requestAnimationFrame(() => this.#draw()),
      click: (event: MouseEvent) => {
        const row = event.target instanceof Element ? event.target.closest("[data-event]") : null;
        if (row !== null) select(Number(row.getAttribute("data-event")));
      },
    });
    this.element.append(this.#inner);
    new ResizeObserver(() => this.#draw()).observe(this.element);
  }

  /** Shows events and their judgements; `marked` are the occurrences of the selected loop. */
  show(events: readonly TraceEvent[], judged: readonly Judged[], selected: number, marked: ReadonlySet<number>): void {
    [this.#events, this.#judged, this.#selected, this.#marked] = [events, judged, selected, new Set(marked)];
    for (const row of this.#rows.values()) row.remove();
    this.#rows.clear();
    this.#inner.style.height = `${this.#count * ROW}px`;
    this.#draw();
  }

  /** Lists only these events; undefined lists all. */
  filter(listed: readonly number[] | undefined): void {
    this.#listed = listed;
    this.#place = new Map(listed?.map((event, place) => [event, place]));
  }

  /** The listed event `places` positions after an event (before it if negative), or the nearest one. */
  neighbour(event: number, places: number): number {
    const listed = this.#listed;
    if (listed === undefined) return event + places;
    const after = listed.findIndex((other) => other > event);
    const at = this.#place.get(event) ?? (after === -1 ? listed.length : after) - (places > 0 ? 1 : 0);
    return listed[Math.min(Math.max(0, at + places), listed.length - 1)] ?? event;
  }

  get #count(): number {
    return this.#listed?.length ?? this.#events.length;
  }

  /** Scrolls an event into view. */
  reveal(index: number): void {
    const event = this.#listed === undefined ? index : this.#place.get(index);
    if (event === undefined) return;
    const { scrollTop, clientHeight } = this.element;
    if (event * ROW < scrollTop + ROW) this.element.scrollTop = event * ROW - ROW * 2;
    else if ((event + 2) * ROW > scrollTop + clientHeight) this.element.scrollTop = (event + 3) * ROW - clientHeight;
  }

  #draw(): void {
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - SPARE);
    const last = Math.min(this.#count, Math.ceil((scrollTop + clientHeight) / ROW) + SPARE);
    const places = Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at);
    const wanted = new Set(places.map((place) => this.#listed?.[place] ?? place));
    // The selected row always exists, because `aria-activedescendant` refers to it.
    const isListed = this.#listed === undefined || this.#place.has(this.#selected);
    if (isListed && this.#selected < this.#events.length) wanted.add(this.#selected);
    for (const [index, row] of this.#rows) {
      if (wanted.has(index)) continue;
      row.remove();
      this.#rows.delete(index);
    }
    for (const index of wanted) {
      if (this.#rows.has(index)) continue;
      const row = this.#row(index);
      this.#rows.set(index, row);
      // Kept in the order of the events for screen readers.
      const next = [...this.#rows.keys()].filter((other) => other > index).sort((a, b) => a - b)[0];
      this.#inner.insertBefore(row, (next !== undefined && this.#rows.get(next)) || null);
    }
    const active = isListed && this.#selected < this.#events.length ? `event-${this.#selected}` : "";
    this.element.setAttribute("aria-activedescendant", active);
  }

  #row(index: number): HTMLElement {
    const event = this.#events[index] as TraceEvent;
    const judged = this.#judged[index];
    const level = judged?.level ?? "continue";
    const classes = ["row", failed(event) && "failed", this.#marked.has(index) && "part", judged?.error && "refused"];
    const row = h(
      "div",
      {
        class: classes.filter(Boolean).join(" "),
        id: `event-${index}`,
        role: "option",
        "aria-selected": String(index === this.#selected),
        "aria-setsize": this.#count,
        "aria-posinset": (this.#place.get(index) ?? index) + 1,
        "data-event": index,
      },
      h("span", { class: "number" }, String(index)),
      h("span", { class: "kind" }, `${event.pending ? "asks: " : ""}${short(title(event), 28)}`),
      h("span", { class: "text" }, short(judged?.error ?? summary(event), 200)),
      this.#beside(event, index),
      level !== "continue" && h("span", { class: `chip ${level}` }, `${SIGN[level]} ${level}`),
    );
    row.style.top = `${(this.#place.get(index) ?? index) * ROW}px`;
    return row;
  }

  /** The time and tokens of an event, if known. */
  #beside(event: TraceEvent, index: number): HTMLElement | false {
    const since = between(this.#events, 0, index);
    const { tokens } = spent(event);
    const parts = [
      ...(tokens > 0 ? [`${tokens.toLocaleString("en")} tok`] : []),
      ...(since === undefined ? [] : [clock(since)]),
    ];
    return parts.length > 0 && h("span", { class: "beside" }, parts.join(" · "));
  }
}
