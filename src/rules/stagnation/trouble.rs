//! One error that comes back whatever is called: an install with ever new flags, a rewritten cell, a build after each
//! edit; or a few errors that alternate. An answer that something is not accepted counts as an error.

use super::{Before, INSTEAD, Stuck, TROUBLE, TROUBLE_CHANGED};
use crate::codec::codec;
use crate::model::{HaltReason, ToolResult};
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::{Call, LONG_PAUSE, Recent, Step};
use crate::text::{self, Edit, Key, Left, combine, frame, key, mark, named_file, told};
use alloc::{boxed::Box, format};

/// Errors kept to find those that alternate.
const TURNS: usize = 4;

/// Bit of [`Trouble::thing`] for a thing that failed and has worked since.
const MENDED: u8 = 0x80;

/// Bit of [`Trouble::since`]: something was written since. Restarting, deleting or installing something is no attempt
/// of its own to fix an error.
const WRITTEN: u8 = 1;
/// Bits for files in [`Trouble::files`], and how many bits of it may be set until they are forgotten.
const FILE_BITS: u32 = 24;
const MOST_BITS: u32 = 10;
/// Bit of [`Trouble::since`]: the latest file that an error named was edited since.
const EDITED: u8 = 2;
/// Bit of [`Trouble::since`]: something was changed since, in whatever way.
const CHANGED: u8 = 4;
/// Bit of [`Trouble::since`]: no line of the latest error was marked as one.
const PLAIN: u8 = 8;
/// Bit of [`Trouble::since`]: the latest error was said by a form or a dialog.
const SAID: u8 = 16;
/// Bit of [`Trouble::since`]: it is a judge's mark.
const SCORED: u8 = 32;

/// Bytes up to which an answer is a rejection and nothing else.
const VERDICT: usize = 400;
/// Most bytes of a number that measures something; longer ones are ids.
const MEASURE: usize = 6;

/// Key of an answer that something is not accepted: its words and its figures, since it may soon be accepted if those
/// move.
fn rejected(call: &Call, answer: &str) -> Option<Key> {
    // One thing after another may be turned down for the same reason.
    let target = if answer.starts_with('{') { 0 } else { call.target.unwrap_or(0) };
    let answer = if answer.len() <= VERDICT { text::rejection(answer)? } else { return None };
    let words = answer.split(|char: char| !(char.is_alphanumeric() || matches!(char, '_' | '-' | '.' | ':')));
    let measures = words.filter(|word| {
        word.len() <= MEASURE && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && !word.is_empty()
    });
    let figures =
        measures.fold(0, |figures, word| combine("stagnation/figures", &[figures, key("figure", word.as_bytes())]));
    Some(combine("stagnation/rejection", &[frame(answer).into(), figures, target]))
}

/// Key of what a form, a dialog or an alert says of an action that did not work.
fn said(call: &Call, answer: &str) -> Option<Key> {
    let shows = call.asks.shows();
    let line = match answer.len() {
        0..=VERDICT if shows || call.mutates => Some(answer).filter(|said| text::turns_down(said))?,
        _ if shows => text::alert(answer)?,
        _ => return None,
    };
    Some(combine("stagnation/said", &[frame(line).into(), call.target.unwrap_or(0)]))
}

/// Words for a mark that a judge gives.
const SCORE: &str = "grade note punkte rating score";

/// Key of a mark out of several that is not the best one, `Score 7/10`, given by the very same call: a draft that is
/// improved again and again is no better for it.
fn scored(call: &Call, answer: &str) -> Option<Key> {
    if call.mutates || answer.len() > VERDICT {
        return None;
    }
    let mut words = answer.split(|char: char| char.is_whitespace() || matches!(char, ':' | '=' | ',' | ';' | '*'));
    words.find(|word| SCORE.split(' ').any(|score| word.eq_ignore_ascii_case(score)))?;
    let (mark, best) = words.find(|word| !word.is_empty())?.trim_end_matches(['.', ')']).split_once('/')?;
    let whole = |number: &str| number.split('.').next()?.parse::<u32>().ok();
    let below = whole(mark)? < whole(best)?;
    below.then(|| combine("stagnation/score", &[call.key, key("score", mark.as_bytes())]))
}

