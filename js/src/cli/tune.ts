import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { LoopDetector } from "../detector.ts";
import { type InForce, inForce } from "../diagnose.ts";
import type { Config, Event, Finding, Level } from "../generated/types.ts";
import { isLargelyUnread, judge } from "../replay/judge.ts";
import { RUNGS, type Rung, reaches } from "../replay/levels.ts";
import { pair } from "../replay/pair.ts";
import { apart, refused, type Trace } from "../replay/read.ts";
import { isSound, merged, raised, reached, ruleChange, scale, written } from "../replay/settings.ts";
import { level, type Options, oneOf, parse, UsageError } from "./args.ts";
import { called } from "./called.ts";
import { InputError } from "./failure.ts";
import { absence, Complaints, FORCE, filesOf, mayWrite, save, tracesOf } from "./input.ts";
import { NAME } from "./name.ts";
import { columns, paint, print, printJson, progress, tell } from "./print.ts";
import { hasComments, OPTIONS, read, type Settings, settings } from "./settings.ts";

export const help: string = `Usage: loopwarden tune PATH… [--rate R] [--level LEVEL] [--config FILE] [-o FILE [--force]] [--json]

Shows the alarms that each rule would have raised in your own recorded runs, and suggests the fewest settings, for single
tools if that suffices, that keep false alarms below a rate without losing a labelled loop.

PATH is a file of scenarios (one per line, as for eval), a file of events or a session log (as for replay; every run in it
counts as one), or a folder: its *.jsonl, *.json and *.traj files, at any depth. Any of them may be gzip-compressed.

  --rate R        the share of honest runs that may have an alarm, such as 0.01 (default) or 1%
  --level LEVEL   what counts as an alarm: observe, nudge (default), block, gate or halt
  --config FILE   the configuration to start from; by default loopwarden.json in this folder, if there is one;
                  --no-config starts from the recommended one
  --unlabelled K  what runs without a label are: honest, loop or skip; asked if half of them or more have an alarm
  -o FILE         write the suggested configuration there, if the rate is met. An earlier configuration is
                  overwritten; one with comments, a log or any other file only with --force
  --json          the whole result as one object

"expect": "no-loop" makes a run honest, "loop" makes it a loop, to be caught by "expectAt" and, with "firstAt", not
earlier. A run without a label counts as honest, unless it says "success": false: alarms in such a run are counted
separately. If half of the runs without a label or more have an alarm, nothing is suggested until you say what they are.
A scenario with a wrong label is reported and left out, and so is a file that cannot be read. Every suggestion was
replayed: the figures printed are those of your runs under it. A scenario's own configuration is set aside, since the
question is what one configuration does to all runs. A scenario of which nothing can be read is left out as well.

Exit codes: 0 the rate is met, or met by the suggestion, 1 no input can be read, or a quarter of a file or more cannot
be read and there is no alarm in the rest, 2 wrong usage, 3 the rate cannot be met, or not without losing a labelled
loop, or it is not known what the runs without a label are.
`;

/** How a run is counted. */
type Kind = "honest" | "loop" | "failed";

interface Run extends Trace {
  kind: Kind;
  /** The index of each result's call and of each call's result. */
  partner: (number | undefined)[];
}

/** The strongest alarm of one rule about the same tools in one run. */
interface Alarm {
  rule: string;
  /** The tools of the evidence and of the event that raised it. */
  tools: string[];
  /** The most evidence, divided by the factor applied to the thresholds. */
  count: number;
  /** The index of the event that raised the first alarm. */
  index: number;
  /** The sequence number of that event's verdict. */
  seq: number;
  line: number;
  message: string;
  /** Whether the calls of the evidence have the same arguments. */
  isOneCall: boolean;
}

/** The result of replaying one run. */
interface Outcome {
  alarms: Alarm[];
  /** Whether a labelled loop was found in time. */
  caught: boolean;
  /** The number of events judged. */
  judged: number;
}

/** A change that may reduce false alarms. */
interface Candidate {
  change: Config;
  /** The tool that it affects; undefined for a change that affects all. */
  tool: string | undefined;
  /** How much detection it gives up, from 0: of two equally good candidates the cheaper one is taken. */
  cost: number;
}

/** A change that was taken, with the number of runs with false alarms before and after. */
interface Step {
  change: Config;
  before: number;
  after: number;
}

/** A change that would have helped but loses labelled loops. */
interface Refused extends Step {
  lost: string[];
}

/** Maximum number of threshold values tried per rule and tool. */
const THRESHOLDS = 6;
/** Maximum number of remaining alarms shown. */
const SHOWN = 5;

const OWN = {
  ...OPTIONS,
  rate: { type: "string", default: "0.01" },
  level: { type: "string", default: "nudge" },
  ...FORCE,
  output: { type: "string", short: "o" },
  unlabelled: { type: "string" },
  json: { type: "boolean", default: false },
} as const satisfies Options;
export const options: Options = OWN;

