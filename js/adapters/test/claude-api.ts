import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { SPENT, type Turn } from "./kit.ts";

/** The relevant fields of a request to the model. */
export interface Asked {
  messages: { role: string; content: string | { type: string; [field: string]: unknown }[] }[];
  tools?: { name: string }[];
}

/** A content block of an answer: a text or a call. */
export type Content = { type: "text"; text: string } | { type: "tool_use"; id: string; name: string; input: unknown };

/** A fake of the vendor's API: `reply` answers every request to the model, as a stream. */
export async function claudeApi(
  reply: (asked: Asked) => Content[] | undefined,
): Promise<{ url: string } & AsyncDisposable> {
  const server: Server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (!request.url?.startsWith("/v1/messages") || request.url.includes("count_tokens")) {
      response.writeHead(404, { "content-type": "application/json" }).end("{}");
      return;
    }
    const content = reply(JSON.parse(body));
    if (content === undefined) {
      response.destroy();
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" }).end(stream(content));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

let answers = 0;

function stream(content: Content[]): string {
  // As usual, most of the input is read from a cache.
  const usage = { input_tokens: 1, cache_read_input_tokens: SPENT.input - 1, output_tokens: SPENT.output };
  answers += 1;
  const events: { type: string; [field: string]: unknown }[] = [
    {
      type: "message_start",
      message: {
        id: `msg-${answers}`,
        type: "message",
        role: "assistant",
        model: "m",
        content: [],
        stop_reason: null,
        usage,
      },
    },
  ];
  for (const [index, block] of content.entries()) {
    const text = block.type === "text";
    events.push({
      type: "content_block_start",
      index,
      content_block: text ? { type: "text", text: "" } : { ...block, input: {} },
    });
    const deltas = text
      ? (block.text.match(/.{1,64}/gs) ?? []).map((piece) => ({ type: "text_delta", text: piece }))
      : [{ type: "input_json_delta", partial_json: JSON.stringify(block.input) }];
    events.push(...deltas.map((delta) => ({ type: "content_block_delta", index, delta })));
    events.push({ type: "content_block_stop", index });
  }
  const calls = content.some(({ type }) => type === "tool_use");
  const ending = { stop_reason: calls ? "tool_use" : "end_turn", stop_sequence: null };
  events.push({ type: "message_delta", delta: ending, usage }, { type: "message_stop" });
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

/** The content of a scripted turn; `name` returns the host's name of a tool, `id` the id of a call. */
export function content(turn: Turn, name: (tool: string) => string, id: (index: number) => string): Content[] {
  const calls = (turn.calls ?? []).map(({ tool, args }, index): Content => {
    return { type: "tool_use", id: id(index), name: name(tool), input: args };
  });
  return [...(turn.text === undefined ? [] : [{ type: "text" as const, text: turn.text }]), ...calls];
}

/** The environment of a session that only talks to that API. */
export function environment(url: string, folder: string): Record<string, string | undefined> {
  return {
    ...process.env,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "test",
    CLAUDE_CONFIG_DIR: folder,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_AUTOUPDATER: "1",
  };
}
