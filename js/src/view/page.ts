// The page: holds what is looked at, and has every part show it.

import { core, version } from "../core.ts";
import { LoopwardenError } from "../errors.ts";
import type { Config, Event, Scope, TraceEvent } from "../generated/types.ts";
import { costOf } from "../replay/prices.ts";
import { quoted, readable } from "../replay/report.ts";
import { tools } from "../tools.ts";
import { readTranscript } from "../transcript.ts";
import { exemptions } from "./alarms.ts";
import { Controls } from "./controls.ts";
import { copy, h, save, the, ticked } from "./dom.ts";
import { common, compare, occurrences, visible, worded } from "./evidence.ts";
import { example, workflow } from "./example.ts";
import { listed, QUICK } from "./find.ts";
import { graph, trend, walk } from "./graph.ts";
import { EventList } from "./list.ts";
import { isSource, listen, type Source } from "./live.ts";
import {
  type Analysis,
  agent,
  analyse,
  collaboration,
  family,
  type Layout,
  type Loop,
  layOut,
  loopKey,
  phaseFlow,
  spent,
  stateAt,
  type Trace,
} from "./model.ts";
import { markdown } from "./report.ts";
import { merged, refusal, ruleInfo } from "./settings.ts";
import { LONGEST_LINK, pack, type State, scenario, unpack } from "./share.ts";
import { described, Timeline } from "./timeline.ts";
import {
  between,
  clock,
  cost,
  duration,
  headline,
  MEANING,
  money,
  number,
  place,
  plain,
  SIGN,
  serious,
  short,
  time,
  title,
} from "./words.ts";

/** Milliseconds of work before the page gets a turn. */
const SLICE = 8;
/** Characters of a payload that are shown at first. */
const SHOWN = 4000;

let trace: Trace | undefined;
let layout: Layout = layOut([]);
let analysis: Analysis | undefined;
let states: Uint8Array[] = [];
let config: Config = {};
let selected = 0;
let chosen: Loop | undefined;
/** Which two occurrences are compared. */
let sides: [number, number] | undefined;
let falseAlarms: string[] = [];
/** Whether the run came from a person and not with the page. */
let brought = false;
/** Counts replays: one that is overtaken stops. */
let replays = 0;
/** What the first replay of the run came to, to compare later ones with. */
let before: string | undefined;
/** Whether the run is still going on, and the page follows it. */
let live: "live" | "lost" | "ended" | undefined;
/** Proposals that are being tried, which a new replay would break off. */
let trying = 0;

const timeline = new Timeline(choose);
const list = new EventList(choose);
const controls = new Controls(configure);

/** Lets the browser draw and answer before more work. */
const turn = (): Promise<void> =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });

/** Runs a generator to its end in slices; nothing when another replay overtakes it. */
async function inSlices<T, R>(work: Generator<T, R>, mine: number, told: (step: T) => void): Promise<R | undefined> {
  let until = performance.now() + SLICE;
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    if (performance.now() < until) continue;
    told(step.value);
    await turn();
    if (mine !== replays) {
      work.return(undefined as never);
      return undefined;
    }
    until = performance.now() + SLICE;
  }
}

/** Opens a run: it is drawn at once, and judged in slices. */
async function open(next: Trace, from: State = {}): Promise<void> {
  trace = next;
  layout = layOut(next.events);
  [analysis, states, chosen, sides, before] = [undefined, [], undefined, undefined, undefined];
  the<HTMLInputElement>("find").value = "";
  the<HTMLSelectElement>("find-kind").value = "";
  the("found").textContent = "";
  list.filter(undefined);
  config = from.config !== undefined && refusalOf(from.config) === undefined ? from.config : next.config;
  falseAlarms = from.falseAlarms ?? [];
  selected = Math.min(from.event ?? 0, Math.max(0, next.events.length - 1));
  document.title = `${next.name} – Loopwarden`;
  the("start").hidden = true;
  document.body.classList.add("has-run");
  show();
  await ready;
  await replay(from);
}

function refusalOf(wanted: Config): string | undefined {
  // A configuration of a link is tried once the core is there; until then it is taken as it is.
  return loaded ? refusal(wanted) : undefined;
}

