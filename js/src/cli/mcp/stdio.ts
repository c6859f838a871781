// A server that is a program. Its lines are passed on unchanged: the SDK's transports parse every message with their
// schemas, drop what does not match and do not expose the exit code.

import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { tell } from "../print.ts";
import { linesOf, type Server } from "./relay.ts";

/** Time that a server gets to end after a signal, in milliseconds. */
const GRACE = 5_000;
/** The exit codes of shells for a command that does not exist and for one that cannot be run. */
const NOT_FOUND = 127;
const NOT_RUN = 126;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Starts a server. It shares this program's standard error. */
export function start(command: string, args: readonly string[]): Server {
  const [file, given, options] = started(command, args);
  const child = spawn(file, given, { ...options, stdio: ["pipe", "pipe", "inherit"], windowsHide: true });
  const { stdin, stdout } = child as ChildProcess & { stdin: Writable; stdout: Readable };
  // The end of the server is reported by `close`, not by failed writes.
  stdin.on("error", () => {});
  /** Whether the server was asked to end. */
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

/** The characters that are special to `cmd.exe`. */
const ACTS = /([()\][%!^"`<>&|;, *?])/g;

/** How to spawn a command on this system. On Windows, scripts such as `npx` can only be started through the shell. */
export function started(
  command: string,
  args: readonly string[],
  platform: NodeJS.Platform = process.platform,
): [file: string, args: string[], options: { windowsVerbatimArguments?: boolean }] {
  if (platform !== "win32" || /\.(?:exe|com)$/i.test(command)) return [command, [...args], {}];
  const quoted = args.map((arg) => {
    // Backslashes before a quotation mark have to be doubled for the program's argument parser.
    const escaped = arg.replaceAll(/(\\*)"/g, '$1$1\\"').replace(/(\\*)$/, "$1$1");
    // Escaped twice: scripts pass their arguments to another command line.
    return `"${escaped}"`.replaceAll(ACTS, "^$1").replaceAll(ACTS, "^$1");
  });
  const line = [command.replaceAll(ACTS, "^$1"), ...quoted].join(" ");
  return [process.env["ComSpec"] ?? "cmd.exe", ["/d", "/s", "/c", `"${line}"`], { windowsVerbatimArguments: true }];
}
