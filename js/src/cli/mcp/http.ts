// A server behind streamable HTTP, using the transport of the official SDK, which handles sessions, streams and their
// resumption. This file and the SDK are only loaded for `--url`.

import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { tell } from "../print.ts";
import type { Server } from "./relay.ts";

/** Time in milliseconds for pending requests and the session's termination after the client has closed. */
const GRACE = 2_000;

/**
 * Connects to a server.
 *
 * @param failed - Called with a message that did not reach the server; returns the answers for the client.
 */
export function connect(
  url: URL,
  headers: Record<string, string>,
  failed: (line: string, reason: string) => string[],
): Server {
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } });
  const ready: Uint8Array[] = [];
  let wake: (() => void) | undefined;
  let over = false;
  const push = (text: string) => {
    ready.push(Buffer.from(`${text}\n`));
    wake?.();
  };
  /** The id of the `initialize` request, whose answer contains the protocol version. */
  let initialize: unknown;
  /** Ids of requests without an answer. */
  const pending = new Set<unknown>();
  let answered: (() => void) | undefined;
  transport.onmessage = (message: JSONRPCMessage) => {
    if (!("method" in message) && "id" in message && pending.delete(message.id)) answered?.();
    if ("result" in message && message.id === initialize) {
      const version = (message.result as { protocolVersion?: unknown }).protocolVersion;
      if (typeof version === "string") transport.setProtocolVersion?.(version);
    }
    push(JSON.stringify(message));
  };
  const told = new Set<string>();
  transport.onerror = (error) => {
    // Streams that break and reconnect are only reported once.
    if (over || told.has(error.message)) return;
    told.add(error.message);
    tell(`loopwarden: ${url.host}: ${error.message}`);
  };
  const began = transport.start();
  let finish: (code: number) => void;
  const ended = new Promise<number>((resolve) => {
    finish = resolve;
  });
  const end = async () => {
    if (over) return;
    const late = new Promise((resolve) => setTimeout(resolve, GRACE).unref());
    const all = new Promise<void>((resolve) => {
      answered = () => pending.size === 0 && resolve();
      answered();
    });
    await Promise.race([all, late]);
    over = true;
    await Promise.race([transport.terminateSession().catch(() => {}), late]);
    await transport.close();
    wake?.();
    finish(0);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => void end());
  return {
    hasBegun: true,
    ended,
    end: () => void end(),
    stop: () => void end(),
    async *lines() {
      for (;;) {
        const next = ready.shift();
        if (next !== undefined) yield next;
        else if (over) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
    async send(line) {
      const text = Buffer.from(line).toString("utf8").trim();
      if (text === "") return;
      let message: JSONRPCMessage;
      try {
        message = JSON.parse(text);
      } catch {
        // The answer that a server would give, but this cannot be sent.
        push(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } }));
        return;
      }
      await began;
      const isInitialize = "method" in message && message.method === "initialize" && "id" in message;
      if (isInitialize && "id" in message) initialize = message.id;
      const request = "method" in message && "id" in message ? message.id : undefined;
      if (request !== undefined) pending.add(request);
      const sent = transport.send(message).catch((error: unknown) => {
        for (const answer of failed(text, reason(error))) push(answer);
        if (pending.delete(request)) answered?.();
      });
      // Later messages need the session that this one begins.
      if (isInitialize || ("method" in message && message.method === "notifications/initialized")) await sent;
    },
  };
}

function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return `the server could not be reached: ${message}${cause}`;
}
