// OpenAI's Responses API, with the conversation in the request or kept by the vendor.
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
  type Kept,
  list,
  parsed,
  type SseEvent,
  seconds,
  sse,
  text,
} from "./api.ts";
import type { Edit } from "./splice.ts";

export const openaiResponses: Api = {
  name: "openai-responses",
  list: "input",
  format: "openai",
  matches: (path) => path.endsWith("/responses"),
  messages: ({ input }) => {
    if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
    return Array.isArray(input) ? input : undefined;
  },
  isModel: (item) => {
    const [type, role] = [text(at(item, "type")) ?? "message", at(item, "role")];
    if (role !== undefined) return role === "assistant";
    return type === "reasoning" || type.endsWith("_call");
  },
  streams: ({ body }) => body["stream"] === true,
  limit: ({ max_output_tokens }) => count(max_output_tokens),
  guide: ({ input }, note) => guide(input, note),
  steer: ({ tools, tool_choice }, tool) => {
    const others = list(tools).filter((one) => at(one, "name") !== tool);
    if (others.length === 0) return undefined;
    if (isObject(tool_choice))
      return at(tool_choice, "name") === tool ? [{ set: ["tool_choice"], value: "auto" }] : undefined;
    if (tool_choice !== undefined && tool_choice !== "auto" && tool_choice !== "required") return undefined;
    const value = { type: "allowed_tools", mode: tool_choice ?? "auto", tools: others.map(named) };
    return [{ set: ["tool_choice"], value }];
  },
  answer,
  follow: (asked) => new Response_(asked),
  goesOn: ({ previous_response_id, conversation }) =>
    [text(previous_response_id), text(conversation) ?? text(at(conversation, "id"))].filter((id) => id !== undefined),
  keeps: ({ store, conversation, previous_response_id }) =>
    store !== false || conversation != null || previous_response_id != null,
  kept: (_asked, answer): Kept | undefined => {
    // The last event of a stream contains the whole answer.
    const whole = isObject(answer["response"]) ? answer["response"] : answer;
    const ids = [text(whole["id"]), text(at(whole, "conversation", "id"))].filter((id) => id !== undefined);
    return Array.isArray(whole["output"]) ? { ids, output: whole["output"] } : undefined;
  },
};

/** Adds a developer message after the tool outputs. */
function guide(input: unknown, note: string): Edit[] | undefined {
  const message = { type: "message", role: "developer", content: [{ type: "input_text", text: note }] };
  if (typeof input === "string")
    return [{ set: ["input"], value: [{ type: "message", role: "user", content: input }, message] }];
  return Array.isArray(input) ? [{ append: ["input"], value: message }] : undefined;
}

/** A tool as named in `tool_choice`. */
const named = (tool: unknown): Json => ({
  type: at(tool, "type"),
  ...(at(tool, "name") !== undefined && { name: at(tool, "name") }),
  ...(at(tool, "server_label") !== undefined && { server_label: at(tool, "server_label") }),
});

const NO_USAGE = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

/** The fields of a request that its answer repeats. */
const REPEATED = [
  "instructions",
  "max_output_tokens",
  "metadata",
  "parallel_tool_calls",
  "previous_response_id",
  "reasoning",
  "store",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_p",
  "truncation",
  "user",
] as const;

const head = ({ body }: Asked): Json => ({
  id: fresh("resp_"),
  object: "response",
  created_at: seconds(),
  status: "in_progress",
  error: null,
  incomplete_details: null,
  model: text(body["model"]) ?? "loopwarden",
  output: [],
  instructions: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: null,
  tool_choice: "auto",
  tools: [],
  top_p: null,
  ...Object.fromEntries(REPEATED.filter((name) => body[name] !== undefined).map((name) => [name, body[name]])),
  usage: null,
});

/** Adds the sequence numbers of a stream's events. */
const numbered = (events: readonly Json[], first = 0): object[] =>
  events.map((event, index) => ({ ...event, sequence_number: first + index }));

const part = (said: string): Json => ({ type: "output_text", text: said, annotations: [] });
const message = (id: string, status: string, content: readonly Json[]): Json => ({
  type: "message",
  id,
  status,
  role: "assistant",
  content,
});

