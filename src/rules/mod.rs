//! One loop, one rule: a file with the trait [`Rule`], or a row of a family that has it.
//!
//! A rule sees [`Fact`]s, keeps its own bounded state and answers with a [`Signal`] once its evidence reaches the
//! lowest rung of its ladder. It knows no verdicts: `policy` turns signals into those. To add a
//! rule, write its file and add one line to the [`registry!`] below.

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

use crate::codec::{Codec, Reader};
use crate::model::{
    Body, Budgets, Config, Event, HaltReason, Host, Level, Message, Metrics, Outcome, PhaseStanding, Recommendation,
    Record, Recovery, Role, RuleInfo, ToolCall, ToolResult,
};
use crate::state::{Call, Flow, Onset, Run, Sighting, Step, TASKS, Whose};
use crate::text::{Digests, Goal, Key, Named, printable, request_goal, shown, word_hashes};
use alloc::{borrow::Cow, boxed::Box, collections::BTreeMap, format, string::String, vec::Vec};
use core::cell::{OnceCell, RefCell};
use serde_json::Value;
use smol_str::{SmolStr, SmolStrBuilder};

/// Words of an argument that are looked at.
const WORDS: usize = 64;

/// Characters that the name of a task or a phase may have: it is kept and shown in full.
pub(crate) const LONGEST_NAME: usize = 512;

/// Characters of a task's name in messages, reports and status.
const TASK_NAME: usize = LONGEST_NAME;

/// A task's name as it is shown.
pub(crate) fn task_name(task: &str) -> String {
    printable(task, TASK_NAME).into_owned()
}

/// Whether a rule counts what a part of a task does for the task.
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

/// Whether forgetting `which` forgets `task`. A reset or an answer that names no task is about the run as a whole: what
/// a human has cleared must not block again at once.
fn forgets(which: Key, task: Key) -> bool {
    which == 0 || which == task
}

