// A Cloudflare Worker with one Durable Object per agent session. The object keeps a detector and its snapshot: after an
// eviction, the next event restores the detector, and nothing is lost.
//
// wrangler.jsonc: { "main": "worker.ts", "durable_objects": { "bindings": [{ "name": "SESSIONS", "class_name":
// "AgentSession" }] }, "migrations": [{ "tag": "v1", "new_sqlite_classes": ["AgentSession"] }] }
import { DurableObject } from "cloudflare:workers";
import { type Config, type AgentEvent as Event, LoopDetector, LoopwardenError } from "loopwarden";

export interface Env {
  SESSIONS: DurableObjectNamespace<AgentSession>;
}

const CONFIG: Config = {};

export class AgentSession extends DurableObject<Env> {
  #detector: LoopDetector | undefined;

  /** Records an event and judges it. The state is stored before the verdict is sent. */
  async record(event: Event): Promise<string> {
    this.#detector ??= await this.#restore();
    const verdict = this.#detector.record(event);
    // Not awaited: the runtime holds the answer back until the write is durable, and no other event comes in between.
    void this.ctx.storage.put("snapshot", this.#detector.snapshot());
    return JSON.stringify(verdict);
  }

  /** The report for a person. */
  async report(): Promise<string> {
    this.#detector ??= await this.#restore();
    return this.#detector.report();
  }

  async #restore(): Promise<LoopDetector> {
    const snapshot = await this.ctx.storage.get<Uint8Array>("snapshot");
    if (snapshot === undefined) return new LoopDetector(CONFIG);
    try {
      return LoopDetector.restore(snapshot);
    } catch (error) {
      // Written by another version of the rules, or damaged: the evidence starts over, the agent goes on.
      if (!(error instanceof LoopwardenError)) throw error;
      console.error(`session ${this.ctx.id} starts over: ${error.message}`);
      return new LoopDetector(CONFIG);
    }
  }
}

export default {
  /** `POST /SESSION` with an event answers with the verdict, `GET /SESSION` with the report. */
  async fetch(request: Request, env: Env): Promise<Response> {
    const session = env.SESSIONS.getByName(new URL(request.url).pathname.slice(1));
    if (request.method === "GET") return new Response(await session.report());
    let event: Event;
    try {
      event = (await request.json()) as Event;
      return new Response(await session.record(event), { headers: { "content-type": "application/json" } });
    } catch (error) {
      return Response.json({ error: error instanceof Error ? error.message : String(error) }, { status: 400 });
    }
  },
};
