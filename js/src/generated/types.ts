// Generated from schema/*.schema.json by `npm run types`: change the model, not this file.

/**
 * How patiently repeated attempts are handled.
 */
export type AttemptsPreset = "balanced" | "conservative" | "aggressive";
/**
 * The sequence that a counter counts in.
 */
export type Apart = "agent" | "tool" | "call" | "target";
/**
 * What a counter counts.
 */
export type Counted =
  "calls" | "results" | "successes" | "failures" | "errors" | "unknown-tools" | "rounds" | "messages";
/**
 * A property that has to be equal.
 */
export type Same = "tool" | "args" | "target" | "output" | "masked-output" | "exit-code" | "text";
/**
 * An event that ends a count.
 */
export type Ends = "user-message" | "message" | "call" | "result" | "change";
/**
 * One or several detectors whose settings are applied in order.
 */
export type Extends = Profile | Profile[];
/**
 * A detector whose way of counting can be adopted; `docs/migrating.md` describes each.
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
 * What to do about a stalled or oscillating loop.
 */
export type OnStall = "pause" | "switch-to-interactive" | "spawn-reviewer" | "retry-with-new-provider";
/**
 * A named set of thresholds.
 */
export type Preset = "balanced" | "sensitive" | "conservative";
/**
 * Whether verdicts may contain payloads.
 */
export type Payloads = "none" | "excerpt";
/**
 * How strongly the host should react. Ordered from weakest to strongest.
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
       * Event time in milliseconds until which the exemption holds; if absent, it holds for the rest of the run.
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
 * The outcome of a tool call.
 */
export type Outcome = "ok" | "error" | "denied" | "invalid" | "unknown-tool" | "not-executed" | "timeout";
/**
 * The part of a model response that a text belongs to.
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
 * A completion marker in whichever form the host has it: a flag, a count or names.
 */
export type Marker = boolean | number | string[];
/**
 * An outside judge's assessment.
 */
export type EvaluationVerdict = "progressing" | "stalled" | "regressing" | "external";
/**
 * The state of a task after an attempt.
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
 * One line of a trace: an event that has happened or is about to.
 */
export type TraceEvent = Event & {pending?: boolean};
/**
 * The stable, machine-readable code of an `Error`.
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
 * A telemetry record for the host to log.
 */
