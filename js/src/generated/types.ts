// Generated from schema/*.schema.json by `npm run types`: change the model, not this file.

/**
 * How patient the handling of attempts is.
 */
export type AttemptsPreset = "balanced" | "conservative" | "aggressive";
/**
 * Whose sequence a counter counts in.
 */
export type Apart = "agent" | "tool" | "call" | "target";
/**
 * What a counter counts.
 */
export type Counted =
  "calls" | "results" | "successes" | "failures" | "errors" | "unknown-tools" | "rounds" | "messages";
/**
 * What has to be the same.
 */
export type Same = "tool" | "args" | "target" | "output" | "masked-output" | "exit-code" | "text";
/**
 * What ends a count.
 */
export type Ends = "user-message" | "message" | "call" | "result" | "change";
/**
 * Another detector, or several: their settings one after the other.
 */
export type Extends = Profile | Profile[];
/**
 * A detector whose way of counting a configuration can have: `docs/migrating.md` tells of each.
 */
export type Profile =
  | "agent-shepherd"
  | "cline"
  | "gemini-cli"
  | "goose"
  | "gptme"
  | "hermes"
  | "hermes-unattended"
  | "nanobot"
  | "open-multi-agent"
  | "openclaw"
  | "opencode"
  | "openhands"
  | "openhands-v0"
  | "openhands-v0-headless"
  | "openrouter"
  | "pydantic-deepagents"
  | "ralph"
  | "roo-code"
  | "theappapp"
  | "tolokaforge"
  | "weathervane"
  | "zeroclaw";
/**
 * How the loops of a task are counted.
 */
export type Counting = "repeats" | "attempts";
/**
 * A node: its id, or an object with its id.
 */
export type GraphNode = string | DrivingNode;
/**
 * Whether verdicts ask for action.
 */
export type Mode = "enforce" | "shadow";
/**
 * What a stalled or oscillating loop leads to.
 */
export type OnStall = "pause" | "switch-to-interactive" | "spawn-reviewer" | "retry-with-new-provider";
/**
 * A set of thresholds.
 */
export type Preset = "balanced" | "sensitive" | "conservative";
/**
 * Whether payloads may leave in a verdict.
 */
export type Payloads = "none" | "excerpt";
/**
 * How strongly a host should react. Ordered: a later variant is a stronger reaction.
 */
export type Level = "continue" | "observe" | "nudge" | "block" | "gate" | "halt";
/**
 * A human's answer at a gate.
 */
export type Decision =
  | {
      decision: "continue";
    }
  | {
      decision: "stop";
    }
  | {
      decision: "exempt";
      /**
       * The rule's id.
       */
      rule: RuleId;
      /**
       * The finding's signature.
       */
      signature: string;
      /**
       * Event time in milliseconds until which it holds; absent, for the rest of the run.
       */
      until?: number | null;
    };
/**
 * One thing that happened in a run: a flat object whose `type` says what.
 */
export type Event =
  | ToolCallEvent
  | ToolResultEvent
  | MessageEvent
  | DeltaEvent
  | OutputEvent
  | FailureEvent
  | ProgressEvent
  | EvaluationEvent
  | CollaborationEvent
  | AttemptEvent
  | TransitionEvent
  | TurnEvent
  | DeliveryEvent
  | HostEvent
  | CustomEvent;
/**
 * What became of a tool call.
 */
export type Outcome = "ok" | "error" | "denied" | "invalid" | "unknown-tool" | "not-executed" | "timeout";
/**
 * The part of a model's answer a text belongs to.
 */
export type Channel = "text" | "reasoning";
/**
 * Who wrote a message.
 */
export type Role = "assistant" | "user" | "system";
/**
 * The class of a failure.
 */
export type ErrorType =
  "syntax" | "runtime" | "logic" | "dependency" | "network" | "authentication" | "timeout" | "resource" | "unknown";
/**
 * A completion marker, as the host knows it: whether, how many, or which.
 */
export type Marker = boolean | number | string[];
/**
 * An outside judge's opinion.
 */
export type EvaluationVerdict = "progressing" | "stalled" | "regressing" | "external";
/**
 * Where a task stood after an attempt.
 */
export type AttemptStatus = "pending" | "in-progress" | "blocked" | "done";
/**
 * What the host did.
 */
export type HostKind =
  | "run-start"
  | "turn-start"
  | "resume"
  | "restart"
  | "compaction"
  | "hook-block"
  | "continuation"
  | "retry"
  | "intervention";
/**
 * Why a scope is reset.
 */
export type ResetReason = "task-completed" | "human-intervention" | "manual";
/**
 * What a scenario expects.
 */
export type Expectation = "loop" | "no-loop";
/**
 * One line of a trace: an event that happened, or one that is about to.
 */
export type TraceEvent = Event & {pending?: boolean};
/**
 * The stable, machine-readable class of an `Error`.
 */
export type ErrorCode =
  | "invalid-json"
  | "invalid-event"
  | "unknown-event"
  | "invalid-config"
  | "invalid-snapshot"
  | "snapshot-version"
  | "invalid-argument";
/**
 * A telemetry record: what a host logs.
 */
export type LoopRecord =
  | {
      /**
       * The agent.
       */
      agentId?: string;
      /**
       * What repeats, printable.
       */
      errorSignature: string;
      event: "loop_detected";
      /**
       * Whether the messages were equal to the byte.
       */
      isExactMatch: boolean;
      /**
       * Loops counted so far.
       */
      loopCount: number;
      /**
       * Why it counts: the document's `orchestrator_reasoning`.
       */
      orchestratorReasoning: string;
      /**
       * The task.
       */
      taskId?: string;
      /**
       * Event time in milliseconds since the Unix epoch.
       */
      timestamp?: number;
    }
  | {
      /**
       * The agent.
       */
      agentId?: string;
      event: "gate_triggered";
      /**
       * Signatures of the task's recent failures, oldest first.
       */
      failureHistory: string[];
      /**
       * Loops counted.
       */
      loopCount: number;
      /**
       * The task.
       */
      taskId?: string;
      /**
       * Event time in milliseconds since the Unix epoch.
       */
      timestamp?: number;
      /**
       * Why.
       */
      triggerReason: string;
    }
  | {
      /**
       * Stable id of the cycle.
       */
      cycleId: string;
      /**
       * Digests of the last diffs, oldest first.
       */
      diffHashes: string[];
      /**
       * Digests of the last documents, oldest first.
       */
      docsHashes?: string[];
      event: "loop.halted";
      /**
       * Digests of the last sets of failing tests, oldest first.
       */
      failingTestSignatures: string[];
      /**
       * Why.
       */
      haltReason: HaltReason;
      /**
       * Digests of the last node outputs, oldest first.
       */
      outputHashes: string[];
      /**
       * What the host or a human can do.
       */
      suggestedActions: string[];
      /**
       * Event time in milliseconds since the Unix epoch.
       */
      timestamp?: number;
    }
  | {
      event: "loop_counter_reset";
      /**
       * What the counter had reached.
       */
      previousCount: number;
      /**
       * Why.
       */
      reason: string;
      /**
       * The task.
       */
      taskId?: string;
      /**
       * Newest event time of the run, in milliseconds since the Unix epoch.
       */
      timestamp?: number;
    };
/**
 * Why a run should end.
 */
export type HaltReason = "budget-exceeded" | "stalled" | "oscillating" | "repeated-error" | "user-stop";
/**
 * What the host might do next.
 */
