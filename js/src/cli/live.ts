// Serves the page of a live session, to this machine only.

import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LoopwardenError } from "../errors.ts";
import type { Config } from "../generated/types.ts";
import { readTranscript, type Transcript, type TranscriptFormat } from "../transcript.ts";
import type { News } from "../view/live.ts";
import { InputError, reasonOf } from "./failure.ts";
import { Followed } from "./follow.ts";
import { inert, tell } from "./print.ts";

/** What is served, and how. */
export interface Live {
  file: string;
  config: Config;
  format: TranscriptFormat | undefined;
  /** The HTML of the page, without a run. */
  page: string;
  /** The port; 0 picks any free one. */
  port: number;
  /** Called with the address once the server is listening. */
  ready: (url: string) => void;
  signal: AbortSignal;
}

const LOOPBACK = "127.0.0.1";
/** Polling interval of the file, in milliseconds. */
const EVERY = 300;
/** Interval of keep-alive comments on the streams, in milliseconds. */
const ALIVE = 15_000;
/** Maximum number of open pages. */
const PAGES = 16;

/** Serves the page and updates of the session until the signal aborts. */
export async function serve({ file, config, format, page, port, ready, signal }: Live): Promise<void> {
  const token = randomBytes(24).toString("base64url");
  const session = new Session(basename(file), config);
  const server = createServer((request, response) => answer(request, response, token, page, session));
  server.listen(port, LOOPBACK);
  await once(server, "listening").catch((error: NodeJS.ErrnoException) => {
    const other = error.code === "EADDRINUSE" ? "; without --port it takes a free one" : "";
    throw new InputError(`cannot listen on ${LOOPBACK}:${port}: ${reasonOf(error)}${other}`);
  });
  ready(`http://${LOOPBACK}:${(server.address() as AddressInfo).port}/${token}/`);
  try {
    await follow(new Followed(file), session, format, signal);
  } finally {
    session.end();
    await close(server);
  }
}

async function follow(
  source: Followed,
  session: Session,
  format: TranscriptFormat | undefined,
  signal: AbortSignal,
): Promise<void> {
  let alive = Date.now();
  while (!signal.aborted) {
    const look = await source.look();
    if (look !== undefined && "gone" in look) tell(`loopwarden: ${source.path}: ${look.gone}; waiting for it`);
    else if (look !== undefined) session.update(readTranscript(look.text, format));
    if (Date.now() - alive > ALIVE) {
      session.beat();
      alive = Date.now();
    }
    await sleep(EVERY, undefined, { signal }).catch(() => {});
  }
}

async function close(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}

/** Answers a request; only accepts a local host name and the token that was printed. */
function answer(
  request: IncomingMessage,
  response: ServerResponse,
  token: string,
  page: string,
  session: Session,
): void {
  response.setHeader("cache-control", "no-store");
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("cross-origin-resource-policy", "same-origin");
  response.setHeader("cross-origin-opener-policy", "same-origin");
  const refuse = (status: number, why: string) => response.writeHead(status, { "content-type": "text/plain" }).end(why);
  // Prevents DNS rebinding: a foreign name may resolve to this machine.
  if (!/^(?:127\.0\.0\.1|localhost)(?::\d+)?$/i.test(request.headers.host ?? "")) return void refuse(421, "not here");
  const [, given = "", path, ...more] = (request.url ?? "").split("?")[0]?.split("/") ?? [];
  if (!same(given, token) || more.length > 0) return void refuse(404, "not here");
  if (request.method !== "GET" && request.method !== "HEAD") return void refuse(405, "only GET");
  if (path === "") {
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.setHeader("content-security-policy", "frame-ancestors 'none'");
    return void response.end(request.method === "HEAD" ? undefined : page);
  }
  const site = request.headers["sec-fetch-site"];
  if (path !== "events" || (site !== undefined && site !== "same-origin")) return void refuse(404, "not here");
  if (!session.open(response)) return void refuse(503, "too many pages");
}

function same(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** An open page. */
interface Listener {
  response: ServerResponse;
  /** The number of events it has that are still up to date. */
  has: number;
  /** Whether an update is pending until the stream has drained. */
  behind: boolean;
}

/** The session's current events and the open pages. */
class Session {
  readonly #name: string;
  readonly #config: Config;
  readonly #listeners = new Set<Listener>();
  #now: Transcript | undefined;
  #texts: string[] = [];

  constructor(name: string, config: Config) {
    this.#name = name;
    this.#config = config;
  }

  update(next: Transcript): void {
    const texts = next.events.map((event) => JSON.stringify(event));
    let from = 0;
    while (from < texts.length && texts[from] === this.#texts[from]) from++;
    if (from === texts.length && from === this.#texts.length && this.#now?.errors.length === next.errors.length) return;
    [this.#now, this.#texts] = [next, texts];
    for (const listener of this.#listeners) {
      listener.has = Math.min(listener.has, from);
      this.#tell(listener);
    }
  }

  /** Adds a page; false if there are too many. */
  open(response: ServerResponse): boolean {
    if (this.#listeners.size >= PAGES) return false;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("retry: 1000\n\n");
    const listener: Listener = { response, has: 0, behind: false };
    this.#listeners.add(listener);
    response.on("close", () => this.#listeners.delete(listener));
    response.on("drain", () => {
      if (listener.behind) this.#tell(listener);
    });
    if (this.#now !== undefined) this.#tell(listener);
    return true;
  }

  beat(): void {
    for (const { response } of this.#listeners) if (!response.writableNeedDrain) response.write(": alive\n\n");
  }

  end(): void {
    for (const { response } of this.#listeners) response.end("event: end\ndata: {}\n\n");
  }

  #tell(listener: Listener): void {
    if (this.#now === undefined) return;
    // A page that is slower than the session gets several changes in one update.
    listener.behind = listener.response.writableNeedDrain;
    if (listener.behind) return;
    const { format, events, lines, errors } = this.#now;
    const from = listener.has;
    const news: News = {
      name: this.#name,
      format,
      config: this.#config,
      from,
      events: events.slice(from),
      lines: lines.slice(from),
      errors: errors.map(({ line, error }) => ({ line, message: new LoopwardenError(error).message })),
    };
    listener.has = events.length;
    listener.response.write(`data: ${inert(JSON.stringify(news))}\n\n`);
  }
}
