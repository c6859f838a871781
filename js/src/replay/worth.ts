// Rules in which an occurrence may count for more than one.

import { RULES } from "../generated/rules.ts";

/** What one more occurrence is worth, per rule, if not always one; summarises docs/rules.md. */
export const WORTH: Partial<Record<string, string>> = {
  "repeated-call":
    "3 right after the last one, 2 with other steps in between, 1 if something was changed in between or after a long wait; less if the outcomes are equal only apart from what changes by itself; nothing if something new was seen; another outcome halves the total",
  "repeated-error":
    "1; half if it came again unchanged after a change, or names something else although the tool has worked since; a third after the wait that was asked for; nothing in one round with another, if a change affected it, if fewer errors are left, or for the first of several that are about different things",
  stagnation:
    "4 if the same kind of call had the same result, 3 with other figures in the call or after a change, 1 if all was well or the problem was reported in other words after a change; nothing if something new came in between or a count fell",
  "reworded-request": "up to 4 by how much of it was asked before, less if something was found or done in between",
  "stale-talk":
    "9 if an earlier one was about the same thing, 5 if that was another's in a group, less with something new; 2 for a short message between agents that names nothing, 4 if work comes back or no word is new, 7 or 10 if the user was not helped or not heard",
  monologue:
    "1 if no result came in between; around work only a long text counts: 3 in all at the third time, 5 at the fourth and 9 at the eighth; where each time came with something new, or among other texts, every other time counts",
  "empty-handed": "3 if nothing was found, 2 if it failed, 1 if it failed like an earlier one",
};

/** The unit of a rule's evidence. Times that do not all count for one are points. */
export function unitOf(rule: string): string {
  const unit = RULES.find(({ id }) => id === rule)?.unit ?? "";
  return unit === "times" && rule in WORTH ? "points" : unit;
}

/** Evidence and its next threshold as text, such as `4 of 6 points`. Of a unit that is explained only the name. */
export const share = ({
  rule,
  count,
  nextThreshold,
}: {
  rule: string;
  count: number;
  nextThreshold?: number;
}): string => `${count} of ${nextThreshold} ${unitOf(rule).replace(/ \(.*|;.*/, "")}`;
