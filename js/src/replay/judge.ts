import { LoopDetector } from "../detector.ts";
import { LoopwardenError } from "../errors.ts";
import type { Config, Event, Level, TraceEvent, Verdict } from "../generated/types.ts";
import { readTranscript } from "../transcript.ts";
import { given } from "./levels.ts";

/** An event of a recorded run. */
export interface Judgeable {
  /** The event's original JSON text, if any, so that numbers reach the core as they were written. */
  text?: string;
  event: Event;
  /** Whether it had not happened yet: it is checked, not recorded. */
  pending: boolean;
}

/** The result of judging one event. */
export interface Judged {
  /** The level; in shadow mode the one that would have been; `continue` for a rejected event. */
  level: Level;
  /** Undefined if the event was rejected. */
  verdict: Verdict | undefined;
  /** Why the event was rejected. */
  error: LoopwardenError | undefined;
  /** Whether it is a rejected result that was recorded as having answered its call. */
  settled: boolean;
}

/**
 * Records an event, or checks it if it is pending. A rejected event leaves the detector unchanged, except that a
 * rejected result still answers its call.
 *
 * @throws {LoopwardenError} only `internal`: the core has failed, and nothing more can be judged.
 */
export function judge(detector: LoopDetector, { text, event, pending }: Judgeable): Judged {
  try {
    const own = text ?? event;
    const verdict = pending ? detector.check(own) : detector.record(own);
    return { level: given(verdict), verdict, error: undefined, settled: false };
  } catch (error) {
    if (!(error instanceof LoopwardenError) || error.code === "internal") throw error;
    const settled = !pending && settles(detector, text ?? JSON.stringify(event));
    return { level: "continue", verdict: undefined, error, settled };
  }
}

/** Records a stand-in for a rejected event if that is a result; returns whether it is. */
function settles(detector: LoopDetector, refused: string): boolean {
  const [event] = readTranscript(refused, "trace").events;
  if (event === undefined || !isStandIn(event)) return false;
  try {
    detector.record(event as Event);
    return true;
  } catch (error) {
    if (!(error instanceof LoopwardenError) || error.code === "internal") throw error;
    return false;
  }
}

/** Whether an event is a stand-in for a result that could not be read. */
export const isStandIn = ({ synthetic, labels }: Pick<TraceEvent, "synthetic" | "labels">): boolean =>
  synthetic === true && labels?.["unread"] === "result";

/**
 * Whether so much of a log could not be read that finding nothing means little: a quarter or more, since a log whose
 * results are all unreadable may still have its calls and messages.
 */
export const isLargelyUnread = (unread: number, judged: number): boolean => unread > 0 && unread * 3 >= judged;

/** An event of a trace as a {@link Judgeable}. */
export function judgeable({ pending, ...event }: TraceEvent): Judgeable {
  return { event: event as Event, pending: pending === true };
}

/** Replays events from the start, yielding the result of each. `before` is called before each event. */
export function* replay(
  events: Iterable<Judgeable>,
  config: Config | string,
  before?: (detector: LoopDetector, index: number) => void,
): Generator<Judged & { index: number; detector: LoopDetector }> {
  using detector = new LoopDetector(config);
  let index = 0;
  for (const event of events) {
    before?.(detector, index);
    yield { ...judge(detector, event), index, detector };
    index++;
  }
}
