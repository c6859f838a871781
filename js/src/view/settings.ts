// Changes to a configuration made by the page's controls.

import { inForce } from "../diagnose.ts";
import { RULES, type RuleInfo } from "../generated/rules.ts";
import type { Config, Preset } from "../generated/types.ts";
import { RUNGS, type Rung } from "../replay/levels.ts";

export { RUNGS, type Rung } from "../replay/levels.ts";

import { rulesOf } from "../replay/settings.ts";

export { merged, refusal } from "../replay/settings.ts";

export const PRESETS: readonly Preset[] = ["sensitive", "balanced", "conservative"];

/** The largest threshold of a slider, as a multiple of its current value. */
const REACH = 4;

/** A configuration with settings of one rule changed; an undefined value removes the setting. */
export function withRule(
  config: Config,
  rule: string,
  change: Partial<Record<Rung, number | undefined>> & { enabled?: boolean | undefined },
): Config {
  const merged = Object.entries({ ...rulesOf(config)[rule], ...change }).filter(([, value]) => value !== undefined);
  const rules: Record<string, object | undefined> = { ...config.rules, [rule]: Object.fromEntries(merged) };
  if (merged.length === 0) delete rules[rule];
  const { rules: _, ...others } = config;
  return Object.keys(rules).length === 0 ? others : { ...others, rules };
}

/** A threshold in force, and the range of values that would be valid. */
export interface Threshold {
  rung: Rung;
  value: number;
  least: number;
  most: number;
}

/** The thresholds of a rule under a configuration, as given by the core, and the valid range of each. */
export function thresholds(config: Config, { id }: RuleInfo): Threshold[] {
  // For a disabled rule, these are the thresholds it would have.
  const rule = inForce(JSON.stringify(withRule(config, id, { enabled: true })), undefined).rules.find(
    (rule) => rule.id === id,
  );
  if (rule === undefined) return [];
  const real = RUNGS.filter((rung) => rule[rung] !== 0);
  return real.map((rung, index) => {
    const value = rule[rung];
    const [below, above] = [real[index - 1], real[index + 1]];
    const bound = above === undefined ? Math.min(value * REACH, rule.most) : rule[above] - 1;
    return { rung, value, least: below === undefined ? 2 : rule[below] + 1, most: Math.max(value, bound) };
  });
}

export const ruleInfo = (id: string): RuleInfo | undefined => RULES.find((rule) => rule.id === id);
