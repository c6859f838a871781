//! One thing that keeps coming to the same trouble whatever is asked of it, or that is read over and over in other
//! ways.
//!
//! An order changed with ever new addresses, a page fetched under ever new names: no two calls are of a kind, but their
//! target is the same. Or it is changed over and over, and each look at it afterwards shows what was there before.

use super::{Stuck, TROUBLE, TROUBLE_CHANGED, TROUBLE_REWORDED, UNMOVED};
use crate::codec::codec;
use crate::model::HaltReason;
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::{Call, Recent, Ring, Step};
use crate::text::{Empty, combine, mark, printable};
use alloc::{boxed::Box, format};

/// Targets of the latest calls that are kept.
const KNOWN: usize = 6;
/// Recurring targets that are tracked at once.
const FOLLOWED: usize = 3;
/// Bytes from which it counts that an answer was read again.
const LONG: usize = 200;

#[derive(Clone, Debug, Default)]
pub(super) struct Things {
    known: Recent<KNOWN>,
    /// Present once a target has come again.
    again: Option<Box<Ring<Thing>>>,
}
codec!(struct Things { known, again });

/// What one agent has done to one thing, with whatever tool.
#[derive(Clone, Debug, Default)]
pub(super) struct Thing {
    thing: u32,
    /// Mark of the latest call if it changed something, otherwise of its arguments without their figures.
    call: u32,
    /// Mark of its outcome.
    light: u32,
    /// Mark of what was wrong with it; 0 for nothing.
    trouble: u32,
    /// Mark of the line that says so.
    line: u32,
    round: u32,
    /// Changes made before it.
    changes: u32,
    points: u32,
    seen: Streak,
    /// Present once it has been changed.
    unmoved: Option<Box<Unmoved>>,
}
codec!(struct Thing { thing, call, light, trouble, line, round, changes, points, seen, unmoved });

/// Looks at a thing that was changed in between.
#[derive(Clone, Debug, Default)]
struct Unmoved {
    /// Mark of the latest look and of what it showed; 0 for none.
    view: u32,
    /// The thing was changed since.
    changed: bool,
    seen: Streak,
}
codec!(struct Unmoved { view, changed, seen });

impl Unmoved {
    /// Records a look; true if it is one more that shows no change.
    fn look(&mut self, step: &Step, call: &Call) -> bool {
        let view = mark(combine("stagnation/view", &[call.key, step.facts.light])).max(1);
        let moved = core::mem::replace(&mut self.view, view) != view;
        if moved {
            self.seen = Streak::default();
        }
        let unmoved = core::mem::take(&mut self.changed) && !moved;
        if unmoved {
            self.seen.add(step.sighting, step.onset);
        }
        unmoved
    }

    fn points(&self) -> u32 {
        self.seen.times.saturating_mul(UNMOVED)
    }
}

/// What came of a call.
pub(super) struct Outcome {
    pub(super) trouble: u32,
    pub(super) line: u32,
    pub(super) length: usize,
    /// Changes made before it.
    pub(super) changes: u32,
    /// The agent may have waited for it.
    pub(super) waits: bool,
}

impl Things {
    /// Records a call; its thing, if the call is one more of the same. `outcome` is only computed if the target is
    /// known.
    pub(super) fn took(&mut self, step: &Step, call: &Call, outcome: impl FnOnce() -> Outcome) -> Option<&Thing> {
        let thing = mark(combine("stagnation/thing", &[step.agent, call.target?]));
        if !self.known.met(thing) {
            return None;
        }
        let again = self.again.get_or_insert_default();
        let new = || Thing { thing, ..Thing::default() };
        let known = again.renew(FOLLOWED, |known| known.thing == thing, new)?;
        known.take(step, call, &outcome()).then_some(known)
    }

    pub(super) fn points(&self) -> u32 {
        self.again.iter().flat_map(|again| again.iter()).map(Thing::points).max().unwrap_or(0)
    }

