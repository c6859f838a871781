// Node's server in front of a handler of the Fetch standard: bodies stream both ways at the pace of whoever reads them, and
// who goes away is heard of.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { ReadableStream as WebStream } from "node:stream/web";

/** A server that answers with what a handler says; `failed` hears of what it throws. */
export function served(handler: (request: Request) => Promise<Response>, failed: (error: unknown) => void): Server {
  const server = createServer({ keepAlive: true }, (request, response) => {
    answer(handler, request, response).catch((error) => {
      failed(error);
      // Half an answer must not look like a whole one.
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    });
  });
  // A model may think for as long as it likes, and so may who asks it.
  server.requestTimeout = 0;
  server.timeout = 0;
  return server;
}

async function answer(
  handler: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.on("close", () => {
    if (!outgoing.writableFinished) gone.abort();
  });
  const request = asRequest(incoming, gone.signal);
  // A request holds on to its signal only as long as somebody holds on to the request.
  gone.signal.addEventListener("abort", () => void request);
  const response = await handler(request);
  if (outgoing.destroyed) {
    await response.body?.cancel().catch(() => {});
    return;
  }
  const headers: string[] = [];
  for (const [name, value] of response.headers) headers.push(name, value);
  outgoing.writeHead(response.status, response.statusText, headers);
  if (!response.body || incoming.method === "HEAD") {
    outgoing.end();
    return;
  }
  // An answer may begin long before its first byte.
  outgoing.flushHeaders();
  const reader = response.body.getReader();
  gone.signal.addEventListener("abort", () => void reader.cancel().catch(() => {}));
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (!outgoing.write(value) && !gone.signal.aborted) await drained(outgoing, gone.signal);
    }
    if (!gone.signal.aborted) outgoing.end();
  } catch (error) {
    await reader.cancel(error).catch(() => {});
    outgoing.destroy();
  }
}

function drained(outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off("drain", done);
      gone.removeEventListener("abort", done);
      resolve();
    };
    outgoing.once("drain", done);
    gone.addEventListener("abort", done);
  });
}

function asRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  const { rawHeaders, method = "GET" } = incoming;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  const has = !["GET", "HEAD"].includes(method) && (headers.has("content-length") || headers.has("transfer-encoding"));
  const init: RequestInit & { duplex: "half" } = {
    method,
    headers,
    signal,
    duplex: "half",
    ...(has && { body: Readable.toWeb(incoming) as WebStream as ReadableStream<Uint8Array> }),
  };
  // A request may name all of an address; then only its path is meant.
  const path = incoming.url?.startsWith("/") ? incoming.url : new URL(incoming.url ?? "/", "http://localhost").pathname;
  return new Request(`http://localhost${path}`, init);
}
