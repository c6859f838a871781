//! The detector's operations. An event is processed in one pass: validated, judged, and accounted for in the store of
//! runs.

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
use crate::state::{Graph, ScopeKeys, Store, open, seal, task_key};
use crate::text::{self, Scratch, key};
use crate::{json, metrics, report};
use alloc::{format, string::String, vec::Vec};
use judging::{Judging, count, judge, tells_nothing_else};
use validate::{in_range, is_long, validate};

/// Incremented by every change that can change a verdict.
pub const RULES_VERSION: u32 = 4;

/// The crate's version and [`RULES_VERSION`], for example `0.1.0+rules.1`.
#[must_use]
pub fn version() -> String {
    format!("{}+rules.{RULES_VERSION}", env!("CARGO_PKG_VERSION"))
}

/// A loop detector for any number of runs.
///
/// It has no clock, no randomness and no global state: equal events in equal order give equal verdicts on every
/// platform. `Clone` gives an independent detector with the same history.
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
    /// Reused buffers; not part of the state.
    scratch: Scratch,
}

/// Everything that changes. A snapshot stores it after the configuration's JSON text.
#[derive(Clone, Debug, Default)]
struct State {
    seq: u64,
    metrics: Metrics,
    store: Store,
}
codec!(struct State { seq, metrics, store });

impl Detector {
    /// Creates a detector with no history.
    ///
    /// # Errors
    /// `invalid-config`, naming the field that contradicts another or can never take effect.
    pub fn new(config: Config) -> Result<Self, Error> {
        let config = json::extended(config)?;
        let scratch = Scratch::salted(text::salt(config.privacy.salt.as_deref()));
        Ok(Self { settings: Settings::new(config)?, state: State::default(), scratch })
    }

    /// Appends an event and judges it.
    ///
    /// # Errors
    /// `invalid-event`, naming the field. The state is then unchanged.
    pub fn record(&mut self, event: &Event) -> Result<Verdict, Error> {
        if matches!(event.body, Body::Delta(_))
            && let Some(verdict) = self.goes_on(event)
        {
            return Ok(verdict);
        }
        self.take_in(event)
    }

