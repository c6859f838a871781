/** Thrown for an input that cannot be read or is invalid: exit code 1. */
export class InputError extends Error {
  readonly messages: readonly string[];

  constructor(...messages: string[]) {
    super(messages.join("\n"));
    this.messages = messages;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EISDIR: "is a folder",
  ENOTDIR: "a part of its path is not a folder",
  ENOSPC: "the disk is full",
  EROFS: "the disk is read-only",
  EMFILE: "too many files are open",
  EADDRINUSE: "something is already listening there",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "there is no such host",
  Z_DATA_ERROR: "not a valid gzip file",
  Z_BUF_ERROR: "the gzip file is cut off",
};

/** A readable reason for a system error. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return REASONS[code ?? ""] ?? message;
}