export type Recommendation =
  | "continue"
  | "retry-with-backoff"
  | "change-approach"
  | "force-next"
  | "unblock-authority"
  | "escalate"
  | "switch-to-interactive"
  | "spawn-reviewer"
  | "retry-with-new-provider"
  | "rollback"
  | "request-tests";
/**
 * Why the next threshold of a rule is not given.
 */
export type NoNext = "only-told" | "by-tool";
/**
 * The kinds of recovery entry.
 */
export type RecoveryTopic = "loop_recovery" | "unblock_authority" | "loop_escalation";

/**
 * The published documents, by the name of their schema.
 */
export interface Documents {
  config: Config;
  decision: Decision;
  event: Event;
  graph: Graph;
  "reset-reason": ResetReason;
  scenario: Scenario;
  scope: Scope;
  error: ErrorRecord;
  metrics: Metrics;
  record: LoopRecord;
  report: Report;
  status: Status;
  verdict: Verdict;
}
/**
 * Everything a host can set. An empty object is the recommended configuration.
 */
export interface Config {
  /**
   * Where an editor finds this schema; nothing else reads it.
   */
  $schema?: string;
  /**
   * Loops of attempts at one task.
   */
  attempts?: Attempts;
  /**
   * Whether a human can answer a gate.
   */
  attended?: boolean;
  /**
   * Limits of a run, its turns, its nodes and its cycles.
   */
  budgets?: Budgets;
  /**
   * When two requests between agents are the same.
   */
  collaboration?: Requests;
  /**
   * Ways of counting that other detectors have.
   */
  conventions?: Conventions;
  /**
   * The one switch that silences everything.
   */
  enabled?: boolean;
  /**
   * Begins with the settings of another detector, or of several, one after the other; what else stands here counts more.
   */
  extends?: Extends | null;
  /**
   * How failures of tasks are counted.
   */
  failures?: Failures;
  /**
   * The workflow of every run that declares none itself; without either it is learned from deliveries.
   */
  graph?: Graph | null;
  /**
   * Limits of the detector's own memory.
   */
  memory?: Memory;
  /**
   * Whether verdicts ask for action.
   */
  mode?: Mode;
  /**
   * What a stalled or oscillating loop leads to.
   */
  onStall?: OnStall;
  /**
   * The user's regular expressions.
   */
  patterns?: Patterns;
  /**
   * Loops between the phases of a workflow.
   */
  phases?: Phases;
  /**
   * The thresholds that the rest of this document changes.
   */
  preset?: Preset;
  /**
   * What tokens cost, for events that tell tokens and no money.
   */
  prices?: Prices;
  /**
   * What may leave in a verdict.
   */
  privacy?: Privacy;
  /**
   * Settings per rule, by rule id.
   */
  rules?: {
    /**
     * Answers without text and without a call, in a row.
     */
    "blank-turns"?: RuleConfig;
    /**
     * The same call, byte for byte, again and again without a break, whatever its outcome.
     */
    "blind-repeat"?: RuleConfig;
    /**
     * Copies of one call within one round.
     */
    "call-flood"?: RuleConfig;
    /**
     * The context compacted again at most three steps after the last compaction.
     */
    "compaction-loop"?: RuleConfig;
    /**
     * Failures in a row, of whatever kind.
     */
    "consecutive-errors"?: RuleConfig;
    /**
     * The host's own prompts answered with text only, without a call.
     */
    "continuation-loop"?: RuleConfig;
    /**
     * What the configuration's own counters count.
     */
    counter?: RuleConfig;
    /**
     * The same steps with the same outcomes, lap after lap, or with outcomes that differ only in figures; steps in a row that had all been made shortly before.
     */
    cycle?: RuleConfig;
    /**
     * A cycle of the workflow has used up its iterations, its time or its money.
     */
    "cycle-budget"?: RuleConfig;
    /**
     * Calls made again after a person or a policy refused them.
     */
    "denied-call"?: RuleConfig;
    /**
     * Several agents passing on the same piece of work.
     */
    "duplicate-delegation"?: RuleConfig;
    /**
     * New attempts that all come to nothing: a judge is asked, and a loop is reported if the judge sees one.
     */
    "empty-handed"?: RuleConfig;
    /**
     * A dependency, network or account that keeps failing; never counted against the agent.
     */
    "external-failure"?: RuleConfig;
    /**
     * One target failing in the same way through any tool or agent.
     */
    "failing-target"?: RuleConfig;
    /**
     * One tool failing many times in a row, in whatever way.
     */
    "failure-streak"?: RuleConfig;
    /**
     * The harness rejecting calls before they run, for the same reason each time.
     */
    "harness-rejection"?: RuleConfig;
    /**
     * Hooks refusing again and again without a result in between.
     */
    "hook-loop"?: RuleConfig;
    /**
     * A node of the workflow that ends turn after turn with the same message or structured output.
     */
    "identical-output"?: RuleConfig;
    /**
     * The run has used up its iterations.
     */
    "max-iterations"?: RuleConfig;
    /**
     * The run has lasted longer than its budget allows.
     */
    "max-runtime"?: RuleConfig;
    /**
     * The agent saying the same text without a result in between, or the same long text around its work.
     */
    monologue?: RuleConfig;
    /**
     * One tool that finds nothing nearly every time.
     */
    "negative-answers"?: RuleConfig;
    /**
     * One action again and again although the place and the figures that it reports do not change.
     */
    "no-effect"?: RuleConfig;
    /**
     * Questions whose answers contain no new words, or parts of one thing read over and over.
     */
    "no-new-information"?: RuleConfig;
    /**
     * One task failing again and again without tests or measured progress.
     */
    "no-tests"?: RuleConfig;
    /**
     * A node has used up its turns or its time.
     */
    "node-budget"?: RuleConfig;
    /**
     * A node's output or a task's patch that goes back and forth between two states.
     */
    oscillation?: RuleConfig;
    /**
     * Iterations whose whole outputs boil down to the same action or error.
     */
    "output-signature"?: RuleConfig;
    /**
     * An output that is at least 90 % similar to other recent outputs.
     */
    "output-similarity"?: RuleConfig;
    /**
     * A task that goes back and forth between a few phases of its workflow.
     */
    "phase-cycle"?: RuleConfig;
    /**
     * A transition between two phases that one task makes more often than `phases` allows.
     */
    "phase-transitions"?: RuleConfig;
    /**
     * A phase of a workflow that one task enters more often than `phases` allows.
     */
    "phase-visits"?: RuleConfig;
    /**
     * Calls rejected because of their arguments, or calls of tools that do not exist.
     */
    "rejected-arguments"?: RuleConfig;
    /**
     * The same change made again after others that undid it.
     */
    "remade-change"?: RuleConfig;
    /**
     * The same call with the same outcome, in a row or with other work in between.
     */
    "repeated-call"?: RuleConfig;
    /**
     * One tool failing in the same way although its arguments change.
     */
    "repeated-error"?: RuleConfig;
    /**
     * Attempts at one task failing in the same way.
     */
    "repeated-failure"?: RuleConfig;
    /**
     * Consecutive attempts that hardly differ and end in the same root error.
     */
    resubmission?: RuleConfig;
    /**
     * Requests for one thing in different words although nothing new comes of them, or one message sent to the same place again and again.
     */
    "reworded-request"?: RuleConfig;
    /**
     * Different questions to one tool that all get the same answer.
     */
    "same-answer"?: RuleConfig;
    /**
     * The same kind of call, or calls about the same thing, with the same result whatever is done in between; calls that had all been made before with the same answers, views that had all been seen before, plans written one after the other.
     */
    stagnation?: RuleConfig;
    /**
     * Messages about one thing with hardly any new words, or work handed back and forth, while nobody acts.
     */
    "stale-talk"?: RuleConfig;
    /**
     * Text that goes round in circles in slightly different words or with different numbers, judged while it streams.
     */
    "stream-novelty"?: RuleConfig;
    /**
     * Text that repeats itself exactly, judged while it streams.
     */
    "stream-period"?: RuleConfig;
    /**
     * Attempts at a task that is done, that stays blocked, or that makes no progress.
     */
    "task-attempts"?: RuleConfig;
    /**
     * Two or three tasks that are attempted in turn, lap after lap, with nothing new.
     */
    "task-cycle"?: RuleConfig;
    /**
     * One task failing in the same way, moving away from its goal, or asked about again and again.
     */
    "task-loop"?: RuleConfig;
    /**
     * One turn of a node took more time or more tokens than a turn may.
     */
    "turn-budget"?: RuleConfig;
    /**
     * The same call again and again although it is never answered.
     */
    "unanswered-call"?: RuleConfig;
    /**
     * Iterations that leave the same patch or documents behind.
     */
    "unchanged-diff"?: RuleConfig;
    /**
     * Iterations in which the same tests fail, or no fewer of them.
     */
    "unchanged-failures"?: RuleConfig;
  };
  /**
   * Settings per tool, by a name in which `*` stands for any characters and `?` for one. Every matching entry applies, the ones with more literal characters last.
   */
  tools?: {
    [k: string]: ToolConfig;
  };
  /**
   * What a gate becomes when nobody attends: `nudge`, `block` or `halt`.
   */
  unattendedLevel?: Level;
}
/**
 * When attempts at one task are a loop, and what is done about it. What is absent keeps the preset's value.
 */
