// The OpenAI Agents SDK: tool guardrails judge calls and results, the filter before each model call carries the
// guidance and ends the run, and the events of a streamed run are watched.
import {
  Agent,
  type AgentInputItem,
  type CallModelInputFilter,
  type Handoff,
  ModelBehaviorError,
  type RunContext,
  type RunStreamEvent,
  type Tool,
  ToolGuardrailFunctionOutputFactory,
  type ToolInputGuardrailDefinition,
  type ToolOutputGuardrailDefinition,
} from "@openai/agents";
import { Guard, type GuardOptions, type LoopHalt } from "./guard.ts";

export { type Guard, type GuardOptions, LoopHalt, type LoopHaltRecord } from "./guard.ts";

/** The agents' names come from the SDK, so there is no `agent` here. */
export interface OpenAiAgentsOptions extends Omit<GuardOptions, "agent"> {
  /**
   * Who writes the input of a run: a `human`, whose message ends the window and lifts a halt, or the `host`, such as an
   * outer loop that runs the agent again and again. Default `human`.
   */
  prompts?: "human" | "host";
}

// biome-ignore lint/suspicious/noExplicitAny: the SDK's own type for "any agent".
type AnyAgent = Agent<any, any>;
// biome-ignore lint/suspicious/noExplicitAny: the SDK's own type for "any tool".
type AnyTool = Tool<any>;
// biome-ignore lint/suspicious/noExplicitAny: a filter fits runs with any context.
type Filter = CallModelInputFilter<any>;
interface Filtered {
  callModelInputFilter?: Filter;
}
/** As the SDK types the `errorFunction` of a tool. */
type ErrorFunction = (
  context: RunContext,
  error: unknown,
  details?: { toolCall?: { callId: string } },
) => Promise<string> | string;
type Outcome = "error" | "invalid" | "timeout" | "denied" | "unknown-tool";

/** Notes that are kept in the input, at most. */
const NOTES = 32;
/** Failed calls whose result has not been seen, at most: tools may be those of an unguarded agent, too. */
const FAILED = 1024;
/** What the SDK answers itself where a call failed, and nobody said what to answer. */
const ANSWERS: [RegExp, Outcome][] = [
  [/^An error occurred while running the tool\. Please try again\.$/, "error"],
  [/^Tool '.*' timed out after \d+ms\.$/s, "timeout"],
  [/^Tool execution was not approved\.$/, "denied"],
  [/^Tool '.*' not found\.$/s, "unknown-tool"],
];
const { allow, rejectContent, throwException } = ToolGuardrailFunctionOutputFactory;

/**
 * Watches the runs of an agent and of those it hands off to.
 *
 * @example
 * const guard = createLoopGuard();
 * try {
 *   const result = await run(guard.agent(agent), input, guard.options({ maxTurns: 50 }));
 * } catch (error) {
 *   if (error instanceof LoopHalt) console.error(error.report);
 * }
 *
 * @throws {LoopwardenError} `invalid-config`, for a configuration that is wrong.
 */
export function createLoopGuard(options: OpenAiAgentsOptions = {}): OpenAiAgentsGuard {
  return new OpenAiAgentsGuard(new Guard(options), options.prompts ?? "human");
}

export class OpenAiAgentsGuard {
  /** What is behind it: the detector, state, a human's answers. */
  readonly guard: Guard;
  readonly #prompts: "human" | "host";
  /** The guarded twin of each agent, and each twin's own. */
  readonly #agents = new WeakMap<AnyAgent, AnyAgent>();
  readonly #tools = new WeakSet<AnyTool>();
  /** A run began, and its first model call has not come yet. */
  #begins = false;
  /** An agent handed the work on, and the next one has not started yet. */
  #passing = false;
  /** Whether the runs have the filter. Without it, the number of requests tells rounds apart. */
  #filters = false;
  #requests = -1;
  /** The model was asked in this process, so that what is new in its answer is not of an earlier one. */
  #asked = false;
  /** The agent that was asked last, and whether it handed the work on since. */
  #last: { agent: string; handed: boolean } = { agent: "", handed: false };
  /** Calls of the model's latest answer that were judged before they ran. */
  readonly #ran = new Set<string>();
  /** Outcomes of calls whose tool told its own error, by call id. */
  readonly #failed = new Map<string, Outcome>();
  /** Guidance and the call whose answer it follows: without a session, the SDK forgets what a filter adds. */
  #notes: { after: string; text: string }[] = [];

  constructor(guard: Guard, prompts: "human" | "host" = "human") {
    this.guard = guard;
    this.#prompts = prompts;
  }

