// The Vercel AI SDK: wrapped tools judge calls and results, `prepareStep` carries the guidance, `stopWhen` ends the
// run, and a wrapped model is watched while it streams. The request of a hook is identified by what the SDK passes to
// it: the list of steps, the messages of a step, and the model that a step is prepared with.
import type { LanguageModel, LanguageModelMiddleware, ModelMessage } from "ai";
// A namespace import, so that an export missing in some version gives our error and not the module loader's.
import * as sdk from "ai";
import { LoopGuard } from "../../src/adapters/adapter.ts";
import { Guard, type GuardOptions, type LoopHalt } from "../../src/adapters/guard.ts";
import { checked, supported } from "../../src/adapters/options.ts";
import { type Request as AnyRequest, type AsyncLocal, asyncLocal, Requests } from "../../src/adapters/runs.ts";

export { type Guard, type GuardOptions, LoopHalt, type LoopHaltRecord } from "../../src/adapters/guard.ts";

/** The options of {@link createLoopGuard}. */
export interface AiSdkOptions extends GuardOptions {
  /**
   * Who writes the prompts: a `human`, whose message ends the window and lifts a halt, or the `host`, such as an outer
   * loop that calls the agent repeatedly. Default `human`.
   */
  prompts?: "human" | "host";
}

// biome-ignore lint/suspicious/noExplicitAny: the shapes of steps, tools and their types differ between the SDK's versions.
type Any = any;
type Model = Exclude<LanguageModel, string>;
type Execute = (input: unknown, options: { toolCallId: string; messages: ModelMessage[] }) => unknown;
type ToModelOutput = (options: { toolCallId: string; input: unknown; output: unknown }) => unknown;
/** A `prepareStep` function of any version of the SDK and any tools. */
export type PrepareStep = (options: Any) => Any;

type Mutable<T> = T extends readonly (infer Item)[] ? Item[] : T;
type Settings<T> = T extends object ? { -readonly [Name in keyof T]: Mutable<T[Name]> } : T;
/** The result of your own `prepareStep` with its literal types kept: the SDK requires the names of your tools. */
export type Prepared<T> = T extends PromiseLike<infer Settled> ? Promise<Settings<Settled>> : Settings<T>;

/** The fields of a step that are read, in every version. */
interface Step {
  text: string;
  reasoningText?: string | undefined;
  toolCalls: readonly { toolCallId: string; toolName: string; input: unknown; invalid?: boolean; error?: unknown }[];
  content: readonly Any[];
  usage?: unknown;
}

/** The guard of each request, by its list of steps and by each step. */
const halts = new WeakMap<object, Guard>();

/**
 * Why Loopwarden ended a request; undefined if it did not.
 *
 * @param result the result of `generateText` or an agent, the `steps` or last step of a stream, or a thrown error.
 */
export function loopHalt(result: unknown): LoopHalt | undefined {
  if (result instanceof Error && result.name === "LoopHalt") return result as LoopHalt;
  if (typeof result !== "object" || result === null) return undefined;
  const steps = Array.isArray(result) ? result : "steps" in result && Array.isArray(result.steps) ? result.steps : [];
  for (const key of [result, steps, steps.at(-1), "error" in result ? result.error : undefined]) {
    if (key instanceof Error && key.name === "LoopHalt") return key as LoopHalt;
    const guard = typeof key === "object" && key !== null ? halts.get(key) : undefined;
    if (guard) return guard.halted;
  }
  return undefined;
}

/**
 * Watches agents of the AI SDK.
 *
 * @example
 * const guard = createLoopGuard();
 * const result = await generateText({
 *   model: guard.model(model),
 *   prompt,
 *   tools: guard.tools(tools),
 *   prepareStep: guard.prepareStep(),
 *   stopWhen: [isStepCount(50), guard.stopWhen],
 * });
 * const halt = loopHalt(result);
 * if (halt) console.error(halt.report);
 *
 * @throws {LoopwardenError} `invalid-config` for an invalid configuration or option, or an unsupported version of `ai`.
 */
export function createLoopGuard(options: AiSdkOptions = {}): AiSdkGuard {
  supported("ai-sdk", "version 5, 6 or 7 of `ai`", sdk, [
    "InvalidToolInputError",
    "NoSuchToolError",
    "wrapLanguageModel",
  ]);
  return new AiSdkGuard(new Guard(checked(options)), options.prompts ?? "human");
}

