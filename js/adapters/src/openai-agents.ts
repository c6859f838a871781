// The OpenAI Agents SDK: tool guardrails judge calls and results, the filter before each model call carries the
// guidance and ends the run, and the events of a streamed run are watched. Runs are identified by the SDK's run
// context.
import type {
  AgentInputItem,
  Agent as AgentOf,
  CallModelInputFilter,
  Handoff,
  RunContext,
  RunStreamEvent,
  Tool,
  ToolInputGuardrailDefinition,
  ToolOutputGuardrailDefinition,
} from "@openai/agents";
// A namespace import, so that an export missing in some version gives our error and not the module loader's.
import * as sdk from "@openai/agents";
import { LoopGuard } from "../../src/adapters/adapter.ts";
import { Guard, type GuardOptions, type LoopHalt } from "../../src/adapters/guard.ts";
import { checked, supported } from "../../src/adapters/options.ts";
import { type Request as AnyRequest, type AsyncLocal, asyncLocal, Requests } from "../../src/adapters/runs.ts";

export { type Guard, type GuardOptions, LoopHalt, type LoopHaltRecord } from "../../src/adapters/guard.ts";

/** The options of {@link createLoopGuard}. There is no `agent`: the agents' names come from the SDK. */
export interface OpenAiAgentsOptions extends Omit<GuardOptions, "agent"> {
  /**
   * Who writes the input of a run: a `human`, whose message ends the window and lifts a halt, or the `host`, such as an
   * outer loop that runs the agent repeatedly. Default `human`.
   */
  prompts?: "human" | "host";
}

// biome-ignore lint/suspicious/noExplicitAny: the SDK's own type for "any agent".
type AnyAgent = AgentOf<any, any>;
// biome-ignore lint/suspicious/noExplicitAny: the SDK's own type for "any tool".
type AnyTool = Tool<any>;
// biome-ignore lint/suspicious/noExplicitAny: a filter fits runs with any context.
type Filter = CallModelInputFilter<any>;
interface Filtered {
  callModelInputFilter?: Filter;
}
/** The SDK's type of a tool's `errorFunction`. */
type ErrorFunction = (
  context: RunContext,
  error: unknown,
  details?: { toolCall?: { callId: string } },
) => Promise<string> | string;
type Outcome = "error" | "invalid" | "timeout" | "denied" | "unknown-tool";

/** Maximum number of notes kept in the input. */
const NOTES = 32;
/** Maximum number of failed calls without a result: the result is never seen if the agent is unguarded. */
const FAILED = 1024;
/** The SDK's default answers to failed calls. */
const ANSWERS: [RegExp, Outcome][] = [
  [/^An error occurred while running the tool\. Please try again\.$/, "error"],
  [/^Tool '.*' timed out after \d+ms\.$/s, "timeout"],
  [/^Tool execution was not approved\.$/, "denied"],
  [/^Tool '.*' not found\.$/s, "unknown-tool"],
];

/** The SDK's factory of guardrail results. */
const answers = () => sdk.ToolGuardrailFunctionOutputFactory;

/** The guard of each run, by its context. */
const guards = new WeakMap<object, Guard>();

/**
 * Why Loopwarden ended a run; undefined if it did not.
 *
 * @param result the result of `run`, or the error that it threw.
 */
export function loopHalt(result: unknown): LoopHalt | undefined {
  // A run without `guard.options` ends with the SDK's error for a guardrail's tripwire.
  for (let cause = result, depth = 0; typeof cause === "object" && cause !== null && depth < 4; depth += 1) {
    if (cause instanceof Error && cause.name === "LoopHalt") return cause as LoopHalt;
    const { state, error, result: inner } = cause as { state?: unknown; error?: unknown; result?: { output?: Info } };
    if (inner?.output?.outputInfo instanceof Error) cause = inner.output.outputInfo;
    else if (error !== undefined) cause = error;
    else return guards.get(contextOf(state) ?? {})?.halted;
  }
  return undefined;
}

/** The output of a guardrail. */
interface Info {
  outputInfo?: unknown;
}

