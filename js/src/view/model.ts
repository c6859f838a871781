// A trace and its analysis as plain data, independent of the page.

import { LoopDetector } from "../detector.ts";
import type { Config, Event, Finding, Level, Scope, TraceEvent, Verdict, Wasted } from "../generated/types.ts";
import { isLargelyUnread, judge, judgeable } from "../replay/judge.ts";
import { LEVELS, rank } from "../replay/levels.ts";
import { pair } from "../replay/pair.ts";
import { costOf } from "../replay/prices.ts";
import { strongest } from "../replay/report.ts";

export { LEVELS, rank };

/** A recorded run, as given to the page. */
export interface Trace {
  /** The display name: a file name. */
  name: string;
  /** The format it was read from. */
  format: string;
  events: TraceEvent[];
  /** The line of each event in the file, from 1; empty if there is no file. */
  lines: number[];
  /** What could not be read. */
  errors: { line: number; message: string }[];
  /** The configuration that came with it. */
  config: Config;
}

/** The judgement of one event. */
export interface Judged {
  /** The level; in shadow mode the one that would have been. */
  level: Level;
  /** Undefined if the event was rejected. */
  verdict: Verdict | undefined;
  /** Why the event was rejected. */
  error: string | undefined;
}

/** One loop: all findings about the same thing, from its onset on. */
export interface Loop {
  rule: string;
  signature: string;
  scope: Scope;
  /** Index of the event it began with, to which a host may rewind. */
  onset: number;
  /** Index of the first event with a finding. */
  first: number;
  /** Index of the last event with a finding. */
  last: number;
  peak: Level;
  /** The latest finding among the strongest. */
  finding: Finding;
  /** Index of the event with that finding. */
  at: number;
  /** The latest finding with the highest count, which may be at `observe`: its message describes the full extent. */
  fullest: Finding;
  /** The cost from the onset to the last finding, which may be at `observe`. */
  wasted: Wasted;
  /** Index of the first event at each level from `observe` on. */
  reached: Partial<Record<Level, number>>;
  /** The events that the findings rest on, ascending. */
  occurrences: Occurrence[];
}

/** An event in the evidence of a loop. */
export interface Occurrence {
  /** Its index. */
  event: number;
  /** The digest of what was compared: the detector treats events with equal digests as equal. */
  digest: string;
}

/** The analysis of a whole trace. */
export interface Analysis {
  /** One per event. */
  judged: Judged[];
  /** Strongest first, among equals newest first: the first is the subject of the report. */
  loops: Loop[];
  peak: Level;
  /** The number of rejected events. */
  refused: number;
}

/** Maximum number of occurrences of a loop kept for drawing. */
const OCCURRENCES = 400;
/** Number of events between two saved states. */
const SAVE_EVERY = 250;

/**
 * Replays a trace. Yields the number of events done, so that a page can work in slices; `states` collects the
 * detector's state every {@link SAVE_EVERY} events for {@link stateAt}.
 *
 * @throws {LoopwardenError} `invalid-config` for an invalid configuration.
 */
export function* analyse(
  events: readonly TraceEvent[],
  config: Config | string,
  states?: Uint8Array[],
): Generator<number, Analysis> {
  using detector = new LoopDetector(config);
  const judged: Judged[] = [];
  /** The index of each event by sequence number. */
  const indices: number[] = [];
  const loops = new Loops();
  let refused = 0;
  for (const [index, event] of events.entries()) {
    if (states !== undefined && index % SAVE_EVERY === 0) states.push(detector.snapshot());
    const answer = asked(detector, event);
    judged.push(answer);
    if (answer.verdict === undefined) refused++;
    else {
      if (!event.pending) indices[answer.verdict.seq] = index;
      // Added in reverse, because the core treats the first finding of a verdict as the newest.
      for (const finding of answer.verdict.findings.toReversed()) loops.add(finding, index, indices);
    }
    yield index + 1;
  }
  const peak = judged.reduce<Level>((most, { level }) => (rank(level) > rank(most) ? level : most), "continue");
  return { judged, loops: loops.sorted(), peak, refused };
}

/** Runs {@link analyse} to the end. */
export function analyseAll(events: readonly TraceEvent[], config: Config | string): Analysis {
  const run = analyse(events, config);
  for (;;) {
    const step = run.next();
    if (step.done) return step.value;
  }
}

/**
 * The detector right after an event, from the states that {@link analyse} saved. The caller has to free it.
 *
 * @throws {RangeError} if no state was saved.
 */
export function stateAt(events: readonly TraceEvent[], states: readonly Uint8Array[], index: number): LoopDetector {
  const saved = Math.min(Math.floor(index / SAVE_EVERY), states.length - 1);
  const state = states[saved];
  if (state === undefined) throw new RangeError("no state was saved");
  const detector = LoopDetector.restore(state);
  for (const event of events.slice(saved * SAVE_EVERY, index + 1))
    if (!event.pending) judge(detector, judgeable(event));
  return detector;
}

