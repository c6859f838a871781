// The alarms raised when a finding reaches the requested level: a bell, a notification, a command. Nothing from a log
// ever becomes part of a command line that a shell interprets.

import { type ChildProcess, spawn } from "node:child_process";
import type { Finding } from "../generated/types.ts";
import { bare, bell, tell } from "./print.ts";

/** Which alarms are raised. */
export interface Means {
  bell: boolean;
  notify: boolean;
  /** A command for the system's shell. */
  exec?: string | undefined;
}

/** The finding an alarm is about, and where it was found. */
export interface Occasion {
  finding: Finding;
  file: string;
  agent: string;
  line: number;
  /** One line of JSON for the command's standard input. */
  json: string;
}

/** Time that pending commands get at the end, in milliseconds. */
const LAST = 5_000;
/** Maximum number of queued commands: a run with a finding at every step must not fill the memory. */
const WAITING = 100;

/** Raises alarms. Commands run one after the other. */
export class Alarm {
  readonly #means: Means;
  readonly #waiting: Occasion[] = [];
  #running: Promise<void> | undefined;
  #child: ChildProcess | undefined;
  /** Failures already reported, each only once. */
  readonly #failed = new Set<string>();

  constructor(means: Means) {
    this.#means = means;
  }

  raise(occasion: Occasion): void {
    if (this.#means.bell) bell();
    if (this.#means.notify) this.#notify(occasion);
    if (this.#means.exec === undefined) return;
    if (this.#waiting.length >= WAITING) {
      this.#fail("--exec", "too many findings are waiting for it; the oldest are dropped");
      this.#waiting.shift();
    }
    this.#waiting.push(occasion);
    this.#running ??= this.#work(this.#means.exec);
  }

  /** Waits for pending commands, at most {@link LAST} milliseconds; then drops the queue. */
  async end(): Promise<void> {
    if (this.#running === undefined) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LAST);
    });
    await Promise.race([this.#running, late]);
    clearTimeout(timer);
    this.#waiting.length = 0;
    this.#child?.unref();
  }

  async #work(command: string): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift())
      await this.#execute(command, next);
    this.#running = undefined;
  }

  #execute(command: string, { finding, file, agent, line, json }: Occasion): Promise<void> {
    const env = {
      ...process.env,
      LOOPWARDEN_LEVEL: finding.level,
      LOOPWARDEN_RULE: finding.rule,
      LOOPWARDEN_MESSAGE: bare(finding.message),
      LOOPWARDEN_FILE: file,
      LOOPWARDEN_LINE: String(line),
      LOOPWARDEN_AGENT: agent,
    };
    return new Promise((resolve) => {
      // The command's output goes to standard error, because a program may be reading our standard output.
      const child = spawn(command, { shell: true, env, stdio: ["pipe", 2, 2], windowsHide: true });
      this.#child = child;
      child.on("error", (error) => {
        this.#fail("--exec", error.message);
        resolve();
      });
      child.on("close", (code, signal) => {
        if (code !== 0) this.#fail("--exec", signal === null ? `ended with ${code}` : `was ended by ${signal}`);
        resolve();
      });
      // A command need not read its standard input.
      child.stdin?.on("error", () => {});
      child.stdin?.end(`${json}\n`);
    });
  }

  #notify({ finding, agent }: Occasion): void {
    const [command, args, env] = notifier(`${finding.level}: ${bare(finding.message)}`, bare(agent));
    const child = spawn(command, args, { stdio: "ignore", windowsHide: true, env: { ...process.env, ...env } });
    child.on("error", () => this.#fail("--notify", `no notification can be shown: ${command} is not installed`));
    child.on("exit", (code) => {
      if (code !== 0 && code !== null)
        this.#fail("--notify", `no notification could be shown: ${command} ended with ${code}`);
    });
    child.unref();
  }

  #fail(what: string, why: string): void {
    const text = `loopwarden: ${what}: ${why}`;
    if (this.#failed.has(text)) return;
    this.#failed.add(text);
    tell(text);
  }
}

/**
 * The command that shows a notification on this system. Texts are passed as arguments or variables, never in a script.
 */
export function notifier(
  text: string,
  agent: string,
  platform: NodeJS.Platform = process.platform,
): [command: string, args: string[], env: NodeJS.ProcessEnv] {
  const title = `Loopwarden · ${agent}`;
  const body = text.length > 240 ? `${text.slice(0, 239)}…` : text;
  if (platform === "darwin") {
    const script = ["on run argv", "display notification (item 1 of argv) with title (item 2 of argv)", "end run"];
    return ["osascript", [...script.flatMap((line) => ["-e", line]), "--", body, title], {}];
  }
  if (platform === "win32") {
    const script = [
      "Add-Type -AssemblyName System.Windows.Forms, System.Drawing",
      "$icon = New-Object System.Windows.Forms.NotifyIcon",
      "$icon.Icon = [System.Drawing.SystemIcons]::Warning",
      "$icon.Visible = $true",
      "$icon.ShowBalloonTip(10000, $env:LOOPWARDEN_TITLE, $env:LOOPWARDEN_TEXT, 'Warning')",
      "Start-Sleep -Seconds 10",
      "$icon.Dispose()",
    ].join("; ");
    return [
      "powershell.exe",
      ["-NoProfile", "-NonInteractive", "-Command", script],
      { LOOPWARDEN_TITLE: title, LOOPWARDEN_TEXT: body },
    ];
  }
  // Notification servers parse the body as markup.
  const quoted = body.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return ["notify-send", ["--app-name=Loopwarden", "--", title, quoted], {}];
}