/** How runs without a label can be treated. */
const UNLABELLED = ["honest", "loop", "skip"] as const;
type Unlabelled = (typeof UNLABELLED)[number];
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, OWN);
  if (positionals.length === 0) throw new UsageError("tune: which files or folders?");
  const rate = share(values.rate);
  const least = level(values.level);
  const unlabelled = oneOf("--unlabelled", values.unlabelled, UNLABELLED);
  const base = await settings(values);
  const config = base?.config ?? {};
  const runs: Run[] = [];
  const { files, missing: unread } = await filesOf(positionals);
  const { output } = values;
  if (output !== undefined && !values.force)
    await mayWrite(
      output,
      files.map(({ file }) => file),
      () => loss(output, base),
    );
  const complaints = new Map(files.map(({ file }) => [file, new Complaints(file)]));
  for (const { file, named } of files) {
    const known = complaints.get(file) as Complaints;
    const { add } = known;
    const traces = await tracesOf(file, known).catch((error: unknown) => {
      if (!(error instanceof InputError)) throw error;
      unread.push(error.message);
      return undefined;
    });
    // A project folder may contain JSON files that are not runs.
    if (traces?.length === 0 && (named || !/\.json$/.test(file))) unread.push(absence(file, known));
    for (const trace of traces?.flatMap(apart) ?? []) {
      if (trace.wrong.length > 0) {
        add(trace.line, ...trace.wrong);
        continue;
      }
      for (const { event, line } of trace.events) known.time(event, line);
      const partner = pair(trace.events.map(({ event, pending }) => ({ ...event, pending })));
      runs.push({ ...trace, kind: kindOf(trace), partner });
    }
  }
  const tuning = new Tuning(runs, config, least, rate, complaints);
  const isUnsure = ended(tuning, complaints);
  const [reason] = unread;
  if (tuning.runs.length === 0) {
    if (reason !== undefined && files.length === 1) throw new InputError(reason);
    for (const message of unread) tell(`loopwarden: ${message}`);
    throw new InputError("there is no run that can be read");
  }
  try {
    const code = await tuned(tuning, config, { least, rate, unlabelled, output, json: values.json });
    return code === 0 && isUnsure ? 1 : code;
  } finally {
    for (const message of unread) tell(`loopwarden: left out: ${message}`);
  }
}

/** What would be lost by writing a configuration to a file; undefined if nothing. */
async function loss(output: string, base: Settings | undefined): Promise<string | undefined> {
  const found = await read(output).catch((error: unknown) => {
    if (!(error instanceof InputError)) throw error;
    return undefined;
  });
  if (found === undefined) return "exists and is not a configuration";
  if (hasComments(found.document)) return "holds comments, which would be lost";
  if (base?.file !== undefined && resolve(base.file) === resolve(output)) return undefined;
  // Rules and tools may be an earlier suggestion, except in the default configuration of this folder.
  const isOwn = resolve(output) === resolve(NAME);
  const from: Record<string, unknown> = { ...base?.config };
  const lost = Object.entries(found.config).filter(
    ([name, value]) =>
      (isOwn || !["rules", "tools"].includes(name)) && JSON.stringify(value) !== JSON.stringify(from[name]),
  );
  if (lost.length === 0) return undefined;
  return `holds settings that would be lost (${lost.map(([name]) => name).join(", ")}), since tune does not start from them`;
}

/** Prints the complaints about each file. Returns whether much of a file is unreadable and nothing was found in it. */
function ended({ runs, first }: Tuning, complaints: ReadonlyMap<string, Complaints>): boolean {
  let isUnsure = false;
  for (const [file, known] of complaints) {
    const outcomes = first.filter((_, index) => runs[index]?.file === file);
    const judged = outcomes.reduce((sum, outcome) => sum + outcome.judged, 0);
    known.end(judged, judged === 0 ? 0 : known.count);
    isUnsure ||=
      judged > 0 && isLargelyUnread(known.count, judged) && outcomes.every(({ alarms }) => alarms.length === 0);
  }
  return isUnsure;
}

interface How {
  least: Level;
  rate: number;
  unlabelled: Unlabelled | undefined;
  output: string | undefined;
  json: boolean;
}