function answer(asked: Asked, said: string): { type: string; text: string } {
  const { body } = asked;
  const format = text(at(body["text"], "format", "type"));
  const refuses = format === "json_schema" || format === "json_object";
  const content = refuses ? { type: "refusal", refusal: said } : part(said);
  const id = fresh("msg_");
  const begun = head(asked);
  const item = message(id, "completed", [content]);
  const whole = { ...begun, status: "completed", output: [item], output_text: said, usage: NO_USAGE };
  if (body["stream"] !== true) return { type: JSON_TYPE, text: JSON.stringify(whole) };
  const where = { item_id: id, output_index: 0, content_index: 0 };
  const [kind, key] = refuses ? ["refusal", "refusal"] : ["output_text", "text"];
  const events = numbered([
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    { type: "response.output_item.added", output_index: 0, item: message(id, "in_progress", []) },
    { type: "response.content_part.added", ...where, part: { ...content, [key as string]: "" } },
    { type: `response.${kind}.delta`, ...where, delta: said, ...(!refuses && { logprobs: [] }) },
    { type: `response.${kind}.done`, ...where, [key as string]: said, ...(!refuses && { logprobs: [] }) },
    { type: "response.content_part.done", ...where, part: content },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: whole },
  ]);
  return { type: EVENT_STREAM, text: sse(events, true) };
}

const CHANNELS: Readonly<Record<string, Delta["channel"]>> = {
  "response.output_text.delta": "text",
  "response.refusal.delta": "text",
  "response.reasoning_text.delta": "reasoning",
  "response.reasoning_summary_text.delta": "reasoning",
};

/** A streamed answer. */
class Response_ implements Answer {
  #head: Json;
  #number = 0;
  /** The finished items, by index. */
  readonly #items: unknown[] = [];
  /** The open item and, below, its open part with the text so far. */
  #open: { item: Json; index: number } | undefined;
  #part: { index: number; text: string } | undefined;

  constructor(asked: Asked) {
    this.#head = head(asked);
  }

  read({ data }: SseEvent): readonly Delta[] {
    const event = parsed(data);
    if (event === undefined) return [];
    const type = text(event["type"]) ?? "";
    const index = count(event["output_index"]) ?? 0;
    this.#number = (count(event["sequence_number"]) ?? this.#number) + 1;
    if (isObject(event["response"])) this.#head = event["response"];
    if (type === "response.output_item.added" && isObject(event["item"])) this.#open = { item: event["item"], index };
    if (type === "response.output_item.done") {
      this.#items[index] = event["item"];
      this.#open = undefined;
    }
    if (type === "response.content_part.added" && at(event, "part", "type") === "output_text")
      this.#part = { index: count(event["content_index"]) ?? 0, text: "" };
    if (type === "response.content_part.done") this.#part = undefined;
    const channel = Object.hasOwn(CHANNELS, type) ? CHANNELS[type] : undefined;
    const said = text(event["delta"]);
    if (channel === undefined || !said) return [];
    if (this.#part && type === "response.output_text.delta") this.#part.text += said;
    return [{ text: said, channel, choice: 0 }];
  }

  close(note: string): string {
    const events: Json[] = [];
    const open = this.#open;
    const items = this.#items;
    if (open && this.#part && open.item["type"] === "message") {
      const { index, text: before } = this.#part;
      this.#finish(events, text(open.item["id"]) ?? fresh("msg_"), open.index, index, before, note);
    } else {
      if (open) {
        const item = { ...open.item, ...(open.item["status"] !== undefined && { status: "incomplete" }) };
        items[open.index] = item;
        events.push({ type: "response.output_item.done", output_index: open.index, item });
      }
      const id = fresh("msg_");
      const index = items.length;
      const where = { item_id: id, output_index: index, content_index: 0 };
      events.push(
        { type: "response.output_item.added", output_index: index, item: message(id, "in_progress", []) },
        { type: "response.content_part.added", ...where, part: part("") },
      );
      this.#finish(events, id, index, 0, "", note.trimStart());
    }
    const response = {
      ...this.#head,
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: items.filter((item) => item !== undefined),
    };
    events.push({ type: "response.incomplete", response });
    return sse(numbered(events, this.#number), true);
  }

  #finish(events: Json[], id: string, index: number, content: number, before: string, note: string): void {
    const where = { item_id: id, output_index: index, content_index: content };
    const said = before + note;
    const item = message(id, "incomplete", [part(said)]);
    this.#items[index] = item;
    events.push(
      { type: "response.output_text.delta", ...where, delta: note, logprobs: [] },
      { type: "response.output_text.done", ...where, text: said, logprobs: [] },
      { type: "response.content_part.done", ...where, part: part(said) },
      { type: "response.output_item.done", output_index: index, item },
    );
  }
}
