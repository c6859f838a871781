import type { LoopDetector } from "../detector.ts";
import { type Goal, goals, inForce, normalise, type RuleInForce } from "../diagnose.ts";
import type { LoopwardenError } from "../errors.ts";
import type { Config, Event, Finding, Level, RuleStanding, Scope, Verdict } from "../generated/types.ts";
import { type Hunk, hunks } from "../replay/diff.ts";
import { isLargelyUnread, replay } from "../replay/judge.ts";
import { given, RUNGS, type Rung, reaches } from "../replay/levels.ts";
import { pair } from "../replay/pair.ts";
import { type Recorded, refused, type Trace } from "../replay/read.ts";
import { isSound, merged, raised, reached, ruleChange, rulesOf, scale, written } from "../replay/settings.ts";
import { duration, listed, outcome as outcomeOf, said, short } from "../replay/summarise.ts";
import { share, unitOf, WORTH } from "../replay/worth.ts";
import { type Options, parse, UsageError } from "./args.ts";
import { InputError } from "./failure.ts";
import { Complaints, nothing, STRICT, several, shown, tracesOf, transcriptFormat } from "./input.ts";
import { LEVEL_STYLE, paint, print, printJson, tell, wrapped } from "./print.ts";
import { last } from "./sessions.ts";
import { OPTIONS, settings } from "./settings.ts";

export const help: string = `Usage: loopwarden explain TRACE [--at line:N] [--scenario ID] [--config FILE] [--format FORMAT] [--strict] [--json]
       loopwarden explain --last

Replays a recorded run up to one event and says why it got its verdict: the evidence of every finding and what each part
of it counted; the thresholds and how much is missing to the next one; for requests in words, what they are about and
what changed in that; the last two occurrences word by word and which of their differences are masked; how close the
other rules are; and what would have given another verdict. The last part is not a guess: the run is replayed with each
change, and the changes that affect the level are shown.

  --at PLACE       the event: line:N or step:N, the last event of that line or step, or its number from 0 (the seq of its
                   verdict, #90 in a report); by default the first event whose verdict is at nudge or above, or else the
                   one that came closest
  --scenario ID    which scenario, in a file with several
  --last           the newest session of an agent on this machine; on a terminal you pick one of the latest
  --config FILE    the configuration; by default the scenario's own, else loopwarden.json in this folder, if there is
                   one; --no-config ignores that file
  --format FORMAT  one of the formats that replay reads; recognised by default
  --strict         exit with 1 if anything in the file cannot be read
  --json           the same as one object

Exit codes: 0 explained, 1 a file cannot be read, the event is not in it, or a quarter of the file or more cannot be
read and no verdict up to the event is at nudge or above; with --strict, any part of it, 2 wrong usage.
`;

/** Maximum width of quoted arguments and outputs, in characters. */
const WIDTH = 96;
/** Maximum number of differences shown, of each field and of the outcomes. */
const DIFFERENCES = 8;
/** The share of a threshold below which a rule does not count as close to it. */
const FAR = 0.1;
/** Maximum number of other rules shown. */
const OTHERS = 5;
/** Minimum interval between occurrences that is shown, in milliseconds. */
const LATER = 1000;
/** Maximum number of occurrences shown: the first and the latest. */
const SIGHTINGS = 8;

/** One occurrence in the evidence of a finding. */
interface Sighting {
  seq: number;
  line: number;
  step?: number;
  call?: string;
  outcome?: string;
  /** Milliseconds since the previous one, if the events have times. */
  since?: number;
  /** How much it added to the evidence; absent if unknown. */
  points?: number;
  total?: number;
  /** Why it added nothing, reduced the evidence, or made earlier ones count. */
  why?: string;
}

/** A difference between two texts. */
interface Difference {
  first: string;
  second: string;
  /** In arguments: the shared words before it; of many only those nearby, with `…`. */
  before?: string;
  /** In arguments: the shared words after the last difference. */
  after?: string;
  /** Why it is ignored; absent if it counts. */
  masked?:
    | "always"
    | "digits of a long output"
    | "in the class of an error"
    | "repeats the arguments"
    | "the rest is the same text";
}

interface Compared {
  first: number;
  second: number;
  /** Set for messages and other texts, which have no arguments. */
  isText?: true;
  arguments: { field: string; differences: Difference[] }[];
  outcomes: Difference[];
  /** Whether the outcomes are byte-for-byte equal; without differences they may still differ in white space. */
  equal: boolean;
  /** The number of further differences that are not listed. */
  more: number;
}

/** A level of a rule, its threshold and how much evidence is missing. */
interface Step {
  level: Rung;
  threshold: number;
  missing: number;
}

interface Explained {
  finding: Finding;
  unit: string;
  /** The factor by which the thresholds are multiplied. */
  times: number;
  rungs: Step[];
  /** Set if block and halt do not apply to this kind of finding. */
  advisory?: true;
  sightings: Sighting[];
  /** What one more occurrence is worth, if not always one. */
  worth?: string;
  /** For requests in words: what each is about, and what changed. */
  goals?: AboutWhat[];
  compared?: Compared;
}

/** The subject of a request; `moved.since` is the sequence number of the event it is compared with. */
interface AboutWhat {
  seq: number;
  about: string[];
  moved?: Goal["moved"];
}

/** A hypothetical change to replay the run with. */
interface Alternative {
  what: string;
  config?: Config;
  events?: Recorded[];
  /** An action to take before the event at this index. */
  before?: { index: number; act: (detector: LoopDetector) => void };
}

interface Change {
  what: string;
  level: Level;
  rule?: string;
  /** The first verdict at nudge or above, if earlier than the actual first one. */
  earlier?: { seq: number; level: Level };
}