  /** Why the run ended, if Loopwarden ended it. */
  get halted(): LoopHalt | undefined {
    return this.guard.halted;
  }

  /**
   * A guard for an agent that is run as a tool: the same detector, its own rounds, guidance and end. Its input is
   * written by another agent, so it is no human's.
   */
  scope(scope: { run?: string; agent?: string; task?: string }): OpenAiAgentsGuard {
    return new OpenAiAgentsGuard(this.guard.scope(scope), "host");
  }

  /** State as text that is safe in JSON: give it back as `state`, or to {@link OpenAiAgentsGuard.restore}. */
  snapshot(): string {
    return this.guard.snapshot();
  }

  restore(state: string): boolean {
    return this.guard.restore(state);
  }

  /** The same agent, whose tools are judged, MCP servers' too, and so are those of all agents it hands off to. */
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
      to instanceof Agent
        ? this.agent(to)
        : to.clone({
            agent: this.agent(to.agent),
            onInvokeHandoff: async (context, args) => this.agent(await to.onInvokeHandoff(context, args)),
          }),
    );
    this.#listen(twin, agent);
    return twin;
  }

  /** Options of a run, or of a `Runner`: yours, and the filter that carries the guidance and ends the run. */
  options<const OPTIONS extends object>(own?: OPTIONS & Filtered): OPTIONS & Filtered {
    const options = { ...own } as OPTIONS & Filtered;
    return this.guard.enabled ? { ...options, callModelInputFilter: this.#filter(own?.callModelInputFilter) } : options;
  }

  /**
   * Your `errorFunction` of a tool, which the SDK calls without telling guardrails that its answer is an error. The
   * SDK's standard answer is known without this.
   */
  toolError(own: ErrorFunction): ErrorFunction {
    return (context, error, details) => {
      const callId = details?.toolCall?.callId;
      if (callId !== undefined) {
        if (this.#failed.size >= FAILED) this.#failed.clear();
        this.#failed.set(callId, error instanceof ModelBehaviorError ? "invalid" : "error");
      }
      return own(context, error, details);
    };
  }

  /**
   * The same events of a streamed run, watched: a text that repeats itself without end is cut off while it streams,
   * with the {@link LoopHalt} thrown. Optional; whole texts are judged without it.
   */
  async *watch<EVENT extends RunStreamEvent>(events: AsyncIterable<EVENT>): AsyncGenerator<EVENT, void> {
    for await (const event of events) {
      yield event;
      if (event.type !== "raw_model_stream_event" || event.data.type !== "output_text_delta") continue;
      const ruling = this.guard.delta(event.data.delta, "text", this.#last.agent);
      if (ruling.action === "halt") throw ruling.halt;
    }
  }

  #filter(own: Filter | undefined): Filter {
    this.#filters = true;
    return async (call) => {
      const { input } = call.modelData;
      const { name: agent } = call.agent;
      this.#heard(input, agent);
      this.#last = { agent, handed: false };
      this.#ran.clear();
      if (this.guard.halted) throw this.guard.halted;
      const text = this.guard.guidance();
      if (text !== undefined) this.#notes.push({ after: callIdOf(input.at(-1)) ?? "", text });
      if (this.#notes.length > NOTES) this.#notes.shift();
      const given = own ? await own(call) : call.modelData;
      this.guard.turn();
      this.#asked = true;
      return { ...given, input: this.#noted(given.input, text) };
    };
  }

  /** What is new since the model was asked: results, texts, calls that no tool of ours ran, and a human's message. */
  #heard(input: AgentInputItem[], agent: string): void {
    const by = this.#last.agent || agent;
    const results = input.findLastIndex((item) => isAnswer(item)) + 1;
    const before = input.slice(0, results).findLastIndex((item) => !isAnswer(item)) + 1;
    if (this.#asked && !this.#begins) {
      for (const item of input.slice(before, results)) {
        const reasoning = item.type === "reasoning";
        const text = (reasoning || isAssistant(item)) && "content" in item ? textOf(item.content) : "";
        if (text !== "")
          this.guard.message("assistant", text, { agent: by, ...(reasoning && { channel: "reasoning" }) });
        const callId = callIdOf(item);
        // A call that was not judged is a handoff where the work was handed on.
        if (callId === undefined || !isCall(item) || this.#ran.has(callId) || this.#last.handed) continue;
        this.guard.beforeCall({ tool: toolOf(item), callId, agent: by, settled: true, ...argsOf(item) });
      }
    }
    for (const item of input.slice(results)) {
      const callId = callIdOf(item);
      if (callId !== undefined) this.#result(toolOf(item), callId, "output" in item ? textOf(item.output) : "", by);
    }
    const last = input.at(-1);
    if (this.#begins && last && "role" in last && last.role === "user") {
      this.guard.message("user", textOf(last.content), { agent, synthetic: this.#prompts === "host" });
    }
    this.#begins = false;
  }

  #result(tool: string, callId: string, output: unknown, agent: string): void {
    const known = ANSWERS.find(([answer]) => typeof output === "string" && answer.test(output))?.[1];
    const outcome = this.#failed.get(callId) ?? known;
    this.#failed.delete(callId);
    this.guard.afterCall({ tool, callId, agent, output, ...(outcome && { outcome }) });
  }

  /** The input with the guidance where it was first given, which is its end for `now`. */
  #noted(input: AgentInputItem[], now: string | undefined): AgentInputItem[] {
    const noted: AgentInputItem[] = [];
    // A session does keep what a filter adds.
    const kept = new Set(input.map((item) => ("role" in item && item.role === "user" ? textOf(item.content) : "")));
    const notes = this.#notes.filter(({ text }) => text !== now && !kept.has(text));
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
    // A refusal has to fit the schema, or the SDK ends the run.
    const refusable = outputSchema === undefined || typeof errorFunction === "function";
    // The SDK knows an agent's tool by its identity, which a copy has not.
    const judged = "on" in tool ? tool : { ...tool };
    this.#tools.add(judged);
    judged.inputGuardrails = [...inputGuardrails, this.#before(refusable)];
    judged.outputGuardrails = [this.#after, ...outputGuardrails];
    return judged;
  }

  #before(refusable: boolean): ToolInputGuardrailDefinition<unknown> {
    const run: ToolInputGuardrailDefinition<unknown>["run"] = async ({ agent, toolCall, context }) => {
      // An agent's tool may be one of an unguarded agent, too.
      if (!this.#agents.has(agent)) return allow();
      const { requests } = context.usage;
      if (!this.#filters && requests !== this.#requests) {
        this.#requests = requests;
        this.#ran.clear();
        this.guard.turn();
      }
      const { name: tool, callId, arguments: input } = toolCall;
      this.#ran.add(callId);
      const call = { tool, callId, agent: agent.name, ...parsed(input) };
      const ruling = this.guard.beforeCall(refusable ? call : { ...call, settled: true });
      if (ruling.action === "halt" && !this.#filters) return throwException(ruling.halt);
      if (!refusable) return allow();
      if (ruling.action === "block") return rejectContent(ruling.text, ruling.finding);
      return ruling.action === "halt" ? rejectContent(ruling.text, ruling.halt) : allow();
    };
    return { type: "tool_input", name: "Loopwarden", run };
  }

  readonly #after: ToolOutputGuardrailDefinition<unknown> = {
    type: "tool_output",
    name: "Loopwarden",
    run: async ({ agent, toolCall: { name, callId }, output }) => {
      if (this.#agents.has(agent)) this.#result(name, callId, output, agent.name);
      return allow();
    },
  };

  /** Listeners of the agent itself hear its twin. */
  #listen(twin: AnyAgent, agent: AnyAgent): void {
    twin.on("agent_start", (...args) => {
      this.#begins = !this.#passing;
      this.#passing = false;
      agent.emit("agent_start", ...args);
    });
    twin.on("agent_handoff", (context, to) => {
      this.#passing = true;
      this.#last = { agent: agent.name, handed: true };
      this.guard.handoff(agent.name, to.name);
      agent.emit("agent_handoff", context, to);
    });
    twin.on("agent_end", (context, output) => {
      // Where a tool's answer is the last word, it is no text of the model's.
      if (this.#ran.size === 0) this.guard.message("assistant", output, { agent: agent.name });
      agent.emit("agent_end", context, output);
    });
    twin.on("agent_tool_start", (...args) => agent.emit("agent_tool_start", ...args));
    twin.on("agent_tool_end", (...args) => agent.emit("agent_tool_end", ...args));
  }
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

/** Whether it is of the model's making. */
function isAnswer(item: AgentInputItem): boolean {
  return item.type === "reasoning" || isAssistant(item) || isCall(item);
}

/** A call of whatever tool: `function_call`, `shell_call`, `hosted_tool_call`. */
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

/** The text in a content or an output, whatever its shape. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(textOf).join("");
  return typeof content === "object" && content !== null && "text" in content ? textOf(content.text) : "";
}
