use super::{Maybe, Sighting};
use crate::codec::{Codec, Reader};
use alloc::vec::Vec;

/// The latest occurrences of a loop, oldest first. A single one, the usual case, needs no heap memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Latest {
    older: Vec<Sighting>,
    newest: Sighting,
}

/// Placeholder for none: no event has the largest sequence number.
const NONE: Sighting = Sighting { seq: u64::MAX, step: Maybe(0), key: 0 };

impl Default for Latest {
    fn default() -> Self {
        Self { older: Vec::new(), newest: NONE }
    }
}

impl Latest {
    /// Occurrences kept.
    pub(crate) const MOST: usize = 5;

    /// Appends, dropping the oldest beyond [`Self::MOST`].
    pub(crate) fn push(&mut self, sighting: Sighting) {
        let last = core::mem::replace(&mut self.newest, sighting);
        if last != NONE {
            if self.older.len() >= Self::MOST - 1 {
                self.older.remove(0);
            }
            if self.older.len() == self.older.capacity() {
                self.older.reserve_exact(1);
            }
            self.older.push(last);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.older.len() + usize::from(self.newest != NONE)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Sighting> {
        self.older.iter().chain(Some(&self.newest).filter(|newest| **newest != NONE))
    }
}

impl Codec for Latest {
    const SIZE: usize = 24 + Sighting::SIZE;

    #[inline]
    fn heap(&self) -> usize {
        self.older.heap()
    }

    fn put(&self, to: &mut Vec<u8>) {
        (self.len() as u64).put(to);
        self.iter().for_each(|sighting| sighting.put(to));
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let count = from.count();
        if count > Self::MOST {
            from.spoil();
        }
        // A single occurrence needs no room in `older`.
        let older = Sighting::take_all(count.saturating_sub(1), from);
        Self { older, newest: if count == 0 { NONE } else { Sighting::take(from) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{decode, encode};

    #[test]
    fn keeps_the_latest_in_order() {
        let mut latest = Latest::default();
        for seq in 0..9 {
            latest.push(Sighting { seq, ..Sighting::default() });
            let kept: Vec<u64> = latest.iter().map(|sighting| sighting.seq).collect();
            assert_eq!(kept, (seq.saturating_sub(4)..=seq).collect::<Vec<_>>());
            assert_eq!(decode::<Latest>(&encode(&latest)).unwrap(), latest);
        }
        // More than are kept come from no detector.
        let mut more = Vec::new();
        (Latest::MOST as u64 + 1).put(&mut more);
        (0..=Latest::MOST).for_each(|_| Sighting::default().put(&mut more));
        assert!(decode::<Latest>(&more).is_none());
    }
}
