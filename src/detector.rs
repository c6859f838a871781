//! The operations. One event goes through here in one pass: validated, judged, and settled with the store of runs.

mod judging;
mod status;
mod validate;

pub(crate) use validate::{DEPTH, is_blank};

use crate::codec::codec;
use crate::model::{
    self, Body, Config, Decision, Error, ErrorCode, Event, Level, Metrics, Record, Report, ResetReason, Scope, Status,
    Verdict,
};
use crate::policy::Judgement;
use crate::rules::{Fact, LONGEST_NAME, Settings, description, mismatch};
use crate::state::{Graph, Store, Whose, open, seal, task_key};
use crate::text::{self, Scratch, key};
use crate::{json, metrics, report};
use alloc::{format, string::String, string::ToString, vec::Vec};
use judging::{Judging, count, judge, tells_nothing_else};
use validate::{is_long, validate};

/// Raised by every change that can change a verdict.
pub const RULES_VERSION: u32 = 4;

/// The crate's version and [`RULES_VERSION`], as `0.1.0+rules.1`.
#[must_use]
pub fn version() -> String {
    format!("{}+rules.{RULES_VERSION}", env!("CARGO_PKG_VERSION"))
}

/// A loop detector for any number of runs.
///
/// It has no clock, no randomness and no global state: equal events in equal order give equal verdicts, for ever and
/// on every platform. `Clone` gives an independent detector with the same history.
///
/// ```
/// use loopwarden::{Detector, json, model::Level};
///
/// let mut detector = json::detector("{}")?;
/// let call = json::event(r#"{"type": "tool-call", "tool": "read", "args": {"path": "a.rs"}}"#)?;
/// let result = json::event(r#"{"type": "tool-result", "tool": "read", "outcome": "error", "output": "no such file"}"#)?;
/// for _ in 0..2 {
///     detector.record(&call)?;
///     assert_eq!(detector.record(&result)?.level, Level::Continue);
/// }
/// detector.record(&call)?;
/// assert_eq!(detector.record(&result)?.level, Level::Nudge);
/// # Ok::<(), loopwarden::model::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Detector {
    settings: Settings,
    state: State,
    /// Buffers that are reused; no part of the state.
    scratch: Scratch,
}

/// All that changes; a snapshot holds it after the configuration's JSON text.
#[derive(Clone, Debug, Default)]
struct State {
    seq: u64,
    metrics: Metrics,
    store: Store,
}
codec!(struct State { seq, metrics, store });

impl Detector {
    /// A detector with no history.
    ///
    /// # Errors
    /// `invalid-config`, naming the field that contradicts another or can never be reached.
    pub fn new(config: Config) -> Result<Self, Error> {
        let config = json::extended(config)?;
        let scratch = Scratch::salted(text::salt(config.privacy.salt.as_deref()));
        Ok(Self { settings: Settings::new(config)?, state: State::default(), scratch })
    }

    /// Appends an event and judges it.
    ///
    /// # Errors
    /// `invalid-event`, naming the field; the state is then exactly as it was.
    pub fn record(&mut self, event: &Event) -> Result<Verdict, Error> {
        if matches!(event.body, Body::Delta(_))
            && let Some(verdict) = self.goes_on(event)
        {
            return Ok(verdict);
        }
        self.take_in(event)
    }

