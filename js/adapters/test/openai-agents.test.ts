import assert from "node:assert/strict";
import { test } from "node:test";
import {
  Agent,
  type AgentInputItem,
  type AgentOutputItem,
  handoff,
  MemorySession,
  RunState,
  run as runAgent,
  type StreamEvent,
  setTracingDisabled,
  ToolCallError,
  ToolInputGuardrailTripwireTriggered,
  tool,
  Usage,
} from "@openai/agents";
import { assistantMessage, functionCall, modelResponder, modelStream, ScriptedModel } from "@openai/agents/testing";
import * as z from "zod";
import { createLoopGuard, LoopHalt, type OpenAiAgentsGuard } from "../src/openai-agents.ts";
import { callId, conformance, type Run, runTool, type Setup, SPENT, spied, TOOLS, type Turn } from "./kit.ts";

setTracingDisabled(true);

class Died extends Error {}

/** The model's answer for one turn. */
function answer({ text, calls = [] }: Turn, turn: number): AgentOutputItem[] {
  return [
    ...(text === undefined ? [] : [assistantMessage(text, { id: `message-${turn}` })]),
    ...calls.map(({ tool, args }, index) => functionCall(tool, args, { callId: callId(turn, index) })),
  ];
}

/** A model that follows the script, then says "done", and dies after `dieAfter` answers. */
function scripted({ script, first, dieAfter }: Pick<Setup, "script" | "first" | "dieAfter">): ScriptedModel {
  const step = (_: unknown, turn: number) =>
    modelResponder(() => {
      if (turn === dieAfter) throw new Died();
      const { input: inputTokens, output: outputTokens } = SPENT;
      const usage = new Usage({ inputTokens, outputTokens, totalTokens: inputTokens + outputTokens });
      return { usage, output: answer(script[turn] ?? { text: "done" }, first + turn) };
    });
  return new ScriptedModel(Array.from({ length: script.length + 1 }, step));
}

const parameters = z.object({ q: z.string() });

/** The error function of an application that shows tool errors to the model. */
const told = (_: unknown, error: unknown) => (error instanceof Error ? error.message : "failed");

function tools(executed: string[], guard?: OpenAiAgentsGuard) {
  const errorFunction = guard ? guard.toolError(told) : told;
  return TOOLS.map((name) =>
    tool({
      name,
      description: name,
      parameters,
      errorFunction,
      execute: async (args, _, details) => {
        executed.push(details?.toolCall?.callId ?? "none");
        return runTool(name, args);
      },
    }),
  );
}

/** The results of calls in an input, as text, by call id. */
function answers(input: AgentInputItem[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const item of input) {
    if (item.type !== "function_call_result") continue;
    const { output } = item;
    found[item.callId] = typeof output === "string" ? output : "text" in output ? String(output.text) : "";
  }
  return found;
}

interface Memory {
  input: AgentInputItem[];
}

/** Runs the agent that `make` returns, with the scripted model for the scripted agent. */
async function go(setup: Setup, make: (model: ScriptedModel, guard?: OpenAiAgentsGuard) => Agent, executed: string[]) {
  const model = scripted(setup);
  const state = setup.from && { state: setup.from.state };
  // Agents are named by the SDK.
  const { agent: _, ...own } = setup.options;
  const shared = setup.shared ?? {};
  if (!setup.bare) shared.guard ??= createLoopGuard({ ...own, ...state });
  const guard = shared.guard as OpenAiAgentsGuard | undefined;
  const input = (setup.from?.memory as Memory | undefined)?.input ?? "Find it";
  const agent = make(model, guard);
  let [text, ended, halt]: [string | undefined, Run["ended"], unknown] = [undefined, "completed", undefined];
  let items: AgentInputItem[] = [];
  try {
    const options = { maxTurns: 100 };
    const result = guard
      ? await runAgent(guard.agent(agent), input, guard.options(options))
      : await runAgent(agent, input, options);
    text = result.finalOutput as string;
    items = result.history;
  } catch (error) {
    if (error instanceof Died) ended = "died";
    else if (error instanceof LoopHalt) [ended, halt] = ["stopped", error];
    else throw error;
  }
  const asked = model.calls.map(({ request }) => request.input as AgentInputItem[]);
  const last = asked.at(-1) ?? [];
  return {
    prompts: asked.map((input) => JSON.parse(JSON.stringify(input))),
    executed,
    answers: answers([...last, ...items]),
    text,
    ended,
    halt: halt ?? (setup.shared ? undefined : guard?.halted),
    state: guard?.snapshot() ?? "",
    memory: { input: last.map((item) => structuredClone(item)) },
  };
}