/// Key of a failure of which no line is marked as an error, by the lines that it begins and ends with and by what it is
/// about: one thing after another may fail in the same words.
fn unmarked(step: &Step, call: &Call, result: &ToolResult) -> Option<Key> {
    if !step.facts.failed || step.first_mark(result).is_some() {
        return None;
    }
    let (first, last) = text::unmarked_lines(&result.output)?;
    // A program names it.
    let target = if call.runs_a_program() { 0 } else { call.target.unwrap_or(0) };
    Some(combine("stagnation/unmarked", &[frame(first).into(), frame(last).into(), target]))
}

/// The latest error of an agent, and how often it came while the agent met no other.
#[derive(Clone, Debug, Default)]
pub(super) struct Trouble {
    /// Mark of its root and of the first line marked as an error, since a build ends in the same line whatever is
    /// wrong; 0 for none.
    sign: u32,
    /// Low half of its round's mark; 0 for none.
    round: u16,
    /// Seven bits of the mark of the failed call's target, or of the call itself if it has none, 0 before the first; and
    /// [`MENDED`] if that has worked since.
    thing: u8,
    /// Eight bits of the mark of the file that the latest error named, 0 for none; and above them a bit for each that
    /// errors named lately.
    files: u32,
    /// [`WRITTEN`], [`EDITED`], [`CHANGED`], [`PLAIN`], [`SAID`] and [`SCORED`].
    since: u8,
    /// Present once it has come back, or followed another one, or something was edited after it.
    again: Option<Box<ErrorReturns>>,
}
codec!(struct Trouble { sign, round, thing, files, since, again });

#[derive(Clone, Debug, Default)]
struct ErrorReturns {
    back: ReturnPoints,
    turns: ErrorRow,
}
codec!(struct ErrorReturns { back, turns });

/// How often errors came back, and the points for it.
#[derive(Clone, Debug, Default)]
struct ReturnPoints {
    points: u32,
    seen: Streak,
}
codec!(struct ReturnPoints { points, seen });

/// Errors that came one after another, and those of them that came back.
#[derive(Clone, Debug, Default)]
struct ErrorRow {
    known: Recent<TURNS>,
    back: ReturnPoints,
}
codec!(struct ErrorRow { known, back });

impl ReturnPoints {
    fn again(&mut self, step: &Step, edited: bool) {
        self.points = self.points.saturating_add(if edited { TROUBLE_CHANGED } else { TROUBLE });
        self.seen.add(step.sighting, step.onset);
    }
}

impl Trouble {
    /// Records the file that an error names; true if no error named it lately and the one before it has been edited:
    /// one file after another has the same error and is mended, as compilers and linters report them.
    pub(super) fn moves_on(&mut self, step: &Step, call: &Call, result: &ToolResult, salt: u64) -> bool {
        let latest = |file: u32| (file & 0xff).max(1);
        let edits = call.edit != Edit::No && !step.facts.failed;
        if edits && call.target.is_some_and(|target| latest(mark(target)) == self.files & 0xff) {
            self.since |= EDITED;
        }
        if !step.facts.failed && (edits || step.root(result, salt).is_none()) {
            return false;
        }
        let Some(file) = named_file(&result.output, salt).map(mark) else { return false };
        let bit = 0x100 << ((file >> 8) % FILE_BITS);
        let moved = self.since & EDITED != 0 && self.files & bit == 0;
        self.since &= !EDITED;
        // With most bits set, hardly any file would be a new one.
        let known = self.files & !0xff;
        let known = if known.count_ones() < MOST_BITS { known } else { 0 };
        self.files = known | bit | latest(file);
        moved
    }

