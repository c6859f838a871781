import { setTimeout as sleep } from "node:timers/promises";
import { version } from "../core.ts";
import { FORMATS } from "../generated/names.ts";
import type { Level } from "../generated/types.ts";
import { isLargelyUnread } from "../replay/judge.ts";
import { given, rank, reaches } from "../replay/levels.ts";
import { Live, type Seen, type Update } from "../replay/live.ts";
import { refused } from "../replay/read.ts";
import { cost, duration, failed, line as lineOf, number, outcome, short } from "../replay/summarise.ts";
import type { TranscriptFormat } from "../transcript.ts";
import { Alarm } from "./alarm.ts";
import { level, type Options, parse, UsageError } from "./args.ts";
import { InputError } from "./failure.ts";
import { candidates, Followed, holdsSessions } from "./follow.ts";
import { Complaints, transcriptFormat, UNKNOWN } from "./input.ts";
import { drained, LEVEL_STYLE, paint, print, printJson, progress, tell, wrapped } from "./print.ts";
import { chapter, place } from "./replay.ts";
import { looked, type Session } from "./sessions.ts";
import { OPTIONS, settings } from "./settings.ts";

export const help: string = `Usage: loopwarden watch [FILE | FOLDER | --last] [--level LEVEL] [--bell] [--notify] [--exec COMMAND] [--json]

Follows the session of an agent while it is being written: a line for every step, and findings as they happen. Without
FILE it is the newest session on this machine of Claude Code, Codex, Gemini CLI, OpenHands or SWE-agent, and the next one
when that begins; with FOLDER it is the newest log in it. FILE need not exist yet, but its folder must. Nothing is
written and no agent is affected. What was written before is judged and summarised. Ctrl-C ends it.

  --last            the newest session, as without FILE
  --level LEVEL     what counts: observe, nudge (default), block, gate or halt
  --bell            ring the terminal's bell when a finding reaches the level
  --notify          show a desktop notification then
  --exec COMMAND    run a shell command then, one at a time: LOOPWARDEN_LEVEL, _RULE, _MESSAGE, _FILE, _LINE and _AGENT
                    are in its environment, and the record of --json is on its standard input
  --first           end with the first such finding
  --idle SECONDS    end when nothing was written for that long; a year at most
  --all             follow every session that is written to, not only the newest
  --from-start      also show what was written before, and count it
  --config FILE     the configuration; by default loopwarden.json in this folder, if there is one; --no-config ignores it
  --format FORMAT   one of ${FORMATS.slice(0, 5).join(", ")},
                    ${FORMATS.slice(5).join(", ")};
                    recognised by default
  --json            an object per line for every event: file, agent, line, event, tool, level and the whole verdict

Exit codes: 0 the level was not reached, 1 a file cannot be read, or a quarter of the named one or more
cannot or it does not appear, 2 wrong usage, 3 the level was reached.
`;

const OWN = {
  ...OPTIONS,
  last: { type: "boolean", default: false },
  level: { type: "string", default: "nudge" },
  bell: { type: "boolean", default: false },
  notify: { type: "boolean", default: false },
  exec: { type: "string" },
  first: { type: "boolean", default: false },
  idle: { type: "string" },
  all: { type: "boolean", default: false },
  "from-start": { type: "boolean", default: false },
  format: { type: "string" },
  json: { type: "boolean", default: false },
} as const satisfies Options;
export const options: Options = OWN;

/** Polling interval of a session, in milliseconds. */
const EVERY = 250;
/** Interval for finding newer sessions in the folders, in milliseconds. */
const LOOK_ROUND = 2_000;
/** Time without a write after which another session that is being written is followed instead, in milliseconds. */
const QUIET = 20_000;
/** Maximum number of sessions remembered, so that one that continues is not printed from its beginning. */
const KEPT = 16;
/** Maximum value of --idle, in seconds. */
const LONGEST_IDLE = 31_536_000;
/** Maximum width of printed steps and guidance, in characters. */
const WIDTH = 96;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, OWN);
  const [path, ...more] = positionals;
  if (more.length > 0 || (values.last && path !== undefined))
    throw new UsageError("watch: expected one file or folder, or none");
  if (path === "-") throw new UsageError("watch: expected a file that grows, got `-`; `replay -` reads standard input");
  const idle = seconds(values.idle);
  const format = transcriptFormat(values.format);
  const found = await settings(values);
  const watch = new Watch({
    least: level(values.level),
    alarm: new Alarm(values),
    json: values.json,
    first: values.first,
    history: values["from-start"],
    all: values.all,
    config: found?.text ?? "",
    format,
  });
  const stop = new AbortController();
  const end = () => stop.abort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, end);
  try {
    await watch.begin(path);
    while (!stop.signal.aborted) {
      await watch.look();
      if (values.first && watch.reached) break;
      if (idle !== undefined && watch.quiet > idle) break;
      await sleep(EVERY, undefined, { signal: stop.signal }).catch(() => {});
    }
    await watch.end();
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, end);
  }
  return watch.reached ? 3 : watch.isUnread ? 1 : 0;
}

