// Adapts a Fetch handler to Node's HTTP server: bodies stream in both directions with backpressure, and a disconnected
// client aborts the request.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isIP } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream as WebStream } from "node:stream/web";

/** The limits of a server. */
export interface Grants {
  /** Maximum number of concurrent connections. */
  connections: number;
  /** Maximum time for the head of a request, in milliseconds. */
  head: number;
  /** Maximum pause within a request body, in milliseconds. */
  pause: number;
  /** The host name accepted besides this machine's own; undefined accepts any. */
  host: string | undefined;
}

/** How long a connection is kept between two requests, in milliseconds: longer than clients keep theirs, or one of them
 * may send its next request just as the connection is closed. */
const IDLE = 120_000;

export const GRANTS: Grants = { connections: 4096, head: 60_000, pause: 120_000, host: undefined };

/** Creates a server that answers requests with a handler; `failed` receives its errors, which are answered with 502. */
export function served(
  handler: (request: Request) => Promise<Response>,
  failed: (error: unknown) => void,
  grants: Partial<Grants> = {},
): Server {
  const { connections, head, pause, host } = { ...GRANTS, ...grants };
  const checks = Math.min(head, 30_000);
  const options = {
    keepAlive: true,
    keepAliveTimeout: IDLE,
    headersTimeout: head,
    requestTimeout: 0,
    connectionsCheckingInterval: checks,
  };
  const server = createServer(options, (request, response) => {
    if (host !== undefined && !isHere(request.headers.host, host))
      return refuse(
        response,
        421,
        `${request.headers.host} is no name of this machine: use ${host}, localhost or *.internal, or another --host\n`,
      );
    hurry(request, response, pause);
    answer(handler, request, response).catch((error) => {
      // The client disconnected in the middle of its request.
      if (request.destroyed && !request.complete) return;
      if (error instanceof NoRequest) return refuse(response, error.status, error.message);
      failed(error);
      // A truncated answer must not look complete.
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    });
  });
  // A model may take any time to answer: only the arrival of requests has time limits.
  server.timeout = 0;
  server.maxConnections = connections;
  return server;
}

/** Thrown for a request that cannot be passed on, with the status of the answer. */
class NoRequest extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

function refuse(response: ServerResponse, status: number, why: string): void {
  response.writeHead(status, { "content-type": "text/plain", connection: "close" }).end(why);
}

/** Ends a connection whose request stalls before it is complete. */
function hurry(incoming: IncomingMessage, outgoing: ServerResponse, pause: number): void {
  const late = () => {
    if (incoming.complete) return;
    // Unread data waits for upstream, not for the client.
    if (incoming.readableLength > 0) incoming.socket.setTimeout(pause);
    else if (outgoing.headersSent) incoming.socket.destroy();
    else {
      refuse(outgoing, 408, "the request did not arrive");
      outgoing.on("finish", () => incoming.socket.destroy());
    }
  };
  if (incoming.complete) return;
  incoming.socket.setTimeout(pause);
  incoming.on("timeout", late);
  incoming.on("end", () => {
    // Once the answer is written, the server's own keep-alive timeout applies.
    if (!outgoing.writableFinished) incoming.socket.setTimeout(0);
  });
}

/** Whether the Host header names this machine, which prevents DNS rebinding: a foreign name may resolve to it. */
function isHere(named: string | undefined, host: string): boolean {
  // HTTP/1.0 programs send no Host header; browsers always do.
  if (named === undefined) return true;
  const name = named
    .replace(/:\d*$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "")
    .toLowerCase();
  if (isIP(name) > 0 || name === host.toLowerCase()) return true;
  return name === "localhost" || /\.(?:localhost|internal)$/.test(name);
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
  // Keeps the request alive, because its signal only works as long as the request is referenced.
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
  // The head of an answer may come long before its first byte.
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
  if (incoming.headers.upgrade?.toLowerCase() === "websocket")
    throw new NoRequest(501, "WebSockets are not passed on: use HTTP, or connect to the API itself\n");
  // The Fetch standard forbids these methods.
  if (["TRACE", "TRACK", "CONNECT"].includes(method.toUpperCase())) throw new NoRequest(501, `no ${method} here`);
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  const has = !["GET", "HEAD"].includes(method) && (headers.has("content-length") || headers.has("transfer-encoding"));
  const init: RequestInit & { duplex: "half" } = {
    method,
    headers,
    signal,
    duplex: "half",
    ...(has && { body: Readable.toWeb(incoming) as WebStream as ReadableStream<Uint8Array> }),
  };
  return new Request(`http://localhost${place(incoming.url ?? "/")}`, init);
}

/** The path and query of a request's target, which may also be an absolute URL. */
function place(url: string): string {
  if (url.startsWith("/")) return url;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw new NoRequest(400, "the address cannot be read");
  const { pathname, search } = new URL(url);
  return pathname + search;
}
