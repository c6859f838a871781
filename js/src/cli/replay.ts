import { performance } from "node:perf_hooks";
import { version } from "../core.ts";
import { LoopDetector } from "../detector.ts";
import { FORMATS } from "../generated/names.ts";
import type { Config, Event, Finding, Level, RuleStanding, Scope, Verdict } from "../generated/types.ts";
import { onlySpace } from "../replay/diff.ts";
import { isLargelyUnread, judge } from "../replay/judge.ts";
import { given, rank, reaches } from "../replay/levels.ts";
import { Pairs } from "../replay/pair.ts";
import { costOf } from "../replay/prices.ts";
import { type Run, refused } from "../replay/read.ts";
import { leading, type Quoted, quoted, readable, strongest } from "../replay/report.ts";
import { cost, line as lineOf, number, outcome, short, summary } from "../replay/summarise.ts";
import { share } from "../replay/worth.ts";
import { level, type Options, oneOf, parse, UsageError } from "./args.ts";
import { called } from "./called.ts";
import { Complaints, chosenRun, countOf, nothing, runsOf, STRICT, shown, transcriptFormat } from "./input.ts";
import { drained, LEVEL_STYLE, paint, print, printJson, wrapped } from "./print.ts";
import { type Case, REPORTERS, report } from "./reporters.ts";
import { last } from "./sessions.ts";
import { OPTIONS, settings } from "./settings.ts";

export const help: string = `Usage: loopwarden replay FILE [--level LEVEL] [--config FILE] [--format FORMAT] [--strict] [--json]
       loopwarden replay --last

Replays a recorded run and tells its story: a line for every finding at nudge or above; when a loop is found or gets
worse, also what repeated (from your own file) and the advice the agent would have been given; one line for everything
that is judged the same after a halt; and the report at the end. Lines are counted from 1; events, which are named if one
line holds many, from 0. If nothing was found, the rule that came closest at the end is named, if it was at least half
way there. FILE may be gzip-compressed, and "-" is the standard input. A broken line is reported on stderr, and the
replay goes on. In a file of scenarios, --scenario names one.

  --last           the newest session of an agent on this machine; on a terminal you pick one of the latest
  --level LEVEL    exit with 3 when a verdict reaches it: observe, nudge (default), block, gate or halt
  --config FILE    the configuration; by default the scenario's own, else loopwarden.json in this folder, if there is
                   one; --no-config ignores that file
  --format FORMAT  one of ${FORMATS.slice(0, 5).join(", ")},
                   ${FORMATS.slice(5).join(", ")};
                   recognised by default
  --scenario ID    which scenario, in a file with several
  --strict         exit with 1 if anything in the file cannot be read and the level was not reached
  --json           one verdict per line instead of the story
  --reporter NAME  junit, sarif or github (annotations) instead of the story

Exit codes: 0 the level was not reached, 1 a file cannot be read, or a quarter of it or more (with --strict, any part of
it) cannot and the rest did not reach the level, 2 wrong usage, 3 the level was reached.
`;

/** Maximum width of quoted arguments and outputs, in characters. */
const WIDTH = 96;
/** Maximum length of a call kept for comparison, in UTF-16 code units. */
const COMPARED = 2_000;
/** Maximum number of events kept for quoting. */
const REMEMBERED = 4_000;

