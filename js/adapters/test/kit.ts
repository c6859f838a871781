// The conformance kit: what every adapter must do, tried against the real framework with a scripted model. An adapter's
// test implements `Harness` and calls `conformance`; what only one framework can do is tested beside that call.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AgentEvent as Event, LoopDetector, type Verdict } from "loopwarden";
import { type GuardOptions, LoopHalt } from "../../src/adapters/guard.ts";

export interface Call {
  tool: string;
  args: Record<string, unknown>;
}

/** What the scripted model answers: text, calls, or both. */
export interface Turn {
  text?: string;
  calls?: Call[];
}

/** The id of a scripted call: unique in a script. Turns and calls are counted from 0. */
export function callId(turn: number, index: number = 0): string {
  return `call-${turn}-${index}`;
}

export interface Setup {
  /** What the adapter is made with; the kit always brings the clock and hears verdicts and warnings. */
  options: GuardOptions;
  /** The model's answers, one per model call; afterwards it says "done". */
  script: Turn[];
  /**
   * Index of the script's first turn, 0 unless the run goes on from another one. The model counts its own calls from
   * here: `callId(first + n, …)`.
   */
  first: number;
  /** Without the adapter at all. */
  bare: boolean;
  /** The host asks for the model's text as it comes; only of harnesses that {@link streaming} is tried with. */
  streamed?: boolean;
  /** The process dies instead of the model's answer after this many: the script must not be finished by then. */
  dieAfter?: number;
  /** Goes on from a run that died: the same conversation, without a new message by a human, and the state it had. */
  from?: Run;
  /** What runs side by side have in common: the first one makes the guard, and the others use it. */
  shared?: { guard?: unknown };
}

export interface Run {
  /** What the model was given at each of its calls, as data that two equal runs have equal. */
  prompts: unknown[];
  /** Ids of the calls whose tool really ran, in order. */
  executed: string[];
  /** What the model or the conversation has as the answer of each call id. */
  answers: Record<string, string>;
  /** The model's last text, where the run came to its own end. */
  text: string | undefined;
  /** How the run ended: `completed` only where the framework itself took it for finished. */
  ended: "completed" | "stopped" | "died";
  /** The typed reason, wherever the framework hands it out. */
  halt: unknown;
  /** The adapter's state at the end; empty where it was disabled. */
  state: string;
  /** Whatever else the harness needs to go on. */
  memory?: unknown;
}

export interface Harness {
  /**
   * Runs a scripted agent with the kit's tools: {@link runTool} by name. The system prompt and the human's prompt are the
   * harness's own, and the same in every run.
   */
  run(setup: Setup): Promise<Run>;
  /**
   * The same, but a main agent first hands the work to an agent that is called `worker`, as the framework does it
   * (handoff, sub-agent, or a tool that runs an agent), and the worker follows the script.
   */
  delegate(setup: Setup): Promise<Run>;
  /** What only a watched model would tell is not seen: the answer that ends the run, and what it took. */
  blind?: boolean;
  /** Cases that the framework makes impossible, by name, with the reason, which is printed. */
  impossible?: Record<string, string>;
}

/** What each answer of a scripted model took, in tokens. */
export const SPENT = { input: 40, output: 2 } as const;

/** The tools that a harness must offer. All take `{ q: string }`. */
export const TOOLS = ["search", "read", "boom"] as const;

/** What a tool answers: `search` always the same, `read` what it was asked, and `boom` throws. */
export function runTool(tool: string, args: Record<string, unknown>): string {
  if (tool === "boom") throw new Error(`no such file: ${String(args["q"])}`);
  return tool === "search" ? "no results" : `contents of ${String(args["q"])}`;
}

/** What the sub-agent is called, where the framework tells instances apart with an id after its name. */
const WORKER = /^worker(:|$)/;

const MARK = "Loopwarden (loop detector)";
const again: Turn = { calls: [{ tool: "search", args: { q: "oauth" } }] };
const times = (count: number, turn: Turn = again): Turn[] => Array.from({ length: count }, () => turn);

/** A detector that tells what it was given and what it said. */
export function spied(config?: ConstructorParameters<typeof LoopDetector>[0]): {
  detector: LoopDetector;
  events: Event[];
  verdicts: Verdict[];
} {
  const detector = new LoopDetector(config);
  const [events, verdicts]: [Event[], Verdict[]] = [[], []];
  const record = detector.record.bind(detector);
  detector.record = (event) => {
    assert.ok(typeof event !== "string");
    const verdict = record(event);
    events.push(event);
    verdicts.push(verdict);
    return verdict;
  };
  return { detector, events, verdicts };
}

