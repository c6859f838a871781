//! Catches: what the configuration asks to be counted (`conventions.counters`), exactly as configured.
//! Must not catch: anything by itself; it knows nothing about progress, waiting or the meaning of a result.
//! Idea: most detectors in the field are exact counters over a short history. A counter that can be described in a few
//! words (what has to be the same, in a row or within a window, what ends it, before or after the call runs) can
//! imitate any of them, so that anyone who depends on another detector's alarms can have the same ones here. Counts are
//! recomputed from the latest events each time, so that they never depend on how they came about.

use crate::codec::codec;
use crate::model::{Apart, Counted, Counter, Ends, HaltReason, Outcome, Recommendation, Same, ToolResult};
use crate::rules::streak::Streak;
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, SignalParts, many};
use crate::state::{Call, Occurrence, Ring, Sighting, Step, agent_of};
use crate::text::{Key, Refusal, combine, key, mark, printable, salted, sorted};
use alloc::{format, string::String, vec::Vec};

/// Number of entries (calls and messages) that counters look back at.
pub(crate) const TRAIL: usize = 64;

pub(crate) struct Counters;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    trail: Ring<Entry>,
    /// Number of calls, results and messages so far.
    events: u64,
}
codec!(struct State { trail, events });

/// A call with its outcome, or a message.
#[derive(Clone, Debug, Default)]
struct Entry {
    kind: Kind,
    agent: u32,
    round: u32,
    /// Marks of the tool, of the exact call or of a message's text, and of the target; 0 for none.
    tool: u32,
    call: u32,
    target: u32,
    /// Marks of the result byte for byte, of the result with volatile parts masked, and of the exit code (or of the
    /// exact result if there is none).
    exact: u32,
    masked: u32,
    exit: u32,
    outcome: CallOutcome,
    changed: bool,
    /// `State::events` when it was added.
    number: u64,
    seen: Occurrence,
}
codec!(struct Entry {
    kind, agent, round, tool, call, target, exact, masked, exit, outcome, changed, number, seen,
});

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Call,
    Message,
    /// A message from the user.
    Heard,
}
codec!(enum Kind { Call: 0, Message: 1, Heard: 2 });

/// The outcome of a call, as counters distinguish it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CallOutcome {
    #[default]
    Nothing,
    Success,
    /// Outcome `ok`, but failed by its exit code.
    Exit,
    Error,
    UnknownTool,
    /// A person or a policy refused it.
    Denied,
}
codec!(enum CallOutcome { Nothing: 0, Success: 1, Exit: 2, Error: 3, UnknownTool: 4, Denied: 5 });

impl CallOutcome {
    fn of(step: &Step) -> Self {
        match step.outcome {
            Outcome::Denied => Self::Denied,
            Outcome::UnknownTool => Self::UnknownTool,
            _ if step.facts.refusal == Some(Refusal::UnknownTool) => Self::UnknownTool,
            Outcome::Ok if step.facts.failed => Self::Exit,
            Outcome::Ok => Self::Success,
            _ => Self::Error,
        }
    }
}

/// How an entry relates to a counter.
enum Relation {
    Counts,
    PassedOver,
    Ends,
}

/// The result of evaluating a counter.
struct Count<'a> {
    count: u32,
    /// Key of what repeats.
    key: Key,
    /// Length of the lap in steps; 0 for none.
    lap: u32,
    /// The counted entries, latest first.
    seen: Vec<&'a Entry>,
}

impl Entry {
    fn called(call: &Call, number: u64, sighting: Sighting) -> Self {
        Self {
            kind: Kind::Call,
            agent: mark(call.agent),
            round: call.round.map_or(0, mark),
            tool: mark(call.tool),
            call: mark(call.raw),
            target: call.target.map_or(0, mark),
            number,
            seen: Occurrence::new(sighting, call.onset),
            ..Self::default()
        }
    }

    fn settle(&mut self, step: &Step, result: &ToolResult) {
        self.outcome = CallOutcome::of(step);
        self.changed = self.outcome == CallOutcome::Success && step.call.as_ref().is_some_and(|call| call.mutates);
        self.exact = mark(step.facts.exact);
        self.masked = mark(step.facts.light);
        self.exit = result.exit_code.map_or(self.exact, |code| {
            mark(combine(
                "counter/exit",
                &[Key::from(code.cast_unsigned()), Key::from(self.outcome == CallOutcome::Success)],
            ))
        });
        self.seen = Occurrence::new(step.sighting, self.seen.onset());
    }

