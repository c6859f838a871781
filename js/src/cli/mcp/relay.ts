// Relays lines between the client, which started this program, and a server.

import { setImmediate } from "node:timers/promises";
import { InputError, reasonOf } from "../failure.ts";
import { tell } from "../print.ts";
import type { McpJudge } from "./judge.ts";

/** A connection to a server. */
export interface Server {
  /** Whether it started: false for a program that could not be started. */
  hasBegun: boolean;
  /** Sends a message; waits while the server is slower. */
  send(line: Uint8Array): Promise<void>;
  /** The server's messages, until the end of its output. */
  lines(): AsyncIterable<Uint8Array>;
  /** Tells the server that the client has closed. */
  end(): void;
  /** Stops the server, whatever it is doing, because its output cannot be read. */
  stop(): void;
  /** Resolves to the exit code for this program once the server has ended. */
  ended: Promise<number>;
}

const NEWLINE = 10;
/** Maximum length of a line in bytes: a longer one is no message and would exhaust the memory. */
const LONGEST = 64 << 20;

/**
 * Splits bytes into lines, including their line feeds; the last one may have none.
 *
 * @throws {InputError} once a line exceeds 64 MiB.
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...rest, chunk.subarray(start, end + 1)]);
      rest = [];
      length = 0;
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > LONGEST) throw new InputError("a line is longer than 64 MiB");
  }
  if (rest.length > 0) yield Buffer.concat(rest);
}

const bytes = (line: string): Uint8Array => Buffer.from(`${line}\n`);
const textOf = (line: Uint8Array): string =>
  Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString("utf8");

/** Writes to the client; waits while it is slower. */
async function toClient(line: Uint8Array): Promise<void> {
  if (process.stdout.write(line)) return;
  await new Promise<void>((resolve) => process.stdout.once("drain", resolve));
}

/** Relays in both directions until the server has ended; returns the exit code. */
export async function relay(server: Server, judge: McpJudge): Promise<number> {
  const up = (async () => {
    for await (const line of linesOf(process.stdin)) {
      const routed = judge.fromClient(textOf(line));
      if (routed === undefined) await server.send(line);
      else {
        for (const one of routed.toServer) await server.send(bytes(one));
        for (const one of routed.toClient) await toClient(bytes(one));
      }
    }
    server.end();
  })();
  const down = (async () => {
    for await (const line of server.lines()) {
      // Parallel calls are one round, even if the first is answered before the last is read: read what the client has
      // written by now before handling the answer. The event loop reads in the second turn.
      await setImmediate();
      await setImmediate();
      const routed = judge.fromServer(textOf(line));
      if (routed === undefined) await toClient(line);
      else for (const one of routed.toClient) await toClient(bytes(one));
    }
  })();
  let isOver = false;
  // A client that disconnects in the middle of a line has closed as well.
  up.catch((error: unknown) => {
    // Reading was stopped because the server has ended.
    if (isOver) return;
    tell(`loopwarden: the client cannot be read: ${reasonOf(error)}`);
    server.end();
  });
  try {
    let unread = 0;
    await down.catch((error: unknown) => {
      tell(`loopwarden: the server cannot be read: ${reasonOf(error)}`);
      unread = 1;
      server.stop();
    });
    return (await server.ended) || unread;
  } finally {
    isOver = true;
    // Otherwise the open standard input would keep the program alive.
    process.stdin.destroy();
  }
}
