// Lines between the client, which started this program, and a server.

import { setImmediate } from "node:timers/promises";
import { InputError, reasonOf } from "../failure.ts";
import { tell } from "../print.ts";
import type { McpJudge } from "./judge.ts";

/** A server that is talked to. */
export interface Server {
  /** Whether there is one: a program that could not be started has ended already. */
  hasBegun: boolean;
  /** Hands a message over; waits where the server is slower. */
  send(line: Uint8Array): Promise<void>;
  /** The messages of the server as they come, until there will be no more. */
  lines(): AsyncIterable<Uint8Array>;
  /** The client has said its last word. */
  end(): void;
  /** What it says cannot be read: it is to end, whatever it is doing. */
  stop(): void;
  /** Ends with the exit code that this program is to have. */
  ended: Promise<number>;
}

const NEWLINE = 10;
/** Bytes of a line: what goes on for longer is no message, and would take all memory before it ends. */
const LONGEST = 64 << 20;

/**
 * Cuts bytes into lines, each with its end. What has no end comes last.
 *
 * @throws {InputError} for a line of more than 64 MiB, before all of it is there.
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
    if (length > LONGEST) throw new InputError("a line goes on for more than 64 MiB");
  }
  if (rest.length > 0) yield Buffer.concat(rest);
}

const bytes = (line: string): Uint8Array => Buffer.from(`${line}\n`);
const textOf = (line: Uint8Array): string =>
  Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString("utf8");

/** Writes to the client, and waits where it is slower. */
async function toClient(line: Uint8Array): Promise<void> {
  if (process.stdout.write(line)) return;
  await new Promise<void>((resolve) => process.stdout.once("drain", resolve));
}

/** Passes everything on, both ways, until the server has ended; tells its exit code. */
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
      // Calls that were made together are one try, also where the first is answered before the last is read: what the
      // client has written by now comes first. The second turn of the loop is the one that reads.
      await setImmediate();
      await setImmediate();
      const routed = judge.fromServer(textOf(line));
      if (routed === undefined) await toClient(line);
      else for (const one of routed.toClient) await toClient(bytes(one));
    }
  })();
  let isOver = false;
  // A client that goes away in the middle of a line has ended as well.
  up.catch((error: unknown) => {
    // Where the server has ended nobody reads on.
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
    // Otherwise what is still to come from the client would keep the program alive.
    process.stdin.destroy();
  }
}
