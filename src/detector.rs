//! The operations. One event goes through here in one pass: validated, entered into its run, turned into facts,
//! shown to the rules, decided upon by the policy.

use crate::codec::codec;
use crate::model::{
    self, Body, BudgetsLeft, Config, Custom, CycleStatus, Decision, Error, ErrorCode, Event, HostKind, Level, Message,
    Metrics, NoNext, NodeStanding, Outcome, Payloads, Record, Report, ResetReason, Role, RuleStanding, Scope, Status,
    ToolCall, ToolResult, Verdict,
};
use crate::policy::{Judgement, Occasion, Place, Scene, asked, decide};
use crate::rules::{
    Cx, Fact, LONGEST_NAME, Payload, RULES, Raised, RunView, Settings, States, Tool, index_of, max_cycle_iterations,
    max_turns, mismatch, ordered, task_name,
};
use crate::state::{
    Asked, Call, Changes, Flow, Graph, Kin, Lookups, Matched, Moment, Onset, PAUSE, Run, Sees, Sighting, Step, Store,
    Taken, Telling, Turn, Whose, agent_of, is_of_a_workflow, open, owner_key, parent_of, round_key, seal, task_key,
    task_of,
};
use crate::text::{
    self, Asks, CallKey, Digests, Edit, Empty, Key, LONGEST_EMBEDDING, OutcomeFacts, Scratch, Waits, combine, key,
    mark, ordered_times, printable, salted,
};
use crate::{json, metrics, report};
use alloc::{borrow::Cow, boxed::Box, collections::BTreeMap, format, string::String, string::ToString, vec::Vec};
use core::cell::RefCell;

/// Raised by every change that can change a verdict.
pub const RULES_VERSION: u32 = 4;

/// Levels of nesting that arguments and other free JSON may have.
pub(crate) const DEPTH: usize = 120;

/// What is said of a name without a letter.
const NO_NAME: &str = "expected a name";

/// Letters from which the answer to a handover is what the other one has done, and no acknowledgement.
const REPORT: u32 = 60;
/// Bytes of the answer of a call that only lets time pass; a longer one shows what is there by then.
const IDLE_ANSWER: usize = 200;

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
        let Some(run) = self.state.store.get(scope) else {
            let run = Run::default();
            let (budgets_left, cycles) = (budgets_left(&self.settings, &run), cycles(&self.settings, &run, scope));
            let nodes = nodes(&self.settings, &run, scope);
            return Status { scope: scope.clone(), cycles, nodes, budgets_left, ..Status::default() };
        };
        let whose = Whose::of(scope);
        let sum = run.standings.sum(&whose);
        let flow = run.workflow.flow(self.settings.graph.as_ref());
        let rules = standings(&self.settings, run, &whose, &flow);
        let (loop_count, loop_reason) = run.rules.task_loop.loops(whose.task);
        let trend: Vec<String> = sum.trend.iter().map(ToString::to_string).collect();
        let whole = whose.task.is_none() && whose.agent.is_none();
        Status {
            scope: scope.clone(),
            known: whole || sum.known,
            level: sum.level,
            events: if whole { run.events } else { sum.spent.events },
            steps: if whole { run.steps() } else { sum.steps },
            rules,
            trend: (!trend.is_empty()).then(|| trend.join(" → ")),
            attempts: of_task(run.rules.task_attempts.status(self.config(), run.now), scope),
            phases: of_task(run.rules.phases(), scope),
            cycles: cycles(&self.settings, run, scope),
            nodes: nodes(&self.settings, run, scope),
            budgets_left: budgets_left(&self.settings, run),
            loop_count,
            loop_reason,
        }
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
                let rule = index_of(rule).and_then(|index| RULES.get(index)).ok_or_else(|| {
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
    pub(crate) fn run(&self, scope: &Scope) -> Option<&Run> {
        self.state.store.get(scope)
    }

    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.settings.config
    }
}

/// Whether a name is longer than one that is kept may be.
fn is_long(name: &str) -> bool {
    name.len() > LONGEST_NAME && name.chars().count() > LONGEST_NAME
}

/// Whether a name names nothing.
pub(crate) fn is_blank(name: &str) -> bool {
    name.trim_ascii().is_empty()
}

