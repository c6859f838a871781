//! Catches: a kind of call that comes to the same again and again while figures and names in it move and other things are done
//! in between: a pod deleted under ever other names, a job started with other sizes that dies on the same row, a page that comes back
//! with another advertisement; one figure that is got in ever other ways; and a while in which nothing is called that was not called before with the same answer.
//! Must not catch: one thing after the other of a list, waiting, an answer that tells how far something is, a check after each
//! change that finds other things, what a user asks for again.
//! Idea: what was done in between excuses a repetition only if it brought news. A call is known without its figures
//! ([`frame`](crate::text::frame)), its outcome by the trouble at its root or by most of its words. Of runs that reached their goal
//! hardly one sees a kind of call come to the same trouble for the fourth time.

mod agents;
mod plans;
mod rederived;
mod revisits;
mod things;
mod trouble;
mod views;

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation, ToolResult};
use crate::rules::streak::{Streak, confidence};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, Told, only_told};
use crate::state::{Call, Kin, Ring, Step, Time, head};
use crate::text::{
    Edit, Figures, Key, Left, Words, combine, down, first_mark, frame, mark, mistake, printable, progress, root_line,
    tells_trouble, told,
};
use agents::Agents;
use alloc::{boxed::Box, format, string::String};
use rederived::Rederived;
use things::{Outcome, Things};
use views::Beside;

/// Kinds of calls that came again, and are followed.
const KINDS: usize = 6;
/// Letters from which a heading says something.
const LETTERS: usize = 24;
/// Milliseconds from which the same call again right after itself has waited for something.
const PAUSE: i64 = 20_000;

/// What it is worth that a kind of call comes to the same again, in points: what is in trouble; what is well; the same with other
/// figures in the call; with a new change since then in trouble, and well.
const TROUBLE: u32 = 4;
const WELL: u32 = 4;
const WELL_ELSE: u32 = 3;
const TROUBLE_CHANGED: u32 = 3;
const WELL_CHANGED: u32 = 1;
/// The same of a look at what was changed, and shows what was there before.
const UNMOVED: u32 = 4;
/// Points from which it is told.
const FULL: u32 = 12;
/// Calls in a row, all made before with the same answer, that are worth as much.
const ROW: u32 = 5;

const INSTEAD: &str = "Look for what has not been looked at yet, or say what is missing and who can give it: more of the same will come to the same.";

const ANSWERED: &str = "Work with the answers that are there, or call something that was not called yet.";

pub(crate) struct Stagnation;

/// What is said of one way to get nowhere.
struct Found<'a> {
    kind: &'static str,
    name: &'a str,
    /// What it is that comes again, whoever makes it come.
    what: Key,
    points: u32,
    message: String,
    instead: &'static str,
    halt_reason: HaltReason,
}

impl Found<'_> {
    fn told(self, seen: &Streak, cx: &Cx<'_>) -> Signal {
        let Self { kind, name, what, points, message, instead, halt_reason } = self;
        let signal = seen.signal(Told {
            kind,
            identity: combine("stagnation", &[what, cx.agent]),
            count: points,
            confidence: confidence(400, 14, points),
            signature: cx.named(name, '=', what),
            message,
            instead,
            recommendation: Recommendation::ChangeApproach,
            halt_reason,
        });
        only_told(signal, cx)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Only where some came again.
    again: Option<Box<Again>>,
    /// When the latest step was.
    at: Time,
    /// Changes: edits, and what was changed in a new way. A pod that is deleted under another name is no other change.
    changes: u32,
    /// Changes of the run up to the latest step, those of other tasks among them.
    mutations: u64,
    /// Number of the latest step that was found to bring something new by a closer look.
    news: u64,
    /// It was one that waits; it was waited for.
    waited: bool,
    waits: bool,
    /// The agent has spoken since, or the user straight after the answer.
    spoke: bool,
    heard: bool,
    things: Things,
    agents: Agents,
    rederived: Rederived,
}
codec!(struct State { again, at, changes, mutations, news, waited, waits, spoke, heard, things, agents, rederived });

/// What came again.
#[derive(Clone, Debug, Default)]
struct Again {
    /// The latest one last.
    kinds: Ring<Kind>,
    /// Steps in a row that were made before with the same answer.
    row: Streak,
}
codec!(struct Again { kinds, row });

