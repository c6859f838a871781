import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { InputError } from "../input.ts";

/** How long a hook waits for another one of the same session, in milliseconds. */
const PATIENCE = 8_000;
/** A lock this old was left by a process that was killed, whatever its number says, in milliseconds. */
const STALE = 30_000;
/** Sessions without a hook for this long are forgotten, in milliseconds. */
const FORGOTTEN = 30 * 24 * 60 * 60 * 1000;

/**
 * The state of sessions, one file each. Hooks of one session that run at once take turns; a file is replaced whole or not
 * at all, so that a process that is killed leaves the state before or after its hook, never between.
 */
export class SessionFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Gives a session's state, if there is any, to `work`, and keeps what it makes of it. */
  async update<T>(session: string, work: (state: string | undefined) => { state: string; output: T }): Promise<T> {
    await folder(this.#folder);
    // The host's own id may be any text; a file's name may not.
    const file = join(this.#folder, createHash("sha256").update(session).digest("hex").slice(0, 32));
    const release = await lock(`${file}.lock`);
    try {
      const { state, output } = work(await contents(file));
      // Without a state nothing could be judged: what was known before stays.
      if (state !== "") await replace(file, state);
      return output;
    } finally {
      await release();
    }
  }

  /** Forgets sessions that ended long ago, and what killed processes left. */
  async sweep(now: number = Date.now()): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const file = join(this.#folder, name);
      const age = now - (await modified(file));
      if (age > FORGOTTEN || (name.endsWith(".tmp") && age > STALE)) await rm(file, { force: true });
    }
  }
}

/** Makes a folder and those above it. Step by step: where a file system refuses, `recursive` may try for ever. */
async function folder(path: string): Promise<void> {
  const made = () => mkdir(path, { mode: 0o700 });
  try {
    await made().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT" || dirname(path) === path) throw error;
      await folder(dirname(path));
      await made();
    });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "EEXIST") throw new InputError(`${path}: ${message}`);
  }
}

/** What is in a file, if it is there. */
export async function contents(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new InputError(`${file}: ${(error as Error).message}`);
  }
}

async function replace(file: string, state: string): Promise<void> {
  const whole = `${file}.${randomUUID()}.tmp`;
  try {
    const handle = await open(whole, "wx", 0o600);
    try {
      await handle.writeFile(state);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    await rename(whole, file);
  } catch (error) {
    await rm(whole, { force: true });
    throw error;
  }
}

/** Takes a lock, which is a file with the holder's process number; answers with how to give it back. */
async function lock(path: string): Promise<() => Promise<void>> {
  const mine = `${process.pid} ${randomUUID()}`;
  for (const begin = Date.now(); ; ) {
    try {
      await writeFile(path, mine, { flag: "wx", mode: 0o600 });
      return async () => {
        // It may have been taken for a dead process's, and be somebody else's by now.
        if ((await contents(path)) === mine) await unlink(path);
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const holder = await contents(path);
    if (holder !== undefined && (await abandoned(path, holder))) {
      // Moved away first: of several that saw the same lock, one moves it, and nobody's new lock is removed.
      const grave = `${path}.${randomUUID()}.tmp`;
      await rename(path, grave).catch(() => {});
      if ((await contents(grave)) === holder) await rm(grave, { force: true });
      else await rename(grave, path).catch(() => {});
      continue;
    }
    if (Date.now() - begin > PATIENCE) throw new InputError(`${path}: held by another hook for ${PATIENCE} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20));
  }
}

async function abandoned(path: string, holder: string): Promise<boolean> {
  const age = Date.now() - (await modified(path));
  if (age > STALE) return true;
  const pid = Number(holder.split(" ")[0]);
  // Not written yet: between its being made and its being filled there is a moment.
  if (!Number.isInteger(pid) || pid <= 0) return age > 1_000;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

async function modified(file: string): Promise<number> {
  return stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => Date.now(),
  );
}
