// The Vercel AI SDK: tools are wrapped to judge calls and their results, `prepareStep` carries the guidance, `stopWhen`
// ends the run, and a wrapped model is watched while it streams.
import {
  InvalidToolInputError,
  type ModelMessage,
  NoSuchToolError,
  type PrepareStepFunction,
  type StepResult,
  type StopCondition,
  type ToolSet,
  wrapLanguageModel,
} from "ai";
import { Guard, type GuardOptions, type LoopHalt } from "./guard.ts";

export { type Guard, type GuardOptions, LoopHalt, type LoopHaltRecord } from "./guard.ts";

export interface AiSdkOptions extends GuardOptions {
  /**
   * Who writes the prompts: a `human`, whose message ends the window and lifts a halt, or the `host`, such as an outer
   * loop that calls the agent again and again. Default `human`.
   */
  prompts?: "human" | "host";
}

type Model = Parameters<typeof wrapLanguageModel>[0]["model"];
type WrappedModel = ReturnType<typeof wrapLanguageModel>;
type Execute = (input: unknown, options: { toolCallId: string; messages: ModelMessage[] }) => unknown;
type ToModelOutput = (options: { toolCallId: string; input: unknown; output: unknown }) => unknown;
/** What the functions of a step have in common, whatever its tools are. */
// biome-ignore lint/suspicious/noExplicitAny: the SDK's own type for "any tools" in conditions that fit every call.
type AnyStep = StepResult<any, any>;

/**
 * Watches one agent of the AI SDK.
 *
 * @example
 * const guard = createLoopGuard();
 * const result = await generateText({
 *   model,
 *   prompt,
 *   tools: guard.tools(tools),
 *   prepareStep: guard.prepareStep(),
 *   stopWhen: [isStepCount(50), guard.stopWhen],
 * });
 * if (guard.halted) console.error(guard.halted.report);
 *
 * @throws {LoopwardenError} `invalid-config`, for a configuration that is wrong.
 */
export function createLoopGuard(options: AiSdkOptions = {}): AiSdkGuard {
  return new AiSdkGuard(new Guard(options), options.prompts ?? "human");
}

export class AiSdkGuard {
  /** What is behind it: the detector, state, a human's answers. */
  readonly guard: Guard;
  readonly #prompts: "human" | "host";
  /** The prompt of the step that runs: the calls of one step share it, which makes them a round. */
  #prompt: ModelMessage[] | undefined;
  /** A watched model began a round whose calls have not come yet. */
  #fresh = false;
  #watchesModel = false;
  /** Calls of the step that runs, reported when they ran. */
  readonly #ran = new Set<string>();
  /** Tools that the client runs: a request ends with their calls, and the next one brings the results. */
  readonly #clients = new Set<string>();
  /** Calls whose answer is ours and not the tool's. */
  readonly #refused = new Map<string, string>();
  readonly #observed = new WeakSet<object>();

  constructor(guard: Guard, prompts: "human" | "host" = "human") {
    this.guard = guard;
    this.#prompts = prompts;
  }

  /** Why the run ended, if Loopwarden ended it. */
  get halted(): LoopHalt | undefined {
    return this.guard.halted;
  }

