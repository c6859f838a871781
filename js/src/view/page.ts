// The page: keeps the state of the view and makes every part show it.

import { core, version } from "../core.ts";
import type { Config } from "../generated/types.ts";
import { tools } from "../tools.ts";
import { readRun, textOf, Unreadable } from "./bring.ts";
import { Controls } from "./controls.ts";
import { copy, h, save, showDialog, the } from "./dom.ts";
import { example, workflow } from "./example.ts";
import { listed, QUICK } from "./find.ts";
import { showEvidence, showReport } from "./finding.ts";
import { EventList } from "./list.ts";
import { isSource, listen, type Source } from "./live.ts";
import { isTrying, showAlarm } from "./marks.ts";
import { type Analysis, analyse, type Loop, layOut, loopKey, type Trace } from "./model.ts";
import { showAbout, showHeadline, showLoops } from "./overview.ts";
import { showEvent, showFlow } from "./selection.ts";
import { refusal } from "./settings.ts";
import { LONGEST_LINK, pack, type State, scenario, unpack } from "./share.ts";
import { inSlices, turn } from "./slices.ts";
import { described, Timeline } from "./timeline.ts";
import type { Actions, View } from "./view.ts";
import { number, SIGN, serious } from "./words.ts";

const view: View = {
  trace: undefined,
  layout: layOut([]),
  analysis: undefined,
  states: [],
  config: {},
  selected: 0,
  chosen: undefined,
  sides: undefined,
  falseAlarms: [],
  live: undefined,
  replays: 0,
};
const actions: Actions = { choose, focus, configure, show };
/** Whether the run was provided by the user rather than embedded in the page. */
let brought = false;
/** The outcome of the run's first replay, for comparison with later ones. */
let before: string | undefined;

const timeline = new Timeline(choose);
const list = new EventList(choose);
const controls = new Controls(configure);

/** Opens a run: draws it immediately and judges it in slices. */
async function open(next: Trace, from: State = {}): Promise<void> {
  view.trace = next;
  view.layout = layOut(next.events);
  Object.assign(view, { analysis: undefined, states: [], chosen: undefined, sides: undefined } satisfies Partial<View>);
  before = undefined;
  the<HTMLInputElement>("find").value = "";
  the<HTMLSelectElement>("find-kind").value = "";
  the("found").textContent = "";
  list.filter(undefined);
  view.config = from.config !== undefined && refusalOf(from.config) === undefined ? from.config : next.config;
  view.falseAlarms = from.falseAlarms ?? [];
  view.selected = Math.min(from.event ?? 0, Math.max(0, next.events.length - 1));
  document.title = `${next.name} – Loopwarden`;
  the("start").hidden = true;
  document.body.classList.add("has-run");
  show();
  await ready;
  await replay(from);
}

function refusalOf(wanted: Config): string | undefined {
  // The configuration of a link can only be checked once the core is loaded.
  return loaded ? refusal(wanted) : undefined;
}

/** Replays the run; with `quietly`, if only the end is new, nothing that the user looks at moves. */
async function replay(from: State = {}, quietly = false): Promise<void> {
  if (view.trace === undefined) return;
  const mine = ++view.replays;
  const progress = the("progress");
  const why = refusal(view.config);
  if (why !== undefined) {
    view.config = {};
    progress.textContent = `The configuration is invalid, so the recommended one is used: ${why}`;
  }
  const { events } = view.trace;
  const saved: Uint8Array[] = [];
  const result = await inSlices(
    analyse(events, view.config, saved),
    () => mine !== view.replays,
    (done) => {
      if (quietly) return;
      progress.textContent = `Judging event ${done.toLocaleString("en")} of ${events.length.toLocaleString("en")} …`;
    },
  );
  if (result === undefined) return;
  if (why === undefined && !quietly) progress.textContent = "";
  [view.analysis, view.states] = [result, saved];
  const wanted = from.loop ?? (view.chosen && loopKey(view.chosen));
  const first = view.chosen === undefined;
  // A loop with the same key may occur again later: prefer the one around the selected event.
  const meant = result.loops.filter((loop) => loopKey(loop) === wanted);
  view.chosen =
    meant.find(({ onset, last }) => onset <= view.selected && view.selected <= last) ?? meant[0] ?? result.loops[0];
  before ??= outcome(result);
  if (quietly) return;
  view.sides = undefined;
  if (first && from.event === undefined && view.chosen !== undefined) view.selected = view.chosen.at;
  show();
  timeline.reveal(view.selected);
  list.reveal(view.selected);
}