    /// The general path of [`Self::record`], for any event.
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
        let without_call = core::mem::take(&mut self.scratch.without_call);
        metrics.results_without_call = metrics.results_without_call.saturating_add(without_call.into());
        metrics::tally(metrics, judgement.as_ref(), event, &self.settings.config);
        self.settle();
        Ok(verdict(judgement, seq))
    }

    /// The fast path of [`Self::record`] for streaming chunks, the most frequent events: it skips what the preceding
    /// chunk has already settled (the lookup of the run, the length of names, the weight of the run apart from its
    /// streams). Returns `None`, with the state unchanged, if the chunk does not continue the same agent's stream.
    fn goes_on(&mut self, event: &Event) -> Option<Verdict> {
        let (context, config) = (&event.context, &self.settings.config);
        let is_short = |name: &Option<String>| name.as_ref().is_none_or(|name| name.len() <= LONGEST_NAME);
        let [run, agent, task, parent] = [&context.run, &context.agent, &context.task, &context.parent_task];
        let is_at_task = task.is_some() || parent.is_some();
        if !config.enabled || context.synthetic || is_at_task || !is_short(run) || !is_short(agent) {
            return None;
        }
        in_range(context).ok()?;
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

    /// Forgets runs, after one has changed, until all of them together fit the memory limit.
    fn settle(&mut self) {
        let forgotten = self.state.store.settle(self.state.seq, &self.settings.config.memory);
        metrics::forgot(&mut self.state.metrics, forgotten);
    }

    /// Judges an event that has not happened yet and changes nothing. Equivalent to `clone().record(event)`.
    ///
    /// # Errors
    /// The same as [`Self::record`].
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
                let (mut copy, before) = run.before_call(&event.context, self.settings.config.memory.idle_ms);
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

    /// The current status of a scope. An unknown scope has `known: false` and nothing counted.
    #[must_use]
    pub fn status(&self, scope: &Scope) -> Status {
        status::status(&self.settings, self.state.store.get(scope), scope)
    }

    /// Resets a scope and returns a record for each loop counter that was reset to zero. A scope without a task means
    /// the whole run with all its tasks; a scope with a task means that task alone.
    ///
    /// `task-completed` keeps budgets and exemptions and, for a subtask, the parent's counter. `human-intervention`
    /// starts the scope's task over, or the whole run. `manual` starts the whole run over even if the scope names a
    /// task, including its loop counters.
    pub fn reset(&mut self, scope: &Scope, reason: ResetReason) -> Vec<Record> {
        let metrics = &mut self.state.metrics;
        metrics.resets = metrics.resets.saturating_add(1);
        let task = scope.task.as_deref().map(task_key);
        let Some(run) = self.state.store.get_mut(scope) else { return Vec::new() };
        let of = if reason == ResetReason::Manual { None } else { task };
        metrics::resolve(metrics, &run.standings.sum(&ScopeKeys { task: of, ..ScopeKeys::default() }), run.now);
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
        // A workflow declared by the host outlives the run's evidence.
        if human && task.is_none() && !run.workflow.is_declared() {
            self.state.store.remove(scope);
        }
        self.settle();
        records
    }

    /// Declares the workflow of a run, replacing the configured or learned one. Cycles present in both keep their
    /// counters. The graph survives a restart of the run, but not the run being forgotten.
    ///
    /// # Errors
    /// `invalid-argument`, naming the offending node or edge. The workflow is then unchanged.
    pub fn declare_graph(&mut self, scope: &Scope, graph: &model::Graph) -> Result<(), Error> {
        if scope.run.as_ref().is_some_and(|run| is_long(run)) {
            let message = format!("expected at most {LONGEST_NAME} characters");
            return Err(Error::new(ErrorCode::InvalidArgument, message).at("scope.run"));
        }
        let graph = Graph::declare(graph, ErrorCode::InvalidArgument)?;
        let context = model::Context { run: scope.run.clone(), ..model::Context::default() };
        let seq = self.state.seq;
        let (run, forgotten) = self.state.store.enter(&context, seq, &self.settings.config.memory);
        if let Some(run) = run {
            // Counts as used at the latest event, so that the run is not forgotten before its first one.
            run.touched = run.touched.max(seq.saturating_sub(1));
            run.workflow.declare(graph);
        }
        metrics::forgot(&mut self.state.metrics, forgotten);
        self.settle();
        Ok(())
    }

    /// Takes a human's answer at a gate: `continue` starts the scope's task over, or all tasks if it names none, and
    /// resets their loop counters; `stop` makes every later verdict on the run `halt`; `exempt` silences one rule for
    /// one signature. Returns a record for each loop counter that was reset to zero.
    ///
    /// # Errors
    /// `invalid-argument` for an unknown run or rule.
    pub fn acknowledge(&mut self, scope: &Scope, decision: &Decision) -> Result<Vec<Record>, Error> {
        let unknown = || Error::new(ErrorCode::InvalidArgument, "no event of this run was recorded").at("scope.run");
        let run = self.state.store.get_mut(scope).ok_or_else(unknown)?;
        let metrics = &mut self.state.metrics;
        match decision {
            Decision::Continue => {
                let whose = ScopeKeys { task: scope.task.as_deref().map(task_key), ..ScopeKeys::default() };
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
                let wrong = |what: &str, field: &str| Error::new(ErrorCode::InvalidArgument, what).at(field);
                let rule = description(rule).ok_or_else(|| wrong("unknown rule", "decision.rule").with(rule))?;
                if signature.trim().is_empty() {
                    return Err(wrong("expected the signature of a finding", "decision.signature").with(signature));
                }
                run.ladder.exempt(rule.id, signature, *until);
                let counters = metrics.rules.or_default(rule.id);
                counters.acknowledged = counters.acknowledged.saturating_add(1);
            }
        }
        self.settle();
        Ok(Vec::new())
    }

    /// The complete state with the configuration, in a compact, versioned format.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let config = self.config();
        seal(&json::config_text(config), &self.state, config.privacy.salt.as_deref())
    }

    /// Restores a detector from a snapshot. It continues exactly as the original would have.
    ///
    /// # Errors
    /// `snapshot-version` if it was written by another version of the rules; `invalid-snapshot` if it is truncated or
    /// corrupt, or not a snapshot at all. Nothing is ever restored in part.
    pub fn restore(bytes: &[u8]) -> Result<Self, Error> {
        let (settings, state): (_, State) = open(bytes, |config| {
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

    /// The escalation report of a scope in Markdown, for people.
    #[must_use]
    pub fn report_markdown(&self, scope: &Scope) -> String {
        report::markdown(scope, self.state.store.get(scope), self.state.store.len())
    }

    /// Counters for dashboards, since the detector was created.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        metrics::shown(&self.state.metrics, &self.state.store)
    }

    /// Rejects what contradicts an earlier event of the run.
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

    /// The effective configuration, with `extends` resolved.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.settings.config
    }
}

/// The verdict on an event; if nothing was found, it holds only the sequence number.
fn verdict(judgement: Option<Judgement>, seq: u64) -> Verdict {
    match judgement {
        Some(judgement) => judgement.verdict,
        None => Verdict { seq, ..Verdict::default() },
    }
}

#[cfg(test)]
mod tests;
