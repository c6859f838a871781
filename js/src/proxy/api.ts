// The proxy's interface to an API: where the conversation is in a request, where a note for the model goes, how an
// answer is written. One file per API; everything else is shared.
import type { Channel } from "loopwarden";
import type { TranscriptFormat } from "loopwarden/tools";
import type { Edit } from "./splice.ts";

/** The supported APIs. */
export type ApiName = "openai-chat" | "openai-responses" | "anthropic" | "gemini";

/** An untrusted JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** A request that was parsed. */
export interface Asked {
  readonly url: URL;
  readonly body: Json;
}

/** A chunk of a streaming answer. */
export interface Delta {
  text: string;
  channel: Channel;
  /** The index of the choice it belongs to, from 0. */
  choice: number;
}

/** An event of a stream of server-sent events. */
export interface SseEvent {
  event: string | undefined;
  data: string;
}

/** Follows one streamed answer, so that it can be ended in the middle. */
export interface Answer {
  /** The deltas of an event; empty if it contains nothing to judge. */
  read(event: SseEvent): readonly Delta[];
  /** The events that end the stream here: a note, the end of everything that is open, and the stop reason. */
  close(note: string): string;
}

/** The answer to a request whose state the vendor keeps. */
export interface Kept {
  /** Ids by which a later request continues from here. */
  ids: string[];
  /** The model's output, as messages of the conversation. */
  output: unknown[];
}

/** An API that the proxy understands. */
export interface Api {
  readonly name: ApiName;
  /** The name of the request's member that contains the conversation. */
  readonly list: string;
  /** The transcript format of its messages. */
  readonly format: TranscriptFormat;
  /** Whether a POST to this path is a request for an answer. */
  matches(path: string): boolean;
  /** The messages of the conversation, oldest first; undefined if there are none that are understood. */
  messages(body: Json): readonly unknown[] | undefined;
  /** Whether the model wrote a message of the conversation. */
  isModel(message: unknown): boolean;
  /** Whether the answer is to be streamed. */
  streams(asked: Asked): boolean;
  /** The maximum number of tokens of the answer, if the request sets it. */
  limit(body: Json): number | undefined;
  /** The edits that add a note where the model reads it next; undefined if there is no such place. */
  guide(body: Json, note: string): Edit[] | undefined;
  /** The edits that exclude a tool; undefined if the API has no way to, or if there is no other tool. */
  steer(body: Json, tool: string): Edit[] | undefined;
  /** A complete answer with this text that ends the turn: its content type and body. */
  answer(asked: Asked, text: string): { type: string; text: string };
  /** Follows a streamed answer. */
  follow(asked: Asked): Answer;
  /** Ids of vendor-side state that the request continues from, newest first. */
  goesOn?(body: Json): string[];
  /** Whether the vendor keeps the state of a request. */
  keeps?(body: Json): boolean;
  /** The vendor-side state after a complete answer, or after the last event of a streamed one. */
  kept?(asked: Asked, answer: Json): Kept | undefined;
}

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value at a path in untrusted JSON; undefined if there is none. Negative indices count from the end. */
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

/** Parses the data of an event; undefined if it is not a JSON object. */
export function parsed(data: string): Json | undefined {
  if (!/^\s*\{/.test(data)) return undefined;
  try {
    const value: unknown = JSON.parse(data);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Writes server-sent events; `named` adds an `event` line with each object's `type`. */
export const sse = (events: readonly object[], named = false): string =>
  events
    .map((event) => `${named && "type" in event ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`)
    .join("");

export const EVENT_STREAM = "text/event-stream; charset=utf-8";
export const JSON_TYPE = "application/json";

/** Seconds since the Unix epoch. */
export const seconds = (): number => Math.floor(Date.now() / 1000);
/** A unique id. */
export const fresh = (prefix: string): string => `${prefix}loopwarden${crypto.randomUUID().replaceAll("-", "")}`;
