// Rules in which an occurrence may count for more than one.

/** What one more occurrence is worth, per rule, if not always one; summarises docs/rules.md. */
export const WORTH: Partial<Record<string, string>> = {
  "repeated-call":
    "3 right after the last one, 2 with other steps between, 1 where something was changed in between or long was waited; less where the outcomes are equal only in what does not change by itself; nothing where something new was seen; another outcome halves what there is",
  "repeated-error":
    "1; half where it came again unchanged after a change, or names something else although the tool has worked since; a third where it was waited for; nothing in one round with another, where a change moved it, where fewer errors are left, or for the first of several that are about different things",
  stagnation:
    "4 where the same kind of call came to the same, 3 with other figures in the call or after a change, 1 where it was well or told in other words after a change; nothing where something new came in between or a count fell",
  "reworded-request": "up to 4 by how much of it was asked before, less where something was found or done in between",
  "stale-talk":
    "up to 12 by how much of it was said before; 2 for a short message between agents that names nothing, 4 where work comes back or no word is new, 7 or 10 where the user was not helped or not heard",
  "empty-handed": "3 where nothing was found, 2 where it failed, 1 where it failed as one before",
};