    /// Key of everything that has to be the same; `None` if the entry lacks something that the counter compares.
    fn key(&self, same: &[Same]) -> Option<Key> {
        let of = |part: &Same| match part {
            Same::Tool => self.tool,
            Same::Args | Same::Text => self.call,
            Same::Target => self.target,
            Same::Output => self.exact,
            Same::MaskedOutput => self.masked,
            Same::ExitCode => self.exit,
        };
        let missing = same.iter().any(|part| matches!(part, Same::Target | Same::Text) && of(part) == 0);
        (!missing).then(|| same.iter().fold(1, |key, part| combine("counter/same", &[key, of(part).into()])))
    }
}

impl State {
    /// Index of the entry for a step's call; it is appended if it is not known.
    fn answered(&mut self, step: &Step) -> usize {
        let call = step.call.as_ref();
        let agent = mark(step.agent);
        // Among equal pending calls, the one that was made first is answered first.
        let open = self.trail.iter().position(|entry| {
            entry.outcome == CallOutcome::Nothing
                && entry.kind == Kind::Call
                && entry.agent == agent
                && call.is_some_and(|call| entry.call == mark(call.raw))
        });
        open.unwrap_or_else(|| {
            let entry = match call {
                Some(call) => Entry::called(call, self.events, step.sighting),
                None => Entry { agent, tool: mark(step.tool), seen: step.occurrence(), ..Entry::default() },
            };
            self.trail.push(Entry { number: self.events, ..entry }, TRAIL);
            self.trail.len().saturating_sub(1)
        })
    }
}

/// What has to be the same, with defaults for counters that do not say.
fn same(counter: &Counter) -> &[Same] {
    match (&counter.same, counter.of) {
        (Some(same), _) => same,
        (None, Counted::Messages) => &[Same::Text],
        (None, Counted::UnknownTools) => &[Same::Tool],
        (None, _) => &[Same::Tool, Same::Args],
    }
}

/// How an entry relates to a counter that is evaluated at `now`.
fn part(counter: &Counter, entry: &Entry, now: &Entry) -> Relation {
    let until = |end: Ends| counter.until.contains(&end);
    let ends = |ends: bool| if ends { Relation::Ends } else { Relation::PassedOver };
    let known = entry.outcome != CallOutcome::Nothing;
    let itself = core::ptr::eq(entry, now);
    match (entry.kind, counter.of) {
        (Kind::Heard, _) => return ends(until(Ends::UserMessage)),
        (Kind::Message, Counted::Messages) => return Relation::Counts,
        (Kind::Message, _) => return ends(until(Ends::Message)),
        (Kind::Call, Counted::Messages) => return ends(until(Ends::Call) || known && until(Ends::Result)),
        (Kind::Call, _) => {}
    }
    if entry.changed && !itself && until(Ends::Change) {
        return Relation::Ends;
    }
    let other = match counter.apart {
        Apart::Agent => false,
        Apart::Tool => entry.tool != now.tool,
        Apart::Call => entry.call != now.call,
        Apart::Target => entry.target == 0 || entry.target != now.target,
    };
    if other {
        return Relation::PassedOver;
    }
    let counts = match counter.of {
        Counted::Calls | Counted::Rounds | Counted::Messages => return Relation::Counts,
        _ if !known => return Relation::PassedOver,
        Counted::Results => return Relation::Counts,
        // A denied call neither failed nor succeeded.
        _ if entry.outcome == CallOutcome::Denied => return Relation::PassedOver,
        Counted::Successes => entry.outcome == CallOutcome::Success,
        Counted::Failures => entry.outcome != CallOutcome::Success,
        Counted::Errors => matches!(entry.outcome, CallOutcome::Error | CallOutcome::UnknownTool),
        Counted::UnknownTools => entry.outcome == CallOutcome::UnknownTool,
    };
    if counts { Relation::Counts } else { Relation::Ends }
}

