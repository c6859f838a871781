import { LoopDetector } from "../detector.ts";
import { LoopwardenError } from "../errors.ts";
import type { Config, Event, Level, TraceEvent, Verdict } from "../generated/types.ts";
import { readTranscript } from "../transcript.ts";
import { given } from "./levels.ts";

/** An event of a recorded run, as text or as it is. */
export interface Judgeable {
  /** The event's own JSON text, where it has one: numbers reach the core as they were written. */
  text?: string;
  event: Event;
  /** It was about to happen: it is asked about and not recorded. */
  pending: boolean;
}

/** What was said of one event. */
export interface Judged {
  /** The level given; in shadow mode the one that would have been; `continue` of an event that was refused. */
  level: Level;
  /** Absent where the event was refused. */
  verdict: Verdict | undefined;
  /** Why it was refused. */
  error: LoopwardenError | undefined;
  /** Whether it is a result that was refused, and has answered its call all the same. */
  settled: boolean;
}

/**
 * Records an event, or asks about it where it was about to happen. An event that is refused leaves the detector as it
 * was, and the run goes on; only a result that is refused has answered its call, whatever it said.
 *
 * @throws {LoopwardenError} `internal` alone: then the core has failed, and nothing more can be judged.
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

/** Records what stands for an event that was refused, where it is a result, and tells whether it is one. */
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

/** Whether an event stands for a result that could not be read. */
export const isStandIn = ({ synthetic, labels }: Pick<TraceEvent, "synthetic" | "labels">): boolean =>
  synthetic === true && labels?.["unread"] === "result";

/** Whether most of a log could not be read: that nothing is wrong is not known of it then. */
export const isMostlyUnread = (unread: number, judged: number): boolean => unread > judged;

/** An event of a trace without its mark. */
export function judgeable({ pending, ...event }: TraceEvent): Judgeable {
  return { event: event as Event, pending: pending === true };
}

/** Replays events from the start and tells what came of each; to stop early is to leave the loop. */
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
