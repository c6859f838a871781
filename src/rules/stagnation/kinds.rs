//! Kinds of calls that keep coming to the same, and calls in a row that were all made before with the same answers.

use super::{
    ANSWERED, Before, FULL, INSTEAD, SUCCESS, SUCCESS_VARIED, Stuck, TROUBLE, TROUBLE_CHANGED, TROUBLE_REWORDED,
};
use crate::codec::codec;
use crate::model::{HaltReason, ToolResult};
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::{Call, Kin, Ring, Step, Time, Visibility, WAITED, beginning};
use crate::text::{
    Edit, Figures, Left, Words, combine, down, frame, is_left_out, mark, printable, progress, tells_trouble, told,
};
use alloc::{boxed::Box, format};

/// Recurring kinds of calls that are tracked at once.
const KINDS: usize = 6;
/// Letters from which the figures of a heading are compared.
const LETTERS: usize = 24;
/// Calls in a row, all made before with the same answer, from which they are reported.
const ROW: u32 = 5;

#[derive(Clone, Debug, Default)]
pub(super) struct Kinds {
    /// Present once a kind has come again.
    again: Option<Box<Recurrence>>,
    /// Time of the latest step.
    at: Time,
    /// Changes: edits, and mutations by a kind of call that is new. Deleting a pod under another name is no new change.
    pub(super) changes: u32,
    /// New mutations up to the latest step, including those at other tasks: the agent's own.
    own: u16,
    /// The same, as seen by its latest call whose outcome depends on others' changes.
    seen: u16,
    /// Number of the latest step that a closer look found to bring something new.
    news: u32,
    /// The latest call was declared to poll.
    polled: bool,
}
codec!(struct Kinds { again, at, changes, own, seen, news, polled });

/// What came again.
#[derive(Clone, Debug, Default)]
struct Recurrence {
    /// Ordered by the latest call of each.
    kinds: Ring<Kind>,
    /// Steps in a row, all of them made before with the same answer.
    row: Streak,
}
codec!(struct Recurrence { kinds, row });

/// A kind of call that came again.
#[derive(Clone, Debug, Default)]
struct Kind {
    /// The tool, the agent and the arguments without their figures.
    kind: u32,
    /// Mark of its latest outcome; 0 if that was not looked at closely.
    light: u32,
    /// Mark of what is wrong; 0 for nothing.
    trouble: u32,
    /// Mark of the line that says so, with its figures.
    line: u32,
    /// Marks of the first and the last line that say so, without their figures.
    said: u32,
    left: Left,
    /// Digest of the figures in its heading; 0 if that has hardly a word.
    figures: u32,
    /// Class of the error; 0 for none.
    class: u32,
    words: Words,
    /// Progress that the answer reports; 0 for none.
    progress: u32,
    round: u32,
    /// Changes made before it (`changes`), and the step of the latest news before it (`news`).
    changes: u32,
    news: u32,
    points: u32,
    seen: Streak,
}
codec!(struct Kind { kind, light, trouble, line, said, left, figures, class, words, progress, round, changes, news, points, seen });

/// How a call compares with the previous one of its kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// It came to the same, worth so many points.
    Same(u32),
    /// It came to the same, which does not count.
    Excused,
    /// Its outcome reports progress.
    Further,
    /// It came to something else.
    Else,
}

impl Kind {
    /// A kind that was seen once, and not closely.
    fn seen_once(kind: u32, changes: u32, news: u32) -> Self {
        Self { kind, changes, news, ..Self::default() }
    }

    /// Whether another call of the kind is the same, and came to the same.
    fn is_equal(&self, other: &Self, kin: &Kin) -> bool {
        kin.is_same_call() && (self.light == other.light || self.light == 0)
    }

