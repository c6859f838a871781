// Writes a file that belongs to the user: follows links, keeps the mode, and replaces the file atomically.
import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fdatasyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { InputError } from "../failure.ts";
import { failure } from "./journal.ts";

/** A settings file and its real path. */
export interface SettingsFile {
  /** The path as given by the user. */
  path: string;
  /** The path with all links resolved. */
  real: string;
  /** The contents; undefined if the file does not exist yet. */
  text: string | undefined;
  mode: number | undefined;
}

/**
 * Reads a settings file, which need not exist.
 *
 * @throws {InputError} if it cannot be read, is not a regular file or does not belong to the user.
 */
export function readSettings(path: string): SettingsFile {
  let real: string;
  try {
    real = realpathSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw failure(path, error);
    if (isThere(path)) throw new InputError(`${path}: is a link to a file that does not exist`);
    return { path, real: join(realFolder(dirname(path)), basename(path)), text: undefined, mode: undefined };
  }
  try {
    const found = statSync(real);
    if (!found.isFile()) throw new InputError(`${path}: is not a file`);
    ownedByUser(path, found);
    return { path, real, text: readFileSync(real, "utf8"), mode: found.mode & 0o7777 };
  } catch (error) {
    throw error instanceof InputError ? error : failure(path, error);
  }
}

/** The backups beside a file, oldest first. */
export function backups({ real }: SettingsFile): string[] {
  const own = (name: string) =>
    name.startsWith(`${basename(real)}.`) &&
    /^\d{4}-\d\d-\d\dT[\d-]+Z\.bak$/.test(name.slice(basename(real).length + 1));
  try {
    const names = readdirSync(dirname(real)).filter(own).sort();
    return names.map((name) => join(dirname(real), name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw failure(real, error);
  }
}

/**
 * Removes the file.
 *
 * @throws {InputError} as {@link writeSettings}.
 */
export function removeSettings(file: SettingsFile): void {
  try {
    unchanged(file);
    unlinkSync(file.real);
  } catch (error) {
    throw error instanceof InputError ? error : failure(file.path, error);
  }
}

function unchanged(file: SettingsFile): void {
  if (now(file.real) !== file.text) throw new InputError(`${file.path}: was changed by something else in the meantime`);
}

/**
 * Replaces the contents of the file. Returns the path of a backup of the previous contents, if there were any; an
 * existing backup with the same contents is reused.
 *
 * @throws {InputError} if the file was changed since it was read or the file system fails; the file is then unchanged.
 */
export function writeSettings(file: SettingsFile, text: string): string | undefined {
  const whole = `${file.real}.${randomUUID()}.tmp`;
  const backup = `${file.real}.${new Date().toISOString().replaceAll(/[:.]/g, "-")}.bak`;
  let kept: string | undefined;
  try {
    mkdirSync(dirname(file.real), { recursive: true });
    ownedByUser(dirname(file.path), statSync(dirname(file.real)));
    const known = file.text === undefined ? undefined : backups(file).find((path) => now(path) === file.text);
    if (file.text !== undefined && known === undefined) {
      write(backup, file.text, file.mode);
      kept = backup;
    }
    write(whole, text, file.mode);
    unchanged(file);
    renameSync(whole, file.real);
    return kept ?? known;
  } catch (error) {
    for (const made of [whole, kept]) {
      try {
        if (made !== undefined) unlinkSync(made);
      } catch {
        // It was never created.
      }
    }
    throw error instanceof InputError ? error : failure(file.path, error);
  }
}

/** Writes a new file; fails if anything exists at the path, including a link. */
function write(path: string, text: string, mode: number | undefined): void {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
  const file = openSync(path, flags, mode ?? 0o666);
  try {
    // Independent of the umask.
    if (mode !== undefined) fchmodSync(file, mode);
    writeFileSync(file, text);
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
}

function now(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** The path of a folder with all links resolved, as far as it exists. */
function realFolder(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || dirname(path) === path) throw failure(path, error);
    if (isThere(path)) throw new InputError(`${path}: is a link to a folder that does not exist`);
    return join(realFolder(dirname(path)), basename(path));
  }
}

function ownedByUser(path: string, found: Stats): void {
  const user = process.getuid?.();
  if (user !== undefined && found.uid !== user) throw new InputError(`${path}: belongs to another user`);
}
