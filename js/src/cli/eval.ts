import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { LoopDetector } from "../detector.ts";
import { LoopwardenError } from "../errors.ts";
import type { Level, Scenario } from "../generated/types.ts";
import { readTranscript, type TranscriptFormat } from "../transcript.ts";
import { level, parse, UsageError } from "./args.ts";
import { configText, InputError, lines, text } from "./input.ts";
import { member, parts, without } from "./raw.ts";
import { painter, reaches } from "./style.ts";
import { holdsEvents } from "./traces.ts";

export const help: string = `Usage: loopwarden eval PATH… [--level LEVEL] [--config FILE] [--json]

Scores scenario files: one scenario a line, {"id", "events": […], "expect": "loop" | "no-loop", …}, plain or gzip.
A folder stands for its *.jsonl, *.jsonl.gz and *.traj files, at any depth. A file in any format that \`replay\` reads is
one run without a label; where each line holds a whole run in a list, with "expect" or "success" beside it, these count.

  --level LEVEL   what counts as an alarm: observe, nudge (default), block, gate or halt
  --config FILE   the configuration for scenarios that bring none of their own
  --json          one object per file, and one for the total

A loop is caught when some verdict reaches the level: by the event with index "expectAt", where the scenario has one,
and not before it where it says "firstAt". A no-loop scenario with any verdict at the level is a false alarm. Runs
without "expect" that say "success" are counted apart, with the alarms in them. In shadow mode the level that would
have been given counts. An event that is refused is reported, and the scenario goes on.

Exit codes: 0 scored, 1 a file or configuration cannot be read, 2 wrong usage.
`;

/** What came of one file, or of all. */
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
  /** Recorded runs without any label; absent where there is none. */
  unlabelled?: { runs: number; alarms: number };
  events: number;
  /** Events and lines that were refused; each is reported on stderr. */
  refused: number;
  seconds: number;
}

const empty = (file: string): Score => ({
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
  refused: 0,
  seconds: 0,
});

type Labels = Pick<Scenario, "config" | "expect" | "expectAt" | "firstAt" | "success"> & {
  id?: unknown;
  events?: unknown;
};
type Refuse = (error: unknown, where?: string) => void;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    level: { type: "string", default: "nudge" },
    config: { type: "string" },
    json: { type: "boolean", default: false },
  });
  if (positionals.length === 0) throw new UsageError("eval: which files or folders?");
  const least = level(values.level);
  const config = values.config === undefined ? "" : await configText(values.config);
  const files = (await Promise.all(positionals.map(scenarioFiles))).flat();
  const total = empty("total");
  const scores: Score[] = [];
  for (const [index, file] of files.entries()) {
    const score = await scoreFile(file, least, config, progress(file, index, files.length));
    scores.push(score);
    add(total, score);
    if (values.json) console.log(JSON.stringify(score));
  }
  total.seconds = round(total.seconds);
  if (scores.every((score) => score.scenarios === 0)) throw new InputError("there is no scenario that can be read");
  if (values.json) console.log(JSON.stringify(total));
  else process.stdout.write(table(scores.length > 1 ? [...scores, total] : scores, least));
  return 0;
}

/** The files that a path stands for. */
export async function scenarioFiles(path: string): Promise<string[]> {
  const info = await stat(path).catch(() => {
    throw new InputError(`${path}: no such file or folder`);
  });
  if (!info.isDirectory()) return [path];
  const names = await readdir(path, { recursive: true });
  const files = names.filter((name) => /\.(jsonl(\.gz)?|traj)$/.test(name)).sort();
  if (files.length === 0) throw new InputError(`${path}: holds no *.jsonl, *.jsonl.gz or *.traj file`);
  return files.map((name) => join(path, name));
}

