//! One event from facts to verdict: entered into its run, interpreted, shown to the rules, and passed to the policy.

use crate::model::{
    Body, Context, Custom, Event, HostKind, Level, Message, Outcome, Payloads, Record, Role, ToolCall, ToolResult,
    Verdict,
};
use crate::policy::{Judgement, Occasion, OccasionKind, Scene, TaskPlace, asked, decide};
use crate::rules::{Cx, Fact, Payload, Raised, RunView, Settings, States, Tool};
use crate::state::{
    ArgumentStart, Call, Changes, LONGEST_PAUSE, Matched, Moment, Onset, PAUSE, Run, Sighting, Step, Telling, Turn,
    Visibility, add, agent_of, is_of_a_workflow, owner_key, parent_of, round_key, task_of,
};
use crate::text::{
    self, Asks, CallKey, Digests, Edit, Empty, Key, Late, OutcomeFacts, Scratch, ToolName, Waits, combine, key, mark,
    ordered_times, printable, salted,
};
use alloc::{borrow::Cow, boxed::Box, vec::Vec};
use core::cell::RefCell;

/// Letters from which the answer to a handover counts as a report of work done rather than an acknowledgement.
const REPORT: u32 = 60;
/// Bytes of the result of a call that only waits. A longer result shows the state after the wait.
const IDLE_ANSWER: usize = 200;

/// Judges one event. Returns `None` if no rule has a finding, which is the usual case.
///
/// `before` is the state of the rules, if `run` is a copy made [for a call](Run::before_call).
pub(super) fn judge(
    settings: &Settings,
    scratch: &mut Scratch,
    run: &mut Run,
    before: Option<&States>,
    seq: u64,
    event: &Event,
) -> Option<Judgement> {
    if let Body::Host(host) = &event.body {
        match host.kind {
            HostKind::RunStart | HostKind::Restart => run.restart(),
            HostKind::Resume => run.pairing.resume(),
            _ => {}
        }
    }
    let context = &*in_its_place(run, event);
    run.enter(seq, context, settings.config.memory.idle_ms);
    if !context.synthetic {
        count(settings, run, event);
        count_for_task(settings, scratch.salt, run, event, context);
    }
    let apart = !turn_to_lane(run, event, context);
    let mut judging = Judging { before, apart, ..Judging::new(settings, scratch, run, event, context) };
    if context.synthetic {
        judging.run.counted.passes(agent_of(context), judging.onset.own);
    }
    if let Body::Message(message) = &event.body
        && !context.synthetic
    {
        let said = message.text.trim().as_bytes();
        judging.run.handed.came(salted("handed/said", judging.scratch.salt, said));
    }
    judging.tick();
    judging.look();
    judging.end()
}

/// The context of an event. A result without a task belongs to the task of its call.
fn in_its_place<'a>(run: &Run, event: &'a Event) -> Cow<'a, Context> {
    let context = &event.context;
    if let Body::ToolResult(result) = &event.body
        && context.task.is_none()
        && let Some(named) = run.pairing.named(result, context)
    {
        let (task, parent_task) =
            (Some(named.task.clone()), named.parent.clone().or_else(|| context.parent_task.clone()));
        return Cow::Owned(Context { task, parent_task, ..context.clone() });
    }
    Cow::Borrowed(context)
}

/// Whether a context carries nothing besides names.
pub(super) fn tells_nothing_else(context: &Context) -> bool {
    context.at.is_none() && context.round.is_none() && context.tokens.is_none() && context.cost_micros.is_none()
}

/// Whether the event updates state that is kept per task.
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

