// The code shared by all adapters: calls, results and texts become events, verdicts become rulings; guidance is
// attributed, the end of a run is typed, the state is a string. No detection happens here. After construction nothing
// throws into the host: an internal failure becomes one visible warning, and the agent goes on unwatched.
import {
  type AgentEvent,
  type Channel,
  type Config,
  type Decision,
  type Finding,
  type LoopDetector,
  LoopwardenError,
  type Outcome,
  type Role,
  type Scope,
  type Verdict,
} from "loopwarden";
import { detecting } from "./detecting.ts";
import { LoopHalt, type LoopHaltRecord } from "./halt.ts";
import { ACTS, NAME, OPEN, packed, SCOPES, type Stand, unpacked } from "./stand.ts";

export { LoopHalt, type LoopHaltRecord };

/** The parts of a scope. */
const PARTS = ["run", "agent", "task"];
/** Maximum number of notes waiting for the next model call. */
const NOTES = 8;
/** Maximum number of kinds of warnings given. */
const WARNINGS = 8;
/** Number of a conversation's latest calls by which its run is recognised. */
const LATEST = 8;
/** UTF-16 code units kept of each end of a call id that is longer than three times this. */
const ID_END = 128;
/** Default of {@link GuardOptions.maxRefusals}. */
const REFUSALS = 4;
/**
 * Answered calls after which a host that has never reported a finished batch is taken not to report batches. With a
 * higher value, the calls up to there would be one round and repetitions would be undercounted by as many.
 */
const UNTOLD = 1;
/** The sentence in the core's guidance at `block`. It is only true of a call that is about to run. */
const REFUSED = " This attempt is refused so that something else can be tried.";
/**
 * Maximum nesting depth of arguments and outputs passed as they are; deeper values become text. The core accepts 120.
 */
const DEPTH = 100;
/** UTF-16 code units of the longest text that is passed as it is; the core accepts an event of 32 Mi. */
const LONGEST = 4 * 1024 * 1024;

/** The options of every adapter. */
export interface GuardOptions {
  /** The detector's configuration. Default: the recommended one, with a random salt. Not allowed with `detector`. */
  config?: Config;
  /** An existing detector, such as one that other parts of the program use as well. */
  detector?: LoopDetector;
  /** `false` switches everything off: nothing is wrapped, recorded or reported. Default `true`. */
  enabled?: boolean;
  /** The run that events belong to. Default: the default run. */
  run?: string;
  /** The agent that acts. */
  agent?: string;
  /** The task being worked on. */
  task?: string;
  /** A {@link Guard.snapshot} to continue from. If it cannot be read, there is a warning and a fresh start. */
  state?: string;
  /**
   * Consecutive rounds of refused calls, without an allowed call in between, after which the run is halted. A whole
   * number; 0 means never. Default 4.
   */
  maxRefusals?: number;
  /** The clock, in milliseconds since the Unix epoch. Default `Date.now`. */
  now?: () => number;
  /** Called with every verdict above `continue`, also in shadow mode, and with those that have telemetry records. */
  onVerdict?: (verdict: Verdict, event: AgentEvent) => void;
  /** Called once when a run is ended; `scope` identifies the run. */
  onHalt?: (halt: LoopHalt) => void;
  /** Called once per kind of warning, such as an internal error; the agent goes on. Default `console.warn`. */
  onWarning?: (message: string, cause: unknown) => void;
}

/** A tool call that is about to run. */
export interface GuardedCall {
  tool: string;
  /** The arguments, of any type; values that JSON cannot represent become text. */
  args?: unknown;
  /** The arguments as text, if they are not valid JSON. */
  rawArgs?: string;
  /** The host's id of the call, by which its result is paired. */
  callId?: string;
  /** The agent, if it is not the guard's own. */
  agent?: string;
  /** MCP's `readOnlyHint`. */
  readOnly?: boolean;
  /** MCP's `idempotentHint`. */
  idempotent?: boolean;
  /** The framework has already run or answered the call, so a block becomes a nudge. */
  settled?: boolean;
}