/// A kind of call that came again.
#[derive(Clone, Debug)]
struct Kind {
    /// The tool, the agent and the arguments without their figures.
    kind: u32,
    /// The mark of what came of it; 0 where only a glance was taken.
    light: u32,
    /// What was wrong with it; 0 where nothing was.
    trouble: u32,
    /// The line that says so, its figures included; the first and the last one that do, without them.
    line: u32,
    said: u32,
    left: Left,
    /// A digest of the figures in its heading; 0 where hardly a word is there.
    figures: u32,
    /// The class of an error; 0 of what is none.
    class: u32,
    words: Words,
    /// How far it told that something is.
    progress: u32,
    round: u32,
    /// Changes made, and news that came, before it.
    changes: u32,
    news: u64,
    points: u32,
    seen: Streak,
}
codec!(struct Kind { kind, light, trouble, line, said, left, figures, class, words, progress, round, changes, news, points, seen });

/// What became of a kind of call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Became {
    /// To the same, which counts so much.
    Same(u32),
    /// To the same, which counts nothing.
    Excused,
    /// To what tells that it is further on.
    Further,
    Else,
}

/// When a call was made.
#[derive(Clone, Copy)]
struct When {
    /// Time may have passed for it.
    waits: bool,
    /// Right after another of its kind.
    right_after: bool,
    /// The user has spoken straight after the answer before.
    heard: bool,
}

impl Kind {
    /// What was seen once, without a second look.
    fn seen_once(kind: u32, changes: u32, news: u64) -> Self {
        let (words, seen, left) = (Words::default(), Streak::default(), Left::default());
        let (light, trouble, line, said, figures, class, progress, round, points) = (0, 0, 0, 0, 0, 0, 0, 0, 0);
        Self {
            kind,
            light,
            trouble,
            line,
            said,
            left,
            figures,
            class,
            words,
            progress,
            round,
            changes,
            news,
            points,
            seen,
        }
    }

    /// Whether another call of the kind is the same, and came to the same.
    fn is_equal(&self, other: &Self, kin: &Kin) -> bool {
        kin.is_same_call() && (self.light == other.light || self.light == 0)
    }

    fn new(step: &Step, call: &Call, kind: u32, result: &ToolResult, (changes, news): (u32, u64), salt: u64) -> Self {
        let answer = result.output.as_str();
        let mut seen = Streak::default();
        seen.add(step.sighting, step.onset);
        let round = call.round.map_or(0, mark);
        let light = mark(step.facts.light);
        let [first, last] = [first_mark(answer), root_line(answer)];
        let (trouble, words) = (trouble(step, result, salt), Words::said(answer));
        // What each of the two is asked for.
        let left = if trouble == 0 { Left::default() } else { Left::of(answer) };
        let figures = if trouble == 0 && words.is_empty() { figures(head(answer)) } else { 0 };
        Self {
            kind,
            light,
            trouble,
            line: line(step, result, trouble, salt),
            said: first.map_or(0, frame) ^ last.map_or(0, frame).rotate_left(9),
            left,
            figures,
            class: step.facts.class.map_or(0, mark),
            words,
            progress: progress(answer),
            round,
            changes,
            news,
            points: 0,
            seen,
        }
    }

    fn told(&self, step: &Step, call: &Call, cx: &Cx<'_>) -> Signal {
        let (name, times) = (printable(&call.name, 48), self.seen.times);
        let what = combine("stagnation/kind", &[step.tool, call.frame.into()]);
        let (kind, outcome, halt_reason) = if self.trouble == 0 {
            ("same-outcome", "the same", HaltReason::Stalled)
        } else {
            ("same-trouble", "the same trouble", HaltReason::RepeatedError)
        };
        let message = format!("`{name}` came to {outcome} {times} times, figures aside, whatever was done in between");
        Found { kind, name: &name, what, points: self.points, message, instead: INSTEAD, halt_reason }
            .told(&self.seen, cx)
    }