/** What could not be read of a run, and its rejected events, in the order of the file. */
export function unread(
  { lines, errors }: Pick<Trace, "lines" | "errors">,
  { judged }: Pick<Analysis, "judged">,
): { where: string; message: string }[] {
  const broken = errors.map(({ line, message }) => ({ line, where: `Line ${line}`, message }));
  const refused = judged.flatMap(({ error: message }, index) => {
    const line = lines[index];
    const where = line === undefined ? `Event ${index}` : `Line ${line}`;
    return message === undefined ? [] : [{ line: line ?? 0, where, message }];
  });
  return [...broken, ...refused].sort((a, b) => a.line - b.line).map(({ where, message }) => ({ where, message }));
}

/** The numbers of events that were judged and that could not be read. */
export function readShare(
  { events, errors }: Pick<Trace, "events" | "errors">,
  { refused }: Pick<Analysis, "refused">,
): { judged: number; unread: number; isLargelyUnread: boolean } {
  const [judged, unread] = [events.length - refused, errors.length + refused];
  return { judged, unread, isLargelyUnread: isLargelyUnread(unread, judged) };
}

function asked(detector: LoopDetector, event: TraceEvent): Judged {
  const { error, ...answer } = judge(detector, judgeable(event));
  return { ...answer, error: error?.message };
}

/** Groups findings into loops. */
class Loops {
  /** All loops; the most recently seen is last. */
  #all = new Set<Loop>();
  /** The latest loop per rule and signature, and per rule and onset: a signature may change as evidence grows. */
  #latest = new Map<string, Loop>();

  add(finding: Finding, index: number, indices: readonly number[]): void {
    const of = (what: string | number) => JSON.stringify([finding.rule, finding.scope, what]);
    const [bySignature, byOnset] = [of(finding.signature), of(finding.onsetSeq)];
    const onset = Math.min(indices[finding.onsetSeq] ?? index, index);
    const known = this.#latest.get(bySignature);
    const loop = known !== undefined && onset <= known.last ? known : this.#latest.get(byOnset);
    const fresh: Loop = {
      rule: finding.rule,
      signature: finding.signature,
      scope: finding.scope,
      onset,
      first: index,
      last: index,
      peak: finding.level,
      finding,
      at: index,
      fullest: finding,
      wasted: finding.wasted,
      reached: {},
      occurrences: [],
    };
    const to = loop ?? fresh;
    this.#all.delete(to);
    this.#all.add(to);
    this.#latest.set(bySignature, to);
    this.#latest.set(byOnset, to);
    to.onset = Math.min(to.onset, onset);
    to.last = index;
    to.wasted = finding.wasted;
    to.reached[finding.level] ??= index;
    if (finding.count >= to.fullest.count) to.fullest = finding;
    if (rank(finding.level) >= rank(to.peak)) {
      to.peak = finding.level;
      to.finding = finding;
      to.signature = finding.signature;
      to.at = index;
    }
    for (const { seq, digest } of finding.evidence) {
      const event = indices[seq];
      if (event === undefined || event <= (to.occurrences.at(-1)?.event ?? -1)) continue;
      to.occurrences.push({ event, digest });
      // The first occurrence is always kept.
      if (to.occurrences.length > OCCURRENCES) to.occurrences.splice(1, 1);
    }
  }

