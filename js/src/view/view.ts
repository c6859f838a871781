// What is looked at, and what a part of the page may do to it.

import type { Config } from "../generated/types.ts";
import type { Analysis, Layout, Loop, Trace } from "./model.ts";

/** The run and the place in it that the page shows. */
export interface View {
  trace: Trace | undefined;
  layout: Layout;
  /** Nothing while the run is judged for the first time. */
  analysis: Analysis | undefined;
  /** States of the detector along the run, for `stateAt`. */
  states: Uint8Array[];
  config: Config;
  /** Index of an event. */
  selected: number;
  chosen: Loop | undefined;
  /** Which two occurrences of the loop are compared. */
  sides: [number, number] | undefined;
  /** Keys of the loops that a person calls false alarms. */
  falseAlarms: string[];
  /** Whether the run is still going on, and the page follows it. */
  live: "live" | "lost" | "ended" | undefined;
  /** Counts replays: what belongs to one that was overtaken stops. */
  replays: number;
}

/** What the parts of the page may ask for. */
export interface Actions {
  choose(event: number): void;
  focus(loop: Loop): void;
  configure(next: Config): void;
  /** Draws all of it anew. */
  show(): void;
}