const OWN = {
  ...OPTIONS,
  ...STRICT,
  last: { type: "boolean", default: false },
  level: { type: "string", default: "nudge" },
  format: { type: "string" },
  scenario: { type: "string" },
  json: { type: "boolean", default: false },
  reporter: { type: "string" },
} as const satisfies Options;
export const options: Options = OWN;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, OWN);
  const [named, ...more] = positionals;
  if (values.last ? named !== undefined : named === undefined || more.length > 0)
    throw new UsageError("replay: expected one file, or - for the standard input, or --last");
  const least = level(values.level);
  const wanted = transcriptFormat(values.format);
  const reporter = oneOf("--reporter", values.reporter, REPORTERS);
  if (reporter !== undefined && values.json) throw new UsageError("replay: --json or --reporter, not both");
  const found = await settings(values);
  const file = named ?? (await last());
  const complaints = new Complaints(file);
  const began = performance.now();
  const run = await chosenRun(file, runsOf(file, complaints.add, wanted, complaints.cut), values.scenario, complaints);
  const config = values.config === undefined ? (run.config ?? found?.text) : found?.text;
  const outcome = await told(
    run,
    config ?? "",
    least,
    complaints,
    reporter !== undefined ? "quiet" : values.json ? "json" : "story",
    named === "-" ? undefined : [...called(), "explain", ...same(values, named)],
  );
  complaints.end(outcome.judged, outcome.events === 0 ? 0 : outcome.unread);
  if (outcome.events === 0) nothing(file, complaints);
  const isReached = reaches(outcome.strongest, least);
  if (reporter !== undefined) {
    // The run fails by what was worst in it.
    const [worst] = strongest(outcome.findings, ({ level }) => level);
    const failure =
      isReached && worst !== undefined
        ? { kind: worst.level, message: `${worst.finding.rule}: ${worst.finding.message}` }
        : undefined;
    const seconds = (performance.now() - began) / 1000;
    const one: Case = {
      file,
      name: run.id ?? file,
      line: worst?.line ?? run.line,
      seconds,
      findings: outcome.findings,
      ...(failure && { failure }),
    };
    report(reporter, [one]);
  }
  const isUnsure = values.strict ? outcome.unread > 0 : isLargelyUnread(outcome.unread, outcome.judged);
  return isReached ? 3 : isUnsure ? 1 : 0;
}

/** The arguments that select the same run and settings for another command. */
function same(values: ReturnType<typeof parse<typeof OWN>>["values"], file: string | undefined): string[] {
  const words = file === undefined ? ["--last"] : [file];
  for (const name of ["scenario", "config", "format"] as const) {
    const value = values[name];
    if (value !== undefined) words.push(`--${name}`, value);
  }
  if (values["no-config"]) words.push("--no-config");
  return words;
}

interface Outcome {
  strongest: Level;
  events: number;
  /** The number of events judged. */
  judged: number;
  /** The number of lines and events that could not be read. */
  unread: number;
  /** Results among the unread ones, whose calls count as answered. */
  results: number;
  /** The first occurrence of each finding at the requested level or above. */
  findings: Case["findings"];
}

/** Replays one run as it is read and prints it. */
async function told(
  run: Run,
  config: string,
  least: Level,
  complaints: Complaints,
  how: "story" | "json" | "quiet",
  why: readonly string[] | undefined,
): Promise<Outcome> {
  using detector = new LoopDetector(config);
  const story = new Story(config === "" ? {} : JSON.parse(config));
  const outcome: Outcome = { strongest: "continue", events: 0, judged: 0, unread: 0, results: 0, findings: [] };
  const seen = new Set<string>();
  // In a file of scenarios, earlier complaints belong to other scenarios.
  const before = run.whole ? 0 : complaints.count;
  const name = run.id === undefined ? shown(run.file) : `${shown(run.file)} ${run.id}`;
  if (how === "story") print(paint("dim", `loopwarden ${version()} · ${name} · ${run.format}`));
  for await (const part of run.events) {
    story.expect(part);
    for (const recorded of part) {
      const { event, line, pending, unread } = recorded;
      complaints.read(recorded);
      const { verdict, error, settled } = judge(detector, recorded);
      if (settled || unread) outcome.results++;
      if (unread) {
        // Shown as the result of its call, but not judged.
        if (verdict !== undefined && how === "story") story.remember(verdict.seq, event, line, pending);
        continue;
      }
      outcome.events++;
      if (verdict === undefined) {
        if (error !== undefined) complaints.add(line, refused(recorded, error));
        continue;
      }
      outcome.judged++;
      if (how === "json") printJson(verdict);
      else if (how === "story") {
        story.remember(verdict.seq, event, line, pending);
        story.tell(verdict, event, line);
      }
      if (rank(given(verdict)) > rank(outcome.strongest)) outcome.strongest = given(verdict);
      for (const finding of verdict.findings) {
        const key = chapter(finding);
        if (!reaches(finding.level, least) || seen.has(key)) continue;
        seen.add(key);
        outcome.findings.push({ line, finding, level: finding.level });
      }
    }
    await drained();
  }
  outcome.unread = complaints.count - before;
  if (how === "story" && outcome.events > 0) story.end(detector, outcome, why);
  return outcome;
}

