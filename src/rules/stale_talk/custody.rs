//! A piece of work that is handed on and comes back, while all that happens in between is talk.
//!
//! Each desk that returns it has another reason, so that neither calls nor words repeat. What repeats is where the work
//! is: it comes back to somebody who had it before, and since then nobody has done anything, looked at anything new or
//! given new figures, which a mere reason does not need.

use super::values::Values;
use crate::codec::codec;
use crate::rules::Payload;
use crate::rules::streak::Streak;
use crate::state::{Onset, Ring, Sighting, agent_key};
use crate::text::{Key, canonical_json, combine, is_reason, key, progress};
use alloc::{borrow::Cow, string::String, vec::Vec};
use serde_json::Value;

/// Words that say that what was asked for has been done, and words before which they do not.
const DONE: &str = "abgeschlossen added completed completing delivered done erledigt fait fatto feito fertig finished gemacht \
    hecho klaar listo merged prêt ready terminé";
const NOT: &str = "be before isn't nicht not when";
/// Handovers that new words alone excuse.
const MOST: u8 = 4;
/// Latest desks kept, and latest calls, by which a repeated look is recognised.
const PLACES: usize = 4;

#[derive(Clone, Debug, Default)]
pub(super) struct Custody {
    places: Ring<Key>,
    looked: Ring<Key>,
    /// Figures that reasons have held.
    figures: Values,
    /// Progress that the latest reason with any has reported.
    progress: u32,
    /// Handovers that do not count yet, since they may be about something that was named.
    spared: u8,
    /// Handovers whose words were new.
    excused: u8,
    /// Outcomes in other tasks before the latest handover (`RunView::elsewhere`).
    elsewhere: u16,
    returns: Streak,
}
codec!(struct Custody { places, looked, figures, progress, spared, excused, elsewhere, returns });

impl Custody {
    /// The work is handed to `to`. Those who had it may have done it as tasks of their own, `elsewhere`.
    pub(super) fn goes(&mut self, to: Key, elsewhere: u16, sighting: Sighting, onset: Onset) {
        if core::mem::replace(&mut self.elsewhere, elsewhere) != elsewhere {
            self.ends();
        }
        let known = self.places.met(to, PLACES);
        if known && self.spared == 0 {
            self.returns.add(sighting, onset);
        }
        self.spared = self.spared.saturating_sub(1);
    }

    /// Whether an agent had the work lately.
    pub(super) fn had(&self, agent: Key) -> bool {
        self.places.iter().any(|place| *place == agent)
    }

    /// Whether a reason holds figures that no earlier one held.
    pub(super) fn counts(&mut self, reason: &str, salt: u64) -> bool {
        self.figures.take(reason, 1, false, salt).new
    }

    /// Whether a reason reports other progress than the latest one that reported any.
    pub(super) fn gets_on(&mut self, reason: &str) -> bool {
        let progress = progress(reason);
        progress != 0 && core::mem::replace(&mut self.progress, progress) != progress
    }

    /// Something was named: the next two handovers may be about it.
    pub(super) const fn names(&mut self) {
        self.spared = 2;
    }

    /// The reason is in new words, which excuses this handover, and only so many.
    pub(super) fn reworded(&mut self) {
        if self.excused < MOST {
            self.excused += 1;
            self.spared = self.spared.max(1);
        }
    }

    /// Drops the evidence: something was done or found, or there are new figures.
    pub(super) fn ends(&mut self) {
        self.excused = 0;
        self.returns.clear();
    }

    /// Records a call; true if it was made lately.
    pub(super) fn looks_again(&mut self, call: Key) -> bool {
        self.looked.met(call, PLACES)
    }

    /// How often the work came back to where it was before.
    pub(super) const fn returns(&self) -> &Streak {
        &self.returns
    }

    pub(super) fn fits(&self) -> bool {
        self.places.len() <= PLACES && self.looked.len() <= PLACES && self.figures.fits()
    }
}

/// Whether a text says that what was asked for has been done.
pub(super) fn delivers(said: &str) -> bool {
    let is_one_of = |words: &str, word: &str| words.split(' ').any(|known| known.eq_ignore_ascii_case(word));
    let mut before = "";
    said.split(|char: char| !char.is_alphanumeric() && char != '\'').any(|word| {
        let before = core::mem::replace(&mut before, word);
        // `Complete the draft` is an order.
        let done = is_one_of(DONE, word) || !before.is_empty() && is_one_of("complete", word);
        done && !is_one_of(NOT, before)
    })
}

/// Key of an agent's desk.
pub(super) fn with(agent: Key, salt: u64) -> Key {
    combine("place", &[salt, agent])
}

/// Key of where a call hands work: the agent that it names, known or not, or else its tool with the short values that
/// it is given.
pub(super) fn place(call: &Payload<'_>, salt: u64) -> Key {
    let short = values(call).filter(|(name, value)| !is_reason(name, value)).filter_map(|(_, value)| value.as_str());
    let mut named = short.map(agent_key);
    match (call.to, named.next(), named.next()) {
        (Some(agent), ..) | (None, Some(agent), None) => with(agent, salt),
        (None, one, two) => {
            let tool = key("place", call.tool.as_bytes());
            let place: Vec<Key> = [salt, tool].into_iter().chain(one).chain(two).chain(named).collect();
            combine("place", &place)
        }
    }
}

/// The texts given at a handover.
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

/// Whether a number is among the arguments of a call.
pub(super) fn numbered(call: &Payload<'_>) -> bool {
    values(call).any(|(_, value)| value.is_number())
}

fn values<'a>(call: &Payload<'a>) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    call.call.args.as_ref().and_then(Value::as_object).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::delivers;

    #[test]
    fn what_has_been_done() {
        for said in [
            "Chapter one is done.",
            "Erledigt: die Lampe brennt",
            "All merged, please look",
            "Fertig!",
            "It's complete",
        ] {
            assert!(delivers(said), "{said}");
        }
        for said in [
            "Not done yet",
            "It can be done by the caretaker",
            "When ready, tell me",
            "Back to you.",
            "Complete it",
            "",
        ] {
            assert!(!delivers(said), "{said}");
        }
    }
}
