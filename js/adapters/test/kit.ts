// The conformance kit: what every adapter must do, tested against the real framework with a scripted model. An
// adapter's test implements `Harness` and calls `conformance`; framework-specific behaviour is tested next to that
// call.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AgentEvent as Event, LoopDetector, type Verdict } from "loopwarden";
import { type GuardOptions, LoopHalt } from "../../src/adapters/guard.ts";

export interface Call {
  tool: string;
  args: Record<string, unknown>;
}

/** An answer of the scripted model: text, calls, or both. */
export interface Turn {
  text?: string;
  calls?: Call[];
}

/** The id of a scripted call, unique in a script. Turns and calls are counted from 0. */
export function callId(turn: number, index: number = 0): string {
  return `call-${turn}-${index}`;
}

export interface Setup {
  /** The options of the adapter; the kit always sets the clock and the callbacks for verdicts and warnings. */
  options: GuardOptions;
  /** The model's answers, one per model call; afterwards it says "done". */
  script: Turn[];
  /**
   * Index of the script's first turn, 0 unless the run continues another one. The model numbers its calls from here:
   * `callId(first + n, …)`.
   */
  first: number;
  /** Whether to run without the adapter. */
  bare: boolean;
  /** Whether the host streams the model's text; only used by harnesses passed to {@link streaming}. */
  streamed?: boolean;
  /** The number of answers after which the process dies; must be less than the length of the script. */
  dieAfter?: number;
  /** Continues a run that died: the same conversation without a new human message, and its state. */
  from?: Run;
  /** Shared by concurrent runs: the first one creates the guard, and the others use it. */
  shared?: { guard?: unknown };
}

export interface Run {
  /** The input of each model call, in a form that is equal for equal runs. */
  prompts: unknown[];
  /** Ids of the calls whose tool actually ran, in order. */
  executed: string[];
  /** The result of each call as seen by the model or in the conversation, by call id. */
  answers: Record<string, string>;
  /** The model's last text, if the run ended by itself. */
  text: string | undefined;
  /** How the run ended: `completed` only if the framework considered it finished. */
  ended: "completed" | "stopped" | "died";
  /** The typed reason, wherever the framework provides it. */
  halt: unknown;
  /** The adapter's state at the end; empty if disabled. */
  state: string;
  /** Anything else the harness needs to continue. */
  memory?: unknown;
}

export interface Harness {
  /**
   * Runs a scripted agent with the kit's tools: {@link runTool} by name. The harness chooses the system prompt and the
   * human's prompt, which must be the same in every run.
   */
  run(setup: Setup): Promise<Run>;
  /**
   * As `run`, but a main agent first delegates to an agent named `worker`, in the framework's own way (handoff,
   * sub-agent, or a tool that runs an agent), and the worker follows the script.
   */
  delegate(setup: Setup): Promise<Run>;
  /** Set if the adapter does not see the answer that ends a run and its usage. */
  blind?: boolean;
  /** Cases that the framework makes impossible: name and reason, which is printed. */
  impossible?: Record<string, string>;
}

/** The usage of each answer of a scripted model, in tokens. */
export const SPENT = { input: 40, output: 2 } as const;

/** The tools that a harness must provide. All take `{ q: string }`. */
export const TOOLS = ["search", "read", "boom"] as const;

/** Runs a tool: `search` always returns the same, `read` echoes its argument, and `boom` throws. */
export function runTool(tool: string, args: Record<string, unknown>): string {
  if (tool === "boom") throw new Error(`no such file: ${String(args["q"])}`);
  return tool === "search" ? "no results" : `contents of ${String(args["q"])}`;
}

/** Matches the name of the sub-agent; some frameworks append an id to distinguish instances. */
const WORKER = /^worker(:|$)/;

const MARK = "Loopwarden (loop detector)";
const again: Turn = { calls: [{ tool: "search", args: { q: "oauth" } }] };
const times = (count: number, turn: Turn = again): Turn[] => Array.from({ length: count }, () => turn);

/** A detector that records its events and verdicts. */
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

/** Fills in defaults. Warnings fail the test unless the case handles them. */
function setup(options: GuardOptions, script: Turn[], rest: Partial<Setup> = {}): Setup {
  let at = 1_762_000_000_000;
  const now = () => {
    at += 1000;
    return at;
  };
  const onWarning = (message: string) => assert.fail(message);
  return { options: { now, onWarning, ...options }, script, first: 0, bare: false, ...rest };
}

/** The number of times guidance occurs in the last model input. */
const mentions = (run: Run) => JSON.stringify(run.prompts.at(-1)).split(MARK).length - 1;

/** The parts of a run that must not depend on the presence of the adapter. */
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
    // The same run without our messages gets the same verdicts, so they were not evidence.
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
    // Several runs repeat one call a few times each: counted as one run, they would be halted.
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

/** Registers the tests for adapters that see text while it streams. The harness streams if the setup says so. */
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