/** Replays the run; `quietly` where only its end is new, so that nothing moves that a person looks at. */
async function replay(from: State = {}, quietly = false): Promise<void> {
  if (trace === undefined) return;
  const mine = ++replays;
  const progress = the("progress");
  const why = refusal(config);
  if (why !== undefined) {
    config = {};
    progress.textContent = `The configuration was refused, the recommended one is used: ${why}`;
  }
  const { events } = trace;
  const saved: Uint8Array[] = [];
  const result = await inSlices(analyse(events, config, saved), mine, (done) => {
    if (quietly) return;
    progress.textContent = `Judging event ${done.toLocaleString("en")} of ${events.length.toLocaleString("en")} …`;
  });
  if (result === undefined) return;
  if (why === undefined && !quietly) progress.textContent = "";
  [analysis, states] = [result, saved];
  const wanted = from.loop ?? (chosen && loopKey(chosen));
  const first = chosen === undefined;
  // One rule may find the same thing again later: the one around the selected event is meant.
  const meant = result.loops.filter((loop) => loopKey(loop) === wanted);
  chosen = meant.find(({ onset, last }) => onset <= selected && selected <= last) ?? meant[0] ?? result.loops[0];
  before ??= outcome(result);
  if (quietly) return;
  sides = undefined;
  if (first && from.event === undefined && chosen !== undefined) selected = chosen.at;
  show();
  timeline.reveal(selected);
  list.reveal(selected);
}

/** Takes in a run that goes on. Who looks at its end stays at its end, who looks at something else keeps it. */
async function grow(run: Trace, anew: boolean): Promise<void> {
  if (trace === undefined || anew) {
    await open(run, await unpack(location.hash));
    if (chosen === undefined) choose(run.events.length - 1);
    return;
  }
  const atEnd = selected >= trace.events.length - 1;
  const known = analysis?.peak ?? "continue";
  // What changes by itself is no effect of a setting.
  if (config === trace.config) before = undefined;
  [trace, layout] = [{ ...run, config: trace.config }, layOut(run.events)];
  selected = atEnd ? run.events.length - 1 : Math.min(selected, run.events.length - 1);
  await replay({}, true);
  const peak = analysis?.peak ?? "continue";
  document.title = `${serious(peak) ? `${SIGN[peak]} ${peak} – ` : ""}${run.name} – Loopwarden`;
  keepingFocus(show);
  if (atEnd) {
    timeline.reveal(selected);
    list.reveal(selected);
  }
  // Said where it is read aloud, once for each level.
  const [loudest] = analysis?.loops ?? [];
  if (serious(peak) && peak !== known && loudest !== undefined)
    the("progress").textContent = `New: ${peak}. ${loudest.finding.message}.`;
}

/** Draws anew without taking the keyboard away: the element at the same place in its part of the page has it again. */
function keepingFocus(draw: () => void): void {
  const held = document.activeElement;
  const part = held?.closest("[id]");
  const reachable = "button, input, select, textarea, [tabindex]";
  const at = part && held ? [...part.querySelectorAll(reachable)].indexOf(held) : -1;
  draw();
  if (held?.isConnected || at < 0) return;
  part?.querySelectorAll<HTMLElement>(reachable)[at]?.focus({ preventScroll: true });
}

function follow(source: Source): void {
  document.body.classList.add("is-live");
  the("about").textContent = "Waiting for the session …";
  listen(source, {
    busy: () => {
      const isMarked = getSelection()?.isCollapsed === false;
      return trying > 0 || isMarked || the<HTMLDialogElement>("dialog").open;
    },
    take: grow,
    state: (state) => {
      live = state;
      if (trace !== undefined) showAbout(trace);
    },
  });
}

/** What a replay came to, in a few words. */
function outcome({ peak, loops }: Analysis): string {
  const found = loops.filter((loop) => serious(loop.peak));
  if (found.length === 0) return peak === "continue" ? "no finding" : "nothing to act on";
  const at = found[0]?.reached[found[0].peak];
  return `${found[0]?.peak} at event ${at}${found.length > 1 ? ` and ${number(found.length - 1, "other finding")}` : ""}`;
}

let pending: ReturnType<typeof setTimeout> | undefined;

/** A new configuration: judged anew when the hand rests. */
function configure(next: Config): void {
  config = next;
  controls.show(config, active());
  clearTimeout(pending);
  pending = setTimeout(() => void replay(), 120);
}

/** The rules that the run is about. */
const rulesSeen = new Set<string>();
function active(): string[] {
  for (const { rule } of analysis?.loops ?? []) rulesSeen.add(rule);
  for (const rule of Object.keys(config.rules ?? {})) rulesSeen.add(rule);
  return [...rulesSeen];
}

