//! One rule per kind of loop: either a file that implements [`Rule`], or a row of a family that implements it.
//!
//! A rule sees [`Fact`]s, keeps its own bounded state, and raises a [`Signal`] once its evidence reaches the lowest
//! rung of its ladder. Rules know nothing about verdicts; `policy` turns signals into verdicts. To add a rule, write
//! its file and add one line to the `registry!` below.

mod asked;
mod continuation_loop;
mod counter;
mod cycle;
mod cycle_budget;
mod denied_call;
mod duplicate_delegation;
mod empty_handed;
mod external_failure;
mod harness_rejection;
mod identical_output;
mod limits;
mod monologue;
mod negative_answers;
mod news;
mod no_effect;
mod no_new_information;
mod no_tests;
mod node_budget;
mod oscillation;
mod outlook;
mod output_signature;
mod output_similarity;
mod phase_cycle;
mod phase_transitions;
mod phase_visits;
mod phases;
mod rejected_arguments;
mod repeated_call;
mod repeated_error;
mod repeated_failure;
mod resubmission;
mod reworded_request;
mod run_budgets;
mod same_answer;
mod settings;
mod stagnation;
mod stale_talk;
mod stall;
mod streak;
mod streaks;
mod stream_novelty;
mod stream_period;
mod streams;
mod task_attempts;
mod task_cycle;
mod task_loop;
#[cfg(test)]
pub(crate) mod testing;
mod turn_budget;
mod unchanged_diff;
mod unchanged_failures;
mod windows;

pub(crate) use cycle_budget::max_cycle_iterations;
pub(crate) use limits::Limits;
pub(crate) use node_budget::max_turns;
pub(crate) use outlook::{Outlook, View};
pub(crate) use phases::is_about_phases;
pub(crate) use settings::{Settings, Tool, ordered};
pub(crate) use task_loop::{Cleared, Totals, mismatch};

use crate::codec::{Codec, Reader, decode, encode};
use crate::model::{
    Body, Budgets, ByName, Config, Event, HaltReason, Host, Level, Message, Metrics, Outcome, PhaseStanding,
    Recommendation, Record, Recovery, Role, RuleInfo, ToolCall, ToolResult,
};
use crate::state::{Call, Flow, Onset, Run, ScopeKeys, Sighting, Step, TASKS};
use crate::text::{Digests, Goal, Key, ToolName, printable, request_goal, shown, word_hashes};
use alloc::{borrow::Cow, boxed::Box, format, string::String, vec::Vec};
use core::cell::{OnceCell, RefCell};
use serde_json::Value;
use smol_str::{SmolStr, SmolStrBuilder};

/// Words read from each text argument of a call.
const WORDS: usize = 64;

/// Maximum length of the name of a task or a phase, in characters: names are kept and shown in full.
pub(crate) const LONGEST_NAME: usize = 512;

/// Maximum length of a task's name in messages, reports and status, in characters.
const TASK_NAME: usize = LONGEST_NAME;

/// A task's name, made printable.
pub(crate) fn task_name(task: &str) -> String {
    printable(task, TASK_NAME).into_owned()
}

/// Whether what happens in a subtask counts towards its parent task for this rule.
pub(crate) fn counts_for_parent(rule: &str) -> bool {
    const RULES: [&str; 8] = [
        "task-loop",
        "node-budget",
        "cycle-budget",
        "turn-budget",
        "identical-output",
        "oscillation",
        "unchanged-diff",
        "unchanged-failures",
    ];
    RULES.contains(&rule)
}

/// Whether forgetting `which` also forgets `task`. A reset or an acknowledgement that names no task (`which` = 0)
/// applies to the whole run: what a human has cleared must not be blocked again at once.
fn forgets(which: Key, task: Key) -> bool {
    which == 0 || which == task
}

