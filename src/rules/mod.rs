//! One loop, one file, one trait.
//!
//! A rule sees [`Fact`]s, keeps its own bounded state and answers with a [`Signal`] once its evidence reaches the
//! lowest rung of its ladder. It knows neither levels nor verdicts: `policy` turns signals into those. To add a
//! rule, write its file and add one line to the [`registry!`] below.

mod blank_turns;
mod blind_repeat;
mod compaction_loop;
mod consecutive_errors;
mod continuation_loop;
mod cycle;
mod hook_loop;
mod limits;
mod max_iterations;
mod max_runtime;
mod monologue;
mod output_signature;
mod repeated_call;
mod repeated_error;
mod settings;
mod stream_novelty;
mod stream_period;
mod streams;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use limits::Limits;
pub(crate) use settings::{Settings, ToolSettings};

use crate::model::{
    Body, Config, Event, HaltReason, Host, Level, Message, Outcome, Recommendation, Record, Recovery, Role, RuleInfo,
    ToolCall, ToolResult,
};
use crate::state::{Call, Onset, Run, Sighting, Step};
use crate::text::Key;
use alloc::{borrow::Cow, string::String, vec::Vec};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// What a rule judges.
#[derive(Debug)]
pub(crate) enum Fact<'a> {
    /// Any event at all, before it is looked at more closely: for rules about the run as a whole.
    Tick,
    /// A call that is about to run, and its payload.
    Call(&'a Call, &'a ToolCall),
    /// A call and what came of it, and the result's payload.
    Step(&'a Step, &'a ToolResult),
    /// The whole output of one iteration: its signature and its first line, shortened.
    Output { signature: &'a str, line: &'a str },
    /// Any other event that the host did not make itself.
    Event(&'a Event),
    /// Any event but a call or a result that the host did make itself: never evidence of what the agent does.
    Synthetic(&'a Event),
}

impl<'a> Fact<'a> {
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
    /// Key of the task that this task is a part of.
    pub(crate) parent_task: Option<Key>,
    /// The run, without its rules.
    pub(crate) run: RunView,
    /// The event as evidence, its key still to be set by the rule.
    pub(crate) here: Sighting,
    /// The event as a possible onset.
    pub(crate) onset: Onset,
}

/// The figures of the run that rules need.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunView {
    pub(crate) now: Option<i64>,
    pub(crate) started: Option<i64>,
    pub(crate) iterations: u32,
    pub(crate) new_mutations: u64,
    pub(crate) steps: u64,
}