/** The state of one request of the SDK: one `generateText` or `streamText`. */
class Request implements AnyRequest {
  readonly guard: Guard;
  over = false;
  /** The messages of the current step. The calls of a step share this array, which makes them one round. */
  prompt: ModelMessage[] | undefined;
  /** Whether a watched model has begun a round whose calls have not run yet. */
  fresh = false;
  /** Whether the request's model is watched and so reports texts itself. */
  watchesModel = false;
  /** Ids of calls of the current step that have already been reported. */
  readonly ran = new Set<string>();
  /** Steps that have been observed. */
  readonly observed = new WeakSet<object>();
  /** Guidance given and the number of the SDK's own messages before it: not every version keeps added messages. */
  readonly notes: { at: number; message: ModelMessage }[] = [];
  /** For each model of the caller, the wrapper that knows this request. */
  readonly twins = new WeakMap<object, Model>();

  constructor(guard: Guard) {
    this.guard = guard;
  }

  /** Reports an answer of the model. An empty text is only reported if it is the whole answer. */
  said(text: string, reasoning: string, calls: boolean, usage: unknown): void {
    this.guard.usage(tokens(usage));
    if (reasoning !== "") this.guard.message("assistant", reasoning, { channel: "reasoning" });
    if (text !== "" || !calls) this.guard.message("assistant", text);
    this.over = !calls;
  }
}

/** A guard for the AI SDK; see {@link createLoopGuard}. */
export class AiSdkGuard extends LoopGuard {
  /**
   * Watches a model's texts, chunk by chunk while they stream, and the calls of client-side tools.
   * `wrapLanguageModel({ model, middleware: guard.middleware })` corresponds to `guard.model(model)`.
   */
  readonly middleware: LanguageModelMiddleware;
  readonly #prompts: "human" | "host";
  readonly #requests: Requests<Request>;
  /** Requests by their list of steps, by each step and by the messages of a step. */
  readonly #known = new WeakMap<object, Request>();
  /** The original of each watched model. */
  readonly #models = new WeakMap<object, Model>();
  /** Names of client-side tools: a request ends with their calls, and the next one contains the results. */
  readonly #clients = new Set<string>();
  /** Refused calls by id, with the text that answered them. */
  readonly #refused = new Map<string, string>();

  constructor(guard: Guard, prompts: "human" | "host" = "human") {
    super(guard);
    this.#prompts = prompts;
    this.#requests = new Requests(guard, (guard) => new Request(guard));
    this.middleware = this.#watching();
  }

  protected override current(): Guard {
    return this.#requests.latest?.guard ?? this.guard;
  }

