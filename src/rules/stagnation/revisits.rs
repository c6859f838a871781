//! Calls of which nearly all were made before with the same answer, in any order: rooms that are walked through again,
//! two choices made in turns.

use super::{ANSWERED, Before, FULL, Stuck};
use crate::codec::codec;
use crate::model::{HaltReason, ToolResult};
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::{Call, Recent, Step};
use crate::text::{Asks, Edit, combine, key, mark, number};
use alloc::boxed::Box;

/// Calls with their answers that are kept.
const KNOWN: usize = 24;
/// Calls whose answers may count moves that are kept.
const MOVES: usize = 12;
/// The latest kept calls to which a list may return without that being a lap.
const NEAR: usize = 2;
/// Bytes from which an answer tells where the agent is; shorter ones are acknowledgements, which neither count nor
/// bring news.
const TELLS: usize = 20;
/// Digits from which an answer of at most [`SHORT`] bytes is about one thing and no other.
const DIGITS: usize = 20;
/// Bytes up to which an answer is identified by its digits.
const SHORT: usize = 1000;
/// How many of the latest calls are looked at.
const LATEST: u32 = 10;
/// Known ones among them from which they are reported.
const MOST: u32 = 9;
/// Known ones in a row from which they are reported.
const ROW: u32 = 7;

/// Present once an answer has been more than an acknowledgement.
#[derive(Clone, Debug, Default)]
pub(super) struct Revisits(Option<Box<KnownPlaces>>);
codec!(struct Revisits(_));

#[derive(Clone, Debug, Default)]
struct KnownPlaces {
    /// Calls with their answers.
    known: Recent<KNOWN>,
    /// The answers alone.
    answers: Recent<KNOWN>,
    /// Calls with the words of their answers and the sum of their figures less the number of steps, since a game counts
    /// its moves.
    counted: Recent<MOVES>,
    /// Steps of the agent since this was created.
    steps: u32,
    /// A bit for each of the latest [`LATEST`] calls that count, the latest lowest: 1 if the call was known.
    past: u16,
    seen: Streak,
}
codec!(struct KnownPlaces { known, answers, counted, steps, past, seen });

impl Revisits {
    /// Records a step; true if it was one more that is known.
    pub(super) fn took(&mut self, step: &Step, call: &Call, result: &ToolResult, beside: Before) -> bool {
        if beside.changed && call.edit != Edit::No {
            self.0 = None;
        }
        if let Some(places) = &mut self.0 {
            places.steps = places.steps.wrapping_add(1);
        }
        // An error tells what is wrong with a call, not where the agent is.
        if step.facts.failed || result.output.len() < TELLS || call.asks == Asks::Handover {
            return false;
        }
        self.0.get_or_insert_default().took(step, call, &result.output, beside)
    }

    pub(super) fn points(&self) -> u32 {
        self.0.as_ref().map_or(0, |places| places.points())
    }

    pub(super) fn signal(&self, cx: &Cx<'_>) -> Option<Signal> {
        let places = self.0.as_ref()?;
        let (times, row) = (places.past.count_ones(), places.past.trailing_ones());
        let (row, times, latest) = (row >= ROW, [number(row), number(times)], number(LATEST));
        let [in_row, known] = &times;
        let which = if row { ["the last ", in_row, ""] } else { [known, " of the last ", &latest] };
        let found = Stuck {
            kind: "nothing-new",
            name: "calls",
            what: combine("stagnation/revisits", &[]),
            points: places.points(),
            message: [&which.concat(), " calls got only answers that had been given before"].concat(),
            instead: ANSWERED,
            halt_reason: HaltReason::Stalled,
        };
        Some(found.signal(&places.seen, cx))
    }

    pub(super) fn fits(&self) -> bool {
        self.0.as_ref().is_none_or(|places| places.past >> LATEST == 0)
    }
}

impl KnownPlaces {
    fn took(&mut self, step: &Step, call: &Call, output: &str, beside: Before) -> bool {
        let Before { listed, waits, .. } = beside;
        let answer = step.facts.light;
        let digits = || output.bytes().filter(u8::is_ascii_digit).count();
        let figures = output.len() <= SHORT && digits() >= DIGITS;
        let raw = if figures { key("answer", output.as_bytes()) } else { 0 };
        let now = &step.kin.now;
        let moves = now.sum.wrapping_sub(self.steps);
        let place = mark(combine("stagnation/counted", &[call.key, now.sign.into(), moves.into()]));
        // The next item of a list is progress; with others in between, the agent has come back.
        let laps = !listed || !self.counted.lately(place, NEAR);
        let counted = self.counted.met(place) && laps && !waits;
        let known = self.known.met(mark(combine("stagnation/revisit", &[call.key, answer]))) || counted;
        let idle = listed || waits;
        // A different call with a known answer brings no news, but is no repetition either.
        let again = self.answers.met(mark(answer));
        // Equal answers with that many digits are about the same thing, however it was asked for.
        let told = mark(combine("stagnation/told", &[raw]));
        // The same answer right away belongs to another rule.
        let latest = self.answers.lately(told, 2);
        let told = figures && self.answers.met(told) && !latest;
        let known = known || told;
        // A change that is acknowledged as another was before is neither.
        if again && (!known || call.mutates || idle && !told || waits || call.polling) {
            return false;
        }
        self.past = (self.past << 1 | u16::from(known)) & ((1 << LATEST) - 1);
        if known {
            self.seen.add(step.sighting, step.onset);
        } else if self.past.count_ones() * 2 < MOST {
            self.seen.clear();
        }
        known
    }