/**
 * Watches the runs of an agent and of those it hands off to.
 *
 * @example
 * const guard = createLoopGuard();
 * try {
 *   const result = await run(guard.agent(agent), input, guard.options({ maxTurns: 50 }));
 * } catch (error) {
 *   const halt = loopHalt(error);
 *   if (halt) console.error(halt.report);
 * }
 *
 * @throws {LoopwardenError} `invalid-config` for an invalid configuration or option, or an unsupported version.
 */
export function createLoopGuard(options: OpenAiAgentsOptions = {}): OpenAiAgentsGuard {
  const names = ["Agent", "ModelBehaviorError", "ToolGuardrailFunctionOutputFactory"];
  supported("openai-agents", "`@openai/agents` from 0.11 on", sdk, names);
  const foreign = { agent: "comes from the SDK: every event carries the name of the agent that acts" };
  return new OpenAiAgentsGuard(new Guard(checked(options, foreign)), options.prompts ?? "human");
}

/** The state of one run of the SDK. */
class Request implements AnyRequest {
  readonly guard: Guard;
  over = false;
  /** Whether the first model call of the run is still to come. */
  begins = true;
  /** The number of model requests so far, which tells rounds apart when there is no filter; -1 before the first. */
  requests = -1;
  /** Whether the model was called in this process, so that a new answer in the input belongs to this run. */
  asked = false;
  /** The agent whose model was called last, and whether it has handed off since. */
  last: { agent: string; handed: boolean } = { agent: "", handed: false };
  /** Ids of calls of the model's latest answer that were judged before they ran. */
  readonly ran = new Set<string>();
  /** Guidance and the id of the call whose result it follows: without a session, the SDK drops what a filter adds. */
  notes: { after: string; text: string }[] = [];
  /** Tokens already reported. */
  tokens: Tokens = { input: 0, output: 0, total: 0 };

  constructor(guard: Guard) {
    this.guard = guard;
  }

  /** Reports the tokens used since the last call. */
  used(context: RunContext | undefined): void {
    const { inputTokens: input = 0, outputTokens: output = 0, totalTokens: total = 0 } = context?.usage ?? {};
    const before = this.tokens;
    if (total <= before.total && input <= before.input) return;
    this.tokens = { input, output, total };
    this.guard.usage({ input: input - before.input, output: output - before.output, total: total - before.total });
  }
}

interface Tokens {
  input: number;
  output: number;
  total: number;
}

/** A guard for the OpenAI Agents SDK; see {@link createLoopGuard}. */
export class OpenAiAgentsGuard extends LoopGuard {
  readonly #prompts: "human" | "host";
  readonly #requests: Requests<Request>;
  /** Runs by their context. */
  readonly #known = new WeakMap<object, Request>();
  /** Run contexts by the host's context value. */
  readonly #contexts = new WeakMap<object, RunContext>();
  /** The current run context, where the runtime has async-local storage: tells apart filters of concurrent runs. */
  readonly #going: AsyncLocal<RunContext> | undefined = asyncLocal();
  /** The guarded clone of each agent; a clone maps to itself. */
  readonly #agents = new WeakMap<AnyAgent, AnyAgent>();
  /** Tools that already have the guardrails. */
  readonly #tools = new WeakSet<AnyTool>();
  /** Whether `options` was used, so that runs have the filter. */
  #filters = false;
  /** Outcomes of failed calls whose error went through {@link OpenAiAgentsGuard.toolError}, by call id. */
  readonly #failed = new Map<string, Outcome>();

  constructor(guard: Guard, prompts: "human" | "host" = "human") {
    super(guard);
    this.#prompts = prompts;
    this.#requests = new Requests(guard, (guard) => new Request(guard));
  }

  protected override current(): Guard {
    return this.#requests.latest?.guard ?? this.guard;
  }

  /**
   * A guard for an agent that runs as a tool: it shares the detector and has its own rounds, guidance and halt. Its
   * input is written by another agent, so it does not count as a human's.
   */
  scope(scope: { run?: string; agent?: string; task?: string }): OpenAiAgentsGuard {
    return new OpenAiAgentsGuard(this.guard.scope(scope), "host");
  }

