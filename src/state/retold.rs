//! What was told before, and is told once more.
//!
//! Hosts without memory send the conversation so far again, queues deliver twice, and models and providers give out ids
//! that they gave out before. Only the first two are no new calls. So an id alone says nothing: a call is known where
//! what has been told comes *in its place* again, or in its order.

use crate::codec::{Codec, Reader, codec};
use crate::model::Context;
use crate::state::Ring;
use crate::text::{Key, mark};
use alloc::vec::Vec;

/// Calls remembered.
const SEEN: usize = 72;
/// Results that may still come of calls that were told again.
const AGAIN: usize = 64;
/// How often a story may be told without anything new in it. Whoever tells it more often is going round in circles, and
/// it is the agent that is.
const TELLINGS: u8 = 4;
/// The same where the host said that it goes on with an earlier run.
const RESUMED: u8 = 8;

/// One call that was told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Told {
    id: u32,
    /// The call byte for byte, and whose it is.
    call: u32,
    agent: u8,
    /// [`Telling::place`].
    place: u16,
    /// [`Told::ALONE`], [`Told::TWICE`].
    flags: u8,
}

/// Twelve bytes: what is drawn by lot takes no fewer.
impl Codec for Told {
    const SIZE: usize = 16;

    fn put(&self, to: &mut Vec<u8>) {
        to.extend(self.id.to_le_bytes());
        to.extend(self.call.to_le_bytes());
        to.extend(self.place.to_le_bytes());
        to.extend([self.agent, self.flags]);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, agent, flags] = from.bytes(12).first_chunk().copied().unwrap_or_default();
        let (id, call) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        Self { id, call, place: u16::from_le_bytes([i, j]), agent, flags }
    }
}

impl Told {
    /// No other call of its agent was open: a turn of its own, as far as anybody can know.
    const ALONE: u8 = 1;
    /// It was delivered twice, or its id was given out again.
    const TWICE: u8 = 2;

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn is_call(&self, other: &Self) -> bool {
        (self.id, self.call, self.agent) == (other.id, other.call, other.agent)
    }
}

/// A call, for what is known of it.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) id: Key,
    pub(super) call: Key,
    pub(super) agent: Key,
    /// The same call is waiting for its result.
    pub(super) waits: bool,
    /// No other call of its agent is.
    pub(super) alone: bool,
}

/// Where and how a call is told.
#[derive(Clone, Copy)]
pub(crate) struct Telling<'a> {
    id: &'a str,
    /// Where it stands, by the first that the host tells of: its round, its step, its time; 0 where it tells none.
    place: u16,
    what: Place,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Nowhere,
    /// A round, of which a new one is a new call.
    Round,
    /// The same of a step, which several calls may have.
    Step,
    /// A time, and whether the clock has gone on since: one that stands still says nothing.
    Time(bool),
}

impl<'a> Telling<'a> {
    /// `round` is its key, and `now` the newest time told, the event's own included.
    pub(crate) fn of(id: Option<&'a str>, context: &Context, round: Option<Key>, now: Option<i64>) -> Self {
        let mixed = |number: u64| number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (key, what) = match (round, context.step, context.at) {
            (Some(round), ..) => (round, Place::Round),
            (_, Some(step), _) => (mixed(step), Place::Step),
            (.., Some(at)) => (mixed(at.cast_unsigned()), Place::Time(now.is_some_and(|now| now > at))),
            _ => (0, Place::Nowhere),
        };
        let place = if what == Place::Nowhere { 0 } else { half(key).max(1) };
        Self { id: id.unwrap_or_default(), place, what }
    }

    /// Whether what stands in another place is another call.
    fn is_counted(&self) -> bool {
        matches!(self.what, Place::Round | Place::Step)
    }
}

fn half(key: Key) -> u16 {
    u16::try_from(key >> 48).unwrap_or_default()
}

/// Whether an id looks drawn by lot: capitals, small letters and digits take turns in it.
fn is_unique(id: &str) -> bool {
    let class = |byte: u8| match byte {
        b'0'..=b'9' => 1_u8,
        b'a'..=b'z' => 2,
        b'A'..=b'Z' => 3,
        _ => 0,
    };
    let (mut before, mut turns, mut signs, mut digits) = (0, 0_u32, 0_u32, 0_u32);
    for class in id.bytes().map(class) {
        signs += u32::from(class != 0);
        digits += u32::from(class == 1);
        turns += u32::from(class != 0 && before != 0 && class != before);
        before = class;
    }
    signs >= 8 && digits > 0 && turns >= 4
}

/// What was told, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Retold {
    told: Ring<Told>,
    /// The very first call, and how many after it are not remembered any more.
    first: Option<Told>,
    lost: u32,
    /// While what was told is told again: how far. Where `blind`, that many calls stand before what is remembered.
    next: Option<u8>,
    blind: u32,
    /// How often that began without anything new in between.
    tellings: u8,
    /// How often an id came with a call that was known and yet new.
    reused: u8,
    /// Ids of calls told again, whose results will be, too.
    again: Ring<u32>,
}

codec!(struct Retold { told, first, lost, next, blind, tellings, reused, again });

