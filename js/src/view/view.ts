// The state of the view, and the actions available to parts of the page.

import type { Config } from "../generated/types.ts";
import type { Analysis, Layout, Loop, Trace } from "./model.ts";

/** The run and the position in it that the page shows. */
export interface View {
  trace: Trace | undefined;
  layout: Layout;
  /** Undefined while the run is judged for the first time. */
  analysis: Analysis | undefined;
  /** Saved states of the detector, for `stateAt`. */
  states: Uint8Array[];
  config: Config;
  /** The index of the selected event. */
  selected: number;
  chosen: Loop | undefined;
  /** The indices of the two occurrences of the loop that are compared. */
  sides: [number, number] | undefined;
  /** Keys of the loops marked as false alarms. */
  falseAlarms: string[];
  /** The state of the connection to a live run; undefined for other runs. */
  live: "live" | "lost" | "ended" | undefined;
  /** The number of replays begun: work for an earlier one stops. */
  replays: number;
}

/** Actions available to the parts of the page. */
export interface Actions {
  choose(event: number): void;
  focus(loop: Loop): void;
  configure(next: Config): void;
  /** Redraws everything. */
  show(): void;
}
