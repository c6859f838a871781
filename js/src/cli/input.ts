import { createReadStream } from "node:fs";
import { open, readFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { findNodeAtLocation, getNodeValue, type Node, parseTree } from "jsonc-parser";
import { LoopDetector } from "../detector.ts";
import { LoopwardenError } from "../errors.ts";

/** The input cannot be read or is wrong: exit code 1. */
export class InputError extends Error {}

/** The lines of a file, plain or gzip-compressed; `-` is the standard input. Only `\n` ends a line. */
export async function* lines(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of await source(file)) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}

/** A whole file, plain or gzip-compressed; `-` is the standard input. */
export async function text(file: string): Promise<string> {
  const decoder = new TextDecoder();
  let whole = "";
  for await (const chunk of await source(file)) whole += decoder.decode(chunk, { stream: true });
  return whole + decoder.decode();
}

async function source(file: string): Promise<AsyncIterable<Uint8Array>> {
  if (file === "-") return unpacked(process.stdin);
  try {
    // Opened first, so that a missing file is an error here and not in the middle of the stream.
    const handle = await open(file);
    const isFolder = (await handle.stat()).isDirectory();
    await handle.close();
    if (isFolder) throw new InputError(`${file}: is a folder`);
  } catch (error) {
    throw readable(file, error);
  }
  return named(file, unpacked(createReadStream(file)));
}

async function* named(file: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch (error) {
    throw readable(file, error);
  }
}

/** Unpacks gzip, known by its first two bytes. */
async function* unpacked(stream: Readable): AsyncGenerator<Uint8Array> {
  const chunks: AsyncIterator<Buffer> = stream[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  let next = await chunks.next();
  while (!next.done) {
    head = Buffer.concat([head, next.value]);
    if (head.length >= 2) break;
    next = await chunks.next();
  }
  const all = async function* (): AsyncGenerator<Buffer> {
    yield head;
    for (let more = await chunks.next(); !more.done; more = await chunks.next()) yield more.value;
  };
  if (head[0] === 0x1f && head[1] === 0x8b) {
    const { pipeline } = await import("node:stream");
    const gunzip = createGunzip();
    // The error, if there is one, reaches the reader of `gunzip`.
    pipeline(all(), gunzip, () => {});
    yield* gunzip;
  } else {
    yield* all();
  }
}

function readable(file: string, error: unknown): InputError {
  if (error instanceof InputError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const reasons: Record<string, string> = {
    ENOENT: "no such file",
    EACCES: "may not be read",
    EISDIR: "is a folder",
    Z_DATA_ERROR: "not a sound gzip file",
    Z_BUF_ERROR: "the gzip file is cut off",
  };
  return new InputError(`${file}: ${reasons[code ?? ""] ?? message}`);
}

/** The text of a configuration file, checked. */
export async function configText(file: string): Promise<string> {
  const config = await text(file);
  try {
    new LoopDetector(config).free();
  } catch (error) {
    throw new InputError(located(file, config, error));
  }
  return config;
}

/** An error in a JSON document, with the line it is on where that can be told. */
export function located(file: string, document: string, error: unknown): string {
  if (!(error instanceof LoopwardenError)) throw error;
  const line = error.field === undefined ? undefined : lineOf(document, error.field);
  return `${file}${line === undefined ? "" : `:${line}`}: ${error.code}: ${error.message}`;
}

/** The line, counted from 1, of a field such as `rules.cycle.block` or `events[3].tool`. */
export function lineOf(document: string, field: string): number | undefined {
  let node = parseTree(document);
  let rest = field;
  let offset: number | undefined;
  while (node !== undefined && rest !== "") {
    const step = child(node, rest);
    if (step === undefined) break;
    offset = step.offset;
    node = step.node;
    rest = step.rest;
  }
  return offset === undefined ? undefined : document.slice(0, offset).split("\n").length;
}

/** The part of a node that the beginning of a path names. A key may itself contain dots. */
function child(node: Node, path: string): { node: Node; offset: number; rest: string } | undefined {
  const index = /^\[(\d+)\]\.?/.exec(path);
  if (index !== null) {
    const found = findNodeAtLocation(node, [Number(index[1])]);
    return found && { node: found, offset: found.offset, rest: path.slice(index[0].length) };
  }
  for (const property of node.type === "object" ? (node.children ?? []) : []) {
    const [key, value] = property.children ?? [];
    const name = key === undefined ? undefined : String(getNodeValue(key));
    if (name === undefined || value === undefined || !path.startsWith(name)) continue;
    const rest = path.slice(name.length);
    if (rest === "" || rest[0] === "." || rest[0] === "[") {
      return { node: value, offset: property.offset, rest: rest.replace(/^\./, "") };
    }
  }
  return undefined;
}

/** A schema that travels with the package. */
export function schemaText(name: string): Promise<string> {
  return readFile(new URL(`../schema/${name}.schema.json`, import.meta.url), "utf8");
}
