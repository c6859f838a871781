// Reads configuration files: JSON with comments and trailing commas, and a `$schema` for editors.

import { access } from "node:fs/promises";
import {
  findNodeAtLocation,
  type Node,
  type ParseError,
  parse,
  parseTree,
  printParseErrorCode,
  visit,
} from "jsonc-parser";
import { LoopDetector } from "../detector.ts";
import type { LoopwardenError } from "../errors.ts";
import type { Config } from "../generated/types.ts";
import { without } from "../replay/raw.ts";
import { InputError } from "./failure.ts";
import { keyOf, located, shown, text } from "./input.ts";
import { NAME } from "./name.ts";
import { tell } from "./print.ts";

/** A configuration and its source. */
export interface Settings {
  /** The plain JSON text for the core, without comments and `$schema`. */
  text: string;
  config: Config;
  file: string | undefined;
  /** The original contents of the file. */
  document: string;
  /** The value of `$schema`. */
  schema?: string;
}

/** The command-line options of every command that takes a configuration. */
export const OPTIONS = { config: { type: "string" }, "no-config": { type: "boolean", default: false } } as const;

/**
 * The configuration named by `--config`, or else the one in the working folder; undefined if there is neither.
 *
 * @throws {InputError} if it cannot be read or is invalid.
 */
export async function settings(values: { config?: string; "no-config"?: boolean }): Promise<Settings | undefined> {
  if (values.config !== undefined) return read(values.config);
  if (values["no-config"] || !(await exists(NAME))) return undefined;
  tell(`loopwarden: using ${NAME} in this folder; --no-config ignores it`);
  return read(NAME);
}

export const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

/**
 * Reads a configuration and checks it with the core.
 *
 * @throws {InputError} if it cannot be read or is invalid.
 */
export async function read(file: string): Promise<Settings> {
  const document = await text(file);
  const name = shown(file);
  if (document.trim() === "") throw new InputError(`${name}: is empty; {} is the recommended configuration`);
  const deep = deepLine(document);
  if (deep !== undefined) throw new InputError(`${name}:${deep}: invalid-json: nested deeper than ${DEPTH} levels`);
  const plain = withoutComments(document);
  let config: unknown;
  try {
    config = JSON.parse(plain);
  } catch {
    throw new InputError(`${name}:${brokenAt(document)}`);
  }
  const isObject = typeof config === "object" && config !== null && !Array.isArray(config);
  const schema = isObject ? (config as { $schema?: unknown }).$schema : undefined;
  const own = schema === undefined ? plain : without(plain, "$schema");
  const wrong = errors(own, (error) => located(file, document, error));
  if (wrong.length > 0) throw new InputError(...wrong);
  return { text: own, config: JSON.parse(own), file, document, ...(typeof schema === "string" && { schema }) };
}

/** Maximum number of errors reported of a configuration. */
const ERRORS = 20;

/** The core reports one error at a time: each is taken out with its field, until the rest is valid. */
function errors(config: string, told: (error: unknown) => string): string[] {
  const found: string[] = [];
  for (let rest = config; found.length < ERRORS; ) {
    try {
      new LoopDetector(rest).free();
      break;
    } catch (error) {
      found.push(told(error));
      const value: unknown = JSON.parse(rest);
      if (!remove(value, (error as LoopwardenError).field ?? "")) break;
      rest = JSON.stringify(value);
    }
  }
  return found;
}

/** Removes the field of a path such as `rules.cycle.block`, or its nearest ancestor; false if there is neither. */
function remove(value: unknown, path: string): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const key = keyOf(path, Object.keys(value));
  if (key === undefined) return false;
  const holder = value as Record<string, unknown>;
  return remove(holder[key], path.slice(key.length + 1)) || delete holder[key];
}

/** Whether a document contains comments. */
export function hasComments(document: string): boolean {
  let found = false;
  visit(document, {
    onComment: () => {
      found = true;
    },
  });
  return found;
}

/** Maximum nesting depth of a document, as in the core; the parser of comments would overflow at far greater depths. */
const DEPTH = 120;

/** Matches brackets, and strings and comments, which may contain brackets that do not count. */
const TOKENS = /"(?:\\.|[^"\\\n])*"?|\/\/.*|\/\*[\s\S]*?\*\/|[[\]{}]/g;

/** The line, from 1, at which a document becomes too deeply nested. */
function deepLine(document: string): number | undefined {
  let depth = 0;
  for (const { 0: token, index } of document.matchAll(TOKENS)) {
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    if (depth > DEPTH) return document.slice(0, index).split("\n").length;
  }
  return undefined;
}

/** Something in a valid configuration that may be unintended. */
export interface Note {
  line: number;
  field: string;
  message: string;
}