function choose(event: number): void {
  if (trace === undefined) return;
  selected = Math.min(Math.max(0, event), trace.events.length - 1);
  showSelection();
  timeline.reveal(selected);
  list.reveal(selected);
}

function focus(loop: Loop): void {
  chosen = loop;
  sides = undefined;
  selected = loop.at;
  show();
  timeline.reveal(selected);
  list.reveal(selected);
}

/** Goes to the next finding, or the previous one, in the order of the run: each time a loop reaches a level. */
function jump(step: 1 | -1): void {
  const stops = (analysis?.loops ?? [])
    .flatMap((loop) => Object.values(loop.reached).map((at) => ({ at, loop })))
    .sort((a, b) => a.at - b.at);
  const next = step === 1 ? stops.find(({ at }) => at > selected) : stops.reverse().find(({ at }) => at < selected);
  if (next === undefined) return;
  if (chosen !== next.loop) [chosen, sides] = [next.loop, undefined];
  selected = next.at;
  show();
  timeline.reveal(selected);
  list.reveal(selected);
}

// --- Showing ---

function show(): void {
  if (trace === undefined) return;
  showAbout(trace);
  showHeadline(trace);
  showLoops(trace);
  showEvidence(trace);
  showReport();
  showAlarm(trace);
  if (loaded) controls.show(config, active());
  const now = analysis && outcome(analysis);
  the("outcome").textContent =
    now === undefined ? "" : before === now ? `Now: ${now}.` : `Now: ${now}. Before: ${before}.`;
  showSelection();
}

function showAbout({ name, format, events, errors }: Trace): void {
  const unread = errors.length + (analysis?.refused ?? 0);
  const going = { live: "● live", lost: "○ connection lost", ended: "○ no longer followed" };
  const state = live === undefined ? [] : [going[live]];
  const parts = [
    ...state,
    name,
    format,
    number(events.length, "event"),
    ...(unread > 0 ? [`${unread} not readable`] : []),
  ];
  const total = between(events, 0, events.length - 1);
  if (total !== undefined) parts.push(duration(total));
  const tokens = events.reduce((sum, event) => sum + (event.tokens ?? 0), 0);
  const spent = events.reduce((sum, event) => sum + (costOf(event as Event, config) ?? 0), 0);
  if (tokens > 0) parts.push(number(tokens, "token"));
  if (spent > 0) parts.push(money(spent));
  the("about").textContent = parts.join(" · ");
  const unreadable = the("unread");
  unreadable.hidden = errors.length === 0;
  unreadable.querySelector("summary")?.replaceChildren(`What could not be read: ${number(errors.length, "line")}`);
  unreadable
    .querySelector("ul")
    ?.replaceChildren(...errors.slice(0, 20).map(({ line, message }) => h("li", {}, `Line ${line}: ${message}`)));
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-needs-run]"))
    button.disabled = analysis === undefined;
}

function showHeadline(run: Trace): void {
  const card = the("headline");
  card.hidden = analysis === undefined;
  if (analysis === undefined) return;
  // What a person calls a false alarm does not lead, and where all are, there is nothing to tell.
  const open = analysis.loops.filter((loop) => !falseAlarms.includes(loopKey(loop)));
  const marked = analysis.loops.length - open.length;
  const head = headline(run, marked > 0 ? { ...analysis, loops: open } : analysis, open[0], marked);
  const [first] = open;
  const what = first && head.what?.replace(first.finding.message, () => worded(run, layout, first));
  card.className = `card headline ${head.level}`;
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
      h("span", { class: `chip big ${head.level}` }, `${SIGN[head.level]} ${head.level}`.trim()),
      h("span", { class: "meaning" }, MEANING[head.level]),
    ),
    h("h1", { id: "headline-title" }, head.title),
    h("p", { class: "what" }, ...(what === undefined ? [head.action.detail] : ticked(what))),
    ...(head.quote === undefined ? [] : [h("p", { class: "quote" }, "It keeps getting: ", h("q", {}, head.quote))]),
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

