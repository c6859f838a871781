import { version } from "../core.ts";
import { LoopDetector } from "../detector.ts";
import { LoopwardenError } from "../errors.ts";
import type { Event, Finding, Level, Scope, Verdict } from "../generated/types.ts";
import { FORMATS, readTranscript } from "../transcript.ts";
import { level, parse, transcriptFormat, UsageError } from "./args.ts";
import { configText, InputError, text } from "./input.ts";
import { LEVEL_STYLE, LEVELS, painter, reaches, short, wrapped } from "./style.ts";

export const help: string = `Usage: loopwarden replay FILE [--level LEVEL] [--config FILE] [--format FORMAT] [--json]

Replays a recorded run and tells its story: a line for every finding at nudge or above; when a loop is found or gets
worse also what repeated (from your own file) and the advice the agent would have been given; and the report at the
end. FILE may be gzip-compressed, and "-" is the standard input. A broken line is reported on stderr, and the rest goes
on.

  --level LEVEL    exit with 3 when a verdict reaches it: observe, nudge (default), block, gate or halt
  --config FILE    the configuration (JSON); the recommended one where absent
  --format FORMAT  one of ${FORMATS.slice(0, 5).join(", ")},
                   ${FORMATS.slice(5).join(", ")};
                   recognised where absent
  --json           one verdict a line instead of the story

Exit codes: 0 the level was not reached, 1 a file cannot be read, 2 wrong usage, 3 the level was reached.
`;

/** How wide the quoted arguments and outputs may be. */
const WIDTH = 96;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    level: { type: "string", default: "nudge" },
    config: { type: "string" },
    format: { type: "string" },
    json: { type: "boolean", default: false },
  });
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0)
    throw new UsageError("replay: expected one file, or - for the standard input");
  const least = level(values.level);
  const wanted = transcriptFormat(values.format);
  const config = values.config === undefined ? "" : await configText(values.config);
  const { format, events, lines, errors } = readTranscript(await text(file), wanted);

  const detector = new LoopDetector(config);
  const story = new Story();
  const complain = (line: number, error: { code: string; message: string }) =>
    process.stderr.write(`${file}:${line}: ${error.code}: ${error.message}\n`);
  for (const { line, error } of errors) complain(line, new LoopwardenError(error));
  story.refused = errors.length;
  if (events.length === 0) throw new InputError(`${file}: holds no event that can be read`);
  if (!values.json) story.title(file, format, events.length);
  for (const [index, { pending, ...traced }] of events.entries()) {
    const event = traced as Event;
    const line = lines[index] ?? 0;
    let verdict: Verdict;
    try {
      verdict = pending ? detector.check(event) : detector.record(event);
    } catch (error) {
      if (!(error instanceof LoopwardenError)) throw error;
      complain(line, error);
      story.refused++;
      continue;
    }
    if (!pending) story.remember(verdict.seq, event, line);
    if (values.json) console.log(JSON.stringify(verdict));
    else story.tell(verdict, event, line);
    story.weigh(verdict);
  }
  if (!values.json) story.end(detector);
  detector.free();
  return reaches(story.strongest, least) ? 3 : 0;
}

/** Tells a run as it unfolds. */
class Story {
  strongest: Level = "continue";
  /** Lines and events that could not be read. */
  refused = 0;
  #paint = painter(process.stdout);
  /** One line for every recorded event, by its sequence number. */
  #events = new Map<number, { step: string; text: string; output: string | undefined }>();
  /** What was called, by call id, so that a result can say whose it is. */
  #calls = new Map<string, string>();
  #scopes = new Map<string, Scope>();
  /** What was told at length: once it is known, a line will do until it gets worse. */
  #told = new Set<string>();

