//! Reports in which hardly a word is new: a wrapper starts the agent anew with the same prompt, and is told each time
//! that it is blocked, that all is done, or that it waits.
//!
//! No report repeats another, and the figures in them change. What gives them away is that nearly all words at their
//! beginnings, which are read as goals are, are known from those before. Another message of the user, one of the host in
//! other words, one of another agent, a short one that names something new, and the result of a call end them.

use super::circles::{PLEADED, REPORTED};
use super::code_in;
use crate::codec::codec;
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::Recent;
use crate::text::{Vocabulary, dense, mark, named_things, plain_words, pleads};
use crate::tuned;

/// Bytes from which a message is a report.
pub(super) const SHORTEST: usize = 250;
/// Fewest different words of a report to judge it by, and most named things that are looked at.
const FEWEST: u32 = 12;
const MOST: usize = 64;
/// New things that a report has to name to tell something: files, identifiers.
const THINGS: usize = 2;
/// Frames of the host's messages that are remembered.
const FRAMES: usize = super::QUESTIONS;

#[derive(Clone, Debug, Default)]
pub(super) struct Reports {
    known: Vocabulary,
    /// The files and identifiers that they named.
    named: Vocabulary,
    /// Mark of who gave them.
    speaker: u32,
    hosted: Recent<FRAMES>,
    /// Reports in a row with hardly a new word; and those that ask for leave to go on, or say that they are blocked.
    again: Streak,
    pleas: Streak,
}
codec!(struct Reports { known, named, speaker, hosted, again, pleas });

impl Reports {
    /// An agent speaks, and may name something new: reports if it tells hardly anything, once more, or asks for leave.
    pub(super) fn says(&mut self, text: &str, names: bool, cx: &Cx<'_>) -> Option<Signal> {
        let speaker = mark(cx.agent);
        let brief = text.len() < SHORTEST;
        let pleads = pleads(text);
        if core::mem::replace(&mut self.speaker, speaker) != speaker || brief && names && !pleads {
            self.ends();
        }
        if pleads {
            self.pleas.add(cx.here, cx.onset);
        } else {
            self.pleas.clear();
        }
        self.tells(text, brief, cx)
            .and_then(|again| REPORTED.signal(again, cx))
            .or_else(|| PLEADED.signal(&self.pleas, cx))
    }

    /// The row that a report belongs to, if it tells hardly anything.
    fn tells(&mut self, text: &str, brief: bool, cx: &Cx<'_>) -> Option<&Streak> {
        // A record that a program writes is no report, and single letters are no words.
        if brief || text.starts_with(['{', '[']) || text.contains(dense) {
            return None;
        }
        let (mut own, mut words, mut fresh) = (Vocabulary::default(), 0, 0);
        let things = named_things(text, MOST).into_iter().filter(|thing| self.named.learn(*thing)).count();
        for word in plain_words(text) {
            if own.learn(word) {
                words += 1;
                fresh += u32::from(self.known.learn(word));
            }
        }
        if words < FEWEST || things >= THINGS || fresh * 100 > words * tuned::REPORT_FRESH.get() {
            self.again.clear();
            return None;
        }
        // Code is no report.
        if code_in(text) * 2 > text.len() {
            return None;
        }
        self.again.add(cx.here, cx.onset);
        Some(&self.again)
    }

    /// The host speaks, by its frame; by the second report, what it says between reports is known.
    pub(super) fn hears_host(&mut self, frame: u32) {
        let first = !self.hosted.any();
        if !self.hosted.met(frame) && !first {
            self.ends();
        }
    }

    /// What was reported before is of no importance any more.
    pub(super) fn ends(&mut self) {
        (self.known, self.named) = (Vocabulary::default(), Vocabulary::default());
        self.again.clear();
        self.pleas.clear();
    }

    /// Points of the evidence so far.
    pub(super) fn worth(&self) -> u32 {
        REPORTED.worth(&self.again).max(PLEADED.worth(&self.pleas))
    }

