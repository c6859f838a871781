// One small agent per vendor, on the vendor's own SDK: it runs the model's calls until there are none.
import Anthropic from "@anthropic-ai/sdk";
import { FunctionCallingConfigMode, GoogleGenAI } from "@google/genai";
import OpenAI from "openai";

export interface Run {
  /** The model's last text. */
  text: string;
  /** The stop reason of the vendor's API. */
  stop: string | null | undefined;
  /** The number of tool runs. */
  executed: number;
  /** The headers of each answer. */
  headers: Headers[];
  /** The bodies of the requests made by the SDK. */
  bodies: string[];
}

export interface Setup {
  base: string;
  stream: boolean;
  /** Returns the result of a tool. */
  tool: (name: string, args: unknown, index: number) => string;
  /** Names of the tools. */
  tools?: string[];
  prompt?: string;
  signal?: AbortSignal;
  /** Called with each chunk of streaming text. */
  onText?: (text: string) => void;
  maxTokens?: number;
  most?: number;
  /** Whether to let the vendor keep the conversation, if it can. */
  kept?: boolean;
}

export interface Vendor {
  name: string;
  /** The stop reason of an answer that was cut. */
  cut: string;
  /** The stop reason of a finished turn. */
  done: string;
  /** The text of the last message of a request, which contains the proxy's note. */
  last(body: Record<string, unknown>): string;
  /** The choice of tools in a request. */
  choice(body: Record<string, unknown>): unknown;
  run(setup: Setup): Promise<Run>;
}

const KEY = "sk-test-secret";
const parameters = { type: "object", properties: { path: { type: "string" } } };
const TOOLS = ["read_file", "search"];

/** A fetch that records the bodies of requests and the headers of answers. */
function listening(run: Run): typeof fetch {
  return async (input, init) => {
    run.bodies.push(typeof init?.body === "string" ? init.body : "");
    const response = await fetch(input, init);
    run.headers.push(response.headers);
    return response;
  };
}

const begun = (): Run => ({ text: "", stop: undefined, executed: 0, headers: [], bodies: [] });

const chat: Vendor = {
  name: "openai-chat",
  cut: "length",
  done: "stop",
  last: ({ messages }) => JSON.stringify((messages as object[]).at(-1)),
  choice: ({ tool_choice }) => tool_choice,
  async run(setup) {
    const run = begun();
    const client = new OpenAI({ apiKey: KEY, baseURL: `${setup.base}/v1`, maxRetries: 0, fetch: listening(run) });
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: setup.prompt ?? "Fix it." }];
    const tools = (setup.tools ?? TOOLS).map((name) => ({ type: "function" as const, function: { name, parameters } }));
    const how = { model: "gpt-test", messages, tools, max_completion_tokens: setup.maxTokens ?? null };
    const options = { signal: setup.signal };
    for (let turn = 0; turn < (setup.most ?? 60); turn++) {
      let choice: OpenAI.ChatCompletion.Choice | undefined;
      if (setup.stream) {
        const stream = client.chat.completions.stream({ ...how, stream: true }, options);
        stream.on("content", (piece) => setup.onText?.(piece));
        choice = (await stream.finalChatCompletion()).choices[0];
      } else {
        choice = (await client.chat.completions.create(how, options)).choices[0];
      }
      const { content, tool_calls = [] } = choice?.message ?? { content: null };
      messages.push({
        role: "assistant",
        content: content ?? null,
        ...(tool_calls.length > 0 && { tool_calls: tool_calls.map(({ id, ...call }) => ({ id, ...call })) }),
      } as OpenAI.ChatCompletionMessageParam);
      if (tool_calls.length === 0) return { ...run, text: content ?? "", stop: choice?.finish_reason };
      for (const call of tool_calls) {
        if (call.type !== "function") continue;
        const answer = setup.tool(call.function.name, JSON.parse(call.function.arguments), run.executed++);
        messages.push({ role: "tool", tool_call_id: call.id, content: answer });
      }
    }
    return run;
  },
};

const responses: Vendor = {
  name: "openai-responses",
  cut: "max_output_tokens",
  done: "completed",
  last: ({ input }) => JSON.stringify((input as object[]).at(-1)),
  choice: ({ tool_choice }) => tool_choice,
  async run(setup) {
    const run = begun();
    const client = new OpenAI({ apiKey: KEY, baseURL: `${setup.base}/v1`, maxRetries: 0, fetch: listening(run) });
    let input: OpenAI.Responses.ResponseInput = [{ role: "user", content: setup.prompt ?? "Fix it." }];
    const tools = (setup.tools ?? TOOLS).map((name) => ({
      type: "function" as const,
      name,
      parameters,
      strict: false,
    }));
    let previous: string | undefined;
    const options = { signal: setup.signal };
    for (let turn = 0; turn < (setup.most ?? 60); turn++) {
      const how = {
        model: "gpt-test",
        input,
        tools,
        store: setup.kept ?? false,
        ...(previous !== undefined && { previous_response_id: previous }),
        ...(setup.maxTokens !== undefined && { max_output_tokens: setup.maxTokens }),
      };
      let response: OpenAI.Responses.Response;
      if (setup.stream) {
        const stream = client.responses.stream(how, options);
        stream.on("response.output_text.delta", ({ delta }) => setup.onText?.(delta));
        response = (await stream.finalResponse()) as OpenAI.Responses.Response;
      } else {
        response = await client.responses.create(how, options);
      }
      const calls = response.output.filter((item) => item.type === "function_call");
      if (setup.kept) {
        previous = response.id;
        input = [];
      } else {
        input.push(...(response.output as OpenAI.Responses.ResponseInput));
      }
      if (calls.length === 0) {
        const stop = response.incomplete_details?.reason ?? response.status;
        return { ...run, text: response.output_text, stop };
      }
      for (const call of calls) {
        const output = setup.tool(call.name, JSON.parse(call.arguments), run.executed++);
        input.push({ type: "function_call_output", call_id: call.call_id, output });
      }
    }
    return run;
  },
};

