import { goals as coreGoals, inForce as coreInForce, normalise as coreNormalise } from "../glue/tools.js";
import { json, text } from "./arguments.ts";
import type { Config, Event } from "./generated/types.ts";
import { tools } from "./tools.ts";

/** What is compared of a tool's output. */
export interface Normalised {
  /** Two outcomes are equal when this is: what changes by itself (clocks, durations, ids) is masked. */
  light: string;
  /**
   * Two long outputs are nearly equal when this is: their digits are masked as well. `null` for a short output, and for
   * one that tells how far something is.
   */
  shape: string | null;
  /**
   * Two errors are of one class when this is: digits, quotes, paths and case are masked, and only the first and last 800
   * bytes count. What an error repeats of its call's arguments is still in it; the detector takes that out first.
   */
  heavy: string;
}

/**
 * What the detector compares of a tool's output, for people who wonder why two outputs are equal, or are not.
 *
 * @param output - What the tool said.
 * @param config - Whose `patterns.volatile` count.
 * @throws {LoopwardenError} As the constructor of `LoopDetector`.
 */
export function normalise(output: string, config: Config | string = {}): Normalised {
  const [what, how] = [text(output, "output"), json(config, "invalid-config")];
  return JSON.parse(tools.call(() => coreNormalise(what, how)));
}

/** What a request is about, and how that moved since an earlier one. */
export interface Goal {
  /** The words that weigh most: names, figures, paths and addresses first. */
  about: string[];
  /** Absent of the first. */
  moved?: {
    /** Which of the earlier ones it shares most with: its place in the list. */
    since: number;
    /** Shared weight in per cent of both together, and of the lighter one. */
    alike: number;
    within: number;
    /** What stayed, came and went. */
    kept: string[];
    added: string[];
    left: string[];
    /** What is named: the same, more, less or something else; `refilled` is one template with something else in one place. */
    slot: "none" | "more" | "less" | "other" | "refilled";
    /** Whether both count as requests for one thing. */
    shared: boolean;
  };
}

/**
 * What requests are about, as the rules see them that compare goals: which object stayed, and what moved from one to the
 * next. `null` for an event that asks nothing in words.
 *
 * @param events - Calls and messages, oldest first.
 * @throws {LoopwardenError} `invalid-event`.
 */
export function goals(events: readonly Event[]): (Goal | null)[] {
  const what = json(events, "invalid-event");
  return JSON.parse(tools.call(() => coreGoals(what)));
}

/** An enabled rule and the evidence from which each rung of its ladder is reached; 0 for never. */
export interface RuleInForce {
  id: string;
  about: string;
  /** What the thresholds count. */
  unit: string;
  nudge: number;
  block: number;
  gate: number;
  halt: number;
  window: number;
  /** The most evidence that adds up within the window: a higher threshold is refused. */
  most: number;
}

/** The settings in force for a tool. */
export interface InForce {
  enabled: boolean;
  /** Thresholds of the rules about calls are then trebled. */
  polling: boolean;
  ignoreArgs: string[];
  identityArgs: string[];
  rules: RuleInForce[];
  /** The configuration without what is as by default, and with all that it `extends`. */
  config: Config;
}

/**
 * What a configuration comes to for a tool, or for events that are about none.
 *
 * @throws {LoopwardenError} As the constructor of `LoopDetector`.
 */
export function inForce(config: Config | string, tool?: string): InForce {
  const [settings, name] = [json(config, "invalid-config"), tool === undefined ? undefined : text(tool, "tool")];
  return JSON.parse(tools.call(() => coreInForce(settings, name)));
}