/// Refuses what the model's types cannot: contradictions, numbers out of range, nesting without end.
fn validate(event: &Event) -> Result<(), Error> {
    let fail = |field: &str, message: &str| Err(Error::new(ErrorCode::InvalidEvent, message).at(field));
    let deep = |field: &str| fail(field, &format!("nested deeper than {DEPTH} levels"));
    let shallow =
        |value: &Option<serde_json::Value>| value.as_ref().is_none_or(|value| text::depth_within(value, DEPTH));
    let named = |field: &str, name: Option<&String>| match name {
        Some(name) if is_long(name) => fail(field, &format!("expected at most {LONGEST_NAME} characters")),
        _ => Ok(()),
    };
    let model::Context { run, agent, task, parent_task, .. } = &event.context;
    let names = [("run", run), ("agent", agent), ("task", task), ("parentTask", parent_task)];
    if names.iter().any(|(_, name)| name.as_ref().is_some_and(|name| name.len() > LONGEST_NAME)) {
        for (field, name) in names {
            named(field, name.as_ref())?;
        }
    }
    match &event.body {
        Body::Transition(transition) => {
            named("from", transition.from.as_ref())?;
            named("to", Some(&transition.to))?;
        }
        Body::ToolCall(call) => {
            if is_blank(&call.tool) {
                return fail("tool", NO_NAME);
            }
            if call.args.is_some() && call.raw_args.is_some() {
                return fail("rawArgs", "contradicts args: give one of the two");
            }
            if !shallow(&call.args) {
                return deep("args");
            }
        }
        Body::ToolResult(result) => {
            if result.tool.as_deref().is_some_and(is_blank) {
                return fail("tool", NO_NAME);
            }
            if !shallow(&result.details) {
                return deep("details");
            }
        }
        Body::Turn(turn) if !shallow(&turn.structured_output) => return deep("structuredOutput"),
        Body::Progress(progress) => {
            let coverage = progress.tests.as_ref().and_then(|tests| tests.coverage);
            if coverage.is_some_and(|coverage| !(0.0..=100.0).contains(&coverage)) {
                return fail("tests.coverage", "expected a percentage from 0 to 100");
            }
            if progress.checklist.is_some_and(|checklist| checklist.done > checklist.total) {
                return fail("checklist.done", "more than there are in all");
            }
        }
        Body::Evaluation(evaluation) if evaluation.confidence.is_some_and(|confidence| confidence > 1000) => {
            return fail("confidence", "expected 0 to 1000 per mille");
        }
        Body::Collaboration(collaboration) => {
            if let Some(embedding) = collaboration.embedding.as_deref() {
                if embedding.iter().any(|number| !number.is_finite()) {
                    return fail("embedding", "expected finite numbers");
                }
                if !(1..=LONGEST_EMBEDDING).contains(&embedding.len()) {
                    let message = format!("expected 1 to {LONGEST_EMBEDDING} numbers");
                    return fail("embedding", &message).map_err(|error: Error| error.with(embedding.len()));
                }
                if embedding.iter().all(|number| *number == 0.0) {
                    return fail("embedding", "zeros alone have no direction to compare");
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// What is said of an event: nothing but its number where nothing was found.
fn verdict(judgement: Option<Judgement>, seq: u64) -> Verdict {
    match judgement {
        Some(judgement) => judgement.verdict,
        None => Verdict { seq, ..Verdict::default() },
    }
}

/// One event, from facts to verdict; nothing where no rule has said anything, as of most.
///
/// `before` is the memory of the rules that `run` is a copy of [for a call](Run::before_call).
fn judge(
    settings: &Settings,
    scratch: &mut Scratch,
    run: &mut Run,
    before: Option<&States>,
    seq: u64,
    event: &Event,
) -> Option<Judgement> {
    if let Body::Host(host) = &event.body
        && matches!(host.kind, HostKind::RunStart | HostKind::Restart)
    {
        run.restart();
    }
    if matches!(&event.body, Body::Host(host) if host.kind == HostKind::Resume) {
        run.pairing.resume();
    }
    let context = &*in_its_place(run, event);
    run.enter(seq, context, settings.config.memory.idle_ms);
    let (task, parent) = (task_of(context), parent_of(context));
    if !context.synthetic {
        count(settings, run, event);
        let owner = owner_key(context.task.as_deref(), context.parent_task.as_deref());
        if is_of_a_task(&event.body) {
            run.work_on(task, owner);
        }
        if is_of_a_workflow(&event.body) {
            let moment = Moment {
                here: Sighting { seq, step: context.step.into(), key: 0 },
                onset: run.onset(),
                iterations: run.standings.iteration(),
                task: owner,
                cost_micros: settings.cost(context),
                salt: scratch.salt,
            };
            if run.workflow.observe(event, settings.graph.as_ref(), &moment) {
                run.advance(task, parent);
            }
        }
    }
    let lane = if matches!(event.body, Body::Evaluation(_)) { run.asked(task) } else { task };
    let apart = is_of_a_task(&event.body) && !run.lanes.knows(lane);
    if !apart {
        let text = match &event.body {
            Body::Message(message) => message.text.len(),
            Body::Delta(delta) => delta.text.len(),
            _ => 0,
        };
        run.turn_to(lane, parent.filter(|_| lane == task), text);
    }
    let mut judging = Judging { before, apart, ..Judging::new(settings, scratch, run, event, context) };
    if let Body::Message(message) = &event.body
        && !context.synthetic
    {
        let said = message.text.trim().as_bytes();
        judging.run.handed.came(salted("handed/said", judging.scratch.salt, said));
    }
    if matches!(event.body, Body::Delta(_)) && !context.synthetic {
        // Of these there are most.
        judging.tick();
        judging.show(&Fact::Event(event));
        return judging.end();
    }
    judging.tick();
    match &event.body {
        Body::ToolCall(call) => judging.call(call),
        Body::ToolResult(result) => judging.result(result),
        _ if context.synthetic => judging.show(&Fact::Synthetic(event)),
        Body::Message(message) if message.role == Role::User => judging.heard(message),
        Body::Message(message) if message.role == Role::System => {
            judging.run.ordered.told(ordered_times(&message.text));
            judging.show(&Fact::Event(event));
        }
        Body::Output(output) => {
            let (signature, failing) = settings.signatures.read(&output.text, &mut judging.scratch.cut_short);
            let first = output.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            judging.show(&Fact::Output {
                text: &output.text,
                signature: &signature,
                failing,
                line: &printable(first, 80),
            });
        }
        Body::Custom(custom) => judging.custom(custom),
        _ => judging.show(&Fact::Event(event)),
    }
    judging.end()
}

/// Where an event happened. A result that names no task is of its call's.
fn in_its_place<'a>(run: &Run, event: &'a Event) -> Cow<'a, model::Context> {
    let context = &event.context;
    if let Body::ToolResult(result) = &event.body
        && context.task.is_none()
        && let Some(named) = run.pairing.named(result, context)
    {
        let (task, parent_task) =
            (Some(named.task.clone()), named.parent.clone().or_else(|| context.parent_task.clone()));
        return Cow::Owned(model::Context { task, parent_task, ..context.clone() });
    }
    Cow::Borrowed(context)
}

/// Whether a context says no more than whose the event is.
fn tells_nothing_else(context: &model::Context) -> bool {
    context.at.is_none() && context.round.is_none() && context.tokens.is_none() && context.cost_micros.is_none()
}

/// Whether something is kept about the event's task.
fn is_of_a_task(body: &Body) -> bool {
    matches!(
        body,
        Body::Failure(_)
            | Body::Progress(_)
            | Body::Evaluation(_)
            | Body::Collaboration(_)
            | Body::Attempt(_)
            | Body::Transition(_)
            | Body::Turn(_)
            | Body::Delivery(_)
            | Body::Output(_)
    )
}

/// Counts what the event tells about the run as a whole.
fn count(settings: &Settings, run: &mut Run, event: &Event) {
    let round = round_key(&event.context);
    let (run_iterations, standings) = (&mut run.iterations, &mut run.standings);
    let (tokens, cost_micros) = (event.context.tokens, settings.cost(&event.context));
    if tokens.is_some() || cost_micros.is_some() {
        let add = |sum: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        };
        add(&mut run.tokens, tokens);
        add(&mut run.cost_micros, cost_micros);
        standings.cost(tokens, cost_micros);
    }
    let tests = match &event.body {
        Body::Progress(progress) => progress.tests.as_ref().and_then(|tests| tests.failing),
        _ => None,
    };
    // Whether it shows an iteration, as hardly an event does.
    let counts = match &event.body {
        Body::Output(_) | Body::Turn(_) => true,
        Body::Host(host) => host.kind == HostKind::TurnStart,
        _ => round.is_some(),
    };
    for iterations in core::iter::once(run_iterations).chain(standings.iterations()).filter(|_| counts) {
        iterations.round(round);
        let counter = match &event.body {
            Body::Output(_) => &mut iterations.outputs,
            Body::Host(host) if host.kind == HostKind::TurnStart => &mut iterations.turn_starts,
            Body::Turn(_) => &mut iterations.turns,
            _ => continue,
        };
        *counter = counter.saturating_add(1);
    }
    if let Some(failing) = tests {
        run.standings.reading(failing);
    }
    if !is_of_a_task(&event.body) || matches!(event.body, Body::Output(_)) {
        run.standings.hears();
    }
}

/// The judging of one event.
struct Judging<'a> {
    settings: &'a Settings,
    scratch: &'a mut Scratch,
    run: &'a mut Run,
    /// What rules look ahead in, where the run is a copy [for a call](Run::before_call).
    before: Option<&'a States>,
    event: &'a Event,
    /// The event as a possible onset.
    onset: Onset,
    /// Of the event, its call's task filled in where it names none.
    context: &'a model::Context,
    /// The evidence at hand is another task's.
    apart: bool,
    raised: Vec<Raised>,
    tool: Tool,
    /// The call that the event answers.
    answers: Option<Call>,
    digests: RefCell<Digests>,
}

impl<'a> Judging<'a> {
    /// With the evidence of the event's own task at hand, in the run itself.
    fn new(
        settings: &'a Settings,
        scratch: &'a mut Scratch,
        run: &'a mut Run,
        event: &'a Event,
        context: &'a model::Context,
    ) -> Self {
        let digests = RefCell::new(core::mem::take(&mut scratch.digests));
        let (onset, raised, tool) = (run.onset(), Vec::new(), Tool::default());
        let (before, apart, answers) = (None, false, None);
        Self { settings, scratch, run, before, event, context, onset, apart, raised, tool, answers, digests }
    }

    /// Shows that something has happened to the rules that look at nothing else.
    fn tick(&mut self) {
        let (limits, spent) = (self.tool.limits(self.settings), RunView::spent(self.run));
        if self.run.rules.tick(limits, &spent) {
            self.show(&Fact::Tick);
        }
    }

    /// Shows a fact to the rules.
    fn show(&mut self, fact: &Fact<'_>) {
        let limits = self.tool.limits(self.settings);
        let run = RunView::of(self.run);
        let here = self.sighting(0);
        let (config, context) = (&self.settings.config, self.context);
        let (task, parent_task) = (task_of(context), parent_of(context));
        let flow = self.run.workflow.flow(self.settings.graph.as_ref());
        let [any, ..] = limits;
        let agent = self.run.standings.agent();
        let mut cx = Cx {
            limits: any,
            config,
            task,
            agent,
            parent_task,
            run,
            flow,
            here,
            onset: self.onset,
            salt: self.scratch.salt,
            digests: &self.digests,
        };
        self.run.rules.observe(self.before, fact, limits, &mut cx, self.apart, &mut self.raised);
    }

    /// A human's words change the context of the whole run, and are heard at the task that they name, or at every one.
    fn heard(&mut self, message: &Message) {
        self.run.ordered.heard(&message.text, self.run.events);
        if !self.settings.config.conventions.keep_on_user_message {
            self.run.forget_evidence();
        }
        if self.context.task.is_some() {
            return self.show(&Fact::Heard(message));
        }
        for task in self.run.lanes.all() {
            self.run.turn_to(task, None, message.text.len());
            self.show(&Fact::Heard(message));
        }
    }

    fn sighting(&self, key: Key) -> Sighting {
        Sighting { seq: self.run.touched, step: self.context.step.into(), key }
    }

    /// What is said about a tool comes before everything else about its calls.
    fn configure(&mut self, tool: &str) -> bool {
        self.tool = self.settings.tool(tool).ordered(self.settings, self.run.ordered);
        self.tool.enabled
    }

    /// What a call is told from others by: one that hands over control by what it says beside the reasons, and by what
    /// is new since the latest of those.
    fn call_key(&mut self, payload: &ToolCall, hands_over: bool) -> CallKey {
        let (ignore, identity, salt) = (&self.tool.ignore_args, &self.tool.identity_args, self.scratch.salt);
        if !hands_over {
            return text::call_key(payload, ignore, identity, salt, &mut self.scratch.call);
        }
        let mut ignore = ignore.clone();
        for reason in text::REASONS {
            ignore.push(reason.into());
        }
        let keys = text::call_key(payload, &ignore, identity, salt, &mut self.scratch.call);
        CallKey::exact(combine("handed", &[keys.key, self.run.handed.over().into()]))
    }

    fn call(&mut self, payload: &ToolCall) {
        // The host's own calls are no evidence of what the agent does.
        if self.context.synthetic || !self.configure(&payload.tool) {
            return;
        }
        let tool = key("tool", payload.tool.as_bytes());
        let named = self.scratch.names.look(tool, payload);
        let keys = self.call_key(payload, named.hands_over);
        let mutates = text::mutates(payload, &named, self.tool.mutates);
        let (said, json) = text::arguments(payload, &mut self.scratch.call);
        // Only what came of a call is compared by these, and nothing comes of one that is checked.
        let happens = self.before.is_none();
        let frame = if happens { text::call_frame(said) } else { 0 };
        let echo = if happens { text::Late::of(said, json) } else { text::Late::default() };
        let edit = if mutates { text::edit(payload, &named, said) } else { Edit::No };
        let to = self.another(payload).filter(|_| !named.looks_after());
        let asks = match text::asks(payload, &named) {
            Asks::Nothing if to.is_some() => Asks::Handover,
            asks => asks,
        };
        let sees = if asks == Asks::Handover || text::delegated(payload, &named).is_some() {
            Sees::All
        } else if !mutates && named.runs() {
            Sees::Written
        } else {
            Sees::Own
        };
        let context = self.context;
        let open = self.settings.config.privacy.payloads == Payloads::Excerpt;
        let (waits, length) = text::waits(payload, &named);
        let (kind, watches) = text::kind(payload, &named, tool);
        // Something is waited for, and this looks whether it is there.
        let awaited = self.run.ordered.waits
            && !mutates
            && matches!(asks, Asks::Nothing | Asks::Record | Asks::View | Asks::Gesture);
        let call = Call {
            target: text::target(payload, &named, self.scratch.salt),
            mutates,
            writes: mutates && (named.shell || edit != Edit::No),
            limit: if mutates { text::limit(payload) } else { 0 },
            edit,
            quiet: text::quiet(payload, &named, mutates, asks),
            asks,
            pages: !mutates && text::pages(payload),
            kind,
            frame,
            sees,
            polling: self.tool.polling || awaited || matches!(waits, Waits::Long | Waits::Only),
            watches: watches && !mutates,
            idles: waits == Waits::Only,
            compare_answers: self.tool.compare_answers,
            onset: self.onset,
            pause: self
                .run
                .counted
                .pause(agent_of(self.context), self.context.at)
                .max(u32::try_from(length).unwrap_or(u32::MAX)),
            echo,
            asked: open.then(|| asked(payload)).flatten().map(|asked| Box::new(Asked(asked))),
            ..Call::new(&payload.tool, tool, keys, payload.call_id.as_deref(), context)
        };
        let telling = Telling::of(payload.call_id.as_deref(), context, call.round, self.run.now);
        if !self.run.pairing.call(&call, telling) {
            return;
        }
        self.run.counted.calls(call.agent, self.onset.own, length);
        self.show(&Fact::Call(&call, &Payload::new(payload, named, to)));
        if happens {
            self.run.pairing.wait(call);
        }
    }

    /// Another agent of this run whose name a call gives: it hands something over, whatever its tool is called.
    fn another(&self, call: &ToolCall) -> Option<Key> {
        self.context.agent.as_ref()?;
        let arguments = call.args.as_ref()?.as_object()?;
        arguments.values().find_map(|name| self.run.standings.another(name.as_str()?))
    }

    fn result(&mut self, result: &ToolResult) {
        let agent = agent_of(self.context);
        let call = match self.run.pairing.result(result, self.context) {
            Matched::Call(mut call) => {
                if call.round.is_none() {
                    call.round = self.run.counted.round_of(call.agent, call.onset.own);
                }
                Some(call)
            }
            Matched::None => None,
            Matched::Replay => return,
        };
        // A veto or an answer of the host's own settles the call and tells nothing about the agent; neither does a
        // call that never ran.
        let synthetic = self.context.synthetic;
        if synthetic || result.outcome == Outcome::NotExecuted {
            // What the host made up from nothing does not even settle a call.
            if call.is_some() || !synthetic {
                self.show(&Fact::NotRun(call.as_ref(), (!synthetic).then_some(result)));
            }
            return;
        }
        let name = result.tool.as_deref().or(call.as_ref().map(|call| call.name.as_str())).unwrap_or_default();
        if !self.configure(name) {
            return;
        }
        if let Some(call) = &call {
            self.run.ladder.ran(&call.refused);
        }
        let kind = call.as_ref().map_or_else(|| mark(key("tool", name.as_bytes())), |call| call.kind);
        let bare = self.bare(result, kind);
        let result = bare.as_ref().unwrap_or(result);
        let mut facts = self.read(name, result, call.as_ref());
        // An edit that found nothing to edit has failed, whatever its outcome, and so has a command line that comes to
        // a program's complaint and nothing else.
        let edits = call.as_ref().is_some_and(|call| call.edit != Edit::No);
        let complains = || result.exit_code.is_none() && text::only_complains(&result.output) && text::is_shell(name);
        let missed = !facts.failed && (facts.negative && edits || complains());
        let missed =
            missed.then(|| ToolResult { outcome: Outcome::Error, ..text::with_output(result, result.output.clone()) });
        let result = match &missed {
            Some(missed) => {
                facts = self.read(name, missed, call.as_ref());
                missed
            }
            None => result,
        };
        facts.echo =
            !facts.failed && call.as_ref().is_some_and(|call| !call.mutates && call.echo.holds(&result.output));
        let agent = call.as_ref().map_or(agent, |call| call.agent);
        let idles = call.as_ref().is_some_and(|call| call.idles) && result.output.len() <= IDLE_ANSWER;
        let Turn { previous, slept, worker } = self.run.counted.step(agent, self.context.at, idles);
        let waited = if self.has_waited(call.as_ref(), &facts, result) { PAUSE } else { 0 };
        let pause = call.as_ref().map_or(0, |call| call.pause).max(waited);
        self.run.standings.step();
        let hands_over = call.as_ref().is_some_and(|call| call.asks == Asks::Handover);
        if !facts.failed && !facts.negative && (!hands_over || facts.letters >= REPORT) {
            let told = call.as_ref().filter(|_| !hands_over).map_or(0, |call| call.key);
            self.run.handed.came(combine("handed/came", &[told, facts.light]));
        }
        let compared = combine("sighting", &[call.as_ref().map_or(0, |call| call.key), facts.light]);
        let sees = call.as_ref().map_or(Sees::All, |call| call.sees);
        // Each step of a bisection is another one, in the same words.
        let narrows = !facts.failed && text::narrows(&result.output);
        let changed = call.as_ref().filter(|call| call.mutates && result.outcome == Outcome::Ok && !facts.failed);
        let remade = changed.is_some_and(|call| self.run.counted.remakes(call.key));
        let mut changes = [Sees::Own, sees, Sees::All].map(|sees| Changes::before(&self.run.counted, sees));
        if let Some(call) = changed {
            self.run.mutation(call, if narrows { facts.light } else { 0 });
        }
        changes.iter_mut().for_each(|changes| changes.after(&self.run.counted));
        let [own, seen_changes, all] = changes;
        // What others do in between is done for it.
        let handed = call.as_ref().is_some_and(|call| call.sees == Sees::All);
        let mut step = Step {
            tool: key("tool", name.as_bytes()),
            agent,
            outcome: result.outcome,
            own,
            seen_changes,
            all,
            remade,
            kin: Kin::default(),
            is_news: false,
            fewer: false,
            narrows,
            previous: if handed { self.run.counted.steps.saturating_sub(1) } else { previous },
            news: worker.news.into(),
            news_round: worker.round,
            slept,
            pause,
            idles,
            index: self.run.counted.steps,
            at: self.context.at,
            sighting: self.sighting(compared),
            onset: call.as_ref().map_or(self.onset, |call| call.onset),
            lookups: Lookups::default(),
            facts,
            call,
        };
        self.run.counted.news.step(&mut step, result, self.scratch.salt);
        if step.is_news {
            self.run.counted.worker.brought_news(&step);
        }
        self.show(&Fact::Step(&step, result));
        if !self.is_quiet() {
            self.answers = step.call;
        }
    }

    /// A result without what a harness put around its output; nothing where it put nothing there.
    fn bare(&mut self, result: &ToolResult, kind: u32) -> Option<ToolResult> {
        let opened = text::opened(result);
        let result = opened.as_ref().unwrap_or(result);
        let within = self.run.margins.within(&result.output, kind, self.scratch.salt);
        let within = within.map(|answer| text::with_output(result, answer.into()));
        within.map(|within| text::opened(&within).unwrap_or(within)).or(opened)
    }

    /// Whether a call ran into its own limit: it has waited, as long as the clock does not tell otherwise.
    fn has_waited(&self, call: Option<&Call>, facts: &OutcomeFacts, result: &ToolResult) -> bool {
        let called = call.and_then(|call| call.onset.at.get());
        let lasted = called.zip(self.context.at).is_none_or(|(called, now)| now.saturating_sub(called) >= PAUSE.into());
        facts.transient && lasted && text::waited(&result.output)
    }

    /// Reads what came of a call.
    fn read(&mut self, name: &str, result: &ToolResult, call: Option<&Call>) -> OutcomeFacts {
        let quiet = call.map_or(Empty::Nothing, |call| call.quiet);
        let echo = call.map(|call| &call.echo);
        let (volatile, salt) = (&self.settings.volatile, self.scratch.salt);
        let glance = text::glance(result, volatile, self.scratch);
        let left = self.run.counted.outputs.leaves(&glance, &result.output, salt);
        let mut facts = text::outcome(name, result, quiet, echo, volatile, (&glance, left), self.scratch);
        if !left {
            self.run.counted.outputs.settle(&glance, &mut facts);
        }
        facts
    }

    /// What else may repeat, seen as a call of that name with its outcome, on a path of its own: between the agent's
    /// calls it neither hides a loop nor makes one.
    fn custom(&mut self, custom: &Custom) {
        if !self.configure(&custom.name) {
            return;
        }
        let name = key("custom/name", custom.name.as_bytes());
        let keys =
            CallKey::exact(combine("custom", &[name, salted("custom/key", self.scratch.salt, custom.key.as_bytes())]));
        let (context, tool) = (self.context, key("tool", custom.name.as_bytes()));
        let call = Call {
            onset: self.onset,
            polling: self.tool.polling,
            ..Call::new(&custom.name, tool, keys, None, context)
        };
        let output = custom.outcome.clone().unwrap_or_default();
        let unknown = output.trim().is_empty();
        let result = ToolResult { output, ..ToolResult::default() };
        let volatile = &self.settings.volatile;
        let glance = text::glance(&result, volatile, self.scratch);
        let mut facts =
            text::outcome(&custom.name, &result, Empty::Blank, None, volatile, (&glance, false), self.scratch);
        if unknown {
            // Nothing is known to differ, and nothing to be equal to the byte.
            facts.exact = combine("custom/unknown", &[self.run.touched]);
        }
        self.run.counted.customs = self.run.counted.customs.saturating_add(1);
        let all = Changes::before(&self.run.counted, Sees::All);
        let step = Step {
            tool: call.tool,
            agent: call.agent,
            outcome: Outcome::Ok,
            own: all,
            seen_changes: all,
            all,
            remade: false,
            kin: Kin::default(),
            is_news: false,
            fewer: false,
            narrows: false,
            previous: self.run.counted.customs.saturating_sub(1).into(),
            news: 0,
            news_round: 0,
            slept: false,
            pause: 0,
            idles: false,
            index: self.run.counted.customs.into(),
            at: context.at,
            sighting: self.sighting(combine("sighting", &[call.key, facts.light])),
            onset: self.onset,
            lookups: Lookups::default(),
            facts,
            call: Some(call),
        };
        self.show(&Fact::Custom(&step));
    }

    /// A cycle of the workflow that is halted leaves a record, whatever halted it.
    fn record_halt(&mut self, verdict: &mut Verdict) {
        let context = self.context;
        let has_one = verdict.records.iter().any(|record| matches!(record, Record::LoopHalted { .. }));
        if let (Some(reason), false) = (verdict.halt_reason, has_one) {
            let flow = self.run.workflow.flow(self.settings.graph.as_ref());
            let task = flow.of(owner_key(context.task.as_deref(), context.parent_task.as_deref()));
            if let Some(task) = task.filter(|task| task.is_on_a_cycle()) {
                verdict.records.push(task.record(reason, &verdict.suggested_actions, self.run.now));
            }
        }
        self.run.workflow.halted(&verdict.records);
    }

    /// What is said; nothing where no rule has said anything.
    fn end(&mut self) -> Option<Judgement> {
        // What is not there is not moved.
        if self.is_quiet() {
            self.run.standings.judged(Level::Continue, self.run.now);
            self.put_back();
            return None;
        }
        let judgement = self.decide();
        self.put_back();
        Some(judgement)
    }

    fn put_back(&mut self) {
        self.scratch.digests = self.digests.take();
        self.run.note_lost();
    }

    /// No rule has said anything, and nobody has stopped the run.
    fn is_quiet(&self) -> bool {
        self.raised.is_empty() && !self.run.stopped
    }

    fn decide(&mut self) -> Judgement {
        let context = self.context;
        let answers = self.answers.take();
        let answers =
            answers.as_ref().map(|call| (call.name.as_str(), call.asked.as_ref().map(|asked| asked.0.as_str())));
        let open = self.settings.config.privacy.payloads == Payloads::Excerpt;
        let scene = Scene::new(self.event, context, answers, open, &self.digests);
        let occasion = match self.event.body {
            Body::ToolCall(_) => Occasion::Call(round_key(context)),
            Body::ToolResult(_) | Body::Custom(_) => Occasion::Past,
            _ => Occasion::Other,
        };
        let (limits, raised) = (self.tool.limits(self.settings), core::mem::take(&mut self.raised));
        let place = Place { task: task_of(context), parent: parent_of(context) };
        let mut judgement = decide(self.settings, limits, self.run, raised, &occasion, place, &scene);
        let verdict = &mut judgement.verdict;
        self.record_halt(verdict);
        if matches!(self.event.body, Body::ToolCall(_)) && verdict.level >= Level::Block {
            self.run.pairing.veto();
        }
        if !judgement.refused.is_empty() {
            self.run.pairing.refuse(core::mem::take(&mut judgement.refused));
        }
        judgement
    }
}

/// Key of the task that the workflow counts for, where the scope names one.
fn named_task(scope: &Scope) -> Option<Key> {
    let named = scope.task.is_some() || scope.parent_task.is_some();
    named.then(|| owner_key(scope.task.as_deref(), scope.parent_task.as_deref()))
}

fn budgets_left(settings: &Settings, run: &Run) -> BudgetsLeft {
    let budgets = &settings.config.budgets;
    let elapsed = run.now.zip(run.started).map_or(0, |(now, started)| now.saturating_sub(started));
    let elapsed = u64::try_from(elapsed).unwrap_or(0);
    BudgetsLeft {
        iterations: (budgets.max_iterations != 0)
            .then(|| budgets.max_iterations.saturating_sub(run.iterations.count())),
        runtime_ms: (budgets.max_runtime_ms != 0).then(|| budgets.max_runtime_ms.saturating_sub(elapsed)),
    }
}

/// Every rule that is on and holds evidence about a scope.
fn standings(settings: &Settings, run: &Run, whose: &Whose, flow: &Flow<'_>) -> Vec<RuleStanding> {
    let mut limits = *settings.limits();
    ordered(&mut limits, run.ordered);
    let of_all = run.outlooks(whose, flow, &limits, &settings.config);
    let mut next = of_all.map(|outlook| Some(outlook.next));
    let mut enabled = limits.map(|limits| limits.enabled);
    for mut table in settings.of_tools() {
        ordered(&mut table, run.ordered);
        // What holds whichever tool it is can be said.
        let of_tool = run.outlooks(whose, flow, &table, &settings.config);
        next.iter_mut().zip(of_tool).for_each(|(next, own)| *next = next.filter(|next| *next == own.next));
        enabled.iter_mut().zip(table).for_each(|(enabled, own)| *enabled |= own.enabled);
    }
    let all = RULES.iter().zip(of_all).zip(next).zip(enabled);
    let held = all.filter(|(((_, outlook), _), enabled)| *enabled && outlook.count != 0);
    held.map(|(((rule, outlook), next), _)| {
        let only_told = outlook.only_told.then_some(NoNext::OnlyTold);
        let (next, no_next) = next.map_or((None, Some(NoNext::ByTool)), |next| (next, only_told));
        RuleStanding {
            rule: rule.id.to_string(),
            count: outlook.count,
            next_threshold: next.map(|(_, threshold)| threshold),
            next_level: next.map(|(level, _)| level),
            no_next,
        }
    })
    .collect()
}

/// What a status says per task: of the scope's task, or of every task where the scope names none.
fn of_task<T>(tasks: BTreeMap<String, T>, scope: &Scope) -> BTreeMap<String, T> {
    let Some(task) = &scope.task else { return tasks };
    let (shown, mut kept) = (task_name(task), BTreeMap::new());
    for (name, of) in tasks {
        if name == shown {
            kept.insert(name, of);
        }
    }
    kept
}

/// Every cycle of the workflow as a scope stands.
fn cycles(settings: &Settings, run: &Run, scope: &Scope) -> Vec<CycleStatus> {
    let limit = max_cycle_iterations(&settings.config.budgets);
    let cycles = run.workflow.standings(settings.graph.as_ref(), named_task(scope)).into_iter();
    let shown = cycles.map(|cycle| {
        let trend: Vec<String> = cycle.trend.iter().map(ToString::to_string).collect();
        let of = if limit == 0 { String::new() } else { format!("/{limit}") };
        CycleStatus {
            cycle_id: cycle.id,
            nodes: cycle.nodes,
            driver: cycle.driver,
            badge: format!("Loop {}{of}", cycle.iterations),
            iterations: cycle.iterations,
            iterations_left: (limit != 0).then(|| limit.saturating_sub(cycle.iterations)),
            trend: (!trend.is_empty()).then(|| trend.join(" → ")),
            last_halt_reason: cycle.halted,
            diff_hashes: cycle.diffs,
            docs_hashes: cycle.docs,
            failing_test_signatures: cycle.sets,
            output_hashes: cycle.outputs,
        }
    });
    shown.collect()
}

/// Every node of the workflow as a scope stands.
fn nodes(settings: &Settings, run: &Run, scope: &Scope) -> BTreeMap<String, NodeStanding> {
    let budgets = &settings.config.budgets;
    let nodes = run.workflow.nodes(settings.graph.as_ref(), named_task(scope)).into_iter();
    let standing = |taken: Taken| {
        let (most, time) = (max_turns(budgets, taken.bound), budgets.max_runtime_ms_per_node);
        let left = |most: u32, turns: u32| (most != 0).then(|| most.saturating_sub(turns));
        let (turns, runtime_ms) = taken.of_run;
        let of_task = named_task(scope).and_then(|_| left(budgets.max_turns_per_node_and_task, taken.turns));
        let standing = NodeStanding {
            turns: taken.turns,
            turns_left: left(most, turns).into_iter().chain(of_task).min(),
            runtime_ms_left: (time != 0).then(|| time.saturating_sub(runtime_ms)),
        };
        (taken.name, standing)
    };
    let mut all = BTreeMap::new();
    for (name, standing) in nodes.map(standing) {
        all.insert(name, standing);
    }
    all
}

#[cfg(test)]
mod tests;
