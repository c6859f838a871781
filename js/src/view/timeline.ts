// Draws the run: lanes, loops with arcs back to their onset, and the levels. Only the visible columns are drawn.

import type { Level, TraceEvent } from "../generated/types.ts";
import { h, s } from "./dom.ts";
import { type Analysis, type Layout, LEVELS, type Loop, rank } from "./model.ts";
import { between, duration, failed, number, place, short, summary, time, title } from "./words.ts";

/** What is drawn. */
export interface Scene {
  events: readonly TraceEvent[];
  layout: Layout;
  analysis: Analysis | undefined;
  selected: number;
  loop: Loop | undefined;
}

const MARK = 12;
/** Maximum number of marks per lane and column; further ones are summarised. */
const STACK = 4;
const ARCS = 56;
const BAR = 20;
const BARS = 5;
const RUNG = 13;
const AXIS = 38;
const NARROWEST = 15;
/** Maximum number of bars in the overview. */
const BINS = 300;

/** A drawn timeline. */
export class Timeline {
  readonly element: HTMLElement;
  #scene: Scene | undefined;
  #labels = h("div", { class: "labels", "aria-hidden": "true" });
  #canvas = h("div", { class: "canvas" });
  #scroller: HTMLElement;
  #overview = s("svg", { class: "overview", "aria-hidden": "true" });
  #sight = s("rect", { class: "sight", y: 0, height: 30 });
  #bins = 1;
  #width = NARROWEST;
  /** The range of columns currently drawn. */
  #drawn: [number, number] = [0, -1];
  #select: (event: number) => void;
  #rows = new Map<Loop, number>();
  /** The tick labels at the bottom, with their positions. */
  #ticks: { text: SVGElement; x: number }[] = [];
  /** The names placed before their bars, which can move into view. */
  #names: { text: SVGElement; start: number; end: number; wide: number }[] = [];

