// What an API is to the proxy: where a conversation stands in a request, where the model reads a note, how an answer is
// written. A file an API; everything else is the same for all of them.
import type { Channel } from "loopwarden";
import type { TranscriptFormat } from "loopwarden/tools";
import type { Edit } from "./splice.ts";

/** The APIs that are understood. */
export type ApiName = "openai-chat" | "openai-responses" | "anthropic" | "gemini";

/** A JSON object of somebody else's. */
export type Json = Readonly<Record<string, unknown>>;

/** A request that was read. */
export interface Asked {
  readonly url: URL;
  readonly body: Json;
}

/** A piece of an answer that passes by. */
export interface Delta {
  text: string;
  channel: Channel;
  /** Which of several answers it belongs to, counted from 0. */
  choice: number;
}

/** An event of a stream of server-sent events. */
export interface SseEvent {
  event: string | undefined;
  data: string;
}

/** Follows one streamed answer, so that it can be closed in the middle. */
export interface Answer {
  /** What an event says; nothing where it says nothing that is judged. */
  read(event: SseEvent): readonly Delta[];
  /** The rest of the stream where it is cut here: a note, the end of all that is open, and the reason. */
  close(note: string): string;
}

/** What came back of a request whose state the vendor keeps. */
export interface Kept {
  /** Names by which a later request goes on from here. */
  ids: string[];
  /** What the model said and called, as messages of the conversation. */
  output: unknown[];
}

export interface Api {
  readonly name: ApiName;
  /** The member of a request that lists the conversation. */
  readonly list: string;
  /** How its messages are read. */
  readonly format: TranscriptFormat;
  /** Whether a path of a POST is a request for an answer. */
  matches(path: string): boolean;
  /** The conversation, oldest first; nothing where there is none that is understood. */
  messages(body: Json): readonly unknown[] | undefined;
  /** Whether the model wrote a message of the conversation. */
  isModel(message: unknown): boolean;
  /** Whether the answer is to be streamed. */
  streams(asked: Asked): boolean;
  /** The tokens that an answer may take, where the request says so. */
  limit(body: Json): number | undefined;
  /** Puts a note where the model reads it next; nothing where there is no such place. */
  guide(body: Json, note: string): Edit[] | undefined;
  /** Leaves the model every tool but this one; nothing where the API cannot, or there is no other. */
  steer(body: Json, tool: string): Edit[] | undefined;
  /** A whole answer that says this and ends the turn, as its content type and text. */
  answer(asked: Asked, text: string): { type: string; text: string };
  /** Follows an answer that is streamed. */
  follow(asked: Asked): Answer;
  /** Ids of the vendor's own state that the request goes on from, newest first. */
  goesOn?(body: Json): string[];
  /** Whether the vendor keeps what comes of a request. */
  keeps?(body: Json): boolean;
  /** What a whole answer, or the last event of a streamed one, leaves behind at the vendor. */
  kept?(asked: Asked, answer: Json): Kept | undefined;
}

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The member of an object of somebody else's. */
export const at = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>(
    (inner, key) =>
      typeof key === "number"
        ? Array.isArray(inner)
          ? inner.at(key)
          : undefined
        : isObject(inner) && Object.hasOwn(inner, key)
          ? inner[key]
          : undefined,
    value,
  );

export const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const count = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

/** The JSON of an event, where it is an object. */
export function parsed(data: string): Json | undefined {
  if (!/^\s*\{/.test(data)) return undefined;
  try {
    const value: unknown = JSON.parse(data);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Server-sent events: each is its data, and its own `type` where the API names its events. */
export const sse = (events: readonly object[], named = false): string =>
  events
    .map((event) => `${named && "type" in event ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`)
    .join("");

export const EVENT_STREAM = "text/event-stream; charset=utf-8";
export const JSON_TYPE = "application/json";

/** Seconds since the Unix epoch. */
export const seconds = (): number => Math.floor(Date.now() / 1000);
/** An id as nobody else gives it. */
export const fresh = (prefix: string): string => `${prefix}loopwarden${crypto.randomUUID().replaceAll("-", "")}`;
