// What strangers wrote, made harmless wherever it is put. A file of its own, because the hook loads nothing else of what prints.

/** Bytes that a terminal or an editor obeys, or that hide; what only chooses the look of the sign before it may stay. */
const ACTS = /(?![\ufe00-\ufe0f])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{DI}]/gu;
/** Stands for a colour of ours on the last part of the way. */
export const OURS = "\ue000";
/** What runners of workflows obey wherever it stands: GitHub `##[`, Azure `##vso[`, TeamCity `##teamcity[`. */
const ORDERS = /##(?=\w*\[)/g;

/** A text in which nothing acts and nothing hides. */
export const safe = (text: string): string => cleaned(text, "\n");

/** The same with other characters kept than line ends. */
export function cleaned(text: string, kept: string): string {
  const shown = text.replaceAll("\r\n", "\n").replaceAll(ACTS, (char) => {
    if (kept.includes(char)) return char;
    return char === "\t" ? "  " : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
  });
  return broken(shown.replaceAll(/^([\s\ue000]*):(?=:)/gm, "$1\\:"));
}

/** A text without commands that a runner of workflows finds in the middle of a line. */
export const broken = (text: string): string => text.replaceAll(ORDERS, "#\\#");

/** JSON text in which nothing acts, wherever it is put: it says the same. */
export function inert(json: string): string {
  const number = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return (
    json
      .replaceAll(ACTS, (char) => ("\n\t".includes(char) ? char : char.split("").map(number).join("")))
      // Two signs in a row stand in texts alone.
      .replaceAll(ORDERS, "#\\u0023")
  );
}

/** A text for a format that quotes it itself: nothing in it acts. */
export const bare = (text: string): string =>
  text.replaceAll(ACTS, (char) => (char === "\n" ? char : char === "\t" ? " " : "\ufffd"));
