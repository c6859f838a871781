// A run that is still going on: what its server tells, and when the page takes it in.

import type { Trace } from "./model.ts";

/** What is new of a run. Events before `from` are as they were. */
export interface News extends Trace {
  from: number;
}

/** What stands in the page instead of a run: where the news of it come from. */
export interface Source {
  live: string;
}

export const isSource = (value: object): value is Source => "live" in value;

/** Milliseconds between two changes of the page, and how many times as long as one took. */
const REST = 400;
const SHARE = 3;

/** A run with what is new of it. */
export function extended(run: Trace | undefined, { from, ...news }: News): Trace {
  return {
    ...news,
    events: [...(run?.events.slice(0, from) ?? []), ...news.events],
    lines: [...(run?.lines.slice(0, from) ?? []), ...news.lines],
  };
}

/**
 * Listens to a run. The page is asked whether it may change, and takes in one change after the other; what comes
 * meanwhile is put together.
 */
export function listen(
  source: Source,
  page: {
    /** Whether a change would take something out of a person's hands. */
    busy: () => boolean;
    /** Takes the run as it is by now; `anew` where it is another one. */
    take: (run: Trace, anew: boolean) => Promise<void>;
    /** Whether there is a connection. */
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
    // A connection that was lost begins with everything: that is the same run where it begins in the same way.
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