const OWN = {
  ...OPTIONS,
  ...STRICT,
  last: { type: "boolean", default: false },
  at: { type: "string" },
  scenario: { type: "string" },
  format: { type: "string" },
  json: { type: "boolean", default: false },
} as const satisfies Options;
export const options: Options = OWN;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, OWN);
  const [name, ...more] = positionals;
  if (values.last ? name !== undefined : name === undefined || more.length > 0)
    throw new UsageError("explain: expected one file, or - for the standard input, or --last");
  const at = values.at === undefined ? undefined : place(values.at);
  const format = transcriptFormat(values.format);
  const found = await settings(values);
  const file = name ?? (await last());
  const complaints = new Complaints(file);
  let [judged, unread] = [0, 0];
  let explanation: Explanation;
  try {
    const trace = chosen(file, await tracesOf(file, complaints, format), values.scenario, complaints);
    for (const recorded of trace.events) complaints.read(recorded);
    const own = trace.config === undefined ? undefined : (JSON.parse(trace.config) as Config);
    const config = values.config === undefined ? (own ?? found?.config) : found?.config;
    // In a file of scenarios, earlier complaints belong to other scenarios.
    const before = trace.whole ? 0 : complaints.count;
    judged = trace.events.filter((recorded) => !recorded.unread).length;
    explanation = new Explanation(trace, config ?? {}, at, (recorded, error) => {
      if (recorded.unread) return;
      judged--;
      complaints.add(recorded.line, refused(recorded, error));
    });
    unread = complaints.count - before;
  } finally {
    complaints.end(judged, unread);
  }
  if (explanation.isNearest)
    tell("loopwarden: no verdict is at nudge or above; this event came closest, and --at chooses another one");
  if (values.json) printJson(explanation.result());
  else for (const line of explanation.told()) print(line);
  return (values.strict ? unread > 0 : !explanation.isFound && isLargelyUnread(unread, judged)) ? 1 : 0;
}

type Place = { by: "seq" | "line" | "step"; number: number };