/** Tunes to the runs, prints the result and returns the exit code. */
async function tuned(all: Tuning, config: Config, how: How): Promise<number> {
  const { least, rate, output, json } = how;
  let { unlabelled } = how;
  let tuning = all;
  const { runs } = tuning;
  const own = runs.filter((trace) => trace.config !== undefined).length;
  if (own > 0) tell(`loopwarden: ${count(own, "run")} with a configuration of their own: it is set aside`);

  const { bare, alarmed } = tuning.unlabelled();
  if (unlabelled === undefined && alarmed > 0 && alarmed * 2 >= bare && !tuning.isMet) {
    unlabelled = await asked(bare, alarmed, least);
    if (unlabelled === undefined) {
      progress(undefined);
      if (json) printJson({ ...tuning.result(), question: { unlabelled: bare, alarmed } });
      if (output !== undefined) tell(`loopwarden: nothing is written to ${output}`);
      return 3;
    }
  }
  if (unlabelled === "loop" || unlabelled === "skip") {
    const kept = runs.filter((trace) => unlabelled === "loop" || !isUnlabelled(trace));
    if (kept.length === 0) throw new InputError("no run has a label, and runs without one are left out");
    tuning = new Tuning(
      kept.map((trace) => (isUnlabelled(trace) ? { ...trace, kind: "loop" } : trace)),
      config,
      least,
      rate,
    );
  }
  tuning.search();
  const kept = !tuning.isMet ? "the rate is not met" : tuning.honest === 0 ? "no rate can be computed" : undefined;
  // Written before printing, because the reader may close the pipe.
  if (output !== undefined && kept === undefined) await write(output, tuning.config);
  if (json) printJson(tuning.result());
  else for (const line of told(tuning)) print(line);
  if (output !== undefined) {
    if (kept !== undefined) tell(`loopwarden: nothing is written to ${output}: ${kept}`);
    else if (!json) print(`\nWritten to ${output}.`);
  }
  return tuning.isMet ? 0 : 3;
}

/** Writes a configuration, keeping the `$schema` of an existing file. */
async function write(output: string, config: Config): Promise<void> {
  const before = await read(output).catch(() => undefined);
  const whole = { ...(before?.schema !== undefined && { $schema: before.schema }), ...config };
  await save(output, `${JSON.stringify(whole, null, 2)}\n`);
}

/** Asks what unlabelled runs are if half or more have alarms: settings that silence real loops would be harmful. */
async function asked(all: number, alarmed: number, least: Level): Promise<Unlabelled | undefined> {
  tell(
    `loopwarden: ${count(all, "run")} without a label, and ${alarmed} of them with an alarm at ${least} or above: these may be loops.\n` +
      "Settings that silence loops would switch off what finds them. Look at some of the runs with `npx loopwarden replay`, then\n" +
      'label them ("expect": "loop" or "no-loop" in a scenario, as `npx loopwarden view` exports a run), or say what they\n' +
      "are: --unlabelled honest, loop or skip.",
  );
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) return undefined;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = (await lines.question("honest, loop or skip? [none of these] ")).trim();
    return UNLABELLED.find((known) => known === answer);
  } finally {
    lines.close();
  }
}

const isUnlabelled = ({ labels: { expect, success } }: Trace): boolean => expect == null && success == null;

/** Parses a share from 0 to below 1: 0.01 or 1%. */
function share(text: string): number {
  const found = /^(\d+(?:\.\d+)?|\.\d+)(%?)$/.exec(text.trim());
  const rate = found === null ? Number.NaN : Number(found[1]) / (found[2] === "%" ? 100 : 1);
  if (rate >= 0 && rate < 1) return rate;
  throw new UsageError(`--rate ${text}: expected a share from 0 to below 1, such as 0.01 or 1%`);
}

function kindOf({ labels: { expect, success } }: Trace): Kind {
  if (expect === "loop") return "loop";
  return expect !== "no-loop" && success === false ? "failed" : "honest";
}

/** The name of a run in messages. */
const named = ({ file, id }: Trace): string => (id === undefined ? file : `${file} ${id}`);

class Tuning {
  readonly runs: Run[];
  readonly least: Level;
  readonly rate: number;
  /** The number of honest runs that may have an alarm. */
  readonly allowed: number;
  /** The outcome of each run under the initial configuration. */
  readonly first: Outcome[];
  /** The changes taken. */
  steps: Step[] = [];
  /** The changes that would have helped but lose a loop. */
  refused: Refused[] = [];
  /** The current configuration. */
  config: Config;
  /** The outcome of each run under the current configuration. */
  now: Outcome[];
  readonly #base: Config;
  readonly #force = new Map<string, InForce>();
  readonly #changing = new Map<string, boolean>();
  #told = 0;