    fn new(step: &Step, call: &Call, kind: u32, result: &ToolResult, (changes, news): (u32, u32), salt: u64) -> Self {
        let answer = result.output.as_str();
        let mut seen = Streak::default();
        seen.add(step.sighting, step.onset);
        let round = call.round.map_or(0, mark);
        let light = mark(step.facts.light);
        let [first, last] = [step.first_mark(result), step.root_line(result)];
        let (trouble, words) = (trouble(step, result, salt), Words::said(answer));
        // Each of the two is needed in one case only.
        let left = if trouble == 0 { Left::default() } else { Left::of(answer) };
        let figures = if trouble == 0 && words.is_empty() { figures(beginning(answer)) } else { 0 };
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

    fn signal(&self, step: &Step, call: &Call, cx: &Cx<'_>) -> Signal {
        let (name, times) = (printable(&call.name, 48), self.seen.times);
        let what = combine("stagnation/kind", &[step.tool, call.frame.into()]);
        let (kind, outcome, halt_reason) = if self.trouble == 0 {
            ("same-outcome", "the same result", HaltReason::Stalled)
        } else {
            ("same-trouble", "the same problem", HaltReason::RepeatedError)
        };
        let message = format!("`{name}` had {outcome} {times} times, apart from figures, whatever was done in between");
        Stuck { kind, name: &name, what, points: self.points, message, instead: INSTEAD, halt_reason }
            .signal(&self.seen, cx)
    }

    /// How `next` compares with this.
    fn came(&self, next: &Self, call: &Call, kin: &Kin, beside: Before) -> Comparison {
        let (moved, equal) = (!kin.is_same_call(), self.is_equal(next, kin));
        let troubled = next.trouble != 0;
        let alike = || !next.words.is_empty() && next.words.alike(&self.words);
        let told = troubled && (next.class != 0 && next.class == self.class || next.words.is_empty());
        let looked_at = self.seen.times != 0;
        // The same heading with the same figures, apart from times, ids and names.
        let figures = next.figures != 0 && next.figures == self.figures;
        let reads_like = || !moved && next.words.is_empty() && kin.is_alike() && figures;
        let same = !looked_at || next.trouble == self.trouble && (told || alike() || reads_like());
        if !(equal || same) {
            // The same acknowledgement of something with other figures is no news.
            return if next.light == self.light { Comparison::Excused } else { Comparison::Else };
        }
        let copy = next.round != 0 && next.round == self.round;
        // The next item of a list; or equal calls in a row, which belong to another rule.
        let batch = beside.right_after() && (equal && (!troubled || kin.now.is_error()) || moved && !call.mutates);
        let passing = kin.now.is_error() && beside.waits;
        let elsewhere = next.progress != self.progress || !kin.is_alike();
        if looked_at && !troubled && !equal && elsewhere {
            return Comparison::Further;
        }
        if copy
            || batch
            || passing
            || !kin.now.is_error() && !equal && !looked_at
            || !troubled && (beside.waits || call.polling)
        {
            return Comparison::Excused;
        }
        let changed = next.changes != self.changes;
        let moves = next.line != self.line;
        if troubled && looked_at && beside.moved_on {
            return Comparison::Else;
        }
        if troubled
            && looked_at
            && (next.progress != 0 && next.progress != self.progress || next.left.is_less(&self.left))
        {
            return Comparison::Further;
        }
        let renamed = looked_at && next.said != self.said;
        let silent = next.words.is_empty();
        Comparison::Same(if troubled {
            match changed {
                _ if call.polling || renamed => TROUBLE_REWORDED,
                true if moves => TROUBLE_REWORDED,
                true => TROUBLE_CHANGED,
                false => TROUBLE,
            }
        } else if changed || next.news != self.news {
            return Comparison::Excused;
        } else if moved && call.mutates {
            // One thing after another is changed successfully.
            return Comparison::Excused;
        } else if silent && call.mutates {
            1
        } else if !beside.heard && (silent || moved) {
            SUCCESS_VARIED
        } else {
            SUCCESS
        })
    }
}

/// Digest of the figures in a heading; 0 if it has hardly a word.
fn figures(heading: &str) -> u32 {
    let letters = heading.bytes().filter(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii()).count();
    if letters < LETTERS { 0 } else { Figures::of(heading).digest.max(1) }
}

/// Mark of the line that says what is wrong, with its figures. Without such a line, of the whole outcome; of a table in
/// which something is down, `trouble` itself.
fn line(step: &Step, result: &ToolResult, trouble: u32, salt: u64) -> u32 {
    let answer = result.output.as_str();
    match step.root_line(result) {
        Some(line) => told(line, salt),
        None if trouble != 0 && !step.facts.failed && down(answer).is_some() => trouble,
        None => mark(step.facts.light),
    }
}

/// Mark of what is wrong with an answer; 0 for nothing.
pub(super) fn trouble(step: &Step, result: &ToolResult, salt: u64) -> u32 {
    let answer = result.output.as_str();
    let root = match step.error(result, salt) {
        Some(root) => root,
        None if !step.facts.waiting && tells_trouble(answer) => frame(answer).into(),
        None => match down(answer) {
            Some(state) => frame(state).into(),
            None => return 0,
        },
    };
    mark(combine("stagnation/trouble", &[root, result.exit_code.unwrap_or(0).cast_unsigned().into()])).max(1)
}

impl Kinds {
    /// What came before a step, whose own change is counted. `listed`: the previous call was of its kind; `heard`: the
    /// user has spoken right after the previous answer.
    pub(super) fn beside(&mut self, step: &Step, call: &Call, listed: bool, heard: bool) -> Before {
        let facts = &step.facts;
        let paused = self.at.is_past(WAITED, step.at);
        let waits = facts.waiting
            || facts.transient
            || self.polled
            || listed && !heard && paused
            || step.watches()
            || step.paused() && call.watches;
        (self.at, self.polled) = (step.at.into(), call.polling);
        let before = self.changes;
        let change = step.own.after > step.own.before && (step.kin.before.is_none() || call.edit != Edit::No);
        let sees = call.sees;
        let elsewhere = match sees {
            Visibility::Own => step.own.before as u16 != self.own,
            _ => step.seen_changes.before as u16 != self.seen,
        };
        self.changes = before.saturating_add((change || elsewhere).into());
        self.own = step.own.after as u16;
        if sees != Visibility::Own {
            self.seen = step.seen_changes.after as u16;
        }
        Before { listed, heard, waits, changes: self.changes, changed: self.changes != before, moved_on: false }
    }