function showLoops(run: Trace): void {
  const loops = analysis?.loops ?? [];
  the("loops").replaceChildren(
    ...loops.slice(0, 50).map((loop) => {
      const marked = falseAlarms.includes(loopKey(loop));
      return h(
        "li",
        {},
        h(
          "button",
          {
            type: "button",
            class: `loop${marked ? " marked" : ""}`,
            "aria-current": String(loop === chosen),
            click: () => focus(loop),
          },
          h("span", { class: `chip ${loop.peak}` }, `${SIGN[loop.peak]} ${loop.peak}`),
          h("span", { class: "loop-text" }, ...ticked(worded(run, layout, loop))),
          h(
            "span",
            { class: "loop-more" },
            `${[loop.rule, loop.scope.agent, loop.scope.task].flatMap((part) => (part === undefined ? [] : [short(part, 30)])).join(", ")}, ${place(run, loop.onset)} to ${place(run, loop.last)}; ${cost(loop.finding.wasted)}${marked ? "; marked as a false alarm" : ""}`,
          ),
        ),
      );
    }),
    ...(loops.length === 0 && analysis !== undefined ? [h("li", { class: "note" }, "None.")] : []),
    ...(loops.length > 50 ? [h("li", { class: "note" }, `and ${loops.length - 50} more, in the timeline`)] : []),
  );
}

function showEvidence(run: Trace): void {
  const card = the("evidence-card");
  card.hidden = chosen === undefined;
  if (chosen === undefined || analysis === undefined) return;
  const found = occurrences(run, layout, chosen);
  // The first one, and the latest that was not asked in the very same words: what differs says most.
  const words = (index: number) => JSON.stringify(found[index]?.asked).replaceAll(/\s|\\[nt]/g, "");
  const other = found.findLastIndex((_, index) => words(index) !== words(0));
  const differ = other > 0;
  sides ??= [0, differ ? other : found.length - 1];
  the("evidence").replaceChildren(
    ...evidenceWords(chosen, found.length, differ),
    ...common(found),
    compare(
      run,
      found,
      sides,
      (pair) => {
        sides = pair;
        showEvidence(run);
      },
      choose,
    ),
  );
}

/** What was counted, in words, and why what is shown is shown. */
function evidenceWords({ rule, finding }: Loop, events: number, differ: boolean): HTMLElement[] {
  const unit = ruleInfo(rule)?.unit ?? "sightings";
  const counted = `${finding.count} ${unit}`;
  const sure = `${Math.round(finding.confidence / 10)} % sure`;
  const told = `: ${counted}, and ${finding.level} is from ${finding.threshold} on (${sure}).`;
  const why =
    events < 2
      ? ""
      : `${number(events, "event")} of the run belong to it. Side by side are the first and the latest${differ ? " that was asked in other words" : ""}; the lists above the texts choose others.`;
  return [
    h("p", { class: "what-rule" }, h("code", {}, rule), told),
    ...(why === "" ? [] : [h("p", { class: "note" }, why)]),
  ];
}

function showReport(): void {
  const card = the("report-card");
  card.hidden = chosen === undefined || trace === undefined;
  if (chosen === undefined || trace === undefined || states.length === 0) return;
  using detector = stateAt(trace.events, states, chosen.at);
  const scope = chosen.scope;
  the("report").replaceChildren(
    markdown(told(trace, detector.report(scope))),
    h(
      "p",
      {},
      h(
        "button",
        {
          type: "button",
          class: "small",
          click: (event: globalThis.Event) => void copied(event, () => stateText(scope)),
        },
        "Copy as Markdown",
      ),
    ),
  );
}

function stateText(scope: Scope): string {
  if (trace === undefined || chosen === undefined) return "";
  using detector = stateAt(trace.events, states, chosen.at);
  return told(trace, detector.report(scope));
}

/** The report in the words of the run. */
function told({ events, lines, format }: Trace, report: string): string {
  return readable(report, (seq) => {
    const index = indices()[seq];
    const event = index === undefined ? undefined : events[index];
    if (index === undefined || event === undefined) return undefined;
    const place = format === "trace" || lines[index] === undefined ? undefined : `line ${lines[index]}`;
    return quoted(event, events[layout.partner[index] ?? -1], place);
  });
}

/** Where the event with a number stands. */
function indices(): number[] {
  const found: number[] = [];
  for (const [index, { verdict }] of (analysis?.judged ?? []).entries())
    if (verdict !== undefined && trace?.events[index]?.pending !== true) found[verdict.seq] = index;
  return found;
}