  /** Rejected events are added to the `complaints` of their files. */
  constructor(runs: Run[], config: Config, least: Level, rate: number, complaints?: ReadonlyMap<string, Complaints>) {
    this.runs = runs;
    this.least = least;
    this.rate = rate;
    this.#base = config;
    this.config = config;
    const all = this.#replay(
      config,
      () => true,
      [],
      ({ file }, line, message) => complaints?.get(file)?.add(line, message),
    );
    const isRun = all.map(({ judged }) => judged > 0);
    for (const { file, line } of runs.filter((_, index) => !isRun[index]))
      complaints?.get(file)?.note(line, "none of its events can be read, so it is left out");
    this.runs = runs.filter((_, index) => isRun[index]);
    this.first = all.filter((_, index) => isRun[index]);
    this.now = this.first;
    // Compensates for rounding: a rate of 0.29 of 100 runs must give 29.
    this.allowed = Math.floor(rate * this.honest + 1e-9);
  }

  get honest(): number {
    return this.runs.filter(({ kind }) => kind === "honest").length;
  }

  get isMet(): boolean {
    return this.falseAlarms(this.now) <= this.allowed;
  }

  /** The number of runs without a label, and how many of them have an alarm initially. */
  unlabelled(): { bare: number; alarmed: number } {
    const found = this.runs.flatMap((trace, index) =>
      isUnlabelled(trace) ? [this.first[index]?.alarms.length ?? 0] : [],
    );
    return { bare: found.length, alarmed: found.filter((alarms) => alarms > 0).length };
  }

  falseAlarms(outcomes: Outcome[]): number {
    return this.#count(outcomes, "honest", ({ alarms }) => alarms.length > 0);
  }

  caught(outcomes: Outcome[]): number {
    return this.#count(outcomes, "loop", ({ caught }) => caught);
  }

  #count(outcomes: Outcome[], kind: Kind, is: (outcome: Outcome) => boolean): number {
    return this.runs.filter((trace, index) => trace.kind === kind && is(outcomes[index] as Outcome)).length;
  }

  /**
   * What a change has to reduce: runs with false alarms first, then the number of false alarms. A run in which two
   * rules are wrong is only quiet after two changes, and the first must count as progress too.
   */
  #noise(outcomes: Outcome[]): number {
    const alarms = this.runs.map(({ kind }, index) => (kind === "honest" ? (outcomes[index]?.alarms.length ?? 0) : 0));
    return (
      this.falseAlarms(outcomes) * 1e6 +
      Math.min(
        1e6 - 1,
        alarms.reduce((sum, some) => sum + some, 0),
      )
    );
  }

  /** Takes changes greedily, then drops those that turn out to be unnecessary. */
  search(): void {
    const hopeless = new Set<string>();
    while (!this.isMet) {
      // Settings of single tools come first; only if they no longer help are global settings changed.
      const step = this.#best(this.#perTool(), hopeless) ?? this.#best(this.#forAll(), hopeless);
      if (step === undefined) break;
      this.#take(step.change, step.outcomes);
    }
    this.#prune();
    this.steps = joined(this.steps);
    // The printed result is a full replay under the final configuration, not combined from partial ones.
    if (this.steps.length > 0) this.now = this.#replay(this.config, () => true, []);
    this.#clear();
  }

  #take(change: Config, outcomes: Outcome[]): void {
    this.steps.push({ change, before: this.falseAlarms(this.now), after: this.falseAlarms(outcomes) });
    this.config = merged(this.config, change);
    this.now = outcomes;
    this.#force.clear();
  }

  #prune(): void {
    const most = Math.max(this.allowed, this.falseAlarms(this.now));
    for (let index = this.steps.length - 1; index >= 0; index--) {
      const kept = this.steps.filter((_, at) => at !== index);
      const outcomes = this.#replay(together(this.#base, kept), () => true, []);
      if (this.falseAlarms(outcomes) > most || this.#lost(outcomes).length > 0) continue;
      // Replayed one after the other, so that each step shows its own effect.
      [this.steps, this.config, this.now] = [[], this.#base, this.first];
      for (const { change } of kept) {
        this.#take(
          change,
          this.#replay(merged(this.config, change), () => true, []),
        );
      }
    }
  }

  /** The labelled loops that were caught initially and no longer are. */
  #lost(outcomes: Outcome[]): string[] {
    return this.runs
      .filter((trace, index) => trace.kind === "loop" && this.first[index]?.caught && !outcomes[index]?.caught)
      .map(named);
  }

  /**
   * The best change: of those that are sufficient the one with the lowest cost, else the one with the largest effect.
   */
  #best(candidates: Candidate[], hopeless: Set<string>): { change: Config; outcomes: Outcome[] } | undefined {
    const before = this.#noise(this.now);
    const open = candidates
      .filter(({ change }) => !hopeless.has(JSON.stringify(merged(this.config, change))))
      .map((candidate) => ({ ...candidate, after: this.#screen(candidate) }))
      .filter(({ after }) => after < before);
    const enough = (noise: number) => noise < (this.allowed + 1) * 1e6;
    open.sort(
      (a, b) =>
        Number(enough(b.after)) - Number(enough(a.after)) ||
        (enough(a.after) ? 0 : a.after - b.after) ||
        a.cost - b.cost ||
        a.after - b.after,
    );
    for (const { change, tool } of open) {
      const config = merged(this.config, change);
      const concerns = (trace: Run) => tool === undefined || trace.events.some((event) => event.tool === tool);
      const outcomes = this.#replay(config, concerns, this.now);
      const [noise, lost] = [this.#noise(outcomes), this.#lost(outcomes)];
      if (noise < before && lost.length === 0) return { change, outcomes };
      hopeless.add(JSON.stringify(config));
      if (noise < before)
        this.refused.push({ change, before: this.falseAlarms(this.now), after: this.falseAlarms(outcomes), lost });
    }
    return undefined;
  }

  /** The noise that would be left, replaying only the runs that have a false alarm now. */
  #screen({ change, tool }: Candidate): number {
    const alarmed = (trace: Run, index: number) =>
      trace.kind === "honest" &&
      this.now[index]?.alarms.length !== 0 &&
      (tool === undefined || trace.events.some((event) => event.tool === tool));
    return this.#noise(this.#replay(merged(this.config, change), alarmed, this.now));
  }

  /** The false alarms grouped by rule and tools, in the order of the runs. */
  groups(): Alarm[][] {
    const groups = new Map<string, Alarm[]>();
    for (const [index, { kind }] of this.runs.entries()) {
      if (kind !== "honest") continue;
      for (const alarm of this.now[index]?.alarms ?? []) {
        const key = JSON.stringify([alarm.rule, alarm.tools]);
        groups.set(key, [...(groups.get(key) ?? []), alarm]);
      }
    }
    return [...groups.values()];
  }

  /**
   * Settings of single tools. They can only ever remove alarms: to ignore an argument (`ignoreArgs`) would make calls
   * equal that are about different things, and so raise alarms in honest runs that are not among these, such as in a
   * batch that failed here and succeeds elsewhere. Nor is a tool said to poll because that happens to silence it: it
   * does if its name says so, or if one call is made again and no call of the tool changes anything.
   */
  #perTool(): Candidate[] {
    const found = new Map<string, Candidate>();
    const add = (tool: string, cost: number, change: Config) => {
      const key = JSON.stringify(change);
      if (!found.has(key) && isSound(merged(this.config, change))) found.set(key, { change, tool, cost });
    };
    for (const alarms of this.groups()) {
      const [alarm] = alarms;
      if (alarm === undefined) continue;
      for (const tool of alarm.tools) {
        const asks = isPoll(tool) || (alarms.every(({ isOneCall }) => isOneCall) && !this.#changes(tool));
        if (asks && !this.#inForce(tool).polling)
          add(tool, isPoll(tool) ? 0 : 3, { tools: { [tool]: { polling: true } } });
      }
      const [tool, ...others] = alarm.tools;
      if (tool === undefined || others.length > 0) continue;
      for (const settings of this.#thresholds(tool, alarms)) add(tool, 2, ruleChange(tool, alarm.rule, settings));
      add(tool, 4, ruleChange(tool, alarm.rule, { enabled: false }));
    }
    return [...found.values()];
  }

  #forAll(): Candidate[] {
    const byRule = new Map<string, Alarm[]>();
    for (const alarm of this.groups().flat()) byRule.set(alarm.rule, [...(byRule.get(alarm.rule) ?? []), alarm]);
    return [...byRule].flatMap(([rule, alarms]) => [
      ...this.#thresholds(undefined, alarms).map((settings) => ({
        change: ruleChange(undefined, rule, settings),
        tool: undefined,
        cost: 5,
      })),
      { change: ruleChange(undefined, rule, { enabled: false }), tool: undefined, cost: 6 },
    ]);
  }

  /** Threshold settings above the counts of some or all of these alarms of one rule, lowest first. */
  #thresholds(tool: string | undefined, alarms: Alarm[]): object[] {
    const rule = this.#inForce(tool).rules.find(({ id }) => id === alarms[0]?.rule);
    if (rule === undefined) return [];
    const counts = [...new Set(alarms.map(({ count }) => count))].sort((a, b) => a - b);
    const stride = Math.max(1, Math.ceil(counts.length / THRESHOLDS));
    const tried = counts.filter((_, index) => (counts.length - 1 - index) % stride === 0);
    const rungs = RUNGS.filter((rung) => rule[rung] !== 0);
    // A loop that resumes after a nudge is blocked at once, so only the lowest threshold keeps it silent for good.
    const from = new Set<Rung | undefined>([rungs.find((rung) => reaches(rung, this.least)), rungs[0]]);
    return tried.flatMap((most) =>
      [...from].flatMap((rung) => {
        if (rung === undefined || reached(rule, most, 1) === undefined || most < rule[rung]) return [];
        return raised(this.config, tool, rule, rung, most + 1) ?? [];
      }),
    );
  }

  #inForce(tool: string | undefined, config: Config = this.config): InForce {
    if (config !== this.config) return inForce(JSON.stringify(config), tool);
    const key = JSON.stringify([tool]);
    const known = this.#force.get(key) ?? inForce(JSON.stringify(config), tool);
    this.#force.set(key, known);
    return known;
  }

  /** Whether a recorded call of a tool changes something. */
  #changes(tool: string): boolean {
    const known = this.#changing.get(tool);
    if (known !== undefined) return known;
    const calls = new Map<string, Event & { type: "tool-call" }>();
    for (const { event, tool: own } of this.runs.flatMap(({ events }) => events))
      if (own === tool && event.type === "tool-call") calls.set(JSON.stringify([event.args, event.rawArgs]), event);
    const config = { tools: this.#base.tools ?? {} };
    const found = [...calls.values()].some((call) => changes(call, config));
    this.#changing.set(tool, found);
    return found;
  }

  /** The outcomes of all runs: replays those concerned, and takes the known outcomes of the others. */
  #replay(
    config: Config,
    isConcerned: (run: Run, index: number) => boolean,
    known: Outcome[],
    refuse?: (trace: Trace, line: number, message: string) => void,
  ): Outcome[] {
    const text = JSON.stringify(config);
    const force = new Map<string | undefined, InForce>();
    const forceOf = (tool: string | undefined): InForce => {
      const found = force.get(tool) ?? inForce(text, tool);
      force.set(tool, found);
      return found;
    };
    return this.runs.map((run, index) => {
      const before = known[index];
      if (before !== undefined && !isConcerned(run, index)) return before;
      this.#tell();
      return judged(run, text, this.least, forceOf, (line, message) => refuse?.(run, line, message));
    });
  }

  /** Shows progress on a terminal. */
  #tell(): void {
    this.#told++;
    if (this.#told % 50 === 0) progress(`replaying … ${this.#told}`);
  }

  #clear(): void {
    progress(undefined);
  }

  /** Every rule that raised an alarm initially, by number of honest runs with a false alarm. */
  rules(): { rule: string; runs: number; false: number; loops: number; failed: number; tools: [string, number][] }[] {
    const rules = new Map<string, { kinds: Record<Kind, number>; tools: Map<string, number> }>();
    for (const [index, { kind }] of this.runs.entries()) {
      const seen = new Set<string>();
      for (const { rule, tools } of this.first[index]?.alarms ?? []) {
        const counts = rules.get(rule) ?? { kinds: { honest: 0, loop: 0, failed: 0 }, tools: new Map() };
        rules.set(rule, counts);
        if (!seen.has(rule)) counts.kinds[kind]++;
        seen.add(rule);
        const tool = tools.join(" + ");
        if (kind === "honest" && tool !== "" && !seen.has(`${rule} ${tool}`)) {
          seen.add(`${rule} ${tool}`);
          counts.tools.set(tool, (counts.tools.get(tool) ?? 0) + 1);
        }
      }
    }
    return [...rules]
      .map(([rule, { kinds, tools }]) => ({
        rule,
        runs: kinds.honest + kinds.loop + kinds.failed,
        false: kinds.honest,
        loops: kinds.loop,
        failed: kinds.failed,
        tools: [...tools].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)),
      }))
      .sort((a, b) => b.false - a.false || b.runs - a.runs || (a.rule < b.rule ? -1 : 1));
  }

  /** The remaining false alarms, one per run, rule and set of tools. */
  left(): (Alarm & { trace: Run })[] {
    return this.runs.flatMap((trace, index) =>
      trace.kind === "honest" ? (this.now[index]?.alarms ?? []).map((alarm) => ({ ...alarm, trace })) : [],
    );
  }

  result(): object {
    const of = (outcomes: Outcome[]) => ({ falseAlarms: this.falseAlarms(outcomes), caught: this.caught(outcomes) });
    const kind = (wanted: Kind) => this.runs.filter(({ kind }) => kind === wanted).length;
    return {
      level: this.least,
      rate: this.rate,
      allowed: this.allowed,
      runs: { honest: this.honest, loops: kind("loop"), failed: kind("failed") },
      rules: this.rules().map(({ tools, ...rule }) => ({ ...rule, tools: Object.fromEntries(tools) })),
      before: of(this.first),
      after: of(this.now),
      met: this.isMet,
      changes: this.steps,
      refused: this.isMet ? [] : this.refused,
      left: this.left().map(({ trace, index, isOneCall: _, ...alarm }) => ({
        file: trace.file,
        ...(trace.id === undefined ? {} : { id: trace.id }),
        ...alarm,
        event: index,
      })),
      config: this.config,
    };
  }
}