    pub(super) fn fits(&self) -> bool {
        let fits = |again: &Ring<Thing>| again.len() <= FOLLOWED && again.iter().all(Thing::fits);
        self.again.as_deref().is_none_or(fits)
    }
}

impl Thing {
    /// Records a call's outcome; true if it is one more of the same.
    fn take(&mut self, step: &Step, call: &Call, outcome: &Outcome) -> bool {
        let Outcome { trouble, line, length, changes, waits } = *outcome;
        // Repeats of one change belong to other rules, and reads that differ in figures only, such as days, are a list.
        let key = if call.mutates { mark(call.key) } else { call.frame };
        let (light, round) = (mark(step.facts.light), call.round.map_or(0, mark));
        let changed = self.changes != changes;
        let read_again = trouble == 0 && self.light == light && length >= LONG && !changed && !call.mutates;
        // Two changes that show the same text have changed nothing.
        let in_vain = trouble == 0 && self.light == light && length >= LONG && call.mutates && self.call != key;
        let same = if trouble == 0 { read_again || in_vain } else { trouble == self.trouble };
        if !same {
            (self.points, self.seen) = (0, Streak::default());
        }
        let copy = round != 0 && self.round == round || self.call == key;
        let unmoved = !waits && !call.polling && self.shows_no_change(step, call);
        let counts = (trouble != 0 || read_again || in_vain) && !copy && !waits && !call.polling;
        if counts {
            let first = self.seen.times == 0;
            let points = match (changed && !in_vain, self.line != line) {
                (true, true) => TROUBLE_REWORDED,
                (true, false) => TROUBLE_CHANGED,
                (false, _) => TROUBLE,
            };
            self.points = self.points.saturating_add(if first { 0 } else { points });
            self.seen.add(step.sighting, step.onset);
        }
        (self.call, self.light, self.trouble, self.line) = (key, light, trouble, line);
        (self.round, self.changes) = (round, changes);
        counts || unmoved
    }

    /// Whether a call is one more look at what was changed, and shows what was there before.
    fn shows_no_change(&mut self, step: &Step, call: &Call) -> bool {
        match &mut self.unmoved {
            _ if step.facts.failed => false,
            unmoved if call.mutates => {
                unmoved.get_or_insert_default().changed = true;
                false
            }
            // A call made for its answer: what a shell runs may well say the same after each change.
            Some(unmoved) if call.quiet == Empty::Nothing => unmoved.look(step, call),
            _ => false,
        }
    }

    pub(super) fn points(&self) -> u32 {
        self.points.max(self.unmoved.as_ref().map_or(0, |unmoved| unmoved.points()))
    }

    fn fits(&self) -> bool {
        self.seen.fits() && self.unmoved.as_ref().is_none_or(|unmoved| unmoved.seen.fits())
    }

    pub(super) fn signal(&self, call: &Call, cx: &Cx<'_>) -> Signal {
        let unmoved = self.unmoved.as_deref().filter(|unmoved| unmoved.points() > self.points);
        let seen = unmoved.map_or(&self.seen, |unmoved| &unmoved.seen);
        let (name, times) = (printable(&call.name, 48), seen.times);
        let (kind, message, halt_reason) = if unmoved.is_some() {
            (
                "no-change",
                format!("one thing was changed {times} times, and each time `{name}` showed the same as before"),
                HaltReason::Stalled,
            )
        } else if self.trouble == 0 {
            (
                "same-outcome",
                format!("`{name}` and similar calls read one thing {times} times, and nothing had changed"),
                HaltReason::Stalled,
            )
        } else {
            (
                "same-trouble",
                format!("one thing led to the same problem {times} times, whatever else `{name}` was given"),
                HaltReason::RepeatedError,
            )
        };
        let what = combine("stagnation/thing", &[call.target.unwrap_or(0)]);
        Stuck { kind, name: &name, what, points: self.points(), message, instead: super::INSTEAD, halt_reason }
            .signal(seen, cx)
    }
}