function showSelection(): void {
  if (trace === undefined) return;
  const scene = { events: trace.events, layout, analysis, selected, loop: chosen };
  timeline.show(scene);
  list.show(trace.events, analysis?.judged ?? [], selected, new Set(chosen?.occurrences.map(({ event }) => event)));
  the("described").textContent = described(scene);
  the("position").textContent = trace.events.length === 0 ? "" : `${selected} of 0–${trace.events.length - 1}`;
  showEvent(trace);
  cancelIdle?.();
  cancelIdle = idle(() => showFlow());
}

let cancelIdle: (() => void) | undefined;
function idle(work: () => void): () => void {
  const timer = setTimeout(work, 60);
  return () => clearTimeout(timer);
}

function showEvent(run: Trace): void {
  const event = run.events[selected];
  if (event === undefined) return;
  const judged = analysis?.judged[selected];
  const verdict = judged?.verdict;
  const level = judged?.level ?? "continue";
  const partner = layout.partner[selected];
  const fields = Object.entries(event).filter(([name, value]) => !["type", "at"].includes(name) && value != null);
  const when = time(run.events, selected);
  const body: (HTMLElement | false)[] = [
    h(
      "h3",
      {},
      `${title(event)} `,
      h(
        "span",
        { class: "detail" },
        `${place(run, selected)}${when === undefined ? "" : `, ${when}`}, ${agent(event)}`,
      ),
    ),
    ...took(run, selected, partner),
    h(
      "p",
      { class: "verdict" },
      h("span", { class: `chip ${level}` }, `${SIGN[level]} ${level}`.trim()),
      h("span", { class: "meaning" }, judged?.error ?? MEANING[level]),
    ),
    verdict?.guidance !== undefined && h("blockquote", {}, h("strong", {}, "Said to the agent: "), verdict.guidance),
    ...(verdict?.findings ?? []).map((finding) =>
      h("p", { class: "finding" }, h("code", {}, finding.rule), ` ${finding.level}: `, ...ticked(finding.message)),
    ),
    (verdict?.suggestedActions.length ?? 0) > 0 &&
      h("p", {}, h("strong", {}, "What a host can do: "), verdict?.suggestedActions.join("; ") ?? ""),
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

/** How long it took and what it cost, as far as the events tell. */
function took(run: Trace, index: number, partner: number | undefined): HTMLElement[] {
  const event = run.events[index];
  const since = between(run.events, 0, index);
  const span =
    partner === undefined ? undefined : between(run.events, Math.min(index, partner), Math.max(index, partner));
  const { tokens, costMicros } = event === undefined ? { tokens: 0, costMicros: 0 } : spent(event, config);
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

/** Trend, badges, phases and the graph, as they stood after the selected event. */
function showFlow(): void {
  const card = the("flow-card");
  if (trace === undefined || states.length === 0) {
    card.hidden = true;
    return;
  }
  const { events } = trace;
  const event = events[selected];
  const scope: Scope = {
    ...(event?.run != null && { run: event.run }),
    ...(event?.task != null && { task: event.task }),
  };
  using detector = stateAt(events, states, selected);
  const status = detector.status(scope);
  const parts: HTMLElement[] = agents(events);
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
  const phases = phaseFlow(events, selected);
  if (phases.length > 0)
    parts.push(graph(phases, "From phase to phase", event?.type === "transition" ? event.to : undefined));
  const work = collaboration(events, selected);
  if (work.length > 0)
    parts.push(graph(work, "Who handed work to whom", event === undefined ? undefined : agent(event)));
  card.hidden = parts.length === 0;
  if (parts.length > 0) parts.unshift(h("p", { class: "note" }, `As it stood after event ${selected}.`));
  the("flow").replaceChildren(...parts);
}

/** The agents of the run below those that started them, with what each did and cost. */
function agents(events: readonly TraceEvent[]): HTMLElement[] {
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

// --- Finding events ---

let looking: ReturnType<typeof setTimeout> | undefined;

/** Lists the events that are looked for; how many there are is said. */
function find(): void {
  const text = the<HTMLInputElement>("find").value;
  const kind = the<HTMLSelectElement>("find-kind").value;
  const found =
    trace === undefined
      ? undefined
      : listed(
          trace.events,
          text,
          kind,
          analysis?.judged ?? [],
          new Set(chosen?.occurrences.map(({ event }) => event)),
        );
  list.filter(found);
  the("found").textContent =
    found === undefined
      ? ""
      : found.length === 0
        ? "No event is like that."
        : `${number(found.length, "event")} of ${trace?.events.length.toLocaleString("en")}`;
  showSelection();
}

// --- False alarms ---

function showAlarm(run: Trace): void {
  const root = the("alarm");
  if (chosen === undefined || analysis === undefined) {
    const undo = falseAlarms.length > 0 && analysis !== undefined;
    root.replaceChildren(...(undo ? [marks()] : []));
    return;
  }
  const loop = chosen;
  const key = loopKey(loop);
  if (!falseAlarms.includes(key)) {
    root.replaceChildren(
      h(
        "p",
        {},
        h("button", { type: "button", id: "false-alarm", click: () => void mark(run, loop) }, "This is a false alarm"),
      ),
      ...(falseAlarms.length > 0 ? [marks()] : []),
    );
  } else if (root.querySelector("[data-proposals]")?.getAttribute("data-proposals") !== key) {
    void mark(run, loop);
  }
}

/** What was marked, to take back. */
function marks(): HTMLElement {
  const items = falseAlarms.map((key) => {
    const [rule, signature] = namesOf(key);
    return h(
      "li",
      {},
      h("code", {}, rule),
      ` ${short(signature, 60)} `,
      h("button", { type: "button", class: "small", click: () => unmark(key) }, "Not a false alarm"),
    );
  });
  return h("div", { class: "marks" }, h("h3", {}, "Marked as false alarms"), h("ul", {}, ...items));
}

/** A link brings its own keys: what is none is shown as it is. */
function namesOf(key: string): [string, string] {
  try {
    const parsed: unknown = JSON.parse(key);
    if (Array.isArray(parsed)) return [String(parsed[0] ?? ""), String(parsed[1] ?? "")];
  } catch {}
  return [key, ""];
}

function unmark(key: string): void {
  falseAlarms = falseAlarms.filter((other) => other !== key);
  the("alarm").replaceChildren();
  show();
}

async function mark(run: Trace, loop: Loop): Promise<void> {
  const root = the("alarm");
  const key = loopKey(loop);
  if (!falseAlarms.includes(key)) falseAlarms = [...falseAlarms, key];
  const box = h(
    "div",
    { "data-proposals": key, class: "proposals", role: "status" },
    h("p", {}, "Trying what would keep quiet about it …"),
  );
  root.replaceChildren(box, marks());
  showLoops(run);
  showHeadline(run);
  if (analysis === undefined) return;
  trying++;
  const found = await inSlices(
    exemptions(run.events, config, analysis, loop, layout.partner),
    replays,
    () => {},
  ).finally(() => {
    trying--;
  });
  if (found === undefined || !box.isConnected) return;
  const exempt = `detector.acknowledge(${JSON.stringify(loop.scope)}, ${JSON.stringify({ decision: "exempt", rule: loop.rule, signature: loop.signature })});`;
  box.replaceChildren(
    h("h3", {}, "A line for your configuration"),
    h("p", { class: "note" }, "Each was tried on this run: with it, the finding does not come back."),
    ...found.map(({ title, change, alsoSilent }, index) =>
      h(
        "div",
        { class: "proposal" },
        h("p", {}, ...ticked(title), alsoSilent.length > 0 && h("em", {}, ` (also silent: ${alsoSilent.join(", ")})`)),
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
            { type: "button", class: "small", click: () => configure(merged(config, change)) },
            "Use it here",
          ),
        ),
      ),
    ),
    ...(found.length === 0 ? [h("p", {}, "No single line keeps quiet about it; the settings below can.")] : []),
    h("p", { class: "note" }, "Or, for one run of a host that is going on:"),
    h("pre", { tabindex: 0, role: "group", "aria-label": "Exemption for one run" }, exempt),
  );
}

// --- Links and files ---

async function copied(event: globalThis.Event, text: () => string): Promise<void> {
  const button = event.currentTarget as HTMLButtonElement;
  const label = button.textContent;
  if (
    await copy(text(), (text) =>
      showDialog("To copy", "The browser does not let this page write to the clipboard.", text),
    )
  ) {
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = label;
    }, 1500);
  }
}