/** Fills in what a case does not say. Warnings fail the test unless the case hears them itself. */
function setup(options: GuardOptions, script: Turn[], rest: Partial<Setup> = {}): Setup {
  let at = 1_762_000_000_000;
  const now = () => {
    at += 1000;
    return at;
  };
  const onWarning = (message: string) => assert.fail(message);
  return { options: { now, onWarning, ...options }, script, first: 0, bare: false, ...rest };
}

/** How often the guidance is in what the model was given last. */
const mentions = (run: Run) => JSON.stringify(run.prompts.at(-1)).split(MARK).length - 1;

/** What does not depend on the adapter's being there. */
const behaviour = ({ prompts, executed, answers, text, ended }: Run) => ({ prompts, executed, answers, text, ended });

const CASES: Record<string, (harness: Harness) => Promise<void>> = {
  async "observe changes nothing"(harness) {
    const script = times(14);
    const { detector, verdicts } = spied({ mode: "shadow" });
    const watched = await harness.run(setup({ detector }, script));
    assert.ok(
      verdicts.some(({ wouldBe }) => wouldBe === "block"),
      "it would have blocked",
    );
    assert.deepEqual(behaviour(watched), behaviour(await harness.run(setup({}, script, { bare: true }))));
    assert.equal(watched.executed.length, 14);
    assert.equal(watched.halt, undefined);
  },

  async "a disabled adapter is silent"(harness) {
    const script = times(30);
    const { detector, events } = spied();
    const disabled = await harness.run(setup({ detector, enabled: false }, script));
    assert.deepEqual(behaviour(disabled), behaviour(await harness.run(setup({}, script, { bare: true }))));
    assert.deepEqual([disabled.executed.length, disabled.ended, disabled.halt], [30, "completed", undefined]);
    assert.equal(events.length, 0);
  },

  async "a nudge reaches the model as attributed text and is no evidence"(harness) {
    const { detector, events, verdicts } = spied();
    const run = await harness.run(setup({ detector }, [...times(3), { calls: [{ tool: "read", args: { q: "a" } }] }]));
    assert.ok(verdicts.some(({ level }) => level === "nudge"));
    assert.equal(mentions(run), 1, "once, and it stays");
    assert.deepEqual([run.executed.length, run.ended, run.text], [4, "completed", "done"]);
    const about = events.filter((event) => JSON.stringify(event).includes(MARK));
    assert.ok(about.length > 0, "it was recorded");
    assert.ok(
      about.every((event) => event.synthetic),
      "as the host's own",
    );
    // The same run without a word of ours gets the same verdicts, so our words were no evidence.
    const silent = new LoopDetector();
    for (const [index, event] of events.entries()) {
      if (!event.synthetic) assert.equal(silent.record(event).level, verdicts[index]?.level);
    }
  },

  async "a block answers that call and the run goes on"(harness) {
    const { detector, verdicts } = spied({ rules: { "repeated-call": { halt: 0 } } });
    const script = [...times(6), { calls: [{ tool: "read", args: { q: "a" } }] }];
    const run = await harness.run(setup({ detector }, script));
    assert.ok(verdicts.some(({ level }) => level === "block"));
    const ran = [0, 1, 2, 3, 4, 6].map((turn) => callId(turn));
    assert.deepEqual(run.executed, ran, "the sixth did not run, and other work goes on");
    assert.match(run.answers[callId(5)] ?? "", new RegExp(`${MARK.replace(/[()]/g, "\\$&")}.*refused`, "s"));
    assert.equal(run.answers[callId(6)], "contents of a");
    assert.deepEqual(
      Object.keys(run.answers).sort(),
      script.map((_, turn) => callId(turn)),
      "every call is answered",
    );
    assert.deepEqual([run.ended, run.text, run.halt], ["completed", "done", undefined]);
  },

  async "a halt ends the run with a typed reason"(harness) {
    const run = await harness.run(setup({}, times(40)));
    assert.ok(run.halt instanceof LoopHalt, `the reason is ${String(run.halt)}`);
    assert.deepEqual([run.halt.level, run.halt.rule, run.halt.status], ["halt", "repeated-call", "loop"]);
    assert.ok(run.halt.haltReason);
    assert.match(run.halt.report, /Loop Detected/);
    assert.equal(JSON.parse(JSON.stringify(run.halt)).rule, "repeated-call");
    assert.equal(run.ended, "stopped");
    assert.notEqual(run.text, "done");
    assert.equal(run.prompts.length, 9, "four rounds of refusals after five that ran");
    assert.equal(run.executed.length, 5);
  },

  async "parallel calls are one round, and each is answered"(harness) {
    const { detector, events } = spied();
    const calls = ["a", "b", "c"].map((q) => ({ tool: "read", args: { q } }));
    const run = await harness.run(setup({ detector }, [{ calls }, { calls: calls.slice(1) }]));
    const rounds = events.flatMap((event) => (event.type === "tool-call" ? [event.round ?? "none"] : []));
    assert.equal(rounds.length, 5);
    assert.equal(new Set(rounds.slice(0, 3)).size, 1, rounds.join());
    assert.equal(new Set(rounds.slice(3)).size, 1, rounds.join());
    assert.notEqual(rounds[0], rounds[3]);
    assert.equal(Object.keys(run.answers).length, 5);
    assert.equal(events.filter((event) => event.type === "tool-result").length, 5);
  },

  async "a round of refused copies answers every call"(harness) {
    const script = [{ calls: Array.from({ length: 20 }, () => ({ tool: "search", args: { q: "oauth" } })) }];
    const run = await harness.run(setup({ config: { rules: { "call-flood": { halt: 0 } } } }, script));
    assert.ok(run.executed.length < 20, "some were refused");
    const ids = script[0]?.calls.map((_, index) => callId(0, index)).sort();
    assert.deepEqual(Object.keys(run.answers).sort(), ids);
  },

  async "a tool that throws is an error, and the model is told so as ever"(harness) {
    const { detector, events } = spied();
    const script = ["a", "b"].map((q) => ({ calls: [{ tool: "boom", args: { q } }] }));
    const run = await harness.run(setup({ detector }, script));
    const outcomes = events.flatMap((event) => (event.type === "tool-result" ? [event.outcome] : []));
    assert.deepEqual(outcomes, ["error", "error"]);
    assert.match(run.answers[callId(0)] ?? "", /no such file: a/);
    assert.deepEqual(behaviour(run), behaviour(await harness.run(setup({}, script, { bare: true }))));
  },

  async "a sub-agent's events and findings carry its scope"(harness) {
    const { detector, events, verdicts } = spied();
    const run = await harness.delegate(setup({ detector, agent: "main" }, times(3)));
    const calls = events.flatMap((event) =>
      event.type === "tool-call" && event.tool.endsWith("search") ? [event.agent] : [],
    );
    assert.equal(calls.length, 3);
    assert.equal(new Set(calls).size, 1, "one agent");
    assert.match(calls[0] ?? "", WORKER);
    assert.ok(
      events.some((event) => event.agent === "main"),
      "the main agent is another one",
    );
    const [finding] = verdicts.flatMap(({ level, findings }) => (level === "nudge" ? findings : []));
    assert.match(finding?.scope.agent ?? "", WORKER);
    assert.equal(run.executed.length, 3);
  },

  async "runs side by side on one guard do not touch each other"(harness) {
    const shared = {};
    const together = (options: GuardOptions, script: Turn[]) => harness.run(setup(options, script, { shared }));
    const honest = Array.from({ length: 6 }, (_, index) => ({ calls: [{ tool: "read", args: { q: `${index}` } }] }));
    // Four copies of one call each: nine of them would be halted, if anybody took them for one run's.
    const [loop, innocent, ...short] = await Promise.all([
      together({}, times(40)),
      together({}, honest),
      together({}, times(2)),
      together({}, times(2)),
      together({}, times(2)),
      together({}, times(2)),
    ]);
    assert.ok(loop.halt instanceof LoopHalt, "the loop is ended");
    assert.deepEqual([loop.executed.length, loop.ended], [5, "stopped"]);
    for (const [run, calls] of [[innocent, 6] as const, ...short.map((run) => [run, 2] as const)]) {
      assert.deepEqual([run.executed.length, run.ended, run.text, run.halt], [calls, "completed", "done", undefined]);
      assert.equal(JSON.stringify(run.prompts).includes(MARK), false, "not a word of ours");
    }
  },

  async "what each answer took is told once, with an event of its own"(harness) {
    const { detector, events } = spied();
    const calls = ["a", "b", "c"].map((q) => ({ tool: "read", args: { q } }));
    const script = [
      { text: "Let me look.", calls },
      { calls: calls.slice(1) },
      { text: "Again.", calls: [calls[0] as Call] },
    ];
    const run = await harness.run(setup({ detector }, script));
    assert.deepEqual([run.executed.length, run.ended, run.prompts.length], [6, "completed", 4]);
    const told = events.flatMap((event) => (event.tokens == null ? [] : [event.tokens]));
    const answer = SPENT.input + SPENT.output;
    assert.equal(
      told.reduce((sum, tokens) => sum + tokens, 0),
      (harness.blind ? 3 : 4) * answer,
      JSON.stringify(events),
    );
    assert.ok(
      events.every((event) => event.type !== "turn"),
      "an answer is no turn of a workflow",
    );
  },

  async "a run that is cut off leaves the next ones on its guard alone"(harness) {
    const shared = {};
    const warnings: string[] = [];
    const onWarning = (message: string) => warnings.push(message);
    const cut = await harness.run(setup({ onWarning }, times(6), { shared, dieAfter: 4 }));
    assert.deepEqual([cut.executed.length, cut.ended], [4, "died"]);
    const honest = Array.from({ length: 6 }, (_, index) => ({ calls: [{ tool: "read", args: { q: `${index}` } }] }));
    const next = await harness.run(setup({ onWarning }, honest, { shared }));
    assert.deepEqual([next.executed.length, next.ended, next.text, next.halt], [6, "completed", "done", undefined]);
    assert.equal(JSON.stringify(next.prompts).includes(MARK), false, "not a word of ours");
    const loop = await harness.run(setup({ onWarning }, times(40), { shared }));
    assert.deepEqual([loop.executed.length, loop.ended, warnings], [5, "stopped", []]);
  },

  async "state survives a resume"(harness) {
    const script = [...times(3), { calls: [{ tool: "read", args: { q: "a" } }] }];
    const first = await harness.run(setup({}, script, { dieAfter: 2 }));
    assert.deepEqual([first.executed.length, first.ended, typeof first.state], [2, "died", "string"]);
    const stored: Run = { ...first, state: JSON.parse(JSON.stringify({ state: first.state })).state };
    const levels: string[] = [];
    const onVerdict = ({ level }: Verdict) => levels.push(level);
    const second = await harness.run(setup({ onVerdict }, script.slice(2), { first: 2, from: stored }));
    assert.ok(levels.includes("nudge"), `the third call is the third: ${levels.join()}`);
    assert.equal(mentions(second), 1);
    assert.deepEqual([second.executed, second.ended], [[callId(2), callId(3)], "completed"]);
  },

  async "an internal error fails open, with one visible warning"(harness) {
    const detector = new LoopDetector();
    detector.free();
    const warnings: string[] = [];
    const script = times(14);
    const run = await harness.run(setup({ detector, onWarning: (message) => warnings.push(message) }, script));
    assert.equal(warnings.length, 1, warnings.join("\n"));
    assert.match(warnings[0] ?? "", /^\[Loopwarden\] could not judge and lets the agent go on/);
    assert.deepEqual(behaviour(run), behaviour(await harness.run(setup({}, script, { bare: true }))));
  },
};