/** A note on how a call differs from one that is displayed the same, if that is known. */
function differing(before: string | undefined, whole: string): string {
  if (!before || whole === "" || before === whole) return "";
  return paint("dim", onlySpace(before, whole) ? "  (other white space)" : "  (differs further on)");
}

/** Prints a run as it unfolds. */
class Story {
  readonly #config: Config;
  /** The text of each recorded event by sequence number; of a long run only the latest. */
  #events = new Map<
    number,
    { step: string; isStep: boolean; text: string; whole: string; output: string | undefined; quoted: Quoted }
  >();
  #pairs = new Pairs();
  #scopes = new Map<string, Scope>();
  /** Findings printed in full, by {@link chapter}: afterwards one line suffices until the level rises. */
  #told = new Set<string>();

  /** The level of the last printed verdict of this task. */
  #stood: Level | undefined;
  /** Verdicts after a printed gate or halt that add nothing: how many, and where they begin and end. */
  #again: { level: "gate" | "halt"; would: string; first: string; last: string; times: number } | undefined;

  /** The first event at the highest level; if it is the last event of its line, it can be referred to by the line. */
  #worst: { level: Level; seq: number; line: number; isLast: boolean } | undefined;

  /** The sequence number of the last recorded event. */
  #last = 0;
  /** Where each loop last occurred, at any level, by {@link sightings}. */
  #seen = new Map<string, number>();
  /** Where each loop was first reported, by {@link sightings}. */
  #alarms = new Map<string, number>();

  /** The latest line and its number of events. */
  #line = { line: -1, events: 0 };
  /** The lines with more than {@link CROWD} events, among the latest. */
  #crowds = new Set<number>();
  /** Whether all events are on one line. */
  #isOneLine = true;
  /** The runs of a file that contains several (two are enough to know). */
  #runs = new Set<string>();
  /** The run that was printed last. */
  #run: string | undefined;

  /** The usage of the whole run, as far as recorded. */
  #spent: { tokens?: number; costMicros?: number } = {};

  constructor(config: Config) {
    this.#config = config;
  }

