//! Catches: a kind of call that keeps coming to the same while figures and names in it change and other things are done
//! in between: a pod deleted under ever new names, a job started with other sizes that dies on the same row, a page
//! that comes back with another advertisement; one figure computed in ever new ways; and a
//! stretch in which every call was made before with the same answer.
//! Must not catch: the items of a list one after another, waiting, an answer that reports progress, a check after each
//! change that finds other things, what a user asks for again.
//! Idea: what was done in between excuses a repetition only if it brought news. A call is compared without its figures
//! ([`frame`](crate::text::frame)), its outcome by the trouble at its root or by most of its words. Hardly any run that
//! reached its goal sees a kind of call come to the same trouble for the fourth time.

mod agents;
mod done;
mod kinds;
mod plans;
mod rederived;
mod revisits;
mod trouble;
mod views;

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation, ToolResult};
use crate::rules::streak::{Streak, confidence};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, SignalParts};
use crate::state::Step;
use crate::text::{Key, combine};
use agents::Agents;
use alloc::string::String;
use kinds::trouble;

/// Points if a kind of call comes to the same trouble again.
const TROUBLE: u32 = 4;
/// Points if it comes to the same good outcome again.
const SUCCESS: u32 = 4;
/// The same if the call has other figures or the answer hardly a word.
const SUCCESS_VARIED: u32 = 3;
/// Points for the same trouble after a new change …
const TROUBLE_CHANGED: u32 = 3;
/// … and if the trouble is also reported in other words.
const TROUBLE_REWORDED: u32 = 1;
/// Points from which a finding is reported.
const FULL: u32 = 12;

const INSTEAD: &str =
    "Look at something that you have not looked at yet, or say what is missing and who can provide it.";

const ANSWERED: &str = "Work with the answers you have, or call something that you have not called yet.";

pub(crate) struct Stagnation;

/// What came before a step of an agent.
#[derive(Clone, Copy)]
struct Before {
    /// The agent's previous call was of the same kind: the step may be about the next item of a list.
    listed: bool,
    /// The user has spoken right after the previous answer.
    heard: bool,
    /// The agent may have waited for it.
    waits: bool,
    /// Changes made so far (`changes`), and whether this step or others since the previous one made any (`changed`).
    changes: u32,
    changed: bool,
    /// The step failed in another file than the latest error, whose file was edited.
    moved_on: bool,
}

impl Before {
    /// It comes right after another of its kind.
    const fn right_after(self) -> bool {
        self.listed && !self.heard
    }

    /// The user directs the agent from one thing to another.
    const fn ordered(self) -> bool {
        self.heard && !self.listed
    }
}

/// A finding about one way of getting nowhere.
struct Stuck<'a> {
    kind: &'static str,
    name: &'a str,
    /// Identifies what comes again, whatever leads to it.
    what: Key,
    points: u32,
    message: String,
    instead: &'static str,
    halt_reason: HaltReason,
}

impl Stuck<'_> {
    fn signal(self, seen: &Streak, cx: &Cx<'_>) -> Signal {
        let Self { kind, name, what, points, message, instead, halt_reason } = self;
        seen.signal(SignalParts {
            kind,
            identity: combine("stagnation", &[what, cx.agent]),
            count: points,
            confidence: confidence(400, 14, points),
            signature: cx.named(name, '=', what),
            message,
            instead,
            recommendation: Recommendation::ChangeApproach,
            halt_reason,
        })
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The agent (`spoke`) or the user (`heard`) has spoken since the latest answer.
    spoke: bool,
    heard: bool,
    agents: Agents,
}
codec!(struct State { spoke, heard, agents });

impl State {
    /// Records a step with each of the trackers; the signal of the first one whose points reach a threshold.
    fn step(&mut self, step: &Step, result: &ToolResult, cx: &Cx<'_>) -> Option<Signal> {
        let call = step.call.as_ref()?;
        let thought = call.is_thought(step, result);
        let reached = |points: u32| cx.limits.reached(points);
        let own = self.agents.of(step.agent);
        if step.narrows {
            own.begins_anew();
            return None;
        }
        if own.plans.took(step, call, thought) && reached(own.plans.points()) {
            return own.plans.signal(cx);
        }
        if thought {
            return None;
        }
        self.spoke = false;
        let heard = core::mem::take(&mut self.heard);
        let listed = own.follows(step);
        let moved_on = own.trouble.moves_on(step, call, result, cx.salt);
        let beside = Before { moved_on, ..own.kinds.beside(step, call, listed, heard) };
        let changes = beside.changes;
        let came = own.kinds.took(step, call, result, beside, cx.salt);
        let back = own.trouble.took(step, call, result, beside, cx.salt);
        let derived = own.rederived.took(step, call, &result.output, cx.salt);
        let again = own.kinds.any_again() || own.views.any_again();
        let revisited = again && own.revisits.took(step, call, result, beside);
        let seen = own.views.took(step, call, result, beside, cx.salt);
        let done = own.done.took(step, call, result, changes);
        if derived && reached(own.rederived.points()) {
            return own.rederived.signal(cx);
        }
        if back && reached(own.trouble.points()) {
            return own.trouble.signal(cx);
        }
        if let Some(kinds) = own.kinds.signal(step, call, came, cx) {
            return Some(kinds);
        }
        if revisited && reached(own.revisits.points()) {
            return own.revisits.signal(cx);
        }
        if done && reached(own.done.points()) {
            return own.done.signal(call, cx);
        }
        if seen && reached(own.views.points()) { own.views.signal(cx) } else { None }
    }
}