  /** A guard for a sub-agent or one conversation: it shares the detector and has its own rounds, guidance and halt. */
  scope(scope: { run?: string; agent?: string; task?: string }): AiSdkGuard {
    return new AiSdkGuard(this.guard.scope(scope), this.#prompts);
  }

  /** Wraps the tools so that calls are judged: a blocked call is answered with the guidance instead of being run. */
  tools<TOOLS extends Record<string, Any> | undefined>(tools: TOOLS): TOOLS {
    if (!this.guard.enabled || tools === undefined) return tools;
    const wrapped = Object.entries(tools).map(([name, tool]) => {
      const { execute, toModelOutput } = tool as { execute?: Execute; toModelOutput?: ToModelOutput };
      if (!execute) {
        this.#clients.add(name);
        return [name, tool];
      }
      const judged: Execute = (input, options) => this.#execute(name, input, options, execute.bind(tool));
      // The tool's own conversion cannot handle the text of a refusal.
      const told: ToModelOutput | undefined =
        toModelOutput &&
        ((options) => {
          // Version 5 passes only the output.
          const id = options?.toolCallId;
          const text = id === undefined ? this.#answered(options) : this.#refusal(id, options.output);
          return text === undefined ? toModelOutput.call(tool, options) : { type: "text", value: text };
        });
      return [name, { ...tool, execute: judged, ...(told && { toModelOutput: told }) }];
    });
    return Object.fromEntries(wrapped);
  }

  /**
   * A `prepareStep` that adds pending guidance to the messages, after calling your own if given. It throws the
   * {@link LoopHalt} of a run that continues after its halt because `stopWhen` is missing.
   */
  prepareStep<const R = Any>(own?: (options: Any) => R): (options: Any) => Prepared<R> {
    const prepare = async (options: {
      stepNumber: number;
      steps: readonly Step[];
      model: LanguageModel;
      messages: ModelMessage[];
    }) => {
      if (!this.guard.enabled) return own?.(options);
      const { stepNumber, steps, messages } = options;
      const request = stepNumber === 0 ? this.#opened(steps, messages) : this.#ofStep(steps, messages);
      this.#known.set(messages, request);
      halts.set(steps, request.guard);
      this.#observe(request, steps);
      if (request.guard.halted) throw request.guard.halted;
      const prepared: Any = await own?.(options);
      const text = request.guard.guidance();
      const given: ModelMessage[] = prepared?.messages ?? messages;
      const notes = request.notes.filter(({ message }) => !given.includes(message));
      const own_ = given.filter((message) => !request.notes.some((note) => note.message === message));
      if (text !== undefined) {
        const note = { at: own_.length, message: { role: "user" as const, content: text } };
        request.notes.push(note);
        notes.push(note);
      }
      const told = notes.length === 0 ? undefined : woven(given, notes, request.notes);
      if (told) this.#known.set(told, request);
      const twin = this.#twin(request, prepared?.model ?? options.model);
      if (!told && !twin) return prepared;
      return { ...prepared, ...(twin && { model: twin }), ...(told && { messages: told }) };
    };
    return prepare as PrepareStep;
  }

  /** A condition for `stopWhen` that ends a halted run. */
  readonly stopWhen = ({ steps }: { steps: readonly Any[] }): boolean => {
    if (!this.guard.enabled) return false;
    const request = this.#ofStep(steps as readonly Step[], undefined);
    halts.set(steps, request.guard);
    this.#observe(request, steps as readonly Step[]);
    if (request.guard.halted) request.over = true;
    return request.guard.halted !== undefined;
  };

  /**
   * Wraps a model so that its texts are judged, chunk by chunk while they stream. A string names a model of the SDK's
   * default provider, which is the gateway unless you set another.
   */
  model(model: LanguageModel): Model {
    const inner = typeof model === "string" ? named(model) : model;
    if (!this.guard.enabled) return inner;
    const watched = this.#wrapped(inner);
    this.#models.set(watched, inner);
    return watched;
  }

  #wrapped(model: Model, request?: Request): Model {
    // Each version of the SDK accepts the model specification of its own time.
    return (sdk.wrapLanguageModel as (options: Any) => Model)({ model, middleware: this.#watching(request) });
  }

  /** The wrapper of the step's model that knows the request; undefined if the model is not watched. */
  #twin(request: Request, model: LanguageModel): Model | undefined {
    const inner = typeof model === "object" ? this.#models.get(model) : undefined;
    if (!inner) return undefined;
    const twin = request.twins.get(inner) ?? this.#wrapped(inner, request);
    request.twins.set(inner, twin);
    return twin;
  }

  #watching(own?: Request): LanguageModelMiddleware {
    if (!this.guard.enabled) return { specificationVersion: "v4" } as LanguageModelMiddleware;
    const begin = (prompt: ModelMessage[]) => {
      const request = own ? this.#requests.goesOn(own) : this.#asked(prompt);
      request.watchesModel = true;
      request.guard.turn();
      request.fresh = true;
      return request;
    };
    const middleware = {
      specificationVersion: "v4",
      wrapGenerate: async ({ doGenerate, params }: Any) => {
        const request = begin(params.prompt);
        const result = await doGenerate();
        const content: Any[] = result.content;
        const said = (kind: "text" | "reasoning") =>
          content.map((part) => (part.type === kind ? part.text : "")).join("");
        const calls = content.filter((part) => part.type === "tool-call");
        request.said(said("text"), said("reasoning"), calls.length > 0, result.usage);
        for (const call of calls) this.#handedOut(request, call);
        return result;
      },
      wrapStream: async ({ doStream, params }: Any) => {
        const request = begin(params.prompt);
        const { stream, ...rest } = await doStream();
        const texts = { text: "", reasoning: "" };
        let calls = false;
        let usage: unknown;
        const watch = new TransformStream<Any, Any>({
          transform: (part, controller) => {
            controller.enqueue(part);
            if (part.type === "finish") usage = part.usage;
            if (part.type === "tool-call") {
              calls = true;
              this.#handedOut(request, part);
            }
            if (part.type !== "text-delta" && part.type !== "reasoning-delta") return;
            const channel = part.type === "text-delta" ? "text" : "reasoning";
            texts[channel] += part.delta;
            const ruling = request.guard.delta(part.delta, channel);
            if (ruling.action === "halt") {
              request.over = true;
              controller.enqueue({ type: "error", error: ruling.halt });
              controller.terminate();
            }
          },
          flush: () => request.said(texts.text, texts.reasoning, calls, usage),
        });
        return { stream: stream.pipeThrough(watch), ...rest };
      },
    };
    return middleware as Any;
  }

