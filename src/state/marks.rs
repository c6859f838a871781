use crate::codec::{Codec, Reader};
use alloc::vec::Vec;

/// A window of the latest keys, for membership only: 32 bits of each, which collide about once in 10^7 lookups in a
/// window of 128. Contiguous, so that a lookup takes a few instructions and a snapshot is a copy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    marks: Vec<u32>,
    /// Index of the oldest, once the window is full.
    oldest: usize,
}

impl Marks {
    /// Appends, replacing the oldest once there are `cap`.
    pub(crate) fn push(&mut self, mark: u32, cap: usize) {
        if self.marks.len() < cap {
            // Grow in small steps: most runs are short.
            if self.marks.len() == self.marks.capacity() {
                self.marks.reserve_exact(self.marks.len().clamp(8, 32).min(cap - self.marks.len()));
            }
            self.marks.push(mark);
        } else {
            if let Some(oldest) = self.marks.get_mut(self.oldest) {
                *oldest = mark;
            }
            self.oldest = (self.oldest + 1) % self.marks.len().max(1);
        }
    }

    pub(crate) fn holds(&self, mark: u32) -> bool {
        self.marks.contains(&mark)
    }

    pub(crate) fn latest(&self) -> Option<u32> {
        let at = (self.oldest + self.marks.len()).checked_sub(1)? % self.marks.len();
        self.marks.get(at).copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.marks.len()
    }
}

/// Oldest first, four bytes each.
impl Codec for Marks {
    const SIZE: usize = 32;

    #[inline]
    fn heap(&self) -> usize {
        self.marks.heap()
    }

    fn put(&self, to: &mut Vec<u8>) {
        let (late, early) = self.marks.split_at_checked(self.oldest).unwrap_or((&self.marks, &[]));
        (self.marks.len() as u64).put(to);
        to.extend(early.iter().chain(late).flat_map(|mark| mark.to_le_bytes()));
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let count = from.count();
        let (marks, _) = from.bytes(count.saturating_mul(4)).as_chunks::<4>();
        Self { marks: marks.iter().map(|mark| u32::from_le_bytes(*mark)).collect(), oldest: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::Marks;
    use crate::codec::{decode, encode};

    #[test]
    fn keeps_the_latest() {
        let mut marks = Marks::default();
        (0..200).for_each(|mark| marks.push(mark, 128));
        assert_eq!((marks.len(), marks.holds(71), marks.holds(72), marks.holds(199)), (128, false, true, true));
        // A restored window continues in the same order.
        let bytes = encode(&marks);
        assert_eq!(bytes.len(), 2 + 4 * 128);
        let mut restored: Marks = decode(&bytes).unwrap();
        for marks in [&mut marks, &mut restored] {
            marks.push(200, 128);
            assert!(!marks.holds(72) && marks.holds(73) && marks.holds(200));
        }
        assert_eq!(encode(&marks), encode(&restored));
        assert!(decode::<Marks>(&[1, 1, 2, 3]).is_none());
    }
}