    fn points(&self) -> u32 {
        (self.past.count_ones() * FULL / MOST).max(self.past.trailing_ones() * FULL / ROW)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::{Played, events, step};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "stagnation";

    fn play<'a>(steps: impl IntoIterator<Item = (&'a str, &'a str, String)>) -> Played {
        let lines: Vec<String> =
            steps.into_iter().flat_map(|(tool, args, answer)| step("ann", tool, args, &answer)).collect();
        events("{}", &lines)
    }

    /// Walks through the same rooms, each lap with a step of the caller's first.
    fn walk(laps: usize, more: impl Fn(usize) -> (&'static str, &'static str, String)) -> Played {
        let rooms = [
            (r#"{"go":"east"}"#, "The loft. Nets hang from the beams."),
            (r#"{"go":"down"}"#, "The slip. A boat without oars lies here."),
            (r#"{"go":"west"}"#, "The yard. The gate to the quay is locked."),
            (r#"{"go":"up"}"#, "The stairs. A lamp hangs on its hook."),
        ];
        play((0..laps).flat_map(|lap| {
            let walk = rooms.map(|(args, answer)| ("walk", args, answer.into()));
            let mut steps = Vec::from([more(lap)]);
            steps.extend(walk);
            steps
        }))
    }

    #[test]
    fn rooms_that_are_known() {
        // The gate is tried in other ways, all with the same result.
        let ways = ["push", "pull", "kick", "lift", "shake", "climb"];
        let args: Vec<&'static str> = ways.iter().map(|way| &*String::leak(format!(r#"{{"gate":"{way}"}}"#))).collect();
        walk(6, |lap| ("try", args[lap], "The gate is locked, and you have no key.".into())).strongest(RULE, Nudge);
        // In each lap two things are found, in a combination that is new.
        let found = ["an oar", "a rope", "the key", "a lantern", "bread", "a map"];
        let both = |lap: usize| format!("You find {} and {}.", found[lap], found[(lap + 3) % 6]);
        walk(6, |lap| ("try", args[lap], both(lap))).expect(RULE, &[]);
    }

    /// The same rooms with a counter; `by` gives its value after so many moves.
    fn counted(by: impl Fn(usize) -> usize) -> Played {
        let rooms = [
            (r#"{"go":"east"}"#, "The loft. Nets hang from the beams."),
            (r#"{"go":"down"}"#, "The slip. A boat without oars lies here."),
            (r#"{"go":"up"}"#, "The stairs. A lamp hangs on its hook."),
        ];
        let step = |at: usize| {
            let (args, answer) = rooms[at % 3];
            ("walk", args, format!("{answer} Count: {}.", by(at)))
        };
        play((0..16).map(step))
    }

    #[test]
    fn moves_that_are_counted() {
        counted(|at| at + 1).strongest(RULE, Nudge);
        // A counter that rises in another way carries information.
        counted(|at| 10 * at).expect(RULE, &[]);
        counted(|at| at * at).expect(RULE, &[]);
    }

    #[test]
    fn a_choice_to_and_fro() {
        let basket = |kettle: &str| {
            (
                "put",
                if kettle == "Brass" { r#"{"kettle":"brass"}"# } else { r#"{"kettle":"steel"}"# },
                format!("In the basket: the {kettle} kettle"),
            )
        };
        let look = |at: usize| {
            (
                "reviews",
                [r#"{"of":"brass"}"#, r#"{"of":"steel"}"#][at % 2],
                String::from(["It whistles, says everybody.", "It is quiet, says everybody."][at % 2]),
            )
        };
        let empty = || ("clear", "{}", String::from("The basket holds nothing now"));
        let swaps = (0..8).flat_map(|at| [basket(["Brass", "Steel"][at % 2]), look(at), empty()]);
        play(swaps).strongest(RULE, Nudge);
        // Each change in between writes new content.
        let notes = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
        let args: Vec<&'static str> = notes
            .iter()
            .map(|note| &*String::leak(format!(r#"{{"path":"kettles.md","content":"the {note} kettle"}}"#)))
            .collect();
        let reads = |at: usize| {
            [
                ("read", r#"{"path":"a.md"}"#, "The first page of the catalogue".into()),
                ("read", r#"{"path":"b.md"}"#, "The second page of the catalogue".into()),
                ("write_file", args[at], "The file was written with one line".into()),
            ]
        };
        play((0..8).flat_map(reads)).expect(RULE, &[]);
    }
}