function place(text: string): Place {
  const found = /^(?:(line|step)[:= ]|#)?(\d{1,15})$/.exec(text.trim());
  if (found === null) throw new UsageError(`--at ${text}: expected line:N, step:N or the number of an event`);
  return { by: (found[1] as "line" | "step" | undefined) ?? "seq", number: Number(found[2]) };
}

function chosen(file: string, found: Trace[], id: string | undefined, complaints: Complaints): Trace {
  const [first] = found;
  if (first === undefined) nothing(file, complaints);
  if (id === undefined) {
    if (found.length === 1) return first;
    throw new InputError(several(file, found.length, first));
  }
  const trace = found.find((trace) => trace.id === id);
  if (trace === undefined) throw new InputError(`${shown(file)}: holds no scenario ${id}`);
  return trace;
}

class Explanation {
  readonly #trace: Trace;
  readonly #config: Config;
  /** The verdict of each event up to the explained one; undefined for rejected events. */
  readonly #verdicts: (Verdict | undefined)[] = [];
  /** The index of each recorded event by sequence number. */
  readonly #places = new Map<number, number>();
  readonly #index: number;
  readonly #verdict: Verdict;
  readonly #standing: RuleStanding[];
  readonly #findings: Explained[];
  readonly #changes: Change[];
  /** The index of each result's call and of each call's result. */
  readonly #partner: (number | undefined)[];
  /** The number of changes tried. */
  #tried = 0;
  /** Whether a verdict up to the event is at nudge or above. */
  readonly isFound: boolean;
  /** Whether nothing was found and the event that came closest is explained instead. */
  readonly isNearest: boolean = false;

  constructor(
    trace: Trace,
    config: Config,
    at: Place | undefined,
    refuse: (recorded: Recorded, error: LoopwardenError) => void,
  ) {
    this.#trace = trace;
    this.#config = config;
    this.#partner = pair(trace.events.map(({ event, pending }) => ({ ...event, pending })));
    const wanted = at === undefined || at.by === "seq" ? undefined : this.#lastAt(at);
    let end: number | undefined;
    let standing: RuleStanding[] = [];
    for (const { verdict, error, index, detector } of replay(trace.events, config)) {
      const recorded = trace.events[index] as Recorded;
      this.#verdicts.push(verdict);
      if (verdict === undefined) {
        if (error !== undefined) refuse(recorded, error);
        continue;
      }
      if (!recorded.pending) this.#places.set(verdict.seq, index);
      const isIt =
        at === undefined
          ? reaches(given(verdict), "nudge")
          : wanted === undefined
            ? !recorded.pending && verdict.seq === at.number
            : index === wanted;
      if (!isIt) continue;
      end = index;
      standing = detector.status(scopeOf(recorded.event)).rules;
      break;
    }
    if (end === undefined && at === undefined) {
      const nearest = this.#nearest();
      if (nearest !== undefined) [end, standing, this.isNearest] = [nearest.index, nearest.standing, true];
    }
    if (end === undefined) throw new InputError(`${named(trace)}: ${this.#absence(at)}`);
    this.#verdicts.length = end + 1;
    this.isFound = this.#verdicts.some((verdict) => verdict !== undefined && reaches(given(verdict), "nudge"));
    this.#index = end;
    this.#verdict = this.#verdicts[end] as Verdict;
    this.#standing = standing;
    this.#findings = this.#verdict.findings.map((finding) => this.#explained(finding));
    this.#changes = this.#whatIf();
  }

  /**
   * The first event at which a rule was closest to its next threshold, relative to it. If no rule came close, the last
   * event, which has the most history.
   */
  #nearest(): { index: number; standing: RuleStanding[] } | undefined {
    let found: { index: number; standing: RuleStanding[]; share: number } | undefined;
    for (const { verdict, index, detector } of replay(this.#trace.events, this.#config)) {
      const recorded = this.#trace.events[index] as Recorded;
      // For an answered call, the result is more informative.
      const answer = this.#partner[index] ?? -1;
      const isAnswered = this.#verdicts[answer] !== undefined && !this.#trace.events[answer]?.unread;
      const isAsked = recorded.event.type === "tool-call" && isAnswered;
      if (verdict === undefined || recorded.pending || recorded.unread || isAsked) continue;
      const { rules } = detector.status(scopeOf(recorded.event));
      const share = Math.max(0, ...rules.map(way));
      if (found === undefined || share > found.share || (share === found.share && share < FAR))
        found = { index, standing: rules, share };
    }
    return found;
  }

  get #event(): Event {
    return this.#recorded.event;
  }

  get #recorded(): Recorded {
    return this.#trace.events[this.#index] as Recorded;
  }

  #lastAt({ by, number }: Place): number {
    return this.#trace.events.findLastIndex(
      ({ line, event, unread }) => !unread && (by === "line" ? line : event.step) === number,
    );
  }

  #absence(at: Place | undefined): string {
    const last = Math.max(-1, ...this.#places.keys());
    if (last < 0 || at === undefined) return "none of its events has a verdict";
    if (at.by === "seq") return `there is no event ${at.number}, the events are numbered from 0 to ${last}`;
    if (at.by === "line" && this.#trace.events.some(({ line, unread }) => unread && line === at.number))
      return `line ${at.number} could not be read`;
    return this.#lastAt(at) === -1
      ? `no event has ${at.by} ${at.number}${this.#range(at.by)}`
      : `the event of ${at.by} ${at.number} was refused, so it has no verdict`;
  }

  /** The lines or steps that the events have, as text. */
  #range(by: "line" | "step"): string {
    const all = this.#trace.events.flatMap(({ line, event }) => (by === "line" ? line : (event.step ?? [])));
    return all.length === 0 ? "" : `, they have ${Math.min(...all)} to ${Math.max(...all)}`;
  }

  /** The thresholds of a rule for the tool of an event. */
  #rule(id: string, index: number): RuleInForce | undefined {
    return inForce(JSON.stringify(this.#config), this.#trace.events[index]?.tool).rules.find((rule) => rule.id === id);
  }

  #explained(finding: Finding): Explained {
    const rule = this.#rule(finding.rule, this.#index);
    const times = scale(finding, rule);
    const { rungs, advisory } = this.#ladder(finding, rule, times);
    const sightings = this.#sightings(finding, rungs.length > 0, rule);
    const unit = unitOf(finding.rule);
    const worth = unit === "points" || timesOf(finding.message) !== finding.count ? WORTH[finding.rule] : undefined;
    // For a cycle, compare the same step of two laps.
    const [first, second] = [-1 - (finding.period ?? 1), -1].map((at) => finding.evidence.at(at)?.seq);
    const compared =
      first === undefined || second === undefined ? undefined : this.#compared(first, second, finding.rule);
    return {
      finding,
      unit,
      times,
      rungs,
      ...(advisory ? { advisory } : {}),
      sightings,
      ...(worth === undefined ? {} : { worth }),
      ...this.#aboutWhat(sightings),
      ...(compared === undefined ? {} : { compared }),
    };
  }

  /** The levels of a finding's rule; the core's own next level and threshold take precedence if they are known. */
  #ladder(finding: Finding, rule: RuleInForce | undefined, times: number): { rungs: Step[]; advisory?: true } {
    const rungs = RUNGS.flatMap((level) => {
      const threshold = (rule?.[level] ?? 0) * times;
      return threshold === 0 ? [] : [{ level, threshold, missing: Math.max(0, threshold - finding.count) }];
    });
    const standing = this.#standing.find((other) => other.rule === finding.rule);
    // The evidence of a stream depends on the number of copies that a level requires, so the counts may differ.
    if (standing === undefined || (standing.count !== finding.count && finding.onsetOffset === undefined))
      return { rungs };
    const { nextLevel, nextThreshold, noNext, count } = standing;
    if (noNext === "advisory") return { rungs: rungs.filter(({ level }) => level === "nudge"), advisory: true };
    if (nextLevel === undefined || nextThreshold === undefined) return { rungs };
    return {
      rungs: rungs.flatMap((step) => {
        if (step.level === nextLevel) return [{ ...step, threshold: nextThreshold, missing: nextThreshold - count }];
        // Levels between the reached one and the next one do not apply.
        return step.missing > 0 && RUNGS.indexOf(step.level) < (RUNGS as readonly Level[]).indexOf(nextLevel)
          ? []
          : [step];
      }),
    };
  }

  /**
   * The subjects of requests, if all occurrences are calls in words and not all have the same text. Rules about
   * messages compare other things: what names something else may be the same text to them, or name nothing new.
   */
  #aboutWhat(sightings: Sighting[]): { goals?: AboutWhat[] } {
    const asked = sightings.flatMap(({ seq }) => {
      const place = this.#places.get(seq);
      const event = place === undefined ? undefined : this.#callOf(place);
      return event === undefined ? [] : [{ seq, event }];
    });
    const texts = new Set(asked.map(({ event }) => JSON.stringify(event.args)));
    if (asked.length < 2 || asked.length < sightings.length || texts.size < 2) return {};
    const found = goals(asked.map(({ event }) => event));
    if (found.some((goal) => goal === null)) return {};
    const seqOf = (index: number): number => asked[index]?.seq ?? index;
    return {
      goals: found.flatMap((goal, index) => {
        if (goal === null) return [];
        const { about, moved } = goal;
        return {
          seq: seqOf(index),
          about,
          ...(moved === undefined ? {} : { moved: { ...moved, since: seqOf(moved.since) } }),
        };
      }),
    };
  }

  /**
   * How much each occurrence added. A verdict contains evidence only from the lowest threshold on, so the run is
   * replayed with the lowest possible threshold: the evidence is the same, and its growth is visible up to the rule's
   * maximum.
   */
  #sightings(finding: Finding, hasRungs: boolean, own: RuleInForce | undefined): Sighting[] {
    const totals = new Map<number, { total: number; fresh: number }>();
    const seen = new Set<number>();
    const grow = (verdict: Verdict | undefined) => {
      const same = verdict?.findings.find(
        ({ rule, signature }) => rule === finding.rule && signature === finding.signature,
      );
      if (same === undefined || same.onsetSeq < finding.onsetSeq) return;
      const fresh = same.evidence.filter(({ seq }) => !seen.has(seq));
      for (const { seq } of fresh) seen.add(seq);
      const newest = fresh.at(-1);
      if (newest !== undefined) totals.set(newest.seq, { total: same.count, fresh: fresh.length });
    };
    if (hasRungs) {
      const lowest = { enabled: true, nudge: 2, block: 0, gate: 0, halt: 0 };
      const tools = Object.fromEntries(
        Object.entries(this.#config.tools ?? {}).map(([name, tool]) =>
          rulesOf(tool)[finding.rule] === undefined ? [name, {}] : [name, { rules: { [finding.rule]: lowest } }],
        ),
      );
      const probe = merged(this.#config, { rules: { [finding.rule]: lowest }, tools });
      if (isSound(probe)) this.#play({ what: "", config: probe }, grow);
    }
    for (const { seq } of finding.evidence) seen.add(seq);
    let before: number | undefined;
    let latest: number | undefined;
    const rounds = new Map<string, number>();
    return [...seen]
      .filter((seq) => this.#places.has(seq))
      .sort((a, b) => a - b)
      .map((seq, index) => {
        const place = this.#places.get(seq) as number;
        const [call, outcome] = this.#quoted(place);
        const { total, fresh } = totals.get(seq) ?? {};
        // If several occurrences were added at once, their shares are unknown.
        const points = total === undefined || before === undefined || fresh !== 1 ? undefined : total - before;
        const isLate = total !== undefined && before === undefined && index > 1;
        before = total ?? before;
        const round = this.#callOf(place)?.round ?? this.#trace.events[place]?.event.round ?? undefined;
        const sibling = round === undefined ? undefined : rounds.get(round);
        if (round !== undefined && sibling === undefined) rounds.set(round, seq);
        const why = isLate
          ? "from here on, the ones above count together"
          : points === undefined || points > 0
            ? undefined
            : points === 0 && total === own?.most
              ? `adds nothing: ${total} is the most that the rule counts`
              : nothingOf(finding, points, sibling, own);
        const { step, at } = this.#trace.events[place]?.event ?? {};
        const since = at == null || latest === undefined ? undefined : at - latest;
        latest = at ?? undefined;
        return {
          seq,
          line: this.#trace.events[place]?.line ?? 0,
          ...(step == null ? {} : { step }),
          ...(call === undefined ? {} : { call }),
          ...(outcome === undefined ? {} : { outcome }),
          ...(since === undefined ? {} : { since }),
          ...(points === undefined ? {} : { points }),
          ...(total === undefined ? {} : { total }),
          ...(why === undefined ? {} : { why }),
        };
      });
  }

  /** The call and the outcome of an event, as recorded. */
  #quoted(place: number): [call: string | undefined, outcome: string | undefined] {
    const event = this.#trace.events[place]?.event;
    const call = this.#callOf(place);
    const made = call === undefined ? undefined : `${call.tool}(${call.rawArgs ?? listed(call.args, 32)})`;
    if (event?.type === "tool-result") return [made ?? event.tool ?? "result", outcomeOf(event)];
    if (event?.type === "tool-call") return [made, undefined];
    return [undefined, event === undefined ? undefined : `${event.type}: ${said(event)}`];
  }

  #callOf(place: number): (Event & { type: "tool-call" }) | undefined {
    const event = this.#trace.events[this.#callIndex(place) ?? -1]?.event;
    return event?.type === "tool-call" ? event : undefined;
  }

  /** The index of a result's call; for a call, its own index. */
  #callIndex(place: number): number | undefined {
    const type = this.#trace.events[place]?.event.type;
    return type === "tool-call" ? place : type === "tool-result" ? this.#partner[place] : undefined;
  }

  #compared(first: number, second: number, rule: string): Compared | undefined {
    const [a, b] = [this.#places.get(first), this.#places.get(second)];
    if (a === undefined || b === undefined) return undefined;
    const [eventA, eventB] = [this.#trace.events[a]?.event, this.#trace.events[b]?.event];
    if (eventA === undefined || eventB === undefined) return undefined;
    const [callA, callB] = [this.#callOf(a), this.#callOf(b)];
    const fields = argumentFields(callA, callB);
    const isResult = eventA.type === "tool-result" && eventB.type === "tool-result";
    const [textA, textB] = [said(eventA), said(eventB)];
    const all = eventA.type === "tool-call" ? [] : hunks(textA, textB);
    const echoed = JSON.stringify([callA?.args ?? callA?.rawArgs, callB?.args ?? callB?.rawArgs]);
    const outcomes = all.slice(0, DIFFERENCES).map((hunk) => {
      const masked = isResult
        ? this.#masked(textA, hunk, echoed)
        : rule === "monologue"
          ? "the rest is the same text"
          : undefined;
      return { ...bare(hunk), ...(masked === undefined ? {} : { masked }) };
    });
    return {
      first,
      second,
      ...(this.#callIndex(a) === undefined && !isResult ? { isText: true } : {}),
      arguments: fields.map(({ field, a, b }) => ({ field, differences: inPlace(a, hunks(a, b)) })),
      outcomes,
      equal: textA === textB,
      more: Math.max(0, all.length - DIFFERENCES),
    };
  }

  /** Why the core still considers the first text equal after applying this difference; undefined if it does not. */
  #masked(text: string, hunk: Hunk, echoed: string): Difference["masked"] {
    const config = JSON.stringify(this.#config);
    const [own, other] = [text, `${text.slice(0, hunk.start)}${bare(hunk).second}${text.slice(hunk.end)}`].map((text) =>
      normalise(text, config),
    );
    if (own === undefined || other === undefined) return undefined;
    if (own.light === other.light) return "always";
    if (own.shape !== null && own.shape === other.shape) return "digits of a long output";
    if (own.heavy === other.heavy) return "in the class of an error";
    const words = `${hunk.first} ${hunk.second}`.split(/[\s"'`,:;()[\]{}]+/).filter((word) => word.length > 1);
    return words.length > 0 && words.every((word) => echoed.includes(word)) ? "repeats the arguments" : undefined;
  }

  /** Replays up to the event with a change, and returns the verdict that the event would have had. */
  #play(
    { config = this.#config, events = this.#trace.events, before }: Alternative,
    each?: (verdict: Verdict | undefined) => void,
  ): Verdict | undefined {
    // A changed list of events ends with the explained event.
    const target = events === this.#trace.events ? this.#index : events.length - 1;
    const act = (detector: LoopDetector, index: number) => {
      if (before?.index === index) before.act(detector);
    };
    let last: Verdict | undefined;
    for (const { verdict, index } of replay(events, config, act)) {
      last = verdict;
      each?.(verdict);
      if (index === target) break;
    }
    return last;
  }

  /** All events up to the explained one, with some inserted at an index in place of `instead` (0 or 1) events. */
  #spliced(index: number, instead: number, ...events: (Event | undefined)[]): Recorded[] {
    const upTo = this.#trace.events.slice(0, this.#index + 1);
    const made = events.flatMap((event): Recorded[] =>
      event === undefined ? [] : [{ text: JSON.stringify(event), event, pending: false, line: 0, tool: undefined }],
    );
    const [old] = upTo.slice(index, index + instead);
    for (const recorded of instead === 0 ? [] : made) recorded.pending = old?.pending ?? false;
    return upTo.toSpliced(index, instead, ...made);
  }

  #whatIf(): Change[] {
    const level = given(this.#verdict);
    const first =
      this.#verdicts.find((verdict) => verdict !== undefined && reaches(given(verdict), "nudge"))?.seq ??
      this.#verdict.seq;
    return this.#alternatives().flatMap((alternative) => {
      if (alternative.config !== undefined && !isSound(alternative.config)) return [];
      this.#tried++;
      const alarms: NonNullable<Change["earlier"]>[] = [];
      const verdict = this.#play(alternative, (verdict) => {
        if (verdict === undefined || !reaches(given(verdict), "nudge")) return;
        alarms.push({ seq: verdict.seq, level: given(verdict) });
      });
      if (verdict === undefined || given(verdict) === level) return [];
      const rule = verdict.findings[0]?.rule;
      // With other events the sequence numbers differ.
      const [earlier] = alternative.events === undefined ? alarms : [];
      return {
        what: alternative.what,
        level: given(verdict),
        ...(rule === undefined ? {} : { rule }),
        ...(earlier !== undefined && earlier.seq < first ? { earlier } : {}),
      };
    });
  }

  #alternatives(): Alternative[] {
    const found: Alternative[] = [];
    const change = (config: Config) => {
      const what = written(config).join(", ");
      if (!found.some((other) => other.what === what)) found.push({ what, config: merged(this.#config, config) });
    };
    const tool = this.#recorded.tool;
    for (const finding of this.#verdict.findings) {
      change(ruleChange(undefined, finding.rule, { enabled: false }));
      const rule = this.#rule(finding.rule, this.#index);
      const times = scale(finding, rule);
      const rung = rule && reached(rule, finding.count, times);
      if (rule === undefined || rung === undefined) continue;
      const settings = raised(this.#config, undefined, rule, rung, Math.floor(finding.count / times) + 1);
      if (settings !== undefined) change(ruleChange(undefined, finding.rule, settings));
    }
    const { preset = "balanced" } = this.#config;
    for (const other of ["sensitive", "balanced", "conservative"] as const)
      if (other !== preset) change({ preset: other });
    if (tool !== undefined) this.#toolAlternatives(tool, found, change);
    found.push(...this.#otherPasts());
    return found;
  }

  #toolAlternatives(tool: string, found: Alternative[], change: (config: Config) => void): void {
    const force = inForce(JSON.stringify(this.#config), tool);
    change({ tools: { [tool]: { polling: !force.polling } } });
    // By default, short answers are only compared for searches and views.
    change({ tools: { [tool]: { compareAnswers: true } } });
    const latest = this.#callsOf(tool).slice(-8);
    const fields = new Set(
      latest.flatMap((call, index) => argumentFields(latest[index - 1] ?? call, call)).map(({ field }) => field),
    );
    if (force.identityArgs.length === 0) {
      for (const field of fields) change({ tools: { [tool]: { ignoreArgs: [...force.ignoreArgs, field] } } });
    }
    for (const key of ["ignoreArgs", "identityArgs"] as const) {
      for (const field of force[key]) {
        const tools = Object.fromEntries(
          Object.entries(this.#config.tools ?? {}).map(([name, settings]) => {
            const { [key]: list, ...rest } = settings;
            const kept = list?.filter((name) => name !== field) ?? [];
            return [name, kept.length === 0 ? rest : { ...rest, [key]: kept }];
          }),
        );
        found.push({ what: `${field} of ${tool} not in ${key}`, config: { ...this.#config, tools } });
      }
    }
  }

  /** The latest calls of a tool up to the event, oldest first. */
  #callsOf(tool: string): (Event & { type: "tool-call" })[] {
    return this.#trace.events.slice(0, this.#index + 1).flatMap(({ event }) => {
      return event.type === "tool-call" && event.tool === tool ? [event] : [];
    });
  }

  /** Alternatives in which other events had happened, mostly under the same configuration. */
  #otherPasts(): Alternative[] {
    const past: Alternative[] = [];
    const [lead] = this.#verdict.findings;
    const event = this.#event;
    const newest = lead?.evidence.findLast(({ seq }) => this.#places.has(seq));
    const place = (newest && this.#places.get(newest.seq)) ?? this.#index;
    // The last occurrence begins with its call: insertions go before that.
    const begin = this.#callIndex(place) ?? place;
    const { run, task, parentTask, agent, at } = (this.#trace.events[begin] as Recorded).event;
    const scope = JSON.parse(JSON.stringify({ run, task, parentTask, agent, at }));
    const callId = `loopwarden-explain-${begin}`;
    const edit = { ...scope, tool: "write_file", callId };
    const path = `loopwarden-explain-${begin}.txt`;
    past.push({
      what: `a file written before #${this.#seq(begin)}`,
      config: merged(this.#config, { tools: { write_file: { mutates: true } } }),
      events: this.#spliced(
        begin,
        0,
        { ...edit, type: "tool-call", args: { path, content: `something new at ${begin}` } },
        { ...edit, type: "tool-result", outcome: "ok", output: `wrote ${path}` },
      ),
    });
    past.push({
      what: `a message from the user before #${this.#seq(begin)}`,
      events: this.#spliced(begin, 0, { ...scope, type: "message", role: "user", text: "Go on with the next part." }),
    });
    const result = this.#trace.events[place]?.event;
    if (result?.type === "tool-result") {
      const { digest: _, state: __, details: ___, errorClass: ____, exitCode: _____, ...rest } = result;
      const output = "Loopwarden asks: what if this had been something that was never said before?";
      const kept = JSON.parse(JSON.stringify({ ...rest, output }));
      past.push({ what: `another outcome of #${this.#seq(place)}`, events: this.#spliced(place, 1, kept) });
      if (result.outcome !== "ok")
        past.push({
          what: `a success at #${this.#seq(place)}`,
          events: this.#spliced(place, 1, { ...kept, outcome: "ok" }),
        });
    }
    if (lead === undefined && event.type === "tool-result") past.push(...this.#sameAsBefore(event));
    if (lead !== undefined) past.push(...this.#answered(lead));
    return past;
  }

  /** Repeats the outcome of the tool's previous call, if it differed: shows why this event is not a repetition. */
  *#sameAsBefore(event: Event & { type: "tool-result" }): Generator<Alternative> {
    const tool = this.#recorded.tool;
    const before = this.#trace.events.slice(0, this.#index).findLastIndex((recorded) => {
      return recorded.tool === tool && recorded.event.type === "tool-result";
    });
    const earlier = this.#trace.events[before]?.event;
    if (earlier?.type !== "tool-result" || (earlier.outcome === event.outcome && said(earlier) === said(event))) return;
    const { output, outcome } = earlier;
    yield {
      what: `the outcome of #${this.#seq(before)} again`,
      events: this.#spliced(this.#index, 1, { ...event, output, outcome }),
    };
  }

  /** Decisions that a human could have made: to continue after the first nudge, or to exempt the signature. */
  *#answered({ rule, signature, scope }: Finding): Generator<Alternative> {
    const isTold = (verdict: Verdict | undefined) =>
      verdict?.findings.some(
        (finding) => finding.rule === rule && finding.signature === signature && reaches(finding.level, "nudge"),
      ) ?? false;
    const first = this.#verdicts.findIndex(isTold);
    if (first !== -1 && first < this.#index) {
      const index = first + 1;
      yield {
        what: `acknowledged after #${this.#seq(first)}: continue`,
        before: { index, act: (detector) => detector.acknowledge(scope, { decision: "continue" }) },
      };
    }
    yield {
      what: `acknowledged before: exempt ${rule} ${short(signature, 48)}`,
      before: {
        index: this.#index,
        act: (detector) => detector.acknowledge(scope, { decision: "exempt", rule, signature }),
      },
    };
  }

  /** The sequence number of the event at an index. */
  #seq(index: number): number {
    return this.#verdicts[index]?.seq ?? index;
  }

  /** The rules without a finding, sorted by how close they are to their next threshold. */
  #others(): (RuleStanding & { missing?: number })[] {
    const fired = new Set(this.#verdict.findings.map(({ rule }) => rule));
    return this.#standing
      .flatMap((standing) => {
        const { rule, nextThreshold, noNext } = standing;
        if (fired.has(rule)) return [];
        if (nextThreshold !== undefined) return [{ ...standing, missing: nextThreshold - standing.count }];
        return noNext === "by-tool" ? [standing] : [];
      })
      .sort((a, b) => way(b) - way(a) || (a.rule < b.rule ? -1 : 1));
  }

  result(): object {
    const { line, event } = this.#recorded;
    return {
      file: this.#trace.file,
      ...(this.#trace.id === undefined ? {} : { scenario: this.#trace.id }),
      at: { seq: this.#verdict.seq, event: this.#index, line, ...(event.step == null ? {} : { step: event.step }) },
      verdict: this.#verdict,
      findings: this.#findings,
      others: this.#others(),
      tried: this.#tried,
      changes: this.#changes,
    };
  }

  *told(): Generator<string> {
    const { line, event } = this.#recorded;
    const level = given(this.#verdict);
    const step = event.step == null ? "" : ` · step ${event.step}`;
    // The line number is useless if the whole run is on one line.
    const where = this.#trace.events.every((one) => one.line === line) ? "" : ` · line ${line}`;
    yield paint("dim", `${named(this.#trace)} · event ${this.#verdict.seq}${where}${step}`);
    const [call, outcome] = this.#quoted(this.#index);
    if (call !== undefined) yield `${this.#recorded.pending ? "about to run: " : ""}${short(call, WIDTH)}`;
    if (outcome !== undefined) yield paint("dim", `${call === undefined ? "" : "→ "}${short(outcome, WIDTH - 2)}`);
    const shadow = this.#verdict.wouldBe === undefined ? "" : " (shadow mode: no action is requested)";
    yield "";
    yield `${paint(LEVEL_STYLE[level], level)}${shadow}${this.#verdict.findings.length === 0 ? ": no rule has enough evidence" : ""}`;
    const before = new Set<string>();
    for (const explained of this.#findings) {
      yield "";
      yield* this.#toldFinding(explained, before);
    }
    const others = this.#others().slice(0, OTHERS);
    if (others.length > 0) {
      yield "";
      yield paint("bold", this.#findings.length > 0 ? "Other rules" : "Closest");
      const width = Math.max(...others.map(({ rule }) => rule.length));
      for (const { missing, ...standing } of others)
        yield `  ${standing.rule.padEnd(width)}  ${missing === undefined ? `${standing.count}, and tools have thresholds of their own` : `${share(standing)}, ${missing} missing to ${standing.nextLevel}`}`;
    }
    yield "";
    yield paint("bold", "What would have changed it");
    const width = Math.max(0, ...this.#changes.map(({ what }) => Math.min(what.length, WIDTH)));
    const first = (earlier: Change["earlier"]) =>
      earlier === undefined ? "" : `, after a ${earlier.level} at #${earlier.seq}`;
    for (const { what, level, rule, earlier } of this.#changes)
      yield `  ${what.padEnd(width)}  ${paint(LEVEL_STYLE[level], level)}${rule === undefined ? "" : ` (${rule})`}${first(earlier)}`;
    if (this.#changes.length === 0) yield `  none of the ${this.#tried} changes that were tried`;
    else
      yield paint("dim", `  ${this.#tried} changes were tried, each by a replay; the others leave the level as it is`);
  }

  /** The lines of a finding. `told` collects quotes and comparisons, so that later findings do not repeat them. */
  *#toldFinding(
    { finding, unit, times, rungs, advisory, sightings, worth, goals, compared }: Explained,
    told: Set<string>,
  ): Generator<string> {
    yield `${paint(LEVEL_STYLE[finding.level], finding.level)}  ${finding.rule}: ${finding.message}`;
    const ladder = rungs.map(({ level, threshold, missing }) =>
      missing === 0 ? `${level} ${threshold} reached` : `${level} ${threshold}, ${missing} missing`,
    );
    if (ladder.length > 0) {
      const trebled = times === 1 ? "" : ` (thresholds × ${times}: waiting is expected here)`;
      const never = advisory ? "; advisory: block and halt do not apply to this kind of finding" : "";
      yield `  ${finding.count} ${unit}: ${ladder.join(" · ")}${trebled}${never}`;
    }
    if (worth !== undefined)
      for (const part of wrapped(`one more is worth ${worth}`, WIDTH)) yield paint("dim", `  ${part}`);
    const skipped = sightings.length - SIGHTINGS;
    const shown = skipped > 0 ? [...sightings.slice(0, 1), ...sightings.slice(1 - SIGHTINGS)] : sightings;
    const width = Math.max(...shown.map(({ seq }) => `#${seq}`.length), 0);
    for (const [index, { seq, call, outcome, since = 0, points, total, why }] of shown.entries()) {
      if (skipped > 0 && index === 1) yield paint("dim", `  … ${skipped} more`);
      const added =
        points === undefined
          ? total === undefined
            ? ""
            : `= ${total}`
          : `${points < 0 ? "−" : "+"}${Math.abs(points)} = ${total}`;
      const text = [call, outcome]
        .filter((part) => part !== undefined)
        .map((part) => short(part, (WIDTH - 24) / 2))
        .join(" → ");
      const quote = told.has(`#${seq}`) && text !== "" ? paint("dim", "as above") : text;
      told.add(`#${seq}`);
      const later =
        since < LATER || index === 0 || (skipped > 0 && index === 1) ? "" : paint("dim", `  ${duration(since)} later`);
      yield `  ${`#${seq}`.padEnd(width)}  ${added.padEnd(9)}  ${quote}${later}`;
      if (why !== undefined && why !== shown[index - 1]?.why)
        yield paint("dim", `  ${"".padEnd(width)}  ${"".padEnd(9)}  ${why}`);
    }
    if (goals !== undefined) yield* toldGoals(goals);
    if (compared === undefined) return;
    const both = `#${compared.first} and #${compared.second}`;
    if (told.has(both)) yield `  ${both}  ${paint("dim", "as above")}`;
    else yield* toldComparison(compared);
    told.add(both);
  }
}

/** The number of times given in a finding's message; NaN if there is none. */
const timesOf = (message: string): number => Number(/ (\d+) times\b/.exec(message)?.[1]);

/** Why an occurrence added nothing or reduced the evidence; `first` is an earlier occurrence of its round, if any. */
function nothingOf(
  { rule }: Finding,
  points: number,
  first: number | undefined,
  own: Pick<RuleInForce, "window"> | undefined,
): string {
  if (points < 0) return "earlier ones count less: there was another outcome, or something else was done, in between";
  if (first !== undefined) return `counts nothing: it is in the same round as #${first}, so both are one decision`;
  if (rule === "monologue") return "adds nothing: with work in between, only some of them do";
  if (rule in WORTH && own !== undefined && own.window > 0)
    return "adds nothing: something was changed or new in between, there was a wait, or an older one no longer counts";
  return rule in WORTH
    ? "counts nothing: something was changed or new in between, or there was a wait"
    : "adds nothing: the rule looks only at the latest ones, and an older one no longer counts";
}

/** A rule's evidence as a share of its next threshold; 0 if there is none. */
const way = ({ count, nextThreshold }: RuleStanding): number => (nextThreshold ? count / nextThreshold : 0);

/** Descriptions of a goal's `slot`. */
const SLOTS = {
  none: "the same object, and nothing else is named",
  more: "the same object, and more is named",
  less: "the same object, and less is named",
  other: "something else is named",
  refilled: "the same sentence with something else in one place",
} as const;

function* toldGoals(all: AboutWhat[]): Generator<string> {
  const skipped = all.length - SIGHTINGS;
  const words = (list: string[]) => short(list.join(", "), WIDTH - 24);
  yield "  what the requests are about";
  for (const { seq, about, moved } of skipped > 0 ? [...all.slice(0, 1), ...all.slice(1 - SIGHTINGS)] : all) {
    if (moved === undefined) {
      yield `    #${seq}  ${words(about)}`;
      continue;
    }
    const { since, alike, kept, added, left, slot, shared } = moved;
    yield `    #${seq}  ${SLOTS[slot]} (${alike} % shared with #${since}${shared ? "" : ", which is another request"})`;
    if (kept.length > 0) yield paint("dim", `          stayed  ${words(kept)}`);
    if (added.length > 0) yield paint("dim", `          came    ${words(added)}`);
    if (left.length > 0) yield paint("dim", `          went    ${words(left)}`);
  }
}

/** Characters shown before the first one in which two long words differ. */
const BEFORE = 12;

/** The number of characters with which both texts begin. */
function alike(first: string, second: string): number {
  let index = 0;
  while (index < first.length && first[index] === second[index]) index += 1;
  return index;
}

function* toldComparison({
  first,
  second,
  isText,
  arguments: fields,
  outcomes,
  equal,
  more,
}: Compared): Generator<string> {
  const pair = ({ first, second }: Difference) => {
    const from = alike(first, second) - BEFORE;
    const hides = from > 0 && Math.max(first.length, second.length) > 40;
    const part = (text: string) => short(hides ? `…${text.slice(from).replace(/^[\uDC00-\uDFFF]/, "")}` : text, 40);
    return [
      first === "" ? "" : paint("red", `[-${part(first)}-]`),
      second === "" ? "" : paint("cyan", `{+${part(second)}+}`),
    ].join("");
  };
  const among = (difference: Difference) =>
    [difference.before, pair(difference), difference.after].filter((part) => part !== undefined).join(" ");
  const masked = {
    always: "masked: it changes by itself",
    "the rest is the same text": "ignored: the rest is the same text",
  } as Record<string, string>;
  const what = isText ? "text     " : "outcome  ";
  yield `  #${first} and #${second}`;
  if (fields.length === 0 && !isText) yield "    arguments  equal";
  for (const { field, differences } of fields)
    yield `    arguments  ${field}: ${differences.map(among).join(" ") || "only in white space"}`;
  if (outcomes.length === 0) yield `    ${what}  equal${equal ? "" : " apart from white space"}`;
  for (const difference of outcomes) {
    const why = difference.masked;
    const reason =
      why === undefined
        ? isText
          ? ""
          : "counts"
        : (masked[why] ?? (why.startsWith("repeats") ? why : `masked ${why.startsWith("in") ? why : `as ${why}`}`));
    yield `    ${what}  ${pair(difference)}  ${paint("dim", reason)}`.trimEnd();
  }
  if (more > 0) yield paint("dim", `               and ${more} more differences`);
}

const named = ({ file, id }: Trace): string => (id === undefined ? shown(file) : `${shown(file)} ${id}`);

function scopeOf({ run, task, parentTask, agent }: Event): Scope {
  return JSON.parse(JSON.stringify({ run, task, parentTask, agent }), (_, value) => value ?? undefined);
}

/** The top-level fields in which the arguments of two calls differ, as text. */
function argumentFields(
  first: (Event & { type: "tool-call" }) | undefined,
  second: (Event & { type: "tool-call" }) | undefined,
): { field: string; a: string; b: string }[] {
  const table = (call: (Event & { type: "tool-call" }) | undefined): Record<string, unknown> => {
    const args = call?.args ?? call?.rawArgs;
    return typeof args === "object" && args !== null && !Array.isArray(args) ? { ...args } : { "": args };
  };
  const [one, other] = [table(first), table(second)];
  const text = (value: unknown) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].sort().flatMap((field) => {
    const [a, b] = [text(one[field]), text(other[field])];
    return a === b || field === "" ? [] : [{ field, a, b }];
  });
}

/** Number of characters of shared text shown on either side of a difference. */
const NEAR = 20;

/** Differences of a text with the shared words around them. */
function inPlace(text: string, all: Hunk[]): Difference[] {
  const told = all.slice(0, DIFFERENCES);
  return told.map((hunk, index) => {
    const previous = told[index - 1];
    const before = shared(text.slice(previous?.end ?? 0, hunk.start), previous !== undefined, true);
    const isLast = index === told.length - 1;
    const after = !isLast ? "" : all.length > told.length ? "…" : shared(text.slice(hunk.end), true, false);
    return { ...bare(hunk), ...(before === "" ? {} : { before }), ...(after === "" ? {} : { after }) };
  });
}

/** Shared words, shortened to those next to a difference, which may be before them, after them or both. */
function shared(text: string, isAfter: boolean, isBefore: boolean): string {
  const words = text.split(/\s+/).filter((word) => word !== "");
  if (words.join(" ").length <= 2 * NEAR + 1) return words.join(" ");
  const near = (list: string[]) => {
    const lengths = list.map((_, index) => list.slice(0, index + 1).join(" ").length);
    return list.filter((_, index) => (lengths[index] ?? 0) <= NEAR);
  };
  const head = isAfter ? near(words) : [];
  const tail = isBefore ? near(words.toReversed()).reverse() : [];
  return [...head, "…", ...tail].join(" ");
}

/** A hunk as a difference; a pure insertion gets a trailing space. */
const bare = ({ first, second }: Hunk): Difference => ({ first, second: first === "" ? `${second} ` : second });
