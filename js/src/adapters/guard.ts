// What every adapter needs, once: events from calls, results and texts; rulings from verdicts; attributed guidance; the
// typed end of a run; state as text. No detection happens here. Nothing here throws into a host after construction: what
// fails inside becomes one visible warning, and the agent goes on as if nobody watched.
import {
  type AgentEvent,
  type Channel,
  type Config,
  type Decision,
  type Finding,
  LoopDetector,
  type Outcome,
  type Role,
  type Scope,
  type Verdict,
} from "loopwarden";
import { LoopHalt, type LoopHaltRecord } from "./halt.ts";
import { ACTS, NAME, OPEN, packed, SCOPES, type Stand, unpacked } from "./stand.ts";

export { LoopHalt, type LoopHaltRecord };

/** Notes that wait for the next model call, at most. */
const NOTES = 8;
/** Calls of a conversation that tell whose it is. */
const LATEST = 8;
/** Units of a call's id that are kept of either end of a longer one. */
const ID_END = 128;
/** Default of {@link GuardOptions.maxRefusals}. */
const REFUSALS = 4;
/**
 * Answered calls after which a host that never told that those of one answer are done is taken for one that does not tell. With
 * more, those before it would be one round, and what is said of how often a call was made too little by as many.
 */
const UNTOLD = 1;
/** What the core's guidance says at `block`; true of a call that is about to run, and of nothing else. */
const REFUSED = " This attempt is refused so that something else can be tried.";
/** Nesting of arguments and outputs that is passed on as it is; deeper values become text. The core accepts 120. */
const DEPTH = 100;

/** What every adapter accepts. */
export interface GuardOptions {
  /** The detector's configuration; nothing is the recommended one, with a salt of its own. Not with `detector`. */
  config?: Config;
  /** A detector that is already there, such as one that other parts of the program feed as well. */
  detector?: LoopDetector;
  /** `false` silences everything: nothing is wrapped, recorded or said. Default `true`. */
  enabled?: boolean;
  /** The run that events belong to; absent, the one default run. */
  run?: string;
  /** The agent that acts. */
  agent?: string;
  /** The task being worked on. */
  task?: string;
  /** What {@link Guard.snapshot} gave: goes on from there. What cannot be read becomes a warning and a new start. */
  state?: string;
  /**
   * Rounds in a row of which every call was refused, after which the run is halted: an agent that takes no for no
   * answer. 0 for never. Default 4.
   */
  maxRefusals?: number;
  /** The clock, in milliseconds since the Unix epoch. Default `Date.now`. */
  now?: () => number;
  /** Sees every verdict above `continue`, in shadow mode as well, and those with telemetry records. */
  onVerdict?: (verdict: Verdict, event: AgentEvent) => void;
  /** Hears when a run is ended, once; its `scope` says which run. */
  onHalt?: (halt: LoopHalt) => void;
  /** Hears once of each kind of internal error; the agent goes on unwatched. Default `console.warn`. */
  onWarning?: (message: string, cause: unknown) => void;
}

/** A tool call that is about to run. */
export interface GuardedCall {
  tool: string;
  /** The arguments, any value; what JSON cannot carry becomes text. */
  args?: unknown;
  /** The arguments as text, where they are not valid JSON. */
  rawArgs?: string;
  callId?: string;
  /** The agent, where it is not the guard's own. */
  agent?: string;
  /** MCP hints. */
  readOnly?: boolean;
  idempotent?: boolean;
  /** The framework ran or answered it already, so that a block can be no more than a nudge. */
  settled?: boolean;
}

/** What a model call took. */
export interface ModelUsage {
  /** Tokens, whichever are known; `total` where they are not told apart. */
  input?: number | undefined;
  output?: number | undefined;
  total?: number | undefined;
  /** Money, in millionths of the host's currency unit. */
  costMicros?: number | undefined;
}

/** What came of a tool call: `output`, or `error` where it failed. */
export interface GuardedResult {
  tool: string;
  callId?: string;
  output?: unknown;
  error?: unknown;
  /** What became of the call; absent, told from `error` and from the `isError` of an MCP result. */
  outcome?: Outcome;
  /** The answer is the host's or the adapter's own, and no evidence. */
  synthetic?: boolean;
  /** The agent, where it is not the guard's own. */
  agent?: string;
}

/** What the host should do. `text` is attributed to Loopwarden and meant for the model. */
export type Ruling =
  | { readonly action: "continue" }
  /** The text is also queued for {@link Guard.guidance}. */
  | { readonly action: "nudge"; readonly text: string; readonly finding: Finding | undefined }
  /** Refuse this call and answer its id with the text. It is already recorded as not executed. */
  | { readonly action: "block"; readonly text: string; readonly finding: Finding | undefined }
  /** Answer the call, if there is one, with the text, and end the run with the reason. */
  | { readonly action: "halt"; readonly text: string; readonly halt: LoopHalt };

