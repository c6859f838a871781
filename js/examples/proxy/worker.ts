// A guard in front of a model's API, as a Cloudflare Worker: run `npx wrangler deploy` in this folder, and give agents
// the worker's address in place of the API's. The state of conversations is kept in Durable Objects, so it does not
// matter which machine the next request reaches.
import { DurableObject } from "cloudflare:workers";
import { createLoopProxy, type LoopProxy, type ProxyCache } from "loopwarden/proxy";

interface Env {
  /** Where requests go. */
  UPSTREAM: string;
  CONVERSATIONS: DurableObjectNamespace<Conversations>;
}

/** Time without a request after which the state of a conversation is deleted, in milliseconds; it can be rebuilt. */
const FORGOTTEN = 24 * 60 * 60 * 1000;

/** Stores the state of one part of the conversations. */
export class Conversations extends DurableObject {
  async read(key: string): Promise<Uint8Array | undefined> {
    return (await this.ctx.storage.get<{ value: Uint8Array }>(key))?.value;
  }

  async write(key: string, value: Uint8Array): Promise<void> {
    await this.ctx.storage.put(key, { at: Date.now(), value });
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(Date.now() + FORGOTTEN);
  }

  async forget(key: string): Promise<void> {
    await this.ctx.storage.delete(key);
  }

  override async alarm(): Promise<void> {
    const kept = await this.ctx.storage.list<{ at: number }>();
    const old = [...kept].filter(([, { at }]) => at < Date.now() - FORGOTTEN).map(([key]) => key);
    for (let from = 0; from < old.length; from += 128) await this.ctx.storage.delete(old.slice(from, from + 128));
    if (old.length < kept.size) await this.ctx.storage.setAlarm(Date.now() + FORGOTTEN);
  }
}

/** A cache that spreads conversations over 256 objects, by the end of their keys. */
function cache(objects: DurableObjectNamespace<Conversations>): ProxyCache {
  const of = (key: string) => objects.getByName(key.slice(-2));
  return {
    get: (key) => of(key).read(key),
    set: (key, value) => of(key).write(key, value),
    delete: (key) => of(key).forget(key),
  };
}

let proxy: LoopProxy | undefined;

export default {
  fetch(request, env, context) {
    proxy ??= createLoopProxy({
      upstream: env.UPSTREAM,
      cache: cache(env.CONVERSATIONS),
      onVerdict: ({ level, findings }, { api, model, action }) =>
        console.log(JSON.stringify({ level, rule: findings[0]?.rule, api, model, action })),
    });
    return proxy(request, env, context);
  },
} satisfies ExportedHandler<Env>;
