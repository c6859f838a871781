// Finds the session logs of agents on this machine.

import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { duration, short } from "../replay/summarise.ts";
import { InputError } from "./failure.ts";
import { paint, tell } from "./print.ts";

/** A recorded session. */
export interface Session {
  agent: string;
  file: string;
  /** When it was last written, in milliseconds since the Unix epoch. */
  at: number;
  bytes: number;
}

interface Place {
  agent: string;
  folder: string;
  /**
   * Matches `/`-separated paths inside the folder that are sessions, or files of the session named by group `session`.
   */
  is: RegExp;
}

/** The folders to search; the agents' own environment variables are respected. */
function places(env: NodeJS.ProcessEnv = process.env): Place[] {
  const home = env["HOME"] ?? env["USERPROFILE"] ?? homedir();
  const openhands = env["OPENHANDS_PERSISTENCE_DIR"] ?? join(home, ".openhands");
  const data = env["XDG_CONFIG_HOME"] ?? join(home, ".config");
  return [
    {
      agent: "Claude Code",
      folder: join(env["CLAUDE_CONFIG_DIR"] ?? join(home, ".claude"), "projects"),
      is: /^[^/]+\/[^/]+\.jsonl$/,
    },
    {
      agent: "Codex",
      folder: join(env["CODEX_HOME"] ?? join(home, ".codex"), "sessions"),
      is: /(^|\/)rollout-[^/]*\.jsonl$/,
    },
    { agent: "Gemini CLI", folder: join(home, ".gemini", "tmp"), is: /\/chats\/session-[^/]*\.jsonl?$/ },
    // A folder per session with a file per event: the folder is the session.
    {
      agent: "OpenHands",
      folder: env["OPENHANDS_CONVERSATIONS_DIR"] ?? join(openhands, "conversations"),
      is: /^(?<session>[^/]+)\/events\/event-\d+[^/]*\.json$/,
    },
    { agent: "OpenHands", folder: join(openhands, "sessions"), is: /^(?<session>[^/]+)\/events\/\d+\.json$/ },
    {
      agent: "SWE-agent",
      folder: env["SWE_AGENT_TRAJECTORY_DIR"] ?? resolve("trajectories"),
      is: /\.traj$/,
    },
    { agent: "mini-swe-agent", folder: join(data, "mini-swe-agent"), is: /\.traj(\.json)?$/ },
  ];
}

/** The folders to search, by agent. */
export function foldersOf(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { agent, folder } of places()) found.set(agent, [...(found.get(agent) ?? []), folder]);
  return found;
}

/** The agents and folders searched, as text for messages. */
export const looked = (): string =>
  [...foldersOf()].map(([agent, folders]) => `${agent} (${folders.join(", ")})`).join(", ");

/** The sessions on this machine, newest first. */
export async function sessions(env?: NodeJS.ProcessEnv): Promise<Session[]> {
  const found = new Map<string, Session>();
  for (const { agent, folder, is } of places(env)) {
    const names = await readdir(folder, { recursive: true }).catch(() => []);
    for (const name of names) {
      const match = is.exec(name.replaceAll("\\", "/"));
      if (match === null) continue;
      const info = await stat(join(folder, name)).catch(() => undefined);
      if (!info?.isFile() || info.size === 0) continue;
      const file = join(folder, match.groups?.["session"] ?? name);
      const known = found.get(file);
      const at = Math.max(known?.at ?? 0, info.mtimeMs);
      found.set(file, { agent, file, at, bytes: (known?.bytes ?? 0) + info.size });
    }
  }
  return [...found.values()].sort((a, b) => b.at - a.at);
}

/** Maximum number of sessions to choose from. */
const OFFERED = 9;

/**
 * The session for `--last`: the newest one, or on a terminal the one that the user picks.
 *
 * @throws {InputError} if there is none, or for an invalid choice.
 */
export async function last(): Promise<string> {
  const found = await sessions();
  const [newest] = found;
  if (newest === undefined) {
    throw new InputError(`no session of an agent was found on this machine; looked for ${looked()}`);
  }
  if (found.length === 1 || process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
    tell(`loopwarden: the newest session, of ${newest.agent}: ${newest.file}`);
    return newest.file;
  }
  const offered = found.slice(0, OFFERED);
  for (const [index, { agent, file, at, bytes }] of offered.entries()) {
    const ago = `${duration(Math.max(0, Date.now() - at))} ago`;
    const size = bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
    const path = file.length > 60 ? `…${file.slice(-59)}` : file;
    tell(
      `  ${paint("bold", String(index + 1))}  ${agent.padEnd(14)}  ${ago.padStart(16)}  ${size.padStart(8)}  ${paint("dim", short(path, 60))}`,
    );
  }
  const asked = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = (await asked.question(`Which one? [1] `)).trim();
    const chosen = offered[answer === "" ? 0 : Number(answer) - 1];
    if (chosen === undefined) throw new InputError(`expected a number from 1 to ${offered.length}`);
    return chosen.file;
  } finally {
    asked.close();
  }
}