  /** Counts the events per line in the next part, so that all events of a line are referred to in the same way. */
  expect(part: readonly { line: number }[]): void {
    this.#crowds.clear();
    for (const { line } of part) {
      if (this.#line.line !== line) this.#isOneLine &&= this.#line.events === 0;
      this.#line = { line, events: this.#line.line === line ? this.#line.events + 1 : 1 };
      if (this.#line.events > CROWD) this.#crowds.add(line);
    }
  }

  remember(seq: number, event: Event, line: number, pending: boolean): void {
    if (this.#worst?.line === line) this.#worst.isLast = false;
    if (pending) return;
    this.#last = seq;
    const took = { tokens: event.tokens ?? undefined, costMicros: costOf(event, this.#config) };
    for (const figure of ["tokens", "costMicros"] as const)
      if (took[figure] !== undefined) this.#spent[figure] = (this.#spent[figure] ?? 0) + took[figure];
    const call = this.#pairs.add(event, seq);
    const isResult = event.type === "tool-result";
    const known = call === undefined ? undefined : this.#events.get(call);
    const text = isResult ? (known?.text ?? event.tool ?? "result") : short(lineOf(event), WIDTH);
    const own = isResult ? known?.whole : summary(event);
    // Longer texts are not kept just for comparison.
    const whole = own !== undefined && own.length <= COMPARED ? own : "";
    const output = isResult ? short(outcome(event), WIDTH - 2) : undefined;
    const asked = known?.quoted.asked;
    if (event.run != null && this.#runs.size < 2) this.#runs.add(event.run);
    const step = this.#place(event, seq, line);
    const quote = quoted(event, undefined, place(event, line));
    const isStep = event.step != null;
    this.#events.set(seq, { step, isStep, text, whole, output, quoted: isResult ? { ...quote, asked } : quote });
    if (this.#events.size <= REMEMBERED) return;
    const [oldest] = this.#events.keys();
    if (oldest !== undefined) this.#events.delete(oldest);
  }

  tell(verdict: Verdict, event: Event, line: number): void {
    for (const finding of verdict.findings.toReversed()) {
      const scope = JSON.stringify(finding.scope);
      // The most recently reported scope comes last.
      this.#scopes.delete(scope);
      this.#scopes.set(scope, finding.scope);
      for (const key of sightings(finding)) this.#seen.set(key, finding.lastSeq);
    }
    const findings = verdict.findings.filter((finding) => reaches(finding.level, "nudge"));
    for (const finding of findings) {
      for (const key of sightings(finding)) {
        // An alarm before this loop began was for another loop with the same key.
        if ((this.#alarms.get(key) ?? -1) < finding.onsetSeq) this.#alarms.set(key, verdict.seq);
      }
    }
    // A user message begins a new task.
    if (event.type === "message" && event.role === "user") {
      this.#goesOn();
      this.#stood = undefined;
    }
    if (!reaches(given(verdict), "nudge") || findings.length === 0) return;
    const step = this.#place(event, verdict.seq, line);
    const level = given(verdict);
    if (this.#worst === undefined || rank(level) > rank(this.#worst.level))
      this.#worst = { level, seq: verdict.seq, line, isLast: true };
    const isOtherRun = this.#runs.size > 1 && event.run != null && event.run !== this.#run;
    const would = verdict.wouldBe === undefined ? "" : " (shadow mode)";
    const news = findings.filter((finding) => !this.#told.has(chapter(finding)));
    if (news.length === 0 && !isOtherRun && level === this.#stood && (level === "gate" || level === "halt")) {
      this.#again ??= { level, would, first: step, last: step, times: 0 };
      this.#again.last = step;
      this.#again.times++;
      return;
    }
    this.#goesOn();
    this.#stood = level;
    if (isOtherRun) {
      this.#run = event.run ?? undefined;
      print(`\n${paint("dim", "run")} ${short(event.run ?? "", WIDTH)}`);
    }
    if (news.length > 0) print("");
    const shown = new Set<number>();
    for (const finding of findings) {
      const name = paint(LEVEL_STYLE[finding.level], finding.level);
      print(`${paint("bold", step)}  ${name}${would}  ${finding.rule}: ${finding.message}`);
      if (!news.includes(finding)) continue;
      this.#told.add(chapter(finding));
      for (const told of this.#evidence(finding, shown)) print(told);
      if (finding.wasted.tokens !== undefined || finding.wasted.costMicros !== undefined)
        print(`    ${paint("dim", "so far")}    ${cost(finding.wasted)}`);
    }
    if (verdict.guidance === undefined || news.length === 0) return;
    for (const part of wrapped(verdict.guidance, WIDTH)) print(`    │ ${paint("italic", part)}`);
  }

  /** Prints one line for the suppressed verdicts of a run that went on after a gate or halt. */
  #goesOn(): void {
    if (this.#again === undefined) return;
    const { level, would, first, last, times } = this.#again;
    this.#again = undefined;
    const where = first === last ? first : `${first} to ${last}`;
    const often = times === 1 ? "once more" : `${times} times more`;
    const why = level === "halt" ? "the run was not ended" : "nobody was asked";
    print(`${paint("bold", where)}  ${paint(LEVEL_STYLE[level], level)}${would}  ${often}: ${why}`);
  }

  /** How to refer to an event: by its number if many events share its line, otherwise by step or line. */
  #place(event: Event, seq: number, line: number): string {
    return event.step == null && this.#crowds.has(line) ? `event ${seq}` : place(event, line);
  }

  /** The evidence of a finding as recorded, without events that are already shown. */
  *#evidence(finding: Finding, shown: Set<number>): Generator<string> {
    /** The full text of each displayed text. */
    const before = new Map<string, string>();
    for (const { seq } of finding.evidence) {
      const event = this.#events.get(seq);
      if (event === undefined || shown.has(seq)) continue;
      shown.add(seq);
      yield `    ${paint("dim", event.step.padEnd(9))} ${event.text}${differing(before.get(event.text), event.whole)}`;
      before.set(event.text, event.whole);
      if (event.output !== undefined) yield `    ${"".padEnd(9)} ${paint("dim", `→ ${event.output}`)}`;
    }
  }

  /** The quote of an event for a report, without the line number if the whole run is on one line. */
  #quote(seq: number): Quoted | undefined {
    const event = this.#events.get(seq);
    return event && { ...event.quoted, place: this.#isOneLine && !event.isStep ? undefined : event.quoted.place };
  }

  /**
   * The core's report of a scope, plus where the loop last occurred if that was later, or if the run went on without
   * it.
   */
  #report(detector: LoopDetector, scope: Scope, lead: Finding): string {
    const alarms = sightings(lead).flatMap((key) => this.#alarms.get(key) ?? []);
    const first = alarms.length === 0 ? undefined : Math.min(...alarms);
    const quoting = (text: string) => readable(text, (seq) => this.#quote(seq), first);
    const text = detector.report(scope);
    const seen = Math.max(...sightings(lead).map((key) => this.#seen.get(key) ?? lead.lastSeq));
    const left = this.#last - seen;
    if (seen === lead.lastSeq && left === 0) return quoting(text);
    const when = left === 0 ? "the last of the run" : `${number(left, "event")} before the end`;
    return quoting(text.replace(/^\*\*Since\*\*: .*$/m, (since) => `${since}; last seen at event ${seen}, ${when}`));
  }

  /** The rule that came closest to its next threshold, if at least half the way. */
  #closest(detector: LoopDetector): (RuleStanding & { nextThreshold: number }) | undefined {
    const way = ({ count, nextThreshold }: { count: number; nextThreshold: number }) => count / nextThreshold;
    return [{}, ...[...this.#runs].map((run) => ({ run }))]
      .flatMap((scope) => detector.status(scope).rules)
      .flatMap((rule) => (rule.nextThreshold === undefined ? [] : [{ ...rule, nextThreshold: rule.nextThreshold }]))
      .filter((rule) => way(rule) >= 0.5 && way(rule) < 1)
      .sort((a, b) => way(b) - way(a))[0];
  }

  /** Prints the summary and the reports; `why` is the command that explains an event of this run. */
  end(detector: LoopDetector, { judged, unread, results }: Outcome, why: readonly string[] | undefined): void {
    this.#goesOn();
    const count = cost({ events: judged, ...this.#spent });
    const answered = results === 0 ? "" : `, including ${number(results, "result")}, whose calls count as answered`;
    // Many scopes may have been observed only: reports are limited to the highest level reached.
    const leads = [...this.#scopes.values()].reverse().flatMap((scope) => {
      const lead = leading(detector.report(scope, "json").findings);
      return lead === undefined ? [] : [{ scope, lead }];
    });
    const reports = strongest(leads, ({ lead }) => lead.level)
      .map(({ scope, lead }) => this.#report(detector, scope, lead))
      .filter((text) => LOOP.test(text));
    if (reports.length === 0 && this.#worst === undefined) {
      const part = unread === 0 ? "" : ` in what could be read; ${countOf(unread, judged)} could not${answered}`;
      print(`\nNo loop found in ${count}${part}.`);
      const near = this.#closest(detector);
      if (near !== undefined) print(`${paint("dim", "closest")}  ${near.rule}, ${share(near)} to ${near.nextLevel}`);
      return;
    }
    if (this.#spent.tokens !== undefined || this.#spent.costMicros !== undefined)
      print(`\n${paint("dim", "the whole run")}  ${count}`);
    if (unread > 0) print(`\n${countOf(unread, judged)} could not be read${answered}.`);
    for (const text of reports) print(`\n${text.trimEnd()}`);
    if (reports.length === 0) print(`\nAt the end of ${count} nothing goes round in circles any more.`);
    if (why !== undefined && this.#worst !== undefined) {
      const { seq, line, isLast } = this.#worst;
      const at = isLast && !this.#isOneLine ? `line:${line}` : String(seq);
      print(`\n${paint("dim", "why")}  ${[...why, "--at", at].map(word).join(" ")}`);
    }
  }
}

/** Two keys that identify a loop: the signature may change as evidence grows, and the onset may be forgotten. */
const sightings = ({ rule, scope, signature, onsetSeq }: Finding): string[] =>
  [signature, onsetSeq].map((one) => JSON.stringify([rule, scope, one]));

/** Matches the report of a scope that has a loop, or has spent a budget. */
const LOOP = /^## (?!No )/;

/** Quotes a word for a shell. */
function word(text: string): string {
  if (/^[\w@%+=:,./~-]+$/.test(text)) return text;
  return /["$`\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`;
}

/** Number of events on one line above which they are referred to by sequence number. */
const CROWD = 4;

/** A key for a loop at a level. */
export const chapter = ({ rule, signature, level }: Finding): string => JSON.stringify([rule, signature, level]);

/** Refers to an event by the host's step, or else by the line in the file. */
export const place = (event: Event, line: number): string =>
  event.step == null ? `line ${line}` : `step ${event.step}`;
