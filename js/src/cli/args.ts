import { type ParseArgsConfig, parseArgs } from "node:util";
import type { Level } from "../generated/types.ts";
import { LEVELS } from "../replay/levels.ts";
import { nearest } from "../replay/nearest.ts";

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {}

export type Options = NonNullable<ParseArgsConfig["options"]>;
type Parsed<T extends Options> = ReturnType<typeof parseArgs<{ options: T; allowPositionals: true; strict: true }>>;

/** A command of the program. */
export interface Command {
  help: string;
  /** What completion of a shell offers: options, and words that stand first. */
  options?: Options;
  words?: readonly string[];
  run(args: string[]): Promise<number>;
}

/** Reads the arguments of a command; an unknown option is answered with the nearest known one. */
export function parse<const T extends Options>(args: string[], options: T): Parsed<T> {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const unknown = /^Unknown option '(-[^']*)'/.exec(message)?.[1];
    if (unknown === undefined) throw new UsageError(inOurWords(message));
    // The dashes, which all of them have, make none of them alike.
    const near = nearest(unknown.replace(/^-+/, ""), Object.keys(options));
    throw new UsageError(`unknown option ${unknown}${near ? `, did you mean --${near}?` : ""}`);
  }
}

/** What Node says of the value of an option, said as the rest is. */
function inOurWords(message: string): string {
  const [, option, wrong] =
    /^Option '(-[^' ]*)[^']*' (argument missing|argument is ambiguous|does not take an)/.exec(message) ?? [];
  if (option === undefined) return message.split(". ")[0] ?? message;
  if (wrong === "argument missing") return `${option}: its value is missing`;
  if (wrong === "does not take an") return `${option}: takes no value`;
  return `${option}: its value is missing, or begins with a dash: ${option}=-VALUE`;
}

/** Reads a level from an option. */
export function level(text: string): Level {
  return oneOf("--level", text, LEVELS.slice(1)) as Level;
}

/** Reads one of a few words, given as `what`, such as an option; absent, it is none. */
export function oneOf<T extends string>(what: string, text: string | undefined, known: readonly T[]): T | undefined {
  const found = known.find((name) => name === text);
  if (text === undefined || found !== undefined) return found;
  throw new UsageError(`${what} ${text}: ${expected(text, known)}`);
}

/** The words that are known, all of them, and the one that may be meant. */
export function expected(text: string, known: readonly string[]): string {
  const near = nearest(text, known);
  return `expected one of ${known.join(", ")}${near === undefined ? "" : `; did you mean ${near}?`}`;
}
