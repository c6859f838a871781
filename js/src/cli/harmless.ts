// Makes untrusted text safe to print. A separate file, because the hook loads nothing else of the printing code.

/** Control characters and invisible ones; variation selectors are allowed. */
const ACTS = /(?![\ufe00-\ufe0f])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{DI}]/gu;
/** A placeholder for one of our own colour codes while a text is cleaned. */
export const OURS = "\ue000";
/** CI commands that are recognised anywhere in a line: GitHub `##[`, Azure `##vso[`, TeamCity `##teamcity[`. */
const ORDERS = /##(?=\w*\[)/g;

/** A text with control and invisible characters escaped and CI commands broken. Keeps line feeds. */
export const safe = (text: string): string => cleaned(text, "\n");

/** As {@link safe}, but keeps the given characters. */
export function cleaned(text: string, kept: string): string {
  const shown = text.replaceAll("\r\n", "\n").replaceAll(ACTS, (char) => {
    if (kept.includes(char)) return char;
    return char === "\t" ? "  " : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
  });
  return broken(shown.replaceAll(/^([\s\ue000]*):(?=:)/gm, "$1\\:"));
}

/** A text with the CI commands broken that are recognised in the middle of a line. */
export const broken = (text: string): string => text.replaceAll(ORDERS, "#\\#");

/** Equivalent JSON text in which control and invisible characters and CI commands are written as escapes. */
export function inert(json: string): string {
  const number = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return (
    json
      .replaceAll(ACTS, (char) => ("\n\t".includes(char) ? char : char.split("").map(number).join("")))
      // In JSON, `##` only occurs inside strings.
      .replaceAll(ORDERS, "#\\u0023")
  );
}

/** A text for a format with its own quoting: control and invisible characters are replaced rather than escaped. */
export const bare = (text: string): string =>
  text.replaceAll(ACTS, (char) => (char === "\n" ? char : char === "\t" ? " " : "\ufffd"));
