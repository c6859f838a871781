//! What most rules keep about a loop: its onset, how often it was seen, and the latest occurrences.

use crate::codec::codec;
use crate::rules::{Signal, SignalParts};
use crate::state::{Occurrences, Onset, Sighting};

#[derive(Clone, Debug, Default)]
pub(super) struct Streak {
    pub(super) times: u32,
    seen: Occurrences,
}
codec!(struct Streak { times, seen });

impl Streak {
    pub(super) fn add(&mut self, sighting: Sighting, onset: Onset) {
        if self.times == 0 {
            self.seen.begin(onset);
        }
        self.times = self.times.saturating_add(1);
        self.seen.push(sighting, onset);
    }

    pub(super) fn onset(&self) -> Onset {
        self.seen.onset()
    }

    /// Builds a streak from occurrences that are kept elsewhere, given oldest first.
    pub(super) fn of(seen: impl Iterator<Item = (Sighting, Onset)>) -> Self {
        let mut streak = Self::default();
        seen.for_each(|(sighting, onset)| streak.add(sighting, onset));
        streak
    }

    /// Forgets all of it. Never inlined: many rules do so in several places.
    #[inline(never)]
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Halves the count.
    pub(super) fn halve(&mut self) {
        self.times /= 2;
    }

    pub(super) fn signal(&self, told: SignalParts) -> Signal {
        told.signal(self.seen.onset(), self.seen.latest())
    }
}

/// Confidence in per mille: `none + each * min(count, most)`, given as (none, each, most).
pub(super) fn capped_confidence((none, each, most): (u32, u32, u32), count: u32) -> u16 {
    u16::try_from(none.saturating_add(each.saturating_mul(count.min(most)))).unwrap_or(1000)
}

/// Confidence in per mille: `first` at one, plus `step` for each further one, at most 980.
pub(super) fn confidence(first: u32, step: u32, count: u32) -> u16 {
    capped_confidence((first, step, u32::MAX), count.saturating_sub(1)).min(980)
}
