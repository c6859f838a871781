// Changes to configurations, for code that tries alternatives. Only the core decides what is valid: it is called, never
// imitated.

import { LoopDetector } from "../detector.ts";
import type { RuleInForce } from "../diagnose.ts";
import { LoopwardenError } from "../errors.ts";
import type { Config, Finding, RuleConfig } from "../generated/types.ts";
import { RUNGS, type Rung } from "./levels.ts";

type Json = { [key: string]: unknown };

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Merges `over` into `base`: objects member by member, everything else replaced. Neither is modified. */
export function merged<T>(base: T, over: unknown): T {
  if (!isObject(base) || !isObject(over)) return structuredClone(over) as T;
  const result: Json = { ...base };
  for (const [key, value] of Object.entries(over)) {
    // A tool may be named `__proto__`.
    const next = Object.hasOwn(result, key) ? merged(result[key], value) : structuredClone(value);
    Object.defineProperty(result, key, { value: next, enumerable: true, configurable: true, writable: true });
  }
  return result as T;
}

/** Why the core rejects a configuration; undefined if it is valid. */
export function refusal(config: Config | string): string | undefined {
  try {
    new LoopDetector(config).free();
    return undefined;
  } catch (error) {
    if (error instanceof LoopwardenError && error.code !== "internal") return error.message;
    throw error;
  }
}

/** Whether the core accepts a configuration. */
export const isSound = (config: Config): boolean => refusal(config) === undefined;

/** The settings of rules, indexable by any name. */
export const rulesOf = ({ rules }: { rules?: object }): Record<string, RuleConfig | undefined> => ({ ...rules });

/** A change of a rule's settings for one tool, or without a tool, for all. */
export function ruleChange(tool: string | undefined, rule: string, settings: RuleConfig): Config {
  return tool === undefined ? { rules: { [rule]: settings } } : { tools: { [tool]: { rules: { [rule]: settings } } } };
}

/**
 * Settings that raise the threshold of `rung` to `threshold`. Higher thresholds that would be overtaken keep their
 * distance, or move up by one each if the rule cannot accumulate that much evidence, or are switched off. Undefined if
 * the core accepts none of these.
 */
export function raised(
  config: Config,
  tool: string | undefined,
  rule: RuleInForce,
  rung: Rung,
  threshold: number,
): RuleConfig | undefined {
  const above = RUNGS.slice(RUNGS.indexOf(rung) + 1).filter((name) => rule[name] !== 0);
  const push = (step: (from: number, to: number, old: number) => number): RuleConfig => {
    const settings: RuleConfig = { [rung]: threshold };
    let [from, to] = [rule[rung], threshold];
    for (const name of above) {
      const old = rule[name];
      if (old <= to) settings[name] = step(from, to, old);
      [from, to] = [old, Math.max(old, settings[name] ?? old)];
    }
    return settings;
  };
  const ways = [push((from, to, old) => to + old - from), push((_, to) => to + 1)];
  for (let kept = above.length - 1; kept >= 0; kept--) {
    const settings = push((_, to) => to + 1);
    for (const name of above.slice(kept)) settings[name] = 0;
    ways.push(settings);
  }
  return ways.find((settings) => isSound(merged(config, ruleChange(tool, rule.id, settings))));
}

/** The factor by which the thresholds of a finding were multiplied: 3 where waiting is expected, else 1. */
export function scale(finding: Pick<Finding, "threshold" | "count">, rule: RuleInForce | undefined): number {
  const own = RUNGS.map((rung) => rule?.[rung] ?? 0).filter((threshold) => threshold !== 0);
  return own.includes(finding.threshold) ? 1 : own.includes(finding.threshold / 3) ? 3 : 1;
}

/** The strongest level whose threshold `count` reaches; undefined if none. */
export function reached(rule: RuleInForce, count: number, times: number): Rung | undefined {
  return RUNGS.toReversed().find((rung) => rule[rung] !== 0 && count >= rule[rung] * times);
}

/** A change in readable form, one line per value: `tools.bash.polling = true`. */
export function written(change: unknown): string[] {
  const lines: string[] = [];
  const walk = (value: unknown, path: string) => {
    if (!isObject(value)) lines.push(`${path} = ${JSON.stringify(value)}`);
    else for (const [key, part] of Object.entries(value)) walk(part, path === "" ? key : `${path}.${key}`);
  };
  walk(change, "");
  return lines;
}
