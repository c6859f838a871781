// OpenAI's Chat Completions API, which most other vendors and servers implement as well.
import {
  type Answer,
  type Api,
  type Asked,
  at,
  count,
  type Delta,
  EVENT_STREAM,
  fresh,
  isObject,
  JSON_TYPE,
  type Json,
  list,
  parsed,
  type SseEvent,
  seconds,
  sse,
  text,
} from "./api.ts";
import type { Edit } from "./splice.ts";

export const openaiChat: Api = {
  name: "openai-chat",
  list: "messages",
  format: "openai",
  matches: (path) => path.endsWith("/chat/completions"),
  messages: ({ messages }) => (Array.isArray(messages) ? messages : undefined),
  isModel: (message) => at(message, "role") === "assistant",
  streams: ({ body }) => body["stream"] === true,
  limit: ({ max_completion_tokens, max_tokens }) => count(max_completion_tokens) ?? count(max_tokens),
  guide: ({ messages }, note) => guide(list(messages), note),
  steer: (body, tool) => {
    const others = list(body["tools"]).filter((one) => nameOf(one) !== undefined && nameOf(one) !== tool);
    const choice = body["tool_choice"];
    if (others.length === 0) return undefined;
    // A choice forced by the host: if it forces this tool, the model may choose freely; another forced tool stays.
    if (isObject(choice)) return nameOf(choice) === tool ? [{ set: ["tool_choice"], value: "auto" }] : undefined;
    if (choice !== undefined && choice !== "auto" && choice !== "required") return undefined;
    const tools = others.map((one) => ({ type: at(one, "type"), [`${at(one, "type")}`]: { name: nameOf(one) } }));
    const mode = choice ?? "auto";
    return [{ set: ["tool_choice"], value: { type: "allowed_tools", allowed_tools: { mode, tools } } }];
  },
  answer,
  follow: (asked) => new Chat(asked),
};

/** Adds the note to the last tool's message, because servers differ in which roles they accept after it. */
function guide(messages: readonly unknown[], note: string): Edit[] | undefined {
  const last = messages.at(-1);
  const role = at(last, "role");
  if (!["tool", "function", "user"].includes(text(role) ?? "")) return undefined;
  const content = at(last, "content");
  const path = ["messages", -1, "content"];
  if (typeof content === "string") return [{ set: path, value: content === "" ? note : `${content}\n\n${note}` }];
  return Array.isArray(content) ? [{ append: path, value: { type: "text", text: note } }] : undefined;
}

const nameOf = (tool: unknown): string | undefined =>
  text(at(tool, "function", "name")) ?? text(at(tool, "custom", "name"));

/** Whether the host expects structured output: then only a refusal is a valid answer. */
const isStructured = ({ response_format }: Json): boolean =>
  ["json_schema", "json_object"].includes(text(at(response_format, "type")) ?? "");

const head = ({ body }: Asked, object: string): Json => ({
  id: fresh("chatcmpl-"),
  object,
  created: seconds(),
  model: text(body["model"]) ?? "loopwarden",
});

const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

function answer(asked: Asked, said: string): { type: string; text: string } {
  const { body } = asked;
  const words = isStructured(body) ? { content: null, refusal: said } : { content: said, refusal: null };
  const choices = Array.from({ length: Math.min(count(body["n"]) ?? 1, 128) || 1 }, (_, index) => index);
  if (body["stream"] !== true) {
    const message = { role: "assistant", ...words };
    const whole = {
      ...head(asked, "chat.completion"),
      choices: choices.map((index) => ({ index, message, logprobs: null, finish_reason: "stop" })),
      usage: NO_USAGE,
    };
    return { type: JSON_TYPE, text: JSON.stringify(whole) };
  }
  const chunk = head(asked, "chat.completion.chunk");
  const events: object[] = choices.flatMap((index) => [
    { ...chunk, choices: [{ index, delta: { role: "assistant", ...words }, logprobs: null, finish_reason: null }] },
    { ...chunk, choices: [{ index, delta: {}, logprobs: null, finish_reason: "stop" }] },
  ]);
  if (at(body["stream_options"], "include_usage") === true) events.push({ ...chunk, choices: [], usage: NO_USAGE });
  return { type: EVENT_STREAM, text: `${sse(events)}data: [DONE]\n\n` };
}

/** A streamed answer. */
class Chat implements Answer {
  #head: Json;
  readonly #usage: boolean;
  /** The indices of choices that have begun. */
  readonly #begun = new Set<number>();
  /** The indices of choices that have ended. */
  readonly #ended = new Set<number>();

  constructor(asked: Asked) {
    this.#head = head(asked, "chat.completion.chunk");
    this.#usage = at(asked.body["stream_options"], "include_usage") === true;
  }

  read({ data }: SseEvent): readonly Delta[] {
    const chunk = parsed(data);
    if (chunk === undefined) return [];
    const { id, created, model, system_fingerprint } = chunk;
    this.#head = {
      ...this.#head,
      ...(typeof id === "string" && { id }),
      ...(typeof created === "number" && { created }),
      ...(typeof model === "string" && { model }),
      ...(system_fingerprint !== undefined && { system_fingerprint }),
    };
    const deltas: Delta[] = [];
    for (const one of list(chunk["choices"])) {
      const choice = count(at(one, "index")) ?? 0;
      this.#begun.add(choice);
      if (typeof at(one, "finish_reason") === "string") this.#ended.add(choice);
      const delta = at(one, "delta");
      const reasoning = text(at(delta, "reasoning_content")) ?? text(at(delta, "reasoning"));
      if (reasoning) deltas.push({ text: reasoning, channel: "reasoning", choice });
      const said = text(at(delta, "content"));
      if (said) deltas.push({ text: said, channel: "text", choice });
    }
    return deltas;
  }

  close(note: string): string {
    const chunk = this.#head;
    const open = [...this.#begun].filter((index) => !this.#ended.has(index));
    const events: object[] = open.flatMap((index) => [
      { ...chunk, choices: [{ index, delta: { content: note }, logprobs: null, finish_reason: null }] },
      { ...chunk, choices: [{ index, delta: {}, logprobs: null, finish_reason: "length" }] },
    ]);
    if (this.#usage) events.push({ ...chunk, choices: [], usage: NO_USAGE });
    return `${sse(events)}data: [DONE]\n\n`;
  }
}
