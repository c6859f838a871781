// Generated from the core by `cargo xtask schema`: change the rules, not this file.

import type { RuleId } from "./types.ts";

/** What a rule sees and what its thresholds count; balanced thresholds, 0 for never. */
export interface RuleInfo {
  id: RuleId;
  about: string;
  unit: string;
  nudge: number;
  block: number;
  gate: number;
  halt: number;
  /** How far it looks back, in its own unit; 0 where it has no window. */
  window: number;
  /** The most evidence that adds up within it. */
  most: number;
}

/** Every rule, in the order of checks. */
export const RULES: readonly RuleInfo[] = [
  {"id":"max-iterations","about":"The run has used up its iterations.","unit":"iterations","nudge":0,"block":0,"gate":0,"halt":0,"window":0,"most":4294967295},
  {"id":"max-runtime","about":"The run has lasted longer than its budget allows.","unit":"milliseconds","nudge":0,"block":0,"gate":0,"halt":0,"window":0,"most":4294967295},
  {"id":"turn-budget","about":"One turn of a node took more time or more tokens than a turn may.","unit":"of the budget","nudge":0,"block":0,"gate":0,"halt":0,"window":0,"most":0},
  {"id":"node-budget","about":"A node has used up its turns or its time.","unit":"of the budget","nudge":0,"block":0,"gate":0,"halt":0,"window":0,"most":0},
  {"id":"cycle-budget","about":"A cycle of the workflow has used up its iterations, its time or its money.","unit":"of the budget","nudge":0,"block":0,"gate":0,"halt":0,"window":0,"most":0},
  {"id":"repeated-call","about":"The same call with the same outcome, in a row or with other work in between.","unit":"points","nudge":6,"block":12,"gate":0,"halt":24,"window":32,"most":4294967295},
  {"id":"cycle","about":"The same steps with the same outcomes, lap after lap, apart from figures; steps that had all been made shortly before.","unit":"laps","nudge":3,"block":5,"gate":0,"halt":9,"window":0,"most":4294967295},
  {"id":"rejected-arguments","about":"Calls rejected because of their arguments, or calls of tools that do not exist.","unit":"rejections","nudge":2,"block":4,"gate":0,"halt":8,"window":8,"most":8},
  {"id":"repeated-error","about":"One tool failing in the same way although its arguments change.","unit":"errors","nudge":3,"block":6,"gate":0,"halt":8,"window":8,"most":8},
  {"id":"resubmission","about":"Consecutive attempts that hardly differ and end in the same root error.","unit":"attempts","nudge":3,"block":4,"gate":0,"halt":8,"window":0,"most":4294967295},
  {"id":"failure-streak","about":"One tool failing many times in a row, in whatever way.","unit":"failures in a row","nudge":5,"block":10,"gate":0,"halt":16,"window":0,"most":4294967295},
  {"id":"denied-call","about":"Calls made again after a person or a policy refused them.","unit":"refusals","nudge":2,"block":3,"gate":0,"halt":5,"window":0,"most":8},
  {"id":"unanswered-call","about":"The same call again and again although it is never answered.","unit":"calls","nudge":3,"block":5,"gate":0,"halt":9,"window":0,"most":4294967295},
  {"id":"call-flood","about":"Copies of one call within one round.","unit":"copies","nudge":4,"block":8,"gate":0,"halt":16,"window":0,"most":4294967295},
  {"id":"failing-target","about":"One target failing in the same way through any tool or agent.","unit":"failures","nudge":4,"block":0,"gate":0,"halt":0,"window":0,"most":4294967295},
  {"id":"negative-answers","about":"One tool that finds nothing nearly every time.","unit":"negative answers","nudge":5,"block":0,"gate":0,"halt":0,"window":7,"most":7},
  {"id":"harness-rejection","about":"The harness rejecting calls before they run, for the same reason each time.","unit":"rejections","nudge":4,"block":0,"gate":0,"halt":0,"window":0,"most":4294967295},
  {"id":"reworded-request","about":"Requests for one thing in different words although nothing new comes of them, or one message sent again and again.","unit":"points","nudge":9,"block":0,"gate":0,"halt":0,"window":0,"most":4294967295},
  {"id":"same-answer","about":"Different questions to one tool that all get the same answer.","unit":"different calls","nudge":4,"block":8,"gate":0,"halt":16,"window":32,"most":32},
  {"id":"no-new-information","about":"Questions whose answers contain no new words, or parts of a few things read over and over.","unit":"answers in a row","nudge":4,"block":0,"gate":0,"halt":0,"window":0,"most":4294967295},
  {"id":"no-effect","about":"One action again and again although the place and the figures that it reports do not change.","unit":"times","nudge":3,"block":4,"gate":0,"halt":0,"window":0,"most":8},
  {"id":"remade-change","about":"The same change made again after others that undid it.","unit":"times again","nudge":2,"block":0,"gate":0,"halt":0,"window":0,"most":4294967295},
  {"id":"stagnation","about":"The same kind of call with the same result, whatever is done in between; calls, views and plans that come back.","unit":"points","nudge":12,"block":0,"gate":0,"halt":0,"window":0,"most":4294967295},
  {"id":"duplicate-delegation","about":"Several agents passing on the same piece of work.","unit":"agents","nudge":3,"block":0,"gate":0,"halt":0,"window":0,"most":8},
  {"id":"empty-handed","about":"New attempts that all come to nothing: a judge is asked, and a loop is reported if the judge sees one.","unit":"points","nudge":12,"block":0,"gate":0,"halt":0,"window":7,"most":21},
  {"id":"blind-repeat","about":"The same call, byte for byte, again and again without a break, whatever its outcome.","unit":"calls in a row","nudge":100,"block":0,"gate":0,"halt":0,"window":0,"most":4294967295},
  {"id":"counter","about":"What the configuration's own counters count.","unit":"as configured","nudge":0,"block":0,"gate":0,"halt":0,"window":0,"most":0},
  {"id":"stream-period","about":"Text that repeats itself exactly, judged while it streams.","unit":"characters","nudge":480,"block":960,"gate":0,"halt":2000,"window":0,"most":4294967295},
  {"id":"stream-novelty","about":"Text that goes round in circles in slightly different words or with different numbers, judged while it streams.","unit":"blocks of 64 words in a row (up to five for one that says nothing); or groups of words in recurring lines and sentences","nudge":10,"block":20,"gate":0,"halt":40,"window":0,"most":4294967295},
  {"id":"monologue","about":"The agent saying the same text without a result in between, or the same long text around its work.","unit":"times","nudge":3,"block":5,"gate":0,"halt":9,"window":0,"most":4294967295},
  {"id":"stale-talk","about":"Messages about one thing with hardly any new words, or work handed back and forth, while nobody acts.","unit":"points","nudge":20,"block":0,"gate":0,"halt":0,"window":0,"most":4294967295},
  {"id":"blank-turns","about":"Answers without text and without a call, in a row.","unit":"turns in a row","nudge":3,"block":5,"gate":0,"halt":9,"window":0,"most":4294967295},
  {"id":"continuation-loop","about":"The host's own prompts answered with text only, without a call.","unit":"answers","nudge":4,"block":6,"gate":0,"halt":10,"window":0,"most":4294967295},
  {"id":"hook-loop","about":"Hooks refusing again and again without a result in between.","unit":"refusals","nudge":3,"block":6,"gate":0,"halt":12,"window":0,"most":4294967295},
  {"id":"compaction-loop","about":"The context compacted again at most three steps after the last compaction.","unit":"compactions","nudge":3,"block":5,"gate":0,"halt":8,"window":0,"most":4294967295},
  {"id":"output-signature","about":"Iterations whose whole outputs boil down to the same action or error.","unit":"outputs in a row","nudge":0,"block":0,"gate":3,"halt":0,"window":5,"most":5},
  {"id":"task-attempts","about":"Attempts at a task that is done, that stays blocked, or that makes no progress.","unit":"attempts","nudge":0,"block":0,"gate":0,"halt":0,"window":0,"most":0},
  {"id":"task-cycle","about":"Two or three tasks that are attempted in turn, lap after lap, with nothing new.","unit":"laps","nudge":3,"block":5,"gate":0,"halt":0,"window":0,"most":5},
  {"id":"phase-visits","about":"A phase of a workflow that one task enters more often than `phases` allows.","unit":"visits","nudge":0,"block":0,"gate":0,"halt":0,"window":0,"most":0},
  {"id":"phase-transitions","about":"A transition between two phases that one task makes more often than `phases` allows.","unit":"transitions","nudge":0,"block":0,"gate":0,"halt":0,"window":0,"most":0},
  {"id":"phase-cycle","about":"A task that goes back and forth between a few phases of its workflow.","unit":"laps","nudge":0,"block":0,"gate":0,"halt":0,"window":0,"most":0},
  {"id":"output-similarity","about":"An output that is at least 90 % similar to other recent outputs.","unit":"outputs alike","nudge":0,"block":0,"gate":2,"halt":0,"window":5,"most":6},
  {"id":"oscillation","about":"A node's output or a task's patch that goes back and forth between two states.","unit":"laps of both states","nudge":0,"block":0,"gate":2,"halt":0,"window":0,"most":4294967295},
  {"id":"identical-output","about":"A node of the workflow that ends turn after turn with the same message or structured output.","unit":"turns in a row","nudge":0,"block":0,"gate":3,"halt":0,"window":0,"most":4294967295},
  {"id":"unchanged-diff","about":"Iterations that leave the same patch or documents behind.","unit":"iterations in a row","nudge":0,"block":0,"gate":2,"halt":0,"window":0,"most":4294967295},
  {"id":"unchanged-failures","about":"Iterations in which the same tests fail, or no fewer of them.","unit":"iterations in a row","nudge":0,"block":0,"gate":3,"halt":0,"window":0,"most":4294967295},
  {"id":"task-loop","about":"One task failing in the same way, moving away from its goal, or asked about again and again.","unit":"loops of the task","nudge":2,"block":0,"gate":3,"halt":0,"window":0,"most":4294967295},
  {"id":"external-failure","about":"A dependency, network or account that keeps failing; never counted against the agent.","unit":"external failures in a row","nudge":0,"block":0,"gate":5,"halt":0,"window":0,"most":4294967295},
  {"id":"repeated-failure","about":"Attempts at one task failing in the same way.","unit":"failures","nudge":3,"block":6,"gate":0,"halt":12,"window":0,"most":4294967295},
  {"id":"no-tests","about":"One task failing again and again without tests or measured progress.","unit":"failures of the task","nudge":5,"block":0,"gate":0,"halt":0,"window":0,"most":4294967295},
  {"id":"consecutive-errors","about":"Failures in a row, of whatever kind.","unit":"failures in a row","nudge":0,"block":0,"gate":0,"halt":0,"window":0,"most":4294967295},
];
