//! Long outputs that came, of which most are never read.
//!
//! An output is read when one like it came before: when it may be equal to it but for what changes by itself. One that
//! is like none is *left*: it passes for what equals it to the byte. The latest of these are kept as they came, so that
//! the first two of a loop are told to be equal when the second one comes; of those that lie further back, the second
//! and the third are.

use super::Ring;
use crate::codec::{Codec, Reader, codec};
use crate::text::{Glance, OutcomeFacts, Unread, mark};
use alloc::{boxed::Box, string::String, vec::Vec};

/// Outputs that are remembered by their sketches.
const SEEN: usize = 14;
/// Of those that were left, the latest, of which 8 KB each are kept at most.
const KEPT: usize = 3;
/// Outputs for which others have passed.
const TWINS: usize = 16;

#[derive(Clone, Debug, Default)]
pub(crate) struct Outputs {
    /// Each sketch once, the latest last.
    seen: Ring<Seen>,
    kept: Ring<Unread>,
    /// Hardly a run has any.
    twins: Option<Box<Ring<Unread>>>,
}
codec!(struct Outputs { seen, kept, twins });

/// An output that was left, and others of its sketch.
#[derive(Clone, Copy, Debug)]
struct Seen {
    sketch: u32,
    /// Mark of its exact key.
    exact: u32,
}

impl Codec for Seen {
    const SIZE: usize = 8;

    fn put(&self, to: &mut Vec<u8>) {
        to.extend(self.sketch.to_le_bytes());
        to.extend(self.exact.to_le_bytes());
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let both = from.bytes(8).first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Self { sketch: both as u32, exact: (both >> 32) as u32 }
    }
}

impl Outputs {
    /// Whether an output is left unread, `text` by its words.
    pub(crate) fn leaves(&mut self, glance: &Glance, text: &str, salt: u64) -> bool {
        let Some(sketch) = glance.sketch else { return false };
        let exact = mark(glance.exact);
        if let Some(known) = self.seen.take(|known| known.sketch == sketch) {
            self.seen.push(known, SEEN);
            return known.exact == exact;
        }
        self.seen.push(Seen { sketch, exact }, SEEN);
        // One of the sketch was forgotten.
        let mut room = self.kept.take(|known| known.sketch() == sketch).map_or_else(String::new, Unread::into_room);
        if let Some(twins) = &mut self.twins {
            twins.retain(|known| known.sketch() != sketch);
        }
        if self.kept.len() >= KEPT {
            room = self.kept.remove(0).map_or(room, Unread::into_room);
        }
        if let Some(unread) = Unread::of(text, glance, salt, room) {
            self.kept.push(unread, KEPT);
        }
        true
    }

    /// Lets an output that was read pass for the one that was left, where it is equal to it once both are masked.
    pub(crate) fn settle(&mut self, glance: &Glance, facts: &mut OutcomeFacts) {
        let Some(sketch) = glance.sketch else { return };
        if let Some(twin) =
            self.twins.as_mut().and_then(|twins| twins.iter_mut().find(|known| known.sketch() == sketch))
        {
            twin.lends(facts);
            return;
        }
        let Some(known) = self.kept.iter_mut().find(|known| known.sketch() == sketch) else { return };
        known.read();
        if known.lends(facts)
            && let Some(known) = self.kept.take(|known| known.sketch() == sketch)
        {
            self.twins.get_or_insert_default().push(known, TWINS);
        }
    }

    /// Reads what was left: no text is kept of a task that is not at hand.
    pub(crate) fn park(&mut self) {
        self.kept.iter_mut().for_each(Unread::read);
    }

    pub(crate) fn fits(&self) -> bool {
        self.seen.len() <= SEEN
            && self.kept.len() <= KEPT
            && self.kept.iter().all(Unread::fits)
            && self.twins.as_ref().is_none_or(|twins| twins.len() <= TWINS)
    }
}
