// The digest of a conversation, message by message, which is the key of the cache of snapshots. Not cryptographic: it
// only distinguishes conversations.

/** A running digest. Ignores `cache_control`, which moves with every request. */
export class Digest {
  #a: number;
  #b: number;

  /** @param seed everything that must be equal besides the conversation. */
  constructor(seed: string) {
    this.#a = 0x9e3779b9;
    this.#b = 0x85ebca6b;
    this.#text(seed);
  }

  /** The state of the digest, for {@link Digest.from}. */
  get state(): readonly [number, number] {
    return [this.#a, this.#b];
  }

  /** Continues from a state. */
  static from([a, b]: readonly [number, number]): Digest {
    const digest = new Digest("");
    digest.#a = a;
    digest.#b = b;
    return digest;
  }

  /** The digest so far, as 16 hexadecimal digits. */
  get value(): string {
    return hex(mixed(this.#a ^ Math.imul(this.#b, 0x2545f491))) + hex(mixed(this.#b ^ (this.#a >>> 11)));
  }

  add(value: unknown): void {
    if (typeof value === "string") {
      this.#text(value);
    } else if (typeof value !== "object" || value === null) {
      this.#text(`\u0000${String(value)}`);
    } else if (Array.isArray(value)) {
      this.#text(`\u0001${value.length}`);
      for (const part of value) this.add(part);
    } else {
      for (const key in value) {
        if (key === "cache_control") continue;
        this.#text(key);
        this.add((value as Record<string, unknown>)[key]);
      }
      this.#text("\u0002");
    }
  }

  #text(text: string): void {
    let a = this.#a;
    let b = this.#b;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      a = Math.imul(a ^ code, 0x9e3779b1);
      // Stays within 32-bit integers: anything else takes five times as long.
      b = (Math.imul(b ^ code, 0x5f356495) + 0x7f4a7c15) | 0;
    }
    this.#a = mixed(a ^ text.length);
    this.#b = mixed(b ^ (a >>> 15));
  }
}

function mixed(value: number): number {
  let mix = value;
  mix = Math.imul(mix ^ (mix >>> 16), 0x21f0aaad);
  mix = Math.imul(mix ^ (mix >>> 15), 0x735a2d97);
  return mix ^ (mix >>> 15);
}

const hex = (value: number): string => (value >>> 0).toString(16).padStart(8, "0");