    /// The same for any event.
    fn take_in(&mut self, event: &Event) -> Result<Verdict, Error> {
        validate(event)?;
        self.fits_earlier(event)?;
        let seq = self.state.seq;
        self.state.seq = seq.saturating_add(1);
        let metrics = &mut self.state.metrics;
        metrics.events = metrics.events.saturating_add(1);
        if !self.settings.config.enabled {
            return Ok(Verdict { seq, ..Verdict::default() });
        }
        let (run, forgotten) = self.state.store.enter(&event.context, seq, &self.settings.config.memory);
        metrics::forgot(metrics, forgotten);
        let Some(run) = run else { return Ok(Verdict { seq, ..Verdict::default() }) };
        let before = (run.rules.task_loop.totals(), run.evicted);
        let judgement = judge(&self.settings, &mut self.scratch, run, None, seq, event);
        metrics::remembered(metrics, before, (run.rules.task_loop.totals(), run.evicted));
        let cut_short = core::mem::take(&mut self.scratch.cut_short);
        metrics.patterns_cut_short = metrics.patterns_cut_short.saturating_add(cut_short.into());
        metrics::tally(metrics, judgement.as_ref(), event, &self.settings.config);
        self.settle();
        Ok(verdict(judgement, seq))
    }

    /// Records a piece of streamed text, of which there are most, without looking again at what the one before has
    /// settled: whose run it is, that its names are short, what the run weighs beside its streams. Nothing where it is
    /// not the next of the same agent; then nothing has changed.
    fn goes_on(&mut self, event: &Event) -> Option<Verdict> {
        let (context, config) = (&event.context, &self.settings.config);
        let is_short = |name: &Option<String>| name.as_ref().is_none_or(|name| name.len() <= LONGEST_NAME);
        if !config.enabled || context.synthetic || !is_short(&context.run) || !is_short(&context.agent) {
            return None;
        }
        let run = self.state.store.again(context, &config.memory)?;
        if !run.goes_on(context) {
            return None;
        }
        let (seq, metrics) = (self.state.seq, &mut self.state.metrics);
        self.state.seq = seq.saturating_add(1);
        metrics.events = metrics.events.saturating_add(1);
        if run.is_at_no_task() && tells_nothing_else(context) {
            run.enter_plainly(seq);
        } else {
            run.enter(seq, context, config.memory.idle_ms);
            count(&self.settings, run, event);
        }
        let mut judging = Judging::new(&self.settings, &mut self.scratch, &mut *run, event, context);
        judging.tick();
        judging.show(&Fact::Event(event));
        if judging.is_quiet() {
            judging.scratch.digests = judging.digests.take();
            run.standings.judged(Level::Continue, run.now);
            self.settle();
            return Some(Verdict { seq, ..Verdict::default() });
        }
        let before = (judging.run.rules.task_loop.totals(), judging.run.evicted);
        let judgement = judging.end();
        drop(judging);
        metrics::remembered(metrics, before, (run.rules.task_loop.totals(), run.evicted));
        metrics::tally(metrics, judgement.as_ref(), event, config);
        self.settle();
        Some(verdict(judgement, seq))
    }

    /// Keeps what all runs take together within its bound, after one has changed.
    fn settle(&mut self) {
        let forgotten = self.state.store.settle(self.state.seq, &self.settings.config.memory);
        metrics::forgot(&mut self.state.metrics, forgotten);
    }

    /// Judges an event that has not happened yet and changes nothing: equal to `clone().record(event)`.
    ///
    /// # Errors
    /// As [`Self::record`].
    pub fn check(&self, event: &Event) -> Result<Verdict, Error> {
        validate(event)?;
        self.fits_earlier(event)?;
        let seq = self.state.seq;
        if !self.settings.config.enabled {
            return Ok(Verdict { seq, ..Verdict::default() });
        }
        let run = self.state.store.peek(&event.context, &self.settings.config.memory);
        let judgement = match &event.body {
            Body::ToolCall(call) => {
                let (mut copy, before) = run.before_call(&event.context);
                let mut scratch = self.scratch.aside(key("tool", call.tool.as_bytes()));
                judge(&self.settings, &mut scratch, &mut copy, before, seq, event)
            }
            _ => {
                let mut scratch = Scratch::salted(self.scratch.salt);
                judge(&self.settings, &mut scratch, &mut run.into_owned(), None, seq, event)
            }
        };
        Ok(verdict(judgement, seq))
    }

