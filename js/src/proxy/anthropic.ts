// Anthropic's Messages API.
import {
  type Answer,
  type Api,
  type Asked,
  at,
  count,
  type Delta,
  EVENT_STREAM,
  fresh,
  JSON_TYPE,
  type Json,
  parsed,
  type SseEvent,
  sse,
  text,
} from "./api.ts";
import type { Edit } from "./splice.ts";

export const anthropic: Api = {
  name: "anthropic",
  list: "messages",
  format: "anthropic",
  matches: (path) => path.endsWith("/messages"),
  messages: ({ messages }) => (Array.isArray(messages) ? messages : undefined),
  isModel: (message) => at(message, "role") === "assistant",
  streams: ({ body }) => body["stream"] === true,
  limit: ({ max_tokens }) => count(max_tokens),
  guide: ({ messages }, note) => guide(at(messages, -1), note),
  // `tool_choice` can name one tool, none or any, but cannot exclude one. A forced choice of the tool can be lifted,
  // though.
  steer: ({ tool_choice }, tool) =>
    at(tool_choice, "type") === "tool" && at(tool_choice, "name") === tool
      ? [{ set: ["tool_choice"], value: { type: "auto" } }]
      : undefined,
  answer: (asked, said) => {
    const { body } = asked;
    const message = { ...head(asked), content: [{ type: "text", text: said }], stop_reason: "end_turn" };
    if (body["stream"] !== true) return { type: JSON_TYPE, text: JSON.stringify(message) };
    const events = [{ type: "message_start", message: head(asked) }, ...block(0, said), ...end("end_turn", 0)];
    return { type: EVENT_STREAM, text: sse(events, true) };
  },
  follow: (asked) => new Message(asked),
};

/** Adds a text block after the tool results, in the same message. */
function guide(last: unknown, note: string): Edit[] | undefined {
  if (at(last, "role") !== "user") return undefined;
  const content = at(last, "content");
  const path = ["messages", -1, "content"];
  const block = { type: "text", text: note };
  if (typeof content === "string")
    return [{ set: path, value: content === "" ? [block] : [{ type: "text", text: content }, block] }];
  return Array.isArray(content) ? [{ append: path, value: block }] : undefined;
}

const head = ({ body }: Asked): Json => ({
  id: fresh("msg_"),
  type: "message",
  role: "assistant",
  model: text(body["model"]) ?? "loopwarden",
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 0, output_tokens: 0 },
});

const block = (index: number, said: string): object[] => [
  { type: "content_block_start", index, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index, delta: { type: "text_delta", text: said } },
  { type: "content_block_stop", index },
];

const end = (reason: string, tokens: number): object[] => [
  { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: tokens } },
  { type: "message_stop" },
];

/** A streamed answer. */
class Message implements Answer {
  readonly #asked: Asked;
  #begun = false;
  /** The open content block. */
  #open: { index: number; type: string } | undefined;
  /** The number of blocks so far. */
  #blocks = 0;
  #characters = 0;

  constructor(asked: Asked) {
    this.#asked = asked;
  }

  read({ data }: SseEvent): readonly Delta[] {
    const event = parsed(data);
    switch (event?.["type"]) {
      case "message_start":
        this.#begun = true;
        break;
      case "content_block_start": {
        const index = count(event["index"]) ?? this.#blocks;
        this.#open = { index, type: text(at(event, "content_block", "type")) ?? "" };
        this.#blocks = Math.max(this.#blocks, index + 1);
        break;
      }
      case "content_block_stop":
        this.#open = undefined;
        break;
      case "content_block_delta": {
        const said = text(at(event, "delta", "text"));
        const thought = text(at(event, "delta", "thinking"));
        const delta = said ?? thought;
        if (!delta) break;
        this.#characters += delta.length;
        return [{ text: delta, channel: said === undefined ? "reasoning" : "text", choice: 0 }];
      }
    }
    return [];
  }

  close(note: string): string {
    const open = this.#open;
    const events: object[] = this.#begun ? [] : [{ type: "message_start", message: head(this.#asked) }];
    if (open?.type === "text")
      events.push({ type: "content_block_delta", index: open.index, delta: { type: "text_delta", text: note } });
    if (open) events.push({ type: "content_block_stop", index: open.index });
    if (open?.type !== "text") events.push(...block(this.#blocks, note.trimStart()));
    // The streamed part is billed, but its token count was cut off: estimated at four characters per token.
    events.push(...end("max_tokens", Math.ceil((this.#characters + note.length) / 4)));
    return sse(events, true);
  }
}