/** Merges steps without an effect of their own into the next step that has one. */
function joined(steps: Step[]): Step[] {
  const found: Step[] = [];
  let open: Config = {};
  for (const { change, before, after } of steps) {
    open = merged(open, change);
    if (before === after) continue;
    found.push({ change: open, before, after });
    open = {};
  }
  return found;
}

/** A configuration with all of these changes. */
const together = (base: Config, steps: { change: Config }[]): Config =>
  steps.reduce((config, { change }) => merged(config, change), base);

/** Whether a tool's name suggests that it is used for polling. */
function isPoll(tool: string): boolean {
  const words = tool
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z]+/);
  return words.some((word) => /^(poll|wait|status|state|progress|watch|tail|health|ping|heartbeat|queue)/.test(word));
}

/** Whether a call would change something. The core knows: nothing is repeated by a look after a change. */
function changes({ tool, args, rawArgs }: Event & { type: "tool-call" }, config: Config): boolean {
  const look: Event[] = [
    { type: "tool-call", tool: "read_file", args: { path: "loopwarden-tune.txt" } },
    { type: "tool-result", tool: "read_file", outcome: "ok", output: "one line" },
  ];
  const done: Event = { type: "tool-result", tool, outcome: "ok", output: "done" };
  const detector = new LoopDetector(config);
  for (const event of [...look, { type: "tool-call", tool, args, rawArgs } as Event, done, ...look])
    judge(detector, { event, pending: false });
  const { rules } = detector.status();
  detector.free();
  return !rules.some(({ rule }) => rule === "repeated-call");
}

