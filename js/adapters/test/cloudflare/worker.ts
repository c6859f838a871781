// Runs in workerd: the conformance kit against agents of the real Think, in real Durable Objects. Objects and their
// callers share an isolate, so a run is looked up by name and nothing has to be serialized.

import { DurableObject } from "cloudflare:workers";
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type ChatResponseResult,
  type PrepareStepContext,
  type StepConfig,
  Think,
  type ToolCallDecision,
} from "@cloudflare/think";
import { isStepCount, jsonSchema, streamText, type ToolSet, tool } from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { type Case, cases } from "../../../test/support/collect.ts";
import { type AiSdkOptions, createLoopGuard } from "../../src/ai-sdk.ts";
import {
  type CloudflareOptions,
  createLoopGuard as createThinkGuard,
  LoopHalt,
  loopHalt,
} from "../../src/cloudflare.ts";
import {
  callId,
  conformance,
  type Run,
  runTool,
  type Setup,
  SPENT,
  spied,
  streaming,
  TOOLS,
  type Turn,
} from "../kit.ts";

export interface Env {
  Bare: DurableObjectNamespace<Bare>;
  Watched: DurableObjectNamespace<Watched>;
  Own: DurableObjectNamespace<Own>;
  Forgetful: DurableObjectNamespace<Forgetful>;
  Chat: DurableObjectNamespace<Chat>;
  Careful: DurableObjectNamespace<Careful>;
}

let bindings: Env;

/** A run in progress, by the name of its object. */
interface Going {
  setup: Setup;
  run: Run;
  /** The number of model calls of this run. */
  turn: number;
  /** The error that Think passed to be classified. */
  cause?: unknown;
  /** Whether the turn is over. */
  over: boolean;
  /** The implementation of the tool that delegates the work. */
  hand?: () => Promise<string>;
}

const going = new Map<string, Going>();

const usage = {
  inputTokens: { total: SPENT.input, noCache: SPENT.input, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: SPENT.output, text: SPENT.output, reasoning: 0 },
};

type Part =
  NonNullable<Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"]> extends ReadableStream<infer PART>
    ? PART
    : never;

