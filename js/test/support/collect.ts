// Stands for `node:test` where a test file is bundled for a runtime that has none: tests are collected, and run by name.

export interface Case {
  title: string;
  /** Why it is not run. */
  skip: string | undefined;
  run: () => void | Promise<void>;
}

export const cases: Case[] = [];

export function test(title: string, ...rest: [Case["run"]] | [{ skip?: string }, Case["run"]]): void {
  const [{ skip }, run] = rest.length === 1 ? [{} as { skip?: string }, rest[0]] : rest;
  cases.push({ title, skip, run });
}