/** Replays one run under a configuration. */
function judged(
  run: Run,
  config: string,
  least: Level,
  force: (tool: string | undefined) => InForce,
  refuse: (line: number, message: string) => void,
): Outcome {
  const detector = new LoopDetector(config);
  const alarms = new Map<string, { alarm: Alarm; isAlarm: boolean }>();
  /** The index of each event by sequence number. */
  const places = new Map<number, number>();
  let first: number | undefined;
  let judged = 0;
  for (const [index, recorded] of run.events.entries()) {
    const { verdict, error } = judge(detector, recorded);
    if (recorded.unread) continue;
    if (verdict !== undefined) judged++;
    if (error !== undefined) refuse(recorded.line, refused(recorded, error));
    if (verdict === undefined) continue;
    if (!recorded.pending) places.set(verdict.seq, index);
    for (const finding of verdict.findings) {
      const isAlarm = reaches(finding.level, least);
      if (isAlarm) first ??= index;
      note(alarms, alarmOf(run, finding, index, verdict.seq, places, force), isAlarm);
    }
  }
  detector.free();
  const { expect, expectAt, firstAt } = run.labels;
  const inTime = first !== undefined && (expectAt == null || first <= expectAt);
  const tooEarly = first !== undefined && firstAt === true && expectAt != null && first < expectAt;
  const raised = [...alarms.values()].flatMap(({ alarm, isAlarm }) => (isAlarm ? [alarm] : []));
  return { alarms: raised, caught: expect === "loop" && inTime && !tooEarly, judged };
}