/// Evaluates a counter at `now`, the latest entry of its kind.
fn count<'a>(counter: &Counter, state: &'a State, now: &'a Entry) -> Option<Count<'a>> {
    let same = same(counter);
    let mut seen: Vec<(Key, &Entry)> = Vec::new();
    for entry in state.trail.iter().rev().filter(|entry| entry.kind == Kind::Heard || entry.agent == now.agent) {
        if counter.events != 0 && state.events.saturating_sub(entry.number) >= counter.events.into() {
            break;
        }
        match part(counter, entry, now) {
            Relation::Ends => break,
            Relation::PassedOver => {}
            Relation::Counts => match entry.key(same) {
                Some(key) => seen.push((key, entry)),
                // A blank message is skipped; a call without a target ends the count.
                None if entry.kind == Kind::Message => {}
                None => break,
            },
        }
    }
    if counter.ahead {
        // The earlier results have to be of the same call, as far as `same` compares calls.
        let of_call: Vec<Same> =
            same.iter().copied().filter(|part| matches!(part, Same::Tool | Same::Args | Same::Target)).collect();
        let (_, latest) = seen.first()?;
        if latest.key(&of_call)? != now.key(&of_call)? {
            return None;
        }
    }
    let mut count = if counter.lap >= 2 {
        laps(counter.lap, &seen)?
    } else if counter.of == Counted::Rounds {
        rounds(&seen, counter.by_round)?
    } else if counter.by_round {
        by_round(&seen)?
    } else {
        let (key, _) = *seen.first()?;
        let alike = |(other, _): &&(Key, &Entry)| *other == key;
        let counted: Vec<&Entry> = if counter.window == 0 {
            seen.iter().take_while(alike).map(|(_, entry)| *entry).collect()
        } else {
            seen.iter().take(counter.window as usize).filter(alike).map(|(_, entry)| *entry).collect()
        };
        Count { count: many(counted.len()), key, lap: 0, seen: counted }
    };
    count.count = count.count.saturating_add(counter.ahead.into());
    if let (true, Some((_, most))) = (counter.anew, limits_of(counter).level(u32::MAX, 1)) {
        count.count = count.count.saturating_sub(1).checked_rem(most).unwrap_or(0) + 1;
    }
    Some(count)
}

/// The lap length with the most laps; the shortest among equals.
fn laps<'a>(longest: u32, seen: &[(Key, &'a Entry)]) -> Option<Count<'a>> {
    let mut best: Option<Count<'_>> = None;
    for period in 2..=longest {
        let steps = period as usize;
        let (lap, before) = (seen.get(..steps)?, seen.get(steps..)?);
        let (first, _) = lap.first()?;
        if lap.iter().all(|(key, _)| key == first) {
            continue;
        }
        let matching = seen.iter().zip(before).take_while(|((key, _), (other, _))| key == other).count();
        let laps = many(matching / steps + 1);
        if matching >= steps && best.as_ref().is_none_or(|best| laps > best.count) {
            // Independent of the position within the lap.
            let keys: Vec<Key> = sorted(lap.iter().map(|(key, _)| *key).collect());
            let counted = seen.iter().take(steps * laps as usize).map(|(_, entry)| *entry).collect();
            best = Some(Count { count: laps, key: combine("counter/lap", &keys), lap: period, seen: counted });
        }
    }
    best
}

/// The entries by round, latest round first; an entry without a round is alone in its own.
fn in_rounds<'a, 'b>(seen: &'b [(Key, &'a Entry)]) -> impl Iterator<Item = &'b [(Key, &'a Entry)]> {
    seen.chunk_by(|(_, one), (_, other)| one.round != 0 && one.round == other.round)
}

/// Consecutive rounds with the same calls; with `once`, copies within a round count once. The latest round may still be
/// incomplete: it counts as long as it contains nothing else.
fn rounds<'a>(seen: &[(Key, &'a Entry)], once: bool) -> Option<Count<'a>> {
    let keys = |round: &[(Key, &Entry)]| {
        let mut keys: Vec<Key> = sorted(round.iter().map(|(key, _)| *key).collect());
        if once {
            keys.dedup();
        }
        keys
    };
    let mut all = in_rounds(seen);
    let latest = all.next()?;
    let mut counted: Vec<&Entry> = latest.iter().map(|(_, entry)| *entry).collect();
    let (mut count, mut whole) = (1, keys(latest));
    for (back, round) in all.enumerate() {
        let calls = keys(round);
        let mut left = calls.clone();
        let begun = back == 0
            && whole.iter().all(|key| left.iter().position(|other| other == key).map(|at| left.remove(at)).is_some());
        if !begun && calls != whole {
            break;
        }
        whole = calls;
        count += 1;
        counted.extend(round.iter().map(|(_, entry)| *entry));
    }
    Some(Count { count, key: combine("counter/round", &whole), lap: 0, seen: counted })
}