const anthropic: Vendor = {
  name: "anthropic",
  cut: "max_tokens",
  done: "end_turn",
  last: ({ messages }) => JSON.stringify((messages as object[]).at(-1)),
  choice: ({ tool_choice }) => tool_choice,
  async run(setup) {
    const run = begun();
    const client = new Anthropic({ apiKey: KEY, baseURL: setup.base, maxRetries: 0, fetch: listening(run) });
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: setup.prompt ?? "Fix it." }];
    const tools = (setup.tools ?? TOOLS).map((name) => ({
      name,
      input_schema: parameters as Anthropic.Tool.InputSchema,
    }));
    const how = { model: "claude-test", messages, tools, max_tokens: setup.maxTokens ?? 4096 };
    const options = { signal: setup.signal };
    for (let turn = 0; turn < (setup.most ?? 60); turn++) {
      let message: Anthropic.Message;
      if (setup.stream) {
        const stream = client.messages.stream(how, options);
        stream.on("text", (piece) => setup.onText?.(piece));
        message = await stream.finalMessage();
      } else {
        message = await client.messages.create(how, options);
      }
      messages.push({ role: "assistant", content: message.content });
      const text = message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
      const calls = message.content.filter((block) => block.type === "tool_use");
      if (calls.length === 0) return { ...run, text, stop: message.stop_reason };
      messages.push({
        role: "user",
        content: calls.map(({ id, name, input }) => ({
          type: "tool_result",
          tool_use_id: id,
          content: setup.tool(name, input, run.executed++),
        })),
      });
    }
    return run;
  },
};

const gemini: Vendor = {
  name: "gemini",
  cut: "MAX_TOKENS",
  done: "STOP",
  last: ({ contents }) => JSON.stringify((contents as object[]).at(-1)),
  choice: ({ toolConfig }) => toolConfig,
  async run(setup) {
    const run = begun();
    const before = globalThis.fetch;
    // This SDK does not accept a custom fetch; its runs are sequential here.
    const client = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: setup.base } });
    const contents: { role: string; parts: Record<string, unknown>[] }[] = [
      { role: "user", parts: [{ text: setup.prompt ?? "Fix it." }] },
    ];
    const config = {
      tools: [
        { functionDeclarations: (setup.tools ?? TOOLS).map((name) => ({ name, parametersJsonSchema: parameters })) },
      ],
      toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.AUTO } },
      ...(setup.maxTokens !== undefined && { maxOutputTokens: setup.maxTokens }),
      ...(setup.signal && { abortSignal: setup.signal }),
    };
    for (let turn = 0; turn < (setup.most ?? 60); turn++) {
      const parts: Record<string, unknown>[] = [];
      let stop: string | undefined;
      const own: typeof fetch = async (input, init) => {
        run.bodies.push(typeof init?.body === "string" ? init.body : "");
        const response = await before(input, init);
        run.headers.push(response.headers);
        return response;
      };
      globalThis.fetch = own;
      try {
        const how = { model: "gemini-test", contents, config };
        if (setup.stream) {
          for await (const chunk of await client.models.generateContentStream(how)) {
            const [candidate] = chunk.candidates ?? [];
            for (const part of candidate?.content?.parts ?? []) {
              if (part.text) setup.onText?.(part.text);
              parts.push(part as Record<string, unknown>);
            }
            stop = candidate?.finishReason ?? stop;
          }
        } else {
          const [candidate] = (await client.models.generateContent(how)).candidates ?? [];
          parts.push(...((candidate?.content?.parts ?? []) as Record<string, unknown>[]));
          stop = candidate?.finishReason;
        }
      } finally {
        globalThis.fetch = before;
      }
      contents.push({ role: "model", parts });
      const text = parts.map((part) => (typeof part["text"] === "string" ? part["text"] : "")).join("");
      const calls = parts.flatMap((part) => (part["functionCall"] ? [part["functionCall"] as { name: string }] : []));
      if (calls.length === 0) return { ...run, text, stop };
      contents.push({
        role: "user",
        parts: calls.map((call) => ({
          functionResponse: { name: call.name, response: { output: setup.tool(call.name, call, run.executed++) } },
        })),
      });
    }
    return run;
  },
};

export const VENDORS: readonly Vendor[] = [chat, responses, anthropic, gemini];
