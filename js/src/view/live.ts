// Follows a live run: receives updates from the server and decides when the page shows them.

import type { Trace } from "./model.ts";

/** An update of a run. Events before `from` are unchanged; `events` and `lines` begin there. */
export interface News extends Trace {
  from: number;
}

/** Embedded in the page instead of a run: the URL of the updates. */
export interface Source {
  live: string;
}

export const isSource = (value: object): value is Source => "live" in value;

/** Minimum pause between two changes of the page, in milliseconds. */
const REST = 400;
/** Minimum pause as a multiple of the duration of the last change. */
const SHARE = 3;

/** Applies an update to a run. */
export function extended(run: Trace | undefined, { from, ...news }: News): Trace {
  return {
    ...news,
    events: [...(run?.events.slice(0, from) ?? []), ...news.events],
    lines: [...(run?.lines.slice(0, from) ?? []), ...news.lines],
  };
}

/**
 * Listens to the updates of a run. The page applies one change at a time, and only while it is not busy; updates that
 * arrive in the meantime are combined.
 */
export function listen(
  source: Source,
  page: {
    /** Whether a change would disturb what the user is doing. */
    busy: () => boolean;
    /** Shows the current run; `anew` if it is a different one. */
    take: (run: Trace, anew: boolean) => Promise<void>;
    /** Called with the state of the connection. */
    state: (state: "live" | "lost" | "ended") => void;
  },
): void {
  let run: Trace | undefined;
  let isNew = false;
  let isAnew = true;
  let working = false;
  const work = async () => {
    if (working) return;
    working = true;
    while (isNew) {
      if (page.busy()) {
        await wait(REST);
        continue;
      }
      const [now, anew] = [run, isAnew];
      [isNew, isAnew] = [false, false];
      const began = performance.now();
      if (now !== undefined) await page.take(now, anew);
      await wait(Math.max(REST, (performance.now() - began) * SHARE));
    }
    working = false;
  };
  const events = new EventSource(source.live);
  events.onopen = () => page.state("live");
  events.onerror = () => page.state("lost");
  events.onmessage = ({ data }) => {
    const news: News = JSON.parse(data);
    // After a reconnect everything is sent again: it is the same run if the first event is the same.
    const same =
      news.from > 0 || (run !== undefined && JSON.stringify(run.events[0]) === JSON.stringify(news.events[0]));
    isAnew ||= !same;
    run = extended(run, news);
    isNew = true;
    void work();
  };
  events.addEventListener("end", () => {
    events.close();
    page.state("ended");
  });
}

const wait = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
