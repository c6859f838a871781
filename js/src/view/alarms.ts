// Proposes configurations that would have avoided a false alarm. Every proposal is tried.

import type { Config, TraceEvent } from "../generated/types.ts";
import { type Analysis, analyse, type Loop, loopKey } from "./model.ts";
import { merged, RUNGS, refusal, ruleInfo } from "./settings.ts";
import { serious } from "./words.ts";

/** A change of the configuration that silences a loop. */
export interface Exemption {
  /** A description for the user. */
  title: string;
  /** What is added to the configuration. */
  change: Config;
  /** Other loops that it silences as well. */
  alsoSilent: string[];
}

/** The rules about calls whose thresholds are tripled by `polling`. */
const POLLED = new Set(["repeated-call", "cycle", "no-new-information", "same-answer", "unanswered-call"]);

/** The tools of the calls in a loop's evidence. */
export function tools(events: readonly TraceEvent[], loop: Loop, partner: readonly (number | undefined)[]): string[] {
  const names = loop.occurrences.map(({ event: index }) => {
    const event = events[index];
    const call = event?.type === "tool-result" ? events[partner[index] ?? -1] : event;
    if (call?.type === "tool-call") return call.tool;
    return event?.type === "tool-result" ? (event.tool ?? undefined) : undefined;
  });
  return [...new Set(names.filter((name) => name !== undefined))];
}

/** Changes that might silence a loop, from the narrowest to the widest. */
function candidates(loop: Loop, names: readonly string[]): { title: string; change: Config }[] {
  const { rule, finding } = loop;
  const list: { title: string; change: Config }[] = [];
  // `*` and `?` in a tool's name are wildcards that would match others; such a tool cannot have its own entry.
  const own = names.filter((name) => !/[*?]/.test(name));
  const forTools = (entry: object): Config => ({ tools: Object.fromEntries(own.map((name) => [name, entry])) });
  const quoted = own.map((name) => `\`${name}\``).join(", ");
  const info = ruleInfo(rule);
  if (own.length > 0 && own.length === names.length) {
    if (POLLED.has(rule)) {
      list.push({
        title: `Treat ${quoted} as polling: triple the thresholds`,
        change: forTools({ polling: true }),
      });
    }
    const lowest = RUNGS.map((rung) => info?.[rung] ?? 0).find((threshold) => threshold > 0);
    if (info !== undefined && lowest !== undefined) {
      const factor = Math.ceil((finding.count + 1) / lowest);
      const raised = RUNGS.filter((rung) => info[rung] > 0).map((rung) => [rung, info[rung] * factor] as const);
      const rules = { [rule]: Object.fromEntries(raised) };
      list.push({
        title: `Raise the thresholds of ${rule} for ${quoted} above what was seen`,
        change: forTools({ rules }),
      });
    }
    const rules = { [rule]: { enabled: false } };
    list.push({ title: `Turn ${rule} off for ${quoted}`, change: forTools({ rules }) });
  }
  list.push({ title: `Turn ${rule} off`, change: { rules: { [rule]: { enabled: false } } } });
  return list;
}

/**
 * Tries changes that might silence a loop and returns those that do: the loop then stays below `nudge`. Yields
 * regularly, like {@link analyse}.
 */
export function* exemptions(
  events: readonly TraceEvent[],
  config: Config,
  { loops }: Analysis,
  loop: Loop,
  partner: readonly (number | undefined)[],
): Generator<undefined, Exemption[]> {
  const found: Exemption[] = [];
  const key = loopKey(loop);
  const before = loops.filter(({ peak }) => serious(peak)).map(loopKey);
  for (const { title, change } of candidates(loop, tools(events, loop, partner))) {
    const changed = merged(config, change);
    if (refusal(changed) !== undefined) continue;
    const run = analyse(events, changed);
    let step = run.next();
    while (!step.done) {
      yield undefined;
      step = run.next();
    }
    const after = new Set(step.value.loops.filter(({ peak }) => serious(peak)).map(loopKey));
    if (after.has(key)) continue;
    const silent = before.filter((other) => other !== key && !after.has(other));
    found.push({ title, change, alsoSilent: silent.map((other) => (JSON.parse(other) as string[])[0] ?? "") });
  }
  return found;
}