  sorted(): Loop[] {
    return strongest([...this.#all].reverse(), ({ peak }) => peak);
  }
}

/** A stable key of a loop, for links and marks. */
export const loopKey = ({ rule, signature }: Pick<Loop, "rule" | "signature">): string =>
  JSON.stringify([rule, signature]);

/** The layout of a trace's events: lanes are agents, columns are rounds. */
export interface Layout {
  lanes: string[];
  /** The nesting depth of each lane's agent; 0 for the top level. */
  depth: number[];
  /** The lane of each event. */
  lane: number[];
  /** The column of each event; never decreases. */
  column: number[];
  columns: number;
  /** The index of the first event of each column. */
  starts: number[];
  /** The index of each result's call and of each call's result. */
  partner: (number | undefined)[];
}

/** Maximum number of lanes; further agents share the last one. */
const LANES = 12;

/** Lays out a trace. Without rounds, parallel calls share a column, as do a call and its result. */
export function layOut(events: readonly TraceEvent[]): Layout {
  const runs = new Set(events.map(({ run }) => run ?? ""));
  const members = new Map(family(events).map((member) => [member.id, member]));
  const deep = (id: string | undefined, rest = 6): number => {
    const parent = id === undefined || rest === 0 ? undefined : members.get(id)?.parent;
    return parent === undefined ? 0 : 1 + deep(parent, rest - 1);
  };
  const names = new Map<string, number>();
  const lanes: string[] = [];
  const layout: Layout = { lanes, depth: [], lane: [], column: [], columns: 0, starts: [], partner: pair(events) };
  let round: string | undefined;
  let open = false;
  for (const [index, event] of events.entries()) {
    const id = agent(event);
    const key = [...(runs.size > 1 ? [event.run ?? "default run"] : []), id].join(" · ");
    let lane = names.get(key);
    if (lane === undefined) {
      lane = Math.min(lanes.length, LANES - 1);
      names.set(key, lane);
      if (lanes.length < LANES) {
        const name = members.get(id)?.name ?? id;
        lanes.push([...(runs.size > 1 ? [event.run ?? "default run"] : []), name].join(" · "));
        layout.depth.push(deep(id));
      } else [lanes[LANES - 1], layout.depth[LANES - 1]] = ["other agents", 0];
    }
    layout.lane.push(lane);
    const call = layout.partner[index];
    const column = layout.columns - 1;
    const answers = event.type === "tool-result" && call !== undefined && layout.column[call] === column;
    const same = event.round == null ? false : event.round === round;
    // Parallel calls without a round: no result in between.
    const batch = event.round == null && round === undefined && event.type === "tool-call" && open;
    if (column < 0 || !(answers || same || batch)) {
      layout.starts.push(index);
      layout.columns++;
    }
    if (!answers) round = event.round ?? undefined;
    open = event.type === "tool-call";
    layout.column.push(layout.columns - 1);
  }
  return layout;
}

/** An agent of a run. */
export interface Member {
  /** The name in events. */
  id: string;
  /** The display name: what it was started for, if known. */
  name: string;
  /** The agent that started it or first handed it work; undefined for the first agent. */
  parent: string | undefined;
  /** Index of its first event. */
  first: number;
  events: number;
  tokens: number;
  costMicros: number;
}

/** The agents of a run in order of appearance. A sub-agent is named after the id of the call that started it. */
export function family(events: readonly TraceEvent[], config: Config = {}): Member[] {
  const members = new Map<string, Member>();
  /** Calls by id: the calling agent and the purpose. */
  const calls = new Map<string, { by: string; what: string }>();
  const handed = new Map<string, string>();
  for (const [index, event] of events.entries()) {
    const id = agent(event as Event);
    if (event.type === "tool-call" && event.callId) calls.set(event.callId, { by: id, what: started(event) });
    if (
      (event.type === "collaboration" || event.type === "delivery") &&
      event.from !== event.to &&
      !handed.has(event.to)
    )
      handed.set(event.to, event.from);
    let member = members.get(id);
    if (member === undefined) {
      const call = calls.get(id);
      const by = call?.by ?? handed.get(id);
      const parent = by === undefined || by === id ? undefined : by;
      const name = call === undefined ? id : call.what;
      member = { id, name, parent, first: index, events: 0, tokens: 0, costMicros: 0 };
      members.set(id, member);
    }
    member.events++;
    const { tokens, costMicros } = spent(event as Event, config);
    member.tokens += tokens;
    member.costMicros += costMicros;
  }
  return [...members.values()];
}

/** The purpose of a sub-agent, from the arguments of the call that started it. */
function started({ tool, args }: Event & { type: "tool-call" }): string {
  const told = typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
  const words = ["description", "subagent_type", "name", "prompt"].map((field) => told[field]);
  const word = words.find((word) => typeof word === "string" && word !== "");
  return word === undefined ? tool : String(word);
}

/** The tokens and cost of an event; 0 if unknown. */
export function spent(event: Event, config: Config = {}): { tokens: number; costMicros: number } {
  // The usage of a whole run, which is recorded with its last event, is not that event's own.
  if (event.labels?.["spent"] === "whole run") return { tokens: 0, costMicros: 0 };
  return { tokens: event.tokens ?? 0, costMicros: costOf(event, config) ?? 0 };
}

/** The agent that acted. */
export function agent(event: Event): string {
  if (event.agent) return event.agent;
  if (event.type === "collaboration" || event.type === "delivery") return event.from;
  if (event.type === "turn") return event.node;
  return "agent";
}

/** An edge of a workflow graph, between agents or phases, and how often it was taken. */
export interface Flow {
  from: string;
  to: string;
  count: number;
}

/** Maximum number of edges of a graph. */
const EDGES = 60;

/** The requests and deliveries between agents up to and including an event. */
export function collaboration(events: readonly TraceEvent[], until: number): Flow[] {
  return flows(events.slice(0, until + 1), (event) =>
    event.type === "collaboration" || event.type === "delivery" ? [event.from, event.to] : undefined,
  );
}

/** The transitions between phases up to and including an event. */
export function phaseFlow(events: readonly TraceEvent[], until: number): Flow[] {
  return flows(events.slice(0, until + 1), (event) =>
    event.type === "transition" ? [event.from ?? "start", event.to] : undefined,
  );
}

function flows(events: readonly TraceEvent[], ends: (event: Event) => [string, string] | undefined): Flow[] {
  const found = new Map<string, Flow>();
  for (const event of events) {
    if (event.pending) continue;
    const pair = ends(event as Event);
    if (pair === undefined) continue;
    const key = JSON.stringify(pair);
    const flow = found.get(key);
    if (flow !== undefined) flow.count++;
    else if (found.size < EDGES) found.set(key, { from: pair[0], to: pair[1], count: 1 });
  }
  return [...found.values()];
}