function run(setup: Setup): Promise<Run> {
  const executed: string[] = [];
  const make = (model: ScriptedModel, guard?: OpenAiAgentsGuard) =>
    new Agent({ name: "main", model, tools: tools(executed, guard) });
  return go(setup, make, executed);
}

function delegate(setup: Setup): Promise<Run> {
  const executed: string[] = [];
  const make = (model: ScriptedModel, guard?: OpenAiAgentsGuard) => {
    const worker = new Agent({ name: "worker", model, tools: tools(executed, guard) });
    const hand = new ScriptedModel([[functionCall("transfer_to_worker", {}, { callId: "hand" })]]);
    return new Agent({ name: "main", model: hand, handoffs: [worker] });
  };
  return go(setup, make, executed);
}

conformance("openai-agents", { run, delegate });

const search: Turn = { calls: [{ tool: "search", args: { q: "oauth" } }] };
const times = (count: number): Turn[] => Array.from({ length: count }, () => search);

test("openai-agents: a human's message lifts a halt, and an outer loop's does not", async () => {
  for (const prompts of ["human", "host"] as const) {
    const guard = createLoopGuard({ prompts });
    const model = scripted({ script: [...times(9), { text: "Found it" }], first: 0 });
    const agent = guard.agent(new Agent({ name: "main", model, tools: tools([]) }));
    const say = (text: string) => runAgent(agent, text, guard.options({ maxTurns: 50 }));
    await assert.rejects(say("Find it"), (error) => error instanceof LoopHalt && error.rule === "repeated-call");
    if (prompts === "human") {
      assert.equal((await say("Look in the other folder")).finalOutput, "Found it");
      assert.equal(guard.halted, undefined);
    } else {
      await assert.rejects(say("Find it"), LoopHalt);
      assert.equal(model.calls.length, 9, "the model is not even asked");
    }
  }
});

test("openai-agents: a streamed run is nudged, refused and ended as any other", async () => {
  const { detector, verdicts } = spied();
  const guard = createLoopGuard({ detector });
  const model = scripted({ script: times(40), first: 0 });
  const agent = guard.agent(new Agent({ name: "main", model, tools: tools([]) }));
  const stream = await runAgent(agent, "Find it", guard.options({ stream: true, maxTurns: 50 }));
  const events: string[] = [];
  await assert.rejects(async () => {
    for await (const event of guard.watch(stream)) events.push(event.type);
  }, LoopHalt);
  assert.ok(events.includes("run_item_stream_event"));
  const levels = new Set(verdicts.map(({ level }) => level));
  assert.ok(levels.has("nudge") && levels.has("block"));
  assert.equal(guard.halted?.haltReason, "stalled");
});

test("openai-agents: a message that repeats itself without end is cut off while it streams", async () => {
  const guard = createLoopGuard();
  let produced = 0;
  async function* babble(): AsyncGenerator<StreamEvent> {
    yield { type: "response_started" };
    for (; produced < 5000; produced++) yield { type: "output_text_delta", delta: "Let me check the file again. " };
  }
  const agent = guard.agent(new Agent({ name: "main", model: new ScriptedModel([modelStream(babble())]) }));
  const stream = await runAgent(agent, "Find it", guard.options({ stream: true }));
  let seen = 0;
  await assert.rejects(async () => {
    for await (const event of guard.watch(stream)) if (event.type === "raw_model_stream_event") seen += 1;
  }, LoopHalt);
  assert.ok(seen < 1000, `${seen} pieces`);
  assert.ok(stream.cancelled, "the run is cancelled, too");
  await stream.completed;
  assert.ok(produced < 5000, "the model is no longer read");
});