    /// Where a scope stands. An unknown scope has `known: false` and nothing counted.
    #[must_use]
    pub fn status(&self, scope: &Scope) -> Status {
        status::status(&self.settings, self.state.store.get(scope), scope)
    }

    /// Forgets a scope's evidence and tells which counters of loops went back to zero. A scope that names no task is
    /// the run as a whole, with all of its tasks; one that names a task is that task alone.
    ///
    /// `task-completed` keeps budgets and exemptions, and the counter of the parent where the task is a part of
    /// another. `human-intervention` starts the scope's task over, or the run. `manual` starts the run over, whatever
    /// task the scope names, with the counters of its loops.
    pub fn reset(&mut self, scope: &Scope, reason: ResetReason) -> Vec<Record> {
        let metrics = &mut self.state.metrics;
        metrics.resets = metrics.resets.saturating_add(1);
        let task = scope.task.as_deref().map(task_key);
        let Some(run) = self.state.store.get_mut(scope) else { return Vec::new() };
        let of = if reason == ResetReason::Manual { None } else { task };
        metrics::resolve(metrics, &run.standings.sum(&Whose { task: of, ..Whose::default() }), run.now);
        let human = reason == ResetReason::HumanIntervention;
        let why = match reason {
            ResetReason::TaskCompleted => "Task completed successfully",
            ResetReason::HumanIntervention => "Human intervention",
            ResetReason::Manual => "Manual reset",
        };
        let cleared = run.rules.task_loop.clear(of, human);
        match (reason, task) {
            (ResetReason::Manual, _) | (ResetReason::HumanIntervention, None) => run.restart(),
            (ResetReason::TaskCompleted, task) => run.start_over(task, false),
            (ResetReason::HumanIntervention, task) => run.start_over(task, true),
        }
        let records = metrics::set_back(metrics, cleared, human, why, run.now);
        // A workflow that the host declared outlives the run's evidence.
        if human && task.is_none() && !run.workflow.is_declared() {
            self.state.store.remove(scope);
        }
        self.settle();
        records
    }

    /// Gives a run its workflow, in place of the configured or learned one. Cycles that are in both keep their
    /// counters; the graph stays when the run starts over, and goes when the run is forgotten.
    ///
    /// # Errors
    /// `invalid-argument`, naming the node or edge that is wrong; the workflow is then as it was.
    pub fn declare_graph(&mut self, scope: &Scope, graph: &model::Graph) -> Result<(), Error> {
        if scope.run.as_ref().is_some_and(|run| is_long(run)) {
            let message = format!("expected at most {LONGEST_NAME} characters");
            return Err(Error::new(ErrorCode::InvalidArgument, message).at("scope.run"));
        }
        let graph = Graph::declare(graph, ErrorCode::InvalidArgument, "graph.")?;
        let context = model::Context { run: scope.run.clone(), ..model::Context::default() };
        let seq = self.state.seq;
        let (run, forgotten) = self.state.store.enter(&context, seq, &self.settings.config.memory);
        if let Some(run) = run {
            // As recently used as the latest event: a run must not be forgotten before its first one.
            run.touched = run.touched.max(seq.saturating_sub(1));
            run.workflow.declare(graph);
        }
        metrics::forgot(&mut self.state.metrics, forgotten);
        self.settle();
        Ok(())
    }