/** Shows an update of a live run. If the last event was selected, the selection follows the end. */
async function grow(run: Trace, anew: boolean): Promise<void> {
  if (view.trace === undefined || anew) {
    await open(run, await unpack(location.hash));
    if (view.chosen === undefined) choose(run.events.length - 1);
    return;
  }
  const atEnd = view.selected >= view.trace.events.length - 1;
  const known = view.analysis?.peak ?? "continue";
  // A change of the run must not be shown as the effect of a setting.
  if (view.config === view.trace.config) before = undefined;
  [view.trace, view.layout] = [{ ...run, config: view.trace.config }, layOut(run.events)];
  view.selected = atEnd ? run.events.length - 1 : Math.min(view.selected, run.events.length - 1);
  await replay({}, true);
  const peak = view.analysis?.peak ?? "continue";
  document.title = `${serious(peak) ? `${SIGN[peak]} ${peak} – ` : ""}${run.name} – Loopwarden`;
  keepingFocus(show);
  if (atEnd) {
    timeline.reveal(view.selected);
    list.reveal(view.selected);
  }
  // Announced to screen readers, once per level.
  const [loudest] = view.analysis?.loops ?? [];
  if (serious(peak) && peak !== known && loudest !== undefined)
    the("progress").textContent = `New: ${peak}. ${loudest.finding.message}.`;
}

/** Redraws and restores the keyboard focus to the element at the same position in its part of the page. */
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
      return isTrying() || isMarked || the<HTMLDialogElement>("dialog").open;
    },
    take: grow,
    state: (state) => {
      view.live = state;
      if (view.trace !== undefined) showAbout(view, view.trace);
    },
  });
}

/** A short summary of a replay. */
function outcome({ peak, loops }: Analysis): string {
  const found = loops.filter((loop) => serious(loop.peak));
  if (found.length === 0) return peak === "continue" ? "no finding" : "nothing to act on";
  const at = found[0]?.reached[found[0].peak];
  return `${found[0]?.peak} at event ${at}${found.length > 1 ? ` and ${number(found.length - 1, "other finding")}` : ""}`;
}

let pending: ReturnType<typeof setTimeout> | undefined;

/** Sets a new configuration; the replay is debounced. */
function configure(next: Config): void {
  view.config = next;
  controls.show(view.config, active());
  clearTimeout(pending);
  pending = setTimeout(() => void replay(), 120);
}

/** The rules relevant to the run: found in it or configured. */
const rulesSeen = new Set<string>();
function active(): string[] {
  for (const { rule } of view.analysis?.loops ?? []) rulesSeen.add(rule);
  for (const rule of Object.keys(view.config.rules ?? {})) rulesSeen.add(rule);
  return [...rulesSeen];
}

function choose(event: number): void {
  if (view.trace === undefined) return;
  view.selected = Math.min(Math.max(0, event), view.trace.events.length - 1);
  showSelection();
  timeline.reveal(view.selected);
  list.reveal(view.selected);
}

function focus(loop: Loop): void {
  view.chosen = loop;
  view.sides = undefined;
  view.selected = loop.at;
  show();
  timeline.reveal(view.selected);
  list.reveal(view.selected);
}

/** Selects the next or previous event at which a loop reaches a level. */
function jump(step: 1 | -1): void {
  const stops = (view.analysis?.loops ?? [])
    .flatMap((loop) => Object.values(loop.reached).map((at) => ({ at, loop })))
    .sort((a, b) => a.at - b.at);
  const next =
    step === 1 ? stops.find(({ at }) => at > view.selected) : stops.reverse().find(({ at }) => at < view.selected);
  if (next === undefined) return;
  if (view.chosen !== next.loop) [view.chosen, view.sides] = [next.loop, undefined];
  view.selected = next.at;
  show();
  timeline.reveal(view.selected);
  list.reveal(view.selected);
}

// --- Showing ---

function show(): void {
  const { trace } = view;
  if (trace === undefined) return;
  showAbout(view, trace);
  showHeadline(view, trace, actions);
  showLoops(view, trace, actions);
  showEvidence(view, trace, actions);
  showReport(view);
  showAlarm(view, trace, actions);
  if (loaded) controls.show(view.config, active());
  const now = view.analysis && outcome(view.analysis);
  the("outcome").textContent =
    now === undefined ? "" : before === now ? `Now: ${now}.` : `Now: ${now}. Before: ${before}.`;
  showSelection();
}

function showSelection(): void {
  const { trace, layout, analysis, selected, chosen } = view;
  if (trace === undefined) return;
  const { events } = trace;
  const scene = { events, layout, analysis, selected, loop: chosen };
  timeline.show(scene);
  list.show(events, analysis?.judged ?? [], selected, new Set(chosen?.occurrences.map(({ event }) => event)));
  the("described").textContent = described(scene);
  the("position").textContent = events.length === 0 ? "" : `${selected} of 0–${events.length - 1}`;
  showEvent(view, trace, actions);
  cancelIdle?.();
  cancelIdle = idle(() => showFlow(view, actions));
}

let cancelIdle: (() => void) | undefined;
function idle(work: () => void): () => void {
  const timer = setTimeout(work, 60);
  return () => clearTimeout(timer);
}

// --- Finding events ---

let looking: ReturnType<typeof setTimeout> | undefined;