/** Fields in which 0 switches something off: thresholds of rules and counters, and budgets. */
const RUNG = /^(?:.*\.)?(?:rules|counters)\.[^.]+\.(?:nudge|block|gate|halt)$/;
const BUDGET = /^budgets\.\w+$/;
/** Budgets of the turns that a workflow's nodes take. */
const OF_TURNS = /^budgets\.(?:turnTimeoutMs|maxTokens|maxTurns\w*|maxRuntimeMsPerNode|maxCycle\w*)$/;
const RULE = /^(?:.*\.)?rules\.[^.]+$/;

/** What may be unintended in a valid document: duplicate keys, zeros that switch something off, and what has no effect. */
export function notes(document: string): Note[] {
  const found: Note[] = [];
  const note = (offset: number, field: string, message: string) =>
    found.push({ line: document.slice(0, offset).split("\n").length, field, message });
  const noteAt = (node: Node | undefined, field: string, message: string) => {
    if (node !== undefined) note(node.offset, field, message);
  };
  const below = (node: Node | undefined, path: string) => {
    if (node?.type === "number" && node.value === 0) {
      if (RUNG.test(path)) note(node.offset, path, "0 switches it off");
      else if (BUDGET.test(path)) note(node.offset, path, "0 means no limit");
    } else if (OF_TURNS.test(path)) noteAt(node, path, "counts `turn` events only, not a run of calls");
    const own = (key: string) => node && findNodeAtLocation(node, [key]);
    if (RULE.test(path) && own("enabled")?.value === false)
      for (const rung of ["nudge", "block", "gate", "halt"])
        noteAt(own(rung), `${path}.${rung}`, "has no effect: the rule is off");
    if (path === "" && own("attended")?.value !== false && own("extends") === undefined)
      noteAt(own("unattendedLevel"), "unattendedLevel", "has no effect unless `attended` is false");
    const seen = new Set<string>();
    for (const [index, child] of (node?.children ?? []).entries()) {
      const [key, value] = child.type === "property" ? (child.children ?? []) : [];
      if (key === undefined) {
        below(child, `${path}[${index}]`);
        continue;
      }
      const field = path === "" ? key.value : `${path}.${key.value}`;
      if (seen.has(key.value)) note(key.offset, field, "is there twice, the last one counts");
      seen.add(key.value);
      below(value, field);
    }
  };
  below(parseTree(document, [], { allowTrailingComma: true }), "");
  return found.sort((one, other) => one.line - other.line);
}

/** The line and kind of a syntax error: `3: invalid-json: …`. */
function brokenAt(document: string): string {
  const errors: ParseError[] = [];
  parse(document, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) return "1: invalid-json";
  const { line, what } = inWords(document, first);
  return `${line}: invalid-json: ${what}`;
}

/** Descriptions for errors of the parser whose names are not helpful. */
const WORDS: Readonly<Record<string, string>> = {
  InvalidSymbol: "an unknown word without quotes",
  InvalidCharacter: "a character that must be escaped in a string",
};

/** A readable form of a parser error: the line, from 1, and a description with the column. */
export function inWords(document: string, { error, offset }: ParseError): { line: number; what: string } {
  const before = document.slice(0, offset).split("\n");
  const name = printParseErrorCode(error);
  const what =
    WORDS[name] ??
    name
      .replaceAll(/([A-Z])/g, " $1")
      .trim()
      .toLowerCase();
  return { line: before.length, what: `${what} at column ${(before.at(-1)?.length ?? 0) + 1}` };
}

/** The document as plain JSON: comments and trailing commas become spaces, so that positions are kept. */
function withoutComments(document: string): string {
  const blanks: [offset: number, length: number][] = [];
  /** The offset of a comma that nothing has followed yet. */
  let comma: number | undefined;
  const follows = () => {
    comma = undefined;
  };
  const ends = () => {
    if (comma !== undefined) blanks.push([comma, 1]);
    comma = undefined;
  };
  const visitor = {
    onComment: (offset: number, length: number) => void blanks.push([offset, length]),
    onSeparator: (character: string, offset: number) => {
      if (character === ",") comma = offset;
    },
    onObjectBegin: follows,
    onArrayBegin: follows,
    onObjectProperty: follows,
    onLiteralValue: follows,
    onObjectEnd: ends,
    onArrayEnd: ends,
  };
  const source = document.replace(/^\ufeff/, " ");
  visit(source, visitor, { allowTrailingComma: true });
  let plain = "";
  let at = 0;
  for (const [offset, length] of blanks.sort(([a], [b]) => a - b)) {
    plain += source.slice(at, offset) + source.slice(offset, offset + length).replaceAll(/[^\n]/g, " ");
    at = offset + length;
  }
  return plain + source.slice(at);
}

/** The checked text of a configuration file for the core; throws an {@link InputError}. */
export const configText = async (file: string): Promise<string> => (await read(file)).text;
