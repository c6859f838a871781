// A server that is a program. Its lines are handed over as they are: the transports of the SDK read every message by their
// schemas, drop what does not fit and keep the exit code to themselves.

import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { tell } from "../print.ts";
import { linesOf, type Server } from "./relay.ts";

/** Milliseconds that a server gets to end after a signal. */
const GRACE = 5_000;
/** What a shell says of a command that is not there, and of one that cannot be run. */
const NOT_FOUND = 127;
const NOT_RUN = 126;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Starts a server. Its standard error is this program's own. */
export function start(command: string, args: readonly string[]): Server {
  const [file, given, options] = started(command, args);
  const child = spawn(file, given, { ...options, stdio: ["pipe", "pipe", "inherit"], windowsHide: true });
  const { stdin, stdout } = child as ChildProcess & { stdin: Writable; stdout: Readable };
  // That it has ended is told by its end, not by what could not be written any more.
  stdin.on("error", () => {});
  /** Whether it was told to end. */
  let isAsked = false;
  const signalled = (signal: NodeJS.Signals) => {
    isAsked = true;
    child.kill(signal);
    setTimeout(() => child.kill("SIGKILL"), GRACE).unref();
  };
  for (const signal of SIGNALS) process.on(signal, signalled);
  const ended = new Promise<number>((resolve) => {
    child.on("error", (error: NodeJS.ErrnoException) => {
      const missing = error.code === "ENOENT";
      tell(`loopwarden: ${command}: ${missing ? "no such command" : error.message}`);
      resolve(missing ? NOT_FOUND : NOT_RUN);
    });
    child.on("close", (code, signal) => {
      if (!isAsked && child.pid !== undefined)
        tell(`loopwarden: the server ${signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`}`);
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  }).finally(() => {
    for (const signal of SIGNALS) process.off(signal, signalled);
  });
  return {
    hasBegun: child.pid !== undefined,
    ended,
    lines: () => linesOf(stdout),
    end: () => {
      isAsked = true;
      stdin.end();
    },
    stop: () => signalled("SIGTERM"),
    send: async (line) => {
      if (stdin.destroyed || stdin.writableEnded || stdin.write(line)) return;
      await new Promise<void>((resolve) => {
        stdin.once("drain", resolve);
        stdin.once("close", resolve);
      });
    },
  };
}

/** What `cmd.exe` reads as its own. */
const ACTS = /([()\][%!^"`<>&|;, *?])/g;

/** How a command is started on this system. Windows starts scripts such as `npx` by its shell alone. */
export function started(
  command: string,
  args: readonly string[],
  platform: NodeJS.Platform = process.platform,
): [file: string, args: string[], options: { windowsVerbatimArguments?: boolean }] {
  if (platform !== "win32" || /\.(?:exe|com)$/i.test(command)) return [command, [...args], {}];
  const quoted = args.map((arg) => {
    // A backslash before a quotation mark is read twice, once by the shell and once by the program.
    const escaped = arg.replaceAll(/(\\*)"/g, '$1$1\\"').replace(/(\\*)$/, "$1$1");
    // Scripts hand their arguments to another command line.
    return `"${escaped}"`.replaceAll(ACTS, "^$1").replaceAll(ACTS, "^$1");
  });
  const line = [command.replaceAll(ACTS, "^$1"), ...quoted].join(" ");
  return [process.env["ComSpec"] ?? "cmd.exe", ["/d", "/s", "/c", `"${line}"`], { windowsVerbatimArguments: true }];
}