export interface Attempts {
  /**
   * Milliseconds of event time that attempts are remembered for, at least 1; an hour in every preset. Attempts without an event time are never too old.
   */
  attemptWindowMs?: number | null;
  /**
   * Whether a task that spins on its blockers is given the authority to remove them, once, before a human is asked.
   */
  enableAutoUnblock?: boolean | null;
  /**
   * Like attempts in a row that make a loop, 2 to 12.
   */
  maxAttempts?: number | null;
  /**
   * Attempts in the window from which a task without progress is left for the next one; at least `maxAttempts`.
   */
  maxAttemptsBeforeForceNext?: number | null;
  /**
   * The values that the other fields change.
   */
  preset?: AttemptsPreset;
}
/**
 * Limits of a run, of one turn, of a node and of a cycle; 0 means none. A limit is spent by the event that reaches it.
 */
export interface Budgets {
  /**
   * Failing results or failures in a row.
   */
  consecutiveErrors?: number;
  /**
   * Cost of the turns of one cycle, in millionths of the host's currency unit.
   */
  maxCycleCost?: number;
  /**
   * Iterations of one cycle, 0 or at least 2; by default 8.
   */
  maxCycleIterations?: number | null;
  /**
   * Milliseconds that the turns of one cycle took together, or of event time since its first one, whichever is more.
   */
  maxCycleRuntimeMs?: number;
  /**
   * Iterations of the agent loop: `output`, `turn`, `turn-start` events or distinct rounds, whichever are most.
   */
  maxIterations?: number;
  /**
   * Milliseconds of event time since the run's first event.
   */
  maxRuntimeMs?: number;
  /**
   * Milliseconds that the turns of one node took together.
   */
  maxRuntimeMsPerNode?: number;
  /**
   * Tokens of one turn.
   */
  maxTokens?: number;
  /**
   * Turns of one node, 0 or at least 2; by default 6.
   */
  maxTurnsPerNode?: number | null;
  /**
   * Turns of one node for one task, 0 or at least 2: beside the limit of the run, which may be 0.
   */
  maxTurnsPerNodeAndTask?: number;
  /**
   * Milliseconds of one turn; by default 600,000.
   */
  turnTimeoutMs?: number | null;
}
/**
 * When two requests between agents are the same.
 */
export interface Requests {
  /**
   * Whether requests between agents count as loops of their task.
   */
  enabled?: boolean;
  /**
   * Per mille that the cosine of two requests must exceed, 500 to 999.
   */
  similarity?: number;
}
/**
 * Ways of counting that other detectors have, for hosts that depend on their alarms. None is on by default: each either overlooks loops or takes honest work for one.
 */
export interface Conventions {
  /**
   * Counts of your own, by their names; at most 16.
   */
  counters?: {
    [k: string]: Counter;
  };
  /**
   * A message of the role `user` ends no evidence: for runs into which machines put such messages.
   */
  keepOnUserMessage?: boolean;
  /**
   * Only what is named runs: the rules under `rules`, unless they are switched off there, counters, and the budgets that are set.
   */
  onlyNamed?: boolean;
  /**
   * Copies of a passage from which every rung of `stream-period` is reached, 0 or 2 to 64; 0 for as many as the rung and the passage ask for.
   */
  streamCopies?: number;
  /**
   * Characters of the longest passage that `stream-period` finds, at most 3,072; 0 for as long as it can.
   */
  streamPassage?: number;
  /**
   * `stream-period` finds only what a text or a piece of it still repeats where it ends: what it came out of is over.
   */
  streamTail?: boolean;
}
/**
 * A count of the configuration's own, for the rule `counter`: what is the same so often is reported. It is exact and knows nothing of progress, waiting or the meaning of an answer; at most 64 of the latest events are looked back at.
 */
export interface Counter {
  /**
   * A call that is about to be made counts as one more of what came of it before: it is judged before it runs.
   */
  ahead?: boolean;
  /**
   * Begins anew after its highest threshold.
   */
  anew?: boolean;
  /**
   * Whose sequence it is: what is apart from it neither counts nor ends a count.
   */
  apart?: Apart;
  /**
   * Count from which it blocks; 0 never.
   */
  block?: number;
  /**
   * What is made in one round is one: copies count once, and the order within a round does not matter.
   */
  byRound?: boolean;
  /**
   * Only so many of the latest events are looked at, calls, results and messages being one each; 0 for all.
   */
  events?: number;
  /**
   * Tools it is not about, in the same way.
   */
  except?: string[];
  /**
   * Count from which it asks a human; 0 never.
   */
  gate?: number;
  /**
   * Count from which it ends the run; 0 never.
   */
  halt?: number;
  /**
   * Steps of the longest lap, 2 to 10: laps are counted, from two steps on, that are not all alike; 0 for no laps.
   */
  lap?: number;
  /**
   * Count from which it nudges; 0 never.
   */
  nudge?: number;
  /**
   * What is counted.
   */
  of?: Counted;
  /**
   * What has to be the same. Where nothing is named: tool and arguments of calls, results and failures, the text of messages, and of the others nothing.
   */
  same?: Same[] | null;
  /**
   * The tools it is about, by names in which `*` stands for any characters and `?` for one; all where none is named.
   */
  tools?: string[];
  /**
   * What else ends a count.
   */
  until?: Ends[];
  /**
   * Counts wherever they are among so many of the latest, at most 64; 0 for in a row.
   */
  window?: number;
}
/**
 * How failures of tasks are counted.
 */
