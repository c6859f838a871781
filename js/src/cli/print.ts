// All output to the terminal. It may contain names, outputs and lines from untrusted files: control characters are
// shown as escapes, and no line can begin with a CI workflow command.

import { randomBytes } from "node:crypto";
import type { Level } from "../generated/types.ts";
import { bare, broken, cleaned, inert, OURS, safe } from "./harmless.ts";

export { bare, inert, safe };

const CODES = { bold: 1, dim: 2, italic: 3, red: 31, green: 32, yellow: 33, magenta: 35, cyan: 36 } as const;
export type Style = keyof typeof CODES;

export const LEVEL_STYLE: Readonly<Record<Level, Style>> = {
  continue: "dim",
  observe: "dim",
  nudge: "yellow",
  block: "magenta",
  gate: "cyan",
  halt: "red",
};

/** Marks our own colour codes until a text is written. Random, so that printed text cannot contain it. */
const MARK = `\u0001${randomBytes(8).toString("hex")}:`;
const MARKS = new RegExp(`${MARK}(\\d+);`, "g");

/** A text in a style, if the stream it is printed to supports colours. */
export function paint(style: Style, text: string): string {
  return text === "" ? "" : `${MARK}${CODES[style]};${text}${MARK}0;`;
}

type Stream = "stdout" | "stderr";

/** Whether to colour a stream. FORCE_COLOR overrides everything; otherwise it must be a terminal without NO_COLOR. */
function colours(stream: Stream): boolean {
  const forced = process.env["FORCE_COLOR"];
  if (forced !== undefined && forced !== "") return forced !== "0" && forced !== "false";
  return process[stream].isTTY === true && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb";
}

function write(stream: Stream, text: string): void {
  const codes: string[] = [];
  const isColoured = colours(stream);
  const marked = text.replaceAll(OURS, "\\u{e000}").replaceAll(MARKS, (_, code: string) => {
    codes.push(code);
    return isColoured ? OURS : "";
  });
  const out = cleaned(marked, `\n${OURS}`).replaceAll(OURS, () => `\u001b[${codes.shift() ?? 0}m`);
  // Both streams may go to the same terminal.
  progress(undefined);
  process[stream].write(out);
}

/** Prints one or more lines to the standard output. */
export function print(text: string): void {
  write("stdout", `${text}\n`);
}

/** Prints a line to the standard error, replacing a progress line. */
export function tell(text: string): void {
  write("stderr", `${text}\n`);
}

/** Prints a value as one line of JSON, with control characters written as escapes. */
export function printJson(value: unknown): void {
  process.stdout.write(`${inert(JSON.stringify(value) ?? "null")}\n`);
}

/** Prints a GitHub workflow command. */
export function annotate(
  kind: "error" | "warning" | "notice",
  properties: Record<string, string | number>,
  text: string,
): void {
  const data = (value: string) => broken(value).replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  const property = (value: string) => data(value).replaceAll(":", "%3A").replaceAll(",", "%2C");
  const told = Object.entries(properties).map(([name, value]) => `${name}=${property(bare(String(value)))}`);
  process.stdout.write(`::${kind} ${told.join(",")}::${data(bare(text))}\n`);
}

/** Writes text for programs, which is already quoted. */
export function printRaw(text: string): void {
  process.stdout.write(text);
}

/** Rings the terminal's bell. */
export function bell(): void {
  if (process.stderr.isTTY === true) process.stderr.write("\u0007");
}

let progressing = false;

/** Shows a progress line on standard error, replacing the previous one; undefined clears it. Only on a terminal. */
export function progress(text: string | undefined): void {
  if (process.stderr.isTTY !== true || (text === undefined && !progressing)) return;
  process.stderr.write(`\r\u001b[2K${text === undefined ? "" : safe(text).replaceAll("\n", " ")}`);
  progressing = text !== undefined;
}

/** Waits until the standard output has drained, so that a slow reader does not make memory grow. */
export function drained(): Promise<void> | undefined {
  const { stdout } = process;
  if (!stdout.writableNeedDrain) return undefined;
  return new Promise((resolve) => stdout.once("drain", resolve));
}

/** Wraps a text at spaces into lines of at most `width` characters; longer words stay whole. */
export function wrapped(text: string, width: number): string[] {
  return text.split("\n").flatMap((paragraph) => {
    const lines = [""];
    for (const word of paragraph.split(" ")) {
      const line = lines.at(-1) ?? "";
      if (line === "") lines[lines.length - 1] = word;
      else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
      else lines.push(word);
    }
    return lines;
  });
}

/**
 * Formats a table with a header row. The columns with an index in `left` are left-aligned, the others right-aligned.
 */
export function columns(head: string[], rows: string[][], left: readonly number[] = [0]): string[] {
  const wide = (text: string) => Array.from(text).length;
  const widths = head.map((title, column) => Math.max(wide(title), ...rows.map((row) => wide(row[column] ?? ""))));
  const layout = (row: string[]) =>
    row
      .map((cell, column) => {
        const room = " ".repeat(Math.max(0, (widths[column] ?? 0) - wide(cell)));
        return left.includes(column) ? (column === row.length - 1 ? cell : `${cell}${room}`) : `${room}${cell}`;
      })
      .join("  ");
  return [paint("bold", layout(head)), ...rows.map(layout)];
}
