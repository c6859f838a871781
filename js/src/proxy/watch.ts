// Passes answers back to the client: chunks are forwarded unchanged with backpressure and inspected on the way.
import { type AgentEvent, type LoopDetector, LoopwardenError, type Verdict } from "loopwarden";
import { rank } from "../replay/levels.ts";
import { type Answer, type Json, parsed } from "./api.ts";
import { SseReader } from "./sse.ts";
import { cutNote } from "./words.ts";

/** Inspects a stream. */
export interface Looker {
  /** Inspects a chunk. To cut the stream, returns the offset in the chunk and what to send instead of the rest. */
  chunk(chunk: Uint8Array): { at: number; rest: Uint8Array } | undefined;
  /** Called once at the end; `whole` is true if the stream ended by itself. */
  end(whole: boolean): void;
}

/** The same stream, inspected. A cut or a cancellation also aborts `abort`. */
export function passing(
  body: ReadableStream<Uint8Array>,
  looker: Looker,
  abort: AbortController,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let ended = false;
  const end = (whole: boolean) => {
    if (!ended) looker.end(whole);
    ended = true;
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        let next: Awaited<ReturnType<typeof reader.read>>;
        try {
          next = await reader.read();
        } catch (error) {
          end(false);
          throw error;
        }
        if (next.done) {
          end(true);
          controller.close();
          return;
        }
        const cut = looker.chunk(next.value);
        if (cut === undefined) {
          controller.enqueue(next.value);
          return;
        }
        if (cut.at > 0) controller.enqueue(next.value.subarray(0, cut.at));
        if (cut.rest.length > 0) controller.enqueue(cut.rest);
        controller.close();
        end(false);
        // Cancelled before the abort, so that the abort does not surface as an error.
        await reader.cancel().catch(() => {});
        abort.abort();
      },
      async cancel(reason) {
        end(false);
        await reader.cancel(reason).catch(() => {});
        abort.abort(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Collects an answer while it passes. `done` gets it, or no bytes if it was incomplete or longer than `most` bytes. */
export class Collector implements Looker {
  readonly #most: number;
  readonly #done: (answer: Uint8Array<ArrayBuffer>) => void;
  #chunks: Uint8Array[] = [];
  #length = 0;

  constructor(most: number, done: (answer: Uint8Array<ArrayBuffer>) => void) {
    this.#most = most;
    this.#done = done;
  }

  chunk(chunk: Uint8Array): undefined {
    this.#length += chunk.byteLength;
    if (this.#length <= this.#most) this.#chunks.push(chunk);
    else this.#chunks = [];
  }

  end(whole: boolean): void {
    const isWhole = whole && this.#length <= this.#most;
    const all = new Uint8Array(isWhole ? this.#length : 0);
    let at = 0;
    for (const chunk of isWhole ? this.#chunks : []) {
      all.set(chunk, at);
      at += chunk.byteLength;
    }
    this.#chunks = [];
    this.#done(all);
  }
}

/** The options of {@link Watch}. */
export interface Watched {
  answer: Answer;
  detector: LoopDetector;
  /** Whether to cut an answer at `gate` or `halt`. */
  cuts: boolean;
  onVerdict(verdict: Verdict, characters: number, cut: boolean): void;
  onWarning(cause: unknown): void;
  /** Called at the end. `last` is the last event, if the stream ended by itself. */
  onEnd(last: Json | undefined): void;
}

/** Judges an answer while it streams. */
export class Watch implements Looker {
  readonly #watched: Watched;
  readonly #reader = new SseReader();
  #characters = 0;
  #last: string | undefined;
  #blind = false;
  /** The highest rank reported for this answer: each level is reported once, from `nudge` on. */
  #told = 1;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  chunk(chunk: Uint8Array): { at: number; rest: Uint8Array } | undefined {
    if (this.#blind) return undefined;
    try {
      for (const { event, end } of this.#reader.read(chunk)) {
        if (event.data.startsWith("{")) this.#last = event.data;
        for (const { text, channel, choice } of this.#watched.answer.read(event)) {
          this.#characters += text.length;
          const verdict = this.#judged(text, channel, choice);
          if (verdict === undefined || !this.#watched.cuts || rank(verdict.level) < rank("gate")) continue;
          const rest = new TextEncoder().encode(this.#watched.answer.close(cutNote(verdict)));
          this.#watched.onVerdict(verdict, this.#characters, true);
          return { at: end, rest };
        }
      }
    } catch (error) {
      // What cannot be read passes unjudged, and so does the rest.
      this.#blind = true;
      this.#watched.onWarning(error);
    }
    return undefined;
  }

  end(whole: boolean): void {
    this.#watched.onEnd(whole && this.#last !== undefined ? parsed(this.#last) : undefined);
  }

  #judged(text: string, channel: "text" | "reasoning", choice: number): Verdict | undefined {
    const event: AgentEvent = { type: "delta", text, channel, ...(choice > 0 && { agent: `answer ${choice}` }) };
    let verdict: Verdict;
    try {
      verdict = this.#watched.detector.record(event);
    } catch (error) {
      if (!(error instanceof LoopwardenError) || error.code === "internal") throw error;
      return undefined;
    }
    const strength = rank(verdict.wouldBe ?? verdict.level);
    if (strength > this.#told) {
      this.#told = strength;
      // A cut is reported by the caller, with the tokens saved.
      if (!this.#watched.cuts || rank(verdict.level) < rank("gate"))
        this.#watched.onVerdict(verdict, this.#characters, false);
    }
    return verdict;
  }
}