impl RunView {
    pub(crate) fn of(run: &Run) -> Self {
        Self {
            now: run.now,
            started: run.started,
            iterations: run.iterations.count(),
            new_mutations: run.new_mutations,
            steps: run.steps,
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
    pub(crate) signature: String,
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
    /// Characters of the stream that began at the onset before it starts to repeat.
    pub(crate) onset_offset: Option<u64>,
}

/// What to tell the agent and the host.
#[derive(Clone, Debug)]
pub(crate) struct Advice {
    /// What repeated and what came of it each time: factual, one or two sentences.
    pub(crate) what: Cow<'static, str>,
    /// One concrete alternative.
    pub(crate) instead: &'static str,
    pub(crate) recommendation: Recommendation,
    pub(crate) halt_reason: HaltReason,
}

/// One kind of loop.
pub(crate) trait Rule {
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

    /// The rule's memory of a run, bounded.
    type State: Clone + core::fmt::Debug + Default + Serialize + DeserializeOwned;

    /// The most evidence the rule can ever hold with a window; thresholds above it are unreachable.
    fn reach(_window: u32) -> u32 {
        u32::MAX
    }

    /// Takes a fact in and answers with the evidence it adds up to.
    fn observe(state: &mut Self::State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal>;

    /// Forgets what is kept about one task, which is done or in a human's hands; 0 is the task without a name. For rules
    /// with [`Self::OUTLIVES_EVIDENCE`].
    fn forget_task(_state: &mut Self::State, _task: Key) {}

    /// The most evidence held now.
    fn standing(state: &Self::State) -> u32;

    /// Whether a restored state is within its caps.
    fn fits(state: &Self::State) -> bool;

    /// The latest occurrences in words, where the rule keeps them: lines for a report.
    fn story(_state: &Self::State) -> Vec<String> {
        Vec::new()
    }
}

/// A rule's constants, for settings, documentation and errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Description {
    pub(crate) id: &'static str,
    pub(crate) about: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) limits: Limits,
    pub(crate) max_window: u32,
    pub(crate) reach: fn(u32) -> u32,
}

/// A signal and the rule it came from, as an index into [`RULES`].
pub(crate) type Raised = (usize, Signal);

macro_rules! registry {
    ($($name:ident: $rule:ty),* $(,)?) => {
        /// Every rule, in the order of checks: at equal level the earlier one leads.
        pub(crate) const RULES: &[Description] = &[$(Description {
            id: <$rule>::ID,
            about: <$rule>::ABOUT,
            unit: <$rule>::UNIT,
            limits: <$rule>::LIMITS,
            max_window: <$rule>::MAX_WINDOW,
            reach: <$rule>::reach,
        }),*];

        /// Every rule's memory of a run.
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        pub(crate) struct States {
            $($name: <$rule as Rule>::State),*
        }

        impl States {
            /// Shows a fact to every enabled rule and collects what they raise.
            pub(crate) fn observe<'a>(
                &mut self,
                fact: &Fact<'_>,
                limits: &'a [Limits; RULES.len()],
                cx: impl Fn(&'a Limits) -> Cx<'a>,
                raised: &mut Vec<Raised>,
            ) {
                let mut limits = limits.iter().enumerate();
                $(
                    if let Some((index, limits)) = limits.next()
                        && limits.enabled
                        && let Some(signal) = <$rule>::observe(&mut self.$name, fact, &cx(limits))
                    {
                        raised.push((index, signal));
                    }
                )*
            }

            /// Drops the evidence of every rule whose evidence a human's message ends.
            pub(crate) fn forget(&mut self) {
                $(if !<$rule>::OUTLIVES_EVIDENCE { self.$name = Default::default(); })*
            }

            /// Drops what every rule keeps about one task.
            pub(crate) fn forget_task(&mut self, task: Key) {
                $(<$rule>::forget_task(&mut self.$name, task);)*
            }

            /// The most evidence each rule holds.
            pub(crate) fn standings(&self) -> [u32; RULES.len()] {
                [$(<$rule>::standing(&self.$name)),*]
            }

            /// Each rule's latest occurrences in words.
            pub(crate) fn story(&self, rule: &str) -> Vec<String> {
                $(if rule == <$rule>::ID { return <$rule>::story(&self.$name); })*
                Vec::new()
            }

            pub(crate) fn fit(&self) -> bool {
                true $(&& <$rule>::fits(&self.$name))*
            }
        }
    };
}

registry! {
    max_iterations: max_iterations::MaxIterations,
    max_runtime: max_runtime::MaxRuntime,
    repeated_call: repeated_call::RepeatedCall,
    cycle: cycle::Cycle,
    repeated_error: repeated_error::RepeatedError,
    blind_repeat: blind_repeat::BlindRepeat,
    stream_period: stream_period::StreamPeriod,
    stream_novelty: stream_novelty::StreamNovelty,
    monologue: monologue::Monologue,
    blank_turns: blank_turns::BlankTurns,
    continuation_loop: continuation_loop::ContinuationLoop,
    hook_loop: hook_loop::HookLoop,
    compaction_loop: compaction_loop::CompactionLoop,
    output_signature: output_signature::OutputSignature,
    consecutive_errors: consecutive_errors::ConsecutiveErrors,
}

/// Every rule, in the order of checks, for documentation and tools.
#[must_use]
pub fn rules() -> Vec<RuleInfo> {
    let info = |rule: &Description| {
        let Limits { nudge, block, gate, halt, window, .. } = rule.limits;
        RuleInfo { id: rule.id, about: rule.about, unit: rule.unit, nudge, block, gate, halt, window }
    };
    RULES.iter().map(info).collect()
}

/// The index of a rule in [`RULES`].
pub(crate) fn index_of(id: &str) -> Option<usize> {
    RULES.iter().position(|rule| rule.id == id)
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
