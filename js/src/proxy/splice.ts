// Edits JSON text and leaves everything else unchanged, byte for byte: large numbers, the order of keys, duplicate
// keys, white space. Only for text that `JSON.parse` has accepted.

export type Path = readonly (string | number)[];

/** An edit. Of duplicate keys the last one counts, as in `JSON.parse`; index -1 is the last element of a list. */
export type Edit =
  /** Appends a value to a list. */
  | { readonly append: Path; readonly value: unknown }
  /** Sets a member of an object, or an existing element of a list. */
  | { readonly set: Path; readonly value: unknown };

/** The range of a value in the text. */
interface Span {
  start: number;
  end: number;
}

/** The text with the edits applied; undefined if a path does not exist. */
export function edited(text: string, edits: readonly Edit[]): string | undefined {
  let changed: string | undefined = text;
  for (const edit of edits) {
    if (changed === undefined) return undefined;
    changed = "append" in edit ? appended(changed, edit.append, edit.value) : put(changed, edit.set, edit.value);
  }
  return changed;
}

function appended(text: string, path: Path, value: unknown): string | undefined {
  const list = find(text, path);
  if (list === undefined || text[list.start] !== "[") return undefined;
  return before(text, list.end - 1, JSON.stringify(value));
}

function put(text: string, path: Path, value: unknown): string | undefined {
  const json = JSON.stringify(value);
  const known = find(text, path);
  if (known !== undefined) return text.slice(0, known.start) + json + text.slice(known.end);
  const key = path.at(-1);
  const object = find(text, path.slice(0, -1));
  if (typeof key !== "string" || object === undefined || text[object.start] !== "{") return undefined;
  return before(text, object.end - 1, `${JSON.stringify(key)}:${json}`);
}

/** Inserts an element before the bracket that closes a list or an object. */
function before(text: string, close: number, element: string): string {
  let last = close - 1;
  while (isBlank(text.charCodeAt(last))) last--;
  const empty = text[last] === "[" || text[last] === "{";
  return `${text.slice(0, last + 1)}${empty ? "" : ","}${element}${text.slice(last + 1)}`;
}

function find(text: string, path: Path): Span | undefined {
  let start = blanks(text, 0);
  let span: Span = { start, end: ended(text, start) };
  for (const key of path) {
    if (text[span.start] !== (typeof key === "string" ? "{" : "[")) return undefined;
    const found: Span[] = [];
    let named: Span | undefined;
    start = blanks(text, span.start + 1);
    while (start < span.end - 1) {
      let name: string | undefined;
      if (typeof key === "string") {
        const end = ended(text, start);
        name = JSON.parse(text.slice(start, end));
        start = blanks(text, blanks(text, end) + 1);
      }
      const inner = { start, end: ended(text, start) };
      if (typeof key === "number") found.push(inner);
      else if (name === key) named = inner;
      // Skips the comma or the closing bracket.
      start = blanks(text, blanks(text, inner.end) + 1);
    }
    const inner = typeof key === "number" ? found.at(key) : named;
    if (inner === undefined) return undefined;
    span = inner;
  }
  return span;
}

const isBlank = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9;

function blanks(text: string, at: number): number {
  let next = at;
  while (isBlank(text.charCodeAt(next))) next++;
  return next;
}

/** The offset after the value that begins at `start`. */
function ended(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 34: // "
        at = stringEnd(text, at);
        if (depth === 0) return at + 1;
        break;
      case 123: // {
      case 91: // [
        depth++;
        break;
      case 125: // }
      case 93: // ]
        if (depth === 0) return at;
        if (--depth === 0) return at + 1;
        break;
      case 44: // ,
      case 32:
      case 10:
      case 13:
      case 9:
        if (depth === 0) return at;
        break;
    }
  }
  return text.length;
}

/** The offset of the quotation mark that ends the string beginning at `start`. */
function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 92) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