/** Registers the kit's tests for an adapter. */
export function conformance(name: string, harness: Harness): void {
  const impossible = harness.impossible ?? {};
  for (const title of Object.keys(impossible)) assert.ok(title in CASES, `no such case: ${title}`);
  for (const [title, run] of Object.entries(CASES)) {
    const reason = impossible[title];
    test(`${name}: ${title}`, { ...(reason !== undefined && { skip: reason }) }, () => run(harness));
  }
}

/** Registers what an adapter must do that sees a text while it streams. The harness streams where the setup says so. */
export function streaming(name: string, harness: Pick<Harness, "run">): void {
  test(`${name}: a message that repeats itself without end is cut off while it streams`, async () => {
    const text = "Let me check the file again. ".repeat(2000);
    const run = await harness.run(setup({}, [{ text }], { streamed: true }));
    assert.ok(run.halt instanceof LoopHalt, `the reason is ${String(run.halt)}`);
    assert.deepEqual([run.halt.rule, run.ended, run.prompts.length], ["stream-period", "stopped", 1]);
  });

  test(`${name}: a long answer that goes on is streamed to its end, and counted once`, async () => {
    const { detector, events, verdicts } = spied();
    const text = Array.from(
      { length: 400 },
      (_, line) => `Line ${line} of the report tells of room ${line * 7}. `,
    ).join("");
    const run = await harness.run(setup({ detector }, [{ text }], { streamed: true }));
    assert.deepEqual([run.ended, run.text?.trim(), run.halt], ["completed", text.trim(), undefined]);
    assert.ok(
      events.some((event) => event.type === "delta"),
      "it was seen as it came",
    );
    assert.ok(verdicts.every(({ level }) => level === "continue"));
    const told = events.reduce((sum, event) => sum + (event.tokens ?? 0), 0);
    assert.equal(told, SPENT.input + SPENT.output);
  });

  test(`${name}: calls that were streamed are nudged, refused and ended as any other`, async () => {
    const run = await harness.run(setup({}, times(40), { streamed: true }));
    assert.ok(run.halt instanceof LoopHalt);
    assert.deepEqual([run.halt.rule, run.executed.length, run.ended], ["repeated-call", 5, "stopped"]);
  });
}
