//! From signals to a verdict. This is the only place where levels escalate.
//!
//! A rule's evidence asks for a raw level. The ladder turns it into the level that is given:
//! - each loop is nudged once; while it continues without reaching the next rung, its findings are `observe`, and so
//!   are those of other rules about the same calls if only one agent is at work;
//! - a block, gate or halt is given as long as the evidence asks for it;
//! - a loop that comes back after a nudge gets no fresh budget: it gets the rung after the nudge if that is a block;
//! - an agent that repeats a refused call insists: each such call counts towards the rungs above `block` as if it had
//!   run, since a refused call produces no evidence of its own;
//! - a refused call is let through once after a new change, since it may then have another outcome, and a look also
//!   after a long pause, so that waiting longer helps where looking more often does not;
//! - if nobody attends, a gate becomes the configured unattended level; in shadow mode nothing exceeds `observe`.

use crate::codec::codec;
use crate::model::{
    Body, Config, Context, Event, Evidence, Finding, HaltReason, Level, Mode, Outcome, Recommendation, Record, Scope,
    ToolCall, Verdict, Wasted,
};
use crate::rules::{Description, HostAdvice, Limits, RULES, Raised, Settings, Signal};
use crate::state::{Onset, Ring, Run, Spent};
use crate::text::{Digests, Key, combine, key, number, printable, shown, sort_few};
use crate::write::written;
use alloc::{string::String, string::ToString, sync::Arc, vec, vec::Vec};
use core::cell::{OnceCell, RefCell};
use smol_str::SmolStr;

/// Loops whose reported level is remembered.
const REMEMBERED: usize = 64;
/// Exemptions kept at once.
const EXEMPTIONS: usize = 32;

/// Characters of a payload that may be shown, and of a tool's name.
const EXCERPT: usize = 120;
const TOOL: usize = 48;

/// The rule whose records report loops of failures and requests.
const COUNTS_LOOPS: &str = "task-loop";

/// The level reported for each loop, and the exemptions made by a human.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ladder {
    said: Ring<ReportedLoop>,
    exempt: Ring<Exemption>,
}
codec!(struct Ladder { said, exempt });

#[derive(Clone, Copy, Debug)]
struct ReportedLoop {
    identity: Key,
    /// Where the loop was last seen.
    place: TaskPlace,
    level: Level,
    onset: Onset,
    /// The event at which the loop was last seen. Evidence that began later is a relapse.
    seen: u64,
    /// Calls of the loop that were refused and did not run.
    refused: u32,
    /// The round of the latest refused call.
    round: Option<Key>,
    /// The number of new mutations before the latest event that was blocked.
    mutations: u64,
}
codec!(struct ReportedLoop { identity, place, level, onset, seen, refused, round, mutations });

impl ReportedLoop {
    /// Whether a call is the agent insisting after a refusal: not a copy within the round of the refused call, which
    /// was decided on before the refusal, nor a retry after a change.
    fn insists(&self, call: &Occasion, mutations: u64) -> bool {
        let OccasionKind::Call(round) = call.kind else { return false };
        self.refused != 0 && self.mutations == mutations && (round.is_none() || round != self.round)
    }

    /// Whether a call is the first one after a block that comes after a new change.
    fn tries_change(&mut self, call: &Occasion, mutations: u64) -> bool {
        let is_call = matches!(call.kind, OccasionKind::Call(_));
        let changed = is_call && self.level >= Level::Block && self.mutations != mutations;
        if changed {
            self.mutations = mutations;
        }
        changed
    }
}

/// The task of an event, 0 for none, and its parent task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TaskPlace {
    pub(crate) task: Key,
    pub(crate) parent: Option<Key>,
}
codec!(struct TaskPlace { task, parent });

/// The event being judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occasion {
    pub(crate) kind: OccasionKind,
    /// Whether the call only looks, at least [`LONGEST_PAUSE`](crate::state::LONGEST_PAUSE) after anything else was
    /// done.
    pub(crate) looks_late: bool,
}

/// The kind of event being judged, which determines the wording of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OccasionKind {
    /// A call that is about to run, with the key of its round.
    Call(Option<Key>),
    /// Something that has already happened: a result or a custom event.
    Past,
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Exemption {
    what: Key,
    /// Event time until which it holds; `None` for the rest of the run.
    until: Option<i64>,
}
codec!(struct Exemption { what, until });

/// A signal with the level it is reported at.
struct Graded<'a> {
    rule: &'static Description,
    level: Level,
    is: Loop,
    threshold: u32,
    signal: &'a Signal,
}

