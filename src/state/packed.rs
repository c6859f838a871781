//! A window whose items are looked at rarely and one at a time, kept encoded in one piece, as in a snapshot.

use super::Ring;
use crate::codec::{Codec, Reader, codec, decode};
use alloc::vec::Vec;
use core::marker::PhantomData;

/// Bytes reserved at once.
const ROOM: usize = 256;

/// The mark an item is found by; callers distinguish items with equal marks.
pub(crate) trait Marked {
    fn mark(&self) -> u32;
}

/// The latest items, oldest first, each in its encoded form. The cap is the caller's.
#[derive(Clone, Debug)]
pub(crate) struct Packed<T> {
    heads: Ring<Head>,
    bytes: Vec<u8>,
    of: PhantomData<fn() -> T>,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    mark: u32,
    length: u32,
}
codec!(struct Head { mark, length });

impl<T> Default for Packed<T> {
    fn default() -> Self {
        Self { heads: Ring::default(), bytes: Vec::new(), of: PhantomData }
    }
}

impl<T: Codec + Marked> Packed<T> {
    /// Appends, dropping the oldest items beyond `cap`.
    pub(crate) fn push(&mut self, item: &T, cap: usize) {
        while self.heads.len() >= cap.max(1) {
            self.remove(0);
        }
        self.add(item);
    }

    fn make_room(&mut self) {
        if self.bytes.capacity() - self.bytes.len() < ROOM / 2 {
            self.bytes.reserve_exact(ROOM);
        }
    }

    fn add(&mut self, item: &T) {
        self.make_room();
        let before = self.bytes.len();
        item.put(&mut self.bytes);
        self.note(item, self.bytes.len() - before);
    }

    fn note(&mut self, item: &T, length: usize) {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        self.heads.push(Head { mark: item.mark(), length }, usize::MAX);
    }

    fn remove(&mut self, index: usize) {
        let start = self.start(index);
        if let Some(head) = self.heads.remove(index) {
            self.bytes.drain(start..(start + head.length as usize).min(self.bytes.len()));
        }
    }

    /// Offset of an item in `bytes`.
    fn start(&self, index: usize) -> usize {
        self.heads.iter().take(index).map(|head| head.length as usize).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = T> {
        let mut rest = self.bytes.as_slice();
        self.heads.iter().filter_map(move |head| {
            let (item, after) = rest.split_at_checked(head.length as usize).unwrap_or_default();
            rest = after;
            decode(item)
        })
    }

    /// Few items have the mark, so the search touches nothing but marks.
    fn position(&self, mark: u32, fits: impl Fn(&T) -> bool) -> Option<(usize, T)> {
        self.heads.holds(|head| head.mark == mark).then_some(())?;
        let mut next = 0;
        loop {
            let mut heads = self.heads.iter().skip(next);
            let index = next + heads.position(|head| head.mark == mark)?;
            next = index + 1;
            let bytes = self.bytes.get(self.start(index)..self.start(next));
            if let Some(item) = bytes.and_then(decode).filter(&fits) {
                return Some((index, item));
            }
        }
    }

    /// The first item with this mark that fits.
    pub(crate) fn find(&self, mark: u32, fits: impl Fn(&T) -> bool) -> Option<T> {
        self.position(mark, fits).map(|(_, item)| item)
    }

    /// Removes and returns the first item with this mark that fits.
    pub(crate) fn take_out(&mut self, mark: u32, fits: impl Fn(&T) -> bool) -> Option<T> {
        let (index, item) = self.position(mark, fits)?;
        self.remove(index);
        Some(item)
    }

    pub(crate) fn len(&self) -> usize {
        self.heads.len()
    }
}

/// Encoded like a [`Ring`] of the items.
impl<T: Codec + Marked> Codec for Packed<T> {
    const SIZE: usize = Ring::<Head>::SIZE + 24;

    #[inline]
    fn heap(&self) -> usize {
        self.heads.heap() + self.bytes.heap()
    }

    fn put(&self, to: &mut Vec<u8>) {
        (self.heads.len() as u64).put(to);
        to.extend_from_slice(&self.bytes);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let mut packed = Self::default();
        for _ in 0..from.count() {
            let Some((item, bytes)) = from.with_bytes::<T>() else { break };
            packed.make_room();
            packed.bytes.extend_from_slice(bytes);
            packed.note(&item, bytes.len());
        }
        packed.bytes.shrink_to_fit();
        packed.heads.shrink();
        packed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::encode;

    impl Marked for (u64, u64) {
        fn mark(&self) -> u32 {
            self.0 as u32
        }
    }

    #[test]
    fn is_a_ring() {
        let (mut packed, mut ring) = (Packed::<(u64, u64)>::default(), Ring::default());
        for number in 0..500_u64 {
            // Some items are taken out and put back, as recurring ones are, and some marks are equal.
            let name = number * 7919 % 23 + ((number % 2) << 32);
            let known = packed.take_out(name as u32, |(known, _)| *known == name);
            let wanted = ring.take(|(known, _)| *known == name);
            assert_eq!(known, wanted);
            let item = (name, known.map_or(1, |(_, times)| times << (number % 7)));
            packed.push(&item, 16);
            ring.push(item, 16);
            assert!(packed.iter().eq(ring.iter().copied()));
            let bytes = encode(&packed);
            assert_eq!(bytes, encode(&ring));
            let restored: Packed<(u64, u64)> = decode(&bytes).unwrap();
            assert!(restored.iter().eq(ring.iter().copied()) && encode(&restored) == bytes);
            assert_eq!((restored.heap(), restored.len()), (packed.heap(), 16.min(ring.len())));
            if number % 50 == 0 {
                packed = restored;
            }
        }
        assert_eq!(packed.find(3, |_| false), None);
    }
}