function seconds(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === "" || !(value > 0 && value <= LONGEST_IDLE))
    throw new UsageError(`--idle ${text}: expected a number of seconds up to ${LONGEST_IDLE}, which is a year`);
  return value * 1000;
}

interface How {
  least: Level;
  alarm: Alarm;
  json: boolean;
  /** Whether to end at the first finding. */
  first: boolean;
  history: boolean;
  all: boolean;
  config: string;
  format: TranscriptFormat | undefined;
}

/** A session that is followed. */
interface Following {
  session: Pick<Session, "file" | "agent">;
  source: Followed;
  live: Live;
  complaints: Complaints;
  /** Whether any event was read. */
  begun: boolean;
  /** Whether it does not exist, and never did since watching began. */
  isAbsent: boolean;
  /** Whether its initial contents were written before watching began. */
  old: boolean;
  /** Whether it was reported that nothing can be read. */
  doubted: boolean;
  /** Whether it turned out not to be a log. */
  dead: boolean;
  /** Findings reported, by {@link chapter}. */
  told: Set<string>;
  /** Open calls by the index of their event. */
  calls: Map<number, string>;
  steps: number;
  /** The number of events judged. */
  judged: number;
  strongest: Level;
}

/** Follows sessions and prints them. */
class Watch {
  readonly #how: How;
  readonly #following = new Map<string, Following>();
  #current: Following | undefined;
  /** The folder to watch (without `path`, those of the known agents); undefined if a single session was named. */
  #folder: { path: string | undefined } | undefined;
  /** The sessions that existed when watching began. */
  readonly #known = new Set<string>();
  readonly #began = Date.now();
  #looked = 0;
  #spoke = Date.now();
  #label = "";
  reached = false;
  /** Whether much of the named session could not be read, so that finding nothing means little. */
  isUnread = false;

  constructor(how: How) {
    this.#how = how;
  }

  /** Time since the last readable event, in milliseconds. */
  get quiet(): number {
    return Date.now() - this.#spoke;
  }