export interface Failures {
  /**
   * What a task's counter counts.
   */
  counting?: Counting;
  /**
   * Loops of a task from which a human is asked, at least 2; the same as `gate` of the rule `task-loop`.
   */
  gateThreshold?: number | null;
  /**
   * Latest failures of a task that a new one is compared with, 1 to 32.
   */
  history?: number;
}
/**
 * A workflow: who hands work to whom.
 */
export interface Graph {
  /**
   * Ids of the nodes that drive their cycle, as `driver` on the node itself.
   */
  drivers?: string[];
  /**
   * The edges, at most 1,024.
   */
  edges?: GraphEdge[];
  /**
   * The nodes, 1 to 256; of a cycle without a named driver the first of them is the driver.
   */
  nodes: GraphNode[];
}
/**
 * An edge: the first node hands work to the second.
 */
export interface GraphEdge {
  /**
   * The sending node.
   */
  from: string;
  /**
   * The id, unique; an edge without one is known by its ends.
   */
  id?: string | null;
  /**
   * The receiving node.
   */
  to: string;
}
/**
 * A node with what is said about it.
 */
export interface DrivingNode {
  /**
   * Whether an edge into the node closes the cycle it is on.
   */
  driver?: boolean;
  /**
   * The id, 1 to 256 bytes, unique.
   */
  id: string;
}
/**
 * Limits of the detector's own memory.
 */
export interface Memory {
  /**
   * Milliseconds of event time after which an idle run is forgotten: at its own next event, or while new runs come as soon as the clocks of two other runs say so.
   */
  idleMs?: number;
  /**
   * Bytes that all runs may take together, 1048576 (1 MiB) to 1099511627776 (1 TiB); by default 256 MiB, or 16 KiB for each of `maxRuns` where that is more. Counted from what is kept, equally on every platform: the heap takes about as much, and never more than half as much again. Where a run grows beyond it, others go in the order of `maxRuns`.
   */
  maxBytes?: number | null;
  /**
   * Runs kept at once, 1 to 1000000. Where more come, the least recently used goes first: one in which no loop was found before one with a loop. An event costs the same however many there are.
   */
  maxRuns?: number;
}
/**
 * The user's regular expressions, in the syntax of the `regex` crate; each at most 1,024 characters.
 */
export interface Patterns {
  /**
   * Signatures of outputs that the built-in ones do not know, tried first; at most 32.
   */
  signatures?: SignaturePattern[];
  /**
   * Parts of an output that do not make two outputs differ; at most 32.
   */
  volatile?: string[];
}
/**
 * A user's output signature.
 */
export interface SignaturePattern {
  /**
   * What an output must contain.
   */
  pattern: string;
  /**
   * The signature; `$1` or `${name}` insert what a group matched.
   */
  signature: string;
}
/**
 * How often the phases of a workflow may be entered and left, per task of a run.
 */
export interface Phases {
  /**
   * Whether going back and forth between phases is found before a limit is reached.
   */
  cycleDetectionEnabled?: boolean;
  /**
   * The most distinct phases that a cycle may go through to be found, 2 to 5.
   */
  cycleDetectionLength?: number;
  /**
   * Whether transitions are judged at all.
   */
  enabled?: boolean;
  /**
   * The label that such a gate carries, 1 to 100 characters.
   */
  hitlLabel?: string;
  /**
   * Times that a phase may be left for the same other phase; 0 for any number. A retry, from a phase to itself, is a visit and no transition.
   */
  maxTransitionsDefault?: number;
  /**
   * Visits that a phase may have; 0 for any number.
   */
  maxVisitsDefault?: number;
  /**
   * Settings per phase, by its name.
   */
  phases?: {
    [k: string]: PhaseConfig;
  };
  /**
   * Whether what is refused goes to a human: `gate` instead of `block`.
   */
  triggerHitl?: boolean;
}
/**
 * Settings of one phase.
 */
export interface PhaseConfig {
  /**
   * Visits that this phase may have; 0 for any number, absent for `maxVisitsDefault`.
   */
  maxVisits?: number | null;
}
/**
 * What tokens cost. Money that an event tells itself (`costMicros`) always counts more.
 */
export interface Prices {
  /**
   * What a million tokens cost on average, given, cached and answered taken together as your bill has them: a decimal such as `"2.50"`, in the currency that you think in. Read to the millionth; each event's cost is rounded down to one.
   */
  millionTokens?: string | null;
}
/**
 * What may leave in a verdict.
 */
export interface Privacy {
  /**
   * Whether payloads may leave.
   */
  payloads?: Payloads;
  /**
   * A secret of 8 to 256 bytes under which signatures and evidence are made, so that nobody without it can try arguments, outputs and other texts out against them, or make two that seem equal. Detectors with another one give other signatures and the same verdicts otherwise. A snapshot holds it.
   */
  salt?: string | null;
}
/**
 * Settings of one rule. What is absent keeps the preset's value.
 */
export interface RuleConfig {
  /**
   * Evidence from which the rule blocks; 0 never.
   */
  block?: number | null;
  /**
   * Whether the rule runs.
   */
  enabled?: boolean | null;
  /**
   * Evidence from which the rule asks a human; 0 never.
   */
  gate?: number | null;
  /**
   * Evidence from which the rule ends the run; 0 never.
   */
  halt?: number | null;
  /**
   * Evidence from which the rule nudges; 0 never.
   */
  nudge?: number | null;
  /**
   * How far the rule looks back, in the rule's own unit.
   */
  window?: number | null;
}
/**
 * Settings of the tools whose name matches.
 */
