// A request usually begins with the previous one, byte for byte. Then only the new part is parsed: parsing a
// conversation of 500 messages takes longer than judging the last turn. Only positions and digests are remembered.

/** A position in the bytes of a request between two messages, before which everything is known. */
export interface Mark {
  /** The offset at which the first message begins. */
  first: number;
  /** The offset at which the last known message ends. */
  end: number;
  /** The number of messages before it. */
  messages: number;
  /** The offsets at which the last of these messages begin. */
  recent: number[];
  /** The running digest of the messages. */
  digest: readonly [number, number];
  /** The key of the previous turn. */
  before: string | undefined;
}

/** A mark and the hash of the bytes before it. */
interface Remembered extends Mark {
  hash: number;
}

/** Minimum length of a prefix worth remembering, in bytes. */
const LEAST = 1024;
/** Maximum number of marks remembered per beginning. */
const ALIKE = 16;
/** Maximum number of beginnings remembered. */
const BEGINNINGS = 4096;

/** Remembers the prefixes of requests. */
export class Prefixes {
  /** Marks by tenant, and by length and hash of a beginning whose length is a power of two. */
  readonly #marks = new Map<string, Remembered[]>();

  /** The longest known prefix of a request of this tenant. */
  find(bytes: Uint8Array, whose: string): Mark | undefined {
    const stops = new Map<number, Remembered[]>();
    let found: Mark | undefined;
    hashed(bytes, powers(bytes.length), (length, hash) => {
      for (const mark of stops.get(length) ?? []) if (mark.hash === hash) found = mark;
      if (!isPower(length)) return [];
      const key = `${whose} ${length} ${hash}`;
      const marks = this.#marks.get(key) ?? [];
      const more: number[] = [];
      for (const mark of marks) {
        if (mark.end > bytes.length) continue;
        if (mark.end === length && mark.hash === hash) found = mark;
        const others = stops.get(mark.end);
        if (others) others.push(mark);
        else stops.set(mark.end, [mark]);
        more.push(mark.end);
      }
      return more;
    });
    return found;
  }

