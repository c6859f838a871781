// Bodies of requests: read as far as they may be, and never lost.

/** A body that was read. */
export interface Read {
  /** What came, as it came. */
  bytes: Uint8Array<ArrayBuffer>;
  /** What is still to come, where there was more than may be read. */
  rest: ReadableStream<Uint8Array> | undefined;
}

/** Reads a body up to a number of bytes, and as far as `grant` has room for so many more. */
export async function read(
  body: ReadableStream<Uint8Array>,
  most: number,
  grant: (bytes: number) => boolean = () => true,
): Promise<Read> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { bytes: joined(chunks), rest: undefined };
    chunks.push(value);
    length += value.byteLength;
    if (length > most || !grant(value.byteLength)) return { bytes: joined(chunks), rest: remaining(reader) };
  }
}

/** A body from its beginning and its rest. */
export function whole({ bytes, rest }: Read): ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> {
  if (rest === undefined) return bytes;
  const reader = rest.getReader();
  let begun = false;
  return new ReadableStream({
    async pull(controller) {
      if (!begun) {
        begun = true;
        controller.enqueue(bytes);
        return;
      }
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function remaining(reader: ReadableStreamDefaultReader<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** Chunks, one behind the other. */
export function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const [first] = chunks;
  const length = chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (chunks.length === 1 && first && first.buffer instanceof ArrayBuffer) return first as Uint8Array<ArrayBuffer>;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

/** What `DecompressionStream` may know; where it does not, the body is not read. */
const CODINGS = ["gzip", "x-gzip", "deflate", "br", "zstd"];

/** The text of bytes; nothing where they are no UTF-8. */
export function text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The bytes of a body as they were before they were packed; nothing where that cannot be told. */
export async function unpacked(
  bytes: Uint8Array<ArrayBuffer>,
  coding: string | null,
  most: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const codings = (coding ?? "")
    .toLowerCase()
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "" && one !== "identity");
  if (codings.length === 0) return bytes;
  const [only] = codings;
  if (codings.length > 1 || only === undefined || !CODINGS.includes(only)) return undefined;
  try {
    const through = unpacker(only);
    if (through === undefined) return undefined;
    const { bytes: plain, rest } = await read(new Blob([bytes]).stream().pipeThrough(through), most);
    // Nobody reads the rest of a body that is too long, or of a bomb.
    if (rest !== undefined) await rest.cancel().catch(() => {});
    return rest === undefined ? plain : undefined;
  } catch {
    return undefined;
  }
}

type Unpacker = { readable: ReadableStream<Uint8Array>; writable: WritableStream<Uint8Array> };

interface Zlib {
  createBrotliDecompress(): object;
  createZstdDecompress?(): object;
}

function unpacker(coding: string): Unpacker | undefined {
  if (coding !== "br" && coding !== "zstd")
    return new DecompressionStream(coding === "deflate" ? "deflate" : "gzip") as Unpacker;
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  const zlib = process?.getBuiltinModule?.("node:zlib") as Zlib | undefined;
  const stream = process?.getBuiltinModule?.("node:stream") as
    | { Duplex: { toWeb(duplex: object): Unpacker } }
    | undefined;
  const duplex = coding === "br" ? zlib?.createBrotliDecompress?.() : zlib?.createZstdDecompress?.();
  return duplex && stream?.Duplex.toWeb(duplex);
}