/**
 * Merges alarms of one rule about the same tools: keeps the first one and the highest count. That includes findings
 * which were only observed, because a loop is nudged once however long it goes on.
 */
function note(alarms: Map<string, { alarm: Alarm; isAlarm: boolean }>, alarm: Alarm, isAlarm: boolean): void {
  const key = JSON.stringify([alarm.rule, alarm.tools]);
  const known = alarms.get(key);
  if (known === undefined) {
    alarms.set(key, { alarm, isAlarm });
    return;
  }
  const count = Math.max(known.alarm.count, alarm.count);
  const isOneCall = known.alarm.isOneCall && alarm.isOneCall;
  alarms.set(key, {
    alarm: { ...(known.isAlarm ? known.alarm : alarm), count, isOneCall },
    isAlarm: known.isAlarm || isAlarm,
  });
}

function alarmOf(
  run: Run,
  finding: Finding,
  index: number,
  seq: number,
  places: Map<number, number>,
  force: (tool: string | undefined) => InForce,
): Alarm {
  const evidence = finding.evidence.flatMap(({ seq }) => places.get(seq) ?? []);
  const about = [...evidence, index].flatMap((place) => run.events[place]?.tool ?? []);
  const tools = [...new Set(about)].sort();
  const rule = force(run.events[index]?.tool).rules.find(({ id }) => id === finding.rule);
  const times = scale(finding, rule);
  return {
    rule: finding.rule,
    tools,
    count: Math.floor(finding.count / times),
    index,
    seq,
    line: run.events[index]?.line ?? run.line,
    message: finding.message,
    isOneCall: tools.length > 1 || new Set(evidence.map((place) => JSON.stringify(argsAt(run, place)))).size <= 1,
  };
}

