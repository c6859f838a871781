//! Views that were all seen before, whatever calls show them: a page that comes back with another advertisement, files
//! read again with other tools, two states in turns.

use super::{Before, FULL, Stuck, trouble};
use crate::codec::codec;
use crate::model::{HaltReason, ToolResult};
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::{Call, LONG_PAUSE, Recent, Ring, Step};
use crate::text::{Asks, Edit, Empty, Words, combine, enters, frame, heading, is_begun, mark, scrolls};
use alloc::{boxed::Box, format};

/// Headings that are kept, and targets.
const HEADS: usize = 7;
/// Views whose words are kept.
const KNOWN: usize = 8;
/// Bytes from which an answer is a view; shorter ones are acknowledgements, which neither count nor bring news.
const VIEW: usize = 60;
/// Bytes up to which an answer is a place described in few words.
const PLACE: usize = 256;
/// Bytes from which similar answers to questions in words are not about different things.
const LONG: usize = 200;
/// Known views in a row from which they are reported.
const ROW: u32 = 3;
/// Bits of [`RepeatedView::moved`]: the sum of the heading's figures has risen, and has fallen.
const ROSE: u8 = 1;
const FELL: u8 = 2;

#[derive(Clone, Debug, Default)]
pub(super) struct Views {
    heads: Recent<HEADS>,
    /// Something else was done since the latest view, whose outcome may well look the same.
    fresh: bool,
    /// The agent waited for the latest view: the next one may be part of the same look.
    waited: bool,
    /// Present once a heading has come again.
    again: Option<Box<RepeatedView>>,
}
codec!(struct Views { heads, fresh, waited, again });

/// What was seen again.
#[derive(Clone, Debug, Default)]
struct RepeatedView {
    known: Ring<View>,
    /// Targets of the latest calls.
    targets: Recent<HEADS>,
    /// How the sum of the headings' figures has moved in the row.
    moved: u8,
    round: u32,
    /// Changes made before the latest view.
    changes: u32,
    row: Streak,
}
codec!(struct RepeatedView { known, targets, moved, round, changes, row });

/// What was shown.
#[derive(Clone, Debug, Default)]
struct View {
    /// Digest of all of its words.
    all: u32,
    /// Some of its words.
    words: Words,
    /// Bytes of the answer, at most 65,535.
    length: u16,
    /// Low half of the sum of the figures in its heading.
    sum: u16,
}
codec!(struct View { all, words, length, sum });

impl View {
    /// `root`: the line that says what is wrong, of a failure. The same words may stand beside other things.
    fn of(answer: &str, sum: u32, root: Option<&str>) -> Self {
        let (words, all) = Words::shown(answer);
        let all = all ^ root.map_or(0, frame);
        Self { all, words, length: u16::try_from(answer.len()).unwrap_or(u16::MAX), sum: sum as u16 }
    }

    /// Whether another view shows the same but for a small part. A list that was added to is longer.
    fn is_like(&self, other: &Self) -> bool {
        self.length.abs_diff(other.length) <= (self.length / 8).max(32) && self.words.nearly(&other.words)
    }

    /// Whether another view shows much of the same.
    fn is_akin(&self, other: &Self) -> bool {
        self.length.abs_diff(other.length) <= self.length / 4 && self.words.akin(&other.words)
    }
}

impl Views {
    /// Records a step; true if its view was one more that was seen before.
    pub(super) fn took(&mut self, step: &Step, call: &Call, result: &ToolResult, beside: Before, salt: u64) -> bool {
        if result.output.len() < VIEW {
            let new = step.is_news && call.edit == Edit::No;
            self.fresh |= new || scrolls(&call.name);
            // The page of a form is returned to for the next entry.
            if new && enters(&call.name) {
                self.ends();
            }
            return false;
        }
        let waited = core::mem::replace(&mut self.waited, step.pause >= LONG_PAUSE);
        let passes = beside.waits || waited || beside.moved_on || beside.listed && !call.asks.shows();
        let idle = core::mem::take(&mut self.fresh) || passes;
        // A place in few words is identified by its first line.
        let output = result.output.as_str();
        let head = if output.len() <= PLACE { heading(output, 1) } else { step.kin.head };
        if self.heads.met(head) {
            self.again.get_or_insert_default().took(step, call, result, (idle, beside.changes), salt)
        } else {
            self.ends();
            false
        }
    }