impl Graded<'_> {
    /// Whether it is about a loop of calls, rather than a budget or a text, whose chunks always differ.
    const fn is_of_calls(&self) -> bool {
        self.rule.of_calls && self.rule.budget.is_none() && self.signal.extra.onset_offset.is_none()
    }
}

/// What the ladder knows about a loop.
#[derive(Clone, Copy, PartialEq)]
enum Loop {
    New,
    Known,
    /// It was nudged before and continues.
    Nudged,
}

/// A verdict, with the rules whose findings report a new loop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) fresh: Vec<&'static str>,
    /// Records of failures and requests that are loops, each once, for the metrics.
    pub(crate) loops: Vec<Record>,
    /// The loops for which the call is refused.
    pub(crate) refused: Vec<Key>,
}

impl Ladder {
    /// The level to give when the evidence asks for `raw`, what is known about the loop, and where it began. `now` is
    /// the current event.
    fn give(
        &mut self,
        (identity, place): (Key, TaskPlace),
        raw: Level,
        onset: Onset,
        now: u64,
        limits: &Limits,
    ) -> (Level, Loop, Onset) {
        // Searched from the end, as it usually is one of the latest.
        let known = self.said.iter().rposition(|said| said.identity == identity);
        let said = known.and_then(|index| self.said.remove(index));
        let (mut refused, mut round, mut mutations) = (0, None, 0);
        let (given, remembered, is, onset) = match said {
            None => (raw, raw, Loop::New, onset),
            // The onset moves with a sliding window; the loop still began where it did.
            Some(said) if onset.seq <= said.seen => {
                (refused, round, mutations) = (said.refused, said.round, said.mutations);
                let given = if raw > said.level || raw >= Level::Block { raw } else { Level::Observe };
                let is = if said.level >= Level::Nudge { Loop::Nudged } else { Loop::Known };
                (given, raw.max(said.level), is, if said.onset.seq < onset.seq { said.onset } else { onset })
            }
            Some(said) => {
                let relapse =
                    limits.rung_above(Level::Nudge).filter(|rung| *rung == Level::Block).unwrap_or(Level::Nudge);
                let given = if said.level >= Level::Nudge { raw.max(relapse) } else { raw };
                (given, given, Loop::New, onset)
            }
        };
        let said = ReportedLoop { identity, place, level: remembered, onset, seen: now, refused, round, mutations };
        self.said.push(said, REMEMBERED);
        (given, is, onset)
    }

    /// Refused calls of a loop, without and with the current one if it is made despite a refusal.
    fn insistence(&self, identity: Key, onset: &Onset, call: &Occasion, mutations: u64) -> (u32, u32) {
        let known = self.said.iter().rev().find(|said| said.identity == identity && onset.seq <= said.seen);
        known.map_or((0, 0), |said| {
            (said.refused, said.refused.saturating_add(u32::from(said.insists(call, mutations))))
        })
    }

    /// Whether a call is let through although the evidence asks to refuse it.
    fn lets(&mut self, identity: Key, call: &Occasion, mutations: u64) -> bool {
        let known = self.said.iter_mut().rev().find(|said| said.identity == identity);
        known.is_some_and(|said| said.tries_change(call, mutations)) || call.looks_late
    }

    /// Records that a loop is blocked. Returns whether that refuses a call which counts.
    fn block(&mut self, identity: Key, call: &Occasion, mutations: u64) -> bool {
        let Some(said) = self.said.iter_mut().rev().find(|said| said.identity == identity) else { return false };
        let OccasionKind::Call(round) = call.kind else {
            said.mutations = mutations;
            return false;
        };
        let counts = said.refused == 0 || said.insists(call, mutations);
        said.refused = said.refused.saturating_add(u32::from(counts));
        (said.round, said.mutations) = (round, mutations);
        counts
    }

    /// A call ran despite being refused for these loops: its result counts, so the repetition itself no longer does.
    pub(crate) fn ran(&mut self, refused: &[Key]) {
        for said in self.said.iter_mut().filter(|said| refused.contains(&said.identity)) {
            said.refused = said.refused.saturating_sub(1);
        }
    }

    pub(crate) fn exempt(&mut self, rule: &str, signature: &str, until: Option<i64>) {
        let what = exemption(rule, signature);
        self.exempt.retain(|exempt| exempt.what != what);
        self.exempt.push(Exemption { what, until }, EXEMPTIONS);
    }

