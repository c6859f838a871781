// Gemini's generateContent and streamGenerateContent, of the Gemini API and of Vertex AI.
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
  sse,
  text,
} from "./api.ts";
import type { Edit } from "./splice.ts";

const isStream = ({ url }: Asked): boolean => url.pathname.endsWith(":streamGenerateContent");
const isSse = ({ url }: Asked): boolean => url.searchParams.get("alt") === "sse";

/** A member in camelCase or snake_case: the API accepts both. */
const either = (body: unknown, camel: string, snake: string): unknown => at(body, camel) ?? at(body, snake);
const named = (body: unknown, camel: string, snake: string): string => (at(body, snake) === undefined ? camel : snake);

export const gemini: Api = {
  name: "gemini",
  list: "contents",
  format: "gemini-cli",
  matches: (path) => path.endsWith(":generateContent") || path.endsWith(":streamGenerateContent"),
  messages: ({ contents }) => {
    const contained = isObject(contents) ? [contents] : contents;
    // A content without a role is the user's.
    return Array.isArray(contained)
      ? contained.map((one) => (isObject(one) && one["role"] === undefined ? { role: "user", ...one } : one))
      : undefined;
  },
  isModel: (content) => at(content, "role") === "model",
  streams: isStream,
  limit: (body) =>
    count(either(either(body, "generationConfig", "generation_config"), "maxOutputTokens", "max_output_tokens")),
  guide: ({ contents }, note) => guide(contents, note),
  steer,
  answer: (asked, said) => {
    const whole = response(asked, { role: "model", parts: [{ text: said }] }, "STOP");
    if (!isStream(asked)) return { type: JSON_TYPE, text: JSON.stringify(whole) };
    return isSse(asked)
      ? { type: EVENT_STREAM, text: sse([whole]) }
      : { type: JSON_TYPE, text: JSON.stringify([whole]) };
  },
  follow: (asked) => new Content(asked),
};

/** Adds a part after the function responses, in the same content. */
function guide(contents: unknown, note: string): Edit[] | undefined {
  const isList = Array.isArray(contents);
  const last = isList ? contents.at(-1) : contents;
  if (at(last, "role") === "model" || !Array.isArray(at(last, "parts"))) return undefined;
  return [{ append: isList ? ["contents", -1, "parts"] : ["contents", "parts"], value: { text: note } }];
}

function steer(body: Json, tool: string): Edit[] | undefined {
  const names = list(body["tools"])
    .flatMap((one) => list(either(one, "functionDeclarations", "function_declarations")))
    .map((one) => text(at(one, "name")))
    .filter((name) => name !== undefined && name !== tool);
  const config = either(body, "toolConfig", "tool_config");
  const calling = either(config, "functionCallingConfig", "function_calling_config");
  const mode = text(at(calling, "mode")) ?? "AUTO";
  const before = either(calling, "allowedFunctionNames", "allowed_function_names");
  const allowed = Array.isArray(before) ? names.filter((name) => before.includes(name)) : names;
  if (allowed.length === 0 || !["AUTO", "ANY", "VALIDATED"].includes(mode)) return undefined;
  // AUTO takes no list of functions; VALIDATED lets the model choose between a listed function and text.
  const chosen = { mode: mode === "AUTO" ? "VALIDATED" : mode, allowedFunctionNames: allowed };
  const outer = named(body, "toolConfig", "tool_config");
  const inner = named(config, "functionCallingConfig", "function_calling_config");
  return config === undefined
    ? [{ set: [outer], value: { [inner]: chosen } }]
    : [{ set: [outer, inner], value: chosen }];
}

const response = (asked: Asked, content: object, finishReason: string, more: Json = {}): Json => ({
  candidates: [{ content, finishReason, index: 0 }],
  usageMetadata: { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 },
  modelVersion: /\/models\/([^/:]+):/.exec(asked.url.pathname)?.[1] ?? "loopwarden",
  responseId: fresh(""),
  ...more,
});

/** A streamed answer. */
class Content implements Answer {
  readonly #asked: Asked;
  readonly #begun = new Set<number>();
  readonly #ended = new Set<number>();
  #more: Json = {};

  constructor(asked: Asked) {
    this.#asked = asked;
  }

  read({ data }: SseEvent): readonly Delta[] {
    const chunk = parsed(data);
    if (chunk === undefined) return [];
    const { modelVersion, responseId, usageMetadata } = chunk;
    this.#more = {
      ...this.#more,
      ...(modelVersion !== undefined && { modelVersion }),
      ...(responseId !== undefined && { responseId }),
      ...(usageMetadata !== undefined && { usageMetadata }),
    };
    const deltas: Delta[] = [];
    for (const candidate of list(chunk["candidates"])) {
      const choice = count(at(candidate, "index")) ?? 0;
      this.#begun.add(choice);
      if (typeof at(candidate, "finishReason") === "string") this.#ended.add(choice);
      for (const part of list(at(candidate, "content", "parts"))) {
        const said = text(at(part, "text"));
        if (said) deltas.push({ text: said, channel: at(part, "thought") === true ? "reasoning" : "text", choice });
      }
    }
    return deltas;
  }

  close(note: string): string {
    const open = [...this.#begun].filter((index) => !this.#ended.has(index));
    const content = { role: "model", parts: [{ text: note }] };
    const candidates = open.map((index) => ({ content, finishReason: "MAX_TOKENS", index }));
    return sse([response(this.#asked, content, "MAX_TOKENS", { ...this.#more, candidates })]);
  }
}
