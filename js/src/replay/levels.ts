import type { Level } from "../generated/types.ts";

/** The levels, weakest first. */
export const LEVELS: readonly Level[] = ["continue", "observe", "nudge", "block", "gate", "halt"];

/** How strong a level is: 0 for `continue`, 5 for `halt`. */
export const rank = (level: Level): number => LEVELS.indexOf(level);

/** Whether a level is at least as strong as another one. */
export const reaches = (level: Level, least: Level): boolean => rank(level) >= rank(least);

/** Whether a level is something to act on. */
export const serious = (level: Level): boolean => reaches(level, "nudge");

/** The level that was given, or would have been in shadow mode. */
export const given = (verdict: { level: Level; wouldBe?: Level }): Level => verdict.wouldBe ?? verdict.level;

/** The rungs of a rule's ladder, weakest first. */
export const RUNGS = ["nudge", "block", "gate", "halt"] as const;
export type Rung = (typeof RUNGS)[number];
