//! Long outputs seen, most of which are never read.
//!
//! An output is read only if a similar one came before, that is, if it may be equal to it after masking. One that is
//! like no other is *left*: it is represented by its exact bytes alone. The latest of these are kept verbatim, so that
//! the first two outputs of a loop are recognised as equal when the second one comes; further back, the second and the
//! third are.

use super::Ring;
use crate::codec::{Codec, Reader, codec};
use crate::text::{Glance, OutcomeFacts, Unread, mark};
use alloc::{boxed::Box, string::String, vec::Vec};

/// Outputs remembered by their sketches.
const SEEN: usize = 14;
/// Left outputs kept verbatim, the latest, each at most 8 KB.
const KEPT: usize = 3;
/// Left outputs that others have been identified with.
const TWINS: usize = 16;

#[derive(Clone, Debug, Default)]
pub(crate) struct Outputs {
    /// Each sketch once, the most recent last.
    seen: Ring<KeptOutput>,
    kept: Ring<Unread>,
    /// Hardly any run has one.
    twins: Option<Box<Ring<Unread>>>,
}
codec!(struct Outputs { seen, kept, twins });

/// A left output, which stands for all others of its sketch.
#[derive(Clone, Copy, Debug)]
struct KeptOutput {
    sketch: u32,
    /// Mark of its exact key.
    exact: u32,
}

impl Codec for KeptOutput {
    const SIZE: usize = 8;

    fn put(&self, to: &mut Vec<u8>) {
        to.extend(self.sketch.to_le_bytes());
        to.extend(self.exact.to_le_bytes());
    }

    fn take(from: &mut Reader<'_>) -> Self {
        Self { sketch: u32::from_le_bytes(from.array()), exact: u32::from_le_bytes(from.array()) }
    }
}

impl Outputs {
    /// Whether an output is left unread; `text` is the output, which is kept if it is short enough.
    pub(crate) fn leaves(&mut self, glance: &Glance, text: &str, salt: u64) -> bool {
        let Some(sketch) = glance.sketch else { return false };
        let exact = mark(glance.exact);
        if let Some(known) = self.seen.take(|known| known.sketch == sketch) {
            self.seen.push(known, SEEN);
            return known.exact == exact;
        }
        self.seen.push(KeptOutput { sketch, exact }, SEEN);
        // An earlier output of this sketch was forgotten in `seen`.
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

    /// Identifies an output that was read with the one that was left, if the two are equal after masking.
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

    /// Reads what was left, since no text is kept for a task that is not current.
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
