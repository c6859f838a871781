import { type ParseArgsConfig, parseArgs } from "node:util";
import type { Level } from "../generated/types.ts";
import { FORMATS, type TranscriptFormat } from "../transcript.ts";
import { LEVELS } from "./style.ts";

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {}

type Options = NonNullable<ParseArgsConfig["options"]>;
type Parsed<T extends Options> = ReturnType<typeof parseArgs<{ options: T; allowPositionals: true; strict: true }>>;

/** Reads the arguments of a command; an unknown option is answered with the nearest known one. */
export function parse<const T extends Options>(args: string[], options: T): Parsed<T> {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const unknown = /^Unknown option '(-[^']*)'/.exec(message)?.[1];
    if (unknown === undefined) throw new UsageError(message.split(". ")[0]);
    const known = Object.keys(options).map((name) => `--${name}`);
    const near = nearest(unknown, known);
    throw new UsageError(`unknown option ${unknown}${near ? `, did you mean ${near}?` : ""}`);
  }
}

/** Reads a level from an option. */
export function level(text: string): Level {
  const found = LEVELS.find((name) => name === text);
  if (found !== undefined && found !== "continue") return found;
  throw new UsageError(`--level ${text}: expected one of ${LEVELS.slice(1).join(", ")}`);
}

/** Reads the name of a transcript's format; absent, it is recognised. */
export function transcriptFormat(name: string | undefined): TranscriptFormat | undefined {
  const format = FORMATS.find((known) => known === name);
  if (name === undefined || format !== undefined) return format;
  const near = nearest(name, FORMATS);
  const meant = near ? `, did you mean ${near}?` : `: expected one of ${FORMATS.join(", ")}`;
  throw new UsageError(`--format ${name}${meant}`);
}

/** The known word that takes the fewest edits, where that is few. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known.map((name) => ({ name, edits: distance(word, name) })).sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best !== undefined && best.edits <= 3 ? best.name : undefined;
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
