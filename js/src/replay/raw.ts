// Splits JSON text without parsing it, so that numbers beyond 2^53, `1.0`, duplicate keys and so on reach the core as
// written. Only for text that `JSON.parse` has accepted.

/** The text of each element of an array, or of each value of an object with its key, and the range of the element. */
export function* parts(
  text: string,
): Generator<{ key: string | undefined; value: string; start: number; end: number }> {
  const isObject = text[text.search(/\S/)] === "{";
  let depth = 0;
  let start = 0;
  let key: string | undefined;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"': {
        const end = stringEnd(text, at);
        if (depth === 1 && key === undefined && isObject) {
          key = JSON.parse(text.slice(at, end + 1));
          start = at;
        }
        at = end;
        break;
      }
      case "{":
      case "[":
        depth++;
        if (depth === 1) start = at + 1;
        break;
      case "}":
      case "]":
      case ",":
        if (depth === 1) {
          const member = text.slice(start, at);
          const value =
            key === undefined ? member.trim() : member.slice(member.indexOf(":", keyEnd(member)) + 1).trim();
          if (value !== "") yield { key, value, start, end: at };
          start = at + 1;
          key = undefined;
        }
        if (text[at] !== ",") depth--;
        break;
    }
  }
}

/** The text of an object without the members of a name. */
export function without(text: string, name: string): string {
  const kept = [...parts(text)].filter((part) => part.key !== name);
  return `{${kept.map((part) => text.slice(part.start, part.end)).join(",")}}`;
}

/** The value of a member as text; of duplicates the last, which is the one that counts. */
export function member(text: string, name: string): string | undefined {
  let found: string | undefined;
  for (const part of parts(text)) if (part.key === name) found = part.value;
  return found;
}

function keyEnd(member: string): number {
  return stringEnd(member, member.indexOf('"')) + 1;
}

/** The offset of the quotation mark that ends the string beginning at `at`. */
function stringEnd(text: string, at: number): number {
  let end = at + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
  return end;
}