/** A line on stderr that tells how far a file is; on a terminal it is overwritten as things go on. */
function progress(file: string, index: number, files: number): (scenarios: number, done: boolean) => void {
  const where = files > 1 ? `[${index + 1}/${files}] ` : "";
  return (scenarios, done) => {
    const line = `${where}${file}: ${scenarios} scenario${scenarios === 1 ? "" : "s"}`;
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${done ? "" : line}`);
    else if (done) process.stderr.write(`${line}\n`);
  };
}

async function scoreFile(
  file: string,
  least: Level,
  config: string,
  tell: (scenarios: number, done: boolean) => void,
): Promise<Score> {
  const score = empty(file);
  const start = performance.now();
  let number = 0;
  const refuseAt =
    (line: number): Refuse =>
    (error, where = "") => {
      score.refused++;
      process.stderr.write(`${process.stderr.isTTY ? "\r\u001b[2K" : ""}${file}:${line}: ${where}${reason(error)}\n`);
    };
  for await (const line of lines(file)) {
    number++;
    if (line.trim() === "") continue;
    const refuse = refuseAt(number);
    const labels = parsed(line);
    if (labels instanceof SyntaxError || !holdsEvents(labels)) {
      // The first line tells whether the file holds scenarios.
      const runs = score.scenarios + score.refused === 0 ? await recorded(file) : undefined;
      if (runs === undefined) {
        refuse(
          labels instanceof SyntaxError
            ? labels
            : new InputError("expected a scenario: an object with `id` and a list of `events`"),
        );
        continue;
      }
      for (const run of runs) {
        for (const { line: at, error } of run.errors) refuseAt(at)(error);
        const { first, events } = judged(run.scenario, least, config, (index, error) =>
          refuseAt(run.lines[index ?? -1] ?? run.line)(error, index === undefined ? "config: " : ""),
        );
        score.events += events;
        grade(score, run.labels, first, true);
        tell(++score.scenarios, false);
      }
      break;
    }
    const { first, events } = judged(line, least, config, (index, error) =>
      refuse(error, index === undefined ? "config: " : `events[${index}]: `),
    );
    score.events += events;
    grade(score, labels, first);
    tell(++score.scenarios, false);
  }
  tell(score.scenarios, true);
  score.seconds = round((performance.now() - start) / 1000);
  return score;
}

function parsed(line: string): Labels | SyntaxError {
  try {
    return JSON.parse(line);
  } catch (error) {
    if (error instanceof SyntaxError) return error;
    throw error;
  }
}

/** Lists that hold a whole run in one line. */
const RUNS = ["messages", "trajectory", "history", "items", "input", "contents", "resourceSpans", "spans"];

interface Run {
  line: number;
  labels: Labels;
  /** The events as a scenario. */
  scenario: string;
  lines: number[];
  errors: { line: number; error: LoopwardenError }[];
}

/** The runs of a file that another program wrote; none where it holds scenarios or single events. */
async function recorded(file: string): Promise<Run[] | undefined> {
  const whole = await text(file);
  const { format } = readTranscript(whole);
  if (format === "trace") return undefined;
  const rows = whole.split("\n").map((row, index) => ({ row, line: index + 1, labels: parsed(row.trim() || "null") }));
  const labelled = rows.filter(({ labels }) => isLabelledRun(labels));
  if (labelled.length === 0) return [oneRun(whole, format, 1, { id: file })];
  return rows
    .filter(({ row }) => row.trim() !== "")
    .map(({ row, line, labels }) => oneRun(row, format, line, labels instanceof SyntaxError ? {} : labels));
}

function isLabelledRun(labels: Labels | SyntaxError | null): boolean {
  if (labels === null || typeof labels !== "object" || labels instanceof SyntaxError) return false;
  const hasLabel = labels.expect !== undefined || typeof labels.success === "boolean";
  return hasLabel && RUNS.some((key) => Array.isArray((labels as Record<string, unknown>)[key]));
}

/** One run; `first` is the line of the file on which its text begins. */
function oneRun(source: string, format: TranscriptFormat, first: number, labels: Labels): Run {
  const { events, lines, errors } = readTranscript(source, format);
  return {
    line: first,
    labels,
    scenario: JSON.stringify({ config: labels.config ?? undefined, events }),
    lines: lines.map((line) => line + first - 1),
    errors: errors.map(({ line, error }) => ({ line: line + first - 1, error: new LoopwardenError(error) })),
  };
}

/** What {@link judge} says; a configuration that is wrong is refused, with no index. */
function judged(
  scenario: string,
  least: Level,
  config: string,
  refuse: (index: number | undefined, error: unknown) => void,
): { first: number | undefined; events: number } {
  try {
    return judge(scenario, least, config, refuse);
  } catch (error) {
    refuse(undefined, error);
    return { first: undefined, events: 0 };
  }
}

/** Runs the events of a scenario and tells the index of the first one whose verdict reached the level. */
function judge(
  scenario: string,
  least: Level,
  config: string,
  refuse: (index: number, error: unknown) => void,
): { first: number | undefined; events: number } {
  const detector = new LoopDetector(member(scenario, "config") ?? config);
  let first: number | undefined;
  let index = 0;
  for (const { value } of parts(member(scenario, "events") ?? "[]")) {
    try {
      const pending = member(value, "pending");
      const event = pending === undefined ? value : without(value, "pending");
      const verdict = pending === "true" ? detector.check(event) : detector.record(event);
      if (first === undefined && reaches(verdict.wouldBe ?? verdict.level, least)) first = index;
    } catch (error) {
      refuse(index, error);
    }
    index++;
  }
  detector.free();
  return { first, events: index };
}

/** Adds what the specification's scoring says of one scenario. */
function grade(
  score: Score,
  { id, expect, expectAt, firstAt, success }: Labels,
  first: number | undefined,
  isRecorded = false,
): void {
  const alarm = first !== undefined;
  if (expect === "loop") {
    const at = expectAt ?? undefined;
    const inTime = alarm && (at === undefined || first <= at);
    const tooEarly = alarm && firstAt === true && at !== undefined && first < at;
    score.loops++;
    if (inTime && !tooEarly) score.caught++;
    else score.missed.push(String(id));
  } else if (expect === "no-loop") {
    score.noLoops++;
    if (alarm) {
      score.falseAlarms++;
      score.false.push(String(id));
    }
  } else if (typeof success === "boolean") {
    const runs = success ? score.success : score.failure;
    runs.runs++;
    if (alarm) runs.alarms++;
  } else if (isRecorded) {
    score.unlabelled ??= { runs: 0, alarms: 0 };
    score.unlabelled.runs++;
    if (alarm) score.unlabelled.alarms++;
  }
}

function reason(error: unknown): string {
  if (error instanceof LoopwardenError && error.code !== "internal") return `${error.code}: ${error.message}`;
  if (error instanceof SyntaxError) return `invalid-json: ${error.message}`;
  if (error instanceof InputError) return error.message;
  throw error;
}

function add(total: Score, score: Score): void {
  for (const key of [
    "scenarios",
    "loops",
    "caught",
    "noLoops",
    "falseAlarms",
    "events",
    "refused",
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

function table(scores: Score[], least: Level): string {
  const paint = painter(process.stdout);
  const of = (part: number, whole: number) => (whole === 0 ? "–" : `${part}/${whole}`);
  const isUnlabelled = scores.some((score) => score.unlabelled !== undefined);
  const head = ["file", "caught", "false alarms", "in successes", "in failures"];
  head.push(...(isUnlabelled ? ["unlabelled"] : []), "events", "refused", "seconds");
  const rows = scores.map((score) => [
    score.file,
    of(score.caught, score.loops),
    of(score.falseAlarms, score.noLoops),
    of(score.success.alarms, score.success.runs),
    of(score.failure.alarms, score.failure.runs),
    ...(isUnlabelled ? [of(score.unlabelled?.alarms ?? 0, score.unlabelled?.runs ?? 0)] : []),
    String(score.events),
    String(score.refused),
    score.seconds.toFixed(2),
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const layout = (row: string[]) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  ");
  const lists = scores
    .filter((score) => score.file !== "total")
    .flatMap((score) => [
      ...score.missed.map((id) => `${paint("yellow", "missed")}       ${id}`),
      ...score.false.map((id) => `${paint("red", "false alarm")}  ${id}`),
    ]);
  const title = `Verdicts at ${least} or above`;
  return `${[title, "", paint("bold", layout(head)), ...rows.map(layout), ...(lists.length ? ["", ...lists] : [])].join("\n")}\n`;
}