    /// Takes a human's answer: `continue` re-arms every rule of the run, forgets what is kept about the scope's task,
    /// or about every task where it names none, and sets the counters of loops of those back; `stop` makes every later
    /// verdict of it `halt`, `exempt` silences one rule about one signature. Tells which counters went back to zero.
    ///
    /// # Errors
    /// `invalid-argument` for a scope that is not known or a rule that does not exist.
    pub fn acknowledge(&mut self, scope: &Scope, decision: &Decision) -> Result<Vec<Record>, Error> {
        let unknown = || Error::new(ErrorCode::InvalidArgument, "no event of this run was recorded").at("scope.run");
        let run = self.state.store.get_mut(scope).ok_or_else(unknown)?;
        let metrics = &mut self.state.metrics;
        match decision {
            Decision::Continue => {
                let whose = Whose { task: scope.task.as_deref().map(task_key), ..Whose::default() };
                metrics::resolve(metrics, &run.standings.sum(&whose), run.now);
                run.stopped = false;
                let cleared = run.rules.task_loop.clear(whose.task, true);
                run.start_over(whose.task, true);
                let records = metrics::set_back(metrics, cleared, true, "Human intervention", run.now);
                self.settle();
                return Ok(records);
            }
            Decision::Stop => run.stopped = true,
            Decision::Exempt { rule, signature, until } => {
                let rule = description(rule).ok_or_else(|| {
                    Error::new(ErrorCode::InvalidArgument, "unknown rule").at("decision.rule").with(rule)
                })?;
                run.ladder.exempt(rule.id, signature, *until);
                let counters = metrics.rules.entry(rule.id.to_string()).or_default();
                counters.acknowledged = counters.acknowledged.saturating_add(1);
            }
        }
        self.settle();
        Ok(Vec::new())
    }

    /// The whole state with its configuration, versioned and compact.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let config = self.config();
        seal(&json::config_text(config), &self.state, RULES_VERSION, config.privacy.salt.as_deref())
    }

    /// A detector from a snapshot: it goes on as the one that was snapshot would have.
    ///
    /// # Errors
    /// `snapshot-version` where another version of the rules wrote it; `invalid-snapshot` where it is truncated,
    /// foreign or corrupt. Nothing is ever half restored.
    pub fn restore(bytes: &[u8]) -> Result<Self, Error> {
        let (settings, state): (_, State) = open(bytes, RULES_VERSION, |config| {
            let settings = json::config(config).and_then(Settings::new);
            let salt = settings.as_ref().ok().and_then(|settings| settings.config.privacy.salt.clone());
            (settings, salt)
        })?;
        let corrupt = |reason: &str| Error::new(ErrorCode::InvalidSnapshot, reason).at("snapshot");
        let settings = settings.map_err(|error| corrupt(&format!("corrupt: {error}")))?;
        if !state.store.fits(&settings.config.memory) || !metrics::fits(&state.metrics) {
            return Err(corrupt("corrupt: more state than the configuration allows"));
        }
        let scratch = Scratch::salted(text::salt(settings.config.privacy.salt.as_deref()));
        Ok(Self { settings, state, scratch })
    }

    /// The machine-readable escalation report of a scope.
    #[must_use]
    pub fn report(&self, scope: &Scope) -> Report {
        report::report(scope, self.state.store.get(scope))
    }

    /// The escalation report of a scope for a person, in Markdown.
    #[must_use]
    pub fn report_markdown(&self, scope: &Scope) -> String {
        report::markdown(scope, self.state.store.get(scope))
    }

    /// Counters for dashboards.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        metrics::shown(&self.state.metrics, &self.state.store)
    }

    /// Refuses what contradicts an earlier event of the run.
    fn fits_earlier(&self, event: &Event) -> Result<(), Error> {
        match &event.body {
            Body::Collaboration(asking) if asking.embedding.is_some() => {
                let run = self.state.store.peek(&event.context, &self.settings.config.memory);
                mismatch(&run.rules, &event.context, asking)
            }
            _ => Ok(()),
        }
    }

    #[cfg(test)]
    pub(crate) fn run(&self, scope: &Scope) -> Option<&crate::state::Run> {
        self.state.store.get(scope)
    }

    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.settings.config
    }
}

/// What is said of an event: nothing but its number where nothing was found.
fn verdict(judgement: Option<Judgement>, seq: u64) -> Verdict {
    match judgement {
        Some(judgement) => judgement.verdict,
        None => Verdict { seq, ..Verdict::default() },
    }
}

#[cfg(test)]
mod tests;
