// What the page's controls do to a configuration.

import { inForce } from "../diagnose.ts";
import { RULES, type RuleInfo } from "../generated/rules.ts";
import type { Config, Preset } from "../generated/types.ts";
import { RUNGS, type Rung } from "../replay/levels.ts";

export { RUNGS, type Rung } from "../replay/levels.ts";

import { rulesOf } from "../replay/settings.ts";

export { merged, refusal } from "../replay/settings.ts";

export const PRESETS: readonly Preset[] = ["sensitive", "balanced", "conservative"];

/** The largest threshold a slider offers, as a multiple of where it stands. */
const REACH = 4;

/** A configuration with one rule's setting changed; `undefined` takes the setting away. */
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

/** A threshold as it is in force, and the values that validation would accept in its place. */
export interface Threshold {
  rung: Rung;
  value: number;
  least: number;
  most: number;
}

/** The thresholds of a rule under a configuration, as the core tells them, and how far each may be moved. */
export function thresholds(config: Config, { id }: RuleInfo): Threshold[] {
  // Of a rule that is switched off the thresholds are those it would have.
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