    fn is_exempt(&self, rule: &str, signature: &str, now: Option<i64>) -> bool {
        // Usually there are none; then nothing needs to be hashed.
        self.exempt.len() != 0 && {
            let what = exemption(rule, signature);
            let holds = |until: Option<i64>| until.is_none_or(|until| now.is_none_or(|now| now < until));
            self.exempt.iter().any(|exempt| exempt.what == what && holds(exempt.until))
        }
    }

    /// Forgets the reported levels, for one task or for all. Exemptions stay.
    pub(crate) fn rearm(&mut self, task: Option<Key>) {
        let is_kept = |place: &TaskPlace, task| place.task != task && place.parent != Some(task);
        self.said.retain(|said| task.is_some_and(|task| is_kept(&said.place, task)));
    }

    pub(crate) fn fits(&self) -> bool {
        self.said.len() <= REMEMBERED && self.exempt.len() <= EXEMPTIONS
    }
}

fn exemption(rule: &str, signature: &str) -> Key {
    combine("exemption", &[key("rule", rule.as_bytes()), key("signature", signature.as_bytes())])
}

/// Turns what the rules raised into the verdict on one event, and stores its findings in the run.
pub(crate) fn decide(
    settings: &Settings,
    limits: &[Limits],
    run: &mut Run,
    mut raised: Vec<Raised>,
    occasion: &Occasion,
    place: TaskPlace,
    scene: &Scene<'_>,
) -> Judgement {
    let config = &settings.config;
    sort_few(&mut raised, |one, other| one.0 > other.0);
    let mut judgement = Judgement::default();
    // Signals are large and are borrowed rather than moved.
    let mut told: Vec<Graded<'_>> = Vec::with_capacity(raised.len());
    for (index, signal) in &mut raised {
        if let (Some(rule), Some(limits)) = (RULES.get(*index), limits.get(*index)) {
            told.extend(hear(rule, limits, signal, (config, occasion, place), run, &mut judgement));
        }
    }
    judgement.fresh.extend(told.iter().filter(|told| told.is == Loop::New).map(|told| told.rule.id));
    // A loop found by several rules is nudged once; with several agents, each is told.
    if told.iter().any(|told| told.is == Loop::Nudged && told.is_of_calls())
        && run.standings.one_agent(run.lanes.here())
    {
        for told in &mut told {
            if told.is == Loop::New && told.level == Level::Nudge && told.is_of_calls() {
                told.level = Level::Observe;
            }
        }
    }
    // Stable sort: at equal level, the rule that is checked first leads.
    sort_few(&mut told, |one, other| one.level < other.level);
    let verdict = &mut judgement.verdict;
    verdict.seq = run.touched;
    verdict.needs_evaluation = verdict.question.is_some();
    for Graded { rule, signal, .. } in &told {
        let records = &signal.extra.more().records;
        verdict.records.extend_from_slice(records);
        if rule.id == COUNTS_LOOPS && !signal.extra.counted {
            judgement.loops.extend_from_slice(records);
        }
    }
    if let Some(first) = told.first() {
        lead(verdict, first, occasion);
    }
    if run.stopped {
        stop(verdict);
    }
    verdict.findings = told.iter().map(|told| Arc::new(finding(told, run, scene))).collect();
    run.standings.judged(verdict.level, run.now);
    for (finding, told) in verdict.findings.iter().zip(&told).rev() {
        run.standings.keep(finding, !told.rule.outlives);
    }
    if config.mode == Mode::Shadow {
        shade(verdict);
    }
    judgement
}

