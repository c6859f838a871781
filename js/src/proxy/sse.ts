import type { SseEvent } from "./api.ts";

/** Bytes that an event may take; a longer one is let through unread, with all that follows. */
const LONGEST = 8 << 20;

const decoder = new TextDecoder();

/** Takes a stream of server-sent events apart as its bytes come, and tells where in them each event ends. */
export class SseReader {
  /** The beginning of an event that goes on. */
  #rest: Uint8Array = new Uint8Array(0);

  /** The events that end in this chunk, and where: an offset in the chunk. */
  *read(chunk: Uint8Array): Generator<{ event: SseEvent; end: number }> {
    const before = this.#rest.length;
    const bytes = before === 0 ? chunk : joined(this.#rest, chunk);
    let start = 0;
    let line = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, line)) {
      const blank = end === line || (end === line + 1 && bytes[line] === 13);
      line = end + 1;
      if (!blank) continue;
      const event = parsed(decoder.decode(bytes.subarray(start, end)));
      start = line;
      if (event !== undefined) yield { event, end: line - before };
    }
    if (bytes.length - start > LONGEST) throw new Error(`an event of the stream is longer than ${LONGEST} bytes`);
    this.#rest = bytes.slice(start);
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
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