/** The model's answer for one turn, as a stream. */
function answer({ text, calls = [] }: Turn, turn: number): ReadableStream<Part> {
  return convertArrayToReadableStream<Part>([
    { type: "stream-start", warnings: [] },
    ...(text === undefined
      ? []
      : ([
          { type: "text-start", id: "1" },
          ...(text.match(/.{1,32}/gs) ?? []).map((delta) => ({ type: "text-delta", id: "1", delta })),
          { type: "text-end", id: "1" },
        ] as Part[])),
    ...calls.map(({ tool, args }, index): Part => {
      return { type: "tool-call", toolCallId: callId(turn, index), toolName: tool, input: JSON.stringify(args) };
    }),
    { type: "finish", finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop", raw: undefined }, usage },
  ]);
}

const inputSchema = jsonSchema<{ q: string }>({ type: "object", properties: { q: { type: "string" } } });

/** An agent that follows its script and otherwise behaves like Think. */
export class Bare extends Think<Env & Cloudflare.Env> {
  override includeMcpTools = false;
  override maxSteps = 60;

  get going(): Going {
    const found = going.get(this.ctx.id.name ?? "");
    assert.ok(found, "a run of this name");
    return found;
  }

  override getModel(): MockLanguageModelV4 {
    return new MockLanguageModelV4({
      doStream: async ({ prompt }) => {
        const { setup, run, turn } = this.going;
        if (turn === setup.dieAfter) {
          // In practice, a model takes longer to answer than storage takes to write.
          await this.ctx.storage.sync();
          run.state = String(this.ctx.storage.kv.get("loopwarden") ?? "");
          run.ended = "died";
          this.ctx.abort("died");
        }
        run.prompts.push(JSON.parse(JSON.stringify(prompt)));
        this.going.turn += 1;
        return { stream: answer(setup.script[turn] ?? { text: "done" }, setup.first + turn) };
      },
    });
  }

  override getTools(): ToolSet {
    const { run, hand } = this.going;
    const tools = TOOLS.map((name) => {
      const execute = async (args: { q: string }, { toolCallId }: { toolCallId: string }) => {
        run.executed.push(toolCallId);
        return runTool(name, args);
      };
      return [name, tool({ inputSchema, execute })];
    });
    return { ...Object.fromEntries(tools), ...(hand && { hand: tool({ inputSchema, execute: hand }) }) };
  }

  override async onChatResponse({ status }: ChatResponseResult): Promise<void> {
    this.going.run.ended = status === "completed" ? "completed" : "stopped";
    this.going.over = true;
  }

  /** Runs a turn that begins with a message. */
  async say(text: string): Promise<string> {
    return (await this.runTurn({ input: text })).status;
  }

  /** Evicts the object from memory. */
  async evict(): Promise<void> {
    await this.ctx.storage.sync();
    this.ctx.abort("evicted by the test");
  }

  /** Wakes the object; Think then resumes an interrupted turn by itself. */
  async wake(): Promise<void> {}

  /** The result of each call in the conversation, and its last text. */
  async told(): Promise<{ answers: Record<string, string>; text: string | undefined }> {
    const answers: Record<string, string> = {};
    let text: string | undefined;
    for (const { role, parts } of await this.getMessages()) {
      if (role !== "assistant") continue;
      for (const part of parts) {
        if (part.type === "text") text = part.text;
        if (!("toolCallId" in part)) continue;
        if (part.state === "output-available") answers[part.toolCallId] = String(part.output);
        if (part.state === "output-error") answers[part.toolCallId] = part.errorText;
      }
    }
    return { answers, text };
  }
}

/** A guard whose options come from each agent's setup. */
const watching = createThinkGuard((agent: Bare): CloudflareOptions => agent.going.setup.options);

export class Watched extends watching.agent(Bare) {
  override async onChatResponse(result: ChatResponseResult): Promise<void> {
    this.going.run.halt = loopHalt(this);
    await super.onChatResponse(result);
  }

  override classifyChatError(error: unknown): undefined {
    this.going.cause = error;
  }

  answer(): void {
    this.loopGuard.acknowledge({ decision: "continue" });
  }

  kept(): string {
    return String(this.ctx.storage.kv.get("loopwarden") ?? "");
  }
}

/** An agent with its own hooks. */
class Hooked extends Bare {
  #calls = 0;

  override beforeToolCall(): ToolCallDecision | undefined {
    this.#calls += 1;
    return this.#calls === 1 ? { action: "block", reason: "not today" } : undefined;
  }

  override beforeStep({ messages }: PrepareStepContext): StepConfig {
    return { messages: [...messages, { role: "user", content: "Own words" }] } as StepConfig;
  }
}

export class Own extends watching.agent(Hooked) {}

/** An agent whose searches need approval and whose clicks are run by its client. */
export class Careful extends watching.agent(Bare) {
  override getTools(): ToolSet {
    const { search, ...tools } = super.getTools();
    return {
      ...tools,
      click: tool({ inputSchema }),
      ...(search && { search: { ...search, needsApproval: true } as ToolSet[string] }),
    };
  }
}

/** An agent whose storage rejects the guard's state only. */
class Full extends Bare {
  constructor(ctx: DurableObjectState, env: Env & Cloudflare.Env) {
    super(ctx, env);
    const { put } = ctx.storage.kv;
    ctx.storage.kv.put = (key, value) => {
      if (key === "loopwarden") throw new Error("the disk is full");
      put.call(ctx.storage.kv, key, value);
    };
  }
}

export class Forgetful extends watching.agent(Full) {}

/** Does what an `AIChatAgent` does in `onChatMessage`, in a plain object: its package is not a dependency. */
export class Chat extends DurableObject<Env> {
  async onChatMessage(text: string): Promise<number> {
    const { setup, run } = going.get(this.ctx.id.name ?? "") as Going;
    const state = this.ctx.storage.kv.get<string>("loopwarden");
    const guard = createLoopGuard({ ...setup.options, ...(state !== undefined && { state }) });
    const keep = () => this.ctx.storage.kv.put("loopwarden", guard.snapshot());
    const model = new MockLanguageModelV4({
      doStream: async ({ prompt }) => {
        run.prompts.push(JSON.parse(JSON.stringify(prompt)));
        const index = run.prompts.length - 1;
        return { stream: answer(setup.script[index] ?? { text: "done" }, index) };
      },
    });
    const execute = async (args: { q: string }) => runTool("search", args);
    const result = streamText({
      model: guard.model(model),
      messages: [{ role: "user", content: text }],
      tools: guard.tools({ search: tool({ inputSchema, execute }) }),
      prepareStep: guard.prepareStep(),
      stopWhen: [isStepCount(50), guard.stopWhen],
      onStepEnd: keep,
      onEnd: keep,
    });
    return (await result.steps).length;
  }

  async evict(): Promise<void> {
    await this.ctx.storage.sync();
    this.ctx.abort("evicted by the test");
  }
}

let runs = 0;

function begin(setup: Setup, name = `run-${runs++}`): { name: string; record: Going } {
  const run: Run = {
    prompts: [],
    executed: [],
    answers: {},
    text: undefined,
    ended: "completed",
    halt: undefined,
    state: "",
    memory: name,
  };
  const record: Going = { setup, run, turn: 0, over: false };
  going.set(name, record);
  return { name, record };
}

async function run(setup: Setup): Promise<Run> {
  const { name, record } = begin(setup, setup.from?.memory as string | undefined);
  const namespace = setup.bare ? bindings.Bare : bindings.Watched;
  const agent = namespace.getByName(name);
  if (setup.from) {
    // A promise of one request cannot be settled by another one, so this polls.
    for (let waited = 0; !record.over && waited < 30_000; waited += 50) {
      await agent.wake();
      await scheduler.wait(50);
    }
    assert.ok(record.over, "Think went on by itself");
  } else {
    try {
      await agent.say("Find it");
    } catch (error) {
      if (record.run.ended !== "died") throw error;
      return record.run;
    }
  }
  const { answers, text } = await agent.told();
  record.run.answers = answers;
  if (record.run.ended === "completed") record.run.text = text;
  if (!setup.bare) record.run.state = await bindings.Watched.getByName(name).kept();
  return record.run;
}

async function delegate(setup: Setup): Promise<Run> {
  let inner: Run | undefined;
  const main = begin({ ...setup, script: [{ calls: [{ tool: "hand", args: { q: "it" } }] }] });
  main.record.hand = async () => {
    inner = await run({ ...setup, options: { ...setup.options, agent: "worker" } });
    return inner.text ?? "nothing";
  };
  await bindings.Watched.getByName(main.name).say("Have it found");
  assert.ok(inner);
  return inner;
}

conformance("cloudflare", { run, delegate });
// Think streams every answer of a model.
streaming("cloudflare", { run });

const search: Turn = { calls: [{ tool: "search", args: { q: "oauth" } }] };
const times = (count: number, turn: Turn = search): Turn[] => Array.from({ length: count }, () => turn);

/** Polls for a condition: another request fulfils it, and promises of one request are not settled by another one. */
async function until(met: () => boolean): Promise<void> {
  for (let waited = 0; !met() && waited < 30_000; waited += 50) await scheduler.wait(50);
  assert.ok(met());
}

/** An object that stays alive between turns. */
function chat(script: Turn[], options: CloudflareOptions = {}) {
  const { name, record } = begin({ options, script, first: 0, bare: false });
  const agent = bindings.Watched.getByName(name);
  return { record, run: record.run, say: (text: string) => agent.say(text), agent };
}

test("cloudflare: a class without the hooks of Think is told so in words", () => {
  assert.throws(
    () => createThinkGuard().agent(DurableObject as never),
    /loopwarden\/cloudflare needs the class of an agent of `@cloudflare\/think`.*has no beforeTurn, beforeStep/,
  );
});

test("cloudflare: a human's message lifts a halt, an outer loop's does not", async () => {
  const human = chat([...times(9), { text: "Found it" }]);
  assert.equal(await human.say("Find it"), "error");
  assert.equal((human.run.halt as LoopHalt).rule, "repeated-call");
  assert.equal(human.record.cause, human.run.halt, "where errors are classified, it is not a text yet");
  assert.equal(await human.say("Look in the other folder"), "completed");
  assert.equal((await human.agent.told()).text, "Found it");

  const host = chat([...times(9), { text: "Found it" }], { prompts: "host" });
  await host.say("Find it");
  assert.equal(await host.say("Find it"), "error");
  assert.equal(host.run.prompts.length, 9, "the model is not even asked");
});

test("cloudflare: guidance that the model had not seen when the object died is given again", async () => {
  const common = { options: {}, bare: false };
  const first = await run({ ...common, script: times(3), first: 0, dieAfter: 3 });
  assert.deepEqual([first.executed.length, first.ended, first.prompts.length], [3, "died", 3]);
  const second = await run({ ...common, script: [], first: 3, from: first });
  assert.equal(second.ended, "completed");
  assert.match(JSON.stringify(second.prompts), /`search` was called 3 times/);
});

test("cloudflare: a halt outlives the object", async () => {
  const { run, say, agent } = chat(times(12), { prompts: "host" });
  await say("Find it");
  await agent.evict().catch(() => {});
  const again = bindings.Watched.getByName(run.memory as string);
  assert.equal(await again.say("Find it"), "error");
  assert.equal(run.prompts.length, 9);
  assert.ok(run.halt instanceof LoopHalt && run.halt.level === "halt");
});

test("cloudflare: a human's answer at a gate outlives the object", async () => {
  const rules = { "repeated-call": { nudge: 0, block: 0, halt: 0, gate: 9 } };
  const { run, say, agent } = chat(times(20), { prompts: "host", config: { rules } });
  await say("Find it");
  assert.equal((run.halt as LoopHalt).level, "gate");
  const asked = run.prompts.length;
  assert.equal(await say("Find it"), "error");
  assert.equal(run.prompts.length, asked, "nobody answered");
  await agent.answer();
  await agent.evict().catch(() => {});
  await bindings.Watched.getByName(run.memory as string).say("Find it");
  assert.ok(run.prompts.length > asked, "it goes on");
});

test("cloudflare: a message that repeats itself without end is cut off while it streams", async () => {
  const text = "Let me check the file again. ".repeat(2000);
  const { run, say, agent } = chat([{ text }]);
  assert.equal(await say("Find it"), "aborted");
  assert.equal((run.halt as LoopHalt).rule, "stream-period");
  const { text: kept = "" } = await agent.told();
  assert.ok(kept.length < text.length / 4, `${kept.length} of ${text.length} characters`);
});

test("cloudflare: calls that never reach a tool are seen", async () => {
  const { detector, events } = spied();
  const { say } = chat([{ calls: [{ tool: "missing", args: { q: "a" } }] }], { detector });
  assert.equal(await say("Find it"), "completed");
  const outcomes = events.flatMap((event) => (event.type === "tool-result" ? [event.outcome] : []));
  assert.deepEqual(outcomes, ["unknown-tool"]);
});

test("cloudflare: a call that waits for approval is no call yet, and is one when it is approved", async () => {
  const { detector, events } = spied();
  const { name, record } = begin({ options: { detector }, script: times(1), first: 0, bare: false });
  const agent = bindings.Careful.getByName(name);
  await agent.say("Find it");
  const types = () => events.map(({ type }) => type).filter((type) => type.startsWith("tool-"));
  assert.deepEqual([types(), record.run.executed], [[], []]);
  const { webSocket } = await agent.fetch("http://localhost/", { headers: { upgrade: "websocket" } });
  webSocket?.accept();
  const approval = { type: "cf_agent_tool_approval", toolCallId: callId(0), approved: true, autoContinue: true };
  webSocket?.send(JSON.stringify(approval));
  await until(() => record.run.executed.length > 0);
  assert.equal((await agent.told()).answers[callId(0)], "no results");
  webSocket?.close();
  assert.deepEqual([types(), record.run.executed], [["tool-call", "tool-result"], [callId(0)]]);
});

test("cloudflare: what a client runs is counted with its results", async () => {
  const { detector, events, verdicts } = spied();
  const script = times(3, { calls: [{ tool: "click", args: { q: "a" } }] });
  const { name, record } = begin({ options: { detector }, script, first: 0, bare: false });
  const agent = bindings.Careful.getByName(name);
  const calls = () => events.filter(({ type }) => type === "tool-call").length;
  await agent.say("Find it");
  const { webSocket } = await agent.fetch("http://localhost/", { headers: { upgrade: "websocket" } });
  webSocket?.accept();
  for (let call = 0; call < 3; call += 1) {
    const result = { type: "cf_agent_tool_result", toolCallId: callId(call), toolName: "click", output: "nothing" };
    webSocket?.send(JSON.stringify({ ...result, autoContinue: true }));
    // The call is seen at the end of the step, after the model's answer.
    await until(() => (call < 2 ? calls() === call + 2 : record.run.prompts.length === 4));
  }
  webSocket?.close();
  const types = events.map(({ type }) => type).filter((type) => type.startsWith("tool-"));
  assert.deepEqual(
    types,
    times(3).flatMap(() => ["tool-call", "tool-result"]),
  );
  assert.ok(verdicts.some(({ level }) => level === "nudge"));
  assert.match(JSON.stringify(record.run.prompts.at(-1)), /`click` was called 3 times/);
});

test("cloudflare: hooks of the class stay in force, and what they refuse is no answer of the tool", async () => {
  const { detector, events } = spied();
  const { name, record } = begin({ options: { detector }, script: times(4), first: 0, bare: false });
  const agent = bindings.Own.getByName(name);
  assert.equal(await agent.say("Find it"), "completed");
  assert.deepEqual(record.run.executed, [callId(1), callId(2), callId(3)]);
  assert.equal((await agent.told()).answers[callId(0)], "not today");
  assert.equal(events.filter(({ type }) => type === "tool-call").length, 4, "each is recorded once");
  assert.equal(events.filter(({ type }) => type === "tool-result").length, 4);
  assert.match(JSON.stringify(record.run.prompts.at(-1)), /Own words.*Loopwarden/);
});

test("cloudflare: storage that fails is one warning, and the agent is watched all the same", async () => {
  const warnings: string[] = [];
  const { name, record } = begin({
    options: { onWarning: (message) => warnings.push(message) },
    script: times(4),
    first: 0,
    bare: false,
  });
  assert.equal(await bindings.Forgetful.getByName(name).say("Find it"), "completed");
  assert.deepEqual(warnings, ["[Loopwarden] could not keep its state in the object: the disk is full"]);
  assert.match(JSON.stringify(record.run.prompts.at(-1)), /Loopwarden/);
});

test("cloudflare: an object that calls streamText itself keeps the state of loopwarden/ai-sdk", async () => {
  const levels: string[] = [];
  const options: AiSdkOptions = { prompts: "host", onVerdict: ({ level }) => levels.push(level) };
  const script = [search, { text: "Not found" }, search, { text: "Not found" }, search];
  const { name, record } = begin({ options, script, first: 0, bare: false });
  for (let request = 0; request < 3; request += 1) {
    const agent = bindings.Chat.getByName(name);
    assert.equal(await agent.onChatMessage("Find it"), 2);
    await agent.evict().catch(() => {});
  }
  assert.ok(levels.includes("nudge"), `the third call is the third: ${levels.join()}`);
  assert.match(JSON.stringify(record.run.prompts.at(-1)), /`search` was called 3 times/);
});

/** `GET` lists the tests; `POST` runs the one named in the body. */
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    bindings = env;
    if (request.method === "GET") return Response.json(cases.map(({ title, skip }) => ({ title, skip })));
    const title = await request.text();
    try {
      await (cases.find((found) => found.title === title) as Case).run();
      return new Response("passed");
    } catch (error) {
      return new Response(error instanceof Error ? (error.stack ?? error.message) : String(error), { status: 500 });
    }
  },
};