/// What a rule judges.
#[derive(Debug)]
pub(crate) enum Fact<'a> {
    /// Any event at all, before it is looked at more closely: for rules about the run as a whole.
    Tick,
    /// A call that is about to run, and its payload.
    Call(&'a Call, &'a Payload<'a>),
    /// A call and what came of it, and the result's payload.
    Step(&'a Step, &'a ToolResult),
    /// A thing that the host reports under a key of its own, as a call of that name: its tool rules do not see it.
    Custom(&'a Step),
    /// The whole output of one iteration, its signature, how many tests it says fail, and its first line, shortened.
    Output { text: &'a str, signature: &'a str, failing: Option<u32>, line: &'a str },
    /// A call that is settled without having run, where it is known, and what the harness said of it: nothing where the
    /// host answered in the tool's stead.
    NotRun(Option<&'a Call>, Option<&'a ToolResult>),
    /// A message of the user's own.
    Heard(&'a Message),
    /// Any other event that the host did not make itself.
    Event(&'a Event),
    /// Any event but a call or a result that the host did make itself: never evidence of what the agent does.
    Synthetic(&'a Event),
}

/// What a call was made with.
#[derive(Debug)]
pub(crate) struct Payload<'a> {
    pub(crate) call: &'a ToolCall,
    /// What the tool's name tells.
    pub(crate) named: Named,
    /// Another agent of the run that it names.
    pub(crate) to: Option<Key>,
    goal: OnceCell<Option<Goal>>,
    words: OnceCell<Vec<u32>>,
}

impl<'a> Payload<'a> {
    pub(crate) fn new(call: &'a ToolCall, named: Named, to: Option<Key>) -> Self {
        Self { call, named, to, goal: OnceCell::new(), words: OnceCell::new() }
    }

    /// The words of the texts among its arguments, as [`word_hashes`] tells them: what an answer repeats of them is no
    /// news.
    pub(crate) fn words(&self) -> &[u32] {
        self.words.get_or_init(|| {
            let mut words = Vec::with_capacity(WORDS);
            for (_, value) in self.call.args.as_ref().and_then(Value::as_object).into_iter().flatten() {
                words.extend(word_hashes(value.as_str().unwrap_or_default()).take(WORDS));
            }
            words
        })
    }

    /// What the call asks for: read where a rule asks, and once.
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

/// Kinds of facts, so that a rule is only bothered with those that can tell it something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts(u16);

impl Facts {
    pub(crate) const TICK: Self = Self(1);
    pub(crate) const CALL: Self = Self(1 << 1);
    pub(crate) const STEP: Self = Self(1 << 2);
    pub(crate) const OUTPUT: Self = Self(1 << 3);
    pub(crate) const NOT_RUN: Self = Self(1 << 4);
    /// An event that is a message.
    pub(crate) const MESSAGE: Self = Self(1 << 5);
    /// An event that is a piece of streamed text.
    pub(crate) const DELTA: Self = Self(1 << 6);
    /// An event of the host's, not called synthetic.
    pub(crate) const HOST: Self = Self(1 << 7);
    /// Any other event: what a workflow reports of itself.
    pub(crate) const REPORT: Self = Self(1 << 8);
    pub(crate) const SYNTHETIC: Self = Self(1 << 9);
    pub(crate) const CUSTOM: Self = Self(1 << 10);
    /// A message of the user's own.
    pub(crate) const HEARD: Self = Self(1 << 11);
    pub(crate) const ALL: Self = Self((1 << 12) - 1);

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether any kind is in both.
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
            Fact::Heard(_) => Facts::HEARD,
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

    /// The agent's own whole message, and the event it came in.
    pub(crate) fn spoken(&self) -> Option<(&'a Event, &'a Message)> {
        match self {
            Fact::Event(event) => match &event.body {
                Body::Message(message) if message.role == Role::Assistant => Some((event, message)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Something that the host did, whether or not it called it synthetic.
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

/// What a rule may ask of its surroundings.
#[derive(Debug)]
pub(crate) struct Cx<'a> {
    /// The thresholds in force for this rule and tool.
    pub(crate) limits: &'a Limits,
    /// The configuration, for what is no threshold.
    pub(crate) config: &'a Config,
    /// Key of the event's task; 0 where it names none.
    pub(crate) task: Key,
    /// Key of the event's agent; 0 where it names none.
    pub(crate) agent: Key,
    /// Key of the task that this task is a part of.
    pub(crate) parent_task: Option<Key>,
    /// The run, without its rules.
    pub(crate) run: RunView,
    /// The run as a workflow; a turn, delivery or reading of progress is already counted in.
    pub(crate) flow: Flow<'a>,
    /// The event as evidence, its key still to be set by the rule.
    pub(crate) here: Sighting,
    /// The event as a possible onset.
    pub(crate) onset: Onset,
    /// The detector's, for keys of what strangers write.
    pub(crate) salt: u64,
    /// Digests that were shown lately.
    pub(crate) digests: &'a RefCell<Digests>,
}

impl Cx<'_> {
    /// A printable name for what repeats, which shows nothing of it: a word, and a part of its digest.
    pub(crate) fn named(&self, what: &str, mark: char, key: Key) -> SmolStr {
        let digest = shown(self.digests, key);
        let mut name = SmolStrBuilder::new();
        name.push_str(what);
        name.push(mark);
        name.push_str(digest.get(..8).unwrap_or_default());
        name.finish()
    }
}

/// The figures of the run that rules need.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunView {
    pub(crate) now: Option<i64>,
    pub(crate) started: Option<i64>,
    pub(crate) iterations: u32,
    /// New mutations of the task, and of the agent at hand.
    pub(crate) new_mutations: u64,
    pub(crate) own_mutations: u64,
    pub(crate) steps: u64,
    /// No other agent has a part in the task at hand.
    pub(crate) alone: bool,
    /// Whose calls all those before were, where they were one agent's.
    pub(crate) first: Option<Key>,
}

impl RunView {
    /// What the run has used of its budgets, and nothing else.
    pub(crate) fn spent(run: &Run) -> Self {
        Self { now: run.now, started: run.started, iterations: run.iterations.count(), ..Self::default() }
    }

    pub(crate) fn of(run: &Run) -> Self {
        let alone = run.standings.one_agent(run.lanes.here());
        Self {
            new_mutations: run.counted.new_mutations.into(),
            own_mutations: run.counted.mutations_of(run.standings.agent()),
            steps: run.counted.steps,
            alone,
            first: if alone { None } else { run.standings.first(run.lanes.here()) },
            ..Self::spent(run)
        }
    }
}

/// A rule's evidence, at or above the lowest rung of its ladder.
#[derive(Clone, Debug)]
pub(crate) struct Signal {
    /// The rule's case.
    pub(crate) kind: &'static str,
    /// What repeats: the ladder remembers what was said about it.
    pub(crate) identity: Key,
    /// The evidence, in the rule's own unit.
    pub(crate) count: u32,
    /// Thresholds are multiplied by this: 3 where waiting is expected, else 1.
    pub(crate) scale: u32,
    pub(crate) period: Option<u32>,
    pub(crate) onset: Onset,
    /// The latest events of the loop, oldest first.
    pub(crate) sightings: Vec<Sighting>,
    /// Per mille.
    pub(crate) confidence: u16,
    /// What repeats, printable.
    pub(crate) signature: SmolStr,
    /// One sentence for a log or a person.
    pub(crate) message: String,
    pub(crate) advice: Advice,
    /// The level the rule asks for, where its limits do not decide; its threshold is then `count`.
    pub(crate) ask: Option<Level>,
    pub(crate) extra: Extra,
}

/// What some rules have to say beyond a finding.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra {
    /// The recommendation holds even where there is no finding, or one that is only for logs.
    pub(crate) recommend: bool,
    /// The threshold, where the rule asks for a level itself.
    pub(crate) threshold: Option<u32>,
    /// The metrics have counted this loop already.
    pub(crate) counted: bool,
    /// What few rules have: a signal is moved often.
    pub(crate) more: Option<Box<More>>,
    /// Characters of the stream that began at the onset before it starts to repeat.
    pub(crate) onset_offset: Option<u64>,
    /// What one more call of the loop adds to the count, or one more lap of its period; only of a rule that knows its
    /// loop by the call alone, before it runs.
    pub(crate) each: Option<u32>,
    /// The level the rule asks for is the most, in a relapse as well.
    pub(crate) only_told: bool,
}

impl Extra {
    /// What few rules have.
    pub(crate) fn more(&self) -> &More {
        const NOTHING: &More = &More {
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

/// What is for others than the agent, and needs a text or a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct More {
    /// An outside judge is asked, with this summary. With `ask: Some(Level::Continue)` that is all the signal says.
    pub(crate) question: Option<String>,
    /// What an orchestrator should put into its context.
    pub(crate) recovery: Option<Recovery>,
    /// The label a gate carries.
    pub(crate) label: Option<String>,
    /// What the host or a human can do, instead of the policy's own list.
    pub(crate) actions: Vec<String>,
    /// Telemetry.
    pub(crate) records: Vec<Record>,
    /// Why it counts, in a judge's words where one was asked.
    pub(crate) reasoning: Option<String>,
}

impl From<More> for Extra {
    fn from(more: More) -> Self {
        Self { more: Some(Box::new(more)), ..Self::default() }
    }
}

/// What a rule says of a loop, in its own words.
pub(crate) struct Told {
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

impl Told {
    /// That as a signal, with nothing more to say. Once in the program, for it is large.
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
    /// The same, with what repeated and what came of it told in other words than the message.
    pub(crate) fn what(mut self, what: impl Into<Cow<'static, str>>) -> Self {
        self.advice.what = Some(what.into());
        self
    }

    /// Adds that calls of the loop were refused `before`, and with this one made `again` although they were.
    pub(crate) fn insist(&mut self, before: u32, again: u32, each: u32) {
        if before == 0 {
            return;
        }
        let more = again.saturating_mul(each).checked_div(self.period.unwrap_or(1)).unwrap_or(0);
        self.count = self.count.saturating_add(more);
        let refusals = if before == 1 { "a refusal".into() } else { format!("{before} refusals") };
        self.message = format!("{}, and it goes on after {refusals}", self.message);
        self.advice.what = None;
    }
}

/// Failures on one target from which it is no search through many.
const ON_ONE: usize = 3;

/// Whether all of these are on targets, and hardly any on one of them again: a search, or a batch. One that is `None`
/// is neither, and a target of 0 none.
pub(crate) fn elsewhere(targets: impl Iterator<Item = Option<u32>> + Clone) -> bool {
    targets.clone().all(|own| {
        own.is_some_and(|own| own != 0 && targets.clone().filter(|other| *other == Some(own)).count() < ON_ONE)
    })
}

/// How many, as evidence is counted.
pub(crate) fn many(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A signal of a loop that is known by its next call before that runs: what one more adds. Where it is advice, that
/// call is not refused.
pub(crate) fn foreseen(mut signal: Signal, each: u32, told: bool, cx: &Cx<'_>) -> Signal {
    signal.extra.each = Some(each);
    if told { only_told(signal, cx) } else { signal }
}

/// A signal that is advice, however much evidence there is.
pub(crate) fn only_told(mut signal: Signal, cx: &Cx<'_>) -> Signal {
    if cx.limits.nudge != 0 && signal.count >= cx.limits.nudge.saturating_mul(signal.scale) {
        signal.ask = Some(Level::Nudge);
        signal.extra.threshold = Some(cx.limits.nudge);
    }
    signal.extra.each = None;
    signal.extra.only_told = true;
    signal
}

/// What to tell the agent and the host.
#[derive(Clone, Debug)]
pub(crate) struct Advice {
    /// What repeated and what came of it each time: factual, one or two sentences. Where there is nothing, the message.
    pub(crate) what: Option<Cow<'static, str>>,
    /// One concrete alternative.
    pub(crate) instead: &'static str,
    pub(crate) recommendation: Recommendation,
    pub(crate) halt_reason: HaltReason,
}

/// One kind of loop.
pub(crate) trait Rule: Sized {
    /// Stable id, kebab-case.
    const ID: &'static str;
    /// One sentence for the table of rules.
    const ABOUT: &'static str;
    /// What `count` counts.
    const UNIT: &'static str;
    /// The balanced thresholds and window.
    const LIMITS: Limits;
    /// Largest window the rule can keep; 0 where it has none.
    const MAX_WINDOW: u32 = 0;
    /// Whether the evidence outlives a human's message and a completed task.
    const OUTLIVES_EVIDENCE: bool = false;
    /// Whether its evidence is kept apart for each task that events name, as that of calls, texts and streams is. The
    /// others keep tasks apart themselves, or are about the run.
    const IN_LANE: bool = !Self::OUTLIVES_EVIDENCE;
    /// The facts that change the rule's mind or memory; it is not shown others.
    const SEES: Facts = Facts::ALL;

    /// All that it says of a call that is about to run is in [`Self::ahead`], and nothing that the call changes is
    /// looked at there: that is in [`Self::called`]. Then a `check` needs no copy of its memory.
    const LOOKS_AHEAD: bool = false;

    /// The budget that is the rule's halt threshold.
    const BUDGET: Option<Budget> = None;
    /// What it limits is what the run has spent, whoever spent it.
    const OF_RUN: bool = false;
    /// What it says is of texts alone, whatever calls tell it: no tool has thresholds of its own for it.
    const OF_TEXT: bool = false;
    /// What a person can answer to its report, as title and effect, where a document says so; otherwise the report
    /// makes it of what the finding recommends.
    const ANSWERS: &'static [(&'static str, &'static str)] = &[];
    /// The counter of events that the rule refused, beside its own.
    const REFUSED: Option<fn(&mut Metrics) -> &mut u64> = None;

    /// The rule's memory of a run, bounded.
    type State: Clone + core::fmt::Debug + Default + Codec;

    /// The most evidence the rule can ever hold with a window; thresholds above it are unreachable. 0 where
    /// they are set elsewhere: in a section of the configuration, under `budgets`, by each counter.
    fn reach(_window: u32) -> u32 {
        let configured = matches!(Self::LIMITS, Limits { nudge: 0, block: 0, gate: 0, halt: 0, .. });
        if configured && Self::BUDGET.is_none() { 0 } else { u32::MAX }
    }

    /// Takes any event at all in, for rules that see [`Facts::TICK`], and tells whether there may be something to be
    /// said of it: only then they are shown it.
    fn tick(_state: &mut Self::State, _run: &RunView, _limits: &Limits) -> bool {
        true
    }

    /// Whether a fact may be anything to it as it stands, told by a glance: most calls and steps are nothing to most
    /// rules, and asking [`Self::observe`] costs more. A rule that [`Self::LOOKS_AHEAD`] heeds every call.
    fn heeds(_state: &Self::State, _fact: &Fact<'_>, _cx: &Cx<'_>) -> bool {
        true
    }

    /// Takes a fact in and answers with the evidence it adds up to.
    fn observe(state: &mut Self::State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal>;

    /// The evidence that a call adds up to which is about to run, for rules that [`Self::LOOKS_AHEAD`].
    fn ahead(_state: &Self::State, _call: &Call, _cx: &Cx<'_>) -> Option<Signal> {
        None
    }

    /// Notes a call that is about to run, for rules that [`Self::LOOKS_AHEAD`].
    fn called(_state: &mut Self::State, _call: &Call, _payload: &Payload<'_>) {}

    /// Drops what it keeps of tasks that are `gone`, where it keeps tasks apart itself.
    fn drop_tasks(_state: &mut Self::State, _gone: &dyn Fn(Key) -> bool) {}

    /// Forgets what is kept about one task, which is done or in a human's hands; 0 is the task without a name, or none
    /// in particular.
    fn forget_task(state: &mut Self::State, task: Key) {
        Self::drop_tasks(state, &|own| forgets(task, own));
    }

    /// Drops one task to make room.
    fn drop_task(state: &mut Self::State, task: Key) {
        Self::drop_tasks(state, &|own| own == task);
    }

    /// Bytes that it takes at most of what is kept per task, where that is bounded for all rules together.
    fn weight(_state: &Self::State) -> usize {
        0
    }

    /// Drops the older half of what it keeps about the parts of tasks; says how many those were.
    fn shed(_state: &mut Self::State) -> u64 {
        0
    }

    /// Parts of tasks that were dropped at their caps since this was last asked.
    fn take_lost(_state: &mut Self::State) -> u64 {
        0
    }

    /// The most evidence held now, by a rule that keeps it in lanes or of the run. It says this, or [`Self::outlook`].
    fn standing(_state: &Self::State) -> u32 {
        0
    }

    /// The most evidence held about a scope, lanes apart. What a rule does not keep by task or agent is the run's and
    /// nobody else's.
    fn standing_of(state: &Self::State, whose: &Whose, _flow: &Flow<'_>) -> u32 {
        if !Self::IN_LANE && *whose == Whose::default() { standing::<Self>(state) } else { 0 }
    }

    /// Where it stands in a lane, for rules whose thresholds are not the same for all that they look at.
    fn outlook(state: &Self::State, view: &View<'_>) -> Outlook {
        view.of(standing::<Self>(state))
    }

    /// Where it stands with a scope, lanes apart.
    fn outlook_of(state: &Self::State, whose: &Whose, flow: &Flow<'_>, view: &View<'_>) -> Outlook {
        view.of(Self::standing_of(state, whose, flow))
    }

    /// Whether a restored state is within its caps. A rule that keeps no more than a number has none.
    fn fits(_state: &Self::State) -> bool {
        const { assert!(size_of::<Self::State>() <= size_of::<u32>(), "a memory with room for more has caps") };
        true
    }

    /// The latest occurrences in words, where the rule keeps them, of one task and agent: lines for a report.
    fn story(_state: &Self::State, _whose: &Whose) -> Vec<String> {
        Vec::new()
    }
}

/// A field of the configuration's `budgets`; 0 for no budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) field: &'static str,
    pub(crate) of: fn(&Budgets) -> u64,
}

/// A rule's constants, for settings, documentation and errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Description {
    pub(crate) id: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) limits: Limits,
    pub(crate) max_window: u32,
    /// Its evidence is a task's, whoever works on it; that of the others is an agent's.
    pub(crate) outlives: bool,
    /// It knows one task at a time.
    pub(crate) in_lane: bool,
    pub(crate) reach: fn(u32) -> u32,
    pub(crate) budget: Option<Budget>,
    /// What it limits is the run's, not a task's or an agent's.
    pub(crate) of_run: bool,
    pub(crate) answers: &'static [(&'static str, &'static str)],
    pub(crate) refused: Option<fn(&mut Metrics) -> &mut u64>,
    /// Whether it looks at calls or their outcomes.
    pub(crate) of_calls: bool,
    /// What it says is of texts alone.
    pub(crate) of_text: bool,
}

impl Description {
    /// Whether settings of a tool can change what it says.
    pub(crate) const fn per_tool(&self) -> bool {
        self.of_calls && !self.of_text
    }
}

/// A signal and the rule it came from, as an index into [`RULES`].
pub(crate) type Raised = (usize, Signal);

/// Once in the program for each rule, however many kinds of facts it is asked about.
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

/// Once in the program: a signal is large, and there are many places where one may be raised. It is moved out of where
/// it was made only here.
#[inline(never)]
fn raise(raised: &mut Vec<Raised>, index: usize, signal: Option<Signal>) {
    raised.extend(signal.map(|signal| (index, signal)));
}

#[inline(never)]
fn standing<R: Rule>(state: &R::State) -> u32 {
    R::standing(state)
}

/// Where every rule stands.
pub(crate) type Outlooks = [Outlook; RULES.len()];

/// Forgets everything: once for each kind of memory, however many occasions there are.
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

        /// What each of them sees, in a sentence: apart, so that a module that only judges is without these texts.
        pub(crate) const ABOUT: &[&str] = &[$(<$rule>::ABOUT),*];

        /// Every rule's memory of a run.
        #[derive(Debug, Default)]
        pub(crate) struct States {
            $(pub(crate) $name: <$rule as Rule>::State),*
        }

        impl Clone for States {
            fn clone(&self) -> Self {
                self.copied(true)
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
            /// Shows a fact to every enabled rule that wants it and collects what they raise. `cx` is the fact's
            /// surroundings with any limits. Which rules want a kind of fact is known when this is compiled. Where the
            /// lane at hand is another task's (`apart`), the rules that keep evidence in it are not shown the fact.
            /// `before` is what this is a copy of [for a call](Self::before_call).
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
                    // What is rare shares the code that asks every rule.
                    _ => self.show::<{ Facts::ALL.0 }>(None, fact, limits, cx, apart, raised),
                }
            }

            /// The same for facts of the kinds `KINDS`.
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
                // What most events are: such a one is of the lane at hand, and rules are spared it.
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

            /// Takes any event at all in, and tells whether it has to be shown.
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

            /// A copy to judge a call on: a rule that sees none has nothing to compare one with, and one that looks
            /// ahead is asked about its own memory.
            pub(crate) fn before_call(&self) -> Self {
                self.copied(false)
            }

            /// Once in the program, as what follows: a copy of the `whole`, or of what a call is judged on.
            #[inline(never)]
            fn copied(&self, whole: bool) -> Self {
                let kinds = Facts::TICK.and(Facts::CALL);
                Self {
                    $($name: if whole || <$rule as Rule>::SEES.meets(kinds) && !<$rule as Rule>::LOOKS_AHEAD {
                        self.$name.clone()
                    } else {
                        Default::default()
                    }),*
                }
            }

            /// Drops the evidence of every rule whose evidence a human's message ends.
            pub(crate) fn forget(&mut self) {
                $(if !<$rule>::OUTLIVES_EVIDENCE { empty(&mut self.$name); })*
            }

            /// Drops all that the rules know of one task's calls, texts and streams.
            pub(crate) fn forget_lane(&mut self) {
                $(if <$rule>::IN_LANE { empty(&mut self.$name); })*
            }

            /// Exchanges that with another task's.
            pub(crate) fn swap_lane(&mut self, other: &mut Self) {
                $(if <$rule>::IN_LANE { core::mem::swap(&mut self.$name, &mut other.$name); })*
            }

            /// Bytes of that.
            pub(crate) fn put_lane(&self, to: &mut Vec<u8>) {
                self.put_of(false, to);
            }

            /// That and nothing else.
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

            /// Where each rule stands in a lane: of the view, the limits are the rules' own.
            pub(crate) fn lane_outlooks(&self, limits: &[Limits; RULES.len()], view: View<'_>) -> Outlooks {
                let mut limits = limits.iter();
                [$({
                    let limits = limits.next().unwrap_or(view.limits);
                    if <$rule>::IN_LANE { <$rule>::outlook(&self.$name, &View { limits, ..view }) } else { Outlook::default() }
                }),*]
            }

            /// Drops what the work before a step forward is evidence for.
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

            /// Drops what every rule keeps about one task.
            pub(crate) fn forget_task(&mut self, task: Key) {
                $(<$rule>::forget_task(&mut self.$name, task);)*
            }

            /// Drops all that is kept about one task and nothing else.
            pub(crate) fn drop_task(&mut self, task: Key) {
                $(<$rule>::drop_task(&mut self.$name, task);)*
            }

            /// Bytes that the rules about tasks keep at most of what they keep per task.
            pub(crate) fn weight(&self) -> usize {
                0 $(+ <$rule>::weight(&self.$name))*
            }

            /// Drops the older half of what is kept about the parts of tasks; says how many those were.
            pub(crate) fn shed(&mut self) -> u64 {
                0 $(+ <$rule>::shed(&mut self.$name))*
            }

            /// Parts of tasks that were dropped at their caps since this was last asked.
            pub(crate) fn take_lost(&mut self) -> u64 {
                // Of a snapshot that somebody else has written they may be as large as numbers are.
                0_u64 $(.saturating_add(<$rule>::take_lost(&mut self.$name)))*
            }

            /// Where each rule stands with a scope, lanes apart.
            pub(crate) fn outlooks(
                &self,
                whose: &Whose,
                flow: &Flow<'_>,
                limits: &[Limits; RULES.len()],
                view: View<'_>,
            ) -> Outlooks {
                let mut limits = limits.iter();
                [$({
                    let limits = limits.next().unwrap_or(view.limits);
                    <$rule>::outlook_of(&self.$name, whose, flow, &View { limits, ..view })
                }),*]
            }

            /// A rule's latest occurrences in words, of one task and agent.
            pub(crate) fn story(&self, rule: &str, whose: &Whose) -> Vec<String> {
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
    /// Visits and the latest phases per task.
    pub(crate) fn phases(&self) -> BTreeMap<String, PhaseStanding> {
        let mut standings = self.phase_visits.status();
        self.phase_cycle.add_walks(&mut standings);
        standings
    }

    /// What [`Self::weight`] estimates.
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

/// Every enabled rule with thresholds in force.
pub(crate) fn in_force(limits: &[Limits; RULES.len()]) -> Vec<RuleInfo> {
    let rules = RULES.iter().zip(ABOUT).zip(limits).filter(|(_, limits)| limits.enabled);
    rules.map(|((rule, about), limits)| info(rule, about, limits)).collect()
}

fn info(rule: &Description, about: &'static str, limits: &Limits) -> RuleInfo {
    let Limits { nudge, block, gate, halt, window, .. } = *limits;
    let most = (rule.reach)(window);
    RuleInfo { id: rule.id, about, unit: rule.unit, nudge, block, gate, halt, window, most }
}

/// The rule of that id.
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