    pub(super) fn fits(&self) -> bool {
        self.known.fits() && self.named.fits()
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::{events, pair, says};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "stale-talk";

    /// What the same berth master reports when woken for the `n`-th time.
    fn blocked(n: usize) -> String {
        let openings = ["Still", "As before,", "Again", "Status unchanged:", "Once more"];
        let ends = ["until then", "for now", "at present", "as things are"];
        format!(
            "{} the sluice cannot be opened, because the wheel of the lock keeper is missing ({} checks so far).\n\n\
             - Pumps inspected: yes\n- Gates greased: yes\n- Sluice opened: by nobody, lock keeper has to bring wheel\n\n\
             Please ask the lock keeper to bring the wheel for opening the sluice; nothing else can be done {}.",
            openings[n % openings.len()],
            n * 3 + 1,
            ends[n % ends.len()]
        )
    }

    /// What is reported about another part of the harbour each time.
    fn done(n: usize) -> String {
        const PARTS: [[&str; 3]; 7] = [
            ["northern mole", "cracked granite blocks reset with fresh mortar", "swell gauge calibrated"],
            ["fish market", "refrigeration cabinets drained, hinges oiled", "auction bell rehung"],
            ["dry dock", "keel supports measured, caisson seals replaced", "drainage tunnel flushed"],
            ["customs shed", "ledger shelves numbered, archive moths treated", "weighing scales certified"],
            ["pilot station", "radar mast straightened, antenna cable shielded", "logbooks microfilmed"],
            ["coal quay", "conveyor rollers swapped, dust curtains stitched", "hopper sensors aligned"],
            ["yacht basin", "mooring chains dived for, anodes renewed", "pontoon planks sanded"],
        ];
        let [part, first, second] = PARTS[n % PARTS.len()];
        format!(
            "Report about the {part}, as ordered. Work of this round: {first}; afterwards {second}.\n\n- Inspected: yes\n\
             - Finished: yes\n- Remaining: whatever the plan of the harbour office says about anything but the {part}, \
             where the list hangs beside the door."
        )
    }

    fn host(text: &str) -> String {
        format!(r#"{{"type":"message","role":"system","text":"{text}"}}"#)
    }

    fn woken(reports: &[String], wakes: &dyn Fn(usize) -> Option<String>) -> crate::rules::testing::Played {
        let lines = reports.iter().enumerate().flat_map(|(n, report)| wakes(n).into_iter().chain([says(report)]));
        events(r#"{"rules":{"monologue":{"enabled":false}}}"#, lines.collect::<Vec<_>>())
    }

    #[test]
    fn a_wrapper_that_gets_the_same_report_each_time() {
        let reports: Vec<String> = (0..7).map(blocked).collect();
        let prompt = r#"{"type":"message","role":"user","text":"Read the plan of the harbour and do the next piece of work in it."}"#;
        let wakes: [&dyn Fn(usize) -> Option<String>; 5] = [
            &|_| None,
            &|n| Some(host(&format!("harbour loop: round {n} begins at 2031-05-0{n}_04-1{n}"))),
            &|n| Some(host(["the gate is locked", "the bell rings"][n % 2])),
            &|_| Some(prompt.into()),
            &|_| Some(says("")),
        ];
        for wakes in wakes {
            woken(&reports, wakes).strongest(RULE, Nudge);
            woken(&reports[..3], wakes).expect(RULE, &[]);
        }
        let played = woken(&reports[..4], wakes[1]);
        played.expect(RULE, &[(7, Nudge)]);
        let message = &played.findings(RULE)[0].message;
        assert!(message.starts_with("3 reports in a row contain hardly any new words"), "{message}");
    }

    /// One who may not open the sluice, in other words about other things each time.
    const KEPT: [&str; 4] = [
        "I need permission of the lock keeper before the sluice can be opened. Until then I describe the work: first the \
         eastern gate and its hinges, then the pumps, at last both lamps at the head, as the plan of the harbour has it. \
         The order of the plan is kept throughout, and its three chapters are listed below for convenience.",
        "**Blocked.** Without the keeper nobody turns the wheel. To go on, one of two things has to happen: either the keeper \
         signs the sheet in the tower, or somebody with a key of the customs house comes here and turns the wheel by hand, \
         forty times to the left; a map of both ways hangs beside the door.",
        "The commands for the wheel require approval. Prepared and waiting on the bench: grease, a brass pipe of two ells, \
         new rope for the counterweight and the log in which each turn is written down, with a copy for the office \
         upstairs, where somebody will file it under the name of the ship.",
        "Opening was denied again (fourth attempt); permission is needed from whoever watches tonight. Please walk to the \
         cabin, press the green bell twice, and hold this letter against the window, so that the watchman sees the \
         stamp. Afterwards everything else follows by itself within the hour.",
    ];

    #[test]
    fn who_may_not_go_on() {
        let reports = KEPT.map(String::from);
        let prompt = r#"{"type":"message","role":"user","text":"Read the plan of the harbour and do the next piece of work in it."}"#;
        for wakes in [
            &(|_| None) as &dyn Fn(usize) -> Option<String>,
            &|n| Some(host(&format!("harbour loop: round {n}"))),
            &|_| Some(prompt.into()),
        ] {
            let played = woken(&reports, wakes);
            played.strongest(RULE, Nudge);
            let message = &played.findings(RULE)[0].message;
            assert!(message.starts_with("3 reports in a row say that the agent is blocked"), "{message}");
            woken(&reports[..2], wakes).expect(RULE, &[]);
        }
        // Who is answered, does something, or tells of other work in between.
        let user = |n: usize| {
            let text =
                ["Go on, the keeper agrees.", "Granted, for the gate as well.", "Yes, the pumps too.", "Yes."][n];
            Some(format!(r#"{{"type":"message","role":"user","text":"{text}"}}"#))
        };
        woken(&reports, &user).expect(RULE, &[]);
        let call = |n: usize| format!(r#"{{"type":"tool-call","tool":"grease","args":{{"gate":{n}}}}}"#);
        woken(&reports, &|n| Some(call(n))).expect(RULE, &[]);
        let mut mixed = Vec::from(reports.clone());
        mixed.insert(2, done(1));
        woken(&mixed, &|_| None).expect(RULE, &[]);
        let several = (0..4).map(|n| says(KEPT[n]).replacen('{', &format!(r#"{{"agent":"keeper-{}","#, n % 2), 1));
        events(r#"{"rules":{"monologue":{"enabled":false}}}"#, several.collect::<Vec<_>>()).expect(RULE, &[]);
    }

    #[test]
    fn reports_that_tell_something() {
        let told: Vec<String> = (0..7).map(done).collect();
        woken(&told, &|n| Some(host(&format!("round {n}")))).expect(RULE, &[]);
        // Short ones in one form, each about other files.
        let files = ["gates.rs", "pumps.rs", "lamps.rs", "tides.rs", "bells.rs", "ropes.rs", "locks.rs"];
        let filed = |n: usize| {
            format!(
                "## Piece {n} of the plan\n\n- Moved the harbour book to functions, and its users with it.\n- Files changed: \
                 src/harbour/{0}, tests/harbour/all_{0}\n- Checks of the yard: ALL PASSED\n- Learnings: imports have to be \
                 in the order that the linter of the yard wants, also within functions; the tests of the yard say so at once.",
                files[n]
            )
        };
        woken(&(0..7).map(filed).collect::<Vec<_>>(), &|_| None).expect(RULE, &[]);
        // One about new things among those that say the same.
        let mut mixed: Vec<String> = (0..6).map(blocked).collect();
        mixed.insert(3, done(0));
        woken(&mixed[..6], &|_| None).expect(RULE, &[]);
        // Something else is asked or told each time; work is done in between.
        let asked = ["Which keys are missing?", "What about ferries on Sunday?", "Who pays for grease?", "Any whales?"];
        let reports: Vec<String> = (0..4).map(blocked).collect();
        let user = |n: usize| Some(format!(r#"{{"type":"message","role":"user","text":"{}"}}"#, asked[n]));
        woken(&reports, &user).expect(RULE, &[]);
        woken(&reports, &|n| Some(host(asked[n]))).expect(RULE, &[]);
        let call = |n: usize| format!(r#"{{"type":"tool-call","tool":"grease","args":{{"gate":{n}}}}}"#);
        woken(&reports, &|n| Some(call(n))).expect(RULE, &[]);
        let failed = |n: usize| Vec::from(pair("grease", &format!(r#"{{"gate":{n}}}"#), "error", "no such gate"));
        let called = reports.iter().enumerate().flat_map(|(n, report)| [failed(n), Vec::from([says(report)])].concat());
        let played = events(r#"{"rules":{"monologue":{"enabled":false}}}"#, called.collect::<Vec<_>>());
        played.expect(RULE, &[]);
        let other =
            |n: usize| Some(says(&format!("Crate {n}7 is in shed Alpha-{n}.")).replacen('{', r#"{"agent":"bo","#, 1));
        woken(&reports, &other).expect(RULE, &[]);
        woken(&reports, &|n| Some(says(&format!("Ferry Nordstern-{n} arrived.")))).expect(RULE, &[]);
        let sums = |n: usize| {
            let asked = format!("How many crates fit in if the hold is {n}2 metres long and {n}5 wide?");
            Some(format!(r#"{{"type":"message","role":"user","text":"{asked}"}}"#))
        };
        woken(&reports, &sums).expect(RULE, &[]);
        // Figures alone, and letters of a script without blanks, are no words.
        let table =
            |n: usize| (0..24).map(|row| format!("| {} | {}.5 | {} |\n", n + row, n * row, n + row * 7)).collect();
        woken(&(0..6).map(table).collect::<Vec<String>>(), &|_| None).expect(RULE, &[]);
        let thai = ["เรือออกจากท่าเมื่อเช้า", "ประตูน้ำเปิดแล้ววันนี้", "ตะเกียงถูกจุดทุกคืน", "ปลาขายหมดก่อนเที่ยง", "ลมแรงมากในทะเล"];
        woken(&thai.map(|text| text.repeat(9)), &|_| None).expect(RULE, &[]);
        // Several who report the same in turn.
        let several = (0..6).map(|n| says(&blocked(n)).replacen('{', &format!(r#"{{"agent":"keeper-{}","#, n % 2), 1));
        events(r#"{"rules":{"monologue":{"enabled":false}}}"#, several.collect::<Vec<_>>()).expect(RULE, &[]);
        // Code is the work where no tool writes files, and so are records.
        let code = |n: usize| format!("The gate, as before:\n```\n{}\n```", blocked(n));
        woken(&(0..6).map(code).collect::<Vec<_>>(), &|_| None).expect(RULE, &[]);
        let new = |n: usize| format!("The gate, once more:\n```\n{}\n```", done(n));
        woken(&(0..9).map(|n| if n % 2 == 1 { new(n) } else { blocked(n) }).collect::<Vec<_>>(), &|_| None)
            .expect(RULE, &[]);
        // What is known makes no difference between reports.
        let mixed = |n: usize| if n % 2 == 1 { code(n) } else { blocked(n) };
        woken(&(0..9).map(mixed).collect::<Vec<_>>(), &|_| None).strongest(RULE, Nudge);
    }
}