function showDialog(heading: string, note: string, text: string): void {
  the("dialog-title").textContent = heading;
  the("dialog-note").textContent = note;
  the<HTMLTextAreaElement>("dialog-text").value = text;
  the<HTMLDialogElement>("dialog").showModal();
  the<HTMLTextAreaElement>("dialog-text").select();
}

async function link(): Promise<void> {
  if (trace === undefined) return;
  const state: State = {
    event: selected,
    ...(chosen !== undefined && { loop: loopKey(chosen) }),
    ...(Object.keys(config).length > 0 && { config }),
    ...(falseAlarms.length > 0 && { falseAlarms }),
  };
  const { name, events } = trace;
  let hash = await pack(brought ? { ...state, trace: { name, events } } : state);
  let note = brought ? "The link holds the run itself." : "The link opens this file at this place.";
  if (hash.length > LONGEST_LINK) {
    hash = await pack(state);
    note = "The run is too long for a link: open it on the page first, then follow the link.";
  }
  history.replaceState(undefined, "", `#${hash}`);
  const text = location.href;
  if (await copy(text, () => showDialog("Link to this state", note, text)))
    the("progress").textContent = `Link copied. ${note}`;
}

function exportCase(): void {
  if (trace === undefined || analysis === undefined) return;
  const line = `${JSON.stringify(scenario(trace, config, analysis, falseAlarms))}\n`;
  save(`${JSON.parse(line).id}.scenario.jsonl`, line);
  the("progress").textContent = "Exported. Check it with: loopwarden eval FILE";
}