export type LoopRecord =
  | {
      /**
       * The agent.
       */
      agentId?: string;
      /**
       * A printable name of what repeats.
       */
      errorSignature: string;
      event: "loop_detected";
      /**
       * Whether the messages were identical, byte for byte.
       */
      isExactMatch: boolean;
      /**
       * Loops counted so far.
       */
      loopCount: number;
      /**
       * Why it counts; `orchestrator_reasoning` in the original format.
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
       * Loops counted so far.
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
       * Stable id of the cycle: 16 hexadecimal digits.
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
       * Suggestions for the host or a human.
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
       * The count before the reset.
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
 * What the host should do next.
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
export type NoNext = "advisory" | "by-tool";
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
 * The complete configuration. An empty object is the recommended one.
 */
export interface Config {
  /**
   * Where an editor finds this schema; nothing else reads it.
   */
  $schema?: string;
  /**
   * Detection of repeated attempts at one task.
   */
  attempts?: Attempts;
  /**
   * Whether a human can answer a gate.
   */
  attended?: boolean;
  /**
   * Limits per run, turn, node and cycle.
   */
  budgets?: Budgets;
  /**
   * When two requests between agents count as the same.
   */
  collaboration?: Requests;
  /**
   * Counting conventions of other detectors.
   */
  conventions?: Conventions;
  /**
   * `false` turns detection off: events are accepted and every verdict is `continue`.
   */
  enabled?: boolean;
  /**
   * Detectors whose settings this configuration starts from, by name; of several, later ones take precedence. Fields set here override them.
   */
  extends?: Extends | null;
  /**
   * How failures of a task are counted.
   */
  failures?: Failures;
  /**
   * The workflow graph of runs that declare none themselves. Without either, it is learned from `delivery` events.
   */
  graph?: Graph | null;
  /**
   * Limits on the detector's own memory.
   */
  memory?: Memory;
  /**
   * Whether verdicts ask for action (`enforce`) or only report (`shadow`).
   */
  mode?: Mode;
  /**
   * What to do about a stalled or oscillating loop.
   */
  onStall?: OnStall;
  /**
   * Your own regular expressions.
   */
  patterns?: Patterns;
  /**
   * Limits on phases of a workflow and on transitions between them.
   */
  phases?: Phases;
  /**
   * The set of thresholds that the other fields override.
   */
  preset?: Preset;
  /**
   * Token prices, for events that report tokens but no cost.
   */
  prices?: Prices;
  /**
   * What verdicts may reveal.
   */
  privacy?: Privacy;
  /**
   * Settings per rule, keyed by rule id.
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
     * The same steps with the same outcomes, lap after lap, apart from figures; steps that had all been made shortly before.
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
     * Questions whose answers contain no new words, or parts of a few things read over and over.
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
     * Requests for one thing in different words although nothing new comes of them, or one message sent again and again.
     */
    "reworded-request"?: RuleConfig;
    /**
     * Different questions to one tool that all get the same answer.
     */
    "same-answer"?: RuleConfig;
    /**
     * The same kind of call with the same result, whatever is done in between; calls, views and plans that come back.
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
   * Settings per tool, keyed by a name pattern in which `*` matches any characters and `?` exactly one. All matching entries apply; those with more literal characters come later and override the others.
   */
  tools?: {
    [k: string]: ToolConfig;
  };
  /**
   * The level used instead of `gate` when `attended` is false: `nudge`, `block` or `halt`.
   */
  unattendedLevel?: Level;
}
/**
 * When repeated attempts at one task count as a loop, and what to do about it. Absent fields keep the preset's value.
 */
export interface Attempts {
  /**
   * How long an attempt counts, in milliseconds of event time; at least 1, one hour in every preset. Attempts without an event time never expire.
   */
  attemptWindowMs?: number | null;
  /**
   * Whether an agent whose task keeps failing on the same blockers is authorised, once, to remove them before a human is asked.
   */
  enableAutoUnblock?: boolean | null;
  /**
   * Consecutive similar attempts that make a loop, 2 to 12.
   */
  maxAttempts?: number | null;
  /**
   * Attempts within the window after which a task without progress is set aside for the next one; at least `maxAttempts`.
   */
  maxAttemptsBeforeForceNext?: number | null;
  /**
   * The preset that the other fields override.
   */
  preset?: AttemptsPreset;
}
/**
 * Limits of a run, a turn, a node or a cycle; 0 means no limit. The event that reaches a limit has exhausted it.
 */
export interface Budgets {
  /**
   * Consecutive failing results or `failure` events.
   */
  consecutiveErrors?: number;
  /**
   * Total cost of one cycle's turns, in millionths of the host's currency unit.
   */
  maxCycleCost?: number;
  /**
   * Iterations of one cycle, 0 or at least 2; 8 by default.
   */
  maxCycleIterations?: number | null;
  /**
   * Total duration of one cycle's turns in milliseconds, or event time since the first of them, whichever is greater.
   */
  maxCycleRuntimeMs?: number;
  /**
   * Iterations of the agent loop: the number of `output` events, `turn` events, `turn-start` events or distinct rounds, whichever is highest.
   */
  maxIterations?: number;
  /**
   * Milliseconds of event time since the run's first event.
   */
  maxRuntimeMs?: number;
  /**
   * Total duration of one node's turns in milliseconds.
   */
  maxRuntimeMsPerNode?: number;
  /**
   * Tokens of one turn of a node.
   */
  maxTokens?: number;
  /**
   * Turns of one node, 0 or at least 2; 6 by default.
   */
  maxTurnsPerNode?: number | null;
  /**
   * Turns of one node for one task, 0 or at least 2; applies in addition to `maxTurnsPerNode`, which may be 0.
   */
  maxTurnsPerNodeAndTask?: number;
  /**
   * Duration of one turn in milliseconds; 600,000 by default.
   */
  turnTimeoutMs?: number | null;
}
/**
 * When two requests between agents count as the same.
 */
export interface Requests {
  /**
   * Whether repeated requests between agents count as loops of their task.
   */
  enabled?: boolean;
  /**
   * Cosine similarity, per mille, that two requests must exceed, 500 to 999.
   */
  similarity?: number;
}
/**
 * Counting conventions of other detectors, for hosts that depend on their alarms. All are off by default, because each either misses loops or flags honest work.
 */
export interface Conventions {
  /**
   * Your own counters by name, 1 to 64 bytes each; at most 16.
   */
  counters?: {
    [k: string]: Counter;
  };
  /**
   * A message with the role `user` does not end evidence. For runs in which programs insert such messages. Without it, one of 120 bytes or more that is the previous one again, to the letter, ends only the evidence about texts.
   */
  keepOnUserMessage?: boolean;
  /**
   * Only what is named runs: rules listed under `rules` (unless disabled there), counters, and budgets that are set.
   */
  onlyNamed?: boolean;
  /**
   * Copies of a passage required for every level of `stream-period`, 0 or 2 to 64; 0 for the built-in number, which depends on the level and the length of the passage.
   */
  streamCopies?: number;
  /**
   * Longest passage in characters that `stream-period` reports, at most 3,072; 0 for its own limit.
   */
  streamPassage?: number;
  /**
   * `stream-period` reports only a repetition that is still going on at the end of a text or chunk, not one that has ended.
   */
  streamTail?: boolean;
}
/**
 * A counter of your own, evaluated by the rule `counter`: it reports what occurs again that often. It counts exactly and knows nothing of progress, waiting or the meaning of an answer. At most the latest 64 calls and messages are considered.
 */
export interface Counter {
  /**
   * A call that is about to be made counts as one more occurrence of its earlier results, so that it is judged before it runs.
   */
  ahead?: boolean;
  /**
   * Restarts after the highest threshold is reached.
   */
  anew?: boolean;
  /**
   * The sequence to count in. Events outside it neither count nor end a count.
   */
  apart?: Apart;
  /**
   * Count at which it blocks; 0 for never.
   */
  block?: number;
  /**
   * Occurrences in the same round count once, and their order within the round does not matter.
   */
  byRound?: boolean;
  /**
   * Considers only this many of the latest events, where each call, result and message is one event; 0 for no limit.
   */
  events?: number;
  /**
   * Tools to exclude, as patterns of the same kind.
   */
  except?: string[];
  /**
   * Count at which it asks a human; 0 for never.
   */
  gate?: number;
  /**
   * Count at which it ends the run; 0 for never.
   */
  halt?: number;
  /**
   * Maximum steps of a lap, 2 to 10: counts repeated laps of two to that many steps that are not all the same; 0 to count single occurrences.
   */
  lap?: number;
  /**
   * Count at which it nudges; 0 for never.
   */
  nudge?: number;
  /**
   * What is counted.
   */
  of?: Counted;
  /**
   * What has to be equal for two occurrences to be the same. By default `tool` and `args`; for `unknown-tools` only `tool`, for `messages` `text`.
   */
  same?: Same[] | null;
  /**
   * The tools to count, as name patterns in which `*` matches any characters and `?` exactly one; all tools if empty.
   */
  tools?: string[];
  /**
   * What else ends a count.
   */
  until?: Ends[];
  /**
   * Counts occurrences anywhere among this many of the latest, at most 64; 0 to count consecutive ones.
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
   * Loops of a task at which a human is asked, at least 2; the same as `gate` of the rule `task-loop`.
   */
  gateThreshold?: number | null;
  /**
   * How many recent failures of a task a new one is compared with, 1 to 32.
   */
  history?: number;
}
/**
 * A workflow graph: which nodes hand work to which.
 */
export interface Graph {
  /**
   * Ids of the nodes that drive their cycle; equivalent to `driver` on the node itself.
   */
  drivers?: string[];
  /**
   * The edges, at most 1,024.
   */
  edges?: GraphEdge[];
  /**
   * The nodes, 1 to 256. In a cycle without a named driver, the first of them is the driver.
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
   * The id, unique within the graph. An edge without one is identified by its ends.
   */
  id?: string | null;
  /**
   * The receiving node.
   */
  to: string;
}
/**
 * A node with its properties.
 */
export interface DrivingNode {
  /**
   * Whether the node drives its cycle: a delivery into it completes an iteration.
   */
  driver?: boolean;
  /**
   * The id, 1 to 256 bytes, unique within the graph.
   */
  id: string;
}
/**
 * Limits on the detector's own memory.
 */
export interface Memory {
  /**
   * Milliseconds of event time after which an idle run is forgotten: when its own next event arrives or, while new runs are being created, once the event times of two other runs show that it has expired.
   */
  idleMs?: number;
  /**
   * Bytes that all runs together may use, 1048576 (1 MiB) to 1099511627776 (1 TiB). The default is 256 MiB, or 16 KiB for each of `maxRuns` if that is more. Computed from the stored data, identically on every platform; actual heap use is about the same and never more than 50 % higher. Runs are forgotten in the same order as for `maxRuns`.
   */
  maxBytes?: number | null;
  /**
   * Runs kept at once, 1 to 1000000. Beyond that, the least recently used run is forgotten, runs without a loop before runs with one. The cost of an event does not depend on the number of runs.
   */
  maxRuns?: number;
}
/**
 * Your own regular expressions, in the syntax of the `regex` crate, at most 1,024 characters each.
 */
export interface Patterns {
  /**
   * Output signatures in addition to the built-in ones, tried before them; at most 32.
   */
  signatures?: SignaturePattern[];
  /**
   * Parts of an output to mask when outputs are compared; at most 32 patterns.
   */
  volatile?: string[];
}
/**
 * A user-defined output signature.
 */
export interface SignaturePattern {
  /**
   * The pattern that the output must contain.
   */
  pattern: string;
  /**
   * The resulting signature. `$1` and `${name}` insert the text matched by a group.
   */
  signature: string;
}
/**
 * Limits on how often phases of a workflow may be entered and left, per task of a run.
 */
export interface Phases {
  /**
   * Whether going back and forth between phases is detected before a limit is reached.
   */
  cycleDetectionEnabled?: boolean;
  /**
   * The longest cycle to detect, in distinct phases, 2 to 5.
   */
  cycleDetectionLength?: number;
  /**
   * Whether transitions are judged.
   */
  enabled?: boolean;
  /**
   * The label of such a gate, 1 to 100 characters without control characters.
   */
  hitlLabel?: string;
  /**
   * Times a phase may be left for the same other phase; 0 for no limit. A retry (from a phase to itself) is a visit but not a transition.
   */
  maxTransitionsDefault?: number;
  /**
   * Visits allowed per phase; 0 for no limit.
   */
  maxVisitsDefault?: number;
  /**
   * Settings per phase, keyed by its name.
   */
  phases?: {
    [k: string]: PhaseConfig;
  };
  /**
   * Whether refused transitions go to a human: `gate` instead of `block`.
   */
  triggerHitl?: boolean;
}
/**
 * Settings of one phase.
 */
export interface PhaseConfig {
  /**
   * Visits allowed for this phase; 0 for no limit, `maxVisitsDefault` if absent.
   */
  maxVisits?: number | null;
}
/**
 * Token prices. A cost given by the event itself (`costMicros`) takes precedence.
 */
export interface Prices {
  /**
   * Average price of a million tokens, over input, cached and output tokens, as on your bill: a decimal such as `"2.50"`, in your own currency. Precise to a millionth of the currency unit; the cost of each event is rounded down to one.
   */
  millionTokens?: string | null;
}
/**
 * What verdicts may reveal.
 */
export interface Privacy {
  /**
   * Whether verdicts may contain payloads.
   */
  payloads?: Payloads;
  /**
   * A secret of 8 to 256 bytes that keys all signatures and evidence digests, so that without it nobody can guess arguments, outputs or other texts from them, or construct two that collide. It changes the signatures but otherwise not the verdicts. Snapshots contain it.
   */
  salt?: string | null;
}
/**
 * Settings of one rule. Absent fields keep the preset's value.
 */
export interface RuleConfig {
  /**
   * Evidence at which the rule blocks; 0 for never.
   */
  block?: number | null;
  /**
   * Whether the rule runs.
   */
  enabled?: boolean | null;
  /**
   * Evidence at which the rule asks a human; 0 for never.
   */
  gate?: number | null;
  /**
   * Evidence at which the rule ends the run; 0 for never.
   */
  halt?: number | null;
  /**
   * Evidence at which the rule nudges; 0 for never.
   */
  nudge?: number | null;
  /**
   * How far back the rule looks, in its own unit.
   */
  window?: number | null;
}
/**
 * Settings of the tools whose names match a pattern.
 */
export interface ToolConfig {
  /**
   * Whether any equal answers to different calls of the tool are evidence for `same-answer`, however short. By default, only long answers and those of searches and views are.
   */
  compareAnswers?: boolean | null;
  /**
   * Whether calls of the tool are judged.
   */
  enabled?: boolean | null;
  /**
   * The only top-level argument fields to compare. Mutually exclusive with `ignoreArgs`.
   */
  identityArgs?: string[];
  /**
   * Top-level argument fields to ignore when calls are compared. Mutually exclusive with `identityArgs`.
   */
  ignoreArgs?: string[];
  /**
   * Whether a successful call changes something. Inferred from the tool's name and arguments if absent.
   */
  mutates?: boolean | null;
  /**
   * Whether the tool is meant to be polled. If so, `repeated-call`, `blind-repeat`, `unanswered-call` and `cycle` triple their thresholds for its calls, and rules about the results of calls (`same-answer`, `no-effect`, `empty-handed`, `resubmission`, `reworded-request`) ignore them.
   */
  polling?: boolean | null;
  /**
   * Rule settings for this tool, keyed by rule id.
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
     * The same steps with the same outcomes, lap after lap, apart from figures; steps that had all been made shortly before.
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
     * Questions whose answers contain no new words, or parts of a few things read over and over.
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
     * Requests for one thing in different words although nothing new comes of them, or one message sent again and again.
     */
    "reworded-request"?: RuleConfig;
    /**
     * Different questions to one tool that all get the same answer.
     */
    "same-answer"?: RuleConfig;
    /**
     * The same kind of call with the same result, whatever is done in between; calls, views and plans that come back.
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
   * The arguments: any JSON value, nested at most 120 levels deep. The text of a JSON object, as model APIs send it, is read as that object.
   */
  args?: unknown;
  /**
   * Links the call to its result. The same call with the same id again is a replay and counts once: unanswered, with the same `round`, `step` or past `at`, or as part of a conversation that is told again from the beginning.
   */
  callId?: string | null;
  /**
   * MCP hint: whether repeating a call with the same arguments changes nothing more. No rule uses it yet.
   */
  idempotent?: boolean | null;
  /**
   * The host's own loop key, compared instead of the arguments.
   */
  identity?: string | null;
  /**
   * The arguments as text, if they are not valid JSON.
   */
  rawArgs?: string | null;
  /**
   * MCP hint: `true` if the tool changes nothing; `tools.NAME.mutates` takes precedence. `false` is ignored.
   */
  readOnly?: boolean | null;
  /**
   * The resource acted on; inferred from the arguments if absent.
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
   * Event time in milliseconds since the Unix epoch, before the year 10000 and at most as long before the epoch.
   */
  at?: number | null;
  /**
   * Cost of the same response or turn, in millionths of the host's currency unit.
   */
  costMicros?: number | null;
  /**
   * The host's own names and values. The detector ignores them.
   */
  labels?: {
    [k: string]: string;
  };
  /**
   * The task of which this task is a part.
   */
  parentTask?: string | null;
  /**
   * The assistant turn. Calls of a parallel batch share it.
   */
  round?: string | null;
  /**
   * The run; the default run if absent.
   */
  run?: string | null;
  /**
   * The host's own step number, less than 18446744073709551615, repeated in evidence.
   */
  step?: number | null;
  /**
   * Produced by the host or by Loopwarden's own guidance: never evidence and never counted against the agent.
   */
  synthetic?: boolean;
  /**
   * The task being worked on.
   */
  task?: string | null;
  /**
   * Tokens of the model response that this event starts, or of the turn that it ends. Report them once: if a response produces several events, on the first.
   */
  tokens?: number | null;
}
/**
 * The result of a tool call.
 */
export interface ToolResultEvent extends Context {
  /**
   * Links the result to its call. If absent, it answers the oldest unanswered call of the tool.
   */
  callId?: string | null;
  /**
   * Host metadata; compared only if `output` is empty.
   */
  details?: unknown;
  /**
   * Digest of the full output, if `output` is truncated.
   */
  digest?: string | null;
  /**
   * The host's own class of this error, compared instead of the text.
   */
  errorClass?: string | null;
  /**
   * Exit code of a command.
   */
  exitCode?: number | null;
  /**
   * The outcome of the call.
   */
  outcome: Outcome;
  /**
   * The output. In JSON it may be any value; a value other than a string is compared as JSON text.
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
   * `text` if absent.
   */
  channel?: Channel | null;
  /**
   * Digest of the full text, if `text` is truncated.
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
 * A streamed chunk of an assistant message.
 */
export interface DeltaEvent extends Context {
  /**
   * `text` if absent.
   */
  channel?: Channel | null;
  /**
   * The chunk.
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
   * Its class; recognised from the message if absent.
   */
  errorType?: ErrorType | null;
  /**
   * File, line or component; extracted from the text if absent.
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
   * The patch, or a digest of it.
   */
  diff?: string | null;
  /**
   * The documentation, or a digest of it.
   */
  docs?: string | null;
  /**
   * Files created.
   */
  filesCreated?: Marker | null;
  /**
   * What the task is meant to achieve.
   */
  goal?: string | null;
  /**
   * Test results.
   */
  tests?: Tests | null;
  type: "progress";
}
/**
 * Progress through a list of items.
 */
export interface Checklist {
  /**
   * Items done; at most `total`.
   */
  done: number;
  /**
   * Items in total.
   */
  total: number;
}
/**
 * Test results.
 */
export interface Tests {
  /**
   * Coverage in percent, 0 to 100.
   */
  coverage?: number | null;
  /**
   * Number of failing tests.
   */
  failing?: number | null;
  /**
   * Names of the failing tests, in any order.
   */
  failingIds?: string[] | null;
  /**
   * Total number of tests.
   */
  total?: number | null;
}
/**
 * An outside judge's answer to a verdict with `needsEvaluation`.
 */
export interface EvaluationEvent extends Context {
  /**
   * The judge's confidence per mille, 0 to 1000.
   */
  confidence?: number | null;
  /**
   * Why.
   */
  reasoning?: string | null;
  type: "evaluation";
  /**
   * The assessment.
   */
  verdict: EvaluationVerdict;
}
/**
 * One agent asked another for something.
 */
export interface CollaborationEvent extends Context {
  /**
   * The request's embedding: 1 to 4,096 finite numbers, not all zero; the same length for every request of a pair of agents.
   */
  embedding?: number[] | null;
  /**
   * Who asked.
   */
  from: string;
  /**
   * What was asked for.
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
   * What blocked it. Order and duplicates do not matter.
   */
  blockers?: string[];
  /**
   * What was done. Order and duplicates do not matter.
   */
  completedWork?: string[];
  /**
   * The session that made the attempt.
   */
  session?: string | null;
  /**
   * The state of the task after the attempt.
   */
  status: AttemptStatus;
  type: "attempt";
}
/**
 * A workflow moved from one phase to another.
 */
export interface TransitionEvent extends Context {
  /**
   * The phase left; absent for the first transition.
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
   * Duration in milliseconds.
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
   * The edge, if several connect the two nodes.
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
   * Details worth logging.
   */
  detail?: string | null;
  /**
   * What it did.
   */
  kind: HostKind;
  /**
   * Which hook, queue or trigger.
   */
  name?: string | null;
  type: "host";
}
/**
 * Any other action that may repeat.
 */
export interface CustomEvent extends Context {
  /**
   * Identifies the action: two with the same `name` and `key` are the same.
   */
  key: string;
  /**
   * The kind of action.
   */
  name: string;
  /**
   * The result of the action.
   */
  outcome?: string | null;
  type: "custom";
}
/**
 * One line of a scenario file. Unknown keys are preserved by tools and otherwise ignored.
 */
export interface Scenario {
  /**
   * Additional assertions.
   */
  checkpoints?: Checkpoint[];
  /**
   * The configuration; the default one if absent.
   */
  config?: Config | null;
  /**
   * The events, in order.
   */
  events: TraceEvent[];
  /**
   * The expected result; absent for unlabelled runs.
   */
  expect?: Expectation | null;
  /**
   * Index of the event by which the loop must be detected.
   */
  expectAt?: number | null;
  /**
   * The loop must not be detected before `expectAt`.
   */
  firstAt?: boolean;
  /**
   * The scenario's name, unique in its file.
   */
  id: string;
  /**
   * The lowest level that counts as detection; by default `nudge`.
   */
  minLevel?: Level | null;
  /**
   * Whether the recorded run reached its goal, for runs without loop labels.
   */
  success?: boolean | null;
  [k: string]: unknown;
}
/**
 * An additional assertion within a scenario.
 */
export interface Checkpoint {
  /**
   * Index of the event after which the expectation holds.
   */
  afterEvent: number;
  /**
   * The expectation at that point.
   */
  expect: Expectation;
  [k: string]: unknown;
}
/**
 * Where something happened. Absent parts mean the default scope.
 */
export interface Scope {
  /**
   * The agent.
   */
  agent?: string;
  /**
   * The task of which this task is a part.
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
 * Why an input was rejected. The state is unchanged.
 */
export interface ErrorRecord {
  /**
   * Stable error code, for programs.
   */
  code: ErrorCode;
  /**
   * Path of the offending field, such as `rules.cycle.block`.
   */
  field?: string;
  /**
   * Lower-case sentence, for people; not meant to be parsed.
   */
  message: string;
  /**
   * The offending value, truncated to 80 characters.
   */
  value?: string;
}
/**
 * Counters for dashboards, since the detector was created.
 */
export interface Metrics {
  /**
   * Bytes currently used by these runs, computed as for `memory.maxBytes`.
   */
  bytes: number;
  /**
   * Likewise, because the task goes back and forth between phases.
   */
  cyclesDetected: number;
  /**
   * Loops detected by all rules together.
   */
  detections: number;
  /**
   * Loops detected per agent; at most 64 agents are counted by name.
   */
  detectionsByAgent: {
    [k: string]: number;
  };
  /**
   * Events recorded.
   */
  events: number;
  /**
   * Refused transitions that were referred to a human.
   */
  hitlTriggered: number;
  /**
   * Loops of tasks, from failures and requests.
   */
  loops: LoopMetrics;
  /**
   * How often matching a pattern of `patterns.volatile` or `patterns.signatures` was aborted because it would have taken too many steps on one text, so that the rest of the text was not matched.
   */
  patternsCutShort: number;
  /**
   * Transitions refused because a phase had used up its visits: recorded ones, and those that the host reported with a `hook-block` naming the rule, after a `check`.
   */
  phaseVisitsBlocked: number;
  /**
   * Resets requested.
   */
  resets: number;
  /**
   * Milliseconds of event time from detection to resolution, summed over `resolved`.
   */
  resolutionMs: number;
  /**
   * Scopes with a detected loop that a reset or `continue` resolved.
   */
  resolved: number;
  /**
   * Results that belong to no recorded call: their ids are not those of the calls, or the calls were not recorded. What such a result repeats is found only in part.
   */
  resultsWithoutCall: number;
  /**
   * Counters per rule, for every rule that has fired.
   */
  rules: {
    [k: string]: RuleMetrics;
  };
  /**
   * Runs currently held.
   */
  runs: number;
  /**
   * Runs forgotten because they were idle.
   */
  runsCollected: number;
  /**
   * Runs forgotten because of `memory.maxRuns` or `memory.maxBytes` (`scope-evicted`).
   */
  runsEvicted: number;
  /**
   * Phases, transitions, nodes, cycles, failures and requests that were forgotten one by one, because a run had more of them than it keeps.
   */
  taskPartsEvicted: number;
  /**
   * Tasks that a run forgot, with all their counters, because there were more than 32 of them or they took too much memory; the least recently used task is forgotten first.
   */
  tasksEvicted: number;
  /**
   * Likewise, because the transition had been made too often.
   */
  transitionsBlocked: number;
  /**
   * Verdicts by level; `continue` is not counted.
   */
  verdicts: LevelCounts;
}
/**
 * Counters about loops of tasks.
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
   * Failures and requests that counted as loops.
   */
  detected: number;
  /**
   * Times a human was asked about a task; an open gate is not counted again.
   */
  gates: number;
  /**
   * Loops counted at those gates, in total.
   */
  loopsBeforeGate: number;
  /**
   * Counters reset to zero.
   */
  resets: number;
  /**
   * Milliseconds of event time from gate to resolution, summed over `resolved`.
   */
  resolutionMs: number;
  /**
   * Gates that a human resolved, with `human-intervention` or `continue`. Completing the task does not count.
   */
  resolved: number;
  /**
   * `tasksWithLoops` per mille of `tasks`.
   */
  taskRate: number;
  /**
   * Tasks with a failure, progress or request. Subtasks are not counted.
   */
  tasks: number;
  /**
   * Tasks in which a loop was counted.
   */
  tasksWithLoops: number;
}
/**
 * Failures and requests of one agent, and how many of them counted as loops.
 */
export interface AgentLoops {
  /**
   * `failure` and `collaboration` events.
   */
  events: number;
  /**
   * Those that counted as loops, by themselves or by a judge's evaluation.
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
   * Loops that a human marked as false alarms.
   */
  acknowledged: number;
  /**
   * Loops detected, each counted once.
   */
  detections: number;
  /**
   * Findings by their own level.
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
   * For a loop of attempts: the latest ones, oldest first.
   */
  attempts?: AttemptEvidence[];
  /**
   * The latest finding of every loop detected in the scope, newest first, at most 8.
   */
  findings: Finding[];
  /**
   * Recent occurrences of the strongest finding in words, oldest first, if its rule keeps them: iterations, failures or attempts.
   */
  history?: string[];
  /**
   * The strongest level reached in the scope since its last reset.
   */
  level: Level;
  /**
   * For a loop of attempts: log lines for the orchestrator, saying that it was detected and what was done.
   */
  log?: string[];
  /**
   * The answers that a person can give.
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
   * What blocked the attempt: at most 16 entries, about 240 characters in total.
   */
  blockers: string[];
  /**
   * Number of further blockers.
   */
  moreBlockers?: number;
  /**
   * The event's sequence number.
   */
  seq: number;
  /**
   * The session if the event named one, truncated to 64 characters.
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
   * The rule's confidence per mille, 0 to 1000.
   */
  confidence: number;
  /**
   * The amount of evidence, in the rule's own unit.
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
   * Sequence number of the loop's latest event.
   */
  lastSeq: number;
  /**
   * The level that this finding alone asks for.
   */
  level: Level;
  /**
   * One sentence for a log or a person.
   */
  message: string;
  /**
   * For text that repeats itself: characters (Unicode scalar values) from the start of the message or stream that began at `onsetSeq` to the point after which nothing new is said. A host may cut the text there.
   */
  onsetOffset?: number;
  /**
   * Sequence number of the loop's first event, to which a host may rewind.
   */
  onsetSeq: number;
  /**
   * Steps per lap, for cycles.
   */
  period?: number;
  /**
   * Why it counts, if that was a decision: the reason in brief, and what a judge gave as the reason, at most 300 characters.
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
   * Where it happened; shared by all findings of a verdict.
   */
  scope: Scope;
  /**
   * A printable name of what repeats, without raw arguments. Used to exempt it.
   */
  signature: string;
  /**
   * The threshold of the strongest level that `count` reached, in the same unit.
   */
  threshold: number;
  /**
   * What the loop has cost.
   */
  wasted: Wasted;
}
/**
 * One event that supports a finding.
 */
export interface Evidence {
  /**
   * The first 120 characters of the call's arguments; only if `privacy.payloads` is `excerpt`.
   */
  args?: string;
  /**
   * Event time in milliseconds since the Unix epoch. For events before the loop was first reported, only sequence number, step and digest are known.
   */
  at?: number;
  /**
   * The first 16 hexadecimal digits of a domain-separated SHA-256 of what was compared.
   */
  digest: string;
  /**
   * The first 120 characters of the output or message; only if `privacy.payloads` is `excerpt`.
   */
  excerpt?: string;
  /**
   * The outcome of the call, if known.
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
   * The tool called, in printable form.
   */
  tool?: string;
}
/**
 * What was spent since the onset of a loop, as far as the events report it.
 */
export interface Wasted {
  /**
   * Cost in millionths of the host's currency unit.
   */
  costMicros?: number;
  /**
   * Events of the scope since the onset.
   */
  events: number;
  /**
   * Elapsed event time in milliseconds.
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
 * The current status of a scope.
 */
export interface Status {
  /**
   * Attempts per task, of the scope's task only if it names one. The key of the unnamed task is the empty string.
   */
  attempts?: {
    [k: string]: AttemptStanding;
  };
  /**
   * The remaining budgets of the run.
   */
  budgetsLeft: BudgetsLeft;
  /**
   * Every cycle of the workflow; if the workflow is learned, those that the scope's task went through.
   */
  cycles?: CycleStatus[];
  /**
   * Events recorded in the scope.
   */
  events: number;
  /**
   * Whether any event of the scope has been recorded.
   */
  known: boolean;
  /**
   * The level of the scope's latest verdict.
   */
  level: Level;
  /**
   * Loops counted for the scope's task, where a subtask counts with its parent; without a task, the highest count of any task.
   */
  loopCount: number;
  /**
   * The reason given for that task's latest failure or request, such as `Exact error message match`.
   */
  loopReason?: string;
  /**
   * Every node of the workflow and every other node that has had a turn, by name: for the scope's task, or for the whole run if the scope names none. Remaining budgets are those of the whole run.
   */
  nodes?: {
    [k: string]: NodeStanding;
  };
  /**
   * Phases per task, of the scope's task only if it names one. The key of the unnamed task is the empty string.
   */
  phases?: {
    [k: string]: PhaseStanding;
  };
  /**
   * Every enabled rule that holds evidence about the scope. For a scope with a task or an agent, only rules that keep evidence per task and rules about outputs; the others belong to the run.
   */
  rules: RuleStanding[];
  /**
   * The scope asked about.
   */
  scope: Scope;
  /**
   * Calls with a result.
   */
  steps: number;
  /**
   * Recent numbers of failing tests of the scope, oldest first; for example `7 → 4 → 2`.
   */
  trend?: string;
}
/**
 * The attempts at one task so far.
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
 * The remaining part of the configured budgets; absent where no budget is set.
 */
export interface BudgetsLeft {
  /**
   * Iterations left.
   */
  iterations?: number;
  /**
   * Milliseconds of event time left.
   */
  runtimeMs?: number;
}
/**
 * The current state of a cycle of the workflow.
 */
export interface CycleStatus {
  /**
   * Iterations so far in readable form: `Loop 3/8`, or `Loop 3` without a limit.
   */
  badge: string;
  /**
   * Stable id: 16 hexadecimal digits, a hash of the sorted ids of the cycle's nodes and edges.
   */
  cycleId: string;
  /**
   * Digests of the latest diffs, oldest first. This and the next three fields are filled only for the cycle that was last active.
   */
  diffHashes: string[];
  /**
   * Digests of the latest documents, oldest first.
   */
  docsHashes?: string[];
  /**
   * The node whose incoming deliveries complete iterations.
   */
  driver: string;
  /**
   * Digests of the latest sets of failing tests, oldest first.
   */
  failingTestSignatures: string[];
  /**
   * Iterations so far.
   */
  iterations: number;
  /**
   * Iterations left, if limited.
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
   * Digests of the latest node outputs, oldest first.
   */
  outputHashes: string[];
  /**
   * Recent numbers of failing tests while the cycle was active, oldest first; for example `7 → 4 → 2`.
   */
  trend?: string;
}
/**
 * The current state of a node of the workflow.
 */
export interface NodeStanding {
  /**
   * Milliseconds left for its turns in total, if limited.
   */
  runtimeMsLeft?: number;
  /**
   * Turns it has completed.
   */
  turns: number;
  /**
   * Turns left, if limited.
   */
  turnsLeft?: number;
}
/**
 * The phases of one task so far.
 */
export interface PhaseStanding {
  /**
   * Visits of each phase since the task's last reset.
   */
  visits: {
    [k: string]: number;
  };
  /**
   * The latest phases, oldest first, at most 11; for example `implement → test → fix`.
   */
  walk?: string;
}
/**
 * The current state of a rule.
 */
export interface RuleStanding {
  /**
   * Current evidence, in the rule's own unit, of whatever has come furthest towards a threshold.
   */
  count: number;
  /**
   * The level at that threshold.
   */
  nextLevel?: Level;
  /**
   * The next threshold that more of the same would reach. A loop that returns after it was reported may be blocked earlier, and refused calls that are made again count as if they had run.
   */
  nextThreshold?: number;
  /**
   * Why `nextThreshold` is absent. Not given if the strongest level has been reached or the rule has no thresholds.
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
   * Guidance to show to the agent.
   */
  guidance?: string;
  /**
   * Why the run should end, if `level` is `halt`.
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
   * The question for that judge: compact, without payloads.
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
   * An entry for an orchestrator to put into its context.
   */
  recovery?: Recovery;
  /**
   * The event's sequence number in this detector, counted from 0 over recorded events only.
   */
  seq: number;
  /**
   * Further suggestions for the host or a human.
   */
  suggestedActions: string[];
  /**
   * In shadow mode only: the level that `enforce` mode would have given.
   */
  wouldBe?: Level;
}
/**
 * An entry for an orchestrator to put into its context after a loop of attempts at one task.
 */
export interface Recovery {
  /**
   * The blockers it applies to, and no others.
   */
  blockers: string[];
  /**
   * The task it applies to, and no other.
   */
  task?: string;
  /**
   * The text of the entry.
   */
  text: string;
  /**
   * The kind of entry.
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