/** The arguments of the call at an index, or of the call of the result there. */
function argsAt(run: Run, place: number): unknown {
  const event = run.events[place]?.event;
  const call = event?.type === "tool-result" ? run.events[run.partner[place] ?? -1]?.event : event;
  return call?.type === "tool-call" ? call.args : undefined;
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;
const percent = (share: number): string => `${Number((share * 100).toPrecision(3))} %`;

function told(tuning: Tuning): string[] {
  const { runs, honest, first, now, allowed } = tuning;
  const of = (kind: Kind) => runs.filter((trace) => trace.kind === kind);
  const labelled = of("honest").filter(({ labels }) => labels.expect === "no-loop").length;
  const [loops, failed] = [of("loop").length, of("failed").length];
  const kinds = [
    `${honest} honest (${labelled} labelled)`,
    count(loops, "loop"),
    ...(failed ? [`${failed} failed`] : []),
  ];
  const lines = [`${count(runs.length, "run")}: ${kinds.join(", ")}; alarms at ${tuning.least} or above`, ""];

  const rules = tuning.rules();
  if (rules.length > 0) {
    const head = ["rule", "runs", "false", "in loops", "in failures", "tools of the false alarms"];
    const rows = rules.map((rule) => [
      rule.rule,
      ...[rule.runs, rule.false, rule.loops, rule.failed].map(String),
      rule.tools.length === 0
        ? "–"
        : rule.tools
            .slice(0, 3)
            .map(([tool, runs]) => `${tool} ${runs}`)
            .concat(rule.tools.length > 3 ? [`${rule.tools.length - 3} more`] : [])
            .join(", "),
    ]);
    lines.push(...columns(head, rows, [0, 5]), "");
  }

  const before = tuning.falseAlarms(first);
  const after = tuning.falseAlarms(now);
  const most = `${percent(tuning.rate)} allows ${allowed}`;
  if (honest === 0) {
    lines.push("There is no honest run among them, so no rate can be computed.");
    return lines;
  }
  lines.push(`False alarms: in ${before} of ${count(honest, "honest run")} (${percent(before / honest)}); ${most}.`);
  if (loops > 0) lines.push(`Loops caught: ${tuning.caught(first)} of ${loops}.`);
  if (before <= allowed) lines.push(paint("bold", "The rate is met as it is: there is nothing to change."));
  if (tuning.steps.length > 0) {
    lines.push("", paint("bold", tuning.isMet ? "Suggested" : "Suggested, though it is not enough"));
    const texts = tuning.steps.map(({ change }) => written(change).join(", "));
    const width = Math.max(...texts.map((text) => text.length));
    for (const [index, { before, after }] of tuning.steps.entries())
      lines.push(
        `  ${(texts[index] ?? "").padEnd(width)}  false alarms ${before} → ${after}${loops > 0 ? ", loops lost 0" : ""}`,
      );
    lines.push(
      "",
      `Replayed together: false alarms in ${after} of ${honest} (${percent(after / honest)})` +
        `${loops > 0 ? `, loops caught ${tuning.caught(now)} of ${loops}` : ""}.`,
    );
  }
  if (!tuning.isMet) {
    const useful = tuning.refused.filter((refused) => refused.before === after).sort((a, b) => a.after - b.after);
    const why =
      useful.length > 0 ? " without losing a labelled loop" : ": no setting that was tried makes it any better";
    lines.push("", paint("bold", `The rate of ${percent(tuning.rate)} cannot be met${why}.`));
    for (const { change, after: then, lost } of useful.slice(0, 2))
      lines.push(
        `  ${written(change).join(", ")} would leave ${then}, but lose ${lost
          .slice(0, 2)
          .map((name) => name.slice(name.lastIndexOf(" ") + 1))
          .join(", ")}${lost.length > 2 ? ` and ${lost.length - 2} more` : ""}`,
      );
  }
  const left = tuning.left();
  if (left.length > 0 && (!tuning.isMet || tuning.steps.length > 0 || before > 0)) {
    lines.push("", tuning.isMet ? "Left, within the rate" : "Left");
    for (const { trace, rule, message, index, seq } of left.slice(0, SHOWN)) {
      lines.push(`  ${rule}: ${message}`);
      lines.push(paint("dim", `    ${called().join(" ")} explain ${found(trace, index, seq)}`));
    }
    if (left.length > SHOWN) lines.push(`  and ${left.length - SHOWN} more`);
  }
  // The rule of three: with no event in n runs, the 95 % upper bound of the rate is about 3/n.
  if (tuning.isMet && after === 0 && 3 / honest > tuning.rate)
    lines.push(
      "",
      `None in ${count(honest, "run")} still leaves room for a rate of up to ${percent(Math.min(1, 3 / honest))}: more runs would narrow it down.`,
    );
  if (tuning.steps.length > 0) lines.push("", JSON.stringify(tuning.config, null, 2));
  return lines;
}

/** The arguments with which `explain` explains an event. */
function found({ file, id, format, events }: Trace, index: number, seq: number): string {
  const word = (text: string) => (/^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const line = events[index]?.line;
  // A line refers to its last event. Several runs in one file have no separate sequence numbers in `explain`.
  const isLast = events.findLastIndex((event) => event.line === line) === index || id !== undefined;
  if (format !== "scenario") return `${word(file)} --at ${isLast ? `line:${line}` : seq}`;
  return `${word(file)} --scenario ${word(id ?? "")} --at ${seq}`;
}