  constructor(select: (event: number) => void) {
    this.#select = select;
    this.#scroller = h("div", {
      class: "scroller",
      tabindex: 0,
      role: "slider",
      "aria-label": "Event of the run",
      "aria-orientation": "horizontal",
      "aria-valuemin": 0,
      scroll: () => this.#scrolled(),
      click: (event: MouseEvent) => this.#clicked(event),
      pointerover: (event: PointerEvent) => this.#hovered(event),
    });
    this.#scroller.append(this.#canvas);
    this.#overview.addEventListener("pointerdown", (event) => this.#jump(event));
    this.#overview.addEventListener("pointermove", (event) => {
      if (event.buttons === 1) this.#jump(event);
    });
    this.element = h(
      "div",
      { class: "timeline" },
      h("div", { class: "stage" }, this.#labels, this.#scroller),
      this.#overview,
    );
    new ResizeObserver(() => this.#scene && this.show(this.#scene)).observe(this.#scroller);
  }

  /** Draws a scene and keeps the scroll position. */
  show(scene: Scene): void {
    this.#scene = scene;
    const { layout, events, analysis, selected } = scene;
    const room = this.#scroller.clientWidth;
    this.#width = Math.max(NARROWEST, room / Math.max(1, layout.columns));
    this.#rows = rows(analysis?.loops ?? [], layout, this.#width);
    const { height, lanes, ladder } = this.#heights();
    this.#canvas.style.width = `${layout.columns * this.#width}px`;
    this.#canvas.style.height = `${height}px`;
    this.#labels.style.height = `${height}px`;
    const label = (text: string, top: number, kind: string) => {
      const element = h("span", { class: kind, title: text }, text);
      element.style.top = `${top}px`;
      return element;
    };
    this.#labels.replaceChildren(
      ...layout.lanes.map((name, lane) => {
        const told = `${"\u00a0\u00a0".repeat(Math.max(0, (layout.depth[lane] ?? 0) - 1))}${layout.depth[lane] ? "└ " : ""}${short(name, 40)}`;
        return label(told, (lanes[lane] ?? 0) + 4, "lane");
      }),
      ...(this.#rows.size > 0 ? [label("loops", (lanes.at(-1) ?? 0) + 6, "lane")] : []),
      ...LEVELS.slice(1).map((name) => label(name, ladder + (5 - rank(name)) * RUNG - 2, `rung ${name}`)),
    );
    const event = events[selected];
    const level = analysis?.judged[selected]?.level ?? "continue";
    const told = event === undefined ? "" : `event ${selected}, ${title(event)}: ${short(summary(event), 80)}`;
    this.#scroller.setAttribute("aria-valuemax", String(Math.max(0, events.length - 1)));
    this.#scroller.setAttribute("aria-valuenow", String(selected));
    this.#scroller.setAttribute("aria-valuetext", level === "continue" ? told : `${told}, ${level}`);
    this.#draw(true);
    this.#drawOverview();
  }

  /** Scrolls an event into view. */
  reveal(event: number): void {
    const x = ((this.#scene?.layout.column[event] ?? 0) + 0.5) * this.#width;
    const { scrollLeft, clientWidth } = this.#scroller;
    if (x < scrollLeft + 40 || x > scrollLeft + clientWidth - 40) this.#scroller.scrollLeft = x - clientWidth / 2;
  }

  #heights(): { lanes: number[]; bars: number; ladder: number; height: number } {
    const lanes = [ARCS];
    for (const stack of this.#scene ? stacks(this.#scene) : []) lanes.push((lanes.at(-1) ?? 0) + stack * MARK + 14);
    const bars = lanes.at(-1) ?? 0;
    const shown = this.#rows.size === 0 ? 0 : Math.max(...this.#rows.values()) + 1;
    const ladder = bars + shown * BAR + 14;
    return { lanes, bars, ladder, height: ladder + 5 * RUNG + AXIS };
  }

  #scrolled(): void {
    requestAnimationFrame(() => {
      this.#draw(false);
      this.#settleNames();
      this.#drawSight();
    });
  }

  #draw(anew: boolean): void {
    if (this.#scene === undefined) return;
    const { layout } = this.#scene;
    const { scrollLeft, clientWidth } = this.#scroller;
    const inSight = Math.ceil(clientWidth / this.#width);
    const first = Math.floor(scrollLeft / this.#width);
    const last = Math.min(layout.columns - 1, first + inSight);
    const [from, to] = this.#drawn;
    if (!anew && first >= from && last <= to) return;
    this.#drawn = [Math.max(0, first - inSight), Math.min(layout.columns - 1, last + inSight)];
    [this.#names, this.#ticks] = [[], []];
    this.#canvas.replaceChildren(this.#picture(...this.#drawn));
    this.#settleNames();
  }

  /** Moves names into their bars while their own place is out of view, and hides tick labels that are cut off. */
  #settleNames(): void {
    const { scrollLeft, clientWidth } = this.#scroller;
    for (const { text, x } of this.#ticks) text.toggleAttribute("hidden", x < scrollLeft);
    for (const { text, start, end, wide } of this.#names) {
      const isCut = start - 5 - wide < scrollLeft;
      const fits = start >= scrollLeft && Math.min(end, scrollLeft + clientWidth) - start > wide + 6;
      const where = isCut && fits ? "inside" : "before";
      text.setAttribute("class", where);
      text.setAttribute("x", String(where === "inside" ? start + 6 : start - 5));
      text.setAttribute("text-anchor", where === "inside" ? "start" : "end");
    }
  }

  #picture(from: number, to: number): SVGSVGElement {
    const { height, lanes, bars, ladder } = this.#heights();
    const width = this.#width;
    const left = from * width;
    const svg = s("svg", {
      width: Math.max(1, (to - from + 1) * width),
      height,
      viewBox: `${left} 0 ${Math.max(1, (to - from + 1) * width)} ${height}`,
      "aria-hidden": "true",
    });
    svg.style.left = `${left}px`;
    if (this.#scene === undefined) return svg;
    const { events, layout, selected, loop } = this.#scene;
    const middle = (event: number) => ((layout.column[event] ?? 0) + 0.5) * width;
    const right = (to + 1) * width;
    for (const top of lanes) svg.append(s("line", { class: "rule", x1: left, x2: right, y1: top, y2: top }));
    const here = layout.column[selected] ?? 0;
    svg.append(s("rect", { class: "here", x: here * width, y: 0, width, height: height - AXIS }));
    for (const [known, row] of this.#rows) svg.append(this.#bar(known, row, bars, middle, known === loop));
    svg.append(this.#ladder(from, to, ladder));
    svg.append(this.#axis(from, to, height));
    for (const arc of this.#arcs(loop, middle, left, right)) svg.append(arc);
    const end = layout.starts[to + 1] ?? events.length;
    let [column, stack] = [-1, [] as number[]];
    for (let index = layout.starts[from] ?? 0; index < end; index++) {
      const event = events[index];
      const lane = layout.lane[index] ?? 0;
      if (event === undefined || !isDrawn(this.#scene, index)) continue;
      if (layout.column[index] !== column) stack = [];
      column = layout.column[index] ?? 0;
      const height = stack[lane] ?? 0;
      stack[lane] = height + 1;
      const y = (lanes[lane] ?? 0) + 13 + Math.min(height, STACK - 1) * MARK;
      if (height === STACK) svg.append(s("text", { class: "more", x: middle(index) + 5, y: y + 4 }, "+"));
      if (height >= STACK) continue;
      const answer = events[layout.partner[index] ?? -1];
      const chosen = index === selected || (event.type === "tool-call" && layout.partner[index] === selected);
      const mark = shape(event, answer, middle(index), y, chosen);
      mark.setAttribute("data-event", String(index));
      svg.append(mark);
    }
    return svg;
  }

  /** The bar of a loop: pale while evidence accumulates, then in the colour of each level it reaches. */
  #bar(loop: Loop, row: number, top: number, middle: (event: number) => number, chosen: boolean): SVGGElement {
    const y = top + 4 + row * BAR;
    const half = Math.min(this.#width / 2, 9);
    const [start, end] = [middle(loop.onset) - half, middle(loop.last) + half];
    const group = s("g", { class: chosen ? "span chosen" : "span", "data-event": loop.at });
    group.append(s("title", {}, `${loop.rule}: events ${loop.onset} to ${loop.last}, ${loop.peak}`));
    group.append(s("rect", { class: "building", x: start, y, width: end - start, height: 13, rx: 3 }));
    const steps = LEVELS.flatMap((level) => {
      const at = loop.reached[level];
      return at === undefined ? [] : [{ level, x: middle(at) - half }];
    }).sort((a, b) => a.x - b.x);
    let strongest: Level = "continue";
    for (const [index, { level, x }] of steps.entries()) {
      if (rank(level) > rank(strongest)) strongest = level;
      const until = steps[index + 1]?.x ?? end;
      group.append(s("rect", { class: `level ${strongest}`, x, y, width: Math.max(2, until - x), height: 13, rx: 3 }));
    }
    // The name goes before the bar if there is room, else inside, else after it; it is never cut off at an edge.
    const wide = nameWidth(loop);
    const place = named(start, end, wide, (this.#scene?.layout.columns ?? 0) * this.#width);
    const name = (x: number, where: string) =>
      s("text", { class: where, x, y: y + 10.5, "text-anchor": where === "before" ? "end" : "start" }, loop.rule);
    const text = name(place.x, place.where);
    group.append(text);
    if (place.where === "before") this.#names.push({ text, start, end, wide });
    // A bar longer than the window repeats its name.
    const sight = Math.max(200, this.#scroller.clientWidth);
    for (let x = start + sight; x < end - wide; x += sight) group.append(name(x, "inside"));
    return group;
  }

  /** Arcs from each occurrence to the next, and back from the strongest finding to the onset. */
  *#arcs(
    loop: Loop | undefined,
    middle: (event: number) => number,
    left: number,
    right: number,
  ): Generator<SVGElement> {
    if (loop === undefined) return;
    const base = ARCS - 2;
    const hop = (from: number, to: number, kind: string, most: number) => {
      const [a, b] = [middle(from), middle(to)];
      const rise = Math.min(most, 10 + Math.abs(b - a) * 0.35);
      return s("path", { class: kind, d: `M${a} ${base} C${a} ${base - rise} ${b} ${base - rise} ${b} ${base}` });
    };
    const stops = [...new Set([loop.onset, ...loop.occurrences.map(({ event }) => event)])];
    for (const [index, at] of stops.entries()) {
      const next = stops[index + 1];
      if (next === undefined || middle(next) < left || middle(at) > right || middle(next) === middle(at)) continue;
      yield hop(at, next, "hop", 26);
    }
    yield hop(loop.at, loop.onset, `back ${loop.peak}`, 68);
    const x = middle(loop.onset);
    yield s("path", {
      class: `head ${loop.peak}`,
      d: `M${x - 4} ${base - 7} L${x} ${base + 1} L${x + 4} ${base - 7} Z`,
    });
    if (x >= left && x <= right)
      yield s("text", { class: "onset", x: x - 6, y: 11, "text-anchor": x > 90 ? "end" : "start" }, "began here");
  }

  #ladder(from: number, to: number, top: number): SVGGElement {
    const group = s("g", { class: "ladder" });
    for (let rung = 0; rung <= 5; rung++) {
      const y = top + rung * RUNG;
      group.append(s("line", { class: "rule", x1: from * this.#width, x2: (to + 1) * this.#width, y1: y, y2: y }));
    }
    const levels = this.#scene?.analysis && columnLevels(this.#scene.analysis, this.#scene.layout);
    for (let column = from; column <= to; column++) {
      const level = levels?.[column] ?? 0;
      if (level === 0) continue;
      const attributes = { x: column * this.#width + 1, width: Math.max(2, this.#width - 2), rx: 2 };
      group.append(
        s("rect", {
          class: `level ${LEVELS[level]}`,
          ...attributes,
          y: top + (5 - level) * RUNG,
          height: level * RUNG,
        }),
      );
    }
    return group;
  }

  #axis(from: number, to: number, height: number): SVGGElement {
    const group = s("g", { class: "axis" });
    const every = Math.max(1, Math.ceil(64 / this.#width));
    const layoutWidth = (this.#scene?.layout.columns ?? 0) * this.#width;
    for (let column = Math.ceil(from / every) * every; column <= to; column += every) {
      const start = this.#scene?.layout.starts[column] ?? 0;
      if ((column + 1) * this.#width > layoutWidth - 20 && column > 0) continue;
      group.append(this.#tick(column, height - 22, "", String(start)));
    }
    // The time since the run began, if known; it needs the room of two numbers.
    const events = this.#scene?.events ?? [];
    for (let column = Math.ceil(from / every / 2) * every * 2; column <= to; column += every * 2) {
      const start = this.#scene?.layout.starts[column] ?? 0;
      const since = between(events, 0, start);
      if (since === undefined || ((column + 2) * this.#width > layoutWidth && column > 0)) continue;
      const text = column === 0 ? (time(events, 0) ?? "") : `+${duration(since)}`;
      group.append(this.#tick(column, height - 7, "time", text));
    }
    return group;
  }

  #tick(column: number, y: number, kind: string, said: string): SVGElement {
    const x = column * this.#width + 2;
    const text = s("text", { class: kind, x, y }, said);
    this.#ticks.push({ text, x });
    return text;
  }

  #drawOverview(): void {
    const scene = this.#scene;
    const overflows = this.#canvas.offsetWidth > this.#scroller.clientWidth + 1;
    this.#overview.toggleAttribute("hidden", !overflows);
    if (!overflows || scene === undefined) return;
    const { columns } = scene.layout;
    const bins = Math.min(BINS, columns);
    const most = new Uint8Array(bins);
    const levels = scene.analysis ? columnLevels(scene.analysis, scene.layout) : new Uint8Array(columns);
    for (const [column, level] of levels.entries()) {
      const bin = Math.floor((column / columns) * bins);
      most[bin] = Math.max(most[bin] ?? 0, level);
    }
    this.#overview.setAttribute("viewBox", `0 0 ${bins} 30`);
    this.#overview.setAttribute("preserveAspectRatio", "none");
    this.#overview.replaceChildren(
      ...Array.from(most).flatMap((level, bin) => {
        const height = level * 6;
        return level === 0
          ? []
          : [s("rect", { class: `level ${LEVELS[level]}`, x: bin, y: 30 - height, width: 1, height })];
      }),
      this.#sight,
    );
    this.#bins = bins;
    this.#drawSight();
  }

  /** Marks the visible range in the overview. */
  #drawSight(): void {
    const { scrollLeft, clientWidth, scrollWidth } = this.#scroller;
    this.#sight.setAttribute("x", String((scrollLeft / scrollWidth) * this.#bins));
    this.#sight.setAttribute("width", String((clientWidth / scrollWidth) * this.#bins));
  }

  #jump(event: PointerEvent): void {
    const box = this.#overview.getBoundingClientRect();
    const share = (event.clientX - box.left) / Math.max(1, box.width);
    this.#scroller.scrollLeft = share * this.#scroller.scrollWidth - this.#scroller.clientWidth / 2;
  }

  /** Adds the tooltip of a mark when it is hovered. */
  #hovered({ target }: PointerEvent): void {
    const mark = target instanceof Element ? target.closest(".mark") : null;
    if (mark === null || mark.querySelector("title") !== null) return;
    const index = Number(mark.getAttribute("data-event"));
    const event = this.#scene?.events[index];
    if (event === undefined) return;
    const level = this.#scene?.analysis?.judged[index]?.level ?? "continue";
    const told = `${index}: ${title(event)} ${short(summary(event), 120)}`;
    mark.append(s("title", {}, level === "continue" ? told : `${told} (${level})`));
  }

  #clicked(event: MouseEvent): void {
    const mark = event.target instanceof Element ? event.target.closest("[data-event]") : null;
    if (mark !== null) {
      this.#select(Number(mark.getAttribute("data-event")));
      return;
    }
    const x = event.clientX - this.#canvas.getBoundingClientRect().left;
    const start = this.#scene?.layout.starts[Math.floor(x / this.#width)];
    if (start !== undefined) this.#select(start);
  }
}

/** Whether an event has its own mark: a result in the column of its call is shown by the call's colour. */
function isDrawn({ events, layout }: Scene, index: number): boolean {
  if (events[index]?.type !== "tool-result") return true;
  const call = layout.partner[index];
  return call === undefined || layout.column[call] !== layout.column[index];
}

const stacksOf = new WeakMap<Layout, number[]>();

/** The maximum number of drawn marks per column, for each lane. */
function stacks(scene: Scene): number[] {
  const { layout } = scene;
  const known = stacksOf.get(layout);
  if (known !== undefined) return known;
  const most = layout.lanes.map(() => 1);
  let column = -1;
  let counts: number[] = [];
  for (const [index, lane] of layout.lane.entries()) {
    if (layout.column[index] !== column) counts = [];
    column = layout.column[index] ?? 0;
    if (isDrawn(scene, index)) counts[lane] = (counts[lane] ?? 0) + 1;
    most[lane] = Math.max(most[lane] ?? 1, Math.min(STACK, counts[lane] ?? 0));
  }
  stacksOf.set(layout, most);
  return most;
}

const levelsOf = new WeakMap<Analysis, Uint8Array>();

/** The rank of the strongest level in each column. */
function columnLevels(analysis: Analysis, layout: Layout): Uint8Array {
  const known = levelsOf.get(analysis);
  if (known !== undefined) return known;
  const levels = new Uint8Array(layout.columns);
  for (const [index, { level }] of analysis.judged.entries()) {
    const column = layout.column[index] ?? 0;
    levels[column] = Math.max(levels[column] ?? 0, rank(level));
  }
  levelsOf.set(analysis, levels);
  return levels;
}

/** The approximate width of a loop's name, in pixels. */
const nameWidth = ({ rule }: Loop): number => rule.length * 6.8 + 12;

/** The position of a bar's name. */
function named(
  start: number,
  end: number,
  wide: number,
  total: number,
): { x: number; where: "before" | "inside" | "after" } {
  if (start > wide) return { x: start - 5, where: "before" };
  if (end - start < wide && end + wide < total) return { x: end + 5, where: "after" };
  return { x: Math.max(2, Math.min(start + 6, total - wide)), where: "inside" };
}

/** The row of each drawn loop: the first one that is free over its whole range. */
function rows(loops: readonly Loop[], layout: Layout, width: number): Map<Loop, number> {
  const placed = new Map<Loop, number>();
  const taken: [number, number][][] = Array.from({ length: BARS }, () => []);
  for (const loop of loops) {
    // Includes the room for its name.
    const [onset, last] = [layout.column[loop.onset] ?? 0, layout.column[loop.last] ?? 0];
    const wide = nameWidth(loop);
    const { where } = named(onset * width, (last + 1) * width, wide, layout.columns * width);
    const name = Math.ceil(wide / width);
    const [from, to] = [onset - (where === "before" ? name : 0), last + (where === "after" ? name : 0)];
    const row = taken.findIndex((spans) => spans.every(([start, end]) => to < start || from > end));
    if (row < 0) continue;
    taken[row]?.push([from, to]);
    placed.set(loop, row);
  }
  return placed;
}

function shape(event: TraceEvent, answer: TraceEvent | undefined, x: number, y: number, chosen: boolean): SVGGElement {
  const wrong = failed(event) || (event.type === "tool-call" && answer !== undefined && failed(answer));
  const group = s("g", { class: `mark ${kind(event)}${wrong ? " wrong" : ""}${chosen ? " chosen" : ""}` });
  if (chosen) group.append(s("circle", { class: "ring", cx: x, cy: y, r: 8 }));
  switch (kind(event)) {
    case "call":
      group.append(s("circle", { cx: x, cy: y, r: 4.5 }));
      if (wrong) group.append(s("path", { class: "cross", d: `M${x - 2} ${y - 2} l4 4 m0 -4 l-4 4` }));
      break;
    case "person":
      group.append(s("path", { d: `M${x} ${y - 5.5} l5.5 5.5 l-5.5 5.5 l-5.5 -5.5 Z` }));
      break;
    case "said":
      group.append(s("rect", { x: x - 4.5, y: y - 2, width: 9, height: 4, rx: 2 }));
      break;
    default:
      group.append(s("rect", { x: x - 4, y: y - 4, width: 8, height: 8, rx: 1.5 }));
  }
  return group;
}

/** The kind of a mark. */
export function kind(event: TraceEvent): "call" | "person" | "said" | "other" {
  if (event.type === "tool-call" || event.type === "tool-result") return "call";
  if (event.type === "message") return event.role === "assistant" ? "said" : "person";
  return event.type === "delta" || event.type === "output" ? "said" : "other";
}

/** A description of the picture in one sentence, for screen readers. */
export function described({ events, layout, analysis }: Scene): string {
  const loops = analysis?.loops ?? [];
  const [begin, end] = [time(events, 0), time(events, events.length - 1)];
  const when = begin === undefined || end === undefined ? "" : `, ${begin} to ${end}`;
  const spans = loops
    .slice(0, 3)
    .map(
      (loop) =>
        `${loop.rule} from ${place({ events: [...events], lines: [], format: "trace" }, loop.onset)} to ${loop.last}`,
    );
  return `${number(events.length, "event")} in ${number(layout.columns, "step")}${when}. ${spans.join("; ")}`;
}
