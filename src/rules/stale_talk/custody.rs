//! A piece of work that is handed on and comes back, while all that happens in between is talk.
//!
//! Each desk that returns it has another reason, so that neither calls nor words repeat. What repeats is where it is:
//! it comes to whom had it before, and since then nobody did anything, looked at anything new or told anything new: who
//! only gives reasons needs no figures.

use super::values::Values;
use crate::codec::codec;
use crate::rules::Payload;
use crate::rules::streak::Streak;
use crate::state::{Onset, Ring, Sighting, agent_key};
use crate::text::{Key, canonical_json, combine, is_reason, key, progress};
use alloc::{borrow::Cow, string::String, vec::Vec};
use serde_json::Value;

/// Desks that are remembered, and calls by which one only looks again at what was looked at.
const PLACES: usize = 4;

#[derive(Clone, Debug, Default)]
pub(super) struct Custody {
    places: Ring<Key>,
    looked: Ring<Key>,
    /// Figures that reasons held, and how far the latest one told that the work is.
    figures: Values,
    progress: u32,
    /// Handovers that are about what was named before.
    spared: u8,
    returns: Streak,
}
codec!(struct Custody { places, looked, figures, progress, spared, returns });

impl Custody {
    /// Whoever has the work gives it to somebody.
    pub(super) fn goes(&mut self, to: Key, sighting: Sighting, onset: Onset) {
        let known = self.places.met(to, PLACES);
        if known && self.spared == 0 {
            self.returns.add(sighting, onset);
        }
        self.spared = self.spared.saturating_sub(1);
    }

    /// Whether there are figures in a reason that no reason before it had.
    pub(super) fn counts(&mut self, reason: &str, salt: u64) -> bool {
        self.figures.take(reason, 1, false, salt).new
    }

    /// Whether it tells that the work is further on than the latest one that told it.
    pub(super) fn gets_on(&mut self, reason: &str) -> bool {
        let progress = progress(reason);
        progress != 0 && core::mem::replace(&mut self.progress, progress) != progress
    }

    /// Something has got a name: to and fro, they may talk about it.
    pub(super) const fn names(&mut self) {
        self.spared = 2;
    }

    /// Something was done or found, or there are new figures.
    pub(super) fn ends(&mut self) {
        self.returns = Streak::default();
    }

    /// A call came to something: whether it is one that was made before.
    pub(super) fn looks_again(&mut self, call: Key) -> bool {
        self.looked.met(call, PLACES)
    }

    /// How often it went back to where it was before.
    pub(super) const fn returns(&self) -> &Streak {
        &self.returns
    }

    pub(super) fn fits(&self) -> bool {
        self.places.len() <= PLACES && self.looked.len() <= PLACES && self.figures.fits() && self.returns.fits()
    }
}

/// To whom a call hands work: the agent that it names, known or not, or else its tool and the short values that it is
/// given.
pub(super) fn place(call: &Payload<'_>, salt: u64) -> Key {
    let short = values(call).filter(|(name, value)| !is_reason(name, value)).filter_map(|(_, value)| value.as_str());
    let mut named = short.map(agent_key);
    match (call.to, named.next(), named.next()) {
        (Some(agent), ..) | (None, Some(agent), None) => combine("place", &[salt, agent]),
        (None, one, two) => {
            let tool = key("place", call.tool.as_bytes());
            let place: Vec<Key> = [salt, tool].into_iter().chain(one).chain(two).chain(named).collect();
            combine("place", &place)
        }
    }
}

/// What is said at a handover.
pub(super) fn said<'a>(call: &Payload<'a>) -> impl Iterator<Item = Cow<'a, str>> {
    values(call).map(|(_, value)| match value {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        value => {
            let mut text = String::new();
            canonical_json(value, &mut text);
            Cow::Owned(text)
        }
    })
}

fn values<'a>(call: &Payload<'a>) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    call.call.args.as_ref().and_then(Value::as_object).into_iter().flatten()
}