impl Retold {
    /// Takes note of a call; false when it was told before.
    pub(super) fn call(&mut self, known: Known, telling: Telling<'_>) -> bool {
        let [agent, ..] = known.agent.to_le_bytes();
        let call = mark(known.call ^ known.agent.rotate_left(17));
        let flags = if known.alone { Told::ALONE } else { 0 };
        let call = Told { id: mark(known.id), call, agent, place: telling.place, flags };
        let is_known =
            self.told.holds(|told| told.call == call.call) && self.told.iter().any(|told| told.is_call(&call));
        if is_known || self.next.is_some() || self.lost > 0 {
            let again = self.goes_on(&call, telling);
            if known.waits {
                if again || self.is_twice(&call) {
                    return false;
                }
            } else if again || is_known && self.is_in_place(&call, telling) || self.begins(&call, is_known, telling) {
                self.again.push(call.id, AGAIN);
                return false;
            }
        }
        let call = Told { flags: flags | if is_known { Told::TWICE } else { 0 }, ..call };
        if is_known {
            self.reused = self.reused.saturating_add(1);
        } else if self.next.is_some_and(|next| usize::from(next) == self.told.len()) {
            // All was told again, and here it goes on. What breaks off before its end was no such story.
            self.tellings = 0;
        }
        self.moves_on();
        self.again.retain(|id| *id != call.id);
        if self.first.is_none() {
            self.first = Some(call);
        }
        self.lost = self.lost.saturating_add(u32::from(self.told.len() >= SEEN));
        self.told.push(call, SEEN);
        true
    }

    /// Something new happened: what is told from here on is.
    pub(super) fn moves_on(&mut self) {
        (self.next, self.blind) = (None, 0);
    }

    /// A human wrote: hosts tell the conversation again with every message.
    pub(super) fn heard(&mut self) {
        self.tellings = 0;
    }

    /// The host may tell everything once more.
    pub(super) fn resume(&mut self) {
        if self.tellings < RESUMED && self.told.len() > 0 {
            (self.next, self.blind) = (Some(0), 0);
        }
    }

    /// Whether a result is one of a call that was told again. Asked once for each result.
    pub(super) fn answers(&mut self, id: Key) -> bool {
        let id = mark(id);
        self.again.take(|again| *again == id).is_some()
    }

    /// Whether a call with that id was told.
    pub(super) fn knows(&self, id: Key) -> bool {
        let id = mark(id);
        self.told.iter().any(|told| told.id == id)
    }

    /// A call that waits for its result, delivered twice: in the same place, once where there is none.
    fn is_twice(&mut self, call: &Told) -> bool {
        let same = |told: &&mut Told| told.is_call(call) && told.place == call.place;
        let Some(told) = self.told.iter_mut().rev().find(same) else { return false };
        let first = !told.has(Told::TWICE);
        told.flags |= Told::TWICE;
        first || call.place != 0
    }

    /// What was answered in the same place before.
    fn is_in_place(&self, call: &Told, telling: Telling<'_>) -> bool {
        let certain = match telling.what {
            Place::Nowhere => false,
            Place::Round => true,
            Place::Step => self.told.last().is_some_and(|last| last.place != call.place),
            Place::Time(past) => past,
        };
        certain && self.told.iter().any(|told| told.is_call(call) && told.place == call.place)
    }

    /// The next one of what is being told again; some may be left out.
    fn goes_on(&mut self, call: &Told, telling: Telling<'_>) -> bool {
        let Some(next) = self.next else { return false };
        let fits = |told: &Told| told.is_call(call) && (told.place == call.place || !telling.is_counted());
        let known = self.told.iter().skip(next.into()).position(fits);
        if let Some(known) = known {
            self.begun(next);
            self.next = u8::try_from(usize::from(next) + known + 1).ok();
            self.blind = 0;
            return true;
        }
        if self.blind > 1 {
            self.blind -= 1;
            return true;
        }
        self.is_lost_beginning(call, next)
    }

    /// What is not remembered any more can only be told by one who begins at the beginning.
    fn is_lost_beginning(&mut self, call: &Told, next: u8) -> bool {
        let first = next == 0 && self.blind == 0 && self.lost > 0;
        let first = first && self.first.is_some_and(|first| first.is_call(call));
        if first {
            self.begun(next);
            (self.next, self.blind) = (Some(0), self.lost);
        }
        first
    }

    fn begun(&mut self, next: u8) {
        if next == 0 && self.blind == 0 {
            self.tellings = self.tellings.saturating_add(1);
        }
    }

    /// Whether one who did not say so begins to tell everything again: with ids that do not come by chance, or from the
    /// first call on, where ids count up from turn to turn. Ids that begin anew with every turn do not, and where the
    /// host tells its turns, those are compared.
    fn begins(&mut self, call: &Told, is_known: bool, telling: Telling<'_>) -> bool {
        if telling.is_counted() || !is_known && !self.first.is_some_and(|first| first.is_call(call)) {
            return false;
        }
        let unique = is_unique(telling.id);
        if self.tellings >= if unique { RESUMED } else { TELLINGS } {
            return false;
        }
        let index = if is_known { self.told.iter().position(|told| told.is_call(call)) } else { None };
        let later = self.told.iter().skip(index.map_or(0, |index| index + 1));
        // Whether other calls with other ids came after it, and whether turns began with them.
        let (others, turns) = later.fold((false, false), |(others, turns), told| {
            let other = told.agent == call.agent && told.id != call.id && told.call != call.call;
            (others || other, turns || other && told.has(Told::ALONE))
        });
        let first = self.first.is_some_and(|first| first.is_call(call)) && index.is_none_or(|index| index == 0);
        let known = if unique { others } else { turns && first && self.reused <= 1 };
        match index {
            _ if !known => false,
            None => self.is_lost_beginning(call, 0),
            Some(index) => {
                self.blind = 0;
                self.begun(0);
                self.next = u8::try_from(index + 1).ok();
                true
            }
        }
    }

    pub(super) fn fits(&self) -> bool {
        self.told.len() <= SEEN && self.again.len() <= AGAIN && self.next.is_none_or(|next| usize::from(next) <= SEEN)
    }
}