  async begin(path: string | undefined): Promise<void> {
    if (!this.#how.json) tell(`loopwarden ${version()} watches; Ctrl-C ends it`);
    if (path !== undefined && !(await holdsSessions(path))) {
      if (this.#how.all) throw new UsageError("watch: --all needs a folder, or nothing");
      this.#follow({ file: path, agent: "session" }, true);
      return;
    }
    this.#folder = { path };
    const found = await candidates(path);
    for (const { file } of found) this.#known.add(file);
    const [newest] = found;
    if (newest !== undefined) this.#follow(newest, true);
    else {
      tell(`loopwarden: no session yet; waiting for one in ${path ?? looked()}`);
    }
  }

  async look(): Promise<void> {
    await this.#lookRound();
    const followed = this.#how.all ? [...this.#following.values()] : this.#current ? [this.#current] : [];
    for (const following of followed) await this.#read(following);
  }

  async end(): Promise<void> {
    progress(undefined);
    await this.#how.alarm.end();
    for (const following of this.#following.values()) {
      const { session, steps, told, strongest, complaints, live, begun, isAbsent, source, judged } = following;
      const isAlien = !begun && source.isText;
      if (isAlien) this.#doubt(following);
      // In a folder, a file that is not a log does not matter.
      this.isUnread = this.#folder === undefined && (isAlien || isAbsent || isLargelyUnread(complaints.count, judged));
      complaints.end(judged);
      live.free();
      if (this.#how.json) continue;
      const none = isAbsent ? "did not appear" : "nothing new";
      const what = strongest === "continue" ? none : `${number(told.size, "finding")}, ${strongest} at most`;
      print(paint("dim", `${short(session.file, WIDTH)}: ${number(steps, "step")}, ${what}`));
    }
  }

  /** Checks whether to follow another session. */
  async #lookRound(): Promise<void> {
    if (this.#folder === undefined || Date.now() - this.#looked < LOOK_ROUND) return;
    const began = Date.now();
    const all = await candidates(this.#folder.path);
    const found = all.filter(({ file }) => this.#following.get(file)?.dead !== true);
    // A folder that takes long to scan is scanned less often.
    this.#looked = Date.now() + (Date.now() - began) * 9;
    if (this.#how.all) {
      for (const session of found) if (session.at >= this.#began) this.#follow(session, this.#known.has(session.file));
      return;
    }
    const [newest] = found;
    const current = this.#current;
    if (newest === undefined || newest.file === current?.session.file) return;
    const isNew = !this.#known.has(newest.file) && !this.#following.has(newest.file);
    const isQuiet = current === undefined || Date.now() - current.source.written > QUIET;
    if (isNew || (isQuiet && newest.at > (current?.source.written ?? 0))) this.#follow(newest, !isNew);
  }

  #follow(session: Pick<Session, "file" | "agent">, old: boolean): void {
    let following = this.#following.get(session.file);
    if (this.#how.all && following !== undefined) return;
    if (following === undefined) {
      following = {
        session,
        source: new Followed(session.file),
        live: new Live(this.#how.config, this.#how.format),
        complaints: new Complaints(session.file),
        begun: false,
        isAbsent: false,
        old,
        doubted: false,
        dead: false,
        told: new Set(),
        calls: new Map(),
        steps: 0,
        judged: 0,
        strongest: "continue",
      };
      this.#following.set(session.file, following);
      const [oldest] = this.#following.keys();
      if (this.#following.size > KEPT && oldest !== undefined) {
        this.#following.get(oldest)?.live.free();
        this.#following.delete(oldest);
      }
    }
    this.#current = following;
    tell(`loopwarden: following ${session.agent === "session" ? "" : `${session.agent}, `}${session.file}`);
  }

  async #read(following: Following): Promise<void> {
    const { source, live, session } = following;
    if (following.dead) return;
    const look = await source.look().catch((error: unknown) => {
      // A file that is not a log must not end the watch of a folder.
      if (this.#folder === undefined || !(error instanceof InputError)) throw error;
      following.dead = true;
      if (this.#current === following) [this.#current, this.#looked] = [undefined, 0];
      tell(`loopwarden: ${error.message}`);
      return undefined;
    });
    if (look === undefined) return;
    if ("gone" in look) {
      tell(`loopwarden: ${session.file}: ${look.gone}; waiting for it`);
      // A file that does not exist yet will be all new.
      if (!following.begun) [following.old, following.isAbsent] = [false, true];
      return;
    }
    following.isAbsent = false;
    const update = live.update(look.text);
    for (const { line, message } of update.errors) following.complaints.add(line, message);
    if (update.anew) {
      tell(`loopwarden: ${session.file}: was started again`);
      following.told.clear();
      following.calls.clear();
    }
    const isAlien = update.seen.every(({ unread }) => unread);
    if (!following.begun && isAlien && look.text.trim() !== "") this.#doubt(following);
    if (update.seen.length === 0 || (isAlien && !following.begun)) return;
    const isPast = !following.begun && following.old;
    following.begun = true;
    if (this.#label !== session.file && this.#how.all && !this.#how.json)
      print(paint("bold", short(`${session.agent} · ${session.file}`, WIDTH)));
    this.#label = session.file;
    if (isPast && !this.#how.history) this.#sumUp(following, update);
    else {
      this.#spoke = Date.now();
      for (const seen of update.seen) {
        this.#tell(following, seen);
        if (this.#how.first && this.reached) break;
        await drained();
      }
    }
    this.#showRunning(following);
  }

  /** Reports once that no event of a file can be read. */
  #doubt(following: Following): void {
    if (following.doubted) return;
    following.doubted = true;
    tell(`loopwarden: ${following.session.file}: holds no event that can be read so far. ${UNKNOWN}`);
  }

  /** Judges what was written before watching began and prints a summary. */
  #sumUp(following: Following, { seen, format }: Update): void {
    const { session } = following;
    // Only counted: a loop that goes on is still reported at its next step.
    const stood = new Set<string>();
    let last: Seen | undefined;
    for (const one of seen) {
      this.#count(following, one);
      if (one.verdict === undefined) {
        if (one.error !== undefined) following.complaints.add(one.line, refused(one, one.error));
        continue;
      }
      const serious = one.verdict.findings.filter(({ level }) => reaches(level, "nudge"));
      for (const finding of serious) stood.add(chapter(finding));
      if (serious.length > 0) last = one;
    }
    if (this.#how.json) return;
    const before = `${number(following.steps, "step")} before`;
    const none = following.judged === 0 ? "nothing that can be judged" : "nothing found";
    const found = stood.size === 0 ? none : number(stood.size, "finding");
    print(paint("dim", `${short(session.file, WIDTH)} · ${format} · ${before}: ${found}`));
    const [finding] = last?.verdict?.findings ?? [];
    if (last === undefined || finding === undefined) return;
    const since = seen.length === 0 ? 0 : (seen.at(-1)?.at ?? 0) - last.at;
    print(`  the latest, ${number(since, "event")} ago: ${headline(finding)}`);
  }

  #count(following: Following, seen: Seen): void {
    const { calls } = following;
    following.complaints.time(seen.event, seen.line);
    following.complaints.tellTime();
    if (seen.event.type === "tool-call" && !seen.pending) calls.set(seen.at, short(lineOf(seen.event), WIDTH));
    else if (seen.call !== undefined) calls.delete(seen.call);
    if (seen.verdict !== undefined && !seen.unread) following.judged++;
    if (!seen.again && STEPS.has(seen.event.type) && !seen.pending) following.steps++;
  }

  #tell(following: Following, seen: Seen): void {
    const { event, verdict, line } = seen;
    const { session, told } = following;
    const call = seen.call === undefined ? undefined : following.calls.get(seen.call);
    this.#count(following, seen);
    if (seen.error !== undefined) following.complaints.add(line, refused(seen, seen.error));
    const record = verdict && {
      file: session.file,
      agent: session.agent,
      line,
      event: event.type,
      ...(seen.tool !== undefined && { tool: seen.tool }),
      ...(event.at != null && { at: event.at }),
      ...(seen.pending && { pending: true }),
      level: given(verdict),
      verdict,
    };
    if (!seen.again) {
      if (this.#how.json && record) printJson(record);
      else if (!this.#how.json) this.#step(seen, call);
    }
    if (verdict === undefined) return;
    const news = verdict.findings.filter((finding) => {
      const isNews = reaches(finding.level, "nudge") || reaches(finding.level, this.#how.least);
      return isNews && !told.has(chapter(finding));
    });
    // A call is printed together with its result, or immediately if it has a finding.
    if (news.length > 0 && event.type === "tool-call" && !this.#how.json) this.#step(seen, undefined, true);
    for (const finding of news) {
      told.add(chapter(finding));
      if (rank(finding.level) > rank(following.strongest)) following.strongest = finding.level;
      if (!this.#how.json) {
        const would = verdict.wouldBe === undefined ? "" : " (shadow mode)";
        print(`${paint("bold", place(event, line))}  ${headline(finding)}${would}`);
        if (finding.wasted.tokens !== undefined || finding.wasted.costMicros !== undefined)
          print(`    ${paint("dim", "so far")}    ${cost(finding.wasted)}`);
      }
      if (!reaches(finding.level, this.#how.least)) continue;
      this.reached = true;
      const { file, agent } = session;
      this.#how.alarm.raise({ finding, file, agent, line, json: JSON.stringify(record) });
    }
    if (news.length === 0 || this.#how.json || verdict.guidance === undefined) return;
    // Watching does not pass the guidance on to the agent.
    print(`    ${paint("dim", "a guarded agent would be told:")}`);
    for (const part of wrapped(verdict.guidance, WIDTH)) print(`    │ ${paint("italic", part)}`);
  }

  /** Prints one line for an event. A call is printed with its result unless it has a finding. */
  #step({ event, line, pending }: Seen, call: string | undefined, isFound = false): void {
    const time = event.at == null || Math.abs(event.at) > 8.64e15 ? "" : new Date(event.at).toTimeString().slice(0, 8);
    const begin = `${paint("dim", `${time.padEnd(8)} ${place(event, line).padEnd(10)}`)} `;
    if (event.type === "tool-result") {
      const asked = call ?? event.tool ?? "result";
      const came = short(outcome(event), WIDTH / 2);
      print(`${begin}${asked} ${paint(failed(event) ? "red" : "dim", `→ ${came}`)}`);
    } else if (isFound || (STEPS.has(event.type) && !pending))
      print(`${begin}${paint("dim", short(lineOf(event), WIDTH))}`);
  }

  #showRunning({ calls, source }: Following): void {
    if (this.#how.json) return;
    const [latest] = [...calls.values()].slice(-1);
    const since = duration(Math.max(0, Date.now() - source.written));
    progress(latest === undefined ? undefined : `… ${latest} (${since})`);
  }
}

/** The types of events that count as steps and are printed. */
const STEPS: ReadonlySet<string> = new Set([
  "tool-result",
  "message",
  "output",
  "failure",
  "collaboration",
  "delivery",
  "transition",
  "attempt",
  "progress",
  "evaluation",
  "host",
  "custom",
]);

function headline({ level, rule, message }: { level: Level; rule: string; message: string }): string {
  return `${paint(LEVEL_STYLE[level], level)}  ${rule}: ${message}`;
}
