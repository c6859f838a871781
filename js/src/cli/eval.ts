import { performance } from "node:perf_hooks";
import { LoopDetector } from "../detector.ts";
import { LoopwardenError } from "../errors.ts";
import type { Level } from "../generated/types.ts";
import { isLargelyUnread, judge } from "../replay/judge.ts";
import { reaches } from "../replay/levels.ts";
import { type Head, ownConfig, type Run, refused } from "../replay/read.ts";
import { level, type Options, oneOf, parse, UsageError } from "./args.ts";
import { InputError } from "./failure.ts";
import { absence, Complaints, filesOf, runsOf } from "./input.ts";
import { columns, paint, print, printJson, progress, tell } from "./print.ts";
import { type Case, REPORTERS, report } from "./reporters.ts";
import { OPTIONS, settings } from "./settings.ts";

export const help: string = `Usage: loopwarden eval PATH… [--level LEVEL] [--config FILE] [--json] [--reporter NAME]

Scores scenario files: one scenario per line, {"id", "events": […], "expect": "loop" | "no-loop", …}, plain or gzip.
A folder stands for its *.jsonl, *.json and *.traj files, plain or gzip, at any depth. A file in any format that
\`replay\` reads, including native traces, is one run without a label; if each line holds a whole run as a list, with
"expect" or "success" beside it, these labels count.

  --level LEVEL    what counts as an alarm: observe, nudge (default), block, gate or halt; a scenario's "minLevel" counts
                   instead if there is no --level, or if it is the higher one
  --config FILE    the configuration for scenarios that bring none of their own; by default loopwarden.json in this
                   folder, if there is one; --no-config ignores that file
  --json           one object per file, and one for the total
  --reporter NAME  junit, sarif or github (annotations) instead of the table
  --strict         exit with 3 if a loop was missed or an alarm was false, else with 1 if anything cannot be read

A loop is caught when some verdict reaches the level: by the event with index "expectAt" if the scenario has one, and
not before it if the scenario says "firstAt". A no-loop scenario with any verdict at the level is a false alarm. Runs
without "expect" that say "success" are counted separately, with the alarms in them. In shadow mode the level that would
have been given counts, except for a scenario whose own "config" sets that mode: there the level given counts. An event
that cannot be read is reported, and the scenario goes on, unless it has no other. A scenario with a wrong label or
"config", or with a key that is nearly a label's, is reported and not scored; other keys are left to other tools. A file
that cannot be read is reported, and the others are scored.

Exit codes: 0 scored, 1 a file or configuration cannot be read, a label is wrong, nothing of a scenario can be read, or
a quarter of a file or more cannot be read and nothing in the rest reached the level; with --strict, if anything cannot
be read, 2 wrong usage, 3 with --strict if something was judged wrongly.
`;

/** The score of one file, or of all. */
export interface Score {
  file: string;
  scenarios: number;
  loops: number;
  caught: number;
  noLoops: number;
  falseAlarms: number;
  missed: string[];
  false: string[];
  success: { runs: number; alarms: number };
  failure: { runs: number; alarms: number };
  /** Runs without any label; absent if there are none. */
  unlabelled?: { runs: number; alarms: number };
  events: number;
  /** The number of events, lines and scenarios that could not be read; each is reported on stderr. */
  unread: number;
  /** The total number of events and lines, including unreadable ones. */
  of: number;
  seconds: number;
}

const unscored = (file: string): Score => ({
  file,
  scenarios: 0,
  loops: 0,
  caught: 0,
  noLoops: 0,
  falseAlarms: 0,
  missed: [],
  false: [],
  success: { runs: 0, alarms: 0 },
  failure: { runs: 0, alarms: 0 },
  events: 0,
  unread: 0,
  of: 0,
  seconds: 0,
});

