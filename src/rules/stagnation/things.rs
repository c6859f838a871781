//! One thing that comes to the same trouble whatever is asked of it, or is read again and again in other words.
//!
//! An order that is changed with ever other addresses, a page fetched under ever other names: no two calls are of a kind, but
//! what they act upon is the same.

use super::{TROUBLE, TROUBLE_CHANGED, WELL_CHANGED, confidence};
use crate::codec::codec;
use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, Told};
use crate::rules::{Cx, Signal};
use crate::state::{Call, Ring, Step};
use crate::text::{combine, mark, printable};
use alloc::{boxed::Box, format};

/// Things that are known to have been acted upon, and of those that were again, how many are followed.
const KNOWN: usize = 6;
const FOLLOWED: usize = 3;
/// Bytes of an answer from which it is worth that it was read again.
const LONG: usize = 200;

#[derive(Clone, Debug, Default)]
pub(super) struct Things {
    known: Ring<u32>,
    /// Only where one was acted upon again.
    again: Option<Box<Ring<Thing>>>,
}
codec!(struct Things { known, again });

/// What one agent has done to one thing, through whatever tool.
#[derive(Clone, Debug, Default)]
pub(super) struct Thing {
    thing: u32,
    call: u32,
    /// The latest call's arguments without their figures.
    frame: u32,
    /// The mark of what came of the latest call, and what was wrong with it; 0 where nothing was.
    light: u32,
    trouble: u32,
    /// The line that says so.
    line: u32,
    round: u32,
    /// Changes made before it.
    changes: u32,
    pub(super) points: u32,
    seen: Streak,
}
codec!(struct Thing { thing, call, frame, light, trouble, line, round, changes, points, seen });

/// What came of a call.
pub(super) struct Outcome {
    pub(super) trouble: u32,
    pub(super) line: u32,
    pub(super) length: usize,
    /// Changes made before it.
    pub(super) changes: u32,
    /// Time may have passed for it.
    pub(super) waits: bool,
}

impl Things {
    /// Takes a call in; `outcome` is asked for where it acts upon what was acted upon before. The thing is told of where the
    /// call is one more of the same.
    pub(super) fn took(&mut self, step: &Step, call: &Call, outcome: impl FnOnce() -> Outcome) -> Option<&Thing> {
        let thing = mark(combine("stagnation/thing", &[step.agent, call.target?]));
        if self.known.take(|known| *known == thing).is_none() {
            self.known.push(thing, KNOWN);
            return None;
        }
        self.known.push(thing, KNOWN);
        let again = self.again.get_or_insert_default();
        let known = again.take(|known| known.thing == thing);
        let mut known = known.unwrap_or_else(|| Thing { thing, ..Thing::default() });
        let came = known.take(step, call, &outcome());
        again.push(known, FOLLOWED);
        again.last().filter(|_| came)
    }

    pub(super) fn points(&self) -> u32 {
        self.again.iter().flat_map(|again| again.iter()).map(|thing| thing.points).max().unwrap_or(0)
    }

    pub(super) fn fits(&self) -> bool {
        let fits = |again: &Ring<Thing>| again.len() <= FOLLOWED && again.iter().all(|thing| thing.seen.fits());
        self.known.len() <= KNOWN && self.again.as_deref().is_none_or(fits)
    }
}

impl Thing {
    /// Whether what came of a call is one more of the same.
    fn take(&mut self, step: &Step, call: &Call, outcome: &Outcome) -> bool {
        let Outcome { trouble, line, length, changes, waits } = *outcome;
        let (key, light, round) = (mark(call.key), mark(step.facts.light), call.round.map_or(0, mark));
        let changed = self.changes != changes;
        let read_again = trouble == 0 && self.light == light && length >= LONG && !changed && !call.mutates;
        let same = if trouble == 0 { read_again } else { trouble == self.trouble };
        if !same {
            (self.points, self.seen) = (0, Streak::default());
        }
        // The same call is other rules', and one day after the other a list.
        let listed = !call.mutates && self.frame == call.frame;
        let copy = round != 0 && self.round == round || self.call == key || listed;
        let counts = (trouble != 0 || read_again) && !copy && !waits && !call.polling;
        if counts {
            let first = self.seen.times == 0;
            let points = match (changed, self.line != line) {
                (true, true) => WELL_CHANGED,
                (true, false) => TROUBLE_CHANGED,
                (false, _) => TROUBLE,
            };
            self.points = self.points.saturating_add(if first { 0 } else { points });
            self.seen.add(step.sighting, step.onset);
        }
        (self.call, self.light, self.trouble, self.line) = (key, light, trouble, line);
        (self.round, self.changes, self.frame) = (round, changes, call.frame);
        counts
    }

    pub(super) fn told(&self, name: &str, cx: &Cx<'_>) -> Signal {
        let (name, times) = (printable(name, 48), self.seen.times);
        let identity = combine("stagnation/thing", &[self.thing.into()]);
        let (kind, message, halt_reason) = if self.trouble == 0 {
            (
                "same-outcome",
                format!("`{name}` and the like read one thing {times} times, and nothing had changed"),
                HaltReason::Stalled,
            )
        } else {
            (
                "same-trouble",
                format!("one thing came to the same trouble {times} times, whatever `{name}` was given besides"),
                HaltReason::RepeatedError,
            )
        };
        self.seen.signal(Told {
            kind,
            identity,
            count: self.points,
            confidence: confidence(400, 14, self.points),
            signature: cx.named(&name, '=', identity),
            message,
            instead: super::INSTEAD,
            recommendation: Recommendation::ChangeApproach,
            halt_reason,
        })
    }
}
