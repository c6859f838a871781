import type { Level } from "../generated/types.ts";

/** The levels, weakest first. */
export const LEVELS: readonly Level[] = ["continue", "observe", "nudge", "block", "gate", "halt"];

/** The rank of a level: 0 for `continue` to 5 for `halt`. */
export const rank = (level: Level): number => LEVELS.indexOf(level);

/** Whether a level is at least as strong as `least`. */
export const reaches = (level: Level, least: Level): boolean => rank(level) >= rank(least);

/** Whether a level requires action: `nudge` or above. */
export const serious = (level: Level): boolean => reaches(level, "nudge");

/** The level of a verdict, or in shadow mode the one that would have been. */
export const given = (verdict: { level: Level; wouldBe?: Level }): Level => verdict.wouldBe ?? verdict.level;

/** The levels that have thresholds in a rule, weakest first. */
export const RUNGS = ["nudge", "block", "gate", "halt"] as const;
export type Rung = (typeof RUNGS)[number];
