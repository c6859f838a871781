// Stores snapshots between the requests of a conversation. Lost entries are rebuilt from the next request, so a cache
// may evict anything; only vendor-side state (`previous_response_id`) cannot be rebuilt.

/** A key-value store, such as memory, a Durable Object or Redis. Keys are at most 80 ASCII characters. */
export interface ProxyCache {
  get(key: string): Uint8Array | null | undefined | Promise<Uint8Array | null | undefined>;
  set(key: string, value: Uint8Array): void | Promise<void>;
  /** Deletes an entry that its conversation no longer needs. If absent, eviction is left to the cache. */
  delete?(key: string): void | Promise<void>;
}

/** An in-process LRU cache. */
export class MemoryCache implements ProxyCache {
  readonly #entries = new Map<string, Uint8Array>();
  readonly #most: number;
  #bytes = 0;

  /** @param bytes maximum size in bytes. Default 32 MiB, enough for some thousand conversations. */
  constructor(bytes: number = 32 << 20) {
    this.#most = bytes;
  }

  /** The current size in bytes. */
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

/** The approximate size of an entry in bytes, including the overhead of the objects. */
const cost = (key: string, value: Uint8Array): number => key.length + value.byteLength + 200;