/// Consecutive rounds that contain the latest call.
fn by_round<'a>(seen: &[(Key, &'a Entry)]) -> Option<Count<'a>> {
    let (key, _) = *seen.first()?;
    let copies = in_rounds(seen).map_while(|round| round.iter().find(|(other, _)| *other == key));
    let counted: Vec<&Entry> = copies.map(|(_, entry)| *entry).collect();
    Some(Count { count: many(counted.len()), key, lap: 0, seen: counted })
}

/// The thresholds of a counter.
pub(crate) fn limits_of(counter: &Counter) -> Limits {
    let Counter { nudge, block, gate, halt, .. } = *counter;
    Limits { gate, ..Limits::ladder(nudge, block, halt, 0) }
}

/// Whether a name matches a pattern with `*` and `?`. Backtracks to the latest `*` only, so that no pattern takes long.
pub(crate) fn means(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // For backtracking to the latest `*`: the rest of the pattern, and the part of the name that it is tried on.
    let mut back: Option<(core::str::Chars<'_>, core::str::Chars<'_>)> = None;
    loop {
        let here = name.clone();
        match (pattern.next(), name.next()) {
            (Some('*'), _) => {
                name = here.clone();
                back = Some((pattern.clone(), here));
            }
            (None, None) => return true,
            (Some(wanted), Some(found)) if wanted == '?' || wanted == found => {}
            _ => {
                let Some((after, tried)) = &mut back else { return false };
                if tried.next().is_none() {
                    return false;
                }
                (pattern, name) = (after.clone(), tried.clone());
            }
        }
    }
}

fn is_about(counter: &Counter, tool: Option<&str>) -> bool {
    let Some(tool) = tool else { return true };
    let meant = |patterns: &[String]| patterns.iter().any(|pattern| means(pattern, tool));
    (counter.tools.is_empty() || meant(&counter.tools)) && !meant(&counter.except)
}

/// Whether a counter is evaluated when a call is made, before there is a result.
const fn asked_ahead(counter: &Counter) -> bool {
    counter.ahead || matches!(counter.of, Counted::Calls | Counted::Rounds)
}

/// The strongest signal of the counters for the latest entry.
fn judge(state: &State, now: &Entry, tool: Option<&str>, asked: fn(&Counter) -> bool, cx: &Cx<'_>) -> Option<Signal> {
    let mut strongest: Option<Signal> = None;
    for (name, counter) in &cx.config.conventions.counters {
        if !asked(counter) || !is_about(counter, tool) {
            continue;
        }
        let Some(counted) = count(counter, state, now) else { continue };
        let Some((level, threshold)) = limits_of(counter).level(counted.count, 1) else { continue };
        if strongest.as_ref().and_then(|signal| signal.ask).is_none_or(|known| level > known) {
            let mut signal = tell(name, counter, &counted, tool, cx);
            signal.ask = Some(level);
            signal.extra.threshold = Some(threshold);
            signal.identity = combine("counter", &[key("name", name.as_bytes()), counted.key, now.agent.into()]);
            strongest = Some(signal);
        }
    }
    strongest
}