impl Rule for Stagnation {
    const ID: &'static str = "stagnation";
    const ABOUT: &'static str = "The same kind of call with the same result, whatever is done in between; calls, views and plans that come back.";
    const UNIT: &'static str = "points";
    const LIMITS: Limits = Limits::ladder(FULL, 0, 0, 0);
    const OUTLIVES_EVIDENCE: bool = true;
    const IN_LANE: bool = true;
    const SEES: Facts = Facts::STEP.and(Facts::USER_MESSAGE).and(Facts::MESSAGE);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Step(step, result) => state.step(step, result, cx),
            Fact::UserMessage(_) => {
                // A message right after an answer is about that answer; after the agent's own words it begins a new
                // turn.
                if state.spoke {
                    *state = State::default();
                }
                state.heard = true;
                state.agents.heard();
                None
            }
            _ => {
                state.spoke |= fact.agent_message().is_some();
                None
            }
        }
    }

    fn standing(state: &State) -> u32 {
        state.agents.points()
    }

    fn fits(state: &State) -> bool {
        state.agents.fits()
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Nudge, Observe};
    use crate::rules::testing::{Played, alone, events, pair};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "stagnation";

    /// Steps: tool, arguments, outcome and output; for the tools `user` and `assistant` the output is a message.
    fn play(steps: impl IntoIterator<Item = (&'static str, String, &'static str, String)>) -> Played {
        play_in("{}", steps)
    }

    fn play_in(config: &str, steps: impl IntoIterator<Item = (&'static str, String, &'static str, String)>) -> Played {
        let line = |(tool, args, outcome, output): (&str, String, &str, String)| {
            let output = serde_json::to_string(&output).unwrap();
            let output = output.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap();
            if matches!(tool, "user" | "assistant") {
                return Vec::from([format!(r#"{{"type":"message","role":"{tool}","text":"{output}"}}"#)]);
            }
            Vec::from(pair(tool, &args, outcome, output))
        };
        let lines: Vec<String> = steps.into_iter().flat_map(line).collect();
        events(config, &lines)
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
    fn figures_that_are_brought_back() {
        let look = |sledge: &str, goods: &str| {
            let shows = format!(r#"{{"goods_kg":{goods},"frame_kg":18.45,"most_kg":250.25}}"#);
            ("load_view", format!(r#"{{"sledge":"{sledge}"}}"#), "ok", shows)
        };
        let change = |n: usize| ("load_change", format!(r#"{{"crate":"crate {n}"}}"#), "ok", String::from("done"));
        let told = |played: &Played| played.findings(RULE).iter().any(|found| found.message.contains("came out"));
        let swing = |n: usize| [look("a", "231.85"), change(2 * n), look("a", &format!("24{n}.10")), change(2 * n + 1)];
        assert!(told(&play((0..5).flat_map(swing))));
        // Two things looked at in turn stay as they are.
        assert!(!told(&play((0..5).flat_map(|_| [look("a", "231.85"), look("b", "118.72")]))));
    }

    #[test]
    fn a_bisection() {
        let check = |at: usize| {
            (
                "bash",
                String::from(r#"{"command":"make check"}"#),
                "error",
                format!("berth {at}: error: the tide table is upside down"),
            )
        };
        let step = |said: &'static str| {
            move |at: usize| {
                let left = format!("{said}{} revisions left to test after this\n[{at}f09] quay", 4096 >> at);
                ("bash", String::from(r#"{"command":"git bisect bad"}"#), "ok", left)
            }
        };
        play((0..12).flat_map(|at| [check(at), step("Bisecting: ")(at)])).expect(RULE, &[]);
        play((0..12).flat_map(|at| [check(at), step("Left: ")(at)])).strongest(RULE, Nudge);
    }

    #[test]
    fn one_file_after_another_is_mended() {
        let files = ["barge", "quay", "mast", "crane", "pilot", "berth", "tide", "buoy", "hull", "keel"];
        let check = |file: &str| {
            let error = format!("src/{file}.ts(12,5): error TS2322: a text is no number");
            ("bash", String::from(r#"{"command":"npx tsc --noEmit"}"#), "error", error)
        };
        let edit = |file: &str, at: usize| {
            let args = format!(r#"{{"path":"/port/src/{file}.ts","old":"a{at}","new":"b{at}"}}"#);
            ("edit_file", args, "ok", "edited".into())
        };
        play((0..10).flat_map(|at| [check(files[at]), edit(files[at], at)])).expect(RULE, &[]);
        // Forty files of one kind, and eight that have the error again and again.
        let module = |at: usize| format!("part{at}");
        play((0..40).flat_map(|at| [check(&module(at)), edit(&module(at), at)])).expect(RULE, &[]);
        play((0..30).flat_map(|at| [check(files[at % 8]), edit(files[at % 8], at)])).strongest(RULE, Nudge);
        // Something else is edited; the same file, or one of two in turn, still has the error.
        play((0..10).flat_map(|at| [check(files[at]), edit("types", at)])).strongest(RULE, Nudge);
        play((0..6).flat_map(|at| [check("barge"), edit("barge", at)])).strongest(RULE, Nudge);
        play((0..9).flat_map(|at| [check(files[at % 2]), edit(files[at % 2], at)])).strongest(RULE, Nudge);
    }

    #[test]
    fn trouble_under_ever_other_names() {
        let trouble = "Error: the plan of the harbour cannot be read: no such table";
        // Restarted under a new name each time: the fourth log ends in the same error, and no other came in between.
        play((1..6).flat_map(|at| [restart(at), log(at, trouble)])).expect(RULE, &[(15, Nudge), (19, Observe)]);
        // Progress: other trouble each time, or none.
        let others = ["no such table", "no such column", "no such crane", "a duplicate key", "no such berth", "a null"];
        play((1..6).flat_map(|at| [restart(at), log(at, &format!("Error: the plan cannot be read: {}", others[at]))]))
            .expect(RULE, &[]);
        play((1..6).flat_map(|at| [restart(at), log(at, "all is well")])).expect(RULE, &[]);
    }

    #[test]
    fn trouble_that_came_back_after_other_trouble() {
        let log = |at: usize| {
            let line = format!("12:0{at}:11 INFO boot\n12:0{at}:12 FATAL config: harbour.master is required");
            ("log", format!(r#"{{"pod":"quay-{at}f7x-9k{at}"}}"#), "ok", line)
        };
        let cure = |at: usize| {
            let way = ["restart", "resize", "scale", "move", "patch"][at];
            (way, String::from("{}"), "ok", format!("deployment {way}d"))
        };
        let wait = || ("rollout", "{}".into(), "error", "error: timed out waiting for the condition".into());
        let before = [log(0), cure(0), log(1), cure(1), wait()];
        play(before.into_iter().chain((2..5).flat_map(|at| [log(at), cure(at)]))).strongest(RULE, Nudge);
    }

    #[test]
    fn a_batch_of_trouble() {
        let trouble = "Error: the plan of the harbour cannot be read: no such table";
        play((1..9).map(|at| log(at, trouble))).expect(RULE, &[]);
    }

    #[test]
    fn calls_that_work_the_second_time() {
        let ask = |at: usize, answer: Option<String>| {
            let (outcome, output) =
                answer.map_or(("error", "Error: the clerk is at table".into()), |said| ("ok", said));
            ("ask", format!(r#"{{"letter":{at}}}"#), outcome, output)
        };
        let file = |at: usize| ("file", format!(r#"{{"letter":{at}}}"#), "ok", "filed".into());
        let towns = ["Aarhus", "Bergen", "Cuxhaven", "Dover", "Emden", "Fowey", "Gdansk", "Hull"];
        let letter = |at: usize| format!("the ship comes from {}", towns[at]);
        play((0..8).flat_map(|at| [ask(at, None), ask(at, Some(letter(at))), file(at)])).expect(RULE, &[]);
        // None of them works, as another rule has said before.
        play((0..8).flat_map(|at| [ask(at, None), file(at)])).strongest(RULE, Observe);
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
        play((1..6).flat_map(|at| [look(at), book(at, "rejected")])).expect(RULE, &[(15, Nudge), (19, Observe)]);
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
        // Each keeps meeting its own error: neither hides the other's.
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
        play(same).expect(RULE, &[(13, Nudge), (17, Observe), (19, Observe), (21, Observe), (23, Observe)]);
        // Each under another heading: the book is being read.
        let headings = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
        play((0..6).flat_map(|at| [page(at, headings[at], advertisements[at]), other(7)])).expect(RULE, &[]);
        // Something new in between.
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
        play_in(&alone(RULE), cards.map(call)).strongest(RULE, Nudge);
        // A new one in each lap.
        let names = ["ash", "fir", "yew", "box", "bay", "may"];
        play(names.iter().flat_map(|new| [call("oak"), call("elm"), call(new)])).expect(RULE, &[]);
    }

    #[test]
    fn what_a_user_says() {
        let run = || ("python", r#"{"code":"print(len(rows) == 1)"}"#.into(), "ok", "True".into());
        let user = |at: usize| ("user", String::new(), "", format!("No, that is not what was asked for, try {at}."));
        // An objection right after each answer is no new turn; after the agent's words it is.
        play((0..5).flat_map(|at| [run(), user(at)])).expect(RULE, &[(10, Nudge), (13, Observe)]);
        let said = || ("assistant", String::new(), "", "It prints True.".into());
        play((0..5).flat_map(|at| [run(), said(), user(at)])).expect(RULE, &[]);
    }
}
