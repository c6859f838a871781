// Where snapshots are kept between the requests of a conversation. What is lost is read again out of the next request, so
// a cache may forget whatever it likes; only state that the vendor keeps (`previous_response_id`) cannot be read again.

/** Keeps bytes by a name, such as in memory, in a Durable Object or in Redis. Names are at most 80 ASCII characters. */
export interface ProxyCache {
  get(key: string): Uint8Array | null | undefined | Promise<Uint8Array | null | undefined>;
  set(key: string, value: Uint8Array): void | Promise<void>;
  /** Forgets what a conversation has gone beyond; without it that is left to the cache. */
  delete?(key: string): void | Promise<void>;
}

/** A cache in this process, which forgets what was used longest ago. */
export class MemoryCache implements ProxyCache {
  readonly #entries = new Map<string, Uint8Array>();
  readonly #most: number;
  #bytes = 0;

  /** @param bytes what it holds at most. Default 32 MiB: of some thousand conversations. */
  constructor(bytes: number = 32 << 20) {
    this.#most = bytes;
  }

  /** Bytes that are held. */
  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): Uint8Array | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }

  set(key: string, value: Uint8Array): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.#bytes += cost(key, value);
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#most) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= cost(key, value);
  }
}

/** An entry takes about as much again as a small object beside its bytes. */
const cost = (key: string, value: Uint8Array): number => key.length + value.byteLength + 200;