  /** The request of a list of steps: by the list, its steps or their calls, or else the most likely one. */
  #ofStep(steps: readonly Step[], messages: ModelMessage[] | undefined): Request {
    const ids = steps.flatMap(({ toolCalls }) => toolCalls.map(({ toolCallId }) => toolCallId));
    const known =
      this.#known.get(steps) ??
      steps.map((step) => this.#known.get(step)).findLast((request) => request !== undefined) ??
      this.#requests.caller(ids) ??
      this.#going?.getStore() ??
      this.#requests.only() ??
      this.#begun(messages ?? []);
    this.#known.set(steps, known);
    for (const step of steps) this.#known.set(step, known);
    return this.#requests.goesOn(known);
  }

  /** The request of a model call that was not prepared by `prepareStep`. */
  #asked(prompt: ModelMessage[]): Request {
    const going = this.#going?.getStore();
    if (going && !going.over) return this.#requests.goesOn(going);
    const known = this.#requests.caller(callsIn(prompt));
    if (known && prompt.at(-1)?.role !== "user") return this.#requests.goesOn(known);
    return this.#begun(prompt);
  }

  /** The current request, where the runtime has async-local storage: tells apart hooks of concurrent requests. */
  readonly #going: AsyncLocal<Request> | undefined = asyncLocal();

  #execute(
    tool: string,
    input: unknown,
    options: { toolCallId: string; messages: ModelMessage[] },
    run: Execute,
  ): unknown {
    const { toolCallId: callId, messages } = options;
    const request = this.#ofCall(callId, messages);
    const { guard } = request;
    if (request.prompt !== messages) {
      request.prompt = messages;
      if (!request.fresh) guard.turn();
      request.fresh = false;
    }
    request.ran.add(callId);
    this.#requests.called(request, callId);
    const ruling = guard.beforeCall({ tool, args: input, callId });
    if (ruling.action === "block" || ruling.action === "halt") {
      if (this.#refused.size >= REFUSED) this.#refused.delete(this.#refused.keys().next().value as string);
      this.#refused.set(callId, ruling.text);
      return ruling.text;
    }
    const done = <T>(output: T): T => {
      guard.afterCall({ tool, callId, output });
      return output;
    };
    const failed = (error: unknown): never => {
      guard.afterCall({ tool, callId, error: error ?? "" });
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

  #ofCall(callId: string, messages: ModelMessage[]): Request {
    const known =
      this.#known.get(messages) ??
      this.#requests.caller([callId]) ??
      this.#going?.getStore() ??
      this.#requests.caller(callsIn(messages)) ??
      this.#requests.only() ??
      this.#begun(messages);
    this.#known.set(messages, known);
    return this.#requests.goesOn(known);
  }

  /** The text of a refusal if `output` is one. A later call may have the same id, so the output has to match. */
  #refusal(callId: string, output: unknown): string | undefined {
    const text = this.#refused.get(callId);
    return text === output ? text : undefined;
  }

  /** As {@link AiSdkGuard.#refusal}, where only the output is known. */
  #answered(output: unknown): string | undefined {
    return typeof output === "string" && [...this.#refused.values()].includes(output) ? output : undefined;
  }

  /** Reports a call of a client-side tool. No hook follows it, so it is taken from the model's answer. */
  #handedOut(request: Request, call: { toolCallId: string; toolName: string; input: string }): void {
    const { toolCallId: callId, toolName: tool, input } = call;
    this.#requests.called(request, callId);
    if (!this.#clients.has(tool)) return;
    request.ran.add(callId);
    request.guard.beforeCall({ tool, callId, settled: true, ...parsed(input) });
  }

  #opened(steps: readonly Step[], messages: ModelMessage[]): Request {
    const request = this.#known.get(steps) ?? this.#begun(messages);
    this.#known.set(steps, request);
    this.#going?.enterWith(request);
    return request;
  }

  /** Begins a request: reports the user's message, or the results of client-side tools. */
  #begun(messages: readonly ModelMessage[]): Request {
    const last = messages.at(-1);
    const human = last?.role === "user" && this.#prompts === "human";
    const request = this.#requests.begin(callsIn(messages), human);
    const { guard } = request;
    if (last?.role === "user") {
      const { content } = last;
      const parts =
        typeof content === "string" ? [content] : content.map((part) => (part.type === "text" ? part.text : ""));
      guard.message("user", parts.join(""), { synthetic: !human });
    } else if (last?.role === "tool") {
      for (const part of last.content) {
        if (part.type !== "tool-result") continue;
        const { toolCallId: callId, toolName: tool, output } = part;
        const failed = output.type === "error-text" || output.type === "error-json";
        const outcome = output.type === "execution-denied" ? "denied" : failed ? "error" : "ok";
        guard.afterCall({ tool, callId, outcome, output: "value" in output ? output.value : output });
      }
    }
    return request;
  }

  /** Reports what the wrapped tools did not see of the steps: texts, and calls that never reached a wrapped tool. */
  #observe(request: Request, steps: readonly Step[]): void {
    for (const step of steps) {
      if (request.observed.has(step)) continue;
      request.observed.add(step);
      this.#known.set(step, request);
      halts.set(step, request.guard);
      if (request.ran.size === 0 && step.toolCalls.length > 0) {
        if (!request.fresh) request.guard.turn();
        request.fresh = false;
      }
      if (!request.watchesModel) {
        request.said(step.text, step.reasoningText ?? "", step.toolCalls.length > 0, step.usage);
        request.over = false;
      }
      for (const call of step.toolCalls) this.#strange(request, call, step.content);
      request.ran.clear();
    }
  }

  /** Reports a call that no wrapped tool ran: unknown tool, invalid or denied call, or run by provider or client. */
  #strange(request: Request, call: Step["toolCalls"][number], content: Step["content"]): void {
    const { toolCallId: callId, toolName: tool, input } = call;
    if (request.ran.has(callId)) return;
    const { guard } = request;
    this.#requests.called(request, callId);
    guard.beforeCall({
      tool,
      callId,
      settled: true,
      ...(typeof input === "string" ? parsed(input) : { args: input }),
    });
    if (call.invalid) {
      const unknown = sdk.NoSuchToolError.isInstance(call.error);
      const outcome = unknown ? "unknown-tool" : sdk.InvalidToolInputError.isInstance(call.error) ? "invalid" : "error";
      guard.afterCall({ tool, callId, outcome, error: call.error });
      return;
    }
    for (const part of content) {
      if (part.type === "tool-approval-response" && part.toolCall.toolCallId === callId && !part.approved) {
        guard.afterCall({ tool, callId, outcome: "denied", output: part.reason ?? "" });
      }
      if (part.type !== "tool-result" && part.type !== "tool-error") continue;
      if (part.toolCallId !== callId || part.preliminary) continue;
      guard.afterCall({
        tool,
        callId,
        ...(part.type === "tool-error" ? { error: part.error } : { output: part.output }),
      });
    }
  }
}