/// Updates the counters of the run as a whole.
pub(super) fn count(settings: &Settings, run: &mut Run, event: &Event) {
    let round = round_key(&event.context);
    let (run_iterations, standings) = (&mut run.iterations, &mut run.standings);
    let (tokens, cost_micros) = (event.context.tokens, settings.cost(&event.context));
    if tokens.is_some() || cost_micros.is_some() {
        add(&mut run.tokens, tokens);
        add(&mut run.cost_micros, cost_micros);
        standings.cost(tokens, cost_micros);
    }
    let tests = match &event.body {
        Body::Progress(progress) => progress.tests.as_ref().and_then(|tests| tests.failing),
        _ => None,
    };
    // Whether the event shows an iteration; few do.
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

/// Updates the counters of the event's task and of the workflow.
fn count_for_task(settings: &Settings, salt: u64, run: &mut Run, event: &Event, context: &Context) {
    let (task, parent) = (task_of(context), parent_of(context));
    let owner = owner_key(context.task.as_deref(), context.parent_task.as_deref());
    if is_of_a_task(&event.body) {
        run.work_on(task, owner);
    }
    if is_of_a_workflow(&event.body) {
        let moment = Moment {
            here: Sighting { seq: run.touched, step: context.step.into(), key: 0 },
            onset: run.onset(),
            iterations: run.standings.iteration(),
            task: owner,
            cost_micros: settings.cost(context),
            salt,
        };
        if run.workflow.observe(event, settings.graph.as_ref(), &moment) {
            run.advance(task, parent);
        }
    }
}

/// Switches to the evidence of the event's task. Returns false if none is kept for it.
fn turn_to_lane(run: &mut Run, event: &Event, context: &Context) -> bool {
    let (task, parent) = (task_of(context), parent_of(context));
    let lane = if matches!(event.body, Body::Evaluation(_)) { run.asked(task) } else { task };
    // What agents ask each other for is talk about the task.
    let talks = matches!(event.body, Body::Collaboration(_));
    if is_of_a_task(&event.body) && !talks && !run.lanes.knows(lane) {
        return false;
    }
    let text = match &event.body {
        Body::Message(message) => message.text.len(),
        Body::Delta(delta) => delta.text.len(),
        _ => 0,
    };
    run.turn_to(lane, parent.filter(|_| lane == task), text);
    true
}

/// The state while one event is judged.
pub(super) struct Judging<'a> {
    settings: &'a Settings,
    pub(super) scratch: &'a mut Scratch,
    pub(super) run: &'a mut Run,
    /// The rules' state to look ahead in, if the run is a copy made [for a call](Run::before_call).
    before: Option<&'a States>,
    event: &'a Event,
    /// The event as a possible onset of a loop.
    onset: Onset,
    /// The event's context, with the task of the answered call if it names none itself.
    context: &'a Context,
    /// Whether the evidence at hand belongs to another task.
    apart: bool,
    /// [`Occasion::looks_late`].
    looks_late: bool,
    /// Whether the event is the result of a call that a verdict refused, which did not run.
    stands: bool,
    raised: Vec<Raised>,
    tool: Tool,
    /// The call that the event is the result of.
    answers: Option<Call>,
    pub(super) digests: RefCell<Digests>,
}

impl<'a> Judging<'a> {
    /// Judges on the run itself, with the evidence of the event's own task.
    pub(super) fn new(
        settings: &'a Settings,
        scratch: &'a mut Scratch,
        run: &'a mut Run,
        event: &'a Event,
        context: &'a Context,
    ) -> Self {
        let digests = RefCell::new(core::mem::take(&mut scratch.digests));
        let (onset, raised, tool) = (run.onset(), Vec::new(), Tool::default());
        let (before, answers) = (None, None);
        let (apart, looks_late, stands) = (false, false, false);
        Self {
            settings,
            scratch,
            run,
            before,
            event,
            context,
            onset,
            apart,
            looks_late,
            stands,
            raised,
            tool,
            answers,
            digests,
        }
    }

    /// Tells the rules that look at no other fact that an event has happened.
    pub(super) fn tick(&mut self) {
        let (limits, spent) = (self.tool.limits(self.settings), RunView::spent(self.run));
        if self.run.rules.tick(limits, &spent) {
            self.show(&Fact::Tick);
        }
    }