test("openai-agents: without the options of the run, a guardrail throws, and says why", async () => {
  const guard = createLoopGuard();
  const model = scripted({ script: times(40), first: 0 });
  const agent = guard.agent(new Agent({ name: "main", model, tools: tools([]) }));
  await assert.rejects(runAgent(agent, "Find it", { maxTurns: 50 }), (error) => {
    assert.ok(error instanceof ToolCallError && error.error instanceof ToolInputGuardrailTripwireTriggered);
    const { outputInfo } = error.error.result.output;
    return outputInfo instanceof LoopHalt && outputInfo === guard.halted;
  });
});

test("openai-agents: agents that hand the work to and fro are seen, whatever the form of the handoff", async () => {
  const { detector, events } = spied();
  const guard = createLoopGuard({ detector });
  let calls = 0;
  const handing = (to: string) =>
    new ScriptedModel(
      Array.from({ length: 40 }, () =>
        modelResponder(() => [functionCall(`transfer_to_${to}`, {}, { callId: `hand-${calls++}` })]),
      ),
    );
  const coder = new Agent({ name: "coder", model: handing("verifier") });
  const verifier = new Agent({ name: "verifier", model: handing("coder"), handoffs: [handoff(coder)] });
  coder.handoffs = [verifier];
  const go = (text: string) => runAgent(guard.agent(coder), text, guard.options({ maxTurns: 60 }));
  await assert.rejects(go("Find it"), LoopHalt);
  const deliveries = events.flatMap((event) => (event.type === "delivery" ? [`${event.from}>${event.to}`] : []));
  assert.deepEqual(deliveries.slice(0, 3), ["coder>verifier", "verifier>coder", "coder>verifier"]);
  assert.equal(events.filter(({ type }) => type === "tool-call").length, 0, "a handoff is not counted twice");
  assert.equal(guard.halted?.rule, "cycle-budget");
  const asked = calls;
  await assert.rejects(go("Once more"), LoopHalt);
  assert.ok(calls > asked, "a human's message lifted the halt");
  const humans = events.filter((event) => event.type === "message" && !event.synthetic);
  assert.equal(humans.length, 2, "and nothing else is a human's");
});

test("openai-agents: what no tool of ours ran is seen as well: unknown tools, and calls that a human denied", async () => {
  const { detector, events } = spied();
  const guard = createLoopGuard({ detector });
  const deploy = tool({
    name: "deploy",
    description: "deploy",
    parameters,
    needsApproval: true,
    execute: async () => "deployed",
  });
  const script = [{ calls: [{ tool: "nothing", args: {} }] }, { calls: [{ tool: "deploy", args: { q: "it" } }] }];
  const agent = guard.agent(new Agent({ name: "main", model: scripted({ script, first: 0 }), tools: [deploy] }));
  const options = guard.options({ toolNotFoundBehavior: "return_error_to_model" });
  const asked = await runAgent(agent, "Do it", options);
  const state = await RunState.fromString(agent, asked.state.toString());
  for (const item of asked.interruptions) state.reject(item);
  assert.equal((await runAgent(agent, state, options)).finalOutput, "done");
  const outcomes = events.flatMap((event) => (event.type === "tool-result" ? [[event.tool, event.outcome]] : []));
  assert.deepEqual(outcomes, [
    ["nothing", "unknown-tool"],
    ["deploy", "denied"],
  ]);
  assert.equal(events.filter(({ type }) => type === "tool-call").length, 2);
});

test("openai-agents: a session keeps the guidance, which is then not given twice and is no human's", async () => {
  const { detector, events } = spied();
  const guard = createLoopGuard({ detector });
  const session = new MemorySession();
  const model = scripted({ script: [...times(4), { text: "Not there" }, { text: "Found it" }], first: 0 });
  const agent = guard.agent(new Agent({ name: "main", model, tools: tools([]) }));
  const options = guard.options({ session });
  await runAgent(agent, "Find it", options);
  await runAgent(agent, "Look in the other folder", options);
  const said = model.calls.map(({ request }) => JSON.stringify(request.input).split("Loopwarden (loop").length - 1);
  assert.deepEqual(said, [0, 0, 0, 1, 1, 1]);
  const humans = events.flatMap((event) => (event.type === "message" && !event.synthetic ? [event] : []));
  assert.deepEqual(
    humans.flatMap(({ role, text }) => (role === "user" ? [text] : [])),
    ["Find it", "Look in the other folder"],
  );
});