/// The input of a rule.
#[derive(Debug)]
pub(crate) enum Fact<'a> {
    /// Any event, before it is examined: for rules about the run as a whole.
    Tick,
    /// A call that is about to run, and its payload.
    Call(&'a Call, &'a Payload<'a>),
    /// A completed call with its outcome, and the payload of its result.
    Step(&'a Step, &'a ToolResult),
    /// A custom event, whose key is the host's own, treated as a call of that name. Tool rules do not see it.
    Custom(&'a Step),
    /// The full output of one iteration, its signature, the number of failing tests it reports, and its first non-empty
    /// line, shortened.
    Output { text: &'a str, signature: &'a str, failing: Option<u32>, line: &'a str },
    /// A call that was settled without running, if it is known, and the result that the harness gave for it; `None` if
    /// the host itself made up the result.
    NotRun(Option<&'a Call>, Option<&'a ToolResult>),
    /// A message from the user.
    UserMessage(&'a Message),
    /// Any other event that is not marked synthetic.
    Event(&'a Event),
    /// Any event marked synthetic (made by the host), except calls and results: never evidence of what the agent does.
    Synthetic(&'a Event),
}

/// The payload of a call.
#[derive(Debug)]
pub(crate) struct Payload<'a> {
    pub(crate) call: &'a ToolCall,
    /// What can be inferred from the tool's name.
    pub(crate) named: ToolName,
    /// Another agent of this run that the arguments name.
    pub(crate) to: Option<Key>,
    goal: OnceCell<Option<Goal>>,
    words: OnceCell<Vec<u32>>,
}

impl<'a> Payload<'a> {
    pub(crate) fn new(call: &'a ToolCall, named: ToolName, to: Option<Key>) -> Self {
        Self { call, named, to, goal: OnceCell::new(), words: OnceCell::new() }
    }

    /// Hashes of the first words of each text argument, see [`word_hashes`]: words that an answer merely echoes are not
    /// new.
    pub(crate) fn words(&self) -> &[u32] {
        self.words.get_or_init(|| {
            let mut words = Vec::with_capacity(WORDS);
            for (_, value) in self.call.args.as_ref().and_then(Value::as_object).into_iter().flatten() {
                words.extend(word_hashes(value.as_str().unwrap_or_default()).take(WORDS));
            }
            words
        })
    }

    /// What the call asks for, computed once, when a rule first asks.
    pub(crate) fn goal(&self) -> Option<&Goal> {
        self.goal.get_or_init(|| request_goal(self.call, &self.named)).as_ref()
    }
}

impl core::ops::Deref for Payload<'_> {
    type Target = ToolCall;

    fn deref(&self) -> &ToolCall {
        self.call
    }
}

/// A set of kinds of facts: a rule is only shown the kinds it can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts(u16);

impl Facts {
    pub(crate) const TICK: Self = Self(1);
    pub(crate) const CALL: Self = Self(1 << 1);
    pub(crate) const STEP: Self = Self(1 << 2);
    pub(crate) const OUTPUT: Self = Self(1 << 3);
    pub(crate) const NOT_RUN: Self = Self(1 << 4);
    /// An event that is a message, but not one from the user.
    pub(crate) const MESSAGE: Self = Self(1 << 5);
    /// An event that is a chunk of streamed text.
    pub(crate) const DELTA: Self = Self(1 << 6);
    /// A host event that is not marked synthetic.
    pub(crate) const HOST: Self = Self(1 << 7);
    /// Any other event: what a workflow reports about itself.
    pub(crate) const REPORT: Self = Self(1 << 8);
    pub(crate) const SYNTHETIC: Self = Self(1 << 9);
    pub(crate) const CUSTOM: Self = Self(1 << 10);
    /// A message from the user.
    pub(crate) const USER_MESSAGE: Self = Self(1 << 11);
    pub(crate) const ALL: Self = Self((1 << 12) - 1);

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the two sets have a kind in common.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl<'a> Fact<'a> {
    #[inline]
    fn kind(&self) -> Facts {
        match self {
            Fact::Tick => Facts::TICK,
            Fact::Call(..) => Facts::CALL,
            Fact::Step(..) => Facts::STEP,
            Fact::Output { .. } => Facts::OUTPUT,
            Fact::NotRun(..) => Facts::NOT_RUN,
            Fact::UserMessage(_) => Facts::USER_MESSAGE,
            Fact::Synthetic(_) => Facts::SYNTHETIC,
            Fact::Custom(_) => Facts::CUSTOM,
            Fact::Event(event) => match event.body {
                Body::Message(_) => Facts::MESSAGE,
                Body::Delta(_) => Facts::DELTA,
                Body::Host(_) => Facts::HOST,
                _ => Facts::REPORT,
            },
        }
    }

    /// A complete message from the agent itself, and its event.
    pub(crate) fn agent_message(&self) -> Option<(&'a Event, &'a Message)> {
        match self {
            Fact::Event(event) => match &event.body {
                Body::Message(message) if message.role == Role::Assistant => Some((event, message)),
                _ => None,
            },
            _ => None,
        }
    }

    /// A host event, whether or not it is marked synthetic.
    pub(crate) fn host(&self) -> Option<&'a Host> {
        match self {
            Fact::Event(event) | Fact::Synthetic(event) => match &event.body {
                Body::Host(host) => Some(host),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The context in which a rule judges a fact.
#[derive(Debug)]
pub(crate) struct Cx<'a> {
    /// The thresholds in force for this rule and this tool.
    pub(crate) limits: &'a Limits,
    /// The configuration, for settings other than thresholds.
    pub(crate) config: &'a Config,
    /// Key of the event's task; 0 if it names none.
    pub(crate) task: Key,
    /// Key of the event's agent; 0 if it names none.
    pub(crate) agent: Key,
    /// Key of the parent task, if the event names one.
    pub(crate) parent_task: Option<Key>,
    /// Figures of the run, without the rules' memory.
    pub(crate) run: RunView,
    /// The run as a workflow; a turn, delivery or progress report at hand is already counted.
    pub(crate) flow: Flow<'a>,
    /// The event as evidence; the rule still has to set its key.
    pub(crate) here: Sighting,
    /// The event as the possible onset of a loop.
    pub(crate) onset: Onset,
    /// The detector's salt, for keys of untrusted text.
    pub(crate) salt: u64,
    /// Recently computed digests.
    pub(crate) digests: &'a RefCell<Digests>,
}

impl Cx<'_> {
    /// A printable name for a repeated thing that reveals none of its content: a word, the mark, and the first 8
    /// characters of its digest.
    pub(crate) fn named(&self, what: &str, mark: char, key: Key) -> SmolStr {
        let digest = shown(self.digests, key);
        let mut name = SmolStrBuilder::new();
        name.push_str(what);
        name.push(mark);
        name.push_str(digest.get(..8).unwrap_or_default());
        name.finish()
    }
}

/// The run's figures that rules need.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunView {
    pub(crate) now: Option<i64>,
    pub(crate) started: Option<i64>,
    pub(crate) iterations: u32,
    /// New mutations of the task at hand, by all agents and by the current one.
    pub(crate) new_mutations: u64,
    pub(crate) own_mutations: u64,
    pub(crate) steps: u64,
    /// Whether only one agent has worked on the task at hand.
    pub(crate) alone: bool,
    /// If all earlier calls were a single agent's: that agent.
    pub(crate) first: Option<Key>,
    /// New outcomes in other tasks than those in which work was handed over.
    pub(crate) elsewhere: u16,
}

impl RunView {
    /// What the run has used of its budgets; all other fields are default.
    pub(crate) fn spent(run: &Run) -> Self {
        Self { now: run.now, started: run.started, iterations: run.iterations.over(), ..Self::default() }
    }

    pub(crate) fn of(run: &Run) -> Self {
        let alone = run.standings.one_agent(run.lanes.here());
        Self {
            new_mutations: run.counted.new_mutations.into(),
            own_mutations: run.counted.mutations_of(run.standings.agent()),
            steps: run.counted.steps,
            elsewhere: run.handed.elsewhere(),
            alone,
            first: if alone { None } else { run.standings.first(run.lanes.here()) },
            ..Self::spent(run)
        }
    }
}

/// A rule's evidence, at or above the lowest rung of its ladder.
#[derive(Clone, Debug)]
pub(crate) struct Signal {
    /// Which of the rule's cases this is.
    pub(crate) kind: &'static str,
    /// Key of what repeats; the ladder remembers under it what was already reported.
    pub(crate) identity: Key,
    /// Amount of evidence, in the rule's own unit.
    pub(crate) count: u32,
    /// Factor on all thresholds: 3 where waiting is expected, otherwise 1.
    pub(crate) scale: u32,
    pub(crate) period: Option<u32>,
    pub(crate) onset: Onset,
    /// The loop's most recent events, oldest first.
    pub(crate) sightings: Vec<Sighting>,
    /// In per mille.
    pub(crate) confidence: u16,
    /// Printable name of what repeats.
    pub(crate) signature: SmolStr,
    /// One sentence for a log or a person.
    pub(crate) message: String,
    pub(crate) advice: Advice,
    /// The level the rule asks for, if its limits do not decide; the threshold is then `count`, unless
    /// `extra.threshold` is set.
    pub(crate) ask: Option<Level>,
    pub(crate) extra: Extra,
}

/// Optional parts of a signal, which most rules leave at their defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra {
    /// The recommendation applies even without a finding, or with one that is only for logs.
    pub(crate) recommend: bool,
    /// The threshold to report when the rule asks for a level itself.
    pub(crate) threshold: Option<u32>,
    /// The metrics have already counted this loop.
    pub(crate) counted: bool,
    /// Rarely used parts, boxed because signals are moved often.
    pub(crate) more: Option<Box<HostAdvice>>,
    /// Characters from the start of the stream at the onset to where it starts to repeat.
    pub(crate) onset_offset: Option<u64>,
    /// How much one more call of the loop, or one more lap of its period, adds to the count. Only set by rules that
    /// recognise the loop from the call alone, before it runs.
    pub(crate) each: Option<u32>,
    /// The requested level is the maximum, even in a relapse.
    pub(crate) advisory: bool,
}

impl Extra {
    /// The rarely used parts, or their defaults.
    pub(crate) fn more(&self) -> &HostAdvice {
        const NOTHING: &HostAdvice = &HostAdvice {
            question: None,
            recovery: None,
            label: None,
            actions: Vec::new(),
            records: Vec::new(),
            reasoning: None,
        };
        self.more.as_deref().unwrap_or(NOTHING)
    }
}

/// The parts of a signal that address somebody other than the agent and need a text or a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostAdvice {
    /// A summary to ask an outside judge about. With `ask: Some(Level::Continue)` the signal consists of nothing else.
    pub(crate) question: Option<String>,
    /// What an orchestrator should add to its context.
    pub(crate) recovery: Option<Recovery>,
    /// The label of a gate.
    pub(crate) label: Option<String>,
    /// What the host or a human can do, replacing the policy's own list.
    pub(crate) actions: Vec<String>,
    /// Telemetry records.
    pub(crate) records: Vec<Record>,
    /// Why this counts as a loop, in the judge's words if one was asked.
    pub(crate) reasoning: Option<String>,
}

impl From<HostAdvice> for Extra {
    fn from(more: HostAdvice) -> Self {
        Self { more: Some(Box::new(more)), ..Self::default() }
    }
}

/// The rule-specific parts of a signal.
pub(crate) struct SignalParts {
    pub(crate) kind: &'static str,
    pub(crate) identity: Key,
    pub(crate) count: u32,
    pub(crate) confidence: u16,
    pub(crate) signature: SmolStr,
    pub(crate) message: String,
    pub(crate) instead: &'static str,
    pub(crate) recommendation: Recommendation,
    pub(crate) halt_reason: HaltReason,
}

impl SignalParts {
    /// Builds the signal, with defaults for everything else. Never inlined: the code is large.
    #[inline(never)]
    pub(crate) fn signal(self, onset: Onset, sightings: Vec<Sighting>) -> Signal {
        let Self { kind, identity, count, confidence, signature, message, instead, recommendation, halt_reason } = self;
        Signal {
            kind,
            identity,
            count,
            scale: 1,
            period: None,
            onset,
            sightings,
            confidence,
            signature,
            message,
            advice: Advice { what: None, instead, recommendation, halt_reason },
            ask: None,
            extra: Extra::default(),
        }
    }
}

impl Signal {
    /// Sets a description of what repeated, and with what result, that differs from the message.
    pub(crate) fn what(mut self, what: impl Into<Cow<'static, str>>) -> Self {
        self.advice.what = Some(what.into());
        self
    }

    /// Records that calls of the loop were refused `before`, and `again` counting this one, which was made despite a
    /// refusal. `each` is what one lap adds to the count.
    pub(crate) fn insist(&mut self, before: u32, again: u32, each: u32) {
        if before == 0 {
            return;
        }
        let more = again.saturating_mul(each).checked_div(self.period.unwrap_or(1)).unwrap_or(0);
        self.count = self.count.saturating_add(more);
        let refusals = if before == 1 { "a refusal".into() } else { format!("{before} refusals") };
        self.message = format!("{}, and this continues after {refusals}", self.message);
        self.advice.what = None;
    }
}

/// Failures on one target from which this no longer counts as a search through many targets.
const ON_ONE: usize = 3;

/// Whether all of these have a target, and none occurs [`ON_ONE`] times or more: a search, or a batch. `None` and the
/// target 0 (no target) never qualify.
pub(crate) fn elsewhere(targets: impl Iterator<Item = Option<u32>> + Clone) -> bool {
    targets.clone().all(|own| {
        own.is_some_and(|own| own != 0 && targets.clone().filter(|other| *other == Some(own)).count() < ON_ONE)
    })
}

/// Converts a length to an evidence count, saturating.
pub(crate) fn many(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A signal for a loop that is recognised from its next call before that call runs; `each` is what one more call or lap
/// adds. If it is advice only (`told`), the call is not refused.
pub(crate) fn foreseen(mut signal: Signal, each: u32, told: bool, cx: &Cx<'_>) -> Signal {
    signal.extra.each = Some(each);
    if told { advisory(signal, cx) } else { signal }
}

/// Caps a signal at a nudge, however much evidence there is.
pub(crate) fn advisory(mut signal: Signal, cx: &Cx<'_>) -> Signal {
    let threshold = cx.limits.nudge.saturating_mul(signal.scale);
    if threshold != 0 && signal.count >= threshold {
        signal.ask = Some(Level::Nudge);
        signal.extra.threshold = Some(threshold);
    }
    signal.extra.each = None;
    signal.extra.advisory = true;
    signal
}

/// What to tell the agent and the host.
#[derive(Clone, Debug)]
pub(crate) struct Advice {
    /// What repeated and with what result: factual, one or two sentences. `None` stands for the message.
    pub(crate) what: Option<Cow<'static, str>>,
    /// One concrete alternative.
    pub(crate) instead: &'static str,
    pub(crate) recommendation: Recommendation,
    pub(crate) halt_reason: HaltReason,
}

/// A rule, which detects one kind of loop.
pub(crate) trait Rule: Sized {
    /// Stable id, kebab-case.
    const ID: &'static str;
    /// One sentence for the table of rules.
    const ABOUT: &'static str;
    /// The unit of `count`.
    const UNIT: &'static str;
    /// Thresholds and window of the balanced preset.
    const LIMITS: Limits;
    /// Maximum window the rule supports; 0 if it has none.
    const MAX_WINDOW: u32 = 0;
    /// Whether the evidence survives a human's message and the completion of a task.
    const OUTLIVES_EVIDENCE: bool = false;
    /// Whether evidence is kept per task (per lane), as for calls, texts and streams. Other rules keep tasks apart
    /// themselves, or are about the run.
    const IN_LANE: bool = !Self::OUTLIVES_EVIDENCE;
    /// Kinds of facts that can change the rule's answer or memory; it is not shown any others.
    const SEES: Facts = Facts::ALL;

    /// Whether everything the rule says about a call that is about to run comes from [`Self::ahead`], which reads
    /// nothing that the call itself changes (that is done in [`Self::called`]). A `check` then needs no copy of the
    /// rule's memory.
    const LOOKS_AHEAD: bool = false;

    /// The budget that serves as the rule's halt threshold.
    const BUDGET: Option<Budget> = None;
    /// Whether the limit applies to the whole run, whoever used it up.
    const OF_RUN: bool = false;
    /// Whether findings are about texts alone, even if the rule sees calls: tools then have no thresholds of their own
    /// for it.
    const OF_TEXT: bool = false;
    /// Possible answers of a person to its escalation report, as (title, effect), where a document prescribes them;
    /// otherwise the report derives them from the finding's recommendation.
    const ANSWERS: &'static [(&'static str, &'static str)] = &[];
    /// An additional metrics counter for events that the rule refused.
    const REFUSED: Option<fn(&mut Metrics) -> &mut u64> = None;

    /// The rule's bounded memory of a run.
    type State: Clone + core::fmt::Debug + Default + Codec;

    /// Maximum evidence the rule can hold with this window; higher thresholds are unreachable. 0 if thresholds are set
    /// elsewhere: in a section of the configuration, under `budgets`, or per counter.
    fn reach(_window: u32) -> u32 {
        let configured = matches!(Self::LIMITS, Limits { nudge: 0, block: 0, gate: 0, halt: 0, .. });
        if configured && Self::BUDGET.is_none() { 0 } else { u32::MAX }
    }

    /// Takes in any event, for rules that see [`Facts::TICK`], and returns whether the rule may have something to
    /// report; only then is it shown [`Fact::Tick`].
    fn tick(_state: &mut Self::State, _run: &RunView, _limits: &Limits) -> bool {
        true
    }

    /// A cheap check whether a fact may concern the rule in its current state: most calls and steps concern few rules,
    /// and [`Self::observe`] costs more. Rules with [`Self::LOOKS_AHEAD`] must return true for every call.
    fn heeds(_state: &Self::State, _fact: &Fact<'_>, _cx: &Cx<'_>) -> bool {
        true
    }

    /// Takes in a fact and returns a signal if the evidence suffices.
    fn observe(state: &mut Self::State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal>;

    /// The signal for a call that is about to run, for rules with [`Self::LOOKS_AHEAD`].
    fn ahead(_state: &Self::State, _call: &Call, _cx: &Cx<'_>) -> Option<Signal> {
        None
    }

    /// Notes a call that is about to run, for rules with [`Self::LOOKS_AHEAD`].
    fn called(_state: &mut Self::State, _call: &Call, _payload: &Payload<'_>) {}

    /// Drops what is kept about tasks for which `gone` is true, if the rule keeps tasks apart itself.
    fn drop_tasks(_state: &mut Self::State, _gone: &dyn Fn(Key) -> bool) {}

    /// Forgets what is kept about one task, because it is completed or handed to a human; 0 means no particular task
    /// and forgets all of them.
    fn forget_task(state: &mut Self::State, task: Key) {
        Self::drop_tasks(state, &|own| forgets(task, own));
    }

    /// Drops exactly one task, to make room.
    fn drop_task(state: &mut Self::State, task: Key) {
        Self::drop_tasks(state, &|own| own == task);
    }

    /// Upper bound on the bytes of per-task data, for rules that share the common bound.
    fn weight(_state: &Self::State) -> usize {
        0
    }

    /// Drops the older half of what is kept about the parts of tasks; returns how many parts were dropped.
    fn shed(_state: &mut Self::State) -> u64 {
        0
    }

    /// Number of parts of tasks dropped at a cap since the last call.
    fn take_lost(_state: &mut Self::State) -> u64 {
        0
    }

    /// The most evidence held now, for rules that keep it per lane or for the run. Implement this or [`Self::outlook`].
    fn standing(_state: &Self::State) -> u32 {
        0
    }

    /// The most evidence held about a scope, not counting lanes. By default, evidence that is not kept by task or agent
    /// belongs to the run only.
    fn standing_of(state: &Self::State, whose: &ScopeKeys, _flow: &Flow<'_>) -> u32 {
        if !Self::IN_LANE && *whose == ScopeKeys::default() { standing::<Self>(state) } else { 0 }
    }

    /// Where the rule stands in a lane; override it if thresholds are not the same for everything it looks at.
    fn outlook(state: &Self::State, view: &View<'_>) -> Outlook {
        view.of(standing::<Self>(state))
    }

    /// Where the rule stands in a scope, not counting lanes.
    fn outlook_of(state: &Self::State, whose: &ScopeKeys, flow: &Flow<'_>, view: &View<'_>) -> Outlook {
        view.of(Self::standing_of(state, whose, flow))
    }

    /// Whether a restored state is within its caps. The default only accepts states of at most four bytes.
    fn fits(_state: &Self::State) -> bool {
        const { assert!(size_of::<Self::State>() <= size_of::<u32>(), "a memory with room for more has caps") };
        true
    }

    /// The latest occurrences for one task and agent as lines for a report, if the rule keeps them.
    fn story(_state: &Self::State, _whose: &ScopeKeys) -> Vec<String> {
        Vec::new()
    }
}

/// A field of the configuration's `budgets`; its value is 0 for no budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) field: &'static str,
    pub(crate) of: fn(&Budgets) -> u64,
}

/// A rule's constants, for settings, documentation and error messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Description {
    pub(crate) id: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) limits: Limits,
    pub(crate) max_window: u32,
    /// Evidence belongs to a task, whoever works on it; otherwise it belongs to an agent.
    pub(crate) outlives: bool,
    /// Evidence is kept per lane, that is, for one task at a time.
    pub(crate) in_lane: bool,
    pub(crate) reach: fn(u32) -> u32,
    pub(crate) budget: Option<Budget>,
    /// The limit applies to the whole run, not to a task or an agent.
    pub(crate) of_run: bool,
    pub(crate) answers: &'static [(&'static str, &'static str)],
    pub(crate) refused: Option<fn(&mut Metrics) -> &mut u64>,
    /// Whether the rule looks at calls or their outcomes.
    pub(crate) of_calls: bool,
    /// Whether findings are about texts alone.
    pub(crate) of_text: bool,
}

impl Description {
    /// Whether a tool's own settings can change what the rule reports.
    pub(crate) const fn per_tool(&self) -> bool {
        self.of_calls && !self.of_text
    }
}

/// A signal, and the index of its rule in [`RULES`].
pub(crate) type Raised = (usize, Signal);

/// Never inlined: one copy per rule, however many kinds of facts call it.
#[inline(never)]
fn ask<R: Rule>(state: &mut R::State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
    match fact {
        Fact::Call(call, payload) if R::LOOKS_AHEAD => {
            R::called(state, call, payload);
            R::ahead(state, call, cx)
        }
        _ => R::observe(state, fact, cx),
    }
}

/// Never inlined: a signal is large and raised in many places; this is the only place where it is moved.
#[inline(never)]
fn raise(raised: &mut Vec<Raised>, index: usize, signal: Option<Signal>) {
    raised.extend(signal.map(|signal| (index, signal)));
}

#[inline(never)]
fn standing<R: Rule>(state: &R::State) -> u32 {
    R::standing(state)
}

/// The outlook of every rule.
pub(crate) type Outlooks = [Outlook; RULES.len()];

/// Resets a value to its default. Never inlined: one copy per type, however many callers.
#[inline(never)]
fn empty<T: Default>(state: &mut T) {
    *state = T::default();
}

macro_rules! registry {
    ($($name:ident: $rule:ty),* $(,)?) => {
        /// Every rule, in the order of checks: at equal level the earlier one leads.
        pub(crate) const RULES: &[Description] = &[$(Description {
            id: <$rule>::ID,
            unit: <$rule>::UNIT,
            limits: <$rule>::LIMITS,
            max_window: <$rule>::MAX_WINDOW,
            outlives: <$rule>::OUTLIVES_EVIDENCE,
            in_lane: <$rule>::IN_LANE,
            reach: <$rule>::reach,
            budget: <$rule>::BUDGET,
            of_run: <$rule>::OF_RUN,
            answers: <$rule>::ANSWERS,
            refused: <$rule>::REFUSED,
            of_calls: <$rule>::SEES.meets(Facts::CALL) || <$rule>::SEES.meets(Facts::STEP),
            of_text: <$rule>::OF_TEXT,
        }),*];

        /// The `ABOUT` sentence of each rule, apart from [`RULES`] so that a module that only judges does not contain
        /// these texts.
        pub(crate) const ABOUT: &[&str] = &[$(<$rule>::ABOUT),*];

        /// Every rule's memory of a run.
        #[derive(Debug, Default)]
        pub(crate) struct States {
            $(pub(crate) $name: <$rule as Rule>::State),*
        }

        /// By way of the codec: code that copies every rule's memory field by field would be as large again.
        impl Clone for States {
            fn clone(&self) -> Self {
                decode(&encode(self)).unwrap_or_default()
            }
        }

        impl Codec for States {
            const SIZE: usize = 0 $(+ <<$rule as Rule>::State as Codec>::SIZE)*;

            fn heap(&self) -> usize {
                0 $(+ self.$name.heap())*
            }

            fn put(&self, to: &mut Vec<u8>) {
                self.put_of(true, to);
            }

            fn take(from: &mut Reader<'_>) -> Self {
                Self::take_of(true, from)
            }
        }

        impl States {
            /// Shows a fact to every enabled rule that wants it and collects the signals. `cx.limits` is overwritten
            /// for each rule. Which rules want which kind of fact is known at compile time. If the current lane belongs
            /// to another task (`apart`), rules that keep their evidence per lane are not shown the fact. `before` is
            /// set if `self` is a copy made [for a call](Self::before_call): the states it was copied from.
            pub(crate) fn observe<'a>(
                &mut self,
                before: Option<&Self>,
                fact: &Fact<'_>,
                limits: &'a [Limits; RULES.len()],
                cx: &mut Cx<'a>,
                apart: bool,
                raised: &mut Vec<Raised>,
            ) {
                match fact.kind() {
                    Facts::TICK => self.show::<{ Facts::TICK.0 }>(None, fact, limits, cx, apart, raised),
                    Facts::CALL => self.show::<{ Facts::CALL.0 }>(before, fact, limits, cx, apart, raised),
                    Facts::STEP => self.show::<{ Facts::STEP.0 }>(None, fact, limits, cx, apart, raised),
                    Facts::DELTA => self.show::<{ Facts::DELTA.0 }>(None, fact, limits, cx, apart, raised),
                    // Rare kinds share the code that asks every rule.
                    _ => self.show::<{ Facts::ALL.0 }>(None, fact, limits, cx, apart, raised),
                }
            }

            /// Implements [`Self::observe`] for facts of the kinds `KINDS`.
            fn show<'a, const KINDS: u16>(
                &mut self,
                before: Option<&Self>,
                fact: &Fact<'_>,
                limits: &'a [Limits; RULES.len()],
                cx: &mut Cx<'a>,
                apart: bool,
                raised: &mut Vec<Raised>,
            ) {
                let kind = fact.kind();
                // The most frequent kinds; these always belong to the current lane, and `heeds` filters them.
                let ordinary = KINDS & Facts::CALL.and(Facts::STEP).and(Facts::DELTA).0 == KINDS;
                let apart = apart && !ordinary;
                let mut limits = limits.iter().enumerate();
                $(
                    let next = limits.next();
                    if (<$rule as Rule>::SEES.0 & KINDS != 0 || cfg!(test))
                        && let Some((index, limits)) = next
                        && limits.enabled
                        && !(apart && <$rule as Rule>::IN_LANE)
                    {
                        cx.limits = limits;
                        if <$rule as Rule>::SEES.meets(kind)
                            && (!ordinary || <$rule>::heeds(&self.$name, fact, cx))
                        {
                            let signal = match (before, fact) {
                                (Some(before), Fact::Call(call, _))
                                    if KINDS == Facts::CALL.0 && <$rule as Rule>::LOOKS_AHEAD =>
                                {
                                    <$rule>::ahead(&before.$name, call, cx)
                                }
                                _ => ask::<$rule>(&mut self.$name, fact, cx),
                            };
                            if signal.is_some() {
                                raise(raised, index, signal);
                            }
                        } else {
                            #[cfg(test)]
                            testing::assert_blind::<$rule>(&self.$name, fact, cx);
                        }
                    }
                )*
            }

            /// Takes in any event; returns whether [`Fact::Tick`] has to be shown.
            pub(crate) fn tick(&mut self, limits: &[Limits; RULES.len()], run: &RunView) -> bool {
                let (mut limits, mut says) = (limits.iter(), false);
                $(
                    let next = limits.next();
                    if <$rule as Rule>::SEES.meets(Facts::TICK)
                        && let Some(limits) = next
                        && limits.enabled
                    {
                        says |= <$rule>::tick(&mut self.$name, run, limits);
                    }
                )*
                says
            }

            /// A copy on which a call can be judged, with the `evidence` of its lane, `None` for a new one. Rules that
            /// see neither ticks nor calls are left out, as are rules that look ahead, which are asked about their
            /// original memory instead. Never inlined, like the functions below.
            #[inline(never)]
            pub(crate) fn before_call(&self, evidence: Option<&Self>) -> Self {
                let kinds = Facts::TICK.and(Facts::CALL);
                Self {
                    $($name: {
                        const { assert!(!<$rule as Rule>::LOOKS_AHEAD || <$rule>::IN_LANE) };
                        let kept = if <$rule>::IN_LANE { evidence } else { Some(self) };
                        match kept {
                            Some(kept) if <$rule as Rule>::SEES.meets(kinds) && !<$rule as Rule>::LOOKS_AHEAD => {
                                kept.$name.clone()
                            }
                            _ => Default::default(),
                        }
                    }),*
                }
            }

            /// Drops the evidence of all rules whose evidence does not survive a human's message; if it is a prompt that
            /// a program gives again, only that about texts, which answer it.
            pub(crate) fn forget(&mut self, prompted: bool) {
                $(if !<$rule>::OUTLIVES_EVIDENCE && (<$rule>::OF_TEXT || !prompted) { empty(&mut self.$name); })*
            }

            /// Drops everything that rules keep in the current lane.
            pub(crate) fn forget_lane(&mut self) {
                $(if <$rule>::IN_LANE { empty(&mut self.$name); })*
            }

            /// Swaps the current lane's evidence with another lane's.
            pub(crate) fn swap_lane(&mut self, other: &mut Self) {
                $(if <$rule>::IN_LANE { core::mem::swap(&mut self.$name, &mut other.$name); })*
            }

            /// Encodes the current lane's evidence.
            pub(crate) fn put_lane(&self, to: &mut Vec<u8>) {
                self.put_of(false, to);
            }

            /// Decodes what [`Self::put_lane`] wrote; all other rules get their default state.
            pub(crate) fn take_lane(from: &mut Reader<'_>) -> Self {
                Self::take_of(false, from)
            }

            #[inline(never)]
            fn put_of(&self, whole: bool, to: &mut Vec<u8>) {
                $(if whole || <$rule>::IN_LANE { self.$name.put(to); })*
            }

            #[inline(never)]
            fn take_of(whole: bool, from: &mut Reader<'_>) -> Self {
                Self { $($name: if whole || <$rule>::IN_LANE { Codec::take(from) } else { Default::default() }),* }
            }

            /// Drops evidence that a step forward of the work invalidates.
            pub(crate) fn advance(&mut self) {
                empty(&mut self.repeated_call);
                empty(&mut self.cycle);
                empty(&mut self.repeated_error);
                empty(&mut self.resubmission);
                empty(&mut self.reworded_request);
                empty(&mut self.no_effect);
                empty(&mut self.remade_change);
                empty(&mut self.stagnation);
            }

            /// Forgets what every rule keeps about one task; see [`Rule::forget_task`].
            pub(crate) fn forget_task(&mut self, task: Key) {
                $(<$rule>::forget_task(&mut self.$name, task);)*
            }

            /// Drops exactly one task from every rule.
            pub(crate) fn drop_task(&mut self, task: Key) {
                $(<$rule>::drop_task(&mut self.$name, task);)*
            }

            /// Upper bound on the bytes that all rules keep per task.
            pub(crate) fn weight(&self) -> usize {
                0 $(+ <$rule>::weight(&self.$name))*
            }

            /// Drops the older half of what is kept about the parts of tasks; returns how many parts were dropped.
            pub(crate) fn shed(&mut self) -> u64 {
                0 $(+ <$rule>::shed(&mut self.$name))*
            }

            /// Number of parts of tasks dropped at a cap since the last call.
            pub(crate) fn take_lost(&mut self) -> u64 {
                // In a snapshot from an untrusted source these can be arbitrarily large.
                0_u64 $(.saturating_add(<$rule>::take_lost(&mut self.$name)))*
            }

            /// Adds the outlook of each rule in a `scope`, or in this lane if it is `None`: a rule keeps its evidence
            /// either by lane or not. Each rule's own limits replace those of `view`.
            pub(crate) fn add_outlooks(
                &self,
                scope: Option<(&ScopeKeys, &Flow<'_>)>,
                limits: &[Limits; RULES.len()],
                view: View<'_>,
                all: &mut Outlooks,
            ) {
                let mut rows = limits.iter().zip(all);
                $(if let Some((limits, known)) = rows.next() {
                    let view = View { limits, ..view };
                    if <$rule>::IN_LANE {
                        if scope.is_none() {
                            known.add(<$rule>::outlook(&self.$name, &view));
                        }
                    } else if let Some((whose, flow)) = scope {
                        known.add(<$rule>::outlook_of(&self.$name, whose, flow, &view));
                    }
                })*
            }

            /// A rule's latest occurrences for one task and agent, as lines of text.
            pub(crate) fn story(&self, rule: &str, whose: &ScopeKeys) -> Vec<String> {
                $(if rule == <$rule>::ID { return <$rule>::story(&self.$name, whose); })*
                Vec::new()
            }

            pub(crate) fn fit(&self) -> bool {
                true $(&& <$rule>::fits(&self.$name))*
            }
        }
    };
}

registry! {
    max_iterations: run_budgets::MaxIterations,
    max_runtime: run_budgets::MaxRuntime,
    turn_budget: turn_budget::TurnBudget,
    node_budget: node_budget::NodeBudget,
    cycle_budget: cycle_budget::CycleBudget,
    repeated_call: repeated_call::RepeatedCall,
    cycle: cycle::Cycle,
    rejected_arguments: rejected_arguments::RejectedArguments,
    repeated_error: repeated_error::RepeatedError,
    resubmission: resubmission::Resubmission,
    failure_streak: streaks::FailureStreak,
    denied_call: denied_call::DeniedCall,
    unanswered_call: streaks::UnansweredCall,
    call_flood: streaks::CallFlood,
    failing_target: streaks::FailingTarget,
    negative_answers: negative_answers::NegativeAnswers,
    harness_rejection: harness_rejection::HarnessRejection,
    reworded_request: reworded_request::RewordedRequest,
    same_answer: same_answer::SameAnswer,
    no_new_information: no_new_information::NoNewInformation,
    no_effect: no_effect::NoEffect,
    remade_change: streaks::RemadeChange,
    stagnation: stagnation::Stagnation,
    duplicate_delegation: duplicate_delegation::DuplicateDelegation,
    empty_handed: empty_handed::EmptyHanded,
    blind_repeat: streaks::BlindRepeat,
    counter: counter::Counters,
    stream_period: stream_period::StreamPeriod,
    stream_novelty: stream_novelty::StreamNovelty,
    monologue: monologue::Monologue,
    stale_talk: stale_talk::StaleTalk,
    blank_turns: streaks::BlankTurns,
    continuation_loop: continuation_loop::ContinuationLoop,
    hook_loop: streaks::HookLoop,
    compaction_loop: streaks::CompactionLoop,
    output_signature: output_signature::OutputSignature,
    task_attempts: task_attempts::TaskAttempts,
    task_cycle: task_cycle::TaskCycle,
    phase_visits: phase_visits::PhaseVisits,
    phase_transitions: phase_transitions::PhaseTransitions,
    phase_cycle: phase_cycle::PhaseCycle,
    output_similarity: output_similarity::OutputSimilarity,
    oscillation: stall::Oscillation,
    identical_output: stall::IdenticalOutput,
    unchanged_diff: stall::UnchangedDiff,
    unchanged_failures: stall::UnchangedFailures,
    task_loop: task_loop::TaskLoop,
    external_failure: external_failure::ExternalFailure,
    repeated_failure: repeated_failure::RepeatedFailure,
    no_tests: no_tests::NoTests,
    consecutive_errors: streaks::ConsecutiveErrors,
}

impl States {
    /// Visits and the latest phases, per task.
    pub(crate) fn phases(&self) -> ByName<PhaseStanding> {
        let mut standings = self.phase_visits.status();
        self.phase_cycle.add_walks(&mut standings);
        standings
    }

    /// The actual bytes that [`Self::weight`] estimates.
    #[cfg(test)]
    pub(crate) fn task_bytes(&self) -> usize {
        let mut bytes = Vec::new();
        self.task_loop.put(&mut bytes);
        self.task_attempts.put(&mut bytes);
        self.phase_visits.put(&mut bytes);
        self.phase_transitions.put(&mut bytes);
        self.phase_cycle.put(&mut bytes);
        self.external_failure.put(&mut bytes);
        self.no_tests.put(&mut bytes);
        bytes.len()
    }
}

/// Every rule, in the order of checks, for documentation and tools.
#[must_use]
pub fn rules() -> Vec<RuleInfo> {
    RULES.iter().zip(ABOUT).map(|(rule, about)| info(rule, about, &rule.limits)).collect()
}

/// Every enabled rule, with the thresholds in force.
pub(crate) fn in_force(limits: &[Limits; RULES.len()]) -> Vec<RuleInfo> {
    let rules = RULES.iter().zip(ABOUT).zip(limits).filter(|(_, limits)| limits.enabled);
    rules.map(|((rule, about), limits)| info(rule, about, limits)).collect()
}

fn info(rule: &Description, about: &'static str, limits: &Limits) -> RuleInfo {
    let Limits { nudge, block, gate, halt, window, .. } = *limits;
    let most = (rule.reach)(window);
    RuleInfo { id: rule.id, about, unit: rule.unit, nudge, block, gate, halt, window, most }
}

/// The rule with that id.
pub(crate) fn description(id: &str) -> Option<&'static Description> {
    RULES.iter().find(|rule| rule.id == id)
}

/// How the outcome of a call reads in a sentence.
pub(crate) fn outcome_words(outcome: Outcome, failed: bool) -> &'static str {
    match outcome {
        Outcome::Ok if failed => "a non-zero exit code",
        Outcome::Ok => "the same answer",
        Outcome::Error => "the same error",
        Outcome::Denied => "a refusal",
        Outcome::Invalid => "a rejection of its arguments",
        Outcome::UnknownTool => "the answer that there is no such tool",
        Outcome::NotExecuted => "no execution",
        Outcome::Timeout => "a timeout",
    }
}

/// Rungs of the ladder, weakest first, with the threshold of each.
pub(crate) fn rungs(limits: &Limits) -> [(Level, u32); 4] {
    [(Level::Nudge, limits.nudge), (Level::Block, limits.block), (Level::Gate, limits.gate), (Level::Halt, limits.halt)]
}
