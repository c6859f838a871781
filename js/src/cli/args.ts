import { type ParseArgsConfig, parseArgs } from "node:util";
import type { Level } from "../generated/types.ts";
import { LEVELS } from "../replay/levels.ts";
import { meant } from "../replay/nearest.ts";

/** Thrown for an invalid command line: exit code 2. */
export class UsageError extends Error {}

export type Options = NonNullable<ParseArgsConfig["options"]>;
type Parsed<T extends Options> = ReturnType<typeof parseArgs<{ options: T; allowPositionals: true; strict: true }>>;

/** A subcommand. */
export interface Command {
  help: string;
  /** What shell completion offers: options, and words for the first position. */
  options?: Options;
  words?: readonly string[];
  run(args: string[]): Promise<number>;
}

/**
 * Parses the arguments of a command.
 *
 * @throws {UsageError} for invalid arguments; for an unknown option it suggests the nearest known one.
 */
export function parse<const T extends Options>(args: string[], options: T): Parsed<T> {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const unknown = /^Unknown option '(-[^']*)'/.exec(message)?.[1];
    if (unknown === undefined) throw new UsageError(inOurWords(message));
    // Compared without the dashes, which would make all options look similar.
    const near = meant(unknown.replace(/^-+/, ""), Object.keys(options));
    throw new UsageError(`unknown option ${unknown}${near ? `, did you mean --${near}?` : ""}`);
  }
}

/** Rewords Node's message about an option's value in the style of our own messages. */
function inOurWords(message: string): string {
  const [, option, wrong] =
    /^Option '(-[^' ]*)[^']*' (argument missing|argument is ambiguous|does not take an)/.exec(message) ?? [];
  if (option === undefined) return message.split(". ")[0] ?? message;
  if (wrong === "argument missing") return `${option}: its value is missing`;
  if (wrong === "does not take an") return `${option}: takes no value`;
  return `${option}: its value is missing, or begins with a dash: ${option}=-VALUE`;
}

/** Reads the level given as `--level`. */
export function level(text: string): Level {
  return oneOf("--level", text, LEVELS.slice(1)) as Level;
}

/**
 * Reads one of a few known words; undefined if absent. `what` names the option in errors.
 *
 * @throws {UsageError} for an unknown word.
 */
export function oneOf<T extends string>(what: string, text: string | undefined, known: readonly T[]): T | undefined {
  const found = known.find((name) => name === text);
  if (text === undefined || found !== undefined) return found;
  throw new UsageError(`${what} ${text}: ${expected(text, known)}`);
}

/** An error text that lists the known words and suggests the nearest one. */
export function expected(text: string, known: readonly string[]): string {
  const near = meant(text, known);
  return `expected one of ${known.join(", ")}${near === undefined ? "" : `; did you mean ${near}?`}`;
}