/** Reads what a person brought. */
async function bring(name: string, text: string, from: State = {}): Promise<void> {
  const complain = (message: string) => {
    the("start").hidden = false;
    the("refusal").textContent = message;
  };
  if (text.includes("\u0000")) {
    complain(`${name} is no text: a log is UTF-8 text, plain or packed with gzip.`);
    return;
  }
  await ready;
  let read: ReturnType<typeof readTranscript>;
  try {
    read = readTranscript(text);
  } catch (error) {
    if (!(error instanceof LoopwardenError)) throw error;
    complain(error.message);
    return;
  }
  const errors = read.errors.map(({ line, error }) => {
    const { code, message } = new LoopwardenError(error);
    return { line, message: code === "invalid-json" ? `no JSON: ${message}` : message };
  });
  if (read.events.length === 0) {
    const [first] = errors;
    complain(
      first === undefined
        ? `There is no event in ${name}. It was read as ${read.format}; the list below tells what can be read.`
        : `There is no event that can be read in it${read.format === "trace" ? "" : ` (it looked most like ${read.format})`}. Line ${first.line}: ${first.message}`,
    );
    the<HTMLDetailsElement>("formats").open = true;
    return;
  }
  the("refusal").textContent = "";
  brought = true;
  await open(
    { name, format: read.format, events: read.events, lines: read.lines, errors, config: configOf(text) },
    from,
  );
}

/** The configuration that a scenario brings along. */
function configOf(text: string): Config {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && "events" in value && "config" in value) {
      const { config } = value as { config: Config | null };
      return config !== null && refusal(config) === undefined ? config : {};
    }
  } catch {}
  return {};
}

async function bringFile(file: File): Promise<void> {
  const packed = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isGzip = packed[0] === 0x1f && packed[1] === 0x8b;
  try {
    const body = isGzip ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
    await bring(file.name, await new Response(body).text());
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    the("start").hidden = false;
    the("refusal").textContent = `${file.name} cannot be read: ${error.message}`;
  }
}

// --- Starting ---

let loaded = false;

/** A module that the page holds: packed, in an element. */
async function compiled(id: string): Promise<WebAssembly.Module> {
  const packed = the(id).textContent ?? "";
  const bytes = Uint8Array.from(atob(packed), (char) => char.charCodeAt(0));
  const unpacked = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  return WebAssembly.compile(await unpacked.arrayBuffer());
}

async function load(): Promise<void> {
  const modules = await Promise.all(["core", "tools"].map(compiled));
  for (const [index, module] of [core, tools].entries()) module.init(modules[index] as WebAssembly.Module);
  loaded = true;
  the("version").textContent = `Loopwarden ${version()}`;
}

the("timeline").append(timeline.element);
the("events").append(list.element);
the("settings").append(controls.element);

