// A fleet of Node processes that share their detectors through Redis: any process may judge any session, and none keeps
// its own state. Run it: node examples/state/redis.ts redis://localhost:6379
import { type Config, type AgentEvent as Event, LoopDetector, LoopwardenError, type Verdict } from "loopwarden";
import { createClient, RESP_TYPES } from "redis";

/** Maximum number of attempts to judge an event while other processes write the same session. */
const TRIES = 20;

// Writes the state only if nobody has written it since it was read. KEYS: the session.
// ARGV: the version that was read, the new state, the time to live in seconds.
const WRITE = `
if (redis.call("HGET", KEYS[1], "version") or "0") ~= ARGV[1] then return 0 end
redis.call("HSET", KEYS[1], "version", tonumber(ARGV[1]) + 1, "snapshot", ARGV[2])
redis.call("EXPIRE", KEYS[1], ARGV[3])
return 1`;

/** Thrown if another process wrote the session on every attempt. */
export class ContentionError extends Error {}

export class RedisSessions {
  readonly #client;
  readonly #config: Config;
  readonly #seconds: number;

  /**
   * @param url - The address of Redis.
   * @param config - The configuration of new sessions; a session keeps the one it began with.
   * @param seconds - How long a session without events is kept, in seconds.
   */
  constructor(url: string, config: Config = {}, seconds: number = 24 * 60 * 60) {
    // Snapshots are bytes.
    this.#client = createClient({ url }).withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    this.#client.on("error", (error) => console.error(`redis: ${error.message}`));
    this.#config = config;
    this.#seconds = seconds;
  }

  async connect(): Promise<this> {
    await this.#client.connect();
    return this;
  }

  close(): void {
    this.#client.destroy();
  }

  /**
   * Records an event and judges it. Concurrent events of one session are judged one after the other.
   *
   * @throws {ContentionError} if other processes write the session on every attempt.
   */
  async record(session: string, event: Event): Promise<Verdict> {
    const key = `loopwarden:${session}`;
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const [version, snapshot] = await this.#client.hmGet(key, ["version", "snapshot"]);
      const detector = this.#detector(session, snapshot);
      try {
        const verdict = detector.record(event);
        const state = Buffer.from(detector.snapshot());
        const args = [version?.toString() ?? "0", state, String(this.#seconds)];
        if ((await this.#client.eval(WRITE, { keys: [key], arguments: args })) === 1) return verdict;
      } finally {
        detector.free();
      }
      // Another process was faster: judge this event again on the new state. The random wait keeps the processes from
      // colliding again.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 ** Math.min(attempt, 5)));
    }
    throw new ContentionError(`session ${session} was written by others on ${TRIES} tries`);
  }

  #detector(session: string, snapshot: Buffer | null | undefined): LoopDetector {
    if (!snapshot) return new LoopDetector(this.#config);
    try {
      return LoopDetector.restore(snapshot);
    } catch (error) {
      // Written by another version of the rules, or damaged: the evidence starts over, the agent goes on.
      if (!(error instanceof LoopwardenError)) throw error;
      console.error(`session ${session} starts over: ${error.message}`);
      return new LoopDetector(this.#config);
    }
  }
}

/** Two processes that take turns recording the events of one agent. */
export async function story(url: string): Promise<string[]> {
  const fleet = await Promise.all([new RedisSessions(url).connect(), new RedisSessions(url).connect()]);
  const said: string[] = [];
  try {
    const session = `example-${process.pid}`;
    for (let turn = 0; turn < 5; turn++) {
      const callId = `call-${turn}`;
      const call: Event = { type: "tool-call", tool: "read_file", args: { path: "notes.md" }, callId };
      const result: Event = { type: "tool-result", callId, outcome: "ok", output: "# Notes\nNothing yet." };
      for (const [number, event] of [call, result].entries()) {
        const process = fleet[number] as RedisSessions;
        const { level, findings } = await process.record(session, event);
        if (level !== "continue") said.push(`process ${number + 1}: ${level}: ${findings[0]?.message}`);
      }
    }
  } finally {
    for (const process of fleet) process.close();
  }
  return said;
}

if (process.argv[1] === import.meta.filename) {
  for (const line of await story(process.argv[2] ?? "redis://localhost:6379")) console.log(line);
}