    pub(super) fn any_again(&self) -> bool {
        self.again.is_some()
    }

    pub(super) fn points(&self) -> u32 {
        self.again.as_ref().map_or(0, |again| again.points())
    }

    pub(super) fn ends(&mut self) {
        if let Some(again) = &mut self.again {
            again.ends();
        }
    }

    pub(super) fn signal(&self, cx: &Cx<'_>) -> Option<Signal> {
        let again = self.again.as_ref()?;
        let times = again.row.times;
        let found = Stuck {
            kind: "nothing-new",
            name: "views",
            what: combine("stagnation/views", &[]),
            points: self.points(),
            message: format!(
                "the last {times} calls showed what had been seen before, apart from figures and a few words"
            ),
            instead: "Work with what you have, or look at something that you have not looked at yet.",
            halt_reason: HaltReason::Stalled,
        };
        Some(found.signal(&again.row, cx))
    }

    pub(super) fn fits(&self) -> bool {
        self.again.as_ref().is_none_or(|again| again.fits())
    }
}

impl RepeatedView {
    fn ends(&mut self) {
        self.row.clear();
        self.moved = 0;
    }

    /// Whether the greater part of a view was seen in one view before, and the rest in others: what a page recommends
    /// changes.
    fn is_mixed(&self, view: &View) -> bool {
        self.known.iter().any(|known| known.is_akin(view))
            && view.words.are_in(self.known.iter().map(|known| &known.words))
    }

    /// Whether a call has a target that none of the latest calls had.
    fn acts_elsewhere(&mut self, call: &Call) -> bool {
        call.target.is_some_and(|target| !self.targets.met(mark(target)))
    }

    /// Records a view whose heading came before; true if it counts as seen again. An `idle` one may look the same
    /// without going in circles.
    fn took(&mut self, step: &Step, call: &Call, result: &ToolResult, (idle, changes): (bool, u32), salt: u64) -> bool {
        // When a page is redrawn, the numbers of its elements change.
        let renumbered = call.asks.shows() && step.kin.before.is_some();
        let elsewhere = self.acts_elsewhere(call) && !renumbered;
        let round = call.round.map_or(0, mark);
        let copy = round != 0 && core::mem::replace(&mut self.round, round) == round;
        let root = step.root_line(result).filter(|_| step.facts.failed);
        let view = View::of(&result.output, step.kin.now.sum, root);
        let (sum, latest) = (view.sum, self.known.last().map_or(0, |latest| latest.sum));
        if view.words.is_empty() {
            return false;
        }
        let mixed = self.is_mixed(&view);
        // In a place of few words each of them matters: the next page of a calendar differs by the month's name only.
        let like = result.output.len() > PLACE || mixed;
        let seen = if like { self.known.take(|known| known.is_like(&view)) } else { None };
        let equal = seen.as_ref().is_some_and(|seen| seen.all == view.all);
        self.known.push(view, KNOWN);
        let changed = core::mem::replace(&mut self.changes, changes) != changes;
        if seen.is_none() && !mixed {
            self.ends();
            return false;
        }
        if self.row.times != 0 && sum != latest {
            self.moved |= match seen {
                // Figures that the same view had before have come back.
                Some(seen) if seen.sum == sum => ROSE | FELL,
                _ if sum > latest => ROSE,
                _ => FELL,
            };
        }
        // What a different call shows may be about something else, and is if it merely looks similar.
        let asked_alike = match step.kin.before {
            Some(before) => before.call == step.kin.now.call || call.asks.shows(),
            None => {
                let searches = matches!(call.asks, Asks::Search | Asks::Prose) && result.output.len() >= LONG;
                searches && !is_begun(&result.output) || equal && call.target.is_some()
            }
        };
        // A call made for its answer: what a shell runs may well say the same after each change.
        let unmoved = || equal && (call.quiet == Empty::Nothing || trouble(step, result, salt) != 0);
        if elsewhere || !asked_alike {
            self.ends();
            return false;
        }
        if idle || copy || call.polling || changed && !unmoved() {
            return false;
        }
        self.row.add(step.sighting, step.onset);
        true
    }