/** Maximum number of refused calls remembered. */
const REFUSED = 1024;

/** Inserts the `missing` notes at their places in the messages; `all` are all notes given so far, in order. */
function woven(
  given: readonly ModelMessage[],
  missing: readonly { at: number; message: ModelMessage }[],
  all: readonly { at: number; message: ModelMessage }[],
): ModelMessage[] {
  const told: ModelMessage[] = [];
  let at = 0;
  const due = () => {
    for (const note of missing) if (note.at === at && !told.includes(note.message)) told.push(note.message);
  };
  for (const message of given) {
    due();
    told.push(message);
    if (!all.some((note) => note.message === message)) at += 1;
  }
  due();
  // If messages were removed, the place of the newest note may no longer exist: it goes to the end.
  const last = all.at(-1);
  if (last && missing.includes(last) && !told.includes(last.message)) told.push(last.message);
  return told;
}

/** The ids of the calls in messages, oldest first. */
function callsIn(messages: readonly ModelMessage[]): string[] {
  return messages.flatMap(({ content }) =>
    typeof content === "string"
      ? []
      : content.flatMap((part) =>
          "toolCallId" in part && typeof part.toolCallId === "string" ? [part.toolCallId] : [],
        ),
  );
}

/** The token counts of a model's or a step's usage, in any version. */
function tokens(usage: Any): { input?: number; output?: number; total?: number } {
  const count = (value: Any): number | undefined =>
    typeof value === "number" ? value : typeof value?.total === "number" ? value.total : undefined;
  const [input, output, total] = [usage?.inputTokens, usage?.outputTokens, usage?.totalTokens].map(count);
  return {
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...(total !== undefined && { total }),
  };
}

/** Looks a model up by name as the SDK does. */
function named(name: string): Model {
  const { AI_SDK_DEFAULT_PROVIDER: own } = globalThis as { AI_SDK_DEFAULT_PROVIDER?: Any };
  supported("ai-sdk", "a later version of `ai` for models by name", own ? {} : sdk, own ? [] : ["gateway"]);
  return (own ?? sdk.gateway).languageModel(name);
}

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

/** Passes the chunks of a streaming tool on; the last one is the tool's output. */
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
