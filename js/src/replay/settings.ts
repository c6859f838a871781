// Changes of a configuration, for all that asks what another one would have done. The core alone decides what is valid:
// it is asked, never imitated.

import { LoopDetector } from "../detector.ts";
import type { RuleInForce } from "../diagnose.ts";
import { LoopwardenError } from "../errors.ts";
import type { Config, Finding, RuleConfig } from "../generated/types.ts";
import { RUNGS, type Rung } from "./levels.ts";

type Json = { [key: string]: unknown };

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `over` laid over `base`: objects member by member, everything else replaced. Neither is changed. */
export function merged<T>(base: T, over: unknown): T {
  if (!isObject(base) || !isObject(over)) return structuredClone(over) as T;
  const result: Json = { ...base };
  for (const [key, value] of Object.entries(over)) {
    // `__proto__` may be a tool's name.
    const next = Object.hasOwn(result, key) ? merged(result[key], value) : structuredClone(value);
    Object.defineProperty(result, key, { value: next, enumerable: true, configurable: true, writable: true });
  }
  return result as T;
}

/** Why the core refuses a configuration; nothing where it is sound. */
export function refusal(config: Config | string): string | undefined {
  try {
    new LoopDetector(config).free();
    return undefined;
  } catch (error) {
    if (error instanceof LoopwardenError && error.code !== "internal") return error.message;
    throw error;
  }
}

/** Whether the core takes it. */
export const isSound = (config: Config): boolean => refusal(config) === undefined;

/** Settings of rules by whatever name they have. */
export const rulesOf = ({ rules }: { rules?: object }): Record<string, RuleConfig | undefined> => ({ ...rules });

/** A change of the settings of one tool, or, without one, of all. */
export function ruleChange(tool: string | undefined, rule: string, settings: RuleConfig): Config {
  return tool === undefined ? { rules: { [rule]: settings } } : { tools: { [tool]: { rules: { [rule]: settings } } } };
}

/**
 * Settings that raise `rung` to `threshold`: the rungs above it that would be overtaken keep their distance, move up one
 * by one where the rule cannot hold as much evidence, or fall away. `undefined` where the core takes none of that.
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

/** How much the thresholds of a finding were multiplied: trebled where waiting is expected. */
export function scale(finding: Pick<Finding, "threshold" | "count">, rule: RuleInForce | undefined): number {
  const own = RUNGS.map((rung) => rule?.[rung] ?? 0).filter((threshold) => threshold !== 0);
  return own.includes(finding.threshold) ? 1 : own.includes(finding.threshold / 3) ? 3 : 1;
}

/** The strongest rung that so much evidence reaches. */
export function reached(rule: RuleInForce, count: number, times: number): Rung | undefined {
  return RUNGS.toReversed().find((rung) => rule[rung] !== 0 && count >= rule[rung] * times);
}

/** A change as a person would write it down: `tools.bash.polling = true`. */
export function written(change: unknown): string[] {
  const lines: string[] = [];
  const walk = (value: unknown, path: string) => {
    if (!isObject(value)) lines.push(`${path} = ${JSON.stringify(value)}`);
    else for (const [key, part] of Object.entries(value)) walk(part, path === "" ? key : `${path}.${key}`);
  };
  walk(change, "");
  return lines;
}
