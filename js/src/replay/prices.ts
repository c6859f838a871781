// What events cost, for sums over a whole run; of a finding the core tells it.

import type { Config, Event } from "../generated/types.ts";

const MILLION = 1_000_000n;

/** What an event cost in millionths: what it says itself, or what its tokens cost where the configuration has a price. */
export function costOf({ costMicros, tokens }: Event, { prices }: Config): number | undefined {
  if (costMicros != null) return costMicros;
  const [, whole, fraction = ""] = /^(\d+)(?:\.(\d*))?$/.exec(prices?.millionTokens ?? "") ?? [];
  if (tokens == null || whole === undefined) return undefined;
  const price = BigInt(whole) * MILLION + BigInt(fraction.slice(0, 6).padEnd(6, "0"));
  return Number((BigInt(tokens) * price) / MILLION);
}
