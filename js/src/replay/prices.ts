// The cost of events, for sums over a whole run; the core computes it for findings.

import type { Config, Event } from "../generated/types.ts";

const MILLION = 1_000_000n;

/**
 * The cost of an event in millionths: its own figure, or else its tokens at the configured price. Undefined if unknown.
 */
export function costOf({ costMicros, tokens }: Event, { prices }: Config): number | undefined {
  if (costMicros != null) return costMicros;
  const [, whole, fraction = ""] = /^(\d+)(?:\.(\d*))?$/.exec(prices?.millionTokens ?? "") ?? [];
  if (tokens == null || whole === undefined) return undefined;
  const price = BigInt(whole) * MILLION + BigInt(fraction.slice(0, 6).padEnd(6, "0"));
  return Number((BigInt(tokens) * price) / MILLION);
}