/// Passes a signal through the ladder. Returns `None` if there is nothing to report.
fn hear<'a>(
    rule: &'static Description,
    limits: &Limits,
    signal: &'a mut Signal,
    (config, occasion, place): (&Config, &Occasion, TaskPlace),
    run: &mut Run,
    judgement: &mut Judgement,
) -> Option<Graded<'a>> {
    let mut identity = combine("ladder", &[signal.identity, key("rule", rule.id.as_bytes())]);
    let lane = run.lanes.here();
    if rule.in_lane && lane != 0 {
        identity = combine("ladder/task", &[identity, lane]);
    }
    let mutations = run.counted.new_mutations.into();
    if let Some(each) = signal.extra.each {
        let (before, again) = run.ladder.insistence(identity, &signal.onset, occasion, mutations);
        signal.insist(before, again, each);
    }
    let asked = signal.ask.map(|level| (level, signal.extra.threshold.unwrap_or(signal.count)));
    let (raw, threshold) = asked.or_else(|| limits.level(signal.count, signal.scale))?;
    if run.ladder.is_exempt(rule.id, &signal.signature, run.now) {
        return None;
    }
    let verdict = &mut judgement.verdict;
    if let Some(question) = &signal.extra.more().question {
        verdict.question = Some(question.clone());
    }
    if raw == Level::Continue {
        if signal.extra.recommend {
            verdict.recommendation = signal.advice.recommendation;
        }
        return None;
    }
    let lets = raw > Level::Nudge && signal.extra.each.is_some() && run.ladder.lets(identity, occasion, mutations);
    let raw = if lets { Level::Nudge } else { raw };
    let (given, is, onset) = run.ladder.give((identity, place), raw, signal.onset, run.touched, limits);
    signal.onset = onset;
    // An advisory finding is not blocked for having been reported before.
    let given = if signal.extra.advisory { given.min(raw) } else { given };
    let level = if given == Level::Gate && !config.attended { config.unattended_level } else { given };
    if signal.extra.recommend && level == Level::Observe {
        verdict.recommendation = signal.advice.recommendation;
    }
    if level >= Level::Block && signal.extra.each.is_some() && run.ladder.block(identity, occasion, mutations) {
        judgement.refused.push(identity);
    }
    Some(Graded { rule, level, is, threshold, signal })
}

/// Fills the verdict from the strongest finding.
fn lead(verdict: &mut Verdict, told: &Graded<'_>, occasion: &Occasion) {
    let Graded { level, signal, .. } = *told;
    verdict.level = level;
    if level >= Level::Nudge {
        verdict.recommendation = signal.advice.recommendation;
        verdict.guidance = Some(guidance(level, signal, occasion));
        let HostAdvice { actions: own, label, recovery, .. } = signal.extra.more();
        verdict.suggested_actions = if own.is_empty() { actions(level, signal.onset.seq) } else { own.clone() };
        verdict.label.clone_from(label);
        verdict.recovery.clone_from(recovery);
    }
    if level == Level::Halt {
        verdict.halt_reason = Some(signal.advice.halt_reason);
    }
}

/// Fills the verdict for a run that a human has ended.
fn stop(verdict: &mut Verdict) {
    verdict.level = Level::Halt;
    verdict.halt_reason = Some(HaltReason::UserStop);
    verdict.recommendation = Recommendation::Escalate;
    verdict.guidance = Some("Loopwarden: a human ended this run.".into());
    verdict.suggested_actions = vec!["end the run".to_string()];
}

/// Shadow mode: removes everything a host would act on, and records the level it would have had.
fn shade(verdict: &mut Verdict) {
    verdict.would_be = Some(verdict.level);
    verdict.level = verdict.level.min(Level::Observe);
    verdict.halt_reason = None;
    verdict.recommendation = Recommendation::Continue;
    verdict.guidance = None;
    verdict.suggested_actions.clear();
    verdict.label = None;
    verdict.recovery = None;
}

/// The event being judged, as a source of evidence for its findings.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    event: &'a Event,
    /// The event's context, with the task of the answered call.
    context: &'a Context,
    /// The call that the event is the result of: its tool and, if payloads may be shown, its arguments.
    answers: Option<(&'a str, Option<&'a str>)>,
    /// Whether verdicts may contain payloads.
    open: bool,
    digests: &'a RefCell<Digests>,
    /// The scope shared by all findings of the event.
    scope: OnceCell<Arc<Scope>>,
    shown: OnceCell<Evidence>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(
        event: &'a Event,
        context: &'a Context,
        answers: Option<(&'a str, Option<&'a str>)>,
        open: bool,
        digests: &'a RefCell<Digests>,
    ) -> Self {
        Self { event, context, answers, open, digests, scope: OnceCell::new(), shown: OnceCell::new() }
    }

    fn scope(&self) -> &Arc<Scope> {
        self.scope.get_or_init(|| {
            let Context { run, task, parent_task, agent, .. } = self.context;
            let (run, task) = (run.clone(), task.clone());
            Arc::new(Scope { run, task, parent_task: parent_task.clone(), agent: agent.clone() })
        })
    }

    /// What may be shown of the event.
    fn shown(&self) -> &Evidence {
        self.shown.get_or_init(|| self.show())
    }

    fn show(&self) -> Evidence {
        let mut shown = Evidence { at: self.event.context.at, ..Evidence::default() };
        let named = |name: &str| Some(printable(name, TOOL).into()).filter(|name: &SmolStr| !name.is_empty());
        let payload = match &self.event.body {
            Body::ToolCall(call) => {
                shown.tool = named(&call.tool);
                shown.args = if self.open { asked(call).map(SmolStr::from) } else { None };
                None
            }
            Body::ToolResult(result) => {
                let (tool, args) = self.answers.unwrap_or_default();
                shown.tool = named(result.tool.as_deref().unwrap_or(tool));
                shown.args = args.map(SmolStr::from);
                // A command that ran and failed may say so by its exit code alone.
                let failed = result.outcome == Outcome::Ok && result.exit_code.is_some_and(|code| code != 0);
                shown.outcome = Some(if failed { Outcome::Error } else { result.outcome });
                Some(&result.output)
            }
            Body::Message(message) => Some(&message.text),
            Body::Output(output) => Some(&output.text),
            Body::Failure(failure) => Some(&failure.message),
            _ => None,
        };
        let payload = payload.filter(|payload| self.open && !payload.trim().is_empty());
        shown.excerpt = payload.map(|payload| printable(payload, EXCERPT).into());
        shown
    }
}