/** Lists the events that match the search, and shows their number. */
function find(): void {
  const text = the<HTMLInputElement>("find").value;
  const kind = the<HTMLSelectElement>("find-kind").value;
  const { trace, analysis, chosen } = view;
  const marked = new Set(chosen?.occurrences.map(({ event }) => event));
  const found = trace && listed(trace.events, text, kind, analysis?.judged ?? [], marked);
  list.filter(found);
  the("found").textContent =
    found === undefined
      ? ""
      : found.length === 0
        ? "No matching event."
        : `${number(found.length, "event")} of ${trace?.events.length.toLocaleString("en")}`;
  showSelection();
}

// --- Links and files ---

async function link(): Promise<void> {
  const { trace, selected: event, chosen, config, falseAlarms } = view;
  if (trace === undefined) return;
  const state: State = {
    event,
    ...(chosen !== undefined && { loop: loopKey(chosen) }),
    ...(Object.keys(config).length > 0 && { config }),
    ...(falseAlarms.length > 0 && { falseAlarms }),
  };
  const { name, events } = trace;
  let hash = await pack(brought ? { ...state, trace: { name, events } } : state);
  let note = brought ? "The link contains the run itself." : "The link opens this file at this position.";
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
  const { trace, analysis, config, falseAlarms } = view;
  if (trace === undefined || analysis === undefined) return;
  const line = `${JSON.stringify(scenario(trace, config, analysis, falseAlarms))}\n`;
  save(`${JSON.parse(line).id}.scenario.jsonl`, line);
  the("progress").textContent = "Exported. Check it with: npx loopwarden eval FILE";
}

/** Opens a run provided by the user, or shows why it cannot be read. */
async function bring(name: string, text: string | Promise<string>, from: State = {}): Promise<void> {
  try {
    const read = await text;
    await ready;
    const run = readRun(name, read);
    the("refusal").textContent = "";
    brought = true;
    await open(run, from);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    the("start").hidden = false;
    the("refusal").textContent = error.message;
    if (error.isOfNoFormat) the<HTMLDetailsElement>("formats").open = true;
  }
}

// --- Starting ---

let loaded = false;

/** Compiles a WebAssembly module embedded in an element (gzip, base64). */
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

the("previous").addEventListener("click", () => choose(view.selected - 1));
the("next").addEventListener("click", () => choose(view.selected + 1));
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
  if (file !== undefined) void bring(file.name, textOf(file));
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
  if (file !== undefined) void bring(file.name, textOf(file));
  else if (text) void bring("dropped text", text);
});
document.addEventListener("paste", (event) => {
  const into = event.target instanceof Element && event.target.closest("textarea, input");
  const text = event.clipboardData?.getData("text/plain");
  if (!into && text) void bring("pasted run", text);
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || view.trace === undefined) return;
  const target = event.target instanceof Element ? event.target : document.body;
  if (target.closest("textarea, input, select, dialog")) return;
  const inList = target.closest(".events") !== null;
  const page = Math.max(1, Math.floor(list.element.clientHeight / 30) - 1);
  const inPicker = inList || target.closest(".scroller") !== null;
  const moves: Record<string, (() => void) | undefined> = {
    ArrowRight: () => choose(view.selected + 1),
    ArrowLeft: () => choose(view.selected - 1),
    ArrowDown: inPicker ? () => choose(inList ? list.neighbour(view.selected, 1) : view.selected - 1) : undefined,
    ArrowUp: inPicker ? () => choose(inList ? list.neighbour(view.selected, -1) : view.selected + 1) : undefined,
    PageDown: inPicker ? () => choose(inList ? list.neighbour(view.selected, page) : view.selected - page) : undefined,
    PageUp: inPicker ? () => choose(inList ? list.neighbour(view.selected, -page) : view.selected + page) : undefined,
    "/": () => the("find").focus(),
    Home: inPicker ? () => choose(0) : undefined,
    End: inPicker ? () => choose(Number.MAX_SAFE_INTEGER) : undefined,
    n: () => jump(1),
    p: () => jump(-1),
  };
  // In a payload, the arrow keys scroll.
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
    // A link is untrusted: its run is read like a pasted one.
    const { name, events } = from.trace;
    await bring(name, events.map((event) => JSON.stringify(event)).join("\n"), from);
  } else {
    the("start").hidden = false;
    await ready;
  }
}

// The run is drawn before the core is loaded.
const ready: Promise<void> = turn().then(load);
ready.catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error);
  the("progress").textContent = /content security policy|unsafe-eval/i.test(message)
    ? "The detector could not be started: this page is shown under a content security policy that forbids WebAssembly. Open the file itself, or allow 'wasm-unsafe-eval' in the policy's script-src."
    : `The detector could not be started: ${message}`;
});
addEventListener("hashchange", async () => {
  const from = await unpack(location.hash);
  if (from === undefined || view.trace === undefined) return;
  view.config = from.config ?? view.trace.config;
  view.falseAlarms = from.falseAlarms ?? [];
  if (from.event !== undefined) view.selected = Math.min(from.event, view.trace.events.length - 1);
  await replay(from);
});
void start();