    /// What `next` is beside this.
    fn came(&self, next: &Self, call: &Call, kin: &Kin, When { waits, right_after, heard }: When) -> Became {
        let (moved, equal) = (!kin.is_same_call(), self.is_equal(next, kin));
        let troubled = next.trouble != 0;
        let alike = || !next.words.is_empty() && next.words.alike(&self.words);
        let told = troubled && (next.class != 0 && next.class == self.class || next.words.is_empty());
        let looked_at = self.seen.times != 0;
        // The same heading with the same figures in it, whatever its times, ids and names are.
        let figures = next.figures != 0 && next.figures == self.figures;
        let reads_like = || !moved && next.words.is_empty() && kin.is_alike() && figures;
        let same = !looked_at || next.trouble == self.trouble && (told || alike() || reads_like());
        if !(equal || same) {
            // The same acknowledgement of something with other figures is no news.
            return if next.light == self.light { Became::Excused } else { Became::Else };
        }
        let copy = next.round != 0 && next.round == self.round;
        // One thing after the other of a list; and what is equal in a row is another rule's.
        let batch = right_after && (equal && (!troubled || kin.now.is_error()) || moved && !call.mutates);
        let passing = kin.now.is_error() && waits;
        let elsewhere = next.progress != self.progress || !kin.is_alike();
        if looked_at && !troubled && !equal && elsewhere {
            return Became::Further;
        }
        if copy
            || batch
            || passing
            || !kin.now.is_error() && !equal && !looked_at
            || !troubled && (waits || call.polling)
        {
            return Became::Excused;
        }
        let changed = next.changes != self.changes;
        let moves = next.line != self.line;
        if troubled
            && looked_at
            && (next.progress != 0 && next.progress != self.progress || next.left.is_less(&self.left))
        {
            return Became::Further;
        }
        let renamed = looked_at && next.said != self.said;
        let silent = next.words.is_empty();
        Became::Same(if troubled {
            match changed {
                _ if call.polling || renamed => WELL_CHANGED,
                true if moves => WELL_CHANGED,
                true => TROUBLE_CHANGED,
                false => TROUBLE,
            }
        } else if changed || next.news != self.news {
            return Became::Excused;
        } else if silent && call.mutates {
            1
        } else if !heard && (silent || moved) {
            WELL_ELSE
        } else {
            WELL
        })
    }
}

/// A digest of the figures in a heading; 0 where hardly a word is there.
fn figures(heading: &str) -> u32 {
    let letters = heading.bytes().filter(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii()).count();
    if letters < LETTERS { 0 } else { Figures::of(heading).digest.max(1) }
}

/// The line that says what is wrong, its figures included; where none does, all of it, but a table in which something is down says no
/// more than that.
fn line(step: &Step, result: &ToolResult, trouble: u32, salt: u64) -> u32 {
    let answer = result.output.as_str();
    match root_line(answer) {
        Some(line) => told(line, salt),
        None if trouble != 0 && !step.facts.failed && down(answer).is_some() => trouble,
        None => mark(step.facts.light),
    }
}

/// What is wrong with an answer; 0 where nothing is.
fn trouble(step: &Step, result: &ToolResult, salt: u64) -> u32 {
    let answer = result.output.as_str();
    let first = || step.facts.class.and_then(|_| first_mark(answer));
    let root = match root_line(answer).or_else(first).map(|line| mistake(line, salt)).or(step.facts.class) {
        Some(root) => root,
        None if tells_trouble(answer) => frame(answer).into(),
        None => match down(answer) {
            Some(state) => frame(state).into(),
            None => return 0,
        },
    };
    mark(combine("stagnation/trouble", &[root, result.exit_code.unwrap_or(0).cast_unsigned().into()])).max(1)
}

