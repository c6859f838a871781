// What the page's controls do to a configuration. The core alone decides what is valid: it is asked, never imitated.

import { LoopDetector } from "../detector.ts";
import { LoopwardenError } from "../errors.ts";
import { RULES, type RuleInfo } from "../generated/rules.ts";
import type { Config, Preset, RuleConfig } from "../generated/types.ts";

export const PRESETS: readonly Preset[] = ["sensitive", "balanced", "conservative"];

/** The rungs of a rule's ladder that have a threshold. */
export const RUNGS = ["nudge", "block", "gate", "halt"] as const;
export type Rung = (typeof RUNGS)[number];

/** The largest threshold a slider offers, as a multiple of where it stands. */
const REACH = 4;

/** Why a configuration is refused; nothing where it is sound. */
export function refusal(config: Config | string): string | undefined {
  try {
    new LoopDetector(config).free();
    return undefined;
  } catch (error) {
    if (error instanceof LoopwardenError) return error.message;
    throw error;
  }
}

/** A configuration with one rule's setting changed; `undefined` takes the setting away. */
export function withRule(
  config: Config,
  rule: string,
  change: Partial<Record<Rung, number | undefined>> & { enabled?: boolean | undefined },
): Config {
  const merged = Object.entries({ ...settingsOf(config, rule), ...change }).filter(([, value]) => value !== undefined);
  const rules: Record<string, RuleConfig> = { ...config.rules, [rule]: Object.fromEntries(merged) };
  if (merged.length === 0) delete rules[rule];
  const { rules: _, ...others } = config;
  return Object.keys(rules).length === 0 ? others : { ...others, rules };
}

/** What a configuration says of a rule, by whatever name. */
function settingsOf(config: Config, rule: string): RuleConfig | undefined {
  return (config.rules as Record<string, RuleConfig> | undefined)?.[rule];
}

/** A threshold as it is in force, and the values that validation would accept in its place. */
export interface Threshold {
  rung: Rung;
  value: number;
  least: number;
  most: number;
}

/**
 * The thresholds of a rule under a configuration. What a preset makes of a threshold is learned from which neighbours
 * the core accepts: a rung must lie above the one below it.
 */
export function thresholds(config: Config, rule: RuleInfo): Threshold[] {
  const own = settingsOf(config, rule.id);
  const set = RUNGS.filter((rung) => (own?.[rung] ?? rule[rung]) !== 0);
  const accepts = (change: Partial<Record<Rung, number>>) => refusal(withRule(config, rule.id, change)) === undefined;
  const values = new Map(set.map((rung) => [rung, own?.[rung] ?? inForce(config, rule, rung, set)]));
  // A rung that the window cannot hold falls away under a preset that would put it beyond.
  const real = set.filter((rung) => values.get(rung) !== undefined);
  return real.map((rung, index) => {
    const value = values.get(rung) ?? rule[rung];
    const below = values.get(real[index - 1] ?? "nudge");
    const above = values.get(real[index + 1] ?? "halt");
    const least = index === 0 || below === undefined ? 2 : below + 1;
    const bound = index === real.length - 1 || above === undefined ? value * REACH : above - 1;
    const most = firstOf(value, bound, (next) => !accepts({ [rung]: next + 1 }));
    return { rung, value, least: Math.min(least, value), most: Math.max(value, most) };
  });
}

/** What a preset makes of a threshold, if anything: a weaker rung is accepted below it, a stronger one above it. */
function inForce(config: Config, rule: RuleInfo, rung: Rung, set: readonly Rung[]): number | undefined {
  const off = Object.fromEntries(set.filter((other) => other !== rung).map((other) => [other, 0]));
  const accepts = (probe: Rung, value: number) =>
    refusal(withRule(config, rule.id, { ...off, [probe]: value })) === undefined;
  // Presets stay within two thirds and one and a half times of the balanced value.
  const high = rule[rung] * 2 + 2;
  if (rung !== "nudge") {
    const value = firstOf(2, high, (value) => !accepts("nudge", value));
    return accepts(rung, value) ? value : undefined;
  }
  const above = firstOf(2, high, (value) => accepts("block", value));
  // Where the window holds no more than the threshold, no stronger rung fits above it.
  return accepts("block", above) ? above - 1 : rule[rung];
}

/** The first value for which something holds that then holds for all higher ones; `high` where it never does. */
function firstOf(from: number, to: number, holds: (value: number) => boolean): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

export const ruleInfo = (id: string): RuleInfo | undefined => RULES.find((rule) => rule.id === id);

/** Configurations merged: objects field by field, everything else by the second. */
export function merged<T>(base: T, change: unknown): T {
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isObject(base) || !isObject(change)) return change as T;
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(change)) {
    // `__proto__` as a key of a trace's tools or rules is a name like any other.
    const own = Object.hasOwn(result, key) ? merged(result[key], value) : value;
    Object.defineProperty(result, key, { value: own, enumerable: true, writable: true, configurable: true });
  }
  return result as T;
}