    /// Points of the row; 0 if the headings' figures have only risen or only fallen, as those of a count do.
    fn points(&self) -> u32 {
        let gets_on = matches!(self.moved, ROSE | FELL);
        if gets_on { 0 } else { self.row.times.saturating_mul(FULL) / ROW }
    }

    fn fits(&self) -> bool {
        self.known.len() <= KNOWN && self.known.iter().all(|view| view.words.fits()) && self.moved <= ROSE | FELL
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Nudge, Observe};
    use crate::rules::testing::{Played, events, step};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "stagnation";

    type Step = (&'static str, &'static str, String, String);

    /// Steps: agent, tool, arguments and answer.
    fn play(steps: impl IntoIterator<Item = Step>) -> Played {
        let lines: Vec<String> =
            steps.into_iter().flat_map(|(agent, tool, args, answer)| step(agent, tool, &args, &answer)).collect();
        events("{}", &lines)
    }

    const CHARTS: [(&str, &str); 3] = [
        (
            "charts/north.txt",
            "Soundings of the northern basin\nquay deep enough for colliers\nmud over clay, good holding",
        ),
        (
            "charts/south.txt",
            "Moorings south of the mole\nfour buoys, two of them private\nswell from the west at spring tide",
        ),
        ("charts/mole.txt", "Lights upon the outer mole\ngreen flash to starboard\nfog horn out of order since autumn"),
    ];