  /** A clone of the agent whose tools are judged, including those of MCP servers and of the agents it hands off to. */
  agent<AGENT extends AnyAgent>(agent: AGENT): AGENT {
    if (!this.guard.enabled) return agent;
    const known = this.#agents.get(agent);
    if (known) return known as AGENT;
    const twin = agent.clone({}) as AGENT;
    this.#agents.set(agent, twin);
    this.#agents.set(twin, twin);
    const getAllTools = twin.getAllTools.bind(twin);
    twin.getAllTools = async (...args) => (await getAllTools(...args)).map((tool) => this.#judged(tool));
    twin.handoffs = agent.handoffs.map((to: AnyAgent | Handoff) =>
      to instanceof sdk.Agent
        ? this.agent(to)
        : to.clone({
            agent: this.agent(to.agent),
            onInvokeHandoff: async (context, args) => this.agent(await to.onInvokeHandoff(context, args)),
          }),
    );
    this.#listen(twin, agent);
    return twin;
  }

  /** Options of a run or a `Runner`: your own plus the filter that carries the guidance and ends the run. */
  options<const OPTIONS extends object>(own?: OPTIONS & Filtered): OPTIONS & Filtered {
    const options = { ...own } as OPTIONS & Filtered;
    return this.guard.enabled ? { ...options, callModelInputFilter: this.#filter(own?.callModelInputFilter) } : options;
  }

  /**
   * Wraps your `errorFunction` of a tool, because the SDK does not tell guardrails that its result is an error. The
   * SDK's default error texts are recognised without this.
   */
  toolError(own: ErrorFunction): ErrorFunction {
    return (context, error, details) => {
      const callId = details?.toolCall?.callId;
      if (callId !== undefined) {
        if (this.#failed.size >= FAILED) this.#failed.clear();
        this.#failed.set(callId, error instanceof sdk.ModelBehaviorError ? "invalid" : "error");
      }
      return own(context, error, details);
    };
  }

  /**
   * Watches the events of a streamed run and passes them on: a text that repeats itself is cut off while it streams by
   * throwing the {@link LoopHalt}. Optional: complete texts are judged without it.
   */
  async *watch<EVENT extends RunStreamEvent>(events: AsyncIterable<EVENT>): AsyncGenerator<EVENT, void> {
    for await (const event of events) {
      yield event;
      if (event.type !== "raw_model_stream_event" || event.data.type !== "output_text_delta") continue;
      const context = contextOf((events as { state?: unknown }).state) ?? this.#going?.getStore();
      const request = (context && this.#known.get(context)) ?? this.#requests.only();
      if (!request) continue;
      const ruling = request.guard.delta(event.data.delta, "text", request.last.agent);
      if (ruling.action === "halt") throw ruling.halt;
    }
  }

  /** The run of a context; begins one if the context is new. */
  #of(context: RunContext, input: readonly AgentInputItem[] = []): Request {
    const known = this.#known.get(context);
    if (known) return this.#requests.goesOn(known);
    const last = input.at(-1);
    const human = this.#prompts === "human" && (!last || ("role" in last && last.role === "user"));
    const callIds = input.flatMap((item) => callIdOf(item) ?? []);
    const request = this.#requests.begin(callIds, human);
    this.#known.set(context, request);
    guards.set(context, request.guard);
    return request;
  }

  /** The run context in which a filter is called; the filter only gets the value inside it. */
  #contextOf(value: unknown): RunContext | undefined {
    const going = this.#going?.getStore();
    if (going && going.context === value) return going;
    return typeof value === "object" && value !== null ? this.#contexts.get(value) : undefined;
  }

  #filter(own: Filter | undefined): Filter {
    this.#filters = true;
    return async (call) => {
      const { input } = call.modelData;
      const { name: agent } = call.agent;
      const context = this.#contextOf(call.context);
      const request = context
        ? this.#of(context, input)
        : (this.#requests.caller(input.flatMap((item) => callIdOf(item) ?? [])) ??
          this.#requests.only() ??
          this.#requests.begin([], this.#prompts === "human"));
      request.used(context);
      this.#heard(request, input, agent);
      request.last = { agent, handed: false };
      request.ran.clear();
      const { guard } = request;
      if (guard.halted) {
        request.over = true;
        throw guard.halted;
      }
      const text = guard.guidance();
      if (text !== undefined) request.notes.push({ after: callIdOf(input.at(-1)) ?? "", text });
      if (request.notes.length > NOTES) request.notes.shift();
      const given = own ? await own(call) : call.modelData;
      guard.turn();
      request.asked = true;
      return { ...given, input: this.#noted(request, given.input, text) };
    };
  }

  /**
   * Reports what is new since the last model call: texts, calls that no judged tool ran, results, and the user's input.
   */
  #heard(request: Request, input: AgentInputItem[], agent: string): void {
    const { guard } = request;
    const by = request.last.agent || agent;
    const results = input.findLastIndex((item) => isAnswer(item)) + 1;
    const before = input.slice(0, results).findLastIndex((item) => !isAnswer(item)) + 1;
    if (request.asked && !request.begins) {
      for (const item of input.slice(before, results)) {
        const reasoning = item.type === "reasoning";
        const text = (reasoning || isAssistant(item)) && "content" in item ? textOf(item.content) : "";
        if (text !== "") guard.message("assistant", text, { agent: by, ...(reasoning && { channel: "reasoning" }) });
        const callId = callIdOf(item);
        // After a handoff, a call that was not judged is the handoff itself.
        if (callId === undefined || !isCall(item) || request.ran.has(callId) || request.last.handed) continue;
        guard.beforeCall({ tool: toolOf(item), callId, agent: by, settled: true, ...argsOf(item) });
      }
    }
    for (const item of input.slice(results)) {
      const callId = callIdOf(item);
      if (callId === undefined) continue;
      this.#result(request, toolOf(item), callId, "output" in item ? textOf(item.output) : "", by);
    }
    const last = input.at(-1);
    if (request.begins && last && "role" in last && last.role === "user") {
      guard.message("user", textOf(last.content), { agent, synthetic: this.#prompts === "host" });
    }
    request.begins = false;
  }

  #result(request: Request, tool: string, callId: string, output: unknown, agent: string): void {
    const known = ANSWERS.find(([answer]) => typeof output === "string" && answer.test(output))?.[1];
    const outcome = this.#failed.get(callId) ?? known;
    this.#failed.delete(callId);
    request.guard.afterCall({ tool, callId, agent, output, ...(outcome && { outcome }) });
  }

  /** Inserts guidance into the input where it was first given; `now` goes to the end. */
  #noted(request: Request, input: AgentInputItem[], now: string | undefined): AgentInputItem[] {
    const noted: AgentInputItem[] = [];
    // A session keeps what a filter adds.
    const kept = new Set(input.map((item) => ("role" in item && item.role === "user" ? textOf(item.content) : "")));
    const notes = request.notes.filter(({ text }) => text !== now && !kept.has(text));
    for (const item of input) {
      noted.push(item);
      const callId = isCall(item) ? undefined : callIdOf(item);
      if (callId === undefined) continue;
      for (const { after, text } of notes) if (after === callId) noted.push(note(text));
    }
    if (now !== undefined) noted.push(note(now));
    return noted;
  }

  #judged(tool: AnyTool): AnyTool {
    if (tool.type !== "function" || this.#tools.has(tool)) return tool;
    const { inputGuardrails = [], outputGuardrails = [], outputSchema, errorFunction } = tool;
    // A refusal has to match the output schema, or the SDK ends the run.
    const refusable = outputSchema === undefined || typeof errorFunction === "function";
    // The SDK recognises a tool made of an agent by object identity, so it must not be copied.
    const judged = "on" in tool ? tool : { ...tool };
    this.#tools.add(judged);
    judged.inputGuardrails = [...inputGuardrails, this.#before(refusable)];
    judged.outputGuardrails = [this.#after, ...outputGuardrails];
    return judged;
  }

  #before(refusable: boolean): ToolInputGuardrailDefinition<unknown> {
    const run: ToolInputGuardrailDefinition<unknown>["run"] = async ({ agent, toolCall, context }) => {
      // The tool may also belong to an unguarded agent.
      if (!this.#agents.has(agent)) return answers().allow();
      const request = this.#of(context);
      const { requests } = context.usage;
      if (!this.#filters && requests !== request.requests) {
        request.requests = requests;
        request.ran.clear();
        request.used(context);
        request.guard.turn();
      }
      const { name: tool, callId, arguments: input } = toolCall;
      request.ran.add(callId);
      this.#requests.called(request, callId);
      const call = { tool, callId, agent: agent.name, ...parsed(input) };
      const ruling = request.guard.beforeCall(refusable ? call : { ...call, settled: true });
      if (ruling.action === "halt" && !this.#filters) return answers().throwException(ruling.halt);
      if (!refusable) return answers().allow();
      if (ruling.action === "block") return answers().rejectContent(ruling.text, ruling.finding);
      return ruling.action === "halt" ? answers().rejectContent(ruling.text, ruling.halt) : answers().allow();
    };
    return { type: "tool_input", name: "Loopwarden", run };
  }

  readonly #after: ToolOutputGuardrailDefinition<unknown> = {
    type: "tool_output",
    name: "Loopwarden",
    run: async ({ agent, toolCall: { name, callId }, output, context }) => {
      if (this.#agents.has(agent)) this.#result(this.#of(context), name, callId, output, agent.name);
      return answers().allow();
    },
  };

  /** Follows the events of the clone and forwards them to the listeners of the original agent. */
  #listen(twin: AnyAgent, agent: AnyAgent): void {
    twin.on("agent_start", (...args) => {
      const [context] = args;
      if (typeof context.context === "object" && context.context !== null) this.#contexts.set(context.context, context);
      this.#going?.enterWith(context);
      agent.emit("agent_start", ...args);
    });
    twin.on("agent_handoff", (context, to) => {
      const request = this.#of(context);
      request.last = { agent: agent.name, handed: true };
      request.guard.handoff(agent.name, to.name);
      agent.emit("agent_handoff", context, to);
    });
    twin.on("agent_end", (context, output) => {
      const request = this.#of(context);
      request.used(context);
      // If the run ended with a tool's result, the output is not a text of the model.
      if (request.ran.size === 0) request.guard.message("assistant", output, { agent: agent.name });
      request.over = true;
      agent.emit("agent_end", context, output);
    });
    twin.on("agent_tool_start", (...args) => agent.emit("agent_tool_start", ...args));
    twin.on("agent_tool_end", (...args) => agent.emit("agent_tool_end", ...args));
  }
}

/** The run context in the state of a run. */
function contextOf(state: unknown): RunContext | undefined {
  const { _context: context } = (state ?? {}) as { _context?: RunContext };
  return typeof context === "object" ? context : undefined;
}

function note(text: string): AgentInputItem {
  return { type: "message", role: "user", content: text };
}

function callIdOf(item: AgentInputItem | undefined): string | undefined {
  return item && "callId" in item && typeof item.callId === "string" ? item.callId : undefined;
}

function isAssistant(item: AgentInputItem): boolean {
  return "role" in item && item.role === "assistant";
}

/** Whether the item is part of a model's answer. */
function isAnswer(item: AgentInputItem): boolean {
  return item.type === "reasoning" || isAssistant(item) || isCall(item);
}

/** Whether the item is a call of any kind of tool: `function_call`, `shell_call`, `hosted_tool_call`. */
function isCall({ type }: AgentInputItem): boolean {
  return type?.endsWith("_call") === true;
}

function toolOf(item: AgentInputItem): string {
  if ("name" in item && typeof item.name === "string") return item.name;
  return (item.type ?? "").replace(/_call(_result|_output)?$/, "");
}

function argsOf(item: AgentInputItem): { args: unknown } | { rawArgs: string } {
  if ("arguments" in item && typeof item.arguments === "string") return parsed(item.arguments);
  return { args: "action" in item ? item.action : "operation" in item ? item.operation : {} };
}

function parsed(input: string): { args: unknown } | { rawArgs: string } {
  try {
    return { args: JSON.parse(input) };
  } catch {
    return { rawArgs: input };
  }
}

/** The text of a content or an output of any shape. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(textOf).join("");
  return typeof content === "object" && content !== null && "text" in content ? textOf(content.text) : "";
}