test("openai-agents: a tool whose answers have a schema is not refused, since that would end the run untold", async () => {
  const { detector, verdicts } = spied();
  const guard = createLoopGuard({ detector });
  let executed = 0;
  const search = tool({
    name: "search",
    description: "search",
    parameters,
    outputSchema: z.object({ found: z.number() }),
    execute: async () => {
      executed += 1;
      return { found: 0 };
    },
  });
  const agent = guard.agent(
    new Agent({ name: "main", model: scripted({ script: times(40), first: 0 }), tools: [search] }),
  );
  await assert.rejects(runAgent(agent, "Find it", guard.options({ maxTurns: 100 })), LoopHalt);
  assert.ok(verdicts.some(({ level }) => level === "block"));
  assert.ok(executed > 5 && executed < 20, `${executed} ran`);
});

test("openai-agents: an agent that is run as a tool has rounds, guidance and an end of its own", async () => {
  const { detector, events } = spied();
  const guard = createLoopGuard({ detector });
  const inner = guard.scope({ agent: "worker" });
  const workers = scripted({ script: times(40), first: 0 });
  const worker = inner.agent(new Agent({ name: "worker", model: workers, tools: tools([]) }));
  const work = worker.asTool({
    toolName: "work",
    toolDescription: "work",
    runOptions: inner.options({ maxTurns: 50 }),
  });
  const script = [{ calls: [{ tool: "work", args: { input: "Find it" } }] }];
  const main = new Agent({ name: "main", model: scripted({ script, first: 100 }), tools: [work] });
  const result = await runAgent(guard.agent(main), "Have it found", guard.options({}));
  assert.equal(result.finalOutput, "done", "the main agent goes on");
  assert.deepEqual([inner.halted?.rule, guard.halted], ["repeated-call", undefined]);
  assert.equal(workers.calls.length, 9);
  const humans = events.filter((event) => event.type === "message" && event.role === "user" && !event.synthetic);
  assert.equal(humans.length, 1, "what an agent writes to another one is no human's word");
  const agents = events.flatMap((event) => (event.type === "tool-call" ? [event.agent] : []));
  assert.deepEqual(new Set(agents), new Set(["main", "worker"]));
});

test("openai-agents: the agent itself stays as it is, and its listeners hear", async () => {
  const guard = createLoopGuard();
  const agent = new Agent({ name: "main", model: scripted({ script: times(1), first: 0 }), tools: tools([]) });
  const heard: string[] = [];
  agent.on("agent_tool_end", (_, { name }, result) => heard.push(`${name}: ${result}`));
  agent.on("agent_end", (_, output) => heard.push(output));
  const twin = guard.agent(agent);
  assert.equal(guard.agent(agent), twin);
  assert.equal(guard.agent(twin), twin);
  await runAgent(twin, "Find it", guard.options({}));
  assert.deepEqual(heard, ["search: no results", "done"]);
  assert.deepEqual(
    agent.tools.map((tool) => tool.type === "function" && tool.inputGuardrails?.length),
    [0, 0, 0],
  );
});

test("openai-agents: a filter of yours goes first, and guidance is said once however often it is sent", async () => {
  const guard = createLoopGuard();
  const model = scripted({ script: [...times(3), { calls: [{ tool: "read", args: { q: "a" } }] }], first: 0 });
  const agent = guard.agent(new Agent({ name: "main", model, tools: tools([]) }));
  const options = guard.options({
    callModelInputFilter: ({ modelData }) => ({ ...modelData, instructions: "Be brief" }),
  });
  await runAgent(agent, "Find it", options);
  assert.ok(model.calls.every(({ request }) => request.systemInstructions === "Be brief"));
  const places = model.calls.map(({ request }) => {
    const input = request.input as AgentInputItem[];
    return input.flatMap((item, index) => (JSON.stringify(item).includes("Loopwarden (loop") ? [index] : []));
  });
  assert.deepEqual(places, [[], [], [], [7], [7]], "after the third result, and it stays there");
});
