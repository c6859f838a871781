// Reads request bodies up to a limit without losing the rest.

/** A body that was read. */
export interface Read {
  /** The bytes read so far. */
  bytes: Uint8Array<ArrayBuffer>;
  /** The rest, if the body is longer than the limit. */
  rest: ReadableStream<Uint8Array> | undefined;
}

/** Reads a body up to `most` bytes, and as long as `grant` allows the bytes of each chunk. */
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

/** The complete body: the bytes read and the rest. */
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

/** Concatenates chunks. */
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

/** Content codings that can be decoded, if the runtime supports them; otherwise the body is passed on unread. */
const CODINGS = ["gzip", "x-gzip", "deflate", "br", "zstd"];

/** Decodes UTF-8; undefined if the bytes are invalid. */
export function text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Decodes the content coding of a body; undefined if that is impossible or gives more than `most` bytes. */
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
    // The body is too long, or a decompression bomb.
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