    fn read(agent: &'static str, lap: usize, chart: usize) -> Step {
        let (path, text) = CHARTS[chart];
        // Another tool each lap.
        let (tool, args) = [
            ("read_file", format!(r#"{{"path":"{path}"}}"#)),
            ("bash", format!(r#"{{"command":"cat {path}"}}"#)),
            ("view", format!(r#"{{"file":"{path}","whole":true}}"#)),
        ][lap % 3]
            .clone();
        (agent, tool, args, text.into())
    }

    #[test]
    fn files_read_again_by_other_tools() {
        let laps = |agent: &'static str| (0..4).flat_map(move |lap| (0..3).map(move |chart| read(agent, lap, chart)));
        play(laps("ann")).expect(RULE, &[(17, Nudge), (19, Observe), (21, Observe), (23, Observe)]);
        // Alongside another agent's work that makes progress.
        let ships =
            ["tug", "barge", "sloop", "ketch", "cutter", "yawl", "pinnace", "lugger", "smack", "hoy", "dory", "punt"];
        let beside = laps("ann").zip(ships).flat_map(|(own, ship)| {
            let log = format!(
                "The log of the {ship}\nshe left for the {ship} ground with the tide\nnobody has seen her since"
            );
            [own, ("bob", "read_file", format!(r#"{{"path":"logs/{ship}.txt"}}"#), log)]
        });
        play(beside).strongest(RULE, Nudge);
        // One lap for each of four agents.
        let agents = ["ann", "bob", "cat", "dan"];
        play((0..4).flat_map(|lap| (0..3).map(move |chart| read(agents[lap], lap, chart)))).expect(RULE, &[]);
        // Something new is done in each lap, with an outcome of its own.
        let names = ["tug", "barge", "sloop", "ketch"];
        play((0..4).flat_map(|lap| {
            (0..3).flat_map(move |chart| {
                let berth = (
                    "ann",
                    "berth",
                    format!(r#"{{"of":"{} {}"}}"#, names[lap], ["north", "south", "mole"][chart]),
                    "free".into(),
                );
                [read("ann", lap, chart), berth]
            })
        }))
        .expect(RULE, &[]);
    }

    fn page(at: usize, advertisement: &str, entries: usize) -> Step {
        let rows = (0..entries).map(|at| format!("row: crossing to island {at}\n")).collect::<String>();
        let text = format!(
            "Crossings of the bay, page loaded in {at}07 ms\ndialog: your privacy matters to us and to {at}31 partners\nbutton: accept all\nbutton: choose one by one\nlink: how we handle what you tell us\n{rows}others like {advertisement}"
        );
        ("ann", "click", format!(r#"{{"bid":"{at}1{at}"}}"#), text)
    }

    #[test]
    fn a_page_whatever_is_pressed() {
        let advertisements = ["cabins", "dinners", "towels", "lanterns", "islands", "bridges"];
        let same = advertisements.iter().enumerate().map(|(at, other)| page([3, 7, 2, 9, 4, 6][at], other, 0));
        play(same).strongest(RULE, Nudge);
        // A page that gets longer, and one whose count only rises.
        play(advertisements.iter().enumerate().map(|(at, other)| page(at + 1, other, 6 * at))).expect(RULE, &[]);
        play(advertisements.iter().enumerate().map(|(at, other)| page(at + 1, other, 0))).expect(RULE, &[]);
    }

    #[test]
    fn a_calendar_that_falls_back() {
        let months = ["October 2025", "December 2025", "February 2026", "March 2026"];
        let turn = |at: usize, month: &str| {
            let calendar = format!(
                "dialog calendar [ref=e4{at}]\nheading {month}\nbutton next [ref=e5{at}]\ncell 14 [ref=e7{at}]\ncell 18"
            );
            ("ann", "browser_click", format!(r#"{{"ref":"e5{at}"}}"#), calendar)
        };
        let pick =
            |at: usize| ("ann", "browser_click", format!(r#"{{"ref":"e7{at}"}}"#), String::from("9 Oct to 10 Oct"));
        let lap = |lap: usize| (0..4).map(move |at| turn(at + lap * 2, months[at])).chain([pick(lap)]);
        play((0..3).flat_map(lap)).strongest(RULE, Nudge);
        // On and on, to months that were not shown before.
        let months = "May June July August September October November December January February March April";
        let on = months.split(' ').enumerate().map(|(at, month)| turn(at % 10, &format!("{month} 2025")));
        play(on).expect(RULE, &[]);
    }

    /// A change, and what a check says after it.
    fn change(at: usize, says: &str) -> [Step; 2] {
        let words = ["lamp", "horn", "bell", "flag", "buoy", "mast", "keel", "rope"];
        let edit = format!(r#"{{"path":"src/lights.rs","old":"{} {at}","new":"{}"}}"#, words[at], words[(at + 1) % 8]);
        let check = r#"{"command":"make lights"}"#;
        [("ann", "edit", edit, "edited".into()), ("ann", "bash", check.into(), says.into())]
    }

    #[test]
    fn states_by_turns() {
        let says = [
            "compiling the lights of the harbour\nsrc/lights.rs:8: error: a closing brace is missing at the end of the file\nmake: stopped",
            "compiling the lights of the harbour\nsrc/lights.rs:9: error: one brace more than there are blocks that it could close\nmake: stopped",
        ];
        play((0..8).flat_map(|at| change(at, says[at % 2]))).strongest(RULE, Nudge);
        let well =
            "compiling the lights of the harbour\nall nine checks of lamps, horns and bells are as they should be";
        play((0..8).flat_map(|at| change(at, well))).expect(RULE, &[]);
    }

    #[test]
    fn one_thing_after_the_other() {
        let port = |at: usize| {
            let name = ["Bergen", "Odda", "Florø", "Bodø", "Narvik", "Tromsø", "Vardø", "Kirkenes"][at];
            let answer = "The ferry is allowed to land there with passengers and with up to thirty cars on board.";
            ("ann", "may_land", format!(r#"{{"question":"May the ferry land in {name}?"}}"#), answer.into())
        };
        play((0..8).map(port)).expect(RULE, &[]);
    }
}