fn tell(name: &str, counter: &Counter, counted: &Count<'_>, tool: Option<&str>, cx: &Cx<'_>) -> Signal {
    let tool = printable(tool.unwrap_or("a tool"), 48);
    let count = counted.count;
    let what = match counter.of {
        _ if counted.lap != 0 => format!("The same {} steps, including `{tool}`, were repeated", counted.lap),
        Counted::Calls => format!("`{tool}` was called in the same way"),
        Counted::Results | Counted::Successes => {
            format!("`{tool}` was called in the same way and gave the same answer")
        }
        Counted::Failures | Counted::Errors => format!("`{tool}` failed in the same way"),
        Counted::UnknownTools => format!("`{tool}`, which does not exist, was called"),
        Counted::Rounds => format!("A round of the same calls, including `{tool}`, was made"),
        Counted::Messages => "Messages that count as the same were sent".into(),
    };
    let message = format!("{what} {count} times (the configuration's counter `{}`)", printable(name, 64));
    let failing = matches!(counter.of, Counted::Failures | Counted::Errors | Counted::UnknownTools);
    let seen = counted.seen.iter().rev().map(|entry| {
        let (sighting, onset) = entry.seen.get();
        (Sighting { key: counted.key, ..sighting }, onset)
    });
    let mut signal = Streak::of(seen).signal(SignalParts {
        kind: "configured-count",
        identity: counted.key,
        count,
        confidence: 700,
        signature: cx.named(&printable(name, 64), '#', counted.key),
        message,
        instead: "Use what is already known, or reach the goal in another way.",
        recommendation: Recommendation::ChangeApproach,
        halt_reason: if failing { HaltReason::RepeatedError } else { HaltReason::Stalled },
    });
    signal.period = (counted.lap != 0).then_some(counted.lap);
    signal
}

impl Rule for Counters {
    const ID: &'static str = "counter";
    const ABOUT: &'static str = "What the configuration's own counters count.";
    const UNIT: &'static str = "as configured";
    const LIMITS: Limits = Limits::configured();
    // Whether a user's message ends a count is up to each counter.
    const OUTLIVES_EVIDENCE: bool = true;
    const IN_LANE: bool = true;
    const SEES: Facts = Facts::CALL.and(Facts::STEP).and(Facts::MESSAGE).and(Facts::USER_MESSAGE);
    type State = State;

    #[inline]
    fn heeds(_: &State, _: &Fact<'_>, cx: &Cx<'_>) -> bool {
        !cx.config.conventions.counters.is_empty()
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        if cx.config.conventions.counters.is_empty() {
            return None;
        }
        match fact {
            Fact::Call(call, _) => {
                state.events = state.events.saturating_add(1);
                state.trail.push(Entry::called(call, state.events, cx.here), TRAIL);
                judge(state, state.trail.last()?, Some(&call.name), asked_ahead, cx)
            }
            Fact::Step(step, result) => {
                state.events = state.events.saturating_add(1);
                let call = step.call.as_ref();
                let at = state.answered(step);
                state.trail.iter_mut().nth(at)?.settle(step, result);
                let asked = |counter: &Counter| !asked_ahead(counter) && counter.of != Counted::Messages;
                judge(state, state.trail.iter().nth(at)?, call.map(|call| call.name.as_str()), asked, cx)
            }
            Fact::UserMessage(_) => {
                let entry = Entry { kind: Kind::Heard, number: state.events, ..Entry::default() };
                state.trail.push(entry, TRAIL);
                None
            }
            _ => {
                let (event, message) = fact.agent_message()?;
                state.events = state.events.saturating_add(1);
                let words: Vec<&str> = message.text.split_whitespace().collect();
                let said = salted("counter/text", cx.salt, words.join(" ").as_bytes());
                let text = if words.is_empty() { 0 } else { mark(said) };
                let entry = Entry {
                    kind: Kind::Message,
                    agent: mark(agent_of(&event.context)),
                    call: text,
                    number: state.events,
                    seen: Occurrence::now(cx),
                    ..Entry::default()
                };
                state.trail.push(entry, TRAIL);
                judge(state, state.trail.last()?, None, |counter| counter.of == Counted::Messages, cx)
            }
        }
    }

    fn fits(state: &State) -> bool {
        state.trail.len() <= TRAIL
    }
}

#[cfg(test)]
mod tests {
    use super::means;
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::{Played, Script, events};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "counter";