  title(file: string, format: string, events: number): void {
    console.log(this.#paint("dim", `loopwarden ${version()} · ${file} · ${format} · ${events} events`));
  }

  remember(seq: number, event: Event, line: number): void {
    const step = place(event, line);
    let [text, output] = summary(event);
    if (event.type === "tool-call" && event.callId) this.#calls.set(event.callId, text);
    if (event.type === "tool-result" && event.callId) text = this.#calls.get(event.callId) ?? text;
    this.#events.set(seq, { step, text, output });
  }

  weigh(verdict: Verdict): void {
    const given = verdict.wouldBe ?? verdict.level;
    if (LEVELS.indexOf(given) > LEVELS.indexOf(this.strongest)) this.strongest = given;
    for (const { scope } of verdict.findings) this.#scopes.set(JSON.stringify(scope), scope);
  }

  tell(verdict: Verdict, event: Event, line: number): void {
    const given = verdict.wouldBe ?? verdict.level;
    const findings = verdict.findings.filter((finding) => reaches(finding.level, "nudge"));
    if (!reaches(given, "nudge") || findings.length === 0) return;
    const step = place(event, line);
    const would = verdict.wouldBe === undefined ? "" : " (shadow mode)";
    const news = findings.filter((finding) => !this.#told.has(chapter(finding)));
    if (news.length > 0) console.log("");
    for (const finding of findings) {
      const name = this.#paint(LEVEL_STYLE[finding.level], finding.level);
      console.log(`${this.#paint("bold", step)}  ${name}${would}  ${finding.rule}: ${finding.message}`);
      if (!news.includes(finding)) continue;
      this.#told.add(chapter(finding));
      for (const told of this.#evidence(finding)) console.log(told);
    }
    if (verdict.guidance === undefined || news.length === 0) return;
    for (const part of wrapped(verdict.guidance, WIDTH)) console.log(`    │ ${this.#paint("italic", part)}`);
  }

  /** What repeated, as the user's own file has it. */
  *#evidence(finding: Finding): Generator<string> {
    for (const { seq } of finding.evidence) {
      const event = this.#events.get(seq);
      if (event === undefined) continue;
      yield `    ${this.#paint("dim", event.step.padEnd(9))} ${short(event.text, WIDTH)}`;
      if (event.output !== undefined)
        yield `    ${"".padEnd(9)} ${this.#paint("dim", `→ ${short(event.output, WIDTH - 2)}`)}`;
    }
  }

  end(detector: LoopDetector): void {
    if (this.#scopes.size === 0) {
      const unread = this.refused === 0 ? "" : ` in what could be read; ${this.refused} lines or events could not`;
      console.log(`\nNo loop found${unread}.`);
      return;
    }
    for (const scope of this.#scopes.values()) console.log(`\n${detector.report(scope).trimEnd()}`);
  }
}

/** A loop at a level. */
const chapter = ({ rule, signature, level }: Finding): string => JSON.stringify([rule, signature, level]);

/** Where an event stands: the host's own step, or the line of the file. */
const place = (event: Event, line: number): string => (event.step == null ? `line ${line}` : `step ${event.step}`);

/** The arguments of a call, each shortened; of a path the end says most. */
function listed(args: unknown): string {
  if (args === undefined || args === null) return "";
  if (typeof args !== "object" || Array.isArray(args)) return short(JSON.stringify(args), WIDTH);
  return Object.entries(args)
    .map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      const isPath = /^[^\s"']*[/\\][^\s"']*$/.test(text) && text.length > 32;
      return `${name}: ${isPath ? `…${text.slice(-31)}` : short(text, 32)}`;
    })
    .join(", ");
}

/** What an event is about, and what came of it. */
function summary(event: Event): [text: string, output: string | undefined] {
  switch (event.type) {
    case "tool-call":
      return [`${event.tool}(${event.rawArgs ?? listed(event.args)})`, undefined];
    case "tool-result": {
      const output = typeof event.output === "string" ? event.output : JSON.stringify(event.output);
      return [event.tool ?? "result", output === "" ? event.outcome : `${event.outcome}: ${output}`];
    }
    case "message":
      return [`${event.role}: ${event.text}`, undefined];
    case "delta":
    case "output":
      return [event.text, undefined];
    case "failure":
      return [event.message, undefined];
    default: {
      const { type, ...rest } = event;
      return [`${type} ${JSON.stringify(rest)}`, undefined];
    }
  }
}
