import { spawn } from "node:child_process";

/** What a child process did. */
export interface Result {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end, without a shell; `input` goes to its standard input. */
export function run(
  command: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; input?: string | Uint8Array } = {},
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, NO_COLOR: "1", ...options.env };
    const child = spawn(command, args, { cwd: options.cwd, env });
    const result: Result = { code: null, stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      result.stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      result.stderr += text;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ ...result, code }));
    // A program that does not read its input may be gone before all of it is written.
    child.stdin.on("error", () => {});
    child.stdin.end(options.input);
  });
}
