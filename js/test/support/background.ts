import { type ChildProcess, spawn } from "node:child_process";

/** A program that goes on while a test talks to it. */
export class Background implements AsyncDisposable {
  readonly child: ChildProcess;
  stdout = "";
  stderr = "";
  readonly ended: Promise<number | null>;
  #heard: (() => void)[] = [];

  constructor(command: string, args: string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
    this.child = spawn(command, args, { cwd: options.cwd, env: { ...process.env, NO_COLOR: "1", ...options.env } });
    for (const name of ["stdout", "stderr"] as const) {
      this.child[name]?.setEncoding("utf8").on("data", (text: string) => {
        this[name] += text;
        for (const heard of this.#heard.splice(0)) heard();
      });
    }
    this.ended = new Promise((resolve) => {
      this.child.on("close", (code) => {
        resolve(code);
        for (const heard of this.#heard.splice(0)) heard();
      });
    });
  }

  /** Waits until the program has written what is wanted; fails with all it wrote where that does not come. */
  async until(
    wanted: RegExp | (() => boolean),
    name: "stdout" | "stderr" = "stdout",
    milliseconds = 20_000,
  ): Promise<void> {
    const late = Date.now() + milliseconds;
    while (typeof wanted === "function" ? !wanted() : !wanted.test(this[name])) {
      const hasEnded = this.child.exitCode !== null || this.child.signalCode !== null;
      if (hasEnded || Date.now() > late)
        throw new Error(
          `${hasEnded ? "it ended" : "it took too long"} before ${wanted}\n${this.stdout}\n${this.stderr}`,
        );
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 500);
        this.#heard.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** Ends it as Ctrl-C does, and tells its exit code. */
  async stop(signal: NodeJS.Signals = "SIGINT"): Promise<number | null> {
    this.child.kill(signal);
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.ended;
  }
}