export interface ToolConfig {
  /**
   * Whether equal answers to different calls of the tool are evidence for `same-answer`, however short; by default only what searches and views answer is, and long answers.
   */
  compareAnswers?: boolean | null;
  /**
   * Whether calls of the tool are judged at all.
   */
  enabled?: boolean | null;
  /**
   * The only top-level argument fields that make two calls differ.
   */
  identityArgs?: string[];
  /**
   * Top-level argument fields that do not make two calls differ.
   */
  ignoreArgs?: string[];
  /**
   * Whether a successful call changes something; guessed from name and arguments where absent.
   */
  mutates?: boolean | null;
  /**
   * The tool is meant to be asked again and again: `repeated-call`, `blind-repeat`, `unanswered-call` and `cycle` have their thresholds trebled for its calls, and rules about what calls bring (`same-answer`, `no-effect`, `empty-handed`, `resubmission`, `reworded-request`) leave them out.
   */
  polling?: boolean | null;
  /**
   * Rule settings for this tool.
   */
  rules?: {
    /**
     * Answers without text and without a call, in a row.
     */
    "blank-turns"?: RuleConfig;
    /**
     * The same call, byte for byte, again and again without a break, whatever its outcome.
     */
    "blind-repeat"?: RuleConfig;
    /**
     * Copies of one call within one round.
     */
    "call-flood"?: RuleConfig;
    /**
     * Failures in a row, of whatever kind.
     */
    "consecutive-errors"?: RuleConfig;
    /**
     * What the configuration's own counters count.
     */
    counter?: RuleConfig;
    /**
     * The same steps with the same outcomes, lap after lap, or with outcomes that differ only in figures; steps in a row that had all been made shortly before.
     */
    cycle?: RuleConfig;
    /**
     * Calls made again after a person or a policy refused them.
     */
    "denied-call"?: RuleConfig;
    /**
     * Several agents passing on the same piece of work.
     */
    "duplicate-delegation"?: RuleConfig;
    /**
     * New attempts that all come to nothing: a judge is asked, and a loop is reported if the judge sees one.
     */
    "empty-handed"?: RuleConfig;
    /**
     * A dependency, network or account that keeps failing; never counted against the agent.
     */
    "external-failure"?: RuleConfig;
    /**
     * One target failing in the same way through any tool or agent.
     */
    "failing-target"?: RuleConfig;
    /**
     * One tool failing many times in a row, in whatever way.
     */
    "failure-streak"?: RuleConfig;
    /**
     * The harness rejecting calls before they run, for the same reason each time.
     */
    "harness-rejection"?: RuleConfig;
    /**
     * Hooks refusing again and again without a result in between.
     */
    "hook-loop"?: RuleConfig;
    /**
     * One tool that finds nothing nearly every time.
     */
    "negative-answers"?: RuleConfig;
    /**
     * One action again and again although the place and the figures that it reports do not change.
     */
    "no-effect"?: RuleConfig;
    /**
     * Questions whose answers contain no new words, or parts of one thing read over and over.
     */
    "no-new-information"?: RuleConfig;
    /**
     * Calls rejected because of their arguments, or calls of tools that do not exist.
     */
    "rejected-arguments"?: RuleConfig;
    /**
     * The same change made again after others that undid it.
     */
    "remade-change"?: RuleConfig;
    /**
     * The same call with the same outcome, in a row or with other work in between.
     */
    "repeated-call"?: RuleConfig;
    /**
     * One tool failing in the same way although its arguments change.
     */
    "repeated-error"?: RuleConfig;
    /**
     * Attempts at one task failing in the same way.
     */
    "repeated-failure"?: RuleConfig;
    /**
     * Consecutive attempts that hardly differ and end in the same root error.
     */
    resubmission?: RuleConfig;
    /**
     * Requests for one thing in different words although nothing new comes of them, or one message sent to the same place again and again.
     */
    "reworded-request"?: RuleConfig;
    /**
     * Different questions to one tool that all get the same answer.
     */
    "same-answer"?: RuleConfig;
    /**
     * The same kind of call, or calls about the same thing, with the same result whatever is done in between; calls that had all been made before with the same answers, views that had all been seen before, plans written one after the other.
     */
    stagnation?: RuleConfig;
    /**
     * The same call again and again although it is never answered.
     */
    "unanswered-call"?: RuleConfig;
  };
}
/**
 * A tool is about to be called, or was called.
 */
export interface ToolCallEvent extends Context {
  /**
   * The arguments: any JSON, nested at most 120 deep.
   */
  args?: unknown;
  /**
   * Pairs the call with its result; a call id seen before with the same call is a replay.
   */
  callId?: string | null;
  /**
   * MCP hint, a prior only: calling again with the same arguments changes nothing more.
   */
  idempotent?: boolean | null;
  /**
   * The host's own loop key: replaces the arguments in comparison.
   */
  identity?: string | null;
  /**
   * The arguments as text, where they are not valid JSON.
   */
  rawArgs?: string | null;
  /**
   * MCP hint, a prior only: the tool changes nothing.
   */
  readOnly?: boolean | null;
  /**
   * The resource acted upon; guessed from the arguments where absent.
   */
  target?: string | null;
  /**
   * The tool's name.
   */
  tool: string;
  type: "tool-call";
}
/**
 * What every event may say: when and where it happened, and what it cost.
 */
export interface Context {
  /**
   * The agent that acted.
   */
  agent?: string | null;
  /**
   * Event time in milliseconds since the Unix epoch.
   */
  at?: number | null;
  /**
   * Money spent on the same, in millionths of the host's currency unit.
   */
  costMicros?: number | null;
  /**
   * Echoed by hosts, never judged.
   */
  labels?: {
    [k: string]: string;
  };
  /**
   * The task this task is a part of.
   */
  parentTask?: string | null;
  /**
   * The assistant turn; the calls of a parallel batch share it.
   */
  round?: string | null;
  /**
   * The run; absent means the one default run.
   */
  run?: string | null;
  /**
   * The host's own step number, echoed in evidence.
   */
  step?: number | null;
  /**
   * Made by the host or by this library's own advice: never evidence, never counted against the agent.
   */
  synthetic?: boolean;
  /**
   * The task being worked on.
   */
  task?: string | null;
  /**
   * Tokens of the model's answer that this event begins, or of the turn that it ends. Each is told once: of an answer that makes several events, the first one tells them.
   */
  tokens?: number | null;
}
/**
 * What came of a tool call.
 */
export interface ToolResultEvent extends Context {
  /**
   * Pairs the result with its call; without it the oldest unanswered call of the tool is taken.
   */
  callId?: string | null;
  /**
   * Host metadata; compared only where `output` is empty.
   */
  details?: unknown;
  /**
   * Digest of the full output, where `output` is clipped.
   */
  digest?: string | null;
  /**
   * The host's own class of this error; replaces the text in error comparison.
   */
  errorClass?: string | null;
  /**
   * Exit code of a command.
   */
  exitCode?: number | null;
  /**
   * What became of the call.
   */
  outcome: Outcome;
  /**
   * What the tool said. In JSON it may be any value: what is not text is compared as its JSON text.
   */
  output: unknown;
  /**
   * The host's hash of the resource after the call.
   */
  state?: string | null;
  /**
   * The tool's name.
   */
  tool?: string | null;
  type: "tool-result";
}
/**
 * A whole message.
 */
export interface MessageEvent extends Context {
  /**
   * Text by default.
   */
  channel?: Channel | null;
  /**
   * Digest of the full text, where `text` is clipped.
   */
  digest?: string | null;
  /**
   * Who wrote it.
   */
  role: Role;
  /**
   * The message.
   */
  text: string;
  type: "message";
}
/**
 * A streamed piece of an assistant message.
 */
export interface DeltaEvent extends Context {
  /**
   * Text by default.
   */
  channel?: Channel | null;
  /**
   * The piece.
   */
  text: string;
  type: "delta";
}
/**
 * The whole output of one iteration.
 */
export interface OutputEvent extends Context {
  /**
   * The output.
   */
  text: string;
  type: "output";
}
/**
 * A failed attempt at the scope's task.
 */
export interface FailureEvent extends Context {
  /**
   * Its class; recognised from the text where absent.
   */
  errorType?: ErrorType | null;
  /**
   * File, line or component; extracted from the text where absent.
   */
  location?: string | null;
  /**
   * The error message.
   */
  message: string;
  /**
   * What reported the failure.
   */
  source?: string | null;
  /**
   * The stack trace.
   */
  stackTrace?: string | null;
  type: "failure";
}
/**
 * Measured progress.
 */
export interface ProgressEvent extends Context {
  /**
   * An acceptance checklist.
   */
  checklist?: Checklist | null;
  /**
   * Code written.
   */
  codeWritten?: Marker | null;
  /**
   * Dependencies added.
   */
  dependenciesAdded?: Marker | null;
  /**
   * Patch text, or a digest of it.
   */
  diff?: string | null;
  /**
   * Documentation text, or a digest of it.
   */
  docs?: string | null;
  /**
   * Files created.
   */
  filesCreated?: Marker | null;
  /**
   * What the task is to achieve.
   */
  goal?: string | null;
  /**
   * Test figures.
   */
  tests?: Tests | null;
  type: "progress";
}
/**
 * Items done of a list.
 */
export interface Checklist {
  /**
   * Items done.
   */
  done: number;
  /**
   * Items in all.
   */
  total: number;
}
/**
 * Test figures.
 */