/** The usage of a model call. */
export interface ModelUsage {
  /** Input tokens. */
  input?: number | undefined;
  /** Output tokens. */
  output?: number | undefined;
  /** All tokens; if absent, the sum of the two above. */
  total?: number | undefined;
  /** The cost, in millionths of the host's currency unit. */
  costMicros?: number | undefined;
}

/** The result of a tool call: `output`, or `error` if it failed. */
export interface GuardedResult {
  tool: string;
  callId?: string;
  output?: unknown;
  error?: unknown;
  /** The outcome; if absent, it is derived from `error` and from the `isError` of an MCP result. */
  outcome?: Outcome;
  /** The result was made up by the host or the adapter and is not evidence. */
  synthetic?: boolean;
  /** The agent, if it is not the guard's own. */
  agent?: string;
}

/** What the host should do. `text` is attributed to Loopwarden and meant for the model. */
export type Ruling =
  | { readonly action: "continue" }
  /** The text is also queued for {@link Guard.guidance}. */
  | { readonly action: "nudge"; readonly text: string; readonly finding: Finding | undefined }
  /** Refuse this call and return the text as its result. It is already recorded as not executed. */
  | { readonly action: "block"; readonly text: string; readonly finding: Finding | undefined }
  /** Return the text as the result of the call, if there is one, and end the run with `halt` as the reason. */
  | { readonly action: "halt"; readonly text: string; readonly halt: LoopHalt };

const CONTINUE: Ruling = { action: "continue" };

/** What a guard shares with the guards of its scopes. */
interface Shared {
  detector: LoopDetector;
  /** Whether the guard created the detector and so may free it. */
  own: boolean;
  readonly stands: Map<string, Stand>;
  readonly warned: Set<string>;
}

/**
 * Adds a random `privacy.salt` to a configuration that has none: signatures then do not reveal the arguments, and
 * nobody can construct outputs with colliding digests. Equal loops of two guards get different signatures; your own
 * `privacy.salt` keeps them comparable. Where no randomness is available, as while a worker's script is loaded, there
 * is no salt.
 */
function salted(config: Config = {}): Config {
  if (typeof config.privacy?.salt === "string") return config;
  try {
    const salt = crypto.randomUUID();
    return { ...config, privacy: { ...config.privacy, salt } };
  } catch {
    return config;
  }
}

/** Returns a scope unchanged after checking its names and values. */
function checked<SCOPE extends object>(scope: SCOPE): SCOPE {
  const wrong = (field: string, message: string) => new LoopwardenError({ code: "invalid-config", message, field });
  if (typeof scope !== "object" || scope === null) throw wrong("scope", "must be an object");
  for (const [name, value] of Object.entries(scope)) {
    if (!PARTS.includes(name)) throw wrong(name, `is no part of a scope, which has ${PARTS.join(", ")}`);
    if (value !== undefined && typeof value !== "string") throw wrong(name, "must be a string");
  }
  return scope;
}

/** Watches an agent, or one scope of it, on behalf of an adapter. */
export class Guard {
  readonly enabled: boolean;
  readonly #options: GuardOptions;
  readonly #scope: Scope;
  readonly #shared: Shared | undefined;