    /// Shows a fact to the rules.
    pub(super) fn show(&mut self, fact: &Fact<'_>) {
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

    /// Interprets the event and shows the resulting facts to the rules.
    fn look(&mut self) {
        let event = self.event;
        match &event.body {
            Body::ToolCall(call) => self.call(call),
            Body::ToolResult(result) => self.result(result),
            _ if self.context.synthetic => self.show(&Fact::Synthetic(event)),
            Body::Message(message) if message.role == Role::User => self.user_message(message),
            Body::Message(message) if message.role == Role::System => {
                // Later ones tell what has happened: `Task 4 hit 12 rounds`.
                if self.run.steps() == 0 {
                    self.run.ordered.told(ordered_times(&message.text));
                }
                self.show(&Fact::Event(event));
            }
            Body::Output(output) => self.output(&output.text),
            Body::Custom(custom) => self.custom(custom),
            Body::Collaboration(_) => {
                self.tool = Tool::default().ordered(self.settings, self.run.ordered);
                self.run.handed.within(self.run.lanes.here());
                self.show(&Fact::Event(event));
            }
            _ => self.show(&Fact::Event(event)),
        }
    }

    fn output(&mut self, text: &str) {
        let (signature, failing) = self.settings.signatures.read(text, &mut self.scratch.cut_short);
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        self.show(&Fact::Output { text, signature: &signature, failing, line: &printable(first, 80) });
    }

    /// A user's message changes the context of the whole run. It is shown to the task that it names, or to every task.
    fn user_message(&mut self, message: &Message) {
        let prompted = self.run.ordered.prompted(&message.text, self.scratch.salt);
        self.run.ordered.heard(&message.text, self.run.events);
        if !self.settings.config.conventions.keep_on_user_message {
            self.run.forget_evidence(prompted);
        }
        if self.context.task.is_some() {
            return self.show(&Fact::UserMessage(message));
        }
        for task in self.run.lanes.all() {
            self.run.turn_to(task, None, message.text.len());
            self.show(&Fact::UserMessage(message));
        }
    }

    fn sighting(&self, key: Key) -> Sighting {
        Sighting { seq: self.run.touched, step: self.context.step.into(), key }
    }

    /// Loads the tool's settings, before anything else is done with its calls. Returns whether the tool is enabled.
    fn configure(&mut self, tool: &str) -> bool {
        self.tool = self.settings.tool(tool).ordered(self.settings, self.run.ordered);
        self.tool.enabled
    }

    /// The key that calls are compared by. For a handover, it ignores the stated reasons and includes what is new since
    /// the previous handover.
    fn call_key(&mut self, payload: &ToolCall, hands_over: bool) -> CallKey {
        let (ignore, identity, salt) = (&self.tool.ignore_args, &self.tool.identity_args, self.scratch.salt);
        if !hands_over {
            return text::call_key(payload, ignore, identity, salt, &mut self.scratch.call);
        }
        let mut ignore = ignore.clone();
        for reason in text::REASONS.split(' ') {
            ignore.push(reason.into());
        }
        let keys = text::call_key(payload, &ignore, identity, salt, &mut self.scratch.call);
        CallKey::exact(combine("handed", &[keys.key, self.run.handed.over().into()]))
    }

    fn call(&mut self, payload: &ToolCall) {
        let parsed = super::validate::parsed(payload);
        let payload = parsed.as_ref().unwrap_or(payload);
        // The host's own calls are no evidence of the agent's behaviour.
        if self.context.synthetic || !self.configure(&payload.tool) {
            return;
        }
        let tool = key("tool", payload.tool.as_bytes());
        let named = self.scratch.names.look(tool, payload);
        let to = self.another(payload).filter(|_| !named.looks_after());
        let (waits, length) = text::waits(payload, &named);
        let call = self.read_call(payload, tool, &named, to.is_some(), (waits, length));
        let telling = Telling::of(payload.call_id.as_deref(), self.context, call.round, self.run.now);
        if !self.run.pairing.call(&call, telling) {
            return;
        }
        self.run.counted.calls(call.agent, self.onset.own, length);
        self.looks_late = !call.mutates && call.pause >= LONGEST_PAUSE;
        self.show(&Fact::Call(&call, &Payload::new(payload, named, to)));
        if self.happens() {
            self.run.pairing.wait(call);
        }
    }

    /// Whether the event is recorded rather than only checked.
    fn happens(&self) -> bool {
        self.before.is_none()
    }

    /// Interprets a call. `to_another`: whether it names another agent; `waits` and `length`: whether it lets time
    /// pass, and how long.
    fn read_call(
        &mut self,
        payload: &ToolCall,
        tool: Key,
        named: &ToolName,
        to_another: bool,
        (waits, length): (Waits, i64),
    ) -> Call {
        let context = self.context;
        let keys = self.call_key(payload, named.hands_over);
        let mutates = text::mutates(payload, named, self.tool.mutates);
        let happens = self.happens();
        let (said, json) = text::arguments(payload, &mut self.scratch.call);
        // Only used to compare results, which a checked call does not have.
        let frame = if happens { text::call_frame(said) } else { 0 };
        let echo = if happens { Late::of(said, json) } else { Late::default() };
        let edit = if mutates { text::edit(payload, named, said) } else { Edit::No };
        let asks = match text::asks(payload, named) {
            Asks::Nothing if to_another => Asks::Handover,
            asks => asks,
        };
        let sees = if asks == Asks::Handover || text::delegated(payload, named).is_some() {
            Visibility::All
        } else if !mutates && named.runs() {
            Visibility::Written
        } else {
            Visibility::Own
        };
        let open = self.settings.config.privacy.payloads == Payloads::Excerpt;
        let (kind, watches) = text::kind(payload, named, tool);
        // The user asked to wait for something, and this call looks whether it has arrived.
        let awaited = self.run.ordered.waits
            && !mutates
            && matches!(asks, Asks::Nothing | Asks::Record | Asks::View | Asks::Gesture);
        let slept = u32::try_from(length).unwrap_or(u32::MAX);
        let target = text::target(payload, named, self.scratch.salt);
        Call {
            target,
            thing: if target.is_none() { text::thing(payload, named, self.scratch.salt) } else { 0 },
            mutates,
            writes: mutates && (named.shell || edit != Edit::No),
            limit: if mutates { text::limit(payload, named.runs()) } else { 0 },
            edit,
            quiet: text::quiet(payload, named, mutates, asks),
            asks,
            pages: !mutates && text::pages(payload),
            kind,
            frame,
            sees,
            polling: self.tool.polling || awaited || matches!(waits, Waits::Long | Waits::Only),
            watches: watches && !mutates,
            delivers: named.delivers,
            thinks: named.thinks,
            idles: waits == Waits::Only,
            compare_answers: self.tool.compare_answers,
            onset: self.onset,
            pause: self.run.counted.pause(agent_of(context), context.at).max(slept),
            echo,
            asked: open.then(|| asked(payload)).flatten().map(|asked| Box::new(ArgumentStart(asked))),
            ..Call::new(&payload.tool, tool, keys, payload.call_id.as_deref(), context)
        }
    }

    /// Another agent of this run that the call's arguments name. Such a call is a handover, whatever the tool is
    /// called.
    fn another(&self, call: &ToolCall) -> Option<Key> {
        self.context.agent.as_ref()?;
        let arguments = call.args.as_ref()?.as_object()?;
        arguments.values().find_map(|name| self.run.standings.another(name.as_str()?))
    }

    fn result(&mut self, result: &ToolResult) {
        let call = match self.run.pairing.result(result, self.context) {
            Matched::Call(mut call) => {
                if call.round.is_none() {
                    call.round = self.run.counted.round_of(call.agent, call.onset.own);
                }
                Some(call)
            }
            Matched::None => {
                self.scratch.without_call |= !self.context.synthetic;
                None
            }
            Matched::Replay => return,
        };
        // A refusal or an answer by the host itself settles the call but says nothing about the agent; neither does a
        // call that never ran.
        let synthetic = self.context.synthetic;
        if synthetic || result.outcome == Outcome::NotExecuted {
            self.stands = call.as_ref().is_some_and(|call| call.vetoed);
            // A synthetic result without a call does not even settle one.
            if call.is_some() || !synthetic {
                self.show(&Fact::NotRun(call.as_ref(), (!synthetic).then_some(result)));
            }
            return;
        }
        let name = result.tool.as_deref().or(call.as_ref().map(|call| call.name.as_str())).unwrap_or_default();
        let tool = key("tool", name.as_bytes());
        let bare = self.bare(result, call.as_ref().map_or_else(|| mark(tool), |call| call.kind));
        let result = bare.as_ref().unwrap_or(result);
        self.run.ordered.acknowledged = result.outcome == Outcome::Ok && text::acknowledges(&result.output);
        if !self.configure(name) {
            return;
        }
        if let Some(call) = &call {
            self.run.ladder.ran(&call.refused);
        }
        let mut facts = self.read(name, result, call.as_ref());
        // An edit that did not find its text has failed, whatever its outcome; so has a command line that produced
        // nothing but a program's complaint, and a change that was not made according to its answer. Where something
        // is only looked up, such an answer may tell that there is none.
        let edits = call.as_ref().is_some_and(|call| call.edit != Edit::No);
        let kind = call.as_ref().map_or(0, |call| call.kind);
        let complains = || result.exit_code.is_none() && text::only_complains(&result.output, tool, kind);
        let denied = || call.as_ref().is_some_and(|call| call.mutates) && text::denies_success(&result.output);
        let misses = !facts.failed && (facts.negative && edits || complains() || denied());
        let missed =
            misses.then(|| ToolResult { outcome: Outcome::Error, ..text::with_output(result, result.output.clone()) });
        if let Some(missed) = &missed {
            facts = self.read(name, missed, call.as_ref());
        }
        let result = missed.as_ref().unwrap_or(result);
        facts.echo =
            !facts.failed && call.as_ref().is_some_and(|call| !call.mutates && call.echo.holds(&result.output));
        self.step(tool, call, facts, result);
    }

    /// Records a call with its outcome in the run and shows it to the rules. Inlined: called in one place, and its
    /// arguments are large to move.
    #[inline(always)]
    fn step(&mut self, tool: Key, call: Option<Call>, mut facts: OutcomeFacts, result: &ToolResult) {
        let at = self.context.at;
        let agent = call.as_ref().map_or_else(|| agent_of(self.context), |call| call.agent);
        let idles = call.as_ref().is_some_and(|call| call.idles) && result.output.len() <= IDLE_ANSWER;
        let Turn { previous, slept, worker } = self.run.counted.step(agent, at, idles);
        let waited = if self.has_waited(call.as_ref(), &facts, result) { PAUSE } else { 0 };
        let pause = call.as_ref().map_or(0, |call| call.pause).max(waited);
        self.looks_late = pause >= LONGEST_PAUSE && call.as_ref().is_some_and(|call| !call.mutates);
        self.run.standings.step();
        self.came(call.as_ref(), &facts, &result.output);
        let compared = combine("sighting", &[call.as_ref().map_or(0, |call| call.key), facts.light]);
        let sees = call.as_ref().map_or(Visibility::All, |call| call.sees);
        // Every step of a bisection is a different one, reported in the same words.
        let narrows = !facts.failed && text::narrows(&result.output);
        let changed = call.as_ref().filter(|call| call.mutates && result.outcome == Outcome::Ok && !facts.failed);
        // What an edit wrote that tells only the file is not known, so its outcome is a new one each time.
        let untold = changed.is_some_and(|call| call.edit == Edit::Untold);
        if untold {
            facts.differ(self.run.counted.steps);
        }
        if changed.is_some_and(|call| call.makes_another()) {
            facts.acknowledged_as(&result.output);
        }
        // What a call has set going need not be set going again.
        facts.waiting &= !changed.is_some_and(|call| !call.writes && !call.polling);
        let remade = changed.is_some_and(|call| self.run.counted.remakes(call.key)) && !untold;
        let mut changes = [Visibility::Own, sees, Visibility::All].map(|sees| Changes::before(&self.run.counted, sees));
        if let Some(call) = changed {
            self.run.mutation(call, if narrows || untold { facts.light } else { 0 });
        }
        changes.iter_mut().for_each(|changes| changes.after(&self.run.counted));
        let [own, seen_changes, all] = changes;
        // What other agents do after a handover is part of it.
        let handed = call.as_ref().is_some_and(|call| call.sees == Visibility::All);
        let index = self.run.counted.steps;
        let mut step = Step {
            tool,
            agent,
            outcome: result.outcome,
            own,
            seen_changes,
            all,
            remade,
            narrows,
            previous: if handed { index.saturating_sub(1) } else { previous },
            news: worker.news.into(),
            news_round: worker.round,
            slept,
            pause,
            idles,
            index,
            at,
            sighting: self.sighting(compared),
            onset: call.as_ref().map_or(self.onset, |call| call.onset),
            facts,
            call,
            ..Step::default()
        };
        let counted = &mut self.run.counted;
        let asked = self.run.rules.task_loop.is_used();
        counted.news.step(&mut step, result, &mut counted.worker.entered, asked, self.scratch.salt);
        if step.is_news {
            counted.worker.brought_news(&step);
        }
        if step.fewer {
            self.run.rules.task_loop.steps_forward(self.run.lanes.here());
        }
        self.show(&Fact::Step(&step, result));
        if !self.is_quiet() {
            self.answers = step.call;
        }
    }

    /// Records what the agent has found out, for whoever takes over next; a mere acknowledgement of a handover does not
    /// count.
    fn came(&mut self, call: Option<&Call>, facts: &OutcomeFacts, output: &str) {
        let hands_over = call.is_some_and(|call| call.asks == Asks::Handover);
        let task = self.run.lanes.here();
        if hands_over {
            self.run.handed.within(task);
        }
        if !facts.failed && !facts.negative && (!hands_over || facts.letters >= REPORT) {
            let told = call.filter(|_| !hands_over).map_or(0, |call| call.key);
            let words = || combine("handed/words", &[told, text::frame(output).into()]);
            self.run.handed.found(combine("handed/came", &[told, facts.light]), words, task);
        }
    }

    /// The result without text that the harness added around its output; `None` if it added none.
    fn bare(&mut self, result: &ToolResult, kind: u32) -> Option<ToolResult> {
        let opened = text::opened(result);
        let result = opened.as_ref().unwrap_or(result);
        let within = self.run.margins.within(&result.output, kind, self.scratch.salt);
        let within = within.map(|answer| text::with_output(result, answer.into()));
        within.map(|within| text::opened(&within).unwrap_or(within)).or(opened)
    }

    /// Whether a call took so long for something that waiting may end that it has waited itself; without times, whether
    /// its result says that it ran into its own time limit.
    fn has_waited(&self, call: Option<&Call>, facts: &OutcomeFacts, result: &ToolResult) -> bool {
        let called = call.and_then(|call| call.onset.at.get());
        let lasted = || called.zip(self.context.at).map(|(called, now)| now.saturating_sub(called) >= PAUSE.into());
        // A call that was stopped at its limit need not have waited for anything.
        let stopped = || result.outcome == Outcome::Timeout || result.output.contains("timed out");
        facts.transient
            && match lasted() {
                Some(false) => false,
                Some(true) => text::waited(&result.output) || !stopped(),
                None => text::waited(&result.output),
            }
    }

    /// Interprets the outcome of a call.
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

    /// A custom event, treated as a call of that name with its outcome, but counted apart: between the agent's calls it
    /// neither hides a loop nor forms one with them.
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
            // With an unknown outcome, nothing is known to be different or byte-for-byte equal.
            facts.exact = combine("custom/unknown", &[self.run.touched]);
        }
        self.run.counted.customs = self.run.counted.customs.saturating_add(1);
        let sighting = self.sighting(combine("sighting", &[call.key, facts.light]));
        self.show(&Fact::Custom(&Step::of_custom(call, facts, sighting, &self.run.counted, context.at)));
    }

    /// Adds a record if a cycle of the workflow is halted, whatever rule halted it.
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

    /// Finishes the event. Returns `None` if no rule has a finding.
    pub(super) fn end(&mut self) -> Option<Judgement> {
        // Returns early so that no large value is moved.
        if self.is_quiet() {
            // A refused call that did not run changes nothing about what it was refused for.
            if !self.stands {
                self.run.standings.judged(Level::Continue, self.run.now);
            }
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

    /// Whether no rule has a finding and the run has not been stopped.
    pub(super) fn is_quiet(&self) -> bool {
        self.raised.is_empty() && !self.run.stopped
    }

    fn decide(&mut self) -> Judgement {
        let context = self.context;
        let answers = self.answers.take();
        let answers =
            answers.as_ref().map(|call| (call.name.as_str(), call.asked.as_ref().map(|asked| asked.0.as_str())));
        let open = self.settings.config.privacy.payloads == Payloads::Excerpt;
        let scene = Scene::new(self.event, context, answers, open, &self.digests);
        let kind = match self.event.body {
            Body::ToolCall(_) => OccasionKind::Call(round_key(context)),
            Body::ToolResult(_) | Body::Custom(_) => OccasionKind::Past,
            _ => OccasionKind::Other,
        };
        let occasion = Occasion { kind, looks_late: self.looks_late };
        let (limits, raised) = (self.tool.limits(self.settings), core::mem::take(&mut self.raised));
        let place = TaskPlace { task: task_of(context), parent: parent_of(context) };
        let mut judgement = decide(self.settings, limits, self.run, raised, &occasion, place, &scene);
        let verdict = &mut judgement.verdict;
        self.record_halt(verdict);
        if matches!(self.event.body, Body::ToolCall(_)) {
            let vetoed = verdict.level >= Level::Block;
            self.run.pairing.veto(self.onset.seq, vetoed, core::mem::take(&mut judgement.refused));
        }
        judgement
    }
}