export interface Tests {
  /**
   * Coverage in percent, 0 to 100.
   */
  coverage?: number | null;
  /**
   * How many tests fail.
   */
  failing?: number | null;
  /**
   * Which tests fail, in any order.
   */
  failingIds?: string[] | null;
  /**
   * How many tests there are.
   */
  total?: number | null;
}
/**
 * An outside judge's answer to a verdict that said `needsEvaluation`.
 */
export interface EvaluationEvent extends Context {
  /**
   * Per mille, 0 to 1000.
   */
  confidence?: number | null;
  /**
   * Why.
   */
  reasoning?: string | null;
  type: "evaluation";
  /**
   * The opinion.
   */
  verdict: EvaluationVerdict;
}
/**
 * One agent asked another for something.
 */
export interface CollaborationEvent extends Context {
  /**
   * The request's embedding: finite numbers, one length per pair of agents.
   */
  embedding?: number[] | null;
  /**
   * Who asked.
   */
  from: string;
  /**
   * What for.
   */
  request: string;
  /**
   * Who was asked.
   */
  to: string;
  type: "collaboration";
}
/**
 * An orchestrator's attempt at a task.
 */
export interface AttemptEvent extends Context {
  /**
   * What kept it from going on; a set.
   */
  blockers?: string[];
  /**
   * What was done; a set.
   */
  completedWork?: string[];
  /**
   * The session that attempted it.
   */
  session?: string | null;
  /**
   * Where the task stood.
   */
  status: AttemptStatus;
  type: "attempt";
}
/**
 * A workflow moved from one phase to another.
 */
export interface TransitionEvent extends Context {
  /**
   * The phase left; absent at the start.
   */
  from?: string | null;
  /**
   * The phase entered.
   */
  to: string;
  type: "transition";
}
/**
 * One node invocation of a workflow graph ended.
 */
export interface TurnEvent extends Context {
  /**
   * Time spent, in milliseconds.
   */
  durationMs?: number | null;
  /**
   * Its final message.
   */
  finalMessage?: string | null;
  /**
   * The node.
   */
  node: string;
  /**
   * Its structured output.
   */
  structuredOutput?: unknown;
  type: "turn";
}
/**
 * An edge of a workflow graph carried a payload.
 */
export interface DeliveryEvent extends Context {
  /**
   * The edge, where two nodes share several.
   */
  edge?: string | null;
  /**
   * The sending node.
   */
  from: string;
  /**
   * The receiving node.
   */
  to: string;
  type: "delivery";
}
/**
 * Something the host did.
 */
export interface HostEvent extends Context {
  /**
   * Anything worth logging.
   */
  detail?: string | null;
  /**
   * What.
   */
  kind: HostKind;
  /**
   * Which hook, queue or trigger.
   */
  name?: string | null;
  type: "host";
}
/**
 * Anything else that may repeat.
 */
export interface CustomEvent extends Context {
  /**
   * What makes two of them the same.
   */
  key: string;
  /**
   * The kind of thing.
   */
  name: string;
  /**
   * What came of it.
   */
  outcome?: string | null;
  type: "custom";
}
/**
 * One line of a scenario file. Keys that are not listed here are kept by tools and ignored.
 */
export interface Scenario {
  /**
   * Further assertion points.
   */
  checkpoints?: Checkpoint[];
  /**
   * The configuration, where it is not the default one.
   */
  config?: Config | null;
  /**
   * What happens.
   */
  events: TraceEvent[];
  /**
   * What is expected; absent for unlabelled runs.
   */
  expect?: Expectation | null;
  /**
   * Index of the event by which a loop must be found.
   */
  expectAt?: number | null;
  /**
   * The loop must not be found before `expectAt`.
   */
  firstAt?: boolean;
  /**
   * The scenario's name, unique in its file.
   */
  id: string;
  /**
   * The least level that counts as found.
   */
  minLevel?: Level | null;
  /**
   * Whether the recorded run reached its goal, for runs without loop labels.
   */
  success?: boolean | null;
  [k: string]: unknown;
}
/**
 * A further assertion point of a scenario.
 */
export interface Checkpoint {
  /**
   * Index of the event after which it holds.
   */
  afterEvent: number;
  /**
   * What holds there.
   */
  expect: Expectation;
  [k: string]: unknown;
}
/**
 * Where something happened. Absent parts stand for the one default scope.
 */
export interface Scope {
  /**
   * The agent.
   */
  agent?: string;
  /**
   * The task this task is a part of.
   */
  parentTask?: string;
  /**
   * The run.
   */
  run?: string;
  /**
   * The task.
   */
  task?: string;
}
/**
 * Why an input was refused. The state is as it was before the call.
 */
export interface ErrorRecord {
  /**
   * Stable class, for programs.
   */
  code: ErrorCode;
  /**
   * Path of the offending field, such as `rules.cycle.block`.
   */
  field?: string;
  /**
   * Lower-case sentence, for people.
   */
  message: string;
  /**
   * The offending value, shortened to 80 characters.
   */
  value?: string;
}
/**
 * Counters for dashboards, since the detector was made.
 */
export interface Metrics {
  /**
   * Bytes that they take now, as `memory.maxBytes` counts them.
   */
  bytes: number;
  /**
   * The same because the walk oscillates.
   */
  cyclesDetected: number;
  /**
   * Loops found, over all rules.
   */
  detections: number;
  /**
   * Loops found per agent; at most 64 agents are counted by name.
   */
  detectionsByAgent: {
    [k: string]: number;
  };
  /**
   * Events recorded.
   */
  events: number;
  /**
   * Refused transitions that were put before a human.
   */
  hitlTriggered: number;
  /**
   * Loops of tasks: failures and requests.
   */
  loops: LoopMetrics;
  /**
   * How often a pattern of `patterns.volatile` or `patterns.signatures` would have taken too many steps on one text, so that it did not see the rest of it.
   */
  patternsCutShort: number;
  /**
   * Transitions that were refused because a phase had all of its visits: recorded ones, and those of which the host told with a `hook-block` and the rule's name that it obeyed a `check`.
   */
  phaseVisitsBlocked: number;
  /**
   * Resets asked for.
   */
  resets: number;
  /**
   * Milliseconds of event time from detection to resolution, summed over `resolved`.
   */
  resolutionMs: number;
  /**
   * Loops that were over when a reset or `continue` came, and the event time between both.
   */
  resolved: number;
  /**
   * Counters per rule, for every rule that ever fired.
   */
  rules: {
    [k: string]: RuleMetrics;
  };
  /**
   * Runs held now.
   */
  runs: number;
  /**
   * Runs forgotten because they were idle.
   */
  runsCollected: number;
  /**
   * Runs forgotten because `memory.maxRuns` or `memory.maxBytes` was reached (`scope-evicted`).
   */
  runsEvicted: number;
  /**
   * Phases, transitions, nodes, cycles, failures and requests that were forgotten one by one, because a run had more of them than it keeps.
   */
  taskPartsEvicted: number;
  /**
   * Tasks that a run forgot with all that it had counted about them, because more than 32 were worked on or what is kept about them took too much: the one worked on the longest ago goes first.
   */
  tasksEvicted: number;
  /**
   * The same because they had been made too often.
   */
  transitionsBlocked: number;
  /**
   * Verdicts by level.
   */
  verdicts: LevelCounts;
}
/**
 * Counters of loops of tasks.
 */