the("previous").addEventListener("click", () => choose(selected - 1));
the("next").addEventListener("click", () => choose(selected + 1));
the("previous-loop").addEventListener("click", () => jump(-1));
the("next-loop").addEventListener("click", () => jump(1));
the("link").addEventListener("click", () => void link());
the("export").addEventListener("click", exportCase);
the("open").addEventListener("click", () => {
  the("start").hidden = false;
  the("choose").focus();
});
the("choose").addEventListener("click", () => the("file").click());
the("file").addEventListener("change", () => {
  const input = the<HTMLInputElement>("file");
  const file = input.files?.[0];
  input.value = "";
  if (file !== undefined) void bringFile(file);
});
for (const [id, made] of [
  ["example", example],
  ["example-workflow", workflow],
] as const)
  the(id).addEventListener("click", () => {
    brought = true;
    void open(made());
  });
the("find").addEventListener("input", () => {
  clearTimeout(looking);
  looking = setTimeout(find, 120);
});
the("find-kind").append(...QUICK.map(([kind, label]) => h("option", { value: kind }, label)));
the("find-kind").addEventListener("change", find);
the("read").addEventListener("click", () => void bring("pasted run", the<HTMLTextAreaElement>("paste").value));

document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
document.addEventListener("dragleave", (event) => {
  if (event.relatedTarget === null) document.body.classList.remove("dropping");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const file = event.dataTransfer?.files[0];
  const text = event.dataTransfer?.getData("text/plain");
  if (file !== undefined) void bringFile(file);
  else if (text) void bring("dropped text", text);
});
document.addEventListener("paste", (event) => {
  const into = event.target instanceof Element && event.target.closest("textarea, input");
  const text = event.clipboardData?.getData("text/plain");
  if (!into && text) void bring("pasted run", text);
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || trace === undefined) return;
  const target = event.target instanceof Element ? event.target : document.body;
  if (target.closest("textarea, input, select, dialog")) return;
  const inList = target.closest(".events") !== null;
  const page = Math.max(1, Math.floor(list.element.clientHeight / 30) - 1);
  const inPicker = inList || target.closest(".scroller") !== null;
  const moves: Record<string, (() => void) | undefined> = {
    ArrowRight: () => choose(selected + 1),
    ArrowLeft: () => choose(selected - 1),
    ArrowDown: inPicker ? () => choose(inList ? list.neighbour(selected, 1) : selected - 1) : undefined,
    ArrowUp: inPicker ? () => choose(inList ? list.neighbour(selected, -1) : selected + 1) : undefined,
    PageDown: inPicker ? () => choose(inList ? list.neighbour(selected, page) : selected - page) : undefined,
    PageUp: inPicker ? () => choose(inList ? list.neighbour(selected, -page) : selected + page) : undefined,
    "/": () => the("find").focus(),
    Home: inPicker ? () => choose(0) : undefined,
    End: inPicker ? () => choose(Number.MAX_SAFE_INTEGER) : undefined,
    n: () => jump(1),
    p: () => jump(-1),
  };
  // A scrollable payload keeps its arrows.
  if (event.key.startsWith("Arrow") && target.closest("pre")) return;
  const move = Object.hasOwn(moves, event.key) ? moves[event.key] : undefined;
  if (move === undefined) return;
  event.preventDefault();
  move();
});

async function start(): Promise<void> {
  const own: Trace | Source | null = JSON.parse(the("trace").textContent ?? "null");
  const from = await unpack(location.hash);
  if (own !== null && isSource(own)) follow(own);
  else if (own !== null) await open(own, from);
  else if (from?.trace !== undefined) {
    brought = true;
    // A link is somebody else's text: its run goes the way of a pasted one.
    const { name, events } = from.trace;
    await bring(name, events.map((event) => JSON.stringify(event)).join("\n"), from);
  } else {
    the("start").hidden = false;
    await ready;
  }
}

// The run is drawn before the core is there.
const ready: Promise<void> = turn().then(load);
ready.catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error);
  the("progress").textContent = /content security policy|unsafe-eval/i.test(message)
    ? "The detector could not be started: this page is shown under a content security policy that forbids WebAssembly. Open the file itself, or have the policy allow 'wasm-unsafe-eval' in script-src."
    : `The detector could not be started: ${message}`;
});
addEventListener("hashchange", async () => {
  const from = await unpack(location.hash);
  if (from === undefined || trace === undefined) return;
  config = from.config ?? trace.config;
  falseAlarms = from.falseAlarms ?? [];
  if (from.event !== undefined) selected = Math.min(from.event, trace.events.length - 1);
  await replay(from);
});
void start();
