import { goals as coreGoals, inForce as coreInForce, normalise as coreNormalise } from "../glue/tools.js";
import { json, text } from "./arguments.ts";
import type { Config, Event } from "./generated/types.ts";
import { tools } from "./tools.ts";

/** The forms of a tool's output that the detector compares. */
export interface Normalised {
  /** Outputs with equal `light` are the same outcome: volatile parts (timestamps, durations, ids) are masked. */
  light: string;
  /**
   * Long outputs with equal `shape` are nearly the same: digits are masked as well. `null` for short outputs and for
   * those that report progress.
   */
  shape: string | null;
  /**
   * Errors with equal `heavy` belong to one class: digits, quotes, paths and case are masked, and only the first and
   * last 800 bytes count. Arguments of the call that the error echoes are still included; the detector removes them
   * first.
   */
  heavy: string;
}

/**
 * The normalised forms of a tool's output that the detector compares. It shows why two outputs count as equal or not.
 *
 * @param output - The tool's output.
 * @param config - The configuration whose `patterns.volatile` are masked.
 * @throws {LoopwardenError} As the constructor of `LoopDetector`.
 */
export function normalise(output: string, config: Config | string = {}): Normalised {
  const [what, how] = [text(output, "output"), json(config, "invalid-config")];
  return JSON.parse(tools.call(() => coreNormalise(what, how)));
}

/** The subject of a request and how it changed since an earlier one. */
export interface Goal {
  /** The words with the highest weight, at most 12: names, figures, paths and addresses first. */
  about: string[];
  /** The change since the most similar earlier request; absent if there is none. */
  moved?: {
    /** The index of that earlier request in the list of events, from 0. */
    since: number;
    /** The shared weight as a percentage of the two requests together. */
    alike: number;
    /** The shared weight as a percentage of the lighter of the two. */
    within: number;
    /** Words of both requests, at most 12. */
    kept: string[];
    /** Words of this request only, at most 12. */
    added: string[];
    /** Words of the earlier request only, at most 12. */
    left: string[];
    /**
     * How the named things changed: not at all, more, fewer or others; `refilled` is one template with one slot
     * replaced.
     */
    slot: "none" | "more" | "less" | "other" | "refilled";
    /** Whether both count as requests for the same thing. */
    shared: boolean;
  };
}

/**
 * The subjects of requests as seen by the rules that compare goals: what each is about and what changed since the most
 * similar earlier one.
 *
 * @param events - Calls and messages, oldest first.
 * @returns One entry per event; `null` for an event that contains no request in words.
 * @throws {LoopwardenError} `invalid-event`, naming the field below its index.
 */
export function goals(events: readonly Event[]): (Goal | null)[] {
  const what = json(events, "invalid-event");
  return JSON.parse(tools.call(() => coreGoals(what)));
}

/** An enabled rule and the evidence at which each level is reached; 0 means never. */
export interface RuleInForce {
  id: string;
  about: string;
  /** The unit that the thresholds count. */
  unit: string;
  nudge: number;
  block: number;
  gate: number;
  halt: number;
  /** How far the rule looks back, in its own unit; 0 if it has no window. */
  window: number;
  /** The most evidence that can accumulate within the window: a higher threshold is rejected. */
  most: number;
}

/** The effective settings for a tool. */
export interface InForce {
  /** Whether the tool is watched. */
  enabled: boolean;
  /** Whether the tool polls, which triples the thresholds of the rules about calls; `rules` shows them before that. */
  polling: boolean;
  ignoreArgs: string[];
  identityArgs: string[];
  rules: RuleInForce[];
  /** The configuration without default values and with everything it `extends` merged in; a salt shows as `…`. */
  config: Config;
}

/**
 * The effective settings of a configuration for a tool, or for events without a tool.
 *
 * @throws {LoopwardenError} As the constructor of `LoopDetector`.
 */
export function inForce(config: Config | string, tool?: string): InForce {
  const [settings, name] = [json(config, "invalid-config"), tool === undefined ? undefined : text(tool, "tool")];
  return JSON.parse(tools.call(() => coreInForce(settings, name)));
}