/// The first characters of a call's arguments.
pub(crate) fn asked(call: &ToolCall) -> Option<String> {
    let args = call.args.as_ref().map(written).or_else(|| call.raw_args.clone());
    args.map(|args| printable(&args, EXCERPT).into_owned())
}

fn finding(told: &Graded<'_>, run: &Run, scene: &Scene<'_>) -> Finding {
    let Graded { rule, level, threshold, signal, .. } = *told;
    let scope = scene.scope();
    let known = run.standings.known(rule.id, &signal.signature, scope);
    let nothing = Evidence::default();
    let evidence = signal.sightings.iter().map(|sighting| {
        let told = if sighting.seq == run.touched {
            Some(scene.shown())
        } else {
            known.and_then(|known| known.evidence.iter().find(|told| told.seq == sighting.seq))
        };
        let Evidence { at, tool, args, outcome, excerpt, .. } = told.unwrap_or(&nothing);
        Evidence {
            seq: sighting.seq,
            step: sighting.step.get(),
            digest: shown(scene.digests, sighting.key),
            at: *at,
            tool: tool.clone(),
            args: args.clone(),
            outcome: *outcome,
            excerpt: excerpt.clone(),
        }
    });
    let mut evidence: Vec<Evidence> = evidence.collect();
    // Equal digests mean the same call with the same outcome.
    let bare = |seen: &Evidence| seen.tool.is_none();
    if evidence.iter().any(bare)
        && let Some(like) = evidence.iter().rev().find(|seen| seen.outcome.is_some())
    {
        let (digest, tool, outcome) = (like.digest.clone(), like.tool.clone(), like.outcome);
        for seen in evidence.iter_mut().filter(|seen| bare(seen) && seen.digest == digest) {
            (seen.tool, seen.outcome) = (tool.clone(), outcome);
        }
    }
    Finding {
        rule: SmolStr::new_static(rule.id),
        kind: SmolStr::new_static(signal.kind),
        level,
        scope: Arc::clone(scope),
        count: signal.count,
        threshold,
        period: signal.period,
        onset_seq: signal.onset.seq,
        onset_offset: signal.extra.onset_offset,
        last_seq: run.touched,
        confidence: signal.confidence,
        signature: signal.signature.clone(),
        evidence,
        wasted: wasted(rule, &signal.onset, run),
        message: signal.message.as_str().into(),
        reasoning: signal.extra.more().reasoning.clone(),
        recommendation: signal.advice.recommendation,
        instead: SmolStr::new_static(signal.advice.instead),
    }
}

/// What was spent since the onset: by the whole run for limits of the run, otherwise by the task, with only the agent's
/// own events if its evidence does not outlive a user's message.
fn wasted(rule: &Description, onset: &Onset, run: &Run) -> Wasted {
    let elapsed = onset.at.until(run.now).and_then(|elapsed| u64::try_from(elapsed).ok());
    let (task, own) = run.standings.spent();
    let of_run = Spent { events: run.events, tokens: run.tokens, cost_micros: run.cost_micros };
    let (spent, before) = if rule.of_run {
        (of_run, onset.events)
    } else if rule.outlives {
        (task, onset.events)
    } else {
        (Spent { events: own.events, ..task }, onset.own)
    };
    Wasted {
        events: spent.events.saturating_sub(before),
        tokens: spent.tokens.map(|tokens| tokens.saturating_sub(onset.tokens)),
        cost_micros: spent.cost_micros.map(|cost| cost.saturating_sub(onset.cost_micros)),
        milliseconds: elapsed,
    }
}