    /// Records a step; true if its kind came to the same again and that counts.
    pub(super) fn took(&mut self, step: &Step, call: &Call, result: &ToolResult, beside: Before, salt: u64) -> bool {
        let kind = step.kin.now.kind;
        let known = self.again.as_mut().and_then(|again| again.kinds.take(|known| known.kind == kind));
        // A kind that the lane's news has forgotten is not tracked further.
        let known = known.filter(|_| step.kin.before.is_some());
        // Most kinds that come again come to something else: no need to track them.
        let news = (step.news as u32).max(self.news);
        let Some(before) = known.or_else(|| step.kin.is_alike().then(|| Kind::seen_once(kind, self.changes, news)))
        else {
            if let Some(again) = &mut self.again {
                again.row.clear();
            }
            return false;
        };
        let mut next = Kind::new(step, call, kind, result, (self.changes, news), salt);
        // What is not told cannot be the same.
        let untold = || is_left_out(&result.output) || call.steers(result);
        let came = match before.came(&next, call, &step.kin, beside) {
            Comparison::Same(_) if next.trouble == 0 && (beside.ordered() || untold()) => Comparison::Excused,
            came => came,
        };
        let again = self.again.get_or_insert_default();
        let looked_at = before.seen.times != 0;
        if beside.ordered() || !looked_at || !before.is_equal(&next, &step.kin) {
            again.row.clear();
        } else if (before.changes, before.news) == (self.changes, news)
            && !beside.waits
            && !beside.right_after()
            && !call.polling
        {
            again.row.add(step.sighting, step.onset);
        }
        if matches!(came, Comparison::Else | Comparison::Further) {
            self.news = step.index as u32;
        }
        if came == Comparison::Else {
            next.news = step.index as u32;
        } else {
            next.points = before.points;
            if looked_at {
                next.left = next.left.fewest(&before.left);
                next.seen = before.seen;
            } else {
                next.seen.times += 1;
            }
        }
        if let Comparison::Same(points) = came {
            next.points = next.points.saturating_add(points);
            if looked_at {
                next.seen.add(step.sighting, step.onset);
            }
        }
        again.kinds.push(next, KINDS);
        matches!(came, Comparison::Same(_))
    }
}

impl Recurrence {
    /// Points of the calls in a row.
    fn row(&self) -> u32 {
        self.row.times.saturating_mul(FULL) / ROW
    }

    fn signal(&self, row: u32, cx: &Cx<'_>) -> Signal {
        let times = self.row.times;
        let found = Stuck {
            kind: "nothing-new",
            name: "calls",
            what: combine("stagnation/row", &[]),
            points: row,
            message: format!("the last {times} calls had all been made before and got the same answers as before"),
            instead: ANSWERED,
            halt_reason: HaltReason::Stalled,
        };
        found.signal(&self.row, cx)
    }
}

impl Kinds {
    pub(super) fn any_again(&self) -> bool {
        self.again.is_some()
    }

    pub(super) fn points(&self) -> u32 {
        let points =
            |again: &Recurrence| again.kinds.iter().map(|kind| kind.points).max().unwrap_or(0).max(again.row());
        self.again.as_deref().map_or(0, points)
    }

    /// The signal at the latest step, if a threshold is reached; `came` is what [`Self::took`] returned for it.
    pub(super) fn signal(&self, step: &Step, call: &Call, came: bool, cx: &Cx<'_>) -> Option<Signal> {
        let again = self.again.as_ref()?;
        let kind = again.kinds.last().filter(|_| came);
        let (points, row) = (kind.map_or(0, |kind| kind.points), again.row());
        if !cx.limits.reached(points.max(row)) {
            return None;
        }
        let kind = kind.filter(|kind| kind.points >= row);
        Some(kind.map_or_else(|| again.signal(row, cx), |kind| kind.signal(step, call, cx)))
    }

    pub(super) fn fits(&self) -> bool {
        let fits = |again: &Recurrence| {
            let kinds = &again.kinds;
            kinds.len() <= KINDS && kinds.iter().all(|kind| kind.words.fits())
        };
        self.again.as_deref().is_none_or(fits)
    }
}
