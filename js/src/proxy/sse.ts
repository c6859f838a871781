import type { SseEvent } from "./api.ts";

/** Maximum size of an event in bytes; a longer one and everything after it pass unjudged. */
const LONGEST = 8 << 20;

const decoder = new TextDecoder();

/** Parses a stream of server-sent events chunk by chunk, and reports where in the chunk each event ends. */
export class SseReader {
  /** The beginning of an incomplete event. Grows geometrically, so that small chunks do not cause quadratic copying. */
  #held: Uint8Array = new Uint8Array(0);
  /** The number of bytes used of it. */
  #length = 0;
  /** The offset in it at which the incomplete line begins. */
  #line = 0;

  /**
   * The events that end in this chunk, with the offset in the chunk after each.
   *
   * @throws {Error} if an event is longer than {@link LONGEST} bytes.
   */
  *read(chunk: Uint8Array): Generator<{ event: SseEvent; end: number }> {
    const before = this.#length;
    const bytes = before === 0 ? chunk : this.#with(chunk);
    let start = 0;
    let line = this.#line;
    for (let end = bytes.indexOf(10, before); end >= 0; end = bytes.indexOf(10, line)) {
      const blank = end === line || (end === line + 1 && bytes[line] === 13);
      line = end + 1;
      if (!blank) continue;
      const event = parsed(decoder.decode(bytes.subarray(start, end)));
      start = line;
      if (event !== undefined) yield { event, end: line - before };
    }
    this.#length = bytes.length - start;
    this.#line = line - start;
    if (this.#length > LONGEST) throw new Error(`an event of the stream is longer than ${LONGEST} bytes`);
    if (before === 0 || start > 0) this.#held = bytes.slice(start);
  }

  /** The held bytes followed by this chunk. */
  #with(chunk: Uint8Array): Uint8Array {
    const length = this.#length + chunk.length;
    if (length > this.#held.length) {
      const larger = new Uint8Array(2 * length);
      larger.set(this.#held.subarray(0, this.#length));
      this.#held = larger;
    }
    this.#held.set(chunk, this.#length);
    return this.#held.subarray(0, length);
  }
}

function parsed(text: string): SseEvent | undefined {
  let event: string | undefined;
  let data: string | undefined;
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const name = line.slice(0, colon);
    const value = line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1, line.endsWith("\r") ? -1 : undefined);
    if (name === "data") data = data === undefined ? value : `${data}\n${value}`;
    else if (name === "event") event = value;
  }
  return data === undefined ? undefined : { event, data };
}
