import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { LoopDetector } from "../detector.ts";
import { LoopwardenError } from "../errors.ts";
import type { Level, Scenario } from "../generated/types.ts";
import { level, parse, UsageError } from "./args.ts";
import { configText, InputError, lines } from "./input.ts";
import { member, parts, without } from "./raw.ts";
import { painter, reaches } from "./style.ts";

export const help: string = `Usage: loopwarden eval PATH… [--level LEVEL] [--config FILE] [--json]

Scores scenario files: one scenario a line, {"id", "events": […], "expect": "loop" | "no-loop", …}, plain or gzip.
A folder stands for its *.jsonl and *.jsonl.gz files, at any depth.

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

type Labels = Pick<Scenario, "expect" | "expectAt" | "firstAt" | "success"> & { id?: unknown; events?: unknown };

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
  const files = names.filter((name) => /\.jsonl(\.gz)?$/.test(name)).sort();
  if (files.length === 0) throw new InputError(`${path}: holds no *.jsonl or *.jsonl.gz file`);
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
  for await (const line of lines(file)) {
    number++;
    if (line.trim() === "") continue;
    const refuse = (error: unknown, where = "") => {
      score.refused++;
      process.stderr.write(`${process.stderr.isTTY ? "\r\u001b[2K" : ""}${file}:${number}: ${where}${reason(error)}\n`);
    };
    let labels: Labels;
    try {
      labels = JSON.parse(line);
    } catch (error) {
      refuse(error);
      continue;
    }
    if (!Array.isArray(labels?.events)) {
      refuse(new InputError("expected a scenario: an object with `id` and a list of `events`"));
      continue;
    }
    let first: number | undefined;
    try {
      const reached = judge(line, least, config, (index, error) => refuse(error, `events[${index}]: `));
      first = reached.first;
      score.events += reached.events;
    } catch (error) {
      refuse(error, "config: ");
    }
    grade(score, labels, first);
    tell(++score.scenarios, false);
  }
  tell(score.scenarios, true);
  score.seconds = round((performance.now() - start) / 1000);
  return score;
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
function grade(score: Score, { id, expect, expectAt, firstAt, success }: Labels, first: number | undefined): void {
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
}

const round = (seconds: number): number => Math.round(seconds * 1000) / 1000;

function table(scores: Score[], least: Level): string {
  const paint = painter(process.stdout);
  const of = (part: number, whole: number) => (whole === 0 ? "–" : `${part}/${whole}`);
  const head = ["file", "caught", "false alarms", "in successes", "in failures", "events", "refused", "seconds"];
  const rows = scores.map((score) => [
    score.file,
    of(score.caught, score.loops),
    of(score.falseAlarms, score.noLoops),
    of(score.success.alarms, score.success.runs),
    of(score.failure.alarms, score.failure.runs),
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
