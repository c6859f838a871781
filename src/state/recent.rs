use crate::codec::{Codec, Reader};
use alloc::vec::Vec;

/// The latest things met, the most recent last, inline: 16 bits of each mark, so that collisions are possible. 0 is
/// none.
#[derive(Clone, Debug)]
pub(crate) struct Recent<const N: usize>([u16; N]);

impl<const N: usize> Default for Recent<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> Recent<N> {
    /// Makes something the most recent, and tells whether it was there before.
    pub(crate) fn met(&mut self, mark: u32) -> bool {
        let half = (mark as u16).max(1);
        let at = self.0.iter().position(|known| *known == half);
        if let Some(behind) = self.0.get_mut(at.unwrap_or(0)..) {
            behind.rotate_left(1);
        }
        if let Some(last) = self.0.last_mut() {
            *last = half;
        }
        at.is_some()
    }

    /// Whether something is among the latest `count`.
    pub(crate) fn lately(&self, mark: u32, count: usize) -> bool {
        let half = (mark as u16).max(1);
        self.0.iter().rev().take(count).any(|known| *known == half)
    }

    /// Whether anything was met.
    pub(crate) fn any(&self) -> bool {
        self.known().next().is_some()
    }

    fn known(&self) -> impl Iterator<Item = &u16> {
        self.0.iter().filter(|half| **half != 0)
    }
}

/// Only the entries in use.
impl<const N: usize> Codec for Recent<N> {
    const SIZE: usize = 2 * N;

    fn heap(&self) -> usize {
        0
    }

    fn put(&self, to: &mut Vec<u8>) {
        (self.known().count() as u64).put(to);
        u16::put_all(self.known(), to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let (count, mut all) = (from.count(), Self::default());
        let room = N.checked_sub(count).and_then(|from| all.0.get_mut(from..));
        match room {
            Some(room) => room.iter_mut().for_each(|half| *half = u16::take(from)),
            None => from.spoil(),
        }
        if all.known().count() != count {
            from.spoil();
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::Recent;
    use crate::codec::{decode, encode};

    #[test]
    fn keeps_the_latest() {
        let mut recent = Recent::<3>::default();
        assert_eq!(encode(&recent).len(), 1);
        assert_eq!(
            [7, 8, 7, 0x1_0000, 9, 8, 7].map(|mark| recent.met(mark)),
            [false, false, true, false, false, false, false]
        );
        let bytes = encode(&recent);
        let mut restored: Recent<3> = decode(&bytes).unwrap();
        assert_eq!(encode(&restored), bytes);
        assert!(restored.met(8) && restored.met(9) && restored.met(7) && !restored.met(10) && !restored.met(8));
        // Too many entries, and an empty one among them.
        assert!(decode::<Recent<3>>(&[4, 1, 2, 3, 4]).is_none());
        assert!(decode::<Recent<3>>(&[2, 1, 0]).is_none());
    }
}
