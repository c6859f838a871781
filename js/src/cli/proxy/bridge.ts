// Node's server in front of a handler of the Fetch standard: bodies stream both ways at the pace of whoever reads them, and
// who goes away is heard of.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isIP } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream as WebStream } from "node:stream/web";

/** What a server grants those who connect to it. */
export interface Grants {
  /** Connections at once. */
  connections: number;
  /** Milliseconds that the head of a request may take. */
  head: number;
  /** Milliseconds that its body may stand still. */
  pause: number;
  /** The name that it is reached by, beside this machine's own; nothing where any name will do. */
  host: string | undefined;
}

export const GRANTS: Grants = { connections: 4096, head: 60_000, pause: 120_000, host: undefined };

/** A server that answers with what a handler says; `failed` hears of what it throws. */
export function served(
  handler: (request: Request) => Promise<Response>,
  failed: (error: unknown) => void,
  grants: Partial<Grants> = {},
): Server {
  const { connections, head, pause, host } = { ...GRANTS, ...grants };
  const checks = Math.min(head, 30_000);
  const options = { keepAlive: true, headersTimeout: head, requestTimeout: 0, connectionsCheckingInterval: checks };
  const server = createServer(options, (request, response) => {
    if (host !== undefined && !isHere(request.headers.host, host)) return refuse(response, 421, "not here");
    hurry(request, response, pause);
    answer(handler, request, response).catch((error) => {
      // Who went away in the middle is no news, and nobody to answer.
      if (request.destroyed && !request.complete) return;
      if (error instanceof NoRequest) return refuse(response, error.status, error.message);
      failed(error);
      // Half an answer must not look like a whole one.
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    });
  });
  // A model may think for as long as it likes, and so may who has asked it: only what is not asked yet is to come soon.
  server.timeout = 0;
  server.maxConnections = connections;
  return server;
}

/** What cannot be a request to a model, and the status that says so. */
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

/** Ends a connection whose request comes to a stop before it is whole. */
function hurry(incoming: IncomingMessage, outgoing: ServerResponse, pause: number): void {
  const late = () => {
    if (incoming.complete) return;
    // What waits to be read waits for upstream, and not for the client.
    if (incoming.readableLength > 0) incoming.socket.setTimeout(pause);
    else if (outgoing.headersSent) incoming.socket.destroy();
    else {
      refuse(outgoing, 408, "the request does not come");
      outgoing.on("finish", () => incoming.socket.destroy());
    }
  };
  if (incoming.complete) return;
  incoming.socket.setTimeout(pause);
  incoming.on("timeout", late);
  incoming.on("end", () => {
    // Afterwards the server counts itself how long a connection is kept.
    if (!outgoing.writableFinished) incoming.socket.setTimeout(0);
  });
}

/** Whether a request is meant for this address. A name that somebody else's server resolves to this machine is another one. */
function isHere(named: string | undefined, host: string): boolean {
  // Programs that speak HTTP/1.0 name nobody; browsers always do.
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
  // The Fetch standard knows no such requests.
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

/** The path of a request and what follows it. A request may name all of an address; then only these are meant. */
function place(url: string): string {
  if (url.startsWith("/")) return url;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw new NoRequest(400, "the address cannot be read");
  const { pathname, search } = new URL(url);
  return pathname + search;
}
