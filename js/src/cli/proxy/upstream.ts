// Sends requests upstream with Node's own HTTP client. The built-in `fetch` decompresses bodies, which then differ from
// what was sent, and times out if a model takes more than five minutes.
import { Agent, request as http, type IncomingMessage, type RequestOptions } from "node:http";
import { request as https, Agent as SecureAgent } from "node:https";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as WebStream } from "node:stream/web";
import type { LoopProxyOptions } from "loopwarden/proxy";

/** Status codes of answers without a body. */
const EMPTY = [204, 205, 304];

/** A `fetch` that leaves bodies unchanged. `close` closes idle connections. */
export function upstream(): { fetch: NonNullable<LoopProxyOptions["fetch"]>; close: () => void } {
  const agents = [new Agent({ keepAlive: true }), new SecureAgent({ keepAlive: true })] as const;
  return {
    fetch: async (request, bytes) => {
      const agent = agents[request.url.startsWith("https:") ? 1 : 0];
      try {
        return await ask(request, bytes, agent);
      } catch (error) {
        // Upstream closed the kept-alive connection before reading the request: retry on a new one.
        if (bytes === undefined || !(error instanceof Stale) || request.signal.aborted) throw error;
        return await ask(request, bytes, false);
      }
    },
    close: () => {
      for (const agent of agents) agent.destroy();
    },
  };
}

/** Thrown if a kept-alive connection turns out to be closed. */
class Stale extends Error {}

async function ask(
  request: Request,
  bytes: Uint8Array | null | undefined,
  agent: Agent | SecureAgent | false,
): Promise<Response> {
  const headers: Record<string, string> = Object.fromEntries(request.headers);
  const options: RequestOptions = { method: request.method, headers, agent, signal: request.signal };
  const outgoing = (request.url.startsWith("https:") ? https : http)(request.url, options);
  // Small chunks of a stream must not be delayed.
  outgoing.setNoDelay(true);
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on("response", resolve);
    // Unexpected: `upgrade` is not passed on.
    outgoing.on("upgrade", (_, socket) => {
      socket.destroy();
      reject(new Error("upstream answered with the status 101"));
    });
    outgoing.on("error", (cause) => {
      const { code } = cause as NodeJS.ErrnoException;
      const stale = outgoing.reusedSocket && (code === "ECONNRESET" || code === "EPIPE");
      reject(stale ? new Stale("the connection was closed", { cause }) : cause);
    });
  });
  if (bytes !== undefined) {
    outgoing.end(bytes ?? undefined);
  } else if (request.body) {
    const body = request.body as ReadableStream<Uint8Array> as WebStream<Uint8Array>;
    // Upstream may answer and close before it has read everything: its answer counts.
    pipeline(Readable.fromWeb(body), outgoing).catch((error) => outgoing.destroy(error));
  } else {
    outgoing.end();
  }
  const incoming = await answered;
  const { statusCode = 502, statusMessage = "", rawHeaders } = incoming;
  const own = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) own.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  const init = { status: statusCode, statusText: statusMessage, headers: own };
  // A `Response` cannot have such a status.
  if (statusCode < 200 || statusCode > 599) {
    incoming.destroy();
    throw new Error(`upstream answered with the status ${statusCode}`);
  }
  if (EMPTY.includes(statusCode) || request.method === "HEAD") {
    incoming.resume();
    return new Response(null, init);
  }
  return new Response(Readable.toWeb(incoming) as WebStream as ReadableStream<Uint8Array>, init);
}