impl State {
    /// Takes a step in and tells whether its kind came again.
    fn step(&mut self, step: &Step, call: &Call, result: &ToolResult, listed: bool, salt: u64) -> bool {
        let facts = &step.facts;
        let kind = step.kin.now.kind;
        let heard = core::mem::take(&mut self.heard);
        let right_after = listed && !heard;
        // The user goes from one to the other.
        let ordered = heard && !listed;
        let paused = self.at.zip(step.at).is_some_and(|(last, now)| now.saturating_sub(last) >= PAUSE);
        let waits = facts.waiting || facts.transient || self.waited || right_after && paused;
        (self.at, self.waited, self.waits) = (step.at.into(), call.polling, waits);
        let known = self.again.as_mut().and_then(|again| again.kinds.take(|known| known.kind == kind));
        // What was forgotten as a kind is not followed either.
        let is_new = step.kin.before.is_none();
        let known = known.filter(|_| !is_new);
        let change = step.mutations_after > step.mutations_before && (is_new || call.edit != Edit::No);
        let elsewhere = step.mutations_before > self.mutations;
        self.changes = self.changes.saturating_add((change || elsewhere).into());
        self.mutations = step.mutations_after;
        // Most that come again come to something else.
        let news = step.news.max(self.news);
        let Some(before) = known.or_else(|| step.kin.is_alike().then(|| Kind::seen_once(kind, self.changes, news)))
        else {
            if let Some(again) = &mut self.again {
                again.row = Streak::default();
            }
            return false;
        };
        let mut next = Kind::new(step, call, kind, result, (self.changes, news), salt);
        let came = match before.came(&next, call, &step.kin, When { waits, right_after, heard }) {
            Became::Same(_) if ordered && next.trouble == 0 => Became::Excused,
            came => came,
        };
        let again = self.again.get_or_insert_default();
        let looked_at = before.seen.times != 0;
        if ordered || !looked_at || !before.is_equal(&next, &step.kin) {
            again.row = Streak::default();
        } else if (before.changes, before.news) == (self.changes, news) && !waits && !right_after && !call.polling {
            again.row.add(step.sighting, step.onset);
        }
        if matches!(came, Became::Else | Became::Further) {
            self.news = step.index;
        }
        if came == Became::Else {
            next.news = step.index;
        } else {
            next.points = before.points;
            if looked_at {
                next.left = next.left.fewest(&before.left);
                next.seen = before.seen;
            } else {
                next.seen.times += 1;
            }
        }
        if let Became::Same(points) = came {
            next.points = next.points.saturating_add(points);
            if looked_at {
                next.seen.add(step.sighting, step.onset);
            }
        }
        again.kinds.push(next, KINDS);
        matches!(came, Became::Same(_))
    }
}

impl Again {
    /// What the calls that were made in a row are worth.
    fn row(&self) -> u32 {
        self.row.times.saturating_mul(FULL) / ROW
    }

    fn told(&self, row: u32, cx: &Cx<'_>) -> Signal {
        let times = self.row.times;
        let found = Found {
            kind: "nothing-new",
            name: "calls",
            what: combine("stagnation/row", &[]),
            points: row,
            message: format!(
                "the last {times} calls were all made before and got the answers that they had got before"
            ),
            instead: ANSWERED,
            halt_reason: HaltReason::Stalled,
        };
        found.told(&self.row, cx)
    }
}