export interface LoopMetrics {
  /**
   * Per agent; at most 64 agents are counted by name.
   */
  agents: {
    [k: string]: AgentLoops;
  };
  /**
   * Thousandths of `loopsBeforeGate / gates`.
   */
  averageLoopsBeforeGate: number;
  /**
   * Thousandths of `detected / tasks`.
   */
  averageLoopsPerTask: number;
  /**
   * Failures and requests that were loops, each once.
   */
  detected: number;
  /**
   * Times a human was asked about a task; a gate that stands open is not counted again.
   */
  gates: number;
  /**
   * Loops counted when a human was asked, summed over `gates`.
   */
  loopsBeforeGate: number;
  /**
   * Counters set back.
   */
  resets: number;
  /**
   * Milliseconds of event time from gate to resolution, summed over `resolved`.
   */
  resolutionMs: number;
  /**
   * Gates that a human answered, with `human-intervention` or `continue`; a task that is completed behind its gate is none.
   */
  resolved: number;
  /**
   * `tasksWithLoops` per mille of `tasks`.
   */
  taskRate: number;
  /**
   * Tasks that failures, progress or requests were about, their parts not counted.
   */
  tasks: number;
  /**
   * Those in which a loop was counted.
   */
  tasksWithLoops: number;
}
/**
 * Failures and requests of one agent, and how many of them were loops.
 */
export interface AgentLoops {
  /**
   * `failure` and `collaboration` events.
   */
  events: number;
  /**
   * Those that were loops, by themselves or as a judge saw them.
   */
  loops: number;
  /**
   * `loops` per mille of `events`.
   */
  rate: number;
}
/**
 * Counters of one rule.
 */
export interface RuleMetrics {
  /**
   * Loops that a human called a false alarm.
   */
  acknowledged: number;
  /**
   * Loops found: the first finding of each.
   */
  detections: number;
  /**
   * Findings by the level they asked for.
   */
  levels: LevelCounts;
}
/**
 * How often each level was given.
 */
export interface LevelCounts {
  /**
   * `block`.
   */
  block: number;
  /**
   * `gate`.
   */
  gate: number;
  /**
   * `halt`.
   */
  halt: number;
  /**
   * `nudge`.
   */
  nudge: number;
  /**
   * `observe`.
   */
  observe: number;
}
/**
 * The machine-readable escalation report.
 */
export interface Report {
  /**
   * Of a loop of attempts, the latest ones, oldest first.
   */
  attempts?: AttemptEvidence[];
  /**
   * The latest finding of every loop seen in the scope, newest first, at most 8.
   */
  findings: Finding[];
  /**
   * The latest occurrences of the strongest of them in words, oldest first, where its rule keeps them: its iterations, failures or attempts.
   */
  history?: string[];
  /**
   * The strongest level reached in the scope since its last reset.
   */
  level: Level;
  /**
   * Of a loop of attempts, what an orchestrator logs about it: that it was found, and what was done.
   */
  log?: string[];
  /**
   * What a person can answer.
   */
  options: ReportOption[];
  /**
   * The scope asked about.
   */
  scope: Scope;
}
/**
 * One attempt at a task, as evidence.
 */
export interface AttemptEvidence {
  /**
   * Event time in milliseconds since the Unix epoch, where the event carried one.
   */
  at?: number;
  /**
   * What the attempt was blocked by, at most 16 and together about 240 characters.
   */
  blockers: string[];
  /**
   * How many more blockers there were.
   */
  moreBlockers?: number;
  /**
   * The event's sequence number.
   */
  seq: number;
  /**
   * The session, where the event named one; at most 64 characters.
   */
  session?: string;
  /**
   * The status that the host gave.
   */
  status: AttemptStatus;
  /**
   * The host's step number, where the event carried one.
   */
  step?: number;
}
/**
 * A rule that fired.
 */
export interface Finding {
  /**
   * How sure the rule is, per mille.
   */
  confidence: number;
  /**
   * How much evidence there is, in the rule's own unit.
   */
  count: number;
  /**
   * The latest events of the loop, oldest first.
   */
  evidence: Evidence[];
  /**
   * One concrete alternative to the loop, in a sentence.
   */
  instead?: string;
  /**
   * The rule's case, such as `unchanged-outcome`.
   */
  kind: string;
  /**
   * Last event of the loop so far.
   */
  lastSeq: number;
  /**
   * The level this finding alone asks for.
   */
  level: Level;
  /**
   * One sentence for a log or a person.
   */
  message: string;
  /**
   * Where text repeats itself: characters (Unicode scalar values) of the message or stream that began at `onsetSeq`, up to the point from which on it says nothing new. A host may cut there.
   */
  onsetOffset?: number;
  /**
   * First event of the loop: where a host may rewind to.
   */
  onsetSeq: number;
  /**
   * Steps of one lap, for cycles.
   */
  period?: number;
  /**
   * Why it counts, where that was decided: the reason in a word, and what a judge gave as his, at most 300 characters.
   */
  reasoning?: string;
  /**
   * What this finding alone recommends.
   */
  recommendation?: Recommendation;
  /**
   * The rule's id.
   */
  rule: RuleId;
  /**
   * Where; the findings of one verdict share it.
   */
  scope: Scope;
  /**
   * What repeats, printable, without raw arguments.
   */
  signature: string;
  /**
   * The threshold of the strongest rung that `count` reached.
   */
  threshold: number;
  /**
   * What the loop has cost.
   */
  wasted: Wasted;
}
/**
 * One event that a finding rests on.
 */
export interface Evidence {
  /**
   * The beginning of the call's arguments, at most 120 characters, only where `privacy.payloads` is `excerpt`.
   */
  args?: string;
  /**
   * When it happened, in milliseconds since the Unix epoch; of events from before the loop was first reported, nothing but their number and digest is known.
   */
  at?: number;
  /**
   * The first 16 hexadecimal digits of a domain-tagged SHA-256 of what was compared.
   */
  digest: string;
  /**
   * The beginning of what came back or was said, at most 120 characters, only where `privacy.payloads` is `excerpt`.
   */
  excerpt?: string;
  /**
   * What became of the call, where it is known.
   */
  outcome?: Outcome;
  /**
   * The event's sequence number.
   */
  seq: number;
  /**
   * The host's step number, where the event carried one.
   */
  step?: number;
  /**
   * The tool that was called, printable.
   */
  tool?: string;
}
/**
 * What was spent since the onset of a loop, as far as the events told.
 */
export interface Wasted {
  /**
   * Millionths of the host's currency unit.
   */
  costMicros?: number;
  /**
   * Events of the scope.
   */
  events: number;
  /**
   * Milliseconds of event time.
   */
  milliseconds?: number;
  /**
   * Tokens.
   */
  tokens?: number;
}
/**
 * One answer a person can give to a report.
 */
export interface ReportOption {
  /**
   * What it leads to.
   */
  effect: string;
  /**
   * The answer.
   */
  title: string;
}
/**
 * Where a scope stands.
 */