/// The guidance for the agent: attributed, factual, with one alternative, and never an order to finish.
fn guidance(level: Level, signal: &Signal, occasion: &Occasion) -> String {
    let consequence = match level {
        // What has already run cannot be refused, and only some rules recognise the next such call before it runs.
        Level::Block if matches!(occasion.kind, OccasionKind::Past) => match signal.extra.each {
            Some(_) => " The same call will be refused if it is made again.",
            None => "",
        },
        Level::Block => " This attempt is refused so that something else can be tried.",
        Level::Gate => " A human is being asked how to go on.",
        Level::Halt => " The run is being ended and handed back.",
        Level::Continue | Level::Observe | Level::Nudge => "",
    };
    let (what, stop) = match &signal.advice.what {
        Some(what) => (what.as_ref(), ""),
        None => (signal.message.as_str(), "."),
    };
    ["Loopwarden (loop detector): ", what, stop, consequence, " One alternative: ", signal.advice.instead].concat()
}

/// Suggestions for the host or a human, strongest first.
fn actions(level: Level, onset: u64) -> Vec<String> {
    let rewind = || ["rewind to event ", &number(onset), " and go on from there"].concat();
    match level {
        Level::Continue | Level::Observe => Vec::new(),
        Level::Nudge => vec!["show the guidance to the agent".to_string()],
        Level::Block => vec!["refuse the call and answer it with the guidance".to_string(), rewind()],
        Level::Gate => {
            vec!["continue with a different approach".to_string(), "review and debug".to_string(), "cancel".to_string()]
        }
        Level::Halt => vec!["end the run and report the reason".to_string(), rewind()],
    }
}

#[cfg(test)]
mod tests {
    use crate::json;
    use crate::model::Level;
    use crate::rules::testing::pair;
    use alloc::{format, string::String, vec::Vec};

    /// The guidance after the last of `events`.
    fn told(events: &[&str]) -> String {
        let mut detector = json::detector("{}").unwrap();
        let verdicts: Vec<_> =
            events.iter().map(|event| detector.record(&json::event(event).unwrap()).unwrap()).collect();
        verdicts.last().and_then(|verdict| verdict.guidance.clone()).unwrap_or_default()
    }

    #[test]
    fn a_loop_that_several_rules_find_is_nudged_once() {
        let mut detector = json::detector("{}").unwrap();
        let step = |at: usize| pair("moor", &format!(r#"{{"berth":"b{}"}}"#, " ".repeat(at)), "error", "no such berth");
        let verdicts: Vec<_> =
            (0..5).flat_map(step).map(|event| detector.record(&json::event(&event).unwrap()).unwrap()).collect();
        let nudges = verdicts.iter().filter(|verdict| verdict.level == Level::Nudge).count();
        let rules: Vec<_> = verdicts.iter().flat_map(|verdict| &verdict.findings).map(|found| &found.rule).collect();
        assert!(nudges == 1 && rules.iter().any(|rule| **rule != *rules[0]), "{nudges} {rules:?}");
    }

    #[test]
    fn a_block_says_what_is_true_of_the_event() {
        let call = r#"{"type":"tool-call","tool":"read","args":{"path":"a"}}"#;
        let result = r#"{"type":"tool-result","tool":"read","outcome":"ok","output":"the same text"}"#;
        let mut events = [call, result].repeat(5);
        let after = told(&events);
        assert!(
            after.contains(" The same call will be refused if it is made again. ") && !after.contains("This attempt"),
            "{after}"
        );
        events.push(call);
        let before = told(&events);
        assert!(before.contains(" This attempt is refused so that") && !before.contains("next one"), "{before}");
        // A rule that cannot recognise the next call before it runs promises nothing.
        let failed: Vec<String> = (0..10_usize)
            .flat_map(|n| {
                let word = ["oak", "elm", "ash", "fir", "yew", "bay", "box", "fig", "nut", "tea"][n];
                let error = format!("{word} {word} broke the {word}");
                pair("saw", &format!(r#"{{"teeth":{n}}}"#), "error", &error)
            })
            .collect();
        let failed = told(&failed.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(failed.contains("failed") && !failed.contains("refused"), "{failed}");
    }
}