  /** Remembers marks of a request, in any order. */
  keep(bytes: Uint8Array, whose: string, marks: readonly Mark[]): void {
    const known = marks.filter(({ end }) => end >= LEAST);
    if (known.length === 0) return;
    const beginnings = new Map<number, string>();
    const hashes = new Map<number, number>();
    hashed(bytes, [...powers(bytes.length), ...known.map(({ end }) => end)], (length, hash) => {
      if (isPower(length)) beginnings.set(length, `${whose} ${length} ${hash}`);
      hashes.set(length, hash);
      return [];
    });
    for (const mark of known) {
      const key = beginnings.get(2 ** Math.floor(Math.log2(mark.end)));
      const hash = hashes.get(mark.end);
      if (key === undefined || hash === undefined) continue;
      const others = (this.#marks.get(key) ?? []).filter((other) => other.end !== mark.end || other.hash !== hash);
      this.#marks.delete(key);
      this.#marks.set(key, [...others, { ...mark, hash }].slice(-ALIKE));
      const oldest = this.#marks.size > BEGINNINGS ? this.#marks.keys().next().value : undefined;
      if (oldest !== undefined) this.#marks.delete(oldest);
    }
  }
}

const isPower = (length: number): boolean => length >= LEAST && (length & (length - 1)) === 0;

function powers(length: number): number[] {
  const all: number[] = [];
  for (let power = LEAST; power <= length; power *= 2) all.push(power);
  return all;
}

/** Hashes bytes in one pass and calls `at` with the hash at each length; `at` may return further lengths. */
function hashed(bytes: Uint8Array, lengths: readonly number[], at: (length: number, hash: number) => number[]): void {
  // Reads four bytes at once, which requires alignment.
  const own = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const words = new Uint32Array(own.buffer, own.byteOffset, own.length >> 2);
  const stops = [...new Set(lengths)].sort((a, b) => a - b);
  let a = 0x9e3779b9 | 0;
  let b = 0x85ebca6b | 0;
  let word = 0;
  for (let index = 0; index < stops.length; index++) {
    const length = stops[index] ?? 0;
    for (const end = length >> 2; word < end; word++) {
      const four = words[word] ?? 0;
      a = Math.imul(a ^ four, 0x9e3779b1);
      b = Math.imul(b ^ (four >>> 16) ^ (four << 16), 0x5f356495) ^ (a >>> 13);
    }
    let rest = length;
    for (let at = word << 2; at < length; at++) rest = Math.imul(rest ^ (own[at] ?? 0), 0x21f0aaad);
    // 53 bits, which a number holds exactly.
    const low = Math.imul(a ^ rest, 0x735a2d97) >>> 0;
    const high = (Math.imul(b ^ (rest >>> 7), 0x2545f491) >>> 11) & 0x1fffff;
    const more = at(length, high * 2 ** 32 + low).filter((stop) => stop > length && !stops.includes(stop));
    if (more.length > 0)
      stops.splice(index + 1, stops.length, ...[...stops.slice(index + 1), ...more].sort((x, y) => x - y));
  }
}

/** The offsets of a list's messages, starting at the first or after a known one; undefined if the list is malformed. */
export function elements(bytes: Uint8Array, from: number): { start: number; end: number }[] | undefined {
  const found: { start: number; end: number }[] = [];
  let at = blanks(bytes, from);
  if (bytes[at] === COMMA) at = blanks(bytes, at + 1);
  while (bytes[at] !== CLOSE_LIST) {
    const end = ended(bytes, at);
    if (end <= at || end > bytes.length) return undefined;
    found.push({ start: at, end });
    at = blanks(bytes, end);
    if (bytes[at] === COMMA) at = blanks(bytes, at + 1);
    else if (bytes[at] !== CLOSE_LIST) return undefined;
  }
  return found;
}

/** The offset after the opening bracket of the list with this name; undefined if there is none, or more than one. */
export function opening(bytes: Uint8Array, name: string): number | undefined {
  let at = blanks(bytes, 0);
  if (bytes[at] !== OPEN_OBJECT) return undefined;
  let found: number | undefined;
  at = blanks(bytes, at + 1);
  while (at < bytes.length && bytes[at] === QUOTE) {
    const end = ended(bytes, at);
    const key = decoder.decode(bytes.subarray(at + 1, end - 1));
    // A name written with escapes could be any name.
    if (key.includes("\\")) return undefined;
    at = blanks(bytes, blanks(bytes, end) + 1);
    if (key === name) {
      if (found !== undefined || bytes[at] !== OPEN_LIST) return undefined;
      found = at + 1;
    }
    at = blanks(bytes, ended(bytes, at));
    if (bytes[at] === COMMA) at = blanks(bytes, at + 1);
  }
  return found;
}

const decoder = new TextDecoder();
const [QUOTE, COMMA, OPEN_OBJECT, OPEN_LIST, CLOSE_LIST] = [34, 44, 123, 91, 93];

function blanks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === 32 || bytes[at] === 10 || bytes[at] === 13 || bytes[at] === 9) at++;
  return at;
}

/** The offset after the value that begins at `start`. */
function ended(bytes: Uint8Array, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === 34) {
      at = stringEnd(bytes, at);
      if (depth === 0) return at + 1;
    } else if (byte === 123 || byte === 91) {
      depth++;
    } else if (byte === 125 || byte === 93) {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (byte === 44 || byte === 32 || byte === 10 || byte === 13 || byte === 9)) {
      return at;
    }
  }
  return bytes.length;
}

function stringEnd(bytes: Uint8Array, start: number): number {
  for (let end = bytes.indexOf(34, start + 1); end >= 0; end = bytes.indexOf(34, end + 1)) {
    let slashes = 0;
    while (bytes[end - 1 - slashes] === 92) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return bytes.length;
}