    /// A configuration with only this counter.
    fn config(counter: &str) -> String {
        format!(r#"{{"conventions":{{"onlyNamed":true,"counters":{{"mine":{counter}}}}}}}"#)
    }

    fn play(counter: &str, script: &str) -> Played {
        Script::new(&config(counter)).play(script)
    }

    #[test]
    fn calls_in_a_row_when_they_are_made() {
        let three = r#"{"nudge":3,"block":4}"#;
        play(three, "a:1 a:2").expect(RULE, &[]);
        play(three, "a:1 a:2 a:3").expect(RULE, &[(4, Nudge)]);
        play(three, "a:1 a:2 a!3 a:4").expect(RULE, &[(4, Nudge), (6, Block)]);
        play(three, "a> a> ?a").last(RULE, Nudge);
        play(three, "a:1 a:1 b:1 a:1 a:1").expect(RULE, &[]);
        play(three, "a:1 a:1 look/a:1 a:1 a:1").expect(RULE, &[]);
        // A user's message ends it only if the counter says so.
        play(three, "a:1 a:1 | a:1").expect(RULE, &[(5, Nudge)]);
        play(r#"{"nudge":3,"until":["user-message"]}"#, "a:1 a:1 | a:1 a:1").expect(RULE, &[]);
        play(r#"{"nudge":3,"until":["user-message"]}"#, "a:1 a:1 ~ a:1").expect(RULE, &[(5, Nudge)]);
    }

    #[test]
    fn results_and_what_is_the_same_of_them() {
        let steps = r#"{"of":"results","same":["tool","args","output"],"nudge":3}"#;
        play(steps, "a:x a:x a:x").expect(RULE, &[(5, Nudge)]);
        play(steps, "a:x a:x a:y a:x").expect(RULE, &[]);
        play(steps, "a:x a:x a> a:x").expect(RULE, &[(6, Nudge)]);
        play(r#"{"of":"results","same":["tool","output"],"nudge":3}"#, "a:x b:x c:x").expect(RULE, &[(5, Nudge)]);
        play(r#"{"of":"results","same":["tool"],"nudge":3}"#, "a:x b!y c:z").expect(RULE, &[(5, Nudge)]);
    }

    #[test]
    fn failures_end_with_a_success_and_refusals_are_none() {
        let failures = r#"{"of":"failures","nudge":3}"#;
        play(failures, "a!x a!y a!z").expect(RULE, &[(5, Nudge)]);
        play(failures, "a!x a!y a:z a!x a!y").expect(RULE, &[]);
        play(failures, "a!x b:y a!x a!x").expect(RULE, &[]);
        play(failures, "a!x a!x a%denied a!x").expect(RULE, &[(7, Nudge)]);
        // Only this call counts: others are passed over, and a change starts a new count.
        let apart = r#"{"of":"failures","apart":"call","until":["change"],"nudge":3}"#;
        play(apart, "a!x b:y a!x c!z a!x").expect(RULE, &[(9, Nudge)]);
        play(apart, "a!x a!x *1 a!x a!x").expect(RULE, &[]);
        play(apart, "a!x a!x *1 a!x a!x a!x").expect(RULE, &[(11, Nudge)]);
        play(r#"{"of":"failures","same":["tool"],"apart":"tool","nudge":3}"#, "a!x look/q:y b!x look/q:y c!x")
            .expect(RULE, &[(9, Nudge)]);
        play(r#"{"of":"unknown-tools","nudge":2}"#, "a%unknown-tool b%unknown-tool").expect(RULE, &[(3, Nudge)]);
    }

    #[test]
    fn judged_before_it_runs() {
        let ahead = r#"{"of":"errors","apart":"call","ahead":true,"block":2}"#;
        play(ahead, "a!x ?a").last(RULE, Block);
        play(ahead, "a!x b:y ?a").last(RULE, Block);
        play(ahead, "a!x ?b").last_silent(RULE);
        play(ahead, "a!x a:y ?a").last_silent(RULE);
    }

    #[test]
    fn windows_laps_and_events() {
        let window = r#"{"window":5,"nudge":3}"#;
        play(window, "a:1 b:1 a:1 c:1 a:1").expect(RULE, &[(8, Nudge)]);
        play(window, "a:1 b:1 a:1 c:1 d:1 a:1").expect(RULE, &[]);
        let laps = r#"{"lap":3,"nudge":3}"#;
        play(laps, "a:1 b:1 a:2 b:2 a:3").expect(RULE, &[]);
        play(laps, "a:1 b:1 a:2 b:2 a:3 b:3").expect(RULE, &[(10, Nudge)]);
        play(laps, "a:1 b:1 c:1 a:1 b:1 c:1 a:1 b:1 c:1").expect(RULE, &[(16, Nudge)]);
        play(laps, "a:1 a:1 a:1 a:1 a:1 a:1 a:1 a:1 a:1").expect(RULE, &[]);
        play(laps, "a:1 b:1 c:1 d:1 a:1 b:1 c:1 d:1 a:1 b:1 c:1 d:1").expect(RULE, &[]);
        // Of the latest eight events: four calls with their results.
        let recent = r#"{"of":"results","apart":"call","events":8,"nudge":3}"#;
        play(recent, "a:1 b:1 a:1 a:1").expect(RULE, &[(7, Nudge)]);
        play(recent, "a:1 b:1 b:1 a:1 a:1").expect(RULE, &[]);
    }

    #[test]
    fn rounds() {
        let rounds = r#"{"of":"rounds","nudge":3}"#;
        play(rounds, "#1 a> b> #2 b> a> #3 a>").expect(RULE, &[(4, Nudge)]);
        play(rounds, "#1 a> b> #2 a> c> #3 a> b>").expect(RULE, &[]);
        play(rounds, "#1 a> a> a> #2 a> #3 a>").expect(RULE, &[]);
        play(r#"{"of":"rounds","byRound":true,"nudge":3}"#, "#1 a> a> a> #2 a> #3 a>").expect(RULE, &[(4, Nudge)]);
        play(rounds, "a> a> a>").expect(RULE, &[(2, Nudge)]);
        // A call in every round, whatever else is in them.
        let calls = r#"{"byRound":true,"apart":"tool","nudge":3}"#;
        play(calls, "#1 a> b> #2 c> a> #3 a>").expect(RULE, &[(4, Nudge)]);
        play(calls, "#1 a> #2 look/q> #3 a> #4 look/r> #5 a>").expect(RULE, &[(4, Nudge)]);
        play(calls, "#1 a> #2 b> #3 a> #4 a>").expect(RULE, &[]);
    }

    #[test]
    fn messages() {
        let says = |texts: &[&str], counter: &str| {
            let message = |text: &&str| format!(r#"{{"type":"message","role":"assistant","text":"{text}"}}"#);
            events(&config(counter), texts.iter().map(message).collect::<Vec<_>>())
        };
        let three = r#"{"of":"messages","nudge":3,"halt":5}"#;
        says(&["I wait.", "I  wait. ", "I wait."], three).expect(RULE, &[(2, Nudge)]);
        says(&["I wait.", "I wait.", "I go.", "I wait."], three).expect(RULE, &[]);
        says(&["I wait.", " ", "I wait.", "", "I wait."], three).expect(RULE, &[(4, Nudge)]);
        says(&["a", "b", "", "c", "d"], r#"{"of":"messages","same":[],"halt":4}"#)
            .expect(RULE, &[(3, Halt), (4, Halt)]);
    }

    #[test]
    fn anew_after_its_highest_threshold() {
        let anew = r#"{"block":3,"anew":true}"#;
        play(anew, "a> a> a> a> a> a>").expect(RULE, &[(2, Block), (5, Block)]);
    }

    #[test]
    fn only_some_tools() {
        let some = r#"{"tools":["look*","read"],"except":["*_poll"],"nudge":2}"#;
        play(some, "a:1 a:1").expect(RULE, &[(2, Nudge)]);
        play(some, "look_poll/a:1 look_poll/a:1 other/a:1 other/a:1").expect(RULE, &[]);
        let cases = [
            ("*", "", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("*_poll", "job_poll", true),
            ("ä*", "äpfel", true),
            ("", "", true),
            ("", "a", false),
            ("**a", "a", true),
        ];
        for (pattern, name, wanted) in cases {
            assert_eq!(means(pattern, name), wanted, "{pattern} {name}");
        }
        // Would take exponential time if every way were tried.
        assert!(!means(&format!("{}c", "a*".repeat(30)), &"a".repeat(64)));
    }

    #[test]
    fn nothing_else_runs_and_what_is_named_does() {
        let loud = "a!x a!x a!x a!x a!x a!x";
        Script::new(r#"{"conventions":{"onlyNamed":true}}"#).play(loud).expect("repeated-error", &[]);
        let named = r#"{"conventions":{"onlyNamed":true},"rules":{"repeated-error":{}}}"#;
        Script::new(named).play(loud).strongest("repeated-error", Block);
        let budget = r#"{"conventions":{"onlyNamed":true},"budgets":{"consecutiveErrors":3}}"#;
        Script::new(budget).play(loud).last("consecutive-errors", Halt);
    }
}
