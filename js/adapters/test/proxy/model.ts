// A server with the vendors' APIs and a script in place of a model. Records requests as received.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** An answer of the scripted model: text, calls, or both. */
export interface Turn {
  text?: string;
  calls?: { name: string; args: Record<string, unknown> }[];
  /** An HTTP error instead. */
  status?: number;
  /** The chunks of a text that never ends by itself. */
  forever?: (piece: number) => string;
  /** The number of chunks after which the connection breaks. */
  breaksAfter?: number;
}

/** A request as received. */
export interface Received {
  path: string;
  headers: IncomingMessage["headers"];
  body: Buffer;
  json: () => Record<string, unknown>;
  /** Whether the client disconnected before the answer was complete. */
  aborted: boolean;
  /** The answer sent so far. */
  sent: string;
}

export type Script = (request: Received, index: number) => Turn | Promise<Turn>;

export interface Model extends AsyncDisposable {
  url: string;
  received: Received[];
  script: Script;
}

/** Starts the server. */
export async function model(script: Script): Promise<Model> {
  const received: Received[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      const body = Buffer.concat(chunks);
      const own: Received = {
        path: request.url ?? "",
        headers: request.headers,
        body,
        json: () => JSON.parse(body.toString()),
        aborted: false,
        sent: "",
      };
      received.push(own);
      response.on("close", () => {
        own.aborted = !response.writableFinished;
      });
      const write = response.write.bind(response);
      response.write = ((chunk: string) => {
        own.sent += chunk;
        return write(chunk);
      }) as typeof response.write;
      await speak(await self.script(own, received.length - 1), own, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const self: Model = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    script,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return self;
}

let ids = 0;

async function speak(turn: Turn, request: Received, response: ServerResponse): Promise<void> {
  if (turn.status !== undefined) {
    response.writeHead(turn.status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { type: "invalid_request_error", message: "scripted" } }));
    return;
  }
  const { pathname } = new URL(request.path, "http://localhost");
  const body = request.json();
  const id = `${++ids}`;
  const api = pathname.endsWith("/chat/completions")
    ? chat
    : pathname.endsWith("/responses")
      ? responses
      : pathname.endsWith("/messages")
        ? anthropic
        : gemini;
  const streams = body["stream"] === true || pathname.endsWith(":streamGenerateContent");
  if (!streams) {
    response.writeHead(200, { "content-type": "application/json", "x-request-id": id });
    const text = JSON.stringify(api(id, turn, body).whole);
    request.sent = text;
    response.end(text);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream", "x-request-id": id });
  const pieces = turn.forever ? endless(turn.forever) : ((turn.text ?? "").match(/.{1,12}/gs) ?? []);
  const { begin, piece, end } = api(id, turn, body);
  response.write(begin);
  let count = 0;
  for (const one of pieces) {
    if (response.destroyed) return;
    if (turn.breaksAfter !== undefined && count++ >= turn.breaksAfter) {
      response.socket?.destroy();
      return;
    }
    if (!response.write(piece(one)))
      await new Promise((resolve) => response.once("drain", resolve).once("close", resolve));
    // So that mostly every chunk is a separate packet.
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.write(end);
  response.end();
}

function* endless(make: (piece: number) => string): Generator<string> {
  for (let piece = 0; piece < 100_000; piece++) yield make(piece);
}

interface Spoken {
  whole: object;
  begin: string;
  piece: (text: string) => string;
  end: string;
}

const data = (event: object, name?: string): string =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(event)}\n\n`;

function chat(id: string, { text, calls }: Turn, body: Record<string, unknown>): Spoken {
  const head = { id: `chatcmpl-${id}`, created: 1_700_000_000, model: body["model"] };
  const tools = calls?.map(({ name, args }, index) => ({
    id: `call_${id}_${index}`,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
  const finish = tools ? "tool_calls" : "stop";
  const chunk = (delta: object, finish_reason: string | null = null) =>
    data({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] });
  return {
    whole: {
      ...head,
      object: "chat.completion",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: text ?? null, ...(tools && { tool_calls: tools }) },
          finish_reason: finish,
        },
      ],
      usage: { prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 },
    },
    begin: chunk({ role: "assistant", content: "" }),
    piece: (content) => chunk({ content }),
    end:
      (tools ?? []).map((call, index) => chunk({ tool_calls: [{ index, ...call }] })).join("") +
      chunk({}, finish) +
      "data: [DONE]\n\n",
  };
}

function anthropic(id: string, { text, calls }: Turn, body: Record<string, unknown>): Spoken {
  const head = { id: `msg_${id}`, type: "message", role: "assistant", model: body["model"] };
  const tools = (calls ?? []).map(({ name, args }, index) => ({
    type: "tool_use",
    id: `toolu_${id}_${index}`,
    name,
    input: args,
  }));
  const stop_reason = calls ? "tool_use" : "end_turn";
  const usage = { input_tokens: 9, output_tokens: 1 };
  const event = (one: { type: string } & Record<string, unknown>) => data(one, one.type);
  return {
    whole: {
      ...head,
      content: [...(text === undefined ? [] : [{ type: "text", text }]), ...tools],
      stop_reason,
      stop_sequence: null,
      usage,
    },
    begin:
      event({
        type: "message_start",
        message: { ...head, content: [], stop_reason: null, stop_sequence: null, usage },
      }) + event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    piece: (said) => event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: said } }),
    end:
      event({ type: "content_block_stop", index: 0 }) +
      tools
        .map(
          ({ input, ...tool }, index) =>
            event({ type: "content_block_start", index: index + 1, content_block: { ...tool, input: {} } }) +
            event({
              type: "content_block_delta",
              index: index + 1,
              delta: { type: "input_json_delta", partial_json: JSON.stringify(input) },
            }) +
            event({ type: "content_block_stop", index: index + 1 }),
        )
        .join("") +
      event({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 9 } }) +
      event({ type: "message_stop" }),
  };
}

function gemini(id: string, { text, calls }: Turn): Spoken {
  // This vendor's calls have no ids.
  const parts = (calls ?? []).map(({ name, args }) => ({ functionCall: { name, args } }));
  const said = text === undefined ? [] : [{ text }];
  const whole = (own: object[], finishReason?: string) => ({
    candidates: [{ content: { role: "model", parts: own }, ...(finishReason && { finishReason }), index: 0 }],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 9, totalTokenCount: 18 },
    modelVersion: "scripted",
    responseId: id,
  });
  return {
    whole: whole([...said, ...parts], "STOP"),
    begin: "",
    piece: (piece) => data(whole([{ text: piece }])),
    end: data(whole(parts.length > 0 ? parts : [{ text: "" }], "STOP")),
  };
}

function responses(id: string, { text, calls }: Turn, body: Record<string, unknown>): Spoken {
  const message = {
    type: "message",
    id: `msg_${id}`,
    status: "completed",
    role: "assistant",
    content: [{ type: "output_text", text: text ?? "", annotations: [] }],
  };
  const tools = (calls ?? []).map(({ name, args }, index) => ({
    type: "function_call",
    id: `fc_${id}_${index}`,
    call_id: `call_${id}_${index}`,
    name,
    arguments: JSON.stringify(args),
    status: "completed",
  }));
  const head = { id: `resp_${id}`, object: "response", created_at: 1_700_000_000, model: body["model"], tools: [] };
  const output = [...(text === undefined ? [] : [message]), ...tools];
  const whole = { ...head, status: "completed", error: null, incomplete_details: null, output, usage: null };
  let number = 0;
  const event = (one: { type: string } & Record<string, unknown>) =>
    data({ ...one, sequence_number: number++ }, one.type);
  const where = { item_id: message.id, output_index: 0, content_index: 0 };
  const begun = { ...head, status: "in_progress", output: [] };
  return {
    whole,
    begin:
      event({ type: "response.created", response: begun }) +
      event({
        type: "response.output_item.added",
        output_index: 0,
        item: { ...message, status: "in_progress", content: [] },
      }) +
      event({
        type: "response.content_part.added",
        ...where,
        part: { type: "output_text", text: "", annotations: [] },
      }),
    piece: (delta) => event({ type: "response.output_text.delta", ...where, delta, logprobs: [] }),
    get end() {
      return (
        event({ type: "response.output_text.done", ...where, text: text ?? "", logprobs: [] }) +
        event({ type: "response.content_part.done", ...where, part: message.content[0] }) +
        event({ type: "response.output_item.done", output_index: 0, item: message }) +
        tools
          .map(
            (item, index) =>
              event({
                type: "response.output_item.added",
                output_index: index + 1,
                item: { ...item, arguments: "", status: "in_progress" },
              }) +
              event({
                type: "response.function_call_arguments.delta",
                item_id: item.id,
                output_index: index + 1,
                delta: item.arguments,
              }) +
              event({
                type: "response.function_call_arguments.done",
                item_id: item.id,
                output_index: index + 1,
                name: item.name,
                arguments: item.arguments,
              }) +
              event({ type: "response.output_item.done", output_index: index + 1, item }),
          )
          .join("") +
        event({ type: "response.completed", response: { ...whole, output: [message, ...tools] } })
      );
    },
  };
}