    /// Records a step; true if it ended in an error that came back and that counts.
    pub(super) fn took(&mut self, step: &Step, call: &Call, result: &ToolResult, beside: Before, salt: u64) -> bool {
        if call.edit != Edit::No && !step.facts.failed {
            self.since |= WRITTEN;
        }
        let fails = step.facts.failed;
        if call.mutates && !fails {
            self.since |= CHANGED;
        }
        // The same call after another agent's change is a retry, not the next item of a list.
        let retried = beside.changed && step.kin.is_same_call();
        let listed = beside.listed && !retried;
        let output = result.output.as_str();
        let root = step.root(result, salt).or_else(|| rejected(call, output));
        let score = if root.is_none() { scored(call, output) } else { None };
        let root = root.or(score);
        let said = if root.is_none() { said(call, output) } else { None };
        let root = root.or(said);
        let plain = if root.is_none() { unmarked(step, call, result) } else { None };
        let (marked, root) = (plain.is_none(), root.or(plain));
        let thing = (mark(call.target.unwrap_or(call.key)) as u8 & !MENDED).max(1);
        if root.is_none() && !step.facts.failed {
            if thing == self.thing && (call.target.is_some() || step.kin.is_same_call()) {
                self.thing |= MENDED;
                // The form was accepted in the end.
                if call.target.is_some() && self.since & SAID != 0 {
                    self.forget();
                }
            }
            return false;
        }
        // Without a root only the first marked line identifies it, unless it begins with a figure, a count, or a tag.
        let tells =
            |line: &&str| root.is_some() || !line.starts_with(|char: char| char == '<' || char.is_ascii_digit());
        let first = step.first_mark(result).filter(tells).map_or(0, frame);
        // What a log that is followed shows is neither an attempt nor the end of those before it.
        if root.is_none() && first == 0 || call.polling {
            return false;
        }
        let line = step.root_line(result).map_or(0, |line| told(line, salt));
        let sign = mark(combine("stagnation/root", &[root.unwrap_or(0), first.into(), line.into()])).max(1);
        let round = call.round.map_or(0, |round| mark(round) as u16);
        let copy = round != 0 && round == self.round;
        self.round = round;
        let edited = self.since & WRITTEN != 0 || retried;
        self.since &= !WRITTEN;
        let was_marked = self.since & PLAIN == 0;
        let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
        self.since &= !(PLAIN | SAID | SCORED);
        self.since |= flag(!marked, PLAIN) | flag(said.is_some(), SAID) | flag(score.is_some(), SCORED);
        let before = core::mem::replace(&mut self.sign, sign);
        // What only counts what is wrong ends alike whatever that is.
        if !marked && before == sign && Left::wrong(output).is_some() {
            return false;
        }
        let last = core::mem::replace(&mut self.thing, thing);
        // One thing after another fails and is fixed.
        let next = last & MENDED != 0 && thing != last & !MENDED;
        if step.fewer || next || beside.moved_on {
            self.again = None;
            return false;
        }
        // Another call, or the same one after a new change, is an attempt rather than a wait.
        let changed = self.since & CHANGED != 0;
        self.since &= !CHANGED;
        let waits = step.pause >= LONG_PAUSE || step.kin.is_same_call() && !changed;
        let waited = step.is_waited_out() && waits;
        let counts = !(listed || copy || step.slept && !changed || waited);
        if before == sign {
            if counts {
                let ErrorReturns { back, turns, .. } = &mut **self.again.get_or_insert_default();
                back.again(step, edited);
                // One that has come back after another, and comes again.
                if turns.back.points != 0 {
                    turns.back.again(step, edited);
                }
            }
            return counts;
        }
        // Failures without a mark are mostly different ones: not worth the room until something has come back.
        if before == 0 || !(marked || was_marked || self.again.is_some()) {
            return false;
        }
        let ErrorReturns { back, turns, .. } = &mut **self.again.get_or_insert_default();
        *back = ReturnPoints::default();
        turns.known.met(before);
        let known = turns.known.met(sign);
        if !known {
            turns.back.points /= 2;
        } else if counts {
            turns.back.again(step, edited);
        }
        known && counts
    }

    /// Forgets the error and what came back.
    pub(super) fn forget(&mut self) {
        *self = Self { round: self.round, since: self.since & (WRITTEN | CHANGED), ..Self::default() };
    }

    pub(super) fn points(&self) -> u32 {
        self.again.as_ref().map_or(0, |again| again.back.points.max(again.turns.back.points))
    }

    pub(super) fn signal(&self, cx: &Cx<'_>) -> Option<Signal> {
        let ErrorReturns { back, turns, .. } = self.again.as_deref()?;
        let (back, what, which) = if back.points < turns.back.points {
            (&turns.back, "earlier errors came back in turn", 0)
        } else {
            let what = match self.since & (SAID | SCORED) {
                SAID => "the same message came",
                SCORED => "the same score was given",
                _ => "the same error occurred",
            };
            (back, what, self.sign)
        };
        let times = back.seen.times.saturating_add(u32::from(which != 0));
        let found = Stuck {
            kind: "same-trouble",
            name: "error",
            what: combine("stagnation/root", &[which.into()]),
            points: back.points,
            message: format!("{what} {times} times, whatever was called or changed in between"),
            instead: INSTEAD,
            halt_reason: HaltReason::RepeatedError,
        };
        Some(found.signal(&back.seen, cx))
    }
}
