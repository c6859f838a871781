//! Recognises calls that were reported before and are reported again.
//!
//! Stateless hosts resend the conversation so far, queues deliver twice, and models and providers reuse ids. Only the
//! first two are replays. So an id alone proves nothing: a call is a replay if it comes again *in its place*, or in the
//! same order as before.

use crate::codec::{Codec, Reader, codec};
use crate::model::Context;
use crate::state::Ring;
use crate::text::{Key, mark};
use alloc::vec::Vec;

/// Calls remembered.
const SEEN: usize = 72;
/// Results still expected for replayed calls.
const AGAIN: usize = 64;
/// How often a conversation may be replayed without anything new in it. Beyond that it is the agent that goes round in
/// circles.
const TELLINGS: u8 = 4;
/// The same if the host said that it resumes a run, or the ids are unique.
const RESUMED: u8 = 8;

/// A call that was reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ReportedCall {
    id: u32,
    /// Mark of the call as it was made by its agent.
    call: u32,
    /// [`Telling::place`].
    place: u16,
    /// A mark of its agent, and [`ReportedCall::ALONE`] and [`ReportedCall::TWICE`].
    whose: u16,
}

/// Twelve bytes: hashes do not compress.
impl Codec for ReportedCall {
    const SIZE: usize = 16;

    fn put(&self, to: &mut Vec<u8>) {
        to.extend(self.id.to_le_bytes());
        to.extend(self.call.to_le_bytes());
        to.extend(self.place.to_le_bytes());
        to.extend(self.whose.to_le_bytes());
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let (id, call) = (u32::from_le_bytes(from.array()), u32::from_le_bytes(from.array()));
        let (place, whose) = (u16::from_le_bytes(from.array()), u16::from_le_bytes(from.array()));
        Self { id, call, place, whose }
    }
}

impl ReportedCall {
    /// No other call of its agent was pending, so it was a turn of its own as far as can be known.
    const ALONE: u16 = 1;
    /// It was delivered twice, or its id was reused.
    const TWICE: u16 = 2;

    fn has(&self, flag: u16) -> bool {
        self.whose & flag != 0
    }

    fn is_call(&self, other: &Self) -> bool {
        (self.id, self.call) == (other.id, other.call)
    }

    fn is_of(&self, other: &Self) -> bool {
        (self.whose ^ other.whose) & !(Self::ALONE | Self::TWICE) == 0
    }
}

/// A call to look up.
#[derive(Clone, Copy)]
pub(super) struct CallLookup {
    pub(super) id: Key,
    pub(super) call: Key,
    pub(super) agent: Key,
    /// The same call is pending.
    pub(super) waits: bool,
    /// No other call of its agent and task is pending.
    pub(super) alone: bool,
}

/// Where and how a call is reported.
#[derive(Clone, Copy)]
pub(crate) struct Telling<'a> {
    id: &'a str,
    /// Its place, by the first that the host gives of round, step and time; 0 if it gives none.
    place: u16,
    what: CallTime,
}

#[derive(Clone, Copy, PartialEq)]
enum CallTime {
    Nowhere,
    /// A round: a call in another round is a new call.
    Round,
    /// The same for a step, which may have several calls.
    Step,
    /// A time, and whether the clock has moved on since; a clock that stands still says nothing.
    Time(bool),
}

impl<'a> Telling<'a> {
    /// `round` is the key of the round; `now` is the newest time seen, including the event's own.
    pub(crate) fn of(id: Option<&'a str>, context: &Context, round: Option<Key>, now: Option<i64>) -> Self {
        let mixed = |number: u64| number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (key, what) = match (round, context.step, context.at) {
            (Some(round), ..) => (round, CallTime::Round),
            (_, Some(step), _) => (mixed(step), CallTime::Step),
            (.., Some(at)) => (mixed(at.cast_unsigned()), CallTime::Time(now.is_some_and(|now| now > at))),
            _ => (0, CallTime::Nowhere),
        };
        let place = if what == CallTime::Nowhere { 0 } else { half(key).max(1) };
        Self { id: id.unwrap_or_default(), place, what }
    }

    /// Whether the same call in another place is another call.
    fn is_counted(&self) -> bool {
        matches!(self.what, CallTime::Round | CallTime::Step)
    }
}

fn half(key: Key) -> u16 {
    u16::try_from(key >> 48).unwrap_or_default()
}

/// Whether an id looks random: upper case, lower case and digits alternate in it.
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