impl Rule for Stagnation {
    const ID: &'static str = "stagnation";
    const ABOUT: &'static str = "The same kind of call, or calls about the same thing, coming to the same whatever is done in between; calls all made before with the same answers, views that were all seen before, plans written one after the other.";
    const UNIT: &'static str = "points";
    const LIMITS: Limits = Limits::ladder(FULL, 0, 0, 0);
    const OUTLIVES_EVIDENCE: bool = true;
    const IN_LANE: bool = true;
    const SEES: Facts = Facts::STEP.and(Facts::HEARD).and(Facts::MESSAGE);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Step(step, result) => {
                let call = step.call.as_ref()?;
                let thought = call.is_thought(step, result);
                let reached = |points: u32| cx.limits.reached(points, 1);
                let own = state.agents.of(step.agent);
                if own.plans.took(step, call, thought) && reached(own.plans.points()) {
                    return own.plans.told(cx);
                }
                if thought {
                    return None;
                }
                state.spoke = false;
                let listed = own.follows(step);
                let back = own.trouble.took(step, call, result, listed, cx.salt);
                let before = state.changes;
                let came = state.step(step, call, result, listed, cx.salt);
                let (changes, waits) = (state.changes, state.waits);
                let thing = state.things.took(step, call, || {
                    let (trouble, length) = (trouble(step, result, cx.salt), result.output.len());
                    let line = line(step, result, trouble, cx.salt);
                    Outcome { trouble, line, length, changes, waits }
                });
                let derived = state.rederived.took(step, call, &result.output, cx.salt);
                let own = state.agents.of(step.agent);
                let edited = changes != before && call.edit != Edit::No;
                let revisited = state.again.is_some() && own.revisits.took(step, call, result, listed || waits, edited);
                let idle = waits || listed && !call.asks.shows();
                let seen = own.views.took(step, call, result, Beside { changes, idle }, cx.salt);
                if let Some(thing) = thing.filter(|thing| reached(thing.points())) {
                    return Some(thing.told(call, cx));
                }
                if derived && reached(state.rederived.points()) {
                    return state.rederived.told(cx);
                }
                if back && reached(own.trouble.points()) {
                    return own.trouble.told(cx);
                }
                if let Some(again) = &state.again {
                    let kind = again.kinds.last().filter(|_| came);
                    let (points, row) = (kind.map_or(0, |kind| kind.points), again.row());
                    if reached(points.max(row)) {
                        let kind = kind.filter(|kind| kind.points >= row);
                        return Some(kind.map_or_else(|| again.told(row, cx), |kind| kind.told(step, call, cx)));
                    }
                }
                if revisited && reached(own.revisits.points()) {
                    return own.revisits.told(cx);
                }
                if seen && reached(own.views.points()) { own.views.told(cx) } else { None }
            }
            Fact::Heard(_) => {
                // What a user writes straight after an answer is about that; after the agent's words it is another turn.
                if state.spoke {
                    *state = State::default();
                }
                state.heard = true;
                state.agents.heard();
                state.rederived = Rederived::default();
                None
            }
            _ => {
                state.spoke |= fact.spoken().is_some();
                None
            }
        }
    }

    fn standing(state: &State) -> u32 {
        let points = |again: &Again| again.kinds.iter().map(|kind| kind.points).max().unwrap_or(0).max(again.row());
        let kinds = state.again.as_deref().map_or(0, points);
        kinds.max(state.things.points()).max(state.agents.points()).max(state.rederived.points())
    }

    fn fits(state: &State) -> bool {
        let fits = |again: &Again| {
            let kinds = &again.kinds;
            kinds.len() <= KINDS && kinds.iter().all(|kind| kind.words.fits() && kind.seen.fits()) && again.row.fits()
        };
        state.again.as_deref().is_none_or(fits) && state.things.fits() && state.agents.fits() && state.rederived.fits()
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Nudge, Observe};
    use crate::rules::testing::{Played, events, pair};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "stagnation";

    /// Steps: tool, arguments, outcome and output; a tool `user` or `assistant` says its output.
    fn play(steps: impl IntoIterator<Item = (&'static str, String, &'static str, String)>) -> Played {
        let line = |(tool, args, outcome, output): (&str, String, &str, String)| {
            let output = serde_json::to_string(&output).unwrap();
            let output = output.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap();
            if matches!(tool, "user" | "assistant") {
                return Vec::from([format!(r#"{{"type":"message","role":"{tool}","text":"{output}"}}"#)]);
            }
            Vec::from(pair(tool, &args, outcome, output))
        };
        let lines: Vec<String> = steps.into_iter().flat_map(line).collect();
        events("{}", &lines)
    }

    fn restart(at: usize) -> (&'static str, String, &'static str, String) {
        let line = format!(r#"{{"command":"berthctl restart crane-{at}f7-x{at}k --wait"}}"#);
        ("bash", line, "ok", format!("crane-{at}f7-x{at}k restarted"))
    }

    fn log(at: usize, says: &str) -> (&'static str, String, &'static str, String) {
        let line = format!(r#"{{"command":"berthctl log crane-{at}f8-x{at}m"}}"#);
        ("bash", line, "ok", format!("started {at}00 ms ago\nloading the plan of berth\n{says}"))
    }

    #[test]
    fn trouble_under_ever_other_names() {
        let trouble = "Error: the plan of the harbour cannot be read: no such table";
        // Restarted again and again, each time under another name: the fourth log ends in the same error while no other came.
        play((1..6).flat_map(|at| [restart(at), log(at, trouble)])).expect(RULE, &[(15, Nudge), (19, Observe)]);
        // It gets on: other trouble each time, or none.
        let others = ["no such table", "no such column", "no such crane", "a duplicate key", "no such berth", "a null"];
        play((1..6).flat_map(|at| [restart(at), log(at, &format!("Error: the plan cannot be read: {}", others[at]))]))
            .expect(RULE, &[]);
        play((1..6).flat_map(|at| [restart(at), log(at, "all is well")])).expect(RULE, &[]);
    }

    #[test]
    fn a_batch_of_trouble() {
        let trouble = "Error: the plan of the harbour cannot be read: no such table";
        play((1..9).map(|at| log(at, trouble))).expect(RULE, &[]);
    }

    #[test]
    fn trouble_in_an_object() {
        let book = |at: usize, state: &str| {
            let args = format!(r#"{{"slot":"2026-03-{at}1","berth":7}}"#);
            let answer = format!(
                r#"{{"id":"b-{at}","state":"{state}","at":"2026-02-01T10:0{at}:00Z","error":{{"message":"the quay is closed to ships of this draught until the dredging is done and a pilot agrees"}}}}"#
            );
            ("book_berth", args, "ok", answer)
        };
        let look = |at: usize| ("list_slots", "{}".into(), "ok", format!("slots that are free: {at}"));
        play((1..6).flat_map(|at| [look(at), book(at, "rejected")])).expect(RULE, &[(19, Nudge)]);
    }

    #[test]
    fn agents_by_turns() {
        let trouble = |agent: &str, at: usize| {
            let (tool, says) = if agent == "ann" { ("crane", "no such table") } else { ("quay", "the tide is out") };
            let args = format!(
                r#""agent":"{agent}","args":{{"way":"{}"}}"#,
                ["slow", "dry", "by hand", "new", "deep", "far"][at]
            );
            [
                format!(r#"{{"type":"tool-call","tool":"{tool}{at}",{args}}}"#),
                format!(
                    r#"{{"type":"tool-result","agent":"{agent}","tool":"{tool}{at}","outcome":"error","output":"Error: {says}"}}"#
                ),
            ]
        };
        // Each meets its own error again and again: neither hides the other's.
        let both = (0..5).flat_map(|at| ["ann", "bob"].into_iter().flat_map(move |agent| trouble(agent, at)));
        let lines: Vec<String> = both.collect();
        events("{}", &lines).expect(RULE, &[(13, Nudge), (15, Nudge), (17, Observe), (19, Observe)]);
    }

    /// A page that comes back with something else in its margin.
    fn page(at: usize, heading: &str, advertisement: &str) -> (&'static str, String, &'static str, String) {
        let text = format!(
            "{heading}\nhttps://ferry.example/cart?sid={at}f3a\nCart: 0 items\nThe crossing was not added. Choose a crossing and press the button below to add it to your cart, then pay at the desk.\nOthers like: {advertisement}"
        );
        ("press", r#"{"button":"Add the crossing"}"#.into(), "ok", text)
    }

    #[test]
    fn a_page_that_comes_back() {
        let advertisements = ["a cabin", "two dinners", "a car wash", "the night boat", "an island", "a bridge"];
        let other = |at: usize| ("look", format!(r#"{{"at":{at}}}"#), "ok", "a button".into());
        let same = (0..6).flat_map(|at| [page(at, "Your crossing", advertisements[at]), other(7)]);
        play(same).expect(RULE, &[(13, Nudge), (17, Observe), (19, Nudge), (21, Observe), (23, Observe)]);
        // Each under another heading: the book is being read.
        let headings = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
        play((0..6).flat_map(|at| [page(at, headings[at], advertisements[at]), other(7)])).expect(RULE, &[]);
        // Something new lies between.
        play((0..6).flat_map(|at| {
            [
                page(at, "Your crossing", advertisements[at]),
                ("look", format!(r#"{{"at":"{}"}}"#, headings[at]), "ok", headings[at].into()),
            ]
        }))
        .expect(RULE, &[]);
    }

    #[test]
    fn calls_by_turns() {
        let call = |name: &str| ("read_card", format!(r#"{{"card":"{name}"}}"#), "ok", format!("the card of {name}"));
        let cards = ["oak", "elm", "oak", "elm", "elm", "oak", "elm", "oak", "oak", "elm", "oak"];
        play(cards.map(call)).strongest(RULE, Nudge);
        // One that is new each lap.
        let names = ["ash", "fir", "yew", "box", "bay", "may"];
        play(names.iter().flat_map(|new| [call("oak"), call("elm"), call(new)])).expect(RULE, &[]);
    }

    #[test]
    fn what_a_user_says() {
        let run = || ("python", r#"{"code":"print(len(rows) == 1)"}"#.into(), "ok", "True".into());
        let user = |at: usize| ("user", String::new(), "", format!("No, that is not what was asked for, try {at}."));
        // A harness that objects to each answer is not another turn; after the agent's words it is.
        play((0..5).flat_map(|at| [run(), user(at)])).expect(RULE, &[(10, Nudge), (13, Observe)]);
        let said = || ("assistant", String::new(), "", "It prints True.".into());
        play((0..5).flat_map(|at| [run(), said(), user(at)])).expect(RULE, &[]);
    }
}