  /** A guard for a sub-agent: the same detector, its own rounds, guidance and end. */
  scope(scope: { run?: string; agent?: string; task?: string }): AiSdkGuard {
    return new AiSdkGuard(this.guard.scope(scope), this.#prompts);
  }

  /** State as text that is safe in JSON: give it back as `state`, or to {@link AiSdkGuard.restore}. */
  snapshot(): string {
    return this.guard.snapshot();
  }

  restore(state: string): boolean {
    return this.guard.restore(state);
  }

  /** The same tools, judged: a blocked call is answered with the guidance instead of being run. */
  tools<TOOLS extends ToolSet>(tools: TOOLS): TOOLS {
    if (!this.guard.enabled) return tools;
    const wrapped = Object.entries(tools).map(([name, tool]) => {
      const { execute, toModelOutput } = tool as { execute?: Execute; toModelOutput?: ToModelOutput };
      if (!execute) {
        this.#clients.add(name);
        return [name, tool];
      }
      const judged: Execute = (input, options) => this.#execute(name, input, options, execute.bind(tool));
      // The tool's own conversion knows nothing of our text.
      const told: ToModelOutput | undefined =
        toModelOutput &&
        ((options) => {
          const text = this.#refused.get(options.toolCallId);
          return text === undefined ? toModelOutput.call(tool, options) : { type: "text", value: text };
        });
      return [name, { ...tool, execute: judged, ...(told && { toModelOutput: told }) }];
    });
    return Object.fromEntries(wrapped);
  }

  /**
   * Puts guidance before the model, after your own `prepareStep` if there is one. A run that goes on although it was
   * halted, because `stopWhen` is missing, ends here: it throws the {@link LoopHalt}.
   */
  // biome-ignore lint/suspicious/noExplicitAny: it passes your runtime context on, whatever its type is.
  prepareStep<TOOLS extends ToolSet>(own?: PrepareStepFunction<TOOLS, any>): PrepareStepFunction<TOOLS, any> {
    return async (options) => {
      if (this.guard.enabled) {
        if (options.stepNumber === 0) this.#opened(options.messages);
        this.#observe(options.steps);
        if (this.guard.halted) throw this.guard.halted;
      }
      const prepared = await own?.(options);
      const text = this.guard.guidance();
      if (text === undefined) return prepared;
      return { ...prepared, messages: [...(prepared?.messages ?? options.messages), { role: "user", content: text }] };
    };
  }

  /** Ends the run once it is halted. Use it beside your own conditions: `stopWhen: [isStepCount(50), guard.stopWhen]`. */
  // biome-ignore lint/suspicious/noExplicitAny: as the SDK's own conditions, it fits every call.
  readonly stopWhen: StopCondition<any, any> = ({ steps }) => {
    this.#observe(steps);
    return this.guard.halted !== undefined;
  };

  /**
   * The same model, whose texts are watched, piece by piece while they stream: a message that repeats itself without end
   * is cut off with the {@link LoopHalt} as the stream's error. Optional; without it only whole texts between calls are seen.
   */
  model(model: Model): WrappedModel {
    if (!this.guard.enabled) return wrapLanguageModel({ model, middleware: [] });
    this.#watchesModel = true;
    const begin = () => {
      this.guard.turn();
      this.#fresh = true;
    };
    return wrapLanguageModel({
      model,
      middleware: {
        specificationVersion: "v4",
        wrapGenerate: async ({ doGenerate }) => {
          begin();
          const result = await doGenerate();
          const { content } = result;
          const said = (kind: "text" | "reasoning") =>
            content.map((part) => (part.type === kind ? part.text : "")).join("");
          const calls = content.filter((part) => part.type === "tool-call");
          this.#said(said("text"), said("reasoning"), calls.length > 0);
          for (const call of calls) this.#handedOut(call);
          return result;
        },
        wrapStream: async ({ doStream }) => {
          begin();
          const { stream, ...rest } = await doStream();
          const texts = { text: "", reasoning: "" };
          let calls = false;
          const watch = new TransformStream<StreamPart, StreamPart>({
            transform: (part, controller) => {
              controller.enqueue(part);
              if (part.type === "tool-call") {
                calls = true;
                this.#handedOut(part);
              }
              if (part.type !== "text-delta" && part.type !== "reasoning-delta") return;
              const channel = part.type === "text-delta" ? "text" : "reasoning";
              texts[channel] += part.delta;
              const ruling = this.guard.delta(part.delta, channel);
              if (ruling.action === "halt") {
                controller.enqueue({ type: "error", error: ruling.halt });
                controller.terminate();
              }
            },
            flush: () => this.#said(texts.text, texts.reasoning, calls),
          });
          return { stream: stream.pipeThrough(watch), ...rest };
        },
      },
    });
  }

  #execute(
    tool: string,
    input: unknown,
    options: { toolCallId: string; messages: ModelMessage[] },
    run: Execute,
  ): unknown {
    const { toolCallId: callId, messages } = options;
    if (this.#prompt !== messages) {
      this.#prompt = messages;
      if (!this.#fresh) this.guard.turn();
      this.#fresh = false;
    }
    this.#ran.add(callId);
    const ruling = this.guard.beforeCall({ tool, args: input, callId });
    if (ruling.action === "block" || ruling.action === "halt") {
      this.#refused.set(callId, ruling.text);
      return ruling.text;
    }
    const done = <T>(output: T): T => {
      this.guard.afterCall({ tool, callId, output });
      return output;
    };
    const failed = (error: unknown): never => {
      this.guard.afterCall({ tool, callId, error: error ?? "" });
      throw error;
    };
    let output: unknown;
    try {
      output = run(input, options);
    } catch (error) {
      failed(error);
    }
    if (isStream(output)) return lastOf(output, done, failed);
    return isPromise(output) ? output.then(done, failed) : done(output);
  }

  /** A call that the client is to run. No hook follows it, so it is seen in the model's answer. */
  #handedOut({
    toolCallId: callId,
    toolName: tool,
    input,
  }: {
    toolCallId: string;
    toolName: string;
    input: string;
  }): void {
    if (!this.#clients.has(tool)) return;
    this.#ran.add(callId);
    this.guard.beforeCall({ tool, callId, settled: true, ...parsed(input) });
  }

  /** A request begins: what a human wrote, and results that the client brought. */
  #opened(messages: ModelMessage[]): void {
    this.#ran.clear();
    const last = messages.at(-1);
    if (last?.role === "user") {
      const { content } = last;
      const parts =
        typeof content === "string" ? [content] : content.map((part) => (part.type === "text" ? part.text : ""));
      this.guard.message("user", parts.join(""), { synthetic: this.#prompts === "host" });
    } else if (last?.role === "tool") {
      for (const part of last.content) {
        if (part.type !== "tool-result") continue;
        const { toolCallId: callId, toolName: tool, output } = part;
        const failed = output.type === "error-text" || output.type === "error-json";
        const outcome = output.type === "execution-denied" ? "denied" : failed ? "error" : "ok";
        this.guard.afterCall({ tool, callId, outcome, output: "value" in output ? output.value : output });
      }
    }
  }

  /** What the steps say that their tools did not: texts, and calls that never reached a tool of ours. */
  #observe(steps: readonly AnyStep[]): void {
    for (const step of steps) {
      if (this.#observed.has(step)) continue;
      this.#observed.add(step);
      if (this.#ran.size === 0 && step.toolCalls.length > 0) {
        if (!this.#fresh) this.guard.turn();
        this.#fresh = false;
      }
      if (!this.#watchesModel) this.#said(step.text, step.reasoningText ?? "", step.toolCalls.length > 0);
      for (const call of step.toolCalls) this.#strange(call, step.content);
      this.#ran.clear();
    }
  }

  /** A call that no tool of ours ran: of a tool that is not there, invalid, denied, the provider's or the client's. */
  #strange(call: AnyStep["toolCalls"][number], content: AnyStep["content"]): void {
    const { toolCallId: callId, toolName: tool, input } = call;
    if (this.#ran.has(callId)) return;
    this.guard.beforeCall({
      tool,
      callId,
      settled: true,
      ...(typeof input === "string" ? parsed(input) : { args: input }),
    });
    if ("invalid" in call && call.invalid) {
      const unknown = NoSuchToolError.isInstance(call.error);
      const outcome = unknown ? "unknown-tool" : InvalidToolInputError.isInstance(call.error) ? "invalid" : "error";
      this.guard.afterCall({ tool, callId, outcome, error: call.error });
      return;
    }
    for (const part of content) {
      if (part.type === "tool-approval-response" && part.toolCall.toolCallId === callId && !part.approved) {
        this.guard.afterCall({ tool, callId, outcome: "denied", output: part.reason ?? "" });
      }
      if (part.type !== "tool-result" && part.type !== "tool-error") continue;
      if (part.toolCallId !== callId || ("preliminary" in part && part.preliminary)) continue;
      this.guard.afterCall({
        tool,
        callId,
        ...(part.type === "tool-error" ? { error: part.error } : { output: part.output }),
      });
    }
  }

  /** A blank text says something only where it is the whole answer. */
  #said(text: string, reasoning: string, calls: boolean): void {
    if (reasoning !== "") this.guard.message("assistant", reasoning, { channel: "reasoning" });
    if (text !== "" || !calls) this.guard.message("assistant", text);
  }
}

type StreamPart =
  Awaited<ReturnType<WrappedModel["doStream"]>>["stream"] extends ReadableStream<infer PART> ? PART : never;

function parsed(input: string): { args: unknown } | { rawArgs: string } {
  try {
    return { args: JSON.parse(input) };
  } catch {
    return { rawArgs: input };
  }
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** The same pieces, of which the last one is the tool's output. */
async function* lastOf(
  pieces: AsyncIterable<unknown>,
  done: (output: unknown) => unknown,
  failed: (error: unknown) => never,
): AsyncIterable<unknown> {
  let output: unknown;
  try {
    for await (const piece of pieces) {
      output = piece;
      yield piece;
    }
  } catch (error) {
    failed(error);
  }
  done(output);
}