  /** @throws {LoopwardenError} `invalid-config` for an invalid configuration: the one error that is not swallowed. */
  constructor(options: GuardOptions = {}, shared?: Shared) {
    const { run, agent, task } = options;
    this.#options = options;
    this.#scope = {
      ...(run !== undefined && { run }),
      ...(agent !== undefined && { agent }),
      ...(task !== undefined && { task }),
    };
    this.enabled = options.enabled !== false;
    if (!this.enabled) return;
    this.#shared = shared ?? this.#begin(options);
  }

  /** The initial state: that of `options.state` if it can be read, or an empty one. */
  #begin({ config, detector, state }: GuardOptions): Shared {
    const remembered = { stands: new Map(), warned: new Set<string>() };
    const fresh = (): Shared => {
      return { detector: detector ?? detecting(salted(config)), own: !detector, ...remembered };
    };
    if (state === undefined) return fresh();
    // An invalid configuration is reported whatever the state is. Otherwise no detector or salt is created here: a hook
    // that continues from a state at every call would spend more time on that than on the verdict.
    if (config !== undefined) detecting(config).free();
    try {
      return { own: true, ...remembered, ...unpacked(state) };
    } catch (cause) {
      const shared = fresh();
      const message = `[Loopwarden] \`state\` cannot be read, so the guard begins anew: ${reasonOf(cause)}`;
      this.#say(shared, "state", message, cause);
      return shared;
    }
  }

  /** The detector, for its status, report and metrics. Undefined if disabled; a different object after a restore. */
  get detector(): LoopDetector | undefined {
    return this.#shared?.detector;
  }

  /** Why the run ended, if it did. */
  get halted(): LoopHalt | undefined {
    return this.#shared && this.#stand(this.#shared).halt;
  }

  /**
   * A guard for a sub-agent or part of the work: it shares the detector and has its own rounds, guidance and halt.
   *
   * @throws {LoopwardenError} `invalid-config`, naming the field, for anything but names of a run, an agent and a task.
   */
  scope(scope: Pick<Scope, "run" | "agent" | "task">): Guard {
    return new Guard({ ...this.#options, ...checked(scope) }, this.#shared);
  }

  /**
   * The guard of the run, among those of this agent and task, that made the latest of these calls. Undefined if no run
   * or no single run did. Ids in the order of the conversation.
   */
  knowing(callIds: readonly string[]): Guard | undefined {
    const { agent, task } = this.#scope;
    // Where a provider numbers the calls, other runs may have the same ids: the run must know at least half of the ids,
    // and more than any other run.
    const latest = [...new Set(callIds.flatMap((id) => idOf(id) ?? []).toReversed())].slice(0, LATEST);
    let best: { run: string | null; known: number } | undefined;
    let others = 0;
    for (const [key, { recent }] of this.#shared?.stands ?? []) {
      const known = latest.filter((id) => recent?.includes(id)).length;
      if (known * 2 < latest.length || known === 0) continue;
      const [run = null, ...rest]: (string | null)[] = JSON.parse(key);
      if (rest[0] !== (agent ?? null) || rest[1] !== (task ?? null)) continue;
      if (known === best?.known) others = known;
      if (known > (best?.known ?? 0)) best = { run, known };
    }
    if (best === undefined || others === best.known) return undefined;
    return (best.run ?? undefined) === this.run ? this : this.scope({ ...(best.run !== null && { run: best.run }) });
  }

  /** The name of the run that events belong to, if any. */
  get run(): string | undefined {
    return this.#scope.run;
  }

  /** Begins a model call; the tool calls that it makes form one round. */
  turn(): void {
    if (this.#shared) this.#stand(this.#shared).round += 1;
  }

  /**
   * For a host that may or may not report when all calls of one answer are done: notes that a call begins (`call`),
   * that one was answered (`answer`) or that all of an answer are done (`batch`). Once a call has been answered without
   * any `batch`, a call that begins while no call of its round is open starts a new round.
   */
  hears(what: "call" | "answer" | "batch"): void {
    this.#safely((shared, stand) => {
      if (what === "batch") {
        stand.batched = true;
        delete stand.answered;
      } else if (stand.batched) {
        return CONTINUE;
      } else if (what === "answer") {
        stand.answered = Math.min(UNTOLD, (stand.answered ?? 0) + 1);
      } else if (stand.answered === UNTOLD) {
        const round = this.#round(stand);
        const isFree = !stand.open.some(([, of]) => of === round);
        // If the host reports batches of one agent of a session, it does so for the others.
        if (isFree && ![...shared.stands.values()].some(({ batched }) => batched)) stand.round += 1;
      }
      return CONTINUE;
    });
  }

  /**
   * Judges a call before it runs. A refused call is also recorded as answered: do not report its result.
   */
  beforeCall(call: GuardedCall): Ruling {
    return this.#safely((shared, stand) => {
      // Calls after the halt are answered but not recorded: the agent has not been told yet.
      if (stand.halt) return { action: "halt", text: ending(stand.halt), halt: stand.halt };
      const { readOnly, idempotent, rawArgs } = call;
      const tool = nameOf(call.tool);
      const callId = idOf(call.callId);
      const made = callId === undefined ? undefined : this.#made(stand, callId, call.agent);
      const event: AgentEvent = {
        type: "tool-call",
        tool,
        ...(rawArgs !== undefined ? { rawArgs } : call.args !== undefined && { args: plain(call.args) }),
        ...(readOnly !== undefined && { readOnly }),
        ...(idempotent !== undefined && { idempotent }),
        ...(made && { callId: unique(...made) }),
        ...this.#context(stand, call.agent),
      };
      if (callId !== undefined && made) {
        stand.open.push(made);
        if (stand.open.length > OPEN) stand.open.shift();
        stand.recent ??= [];
        stand.recent.push(callId);
        if (stand.recent.length > OPEN) stand.recent.shift();
      }
      const ruling = this.#insist(shared, stand, this.#rule(shared, stand, event, !call.settled));
      if (!call.settled && (ruling.action === "block" || ruling.action === "halt")) {
        const refused: AgentEvent = {
          type: "tool-result",
          tool,
          outcome: "not-executed",
          output: ruling.text,
          synthetic: true,
          ...this.#context(stand, call.agent),
          ...(callId !== undefined && this.#answers(stand, callId)),
        };
        this.#record(shared, refused);
      }
      return ruling;
    });
  }

  /**
   * Judges the result of a call. A `block` verdict becomes a nudge here: the call has run, and the next one will be
   * refused. A result whose call id is not open, such as one of a refused call or from a history, is ignored.
   */
  afterCall(result: GuardedResult): Ruling {
    return this.#safely((shared, stand) => {
      const { agent } = result;
      const tool = nameOf(result.tool);
      const callId = idOf(result.callId);
      const answers = callId === undefined ? {} : this.#answers(stand, callId);
      if (!answers) return CONTINUE;
      const context = { ...this.#context(stand, agent), ...(result.synthetic && { synthetic: true }) };
      return this.#rule(shared, stand, { type: "tool-result", tool, ...outcome(result), ...context, ...answers });
    });
  }

  /** Judges a complete message. A human's (`user` and not `synthetic`) ends the window and lifts a halt. */
  message(role: Role, text: string, how: { channel?: Channel; synthetic?: boolean; agent?: string } = {}): Ruling {
    const { channel, synthetic, agent } = how;
    return this.#safely((shared, stand) => {
      if (role === "user" && !synthetic) this.#humanWrote(shared, stand);
      const event: AgentEvent = {
        type: "message",
        role,
        text,
        ...(channel !== undefined && { channel }),
        ...(synthetic && { synthetic }),
        ...this.#context(stand, agent),
      };
      return this.#rule(shared, stand, event);
    });
  }

  /** Judges a chunk of a streaming answer. Report the complete answer with {@link Guard.message} afterwards. */
  delta(text: string, channel: Channel = "text", agent?: string): Ruling {
    if (text === "") return CONTINUE;
    return this.#safely((shared, stand) =>
      this.#rule(shared, stand, { type: "delta", text, channel, ...this.#context(stand, agent) }),
    );
  }

  /**
   * Reports the usage of a model's answer. Call it before reporting the answer's texts and calls: the first event of
   * the answer carries the figures, so that findings can state the cost of a loop.
   */
  usage({ input, output, total, costMicros }: ModelUsage): void {
    const known = (value: number | undefined) =>
      value !== undefined && Number.isFinite(value) && value >= 0 ? Math.round(value) : undefined;
    const parts = [input, output].map(known).filter((part) => part !== undefined);
    const tokens = known(total) ?? (parts.length > 0 ? parts.reduce((sum, part) => sum + part, 0) : undefined);
    const cost = known(costMicros);
    if (tokens === undefined && cost === undefined) return;
    this.#safely((_, stand) => {
      const { spent } = stand;
      stand.spent = {
        ...(tokens !== undefined || spent?.tokens !== undefined
          ? { tokens: (tokens ?? 0) + (spent?.tokens ?? 0) }
          : {}),
        ...(cost !== undefined || spent?.costMicros !== undefined
          ? { costMicros: (cost ?? 0) + (spent?.costMicros ?? 0) }
          : {}),
      };
      return CONTINUE;
    });
  }

  /** Records usage that is still pending after the last answer: {@link Guard.usage} was called after its events. */
  settle(): void {
    this.#safely((shared, stand) =>
      stand.spent ? this.#rule(shared, stand, { type: "delta", text: "", ...this.#context(stand) }) : CONTINUE,
    );
  }

  /** Warns once of a problem that is not an error: the agent is still watched. */
  warn(message: string): void {
    if (this.#shared) this.#say(this.#shared, message, `[Loopwarden] ${message}`, undefined);
  }

  /** Records that one agent handed work to another. */
  handoff(from: string, to: string): Ruling {
    return this.#safely((shared, stand) => {
      stand.handed = true;
      return this.#rule(shared, stand, { type: "delivery", from, to, ...this.#context(stand) });
    });
  }

  /** Records any other event, such as `failure`, `progress` or `turn`. The scope and time are filled in if absent. */
  record(event: AgentEvent): Ruling {
    return this.#safely((shared, stand) => this.#rule(shared, stand, { ...this.#context(stand), ...event }));
  }

  /**
   * Takes the guidance to give the model in its next call; undefined if there is none. It is attributed to Loopwarden
   * and recorded as a synthetic message, so it is never evidence. A host that passes on a ruling's text immediately
   * should call this and pass on its result instead.
   */
  guidance(): string | undefined {
    let text: string | undefined;
    this.#safely((shared, stand) => {
      if (stand.notes.length === 0) return CONTINUE;
      text = stand.notes.splice(0).join("\n\n");
      this.#record(shared, { type: "message", role: "user", text, synthetic: true, ...this.#context(stand) });
      return CONTINUE;
    });
    return text;
  }

  /** Frees the detector if the guard created it. The guard must not be used afterwards. */
  free(): void {
    if (this.#shared?.own) this.#shared.detector.free();
  }

  /** Applies a human's decision at a gate; every decision but `stop` lets the run go on. */
  acknowledge(decision: Decision): void {
    this.#safely((shared, stand) => {
      shared.detector.acknowledge(this.#scope, decision);
      if (decision.decision !== "stop") delete stand.halt;
      return CONTINUE;
    });
  }

  /** The state of the detector and of the guard as a JSON-safe string; empty if disabled or on failure. */
  snapshot(): string {
    let text = "";
    this.#safely((shared) => {
      text = packed(shared.detector, shared.stands);
      return CONTINUE;
    });
    return text;
  }

  /** Restores a {@link Guard.snapshot}, for all scopes. Returns false, with a warning, if the text is not one. */
  restore(state: string): boolean {
    let restored = false;
    this.#safely((shared) => {
      const kept = unpacked(state);
      const before = shared.own ? shared.detector : undefined;
      shared.detector = kept.detector;
      shared.own = true;
      // A host may restore at every step, and the garbage collector does not see the memory of a detector.
      before?.free();
      shared.stands.clear();
      for (const [key, stand] of kept.stands) shared.stands.set(key, stand);
      restored = true;
      return CONTINUE;
    });
    return restored;
  }

  /** The time of an event in whole milliseconds. A clock of the host that fails is replaced by the system's. */
  #now(): number {
    const { now } = this.#options;
    if (now === undefined) return Date.now();
    let cause: unknown;
    try {
      const at: unknown = now();
      if (typeof at === "number" && Math.abs(at) <= Number.MAX_SAFE_INTEGER) return Math.trunc(at);
      cause = new TypeError(`it returned ${String(at).slice(0, 80)}, not milliseconds`);
    } catch (error) {
      cause = error;
    }
    if (this.#shared) {
      const message = `[Loopwarden] your \`now\` failed, so the system's clock counts: ${reasonOf(cause)}`;
      this.#say(this.#shared, "now", message, cause);
    }
    return Date.now();
  }

  /** The context fields of every event. */
  #context(stand: Stand, agent: string | undefined = this.#scope.agent): Scope & { round: string; at: number } {
    const round = this.#round(stand, agent);
    return { ...this.#scope, ...(agent !== undefined && { agent }), round, at: this.#now() };
  }

  /** The round's name. Scopes of one run number their rounds separately, so the names must not collide. */
  #round({ round }: Stand, agent: string | undefined = this.#scope.agent): string {
    return [agent, this.#scope.task, round].filter((part) => part !== undefined).join("/");
  }

  /** A call's id and what makes it unique: an id reused after its call was answered belongs to another call. */
  #made(stand: Stand, callId: string, agent: string | undefined): [id: string, round: string, nth?: number] {
    const round = this.#round(stand, agent);
    if (stand.made?.round !== round) stand.made = { round, ids: [], again: 0 };
    const { made } = stand;
    const open = stand.open.findLast(([id, of]) => id === callId && of === round);
    if (open) return open;
    if (made.ids.includes(callId)) {
      made.again += 1;
      return [callId, round, made.again];
    }
    made.ids.push(callId);
    if (made.ids.length > OPEN) made.ids.shift();
    return [callId, round];
  }

  /** Closes the call that a result belongs to and returns its unique id; undefined if no such call is open. */
  #answers({ open }: Stand, callId: string): { callId: string } | undefined {
    const index = open.findLastIndex(([id]) => id === callId);
    const [call] = index < 0 ? [] : open.splice(index, 1);
    return call && { callId: unique(...call) };
  }

  /**
   * Halts a run that ignores refusals. Refused calls do not run and add no evidence, so the detector alone would not.
   */
  #insist(shared: Shared, stand: Stand, ruling: Ruling): Ruling {
    if (ruling.action !== "block") {
      stand.refused = [0, -1];
      return ruling;
    }
    const [rounds, last] = stand.refused;
    stand.refused = [last === stand.round ? rounds : rounds + 1, stand.round];
    const most = this.#options.maxRefusals ?? REFUSALS;
    if (most === 0 || stand.refused[0] < most) return ruling;
    return this.#halt(shared, stand, ruling.text, { level: "halt", haltReason: "stalled", finding: ruling.finding });
  }

  #halt(
    shared: Shared,
    stand: Stand,
    text: string,
    why: Pick<LoopHaltRecord, "level" | "haltReason" | "finding">,
  ): Ruling {
    const rule = why.haltReason === "user-stop" ? "user-stop" : (why.finding?.rule ?? "unknown");
    const message = `Loopwarden ended the run: ${why.finding?.message ?? text}`;
    const report = shared.detector.report(this.#scope);
    const known = stand.halt;
    const halt = known ?? new LoopHalt({ ...why, rule, message, report, scope: this.#scope });
    stand.halt = halt;
    if (!known) {
      this.#calls(shared, "onHalt", (options) => options.onHalt?.(halt));
    }
    return { action: "halt", text, halt };
  }

  #stand({ stands }: Shared): Stand {
    const key = JSON.stringify([this.#scope.run, this.#scope.agent, this.#scope.task]);
    let stand = stands.get(key);
    if (!stand) {
      stand = { round: 0, notes: [], open: [], handed: false, refused: [0, -1] };
      const { run = "", agent = "", task = "" } = this.#scope;
      // The core rejects longer names with an error, so the scope is not remembered either.
      if ([run, agent, task].some((name) => name.length > NAME)) return stand;
      stands.set(key, stand);
      const oldest = stands.size > SCOPES ? stands.keys().next().value : undefined;
      if (oldest !== undefined) stands.delete(oldest);
    }
    return stand;
  }

  #humanWrote(shared: Shared, stand: Stand): void {
    delete stand.halt;
    stand.notes.length = 0;
    stand.refused = [0, -1];
    // Laps in which a human takes part are not laps between the agents.
    if (stand.handed) shared.detector.reset(this.#scope, "task-completed");
    stand.handed = false;
  }

  #record(shared: Shared, event: AgentEvent): Verdict {
    const verdict = shared.detector.record(event);
    if (verdict.level !== "continue" || verdict.wouldBe !== undefined || verdict.records !== undefined) {
      // A failing callback of the host must not affect the verdict.
      this.#calls(shared, "onVerdict", (options) => options.onVerdict?.(verdict, event));
    }
    return verdict;
  }

  #rule(shared: Shared, stand: Stand, event: AgentEvent, refusable = false): Ruling {
    const { spent } = stand;
    const tells = spent !== undefined && ofModel(event);
    if (tells) delete stand.spent;
    const verdict = this.#record(shared, tells ? { ...spent, ...event } : event);
    const [finding] = verdict.findings;
    const text = attributed(verdict.guidance ?? finding?.message ?? "this run is going round in circles.");
    switch (verdict.level) {
      case "continue":
      case "observe":
        return CONTINUE;
      case "block":
        if (refusable) return { action: "block", text, finding };
        break;
      case "nudge":
        break;
      default:
        return this.#halt(shared, stand, text, { level: verdict.level, haltReason: verdict.haltReason, finding });
    }
    // Nothing is refused here, so the guidance must not say so even at `block`.
    const note = text.replace(REFUSED, "");
    if (!stand.notes.includes(note)) stand.notes.push(note);
    if (stand.notes.length > NOTES) stand.notes.shift();
    return { action: "nudge", text: note, finding };
  }

  /** Fails open: any internal error becomes a warning, and the agent goes on. */
  #safely(work: (shared: Shared, stand: Stand) => Ruling): Ruling {
    const shared = this.#shared;
    if (!shared) return CONTINUE;
    try {
      return work(shared, this.#stand(shared));
    } catch (cause) {
      this.#warn(shared, cause);
      if (cause instanceof Error && "code" in cause && cause.code === "internal") this.#anew(shared);
      return CONTINUE;
    }
  }

  /** Replaces a detector that failed. Earlier events are forgotten; later ones are watched. */
  #anew(shared: Shared): void {
    if (!shared.own) return;
    try {
      const before = shared.detector;
      shared.detector = detecting(salted(this.#options.config));
      before.free();
      for (const stand of shared.stands.values()) stand.open.length = 0;
      this.warn(
        "the detector failed and starts anew: what happened before is forgotten, unless you restore a snapshot",
      );
    } catch (cause) {
      this.#warn(shared, cause);
    }
  }

  /** Calls back the host; a failure, also of a promise that it returns, becomes a warning. */
  #calls(shared: Shared, name: "onHalt" | "onVerdict", call: (options: GuardOptions) => unknown): void {
    const failed = (cause: unknown) =>
      this.#say(shared, name, `[Loopwarden] your \`${name}\` failed, which changes nothing: ${reasonOf(cause)}`, cause);
    try {
      const pending = call(this.#options);
      if (pending instanceof Promise) pending.catch(failed);
    } catch (cause) {
      failed(cause);
    }
  }

  #warn(shared: Shared, cause: unknown): void {
    const reason = reasonOf(cause);
    const kind = cause instanceof Error && "code" in cause ? String(cause.code) : reason;
    this.#say(shared, kind, `[Loopwarden] could not judge and lets the agent go on: ${reason}`, cause);
  }

  #say({ warned }: Shared, kind: string, message: string, cause: unknown): void {
    if (warned.has(kind) || warned.size >= WARNINGS) return;
    warned.add(kind);
    try {
      if (this.#options.onWarning) this.#options.onWarning(message, cause);
      else console.warn(message.replaceAll(ACTS, "\ufffd"));
    } catch {
      // A warning that cannot be delivered must not stop the agent either.
    }
  }
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** Whether the event is part of a model's answer. */
function ofModel(event: AgentEvent): boolean {
  return (
    event.type === "tool-call" || event.type === "delta" || (event.type === "message" && event.role === "assistant")
  );
}

/** A unique call id: some providers restart their ids in every answer, or give all calls the same one. */
function unique(callId: string, round: string, nth?: number): string {
  return `${round}/${callId}${nth === undefined ? "" : `#${nth}`}`;
}

/** The call id to keep: undefined if empty, shortened to its ends if long. */
function idOf(id: string | undefined): string | undefined {
  if (id === undefined || id === "") return undefined;
  return id.length <= 3 * ID_END ? id : `${id.slice(0, ID_END)}…${id.length}…${id.slice(-ID_END)}`;
}

/** The name of a tool, or `unknown` if blank: a model may call a tool without a name and still loop. */
const nameOf = (tool: string): string => (typeof tool === "string" && tool.trim() === "" ? "unknown" : tool);

/**
 * Prefixes a text for the model with its author, so that it is not mistaken for a human's message or a tool's output.
 */
function attributed(text: string): string {
  return text.startsWith("Loopwarden") ? text : `Loopwarden (loop detector): ${text}`;
}

function ending(halt: LoopHalt): string {
  return attributed(`this call was not run, because the run is being ended (${halt.rule}).`);
}

/** The outcome and output of a result. */
function outcome(result: GuardedResult): { outcome: Outcome; output: unknown } {
  const { error, output } = result;
  if (error !== undefined) {
    const name = error instanceof Error ? error.name : "";
    const told: Outcome = name === "TimeoutError" ? "timeout" : name === "AbortError" ? "not-executed" : "error";
    return { outcome: result.outcome ?? told, output: error instanceof Error ? ends(error.message) : plain(error) };
  }
  const failed = typeof output === "object" && output !== null && "isError" in output && output.isError === true;
  return { outcome: result.outcome ?? (failed ? "error" : "ok"), output: plain(output) ?? "" };
}

/** A value in a form that JSON can represent; text if it has cycles or is nested too deeply; of long texts the ends. */
function plain(value: unknown): unknown {
  if (typeof value === "string") return ends(value);
  if (value === undefined) return value;
  try {
    const carried = JSON.stringify(value, (_, part) =>
      typeof part === "bigint" ? `${part}` : typeof part === "string" ? ends(part) : part,
    );
    if (carried === undefined) return ends(String(value));
    return carried.length <= 2 * LONGEST && shallow(carried) ? JSON.parse(carried) : ends(carried);
  } catch {
    return ends(String(value));
  }
}

/** A text of at most {@link LONGEST} UTF-16 code units as it is, the two ends of a longer one. */
function ends(text: string): string {
  if (text.length <= LONGEST) return text;
  return `${text.slice(0, LONGEST / 2)}\n… ${text.length} characters …\n${text.slice(-LONGEST / 2)}`;
}

/**
 * Whether JSON text is nested at most {@link DEPTH} levels deep. Brackets in strings count, so false negatives occur.
 */
function shallow(text: string): boolean {
  let depth = 0;
  for (const char of text) {
    if (char === "{" || char === "[") depth += 1;
    else if (char === "}" || char === "]") depth -= 1;
    if (depth > DEPTH) return false;
  }
  return true;
}