/// Reported calls, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Retold {
    told: Ring<ReportedCall>,
    /// The very first call, and how many calls have been forgotten.
    first: Option<ReportedCall>,
    lost: u32,
    /// During a replay, the index of the next call expected. If `blind` is not 0, so many forgotten calls come first.
    next: Option<u8>,
    blind: u32,
    /// Replays begun without anything new in between.
    tellings: u8,
    /// How often a known id and call came as a new call.
    reused: u8,
    /// Ids of replayed calls, whose results will be replayed too.
    again: Ring<u32>,
}

codec!(struct Retold { told, first, lost, next, blind, tellings, reused, again });

impl Retold {
    /// Records a call; false if it is a replay.
    pub(super) fn call(&mut self, known: CallLookup, telling: Telling<'_>) -> bool {
        let call = mark(known.call ^ known.agent.rotate_left(17));
        let alone = if known.alone { ReportedCall::ALONE } else { 0 };
        let whose = half(known.agent) & !(ReportedCall::ALONE | ReportedCall::TWICE) | alone;
        let call = ReportedCall { id: mark(known.id), call, place: telling.place, whose };
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
        let call = ReportedCall { whose: whose | if is_known { ReportedCall::TWICE } else { 0 }, ..call };
        if is_known {
            self.reused = self.reused.saturating_add(1);
        } else if self.next.is_some_and(|next| usize::from(next) == self.told.len()) {
            // Everything was replayed, and this call goes on from there. A replay that breaks off early does not reset
            // the count.
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

    /// Something new happened, which ends a replay.
    pub(super) fn moves_on(&mut self) {
        (self.next, self.blind) = (None, 0);
    }

    /// A human wrote; hosts resend the conversation with every message.
    pub(super) fn heard(&mut self) {
        self.tellings = 0;
    }

    /// The host may replay everything.
    pub(super) fn resume(&mut self) {
        if self.tellings < RESUMED && self.told.len() > 0 {
            (self.next, self.blind) = (Some(0), 0);
        }
    }

    /// Whether a result belongs to a replayed call. To be asked once for each result.
    pub(super) fn answers(&mut self, id: Key) -> bool {
        let id = mark(id);
        self.again.take(|again| *again == id).is_some()
    }

    /// Whether a call with this id was reported.
    pub(super) fn knows(&self, id: Key) -> bool {
        let id = mark(id);
        self.told.iter().any(|told| told.id == id)
    }

    /// Whether a pending call is delivered twice: in the same place, or without a place for the first time.
    fn is_twice(&mut self, call: &ReportedCall) -> bool {
        let same = |told: &&mut ReportedCall| told.is_call(call) && told.place == call.place;
        let Some(told) = self.told.iter_mut().rev().find(same) else { return false };
        let first = !told.has(ReportedCall::TWICE);
        told.whose |= ReportedCall::TWICE;
        first || call.place != 0
    }

    /// Whether an answered call was reported in the same place before.
    fn is_in_place(&self, call: &ReportedCall, telling: Telling<'_>) -> bool {
        let certain = match telling.what {
            CallTime::Nowhere => false,
            CallTime::Round => true,
            CallTime::Step => self.told.last().is_some_and(|last| last.place != call.place),
            CallTime::Time(past) => past,
        };
        certain && self.told.iter().any(|told| told.is_call(call) && told.place == call.place)
    }

    /// Whether a call continues a replay; calls may be left out.
    fn goes_on(&mut self, call: &ReportedCall, telling: Telling<'_>) -> bool {
        let Some(next) = self.next else { return false };
        let fits = |told: &ReportedCall| told.is_call(call) && (told.place == call.place || !telling.is_counted());
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

    /// Whether a call starts a replay of calls that are no longer remembered: it can only be the very first one.
    fn is_lost_beginning(&mut self, call: &ReportedCall, next: u8) -> bool {
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

    /// Whether a call begins an unannounced replay of everything: either with unique ids, or from the first call on
    /// with ids that count up from turn to turn. Ids that restart with every turn do not qualify. If the host gives
    /// rounds or steps, places are compared instead.
    fn begins(&mut self, call: &ReportedCall, is_known: bool, telling: Telling<'_>) -> bool {
        if telling.is_counted() || !is_known && !self.first.is_some_and(|first| first.is_call(call)) {
            return false;
        }
        let unique = is_unique(telling.id);
        if self.tellings >= if unique { RESUMED } else { TELLINGS } {
            return false;
        }
        let index = if is_known { self.told.iter().position(|told| told.is_call(call)) } else { None };
        let later = self.told.iter().skip(index.map_or(0, |index| index + 1));
        // Whether other calls with other ids came after it, and whether any of them was a turn of its own.
        let (others, turns) = later.fold((false, false), |(others, turns), told| {
            let other = told.is_of(call) && told.id != call.id && told.call != call.call;
            (others || other, turns || other && told.has(ReportedCall::ALONE))
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
