import type { Level } from "../generated/types.ts";

const CODES = { bold: 1, dim: 2, italic: 3, red: 31, yellow: 33, magenta: 35, cyan: 36 } as const;
type Style = keyof typeof CODES;

/** Colours for a terminal; plain text for anything else, and wherever NO_COLOR is set. */
export function painter(stream: NodeJS.WriteStream): (style: Style, text: string) => string {
  const colours = stream.isTTY === true && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb";
  return (style, text) => (colours ? `\u001b[${CODES[style]}m${text}\u001b[0m` : text);
}

/** The levels, weakest first. */
export const LEVELS: readonly Level[] = ["continue", "observe", "nudge", "block", "gate", "halt"];

export const LEVEL_STYLE: Readonly<Record<Level, Style>> = {
  continue: "dim",
  observe: "dim",
  nudge: "yellow",
  block: "magenta",
  gate: "cyan",
  halt: "red",
};

/** Whether a level is at least as strong as another one. */
export function reaches(level: Level, least: Level): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(least);
}

/** A text of the user's own file, made fit for one line of a terminal: no control characters, shortened. */
export function short(text: string, width: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what has to go
  const line = text.replaceAll(/[\s\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+/gu, " ").trim();
  const chars = Array.from(line.slice(0, width * 2 + 2));
  return chars.length > width ? `${chars.slice(0, width - 1).join("")}…` : chars.join("");
}

/** Breaks a text into lines of at most `width` characters, at blanks where there are any. */
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