const OWN = {
  ...OPTIONS,
  level: { type: "string" },
  json: { type: "boolean", default: false },
  reporter: { type: "string" },
  strict: { type: "boolean", default: false },
} as const satisfies Options;
export const options: Options = OWN;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, OWN);
  if (positionals.length === 0) throw new UsageError("eval: which files or folders?");
  const least = values.level === undefined ? undefined : level(values.level);
  const reporter = oneOf("--reporter", values.reporter, REPORTERS);
  if (reporter !== undefined && values.json) throw new UsageError("eval: --json or --reporter, not both");
  const config = (await settings(values))?.text ?? "";
  const { files, missing } = await filesOf(positionals);
  for (const message of missing) tell(`loopwarden: ${message}`);
  const total = unscored("total");
  const scores: Score[] = [];
  const cases: Case[] = [];
  let isUnsure = false;
  let isSound = missing.length === 0;
  for (const [index, { file, named }] of files.entries()) {
    const where = files.length > 1 ? `[${index + 1}/${files.length}] ` : "";
    const { score, trouble, complaints } = await scoreFile(file, least, config, cases, (scenarios) =>
      progress(`${where}${file}: ${plural(scenarios)}`),
    );
    isSound &&= trouble === undefined;
    progress(undefined);
    if (trouble instanceof InputError) tell(`loopwarden: ${trouble.message}`);
    // Scenarios read before the error still count.
    if (trouble instanceof InputError && score.scenarios === 0) continue;
    if (process.stderr.isTTY !== true) tell(`${where}${file}: ${plural(score.scenarios)}`);
    // A project folder may contain JSON files that are not runs.
    if (!named && score.scenarios === 0 && /\.json$/.test(file)) continue;
    if (score.scenarios === 0 && trouble === undefined) {
      if (files.length === 1) throw new InputError(absence(file, complaints));
      tell(`loopwarden: ${absence(file, complaints)}`);
    }
    scores.push(score);
    add(total, score);
    isUnsure ||= values.strict
      ? score.unread > 0
      : isLargelyUnread(score.unread, score.of - score.unread) &&
        !cases.some((one) => one.file === file && one.findings.length > 0);
    if (values.json) printJson(score);
  }
  total.seconds = round(total.seconds);
  if (scores.length === 0 && !isSound) return 1;
  if (scores.every((score) => score.scenarios === 0)) throw new InputError("there is no scenario that can be scored");
  if (reporter !== undefined) report(reporter, cases);
  else if (values.json) printJson(total);
  else for (const line of table(scores.length > 1 ? [...scores, total] : scores, cases, least)) print(line);
  if (!isSound) return 1;
  return values.strict && total.missed.length + total.false.length > 0 ? 3 : isUnsure ? 1 : 0;
}

const plural = (scenarios: number): string => `${scenarios} scenario${scenarios === 1 ? "" : "s"}`;

async function scoreFile(
  file: string,
  least: Level | undefined,
  config: string,
  cases: Case[],
  count: (scenarios: number) => void,
): Promise<{ score: Score; trouble: InputError | "unscored" | undefined; complaints: Complaints }> {
  const score = unscored(file);
  let trouble: InputError | "unscored" | undefined;
  const start = performance.now();
  const complaints = new Complaints(file);
  try {
    const cut = (message: string) => {
      trouble = new InputError(message);
    };
    for await (const run of runsOf(file, complaints.add, undefined, cut)) {
      const began = performance.now();
      const wrong = [...run.wrong, ...wrongConfig(run)];
      if (wrong.length > 0) {
        complaints.add(run.line, ...wrong);
        trouble = "unscored";
        continue;
      }
      const counts = leastOf(run, least);
      const found = await judged(run, counts, config, complaints);
      score.events += found.events;
      score.of += found.events - found.unread;
      if (found.events === 0) continue;
      if (found.events === found.unread) {
        complaints.note(run.line, "none of its events can be read, so it is not scored");
        trouble = "unscored";
        continue;
      }
      const failure = grade(score, run, counts, found.first);
      const name = run.id ?? (run.whole ? file : `line ${run.line}`);
      const seconds = (performance.now() - began) / 1000;
      cases.push({ file, name, line: run.line, seconds, findings: found.findings, ...(failure && { failure }) });
      count(++score.scenarios);
    }
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    trouble = error;
  }
  complaints.end(score.of, score.scenarios === 0 ? 0 : complaints.count);
  score.unread = complaints.count;
  score.of += complaints.count;
  score.seconds = round((performance.now() - start) / 1000);
  return { score, trouble, complaints };
}

interface Judgement {
  /** Index of the first event whose verdict reached the level. */
  first: number | undefined;
  events: number;
  /** How many of them were rejected. */
  unread: number;
  findings: Case["findings"];
}

/** The errors of a run's own configuration. */
function wrongConfig({ config }: Run): string[] {
  if (config === undefined) return [];
  try {
    new LoopDetector(config).free();
    return [];
  } catch (error) {
    if (!(error instanceof LoopwardenError) || error.code === "internal") throw error;
    return [`config: ${error.code}: ${error.message}`];
  }
}

/** Judges the events of a run as they are read. */
async function judged(run: Run, least: Level, config: string, complaints: Complaints): Promise<Judgement> {
  const found: Judgement = { first: undefined, events: 0, unread: 0, findings: [] };
  const detector = new LoopDetector(run.config ?? config);
  const seen = new Set<string>();
  // A scenario whose own configuration uses shadow mode is scored by its actual levels.
  const isWatched = ownConfig(run)?.mode === "shadow";
  for await (const part of run.events) {
    for (const recorded of part) {
      complaints.read(recorded);
      const { level: strongest, verdict, error } = judge(detector, recorded);
      if (recorded.unread) continue;
      const level = isWatched ? (verdict?.level ?? "continue") : strongest;
      if (error !== undefined) {
        complaints.add(recorded.line, refused(recorded, error));
        found.unread++;
      } else if (found.first === undefined && reaches(level, least)) found.first = found.events;
      for (const finding of verdict?.findings ?? []) {
        const key = JSON.stringify([finding.rule, finding.signature]);
        const given = isWatched ? level : finding.level;
        if (!reaches(given, least) || seen.has(key)) continue;
        seen.add(key);
        found.findings.push({ line: recorded.line, finding, level: given });
      }
      found.events++;
    }
  }
  detector.free();
  return found;
}

