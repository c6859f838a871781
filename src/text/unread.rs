//! Outputs that were left unread, kept as text until one comes that may be equal.

use super::digest::{Key, mark};
use super::ends::CLIP_ABOVE;
use super::outcome::{Glance, KeptText, OutcomeFacts};
use crate::codec::{Codec, Reader};
use alloc::{string::String, vec::Vec};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An output that was left unread, with the key it was given. The text itself exists only in memory; a snapshot holds
/// what reading it yields.
#[derive(Clone, Debug)]
pub(crate) struct Unread {
    sketch: u32,
    /// The key that rules were given for it, which equal outputs get as well: [`OutcomeFacts::exact`].
    given: Key,
    /// Bytes of the text; 0 once it has been read.
    length: u16,
    text: Text,
}

#[derive(Debug)]
enum Text {
    /// The text, and what was read of it for an earlier snapshot, as [`Masked::both`]; 0 for nothing yet.
    Kept(KeptText, AtomicU64),
    Read(Masked),
}

impl Clone for Text {
    fn clone(&self) -> Self {
        match self {
            Self::Kept(kept, known) => Self::Kept(kept.clone(), AtomicU64::new(known.load(Relaxed))),
            Self::Read(masked) => Self::Read(*masked),
        }
    }
}

/// Halves of the keys by which an output is equal to others; compared only among outputs with the same sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Masked {
    light: u32,
    /// 0 for none.
    shape: u32,
}

impl Masked {
    fn of(light: Key, shape: Option<Key>) -> Self {
        Self { light: mark(light), shape: shape.map_or(0, mark) }
    }

    const fn both(self) -> u64 {
        (self.light as u64) << 32 | self.shape as u64
    }

    const fn of_both(both: u64) -> Self {
        Self { light: (both >> 32) as u32, shape: both as u32 }
    }
}

impl Text {
    fn read(&self) -> Masked {
        match self {
            Self::Kept(kept, known) => {
                let both = known.load(Relaxed);
                if both != 0 {
                    return Masked::of_both(both);
                }
                let (light, shape) = kept.read();
                let masked = Masked::of(light, shape);
                known.store(masked.both(), Relaxed);
                masked
            }
            Self::Read(masked) => *masked,
        }
    }
}

impl Unread {
    /// `None` if the text is too long to be kept; `room` is a string whose allocation may be reused.
    pub(crate) fn of(text: &str, glance: &Glance, salt: u64, room: String) -> Option<Self> {
        let kept = KeptText::of(text, glance, salt, room)?;
        let length = u16::try_from(kept.length()).ok()?;
        Some(Self { sketch: glance.sketch?, given: glance.exact, length, text: Text::Kept(kept, AtomicU64::new(0)) })
    }

    pub(crate) const fn sketch(&self) -> u32 {
        self.sketch
    }

    /// Whether a restored one is within its bounds.
    pub(crate) fn fits(&self) -> bool {
        usize::from(self.length) <= CLIP_ABOVE
    }

    /// The string whose allocation may be reused.
    pub(crate) fn into_room(self) -> String {
        match self.text {
            Text::Kept(kept, _) => kept.into_room(),
            Text::Read(_) => String::new(),
        }
    }

    /// Reads the text and drops it.
    pub(crate) fn read(&mut self) {
        (self.text, self.length) = (Text::Read(self.text.read()), 0);
    }

    /// Whether an output that was read equals this one except for what changes by itself or for digits. If so, it is
    /// given this one's key.
    pub(crate) fn lends(&self, facts: &mut OutcomeFacts) -> bool {
        let (own, came) = (self.text.read(), Masked::of(facts.light, facts.shape));
        if own.light == came.light {
            (facts.light, facts.shape) = (self.given, Some(self.given));
            return true;
        }
        let alike = own.shape == came.shape && came.shape != 0;
        if alike {
            facts.shape = Some(self.given);
        }
        alike
    }
}

/// Accounts for the text and what is read of it; encoded, it is always what is read.
impl Codec for Unread {
    /// The same on every platform.
    const SIZE: usize = {
        assert!(size_of::<Self>() <= 128);
        128
    };

    #[inline]
    fn heap(&self) -> usize {
        if self.length == 0 { 0 } else { 16 + usize::from(self.length) }
    }

    fn put(&self, to: &mut Vec<u8>) {
        let Masked { light, shape } = self.text.read();
        to.extend(self.sketch.to_le_bytes());
        to.extend(self.given.to_le_bytes());
        to.extend(light.to_le_bytes());
        to.extend(shape.to_le_bytes());
        self.length.put(to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let [sketch, low, high, light, shape] = core::array::from_fn(|_| four(from));
        let given = u64::from(high) << 32 | u64::from(low);
        Self { sketch, given, length: u16::take(from), text: Text::Read(Masked { light, shape }) }
    }
}

fn four(from: &mut Reader<'_>) -> u32 {
    from.bytes(4).first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