const CONTINUE: Ruling = { action: "continue" };

/** What a guard shares with those of its sub-agents. */
interface Shared {
  detector: LoopDetector;
  /** Whether the guard made the detector, and so may free it. */
  own: boolean;
  readonly stands: Map<string, Stand>;
  readonly warned: Set<string>;
}

/**
 * The configuration with a secret drawn by lot where it has none: signatures then tell nobody what the arguments were, and
 * nobody can make two outputs that seem equal. Equal loops of two guards have other signatures; a `privacy.salt` of your
 * own keeps them comparable. Where nothing can be drawn, as while a worker's script is loaded, there is none.
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

/** Watches one agent, or one scope of it, for an adapter. */
export class Guard {
  readonly enabled: boolean;
  readonly #options: GuardOptions;
  readonly #scope: Scope;
  readonly #shared: Shared | undefined;

  /** @throws {LoopwardenError} `invalid-config`, for a configuration that is wrong: the one error that is not swallowed. */
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

  /** What a guard begins with: a state that is given and can be read, or nothing. */
  #begin({ config, detector, state }: GuardOptions): Shared {
    const remembered = { stands: new Map(), warned: new Set<string>() };
    const fresh = (): Shared => {
      return { detector: detector ?? new LoopDetector(salted(config)), own: !detector, ...remembered };
    };
    if (state === undefined) return fresh();
    // That a configuration is wrong is said whatever the state is. Where there is none, a hook that goes on from a state at
    // every call has neither a detector to make for nothing nor a salt to draw, which took it longer than the verdict.
    if (config !== undefined) new LoopDetector(config).free();
    try {
      return { own: true, ...remembered, ...unpacked(state) };
    } catch (cause) {
      const shared = fresh();
      this.#warn(shared, cause);
      return shared;
    }
  }

  /** The detector, for its status, report and metrics; absent while disabled, and another one after a restore. */
  get detector(): LoopDetector | undefined {
    return this.#shared?.detector;
  }

  /** Why the run ended, if it did. */
  get halted(): LoopHalt | undefined {
    return this.#shared && this.#stand(this.#shared).halt;
  }

  /** A guard for a sub-agent or a part of the work: the same detector, its own rounds, notes and end. */
  scope(scope: Pick<Scope, "run" | "agent" | "task">): Guard {
    return new Guard({ ...this.#options, ...scope }, this.#shared);
  }

  /**
   * The guard of the run, among those of this agent and task, that made the latest of these calls; nothing where none did.
   * Ids in the order of the conversation.
   */
  knowing(callIds: readonly string[]): Guard | undefined {
    const { agent, task } = this.#scope;
    // Ids may be another run's as well, where a provider counts them: what is meant knows most of them, and no other as
    // many.
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

  /** The run that events belong to, where it was named. */
  get run(): string | undefined {
    return this.#scope.run;
  }

  /** A model call begins: the tool calls that come of it are one round. */
  turn(): void {
    if (this.#shared) this.#stand(this.#shared).round += 1;
  }

  /**
   * For a host of which nobody knows whether it tells when the calls of one answer are done: that a call begins, that one was
   * answered, and that those of an answer are done. Where one was answered and that was never told, a call that begins while
   * none of its round is under way begins a round.
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
        // One agent of a session is told of it as the others are.
        if (isFree && ![...shared.stands.values()].some(({ batched }) => batched)) stand.round += 1;
      }
      return CONTINUE;
    });
  }

  /** Judges a call before it runs. A call that is not to run is recorded as answered; do not report its answer again. */
  beforeCall(call: GuardedCall): Ruling {
    return this.#safely((shared, stand) => {
      // What is asked after the end is answered and is no evidence: the agent was not told yet.
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
   * Judges what came of a call. A `block` here is a nudge: the call has run, and the next one will be refused. The answer
   * of a call id that waits for none, such as of a refused call or out of a history, is passed over.
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

  /** A whole message. One by a human, a `user` message that is not `synthetic`, ends the window and lifts a halt. */
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

  /** A piece of an answer while it streams; afterwards comes the whole {@link Guard.message}. */
  delta(text: string, channel: Channel = "text", agent?: string): Ruling {
    if (text === "") return CONTINUE;
    return this.#safely((shared, stand) =>
      this.#rule(shared, stand, { type: "delta", text, channel, ...this.#context(stand, agent) }),
    );
  }

  /**
   * What an answer of the model took, told before what it says and calls: the first event of it carries the figures, and
   * findings then say what the loop has cost.
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

  /** Tells what {@link Guard.usage} told of an answer that had been heard to its end before, where no other follows. */
  settle(): void {
    this.#safely((shared, stand) =>
      stand.spent ? this.#rule(shared, stand, { type: "delta", text: "", ...this.#context(stand) }) : CONTINUE,
    );
  }

  /** Says something once that is wrong, but no error: the agent is watched all the same. */
  warn(message: string): void {
    if (this.#shared) this.#say(this.#shared, message, `[Loopwarden] ${message}`, undefined);
  }

  /** One agent hands the work to another. */
  handoff(from: string, to: string): Ruling {
    return this.#safely((shared, stand) => {
      stand.handed = true;
      return this.#rule(shared, stand, { type: "delivery", from, to, ...this.#context(stand) });
    });
  }

  /** Any other event, such as `failure`, `progress` or `turn`; the scope and the time are filled in where absent. */
  record(event: AgentEvent): Ruling {
    return this.#safely((shared, stand) => this.#rule(shared, stand, { ...this.#context(stand), ...event }));
  }

  /**
   * What to put before the model at its next call, once: attributed, and recorded as the host's own, so that it is never
   * evidence. For hosts that hand a ruling's text over at once, too: call it then, and give what it returns.
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

  /** Gives the memory of a detector back that the guard made itself; nothing may be asked of the guard afterwards. */
  free(): void {
    if (this.#shared?.own) this.#shared.detector.free();
  }

  /** Takes a human's answer at a gate; `continue` lets the run go on. */
  acknowledge(decision: Decision): void {
    this.#safely((shared, stand) => {
      shared.detector.acknowledge(this.#scope, decision);
      if (decision.decision !== "stop") delete stand.halt;
      return CONTINUE;
    });
  }

  /** Everything that has to survive: the detector and what the guard itself remembers. Text that is safe in JSON. */
  snapshot(): string {
    let text = "";
    this.#safely((shared) => {
      text = packed(shared.detector, shared.stands);
      return CONTINUE;
    });
    return text;
  }

  /** Goes on from a {@link Guard.snapshot}, also in the guards of its scopes; false, with a warning, where it is no such text. */
  restore(state: string): boolean {
    let restored = false;
    this.#safely((shared) => {
      const kept = unpacked(state);
      const before = shared.own ? shared.detector : undefined;
      shared.detector = kept.detector;
      shared.own = true;
      // A host may restore at every step, and the garbage collector does not see how large a detector is.
      before?.free();
      shared.stands.clear();
      for (const [key, stand] of kept.stands) shared.stands.set(key, stand);
      restored = true;
      return CONTINUE;
    });
    return restored;
  }

  /** The context of every event. */
  #context(stand: Stand, agent: string | undefined = this.#scope.agent): Scope & { round: string; at: number } {
    const round = this.#round(stand, agent);
    return { ...this.#scope, ...(agent !== undefined && { agent }), round, at: (this.#options.now ?? Date.now)() };
  }

  /** The round's name: scopes of one run count for themselves, and must not meet. */
  #round({ round }: Stand, agent: string | undefined = this.#scope.agent): string {
    return [agent, this.#scope.task, round].filter((part) => part !== undefined).join("/");
  }

  /** A call's id with what makes it unique: an id that comes again after its call was answered is another call's. */
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

  /** The unique id of the call that an answer belongs to, which then waits no longer. */
  #answers({ open }: Stand, callId: string): { callId: string } | undefined {
    const index = open.findLastIndex(([id]) => id === callId);
    const [call] = index < 0 ? [] : open.splice(index, 1);
    return call && { callId: unique(...call) };
  }

  /** A refusal that is not taken is no end of a loop: what is refused does not run, and so adds no evidence of its own. */
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
      try {
        this.#options.onHalt?.(halt);
      } catch (cause) {
        this.#warn(shared, cause);
      }
    }
    return { action: "halt", text, halt };
  }

  #stand({ stands }: Shared): Stand {
    const key = JSON.stringify([this.#scope.run, this.#scope.agent, this.#scope.task]);
    let stand = stands.get(key);
    if (!stand) {
      stand = { round: 0, notes: [], open: [], handed: false, refused: [0, -1] };
      const { run = "", agent = "", task = "" } = this.#scope;
      // The core refuses what has a longer name and says so; it is not remembered here either.
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
    // Laps of a conversation in which a human speaks up are no laps of the agents among themselves.
    if (stand.handed) shared.detector.reset(this.#scope, "task-completed");
    stand.handed = false;
  }

  #record(shared: Shared, event: AgentEvent): Verdict {
    const verdict = shared.detector.record(event);
    if (verdict.level !== "continue" || verdict.wouldBe !== undefined || verdict.records !== undefined) {
      try {
        this.#options.onVerdict?.(verdict, event);
      } catch (cause) {
        // What the host's own callback gets wrong takes nothing from the verdict.
        this.#warn(shared, cause);
      }
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
    // Nothing is refused here, whatever the level: the guidance must not say so.
    const note = text.replace(REFUSED, "");
    if (!stand.notes.includes(note)) stand.notes.push(note);
    if (stand.notes.length > NOTES) stand.notes.shift();
    return { action: "nudge", text: note, finding };
  }

  /** Fails open: whatever goes wrong inside is a warning, and the agent goes on. */
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

  /** A detector that failed is of no use any more. What the agent did before is forgotten; what it does now is watched. */
  #anew(shared: Shared): void {
    if (!shared.own) return;
    try {
      const before = shared.detector;
      shared.detector = new LoopDetector(salted(this.#options.config));
      before.free();
      for (const stand of shared.stands.values()) stand.open.length = 0;
      this.warn(
        "the detector failed and starts anew: what happened before is forgotten, unless you restore a snapshot",
      );
    } catch (cause) {
      this.#warn(shared, cause);
    }
  }

  #warn(shared: Shared, cause: unknown): void {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const kind = cause instanceof Error && "code" in cause ? String(cause.code) : reason;
    this.#say(shared, kind, `[Loopwarden] could not judge and lets the agent go on: ${reason}`, cause);
  }

  #say({ warned }: Shared, kind: string, message: string, cause: unknown): void {
    if (warned.has(kind) || warned.size >= NOTES) return;
    warned.add(kind);
    try {
      if (this.#options.onWarning) this.#options.onWarning(message, cause);
      else console.warn(message.replaceAll(ACTS, "\ufffd"));
    } catch {
      // A warning that cannot be given must not stop the agent either.
    }
  }
}

/** Whether a model answered with it. */
function ofModel(event: AgentEvent): boolean {
  return (
    event.type === "tool-call" || event.type === "delta" || (event.type === "message" && event.role === "assistant")
  );
}

/** Some providers count their call ids anew in every answer, or give all calls the same. */
function unique(callId: string, round: string, nth?: number): string {
  return `${round}/${callId}${nth === undefined ? "" : `#${nth}`}`;
}

/** An id as it is kept: none where it is empty, the ends of a long one. */
function idOf(id: string | undefined): string | undefined {
  if (id === undefined || id === "") return undefined;
  return id.length <= 3 * ID_END ? id : `${id.slice(0, ID_END)}…${id.length}…${id.slice(-ID_END)}`;
}

/** The name of a tool. A model may call one without: it goes round in circles all the same. */
const nameOf = (tool: string): string => (typeof tool === "string" && tool.trim() === "" ? "unknown" : tool);

/** What the model is told begins with who says it, so that nobody takes it for a human's or a tool's word. */
function attributed(text: string): string {
  return text.startsWith("Loopwarden") ? text : `Loopwarden (loop detector): ${text}`;
}

function ending(halt: LoopHalt): string {
  return attributed(`this call was not run, because the run is being ended (${halt.rule}).`);
}

/** Outcome and output of a result. */
function outcome(result: GuardedResult): { outcome: Outcome; output: unknown } {
  const { error, output } = result;
  if (error !== undefined) {
    const name = error instanceof Error ? error.name : "";
    const told: Outcome = name === "TimeoutError" ? "timeout" : name === "AbortError" ? "not-executed" : "error";
    return { outcome: result.outcome ?? told, output: error instanceof Error ? error.message : plain(error) };
  }
  const failed = typeof output === "object" && output !== null && "isError" in output && output.isError === true;
  return { outcome: result.outcome ?? (failed ? "error" : "ok"), output: plain(output) ?? "" };
}

/** A value as JSON can carry it: itself, mostly; text where it has cycles or is nested too deep. */
function plain(value: unknown): unknown {
  if (typeof value === "string" || value === undefined) return value;
  try {
    const carried = JSON.stringify(value, (_, part) => (typeof part === "bigint" ? `${part}` : part));
    if (carried === undefined) return String(value);
    return shallow(carried) ? JSON.parse(carried) : carried;
  } catch {
    return String(value);
  }
}

/** Whether JSON text is nested at most {@link DEPTH} levels deep; brackets in strings may make it say no too early. */
function shallow(text: string): boolean {
  let depth = 0;
  for (const char of text) {
    if (char === "{" || char === "[") depth += 1;
    else if (char === "}" || char === "]") depth -= 1;
    if (depth > DEPTH) return false;
  }
  return true;
}