export interface Status {
  /**
   * Attempts per task; the task without a name has the empty one.
   */
  attempts?: {
    [k: string]: AttemptStanding;
  };
  /**
   * What is left of the budgets.
   */
  budgetsLeft: BudgetsLeft;
  /**
   * Every cycle of the workflow; of one that is learned, those that the scope's task went through.
   */
  cycles?: CycleStatus[];
  /**
   * Events recorded in the scope.
   */
  events: number;
  /**
   * Whether any event was of the scope.
   */
  known: boolean;
  /**
   * The level of the scope's latest verdict.
   */
  level: Level;
  /**
   * Loops counted for the scope's task, a subtask's with its parent's; the most of any task where the scope names none.
   */
  loopCount: number;
  /**
   * What was said of that task's latest failure or request, such as `Exact error message match`.
   */
  loopReason?: string;
  /**
   * Every node of the workflow by its name, and every other one that has had a turn: as the scope's task stands, or the whole run where the scope names none. What is left of a budget is what the whole run leaves.
   */
  nodes?: {
    [k: string]: NodeStanding;
  };
  /**
   * Phases per task; the task without a name has the empty one.
   */
  phases?: {
    [k: string]: PhaseStanding;
  };
  /**
   * Every enabled rule that holds evidence about the scope. Of a scope that names a task or an agent these are the rules that keep their evidence by task, and the ones about outputs; the others are the run's.
   */
  rules: RuleStanding[];
  /**
   * The scope asked about.
   */
  scope: Scope;
  /**
   * Calls that got an outcome.
   */
  steps: number;
  /**
   * The scope's latest numbers of failing tests, oldest first, as `7 → 4 → 2`.
   */
  trend?: string;
}
/**
 * Where the attempts at one task stand.
 */
export interface AttemptStanding {
  /**
   * Attempts within `attempts.attemptWindowMs` of the run's newest event time.
   */
  attemptCount: number;
  /**
   * Event time of the latest attempt that carried one, in milliseconds since the Unix epoch.
   */
  lastAttempt?: number;
}
/**
 * What is left of the configured budgets.
 */
export interface BudgetsLeft {
  /**
   * Iterations.
   */
  iterations?: number;
  /**
   * Milliseconds of event time.
   */
  runtimeMs?: number;
}
/**
 * Where a cycle of the workflow stands.
 */
export interface CycleStatus {
  /**
   * Iterations so far, for people: `Loop 3/8`, or `Loop 3` where they are not limited.
   */
  badge: string;
  /**
   * Stable id: 16 hexadecimal digits, a hash of the sorted ids of the cycle's nodes and edges.
   */
  cycleId: string;
  /**
   * Digests of the last diffs, oldest first; like the other three only of the cycle that was last active.
   */
  diffHashes: string[];
  /**
   * Digests of the last documents, oldest first.
   */
  docsHashes?: string[];
  /**
   * The node whose turn begins an iteration.
   */
  driver: string;
  /**
   * Digests of the last sets of failing tests, oldest first.
   */
  failingTestSignatures: string[];
  /**
   * Iterations so far.
   */
  iterations: number;
  /**
   * Iterations that are left, where they are limited.
   */
  iterationsLeft?: number;
  /**
   * Why the cycle was last halted.
   */
  lastHaltReason?: HaltReason;
  /**
   * Its nodes, in the order of the graph.
   */
  nodes: string[];
  /**
   * Digests of the last node outputs, oldest first.
   */
  outputHashes: string[];
  /**
   * The latest numbers of failing tests while the cycle was active, oldest first, as `7 → 4 → 2`.
   */
  trend?: string;
}
/**
 * Where a node of the workflow stands.
 */
export interface NodeStanding {
  /**
   * Milliseconds that its turns may still take together, where they are limited.
   */
  runtimeMsLeft?: number;
  /**
   * Turns it has ended.
   */
  turns: number;
  /**
   * Turns that are left, where they are limited.
   */
  turnsLeft?: number;
}
/**
 * Where one task stands in its workflow.
 */
export interface PhaseStanding {
  /**
   * Visits of each phase since the task's last reset.
   */
  visits: {
    [k: string]: number;
  };
  /**
   * The latest phases, oldest first, as `implement → test → fix`; at most 11.
   */
  walk?: string;
}
/**
 * Where one rule stands.
 */
export interface RuleStanding {
  /**
   * The evidence the rule holds now of what is furthest up its ladder, in its own unit.
   */
  count: number;
  /**
   * What happens there.
   */
  nextLevel?: Level;
  /**
   * The next threshold above it, for one more of the same. A loop that comes back after it was told of may be refused before that, and calls that are made again after they were refused count as if they had run.
   */
  nextThreshold?: number;
  /**
   * Why no next threshold is given, where there is one; absent as well where the strongest level has been reached, or the rule has no thresholds.
   */
  noNext?: NoNext;
  /**
   * The rule's id.
   */
  rule: RuleId;
}
/**
 * The answer to one event.
 */
export interface VerdictFields {
  /**
   * Every rule that fired, strongest first.
   */
  findings: Finding[];
  /**
   * Text to put before the agent.
   */
  guidance?: string;
  /**
   * Why the run should end, when `level` is `halt`.
   */
  haltReason?: HaltReason;
  /**
   * The label that a gate asks the host to set, such as `hitl:loop-prevention`.
   */
  label?: string;
  /**
   * What the host should do.
   */
  level: Level;
  /**
   * Whether an outside judge should answer with an `evaluation` event.
   */
  needsEvaluation: boolean;
  /**
   * What the judge should be asked: compact, without payloads.
   */
  question?: string;
  /**
   * What to do next.
   */
  recommendation: Recommendation;
  /**
   * Telemetry records, for the host to log.
   */
  records?: LoopRecord[];
  /**
   * What an orchestrator should put into its context.
   */
  recovery?: Recovery;
  /**
   * The event's number in this detector, counted from 0 and only for recorded events.
   */
  seq: number;
  /**
   * Further ideas for the host or a human.
   */
  suggestedActions: string[];
  /**
   * What it would have been told in enforce mode; only in shadow mode.
   */
  wouldBe?: Level;
}
/**
 * What an orchestrator should put into its context after a loop of attempts at one task.
 */
export interface Recovery {
  /**
   * The blockers it is about, and no others.
   */
  blockers: string[];
  /**
   * The task it is about, and nothing else.
   */
  task?: string;
  /**
   * The entry.
   */
  text: string;
  /**
   * What kind of entry it is.
   */
  topic: RecoveryTopic;
}
/**
 * The id of a rule.
 */
export type RuleId =
  | "blank-turns"
  | "blind-repeat"
  | "call-flood"
  | "compaction-loop"
  | "consecutive-errors"
  | "continuation-loop"
  | "counter"
  | "cycle"
  | "cycle-budget"
  | "denied-call"
  | "duplicate-delegation"
  | "empty-handed"
  | "external-failure"
  | "failing-target"
  | "failure-streak"
  | "harness-rejection"
  | "hook-loop"
  | "identical-output"
  | "max-iterations"
  | "max-runtime"
  | "monologue"
  | "negative-answers"
  | "no-effect"
  | "no-new-information"
  | "no-tests"
  | "node-budget"
  | "oscillation"
  | "output-signature"
  | "output-similarity"
  | "phase-cycle"
  | "phase-transitions"
  | "phase-visits"
  | "rejected-arguments"
  | "remade-change"
  | "repeated-call"
  | "repeated-error"
  | "repeated-failure"
  | "resubmission"
  | "reworded-request"
  | "same-answer"
  | "stagnation"
  | "stale-talk"
  | "stream-novelty"
  | "stream-period"
  | "task-attempts"
  | "task-cycle"
  | "task-loop"
  | "turn-budget"
  | "unanswered-call"
  | "unchanged-diff"
  | "unchanged-failures";
/**
 * The answer to one event. From `nudge` on it says what to tell the agent, and a halt says why.
 */
export type Verdict = VerdictFields &
  (
    | { level: "continue" | "observe" }
    | { level: "nudge" | "block" | "gate"; guidance: string }
    | { level: "halt"; guidance: string; haltReason: HaltReason }
  );