/** Adds one run to the score according to the labels, and reports what was wrong. */
function grade(
  score: Score,
  { id, line, labels: { expect, expectAt, firstAt, success } }: Head,
  least: Level,
  first: number | undefined,
): Case["failure"] {
  const alarm = first !== undefined;
  const name = id ?? `line ${line}`;
  if (expect === "loop") {
    const at = expectAt ?? undefined;
    const inTime = alarm && (at === undefined || first <= at);
    const tooEarly = alarm && firstAt === true && at !== undefined && first < at;
    score.loops++;
    if (inTime && !tooEarly) score.caught++;
    else {
      score.missed.push(name);
      const message = !alarm
        ? `a loop was not found: no verdict reached ${least}`
        : tooEarly
          ? `a loop was found too early: at event ${first}, not before ${at}`
          : `a loop was found too late: at event ${first}, expected by ${at}`;
      return { kind: "missed", message };
    }
  } else if (expect === "no-loop") {
    score.noLoops++;
    if (alarm) {
      score.falseAlarms++;
      score.false.push(name);
      return { kind: "false-alarm", message: `an alarm at event ${first} of a run that is labelled honest` };
    }
  } else if (typeof success === "boolean") {
    const runs = success ? score.success : score.failure;
    runs.runs++;
    if (alarm) runs.alarms++;
  } else {
    score.unlabelled ??= { runs: 0, alarms: 0 };
    score.unlabelled.runs++;
    if (alarm) score.unlabelled.alarms++;
  }
  return undefined;
}

function add(total: Score, score: Score): void {
  for (const key of [
    "scenarios",
    "loops",
    "caught",
    "noLoops",
    "falseAlarms",
    "events",
    "unread",
    "of",
    "seconds",
  ] as const) {
    total[key] += score[key];
  }
  total.missed.push(...score.missed);
  total.false.push(...score.false);
  for (const key of ["success", "failure"] as const) {
    total[key].runs += score[key].runs;
    total[key].alarms += score[key].alarms;
  }
  if (score.unlabelled === undefined) return;
  total.unlabelled ??= { runs: 0, alarms: 0 };
  total.unlabelled.runs += score.unlabelled.runs;
  total.unlabelled.alarms += score.unlabelled.alarms;
}

const round = (seconds: number): number => Math.round(seconds * 1000) / 1000;

/** The alarm level of a run: the higher of the requested level and the run's own, of which either may be absent. */
function leastOf({ labels: { minLevel } }: Head, asked: Level | undefined): Level {
  const own = minLevel ?? asked ?? "nudge";
  return asked !== undefined && reaches(asked, own) ? asked : own;
}

/** The figures to print, each only if it applies to any run. */
const COUNTED: [string, (score: Score) => [part: number, whole: number]][] = [
  ["caught", (score) => [score.caught, score.loops]],
  ["false alarms", (score) => [score.falseAlarms, score.noLoops]],
  ["in successes", (score) => [score.success.alarms, score.success.runs]],
  ["in failures", (score) => [score.failure.alarms, score.failure.runs]],
  ["unlabelled", (score) => [score.unlabelled?.alarms ?? 0, score.unlabelled?.runs ?? 0]],
];

function table(scores: Score[], cases: Case[], least: Level | undefined): string[] {
  const counted = COUNTED.filter(([, count]) => scores.some((score) => count(score)[1] > 0));
  const head = ["file", ...counted.map(([name]) => name), "events", "unread", "seconds"];
  const rows = scores.map((score) => [
    score.file,
    ...counted.map(([, count]) => {
      const [part, whole] = count(score);
      return whole === 0 ? "–" : `${part}/${whole}`;
    }),
    String(score.events),
    score.unread === 0 ? "0" : `${score.unread} of ${score.of}`,
    score.seconds.toFixed(2),
  ]);
  const several = new Set(cases.map(({ file }) => file)).size > 1;
  const lists = cases.flatMap(({ file, name, failure, findings }) => {
    if (failure === undefined) return [];
    const kind = failure.kind === "missed" ? paint("yellow", "missed     ") : paint("red", "false alarm");
    const rule = failure.kind === "missed" ? "" : ` (${findings[0]?.finding.rule ?? "no finding"})`;
    return [`${kind}  ${several && name !== file ? `${file}: ` : ""}${name}: ${failure.message}${rule}`];
  });
  const hint =
    'No run says what is expected of it ("expect", "success"): there are alarms to count, and none to judge.';
  const isSilent = counted.every(([name]) => name === "unlabelled");
  const after = isSilent ? ["", hint] : lists.length > 0 ? ["", ...lists] : [];
  const counts = least === undefined ? `nudge or above, or at a scenario's "minLevel"` : `${least} or above`;
  return [`Verdicts at ${counts}`, "", ...columns(head, rows), ...after];
}
